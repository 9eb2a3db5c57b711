#include "MeshreelActorFactory.h"

#include "AssetRegistry/AssetData.h"
#include "MeshreelActor.h"
#include "MeshreelAsset.h"
#include "MeshreelComponent.h"

#define LOCTEXT_NAMESPACE "Meshreel"

UMeshreelActorFactory::UMeshreelActorFactory()
{
    DisplayName = LOCTEXT("ActorName", "meshreel");
    NewActorClass = AMeshreelActor::StaticClass();
}

bool UMeshreelActorFactory::CanCreateActorFrom(const FAssetData &AssetData, FText &OutErrorMsg)
{
    if (AssetData.IsValid() && !AssetData.IsInstanceOf(UMeshreelAsset::StaticClass()))
    {
        OutErrorMsg = LOCTEXT("NoAsset", "A valid meshreel asset must be specified.");
        return false;
    }
    return true;
}

void UMeshreelActorFactory::PostSpawnActor(UObject *Asset, AActor *NewActor)
{
    Super::PostSpawnActor(Asset, NewActor);
    if (AMeshreelActor *Actor = Cast<AMeshreelActor>(NewActor))
    {
        Actor->GetMeshreelComponent()->SetAsset(Cast<UMeshreelAsset>(Asset));
    }
}

UObject *UMeshreelActorFactory::GetAssetFromActorInstance(AActor *ActorInstance)
{
    const AMeshreelActor *Actor = Cast<AMeshreelActor>(ActorInstance);
    return Actor != nullptr ? Actor->GetMeshreelComponent()->GetAsset() : nullptr;
}

#undef LOCTEXT_NAMESPACE
