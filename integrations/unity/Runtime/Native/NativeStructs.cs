using System;
using System.Runtime.InteropServices;

// Structures of meshreel.h, under its names. `size_t` and pointers have the size of the platform, so that the
// layouts fit processes of 32 bits as well. Structures that begin with `size` need it set before each call.
namespace Meshreel
{
    internal static unsafe partial class Native
    {
        /// <summary>Properties of a camera.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_camera_info
        {
            public UIntPtr size;
            public uint node;
            public uint animated;
        }

        /// <summary>A time between two frames.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_pair
        {
            public uint first;
            public uint second;
            public float blend;
        }

        /// <summary>The values of a lens at a time.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_lens
        {
            public UIntPtr size;
            public float focal_length;
            public fixed float aperture[2];
            public fixed float aperture_offset[2];
            public float squeeze;
            public fixed float overscan[4];
            public float f_stop;
            public float focus_distance;
            public fixed float shutter[2];
            public fixed float clipping[2];
            public uint orthographic;
            public float vertical_angle;
        }

        /// <summary>The numbers of clips, skeletons and rigs.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_clips_info
        {
            public UIntPtr size;
            public uint clips;
            public uint skeletons;
            public uint rigs;
        }

        /// <summary>Properties of a clip.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_clip_info
        {
            public UIntPtr size;
            public double fps;
            public double duration;
            public double start;
            public double tolerance;
            public ulong file_bytes;
            public uint skeleton;
            public uint joints;
            public uint samples;
            public uint layers;
            public uint scalars;
            public uint markers;
            public uint codec;
        }

        /// <summary>A transform.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_transform
        {
            public fixed float rotation[4];
            public fixed float translation[3];
            public fixed float scale[3];
        }

        /// <summary>A request for a pose.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_query
        {
            public double seconds;
            public uint wraps;
            public uint rounding;
        }

        /// <summary>A step in time, in seconds after the first sample.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_step
        {
            public double from;
            public double to;
            public uint wraps;
            public uint reserved;
        }

        /// <summary>A marker that a step passes.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_passed
        {
            public double seconds;
            public uint marker;
            public uint reserved;
        }

        /// <summary>An event.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_event
        {
            public UIntPtr size;
            public ulong file;
            public ulong instance;
            public ulong needed;
            public ulong left;
            public uint kind;
            public uint status;
            public fixed byte text[256];
        }

        /// <summary>Counters of a player.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_statistics
        {
            public UIntPtr size;
            public ulong ticks;
            public ulong heap_bytes;
            public ulong heap_used;
            public ulong heap_held;
            public ulong heap_peak;
            public double decode_seconds;
            public uint instances;
            public uint refused;
            public uint in_flight;
            public uint streams;
            public ulong missed;
            public ulong bytes_read;
            public ulong frames_decoded;
            public ulong read_errors;
            public ulong damaged;
        }

        /// <summary>Properties of a frame.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_frame_info
        {
            public UIntPtr size;
            public ulong file;
            public uint first;
            public uint second;
            public float blend;
            public uint late;
            public uint nodes;
            public fixed float bounds[6];
        }

        /// <summary>Properties of the mesh of a node in a frame.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_mesh_state
        {
            public UIntPtr size;
            public uint mesh;
            public uint vertices;
            public uint indices;
            public uint materials;
            public uint lods;
            public uint fluid;
            public fixed uint frames[2];
            public float blend;
            public uint normals;
            public uint tangents;
            public uint uvs;
            public uint colours;
            public uint moves;
            public fixed float bounds[6];
            public fixed float uv_range[4];
        }

        /// <summary>An attribute of a vertex layout.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_attribute
        {
            public uint channel;
            public uint set;
            public uint format;
            public uint offset;
        }

        /// <summary>The layout of a vertex in the caller's buffer.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_vertex_layout
        {
            public mr_attribute* attributes;
            public UIntPtr count;
            public UIntPtr stride;
        }

        /// <summary>A range of indices, frames or words.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_range
        {
            public uint first;
            public uint count;
        }

        /// <summary>Properties of an LOD level.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_lod_info
        {
            public UIntPtr size;
            public uint indices;
            public float error;
            public uint becomes;
        }

        /// <summary>Options of a plan.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_gpu_options
        {
            public UIntPtr size;
            public ulong most;
            public uint moments;
            public uint group;
        }

        /// <summary>Properties of a plan.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_gpu_info
        {
            public UIntPtr size;
            public ulong fixed_bytes;
            public ulong vertex_bytes;
            public uint slot_words;
            public uint still_words;
            public uint meshes;
            public uint batches;
            public uint params_bytes;
            public uint group;
        }

        /// <summary>The location of a mesh in the buffers.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_gpu_mesh
        {
            public UIntPtr size;
            public uint batch;
            public uint vertices;
            public uint slot;
            public uint slot_words;
            public uint still;
            public uint passes;
        }

        /// <summary>Sizes of the buffers of a batch, in words.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_gpu_batch
        {
            public UIntPtr size;
            public ulong fixed_words;
            public ulong scratch_words;
            public ulong vertex_words;
        }

        /// <summary>A constant of a pipeline (an override of the shader).</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_gpu_constant
        {
            public fixed byte name[24];
            public double value;
        }

        /// <summary>The location of a moment's frames in the ring, and of its vertices.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_gpu_moment
        {
            public uint first;
            public uint second;
            public uint slots;
            public uint vertices;
        }

        /// <summary>A dispatch over meshes of one batch that have the same pipelines.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_gpu_dispatch
        {
            public uint pass;
            public uint batch;
            public uint mesh;
            public uint first;
            public fixed uint groups[2];
        }

        /// <summary>The slot of a frame in a ring.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_gpu_place
        {
            public uint slot;
            public uint is_new;
        }

        /// <summary>The distances at which LOD levels end.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_lod_distances
        {
            public fixed float ends[7];
            public float margin;
        }

        /// <summary>Limits on the memory that a file may make the library allocate.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_limits
        {
            public UIntPtr size;
            public ulong max_chunk;
            public ulong max_frames;
            public ulong max_chunks;
            public ulong max_vertices;
            public ulong max_objects;
            public ulong max_memory;
            public uint attributes;
            public uint poses;
        }

        /// <summary>Options of a player.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_player_options
        {
            public UIntPtr size;
            public ulong heap;
            public ulong resident;
            public ulong read_size;
            public ulong file_memory;
            public mr_limits* limits;
            public void* jobs;
            public void* allocator;
            public uint threads;
            public uint read_threads;
            public float decode_ahead;
            public float least_read_ahead;
            public float most_read_ahead;
            public float unload_after;
            public uint watch;
            public uint reserved;
        }

        /// <summary>A command.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_command
        {
            public uint kind;
            public uint number;
            public uint last;
            public uint reserved;
            public double a;
            public double b;
        }

        /// <summary>The clock and state of an instance.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_clock
        {
            public UIntPtr size;
            public double position;
            public double duration;
            public double rate;
            public ulong missed;
            public ulong seek_wait_ticks;
            public uint open;
            public uint playing;
            public uint stopped;
            public uint waiting;
            public uint ended;
            public uint refused;
        }

        /// <summary>Properties of a file.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_reel_info
        {
            public UIntPtr size;
            public ulong file_bytes;
            public ulong frame_bytes;
            public ulong memory;
            public double fps;
            public double period;
            public double start;
            public double end;
            public uint frames;
            public uint nodes;
            public uint meshes;
            public uint ranges;
            public uint unit;
            public uint layered;
        }

        /// <summary>Properties of a node.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_node_info
        {
            public UIntPtr size;
            public double tolerance;
            public mr_transform rest;
            public uint parent;
            public uint mesh;
            public uint visibility;
            public uint animated;
            public uint baked;
            public float reach;
        }

        /// <summary>Properties of a mesh.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_mesh_info
        {
            public UIntPtr size;
            public uint method;
            public uint vertices;
            public uint indices;
            public uint source_points;
            public uint materials;
            public uint streams;
            public uint lods;
            public fixed float bounds[6];
            public fixed uint moves[2];
            public uint ids;
            public uint curve_basis;
            public uint curve_ends;
            public uint curves;
            public uint particles;
        }

        /// <summary>Properties of a material.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_material_info
        {
            public UIntPtr size;
            public uint id;
            public mr_range range;
        }

        /// <summary>Properties of a stream.</summary>
        [StructLayout(LayoutKind.Sequential)]
        internal struct mr_stream_info
        {
            public UIntPtr size;
            public double tolerance;
            public uint channel;
            public uint set;
            public uint animated;
        }
    }
}
