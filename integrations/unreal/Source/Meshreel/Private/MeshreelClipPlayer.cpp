#include "MeshreelClipPlayer.h"

#include "Components/PoseableMeshComponent.h"
#include "GameFramework/Actor.h"

UMeshreelClipPlayer::UMeshreelClipPlayer() { PrimaryComponentTick.bCanEverTick = true; }

void UMeshreelClipPlayer::BeginPlay()
{
    Super::BeginPlay();
    if (bAutoPlay && Asset != nullptr)
    {
        Play(FirstClip, 0.0);
    }
}

TArray<FName> UMeshreelClipPlayer::GetClips()
{
    const FMeshreelOpenFilePtr File = Asset != nullptr ? Asset->Open() : nullptr;
    return File.IsValid() ? FMeshreelClip::Names(File->Reel.Get(), File->Name) : TArray<FName>();
}

bool UMeshreelClipPlayer::Play(FName Name, double BlendSeconds)
{
    const FMeshreelOpenFilePtr File = Asset != nullptr ? Asset->Open() : nullptr;
    if (!File.IsValid())
    {
        return false;
    }
    const TArray<FName> Names = FMeshreelClip::Names(File->Reel.Get(), File->Name);
    const int32 Number = Name.IsNone() ? 0 : Names.IndexOfByKey(Name);
    if (!Names.IsValidIndex(Number))
    {
        UE_LOG(LogMeshreel, Error, TEXT("%s has no clip %s"), *File->Name, *Name.ToString());
        return false;
    }
    const TArray<FName> JointsBefore = Clip.GetJointNames();
    if (!Clip.Open(File->Reel.Get(), static_cast<uint32>(Number), Asset->GetAxes(File->Info), File->Name))
    {
        return false;
    }
    // A blend needs the same skeleton on both sides.
    BlendFrom.Reset();
    if (JointsBefore == Clip.GetJointNames())
    {
        BlendFrom = Pose;
    }
    BlendDuration = BlendFrom.Num() > 0 ? BlendSeconds : 0.0;
    BlendTime = 0.0;
    Root = RootJoint.IsNone() ? INDEX_NONE : Clip.GetJointNames().IndexOfByKey(RootJoint);
    RootMotion = FTransform::Identity;
    bOver = bPaused = false;
    Position = Rate < 0.0 ? Clip.GetDuration() : 0.0;
    Evaluate(0.0);
    return true;
}

void UMeshreelClipPlayer::Seek(double Seconds)
{
    Position = FMath::Clamp(Seconds, 0.0, GetDuration());
    bOver = false;
    Evaluate(0.0);
}

void UMeshreelClipPlayer::TickComponent(float DeltaTime, ELevelTick TickType,
                                        FActorComponentTickFunction *ThisTickFunction)
{
    Super::TickComponent(DeltaTime, TickType, ThisTickFunction);
    if (IsPlaying())
    {
        Advance(static_cast<double>(DeltaTime));
    }
}

void UMeshreelClipPlayer::Advance(double Seconds)
{
    const double Duration = Clip.GetDuration(), From = Position, To = Position + Seconds * Rate;
    TArray<FName> Passed;
    Clip.Markers(From, To, bLoop, Passed);
    FTransform Motion;
    if (Root != INDEX_NONE && Clip.RootMotion(Root, From, To, bLoop, Motion))
    {
        RootMotion = Motion * RootMotion;
    }
    const bool bEnds = !bLoop && (Rate < 0.0 ? To <= 0.0 : To >= Duration);
    if (bLoop && Duration > 0.0)
    {
        Position = FMath::Fmod(To, Duration);
        Position += Position < 0.0 ? Duration : 0.0;
    }
    else
    {
        Position = FMath::Clamp(To, 0.0, Duration);
    }
    bOver = bEnds;
    Evaluate(Seconds);
    for (const FName &Marker : Passed)
    {
        OnMarker.Broadcast(this, Marker);
    }
    if (bEnds)
    {
        OnEnded.Broadcast(this);
    }
}

/** Samples the clip, blends, and moves the bones. Where the clip is damaged, the pose stays. */
void UMeshreelClipPlayer::Evaluate(double Seconds)
{
    TArray<FTransform> Now;
    if (!Clip.Pose(Position, bLoop, false, Now))
    {
        return;
    }
    if (Now.IsValidIndex(Root))
    {
        Now[Root].SetTranslation(FVector::ZeroVector);
        Now[Root].SetRotation(FQuat::Identity);
    }
    BlendTime += Seconds;
    if (BlendFrom.Num() == Now.Num() && BlendTime < BlendDuration)
    {
        for (int32 Joint = 0; Joint < Now.Num(); Joint++)
        {
            FTransform Blended;
            Blended.Blend(BlendFrom[Joint], Now[Joint], static_cast<float>(BlendTime / BlendDuration));
            Now[Joint] = Blended;
        }
    }
    Pose = MoveTemp(Now);
    Apply();
}

void UMeshreelClipPlayer::Apply()
{
    const AActor *Owner = GetOwner();
    UPoseableMeshComponent *Mesh =
        Owner != nullptr ? Owner->FindComponentByClass<UPoseableMeshComponent>() : nullptr;
    if (Mesh == nullptr)
    {
        return;
    }
    for (int32 Joint = 0; Joint < Pose.Num(); Joint++)
    {
        const int32 Bone = Mesh->GetBoneIndex(Clip.GetJointNames()[Joint]);
        if (Mesh->BoneSpaceTransforms.IsValidIndex(Bone))
        {
            Mesh->BoneSpaceTransforms[Bone] = Pose[Joint];
        }
    }
    Mesh->MarkRefreshTransformDirty();
}

FTransform UMeshreelClipPlayer::TakeRootMotion()
{
    const FTransform Out = RootMotion;
    RootMotion = FTransform::Identity;
    return Out;
}

void UMeshreelClipPlayer::GetPose(TArray<FName> &Joints, TArray<FTransform> &Transforms) const
{
    Joints = Clip.GetJointNames();
    Transforms = Pose;
}
