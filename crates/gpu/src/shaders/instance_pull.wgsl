// Instances in the caller's vertex shader.
@group(0) @binding(0) var<uniform> instance_draw: vec4u;
@group(0) @binding(1) var<storage, read> instance_starts: array<u32>;
@group(0) @binding(2) var<storage, read> instance_numbers: array<u32>;
@group(0) @binding(3) var<storage, read> instance_transforms: array<vec4f>;

// The number of the instance that a draw's instance_index is.
fn instance_of(index: u32) -> u32 { return instance_numbers[instance_starts[2u * instance_draw.x] + index]; }

fn instance_vector(i: u32, v: vec3f) -> vec3f {
  let at = 3u * i;
  return vec3f(dot(instance_transforms[at].xyz, v), dot(instance_transforms[at + 1u].xyz, v), dot(instance_transforms[at + 2u].xyz, v));
}
fn instance_point(i: u32, p: vec3f) -> vec3f {
  let at = 3u * i;
  return instance_vector(i, p) + vec3f(instance_transforms[at].w, instance_transforms[at + 1u].w, instance_transforms[at + 2u].w);
}

// A corner of a sprite, as a strip of two triangles, counter-clockwise as it is seen.
fn sprite_corner(vertex: u32) -> vec2f { return vec2f(f32(vertex & 1u), f32(vertex >> 1u)) * 2.0 - 1.0; }
