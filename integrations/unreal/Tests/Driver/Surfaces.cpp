// Vertices, triangles, materials and levels of detail, against the decoder of the C interface.
#include "Checks.h"

#include <array>

namespace Driver
{
namespace
{
/** The axes as the README states them, written down independently of the plugin's. */
FVector Convert(const double *V, double Scale, bool bZUp)
{
    return bZUp ? FVector(V[0], -V[1], V[2]) * Scale : FVector(V[0], V[2], V[1]) * Scale;
}

FVector Apply(const double *World, const float *P, double W)
{
    double Out[3];
    for (int R = 0; R < 3; R++)
    {
        Out[R] =
            World[4 * R] * P[0] + World[4 * R + 1] * P[1] + World[4 * R + 2] * P[2] + World[4 * R + 3] * W;
    }
    return FVector(Out[0], Out[1], Out[2]);
}

double Determinant(const double *M)
{
    return M[0] * (M[5] * M[10] - M[6] * M[9]) - M[1] * (M[4] * M[10] - M[6] * M[8]) +
           M[2] * (M[4] * M[9] - M[5] * M[8]);
}

/** The inverse transpose, times a vector. */
FVector ApplyNormal(const double *M, const float *N)
{
    const FVector C0(M[0], M[4], M[8]), C1(M[1], M[5], M[9]), C2(M[2], M[6], M[10]);
    const FVector Out = FVector::CrossProduct(C1, C2) * double(N[0]) +
                        FVector::CrossProduct(C2, C0) * double(N[1]) +
                        FVector::CrossProduct(C0, C1) * double(N[2]);
    return Out * (Determinant(M) < 0 ? -1.0 : 1.0);
}

double Angle(const FVector &A, const FPackedNormal &B)
{
    const FVector Other(B.ToFVector3f());
    const double Lengths = A.Length() * Other.Length();
    return Lengths > 0 ? std::acos(FMath::Clamp(FVector::DotProduct(A, Other) / Lengths, -1.0, 1.0)) : 0.0;
}

struct FCounts
{
    int64 Vertices = 0, Triangles = 0, Normals = 0, Tangents = 0, Uvs = 0, Colours = 0, Materials = 0,
          Levels = 0, Outwards = 0, Mirrored = 0, Frames = 0, Moving = 0;
};

/** Corners of triangles, turned so that the smallest is first: the order around the triangle stays. */
std::multiset<std::array<uint32, 3>> Triangles(const uint32 *Indices, uint32 Count)
{
    std::multiset<std::array<uint32, 3>> Out;
    for (uint32 I = 0; I + 2 < Count; I += 3)
    {
        std::array<uint32, 3> T{Indices[I], Indices[I + 1], Indices[I + 2]};
        std::rotate(T.begin(), std::min_element(T.begin(), T.end()), T.end());
        Out.insert(T);
    }
    return Out;
}

void CheckVertices(const FMeshreelSurface &Surface, const FMeshreelNodeMesh &Mesh, const mr_frame *Frame,
                   double Scale, bool bZUp, FCounts &Out)
{
    mr_mesh_state State = MeshreelSized<mr_mesh_state>();
    double World[12];
    REQUIRE(mr_frame_mesh(Frame, Mesh.Node, &State) == MR_STATUS_OK &&
            mr_frame_world(Frame, Mesh.Node, World) == MR_STATUS_OK);
    const size_t Count = State.vertices;
    REQUIRE(Mesh.NumVertices == Count);
    std::vector<float> World3(3 * Count), Values(4 * Count), More(4 * Count);
    std::vector<uint32> Indices(State.indices);
    REQUIRE(mr_frame_collision(Frame, Mesh.Node, World3.data(), Count, Indices.data(), Indices.size()) ==
            MR_STATUS_OK);
    const bool bMirrored = Determinant(World) < 0;
    Out.Mirrored += bMirrored ? 1 : 0;
    for (size_t V = 0; V < Count; V++)
    {
        const double P[3] = {World3[3 * V], World3[3 * V + 1], World3[3 * V + 2]};
        const FVector Expected = Convert(P, Scale, bZUp);
        const FVector3f Is = Surface.Positions[int32(Mesh.FirstVertex + V)];
        REQUIRE(Near(Is.X, Expected.X, 2e-6 * Scale) && Near(Is.Y, Expected.Y, 2e-6 * Scale) &&
                Near(Is.Z, Expected.Z, 2e-6 * Scale));
        REQUIRE(Is.X >= Mesh.Bounds.Min.X && Is.Z <= Mesh.Bounds.Max.Z);
    }
    Out.Vertices += int64(Count);
    if (State.normals != 0)
    {
        REQUIRE(mr_frame_floats(Frame, Mesh.Node, MR_CHANNEL_NORMAL, 0, Values.data(), 3 * Count) ==
                MR_STATUS_OK);
        for (size_t V = 0; V < Count; V++)
        {
            const FVector N = ApplyNormal(World, Values.data() + 3 * V);
            const double Turned[3] = {N.X, N.Y, N.Z};
            REQUIRE(Angle(Convert(Turned, 1.0, bZUp), Surface.TangentsZ[int32(Mesh.FirstVertex + V)]) <
                    0.012);
        }
        Out.Normals += int64(Count);
    }
    if (State.tangents != 0)
    {
        REQUIRE(mr_frame_floats(Frame, Mesh.Node, MR_CHANNEL_TANGENT, 0, More.data(), 4 * Count) ==
                MR_STATUS_OK);
        for (size_t V = 0; V < Count; V++)
        {
            const FVector T = Apply(World, More.data() + 4 * V, 0.0);
            const double Turned[3] = {T.X, T.Y, T.Z};
            const int32 Index = int32(Mesh.FirstVertex + V);
            REQUIRE(Angle(Convert(Turned, 1.0, bZUp), Surface.TangentsX[Index]) < 0.012);
            // The bitangent itself, in the file's world, must be where the engine's cross product puts it.
            const FVector N = ApplyNormal(World, Values.data() + 3 * V);
            const FVector B =
                FVector::CrossProduct(N, T) * double(More[4 * V + 3]) * (bMirrored ? -1.0 : 1.0);
            const double Bitangent[3] = {B.X, B.Y, B.Z};
            const FVector Engine = FVector::CrossProduct(FVector(Surface.TangentsZ[Index].ToFVector3f()),
                                                         FVector(Surface.TangentsX[Index].ToFVector3f())) *
                                   (Surface.TangentsZ[Index].W > 0 ? 1.0 : -1.0);
            REQUIRE(FVector::DotProduct(Engine, Convert(Bitangent, 1.0, bZUp)) >= 0.0);
        }
        Out.Tangents += int64(Count);
    }
}

void CheckAttributes(const FMeshreelSurface &Surface, const FMeshreelNodeMesh &Mesh, const mr_frame *Frame,
                     bool bFlipV, FCounts &Out)
{
    mr_mesh_state State = MeshreelSized<mr_mesh_state>();
    REQUIRE(mr_frame_mesh(Frame, Mesh.Node, &State) == MR_STATUS_OK);
    const size_t Count = State.vertices;
    std::vector<float> Values(4 * Count);
    if (State.uvs != 0)
    {
        REQUIRE(mr_frame_floats(Frame, Mesh.Node, MR_CHANNEL_UV, 0, Values.data(), 2 * Count) ==
                MR_STATUS_OK);
        for (size_t V = 0; V < Count; V++)
        {
            const FVector2f Is = Surface.TextureCoordinates[int32(Mesh.FirstVertex + V)];
            REQUIRE(Is.X == Values[2 * V] && Is.Y == (bFlipV ? 1.0f - Values[2 * V + 1] : Values[2 * V + 1]));
        }
        Out.Uvs += int64(Count);
    }
    if (State.colours != 0)
    {
        REQUIRE(mr_frame_floats(Frame, Mesh.Node, MR_CHANNEL_COLOUR, 0, Values.data(), 4 * Count) ==
                MR_STATUS_OK);
        for (size_t V = 0; V < Count; V++)
        {
            const FColor Is = Surface.Colors[int32(Mesh.FirstVertex + V)];
            const uint8 Bytes[4] = {Is.R, Is.G, Is.B, Is.A};
            for (size_t C = 0; C < 4; C++)
            {
                REQUIRE(std::fabs(Bytes[C] - 255.0 * FMath::Clamp(double(Values[4 * V + C]), 0.0, 1.0)) <=
                        0.51);
            }
        }
        Out.Colours += int64(Count);
    }
}

/**
 * Level 0 consists of the file's triangles, in their order around; normals are on the side that is outside.
 */
void CheckTriangles(const FMeshreelSurface &Surface, const FMeshreelNodeMesh &Mesh, const mr_frame *Frame,
                    bool bRealNormals, FCounts &Out)
{
    mr_mesh_state State = MeshreelSized<mr_mesh_state>();
    double World[12];
    REQUIRE(mr_frame_mesh(Frame, Mesh.Node, &State) == MR_STATUS_OK &&
            mr_frame_world(Frame, Mesh.Node, World) == MR_STATUS_OK);
    std::vector<uint32> Indices(State.indices), Own;
    REQUIRE(mr_frame_indices(Frame, Mesh.Node, Indices.data(), Indices.size(), nullptr) == MR_STATUS_OK);
    const bool bMirrored = Determinant(World) < 0;
    const FMeshreelLevel &Level = Mesh.Levels[0];
    REQUIRE(Level.NumIndices == State.indices && Level.Error == 0.0f);
    for (uint32 I = 0; I < Level.NumIndices; I++)
    {
        Own.push_back(Surface.Indices[int32(Level.FirstIndex + I)] - Mesh.FirstVertex);
    }
    for (size_t I = 0; bMirrored && I + 2 < Own.size(); I += 3)
    {
        std::swap(Own[I + 1], Own[I + 2]);
    }
    REQUIRE(Triangles(Own.data(), uint32(Own.size())) == Triangles(Indices.data(), State.indices));
    int64 Agree = 0;
    for (uint32 I = 0; I + 2 < Level.NumIndices; I += 3)
    {
        const uint32 *T = Surface.Indices.GetData() + Level.FirstIndex + I;
        const FVector A(Surface.Positions[int32(T[0])]);
        // Counter-clockwise from outside in left-handed axes: this product points outwards.
        const FVector Outwards = FVector::CrossProduct(FVector(Surface.Positions[int32(T[2])]) - A,
                                                       FVector(Surface.Positions[int32(T[1])]) - A);
        const FVector Normal(Surface.TangentsZ[int32(T[0])].ToFVector3f());
        Agree += FVector::DotProduct(Outwards, Normal) >= 0.0 ? 1 : 0;
    }
    // The file `everything` has arbitrary numbers for normals.
    REQUIRE(!bRealNormals || Agree * 10 >= int64(Level.NumIndices / 3) * 9);
    Out.Outwards += Agree;
    Out.Triangles += State.indices / 3;
    // Materials: the visible ranges of each.
    uint32 Sections = 0;
    for (uint32 Material = 0; Material < FMath::Max(State.materials, 1u); Material++)
    {
        size_t Count = 0;
        const uint32 Asked = State.materials == 0 ? MR_NONE : Material;
        REQUIRE(mr_frame_visible_ranges(Frame, Mesh.Node, Asked, nullptr, 0, &Count) == MR_STATUS_OK);
        std::vector<mr_range> Ranges(Count);
        if (Count > 0)
        {
            REQUIRE(mr_frame_visible_ranges(Frame, Mesh.Node, Asked, Ranges.data(), Count, &Count) ==
                    MR_STATUS_OK);
        }
        for (const mr_range &Range : Ranges)
        {
            if (Range.count > 0)
            {
                const FMeshreelSection &Section = Level.Sections[int32(Sections++)];
                REQUIRE(Section.FirstIndex == Level.FirstIndex + Range.first &&
                        Section.NumTriangles == Range.count / 3);
            }
        }
    }
    REQUIRE(int32(Sections) == Level.Sections.Num());
    Out.Materials += Sections;
}

/** The other levels of detail are the file's. */
void CheckLevels(const FMeshreelSurface &Surface, const FMeshreelNodeMesh &Mesh, const mr_frame *Frame,
                 FCounts &Out)
{
    mr_mesh_state State = MeshreelSized<mr_mesh_state>();
    REQUIRE(mr_frame_mesh(Frame, Mesh.Node, &State) == MR_STATUS_OK);
    REQUIRE(Mesh.Levels.Num() == int32(FMath::Max(State.lods, 1u)));
    for (uint32 Number = 1; Number < State.lods; Number++)
    {
        mr_lod_info Info = MeshreelSized<mr_lod_info>();
        REQUIRE(mr_frame_lod(Frame, Mesh.Node, Number, &Info) == MR_STATUS_OK);
        std::vector<uint32> Lod(Info.indices), Ours;
        REQUIRE(mr_frame_lod_indices(Frame, Mesh.Node, Number, Lod.data(), Lod.size(), nullptr) ==
                MR_STATUS_OK);
        const FMeshreelLevel &Coarse = Mesh.Levels[int32(Number)];
        uint32 Covered = 0;
        for (const FMeshreelSection &Section : Coarse.Sections)
        {
            Covered += 3 * Section.NumTriangles;
        }
        REQUIRE(Coarse.NumIndices == Info.indices && Covered == Info.indices && Coarse.Error > 0.0f);
        for (uint32 I = 0; I < Coarse.NumIndices; I++)
        {
            Ours.push_back(Surface.Indices[int32(Coarse.FirstIndex + I)] - Mesh.FirstVertex);
        }
        REQUIRE(Ours == Lod);
        Out.Levels++;
    }
}

void CheckFile(const std::string &Path, EMeshreelUpAxis Up, float Centimetres, bool bFlipV, FCounts &Out)
{
    const TArray<uint8> Bytes = ReadFile(Path);
    FReference Reference(Bytes);
    UMeshreelAsset *Asset = LoadAsset(Path);
    Asset->UpAxis = Up;
    Asset->CentimetresPerUnit = Centimetres;
    Asset->bFlipV = bFlipV;
    const double Scale =
        Centimetres > 0.0f ? double(Centimetres) : double(FMeshreelAxes::CentimetresOf(Reference.Info.unit));
    FMeshreelReader Reader;
    Reader.Reset(Asset->GetReading(Reference.Reel, true));
    FMeshreelSurface Surfaces[2];
    const FMeshreelSurface *Previous = nullptr;
    const FString Name = Asset->GetDisplayName();
    for (uint32 Number = 0; Number < Reference.Info.frames; Number++)
    {
        const mr_frame *Frame = Reference.Decode(Number);
        FMeshreelSurface &Surface = Surfaces[Number % 2];
        REQUIRE(Reader.Read(Frame, Previous, Name, Surface));
        uint32 Visible = 0;
        std::vector<uint8> Shown(Reference.Info.nodes);
        REQUIRE(mr_frame_visible(Frame, Shown.data(), Shown.size(), nullptr) == MR_STATUS_OK);
        for (uint32 Node = 0; Node < Reference.Info.nodes; Node++)
        {
            mr_mesh_state State = MeshreelSized<mr_mesh_state>();
            const bool bMesh =
                Shown[Node] != 0 && mr_frame_mesh(Frame, Node, &State) == MR_STATUS_OK && State.indices > 0;
            Visible += bMesh ? 1 : 0;
        }
        REQUIRE(Surface.Nodes.Num() == int32(Visible));
        for (const FMeshreelNodeMesh &Mesh : Surface.Nodes)
        {
            CheckVertices(Surface, Mesh, Frame, Scale, Up == EMeshreelUpAxis::Z, Out);
            CheckAttributes(Surface, Mesh, Frame, bFlipV, Out);
            CheckTriangles(Surface, Mesh, Frame, Path.find("everything") == std::string::npos, Out);
            CheckLevels(Surface, Mesh, Frame, Out);
        }
        if (Surface.bHasMotion)
        {
            REQUIRE(Previous != nullptr && Surface.PreviousPositions == Previous->Positions);
            REQUIRE(Surface.TrianglesNumber == Previous->TrianglesNumber &&
                    Surface.Indices == Previous->Indices);
            Out.Moving++;
        }
        else
        {
            REQUIRE(Surface.PreviousPositions == Surface.Positions);
        }
        Previous = &Surface;
        Out.Frames++;
    }
}
} // namespace

void TestSurfaces()
{
    FCounts Total;
    for (const char *Name :
         {"chains_fast", "chains_small", "everything_deflate", "everything_lz4", "everything_store",
          "everything_zstd", "flag_apart", "flag_fast", "flag_small", "flag_wide", "particles_small",
          "points_fast", "robot_small", "snake_small", "square", "wall_fast", "wall_packed", "wall_small"})
    {
        CheckFile(Golden(std::string("v0/") + Name + ".reel"), EMeshreelUpAxis::Y, 0.0f, true, Total);
    }
    CheckFile(Golden("v0/everything_zstd.reel"), EMeshreelUpAxis::Z, 2.54f, false, Total);
    for (const char *Name : {"levels", "scene", "hidden", "mirror", "materials", "fluid", "bare"})
    {
        CheckFile(Arguments().Made + "/" + Name + ".reel", EMeshreelUpAxis::Y, 0.0f, true, Total);
    }
    std::printf(
        "  %lld frames: %lld vertices, %lld triangles (%lld outwards), %lld normals, %lld tangents, %lld "
        "uvs, "
        "%lld colours, %lld sections, %lld coarse levels, %lld mirrored nodes, %lld frames with motion\n",
        (long long)Total.Frames, (long long)Total.Vertices, (long long)Total.Triangles,
        (long long)Total.Outwards, (long long)Total.Normals, (long long)Total.Tangents, (long long)Total.Uvs,
        (long long)Total.Colours, (long long)Total.Materials, (long long)Total.Levels,
        (long long)Total.Mirrored, (long long)Total.Moving);
    REQUIRE(Total.Tangents > 0 && Total.Uvs > 0 && Total.Colours > 0 && Total.Levels > 0 && Total.Moving > 0);
    // Units and inverse of the conversion.
    REQUIRE(FMeshreelAxes::CentimetresOf(0) == 100.0f && FMeshreelAxes::CentimetresOf(1) == 100.0f);
    REQUIRE(FMeshreelAxes::CentimetresOf(2) == 1.0f && FMeshreelAxes::CentimetresOf(3) == 0.1f &&
            FMeshreelAxes::CentimetresOf(4) == 2.54f);
    for (const bool bZUp : {false, true})
    {
        FMeshreelAxes Axes;
        Axes.bZUp = bZUp;
        const mr_transform In{{0.1f, -0.2f, 0.3f, 0.92736185f}, {1.0f, -2.0f, 3.0f}, {1.0f, 2.0f, 0.5f}};
        const FTransform There = Axes.Transform(In);
        const mr_transform Back = Axes.ToFile(There);
        for (int I = 0; I < 3; I++)
        {
            REQUIRE(Near(Back.rotation[I], In.rotation[I], 1e-6) &&
                    Near(Back.translation[I], In.translation[I], 1e-6));
            REQUIRE(Back.scale[I] == In.scale[I]);
        }
        // A point moved by the transform in the file is where Unreal's transform moves the converted point.
        const FQuat Q(In.rotation[0], In.rotation[1], In.rotation[2], In.rotation[3]);
        const FVector P(0.3, 0.7, -0.4);
        const FVector Moved = Q.RotateVector(P * FVector(1.0, 2.0, 0.5)) + FVector(1.0, -2.0, 3.0);
        const double M[3] = {Moved.X, Moved.Y, Moved.Z}, Raw[3] = {P.X, P.Y, P.Z};
        const FVector Expected = Convert(M, 100.0, bZUp),
                      Is = There.TransformPosition(Convert(Raw, 100.0, bZUp));
        REQUIRE(FVector::Dist(Expected, Is) < 1e-3);
        // The same as a matrix.
        double Rows[12];
        for (int C = 0; C < 3; C++)
        {
            const FVector E(C == 0, C == 1, C == 2);
            const FVector Column = Q.RotateVector(E * FVector(1.0, 2.0, 0.5));
            Rows[C] = Column.X;
            Rows[4 + C] = Column.Y;
            Rows[8 + C] = Column.Z;
        }
        Rows[3] = 1.0, Rows[7] = -2.0, Rows[11] = 3.0;
        REQUIRE(FVector::Dist(Axes.Matrix(Rows).TransformPosition(Convert(Raw, 100.0, bZUp)), Expected) <
                1e-3);
    }
}
} // namespace Driver
