using System;
using System.Collections.Generic;

namespace Meshreel
{
    /// <summary>The frames in which the mesh of a node is shown.</summary>
    public enum ReelVisibility
    {
        /// <summary>In all frames.</summary>
        Always = 0,
        /// <summary>In no frame.</summary>
        Never = 1,
        /// <summary>In some frames.</summary>
        Animated = 2,
    }

    /// <summary>A node of a file.</summary>
    public struct ReelNodeInfo
    {
        /// <summary>The path in the source.</summary>
        public string Path;
        /// <summary>The number of the parent, which is smaller than the node's own, or -1.</summary>
        public int Parent;
        /// <summary>The number of the mesh, or -1.</summary>
        public int Mesh;
        /// <summary>The frames in which the mesh is shown.</summary>
        public ReelVisibility Visibility;
        /// <summary>True if the transform is animated.</summary>
        public bool IsAnimated;
        /// <summary>The largest distance of any vertex from that of the source, in the file's unit.</summary>
        public double Tolerance;
        internal Native.mr_transform Rest;
    }

    /// <summary>A mesh of a file.</summary>
    public struct ReelMeshInfo
    {
        /// <summary>The path in the source.</summary>
        public string Path;
        /// <summary>The number of vertices; if triangles change, the largest of all frames.</summary>
        public int Vertices;
        /// <summary>The number of indices; if triangles change, the largest of all frames.</summary>
        public int Indices;
        /// <summary>The number of levels of detail, including the mesh itself.</summary>
        public int LodLevels;
        /// <summary>True if the mesh consists of particles or curves: points without triangles.</summary>
        public bool IsParticles;
        /// <summary>The largest number of curves in any frame.</summary>
        public int Curves;
        /// <summary>The names of the materials; each has a submesh.</summary>
        public string[] Materials;
        internal Native.mr_mesh_info Native;
    }

    /// <summary>A named range of frames of a file.</summary>
    public struct ReelRange
    {
        /// <summary>The name of the range.</summary>
        public string Name;
        /// <summary>The first frame.</summary>
        public int First;
        /// <summary>The number of frames.</summary>
        public int Count;
    }

    /// <summary>An open file and its description. Its content is read when it is needed.</summary>
    public sealed unsafe class ReelFile : IDisposable
    {
        readonly ReelHandle handle;
        readonly Native.mr_reel_info info;

        /// <summary>The name that errors give.</summary>
        public string Name { get; private set; }

        internal IntPtr Pointer
        {
            get { return handle.Pointer; }
        }

        internal ReelFile(IntPtr pointer, string name)
        {
            handle = new ReelHandle(pointer);
            Name = name;
            Native.mr_reel_info read;
            read.size = (UIntPtr)sizeof(Native.mr_reel_info);
            Native.Check(Native.mr_reel_get(pointer, &read));
            info = read;
        }

        /// <summary>Opens and checks a file on the disk.</summary>
        public static ReelFile Open(string path)
        {
            Native.RequireLibrary();
            IntPtr pointer;
            fixed (byte* name = Native.Utf8(path))
            {
                Native.Check(Native.mr_reel_open(name, null, &pointer));
            }
            return new ReelFile(pointer, path);
        }

        /// <summary>Opens and checks the bytes of a file, of which the library keeps a copy. Errors name the
        /// file `name`.</summary>
        public static ReelFile Open(byte[] bytes, string name)
        {
            Native.RequireLibrary();
            IntPtr pointer;
            fixed (byte* text = Native.Utf8(name))
            fixed (byte* data = bytes)
            {
                Native.Check(Native.mr_reel_open_memory(text, data, (UIntPtr)bytes.Length, null, &pointer));
            }
            return new ReelFile(pointer, name);
        }

        /// <summary>The number of frames; may be 0.</summary>
        public int Frames
        {
            get { return (int)info.frames; }
        }

        /// <summary>The number of nodes; parents stand before their children.</summary>
        public int Nodes
        {
            get { return (int)info.nodes; }
        }

        /// <summary>The number of meshes.</summary>
        public int Meshes
        {
            get { return (int)info.meshes; }
        }

        /// <summary>Seconds from the first frame to the last.</summary>
        public double Duration
        {
            get { return info.end - info.start; }
        }

        /// <summary>Frames per second as the source states them; 0 if it states none.</summary>
        public double FramesPerSecond
        {
            get { return info.fps; }
        }

        /// <summary>The period of a closed cycle in seconds; 0 if the file is not a cycle.</summary>
        public double Period
        {
            get { return info.period; }
        }

        /// <summary>The metres of the file's unit of length; 1 if it names none.</summary>
        public float MetresPerUnit
        {
            get { return Coordinates.Metres(info.unit); }
        }

        /// <summary>The size of the file in bytes.</summary>
        public long FileBytes
        {
            get { return (long)info.file_bytes; }
        }

        /// <summary>The seconds of a frame, counted from the first.</summary>
        public double TimeOfFrame(int frame)
        {
            double seconds;
            Native.Check(Native.mr_reel_time(Pointer, (uint)frame, &seconds));
            return seconds - info.start;
        }

        /// <summary>The two frames around a time in seconds from the first frame, and the weight of the
        /// second. Times beyond the ends give the first or last frame.</summary>
        internal Native.mr_pair PairAt(double seconds)
        {
            int low = 0, high = Math.Max(Frames - 1, 0);
            while (low < high)
            {
                int middle = (low + high + 1) / 2;
                if (TimeOfFrame(middle) <= seconds) low = middle;
                else high = middle - 1;
            }
            var pair = new Native.mr_pair { first = (uint)low, second = (uint)low };
            if (low + 1 >= Frames || seconds <= 0) return pair;
            double start = TimeOfFrame(low), end = TimeOfFrame(low + 1);
            float blend = (float)((seconds - start) / (end - start));
            if (blend <= 0) return pair;
            pair.second = (uint)low + 1;
            pair.blend = Math.Min(blend, 0.99999994f);
            return pair;
        }

        /// <summary>The description of a node.</summary>
        public ReelNodeInfo Node(int node)
        {
            Native.mr_node_info read;
            read.size = (UIntPtr)sizeof(Native.mr_node_info);
            Native.Check(Native.mr_reel_node(Pointer, (uint)node, &read));
            return new ReelNodeInfo
            {
                Path = NodePath((uint)node),
                Parent = read.parent == Native.NONE ? -1 : (int)read.parent,
                Mesh = read.mesh == Native.NONE ? -1 : (int)read.mesh,
                Visibility = (ReelVisibility)read.visibility,
                IsAnimated = read.animated != 0,
                Tolerance = read.tolerance,
                Rest = read.rest,
            };
        }

        /// <summary>The description of a mesh. The first call reads the static data of all meshes.</summary>
        public ReelMeshInfo Mesh(int mesh)
        {
            Native.mr_mesh_info read;
            read.size = (UIntPtr)sizeof(Native.mr_mesh_info);
            Native.Check(Native.mr_reel_mesh(Pointer, (uint)mesh, &read));
            var materials = new string[read.materials];
            for (uint i = 0; i < read.materials; i++) materials[i] = MaterialName((uint)mesh, i);
            return new ReelMeshInfo
            {
                Path = MeshPath((uint)mesh),
                Vertices = (int)read.vertices,
                Indices = (int)read.indices,
                LodLevels = (int)read.lods,
                IsParticles = read.particles != 0,
                Curves = (int)read.curves,
                Materials = materials,
                Native = read,
            };
        }

        /// <summary>The named ranges of frames.</summary>
        public ReelRange[] Ranges()
        {
            var all = new ReelRange[info.ranges];
            for (uint i = 0; i < info.ranges; i++)
            {
                Native.mr_range range;
                UIntPtr length;
                Native.Check(Native.mr_reel_range(Pointer, i, &range, null, UIntPtr.Zero, &length));
                var name = new byte[(int)length + 1];
                fixed (byte* text = name)
                {
                    Native.Check(Native.mr_reel_range(Pointer, i, &range, text, (UIntPtr)name.Length, null));
                    all[i] = new ReelRange
                    {
                        Name = Native.Text(text, name.Length),
                        First = (int)range.first,
                        Count = (int)range.count,
                    };
                }
            }
            return all;
        }

        /// <summary>The streams of values of a mesh, such as sets of texture coordinates.</summary>
        internal List<Native.mr_stream_info> Streams(uint mesh, uint count)
        {
            var all = new List<Native.mr_stream_info>();
            for (uint i = 0; i < count; i++)
            {
                Native.mr_stream_info stream;
                stream.size = (UIntPtr)sizeof(Native.mr_stream_info);
                Native.Check(Native.mr_reel_stream(Pointer, mesh, i, &stream));
                all.Add(stream);
            }
            return all;
        }

        string NodePath(uint node)
        {
            UIntPtr length;
            Native.Check(Native.mr_reel_node_path(Pointer, node, null, UIntPtr.Zero, &length));
            var bytes = new byte[(int)length + 1];
            fixed (byte* text = bytes)
            {
                Native.Check(Native.mr_reel_node_path(Pointer, node, text, (UIntPtr)bytes.Length, null));
                return Native.Text(text, bytes.Length);
            }
        }

        string MeshPath(uint mesh)
        {
            UIntPtr length;
            Native.Check(Native.mr_reel_mesh_path(Pointer, mesh, null, UIntPtr.Zero, &length));
            var bytes = new byte[(int)length + 1];
            fixed (byte* text = bytes)
            {
                Native.Check(Native.mr_reel_mesh_path(Pointer, mesh, text, (UIntPtr)bytes.Length, null));
                return Native.Text(text, bytes.Length);
            }
        }

        string MaterialName(uint mesh, uint material)
        {
            Native.mr_material_info read;
            read.size = (UIntPtr)sizeof(Native.mr_material_info);
            UIntPtr length;
            Native.Check(
                Native.mr_reel_material(Pointer, mesh, material, &read, null, UIntPtr.Zero, &length));
            var bytes = new byte[(int)length + 1];
            fixed (byte* text = bytes)
            {
                Native.Check(Native.mr_reel_material(Pointer, mesh, material, &read, text,
                    (UIntPtr)bytes.Length, null));
                return Native.Text(text, bytes.Length);
            }
        }

        /// <summary>Closes the file. Views and decoders that were created from it remain valid.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }
    }

    /// <summary>Decodes any frame of a file, in any order, without a player: for previews and
    /// tools.</summary>
    public sealed unsafe class ReelDecoder : IDisposable
    {
        readonly DecoderHandle handle;

        /// <summary>The file.</summary>
        public ReelFile File { get; private set; }

        /// <summary>Creates a decoder, with all memory that it needs.</summary>
        public ReelDecoder(ReelFile file)
        {
            File = file;
            IntPtr pointer;
            Native.Check(Native.mr_decoder_new(file.Pointer, &pointer));
            handle = new DecoderHandle(pointer);
        }

        /// <summary>Decodes a frame. If that fails, an exception says why, and nothing else
        /// changes.</summary>
        internal IntPtr Decode(int frame)
        {
            Native.Check(Native.mr_decoder_decode(handle.Pointer, (uint)frame));
            IntPtr decoded;
            Native.Check(Native.mr_decoder_frame(handle.Pointer, &decoded));
            return decoded;
        }

        /// <summary>Decodes a frame and shows it in a view.</summary>
        public void Show(int frame, ReelView view)
        {
            view.Show(Decode(frame));
        }

        /// <summary>Decodes the frame that is nearest to a time in seconds from the first frame, shows it in
        /// a view, and returns its number.</summary>
        public int Show(double seconds, ReelView view)
        {
            Native.mr_pair pair = File.PairAt(seconds);
            int nearest = (int)(pair.blend < 0.5f ? pair.first : pair.second);
            Show(nearest, view);
            return nearest;
        }

        /// <summary>Frees the decoder.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }
    }
}
