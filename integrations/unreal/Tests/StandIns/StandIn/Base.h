// Stands in for Unreal Engine's headers, as far as the plugin uses them, so that it is compiled and run
// without the engine. Written for these tests from the engine's public documentation: names and shapes,
// nothing else.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using int8 = std::int8_t;
using int16 = std::int16_t;
using int32 = std::int32_t;
using int64 = std::int64_t;
using uint8 = std::uint8_t;
using uint16 = std::uint16_t;
using uint32 = std::uint32_t;
using uint64 = std::uint64_t;
using SIZE_T = std::size_t;
using ANSICHAR = char;
using UTF8CHAR = char;
// As in the engine, so that a text that was not converted does not compile.
using TCHAR = char16_t;

#ifndef ENGINE_MAJOR_VERSION
#define ENGINE_MAJOR_VERSION 5
#endif
#ifndef ENGINE_MINOR_VERSION
#define ENGINE_MINOR_VERSION 4
#endif
#ifndef WITH_EDITOR
#define WITH_EDITOR 1
#endif
#define WITH_EDITORONLY_DATA WITH_EDITOR
#define PLATFORM_WINDOWS 0
#define INDEX_NONE (-1)
#define TEXT(Text) u##Text
#define THIRD_PARTY_INCLUDES_START
#define THIRD_PARTY_INCLUDES_END
#define MESHREEL_API
#define MESHREELEDITOR_API
#define UE_FORCE_INLINE_HINT inline
#define PURE_VIRTUAL(...)

#define UPROPERTY(...)
#define UFUNCTION(...)
#define UENUM(...)
#define USTRUCT(...)
#define UCLASS(...)
#define STANDIN_JOIN_(A, B, C) A##B##C
#define STANDIN_JOIN(A, B, C) STANDIN_JOIN_(A, B, C)
// The header tool of the engine writes a macro for each place; that of the tests does the same.
#define GENERATED_BODY(...) STANDIN_JOIN(STANDIN_BODY_, STANDIN_FILE, __LINE__)

#define check(Condition) assert(Condition)

template <typename T> void Swap(T &A, T &B) { std::swap(A, B); }
template <typename T> std::remove_reference_t<T> &&MoveTemp(T &&Value)
{
    return static_cast<std::remove_reference_t<T> &&>(Value);
}
template <typename T> using TFunction = std::function<T>;
template <typename T> T &&Forward(std::remove_reference_t<T> &Value) { return static_cast<T &&>(Value); }

enum EForceInit
{
    ForceInit
};

struct FMemory
{
    static void Memcpy(void *Target, const void *Source, SIZE_T Bytes)
    {
        if (Bytes > 0)
        {
            std::memcpy(Target, Source, Bytes);
        }
    }
    static int32 Memcmp(const void *A, const void *B, SIZE_T Bytes) { return std::memcmp(A, B, Bytes); }
    static void *Malloc(SIZE_T Bytes, uint32 Alignment)
    {
        if (FailNext())
        {
            FailNext() = false;
            return nullptr;
        }
        Held()++;
        const SIZE_T Used = std::max<SIZE_T>(Alignment, sizeof(void *));
        return std::aligned_alloc(Used, (Bytes + Used - 1) / Used * Used);
    }
    static void Free(void *Memory)
    {
        Held()--;
        std::free(Memory);
    }
    /** For tests: the next allocation fails; and the number of those that were not freed. */
    static bool &FailNext()
    {
        static bool bFail = false;
        return bFail;
    }
    static std::atomic<int> &Held()
    {
        static std::atomic<int> Count{0};
        return Count;
    }
};
