//! Skeletons and clips: sets of transform tracks, sampled uniformly. Terms are ACL's: a *clip* has one *track* per joint,
//! a track has the *sub-tracks* rotation, translation and scale.
//!
//! Local transforms act on column vectors: rotation · scale, then translation; object space = parent's · local.

use glam::{DAffine3, DQuat, DVec3, DVec4};

/// Largest number of joints of a skeleton: a joint's number fits 14 bits.
pub const MAX_JOINTS: usize = 1 << 14;

/// A rigid transform with scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Qvv {
    /// Unit quaternion.
    pub rotation: DQuat,
    /// In the unit of the scene.
    pub translation: DVec3,
    /// Per axis, before the rotation.
    pub scale: DVec3,
}

impl Default for Qvv {
    fn default() -> Self {
        Qvv::IDENTITY
    }
}

impl Qvv {
    /// Changes nothing.
    pub const IDENTITY: Qvv = Qvv {
        rotation: DQuat::IDENTITY,
        translation: DVec3::ZERO,
        scale: DVec3::ONE,
    };

    /// As a matrix.
    pub fn matrix(&self) -> DAffine3 {
        DAffine3::from_scale_rotation_translation(self.scale, self.rotation, self.translation)
    }
}

/// A joint of a skeleton.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joint {
    /// Name as in the file; need not be unique.
    pub name: String,
    /// Number of the parent, smaller than the joint's own; `None` for a root, of which there may be several.
    pub parent: Option<usize>,
    /// The default pose: local transform where no clip says anything.
    pub rest: Qvv,
    /// Distance of the three virtual points of the error metric from the joint, where it is not the usual one.
    pub shell: Option<f64>,
    /// Ends of the chain without a joint of their own, in the joint's space (BVH's end sites). Only for writing back.
    pub ends: Vec<DVec3>,
    /// Name of the layer that the file puts it in (glTF: the node's extras `layer`); `None` where it says nothing.
    pub layer: Option<String>,
    /// How much more than its geometry says the file wants it to matter where joints are told apart by importance
    /// (glTF: extras `bias`), finite; `None` where it says nothing.
    pub bias: Option<f64>,
}

/// Joints, parents before children.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skeleton {
    /// Name, the file's where it has none.
    pub name: String,
    /// At most [`MAX_JOINTS`].
    pub joints: Vec<Joint>,
}

/// One sub-track: a value per sample, or one for all.
#[derive(Clone, Debug, PartialEq)]
pub struct SubTrack<T>(Vec<T>);

impl<T: Copy + PartialEq> SubTrack<T> {
    /// Of all samples; equal ones are kept once. `None` without samples.
    pub fn new(mut samples: Vec<T>) -> Option<SubTrack<T>> {
        let first = *samples.first()?;
        if samples.iter().all(|value| *value == first) {
            samples.truncate(1);
        }
        Some(SubTrack(samples))
    }

    /// The same always.
    pub fn constant(value: T) -> SubTrack<T> {
        SubTrack(vec![value])
    }

    /// Sample `i`; beyond the last one the last.
    pub fn at(&self, i: usize) -> T {
        self.0[i.min(self.0.len() - 1)]
    }

    /// True where all samples are one value.
    pub fn is_constant(&self) -> bool {
        self.0.len() == 1
    }
}

/// What one joint does.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Unit quaternions; the sign means nothing.
    pub rotation: SubTrack<DQuat>,
    /// In the unit of the scene.
    pub translation: SubTrack<DVec3>,
    /// Per axis.
    pub scale: SubTrack<DVec3>,
}

impl Track {
    /// Stands still.
    pub fn constant(value: Qvv) -> Track {
        Track {
            rotation: SubTrack::constant(value.rotation),
            translation: SubTrack::constant(value.translation),
            scale: SubTrack::constant(value.scale),
        }
    }

    /// The local transform of sample `i`.
    pub fn at(&self, i: usize) -> Qvv {
        Qvv {
            rotation: self.rotation.at(i),
            translation: self.translation.at(i),
            scale: self.scale.at(i),
        }
    }
}

/// Numbers beside the joints, such as weights of morph targets: 1 … 4 per sample.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarTrack {
    /// Name as in the file.
    pub name: String,
    /// How many numbers a sample has, 1 … 4.
    pub components: usize,
    /// One per sample of the clip; components beyond the number are 0.
    pub values: SubTrack<DVec4>,
}

/// Something that happens at a time: a foot comes down, a sound starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// Name as in the file; need not be unique.
    pub name: String,
    /// In seconds, on the same axis as [`Clip::start`]; may lie outside of the clip.
    pub time: f64,
}

/// Uniform samples of all joints of a skeleton.
#[derive(Clone, Debug, PartialEq)]
pub struct Clip {
    /// Name, the file's where it has none.
    pub name: String,
    /// Index into [`crate::Scene::skeletons`].
    pub skeleton: usize,
    /// Time of sample 0, in seconds.
    pub start: f64,
    /// Samples per second, finite and > 0.
    pub fps: f64,
    /// Number of samples, at least 1.
    pub samples: usize,
    /// One per joint, in the skeleton's order.
    pub tracks: Vec<Track>,
    /// Sampled like the joints.
    pub scalars: Vec<ScalarTrack>,
    /// In the order of time.
    pub markers: Vec<Marker>,
}

impl Clip {
    /// From first to last sample, in seconds.
    pub fn duration(&self) -> f64 {
        (self.samples - 1) as f64 / self.fps
    }

    /// 40 bytes per joint and sample: what the figures of this field call raw.
    pub fn raw_bytes(&self) -> u64 {
        40 * self.tracks.len() as u64 * self.samples as u64
    }

    /// All local transforms at sample `i`, one per joint.
    pub fn pose(&self, i: usize, out: &mut Vec<Qvv>) {
        out.clear();
        out.extend(self.tracks.iter().map(|track| track.at(i)));
    }

    /// All local transforms half-way between samples `i` and `i + 1`: slerp and lerp.
    pub fn middle(&self, i: usize, out: &mut Vec<Qvv>) {
        out.clear();
        out.extend(self.tracks.iter().map(|track| {
            let (a, b) = (track.at(i), track.at(i + 1));
            Qvv {
                rotation: a.rotation.slerp(b.rotation, 0.5),
                translation: (a.translation + b.translation) * 0.5,
                scale: (a.scale + b.scale) * 0.5,
            }
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_samples_are_kept_once() {
        let still = SubTrack::new(vec![DVec3::ONE; 5]).unwrap();
        assert!(still.is_constant());
        assert_eq!(still.at(4), DVec3::ONE);
        let moving = SubTrack::new(vec![DVec3::ONE, DVec3::ZERO]).unwrap();
        assert!(!moving.is_constant());
        assert_eq!((moving.at(1), moving.at(9)), (DVec3::ZERO, DVec3::ZERO));
        assert!(SubTrack::<DVec3>::new(Vec::new()).is_none());
    }
}
