// Damaged, missing and wrong files, too little memory, and a library of another version.
#include "Checks.h"

namespace Driver
{
namespace
{
void Save(const std::string &Path, const TArray<uint8> &Bytes)
{
    REQUIRE(FFileHelper::SaveArrayToFile(Bytes, *ToText(Path)));
}

/** A damaged copy opens or does not; it never crashes, and its errors name it. */
void TestDamage()
{
    const FInTick InTick;
    InTick.Settings->HeapMegabytes = 4; // For the sake of speed: each file has a world and a heap of its own.
    const TArray<uint8> Good = ReadFile(Golden("v0/flag_small.reel"));
    int32 Refused = 0, Late = 0;
    for (int32 Position = 7; Position < Good.Num(); Position += Good.Num() / 60)
    {
        TArray<uint8> Bad = Good;
        Bad[Position] ^= 0x55;
        UMeshreelAsset *Asset = NewObject<UMeshreelAsset>(nullptr, TEXT("damaged"));
        if (!Asset->SetBytes(Bad))
        {
            RequireErrors(1, "damaged");
            Refused++;
            continue;
        }
        FWorld World;
        UMeshreelComponent *Flag = World.Add(Asset);
        TSharedPtr<const FMeshreelSurface, ESPMode::ThreadSafe> Last;
        for (int32 Tick = 0; Tick < 40; Tick++)
        {
            World.Tick(0.05f);
            REQUIRE(!Last.IsValid() || Flag->GetSurface().IsValid()); // The last good frame stays.
            Last = Flag->GetSurface();
        }
        Late += Flag->GetError().IsEmpty() ? 0 : 1;
        std::string Text;
        const SIZE_T Errors = StandIn::FLog::Get().Take(&Text);
        REQUIRE(Errors == 0 || Text.find("damaged") != std::string::npos);
    }
    REQUIRE(Refused > 0);
    std::printf("  %d of 61 damaged files are refused, %d fail later\n", Refused, Late);
    InTick.Settings->HeapMegabytes = 128;
    // Each truncation, in steps.
    for (int32 Length = 0; Length < Good.Num(); Length += 1 + Good.Num() / 40)
    {
        UMeshreelAsset *Asset = NewObject<UMeshreelAsset>(nullptr, TEXT("cut"));
        REQUIRE(!Asset->SetBytes(TArrayView<const uint8>(Good.GetData(), Length)));
        RequireErrors(1, "cut");
    }
}

void TestMissing()
{
    const FInTick InTick;
    FWorld World;
    UMeshreelAsset *Asset = NewObject<UMeshreelAsset>();
    REQUIRE(!Asset->SetPath(TEXT("nowhere/gone.reel")) && !Asset->Open().IsValid());
    RequireErrors(2, "nowhere/gone.reel");
    REQUIRE(Asset->Info.Frames == 0 && Asset->GetPath().EndsWith(TEXT("/project/Content/nowhere/gone.reel")));
    std::string Failed;
    UMeshreelComponent *Gone =
        World.Add(Asset,
                  [&](UMeshreelComponent &Each)
                  {
                      Each.OnFailed.AddLambda([&Failed](UMeshreelComponent *, const FString &Text)
                                              { Failed = Text.Utf8(); });
                  });
    REQUIRE(World.TickUntil([&] { return !Failed.empty(); }));
    REQUIRE(Failed.find("gone.reel") != std::string::npos && Gone->GetError().Utf8() == Failed &&
            !Gone->IsReady());
    RequireErrors(1, "gone.reel");
    // A second component of the same file is told as well; delegates that nothing is bound to do no harm.
    UMeshreelComponent *Second = World.Add(Asset);
    World.Tick();
    World.Tick();
    REQUIRE(!Second->GetError().IsEmpty());
    // A file of clips has nothing to show.
    UMeshreelAsset *Clips = LoadAsset(Golden("clips/layers.reel"));
    UMeshreelComponent *Skeleton = World.Add(Clips);
    REQUIRE(World.TickUntil([&] { return !Skeleton->GetError().IsEmpty(); }));
    RequireErrors(1, "only clips");
    REQUIRE(Clips->Info.Clips > 0 && Clips->Info.Frames == 0);
    // Not a .reel file at all, and an asset without anything.
    UMeshreelAsset *Empty = NewObject<UMeshreelAsset>();
    REQUIRE(!Empty->SetBytes(TArrayView<const uint8>()));
    UMeshreelComponent *Nothing = World.Add(Empty);
    World.TickUntil([&] { return !Nothing->GetError().IsEmpty(); });
    REQUIRE(!Nothing->GetError().IsEmpty());
    StandIn::FLog::Get().Take();
}

void TestMemory()
{
    UMeshreelSettings *Settings = GetMutableDefault<UMeshreelSettings>();
    const FInTick InTick;
    // First a heap that is too small for this file at all, then one that holds some of them: those without
    // room are told, and the others play on.
    for (const int32 Megabytes : {1, 8})
    {
        Settings->HeapMegabytes = Megabytes;
        FWorld World;
        std::vector<UMeshreelComponent *> All;
        for (int32 Index = 0; Index < 8; Index++)
        {
            UMeshreelAsset *Asset =
                LoadAsset(Arguments().Made + (Index % 2 == 0 ? "/levels.reel" : "/hidden.reel"));
            Asset->Name = FString::Printf(TEXT("wall%d"), Index);
            All.push_back(World.Add(Asset,
                                    [&](UMeshreelComponent &Each)
                                    {
                                        Each.Priority = 8 - Index;
                                        Each.SetRepeat(EMeshreelRepeat::Loop);
                                    }));
        }
        for (int32 Tick = 0; Tick < 30; Tick++)
        {
            World.Tick(0.02f);
        }
        int32 Refused = 0, Shown = 0;
        for (const UMeshreelComponent *Each : All)
        {
            Refused += Each->GetError().IsEmpty() ? 0 : 1;
            Shown += Each->GetSurface().IsValid() ? 1 : 0;
        }
        std::string Last;
        const SIZE_T Errors = StandIn::FLog::Get().Take(&Last);
        std::printf("  a heap of %d MiB: %d of 8 have no room, %d are shown (%s)\n", Megabytes, Refused,
                    Shown, Last.c_str());
        REQUIRE(Errors > 0 && Last.find("wall") != std::string::npos && Refused > 0);
        REQUIRE((Shown > 0) == (Megabytes > 1) && All[0]->GetSurface().IsValid() == (Megabytes > 1));
        const FMeshreelStatistics Numbers = World.Subsystem()->GetStatistics();
        REQUIRE(Numbers.HeapBytes == int64(Megabytes) << 20 && Numbers.HeapPeak <= Numbers.HeapBytes);
        REQUIRE((Numbers.Refused > 0) == (Megabytes > 1));
    }
    // No memory for the heap: said once, and nothing plays.
    Settings->HeapMegabytes = 64;
    {
        FWorld World;
        FMemory::FailNext() = true;
        UMeshreelAsset *Asset = LoadAsset(Golden("v0/flag_small.reel"));
        UMeshreelComponent *First = World.Add(Asset), *Second = World.Add(Asset);
        World.Tick();
        RequireErrors(1);
        REQUIRE(!First->GetError().IsEmpty() && !Second->GetError().IsEmpty() &&
                World.Subsystem()->GetPlayer() == nullptr);
        First->Play();
        REQUIRE(World.Subsystem()->GetStatistics().HeapBytes == 0);
        FMemory::FailNext() = false;
    }
    Settings->HeapMegabytes = 128;
    StandIn::FObjects::Get().DestroyAll();
    REQUIRE(FMemory::Held() == 0); // The engine's allocator has got all of it back.
}

/** A file that is compiled again, on the disk and in an asset. */
void TestReplacing()
{
    const std::string Path = Arguments().Made + "/replaced.reel";
    Save(Path, ReadFile(Golden("v0/flag_small.reel")));
    FWorld World;
    UMeshreelAsset *Asset = NewObject<UMeshreelAsset>();
    REQUIRE(Asset->SetPath(ToText(Path)));
    int32 Replaced = 0;
    UMeshreelComponent *Component =
        World.Add(Asset,
                  [&](UMeshreelComponent &Each)
                  {
                      Each.SetRepeat(EMeshreelRepeat::Loop);
                      Each.OnReplaced.AddLambda([&Replaced](UMeshreelComponent *) { Replaced++; });
                  });
    REQUIRE(World.TickUntil([&] { return Component->GetSurface().IsValid(); }));
    const int32 Vertices = Component->GetSurface()->Positions.Num();
    std::this_thread::sleep_for(std::chrono::milliseconds(1100)); // So that the time of the file differs.
    Save(Path + ".new", ReadFile(Golden("v0/wall_small.reel")));
    REQUIRE(std::rename((Path + ".new").c_str(), Path.c_str()) == 0);
    REQUIRE(World.TickUntil(
        [&]
        {
            REQUIRE(Component->GetSurface().IsValid());
            return Replaced == 1 && Component->GetSurface()->Positions.Num() != Vertices;
        }));
    // New bytes in the asset: what is shown stays until the first new frame.
    REQUIRE(Asset->SetBytes(ReadFile(Golden("v0/flag_small.reel"))));
    REQUIRE(Replaced == 2 && Component->GetSurface().IsValid());
    REQUIRE(World.TickUntil([&] { return Component->GetSurface()->Positions.Num() == Vertices; }));
    REQUIRE(Component->IsPlaying() && !Asset->IsStreamed());
    REQUIRE(Asset->GetBytes() == ReadFile(Golden("v0/flag_small.reel")));
    // The asset is saved and loaded with its bytes.
    TArray<uint8> Saved;
    FMemoryWriter Writer(Saved);
    Asset->Serialize(Writer);
    UMeshreelAsset *Loaded = NewObject<UMeshreelAsset>();
    FMemoryReader Reader(Saved);
    Loaded->Serialize(Reader);
    REQUIRE(Loaded->GetBytes() == Asset->GetBytes() && Loaded->Open().IsValid());
    Component->UnregisterComponent();
    StandIn::FTasks::Get().Wait();
}
} // namespace

void TestTrouble()
{
    TestDamage();
    TestMissing();
    TestMemory();
    TestReplacing();
}

/** Runs with a library that answers another version, and ends the program if any other function is called. */
void TestWrongVersion()
{
    REQUIRE(!FMeshreelLibrary::IsUsable());
    RequireErrors(1, "version");
    const uint8 Bytes[4] = {1, 2, 3, 4};
    FWorld World;
    UMeshreelAsset *Asset = NewObject<UMeshreelAsset>();
    REQUIRE(!Asset->SetBytes(TArrayView<const uint8>(Bytes, 4)));
    UMeshreelComponent *Component = World.Add(Asset);
    Component->Play();
    Component->Seek(1.0);
    World.Tick();
    REQUIRE(!Component->GetError().IsEmpty() && !Component->IsReady());
    REQUIRE(World.Subsystem()->GetStatistics().HeapBytes == 0);
    RequireErrors(0); // Said once, not for each file.
    Component->UnregisterComponent();
}
} // namespace Driver
