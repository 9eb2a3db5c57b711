// Imports .reel files, and files of content tools, which the program `meshreel` compiles.
#pragma once

#include "CoreMinimal.h"
#include "EditorReimportHandler.h"
#include "Factories/Factory.h"
#include "MeshreelFactory.generated.h"

class UMeshreelAsset;
class UMeshreelImportOptions;

UCLASS(hidecategories = (Object))
class MESHREELEDITOR_API UMeshreelFactory : public UFactory, public FReimportHandler
{
    GENERATED_BODY()

  public:
    UMeshreelFactory();

    /** The options of the next import; the dialog changes them. */
    UPROPERTY()
    TObjectPtr<UMeshreelImportOptions> Options;

    virtual bool FactoryCanImport(const FString &Filename) override;
    virtual UObject *FactoryCreateFile(UClass *InClass, UObject *InParent, FName InName, EObjectFlags Flags,
                                       const FString &Filename, const TCHAR *Parms, FFeedbackContext *Warn,
                                       bool &bOutOperationCanceled) override;

    virtual bool CanReimport(UObject *Obj, TArray<FString> &OutFilenames) override;
    virtual void SetReimportPaths(UObject *Obj, const TArray<FString> &NewReimportPaths) override;
    virtual EReimportResult::Type Reimport(UObject *Obj) override;

    /** Whether the program has to compile files of that name before they can be played. */
    static bool NeedsCompile(const FString &Filename);

  private:
    /** Shows the options; returns false if the dialog was closed without a confirmation. */
    bool AskOptions(const FString &Filename);
    /** Fills an asset from a file. */
    bool Import(UMeshreelAsset &Asset, const FString &Filename, const FString &Arguments, bool bStream,
                bool &bOutCanceled);
    bool Compile(const FString &Filename, const FString &Output, const FString &Arguments,
                 bool &bOutCanceled);
};
