using System;
using System.Collections.Generic;
using Unity.Collections;
using UnityEngine;
using UnityEngine.Rendering;

namespace Meshreel
{
    /// <summary>A mesh of a file as a mesh of Unity, which is written again whenever its moment
    /// changes.</summary>
    /// <remarks> Stream 0 has positions, normals and tangents, and other values that change; stream 1 has
    /// values that do not change and is written once. The library writes both in their final layout.
    /// Triangles of all levels of detail lie in one index buffer, of which submeshes are ranges. </remarks>
    internal sealed unsafe class ReelMesh : IDisposable
    {
        const MeshUpdateFlags NoChecks = MeshUpdateFlags.DontRecalculateBounds
            | MeshUpdateFlags.DontValidateIndices | MeshUpdateFlags.DontNotifyMeshUsers;

        readonly uint number;
        readonly ReelMeshInfo info;
        readonly bool mirrored;
        readonly VertexStreams streams;
        readonly List<int> nodes = new List<int>();
        readonly bool moves, fluid, computesNormals;
        readonly MeshTopology topology;
        Native.mr_range[] ranges;
        int[] levelStarts;
        int level;
        uint first = Native.NONE, second = Native.NONE;
        float blend;
        bool hasStatic;

        /// <summary>The mesh of Unity.</summary>
        public Mesh Mesh { get; private set; }

        /// <summary>True if the current frame has nothing to show.</summary>
        public bool IsEmpty { get; private set; }

        /// <summary>The number of vertices of the current frame.</summary>
        public int Vertices { get; private set; }

        /// <summary>True if a graphics card can compute all that changes.</summary>
        public bool IsComputable { get; private set; }

        /// <summary>True if anything changes from frame to frame.</summary>
        public bool IsAnimated
        {
            get { return moves || streams.Changes; }
        }

        /// <summary>The largest number of vertices of any frame.</summary>
        public int MaxVertices
        {
            get { return info.Vertices; }
        }

        /// <summary>The number of times that vertices were written, for tests and statistics.</summary>
        public int Writes { get; private set; }

        /// <summary>The number of levels of detail.</summary>
        public int Levels
        {
            get { return levelStarts.Length; }
        }

        /// <summary>The node whose mesh was chosen last, or -1 if none is visible.</summary>
        public int Node { get; private set; }

        /// <summary>True if vertices are in Unity's coordinates.</summary>
        public bool IsMirrored
        {
            get { return mirrored; }
        }

        /// <summary>The nodes that show the mesh.</summary>
        public List<int> Nodes
        {
            get { return nodes; }
        }

        /// <summary>The number of the mesh in the file.</summary>
        public int Number
        {
            get { return (int)number; }
        }

        /// <summary>The names of the materials, at least one.</summary>
        public string[] Materials { get; private set; }

        /// <summary>Creates the mesh that a node shows. With `mirrored`, its vertices are in Unity's
        /// coordinates; otherwise in those of the file, for an object with the scale
        /// `Coordinates.Mirror`.</summary>
        public ReelMesh(ReelFile file, IntPtr frame, int node, bool mirrored, bool computeNormals)
        {
            Native.mr_mesh_state state;
            state.size = (UIntPtr)sizeof(Native.mr_mesh_state);
            Native.Check(Native.mr_frame_mesh(frame, (uint)node, &state));
            this.mirrored = mirrored;
            number = state.mesh;
            info = file.Mesh((int)number);
            fluid = state.fluid != 0;
            moves = state.moves != 0 || fluid || info.IsParticles;
            topology = !info.IsParticles ? MeshTopology.Triangles
                : info.Curves > 0 ? MeshTopology.Lines : MeshTopology.Points;
            computesNormals = computeNormals && state.normals == 0 && topology == MeshTopology.Triangles;
            List<Native.mr_stream_info> values = file.Streams(number, info.Native.streams);
            streams = new VertexStreams(ref state, values, computesNormals);
            Materials = info.Materials.Length > 0 && !info.IsParticles ? info.Materials : new[] { "" };
            ranges = new Native.mr_range[Materials.Length];
            IsComputable = moves && !fluid && topology == MeshTopology.Triangles && state.normals != 0
                && streams.OnlyDirectionsChange;
            Mesh = new Mesh { name = info.Path, hideFlags = HideFlags.HideAndDontSave };
            if (moves || streams.Changes) Mesh.MarkDynamic();
            CreateBuffers(frame, node, &state);
        }

        void CreateBuffers(IntPtr frame, int node, Native.mr_mesh_state* state)
        {
            var sizes = info.Native;
            if (IsComputable) Mesh.vertexBufferTarget |= GraphicsBuffer.Target.Raw;
            Mesh.SetVertexBufferParams((int)sizes.vertices, streams.Descriptors);
            levelStarts = new int[fluid || topology != MeshTopology.Triangles ? 1 : Math.Max(1, (int)state->lods)];
            int indices = topology == MeshTopology.Triangles ? (int)sizes.indices
                : topology == MeshTopology.Lines ? 2 * (int)sizes.vertices : (int)sizes.vertices;
            for (uint i = 1; i < levelStarts.Length; i++)
            {
                Native.mr_lod_info lod;
                lod.size = (UIntPtr)sizeof(Native.mr_lod_info);
                Native.Check(Native.mr_frame_lod(frame, (uint)node, i, &lod));
                levelStarts[i] = indices;
                indices += (int)lod.indices;
            }
            Mesh.SetIndexBufferParams(indices, IndexFormat.UInt32);
            Bounds bounds = Coordinates.FileBounds(state->bounds);
            if (mirrored) bounds.center = Vector3.Scale(bounds.center, Coordinates.Mirror);
            Mesh.bounds = bounds;
            Mesh.subMeshCount = Materials.Length;
            if (!fluid && topology == MeshTopology.Triangles) WriteTriangles(frame, node, state);
        }

        /// <summary>Chooses one of the visible nodes, and writes the moment that a frame shows there, unless
        /// it is there already.</summary>
        public void Update(IntPtr frame, byte[] visible)
        {
            Native.mr_mesh_state state;
            Node = Choose(frame, visible, &state);
            if (Node >= 0 && !IsCurrent(&state)) Write(frame, Node, &state);
        }

        /// <summary>As `Update`, for vertices that a graphics card computes: writes only what does not
        /// change.</summary>
        public void UpdateStatic(IntPtr frame, byte[] visible)
        {
            Native.mr_mesh_state state;
            Node = Choose(frame, visible, &state);
            if (Node < 0) return;
            Vertices = (int)state.vertices;
            first = Native.NONE;
            WriteStatic(frame, Node, &state);
        }

        bool IsCurrent(Native.mr_mesh_state* state)
        {
            bool written = first != Native.NONE && !moves && !streams.Changes;
            bool same = first == state->frames[0] && second == state->frames[1] && blend == state->blend;
            return written || same;
        }

        /// <summary>Chooses the node whose mesh is written. Nodes that are about to vanish do not blend, so
        /// that one that blends is better.</summary>
        int Choose(IntPtr frame, byte[] visible, Native.mr_mesh_state* state)
        {
            int chosen = -1;
            for (int i = 0; i < nodes.Count; i++)
            {
                int node = nodes[i];
                if (visible[node] == 0) continue;
                Native.mr_mesh_state read;
                read.size = (UIntPtr)sizeof(Native.mr_mesh_state);
                Native.Check(Native.mr_frame_mesh(frame, (uint)node, &read));
                if (chosen >= 0 && read.blend <= 0) continue;
                chosen = node;
                *state = read;
                if (read.blend > 0) break;
            }
            return chosen;
        }

        void Write(IntPtr frame, int node, Native.mr_mesh_state* state)
        {
            int count = (int)state->vertices;
            WriteStatic(frame, node, state);
            WriteStream(frame, node, count, 0);
            if (topology == MeshTopology.Points) WritePoints(count);
            else if (topology == MeshTopology.Lines) WriteLines(frame, node, count);
            else if (fluid) WriteTriangles(frame, node, state);
            if (computesNormals) Mesh.RecalculateNormals(NoChecks);
            Vertices = count;
            first = state->frames[0];
            second = state->frames[1];
            blend = state->blend;
            Writes++;
        }

        void WriteStatic(IntPtr frame, int node, Native.mr_mesh_state* state)
        {
            if (hasStatic || streams.Strides[1] == 0) return;
            WriteStream(frame, node, (int)state->vertices, 1);
            hasStatic = true;
        }

        void WriteStream(IntPtr frame, int node, int count, int stream)
        {
            int stride = streams.Strides[stream];
            if (count == 0 || stride == 0) return;
            NativeArray<byte> target = Staging.Bytes(count * stride);
            byte* bytes = Staging.Pointer(target);
            fixed (Native.mr_attribute* attributes = streams.Attributes[stream])
            {
                var layout = new Native.mr_vertex_layout
                {
                    attributes = attributes,
                    count = (UIntPtr)streams.Attributes[stream].Length,
                    stride = (UIntPtr)stride,
                };
                Native.Check(Native.mr_frame_write(frame, (uint)node, &layout, 0, (uint)count, bytes,
                    (UIntPtr)(count * stride)));
            }
            if (mirrored && stream == 0) streams.MirrorVertices(bytes, count);
            Mesh.SetVertexBufferData(target, 0, 0, count * stride, stream, NoChecks);
        }

        void WriteTriangles(IntPtr frame, int node, Native.mr_mesh_state* state)
        {
            for (int i = 0; i < levelStarts.Length; i++)
            {
                UIntPtr count;
                NativeArray<uint> target = Staging.Words((int)info.Native.indices);
                uint* words = Staging.Pointer(target);
                Native.Check(i == 0
                    ? Native.mr_frame_indices(frame, (uint)node, words, (UIntPtr)target.Length, &count)
                    : Native.mr_frame_lod_indices(frame, (uint)node, (uint)i, words, (UIntPtr)target.Length,
                        &count));
                if (mirrored) Turn(words, (int)count);
                if ((int)count > 0) Mesh.SetIndexBufferData(target, 0, levelStarts[i], (int)count, NoChecks);
            }
            SetRanges(frame, node, (int)state->vertices);
        }

        /// <summary>Turns the winding of triangles round.</summary>
        static void Turn(uint* indices, int count)
        {
            for (int i = 0; i + 2 < count; i += 3)
            {
                uint other = indices[i + 1];
                indices[i + 1] = indices[i + 2];
                indices[i + 2] = other;
            }
        }

        /// <summary>Makes the ranges of the current level of detail the submeshes.</summary>
        void SetRanges(IntPtr frame, int node, int vertices)
        {
            UIntPtr count;
            fixed (Native.mr_range* all = ranges)
            {
                if (info.Materials.Length > 0)
                {
                    Native.Check(level == 0
                        ? Native.mr_frame_materials(frame, (uint)node, all, (UIntPtr)ranges.Length, &count)
                        : Native.mr_frame_lod_materials(frame, (uint)node, (uint)level, all,
                            (UIntPtr)ranges.Length, &count));
                }
                else
                {
                    Native.Check(Native.mr_frame_indices(frame, (uint)node, null, UIntPtr.Zero, &count));
                    all[0] = new Native.mr_range { count = (uint)count };
                }
            }
            long total = 0;
            for (int i = 0; i < ranges.Length; i++)
            {
                total += ranges[i].count;
                SetSubMesh(i, levelStarts[level] + (int)ranges[i].first, (int)ranges[i].count, vertices);
            }
            IsEmpty = total == 0;
        }

        void SetSubMesh(int number, int start, int count, int vertices)
        {
            var range = new SubMeshDescriptor(start, count, topology)
            {
                bounds = Mesh.bounds,
                firstVertex = 0,
                vertexCount = vertices,
            };
            Mesh.SetSubMesh(number, range, NoChecks);
        }

        void WritePoints(int count)
        {
            if (count > 0)
            {
                NativeArray<uint> target = Staging.Words(count);
                uint* words = Staging.Pointer(target);
                for (int i = 0; i < count; i++) words[i] = (uint)i;
                Mesh.SetIndexBufferData(target, 0, 0, count, NoChecks);
            }
            SetSubMesh(0, 0, count, count);
            IsEmpty = count == 0;
        }

        /// <summary>Writes the lines between neighbours on each curve.</summary>
        void WriteLines(IntPtr frame, int node, int count)
        {
            UIntPtr curves;
            Native.Check(Native.mr_frame_curves(frame, (uint)node, null, UIntPtr.Zero, &curves));
            NativeArray<uint> target = Staging.Words(2 * count + (int)curves);
            uint* words = Staging.Pointer(target);
            uint* sizes = words + 2 * count;
            Native.Check(Native.mr_frame_curves(frame, (uint)node, sizes, curves, &curves));
            uint start = 0;
            int written = 0;
            for (int curve = 0; curve < (int)curves; curve++)
            {
                for (uint i = 1; i < sizes[curve] && start + i < count; i++)
                {
                    words[written++] = start + i - 1;
                    words[written++] = start + i;
                }
                start += sizes[curve];
            }
            if (written > 0) Mesh.SetIndexBufferData(target, 0, 0, written, NoChecks);
            SetSubMesh(0, 0, written, count);
            IsEmpty = written == 0;
        }

        /// <summary>Shows another level of detail.</summary>
        public void SetLevel(IntPtr frame, int number)
        {
            int chosen = Math.Max(0, Math.Min(number, levelStarts.Length - 1));
            if (chosen == level || fluid) return;
            level = chosen;
            SetRanges(frame, nodes[0], Vertices);
        }

        /// <summary>The level of detail that is shown.</summary>
        public int Level
        {
            get { return level; }
        }

        /// <summary>The largest distance between each level and the mesh, without level 0, in the file's
        /// unit.</summary>
        public float[] LevelErrors(IntPtr frame)
        {
            var errors = new float[levelStarts.Length - 1];
            for (uint i = 0; i < errors.Length; i++)
            {
                Native.mr_lod_info lod;
                lod.size = (UIntPtr)sizeof(Native.mr_lod_info);
                Native.Check(Native.mr_frame_lod(frame, (uint)nodes[0], i + 1, &lod));
                errors[i] = lod.error;
            }
            return errors;
        }

        /// <summary>Bytes from one vertex of stream 0 to the next.</summary>
        public int Stride
        {
            get { return streams.Strides[0]; }
        }

        /// <summary>True if stream 0 has tangents.</summary>
        public bool HasTangents
        {
            get { return streams.HasTangents; }
        }

        public void Dispose()
        {
            Objects.Destroy(Mesh);
            Mesh = null;
        }
    }
}
