#include "MeshreelClip.h"

#include "Misc/ScopeLock.h"

TArray<FName> FMeshreelClip::Names(const mr_reel *Reel, const FString &InFile)
{
    TArray<FName> Out;
    mr_clips *Handle = nullptr;
    mr_clips_info Numbers = MeshreelSized<mr_clips_info>();
    if (!FMeshreelLibrary::Ok(mr_clips_new(Reel, &Handle), InFile))
    {
        return Out;
    }
    const FMeshreelClipSet Set(Handle);
    if (!FMeshreelLibrary::Ok(mr_clips_get(Handle, &Numbers), InFile))
    {
        return Out;
    }
    for (uint32 Number = 0; Number < Numbers.clips; Number++)
    {
        const FString Name = FMeshreelLibrary::Text(
            [&](char *Text, size_t Capacity, size_t *Length)
            {
                mr_clip_info Each = MeshreelSized<mr_clip_info>();
                return mr_clips_clip(Handle, Number, &Each, Text, Capacity, Length);
            });
        Out.Add(FName(*Name));
    }
    return Out;
}

void FMeshreelClip::Close()
{
    Cursors.Empty();
    JointNames.Reset();
    MarkerNames.Reset();
    Parents.Reset();
    Clips.Reset();
    Info = mr_clip_info{};
}

bool FMeshreelClip::Open(const mr_reel *Reel, uint32 Number, const FMeshreelAxes &InAxes,
                         const FString &InFile)
{
    Close();
    Clip = Number;
    Axes = InAxes;
    File = InFile;
    mr_clips *Handle = nullptr;
    Info = MeshreelSized<mr_clip_info>();
    if (!FMeshreelLibrary::Ok(mr_clips_new(Reel, &Handle), File))
    {
        return false;
    }
    FMeshreelClipSet Set(Handle);
    TArray<uint32> Numbers;
    if (!FMeshreelLibrary::Ok(mr_clips_clip(Handle, Number, &Info, nullptr, 0, nullptr), File))
    {
        return false;
    }
    Numbers.SetNumZeroed(GetNumJoints());
    if (GetNumJoints() > 0 &&
        !FMeshreelLibrary::Ok(
            mr_clips_parents(Handle, Info.skeleton, Numbers.GetData(), Info.joints, nullptr), File))
    {
        return false;
    }
    for (uint32 Each = 0; Each < Info.joints; Each++)
    {
        const uint32 Parent = Numbers[static_cast<int32>(Each)];
        Parents.Add(Parent == MR_NONE ? INDEX_NONE : static_cast<int32>(Parent));
        const FString Name = FMeshreelLibrary::Text(
            [&](char *Text, size_t Capacity, size_t *Length)
            { return mr_clips_joint(Handle, Info.skeleton, Each, Text, Capacity, Length); });
        JointNames.Add(FName(*Name));
    }
    for (uint32 Marker = 0; Marker < Info.markers; Marker++)
    {
        double Seconds = 0.0;
        const FString Name = FMeshreelLibrary::Text(
            [&](char *Text, size_t Capacity, size_t *Length)
            { return mr_clips_marker(Handle, Clip, Marker, &Seconds, Text, Capacity, Length); });
        MarkerNames.Add(FName(*Name));
    }
    Clips = MoveTemp(Set);
    return true;
}

/** Takes a cursor that no thread uses; null, with an error in the log, if there is no memory for one. */
FMeshreelCursor FMeshreelClip::Take() const
{
    {
        FScopeLock Lock(&Section);
        if (Cursors.Num() > 0)
        {
            return Cursors.Pop();
        }
    }
    mr_cursor *Handle = nullptr;
    if (!Clips.IsValid() ||
        !FMeshreelLibrary::Ok(mr_cursor_new(Clips.Get(), Clip, nullptr, 0, &Handle), File))
    {
        return FMeshreelCursor();
    }
    return FMeshreelCursor(Handle);
}

void FMeshreelClip::Return(FMeshreelCursor Cursor) const
{
    FScopeLock Lock(&Section);
    Cursors.Add(MoveTemp(Cursor));
}

bool FMeshreelClip::Pose(double Seconds, bool bLoop, bool bStep, TArray<FTransform> &Out) const
{
    const mr_query Query{Seconds, bLoop ? 1u : 0u,
                         bStep ? uint32(MR_ROUNDING_FLOOR) : uint32(MR_ROUNDING_NONE)};
    TArray<mr_transform, TInlineAllocator<128>> Local;
    Local.SetNumUninitialized(GetNumJoints());
    FMeshreelCursor Cursor = Take();
    if (!Cursor.IsValid())
    {
        return false;
    }
    const bool bOk =
        FMeshreelLibrary::Ok(mr_cursor_pose(Cursor.Get(), &Query, Local.GetData(), Info.joints), File);
    Return(MoveTemp(Cursor));
    if (!bOk)
    {
        return false;
    }
    Out.SetNumUninitialized(Local.Num());
    for (int32 Each = 0; Each < Local.Num(); Each++)
    {
        Out[Each] = Axes.Transform(Local[Each]);
    }
    return true;
}

bool FMeshreelClip::Joint(int32 Number, double Seconds, bool bLoop, bool bStep, FTransform &Out) const
{
    const mr_query Query{Seconds, bLoop ? 1u : 0u,
                         bStep ? uint32(MR_ROUNDING_FLOOR) : uint32(MR_ROUNDING_NONE)};
    FMeshreelCursor Cursor = Take();
    if (!Cursor.IsValid() || Number < 0)
    {
        return false;
    }
    mr_transform Local{};
    const mr_status Status =
        mr_cursor_joint(Cursor.Get(), static_cast<uint32>(Number), &Query, &Local, nullptr);
    Return(MoveTemp(Cursor));
    if (!FMeshreelLibrary::Ok(Status, File))
    {
        return false;
    }
    Out = Axes.Transform(Local);
    return true;
}

bool FMeshreelClip::RootMotion(int32 Number, double From, double To, bool bLoop, FTransform &Out) const
{
    const mr_step Step{From, To, bLoop ? 1u : 0u, 0};
    const float Up[3] = {0.0f, Axes.bZUp ? 0.0f : 1.0f, Axes.bZUp ? 1.0f : 0.0f};
    FMeshreelCursor Cursor = Take();
    if (!Cursor.IsValid() || Number < 0)
    {
        return false;
    }
    mr_transform Motion{};
    const mr_status Status =
        mr_cursor_root_motion(Cursor.Get(), static_cast<uint32>(Number), &Step, Up, &Motion);
    Return(MoveTemp(Cursor));
    if (!FMeshreelLibrary::Ok(Status, File))
    {
        return false;
    }
    Out = Axes.Transform(Motion);
    return true;
}

bool FMeshreelClip::Markers(double From, double To, bool bLoop, TArray<FName> &Out) const
{
    Out.Reset();
    const mr_step Step{From, To, bLoop ? 1u : 0u, 0};
    FMeshreelCursor Cursor = Take();
    if (!Cursor.IsValid())
    {
        return false;
    }
    // A step that runs through the clip many times passes many markers; more than this are not told.
    TArray<mr_passed, TInlineAllocator<64>> Passed;
    Passed.SetNumZeroed(64);
    size_t Count = 0;
    const mr_status Status =
        mr_cursor_events(Cursor.Get(), &Step, Passed.GetData(), static_cast<size_t>(Passed.Num()), &Count);
    Return(MoveTemp(Cursor));
    if (!FMeshreelLibrary::Ok(Status, File))
    {
        return false;
    }
    for (int32 Each = 0; Each < FMath::Min(static_cast<int32>(Count), Passed.Num()); Each++)
    {
        const int32 Marker = static_cast<int32>(Passed[Each].marker);
        Out.Add(MarkerNames.IsValidIndex(Marker) ? MarkerNames[Marker] : NAME_None);
    }
    return true;
}
