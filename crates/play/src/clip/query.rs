//! Queries to a clip: a time, how samples around it are used, and which joints are wanted.

use crate::setters::setters;
use meshreel_codec::clip::random_access::InterpolationWeights;
use meshreel_codec::clip::record::SkeletonRecord;

pub use meshreel_codec::clip::random_access::Rounding;

/// The treatment of times outside the clip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeats {
    /// The first or last sample is held.
    Clamp,
    /// The clip starts over; its last sample is followed by its first.
    Wrap,
}

/// A time in a clip, how samples around it are used, and the joints that are wanted.
///
/// ```
/// use meshreel::clip::{Mask, Query, Rounding};
///
/// let hands = Mask::from_joints(31, [12, 13, 19, 20]);
/// let query = Query::new(1.25).wrapped().with_rounding(Rounding::Nearest).with_mask(&hands);
/// assert_eq!(query.seconds, 1.25);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[must_use]
pub struct Query<'a> {
    /// Seconds after the first sample.
    pub seconds: f64,
    /// The treatment of times outside the clip.
    pub repeats: Repeats,
    /// The treatment of times between samples.
    pub rounding: Rounding,
    /// The treatment of times between samples for each joint; `rounding` applies to joints beyond the end of
    /// the list.
    pub roundings: &'a [Rounding],
    /// The joints that are wanted; all if `None`. The transforms of other joints are not changed.
    pub mask: Option<&'a Mask>,
}

impl<'a> Query<'a> {
    /// Returns a query for all joints, interpolated, clamped to the clip.
    pub fn new(seconds: f64) -> Query<'a> {
        Query { seconds, repeats: Repeats::Clamp, rounding: Rounding::None, roundings: &[], mask: None }
    }

    /// Makes the clip repeat: [`Query::repeats`] is [`Repeats::Wrap`].
    pub fn wrapped(self) -> Query<'a> {
        self.with_repeats(Repeats::Wrap)
    }

    setters! {
        with_repeats(repeats: Repeats);
        with_rounding(rounding: Rounding);
        with_roundings(roundings: &'a [Rounding]);
    }

    /// Sets [`Query::mask`].
    pub fn with_mask(self, mask: &'a Mask) -> Query<'a> {
        Query { mask: Some(mask), ..self }
    }

    /// `true` if joint `j` is wanted.
    #[inline]
    pub(super) fn wants(&self, j: usize) -> bool {
        self.mask.is_none_or(|mask| mask.contains(j))
    }

    /// Returns how joint `j` is rounded.
    pub(super) fn rounding_of(&self, j: usize) -> Rounding {
        self.roundings.get(j).copied().unwrap_or(self.rounding)
    }

    /// Returns every rounding that some joint may have, once each.
    pub(super) fn all_roundings(&self) -> impl Iterator<Item = Rounding> + use<'a> {
        let (own, each) = (self.rounding, self.roundings);
        let all = [Rounding::None, Rounding::Floor, Rounding::Ceil, Rounding::Nearest];
        all.into_iter().filter(move |r| *r == own || each.contains(r))
    }

    /// Returns the samples around the time, and the interpolation weights between them.
    #[inline]
    pub(super) fn locate(&self, samples: usize, fps: f64) -> (usize, usize, InterpolationWeights<'a>) {
        let (left, right, part) = locate(samples, fps, self.seconds, self.repeats);
        let (part, rounding, roundings) = (part as f32, self.rounding, self.roundings);
        let weights = InterpolationWeights { part, rounding, roundings, stepped: &[] };
        match weights.uniform() {
            Some(0.0) => (left, left, weights),
            Some(1.0) => (right, right, InterpolationWeights { part: 0.0, ..weights }),
            _ => (left, right, weights),
        }
    }
}

/// A set of a skeleton's joints.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Mask {
    joints: Vec<bool>,
}

impl Mask {
    /// Returns the set of all of `joints` joints.
    pub fn all(joints: usize) -> Mask {
        Mask { joints: vec![true; joints] }
    }

    /// Returns the set of the given joints, among `joints`; numbers beyond them are ignored.
    pub fn from_joints(joints: usize, these: impl IntoIterator<Item = usize>) -> Mask {
        let mut mask = Mask { joints: vec![false; joints] };
        for j in these {
            mask.set(j, true);
        }
        mask
    }

    /// Returns the first `count` joints of an order such as [`importance`]'s: those that a character needs
    /// that is small on the screen.
    pub fn most_important(order: &[u32], count: usize) -> Mask {
        let these = order.iter().take(count).map(|j| *j as usize);
        Mask::from_joints(order.len(), these)
    }

    /// Adds the parents of all its joints, so that object-space matrices can be computed.
    pub fn with_parents(mut self, parents: &[u32]) -> Mask {
        for j in (0..self.joints.len().min(parents.len())).rev() {
            if self.joints[j] {
                self.set(parents[j] as usize, true);
            }
        }
        self
    }

    /// `true` if joint `j` is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, j: usize) -> bool {
        self.joints.get(j).copied().unwrap_or(false)
    }

    /// Adds or removes joint `j`.
    pub fn set(&mut self, j: usize, wanted: bool) {
        if let Some(joint) = self.joints.get_mut(j) {
            *joint = wanted;
        }
    }

    /// Returns the number of joints in the set.
    #[must_use]
    pub fn count(&self) -> usize {
        self.joints.iter().filter(|wanted| **wanted).count()
    }
}

/// Returns all joints of a skeleton, the most important first, a parent always before its children. The
/// importance is the sum of the distances along the bones to everything that the joint moves: joints and
/// points at the shell distance.
pub fn importance(skeleton: &SkeletonRecord) -> Vec<u32> {
    let n = skeleton.parents.len();
    // Each joint has three points of its own.
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

/// Returns the samples around a time, and the position between them.
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
    // A time that differs from a sample's by rounding only is that sample's.
    if part > 1.0 - 1e-6 {
        let sample = after(left);
        return (sample, after(sample), 0.0);
    }
    // A time that equals the clip's length exactly is its start.
    let left = if left > last { next } else { left };
    (left, after(left), if part < 1e-6 { 0.0 } else { part })
}
