// Stand-ins for objects, their classes and references, delegates, archives and bulk data.
#pragma once

#include "StandIn/Maths.h"

enum EObjectFlags
{
    RF_NoFlags = 0,
    RF_Public = 1,
    RF_Standalone = 2,
    RF_ClassDefaultObject = 16,
    RF_NeedLoad = 64,
    RF_Transient = 128,
};
inline EObjectFlags operator|(EObjectFlags A, EObjectFlags B) { return EObjectFlags(int(A) | int(B)); }

class UObject;
class UWorld;
class UPackage;

class UClass
{
  public:
    explicit UClass(const char *SetName) : Name(SetName) {}
    std::string Name;
    template <typename T> T *GetDefaultObject() const
    {
        static T Default;
        return &Default;
    }
};

class FArchive
{
  public:
    virtual ~FArchive() = default;
    virtual void Serialize(void *Data, int64 Bytes) = 0;
    virtual bool IsLoading() const = 0;
    bool IsSaving() const { return !IsLoading(); }
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>> FArchive &operator<<(T &Value)
    {
        Serialize(&Value, sizeof Value);
        return *this;
    }
};
class FMemoryWriter : public FArchive
{
  public:
    explicit FMemoryWriter(TArray<uint8> &SetBytes) : Bytes(SetBytes) {}
    virtual void Serialize(void *Data, int64 Count) override
    {
        Bytes.Append(static_cast<uint8 *>(Data), int32(Count));
    }
    virtual bool IsLoading() const override { return false; }

  private:
    TArray<uint8> &Bytes;
};
class FMemoryReader : public FArchive
{
  public:
    explicit FMemoryReader(const TArray<uint8> &SetBytes) : Bytes(SetBytes) {}
    virtual void Serialize(void *Data, int64 Count) override
    {
        FMemory::Memcpy(Data, Bytes.GetData() + Position, static_cast<SIZE_T>(Count));
        Position += Count;
    }
    virtual bool IsLoading() const override { return true; }

  private:
    const TArray<uint8> &Bytes;
    int64 Position = 0;
};

struct FPropertyChangedEvent
{
};

class UObject
{
  public:
    UObject() = default;
    UObject(const UObject &) = delete;
    virtual ~UObject() = default;
    virtual void Serialize(FArchive &) {}
    virtual void PostInitProperties() {}
    virtual void PostLoad() {}
    virtual void BeginDestroy() {}
    virtual void PostEditChangeProperty(FPropertyChangedEvent &) {}
    virtual UWorld *GetWorld() const { return Outer != nullptr ? Outer->GetWorld() : nullptr; }
    bool HasAnyFlags(EObjectFlags Asked) const { return (int(Flags) & int(Asked)) != 0; }
    void SetFlags(EObjectFlags Set) { Flags = Flags | Set; }
    void ConditionalPostLoad() {}
    FString GetName() const { return Name; }
    FString GetPathName() const
    {
        return (Outer != nullptr ? Outer->GetPathName() + TEXT(".") : FString()) + Name;
    }
    UObject *GetOuter() const { return Outer; }
    UPackage *GetOutermost() const;
    bool MarkPackageDirty();
    void LoadConfig() {}
    void SaveConfig() { StandInSaved++; }
    template <typename T> T *CreateDefaultSubobject(const TCHAR *SubobjectName);

    UObject *Outer = nullptr;
    FString Name;
    EObjectFlags Flags = RF_NoFlags;
    bool bDirty = false;
    int32 StandInSaved = 0;
    std::shared_ptr<int> Alive = std::make_shared<int>(0);
};

class UPackage : public UObject
{
};

namespace StandIn
{
/** All objects that were created; there is no garbage collector, so tests destroy them at their end. */
struct FObjects
{
    std::vector<std::unique_ptr<UObject>> All;
    static FObjects &Get()
    {
        static FObjects Objects;
        return Objects;
    }
    void DestroyAll()
    {
        while (!All.empty())
        {
            std::unique_ptr<UObject> Last = std::move(All.back());
            All.pop_back();
            Last->BeginDestroy();
        }
    }
};
inline bool bDefaultObject = false;
} // namespace StandIn

inline UPackage *UObject::GetOutermost() const
{
    const UObject *Top = this;
    while (Top->Outer != nullptr)
    {
        Top = Top->Outer;
    }
    return const_cast<UPackage *>(dynamic_cast<const UPackage *>(Top));
}
inline bool UObject::MarkPackageDirty()
{
    UPackage *Package = GetOutermost();
    (Package != nullptr ? static_cast<UObject *>(Package) : this)->bDirty = true;
    return true;
}

template <typename T>
T *NewObject(UObject *Outer = nullptr, const FName &Name = NAME_None, EObjectFlags Flags = RF_NoFlags)
{
    auto Owned = std::make_unique<T>();
    T *Out = Owned.get();
    Out->Outer = Outer;
    Out->Name = Name.IsNone() ? FString::Printf(TEXT("Object_%d"), int32(StandIn::FObjects::Get().All.size()))
                              : Name.ToString();
    Out->Flags = Flags;
    StandIn::FObjects::Get().All.push_back(std::move(Owned));
    Out->PostInitProperties();
    return Out;
}
template <typename T>
T *NewObject(UObject *Outer, UClass *, const FName &Name, EObjectFlags Flags = RF_NoFlags)
{
    return NewObject<T>(Outer, Name, Flags);
}
template <typename T> T *UObject::CreateDefaultSubobject(const TCHAR *SubobjectName)
{
    return NewObject<T>(this, SubobjectName);
}
inline UPackage *CreatePackage(const TCHAR *Name) { return NewObject<UPackage>(nullptr, Name); }
template <typename T> T *GetMutableDefault()
{
    static T Default;
    return &Default;
}
template <typename T> const T *GetDefault() { return GetMutableDefault<T>(); }
template <typename T> T *Cast(UObject *Object) { return dynamic_cast<T *>(Object); }
template <typename T> const T *Cast(const UObject *Object) { return dynamic_cast<const T *>(Object); }
inline bool UObjectInitialized() { return true; }

template <typename T> class TObjectPtr
{
  public:
    TObjectPtr() = default;
    TObjectPtr(std::nullptr_t) {}
    TObjectPtr(T *Set) : Pointer(Set) {}
    T *Get() const { return Pointer; }
    operator T *() const { return Pointer; }
    T *operator->() const { return Pointer; }
    T &operator*() const { return *Pointer; }

  private:
    T *Pointer = nullptr;
};
template <typename T> T *Cast(const TObjectPtr<UObject> &Object) { return Cast<T>(Object.Get()); }

template <typename T> class TWeakObjectPtr
{
  public:
    TWeakObjectPtr() = default;
    TWeakObjectPtr(T *Set) : Pointer(Set)
    {
        if (Set != nullptr)
        {
            Alive = Set->Alive;
        }
    }
    T *Get() const { return Alive.expired() ? nullptr : Pointer; }
    bool IsValid() const { return Get() != nullptr; }
    T *operator->() const { return Get(); }
    bool operator==(const T *Other) const { return Get() == Other; }

  private:
    T *Pointer = nullptr;
    std::weak_ptr<int> Alive;
};

template <typename T> class TObjectKey
{
  public:
    TObjectKey() = default;
    TObjectKey(const T *Set) : Pointer(Set) {}
    bool operator==(const TObjectKey &Other) const { return Pointer == Other.Pointer; }

  private:
    const void *Pointer = nullptr;
};

struct FDelegateHandle
{
    uint64 Number = 0;
};
template <typename... A> class TMulticastDelegate
{
  public:
    template <typename C, typename M> FDelegateHandle AddUObject(C *Object, M Method)
    {
        TWeakObjectPtr<C> Weak(Object);
        return AddLambda(
            [Weak, Method](A... Values)
            {
                if (C *There = Weak.Get())
                {
                    (There->*Method)(Values...);
                }
            });
    }
    template <typename F> FDelegateHandle AddLambda(F &&Function)
    {
        Entries.push_back({++Last, std::forward<F>(Function)});
        return {Last};
    }
    bool Remove(FDelegateHandle Handle)
    {
        const auto End = std::remove_if(Entries.begin(), Entries.end(),
                                        [&](const auto &Each) { return Each.first == Handle.Number; });
        const bool bOut = End != Entries.end();
        Entries.erase(End, Entries.end());
        return bOut;
    }
    bool IsBound() const { return !Entries.empty(); }
    void Broadcast(A... Values) const
    {
        const auto Copy = Entries;
        for (const auto &Each : Copy)
        {
            Each.second(Values...);
        }
    }

  private:
    std::vector<std::pair<uint64, std::function<void(A...)>>> Entries;
    uint64 Last = 0;
};
#define DECLARE_MULTICAST_DELEGATE_OneParam(Name, T) using Name = TMulticastDelegate<T>
// The engine binds by the name of a UFUNCTION; here by the method itself.
#define DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(Name, T1, N1) using Name = TMulticastDelegate<T1>
#define DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(Name, T1, N1, T2, N2)                                   \
    using Name = TMulticastDelegate<T1, T2>
#define AddDynamic(Object, Method) AddUObject(Object, Method)

enum
{
    LOCK_READ_ONLY = 1,
    LOCK_READ_WRITE = 2,
};
/** Bytes that are stored behind an object's properties. */
class FByteBulkData
{
  public:
    void *Lock(uint32 Mode)
    {
        assert(Mode == LOCK_READ_WRITE && !bLocked);
        bLocked = true;
        return Bytes.data();
    }
    const void *LockReadOnly() const
    {
        assert(!bLocked);
        bLocked = true;
        return Bytes.data();
    }
    void *Realloc(int64 Count)
    {
        assert(bLocked);
        Bytes.resize(static_cast<SIZE_T>(Count));
        return Bytes.data();
    }
    void Unlock() const
    {
        assert(bLocked);
        bLocked = false;
    }
    int64 GetBulkDataSize() const { return static_cast<int64>(Bytes.size()); }
    void RemoveBulkData()
    {
        assert(!bLocked);
        Bytes.clear();
    }
    void Serialize(FArchive &Ar, UObject *)
    {
        int64 Count = GetBulkDataSize();
        Ar << Count;
        Bytes.resize(static_cast<SIZE_T>(Count));
        Ar.Serialize(Bytes.data(), Count);
    }

  private:
    std::vector<uint8> Bytes;
    mutable bool bLocked = false;
};

struct FFilePath
{
    FString FilePath;
};
