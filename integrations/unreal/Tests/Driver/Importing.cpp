// The editor: the importer with its dialog and the program, reimports, thumbnails, actions of assets.
#include "AssetToolsModule.h"
#include "Checks.h"
#include "GeometryCache.h"
#include "MeshreelActor.h"
#include "MeshreelActorFactory.h"
#include "MeshreelAssetActions.h"
#include "MeshreelFactory.h"
#include "MeshreelImportOptions.h"
#include "MeshreelProgram.h"
#include "MeshreelThumbnail.h"

namespace Driver
{
namespace
{
UMeshreelAsset *Import(UMeshreelFactory &Factory, const std::string &Path, bool &bCanceled,
                       FFeedbackContext *Warn = nullptr)
{
    UPackage *Package = CreatePackage(TEXT("/Game/Imported"));
    UObject *Out =
        Factory.FactoryCreateFile(UMeshreelAsset::StaticClass(), Package, TEXT("Imported"),
                                  RF_Public | RF_Standalone, ToText(Path), nullptr, Warn, bCanceled);
    return Cast<UMeshreelAsset>(Out);
}

void TestReelFiles()
{
    UMeshreelFactory *Factory = NewObject<UMeshreelFactory>();
    REQUIRE(Factory->SupportedClass == UMeshreelAsset::StaticClass() && Factory->bEditorImport &&
            Factory->Formats.Num() == 8);
    for (const TCHAR *Name : {TEXT("a.reel"), TEXT("b.ABC"), TEXT("c.usd"), TEXT("d.usda"), TEXT("e.usdc"),
                              TEXT("f.usdz"), TEXT("g.glb"), TEXT("h.bvh")})
    {
        REQUIRE(Factory->FactoryCanImport(Name));
    }
    REQUIRE(!Factory->FactoryCanImport(TEXT("a.png")) && !Factory->FactoryCanImport(TEXT("reel")));
    REQUIRE(!UMeshreelFactory::NeedsCompile(TEXT("A.REEL")) && UMeshreelFactory::NeedsCompile(TEXT("a.abc")));
    bool bCanceled = true;
    UMeshreelAsset *Asset = Import(*Factory, Golden("v0/flag_small.reel"), bCanceled);
    REQUIRE(Asset != nullptr && !bCanceled && StandIn::DialogsShown == 0 &&
            Asset->GetBytes() == ReadFile(Golden("v0/flag_small.reel")));
    REQUIRE(Asset->Info.Frames > 0 && Asset->Info.Meshes == 1 && Asset->Info.Bounds.IsValid != 0 &&
            Asset->Info.FileBytes == Asset->GetBytes().Num());
    TArray<FString> Sources;
    REQUIRE(Factory->CanReimport(Asset, Sources) && Sources[0] == ToText(Golden("v0/flag_small.reel")));
    REQUIRE(Factory->Reimport(Asset) == EReimportResult::Succeeded && Asset->GetOutermost()->bDirty);
    REQUIRE(!Factory->CanReimport(NewObject<UObject>(), Sources) &&
            Factory->Reimport(NewObject<UObject>()) == EReimportResult::Failed);
    Factory->SetReimportPaths(Asset, {TEXT("/gone.reel")});
    REQUIRE(Factory->Reimport(Asset) == EReimportResult::Failed && Asset->Info.Frames > 0);
    RequireErrors(1, "/gone.reel");
    // A file that is no .reel, whatever its name says.
    REQUIRE(FFileHelper::SaveArrayToFile({1, 2, 3}, *ToText(Arguments().Made + "/wrong.reel")));
    FFeedbackContext Warn;
    REQUIRE(Import(*Factory, Arguments().Made + "/wrong.reel", bCanceled, &Warn) == nullptr && !bCanceled &&
            Warn.Lines.size() == 1);
    REQUIRE(Warn.Lines[0].find("wrong.reel") != std::string::npos);
    RequireErrors(1);
    REQUIRE(Import(*Factory, "/nowhere.reel", bCanceled) == nullptr);
    RequireErrors(1, "/nowhere.reel");
}

void TestOptions()
{
    UMeshreelImportOptions *Options = NewObject<UMeshreelImportOptions>();
    REQUIRE(Options->ToArguments() == TEXT("--preset small --effort 5 --tolerance \"0.01%\" --unit \"cm\""));
    Options->Preset = EMeshreelPreset::Fast;
    Options->Effort = 20;
    Options->Tolerance = TEXT("0.5mm");
    Options->Unit = FString();
    Options->Rig = EMeshreelRig::Keep;
    Options->LodLevels = 3;
    Options->bCullHidden = Options->bCycle = true;
    Options->Include = TEXT("/a/**");
    Options->MoreOptions = TEXT("--jobs 1");
    REQUIRE(Options->ToArguments() == TEXT("--preset fast --effort 9 --tolerance \"0.5mm\" --rig keep --lod "
                                           "3 --cull-hidden --cycle --include \"/a/**\" --jobs 1"));
    REQUIRE(FMeshreelProgram::MessageOf(TEXT("reading\nerror: not there\nmore")) == TEXT("not there"));
    REQUIRE(FMeshreelProgram::MessageOf(TEXT("  Killed\n")) == TEXT("Killed"));
}

void TestProgram()
{
    UMeshreelSettings *Settings = GetMutableDefault<UMeshreelSettings>();
    Settings->Program.FilePath = FString();
    REQUIRE(FMeshreelProgram::Find() ==
            TEXT("meshreel")); // There is none in this plugin's folder: the system looks it up.
    Settings->Program.FilePath = ToText(Arguments().Program);
    REQUIRE(FMeshreelProgram::Find() == ToText(Arguments().Program));
    UMeshreelFactory *Factory = NewObject<UMeshreelFactory>();
    bool bCanceled = false;
    // The dialog is closed, then confirmed.
    StandIn::bConfirmDialog = false;
    REQUIRE(Import(*Factory, Arguments().Made + "/source.abc", bCanceled) == nullptr && bCanceled &&
            StandIn::DialogsShown == 1);
    StandIn::bConfirmDialog = true;
    UMeshreelAsset *Asset = Import(*Factory, Arguments().Made + "/source.abc", bCanceled);
    REQUIRE(Asset != nullptr && !bCanceled && StandIn::DialogsShown == 2 && StandIn::ProgressShown > 0.0f);
    REQUIRE(Asset->Info.Frames > 0 && !Asset->IsStreamed() && Asset->bFlipV &&
            Asset->CompileOptions == Factory->Options->ToArguments());
    REQUIRE(Factory->Options->StandInSaved == 1);
    const int32 Frames = Asset->Info.Frames;
    // Reimports compile again, with the options of the import and without a dialog.
    Factory->Options->Effort = 1;
    REQUIRE(Factory->Reimport(Asset) == EReimportResult::Succeeded && Asset->Info.Frames == Frames &&
            StandIn::DialogsShown == 2);
    REQUIRE(Asset->CompileOptions.Contains(TEXT("--effort 5")));
    // Streamed: the file lies beside the source.
    Factory->bAutomated = true;
    Factory->Options->bStream = true;
    UMeshreelAsset *Streamed = Import(*Factory, Arguments().Made + "/source.abc", bCanceled);
    REQUIRE(Streamed != nullptr && Streamed->IsStreamed() && Streamed->GetBytes().Num() == 0 &&
            StandIn::DialogsShown == 2);
    REQUIRE(Streamed->GetPath() == ToText(Arguments().Made + "/source.reel") &&
            FPaths::FileExists(Streamed->GetPath()));
    Factory->Options->bStream = false;
    // glTF: v counts from the top already; motion capture: clips alone.
    UMeshreelAsset *Prism = Import(*Factory, Arguments().Made + "/prism.glb", bCanceled);
    REQUIRE(Prism != nullptr && !Prism->bFlipV && Prism->Info.Clips == 1 && Prism->Materials.Num() == 2);
    // Failures: the program's own message, and a program that is not there.
    REQUIRE(FFileHelper::SaveArrayToFile({1, 2, 3}, *ToText(Arguments().Made + "/wrong.abc")));
    REQUIRE(Import(*Factory, Arguments().Made + "/wrong.abc", bCanceled) == nullptr && !bCanceled);
    RequireErrors(1, "wrong.abc");
    Settings->Program.FilePath = TEXT("/no/such/program");
    REQUIRE(Import(*Factory, Arguments().Made + "/source.abc", bCanceled) == nullptr);
    RequireErrors(1, "set its path in the project settings");
    // Cancelled: a program that would take a minute is ended.
    const FString Slow = ToText(Arguments().Made + "/slow.sh");
    const std::string Script = "#!/bin/sh\nexec sleep 60\n";
    TArray<uint8> Bytes;
    Bytes.Append(reinterpret_cast<const uint8 *>(Script.data()), int32(Script.size()));
    REQUIRE(FFileHelper::SaveArrayToFile(Bytes, *Slow) && chmod(Slow.Utf8().c_str(), 0755) == 0);
    Settings->Program.FilePath = Slow;
    StandIn::CancelAtFrame = 2;
    const auto Start = std::chrono::steady_clock::now();
    REQUIRE(Import(*Factory, Arguments().Made + "/source.abc", bCanceled) == nullptr && bCanceled);
    REQUIRE(std::chrono::steady_clock::now() - Start < std::chrono::seconds(20));
    REQUIRE(Factory->Reimport(Asset) == EReimportResult::Cancelled && Asset->Info.Frames == Frames);
    StandIn::CancelAtFrame = 0;
    Settings->Program.FilePath = ToText(Arguments().Program);
}

void TestBrowser()
{
    UMeshreelAsset *Asset = LoadAsset(Golden("v0/flag_small.reel"));
    Asset->Outer = CreatePackage(TEXT("/Game/Flag"));
    Asset->AssetImportData->Update(TEXT("/flag.abc"));
    UMeshreelThumbnailRenderer *Renderer = NewObject<UMeshreelThumbnailRenderer>();
    REQUIRE(Renderer->CanVisualizeAsset(Asset) && !Renderer->CanVisualizeAsset(NewObject<UObject>()));
    REQUIRE(!Renderer->CanVisualizeAsset(LoadAsset(Golden("clips/layers.reel"))));
    FCanvas Canvas;
    FRenderTarget Target;
    Renderer->Draw(Asset, 0, 0, 256, 256, &Target, &Canvas, false);
    Renderer->Draw(Asset, 0, 0, 256, 256, &Target, &Canvas, false);
    Renderer->Draw(NewObject<UObject>(), 0, 0, 256, 256, &Target, &Canvas, false);
    REQUIRE(Canvas.Views == 2);
    // The editor knows the renderer and the actions.
    REQUIRE(UThumbnailManager::Get().Renderers[UMeshreelAsset::StaticClass()] ==
            UMeshreelThumbnailRenderer::StaticClass());
    const auto &All = FModuleManager::LoadModuleChecked<FAssetToolsModule>("AssetTools").Get().Actions;
    REQUIRE(All.size() == 1);
    IAssetTypeActions &Actions = *All[0];
    REQUIRE(Actions.GetSupportedClass() == UMeshreelAsset::StaticClass() && Actions.IsImportedAsset());
    REQUIRE(Actions.GetName().ToString() == TEXT("meshreel") &&
            Actions.GetCategories() == EAssetTypeCategories::Animation && Actions.GetTypeColor().A == 255);
    TArray<FString> Sources;
    Actions.GetResolvedSourceFilePaths({Asset}, Sources);
    REQUIRE(Sources.Num() == 1 && Sources[0] == TEXT("/flag.abc"));
    FMenuBuilder Menu;
    REQUIRE(Actions.HasActions({Asset}));
    Actions.GetActions({Asset, NewObject<UObject>()}, Menu);
    REQUIRE(Menu.Entries.size() == 1);
    const int32 Before = FAssetRegistryModule::Created();
    Menu.Entries[0].second.Action.Run();
    REQUIRE(FAssetRegistryModule::Created() == Before + 1);
    REQUIRE(FMeshreelAssetActions::CreateGeometryCaches({Asset}) == 1);
    // An asset that is dragged into a level becomes an actor.
    UMeshreelActorFactory *Placing = NewObject<UMeshreelActorFactory>();
    FText Why;
    REQUIRE(Placing->NewActorClass == AMeshreelActor::StaticClass() &&
            Placing->DisplayName.ToString() == TEXT("meshreel"));
    REQUIRE(Placing->CanCreateActorFrom({Asset, UMeshreelAsset::StaticClass()}, Why) &&
            Why.ToString().IsEmpty());
    REQUIRE(!Placing->CanCreateActorFrom({Asset, UMeshreelFactory::StaticClass()}, Why) &&
            !Why.ToString().IsEmpty());
    AMeshreelActor *Placed = NewObject<AMeshreelActor>();
    Placing->PostSpawnActor(Asset, Placed);
    REQUIRE(Placing->GetAssetFromActorInstance(Placed) == Asset &&
            Placing->GetAssetFromActorInstance(NewObject<AActor>()) == nullptr);
    Placing->PostSpawnActor(Asset, NewObject<AActor>());
    // An edit of the asset reaches the components that show it.
    const FInTick InTick;
    FWorld World(EWorldType::Editor);
    UMeshreelComponent *Component = World.Add(Asset);
    REQUIRE(World.TickUntil([&] { return Component->GetSurface().IsValid(); }));
    const float Z = Component->GetSurface()->Positions[5].Z;
    Asset->UpAxis = EMeshreelUpAxis::Z;
    FPropertyChangedEvent Event;
    Asset->PostEditChangeProperty(Event);
    REQUIRE(World.TickUntil(
        [&] { return Component->IsReady() && Component->GetSurface()->Positions[5].Z != Z; }));
}
} // namespace

void TestImporting()
{
    TestReelFiles();
    TestOptions();
    TestBrowser();
    if (Arguments().Program.empty())
    {
        std::printf("  skipped: imports of other files, without the program\n");
        return;
    }
    TestProgram();
}
} // namespace Driver
