#pragma once
#include "PrimitiveSceneProxy.h"

enum EVertexElementType
{
    VET_Float2,
    VET_Float3,
    VET_PackedNormal,
    VET_Color,
};
struct FVertexStreamComponent
{
    const FVertexBuffer *VertexBuffer = nullptr;
    uint32 Offset = 0, Stride = 0;
    EVertexElementType Type = VET_Float3;
    FVertexStreamComponent() = default;
    FVertexStreamComponent(const FVertexBuffer *B, uint32 O, uint32 S, EVertexElementType T)
        : VertexBuffer(B), Offset(O), Stride(S), Type(T)
    {
    }
};
struct FGeometryCacheVertexFactoryUniformBufferParameters
{
    FVector3f MeshOrigin, MeshExtension, MotionBlurDataOrigin, MotionBlurDataExtension;
    float MotionBlurPositionScale = 0.0f;
};
class FGeometryCacheVertexFactoryUniformBufferParametersRef : public FUniformBufferRHIRef
{
  public:
    FGeometryCacheVertexFactoryUniformBufferParameters Values;
    static FGeometryCacheVertexFactoryUniformBufferParametersRef
    CreateUniformBufferImmediate(const FGeometryCacheVertexFactoryUniformBufferParameters &In,
                                 EUniformBufferUsage)
    {
        FGeometryCacheVertexFactoryUniformBufferParametersRef Out;
        Out.Values = In;
        return Out;
    }
};
struct FGeometryCacheVertexFactoryUserData
{
    FVector3f MeshExtension, MeshOrigin, MotionBlurDataExtension, MotionBlurDataOrigin;
    float MotionBlurPositionScale = -1.0f;
    const FVertexBuffer *PositionBuffer = nullptr, *MotionBlurDataBuffer = nullptr;
    FShaderResourceViewRHIRef PositionSRV, MotionBlurDataSRV, TangentXSRV, TangentZSRV, TexCoordsSRV,
        ColorSRV;
    FGeometryCacheVertexFactoryUniformBufferParametersRef UniformBuffer;
    FUniformBufferRHIRef ManualVertexFetchUniformBuffer;
};
class FGeometryCacheVertexVertexFactory : public FVertexFactory
{
  public:
    explicit FGeometryCacheVertexVertexFactory(ERHIFeatureLevel::Type) {}
    struct FDataType
    {
        FVertexStreamComponent PositionComponent, MotionBlurDataComponent, ColorComponent,
            TangentBasisComponents[2];
        TArray<FVertexStreamComponent, TFixedAllocator<4>> TextureCoordinates;
    };
#if ENGINE_MINOR_VERSION < 4
    void SetData(const FDataType &In) { Data = In; }
#else
    void SetData(FRHICommandListBase &, const FDataType &In) { Data = In; }
#endif
    void CreateManualVertexFetchUniformBuffer(FRHICommandListBase &, const FVertexBuffer *,
                                              const FVertexBuffer *,
                                              FGeometryCacheVertexFactoryUserData &Out) const
    {
        assert(Out.PositionSRV.IsValid() && Out.MotionBlurDataSRV.IsValid() && Out.TangentXSRV.IsValid() &&
               Out.TangentZSRV.IsValid() && Out.TexCoordsSRV.IsValid() && Out.ColorSRV.IsValid());
    }
    FDataType Data;
};
