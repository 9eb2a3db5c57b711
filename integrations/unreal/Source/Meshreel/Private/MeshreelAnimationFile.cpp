#include "MeshreelAnimationFile.h"

#include "Animation/AnimCompressionTypes.h"
#include "MeshreelAxes.h"

int32 FMeshreelAnimationFile::TrackOf(const FString &JointName)
{
    const FString Prefix = TEXT("track");
    if (!JointName.StartsWith(Prefix))
    {
        return INDEX_NONE;
    }
    const FString Number = JointName.RightChop(Prefix.Len());
    return Number.IsNumeric() && Number.Len() < 7 ? FCString::Atoi(*Number) : INDEX_NONE;
}

#if WITH_EDITORONLY_DATA
namespace
{
/** The binary part of the file, and the lists that describe it. */
struct FGlb
{
    TArray<uint8> Binary;
    FString Views, Accessors, Samplers, Channels;
    int32 NumAccessors = 0, NumSamplers = 0;

    int32 Add(const TArray<float> &Values, int32 Components, const TCHAR *Type)
    {
        const int32 Offset = Binary.Num(), Bytes = Values.Num() * static_cast<int32>(sizeof(float));
        Binary.AddUninitialized(Bytes);
        FMemory::Memcpy(Binary.GetData() + Offset, Values.GetData(), static_cast<SIZE_T>(Bytes));
        const TCHAR *Comma = NumAccessors > 0 ? TEXT(",") : TEXT("");
        Views += FString::Printf(TEXT("%s{\"buffer\":0,\"byteOffset\":%d,\"byteLength\":%d}"), Comma, Offset,
                                 Bytes);
        FString Range;
        if (Components == 1)
        {
            // The format demands the range of times.
            Range = FString::Printf(TEXT(",\"min\":[%.9g],\"max\":[%.9g]"), double(Values[0]),
                                    double(Values.Last()));
        }
        Accessors += FString::Printf(
            TEXT("%s{\"bufferView\":%d,\"componentType\":5126,\"count\":%d,\"type\":\"%s\"%s}"), Comma,
            NumAccessors, Values.Num() / Components, Type, *Range);
        return NumAccessors++;
    }

    void AddChannel(int32 Times, int32 Values, int32 Node, const TCHAR *Path)
    {
        const TCHAR *Comma = NumSamplers > 0 ? TEXT(",") : TEXT("");
        Samplers += FString::Printf(TEXT("%s{\"input\":%d,\"output\":%d}"), Comma, Times, Values);
        Channels += FString::Printf(TEXT("%s{\"sampler\":%d,\"target\":{\"node\":%d,\"path\":\"%s\"}}"),
                                    Comma, NumSamplers, Node, Path);
        NumSamplers++;
    }
};

void Append32(TArray<uint8> &Out, uint32 Value)
{
    for (int32 Shift = 0; Shift < 32; Shift += 8)
    {
        Out.Add(static_cast<uint8>(Value >> Shift));
    }
}

/** A key of a track; a track with one key does not move. */
template <typename T> T KeyOf(const TArray<T> &Keys, int32 Index, const T &Default)
{
    return Keys.Num() == 0 ? Default : Keys[FMath::Min(Index, Keys.Num() - 1)];
}

void AddTrack(const FRawAnimSequenceTrack &Track, const FTransform &Rest, int32 NumKeys, int32 Times,
              int32 Node, const FMeshreelAxes &Axes, FGlb &Out)
{
    TArray<float> Rotations, Translations, Scales;
    for (int32 Key = 0; Key < NumKeys; Key++)
    {
        const FTransform Local(FQuat(KeyOf(Track.RotKeys, Key, FQuat4f(Rest.GetRotation()))),
                               FVector(KeyOf(Track.PosKeys, Key, FVector3f(Rest.GetTranslation()))),
                               FVector(KeyOf(Track.ScaleKeys, Key, FVector3f(Rest.GetScale3D()))));
        const mr_transform In = Axes.ToFile(Local);
        Rotations.Append(In.rotation, 4);
        Translations.Append(In.translation, 3);
        Scales.Append(In.scale, 3);
    }
    Out.AddChannel(Times, Out.Add(Rotations, 4, TEXT("VEC4")), Node, TEXT("rotation"));
    Out.AddChannel(Times, Out.Add(Translations, 3, TEXT("VEC3")), Node, TEXT("translation"));
    Out.AddChannel(Times, Out.Add(Scales, 3, TEXT("VEC3")), Node, TEXT("scale"));
}

/** The nodes of the skeleton as JSON, each with its children and rest transform. */
FString Nodes(const FCompressibleAnimData &Data, const TArray<int32> &TrackOfBone, const FMeshreelAxes &Axes)
{
    const int32 NumBones = Data.RefSkeleton.GetNum();
    TArray<FString> Children;
    Children.SetNum(NumBones);
    for (int32 Bone = 0; Bone < NumBones; Bone++)
    {
        const int32 Parent = Data.RefSkeleton.GetParentIndex(Bone);
        if (Parent != INDEX_NONE)
        {
            Children[Parent] +=
                FString::Printf(TEXT("%s%d"), Children[Parent].IsEmpty() ? TEXT("") : TEXT(","), Bone);
        }
    }
    FString Out;
    for (int32 Bone = 0; Bone < NumBones; Bone++)
    {
        const mr_transform Rest = Axes.ToFile(Data.RefLocalPoses.IsValidIndex(Bone) ? Data.RefLocalPoses[Bone]
                                                                                    : FTransform::Identity);
        const bool bTrack = TrackOfBone[Bone] != INDEX_NONE;
        Out += FString::Printf(TEXT("%s{\"name\":\"%s%d\",\"rotation\":[%.9g,%.9g,%.9g,%.9g],"),
                               Bone > 0 ? TEXT(",") : TEXT(""), bTrack ? TEXT("track") : TEXT("bone"),
                               bTrack ? TrackOfBone[Bone] : Bone, double(Rest.rotation[0]),
                               double(Rest.rotation[1]), double(Rest.rotation[2]), double(Rest.rotation[3]));
        Out += FString::Printf(TEXT("\"translation\":[%.9g,%.9g,%.9g],\"scale\":[%.9g,%.9g,%.9g]"),
                               double(Rest.translation[0]), double(Rest.translation[1]),
                               double(Rest.translation[2]), double(Rest.scale[0]), double(Rest.scale[1]),
                               double(Rest.scale[2]));
        Out += Children[Bone].IsEmpty() ? FString(TEXT("}"))
                                        : TEXT(",\"children\":[") + Children[Bone] + TEXT("]}");
    }
    return Out;
}

void Assemble(const FString &Json, TArray<uint8> &Binary, TArray<uint8> &Out)
{
    const FTCHARToUTF8 Text(*Json);
    const int32 Padding = (4 - Text.Length() % 4) % 4;
    while (Binary.Num() % 4 != 0)
    {
        Binary.Add(0);
    }
    const uint32 JsonBytes = static_cast<uint32>(Text.Length() + Padding),
                 BinaryBytes = static_cast<uint32>(Binary.Num());
    Append32(Out, 0x46546C67);
    Append32(Out, 2);
    Append32(Out, 12 + 8 + JsonBytes + 8 + BinaryBytes);
    Append32(Out, JsonBytes);
    Append32(Out, 0x4E4F534A);
    Out.Append(reinterpret_cast<const uint8 *>(Text.Get()), Text.Length());
    for (int32 Index = 0; Index < Padding; Index++)
    {
        Out.Add(uint8(' '));
    }
    Append32(Out, BinaryBytes);
    Append32(Out, 0x004E4942);
    Out.Append(Binary);
}
} // namespace

bool FMeshreelAnimationFile::Write(const FCompressibleAnimData &Data, TArray<uint8> &Out)
{
    const int32 NumBones = Data.RefSkeleton.GetNum(), NumKeys = Data.NumberOfKeys;
    if (NumBones == 0 || NumKeys < 1 || Data.RawAnimationData.Num() == 0)
    {
        UE_LOG(LogMeshreel, Error, TEXT("%s has no tracks to compress"), *Data.FullName);
        return false;
    }
    FMeshreelAxes Axes; // Metres, y up.
    FGlb Glb;
    TArray<float> Seconds;
    for (int32 Key = 0; Key < NumKeys; Key++)
    {
        Seconds.Add(NumKeys > 1 ? static_cast<float>(Data.SequenceLength * Key / (NumKeys - 1)) : 0.0f);
    }
    const int32 Times = Glb.Add(Seconds, 1, TEXT("SCALAR"));
    TArray<int32> TrackOfBone;
    TrackOfBone.Init(INDEX_NONE, NumBones);
    for (int32 Track = 0; Track < Data.RawAnimationData.Num(); Track++)
    {
        const int32 Bone = Data.TrackToSkeletonMapTable[Track].BoneTreeIndex;
        if (Bone < 0 || Bone >= NumBones)
        {
            continue;
        }
        TrackOfBone[Bone] = Track;
        const FTransform Rest =
            Data.RefLocalPoses.IsValidIndex(Bone) ? Data.RefLocalPoses[Bone] : FTransform::Identity;
        AddTrack(Data.RawAnimationData[Track], Rest, NumKeys, Times, Bone, Axes, Glb);
    }
    FString Joints, Roots;
    for (int32 Bone = 0; Bone < NumBones; Bone++)
    {
        Joints += FString::Printf(TEXT("%s%d"), Bone > 0 ? TEXT(",") : TEXT(""), Bone);
        if (Data.RefSkeleton.GetParentIndex(Bone) == INDEX_NONE)
        {
            Roots += FString::Printf(TEXT("%s%d"), Roots.IsEmpty() ? TEXT("") : TEXT(","), Bone);
        }
    }
    FString Json = TEXT("{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[") + Roots +
                   TEXT("]}],\"nodes\":[") + Nodes(Data, TrackOfBone, Axes) +
                   TEXT("],\"skins\":[{\"joints\":[") + Joints +
                   TEXT("]}],\"animations\":[{\"name\":\"animation\",\"samplers\":[") + Glb.Samplers +
                   TEXT("],\"channels\":[") + Glb.Channels + TEXT("]}],\"accessors\":[") + Glb.Accessors +
                   TEXT("],\"bufferViews\":[") + Glb.Views +
                   FString::Printf(TEXT("],\"buffers\":[{\"byteLength\":%d}]}"), Glb.Binary.Num());
    Out.Reset();
    Assemble(Json, Glb.Binary, Out);
    return true;
}
#endif
