#include "MeshreelActor.h"

#include "MeshreelComponent.h"

AMeshreelActor::AMeshreelActor()
{
    MeshreelComponent = CreateDefaultSubobject<UMeshreelComponent>(TEXT("MeshreelComponent"));
    RootComponent = MeshreelComponent;
}
