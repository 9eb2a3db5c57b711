// The vertices, triangles and sections of one moment of a file, in the space of the component, as the
// renderer takes them: all visible nodes in one set of buffers.
#pragma once

#include "CoreMinimal.h"
#include "MeshreelAxes.h"
#include "PackedNormal.h"

/** Triangles of one material. */
struct FMeshreelSection
{
    uint32 FirstIndex = 0;
    uint32 NumTriangles = 0;
    int32 MaterialIndex = 0;
};

/** Triangles of a node at one level of detail. */
struct FMeshreelLevel
{
    /** The largest distance from the mesh itself, in centimetres of the component. */
    float Error = 0.0f;
    /** All of its triangles; the sections of level 0 leave out those that cannot be seen at this moment. */
    uint32 FirstIndex = 0;
    uint32 NumIndices = 0;
    TArray<FMeshreelSection> Sections;
};

/** A visible node. */
struct FMeshreelNodeMesh
{
    uint32 Node = 0;
    uint32 FirstVertex = 0;
    uint32 NumVertices = 0;
    /** Bounds of this moment's vertices. */
    FBox3f Bounds = FBox3f(ForceInit);
    /** Level 0 is the mesh itself. */
    TArray<FMeshreelLevel> Levels;
};

/** What the renderer needs of one moment. Buffers have one element per vertex. */
struct MESHREEL_API FMeshreelSurface
{
    TArray<FVector3f> Positions;
    /**
     * Positions of the moment before; the same as `Positions` if the vertices are not those of that moment.
     */
    TArray<FVector3f> PreviousPositions;
    TArray<FPackedNormal> TangentsX;
    /** w is the sign of the bitangent. */
    TArray<FPackedNormal> TangentsZ;
    TArray<FVector2f> TextureCoordinates;
    TArray<FColor> Colors;
    TArray<uint32> Indices;
    TArray<FMeshreelNodeMesh> Nodes;
    FBox Bounds = FBox(ForceInit);
    /** Counts the changes of `Indices`: the same number means the same indices. */
    uint32 TrianglesNumber = 0;
    /** Counts the changes of `TextureCoordinates` and `Colors`. */
    uint32 AttributesNumber = 0;
    /** Whether the moment before had the same vertices, so that its positions give motion vectors. */
    bool bHasMotion = false;
};

/** Options of a reader. */
struct FMeshreelReading
{
    FMeshreelAxes Axes;
    /** The v of the file counts from the bottom, Unreal's from the top. */
    bool bFlipV = true;
    bool bMotionVectors = true;
    /** The nodes that have meshes. */
    TArray<uint32> Nodes;
    /** Material index of each material: the meshes' first ones, then material by material. */
    TArray<int32> FirstMaterialOfMesh;
    TArray<int32> MaterialSlots;
};

/** Reads moments of one instance. One thread at a time uses a reader. */
class MESHREEL_API FMeshreelReader
{
  public:
    void Reset(FMeshreelReading InReading);

    /**
     * Reads a frame into `Out`; `Previous` is the surface of the moment before, or null. Returns false, and
     * logs why, if the library refuses a value; `Out` is then to be thrown away.
     */
    bool Read(const mr_frame *Frame, const FMeshreelSurface *Previous, const FString &File,
              FMeshreelSurface &Out);

    /** As `Read`, for the mesh of one node, also where it is not visible. Without nodes if it has no
     * triangles. */
    bool ReadNode(const mr_frame *Frame, uint32 Node, const FString &File, FMeshreelSurface &Out);

  private:
    /** What the triangles of a node were made for. */
    struct FTriangles
    {
        uint32 Node = 0;
        uint32 NumVertices = 0;
        uint32 NumIndices = 0;
        uint32 Frame = 0;
        bool bMirrored = false;
        bool operator==(const FTriangles &Other) const
        {
            return Node == Other.Node && NumVertices == Other.NumVertices && NumIndices == Other.NumIndices &&
                   Frame == Other.Frame && bMirrored == Other.bMirrored;
        }
    };
    struct FNodeState
    {
        mr_mesh_state Mesh;
        double World[12];
    };

    bool Fill(const mr_frame *Frame, const FMeshreelSurface *Previous, FMeshreelSurface &Out);
    bool Visible(const mr_frame *Frame, FMeshreelSurface &Out);
    bool Vertices(const mr_frame *Frame, int32 Index, const FMeshreelSurface *Previous,
                  FMeshreelSurface &Out);
    bool IsSameNode(int32 Index, const FMeshreelSurface *Previous, const FMeshreelSurface &Out) const;
    bool StandsAsBefore(int32 Index) const;
    bool Directions(const mr_frame *Frame, int32 Index, const FMeshreelVertexTransform &Transform,
                    FMeshreelSurface &Out);
    bool Attributes(const mr_frame *Frame, int32 Index, FMeshreelSurface &Out);
    bool Triangles(const mr_frame *Frame, int32 Index, FMeshreelSurface &Out);
    bool Level(const mr_frame *Frame, int32 Index, uint32 Number, FMeshreelSurface &Out);
    bool VisibleTriangles(const mr_frame *Frame, int32 Index, FMeshreelSurface &Out);
    void ComputeNormals(const FMeshreelNodeMesh &Mesh, FMeshreelSurface &Out);
    int32 MaterialIndex(uint32 Mesh, uint32 Material) const;
    bool Ok(mr_status Status) const;

    FMeshreelReading Reading;
    FString Name;
    /** The only node to read, or MR_NONE for all. */
    uint32 OnlyNode = MR_NONE;
    TArray<FNodeState> States, StatesBefore;
    TArray<FTriangles> Current, Before;
    uint32 TrianglesNumber = 0, AttributesNumber = 0;
    bool bNewAttributes = true;
    TArray<float> Values, Tangents;
    TArray<uint8> Bytes;
    TArray<mr_range> Ranges;
};
