#include "MeshreelSurface.h"

namespace
{
template <typename T> void Copy(const TArray<T> &From, int32 First, int32 Number, TArray<T> &To)
{
    FMemory::Memcpy(To.GetData() + First, From.GetData() + First, static_cast<SIZE_T>(Number) * sizeof(T));
}
} // namespace

void FMeshreelReader::Reset(FMeshreelReading InReading)
{
    Reading = MoveTemp(InReading);
    Before.Reset();
    Current.Reset();
    StatesBefore.Reset();
    States.Reset();
}

bool FMeshreelReader::Ok(mr_status Status) const { return FMeshreelLibrary::Ok(Status, Name); }

bool FMeshreelReader::Read(const mr_frame *Frame, const FMeshreelSurface *Previous, const FString &File,
                           FMeshreelSurface &Out)
{
    Name = File;
    OnlyNode = MR_NONE;
    Swap(Before, Current);
    Swap(StatesBefore, States);
    Current.Reset();
    // `Previous` must be what was read last; otherwise nothing is known of the moment before.
    const bool bKnown = Previous != nullptr && Previous->TrianglesNumber == TrianglesNumber &&
                        Previous->AttributesNumber == AttributesNumber &&
                        Previous->Nodes.Num() == Before.Num();
    if (!bKnown)
    {
        Before.Reset();
    }
    if (!Fill(Frame, bKnown ? Previous : nullptr, Out))
    {
        Current.Reset(); // The next moment is read without this one.
        return false;
    }
    return true;
}

bool FMeshreelReader::ReadNode(const mr_frame *Frame, uint32 Node, const FString &File, FMeshreelSurface &Out)
{
    Name = File;
    OnlyNode = Node;
    Current.Reset();
    Before.Reset();
    return Fill(Frame, nullptr, Out);
}

bool FMeshreelReader::Fill(const mr_frame *Frame, const FMeshreelSurface *Previous, FMeshreelSurface &Out)
{
    mr_frame_info Info = MeshreelSized<mr_frame_info>();
    if (!Ok(mr_frame_get(Frame, &Info)) || !Visible(Frame, Out))
    {
        return false;
    }
    Out.Bounds = Reading.Axes.Box(Info.bounds);
    bNewAttributes = Previous == nullptr || Previous->Positions.Num() != Out.Positions.Num();
    for (int32 Index = 0; Index < Out.Nodes.Num(); Index++)
    {
        if (!Vertices(Frame, Index, Previous, Out))
        {
            return false;
        }
    }
    const bool bNew = Previous == nullptr || Before != Current;
    Out.Indices.Reset();
    if (!bNew)
    {
        // Only the ranges of triangles that can be seen differ from the moment before.
        Out.Indices = Previous->Indices;
    }
    TrianglesNumber += bNew ? 1 : 0;
    Out.TrianglesNumber = TrianglesNumber;
    AttributesNumber += bNew || bNewAttributes ? 1 : 0;
    Out.AttributesNumber = AttributesNumber;
    for (int32 Index = 0; Index < Out.Nodes.Num(); Index++)
    {
        if (!bNew)
        {
            Out.Nodes[Index].Levels = Previous->Nodes[Index].Levels;
        }
        if ((bNew && !Triangles(Frame, Index, Out)) || !VisibleTriangles(Frame, Index, Out))
        {
            return false;
        }
        if (States[Index].Mesh.normals == 0)
        {
            ComputeNormals(Out.Nodes[Index], Out);
        }
    }
    Out.bHasMotion = Reading.bMotionVectors && !bNew && Previous->Positions.Num() == Out.Positions.Num();
    Out.PreviousPositions = Out.bHasMotion ? Previous->Positions : Out.Positions;
    return true;
}

/** Finds the nodes that are to be drawn, and lays out the vertex buffers. */
bool FMeshreelReader::Visible(const mr_frame *Frame, FMeshreelSurface &Out)
{
    size_t Count = 0;
    if (!Ok(mr_frame_visible(Frame, nullptr, 0, &Count)))
    {
        return false;
    }
    TArray<uint8> Shown;
    Shown.SetNumZeroed(static_cast<int32>(Count));
    if (Count > 0 && !Ok(mr_frame_visible(Frame, Shown.GetData(), Count, &Count)))
    {
        return false;
    }
    Out.Nodes.Reset();
    States.Reset();
    uint32 Vertices = 0;
    for (const uint32 Node : Reading.Nodes)
    {
        const int32 Index = static_cast<int32>(Node);
        // A single node is read whether it is visible or not: all of its frames then have the same vertices.
        if (!Shown.IsValidIndex(Index) || (OnlyNode == MR_NONE ? Shown[Index] == 0 : Node != OnlyNode))
        {
            continue;
        }
        FNodeState State;
        State.Mesh = MeshreelSized<mr_mesh_state>();
        if (!Ok(mr_frame_mesh(Frame, Node, &State.Mesh)) || !Ok(mr_frame_world(Frame, Node, State.World)))
        {
            return false;
        }
        if (State.Mesh.vertices == 0 || State.Mesh.indices == 0)
        {
            continue; // Particles and curves have no triangles.
        }
        FMeshreelNodeMesh Mesh;
        Mesh.Node = Node;
        Mesh.FirstVertex = Vertices;
        Mesh.NumVertices = State.Mesh.vertices;
        Vertices += State.Mesh.vertices;
        Out.Nodes.Add(MoveTemp(Mesh));
        States.Add(State);
    }
    const int32 Number = static_cast<int32>(Vertices);
    Out.Positions.SetNumUninitialized(Number);
    Out.TangentsX.SetNumUninitialized(Number);
    Out.TangentsZ.SetNumUninitialized(Number);
    Out.TextureCoordinates.SetNumUninitialized(Number);
    Out.Colors.SetNumUninitialized(Number);
    return true;
}

/** Whether a node has the same vertices and triangles, in the same place of the buffers, as in the moment
 * before. */
bool FMeshreelReader::IsSameNode(int32 Index, const FMeshreelSurface *Previous,
                                 const FMeshreelSurface &Out) const
{
    return Previous != nullptr && Before.IsValidIndex(Index) && Before[Index] == Current[Index] &&
           Previous->Nodes[Index].FirstVertex == Out.Nodes[Index].FirstVertex;
}

/** Whether positions and directions of a node are those of the moment before. */
bool FMeshreelReader::StandsAsBefore(int32 Index) const
{
    const mr_mesh_state &Now = States[Index].Mesh, &Then = StatesBefore[Index].Mesh;
    const bool bSameMoment =
        Now.frames[0] == Then.frames[0] && Now.frames[1] == Then.frames[1] && Now.blend == Then.blend;
    const bool bStatic = Now.fluid == 0 && Now.moves == 0 && Now.normals != 1 && Now.tangents != 1;
    return (bSameMoment || bStatic) &&
           FMemory::Memcmp(States[Index].World, StatesBefore[Index].World, sizeof(States[Index].World)) == 0;
}

bool FMeshreelReader::Vertices(const mr_frame *Frame, int32 Index, const FMeshreelSurface *Previous,
                               FMeshreelSurface &Out)
{
    FMeshreelNodeMesh &Mesh = Out.Nodes[Index];
    const FNodeState &State = States[Index];
    const FMeshreelVertexTransform Transform(Reading.Axes, State.World);
    const int32 First = static_cast<int32>(Mesh.FirstVertex), Number = static_cast<int32>(Mesh.NumVertices);
    FTriangles Made;
    Made.Node = Mesh.Node;
    Made.NumVertices = State.Mesh.vertices;
    Made.NumIndices = State.Mesh.indices;
    Made.Frame = State.Mesh.fluid != 0 ? State.Mesh.frames[0] : 0;
    Made.bMirrored = Transform.BitangentSign() > 0.0f;
    Current.Add(Made);
    const bool bSame = IsSameNode(Index, Previous, Out);
    if (bSame && State.Mesh.uvs != 1 && State.Mesh.colours != 1)
    {
        Copy(Previous->TextureCoordinates, First, Number, Out.TextureCoordinates);
        Copy(Previous->Colors, First, Number, Out.Colors);
    }
    else
    {
        bNewAttributes = true;
        if (!Attributes(Frame, Index, Out))
        {
            return false;
        }
    }
    if (bSame && StandsAsBefore(Index))
    {
        Copy(Previous->Positions, First, Number, Out.Positions);
        Copy(Previous->TangentsX, First, Number, Out.TangentsX);
        Copy(Previous->TangentsZ, First, Number, Out.TangentsZ);
        Mesh.Bounds = Previous->Nodes[Index].Bounds;
        return true;
    }
    Values.SetNumUninitialized(4 * Number);
    if (!Ok(mr_frame_floats(Frame, Mesh.Node, MR_CHANNEL_POSITION, 0, Values.GetData(), 3 * size_t(Number))))
    {
        return false;
    }
    Mesh.Bounds = FBox3f(ForceInit);
    for (int32 V = 0; V < Number; V++)
    {
        const FVector3f Point = Transform.Point(Values.GetData() + 3 * V);
        Out.Positions[First + V] = Point;
        Mesh.Bounds += Point;
    }
    return Directions(Frame, Index, Transform, Out);
}

bool FMeshreelReader::Directions(const mr_frame *Frame, int32 Index,
                                 const FMeshreelVertexTransform &Transform, FMeshreelSurface &Out)
{
    const FMeshreelNodeMesh &Mesh = Out.Nodes[Index];
    const mr_mesh_state &State = States[Index].Mesh;
    const int32 First = static_cast<int32>(Mesh.FirstVertex), Number = static_cast<int32>(Mesh.NumVertices);
    if (State.normals == 0)
    {
        return true; // Computed from the triangles, once these are known.
    }
    const bool bTangents = State.tangents != 0;
    Tangents.SetNumUninitialized(4 * Number);
    const mr_status Status =
        bTangents
            ? mr_frame_directions(Frame, Mesh.Node, Values.GetData(), Tangents.GetData(), size_t(Number))
            : mr_frame_floats(Frame, Mesh.Node, MR_CHANNEL_NORMAL, 0, Values.GetData(), 3 * size_t(Number));
    if (!Ok(Status))
    {
        return false;
    }
    for (int32 V = 0; V < Number; V++)
    {
        const FVector3f Normal = Transform.Normal(Values.GetData() + 3 * V);
        FVector3f Tangent;
        float Sign = 1.0f;
        if (bTangents)
        {
            Tangent = Transform.Tangent(Tangents.GetData() + 4 * V);
            Sign = Tangents[4 * V + 3] * Transform.BitangentSign();
        }
        else
        {
            FVector3f Bitangent;
            Normal.FindBestAxisVectors(Tangent, Bitangent);
        }
        Out.TangentsX[First + V] = FPackedNormal(Tangent);
        Out.TangentsZ[First + V] = FPackedNormal(FVector4f(Normal, Sign));
    }
    return true;
}

bool FMeshreelReader::Attributes(const mr_frame *Frame, int32 Index, FMeshreelSurface &Out)
{
    const FMeshreelNodeMesh &Mesh = Out.Nodes[Index];
    const mr_mesh_state &State = States[Index].Mesh;
    const int32 First = static_cast<int32>(Mesh.FirstVertex), Number = static_cast<int32>(Mesh.NumVertices);
    Values.SetNumUninitialized(4 * Number);
    if (State.uvs != 0 &&
        !Ok(mr_frame_floats(Frame, Mesh.Node, MR_CHANNEL_UV, 0, Values.GetData(), 2 * size_t(Number))))
    {
        return false;
    }
    for (int32 V = 0; V < Number; V++)
    {
        const float U = State.uvs != 0 ? Values[2 * V] : 0.0f, W = State.uvs != 0 ? Values[2 * V + 1] : 0.0f;
        Out.TextureCoordinates[First + V] = FVector2f(U, Reading.bFlipV ? 1.0f - W : W);
    }
    if (State.colours == 0)
    {
        for (int32 V = 0; V < Number; V++)
        {
            Out.Colors[First + V] = FColor::White;
        }
        return true;
    }
    const mr_attribute Colour{MR_CHANNEL_COLOUR, 0, MR_FORMAT_U8X4, 0};
    const mr_vertex_layout Layout{&Colour, 1, 4};
    Bytes.SetNumUninitialized(4 * Number);
    if (!Ok(mr_frame_write(Frame, Mesh.Node, &Layout, 0, Mesh.NumVertices, Bytes.GetData(),
                           size_t(Bytes.Num()))))
    {
        return false;
    }
    for (int32 V = 0; V < Number; V++)
    {
        Out.Colors[First + V] = FColor(Bytes[4 * V], Bytes[4 * V + 1], Bytes[4 * V + 2], Bytes[4 * V + 3]);
    }
    return true;
}

bool FMeshreelReader::Triangles(const mr_frame *Frame, int32 Index, FMeshreelSurface &Out)
{
    const mr_mesh_state &State = States[Index].Mesh;
    Out.Nodes[Index].Levels.Reset();
    for (uint32 Number = 0; Number < FMath::Max(State.lods, 1u); Number++)
    {
        if (!Level(Frame, Index, Number, Out))
        {
            return false;
        }
    }
    return true;
}

bool FMeshreelReader::Level(const mr_frame *Frame, int32 Index, uint32 Number, FMeshreelSurface &Out)
{
    FMeshreelNodeMesh &Mesh = Out.Nodes[Index];
    const mr_mesh_state &State = States[Index].Mesh;
    mr_lod_info Info = MeshreelSized<mr_lod_info>();
    if (!Ok(mr_frame_lod(Frame, Mesh.Node, Number, &Info)))
    {
        return false;
    }
    const int32 First = Out.Indices.Num();
    const uint32 Count = Number == 0 ? State.indices : Info.indices;
    Out.Indices.SetNumUninitialized(First + static_cast<int32>(Count));
    uint32 *Indices = Out.Indices.GetData() + First;
    // Level 0 in the order that ranges of visible triangles refer to.
    const mr_status Status = Number == 0
                                 ? mr_frame_indices_by_visibility(Frame, Mesh.Node, Indices, Count, nullptr)
                                 : mr_frame_lod_indices(Frame, Mesh.Node, Number, Indices, Count, nullptr);
    if (Count > 0 && !Ok(Status))
    {
        return false;
    }
    for (uint32 I = 0; I < Count; I++)
    {
        Indices[I] += Mesh.FirstVertex;
    }
    if (Current[Index].bMirrored)
    {
        for (uint32 I = 0; I + 2 < Count; I += 3)
        {
            Swap(Indices[I + 1], Indices[I + 2]);
        }
    }
    // The sections of level 0 change from moment to moment: `VisibleTriangles` makes them.
    FMeshreelLevel Level;
    Level.Error = Info.error * Reading.Axes.Scale *
                  FMeshreelVertexTransform(Reading.Axes, States[Index].World).LargestScale();
    Level.FirstIndex = static_cast<uint32>(First);
    Level.NumIndices = Count;
    Ranges.SetNumUninitialized(static_cast<int32>(State.materials));
    if (Number > 0 && State.materials > 0 &&
        !Ok(mr_frame_lod_materials(Frame, Mesh.Node, Number, Ranges.GetData(), State.materials, nullptr)))
    {
        return false;
    }
    for (uint32 Material = 0; Number > 0 && Material < State.materials; Material++)
    {
        const mr_range &Range = Ranges[static_cast<int32>(Material)];
        if (Range.count > 0)
        {
            Level.Sections.Add(
                {uint32(First) + Range.first, Range.count / 3, MaterialIndex(State.mesh, Material)});
        }
    }
    if (Number > 0 && State.materials == 0)
    {
        Level.Sections.Add({uint32(First), Count / 3, MaterialIndex(State.mesh, 0)});
    }
    Mesh.Levels.Add(MoveTemp(Level));
    return true;
}

/** Divides level 0 into the ranges of this moment, by material. */
bool FMeshreelReader::VisibleTriangles(const mr_frame *Frame, int32 Index, FMeshreelSurface &Out)
{
    FMeshreelNodeMesh &Mesh = Out.Nodes[Index];
    const mr_mesh_state &State = States[Index].Mesh;
    FMeshreelLevel &Level = Mesh.Levels[0];
    const uint32 First = Mesh.Levels[0].FirstIndex;
    Level.Sections.Reset();
    for (uint32 Material = 0; Material < FMath::Max(State.materials, 1u); Material++)
    {
        const uint32 Asked = State.materials == 0 ? MR_NONE : Material;
        size_t Count = 0;
        if (!Ok(mr_frame_visible_ranges(Frame, Mesh.Node, Asked, nullptr, 0, &Count)))
        {
            return false;
        }
        Ranges.SetNumUninitialized(static_cast<int32>(Count));
        if (Count > 0 &&
            !Ok(mr_frame_visible_ranges(Frame, Mesh.Node, Asked, Ranges.GetData(), Count, &Count)))
        {
            return false;
        }
        for (const mr_range &Range : Ranges)
        {
            if (Range.count > 0)
            {
                Level.Sections.Add(
                    {First + Range.first, Range.count / 3, MaterialIndex(State.mesh, Material)});
            }
        }
    }
    return true;
}

/** Normals weighted by area, for meshes that were compiled without normals. */
void FMeshreelReader::ComputeNormals(const FMeshreelNodeMesh &Mesh, FMeshreelSurface &Out)
{
    TArray<FVector3f> Sums;
    Sums.SetNumZeroed(static_cast<int32>(Mesh.NumVertices));
    const FMeshreelLevel &Level = Mesh.Levels[0];
    for (uint32 I = 0; I + 2 < Level.NumIndices; I += 3)
    {
        const uint32 *Corner = Out.Indices.GetData() + Level.FirstIndex + I;
        const FVector3f A = Out.Positions[int32(Corner[0])];
        // Left-handed axes: the cross product of a triangle that is counter-clockwise points inwards.
        const FVector3f Outwards =
            FVector3f::CrossProduct(Out.Positions[int32(Corner[2])] - A, Out.Positions[int32(Corner[1])] - A);
        for (int32 C = 0; C < 3; C++)
        {
            Sums[int32(Corner[C] - Mesh.FirstVertex)] += Outwards;
        }
    }
    for (int32 V = 0; V < Sums.Num(); V++)
    {
        const float Length = Sums[V].Length();
        const FVector3f Normal = Length > 1e-20f ? Sums[V] / Length : FVector3f(0.0f, 0.0f, 1.0f);
        FVector3f Tangent, Bitangent;
        Normal.FindBestAxisVectors(Tangent, Bitangent);
        Out.TangentsX[int32(Mesh.FirstVertex) + V] = FPackedNormal(Tangent);
        Out.TangentsZ[int32(Mesh.FirstVertex) + V] = FPackedNormal(FVector4f(Normal, 1.0f));
    }
}

int32 FMeshreelReader::MaterialIndex(uint32 Mesh, uint32 Material) const
{
    if (!Reading.FirstMaterialOfMesh.IsValidIndex(static_cast<int32>(Mesh)))
    {
        return 0;
    }
    const int32 Index = Reading.FirstMaterialOfMesh[static_cast<int32>(Mesh)] + static_cast<int32>(Material);
    return Reading.MaterialSlots.IsValidIndex(Index) ? Reading.MaterialSlots[Index] : 0;
}
