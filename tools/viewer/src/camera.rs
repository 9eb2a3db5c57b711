//! A camera that orbits around a point.

use glam::{DMat4, DVec3};

/// The default vertical angle of view in radians.
const FIELD_OF_VIEW: f64 = 0.6;

/// Distance of the near plane, as a fraction of the distance to the target.
pub const NEAR: f64 = 1e-3;

/// The part of the picture that a framed box fills.
const FRAMED_FRACTION: f64 = 0.8;

/// The axis that points upwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Up {
    #[default]
    Y,
    Z,
}

impl Up {
    /// Returns the axis.
    pub fn axis(self) -> DVec3 {
        match self {
            Up::Y => DVec3::Y,
            Up::Z => DVec3::Z,
        }
    }
}

/// An orbiting camera.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    pub target: DVec3,
    pub distance: f64,
    /// Angles in radians: around the upward axis, and above the horizon.
    pub azimuth: f64,
    pub elevation: f64,
    pub up: Up,
    /// Vertical angle of view in radians.
    pub angle: f64,
}

impl Default for Camera {
    fn default() -> Self {
        Camera {
            target: DVec3::ZERO,
            distance: 5.0,
            azimuth: 0.6,
            elevation: 0.35,
            up: Up::Y,
            angle: FIELD_OF_VIEW,
        }
    }
}

impl Camera {
    /// Returns the matrix from y-up axes to those of the world: identity for y up, a rotation for z up.
    fn axes(&self) -> DMat4 {
        match self.up {
            Up::Y => DMat4::IDENTITY,
            Up::Z => DMat4::from_rotation_x(-std::f64::consts::FRAC_PI_2),
        }
    }

    /// Returns the view matrix, from the world to the camera, which looks along −z.
    pub fn view(&self) -> DMat4 {
        DMat4::from_translation(DVec3::new(0.0, 0.0, -self.distance))
            * DMat4::from_rotation_x(self.elevation)
            * DMat4::from_rotation_y(-self.azimuth)
            * self.axes()
            * DMat4::from_translation(-self.target)
    }

    /// Returns the projection from the camera to clip space with reversed depth: 1 is near, 0 far away.
    pub fn projection(&self, aspect: f64) -> DMat4 {
        let f = 1.0 / (self.angle / 2.0).tan();
        DMat4::from_cols_array_2d(&[
            [f / aspect.max(1e-3), 0.0, 0.0, 0.0],
            [0.0, f, 0.0, 0.0],
            [0.0, 0.0, 0.0, -1.0],
            [0.0, 0.0, self.distance * NEAR, 0.0],
        ])
    }

    /// Returns origin and direction of the ray through a point of the picture, −1 … 1 to the right and
    /// upwards.
    pub fn ray(&self, x: f64, y: f64, aspect: f64) -> [DVec3; 2] {
        let tangent = (self.angle / 2.0).tan();
        let world = self.view().inverse();
        let direction = DVec3::new(x * tangent * aspect, y * tangent, -1.0);
        [world.transform_point3(DVec3::ZERO), world.transform_vector3(direction)]
    }

    /// Orbits by fractions of the picture's height.
    pub fn orbit(&mut self, x: f64, y: f64) {
        self.azimuth -= x * std::f64::consts::PI;
        self.elevation = (self.elevation + y * std::f64::consts::PI).clamp(-1.55, 1.55);
    }

    /// Pans so that the point at the target follows the pointer.
    pub fn pan(&mut self, x: f64, y: f64) {
        let size = 2.0 * self.distance * (self.angle / 2.0).tan();
        let back = self.view().inverse();
        self.target -= back.transform_vector3(DVec3::new(x, -y, 0.0)) * size;
    }

    /// Zooms in by a factor.
    pub fn zoom(&mut self, factor: f64) {
        self.distance = (self.distance / factor).clamp(1e-9, 1e12);
    }

    /// Places the camera at `eye`, looking at `target`.
    pub fn look_at(&mut self, eye: DVec3, target: DVec3) {
        let back = self.axes().transform_vector3(eye - target);
        self.target = target;
        self.distance = back.length().max(1e-9);
        self.azimuth = back.x.atan2(back.z);
        self.elevation = (back.y / self.distance).clamp(-1.0, 1.0).asin();
    }

    /// Moves the camera, without turning it, so that the box fills [`FRAMED_FRACTION`] of the picture's width
    /// or height and the other one no more.
    pub fn frame(&mut self, low: DVec3, high: DVec3, aspect: f64) {
        if !(low.is_finite() && high.is_finite() && low.cmple(high).all()) {
            return;
        }
        let center = (low + high) / 2.0;
        let smallest = DVec3::splat(1e-6);
        let half = ((high - low) / 2.0).max(smallest);
        let turn = self.view();
        // Corners on the axes of the camera, which moves to (x, y, distance) there.
        let corners: Vec<DVec3> = (0..8)
            .map(|corner| DVec3::from_array([0, 1, 2].map(|k| if corner >> k & 1 == 0 { -1.0 } else { 1.0 })))
            .map(|signs| turn.transform_vector3(half * signs))
            .collect();
        let tangent = FRAMED_FRACTION * (self.angle / 2.0).tan();
        // A corner c is in view if |c.x − x| ≤ slope · (distance − c.z); likewise for y.
        let place = |axis: usize, slope: f64| {
            let reach = |sign: f64| {
                corners.iter().map(|c| sign * c[axis] + slope * c.z).fold(f64::NEG_INFINITY, f64::max)
            };
            let (positive, negative) = (reach(1.0), reach(-1.0));
            ((positive - negative) / 2.0, (positive + negative) / (2.0 * slope))
        };
        let ((x, width), (y, height)) = (place(0, tangent * aspect), place(1, tangent));
        self.distance = width.max(height);
        self.target = center + turn.inverse().transform_vector3(DVec3::new(x, y, 0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_where_it_is_put() {
        for up in [Up::Y, Up::Z] {
            let mut camera = Camera { up, ..Camera::default() };
            let (eye, target) = (DVec3::new(3.0, -1.0, 2.0), DVec3::new(1.0, 2.0, -4.0));
            camera.look_at(eye, target);
            assert!(camera.view().transform_point3(eye).length() < 1e-9);
            let seen = camera.view().transform_point3(target);
            assert!((seen + DVec3::Z * eye.distance(target)).length() < 1e-9, "{seen}");
        }
    }

    #[test]
    fn a_box_fills_the_picture() {
        for up in [Up::Y, Up::Z] {
            for aspect in [0.5, 1.0, 2.5] {
                let mut camera = Camera { up, ..Camera::default() };
                let (low, high) = (DVec3::new(-3.0, 10.0, 2.0), DVec3::new(5.0, 11.0, 9.0));
                camera.frame(low, high, aspect);
                let clip = camera.projection(aspect) * camera.view();
                let mut largest: f64 = 0.0;
                for corner in 0..8 {
                    let at = |k: usize| if corner >> k & 1 == 0 { low[k] } else { high[k] };
                    let p = clip.project_point3(DVec3::new(at(0), at(1), at(2)));
                    // The ray through the projected point passes through the point itself.
                    let [from, along] = camera.ray(p.x, p.y, aspect);
                    let off = along.cross(DVec3::new(at(0), at(1), at(2)) - from).length();
                    assert!(off < 1e-6 * along.length() * camera.distance, "{off}");
                    assert!((0.0..=1.0).contains(&p.z), "{p}");
                    largest = largest.max(p.x.abs()).max(p.y.abs());
                }
                assert!((largest - FRAMED_FRACTION).abs() < 1e-9, "{largest}");
            }
        }
    }
}
