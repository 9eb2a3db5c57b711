// The interface in C++17: handles that free themselves, errors as exceptions, a player with threads, levels of detail,
// and what a graphics card would be given.
//
//     wrapper FILE...
#include <meshreel.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

// An exception for every status but MR_STATUS_OK.
void check(mr_status status) {
    if (status != MR_STATUS_OK) {
        throw std::runtime_error(std::string(mr_status_name(status)) + ": " + mr_last_error());
    }
}

// A handle that frees itself.
template <auto Free> struct Freed {
    template <typename T> void operator()(T *handle) const { Free(handle); }
};
using Reel = std::unique_ptr<mr_reel, Freed<mr_reel_free>>;
using Decoder = std::unique_ptr<mr_decoder, Freed<mr_decoder_free>>;
using Player = std::unique_ptr<mr_player, Freed<mr_player_free>>;
using Frame = std::unique_ptr<mr_frame, Freed<mr_frame_free>>;
using Plan = std::unique_ptr<mr_gpu_plan, Freed<mr_gpu_plan_free>>;
using Ring = std::unique_ptr<mr_gpu_ring, Freed<mr_gpu_ring_free>>;
using Attributes = std::unique_ptr<mr_part_attributes, Freed<mr_part_attributes_free>>;

template <typename Handle, typename Make, typename... Arguments> Handle make(Make function, Arguments... arguments) {
    typename Handle::pointer out = nullptr;
    check(function(arguments..., &out));
    return Handle(out);
}

// A list by count-then-fill.
template <typename T, typename Fill, typename... Arguments> std::vector<T> list(Fill fill, Arguments... arguments) {
    std::size_t count = 0;
    check(fill(arguments..., nullptr, 0, &count));
    std::vector<T> out(count);
    if (count > 0) {
        check(fill(arguments..., out.data(), out.size(), &count));
    }
    return out;
}

template <typename Fill, typename... Arguments> std::string text(Fill fill, Arguments... arguments) {
    std::size_t length = 0;
    check(fill(arguments..., nullptr, 0, &length));
    std::string out(length, '\0');
    check(fill(arguments..., out.data(), out.size() + 1, &length));
    return out;
}

// A structure that knows its size.
template <typename T, typename Get, typename... Arguments> T get(Get function, Arguments... arguments) {
    T out{};
    out.size = sizeof out;
    check(function(arguments..., &out));
    return out;
}

void require(bool so, const char *what) {
    if (!so) {
        throw std::runtime_error(std::string("not so: ") + what);
    }
}

// What is in a file.
void describe(const mr_reel *reel) {
    auto info = get<mr_reel_info>(mr_reel_get, reel);
    std::printf("%u frames, %u nodes, %u meshes\n", info.frames, info.nodes, info.meshes);
    require(!text(mr_reel_options, reel).empty(), "the options are there");
    for (std::uint32_t mesh = 0; mesh < info.meshes; mesh++) {
        auto record = get<mr_mesh_info>(mr_reel_mesh, reel, mesh);
        std::printf("  %s: %u vertices, %u materials, %u levels\n", text(mr_reel_mesh_path, reel, mesh).c_str(),
                    record.vertices, record.materials, record.lods);
        for (std::uint32_t stream = 0; stream < record.streams; stream++) {
            require(get<mr_stream_info>(mr_reel_stream, reel, mesh, stream).tolerance >= 0.0, "a tolerance");
        }
    }
}

// Triangles, levels and part attributes of all meshes of a frame.
void triangles(const mr_reel *reel, const mr_frame *frame) {
    auto info = get<mr_frame_info>(mr_frame_get, frame);
    for (std::uint32_t node = 0; node < info.nodes; node++) {
        if (get<mr_node_info>(mr_reel_node, reel, node).mesh == MR_NONE) {
            continue;
        }
        auto state = get<mr_mesh_state>(mr_frame_mesh, frame, node);
        auto indices = list<std::uint32_t>(mr_frame_indices, frame, node);
        for (std::uint32_t index : indices) {
            require(index < state.vertices, "indices are of vertices");
        }
        std::size_t seen = 0;
        for (mr_range range : list<mr_range>(mr_frame_visible_ranges, frame, node, MR_NONE)) {
            seen += range.count;
        }
        require(seen <= indices.size(), "no more is seen than there is");
        std::vector<float> errors;
        for (std::uint32_t level = 0; level < state.lods; level++) {
            auto lod = get<mr_lod_info>(mr_frame_lod, frame, node, level);
            auto own = list<std::uint32_t>(mr_frame_lod_indices, frame, node, level);
            require(own.size() == lod.indices && (level == 0) == (own.size() == indices.size()), "a level of its own");
            std::size_t drawn = 0;
            for (mr_range range : list<mr_range>(mr_frame_lod_materials, frame, node, level)) {
                drawn += range.count;
            }
            require(drawn <= own.size(), "materials of the level");
            auto becomes = list<std::uint32_t>(mr_frame_lod_becomes, frame, node, level);
            require(becomes.size() == (level == 0 ? 0 : state.vertices), "a vertex for each vertex");
            for (std::uint32_t vertex : becomes) {
                require(vertex < state.vertices, "a vertex that is there");
            }
            if (level > 0) {
                require(lod.error > 0.0f, "a level has an error");
                errors.push_back(lod.error);
            }
        }
        mr_lod_distances distances{};
        std::uint32_t level = 0;
        check(mr_lod_within(errors.data(), errors.size(), 1.0f, 0.9f, 1080.0f, 1.0f, &distances));
        check(mr_lod_at(&distances, 1e9f, 0, &level));
        require(level <= errors.size(), "a level that is there");
        auto attributes = make<Attributes>(mr_part_attributes_new, reel, node);
        std::size_t count = 0;
        check(mr_part_attributes_count(attributes.get(), &count));
        for (std::uint32_t number = 0; number < count; number++) {
            mr_part_attribute_info attribute{};
            attribute.size = sizeof attribute;
            check(mr_part_attribute_get(attributes.get(), number, &attribute, nullptr, 0, nullptr));
            std::vector<float> table(4 * attribute.groups);
            mr_pair pair{info.first, info.second, info.blend};
            check(mr_part_attribute_table(attributes.get(), number, pair, table.data(), attribute.groups, nullptr));
        }
        if (state.tangents != 0) {
            std::vector<float> normals(3 * state.vertices), tangents(4 * state.vertices);
            check(mr_frame_directions(frame, node, normals.data(), tangents.data(), state.vertices));
            float square = 0.0f;
            for (int k = 0; k < 3; k++) {
                square += normals[static_cast<std::size_t>(k)] * normals[static_cast<std::size_t>(k)];
            }
            require(std::fabs(square - 1.0f) < 1e-3f, "normals have length 1");
        }
    }
}

// The plan of a graphics card: everything that would go up, and the dispatches.
void plan(const mr_reel *reel, const mr_frame *frame) {
    auto own = make<Plan>(mr_gpu_plan_new, frame, nullptr, nullptr);
    auto info = get<mr_gpu_info>(mr_gpu_plan_get, own.get());
    auto ring = make<Ring>(mr_gpu_ring_new, 2u);
    auto now = get<mr_frame_info>(mr_frame_get, frame);
    std::size_t fixed = 0;
    for (std::uint32_t batch = 0; batch < info.batches; batch++) {
        auto sizes = get<mr_gpu_batch>(mr_gpu_plan_batch, own.get(), batch);
        auto words = list<std::uint32_t>(mr_gpu_plan_fixed, own.get(), batch);
        require(words.size() == sizes.fixed_words, "as many words as were said");
        fixed += words.size();
    }
    std::vector<std::uint32_t> slot(info.slot_words), still(info.still_words);
    check(mr_gpu_ring_begin(ring.get()));
    mr_gpu_place place{};
    check(mr_gpu_ring_ask(ring.get(), now.first, &place));
    require(place.is_new == 1 && place.slot == 0, "a new slot");
    check(mr_gpu_plan_slot(own.get(), frame, 0, slot.data(), slot.size()));
    auto used = list<mr_range>(mr_gpu_plan_used, own.get());
    check(mr_gpu_plan_still(own.get(), frame, still.data(), still.size()));
    check(mr_gpu_plan_begin(own.get()));
    std::vector<unsigned char> params(info.params_bytes);
    for (std::uint32_t node = 0; node < now.nodes; node++) {
        if (get<mr_node_info>(mr_reel_node, reel, node).mesh != MR_NONE) {
            mr_gpu_moment moment{place.slot, place.slot, 2, 0};
            check(mr_gpu_plan_show(own.get(), frame, node, &moment, params.data(), params.size()));
        }
    }
    // Two words for each workgroup.
    std::size_t groups = 0;
    check(mr_gpu_plan_work(own.get(), nullptr, 0, &groups));
    std::vector<std::uint32_t> work(2 * groups);
    check(mr_gpu_plan_work(own.get(), work.data(), groups, &groups));
    auto dispatches = list<mr_gpu_dispatch>(mr_gpu_plan_dispatches, own.get());
    for (const mr_gpu_dispatch &dispatch : dispatches) {
        auto constants = list<mr_gpu_constant>(mr_gpu_plan_constants, own.get(), dispatch.mesh);
        require(!constants.empty() && mr_gpu_pass_entry(dispatch.pass) != nullptr, "a pipeline");
        require(dispatch.first + dispatch.groups[0] * dispatch.groups[1] <= groups, "work for all of it");
    }
    require(text(mr_gpu_wgsl).find("fn vertices") != std::string::npos, "the shader has its pass");
    require(text(mr_gpu_wgsl_pull, 1u).find("vertex_of") != std::string::npos, "the shader fetches vertices");
    std::printf("  on a card: %zu fixed words, %u words a frame (%zu ranges), %zu dispatches\n", fixed, info.slot_words,
                used.size(), dispatches.size());
}

// Plays until some frames were shown, on threads of the player's.
void play(const char *path) {
    mr_player_options options{};
    check(mr_player_options_init(&options, sizeof options));
    options.heap = 32u << 20;
    auto player = make<Player>(mr_player_new, &options);
    std::uint64_t file = 0, instance = 0;
    check(mr_player_open(player.get(), path, &file));
    check(mr_player_instance(player.get(), file, &instance));
    mr_command command{};
    command.kind = MR_COMMAND_KIND_REPEAT;
    command.number = MR_REPEAT_LOOP;
    check(mr_player_command(player.get(), instance, &command));
    command.kind = MR_COMMAND_KIND_PLAY;
    check(mr_player_command(player.get(), instance, &command));
    for (int shown = 0; shown < 20;) {
        check(mr_player_tick(player.get(), 1.0 / 60.0));
        auto event = get<mr_event>(mr_player_event, player.get());
        require(event.status == MR_STATUS_OK, event.text);
        auto frame = make<Frame>(mr_player_frame, player.get(), instance);
        if (frame == nullptr) {
            std::this_thread::yield();
            continue;
        }
        // Frames can be looked at on any thread.
        std::thread reader([&frame] { require(get<mr_frame_info>(mr_frame_get, frame.get()).nodes > 0, "nodes"); });
        reader.join();
        shown++;
    }
    require(get<mr_clock>(mr_player_clock, player.get(), instance).playing == 1, "it plays");
    require(text(mr_player_name, player.get(), file) == path, "a file is called by its path");
}

} // namespace

int main(int count, char **arguments) {
    try {
        check(mr_check_version(MR_VERSION));
        for (int i = 1; i < count; i++) {
            auto reel = make<Reel>(mr_reel_open, arguments[i], nullptr);
            describe(reel.get());
            auto decoder = make<Decoder>(mr_decoder_new, reel.get());
            const mr_frame *frame = nullptr;
            check(mr_decoder_frame(decoder.get(), &frame));
            check(mr_decoder_decode(decoder.get(), 0));
            triangles(reel.get(), frame);
            plan(reel.get(), frame);
            play(arguments[i]);
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
