// Windows of the editor: a dialog is answered at once, as `StandIn::bConfirmDialog` says.
#pragma once
#include "Factories/Factory.h"

struct FReply
{
    static FReply Handled() { return {}; }
};
struct FDetailsViewArgs
{
    enum ENameAreaSettings
    {
        HideNameArea
    };
    bool bAllowSearch = true;
    ENameAreaSettings NameAreaSettings = HideNameArea;
};
class SWidget
{
  public:
    virtual ~SWidget() = default;
    std::vector<std::shared_ptr<SWidget>> Children;
};
class IDetailsView : public SWidget
{
  public:
    UObject *Object = nullptr;
    void SetObject(UObject *Set) { Object = Set; }
};
class FPropertyEditorModule
{
  public:
    TSharedRef<IDetailsView> CreateDetailView(const FDetailsViewArgs &) { return MakeShared<IDetailsView>(); }
};

enum EHorizontalAlignment
{
    HAlign_Right
};
struct FSlot
{
    std::shared_ptr<SWidget> Content;
    FSlot &FillHeight(float) { return *this; }
    FSlot &AutoHeight() { return *this; }
    FSlot &HAlign(EHorizontalAlignment) { return *this; }
    FSlot &Padding(float) { return *this; }
    template <typename T> FSlot &operator[](const TSharedRef<T> &Widget)
    {
        Content = Widget.Inner;
        return *this;
    }
};
template <typename T> struct TBuild : TSharedRef<T>
{
    TBuild() : TSharedRef<T>(std::make_shared<T>()) {}
    TBuild &&operator+(const FSlot &Slot) &&
    {
        this->Inner->Children.push_back(Slot.Content);
        return std::move(*this);
    }
    TBuild &&Title(const FText &) && { return std::move(*this); }
    TBuild &&ClientSize(const FVector2D &) && { return std::move(*this); }
    TBuild &&SupportsMaximize(bool) && { return std::move(*this); }
    TBuild &&SupportsMinimize(bool) && { return std::move(*this); }
    TBuild &&SlotPadding(float) && { return std::move(*this); }
    TBuild &&Text(const FText &) && { return std::move(*this); }
    template <typename F> TBuild &&OnClicked_Lambda(F &&Body) &&
    {
        this->Inner->Clicked = std::forward<F>(Body);
        return std::move(*this);
    }
};
#define SNew(Type) TBuild<Type>()
class SWindow : public SWidget
{
  public:
    bool bOpen = true;
    void RequestDestroyWindow() { bOpen = false; }
    template <typename T> void SetContent(const TSharedRef<T> &Widget) { Children = {Widget.Inner}; }
};
class SVerticalBox : public SWidget
{
  public:
    static FSlot Slot() { return {}; }
};
class SUniformGridPanel : public SWidget
{
  public:
    static FSlot Slot(int32, int32) { return {}; }
};
class SButton : public SWidget
{
  public:
    std::function<FReply()> Clicked;
};
class FSlateApplication
{
  public:
    static FSlateApplication &Get()
    {
        static FSlateApplication Application;
        return Application;
    }
    TSharedPtr<SWindow> GetActiveTopLevelWindow() const { return nullptr; }
    void AddModalWindow(const TSharedRef<SWindow> &Window, const TSharedPtr<SWindow> &)
    {
        StandIn::DialogsShown++;
        std::vector<SButton *> Buttons;
        Find(Window.Inner.get(), Buttons);
        assert(Buttons.size() == 2);
        Buttons[StandIn::bConfirmDialog ? 0 : 1]->Clicked();
        assert(!Window->bOpen);
    }

  private:
    static void Find(SWidget *In, std::vector<SButton *> &Out)
    {
        if (SButton *Button = dynamic_cast<SButton *>(In))
        {
            Out.push_back(Button);
        }
        for (const auto &Child : In->Children)
        {
            Find(Child.get(), Out);
        }
    }
};
