// Feeds the renderer of geometry caches from meshreel tracks.
#pragma once

#include "GeometryCacheSceneProxy.h"
#include "MeshreelGeometryCache.h"

/** The rendering thread's side of a track. */
class FMeshreelTrackProxy : public FGeomCacheTrackProxy
{
  public:
    explicit FMeshreelTrackProxy(ERHIFeatureLevel::Type FeatureLevel) : FGeomCacheTrackProxy(FeatureLevel) {}

    virtual bool UpdateMeshData(float Time, bool bLooping, int32 &InOutMeshSampleIndex,
                                FGeometryCacheMeshData &OutMeshData) override;
    virtual bool GetMeshData(int32 SampleIndex, FGeometryCacheMeshData &OutMeshData) override;
    virtual bool IsTopologyCompatible(int32 SampleIndexA, int32 SampleIndexB) override;
    virtual const FVisibilitySample &GetVisibilitySample(float Time, const bool bLooping) const override;
    virtual void FindSampleIndexesFromTime(float Time, bool bLooping, bool bIsPlayingBackwards,
                                           int32 &OutFrameIndex, int32 &OutNextFrameIndex,
                                           float &InInterpolationFactor) override;

  private:
    UMeshreelGeometryCacheTrack *GetTrack() const { return Cast<UMeshreelGeometryCacheTrack>(Track); }
};

class FMeshreelGeometryCacheSceneProxy : public FGeometryCacheSceneProxy
{
  public:
    explicit FMeshreelGeometryCacheSceneProxy(UGeometryCacheComponent *Component)
        : FGeometryCacheSceneProxy(Component, [this]() -> FGeomCacheTrackProxy *
                                   { return new FMeshreelTrackProxy(GetScene().GetFeatureLevel()); })
    {
    }
};
