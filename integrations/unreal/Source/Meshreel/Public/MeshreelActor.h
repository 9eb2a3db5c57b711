// An actor that plays a .reel file; assets that are dragged into a level become one.
#pragma once

#include "CoreMinimal.h"
#include "GameFramework/Actor.h"
#include "MeshreelActor.generated.h"

class UMeshreelComponent;

UCLASS(ComponentWrapperClass)
class MESHREEL_API AMeshreelActor : public AActor
{
    GENERATED_BODY()

  public:
    AMeshreelActor();

    UFUNCTION(BlueprintPure, Category = "meshreel")
    UMeshreelComponent *GetMeshreelComponent() const { return MeshreelComponent; }

  private:
    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel", meta = (AllowPrivateAccess = "true"))
    TObjectPtr<UMeshreelComponent> MeshreelComponent;
};
