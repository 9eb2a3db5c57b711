//! The distance between two poses: the largest distance of three points at the shell distance of each joint,
//! in object space.

use super::report::beyond;
use glam::{DAffine3, DVec3};
use meshreel::Transform;
use meshreel_extract::convert;
use meshreel_scene::Qvv;

/// Source and decoded pose in object space, and the largest error of each joint so far.
pub(super) struct Metric {
    pub parents: Vec<Option<usize>>,
    pub shells: Vec<f64>,
    /// Largest coordinate of any joint's origin in the source.
    extent: f64,
    pub reference: Vec<DAffine3>,
    pub decoded: Vec<DAffine3>,
    worst: Vec<f64>,
}

impl Metric {
    pub fn new(skeleton: &meshreel_scene::Skeleton, shells: Vec<f64>) -> Metric {
        Metric {
            parents: skeleton.joints.iter().map(|j| j.parent).collect(),
            worst: vec![0.0; shells.len()],
            shells,
            extent: 0.0,
            reference: Vec::new(),
            decoded: Vec::new(),
        }
    }

    pub(super) fn measure(&mut self, local: &[Qvv], pose: &[Transform]) {
        convert::object_space(self.parents.iter().copied(), local.iter().copied(), &mut self.reference);
        convert::object_space(self.parents.iter().copied(), pose.iter().map(convert::qvv), &mut self.decoded);
        let joints = self.reference.iter().zip(&self.decoded).zip(&self.shells);
        for (((a, b), shell), worst) in joints.zip(&mut self.worst) {
            self.extent = self.extent.max(a.translation.abs().max_element());
            for axis in DVec3::AXES {
                let error = a.transform_point3(axis * *shell).distance(b.transform_point3(axis * *shell));
                if beyond(error, *worst) {
                    *worst = error;
                }
            }
        }
    }

    /// Returns the precision of f32 at the largest coordinate so far.
    pub(super) fn f32_precision(&self) -> f64 {
        self.extent * 4.0 / f64::from(1u32 << 24)
    }

    /// Returns the largest error of each joint since the last call.
    pub(super) fn take_errors(&mut self) -> Vec<f64> {
        let fresh = vec![0.0; self.worst.len()];
        std::mem::replace(&mut self.worst, fresh)
    }

    /// Returns the largest error, and the largest as a fraction of its joint's limit, and resets both.
    pub fn take_largest(&mut self, limits: &[f64]) -> (f64, f64) {
        let larger = |most: f64, v: f64| if beyond(v, most) { v } else { most };
        let parts = self.worst.iter().zip(limits).map(|(error, limit)| error / limit);
        let found = (self.worst.iter().copied().fold(0.0, larger), parts.fold(0.0, larger));
        self.worst.fill(0.0);
        found
    }
}
