#include "MeshreelFileSource.h"

#include "GenericPlatform/GenericPlatformFile.h"
#include "HAL/PlatformFileManager.h"
#include "Misc/ScopeLock.h"

namespace
{
struct FOpenHandle
{
    TUniquePtr<IFileHandle> Handle;
    /** A handle has one position, and the library reads on several threads. */
    FCriticalSection Section;
};

int32_t ReadFile(void *User, uint64_t Offset, void *Out, size_t Count)
{
    FOpenHandle *File = static_cast<FOpenHandle *>(User);
    FScopeLock Lock(&File->Section);
    const bool bRead = File->Handle->Seek(static_cast<int64>(Offset)) &&
                       File->Handle->Read(static_cast<uint8 *>(Out), static_cast<int64>(Count));
    return bRead ? 0 : 1;
}

void ReleaseFile(void *User) { delete static_cast<FOpenHandle *>(User); }
} // namespace

bool FMeshreelFileSource::IsLoose(const FString &Path)
{
    return IPlatformFile::GetPlatformPhysical().FileExists(*Path);
}

bool FMeshreelFileSource::Open(const FString &Path, mr_source &Out)
{
    TUniquePtr<IFileHandle> Handle(FPlatformFileManager::Get().GetPlatformFile().OpenRead(*Path));
    if (!Handle.IsValid())
    {
        return false;
    }
    Out = MeshreelSized<mr_source>();
    Out.bytes = static_cast<uint64>(Handle->Size());
    FOpenHandle *File = new FOpenHandle;
    File->Handle = MoveTemp(Handle);
    Out.user = File;
    Out.read = &ReadFile;
    Out.release = &ReleaseFile;
    return true;
}
