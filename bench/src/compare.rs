//! Decodes a file and compares its points with those of the source, so that no figure is that of a broken
//! file. Meshes are compared in their own space, frame by frame: enough for inputs whose transforms are
//! constant.

use anyhow::{Context, bail};
use meshreel::{Limits, Reel};
use meshreel_extract::to_scene;
use meshreel_options::{MeshOverride, Options, Tolerance};
use meshreel_scene::{Mesh, Scene, sample};
use std::path::Path;

/// The result of a comparison.
#[derive(Debug, Clone, Copy, Default)]
pub struct MeshErrors {
    /// Largest distance of a decoded point from its source.
    pub max: f64,
    /// Diagonal of the mesh's bounds over all frames.
    pub diagonal: f64,
}

/// Compares the single mesh of `source` with the one in `file`.
pub fn compare(source: &Scene, file: &Path) -> anyhow::Result<MeshErrors> {
    let reel = Reel::open(file, &Limits::default())?;
    let decoded = to_scene(&reel)?;
    let ([source], [decoded]) = (&source.meshes[..], &decoded.meshes[..]) else {
        bail!("only files with one mesh are compared");
    };
    let mut errors = MeshErrors::default();
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    let (mut want, mut have) = (Vec::new(), Vec::new());
    for frame in 0..reel.frame_count() {
        sample::positions_at(source, reel.time(frame), &mut want)?;
        let i = frame.min(decoded.positions.len().saturating_sub(1));
        decoded.positions.read(i, &mut have)?;
        if want.len() != have.len() {
            bail!("frame {frame}: {} points instead of {}", have.len(), want.len());
        }
        for (want, have) in want.iter().zip(&have) {
            let square: f64 = (0..3).map(|k| (f64::from(want[k]) - f64::from(have[k])).powi(2)).sum();
            // A NaN counts as an error, and stays.
            if square.is_nan() || square.sqrt() > errors.max {
                errors.max = square.sqrt();
            }
            for k in 0..3 {
                low[k] = low[k].min(want[k]);
                high[k] = high[k].max(want[k]);
            }
        }
    }
    errors.diagonal = (0..3).map(|k| (f64::from(high[k]) - f64::from(low[k])).powi(2)).sum::<f64>().sqrt();
    (reel.frame_count() > 0).then_some(errors).context("the file has no frames")
}

/// Returns the options with a tolerance that is the fraction `part` of the diagonal of each mesh's bounds
/// over the whole animation, as in published tables; a percentage would refer to the bounds of single frames.
pub fn with_relative_tolerance(options: Options, scene: &Scene, part: f64) -> anyhow::Result<Options> {
    let mut out = Options { tolerance: Tolerance::Relative(part), ..options };
    for mesh in &scene.meshes {
        // A mesh without size is lossless in any case.
        let absolute = Some(part * whole_diagonal(mesh)?).filter(|t| *t > 0.0).map(Tolerance::Absolute);
        match (absolute, scene.meshes.len()) {
            (Some(absolute), 1) => out.tolerance = absolute,
            (tolerance, _) => out.meshes.push(MeshOverride {
                glob: mesh.path.clone(),
                tolerance,
                ..MeshOverride::default()
            }),
        }
    }
    Ok(out)
}

/// Returns the diagonal of the bounds of a mesh over all its samples.
pub fn whole_diagonal(mesh: &Mesh) -> anyhow::Result<f64> {
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    let mut points = Vec::new();
    for i in 0..mesh.positions.len() {
        mesh.positions.read(i, &mut points)?;
        for point in &points {
            for k in 0..3 {
                (low[k], high[k]) = (low[k].min(point[k]), high[k].max(point[k]));
            }
        }
    }
    Ok((0..3).map(|k| (f64::from(high[k]) - f64::from(low[k])).powi(2)).sum::<f64>().sqrt())
}
