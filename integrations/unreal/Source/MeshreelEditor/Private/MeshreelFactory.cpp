#include "MeshreelFactory.h"

#include "EditorFramework/AssetImportData.h"
#include "HAL/FileManager.h"
#include "MeshreelAsset.h"
#include "MeshreelImportDialog.h"
#include "MeshreelImportOptions.h"
#include "MeshreelProgram.h"
#include "Misc/FeedbackContext.h"
#include "Misc/FileHelper.h"
#include "Misc/Guid.h"
#include "Misc/Paths.h"
#include "Misc/ScopedSlowTask.h"

#define LOCTEXT_NAMESPACE "Meshreel"

UMeshreelFactory::UMeshreelFactory()
{
    SupportedClass = UMeshreelAsset::StaticClass();
    bCreateNew = false;
    bEditorImport = true;
    // The engine's own importers of these files stay the first choice; this one is offered beside them.
    ImportPriority = DefaultImportPriority - 1;
    Formats.Add(TEXT("reel;meshreel"));
    Formats.Add(TEXT("abc;Alembic, compiled by meshreel"));
    Formats.Add(TEXT("usd;USD, compiled by meshreel"));
    Formats.Add(TEXT("usda;USD, compiled by meshreel"));
    Formats.Add(TEXT("usdc;USD, compiled by meshreel"));
    Formats.Add(TEXT("usdz;USD, compiled by meshreel"));
    Formats.Add(TEXT("glb;glTF, compiled by meshreel"));
    Formats.Add(TEXT("bvh;Motion capture, compiled by meshreel"));
}

bool UMeshreelFactory::NeedsCompile(const FString &Filename)
{
    return FPaths::GetExtension(Filename).ToLower() != TEXT("reel");
}

bool UMeshreelFactory::FactoryCanImport(const FString &Filename)
{
    const FString Extension = FPaths::GetExtension(Filename).ToLower();
    for (const TCHAR *Each : {TEXT("reel"), TEXT("abc"), TEXT("usd"), TEXT("usda"), TEXT("usdc"),
                              TEXT("usdz"), TEXT("glb"), TEXT("bvh")})
    {
        if (Extension == Each)
        {
            return true;
        }
    }
    return false;
}

bool UMeshreelFactory::AskOptions(const FString &Filename)
{
    if (Options == nullptr)
    {
        Options = NewObject<UMeshreelImportOptions>(this);
        Options->LoadConfig();
    }
    if (IsAutomatedImport() || !NeedsCompile(Filename))
    {
        return true;
    }
    if (!FMeshreelImportDialog::Show(*Options, Filename))
    {
        return false;
    }
    Options->SaveConfig();
    return true;
}

UObject *UMeshreelFactory::FactoryCreateFile(UClass *InClass, UObject *InParent, FName InName,
                                             EObjectFlags Flags, const FString &Filename, const TCHAR *,
                                             FFeedbackContext *Warn, bool &bOutOperationCanceled)
{
    bOutOperationCanceled = false;
    if (!AskOptions(Filename))
    {
        bOutOperationCanceled = true;
        return nullptr;
    }
    UMeshreelAsset *Asset = NewObject<UMeshreelAsset>(InParent, InClass, InName, Flags);
    Asset->UpAxis = Options->UpAxis;
    // The v of glTF counts from the top already.
    Asset->bFlipV = FPaths::GetExtension(Filename).ToLower() != TEXT("glb");
    if (!Import(*Asset, Filename, Options->ToArguments(), Options->bStream, bOutOperationCanceled))
    {
        if (!bOutOperationCanceled && Warn != nullptr)
        {
            Warn->Logf(ELogVerbosity::Error, TEXT("%s was not imported; the log says why"), *Filename);
        }
        return nullptr;
    }
    return Asset;
}

bool UMeshreelFactory::Compile(const FString &Filename, const FString &Output, const FString &Arguments,
                               bool &bOutCanceled)
{
    FScopedSlowTask Task(1.0f, FText::Format(LOCTEXT("Compiling", "Compiling {0}"),
                                             FText::FromString(FPaths::GetCleanFilename(Filename))));
    Task.MakeDialog(true);
    FMeshreelCompile Job;
    Job.Input = Filename;
    Job.Output = Output;
    Job.Options = Arguments;
    bool bCancelled = false;
    // Its end is not known: the bar comes closer to it all the time.
    float Remaining = 1.0f;
    Job.Progress = [&Task, &bCancelled, &Remaining](const FString &)
    {
        Task.EnterProgressFrame(Remaining * 0.02f);
        Remaining *= 0.98f;
        bCancelled = Task.ShouldCancel();
        return !bCancelled;
    };
    FString Error;
    const bool bCompiled = FMeshreelProgram::Compile(Job, Error);
    bOutCanceled = bCancelled;
    if (!bCompiled && !bCancelled)
    {
        UE_LOG(LogMeshreel, Error, TEXT("%s: %s"), *Filename, *Error);
    }
    return bCompiled;
}

bool UMeshreelFactory::Import(UMeshreelAsset &Asset, const FString &Filename, const FString &Arguments,
                              bool bStream, bool &bOutCanceled)
{
    const bool bCompiles = NeedsCompile(Filename);
    FString Reel = Filename;
    if (bCompiles)
    {
        Reel = bStream ? FPaths::ChangeExtension(Filename, TEXT("reel"))
                       : FPaths::Combine(FPaths::ProjectIntermediateDir(), TEXT("Meshreel"),
                                         FGuid::NewGuid().ToString() + TEXT(".reel"));
        if (!Compile(Filename, Reel, Arguments, bOutCanceled))
        {
            return false;
        }
    }
    bool bOk = false;
    if (bStream)
    {
        FString Path = FPaths::ConvertRelativePathToFull(Reel);
        FPaths::MakePathRelativeTo(Path, *FPaths::ConvertRelativePathToFull(FPaths::ProjectContentDir()));
        bOk = Asset.SetPath(Path);
    }
    else
    {
        TArray<uint8> Bytes;
        bOk = FFileHelper::LoadFileToArray(Bytes, *Reel);
        if (!bOk)
        {
            UE_LOG(LogMeshreel, Error, TEXT("%s cannot be read"), *Reel);
        }
        bOk = bOk && Asset.SetBytes(Bytes);
        if (bCompiles)
        {
            IFileManager::Get().Delete(*Reel, false, false, true);
        }
    }
    if (Asset.AssetImportData != nullptr)
    {
        Asset.AssetImportData->Update(Filename);
    }
    Asset.CompileOptions = bCompiles ? Arguments : FString();
    return bOk;
}

bool UMeshreelFactory::CanReimport(UObject *Obj, TArray<FString> &OutFilenames)
{
    UMeshreelAsset *Asset = Cast<UMeshreelAsset>(Obj);
    if (Asset == nullptr || Asset->AssetImportData == nullptr)
    {
        return false;
    }
    Asset->AssetImportData->ExtractFilenames(OutFilenames);
    return OutFilenames.Num() > 0;
}

void UMeshreelFactory::SetReimportPaths(UObject *Obj, const TArray<FString> &NewReimportPaths)
{
    UMeshreelAsset *Asset = Cast<UMeshreelAsset>(Obj);
    if (Asset != nullptr && Asset->AssetImportData != nullptr && NewReimportPaths.Num() == 1)
    {
        Asset->AssetImportData->UpdateFilenameOnly(NewReimportPaths[0]);
    }
}

EReimportResult::Type UMeshreelFactory::Reimport(UObject *Obj)
{
    UMeshreelAsset *Asset = Cast<UMeshreelAsset>(Obj);
    TArray<FString> Filenames;
    if (Asset == nullptr || !CanReimport(Obj, Filenames))
    {
        return EReimportResult::Failed;
    }
    if (!IFileManager::Get().FileExists(*Filenames[0]))
    {
        UE_LOG(LogMeshreel, Error, TEXT("%s is not there any more"), *Filenames[0]);
        return EReimportResult::Failed;
    }
    bool bCanceled = false;
    if (!Import(*Asset, Filenames[0], Asset->CompileOptions, Asset->IsStreamed(), bCanceled))
    {
        return bCanceled ? EReimportResult::Cancelled : EReimportResult::Failed;
    }
    Asset->MarkPackageDirty();
    return EReimportResult::Succeeded;
}

#undef LOCTEXT_NAMESPACE
