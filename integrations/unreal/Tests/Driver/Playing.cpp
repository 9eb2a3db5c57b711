// The component: commands, clocks, events, several files in one world.
#include "Checks.h"
#include "MeshreelActor.h"
#include "MeshreelStreet.h"

namespace Driver
{
namespace
{
/** Counts what a component tells the game. */
class UListener : public UObject
{
  public:
    void Listen(UMeshreelComponent &Component)
    {
        Component.OnReady.AddDynamic(this, &UListener::Ready);
        Component.OnEnded.AddDynamic(this, &UListener::Ended);
        Component.OnFailed.AddDynamic(this, &UListener::Failed);
        Component.OnReplaced.AddDynamic(this, &UListener::Replaced);
    }
    void Ready(UMeshreelComponent *) { NumReady++; }
    void Ended(UMeshreelComponent *) { NumEnded++; }
    void Failed(UMeshreelComponent *, const FString &Text)
    {
        NumFailed++;
        LastError = Text.Utf8();
    }
    void Replaced(UMeshreelComponent *) { NumReplaced++; }
    int32 NumReady = 0, NumEnded = 0, NumFailed = 0, NumReplaced = 0;
    std::string LastError;
};

/** What is shown is what the decoder gives for that frame, exactly. */
void RequireShows(const UMeshreelComponent &Component, FReference &Reference, uint32 Frame)
{
    FMeshreelReader Reader;
    FMeshreelSurface Expected;
    Reader.Reset(Component.GetAsset()->GetReading(Reference.Reel, true));
    REQUIRE(Reader.Read(Reference.Decode(Frame), nullptr, TEXT("reference"), Expected));
    REQUIRE(Component.GetSurface().IsValid());
    REQUIRE(Component.GetSurface()->Positions == Expected.Positions &&
            Component.GetSurface()->Indices == Expected.Indices);
    REQUIRE(Component.GetSurface()->TangentsZ == Expected.TangentsZ &&
            Component.GetSurface()->Colors == Expected.Colors);
}

/** A flag in a world of its own, that stands at its first frame. */
struct FFlagTest
{
    const FInTick InTick;
    FReference Reference{ReadFile(Golden("v0/flag_small.reel"))};
    const double Duration = Reference.Info.end - Reference.Info.start;
    FWorld World;
    UListener *Listener = NewObject<UListener>();
    UMeshreelAsset *Asset = LoadAsset(Golden("v0/flag_small.reel"));
    UMeshreelComponent *Flag = nullptr;

    FFlagTest()
    {
        const auto Prepare = [this](UMeshreelComponent &Each)
        {
            Each.bAutoPlay = false;
            Listener->Listen(Each);
            Each.SeekToFrame(2); // Given before there is a player.
            Each.SetDelay(0.0);
            Each.SeekToFrame(0);
        };
        Flag = World.Add(Asset, Prepare);
    }

    double TimeOf(uint32 Frame) const
    {
        double Seconds = 0.0;
        REQUIRE(mr_reel_time(Reference.Reel, Frame, &Seconds) == MR_STATUS_OK);
        return Seconds - Reference.Info.start;
    }

    void Seeks();
    void Plays();
    void Ranges();
    void Others();
    void Stops();
};

void FFlagTest::Seeks()
{
    REQUIRE(Flag->GetAsset() == Asset && !Flag->IsReady() && !Flag->GetSurface().IsValid());
    REQUIRE(World.TickUntil([&] { return Listener->NumReady > 0; }));
    REQUIRE(Flag->IsReady() && !Flag->IsPlaying() && Near(Flag->GetDuration(), Duration, 1e-9) &&
            Flag->GetPosition() == 0.0);
    RequireShows(*Flag, Reference, 0);
    // Jumps to frames are exact.
    for (const int32 Frame : {5, 1, int32(Reference.Info.frames) - 1, 0})
    {
        Flag->SeekToFrame(Frame);
        World.Tick(0.0f);
        World.Tick(0.0f);
        REQUIRE(Near(Flag->GetPosition(), TimeOf(uint32(Frame)), 1e-9));
        RequireShows(*Flag, Reference, uint32(Frame));
    }
}

void FFlagTest::Plays()
{
    // Time goes on as the world's does, and stops where it is told to.
    Flag->Play();
    World.Tick(0.25f);
    REQUIRE(Flag->IsPlaying() && Near(Flag->GetPosition(), 0.25, 1e-6));
    Flag->Pause();
    World.Tick(0.25f);
    REQUIRE(!Flag->IsPlaying() && Near(Flag->GetPosition(), 0.25, 1e-6) && Flag->GetSurface().IsValid());
    Flag->SetRate(2.0);
    Flag->Play();
    World.Tick(0.1f);
    REQUIRE(Flag->GetRate() == 2.0 && Near(Flag->GetPosition(), 0.45, 1e-6));
    Flag->SetRate(-1.0);
    World.Tick(0.15f);
    REQUIRE(Near(Flag->GetPosition(), 0.30, 1e-6));
    Flag->SetRate(1.0);
    Flag->Seek(Duration - 0.01);
    World.Tick(0.0f);
    REQUIRE(Listener->NumEnded == 0);
    World.Tick(0.1f);
    REQUIRE(Listener->NumEnded == 1 && Near(Flag->GetPosition(), Duration, 1e-9));
    World.Tick(0.1f);
    REQUIRE(Listener->NumEnded == 1);
    Flag->Play(); // Again, from the start.
    World.Tick(0.05f);
    REQUIRE(Near(Flag->GetPosition(), 0.05, 1e-6));
    Flag->SetRepeat(EMeshreelRepeat::Loop);
    REQUIRE(Flag->GetRepeat() == EMeshreelRepeat::Loop);
    Flag->Seek(Duration - 0.01);
    World.Tick(0.0f);
    World.Tick(0.05f);
    REQUIRE(Flag->GetPosition() < 0.1 && Listener->NumEnded == 1 && Flag->IsPlaying());
    Flag->SetRepeat(EMeshreelRepeat::PingPong);
    Flag->Seek(Duration - 0.01);
    World.Tick(0.0f);
    World.Tick(0.05f);
    REQUIRE(Near(Flag->GetPosition(), Duration - 0.04, 1e-5));
    Flag->SetRepeat(EMeshreelRepeat::Cycle);
    World.Tick(0.0f);
    Flag->SetRepeat(EMeshreelRepeat::Once);
}

void FFlagTest::Ranges()
{
    // Ranges.
    Flag->SetFrameRange(2, 4);
    Flag->SetRepeat(EMeshreelRepeat::Loop);
    Flag->Play();
    for (int32 Tick = 0; Tick < 40; Tick++)
    {
        World.Tick(0.02f);
    }
    const double From = TimeOf(2), To = TimeOf(4);
    const auto RequireInside = [&]
    { REQUIRE(Flag->GetPosition() >= From - 1e-6 && Flag->GetPosition() <= To + 1e-6); };
    RequireInside();
    Flag->SetRange(From, To);
    World.Tick(0.02f);
    RequireInside();
    REQUIRE(!Flag->PlayRange(TEXT("no such range")));
    Flag->SetRange(0.0, Duration);
}

void FFlagTest::Others()
{
    // The others reach the player: each is refused by the library if it is wrong, which would be logged.
    Flag->SetDelay(0.5);
    Flag->Seek(0.0);
    World.Tick(0.1f);
    Flag->SetDelay(0.0);
    Flag->SetPreRoll(0.1);
    Flag->StreamFrom(0.3);
    World.Tick(0.1f);
    Flag->StreamAtPositionOnly();
    Flag->SetPreRoll(0.0);
    for (const EMeshreelFrameStep Step :
         {EMeshreelFrameStep::Keys, EMeshreelFrameStep::Second, EMeshreelFrameStep::Every})
    {
        Flag->SetFrameStep(Step);
        World.Tick(0.1f);
        REQUIRE(Flag->GetSurface().IsValid());
    }
    // Without interpolation a time between two frames shows the earlier one.
    Flag->SetInterpolated(false);
    Flag->Pause();
    Flag->Seek(0.5 * (TimeOf(1) + TimeOf(2)));
    World.Tick(0.0f);
    World.Tick(0.0f);
    RequireShows(*Flag, Reference, 1);
}

void FFlagTest::Stops()
{
    // Stopped is hidden and at the start; restarted as before.
    Flag->Stop();
    World.Tick(0.1f);
    World.Tick(0.1f);
    REQUIRE(!Flag->GetSurface().IsValid() && Flag->SceneProxy == nullptr && Flag->GetPosition() == 0.0);
    Flag->Play();
    World.Tick(0.1f);
    World.Tick(0.1f);
    REQUIRE(Flag->GetSurface().IsValid() && Flag->SceneProxy != nullptr);
    Flag->Restart();
    World.Tick(0.0f);
    REQUIRE(Flag->GetPosition() == 0.0 && Flag->GetLateFrames() == 0 && Flag->GetError().IsEmpty());
    // While the game is paused, time stands, but jumps are shown.
    World.World->bPaused = true;
    World.Tick(0.5f);
    REQUIRE(Flag->GetPosition() == 0.0);
    Flag->SeekToFrame(3);
    World.Tick(0.5f);
    World.Tick(0.5f);
    RequireShows(*Flag, Reference, 3);
    World.World->bPaused = false;
    const FMeshreelStatistics Numbers = World.Subsystem()->GetStatistics();
    REQUIRE(Numbers.HeapBytes == int64(128) << 20 && Numbers.Instances == 1 && Numbers.Files == 1 &&
            Numbers.FramesDecoded > 0);
    REQUIRE(Numbers.HeapUsed > 0 && Numbers.HeapPeak >= Numbers.HeapUsed && Numbers.Refused == 0 &&
            Numbers.DecodeSeconds >= 0.0);
    REQUIRE(Listener->NumFailed == 0 && Listener->NumReplaced == 0 && Listener->NumReady == 1);
    Flag->UnregisterComponent();
    REQUIRE(World.Subsystem()->GetStatistics().Instances == 0);
}

/** Ranges of frames with names: the animations of a glTF file. */
void TestNamedRanges()
{
    const FInTick InTick;
    FWorld World;
    UMeshreelAsset *Asset = LoadAsset(Arguments().Made + "/ranges.reel");
    REQUIRE(Asset->Info.Ranges.Num() > 0);
    const FMeshreelRange Range = Asset->Info.Ranges.Last();
    REQUIRE(Range.FirstFrame >= 0 && Range.LastFrame > Range.FirstFrame &&
            Range.LastFrame < Asset->Info.Frames);
    UMeshreelComponent *Component =
        World.Add(Asset, [](UMeshreelComponent &Each) { Each.bAutoPlay = false; });
    REQUIRE(World.TickUntil([&] { return Component->GetSurface().IsValid(); }));
    REQUIRE(Component->PlayRange(Range.Name) && !Component->PlayRange(TEXT("no such range")));
    World.Tick(0.05f);
    double From = 0.0;
    const FMeshreelOpenFilePtr File = Asset->Open();
    REQUIRE(mr_reel_time(File->Reel.Get(), uint32(Range.FirstFrame), &From) == MR_STATUS_OK);
    REQUIRE(Component->IsPlaying() && Near(Component->GetPosition(), From - File->Info.start + 0.05, 1e-6));
}

void TestWorlds()
{
    const FInTick InTick;
    UMeshreelAsset *Flag = LoadAsset(Golden("v0/flag_small.reel")),
                   *Robot = LoadAsset(Golden("v0/robot_small.reel"));
    FWorld World;
    std::vector<UMeshreelComponent *> All;
    for (int32 Index = 0; Index < 6; Index++)
    {
        All.push_back(World.Add(Index % 2 == 0 ? Flag : Robot,
                                [&](UMeshreelComponent &Each)
                                {
                                    Each.SetRepeat(EMeshreelRepeat::Loop);
                                    Each.StartSeconds = 0.1 * Index;
                                    Each.Priority = Index;
                                }));
    }
    REQUIRE(World.TickUntil(
        [&]
        {
            return std::all_of(All.begin(), All.end(),
                               [](auto *Each) { return Each->GetSurface().IsValid(); });
        }));
    World.Tick(0.1f);
    REQUIRE(World.Subsystem()->GetStatistics().Files == 2 &&
            World.Subsystem()->GetStatistics().Instances == 6);
    // One that comes when the file has long been open is told so, too.
    UListener *Listener = NewObject<UListener>();
    UMeshreelComponent *Late = World.Add(Flag, [&](UMeshreelComponent &Each) { Listener->Listen(Each); });
    REQUIRE(World.TickUntil([&] { return Listener->NumReady == 1; }));
    // Nodes of the file, to attach things to.
    const TArray<FString> Paths = All[1]->GetNodePaths();
    FReference Reference(ReadFile(Golden("v0/robot_small.reel")));
    REQUIRE(Paths.Num() == int32(Reference.Info.nodes) && !Paths[0].IsEmpty());
    FTransform Transform;
    REQUIRE(!All[1]->GetNodeTransform(-1, Transform) && !All[1]->GetNodeTransform(Paths.Num(), Transform));
    All[1]->Pause();
    All[1]->SeekToFrame(0);
    World.Tick(0.0f);
    World.Tick(0.0f);
    for (int32 Node = 0; Node < Paths.Num(); Node++)
    {
        double Matrix[12];
        REQUIRE(mr_frame_world(Reference.Decode(0), uint32(Node), Matrix) == MR_STATUS_OK);
        REQUIRE(All[1]->GetNodeTransform(Node, Transform));
        const float Scale = FMeshreelAxes::CentimetresOf(Reference.Info.unit);
        const FVector At(Matrix[3] * double(Scale), Matrix[11] * double(Scale), Matrix[7] * double(Scale));
        REQUIRE(FVector::Dist(Transform.GetTranslation(), At) < 1e-3);
    }
    // Another asset in the same component; an edit in the editor goes on where it was.
    REQUIRE(World.Subsystem()->GetStatistics().Files == 2);
    Late->SetAsset(Robot);
    REQUIRE(World.TickUntil([&] { return Listener->NumReady == 2; }));
    FPropertyChangedEvent Event;
    const double Before = All[0]->GetPosition();
    static_cast<UObject *>(All[0])->PostEditChangeProperty(Event);
    REQUIRE(World.TickUntil([&] { return All[0]->GetSurface().IsValid() && All[0]->IsReady(); }, 0.0f));
    World.Tick(0.0f);
    REQUIRE(Near(All[0]->GetPosition(), Before, 1e-6) && All[0]->IsPlaying());
    // A hidden component's time goes on, but nothing is decoded for it.
    All[2]->SetVisibility(false);
    World.Tick(0.1f);
    const double Hidden = All[2]->GetPosition();
    World.Tick(0.1f);
    REQUIRE(All[2]->SceneProxy == nullptr && !Near(All[2]->GetPosition(), Hidden, 1e-6));
    All[2]->SetVisibility(true);
    World.Tick(0.1f);
    World.Tick(0.1f);
    REQUIRE(All[2]->SceneProxy != nullptr);
    All[0]->SetAsset(nullptr);
    World.Tick();
    REQUIRE(!All[0]->GetSurface().IsValid() && All[0]->GetNumMaterials() == 0 &&
            All[0]->GetMaterial(0) == nullptr);
}

/** The engine's threads, the library's, files on the disk and files in a package. */
void TestThreads()
{
    UMeshreelSettings *Settings = GetMutableDefault<UMeshreelSettings>();
    const std::string Path = Golden("v0/wall_small.reel");
    bool bOk = false;
    StandIn::Packaged()["/package/wall.reel"] = StandIn::ReadAll(Path, bOk);
    for (const int32 Kind : {0, 1, 2})
    {
        Settings->bUseEngineTasks = Kind != 1;
        Settings->DecodeThreads = Kind == 2 ? 3 : 0;
        const int Started = StandIn::FTasks::Get().Started;
        UMeshreelAsset *Asset = NewObject<UMeshreelAsset>();
        REQUIRE(Asset->SetPath(Kind == 2 ? FString(TEXT("/package/wall.reel")) : ToText(Path)));
        REQUIRE(Asset->IsStreamed() && Asset->GetBytes().Num() == 0 && Asset->Info.Frames > 0);
        {
            FWorld World;
            UMeshreelComponent *Wall =
                World.Add(Asset, [](UMeshreelComponent &Each) { Each.SetRepeat(EMeshreelRepeat::Loop); });
            REQUIRE(World.TickUntil([&] { return Wall->GetSurface().IsValid(); }));
            const double From = Wall->GetPosition();
            REQUIRE(World.TickUntil(
                [&] { return Wall->GetPosition() > From + 0.5 || Wall->GetPosition() < From; }));
            REQUIRE(World.Subsystem()->GetStatistics().FramesDecoded > 5);
            Wall->UnregisterComponent();
        }
        REQUIRE((StandIn::FTasks::Get().Started > Started) == (Kind != 1));
        StandIn::FTasks::Get().Wait();
    }
    Settings->bUseEngineTasks = true;
    Settings->DecodeThreads = 0;
}

void TestActors()
{
    const FInTick InTick;
    FWorld World;
    AMeshreelActor *Actor = World.World->SpawnActor<AMeshreelActor>();
    REQUIRE(Actor->GetMeshreelComponent() == Actor->RootComponent &&
            Actor->GetMeshreelComponent()->GetOwner() == Actor);
    Actor->GetMeshreelComponent()->SetAsset(LoadAsset(Golden("v0/flag_small.reel")));
    AMeshreelStreet *Street = NewObject<AMeshreelStreet>(World.World);
    Street->Assets = {LoadAsset(Golden("v0/wall_small.reel")), LoadAsset(Golden("v0/snake_small.reel"))};
    Street->Rows = 2;
    Street->Offset = 0.5;
    Street->BeginPlay();
    REQUIRE(Street->GetPlayers().Num() == 4);
    REQUIRE(World.TickUntil(
        [&] { return Street->GetNumReady() == 4 && Actor->GetMeshreelComponent()->GetSurface().IsValid(); }));
    REQUIRE(Street->GetPlayers()[3]->GetComponentTransform().GetLocation() == FVector(400.0, 400.0, 0.0));
    REQUIRE(Street->GetPlayers()[0]->GetPosition() > Street->GetPlayers()[2]->GetPosition());
}
} // namespace

void TestPlaying()
{
    {
        FFlagTest Test;
        Test.Seeks();
        Test.Plays();
        Test.Ranges();
        Test.Others();
        Test.Stops();
    }
    TestNamedRanges();
    TestWorlds();
    TestThreads();
    TestActors();
    // Worlds of the editor: stands at the first frame if told so. Worlds that show nothing have no player.
    const FInTick InTick;
    FWorld Editor(EWorldType::Editor), Inactive(EWorldType::Inactive);
    UMeshreelAsset *Asset = LoadAsset(Golden("v0/flag_small.reel"));
    UMeshreelComponent *Flag =
        Editor.Add(Asset, [](UMeshreelComponent &Each) { Each.bPlayInEditor = false; });
    REQUIRE(Editor.TickUntil([&] { return Flag->GetSurface().IsValid(); }));
    REQUIRE(!Flag->IsPlaying() && Inactive.Subsystem() == nullptr);
    UMeshreelComponent *Nowhere = Inactive.Add(Asset);
    Nowhere->Play();
    Inactive.Tick();
    REQUIRE(!Nowhere->IsReady());
}
} // namespace Driver
