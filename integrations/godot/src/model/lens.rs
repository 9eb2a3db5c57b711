//! The projection of a file's camera in the terms of Godot's `Camera3D`.

use meshreel::Lens;

/// The shortest near distance that Godot allows.
const MIN_NEAR: f32 = 0.001;

/// The longest near distance, so that a longer one remains for the far one.
const MAX_NEAR: f32 = 1e6;

/// The angles that Godot allows, in degrees.
const ANGLES: [f32; 2] = [1.0, 179.0];

/// A projection whose height is fixed; its width follows the viewport.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Projection {
    /// A perspective one, with its vertical angle of view in degrees.
    Perspective(f32),
    /// An orthogonal one, with the height of the visible area in metres.
    Orthogonal(f32),
}

/// The values of a camera at a moment, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraValues {
    /// The projection.
    pub projection: Projection,
    /// The near and the far distance.
    pub clipping: [f32; 2],
}

/// Returns the values of a lens, cut to what Godot allows. `metres` is the length of the file's unit.
pub fn camera_values(lens: &Lens, metres: f32) -> CameraValues {
    let near = finite(lens.clipping[0] * metres, MIN_NEAR).clamp(MIN_NEAR, MAX_NEAR);
    let far = finite(lens.clipping[1] * metres, 4000.0).max(2.0 * near);
    let projection = match lens.orthographic {
        // The aperture is in tenths of the file's unit.
        true => Projection::Orthogonal(finite(lens.aperture[1] / 10.0 * metres, 1.0).max(MIN_NEAR)),
        false => {
            let angle = finite(lens.vertical_angle().to_degrees(), 75.0);
            Projection::Perspective(angle.clamp(ANGLES[0], ANGLES[1]))
        }
    };
    CameraValues { projection, clipping: [near, far] }
}

/// Returns a value, or another if it is not finite, as a damaged file may have it.
fn finite(value: f32, other: f32) -> f32 {
    if value.is_finite() { value } else { other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_perspective_lens_has_its_vertical_angle() {
        let mut lens = Lens::default();
        lens.clipping = [10.0, 10_000.0];
        let values = camera_values(&lens, 0.01);
        let Projection::Perspective(angle) = values.projection else { panic!("{values:?}") };
        // 2 · atan(15.2908 / 100)
        assert!((angle - 17.386).abs() < 0.01, "{angle}");
        assert!((values.clipping[0] - 0.1).abs() < 1e-6 && (values.clipping[1] - 100.0).abs() < 1e-4);
    }

    #[test]
    fn an_orthographic_lens_has_its_height() {
        let mut lens = Lens::default();
        (lens.orthographic, lens.aperture) = (true, [40.0, 30.0]);
        assert_eq!(camera_values(&lens, 1.0).projection, Projection::Orthogonal(3.0));
    }

    #[test]
    fn nothing_that_a_file_says_is_outside_of_what_godot_allows() {
        for value in [f32::NAN, f32::INFINITY, -1.0, 0.0, 1e30] {
            let mut lens = Lens::default();
            (lens.clipping, lens.focal_length, lens.aperture) = ([value; 2], value, [value; 2]);
            for orthographic in [false, true] {
                lens.orthographic = orthographic;
                let values = camera_values(&lens, 1.0);
                assert!(
                    values.clipping[0] >= MIN_NEAR && values.clipping[1] > values.clipping[0],
                    "{values:?}"
                );
                match values.projection {
                    Projection::Perspective(angle) => assert!((1.0..=179.0).contains(&angle)),
                    Projection::Orthogonal(size) => assert!(size > 0.0 && size.is_finite()),
                }
            }
        }
    }
}
