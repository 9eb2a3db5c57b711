#include "MeshreelAssetActions.h"

#include "AssetRegistry/AssetRegistryModule.h"
#include "EditorFramework/AssetImportData.h"
#include "Framework/MultiBox/MultiBoxBuilder.h"
#include "GeometryCache.h"
#include "MeshreelAsset.h"
#include "MeshreelGeometryCache.h"
#include "UObject/Package.h"

#define LOCTEXT_NAMESPACE "Meshreel"

FText FMeshreelAssetActions::GetName() const { return LOCTEXT("AssetName", "meshreel"); }

UClass *FMeshreelAssetActions::GetSupportedClass() const { return UMeshreelAsset::StaticClass(); }

uint32 FMeshreelAssetActions::GetCategories() { return EAssetTypeCategories::Animation; }

void FMeshreelAssetActions::GetResolvedSourceFilePaths(const TArray<UObject *> &TypeAssets,
                                                       TArray<FString> &OutSourceFilePaths) const
{
    for (UObject *Object : TypeAssets)
    {
        const UMeshreelAsset *Asset = Cast<UMeshreelAsset>(Object);
        if (Asset != nullptr && Asset->AssetImportData != nullptr)
        {
            Asset->AssetImportData->ExtractFilenames(OutSourceFilePaths);
        }
    }
}

void FMeshreelAssetActions::GetActions(const TArray<UObject *> &InObjects, FMenuBuilder &MenuBuilder)
{
    TArray<TWeakObjectPtr<UObject>> Objects;
    for (UObject *Object : InObjects)
    {
        Objects.Add(Object);
    }
    const auto Create = [Objects]
    {
        TArray<UObject *> There;
        for (const TWeakObjectPtr<UObject> &Object : Objects)
        {
            if (Object.IsValid())
            {
                There.Add(Object.Get());
            }
        }
        CreateGeometryCaches(There);
    };
    MenuBuilder.AddMenuEntry(
        LOCTEXT("CreateCache", "Create Geometry Cache"),
        LOCTEXT("CreateCacheHint",
                "Creates a geometry cache beside the asset, for Sequencer and Movie Render Queue"),
        FSlateIcon(), FUIAction(FExecuteAction::CreateLambda(Create)));
}

int32 FMeshreelAssetActions::CreateGeometryCaches(const TArray<UObject *> &Objects)
{
    int32 Created = 0;
    for (UObject *Object : Objects)
    {
        UMeshreelAsset *Asset = Cast<UMeshreelAsset>(Object);
        if (Asset == nullptr)
        {
            continue;
        }
        const FString Path = Asset->GetOutermost()->GetName() + TEXT("_Cache");
        UPackage *Package = CreatePackage(*Path);
        UGeometryCache *Cache = UMeshreelGeometryCacheComponent::CreateCache(
            *Asset, Package, FName(*(Asset->GetName() + TEXT("_Cache"))));
        if (Cache != nullptr)
        {
            Cache->SetFlags(RF_Public | RF_Standalone);
            FAssetRegistryModule::AssetCreated(Cache);
            Package->MarkPackageDirty();
            Created++;
        }
    }
    return Created;
}

#undef LOCTEXT_NAMESPACE
