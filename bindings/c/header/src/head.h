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
