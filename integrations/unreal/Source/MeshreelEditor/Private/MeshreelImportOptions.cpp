#include "MeshreelImportOptions.h"

FString UMeshreelImportOptions::ToArguments() const
{
    FString Out = Preset == EMeshreelPreset::Fast ? TEXT("--preset fast") : TEXT("--preset small");
    Out += FString::Printf(TEXT(" --effort %d"), FMath::Clamp(Effort, 1, 9));
    if (!Tolerance.IsEmpty())
    {
        Out += FString::Printf(TEXT(" --tolerance \"%s\""), *Tolerance);
    }
    if (!Unit.IsEmpty())
    {
        Out += FString::Printf(TEXT(" --unit \"%s\""), *Unit);
    }
    if (Rig != EMeshreelRig::Bake)
    {
        Out += Rig == EMeshreelRig::Keep ? TEXT(" --rig keep") : TEXT(" --rig only");
    }
    if (LodLevels > 0)
    {
        Out += FString::Printf(TEXT(" --lod %d"), FMath::Clamp(LodLevels, 1, 7));
    }
    Out += bCullHidden ? TEXT(" --cull-hidden") : TEXT("");
    Out += bCycle ? TEXT(" --cycle") : TEXT("");
    if (!Include.IsEmpty())
    {
        Out += FString::Printf(TEXT(" --include \"%s\""), *Include);
    }
    if (!MoreOptions.IsEmpty())
    {
        Out += TEXT(" ") + MoreOptions;
    }
    return Out;
}
