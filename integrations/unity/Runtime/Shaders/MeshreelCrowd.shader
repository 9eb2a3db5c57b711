// Draws the copies of ReelCrowd with indirect arguments, in the built-in render pipeline: one light, and ambient light.
// For other pipelines write a shader with MeshreelCrowd.hlsl and the tag MeshreelCrowd; other materials are instanced.
Shader "Meshreel/Crowd"
{
    Properties
    {
        _Color ("Colour", Color) = (1, 1, 1, 1)
        _MainTex ("Texture", 2D) = "white" {}
    }
    SubShader
    {
        Tags { "RenderType" = "Opaque" "MeshreelCrowd" = "True" }
        Pass
        {
            Tags { "LightMode" = "ForwardBase" }
            CGPROGRAM
            #pragma target 4.5
            #pragma vertex vertex
            #pragma fragment fragment
            #include "UnityCG.cginc"
            #define UNITY_INDIRECT_DRAW_ARGS IndirectDrawIndexedArgs
            #include "UnityIndirect.cginc"
            #include "MeshreelCrowd.hlsl"

            float4 _Color, _LightColor0, _MainTex_ST;
            sampler2D _MainTex;

            struct Varyings
            {
                float4 position : SV_POSITION;
                float3 normal : NORMAL;
                float2 uv : TEXCOORD0;
            };

            Varyings vertex(appdata_base input, uint instance : SV_InstanceID)
            {
                InitIndirectDrawArgs(0);
                float4x4 place = MeshreelMatrix(GetIndirectInstanceID(instance));
                Varyings output;
                output.position = mul(UNITY_MATRIX_VP, mul(place, float4(input.vertex.xyz, 1)));
                output.normal = MeshreelNormal(place, input.normal);
                output.uv = TRANSFORM_TEX(input.texcoord, _MainTex);
                return output;
            }

            float4 fragment(Varyings input) : SV_Target
            {
                float3 normal = normalize(input.normal);
                float3 light = ShadeSH9(float4(normal, 1));
                light += saturate(dot(normal, _WorldSpaceLightPos0.xyz)) * _LightColor0.rgb;
                float4 colour = _Color * tex2D(_MainTex, input.uv);
                return float4(colour.rgb * light, colour.a);
            }
            ENDCG
        }
        Pass
        {
            Tags { "LightMode" = "ShadowCaster" }
            CGPROGRAM
            #pragma target 4.5
            #pragma vertex vertex
            #pragma fragment fragment
            #include "UnityCG.cginc"
            #define UNITY_INDIRECT_DRAW_ARGS IndirectDrawIndexedArgs
            #include "UnityIndirect.cginc"
            #include "MeshreelCrowd.hlsl"

            float4 vertex(appdata_base input, uint instance : SV_InstanceID) : SV_POSITION
            {
                InitIndirectDrawArgs(0);
                float4x4 place = MeshreelMatrix(GetIndirectInstanceID(instance));
                float4 position = mul(UNITY_MATRIX_VP, mul(place, float4(input.vertex.xyz, 1)));
                return UnityApplyLinearShadowBias(position);
            }

            float4 fragment() : SV_Target
            {
                return 0;
            }
            ENDCG
        }
    }
}
