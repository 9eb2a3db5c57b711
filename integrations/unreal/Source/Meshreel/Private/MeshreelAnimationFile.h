// Animations of the engine as .glb files, for the program to compile.
#pragma once

#include "CoreMinimal.h"

struct FCompressibleAnimData;

struct FMeshreelAnimationFile
{
    /** The track that a joint stands for; INDEX_NONE if its name is not one that `Write` has given. */
    static int32 TrackOf(const FString &JointName);

#if WITH_EDITORONLY_DATA
    /**
     * Writes the skeleton, in metres and with y up, and the keys of all tracks. Joints are named `track0`,
     * `track1` and so on; bones without a track, which are there for their transforms, `bone0` and so on.
     */
    static bool Write(const FCompressibleAnimData &Data, TArray<uint8> &Out);
#endif
};
