
// The passes: points that bones move, normals of groups, tangents of classes, vertices in the caller's layout.

override GROUP: u32 = 256u;
override STRIDE: u32 = 5u;
override POSITION_AT: u32 = 0xffffu;
override POSITION_FORMAT: u32 = 0u; // f32x3, f32x4, f16x4, u16x4 over the bounds
override NORMAL_AT: u32 = 0xffffu;
override NORMAL_FORMAT: u32 = 0u;   // f32x3, octahedral i16x2
override TANGENT_AT: u32 = 0xffffu;
override TANGENT_FORMAT: u32 = 0u;  // f32x4, octahedral i16x4
override UV_AT: u32 = 0xffffu;
override UV_FORMAT: u32 = 0u;       // f32x2, f16x2
override COLOUR_AT: u32 = 0xffffu;
override COLOUR_FORMAT: u32 = 0u;   // u8x4
override VELOCITY_AT: u32 = 0xffffu;
override VELOCITY_FORMAT: u32 = 0u; // f32x3, f16x4

fn fold(n: vec3f) -> vec2f {
  var xy = n.xy / (abs(n.x) + abs(n.y) + abs(n.z));
  if (n.z < 0.0) { xy = (1.0 - abs(xy.yx)) * select(vec2f(1.0), vec2f(-1.0), xy < vec2f(0.0)); }
  return xy;
}

// The item of a thread, and the parameters of its mesh.
fn begin(wg: vec3u, groups: vec3u, thread: u32) -> u32 {
  let own = work[wg.x + wg.y * groups.x];
  p = meshes[own.x];
  return own.y + thread;
}

// Matrices of parts in both frames, unpacked once a workgroup: of the first 64 that its points hang on; of others where
// they are asked for. Points of a part lie together.
const PARTS = 64u;
var<workgroup> part_matrices: array<Matrix, 2u * PARTS>;
fn first_part(start: u32) -> u32 { return fixed[p.influences + min(start, p.points - 1u)]; }
fn unpack_parts(start: u32, thread: u32) {
  let first = first_part(start);
  let count = min(first_part(start + GROUP - 1u) - first + 1u, PARTS);
  for (var k = thread; k < 2u * count; k += GROUP) {
    let second = k >= count;
    part_matrices[select(k, PARTS + k - count, second)] =
      packed_matrix(select(p.first, p.second, second), first + select(k, k - count, second));
  }
  workgroupBarrier();
}
fn part_matrix(start: u32, frame: u32, part: u32) -> Matrix {
  let k = part - first_part(start);
  if (k < PARTS && part <= first_part(start + GROUP - 1u)) { return part_matrices[PARTS * frame + k]; }
  return packed_matrix(select(p.first, p.second, frame == 1u), part);
}
fn placed_point(start: u32, frame: u32, i: u32) -> vec3i {
  let slot = select(p.first, p.second, frame == 1u);
  if (PACKED == 0u) { return moved_point(slot, i); }
  let m = part_matrix(start, frame, fixed[p.influences + i]);
  return with_residual(transformed(m, fixed_3(p.rest + 3u * i)), slot, i);
}

fn keep(at: u32, v: vec3u) {
  scratch[at] = v.x;
  scratch[at + 1u] = v.y;
  scratch[at + 2u] = v.z;
}

@compute @workgroup_size(GROUP)
fn points(@builtin(workgroup_id) wg: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) thread: u32) {
  let i = begin(wg, groups, thread);
  let start = i - thread;
  if (PACKED == 1u) { unpack_parts(start, thread); }
  if (i >= p.points) { return; }
  keep(p.scratch_points + 3u * i, bitcast<vec3u>(placed_point(start, 0u, i)));
  if (p.second != p.first) { keep(p.scratch_points + 3u * (p.points + i), bitcast<vec3u>(placed_point(start, 1u, i))); }
}

fn turned(q: vec4f, v: vec3f) -> vec3f {
  return vec3f(1.0 - 2.0 * (q.y * q.y + q.z * q.z), 2.0 * (q.x * q.y + q.w * q.z), 2.0 * (q.x * q.z - q.w * q.y)) * v.x
       + vec3f(2.0 * (q.x * q.y - q.w * q.z), 1.0 - 2.0 * (q.x * q.x + q.z * q.z), 2.0 * (q.y * q.z + q.w * q.x)) * v.y
       + vec3f(2.0 * (q.x * q.z + q.w * q.y), 2.0 * (q.y * q.z - q.w * q.x), 1.0 - 2.0 * (q.x * q.x + q.y * q.y)) * v.z;
}
fn rotation_in(slot: u32, bone: u32) -> vec4f {
  if (PACKED == 1u) {
    let own = packed_part(slot, bone);
    if (own.moves) { return packed_rotation(own.words.x); }
    return vec4f(0.0, 0.0, 0.0, 1.0);
  }
  let at = slot + p.rotations + 4u * bone;
  return vec4f(ring_f(at), ring_f(at + 1u), ring_f(at + 2u), ring_f(at + 3u));
}
// The rotation of a bone in the moment, of a vector.
fn turned_by(bone: u32, v: vec3f) -> vec3f {
  if (bone >= p.bones) { return v; }
  let a = rotation_in(p.first, bone);
  var b = rotation_in(p.second, bone);
  b = select(b, -b, dot(a, b) < 0.0);
  let between = a + (b - a) * p.blend;
  return turned(between * inverse_length(dot(between, between)), v);
}

@compute @workgroup_size(GROUP)
fn normals(@builtin(workgroup_id) wg: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) thread: u32) {
  let g = begin(wg, groups, thread);
  if (g >= p.groups) { return; }
  var n: vec3f;
  if (NORMALS == 4u) {
    n = unit_or(turned_by(fixed[p.group_bones + g], fixed_3(p.group_rest + 3u * g)), vec3f(0.0, 0.0, 1.0));
  } else {
    var sum = vec3f(0.0);
    let end = fixed[p.corner_ends + g];
    for (var k = start_of(p.corner_ends, g); k < end; k += 1u) { sum += corner_vector(p.corners + 4u * k); }
    if (LARGE == 1u) {
      let last = fixed[p.large_ends + g];
      for (var k = start_of(p.large_ends, g); k < last; k += 1u) {
        let at = p.large_corners + 2u * k;
        sum += large_vector(fixed[at], fixed[at + 1u]);
      }
    }
    n = unit_or(sum, vec3f(0.0, 0.0, 1.0)) * p.side;
  }
  let a = sparse(p.first, p.states, g);
  let b = sparse(p.second, p.states, g);
  if (a != 0u || b != 0u) {
    let start = vec2f(f32(low(a)), f32(high(a)));
    let half_state = (start + (vec2f(f32(low(b)), f32(high(b))) - start) * p.blend) * (p.step * 0.5);
    if (dot(half_state, half_state) > 0.0) {
      let own = point(fixed[p.anchors + 2u * g]);
      let x = first_axis(edge(point(fixed[p.anchors + 2u * g + 1u]), own), n);
      let turn = rotation_of(dot(half_state, half_state));
      n = n * turn.x + (x * (half_state.x * turn.y) + cross(n, x) * (half_state.y * turn.y));
    }
  }
  keep(p.scratch_normals + 3u * g, bitcast<vec3u>(n));
}

@compute @workgroup_size(GROUP)
fn tangents(@builtin(workgroup_id) wg: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) thread: u32) {
  let c = begin(wg, groups, thread);
  if (c >= p.classes) { return; }
  let g = fixed[p.class_groups + c];
  let n = scratch_3(p.scratch_normals + 3u * g);
  var sum = vec3f(0.0);
  if (TANGENTS == 3u) {
    sum = turned_by(fixed[p.class_bones + c], fixed_3(p.class_rest + 3u * c));
  } else {
    let own = point(fixed[p.class_points + c]);
    let end = fixed[p.sum_ends + c];
    for (var k = start_of(p.sum_ends, c); k < end; k += 1u) {
      if (TANGENTS == 1u) {
        let at = p.sums + 2u * k;
        sum += edge(point(fixed[at]), own) * fixed_f(at + 1u);
      } else {
        let at = p.sums + 4u * k;
        let whole_e = edge(point(fixed[at]), own);
        let whole_f = edge(point(fixed[at + 1u]), own);
        let e = whole_e - n * dot(whole_e, n);
        let f = whole_f - n * dot(whole_f, n);
        let gradient = e * fixed_f(at + 2u) + f * fixed_f(at + 3u);
        let cosine = (dot(e, f) * inverse_root(dot(e, e))) * inverse_root(dot(f, f));
        sum += gradient * (angle_of(cosine) * rough_inverse_root(dot(gradient, gradient)));
      }
    }
    let last = fixed[p.long_ends + c];
    for (var k = start_of(p.long_ends, c); k < last; k += 1u) {
      let at = p.long_sums + 2u * k;
      sum += edge(point(fixed[at]), own) * fixed_f(at + 1u);
    }
  }
  var t = flat_part(sum, n);
  if (t.w == 0.0) {
    let own = point(fixed[p.anchors + 2u * g]);
    t = vec4f(first_axis(edge(point(fixed[p.anchors + 2u * g + 1u]), own), n), 1.0);
  }
  keep(p.scratch_tangents + 3u * c, bitcast<vec3u>(t.xyz));
}

fn put(at: u32, x: f32) { vertex_words[at] = bitcast<u32>(x); }
fn put_2(at: u32, v: vec2f) {
  put(at, v.x);
  put(at + 1u, v.y);
}
fn put_3(at: u32, v: vec3f) {
  put_2(at, v.xy);
  put(at + 2u, v.z);
}

fn put_halves(at: u32, v: vec4f) {
  vertex_words[at] = pack2x16float(v.xy);
  vertex_words[at + 1u] = pack2x16float(v.zw);
}

@compute @workgroup_size(GROUP)
fn vertices(@builtin(workgroup_id) wg: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) thread: u32) {
  let number_of_vertex = begin(wg, groups, thread);
  if (number_of_vertex >= p.vertices) { return; }
  let v = vertex_of(number_of_vertex);
  let out = p.out + STRIDE * number_of_vertex;
  if (POSITION_AT != 0xffffu) {
    if (POSITION_FORMAT < 2u) { put_3(out + POSITION_AT, v.position); }
    if (POSITION_FORMAT == 1u) { put(out + POSITION_AT + 3u, 1.0); }
    if (POSITION_FORMAT == 2u) { put_halves(out + POSITION_AT, vec4f(v.position, 1.0)); }
    if (POSITION_FORMAT == 3u) {
      let part = (v.position - fixed_3(p.bounds)) * fixed_3(p.bounds + 3u);
      vertex_words[out + POSITION_AT] = pack2x16unorm(part.xy);
      vertex_words[out + POSITION_AT + 1u] = pack2x16unorm(vec2f(part.z, 1.0));
    }
  }
  if (VELOCITY_AT != 0xffffu) {
    if (VELOCITY_FORMAT == 0u) { put_3(out + VELOCITY_AT, v.velocity); }
    else { put_halves(out + VELOCITY_AT, vec4f(v.velocity, 0.0)); }
  }
  if (NORMAL_AT != 0xffffu) {
    if (NORMAL_FORMAT == 0u) { put_3(out + NORMAL_AT, v.normal); }
    else { vertex_words[out + NORMAL_AT] = pack2x16snorm(fold(v.normal)); }
  }
  if (TANGENT_AT != 0xffffu) {
    if (TANGENT_FORMAT == 0u) {
      put_3(out + TANGENT_AT, v.tangent);
      put(out + TANGENT_AT + 3u, v.sign);
    } else {
      vertex_words[out + TANGENT_AT] = pack2x16snorm(fold(v.tangent));
      vertex_words[out + TANGENT_AT + 1u] = pack2x16snorm(vec2f(v.sign, 0.0));
    }
  }
  if (UV_AT != 0xffffu) {
    if (UV_FORMAT == 0u) { put_2(out + UV_AT, v.uv); }
    else { vertex_words[out + UV_AT] = pack2x16float(v.uv); }
  }
  if (COLOUR_AT != 0xffffu) { vertex_words[out + COLOUR_AT] = pack4x8unorm(v.colour); }
}
