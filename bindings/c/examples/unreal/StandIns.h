// Stands in for Unreal Engine's headers, as far as the listings of docs/ENGINES.md use them, so that they are compiled
// and run without the engine. Written for these tests: names and shapes as the engine documents them, nothing else.
#pragma once

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <vector>

using int32 = std::int32_t;
using uint8 = std::uint8_t;
using uint32 = std::uint32_t;

#define UCLASS(...)
#define GENERATED_BODY()
#define UE_LOG(Category, Verbosity, Format, ...) std::printf(Format "\n", __VA_ARGS__)
#define TEXT(Text) Text
#define UTF8_TO_TCHAR(Text) Text

template <typename T> class TArray {
  public:
    void SetNumUninitialized(int32 Count) { Values.resize(static_cast<std::size_t>(Count)); }
    void Reset() { Values.clear(); }
    int32 Num() const { return static_cast<int32>(Values.size()); }
    T *GetData() { return Values.data(); }
    const T *GetData() const { return Values.data(); }
    T &operator[](int32 Index) { return Values.at(static_cast<std::size_t>(Index)); }
    const T &operator[](int32 Index) const { return Values.at(static_cast<std::size_t>(Index)); }
    void Add(const T &Value) { Values.push_back(Value); }
    void Emplace(T &&Value) { Values.push_back(std::move(Value)); }
    bool IsEmpty() const { return Values.empty(); }
    T Pop() {
        T Out = std::move(Values.back());
        Values.pop_back();
        return Out;
    }
    auto begin() { return Values.begin(); }
    auto end() { return Values.end(); }
    auto begin() const { return Values.begin(); }
    auto end() const { return Values.end(); }

  private:
    std::vector<T> Values;
};

template <typename T> class TArrayView {
  public:
    TArrayView(T *SetData, int32 SetCount) : Data(SetData), Count(SetCount) {}
    T *GetData() const { return Data; }
    int32 Num() const { return Count; }
    T &operator[](int32 Index) const {
        assert(Index >= 0 && Index < Count);
        return Data[Index];
    }

  private:
    T *Data;
    int32 Count;
};

template <typename T> using TUniquePtr = std::unique_ptr<T>;
template <typename T, typename... Arguments> TUniquePtr<T> MakeUnique(Arguments &&...Values) {
    return std::make_unique<T>(std::forward<Arguments>(Values)...);
}

class FCriticalSection : public std::mutex {};
class FScopeLock {
  public:
    explicit FScopeLock(FCriticalSection *Section) : Guard(*Section) {}

  private:
    std::lock_guard<std::mutex> Guard;
};

struct FVector2f {
    float X, Y;
};
struct FVector3f {
    float X, Y, Z;
};
struct FVector {
    double X, Y, Z;
};
struct FQuat {
    double X, Y, Z, W;
};
struct FColor {
    uint8 R, G, B, A;
};
struct FBox3f {
    FVector3f Min, Max;
};
struct FPackedNormal {
    FPackedNormal() = default;
    explicit FPackedNormal(const FVector3f &Of, float SetW = 1.0f) : Vector(Of), W(SetW) {}
    FVector3f Vector;
    float W;
};

class FTransform {
  public:
    FTransform() = default;
    FTransform(const FQuat &SetRotation, const FVector &SetTranslation, const FVector &SetScale)
        : Rotation(SetRotation), Translation(SetTranslation), Scale(SetScale) {}
    void SetRotation(const FQuat &Of) { Rotation = Of; }
    void SetTranslation(const FVector &Of) { Translation = Of; }
    void SetScale3D(const FVector &Of) { Scale = Of; }
    FQuat GetRotation() const { return Rotation; }
    FVector GetTranslation() const { return Translation; }

  private:
    FQuat Rotation{0, 0, 0, 1};
    FVector Translation{0, 0, 0}, Scale{1, 1, 1};
};

// Geometry caches.

struct FGeometryCacheMeshBatchInfo {
    uint32 StartIndex, NumTriangles, MaterialIndex;
};
struct FGeometryCacheVertexInfo {
    bool bHasTangentX, bHasTangentZ, bHasUV0, bHasColor0, bHasMotionVectors, bConstantUV0, bConstantColor0,
        bConstantIndices;
};
struct FGeometryCacheMeshData {
    TArray<FVector3f> Positions;
    TArray<FVector2f> TextureCoordinates;
    TArray<FPackedNormal> TangentsX, TangentsZ;
    TArray<FColor> Colors;
    TArray<FVector3f> MotionVectors;
    TArray<uint32> Indices;
    TArray<FGeometryCacheMeshBatchInfo> BatchesInfo;
    FGeometryCacheVertexInfo VertexInfo{};
    FBox3f BoundingBox{};
};
struct FGeometryCacheCodecDecodeArguments {
    int32 FrameIdentifier;
    FGeometryCacheMeshData &OutMeshData;
};
struct FGeometryCacheCodecRenderStateBase {
    explicit FGeometryCacheCodecRenderStateBase(const TArray<int32> &) {}
    virtual ~FGeometryCacheCodecRenderStateBase() = default;
    virtual bool DecodeSingleFrame(FGeometryCacheCodecDecodeArguments &Args) = 0;
};
class UGeometryCacheCodecBase {
  public:
    virtual ~UGeometryCacheCodecBase() = default;
    virtual bool DecodeSingleFrame(FGeometryCacheCodecDecodeArguments &Args) = 0;
    virtual FGeometryCacheCodecRenderStateBase *CreateRenderState() = 0;
    TArray<int32> TopologyRanges;
};

// Animations.

struct BoneTrackPair {
    int32 AtomIndex, TrackIndex;
};
using BoneTrackArray = TArray<BoneTrackPair>;
struct ICompressedAnimData {
    virtual ~ICompressedAnimData() = default;
    virtual void Bind(const TArrayView<uint8> BulkData) = 0;
    virtual bool IsValid() const = 0;
};
struct FAnimSequenceDecompressionContext {
    const ICompressedAnimData &CompressedAnimData;
    double Time;
    double GetEvaluationTime() const { return Time; }
};
class UAnimBoneCompressionCodec {
  public:
    virtual ~UAnimBoneCompressionCodec() = default;
    virtual TUniquePtr<ICompressedAnimData> AllocateAnimData() const = 0;
    virtual void DecompressBone(FAnimSequenceDecompressionContext &DecompContext, int32 TrackIndex,
                                FTransform &OutAtom) const = 0;
    virtual void DecompressPose(FAnimSequenceDecompressionContext &DecompContext, const BoneTrackArray &RotationPairs,
                                const BoneTrackArray &TranslationPairs, const BoneTrackArray &ScalePairs,
                                TArrayView<FTransform> &OutAtoms) const = 0;
};
