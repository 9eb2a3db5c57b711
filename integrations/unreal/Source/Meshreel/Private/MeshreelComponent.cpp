#include "MeshreelComponent.h"

#include "Engine/World.h"
#include "Materials/MaterialInterface.h"
#include "MeshreelSceneProxy.h"
#include "MeshreelSubsystem.h"

UMeshreelComponent::UMeshreelComponent()
{
    // The subsystem ticks all components together, after the player.
    PrimaryComponentTick.bCanEverTick = false;
    bCastDynamicShadow = true;
    SetGenerateOverlapEvents(false);
}

UMeshreelSubsystem *UMeshreelComponent::FindSubsystem() const
{
    const UWorld *World = GetWorld();
    return World != nullptr ? World->GetSubsystem<UMeshreelSubsystem>() : nullptr;
}

void UMeshreelComponent::OnRegister()
{
    Super::OnRegister();
    Connect();
}

void UMeshreelComponent::OnUnregister()
{
    bResumes = Instance != 0 && Clock.open != 0;
    bResumePlaying = Clock.playing != 0;
    ResumeSeconds = Clock.position;
    Disconnect();
    Super::OnUnregister();
}

/** Adds an instance to the player of the world, and gives it the properties of the component as commands. */
void UMeshreelComponent::Connect()
{
    UMeshreelSubsystem *Subsystem = FindSubsystem();
    if (Asset == nullptr || Subsystem == nullptr)
    {
        return;
    }
    Error.Reset();
    Clock = mr_clock{};
    bReady = bToldReady = bToldEnded = bReadFailed = false;
    Shown = mr_frame_info{};
    GivenPriority = 0;
    bWasVisible = true;
    FileName = Asset->GetDisplayName();
    Instance = Subsystem->Add(*this, *Asset);
    if (Instance == 0)
    {
        FileFailed(FMeshreelLibrary::IsUsable() ? FMeshreelLibrary::LastError()
                                                : FString(TEXT("The library of the plugin cannot be used")));
        return;
    }
    const UWorld *World = GetWorld();
    const bool bGame = World != nullptr && World->IsGameWorld();
    Command(MR_COMMAND_KIND_PAUSE);
    Command(MR_COMMAND_KIND_INTERPOLATE, bInterpolate ? 1u : 0u);
    Command(MR_COMMAND_KIND_RATE, Rate);
    Command(MR_COMMAND_KIND_REPEAT, static_cast<uint32>(Repeat));
    if (StartSeconds > 0.0)
    {
        Command(MR_COMMAND_KIND_START_AT, StartSeconds);
        Command(MR_COMMAND_KIND_GO_TO, StartSeconds);
    }
    if (bResumes)
    {
        Command(MR_COMMAND_KIND_GO_TO, ResumeSeconds);
    }
    if (bResumes ? bResumePlaying : bAutoPlay && (bGame || bPlayInEditor))
    {
        Command(MR_COMMAND_KIND_PLAY);
    }
    bResumes = false;
    const TArray<mr_command> Given = MoveTemp(Pending);
    Pending.Reset();
    for (const mr_command &Each : Given)
    {
        Command(Each);
    }
}

void UMeshreelComponent::Disconnect()
{
    UMeshreelSubsystem *Subsystem = FindSubsystem();
    Frame.Reset();
    Reel.Reset();
    if (Subsystem != nullptr && Instance != 0)
    {
        Subsystem->Remove(*this);
    }
    Instance = 0;
    bReady = false;
}

void UMeshreelComponent::SetAsset(UMeshreelAsset *NewAsset)
{
    if (Asset == NewAsset)
    {
        return;
    }
    Disconnect();
    Asset = NewAsset;
    Surface.Reset();
    Worlds.Reset();
    NodePaths.Reset();
    bResumes = false;
    if (IsRegistered())
    {
        Connect();
    }
    MarkRenderStateDirty();
}

void UMeshreelComponent::AssetChanged()
{
    // What is shown stays until the first frame of the new file.
    bResumes = Clock.open != 0;
    bResumePlaying = Clock.playing != 0;
    ResumeSeconds = Clock.position;
    Instance = 0;
    Frame.Reset();
    Reel.Reset();
    Connect();
    if (Instance != 0)
    {
        OnReplaced.Broadcast(this);
    }
}

void UMeshreelComponent::Command(const mr_command &Given)
{
    const UMeshreelSubsystem *Subsystem = FindSubsystem();
    if (Instance != 0 && Subsystem != nullptr && Subsystem->GetPlayer() != nullptr)
    {
        FMeshreelLibrary::Ok(mr_player_command(Subsystem->GetPlayer(), Instance, &Given), FileName);
    }
    else if (!IsRegistered())
    {
        Pending.Add(Given);
    }
}

void UMeshreelComponent::Command(mr_command_kind Kind, double A, double B)
{
    Command(mr_command{Kind, 0, 0, 0, A, B});
}

void UMeshreelComponent::Command(mr_command_kind Kind, uint32 Number, uint32 Last)
{
    Command(mr_command{Kind, Number, Last, 0, 0.0, 0.0});
}

void UMeshreelComponent::Play() { Command(MR_COMMAND_KIND_PLAY); }
void UMeshreelComponent::Pause() { Command(MR_COMMAND_KIND_PAUSE); }
void UMeshreelComponent::Stop() { Command(MR_COMMAND_KIND_STOP); }
void UMeshreelComponent::Restart() { Command(MR_COMMAND_KIND_RESET); }
void UMeshreelComponent::Seek(double Seconds) { Command(MR_COMMAND_KIND_GO_TO, Seconds); }

void UMeshreelComponent::SeekToFrame(int32 FrameNumber)
{
    Command(MR_COMMAND_KIND_GO_TO_FRAME, static_cast<uint32>(FMath::Max(FrameNumber, 0)));
}

void UMeshreelComponent::SetRate(double NewRate)
{
    Rate = NewRate;
    Command(MR_COMMAND_KIND_RATE, NewRate);
}

void UMeshreelComponent::SetRepeat(EMeshreelRepeat NewRepeat)
{
    Repeat = NewRepeat;
    Command(MR_COMMAND_KIND_REPEAT, static_cast<uint32>(NewRepeat));
}

void UMeshreelComponent::SetRange(double FromSeconds, double ToSeconds)
{
    Command(MR_COMMAND_KIND_RANGE, FromSeconds, ToSeconds);
}

void UMeshreelComponent::SetFrameRange(int32 FirstFrame, int32 LastFrame)
{
    Command(MR_COMMAND_KIND_FRAMES, static_cast<uint32>(FMath::Max(FirstFrame, 0)),
            static_cast<uint32>(FMath::Max(LastFrame, 0)));
}

bool UMeshreelComponent::PlayRange(FName Name)
{
    FMeshreelRange Range;
    if (Asset == nullptr || !Asset->FindRange(Name, Range))
    {
        return false;
    }
    SetFrameRange(Range.FirstFrame, Range.LastFrame);
    SeekToFrame(Range.FirstFrame);
    Play();
    return true;
}

void UMeshreelComponent::SetDelay(double Seconds) { Command(MR_COMMAND_KIND_DELAY, Seconds); }
void UMeshreelComponent::SetPreRoll(double Seconds) { Command(MR_COMMAND_KIND_PRE_ROLL, Seconds); }
void UMeshreelComponent::StreamFrom(double Seconds) { Command(MR_COMMAND_KIND_STREAM_AT, Seconds); }
void UMeshreelComponent::StreamAtPositionOnly() { Command(MR_COMMAND_KIND_STREAM_HERE); }

void UMeshreelComponent::SetInterpolated(bool bNewInterpolate)
{
    bInterpolate = bNewInterpolate;
    Command(MR_COMMAND_KIND_INTERPOLATE, bNewInterpolate ? 1u : 0u);
}

void UMeshreelComponent::SetFrameStep(EMeshreelFrameStep Step)
{
    const uint32 Steps[] = {0, 2, 16};
    Command(MR_COMMAND_KIND_FRAME_STEP, Steps[FMath::Min(static_cast<int32>(Step), 2)]);
}

TArray<FString> UMeshreelComponent::GetNodePaths() const { return NodePaths; }

bool UMeshreelComponent::GetNodeTransform(int32 Node, FTransform &Transform) const
{
    if (Node < 0 || Worlds.Num() < 12 * (Node + 1))
    {
        return false;
    }
    Transform = FTransform(Axes.Matrix(Worlds.GetData() + 12 * Node));
    return true;
}

void UMeshreelComponent::BeforeTick(mr_player *Player)
{
    const bool bVisible = ShouldRender();
    if (Instance != 0 && bVisible != bWasVisible)
    {
        bWasVisible = bVisible;
        FMeshreelLibrary::Ok(mr_player_show(Player, Instance, bVisible ? 1 : 0), FileName);
    }
    if (Instance != 0 && Priority != GivenPriority)
    {
        GivenPriority = Priority;
        FMeshreelLibrary::Ok(mr_player_priority(Player, Instance, Priority), FileName);
    }
}

void UMeshreelComponent::FileOpened(mr_player *Player, uint64 File, bool bReplaced)
{
    mr_reel *Handle = nullptr;
    mr_reel_info Info = MeshreelSized<mr_reel_info>();
    const FString &Name = FileName;
    if (!FMeshreelLibrary::Ok(mr_player_reel(Player, File, &Handle), Name) || Handle == nullptr)
    {
        return;
    }
    Reel.Reset(Handle);
    if (!FMeshreelLibrary::Ok(mr_reel_get(Handle, &Info), Name))
    {
        return;
    }
    Axes = Asset->GetAxes(Info);
    Reader.Reset(Asset->GetReading(Handle, bMotionVectors));
    bReadFailed = false;
    bReady = true;
    Error.Reset();
    NodePaths.Reset();
    for (uint32 Node = 0; Node < Info.nodes; Node++)
    {
        NodePaths.Add(
            FMeshreelLibrary::Text([&](char *Text, size_t Capacity, size_t *Length)
                                   { return mr_reel_node_path(Handle, Node, Text, Capacity, Length); }));
    }
    MarkRenderStateDirty(); // The materials may be others.
    if (bReplaced)
    {
        bToldEnded = false;
        OnReplaced.Broadcast(this);
    }
}

void UMeshreelComponent::FileFailed(const FString &Text)
{
    Error = Text;
    OnFailed.Broadcast(this, Text);
}

/** Takes what is to be shown; returns whether it differs from what is shown. */
bool UMeshreelComponent::TakeFrame(mr_player *Player)
{
    if (Instance == 0)
    {
        return false;
    }
    const FString &Name = FileName;
    mr_clock Now = MeshreelSized<mr_clock>();
    mr_frame *Handle = nullptr;
    if (!FMeshreelLibrary::Ok(mr_player_clock(Player, Instance, &Now), Name) ||
        !FMeshreelLibrary::Ok(mr_player_frame(Player, Instance, &Handle), Name))
    {
        return false;
    }
    Clock = Now;
    Frame.Reset(Handle);
    if (Clock.stopped != 0 && bReady && Surface.IsValid())
    {
        Surface.Reset(); // Stopped is hidden.
        MarkRenderStateDirty();
    }
    mr_frame_info Info = MeshreelSized<mr_frame_info>();
    if (Handle == nullptr || Clock.stopped != 0 || !bReady || bReadFailed ||
        !FMeshreelLibrary::Ok(mr_frame_get(Handle, &Info), Name))
    {
        Frame.Reset();
        return false;
    }
    const bool bSame = Surface.IsValid() && Info.file == Shown.file && Info.first == Shown.first &&
                       Info.second == Shown.second && Info.blend == Shown.blend;
    if (bSame)
    {
        Frame.Reset();
        return false;
    }
    Shown = Info;
    NextSurface = FreeSurface();
    return true;
}

TSharedPtr<FMeshreelSurface, ESPMode::ThreadSafe> UMeshreelComponent::FreeSurface()
{
    for (const TSharedPtr<FMeshreelSurface, ESPMode::ThreadSafe> &Each : Pool)
    {
        if (Each.IsUnique())
        {
            return Each;
        }
    }
    Pool.Add(MakeShared<FMeshreelSurface, ESPMode::ThreadSafe>());
    return Pool.Last();
}

/** Called on any thread, at most once at a time. */
void UMeshreelComponent::ReadFrame()
{
    const FString &Name = FileName;
    Worlds.SetNumUninitialized(12 * static_cast<int32>(Shown.nodes));
    const bool bWorlds =
        FMeshreelLibrary::Ok(mr_frame_worlds(Frame.Get(), Worlds.GetData(), Shown.nodes), Name);
    if (!bWorlds || !Reader.Read(Frame.Get(), Surface.Get(), Name, *NextSurface))
    {
        NextSurface.Reset();
        bReadFailed = true;
    }
    Frame.Reset(); // It holds memory of the heap.
}

void UMeshreelComponent::ShowFrame()
{
    if (!NextSurface.IsValid())
    {
        FileFailed(FString::Printf(TEXT("%s: a frame cannot be shown"), *FileName));
        return;
    }
    const bool bWasEmpty = !Surface.IsValid() || Surface->Positions.Num() == 0;
    const bool bMoved = !Surface.IsValid() || !(Surface->Bounds == NextSurface->Bounds);
    Surface = MoveTemp(NextSurface);
    NextSurface.Reset();
    if (bMoved)
    {
        UpdateBounds();
        MarkRenderTransformDirty();
    }
    if (bWasEmpty || SceneProxy == nullptr)
    {
        MarkRenderStateDirty();
    }
    else
    {
        MarkRenderDynamicDataDirty();
    }
}

/** Tells the game, last of all, as its answers may do anything with this component. */
void UMeshreelComponent::AfterTick()
{
    const bool bEnds = Clock.ended != 0 && !bToldEnded;
    bToldEnded = Clock.ended != 0;
    const bool bBecomesReady = bReady && Surface.IsValid() && !bToldReady;
    bToldReady = bToldReady || bBecomesReady;
    if (bBecomesReady)
    {
        OnReady.Broadcast(this);
    }
    if (bEnds)
    {
        OnEnded.Broadcast(this);
    }
}

FPrimitiveSceneProxy *UMeshreelComponent::CreateSceneProxy()
{
    if (!Surface.IsValid() || Surface->Positions.Num() == 0 || Surface->Indices.Num() == 0)
    {
        return nullptr;
    }
    return new FMeshreelSceneProxy(*this, Surface);
}

void UMeshreelComponent::SendRenderDynamicData_Concurrent()
{
    Super::SendRenderDynamicData_Concurrent();
    if (SceneProxy == nullptr || !Surface.IsValid())
    {
        return;
    }
    FMeshreelSceneProxy *Proxy = static_cast<FMeshreelSceneProxy *>(SceneProxy);
    TSharedPtr<const FMeshreelSurface, ESPMode::ThreadSafe> Given = Surface;
    ENQUEUE_RENDER_COMMAND(MeshreelShow)
    ([Proxy, Given = MoveTemp(Given)](FRHICommandListImmediate &RHICmdList)
     { Proxy->Show(RHICmdList, Given); });
}

FBoxSphereBounds UMeshreelComponent::CalcBounds(const FTransform &LocalToWorld) const
{
    FBox Box(ForceInit);
    if (Surface.IsValid())
    {
        Box = Surface->Bounds;
    }
    else if (Asset != nullptr)
    {
        Box = Asset->Info.Bounds;
    }
    if (Box.IsValid == 0)
    {
        return FBoxSphereBounds(LocalToWorld.GetLocation(), FVector::ZeroVector, 0.0);
    }
    return FBoxSphereBounds(Box).TransformBy(LocalToWorld);
}

int32 UMeshreelComponent::GetNumMaterials() const { return Asset != nullptr ? Asset->Materials.Num() : 0; }

UMaterialInterface *UMeshreelComponent::GetMaterial(int32 ElementIndex) const
{
    if (OverrideMaterials.IsValidIndex(ElementIndex) && OverrideMaterials[ElementIndex] != nullptr)
    {
        return OverrideMaterials[ElementIndex];
    }
    return Asset != nullptr && Asset->Materials.IsValidIndex(ElementIndex)
               ? Asset->Materials[ElementIndex].Material.Get()
               : nullptr;
}

int32 UMeshreelComponent::GetMaterialIndex(FName MaterialSlotName) const
{
    return Asset != nullptr ? Asset->FindMaterial(MaterialSlotName) : INDEX_NONE;
}

TArray<FName> UMeshreelComponent::GetMaterialSlotNames() const
{
    TArray<FName> Out;
    if (Asset != nullptr)
    {
        for (const FMeshreelMaterial &Slot : Asset->Materials)
        {
            Out.Add(Slot.Name);
        }
    }
    return Out;
}

bool UMeshreelComponent::IsMaterialSlotNameValid(FName MaterialSlotName) const
{
    return GetMaterialIndex(MaterialSlotName) != INDEX_NONE;
}

#if WITH_EDITOR
void UMeshreelComponent::PostEditChangeProperty(FPropertyChangedEvent &Event)
{
    // The component is registered again, with the new values, and goes on where it was.
    Super::PostEditChangeProperty(Event);
}
#endif
