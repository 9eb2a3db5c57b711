// A .reel file as an asset.
#pragma once

#include "CoreMinimal.h"
#include "Engine/EngineTypes.h"
#include "MeshreelAxes.h"
#include "MeshreelLibrary.h"
#include "MeshreelSurface.h"
#include "Serialization/BulkData.h"
#include "UObject/Object.h"
#include "MeshreelAsset.generated.h"

class UAssetImportData;
class UMaterialInterface;
class UMeshreelAsset;

/** The axis that points up in a file. */
UENUM(BlueprintType)
enum class EMeshreelUpAxis : uint8
{
    Y,
    Z,
};

/** A material of the file, by its name in the source. */
USTRUCT(BlueprintType)
struct FMeshreelMaterial
{
    GENERATED_BODY()

    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    FName Name;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "meshreel")
    TObjectPtr<UMaterialInterface> Material = nullptr;
};

/** A range of frames that the source has named. */
USTRUCT(BlueprintType)
struct FMeshreelRange
{
    GENERATED_BODY()

    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    FName Name;

    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    int32 FirstFrame = 0;

    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    int32 LastFrame = 0;
};

/** Properties of the file, read when it is imported. */
USTRUCT(BlueprintType)
struct FMeshreelInfo
{
    GENERATED_BODY()

    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    int32 Frames = 0;

    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    double FramesPerSecond = 0.0;

    /** Seconds from the first to the last frame. */
    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    double Duration = 0.0;

    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    int32 Nodes = 0;

    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    int32 Meshes = 0;

    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    int32 Clips = 0;

    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    int64 FileBytes = 0;

    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    TArray<FMeshreelRange> Ranges;

    /** Bounds of all frames, in centimetres. */
    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    FBox Bounds = FBox(ForceInit);
};

/** An open file, for decoders. Several threads may use it at once. */
struct FMeshreelOpenFile
{
    FMeshreelReel Reel;
    FString Name;
    mr_reel_info Info{};
};
using FMeshreelOpenFilePtr = TSharedPtr<FMeshreelOpenFile, ESPMode::ThreadSafe>;

DECLARE_MULTICAST_DELEGATE_OneParam(FMeshreelAssetChanged, UMeshreelAsset *);

/** A .reel file: its bytes, or the path from which it is streamed. */
UCLASS(BlueprintType, hidecategories = (Object))
class MESHREEL_API UMeshreelAsset : public UObject
{
    GENERATED_BODY()

  public:
    /**
     * The file to stream from, absolute or relative to the project's content folder. Empty: the asset
     * contains the bytes. Files that are streamed must be packaged: add their folder to "Additional Non-Asset
     * Directories".
     */
    UPROPERTY(EditAnywhere, Category = "meshreel")
    FFilePath File;

    UPROPERTY(EditAnywhere, Category = "meshreel")
    EMeshreelUpAxis UpAxis = EMeshreelUpAxis::Y;

    /** Centimetres per unit of the file. 0: as the file states; files that state none are in metres. */
    UPROPERTY(EditAnywhere, Category = "meshreel", meta = (ClampMin = "0"))
    float CentimetresPerUnit = 0.0f;

    /** Off for sources whose v counts from the top, as glTF's does. */
    UPROPERTY(EditAnywhere, Category = "meshreel")
    bool bFlipV = true;

    /** One slot for each material name of the file. */
    UPROPERTY(EditAnywhere, BlueprintReadOnly, Category = "meshreel")
    TArray<FMeshreelMaterial> Materials;

    UPROPERTY(VisibleAnywhere, BlueprintReadOnly, Category = "meshreel")
    FMeshreelInfo Info;

#if WITH_EDITORONLY_DATA
    /** Where the asset was imported from, for reimports. */
    UPROPERTY(VisibleAnywhere, Instanced, Category = "ImportSettings")
    TObjectPtr<UAssetImportData> AssetImportData = nullptr;

    /** Options of the program that the file was compiled with. */
    UPROPERTY(VisibleAnywhere, Category = "ImportSettings")
    FString CompileOptions;
#endif

    /** Replaces the bytes, reads the properties, and tells players. Returns false if they are not a .reel
     * file. */
    bool SetBytes(TArrayView<const uint8> InBytes);

    /** Streams from a path from now on; the asset contains no bytes any more. */
    bool SetPath(const FString &Path);

    /** The bytes; empty if the file is streamed. */
    TArray<uint8> GetBytes() const;

    bool IsStreamed() const { return !File.FilePath.IsEmpty(); }

    /** The absolute path of a streamed file. */
    FString GetPath() const;

    /** The name that messages give the file. */
    FString GetDisplayName() const;

    /** Opens the file, or returns the one that is open; null, with an error in the log, if it cannot be
     * opened. */
    FMeshreelOpenFilePtr Open();

    /** The conversion of axes, for an open file. */
    FMeshreelAxes GetAxes(const mr_reel_info &Reel) const;

    /** Options for readers of this asset's frames. Adds slots for materials that are new in the file. */
    FMeshreelReading GetReading(const mr_reel *Reel, bool bMotionVectors);

    UFUNCTION(BlueprintPure, Category = "meshreel")
    int32 FindMaterial(FName Name) const;

    /** Sets the material of all slots of that name. */
    UFUNCTION(BlueprintCallable, Category = "meshreel")
    void SetMaterialByName(FName Name, UMaterialInterface *Material);

    UFUNCTION(BlueprintPure, Category = "meshreel")
    bool FindRange(FName Name, FMeshreelRange &Range) const;

    /** Broadcast when the bytes, the path or the conversion has changed. */
    FMeshreelAssetChanged OnChanged;

    virtual void Serialize(FArchive &Ar) override;
    virtual void PostInitProperties() override;
#if WITH_EDITOR
    virtual void PostEditChangeProperty(FPropertyChangedEvent &Event) override;
#endif

  private:
    bool Refresh();
    void ReadInfo(const FMeshreelOpenFile &Open);
    int32 AddMaterial(FName Name);

    FByteBulkData Bytes;
    FMeshreelOpenFilePtr Opened;
    mutable FCriticalSection Section;
};
