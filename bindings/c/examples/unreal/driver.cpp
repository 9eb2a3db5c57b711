// Runs the listings of docs/ENGINES.md for Unreal Engine on files, against our stand-ins for its headers, and holds
// what they give against the interface itself.
//
//     driver MESH_FILE CLIP_FILE
#include "StandIns.h"
#include "Listing.h" // Taken out of the document by tests/c.sh.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

static void Require(bool so, const char *what) {
    if (!so) {
        std::fprintf(stderr, "not so: %s (%s)\n", what, mr_last_error());
        std::exit(1);
    }
}

static TArray<uint8> Read(const char *path) {
    std::ifstream file(path, std::ios::binary);
    Require(file.good(), path);
    TArray<uint8> out;
    for (auto at = std::istreambuf_iterator<char>(file); at != std::istreambuf_iterator<char>(); ++at) {
        out.Add(static_cast<uint8>(*at));
    }
    return out;
}

// The first node with a mesh.
static uint32 NodeOf(const TArray<uint8> &bytes) {
    mr_reel *reel = nullptr;
    Require(mr_reel_open_memory(nullptr, bytes.GetData(), static_cast<std::size_t>(bytes.Num()), nullptr, &reel) ==
                MR_STATUS_OK,
            "the file opens");
    uint32 out = 0;
    mr_node_info node{};
    node.size = sizeof node;
    while (mr_reel_node(reel, out, &node) == MR_STATUS_OK && node.mesh == MR_NONE) {
        out++;
    }
    mr_reel_free(reel);
    return out;
}

static void Geometry(const char *path) {
    UMeshreelGeometryCacheCodec codec;
    const TArray<uint8> file = Read(path);
    Require(codec.Open(file, NodeOf(file)), "the file opens");
    std::unique_ptr<FGeometryCacheCodecRenderStateBase> state(codec.CreateRenderState());
    FGeometryCacheMeshData first, other;
    FGeometryCacheCodecDecodeArguments zero{0, first}, four{4, other};
    Require(state->DecodeSingleFrame(four) && codec.DecodeSingleFrame(zero), "frames decode");
    Require(first.Positions.Num() > 0 && first.Indices.Num() % 3 == 0, "there are triangles");
    Require(first.BatchesInfo.Num() > 0, "there are batches");
    bool moves = false;
    for (int32 v = 0; v < first.Positions.Num(); v++) {
        moves = moves || first.Positions[v].X != other.Positions[v].X;
    }
    Require(moves, "frames differ");
    FGeometryCacheCodecDecodeArguments beyond{1 << 20, other};
    Require(!state->DecodeSingleFrame(beyond), "a frame that is not there is refused");
    Require(other.Positions.Num() == first.Positions.Num(), "the last good frame stays");
    UMeshreelGeometryCacheCodec damaged;
    TArray<uint8> bytes = Read(path);
    bytes[bytes.Num() / 2] ^= 0x55;
    bytes[20] ^= 0x55;
    Require(!damaged.Open(bytes, 0), "damage is refused");
}

static void Animation(const char *path) {
    TArray<uint8> bytes = Read(path);
    UMeshreelBoneCompressionCodec codec;
    TUniquePtr<ICompressedAnimData> data = codec.AllocateAnimData();
    data->Bind(TArrayView<uint8>(bytes.GetData(), bytes.Num()));
    Require(data->IsValid(), "the clip opens");
    FAnimSequenceDecompressionContext context{*data, 0.25};
    std::vector<FTransform> atoms(4);
    TArrayView<FTransform> view(atoms.data(), 4);
    BoneTrackArray all;
    for (int32 bone = 0; bone < 4; bone++) {
        all.Add({bone, 3 - bone});
    }
    codec.DecompressPose(context, all, all, all, view);
    for (int32 bone = 0; bone < 4; bone++) {
        FTransform one;
        codec.DecompressBone(context, 3 - bone, one);
        FQuat a = one.GetRotation(), b = view[bone].GetRotation();
        Require(a.X == b.X && a.W == b.W && one.GetTranslation().Y == view[bone].GetTranslation().Y, "poses agree");
        Require(std::fabs(a.X * a.X + a.Y * a.Y + a.Z * a.Z + a.W * a.W - 1.0) < 1e-4, "rotations have length 1");
    }
    bytes[bytes.Num() / 2] ^= 0x55;
    TUniquePtr<ICompressedAnimData> damaged = codec.AllocateAnimData();
    damaged->Bind(TArrayView<uint8>(bytes.GetData(), bytes.Num()));
    Require(!damaged->IsValid(), "damage is refused");
}

int main(int count, char **arguments) {
    Require(count == 3, "driver MESH_FILE CLIP_FILE");
    Geometry(arguments[1]);
    Animation(arguments[2]);
    std::printf("the listings work\n");
    return 0;
}
