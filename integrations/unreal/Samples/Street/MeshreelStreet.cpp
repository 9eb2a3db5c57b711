#include "MeshreelStreet.h"

#include "MeshreelAsset.h"
#include "MeshreelComponent.h"

AMeshreelStreet::AMeshreelStreet() { RootComponent = CreateDefaultSubobject<USceneComponent>(TEXT("Root")); }

void AMeshreelStreet::BeginPlay()
{
    Super::BeginPlay();
    for (int32 Row = 0; Row < Rows; Row++)
    {
        for (int32 Index = 0; Index < Assets.Num(); Index++)
        {
            UMeshreelComponent *Player = NewObject<UMeshreelComponent>(this);
            Player->SetupAttachment(RootComponent);
            Player->SetRelativeLocation(FVector(Spacing * Row, Spacing * Index, 0.0));
            Player->Priority = -Index;
            Player->SetRepeat(EMeshreelRepeat::Loop);
            Player->OnReady.AddDynamic(this, &AMeshreelStreet::PlayerReady);
            Player->OnFailed.AddDynamic(this, &AMeshreelStreet::PlayerFailed);
            Player->SetAsset(Assets[Index]);
            Player->RegisterComponent();
            Player->SetDelay(Offset * Row);
            Players.Add(Player);
        }
    }
}

TArray<UMeshreelComponent *> AMeshreelStreet::GetPlayers() const
{
    TArray<UMeshreelComponent *> Out;
    for (const TObjectPtr<UMeshreelComponent> &Player : Players)
    {
        Out.Add(Player);
    }
    return Out;
}

void AMeshreelStreet::PlayerReady(UMeshreelComponent *) { NumReady++; }

void AMeshreelStreet::PlayerFailed(UMeshreelComponent *Component, const FString &)
{
    // The plugin has logged the reason; a player that shows nothing is hidden, so that it costs nothing.
    Component->SetVisibility(Component->IsReady());
}
