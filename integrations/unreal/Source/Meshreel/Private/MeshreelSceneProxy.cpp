#include "MeshreelSceneProxy.h"

#include "Engine/Engine.h"
#include "Materials/Material.h"
#include "Materials/MaterialRenderProxy.h"
#include "MaterialDomain.h"
#include "MeshreelComponent.h"
#include "RHICommandList.h"
#include "RenderingThread.h"
#include "SceneManagement.h"
#include "SceneView.h"

namespace
{
constexpr EBufferUsageFlags VertexUsage = EBufferUsageFlags::Dynamic | EBufferUsageFlags::ShaderResource;

FBufferRHIRef CreateVertexBuffer(FRHICommandListBase &RHICmdList, uint32 Bytes)
{
#if ENGINE_MAJOR_VERSION == 5 && ENGINE_MINOR_VERSION < 6
    FRHIResourceCreateInfo Info(TEXT("MeshreelVertices"));
    return RHICmdList.CreateVertexBuffer(Bytes, VertexUsage, Info);
#else
    return RHICmdList.CreateBuffer(FRHIBufferCreateDesc::CreateVertex(TEXT("MeshreelVertices"), Bytes)
                                       .AddUsage(VertexUsage)
                                       .DetermineInitialState());
#endif
}

FBufferRHIRef CreateIndexBuffer(FRHICommandListBase &RHICmdList, uint32 Bytes)
{
#if ENGINE_MAJOR_VERSION == 5 && ENGINE_MINOR_VERSION < 6
    FRHIResourceCreateInfo Info(TEXT("MeshreelIndices"));
    return RHICmdList.CreateIndexBuffer(sizeof(uint32), Bytes, EBufferUsageFlags::Dynamic, Info);
#else
    return RHICmdList.CreateBuffer(
        FRHIBufferCreateDesc::CreateIndex<uint32>(TEXT("MeshreelIndices"), Bytes / 4)
            .AddUsage(EBufferUsageFlags::Dynamic)
            .DetermineInitialState());
#endif
}

void CopyToBuffer(FRHICommandListBase &RHICmdList, FRHIBuffer *Buffer, const void *Data, uint32 Bytes)
{
    void *Target = RHICmdList.LockBuffer(Buffer, 0, Bytes, RLM_WriteOnly);
    FMemory::Memcpy(Target, Data, Bytes);
    RHICmdList.UnlockBuffer(Buffer);
}

FMaterialRelevance RelevanceOf(const UMeshreelComponent &Component, const FSceneInterface &Scene)
{
#if ENGINE_MAJOR_VERSION == 5 && ENGINE_MINOR_VERSION < 7
    return Component.GetMaterialRelevance(Scene.GetFeatureLevel());
#else
    return Component.GetMaterialRelevance(Scene.GetShaderPlatform());
#endif
}

/** What the vertex factory reads besides the vertices; it lives as long as the frame that is drawn. */
class FMeshreelUserData : public FOneFrameResource
{
  public:
    FGeometryCacheVertexFactoryUserData Data;
};
} // namespace

bool FMeshreelVertexBuffer::Write(FRHICommandListBase &RHICmdList, const void *Data, uint32 Bytes)
{
    const bool bGrows = Bytes > Capacity || !VertexBufferRHI.IsValid();
    if (bGrows)
    {
        // Room to grow, as the vertices of fluids change their number all the time.
        Capacity = Bytes + Bytes / 4;
        Capacity += (Stride - Capacity % Stride) % Stride;
        VertexBufferRHI = CreateVertexBuffer(RHICmdList, Capacity);
        View = RHICmdList.CreateShaderResourceView(
            VertexBufferRHI,
            FRHIViewDesc::CreateBufferSRV().SetType(FRHIViewDesc::EBufferType::Typed).SetFormat(Format));
    }
    CopyToBuffer(RHICmdList, VertexBufferRHI, Data, Bytes);
    return bGrows;
}

void FMeshreelVertexBuffer::ReleaseRHI()
{
    View.SafeRelease();
    Capacity = 0;
    FVertexBuffer::ReleaseRHI();
}

void FMeshreelIndexBuffer::Write(FRHICommandListBase &RHICmdList, const TArray<uint32> &Indices)
{
    const uint32 Bytes = static_cast<uint32>(Indices.Num()) * sizeof(uint32);
    if (Bytes == 0)
    {
        return;
    }
    if (Bytes > Capacity || !IndexBufferRHI.IsValid())
    {
        Capacity = Bytes + Bytes / 4 / sizeof(uint32) * sizeof(uint32);
        IndexBufferRHI = CreateIndexBuffer(RHICmdList, Capacity);
    }
    CopyToBuffer(RHICmdList, IndexBufferRHI, Indices.GetData(), Bytes);
}

FMeshreelSceneProxy::FMeshreelSceneProxy(const UMeshreelComponent &Component, FMeshreelSurfacePtr First)
    : FPrimitiveSceneProxy(&Component), Surface(MoveTemp(First)), Positions(PF_R32_FLOAT, sizeof(FVector3f)),
      PreviousPositions(PF_R32_FLOAT, sizeof(FVector3f)), TangentsX(PF_R8G8B8A8_SNORM, sizeof(FPackedNormal)),
      TangentsZ(PF_R8G8B8A8_SNORM, sizeof(FPackedNormal)), TextureCoordinates(PF_G32R32F, sizeof(FVector2f)),
      Colors(PF_R8G8B8A8, sizeof(FColor)), VertexFactory(GetScene().GetFeatureLevel()),
      MaterialRelevance(RelevanceOf(Component, GetScene())), LodPixels(Component.LodPixels)
{
    // Vertices move although the object does not.
    bAlwaysHasVelocity = Component.bMotionVectors;
    bHasDeformableMesh = true;
    for (int32 Index = 0; Index < FMath::Max(Component.GetNumMaterials(), 1); Index++)
    {
        UMaterialInterface *Material = Component.GetMaterial(Index);
        // Materials are compiled for the vertex factories that they are marked for.
        if (Material == nullptr || !Material->CheckMaterialUsage_Concurrent(MATUSAGE_GeometryCache))
        {
            Material = UMaterial::GetDefaultMaterial(MD_Surface);
        }
        Materials.Add(Material);
    }
}

FMeshreelSceneProxy::~FMeshreelSceneProxy()
{
    VertexFactory.ReleaseResource();
    Indices.ReleaseResource();
    for (FMeshreelVertexBuffer *Buffer :
         {&Positions, &PreviousPositions, &TangentsX, &TangentsZ, &TextureCoordinates, &Colors})
    {
        Buffer->ReleaseResource();
    }
}

SIZE_T FMeshreelSceneProxy::GetTypeHash() const
{
    static size_t UniquePointer;
    return reinterpret_cast<SIZE_T>(&UniquePointer);
}

uint32 FMeshreelSceneProxy::GetMemoryFootprint() const
{
    return static_cast<uint32>(sizeof(*this)) + static_cast<uint32>(GetAllocatedSize());
}

#if ENGINE_MAJOR_VERSION == 5 && ENGINE_MINOR_VERSION < 4
void FMeshreelSceneProxy::CreateRenderThreadResources()
{
    FRHICommandListBase &RHICmdList = FRHICommandListImmediate::Get();
#else
void FMeshreelSceneProxy::CreateRenderThreadResources(FRHICommandListBase &RHICmdList)
{
#endif
    for (FMeshreelVertexBuffer *Buffer :
         {&Positions, &PreviousPositions, &TangentsX, &TangentsZ, &TextureCoordinates, &Colors})
    {
        Buffer->InitResource(RHICmdList);
    }
    Indices.InitResource(RHICmdList);
    Upload(RHICmdList, true);
    Indices.Write(RHICmdList, Surface->Indices);
    InitVertexFactory(RHICmdList);
    VertexFactory.InitResource(RHICmdList);
}

void FMeshreelSceneProxy::Show(FRHICommandListBase &RHICmdList, FMeshreelSurfacePtr Next)
{
    const bool bNewTriangles = Next->TrianglesNumber != Surface->TrianglesNumber;
    const bool bNewAttributes = Next->AttributesNumber != Surface->AttributesNumber;
    Surface = MoveTemp(Next);
    Upload(RHICmdList, bNewAttributes);
    if (bNewTriangles)
    {
        Indices.Write(RHICmdList, Surface->Indices);
    }
    ShownInFrame = GFrameNumberRenderThread;
}

void FMeshreelSceneProxy::Upload(FRHICommandListBase &RHICmdList, bool bAttributes)
{
    const uint32 Number = static_cast<uint32>(Surface->Positions.Num());
    if (Number == 0)
    {
        return;
    }
    bool bOthers = Positions.Write(RHICmdList, Surface->Positions.GetData(), Number * sizeof(FVector3f));
    bOthers |=
        PreviousPositions.Write(RHICmdList, Surface->PreviousPositions.GetData(), Number * sizeof(FVector3f));
    bOthers |= TangentsX.Write(RHICmdList, Surface->TangentsX.GetData(), Number * sizeof(FPackedNormal));
    bOthers |= TangentsZ.Write(RHICmdList, Surface->TangentsZ.GetData(), Number * sizeof(FPackedNormal));
    if (bAttributes)
    {
        bOthers |= TextureCoordinates.Write(RHICmdList, Surface->TextureCoordinates.GetData(),
                                            Number * sizeof(FVector2f));
        bOthers |= Colors.Write(RHICmdList, Surface->Colors.GetData(), Number * sizeof(FColor));
    }
    if (bOthers && VertexFactory.IsInitialized())
    {
        InitVertexFactory(RHICmdList);
    }
}

/** Binds the buffers, which are others after they have grown. */
void FMeshreelSceneProxy::InitVertexFactory([[maybe_unused]] FRHICommandListBase &RHICmdList)
{
    FGeometryCacheVertexVertexFactory::FDataType Data;
    Data.PositionComponent = FVertexStreamComponent(&Positions, 0, sizeof(FVector3f), VET_Float3);
    Data.MotionBlurDataComponent =
        FVertexStreamComponent(&PreviousPositions, 0, sizeof(FVector3f), VET_Float3);
    Data.TangentBasisComponents[0] =
        FVertexStreamComponent(&TangentsX, 0, sizeof(FPackedNormal), VET_PackedNormal);
    Data.TangentBasisComponents[1] =
        FVertexStreamComponent(&TangentsZ, 0, sizeof(FPackedNormal), VET_PackedNormal);
    Data.TextureCoordinates.Add(
        FVertexStreamComponent(&TextureCoordinates, 0, sizeof(FVector2f), VET_Float2));
    Data.ColorComponent = FVertexStreamComponent(&Colors, 0, sizeof(FColor), VET_Color);
#if ENGINE_MAJOR_VERSION == 5 && ENGINE_MINOR_VERSION < 4
    VertexFactory.SetData(Data);
#else
    VertexFactory.SetData(RHICmdList, Data);
#endif
}

uint32 FMeshreelSceneProxy::ChooseLevel(const FMeshreelNodeMesh &Mesh, const FSceneView &View,
                                        uint32 Before) const
{
    const int32 Count = Mesh.Levels.Num();
    if (Count < 2 || LodPixels <= 0.0f)
    {
        return 0;
    }
    float Errors[7];
    const int32 Used = FMath::Min(Count - 1, 7);
    for (int32 Index = 0; Index < Used; Index++)
    {
        Errors[Index] = Mesh.Levels[Index + 1].Error;
    }
    const FMatrix &Projection = View.ViewMatrices.GetProjectionMatrix();
    const FVector Center = GetLocalToWorld().TransformPosition(FVector(Mesh.Bounds.GetCenter()));
    const double Scale = GetLocalToWorld().GetMaximumAxisScale();
    // The nearest point of the node decides, so that none of it is coarser than allowed.
    const double Distance = FVector::Dist(Center, View.ViewMatrices.GetViewOrigin()) -
                            Scale * static_cast<double>(Mesh.Bounds.GetExtent().Size());
    if (!View.IsPerspectiveProjection() || Distance <= 0.0)
    {
        return 0;
    }
    const float Angle = static_cast<float>(2.0 * FMath::Atan(1.0 / Projection.M[1][1]));
    mr_lod_distances Distances{};
    uint32 Level = 0;
    const mr_status Status =
        mr_lod_within(Errors, static_cast<size_t>(Used), static_cast<float>(Scale), Angle,
                      static_cast<float>(View.UnscaledViewRect.Height()), LodPixels, &Distances);
    if (Status != MR_STATUS_OK ||
        mr_lod_at(&Distances, static_cast<float>(Distance), Before, &Level) != MR_STATUS_OK)
    {
        return 0;
    }
    return FMath::Min(Level, static_cast<uint32>(Count - 1));
}

void FMeshreelSceneProxy::GetDynamicMeshElements(const TArray<const FSceneView *> &Views,
                                                 const FSceneViewFamily &ViewFamily, uint32 VisibilityMap,
                                                 FMeshElementCollector &Collector) const
{
    FColoredMaterialRenderProxy *Wireframe = nullptr;
    if (AllowDebugViewmodes() && ViewFamily.EngineShowFlags.Wireframe)
    {
        Wireframe = new FColoredMaterialRenderProxy(
            GEngine->WireframeMaterial != nullptr ? GEngine->WireframeMaterial->GetRenderProxy() : nullptr,
            FLinearColor(0.0f, 0.5f, 1.0f));
        Collector.RegisterOneFrameMaterialProxy(Wireframe);
    }
    for (int32 ViewIndex = 0; ViewIndex < Views.Num(); ViewIndex++)
    {
        if ((VisibilityMap & (1u << ViewIndex)) == 0)
        {
            continue;
        }
        for (const FMeshreelNodeMesh &Mesh : Surface->Nodes)
        {
            uint32 &Level = Levels.FindOrAdd(Mesh.Node);
            Level = ChooseLevel(Mesh, *Views[ViewIndex], Level);
            for (const FMeshreelSection &Section : Mesh.Levels[static_cast<int32>(Level)].Sections)
            {
                AddSection(Mesh, Section, ViewIndex, Wireframe, Collector);
            }
        }
    }
}

void FMeshreelSceneProxy::AddSection(const FMeshreelNodeMesh &Mesh, const FMeshreelSection &Section,
                                     int32 ViewIndex, const FMaterialRenderProxy *Wireframe,
                                     FMeshElementCollector &Collector) const
{
    const bool bMoves = Surface->bHasMotion && ShownInFrame == GFrameNumberRenderThread;
    const FMeshreelVertexBuffer &Motion = bMoves ? PreviousPositions : Positions;
    FMeshreelUserData &User = Collector.AllocateOneFrameResource<FMeshreelUserData>();
    FGeometryCacheVertexFactoryUserData &Data = User.Data;
    Data.MeshOrigin = FVector3f::ZeroVector;
    Data.MeshExtension = FVector3f::OneVector;
    // The motion data are positions: previous = data · 1 + 0 + position · 0.
    Data.MotionBlurDataOrigin = FVector3f::ZeroVector;
    Data.MotionBlurDataExtension = FVector3f::OneVector;
    Data.MotionBlurPositionScale = 0.0f;
    Data.PositionBuffer = &Positions;
    Data.MotionBlurDataBuffer = &Motion;
    Data.PositionSRV = Positions.GetView();
    Data.MotionBlurDataSRV = Motion.GetView();
    Data.TangentXSRV = TangentsX.GetView();
    Data.TangentZSRV = TangentsZ.GetView();
    Data.TexCoordsSRV = TextureCoordinates.GetView();
    Data.ColorSRV = Colors.GetView();
#if ENGINE_MAJOR_VERSION == 5 && ENGINE_MINOR_VERSION < 4
    FRHICommandListBase &RHICmdList = FRHICommandListImmediate::Get();
#else
    FRHICommandListBase &RHICmdList = Collector.GetRHICommandList();
#endif
    VertexFactory.CreateManualVertexFetchUniformBuffer(RHICmdList, &Positions, &Motion, Data);
    FGeometryCacheVertexFactoryUniformBufferParameters Parameters;
    Parameters.MeshOrigin = Data.MeshOrigin;
    Parameters.MeshExtension = Data.MeshExtension;
    Parameters.MotionBlurDataOrigin = Data.MotionBlurDataOrigin;
    Parameters.MotionBlurDataExtension = Data.MotionBlurDataExtension;
    Parameters.MotionBlurPositionScale = Data.MotionBlurPositionScale;
    Data.UniformBuffer = FGeometryCacheVertexFactoryUniformBufferParametersRef::CreateUniformBufferImmediate(
        Parameters, UniformBuffer_SingleFrame);

    FMeshBatch &Batch = Collector.AllocateMesh();
    FMeshBatchElement &Element = Batch.Elements[0];
    const int32 Index = Materials.IsValidIndex(Section.MaterialIndex) ? Section.MaterialIndex : 0;
    Batch.bWireframe = Wireframe != nullptr;
    Batch.MaterialRenderProxy = Wireframe != nullptr ? Wireframe : Materials[Index]->GetRenderProxy();
    Batch.VertexFactory = &VertexFactory;
    Batch.ReverseCulling = IsLocalToWorldDeterminantNegative();
    Batch.Type = PT_TriangleList;
    Batch.DepthPriorityGroup = SDPG_World;
    Batch.bCanApplyViewModeOverrides = true;
    Batch.SegmentIndex = static_cast<uint8>(FMath::Min(Section.MaterialIndex, 255));
    Element.IndexBuffer = &Indices;
    Element.FirstIndex = Section.FirstIndex;
    Element.NumPrimitives = Section.NumTriangles;
    Element.MinVertexIndex = Mesh.FirstVertex;
    Element.MaxVertexIndex = Mesh.FirstVertex + Mesh.NumVertices - 1;
    Element.PrimitiveUniformBuffer = GetUniformBuffer();
    Element.VertexFactoryUserData = &Data;
    Collector.AddMesh(ViewIndex, Batch);
}

FPrimitiveViewRelevance FMeshreelSceneProxy::GetViewRelevance(const FSceneView *View) const
{
    FPrimitiveViewRelevance Result;
    Result.bDrawRelevance = IsShown(View);
    Result.bShadowRelevance = IsShadowCast(View);
    Result.bDynamicRelevance = true;
    Result.bRenderInMainPass = ShouldRenderInMainPass();
    Result.bUsesLightingChannels = GetLightingChannelMask() != GetDefaultLightingChannelMask();
    Result.bRenderCustomDepth = ShouldRenderCustomDepth();
    MaterialRelevance.SetPrimitiveViewRelevance(Result);
    Result.bVelocityRelevance = DrawsVelocity() && Result.bOpaque && Result.bRenderInMainPass;
    return Result;
}

bool FMeshreelSceneProxy::CanBeOccluded() const { return !MaterialRelevance.bDisableDepthTest; }
