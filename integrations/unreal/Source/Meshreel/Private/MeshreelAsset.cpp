#include "MeshreelAsset.h"

#include "EditorFramework/AssetImportData.h"
#include "Materials/MaterialInterface.h"
#include "MeshreelFileSource.h"
#include "Misc/Paths.h"
#include "Misc/ScopeLock.h"

namespace
{
/** Opens a path: directly where the system can, otherwise through Unreal's file system. */
mr_status OpenPath(const FString &Path, mr_reel **Out)
{
    mr_source Source;
    if (FMeshreelFileSource::IsLoose(Path) || !FMeshreelFileSource::Open(Path, Source))
    {
        return mr_reel_open(TCHAR_TO_UTF8(*Path), nullptr, Out);
    }
    return mr_reel_open_source(TCHAR_TO_UTF8(*Path), &Source, nullptr, Out);
}
} // namespace

void UMeshreelAsset::PostInitProperties()
{
#if WITH_EDITORONLY_DATA
    if (!HasAnyFlags(RF_ClassDefaultObject | RF_NeedLoad))
    {
        AssetImportData = NewObject<UAssetImportData>(this, TEXT("AssetImportData"));
    }
#endif
    Super::PostInitProperties();
}

void UMeshreelAsset::Serialize(FArchive &Ar)
{
    Super::Serialize(Ar);
    Bytes.Serialize(Ar, this);
}

bool UMeshreelAsset::SetBytes(TArrayView<const uint8> InBytes)
{
    File.FilePath.Reset();
    Bytes.Lock(LOCK_READ_WRITE);
    void *Target = Bytes.Realloc(InBytes.Num());
    if (InBytes.Num() > 0)
    {
        FMemory::Memcpy(Target, InBytes.GetData(), static_cast<SIZE_T>(InBytes.Num()));
    }
    Bytes.Unlock();
    return Refresh();
}

bool UMeshreelAsset::SetPath(const FString &Path)
{
    File.FilePath = Path;
    Bytes.RemoveBulkData();
    return Refresh();
}

TArray<uint8> UMeshreelAsset::GetBytes() const
{
    TArray<uint8> Out;
    if (IsStreamed() || Bytes.GetBulkDataSize() == 0)
    {
        return Out;
    }
    Out.SetNumUninitialized(static_cast<int32>(Bytes.GetBulkDataSize()));
    const void *Source = Bytes.LockReadOnly();
    FMemory::Memcpy(Out.GetData(), Source, static_cast<SIZE_T>(Out.Num()));
    Bytes.Unlock();
    return Out;
}

FString UMeshreelAsset::GetPath() const
{
    if (!IsStreamed())
    {
        return FString();
    }
    const FString Path = FPaths::IsRelative(File.FilePath)
                             ? FPaths::Combine(FPaths::ProjectContentDir(), File.FilePath)
                             : File.FilePath;
    return FPaths::ConvertRelativePathToFull(Path);
}

FString UMeshreelAsset::GetDisplayName() const { return IsStreamed() ? GetPath() : GetPathName(); }

FMeshreelOpenFilePtr UMeshreelAsset::Open()
{
    FScopeLock Lock(&Section);
    if (Opened.IsValid() || !FMeshreelLibrary::IsUsable())
    {
        return Opened;
    }
    FMeshreelOpenFilePtr File = MakeShared<FMeshreelOpenFile, ESPMode::ThreadSafe>();
    File->Name = GetDisplayName();
    mr_reel *Reel = nullptr;
    mr_status Status;
    if (IsStreamed())
    {
        Status = OpenPath(GetPath(), &Reel);
    }
    else
    {
        const TArray<uint8> Content = GetBytes();
        Status = mr_reel_open_memory(TCHAR_TO_UTF8(*File->Name), Content.GetData(),
                                     static_cast<size_t>(Content.Num()), nullptr, &Reel);
    }
    if (!FMeshreelLibrary::Ok(Status, File->Name))
    {
        return nullptr;
    }
    File->Reel.Reset(Reel);
    File->Info = MeshreelSized<mr_reel_info>();
    if (!FMeshreelLibrary::Ok(mr_reel_get(Reel, &File->Info), File->Name))
    {
        return nullptr;
    }
    Opened = File;
    return Opened;
}

FMeshreelAxes UMeshreelAsset::GetAxes(const mr_reel_info &Reel) const
{
    FMeshreelAxes Axes;
    Axes.Scale = CentimetresPerUnit > 0.0f ? CentimetresPerUnit : FMeshreelAxes::CentimetresOf(Reel.unit);
    Axes.bZUp = UpAxis == EMeshreelUpAxis::Z;
    return Axes;
}

FMeshreelReading UMeshreelAsset::GetReading(const mr_reel *Reel, bool bMotionVectors)
{
    FMeshreelReading Out;
    mr_reel_info Properties = MeshreelSized<mr_reel_info>();
    const FString Name = GetDisplayName();
    if (!FMeshreelLibrary::Ok(mr_reel_get(Reel, &Properties), Name))
    {
        return Out;
    }
    Out.Axes = GetAxes(Properties);
    Out.bFlipV = bFlipV;
    Out.bMotionVectors = bMotionVectors;
    for (uint32 Node = 0; Node < Properties.nodes; Node++)
    {
        mr_node_info NodeInfo = MeshreelSized<mr_node_info>();
        if (FMeshreelLibrary::Ok(mr_reel_node(Reel, Node, &NodeInfo), Name) && NodeInfo.mesh != MR_NONE)
        {
            Out.Nodes.Add(Node);
        }
    }
    for (uint32 Mesh = 0; Mesh < Properties.meshes; Mesh++)
    {
        mr_mesh_info MeshInfo = MeshreelSized<mr_mesh_info>();
        Out.FirstMaterialOfMesh.Add(Out.MaterialSlots.Num());
        if (!FMeshreelLibrary::Ok(mr_reel_mesh(Reel, Mesh, &MeshInfo), Name))
        {
            continue;
        }
        for (uint32 Material = 0; Material < MeshInfo.materials; Material++)
        {
            const FString MaterialName = FMeshreelLibrary::Text(
                [&](char *Text, size_t Capacity, size_t *Length)
                {
                    mr_material_info MaterialInfo = MeshreelSized<mr_material_info>();
                    return mr_reel_material(Reel, Mesh, Material, &MaterialInfo, Text, Capacity, Length);
                });
            Out.MaterialSlots.Add(AddMaterial(MaterialName.IsEmpty() ? NAME_None : FName(*MaterialName)));
        }
        if (MeshInfo.materials == 0)
        {
            Out.MaterialSlots.Add(AddMaterial(NAME_None));
        }
    }
    return Out;
}

int32 UMeshreelAsset::AddMaterial(FName Name)
{
    const int32 Existing = FindMaterial(Name);
    if (Existing != INDEX_NONE)
    {
        return Existing;
    }
    FMeshreelMaterial Slot;
    Slot.Name = Name;
    return Materials.Add(Slot);
}

int32 UMeshreelAsset::FindMaterial(FName Name) const
{
    return Materials.IndexOfByPredicate([Name](const FMeshreelMaterial &Slot) { return Slot.Name == Name; });
}

void UMeshreelAsset::SetMaterialByName(FName Name, UMaterialInterface *Material)
{
    for (FMeshreelMaterial &Slot : Materials)
    {
        if (Slot.Name == Name)
        {
            Slot.Material = Material;
        }
    }
}

bool UMeshreelAsset::FindRange(FName Name, FMeshreelRange &Range) const
{
    for (const FMeshreelRange &Each : Info.Ranges)
    {
        if (Each.Name == Name)
        {
            Range = Each;
            return true;
        }
    }
    return false;
}

bool UMeshreelAsset::Refresh()
{
    {
        FScopeLock Lock(&Section);
        Opened.Reset();
    }
    const FMeshreelOpenFilePtr Now = Open();
    Info = FMeshreelInfo();
    if (Now.IsValid())
    {
        ReadInfo(*Now);
    }
    OnChanged.Broadcast(this);
    return Now.IsValid();
}

void UMeshreelAsset::ReadInfo(const FMeshreelOpenFile &Open)
{
    const mr_reel *Reel = Open.Reel.Get();
    const FMeshreelAxes Axes = GetAxes(Open.Info);
    Info.Frames = static_cast<int32>(Open.Info.frames);
    Info.FramesPerSecond = Open.Info.fps;
    Info.Duration = Open.Info.end - Open.Info.start;
    Info.Nodes = static_cast<int32>(Open.Info.nodes);
    Info.Meshes = static_cast<int32>(Open.Info.meshes);
    Info.FileBytes = static_cast<int64>(Open.Info.file_bytes);
    for (uint32 Number = 0; Number < Open.Info.ranges; Number++)
    {
        mr_range Frames{};
        const FString Name =
            FMeshreelLibrary::Text([&](char *Text, size_t Capacity, size_t *Length)
                                   { return mr_reel_range(Reel, Number, &Frames, Text, Capacity, Length); });
        FMeshreelRange Range;
        Range.Name = FName(*Name);
        Range.FirstFrame = static_cast<int32>(Frames.first);
        Range.LastFrame = static_cast<int32>(Frames.first + FMath::Max(Frames.count, 1u) - 1);
        Info.Ranges.Add(Range);
    }
    for (uint32 Frame = 0; Frame < Open.Info.frames; Frame++)
    {
        float MinMax[6];
        if (!FMeshreelLibrary::Ok(mr_reel_bounds(Reel, Frame, MinMax), Open.Name))
        {
            break;
        }
        Info.Bounds += Axes.Box(MinMax);
    }
    mr_clips *Clips = nullptr;
    if (FMeshreelLibrary::Ok(mr_clips_new(Reel, &Clips), Open.Name))
    {
        FMeshreelClipSet Set(Clips);
        mr_clips_info Numbers = MeshreelSized<mr_clips_info>();
        if (FMeshreelLibrary::Ok(mr_clips_get(Clips, &Numbers), Open.Name))
        {
            Info.Clips = static_cast<int32>(Numbers.clips);
        }
    }
    GetReading(Reel, false); // Adds the slots of materials.
}

#if WITH_EDITOR
void UMeshreelAsset::PostEditChangeProperty(FPropertyChangedEvent &Event)
{
    Super::PostEditChangeProperty(Event);
    Refresh();
}
#endif
