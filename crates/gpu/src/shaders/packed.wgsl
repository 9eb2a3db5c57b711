
// Packed transforms, as docs/FORMAT/mesh.md defines them in f64. Here such a number is the sum of two f32, 48 bits, so
// that matrices round to the runtime's f32. Sums and products by T. J. Dekker, A floating-point technique for extending
// the available precision, 1971, and D. E. Knuth, The art of computer programming, volume 2, 4.2.2.

alias Double = vec2f;

fn alone(x: f32) -> f32 { return opaque(vec3f(x)).x; }
fn exact_sum(a: f32, b: f32) -> Double {
  let s = alone(a + b);
  let t = alone(s - a);
  return Double(s, alone(a - alone(s - t)) + alone(b - t));
}
// The upper 12 of 24 bits.
fn upper(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u); }
fn exact_product(a: f32, b: f32) -> Double {
  let s = alone(a * b);
  let u = upper(a);
  let v = upper(b);
  let rest = alone(alone(alone(u * v) - s) + alone(u * (b - v)));
  return Double(s, alone(rest + alone((a - u) * v)) + alone((a - u) * (b - v)));
}
fn plus(a: Double, b: Double) -> Double {
  let s = exact_sum(a.x, b.x);
  return exact_sum(s.x, s.y + (a.y + b.y));
}
fn times(a: Double, b: Double) -> Double {
  let s = exact_product(a.x, b.x);
  return exact_sum(s.x, s.y + (a.x * b.y + a.y * b.x));
}
fn inverse(a: Double) -> Double {
  let r = 1.0 / a.x;
  let s = exact_product(r, a.x);
  return exact_sum(r, r * (alone(1.0 - s.x) - (s.y + r * a.y)));
}

// Where the words of a part begin and what its places are fractions of, or that it stands as at rest.
struct PackedPart { moves: bool, words: vec3u, corner: vec3f, size: vec3f }
fn packed_part(slot: u32, part: u32) -> PackedPart {
  let head = slot + p.matrices;
  let left = ring[head] & 0xffffu;
  if (part >= p.packed_parts || part >= ring[head] >> 16u) { return PackedPart(false, vec3u(0u), vec3f(0.0), vec3f(0.0)); }
  if (part < left) {
    let at = p.packed + 9u * part + 6u;
    return PackedPart(true, vec3u(fixed[at], fixed[at + 1u], fixed[at + 2u]), fixed_3(p.packed_ends), fixed_3(p.packed_ends + 3u));
  }
  let at = head + 7u + 3u * (part - left);
  return PackedPart(true, vec3u(ring[at], ring[at + 1u], ring[at + 2u]), ring_3(head + 1u), ring_3(head + 4u));
}

// Three components, and the largest one, which is positive and left out; each the nearest f32.
fn packed_rotation(word: u32) -> vec4f {
  let bits = vec3u(word, word >> 10u, word >> 20u) & vec3u(1023u);
  let steps = vec3f(bits) - 511.0;
  let square = max(522242.0 - dot(steps, steps), 0.0);
  let root = sqrt(square);
  let rough = exact_product(root, root);
  let off = select(0.0, (alone(square - rough.x) - rough.y) / (2.0 * root), root > 0.0);
  let w = times(Double(root, off), ROTATION_STEP).x;
  let v = vec3f(times(Double(steps.x, 0.0), ROTATION_STEP).x, times(Double(steps.y, 0.0), ROTATION_STEP).x, times(Double(steps.z, 0.0), ROTATION_STEP).x);
  switch (word >> 30u) {
    case 0u: { return vec4f(w, v); }
    case 1u: { return vec4f(v.x, w, v.yz); }
    case 2u: { return vec4f(v.xy, w, v.z); }
    default: { return vec4f(v, w); }
  }
}

struct Doubles { x: Double, y: Double, z: Double }
fn all_times(a: Doubles, b: Double) -> Doubles { return Doubles(times(a.x, b), times(a.y, b), times(a.z, b)); }
fn all_plus(a: Doubles, b: Doubles) -> Doubles { return Doubles(plus(a.x, b.x), plus(a.y, b.y), plus(a.z, b.z)); }
fn rounded(a: Doubles) -> vec3f { return vec3f(a.x.x, a.y.x, a.z.x); }
fn doubles(a: vec3f) -> Doubles { return Doubles(Double(a.x, 0.0), Double(a.y, 0.0), Double(a.z, 0.0)); }

// Columns of the matrix of a rotation, which need not be of unit length.
struct Rotation { a: Doubles, b: Doubles, c: Doubles }
fn rotation_matrix(q: vec4f) -> Rotation {
  let xx = exact_product(q.x, q.x);
  let yy = exact_product(q.y, q.y);
  let zz = exact_product(q.z, q.z);
  let xy = exact_product(q.x, q.y);
  let xz = exact_product(q.x, q.z);
  let yz = exact_product(q.y, q.z);
  let wx = exact_product(q.w, q.x);
  let wy = exact_product(q.w, q.y);
  let wz = exact_product(q.w, q.z);
  let twice = 2.0 * inverse(plus(plus(xx, yy), plus(zz, exact_product(q.w, q.w))));
  let one = Double(1.0, 0.0);
  return Rotation(
    Doubles(plus(one, -times(twice, plus(yy, zz))), times(twice, plus(xy, wz)), times(twice, plus(xz, -wy))),
    Doubles(times(twice, plus(xy, -wz)), plus(one, -times(twice, plus(xx, zz))), times(twice, plus(yz, wx))),
    Doubles(times(twice, plus(xz, wy)), times(twice, plus(yz, -wx)), plus(one, -times(twice, plus(xx, yy)))));
}

// The matrix of a part, in units of the grid.
fn packed_matrix(slot: u32, part: u32) -> Matrix {
  let own = packed_part(slot, part);
  let per_unit = Double(fixed_f(p.packed_ends + 7u), fixed_f(p.packed_ends + 8u));
  let centre = -vec3f(p.centre_x, p.centre_y, p.centre_z);
  if (!own.moves) {
    let x = per_unit.x;
    return Matrix(vec3f(x, 0.0, 0.0), vec3f(0.0, x, 0.0), vec3f(0.0, 0.0, x), rounded(all_times(doubles(centre), per_unit)));
  }
  let codes = vec4f(vec4u(own.words.y & 0xffffu, own.words.y >> 16u, own.words.z & 0xffffu, own.words.z >> 16u));
  let scale = Double(times(exact_product(fixed_f(p.packed_ends + 6u), codes.w), FRACTION).x, 0.0);
  let fractions = Doubles(exact_product(own.size.x, codes.x), exact_product(own.size.y, codes.y), exact_product(own.size.z, codes.z));
  let r = rotation_matrix(packed_rotation(own.words.x));
  let a = all_times(r.a, scale);
  let b = all_times(r.b, scale);
  let c = all_times(r.c, scale);
  // Less what the matrix makes of the middle at rest.
  let at = p.packed + 9u * part;
  let middle = fixed_3(at);
  let finer = fixed_3(at + 3u);
  let arm = all_plus(all_plus(all_times(a, Double(middle.x, finer.x)), all_times(b, Double(middle.y, finer.y))), all_times(c, Double(middle.z, finer.z)));
  let place = all_plus(doubles(own.corner), all_times(fractions, FRACTION));
  let translation = rounded(all_plus(place, Doubles(-arm.x, -arm.y, -arm.z)));
  let from_centre = all_plus(doubles(translation), doubles(centre));
  return Matrix(
    rounded(all_times(a, per_unit)), rounded(all_times(b, per_unit)), rounded(all_times(c, per_unit)),
    rounded(all_times(from_centre, per_unit)));
}
