//! The description of a clip's joints: the skeleton, the parts of each transform that move, and the sources
//! from which each component is predicted.

use crate::quantize::rotation::{self, Quaternion};
use crate::transform::Transform;

/// The number of what is not there: the parent of a joint without one.
pub const NO_INDEX: u32 = u32::MAX;
/// The largest number of joints.
pub const MAX_JOINTS: usize = 1 << 14;
/// The largest number of components that a component is predicted from.
pub const MAX_SOURCES: usize = 2;

/// The part of a skeleton that decoders need. All three lists have one entry per joint.
#[derive(Clone, Copy, Debug)]
pub struct Skeleton<'a> {
    /// The parent of each joint, a smaller number, or [`NO_INDEX`].
    pub parents: &'a [u32],
    /// The rest pose: local transforms, unit quaternions, finite.
    pub rest: &'a [Transform],
    /// The distance of the error metric's points from each joint, > 0 and finite.
    pub shell: &'a [f32],
}

impl Skeleton<'_> {
    /// Returns the parent of joint `j`.
    pub fn parent(&self, j: usize) -> Option<usize> {
        let parent = self.parents[j] as usize;
        (parent < j).then_some(parent)
    }

    /// Checks that parents stand before children, that everything is finite, that shell distances are
    /// positive, and that the lists have the same length.
    pub fn check(&self) -> Result<(), crate::Corrupt> {
        let n = self.parents.len();
        if n > MAX_JOINTS || self.rest.len() != n || self.shell.len() != n {
            return Err(crate::Corrupt("skeleton: wrong number of joints"));
        }
        let ordered = |(j, &p): (usize, &u32)| p == NO_INDEX || (p as usize) < j;
        if !self.parents.iter().enumerate().all(ordered) {
            return Err(crate::Corrupt("skeleton: a joint stands before its parent"));
        }
        let fits = |v: &f32| v.abs() <= 1e18;
        let sane = |t: &Transform| {
            let n: f32 = t.rotation.iter().map(|v| v * v).sum();
            (n - 1.0).abs() < 1e-3 && t.translation.iter().chain(&t.scale).all(fits)
        };
        if !self.rest.iter().all(sane) {
            return Err(crate::Corrupt(
                "skeleton: a rest pose that is not finite, or whose rotation is not of unit length",
            ));
        }
        if !self.shell.iter().all(|s| *s > 1e-18 && *s < 1e18) {
            return Err(crate::Corrupt("skeleton: a shell distance that is out of range"));
        }
        Ok(())
    }
}

/// A unit quaternion as its three smaller components with 21 bits each, and the index of the largest, which
/// is taken as positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SmallestThree {
    /// The index of the component that is left out, 0 … 3.
    pub largest: u8,
    /// The other components in order, ±2²⁰ for ±1/√2.
    pub parts: [i32; 3],
}

/// 2²⁰·√2.
const SMALLEST_THREE_SCALE: f64 = 1_048_576.0 * std::f64::consts::SQRT_2;

impl SmallestThree {
    /// Returns the nearest value to `q`, which must have unit length.
    pub fn new(q: [f64; 4]) -> SmallestThree {
        let largest = (0..4).fold(0, |best, i| if q[i].abs() > q[best].abs() { i } else { best });
        let sign = if q[largest] < 0.0 { -1.0 } else { 1.0 };
        let mut parts = [0; 3];
        for (part, i) in parts.iter_mut().zip((0..4).filter(|&i| i != largest)) {
            *part = (q[i] * sign * SMALLEST_THREE_SCALE).round().clamp(-1_048_576.0, 1_048_575.0) as i32;
        }
        SmallestThree { largest: largest as u8, parts }
    }

    /// Returns the quaternion x y z w.
    pub fn to_quaternion(self) -> [f64; 4] {
        let p = self.parts.map(|v| f64::from(v) / SMALLEST_THREE_SCALE);
        let rest = 1.0 - p[0] * p[0] - p[1] * p[1] - p[2] * p[2];
        let large = if rest > 0.0 { rest.sqrt() } else { 0.0 };
        let mut out = [0.0; 4];
        let mut parts = p.into_iter();
        for (i, v) in out.iter_mut().enumerate() {
            *v = match i == usize::from(self.largest) {
                true => large,
                false => parts.next().unwrap_or(0.0),
            };
        }
        let n = (out[0] * out[0] + out[1] * out[1] + out[2] * out[2] + out[3] * out[3]).sqrt();
        out.map(|v| v / n)
    }
}

/// A unit vector as a point of the octahedron, with coordinates within ±2²⁰.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RotationAxis {
    /// Both coordinates.
    pub parts: [i32; 2],
}

impl RotationAxis {
    /// Returns the nearest value to `v`, which must have unit length.
    pub fn new(v: [f64; 3]) -> RotationAxis {
        let n = v[0].abs() + v[1].abs() + v[2].abs();
        let [mut x, mut y] = [v[0] / n, v[1] / n];
        if v[2] < 0.0 {
            let sign = |v: f64| if v < 0.0 { -1.0 } else { 1.0 };
            (x, y) = ((1.0 - y.abs()) * sign(x), (1.0 - x.abs()) * sign(y));
        }
        RotationAxis {
            parts: [x, y].map(|v| (v * 1_048_575.0).round().clamp(-1_048_575.0, 1_048_575.0) as i32),
        }
    }

    /// Returns the vector x y z.
    pub fn to_vector(self) -> [f64; 3] {
        let [mut x, mut y] = self.parts.map(|v| f64::from(v) / 1_048_575.0);
        let z = 1.0 - x.abs() - y.abs();
        if z < 0.0 {
            let sign = |v: f64| if v < 0.0 { -1.0 } else { 1.0 };
            (x, y) = ((1.0 - y.abs()) * sign(x), (1.0 - x.abs()) * sign(y));
        }
        let n = (x * x + y * y + z * z).sqrt();
        [x / n, y / n, z / n]
    }
}

/// A rotation sub-track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotationSubTrack {
    /// The rotation of the rest pose.
    Default,
    /// A constant rotation.
    Constant(SmallestThree),
    /// `rest`, then a turn about `axis`: one component.
    Hinge {
        /// The rotation at angle 0.
        rest: SmallestThree,
        /// The axis, in the space after `rest`.
        axis: RotationAxis,
    },
    /// `rest`, then a turn about `first`, then one about `second`: two components.
    TwoAxes {
        /// The rotation at angles 0.
        rest: SmallestThree,
        /// The first axis, in the space after `rest`.
        first: RotationAxis,
        /// The second axis, in the space after the first turn.
        second: RotationAxis,
    },
    /// Any rotation: three components.
    Free,
}

impl RotationSubTrack {
    /// Returns the number of components per sample.
    pub fn components(&self) -> usize {
        match self {
            RotationSubTrack::Default | RotationSubTrack::Constant(_) => 0,
            RotationSubTrack::Hinge { .. } => 1,
            RotationSubTrack::TwoAxes { .. } => 2,
            RotationSubTrack::Free => 3,
        }
    }
}

/// A translation or scale sub-track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VectorSubTrack {
    /// The value of the rest pose.
    Default,
    /// A constant value.
    Constant([f32; 3]),
    /// Three components, relative to the rest pose.
    Animated,
}

/// An earlier component from which a component is predicted: `weight`/32 of its κ is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ComponentSource {
    /// The number of that component.
    pub component: u32,
    /// −63 … 63; 0 means no source.
    pub weight: i8,
}

/// The side information of a clip: everything but the residuals.
#[derive(Clone, Debug, PartialEq)]
pub struct ClipHeader {
    /// The number of samples, at least 1.
    pub samples: u32,
    /// Samples per second.
    pub fps: f64,
    /// Time of sample 0 in seconds.
    pub start: f64,
    /// The step of a translation; all other steps are derived from it.
    pub base: f32,
    /// The exponent η in 16ths, at most 15.
    pub spread: u8,
    /// The log2 of the number of intervals per segment, 1 … 7.
    pub segment_log2: u8,
    /// For each joint, −32 … 31: its steps are 2^(fine/2) times as fine. Empty if all are 0.
    pub fine: Vec<i8>,
    /// The rotation of each joint.
    pub rotations: Vec<RotationSubTrack>,
    /// The translation of each joint.
    pub translations: Vec<VectorSubTrack>,
    /// The scale of each joint.
    pub scales: Vec<VectorSubTrack>,
    /// The sources of each component.
    pub sources: Vec<[ComponentSource; MAX_SOURCES]>,
    /// For each component, the start of its adaptive means, 0 … 31.
    pub starts: Vec<u8>,
    /// Layers, tiers, and keys beyond the regular ones; empty in most clips.
    pub split: ClipSplit,
}

/// The layers and tiers of a clip, and its keys beyond the regular ones.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ClipSplit {
    /// The layer of each joint, at most that of its children and below [`super::layer::MAX_LAYERS`]; empty if
    /// there is one layer only. The steps of a joint are those that it has with all joints of other layers in
    /// the rest pose, so that a layer can be extracted.
    pub layers: Vec<u8>,
    /// The number of tiers after the first, below [`super::schedule::MAX_TIERS`].
    pub tiers: u8,
    /// The samples that are keys in addition to the regular ones, in rising order, between the first sample
    /// and the last.
    pub keys: Vec<u32>,
}

impl ClipHeader {
    /// Returns the header of one layer: all other joints are in the rest pose. `split.layers` must have one
    /// number per joint.
    pub fn layer_header(&self, layer: u8) -> ClipHeader {
        let own = |j: usize| self.split.layers.get(j) == Some(&layer);
        let mut header =
            ClipHeader { split: ClipSplit { layers: Vec::new(), ..self.split.clone() }, ..self.clone() };
        let kept = layer_components(self, layer);
        for j in (0..self.rotations.len()).filter(|&j| !own(j)) {
            header.rotations[j] = RotationSubTrack::Default;
            header.translations[j] = VectorSubTrack::Default;
            header.scales[j] = VectorSubTrack::Default;
        }
        // A source outside of the layer is dropped: a layer with such a source cannot be extracted.
        let moved = |s: &ComponentSource| ComponentSource {
            component: kept.binary_search(&(s.component as usize)).unwrap_or(0) as u32,
            weight: s.weight,
        };
        header.sources = (kept.iter().filter_map(|&c| self.sources.get(c)))
            .map(|sources| sources.each_ref().map(moved))
            .collect();
        header.starts = (kept.iter().filter_map(|&c| self.starts.get(c).copied())).collect();
        header
    }

    /// Returns the number of components of joint `j`: translation, rotation, scale.
    pub fn joint_components(&self, j: usize) -> usize {
        let vector = |v: &VectorSubTrack| if *v == VectorSubTrack::Animated { 3 } else { 0 };
        vector(&self.translations[j]) + self.rotations[j].components() + vector(&self.scales[j])
    }

    /// Returns the number of components per sample.
    pub fn components(&self) -> usize {
        let vector = |v: &VectorSubTrack| if *v == VectorSubTrack::Animated { 3 } else { 0 };
        self.rotations.iter().map(RotationSubTrack::components).sum::<usize>()
            + self.translations.iter().map(vector).sum::<usize>()
            + self.scales.iter().map(vector).sum::<usize>()
    }
}

/// Returns a rest rotation in 2⁻³⁰.
pub(crate) fn fixed_point_rotation(q: [f32; 4]) -> Quaternion {
    let one = f64::from(rotation::ONE);
    let q = q.map(|v| (f64::from(v) * one).round() as i64);
    let q = q.map(|v| v.clamp(-(1 << 30), 1 << 30) as i32);
    rotation::apply_turn(q, [0; 3])
}

/// Returns the components of the joints of `layer`, in rising order.
pub fn layer_components(header: &ClipHeader, layer: u8) -> Vec<usize> {
    let mut at = 0;
    let mut out = Vec::new();
    for j in 0..header.rotations.len() {
        let count = header.joint_components(j);
        if header.split.layers.get(j) == Some(&layer) {
            out.extend(at..at + count);
        }
        at += count;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn smallest_three_and_axes_are_near(v in any::<[i16; 4]>()) {
            let v = v.map(|v| f64::from(v) + 0.5);
            let n = v.iter().map(|v| v * v).sum::<f64>().sqrt();
            let q = v.map(|v| v / n);
            let back = SmallestThree::new(q).to_quaternion();
            let dot: f64 = (0..4).map(|i| q[i] * back[i]).sum();
            prop_assert!(2.0 * (1.0 - dot.abs()).max(0.0).sqrt() < 2e-6);
            let n = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
            let a = [v[0] / n, v[1] / n, v[2] / n];
            let back = RotationAxis::new(a).to_vector();
            let far: f64 = (0..3).map(|i| (a[i] - back[i]).powi(2)).sum();
            prop_assert!(far.sqrt() < 4e-6);
        }
    }
}
