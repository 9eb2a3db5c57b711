// Assets in the content browser: their name, colour, and the menu entry that makes a geometry cache of one.
#pragma once

#include "AssetTypeActions_Base.h"
#include "CoreMinimal.h"

class FMeshreelAssetActions : public FAssetTypeActions_Base
{
  public:
    virtual FText GetName() const override;
    virtual FColor GetTypeColor() const override { return FColor(64, 160, 220); }
    virtual UClass *GetSupportedClass() const override;
    virtual uint32 GetCategories() override;
    virtual bool IsImportedAsset() const override { return true; }
    virtual void GetResolvedSourceFilePaths(const TArray<UObject *> &TypeAssets,
                                            TArray<FString> &OutSourceFilePaths) const override;
    virtual bool HasActions(const TArray<UObject *> &) const override { return true; }
    virtual void GetActions(const TArray<UObject *> &InObjects, FMenuBuilder &MenuBuilder) override;

    /**
     * Creates a geometry cache beside each asset, for `UMeshreelGeometryCacheComponent`. Returns how many.
     */
    static int32 CreateGeometryCaches(const TArray<UObject *> &Objects);
};
