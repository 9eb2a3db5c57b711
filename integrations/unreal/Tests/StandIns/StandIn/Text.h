// Stand-ins for the engine's strings, names and log. Texts are UTF-16, as in the engine.
#pragma once

#include "StandIn/Containers.h"

namespace StandIn
{
inline std::string Utf8(const std::u16string &Text)
{
    std::string Out;
    for (SIZE_T I = 0; I < Text.size(); I++)
    {
        uint32 C = Text[I];
        if (C >= 0xD800 && C < 0xDC00 && I + 1 < Text.size())
        {
            C = 0x10000 + ((C - 0xD800) << 10) + (Text[++I] - 0xDC00u);
        }
        if (C < 0x80)
        {
            Out += static_cast<char>(C);
        }
        else if (C < 0x800)
        {
            Out += static_cast<char>(0xC0 | (C >> 6));
            Out += static_cast<char>(0x80 | (C & 63));
        }
        else if (C < 0x10000)
        {
            Out += static_cast<char>(0xE0 | (C >> 12));
            Out += static_cast<char>(0x80 | ((C >> 6) & 63));
            Out += static_cast<char>(0x80 | (C & 63));
        }
        else
        {
            Out += static_cast<char>(0xF0 | (C >> 18));
            Out += static_cast<char>(0x80 | ((C >> 12) & 63));
            Out += static_cast<char>(0x80 | ((C >> 6) & 63));
            Out += static_cast<char>(0x80 | (C & 63));
        }
    }
    return Out;
}
inline std::u16string Utf16(const char *Text)
{
    std::u16string Out;
    const unsigned char *P = reinterpret_cast<const unsigned char *>(Text);
    while (*P != 0)
    {
        uint32 C = *P++;
        const int More = C >= 0xF0 ? 3 : C >= 0xE0 ? 2 : C >= 0xC0 ? 1 : 0;
        C &= More == 3 ? 7u : More == 2 ? 15u : More == 1 ? 31u : 127u;
        for (int I = 0; I < More && *P != 0; I++)
        {
            C = (C << 6) | (*P++ & 63u);
        }
        if (C >= 0x10000)
        {
            Out += static_cast<char16_t>(0xD800 + ((C - 0x10000) >> 10));
            Out += static_cast<char16_t>(0xDC00 + ((C - 0x10000) & 0x3FF));
        }
        else
        {
            Out += static_cast<char16_t>(C);
        }
    }
    return Out;
}
inline char16_t Lower(char16_t C) { return C >= u'A' && C <= u'Z' ? static_cast<char16_t>(C + 32) : C; }

/** One argument of a format. */
struct FArgument
{
    FArgument(const TCHAR *Text) : String(Text), Kind('s') {}
    FArgument(double Value) : Number(Value), Kind('f') {}
    template <typename T, typename = std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>>>
    FArgument(T Value) : Integer(static_cast<long long>(Value)), Kind('d')
    {
    }
    const TCHAR *String = nullptr;
    double Number = 0.0;
    long long Integer = 0;
    char Kind;
};
/** Formats as the engine does: a wrong kind of argument ends the test. */
inline std::u16string Format(const TCHAR *Pattern, const std::vector<FArgument> &Arguments)
{
    std::string Out;
    const std::string In = Utf8(Pattern);
    SIZE_T Next = 0;
    for (SIZE_T I = 0; I < In.size(); I++)
    {
        if (In[I] != '%' || In[I + 1] == '%')
        {
            Out += In[I];
            I += In[I] == '%' ? 1 : 0;
            continue;
        }
        std::string Spec = "%";
        while (std::strchr("sdiuxgf", In[++I]) == nullptr)
        {
            Spec += In[I] == 'l' ? "" : std::string(1, In[I]);
        }
        const FArgument &A = Arguments.at(Next++);
        char Buffer[64];
        if (In[I] == 's')
        {
            assert(A.Kind == 's');
            Out += Utf8(A.String);
        }
        else if (In[I] == 'g' || In[I] == 'f')
        {
            assert(A.Kind == 'f');
            std::snprintf(Buffer, sizeof Buffer, (Spec + In[I]).c_str(), A.Number);
            Out += Buffer;
        }
        else
        {
            assert(A.Kind == 'd');
            std::snprintf(Buffer, sizeof Buffer, (Spec + "ll" + In[I]).c_str(), A.Integer);
            Out += Buffer;
        }
    }
    assert(Next == Arguments.size());
    return Utf16(Out.c_str());
}
} // namespace StandIn

class FString
{
  public:
    FString() = default;
    FString(const TCHAR *Set) : Text(Set) {}
    explicit FString(std::u16string Set) : Text(std::move(Set)) {}
    const TCHAR *operator*() const { return Text.c_str(); }
    bool IsEmpty() const { return Text.empty(); }
    int32 Len() const { return static_cast<int32>(Text.size()); }
    void Reset(int32 = 0) { Text.clear(); }
    TCHAR operator[](int32 Index) const { return Text.at(static_cast<SIZE_T>(Index)); }
    FString &operator+=(const FString &Other)
    {
        Text += Other.Text;
        return *this;
    }
    FString &operator+=(const TCHAR *Other)
    {
        Text += Other;
        return *this;
    }
    FString &AppendChar(TCHAR C)
    {
        Text += C;
        return *this;
    }
    friend FString operator+(const FString &A, const FString &B) { return FString(A.Text + B.Text); }
    friend FString operator+(const FString &A, const TCHAR *B) { return FString(A.Text + B); }
    friend FString operator+(const TCHAR *A, const FString &B) { return FString(A + B.Text); }
    /** Without regard to case, as in the engine. */
    bool operator==(const FString &Other) const { return Lowered() == Other.Lowered(); }
    bool operator==(const TCHAR *Other) const { return *this == FString(Other); }
    FString ToLower() const { return FString(Lowered()); }
    bool StartsWith(const FString &Prefix) const { return Lowered().rfind(Prefix.Lowered(), 0) == 0; }
    bool EndsWith(const FString &Suffix) const
    {
        return Len() >= Suffix.Len() && FString(Text.substr(Text.size() - Suffix.Text.size())) == Suffix;
    }
    bool Contains(const FString &Part) const
    {
        return Lowered().find(Part.Lowered()) != std::u16string::npos;
    }
    FString RightChop(int32 Count) const { return FString(Text.substr(static_cast<SIZE_T>(Count))); }
    FString Left(int32 Count) const { return FString(Text.substr(0, static_cast<SIZE_T>(Count))); }
    bool IsNumeric() const
    {
        return !Text.empty() &&
               std::all_of(Text.begin(), Text.end(), [](char16_t C) { return C >= u'0' && C <= u'9'; });
    }
    FString TrimStartAndEnd() const
    {
        SIZE_T A = 0, B = Text.size();
        while (A < B && Text[A] <= u' ')
        {
            A++;
        }
        while (B > A && Text[B - 1] <= u' ')
        {
            B--;
        }
        return FString(Text.substr(A, B - A));
    }
    int32 ParseIntoArrayLines(TArray<FString> &Out) const
    {
        Out.Reset();
        std::u16string Line;
        for (const char16_t C : Text + u"\n")
        {
            if (C == u'\n')
            {
                if (!Line.empty())
                {
                    Out.Add(FString(Line));
                }
                Line.clear();
            }
            else if (C != u'\r')
            {
                Line += C;
            }
        }
        return Out.Num();
    }
    template <typename... A> static FString Printf(const TCHAR *Pattern, A... Arguments)
    {
        return FString(
            StandIn::Format(Pattern, std::vector<StandIn::FArgument>{StandIn::FArgument(Arguments)...}));
    }
    std::string Utf8() const { return StandIn::Utf8(Text); }
    std::u16string Text;

  private:
    std::u16string Lowered() const
    {
        std::u16string Out = Text;
        std::transform(Out.begin(), Out.end(), Out.begin(), StandIn::Lower);
        return Out;
    }
};

#define UTF8_TO_TCHAR(Source) (StandIn::Utf16(Source).c_str())
#define TCHAR_TO_UTF8(Source) (StandIn::Utf8(Source).c_str())

class FTCHARToUTF8
{
  public:
    explicit FTCHARToUTF8(const TCHAR *Source) : Text(StandIn::Utf8(Source)) {}
    const char *Get() const { return Text.c_str(); }
    int32 Length() const { return static_cast<int32>(Text.size()); }

  private:
    std::string Text;
};

struct FCString
{
    static int32 Atoi(const TCHAR *Source) { return std::atoi(StandIn::Utf8(Source).c_str()); }
};

enum EName
{
    NAME_None
};
class FName
{
  public:
    FName() = default;
    FName(EName) {}
    FName(const TCHAR *Set) : Text(Set) {}
    bool IsNone() const { return Text.IsEmpty(); }
    FString ToString() const { return IsNone() ? FString(TEXT("None")) : Text; }
    bool operator==(const FName &Other) const { return Text == Other.Text; }

  private:
    FString Text;
};

class FText
{
  public:
    static FText FromString(const FString &Source) { return FText{Source}; }
    static FText Format(const FText &Pattern, const FText &Argument)
    {
        std::u16string Out = Pattern.Text.Text;
        const SIZE_T Where = Out.find(u"{0}");
        return FText{
            FString(Where == std::u16string::npos ? Out : Out.replace(Where, 3, Argument.Text.Text))};
    }
    FString ToString() const { return Text; }
    FString Text;
};
#define LOCTEXT(Key, Source) FText::FromString(TEXT(Source))

namespace StandIn
{
/** The log, for tests to look at. */
struct FLog
{
    std::mutex Section;
    std::vector<std::string> Errors, All;
    static FLog &Get()
    {
        static FLog Log;
        return Log;
    }
    void Add(const char *Verbosity, const std::u16string &Line)
    {
        std::lock_guard<std::mutex> Guard(Section);
        All.push_back(Utf8(Line));
        if (std::string(Verbosity) == "Error")
        {
            Errors.push_back(All.back());
        }
        if (std::getenv("STANDIN_LOG") != nullptr)
        {
            std::fprintf(stderr, "%s: %s\n", Verbosity, All.back().c_str());
        }
    }
    /** The number of errors since the last call, and the last of them. */
    SIZE_T Take(std::string *Last = nullptr)
    {
        std::lock_guard<std::mutex> Guard(Section);
        const SIZE_T Out = Errors.size();
        if (Last != nullptr)
        {
            *Last = Errors.empty() ? "" : Errors.back();
        }
        Errors.clear();
        return Out;
    }
};
template <typename... A> void Log(const char *Verbosity, const TCHAR *Pattern, A... Arguments)
{
    FLog::Get().Add(Verbosity, Format(Pattern, std::vector<FArgument>{FArgument(Arguments)...}));
}
} // namespace StandIn

struct FLogCategory
{
};
#define DECLARE_LOG_CATEGORY_EXTERN(Name, Default, Compiled) extern FLogCategory Name
#define DEFINE_LOG_CATEGORY(Name) FLogCategory Name
#define UE_LOG(Category, Verbosity, Pattern, ...)                                                            \
    ((void)Category, StandIn::Log(#Verbosity, Pattern, ##__VA_ARGS__))

struct FGuid
{
    static FGuid NewGuid() { return FGuid{++Counter()}; }
    FString ToString() const
    {
        return FString::Printf(
            TEXT("%d-%d"), int32(std::hash<std::thread::id>()(std::this_thread::get_id()) % 100000), Value);
    }
    static int32 &Counter()
    {
        static int32 Count = 0;
        return Count;
    }
    int32 Value = 0;
};
