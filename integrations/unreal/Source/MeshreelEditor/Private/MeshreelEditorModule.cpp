// Registers what the editor has to know: the thumbnail renderer, and the actions of assets.
#include "AssetToolsModule.h"
#include "IAssetTools.h"
#include "MeshreelAsset.h"
#include "MeshreelAssetActions.h"
#include "MeshreelThumbnail.h"
#include "Modules/ModuleManager.h"
#include "ThumbnailRendering/ThumbnailManager.h"

class FMeshreelEditorModule : public IModuleInterface
{
  public:
    virtual void StartupModule() override
    {
        UThumbnailManager::Get().RegisterCustomRenderer(UMeshreelAsset::StaticClass(),
                                                        UMeshreelThumbnailRenderer::StaticClass());
        Actions = MakeShared<FMeshreelAssetActions>();
        FModuleManager::LoadModuleChecked<FAssetToolsModule>("AssetTools")
            .Get()
            .RegisterAssetTypeActions(Actions.ToSharedRef());
    }

    virtual void ShutdownModule() override
    {
        if (FAssetToolsModule *Tools = FModuleManager::GetModulePtr<FAssetToolsModule>("AssetTools"))
        {
            Tools->Get().UnregisterAssetTypeActions(Actions.ToSharedRef());
        }
        if (UObjectInitialized())
        {
            UThumbnailManager::Get().UnregisterCustomRenderer(UMeshreelAsset::StaticClass());
        }
    }

  private:
    TSharedPtr<FMeshreelAssetActions> Actions;
};

IMPLEMENT_MODULE(FMeshreelEditorModule, MeshreelEditor)
