// Places of the copies that ReelCrowd draws with indirect arguments. Include it in a vertex shader of your own:
//     InitIndirectDrawArgs(0);                                      // UnityIndirect.cginc
//     float4x4 place = MeshreelMatrix(GetIndirectInstanceID(instance));
//     float4 world = mul(place, float4(position, 1));
#ifndef MESHREEL_CROWD_INCLUDED
#define MESHREEL_CROWD_INCLUDED

StructuredBuffer<float4x4> _MeshreelMatrices;
int _MeshreelFirst;

float4x4 MeshreelMatrix(uint instance)
{
    return _MeshreelMatrices[_MeshreelFirst + instance];
}

// A normal in the world: the matrix of cofactors, which is right for any scale.
float3 MeshreelNormal(float4x4 place, float3 normal)
{
    float3 x = float3(place._m00, place._m10, place._m20);
    float3 y = float3(place._m01, place._m11, place._m21);
    float3 z = float3(place._m02, place._m12, place._m22);
    return normalize(cross(y, z) * normal.x + cross(z, x) * normal.y + cross(x, y) * normal.z);
}

#endif
