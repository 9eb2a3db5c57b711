// What every player shows: the files of testdata/conformance, as the renderer and the engine's objects have
// them, for tools/conformance/check.py, which compares them with the numbers of the files' sources.
#include "Checks.h"
#include "Components/PoseableMeshComponent.h"
#include "GeometryCache.h"
#include "MeshreelClipPlayer.h"
#include "MeshreelGeometryCache.h"
#include "MeshreelGeometryCacheProxy.h"
#include "MeshreelSceneProxy.h"

#include <fstream>
#include <map>
#include <sstream>

namespace Driver
{
namespace
{
std::string Quoted(const FString &Text)
{
    std::string Out = "\"";
    for (const char Letter : Text.Utf8())
    {
        Out += Letter == '"' || Letter == '\\' ? std::string{'\\', Letter} : std::string{Letter};
    }
    return Out + "\"";
}

template <typename T> std::string NumbersOf(const char *Name, const std::vector<T> &Values)
{
    std::string Out = std::string(", \"") + Name + "\": [";
    char Text[32];
    for (SIZE_T I = 0; I < Values.size(); I++)
    {
        std::snprintf(Text, sizeof Text, "%s%.9g", I == 0 ? "" : ", ", static_cast<double>(Values[I]));
        Out += Text;
    }
    return Out + "]";
}

std::string VectorOf(const char *Name, const FVector &V)
{
    return NumbersOf(Name, std::vector<double>{V.X, V.Y, V.Z});
}

std::string ListOf(const std::vector<std::string> &Objects)
{
    std::string Out = "[";
    for (SIZE_T I = 0; I < Objects.size(); I++)
    {
        Out += (I == 0 ? "\n" : ",\n") + Objects[I];
    }
    return Out + "]";
}

/** What the renderer gathers for one view. */
struct FGathered
{
    FMeshElementCollector Collector;
    FSceneView View;
    FSceneViewFamily Family;
    FGathered(const UMeshreelComponent &Component, const FVector &Eye)
    {
        View.UnscaledViewRect = {1920, 1080};
        View.ViewMatrices.Origin = Eye;
        TArray<const FSceneView *> Views = {&View};
        if (Component.SceneProxy != nullptr)
        {
            Component.SceneProxy->GetDynamicMeshElements(Views, Family, 1, Collector);
        }
    }
    /** The batches of one node, which is known by its first vertex. */
    std::vector<const FMeshBatch *> BatchesOf(const FMeshreelNodeMesh &Mesh) const
    {
        std::vector<const FMeshBatch *> Out;
        for (const auto &Each : Collector.Added)
        {
            if (Each.second->Elements[0].MinVertexIndex == Mesh.FirstVertex)
            {
                Out.push_back(Each.second);
            }
        }
        return Out;
    }
};

template <typename T> const T *BytesOf(const FVertexBuffer *Buffer)
{
    return reinterpret_cast<const T *>(Buffer->VertexBufferRHI->Bytes.data());
}

/** A file in a world, with a material of its own in each slot, so that batches can be told apart. */
struct FShownFile
{
    explicit FShownFile(const std::string &Path)
    {
        UMeshreelAsset *Asset = LoadAsset(Path);
        Component = World.Add(Asset, [](UMeshreelComponent &Each) { Each.bAutoPlay = false; });
        REQUIRE(World.TickUntil([&] { return Component->GetSurface().IsValid(); }, 0.0f));
        for (const FName &Slot : Component->GetMaterialSlotNames())
        {
            UMaterialInterface *Material = NewObject<UMaterialInterface>();
            Names[Material->GetRenderProxy()] = Slot.ToString();
            Component->SetMaterialByName(Slot, Material);
        }
        Paths = Component->GetNodePaths();
    }
    void Seek(double Seconds)
    {
        Component->Seek(Seconds);
        World.Tick(0.0f);
        World.Tick(0.0f);
        REQUIRE(Component->GetLateFrames() == 0);
    }

    FWorld World;
    UMeshreelComponent *Component;
    std::map<const FMaterialRenderProxy *, FString> Names;
    TArray<FString> Paths;
};

/** The numbers of triangles of a node from near to far. */
std::vector<uint32> LevelsOf(const FShownFile &File, const FMeshreelNodeMesh &Mesh)
{
    std::vector<uint32> Out;
    for (double Distance = 0.0; Distance < 1e9; Distance = Distance * 1.3 + 1.0)
    {
        uint32 Triangles = 0;
        const FGathered Gathered(*File.Component,
                                 FVector(Mesh.Bounds.GetCenter()) - FVector(Distance, 0.0, 0.0));
        for (const FMeshBatch *Batch : Gathered.BatchesOf(Mesh))
        {
            Triangles += Batch->Elements[0].NumPrimitives;
        }
        if (Out.empty() || Out.back() != Triangles)
        {
            Out.push_back(Triangles);
        }
    }
    return Out;
}

/** The vertices of a node. */
struct FVertices
{
    std::vector<float> Positions, Normals, Uvs, Colours;
    void Add(const FVector3f &Position, const FVector3f &Normal, const FVector2f &Uv, const FColor &Colour)
    {
        Positions.insert(Positions.end(), {Position.X, Position.Y, Position.Z});
        Normals.insert(Normals.end(), {Normal.X, Normal.Y, Normal.Z});
        Uvs.insert(Uvs.end(), {Uv.X, Uv.Y});
        for (const uint8 Value : {Colour.R, Colour.G, Colour.B, Colour.A})
        {
            Colours.push_back(Value / 255.0f);
        }
    }
    std::string Text() const
    {
        return NumbersOf("positions", Positions) + NumbersOf("normals", Normals) + NumbersOf("uvs", Uvs) +
               NumbersOf("colours", Colours);
    }
};

/** Reads the attributes of a node's vertices from the buffers of a batch. */
FVertices VerticesOf(const FMeshreelNodeMesh &Mesh, const FMeshBatch &Batch)
{
    const auto &Factory = static_cast<const FGeometryCacheVertexVertexFactory *>(Batch.VertexFactory)->Data;
    const auto *Positions = BytesOf<FVector3f>(Factory.PositionComponent.VertexBuffer);
    const auto *Normals = BytesOf<FPackedNormal>(Factory.TangentBasisComponents[1].VertexBuffer);
    const auto *Uvs = BytesOf<FVector2f>(Factory.TextureCoordinates[0].VertexBuffer);
    const auto *Colours = BytesOf<FColor>(Factory.ColorComponent.VertexBuffer);
    FVertices Out;
    for (SIZE_T V = Mesh.FirstVertex; V < Mesh.FirstVertex + Mesh.NumVertices; V++)
    {
        Out.Add(Positions[V], Normals[V].ToFVector3f(), Uvs[V], Colours[V]);
    }
    return Out;
}

/** The numbers of indices of materials, by name. */
std::string MaterialsOf(const std::map<std::string, uint32> &Counts)
{
    std::vector<std::string> Out;
    for (const auto &Each : Counts)
    {
        Out.push_back("{\"name\": " + Each.first + ", \"count\": " + std::to_string(Each.second) + "}");
    }
    return ", \"materials\": " + ListOf(Out);
}

/** Three rows of a matrix for column vectors. */
std::string WorldOf(const FMatrix &Matrix)
{
    std::vector<double> Out;
    for (int32 Row = 0; Row < 3; Row++)
    {
        Out.insert(Out.end(), {Matrix.M[0][Row], Matrix.M[1][Row], Matrix.M[2][Row], Matrix.M[3][Row]});
    }
    return NumbersOf("world", Out);
}

std::string NodeOf(const FShownFile &File, const FMeshreelNodeMesh &Mesh)
{
    // From within the node, so that the mesh itself is shown.
    const FGathered Gathered(*File.Component, FVector(Mesh.Bounds.GetCenter()));
    const std::vector<const FMeshBatch *> Batches = Gathered.BatchesOf(Mesh);
    REQUIRE(!Batches.empty());
    std::vector<uint32> Indices;
    std::map<std::string, uint32> Counts;
    for (const FMeshBatch *Batch : Batches)
    {
        const FMeshBatchElement &Element = Batch->Elements[0];
        const auto *All = reinterpret_cast<const uint32 *>(Element.IndexBuffer->IndexBufferRHI->Bytes.data());
        REQUIRE(!Batch->ReverseCulling && File.Names.count(Batch->MaterialRenderProxy) == 1);
        Counts[Quoted(File.Names.at(Batch->MaterialRenderProxy))] += 3 * Element.NumPrimitives;
        for (uint32 I = Element.FirstIndex; I < Element.FirstIndex + 3 * Element.NumPrimitives; I++)
        {
            Indices.push_back(All[I] - Mesh.FirstVertex);
        }
    }
    return "{\"path\": " + Quoted(File.Paths[int32(Mesh.Node)]) + ", \"visible\": true" +
           WorldOf(File.Component->SceneProxy->GetLocalToWorld()) + VerticesOf(Mesh, *Batches[0]).Text() +
           NumbersOf("indices", Indices) + NumbersOf("levels", LevelsOf(File, Mesh)) + MaterialsOf(Counts) +
           "}";
}

/** A camera of the engine on each node, as the README says: those of a file look along -z, Unreal's along x.
 */
std::string CamerasOf(const FShownFile &File)
{
    const double Half = std::sqrt(0.5);
    const FTransform Yaw(FQuat(0.0, 0.0, -Half, Half), FVector::ZeroVector, FVector::OneVector);
    std::vector<std::string> Out;
    for (int32 Node = 0; Node < File.Paths.Num(); Node++)
    {
        FTransform Transform;
        REQUIRE(File.Component->GetNodeTransform(Node, Transform));
        const FTransform Camera = Yaw * Transform;
        const FQuat Turn = Camera.GetRotation();
        Out.push_back("{\"path\": " + Quoted(File.Paths[Node]) + VectorOf("eye", Camera.GetTranslation()) +
                      VectorOf("forward", Turn.RotateVector(FVector(1.0, 0.0, 0.0))) +
                      VectorOf("right", Turn.RotateVector(FVector(0.0, 1.0, 0.0))) +
                      VectorOf("up", Turn.RotateVector(FVector(0.0, 0.0, 1.0))) + "}");
    }
    return ListOf(Out);
}

/** `{"seconds": …` of each moment, closed. */
std::vector<std::string> MomentsOf(const std::string &Path, const std::vector<double> &Times)
{
    std::vector<std::string> Out;
    FShownFile File(Path);
    for (const double Seconds : Times)
    {
        File.Seek(Seconds);
        std::vector<std::string> Nodes;
        for (const FMeshreelNodeMesh &Mesh : File.Component->GetSurface()->Nodes)
        {
            Nodes.push_back(NodeOf(File, Mesh));
        }
        char Position[64];
        std::snprintf(Position, sizeof Position, "{\"seconds\": %.9g", File.Component->GetPosition());
        Out.push_back(Position + (", \"nodes\": " + ListOf(Nodes)) + ", \"cameras\": " + CamerasOf(File) +
                      "}");
    }
    return Out;
}

/** The same of a clip, on the bones of a poseable mesh. */
std::vector<std::string> PosesOf(const std::string &Path, const std::vector<double> &Times)
{
    std::vector<std::string> Out;
    FWorld World;
    AActor *Actor = NewObject<AActor>(World.World);
    UPoseableMeshComponent *Mesh = NewObject<UPoseableMeshComponent>(Actor);
    UMeshreelClipPlayer *Player = NewObject<UMeshreelClipPlayer>(Actor);
    Player->Asset = LoadAsset(Path);
    const FMeshreelOpenFilePtr File = Player->Asset->Open();
    FMeshreelClip Skeleton;
    REQUIRE(Skeleton.Open(File->Reel.Get(), 0, Player->Asset->GetAxes(File->Info), File->Name));
    Mesh->BoneNames = Skeleton.GetJointNames();
    Mesh->BoneSpaceTransforms.SetNum(Mesh->BoneNames.Num());
    Player->bLoop = false;
    REQUIRE(Player->Play(NAME_None, 0.0));
    for (const double Seconds : Times)
    {
        Player->Seek(Seconds);
        std::vector<std::string> Joints;
        std::vector<FTransform> Bones;
        for (int32 Bone = 0; Bone < Mesh->BoneNames.Num(); Bone++)
        {
            const int32 Parent = Skeleton.GetParents()[Bone];
            const FTransform &Local = Mesh->BoneSpaceTransforms[Bone];
            Bones.push_back(Parent == INDEX_NONE ? Local : Local * Bones[static_cast<SIZE_T>(Parent)]);
            const FQuat Turn = Bones.back().GetRotation();
            // The file's x, y and z are Unreal's x, z and y.
            std::vector<double> Axes;
            for (const FVector &Axis :
                 {FVector(1.0, 0.0, 0.0), FVector(0.0, 0.0, 1.0), FVector(0.0, 1.0, 0.0)})
            {
                const FVector Turned = Turn.RotateVector(Axis);
                Axes.insert(Axes.end(), {Turned.X, Turned.Y, Turned.Z});
            }
            Joints.push_back("{\"name\": " + Quoted(Mesh->BoneNames[Bone].ToString()) +
                             VectorOf("position", Bones.back().GetTranslation()) + NumbersOf("axes", Axes) +
                             "}");
        }
        char Position[64];
        std::snprintf(Position, sizeof Position, "{\"seconds\": %.9g", Player->GetPosition());
        Out.push_back(Position + (", \"joints\": " + ListOf(Joints)) + "}");
    }
    return Out;
}
/** The weighted mean of two vectors. */
template <typename T> T Mean(const T &A, const T &B, float Weight)
{
    return A * (1.0f - Weight) + B * Weight;
}

/** What the engine's renderer of geometry caches shows of a track; empty if it is hidden. */
std::string TrackOf(const UGeometryCache &Cache, FGeomCacheTrackProxy &Proxy, float Seconds)
{
    auto &Track = *Cast<UMeshreelGeometryCacheTrack>(Proxy.Track);
    int32 Frame = 0, Next = 0, MatrixSample = -1;
    float Weight = 0.0f;
    FMatrix World;
    FGeometryCacheMeshData A, B;
    if (!Proxy.GetVisibilitySample(Seconds, false).bVisibilityState)
    {
        return "";
    }
    Proxy.FindSampleIndexesFromTime(Seconds, false, false, Frame, Next, Weight);
    if (!Proxy.IsTopologyCompatible(Frame, Next))
    {
        // Frames between which the engine cannot interpolate: it shows the nearer one.
        Frame = Next = Weight < 0.5f ? Frame : Next;
    }
    REQUIRE(Proxy.GetMeshData(Frame, A) && Proxy.GetMeshData(Next, B) &&
            A.Positions.Num() == B.Positions.Num());
    REQUIRE(Track.UpdateMatrixData(Seconds, false, MatrixSample, World));
    FVertices Vertices;
    for (int32 V = 0; V < A.Positions.Num(); V++)
    {
        const FVector2f Uv(A.TextureCoordinates[V].X * (1.0f - Weight) + B.TextureCoordinates[V].X * Weight,
                           A.TextureCoordinates[V].Y * (1.0f - Weight) + B.TextureCoordinates[V].Y * Weight);
        Vertices.Add(Mean(A.Positions[V], B.Positions[V], Weight),
                     Mean(A.TangentsZ[V].ToFVector3f(), B.TangentsZ[V].ToFVector3f(), Weight), Uv,
                     A.Colors[V]);
    }
    std::vector<uint32> Indices;
    std::map<std::string, uint32> Counts;
    for (const FGeometryCacheMeshBatchInfo &Batch : A.BatchesInfo)
    {
        const uint32 *First = A.Indices.GetData() + Batch.StartIndex, Count = 3 * Batch.NumTriangles;
        Indices.insert(Indices.end(), First, First + Count);
        Counts[Quoted(Cache.MaterialSlotNames[int32(Batch.MaterialIndex)].ToString())] += Count;
    }
    const FString Path = FMeshreelLibrary::Text(
        [&](char *Text, size_t Capacity, size_t *Length)
        {
            const mr_reel *Reel = Track.Asset->Open()->Reel.Get();
            return mr_reel_node_path(Reel, uint32(Track.Node), Text, Capacity, Length);
        });
    return "{\"path\": " + Quoted(Path) + ", \"visible\": true" + WorldOf(World) + Vertices.Text() +
           NumbersOf("indices", Indices) + MaterialsOf(Counts) + "}";
}

/** The moments of a geometry cache. */
std::vector<std::string> SamplesOf(const std::string &Path, const std::vector<double> &Times)
{
    std::vector<std::string> Out;
    FWorld World;
    auto *Component = NewObject<UMeshreelGeometryCacheComponent>();
    Component->RegisterComponentWithWorld(World.World);
    REQUIRE(Component->SetAsset(LoadAsset(Path)));
    World.Tick();
    const auto &Proxy = static_cast<const FGeometryCacheSceneProxy &>(*Component->SceneProxy);
    for (const double Seconds : Times)
    {
        std::vector<std::string> Nodes;
        for (const auto &Each : Proxy.Tracks)
        {
            // A clock that rounds otherwise than the file does.
            const float Rounded = std::nextafter(float(Seconds), -1.0f);
            const std::string Node = TrackOf(*Component->GeometryCache, *Each, Rounded);
            if (!Node.empty())
            {
                Nodes.push_back(Node);
            }
        }
        char Position[64];
        std::snprintf(Position, sizeof Position, "{\"seconds\": %.9g", Seconds);
        Out.push_back(Position + (", \"nodes\": " + ListOf(Nodes)) + "}");
    }
    return Out;
}

struct FFileToShow
{
    std::string Name;
    std::vector<double> Times;
    bool bClip;
};

std::vector<FFileToShow> FilesToShow(const std::string &Folder)
{
    std::vector<FFileToShow> Out;
    std::ifstream Lines(Folder + "moments.txt");
    for (std::string Line; std::getline(Lines, Line);)
    {
        std::istringstream Words(Line);
        FFileToShow File;
        Words >> File.Name;
        for (double Seconds; Words >> Seconds;)
        {
            File.Times.push_back(Seconds);
        }
        File.bClip = LoadAsset(Folder + File.Name)->Info.Frames == 0;
        Out.push_back(File);
    }
    REQUIRE(Out.size() > 10);
    return Out;
}

/** Writes what is shown, and compares it. `Engine` is a name of engines.json. */
void Compare(const std::string &Engine, const std::vector<std::string> &Files)
{
    const std::string Shown = Arguments().Made + "/" + Engine + ".json";
    std::ofstream Out(Shown);
    Out << "{\"engine\": \"" << Engine << "\", \"files\": {";
    for (SIZE_T I = 0; I < Files.size(); I++)
    {
        Out << (I == 0 ? "\n" : ",\n") << Files[I];
    }
    Out << "}}\n";
    Out.close();
    REQUIRE(Out.good());
    if (std::system("python3 -c '' 2>/dev/null") != 0)
    {
        std::printf("  skipped: what is shown is not compared without python3\n");
        return;
    }
    const std::string Check = "python3 '" + Golden("../../tools/conformance/check.py") + "' '" + Shown + "'";
    REQUIRE(std::system(Check.c_str()) == 0);
}
} // namespace

void TestConformance()
{
    const FInTick InTick;
    const std::string Folder = Golden("../conformance/");
    std::vector<std::string> Players, Caches;
    const auto Text = [](const FFileToShow &File, const std::vector<std::string> &Moments)
    { return "\"" + File.Name + "\": {\"metres\": 0.01, \"moments\": " + ListOf(Moments) + "}"; };
    for (const FFileToShow &File : FilesToShow(Folder))
    {
        const std::string Path = Folder + File.Name;
        Players.push_back(Text(File, File.bClip ? PosesOf(Path, File.Times) : MomentsOf(Path, File.Times)));
        if (!File.bClip)
        {
            Caches.push_back(Text(File, SamplesOf(Path, File.Times)));
        }
    }
    Compare("unreal", Players);
    Compare("unreal_cache", Caches);
}
} // namespace Driver
