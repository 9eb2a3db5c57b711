/* What the examples share: calls that must go well, and files in memory. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <meshreel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program where a call fails, with its reason. */
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        mr_status status_ = (call);                                                                                    \
        if (status_ != MR_STATUS_OK) {                                                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, mr_status_name(status_), mr_last_error());          \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Ends the program where something is not so. */
#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #what, mr_last_error());                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A list of bytes that grows. */
typedef struct {
    unsigned char *bytes;
    size_t count, room;
} list;

/* So many more bytes at its end. */
static inline void *list_grow(list *of, size_t count) {
    if (of->room - of->count < count) {
        of->room = 2 * of->room + count;
        of->bytes = (unsigned char *)realloc(of->bytes, of->room);
        if (of->bytes == NULL) {
            fprintf(stderr, "no memory\n");
            exit(1);
        }
    }
    of->count += count;
    return of->bytes + of->count - count;
}

static inline void list_add(list *of, const void *bytes, size_t count) {
    if (count > 0) {
        memcpy(list_grow(of, count), bytes, count);
    }
}

static inline void list_free(list *of) {
    free(of->bytes);
    memset(of, 0, sizeof *of);
}

/* The bytes of a file. */
static inline list read_file(const char *path) {
    list out = {NULL, 0, 0};
    char block[4096];
    size_t count;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    while ((count = fread(block, 1, sizeof block, file)) > 0) {
        list_add(&out, block, count);
    }
    fclose(file);
    return out;
}

/* A source of bytes in memory whose reads can fail, and which counts. */
typedef struct {
    const unsigned char *bytes;
    size_t count;
    /* Reads of bytes from here on fail; SIZE_MAX for none. */
    volatile size_t broken_from;
    volatile int released;
} memory_file;

static int32_t memory_file_read(void *user, uint64_t offset, void *out, size_t count) {
    const memory_file *file = (const memory_file *)user;
    if (offset + count > file->count || offset + count > file->broken_from) {
        return 42;
    }
    memcpy(out, file->bytes + offset, count);
    return 0;
}

static void memory_file_release(void *user) { ((memory_file *)user)->released += 1; }

static inline mr_source memory_file_source(memory_file *file) {
    mr_source out;
    memset(&out, 0, sizeof out);
    out.size = sizeof out;
    out.user = file;
    out.bytes = file->count;
    out.read = memory_file_read;
    out.release = memory_file_release;
    return out;
}

#endif
