// Stand-ins for the engine's containers and pointers. Indices are checked, as in the engine's development
// builds.
#pragma once

#include "StandIn/Base.h"

template <int N> struct TInlineAllocator
{
};
template <int N> struct TFixedAllocator
{
};
struct FDefaultAllocator
{
};

template <typename T, typename Allocator = FDefaultAllocator> class TArray
{
  public:
    using ElementType = T;
    TArray() = default;
    TArray(std::initializer_list<T> List) : Values(List) {}

    void SetNumUninitialized(int32 Count) { Values.resize(Checked(Count)); }
    void SetNumZeroed(int32 Count) { Values.resize(Checked(Count)); }
    void SetNum(int32 Count) { Values.resize(Checked(Count)); }
    void Reset(int32 = 0) { Values.clear(); }
    void Empty(int32 = 0) { Values.clear(); }
    void Init(const T &Value, int32 Count) { Values.assign(Checked(Count), Value); }
    int32 Num() const { return static_cast<int32>(Values.size()); }
    bool IsEmpty() const { return Values.empty(); }
    T *GetData() { return Values.data(); }
    const T *GetData() const { return Values.data(); }
    T &operator[](int32 Index) { return Values[Bounded(Index)]; }
    const T &operator[](int32 Index) const { return Values[Bounded(Index)]; }
    bool IsValidIndex(int32 Index) const { return Index >= 0 && Index < Num(); }
    int32 Add(const T &Value)
    {
        Values.push_back(Value);
        return Num() - 1;
    }
    int32 Add(T &&Value)
    {
        Values.push_back(std::move(Value));
        return Num() - 1;
    }
    int32 AddUninitialized(int32 Count = 1)
    {
        const int32 First = Num();
        Values.resize(Values.size() + Checked(Count));
        return First;
    }
    void Append(const T *Data, int32 Count) { Values.insert(Values.end(), Data, Data + Count); }
    void Append(const TArray &Other)
    {
        Values.insert(Values.end(), Other.Values.begin(), Other.Values.end());
    }
    T Pop()
    {
        T Out = std::move(Values.at(Values.size() - 1));
        Values.pop_back();
        return Out;
    }
    T &Last() { return Values[Bounded(Num() - 1)]; }
    const T &Last() const { return Values[Bounded(Num() - 1)]; }
    void RemoveAt(int32 Index) { Values.erase(Values.begin() + Bounded(Index)); }
    template <typename K> int32 IndexOfByKey(const K &Key) const
    {
        return IndexOfByPredicate([&Key](const T &Value) { return Value == Key; });
    }
    template <typename K> bool Contains(const K &Key) const { return IndexOfByKey(Key) != INDEX_NONE; }
    template <typename F> int32 IndexOfByPredicate(F &&Predicate) const
    {
        for (int32 Index = 0; Index < Num(); Index++)
        {
            if (Predicate(Values[static_cast<SIZE_T>(Index)]))
            {
                return Index;
            }
        }
        return INDEX_NONE;
    }
    template <typename F> bool ContainsByPredicate(F &&Predicate) const
    {
        return IndexOfByPredicate(Predicate) != INDEX_NONE;
    }
    bool operator==(const TArray &Other) const { return Values == Other.Values; }
    auto begin() { return Values.begin(); }
    auto end() { return Values.end(); }
    auto begin() const { return Values.begin(); }
    auto end() const { return Values.end(); }

  private:
    static SIZE_T Checked(int32 Count)
    {
        if (Count < 0)
        {
            std::abort();
        }
        return static_cast<SIZE_T>(Count);
    }
    int32 Bounded(int32 Index) const
    {
        if (!IsValidIndex(Index))
        {
            std::fprintf(stderr, "index %d of %d\n", Index, Num());
            std::abort();
        }
        return Index;
    }
    std::vector<T> Values;
};

template <typename T> class TArrayView
{
  public:
    TArrayView() = default;
    TArrayView(T *SetData, int32 SetCount) : Data(SetData), Count(SetCount) {}
    template <typename U, typename A>
    TArrayView(const TArray<U, A> &Array) : Data(Array.GetData()), Count(Array.Num())
    {
    }
    template <typename U, typename A>
    TArrayView(TArray<U, A> &Array) : Data(Array.GetData()), Count(Array.Num())
    {
    }
    T *GetData() const { return Data; }
    int32 Num() const { return Count; }
    T &operator[](int32 Index) const
    {
        if (Index < 0 || Index >= Count)
        {
            std::abort();
        }
        return Data[Index];
    }

  private:
    T *Data = nullptr;
    int32 Count = 0;
};

template <typename K, typename V> struct TPair
{
    K Key;
    V Value;
};

template <typename K, typename V> class TMap
{
  public:
    V *Find(const K &Key)
    {
        for (auto &Each : Pairs)
        {
            if (Each.Key == Key)
            {
                return &Each.Value;
            }
        }
        return nullptr;
    }
    const V *Find(const K &Key) const { return const_cast<TMap *>(this)->Find(Key); }
    bool Contains(const K &Key) const { return Find(Key) != nullptr; }
    V &FindChecked(const K &Key)
    {
        V *Out = Find(Key);
        if (Out == nullptr)
        {
            std::abort();
        }
        return *Out;
    }
    V &Add(const K &Key, const V &Value)
    {
        V &Out = FindOrAdd(Key);
        Out = Value;
        return Out;
    }
    V &FindOrAdd(const K &Key)
    {
        if (V *Out = Find(Key))
        {
            return *Out;
        }
        Pairs.push_back({Key, V{}});
        return Pairs.back().Value;
    }
    int32 Remove(const K &Key)
    {
        const SIZE_T Before = Pairs.size();
        Pairs.erase(
            std::remove_if(Pairs.begin(), Pairs.end(), [&Key](const auto &Each) { return Each.Key == Key; }),
            Pairs.end());
        return static_cast<int32>(Before - Pairs.size());
    }
    void Empty() { Pairs.clear(); }
    int32 Num() const { return static_cast<int32>(Pairs.size()); }
    auto begin() { return Pairs.begin(); }
    auto end() { return Pairs.end(); }

  private:
    std::vector<TPair<K, V>> Pairs;
};

template <typename T> struct TDefaultDelete
{
    TDefaultDelete() = default;
    template <typename U> TDefaultDelete(const TDefaultDelete<U> &) {}
    void operator()(T *Pointer) const { delete Pointer; }
};

template <typename T, typename Deleter = TDefaultDelete<T>> class TUniquePtr
{
  public:
    TUniquePtr() = default;
    TUniquePtr(std::nullptr_t) {}
    explicit TUniquePtr(T *Set) : Pointer(Set) {}
    TUniquePtr(TUniquePtr &&Other) : Pointer(Other.Release()) {}
    template <typename U> TUniquePtr(TUniquePtr<U> &&Other) : Pointer(Other.Release()) {}
    TUniquePtr &operator=(TUniquePtr &&Other)
    {
        Reset(Other.Release());
        return *this;
    }
    TUniquePtr(const TUniquePtr &) = delete;
    ~TUniquePtr() { Reset(); }
    T *Get() const { return Pointer; }
    bool IsValid() const { return Pointer != nullptr; }
    explicit operator bool() const { return IsValid(); }
    T *operator->() const { return Pointer; }
    T &operator*() const { return *Pointer; }
    T *Release() { return std::exchange(Pointer, nullptr); }
    void Reset(T *Set = nullptr)
    {
        T *Old = std::exchange(Pointer, Set);
        if (Old != nullptr)
        {
            Deleter()(Old);
        }
    }

  private:
    T *Pointer = nullptr;
};
template <typename T, typename... A> TUniquePtr<T> MakeUnique(A &&...Values)
{
    return TUniquePtr<T>(new T(std::forward<A>(Values)...));
}

enum class ESPMode
{
    NotThreadSafe,
    ThreadSafe,
};
template <typename T, ESPMode Mode = ESPMode::ThreadSafe> class TSharedRef;
template <typename T, ESPMode Mode = ESPMode::ThreadSafe> class TSharedPtr
{
  public:
    TSharedPtr() = default;
    TSharedPtr(std::nullptr_t) {}
    explicit TSharedPtr(std::shared_ptr<T> Set) : Inner(std::move(Set)) {}
    template <typename U> TSharedPtr(const TSharedPtr<U, Mode> &Other) : Inner(Other.Inner) {}
    template <typename U> TSharedPtr(const TSharedRef<U, Mode> &Other) : Inner(Other.Inner) {}
    T *Get() const { return Inner.get(); }
    bool IsValid() const { return Inner != nullptr; }
    explicit operator bool() const { return IsValid(); }
    T *operator->() const { return Inner.get(); }
    T &operator*() const { return *Inner; }
    void Reset() { Inner.reset(); }
    bool IsUnique() const { return Inner.use_count() == 1; }
    int32 GetSharedReferenceCount() const { return static_cast<int32>(Inner.use_count()); }
    TSharedRef<T, Mode> ToSharedRef() const;
    bool operator==(const TSharedPtr &Other) const { return Inner == Other.Inner; }
    std::shared_ptr<T> Inner;
};
template <typename T, ESPMode Mode> class TSharedRef
{
  public:
    explicit TSharedRef(std::shared_ptr<T> Set) : Inner(std::move(Set)) {}
    template <typename U> TSharedRef(const TSharedRef<U, Mode> &Other) : Inner(Other.Inner) {}
    T *operator->() const { return Inner.get(); }
    T &operator*() const { return *Inner; }
    T &Get() const { return *Inner; }
    std::shared_ptr<T> Inner;
};
template <typename T, ESPMode Mode> TSharedRef<T, Mode> TSharedPtr<T, Mode>::ToSharedRef() const
{
    return TSharedRef<T, Mode>(Inner);
}
template <typename T, ESPMode Mode = ESPMode::ThreadSafe, typename... A>
TSharedRef<T, Mode> MakeShared(A &&...Values)
{
    return TSharedRef<T, Mode>(std::make_shared<T>(std::forward<A>(Values)...));
}

class FCriticalSection : public std::mutex
{
};
class FScopeLock
{
  public:
    explicit FScopeLock(FCriticalSection *Section) : Guard(*Section) {}

  private:
    std::lock_guard<std::mutex> Guard;
};
