#include "MeshreelAnimation.h"

#include "HAL/FileManager.h"
#include "MeshreelAnimationFile.h"
#include "MeshreelProgram.h"
#include "Misc/FileHelper.h"
#include "Misc/Guid.h"
#include "Misc/Paths.h"

namespace
{
const TCHAR *const BoundName = TEXT("A compressed animation");
}

void FMeshreelAnimData::SerializeCompressedData(FArchive &Ar)
{
    ICompressedAnimData::SerializeCompressedData(Ar);
    Ar << NumBytes;
}

void FMeshreelAnimData::Bind(const TArrayView<uint8> BulkData)
{
    Clip.Close();
    Joints.Reset();
    NumBytes = BulkData.Num();
    mr_reel *Handle = nullptr;
    if (!FMeshreelLibrary::IsUsable() ||
        !FMeshreelLibrary::Ok(mr_reel_open_memory("A compressed animation", BulkData.GetData(),
                                                  static_cast<size_t>(BulkData.Num()), nullptr, &Handle),
                              BoundName))
    {
        return;
    }
    const FMeshreelReel Reel(Handle);
    FMeshreelAxes Axes;
    mr_reel_info Info = MeshreelSized<mr_reel_info>();
    if (!FMeshreelLibrary::Ok(mr_reel_get(Handle, &Info), BoundName))
    {
        return;
    }
    Axes.Scale = FMeshreelAxes::CentimetresOf(Info.unit);
    if (!Clip.Open(Handle, 0, Axes, BoundName))
    {
        return;
    }
    const TArray<FName> &Names = Clip.GetJointNames();
    for (int32 Joint = 0; Joint < Names.Num(); Joint++)
    {
        const int32 Track = FMeshreelAnimationFile::TrackOf(Names[Joint].ToString());
        if (Track != INDEX_NONE)
        {
            while (Joints.Num() <= Track)
            {
                Joints.Add(INDEX_NONE);
            }
            Joints[Track] = Joint;
        }
    }
    // A clip that this codec has not compressed: its joints are the tracks.
    for (int32 Joint = 0; Joint < Names.Num() && Joints.Num() < Names.Num() && Joints.Num() == Joint; Joint++)
    {
        Joints.Add(Joint);
    }
}

FString FMeshreelAnimData::GetDebugString() const
{
    return FString::Printf(TEXT("meshreel, %d joints, %d samples, %lld bytes"), Clip.GetNumJoints(),
                           Clip.GetNumSamples(), static_cast<long long>(NumBytes));
}

UMeshreelBoneCompressionCodec::UMeshreelBoneCompressionCodec() { Description = TEXT("meshreel"); }

TUniquePtr<ICompressedAnimData> UMeshreelBoneCompressionCodec::AllocateAnimData() const
{
    return MakeUnique<FMeshreelAnimData>();
}

void UMeshreelBoneCompressionCodec::DecompressBone(FAnimSequenceDecompressionContext &DecompContext,
                                                   int32 TrackIndex, FTransform &OutAtom) const
{
    const auto &Data = static_cast<const FMeshreelAnimData &>(DecompContext.CompressedAnimData);
    const int32 Joint = Data.JointOfTrack(TrackIndex);
    if (Joint != INDEX_NONE)
    {
        // Where it fails, the transform stays what the engine has filled in.
        Data.Clip.Joint(Joint, DecompContext.GetEvaluationTime(), false,
                        DecompContext.Interpolation == EAnimInterpolationType::Step, OutAtom);
    }
}

void UMeshreelBoneCompressionCodec::DecompressPose(FAnimSequenceDecompressionContext &DecompContext,
                                                   const BoneTrackArray &RotationPairs,
                                                   const BoneTrackArray &TranslationPairs,
                                                   const BoneTrackArray &ScalePairs,
                                                   TArrayView<FTransform> &OutAtoms) const
{
    const auto &Data = static_cast<const FMeshreelAnimData &>(DecompContext.CompressedAnimData);
    TArray<FTransform> Pose;
    if (!Data.Clip.Pose(DecompContext.GetEvaluationTime(), false,
                        DecompContext.Interpolation == EAnimInterpolationType::Step, Pose))
    {
        return;
    }
    for (const BoneTrackPair &Pair : RotationPairs)
    {
        const int32 Joint = Data.JointOfTrack(Pair.TrackIndex);
        if (Joint != INDEX_NONE)
        {
            OutAtoms[Pair.AtomIndex].SetRotation(Pose[Joint].GetRotation());
        }
    }
    for (const BoneTrackPair &Pair : TranslationPairs)
    {
        const int32 Joint = Data.JointOfTrack(Pair.TrackIndex);
        if (Joint != INDEX_NONE)
        {
            OutAtoms[Pair.AtomIndex].SetTranslation(Pose[Joint].GetTranslation());
        }
    }
    for (const BoneTrackPair &Pair : ScalePairs)
    {
        const int32 Joint = Data.JointOfTrack(Pair.TrackIndex);
        if (Joint != INDEX_NONE)
        {
            OutAtoms[Pair.AtomIndex].SetScale3D(Pose[Joint].GetScale3D());
        }
    }
}

#if WITH_EDITORONLY_DATA
void UMeshreelBoneCompressionCodec::PopulateDDCKey(const UE::Anim::Compression::FAnimDDCKeyArgs &KeyArgs,
                                                   FArchive &Ar)
{
    Super::PopulateDDCKey(KeyArgs, Ar);
    uint32 Version = mr_version();
    Ar << Version << Tolerance << ShellDistance << bRandomAccess;
}

bool UMeshreelBoneCompressionCodec::Compress(const FCompressibleAnimData &CompressibleAnimData,
                                             FCompressibleAnimDataResult &OutResult)
{
    if (CompressibleAnimData.bIsValidAdditive)
    {
        UE_LOG(LogMeshreel, Error,
               TEXT("%s is additive: its tracks are differences, for which lengths have no meaning; "
                    "compress it with another codec"),
               *CompressibleAnimData.FullName);
        return false;
    }
    TArray<uint8> Source, Compiled;
    if (!FMeshreelAnimationFile::Write(CompressibleAnimData, Source))
    {
        return false;
    }
    const FString Base =
        FPaths::Combine(FPaths::ProjectIntermediateDir(), TEXT("Meshreel"), FGuid::NewGuid().ToString());
    const FString Input = Base + TEXT(".glb"), Output = Base + TEXT(".reel");
    FMeshreelCompile Job;
    Job.Input = Input;
    Job.Output = Output;
    // The shell is a number in the unit of the file, metres.
    Job.Options =
        FString::Printf(TEXT("--clips-only --tolerance %gcm --shell %g --codec %s"), double(Tolerance),
                        double(ShellDistance) / 100.0, bRandomAccess ? TEXT("random-access") : TEXT("auto"));
    FString Error;
    const bool bCompiled = FFileHelper::SaveArrayToFile(Source, *Input) &&
                           FMeshreelProgram::Compile(Job, Error) &&
                           FFileHelper::LoadFileToArray(Compiled, *Output);
    IFileManager::Get().Delete(*Input, false, false, true);
    IFileManager::Get().Delete(*Output, false, false, true);
    if (!bCompiled)
    {
        UE_LOG(LogMeshreel, Error, TEXT("%s was not compressed: %s"), *CompressibleAnimData.FullName,
               Error.IsEmpty() ? TEXT("its file cannot be written") : *Error);
        return false;
    }
    OutResult.CompressedByteStream = MoveTemp(Compiled);
    OutResult.Codec = this;
    OutResult.AnimData = AllocateAnimData();
    OutResult.AnimData->CompressedNumberOfKeys = CompressibleAnimData.NumberOfKeys;
    OutResult.AnimData->Bind(OutResult.CompressedByteStream);
    return OutResult.AnimData->IsValid();
}
#endif
