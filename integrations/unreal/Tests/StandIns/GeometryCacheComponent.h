#pragma once
#include "Components/MeshComponent.h"
#include "GeometryCacheTrack.h"

class UGeometryCache : public UObject
{
  public:
    TArray<TObjectPtr<UMaterialInterface>> Materials;
    TArray<FName> MaterialSlotNames;
    TArray<TObjectPtr<UGeometryCacheTrack>> Tracks;
    int32 StartFrame = 0, EndFrame = 0;
    void AddTrack(UGeometryCacheTrack *Track) { Tracks.Add(Track); }
    void SetFrameStartEnd(int32 Start, int32 End)
    {
        StartFrame = Start;
        EndFrame = End;
    }
};

class UGeometryCacheComponent : public UMeshComponent
{
  public:
    TObjectPtr<UGeometryCache> GeometryCache;
    bool SetGeometryCache(UGeometryCache *Cache)
    {
        const bool bNew = GeometryCache.Get() != Cache;
        GeometryCache = Cache;
        if (IsRegistered())
        {
            MarkRenderStateDirty();
        }
        return bNew;
    }
    virtual FBoxSphereBounds CalcBounds(const FTransform &LocalToWorld) const override
    {
        FBox Box(ForceInit);
        for (int32 Track = 0; GeometryCache != nullptr && Track < GeometryCache->Tracks.Num(); Track++)
        {
            Box += GeometryCache->Tracks[Track]->GetSampleInfo(0.0f, false).BoundingBox;
        }
        return FBoxSphereBounds(Box).TransformBy(LocalToWorld);
    }
};
