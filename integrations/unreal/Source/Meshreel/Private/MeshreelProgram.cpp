#include "MeshreelProgram.h"

#if WITH_EDITOR

#include "HAL/PlatformProcess.h"
#include "Interfaces/IPluginManager.h"
#include "MeshreelLibrary.h"
#include "MeshreelSettings.h"
#include "Misc/Paths.h"

FString FMeshreelProgram::Find()
{
    const UMeshreelSettings *Settings = GetDefault<UMeshreelSettings>();
    if (!Settings->Program.FilePath.IsEmpty())
    {
        return Settings->Program.FilePath;
    }
#if PLATFORM_WINDOWS
    const TCHAR *Name = TEXT("meshreel.exe");
#else
    const TCHAR *Name = TEXT("meshreel");
#endif
    const TSharedPtr<IPlugin> Plugin = IPluginManager::Get().FindPlugin(TEXT("Meshreel"));
    if (Plugin.IsValid())
    {
        const FString Path =
            FPaths::Combine(Plugin->GetBaseDir(), TEXT("Source/ThirdParty/MeshreelLibrary/bin"), Name);
        if (FPaths::FileExists(Path))
        {
            return FPaths::ConvertRelativePathToFull(Path);
        }
    }
    return Name;
}

FString FMeshreelProgram::MessageOf(const FString &Text)
{
    const FString Key = TEXT("error: ");
    TArray<FString> Lines;
    Text.ParseIntoArrayLines(Lines);
    for (const FString &Line : Lines)
    {
        if (Line.StartsWith(Key))
        {
            return Line.RightChop(Key.Len());
        }
    }
    return Text.TrimStartAndEnd();
}

bool FMeshreelProgram::Compile(const FMeshreelCompile &Job, FString &OutError)
{
    const FString Program = Find();
    const FString Arguments =
        FString::Printf(TEXT("compile \"%s\" -o \"%s\" %s"), *Job.Input, *Job.Output, *Job.Options);
    void *ReadEnd = nullptr, *WriteEnd = nullptr;
    if (!FPlatformProcess::CreatePipe(ReadEnd, WriteEnd))
    {
        OutError = TEXT("there are no pipes");
        return false;
    }
    FProcHandle Process =
        FPlatformProcess::CreateProc(*Program, *Arguments, false, true, true, nullptr, 0, nullptr, WriteEnd);
    if (!Process.IsValid())
    {
        FPlatformProcess::ClosePipe(ReadEnd, WriteEnd);
        OutError = FString::Printf(
            TEXT("%s cannot be run: set its path in the project settings, \"meshreel\""), *Program);
        return false;
    }
    FString Printed;
    bool bCancelled = false;
    while (FPlatformProcess::IsProcRunning(Process))
    {
        Printed += FPlatformProcess::ReadPipe(ReadEnd);
        if (Job.Progress && !bCancelled && !Job.Progress(Printed))
        {
            bCancelled = true;
            FPlatformProcess::TerminateProc(Process, true);
        }
        FPlatformProcess::Sleep(0.1f);
    }
    Printed += FPlatformProcess::ReadPipe(ReadEnd);
    int32 Code = -1;
    FPlatformProcess::GetProcReturnCode(Process, &Code);
    FPlatformProcess::CloseProc(Process);
    FPlatformProcess::ClosePipe(ReadEnd, WriteEnd);
    if (bCancelled)
    {
        OutError = TEXT("cancelled");
    }
    else if (Code != 0)
    {
        OutError = MessageOf(Printed);
        OutError = OutError.IsEmpty() ? FString::Printf(TEXT("%s ended with %d"), *Program, Code) : OutError;
    }
    else
    {
        UE_LOG(LogMeshreel, Log, TEXT("%s"), *Printed.TrimStartAndEnd());
    }
    return !bCancelled && Code == 0;
}

#endif
