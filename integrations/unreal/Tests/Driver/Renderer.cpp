// The renderer's side: what is in the buffers, which triangles are drawn with which material, motion, levels
// of detail.
#include "Checks.h"
#include "MeshreelSceneProxy.h"

namespace Driver
{
namespace
{
struct FPicture
{
    FMeshElementCollector Collector;
    FSceneView View;
    FSceneViewFamily Family;
    explicit FPicture(const UMeshreelComponent &Component, double Distance = 0.0, bool bWireframe = false)
    {
        // Ninety degrees, looking from the left.
        View.UnscaledViewRect = {1920, 1080};
        const FBoxSphereBounds &Bounds = Component.Bounds;
        View.ViewMatrices.Origin = Bounds.Origin - FVector(Bounds.SphereRadius + Distance, 0.0, 0.0);
        Family.EngineShowFlags.Wireframe = bWireframe ? 1 : 0;
        TArray<const FSceneView *> Views = {&View, &View};
        Component.SceneProxy->GetDynamicMeshElements(Views, Family, 1,
                                                     Collector); // Only the first one is visible.
    }
    uint32 Triangles() const
    {
        uint32 Out = 0;
        for (const auto &Each : Collector.Added)
        {
            REQUIRE(Each.first == 0);
            Out += Each.second->Elements[0].NumPrimitives;
        }
        return Out;
    }
};

template <typename T> const T *In(const FVertexBuffer *Buffer)
{
    return reinterpret_cast<const T *>(Buffer->VertexBufferRHI->Bytes.data());
}

/**
 * The buffers contain the surface, bit by bit; sections lie within the indices, indices within the vertices.
 */
void RequireUploaded(const UMeshreelComponent &Component, bool bMoves)
{
    const FMeshreelSurface &Surface = *Component.GetSurface();
    const FPicture Picture(Component);
    const SIZE_T Count = static_cast<SIZE_T>(Surface.Positions.Num());
    REQUIRE(Picture.Collector.Added.size() > 0);
    for (const auto &Each : Picture.Collector.Added)
    {
        const FMeshBatchElement &Element = Each.second->Elements[0];
        const auto &User =
            *static_cast<const FGeometryCacheVertexFactoryUserData *>(Element.VertexFactoryUserData);
        const auto &Factory =
            static_cast<const FGeometryCacheVertexVertexFactory *>(Each.second->VertexFactory)->Data;
        REQUIRE(Element.PrimitiveUniformBuffer != nullptr && Each.second->MaterialRenderProxy != nullptr);
        REQUIRE(User.PositionBuffer == Factory.PositionComponent.VertexBuffer &&
                User.PositionSRV->Buffer == User.PositionBuffer->VertexBufferRHI);
        REQUIRE(std::memcmp(In<FVector3f>(User.PositionBuffer), Surface.Positions.GetData(),
                            Count * sizeof(FVector3f)) == 0);
        REQUIRE(std::memcmp(In<FPackedNormal>(Factory.TangentBasisComponents[0].VertexBuffer),
                            Surface.TangentsX.GetData(), Count * 4) == 0);
        REQUIRE(std::memcmp(In<FPackedNormal>(Factory.TangentBasisComponents[1].VertexBuffer),
                            Surface.TangentsZ.GetData(), Count * 4) == 0);
        REQUIRE(std::memcmp(In<FVector2f>(Factory.TextureCoordinates[0].VertexBuffer),
                            Surface.TextureCoordinates.GetData(), Count * 8) == 0);
        REQUIRE(std::memcmp(In<FColor>(Factory.ColorComponent.VertexBuffer), Surface.Colors.GetData(),
                            Count * 4) == 0);
        const TArray<FVector3f> &Before = bMoves ? Surface.PreviousPositions : Surface.Positions;
        REQUIRE(std::memcmp(In<FVector3f>(User.MotionBlurDataBuffer), Before.GetData(),
                            Count * sizeof(FVector3f)) == 0);
        REQUIRE(User.MotionBlurPositionScale == 0.0f && User.MotionBlurDataExtension == FVector3f::OneVector);
        REQUIRE(User.UniformBuffer.Values.MeshExtension == FVector3f::OneVector &&
                User.UniformBuffer.Values.MotionBlurDataOrigin == FVector3f::ZeroVector);
        const uint32 *Indices =
            reinterpret_cast<const uint32 *>(Element.IndexBuffer->IndexBufferRHI->Bytes.data());
        REQUIRE(Element.NumPrimitives > 0 &&
                int32(Element.FirstIndex + 3 * Element.NumPrimitives) <= Surface.Indices.Num());
        for (uint32 I = 0; I < 3 * Element.NumPrimitives; I++)
        {
            const uint32 Index = Indices[Element.FirstIndex + I];
            REQUIRE(Index == Surface.Indices[int32(Element.FirstIndex + I)] &&
                    Index >= Element.MinVertexIndex && Index <= Element.MaxVertexIndex);
        }
    }
}

/** What does not change is neither read nor uploaded again. */
void TestStatic()
{
    const FInTick InTick;
    FWorld World;
    UMeshreelComponent *Component = World.Add(LoadAsset(Arguments().Made + "/levels.reel"));
    REQUIRE(World.TickUntil([&] { return Component->SceneProxy != nullptr; }, 0.0f));
    const int64 Count = Component->GetSurface()->Positions.Num();
    World.Tick(0.05f);
    const int64 Before = StandIn::BytesUploaded;
    const int32 Buffers = StandIn::BuffersCreated;
    World.Tick(0.05f);
    // Positions, previous positions and two directions of each vertex; neither uvs, colours nor indices.
    REQUIRE(StandIn::BytesUploaded - Before == Count * (12 + 12 + 4 + 4) &&
            StandIn::BuffersCreated == Buffers);
    Component->Pause();
    World.Tick(0.05f);
    World.Tick(0.05f);
    const int64 Paused = StandIn::BytesUploaded;
    World.Tick(0.05f);
    REQUIRE(StandIn::BytesUploaded == Paused);
}

void TestUploads()
{
    const FInTick InTick;
    for (const char *Name :
         {"/scene.reel", "/fluid.reel", "/mirror.reel", "/hidden.reel", "/attributes.reel"})
    {
        FWorld World;
        UMeshreelAsset *Asset = LoadAsset(Arguments().Made + Name);
        UMeshreelComponent *Component = World.Add(Asset,
                                                  [](UMeshreelComponent &Each)
                                                  {
                                                      Each.SetRepeat(EMeshreelRepeat::Loop);
                                                      Each.LodPixels = 0.0f;
                                                  });
        REQUIRE(World.TickUntil([&] { return Component->SceneProxy != nullptr; }, 0.0f));
        RequireUploaded(*Component, false);
        int32 Moving = 0;
        for (int32 Tick = 0; Tick < 30; Tick++)
        {
            const auto Before = Component->GetSurface();
            World.Tick(1.0f / 24.0f);
            const bool bMoves = Component->GetSurface() != Before && Component->GetSurface()->bHasMotion;
            Moving += bMoves ? 1 : 0;
            RequireUploaded(*Component, bMoves);
        }
        REQUIRE(Moving > 0 || std::string(Name) == "/fluid.reel");
        // When nothing moves any more, neither do the vertices in the next frame that is rendered.
        Component->Pause();
        World.Tick();
        World.Tick();
        RequireUploaded(*Component, false);
        FMeshreelSceneProxy *Proxy = static_cast<FMeshreelSceneProxy *>(Component->SceneProxy);
        const FPrimitiveViewRelevance Relevance = Proxy->GetViewRelevance(nullptr);
        REQUIRE(Relevance.bDynamicRelevance && Relevance.bDrawRelevance && Relevance.bVelocityRelevance &&
                Relevance.bShadowRelevance);
        REQUIRE(Proxy->CanBeOccluded() && Proxy->GetMemoryFootprint() > 0 && Proxy->GetTypeHash() != 0);
        // Bounds are those of the moment, with the object's transform.
        Component->SetRelativeTransform(
            FTransform(FQuat::Identity, FVector(1000.0, 0.0, 0.0), FVector(2.0, 2.0, 2.0)));
        FBox Box(ForceInit);
        for (const FVector3f &Point : Component->GetSurface()->Positions)
        {
            Box += FVector(Point) * 2.0 + FVector(1000.0, 0.0, 0.0);
        }
        // Those of two frames between which it is interpolated: never smaller than the vertices', and hardly
        // larger.
        const FVector Min = Component->Bounds.Origin - Component->Bounds.BoxExtent,
                      Max = Component->Bounds.Origin + Component->Bounds.BoxExtent;
        const double Slight = 1e-3 * Component->Bounds.SphereRadius,
                     Much = 0.3 * Component->Bounds.SphereRadius;
        REQUIRE(Min.X <= Box.Min.X + Slight && Min.Y <= Box.Min.Y + Slight && Min.Z <= Box.Min.Z + Slight);
        REQUIRE(Max.X >= Box.Max.X - Slight && Max.Y >= Box.Max.Y - Slight && Max.Z >= Box.Max.Z - Slight);
        REQUIRE(Min.X >= Box.Min.X - Much && Max.Z <= Box.Max.Z + Much);
        const FPicture Wire(*Component, 0.0, true);
        REQUIRE(Wire.Collector.Proxies.size() == 1 && Wire.Collector.Added[0].second->bWireframe);
    }
}

void TestMaterials()
{
    const FInTick InTick;
    FWorld World;
    UMeshreelAsset *Asset = LoadAsset(Arguments().Made + "/materials.reel");
    UMeshreelComponent *Component = World.Add(Asset);
    REQUIRE(World.TickUntil([&] { return Component->SceneProxy != nullptr; }));
    const TArray<FName> Names = Component->GetMaterialSlotNames();
    REQUIRE(Component->GetNumMaterials() == 2 && Names.Num() == 2 && Asset->Materials.Num() == 2 &&
            !(Names[0] == Names[1]));
    for (int32 Slot = 0; Slot < 2; Slot++)
    {
        REQUIRE(Component->GetMaterialIndex(Names[Slot]) == Slot && Asset->FindMaterial(Names[Slot]) == Slot);
        REQUIRE(Component->IsMaterialSlotNameValid(Names[Slot]) && Component->GetMaterial(Slot) == nullptr);
    }
    REQUIRE(!Component->IsMaterialSlotNameValid(TEXT("no such material")) &&
            Component->GetMaterial(7) == nullptr);
    // The file's own ranges of triangles, in the order of its materials.
    FReference Reference(ReadFile(Arguments().Made + "/materials.reel"));
    mr_range Ranges[2];
    uint32 Node = 0;
    REQUIRE(mr_frame_node_of(Reference.Decode(0), 0, &Node) == MR_STATUS_OK);
    REQUIRE(mr_frame_materials(Reference.Frame, Node, Ranges, 2, nullptr) == MR_STATUS_OK);
    UMaterialInterface *Red = NewObject<UMaterialInterface>(), *Blue = NewObject<UMaterialInterface>(),
                       *Wrong = NewObject<UMaterialInterface>();
    Wrong->bUsedWithGeometryCache = false;
    Asset->SetMaterialByName(Names[0], Red);
    Component->SetMaterialByName(Names[1], Blue);
    World.Tick(0.0f);
    REQUIRE(Component->GetMaterial(0) == Red && Component->GetMaterial(1) == Blue);
    const auto TrianglesOf = [&](UMaterialInterface *Material)
    {
        const FPicture Picture(*Component);
        uint32 Out = 0;
        for (const auto &Each : Picture.Collector.Added)
        {
            Out += Each.second->MaterialRenderProxy == Material->GetRenderProxy()
                       ? Each.second->Elements[0].NumPrimitives
                       : 0;
        }
        return Out;
    };
    REQUIRE(TrianglesOf(Red) == Ranges[0].count / 3 && TrianglesOf(Blue) == Ranges[1].count / 3 &&
            Ranges[0].count != 0);
    // A material that is not compiled for this vertex factory is replaced by the default one.
    Component->SetMaterial(1, Wrong);
    World.Tick(0.0f);
    REQUIRE(TrianglesOf(Wrong) == 0 &&
            TrianglesOf(UMaterial::GetDefaultMaterial(MD_Surface)) == Ranges[1].count / 3);
}

void TestLevels()
{
    const FInTick InTick;
    FWorld World;
    UMeshreelAsset *Asset = LoadAsset(Arguments().Made + "/levels.reel");
    UMeshreelComponent *Component = World.Add(Asset);
    REQUIRE(World.TickUntil([&] { return Component->SceneProxy != nullptr; }));
    const FMeshreelNodeMesh &Mesh = Component->GetSurface()->Nodes[0];
    REQUIRE(Mesh.Levels.Num() == 4);
    uint32 Last = FPicture(*Component).Triangles();
    REQUIRE(Last == Mesh.Levels[0].NumIndices / 3);
    std::set<uint32> Seen = {Last};
    for (double Distance = 1.0; Distance < 1e8; Distance *= 1.3)
    {
        const FPicture Picture(*Component, Distance);
        const uint32 Now = Picture.Triangles();
        REQUIRE(Now <= Last);
        Last = Now;
        Seen.insert(Now);
        // The error of the level covers at most a pixel, with the hysteresis a little more.
        for (int32 Level = 1; Level < 4; Level++)
        {
            if (Now == Mesh.Levels[Level].NumIndices / 3)
            {
                const double Nearest =
                    FVector::Dist(FVector(Mesh.Bounds.GetCenter()), Picture.View.ViewMatrices.Origin) -
                    double(Mesh.Bounds.GetExtent().Size());
                const double Pixels = double(Mesh.Levels[Level].Error) / (2.0 * Nearest) * 1080.0;
                REQUIRE(Pixels <= 1.06);
            }
        }
    }
    REQUIRE(Seen.size() == 4 && Last == Mesh.Levels[3].NumIndices / 3);
    const FMeshreelSceneProxy *Proxy = static_cast<FMeshreelSceneProxy *>(Component->SceneProxy);
    FSceneView View;
    View.UnscaledViewRect = {1920, 1080};
    View.bPerspective = false;
    View.ViewMatrices.Origin = FVector(1e9, 0.0, 0.0);
    REQUIRE(Proxy->ChooseLevel(Mesh, View, 0) == 0); // Without perspective there are no distances.
    View.bPerspective = true;
    REQUIRE(Proxy->ChooseLevel(Mesh, View, 0) == 3);
    Component->LodPixels = 0.0f;
    Component->MarkRenderStateDirty();
    World.Tick(0.0f);
    REQUIRE(FPicture(*Component, 1e7).Triangles() == Mesh.Levels[0].NumIndices / 3);
    // Hidden triangles are left out: fewer than the mesh has, until the wall breaks.
    UMeshreelAsset *Culled = LoadAsset(Arguments().Made + "/hidden.reel");
    UMeshreelComponent *Wall = World.Add(Culled, [](UMeshreelComponent &Each) { Each.bAutoPlay = false; });
    REQUIRE(World.TickUntil([&] { return Wall->SceneProxy != nullptr; }, 0.0f));
    const uint32 Whole = Wall->GetSurface()->Nodes[0].Levels[0].NumIndices / 3,
                 Standing = FPicture(*Wall).Triangles();
    uint32 Flying = 0;
    for (double Seconds = 0.0; Seconds < Wall->GetDuration(); Seconds += 0.1)
    {
        Wall->Seek(Seconds);
        World.Tick(0.0f);
        World.Tick(0.0f);
        Flying = FMath::Max(Flying, FPicture(*Wall).Triangles());
    }
    REQUIRE(Standing < Whole && Flying > Standing && Flying <= Whole);
    std::printf("  levels: %u, %u, %u, %u triangles; of %u triangles %u are drawn while the wall stands, %u "
                "in flight\n",
                Mesh.Levels[0].NumIndices / 3, Mesh.Levels[1].NumIndices / 3, Mesh.Levels[2].NumIndices / 3,
                Mesh.Levels[3].NumIndices / 3, Whole, Standing, Flying);
}
} // namespace

void TestRenderer()
{
    TestStatic();
    TestUploads();
    TestMaterials();
    TestLevels();
}
} // namespace Driver
