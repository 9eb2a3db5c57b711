using System;
using System.Collections.Generic;
using Unity.Collections;
using Unity.Collections.LowLevel.Unsafe;
using UnityEngine;
using UnityEngine.Rendering;

namespace Meshreel
{
    /// <summary>Draws many copies of what a player shows: decoded and written once, drawn with one call per
    /// material and node.</summary>
    /// <remarks>Copies have meshes of their own, in Unity's coordinates, so that their transforms are not
    /// mirrored: drawing calls do not turn the winding of mirrored copies round.</remarks>
    [AddComponentMenu("Meshreel/Reel Crowd"), DisallowMultipleComponent]
    public sealed unsafe class ReelCrowd : MonoBehaviour, ITicked
    {
        /// <summary>Copies per call without indirect arguments.</summary>
        const int MaxInstanced = 511;

        static readonly int Matrices = Shader.PropertyToID("_MeshreelMatrices");
        static readonly int FirstMatrix = Shader.PropertyToID("_MeshreelFirst");

        [SerializeField] ReelPlayer player;

        /// <summary>The objects at which copies are drawn. If there are none, `SetMatrices` gives the
        /// places.</summary>
        public List<Transform> places = new List<Transform>();
        /// <summary>True to draw with indirect arguments where the shader of a material reads
        /// `_MeshreelMatrices` and says so by the tag `MeshreelCrowd`, as `Meshreel/Crowd` does. Other
        /// materials are drawn by instancing.</summary>
        public bool indirect = true;
        /// <summary>True to cast shadows.</summary>
        public bool castShadows = true;

        readonly List<CopiedMesh> meshes = new List<CopiedMesh>();
        readonly Dictionary<Material, bool> readers = new Dictionary<Material, bool>();
        readonly Dictionary<Material, Material> instanced = new Dictionary<Material, Material>();
        ReelView copied;
        NativeArray<Matrix4x4> matrices;
        NativeArray<Matrix4x4> nodeMatrices;
        int count;
        string lastError;

        /// <summary>A node with a mesh, and the buffers for drawing its copies.</summary>
        sealed class CopiedMesh
        {
            public ReelMesh Mesh;
            public int Node;
            public Transform Place;
            public Material[] Materials;
            public MaterialPropertyBlock Properties;
            public GraphicsBuffer Matrices;
            public GraphicsBuffer Arguments;
            public NativeArray<GraphicsBuffer.IndirectDrawIndexedArgs> Commands;
        }

        /// <summary>The player whose frames are shown.</summary>
        public ReelPlayer Player
        {
            get { return player; }
            set
            {
                player = value;
                Forget();
            }
        }

        /// <summary>The number of copies.</summary>
        public int Count
        {
            get { return places.Count > 0 ? places.Count : count; }
        }

        /// <summary>The last error; null if there was none.</summary>
        public string Error
        {
            get { return lastError; }
        }

        /// <summary>Sets the places of copies: object-to-world matrices, used while `places` is
        /// empty.</summary>
        public void SetMatrices(Matrix4x4[] all)
        {
            Reserve(all.Length);
            count = all.Length;
            for (int i = 0; i < count; i++) Pointer(matrices)[i] = all[i];
        }

        static Matrix4x4* Pointer(NativeArray<Matrix4x4> of)
        {
            return (Matrix4x4*)NativeArrayUnsafeUtility.GetUnsafePtr(of);
        }

        void Reserve(int number)
        {
            if (matrices.IsCreated && matrices.Length >= number) return;
            int room = Math.Max(16, 2 * number);
            var larger = new NativeArray<Matrix4x4>(room, Allocator.Persistent);
            for (int i = 0; i < count && matrices.IsCreated; i++) Pointer(larger)[i] = Pointer(matrices)[i];
            if (matrices.IsCreated) matrices.Dispose();
            if (nodeMatrices.IsCreated) nodeMatrices.Dispose();
            matrices = larger;
            nodeMatrices = new NativeArray<Matrix4x4>(room, Allocator.Persistent);
        }

        void OnEnable()
        {
            ReelRuntime.Add(this);
        }

        void OnDisable()
        {
            ReelRuntime.Remove(this);
            Forget();
        }

        void OnDestroy()
        {
            if (matrices.IsCreated) matrices.Dispose();
            if (nodeMatrices.IsCreated) nodeMatrices.Dispose();
            foreach (Material material in instanced.Values) Objects.Destroy(material);
            instanced.Clear();
        }

        void Forget()
        {
            foreach (CopiedMesh each in meshes)
            {
                each.Mesh.Dispose();
                if (each.Matrices != null) each.Matrices.Dispose();
                if (each.Arguments == null) continue;
                each.Arguments.Dispose();
                each.Commands.Dispose();
            }
            meshes.Clear();
            readers.Clear();
            copied = null;
        }

        void Create(IntPtr frame)
        {
            Forget();
            copied = player.View;
            var byNumber = new Dictionary<int, ReelMesh>();
            for (int i = 0; i < copied.SurfaceCount; i++)
            {
                MeshRenderer renderer = copied.Surface(i);
                var surface = renderer.GetComponent<ReelSurface>();
                ReelMesh mesh;
                bool isShared = byNumber.TryGetValue(surface.mesh, out mesh);
                if (!isShared)
                {
                    bool computes = player.normals == ReelNormals.Computed;
                    mesh = new ReelMesh(player.File, frame, surface.node, true, computes);
                    byNumber.Add(surface.mesh, mesh);
                }
                mesh.Nodes.Add(surface.node);
                meshes.Add(new CopiedMesh
                {
                    Mesh = mesh,
                    Node = surface.node,
                    Place = copied.Node(surface.node),
                    Materials = renderer.sharedMaterials,
                    Properties = new MaterialPropertyBlock(),
                });
            }
        }

        void ITicked.BeforeTick() { }

        void ITicked.AfterTick() { }

        void ITicked.AfterAll()
        {
            int number = Count;
            if (player == null || player.View == null || number == 0) return;
            IntPtr pointer = player.CurrentFrame();
            if (pointer == IntPtr.Zero) return;
            using (new OwnedFrame(pointer))
            {
                if (copied != player.View) Create(pointer);
                for (int i = 0; i < meshes.Count; i++)
                {
                    if (meshes[i].Node == meshes[i].Mesh.Nodes[0]) meshes[i].Mesh.Update(pointer, copied.Visible);
                }
            }
            ReadPlaces(number);
            for (int i = 0; i < meshes.Count; i++) Draw(meshes[i], number);
        }

        void ReadPlaces(int number)
        {
            if (places.Count == 0) return;
            Reserve(number);
            for (int i = 0; i < number; i++)
            {
                Pointer(matrices)[i] = places[i] != null ? places[i].localToWorldMatrix : new Matrix4x4();
            }
        }

        void Draw(CopiedMesh each, int number)
        {
            if (copied.Visible[each.Node] == 0 || each.Mesh.IsEmpty || each.Place == null) return;
            // From the node to the player, whose own place is not that of the copies.
            Matrix4x4 node = NodeToPlayer(each.Place);
            Bounds bounds = WriteMatrices(each, number, node);
            bool canIndirect = indirect && SystemInfo.supportsComputeShaders && SystemInfo.supportsInstancing;
            bool isUploaded = false;
            for (int i = 0; i < each.Materials.Length; i++)
            {
                Material material = each.Materials[i];
                if (material == null || each.Mesh.Mesh.GetSubMesh(i).indexCount == 0) continue;
                bool isIndirect = canIndirect && ReadsMatrices(material);
                if (isIndirect && !isUploaded) Upload(each, number);
                isUploaded |= isIndirect;
                if (!isIndirect) material = Instanced(material);
                var how = new RenderParams(material)
                {
                    worldBounds = bounds,
                    layer = gameObject.layer,
                    matProps = each.Properties,
                    receiveShadows = true,
                    shadowCastingMode = castShadows ? ShadowCastingMode.On : ShadowCastingMode.Off,
                };
                if (isIndirect) Graphics.RenderMeshIndirect(how, each.Mesh.Mesh, each.Arguments, 1, i);
                else DrawInstanced(ref how, each.Mesh.Mesh, i, number);
            }
        }

        void DrawInstanced(ref RenderParams how, Mesh mesh, int submesh, int number)
        {
            for (int first = 0; first < number; first += MaxInstanced)
            {
                int some = Math.Min(MaxInstanced, number - first);
                Graphics.RenderMeshInstanced(how, mesh, submesh, nodeMatrices, some, first);
            }
        }

        Matrix4x4 NodeToPlayer(Transform node)
        {
            Matrix4x4 matrix = Matrix4x4.TRS(node.localPosition, node.localRotation, node.localScale);
            for (Transform above = node.parent; above != null && above != player.transform; above = above.parent)
                matrix = Matrix4x4.TRS(above.localPosition, above.localRotation, above.localScale) * matrix;
            return matrix;
        }

        /// <summary>Writes the matrices of the copies of a node, and returns bounds of all of them.</summary>
        Bounds WriteMatrices(CopiedMesh each, int number, Matrix4x4 node)
        {
            Bounds local = each.Mesh.Mesh.bounds;
            float radius = local.extents.magnitude;
            Matrix4x4* from = Pointer(matrices);
            Matrix4x4* to = Pointer(nodeMatrices);
            Vector3 low = Vector3.zero, high = Vector3.zero;
            for (int i = 0; i < number; i++)
            {
                to[i] = from[i] * node;
                Vector3 centre = to[i].MultiplyPoint3x4(local.center);
                float reach = radius * LargestScale(to + i);
                Vector3 extent = Vector3.one * reach;
                low = i == 0 ? centre - extent : Vector3.Min(low, centre - extent);
                high = i == 0 ? centre + extent : Vector3.Max(high, centre + extent);
            }
            var bounds = new Bounds();
            bounds.SetMinMax(low, high);
            return bounds;
        }

        static float LargestScale(Matrix4x4* of)
        {
            float x = of->m00 * of->m00 + of->m10 * of->m10 + of->m20 * of->m20;
            float y = of->m01 * of->m01 + of->m11 * of->m11 + of->m21 * of->m21;
            float z = of->m02 * of->m02 + of->m12 * of->m12 + of->m22 * of->m22;
            // Columns can be at angles to each other after shear: their sum bounds the scale.
            return Mathf.Sqrt(x + y + z);
        }

        /// <summary>Uploads the matrices and the arguments of all submeshes.</summary>
        void Upload(CopiedMesh each, int number)
        {
            if (each.Matrices == null || each.Matrices.count < number)
            {
                if (each.Matrices != null) each.Matrices.Dispose();
                each.Matrices = new GraphicsBuffer(GraphicsBuffer.Target.Structured, Math.Max(16, 2 * number), 64);
            }
            each.Matrices.SetData(nodeMatrices, 0, 0, number);
            each.Properties.SetBuffer(Matrices, each.Matrices);
            each.Properties.SetInt(FirstMatrix, 0);
            int submeshes = each.Materials.Length;
            if (each.Arguments == null)
            {
                each.Arguments = new GraphicsBuffer(GraphicsBuffer.Target.IndirectArguments, submeshes,
                    GraphicsBuffer.IndirectDrawIndexedArgs.size);
                each.Commands = new NativeArray<GraphicsBuffer.IndirectDrawIndexedArgs>(submeshes,
                    Allocator.Persistent);
            }
            var all = (GraphicsBuffer.IndirectDrawIndexedArgs*)NativeArrayUnsafeUtility.GetUnsafePtr(each.Commands);
            for (int i = 0; i < submeshes; i++)
            {
                SubMeshDescriptor range = each.Mesh.Mesh.GetSubMesh(i);
                all[i] = new GraphicsBuffer.IndirectDrawIndexedArgs
                {
                    indexCountPerInstance = (uint)range.indexCount,
                    instanceCount = (uint)number,
                    startIndex = (uint)range.indexStart,
                    baseVertexIndex = (uint)range.baseVertex,
                };
            }
            each.Arguments.SetData(each.Commands, 0, 0, submeshes);
        }

        /// <summary>True if the shader of a material says by a tag that it reads the matrices of
        /// copies.</summary>
        bool ReadsMatrices(Material material)
        {
            bool reads;
            if (readers.TryGetValue(material, out reads)) return reads;
            reads = material.GetTag("MeshreelCrowd", false, "") == "True";
            readers.Add(material, reads);
            return reads;
        }

        /// <summary>A copy of a material that enables instancing, unless it does already.</summary>
        Material Instanced(Material material)
        {
            if (material.enableInstancing) return material;
            Material copy;
            if (instanced.TryGetValue(material, out copy) && copy != null) return copy;
            copy = new Material(material) { enableInstancing = true, hideFlags = HideFlags.HideAndDontSave };
            instanced[material] = copy;
            return copy;
        }

        void ITicked.Fail(string message)
        {
            if (message == lastError) return;
            lastError = message;
            Debug.LogError("meshreel: " + message, this);
        }

        bool ITicked.Owns(ulong number)
        {
            return false;
        }

        void ITicked.End()
        {
            Forget();
        }
    }
}
