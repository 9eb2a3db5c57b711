// What every player shows: the files of testdata/conformance, as the renderer and the engine's objects have them, for
// tools/conformance/check.py, which compares them with the numbers of the files' sources.
#include "Checks.h"
#include "Components/PoseableMeshComponent.h"
#include "MeshreelClipPlayer.h"
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

std::string VectorOf(const char *Name, const FVector &V) { return NumbersOf(Name, std::vector<double>{V.X, V.Y, V.Z}); }

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
        const FGathered Gathered(*File.Component, FVector(Mesh.Bounds.GetCenter()) - FVector(Distance, 0.0, 0.0));
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

/** Reads the attributes of a node's vertices from the buffers of a batch. */
std::string VerticesOf(const FMeshreelNodeMesh &Mesh, const FMeshBatch &Batch)
{
    const auto &Factory = static_cast<const FGeometryCacheVertexVertexFactory *>(Batch.VertexFactory)->Data;
    const auto *Positions = BytesOf<FVector3f>(Factory.PositionComponent.VertexBuffer);
    const auto *Normals = BytesOf<FPackedNormal>(Factory.TangentBasisComponents[1].VertexBuffer);
    const auto *Uvs = BytesOf<FVector2f>(Factory.TextureCoordinates[0].VertexBuffer);
    const auto *Colors = BytesOf<FColor>(Factory.ColorComponent.VertexBuffer);
    std::vector<float> P, N, T, C;
    for (SIZE_T V = Mesh.FirstVertex; V < Mesh.FirstVertex + Mesh.NumVertices; V++)
    {
        const FVector3f Normal = Normals[V].ToFVector3f();
        P.insert(P.end(), {Positions[V].X, Positions[V].Y, Positions[V].Z});
        N.insert(N.end(), {Normal.X, Normal.Y, Normal.Z});
        T.insert(T.end(), {Uvs[V].X, Uvs[V].Y});
        for (const uint8 Value : {Colors[V].R, Colors[V].G, Colors[V].B, Colors[V].A})
        {
            C.push_back(Value / 255.0f);
        }
    }
    return NumbersOf("positions", P) + NumbersOf("normals", N) + NumbersOf("uvs", T) + NumbersOf("colours", C);
}

std::string NodeOf(const FShownFile &File, const FMeshreelNodeMesh &Mesh)
{
    // From within the node, so that the mesh itself is shown.
    const FGathered Gathered(*File.Component, FVector(Mesh.Bounds.GetCenter()));
    const std::vector<const FMeshBatch *> Batches = Gathered.BatchesOf(Mesh);
    REQUIRE(!Batches.empty());
    const FMatrix &Matrix = File.Component->SceneProxy->GetLocalToWorld();
    std::vector<double> World;
    for (int32 Row = 0; Row < 3; Row++)
    {
        World.insert(World.end(), {Matrix.M[0][Row], Matrix.M[1][Row], Matrix.M[2][Row], Matrix.M[3][Row]});
    }
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
    std::vector<std::string> Materials;
    for (const auto &Each : Counts)
    {
        Materials.push_back("{\"name\": " + Each.first + ", \"count\": " + std::to_string(Each.second) + "}");
    }
    return "{\"path\": " + Quoted(File.Paths[int32(Mesh.Node)]) + ", \"visible\": true" + NumbersOf("world", World) +
           VerticesOf(Mesh, *Batches[0]) + NumbersOf("indices", Indices) + NumbersOf("levels", LevelsOf(File, Mesh)) +
           ", \"materials\": " + ListOf(Materials) + "}";
}

/** A camera of the engine on each node, as the README says: those of a file look along -z, Unreal's along x. */
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
        Out.push_back(Position + (", \"nodes\": " + ListOf(Nodes)) + ", \"cameras\": " + CamerasOf(File) + "}");
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
            for (const FVector &Axis : {FVector(1.0, 0.0, 0.0), FVector(0.0, 0.0, 1.0), FVector(0.0, 1.0, 0.0)})
            {
                const FVector Turned = Turn.RotateVector(Axis);
                Axes.insert(Axes.end(), {Turned.X, Turned.Y, Turned.Z});
            }
            Joints.push_back("{\"name\": " + Quoted(Mesh->BoneNames[Bone].ToString()) +
                             VectorOf("position", Bones.back().GetTranslation()) + NumbersOf("axes", Axes) + "}");
        }
        char Position[64];
        std::snprintf(Position, sizeof Position, "{\"seconds\": %.9g", Player->GetPosition());
        Out.push_back(Position + (", \"joints\": " + ListOf(Joints)) + "}");
    }
    return Out;
}
} // namespace

void TestConformance()
{
    const FInTick InTick;
    const std::string Folder = Golden("../conformance/"), Shown = Arguments().Made + "/conformance.json";
    std::ifstream Lines(Folder + "moments.txt");
    std::vector<std::string> Files;
    for (std::string Line; std::getline(Lines, Line);)
    {
        std::istringstream Words(Line);
        std::string Name;
        std::vector<double> Times;
        Words >> Name;
        for (double Seconds; Words >> Seconds;)
        {
            Times.push_back(Seconds);
        }
        const bool bClip = LoadAsset(Folder + Name)->Info.Frames == 0;
        Files.push_back("\"" + Name + "\": {\"metres\": 0.01, \"moments\": " +
                        ListOf(bClip ? PosesOf(Folder + Name, Times) : MomentsOf(Folder + Name, Times)) + "}");
    }
    REQUIRE(Files.size() > 10);
    std::ofstream Out(Shown);
    Out << "{\"engine\": \"unreal\", \"files\": {";
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
} // namespace Driver
