// Makes an actor of an asset that is dragged into a level.
#pragma once

#include "ActorFactories/ActorFactory.h"
#include "CoreMinimal.h"
#include "MeshreelActorFactory.generated.h"

UCLASS(MinimalAPI, Config = Editor)
class UMeshreelActorFactory : public UActorFactory
{
    GENERATED_BODY()

  public:
    UMeshreelActorFactory();

    virtual bool CanCreateActorFrom(const FAssetData &AssetData, FText &OutErrorMsg) override;
    virtual void PostSpawnActor(UObject *Asset, AActor *NewActor) override;
    virtual UObject *GetAssetFromActorInstance(AActor *ActorInstance) override;
};
