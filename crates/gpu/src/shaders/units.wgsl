// Units of the preset fast: packed residuals, prediction in space level by level, prediction in time. All in whole
// numbers, as docs/FORMAT/mesh.md defines them, so that every decoder finds the same.

override WIDE: u32 = 0u;    // points of 32 bits
override GROUP: u32 = 256u;

// The bits of a number, from any bit on.
fn take(bit: u32, count: u32) -> u32 {
  let word = bit >> 5u;
  let shift = bit & 31u;
  var bits = unit[word] >> shift;
  if (shift + count > 32u) { bits |= unit[word + 1u] << (32u - shift); }
  return bits & (0xffffffffu >> (32u - count));
}
fn signed(bits: u32, count: u32) -> i32 { return bitcast<i32>(bits << (32u - count)) >> (32u - count); }

fn number(wg: vec3u, groups: vec3u, thread: u32) -> u32 { return (wg.x + wg.y * groups.x) * GROUP + thread; }

fn points_of(block: u32) -> u32 { return extractBits(fixed[p.counts + (block >> 2u)], (block & 3u) * 8u, 8u); }

const TOGETHER = 256u;
const STARTED = 32u;
var<workgroup> sums: array<u32, TOGETHER>;

// The sum of the threads before.
fn before(thread: u32, value: u32) -> u32 {
  sums[thread] = value;
  workgroupBarrier();
  for (var step = 1u; step < TOGETHER; step *= 2u) {
    var other = 0u;
    if (thread >= step) { other = sums[thread - step]; }
    workgroupBarrier();
    sums[thread] += other;
    workgroupBarrier();
  }
  let sum = sums[thread] - value;
  workgroupBarrier();
  return sum;
}

// Where the fields of each block of each frame begin, its code + 1 (0: all is zero) and its mask: a workgroup for the
// blocks that share a start.
@compute @workgroup_size(256)
fn offsets(@builtin(workgroup_id) wg: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) thread: u32) {
  let part = wg.x + wg.y * groups.x;
  let start = p.starts + 3u * part;
  let i = part * STARTED * p.frames + thread;
  let there = thread < STARTED * p.frames && i < p.blocks * p.frames;
  var filled = 0u;
  if (there) { filled = take(p.flags + i, 1u); }
  let code_at = unit[start + 1u] + before(thread, filled);
  var code = 0u;
  if (filled == 1u) { code = take(p.codes + 4u * code_at, 4u) + 1u; }
  let masked = select(0u, 1u, code >= 1u && code <= 7u);
  let mask_at = unit[start + 2u] + before(thread, masked);
  var mask = 0xffffu;
  var bits = 0u;
  if (masked == 1u) {
    mask = take(p.masks + 16u * mask_at, 16u);
    bits = countOneBits(mask) * (1u + 3u * code);
  } else if (filled == 1u) {
    let width = select(1u + 3u * (code - 7u), select(48u, 96u, WIDE == 1u), code == 16u);
    bits = points_of(i / p.frames) * width;
  }
  let fields_at = p.fields + unit[start] + before(thread, bits);
  if (there) {
    scratch[p.table + 2u * i] = fields_at;
    scratch[p.table + 2u * i + 1u] = code | (mask << 16u);
  }
}

fn residual(block: u32, frame: u32, v: u32) -> vec3i {
  if (p.residuals == 0u) { return vec3i(0); }
  let own = p.table + 2u * (block * p.frames + frame);
  let fields_at = scratch[own];
  let code = scratch[own + 1u] & 0xffffu;
  let mask = scratch[own + 1u] >> 16u;
  if (code == 0u || extractBits(mask, v, 1u) == 0u) { return vec3i(0); }
  if (code == 16u) {
    let width = select(16u, 32u, WIDE == 1u);
    let at = fields_at + 3u * width * v;
    return vec3i(signed(take(at, width), width), signed(take(at + width, width), width), signed(take(at + 2u * width, width), width));
  }
  let width = select(code - 7u, code, code <= 7u);
  let all = take(fields_at + countOneBits(extractBits(mask, 0u, v)) * (1u + 3u * width), 1u + 3u * width);
  let parity = i32(all & 1u);
  return 2 * vec3i(signed(all >> 1u, width), signed(all >> (1u + width), width), signed(all >> (1u + 2u * width), width)) + parity;
}

fn short_vector(xy: u32, z: u32) -> vec3i {
  return vec3i(extractBits(bitcast<i32>(xy), 0u, 16u), bitcast<i32>(xy) >> 16u, extractBits(bitcast<i32>(z), 0u, 16u));
}
fn short_words(v: vec3i) -> vec2u {
  let w = bitcast<vec3u>(v) & vec3u(0xffffu);
  return vec2u(w.x | (w.y << 16u), w.z);
}

fn innovation(v: u32, frame: u32) -> vec3i {
  let i = v * p.frames + frame;
  if (WIDE == 0u) { return short_vector(scratch[p.innovations + 2u * i], scratch[p.innovations + 2u * i + 1u]); }
  let at = p.innovations + 3u * i;
  return vec3i(bitcast<i32>(scratch[at]), bitcast<i32>(scratch[at + 1u]), bitcast<i32>(scratch[at + 2u]));
}
fn keep_innovation(v: u32, frame: u32, value: vec3i) {
  let i = v * p.frames + frame;
  if (WIDE == 0u) {
    let w = short_words(value);
    scratch[p.innovations + 2u * i] = w.x;
    scratch[p.innovations + 2u * i + 1u] = w.y;
  } else {
    let at = p.innovations + 3u * i;
    scratch[at] = bitcast<u32>(value.x);
    scratch[at + 1u] = bitcast<u32>(value.y);
    scratch[at + 2u] = bitcast<u32>(value.z);
  }
}
fn point_at(slot: u32, v: u32) -> vec3i {
  if (WIDE == 0u) { return short_vector(decoded[slot + 2u * v], decoded[slot + 2u * v + 1u]); }
  let at = slot + 4u * v;
  return vec3i(bitcast<i32>(decoded[at]), bitcast<i32>(decoded[at + 1u]), bitcast<i32>(decoded[at + 2u]));
}
fn keep_point(slot: u32, v: u32, value: vec3i) {
  if (WIDE == 0u) {
    let w = short_words(value);
    decoded[slot + 2u * v] = w.x;
    decoded[slot + 2u * v + 1u] = w.y;
  } else {
    let at = slot + 4u * v;
    decoded[at] = bitcast<u32>(value.x);
    decoded[at + 1u] = bitcast<u32>(value.y);
    decoded[at + 2u] = bitcast<u32>(value.z);
  }
}

fn head_of(frame: u32) -> u32 { return p.heads + frame * p.head_words; }

// ((sum of weight * n >> 6) * 4 rho + 512) >> 10 of the four neighbours. In 32 bits it is exact for points of 32 bits as
// well: of n = 2^15 high + low the high part leaves no remainder, and the low part is summed in two halves.
fn from_neighbours(v: u32, level: u32, frame: u32) -> vec3i {
  let rho = i32(extractBits(unit[head_of(frame) + 3u + (level >> 3u)], 4u * (level & 7u), 4u));
  let near = p.near + 6u * v;
  var sum = vec3i(0);
  var high = vec3i(0);
  var rest = vec3i(0);
  for (var k = 0u; k < 4u; k += 1u) {
    let n = innovation(fixed[near + k], frame);
    let weight = extractBits(bitcast<i32>(fixed[near + 4u + (k >> 1u)]), 16u * (k & 1u), 16u);
    if (WIDE == 0u) {
      sum += weight * n;
    } else {
      let product = weight * (n & vec3i(32767));
      high += weight * (n >> vec3u(15u));
      sum += product >> vec3u(6u);
      rest += product & vec3i(63);
    }
  }
  if (WIDE == 0u) { return ((sum >> vec3u(6u)) * (4 * rho) + 512) >> vec3u(10u); }
  return 2 * rho * high + (((sum + (rest >> vec3u(6u))) * (4 * rho) + 512) >> vec3u(10u));
}

fn innovate(level: u32, i: u32, frame: u32) {
  let own = p.hierarchy_levels + 3u * level;
  let v = fixed[own] + i;
  var value = residual(fixed[own + 2u] + i / 16u, frame, i % 16u) * bitcast<i32>(unit[head_of(frame) + 2u]);
  if (level > 0u) { value += from_neighbours(v, level, frame); }
  keep_innovation(v, frame, value);
}

// The first levels, one after the other in one workgroup.
@compute @workgroup_size(256)
fn coarse(@builtin(local_invocation_index) thread: u32) {
  for (var level = 0u; level < p.coarse; level += 1u) {
    let count = fixed[p.hierarchy_levels + 3u * level + 1u] * p.frames;
    for (var i = thread; i < count; i += TOGETHER) { innovate(level, i / p.frames, i % p.frames); }
    storageBarrier();
  }
}

// One of the others: a thread a point and frame.
@compute @workgroup_size(GROUP)
fn fine(@builtin(workgroup_id) wg: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) thread: u32) {
  let i = number(wg, groups, thread);
  if (i < fixed[p.hierarchy_levels + 3u * which.level + 1u] * p.frames) { innovate(which.level, i / p.frames, i % p.frames); }
}

// Adds residuals to the prediction from other frames: one thread per point, frames in their order.
@compute @workgroup_size(GROUP)
fn frames(@builtin(workgroup_id) wg: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) thread: u32) {
  let v = number(wg, groups, thread);
  if (v >= p.points) { return; }
  for (var frame = 0u; frame < p.frames; frame += 1u) {
    let slots = p.slots + 5u * frame;
    let head = head_of(frame);
    var sum = vec3i(0);
    var low = vec3i(0);
    for (var k = 0u; k < 4u; k += 1u) {
      let coefficient = extractBits(bitcast<i32>(unit[head + (k >> 1u)]), 16u * (k & 1u), 16u);
      let other = point_at(unit[slots + 1u + k], v);
      if (WIDE == 0u) {
        sum += coefficient * other;
      } else {
        sum += coefficient * (other >> vec3u(8u));
        low += coefficient * (other & vec3i(255));
      }
    }
    if (WIDE == 0u) { sum = (sum + 128) >> vec3u(8u); } else { sum += (low + 128) >> vec3u(8u); }
    keep_point(unit[slots], v, sum + innovation(v, frame));
  }
}
