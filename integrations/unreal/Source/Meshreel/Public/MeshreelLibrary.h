// The C library, and what the plugin adds to it: handles that free themselves, and a log of its errors.
#pragma once

#include "CoreMinimal.h"
#include "Templates/UniquePtr.h"

THIRD_PARTY_INCLUDES_START
#include <meshreel.h>
THIRD_PARTY_INCLUDES_END

MESHREEL_API DECLARE_LOG_CATEGORY_EXTERN(LogMeshreel, Log, All);

/** Frees a handle of the C interface. */
template <auto Free> struct TMeshreelFree
{
    template <typename T> void operator()(T *Handle) const { Free(Handle); }
};

using FMeshreelReel = TUniquePtr<mr_reel, TMeshreelFree<mr_reel_free>>;
using FMeshreelDecoder = TUniquePtr<mr_decoder, TMeshreelFree<mr_decoder_free>>;
using FMeshreelClipSet = TUniquePtr<mr_clips, TMeshreelFree<mr_clips_free>>;
using FMeshreelCursor = TUniquePtr<mr_cursor, TMeshreelFree<mr_cursor_free>>;
using FMeshreelPlayer = TUniquePtr<mr_player, TMeshreelFree<mr_player_free>>;
using FMeshreelFrame = TUniquePtr<mr_frame, TMeshreelFree<mr_frame_free>>;

/** The library as a whole. */
struct MESHREEL_API FMeshreelLibrary
{
    /**
     * Whether the library fits the header that the plugin was compiled with. Says once, as an error, what is
     * wrong; no other function of the library may be called if it does not fit.
     */
    static bool IsUsable();

    /** Whether a call succeeded; logs the library's message, with the name of the file, if it did not. */
    static bool Ok(mr_status Status, const FString &File);

    /** The message of the last failed call of this thread. */
    static FString LastError();

    /** Calls a function of the form (buffer, capacity, length) twice: for the length, then for the text. */
    template <typename FCall> static FString Text(FCall &&Call)
    {
        size_t Length = 0;
        if (Call(nullptr, size_t(0), &Length) != MR_STATUS_OK || Length == 0)
        {
            return FString();
        }
        TArray<ANSICHAR> Bytes;
        Bytes.SetNumZeroed(static_cast<int32>(Length) + 1);
        if (Call(Bytes.GetData(), static_cast<size_t>(Bytes.Num()), &Length) != MR_STATUS_OK)
        {
            return FString();
        }
        return FString(UTF8_TO_TCHAR(Bytes.GetData()));
    }
};

/** A structure of the C interface whose first member is its size. */
template <typename T> T MeshreelSized()
{
    T Out{};
    Out.size = sizeof(T);
    return Out;
}
