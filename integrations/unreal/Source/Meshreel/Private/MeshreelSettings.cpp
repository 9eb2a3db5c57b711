#include "MeshreelSettings.h"

#include "HAL/PlatformMisc.h"
#include "HAL/UnrealMemory.h"
#include "Tasks/Task.h"

namespace
{
void StartJob(void *, mr_job *Job)
{
    UE::Tasks::Launch(
        TEXT("Meshreel"), [Job] { mr_job_run(Job); }, UE::Tasks::ETaskPriority::BackgroundNormal);
}

void *AllocateHeap(void *, size_t Bytes, size_t Alignment)
{
    return FMemory::Malloc(static_cast<SIZE_T>(Bytes), static_cast<uint32>(Alignment));
}

void ReleaseHeap(void *, void *Memory, size_t) { FMemory::Free(Memory); }
} // namespace

bool UMeshreelSettings::ToOptions(mr_player_options &Out, mr_jobs &Jobs, mr_allocator &Allocator) const
{
    if (!FMeshreelLibrary::Ok(mr_player_options_init(&Out, sizeof(Out)), TEXT("The options of players")))
    {
        return false;
    }
    Out.heap = static_cast<uint64>(FMath::Max(HeapMegabytes, 1)) << 20;
    Out.resident = static_cast<uint64>(FMath::Max(ResidentMegabytes, 0)) << 20;
    Out.decode_ahead = DecodeAhead;
    const int32 Cores = FMath::Max(FPlatformMisc::NumberOfWorkerThreadsToSpawn(), 1);
    const uint32 Threads = static_cast<uint32>(DecodeThreads > 0 ? DecodeThreads : Cores);
#if WITH_EDITOR
    Out.watch = bWatchFiles ? 1 : 0;
#endif
    Allocator = MeshreelSized<mr_allocator>();
    Allocator.allocate = &AllocateHeap;
    Allocator.release = &ReleaseHeap;
    Out.allocator = &Allocator;
    if (bDecodeInTick)
    {
        Out.threads = 0;
        Out.read_threads = 0;
        return true;
    }
    Out.threads = Threads;
    Out.read_threads = static_cast<uint32>(FMath::Max(ReadThreads, 1));
    if (bUseEngineTasks)
    {
        Jobs = MeshreelSized<mr_jobs>();
        Jobs.start = &StartJob;
        Jobs.threads = FMath::Min(Threads, 1024u);
        Out.jobs = &Jobs;
    }
    return true;
}
