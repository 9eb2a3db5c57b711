/* Samples all clips of files and prints one number for each file, to be compared with other builds and languages:
 *
 *     clips FILE...
 */
#include "support.h"

/* Layers and tiers that the numbers are made with. */
static const uint32_t TIERS[3][2] = {{3, 3}, {1, 0}, {2, 1}};

/* What one can ask of a clip besides poses. */
static void look_at(const mr_clips *clips, uint32_t number, const mr_clip_info *clip, mr_cursor *cursor) {
    size_t count;
    mr_transform joint, first;
    uint32_t is_rest;
    mr_query query = {0.0, 0, MR_ROUNDING_NONE};
    mr_step step = {0.0, 0.0, 1, 0};
    const float up[3] = {0.0f, 1.0f, 0.0f};
    uint32_t *parents = (uint32_t *)malloc(sizeof(uint32_t) * clip->joints);
    mr_transform *pose = (mr_transform *)malloc(3 * sizeof(mr_transform) * clip->joints);
    float *object = (float *)malloc(12 * sizeof(float) * clip->joints);
    CHECK(parents != NULL && pose != NULL && object != NULL);
    OK(mr_clips_parents(clips, clip->skeleton, parents, clip->joints, &count));
    CHECK(count == clip->joints && parents[0] == MR_NONE);
    OK(mr_clips_rest(clips, clip->skeleton, pose, clip->joints, &count));
    OK(mr_cursor_pose(cursor, &query, pose, clip->joints));
    OK(mr_cursor_joint(cursor, 0, &query, &joint, &is_rest));
    CHECK(!is_rest && memcmp(&joint, pose, sizeof joint) == 0);
    OK(mr_pose_object_space(parents, pose, object, clip->joints));
    CHECK(object[3] == pose[0].translation[0] && object[7] == pose[0].translation[1]);
    /* Half of the way from a pose to itself is that pose, but for rounding. */
    memcpy(pose + clip->joints, pose, sizeof(mr_transform) * clip->joints);
    OK(mr_pose_blend(pose, pose + clip->joints, 0.5f, pose + 2 * clip->joints, clip->joints));
    CHECK(pose[2 * clip->joints].translation[0] == pose[0].translation[0]);
    CHECK(mr_pose_blend(pose, pose, 0.5f, pose, clip->joints) == MR_STATUS_MISUSE);
    OK(mr_pose_difference(MR_ADDITIVE_ADDITIVE0, pose, pose, pose + clip->joints, clip->joints));
    OK(mr_pose_add(MR_ADDITIVE_ADDITIVE0, pose, pose + clip->joints, 1.0f, pose + 2 * clip->joints, clip->joints));
    CHECK(pose[2 * clip->joints].translation[0] == pose[0].translation[0]);
    OK(mr_cursor_root_motion(cursor, 0, &step, NULL, &first));
    CHECK(first.translation[0] == 0.0f && first.rotation[3] == 1.0f);
    step.to = clip->duration / 2.0;
    OK(mr_cursor_root_motion(cursor, 0, &step, up, &first));
    OK(mr_cursor_scalars(cursor, &query, NULL, 0, &count));
    CHECK(count == clip->scalars);
    mr_passed passed[4];
    OK(mr_cursor_events(cursor, &step, passed, 4, &count));
    CHECK(count <= clip->markers || clip->markers > 0);
    /* What is not there is refused. */
    query.rounding = 9;
    CHECK(mr_cursor_pose(cursor, &query, pose, clip->joints) == MR_STATUS_MISUSE);
    query.rounding = MR_ROUNDING_NEAREST;
    CHECK(mr_cursor_pose(cursor, &query, pose, clip->joints + 1) == MR_STATUS_MISUSE);
    CHECK(mr_cursor_joint(cursor, clip->joints, &query, &joint, NULL) == MR_STATUS_MISUSE);
    CHECK(mr_cursor_sample(cursor, clip->samples, pose, clip->joints) == MR_STATUS_MISUSE);
    CHECK(mr_clips_clip(clips, number + 1000, NULL, NULL, 0, NULL) == MR_STATUS_MISUSE);
    free(parents);
    free(pose);
    free(object);
}

static uint64_t digest(const mr_clips *clips) {
    mr_clips_info info;
    list all = {NULL, 0, 0};
    uint64_t out;
    info.size = sizeof info;
    OK(mr_clips_get(clips, &info));
    for (uint32_t number = 0; number < info.clips; number++) {
        mr_clip_info clip;
        char name[256];
        size_t length;
        clip.size = sizeof clip;
        OK(mr_clips_clip(clips, number, &clip, name, sizeof name, &length));
        CHECK(length == strlen(name));
        mr_transform *pose = (mr_transform *)malloc(sizeof(mr_transform) * clip.joints);
        CHECK(pose != NULL);
        for (int k = 0; k < 3; k++) {
            mr_cursor *cursor;
            OK(mr_cursor_new(clips, number, TIERS[k], 2, &cursor));
            for (uint32_t sample = 0; sample < clip.samples; sample++) {
                OK(mr_cursor_sample(cursor, sample, pose, clip.joints));
                list_add(&all, pose, sizeof(mr_transform) * clip.joints);
            }
            if (k == 0) {
                look_at(clips, number, &clip, cursor);
            }
            OK(mr_cursor_free(cursor));
        }
        free(pose);
    }
    OK(mr_checksum(all.bytes, all.count, &out));
    list_free(&all);
    return out;
}

int main(int count, char **arguments) {
    OK(mr_check_version(MR_VERSION));
    for (int i = 1; i < count; i++) {
        const char *path = arguments[i], *name = strrchr(path, '/');
        mr_reel *reel;
        mr_clips *clips;
        OK(mr_reel_open(path, NULL, &reel));
        OK(mr_clips_new(reel, &clips));
        OK(mr_reel_free(reel));
        uint64_t sum = digest(clips);
        OK(mr_clips_free(clips));
        printf("%08lx%08lx %s\n", (unsigned long)(sum >> 32), (unsigned long)(sum & 0xffffffffu),
               name == NULL ? path : name + 1);
    }
    return 0;
}
