#pragma once
#include "GeometryCacheComponent.h"

class FGeomCacheTrackProxy
{
  public:
    explicit FGeomCacheTrackProxy(ERHIFeatureLevel::Type) {}
    virtual ~FGeomCacheTrackProxy() = default;
    virtual bool UpdateMeshData(float, bool, int32 &, FGeometryCacheMeshData &) { return false; }
    virtual bool GetMeshData(int32, FGeometryCacheMeshData &) { return false; }
    virtual bool IsTopologyCompatible(int32, int32) { return false; }
    virtual const FVisibilitySample &GetVisibilitySample(float, const bool) const
    {
        return FVisibilitySample::InvisibleSample;
    }
    virtual void FindSampleIndexesFromTime(float, bool, bool, int32 &, int32 &, float &) {}
    UGeometryCacheTrack *Track = nullptr;
};
class FGeometryCacheSceneProxy : public FPrimitiveSceneProxy
{
  public:
    FGeometryCacheSceneProxy(UGeometryCacheComponent *Component, TFunction<FGeomCacheTrackProxy *()> Creator)
        : FPrimitiveSceneProxy(Component)
    {
        for (const TObjectPtr<UGeometryCacheTrack> &Each : Component->GeometryCache->Tracks)
        {
            Tracks.emplace_back(Creator());
            Tracks.back()->Track = Each;
        }
    }
    virtual SIZE_T GetTypeHash() const override { return 0; }
    virtual uint32 GetMemoryFootprint() const override { return 0; }
    std::vector<std::unique_ptr<FGeomCacheTrackProxy>> Tracks;
};
