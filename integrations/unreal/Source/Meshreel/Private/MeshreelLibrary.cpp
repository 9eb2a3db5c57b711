#include "MeshreelLibrary.h"

#include "HAL/PlatformProcess.h"
#include "Interfaces/IPluginManager.h"
#include "Misc/Paths.h"
#include "Modules/ModuleManager.h"

DEFINE_LOG_CATEGORY(LogMeshreel);

namespace
{
#if PLATFORM_WINDOWS
// With delayed loading, the first call would end the program if the library is missing: so it is loaded by
// hand.
bool LoadLibraryOfPlugin()
{
    const TSharedPtr<IPlugin> Plugin = IPluginManager::Get().FindPlugin(TEXT("Meshreel"));
    const TCHAR *Name = TEXT("meshreel_c.dll");
    if (FPlatformProcess::GetDllHandle(Name) != nullptr)
    {
        return true;
    }
    return Plugin.IsValid() &&
           FPlatformProcess::GetDllHandle(*FPaths::Combine(
               Plugin->GetBaseDir(), TEXT("Source/ThirdParty/MeshreelLibrary/lib/x86_64-pc-windows-msvc"),
               Name)) != nullptr;
}
#else
bool LoadLibraryOfPlugin() { return true; }
#endif

bool CheckLibrary()
{
    if (!LoadLibraryOfPlugin())
    {
        UE_LOG(LogMeshreel, Error,
               TEXT("meshreel_c was not found: put the library of a release of meshreel into the "
                    "plugin's folder Source/ThirdParty/MeshreelLibrary"));
        return false;
    }
    if (mr_check_version(MR_VERSION) != MR_STATUS_OK)
    {
        const uint32 Version = mr_version();
        UE_LOG(LogMeshreel, Error,
               TEXT("The library meshreel_c has version %u.%u.%u, the plugin needs %u.%u: nothing is played "
                    "(%s)"),
               Version >> 16, (Version >> 8) & 255, Version & 255, uint32(MR_VERSION) >> 16,
               (uint32(MR_VERSION) >> 8) & 255, *FMeshreelLibrary::LastError());
        return false;
    }
    return true;
}
} // namespace

bool FMeshreelLibrary::IsUsable()
{
    static const bool bUsable = CheckLibrary();
    return bUsable;
}

bool FMeshreelLibrary::Ok(mr_status Status, const FString &File)
{
    if (Status == MR_STATUS_OK)
    {
        return true;
    }
    UE_LOG(LogMeshreel, Error, TEXT("%s: %s"), *File, *LastError());
    return false;
}

FString FMeshreelLibrary::LastError() { return FString(UTF8_TO_TCHAR(mr_last_error())); }

/** Checks the library when the plugin is loaded, so that a wrong one is known before the first file is
 * opened. */
class FMeshreelModule : public IModuleInterface
{
  public:
    virtual void StartupModule() override { FMeshreelLibrary::IsUsable(); }
};

IMPLEMENT_MODULE(FMeshreelModule, Meshreel)
