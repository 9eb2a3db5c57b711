/* meshreel: plays .reel files. Made from the sources of bindings/c by bindings/c/header; not written by hand.
 *
 * Calls. Every function gives an mr_status, but for a few that cannot fail. mr_last_error() has the text of the last
 * failure of the calling thread. No panic and no exception crosses the border: an error of the library is
 * MR_STATUS_PANIC. Null pointers, numbers of nothing and buffers of the wrong size are MR_STATUS_MISUSE, and change
 * nothing.
 *
 * Objects (mr_reel, mr_player and so on) are made by a function that ends in _new or _open, and freed by one that ends
 * in _free, which takes null as nothing. One that was freed must not be used again.
 *
 * Structures that begin with `size` can grow. Set it to their sizeof before the call: both where the library reads, and
 * where it writes. Those without it never change.
 *
 * Lists come by count-then-fill: with a null buffer and capacity 0 the count alone is written; with a buffer that has
 * room for all of it, the list. Buffers are always the caller's. Lengths of texts do not count the zero at their end,
 * capacities do.
 *
 * Names of files and instances of a player are numbers of 64 bits; 0 names nothing.
 *
 * Threads. Each object says who may use it at once; without a word of that, one thread at a time, on any thread.
 * Different objects never need to be kept apart. Functions of the caller's (mr_source, mr_jobs, mr_allocator) are
 * called from other threads. A player with its own threads and without sources of the caller's calls nothing of the
 * caller's in mr_player_tick.
 *
 * Numbers are little-endian in vertex buffers. Matrices have three rows of four, for column vectors. Lengths are in the
 * unit of the file (mr_reel_info).
 */

#ifndef MESHREEL_H
#define MESHREEL_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header: 65,536 times the major, 256 times the minor, and the patch number. */
#define MR_VERSION 256

/* No number: a node without a parent or mesh, a joint without a parent, all materials. */
#define MR_NONE 4294967295

/* How a call ended. Everything but `MR_STATUS_OK` leaves what the call should have written as it was, but
   for the counts of lists; `mr_last_error` says what is wrong and what to do. */
enum mr_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* It did what it should. */
    MR_STATUS_OK = 0,
    /* The system, or a source of the caller's, could not read. */
    MR_STATUS_IO = 1,
    /* The bytes break the rules of the format. */
    MR_STATUS_MALFORMED = 2,
    /* Valid, but from a newer writer, or of a newer header. */
    MR_STATUS_UNSUPPORTED = 3,
    /* More than the limits allow. */
    MR_STATUS_LIMIT = 4,
    /* The caller is wrong: a null pointer, a number of nothing, a buffer that is too small. */
    MR_STATUS_MISUSE = 5,
    /* An error of this library, caught at its border. The object of the call can only be freed. */
    MR_STATUS_PANIC = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_status mr_status;
#else
typedef uint32_t mr_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* When the mesh of a node is shown. */
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

/* How the positions of a mesh are predicted. */
enum mr_method
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* They do not change. */
    MR_METHOD_STATIC = 0,
    /* Any motion of fixed triangles. */
    MR_METHOD_SOFT = 1,
    /* Parts move as they are. */
    MR_METHOD_RIGID = 2,
    /* Points follow bones. */
    MR_METHOD_SKINNED = 3,
    /* Triangles change from frame to frame. */
    MR_METHOD_FLUID = 4,
    /* No triangles: particles, or the points of curves. */
    MR_METHOD_PARTICLES = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_method mr_method;
#else
typedef uint32_t mr_method;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* How curves run between their points. */
enum mr_curve_basis
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* There are no curves. */
    MR_CURVE_BASIS_NONE = 0,
    /* By lines. */
    MR_CURVE_BASIS_LINEAR = 1,
    /* Cubic, Bézier. */
    MR_CURVE_BASIS_BEZIER = 2,
    /* Cubic, B-splines. */
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

/* How curves end. */
enum mr_curve_ends
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Where their basis has them end. */
    MR_CURVE_ENDS_OPEN = 0,
    /* The last point is next to the first. */
    MR_CURVE_ENDS_CLOSED = 1,
    /* At their first and last point. */
    MR_CURVE_ENDS_PINNED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_curve_ends mr_curve_ends;
#else
typedef uint32_t mr_curve_ends;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* A value of a vertex. In which formats each can be written, `mr_format` says. */
enum mr_channel
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* In object space. */
    MR_CHANNEL_POSITION = 0,
    /* Of length 1. */
    MR_CHANNEL_NORMAL = 1,
    /* xyz of length 1, w the sign of the bitangent cross(normal, tangent) · w. */
    MR_CHANNEL_TANGENT = 2,
    /* A quaternion that turns x to the tangent and z to the normal; the sign of w is the bitangent's. */
    MR_CHANNEL_TANGENT_FRAME = 3,
    /* Texture coordinates, of a set. */
    MR_CHANNEL_UV = 4,
    /* Colours, of a set. */
    MR_CHANNEL_COLOUR = 5,
    /* In object space, per second: as the source says of particles and of meshes whose triangles change,
       else by the difference of the frames. */
    MR_CHANNEL_VELOCITY = 6,
    /* How wide particles or curves are: diameters. */
    MR_CHANNEL_WIDTH = 7,
    /* Numbers that somebody attached to particles or curves, one each, of a set. */
    MR_CHANNEL_CUSTOM1 = 8,
    /* Two each. */
    MR_CHANNEL_CUSTOM2 = 9,
    /* Three each. */
    MR_CHANNEL_CUSTOM3 = 10,
    /* Four each. */
    MR_CHANNEL_CUSTOM4 = 11,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_channel mr_channel;
#else
typedef uint32_t mr_channel;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The numbers that a value is written in, little-endian. Signed ones are ±127 and ±32,767 for ±1. */
enum mr_format
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Uvs. */
    MR_FORMAT_F32X2 = 0,
    /* Positions, normals, velocities. */
    MR_FORMAT_F32X3 = 1,
    /* Positions (w = 1), tangents, colours. */
    MR_FORMAT_F32X4 = 2,
    /* Uvs. */
    MR_FORMAT_F16X2 = 3,
    /* Velocities (w = 0). */
    MR_FORMAT_F16X4 = 4,
    /* Colours. */
    MR_FORMAT_U8X4 = 5,
    /* Uvs, 0 to 65,535 over the range of the set. */
    MR_FORMAT_U16X2 = 6,
    /* Positions, 0 to 65,535 over the bounds of the mesh, w = 65,535. */
    MR_FORMAT_U16X4 = 7,
    /* Normals, octahedral. */
    MR_FORMAT_I8X2 = 8,
    /* Tangents, octahedral, then the sign and 0. */
    MR_FORMAT_I8X4 = 9,
    /* Normals, octahedral. */
    MR_FORMAT_I16X2 = 10,
    /* Tangents, octahedral, then the sign and 0; tangent frames. */
    MR_FORMAT_I16X4 = 11,
    /* Widths; attached numbers, and those of 2, 3 and 4 as `MR_FORMAT_F32X2`, `X3`, `X4`. */
    MR_FORMAT_F32 = 12,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_format mr_format;
#else
typedef uint32_t mr_format;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* What an instance's clock does at the ends of its range. */
enum mr_repeat
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Stays at the last frame. */
    MR_REPEAT_ONCE = 0,
    /* Goes on at the other end. */
    MR_REPEAT_LOOP = 1,
    /* As `MR_REPEAT_LOOP`, and the last frame leads to the first. */
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

/* What an instance is told. Times are seconds of animation from the first frame. */
enum mr_command_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Goes on, or starts; starts anew after the end. */
    MR_COMMAND_KIND_PLAY = 0,
    /* Stays where it is, and keeps being shown. */
    MR_COMMAND_KIND_PAUSE = 1,
    /* Back to the start, not shown. */
    MR_COMMAND_KIND_STOP = 2,
    /* Back to the start, playing or not as before. */
    MR_COMMAND_KIND_RESET = 3,
    /* Jumps to the time `a`. */
    MR_COMMAND_KIND_GO_TO = 4,
    /* Jumps to the frame `number`. */
    MR_COMMAND_KIND_GO_TO_FRAME = 5,
    /* `a` seconds of animation per second; negative backwards. */
    MR_COMMAND_KIND_RATE = 6,
    /* `number` is an `mr_repeat`. */
    MR_COMMAND_KIND_REPEAT = 7,
    /* Plays only from the time `a` to the time `b`. */
    MR_COMMAND_KIND_RANGE = 8,
    /* Plays only from the frame `number` to the frame `last`, both included. */
    MR_COMMAND_KIND_FRAMES = 9,
    /* Starts at the time `a`. */
    MR_COMMAND_KIND_START_AT = 10,
    /* `a` seconds pass before the position moves. */
    MR_COMMAND_KIND_DELAY = 11,
    /* `a` seconds must be there before playing starts. */
    MR_COMMAND_KIND_PRE_ROLL = 12,
    /* Streams from the time `a` on as well. */
    MR_COMMAND_KIND_STREAM_AT = 13,
    /* Streams where it plays. */
    MR_COMMAND_KIND_STREAM_HERE = 14,
    /* Between two frames where `number` is not 0, as at first, else the earlier one. */
    MR_COMMAND_KIND_INTERPOLATE = 15,
    /* Every second frame is left out where `number` is not 0. */
    MR_COMMAND_KIND_HALF_RATE = 16,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_command_kind mr_command_kind;
#else
typedef uint32_t mr_command_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* What happened to a file or an instance. */
enum mr_event_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Nothing more happened. */
    MR_EVENT_KIND_NONE = 0,
    /* The file is open and can be played. */
    MR_EVENT_KIND_OPENED = 1,
    /* The file is open and has no frames, only clips. */
    MR_EVENT_KIND_NO_FRAMES = 2,
    /* The file could not be opened; `status` says of which class that is. */
    MR_EVENT_KIND_OPEN_FAILED = 3,
    /* Reads fail. Its instances keep what they show; it is tried again. */
    MR_EVENT_KIND_READ_FAILED = 4,
    /* Bytes of it are wrong. Frames that need them are not shown, others are. */
    MR_EVENT_KIND_DAMAGED = 5,
    /* All that failed has been read. */
    MR_EVENT_KIND_RECOVERED = 6,
    /* The heap has no room for the instance. */
    MR_EVENT_KIND_REFUSED = 7,
    /* There is room for an instance that was refused. */
    MR_EVENT_KIND_ADMITTED = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_event_kind mr_event_kind;
#else
typedef uint32_t mr_event_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* What the numbers of a part attribute belong to. */
enum mr_group_of
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* All of the mesh is group 0. */
    MR_GROUP_OF_MESH = 0,
    /* Each part has a group. */
    MR_GROUP_OF_PARTS = 1,
    /* Each vertex has a group. */
    MR_GROUP_OF_VERTICES = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_group_of mr_group_of;
#else
typedef uint32_t mr_group_of;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* How a clip is kept. */
enum mr_clip_codec
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Segment by segment. */
    MR_CLIP_CODEC_SAMPLED = 0,
    /* Keys and splines. */
    MR_CLIP_CODEC_CURVE = 1,
    /* Each sample by itself. */
    MR_CLIP_CODEC_RANDOM_ACCESS = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_clip_codec mr_clip_codec;
#else
typedef uint32_t mr_clip_codec;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* How times between samples are taken. */
enum mr_rounding
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Interpolated. */
    MR_ROUNDING_NONE = 0,
    /* The sample before. */
    MR_ROUNDING_FLOOR = 1,
    /* The sample after. */
    MR_ROUNDING_CEIL = 2,
    /* The nearer one. */
    MR_ROUNDING_NEAREST = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_rounding mr_rounding;
#else
typedef uint32_t mr_rounding;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* How an additive pose lies on a base. */
enum mr_additive
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* In the base's space: base · additive. */
    MR_ADDITIVE_RELATIVE = 0,
    /* Rotations multiplied, translations added, scales multiplied. */
    MR_ADDITIVE_ADDITIVE0 = 1,
    /* Rotations multiplied, translations added, scales multiplied by 1 + the additive one's. */
    MR_ADDITIVE_ADDITIVE1 = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_additive mr_additive;
#else
typedef uint32_t mr_additive;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* A pass of the shader, in the order in which they run. */
enum mr_gpu_pass
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Points that bones move. */
    MR_GPU_PASS_POINTS = 0,
    /* Normals of groups. */
    MR_GPU_PASS_NORMALS = 1,
    /* Tangents of classes. */
    MR_GPU_PASS_TANGENTS = 2,
    /* Vertices in the layout. */
    MR_GPU_PASS_VERTICES = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_gpu_pass mr_gpu_pass;
#else
typedef uint32_t mr_gpu_pass;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* When a clip of a sequence starts. */
enum mr_start
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* `start_seconds` after the sequence began. */
    MR_START_AT = 0,
    /* `start_seconds` after each end of the clip `start_number`. */
    MR_START_AFTER = 1,
    /* When the signal `start_number` comes. */
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

/* How a signal ends a clip of a sequence. */
enum mr_leave
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* None does. */
    MR_LEAVE_NEVER = 0,
    /* `leave_signal` does, in the same moment. */
    MR_LEAVE_AT_ONCE = 1,
    /* `leave_signal` does, when the play is over that is going on. */
    MR_LEAVE_AT_SEAM = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_leave mr_leave;
#else
typedef uint32_t mr_leave;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* What stays of a clip of a sequence when it is over. */
enum mr_end
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Nothing, and its buffers are free. */
    MR_END_NOTHING = 0,
    /* Its last frame, with all its buffers. */
    MR_END_HOLD = 1,
    /* The static mesh `end_number`, by a number of the caller's. */
    MR_END_MESH = 2,
    /* The clip `end_number`, which starts in the same moment. */
    MR_END_CLIP = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_end mr_end;
#else
typedef uint32_t mr_end;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* What happened in a sequence. */
enum mr_action_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Nothing more. */
    MR_ACTION_KIND_NONE = 0,
    /* The static data and first frames of the clip will be needed. */
    MR_ACTION_KIND_STREAM = 1,
    /* It begins to play. */
    MR_ACTION_KIND_START = 2,
    /* It begins to play once more: `number` says which play this is, counted from 0. */
    MR_ACTION_KIND_TURN = 3,
    /* The position passed the event `number`. */
    MR_ACTION_KIND_EVENT = 4,
    /* It is over. */
    MR_ACTION_KIND_END = 5,
    /* After a jump: it is as if it had never been. */
    MR_ACTION_KIND_REMOVE = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_action_kind mr_action_kind;
#else
typedef uint32_t mr_action_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The stage of its life that a clip of a sequence is in. */
enum mr_stage
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /* Not started yet, or taken back by a jump. */
    MR_STAGE_IDLE = 0,
    /* Not started, but streaming already. */
    MR_STAGE_STREAMING = 1,
    /* It plays. */
    MR_STAGE_PLAYING = 2,
    /* It is over. */
    MR_STAGE_ENDED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum mr_stage mr_stage;
#else
typedef uint32_t mr_stage;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/* The cameras of a file. Several threads can use them at once; they live on without the file. */
typedef struct mr_cameras mr_cameras;

/* The clips, skeletons and rigs of a file. Several threads can use them at once; what is made of them lives
   on without them. */
typedef struct mr_clips mr_clips;

/* A place in a clip, with the memory that playing it needs. One thread at a time uses it; it keeps its clip
   alive. */
typedef struct mr_cursor mr_cursor;

/* Decodes frames of one file in any order, into memory that it allocated once. One thread at a time uses it
   and its frame. */
typedef struct mr_decoder mr_decoder;

/* What is shown at a moment. One of a player is the caller's own, can be kept over ticks, sent to other
   threads and used by several at once, and holds its memory until `mr_frame_free`; one of a decoder is lent
   by it. */
typedef struct mr_frame mr_frame;

/* What a card has to do for a file. One thread at a time uses it. */
typedef struct mr_gpu_plan mr_gpu_plan;

/* Which frame lies in which slot of the ring. */
typedef struct mr_gpu_ring mr_gpu_ring;

/* A job of a player, to be run once by the caller's threads. */
typedef struct mr_job mr_job;

/* The part attributes of what a node shows. Several threads can use them at once. */
typedef struct mr_part_attributes mr_part_attributes;

/* Plays any number of files in a heap of fixed size. One thread at a time uses it; the frames that it gives
   can be used by others. */
typedef struct mr_player mr_player;

/* A read of a player that a source has begun, to be completed once. */
typedef struct mr_read mr_read;

/* An open file. Several threads can use it at once; what is made of it lives on without it. */
typedef struct mr_reel mr_reel;

/* A sequence of clips: a state machine that knows no files. One thread at a time uses it. */
typedef struct mr_sequencer mr_sequencer;

/* A camera. Where it is in a frame, its node says: it looks along −z, with y upwards. */
typedef struct mr_camera_info {
    /* Bytes of this structure. */
    size_t size;
    /* The node that it stands at. */
    uint32_t node;
    /* 1 where anything of the lens changes. */
    uint32_t animated;
} mr_camera_info;

/* A moment: two frames, and how far from the first to the second, 0 to below 1. */
typedef struct mr_pair {
    uint32_t first;
    uint32_t second;
    float blend;
} mr_pair;

/* What a lens says at a moment. */
typedef struct mr_lens {
    /* Bytes of this structure. */
    size_t size;
    /* Millimetres. */
    float focal_length;
    /* Width and height of the picture plane, millimetres; of an orthographic camera the size of what is
       seen, in tenths of the file's unit. */
    float aperture[2];
    /* Where its middle is beside the axis, millimetres. */
    float aperture_offset[2];
    /* How much wider a lens that squeezes shows the picture; 1 for none. */
    float squeeze;
    /* How much more is drawn on the left, right, top and bottom, as parts of the picture. */
    float overscan[4];
    /* Focal length over the diameter of the opening; 0: all is sharp. */
    float f_stop;
    /* Where all is sharp, in the file's unit. */
    float focus_distance;
    /* When the shutter opens and closes, seconds from the frame's time. */
    float shutter[2];
    /* The nearest and the farthest distance that is drawn, in the file's unit. */
    float clipping[2];
    /* 1 without perspective. */
    uint32_t orthographic;
    /* The angle of view upwards, radians; 0 where it is orthographic. */
    float vertical_angle;
} mr_lens;

/* How many there are. */
typedef struct mr_clips_info {
    /* Bytes of this structure. */
    size_t size;
    uint32_t clips;
    uint32_t skeletons;
    uint32_t rigs;
} mr_clips_info;

/* A clip. */
typedef struct mr_clip_info {
    /* Bytes of this structure. */
    size_t size;
    /* Samples per second. */
    double fps;
    /* Seconds from the first to the last sample. */
    double duration;
    /* Time of the first sample in the source, in seconds; all times of a clip count from it. */
    double start;
    /* Promised: the largest distance of any point of any joint from the source's, in its units. */
    double tolerance;
    /* Bytes that it takes in the file. */
    uint64_t file_bytes;
    /* Number of its skeleton. */
    uint32_t skeleton;
    /* Joints: the length of a pose. */
    uint32_t joints;
    /* Samples, at least 1. */
    uint32_t samples;
    /* Layers of joints; 0 where it is in one piece. */
    uint32_t layers;
    /* Scalar tracks. */
    uint32_t scalars;
    /* Markers. */
    uint32_t markers;
    /* An `mr_clip_codec`. */
    uint32_t codec;
} mr_clip_info;

/* Rotation x y z w, of length 1, translation and scale: point to rotation · (scale ∘ point) + translation. */
typedef struct mr_transform {
    float rotation[4];
    float translation[3];
    float scale[3];
} mr_transform;

/* What is asked of a clip. */
typedef struct mr_query {
    /* Seconds after the first sample. */
    double seconds;
    /* 0: beyond its ends the first or last sample stands; else it starts over. */
    uint32_t wraps;
    /* An `mr_rounding`. */
    uint32_t rounding;
} mr_query;

/* A step in time, seconds after the first sample; `to` may be the smaller. */
typedef struct mr_step {
    double from;
    double to;
    /* 0: it ends at the clip's ends; else that starts over, any number of times. */
    uint32_t wraps;
    /* 0. */
    uint32_t reserved;
} mr_step;

/* A marker that a step passes. */
typedef struct mr_passed {
    /* When, on the axis of the step. */
    double seconds;
    /* Its number in the clip. */
    uint32_t marker;
    /* 0. */
    uint32_t reserved;
} mr_passed;

/* Something that happened; each is told once. */
typedef struct mr_event {
    /* Bytes of this structure. */
    size_t size;
    /* The file, or 0. */
    uint64_t file;
    /* The instance, or 0. */
    uint64_t instance;
    /* Bytes of the heap that a refused instance needs. */
    uint64_t needed;
    /* Bytes of the heap that were left for it. */
    uint64_t left;
    /* An `mr_event_kind`. */
    uint32_t kind;
    /* The class of the error, an `mr_status`, or `MR_STATUS_OK`. */
    uint32_t status;
    /* What is wrong, in UTF-8, with a zero at its end; cut where it is longer. */
    char text[256];
} mr_event;

/* A player as a whole. */
typedef struct mr_statistics {
    /* Bytes of this structure. */
    size_t size;
    /* Ticks so far. */
    uint64_t ticks;
    /* Bytes of the heap. */
    uint64_t heap_bytes;
    /* Bytes of it that are not free. */
    uint64_t heap_used;
    /* Bytes of it that are wanted or in use. */
    uint64_t heap_held;
    /* Most bytes of it that were not free at once. */
    uint64_t heap_peak;
    /* Seconds that threads have spent decoding, together. */
    double decode_seconds;
    /* Instances that there are. */
    uint32_t instances;
    /* Instances for which the heap has no room. */
    uint32_t refused;
    /* Reads and units in flight. */
    uint32_t in_flight;
    /* Open files. */
    uint32_t streams;
    /* Ticks of instances without the frame that should have been shown, of all open files. */
    uint64_t missed;
    /* Bytes asked of the disk, for all open files. */
    uint64_t bytes_read;
    /* Frames decoded, of all open files. */
    uint64_t frames_decoded;
    /* Reads that failed, of all open files. */
    uint64_t read_errors;
    /* Units with wrong bytes, of all open files. */
    uint64_t damaged;
} mr_statistics;

/* A moment of a file. */
typedef struct mr_frame_info {
    /* Bytes of this structure. */
    size_t size;
    /* The file, of a player's frame: with the number of a frame the key of what was made of it. Else 0. */
    uint64_t file;
    /* Frame at blend 0. */
    uint32_t first;
    /* Frame at blend 1. */
    uint32_t second;
    /* How far from the first to the second, 0 to below 1. */
    float blend;
    /* 1: this is not what should be shown, which is not there yet, but what was shown last. */
    uint32_t late;
    /* Number of nodes. */
    uint32_t nodes;
    /* World bounds of all that is shown: min xyz, max xyz; min above max where that is nothing. */
    float bounds[6];
} mr_frame_info;

/* The mesh of a node at a moment. */
typedef struct mr_mesh_state {
    /* Bytes of this structure. */
    size_t size;
    /* Its number in the file. */
    uint32_t mesh;
    /* Vertices at this moment. */
    uint32_t vertices;
    /* Indices at this moment, three per triangle. */
    uint32_t indices;
    /* Materials, each a range of the indices. */
    uint32_t materials;
    /* Levels of detail, the mesh itself being one. */
    uint32_t lods;
    /* 1: triangles and number of vertices change with the frames. */
    uint32_t fluid;
    /* The frames that it is between; the first twice where that is all that is shown. */
    uint32_t frames[2];
    /* How far from the first to the second. */
    float blend;
    /* 1: it has normals that change; 2: normals that do not; 0: none. The same of tangents, uvs and colours
       of set 0. */
    uint32_t normals;
    /* As of normals. */
    uint32_t tangents;
    /* As of normals. */
    uint32_t uvs;
    /* As of normals. */
    uint32_t colours;
    /* 1: positions change. */
    uint32_t moves;
    /* Object bounds over all frames, in which positions of `MR_FORMAT_U16X4` are measured: min xyz, max xyz. */
    float bounds[6];
    /* Smallest u and v of set 0 and the sizes of their ranges, in which uvs of `MR_FORMAT_U16X2` are
       measured; zeros where there is none. */
    float uv_range[4];
} mr_mesh_state;

/* One value of a vertex. */
typedef struct mr_attribute {
    /* An `mr_channel`. */
    uint32_t channel;
    /* Number of the set of uvs, colours or attached numbers; else 0. */
    uint32_t set;
    /* An `mr_format`. */
    uint32_t format;
    /* Bytes from the start of the vertex. */
    uint32_t offset;
} mr_attribute;

/* A vertex of the caller's. */
typedef struct mr_vertex_layout {
    /* What a vertex has; what it has besides stays as it is. */
    const struct mr_attribute *attributes;
    /* Number of attributes, at most 32. */
    size_t count;
    /* Bytes from a vertex to the next. */
    size_t stride;
} mr_vertex_layout;

/* A range of a list of indices. */
typedef struct mr_range {
    /* The first index. */
    uint32_t first;
    /* How many: three per triangle. */
    uint32_t count;
} mr_range;

/* A level of detail. */
typedef struct mr_lod_info {
    /* Bytes of this structure. */
    size_t size;
    /* Its indices, three per triangle. */
    uint32_t indices;
    /* Largest distance between level and mesh in any frame, in object units; 0 of the mesh itself. */
    float error;
    /* Vertices that `mr_frame_lod_becomes` has: all, or 0 of the mesh itself. */
    uint32_t becomes;
} mr_lod_info;

/* Settings of a plan. All 0: the defaults. */
typedef struct mr_gpu_options {
    /* Bytes of this structure. */
    size_t size;
    /* Bytes of the largest buffer that can be bound; 0: 128 MiB, WebGPU's default limit. */
    uint64_t most;
    /* Moments whose vertices are kept: 1, or 2 for motion vectors; 0: 1. */
    uint32_t moments;
    /* Invocations of a workgroup, a power of two of at most 1024; 0: 256. */
    uint32_t group;
} mr_gpu_options;

/* A plan as a whole. A word has four bytes. */
typedef struct mr_gpu_info {
    /* Bytes of this structure. */
    size_t size;
    /* Bytes on the card once a file: fixed words, and what lies between passes. */
    uint64_t fixed_bytes;
    /* Bytes of the vertices of all meshes, of one moment. */
    uint64_t vertex_bytes;
    /* Words of a slot of the ring: a frame of all meshes. */
    uint32_t slot_words;
    /* Words behind all slots of the ring, of meshes of which nothing is animated. */
    uint32_t still_words;
    /* Meshes. */
    uint32_t meshes;
    /* Batches of meshes that share buffers. */
    uint32_t batches;
    /* Bytes of the parameters of a mesh. */
    uint32_t params_bytes;
    /* Invocations of a workgroup. */
    uint32_t group;
} mr_gpu_info;

/* Where a mesh lies in the buffers. Places and sizes are in words. */
typedef struct mr_gpu_mesh {
    /* Bytes of this structure. */
    size_t size;
    /* Its batch. */
    uint32_t batch;
    /* The first of its vertices in the batch's buffer. */
    uint32_t vertices;
    /* Its place in a slot, or behind all slots. */
    uint32_t slot;
    /* Words of that. */
    uint32_t slot_words;
    /* 1: nothing of it is animated, so it lies behind all slots. */
    uint32_t still;
    /* A bit for each `mr_gpu_pass` that it needs. */
    uint32_t passes;
} mr_gpu_mesh;

/* Words of the buffers of a batch. */
typedef struct mr_gpu_batch {
    /* Bytes of this structure. */
    size_t size;
    /* Fixed words (`mr_gpu_plan_fixed`). */
    uint64_t fixed_words;
    /* Words between the passes. */
    uint64_t scratch_words;
    /* Words of the vertices of one moment. */
    uint64_t vertex_words;
} mr_gpu_batch;

/* A constant that a pipeline is made with (an override of the shader). */
typedef struct mr_gpu_constant {
    /* Its name, with a zero at its end. */
    char name[24];
    /* Its value. */
    double value;
} mr_gpu_constant;

/* Where the frames of a moment lie in the ring. */
typedef struct mr_gpu_moment {
    /* Number of the slot of the first frame. */
    uint32_t first;
    /* Number of the slot of the second frame. */
    uint32_t second;
    /* Slots of the ring. */
    uint32_t slots;
    /* The word at which the vertices of this moment begin in the buffers of batches. */
    uint32_t vertices;
} mr_gpu_moment;

/* A dispatch over meshes of one batch that have the same pipelines. */
typedef struct mr_gpu_dispatch {
    /* An `mr_gpu_pass`. */
    uint32_t pass;
    /* Its batch. */
    uint32_t batch;
    /* One of the meshes: which pipeline it is. */
    uint32_t mesh;
    /* The first of its workgroups in `mr_gpu_plan_work`, from which on that is bound. */
    uint32_t first;
    /* Workgroups in x and y. */
    uint32_t groups[2];
} mr_gpu_dispatch;

/* The number of the slot in which a frame lies or is to be put. */
typedef struct mr_gpu_place {
    /* Number of the slot, or `MR_NONE` where all hold what is shown now. */
    uint32_t slot;
    /* 1: it is to be put there, what was there is gone. */
    uint32_t is_new;
} mr_gpu_place;

/* Distances at which levels of detail end. */
typedef struct mr_lod_distances {
    /* Where level i ends, ascending; infinite for levels without an end. */
    float ends[7];
    /* The part of a distance by which one must come back nearer, so that nothing flickers: 0.05. */
    float margin;
} mr_lod_distances;

/* A part attribute. */
typedef struct mr_part_attribute_info {
    /* Bytes of this structure. */
    size_t size;
    /* Numbers of a group, 1 to 4. */
    uint32_t components;
    /* Groups that have numbers of their own. */
    uint32_t groups;
    /* What has a group: an `mr_group_of`. */
    uint32_t of;
    /* How many of these there are. */
    uint32_t members;
} mr_part_attribute_info;

/* What a file may make the library allocate. `mr_limits_init` writes the defaults, which any sane asset
   keeps. */
typedef struct mr_limits {
    /* Bytes of this structure. */
    size_t size;
    /* Bytes of one chunk, in the file and decompressed. */
    uint64_t max_chunk;
    /* Frames of a file. */
    uint64_t max_frames;
    /* Chunks of a file. */
    uint64_t max_chunks;
    /* Vertices of all meshes together. */
    uint64_t max_vertices;
    /* Nodes and meshes together. */
    uint64_t max_objects;
    /* Bytes that an open file may take with its static data and one decoder. */
    uint64_t max_memory;
    /* 0: animated normals, tangents, uvs and colours of meshes of fixed topology are neither decoded nor
       held. */
    uint32_t attributes;
    /* 0: points that bones move are not put where they are, for those who do that on a graphics card:
       positions, normals and tangents of such meshes cannot be written. */
    uint32_t poses;
} mr_limits;

/* The caller's threads, which decode instead of the player's. */
typedef struct mr_jobs {
    /* Bytes of this structure. */
    size_t size;
    /* The first argument of the functions. */
    void *user;
    /* Runs `mr_job_run(job)` soon, on any thread. Called from the tick and from running jobs; must neither
       wait nor throw. Each job must be run or dropped once. */
    void (*start)(void *user, struct mr_job *job);
    /* Called once, when `start` is not going to be called any more; may be null. Jobs may still be there. */
    void (*release)(void *user);
    /* Most jobs that run at the same time, 1 to 1024. */
    uint32_t threads;
} mr_jobs;

/* Where the heap of a player comes from. It is asked for once, when the player is made, and given back when
   the player and all frames that it lent are gone, on whichever thread that is. */
typedef struct mr_allocator {
    /* Bytes of this structure. */
    size_t size;
    /* The first argument of the functions. */
    void *user;
    /* So many bytes at a multiple of `alignment`, a power of two, of any content; null where there are none. */
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    /* Takes them back. */
    void (*release)(void *user, void *memory, size_t bytes);
} mr_allocator;

/* Settings of a player. `mr_player_options_init` writes the defaults. */
typedef struct mr_player_options {
    /* Bytes of this structure. */
    size_t size;
    /* Bytes of the heap, in which everything of size lies that is read and decoded: 128 MiB. */
    uint64_t heap;
    /* Files whose frames, decoded, take no more bytes than this are decoded once and kept: 16 MiB. */
    uint64_t resident;
    /* Bytes that one read has, if as much is wanted: 1 MiB. */
    uint64_t read_size;
    /* Bytes beside the heap that a file may take; 0: four times the heap and 16 MiB. */
    uint64_t file_memory;
    /* Limits of the files that are opened; null: the defaults. Read when the player is made. */
    const struct mr_limits *limits;
    /* The caller's threads for jobs; null: the player's own. Read when the player is made. */
    const struct mr_jobs *jobs;
    /* Where the heap comes from; null: the system. Read when the player is made. */
    const struct mr_allocator *allocator;
    /* Threads that decode; 0: the tick does it, and opens files. As many as there are cores, less one. */
    uint32_t threads;
    /* Threads that read files; 0: the tick does it. 2. */
    uint32_t read_threads;
    /* Seconds before they are shown that frames are decoded: 0.4. */
    float decode_ahead;
    /* A read is issued as soon as something is missing so many seconds ahead: 1. */
    float least_read_ahead;
    /* Seconds ahead for which reads are made at most: 4. */
    float most_read_ahead;
    /* Seconds without a visible instance after which a file's static data is given up too: 5. */
    float unload_after;
} mr_player_options;

/* Bytes of a file that the caller reads, from a pack file, a network, an engine's file system.

   The functions are called from threads of the library, several at once, until `release` has been called.
   They must not throw, and must not call functions of the object that they read for. */
typedef struct mr_source {
    /* Bytes of this structure. */
    size_t size;
    /* The first argument of the functions. */
    void *user;
    /* Length of the file in bytes. It does not change. */
    uint64_t bytes;
    /* Fills `count` bytes from `offset` on and gives 0; anything else is a number for the message of the
       error, which is of class `MR_STATUS_IO`. May wait. A reel needs it; a player can have `start` instead. */
    int32_t (*read)(void *user, uint64_t offset, void *out, size_t count);
    /* Begins to read and gives back at once, for players only: `mr_read_get` says what, `mr_read_complete`
       ends it, on any thread, within this call as well. Called from the tick. Every read must be completed
       once. */
    void (*start)(void *user, struct mr_read *read);
    /* The result of a read that was begun is no longer wanted; it must be completed all the same, in any
       way. May be null. */
    void (*cancel)(void *user, uint64_t token);
    /* Called once, when nothing is going to call the others: with the last object that reads from it, or
       before the function that was given the source returns, where that fails (not where it could not read
       this structure). May be null. */
    void (*release)(void *user);
} mr_source;

/* A command; what its kind does not name is not looked at. */
typedef struct mr_command {
    /* An `mr_command_kind`. */
    uint32_t kind;
    uint32_t number;
    uint32_t last;
    /* 0. */
    uint32_t reserved;
    double a;
    double b;
} mr_command;

/* The clock of an instance. */
typedef struct mr_clock {
    /* Bytes of this structure. */
    size_t size;
    /* Seconds from the first frame. */
    double position;
    /* Seconds of all frames. */
    double duration;
    /* Seconds of animation per second that were asked for. */
    double rate;
    /* Ticks without the frame that should have been shown. */
    uint64_t missed;
    /* Ticks between a start or jump and its first frame. */
    uint64_t seek_wait_ticks;
    /* 1: the file is open, and the numbers before mean something. */
    uint32_t open;
    /* 1: neither stopped nor paused. */
    uint32_t playing;
    /* 1: neither shown nor streamed. */
    uint32_t stopped;
    /* 1: it would play, but what the pre-roll asks for is not there yet. */
    uint32_t waiting;
    /* 1: played to the end, and not to be repeated. */
    uint32_t ended;
    /* 1: the heap has no room for it. */
    uint32_t refused;
} mr_clock;

/* A file as a whole. */
typedef struct mr_reel_info {
    /* Bytes of this structure. */
    size_t size;
    /* Bytes of the file. */
    uint64_t file_bytes;
    /* Compressed bytes of all frames. */
    uint64_t frame_bytes;
    /* Bytes of memory that it takes with its static data and one decoder. */
    uint64_t memory;
    /* Frames per second that the source names; 0: none. */
    double fps;
    /* Period of a closed cycle in seconds; 0: it is none. */
    double period;
    /* Time of the first frame in seconds. */
    double start;
    /* Time of the last frame in seconds. */
    double end;
    /* Number of frames; can be 0. */
    uint32_t frames;
    /* Number of nodes; parents stand before children. */
    uint32_t nodes;
    /* Number of meshes. */
    uint32_t meshes;
    /* Named ranges of frames. */
    uint32_t ranges;
    /* Unit of lengths: 0 unknown, 1 m, 2 cm, 3 mm, 4 inch. */
    uint32_t unit;
    /* 1: frames lie in layers, so that every second one can be left out (`MR_COMMAND_KIND_HALF_RATE`). */
    uint32_t layered;
} mr_reel_info;

/* A node. */
typedef struct mr_node_info {
    /* Bytes of this structure. */
    size_t size;
    /* Promised: the largest distance of any vertex from the source's, in world units. */
    double tolerance;
    /* Its transform where it does not move, else that of the first frame. */
    struct mr_transform rest;
    /* Number of its parent, which is smaller than its own, or `MR_NONE`. */
    uint32_t parent;
    /* Number of its mesh, or `MR_NONE`. */
    uint32_t mesh;
    /* When its mesh is shown. */
    mr_visibility visibility;
    /* 1: it has a transform of its own in each frame. */
    uint32_t animated;
    /* 1: the vertices of its mesh are in world space, and its transform is the identity. */
    uint32_t baked;
    /* Above 0: a locator, which shows no mesh and is there for its own sake. */
    float reach;
} mr_node_info;

/* A mesh. */
typedef struct mr_mesh_info {
    /* Bytes of this structure. */
    size_t size;
    /* How its positions are predicted. */
    mr_method method;
    /* Vertices; the most of any frame where triangles change. */
    uint32_t vertices;
    /* Indices, three per triangle; the most of any frame where triangles change. */
    uint32_t indices;
    /* Points of the source mesh. */
    uint32_t source_points;
    /* Materials, each a range of the indices. */
    uint32_t materials;
    /* Streams of values: positions, normals, uvs and so on. */
    uint32_t streams;
    /* Levels of detail, the mesh itself being one. */
    uint32_t lods;
    /* Object bounds over all frames: min xyz, max xyz. */
    float bounds[6];
    /* Up to the first of these frames it stands still, as it does from the second on. */
    uint32_t moves[2];
    /* 1: particles that are known by ids (`mr_frame_ids`). */
    uint32_t ids;
    /* How curves run. */
    mr_curve_basis curve_basis;
    /* How curves end. */
    mr_curve_ends curve_ends;
    /* The most curves of any frame (`mr_frame_curves`). */
    uint32_t curves;
} mr_mesh_info;

/* A material of a mesh. */
typedef struct mr_material_info {
    /* Bytes of this structure. */
    size_t size;
    /* The first number in its name, else its order. */
    uint32_t id;
    /* Its indices; of a mesh whose triangles change `mr_frame_materials` has them. */
    struct mr_range range;
} mr_material_info;

/* A stream of values of a mesh's vertices. */
typedef struct mr_stream_info {
    /* Bytes of this structure. */
    size_t size;
    /* Promised error: positions in object units, directions in degrees, uvs and colours in their own. */
    double tolerance;
    /* An `mr_channel`; normals and tangents together are `MR_CHANNEL_TANGENT_FRAME`. */
    uint32_t channel;
    /* Number of the set of uvs or colours. */
    uint32_t set;
    /* 1: it changes from frame to frame. */
    uint32_t animated;
} mr_stream_info;

/* A rig. */
typedef struct mr_rig_info {
    /* Bytes of this structure. */
    size_t size;
    /* Promised: the largest distance of any vertex from where the source's rig puts it. */
    double tolerance;
    /* The largest such distance that was measured. */
    double error;
    /* Number of the mesh in the file. */
    uint32_t mesh;
    /* Number of the skeleton: all its clips move the mesh. */
    uint32_t skeleton;
    /* Joints that the mesh hangs on. */
    uint32_t joints;
    /* Vertices: those of the mesh. */
    uint32_t vertices;
    /* 1 where dual quaternions blend what joints do to vertices, all of it or a part (`mr_rig_dual_parts`);
       else 0. */
    uint32_t dual;
    /* 0. */
    uint32_t reserved;
} mr_rig_info;

/* A joint that moves a vertex. */
typedef struct mr_influence {
    /* The vertex. */
    uint32_t vertex;
    /* The joint, by its number in the rig. */
    uint32_t joint;
    /* Its weight; those of a vertex add up to 1. */
    float weight;
} mr_influence;

/* A number to be told when the position passes a time of the animation. */
typedef struct mr_sequence_event {
    double seconds;
    uint32_t number;
    /* 0. */
    uint32_t reserved;
} mr_sequence_event;

/* A slice of a cache, and when and how it plays. `mr_sequence_clip_init` makes it of a whole file. */
typedef struct mr_sequence_clip {
    /* Unique in its sequence; UTF-8, ends with a zero. */
    const char *name;
    /* What is told on the way. */
    const struct mr_sequence_event *events;
    /* Number of events. */
    size_t event_count;
    /* See `mr_start`. */
    double start_seconds;
    /* Seconds of animation where the slice begins. */
    double from;
    /* Seconds of animation where it ends. */
    double to;
    /* Seconds of animation between the last frame of a closed cycle and its first; 0 of others. */
    double seam;
    /* Seconds of animation per second; negative plays from `to` to `from`. */
    double rate;
    /* Seconds before its start at which streaming begins. */
    double stream_before;
    /* Which cache, by a number of the caller's. */
    uint32_t cache;
    /* An `mr_start`. */
    uint32_t start;
    /* See `mr_start`. */
    uint32_t start_number;
    /* An `mr_repeat`, for more than one play. */
    uint32_t repeat;
    /* How often it plays; 0: until a signal. */
    uint32_t plays;
    /* An `mr_leave`. */
    uint32_t leave;
    /* See `mr_leave`. */
    uint32_t leave_signal;
    /* An `mr_end`. */
    uint32_t end;
    /* See `mr_end`. */
    uint32_t end_number;
    /* 0. */
    uint32_t reserved;
} mr_sequence_clip;

/* Something that happened in a sequence. */
typedef struct mr_action {
    /* Seconds after the sequence began. */
    double at;
    /* Seconds after the tick began in which it happened; negative after a jump to a time at which it was
       over. */
    double delay;
    /* An `mr_action_kind`. */
    uint32_t kind;
    /* Number of the clip. */
    uint32_t clip;
    /* See `mr_action_kind`. */
    uint32_t number;
    /* 0. */
    uint32_t reserved;
} mr_action;

/* A clip of a sequence, now. */
typedef struct mr_sequence_state {
    /* Bytes of this structure. */
    size_t size;
    /* Seconds since the sequence began. */
    double time;
    /* Seconds of animation that the clip shows; where it would begin while it does not play. */
    double position;
    /* An `mr_stage`. */
    uint32_t stage;
    /* 1: its cache is shown. */
    uint32_t cache_is_shown;
    /* The static mesh that is shown, by the caller's number, or `MR_NONE`. */
    uint32_t mesh;
    /* 1: its buffers are in use. */
    uint32_t holds_memory;
} mr_sequence_state;

/* What a read wants. */
typedef struct mr_read_info {
    /* Bytes of this structure. */
    size_t size;
    /* Its name, for `cancel`. */
    uint64_t token;
    /* The first byte, from the start of the file. */
    uint64_t offset;
    /* Bytes to fill. */
    uint64_t count;
    /* When it is wanted, in microseconds of the player's ticks: smaller is more urgent. 0 for what opens a
       file. */
    uint64_t due;
    /* The memory for it, until it is completed. */
    void *buffer;
    /* 1: nobody wants it any more. */
    uint32_t cancelled;
    /* 1: it belongs to the opening of a file. */
    uint32_t opening;
} mr_read_info;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* Reads the cameras of a file; there may be none.

   Must hold: `reel` is a reel; `out` is a place. */
mr_status mr_cameras_new(const struct mr_reel *reel, struct mr_cameras **out);

/* Frees cameras. Null is nothing.

   Must hold: `cameras` is null, or was not freed yet. */
mr_status mr_cameras_free(struct mr_cameras *cameras);

/* How many there are.

   Must hold: `cameras` is from `mr_cameras_new`; `out` is a place. */
mr_status mr_cameras_count(const struct mr_cameras *cameras, size_t *out);

/* A camera, and its path in the source. `path` and `length` may both be null.

   Must hold: `cameras` is from `mr_cameras_new`; `out` has the size that it says; `path` is null or has room for
   `capacity` bytes; `length` is null or a place. */
mr_status mr_camera_get(const struct mr_cameras *cameras,
                        uint32_t number,
                        struct mr_camera_info *out,
                        char *path,
                        size_t capacity,
                        size_t *length);

/* What a lens says at a moment; between two frames each number goes straight.

   Must hold: `cameras` is from `mr_cameras_new`; `out` has the size that it says. */
mr_status mr_camera_lens(const struct mr_cameras *cameras,
                         uint32_t number,
                         struct mr_pair pair,
                         struct mr_lens *out);

/* Reads the clips, skeletons and rigs of a file; there may be none.

   Must hold: `reel` is a reel; `out` is a place. */
mr_status mr_clips_new(const struct mr_reel *reel, struct mr_clips **out);

/* Frees clips. Null is nothing.

   Must hold: `clips` is null, or was not freed yet. */
mr_status mr_clips_free(struct mr_clips *clips);

/* How many clips, skeletons and rigs there are.

   Must hold: `clips` is from `mr_clips_new`; `out` has the size that it says. */
mr_status mr_clips_get(const struct mr_clips *clips, struct mr_clips_info *out);

/* A clip, and its name. `name` and `length` may both be null.

   Must hold: `clips` is from `mr_clips_new`; `out` has the size that it says; `name` is null or has room for `capacity`
   bytes; `length` is null or a place. */
mr_status mr_clips_clip(const struct mr_clips *clips,
                        uint32_t clip,
                        struct mr_clip_info *out,
                        char *name,
                        size_t capacity,
                        size_t *length);

/* Parents of a skeleton's joints, which stand before them; `MR_NONE` of those that have none. Their number
   is that of the joints.

   Must hold: `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` numbers; `count` is null or a
   place. */
mr_status mr_clips_parents(const struct mr_clips *clips,
                           uint32_t skeleton,
                           uint32_t *out,
                           size_t capacity,
                           size_t *count);

/* The rest pose of a skeleton.

   Must hold: `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` transforms; `count` is null or a
   place. */
mr_status mr_clips_rest(const struct mr_clips *clips,
                        uint32_t skeleton,
                        struct mr_transform *out,
                        size_t capacity,
                        size_t *count);

/* The name of a joint.

   Must hold: `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` bytes; `length` is null or a
   place. */
mr_status mr_clips_joint(const struct mr_clips *clips,
                         uint32_t skeleton,
                         uint32_t joint,
                         char *out,
                         size_t capacity,
                         size_t *length);

/* A marker of a clip: seconds after the first sample, and its name. `name` and `length` may both be null.

   Must hold: `clips` is from `mr_clips_new`; `seconds` is a place; `name` is null or has room for `capacity` bytes;
   `length` is null or a place. */
mr_status mr_clips_marker(const struct mr_clips *clips,
                          uint32_t clip,
                          uint32_t marker,
                          double *seconds,
                          char *name,
                          size_t capacity,
                          size_t *length);

/* The name of a scalar track of a clip.

   Must hold: As of `mr_clips_joint`. */
mr_status mr_clips_scalar(const struct mr_clips *clips,
                          uint32_t clip,
                          uint32_t track,
                          char *out,
                          size_t capacity,
                          size_t *length);

/* Makes a cursor, and allocates all that it needs. `tiers` has of layer 0, 1 and so on how many tiers are
   played, 0 for nothing of that layer, whose joints then stand in the rest pose; layers beyond the list are
   played whole. Null and 0: all of it.

   Must hold: `clips` is from `mr_clips_new`; `tiers` has `layers` numbers; `out` is a place. */
mr_status mr_cursor_new(const struct mr_clips *clips,
                        uint32_t clip,
                        const uint32_t *tiers,
                        size_t layers,
                        struct mr_cursor **out);

/* Frees a cursor. Null is nothing.

   Must hold: `cursor` is null, or was not freed yet. */
mr_status mr_cursor_free(struct mr_cursor *cursor);

/* Local transforms of all joints at a time, into exactly as many. Allocates nothing.

   Must hold: `cursor` is a cursor that no other thread uses; `query` is there; `out` has room for `joints` transforms. */
mr_status mr_cursor_pose(struct mr_cursor *cursor,
                         const struct mr_query *query,
                         struct mr_transform *out,
                         size_t joints);

/* Local transforms of all joints at a sample, into exactly as many: the poses that the tolerance is promised
   for. Allocates nothing.

   Must hold: `cursor` is a cursor that no other thread uses; `out` has room for `joints` transforms. */
mr_status mr_cursor_sample(struct mr_cursor *cursor,
                           uint32_t sample,
                           struct mr_transform *out,
                           size_t joints);

/* The local transform of one joint at a time; `is_rest` is set to 1 where its layer is not played and this
   is the rest pose. It may be null.

   Must hold: As of `mr_cursor_pose`; `out` is a place, `is_rest` null or a place. */
mr_status mr_cursor_joint(struct mr_cursor *cursor,
                          uint32_t joint,
                          const struct mr_query *query,
                          struct mr_transform *out,
                          uint32_t *is_rest);

/* How a joint moves over a step, to be multiplied to the character's transform from the right. `up` is null
   for all of the motion, or a unit vector of three numbers, for what of it is along the ground and about
   that.

   Must hold: As of `mr_cursor_pose`; `step` is there; `up` is null or has three numbers; `out` is a place. */
mr_status mr_cursor_root_motion(struct mr_cursor *cursor,
                                uint32_t joint,
                                const struct mr_step *step,
                                const float *up,
                                struct mr_transform *out);

/* The numbers of all scalar tracks at a time, four each, those that there are not being 0. `capacity` and
   `count` are in tracks.

   Must hold: `cursor` is a cursor; `query` is there; `out` is null or has room for four numbers for each of `capacity`
   tracks; `count` is null or a place. */
mr_status mr_cursor_scalars(const struct mr_cursor *cursor,
                            const struct mr_query *query,
                            float *out,
                            size_t capacity,
                            size_t *count);

/* The markers that a step passes, in the order in which it does, at most as many as there is room for;
   `count` is set to how many were written. Whatever steps a stretch of time is cut into, each is passed
   once.

   Must hold: `cursor` is a cursor; `step` is there; `out` has room for `capacity` markers; `count` is a place. */
mr_status mr_cursor_events(const struct mr_cursor *cursor,
                           const struct mr_step *step,
                           struct mr_passed *out,
                           size_t capacity,
                           size_t *count);

/* Makes a decoder, and allocates all that it needs. The reel may be freed before.

   Must hold: `reel` is a reel; `out` is a place. */
mr_status mr_decoder_new(const struct mr_reel *reel, struct mr_decoder **out);

/* Frees a decoder, and its frame with it. Null is nothing.

   Must hold: `decoder` is null, or was not freed yet. */
mr_status mr_decoder_free(struct mr_decoder *decoder);

/* Decodes a frame, which the decoder's frame shows from then on. Where it fails, that shows nothing; other
   frames that do not need what is damaged can still be decoded. (A player keeps showing the last good
   frame.)

   Must hold: `decoder` is a decoder that no other thread uses. */
mr_status mr_decoder_decode(struct mr_decoder *decoder, uint32_t frame);

/* The frame of a decoder, the same one for all that it decodes. It lives as long as the decoder, and is not
   freed.

   Must hold: `decoder` is a decoder; `out` is a place. */
mr_status mr_decoder_frame(const struct mr_decoder *decoder, const struct mr_frame **out);

/* The next event that was not given yet; `MR_EVENT_KIND_NONE` where there is none.

   Must hold: `player` is a player; `out` has the size that it says. */
mr_status mr_player_event(struct mr_player *player, struct mr_event *out);

/* Counters of a player, for an overlay.

   Must hold: `player` is a player; `out` has the size that it says. */
mr_status mr_player_statistics(struct mr_player *player, struct mr_statistics *out);

/* Frees a frame of a player. Null is nothing; one of a decoder is misuse.

   Must hold: `frame` is null, or was not freed yet. */
mr_status mr_frame_free(struct mr_frame *frame);

/* Which moment a frame is.

   Must hold: `frame` is a frame; `out` has the size that it says. */
mr_status mr_frame_get(const struct mr_frame *frame, struct mr_frame_info *out);

/* Object to world of all nodes: twelve numbers each, three rows of four. `nodes` must be their number.

   Must hold: `frame` is a frame; `out` has room for twelve numbers for each node. */
mr_status mr_frame_worlds(const struct mr_frame *frame, double *out, size_t nodes);

/* Object to world of a node: twelve numbers, three rows of four.

   Must hold: `frame` is a frame; `out` has room for twelve numbers. */
mr_status mr_frame_world(const struct mr_frame *frame, uint32_t node, double *out);

/* What the world of a node changes by in a second: twelve numbers, three rows of four; the last column is
   the velocity of its origin.

   Must hold: As of `mr_frame_world`. */
mr_status mr_frame_world_velocity(const struct mr_frame *frame, uint32_t node, double *out);

/* Transforms of all nodes relative to their parents.

   Must hold: `frame` is a frame; `out` is null or has room for `capacity` transforms; `count` is null or a place. */
mr_status mr_frame_transforms(const struct mr_frame *frame,
                              struct mr_transform *out,
                              size_t capacity,
                              size_t *count);

/* Of each node 1 where its own mesh is shown, else 0.

   Must hold: `frame` is a frame; `out` is null or has room for `capacity` bytes; `count` is null or a place. */
mr_status mr_frame_visible(const struct mr_frame *frame, uint8_t *out, size_t capacity, size_t *count);

/* What the mesh of a node is at a moment. Misuse of a node without a mesh.

   Must hold: `frame` is a frame; `out` has the size that it says. */
mr_status mr_frame_mesh(const struct mr_frame *frame, uint32_t node, struct mr_mesh_state *out);

/* Writes a range of the vertices of a node's mesh in the caller's layout, the first of the range at `out`.
   `bytes` must be `count` times the stride. Bytes that no attribute covers stay what they are.

   Must hold: `frame` is a frame; `layout` and its attributes are there; `out` has so many bytes. */
mr_status mr_frame_write(const struct mr_frame *frame,
                         uint32_t node,
                         const struct mr_vertex_layout *layout,
                         uint32_t first,
                         uint32_t count,
                         void *out,
                         size_t bytes);

/* Writes a value of all vertices of a node's mesh as floats: three of positions, normals and velocities,
   four of tangents and colours, two of uvs, one of widths, 1 to 4 of attached numbers. `count` must be the
   vertices times that. Where all of a value is wanted, this is the fastest way. `channel` is an
   `mr_channel`, `set` the number of the set of uvs, colours or attached numbers, else 0.

   Must hold: `frame` is a frame; `out` has room for `count` numbers. */
mr_status mr_frame_floats(const struct mr_frame *frame,
                          uint32_t node,
                          uint32_t channel,
                          uint32_t set,
                          float *out,
                          size_t count);

/* Writes normals, three floats each, and tangents, four each, of all vertices in one go: where both are made
   of the positions, that takes little more than one of them.

   Must hold: `frame` is a frame; `normals` has room for 3 · `vertices` numbers, `tangents` for 4 · `vertices`, and they
   are not the same memory. */
mr_status mr_frame_directions(const struct mr_frame *frame,
                              uint32_t node,
                              float *normals,
                              float *tangents,
                              size_t vertices);

/* Triangles of a node's mesh: three indices each, counter-clockwise seen from outside.

   Must hold: `frame` is a frame; `out` is null or has room for `capacity` indices; `count` is null or a place. */
mr_status mr_frame_indices(const struct mr_frame *frame,
                           uint32_t node,
                           uint32_t *out,
                           size_t capacity,
                           size_t *count);

/* The same in 16 bits, for meshes of at most 65,536 vertices.

   Must hold: As of `mr_frame_indices`. */
mr_status mr_frame_indices_16(const struct mr_frame *frame,
                              uint32_t node,
                              uint16_t *out,
                              size_t capacity,
                              size_t *count);

/* Ids of the particles of a node, ascending, one for each vertex; none where they have no ids. Between two
   frames particles are those of the first: those that both frames have are blended, the others stay.

   Must hold: `frame` is a frame; `out` is null or has room for `capacity` numbers; `count` is null or a place. */
mr_status mr_frame_ids(const struct mr_frame *frame,
                       uint32_t node,
                       uint64_t *out,
                       size_t capacity,
                       size_t *count);

/* Vertices of each curve of a node, one curve after the other; none where it has no curves.

   Must hold: `frame` is a frame; `out` is null or has room for `capacity` numbers; `count` is null or a place. */
mr_status mr_frame_curves(const struct mr_frame *frame,
                          uint32_t node,
                          uint32_t *out,
                          size_t capacity,
                          size_t *count);

/* Ranges of the indices that the materials of a node's mesh have, in their order.

   Must hold: `frame` is a frame; `out` is null or has room for `capacity` ranges; `count` is null or a place. */
mr_status mr_frame_materials(const struct mr_frame *frame,
                             uint32_t node,
                             struct mr_range *out,
                             size_t capacity,
                             size_t *count);

/* Triangles in the order of `mr_frame_visible_ranges`: the same in all frames of a mesh that is not fluid.

   Must hold: As of `mr_frame_indices`. */
mr_status mr_frame_indices_by_visibility(const struct mr_frame *frame,
                                         uint32_t node,
                                         uint32_t *out,
                                         size_t capacity,
                                         size_t *count);

/* Ranges of `mr_frame_indices_by_visibility` that can be seen at this moment, of one material or, with
   `MR_NONE`, of all. What is left out nobody can see from outside.

   Must hold: As of `mr_frame_materials`. */
mr_status mr_frame_visible_ranges(const struct mr_frame *frame,
                                  uint32_t node,
                                  uint32_t material,
                                  struct mr_range *out,
                                  size_t capacity,
                                  size_t *count);

/* A level of detail of a node's mesh: fewer triangles between the same vertices. Level 0 is the mesh itself.

   Must hold: `frame` is a frame; `out` has the size that it says. */
mr_status mr_frame_lod(const struct mr_frame *frame, uint32_t node, uint32_t level, struct mr_lod_info *out);

/* Triangles of a level of detail.

   Must hold: As of `mr_frame_indices`. */
mr_status mr_frame_lod_indices(const struct mr_frame *frame,
                               uint32_t node,
                               uint32_t level,
                               uint32_t *out,
                               size_t capacity,
                               size_t *count);

/* Ranges of the indices of a level that the materials have, in their order.

   Must hold: As of `mr_frame_materials`. */
mr_status mr_frame_lod_materials(const struct mr_frame *frame,
                                 uint32_t node,
                                 uint32_t level,
                                 struct mr_range *out,
                                 size_t capacity,
                                 size_t *count);

/* For each vertex of the mesh the one that stands for it in a level, to blend levels; nothing of level 0.

   Must hold: As of `mr_frame_indices`. */
mr_status mr_frame_lod_becomes(const struct mr_frame *frame,
                               uint32_t node,
                               uint32_t level,
                               uint32_t *out,
                               size_t capacity,
                               size_t *count);

/* Triangles of a node's mesh in world space, for physics: three floats per vertex, three indices per
   triangle. `mr_mesh_state` has both numbers.

   Must hold: `frame` is a frame; `positions` has room for 3 · `vertices` numbers, `indices` for so many indices. */
mr_status mr_frame_collision(const struct mr_frame *frame,
                             uint32_t node,
                             float *positions,
                             size_t vertices,
                             uint32_t *indices,
                             size_t index_count);

/* The node that has a mesh, the first one, or `MR_NONE`: where a mesh is wanted by its own number.

   Must hold: `frame` is a frame; `out` is a place. */
mr_status mr_frame_node_of(const struct mr_frame *frame, uint32_t mesh, uint32_t *out);

/* Makes the plan of a frame's file, of any frame. Vertices have `layout`, each attribute at a multiple of 4
   bytes; null: positions of `MR_FORMAT_F32X3`, normals of `MR_FORMAT_I16X2`, uvs of `MR_FORMAT_F16X2`.
   `options` may be null.

   Must hold: `frame` is a frame; `layout` and its attributes are there, or it is null; `options` is null or has the
   size that it says; `out` is a place. */
mr_status mr_gpu_plan_new(const struct mr_frame *frame,
                          const struct mr_vertex_layout *layout,
                          const struct mr_gpu_options *options,
                          struct mr_gpu_plan **out);

/* Frees a plan. Null is nothing.

   Must hold: `plan` is null, or was not freed yet. */
mr_status mr_gpu_plan_free(struct mr_gpu_plan *plan);

/* What a plan takes of the card.

   Must hold: `plan` is a plan; `out` has the size that it says. */
mr_status mr_gpu_plan_get(const struct mr_gpu_plan *plan, struct mr_gpu_info *out);

/* The entry point of an `mr_gpu_pass`: static; null of no pass. */
const char *mr_gpu_pass_entry(uint32_t pass);

/* A mesh of a plan.

   Must hold: `plan` is a plan; `out` has the size that it says. */
mr_status mr_gpu_plan_mesh(const struct mr_gpu_plan *plan, uint32_t mesh, struct mr_gpu_mesh *out);

/* A batch of a plan.

   Must hold: `plan` is a plan; `out` has the size that it says. */
mr_status mr_gpu_plan_batch(const struct mr_gpu_plan *plan, uint32_t batch, struct mr_gpu_batch *out);

/* The fixed words of a batch, which go up once.

   Must hold: `plan` is a plan; `out` is null or has room for `capacity` words; `count` is null or a place. */
mr_status mr_gpu_plan_fixed(const struct mr_gpu_plan *plan,
                            uint32_t batch,
                            uint32_t *out,
                            size_t capacity,
                            size_t *count);

/* The constants of a mesh's pipelines. Meshes that have the same ones share pipelines.

   Must hold: `plan` is a plan; `out` is null or has room for `capacity` constants; `count` is null or a place. */
mr_status mr_gpu_plan_constants(const struct mr_gpu_plan *plan,
                                uint32_t mesh,
                                struct mr_gpu_constant *out,
                                size_t capacity,
                                size_t *count);

/* The text of the shader with all passes, in WGSL.

   Must hold: `out` is null or has room for `capacity` bytes; `length` is null or a place. */
mr_status mr_gpu_wgsl(char *out, size_t capacity, size_t *length);

/* The text of a function `vertex_of(number) -> Vertex` for the caller's own vertex shader, which fetches
   what the passes have made, with its bindings in group `group`. For plans whose layout has stride 0.

   Must hold: As of `mr_gpu_wgsl`. */
mr_status mr_gpu_wgsl_pull(uint32_t group, char *out, size_t capacity, size_t *length);

/* Writes the words behind all slots of the ring, of meshes of which nothing is animated: once a file.

   Must hold: `plan` is a plan and `frame` a frame of its file; `out` has room for `words` words. */
mr_status mr_gpu_plan_still(struct mr_gpu_plan *plan,
                            const struct mr_frame *frame,
                            uint32_t *out,
                            size_t words);

/* Writes the words of a slot of the ring: of the first of the frames that `frame` is between or, where
   `second` is not 0, of the second. Only those that `mr_gpu_plan_used` names need to go up.

   Must hold: As of `mr_gpu_plan_still`. */
mr_status mr_gpu_plan_slot(struct mr_gpu_plan *plan,
                           const struct mr_frame *frame,
                           uint32_t second,
                           uint32_t *out,
                           size_t words);

/* The words of the last slot that was written that hold something.

   Must hold: `plan` is a plan; `out` is null or has room for `capacity` ranges; `count` is null or a place. */
mr_status mr_gpu_plan_used(const struct mr_gpu_plan *plan,
                           struct mr_range *out,
                           size_t capacity,
                           size_t *count);

/* Begins a moment: nothing is shown yet.

   Must hold: `plan` is a plan. */
mr_status mr_gpu_plan_begin(struct mr_gpu_plan *plan);

/* Shows the mesh of a node, and writes the parameters of its mesh: `mr_gpu_info.params_bytes` bytes, which
   go up at the mesh's number times so many bytes.

   Must hold: `plan` is a plan and `frame` a frame of its file; `moment` is there; `out` has room for `bytes` bytes. */
mr_status mr_gpu_plan_show(struct mr_gpu_plan *plan,
                           const struct mr_frame *frame,
                           uint32_t node,
                           const struct mr_gpu_moment *moment,
                           void *out,
                           size_t bytes);

/* What workgroups do in this moment: of each the number of a mesh and its first item, two words.
   `capacity` and `count` are in workgroups.

   Must hold: `plan` is a plan; `out` is null or has room for two words for each of `capacity` workgroups; `count` is
   null or a place. */
mr_status mr_gpu_plan_work(struct mr_gpu_plan *plan, uint32_t *out, size_t capacity, size_t *count);

/* The dispatches of this moment, in order. Dispatches of later passes read what those of earlier ones write.

   Must hold: `plan` is a plan; `out` is null or has room for `capacity` dispatches; `count` is null or a place. */
mr_status mr_gpu_plan_dispatches(struct mr_gpu_plan *plan,
                                 struct mr_gpu_dispatch *out,
                                 size_t capacity,
                                 size_t *count);

/* Makes a ring of so many slots; a moment needs two.

   Must hold: `out` is a place. */
mr_status mr_gpu_ring_new(uint32_t slots, struct mr_gpu_ring **out);

/* Frees a ring. Null is nothing.

   Must hold: `ring` is null, or was not freed yet. */
mr_status mr_gpu_ring_free(struct mr_gpu_ring *ring);

/* A new moment: frames that are asked for from now on stay until the next one.

   Must hold: `ring` is a ring. */
mr_status mr_gpu_ring_begin(struct mr_gpu_ring *ring);

/* Looks for a frame, and makes room for it where it is not there.

   Must hold: `ring` is a ring; `out` is a place. */
mr_status mr_gpu_ring_ask(struct mr_gpu_ring *ring, uint32_t frame, struct mr_gpu_place *out);

/* Levels by what the eye can see of their errors: each begins at the distance from which its error is no
   more than `pixels` of the picture. `errors` are those of the levels 1, 2 and so on; `scale` is the largest
   scale of the world transform, `angle` the vertical angle of view in radians, `height` that of the picture
   in pixels.

   Must hold: `errors` has `count` numbers; `out` is a place. */
mr_status mr_lod_within(const float *errors,
                        size_t count,
                        float scale,
                        float angle,
                        float height,
                        float pixels,
                        struct mr_lod_distances *out);

/* The level at a distance, where it was `was` before.

   Must hold: `distances` is there; `out` is a place. */
mr_status mr_lod_at(const struct mr_lod_distances *distances, float distance, uint32_t was, uint32_t *out);

/* Reads the part attributes of a node; there may be none.

   Must hold: `reel` is a reel; `out` is a place. */
mr_status mr_part_attributes_new(const struct mr_reel *reel, uint32_t node, struct mr_part_attributes **out);

/* Frees part attributes. Null is nothing.

   Must hold: `attributes` is null, or was not freed yet. */
mr_status mr_part_attributes_free(struct mr_part_attributes *attributes);

/* How many there are.

   Must hold: `attributes` is from `mr_part_attributes_new`; `out` is a place. */
mr_status mr_part_attributes_count(const struct mr_part_attributes *attributes, size_t *out);

/* A part attribute, and its name. `name` and `length` may both be null.

   Must hold: `attributes` is from `mr_part_attributes_new`; `out` has the size that it says; `name` is null or has room
   for `capacity` bytes; `length` is null or a place. */
mr_status mr_part_attribute_get(const struct mr_part_attributes *attributes,
                                uint32_t number,
                                struct mr_part_attribute_info *out,
                                char *name,
                                size_t capacity,
                                size_t *length);

/* The group of each part or vertex; nothing where the mesh is one group.

   Must hold: `attributes` is from `mr_part_attributes_new`; `out` is null or has room for `capacity` numbers; `count`
   is null or a place. */
mr_status mr_part_attribute_groups(const struct mr_part_attributes *attributes,
                                   uint32_t number,
                                   uint32_t *out,
                                   size_t capacity,
                                   size_t *count);

/* The numbers of all groups at a moment, four each, those that there are not being 0: a table for a shader.
   `capacity` and `count` are in groups.

   Must hold: `attributes` is from `mr_part_attributes_new`; `out` is null or has room for four numbers for each of
   `capacity` groups; `count` is null or a place. */
mr_status mr_part_attribute_table(const struct mr_part_attributes *attributes,
                                  uint32_t number,
                                  struct mr_pair pair,
                                  float *out,
                                  size_t capacity,
                                  size_t *count);

/* Writes the default settings.

   Must hold: `out` has `size` bytes, which is its sizeof. */
mr_status mr_player_options_init(struct mr_player_options *out, size_t size);

/* Makes a player: allocates its heap and starts its threads. `options` may be null.

   Must hold: `options` is null, or has the size that it says and pointers that are null or to what they should be;
   `out` is a place. */
mr_status mr_player_new(const struct mr_player_options *options, struct mr_player **out);

/* Frees a player. Frames that it gave live on. Threads in a slow read end when that does. Null is nothing.

   Must hold: `player` is null, or was not freed yet. */
mr_status mr_player_free(struct mr_player *player);

/* Begins to open a file; `out` is its name from now on. Whether that goes well, an event tells. Instances
   can be made at once.

   Must hold: `player` is a player; `path` is UTF-8 and ends with a zero; `out` is a place. */
mr_status mr_player_open(struct mr_player *player, const char *path, uint64_t *out);

/* As `mr_player_open`, of bytes of which it keeps a copy. Errors name them `name`; null: "(memory)".

   Must hold: `player` is a player; `name` is null, or UTF-8 and ends with a zero; `data` has `bytes` bytes; `out` is a
   place. */
mr_status mr_player_open_memory(struct mr_player *player,
                                const char *name,
                                const void *data,
                                size_t bytes,
                                uint64_t *out);

/* As `mr_player_open`, of what a source reads: with its function `start`, which blocks nobody, where it has
   one, else with `read`, on the threads that read. Errors name it `name`; null: "(memory)".

   Must hold: `player` is a player; `name` is null, or UTF-8 and ends with a zero; `source` has the size that it says,
   and keeps what it promises; `out` is a place. */
mr_status mr_player_open_source(struct mr_player *player,
                                const char *name,
                                const struct mr_source *source,
                                uint64_t *out);

/* Ends all instances of a file and gives up what it has.

   Must hold: `player` is a player. */
mr_status mr_player_close(struct mr_player *player, uint64_t file);

/* The reel of a file, to be freed by the caller; null while it is not open.

   Must hold: `player` is a player; `out` is a place. */
mr_status mr_player_reel(const struct mr_player *player, uint64_t file, struct mr_reel **out);

/* The name by which errors call a file.

   Must hold: `player` is a player; `out` is null or has room for `capacity` bytes; `length` is null or a place. */
mr_status mr_player_name(const struct mr_player *player,
                         uint64_t file,
                         char *out,
                         size_t capacity,
                         size_t *length);

/* One more instance of a file: visible, and stopped at the first frame.

   Must hold: `player` is a player; `out` is a place. */
mr_status mr_player_instance(struct mr_player *player, uint64_t file, uint64_t *out);

/* Ends an instance.

   Must hold: `player` is a player. */
mr_status mr_player_remove(struct mr_player *player, uint64_t instance);

/* Shows or hides an instance: a hidden one asks for nothing, its time passes.

   Must hold: `player` is a player. */
mr_status mr_player_show(struct mr_player *player, uint64_t instance, uint32_t visible);

/* Where the heap has no room for all instances, those of higher priority are served first. 0 unless it is
   set.

   Must hold: `player` is a player. */
mr_status mr_player_priority(struct mr_player *player, uint64_t instance, int32_t priority);

/* Tells an instance something; it takes effect at the next tick.

   Must hold: `player` is a player; `command` is a command. */
mr_status mr_player_command(struct mr_player *player, uint64_t instance, const struct mr_command *command);

/* Where an instance is.

   Must hold: `player` is a player; `out` has the size that it says. */
mr_status mr_player_clock(const struct mr_player *player, uint64_t instance, struct mr_clock *out);

/* Kill switches: with 0 reads are not issued, jobs not started, nothing handed out.

   Must hold: `player` is a player. */
mr_status mr_player_switch(struct mr_player *player, uint32_t reads, uint32_t jobs, uint32_t drawing);

/* `seconds` have passed: once per frame of the game. Never waits. Where the player has threads of its own
   and no source with `start`, it calls nothing of the caller's.

   Must hold: `player` is a player that no other thread uses. */
mr_status mr_player_tick(struct mr_player *player, double seconds);

/* What an instance shows, to be freed by the caller; null where nothing of it is there yet.

   Must hold: `player` is a player; `out` is a place. */
mr_status mr_player_frame(const struct mr_player *player, uint64_t instance, struct mr_frame **out);

/* From `a` to `b` by `part` of the way, joint by joint: rotations the short way round. `out` is neither of
   them.

   Must hold: `a` and `b` have `joints` transforms, `out` has room for as many. */
mr_status mr_pose_blend(const struct mr_transform *a,
                        const struct mr_transform *b,
                        float part,
                        struct mr_transform *out,
                        size_t joints);

/* `base` with `weight` of `additive` on top, joint by joint; `kind` is an `mr_additive`. `out` is neither of
   them.

   Must hold: `base` and `additive` have `joints` transforms, `out` has room for as many. */
mr_status mr_pose_add(uint32_t kind,
                      const struct mr_transform *base,
                      const struct mr_transform *additive,
                      float weight,
                      struct mr_transform *out,
                      size_t joints);

/* What must be added to `base` so that it becomes `pose`, joint by joint. `out` is neither of them.

   Must hold: `base` and `pose` have `joints` transforms, `out` has room for as many. */
mr_status mr_pose_difference(uint32_t kind,
                             const struct mr_transform *base,
                             const struct mr_transform *pose,
                             struct mr_transform *out,
                             size_t joints);

/* Object-space matrices of all joints from their local transforms: twelve numbers each, three rows of four.
   `parents` as of `mr_clips_parents`.

   Must hold: `parents` has `joints` numbers, `local` as many transforms, `out` room for twelve numbers for each. */
mr_status mr_pose_object_space(const uint32_t *parents,
                               const struct mr_transform *local,
                               float *out,
                               size_t joints);

/* Writes the default limits.

   Must hold: `out` has `size` bytes, which is its sizeof. */
mr_status mr_limits_init(struct mr_limits *out, size_t size);

/* Opens and checks a file. `limits` may be null.

   Must hold: `path` is UTF-8 and ends with a zero; `limits` is null or has the size that it says; `out` is a place. */
mr_status mr_reel_open(const char *path, const struct mr_limits *limits, struct mr_reel **out);

/* Opens and checks the bytes of a file, of which it keeps a copy. Errors name them `name`; null: "(memory)".
   `limits` may be null.

   Must hold: `name` is null, or UTF-8 and ends with a zero; `data` has `bytes` bytes; `limits` is null or has the size
   that it says; `out` is a place. */
mr_status mr_reel_open_memory(const char *name,
                              const void *data,
                              size_t bytes,
                              const struct mr_limits *limits,
                              struct mr_reel **out);

/* Opens and checks what a source reads, which needs its function `read`. Frames, clips and rigs are read
   through it later. Errors name it `name`; null: "(memory)". `limits` may be null.

   Must hold: `name` is null, or UTF-8 and ends with a zero; `source` has the size that it says, and keeps what it
   promises; `limits` is null or has the size that it says; `out` is a place. */
mr_status mr_reel_open_source(const char *name,
                              const struct mr_source *source,
                              const struct mr_limits *limits,
                              struct mr_reel **out);

/* Frees a reel. Null is nothing.

   Must hold: `reel` is null, or was not freed yet. */
mr_status mr_reel_free(struct mr_reel *reel);

/* What is in a file.

   Must hold: `reel` is a reel; `out` has the size that it says. */
mr_status mr_reel_get(const struct mr_reel *reel, struct mr_reel_info *out);

/* The options that a file was compiled with, one `key = value` per line.

   Must hold: `reel` is a reel; `out` is null or has room for `capacity` bytes; `length` is null or a place. */
mr_status mr_reel_options(const struct mr_reel *reel, char *out, size_t capacity, size_t *length);

/* Seconds of a frame.

   Must hold: `reel` is a reel; `out` is a place. */
mr_status mr_reel_time(const struct mr_reel *reel, uint32_t frame, double *out);

/* World bounds of what is shown in a frame: min xyz, max xyz, six numbers.

   Must hold: `reel` is a reel; `out` has room for six numbers. */
mr_status mr_reel_bounds(const struct mr_reel *reel, uint32_t frame, float *out);

/* A named range of frames, and its name.

   Must hold: `reel` is a reel; `out` is null or a place; `name` is null or has room for `capacity` bytes; `length` is
   null or a place. */
mr_status mr_reel_range(const struct mr_reel *reel,
                        uint32_t range,
                        struct mr_range *out,
                        char *name,
                        size_t capacity,
                        size_t *length);

/* A node of a file.

   Must hold: `reel` is a reel; `out` has the size that it says. */
mr_status mr_reel_node(const struct mr_reel *reel, uint32_t node, struct mr_node_info *out);

/* The path of a node in the source.

   Must hold: As of `mr_reel_options`. */
mr_status mr_reel_node_path(const struct mr_reel *reel,
                            uint32_t node,
                            char *out,
                            size_t capacity,
                            size_t *length);

/* A mesh of a file. The first time it is asked for, the static data of all meshes is read.

   Must hold: `reel` is a reel; `out` has the size that it says. */
mr_status mr_reel_mesh(const struct mr_reel *reel, uint32_t mesh, struct mr_mesh_info *out);

/* The path of a mesh in the source.

   Must hold: As of `mr_reel_options`. */
mr_status mr_reel_mesh_path(const struct mr_reel *reel,
                            uint32_t mesh,
                            char *out,
                            size_t capacity,
                            size_t *length);

/* A material of a mesh, and its name. `name` and `length` may both be null.

   Must hold: `reel` is a reel; `out` has the size that it says; `name` is null or has room for `capacity` bytes;
   `length` is null or a place. */
mr_status mr_reel_material(const struct mr_reel *reel,
                           uint32_t mesh,
                           uint32_t material,
                           struct mr_material_info *out,
                           char *name,
                           size_t capacity,
                           size_t *length);

/* A stream of a mesh.

   Must hold: `reel` is a reel; `out` has the size that it says. */
mr_status mr_reel_stream(const struct mr_reel *reel,
                         uint32_t mesh,
                         uint32_t stream,
                         struct mr_stream_info *out);

/* The checksum that `.reel` files have: XXH3 of 64 bits with seed 0, to compare what is shown with what
   another build shows.

   Must hold: `data` has `bytes` bytes; `out` is a place. */
mr_status mr_checksum(const void *data, size_t bytes, uint64_t *out);

/* A rig of a file.

   Must hold: `clips` is from `mr_clips_new`; `out` has the size that it says. */
mr_status mr_clips_rig(const struct mr_clips *clips, uint32_t rig, struct mr_rig_info *out);

/* The skeleton's joints that a rig has, by their numbers there.

   Must hold: `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` numbers; `count` is null or a
   place. */
mr_status mr_rig_joints(const struct mr_clips *clips,
                        uint32_t rig,
                        uint32_t *out,
                        size_t capacity,
                        size_t *count);

/* Which joints move which vertices, in the order of the vertices.

   Must hold: As of `mr_rig_joints`. */
mr_status mr_rig_influences(const struct mr_clips *clips,
                            uint32_t rig,
                            struct mr_influence *out,
                            size_t capacity,
                            size_t *count);

/* Of each vertex the part, 0 to 1, of how joints move it that dual quaternions blend, the rest being linear.

   Must hold: As of `mr_rig_joints`. */
mr_status mr_rig_dual_parts(const struct mr_clips *clips,
                            uint32_t rig,
                            float *out,
                            size_t capacity,
                            size_t *count);

/* What takes the bind pose to a pose: of each joint of the rig a matrix of twelve numbers, three rows of
   four. `object` has those of all joints of the skeleton (`mr_pose_object_space`).

   Must hold: `clips` is from `mr_clips_new`; `object` has twelve numbers for each of `object_joints`, `out` room for as
   many for each of `joints`. */
mr_status mr_rig_matrices(const struct mr_clips *clips,
                          uint32_t rig,
                          const float *object,
                          size_t object_joints,
                          float *out,
                          size_t joints);

/* Positions of all vertices as these matrices move them: three numbers each.

   Must hold: `clips` is from `mr_clips_new`; `matrices` has twelve numbers for each of `joints`, `out` room for three
   for each of `vertices`. */
mr_status mr_rig_positions(const struct mr_clips *clips,
                           uint32_t rig,
                           const float *matrices,
                           size_t joints,
                           float *out,
                           size_t vertices);

/* Writes a clip of all of a file, once, at the beginning of the sequence, leaving nothing. Its name is null.

   Must hold: `reel` is a reel; `out` is a place. */
mr_status mr_sequence_clip_init(const struct mr_reel *reel, uint32_t cache, struct mr_sequence_clip *out);

/* Makes a sequence, at its beginning. Names must be unique, times finite and not negative.

   Must hold: `clips` has `count` clips with their names and events; `out` is a place. */
mr_status mr_sequencer_new(const struct mr_sequence_clip *clips, size_t count, struct mr_sequencer **out);

/* Frees a sequence. Null is nothing.

   Must hold: `sequencer` is null, or was not freed yet. */
mr_status mr_sequencer_free(struct mr_sequencer *sequencer);

/* Passes `seconds`; what happened is told by `mr_sequencer_next`. Actions of before that were not asked for
   are lost.

   Must hold: `sequencer` is a sequence. */
mr_status mr_sequencer_tick(struct mr_sequencer *sequencer, double seconds);

/* Jumps to a time of the sequence; what is to be done for it is told by `mr_sequencer_next`. Signals of
   before are forgotten.

   Must hold: `sequencer` is a sequence. */
mr_status mr_sequencer_go_to(struct mr_sequencer *sequencer, double seconds);

/* A signal, now: starts the clips that wait for it and ends those that listen to it. What follows is told
   after the next tick.

   Must hold: `sequencer` is a sequence. */
mr_status mr_sequencer_signal(struct mr_sequencer *sequencer, uint32_t signal);

/* The next thing that happened, in order; `MR_ACTION_KIND_NONE` where there is none.

   Must hold: `sequencer` is a sequence; `out` is a place. */
mr_status mr_sequencer_next(struct mr_sequencer *sequencer, struct mr_action *out);

/* Tells the instance that plays a clip what an action means for it, before the player's tick.

   Must hold: `sequencer` is a sequence, `action` is of it; `player` is a player. */
mr_status mr_sequencer_apply(const struct mr_sequencer *sequencer,
                             const struct mr_action *action,
                             struct mr_player *player,
                             uint64_t instance);

/* How a clip of a sequence stands.

   Must hold: `sequencer` is a sequence; `out` has the size that it says. */
mr_status mr_sequencer_state(const struct mr_sequencer *sequencer,
                             uint32_t clip,
                             struct mr_sequence_state *out);

/* What a read wants.

   Must hold: `read` is not completed yet; `out` has the size that it says. */
mr_status mr_read_get(struct mr_read *read, struct mr_read_info *out);

/* Ends a read: so many bytes from the start of its buffer are there, and `error` is 0; or it failed, and
   that is a number for the message. The read and its buffer are the library's again.

   Must hold: `read` is not completed yet, and its buffer is no longer written. */
mr_status mr_read_complete(struct mr_read *read, uint64_t filled, int32_t error);

/* When the result of a job is wanted, in microseconds of the player's ticks: smaller is more urgent.

   Must hold: `job` is neither run nor dropped yet. */
mr_status mr_job_due(const struct mr_job *job, uint64_t *out);

/* Does a job, on any thread, and frees it.

   Must hold: `job` is neither run nor dropped yet. */
mr_status mr_job_run(struct mr_job *job);

/* Frees a job that is not going to be run: what it was for is cancelled.

   Must hold: `job` is null, or neither run nor dropped yet. */
mr_status mr_job_drop(struct mr_job *job);

/* What the last call of this thread that failed says, in UTF-8; empty where none has. It stays until the
   next call of this thread that fails. */
const char *mr_last_error(void);

/* The version of the library, as `MR_VERSION` is that of the header. */
uint32_t mr_version(void);

/* Whether the library fits the header that the caller was compiled with: call it first, as
   `mr_check_version(MR_VERSION)`. `MR_STATUS_UNSUPPORTED` where it is older, or of another major version, or
   of another minor version below 1.0. */
mr_status mr_check_version(uint32_t header);

/* The name of a status, for messages: static, never null. */
const char *mr_status_name(uint32_t status);

/* Bytes of a value of an `mr_format`; 0 of no format. */
size_t mr_format_size(uint32_t format);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MESHREEL_H */
