#include "MeshreelThumbnail.h"

#include "CanvasTypes.h"
#include "Engine/World.h"
#include "GameFramework/Actor.h"
#include "MeshreelAsset.h"
#include "MeshreelGeometryCache.h"
#include "SceneView.h"
#include "ThumbnailRendering/SceneThumbnailInfo.h"

FMeshreelThumbnailScene::FMeshreelThumbnailScene()
{
    bForceAllUsedMipsResident = false;
    FActorSpawnParameters Parameters;
    Parameters.SpawnCollisionHandlingOverride = ESpawnActorCollisionHandlingMethod::AlwaysSpawn;
    Parameters.bNoFail = true;
    Parameters.ObjectFlags = RF_Transient;
    Actor = GetWorld()->SpawnActor<AActor>(Parameters);
    Component = NewObject<UMeshreelGeometryCacheComponent>(Actor);
    Actor->SetRootComponent(Component);
    Component->RegisterComponent();
    Actor->SetActorEnableCollision(false);
}

void FMeshreelThumbnailScene::SetAsset(UMeshreelAsset *Asset)
{
    Component->SetAsset(Asset);
    // The mesh stands on the floor of the scene.
    const double Height = Component->Bounds.Origin.Z - Component->Bounds.BoxExtent.Z;
    Component->SetRelativeLocation(FVector(0.0, 0.0, -Height));
    Component->UpdateBounds();
    Component->MarkRenderStateDirty();
}

void FMeshreelThumbnailScene::GetViewMatrixParameters(const float InFOVDegrees, FVector &OutOrigin,
                                                      float &OutOrbitPitch, float &OutOrbitYaw,
                                                      float &OutOrbitZoom) const
{
    const double HalfAngle = FMath::DegreesToRadians(static_cast<double>(InFOVDegrees)) * 0.5;
    const USceneThumbnailInfo *Info =
        USceneThumbnailInfo::StaticClass()->GetDefaultObject<USceneThumbnailInfo>();
    const double Radius = FMath::Max(Component->Bounds.SphereRadius * 1.05, 1.0);
    OutOrigin = -Component->Bounds.Origin;
    OutOrbitPitch = Info->OrbitPitch;
    OutOrbitYaw = Info->OrbitYaw;
    OutOrbitZoom = static_cast<float>(Radius / FMath::Tan(HalfAngle)) + Info->OrbitZoom;
}

bool UMeshreelThumbnailRenderer::CanVisualizeAsset(UObject *Object)
{
    const UMeshreelAsset *Asset = Cast<UMeshreelAsset>(Object);
    return Asset != nullptr && Asset->Info.Frames > 0 && Asset->Info.Meshes > 0;
}

void UMeshreelThumbnailRenderer::Draw(UObject *Object, int32 X, int32 Y, uint32 Width, uint32 Height,
                                      FRenderTarget *Viewport, FCanvas *Canvas, bool bAdditionalViewFamily)
{
    UMeshreelAsset *Asset = Cast<UMeshreelAsset>(Object);
    if (Asset == nullptr || !CanVisualizeAsset(Object))
    {
        return;
    }
    if (!Scene.IsValid())
    {
        Scene = MakeUnique<FMeshreelThumbnailScene>();
    }
    Scene->SetAsset(Asset);
    FSceneViewFamilyContext Family(
        FSceneViewFamily::ConstructionValues(Viewport, Scene->GetScene(), FEngineShowFlags(ESFIM_Game))
            .SetTime(UThumbnailRenderer::GetTime())
            .SetAdditionalViewFamily(bAdditionalViewFamily));
    Family.EngineShowFlags.DisableAdvancedFeatures();
    Family.EngineShowFlags.MotionBlur = 0;
    RenderViewFamily(Canvas, &Family, Scene->CreateView(&Family, X, Y, Width, Height));
    Scene->SetAsset(nullptr);
}

void UMeshreelThumbnailRenderer::BeginDestroy()
{
    Scene.Reset();
    Super::BeginDestroy();
}
