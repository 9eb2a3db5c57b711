//! The comparison of an extracted file with its `.reel`: data that is the same in all frames, locators and
//! lenses.

use super::geometry;
use super::report::{Expectations, ExtractedFindings};
use crate::verify::report::{Failures, beyond};
use meshreel::time::FramePair;
use meshreel::{FrameDecoder, Reel};
use meshreel_extract::convert;
use meshreel_extract::convert::error;
use meshreel_extract::convert::ulp;
use meshreel_scene::sample::{World, lens_at};
use meshreel_scene::{Error, PlacedObject, Scene};

/// `true` if the format of an extracted file holds nodes without meshes.
pub(super) fn holds_nodes(scene: &Scene) -> bool {
    scene.format.starts_with("alembic") || matches!(scene.format, "gltf" | "usd")
}

/// `true` if the scene was read from .obj files, which have no fourth component of a colour.
pub(super) fn is_obj(scene: &Scene) -> bool {
    scene.format.starts_with("obj")
}

/// Both sides, and data that is the same in all frames.
pub(super) struct ReelComparison<'a> {
    pub scene: &'a Scene,
    pub reel: &'a Reel,
    pub placed: &'a [PlacedObject],
    pub expected: &'a Expectations,
    pub factor: f64,
    /// For each frame, its time in the extracted file.
    pub times: Vec<Option<f64>>,
    /// For each mesh of the `.reel`, the triangles of the LOD level; `None`: all of the frame's.
    pub lod_triangles: Vec<Option<Vec<u32>>>,
    /// For each mesh of the `.reel`, whether its normals are others in the extracted file
    /// ([`geometry::FormatContents`]).
    pub other_normals: Vec<bool>,
    /// For each mesh of the extracted file, whether its points are only within the tolerance: where those of
    /// the `.reel` move, and everywhere.
    pub loose: Vec<[bool; 2]>,
    /// Meshes of the `.reel` that have a rig.
    pub rigged: Vec<usize>,
    /// Rigged meshes are moved by clips only, whatever the frames show.
    pub rig_only: bool,
}

impl ReelComparison<'_> {
    /// `true` if a node of the `.reel` shows a mesh that has a rig.
    pub fn has_rig(&self, node: usize) -> bool {
        let mesh = self.reel.description().nodes[node].mesh;
        mesh.is_some_and(|mesh| self.rigged.contains(&(mesh as usize)))
    }

    /// `true` if a node of the `.reel` is moved by clips only, so that frames do not show it.
    pub fn is_moved_by_clips(&self, node: usize) -> bool {
        self.rig_only && self.has_rig(node)
    }

    /// `true` if a placed object of the extracted file is moved by joints only, so that frames do not show
    /// it.
    pub fn is_on_joints_alone(&self, placed: usize) -> bool {
        let mesh = self.scene.nodes[self.placed[placed].node].mesh;
        self.rig_only && mesh.is_some_and(|mesh| self.scene.meshes[mesh].skin.is_some())
    }

    /// Compares locators, by name or, if that was changed, with any that fits.
    pub fn locators(
        &self,
        frame: usize,
        decoder: &FrameDecoder,
        world: &World<'_>,
        found: &mut ExtractedFindings,
    ) {
        // A glTF of nodes alone is read as a skeleton, whose clips are compared.
        if self.placed.is_empty() && !self.scene.skeletons.is_empty() {
            return;
        }
        let nodes = &self.reel.description().nodes;
        let mut count = 0;
        for (n, node) in nodes.iter().enumerate().filter(|(_, node)| node.reach > 0.0) {
            count += 1;
            let own = convert::affine(&decoder.world(n));
            let corner = |k: usize| {
                let side = |axis: usize| f64::from(node.reach) * if k >> axis & 1 == 1 { 1.0 } else { -1.0 };
                glam::DVec3::new(side(0), side(1), side(2))
            };
            let off = |p: usize| {
                let scaled = glam::DMat4::from_scale(glam::DVec3::splat(self.factor)) * world.matrix[p];
                let distance =
                    |k| (scaled.transform_point3(corner(k)) - own.transform_point3(corner(k))).length();
                (0..8).map(distance).fold(0.0, f64::max)
            };
            let name = node.path.rsplit('/').next().unwrap_or_default();
            let named = |p: &usize| self.placed[*p].path.rsplit('/').next() == Some(name);
            let least = |all: &mut dyn Iterator<Item = usize>| all.map(&off).fold(f64::INFINITY, f64::min);
            let by_name = least(&mut (0..self.placed.len()).filter(named));
            let limit = geometry::float_limit(self.reel, decoder, n, f64::from(node.reach));
            let distance = match beyond(by_name, limit) {
                true => least(&mut (0..self.placed.len())),
                false => by_name,
            };
            found.report.locator_max_error = found.report.locator_max_error.max(distance);
            if beyond(distance, limit) {
                let what = format!("no node is where this one is: {distance:e} off, {limit:e} is allowed");
                found.failures.add(&node.path, Some(frame), || what);
            }
        }
        found.report.locators = count;
    }

    /// Compares the lenses of cameras; returns their number. A glTF has those of the first frame.
    pub fn cameras(&self, failures: &mut Failures) -> Result<usize, Error> {
        let mut count = 0;
        if self.scene.format == "gltf" {
            return Ok(0);
        }
        for camera in self.reel.cameras().map_err(error)? {
            let name = camera.path().rsplit('/').next().unwrap_or_default();
            let lenses = self.placed.iter().filter(|p| p.path.rsplit('/').next() == Some(name));
            let mut lenses = lenses.filter_map(|p| self.scene.nodes[p.node].camera.as_ref());
            let Some(there) = lenses.next() else {
                failures.add(camera.path(), None, || "the camera was not extracted".into());
                continue;
            };
            count += 1;
            for (frame, time) in self.times.iter().enumerate() {
                let Some(time) = *time else { continue };
                let Some(right) = lens_at(there, time)? else { continue };
                let own = convert::lens(&camera.lens(FramePair::single(frame as u32))).tracks();
                let pairs = own.as_flattened().iter().zip(right.tracks().as_flattened().to_vec());
                if let Some((a, b)) = pairs.into_iter().find(|(a, b)| (**a - b).abs() > 8.0 * ulp(a.abs())) {
                    failures
                        .add(camera.path(), Some(frame), || format!("its lens has {a}, {b} was extracted"));
                    break;
                }
            }
        }
        Ok(count)
    }
}
