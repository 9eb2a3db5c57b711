#pragma once
#include "CoreMinimal.h"

class UDeveloperSettings : public UObject
{
};
