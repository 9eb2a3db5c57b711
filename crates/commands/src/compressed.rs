//! Error bounds for a compressed glTF: the tolerance of positions of each mesh in its own space, chosen so
//! that they keep the file's tolerance in the world.

use crate::failure::Failure;
use crate::reels;
use meshreel::Reel;
use meshreel_options::{Distance, Tolerance};
use meshreel_scene::sample::{World, largest_scale, pose_at};
use meshreel_scene::{MeshId, Scene};
use meshreel_write::glb::{Compression, Extension};
use serde::Serialize;
use std::collections::HashMap;

/// The loss through compression.
#[derive(Debug, Clone, Serialize)]
pub struct CompressionLoss {
    /// The glTF extension.
    pub extension: &'static str,
    /// The largest distance of a compressed position from the decoded one, in the file's unit, in the world.
    pub error: f64,
    /// Path of the mesh with that error.
    pub error_mesh: String,
    /// The largest error as a fraction of its mesh's tolerance.
    pub share: f64,
}

/// The error bounds of all meshes.
pub(crate) struct ErrorBounds {
    /// Extension and tolerances, for the writer.
    pub compression: Compression,
    /// For each mesh, the largest scale from its own space to the world.
    scales: Vec<f64>,
}

impl ErrorBounds {
    /// Computes them for the meshes of a decoded scene. `asked` replaces the file's own tolerances.
    pub fn new(
        reel: &Reel,
        scene: &Scene,
        times: &[f64],
        extension: Extension,
        asked: Option<Distance>,
    ) -> Result<ErrorBounds, Failure> {
        let asked = match asked.map(|asked| asked.in_unit(scene.unit)).transpose() {
            Err(error) => return Err(Failure::usage(error.to_string())),
            Ok(Some(Tolerance::Relative(_))) => {
                let what = "--tolerance: of a compressed .glb it is a length, in the file's unit (0.5) or with its own (0.5mm)";
                return Err(Failure::usage(what));
            }
            Ok(Some(Tolerance::Absolute(length))) => Some(length),
            Ok(None) => None,
        };
        let records = reel.description().nodes.iter().filter(|node| node.tolerance > 0.0);
        let by_path: HashMap<&str, f64> = records.map(|node| (&node.path[..], node.tolerance)).collect();
        let least = by_path.values().copied().fold(f64::INFINITY, f64::min);
        let placed = scene.expand()?;
        let mut scales = vec![0f64; scene.meshes.len()];
        let mut world_tolerances = vec![f64::INFINITY; scene.meshes.len()];
        for object in &placed {
            let Some(mesh) = scene.nodes[object.node].mesh else { continue };
            let mut above = std::iter::successors(Some(object), |o| o.parent.map(|p| &placed[p]));
            // Parts written as nodes of their own hang below their mesh.
            let own = above.find_map(|object| by_path.get(&object.path[..]));
            let tolerance = asked.unwrap_or(own.copied().unwrap_or(least));
            world_tolerances[mesh] = world_tolerances[mesh].min(tolerance);
        }
        let mut world = World::new(scene, &placed)?;
        for &time in times {
            world.evaluate(time)?;
            for (matrix, object) in world.matrix.iter().zip(&placed) {
                if let Some(mesh) = scene.nodes[object.node].mesh {
                    scales[mesh] = scales[mesh].max(largest_scale(matrix));
                }
            }
        }
        for (mesh, scale) in scene.meshes.iter().zip(&mut scales) {
            let mut pose = Vec::new();
            let mut bones = 0f64;
            for &time in times.iter().filter(|_| mesh.skin.is_some()) {
                pose_at(mesh, time, &mut pose)?;
                bones = pose.iter().map(largest_scale).fold(bones, f64::max);
            }
            *scale *= if bones > 0.0 { bones } else { 1.0 };
        }
        let own = world_tolerances.iter().zip(&scales);
        let positions = own.map(|(tolerance, scale)| match tolerance.is_finite() && *scale > 0.0 {
            true => tolerance / scale,
            // A mesh that is placed nowhere, or scaled to a point.
            false => least.min(1.0),
        });
        let normals = reels::options(reel)?.normal_tolerance;
        Ok(ErrorBounds {
            compression: Compression {
                extension,
                position_tolerances: positions.collect(),
                normal_tolerance_degrees: normals,
            },
            scales,
        })
    }

    /// Returns the largest error of all, from the errors that the writer reports for each mesh.
    pub fn report(&self, scene: &Scene, errors: &[(MeshId, f64)]) -> CompressionLoss {
        let mut out = CompressionLoss {
            extension: self.compression.extension.name(),
            error: 0.0,
            error_mesh: String::new(),
            share: 0.0,
        };
        for &(mesh, error) in errors {
            let (world, share) =
                (error * self.scales[mesh], error / self.compression.position_tolerances[mesh]);
            out.share = out.share.max(share);
            if out.error_mesh.is_empty() || world > out.error {
                (out.error, out.error_mesh) = (world, scene.meshes[mesh].path.clone());
            }
        }
        out
    }
}
