// The editor: importers, thumbnails, asset actions.
#pragma once

#include "Components/MeshComponent.h"
#include "HAL/PlatformFileManager.h"

class UAssetImportData : public UObject
{
  public:
    TArray<FString> Files;
    void Update(const FString &Path) { Files = {Path}; }
    void UpdateFilenameOnly(const FString &Path) { Files = {Path}; }
    void ExtractFilenames(TArray<FString> &Out) const { Out.Append(Files); }
};

namespace ELogVerbosity
{
enum Type
{
    Error
};
} // namespace ELogVerbosity
class FFeedbackContext
{
  public:
    std::vector<std::string> Lines;
    template <typename... A> void Logf(ELogVerbosity::Type, const TCHAR *Pattern, A... Values)
    {
        Lines.push_back(StandIn::Utf8(StandIn::Format(Pattern, {StandIn::FArgument(Values)...})));
    }
};

class UFactory : public UObject
{
  public:
    UClass *SupportedClass = nullptr;
    bool bCreateNew = true, bEditorImport = false, bAutomated = false;
    int32 ImportPriority = 100;
    static constexpr int32 DefaultImportPriority = 100;
    TArray<FString> Formats;
    bool IsAutomatedImport() const { return bAutomated; }
    virtual bool FactoryCanImport(const FString &) { return false; }
    virtual UObject *FactoryCreateFile(UClass *, UObject *, FName, EObjectFlags, const FString &,
                                       const TCHAR *, FFeedbackContext *, bool &)
    {
        return nullptr;
    }
};
struct FAssetData
{
    UObject *Object = nullptr;
    UClass *Class = nullptr;
    bool IsValid() const { return Object != nullptr; }
    bool IsInstanceOf(const UClass *Asked) const { return Class == Asked; }
};
class UActorFactory : public UObject
{
  public:
    FText DisplayName;
    UClass *NewActorClass = nullptr;
    virtual bool CanCreateActorFrom(const FAssetData &, FText &) { return false; }
    virtual void PostSpawnActor(UObject *, AActor *) {}
    virtual UObject *GetAssetFromActorInstance(AActor *) { return nullptr; }
};
namespace EReimportResult
{
enum Type
{
    Failed,
    Succeeded,
    Cancelled,
};
} // namespace EReimportResult
class FReimportHandler
{
  public:
    virtual ~FReimportHandler() = default;
    virtual bool CanReimport(UObject *, TArray<FString> &) = 0;
    virtual void SetReimportPaths(UObject *, const TArray<FString> &) = 0;
    virtual EReimportResult::Type Reimport(UObject *) = 0;
};

namespace StandIn
{
/**
 * What a user does with dialogs: cancels the progress at the n-th frame (0: never); confirms options or not.
 */
inline int32 CancelAtFrame = 0, DialogsShown = 0;
inline bool bConfirmDialog = true;
inline float ProgressShown = 0.0f;
} // namespace StandIn
class FScopedSlowTask
{
  public:
    FScopedSlowTask(float SetTotal, const FText &) : Total(SetTotal) {}
    void MakeDialog(bool bCanCancel) { bCancels = bCanCancel; }
    void EnterProgressFrame(float Part)
    {
        Frames++;
        Done += Part;
        StandIn::ProgressShown = Done;
        assert(Done <= Total * 1.0001f);
    }
    bool ShouldCancel() const
    {
        return bCancels && StandIn::CancelAtFrame > 0 && Frames >= StandIn::CancelAtFrame;
    }

  private:
    float Total, Done = 0.0f;
    int32 Frames = 0;
    bool bCancels = false;
};

class FRenderTarget
{
};
class FCanvas
{
  public:
    int32 Views = 0;
};
class UThumbnailRenderer : public UObject
{
  public:
    virtual bool CanVisualizeAsset(UObject *) { return true; }
    virtual void Draw(UObject *, int32, int32, uint32, uint32, FRenderTarget *, FCanvas *, bool) = 0;
    static int GetTime() { return 0; }
    static void RenderViewFamily(FCanvas *Canvas, FSceneViewFamily *, FSceneView *View)
    {
        assert(View != nullptr);
        Canvas->Views++;
    }
};
class UDefaultSizedThumbnailRenderer : public UThumbnailRenderer
{
};
enum EShowFlagInitMode
{
    ESFIM_Game
};
class FThumbnailPreviewScene
{
  public:
    FThumbnailPreviewScene() : World(NewObject<UWorld>()) {}
    virtual ~FThumbnailPreviewScene() = default;
    UWorld *GetWorld() const { return World; }
    FSceneInterface *GetScene() const { return &World->Scene; }
    FSceneView *CreateView(FSceneViewFamily *, int32, int32, uint32, uint32)
    {
        World->SendAllEndOfFrameUpdates();
        GetViewMatrixParameters(30.0f, Origin, Pitch, Yaw, Zoom);
        return &View;
    }
    FVector Origin;
    float Pitch = 0.0f, Yaw = 0.0f, Zoom = 0.0f;

  protected:
    virtual void GetViewMatrixParameters(const float, FVector &, float &, float &, float &) const = 0;
    bool bForceAllUsedMipsResident = true;

  private:
    UWorld *World;
    FSceneView View;
};
class USceneThumbnailInfo : public UObject
{
  public:
    float OrbitPitch = -11.0f, OrbitYaw = -157.0f, OrbitZoom = 0.0f;
    static UClass *StaticClass()
    {
        static UClass Class("SceneThumbnailInfo");
        return &Class;
    }
};
class UThumbnailManager
{
  public:
    std::map<UClass *, UClass *> Renderers;
    static UThumbnailManager &Get()
    {
        static UThumbnailManager Manager;
        return Manager;
    }
    void RegisterCustomRenderer(UClass *Class, UClass *Renderer) { Renderers[Class] = Renderer; }
    void UnregisterCustomRenderer(UClass *Class) { Renderers.erase(Class); }
};

struct FSlateIcon
{
};
struct FExecuteAction
{
    std::function<void()> Run;
    template <typename F> static FExecuteAction CreateLambda(F &&Body) { return {std::forward<F>(Body)}; }
};
struct FUIAction
{
    FExecuteAction Action;
    explicit FUIAction(FExecuteAction Set) : Action(std::move(Set)) {}
};
class FMenuBuilder
{
  public:
    std::vector<std::pair<FText, FUIAction>> Entries;
    void AddMenuEntry(const FText &Label, const FText &, const FSlateIcon &, const FUIAction &Action)
    {
        Entries.push_back({Label, Action});
    }
};
namespace EAssetTypeCategories
{
enum Type : uint32
{
    Animation = 2
};
} // namespace EAssetTypeCategories
class IAssetTypeActions
{
  public:
    virtual ~IAssetTypeActions() = default;
    virtual FText GetName() const = 0;
    virtual FColor GetTypeColor() const = 0;
    virtual UClass *GetSupportedClass() const = 0;
    virtual uint32 GetCategories() = 0;
    virtual bool IsImportedAsset() const { return false; }
    virtual void GetResolvedSourceFilePaths(const TArray<UObject *> &, TArray<FString> &) const {}
    virtual bool HasActions(const TArray<UObject *> &) const { return false; }
    virtual void GetActions(const TArray<UObject *> &, FMenuBuilder &) {}
};
class FAssetTypeActions_Base : public IAssetTypeActions
{
};
class IAssetTools
{
  public:
    std::vector<std::shared_ptr<IAssetTypeActions>> Actions;
    void RegisterAssetTypeActions(const TSharedRef<IAssetTypeActions> &Set) { Actions.push_back(Set.Inner); }
    void UnregisterAssetTypeActions(const TSharedRef<IAssetTypeActions> &Set)
    {
        Actions.erase(std::remove(Actions.begin(), Actions.end(), Set.Inner), Actions.end());
    }
};
class FAssetToolsModule
{
  public:
    IAssetTools &Get() { return Tools; }

  private:
    IAssetTools Tools;
};
struct FAssetRegistryModule
{
    static int32 &Created()
    {
        static int32 Count = 0;
        return Count;
    }
    static void AssetCreated(UObject *) { Created()++; }
};
