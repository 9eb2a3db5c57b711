/* Writes what a player shows of the conformance set as JSON, for tools/conformance/check.py:
 *
 *     conformance FOLDER > SHOWN.json
 *
 * FOLDER is testdata/conformance. Everything is as in the file: object space and world transforms in its unit. */
#include "support.h"

static void print_text(const char *text) {
    putchar('"');
    for (; *text != 0; text++) {
        if (*text == '"' || *text == '\\') {
            putchar('\\');
        }
        putchar(*text);
    }
    putchar('"');
}

static void print_numbers(const char *name, const double *values, size_t count) {
    printf(", \"%s\": [", name);
    for (size_t i = 0; i < count; i++) {
        printf("%s%.9g", i == 0 ? "" : ", ", values[i]);
    }
    putchar(']');
}

/* An attribute of a node's mesh, if it is there. */
static void print_channel(const mr_frame *frame, uint32_t node, const char *name, uint32_t channel, size_t components,
                          uint32_t vertices) {
    const size_t count = components * vertices;
    float *values = (float *)calloc(count + 1, sizeof(float));
    double *wide = (double *)calloc(count + 1, sizeof(double));
    CHECK(values != NULL && wide != NULL);
    OK(mr_frame_floats(frame, node, channel, 0, values, count));
    for (size_t i = 0; i < count; i++) {
        wide[i] = values[i];
    }
    print_numbers(name, wide, count);
    free(values);
    free(wide);
}

static void print_materials(const mr_reel *reel, const mr_frame *frame, uint32_t node, const mr_mesh_state *state) {
    mr_range *ranges = (mr_range *)calloc(state->materials + (size_t)1, sizeof(mr_range));
    CHECK(ranges != NULL);
    OK(mr_frame_materials(frame, node, ranges, state->materials, NULL));
    printf(", \"materials\": [");
    for (uint32_t m = 0; m < state->materials; m++) {
        char name[256];
        mr_material_info info;
        info.size = sizeof info;
        OK(mr_reel_material(reel, state->mesh, m, &info, name, sizeof name, NULL));
        printf("%s{\"name\": ", m == 0 ? "" : ", ");
        print_text(name);
        printf(", \"first\": %u, \"count\": %u}", (unsigned)ranges[m].first, (unsigned)ranges[m].count);
    }
    putchar(']');
    free(ranges);
}

static void print_triangles(const mr_frame *frame, uint32_t node, const mr_mesh_state *state) {
    uint32_t *indices = (uint32_t *)calloc(state->indices + (size_t)1, sizeof(uint32_t));
    CHECK(indices != NULL);
    OK(mr_frame_indices(frame, node, indices, state->indices, NULL));
    printf(", \"indices\": [");
    for (uint32_t i = 0; i < state->indices; i++) {
        printf("%s%u", i == 0 ? "" : ", ", (unsigned)indices[i]);
    }
    printf("], \"levels\": [");
    for (uint32_t level = 0; level < state->lods; level++) {
        mr_lod_info info;
        info.size = sizeof info;
        OK(mr_frame_lod(frame, node, level, &info));
        printf("%s%u", level == 0 ? "" : ", ", (unsigned)info.indices / 3);
    }
    putchar(']');
    free(indices);
}

static void print_node(const mr_reel *reel, const mr_frame *frame, uint32_t node, int visible) {
    char path[256];
    double world[12];
    mr_mesh_state state;
    state.size = sizeof state;
    OK(mr_reel_node_path(reel, node, path, sizeof path, NULL));
    OK(mr_frame_world(frame, node, world));
    OK(mr_frame_mesh(frame, node, &state));
    printf("{\"path\": ");
    print_text(path);
    printf(", \"visible\": %s", visible ? "true" : "false");
    print_numbers("world", world, 12);
    print_channel(frame, node, "positions", MR_CHANNEL_POSITION, 3, state.vertices);
    if (state.normals != 0) {
        print_channel(frame, node, "normals", MR_CHANNEL_NORMAL, 3, state.vertices);
    }
    if (state.uvs != 0) {
        print_channel(frame, node, "uvs", MR_CHANNEL_UV, 2, state.vertices);
    }
    if (state.colours != 0) {
        print_channel(frame, node, "colours", MR_CHANNEL_COLOUR, 4, state.vertices);
    }
    if (state.indices == 0) {
        print_channel(frame, node, "widths", MR_CHANNEL_WIDTH, 1, state.vertices);
    }
    print_triangles(frame, node, &state);
    print_materials(reel, frame, node, &state);
    putchar('}');
}

static void print_cameras(const mr_reel *reel, const mr_frame *frame, const mr_frame_info *info) {
    mr_cameras *cameras;
    size_t count;
    OK(mr_cameras_new(reel, &cameras));
    OK(mr_cameras_count(cameras, &count));
    printf("], \"cameras\": [");
    for (uint32_t c = 0; c < count; c++) {
        char path[256];
        double world[12];
        mr_camera_info camera;
        mr_lens lens;
        mr_pair pair;
        camera.size = sizeof camera;
        lens.size = sizeof lens;
        pair.first = info->first;
        pair.second = info->second;
        pair.blend = info->blend;
        OK(mr_camera_get(cameras, c, &camera, path, sizeof path, NULL));
        OK(mr_frame_world(frame, camera.node, world));
        OK(mr_camera_lens(cameras, c, pair, &lens));
        /* A camera looks along -z, with y up. */
        double columns[4][3];
        for (int column = 0; column < 4; column++) {
            for (int row = 0; row < 3; row++) {
                columns[column][row] = (column == 2 ? -1.0 : 1.0) * world[4 * row + column];
            }
        }
        printf("%s{\"path\": ", c == 0 ? "" : ", ");
        print_text(path);
        print_numbers("right", columns[0], 3);
        print_numbers("up", columns[1], 3);
        print_numbers("forward", columns[2], 3);
        print_numbers("eye", columns[3], 3);
        printf(", \"focal_length\": %.9g}", lens.focal_length);
    }
    OK(mr_cameras_free(cameras));
}

/* The frame of a time, as soon as the player has it. */
static mr_frame *shown_at(mr_player *player, uint64_t instance, const mr_reel *reel, double seconds,
                          mr_frame_info *info) {
    mr_command go;
    memset(&go, 0, sizeof go);
    go.kind = MR_COMMAND_KIND_GO_TO;
    go.a = seconds;
    OK(mr_player_command(player, instance, &go));
    for (;;) {
        mr_frame *frame;
        OK(mr_player_tick(player, 0.0));
        OK(mr_player_frame(player, instance, &frame));
        if (frame != NULL) {
            double first, second;
            info->size = sizeof *info;
            OK(mr_frame_get(frame, info));
            OK(mr_reel_time(reel, info->first, &first));
            OK(mr_reel_time(reel, info->second, &second));
            const double shown = first + info->blend * (second - first);
            if (info->late == 0 && shown - seconds < 1e-5 && seconds - shown < 1e-5) {
                return frame;
            }
            OK(mr_frame_free(frame));
        }
    }
}

static void print_frames(const mr_reel *reel, const mr_frame *frame, const mr_frame_info *info) {
    uint8_t *visible = (uint8_t *)calloc(info->nodes + (size_t)1, 1);
    int first = 1;
    CHECK(visible != NULL);
    OK(mr_frame_visible(frame, visible, info->nodes, NULL));
    printf("\"nodes\": [");
    for (uint32_t node = 0; node < info->nodes; node++) {
        mr_node_info record;
        record.size = sizeof record;
        OK(mr_reel_node(reel, node, &record));
        if (record.mesh != MR_NONE) {
            printf("%s", first ? "" : ", ");
            print_node(reel, frame, node, visible[node]);
            first = 0;
        }
    }
    print_cameras(reel, frame, info);
    printf("]}");
    free(visible);
}

static void print_joints(const mr_reel *reel, double seconds) {
    mr_clips *clips;
    mr_clip_info info;
    mr_cursor *cursor;
    mr_query query = {0.0, 0, MR_ROUNDING_NONE};
    info.size = sizeof info;
    query.seconds = seconds;
    OK(mr_clips_new(reel, &clips));
    OK(mr_clips_clip(clips, 0, &info, NULL, 0, NULL));
    uint32_t *parents = (uint32_t *)calloc(info.joints, sizeof(uint32_t));
    mr_transform *local = (mr_transform *)calloc(info.joints, sizeof(mr_transform));
    float *object = (float *)calloc(12 * (size_t)info.joints, sizeof(float));
    CHECK(parents != NULL && local != NULL && object != NULL);
    OK(mr_clips_parents(clips, info.skeleton, parents, info.joints, NULL));
    OK(mr_cursor_new(clips, 0, NULL, 0, &cursor));
    OK(mr_cursor_pose(cursor, &query, local, info.joints));
    OK(mr_pose_object_space(parents, local, object, info.joints));
    printf("\"joints\": [");
    for (uint32_t joint = 0; joint < info.joints; joint++) {
        char name[256];
        double position[3], axes[9];
        const float *matrix = object + 12 * (size_t)joint;
        for (int row = 0; row < 3; row++) {
            position[row] = matrix[4 * row + 3];
            for (int column = 0; column < 3; column++) {
                axes[3 * column + row] = matrix[4 * row + column];
            }
        }
        OK(mr_clips_joint(clips, info.skeleton, joint, name, sizeof name, NULL));
        printf("%s{\"name\": ", joint == 0 ? "" : ", ");
        print_text(name);
        print_numbers("position", position, 3);
        print_numbers("axes", axes, 9);
        putchar('}');
    }
    printf("]}");
    free(parents);
    free(local);
    free(object);
    OK(mr_cursor_free(cursor));
    OK(mr_clips_free(clips));
}

/* One line of moments.txt: a file, and times in seconds. */
static void print_file(mr_player *player, const char *folder, char *line) {
    static const double METRES[] = {1.0, 1.0, 0.01, 0.001, 0.0254};
    char path[1024];
    uint64_t file, instance;
    mr_reel *reel;
    mr_reel_info info;
    mr_command pause;
    char *word = strtok(line, " \n");
    snprintf(path, sizeof path, "%s/%s", folder, word);
    info.size = sizeof info;
    OK(mr_reel_open(path, NULL, &reel));
    OK(mr_reel_get(reel, &info));
    OK(mr_player_open(player, path, &file));
    OK(mr_player_instance(player, file, &instance));
    memset(&pause, 0, sizeof pause);
    pause.kind = MR_COMMAND_KIND_PAUSE;
    OK(mr_player_command(player, instance, &pause));
    print_text(word);
    printf(": {\"metres\": %g, \"moments\": [", METRES[info.unit]);
    for (int first = 1; (word = strtok(NULL, " \n")) != NULL; first = 0) {
        const double seconds = strtod(word, NULL);
        printf("%s{\"seconds\": %.9g, ", first ? "\n" : ",\n", seconds);
        if (info.frames == 0) {
            print_joints(reel, seconds);
        } else {
            mr_frame_info shown;
            mr_frame *frame = shown_at(player, instance, reel, seconds, &shown);
            print_frames(reel, frame, &shown);
            OK(mr_frame_free(frame));
        }
    }
    printf("]}");
    OK(mr_player_close(player, file));
    OK(mr_reel_free(reel));
}

int main(int count, char **arguments) {
    char path[1024], line[1024];
    mr_player_options options;
    mr_player *player;
    CHECK(count == 2);
    OK(mr_check_version(MR_VERSION));
    OK(mr_player_options_init(&options, sizeof options));
    options.heap = 16 << 20;
    OK(mr_player_new(&options, &player));
    snprintf(path, sizeof path, "%s/moments.txt", arguments[1]);
    FILE *moments = fopen(path, "r");
    CHECK(moments != NULL);
    printf("{\"engine\": \"meshreel\", \"files\": {");
    for (int first = 1; fgets(line, sizeof line, moments) != NULL; first = 0) {
        printf("%s", first ? "\n" : ",\n");
        print_file(player, arguments[1], line);
    }
    printf("}}\n");
    fclose(moments);
    OK(mr_player_free(player));
    return 0;
}
