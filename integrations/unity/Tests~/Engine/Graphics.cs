// Stand-ins for meshes and rendering. A mesh keeps its buffers, and checks what the engine checks, so that
// tests can read back what would be drawn.
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using Unity.Collections;
using Unity.Collections.LowLevel.Unsafe;
using UnityEngine.Rendering;

namespace UnityEngine.Rendering
{
    public enum VertexAttribute
    {
        Position, Normal, Tangent, Color, TexCoord0, TexCoord1, TexCoord2, TexCoord3, TexCoord4, TexCoord5,
            TexCoord6, TexCoord7, BlendWeight, BlendIndices
    }
    public enum VertexAttributeFormat
    {
        Float32, Float16, UNorm8, SNorm8, UNorm16, SNorm16, UInt8, SInt8, UInt16, SInt16, UInt32, SInt32
    }
    public enum IndexFormat { UInt16, UInt32 }
    public enum ShadowCastingMode { Off, On, TwoSided, ShadowsOnly }
    [Flags]
    public enum MeshUpdateFlags
    {
        Default = 0, DontValidateIndices = 1, DontResetBoneBounds = 2, DontNotifyMeshUsers = 4,
            DontRecalculateBounds = 8
    }

    public struct VertexAttributeDescriptor
    {
        public VertexAttribute attribute;
        public VertexAttributeFormat format;
        public int dimension, stream;
        public VertexAttributeDescriptor(VertexAttribute attribute = VertexAttribute.Position,
            VertexAttributeFormat format = VertexAttributeFormat.Float32, int dimension = 3, int stream = 0)
        {
            this.attribute = attribute; this.format = format; this.dimension = dimension; this.stream = stream;
        }
        internal int Size
        {
            get
            {
                switch (format)
                {
                    case VertexAttributeFormat.Float32:
                    case VertexAttributeFormat.UInt32:
                    case VertexAttributeFormat.SInt32:
                        return 4 * dimension;
                    case VertexAttributeFormat.UNorm8: case VertexAttributeFormat.SNorm8: return dimension;
                    default: return 2 * dimension;
                }
            }
        }
    }

    public struct SubMeshDescriptor
    {
        public Bounds bounds;
        public MeshTopology topology;
        public int indexStart, indexCount, baseVertex, firstVertex, vertexCount;
        public SubMeshDescriptor(int indexStart, int indexCount, MeshTopology topology = MeshTopology.Triangles)
        {
            this = default(SubMeshDescriptor);
            this.indexStart = indexStart; this.indexCount = indexCount; this.topology = topology;
        }
    }
}

namespace UnityEngine
{
    public enum MeshTopology { Triangles = 0, Quads = 2, Lines = 3, LineStrip = 4, Points = 5 }

    public sealed class Mesh : Object
    {
        public static int Alive;
        public VertexAttributeDescriptor[] layout = new VertexAttributeDescriptor[0];
        public readonly byte[][] streams = new byte[4][];
        public readonly int[] strides = new int[4];
        public uint[] indexBuffer = new uint[0];
        public SubMeshDescriptor[] ranges = new SubMeshDescriptor[1];
        public int vertexCount { get; private set; }
        public Bounds bounds { get; set; }
        public bool isDynamic { get; private set; }
        public GraphicsBuffer.Target vertexBufferTarget { get; set; }
        public int subMeshCount { get { return ranges.Length; } set { Array.Resize(ref ranges, value); } }
        public Mesh() { Alive++; }
        internal override void Freed() { Alive--; }
        public void MarkDynamic() { isDynamic = true; }

        public void SetVertexBufferParams(int count, params VertexAttributeDescriptor[] attributes)
        {
            layout = attributes;
            vertexCount = count;
            Array.Clear(strides, 0, 4);
            var last = new int[] { -1, -1, -1, -1 };
            foreach (VertexAttributeDescriptor a in attributes)
            {
                if (a.Size % 4 != 0) throw new ArgumentException("attributes must be multiples of four bytes");
                if ((int)a.attribute <= last[a.stream])
                    throw new ArgumentException("attributes of a stream must be in order");
                last[a.stream] = (int)a.attribute;
                strides[a.stream] += a.Size;
            }
            for (int i = 0; i < 4; i++) streams[i] = strides[i] > 0 ? new byte[strides[i] * count] : null;
        }
        public void SetIndexBufferParams(int count, IndexFormat format)
        {
            if (format != IndexFormat.UInt32) throw new NotSupportedException();
            indexBuffer = new uint[count];
        }
        public unsafe void SetVertexBufferData<T>(NativeArray<T> data, int dataStart, int meshBufferStart, int count,
            int stream = 0, MeshUpdateFlags flags = MeshUpdateFlags.Default) where T : struct
        {
            int size = Marshal.SizeOf(typeof(T));
            if (dataStart < 0 || dataStart + count > data.Length) throw new ArgumentOutOfRangeException("dataStart");
            if ((meshBufferStart + count) * size > streams[stream].Length)
                throw new ArgumentOutOfRangeException("count");
            Marshal.Copy((IntPtr)((byte*)NativeArrayUnsafeUtility.GetUnsafePtr(data) + dataStart * size),
                streams[stream],
                meshBufferStart * size, count * size);
        }
        public unsafe void SetIndexBufferData<T>(NativeArray<T> data, int dataStart, int meshBufferStart, int count,
            MeshUpdateFlags flags = MeshUpdateFlags.Default) where T : struct
        {
            if (dataStart < 0 || dataStart + count > data.Length) throw new ArgumentOutOfRangeException("dataStart");
            if (meshBufferStart + count > indexBuffer.Length) throw new ArgumentOutOfRangeException("count");
            uint* from = (uint*)NativeArrayUnsafeUtility.GetUnsafePtr(data) + dataStart;
            for (int i = 0; i < count; i++) indexBuffer[meshBufferStart + i] = from[i];
        }
        public void SetSubMesh(int index, SubMeshDescriptor range, MeshUpdateFlags flags = MeshUpdateFlags.Default)
        {
            if (range.indexStart < 0 || range.indexStart + range.indexCount > indexBuffer.Length)
                throw new ArgumentOutOfRangeException("range");
            int corners = range.topology == MeshTopology.Triangles ? 3 : range.topology == MeshTopology.Lines ? 2 : 1;
            if (range.indexCount % corners != 0) throw new ArgumentException("indexCount");
            for (int i = 0; i < range.indexCount; i++)
                if (indexBuffer[range.indexStart + i] >= vertexCount)
                    throw new ArgumentException("an index is too large");
            ranges[index] = range;
        }
        public void UploadMeshData(bool markNoLongerReadable)
        {
            if (markNoLongerReadable) throw new NotSupportedException();
        }
        public SubMeshDescriptor GetSubMesh(int index) { return ranges[index]; }
        public GraphicsBuffer GetVertexBuffer(int stream)
        {
            if ((vertexBufferTarget & GraphicsBuffer.Target.Raw) == 0)
                throw new InvalidOperationException("the buffer cannot be bound");
            return new GraphicsBuffer(GraphicsBuffer.Target.Vertex | vertexBufferTarget, streams[stream]);
        }
        /// Offset and stream of an attribute; -1 if there is none.
        public int Offset(VertexAttribute attribute, out int stream)
        {
            var offsets = new int[4];
            foreach (VertexAttributeDescriptor a in layout)
            {
                stream = a.stream;
                if (a.attribute == attribute) return offsets[stream];
                offsets[stream] += a.Size;
            }
            stream = -1;
            return -1;
        }
        public float Read(VertexAttribute attribute, int vertex, int component)
        {
            int stream, offset = Offset(attribute, out stream);
            return BitConverter.ToSingle(streams[stream], vertex * strides[stream] + offset + 4 * component);
        }
        public Vector3 Position(int vertex)
        {
            return new Vector3(Read(VertexAttribute.Position, vertex, 0), Read(VertexAttribute.Position, vertex, 1),
                Read(VertexAttribute.Position, vertex, 2));
        }
        /// Of triangles that are clockwise seen from outside.
        public void RecalculateNormals(MeshUpdateFlags flags = MeshUpdateFlags.Default)
        {
            int stream, offset = Offset(VertexAttribute.Normal, out stream);
            var sums = new Vector3[vertexCount];
            foreach (SubMeshDescriptor range in ranges)
                for (int i = range.indexStart; i + 2 < range.indexStart + range.indexCount; i += 3)
                {
                    int a = (int)indexBuffer[i], b = (int)indexBuffer[i + 1], c = (int)indexBuffer[i + 2];
                    Vector3 normal = Vector3.Cross(Position(b) - Position(a), Position(c) - Position(a));
                    sums[a] += normal; sums[b] += normal; sums[c] += normal;
                }
            for (int v = 0; v < vertexCount; v++)
            {
                Vector3 n = sums[v].normalized;
                var all = new[] { n.x, n.y, n.z };
                Buffer.BlockCopy(all, 0, streams[stream], v * strides[stream] + offset, 12);
            }
        }
    }

    public class MeshFilter : Component { public Mesh sharedMesh { get; set; } }

    public class Renderer : Component
    {
        public bool enabled = true;
        public Material[] sharedMaterials { get; set; }
    }
    public sealed class MeshRenderer : Renderer { }

    public sealed class Shader : Object
    {
        static readonly Dictionary<string, int> ids = new Dictionary<string, int>();
        static readonly List<string> names = new List<string>();
        public bool isSupported { get { return true; } }
        public static Shader Find(string name)
        {
            return name == "Standard" || name.StartsWith("Meshreel/") ? new Shader { name = name }
            : null;
        }
        public static int PropertyToID(string name)
        {
            int id;
            if (!ids.TryGetValue(name, out id)) { ids.Add(name, id = names.Count); names.Add(name); }
            return id;
        }
        public static string NameOf(int id) { return names[id]; }
    }

    public sealed class Material : Object
    {
        public Shader shader { get; private set; }
        public bool enableInstancing { get; set; }
        /// Tags of shaders: only those of the package have any.
        public string GetTag(string tag, bool searchFallbacks, string defaultValue)
        {
            return shader.name == "Meshreel/Crowd" && tag == "MeshreelCrowd" ? "True" : defaultValue;
        }
        public Material(Shader shader) { this.shader = shader; }
        public Material(Material other) { shader = other.shader; name = other.name; }
    }

    public sealed class MaterialPropertyBlock
    {
        public readonly Dictionary<int, GraphicsBuffer> buffers = new Dictionary<int, GraphicsBuffer>();
        public readonly Dictionary<int, int> ints = new Dictionary<int, int>();
        public void SetBuffer(int id, GraphicsBuffer buffer) { buffers[id] = buffer; }
        public void SetInt(int id, int value) { ints[id] = value; }
    }

    public enum LightType { Spot, Directional, Point }
    public sealed class Light : Behaviour { public LightType type { get; set; } }

    public sealed class Camera : Behaviour
    {
        public static Camera main { get; set; }
        public float fieldOfView { get; set; }
        public float nearClipPlane { get; set; }
        public float farClipPlane { get; set; }
        public bool orthographic { get; set; }
        public float orthographicSize { get; set; }
        public bool usePhysicalProperties { get; set; }
        public float focalLength { get; set; }
        public Vector2 sensorSize { get; set; }
        public Vector2 lensShift { get; set; }
        public int pixelHeight { get; set; }
    }

    public sealed class GraphicsBuffer : IDisposable
    {
        [Flags]
        public enum Target
        {
            Vertex = 1, Index = 2, CopySource = 4, CopyDestination = 8, Structured = 16, Raw = 32, Append = 64,
                Counter = 128, IndirectArguments = 256, Constant = 512
        }
        public struct IndirectDrawIndexedArgs
        {
            public const int size = 20;
            public uint indexCountPerInstance, instanceCount, startIndex, baseVertexIndex, startInstance;
        }
        public static int Alive;
        public readonly byte[] content;
        bool isDisposed;
        public Target target { get; private set; }
        public int count { get; private set; }
        public int stride { get; private set; }
        public GraphicsBuffer(Target target, int count, int stride)
        {
            if (count < 1 || stride < 1) throw new ArgumentException("count and stride must be positive");
            if ((target & Target.Raw) != 0 && stride != 4)
                throw new ArgumentException("raw buffers have a stride of 4");
            this.target = target; this.count = count; this.stride = stride;
            content = new byte[(long)count * stride];
            Alive++;
        }
        internal GraphicsBuffer(Target target, byte[] shared)
        {
            this.target = target; content = shared; count = shared.Length / 4; stride = 4; Alive++;
        }
        public unsafe void SetData<T>(NativeArray<T> data, int start, int bufferStart, int number) where T : struct
        {
            int size = Marshal.SizeOf(typeof(T));
            if (start + number > data.Length || (bufferStart + number) * size > content.Length)
                throw new ArgumentOutOfRangeException("number");
            Marshal.Copy((IntPtr)((byte*)NativeArrayUnsafeUtility.GetUnsafePtr(data) + start * size), content,
                bufferStart * size, number * size);
        }
        public uint Word(int index) { return BitConverter.ToUInt32(content, 4 * index); }
        public void Dispose()
        {
            if (isDisposed) throw new ObjectDisposedException("GraphicsBuffer");
            isDisposed = true;
            Alive--;
        }
    }

    /// Records dispatches.
    public sealed class ComputeShader : Object
    {
        public struct Dispatched
        {
            public string kernel, keywords;
            public int x, y;
            public Dictionary<string, int> ints;
            public Dictionary<string, GraphicsBuffer> buffers;
        }
        public readonly List<Dispatched> dispatches = new List<Dispatched>();
        /// Set by a test to do what a kernel does.
        public Action<Dispatched> execute;
        public bool records = true;
        readonly string[] kernels;
        readonly Dictionary<int, int> ints = new Dictionary<int, int>();
        readonly Dictionary<int, GraphicsBuffer>[] buffers;
        public ComputeShader(params string[] kernels)
        {
            this.kernels = kernels;
            buffers = new Dictionary<int, GraphicsBuffer>[kernels.Length];
            for (int i = 0; i < buffers.Length; i++) buffers[i] = new Dictionary<int, GraphicsBuffer>();
        }
        public int FindKernel(string name)
        {
            int found = Array.IndexOf(kernels, name);
            if (found < 0) throw new ArgumentException("no kernel " + name);
            return found;
        }
        readonly HashSet<string> keywords = new HashSet<string>();
        public void EnableKeyword(string name) { keywords.Add(name); }
        public void DisableKeyword(string name) { keywords.Remove(name); }
        public void SetInt(int id, int value) { ints[id] = value; }
        public void SetBuffer(int kernel, int id, GraphicsBuffer buffer) { buffers[kernel][id] = buffer; }
        public void Dispatch(int kernel, int x, int y, int z)
        {
            if (!records) return;
            var done = new Dispatched { kernel = kernels[kernel], keywords = string.Join(" ",
                new List<string>(keywords).ToArray()), x = x, y = y, ints = new Dictionary<string, int>(), buffers =
                    new Dictionary<string, GraphicsBuffer>() };
            foreach (var pair in ints) done.ints[Shader.NameOf(pair.Key)] = pair.Value;
            foreach (var pair in buffers[kernel]) done.buffers[Shader.NameOf(pair.Key)] = pair.Value;
            dispatches.Add(done);
            if (execute != null) execute(done);
        }
    }

    public static class SystemInfo
    {
        public static bool supportsComputeShaders { get; set; }
        public static bool supportsIndirectArgumentsBuffer { get; set; }
        public static bool supportsInstancing { get; set; }
    }

    public static class Resources
    {
        public static readonly Dictionary<string, Object> Content = new Dictionary<string, Object>();
        public static T Load<T>(string path) where T : Object
        {
            Object found;
            return Content.TryGetValue(path, out found) ? found as T : null;
        }
    }

    public struct RenderParams
    {
        public Material material;
        public MaterialPropertyBlock matProps;
        public Bounds worldBounds;
        public int layer;
        public ShadowCastingMode shadowCastingMode;
        public bool receiveShadows;
        public RenderParams(Material material) { this = default(RenderParams); this.material = material; }
    }

    /// Records draws.
    public static class Graphics
    {
        public struct Draw
        {
            public RenderParams how;
            public Mesh mesh;
            public int submesh, instances;
            public Matrix4x4[] matrices;
            public GraphicsBuffer commands;
        }
        public static readonly List<Draw> Draws = new List<Draw>();
        public static bool Records = true;
        public static void RenderMeshIndirect(RenderParams how, Mesh mesh, GraphicsBuffer commands,
            int commandCount = 1, int startCommand = 0)
        {
            if ((commands.target & GraphicsBuffer.Target.IndirectArguments) == 0)
                throw new ArgumentException("commands");
            if (!Records) return;
            for (int i = startCommand; i < startCommand + commandCount; i++)
                Draws.Add(new Draw { how = how, mesh = mesh, submesh = i, commands = commands, instances =
                    (int)commands.Word(5 * i + 1) });
        }
        public static unsafe void RenderMeshInstanced<T>(RenderParams how, Mesh mesh, int submesh,
            NativeArray<T> data, int count = -1, int start = 0) where T : struct
        {
            if (!how.material.enableInstancing)
                throw new InvalidOperationException("the material does not enable instancing");
            if (count > 1023) throw new ArgumentOutOfRangeException("count");
            if (!Records) return;
            var matrices = new Matrix4x4[count];
            for (int i = 0; i < count; i++) matrices[i] =
                ((Matrix4x4*)NativeArrayUnsafeUtility.GetUnsafePtr(data))[start + i];
            Draws.Add(new Draw { how = how, mesh = mesh, submesh = submesh, instances = count, matrices = matrices });
        }
    }
}

namespace UnityEngine.Networking
{
    /// Fetches files of the disk for addresses `test://PATH`, after a number of frames.
    public sealed class UnityWebRequest : IDisposable
    {
        public enum Result { InProgress, Success, ConnectionError, ProtocolError, DataProcessingError }
        public static int Alive;
        readonly string address;
        int asked;
        public DownloadHandler downloadHandler { get; private set; }
        public Result result { get; private set; }
        public string error { get; private set; }
        UnityWebRequest(string address) { this.address = address; Alive++; }
        public static UnityWebRequest Get(string address) { return new UnityWebRequest(address); }
        public object SendWebRequest() { return null; }
        public bool isDone
        {
            get
            {
                if (++asked < 3) return false;
                if (result != Result.InProgress) return true;
                try
                {
                    downloadHandler = new DownloadHandler { data =
                        System.IO.File.ReadAllBytes(address.Substring("test://".Length)) };
                    result = Result.Success;
                }
                catch (Exception e) { result = Result.ProtocolError; error = "HTTP/1.1 404: " + e.Message; }
                return true;
            }
        }
        public void Abort() { result = Result.ConnectionError; }
        public void Dispose() { Alive--; }
    }
    public sealed class DownloadHandler { public byte[] data { get; set; } }
}
