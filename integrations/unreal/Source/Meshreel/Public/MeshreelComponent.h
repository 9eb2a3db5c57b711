// The component that plays a .reel file.
#pragma once

#include "CoreMinimal.h"
#include "Components/MeshComponent.h"
#include "MeshreelAsset.h"
#include "MeshreelSurface.h"
#include "MeshreelComponent.generated.h"

class UMeshreelComponent;
class UMeshreelSubsystem;

/** What happens at the ends of the range that is played. */
UENUM(BlueprintType)
enum class EMeshreelRepeat : uint8
{
    /** Stays at the last frame; played backwards, at the first. */
    Once,
    /** Continues at the other end. */
    Loop,
    /** As Loop, and the last frame is blended into the first. */
    Cycle,
    /** Turns around at both ends. */
    PingPong,
};

/** The frames that are shown: the others are neither read nor decoded. */
UENUM(BlueprintType)
enum class EMeshreelFrameStep : uint8
{
    Every,
    /** Every second one, if the file is layered. */
    Second,
    /** Only keys, which are every sixteenth, and the last. */
    Keys,
};

DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(FMeshreelReady, UMeshreelComponent *, Component);
DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(FMeshreelEnded, UMeshreelComponent *, Component);
DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(FMeshreelReplaced, UMeshreelComponent *, Component);
DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(FMeshreelFailed, UMeshreelComponent *, Component,
                                             const FString &, Error);

/**
 * Plays a .reel file: all its visible meshes, with their materials, in the space of the component. Until the
 * file is open nothing is shown; then the first frame, unless told to play. Commands take effect with the
 * next tick.
 */
UCLASS(ClassGroup = (Rendering), meta = (BlueprintSpawnableComponent), hidecategories = (Object, LOD))
class MESHREEL_API UMeshreelComponent : public UMeshComponent
{
    GENERATED_BODY()

  public:
    UMeshreelComponent();

    /** Plays as soon as the file is open. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel")
    bool bAutoPlay = true;

    /** Interpolates between frames; otherwise the earlier one is shown. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel")
    bool bInterpolate = true;

    /** Gives the renderer the positions of the frame before, for motion blur and temporal anti-aliasing. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel")
    bool bMotionVectors = true;

    /** Plays in the viewports of the editor as well; otherwise it stands at its first frame there. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel")
    bool bPlayInEditor = true;

    /** Seconds of animation at which playing starts. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel", meta = (ClampMin = "0"))
    double StartSeconds = 0.0;

    /**
     * A level of detail is shown where its error is at most this many pixels. 0: the mesh itself.
     */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel", meta = (ClampMin = "0"))
    float LodPixels = 1.0f;

    /** Where the heap has no room for all components, those of higher priority are served first. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel")
    int32 Priority = 0;

    /** The first frame of the file can be shown. */
    UPROPERTY(BlueprintAssignable, Category = "meshreel")
    FMeshreelReady OnReady;

    /** It has played to the end, and does not repeat. */
    UPROPERTY(BlueprintAssignable, Category = "meshreel")
    FMeshreelEnded OnEnded;

    /** The file could not be opened, read or decoded, or the heap has no room. The last good frame stays. */
    UPROPERTY(BlueprintAssignable, Category = "meshreel")
    FMeshreelFailed OnFailed;

    /** A newer file has taken the place of the one that was shown. */
    UPROPERTY(BlueprintAssignable, Category = "meshreel")
    FMeshreelReplaced OnReplaced;

    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void SetAsset(UMeshreelAsset *NewAsset);

    UFUNCTION(BlueprintPure, Category = "meshreel")
    UMeshreelAsset *GetAsset() const { return Asset; }

    /** Starts or continues; starts again after the end. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void Play();

    /** Stays at its position, and remains visible. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void Pause();

    /** Goes back to the start, and is hidden. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void Stop();

    /** Goes back to the start, playing or not as before. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void Restart();

    /** Jumps to a time, in seconds of animation from the first frame. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void Seek(double Seconds);

    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void SeekToFrame(int32 Frame);

    /** Sets the seconds of animation per second; negative plays backwards. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void SetRate(double NewRate);

    UFUNCTION(BlueprintPure, Category = "meshreel")
    double GetRate() const { return Rate; }

    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void SetRepeat(EMeshreelRepeat NewRepeat);

    UFUNCTION(BlueprintPure, Category = "meshreel")
    EMeshreelRepeat GetRepeat() const { return Repeat; }

    /** Plays only from one time to another, in seconds of animation. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void SetRange(double FromSeconds, double ToSeconds);

    /** Plays only from one frame to another, both included. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void SetFrameRange(int32 FirstFrame, int32 LastFrame);

    /** Plays a range of frames that the source has named. Returns false if there is none of that name. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    bool PlayRange(FName Name);

    /** Waits before the position moves. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void SetDelay(double Seconds);

    /** Waits until this many seconds of animation are in memory before playing starts. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void SetPreRoll(double Seconds);

    /** Streams from a time on as well, so that a later jump to it finds its frames. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void StreamFrom(double Seconds);

    /** Streams at the position only, as before the first `StreamFrom`. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void StreamAtPositionOnly();

    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void SetInterpolated(bool bNewInterpolate);

    /** Leaves out frames: for slow devices, and for what is far away. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void SetFrameStep(EMeshreelFrameStep Step);

    /** Seconds of animation from the first frame. */
    UFUNCTION(BlueprintPure, Category = "meshreel")
    double GetPosition() const { return Clock.position; }

    UFUNCTION(BlueprintPure, Category = "meshreel")
    double GetDuration() const { return Clock.duration; }

    UFUNCTION(BlueprintPure, Category = "meshreel")
    bool IsReady() const { return bReady; }

    UFUNCTION(BlueprintPure, Category = "meshreel")
    bool IsPlaying() const { return Clock.playing != 0; }

    /** Ticks without the frame that should have been shown. */
    UFUNCTION(BlueprintPure, Category = "meshreel")
    int64 GetLateFrames() const { return static_cast<int64>(Clock.missed); }

    /** The last error; empty if there was none since the file was opened. */
    UFUNCTION(BlueprintPure, Category = "meshreel")
    FString GetError() const { return Error; }

    /** The paths of the file's nodes in the source, by their numbers. Empty until the file is open. */
    UFUNCTION(BlueprintPure, Category = "meshreel")
    TArray<FString> GetNodePaths() const;

    /** The transform of a node in the space of the component, to attach things. False if it is not there
     * (yet). */
    UFUNCTION(BlueprintPure, Category = "meshreel")
    bool GetNodeTransform(int32 Node, FTransform &Transform) const;

    /** What is shown now; null until the first frame. */
    TSharedPtr<const FMeshreelSurface, ESPMode::ThreadSafe> GetSurface() const { return Surface; }

    // Called by the subsystem, in this order.
    void BeforeTick(mr_player *Player);
    void FileOpened(mr_player *Player, uint64 File, bool bReplaced);
    void FileFailed(const FString &Text);
    bool TakeFrame(mr_player *Player);
    void ReadFrame();
    void ShowFrame();
    void AfterTick();
    /** The asset has other bytes, another path or another conversion. */
    void AssetChanged();

    virtual FPrimitiveSceneProxy *CreateSceneProxy() override;
    virtual FBoxSphereBounds CalcBounds(const FTransform &LocalToWorld) const override;
    virtual int32 GetNumMaterials() const override;
    virtual UMaterialInterface *GetMaterial(int32 ElementIndex) const override;
    virtual int32 GetMaterialIndex(FName MaterialSlotName) const override;
    virtual TArray<FName> GetMaterialSlotNames() const override;
    virtual bool IsMaterialSlotNameValid(FName MaterialSlotName) const override;

  protected:
    virtual void OnRegister() override;
    virtual void OnUnregister() override;
    virtual void SendRenderDynamicData_Concurrent() override;
#if WITH_EDITOR
    virtual void PostEditChangeProperty(FPropertyChangedEvent &Event) override;
#endif

  private:
    UPROPERTY(EditAnywhere, Category = "meshreel")
    TObjectPtr<UMeshreelAsset> Asset = nullptr;

    UPROPERTY(EditAnywhere, Category = "meshreel")
    double Rate = 1.0;

    UPROPERTY(EditAnywhere, Category = "meshreel")
    EMeshreelRepeat Repeat = EMeshreelRepeat::Once;

    UMeshreelSubsystem *FindSubsystem() const;
    void Connect();
    void Disconnect();
    void Command(const mr_command &Command);
    void Command(mr_command_kind Kind, double A = 0.0, double B = 0.0);
    void Command(mr_command_kind Kind, uint32 Number, uint32 Last = 0);
    TSharedPtr<FMeshreelSurface, ESPMode::ThreadSafe> FreeSurface();

    uint64 Instance = 0;
    /** Commands that were given before there was an instance. */
    TArray<mr_command> Pending;
    /** The name of the file in messages, also for other threads. */
    FString FileName;
    mr_clock Clock{};
    FMeshreelReel Reel;
    FMeshreelReader Reader;
    FMeshreelFrame Frame;
    /** What `Surface` was read from. */
    mr_frame_info Shown{};
    bool bReady = false, bToldReady = false, bToldEnded = false, bWasVisible = true, bReadFailed = false;
    /** What was playing when the component was last unregistered, as every edit of a property does. */
    bool bResumes = false, bResumePlaying = false;
    double ResumeSeconds = 0.0;
    int32 GivenPriority = 0;
    /** Object-to-world matrices of all nodes, in the axes of the file. */
    TArray<double> Worlds;
    FMeshreelAxes Axes;
    FString Error;
    TArray<FString> NodePaths;
    TSharedPtr<FMeshreelSurface, ESPMode::ThreadSafe> Surface, NextSurface;
    /** Surfaces that the renderer may still read; used again as soon as it does not. */
    TArray<TSharedPtr<FMeshreelSurface, ESPMode::ThreadSafe>> Pool;
};
