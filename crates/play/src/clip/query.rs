//! What is asked of a clip: a time, how samples around it are taken, and which joints.

use meshreel_codec::clip::random_access::Parts;
use meshreel_codec::clip::record::SkeletonRecord;

/// How times outside the clip are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// The first or last sample stands.
    Clamp,
    /// The clip starts over; its last sample is followed by its first.
    Wrap,
}

/// How times between samples are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Normalised linear interpolation of rotations, linear of the rest.
    None,
    /// The sample before.
    Floor,
    /// The sample after.
    Ceil,
    /// The nearer one.
    Nearest,
}

/// A time in a clip, and what is wanted there.
///
/// ```
/// use meshreel::clip::{Mask, Query, Rounding};
///
/// let hands = Mask::of(31, [12, 13, 19, 20]);
/// let query = Query::at(1.25).wrapped().rounded(Rounding::Nearest).only(&hands);
/// assert_eq!(query.seconds, 1.25);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Seconds after the first sample.
    pub seconds: f64,
    /// How times outside the clip are taken.
    pub repeats: Repeats,
    /// How times between samples are taken.
    pub rounding: Rounding,
    /// How times between samples are taken, joint by joint; for joints beyond the end of the list `rounding`
    /// holds.
    pub roundings: &'a [Rounding],
    /// The joints that are wanted; all where there is none. The others' transforms are left as they are.
    pub mask: Option<&'a Mask>,
}

impl<'a> Query<'a> {
    /// All joints, interpolated, clamped to the clip.
    pub fn at(seconds: f64) -> Query<'a> {
        Query { seconds, repeats: Repeats::Clamp, rounding: Rounding::None, roundings: &[], mask: None }
    }

    /// The clip starts over.
    pub fn wrapped(self) -> Query<'a> {
        Query { repeats: Repeats::Wrap, ..self }
    }

    /// All joints rounded alike.
    pub fn rounded(self, rounding: Rounding) -> Query<'a> {
        Query { rounding, ..self }
    }

    /// Each joint rounded by itself.
    pub fn rounded_each(self, roundings: &'a [Rounding]) -> Query<'a> {
        Query { roundings, ..self }
    }

    /// Some joints only.
    pub fn only(self, mask: &'a Mask) -> Query<'a> {
        Query { mask: Some(mask), ..self }
    }

    /// Whether joint `j` is wanted.
    #[inline]
    pub(super) fn wants(&self, j: usize) -> bool {
        self.mask.is_none_or(|mask| mask.has(j))
    }

    /// How joint `j` is rounded.
    pub(super) fn rounding_of(&self, j: usize) -> Rounding {
        self.roundings.get(j).copied().unwrap_or(self.rounding)
    }

    /// Every way in which some joint may be rounded, once.
    pub(super) fn all_roundings(&self) -> impl Iterator<Item = Rounding> + use<'a> {
        let (own, each) = (self.rounding, self.roundings);
        let all = [Rounding::None, Rounding::Floor, Rounding::Ceil, Rounding::Nearest];
        all.into_iter().filter(move |r| *r == own || each.contains(r))
    }

    /// Samples around the time, and how far each joint is from the first to the second.
    #[inline]
    pub(super) fn locate(&self, samples: usize, fps: f64) -> (usize, usize, Each<'a>) {
        let (left, right, part) = locate(samples, fps, self.seconds, self.repeats);
        let each = Each { part: part as f32, rounding: self.rounding, roundings: self.roundings };
        match each.all() {
            Some(0.0) => (left, left, each),
            Some(1.0) => (right, right, Each { part: 0.0, ..each }),
            _ => (left, right, each),
        }
    }
}

/// How far each joint is between two samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Each<'a> {
    part: f32,
    rounding: Rounding,
    roundings: &'a [Rounding],
}

impl Parts for Each<'_> {
    #[inline(always)]
    fn all(self) -> Option<f32> {
        match self.roundings.is_empty() || self.part == 0.0 {
            true => Some(self.rounding.part(self.part)),
            false => None,
        }
    }
    #[inline(always)]
    fn of(self, joint: usize) -> f32 {
        let rounding = self.roundings.get(joint).copied();
        rounding.unwrap_or(self.rounding).part(self.part)
    }
}

impl Rounding {
    /// The part of the way from one sample to the next that is taken where the time is at `part` of it.
    #[inline]
    pub fn part(self, part: f32) -> f32 {
        match self {
            Rounding::None => part,
            Rounding::Floor => 0.0,
            Rounding::Ceil => f32::from(u8::from(part > 0.0)),
            Rounding::Nearest => f32::from(u8::from(part >= 0.5)),
        }
    }
}

/// Some of a skeleton's joints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    joints: Vec<bool>,
}

impl Mask {
    /// All of so many joints.
    pub fn all(joints: usize) -> Mask {
        Mask { joints: vec![true; joints] }
    }

    /// The joints that are named, among so many; numbers beyond them are left out.
    pub fn of(joints: usize, these: impl IntoIterator<Item = usize>) -> Mask {
        let mut mask = Mask { joints: vec![false; joints] };
        for j in these {
            mask.set(j, true);
        }
        mask
    }

    /// The first `count` joints of an order such as [`importance`]'s: what a character needs that is small on
    /// the screen.
    pub fn first(order: &[u32], count: usize) -> Mask {
        let these = order.iter().take(count).map(|j| *j as usize);
        Mask::of(order.len(), these)
    }

    /// With the parents of all its joints, so that it can be multiplied up.
    pub fn with_parents(mut self, parents: &[u32]) -> Mask {
        for j in (0..self.joints.len().min(parents.len())).rev() {
            if self.joints[j] {
                self.set(parents[j] as usize, true);
            }
        }
        self
    }

    /// Whether joint `j` is among them.
    #[inline]
    pub fn has(&self, j: usize) -> bool {
        self.joints.get(j).copied().unwrap_or(false)
    }

    /// Puts joint `j` in or out.
    pub fn set(&mut self, j: usize, wanted: bool) {
        if let Some(joint) = self.joints.get_mut(j) {
            *joint = wanted;
        }
    }

    /// The number of joints.
    pub fn count(&self) -> usize {
        self.joints.iter().filter(|wanted| **wanted).count()
    }
}

/// All joints of a skeleton, the most important first, a parent always before its children: by the distance
/// along the bones, summed over all that the joint moves, joints and points at the shell distance.
pub fn importance(skeleton: &SkeletonRecord) -> Vec<u32> {
    let n = skeleton.parents.len();
    // Three points of its own each.
    let mut points = vec![3.0f64; n];
    let mut sums: Vec<f64> = skeleton.shell.iter().map(|s| 3.0 * f64::from(*s)).collect();
    for j in (0..n).rev() {
        let parent = skeleton.parents[j] as usize;
        if parent < j {
            let [x, y, z] = skeleton.rest[j].translation.map(f64::from);
            let bone = (x * x + y * y + z * z).sqrt();
            sums[parent] += sums[j] + bone * (points[j] + 1.0);
            points[parent] += points[j] + 1.0;
        }
    }
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by(|a, b| {
        let by_sum = sums[*b as usize].total_cmp(&sums[*a as usize]);
        by_sum.then(a.cmp(b))
    });
    order
}

/// Samples around a time, and how far it is from the first to the second.
#[inline]
pub(super) fn locate(samples: usize, fps: f64, seconds: f64, repeats: Repeats) -> (usize, usize, f64) {
    let last = samples.saturating_sub(1);
    let at = seconds * fps;
    let at = if at.is_finite() { at } else { 0.0 };
    let (at, next) = match repeats {
        Repeats::Clamp => (at.clamp(0.0, last as f64), last),
        Repeats::Wrap => {
            let count = last as f64 + 1.0;
            let at = if (0.0..count).contains(&at) { at } else { at - (at / count).floor() * count };
            (at.clamp(0.0, count), 0)
        }
    };
    let left = at as usize;
    let part = at - left as f64;
    let after = |sample: usize| if sample < last { sample + 1 } else { next };
    // What is a sample but for rounding is that sample.
    if part > 1.0 - 1e-6 {
        let sample = after(left);
        return (sample, after(sample), 0.0);
    }
    // A time that equals the clip's length to the bit is its start.
    let left = if left > last { next } else { left };
    (left, after(left), if part < 1e-6 { 0.0 } else { part })
}
