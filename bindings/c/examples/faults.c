/* Bad input through each door of the library: an error of the right class, the last good frame stays, nothing breaks
 * and nothing leaks (the tests run this under sanitizers):
 *
 *     faults FILE SCRATCH
 *
 * FILE is a file with some seconds of a moving mesh, SCRATCH a name for files that this program writes. */
#include "support.h"

static void expect(mr_status found, mr_status wanted, const char *what, int line) {
    if (found != wanted) {
        fprintf(stderr, "line %d: %s: %s instead of %s: %s\n", line, what, mr_status_name(found), mr_status_name(wanted),
                mr_last_error());
        exit(1);
    }
    if (wanted != MR_STATUS_OK && mr_last_error()[0] == '\0') {
        fprintf(stderr, "line %d: %s: no reason is given\n", line, what);
        exit(1);
    }
}
#define EXPECT(wanted, call) expect((call), (wanted), #call, __LINE__)

/* Decodes all there is; the first status that is not good. */
static mr_status decode_all(const mr_reel *reel) {
    mr_reel_info info;
    mr_decoder *decoder = NULL;
    mr_clips *clips = NULL;
    mr_status status, worst = MR_STATUS_OK;
    info.size = sizeof info;
    OK(mr_reel_get(reel, &info));
    status = mr_clips_new(reel, &clips);
    OK(mr_clips_free(clips));
    if (status != MR_STATUS_OK) {
        return status;
    }
    status = mr_decoder_new(reel, &decoder);
    if (status != MR_STATUS_OK) {
        return status;
    }
    for (uint32_t frame = 0; frame < info.frames; frame++) {
        status = mr_decoder_decode(decoder, frame);
        if (status != MR_STATUS_OK && worst == MR_STATUS_OK) {
            worst = status;
        }
    }
    OK(mr_decoder_free(decoder));
    return worst;
}

static mr_status open_and_decode(const unsigned char *bytes, size_t count) {
    mr_reel *reel = NULL;
    mr_status status = mr_reel_open_memory(NULL, bytes, count, NULL, &reel);
    if (status == MR_STATUS_OK) {
        status = decode_all(reel);
    }
    OK(mr_reel_free(reel));
    return status;
}

static void damaged_and_short(const list *file) {
    int malformed = 0;
    list copy = {NULL, 0, 0};
    list_add(&copy, file->bytes, file->count);
    for (size_t at = 0; at < file->count; at += 1 + file->count / 97) {
        copy.bytes[at] ^= 0x24;
        mr_status status = open_and_decode(copy.bytes, copy.count);
        copy.bytes[at] ^= 0x24;
        CHECK(status != MR_STATUS_PANIC && status != MR_STATUS_MISUSE && status != MR_STATUS_IO);
        malformed += status == MR_STATUS_MALFORMED;
    }
    CHECK(malformed > 60);
    for (size_t count = 0; count < file->count; count += 1 + file->count / 31) {
        EXPECT(MR_STATUS_MALFORMED, open_and_decode(file->bytes, count));
    }
    EXPECT(MR_STATUS_OK, open_and_decode(copy.bytes, copy.count));
    list_free(&copy);
}

static void limits_and_missing(const list *file) {
    mr_reel *reel = NULL;
    mr_limits limits;
    OK(mr_limits_init(&limits, sizeof limits));
    limits.max_vertices = 1;
    EXPECT(MR_STATUS_LIMIT, mr_reel_open_memory(NULL, file->bytes, file->count, &limits, &reel));
    CHECK(reel == NULL && strstr(mr_last_error(), "(memory)") != NULL);
    EXPECT(MR_STATUS_LIMIT, mr_reel_open_memory("pack/flag", file->bytes, file->count, &limits, &reel));
    CHECK(strstr(mr_last_error(), "pack/flag") != NULL);
    EXPECT(MR_STATUS_IO, mr_reel_open("no such file.reel", NULL, &reel));
    CHECK(strstr(mr_last_error(), "no such file.reel") != NULL);
    /* Written for a header that is longer than the library knows, and asks for something there. */
    struct {
        mr_limits known;
        uint64_t more;
    } later;
    OK(mr_limits_init(&later.known, sizeof later));
    later.more = 0;
    OK(mr_reel_open_memory(NULL, file->bytes, file->count, &later.known, &reel));
    OK(mr_reel_free(reel));
    later.more = 1;
    EXPECT(MR_STATUS_UNSUPPORTED, mr_reel_open_memory(NULL, file->bytes, file->count, &later.known, &reel));
    EXPECT(MR_STATUS_UNSUPPORTED, mr_check_version(MR_VERSION + 0x10000));
}

static void misuse(const list *file) {
    mr_reel *reel = NULL;
    mr_decoder *decoder = NULL;
    const mr_frame *frame = NULL;
    mr_player *player = NULL;
    mr_reel_info info;
    mr_mesh_state state;
    mr_command command;
    float numbers[4];
    uint32_t index[1];
    size_t count = 0;
    uint64_t id = 0;
    mr_attribute attribute = {MR_CHANNEL_POSITION, 0, MR_FORMAT_F32X3, 0};
    mr_vertex_layout layout = {&attribute, 1, 12};
    EXPECT(MR_STATUS_MISUSE, mr_reel_open(NULL, NULL, &reel));
    EXPECT(MR_STATUS_MISUSE, mr_reel_open("\xff\xfe", NULL, &reel));
    EXPECT(MR_STATUS_MISUSE, mr_reel_open_memory(NULL, NULL, 7, NULL, &reel));
    EXPECT(MR_STATUS_MISUSE, mr_reel_open_memory(NULL, file->bytes, file->count, NULL, NULL));
    EXPECT(MR_STATUS_MISUSE, mr_reel_open_source(NULL, NULL, NULL, &reel));
    EXPECT(MR_STATUS_MISUSE, mr_reel_get(NULL, &info));
    OK(mr_reel_open_memory(NULL, file->bytes, file->count, NULL, &reel));
    info.size = 0;
    EXPECT(MR_STATUS_MISUSE, mr_reel_get(reel, &info));
    info.size = sizeof info;
    OK(mr_reel_get(reel, &info));
    EXPECT(MR_STATUS_MISUSE, mr_reel_time(reel, info.frames, &info.start));
    EXPECT(MR_STATUS_MISUSE, mr_reel_mesh(reel, info.meshes, NULL));
    EXPECT(MR_STATUS_MISUSE, mr_reel_node_path(reel, 0, NULL, 0, NULL));
    OK(mr_decoder_new(reel, &decoder));
    OK(mr_decoder_frame(decoder, &frame));
    state.size = sizeof state;
    EXPECT(MR_STATUS_MISUSE, mr_frame_mesh(frame, 0, &state)); /* Nothing is decoded. */
    EXPECT(MR_STATUS_MISUSE, mr_decoder_decode(decoder, info.frames));
    EXPECT(MR_STATUS_MISUSE, mr_frame_free((mr_frame *)(size_t)frame));
    OK(mr_decoder_decode(decoder, 0));
    uint32_t node = 0;
    while (mr_frame_mesh(frame, node, &state) != MR_STATUS_OK) {
        node++;
    }
    EXPECT(MR_STATUS_MISUSE, mr_frame_floats(frame, node, MR_CHANNEL_POSITION, 0, numbers, 4));
    EXPECT(MR_STATUS_MISUSE, mr_frame_floats(frame, node, 99, 0, numbers, 4));
    EXPECT(MR_STATUS_MISUSE, mr_frame_floats(frame, node, MR_CHANNEL_POSITION, 0, NULL, 3 * (size_t)state.vertices));
    EXPECT(MR_STATUS_MISUSE, mr_frame_write(frame, node, &layout, 0, 1, numbers, 11));
    EXPECT(MR_STATUS_MISUSE, mr_frame_write(frame, node, &layout, state.vertices, 1, numbers, 12));
    EXPECT(MR_STATUS_MISUSE, mr_frame_write(frame, node, &layout, 0xffffffffu, 0xffffffffu, numbers, 12));
    OK(mr_frame_write(frame, node, &layout, 0, 1, numbers, 12));
    attribute.format = 77;
    EXPECT(MR_STATUS_MISUSE, mr_frame_write(frame, node, &layout, 0, 1, numbers, 12));
    attribute.format = MR_FORMAT_F32X3;
    layout.count = 1u << 30;
    EXPECT(MR_STATUS_MISUSE, mr_frame_write(frame, node, &layout, 0, 1, numbers, 12));
    EXPECT(MR_STATUS_MISUSE, mr_frame_indices(frame, node, index, 1, &count));
    CHECK(count == state.indices);
    EXPECT(MR_STATUS_MISUSE, mr_frame_lod(frame, node, state.lods, NULL));
    EXPECT(MR_STATUS_MISUSE, mr_frame_worlds(frame, NULL, info.nodes));
    OK(mr_decoder_free(decoder));
    OK(mr_reel_free(reel));
    OK(mr_reel_free(NULL));
    OK(mr_player_free(NULL));
    OK(mr_frame_free(NULL));

    OK(mr_player_new(NULL, &player));
    memset(&command, 0, sizeof command);
    EXPECT(MR_STATUS_MISUSE, mr_player_command(player, 12345, &command));
    EXPECT(MR_STATUS_MISUSE, mr_player_instance(player, 0, &id));
    EXPECT(MR_STATUS_MISUSE, mr_player_close(player, 0xffffffffffffffffu));
    OK(mr_player_open_memory(player, NULL, file->bytes, file->count, &id));
    OK(mr_player_instance(player, id, &id));
    command.kind = 1000;
    EXPECT(MR_STATUS_MISUSE, mr_player_command(player, id, &command));
    OK(mr_player_tick(player, -1.0));
    OK(mr_player_free(player));
}

static void broken_callbacks(const list *file) {
    memory_file own = {file->bytes, file->count, 0, 0};
    mr_source source = memory_file_source(&own);
    mr_reel *reel = NULL;
    mr_decoder *decoder;
    EXPECT(MR_STATUS_IO, mr_reel_open_source("pack/flag", &source, NULL, &reel));
    CHECK(strstr(mr_last_error(), "pack/flag") != NULL && strstr(mr_last_error(), "42") != NULL);
    CHECK(own.released == 1 && reel == NULL);
    /* The source is released where another argument is wrong as well. */
    EXPECT(MR_STATUS_MISUSE, mr_reel_open_source(NULL, &source, NULL, NULL));
    CHECK(own.released == 2);
    own.broken_from = SIZE_MAX;
    OK(mr_reel_open_source("pack/flag", &source, NULL, &reel));
    OK(mr_decoder_new(reel, &decoder));
    OK(mr_decoder_decode(decoder, 0));
    own.broken_from = 0;
    mr_reel_info info;
    info.size = sizeof info;
    OK(mr_reel_get(reel, &info));
    EXPECT(MR_STATUS_IO, mr_decoder_decode(decoder, info.frames - 1));
    CHECK(strstr(mr_last_error(), "pack/flag") != NULL);
    own.broken_from = SIZE_MAX;
    OK(mr_decoder_decode(decoder, info.frames - 1));
    OK(mr_reel_free(reel));
    CHECK(own.released == 2);
    OK(mr_decoder_free(decoder));
    CHECK(own.released == 3);
    source.read = NULL;
    EXPECT(MR_STATUS_MISUSE, mr_reel_open_source(NULL, &source, NULL, &reel));
    CHECK(own.released == 4);
}

/* A player that does its work in the tick, and reads little at a time, so that it reads while it plays. */
static mr_player *small_player(void) {
    mr_player_options options;
    mr_player *player;
    OK(mr_player_options_init(&options, sizeof options));
    options.heap = 8 << 20;
    options.resident = 0;
    options.read_size = 1;
    options.threads = 0;
    options.read_threads = 0;
    options.decode_ahead = 0.02f;
    options.least_read_ahead = 0.02f;
    options.most_read_ahead = 0.02f;
    OK(mr_player_new(&options, &player));
    return player;
}

static uint64_t start(mr_player *player, uint64_t file) {
    uint64_t instance;
    mr_command command;
    memset(&command, 0, sizeof command);
    OK(mr_player_instance(player, file, &instance));
    command.kind = MR_COMMAND_KIND_PLAY;
    OK(mr_player_command(player, instance, &command));
    return instance;
}

/* What an instance shows, and its first frame; 0 and MR_NONE where that is nothing. */
static int shows(const mr_player *player, uint64_t instance, uint32_t *number, uint32_t *late) {
    mr_frame *frame;
    mr_frame_info info;
    info.size = sizeof info;
    *number = MR_NONE;
    *late = 0;
    OK(mr_player_frame(player, instance, &frame));
    if (frame == NULL) {
        return 0;
    }
    OK(mr_frame_get(frame, &info));
    *number = info.first;
    *late = info.late;
    OK(mr_frame_free(frame));
    return 1;
}

/* Ticks until a frame is shown. */
static void play_on(mr_player *player, uint64_t instance, uint32_t least) {
    uint32_t number, late;
    for (int ticks = 0; ticks < 1000; ticks++) {
        OK(mr_player_tick(player, 1.0 / 120.0));
        if (shows(player, instance, &number, &late) && number >= least) {
            return;
        }
    }
    CHECK(!"it plays");
}

/* Ticks until an event of a kind is told; before it, what is shown never goes. */
static mr_event wait_for(mr_player *player, uint64_t instance, uint32_t kind) {
    mr_event event;
    uint32_t number, late;
    event.size = sizeof event;
    for (int ticks = 0; ticks < 20000; ticks++) {
        OK(mr_player_tick(player, 1.0 / 120.0));
        CHECK(shows(player, instance, &number, &late));
        do {
            OK(mr_player_event(player, &event));
            if (event.kind == kind) {
                return event;
            }
        } while (event.kind != MR_EVENT_KIND_NONE);
    }
    CHECK(!"the event comes");
    return event;
}

/* After a fault the last good frame stays, and is late. */
static void stays(mr_player *player, uint64_t instance) {
    uint32_t number, late, before;
    for (int ticks = 0; ticks < 60; ticks++) {
        OK(mr_player_tick(player, 1.0 / 120.0));
    }
    CHECK(shows(player, instance, &before, &late) && late);
    OK(mr_player_tick(player, 1.0 / 120.0));
    CHECK(shows(player, instance, &number, &late) && late && number == before);
}

static void lost_while_playing(const list *file) {
    memory_file own = {file->bytes, file->count, SIZE_MAX, 0};
    mr_source source = memory_file_source(&own);
    mr_player *player = small_player();
    uint64_t id;
    mr_event event;
    mr_command command;
    OK(mr_player_open_source(player, "lost", &source, &id));
    uint64_t instance = start(player, id);
    play_on(player, instance, 1);
    own.broken_from = 0;
    event = wait_for(player, instance, MR_EVENT_KIND_READ_FAILED);
    CHECK(event.status == MR_STATUS_IO && event.file == id);
    CHECK(strstr(event.text, "lost") != NULL && strstr(event.text, "42") != NULL);
    stays(player, instance);
    own.broken_from = SIZE_MAX;
    memset(&command, 0, sizeof command);
    command.kind = MR_COMMAND_KIND_RESET;
    OK(mr_player_command(player, instance, &command));
    event = wait_for(player, instance, MR_EVENT_KIND_RECOVERED);
    OK(mr_player_free(player));
    CHECK(own.released == 1);
}

static void damaged_while_playing(const list *file) {
    list copy = {NULL, 0, 0};
    list_add(&copy, file->bytes, file->count);
    memory_file own = {copy.bytes, copy.count, SIZE_MAX, 0};
    mr_source source = memory_file_source(&own);
    mr_player *player = small_player();
    uint64_t id;
    OK(mr_player_open_source(player, "pack/flag", &source, &id));
    uint64_t instance = start(player, id);
    play_on(player, instance, 1);
    /* All that is read from now on is wrong. */
    for (size_t at = 0; at < copy.count; at += 8) {
        copy.bytes[at] ^= 0xff;
    }
    mr_event event = wait_for(player, instance, MR_EVENT_KIND_DAMAGED);
    CHECK(event.status == MR_STATUS_MALFORMED && event.file == id && strstr(event.text, "pack/flag") != NULL);
    stays(player, instance);
    OK(mr_player_free(player));
    list_free(&copy);
}

static void write_file(const char *path, const unsigned char *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

static void ends_while_playing(const list *file, const char *scratch) {
    mr_player *player = small_player();
    uint64_t id;
    write_file(scratch, file->bytes, file->count);
    OK(mr_player_open(player, scratch, &id));
    uint64_t instance = start(player, id);
    play_on(player, instance, 1);
    /* In place, so that the player's file is the one that ends. */
    write_file(scratch, file->bytes, 64);
    mr_event event = wait_for(player, instance, MR_EVENT_KIND_READ_FAILED);
    CHECK(event.status == MR_STATUS_IO && event.file == id);
    stays(player, instance);
    OK(mr_player_free(player));
    remove(scratch);
}

static void cannot_be_opened(const list *file) {
    mr_player *player = small_player();
    mr_event event;
    uint64_t ids[2];
    uint32_t number, late;
    event.size = sizeof event;
    OK(mr_player_open(player, "no such file.reel", &ids[0]));
    OK(mr_player_open_memory(player, "half a flag", file->bytes, file->count / 2, &ids[1]));
    uint64_t instance = start(player, ids[0]);
    OK(mr_player_tick(player, 0.0));
    for (int k = 0; k < 2; k++) {
        OK(mr_player_event(player, &event));
        CHECK(event.kind == MR_EVENT_KIND_OPEN_FAILED && event.file == ids[k]);
        CHECK(event.status == (k == 0 ? (uint32_t)MR_STATUS_IO : (uint32_t)MR_STATUS_MALFORMED));
        CHECK(strstr(event.text, k == 0 ? "no such file.reel" : "half a flag") != NULL);
    }
    CHECK(!shows(player, instance, &number, &late));
    OK(mr_player_free(player));
}

/* Reads that wait until somebody completes them. */
typedef struct {
    const unsigned char *bytes;
    mr_read *reads[64];
    int count, cancelled, released;
} slow_file;

static void slow_start(void *user, mr_read *read) {
    slow_file *file = (slow_file *)user;
    CHECK(file->count < 64);
    file->reads[file->count++] = read;
}

static void slow_cancel(void *user, uint64_t token) {
    (void)token;
    ((slow_file *)user)->cancelled++;
}

static void slow_release(void *user) { ((slow_file *)user)->released++; }

static void slow_complete(slow_file *file, int32_t error) {
    for (int k = 0; k < file->count; k++) {
        mr_read_info info;
        info.size = sizeof info;
        OK(mr_read_get(file->reads[k], &info));
        if (error == 0) {
            memcpy(info.buffer, file->bytes + info.offset, (size_t)info.count);
        }
        OK(mr_read_complete(file->reads[k], info.count, error));
    }
    file->count = 0;
}

static void slow_source(const list *file) {
    for (int way = 0; way < 3; way++) {
        slow_file own;
        mr_source source;
        mr_event event;
        uint64_t id;
        uint32_t number = MR_NONE, late;
        mr_player *player = small_player();
        memset(&own, 0, sizeof own);
        memset(&source, 0, sizeof source);
        own.bytes = file->bytes;
        source.size = sizeof source;
        source.user = &own;
        source.bytes = file->count;
        source.start = slow_start;
        source.cancel = slow_cancel;
        source.release = slow_release;
        event.size = sizeof event;
        OK(mr_player_open_source(player, "slow", &source, &id));
        uint64_t instance = start(player, id);
        if (way == 0) {
            /* Every read comes a tick later. */
            for (int ticks = 0; ticks < 2000 && (number == MR_NONE || number < 2); ticks++) {
                OK(mr_player_tick(player, 1.0 / 120.0));
                slow_complete(&own, 0);
                shows(player, instance, &number, &late);
            }
            CHECK(number != MR_NONE && number >= 2);
            OK(mr_player_close(player, id));
            OK(mr_player_tick(player, 0.0));
            slow_complete(&own, 0);
        } else if (way == 1) {
            /* The connection is lost while it opens. */
            OK(mr_player_tick(player, 0.0));
            CHECK(own.count > 0);
            slow_complete(&own, 104);
            OK(mr_player_tick(player, 0.0));
            OK(mr_player_event(player, &event));
            CHECK(event.kind == MR_EVENT_KIND_OPEN_FAILED && event.status == MR_STATUS_IO);
            CHECK(strstr(event.text, "slow") != NULL);
        } else {
            /* The player goes while a read is under way. */
            OK(mr_player_tick(player, 0.0));
            CHECK(own.count > 0);
        }
        OK(mr_player_free(player));
        slow_complete(&own, way);
        CHECK(own.released == 1);
    }
}

static void *no_memory(void *user, size_t bytes, size_t alignment) {
    (void)user, (void)bytes, (void)alignment;
    return NULL;
}

static void no_release(void *user, void *memory, size_t bytes) { (void)user, (void)memory, (void)bytes; }

static void hosts(void) {
    mr_player_options options;
    mr_player *player = NULL;
    mr_allocator allocator = {sizeof allocator, NULL, no_memory, no_release};
    mr_jobs jobs = {sizeof jobs, NULL, NULL, NULL, 1};
    OK(mr_player_options_init(&options, sizeof options));
    options.allocator = &allocator;
    EXPECT(MR_STATUS_MISUSE, mr_player_new(&options, &player));
    CHECK(player == NULL);
    allocator.release = NULL;
    EXPECT(MR_STATUS_MISUSE, mr_player_new(&options, &player));
    options.allocator = NULL;
    options.jobs = &jobs;
    EXPECT(MR_STATUS_MISUSE, mr_player_new(&options, &player));
    options.jobs = NULL;
    options.threads = 1u << 20;
    EXPECT(MR_STATUS_MISUSE, mr_player_new(&options, &player));
    options.threads = 1;
    options.decode_ahead = 0.0f / (float)(options.threads - 1);
    EXPECT(MR_STATUS_MISUSE, mr_player_new(&options, &player));
    options.size = 3;
    EXPECT(MR_STATUS_MISUSE, mr_player_new(&options, &player));
}

int main(int count, char **arguments) {
    if (count != 3) {
        fprintf(stderr, "faults FILE SCRATCH\n");
        return 2;
    }
    OK(mr_check_version(MR_VERSION));
    list file = read_file(arguments[1]);
    damaged_and_short(&file);
    limits_and_missing(&file);
    misuse(&file);
    broken_callbacks(&file);
    lost_while_playing(&file);
    damaged_while_playing(&file);
    ends_while_playing(&file, arguments[2]);
    cannot_be_opened(&file);
    slow_source(&file);
    hosts();
    list_free(&file);
    printf("every fault has its class\n");
    return 0;
}
