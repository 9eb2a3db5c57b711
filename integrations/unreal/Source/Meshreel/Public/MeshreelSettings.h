// Options of the players, in the project settings.
#pragma once

#include "CoreMinimal.h"
#include "Engine/DeveloperSettings.h"
#include "MeshreelLibrary.h"
#include "MeshreelSettings.generated.h"

/**
 * Project settings, "Plugins", "meshreel". Each world with a .reel file has one player with these options.
 */
UCLASS(Config = Game, DefaultConfig, meta = (DisplayName = "meshreel"))
class MESHREEL_API UMeshreelSettings : public UDeveloperSettings
{
    GENERATED_BODY()

  public:
    /** Megabytes for all data that are read and decoded. Never more is taken. */
    UPROPERTY(Config, EditAnywhere, Category = "Memory", meta = (ClampMin = "1"))
    int32 HeapMegabytes = 128;

    /** Files whose decoded frames take at most this many megabytes are decoded once. */
    UPROPERTY(Config, EditAnywhere, Category = "Memory", meta = (ClampMin = "0"))
    int32 ResidentMegabytes = 16;

    /** Decode on the engine's worker threads instead of threads of the library. */
    UPROPERTY(Config, EditAnywhere, Category = "Threads")
    bool bUseEngineTasks = true;

    /** Threads that decode at the same time. 0: all cores but one. */
    UPROPERTY(Config, EditAnywhere, Category = "Threads", meta = (ClampMin = "0"))
    int32 DecodeThreads = 0;

    /** Threads that read files. */
    UPROPERTY(Config, EditAnywhere, Category = "Threads", meta = (ClampMin = "1"))
    int32 ReadThreads = 2;

    /** Read and decode within the tick: no frame is ever late, as offline renders want it, but ticks take
     * longer. */
    UPROPERTY(Config, EditAnywhere, Category = "Threads")
    bool bDecodeInTick = false;

    /** Seconds that frames are decoded before they are shown. */
    UPROPERTY(Config, EditAnywhere, Category = "Streaming", meta = (ClampMin = "0"))
    float DecodeAhead = 0.4f;

    /** Show a streamed file anew when it is compiled again while the editor runs. */
    UPROPERTY(Config, EditAnywhere, Category = "Streaming")
    bool bWatchFiles = true;

    /** The program `meshreel`, for imports. Empty: the one in the plugin's folder or, without one, that in
     * the PATH. */
    UPROPERTY(Config, EditAnywhere, Category = "Import")
    FFilePath Program;

    virtual FName GetCategoryName() const override { return TEXT("Plugins"); }

    /** The options of a player; `Jobs` and `Allocator` must live until the player is created. */
    bool ToOptions(mr_player_options &Out, mr_jobs &Jobs, mr_allocator &Allocator) const;
};
