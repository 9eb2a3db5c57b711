// Geometry caches: tracks, their renderer's side, and the component that Sequencer animates.
#include "Checks.h"
#include "GeometryCache.h"
#include "MeshreelGeometryCache.h"
#include "MeshreelGeometryCacheProxy.h"

namespace Driver
{
namespace
{
void CheckTrack(UMeshreelGeometryCacheTrack &Track, FReference &Reference, bool bFluid, int32 &Hidden)
{
    UMeshreelAsset &Asset = *Track.Asset;
    const uint32 Node = uint32(Track.Node);
    REQUIRE(Track.GetNumFrames() == int32(Reference.Info.frames));
    FMeshreelReader Reader;
    FMeshreelSurface Expected;
    Reader.Reset(Asset.GetReading(Reference.Reel, false));
    double Last = 0.0, Second = 0.0;
    mr_reel_time(Reference.Reel, Reference.Info.frames - 1, &Last);
    mr_reel_time(Reference.Reel, 1, &Second);
    REQUIRE(Near(double(Track.GetMaxSampleTime()), Last - Reference.Info.start, 1e-5) &&
            Track.GetDuration() >= Track.GetMaxSampleTime());
    for (const uint32 Number : {0u, Reference.Info.frames - 1, Reference.Info.frames / 2, 1u})
    {
        FGeometryCacheMeshData Data;
        double Time = 0.0;
        mr_reel_time(Reference.Reel, Number, &Time);
        const float Seconds = float(Time - Reference.Info.start);
        REQUIRE(Reader.ReadNode(Reference.Decode(Number), Node, TEXT("reference"), Expected));
        std::vector<uint8> Shown(Reference.Info.nodes);
        REQUIRE(mr_frame_visible(Reference.Frame, Shown.data(), Shown.size(), nullptr) == MR_STATUS_OK);
        const bool bTriangles = Expected.Nodes.Num() == 1; // A fluid may have none.
        REQUIRE(Track.IsVisibleAt(Seconds, false) == (Shown[Node] != 0 && bTriangles) &&
                (bTriangles || bFluid));
        if (!bTriangles)
        {
            continue;
        }
        Hidden += Shown[Node] != 0 ? 0 : 1;
        REQUIRE(Track.GetMeshDataAtSampleIndex(int32(Number), Data));
        REQUIRE(Data.Positions == Expected.Positions && Data.Indices == Expected.Indices &&
                Data.TangentsZ == Expected.TangentsZ);
        REQUIRE(Data.TangentsX == Expected.TangentsX &&
                Data.TextureCoordinates == Expected.TextureCoordinates && Data.Colors == Expected.Colors);
        const TArray<FMeshreelSection> &Sections = Expected.Nodes[0].Levels[0].Sections;
        REQUIRE(Data.BatchesInfo.Num() == Sections.Num() && Data.BoundingBox == Expected.Nodes[0].Bounds);
        for (int32 Batch = 0; Batch < Sections.Num(); Batch++)
        {
            REQUIRE(Data.BatchesInfo[Batch].StartIndex == Sections[Batch].FirstIndex &&
                    Data.BatchesInfo[Batch].NumTriangles == Sections[Batch].NumTriangles);
        }
        FGeometryCacheMeshData AtTime, *Updated = nullptr;
        int32 Sample = -1, Bounds = -1;
        FBox Box;
        REQUIRE(Track.GetMeshDataAtTime(Seconds, AtTime) && AtTime.Positions == Data.Positions);
        REQUIRE(Track.UpdateMeshData(Seconds, false, Sample, Updated) && Sample == int32(Number) &&
                Updated->Positions == Data.Positions);
        REQUIRE(!Track.UpdateMeshData(Seconds, false, Sample, Updated)); // Nothing is new.
        REQUIRE(Track.UpdateBoundsData(Seconds, false, false, Bounds, Box) && Box == FBox(Data.BoundingBox));
        const FGeometryCacheTrackSampleInfo &Info = Track.GetSampleInfo(Seconds, false);
        REQUIRE(Info.NumVertices == Data.Positions.Num() && Info.NumIndices == Data.Indices.Num() &&
                Info.BoundingBox == Box);
    }
    // Between two frames; beyond the ends; in a loop.
    int32 Frame = 0, Next = 0;
    float Weight = 0.0f;
    const float Between = float(0.25 * (Second - Reference.Info.start));
    Track.FindFrames(Between, false, Frame, Next, Weight);
    REQUIRE(Frame == 0 && Next == 1 && Near(double(Weight), 0.25, 1e-4));
    Track.FindFrames(1e6f, false, Frame, Next, Weight);
    REQUIRE(Frame == Track.GetNumFrames() - 1 && Next == Frame && Weight == 0.0f);
    Track.FindFrames(-1.0f, false, Frame, Next, Weight);
    REQUIRE(Frame == 0 && Weight == 0.0f);
    Track.FindFrames(Track.GetDuration() + Between, true, Frame, Next, Weight);
    REQUIRE(Frame == 0 && std::fabs(Weight - 0.25f) < 1e-2f);
    Track.FindFrames(-0.001f, true, Frame, Next, Weight);
    REQUIRE(Frame == Track.GetNumFrames() - 1);
    REQUIRE(Track.HasSameTopology(0, 0) && Track.HasSameTopology(0, 1) == !bFluid);
    // Frames that are not there leave the last good one.
    FGeometryCacheMeshData Data;
    REQUIRE(Track.GetMeshDataAtSampleIndex(0, Data) && !Track.GetMeshDataAtSampleIndex(1 << 20, Data) &&
            !Track.GetMeshDataAtSampleIndex(-1, Data));
    REQUIRE(Data.Positions.Num() > 0 || bFluid);
    int32 Matrix = -1;
    FMatrix World;
    REQUIRE(Track.UpdateMatrixData(0.0f, false, Matrix, World) && World.M[3][3] == 1.0 &&
            !Track.UpdateMatrixData(0.0f, false, Matrix, World));
}

void CheckProxy(UMeshreelGeometryCacheComponent &Component)
{
    REQUIRE(Component.SceneProxy != nullptr);
    auto &Proxy = static_cast<FGeometryCacheSceneProxy &>(*Component.SceneProxy);
    REQUIRE(int32(Proxy.Tracks.size()) == Component.GeometryCache->Tracks.Num());
    for (const auto &Track : Proxy.Tracks)
    {
        auto &Own = *Cast<UMeshreelGeometryCacheTrack>(Track->Track);
        FGeometryCacheMeshData Data, Direct;
        int32 Sample = -1, Frame = 0, Next = 0;
        float Weight = 0.0f;
        Track->FindSampleIndexesFromTime(0.3f, true, false, Frame, Next, Weight);
        int32 Frame2 = 0, Next2 = 0;
        float Weight2 = 0.0f;
        Own.FindFrames(0.3f, true, Frame2, Next2, Weight2);
        const bool bSame = Own.HasSameTopology(Frame, Next);
        REQUIRE(Frame == Frame2 && Next == Next2 && Weight == (bSame ? Weight2 : 0.0f));
        REQUIRE(Track->IsTopologyCompatible(Frame, Next) == bSame);
        REQUIRE(Track->GetVisibilitySample(0.3f, true).bVisibilityState == Own.IsVisibleAt(0.3f, true));
        REQUIRE(Track->UpdateMeshData(0.3f, true, Sample, Data) && Sample == Frame &&
                !Track->UpdateMeshData(0.3f, true, Sample, Data));
        REQUIRE(Track->GetMeshData(Next, Data) && Own.GetMeshDataAtSampleIndex(Next, Direct) &&
                Data.Positions == Direct.Positions);
    }
    FMeshreelTrackProxy Empty(ERHIFeatureLevel::SM5);
    FGeometryCacheMeshData Data;
    int32 Sample = -1;
    REQUIRE(!Empty.UpdateMeshData(0.0f, false, Sample, Data) && !Empty.GetMeshData(0, Data) &&
            !Empty.IsTopologyCompatible(0, 1));
    REQUIRE(!Empty.GetVisibilitySample(0.0f, false).bVisibilityState);
}
} // namespace

void TestCaches()
{
    int32 Tracks = 0, Hidden = 0;
    for (const std::string &Path : {Golden("v0/flag_small.reel"), Golden("v0/wall_fast.reel"),
                                    Golden("v0/robot_small.reel"), Golden("v0/everything_lz4.reel"),
                                    Arguments().Made + "/fluid.reel", Arguments().Made + "/materials.reel"})
    {
        FReference Reference(ReadFile(Path));
        UMeshreelAsset *Asset = LoadAsset(Path);
        UGeometryCache *Cache = UMeshreelGeometryCacheComponent::CreateCache(*Asset, nullptr, TEXT("Cache"));
        REQUIRE(Cache != nullptr && Cache->EndFrame == int32(Reference.Info.frames) - 1 &&
                Cache->Materials.Num() == Asset->Materials.Num());
        for (const TObjectPtr<UGeometryCacheTrack> &Track : Cache->Tracks)
        {
            auto &Own = *Cast<UMeshreelGeometryCacheTrack>(Track.Get());
            mr_node_info Node = MeshreelSized<mr_node_info>();
            mr_mesh_info Mesh = MeshreelSized<mr_mesh_info>();
            REQUIRE(mr_reel_node(Reference.Reel, uint32(Own.Node), &Node) == MR_STATUS_OK &&
                    mr_reel_mesh(Reference.Reel, Node.mesh, &Mesh) == MR_STATUS_OK);
            CheckTrack(Own, Reference, Mesh.method == MR_METHOD_FLUID, Hidden);
            Own.PostLoad(); // As after loading from disk.
            REQUIRE(Own.GetNumFrames() == int32(Reference.Info.frames));
            Tracks++;
        }
        FWorld World;
        UMeshreelGeometryCacheComponent *Component = NewObject<UMeshreelGeometryCacheComponent>();
        Component->RegisterComponentWithWorld(World.World);
        World.Tick();
        REQUIRE(Component->SceneProxy == nullptr);
        REQUIRE(Component->SetAsset(Asset));
        World.Tick();
        CheckProxy(*Component);
        REQUIRE(!Component->SetAsset(nullptr));
        World.Tick();
        REQUIRE(Component->SceneProxy == nullptr);
        Component->UnregisterComponent();
    }
    std::printf("  %d tracks; %d of the frames hide theirs\n", Tracks, Hidden);
    REQUIRE(Hidden > 0);
    // A node that is not there or has no mesh, no asset, a file that cannot be opened.
    UMeshreelGeometryCacheTrack *Track = NewObject<UMeshreelGeometryCacheTrack>();
    FGeometryCacheMeshData Data;
    REQUIRE(!Track->Setup(nullptr, 0) && !Track->GetMeshDataAtTime(0.0f, Data) &&
            Track->GetNumFrames() == 0 && Track->GetMaxSampleTime() == 0.0f);
    REQUIRE(!Track->Setup(LoadAsset(Golden("v0/flag_small.reel")), 1000));
    RequireErrors(1, "flag_small");
    REQUIRE(!Track->Setup(LoadAsset(Golden("v0/flag_small.reel")), -1));
    UMeshreelAsset *Missing = NewObject<UMeshreelAsset>();
    Missing->SetPath(TEXT("/nowhere.reel"));
    REQUIRE(UMeshreelGeometryCacheComponent::CreateCache(*Missing, nullptr, NAME_None) == nullptr);
    RequireErrors(2, "/nowhere.reel");
    // Two threads at once, as the game's and the renderer's.
    UMeshreelAsset *Flag = LoadAsset(Golden("v0/flag_small.reel"));
    UMeshreelGeometryCacheTrack *Both = NewObject<UMeshreelGeometryCacheTrack>();
    REQUIRE(Both->Setup(Flag, int32(Flag->GetReading(Flag->Open()->Reel.Get(), false).Nodes[0])));
    ParallelFor(
        2,
        [Both](int32 Index)
        {
            FGeometryCacheMeshData Mine;
            for (int32 Round = 0; Round < 20; Round++)
            {
                REQUIRE(Both->GetMeshDataAtSampleIndex((Round * (Index + 1)) % Both->GetNumFrames(), Mine));
            }
        });
}
} // namespace Driver
