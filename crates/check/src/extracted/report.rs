//! Expectations of an extracted file, and the report of a comparison.

use super::clips::ExtractedClip;
use super::geometry::AttributeKind;
use crate::verify::Failure;
use crate::verify::report::{Failures, beyond};
use serde::Serialize;

/// Expectations of an extracted file, besides its format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Expectations {
    /// Allowed distance of a point, in the `.reel`'s unit. `None`: the precision of f32; for skins, for parts
    /// moved by nodes and for quantized files, the mesh's own tolerance; for rigs twice that, since they are
    /// as far from the source as the frames on the other side may be.
    pub tolerance: Option<f64>,
    /// The LOD level that was extracted.
    pub lod_level: usize,
}

/// The outcome of [`compare`](super::compare).
#[derive(Debug, Clone, Default, Serialize)]
pub struct ExtractedReport {
    /// Nothing failed.
    pub ok: bool,
    /// Number of frames of the `.reel`.
    pub frames: usize,
    /// Number of vertices compared, in all frames together.
    pub vertices: u64,
    /// Number of triangles compared, in all frames together.
    pub faces: u64,
    /// The largest distance, in the `.reel`'s unit.
    pub max_error: f64,
    /// The largest distance as a fraction of its limit.
    #[serde(rename = "share")]
    pub limit_fraction: f64,
    /// The node with that distance.
    pub worst: String,
    /// The frame with that distance.
    pub worst_frame: usize,
    /// The largest angle between normals, in degrees.
    pub normal_max_deg: Option<f64>,
    /// The largest difference of uvs.
    pub uv_max_error: Option<f64>,
    /// The largest difference of colour components.
    pub colour_max_error: Option<f64>,
    /// The largest difference of velocities, in units per second.
    pub velocity_max_error: Option<f64>,
    /// The largest difference of widths.
    pub width_max_error: Option<f64>,
    /// The number of locators compared.
    pub locators: usize,
    /// The largest distance of a corner of the locators' cubes.
    pub locator_max_error: f64,
    /// The number of lenses compared.
    pub cameras: usize,
    /// The clips that were compared, with the errors of their joints.
    pub clips: Vec<ExtractedClip>,
    /// The first failures, by frame.
    pub failures: Vec<Failure>,
    /// The number of failures that are not in the list.
    pub more_failures: u64,
}

/// Findings in some of the frames.
#[derive(Default)]
pub(super) struct ExtractedFindings {
    pub report: ExtractedReport,
    pub failures: Failures,
}

fn raise_maximum(into: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value {
        *into = Some(into.unwrap_or(0.0).max(value));
    }
}

impl ExtractedFindings {
    pub fn append(&mut self, other: ExtractedFindings) {
        let (own, more) = (&mut self.report, other.report);
        own.vertices += more.vertices;
        own.faces += more.faces;
        own.max_error = own.max_error.max(more.max_error);
        if beyond(more.limit_fraction, own.limit_fraction) {
            (own.limit_fraction, own.worst, own.worst_frame) =
                (more.limit_fraction, more.worst, more.worst_frame);
        }
        raise_maximum(&mut own.normal_max_deg, more.normal_max_deg);
        raise_maximum(&mut own.uv_max_error, more.uv_max_error);
        raise_maximum(&mut own.colour_max_error, more.colour_max_error);
        raise_maximum(&mut own.velocity_max_error, more.velocity_max_error);
        raise_maximum(&mut own.width_max_error, more.width_max_error);
        own.locators = own.locators.max(more.locators);
        own.locator_max_error = own.locator_max_error.max(more.locator_max_error);
        self.failures.append(other.failures);
    }

    /// Records a distance; returns whether it is allowed.
    pub fn distance(&mut self, distance: f64, limit: f64, node: &str, frame: usize) -> bool {
        let share = if limit > 0.0 { distance / limit } else { distance };
        self.report.max_error = self.report.max_error.max(distance);
        if beyond(share, self.report.limit_fraction) || self.report.worst.is_empty() {
            (self.report.limit_fraction, self.report.worst, self.report.worst_frame) =
                (share, node.into(), frame);
        }
        !beyond(share, 1.0)
    }

    /// Records the difference of a value.
    pub fn value(&mut self, kind: AttributeKind, off: f64) {
        let slot = match kind {
            AttributeKind::Normal => &mut self.report.normal_max_deg,
            AttributeKind::Uv(_) => &mut self.report.uv_max_error,
            AttributeKind::Colour(_) => &mut self.report.colour_max_error,
            AttributeKind::Velocity => &mut self.report.velocity_max_error,
            AttributeKind::Width => &mut self.report.width_max_error,
        };
        raise_maximum(slot, Some(off));
    }
}
