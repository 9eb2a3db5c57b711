// The renderer's side of the component. It lives on the rendering thread.
#pragma once

#include "CoreMinimal.h"
#include "GeometryCacheVertexFactory.h"
#include "Materials/MaterialRelevance.h"
#include "MeshreelSurface.h"
#include "PrimitiveSceneProxy.h"
#include "RenderResource.h"

class UMaterialInterface;
class UMeshreelComponent;

using FMeshreelSurfacePtr = TSharedPtr<const FMeshreelSurface, ESPMode::ThreadSafe>;

/**
 * A vertex buffer that is written anew each frame, with a view for shaders that fetch vertices themselves.
 */
class FMeshreelVertexBuffer : public FVertexBuffer
{
  public:
    /** `Format` is that of the view, whose elements have `Stride` bytes. */
    FMeshreelVertexBuffer(EPixelFormat InFormat, uint32 InStride) : Format(InFormat), Stride(InStride) {}

    /**
     * Copies the data, into a larger buffer if there is no room. Returns whether the buffer is another one.
     */
    bool Write(FRHICommandListBase &RHICmdList, const void *Data, uint32 Bytes);
    FRHIShaderResourceView *GetView() const { return View; }

    virtual void ReleaseRHI() override;

  private:
    EPixelFormat Format;
    uint32 Stride;
    uint32 Capacity = 0;
    FShaderResourceViewRHIRef View;
};

/** Indices of all levels of all nodes; written when the triangles change. */
class FMeshreelIndexBuffer : public FIndexBuffer
{
  public:
    void Write(FRHICommandListBase &RHICmdList, const TArray<uint32> &Indices);

  private:
    uint32 Capacity = 0;
};

/** Draws one surface, with a level of detail for each view and node. */
class FMeshreelSceneProxy : public FPrimitiveSceneProxy
{
  public:
    FMeshreelSceneProxy(const UMeshreelComponent &Component, FMeshreelSurfacePtr First);
    virtual ~FMeshreelSceneProxy() override;

    /** Takes the surface of a new moment. */
    void Show(FRHICommandListBase &RHICmdList, FMeshreelSurfacePtr Next);

    virtual SIZE_T GetTypeHash() const override;
    virtual uint32 GetMemoryFootprint() const override;
#if ENGINE_MAJOR_VERSION == 5 && ENGINE_MINOR_VERSION < 4
    virtual void CreateRenderThreadResources() override;
#else
    virtual void CreateRenderThreadResources(FRHICommandListBase &RHICmdList) override;
#endif
    virtual void GetDynamicMeshElements(const TArray<const FSceneView *> &Views,
                                        const FSceneViewFamily &ViewFamily, uint32 VisibilityMap,
                                        FMeshElementCollector &Collector) const override;
    virtual FPrimitiveViewRelevance GetViewRelevance(const FSceneView *View) const override;
    virtual bool CanBeOccluded() const override;

    /** The level of detail of a node in a view. */
    uint32 ChooseLevel(const FMeshreelNodeMesh &Mesh, const FSceneView &View, uint32 Before) const;

  private:
    void Upload(FRHICommandListBase &RHICmdList, bool bAttributes);
    void InitVertexFactory(FRHICommandListBase &RHICmdList);
    void AddSection(const FMeshreelNodeMesh &Mesh, const FMeshreelSection &Section, int32 ViewIndex,
                    const FMaterialRenderProxy *Wireframe, FMeshElementCollector &Collector) const;

    FMeshreelSurfacePtr Surface;
    FMeshreelVertexBuffer Positions, PreviousPositions, TangentsX, TangentsZ, TextureCoordinates, Colors;
    FMeshreelIndexBuffer Indices;
    FGeometryCacheVertexVertexFactory VertexFactory;
    TArray<UMaterialInterface *> Materials;
    FMaterialRelevance MaterialRelevance;
    float LodPixels = 1.0f;
    /** The rendered frame for which the last surface was given: only in that one its vertices have moved. */
    uint32 ShownInFrame = 0;
    /** The levels chosen before, by the number of the node: they give the choice its hysteresis. */
    mutable TMap<uint32, uint32> Levels;
};
