//! A mesh in one frame, in the source and in the file.

use glam::DVec3;
use meshreel::MeshView;
use meshreel_scene::Mesh;
use std::borrow::Cow;

/// A mesh of the source in one frame.
pub(crate) struct SourceMesh<'a> {
    pub mesh: &'a Mesh,
    pub time: f64,
    pub points: Cow<'a, [[f32; 3]]>,
}

/// A mesh of the file in one frame.
pub(crate) struct DecodedMesh<'a> {
    pub view: MeshView<'a>,
    pub positions: Vec<f32>,
}

impl DecodedMesh<'_> {
    pub fn position(&self, v: usize) -> DVec3 {
        vector(&self.positions, v)
    }
}

pub(crate) fn vector(list: &[f32], v: usize) -> DVec3 {
    let [x, y, z] = [0, 1, 2].map(|k| f64::from(list[3 * v + k]));
    DVec3::new(x, y, z)
}
