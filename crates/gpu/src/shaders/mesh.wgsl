
// Makes a vertex in object space from decoded frames as they lie in the ring, for all methods.
// Pipelines are made by override constants; what a mesh does not have is folded away. Normals and tangents are those
// of the moment between two frames, as docs/FORMAT/mesh.md defines them; sums may round otherwise.

override POSITIONS: u32 = 0u; // points of 16 bits, points of 32 bits, codes of vertices, bones, heights
override HEIGHT_AXIS: u32 = 1u;
override CODED: u32 = 0u;        // points are in the ring of points, not in that of frames
override IDS: u32 = 0u;          // particles with ids: what is the same lies elsewhere in the second frame
override WIDE_POINTS: u32 = 0u;  // of points that bones move: 32 bits, one bone each, residuals, put in place by a pass
override ONE_BONE: u32 = 0u;
override RESIDUALS: u32 = 0u;
override PACKED: u32 = 0u;       // transforms as they lie in the file; then points are apart
override POINTS_APART: u32 = 0u;
override NORMALS: u32 = 0u;   // none, octahedral codes, codes of tangent frames, summed around groups, turned by bones
override WEIGHTS: u32 = 0u;   // about the angle, all the same, the area, the interior angle
override TANGENTS: u32 = 0u;  // none, static factors, projected corners, turned by bones
override LARGE: u32 = 0u;     // polygons of five corners and more
override UVS: u32 = 0u;       // none, fixed, in slots
override COLOURS: u32 = 0u;

const PI = 3.14159265358979;
const MIRRORED = 0x80000000u;


fn fixed_f(at: u32) -> f32 { return bitcast<f32>(fixed[at]); }
fn fixed_3(at: u32) -> vec3f { return vec3f(fixed_f(at), fixed_f(at + 1u), fixed_f(at + 2u)); }
fn ring_f(at: u32) -> f32 { return bitcast<f32>(ring[at]); }
fn scratch_3(at: u32) -> vec3f { return bitcast<vec3f>(vec3u(scratch[at], scratch[at + 1u], scratch[at + 2u])); }
fn low(word: u32) -> i32 { return extractBits(bitcast<i32>(word), 0u, 16u); }
fn high(word: u32) -> i32 { return bitcast<i32>(word) >> 16u; }

// Numbers of 16 bits in a row of words.
fn short(at: u32, i: u32) -> u32 { return extractBits(ring[at + (i >> 1u)], (i & 1u) * 16u, 16u); }

// A word of a sparse section: a mask for 32 of them, and where those that are not zero stand.
fn sparse(slot: u32, heads: u32, i: u32) -> u32 {
  let head = slot + heads + 2u * (i >> 5u);
  let mask = ring[head];
  let bit = 1u << (i & 31u);
  if ((mask & bit) == 0u) { return 0u; }
  return ring[slot + ring[head + 1u] + countOneBits(mask & (bit - 1u))];
}

// A point in the two frames.
struct Two { a: vec3i, b: vec3i }

fn short_point(at: u32) -> vec3i {
  let xy = ring[at];
  return vec3i(low(xy), high(xy), low(ring[at + 1u]));
}
fn long_point(at: u32) -> vec3i {
  return vec3i(bitcast<i32>(ring[at]), bitcast<i32>(ring[at + 1u]), bitcast<i32>(ring[at + 2u]));
}
fn start_of(end_offsets: u32, i: u32) -> u32 {
  if (i == 0u) { return 0u; }
  return fixed[end_offsets + i - 1u];
}

// Four columns.
struct Matrix { a: vec3f, b: vec3f, c: vec3f, d: vec3f }

fn ring_3(at: u32) -> vec3f { return vec3f(ring_f(at), ring_f(at + 1u), ring_f(at + 2u)); }
fn matrix_of(slot: u32, bone: u32) -> Matrix {
  let at = slot + p.matrices + 12u * bone;
  return Matrix(ring_3(at), ring_3(at + 3u), ring_3(at + 6u), ring_3(at + 9u));
}

// The same numbers, of which a compiler knows nothing: it contracts and reorders nothing around them, so that sums round
// as those of the runtime.
fn opaque(v: vec3f) -> vec3f { return bitcast<vec3f>(bitcast<vec3u>(v) ^ vec3u(p.points >> 31u)); }
fn scaled_matrix(m: Matrix, w: f32) -> Matrix { return Matrix(opaque(m.a * w), opaque(m.b * w), opaque(m.c * w), opaque(m.d * w)); }
fn matrix_sum(m: Matrix, n: Matrix) -> Matrix { return Matrix(opaque(m.a + n.a), opaque(m.b + n.b), opaque(m.c + n.c), opaque(m.d + n.d)); }
fn transformed(m: Matrix, at: vec3f) -> vec3f {
  return opaque(opaque(opaque(m.a * at.x) + opaque(m.b * at.y)) + opaque(m.c * at.z)) + m.d;
}

// A point where its bones place it, with its residual.
fn with_residual(placed: vec3f, slot: u32, i: u32) -> vec3i {
  var at = vec3i(round(placed));
  if (RESIDUALS == 1u) {
    let residual = fixed[p.residuals + i];
    if (residual > 0u) {
      if (WIDE_POINTS == 1u) { at += long_point(slot + p.positions + 4u * (residual - 1u)); }
      else { at += short_point(slot + p.positions + 2u * (residual - 1u)); }
    }
  }
  if (WIDE_POINTS == 0u) { at = extractBits(at, 0u, 16u); }
  return at;
}
// A point as its bones and its residual say; not of packed transforms, whose points a pass keeps.
fn moved_point(slot: u32, i: u32) -> vec3i {
  var m: Matrix;
  if (ONE_BONE == 1u) {
    m = matrix_of(slot, fixed[p.influences + i]);
  } else {
    var k = start_of(p.influence_ends, i);
    let end = fixed[p.influence_ends + i];
    m = matrix_of(slot, fixed[p.influences + 2u * k]);
    if (end - k > 1u) {
      m = scaled_matrix(m, fixed_f(p.influences + 2u * k + 1u));
      for (k += 1u; k < end; k += 1u) {
        let other = matrix_of(slot, fixed[p.influences + 2u * k]);
        m = matrix_sum(m, scaled_matrix(other, fixed_f(p.influences + 2u * k + 1u)));
      }
    }
  }
  return with_residual(transformed(m, fixed_3(p.rest + 3u * i)), slot, i);
}

// A point that the card has decoded.
fn decoded_point(slot: u32, i: u32) -> vec3i {
  let start = select(p.second_points, p.first_points, slot == p.first);
  if (POSITIONS == 1u) {
    let at = start + 4u * i;
    return vec3i(bitcast<i32>(decoded[at]), bitcast<i32>(decoded[at + 1u]), bitcast<i32>(decoded[at + 2u]));
  }
  let xy = decoded[start + 2u * i];
  return vec3i(low(xy), high(xy), low(decoded[start + 2u * i + 1u]));
}

// A point of which one coordinate moves: the others lie among the fixed words.
fn height_point(slot: u32, i: u32) -> vec3i {
  var height: i32;
  if (CODED == 1u) { height = decoded_point(slot, i)[HEIGHT_AXIS]; }
  else { height = extractBits(bitcast<i32>(ring[slot + p.positions + (i >> 1u)]), (i & 1u) * 16u, 16u); }
  let flat_word = fixed[p.rest + i];
  let a = low(flat_word);
  let b = high(flat_word);
  if (HEIGHT_AXIS == 0u) { return vec3i(height, a, b); }
  if (HEIGHT_AXIS == 1u) { return vec3i(a, height, b); }
  return vec3i(a, b, height);
}

fn id_in(slot: u32, v: u32) -> vec2u { return vec2u(ring[slot + 1u + 2u * v], ring[slot + 2u + 2u * v]); }

// The vertex of the second frame that is vertex v of the first; of particles that it does not have as many as it has.
fn same_in_second(v: u32) -> u32 {
  if (IDS == 0u) { return v; }
  let own = id_in(p.first, v);
  let count = ring[p.second];
  var start = 0u;
  var end = count;
  while (start < end) {
    let middle = (start + end) >> 1u;
    let other = id_in(p.second, middle);
    if (other.y < own.y || (other.y == own.y && other.x < own.x)) { start = middle + 1u; } else { end = middle; }
  }
  if (start < count && all(id_in(p.second, start) == own)) { return start; }
  return count;
}

fn point_in(slot: u32, i: u32) -> vec3i {
  if (POSITIONS == 4u) { return height_point(slot, i); }
  if (POSITIONS == 3u) {
    if (POINTS_APART == 0u) { return moved_point(slot, i); }
    let at = p.scratch_points + 3u * (i + select(p.points, 0u, slot == p.first));
    return vec3i(bitcast<i32>(scratch[at]), bitcast<i32>(scratch[at + 1u]), bitcast<i32>(scratch[at + 2u]));
  }
  if (CODED == 1u) { return decoded_point(slot, i); }
  if (POSITIONS == 0u) { return short_point(slot + p.positions + 2u * i); }
  if (POSITIONS == 1u) { return long_point(slot + p.positions + 4u * i); }
  let at = slot + p.positions + i;
  var count = p.vertices;
  if (IDS == 1u) { count = ring[slot]; }
  return vec3i(vec3u(ring[at], ring[at + count], ring[at + 2u * count]));
}
fn point(i: u32) -> Two { return Two(point_in(p.first, i), point_in(p.second, i)); }

// A point of 32 bits in the moment, in parts of 64 of a unit, as the runtime rounds it: a · 64 + (b − a) · steps / 256 of
// 2¹⁴ steps from a frame to the next one, in whole numbers.
fn wide_moment(two: Two) -> vec3i {
  let steps = u32(round(p.blend * 16384.0));
  let off = two.b - two.a;
  let size = vec3u(abs(off));
  let more = vec3i((size >> vec3u(8u)) * steps + (((size & vec3u(255u)) * steps) >> vec3u(8u)));
  return two.a * 64 + select(more, -more, off < vec3i(0));
}

// The vector between two points in the moment: differences of whole numbers are exact.
fn edge(to: Two, start: Two) -> vec3f {
  if (POSITIONS == 1u || (POSITIONS == 3u && WIDE_POINTS == 1u)) {
    return vec3f(wide_moment(to) - wide_moment(start)) * (p.edge_scale / 64.0);
  }
  let a = vec3f(to.a - start.a);
  return (a + (vec3f(to.b - start.b) - a) * p.blend) * p.edge_scale;
}

// Roots and arcs of the format.
fn rough_inverse_root(x: f32) -> f32 {
  let y = bitcast<f32>(HALF_EXPONENT - (bitcast<u32>(x) >> 1u));
  return y * ((ROUGH_ROOT[0] - (x * y) * y) * ROUGH_ROOT[1]);
}
fn inverse_root(x: f32) -> f32 {
  let y = rough_inverse_root(x);
  return y * (1.5 - (x * 0.5 * y) * y);
}
fn inverse_length(square: f32) -> f32 {
  return select(0.0, inverse_root(square), SMALLEST < square && square < LARGEST);
}
fn angle_of(cosine: f32) -> f32 {
  let a = min(abs(cosine), 1.0);
  let rest = 1.0 - a;
  let arc = (rest * rough_inverse_root(rest)) * (ARC[0] + a * (ARC[1] + a * (ARC[2] + a * ARC[3])));
  return select(arc, PI - arc, cosine < 0.0);
}
fn rough_angle(cosine: f32) -> f32 {
  let s = cosine * cosine;
  return PI / 2.0 - cosine * (ROUGH_ARC[0] + s * (ROUGH_ARC[1] + s * ROUGH_ARC[2]));
}
fn interior(angle: f32, cosine: f32, side: f32) -> f32 {
  return select(angle, 2.0 * PI - angle, side < 0.0 && cosine < 0.999);
}
fn rotation_of(v: f32) -> vec2f {
  let above = 1.0 - v * (1.0 / 15.0);
  let below = 1.0 - v * 0.4;
  let scale = 1.0 / (below * below + above * above * v);
  return vec2f((below * below - above * above * v) * scale, 2.0 * above * below * scale);
}
fn unit_or(v: vec3f, other: vec3f) -> vec3f {
  let scale = inverse_length(dot(v, v));
  return select(other, v * scale, scale > 0.0);
}

// Returns the part of v at right angles to the unit vector n, normalized; w is 0 if there is none.
fn flat_part(v: vec3f, n: vec3f) -> vec4f {
  let rest = v - n * dot(v, n);
  let square = dot(rest, rest);
  let scale = inverse_length(square);
  return vec4f(rest * scale, select(0.0, 1.0, dot(v, v) * 1e-8 < square && scale > 0.0));
}
fn first_axis(ahead: vec3f, n: vec3f) -> vec3f {
  let x = flat_part(ahead, n);
  if (x.w > 0.0) { return x.xyz; }
  let other = flat_part(select(vec3f(0.0, 1.0, 0.0), vec3f(1.0, 0.0, 0.0), abs(n.x) < 0.9), n);
  return select(vec3f(1.0, 0.0, 0.0), other.xyz, other.w > 0.0);
}

// Returns the contribution of a corner of a triangle or quad.
fn corner_vector(at: u32) -> vec3f {
  let own = point(fixed[at]);
  let e = edge(point(fixed[at + 1u]), own);
  let f = edge(point(fixed[at + 3u]), own);
  var d = e;
  if (fixed[at + 2u] != fixed[at + 1u]) { d = edge(point(fixed[at + 2u]), own); }
  let m = cross(d, f - e);
  if (WEIGHTS == 2u) { return m; }
  if (WEIGHTS == 1u) { return m * rough_inverse_root(dot(m, m)); }
  if (WEIGHTS == 0u) {
    let cosine = dot(e, f) * rough_inverse_root(dot(e, e) * dot(f, f));
    return m * (rough_angle(cosine) * rough_inverse_root(dot(m, m)));
  }
  let cosine = (dot(e, f) * inverse_root(dot(e, e))) * inverse_root(dot(f, f));
  let weight = interior(angle_of(cosine), cosine, dot(cross(e, f), m));
  return m * (weight * rough_inverse_root(dot(m, m)));
}

// Returns the contribution of a corner of a larger polygon.
fn large_vector(polygon: u32, corner: u32) -> vec3f {
  let first = p.polygons + start_of(p.polygon_ends, polygon);
  let count = p.polygons + fixed[p.polygon_ends + polygon] - first;
  let start = point(fixed[first]);
  var m = vec3f(0.0);
  var before = edge(point(fixed[first + 1u]), start);
  for (var i = 2u; i < count; i += 1u) {
    let next = edge(point(fixed[first + i]), start);
    m += cross(before, next - before);
    before = next;
  }
  if (WEIGHTS == 2u) { return m; }
  m *= rough_inverse_root(dot(m, m));
  if (WEIGHTS == 1u) { return m; }
  let own = point(fixed[first + corner]);
  let e = edge(point(fixed[first + select(corner + 1u, 0u, corner + 1u == count)]), own);
  let f = edge(own, point(fixed[first + select(corner, count, corner == 0u) - 1u]));
  let cosine = -dot(f, e) * inverse_root(dot(f, f)) * inverse_root(dot(e, e));
  return m * interior(angle_of(cosine), cosine, dot(cross(f, e), m));
}

fn octahedral_point(code: vec2u) -> vec3f {
  let half = f32(p.half);
  var xy = (min(vec2f(code), vec2f(2.0 * half)) - half) / half;
  let z = 1.0 - abs(xy.x) - abs(xy.y);
  if (z < 0.0) { xy = (1.0 - abs(xy.yx)) * select(vec2f(1.0), vec2f(-1.0), xy < vec2f(0.0)); }
  return normalize(vec3f(xy, z));
}
fn between_directions(a: vec3f, b: vec3f) -> vec3f {
  let v = a + (b - a) * p.blend;
  return select(a, normalize(v), dot(v, v) > 1e-12);
}
fn quaternion(slot: u32, v: u32) -> vec4f {
  let at = slot + p.normal_codes;
  let n = p.vertices;
  let half = f32(p.half);
  let q = min(vec4f(f32(short(at, v)), f32(short(at, n + v)), f32(short(at, 2u * n + v)), f32(short(at, 3u * n + v))), vec4f(2.0 * half)) - half;
  return select(q, vec4f(0.0, 0.0, 0.0, 1.0), all(q == vec4f(0.0)));
}

struct Frame { normal: vec3f, tangent: vec3f, sign: f32 }

fn frame_of(v: u32) -> Frame {
  var out = Frame(vec3f(0.0, 0.0, 1.0), vec3f(1.0, 0.0, 0.0), 1.0);
  if (NORMALS == 1u) {
    let a = p.first + p.normal_codes;
    let b = p.second + p.normal_codes;
    let start = octahedral_point(vec2u(short(a, v), short(a, p.vertices + v)));
    out.normal = between_directions(start, octahedral_point(vec2u(short(b, v), short(b, p.vertices + v))));
  } else if (NORMALS == 2u) {
    let first = quaternion(p.first, v);
    out.sign = select(1.0, -1.0, first.w < 0.0);
    let a = normalize(first);
    var b = normalize(quaternion(p.second, v));
    b = select(b, -b, dot(a, b) < 0.0);
    let mixed = a + (b - a) * p.blend;
    let q = select(a, normalize(mixed), dot(mixed, mixed) > 1e-12);
    out.normal = vec3f(2.0 * (q.x * q.z + q.w * q.y), 2.0 * (q.y * q.z - q.w * q.x), 1.0 - 2.0 * (q.x * q.x + q.y * q.y));
    out.tangent = vec3f(1.0 - 2.0 * (q.y * q.y + q.z * q.z), 2.0 * (q.x * q.y + q.w * q.z), 2.0 * (q.x * q.z - q.w * q.y));
  } else if (NORMALS >= 3u) {
    out.normal = scratch_3(p.scratch_normals + 3u * fixed[p.vertex_groups + v]);
    if (TANGENTS != 0u) {
      let class_word = fixed[p.vertex_classes + v];
      out.sign = select(1.0, -1.0, (class_word & MIRRORED) != 0u);
      out.tangent = scratch_3(p.scratch_tangents + 3u * (class_word & ~MIRRORED));
      let shift = (v & 1u) * 16u;
      let a = f32(extractBits(bitcast<i32>(sparse(p.first, p.turns, v >> 1u)), shift, 16u));
      let b = f32(extractBits(bitcast<i32>(sparse(p.second, p.turns, v >> 1u)), shift, 16u));
      let nearer = select(b, a, p.blend < 0.5);
      let turn = select(a + (b - a) * p.blend, nearer, PI < abs(b - a) * p.turn_step);
      if (turn != 0.0) {
        let half_turn = turn * p.turn_step * 0.5;
        let cs = rotation_of(half_turn * half_turn);
        out.tangent = out.tangent * cs.x + cross(out.normal, out.tangent) * (half_turn * cs.y);
      }
    }
  }
  return out;
}

struct Vertex { position: vec3f, velocity: vec3f, normal: vec3f, tangent: vec3f, sign: f32, uv: vec2f, colour: vec4f }

// Vertex v of the mesh at the moment, in object space. What is not used of it is not computed.
fn vertex_of(v: u32) -> Vertex {
  var out: Vertex;
  var i = v;
  if (POSITIONS != 2u) { i = fixed[p.vertex_points + v]; }
  let unit = vec3f(p.unit_x, p.unit_y, p.unit_z);
  let centre = vec3f(p.centre_x, p.centre_y, p.centre_z);
  // Points that are gone in the second frame stay as they are.
  let same = same_in_second(v);
  let gone = IDS == 1u && same == ring[p.second];
  let second = select(p.second, p.first, gone);
  let w = select(same, v, gone);
  let a = vec3f(point_in(p.first, i)) * unit + centre;
  let b = vec3f(point_in(second, select(i, w, IDS == 1u))) * unit + centre;
  out.position = a + (b - a) * p.blend;
  out.velocity = (b - a) * p.per_second;
  let frame = frame_of(v);
  out.normal = frame.normal;
  out.tangent = frame.tangent;
  out.sign = frame.sign;
  if (UVS == 1u) {
    out.uv = vec2f(fixed_f(p.uvs + 2u * v), fixed_f(p.uvs + 2u * v + 1u));
  } else if (UVS == 2u) {
    let c = p.first + p.slot_uvs + 2u * v;
    let d = second + p.slot_uvs + 2u * w;
    let start = vec2f(ring_f(c), ring_f(c + 1u));
    out.uv = start + (vec2f(ring_f(d), ring_f(d + 1u)) - start) * p.blend;
  }
  out.colour = vec4f(1.0);
  if (COLOURS == 1u) {
    out.colour = unpack4x8unorm(fixed[p.colours + v]);
  } else if (COLOURS == 2u) {
    let c = unpack4x8unorm(ring[p.first + p.slot_colours + v]);
    out.colour = c + (unpack4x8unorm(ring[second + p.slot_colours + w]) - c) * p.blend;
  }
  return out;
}
