// Options of imports, shown in the dialog of the importer and remembered in the asset.
#pragma once

#include "CoreMinimal.h"
#include "MeshreelAsset.h"
#include "UObject/Object.h"
#include "MeshreelImportOptions.generated.h"

/** What matters most for the compiled file. */
UENUM()
enum class EMeshreelPreset : uint8
{
    /** The fewest bytes. */
    Small,
    /** The fastest decoding. */
    Fast,
};

/** Rigs of skinned meshes. */
UENUM()
enum class EMeshreelRig : uint8
{
    /** Meshes are what frames show. */
    Bake,
    /** Beside that, the bind pose, weights and joints. */
    Keep,
    /** These without frames. */
    Only,
};

/** Options of the program `meshreel compile`; `meshreel compile --help` describes each. */
UCLASS(Config = EditorPerProjectUserSettings)
class MESHREELEDITOR_API UMeshreelImportOptions : public UObject
{
    GENERATED_BODY()

  public:
    /**
     * The largest error: a percentage of each mesh's size (0.01%) or a length (0.5mm). Empty: the default.
     */
    UPROPERTY(EditAnywhere, Config, Category = "Promise")
    FString Tolerance = TEXT("0.01%");

    UPROPERTY(EditAnywhere, Config, Category = "Promise")
    EMeshreelPreset Preset = EMeshreelPreset::Small;

    /** 1 to 9: effort spent on size. */
    UPROPERTY(EditAnywhere, Config, Category = "Promise", meta = (ClampMin = "1", ClampMax = "9"))
    int32 Effort = 5;

    /** The length unit of sources that state none: m, cm, mm or in. Empty: unknown. */
    UPROPERTY(EditAnywhere, Config, Category = "Content")
    FString Unit = TEXT("cm");

    UPROPERTY(EditAnywhere, Config, Category = "Content")
    EMeshreelUpAxis UpAxis = EMeshreelUpAxis::Y;

    UPROPERTY(EditAnywhere, Config, Category = "Content")
    EMeshreelRig Rig = EMeshreelRig::Bake;

    /** Levels of detail of each mesh beside the mesh itself, 0 to 7. */
    UPROPERTY(EditAnywhere, Config, Category = "Content", meta = (ClampMin = "0", ClampMax = "7"))
    int32 LodLevels = 0;

    /** Leave out triangles while they cannot be seen from outside. */
    UPROPERTY(EditAnywhere, Config, Category = "Content")
    bool bCullHidden = false;

    /** The animation is a closed cycle. */
    UPROPERTY(EditAnywhere, Config, Category = "Content")
    bool bCycle = false;

    /** Only nodes whose path matches: a glob. Empty: all. */
    UPROPERTY(EditAnywhere, Config, Category = "Content")
    FString Include;

    /** More options, as on the command line. */
    UPROPERTY(EditAnywhere, Config, AdvancedDisplay, Category = "Content")
    FString MoreOptions;

    /** Leave the compiled file beside the source, and stream it from there, instead of storing it in the
     * asset. */
    UPROPERTY(EditAnywhere, Config, Category = "Storage")
    bool bStream = false;

    /** The options as arguments of the program. */
    FString ToArguments() const;
};
