//! Cameras of files.

use bevy::camera::{OrthographicProjection, PerspectiveProjection, Projection, ScalingMode};
use bevy::prelude::*;
use meshreel::Lens;

/// A camera of a file, at its node: moves and zooms with it. It has a [`Projection`] and no `Camera3d`:
/// insert one to look through it.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[require(Transform, Visibility)]
pub struct ReelCamera {
    /// The number of the camera in the file.
    pub number: usize,
}

/// The aspect ratio at which a projection is created; a camera's viewport replaces it.
const DEFAULT_ASPECT: f32 = 16.0 / 9.0;

/// Returns the projection of a lens. Lengths are multiplied by `metres`, the metres of the file's unit.
pub(crate) fn projection(lens: &Lens, metres: f32) -> Projection {
    let [near, far] = lens.clipping.map(|distance| distance * metres);
    // Of an orthographic lens, the aperture is in tenths of the unit.
    let [min_width, min_height] = lens.aperture.map(|size| size / 10.0 * metres);
    match lens.orthographic {
        true => Projection::Orthographic(OrthographicProjection {
            near,
            far,
            scaling_mode: ScalingMode::AutoMin { min_width, min_height },
            ..OrthographicProjection::default_3d()
        }),
        false => Projection::Perspective(PerspectiveProjection {
            fov: lens.vertical_angle(),
            aspect_ratio: DEFAULT_ASPECT,
            near,
            far,
            ..default()
        }),
    }
}
