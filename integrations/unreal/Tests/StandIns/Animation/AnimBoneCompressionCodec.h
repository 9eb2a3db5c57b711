#pragma once
#include "CoreMinimal.h"

struct BoneTrackPair
{
    int32 AtomIndex, TrackIndex;
};
using BoneTrackArray = TArray<BoneTrackPair>;
enum class EAnimInterpolationType
{
    Linear,
    Step,
};
struct ICompressedAnimData
{
    virtual ~ICompressedAnimData() = default;
    virtual void SerializeCompressedData(FArchive &Ar) { Ar << CompressedNumberOfKeys; }
    virtual void Bind(const TArrayView<uint8> BulkData) = 0;
    virtual int64 GetApproxCompressedSize() const = 0;
    virtual FString GetDebugString() const = 0;
    virtual bool IsValid() const = 0;
    int32 CompressedNumberOfKeys = 0;
};
struct FAnimSequenceDecompressionContext
{
    const ICompressedAnimData &CompressedAnimData;
    EAnimInterpolationType Interpolation = EAnimInterpolationType::Linear;
    double Time = 0.0;
    double GetEvaluationTime() const { return Time; }
};
struct FRawAnimSequenceTrack
{
    TArray<FVector3f> PosKeys;
    TArray<FQuat4f> RotKeys;
    TArray<FVector3f> ScaleKeys;
};
struct FTrackToSkeletonMap
{
    int32 BoneTreeIndex = INDEX_NONE;
};
struct FReferenceSkeleton
{
    TArray<int32> Parents;
    int32 GetNum() const { return Parents.Num(); }
    int32 GetParentIndex(int32 Bone) const { return Parents[Bone]; }
};
struct FCompressibleAnimData
{
    FReferenceSkeleton RefSkeleton;
    TArray<FTransform> RefLocalPoses;
    TArray<FTrackToSkeletonMap> TrackToSkeletonMapTable;
    TArray<FRawAnimSequenceTrack> RawAnimationData;
    double SequenceLength = 0.0;
    int32 NumberOfKeys = 0;
    bool bIsValidAdditive = false;
    FString FullName;
};
class UAnimBoneCompressionCodec;
struct FCompressibleAnimDataResult
{
    TArray<uint8> CompressedByteStream;
    UAnimBoneCompressionCodec *Codec = nullptr;
    TUniquePtr<ICompressedAnimData> AnimData;
};
namespace UE::Anim::Compression
{
struct FAnimDDCKeyArgs
{
};
} // namespace UE::Anim::Compression
namespace UE::Anim
{
struct FAnimPoseDecompressionData
{
};
} // namespace UE::Anim
class UAnimBoneCompressionCodec : public UObject
{
  public:
    FString Description;
    virtual bool Compress(const FCompressibleAnimData &, FCompressibleAnimDataResult &) = 0;
    virtual void PopulateDDCKey(const UE::Anim::Compression::FAnimDDCKeyArgs &, FArchive &) {}
    virtual TUniquePtr<ICompressedAnimData> AllocateAnimData() const = 0;
    virtual void ByteSwapIn(ICompressedAnimData &, TArrayView<uint8>, FMemoryReader &) const = 0;
    virtual void ByteSwapOut(ICompressedAnimData &, TArrayView<uint8>, FMemoryWriter &) const = 0;
    virtual void DecompressPose(FAnimSequenceDecompressionContext &,
                                const UE::Anim::FAnimPoseDecompressionData &) const
    {
    }
    virtual void DecompressPose(FAnimSequenceDecompressionContext &, const BoneTrackArray &,
                                const BoneTrackArray &, const BoneTrackArray &,
                                TArrayView<FTransform> &) const = 0;
    virtual void DecompressBone(FAnimSequenceDecompressionContext &, int32, FTransform &) const = 0;
};
