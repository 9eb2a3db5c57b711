//! Converts lenses of a file to those of a scene.

use meshreel_scene::Lens;

/// Converts the values to f64.
pub(crate) fn from_runtime(lens: &meshreel::Lens) -> Lens {
    let pair = |[a, b]: [f32; 2]| [f64::from(a), f64::from(b)];
    Lens {
        focal_length: lens.focal_length.into(),
        aperture: pair(lens.aperture),
        aperture_offset: pair(lens.aperture_offset),
        squeeze: lens.squeeze.into(),
        overscan: lens.overscan.map(f64::from),
        f_stop: lens.f_stop.into(),
        focus_distance: lens.focus_distance.into(),
        shutter: pair(lens.shutter),
        clipping: pair(lens.clipping),
        orthographic: lens.orthographic,
    }
}
