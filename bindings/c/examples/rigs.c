/* Rigs, part attributes and what else a file says, of files that have them:
 *
 *     rigs RIGGED.reel ATTRIBUTES.reel
 *
 * Where a rig's matrices put vertices at rest they are those of the bind pose; the numbers of parts come as a table. */
#include "support.h"
#include <math.h>

/* Names are as long as was said, however little room there is. */
static void has_name(mr_status (*get)(const mr_clips *, uint32_t, uint32_t, char *, size_t, size_t *), const mr_clips *clips,
                     uint32_t of, uint32_t number) {
    char name[64], cut[2] = {'?', '?'};
    size_t length, again;
    OK(get(clips, of, number, name, sizeof name, &length));
    CHECK(length > 0 && length < sizeof name);
    OK(get(clips, of, number, NULL, 0, &again));
    CHECK(again == length);
    get(clips, of, number, cut, 1, &again);
    CHECK(again == length && cut[1] == '?');
    CHECK(get(clips, of, 1000000, name, sizeof name, &length) == MR_STATUS_MISUSE);
}

/* A rig moves vertices as its influences say. */
static void rig(const mr_clips *clips, uint32_t number) {
    mr_rig_info info;
    size_t count, joints_of_skeleton;
    info.size = sizeof info;
    OK(mr_clips_rig(clips, number, &info));
    CHECK(info.joints > 0 && info.vertices > 0 && info.error <= info.tolerance);
    OK(mr_clips_parents(clips, info.skeleton, NULL, 0, &joints_of_skeleton));
    uint32_t *joints = (uint32_t *)malloc(sizeof(uint32_t) * info.joints);
    uint32_t *parents = (uint32_t *)malloc(sizeof(uint32_t) * joints_of_skeleton);
    mr_transform *rest = (mr_transform *)malloc(sizeof(mr_transform) * joints_of_skeleton);
    float *object = (float *)malloc(12 * sizeof(float) * joints_of_skeleton);
    float *matrices = (float *)malloc(12 * sizeof(float) * info.joints);
    float *placed = (float *)malloc(3 * sizeof(float) * info.vertices);
    float *shifted = (float *)malloc(3 * sizeof(float) * info.vertices);
    CHECK(joints && parents && rest && object && matrices && placed && shifted);
    OK(mr_rig_joints(clips, number, joints, info.joints, &count));
    CHECK(count == info.joints);
    for (uint32_t k = 0; k < info.joints; k++) {
        CHECK(joints[k] < joints_of_skeleton);
    }
    OK(mr_clips_parents(clips, info.skeleton, parents, joints_of_skeleton, &count));
    OK(mr_clips_rest(clips, info.skeleton, rest, joints_of_skeleton, &count));
    for (uint32_t k = 0; k < joints_of_skeleton; k++) {
        CHECK(parents[k] == MR_NONE || parents[k] < joints_of_skeleton);
        has_name(mr_clips_joint, clips, info.skeleton, k);
    }

    OK(mr_rig_influences(clips, number, NULL, 0, &count));
    mr_influence *influences = (mr_influence *)malloc(sizeof(mr_influence) * count);
    CHECK(influences != NULL);
    OK(mr_rig_influences(clips, number, influences, count, &count));
    double *weights = (double *)calloc(info.vertices, sizeof(double));
    CHECK(weights != NULL);
    for (size_t k = 0; k < count; k++) {
        CHECK(influences[k].vertex < info.vertices && influences[k].joint < info.joints);
        CHECK(k == 0 || influences[k - 1].vertex <= influences[k].vertex);
        weights[influences[k].vertex] += influences[k].weight;
    }
    for (uint32_t v = 0; v < info.vertices; v++) {
        CHECK(fabs(weights[v] - 1.0) < 1e-4);
    }

    OK(mr_rig_dual_parts(clips, number, placed, info.vertices, &count));
    CHECK(count == info.vertices);
    for (uint32_t v = 0; v < info.vertices; v++) {
        CHECK(placed[v] >= 0.0f && placed[v] <= (float)info.dual);
    }

    OK(mr_pose_object_space(parents, rest, object, joints_of_skeleton));
    OK(mr_rig_matrices(clips, number, object, joints_of_skeleton, matrices, info.joints));
    OK(mr_rig_positions(clips, number, matrices, info.joints, placed, info.vertices));
    /* What moves all joints moves all vertices by as much. */
    for (size_t k = 0; k < joints_of_skeleton; k++) {
        object[12 * k + 3] += 2.0f;
    }
    OK(mr_rig_matrices(clips, number, object, joints_of_skeleton, matrices, info.joints));
    OK(mr_rig_positions(clips, number, matrices, info.joints, shifted, info.vertices));
    for (uint32_t v = 0; v < info.vertices; v++) {
        CHECK(fabsf(shifted[3 * v] - placed[3 * v] - 2.0f) < 1e-3f);
        CHECK(fabsf(shifted[3 * v + 1] - placed[3 * v + 1]) < 1e-3f);
    }
    CHECK(mr_rig_matrices(clips, number, object, joints_of_skeleton + 1, matrices, info.joints) == MR_STATUS_MISUSE);
    CHECK(mr_rig_positions(clips, number, matrices, info.joints, placed, info.vertices + 1) == MR_STATUS_MISUSE);
    printf("rig of %u joints and %u vertices, %zu influences\n", (unsigned)info.joints, (unsigned)info.vertices, count);
    free(weights);
    free(influences);
    free(shifted);
    free(placed);
    free(matrices);
    free(object);
    free(rest);
    free(parents);
    free(joints);
}

/* Rigs of a file, and the names of what its clips have. */
static void rigs(const mr_reel *reel) {
    mr_clips *clips;
    mr_clips_info info;
    info.size = sizeof info;
    OK(mr_clips_new(reel, &clips));
    OK(mr_clips_get(clips, &info));
    printf("%u rigs, %u clips, %u skeletons\n", (unsigned)info.rigs, (unsigned)info.clips, (unsigned)info.skeletons);
    CHECK(info.rigs > 0 && info.clips > 0);
    for (uint32_t number = 0; number < info.rigs; number++) {
        rig(clips, number);
    }
    mr_rig_info none;
    none.size = sizeof none;
    CHECK(mr_clips_rig(clips, info.rigs, &none) == MR_STATUS_MISUSE);
    for (uint32_t number = 0; number < info.clips; number++) {
        mr_clip_info clip;
        clip.size = sizeof clip;
        OK(mr_clips_clip(clips, number, &clip, NULL, 0, NULL));
        for (uint32_t track = 0; track < clip.scalars; track++) {
            has_name(mr_clips_scalar, clips, number, track);
        }
        for (uint32_t marker = 0; marker < clip.markers; marker++) {
            double seconds;
            size_t length;
            OK(mr_clips_marker(clips, number, marker, &seconds, NULL, 0, &length));
            CHECK(seconds >= 0.0 && seconds <= clip.duration && length > 0);
        }
    }
    OK(mr_clips_free(clips));
}

/* Part attributes of a node; how many. */
static size_t attributes(const mr_reel *reel, uint32_t node) {
    mr_part_attributes *all;
    size_t count, groups, length;
    char name[64];
    OK(mr_part_attributes_new(reel, node, &all));
    OK(mr_part_attributes_count(all, &count));
    for (uint32_t number = 0; number < count; number++) {
        mr_part_attribute_info info;
        const mr_pair start = {0, 0, 0.0f};
        info.size = sizeof info;
        OK(mr_part_attribute_get(all, number, &info, name, sizeof name, &length));
        CHECK(info.components >= 1 && info.components <= 4 && info.groups > 0 && length > 0);
        OK(mr_part_attribute_table(all, number, start, NULL, 0, &groups));
        CHECK(groups == info.groups);
        float *table = (float *)malloc(4 * sizeof(float) * groups);
        uint32_t *of = (uint32_t *)malloc(sizeof(uint32_t) * (info.members + 1));
        CHECK(table != NULL && of != NULL);
        OK(mr_part_attribute_table(all, number, start, table, groups, &groups));
        for (size_t k = 0; k < groups; k++) {
            for (uint32_t c = info.components; c < 4; c++) {
                CHECK(table[4 * k + c] == 0.0f);
            }
        }
        OK(mr_part_attribute_groups(all, number, of, info.members, &groups));
        CHECK(groups == 0 || groups == info.members);
        for (size_t k = 0; k < groups; k++) {
            CHECK(of[k] < info.groups);
        }
        printf("%s: %u numbers of %u groups\n", name, (unsigned)info.components, (unsigned)info.groups);
        free(of);
        free(table);
    }
    CHECK(mr_part_attribute_groups(all, (uint32_t)count, NULL, 0, &groups) == MR_STATUS_MISUSE);
    OK(mr_part_attributes_free(all));
    return count;
}

/* What a frame hands out in other ways than `play` asks for. */
static void frame(const mr_reel *reel, const mr_reel_info *info) {
    mr_decoder *decoder;
    const mr_frame *own;
    size_t count;
    float bounds[6];
    OK(mr_decoder_new(reel, &decoder));
    OK(mr_decoder_decode(decoder, 0));
    OK(mr_decoder_frame(decoder, &own));
    OK(mr_reel_bounds(reel, 0, bounds));
    mr_transform *local = (mr_transform *)malloc(sizeof(mr_transform) * info->nodes);
    CHECK(local != NULL);
    OK(mr_frame_transforms(own, local, info->nodes, &count));
    CHECK(count == info->nodes);
    free(local);
    for (uint32_t node = 0; node < info->nodes; node++) {
        mr_node_info record;
        mr_mesh_state state;
        double velocity[12];
        record.size = sizeof record;
        state.size = sizeof state;
        OK(mr_reel_node(reel, node, &record));
        OK(mr_frame_world_velocity(own, node, velocity));
        if (record.mesh == MR_NONE) {
            continue;
        }
        OK(mr_frame_mesh(own, node, &state));
        OK(mr_frame_indices(own, node, NULL, 0, &count));
        uint32_t *indices = (uint32_t *)malloc(sizeof(uint32_t) * (count + 1));
        uint32_t *others = (uint32_t *)malloc(sizeof(uint32_t) * (count + 1));
        uint16_t *short_ones = (uint16_t *)malloc(sizeof(uint16_t) * (count + 1));
        float *positions = (float *)malloc(3 * sizeof(float) * (state.vertices + (size_t)1));
        CHECK(indices && others && short_ones && positions);
        OK(mr_frame_indices(own, node, indices, count, &count));
        OK(mr_frame_indices_16(own, node, short_ones, count, &count));
        OK(mr_frame_collision(own, node, positions, state.vertices, others, count));
        for (size_t k = 0; k < count; k++) {
            CHECK(indices[k] == others[k] && indices[k] == short_ones[k]);
        }
        for (size_t k = 0; k < 3 * (size_t)state.vertices; k++) {
            const float slack = 1e-4f * (bounds[3 + k % 3] - bounds[k % 3]) + 1e-5f;
            CHECK(positions[k] >= bounds[k % 3] - slack && positions[k] <= bounds[3 + k % 3] + slack);
        }
        /* The same triangles, in an order of their own. */
        OK(mr_frame_indices_by_visibility(own, node, others, count, &count));
        uint64_t sums[2] = {0, 0};
        for (size_t k = 0; k < count; k++) {
            sums[0] += indices[k];
            sums[1] += others[k];
        }
        CHECK(sums[0] == sums[1]);
        free(positions);
        free(short_ones);
        free(others);
        free(indices);
    }
    OK(mr_decoder_free(decoder));
}

/* Materials and ranges have names. */
static void names(const mr_reel *reel, const mr_reel_info *info) {
    char name[64];
    size_t length;
    for (uint32_t mesh = 0; mesh < info->meshes; mesh++) {
        mr_mesh_info record;
        record.size = sizeof record;
        OK(mr_reel_mesh(reel, mesh, &record));
        for (uint32_t material = 0; material < record.materials; material++) {
            mr_material_info own;
            own.size = sizeof own;
            OK(mr_reel_material(reel, mesh, material, &own, name, sizeof name, &length));
        }
        CHECK(mr_reel_material(reel, mesh, record.materials, NULL, NULL, 0, NULL) == MR_STATUS_MISUSE);
    }
    CHECK(mr_reel_range(reel, 1000000, NULL, NULL, 0, &length) == MR_STATUS_MISUSE);
}

int main(int count, char **paths) {
    size_t found = 0;
    CHECK(count == 3 && mr_version() == MR_VERSION);
    CHECK(mr_format_size(MR_FORMAT_F32X3) == 12 && mr_format_size(MR_FORMAT_I16X2) == 4 && mr_format_size(1000) == 0);
    for (int k = 1; k < count; k++) {
        list file = read_file(paths[k]);
        mr_reel *reel;
        mr_reel_info info;
        info.size = sizeof info;
        OK(mr_reel_open_memory(NULL, file.bytes, file.count, NULL, &reel));
        OK(mr_reel_get(reel, &info));
        if (k == 1) {
            rigs(reel);
        }
        for (uint32_t node = 0; node < info.nodes; node++) {
            found += attributes(reel, node);
        }
        names(reel, &info);
        frame(reel, &info);
        OK(mr_reel_free(reel));
        list_free(&file);
    }
    CHECK(found > 0);
    printf("%zu part attributes\n", found);
    return 0;
}
