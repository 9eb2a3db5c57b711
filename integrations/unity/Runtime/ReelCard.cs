using System;
using System.Collections.Generic;
using Unity.Collections;
using UnityEngine;

namespace Meshreel
{
    /// <summary>Computes the vertices of a view on the graphics card. Decoded frames are uploaded as they are
    /// in memory; passes apply bones, blend two frames, and compute normals and tangents; the last one writes
    /// the vertex buffers of the meshes.</summary>
    internal sealed unsafe class ReelCard : IVertexWriter
    {
        /// <summary>Invocations per workgroup, as in the shaders.</summary>
        const int Group = 64;
        /// <summary>Words of a computed vertex: position, normal, tangent.</summary>
        const int ComputedWords = 10;
        /// <summary>Frames on the card: the two of a moment, and one that may be shown again.</summary>
        const int Slots = 3;
        const int MaxGroups = 65535;

        /// <summary>Variants of the passes, by the form of positions.</summary>
        static readonly string[] Variants =
        {
            "POINTS_NARROW", "POINTS_WIDE", "POINTS_CODES", "POINTS_BONES", "POINTS_HEIGHTS", "POINTS_BONES_APART",
            "POINTS_BONES_PACKED",
        };

        /// <summary>The form of positions that bones move.</summary>
        const int Bones = 3;

        /// <summary>Constants of pipelines that are uniforms of the passes. The others are the same for all
        /// meshes.</summary>
        static readonly string[] Uniforms =
        {
            "HEIGHT_AXIS", "WIDE_POINTS", "ONE_BONE", "RESIDUALS", "NORMALS", "WEIGHTS", "TANGENTS", "LARGE",
            "COLOUR_FORMAT", "VELOCITY_FORMAT",
        };

        static readonly string[] Kernels = { "points", "normals", "tangents", "vertices_" };
        static readonly int Meshes = Shader.PropertyToID("meshes"), Ring = Shader.PropertyToID("ring"),
            Fixed = Shader.PropertyToID("fixed_words"), Scratch = Shader.PropertyToID("scratch"),
            Decoded = Shader.PropertyToID("decoded"), VertexWords = Shader.PropertyToID("vertex_words"),
            Work = Shader.PropertyToID("work"), WorkFirst = Shader.PropertyToID("WORK_FIRST"),
            WorkRow = Shader.PropertyToID("WORK_ROW");
        static readonly int Computed = Shader.PropertyToID("computed_words"),
            MeshWords = Shader.PropertyToID("mesh_words"), ComputedFirst = Shader.PropertyToID("COMPUTED_FIRST"),
            VertexCount = Shader.PropertyToID("VERTEX_COUNT"), MeshStride = Shader.PropertyToID("MESH_WORDS"),
            Mirrors = Shader.PropertyToID("MIRRORS"), PlaceRow = Shader.PropertyToID("PLACE_ROW");

        readonly PlanHandle plan;
        readonly RingHandle ring;
        readonly Native.mr_gpu_info info;
        readonly ComputeShader passes, place;
        readonly int[] kernels = new int[Kernels.Length];
        readonly int placeKernel;
        readonly GraphicsBuffer parameters, frames, placeholder;
        readonly GraphicsBuffer[] constantWords, scratch, vertices;
        readonly Constant[][] constants;
        readonly int[] variants;
        readonly Native.mr_gpu_mesh[] places;
        readonly GraphicsBuffer[] targets;
        readonly List<GraphicsBuffer> owned = new List<GraphicsBuffer>();
        static ComputeShader chosenShader;
        static int chosenVariant;
        GraphicsBuffer work;
        Native.mr_range[] used = new Native.mr_range[64];
        Native.mr_gpu_dispatch[] dispatches = new Native.mr_gpu_dispatch[64];

        /// <summary>A uniform of the passes.</summary>
        struct Constant
        {
            public int Id;
            public int Value;
        }

        /// <summary>True if the project has the shaders and the device can run them.</summary>
        public static bool IsSupported
        {
            get { return SystemInfo.supportsComputeShaders && Load("Passes") != null && Load("Place") != null; }
        }

        static ComputeShader Load(string name)
        {
            return Resources.Load<ComputeShader>("Meshreel/" + name);
        }

        /// <summary>Creates the buffers of a file. Throws if it does not fit the card.</summary>
        public ReelCard(IntPtr frame)
        {
            passes = Load("Passes");
            place = Load("Place");
            try
            {
                plan = NewPlan(frame);
                IntPtr pointer;
                Native.Check(Native.mr_gpu_ring_new(Slots, &pointer));
                ring = new RingHandle(pointer);
                Native.mr_gpu_info read;
                read.size = (UIntPtr)sizeof(Native.mr_gpu_info);
                Native.Check(Native.mr_gpu_plan_get(plan.Pointer, &read));
                info = read;
                for (int i = 0; i < kernels.Length; i++) kernels[i] = passes.FindKernel(Kernels[i]);
                placeKernel = place.FindKernel("place");
                places = new Native.mr_gpu_mesh[info.meshes];
                constants = new Constant[info.meshes][];
                variants = new int[info.meshes];
                targets = new GraphicsBuffer[info.meshes];
                for (uint mesh = 0; mesh < info.meshes; mesh++) ReadMesh(mesh);
                placeholder = NewBuffer(1);
                parameters = NewBuffer((long)info.meshes * info.params_bytes / 4);
                frames = NewBuffer((long)Slots * info.slot_words + info.still_words);
                constantWords = new GraphicsBuffer[info.batches];
                scratch = new GraphicsBuffer[info.batches];
                vertices = new GraphicsBuffer[info.batches];
                for (uint batch = 0; batch < info.batches; batch++) CreateBatch(batch);
                UploadStatic(frame);
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        static PlanHandle NewPlan(IntPtr frame)
        {
            var attributes = stackalloc Native.mr_attribute[3];
            attributes[0] = new Native.mr_attribute
            {
                channel = Native.CHANNEL_POSITION, format = Native.FORMAT_F32X3, offset = 0,
            };
            attributes[1] = new Native.mr_attribute
            {
                channel = Native.CHANNEL_NORMAL, format = Native.FORMAT_F32X3, offset = 12,
            };
            attributes[2] = new Native.mr_attribute
            {
                channel = Native.CHANNEL_TANGENT, format = Native.FORMAT_F32X4, offset = 24,
            };
            var layout = new Native.mr_vertex_layout
            {
                attributes = attributes, count = (UIntPtr)3, stride = (UIntPtr)(4 * ComputedWords),
            };
            var options = new Native.mr_gpu_options
            {
                size = (UIntPtr)sizeof(Native.mr_gpu_options), group = Group,
            };
            IntPtr pointer;
            Native.Check(Native.mr_gpu_plan_new(frame, &layout, &options, &pointer));
            return new PlanHandle(pointer);
        }

        GraphicsBuffer NewBuffer(long words)
        {
            if (words > int.MaxValue / 4)
                throw new ReelException(ReelStatus.Limit, "a buffer of " + words + " words is too large");
            var created = new GraphicsBuffer(GraphicsBuffer.Target.Raw, (int)Math.Max(1, words), 4);
            owned.Add(created);
            return created;
        }

        void ReadMesh(uint mesh)
        {
            Native.mr_gpu_mesh read;
            read.size = (UIntPtr)sizeof(Native.mr_gpu_mesh);
            Native.Check(Native.mr_gpu_plan_mesh(plan.Pointer, mesh, &read));
            places[mesh] = read;
            UIntPtr count;
            Native.Check(Native.mr_gpu_plan_constants(plan.Pointer, mesh, null, UIntPtr.Zero, &count));
            var all = new Native.mr_gpu_constant[(int)count];
            var own = new List<Constant>();
            int positions = 0, apart = 0, packed = 0;
            fixed (Native.mr_gpu_constant* target = all)
            {
                Native.Check(Native.mr_gpu_plan_constants(plan.Pointer, mesh, target, count, &count));
                for (int i = 0; i < all.Length; i++)
                {
                    string name = Native.Text(target[i].name, 24);
                    int value = (int)target[i].value;
                    if (name == "POSITIONS") positions = value;
                    else if (name == "POINTS_APART") apart = value;
                    else if (name == "PACKED") packed = value;
                    else if (Array.IndexOf(Uniforms, name) >= 0)
                        own.Add(new Constant { Id = Shader.PropertyToID(name), Value = value });
                }
            }
            constants[mesh] = own.ToArray();
            variants[mesh] = positions != Bones ? positions : packed != 0 ? 6 : apart != 0 ? 5 : Bones;
        }

        void CreateBatch(uint batch)
        {
            Native.mr_gpu_batch read;
            read.size = (UIntPtr)sizeof(Native.mr_gpu_batch);
            Native.Check(Native.mr_gpu_plan_batch(plan.Pointer, batch, &read));
            constantWords[batch] = NewBuffer((long)read.fixed_words);
            scratch[batch] = NewBuffer((long)read.scratch_words);
            vertices[batch] = NewBuffer((long)read.vertex_words);
            UIntPtr count;
            NativeArray<uint> words = Staging.Words((int)read.fixed_words);
            Native.Check(Native.mr_gpu_plan_fixed(plan.Pointer, batch, Staging.Pointer(words),
                (UIntPtr)words.Length, &count));
            if ((int)count > 0) constantWords[batch].SetData(words, 0, 0, (int)count);
        }

        void UploadStatic(IntPtr frame)
        {
            int count = (int)info.still_words;
            if (count == 0) return;
            NativeArray<uint> words = Staging.Words(count);
            Native.Check(Native.mr_gpu_plan_still(plan.Pointer, frame, Staging.Pointer(words), (UIntPtr)count));
            frames.SetData(words, 0, Slots * (int)info.slot_words, count);
        }

        /// <summary>Computes the moment of a frame for all computable meshes that are visible.</summary>
        public void Write(IntPtr frame, List<ReelMesh> meshes)
        {
            Native.mr_frame_info shown;
            shown.size = (UIntPtr)sizeof(Native.mr_frame_info);
            Native.Check(Native.mr_frame_get(frame, &shown));
            // Others may have changed the keywords since.
            chosenShader = null;
            Native.Check(Native.mr_gpu_ring_begin(ring.Pointer));
            var moment = new Native.mr_gpu_moment { slots = Slots };
            moment.first = Upload(frame, shown.first, 0);
            moment.second = shown.second == shown.first ? moment.first : Upload(frame, shown.second, 1);
            Native.Check(Native.mr_gpu_plan_begin(plan.Pointer));
            for (int i = 0; i < meshes.Count; i++)
            {
                if (meshes[i].IsComputable && meshes[i].Node >= 0) ShowMesh(frame, meshes[i], &moment);
            }
            UploadWork();
            Dispatch();
            for (int i = 0; i < meshes.Count; i++)
            {
                if (meshes[i].IsComputable && meshes[i].Node >= 0) PlaceVertices(meshes[i]);
            }
        }

        /// <summary>Returns the slot of a frame, and uploads the frame if it is not on the card.</summary>
        uint Upload(IntPtr frame, uint number, uint second)
        {
            Native.mr_gpu_place slot;
            Native.Check(Native.mr_gpu_ring_ask(ring.Pointer, number, &slot));
            if (slot.slot == Native.NONE)
                throw new ReelException(ReelStatus.Limit, "the card has no room for another frame");
            if (slot.is_new == 0) return slot.slot;
            int count = (int)info.slot_words;
            NativeArray<uint> words = Staging.Words(count);
            Native.Check(Native.mr_gpu_plan_slot(plan.Pointer, frame, second, Staging.Pointer(words),
                (UIntPtr)count));
            UIntPtr ranges;
            Native.Check(Native.mr_gpu_plan_used(plan.Pointer, null, UIntPtr.Zero, &ranges));
            if ((int)ranges > used.Length) used = new Native.mr_range[2 * (int)ranges];
            fixed (Native.mr_range* target = used)
            {
                Native.Check(
                    Native.mr_gpu_plan_used(plan.Pointer, target, (UIntPtr)used.Length, &ranges));
            }
            for (int i = 0; i < (int)ranges; i++)
            {
                int first = (int)used[i].first, length = (int)used[i].count;
                if (length > 0) frames.SetData(words, first, (int)slot.slot * count + first, length);
            }
            return slot.slot;
        }

        void ShowMesh(IntPtr frame, ReelMesh mesh, Native.mr_gpu_moment* moment)
        {
            int bytes = (int)info.params_bytes;
            NativeArray<uint> words = Staging.Words(bytes / 4);
            Native.Check(Native.mr_gpu_plan_show(plan.Pointer, frame, (uint)mesh.Node, moment,
                Staging.Pointer(words), (UIntPtr)bytes));
            parameters.SetData(words, 0, mesh.Number * bytes / 4, bytes / 4);
        }

        void UploadWork()
        {
            UIntPtr count;
            Native.Check(Native.mr_gpu_plan_work(plan.Pointer, null, UIntPtr.Zero, &count));
            int length = 2 * (int)count;
            if (work == null || work.count < length)
            {
                if (work != null) work.Dispose();
                work = new GraphicsBuffer(GraphicsBuffer.Target.Raw, Math.Max(64, length), 4);
            }
            if (length == 0) return;
            NativeArray<uint> words = Staging.Words(length);
            Native.Check(Native.mr_gpu_plan_work(plan.Pointer, Staging.Pointer(words), count, &count));
            work.SetData(words, 0, 0, length);
        }

        void Dispatch()
        {
            UIntPtr count;
            Native.Check(Native.mr_gpu_plan_dispatches(plan.Pointer, null, UIntPtr.Zero, &count));
            if ((int)count > dispatches.Length) dispatches = new Native.mr_gpu_dispatch[2 * (int)count];
            fixed (Native.mr_gpu_dispatch* all = dispatches)
            {
                Native.Check(
                    Native.mr_gpu_plan_dispatches(plan.Pointer, all, (UIntPtr)dispatches.Length, &count));
                for (int i = 0; i < (int)count; i++) Dispatch(all + i);
            }
        }

        void Dispatch(Native.mr_gpu_dispatch* dispatch)
        {
            int kernel = kernels[dispatch->pass];
            uint batch = dispatch->batch;
            Constant[] uniforms = constants[dispatch->mesh];
            for (int i = 0; i < uniforms.Length; i++) passes.SetInt(uniforms[i].Id, uniforms[i].Value);
            SetVariant(variants[dispatch->mesh]);
            passes.SetInt(WorkFirst, (int)dispatch->first);
            passes.SetInt(WorkRow, (int)dispatch->groups[0]);
            passes.SetBuffer(kernel, Meshes, parameters);
            passes.SetBuffer(kernel, Ring, frames);
            passes.SetBuffer(kernel, Fixed, constantWords[batch]);
            passes.SetBuffer(kernel, Scratch, scratch[batch]);
            passes.SetBuffer(kernel, Decoded, placeholder);
            passes.SetBuffer(kernel, VertexWords, vertices[batch]);
            passes.SetBuffer(kernel, Work, work);
            passes.Dispatch(kernel, (int)dispatch->groups[0], (int)dispatch->groups[1], 1);
        }

        /// <summary>Chooses the variant of the passes, which all files of the process use.</summary>
        void SetVariant(int variant)
        {
            if (chosenShader == passes && chosenVariant == variant) return;
            for (int i = 0; i < Variants.Length; i++)
            {
                if (i != variant) passes.DisableKeyword(Variants[i]);
            }
            passes.EnableKeyword(Variants[variant]);
            chosenShader = passes;
            chosenVariant = variant;
        }

        void PlaceVertices(ReelMesh mesh)
        {
            if (mesh.Vertices == 0) return;
            Native.mr_gpu_mesh from = places[mesh.Number];
            GraphicsBuffer target = targets[mesh.Number];
            if (target == null)
            {
                // What the mesh has in memory must be on the card before the card writes there.
                mesh.Mesh.UploadMeshData(false);
                target = targets[mesh.Number] = mesh.Mesh.GetVertexBuffer(0);
            }
            int groups = (mesh.Vertices + Group - 1) / Group;
            int rows = (groups + MaxGroups - 1) / MaxGroups;
            int row = (groups + rows - 1) / rows;
            place.SetInt(ComputedFirst, (int)from.vertices);
            place.SetInt(VertexCount, mesh.Vertices);
            place.SetInt(MeshStride, mesh.Stride / 4);
            place.SetInt(Mirrors, mesh.IsMirrored ? 1 : 0);
            place.SetInt(PlaceRow, row);
            place.SetBuffer(placeKernel, Computed, vertices[from.batch]);
            place.SetBuffer(placeKernel, MeshWords, target);
            place.Dispatch(placeKernel, row, rows, 1);
        }

        public void Dispose()
        {
            foreach (GraphicsBuffer buffer in owned) buffer.Dispose();
            owned.Clear();
            if (targets != null)
            {
                foreach (GraphicsBuffer target in targets)
                {
                    if (target != null) target.Dispose();
                }
            }
            if (work != null) work.Dispose();
            work = null;
            if (ring != null) ring.Dispose();
            if (plan != null) plan.Dispose();
        }
    }
}
