// Places the vertices that were computed where Bevy draws them: a part of a mesh, among its other attributes.

struct Placement {
    // In words: the first vertex, and the size of one.
    computed_first: u32,
    computed_size: u32,
    slab_first: u32,
    slab_size: u32,
    count: u32,
    // In words from the start of a vertex; ABSENT for an attribute that it does not have.
    position: u32,
    normal: u32,
    tangent: u32,
}

const ABSENT = 0xffffffffu;

@group(0) @binding(0) var<uniform> placement: Placement;
@group(0) @binding(1) var<storage, read> computed: array<u32>;
@group(0) @binding(2) var<storage, read_write> slab: array<u32>;

fn copy_words(computed_at: u32, slab_at: u32, count: u32) {
    for (var i = 0u; i < count; i++) {
        slab[slab_at + i] = computed[computed_at + i];
    }
}

@compute @workgroup_size(64)
fn place_vertices(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let vertex = id.x + id.y * groups.x * 64u;
    if vertex >= placement.count {
        return;
    }
    let computed_at = placement.computed_first + vertex * placement.computed_size;
    let slab_at = placement.slab_first + vertex * placement.slab_size;
    copy_words(computed_at, slab_at + placement.position, 3u);
    if placement.normal != ABSENT {
        copy_words(computed_at + 3u, slab_at + placement.normal, 3u);
    }
    if placement.tangent != ABSENT {
        copy_words(computed_at + 6u, slab_at + placement.tangent, 4u);
    }
}
