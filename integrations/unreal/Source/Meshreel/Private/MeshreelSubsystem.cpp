#include "MeshreelSubsystem.h"

#include "Async/ParallelFor.h"
#include "Engine/World.h"
#include "MeshreelAsset.h"
#include "MeshreelComponent.h"
#include "MeshreelFileSource.h"
#include "MeshreelSettings.h"

bool UMeshreelSubsystem::DoesSupportWorldType(const EWorldType::Type WorldType) const
{
    return WorldType == EWorldType::Game || WorldType == EWorldType::PIE || WorldType == EWorldType::Editor ||
           WorldType == EWorldType::EditorPreview || WorldType == EWorldType::GamePreview;
}

TStatId UMeshreelSubsystem::GetStatId() const
{
    RETURN_QUICK_DECLARE_CYCLE_STAT(UMeshreelSubsystem, STATGROUP_Tickables);
}

void UMeshreelSubsystem::Deinitialize()
{
    for (auto &Each : Files)
    {
        if (UMeshreelAsset *Asset = Each.Value.Asset.Get())
        {
            Asset->OnChanged.Remove(Each.Value.Changed);
        }
    }
    Files.Empty();
    Entries.Empty();
    Player.Reset();
    Super::Deinitialize();
}

/** Creates the player with the project's options. Where that fails, it is said once, and not tried again. */
bool UMeshreelSubsystem::CreatePlayer()
{
    if (Player.IsValid() || bRefused)
    {
        return Player.IsValid();
    }
    mr_player_options Options;
    mr_jobs Jobs;
    mr_allocator Allocator;
    mr_player *Handle = nullptr;
    if (FMeshreelLibrary::IsUsable() &&
        GetDefault<UMeshreelSettings>()->ToOptions(Options, Jobs, Allocator) &&
        FMeshreelLibrary::Ok(mr_player_new(&Options, &Handle), TEXT("The player of the world")))
    {
        Player.Reset(Handle);
        return true;
    }
    bRefused = true;
    return false;
}

bool UMeshreelSubsystem::OpenFile(UMeshreelAsset &Asset, FFile &Out)
{
    const FString Name = Asset.GetDisplayName();
    mr_status Status;
    if (!Asset.IsStreamed())
    {
        const TArray<uint8> Bytes = Asset.GetBytes();
        Status = mr_player_open_memory(Player.Get(), TCHAR_TO_UTF8(*Name), Bytes.GetData(),
                                       static_cast<size_t>(Bytes.Num()), &Out.Number);
    }
    else
    {
        mr_source Source;
        const FString Path = Asset.GetPath();
        const bool bPackaged = !FMeshreelFileSource::IsLoose(Path) && FMeshreelFileSource::Open(Path, Source);
        Status = bPackaged ? mr_player_open_source(Player.Get(), TCHAR_TO_UTF8(*Name), &Source, &Out.Number)
                           : mr_player_open(Player.Get(), TCHAR_TO_UTF8(*Path), &Out.Number);
    }
    return FMeshreelLibrary::Ok(Status, Name);
}

uint64 UMeshreelSubsystem::Add(UMeshreelComponent &Component, UMeshreelAsset &Asset)
{
    Remove(Component);
    if (!CreatePlayer())
    {
        return 0;
    }
    const TObjectKey<UMeshreelAsset> Key(&Asset);
    if (!Files.Contains(Key))
    {
        FFile File;
        if (!OpenFile(Asset, File))
        {
            return 0;
        }
        File.Asset = &Asset;
        File.Changed = Asset.OnChanged.AddUObject(this, &UMeshreelSubsystem::AssetChanged);
        Files.Add(Key, File);
    }
    const FFile &File = Files.FindChecked(Key);
    FEntry Entry;
    if (!FMeshreelLibrary::Ok(mr_player_instance(Player.Get(), File.Number, &Entry.Instance),
                              Asset.GetDisplayName()))
    {
        return 0;
    }
    Entry.Component = &Component;
    Entry.Asset = Key;
    Entry.bUntold = File.bOpen || !File.Error.IsEmpty();
    Entries.Add(Entry);
    return Entry.Instance;
}

void UMeshreelSubsystem::Remove(UMeshreelComponent &Component)
{
    const int32 Index = Entries.IndexOfByPredicate([&Component](const FEntry &Entry)
                                                   { return Entry.Component == &Component; });
    if (Index == INDEX_NONE)
    {
        return;
    }
    const FEntry Entry = Entries[Index];
    Entries.RemoveAt(Index);
    FFile &File = Files.FindChecked(Entry.Asset);
    FMeshreelLibrary::Ok(mr_player_remove(Player.Get(), Entry.Instance), TEXT("An instance"));
    if (!Entries.ContainsByPredicate([&Entry](const FEntry &Other) { return Other.Asset == Entry.Asset; }))
    {
        if (UMeshreelAsset *Asset = File.Asset.Get())
        {
            Asset->OnChanged.Remove(File.Changed);
        }
        FMeshreelLibrary::Ok(mr_player_close(Player.Get(), File.Number), TEXT("A file"));
        Files.Remove(Entry.Asset);
    }
}

/** The asset has other bytes or another path: its components start anew. */
void UMeshreelSubsystem::AssetChanged(UMeshreelAsset *Asset)
{
    TArray<TWeakObjectPtr<UMeshreelComponent>> Components;
    for (const FEntry &Entry : Entries)
    {
        if (Entry.Asset == TObjectKey<UMeshreelAsset>(Asset))
        {
            Components.Add(Entry.Component);
        }
    }
    for (const TWeakObjectPtr<UMeshreelComponent> &Component : Components)
    {
        if (UMeshreelComponent *Each = Component.Get())
        {
            Remove(*Each);
        }
    }
    for (const TWeakObjectPtr<UMeshreelComponent> &Component : Components)
    {
        if (UMeshreelComponent *Each = Component.Get())
        {
            Each->AssetChanged();
        }
    }
}

/** The file of an event, which may name an instance alone. */
UMeshreelSubsystem::FFile *UMeshreelSubsystem::FindFile(const mr_event &Event)
{
    for (const FEntry &Entry : Entries)
    {
        FFile *File = Files.Find(Entry.Asset);
        if (File != nullptr &&
            (Event.file != 0 ? File->Number == Event.file : Entry.Instance == Event.instance))
        {
            return File;
        }
    }
    return nullptr;
}

void UMeshreelSubsystem::Tick(float DeltaTime)
{
    Super::Tick(DeltaTime);
    if (!Player.IsValid())
    {
        return;
    }
    const UWorld *World = GetWorld();
    for (const FEntry &Entry : Entries)
    {
        if (UMeshreelComponent *Component = Entry.Component.Get())
        {
            Component->BeforeTick(Player.Get());
        }
    }
    // Also while the game is paused, so that a jump is shown and files are opened.
    const double Seconds = World != nullptr && World->IsPaused() ? 0.0 : static_cast<double>(DeltaTime);
    FMeshreelLibrary::Ok(mr_player_tick(Player.Get(), Seconds), TEXT("The player of the world"));
    TellNewcomers();
    TakeEvents();
    ShowFrames();
}

void UMeshreelSubsystem::TellNewcomers()
{
    TArray<FEntry> Untold;
    for (FEntry &Entry : Entries)
    {
        if (Entry.bUntold)
        {
            Untold.Add(Entry);
            Entry.bUntold = false;
        }
    }
    for (const FEntry &Entry : Untold)
    {
        const FFile *File = Files.Find(Entry.Asset);
        UMeshreelComponent *Component = Entry.Component.Get();
        if (File == nullptr || Component == nullptr)
        {
            continue;
        }
        if (File->bOpen)
        {
            Component->FileOpened(Player.Get(), File->Number, false);
        }
        else
        {
            Component->FileFailed(File->Error);
        }
    }
}

void UMeshreelSubsystem::TakeEvents()
{
    mr_event Event = MeshreelSized<mr_event>();
    while (Player.IsValid() && mr_player_event(Player.Get(), &Event) == MR_STATUS_OK &&
           Event.kind != MR_EVENT_KIND_NONE)
    {
        TakeEvent(Event);
        Event.size = sizeof(Event);
    }
}

void UMeshreelSubsystem::TakeEvent(const mr_event &Event)
{
    FFile *File = FindFile(Event);
    const FString Name = File != nullptr && File->Asset.IsValid() ? File->Asset->GetDisplayName() : FString();
    FString Text(UTF8_TO_TCHAR(Event.text));
    if (Event.kind == MR_EVENT_KIND_REFUSED)
    {
        Text = FString::Printf(
            TEXT("%s needs %llu bytes of the heap, which has %llu left: raise HeapMegabytes"), *Name,
            static_cast<unsigned long long>(Event.needed), static_cast<unsigned long long>(Event.left));
    }
    else if (Event.kind == MR_EVENT_KIND_NO_FRAMES)
    {
        Text = FString::Printf(TEXT("%s has no frames, only clips of skeletons"), *Name);
    }
    if (File != nullptr && (Event.kind == MR_EVENT_KIND_OPENED || Event.kind == MR_EVENT_KIND_REPLACED))
    {
        File->bOpen = true;
        File->Error.Reset();
    }
    else if (File != nullptr &&
             (Event.kind == MR_EVENT_KIND_OPEN_FAILED || Event.kind == MR_EVENT_KIND_NO_FRAMES))
    {
        File->Error = Text;
    }
    const bool bFailed = Event.kind == MR_EVENT_KIND_OPEN_FAILED || Event.kind == MR_EVENT_KIND_NO_FRAMES ||
                         Event.kind == MR_EVENT_KIND_READ_FAILED || Event.kind == MR_EVENT_KIND_DAMAGED ||
                         Event.kind == MR_EVENT_KIND_REFUSED;
    if (bFailed)
    {
        UE_LOG(LogMeshreel, Error, TEXT("%s"), *Text);
    }
    const uint64 Number = Event.file;
    TArray<TWeakObjectPtr<UMeshreelComponent>> Components;
    for (const FEntry &Entry : Entries)
    {
        const FFile *Own = Files.Find(Entry.Asset);
        if (Event.instance != 0 ? Entry.Instance == Event.instance : Own != nullptr && Own->Number == Number)
        {
            Components.Add(Entry.Component);
        }
    }
    for (const TWeakObjectPtr<UMeshreelComponent> &Each : Components)
    {
        UMeshreelComponent *Component = Each.Get();
        if (Component != nullptr && bFailed)
        {
            Component->FileFailed(Text);
        }
        else if (Component != nullptr &&
                 (Event.kind == MR_EVENT_KIND_OPENED || Event.kind == MR_EVENT_KIND_REPLACED))
        {
            Component->FileOpened(Player.Get(), Number, Event.kind == MR_EVENT_KIND_REPLACED);
        }
    }
}

/** Reads the frames of all components at once, on all threads, then hands them to the renderer. */
void UMeshreelSubsystem::ShowFrames()
{
    TArray<TWeakObjectPtr<UMeshreelComponent>> All;
    for (const FEntry &Entry : Entries)
    {
        All.Add(Entry.Component);
    }
    TArray<UMeshreelComponent *> Changed;
    for (const TWeakObjectPtr<UMeshreelComponent> &Each : All)
    {
        UMeshreelComponent *Component = Each.Get();
        if (Component != nullptr && Component->TakeFrame(Player.Get()))
        {
            Changed.Add(Component);
        }
    }
    ParallelFor(Changed.Num(), [&Changed](int32 Index) { Changed[Index]->ReadFrame(); });
    for (UMeshreelComponent *Component : Changed)
    {
        Component->ShowFrame();
    }
    // Last, as the game's answers may add and remove components.
    for (const TWeakObjectPtr<UMeshreelComponent> &Each : All)
    {
        if (UMeshreelComponent *Component = Each.Get())
        {
            Component->AfterTick();
        }
    }
}

FMeshreelStatistics UMeshreelSubsystem::GetStatistics() const
{
    FMeshreelStatistics Out;
    mr_statistics Counters = MeshreelSized<mr_statistics>();
    if (!Player.IsValid() ||
        !FMeshreelLibrary::Ok(mr_player_statistics(Player.Get(), &Counters), TEXT("The player")))
    {
        return Out;
    }
    Out.HeapBytes = static_cast<int64>(Counters.heap_bytes);
    Out.HeapUsed = static_cast<int64>(Counters.heap_used);
    Out.HeapPeak = static_cast<int64>(Counters.heap_peak);
    Out.BytesRead = static_cast<int64>(Counters.bytes_read);
    Out.FramesDecoded = static_cast<int64>(Counters.frames_decoded);
    Out.LateFrames = static_cast<int64>(Counters.missed);
    Out.Files = static_cast<int32>(Counters.streams);
    Out.Instances = static_cast<int32>(Counters.instances);
    Out.Refused = static_cast<int32>(Counters.refused);
    Out.DecodeSeconds = Counters.decode_seconds;
    return Out;
}
