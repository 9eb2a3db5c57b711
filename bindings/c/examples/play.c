/* Plays files as a game would, in ticks of a sixtieth of a second, and holds what is shown against plain decodes:
 *
 *     play FILE...
 *
 * Once with threads of the player's own, and once with none, with the program's jobs and memory. */
#include "support.h"

/* A vertex as a game may have it. */
typedef struct {
    float position[3];
    int16_t normal[2];
} vertex;

static const mr_attribute ATTRIBUTES[2] = {
    {MR_CHANNEL_POSITION, 0, MR_FORMAT_F32X3, 0},
    {MR_CHANNEL_NORMAL, 0, MR_FORMAT_I16X2, 12},
};

/* Vertices of a node's mesh, with normals where it has any. */
static vertex *vertices_of(const mr_frame *frame, uint32_t node, uint32_t *count) {
    mr_mesh_state state;
    mr_vertex_layout layout = {ATTRIBUTES, 2, sizeof(vertex)};
    state.size = sizeof state;
    OK(mr_frame_mesh(frame, node, &state));
    vertex *out = (vertex *)calloc(state.vertices + (size_t)1, sizeof(vertex));
    CHECK(out != NULL);
    layout.count = state.normals ? 2 : 1;
    OK(mr_frame_write(frame, node, &layout, 0, state.vertices, out, sizeof(vertex) * (size_t)state.vertices));
    *count = state.vertices;
    return out;
}

/* Every mesh of a whole frame of the player is that of the decoder. */
static int same_frame(const mr_reel *reel, const mr_frame *shown, const mr_frame *decoded) {
    mr_reel_info info;
    int meshes = 0;
    info.size = sizeof info;
    OK(mr_reel_get(reel, &info));
    for (uint32_t node = 0; node < info.nodes; node++) {
        mr_node_info record;
        record.size = sizeof record;
        OK(mr_reel_node(reel, node, &record));
        if (record.mesh == MR_NONE) {
            continue;
        }
        uint32_t counts[2];
        vertex *both[2] = {vertices_of(shown, node, &counts[0]), vertices_of(decoded, node, &counts[1])};
        CHECK(counts[0] == counts[1] && memcmp(both[0], both[1], sizeof(vertex) * counts[0]) == 0);
        free(both[0]);
        free(both[1]);
        meshes++;
    }
    return meshes;
}

/* Jobs wait here until the program has time for them. */
typedef struct {
    mr_job *jobs[4096];
    int count, started, released;
} waiting_jobs;

static void start_job(void *user, mr_job *job) {
    waiting_jobs *waiting = (waiting_jobs *)user;
    CHECK(waiting->count < 4096);
    waiting->jobs[waiting->count++] = job;
    waiting->started++;
}

static void release_jobs(void *user) { ((waiting_jobs *)user)->released++; }

static void run_jobs(waiting_jobs *waiting) {
    while (waiting->count > 0) {
        OK(mr_job_run(waiting->jobs[--waiting->count]));
    }
}

/* Memory of the program's. */
typedef struct {
    void *block;
    size_t bytes;
} memory;

static void *allocate(void *user, size_t bytes, size_t alignment) {
    memory *own = (memory *)user;
    own->block = malloc(bytes + alignment);
    own->bytes += bytes;
    if (own->block == NULL) {
        return NULL;
    }
    size_t over = (size_t)own->block % alignment;
    return (char *)own->block + (over == 0 ? 0 : alignment - over);
}

static void release_memory(void *user, void *block, size_t bytes) {
    memory *own = (memory *)user;
    (void)block;
    own->bytes -= bytes;
    free(own->block);
}

/* A profiler that counts ticks, all of which are on one thread. */
static void begin_span(void *user, const char *name) { *(int *)user += strcmp(name, "meshreel tick") == 0; }

static void end_span(void *user) { (void)user; }

static void command(mr_player *player, uint64_t instance, uint32_t kind, uint32_t number, double a) {
    mr_command what;
    memset(&what, 0, sizeof what);
    what.kind = kind;
    what.number = number;
    what.a = a;
    OK(mr_player_command(player, instance, &what));
}

static void play(const char *path, mr_player *player, waiting_jobs *waiting) {
    uint64_t file, instance;
    mr_reel *reel = NULL;
    mr_decoder *decoder;
    const mr_frame *decoded;
    mr_event event;
    mr_statistics statistics;
    int shown = 0, meshes = 0;
    event.size = sizeof event;
    OK(mr_player_open(player, path, &file));
    OK(mr_player_instance(player, file, &instance));
    command(player, instance, MR_COMMAND_KIND_REPEAT, MR_REPEAT_LOOP, 0.0);
    command(player, instance, MR_COMMAND_KIND_INTERPOLATE, 0, 0.0);
    command(player, instance, MR_COMMAND_KIND_PLAY, 0, 0.0);
    /* A program that only waits gives the threads of the player time; a game would draw. */
    while (reel == NULL) {
        OK(mr_player_tick(player, 0.0));
        OK(mr_player_event(player, &event));
        CHECK(event.kind == MR_EVENT_KIND_NONE || event.kind == MR_EVENT_KIND_OPENED);
        OK(mr_player_reel(player, file, &reel));
    }
    OK(mr_decoder_new(reel, &decoder));
    OK(mr_decoder_frame(decoder, &decoded));
    while (shown < 60) {
        mr_frame *frame;
        mr_frame_info info;
        info.size = sizeof info;
        OK(mr_player_tick(player, 1.0 / 60.0));
        if (waiting != NULL) {
            run_jobs(waiting);
        }
        OK(mr_player_frame(player, instance, &frame));
        if (frame == NULL) {
            continue;
        }
        OK(mr_frame_get(frame, &info));
        CHECK(info.file == file && info.blend == 0.0f);
        OK(mr_decoder_decode(decoder, info.first));
        meshes += same_frame(reel, frame, decoded);
        OK(mr_frame_free(frame));
        shown++;
    }
    CHECK(meshes >= 60);
    statistics.size = sizeof statistics;
    OK(mr_player_statistics(player, &statistics));
    CHECK(statistics.frames_decoded > 0 && statistics.damaged == 0 && statistics.read_errors == 0);
    OK(mr_player_close(player, file));
    OK(mr_player_tick(player, 0.0));
    CHECK(mr_player_close(player, file) == MR_STATUS_MISUSE);
    OK(mr_decoder_free(decoder));
    OK(mr_reel_free(reel));
}

/* Both halves of a file one after the other, as a sequence; the second one stays. */
static void sequence(const char *path) {
    mr_reel *reel;
    mr_player_options options;
    mr_player *player;
    mr_sequencer *sequencer = NULL;
    mr_sequence_clip clips[2];
    mr_sequence_event event = {0.0, 7, 0};
    mr_sequence_state state;
    uint64_t file, instances[2];
    uint32_t told[32], count = 0, shown = 0;
    OK(mr_reel_open(path, NULL, &reel));
    OK(mr_sequence_clip_init(reel, 0, &clips[0]));
    OK(mr_reel_free(reel));
    clips[1] = clips[0];
    clips[0].name = "first";
    clips[1].name = "first";
    clips[0].to = clips[1].from = clips[1].to / 2.0;
    clips[1].start = MR_START_AFTER;
    clips[1].start_number = 0;
    clips[1].end = MR_END_HOLD;
    event.seconds = clips[1].from + (clips[1].to - clips[1].from) / 2.0;
    clips[1].events = &event;
    clips[1].event_count = 1;
    CHECK(mr_sequencer_new(clips, 2, &sequencer) == MR_STATUS_MISUSE && sequencer == NULL);
    clips[1].name = "second";
    OK(mr_sequencer_new(clips, 2, &sequencer));
    OK(mr_player_options_init(&options, sizeof options));
    options.heap = 16 << 20;
    options.threads = 0;
    options.read_threads = 0;
    OK(mr_player_new(&options, &player));
    OK(mr_player_open(player, path, &file));
    OK(mr_player_instance(player, file, &instances[0]));
    OK(mr_player_instance(player, file, &instances[1]));
    state.size = sizeof state;
    do {
        mr_action action;
        mr_frame *frame;
        OK(mr_sequencer_tick(sequencer, 1.0 / 60.0));
        for (;;) {
            OK(mr_sequencer_next(sequencer, &action));
            if (action.kind == MR_ACTION_KIND_NONE) {
                break;
            }
            CHECK(count < 32);
            told[count++] = 100 * action.clip + action.kind;
            OK(mr_sequencer_apply(sequencer, &action, player, instances[action.clip]));
        }
        OK(mr_player_tick(player, 1.0 / 60.0));
        OK(mr_sequencer_state(sequencer, 1, &state));
        OK(mr_player_frame(player, instances[1], &frame));
        shown += frame != NULL;
        OK(mr_frame_free(frame));
        CHECK(state.time < 60.0);
    } while (state.stage != MR_STAGE_ENDED);
    CHECK(shown > 1 && state.cache_is_shown == 1 && state.mesh == MR_NONE);
    /* Streams may be told of anywhere before their clips start. */
    uint32_t wanted[5] = {MR_ACTION_KIND_START, MR_ACTION_KIND_END, 100 + MR_ACTION_KIND_START,
                          100 + MR_ACTION_KIND_EVENT, 100 + MR_ACTION_KIND_END};
    uint32_t next = 0;
    for (uint32_t k = 0; k < count; k++) {
        if (told[k] % 100 != MR_ACTION_KIND_STREAM) {
            CHECK(next < 5 && told[k] == wanted[next]);
            next++;
        }
    }
    CHECK(next == 5);
    OK(mr_sequencer_go_to(sequencer, 0.0));
    OK(mr_sequencer_signal(sequencer, 1));
    CHECK(mr_sequencer_state(sequencer, 2, &state) == MR_STATUS_MISUSE);
    OK(mr_sequencer_free(sequencer));
    OK(mr_player_free(player));
}

int main(int count, char **arguments) {
    int ticks = 0;
    mr_profiler profiler;
    profiler.size = sizeof profiler;
    profiler.user = &ticks;
    profiler.begin = begin_span;
    profiler.end = NULL;
    OK(mr_check_version(MR_VERSION));
    CHECK(mr_set_profiler(&profiler) == MR_STATUS_MISUSE);
    profiler.end = end_span;
    OK(mr_set_profiler(&profiler));
    CHECK(mr_set_profiler(&profiler) == MR_STATUS_MISUSE);
    for (int i = 1; i < count; i++) {
        mr_player_options options;
        mr_player *player;
        OK(mr_player_options_init(&options, sizeof options));
        options.heap = 16 << 20;
        OK(mr_player_new(&options, &player));
        play(arguments[i], player, NULL);
        OK(mr_player_free(player));

        waiting_jobs waiting;
        memory own = {NULL, 0};
        mr_jobs jobs;
        mr_allocator allocator;
        memset(&waiting, 0, sizeof waiting);
        memset(&jobs, 0, sizeof jobs);
        jobs.size = sizeof jobs;
        jobs.user = &waiting;
        jobs.start = start_job;
        jobs.release = release_jobs;
        jobs.threads = 1;
        memset(&allocator, 0, sizeof allocator);
        allocator.size = sizeof allocator;
        allocator.user = &own;
        allocator.allocate = allocate;
        allocator.release = release_memory;
        options.jobs = &jobs;
        options.allocator = &allocator;
        options.threads = 0;
        options.read_threads = 0;
        options.resident = 0;
        OK(mr_player_new(&options, &player));
        CHECK(own.bytes >= 16 << 20);
        play(arguments[i], player, &waiting);
        CHECK(waiting.started > 0);
        OK(mr_player_free(player));
        run_jobs(&waiting);
        CHECK(waiting.released == 1 && own.bytes == 0);
        sequence(arguments[i]);
        printf("played %s\n", arguments[i]);
    }
    CHECK(count < 2 || ticks > 0);
    return 0;
}
