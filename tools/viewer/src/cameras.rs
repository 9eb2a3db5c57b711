//! Draws the cameras of a file as view pyramids.

use crate::drawing::Drawing;
use crate::matrix::matrix;
use glam::DVec3;
use meshreel::{Camera, FrameView, Lens};

const COLOUR: [u8; 4] = [240, 200, 90, 255];

/// Adds the cameras of a moment to `lines`, `size` long, in world space.
pub fn draw(view: &FrameView<'_>, cameras: &[Camera], size: f64, hidden: &[bool], lines: &mut Drawing) {
    for camera in cameras {
        let node = camera.node();
        if hidden[node] || !view.visible(node) {
            continue;
        }
        let lens = camera.lens(view.pair());
        let world = matrix(view.world(node));
        // The pyramid's size does not depend on the scale of the node.
        let axis = |way: DVec3| world.transform_vector3(way).normalize_or_zero() * size;
        let [x, y, z] = DVec3::AXES.map(axis);
        let eye = world.w_axis.truncate();
        let corners = corners(&lens).map(|[a, b]| eye + a * x + b * y - z);
        let mut line =
            |from: DVec3, to: DVec3| [from, to].into_iter().for_each(|at| lines.push_vertex(at, COLOUR));
        for (k, &corner) in corners.iter().enumerate() {
            if !lens.orthographic {
                line(eye, corner);
            }
            line(corner, corners[(k + 1) % 4]);
        }
        // Marks the upper side.
        let [_, _, right, left] = corners;
        let above = (left + right) / 2.0 + 0.15 * y;
        line(left.lerp(right, 0.4), above);
        line(left.lerp(right, 0.6), above);
    }
}

/// Returns the corners of the view at distance 1: lower left, lower right, upper right, upper left.
fn corners(lens: &Lens) -> [[f64; 2]; 4] {
    let focal =
        if lens.orthographic || lens.focal_length <= 0.0 { lens.aperture[1] } else { lens.focal_length };
    let part = |length: f32| {
        let part = f64::from(length) / f64::from(focal);
        if part.is_finite() { part.clamp(-4.0, 4.0) } else { 0.0 }
    };
    let [width, height] = [part(lens.aperture[0] * lens.squeeze), part(lens.aperture[1])];
    let [across, up] = lens.aperture_offset.map(part);
    [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
        .map(|[a, b]| [across + 0.5 * a * width, up + 0.5 * b * height])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_as_wide_as_its_film_over_its_focal_length() {
        let mut lens = Lens::default();
        (lens.focal_length, lens.aperture, lens.aperture_offset) = (50.0, [36.0, 24.0], [5.0, 0.0]);
        let [low, _, high, _] = corners(&lens);
        assert!((high[0] - low[0] - 0.72).abs() < 1e-6 && (high[1] - low[1] - 0.48).abs() < 1e-6);
        assert!(((high[0] + low[0]) / 2.0 - 0.1).abs() < 1e-6);
        // A file may have any numbers.
        lens.focal_length = f32::MIN_POSITIVE;
        assert!(corners(&lens).as_flattened().iter().all(|v| v.abs() <= 6.0));
    }
}
