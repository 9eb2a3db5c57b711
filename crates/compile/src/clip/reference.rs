//! The source in the encoder's form: local and object-space transforms of all joints and samples, in f64.

use glam::{DMat3, DQuat, DVec3};
use meshreel_codec::clip::{NO_INDEX, Skeleton};
use meshreel_codec::transform::Transform;
use meshreel_process::Cancellation;
use meshreel_scene as scene;

/// A transform in object space: the matrix, and the rotation alone, which equals the matrix if nothing is
/// scaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectTransform {
    pub rotation: DQuat,
    pub matrix: DMat3,
    pub origin: DVec3,
}

impl ObjectTransform {
    pub const IDENTITY: ObjectTransform =
        ObjectTransform { rotation: DQuat::IDENTITY, matrix: DMat3::IDENTITY, origin: DVec3::ZERO };

    /// Returns the object-space transform of a child with this local transform.
    pub fn child(&self, local: &scene::Qvv, scaled: bool) -> ObjectTransform {
        let rotation = self.rotation * local.rotation;
        let matrix = match scaled {
            true => self.matrix * DMat3::from_quat(local.rotation) * DMat3::from_diagonal(local.scale),
            false => DMat3::from_quat(rotation),
        };
        ObjectTransform { rotation, matrix, origin: self.matrix * local.translation + self.origin }
    }

    /// Returns the matrix from object space to the joint's own space, as far as its scale can be inverted.
    pub fn own_space(&self, scaled: bool) -> DMat3 {
        let m = &self.matrix;
        let volume = m.x_axis.length() * m.y_axis.length() * m.z_axis.length();
        match scaled {
            // Relative to the product of three scales: a matrix that is small in all of them can be inverted.
            true if volume > 0.0 && m.determinant().abs() > 1e-9 * volume => m.inverse(),
            true => DMat3::from_quat(self.rotation).transpose(),
            false => m.transpose(),
        }
    }

    /// Returns the square of the largest distance of the three points of the error metric.
    pub fn distance_squared(&self, other: &ObjectTransform, shell: f64) -> f64 {
        let origin = self.origin - other.origin;
        let m = self.matrix - other.matrix;
        let at = |axis: DVec3| (origin + axis * shell).length_squared();
        at(m.x_axis).max(at(m.y_axis)).max(at(m.z_axis))
    }
}

/// The fraction of a joint's error that its parent must account for.
const PARENT_ERROR_FRACTION: f64 = 0.7;

/// A skeleton's arrays, in the codec's form.
#[derive(Clone, Debug, Default)]
pub struct Joints {
    /// Parents, or the codec's `NO_INDEX`.
    pub parents: Vec<u32>,
    /// Transforms of the rest pose.
    pub rest: Vec<Transform>,
    /// Shell distances, in units of length.
    pub shell: Vec<f32>,
    /// The general tolerance divided by each joint's own: the factor of an error. Empty if all are 1.
    pub weight: Vec<f64>,
    /// The factor by which scales above a joint enlarge an error of its local transform in object space;
    /// empty where nothing is scaled.
    pub enlarged: Vec<f64>,
}

impl Joints {
    /// Creates the arrays. Rest poses are rounded to f32; joints without a shell distance get `shell`. All
    /// weights are 1.
    pub fn new(skeleton: &scene::Skeleton, shell: f64) -> Joints {
        let joints = &skeleton.joints;
        Joints {
            parents: joints.iter().map(|j| j.parent.map_or(NO_INDEX, |p| p as u32)).collect(),
            rest: joints.iter().map(|j| narrow(&j.rest)).collect(),
            shell: joints.iter().map(|j| j.shell.unwrap_or(shell) as f32).collect(),
            weight: Vec::new(),
            enlarged: Vec::new(),
        }
    }

    /// Adds the scale of joints in all samples: errors of their transforms are scaled with them.
    pub fn add_scales(&mut self, reference: &Reference) {
        if !reference.scaled {
            return;
        }
        let own = |j: usize| {
            let scale = |i: usize| {
                let m = &reference.object(i, j).matrix;
                let longest = m.x_axis.length_squared().max(m.y_axis.length_squared());
                longest.max(m.z_axis.length_squared()).sqrt()
            };
            (0..reference.samples).map(scale).fold(0.0, f64::max)
        };
        let own: Vec<f64> = (0..reference.joints).map(own).collect();
        // A joint's rotation moves its descendants; its translation moves it in its parent's space.
        let parent = |j: usize| own.get(self.parents[j] as usize).copied().unwrap_or(1.0);
        self.enlarged = (0..reference.joints).map(|j| own[j].max(parent(j))).collect();
    }

    /// Gives joints tolerances of their own, 0 for the general one; `least` is the smallest that f32 can
    /// hold.
    pub fn set_tolerances(&mut self, own: &[f64], tolerance: f64, least: f64) {
        if own.iter().any(|t| *t > 0.0) {
            let weight = |t: &f64| match *t > 0.0 {
                true => tolerance / t.max(least),
                false => 1.0,
            };
            self.weight = own.iter().map(weight).collect();
        }
    }

    /// Returns the factor of a joint's error before it is compared with the general tolerance.
    pub fn weight(&self, j: usize) -> f64 {
        self.weight.get(j).copied().unwrap_or(1.0)
    }

    /// Returns how much finer than usual the steps of each joint are, in half octaves: by its own tolerance,
    /// nearly as much for its ancestors, whose errors contribute to its own; and by its scale.
    pub fn step_refinements(&self) -> Vec<i8> {
        let mut weight = self.weight.clone();
        if weight.is_empty() && !self.enlarged.is_empty() {
            weight = vec![1.0; self.enlarged.len()];
        }
        for j in (0..weight.len()).rev() {
            let parent = self.parents[j] as usize;
            if parent < j {
                weight[parent] = weight[parent].max(weight[j] * PARENT_ERROR_FRACTION);
            }
        }
        for (weight, enlarged) in weight.iter_mut().zip(&self.enlarged) {
            *weight *= enlarged;
        }
        let steps = |w: &f64| (2.0 * w.log2()).round().clamp(-32.0, 31.0) as i8;
        let steps: Vec<i8> = weight.iter().map(steps).collect();
        // Scales near 1 need no entry.
        match self.weight.is_empty() && steps.iter().all(|s| *s == 0) {
            true => Vec::new(),
            false => steps,
        }
    }

    /// Returns these arrays as the codec's skeleton.
    pub fn skeleton(&self) -> Skeleton<'_> {
        Skeleton { parents: &self.parents, rest: &self.rest, shell: &self.shell }
    }
}

/// Returns a transform rounded to f32.
pub fn narrow(q: &scene::Qvv) -> Transform {
    Transform {
        rotation: q.rotation.to_array().map(|v| v as f32),
        translation: q.translation.to_array().map(|v| v as f32),
        scale: q.scale.to_array().map(|v| v as f32),
    }
}

/// Returns a transform in f64, its rotation renormalized.
pub fn widen(t: &Transform) -> scene::Qvv {
    scene::Qvv {
        rotation: quaternion(t.rotation),
        translation: DVec3::from_array(t.translation.map(f64::from)),
        scale: DVec3::from_array(t.scale.map(f64::from)),
    }
}

/// Returns a quaternion in f64, renormalized.
pub fn quaternion(q: [f32; 4]) -> DQuat {
    DQuat::from_array(q.map(f64::from)).normalize()
}

/// The source clip that decoded poses are compared with: transforms of all joints at all samples.
pub struct Reference {
    pub joints: usize,
    pub samples: usize,
    /// `true` if some scale is not 1.
    pub scaled: bool,
    pub local: Vec<scene::Qvv>,
    pub object: Vec<ObjectTransform>,
    /// Cancels the search.
    pub cancellation: Cancellation,
}

impl Reference {
    /// Evaluates `clip`, which must fit its skeleton.
    pub fn new(skeleton: &scene::Skeleton, clip: &scene::Clip, cancellation: &Cancellation) -> Reference {
        let joints = skeleton.joints.len();
        let mut local = Vec::with_capacity(joints * clip.samples);
        let mut object: Vec<ObjectTransform> = Vec::with_capacity(joints * clip.samples);
        let unit = |t: &scene::Track| t.scale.is_constant() && t.scale.sample(0) == DVec3::ONE;
        let still = |j: &scene::Joint| j.rest.scale == DVec3::ONE;
        let scaled = !(clip.tracks.iter().all(unit) && skeleton.joints.iter().all(still));
        for i in 0..clip.samples {
            let base = i * joints;
            for (track, joint) in clip.tracks.iter().zip(&skeleton.joints) {
                let value = track.transform(i);
                let parent = joint.parent.map_or(ObjectTransform::IDENTITY, |p| object[base + p]);
                object.push(parent.child(&value, scaled));
                local.push(value);
            }
        }
        let cancellation = cancellation.clone();
        Reference { joints, samples: clip.samples, scaled, local, object, cancellation }
    }

    pub fn local(&self, sample: usize, joint: usize) -> &scene::Qvv {
        &self.local[sample * self.joints + joint]
    }

    pub fn object(&self, sample: usize, joint: usize) -> &ObjectTransform {
        &self.object[sample * self.joints + joint]
    }

    /// Returns the square of the largest weighted error of a decoded pose of a sample; NaN if any part of it
    /// is. `object` is scratch space of one entry per joint.
    pub fn error_squared(
        &self,
        sample: usize,
        joints: &Joints,
        pose: &[Transform],
        object: &mut [ObjectTransform],
    ) -> f64 {
        let skeleton = joints.skeleton();
        let mut worst: f64 = 0.0;
        for (j, local) in pose.iter().enumerate() {
            let parent = skeleton.parent(j).map_or(ObjectTransform::IDENTITY, |p| object[p]);
            object[j] = parent.child(&widen(local), self.scaled);
            let shell = f64::from(joints.shell[j]);
            let square = object[j].distance_squared(self.object(sample, j), shell);
            worst = larger_error(worst, square * joints.weight(j) * joints.weight(j));
        }
        worst
    }

    /// Returns the smallest tolerance that f32 can hold: four units in the last place of the largest
    /// coordinate.
    pub fn min_tolerance(&self) -> f64 {
        self.extent() * 4.0 / f64::from(1u32 << 24)
    }

    /// Returns the largest coordinate of any origin.
    pub fn extent(&self) -> f64 {
        let far = |o: &ObjectTransform| o.origin.abs().max_element();
        self.object.iter().map(far).fold(0.0, f64::max)
    }
}

/// Returns the larger error; a NaN is kept, unlike in a maximum.
pub fn larger_error(a: f64, b: f64) -> f64 {
    if b <= a { a } else { b }
}
