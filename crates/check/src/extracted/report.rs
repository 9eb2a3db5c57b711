//! What is asked of an extracted file, and what was found.

use super::clips::ExtractedClip;
use super::sides::Kind;
use crate::verify::Failure;
use crate::verify::report::{Failures, beyond};
use serde::Serialize;

/// What is asked of an extracted file beside its kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Expected {
    /// How far a point may be off, in the `.reel`'s unit. None: what float32 holds; of skins, of parts that
    /// nodes move and of quantized files the mesh's own tolerance; twice that of rigs, which are as far from
    /// the source as the frames on the other side may be.
    pub tolerance: Option<f64>,
    /// The level of detail that was extracted.
    pub level: usize,
}

/// Outcome of [`compare`](super::compare).
#[derive(Debug, Clone, Default, Serialize)]
pub struct ExtractedReport {
    /// Nothing failed.
    pub ok: bool,
    /// Frames of the `.reel`.
    pub frames: usize,
    /// Vertices that were compared, in all frames together.
    pub vertices: u64,
    /// Triangles that were compared, in all frames together.
    pub faces: u64,
    /// The largest distance, in the `.reel`'s unit.
    pub max_error: f64,
    /// The largest share of what it may be.
    pub share: f64,
    /// The node with that share.
    pub worst: String,
    /// Its frame.
    pub worst_frame: usize,
    /// The largest angle between normals, in degrees.
    pub normal_max_deg: Option<f64>,
    /// The largest differences of other values.
    pub uv_max_error: Option<f64>,
    /// As above.
    pub colour_max_error: Option<f64>,
    /// As above, units per second.
    pub velocity_max_error: Option<f64>,
    /// As above.
    pub width_max_error: Option<f64>,
    /// Locators that were compared, and the largest distance of a corner of their cubes.
    pub locators: usize,
    /// As above.
    pub locator_max_error: f64,
    /// Lenses that were compared.
    pub cameras: usize,
    /// Clips that were compared, and how far their joints are off.
    pub clips: Vec<ExtractedClip>,
    /// The first failures, by frame.
    pub failures: Vec<Failure>,
    /// Failures that are not in the list.
    pub more_failures: u64,
}

/// What was found in some frames.
#[derive(Default)]
pub(super) struct Found {
    pub report: ExtractedReport,
    pub failures: Failures,
}

fn most(into: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value {
        *into = Some(into.unwrap_or(0.0).max(value));
    }
}

impl Found {
    pub fn append(&mut self, other: Found) {
        let (own, more) = (&mut self.report, other.report);
        own.vertices += more.vertices;
        own.faces += more.faces;
        own.max_error = own.max_error.max(more.max_error);
        if beyond(more.share, own.share) {
            (own.share, own.worst, own.worst_frame) = (more.share, more.worst, more.worst_frame);
        }
        most(&mut own.normal_max_deg, more.normal_max_deg);
        most(&mut own.uv_max_error, more.uv_max_error);
        most(&mut own.colour_max_error, more.colour_max_error);
        most(&mut own.velocity_max_error, more.velocity_max_error);
        most(&mut own.width_max_error, more.width_max_error);
        own.locators = own.locators.max(more.locators);
        own.locator_max_error = own.locator_max_error.max(more.locator_max_error);
        self.failures.append(other.failures);
    }

    /// Notes a distance; whether it is allowed.
    pub fn distance(&mut self, distance: f64, limit: f64, node: &str, frame: usize) -> bool {
        let share = if limit > 0.0 { distance / limit } else { distance };
        self.report.max_error = self.report.max_error.max(distance);
        if beyond(share, self.report.share) || self.report.worst.is_empty() {
            (self.report.share, self.report.worst, self.report.worst_frame) = (share, node.into(), frame);
        }
        !beyond(share, 1.0)
    }

    /// Notes how far a value is off.
    pub fn value(&mut self, kind: Kind, off: f64) {
        let slot = match kind {
            Kind::Normal => &mut self.report.normal_max_deg,
            Kind::Uv(_) => &mut self.report.uv_max_error,
            Kind::Colour(_) => &mut self.report.colour_max_error,
            Kind::Velocity => &mut self.report.velocity_max_error,
            Kind::Width => &mut self.report.width_max_error,
        };
        most(slot, Some(off));
    }
}
