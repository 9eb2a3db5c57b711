// Clips of meshreel as the compressed data of animation sequences, beside the engine's own codecs.
//
// Compressing runs the program `meshreel` in the editor: the animation is written as a .glb file, whose
// joints carry the numbers of their tracks, and the compiled clip becomes the sequence's data. Playing needs
// the library alone.
#pragma once

#include "CoreMinimal.h"
#include "Animation/AnimBoneCompressionCodec.h"
#include "Animation/AnimCompressionTypes.h"
#include "Animation/AnimSequenceDecompressionContext.h"
#include "MeshreelClip.h"
#include "MeshreelAnimation.generated.h"

/** The first clip of a file. Several threads may use it at once. */
struct MESHREEL_API FMeshreelAnimData : public ICompressedAnimData
{
    virtual void SerializeCompressedData(FArchive &Ar) override;
    virtual void Bind(const TArrayView<uint8> BulkData) override;
    virtual int64 GetApproxCompressedSize() const override { return NumBytes; }
    virtual FString GetDebugString() const override;
    virtual bool IsValid() const override { return Clip.IsOpen(); }

    /** The joint of a track; INDEX_NONE if there is none. */
    int32 JointOfTrack(int32 Track) const { return Joints.IsValidIndex(Track) ? Joints[Track] : INDEX_NONE; }

    FMeshreelClip Clip;

  private:
    TArray<int32> Joints;
    int64 NumBytes = 0;
};

/** Settings of the codec, for an asset of bone compression settings. */
UCLASS(meta = (DisplayName = "meshreel"))
class MESHREEL_API UMeshreelBoneCompressionCodec : public UAnimBoneCompressionCodec
{
    GENERATED_BODY()

  public:
    UMeshreelBoneCompressionCodec();

    /** The largest distance of any point from that of the source, in centimetres. */
    UPROPERTY(EditAnywhere, Category = "meshreel", meta = (ClampMin = "0.0001"))
    float Tolerance = 0.01f;

    /** The distance from each joint at which the error is measured, in centimetres. */
    UPROPERTY(EditAnywhere, Category = "meshreel", meta = (ClampMin = "0.01"))
    float ShellDistance = 3.0f;

    /** Larger data, of which any pose is decoded by itself: for times that jump. */
    UPROPERTY(EditAnywhere, Category = "meshreel")
    bool bRandomAccess = false;

#if WITH_EDITORONLY_DATA
    virtual bool Compress(const FCompressibleAnimData &CompressibleAnimData,
                          FCompressibleAnimDataResult &OutResult) override;
    virtual void PopulateDDCKey(const UE::Anim::Compression::FAnimDDCKeyArgs &KeyArgs, FArchive &Ar) override;
#endif
    virtual TUniquePtr<ICompressedAnimData> AllocateAnimData() const override;
    virtual void ByteSwapIn(ICompressedAnimData &, TArrayView<uint8>, FMemoryReader &) const override {}
    virtual void ByteSwapOut(ICompressedAnimData &, TArrayView<uint8>, FMemoryWriter &) const override {}

    using UAnimBoneCompressionCodec::DecompressPose;
    virtual void DecompressPose(FAnimSequenceDecompressionContext &DecompContext,
                                const BoneTrackArray &RotationPairs, const BoneTrackArray &TranslationPairs,
                                const BoneTrackArray &ScalePairs,
                                TArrayView<FTransform> &OutAtoms) const override;
    virtual void DecompressBone(FAnimSequenceDecompressionContext &DecompContext, int32 TrackIndex,
                                FTransform &OutAtom) const override;
};
