// Plays clips of a .reel file on the bones of a poseable mesh component.
#pragma once

#include "CoreMinimal.h"
#include "Components/ActorComponent.h"
#include "MeshreelAsset.h"
#include "MeshreelClip.h"
#include "MeshreelClipPlayer.generated.h"

class UMeshreelClipPlayer;
class UPoseableMeshComponent;

DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(FMeshreelMarker, UMeshreelClipPlayer *, Player, FName, Marker);
DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(FMeshreelClipEnded, UMeshreelClipPlayer *, Player);

/**
 * Plays clips on the poseable mesh of the same actor: joints move the bones that have their names. For
 * animation graphs, compress the sequence with the codec "meshreel" instead.
 */
UCLASS(ClassGroup = (Animation), meta = (BlueprintSpawnableComponent))
class MESHREEL_API UMeshreelClipPlayer : public UActorComponent
{
    GENERATED_BODY()

  public:
    UMeshreelClipPlayer();

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel")
    TObjectPtr<UMeshreelAsset> Asset = nullptr;

    /** The clip that is played when the game begins; the first one if empty. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel")
    FName FirstClip;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel")
    bool bAutoPlay = true;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel")
    bool bLoop = true;

    /** Seconds of animation per second; negative plays backwards. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel")
    double Rate = 1.0;

    /** The joint whose motion `TakeRootMotion` returns; it then stays at the origin. Empty: none. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel")
    FName RootJoint;

    /** The position has passed a marker of the clip. */
    UPROPERTY(BlueprintAssignable, Category = "meshreel")
    FMeshreelMarker OnMarker;

    /** The clip is over, and does not loop. */
    UPROPERTY(BlueprintAssignable, Category = "meshreel")
    FMeshreelClipEnded OnEnded;

    UFUNCTION(BlueprintPure, Category = "meshreel")
    TArray<FName> GetClips();

    /** Plays a clip from its beginning, or, backwards, from its end; blends from the pose shown now. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    bool Play(FName Clip, double BlendSeconds = 0.2);

    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void SetPaused(bool bNewPaused) { bPaused = bNewPaused; }

    /** Jumps to a time of the clip; markers between are not reported. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void Seek(double Seconds);

    UFUNCTION(BlueprintPure, Category = "meshreel")
    double GetPosition() const { return Position; }

    UFUNCTION(BlueprintPure, Category = "meshreel")
    double GetDuration() const { return Clip.IsOpen() ? Clip.GetDuration() : 0.0; }

    UFUNCTION(BlueprintPure, Category = "meshreel")
    bool IsPlaying() const { return Clip.IsOpen() && !bPaused && !bOver; }

    /** The motion of the root joint since the last call, for the character's own transform. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    FTransform TakeRootMotion();

    /** The pose shown now: parent-relative transforms, and the joints' names. */
    UFUNCTION(BlueprintPure, Category = "meshreel")
    void GetPose(TArray<FName> &Joints, TArray<FTransform> &Transforms) const;

    virtual void BeginPlay() override;
    virtual void TickComponent(float DeltaTime, ELevelTick TickType,
                               FActorComponentTickFunction *ThisTickFunction) override;

  private:
    void Advance(double Seconds);
    void Evaluate(double Seconds);
    void Apply();

    FMeshreelClip Clip;
    double Position = 0.0;
    bool bPaused = false, bOver = false;
    int32 Root = INDEX_NONE;
    TArray<FTransform> Pose, BlendFrom;
    double BlendDuration = 0.0, BlendTime = 0.0;
    FTransform RootMotion;
};
