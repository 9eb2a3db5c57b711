using System;
using System.Runtime.InteropServices;
using UnityEngine;
using UnityEngine.Rendering;

namespace Meshreel.Tests
{
    /// <summary>Reads frames with the library's own decoder, by functions that the package does not use, and
    /// compares a view with them.</summary>
    public static unsafe class Reference
    {
        [DllImport("meshreel_c", CallingConvention = CallingConvention.Cdecl)]
        static extern uint mr_frame_floats(IntPtr frame, uint node, uint channel, uint set, float* @out, UIntPtr count);

        [DllImport("meshreel_c", CallingConvention = CallingConvention.Cdecl)]
        static extern uint mr_frame_world(IntPtr frame, uint node, double* @out);

        public static float[] Floats(IntPtr frame, int node, uint channel, uint set, int count)
        {
            var values = new float[Math.Max(1, count)];
            fixed (float* target = values)
                Native.Check(mr_frame_floats(frame, (uint)node, channel, set, target, (UIntPtr)count));
            return values;
        }

        public static double[] World(IntPtr frame, int node)
        {
            var values = new double[12];
            fixed (double* target = values) Native.Check(mr_frame_world(frame, (uint)node, target));
            return values;
        }

        /// <summary>Compares everything that a view shows with a frame: visibility, places, vertices,
        /// triangles. Returns the number of vertices.</summary>
        public static int Compare(IntPtr frame, ReelFile file, ReelView view, string what)
        {
            int vertices = 0;
            var visible = new byte[file.Nodes];
            fixed (byte* shows = visible)
            {
                UIntPtr count;
                Native.Check(Native.mr_frame_visible(frame, shows, (UIntPtr)visible.Length, &count));
            }
            for (int i = 0; i < view.SurfaceCount; i++)
            {
                MeshRenderer renderer = view.Surface(i);
                int node = renderer.GetComponent<ReelSurface>().node;
                Mesh mesh = renderer.GetComponent<MeshFilter>().sharedMesh;
                Native.mr_mesh_state state;
                state.size = (UIntPtr)sizeof(Native.mr_mesh_state);
                Native.Check(Native.mr_frame_mesh(frame, (uint)node, &state));
                bool hasContent = state.vertices > 0;
                if (visible[node] == 0) Check.That(!renderer.enabled, what + ": a hidden mesh is shown");
                else if (hasContent && state.indices > 0) Check.That(renderer.enabled, what + ": a mesh is hidden");
                if (visible[node] == 0 || !renderer.enabled) continue;
                vertices += (int)state.vertices;
                CompareVertices(frame, node, ref state, mesh, renderer.transform, file, what + ", node " + node);
                CompareTriangles(frame, node, ref state, mesh, what + ", node " + node);
            }
            return vertices;
        }

        static void CompareVertices(IntPtr frame, int node, ref Native.mr_mesh_state state, Mesh mesh, Transform place,
            ReelFile file, string what)
        {
            int count = (int)state.vertices;
            Compare(Floats(frame, node, Native.CHANNEL_POSITION, 0, 3 * count), 3, mesh, VertexAttribute.Position,
                count, what);
            if (state.normals != 0)
                Compare(Floats(frame, node, Native.CHANNEL_NORMAL, 0, 3 * count), 3, mesh, VertexAttribute.Normal,
                    count, what);
            if (state.tangents != 0)
                Compare(Floats(frame, node, Native.CHANNEL_TANGENT, 0, 4 * count), 4, mesh, VertexAttribute.Tangent,
                    count, what);
            if (state.uvs != 0)
                Compare(Floats(frame, node, Native.CHANNEL_UV, 0, 2 * count), 2, mesh, VertexAttribute.TexCoord0,
                    count, what);
            if (state.colours != 0) CompareColours(frame, node, mesh, count, what);
            // A point of the world: right-handed in the file's unit, left-handed in metres here.
            double[] world = World(frame, node);
            for (int v = 0; v < count; v += Math.Max(1, count / 16))
            {
                Vector3 local = mesh.Position(v);
                Vector3 got = place.TransformPoint(local);
                double x = world[0] * local.x + world[1] * local.y + world[2] * local.z + world[3];
                double y = world[4] * local.x + world[5] * local.y + world[6] * local.z + world[7];
                double z = world[8] * local.x + world[9] * local.y + world[10] * local.z + world[11];
                double m = file.MetresPerUnit;
                double size = Math.Abs(x) + Math.Abs(y) + Math.Abs(z) + 1;
                Check.Near(got, new Vector3((float)(-x * m), (float)(y * m), (float)(z * m)), 1e-5 * size, what
                    + ": world");
            }
        }

        static void Compare(float[] wanted, int size, Mesh mesh, VertexAttribute attribute, int count, string what)
        {
            int stream, offset = mesh.Offset(attribute, out stream);
            Check.That(offset >= 0, what + ": no " + attribute);
            byte[] bytes = mesh.streams[stream];
            for (int v = 0; v < count; v++)
            {
                int start = v * mesh.strides[stream] + offset;
                for (int i = 0; i < size; i++)
                {
                    float got = BitConverter.ToSingle(bytes, start + 4 * i);
                    if (got != wanted[size * v + i])
                        throw new Failure(what + ": " + attribute + " of vertex " + v + ": " + got + ", not "
                            + wanted[size * v + i]);
                }
            }
            Check.Count += count;
        }

        static void CompareColours(IntPtr frame, int node, Mesh mesh, int count, string what)
        {
            float[] wanted = Floats(frame, node, Native.CHANNEL_COLOUR, 0, 4 * count);
            int stream, offset = mesh.Offset(VertexAttribute.Color, out stream);
            Check.That(offset >= 0, what + ": no colours");
            for (int i = 0; i < 4 * count; i++)
            {
                byte got = mesh.streams[stream][i / 4 * mesh.strides[stream] + offset + i % 4];
                Check.Near(got, Math.Min(1, Math.Max(0, wanted[i])) * 255, 0.51, what + ": colour");
            }
        }

        static void CompareTriangles(IntPtr frame, int node, ref Native.mr_mesh_state state, Mesh mesh, string what)
        {
            if (state.indices == 0) return;
            var wanted = new uint[state.indices];
            var ranges = new Native.mr_range[Math.Max(1, state.materials)];
            ranges[0].count = state.indices;
            UIntPtr count;
            fixed (uint* target = wanted)
                Native.Check(Native.mr_frame_indices(frame, (uint)node, target, (UIntPtr)wanted.Length, &count));
            fixed (Native.mr_range* target = ranges)
                if (state.materials > 0)
                    Native.Check(Native.mr_frame_materials(frame, (uint)node, target, (UIntPtr)ranges.Length, &count));
            Check.Equal(mesh.subMeshCount, ranges.Length, what + ": submeshes");
            for (int i = 0; i < ranges.Length; i++)
            {
                SubMeshDescriptor range = mesh.GetSubMesh(i);
                Check.Equal(range.indexCount, (int)ranges[i].count, what + ": indices of a submesh");
                for (int k = 0; k < range.indexCount; k++)
                    if (mesh.indexBuffer[range.indexStart + k] != wanted[ranges[i].first + k])
                        throw new Failure(what + ": index " + k);
                Check.Count += range.indexCount;
            }
        }
    }
}
