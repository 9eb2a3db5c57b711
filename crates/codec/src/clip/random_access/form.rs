//! The bytes of the random-access form: encoded, parsed and checked.

use crate::Corrupt;
#[cfg(feature = "encode")]
use crate::bytes::put_length_prefixed;
use crate::bytes::{Cursor, take_length_prefixed};
use crate::clip::streamed::{AnimatedSubTrack, ClipLayout, SubTrackKind};
use crate::clip::{ClipHeader, RotationSubTrack, Skeleton, header};
use crate::quantize::rotation;
use crate::simd::doubles::LANES;

/// The number of samples per segment. Part of the format, like everything in this file.
pub const SEGMENT_SAMPLES: usize = 16;
/// The widths of fields in bits, by code: at most 25.
pub(super) const WIDTHS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 17, 24];
/// The factor that leaves steps unchanged.
pub const UNIT_FACTOR: u8 = 128;
/// Bytes after the last segment in memory, so that a block can be loaded at once.
pub(super) const TAIL_BYTES: usize = 32;
/// Bytes of a segment before the ends of its blocks.
const FACTOR_BYTES: usize = 1;
/// The kinds of sub-tracks in the order of blocks.
const KINDS: [SubTrackKind; 5] = [
    SubTrackKind::Free,
    SubTrackKind::TwoAxes,
    SubTrackKind::Hinge,
    SubTrackKind::Translation,
    SubTrackKind::Scale,
];

/// The value relative to which the values of a sub-track are coded.
#[cfg(feature = "encode")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    /// Vectors: in units of length, or of scale.
    Vector([f32; 3]),
    /// Angles: 2³² is a full turn.
    Angles([i32; 2]),
    /// Free rotations: the index of the largest component, and the others in 2⁻¹⁴/√2.
    Rotation(u8, [i16; 3]),
}

#[cfg(feature = "encode")]
impl Origin {
    /// Returns the nearest origin to a unit quaternion x y z w.
    pub fn rotation(q: [f64; 4]) -> Origin {
        let largest = (0..4).fold(0, |best, i| if q[i].abs() > q[best].abs() { i } else { best });
        let sign = if q[largest] < 0.0 { -1.0 } else { 1.0 };
        let mut parts = [0; 3];
        for (part, i) in parts.iter_mut().zip((0..4).filter(|&i| i != largest)) {
            *part = (q[i] * sign * SMALLEST_THREE_SCALE).round().clamp(-16384.0, 16383.0) as i16;
        }
        Origin::Rotation(largest as u8, parts)
    }

    /// Returns x y z w of a rotation; the identity for any other kind.
    pub fn to_quaternion(&self) -> [f64; 4] {
        let Origin::Rotation(largest, parts) = self else {
            return [0.0, 0.0, 0.0, 1.0];
        };
        let p = parts.map(|v| f64::from(v) / SMALLEST_THREE_SCALE);
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
#[cfg(feature = "encode")]
const SMALLEST_THREE_SCALE: f64 = 16_384.0 * std::f64::consts::SQRT_2;

/// A segment before it is packed.
#[cfg(feature = "encode")]
#[derive(Clone, Debug, PartialEq)]
pub struct UnpackedSegment {
    /// The factor of the steps, in 128ths.
    pub factor: u8,
    /// The origin of each animated sub-track.
    pub origins: Vec<Origin>,
    /// The values sample by sample, one per component.
    pub k: Vec<i32>,
}

/// Returns the number of bits that hold `k` as a signed number.
#[cfg(feature = "encode")]
fn width(k: i32) -> u32 {
    match k {
        0 => 0,
        k if k < 0 => 33 - (!k).leading_zeros(),
        k => 33 - k.leading_zeros(),
    }
}

#[cfg(feature = "encode")]
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    held: u64,
    count: u32,
}

#[cfg(feature = "encode")]
impl BitWriter<'_> {
    #[cfg(feature = "encode")]
    fn write(&mut self, value: u32, bits: u32) {
        self.held |= u64::from(value) << self.count;
        self.count += bits;
        while self.count >= 8 {
            self.out.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    #[cfg(feature = "encode")]
    fn align(&mut self) {
        if self.count > 0 {
            self.out.push(self.held as u8);
            (self.held, self.count) = (0, 0);
        }
    }
}

/// Returns the blocks: sub-tracks of one kind that are decoded side by side, at most eight, as numbers among
/// the groups of `plan`.
fn blocks(plan: &ClipLayout) -> Vec<(SubTrackKind, Vec<usize>)> {
    let mut out = Vec::new();
    for kind in KINDS {
        let of: Vec<usize> =
            (0..plan.sub_tracks.len()).filter(|&g| plan.sub_tracks[g].kind == kind).collect();
        out.extend(of.chunks(LANES).map(|block| (kind, block.to_vec())));
    }
    out
}

/// Returns the bytes of the origins of a block with `lanes` sub-tracks.
fn origin_bytes(kind: SubTrackKind, lanes: usize) -> usize {
    match kind {
        SubTrackKind::Free => 2 + 6 * lanes,
        SubTrackKind::TwoAxes => 8 * lanes,
        SubTrackKind::Hinge => 4 * lanes,
        SubTrackKind::Translation | SubTrackKind::Scale => 12 * lanes,
    }
}

/// Encodes a clip. Returns `None` if a value needs more than 24 bits relative to its origin.
#[cfg(feature = "encode")]
pub fn encode(plan: &ClipLayout, segments: &[UnpackedSegment]) -> Option<Vec<u8>> {
    let mut header = Vec::new();
    header::encode(&plan.header, &mut header);
    let mut out = Vec::new();
    put_length_prefixed(&header, &mut out);
    out.extend(encode_body(plan, segments)?);
    Some(out)
}

/// Encodes the part after the header of a clip: the ends of its segments, then the segments.
#[cfg(feature = "encode")]
pub fn encode_body(plan: &ClipLayout, segments: &[UnpackedSegment]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let blocks = blocks(plan);
    // The plan's number of each component, in the order of this form.
    let order: Vec<usize> = (blocks.iter())
        .flat_map(|(_, groups)| {
            let components = plan.sub_tracks[groups[0]].components;
            (0..components).flat_map(move |c| groups.iter().map(move |&g| plan.sub_tracks[g].component + c))
        })
        .collect();
    let n = plan.components;
    // The number of components of each block.
    let sizes: Vec<usize> =
        (blocks.iter()).map(|(_, groups)| plan.sub_tracks[groups[0]].components * groups.len()).collect();
    let mut all = Vec::new();
    for segment in segments {
        let mut widths = vec![0; n];
        for sample in segment.k.chunks_exact(n.max(1)) {
            for (w, &i) in widths.iter_mut().zip(&order) {
                *w = width(sample[i]).max(*w);
            }
        }
        if widths.iter().any(|w| *w > 24) {
            return None;
        }
        let codes: Vec<usize> = (widths.iter())
            .map(|w| WIDTHS.iter().position(|have| u32::from(*have) >= *w))
            .collect::<Option<_>>()?;
        let widths: Vec<u32> = codes.iter().map(|c| u32::from(WIDTHS[*c])).collect();
        all.push(segment.factor);
        let (mut first, mut end) = (0, 0);
        for size in &sizes {
            end += widths[first..first + size].iter().sum::<u32>();
            all.extend_from_slice(&u16::try_from(end).ok()?.to_le_bytes());
            first += size;
        }
        let mut bits = BitWriter { out: &mut all, held: 0, count: 0 };
        let mut codes = codes.iter();
        for size in &sizes {
            let own = codes.by_ref().take(*size);
            own.for_each(|code| bits.write(*code as u32, 4));
            bits.align();
        }
        for (kind, groups) in &blocks {
            let origins = groups.iter().map(|&g| &segment.origins[g]);
            encode_origins(*kind, origins, &mut all);
        }
        let mut bits = BitWriter { out: &mut all, held: 0, count: 0 };
        for sample in segment.k.chunks_exact(n.max(1)) {
            for (&i, &w) in order.iter().zip(&widths) {
                if w > 0 {
                    bits.write((sample[i] + (1 << (w - 1))) as u32, w);
                }
            }
            bits.align();
        }
        out.extend_from_slice(&u32::try_from(all.len()).ok()?.to_le_bytes());
    }
    out.extend_from_slice(&all);
    Some(out)
}

#[cfg(feature = "encode")]
fn encode_origins<'a>(
    kind: SubTrackKind,
    origins: impl Iterator<Item = &'a Origin> + Clone,
    out: &mut Vec<u8>,
) {
    if kind == SubTrackKind::Free {
        let largest = |o: &Origin| match o {
            Origin::Rotation(largest, _) => u16::from(*largest),
            _ => 0,
        };
        let pairs = (origins.clone().zip((0..).step_by(2))).map(|(o, at)| largest(o) << at);
        out.extend_from_slice(&pairs.sum::<u16>().to_le_bytes());
    }
    for c in 0..3 {
        for origin in origins.clone() {
            match origin {
                Origin::Rotation(_, parts) => out.extend_from_slice(&parts[c].to_le_bytes()),
                Origin::Vector(v) => out.extend_from_slice(&v[c].to_le_bytes()),
                Origin::Angles(a) => {
                    let there = c == 0 || (c == 1 && kind == SubTrackKind::TwoAxes);
                    out.extend(there.then(|| a[c].to_le_bytes()).into_iter().flatten());
                }
            }
        }
    }
}

/// Extracts a layer from a clip that is divided into layers: its plan and its segments. Each layer alone is a
/// clip whose other joints are in the rest pose; the poses of all layers together are those of the whole
/// clip, bit for bit.
#[cfg(feature = "encode")]
pub fn extract_layer(
    skeleton: &Skeleton<'_>,
    plan: &ClipLayout,
    layer: u8,
    segments: &[UnpackedSegment],
) -> Result<(ClipLayout, Vec<UnpackedSegment>), Corrupt> {
    let own = ClipLayout::new(skeleton, plan.header.layer_header(layer))?;
    let layers = &plan.header.split.layers;
    let kept: Vec<bool> = (plan.sub_tracks.iter()).map(|g| layers.get(g.joint) == Some(&layer)).collect();
    let components = crate::clip::layer::layer_components(&plan.header, layer);
    let part = |segment: &UnpackedSegment| UnpackedSegment {
        factor: segment.factor,
        origins: (segment.origins.iter().zip(&kept))
            .filter_map(|(origin, kept)| kept.then_some(*origin))
            .collect(),
        k: (segment.k.chunks(plan.components.max(1)))
            .flat_map(|sample| components.iter().map(|&c| sample[c]))
            .collect(),
    };
    Ok((own, segments.iter().map(part).collect()))
}

/// A clip in memory, ready to be sampled. Only constants are unpacked: it takes as much memory as it has
/// stored bytes.
#[derive(Clone, Debug)]
pub struct RandomAccess {
    /// The sub-tracks and steps, from header and skeleton.
    pub layout: ClipLayout,
    /// The segments and the tail.
    pub(super) bytes: Vec<u8>,
    pub(super) segments: Vec<SegmentLocation>,
    pub(super) blocks: Vec<SubTrackBlock>,
    /// The constants of the blocks; each row has a number per sub-track.
    pub(super) rows: Vec<[f32; LANES]>,
    /// For each joint, the places of its sub-tracks: eight times the block plus the lane;
    /// [`crate::clip::NO_INDEX`] if not animated.
    pub(super) joint_slots: Vec<[u32; 3]>,
    /// Bytes of a segment before its samples.
    pub(super) samples_offset: usize,
    /// Bytes of the header, without their size.
    header_bytes: usize,
}

/// The place of a segment, kept apart from its bytes so that a sample can be prefetched before any of them is
/// read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SegmentLocation {
    /// The first byte.
    pub(super) start: u32,
    /// Bytes per sample.
    pub(super) stride: u16,
    /// The factor of the steps, in 128ths.
    pub(super) factor: u8,
}

/// A block. Small, so that few cache lines are read for all blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubTrackBlock {
    pub(super) kind: SubTrackKind,
    /// The number of sub-tracks.
    pub(super) lanes: u8,
    pub(super) joints: [u16; LANES],
    /// All bits are set if there is a block before it, else none.
    before: u16,
    /// Bytes from the segment's start to the field with the end of the block before it; 0 for the first
    /// block.
    begin: u32,
    /// Bytes from the segment's start to its width codes.
    codes: u32,
    /// Mask of the width codes: four bits per sub-track.
    mask: u32,
    /// Bytes from the segment's start to its origins.
    pub(super) origins: u32,
    /// Its first row of constants.
    pub(super) row: u32,
}

impl RandomAccess {
    /// Decodes the bytes of [`encode`], and checks all segments.
    pub fn open(skeleton: &Skeleton<'_>, bytes: &[u8]) -> Result<RandomAccess, Corrupt> {
        let (header, used) = take_length_prefixed(bytes)?;
        RandomAccess::open_parts(skeleton, header, bytes.get(used..).unwrap_or_default())
    }

    /// Decodes a clip whose header is stored elsewhere, like that of a layer: `body` has the bytes of
    /// [`encode_body`].
    pub fn open_parts(skeleton: &Skeleton<'_>, header: &[u8], body: &[u8]) -> Result<RandomAccess, Corrupt> {
        skeleton.check()?;
        let header_bytes = header.len();
        let header: ClipHeader = header::decode(header, skeleton.parents.len())?;
        let plan = ClipLayout::new(skeleton, header)?;
        let mut cursor = Cursor::new(body);
        let count = (plan.header.samples as usize).div_ceil(SEGMENT_SAMPLES);
        if count > cursor.left() / 4 {
            return Err(Corrupt("ends of a clip's segments end early"));
        }
        let mut segments = Vec::with_capacity(count);
        let mut start = 0;
        for _ in 0..count {
            segments.push(SegmentLocation { start, ..SegmentLocation::default() });
            let end = u32::from_le_bytes(cursor.array()?);
            if end < start {
                return Err(Corrupt("ends of a clip's segments do not fit"));
            }
            start = end;
        }
        let left = cursor.left();
        if start as usize != left {
            return Err(Corrupt("ends of a clip's segments do not fit"));
        }
        let mut bytes = Vec::with_capacity(left + TAIL_BYTES);
        bytes.extend_from_slice(cursor.bytes(left)?);
        bytes.resize(left + TAIL_BYTES, 0);
        let mut resident = RandomAccess {
            blocks: Vec::new(),
            rows: Vec::new(),
            joint_slots: vec![[crate::clip::NO_INDEX; 3]; skeleton.parents.len()],
            samples_offset: 0,
            layout: plan,
            bytes,
            segments,
            header_bytes,
        };
        resident.lay_out();
        for s in 0..count {
            let end = resident.segments.get(s + 1).map_or(left, |next| next.start as usize);
            resident.segments[s] = resident.check(s, end)?;
        }
        Ok(resident)
    }

    fn lay_out(&mut self) {
        let blocks = blocks(&self.layout);
        self.samples_offset = FACTOR_BYTES + 2 * blocks.len();
        for (i, (kind, groups)) in blocks.into_iter().enumerate() {
            let group = |g: usize| &self.layout.sub_tracks[g];
            let row = self.rows.len();
            let mut joints = [0; LANES];
            for (lane, &g) in groups.iter().enumerate() {
                let joint = group(g).joint;
                joints[lane] = joint as u16;
                let place = (LANES * self.blocks.len() + lane) as u32;
                let free = self.joint_slots[joint].iter_mut();
                if let Some(slot) = free.into_iter().find(|slot| **slot == crate::clip::NO_INDEX) {
                    *slot = place;
                }
                let constants = constants(&self.layout, group(g));
                self.rows.resize((row + constants.len()).max(self.rows.len()), [0.0; LANES]);
                for (row, constant) in self.rows[row..].iter_mut().zip(constants) {
                    row[lane] = constant;
                }
            }
            self.blocks.push(SubTrackBlock {
                kind,
                lanes: groups.len() as u8,
                joints,
                begin: (FACTOR_BYTES + 2 * i.saturating_sub(1)) as u32,
                before: if i == 0 { 0 } else { u16::MAX },
                codes: self.samples_offset as u32,
                mask: u32::MAX >> (4 * (LANES - groups.len())),
                origins: 0,
                row: row as u32,
            });
            self.samples_offset += (components(kind) * groups.len()).div_ceil(2);
        }
        for block in &mut self.blocks {
            block.origins = self.samples_offset as u32;
            self.samples_offset += origin_bytes(block.kind, usize::from(block.lanes));
        }
    }

    /// Checks that a segment is as long as its header says, and that its origins are finite.
    fn check(&self, s: usize, end: usize) -> Result<SegmentLocation, Corrupt> {
        let start = self.segments[s].start as usize;
        if start + self.samples_offset > end || self.bytes[start] == 0 {
            return Err(Corrupt("a segment of a clip ends early, or has steps of zero"));
        }
        let mut sum = 0;
        let mut adds_up = true;
        for block in &self.blocks {
            adds_up &= block.begin(&self.bytes, start) == sum;
            sum += match components(block.kind) {
                1 => total::<1>(block.codes(&self.bytes, start)),
                2 => total::<2>(block.codes(&self.bytes, start)),
                _ => total::<3>(block.codes(&self.bytes, start)),
            };
        }
        let samples = (self.layout.header.samples as usize - s * SEGMENT_SAMPLES).min(SEGMENT_SAMPLES);
        let size = self.samples_offset + sum.div_ceil(8) * samples;
        if !adds_up
            || sum > usize::from(u16::MAX)
            || sum.div_ceil(8) != self.stride(start)
            || start + size != end
        {
            return Err(Corrupt("a segment of a clip is of another size than its samples"));
        }
        for block in &self.blocks {
            if matches!(block.kind, SubTrackKind::Translation | SubTrackKind::Scale) {
                let origins = &self.bytes[start + block.origins as usize..][..12 * usize::from(block.lanes)];
                let fits = |b: &[u8; 4]| f32::from_le_bytes(*b).abs() <= 1e18;
                if !origins.as_chunks().0.iter().all(fits) {
                    return Err(Corrupt("a segment of a clip has an origin beyond 10^18"));
                }
            }
        }
        // The bits of a sample fit 16 bits: at most 24 bits for each of the three components of each
        // sub-track.
        Ok(SegmentLocation {
            start: self.segments[s].start,
            stride: sum.div_ceil(8) as u16,
            factor: self.bytes[start],
        })
    }

    /// Returns the bytes per sample of the segment that begins at `start`.
    fn stride(&self, start: usize) -> usize {
        match self.blocks.len() {
            0 => 0,
            n => usize::from(word(&self.bytes, start + FACTOR_BYTES + 2 * (n - 1))).div_ceil(8),
        }
    }

    /// Returns the bytes of memory of the clip, without the skeleton and the data derived from it.
    pub fn packed_bytes(&self) -> usize {
        self.header_bytes + 4 * self.segments.len() + self.bytes.len()
    }

    /// Returns the stored size of the header, in bytes.
    pub fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// Returns the stored size of everything after the header, in bytes.
    pub fn body_bytes(&self) -> usize {
        4 * self.segments.len() + self.bytes.len() - TAIL_BYTES
    }
}

impl SubTrackBlock {
    /// Returns the bits of a sample before this block.
    #[inline(always)]
    pub(super) fn begin(&self, bytes: &[u8], start: usize) -> usize {
        usize::from(word(bytes, start + self.begin as usize) & self.before)
    }

    /// Returns the width codes: a row per component, four bits per sub-track.
    #[inline(always)]
    pub(super) fn codes<const ROWS: usize>(&self, bytes: &[u8], start: usize) -> [u32; ROWS] {
        // The four bytes beyond three full rows exist: origins, samples or the tail.
        let window: [u8; 16] = chunk(bytes, start + self.codes as usize).copied().unwrap_or_default();
        let window = u128::from_le_bytes(window);
        std::array::from_fn(|row| (window >> (4 * usize::from(self.lanes) * row)) as u32 & self.mask)
    }

    /// Returns, for each component of one sub-track, its first bit and its number of bits; the first bit
    /// counts from the sample's start.
    #[inline(always)]
    pub(super) fn fields<const ROWS: usize>(
        &self,
        bytes: &[u8],
        start: usize,
        lane: usize,
    ) -> [[usize; 2]; ROWS] {
        let mut out = [[0; 2]; ROWS];
        let Some(window) = chunk::<16>(bytes, start + self.codes as usize) else {
            return out;
        };
        let (halves, _) = window.as_chunks();
        let low = halves.first().map_or(0, |half| u64::from_le_bytes(*half));
        let high = halves.last().map_or(0, |half| u64::from_le_bytes(*half));
        let begin = self.begin(bytes, start);
        // The codes of all components are consecutive: the bits before a field are the sum of all widths
        // before its own.
        for (row, [first, width]) in out.iter_mut().enumerate() {
            let at = row * usize::from(self.lanes) + lane % LANES;
            // The codes before this one, and this one, from the first sixteen and the last eight codes.
            let (before, code) = match row {
                0 | 1 => (below(low, at), low >> ((4 * at as u32) & 63)),
                _ if at < 16 => (below(low, at), low >> ((4 * at as u32) & 63)),
                _ => (low, high >> ((4 * at as u32) & 63)),
            };
            let mut sum = sum_of_widths(before);
            if row == 2 {
                sum += sum_of_widths(below(high, at.saturating_sub(16)));
            }
            *first = begin + sum;
            *width = usize::from(WIDTHS[code as usize & 15]);
        }
        out
    }
}

/// Returns the number of components of a sub-track.
#[inline(always)]
fn components(kind: SubTrackKind) -> usize {
    match kind {
        SubTrackKind::Hinge => 1,
        SubTrackKind::TwoAxes => 2,
        SubTrackKind::Free | SubTrackKind::Translation | SubTrackKind::Scale => 3,
    }
}

#[inline(always)]
pub(super) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    bytes.get(at..)?.first_chunk()
}

/// Reads a little-endian 16-bit word; 0 beyond the end.
#[inline(always)]
pub(super) fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(chunk(bytes, at).copied().unwrap_or_default())
}

/// Returns the first `count` of sixteen codes; all of them if `count` is 16 or more.
#[inline(always)]
fn below(codes: u64, count: usize) -> u64 {
    match count < 16 {
        true => codes & !(u64::MAX << (4 * count)),
        false => codes,
    }
}

/// Returns the sum of the widths of sixteen codes.
#[inline(always)]
pub(super) fn sum_of_widths(codes: u64) -> usize {
    const ONES: u64 = 0x1111_1111_1111_1111;
    const LOW: u64 = 0x0F0F_0F0F_0F0F_0F0F;
    // Codes equal their widths except the last three, which have both high bits set.
    let pairs = (codes & LOW) + ((codes >> 4) & LOW);
    let sum = pairs.wrapping_mul(0x0101_0101_0101_0101) >> 56;
    let high = (codes >> 3) & (codes >> 2) & ONES;
    if high == 0 {
        return sum as usize;
    }
    let (one, two) = (high & codes, high & (codes >> 1));
    let more = one.count_ones() + 3 * two.count_ones() + 5 * (one & two).count_ones();
    sum as usize + more as usize
}

fn total<const ROWS: usize>(codes: [u32; ROWS]) -> usize {
    codes.into_iter().map(|row| sum_of_widths(u64::from(row))).sum()
}

/// Returns the constants of a sub-track that [`sample`] reads besides its components, in the order of its
/// rows.
fn constants(plan: &ClipLayout, group: &AnimatedSubTrack) -> Vec<f32> {
    let steps = &plan.steps[group.joint];
    let turn = |c: usize| (steps.rotation[c] / std::f64::consts::TAU) as f32;
    let rest = match &plan.header.rotations[group.joint] {
        RotationSubTrack::Hinge { rest, .. } | RotationSubTrack::TwoAxes { rest, .. } => rest.to_quaternion(),
        _ => [0.0, 0.0, 0.0, 1.0],
    };
    let [x, y, z] = steps.axes[0];
    let across = rotation::multiply(rest, [x, y, z, 0.0]);
    let mut out = Vec::new();
    match group.kind {
        // Step/4 · axis of each component.
        SubTrackKind::Free => out.extend((0..3).flat_map(|c| {
            let axis = steps.axes[c];
            axis.map(|v| (steps.rotation[c] * v * 0.25) as f32)
        })),
        // Step in turns, rest · (0, 0, 0, 1) and rest · axis; then step and axis of the second turn.
        SubTrackKind::Hinge | SubTrackKind::TwoAxes => {
            out.push(turn(0));
            out.extend(rest.iter().chain(&across).map(|v| *v as f32));
            if group.kind == SubTrackKind::TwoAxes {
                out.push(turn(1));
                out.extend(steps.axes[1].map(|v| v as f32));
            }
        }
        SubTrackKind::Translation => out.push(steps.translation as f32),
        SubTrackKind::Scale => out.push(steps.scale as f32),
    }
    out
}

/// Returns the origin of a rotation as a quaternion of i32, for the encoder's prediction.
#[cfg(feature = "encode")]
pub fn origin_quaternion(origin: &Origin) -> rotation::Quaternion {
    origin.to_quaternion().map(|v| (v * f64::from(rotation::ONE)).round() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn widths_sum_up(codes in any::<u64>()) {
            for codes in [codes, codes & 0xBBBB_BBBB_BBBB_BBBB] {
                let width = |i: usize| usize::from(WIDTHS[(codes >> (4 * i) & 15) as usize]);
                for count in 0..=16 {
                    prop_assert_eq!(sum_of_widths(below(codes, count)), (0..count).map(width).sum::<usize>());
                }
            }
        }
    }
}
