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
