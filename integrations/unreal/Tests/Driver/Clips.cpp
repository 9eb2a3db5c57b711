// Clips: the codec of animation sequences, and clips on the bones of a poseable mesh.
#include "Checks.h"
#include "Components/PoseableMeshComponent.h"
#include "MeshreelAnimation.h"
#include "MeshreelClipPlayer.h"

namespace Driver
{
namespace
{
/**
 * The transform of the README's axes, from a clip in the file's: y and z swap, rotations turn the other way.
 */
void RequireSame(const FTransform &Is, const mr_transform &In, double Scale, double Tolerance = 1e-6)
{
    const FQuat Q = Is.GetRotation();
    const FVector T = Is.GetTranslation(), S = Is.GetScale3D();
    REQUIRE(Near(Q.X, -In.rotation[0], Tolerance) && Near(Q.Y, -In.rotation[2], Tolerance) &&
            Near(Q.Z, -In.rotation[1], Tolerance) && Near(Q.W, In.rotation[3], Tolerance));
    REQUIRE(Near(T.X, Scale * In.translation[0], Tolerance) &&
            Near(T.Y, Scale * In.translation[2], Tolerance) &&
            Near(T.Z, Scale * In.translation[1], Tolerance));
    REQUIRE(Near(S.X, In.scale[0], Tolerance) && Near(S.Y, In.scale[2], Tolerance) &&
            Near(S.Z, In.scale[1], Tolerance));
}

/** A clip straight from the C interface. */
struct FCursorOf
{
    explicit FCursorOf(const TArray<uint8> &Bytes)
    {
        mr_clips *Handle = nullptr;
        REQUIRE(mr_reel_open_memory(nullptr, Bytes.GetData(), size_t(Bytes.Num()), nullptr, &Reel) ==
                MR_STATUS_OK);
        REQUIRE(mr_clips_new(Reel, &Handle) == MR_STATUS_OK);
        Clips.Reset(Handle);
        Info = MeshreelSized<mr_clip_info>();
        REQUIRE(mr_clips_clip(Handle, 0, &Info, nullptr, 0, nullptr) == MR_STATUS_OK);
        REQUIRE(mr_cursor_new(Handle, 0, nullptr, 0, &Cursor) == MR_STATUS_OK);
        mr_reel_info Properties = MeshreelSized<mr_reel_info>();
        REQUIRE(mr_reel_get(Reel, &Properties) == MR_STATUS_OK);
        Scale = double(FMeshreelAxes::CentimetresOf(Properties.unit));
    }
    ~FCursorOf()
    {
        mr_cursor_free(Cursor);
        mr_reel_free(Reel);
    }
    std::vector<mr_transform> Pose(double Seconds, bool bLoop = false,
                                   mr_rounding Rounding = MR_ROUNDING_NONE)
    {
        std::vector<mr_transform> Out(Info.joints);
        const mr_query Query{Seconds, bLoop ? 1u : 0u, Rounding};
        REQUIRE(mr_cursor_pose(Cursor, &Query, Out.data(), Out.size()) == MR_STATUS_OK);
        return Out;
    }
    mr_reel *Reel = nullptr;
    FMeshreelClipSet Clips;
    mr_clip_info Info{};
    mr_cursor *Cursor = nullptr;
    double Scale = 1.0;
};

void TestDecompression(const std::string &Path)
{
    TArray<uint8> Bytes = ReadFile(Path);
    FCursorOf Reference(Bytes);
    UMeshreelBoneCompressionCodec *Codec = NewObject<UMeshreelBoneCompressionCodec>();
    TUniquePtr<ICompressedAnimData> Data = Codec->AllocateAnimData();
    Data->Bind(TArrayView<uint8>(Bytes.GetData(), Bytes.Num()));
    REQUIRE(Data->IsValid() && Data->GetApproxCompressedSize() == Bytes.Num() &&
            Data->GetDebugString().Contains(TEXT("joints")));
    const int32 Joints = int32(Reference.Info.joints);
    BoneTrackArray All;
    for (int32 Track = 0; Track < Joints; Track++)
    {
        All.Add({Joints - 1 - Track, Track}); // Atoms in another order than tracks.
    }
    FAnimSequenceDecompressionContext Context{*Data};
    for (const bool bStep : {false, true})
    {
        Context.Interpolation = bStep ? EAnimInterpolationType::Step : EAnimInterpolationType::Linear;
        for (int32 Step = 0; Step <= 20; Step++)
        {
            Context.Time = Reference.Info.duration * Step / 20.0;
            const auto Pose =
                Reference.Pose(Context.Time, false, bStep ? MR_ROUNDING_FLOOR : MR_ROUNDING_NONE);
            std::vector<FTransform> Atoms(static_cast<SIZE_T>(Joints));
            TArrayView<FTransform> View(Atoms.data(), Joints);
            Codec->DecompressPose(Context, All, All, All, View);
            for (int32 Track = 0; Track < Joints; Track++)
            {
                RequireSame(Atoms[static_cast<SIZE_T>(Joints - 1 - Track)], Pose[static_cast<SIZE_T>(Track)],
                            Reference.Scale);
                FTransform One;
                Codec->DecompressBone(Context, Track, One);
                RequireSame(One, Pose[static_cast<SIZE_T>(Track)], Reference.Scale);
            }
        }
    }
    // A track that is not there leaves what the engine has filled in.
    FTransform Untouched(FQuat::Identity, FVector(1.0, 2.0, 3.0), FVector(1.0, 1.0, 1.0));
    Codec->DecompressBone(Context, 10000, Untouched);
    REQUIRE(Untouched.GetTranslation() == FVector(1.0, 2.0, 3.0));
    // Many threads ask at once.
    ParallelFor(4,
                [&](int32 Index)
                {
                    FAnimSequenceDecompressionContext Own{*Data};
                    for (int32 Round = 0; Round < 25; Round++)
                    {
                        Own.Time = Reference.Info.duration * ((Round * (Index + 3)) % 25) / 25.0;
                        std::vector<FTransform> Atoms(static_cast<SIZE_T>(Joints));
                        TArrayView<FTransform> View(Atoms.data(), Joints);
                        Codec->DecompressPose(Own, All, All, All, View);
                    }
                });
    TArray<uint8> Saved;
    FMemoryWriter Writer(Saved);
    Data->SerializeCompressedData(Writer);
    TUniquePtr<ICompressedAnimData> Loaded = Codec->AllocateAnimData();
    FMemoryReader Reader(Saved);
    Loaded->SerializeCompressedData(Reader);
    REQUIRE(!Loaded->IsValid() && Loaded->GetApproxCompressedSize() == Bytes.Num());
    Codec->ByteSwapIn(*Loaded, TArrayView<uint8>(), Reader);
    Codec->ByteSwapOut(*Loaded, TArrayView<uint8>(), Writer);
    Bytes[Bytes.Num() / 2] ^= 0x55;
    Loaded->Bind(TArrayView<uint8>(Bytes.GetData(), Bytes.Num()));
    REQUIRE(!Loaded->IsValid());
    RequireErrors(1, "A compressed animation");
    FAnimSequenceDecompressionContext Broken{*Loaded};
    std::vector<FTransform> Atoms(static_cast<SIZE_T>(Joints));
    TArrayView<FTransform> View(Atoms.data(), Joints);
    Codec->DecompressPose(Broken, All, All, All, View);
    Codec->DecompressBone(Broken, 0, Atoms[0]);
    REQUIRE(Atoms[0].GetTranslation() == FVector::ZeroVector);
}

/** An animation of the engine: a root that travels, a chain of three, and a bone without a track between
 * them. */
FCompressibleAnimData MakeAnimation()
{
    FCompressibleAnimData Data;
    Data.FullName = TEXT("/Game/Walk");
    Data.RefSkeleton.Parents = {INDEX_NONE, 0, 1, 2, 0};
    Data.NumberOfKeys = 25;
    Data.SequenceLength = 0.8;
    for (int32 Bone = 0; Bone < 5; Bone++)
    {
        Data.RefLocalPoses.Add(
            FTransform(FQuat::Identity, FVector(0.0, 0.0, 20.0 * Bone), FVector(1.0, 1.0, 1.0)));
    }
    for (const int32 Bone : {3, 0, 2, 4}) // Bone 1 has no track, and tracks are in another order.
    {
        FTrackToSkeletonMap Map;
        Map.BoneTreeIndex = Bone;
        Data.TrackToSkeletonMapTable.Add(Map);
        FRawAnimSequenceTrack Track;
        for (int32 Key = 0; Key < (Bone == 4 ? 1 : Data.NumberOfKeys); Key++)
        {
            const double A = 0.08 * Key * (Bone + 1);
            Track.RotKeys.Add(
                FQuat4f(FQuat(std::sin(A / 2) * 0.6, std::sin(A / 2) * 0.8, 0.0, std::cos(A / 2))));
            Track.PosKeys.Add(Bone == 0 ? FVector3f(float(3.0 * Key), 1.0f, 90.0f)
                                        : FVector3f(2.0f, 3.0f, float(10 * Bone)));
            Track.ScaleKeys.Add(Bone == 2 ? FVector3f(1.0f, 1.0f + 0.01f * float(Key), 1.0f)
                                          : FVector3f(1.0f, 1.0f, 1.0f));
        }
        Data.RawAnimationData.Add(Track);
    }
    return Data;
}

void TestCompression()
{
    UMeshreelBoneCompressionCodec *Codec = NewObject<UMeshreelBoneCompressionCodec>();
    UMeshreelSettings *Settings = GetMutableDefault<UMeshreelSettings>();
    FCompressibleAnimData Data = MakeAnimation();
    TArray<uint8> Key1, Key2;
    FMemoryWriter Writer1(Key1), Writer2(Key2);
    Codec->PopulateDDCKey({}, Writer1);
    for (const bool bRandomAccess : {false, true})
    {
        FCompressibleAnimDataResult Result;
        Codec->bRandomAccess = bRandomAccess;
        REQUIRE(Codec->Compress(Data, Result));
        REQUIRE(Result.Codec == Codec && Result.AnimData->IsValid() &&
                Result.AnimData->CompressedNumberOfKeys == 25);
        const int32 Raw = 25 * 4 * 40;
        REQUIRE(Result.CompressedByteStream.Num() < Raw / 2);
        BoneTrackArray All;
        for (int32 Track = 0; Track < 4; Track++)
        {
            All.Add({Track, Track});
        }
        double Worst = 0.0;
        FAnimSequenceDecompressionContext Context{*Result.AnimData};
        for (int32 Key = 0; Key < 25; Key++)
        {
            Context.Time = Data.SequenceLength * Key / 24.0;
            std::vector<FTransform> Atoms(4);
            TArrayView<FTransform> View(Atoms.data(), 4);
            Codec->DecompressPose(Context, All, All, All, View);
            for (int32 Track = 0; Track < 4; Track++)
            {
                const FRawAnimSequenceTrack &Source = Data.RawAnimationData[Track];
                const int32 At = FMath::Min(Key, Source.PosKeys.Num() - 1);
                const FTransform Expected(FQuat(Source.RotKeys[At]), FVector(Source.PosKeys[At]),
                                          FVector(Source.ScaleKeys[At]));
                // A point three centimetres from the joint: the shell at which the error is promised.
                for (const FVector &Point :
                     {FVector(3.0, 0.0, 0.0), FVector(0.0, 3.0, 0.0), FVector(0.0, 0.0, 3.0)})
                {
                    Worst = FMath::Max(
                        Worst, FVector::Dist(Atoms[static_cast<SIZE_T>(Track)].TransformPosition(Point),
                                             Expected.TransformPosition(Point)));
                }
            }
        }
        std::printf("  compressed to %d of %d bytes, at most %.4f cm off in the parent's space\n",
                    Result.CompressedByteStream.Num(), Raw, Worst);
        REQUIRE(Worst <= 0.0201); // Of two joints, each 0.01 cm off in the world.
    }
    Codec->PopulateDDCKey({}, Writer2);
    REQUIRE(!(Key1 == Key2)); // Other settings, other data.
    // Refusals, each with one sentence.
    FCompressibleAnimDataResult Result;
    Data.bIsValidAdditive = true;
    REQUIRE(!Codec->Compress(Data, Result));
    RequireErrors(1, "additive");
    Data.bIsValidAdditive = false;
    FCompressibleAnimData Empty;
    Empty.FullName = TEXT("/Game/Empty");
    REQUIRE(!Codec->Compress(Empty, Result));
    RequireErrors(1, "/Game/Empty");
    Codec->Tolerance = -1.0f;
    REQUIRE(!Codec->Compress(Data, Result));
    RequireErrors(1, "/Game/Walk was not compressed");
    Codec->Tolerance = 0.01f;
    const FString Program = Settings->Program.FilePath;
    Settings->Program.FilePath = TEXT("/no/such/program");
    REQUIRE(!Codec->Compress(Data, Result));
    RequireErrors(1, "/no/such/program");
    Settings->Program.FilePath = Program;
}

/** A character whose bones have the names of the joints, in another order, and one more. */
struct FPlayerTest
{
    const std::string Path = Arguments().Made + "/materials.reel";
    FCursorOf Reference{ReadFile(Path)};
    FWorld World;
    AActor *Actor = NewObject<AActor>(World.World);
    UPoseableMeshComponent *Mesh = NewObject<UPoseableMeshComponent>(Actor);
    UMeshreelClipPlayer *Player = NewObject<UMeshreelClipPlayer>(Actor);
    std::vector<std::string> Markers;
    int32 Ended = 0;
    TArray<FName> Joints;
    TArray<FTransform> Pose;

    FPlayerTest()
    {
        Mesh->BoneNames = {TEXT("tip"), TEXT("other"), TEXT("hips"), TEXT("spine")};
        Mesh->BoneSpaceTransforms.SetNum(4);
    }

    void RequirePose(double Seconds);
    void Plays();
    void Loops();
    void Blends();
};

void FPlayerTest::RequirePose(double Seconds)
{
    Player->GetPose(Joints, Pose);
    const auto Expected = Reference.Pose(Seconds);
    REQUIRE(Pose.Num() == int32(Reference.Info.joints));
    for (int32 Joint = 0; Joint < Pose.Num(); Joint++)
    {
        RequireSame(Pose[Joint], Expected[static_cast<SIZE_T>(Joint)], Reference.Scale);
        const int32 Bone = Mesh->GetBoneIndex(Joints[Joint]);
        REQUIRE(Bone != INDEX_NONE &&
                Mesh->BoneSpaceTransforms[Bone].GetTranslation() == Pose[Joint].GetTranslation());
    }
}

void FPlayerTest::Plays()
{
    REQUIRE(Player->GetClips().Num() == 0 && !Player->Play(NAME_None) && Player->GetDuration() == 0.0 &&
            !Player->IsPlaying());
    Player->Asset = LoadAsset(Path);
    Player->OnMarker.AddLambda([&](UMeshreelClipPlayer *, FName Marker)
                               { Markers.push_back(Marker.ToString().Utf8()); });
    Player->OnEnded.AddLambda([&](UMeshreelClipPlayer *) { Ended++; });
    Player->bLoop = false;
    Player->BeginPlay();
    Player->RegisterComponentWithWorld(World.World);
    REQUIRE(Player->GetClips().Num() == 1 && Player->IsPlaying() &&
            Near(Player->GetDuration(), Reference.Info.duration, 1e-9));
    RequirePose(0.0);
    World.Tick(0.5f);
    REQUIRE(Near(Player->GetPosition(), 0.5, 1e-6));
    RequirePose(Player->GetPosition());
    Player->SetPaused(true);
    World.Tick(0.5f);
    REQUIRE(Near(Player->GetPosition(), 0.5, 1e-6) && !Player->IsPlaying());
    Player->SetPaused(false);
    for (int32 Tick = 0; Tick < 40; Tick++)
    {
        World.Tick(0.05f);
    }
    REQUIRE(Ended == 1 && !Player->IsPlaying() && int32(Markers.size()) == int32(Reference.Info.markers) &&
            Reference.Info.markers == 2);
    RequirePose(Reference.Info.duration);
}

void FPlayerTest::Loops()
{
    // In a loop each marker is passed once a turn; backwards as well.
    Markers.clear();
    Player->bLoop = true;
    REQUIRE(Player->Play(Player->GetClips()[0], 0.0));
    for (int32 Tick = 0; Tick < 60; Tick++)
    {
        World.Tick(float(Reference.Info.duration / 20.0));
    }
    REQUIRE(Markers.size() == 6);
    Player->Rate = -1.0;
    REQUIRE(Player->Play(NAME_None, 0.0) && Near(Player->GetPosition(), Reference.Info.duration, 1e-9));
    World.Tick(0.25f);
    RequirePose(Reference.Info.duration - 0.25);
    Player->Rate = 1.0;
    Player->Seek(1e9);
    REQUIRE(Player->GetPosition() == Reference.Info.duration);
    Player->Seek(1.0);
    RequirePose(1.0);
}

void FPlayerTest::Blends()
{
    // A blend begins at the pose that was shown, and ends at the clip's.
    Player->GetPose(Joints, Pose);
    const FQuat Before = Pose[1].GetRotation();
    REQUIRE(Player->Play(NAME_None, 0.2));
    Player->GetPose(Joints, Pose);
    REQUIRE(Near(Pose[1].GetRotation().X, Before.X, 1e-6) && Near(Pose[1].GetRotation().W, Before.W, 1e-6));
    World.Tick(0.3f);
    RequirePose(Player->GetPosition());
    // Root motion: what is taken is what the joint does not do any more.
    Player->RootJoint = Joints[0];
    REQUIRE(Player->Play(NAME_None, 0.0));
    World.Tick(0.2f);
    World.Tick(0.2f);
    const FTransform Motion = Player->TakeRootMotion();
    mr_transform Expected{};
    const mr_step Step{0.0, Player->GetPosition(), 1, 0};
    const float Up[3] = {0.0f, 1.0f, 0.0f};
    REQUIRE(mr_cursor_root_motion(Reference.Cursor, 0, &Step, Up, &Expected) == MR_STATUS_OK);
    RequireSame(Motion, Expected, Reference.Scale, 1e-4);
    REQUIRE(Player->TakeRootMotion().GetTranslation() == FVector::ZeroVector);
    Player->GetPose(Joints, Pose);
    REQUIRE(Pose[0].GetTranslation() == FVector::ZeroVector);
    REQUIRE(!Player->Play(TEXT("no such clip")));
    RequireErrors(1, "no such clip");
    REQUIRE(Mesh->Refreshed > 0);
    // Joints of another skeleton have no bones here: nothing is moved.
    Player->Asset = LoadAsset(Golden("clips/random_access.reel"));
    REQUIRE(Player->Play(NAME_None));
}
} // namespace

void TestClips()
{
    for (const char *Name : {"layers", "random_access", "random_access_layers"})
    {
        TestDecompression(Golden(std::string("clips/") + Name + ".reel"));
    }
    {
        FPlayerTest Test;
        Test.Plays();
        Test.Loops();
        Test.Blends();
    }
    if (Arguments().Program.empty())
    {
        std::printf("  skipped: compressing, without the program\n");
        return;
    }
    GetMutableDefault<UMeshreelSettings>()->Program.FilePath = ToText(Arguments().Program);
    TestCompression();
}
} // namespace Driver
