#include "MeshreelGeometryCache.h"

#include "GeometryCache.h"
#include "Materials/MaterialInterface.h"
#include "MeshreelGeometryCacheProxy.h"
#include "Misc/ScopeLock.h"

bool FMeshreelTrackDecoder::Open(UMeshreelAsset &Asset, uint32 InNode)
{
    mr_decoder *Handle = nullptr;
    Decoder.Reset();
    File = Asset.Open();
    Node = InNode;
    if (!File.IsValid() || !FMeshreelLibrary::Ok(mr_decoder_new(File->Reel.Get(), &Handle), File->Name))
    {
        return false;
    }
    Decoder.Reset(Handle);
    Reader.Reset(Asset.GetReading(File->Reel.Get(), false));
    if (!FMeshreelLibrary::Ok(mr_decoder_frame(Handle, &Shown), File->Name))
    {
        Decoder.Reset();
        return false;
    }
    return true;
}

bool FMeshreelTrackDecoder::IsShown() const
{
    size_t Count = 0;
    TArray<uint8> Nodes;
    if (!FMeshreelLibrary::Ok(mr_frame_visible(Shown, nullptr, 0, &Count), File->Name) || Node >= Count)
    {
        return false;
    }
    Nodes.SetNumZeroed(static_cast<int32>(Count));
    return FMeshreelLibrary::Ok(mr_frame_visible(Shown, Nodes.GetData(), Count, &Count), File->Name) &&
           Nodes[static_cast<int32>(Node)] != 0;
}

bool FMeshreelTrackDecoder::Decode(int32 Number, FGeometryCacheMeshData &Out)
{
    if (Number < 0 || !Decoder.IsValid() ||
        !FMeshreelLibrary::Ok(mr_decoder_decode(Decoder.Get(), static_cast<uint32>(Number)), File->Name) ||
        !Reader.ReadNode(Shown, Node, File->Name, Surface))
    {
        return false;
    }
    bVisible = IsShown();
    if (Surface.Nodes.Num() == 0)
    {
        bVisible = false; // A fluid without triangles: what was there stays, but is not shown.
        return true;
    }
    const FMeshreelNodeMesh &Mesh = Surface.Nodes[0];
    const bool bSameTriangles = Out.Indices == Surface.Indices;
    Out.Positions = Surface.Positions;
    Out.TangentsX = Surface.TangentsX;
    Out.TangentsZ = Surface.TangentsZ;
    Out.TextureCoordinates = Surface.TextureCoordinates;
    Out.Colors = Surface.Colors;
    if (!bSameTriangles)
    {
        Out.Indices = Surface.Indices;
    }
    Out.MotionVectors.Reset();
    Out.BatchesInfo.Reset();
    for (const FMeshreelSection &Section : Mesh.Levels[0].Sections)
    {
        FGeometryCacheMeshBatchInfo Batch;
        Batch.StartIndex = Section.FirstIndex;
        Batch.NumTriangles = Section.NumTriangles;
        Batch.MaterialIndex = static_cast<uint32>(Section.MaterialIndex);
        Out.BatchesInfo.Add(Batch);
    }
    Out.BoundingBox = Mesh.Bounds;
    Out.VertexInfo = FGeometryCacheVertexInfo(true, true, true, true, false);
    return true;
}

bool UMeshreelGeometryCacheTrack::Setup(UMeshreelAsset *InAsset, int32 InNode)
{
    Asset = InAsset;
    Node = InNode;
    bRefused = false;
    MeshFrame = -1;
    Times.Reset();
    FScopeLock Lock(&Section);
    return Prepare();
}

void UMeshreelGeometryCacheTrack::PostLoad()
{
    Super::PostLoad();
    if (Asset != nullptr)
    {
        Asset->ConditionalPostLoad();
        Setup(Asset, Node);
    }
}

/** Opens the file at first use. A file that cannot be opened is said once. */
bool UMeshreelGeometryCacheTrack::Prepare()
{
    if (Times.Num() > 0 || bRefused)
    {
        return Times.Num() > 0;
    }
    bRefused = true;
    if (Asset == nullptr || Node < 0 || !Decoder.Open(*Asset, static_cast<uint32>(Node)))
    {
        return false;
    }
    const FMeshreelOpenFilePtr File = Asset->Open();
    const mr_reel *Reel = File->Reel.Get();
    mr_node_info NodeInfo = MeshreelSized<mr_node_info>();
    mr_mesh_info MeshInfo = MeshreelSized<mr_mesh_info>();
    if (!FMeshreelLibrary::Ok(mr_reel_node(Reel, static_cast<uint32>(Node), &NodeInfo), File->Name) ||
        NodeInfo.mesh == MR_NONE ||
        !FMeshreelLibrary::Ok(mr_reel_mesh(Reel, NodeInfo.mesh, &MeshInfo), File->Name))
    {
        return false;
    }
    bFluid = MeshInfo.method == MR_METHOD_FLUID;
    NumMaterials = static_cast<uint32>(Asset->Materials.Num());
    for (uint32 Frame = 0; Frame < File->Info.frames; Frame++)
    {
        double Seconds = 0.0;
        if (!FMeshreelLibrary::Ok(mr_reel_time(Reel, Frame, &Seconds), File->Name))
        {
            Times.Reset();
            return false;
        }
        Times.Add(static_cast<float>(Seconds - File->Info.start));
    }
    if (Times.Num() > 0)
    {
        // The last frame lasts as long as the others, so that a loop shows it.
        const float Period = File->Info.period > 0.0 ? static_cast<float>(File->Info.period)
                             : Times.Num() > 1
                                 ? Times.Last() + Times.Last() / static_cast<float>(Times.Num() - 1)
                                 : 0.0f;
        Duration = FMath::Max(Period, Times.Last());
        bRefused = false;
    }
    return Times.Num() > 0;
}

int32 UMeshreelGeometryCacheTrack::GetNumFrames()
{
    FScopeLock Lock(&Section);
    return Prepare() ? Times.Num() : 0;
}

const float UMeshreelGeometryCacheTrack::GetMaxSampleTime() const
{
    return Times.Num() > 0 ? Times.Last() : 0.0f;
}

void UMeshreelGeometryCacheTrack::FindFrames(float Time, bool bLooping, int32 &Frame, int32 &Next,
                                             float &Weight)
{
    FScopeLock Lock(&Section);
    Frame = Next = 0;
    Weight = 0.0f;
    if (!Prepare())
    {
        return;
    }
    float Wanted = Time;
    if (bLooping && Duration > 0.0f)
    {
        Wanted = FMath::Fmod(Time, Duration);
        Wanted += Wanted < 0.0f ? Duration : 0.0f;
    }
    const int32 Last = Times.Num() - 1;
    int32 Low = 0, High = Last;
    while (Low < High)
    {
        const int32 Middle = (Low + High + 1) / 2;
        if (Times[Middle] <= Wanted)
        {
            Low = Middle;
        }
        else
        {
            High = Middle - 1;
        }
    }
    Frame = Low;
    Next = FMath::Min(Low + 1, Last);
    if (Next > Frame && Times[Next] > Times[Frame])
    {
        Weight = FMath::Clamp((Wanted - Times[Frame]) / (Times[Next] - Times[Frame]), 0.0f, 1.0f);
        if (Weight > 0.999f)
        {
            // The engine rounds its times otherwise than the file's: this is the next frame itself.
            Frame = Next;
            Next = FMath::Min(Frame + 1, Last);
            Weight = 0.0f;
        }
    }
}

/** Decodes a frame into `Mesh`, unless it is there. */
bool UMeshreelGeometryCacheTrack::Decode(int32 Frame)
{
    if (!Prepare() || Frame < 0 || Frame >= Times.Num())
    {
        return false;
    }
    if (Frame != MeshFrame)
    {
        if (!Decoder.Decode(Frame, Mesh))
        {
            return false;
        }
        MeshFrame = Frame;
        bMeshVisible = Decoder.IsVisible();
    }
    return true;
}

bool UMeshreelGeometryCacheTrack::HasSameTopology(int32 FrameA, int32 FrameB)
{
    FScopeLock Lock(&Section);
    return FrameA == FrameB || (Prepare() && !bFluid);
}

bool UMeshreelGeometryCacheTrack::IsVisibleAt(float Time, bool bLooping)
{
    int32 Frame, Next;
    float Weight;
    FindFrames(Time, bLooping, Frame, Next, Weight);
    FScopeLock Lock(&Section);
    return Decode(Frame) && bMeshVisible;
}

const bool UMeshreelGeometryCacheTrack::UpdateMeshData(const float Time, const bool bLooping,
                                                       int32 &InOutMeshSampleIndex,
                                                       FGeometryCacheMeshData *&OutMeshData)
{
    int32 Frame, Next;
    float Weight;
    FindFrames(Time, bLooping, Frame, Next, Weight);
    FScopeLock Lock(&Section);
    if (Frame == InOutMeshSampleIndex || !Decode(Frame))
    {
        return false;
    }
    InOutMeshSampleIndex = Frame;
    OutMeshData = &Mesh;
    return true;
}

bool UMeshreelGeometryCacheTrack::GetMeshDataAtTime(float Time, FGeometryCacheMeshData &OutMeshData)
{
    int32 Frame, Next;
    float Weight;
    FindFrames(Time, false, Frame, Next, Weight);
    return GetMeshDataAtSampleIndex(Frame, OutMeshData);
}

bool UMeshreelGeometryCacheTrack::GetMeshDataAtSampleIndex(int32 SampleIndex,
                                                           FGeometryCacheMeshData &OutMeshData)
{
    FScopeLock Lock(&Section);
    if (!Decode(SampleIndex))
    {
        return false;
    }
    OutMeshData = Mesh;
    return true;
}

const bool UMeshreelGeometryCacheTrack::UpdateMatrixData(const float, const bool,
                                                         int32 &InOutMatrixSampleIndex,
                                                         FMatrix &OutWorldMatrix)
{
    // The transform of the node is part of its vertices.
    if (InOutMatrixSampleIndex == 0)
    {
        return false;
    }
    InOutMatrixSampleIndex = 0;
    OutWorldMatrix = FMatrix::Identity;
    return true;
}

const bool UMeshreelGeometryCacheTrack::UpdateBoundsData(const float Time, const bool bLooping, const bool,
                                                         int32 &InOutBoundsSampleIndex, FBox &OutBounds)
{
    int32 Frame, Next;
    float Weight;
    FindFrames(Time, bLooping, Frame, Next, Weight);
    FScopeLock Lock(&Section);
    if (Frame == InOutBoundsSampleIndex || !Decode(Frame))
    {
        return false;
    }
    InOutBoundsSampleIndex = Frame;
    OutBounds = FBox(Mesh.BoundingBox);
    return true;
}

const FGeometryCacheTrackSampleInfo &UMeshreelGeometryCacheTrack::GetSampleInfo(float Time,
                                                                                const bool bLooping)
{
    int32 Frame, Next;
    float Weight;
    FindFrames(Time, bLooping, Frame, Next, Weight);
    FScopeLock Lock(&Section);
    if (Decode(Frame))
    {
        SampleInfo = FGeometryCacheTrackSampleInfo(Times[Frame], FBox(Mesh.BoundingBox), Mesh.Positions.Num(),
                                                   Mesh.Indices.Num());
    }
    return SampleInfo;
}

UGeometryCache *UMeshreelGeometryCacheComponent::CreateCache(UMeshreelAsset &Asset, UObject *Outer,
                                                             FName Name)
{
    const FMeshreelOpenFilePtr File = Asset.Open();
    if (!File.IsValid())
    {
        return nullptr;
    }
    UGeometryCache *Cache = NewObject<UGeometryCache>(Outer, Name);
    for (uint32 Node = 0; Node < File->Info.nodes; Node++)
    {
        mr_node_info Info = MeshreelSized<mr_node_info>();
        mr_mesh_info MeshInfo = MeshreelSized<mr_mesh_info>();
        if (!FMeshreelLibrary::Ok(mr_reel_node(File->Reel.Get(), Node, &Info), File->Name) ||
            Info.mesh == MR_NONE ||
            !FMeshreelLibrary::Ok(mr_reel_mesh(File->Reel.Get(), Info.mesh, &MeshInfo), File->Name) ||
            MeshInfo.indices == 0)
        {
            continue;
        }
        UMeshreelGeometryCacheTrack *Track = NewObject<UMeshreelGeometryCacheTrack>(Cache);
        if (Track->Setup(&Asset, static_cast<int32>(Node)))
        {
            Track->AddMatrixSample(FMatrix::Identity, 0.0f);
            Cache->AddTrack(Track);
        }
    }
    for (const FMeshreelMaterial &Slot : Asset.Materials)
    {
        Cache->Materials.Add(Slot.Material);
        Cache->MaterialSlotNames.Add(Slot.Name);
    }
    Cache->SetFrameStartEnd(0, static_cast<int32>(FMath::Max(File->Info.frames, 1u)) - 1);
    return Cache;
}

bool UMeshreelGeometryCacheComponent::SetAsset(UMeshreelAsset *Asset)
{
    UGeometryCache *Cache = Asset != nullptr ? CreateCache(*Asset, this, NAME_None) : nullptr;
    return SetGeometryCache(Cache) && Cache != nullptr;
}

FPrimitiveSceneProxy *UMeshreelGeometryCacheComponent::CreateSceneProxy()
{
    return GeometryCache != nullptr ? new FMeshreelGeometryCacheSceneProxy(this) : nullptr;
}

bool FMeshreelTrackProxy::UpdateMeshData(float Time, bool bLooping, int32 &InOutMeshSampleIndex,
                                         FGeometryCacheMeshData &OutMeshData)
{
    UMeshreelGeometryCacheTrack *Own = GetTrack();
    int32 Frame, Next;
    float Weight;
    if (Own == nullptr)
    {
        return false;
    }
    Own->FindFrames(Time, bLooping, Frame, Next, Weight);
    if (Frame == InOutMeshSampleIndex || !Own->GetMeshDataAtSampleIndex(Frame, OutMeshData))
    {
        return false;
    }
    InOutMeshSampleIndex = Frame;
    return true;
}

bool FMeshreelTrackProxy::GetMeshData(int32 SampleIndex, FGeometryCacheMeshData &OutMeshData)
{
    UMeshreelGeometryCacheTrack *Own = GetTrack();
    return Own != nullptr && Own->GetMeshDataAtSampleIndex(SampleIndex, OutMeshData);
}

bool FMeshreelTrackProxy::IsTopologyCompatible(int32 SampleIndexA, int32 SampleIndexB)
{
    UMeshreelGeometryCacheTrack *Own = GetTrack();
    return Own != nullptr && Own->HasSameTopology(SampleIndexA, SampleIndexB);
}

const FVisibilitySample &FMeshreelTrackProxy::GetVisibilitySample(float Time, const bool bLooping) const
{
    UMeshreelGeometryCacheTrack *Own = GetTrack();
    const bool bVisible = Own != nullptr && Own->IsVisibleAt(Time, bLooping);
    return bVisible ? FVisibilitySample::VisibleSample : FVisibilitySample::InvisibleSample;
}

void FMeshreelTrackProxy::FindSampleIndexesFromTime(float Time, bool bLooping, bool, int32 &OutFrameIndex,
                                                    int32 &OutNextFrameIndex, float &InInterpolationFactor)
{
    if (UMeshreelGeometryCacheTrack *Own = GetTrack())
    {
        Own->FindFrames(Time, bLooping, OutFrameIndex, OutNextFrameIndex, InInterpolationFactor);
        if (!Own->HasSameTopology(OutFrameIndex, OutNextFrameIndex))
        {
            // The engine would show the nearer of two frames that differ; meshreel shows the earlier one.
            InInterpolationFactor = 0.0f;
        }
    }
}
