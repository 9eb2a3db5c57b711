/* Decodes all frames of files and prints one number for each, to be compared with other builds and other languages:
 *
 *     digest FILE...
 *
 * Each file is opened three times: by its path, from memory, and through callbacks. */
#include "support.h"

/* All values of a channel as floats, behind a byte that says whether there are any. */
static void add_channel(const mr_frame *frame, uint32_t node, uint32_t channel, size_t count, list *all) {
    size_t flag = all->count;
    unsigned char *bytes = (unsigned char *)list_grow(all, 1 + sizeof(float) * count);
    float *values = (float *)calloc(count + 1, sizeof(float));
    CHECK(values != NULL);
    mr_status status = mr_frame_floats(frame, node, channel, 0, values, count);
    CHECK(status == MR_STATUS_OK || status == MR_STATUS_MISUSE);
    bytes[0] = status == MR_STATUS_OK;
    memcpy(all->bytes + flag + 1, values, sizeof(float) * count);
    free(values);
}

static void add_mesh(const mr_frame *frame, uint32_t mesh, list *all) {
    uint32_t node;
    mr_mesh_state state;
    size_t count = 0;
    state.size = sizeof state;
    OK(mr_frame_node_of(frame, mesh, &node));
    CHECK(node != MR_NONE);
    OK(mr_frame_mesh(frame, node, &state));
    OK(mr_frame_indices(frame, node, NULL, 0, &count));
    CHECK(count == state.indices);
    if (count > 0) {
        uint32_t *indices = (uint32_t *)malloc(sizeof(uint32_t) * count);
        CHECK(indices != NULL);
        OK(mr_frame_indices(frame, node, indices, count, NULL));
        list_add(all, indices, sizeof(uint32_t) * count);
        free(indices);
    }
    add_channel(frame, node, MR_CHANNEL_POSITION, 3 * (size_t)state.vertices, all);
    add_channel(frame, node, MR_CHANNEL_NORMAL, 3 * (size_t)state.vertices, all);
    add_channel(frame, node, MR_CHANNEL_TANGENT, 4 * (size_t)state.vertices, all);
    add_channel(frame, node, MR_CHANNEL_UV, 2 * (size_t)state.vertices, all);
    add_channel(frame, node, MR_CHANNEL_COLOUR, 4 * (size_t)state.vertices, all);
}

static uint64_t digest(const mr_reel *reel) {
    mr_reel_info info;
    mr_decoder *decoder;
    const mr_frame *frame;
    list all = {NULL, 0, 0};
    uint64_t out;
    info.size = sizeof info;
    OK(mr_reel_get(reel, &info));
    OK(mr_decoder_new(reel, &decoder));
    OK(mr_decoder_frame(decoder, &frame));
    uint8_t *visible = (uint8_t *)malloc(info.nodes + 1);
    double *worlds = (double *)malloc(12 * sizeof(double) * (info.nodes + (size_t)1));
    CHECK(visible != NULL && worlds != NULL);
    for (uint32_t number = 0; number < info.frames; number++) {
        double time;
        OK(mr_decoder_decode(decoder, number));
        OK(mr_reel_time(reel, number, &time));
        list_add(&all, &time, sizeof time);
        OK(mr_frame_visible(frame, visible, info.nodes, NULL));
        OK(mr_frame_worlds(frame, worlds, info.nodes));
        for (uint32_t node = 0; node < info.nodes; node++) {
            list_add(&all, visible + node, 1);
            list_add(&all, worlds + 12 * node, 12 * sizeof(double));
        }
        for (uint32_t mesh = 0; mesh < info.meshes; mesh++) {
            add_mesh(frame, mesh, &all);
        }
    }
    OK(mr_checksum(all.bytes, all.count, &out));
    list_free(&all);
    free(visible);
    free(worlds);
    OK(mr_decoder_free(decoder));
    return out;
}

int main(int count, char **arguments) {
    OK(mr_check_version(MR_VERSION));
    for (int i = 1; i < count; i++) {
        const char *path = arguments[i], *name = strrchr(path, '/');
        list bytes = read_file(path);
        memory_file file = {bytes.bytes, bytes.count, SIZE_MAX, 0};
        mr_source source = memory_file_source(&file);
        mr_reel *reels[3];
        uint64_t sums[3];
        OK(mr_reel_open(path, NULL, &reels[0]));
        OK(mr_reel_open_memory(path, bytes.bytes, bytes.count, NULL, &reels[1]));
        OK(mr_reel_open_source(path, &source, NULL, &reels[2]));
        for (int k = 0; k < 3; k++) {
            sums[k] = digest(reels[k]);
            OK(mr_reel_free(reels[k]));
        }
        CHECK(sums[0] == sums[1] && sums[0] == sums[2] && file.released == 1);
        printf("%08lx%08lx  %s\n", (unsigned long)(sums[0] >> 32), (unsigned long)(sums[0] & 0xffffffffu),
               name == NULL ? path : name + 1);
        list_free(&bytes);
    }
    return 0;
}
