// The renderer: buffers in memory, commands for the rendering thread in a queue, and a collector of meshes
// that tests look into.
#pragma once

#include "CoreMinimal.h"

enum class EBufferUsageFlags
{
    Static = 1,
    Dynamic = 2,
    ShaderResource = 4,
};
constexpr EBufferUsageFlags operator|(EBufferUsageFlags A, EBufferUsageFlags B)
{
    return EBufferUsageFlags(int(A) | int(B));
}
enum EPixelFormat
{
    PF_R32_FLOAT,
    PF_G32R32F,
    PF_R8G8B8A8,
    PF_R8G8B8A8_SNORM,
};
enum EResourceLockMode
{
    RLM_WriteOnly
};
enum EUniformBufferUsage
{
    UniformBuffer_SingleFrame
};
struct FRHIBuffer
{
    std::vector<uint8> Bytes;
    bool bLocked = false;
};
struct FRHIShaderResourceView
{
    FRHIBuffer *Buffer = nullptr;
    EPixelFormat Format = PF_R32_FLOAT;
};
template <typename T> class TRefCountPtr
{
  public:
    TRefCountPtr() = default;
    TRefCountPtr(std::nullptr_t) {}
    TRefCountPtr(T *Set) : Pointer(Set) {}
    explicit TRefCountPtr(std::shared_ptr<T> Set) : Owned(std::move(Set)), Pointer(Owned.get()) {}
    operator T *() const { return Pointer; }
    T *operator->() const { return Pointer; }
    bool IsValid() const { return Pointer != nullptr; }
    void SafeRelease()
    {
        Owned.reset();
        Pointer = nullptr;
    }

  private:
    std::shared_ptr<T> Owned;
    T *Pointer = nullptr;
};
using FBufferRHIRef = TRefCountPtr<FRHIBuffer>;
using FShaderResourceViewRHIRef = TRefCountPtr<FRHIShaderResourceView>;
struct FRHIUniformBuffer
{
};
using FUniformBufferRHIRef = TRefCountPtr<FRHIUniformBuffer>;

struct FRHIResourceCreateInfo
{
    explicit FRHIResourceCreateInfo(const TCHAR *) {}
};
/** Since 5.6. */
struct FRHIBufferCreateDesc
{
    uint32 Size = 0;
    static FRHIBufferCreateDesc CreateVertex(const TCHAR *, uint32 Bytes) { return {Bytes}; }
    template <typename T> static FRHIBufferCreateDesc CreateIndex(const TCHAR *, uint32 Count)
    {
        return {Count * uint32(sizeof(T))};
    }
    FRHIBufferCreateDesc &AddUsage(EBufferUsageFlags) { return *this; }
    FRHIBufferCreateDesc &DetermineInitialState() { return *this; }
};
struct FRHIViewDesc
{
    enum class EBufferType
    {
        Typed
    };
    struct FBufferSRV
    {
        EPixelFormat Format = PF_R32_FLOAT;
        FBufferSRV &SetType(EBufferType) { return *this; }
        FBufferSRV &SetFormat(EPixelFormat In)
        {
            Format = In;
            return *this;
        }
    };
    static FBufferSRV CreateBufferSRV() { return {}; }
};
namespace StandIn
{
inline int64 BytesUploaded = 0;
inline int32 BuffersCreated = 0;
} // namespace StandIn
class FRHICommandListBase
{
  public:
#if ENGINE_MINOR_VERSION < 6
    FBufferRHIRef CreateVertexBuffer(uint32 Bytes, EBufferUsageFlags, FRHIResourceCreateInfo &)
    {
        return Create(Bytes);
    }
    FBufferRHIRef CreateIndexBuffer(uint32, uint32 Bytes, EBufferUsageFlags, FRHIResourceCreateInfo &)
    {
        return Create(Bytes);
    }
#else
    FBufferRHIRef CreateBuffer(const FRHIBufferCreateDesc &Desc) { return Create(Desc.Size); }
#endif
    FShaderResourceViewRHIRef CreateShaderResourceView(FRHIBuffer *Buffer,
                                                       const FRHIViewDesc::FBufferSRV &Desc)
    {
        auto Out = std::make_shared<FRHIShaderResourceView>();
        Out->Buffer = Buffer;
        Out->Format = Desc.Format;
        return FShaderResourceViewRHIRef(Out);
    }
    void *LockBuffer(FRHIBuffer *Buffer, uint32 Offset, uint32 Bytes, EResourceLockMode)
    {
        assert(!Buffer->bLocked && Offset + Bytes <= Buffer->Bytes.size() && Bytes > 0);
        Buffer->bLocked = true;
        StandIn::BytesUploaded += Bytes;
        return Buffer->Bytes.data() + Offset;
    }
    void UnlockBuffer(FRHIBuffer *Buffer)
    {
        assert(Buffer->bLocked);
        Buffer->bLocked = false;
    }

  private:
    static FBufferRHIRef Create(uint32 Bytes)
    {
        assert(Bytes > 0);
        StandIn::BuffersCreated++;
        auto Out = std::make_shared<FRHIBuffer>();
        Out->Bytes.resize(Bytes);
        return FBufferRHIRef(Out);
    }
};
class FRHICommandListImmediate : public FRHICommandListBase
{
  public:
    static FRHICommandListImmediate &Get()
    {
        static FRHICommandListImmediate List;
        return List;
    }
};

inline uint32 GFrameNumberRenderThread = 1;
namespace StandIn
{
inline std::vector<std::function<void(FRHICommandListImmediate &)>> RenderCommands;
inline void RunRenderCommands()
{
    std::vector<std::function<void(FRHICommandListImmediate &)>> Now;
    std::swap(Now, RenderCommands);
    for (const auto &Command : Now)
    {
        Command(FRHICommandListImmediate::Get());
    }
}
struct FEnqueue
{
    template <typename F> void operator()(F &&Command) const
    {
        RenderCommands.push_back(std::forward<F>(Command));
    }
};
inline FMatrix ToMatrix(const FTransform &In)
{
    FMatrix Out = FMatrix::Identity;
    const FVector Axes[3] = {In.TransformPosition({1, 0, 0}) - In.GetTranslation(),
                             In.TransformPosition({0, 1, 0}) - In.GetTranslation(),
                             In.TransformPosition({0, 0, 1}) - In.GetTranslation()};
    for (int32 R = 0; R < 3; R++)
    {
        Out.M[R][0] = Axes[R].X;
        Out.M[R][1] = Axes[R].Y;
        Out.M[R][2] = Axes[R].Z;
    }
    Out.M[3][0] = In.GetTranslation().X;
    Out.M[3][1] = In.GetTranslation().Y;
    Out.M[3][2] = In.GetTranslation().Z;
    return Out;
}
} // namespace StandIn
#define ENQUEUE_RENDER_COMMAND(Name) StandIn::FEnqueue()

class FRenderResource
{
  public:
    virtual ~FRenderResource() { assert(!bInitialized); }
    virtual void ReleaseRHI() {}
    void InitResource(FRHICommandListBase &) { bInitialized = true; }
    void ReleaseResource()
    {
        if (bInitialized)
        {
            ReleaseRHI();
        }
        bInitialized = false;
    }
    bool IsInitialized() const { return bInitialized; }

  private:
    bool bInitialized = false;
};
class FVertexBuffer : public FRenderResource
{
  public:
    FBufferRHIRef VertexBufferRHI;
    virtual void ReleaseRHI() override { VertexBufferRHI.SafeRelease(); }
};
class FIndexBuffer : public FRenderResource
{
  public:
    FBufferRHIRef IndexBufferRHI;
    virtual void ReleaseRHI() override { IndexBufferRHI.SafeRelease(); }
};
class FVertexFactory : public FRenderResource
{
};

namespace ERHIFeatureLevel
{
enum Type
{
    SM5,
    SM6,
};
} // namespace ERHIFeatureLevel
enum EShaderPlatform
{
    SP_PCD3D_SM6
};
class FSceneInterface
{
  public:
    ERHIFeatureLevel::Type GetFeatureLevel() const { return ERHIFeatureLevel::SM5; }
    EShaderPlatform GetShaderPlatform() const { return SP_PCD3D_SM6; }
};
class FMaterialRenderProxy
{
  public:
    virtual ~FMaterialRenderProxy() = default;
};
class FColoredMaterialRenderProxy : public FMaterialRenderProxy
{
  public:
    FColoredMaterialRenderProxy(const FMaterialRenderProxy *, const FLinearColor &) {}
};
enum EMaterialUsage
{
    MATUSAGE_GeometryCache
};
enum EMaterialDomain
{
    MD_Surface
};
class UMaterialInterface : public UObject
{
  public:
    bool bUsedWithGeometryCache = true;
    bool CheckMaterialUsage_Concurrent(EMaterialUsage) const { return bUsedWithGeometryCache; }
    FMaterialRenderProxy *GetRenderProxy() { return &Proxy; }

  private:
    FMaterialRenderProxy Proxy;
};
class UMaterial : public UMaterialInterface
{
  public:
    static UMaterial *GetDefaultMaterial(EMaterialDomain)
    {
        static UMaterial Default;
        return &Default;
    }
};
class UEngine
{
  public:
    UMaterial *WireframeMaterial = nullptr;
};
inline UEngine StandInEngine;
inline UEngine *GEngine = &StandInEngine;

struct FPrimitiveViewRelevance
{
    bool bDrawRelevance = false, bShadowRelevance = false, bDynamicRelevance = false,
         bRenderInMainPass = false, bUsesLightingChannels = false, bRenderCustomDepth = false,
         bVelocityRelevance = false, bOpaque = false;
};
struct FMaterialRelevance
{
    bool bDisableDepthTest = false;
    void SetPrimitiveViewRelevance(FPrimitiveViewRelevance &Out) const { Out.bOpaque = true; }
};
struct FIntRect
{
    int32 Width_ = 0, Height_ = 0;
    int32 Width() const { return Width_; }
    int32 Height() const { return Height_; }
};
struct FViewMatrices
{
    FMatrix Projection = FMatrix::Identity;
    FVector Origin;
    const FMatrix &GetProjectionMatrix() const { return Projection; }
    const FVector &GetViewOrigin() const { return Origin; }
};
class FSceneView
{
  public:
    FViewMatrices ViewMatrices;
    FIntRect UnscaledViewRect;
    bool bPerspective = true;
    bool IsPerspectiveProjection() const { return bPerspective; }
};
struct FEngineShowFlags
{
    uint32 Wireframe = 0;
    uint32 MotionBlur = 1;
    FEngineShowFlags() = default;
    explicit FEngineShowFlags(int) {}
    void DisableAdvancedFeatures() {}
};
class FSceneViewFamily
{
  public:
    FEngineShowFlags EngineShowFlags;
    struct ConstructionValues
    {
        ConstructionValues(const void *, FSceneInterface *, const FEngineShowFlags &) {}
        ConstructionValues &SetTime(int) { return *this; }
        ConstructionValues &SetAdditionalViewFamily(bool) { return *this; }
    };
    FSceneViewFamily() = default;
    explicit FSceneViewFamily(const ConstructionValues &) {}
};
using FSceneViewFamilyContext = FSceneViewFamily;

enum EPrimitiveType
{
    PT_TriangleList
};
enum ESceneDepthPriorityGroup
{
    SDPG_World
};
struct FMeshBatchElement
{
    const FIndexBuffer *IndexBuffer = nullptr;
    FRHIUniformBuffer *PrimitiveUniformBuffer = nullptr;
    const void *VertexFactoryUserData = nullptr;
    uint32 FirstIndex = 0, NumPrimitives = 0, MinVertexIndex = 0, MaxVertexIndex = 0;
};
struct FMeshBatch
{
    std::vector<FMeshBatchElement> Elements = std::vector<FMeshBatchElement>(1);
    const FMaterialRenderProxy *MaterialRenderProxy = nullptr;
    const FVertexFactory *VertexFactory = nullptr;
    bool bWireframe = false, ReverseCulling = false, bCanApplyViewModeOverrides = false;
    EPrimitiveType Type = PT_TriangleList;
    ESceneDepthPriorityGroup DepthPriorityGroup = SDPG_World;
    uint8 SegmentIndex = 0;
};
class FOneFrameResource
{
  public:
    virtual ~FOneFrameResource() = default;
};
class FMeshElementCollector
{
  public:
    std::vector<std::unique_ptr<FOneFrameResource>> Resources;
    std::vector<std::unique_ptr<FMaterialRenderProxy>> Proxies;
    std::vector<std::unique_ptr<FMeshBatch>> Meshes;
    std::vector<std::pair<int32, FMeshBatch *>> Added;
    template <typename T> T &AllocateOneFrameResource()
    {
        Resources.push_back(std::make_unique<T>());
        return static_cast<T &>(*Resources.back());
    }
    FMeshBatch &AllocateMesh()
    {
        Meshes.push_back(std::make_unique<FMeshBatch>());
        return *Meshes.back();
    }
    void AddMesh(int32 View, FMeshBatch &Batch) { Added.push_back({View, &Batch}); }
    void RegisterOneFrameMaterialProxy(FMaterialRenderProxy *Proxy) { Proxies.emplace_back(Proxy); }
    FRHICommandListBase &GetRHICommandList() { return FRHICommandListImmediate::Get(); }
};

class UPrimitiveComponent;
class FPrimitiveSceneProxy
{
  public:
    explicit FPrimitiveSceneProxy(const UPrimitiveComponent *Component);
    virtual ~FPrimitiveSceneProxy() = default;
    virtual SIZE_T GetTypeHash() const = 0;
    virtual uint32 GetMemoryFootprint() const = 0;
#if ENGINE_MINOR_VERSION < 4
    virtual void CreateRenderThreadResources() {}
    void CreateRenderThreadResources(FRHICommandListBase &) { CreateRenderThreadResources(); }
#else
    virtual void CreateRenderThreadResources(FRHICommandListBase &) {}
#endif
    virtual void GetDynamicMeshElements(const TArray<const FSceneView *> &, const FSceneViewFamily &, uint32,
                                        FMeshElementCollector &) const
    {
    }
    virtual FPrimitiveViewRelevance GetViewRelevance(const FSceneView *) const { return {}; }
    virtual bool CanBeOccluded() const { return true; }
    FSceneInterface &GetScene() const { return *Scene; }
    const FMatrix &GetLocalToWorld() const { return LocalToWorld; }
    bool IsLocalToWorldDeterminantNegative() const
    {
        const auto &M = LocalToWorld.M;
        return FVector::DotProduct(FVector(M[0][0], M[0][1], M[0][2]),
                                   FVector::CrossProduct(FVector(M[1][0], M[1][1], M[1][2]),
                                                         FVector(M[2][0], M[2][1], M[2][2]))) < 0;
    }
    FRHIUniformBuffer *GetUniformBuffer() const { return const_cast<FRHIUniformBuffer *>(&Uniforms); }
    uint32 GetAllocatedSize() const { return 0; }
    bool IsShown(const FSceneView *) const { return true; }
    bool IsShadowCast(const FSceneView *) const { return true; }
    bool ShouldRenderInMainPass() const { return true; }
    bool ShouldRenderCustomDepth() const { return false; }
    uint8 GetLightingChannelMask() const { return 1; }
    bool DrawsVelocity() const { return bAlwaysHasVelocity; }
    FMatrix LocalToWorld = FMatrix::Identity;

  protected:
    bool bAlwaysHasVelocity = false, bHasDeformableMesh = false;

  private:
    FSceneInterface *Scene;
    FRHIUniformBuffer Uniforms;
};
inline uint8 GetDefaultLightingChannelMask() { return 1; }
inline bool AllowDebugViewmodes() { return true; }
