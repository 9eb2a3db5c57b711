#include "MeshreelImportDialog.h"

#include "Framework/Application/SlateApplication.h"
#include "IDetailsView.h"
#include "MeshreelImportOptions.h"
#include "Misc/Paths.h"
#include "Modules/ModuleManager.h"
#include "PropertyEditorModule.h"
#include "Widgets/Input/SButton.h"
#include "Widgets/Layout/SUniformGridPanel.h"
#include "Widgets/SBoxPanel.h"
#include "Widgets/SWindow.h"

#define LOCTEXT_NAMESPACE "Meshreel"

bool FMeshreelImportDialog::Show(UMeshreelImportOptions &Options, const FString &Filename)
{
    FPropertyEditorModule &Editor =
        FModuleManager::LoadModuleChecked<FPropertyEditorModule>("PropertyEditor");
    FDetailsViewArgs Arguments;
    Arguments.bAllowSearch = false;
    Arguments.NameAreaSettings = FDetailsViewArgs::HideNameArea;
    const TSharedRef<IDetailsView> Details = Editor.CreateDetailView(Arguments);
    Details->SetObject(&Options);
    bool bConfirmed = false;
    const TSharedRef<SWindow> Window =
        SNew(SWindow)
            .Title(FText::Format(LOCTEXT("Import", "Import {0} with meshreel"),
                                 FText::FromString(FPaths::GetCleanFilename(Filename))))
            .ClientSize(FVector2D(480.0, 520.0))
            .SupportsMaximize(false)
            .SupportsMinimize(false);
    const auto Close = [&bConfirmed, &Window](bool bImport)
    {
        bConfirmed = bImport;
        Window->RequestDestroyWindow();
        return FReply::Handled();
    };
    Window->SetContent(
        SNew(SVerticalBox) + SVerticalBox::Slot().FillHeight(1.0f)[Details] +
        SVerticalBox::Slot()
            .AutoHeight()
            .HAlign(HAlign_Right)
            .Padding(
                8.0f)[SNew(SUniformGridPanel).SlotPadding(4.0f) +
                      SUniformGridPanel::Slot(0, 0)[SNew(SButton)
                                                        .Text(LOCTEXT("Confirm", "Import"))
                                                        .OnClicked_Lambda([&Close] { return Close(true); })] +
                      SUniformGridPanel::Slot(1,
                                              0)[SNew(SButton)
                                                     .Text(LOCTEXT("Cancel", "Cancel"))
                                                     .OnClicked_Lambda([&Close] { return Close(false); })]]);
    FSlateApplication::Get().AddModalWindow(Window, FSlateApplication::Get().GetActiveTopLevelWindow());
    return bConfirmed;
}

#undef LOCTEXT_NAMESPACE
