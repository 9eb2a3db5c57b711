// .reel files as geometry caches, for Sequencer and Movie Render Queue: frames are decoded at the moment they
// are asked for, so none is ever late. A track decodes its own frames; the file is open once for all tracks
// of an asset.
#pragma once

#include "CoreMinimal.h"
#include "GeometryCacheComponent.h"
#include "GeometryCacheMeshData.h"
#include "GeometryCacheTrack.h"
#include "MeshreelAsset.h"
#include "MeshreelGeometryCache.generated.h"

class UGeometryCache;

/** Decodes frames of one node's mesh into the structures of geometry caches. One thread at a time uses it. */
class MESHREEL_API FMeshreelTrackDecoder
{
  public:
    bool Open(UMeshreelAsset &Asset, uint32 Node);
    bool IsOpen() const { return Decoder.IsValid(); }

    /** Where it fails, the mesh stays what it is: the last good frame. */
    bool Decode(int32 Frame, FGeometryCacheMeshData &Out);

    /** Whether the node's mesh is shown in the frame that was decoded last. */
    bool IsVisible() const { return bVisible; }

  private:
    bool IsShown() const;

    FMeshreelDecoder Decoder;
    const mr_frame *Shown = nullptr;
    FMeshreelOpenFilePtr File;
    FMeshreelReader Reader;
    FMeshreelSurface Surface;
    uint32 Node = 0;
    bool bVisible = false;
};

/** The track of one node with a mesh. */
UCLASS(hidecategories = (Object))
class MESHREEL_API UMeshreelGeometryCacheTrack : public UGeometryCacheTrack
{
    GENERATED_BODY()

  public:
    UPROPERTY(VisibleAnywhere, Category = "meshreel")
    TObjectPtr<UMeshreelAsset> Asset = nullptr;

    UPROPERTY(VisibleAnywhere, Category = "meshreel")
    int32 Node = 0;

    /** Opens the file and reads its times. Returns false, with an error in the log, if that is impossible. */
    bool Setup(UMeshreelAsset *InAsset, int32 InNode);

    /** The frame shown at a time, the next one, and the weight of the next one. */
    void FindFrames(float Time, bool bLooping, int32 &Frame, int32 &Next, float &Weight);

    /** Whether the two frames have the same vertices and triangles. */
    bool HasSameTopology(int32 FrameA, int32 FrameB);

    /** Whether the mesh is shown at a time. */
    bool IsVisibleAt(float Time, bool bLooping);

    int32 GetNumFrames();

    virtual const bool UpdateMeshData(const float Time, const bool bLooping, int32 &InOutMeshSampleIndex,
                                      FGeometryCacheMeshData *&OutMeshData) override;
    virtual bool GetMeshDataAtTime(float Time, FGeometryCacheMeshData &OutMeshData) override;
    virtual bool GetMeshDataAtSampleIndex(int32 SampleIndex, FGeometryCacheMeshData &OutMeshData) override;
    virtual const bool UpdateMatrixData(const float Time, const bool bLooping, int32 &InOutMatrixSampleIndex,
                                        FMatrix &OutWorldMatrix) override;
    virtual const bool UpdateBoundsData(const float Time, const bool bLooping, const bool bIsPlayingBackward,
                                        int32 &InOutBoundsSampleIndex, FBox &OutBounds) override;
    virtual const FGeometryCacheTrackSampleInfo &GetSampleInfo(float Time, const bool bLooping) override;
    virtual const float GetMaxSampleTime() const override;
    virtual void PostLoad() override;

  private:
    bool Prepare();
    bool Decode(int32 Frame);

    FMeshreelTrackDecoder Decoder;
    /** The last frame that was decoded. */
    FGeometryCacheMeshData Mesh;
    int32 MeshFrame = -1;
    bool bMeshVisible = false;
    bool bFluid = false;
    bool bRefused = false;
    FGeometryCacheTrackSampleInfo SampleInfo;
    TArray<float> Times;
    /** The game and the rendering thread ask for frames. */
    FCriticalSection Section;
};

/** A geometry cache component whose renderer takes its meshes from meshreel tracks. Sequencer animates it as
 * any other. */
UCLASS(ClassGroup = (Rendering), meta = (BlueprintSpawnableComponent), hidecategories = (Object, LOD))
class MESHREEL_API UMeshreelGeometryCacheComponent : public UGeometryCacheComponent
{
    GENERATED_BODY()

  public:
    /** Shows a .reel file: creates a geometry cache of it that lives as long as the component. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    bool SetAsset(UMeshreelAsset *Asset);

    /** Creates a geometry cache with one track for each node that has a mesh. Null if the file cannot be
     * opened. */
    static UGeometryCache *CreateCache(UMeshreelAsset &Asset, UObject *Outer, FName Name);

    virtual FPrimitiveSceneProxy *CreateSceneProxy() override;
};
