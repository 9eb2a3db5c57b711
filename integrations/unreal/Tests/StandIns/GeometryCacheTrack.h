#pragma once
#include "GeometryCacheMeshData.h"

struct FVisibilitySample
{
    explicit FVisibilitySample(bool bVisible) : bVisibilityState(bVisible) {}
    bool bVisibilityState;
    static const FVisibilitySample VisibleSample, InvisibleSample;
};
inline const FVisibilitySample FVisibilitySample::VisibleSample{true};
inline const FVisibilitySample FVisibilitySample::InvisibleSample{false};

struct FGeometryCacheTrackSampleInfo
{
    float SampleTime = 0.0f;
    FBox BoundingBox = FBox(ForceInit);
    int32 NumVertices = 0, NumIndices = 0;
    FGeometryCacheTrackSampleInfo() = default;
    FGeometryCacheTrackSampleInfo(float SetTime, FBox SetBox, int32 SetVertices, int32 SetIndices)
        : SampleTime(SetTime), BoundingBox(SetBox), NumVertices(SetVertices), NumIndices(SetIndices)
    {
    }
};

class UGeometryCacheTrack : public UObject
{
  public:
    static UClass *StaticClass()
    {
        static UClass Class("GeometryCacheTrack");
        return &Class;
    }
    virtual const bool UpdateMeshData(const float, const bool, int32 &, FGeometryCacheMeshData *&)
    {
        return false;
    }
    virtual bool GetMeshDataAtTime(float, FGeometryCacheMeshData &) { return false; }
    virtual bool GetMeshDataAtSampleIndex(int32, FGeometryCacheMeshData &) { return false; }
    virtual const bool UpdateMatrixData(const float, const bool, int32 &, FMatrix &) { return false; }
    virtual const bool UpdateBoundsData(const float, const bool, const bool, int32 &, FBox &)
    {
        return false;
    }
    virtual const FGeometryCacheTrackSampleInfo &GetSampleInfo(float, const bool)
    {
        static const FGeometryCacheTrackSampleInfo Empty;
        return Empty;
    }
    virtual const float GetMaxSampleTime() const { return 0.0f; }
    virtual void AddMatrixSample(const FMatrix &Matrix, const float SampleTime)
    {
        MatrixSamples.Add(Matrix);
        Duration = FMath::Max(Duration, SampleTime);
    }
    float GetDuration() const { return Duration; }

  protected:
    float Duration = 0.0f;
    TArray<FMatrix> MatrixSamples;
    uint32 NumMaterials = 0;
};
