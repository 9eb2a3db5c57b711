// A clip of a skeleton: poses at any time, root motion, markers.
#pragma once

#include "CoreMinimal.h"
#include "MeshreelAxes.h"
#include "MeshreelLibrary.h"

/** An open clip. Any number of threads may use it at once. */
class MESHREEL_API FMeshreelClip
{
  public:
    /** The names of a file's clips, in their order. */
    static TArray<FName> Names(const mr_reel *Reel, const FString &File);

    /** Opens the clip of that number. The reel may be freed before the clip. */
    bool Open(const mr_reel *Reel, uint32 Number, const FMeshreelAxes &InAxes, const FString &InFile);
    void Close();
    bool IsOpen() const { return Clips.IsValid(); }

    double GetDuration() const { return Info.duration; }
    int32 GetNumJoints() const { return static_cast<int32>(Info.joints); }
    int32 GetNumSamples() const { return static_cast<int32>(Info.samples); }
    int64 GetBytes() const { return static_cast<int64>(Info.file_bytes); }
    const TArray<FName> &GetJointNames() const { return JointNames; }
    /** The parent of each joint; INDEX_NONE for roots. Parents stand before their children. */
    const TArray<int32> &GetParents() const { return Parents; }

    /** The parent-relative transforms of all joints. `bStep`: of the sample before, not interpolated. */
    bool Pose(double Seconds, bool bLoop, bool bStep, TArray<FTransform> &Out) const;
    /** The parent-relative transform of one joint. */
    bool Joint(int32 Number, double Seconds, bool bLoop, bool bStep, FTransform &Out) const;
    /**
     * The motion of a joint along the ground, and its rotation about the vertical, from one time to another.
     */
    bool RootMotion(int32 Number, double From, double To, bool bLoop, FTransform &Out) const;
    /** The names of the markers that a step passes, in the order in which it passes them. */
    bool Markers(double From, double To, bool bLoop, TArray<FName> &Out) const;

  private:
    FMeshreelCursor Take() const;
    void Return(FMeshreelCursor Cursor) const;

    FMeshreelClipSet Clips;
    mr_clip_info Info{};
    uint32 Clip = 0;
    FMeshreelAxes Axes;
    FString File;
    TArray<FName> JointNames, MarkerNames;
    TArray<int32> Parents;
    /** A cursor keeps what it has decoded, so each is used again. */
    mutable FCriticalSection Section;
    mutable TArray<FMeshreelCursor> Cursors;
};
