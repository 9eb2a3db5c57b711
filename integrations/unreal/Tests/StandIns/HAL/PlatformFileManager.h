// Files, paths, processes, tasks and modules of the system.
#pragma once

#include "CoreMinimal.h"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

class IFileHandle
{
  public:
    virtual ~IFileHandle() = default;
    virtual bool Seek(int64 Position) = 0;
    virtual bool Read(uint8 *Out, int64 Bytes) = 0;
    virtual int64 Size() = 0;
};

namespace StandIn
{
inline std::string ReadAll(const std::string &Path, bool &bOk)
{
    std::ifstream File(Path, std::ios::binary);
    bOk = File.good() && std::filebuf().open(Path, std::ios::in | std::ios::binary) != nullptr;
    return std::string(std::istreambuf_iterator<char>(File), std::istreambuf_iterator<char>());
}
/** Files that lie in a package: paths that only the engine's file system can open. */
inline std::map<std::string, std::string> &Packaged()
{
    static std::map<std::string, std::string> Files;
    return Files;
}
inline int OpenHandles = 0;
class FMemoryHandle : public IFileHandle
{
  public:
    explicit FMemoryHandle(std::string SetBytes) : Bytes(std::move(SetBytes)) { OpenHandles++; }
    virtual ~FMemoryHandle() override { OpenHandles--; }
    virtual bool Seek(int64 To) override
    {
        Position = To;
        return To >= 0 && To <= Size();
    }
    virtual bool Read(uint8 *Out, int64 Count) override
    {
        if (Position + Count > Size())
        {
            return false;
        }
        FMemory::Memcpy(Out, Bytes.data() + Position, static_cast<SIZE_T>(Count));
        Position += Count;
        return true;
    }
    virtual int64 Size() override { return static_cast<int64>(Bytes.size()); }

  private:
    std::string Bytes;
    int64 Position = 0;
};
} // namespace StandIn

class IPlatformFile
{
  public:
    bool bPhysical = false;
    static IPlatformFile &GetPlatformPhysical()
    {
        static IPlatformFile Physical{true};
        return Physical;
    }
    bool FileExists(const TCHAR *Path) const
    {
        struct stat Info;
        const std::string Name = StandIn::Utf8(Path);
        return (!bPhysical && StandIn::Packaged().count(Name) > 0) ||
               (stat(Name.c_str(), &Info) == 0 && S_ISREG(Info.st_mode));
    }
    IFileHandle *OpenRead(const TCHAR *Path) const
    {
        const std::string Name = StandIn::Utf8(Path);
        if (!bPhysical && StandIn::Packaged().count(Name) > 0)
        {
            return new StandIn::FMemoryHandle(StandIn::Packaged()[Name]);
        }
        bool bOk = false;
        std::string Bytes = StandIn::ReadAll(Name, bOk);
        return bOk ? new StandIn::FMemoryHandle(Bytes) : nullptr;
    }
};
class FPlatformFileManager
{
  public:
    static FPlatformFileManager &Get()
    {
        static FPlatformFileManager Manager;
        return Manager;
    }
    IPlatformFile &GetPlatformFile() { return File; }

  private:
    IPlatformFile File;
};

class IFileManager
{
  public:
    static IFileManager &Get()
    {
        static IFileManager Manager;
        return Manager;
    }
    bool Delete(const TCHAR *Path, bool = false, bool = false, bool = false)
    {
        return std::remove(StandIn::Utf8(Path).c_str()) == 0;
    }
    bool FileExists(const TCHAR *Path) { return IPlatformFile::GetPlatformPhysical().FileExists(Path); }
};
struct FFileHelper
{
    static bool LoadFileToArray(TArray<uint8> &Out, const TCHAR *Path)
    {
        bool bOk = false;
        const std::string Bytes = StandIn::ReadAll(StandIn::Utf8(Path), bOk);
        Out.Reset();
        Out.Append(reinterpret_cast<const uint8 *>(Bytes.data()), static_cast<int32>(Bytes.size()));
        return bOk;
    }
    /** Creates folders that are missing, as the engine does. */
    static bool SaveArrayToFile(const TArray<uint8> &Bytes, const TCHAR *Path)
    {
        const std::string Name = StandIn::Utf8(Path);
        for (SIZE_T Slash = Name.find('/', 1); Slash != std::string::npos; Slash = Name.find('/', Slash + 1))
        {
            mkdir(Name.substr(0, Slash).c_str(), 0777);
        }
        std::ofstream File(Name, std::ios::binary);
        File.write(reinterpret_cast<const char *>(Bytes.GetData()), Bytes.Num());
        return File.good();
    }
};

struct FPaths
{
    static FString &Project()
    {
        static FString Folder;
        return Folder;
    }
    static FString ProjectContentDir() { return Project() + TEXT("/Content/"); }
    static FString ProjectIntermediateDir() { return Project() + TEXT("/Intermediate/"); }
    static bool IsRelative(const FString &Path) { return !Path.StartsWith(TEXT("/")); }
    static bool FileExists(const FString &Path) { return IFileManager::Get().FileExists(*Path); }
    static FString Join(const FString &A, const FString &B)
    {
        return A + (A.EndsWith(TEXT("/")) ? TEXT("") : TEXT("/")) + B;
    }
    template <typename... Rest>
    static FString Combine(const FString &A, const FString &B, const Rest &...More)
    {
        if constexpr (sizeof...(More) == 0)
        {
            return Join(A, B);
        }
        else
        {
            return Combine(Join(A, B), FString(More)...);
        }
    }
    static FString ConvertRelativePathToFull(const FString &Path) { return Path; }
    static FString GetCleanFilename(const FString &Path)
    {
        const SIZE_T Slash = Path.Text.rfind(u'/');
        return Slash == std::u16string::npos ? Path : FString(Path.Text.substr(Slash + 1));
    }
    static FString GetExtension(const FString &Path)
    {
        const FString Name = GetCleanFilename(Path);
        const SIZE_T Dot = Name.Text.rfind(u'.');
        return Dot == std::u16string::npos ? FString() : FString(Name.Text.substr(Dot + 1));
    }
    static FString ChangeExtension(const FString &Path, const FString &Extension)
    {
        return FString(Path.Text.substr(0, Path.Text.rfind(u'.') + 1)) + Extension;
    }
    static bool MakePathRelativeTo(FString &Path, const TCHAR *Folder)
    {
        const FString Prefix(Folder);
        if (!Path.StartsWith(Prefix))
        {
            return false;
        }
        Path = Path.RightChop(Prefix.Len());
        return true;
    }
};

struct FProcHandle
{
    pid_t Process = -1;
    bool bEnded = false;
    int Status = 0;
    bool IsValid() const { return Process > 0; }
};
struct FPlatformProcess
{
    static bool CreatePipe(void *&ReadPipe, void *&WritePipe)
    {
        int Ends[2];
        if (pipe(Ends) != 0)
        {
            return false;
        }
        fcntl(Ends[0], F_SETFL, O_NONBLOCK);
        fcntl(Ends[0], F_SETFD, FD_CLOEXEC);
        fcntl(Ends[1], F_SETFD, FD_CLOEXEC);
        ReadPipe = reinterpret_cast<void *>(static_cast<intptr_t>(Ends[0]));
        WritePipe = reinterpret_cast<void *>(static_cast<intptr_t>(Ends[1]));
        return true;
    }
    static void ClosePipe(void *ReadPipe, void *WritePipe)
    {
        close(static_cast<int>(reinterpret_cast<intptr_t>(ReadPipe)));
        close(static_cast<int>(reinterpret_cast<intptr_t>(WritePipe)));
    }
    static FString ReadPipe(void *ReadEnd)
    {
        std::string Out;
        char Buffer[4096];
        ssize_t Count;
        while ((Count = read(static_cast<int>(reinterpret_cast<intptr_t>(ReadEnd)), Buffer, sizeof Buffer)) >
               0)
        {
            Out.append(Buffer, static_cast<SIZE_T>(Count));
        }
        return FString(StandIn::Utf16(Out.c_str()));
    }
    static FProcHandle CreateProc(const TCHAR *Url, const TCHAR *Parameters, bool, bool, bool, uint32 *,
                                  int32, const TCHAR *, void *WritePipe)
    {
        FProcHandle Out;
        const std::string Program = StandIn::Utf8(Url), Line = StandIn::Utf8(Parameters);
        if (Program.find('/') != std::string::npos && access(Program.c_str(), X_OK) != 0)
        {
            return Out;
        }
        const int Write = static_cast<int>(reinterpret_cast<intptr_t>(WritePipe));
        Out.Process = fork();
        if (Out.Process == 0)
        {
            dup2(Write, 1);
            dup2(Write, 2);
            execl("/bin/sh", "sh", "-c", ("exec \"" + Program + "\" " + Line).c_str(),
                  static_cast<char *>(nullptr));
            _exit(127);
        }
        return Out;
    }
    static bool IsProcRunning(FProcHandle &Handle)
    {
        Handle.bEnded = Handle.bEnded || waitpid(Handle.Process, &Handle.Status, WNOHANG) == Handle.Process;
        return !Handle.bEnded;
    }
    static void TerminateProc(FProcHandle &Handle, bool) { kill(Handle.Process, SIGTERM); }
    static bool GetProcReturnCode(FProcHandle &Handle, int32 *Code)
    {
        *Code = WIFEXITED(Handle.Status) ? WEXITSTATUS(Handle.Status) : -1;
        return Handle.bEnded;
    }
    static void CloseProc(FProcHandle &) {}
    static void Sleep(float Seconds) { usleep(static_cast<useconds_t>(Seconds * 1e6f)); }
    static void *GetDllHandle(const TCHAR *) { return nullptr; }
};
struct FPlatformMisc
{
    static int32 NumberOfWorkerThreadsToSpawn() { return 2; }
};

class IPlugin
{
  public:
    FString GetBaseDir() const { return FPaths::Project() + TEXT("/Plugins/Meshreel"); }
};
class IPluginManager
{
  public:
    static IPluginManager &Get()
    {
        static IPluginManager Manager;
        return Manager;
    }
    TSharedPtr<IPlugin> FindPlugin(const FString &Name)
    {
        return Name == TEXT("Meshreel") ? TSharedPtr<IPlugin>(MakeShared<IPlugin>()) : nullptr;
    }
};

class IModuleInterface
{
  public:
    virtual ~IModuleInterface() = default;
    virtual void StartupModule() {}
    virtual void ShutdownModule() {}
};
namespace StandIn
{
inline std::vector<std::unique_ptr<IModuleInterface>> &Modules()
{
    static std::vector<std::unique_ptr<IModuleInterface>> All;
    return All;
}
} // namespace StandIn
#define IMPLEMENT_MODULE(Class, Name)                                                                        \
    static const bool bRegistered##Name = (StandIn::Modules().push_back(std::make_unique<Class>()), true);
class FModuleManager
{
  public:
    template <typename T> static T &LoadModuleChecked(const char *)
    {
        static T Module;
        return Module;
    }
    template <typename T> static T *GetModulePtr(const char *Name) { return &LoadModuleChecked<T>(Name); }
};

namespace UE::Tasks
{
enum class ETaskPriority
{
    Normal,
    BackgroundNormal,
};
} // namespace UE::Tasks
namespace StandIn
{
/** Worker threads; each task runs on one of its own. */
struct FTasks
{
    std::atomic<int> Running{0}, Started{0};
    static FTasks &Get()
    {
        static FTasks Tasks;
        return Tasks;
    }
    void Wait() const
    {
        while (Running > 0)
        {
            std::this_thread::yield();
        }
    }
};
} // namespace StandIn
namespace UE::Tasks
{
template <typename F> void Launch(const TCHAR *, F &&Body, ETaskPriority = ETaskPriority::Normal)
{
    StandIn::FTasks::Get().Started++;
    StandIn::FTasks::Get().Running++;
    std::thread(
        [Body = std::forward<F>(Body)]() mutable
        {
            Body();
            StandIn::FTasks::Get().Running--;
        })
        .detach();
}
} // namespace UE::Tasks

/** Each index on a thread of its own, so that a sanitizer sees what they have in common. */
template <typename F> void ParallelFor(int32 Num, F &&Body)
{
    std::vector<std::thread> Threads;
    for (int32 Index = 0; Index < Num; Index++)
    {
        Threads.emplace_back([&Body, Index] { Body(Index); });
    }
    for (std::thread &Thread : Threads)
    {
        Thread.join();
    }
}
