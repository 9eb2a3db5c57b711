//! The bones and weights of points: read and written by the same function, lossless.
//!
//! ```text
//! range coder; per point, in the order of the hierarchy:
//!   coded        it has a residual: one bit, by the number of points of its ring that have one; not for points without bones, which always have one
//!   candidates   bones of the points of its ring (without a ring: of the point before), those with the largest sum of weights first, then by number; the first 16
//!   is it one?   one bit per candidate, by its share of the weights, its position, and the number of bones so far; none after 8 bones
//!   more?        one bit; then one bit: the first number that no point had before; otherwise its number, ⌈log₂ bones⌉ bits
//!   shift        if there are two bones or more: weights are multiples of 2^shift; 0 … 7, in unary, by that of the ring's first point
//!   weight       of all but the first: the difference to the weight that its share suggests, but within 1 … what is left; the first has the rest
//! ```
//!
//! Weights are integers with the sum 2^depth. A point without bones stays where it is at rest, except for its
//! residual.

use crate::Corrupt;
use crate::entropy::range::{BitCoder, Chance};
use crate::mesh::hierarchy::Hierarchy;

/// The largest number of bones of a point. Part of the format, like everything in this file.
pub const MAX_INFLUENCES: usize = 8;
/// The largest depth: the sum of all weights is 2 to this power at most.
pub const MAX_WEIGHT_DEPTH: u32 = 14;
/// The number of candidates that are coded.
const CANDIDATES: usize = 16;
/// The largest shift.
pub const MAX_WEIGHT_SHIFT: u32 = 7;

/// A bone of a point, and its weight.
pub type Influence = (u16, u16);

/// The bones of all points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkinWeights {
    /// The sum of a point's weights is 2 to this power.
    pub depth: u32,
    /// Point `v` has the bones `list[starts[v]..starts[v + 1]]`.
    pub starts: Vec<u32>,
    /// The bones and weights of all points, in coding order.
    pub list: Vec<Influence>,
    /// `true` for each point with a residual.
    pub coded: Vec<bool>,
}

impl SkinWeights {
    /// Creates an empty list.
    pub fn new(depth: u32) -> SkinWeights {
        SkinWeights { depth, starts: vec![0], ..SkinWeights::default() }
    }

    /// Returns the bones of a point.
    pub fn influences(&self, v: usize) -> &[Influence] {
        &self.list[self.starts[v] as usize..self.starts[v + 1] as usize]
    }

    /// Adds a point.
    pub fn push(&mut self, influences: &[Influence], coded: bool) {
        self.list.extend_from_slice(influences);
        self.starts.push(self.list.len() as u32);
        self.coded.push(coded);
    }

    /// Returns the number of points.
    pub fn points(&self) -> usize {
        self.coded.len()
    }
}

/// A bone that a point may have, and the sum of its weights in the ring.
type Candidate = (u16, u32);

struct Coder<B: BitCoder> {
    bits: B,
    coded: [B::Context; 4],
    is_candidate: [B::Context; 8 * 4 * 4],
    more: [B::Context; 4],
    new: B::Context,
    shift: [[B::Context; 8]; 9],
    zero: [B::Context; 16],
    sign: [B::Context; 2],
    length: [[B::Context; 16]; 16],
    top: [[B::Context; 16]; 16],
}

/// Reads or writes the bones of all points of `hierarchy`, in its order. `given` has the bones to write;
/// `None` in a reader.
pub fn code<B: BitCoder<Context = Chance>>(
    bits: B,
    hierarchy: &Hierarchy,
    bones: u32,
    depth: u32,
    given: Option<&SkinWeights>,
) -> Result<(SkinWeights, B), Corrupt> {
    if depth > MAX_WEIGHT_DEPTH || bones > 1 << 16 {
        return Err(Corrupt("weights: out of range"));
    }
    let mut coder = Coder::new(bits);
    let points = hierarchy.order.len();
    let mut out = SkinWeights::new(depth);
    out.starts.reserve(points);
    out.coded.reserve(points);
    let mut shifts = vec![8u8; points];
    let mut next = 0u32;
    for v in 0..points {
        let own = given.map(|g| g.influences(v));
        let before = [v.wrapping_sub(1) as u32];
        let ring = match hierarchy.ring_of(v) {
            [] if v > 0 => &before[..],
            ring => ring,
        };
        let mut candidates = [(0u16, 0u32); CANDIDATES];
        let found = collect_candidates(&out, ring, &mut candidates);
        let candidates = &candidates[..found];
        let total: u32 = (ring.len() as u32) << depth;
        let mut point = PointInfluences::default();
        coder.candidates(candidates, total, own, &mut point);
        coder.others(candidates, bones, next, own, &mut point)?;
        for &(bone, _) in &point.list[..point.count] {
            next = next.max(u32::from(bone) + 1);
        }
        let coded =
            point.count == 0 || coder.has_residual(ring, &out.coded, given.is_some_and(|g| g.coded[v]));
        match point.count {
            0 => {}
            1 => point.list[0].1 = 1 << depth,
            _ => {
                let near = ring.first().and_then(|&n| shifts.get(n as usize));
                let near = near.copied().unwrap_or(8);
                shifts[v] = coder.values(depth, near, own, &mut point, total)?;
            }
        }
        out.push(&point.list[..point.count], coded);
    }
    Ok((out, coder.bits))
}

/// The bones of the point being coded.
#[derive(Default)]
struct PointInfluences {
    /// Its bones, and their weights once these are known.
    list: [Influence; MAX_INFLUENCES],
    /// For each bone, the sum of its weights in the ring.
    ring_weights: [u32; MAX_INFLUENCES],
    count: usize,
}

/// Collects the bones of the points in a ring, those with the largest sum of weights first; returns their
/// number.
fn collect_candidates(done: &SkinWeights, ring: &[u32], out: &mut [Candidate; CANDIDATES]) -> usize {
    // Up to eight points with eight bones each.
    let mut all = [(0u16, 0u32); 8 * MAX_INFLUENCES];
    let mut count = 0;
    for &n in ring.iter().filter(|&&n| (n as usize) < done.points()) {
        for &(bone, weight) in done.influences(n as usize) {
            let known = all[..count].iter().position(|c| c.0 == bone);
            let at = known.unwrap_or(count);
            all[at] = (bone, all[at].1 + u32::from(weight));
            count = count.max(at + 1);
        }
    }
    let all = &mut all[..count];
    all.sort_unstable_by_key(|&(bone, sum)| (std::cmp::Reverse(sum), bone));
    let count = count.min(CANDIDATES);
    out[..count].copy_from_slice(&all[..count]);
    count
}

impl<B: BitCoder<Context = Chance>> Coder<B> {
    fn new(bits: B) -> Coder<B> {
        let even = Chance::default();
        Coder {
            bits,
            coded: [even; 4],
            is_candidate: [even; 128],
            more: [even; 4],
            new: even,
            shift: [[even; 8]; 9],
            zero: [even; 16],
            sign: [even; 2],
            length: [[even; 16]; 16],
            top: [[even; 16]; 16],
        }
    }

    /// Codes which of the candidates a point has; `own` are the bones to write.
    fn candidates(
        &mut self,
        candidates: &[Candidate],
        total: u32,
        own: Option<&[Influence]>,
        point: &mut PointInfluences,
    ) {
        let has = |bone: u16| own.is_some_and(|own| own.iter().any(|i| i.0 == bone));
        for (place, &(bone, sum)) in candidates.iter().enumerate() {
            if point.count == MAX_INFLUENCES {
                break;
            }
            let share = (u64::from(sum) * 8 / u64::from(total.max(1))).min(7) as usize;
            let context = &mut self.is_candidate[share + 8 * place.min(3) + 32 * point.count.min(3)];
            if self.bits.bit(context, has(bone)) {
                (point.list[point.count], point.ring_weights[point.count]) = ((bone, 0), sum);
                point.count += 1;
            }
        }
    }

    /// Codes the bones of a point that are not candidates; `next` is the first number that no point had.
    fn others(
        &mut self,
        candidates: &[Candidate],
        bones: u32,
        next: u32,
        own: Option<&[Influence]>,
        point: &mut PointInfluences,
    ) -> Result<(), Corrupt> {
        let mut extra = own.into_iter().flatten().map(|i| i.0).filter(|&bone| {
            let known = |c: &Candidate| c.0 == bone;
            !candidates.iter().any(known)
        });
        while point.count < MAX_INFLUENCES {
            let wanted = extra.next();
            if !self.bits.bit(&mut self.more[point.count.min(3)], wanted.is_some()) {
                break;
            }
            let new = self.bits.bit(&mut self.new, wanted.is_some_and(|b| u32::from(b) == next));
            let bone = match new {
                true => next,
                false => {
                    let width = 32 - bones.saturating_sub(1).leading_zeros();
                    self.bits.raw_bits(width, wanted.map_or(0, u32::from))
                }
            };
            let twice = point.list[..point.count].iter().any(|i| u32::from(i.0) == bone);
            if bone >= bones || twice {
                return Err(Corrupt("weights: a bone that cannot be"));
            }
            point.list[point.count] = (bone as u16, 0);
            point.count += 1;
        }
        Ok(())
    }

    /// Codes whether a point has a residual; `coded` says which of the points before have one.
    fn has_residual(&mut self, ring: &[u32], coded: &[bool], own: bool) -> bool {
        let some = ring.iter().filter(|&&n| coded.get(n as usize) == Some(&true));
        let context = match some.count() {
            0 => 0,
            n if n == ring.len() => 3,
            1 => 1,
            _ => 2,
        };
        self.bits.bit(&mut self.coded[context], own)
    }

    /// Codes the weights of two or more bones; returns their shift.
    fn values(
        &mut self,
        depth: u32,
        near: u8,
        own: Option<&[Influence]>,
        point: &mut PointInfluences,
        total: u32,
    ) -> Result<u8, Corrupt> {
        let (list, shares) = (&mut point.list[..point.count], &point.ring_weights);
        let most = MAX_WEIGHT_SHIFT.min(depth.saturating_sub(3));
        let all = own.into_iter().flatten();
        let wanted = all.fold(most, |s, i| s.min(u32::from(i.1).trailing_zeros()));
        let mut shift = 0;
        while shift < most {
            let context = &mut self.shift[usize::from(near)][shift as usize];
            if !self.bits.bit(context, wanted > shift) {
                break;
            }
            shift += 1;
        }
        let mut left = 1u32 << (depth - shift);
        let count = list.len();
        if left < count as u32 {
            return Err(Corrupt("weights: too many for their depth"));
        }
        for k in (1..count).rev() {
            // Each of the others has a weight of at least 1.
            let most = left - k as u32;
            let scaled = u64::from(shares[k]) << (depth - shift);
            let expected = (scaled + u64::from(total) / 2) / u64::from(total.max(1));
            let expected = (expected as u32).clamp(1, most);
            let bone = list[k].0;
            let wanted = own.and_then(|own| own.iter().find(|i| i.0 == bone));
            let wanted = wanted.map_or(0, |i| u32::from(i.1) >> shift);
            let kind = usize::from(shares[k] == 0) * 8 + shift as usize;
            let residual = self.number(kind, wanted as i32 - expected as i32);
            let weight = i64::from(expected) + i64::from(residual);
            if weight < 1 || weight > i64::from(most) {
                return Err(Corrupt("weights: their sum is too large"));
            }
            list[k].1 = (weight as u16) << shift;
            left -= weight as u32;
        }
        list[0].1 = (left << shift) as u16;
        Ok(shift as u8)
    }

    /// Codes a signed number with a magnitude below 2^16.
    fn number(&mut self, kind: usize, value: i32) -> i32 {
        if !self.bits.bit(&mut self.zero[kind], value != 0) {
            return 0;
        }
        let negative = self.bits.bit(&mut self.sign[kind / 8], value < 0);
        let size = value.unsigned_abs();
        let wanted = 31 - size.max(1).leading_zeros();
        let mut length = 0;
        while length < 15 {
            let context = &mut self.length[kind][length as usize];
            if !self.bits.bit(context, wanted > length) {
                break;
            }
            length += 1;
        }
        let mut size_out = 1u32;
        for k in (0..length).rev() {
            let bit = size >> k & 1 != 0;
            let bit = match k + 1 == length {
                true => self.bits.bit(&mut self.top[kind][length as usize], bit),
                false => self.bits.raw_bits(1, u32::from(bit)) != 0,
            };
            size_out = size_out << 1 | u32::from(bit);
        }
        if negative { -(size_out as i32) } else { size_out as i32 }
    }
}
