/* meshreel: plays .reel files. Generated from the sources of bindings/c by bindings/c/header; do not edit.
 *
 * Calls. Every function returns an mr_status, except a few that cannot fail. mr_last_error() returns the
 * message of the last failure in the calling thread. No panic and no exception crosses the interface: an
 * error of the library itself is MR_STATUS_PANIC. Null pointers, numbers that do not exist and buffers of the
 * wrong size are MR_STATUS_MISUSE; such calls change no object.
 *
 * Objects (mr_reel, mr_player and so on) are created by functions whose names end in _new or _open, and freed
 * by those that end in _free, which allow null. An object must not be used after it was freed.
 *
 * Structures that begin with `size` may grow in later versions. Set `size` to sizeof the structure before
 * each call, both for structures that the library reads and for those that it writes. Structures without
 * `size` never change.
 *
 * Lists are read by count-then-fill. With a null buffer and capacity 0, only the count is written; with a
 * buffer that has room for the whole list, also the list. Buffers always belong to the caller. The length of
 * a text does not include the zero at its end; the capacity does.
 *
 * Files and instances of a player are named by 64-bit numbers; 0 is not a valid one.
 *
 * Threads. Each object says which threads may use it at once; otherwise one thread at a time may use it, on
 * any thread. Different objects can be used at once without synchronization. Functions of the caller
 * (mr_source, mr_jobs, mr_allocator) are called from other threads. mr_player_tick calls none of the caller's
 * functions if the player has its own threads and no source of the caller's.
 *
 * Vertex buffers are little-endian. Matrices have three rows of four numbers, for column vectors. Lengths are
 * in the unit of the file (mr_reel_info).
 */

#ifndef MESHREEL_H
#define MESHREEL_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header: 65,536 · major + 256 · minor + patch. */
#define MR_VERSION 256

/* Stands for an absent number: the parent or mesh of a node without one, the parent of a root joint, or "all
   materials". */
#define MR_NONE 4294967295

/* The result of a call. After a failure, handles that the call should have created are null, and lists and
   texts are not written; their counts may be. `mr_last_error` says what is wrong and what to do. */
enum mr_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* The call succeeded. */
    MR_STATUS_OK = 0,
    /* The system, or a source of the caller, could not read. */
    MR_STATUS_IO = 1,
    /* The bytes break the rules of the format. */
    MR_STATUS_MALFORMED = 2,
    /* The file is valid, but from a newer version; or a structure has members that this library does not
       know. */
    MR_STATUS_UNSUPPORTED = 3,
    /* A limit was exceeded. */
    MR_STATUS_LIMIT = 4,
    /* A mistake of the caller: a null pointer, a number that does not exist, a buffer that is too small. */
    MR_STATUS_MISUSE = 5,
    /* An error of this library, caught at the interface. The object of the call can only be freed. */
    MR_STATUS_PANIC = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_status mr_status;
#else
typedef uint32_t mr_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The frames in which the mesh of a node is shown. */
enum mr_visibility
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    MR_VISIBILITY_ALWAYS = 0,
    MR_VISIBILITY_NEVER = 1,
    MR_VISIBILITY_ANIMATED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_visibility mr_visibility;
#else
typedef uint32_t mr_visibility;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The prediction of the positions of a mesh. */
enum mr_method
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Positions do not change. */
    MR_METHOD_STATIC = 0,
    /* Any motion of fixed triangles. */
    MR_METHOD_SOFT = 1,
    /* Parts move rigidly. */
    MR_METHOD_RIGID = 2,
    /* Points follow bones. */
    MR_METHOD_SKINNED = 3,
    /* Triangles change from frame to frame. */
    MR_METHOD_FLUID = 4,
    /* No triangles, and each frame with its own points: particles, or the points of curves. */
    MR_METHOD_PARTICLES = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_method mr_method;
#else
typedef uint32_t mr_method;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The interpolation of curves between their points. */
enum mr_curve_basis
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* There are no curves. */
    MR_CURVE_BASIS_NONE = 0,
    /* Linear. */
    MR_CURVE_BASIS_LINEAR = 1,
    /* Cubic, Bézier. */
    MR_CURVE_BASIS_BEZIER = 2,
    /* Cubic, B-spline. */
    MR_CURVE_BASIS_B_SPLINE = 3,
    /* Cubic, Catmull-Rom. */
    MR_CURVE_BASIS_CATMULL_ROM = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_curve_basis mr_curve_basis;
#else
typedef uint32_t mr_curve_basis;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The ends of curves. */
enum mr_curve_ends
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Where the basis ends them. */
    MR_CURVE_ENDS_OPEN = 0,
    /* The last point is joined to the first. */
    MR_CURVE_ENDS_CLOSED = 1,
    /* At the first and last point. */
    MR_CURVE_ENDS_PINNED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_curve_ends mr_curve_ends;
#else
typedef uint32_t mr_curve_ends;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* A vertex attribute. `mr_format` lists the formats of each. */
enum mr_channel
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* In object space. */
    MR_CHANNEL_POSITION = 0,
    /* A unit vector. */
    MR_CHANNEL_NORMAL = 1,
    /* xyz is a unit vector; w is the sign of the bitangent: cross(normal, tangent) · w. */
    MR_CHANNEL_TANGENT = 2,
    /* A quaternion that turns x to the tangent and z to the normal; the sign of its w is that of the
       bitangent. */
    MR_CHANNEL_TANGENT_FRAME = 3,
    /* Texture coordinates of a set. */
    MR_CHANNEL_UV = 4,
    /* Colours of a set. */
    MR_CHANNEL_COLOUR = 5,
    /* In object space, per second. For particles and meshes whose triangles change, the source's velocities
       if it has them; otherwise the difference of the frames. */
    MR_CHANNEL_VELOCITY = 6,
    /* The width of particles or curves, as a diameter. */
    MR_CHANNEL_WIDTH = 7,
    /* Custom values of particles or curves, of a set, with one component. */
    MR_CHANNEL_CUSTOM1 = 8,
    /* Custom values with two components. */
    MR_CHANNEL_CUSTOM2 = 9,
    /* Custom values with three components. */
    MR_CHANNEL_CUSTOM3 = 10,
    /* Custom values with four components. */
    MR_CHANNEL_CUSTOM4 = 11,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_channel mr_channel;
#else
typedef uint32_t mr_channel;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The number formats of attributes, little-endian. Signed integers are normalized: ±127 and ±32,767 stand
   for ±1. */
enum mr_format
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Uvs; custom values with two components. */
    MR_FORMAT_F32X2 = 0,
    /* Positions, normals, velocities; custom values with three components. */
    MR_FORMAT_F32X3 = 1,
    /* Positions (w = 1), tangents, colours; custom values with four components. */
    MR_FORMAT_F32X4 = 2,
    /* Uvs. */
    MR_FORMAT_F16X2 = 3,
    /* Velocities (w = 0); in a layout for `mr_gpu_plan_new` also positions (w = 1). */
    MR_FORMAT_F16X4 = 4,
    /* Colours. */
    MR_FORMAT_U8X4 = 5,
    /* Uvs, 0 to 65,535 over the range of the set. */
    MR_FORMAT_U16X2 = 6,
    /* Positions, 0 to 65,535 over the bounds of the mesh, w = 65,535. */
    MR_FORMAT_U16X4 = 7,
    /* Normals, octahedral. */
    MR_FORMAT_I8X2 = 8,
    /* Tangents: octahedral, then the sign and 0. */
    MR_FORMAT_I8X4 = 9,
    /* Normals, octahedral. */
    MR_FORMAT_I16X2 = 10,
    /* Tangents: octahedral, then the sign and 0. Tangent frames. */
    MR_FORMAT_I16X4 = 11,
    /* Widths; custom values with one component. */
    MR_FORMAT_F32 = 12,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_format mr_format;
#else
typedef uint32_t mr_format;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The behaviour of an instance's clock at the ends of its range. */
enum mr_repeat
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Stays at the last frame; played backwards, at the first. */
    MR_REPEAT_ONCE = 0,
    /* Continues at the other end. */
    MR_REPEAT_LOOP = 1,
    /* As `MR_REPEAT_LOOP`, and the last frame is blended into the first. */
    MR_REPEAT_CYCLE = 2,
    /* Turns around at both ends. */
    MR_REPEAT_PING_PONG = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_repeat mr_repeat;
#else
typedef uint32_t mr_repeat;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The kinds of commands. Times are seconds of animation from the first frame. */
enum mr_command_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Starts or continues; starts again after the end. */
    MR_COMMAND_KIND_PLAY = 0,
    /* Stays at its position, and remains visible. */
    MR_COMMAND_KIND_PAUSE = 1,
    /* Goes back to the start, and is hidden. */
    MR_COMMAND_KIND_STOP = 2,
    /* Goes back to the start, playing or not as before. */
    MR_COMMAND_KIND_RESET = 3,
    /* Jumps to the time `a`. */
    MR_COMMAND_KIND_GO_TO = 4,
    /* Jumps to the frame `number`. */
    MR_COMMAND_KIND_GO_TO_FRAME = 5,
    /* Sets the rate to `a` seconds of animation per second; negative plays backwards. */
    MR_COMMAND_KIND_RATE = 6,
    /* Sets the behaviour at the ends to `number`, an `mr_repeat`. */
    MR_COMMAND_KIND_REPEAT = 7,
    /* Plays only from the time `a` to the time `b`. */
    MR_COMMAND_KIND_RANGE = 8,
    /* Plays only from the frame `number` to the frame `last`, both included. */
    MR_COMMAND_KIND_FRAMES = 9,
    /* Makes the time `a` the start. */
    MR_COMMAND_KIND_START_AT = 10,
    /* Waits `a` seconds before the position moves. */
    MR_COMMAND_KIND_DELAY = 11,
    /* Waits until `a` seconds of animation are in memory before playing starts. */
    MR_COMMAND_KIND_PRE_ROLL = 12,
    /* Streams from the time `a` on as well, so that a later jump finds its frames. */
    MR_COMMAND_KIND_STREAM_AT = 13,
    /* Streams at the position only. */
    MR_COMMAND_KIND_STREAM_HERE = 14,
    /* Interpolates between two frames if `number` is not 0 (the default); otherwise shows the earlier one. */
    MR_COMMAND_KIND_INTERPOLATE = 15,
    /* Shows every frame (`number` 0 or 1), every second one (2), or only keys, which are every 16th (16),
       and the last; the rest is neither read nor decoded. */
    MR_COMMAND_KIND_FRAME_STEP = 16,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_command_kind mr_command_kind;
#else
typedef uint32_t mr_command_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The kinds of events. */
enum mr_event_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* There is no further event. */
    MR_EVENT_KIND_NONE = 0,
    /* The file is open and can be played. */
    MR_EVENT_KIND_OPENED = 1,
    /* The file is open and has no frames, only clips. */
    MR_EVENT_KIND_NO_FRAMES = 2,
    /* The file could not be opened; `status` is the class of the error. */
    MR_EVENT_KIND_OPEN_FAILED = 3,
    /* Reads of the file fail. Its instances keep what they show; reads are retried. */
    MR_EVENT_KIND_READ_FAILED = 4,
    /* Bytes of the file are damaged. Frames that need them are not shown; others are. */
    MR_EVENT_KIND_DAMAGED = 5,
    /* Everything that failed has been read. */
    MR_EVENT_KIND_RECOVERED = 6,
    /* The heap has no room for the instance. */
    MR_EVENT_KIND_REFUSED = 7,
    /* There is room for an instance that was refused. */
    MR_EVENT_KIND_ADMITTED = 8,
    /* A newer file has taken the place of the one that was open at this path (`watch` of the options). What
       was taken from the old one must be taken anew; there is no frame until the first of the new file is
       decoded. */
    MR_EVENT_KIND_REPLACED = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_event_kind mr_event_kind;
#else
typedef uint32_t mr_event_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The elements that the groups of a part attribute consist of. */
enum mr_group_of
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* The whole mesh is group 0. */
    MR_GROUP_OF_MESH = 0,
    /* Each part belongs to a group. */
    MR_GROUP_OF_PARTS = 1,
    /* Each vertex belongs to a group. */
    MR_GROUP_OF_VERTICES = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_group_of mr_group_of;
#else
typedef uint32_t mr_group_of;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The stored form of a clip. */
enum mr_clip_codec
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Segments of samples, each decoded as a whole. */
    MR_CLIP_CODEC_SAMPLED = 0,
    /* Few keys, with splines between them. */
    MR_CLIP_CODEC_CURVE = 1,
    /* Samples that can each be decoded by themselves. */
    MR_CLIP_CODEC_RANDOM_ACCESS = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_clip_codec mr_clip_codec;
#else
typedef uint32_t mr_clip_codec;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The rounding of times between two samples. */
enum mr_rounding
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* The samples are interpolated. */
    MR_ROUNDING_NONE = 0,
    /* The sample before. */
    MR_ROUNDING_FLOOR = 1,
    /* The sample after. */
    MR_ROUNDING_CEIL = 2,
    /* The nearer sample. */
    MR_ROUNDING_NEAREST = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_rounding mr_rounding;
#else
typedef uint32_t mr_rounding;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The way in which an additive pose is applied to a base. */
enum mr_additive
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* In the base's space: base · additive. */
    MR_ADDITIVE_RELATIVE = 0,
    /* Rotations multiplied, translations added, scales multiplied. */
    MR_ADDITIVE_ADDITIVE0 = 1,
    /* Rotations multiplied, translations added, scales multiplied by 1 + the additive scale. */
    MR_ADDITIVE_ADDITIVE1 = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_additive mr_additive;
#else
typedef uint32_t mr_additive;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The passes of the shader, in the order in which they run. */
enum mr_gpu_pass
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Computes points that bones move. */
    MR_GPU_PASS_POINTS = 0,
    /* Computes the normals of groups. */
    MR_GPU_PASS_NORMALS = 1,
    /* Computes the tangents of classes. */
    MR_GPU_PASS_TANGENTS = 2,
    /* Writes vertices in the layout. */
    MR_GPU_PASS_VERTICES = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_gpu_pass mr_gpu_pass;
#else
typedef uint32_t mr_gpu_pass;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The start of a clip of a sequence. */
enum mr_start
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* `start_seconds` after the sequence began. */
    MR_START_AT = 0,
    /* `start_seconds` after each end of the clip `start_number`. */
    MR_START_AFTER = 1,
    /* At the signal `start_number`. */
    MR_START_ON = 2,
    /* Only as the end of another clip. */
    MR_START_NEVER = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_start mr_start;
#else
typedef uint32_t mr_start;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The way in which a signal ends a clip of a sequence. */
enum mr_leave
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* No signal ends it. */
    MR_LEAVE_NEVER = 0,
    /* The signal `leave_signal` ends it at once. */
    MR_LEAVE_AT_ONCE = 1,
    /* The signal `leave_signal` ends it at the end of the current play. */
    MR_LEAVE_AT_SEAM = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_leave mr_leave;
#else
typedef uint32_t mr_leave;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The mesh that is shown for a clip of a sequence after its end. */
enum mr_end
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Nothing; its buffers are freed. */
    MR_END_NOTHING = 0,
    /* Its last frame, with all its buffers. */
    MR_END_HOLD = 1,
    /* The static mesh `end_number`, a number of the caller's; its buffers are freed. */
    MR_END_MESH = 2,
    /* The clip `end_number`, which starts at the same moment. */
    MR_END_CLIP = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_end mr_end;
#else
typedef uint32_t mr_end;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The kinds of actions. */
enum mr_action_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* There is no further action. */
    MR_ACTION_KIND_NONE = 0,
    /* The static data and first frames of the clip will be needed. */
    MR_ACTION_KIND_STREAM = 1,
    /* The clip begins to play. */
    MR_ACTION_KIND_START = 2,
    /* The clip begins to play again; `number` is the number of this play, counted from 0. */
    MR_ACTION_KIND_TURN = 3,
    /* The position passed the event `number`. */
    MR_ACTION_KIND_EVENT = 4,
    /* The clip is over. */
    MR_ACTION_KIND_END = 5,
    /* After a jump: the clip is as if it had never played. */
    MR_ACTION_KIND_REMOVE = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_action_kind mr_action_kind;
#else
typedef uint32_t mr_action_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The playback state of a clip of a sequence. */
enum mr_stage
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Not started yet, or reset by a jump. */
    MR_STAGE_IDLE = 0,
    /* Not started yet, but streaming. */
    MR_STAGE_STREAMING = 1,
    /* Playing. */
    MR_STAGE_PLAYING = 2,
    /* Over. */
    MR_STAGE_ENDED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_stage mr_stage;
#else
typedef uint32_t mr_stage;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The cameras of a file. Several threads can use them at once; they remain valid after the reel is freed. */
typedef struct mr_cameras mr_cameras;

/* The clips, skeletons and rigs of a file. Several threads can use them at once. Cursors created from them
   remain valid after they are freed. */
typedef struct mr_clips mr_clips;

/* A decoder of poses of one clip, with all the memory that it needs. One thread at a time uses it; it keeps
   its clip alive. */
typedef struct mr_cursor mr_cursor;

/* Decodes frames of one file in any order, into memory that is allocated once. One thread at a time uses the
   decoder and its frame. */
typedef struct mr_decoder mr_decoder;

/* A moment of a file as it is shown: one frame, or two with a blend weight. A frame from a player belongs to
   the caller: it can be kept over ticks and used by several threads at once, and holds its memory until
   `mr_frame_free`. A frame from a decoder belongs to the decoder. */
typedef struct mr_frame mr_frame;

/* A plan: the buffers, shaders and dispatches of a file on a graphics card. One thread at a time uses it. */
typedef struct mr_gpu_plan mr_gpu_plan;

/* A ring of slots: the assignment of frames to slots. */
typedef struct mr_gpu_ring mr_gpu_ring;

/* A job of a player, to be run once on one of the caller's threads. */
typedef struct mr_job mr_job;

/* The part attributes of a node's mesh. Several threads can use them at once. */
typedef struct mr_part_attributes mr_part_attributes;

/* Plays any number of files in a heap of fixed size. One thread at a time uses it; the frames that it
   returns may be used by other threads. */
typedef struct mr_player mr_player;

/* A read that a source has started for a player, to be completed once. */
typedef struct mr_read mr_read;

/* An open file. Several threads can use it at once. Objects created from it remain valid after it is freed. */
typedef struct mr_reel mr_reel;

/* A sequence of clips: a state machine that does not read files. One thread at a time uses it. */
typedef struct mr_sequencer mr_sequencer;

/* Properties of a camera. The camera has the transform of its node, and looks along −z, with y up. */
typedef struct mr_camera_info {
    /* The size of this structure in bytes. */
    size_t size;
    /* The number of its node. */
    uint32_t node;
    /* 1 if any value of the lens is animated. */
    uint32_t animated;
} mr_camera_info;

/* A time between two frames. `blend` is the weight of the second frame, 0 to below 1. */
typedef struct mr_pair {
    uint32_t first;
    uint32_t second;
    float blend;
} mr_pair;

/* The values of a lens at a time. */
typedef struct mr_lens {
    /* The size of this structure in bytes. */
    size_t size;
    /* Focal length in millimetres. */
    float focal_length;
    /* Width and height of the picture plane in millimetres; for an orthographic camera the size of the
       visible area, in tenths of the file's unit. */
    float aperture[2];
    /* Offset of the picture's centre from the optical axis in millimetres. */
    float aperture_offset[2];
    /* The factor by which an anamorphic lens widens the picture; 1 for none. */
    float squeeze;
    /* The additional area on the left, right, top and bottom, as fractions of the picture. */
    float overscan[4];
    /* Focal length over the diameter of the aperture; 0 if everything is in focus. */
    float f_stop;
    /* The distance that is in focus, in the file's unit. */
    float focus_distance;
    /* Opening and closing of the shutter, in seconds from the frame's time. */
    float shutter[2];
    /* The near and far clipping distances, in the file's unit. */
    float clipping[2];
    /* 1 for an orthographic camera. */
    uint32_t orthographic;
    /* The vertical angle of view in radians; 0 for an orthographic camera. */
    float vertical_angle;
} mr_lens;

/* The numbers of clips, skeletons and rigs. */
typedef struct mr_clips_info {
    /* The size of this structure in bytes. */
    size_t size;
    uint32_t clips;
    uint32_t skeletons;
    uint32_t rigs;
} mr_clips_info;

/* Properties of a clip. */
typedef struct mr_clip_info {
    /* The size of this structure in bytes. */
    size_t size;
    /* Samples per second. */
    double fps;
    /* Seconds from the first to the last sample. */
    double duration;
    /* The time of the first sample in the source, in seconds. All other times of a clip count from it. */
    double start;
    /* The tolerance: the largest distance of any point of any joint from that of the source, in the source's
       unit. */
    double tolerance;
    /* The bytes that it takes in the file. */
    uint64_t file_bytes;
    /* The number of its skeleton. */
    uint32_t skeleton;
    /* The number of joints: the length of a pose. */
    uint32_t joints;
    /* The number of samples, at least 1. */
    uint32_t samples;
    /* The number of layers of joints; 0 if the clip is not divided. */
    uint32_t layers;
    /* The number of scalar tracks. */
    uint32_t scalars;
    /* The number of markers. */
    uint32_t markers;
    /* An `mr_clip_codec`. */
    uint32_t codec;
} mr_clip_info;

/* A transform: a rotation (unit quaternion x y z w), a translation and a scale. It maps a point to rotation
   · (scale ∘ point) + translation. */
typedef struct mr_transform {
    float rotation[4];
    float translation[3];
    float scale[3];
} mr_transform;

/* A request for a pose: a time, and its treatment between samples and beyond the ends. */
typedef struct mr_query {
    /* Seconds after the first sample. */
    double seconds;
    /* 0: times beyond the ends are clamped to the first or last sample; otherwise the clip repeats. */
    uint32_t wraps;
    /* An `mr_rounding`. */
    uint32_t rounding;
} mr_query;

/* A step in time, in seconds after the first sample; `to` may be smaller than `from`. */
typedef struct mr_step {
    double from;
    double to;
    /* 0: the step ends at the clip's ends; otherwise the clip repeats, any number of times. */
    uint32_t wraps;
    /* Reserved: 0. */
    uint32_t reserved;
} mr_step;

/* A marker that a step passes. */
typedef struct mr_passed {
    /* The time at which it is passed, on the axis of the step. */
    double seconds;
    /* The number of the marker in the clip. */
    uint32_t marker;
    /* Reserved: 0. */
    uint32_t reserved;
} mr_passed;

/* An event; each is reported once. */
typedef struct mr_event {
    /* The size of this structure in bytes. */
    size_t size;
    /* The file; 0 for events of an instance. */
    uint64_t file;
    /* The instance that was refused or admitted, or 0. */
    uint64_t instance;
    /* The bytes of the heap that a refused instance needs. */
    uint64_t needed;
    /* The bytes of the heap that were left for it. */
    uint64_t left;
    /* An `mr_event_kind`. */
    uint32_t kind;
    /* The class of the error, an `mr_status`; `MR_STATUS_OK` if there is none. */
    uint32_t status;
    /* The error message in UTF-8, ending with a zero; cut if it is longer. */
    char text[256];
} mr_event;

/* Counters of a player. */
typedef struct mr_statistics {
    /* The size of this structure in bytes. */
    size_t size;
    /* The number of ticks so far. */
    uint64_t ticks;
    /* The bytes of the heap. */
    uint64_t heap_bytes;
    /* The bytes of the heap that are not free. */
    uint64_t heap_used;
    /* The bytes of the heap that are wanted or in use. */
    uint64_t heap_held;
    /* The largest number of bytes of the heap that were not free at once. */
    uint64_t heap_peak;
    /* Seconds that all threads together have spent decoding. */
    double decode_seconds;
    /* The number of instances. */
    uint32_t instances;
    /* The number of instances for which the heap has no room. */
    uint32_t refused;
    /* The number of reads and units in flight. */
    uint32_t in_flight;
    /* The number of open files. */
    uint32_t streams;
    /* Ticks of instances without the frame that should have been shown, summed over all open files. */
    uint64_t missed;
    /* Bytes requested from storage, for all open files. */
    uint64_t bytes_read;
    /* The number of decoded frames of all open files. */
    uint64_t frames_decoded;
    /* The number of failed reads of all open files. */
    uint64_t read_errors;
    /* The number of units with damaged bytes, of all open files. */
    uint64_t damaged;
} mr_statistics;

/* Properties of a frame. */
typedef struct mr_frame_info {
    /* The size of this structure in bytes. */
    size_t size;
    /* The file that a player's frame belongs to: together with a frame number, a key for data that the
       caller derives from it. 0 for a decoder's frame. */
    uint64_t file;
    /* The frame at blend 0. */
    uint32_t first;
    /* The frame at blend 1. */
    uint32_t second;
    /* The weight of the second frame, 0 to below 1. */
    float blend;
    /* 1 if the frame that should be shown is not in memory yet, so that this is the last one that was shown. */
    uint32_t late;
    /* The number of nodes. */
    uint32_t nodes;
    /* World bounds of everything shown: min xyz, max xyz; min is larger than max if nothing is shown. */
    float bounds[6];
} mr_frame_info;

/* Properties of the mesh of a node in a frame. */
typedef struct mr_mesh_state {
    /* The size of this structure in bytes. */
    size_t size;
    /* The number of the mesh in the file. */
    uint32_t mesh;
    /* The number of vertices in this frame. */
    uint32_t vertices;
    /* The number of indices in this frame, three per triangle. */
    uint32_t indices;
    /* The number of materials; each is a range of the indices. */
    uint32_t materials;
    /* The number of LOD levels, including the mesh itself. */
    uint32_t lods;
    /* 1 if triangles and the number of vertices change from frame to frame. */
    uint32_t fluid;
    /* The two frames that the mesh is blended from; the first one twice if only that one is shown. */
    uint32_t frames[2];
    /* The weight of the second frame. */
    float blend;
    /* 0: the mesh has no normals; 1: normals that change; 2: normals that do not. `tangents`, `uvs` and
       `colours` (both of set 0) have the same values. */
    uint32_t normals;
    /* As `normals`. */
    uint32_t tangents;
    /* As `normals`. */
    uint32_t uvs;
    /* As `normals`. */
    uint32_t colours;
    /* 1 if positions change. */
    uint32_t moves;
    /* Object bounds over all frames, min xyz and max xyz: the range of positions in `MR_FORMAT_U16X4`. */
    float bounds[6];
    /* The smallest u and v of set 0, and the sizes of their ranges: the range of uvs in `MR_FORMAT_U16X2`.
       Zeros if there is no such range. */
    float uv_range[4];
} mr_mesh_state;

/* An attribute of a vertex layout. */
typedef struct mr_attribute {
    /* An `mr_channel`. */
    uint32_t channel;
    /* The number of the set of uvs, colours or custom values; otherwise 0. */
    uint32_t set;
    /* An `mr_format`. */
    uint32_t format;
    /* The offset in bytes from the start of the vertex. */
    uint32_t offset;
} mr_attribute;

/* The layout of a vertex in the caller's buffer. */
typedef struct mr_vertex_layout {
    /* The attributes. Other bytes of a vertex are not changed. */
    const struct mr_attribute *attributes;
    /* The number of attributes, at most 32. */
    size_t count;
    /* Bytes from one vertex to the next. */
    size_t stride;
} mr_vertex_layout;

/* A range of indices, frames or words. */
typedef struct mr_range {
    /* The number of the first one. */
    uint32_t first;
    /* The count; three indices per triangle. */
    uint32_t count;
} mr_range;

/* Properties of an LOD level. */
typedef struct mr_lod_info {
    /* The size of this structure in bytes. */
    size_t size;
    /* The number of indices, three per triangle. */
    uint32_t indices;
    /* The largest distance between the level and the mesh in any frame, in object units; 0 for level 0. */
    float error;
    /* The number of vertices that `mr_frame_lod_becomes` writes: all vertices, or 0 for level 0. */
    uint32_t becomes;
} mr_lod_info;

/* Options of a plan. With all 0: the defaults. */
typedef struct mr_gpu_options {
    /* The size of this structure in bytes. */
    size_t size;
    /* Bytes of the largest buffer that can be bound. 0: 128 MiB, WebGPU's default limit. */
    uint64_t most;
    /* The number of moments whose vertices are kept: 1, or 2 for motion vectors. 0: 1. */
    uint32_t moments;
    /* Invocations per workgroup, a power of two of at most 1024. 0: 256. */
    uint32_t group;
} mr_gpu_options;

/* Properties of a plan. A word has four bytes. */
typedef struct mr_gpu_info {
    /* The size of this structure in bytes. */
    size_t size;
    /* Bytes on the card per file: fixed words, and scratch between passes. */
    uint64_t fixed_bytes;
    /* Bytes of the vertices of all meshes at one moment. */
    uint64_t vertex_bytes;
    /* Words of a slot of the ring, which holds one frame of all meshes. */
    uint32_t slot_words;
    /* Words of the meshes without animation, which lie behind all slots of the ring. */
    uint32_t still_words;
    /* The number of meshes. */
    uint32_t meshes;
    /* The number of batches: groups of meshes that share buffers. */
    uint32_t batches;
    /* Bytes of the parameters of a mesh. */
    uint32_t params_bytes;
    /* Invocations per workgroup. */
    uint32_t group;
} mr_gpu_info;

/* The location of a mesh in the buffers. Offsets and sizes are in words. */
typedef struct mr_gpu_mesh {
    /* The size of this structure in bytes. */
    size_t size;
    /* The number of its batch. */
    uint32_t batch;
    /* The offset of its vertices in the batch's buffer. */
    uint32_t vertices;
    /* Its offset in a slot or, for a mesh without animation, in the words behind all slots. */
    uint32_t slot;
    /* The number of words there. */
    uint32_t slot_words;
    /* 1 if nothing of it is animated, so that it lies behind all slots. */
    uint32_t still;
    /* The passes that it needs: one bit for each `mr_gpu_pass`. */
    uint32_t passes;
} mr_gpu_mesh;

/* Sizes of the buffers of a batch, in words. */
typedef struct mr_gpu_batch {
    /* The size of this structure in bytes. */
    size_t size;
    /* Fixed words (`mr_gpu_plan_fixed`). */
    uint64_t fixed_words;
    /* Scratch words between the passes. */
    uint64_t scratch_words;
    /* Words of the vertices of one moment. */
    uint64_t vertex_words;
} mr_gpu_batch;

/* A constant of a pipeline (an override of the shader). */
typedef struct mr_gpu_constant {
    /* The name, ending with a zero. */
    char name[24];
    /* The value. */
    double value;
} mr_gpu_constant;

/* The location of a moment's frames in the ring, and of its vertices. */
typedef struct mr_gpu_moment {
    /* The slot of the first frame. */
    uint32_t first;
    /* The slot of the second frame. */
    uint32_t second;
    /* The number of slots of the ring. */
    uint32_t slots;
    /* The offset in words of this moment's vertices in the buffers of batches. */
    uint32_t vertices;
} mr_gpu_moment;

/* A dispatch over meshes of one batch that have the same pipelines. */
typedef struct mr_gpu_dispatch {
    /* An `mr_gpu_pass`. */
    uint32_t pass;
    /* The number of the batch. */
    uint32_t batch;
    /* One of the meshes, which tells the pipeline. */
    uint32_t mesh;
    /* The first of its workgroups in `mr_gpu_plan_work`; bind that list from there on. */
    uint32_t first;
    /* The number of workgroups in x and y. */
    uint32_t groups[2];
} mr_gpu_dispatch;

/* The slot of a frame in a ring. */
typedef struct mr_gpu_place {
    /* The number of the slot, or `MR_NONE` if all slots hold frames of the current moment. */
    uint32_t slot;
    /* 1 if the frame must be written to the slot, whose former content is gone. */
    uint32_t is_new;
} mr_gpu_place;

/* A profiler of the host, such as Tracy or Unreal Insights: `begin` and `end` of spans whose names begin
   with `meshreel`: ticks and their parts, decoding, opening of files. Both are called on any thread, often;
   spans of a thread are nested. Neither may block or throw. */
typedef struct mr_profiler {
    /* The size of this structure in bytes. */
    size_t size;
    /* The first argument of the functions. */
    void *user;
    /* A span begins on this thread; the name is a static text. */
    void (*begin)(void *user, const char *name);
    /* The span that began last on this thread ends. */
    void (*end)(void *user);
} mr_profiler;

/* The distances at which LOD levels end. */
typedef struct mr_lod_distances {
    /* The distance at which level i ends, ascending; infinite for levels without an end. */
    float ends[7];
    /* The hysteresis as a fraction of each distance, which keeps levels from flickering. Default 0.05. */
    float margin;
} mr_lod_distances;

/* Properties of a part attribute. */
typedef struct mr_part_attribute_info {
    /* The size of this structure in bytes. */
    size_t size;
    /* The number of values per group, 1 to 4. */
    uint32_t components;
    /* The number of groups with values of their own. */
    uint32_t groups;
    /* The elements that belong to groups: an `mr_group_of`. */
    uint32_t of;
    /* The number of these elements. */
    uint32_t members;
} mr_part_attribute_info;

/* Limits on the memory that a file may make the library allocate. `mr_limits_init` writes the defaults,
   which fit every reasonable asset. */
typedef struct mr_limits {
    /* The size of this structure in bytes. */
    size_t size;
    /* The largest chunk in bytes, in the file and decompressed. */
    uint64_t max_chunk;
    /* The largest number of frames of a file. */
    uint64_t max_frames;
    /* The largest number of chunks of a file. */
    uint64_t max_chunks;
    /* The largest number of vertices of all meshes together. */
    uint64_t max_vertices;
    /* The largest number of nodes and meshes together. */
    uint64_t max_objects;
    /* The most bytes that an open file may take, with its static data and one decoder. */
    uint64_t max_memory;
    /* 0: animated normals, tangents, uvs and colours of meshes of fixed topology are neither decoded nor
       kept in memory. */
    uint32_t attributes;
    /* 0: points moved by bones are not computed, for callers that do so on a graphics card. Positions,
       normals and tangents of such meshes then cannot be written. */
    uint32_t poses;
} mr_limits;

/* The caller's threads, which decode instead of the player's own. */
typedef struct mr_jobs {
    /* The size of this structure in bytes. */
    size_t size;
    /* The first argument of the functions. */
    void *user;
    /* Has `mr_job_run(job)` called soon, on any thread. Called from the tick and from running jobs; must
       neither block nor throw. Each job must be run or dropped exactly once. */
    void (*start)(void *user, struct mr_job *job);
    /* Called once, after the last call of `start`; may be null. Jobs that were started before may still
       exist. */
    void (*release)(void *user);
    /* The largest number of jobs that run at the same time, 1 to 1024. */
    uint32_t threads;
} mr_jobs;

/* The source of the memory for a player's heap. `allocate` is called once, when the player is created;
   `release` when the player and all frames that it returned are gone, on any thread. */
typedef struct mr_allocator {
    /* The size of this structure in bytes. */
    size_t size;
    /* The first argument of the functions. */
    void *user;
    /* Allocates `bytes` bytes aligned to `alignment`, a power of two, with any content. Returns null if
       there is no memory. */
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    /* Frees that memory; `bytes` is its size. */
    void (*release)(void *user, void *memory, size_t bytes);
} mr_allocator;

/* Options of a player. `mr_player_options_init` writes the defaults. */
typedef struct mr_player_options {
    /* The size of this structure in bytes. */
    size_t size;
    /* Bytes of the heap, which holds all large data that is read and decoded. Default 128 MiB. */
    uint64_t heap;
    /* Files whose decoded frames take at most this many bytes are decoded once and kept. Default 16 MiB. */
    uint64_t resident;
    /* Bytes of one read, if that much is wanted. Default 1 MiB. */
    uint64_t read_size;
    /* Bytes besides the heap that a file may take. 0, the default: four times the heap plus 16 MiB. */
    uint64_t file_memory;
    /* The limits of the files that are opened; null: the defaults. Read when the player is created. */
    const struct mr_limits *limits;
    /* The caller's threads for jobs; null: the player's own. Read when the player is created. */
    const struct mr_jobs *jobs;
    /* The source of the heap's memory; null: the system. Read when the player is created. */
    const struct mr_allocator *allocator;
    /* The number of threads that decode. With 0 the tick decodes and opens files. Default: the number of
       cores less one. */
    uint32_t threads;
    /* The number of threads that read files. With 0 the tick reads. Default 2. */
    uint32_t read_threads;
    /* Seconds that frames are decoded before they are shown. Default 0.4. */
    float decode_ahead;
    /* A read is issued as soon as something is missing within this many seconds ahead. Default 1. */
    float least_read_ahead;
    /* The most seconds ahead for which a read fetches data. Default 4. */
    float most_read_ahead;
    /* Seconds without a visible instance after which a file's static data is released as well. Default 5. */
    float unload_after;
    /* Not 0 to watch the files that are opened by their path: one that is replaced on the disk takes the
       place of the older one, and `MR_EVENT_KIND_REPLACED` says so. For tools and games in development.
       Default 0. */
    uint32_t watch;
    /* Always 0. */
    uint32_t reserved;
} mr_player_options;

/* A file that the caller reads, for instance from a pack file, a network, or an engine's file system.

   The functions are called from threads of the library, several at once, until `release` has been called.
   They must not throw, and must not call functions of the object that they read for. */
typedef struct mr_source {
    /* The size of this structure in bytes. */
    size_t size;
    /* The first argument of the functions. */
    void *user;
    /* The length of the file in bytes. It must not change. */
    uint64_t bytes;
    /* Fills `out` with `count` bytes from `offset` on, and returns 0. Any other result is an error of class
       `MR_STATUS_IO`; its number appears in the message. May block. Required for a reel; a player accepts
       `start` instead. */
    int32_t (*read)(void *user, uint64_t offset, void *out, size_t count);
    /* Starts a read and returns without waiting; for players only. `mr_read_get` describes the read,
       `mr_read_complete` ends it, on any thread, also within this call. Called from the tick. Every read
       must be completed exactly once. */
    void (*start)(void *user, struct mr_read *read);
    /* Says that the result of a started read is no longer needed. The read must still be completed, with any
       result. May be null. */
    void (*cancel)(void *user, uint64_t token);
    /* Called once, after the last call of the other functions: when the last object that reads from the
       source is gone, or, if the function that was given the source fails, before it returns (but not if it
       could not read this structure). May be null. */
    void (*release)(void *user);
} mr_source;

/* A command; members that its kind does not mention are ignored. */
typedef struct mr_command {
    /* An `mr_command_kind`. */
    uint32_t kind;
    uint32_t number;
    uint32_t last;
    /* Reserved: 0. */
    uint32_t reserved;
    double a;
    double b;
} mr_command;

/* The clock and state of an instance. */
typedef struct mr_clock {
    /* The size of this structure in bytes. */
    size_t size;
    /* The position in seconds from the first frame. */
    double position;
    /* The duration of all frames in seconds. */
    double duration;
    /* The requested rate in seconds of animation per second. */
    double rate;
    /* The number of ticks without the frame that should have been shown. */
    uint64_t missed;
    /* The number of ticks between a start or jump and its first frame. */
    uint64_t seek_wait_ticks;
    /* 1 if the file is open; otherwise the numbers above have no meaning. */
    uint32_t open;
    /* 1 if neither stopped nor paused. */
    uint32_t playing;
    /* 1 if stopped: neither shown nor streamed. */
    uint32_t stopped;
    /* 1 if it would play, but the data that the pre-roll asks for are not in memory yet. */
    uint32_t waiting;
    /* 1 if it has played to the end and does not repeat. */
    uint32_t ended;
    /* 1 if the heap has no room for it. */
    uint32_t refused;
} mr_clock;

/* Properties of a file. */
typedef struct mr_reel_info {
    /* The size of this structure in bytes. */
    size_t size;
    /* The size of the file in bytes. */
    uint64_t file_bytes;
    /* The compressed size of all frames in bytes. */
    uint64_t frame_bytes;
    /* The memory in bytes that the file takes, with its static data and one decoder. */
    uint64_t memory;
    /* Frames per second as the source states them; 0 if it states none. */
    double fps;
    /* The period of a closed cycle in seconds; 0 if the file is not a cycle. */
    double period;
    /* The time of the first frame in seconds. */
    double start;
    /* The time of the last frame in seconds. */
    double end;
    /* The number of frames; may be 0. */
    uint32_t frames;
    /* The number of nodes; parents stand before their children. */
    uint32_t nodes;
    /* The number of meshes. */
    uint32_t meshes;
    /* The number of named ranges of frames. */
    uint32_t ranges;
    /* The unit of length: 0 unknown, 1 m, 2 cm, 3 mm, 4 inch. */
    uint32_t unit;
    /* 1 if frames are in temporal layers, so that every second one can be left out
       (`MR_COMMAND_KIND_FRAME_STEP`). */
    uint32_t layered;
} mr_reel_info;

/* Properties of a node. */
typedef struct mr_node_info {
    /* The size of this structure in bytes. */
    size_t size;
    /* The tolerance: the largest distance of any vertex from that of the source, in world units. */
    double tolerance;
    /* The transform relative to the parent; if it is animated, that of the first frame. */
    struct mr_transform rest;
    /* The number of the parent, which is smaller than the node's own, or `MR_NONE`. */
    uint32_t parent;
    /* The number of the mesh, or `MR_NONE`. */
    uint32_t mesh;
    /* The frames in which the mesh is shown. */
    mr_visibility visibility;
    /* 1 if the transform is animated. */
    uint32_t animated;
    /* 1 if the vertices of the mesh are in world space; the transform is then the identity. */
    uint32_t baked;
    /* Above 0 for a locator, a node without a mesh that is kept for its transform. The tolerance then holds
       for all points of a cube around its origin that extends this far along each axis, in the node's space. */
    float reach;
} mr_node_info;

/* Properties of a mesh. */
typedef struct mr_mesh_info {
    /* The size of this structure in bytes. */
    size_t size;
    /* The prediction of the positions. */
    mr_method method;
    /* The number of vertices; if triangles change, the largest of all frames. */
    uint32_t vertices;
    /* The number of indices, three per triangle; if triangles change, the largest of all frames. */
    uint32_t indices;
    /* The number of points of the source mesh. */
    uint32_t source_points;
    /* The number of materials; each is a range of the indices. */
    uint32_t materials;
    /* The number of streams of values: positions, normals, uvs and so on. */
    uint32_t streams;
    /* The number of LOD levels, including the mesh itself. */
    uint32_t lods;
    /* Object bounds over all frames: min xyz, max xyz. */
    float bounds[6];
    /* The mesh stands still up to the first of these frames, and from the second on. */
    uint32_t moves[2];
    /* 1 if the mesh consists of particles with ids (`mr_frame_ids`). */
    uint32_t ids;
    /* The interpolation of curves. */
    mr_curve_basis curve_basis;
    /* The ends of curves. */
    mr_curve_ends curve_ends;
    /* The largest number of curves in any frame (`mr_frame_curves`). */
    uint32_t curves;
    /* 1 if the mesh consists of particles or curves: points without triangles, whatever its method. */
    uint32_t particles;
} mr_mesh_info;

/* Properties of a material. */
typedef struct mr_material_info {
    /* The size of this structure in bytes. */
    size_t size;
    /* The first number in its name; without one, its position in the list. */
    uint32_t id;
    /* Its range of the indices. If the triangles of the mesh change, use `mr_frame_materials` instead. */
    struct mr_range range;
} mr_material_info;

/* Properties of a stream: one kind of values of a mesh's vertices. */
typedef struct mr_stream_info {
    /* The size of this structure in bytes. */
    size_t size;
    /* The promised largest error: of positions in object units, of directions in degrees, of uvs and colours
       in their own units. */
    double tolerance;
    /* An `mr_channel`; normals and tangents together are `MR_CHANNEL_TANGENT_FRAME`. */
    uint32_t channel;
    /* The number of the set of uvs or colours. */
    uint32_t set;
    /* 1 if the values change from frame to frame. */
    uint32_t animated;
} mr_stream_info;

/* Properties of a rig. */
typedef struct mr_rig_info {
    /* The size of this structure in bytes. */
    size_t size;
    /* The tolerance: the largest distance of any vertex from its position under the source's rig. */
    double tolerance;
    /* The largest such distance that was measured. */
    double error;
    /* The number of the mesh in the file. */
    uint32_t mesh;
    /* The number of the skeleton; all its clips can move the mesh. */
    uint32_t skeleton;
    /* The number of joints that move the mesh. */
    uint32_t joints;
    /* The number of vertices of the mesh. */
    uint32_t vertices;
    /* 1 if dual quaternions blend the joints' transforms, completely or in part (`mr_rig_dual_parts`); 0 if
       the blend is linear. */
    uint32_t dual;
    /* Reserved: 0. */
    uint32_t reserved;
} mr_rig_info;

/* An influence of a joint on a vertex. */
typedef struct mr_influence {
    /* The number of the vertex. */
    uint32_t vertex;
    /* The number of the joint in the rig. */
    uint32_t joint;
    /* The weight; the weights of a vertex add up to 1. */
    float weight;
} mr_influence;

/* A number that is reported when the position passes a time of the animation. */
typedef struct mr_sequence_event {
    double seconds;
    uint32_t number;
    /* Reserved: 0. */
    uint32_t reserved;
} mr_sequence_event;

/* A slice of a cache, with the time and manner in which it plays. `mr_sequence_clip_init` writes one of a
   whole file. */
typedef struct mr_sequence_clip {
    /* The name, unique in the sequence; UTF-8, ends with a zero. */
    const char *name;
    /* The events. */
    const struct mr_sequence_event *events;
    /* The number of events. */
    size_t event_count;
    /* See `mr_start`. */
    double start_seconds;
    /* The beginning of the slice in seconds of animation. */
    double from;
    /* The end of the slice in seconds of animation. */
    double to;
    /* Seconds of animation between the last frame of a closed cycle and its first; 0 for other clips. */
    double seam;
    /* Seconds of animation per second; negative plays from `to` to `from`. */
    double rate;
    /* Seconds before its start at which streaming begins. */
    double stream_before;
    /* The cache, by a number of the caller's. */
    uint32_t cache;
    /* An `mr_start`. */
    uint32_t start;
    /* See `mr_start`. */
    uint32_t start_number;
    /* An `mr_repeat`, used if it plays more than once. */
    uint32_t repeat;
    /* The number of plays; 0: until a signal. */
    uint32_t plays;
    /* An `mr_leave`. */
    uint32_t leave;
    /* See `mr_leave`. */
    uint32_t leave_signal;
    /* An `mr_end`. */
    uint32_t end;
    /* See `mr_end`. */
    uint32_t end_number;
    /* Reserved: 0. */
    uint32_t reserved;
} mr_sequence_clip;

/* An action of a sequence. */
typedef struct mr_action {
    /* Seconds after the sequence began. */
    double at;
    /* Seconds from the beginning of the tick to the action. Negative after a jump to a later time: the clip
       has been playing for that long. */
    double delay;
    /* An `mr_action_kind`. */
    uint32_t kind;
    /* The number of the clip. */
    uint32_t clip;
    /* See `mr_action_kind`. */
    uint32_t number;
    /* Reserved: 0. */
    uint32_t reserved;
} mr_action;

/* The current state of a clip of a sequence. */
typedef struct mr_sequence_state {
    /* The size of this structure in bytes. */
    size_t size;
    /* Seconds since the sequence began. */
    double time;
    /* The position in seconds of animation; while the clip does not play, the one at which it would begin. */
    double position;
    /* An `mr_stage`. */
    uint32_t stage;
    /* 1 if its cache is shown. */
    uint32_t cache_is_shown;
    /* The static mesh that is shown, a number of the caller's, or `MR_NONE`. */
    uint32_t mesh;
    /* 1 if its buffers are in use. */
    uint32_t holds_memory;
} mr_sequence_state;

/* The request of a read. */
typedef struct mr_read_info {
    /* The size of this structure in bytes. */
    size_t size;
    /* The token that `cancel` names the read by. */
    uint64_t token;
    /* The offset of the first byte in the file. */
    uint64_t offset;
    /* The number of bytes to read. */
    uint64_t count;
    /* When the data are needed, in microseconds of the player's ticks: smaller is more urgent. 0 for reads
       that open a file. */
    uint64_t due;
    /* The buffer to fill, valid until the read is completed. */
    void *buffer;
    /* 1 if the read was cancelled. */
    uint32_t cancelled;
    /* 1 if the read belongs to the opening of a file. */
    uint32_t opening;
} mr_read_info;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* Reads the cameras of a file; there may be none.

   Must hold: `reel` is a valid reel; `out` is valid for one write. */
mr_status mr_cameras_new(const struct mr_reel *reel, struct mr_cameras **out);

/* Frees cameras. Null is allowed.

   Must hold: `cameras` is null, or has not been freed. */
mr_status mr_cameras_free(struct mr_cameras *cameras);

/* Writes the number of cameras.

   Must hold: `cameras` is from `mr_cameras_new`; `out` is valid for one write. */
mr_status mr_cameras_count(const struct mr_cameras *cameras, size_t *out);

/* Writes the properties of a camera, and its path in the source. `path` and `length` may both be null.

   Must hold: `cameras` is from `mr_cameras_new`; `out` is as large as its `size` says; `path` is null or has room for
   `capacity` bytes; `length` is null or valid for one write. */
mr_status mr_camera_get(const struct mr_cameras *cameras,
                        uint32_t number,
                        struct mr_camera_info *out,
                        char *path,
                        size_t capacity,
                        size_t *length);

/* Writes the values of a lens at a time; between two frames each value is interpolated linearly.

   Must hold: `cameras` is from `mr_cameras_new`; `out` is as large as its `size` says. */
mr_status mr_camera_lens(const struct mr_cameras *cameras,
                         uint32_t number,
                         struct mr_pair pair,
                         struct mr_lens *out);

/* Reads the clips, skeletons and rigs of a file; there may be none.

   Must hold: `reel` is a valid reel; `out` is valid for one write. */
mr_status mr_clips_new(const struct mr_reel *reel, struct mr_clips **out);

/* Frees the clips. Null is allowed.

   Must hold: `clips` is null, or has not been freed. */
mr_status mr_clips_free(struct mr_clips *clips);

/* Writes the numbers of clips, skeletons and rigs.

   Must hold: `clips` is from `mr_clips_new`; `out` is as large as its `size` says. */
mr_status mr_clips_get(const struct mr_clips *clips, struct mr_clips_info *out);

/* Writes the properties of a clip, and its name. `name` and `length` may both be null.

   Must hold: `clips` is from `mr_clips_new`; `out` is as large as its `size` says; `name` is null or has room for
   `capacity` bytes; `length` is null or valid for one write. */
mr_status mr_clips_clip(const struct mr_clips *clips,
                        uint32_t clip,
                        struct mr_clip_info *out,
                        char *name,
                        size_t capacity,
                        size_t *length);

/* Writes the parents of a skeleton's joints: one number for each joint, `MR_NONE` for roots. Parents stand
   before their children.

   Must hold: `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` numbers; `count` is null or valid
   for one write. */
mr_status mr_clips_parents(const struct mr_clips *clips,
                           uint32_t skeleton,
                           uint32_t *out,
                           size_t capacity,
                           size_t *count);

/* Writes the rest pose of a skeleton: local transforms.

   Must hold: `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` transforms; `count` is null or
   valid for one write. */
mr_status mr_clips_rest(const struct mr_clips *clips,
                        uint32_t skeleton,
                        struct mr_transform *out,
                        size_t capacity,
                        size_t *count);

/* Writes the name of a joint.

   Must hold: `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` bytes; `length` is null or valid
   for one write. */
mr_status mr_clips_joint(const struct mr_clips *clips,
                         uint32_t skeleton,
                         uint32_t joint,
                         char *out,
                         size_t capacity,
                         size_t *length);

/* Writes the time of a marker, in seconds after the first sample of the clip, and its name. `name` and
   `length` may both be null.

   Must hold: `clips` is from `mr_clips_new`; `seconds` is valid for one write; `name` is null or has room for
   `capacity` bytes; `length` is null or valid for one write. */
mr_status mr_clips_marker(const struct mr_clips *clips,
                          uint32_t clip,
                          uint32_t marker,
                          double *seconds,
                          char *name,
                          size_t capacity,
                          size_t *length);

/* Writes the name of a scalar track of a clip.

   Must hold: As for `mr_clips_joint`. */
mr_status mr_clips_scalar(const struct mr_clips *clips,
                          uint32_t clip,
                          uint32_t track,
                          char *out,
                          size_t capacity,
                          size_t *length);

/* Creates a cursor, and allocates all its memory. `tiers` gives, for layers 0, 1 and so on, the number of
   tiers to play. A layer with 0 tiers is not played, and its joints stay in the rest pose; layers beyond the
   list are played completely. Null with `layers` 0: everything is played.

   Must hold: `clips` is from `mr_clips_new`; `tiers` has `layers` numbers; `out` is valid for one write. */
mr_status mr_cursor_new(const struct mr_clips *clips,
                        uint32_t clip,
                        const uint32_t *tiers,
                        size_t layers,
                        struct mr_cursor **out);

/* Frees a cursor. Null is allowed.

   Must hold: `cursor` is null, or has not been freed. */
mr_status mr_cursor_free(struct mr_cursor *cursor);

/* Writes the local transforms of all joints at a time. `joints` must be their number. Does not allocate.

   Must hold: `cursor` is a valid cursor that no other thread uses; `query` is valid for one read; `out` has room for
   `joints` transforms. */
mr_status mr_cursor_pose(struct mr_cursor *cursor,
                         const struct mr_query *query,
                         struct mr_transform *out,
                         size_t joints);

/* Writes the local transforms of all joints at a sample: the poses for which the tolerance is promised.
   `joints` must be their number. Does not allocate.

   Must hold: `cursor` is a valid cursor that no other thread uses; `out` has room for `joints` transforms. */
mr_status mr_cursor_sample(struct mr_cursor *cursor,
                           uint32_t sample,
                           struct mr_transform *out,
                           size_t joints);

/* Writes the local transform of one joint at a time. `is_rest` may be null; it is set to 1 if the layer of
   the joint is not played, so that the transform is that of the rest pose, and to 0 otherwise.

   Must hold: As for `mr_cursor_pose`; `out` is valid for one write; `is_rest` is null or valid for one write. */
mr_status mr_cursor_joint(struct mr_cursor *cursor,
                          uint32_t joint,
                          const struct mr_query *query,
                          struct mr_transform *out,
                          uint32_t *is_rest);

/* Writes the motion of a joint over a step; multiply the character's transform by it from the right. With
   `up` null, it is the whole motion; otherwise `up` is a unit vector, and only the translation along the
   ground and the rotation about `up` are kept.

   Must hold: As for `mr_cursor_pose`; `step` is valid for one read; `up` is null or has three numbers; `out` is valid
   for one write. */
mr_status mr_cursor_root_motion(struct mr_cursor *cursor,
                                uint32_t joint,
                                const struct mr_step *step,
                                const float *up,
                                struct mr_transform *out);

/* Writes the values of all scalar tracks at a time: four numbers per track, unused ones 0. `capacity` and
   `count` are numbers of tracks.

   Must hold: `cursor` is a valid cursor; `query` is valid for one read; `out` is null or has room for four numbers for
   each of `capacity` tracks; `count` is null or valid for one write. */
mr_status mr_cursor_scalars(const struct mr_cursor *cursor,
                            const struct mr_query *query,
                            float *out,
                            size_t capacity,
                            size_t *count);

/* Writes the markers that a step passes, in the order in which it passes them, at most `capacity` of them,
   and sets `count` to their number. If a time span is divided into steps, each marker is passed once,
   however it is divided.

   Must hold: `cursor` is a valid cursor; `step` is valid for one read; `out` has room for `capacity` markers; `count`
   is valid for one write. */
mr_status mr_cursor_events(const struct mr_cursor *cursor,
                           const struct mr_step *step,
                           struct mr_passed *out,
                           size_t capacity,
                           size_t *count);

/* Creates a decoder, and allocates all its memory. The reel may be freed before the decoder.

   Must hold: `reel` is a valid reel; `out` is valid for one write. */
mr_status mr_decoder_new(const struct mr_reel *reel, struct mr_decoder **out);

/* Frees a decoder together with its frame. Null is allowed.

   Must hold: `decoder` is null, or has not been freed. */
mr_status mr_decoder_free(struct mr_decoder *decoder);

/* Decodes a frame; the decoder's frame (`mr_decoder_frame`) shows it from then on. If decoding fails, the
   decoder's frame shows nothing; frames that do not need the damaged data can still be decoded. (A player
   keeps showing the last good frame.)

   Must hold: `decoder` is a valid decoder that no other thread uses. */
mr_status mr_decoder_decode(struct mr_decoder *decoder, uint32_t frame);

/* Writes the frame of a decoder, always the same handle. It lives as long as the decoder, and must not be
   freed.

   Must hold: `decoder` is a valid decoder; `out` is valid for one write. */
mr_status mr_decoder_frame(const struct mr_decoder *decoder, const struct mr_frame **out);

/* Writes the next event; its kind is `MR_EVENT_KIND_NONE` if there is none.

   Must hold: `player` is a valid player; `out` is as large as its `size` says. */
mr_status mr_player_event(struct mr_player *player, struct mr_event *out);

/* Writes the counters of a player.

   Must hold: `player` is a valid player; `out` is as large as its `size` says. */
mr_status mr_player_statistics(struct mr_player *player, struct mr_statistics *out);

/* Frees a frame of a player. Null is allowed; a frame of a decoder is refused as misuse.

   Must hold: `frame` is null, or has not been freed. */
mr_status mr_frame_free(struct mr_frame *frame);

/* Writes the properties of a frame.

   Must hold: `frame` is a valid frame; `out` is as large as its `size` says. */
mr_status mr_frame_get(const struct mr_frame *frame, struct mr_frame_info *out);

/* Writes the object-to-world matrices of all nodes: twelve numbers per node, three rows of four. `nodes`
   must be the number of nodes.

   Must hold: `frame` is a valid frame; `out` has room for twelve numbers for each node. */
mr_status mr_frame_worlds(const struct mr_frame *frame, double *out, size_t nodes);

/* Writes the object-to-world matrix of a node: twelve numbers, three rows of four.

   Must hold: `frame` is a valid frame; `out` has room for twelve numbers. */
mr_status mr_frame_world(const struct mr_frame *frame, uint32_t node, double *out);

/* Writes the change per second of the object-to-world matrix of a node: twelve numbers, three rows of four.
   The last column is the velocity of the node's origin.

   Must hold: As for `mr_frame_world`. */
mr_status mr_frame_world_velocity(const struct mr_frame *frame, uint32_t node, double *out);

/* Writes the transforms of all nodes relative to their parents.

   Must hold: `frame` is a valid frame; `out` is null or has room for `capacity` transforms; `count` is null or valid
   for one write. */
mr_status mr_frame_transforms(const struct mr_frame *frame,
                              struct mr_transform *out,
                              size_t capacity,
                              size_t *count);

/* Writes a byte for each node: 1 if it is visible, so that its mesh, if it has one, is shown; otherwise 0.

   Must hold: `frame` is a valid frame; `out` is null or has room for `capacity` bytes; `count` is null or valid for one
   write. */
mr_status mr_frame_visible(const struct mr_frame *frame, uint8_t *out, size_t capacity, size_t *count);

/* Writes the properties of the mesh of a node. A node without a mesh is misuse.

   Must hold: `frame` is a valid frame; `out` is as large as its `size` says. */
mr_status mr_frame_mesh(const struct mr_frame *frame, uint32_t node, struct mr_mesh_state *out);

/* Writes a range of the vertices of a node's mesh in the caller's layout, beginning at `out`. `bytes` must
   be `count` times the stride. Bytes that no attribute covers are not changed.

   Must hold: `frame` is a valid frame; `layout` and its attributes are valid; `out` has room for `bytes` bytes. */
mr_status mr_frame_write(const struct mr_frame *frame,
                         uint32_t node,
                         const struct mr_vertex_layout *layout,
                         uint32_t first,
                         uint32_t count,
                         void *out,
                         size_t bytes);

/* Writes one attribute of all vertices of a node's mesh as floats: three per vertex for positions, normals
   and velocities, four for tangents and colours, two for uvs, one for widths, 1 to 4 for custom values.
   `count` must be the number of vertices times that. This is the fastest way to get a whole attribute.
   `channel` is an `mr_channel`, `set` the number of the set of uvs, colours or custom values, otherwise 0.

   Must hold: `frame` is a valid frame; `out` has room for `count` numbers. */
mr_status mr_frame_floats(const struct mr_frame *frame,
                          uint32_t node,
                          uint32_t channel,
                          uint32_t set,
                          float *out,
                          size_t count);

/* Writes the normals (three floats each) and tangents (four floats each) of all vertices in one pass: if
   both are predicted from the positions, that takes little more time than one of them.

   Must hold: `frame` is a valid frame; `normals` has room for 3 · `vertices` numbers, `tangents` for 4 · `vertices`;
   they do not overlap. */
mr_status mr_frame_directions(const struct mr_frame *frame,
                              uint32_t node,
                              float *normals,
                              float *tangents,
                              size_t vertices);

/* Writes the triangles of a node's mesh: three indices each, counter-clockwise seen from outside.

   Must hold: `frame` is a valid frame; `out` is null or has room for `capacity` indices; `count` is null or valid for
   one write. */
mr_status mr_frame_indices(const struct mr_frame *frame,
                           uint32_t node,
                           uint32_t *out,
                           size_t capacity,
                           size_t *count);

/* As `mr_frame_indices`, with 16-bit indices, for meshes of at most 65,536 vertices.

   Must hold: As for `mr_frame_indices`. */
mr_status mr_frame_indices_16(const struct mr_frame *frame,
                              uint32_t node,
                              uint16_t *out,
                              size_t capacity,
                              size_t *count);

/* Writes the ids of the particles of a node, ascending, one per vertex; an empty list if they have no ids.
   Between two frames the particles are those of the first: those that both frames have are blended, the
   others stay.

   Must hold: `frame` is a valid frame; `out` is null or has room for `capacity` numbers; `count` is null or valid for
   one write. */
mr_status mr_frame_ids(const struct mr_frame *frame,
                       uint32_t node,
                       uint64_t *out,
                       size_t capacity,
                       size_t *count);

/* Writes the number of vertices of each curve of a node; an empty list if it has no curves.

   Must hold: `frame` is a valid frame; `out` is null or has room for `capacity` numbers; `count` is null or valid for
   one write. */
mr_status mr_frame_curves(const struct mr_frame *frame,
                          uint32_t node,
                          uint32_t *out,
                          size_t capacity,
                          size_t *count);

/* Writes the index range of each material of a node's mesh.

   Must hold: `frame` is a valid frame; `out` is null or has room for `capacity` ranges; `count` is null or valid for
   one write. */
mr_status mr_frame_materials(const struct mr_frame *frame,
                             uint32_t node,
                             struct mr_range *out,
                             size_t capacity,
                             size_t *count);

/* Writes the triangles in the order that `mr_frame_visible_ranges` refers to: the same in all frames of a
   mesh that is not fluid.

   Must hold: As for `mr_frame_indices`. */
mr_status mr_frame_indices_by_visibility(const struct mr_frame *frame,
                                         uint32_t node,
                                         uint32_t *out,
                                         size_t capacity,
                                         size_t *count);

/* Writes the ranges of `mr_frame_indices_by_visibility` that are visible in this frame, of one material or,
   with `MR_NONE`, of all. Triangles outside these ranges cannot be seen from outside the mesh.

   Must hold: As for `mr_frame_materials`. */
mr_status mr_frame_visible_ranges(const struct mr_frame *frame,
                                  uint32_t node,
                                  uint32_t material,
                                  struct mr_range *out,
                                  size_t capacity,
                                  size_t *count);

/* Writes the properties of an LOD level of a node's mesh: fewer triangles between the same vertices. Level 0
   is the mesh itself.

   Must hold: `frame` is a valid frame; `out` is as large as its `size` says. */
mr_status mr_frame_lod(const struct mr_frame *frame, uint32_t node, uint32_t level, struct mr_lod_info *out);

/* Writes the triangles of an LOD level: three indices each.

   Must hold: As for `mr_frame_indices`. */
mr_status mr_frame_lod_indices(const struct mr_frame *frame,
                               uint32_t node,
                               uint32_t level,
                               uint32_t *out,
                               size_t capacity,
                               size_t *count);

/* Writes the range of each material in the indices of an LOD level.

   Must hold: As for `mr_frame_materials`. */
mr_status mr_frame_lod_materials(const struct mr_frame *frame,
                                 uint32_t node,
                                 uint32_t level,
                                 struct mr_range *out,
                                 size_t capacity,
                                 size_t *count);

/* Writes, for each vertex of the mesh, the vertex that replaces it in an LOD level, to blend levels; an
   empty list for level 0.

   Must hold: As for `mr_frame_indices`. */
mr_status mr_frame_lod_becomes(const struct mr_frame *frame,
                               uint32_t node,
                               uint32_t level,
                               uint32_t *out,
                               size_t capacity,
                               size_t *count);

/* Writes the triangles of a node's mesh in world space, for physics: three floats per vertex, three indices
   per triangle. `mr_mesh_state` has the numbers of vertices and indices.

   Must hold: `frame` is a valid frame; `positions` has room for 3 · `vertices` numbers, `indices` for `index_count`
   indices; they do not overlap. */
mr_status mr_frame_collision(const struct mr_frame *frame,
                             uint32_t node,
                             float *positions,
                             size_t vertices,
                             uint32_t *indices,
                             size_t index_count);

/* Writes the number of the first node that has a mesh, or `MR_NONE`: to find a mesh by its own number.

   Must hold: `frame` is a valid frame; `out` is valid for one write. */
mr_status mr_frame_node_of(const struct mr_frame *frame, uint32_t mesh, uint32_t *out);

/* Creates the plan of a file; `frame` may be any of its frames. `layout` is the layout of vertices, with
   each attribute at a multiple of 4 bytes, in the formats that `docs/GPU.md` lists; null: positions of
   `MR_FORMAT_F32X3`, normals of `MR_FORMAT_I16X2`, uvs of `MR_FORMAT_F16X2`. `options` may be null.

   Must hold: `frame` is a valid frame; `layout` is null, or it and its attributes are valid; `options` is null or as
   large as its `size` says; `out` is valid for one write. */
mr_status mr_gpu_plan_new(const struct mr_frame *frame,
                          const struct mr_vertex_layout *layout,
                          const struct mr_gpu_options *options,
                          struct mr_gpu_plan **out);

/* Frees a plan. Null is allowed.

   Must hold: `plan` is null, or has not been freed. */
mr_status mr_gpu_plan_free(struct mr_gpu_plan *plan);

/* Writes the properties of a plan.

   Must hold: `plan` is a valid plan; `out` is as large as its `size` says. */
mr_status mr_gpu_plan_get(const struct mr_gpu_plan *plan, struct mr_gpu_info *out);

/* Returns the entry point of an `mr_gpu_pass`: a static text; null if there is no such pass. */
const char *mr_gpu_pass_entry(uint32_t pass);

/* Writes the location of a mesh.

   Must hold: `plan` is a valid plan; `out` is as large as its `size` says. */
mr_status mr_gpu_plan_mesh(const struct mr_gpu_plan *plan, uint32_t mesh, struct mr_gpu_mesh *out);

/* Writes the sizes of the buffers of a batch.

   Must hold: `plan` is a valid plan; `out` is as large as its `size` says. */
mr_status mr_gpu_plan_batch(const struct mr_gpu_plan *plan, uint32_t batch, struct mr_gpu_batch *out);

/* Writes the fixed words of a batch, to be uploaded once.

   Must hold: `plan` is a valid plan; `out` is null or has room for `capacity` words; `count` is null or valid for one
   write. */
mr_status mr_gpu_plan_fixed(const struct mr_gpu_plan *plan,
                            uint32_t batch,
                            uint32_t *out,
                            size_t capacity,
                            size_t *count);

/* Writes the constants of a mesh's pipelines. Meshes with equal constants share pipelines.

   Must hold: `plan` is a valid plan; `out` is null or has room for `capacity` constants; `count` is null or valid for
   one write. */
mr_status mr_gpu_plan_constants(const struct mr_gpu_plan *plan,
                                uint32_t mesh,
                                struct mr_gpu_constant *out,
                                size_t capacity,
                                size_t *count);

/* Writes the text of the shader with all passes, in WGSL.

   Must hold: `out` is null or has room for `capacity` bytes; `length` is null or valid for one write. */
mr_status mr_gpu_wgsl(char *out, size_t capacity, size_t *length);

/* Writes the WGSL text of a function `vertex_of(number) -> Vertex` for the caller's own vertex shader, which
   fetches the results of the passes, with its bindings in group `group`. For plans whose layout has stride
   0.

   Must hold: As for `mr_gpu_wgsl`. */
mr_status mr_gpu_wgsl_pull(uint32_t group, char *out, size_t capacity, size_t *length);

/* Writes the words of meshes without animation, which lie behind all slots of the ring, to be uploaded once
   per file.

   Must hold: `plan` is a valid plan and `frame` a valid frame of its file; `out` has room for `words` words. */
mr_status mr_gpu_plan_still(struct mr_gpu_plan *plan,
                            const struct mr_frame *frame,
                            uint32_t *out,
                            size_t words);

/* Writes the words of a frame, for a slot of the ring: of the first of the two frames that `frame` is
   blended from or, if `second` is not 0, of the second. Only the ranges that `mr_gpu_plan_used` returns need
   to be uploaded.

   Must hold: As for `mr_gpu_plan_still`. */
mr_status mr_gpu_plan_slot(struct mr_gpu_plan *plan,
                           const struct mr_frame *frame,
                           uint32_t second,
                           uint32_t *out,
                           size_t words);

/* Writes the ranges of words that have content in the last slot that was written.

   Must hold: `plan` is a valid plan; `out` is null or has room for `capacity` ranges; `count` is null or valid for one
   write. */
mr_status mr_gpu_plan_used(const struct mr_gpu_plan *plan,
                           struct mr_range *out,
                           size_t capacity,
                           size_t *count);

/* Begins a new moment, in which nothing is shown yet.

   Must hold: `plan` is a valid plan. */
mr_status mr_gpu_plan_begin(struct mr_gpu_plan *plan);

/* Shows the mesh of a node, and writes the mesh's parameters. `bytes` must be `mr_gpu_info.params_bytes`;
   upload them at the mesh's number times `bytes`.

   Must hold: `plan` is a valid plan and `frame` a valid frame of its file; `moment` is valid for one read; `out` has
   room for `bytes` bytes. */
mr_status mr_gpu_plan_show(struct mr_gpu_plan *plan,
                           const struct mr_frame *frame,
                           uint32_t node,
                           const struct mr_gpu_moment *moment,
                           void *out,
                           size_t bytes);

/* Writes the work of each workgroup at this moment, two words: the number of a mesh, and its first item.
   `capacity` and `count` are numbers of workgroups.

   Must hold: `plan` is a valid plan; `out` is null or has room for two words for each of `capacity` workgroups; `count`
   is null or valid for one write. */
mr_status mr_gpu_plan_work(struct mr_gpu_plan *plan, uint32_t *out, size_t capacity, size_t *count);

/* Writes the dispatches of this moment, in order. Dispatches of later passes read the results of earlier
   ones.

   Must hold: `plan` is a valid plan; `out` is null or has room for `capacity` dispatches; `count` is null or valid for
   one write. */
mr_status mr_gpu_plan_dispatches(struct mr_gpu_plan *plan,
                                 struct mr_gpu_dispatch *out,
                                 size_t capacity,
                                 size_t *count);

/* Creates a ring of `slots` slots; one moment needs two.

   Must hold: `out` is valid for one write. */
mr_status mr_gpu_ring_new(uint32_t slots, struct mr_gpu_ring **out);

/* Frees a ring. Null is allowed.

   Must hold: `ring` is null, or has not been freed. */
mr_status mr_gpu_ring_free(struct mr_gpu_ring *ring);

/* Begins a new moment: frames that are requested from now on stay until the next one.

   Must hold: `ring` is a valid ring. */
mr_status mr_gpu_ring_begin(struct mr_gpu_ring *ring);

/* Finds the slot of a frame, or assigns one to it.

   Must hold: `ring` is a valid ring; `out` is valid for one write. */
mr_status mr_gpu_ring_ask(struct mr_gpu_ring *ring, uint32_t frame, struct mr_gpu_place *out);

/* Sets the profiler of the process, which stays to its end. There can be only one.

   Must hold: `profiler` is as large as its `size` says; its functions and `user` stay valid. */
mr_status mr_set_profiler(const struct mr_profiler *profiler);

/* Computes distances from the visible size of the levels' errors: each level begins at the distance from
   which on its error covers at most `pixels` pixels. `errors` are those of levels 1, 2 and so on
   (`mr_lod_info`), in object units; `scale` is the largest scale of the world transform, `angle` the
   vertical angle of view in radians, and `height` the height of the picture in pixels.

   Must hold: `errors` has `count` numbers; `out` is valid for one write. */
mr_status mr_lod_within(const float *errors,
                        size_t count,
                        float scale,
                        float angle,
                        float height,
                        float pixels,
                        struct mr_lod_distances *out);

/* Writes the level for a distance. `was` is the level that was chosen before, for the hysteresis.

   Must hold: `distances` is valid for one read; `out` is valid for one write. */
mr_status mr_lod_at(const struct mr_lod_distances *distances, float distance, uint32_t was, uint32_t *out);

/* Reads the part attributes of a node; there may be none.

   Must hold: `reel` is a valid reel; `out` is valid for one write. */
mr_status mr_part_attributes_new(const struct mr_reel *reel, uint32_t node, struct mr_part_attributes **out);

/* Frees part attributes. Null is allowed.

   Must hold: `attributes` is null, or has not been freed. */
mr_status mr_part_attributes_free(struct mr_part_attributes *attributes);

/* Writes the number of part attributes.

   Must hold: `attributes` is from `mr_part_attributes_new`; `out` is valid for one write. */
mr_status mr_part_attributes_count(const struct mr_part_attributes *attributes, size_t *out);

/* Writes the properties of a part attribute, and its name. `name` and `length` may both be null.

   Must hold: `attributes` is from `mr_part_attributes_new`; `out` is as large as its `size` says; `name` is null or has
   room for `capacity` bytes; `length` is null or valid for one write. */
mr_status mr_part_attribute_get(const struct mr_part_attributes *attributes,
                                uint32_t number,
                                struct mr_part_attribute_info *out,
                                char *name,
                                size_t capacity,
                                size_t *length);

/* Writes the group of each part or vertex; an empty list if the whole mesh is one group.

   Must hold: `attributes` is from `mr_part_attributes_new`; `out` is null or has room for `capacity` numbers; `count`
   is null or valid for one write. */
mr_status mr_part_attribute_groups(const struct mr_part_attributes *attributes,
                                   uint32_t number,
                                   uint32_t *out,
                                   size_t capacity,
                                   size_t *count);

/* Writes the values of all groups at a time: four numbers per group, unused ones 0; a table for a shader.
   `capacity` and `count` are numbers of groups.

   Must hold: `attributes` is from `mr_part_attributes_new`; `out` is null or has room for four numbers for each of
   `capacity` groups; `count` is null or valid for one write. */
mr_status mr_part_attribute_table(const struct mr_part_attributes *attributes,
                                  uint32_t number,
                                  struct mr_pair pair,
                                  float *out,
                                  size_t capacity,
                                  size_t *count);

/* Writes the default options.

   Must hold: `out` has room for `size` bytes; `size` is `sizeof(mr_player_options)`. */
mr_status mr_player_options_init(struct mr_player_options *out, size_t size);

/* Creates a player: allocates its heap and starts its threads. `options` may be null.

   Must hold: `options` is null, or as large as its `size` says, with pointers that are null or valid; `out` is valid
   for one write. */
mr_status mr_player_new(const struct mr_player_options *options, struct mr_player **out);

/* Frees a player. Frames that it returned remain valid. A thread in a slow read ends when the read does.
   Null is allowed.

   Must hold: `player` is null, or has not been freed. */
mr_status mr_player_free(struct mr_player *player);

/* Starts to open a file and writes its number. An event reports whether opening succeeded. Instances can be
   created at once.

   Must hold: `player` is a valid player; `path` is UTF-8 and ends with a zero; `out` is valid for one write. */
mr_status mr_player_open(struct mr_player *player, const char *path, uint64_t *out);

/* As `mr_player_open`, for the bytes of a file, of which the player keeps a copy. Errors name the file
   `name`; if that is null, "(memory)".

   Must hold: `player` is a valid player; `name` is null, or UTF-8 and ends with a zero; `data` has `bytes` bytes; `out`
   is valid for one write. */
mr_status mr_player_open_memory(struct mr_player *player,
                                const char *name,
                                const void *data,
                                size_t bytes,
                                uint64_t *out);

/* As `mr_player_open`, for a file that a source reads: with its function `start`, which blocks no thread, if
   it has one, otherwise with `read`, on the reading threads. Errors name the file `name`; if that is null,
   "(memory)".

   Must hold: `player` is a valid player; `name` is null, or UTF-8 and ends with a zero; `source` is as large as its
   `size` says, and fulfils the contract of `mr_source`; `out` is valid for one write. */
mr_status mr_player_open_source(struct mr_player *player,
                                const char *name,
                                const struct mr_source *source,
                                uint64_t *out);

/* Ends all instances of a file and releases its memory.

   Must hold: `player` is a valid player. */
mr_status mr_player_close(struct mr_player *player, uint64_t file);

/* Creates a handle of the reel of a file, which the caller must free; null while the file is not open.

   Must hold: `player` is a valid player; `out` is valid for one write. */
mr_status mr_player_reel(const struct mr_player *player, uint64_t file, struct mr_reel **out);

/* Writes the name of a file as error messages give it.

   Must hold: `player` is a valid player; `out` is null or has room for `capacity` bytes; `length` is null or valid for
   one write. */
mr_status mr_player_name(const struct mr_player *player,
                         uint64_t file,
                         char *out,
                         size_t capacity,
                         size_t *length);

/* Adds an instance of a file: visible, and stopped at the first frame.

   Must hold: `player` is a valid player; `out` is valid for one write. */
mr_status mr_player_instance(struct mr_player *player, uint64_t file, uint64_t *out);

/* Ends an instance.

   Must hold: `player` is a valid player. */
mr_status mr_player_remove(struct mr_player *player, uint64_t instance);

/* Shows or hides an instance. The time of a hidden instance goes on, but nothing is read or decoded for it.

   Must hold: `player` is a valid player. */
mr_status mr_player_show(struct mr_player *player, uint64_t instance, uint32_t visible);

/* Sets the priority of an instance: if the heap has no room for all, those of higher priority are served
   first. The default is 0.

   Must hold: `player` is a valid player. */
mr_status mr_player_priority(struct mr_player *player, uint64_t instance, int32_t priority);

/* Gives an instance a command, which takes effect at the next tick.

   Must hold: `player` is a valid player; `command` is valid for one read. */
mr_status mr_player_command(struct mr_player *player, uint64_t instance, const struct mr_command *command);

/* Writes the clock and state of an instance.

   Must hold: `player` is a valid player; `out` is as large as its `size` says. */
mr_status mr_player_clock(const struct mr_player *player, uint64_t instance, struct mr_clock *out);

/* Turns parts of the player off, to measure what each costs: with 0 for `reads` no read starts, for `jobs`
   no job starts, for `drawing` no frame is returned. Work that has begun is finished.

   Must hold: `player` is a valid player. */
mr_status mr_player_switch(struct mr_player *player, uint32_t reads, uint32_t jobs, uint32_t drawing);

/* Advances the player by `seconds`; call it once per frame of the game. Never blocks. If the player has its
   own threads and no source with `start`, it calls none of the caller's functions.

   Must hold: `player` is a valid player that no other thread uses. */
mr_status mr_player_tick(struct mr_player *player, double seconds);

/* Creates a handle of what an instance shows, which the caller must free; null if none of it is in memory
   yet.

   Must hold: `player` is a valid player; `out` is valid for one write. */
mr_status mr_player_frame(const struct mr_player *player, uint64_t instance, struct mr_frame **out);

/* Blends from `a` to `b`, joint by joint; `part` is the weight of `b`. Rotations take the shorter way. `out`
   must not overlap `a` or `b`.

   Must hold: `a` and `b` have `joints` transforms, `out` has room for as many. */
mr_status mr_pose_blend(const struct mr_transform *a,
                        const struct mr_transform *b,
                        float part,
                        struct mr_transform *out,
                        size_t joints);

/* Adds `weight` times `additive` to `base`, joint by joint; `kind` is an `mr_additive`. `out` must not
   overlap `base` or `additive`.

   Must hold: `base` and `additive` have `joints` transforms, `out` has room for as many. */
mr_status mr_pose_add(uint32_t kind,
                      const struct mr_transform *base,
                      const struct mr_transform *additive,
                      float weight,
                      struct mr_transform *out,
                      size_t joints);

/* Computes the additive pose that turns `base` into `pose`, joint by joint; `kind` is an `mr_additive`.
   `out` must not overlap `base` or `pose`.

   Must hold: `base` and `pose` have `joints` transforms, `out` has room for as many. */
mr_status mr_pose_difference(uint32_t kind,
                             const struct mr_transform *base,
                             const struct mr_transform *pose,
                             struct mr_transform *out,
                             size_t joints);

/* Computes the object-space matrices of all joints from their local transforms: twelve numbers per joint,
   three rows of four. `parents` as written by `mr_clips_parents`.

   Must hold: `parents` has `joints` numbers, `local` has `joints` transforms, and `out` has room for twelve numbers per
   joint. */
mr_status mr_pose_object_space(const uint32_t *parents,
                               const struct mr_transform *local,
                               float *out,
                               size_t joints);

/* Writes the default limits.

   Must hold: `out` has room for `size` bytes; `size` is `sizeof(mr_limits)`. */
mr_status mr_limits_init(struct mr_limits *out, size_t size);

/* Opens and checks a file. `limits` may be null.

   Must hold: `path` is UTF-8 and ends with a zero; `limits` is null or as large as its `size` says; `out` is valid for
   one write. */
mr_status mr_reel_open(const char *path, const struct mr_limits *limits, struct mr_reel **out);

/* Opens and checks the bytes of a file; the reel keeps a copy of them. Errors name the file `name`; if that
   is null, "(memory)". `limits` may be null.

   Must hold: `name` is null, or UTF-8 and ends with a zero; `data` has `bytes` bytes; `limits` is null or as large as
   its `size` says; `out` is valid for one write. */
mr_status mr_reel_open_memory(const char *name,
                              const void *data,
                              size_t bytes,
                              const struct mr_limits *limits,
                              struct mr_reel **out);

/* Opens and checks a file that a source reads; the source needs the function `read`. Frames, clips and rigs
   are read through it later. Errors name the file `name`; if that is null, "(memory)". `limits` may be null.

   Must hold: `name` is null, or UTF-8 and ends with a zero; `source` is as large as its `size` says, and fulfils the
   contract of `mr_source`; `limits` is null or as large as its `size` says; `out` is valid for one write. */
mr_status mr_reel_open_source(const char *name,
                              const struct mr_source *source,
                              const struct mr_limits *limits,
                              struct mr_reel **out);

/* Frees a reel. Null is allowed.

   Must hold: `reel` is null, or has not been freed. */
mr_status mr_reel_free(struct mr_reel *reel);

/* Writes the properties of a file.

   Must hold: `reel` is a valid reel; `out` is as large as its `size` says. */
mr_status mr_reel_get(const struct mr_reel *reel, struct mr_reel_info *out);

/* Writes the options that a file was compiled with, one `key = value` per line.

   Must hold: `reel` is a valid reel; `out` is null or has room for `capacity` bytes; `length` is null or valid for one
   write. */
mr_status mr_reel_options(const struct mr_reel *reel, char *out, size_t capacity, size_t *length);

/* Writes the time of a frame in seconds.

   Must hold: `reel` is a valid reel; `out` is valid for one write. */
mr_status mr_reel_time(const struct mr_reel *reel, uint32_t frame, double *out);

/* Writes the world bounds of everything shown in a frame: min xyz, max xyz, six numbers.

   Must hold: `reel` is a valid reel; `out` has room for six numbers. */
mr_status mr_reel_bounds(const struct mr_reel *reel, uint32_t frame, float *out);

/* Writes a named range of frames, and its name.

   Must hold: `reel` is a valid reel; `out` is null or valid for one write; `name` is null or has room for `capacity`
   bytes; `length` is null or valid for one write. */
mr_status mr_reel_range(const struct mr_reel *reel,
                        uint32_t range,
                        struct mr_range *out,
                        char *name,
                        size_t capacity,
                        size_t *length);

/* Writes the properties of a node.

   Must hold: `reel` is a valid reel; `out` is as large as its `size` says. */
mr_status mr_reel_node(const struct mr_reel *reel, uint32_t node, struct mr_node_info *out);

/* Writes the path of a node in the source.

   Must hold: As for `mr_reel_options`. */
mr_status mr_reel_node_path(const struct mr_reel *reel,
                            uint32_t node,
                            char *out,
                            size_t capacity,
                            size_t *length);

/* Writes the properties of a mesh. The first call for a reel reads the static data of all meshes.

   Must hold: `reel` is a valid reel; `out` is as large as its `size` says. */
mr_status mr_reel_mesh(const struct mr_reel *reel, uint32_t mesh, struct mr_mesh_info *out);

/* Writes the path of a mesh in the source.

   Must hold: As for `mr_reel_options`. */
mr_status mr_reel_mesh_path(const struct mr_reel *reel,
                            uint32_t mesh,
                            char *out,
                            size_t capacity,
                            size_t *length);

/* Writes the properties of a material of a mesh, and its name. `name` and `length` may both be null.

   Must hold: `reel` is a valid reel; `out` is as large as its `size` says; `name` is null or has room for `capacity`
   bytes; `length` is null or valid for one write. */
mr_status mr_reel_material(const struct mr_reel *reel,
                           uint32_t mesh,
                           uint32_t material,
                           struct mr_material_info *out,
                           char *name,
                           size_t capacity,
                           size_t *length);

/* Writes the properties of a stream of a mesh.

   Must hold: `reel` is a valid reel; `out` is as large as its `size` says. */
mr_status mr_reel_stream(const struct mr_reel *reel,
                         uint32_t mesh,
                         uint32_t stream,
                         struct mr_stream_info *out);

/* Writes the 64-bit XXH3 checksum of the data with seed 0, as used in `.reel` files: to compare what two
   builds show.

   Must hold: `data` has `bytes` bytes; `out` is valid for one write. */
mr_status mr_checksum(const void *data, size_t bytes, uint64_t *out);

/* Writes the properties of a rig.

   Must hold: `clips` is from `mr_clips_new`; `out` is as large as its `size` says. */
mr_status mr_clips_rig(const struct mr_clips *clips, uint32_t rig, struct mr_rig_info *out);

/* Writes the joints of a rig, as their numbers in the skeleton.

   Must hold: `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` numbers; `count` is null or valid
   for one write. */
mr_status mr_rig_joints(const struct mr_clips *clips,
                        uint32_t rig,
                        uint32_t *out,
                        size_t capacity,
                        size_t *count);

/* Writes the influences of joints on vertices, in the order of the vertices.

   Must hold: As for `mr_rig_joints`. */
mr_status mr_rig_influences(const struct mr_clips *clips,
                            uint32_t rig,
                            struct mr_influence *out,
                            size_t capacity,
                            size_t *count);

/* Writes a number for each vertex, 0 to 1: the share of dual-quaternion blending. The rest is linear.

   Must hold: As for `mr_rig_joints`. */
mr_status mr_rig_dual_parts(const struct mr_clips *clips,
                            uint32_t rig,
                            float *out,
                            size_t capacity,
                            size_t *count);

/* Computes the matrices that take the bind pose to a pose: one for each joint of the rig, twelve numbers in
   three rows of four. `object` has the object-space matrices of all joints of the skeleton
   (`mr_pose_object_space`).

   Must hold: `clips` is from `mr_clips_new`; `object` has twelve numbers for each of `object_joints`; `out` has room
   for twelve numbers for each of `joints`. */
mr_status mr_rig_matrices(const struct mr_clips *clips,
                          uint32_t rig,
                          const float *object,
                          size_t object_joints,
                          float *out,
                          size_t joints);

/* Computes the positions of all vertices from the matrices of the joints: three numbers per vertex.

   Must hold: `clips` is from `mr_clips_new`; `matrices` has twelve numbers for each of `joints`; `out` has room for
   three numbers for each of `vertices`. */
mr_status mr_rig_positions(const struct mr_clips *clips,
                           uint32_t rig,
                           const float *matrices,
                           size_t joints,
                           float *out,
                           size_t vertices);

/* Writes a clip of a whole file that plays once, at the beginning of the sequence, and leaves nothing. Its
   name is null, and must be set.

   Must hold: `reel` is a valid reel; `out` is valid for one write. */
mr_status mr_sequence_clip_init(const struct mr_reel *reel, uint32_t cache, struct mr_sequence_clip *out);

/* Creates a sequence, at its beginning. Names must be unique, times finite and not negative.

   Must hold: `clips` has `count` clips with their names and events; `out` is valid for one write. */
mr_status mr_sequencer_new(const struct mr_sequence_clip *clips, size_t count, struct mr_sequencer **out);

/* Frees a sequence. Null is allowed.

   Must hold: `sequencer` is null, or has not been freed. */
mr_status mr_sequencer_free(struct mr_sequencer *sequencer);

/* Advances a sequence by `seconds`; `mr_sequencer_next` then returns the actions. Earlier actions that were
   not asked for are lost.

   Must hold: `sequencer` is a valid sequence. */
mr_status mr_sequencer_tick(struct mr_sequencer *sequencer, double seconds);

/* Jumps to a time of the sequence, in seconds; `mr_sequencer_next` then returns the necessary actions.
   Earlier signals are forgotten.

   Must hold: `sequencer` is a valid sequence. */
mr_status mr_sequencer_go_to(struct mr_sequencer *sequencer, double seconds);

/* Gives a signal: starts the clips that wait for it, and ends those that leave on it. The next tick reports
   the actions.

   Must hold: `sequencer` is a valid sequence. */
mr_status mr_sequencer_signal(struct mr_sequencer *sequencer, uint32_t signal);

/* Writes the next action, in order; its kind is `MR_ACTION_KIND_NONE` if there is none.

   Must hold: `sequencer` is a valid sequence; `out` is valid for one write. */
mr_status mr_sequencer_next(struct mr_sequencer *sequencer, struct mr_action *out);

/* Gives the instance that plays a clip the commands of an action. Call it before the player's tick.

   Must hold: `sequencer` is a valid sequence, `action` is valid for one read; `player` is a valid player. */
mr_status mr_sequencer_apply(const struct mr_sequencer *sequencer,
                             const struct mr_action *action,
                             struct mr_player *player,
                             uint64_t instance);

/* Writes the current state of a clip of a sequence.

   Must hold: `sequencer` is a valid sequence; `out` is as large as its `size` says. */
mr_status mr_sequencer_state(const struct mr_sequencer *sequencer,
                             uint32_t clip,
                             struct mr_sequence_state *out);

/* Writes the request of a read.

   Must hold: `read` has not been completed; `out` is as large as its `size` says. */
mr_status mr_read_get(struct mr_read *read, struct mr_read_info *out);

/* Completes a read. If it succeeded, `filled` bytes at the start of its buffer are valid, and `error` is 0;
   otherwise `error` is a number for the message. The read and its buffer belong to the library again.

   Must hold: `read` has not been completed, and nothing writes to its buffer any more. */
mr_status mr_read_complete(struct mr_read *read, uint64_t filled, int32_t error);

/* Writes when the result of a job is needed, in microseconds of the player's ticks: smaller is more urgent.

   Must hold: `job` has neither been run nor dropped; `out` is valid for one write. */
mr_status mr_job_due(const struct mr_job *job, uint64_t *out);

/* Runs a job on the calling thread, and frees it.

   Must hold: `job` has neither been run nor dropped. */
mr_status mr_job_run(struct mr_job *job);

/* Frees a job without running it; its work is cancelled. Null is allowed.

   Must hold: `job` is null, or has neither been run nor dropped. */
mr_status mr_job_drop(struct mr_job *job);

/* Returns the message of the last failed call of this thread, in UTF-8; empty if no call has failed. The
   pointer is valid until the next failure in this thread. */
const char *mr_last_error(void);

/* Returns the version of the library, encoded as `MR_VERSION`. */
uint32_t mr_version(void);

/* Checks that the library fits the header that the caller was compiled with. Call it first, as
   `mr_check_version(MR_VERSION)`. Returns `MR_STATUS_UNSUPPORTED` if the library is older, has another major
   version or, below 1.0, another minor version. */
mr_status mr_check_version(uint32_t header);

/* Returns the name of a status, for messages: a static text, never null. */
const char *mr_status_name(uint32_t status);

/* Returns the bytes of one value of an `mr_format`; 0 if there is no such format. */
size_t mr_format_size(uint32_t format);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MESHREEL_H */
