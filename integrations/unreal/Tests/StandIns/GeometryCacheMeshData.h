#pragma once
#include "CoreMinimal.h"

struct FGeometryCacheMeshBatchInfo
{
    uint32 StartIndex = 0, NumTriangles = 0, MaterialIndex = 0;
};
struct FGeometryCacheVertexInfo
{
    bool bHasTangentX = true, bHasTangentZ = true, bHasUV0 = true, bHasColor0 = true,
         bHasMotionVectors = false;
    bool bConstantUV0 = false, bConstantColor0 = false, bConstantIndices = false;
    FGeometryCacheVertexInfo() = default;
    FGeometryCacheVertexInfo(bool X, bool Z, bool Uv, bool Color, bool Motion)
        : bHasTangentX(X), bHasTangentZ(Z), bHasUV0(Uv), bHasColor0(Color), bHasMotionVectors(Motion)
    {
    }
};
struct FGeometryCacheMeshData
{
    TArray<FVector3f> Positions;
    TArray<FVector2f> TextureCoordinates;
    TArray<FPackedNormal> TangentsX, TangentsZ;
    TArray<FColor> Colors;
    TArray<FVector3f> MotionVectors;
    TArray<FGeometryCacheMeshBatchInfo> BatchesInfo;
    FBox3f BoundingBox;
    TArray<uint32> Indices;
    FGeometryCacheVertexInfo VertexInfo;
};
