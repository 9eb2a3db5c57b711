//! The choice between card and CPU for the parts of a file.

use meshreel::raw::record::Description;
use meshreel::{Limits, raw};

/// The number of points of a mesh from which on its units are decoded on the card. For fewer, the CPU decodes
/// a frame sooner than it records the passes. By `meshreel-bench gpu` 27 against 42 µs per frame at 1,271
/// points, 78 against 71 at 6,724, 1,200 against 270 at 50,625.
const MIN_CARD_DECODED_POINTS: u64 = 6_000;

/// Returns the limits with which to open a file that this crate draws, otherwise as in `limits`: bones pose
/// points only on the card, and points of meshes of the preset `fast` stay coded if that saves CPU time.
/// `description` is the file's, of [`meshreel::Reel::open`].
pub fn limits(description: &Description, limits: Limits) -> Limits {
    let coded = description.meshes.iter().filter(|mesh| raw::has_coded_units(mesh));
    let (meshes, points) = coded.fold((0, 0), |(n, all), mesh| (n + 1, all + u64::from(mesh.source_points)));
    let points = meshes == 0 || points < meshes * MIN_CARD_DECODED_POINTS;
    let points = limits.points && points;
    limits.with_poses(false).with_points(points)
}
