// A row of assets, as along a street: copy both files into the source folder of a project. README.md has the
// steps.
#pragma once

#include "CoreMinimal.h"
#include "GameFramework/Actor.h"
#include "MeshreelStreet.generated.h"

class UMeshreelAsset;
class UMeshreelComponent;

/** Plays each of its assets, side by side, in a loop; the heap of the world serves those that come first,
 * first. */
UCLASS()
class AMeshreelStreet : public AActor
{
    GENERATED_BODY()

  public:
    AMeshreelStreet();

    UPROPERTY(EditAnywhere, Category = "Street")
    TArray<TObjectPtr<UMeshreelAsset>> Assets;

    /** How often the row is repeated: more of the same asset cost no more decoding at the same time of
     * animation. */
    UPROPERTY(EditAnywhere, Category = "Street", meta = (ClampMin = "1"))
    int32 Rows = 1;

    /** Centimetres from one to the next. */
    UPROPERTY(EditAnywhere, Category = "Street")
    double Spacing = 400.0;

    /** Seconds by which each row starts later. */
    UPROPERTY(EditAnywhere, Category = "Street")
    double Offset = 0.0;

    UFUNCTION(BlueprintPure, Category = "Street")
    TArray<UMeshreelComponent *> GetPlayers() const;

    /** The number of components whose first frame is shown. */
    UFUNCTION(BlueprintPure, Category = "Street")
    int32 GetNumReady() const { return NumReady; }

    virtual void BeginPlay() override;

  private:
    UFUNCTION()
    void PlayerReady(UMeshreelComponent *Component);

    UFUNCTION()
    void PlayerFailed(UMeshreelComponent *Component, const FString &Error);

    UPROPERTY()
    TArray<TObjectPtr<UMeshreelComponent>> Players;

    int32 NumReady = 0;
};
