//! The resident form of a clip: what stays in memory and is sampled at random. Each sample by itself, bit-packed; within the tolerance that the
//! encoder measured with these same functions.
//!
//! ```text
//! varint n · n bytes: header (`side`; no sources, starts 0) · per segment of 16 samples 4 bytes: its end · segments
//! segment     factor u8: steps are those of `step` times factor/128 · bits of a sample u16
//!             per component a width code of 4 bits (0 … 12, then 14, 17, 24 bits); per sub-track its origin: vectors and angles i32 per component, in its steps;
//!             a free rotation the smallest three of a quaternion, 2 + 3 × 15 bits; then, from the next byte on, the samples
//! sample      per component k + 2^(width − 1), `width` bits; all of a segment's samples take the same number of bits
//! vector      (origin + k) · step      angle   (origin + k) · step      free   origin, turned by y = Σ k · step/4 · axis
//! ```
//!
//! Bits run from the lowest of the first byte. Eight zero bytes follow the last segment, so that every field can be read with one load.

use super::rotation;
use super::stored::{Kind, Plan};
use super::{Header, Rotation, Skeleton, side};
use crate::Corrupt;
use crate::bytes::{Cursor, put_sized};
use crate::transform::Transform;

/// Samples of a segment. Part of the format, like everything in this file.
pub const SEGMENT: usize = 16;
/// Widths by code.
const WIDTHS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 17, 24];
/// Factor that leaves steps as they are.
pub const UNIT: u8 = 128;
/// Bytes behind the last segment.
const TAIL: usize = 8;

/// Where the values of a sub-track count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Vectors and angles: in steps.
    Steps([i32; 3]),
    /// Free rotations: which component is the largest, and the others in 2⁻¹⁴/√2.
    Rotation(u8, [i16; 3]),
}

impl Origin {
    /// The nearest to a unit quaternion x y z w.
    pub fn rotation(q: [f64; 4]) -> Origin {
        let largest = (0..4).fold(
            0,
            |best, i| if q[i].abs() > q[best].abs() { i } else { best },
        );
        let sign = if q[largest] < 0.0 { -1.0 } else { 1.0 };
        let mut parts = [0; 3];
        for (part, i) in parts.iter_mut().zip((0..4).filter(|&i| i != largest)) {
            *part = (q[i] * sign * PART).round().clamp(-16384.0, 16383.0) as i16;
        }
        Origin::Rotation(largest as u8, parts)
    }

    /// x y z w of a rotation; of anything else no rotation.
    pub fn float(&self) -> [f64; 4] {
        let Origin::Rotation(largest, parts) = self else {
            return [0.0, 0.0, 0.0, 1.0];
        };
        let p = parts.map(|v| f64::from(v) / PART);
        let rest = 1.0 - p[0] * p[0] - p[1] * p[1] - p[2] * p[2];
        let large = if rest > 0.0 { rest.sqrt() } else { 0.0 };
        let mut q = [0.0; 4];
        let mut parts = p.into_iter();
        for (i, v) in q.iter_mut().enumerate() {
            *v = match i == usize::from(*largest) {
                true => large,
                false => parts.next().unwrap_or(0.0),
            };
        }
        let n = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
        q.map(|v| v / n)
    }
}

/// 2¹⁴·√2.
const PART: f64 = 16_384.0 * std::f64::consts::SQRT_2;

/// A segment before it is packed.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Steps in 128ths.
    pub factor: u8,
    /// One per animated sub-track.
    pub origins: Vec<Origin>,
    /// Sample-major, one per component.
    pub k: Vec<i32>,
}

/// Bits that hold `k` around zero.
fn width(k: i32) -> u32 {
    match k {
        0 => 0,
        k if k < 0 => 33 - (!k).leading_zeros(),
        k => 33 - k.leading_zeros(),
    }
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    held: u64,
    count: u32,
}

impl Writer<'_> {
    fn put(&mut self, value: u32, bits: u32) {
        self.held |= u64::from(value) << self.count;
        self.count += bits;
        while self.count >= 8 {
            self.out.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    fn align(&mut self) {
        if self.count > 0 {
            self.out.push(self.held as u8);
            (self.held, self.count) = (0, 0);
        }
    }
}

/// Writes a clip. Values beyond 24 bits around their origin do not fit: `None`.
pub fn encode(plan: &Plan, segments: &[Segment]) -> Option<Vec<u8>> {
    let mut header = Vec::new();
    side::encode(&plan.header, &mut header);
    let mut out = Vec::new();
    put_sized(&header, &mut out);
    let mut all = Vec::new();
    for segment in segments {
        let n = plan.components;
        let mut widths = vec![0; n];
        for sample in segment.k.chunks_exact(n.max(1)) {
            for (w, &k) in widths.iter_mut().zip(sample) {
                *w = width(k).max(*w);
            }
        }
        if widths.iter().any(|w| *w > 24) {
            return None;
        }
        all.push(segment.factor);
        let stride_at = all.len();
        all.extend_from_slice(&[0; 2]);
        let mut bits = Writer {
            out: &mut all,
            held: 0,
            count: 0,
        };
        for w in &mut widths {
            let code = WIDTHS
                .iter()
                .position(|have| u32::from(*have) >= *w)
                .unwrap_or(15);
            *w = u32::from(WIDTHS[code]);
            bits.put(code as u32, 4);
        }
        for (group, origin) in plan.groups.iter().zip(&segment.origins) {
            match origin {
                Origin::Steps(at) => at[..group.components]
                    .iter()
                    .for_each(|v| bits.put(*v as u32, 32)),
                Origin::Rotation(largest, parts) => {
                    bits.put(u32::from(*largest), 2);
                    parts.iter().for_each(|v| bits.put(*v as u32 & 0x7FFF, 15));
                }
            }
        }
        bits.align();
        let stride = u16::try_from(widths.iter().sum::<u32>()).ok()?;
        for sample in segment.k.chunks_exact(n.max(1)) {
            for (&k, &w) in sample.iter().zip(&widths) {
                if w > 0 {
                    bits.put((k + (1 << (w - 1))) as u32, w);
                }
            }
        }
        bits.align();
        all[stride_at..stride_at + 2].copy_from_slice(&stride.to_le_bytes());
        out.extend_from_slice(&u32::try_from(all.len()).ok()?.to_le_bytes());
    }
    out.extend_from_slice(&all);
    out.extend_from_slice(&[0; TAIL]);
    Some(out)
}

/// A clip in memory, ready to be sampled. Nothing is unpacked but constants: what it takes is what was stored.
#[derive(Clone, Debug)]
pub struct Resident {
    /// What follows from header and skeleton.
    pub plan: Plan,
    /// Segments and the tail.
    bytes: Vec<u8>,
    /// First byte of each segment.
    starts: Vec<u32>,
    /// Per group: its constants.
    groups: Vec<Constant>,
    /// Bits of all origins of a segment.
    origin_bits: usize,
    /// Bytes as stored, header and all.
    packed: usize,
}

#[derive(Clone, Copy, Debug)]
struct Constant {
    joint: u32,
    kind: Kind,
    components: u32,
    /// Free: step/4 · axis per component. Others: the step in the first number of each; of angles in turns.
    turn: [[f32; 3]; 3],
    /// Hinge: rest · (0, 0, 0, 1) and rest · axis as quaternions.
    hinge: [[f32; 4]; 2],
    /// Two axes: the second.
    second: [f32; 3],
}

/// At least 57 bits from a bit on; zeros behind the end.
#[inline(always)]
fn load(bytes: &[u8], bit: usize) -> u64 {
    let at = bit >> 3;
    match bytes.get(at..at + 8) {
        Some(window) => u64::from_le_bytes(window.try_into().expect("8 bytes")) >> (bit & 7),
        None => 0,
    }
}

/// Where the next sub-track is, in bits.
struct Place {
    scale: f32,
    code: usize,
    origin: usize,
    first: usize,
    apart: usize,
    part: f32,
}

impl Place {
    #[inline]
    fn skip(&mut self, bytes: &[u8], group: &Constant) {
        let codes = load(bytes, self.code);
        for i in 0..group.components as usize {
            self.first += usize::from(WIDTHS[(codes >> (4 * i)) as usize & 15]);
        }
        self.code += 4 * group.components as usize;
        self.origin += group.origin_bits();
    }
}

impl Constant {
    fn origin_bits(&self) -> usize {
        match self.kind {
            Kind::Free => 47,
            _ => 32 * self.components as usize,
        }
    }
}

/// Bits before the width codes.
const HEADER: usize = 24;

/// Bits of a sample of the segment that begins at `start`.
fn stride(bytes: &[u8], start: usize) -> usize {
    match bytes.get(start + 1..start + 3) {
        Some(b) => usize::from(u16::from_le_bytes([b[0], b[1]])),
        None => 0,
    }
}

impl Resident {
    /// Reads what [`encode`] wrote, and checks all of its segments.
    pub fn open(skeleton: &Skeleton<'_>, bytes: &[u8]) -> Result<Resident, Corrupt> {
        skeleton.check()?;
        let packed = bytes.len();
        let mut cursor = Cursor::new(bytes);
        let size = cursor.varint()? as usize;
        let header: Header = side::decode(cursor.take(size)?, skeleton.parents.len())?;
        let plan = Plan::new(skeleton, header)?;
        let count = (plan.header.samples as usize).div_ceil(SEGMENT);
        if count > cursor.left() / 4 {
            return Err(Corrupt("ends of a clip's segments end early"));
        }
        let mut starts = Vec::with_capacity(count + 1);
        starts.push(0);
        for _ in 0..count {
            starts.push(u32::from_le_bytes(cursor.array()?));
        }
        let left = cursor.left();
        let bytes = cursor.take(left)?.to_vec();
        let whole = starts.last().map_or(0, |end| *end as usize) + TAIL == bytes.len();
        if !whole || !starts.is_sorted() {
            return Err(Corrupt("ends of a clip's segments do not fit"));
        }
        let groups: Vec<Constant> = plan.groups.iter().map(|g| constant(&plan, g)).collect();
        let resident = Resident {
            origin_bits: groups.iter().map(Constant::origin_bits).sum(),
            groups,
            plan,
            bytes,
            starts,
            packed,
        };
        (0..count).try_for_each(|s| resident.check(s))?;
        Ok(resident)
    }

    /// A segment is as long as its header says.
    fn check(&self, s: usize) -> Result<(), Corrupt> {
        let (start, end) = (self.starts[s] as usize, self.starts[s + 1] as usize);
        let header = HEADER + 4 * self.plan.components + self.origin_bits;
        if start + header.div_ceil(8) > end || self.bytes[start] == 0 {
            return Err(Corrupt(
                "a segment of a clip ends early, or has steps of zero",
            ));
        }
        let code = |c: usize| load(&self.bytes, 8 * start + HEADER + 4 * c) as usize & 15;
        let sum: usize = (0..self.plan.components)
            .map(|c| usize::from(WIDTHS[code(c)]))
            .sum();
        let samples = (self.plan.header.samples as usize - s * SEGMENT).min(SEGMENT);
        let size = header.div_ceil(8) + (sum * samples).div_ceil(8);
        if sum != stride(&self.bytes, start) || start + size != end {
            return Err(Corrupt(
                "a segment of a clip is of another size than its samples",
            ));
        }
        Ok(())
    }

    /// Bytes that it takes in memory, but for the skeleton and what follows from it.
    pub fn packed_bytes(&self) -> usize {
        self.packed
    }

    /// Local transforms of all joints at a sample, and, with `part` > 0, on the way to the next one, which must be of the same segment.
    /// Sub-tracks that are not animated are left alone: fill `out` from [`Plan::still`] once.
    pub fn pose(&self, sample: usize, part: f32, out: &mut [Transform]) {
        let Some(mut place) = self.place(sample, part) else {
            return;
        };
        for group in &self.groups {
            let Some(out) = out.get_mut(group.joint as usize) else {
                return;
            };
            self.step(&mut place, group, out);
        }
    }

    /// The same of one joint.
    pub fn joint(&self, sample: usize, part: f32, joint: usize, out: &mut Transform) {
        let Some(mut place) = self.place(sample, part) else {
            return;
        };
        for group in &self.groups {
            match group.joint as usize {
                j if j < joint => place.skip(&self.bytes, group),
                j if j == joint => self.step(&mut place, group, out),
                _ => return,
            }
        }
    }

    fn place(&self, sample: usize, part: f32) -> Option<Place> {
        let (start, _) = self
            .starts
            .get(sample / SEGMENT)
            .zip(self.starts.get(sample / SEGMENT + 1))?;
        let start = *start as usize;
        let stride = stride(&self.bytes, start);
        let code = 8 * start + HEADER;
        let origin = code + 4 * self.plan.components;
        let samples = 8 * (origin + self.origin_bits).div_ceil(8);
        Some(Place {
            scale: f32::from(*self.bytes.get(start)?) / f32::from(UNIT),
            code,
            origin,
            first: samples + (sample % SEGMENT) * stride,
            // What lies behind the segment's last sample is never looked at.
            apart: if part > 0.0 { stride } else { 0 },
            part,
        })
    }

    /// Reads a sub-track and goes on to the next.
    #[inline(always)]
    fn step(&self, place: &mut Place, group: &Constant, out: &mut Transform) {
        let bytes = &self.bytes[..];
        let codes = load(bytes, place.code);
        place.code += 4 * group.components as usize;
        let mut k = [0.0f32; 3];
        for i in 0..group.components as usize {
            let width = usize::from(WIDTHS[(codes >> (4 * i)) as usize & 15]);
            let mask = (1u64 << width) - 1;
            let middle = (1i32 << width) >> 1;
            let a = ((load(bytes, place.first) & mask) as i32 - middle) as f32;
            let b = ((load(bytes, place.first + place.apart) & mask) as i32 - middle) as f32;
            k[i] = (a + (b - a) * place.part) * place.scale;
            place.first += width;
        }
        if group.kind == Kind::Free {
            let origin = unpack(load(bytes, place.origin));
            place.origin += 47;
            out.rotation = free(group, origin, k);
            return;
        }
        let mut at = [0.0f64; 3];
        for (i, at) in at[..group.components as usize].iter_mut().enumerate() {
            let steps = load(bytes, place.origin) as u32 as i32;
            place.origin += 32;
            *at = f64::from(steps) * f64::from(place.scale) + f64::from(k[i]);
        }
        self.put(group, at, out);
    }

    /// A sub-track that is no free rotation, from its components in steps.
    #[inline]
    fn put(&self, group: &Constant, at: [f64; 3], out: &mut Transform) {
        let turn = |i: usize| half_sine_cosine(at[i] * f64::from(group.turn[i][0]));
        let [still, across] = &group.hinge;
        match group.kind {
            Kind::Hinge => {
                let (sine, cosine) = turn(0);
                out.rotation = [0, 1, 2, 3].map(|i| still[i] * cosine + across[i] * sine);
            }
            Kind::TwoAxes => {
                let (sine, cosine) = turn(0);
                let first = [0, 1, 2, 3].map(|i| still[i] * cosine + across[i] * sine);
                let (sine, cosine) = turn(1);
                let [x, y, z] = group.second;
                out.rotation = multiply(first, [x * sine, y * sine, z * sine, cosine]);
            }
            _ => {
                let still = &self.plan.still()[group.joint as usize];
                let scaled = group.kind == Kind::Scale;
                let rest = if scaled {
                    still.scale
                } else {
                    still.translation
                };
                let value = [0, 1, 2]
                    .map(|i| (f64::from(rest[i]) + at[i] * f64::from(group.turn[i][0])) as f32);
                match scaled {
                    true => out.scale = value,
                    false => out.translation = value,
                }
            }
        }
    }
}

/// An origin from its 47 bits.
#[inline]
fn unpack(bits: u64) -> [f32; 4] {
    const PART: f32 = 1.0 / 23_170.475;
    let part = |shift: u32| f32::from(((bits >> shift) as u16) << 1) * 0.5;
    let signed = |shift: u32| {
        let v = part(shift);
        (if v >= 16_384.0 { v - 32_768.0 } else { v }) * PART
    };
    let [a, b, c] = [signed(2), signed(17), signed(32)];
    let rest = 1.0 - a * a - b * b - c * c;
    let large = if rest > 0.0 { rest.sqrt() } else { 0.0 };
    match bits & 3 {
        0 => [large, a, b, c],
        1 => [a, large, b, c],
        2 => [a, b, large, c],
        _ => [a, b, c, large],
    }
}

#[inline]
fn free(group: &Constant, origin: [f32; 4], k: [f32; 3]) -> [f32; 4] {
    let t = &group.turn;
    let y = [0, 1, 2].map(|i| k[0] * t[0][i] + k[1] * t[1][i] + k[2] * t[2][i]);
    let square = y[0] * y[0] + y[1] * y[1] + y[2] * y[2];
    // The length of (2y, 1 − y²) is 1 + y².
    let inverse = 1.0 / (1.0 + square);
    let turn = [2.0 * y[0], 2.0 * y[1], 2.0 * y[2], 1.0 - square];
    multiply(origin, turn.map(|v| v * inverse))
}

#[inline]
fn multiply([ax, ay, az, aw]: [f32; 4], [bx, by, bz, bw]: [f32; 4]) -> [f32; 4] {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

/// Sine and cosine of half an angle in turns: polynomials in f32, exact to 1e-7.
#[inline]
fn half_sine_cosine(turns: f64) -> (f32, f32) {
    // The nearest whole number by conversion, which is one instruction.
    let whole = (turns + 4_503_599_627_370_496.0 * 1.5) - 4_503_599_627_370_496.0 * 1.5;
    let a = ((turns - whole) as f32) * std::f32::consts::PI;
    let s = a * a;
    let sine = -1.0 / 5040.0 + s * (1.0 / 362_880.0 - s * (1.0 / 39_916_800.0));
    let sine = a * (1.0 + s * (-1.0 / 6.0 + s * (1.0 / 120.0 + s * sine)));
    let cosine =
        -1.0 / 720.0 + s * (1.0 / 40_320.0 + s * (-1.0 / 3_628_800.0 + s * (1.0 / 479_001_600.0)));
    let cosine = 1.0 + s * (-0.5 + s * (1.0 / 24.0 + s * cosine));
    (sine, cosine)
}

fn constant(plan: &Plan, group: &super::stored::Group) -> Constant {
    let steps = &plan.steps[group.joint];
    let mut turn = [[0.0; 3]; 3];
    for c in 0..group.components {
        turn[c] = match group.kind {
            Kind::Free => steps.axes[c].map(|v| (steps.rotation[c] * v * 0.25) as f32),
            Kind::Translation => [steps.translation as f32; 3],
            Kind::Scale => [steps.scale as f32; 3],
            _ => [(steps.rotation[c] / std::f64::consts::TAU) as f32; 3],
        };
    }
    let hinge = match &plan.header.rotations[group.joint] {
        Rotation::Hinge { rest, .. } | Rotation::TwoAxes { rest, .. } => {
            let [x, y, z] = steps.axes[0];
            let across = rotation::multiply(rest.float(), [x, y, z, 0.0]);
            [rest.float().map(|v| v as f32), across.map(|v| v as f32)]
        }
        _ => [[0.0; 4]; 2],
    };
    Constant {
        joint: group.joint as u32,
        kind: group.kind,
        components: group.components as u32,
        turn,
        hinge,
        second: steps.axes[1].map(|v| v as f32),
    }
}

/// The same as an i32 quaternion, for the encoder's prediction.
pub fn fixed(origin: &Origin) -> rotation::Quaternion {
    origin
        .float()
        .map(|v| (v * f64::from(rotation::ONE)).round() as i32)
}
