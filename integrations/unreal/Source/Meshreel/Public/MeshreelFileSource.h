// Files of Unreal's file system as sources of the library, so that files in packages (.pak, .ucas) are
// streamed too.
#pragma once

#include "CoreMinimal.h"
#include "MeshreelLibrary.h"

/** Opens a file of the platform's file system, which may lie inside a package. */
struct MESHREEL_API FMeshreelFileSource
{
    /** Whether the system itself can open the path: then the library reads it without this source. */
    static bool IsLoose(const FString &Path);

    /**
     * Fills `Out`; false if the file cannot be opened. The library calls `release`, which closes the file.
     */
    static bool Open(const FString &Path, mr_source &Out);
};
