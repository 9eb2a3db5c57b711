using System;
using System.Runtime.InteropServices;

// Functions of meshreel.h. Handles are IntPtr here; Handles.cs owns them.
namespace Meshreel
{
    internal static unsafe partial class Native
    {
#if (UNITY_IOS || UNITY_TVOS || UNITY_VISIONOS || UNITY_WEBGL) && !UNITY_EDITOR
        // Linked into the program.
        const string Library = "__Internal";
#else
        const string Library = "meshreel_c";
#endif

        /// <summary>Reads the cameras of a file.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_cameras_new(IntPtr reel, IntPtr* @out);

        /// <summary>Frees cameras.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_cameras_free(IntPtr cameras);

        /// <summary>Writes the number of cameras.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_cameras_count(IntPtr cameras, UIntPtr* @out);

        /// <summary>Writes the properties of a camera, and its path in the source.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_camera_get(IntPtr cameras, uint number, mr_camera_info* @out,
            byte* path, UIntPtr capacity, UIntPtr* length);

        /// <summary>Writes the values of a lens at a time.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_camera_lens(IntPtr cameras, uint number, mr_pair pair, mr_lens* @out);

        /// <summary>Reads the clips, skeletons and rigs of a file.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_clips_new(IntPtr reel, IntPtr* @out);

        /// <summary>Frees the clips.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_clips_free(IntPtr clips);

        /// <summary>Writes the numbers of clips, skeletons and rigs.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_clips_get(IntPtr clips, mr_clips_info* @out);

        /// <summary>Writes the properties of a clip, and its name.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_clips_clip(IntPtr clips, uint clip, mr_clip_info* @out, byte* name,
            UIntPtr capacity, UIntPtr* length);

        /// <summary>Writes the parents of a skeleton's joints.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_clips_parents(IntPtr clips, uint skeleton, uint* @out,
            UIntPtr capacity, UIntPtr* count);

        /// <summary>Writes the rest pose of a skeleton.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_clips_rest(IntPtr clips, uint skeleton, mr_transform* @out,
            UIntPtr capacity, UIntPtr* count);

        /// <summary>Writes the name of a joint.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_clips_joint(IntPtr clips, uint skeleton, uint joint, byte* @out,
            UIntPtr capacity, UIntPtr* length);

        /// <summary>Writes the time of a marker, in seconds after the first sample of the clip, and its
        /// name.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_clips_marker(IntPtr clips, uint clip, uint marker, double* seconds,
            byte* name, UIntPtr capacity, UIntPtr* length);

        /// <summary>Creates a cursor, and allocates all its memory.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_cursor_new(IntPtr clips, uint clip, uint* tiers, UIntPtr layers,
            IntPtr* @out);

        /// <summary>Frees a cursor.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_cursor_free(IntPtr cursor);

        /// <summary>Writes the local transforms of all joints at a time.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_cursor_pose(IntPtr cursor, mr_query* query, mr_transform* @out,
            UIntPtr joints);

        /// <summary>Writes the motion of a joint over a step.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_cursor_root_motion(IntPtr cursor, uint joint, mr_step* step, float* up,
            mr_transform* @out);

        /// <summary>Writes the markers that a step passes, in the order in which it passes them, at most
        /// capacity of them, and sets count to their number.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_cursor_events(IntPtr cursor, mr_step* step, mr_passed* @out,
            UIntPtr capacity, UIntPtr* count);

        /// <summary>Creates a decoder, and allocates all its memory.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_decoder_new(IntPtr reel, IntPtr* @out);

        /// <summary>Frees a decoder together with its frame.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_decoder_free(IntPtr decoder);

        /// <summary>Decodes a frame.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_decoder_decode(IntPtr decoder, uint frame);

        /// <summary>Writes the frame of a decoder, always the same handle.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_decoder_frame(IntPtr decoder, IntPtr* @out);

        /// <summary>Writes the next event.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_event(IntPtr player, mr_event* @out);

        /// <summary>Writes the counters of a player.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_statistics(IntPtr player, mr_statistics* @out);

        /// <summary>Frees a frame of a player.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_frame_free(IntPtr frame);

        /// <summary>Writes the properties of a frame.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_frame_get(IntPtr frame, mr_frame_info* @out);

        /// <summary>Writes the transforms of all nodes relative to their parents.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_frame_transforms(IntPtr frame, mr_transform* @out, UIntPtr capacity,
            UIntPtr* count);

        /// <summary>Writes a byte for each node.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_frame_visible(IntPtr frame, byte* @out, UIntPtr capacity,
            UIntPtr* count);

        /// <summary>Writes the properties of the mesh of a node.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_frame_mesh(IntPtr frame, uint node, mr_mesh_state* @out);

        /// <summary>Writes a range of the vertices of a node's mesh in the caller's layout, beginning at
        /// out.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_frame_write(IntPtr frame, uint node, mr_vertex_layout* layout,
            uint first, uint count, void* @out, UIntPtr bytes);

        /// <summary>Writes the triangles of a node's mesh.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_frame_indices(IntPtr frame, uint node, uint* @out, UIntPtr capacity,
            UIntPtr* count);

        /// <summary>Writes the number of vertices of each curve of a node.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_frame_curves(IntPtr frame, uint node, uint* @out, UIntPtr capacity,
            UIntPtr* count);

        /// <summary>Writes the index range of each material of a node's mesh.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_frame_materials(IntPtr frame, uint node, mr_range* @out,
            UIntPtr capacity, UIntPtr* count);

        /// <summary>Writes the properties of an LOD level of a node's mesh.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_frame_lod(IntPtr frame, uint node, uint level, mr_lod_info* @out);

        /// <summary>Writes the triangles of an LOD level.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_frame_lod_indices(IntPtr frame, uint node, uint level, uint* @out,
            UIntPtr capacity, UIntPtr* count);

        /// <summary>Writes the range of each material in the indices of an LOD level.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_frame_lod_materials(IntPtr frame, uint node, uint level,
            mr_range* @out, UIntPtr capacity, UIntPtr* count);

        /// <summary>Creates the plan of a file.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_new(IntPtr frame, mr_vertex_layout* layout,
            mr_gpu_options* options, IntPtr* @out);

        /// <summary>Frees a plan.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_free(IntPtr plan);

        /// <summary>Writes the properties of a plan.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_get(IntPtr plan, mr_gpu_info* @out);

        /// <summary>Writes the location of a mesh.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_mesh(IntPtr plan, uint mesh, mr_gpu_mesh* @out);

        /// <summary>Writes the sizes of the buffers of a batch.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_batch(IntPtr plan, uint batch, mr_gpu_batch* @out);

        /// <summary>Writes the fixed words of a batch, to be uploaded once.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_fixed(IntPtr plan, uint batch, uint* @out, UIntPtr capacity,
            UIntPtr* count);

        /// <summary>Writes the constants of a mesh's pipelines.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_constants(IntPtr plan, uint mesh, mr_gpu_constant* @out,
            UIntPtr capacity, UIntPtr* count);

        /// <summary>Writes the words of meshes without animation, which lie behind all slots of the ring, to
        /// be uploaded once per file.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_still(IntPtr plan, IntPtr frame, uint* @out, UIntPtr words);

        /// <summary>Writes the words of a frame, for a slot of the ring.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_slot(IntPtr plan, IntPtr frame, uint second, uint* @out,
            UIntPtr words);

        /// <summary>Writes the ranges of words that have content in the last slot that was written.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_used(IntPtr plan, mr_range* @out, UIntPtr capacity,
            UIntPtr* count);

        /// <summary>Begins a new moment, in which nothing is shown yet.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_begin(IntPtr plan);

        /// <summary>Shows the mesh of a node, and writes the mesh's parameters.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_show(IntPtr plan, IntPtr frame, uint node,
            mr_gpu_moment* moment, void* @out, UIntPtr bytes);

        /// <summary>Writes the work of each workgroup at this moment, two words.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_work(IntPtr plan, uint* @out, UIntPtr capacity, UIntPtr* count);

        /// <summary>Writes the dispatches of this moment, in order.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_plan_dispatches(IntPtr plan, mr_gpu_dispatch* @out,
            UIntPtr capacity, UIntPtr* count);

        /// <summary>Creates a ring of slots slots.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_ring_new(uint slots, IntPtr* @out);

        /// <summary>Frees a ring.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_ring_free(IntPtr ring);

        /// <summary>Begins a new moment.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_ring_begin(IntPtr ring);

        /// <summary>Finds the slot of a frame, or assigns one to it.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_gpu_ring_ask(IntPtr ring, uint frame, mr_gpu_place* @out);

        /// <summary>Computes distances from the visible size of the levels' errors.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_lod_within(float* errors, UIntPtr count, float scale, float angle,
            float height, float pixels, mr_lod_distances* @out);

        /// <summary>Writes the level for a distance.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_lod_at(mr_lod_distances* distances, float distance, uint was,
            uint* @out);

        /// <summary>Writes the default options.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_options_init(mr_player_options* @out, UIntPtr size);

        /// <summary>Creates a player.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_new(mr_player_options* options, IntPtr* @out);

        /// <summary>Frees a player.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_free(IntPtr player);

        /// <summary>Starts to open a file and writes its number.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_open(IntPtr player, byte* path, ulong* @out);

        /// <summary>As mr_player_open, for the bytes of a file, of which the player keeps a copy.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_open_memory(IntPtr player, byte* name, void* data,
            UIntPtr bytes, ulong* @out);

        /// <summary>Ends all instances of a file and releases its memory.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_close(IntPtr player, ulong file);

        /// <summary>Creates a handle of the reel of a file, which the caller must free.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_reel(IntPtr player, ulong file, IntPtr* @out);

        /// <summary>Adds an instance of a file.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_instance(IntPtr player, ulong file, ulong* @out);

        /// <summary>Ends an instance.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_remove(IntPtr player, ulong instance);

        /// <summary>Shows or hides an instance.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_show(IntPtr player, ulong instance, uint visible);

        /// <summary>Sets the priority of an instance.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_priority(IntPtr player, ulong instance, int priority);

        /// <summary>Gives an instance a command, which takes effect at the next tick.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_command(IntPtr player, ulong instance, mr_command* command);

        /// <summary>Writes the clock and state of an instance.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_clock(IntPtr player, ulong instance, mr_clock* @out);

        /// <summary>Advances the player by seconds.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_tick(IntPtr player, double seconds);

        /// <summary>Creates a handle of what an instance shows, which the caller must free.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_player_frame(IntPtr player, ulong instance, IntPtr* @out);

        /// <summary>Blends from a to b, joint by joint.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_pose_blend(mr_transform* a, mr_transform* b, float part,
            mr_transform* @out, UIntPtr joints);

        /// <summary>Opens and checks a file.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_reel_open(byte* path, mr_limits* limits, IntPtr* @out);

        /// <summary>Opens and checks the bytes of a file.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_reel_open_memory(byte* name, void* data, UIntPtr bytes,
            mr_limits* limits, IntPtr* @out);

        /// <summary>Frees a reel.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_reel_free(IntPtr reel);

        /// <summary>Writes the properties of a file.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_reel_get(IntPtr reel, mr_reel_info* @out);

        /// <summary>Writes the time of a frame in seconds.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_reel_time(IntPtr reel, uint frame, double* @out);

        /// <summary>Writes a named range of frames, and its name.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_reel_range(IntPtr reel, uint range, mr_range* @out, byte* name,
            UIntPtr capacity, UIntPtr* length);

        /// <summary>Writes the properties of a node.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_reel_node(IntPtr reel, uint node, mr_node_info* @out);

        /// <summary>Writes the path of a node in the source.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_reel_node_path(IntPtr reel, uint node, byte* @out, UIntPtr capacity,
            UIntPtr* length);

        /// <summary>Writes the properties of a mesh.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_reel_mesh(IntPtr reel, uint mesh, mr_mesh_info* @out);

        /// <summary>Writes the path of a mesh in the source.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_reel_mesh_path(IntPtr reel, uint mesh, byte* @out, UIntPtr capacity,
            UIntPtr* length);

        /// <summary>Writes the properties of a material of a mesh, and its name.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_reel_material(IntPtr reel, uint mesh, uint material,
            mr_material_info* @out, byte* name, UIntPtr capacity, UIntPtr* length);

        /// <summary>Writes the properties of a stream of a mesh.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_reel_stream(IntPtr reel, uint mesh, uint stream, mr_stream_info* @out);

        /// <summary>Returns the message of the last failed call of this thread, in UTF-8.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr mr_last_error();

        /// <summary>Returns the version of the library, encoded as MR_VERSION.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_version();

        /// <summary>Checks that the library fits the header that the caller was compiled with.</summary>
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint mr_check_version(uint header);

    }
}
