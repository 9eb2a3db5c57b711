// Places the vertices that were computed where Bevy draws them: a part of a mesh, among its other attributes.

struct Place {
    // In words: the first vertex, and the size of one.
    computed_first: u32,
    computed_size: u32,
    drawn_first: u32,
    drawn_size: u32,
    count: u32,
    // In words from the start of a vertex; NONE for an attribute that it does not have.
    position: u32,
    normal: u32,
    tangent: u32,
}

const NONE = 0xffffffffu;

@group(0) @binding(0) var<uniform> place: Place;
@group(0) @binding(1) var<storage, read> computed: array<u32>;
@group(0) @binding(2) var<storage, read_write> drawn: array<u32>;

fn copy_words(computed_at: u32, drawn_at: u32, count: u32) {
    for (var i = 0u; i < count; i++) {
        drawn[drawn_at + i] = computed[computed_at + i];
    }
}

@compute @workgroup_size(64)
fn place_vertices(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let vertex = id.x + id.y * groups.x * 64u;
    if vertex >= place.count {
        return;
    }
    let computed_at = place.computed_first + vertex * place.computed_size;
    let drawn_at = place.drawn_first + vertex * place.drawn_size;
    copy_words(computed_at, drawn_at + place.position, 3u);
    if place.normal != NONE {
        copy_words(computed_at + 3u, drawn_at + place.normal, 3u);
    }
    if place.tangent != NONE {
        copy_words(computed_at + 6u, drawn_at + place.tangent, 4u);
    }
}
