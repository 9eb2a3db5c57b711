// The player of a world: one heap for all files, ticked once a frame.
#pragma once

#include "CoreMinimal.h"
#include "MeshreelLibrary.h"
#include "Subsystems/WorldSubsystem.h"
#include "UObject/ObjectKey.h"
#include "MeshreelSubsystem.generated.h"

class UMeshreelAsset;
class UMeshreelComponent;

/** Counters of a player. */
USTRUCT(BlueprintType)
struct FMeshreelStatistics
{
    GENERATED_BODY()

    UPROPERTY(BlueprintReadOnly, Category = "meshreel")
    int64 HeapBytes = 0;

    /** Bytes of the heap that are not free. */
    UPROPERTY(BlueprintReadOnly, Category = "meshreel")
    int64 HeapUsed = 0;

    UPROPERTY(BlueprintReadOnly, Category = "meshreel")
    int64 HeapPeak = 0;

    UPROPERTY(BlueprintReadOnly, Category = "meshreel")
    int64 BytesRead = 0;

    UPROPERTY(BlueprintReadOnly, Category = "meshreel")
    int64 FramesDecoded = 0;

    /** Ticks of instances without the frame that should have been shown. */
    UPROPERTY(BlueprintReadOnly, Category = "meshreel")
    int64 LateFrames = 0;

    UPROPERTY(BlueprintReadOnly, Category = "meshreel")
    int32 Files = 0;

    UPROPERTY(BlueprintReadOnly, Category = "meshreel")
    int32 Instances = 0;

    /** Instances for which the heap has no room. */
    UPROPERTY(BlueprintReadOnly, Category = "meshreel")
    int32 Refused = 0;

    UPROPERTY(BlueprintReadOnly, Category = "meshreel")
    double DecodeSeconds = 0.0;
};

/** Plays the files of all meshreel components of a world. The player is created with the first of them. */
UCLASS()
class MESHREEL_API UMeshreelSubsystem : public UTickableWorldSubsystem
{
    GENERATED_BODY()

  public:
    /** Counters of the player; zeros if no file is played. */
    UFUNCTION(BlueprintPure, Category = "meshreel")
    FMeshreelStatistics GetStatistics() const;

    /** Opens the asset's file, if it is not open, and adds an instance for the component. Returns its number
     * or 0. */
    uint64 Add(UMeshreelComponent &Component, UMeshreelAsset &Asset);
    /** Ends the instance of a component, and closes the file if it was the last one. */
    void Remove(UMeshreelComponent &Component);

    /** The player; null if there is none. */
    mr_player *GetPlayer() const { return Player.Get(); }

    virtual void Tick(float DeltaTime) override;
    virtual TStatId GetStatId() const override;
    virtual bool IsTickableInEditor() const override { return true; }
    virtual bool IsTickableWhenPaused() const override { return true; }
    virtual void Deinitialize() override;

  protected:
    virtual bool DoesSupportWorldType(const EWorldType::Type WorldType) const override;

  private:
    struct FFile
    {
        uint64 Number = 0;
        TWeakObjectPtr<UMeshreelAsset> Asset;
        FDelegateHandle Changed;
        bool bOpen = false;
        FString Error;
    };
    struct FEntry
    {
        TWeakObjectPtr<UMeshreelComponent> Component;
        TObjectKey<UMeshreelAsset> Asset;
        uint64 Instance = 0;
        /** The file was opened, or refused, before the component came: it has not been told yet. */
        bool bUntold = false;
    };

    bool CreatePlayer();
    bool OpenFile(UMeshreelAsset &Asset, FFile &Out);
    FFile *FindFile(const mr_event &Event);
    void AssetChanged(UMeshreelAsset *Asset);
    void TellNewcomers();
    void TakeEvents();
    void TakeEvent(const mr_event &Event);
    void ShowFrames();

    FMeshreelPlayer Player;
    bool bRefused = false;
    TMap<TObjectKey<UMeshreelAsset>, FFile> Files;
    TArray<FEntry> Entries;
};
