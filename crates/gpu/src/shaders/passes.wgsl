
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

fn number(wg: vec3u, groups: vec3u, thread: u32) -> u32 { return (wg.x + wg.y * groups.x) * GROUP + thread; }

fn keep(at: u32, v: vec3u) {
  scratch[at] = v.x;
  scratch[at + 1u] = v.y;
  scratch[at + 2u] = v.z;
}

@compute @workgroup_size(GROUP)
fn points(@builtin(workgroup_id) wg: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) thread: u32) {
  let i = number(wg, groups, thread);
  if (i >= p.points) { return; }
  keep(p.scratch_points + 3u * i, bitcast<vec3u>(moved_point(p.first, i)));
  if (p.second != p.first) { keep(p.scratch_points + 3u * (p.points + i), bitcast<vec3u>(moved_point(p.second, i))); }
}

@compute @workgroup_size(GROUP)
fn normals(@builtin(workgroup_id) wg: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) thread: u32) {
  let g = number(wg, groups, thread);
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
  let a = ring[p.first + p.states + g];
  let b = ring[p.second + p.states + g];
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
  let c = number(wg, groups, thread);
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
  let number_of_vertex = number(wg, groups, thread);
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
