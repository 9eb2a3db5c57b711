// The dialog of the importer.
#pragma once

#include "CoreMinimal.h"

class UMeshreelImportOptions;

struct FMeshreelImportDialog
{
    /** Shows the options in a details view; returns whether they were confirmed. */
    static bool Show(UMeshreelImportOptions &Options, const FString &Filename);
};
