// Thumbnails of assets in the content browser.
#pragma once

#include "CoreMinimal.h"
#include "ThumbnailHelpers.h"
#include "ThumbnailRendering/DefaultSizedThumbnailRenderer.h"
#include "MeshreelThumbnail.generated.h"

class AActor;
class UMeshreelAsset;
class UMeshreelGeometryCacheComponent;

/** The small scene of a thumbnail: the first frame, decoded at once. */
class FMeshreelThumbnailScene : public FThumbnailPreviewScene
{
  public:
    FMeshreelThumbnailScene();
    void SetAsset(UMeshreelAsset *Asset);

  protected:
    virtual void GetViewMatrixParameters(const float InFOVDegrees, FVector &OutOrigin, float &OutOrbitPitch,
                                         float &OutOrbitYaw, float &OutOrbitZoom) const override;

  private:
    AActor *Actor = nullptr;
    UMeshreelGeometryCacheComponent *Component = nullptr;
};

UCLASS(MinimalAPI)
class UMeshreelThumbnailRenderer : public UDefaultSizedThumbnailRenderer
{
    GENERATED_BODY()

  public:
    virtual bool CanVisualizeAsset(UObject *Object) override;
    virtual void Draw(UObject *Object, int32 X, int32 Y, uint32 Width, uint32 Height, FRenderTarget *Viewport,
                      FCanvas *Canvas, bool bAdditionalViewFamily) override;
    virtual void BeginDestroy() override;

  private:
    TUniquePtr<FMeshreelThumbnailScene> Scene;
};
