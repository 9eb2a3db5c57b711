//! Catmull-Rom splines between four keys, with knots that follow the keys' times. See the module's head for
//! the formulas.

/// The spacing of the knots of two keys, which decides how a spline bends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum KnotSpacing {
    /// The same for all, whatever the times.
    Uniform = 0,
    /// The difference of the times.
    Chordal = 1,
    /// The square root of the difference of the times: between the two others, without cusps.
    #[default]
    Centripetal = 2,
}

impl KnotSpacing {
    /// Returns the spacing for keys that many samples apart.
    #[inline]
    pub fn interval(self, samples: f32) -> f32 {
        match self {
            KnotSpacing::Uniform => 1.0,
            KnotSpacing::Chordal => samples,
            KnotSpacing::Centripetal => samples.sqrt(),
        }
    }
}

/// The four keys around a time.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct KeyWindow {
    /// The times of the keys, in samples.
    pub times: [u16; 4],
    /// The values of the keys.
    pub values: [[f32; 4]; 4],
    /// `true` if there is a key before, or after, the two in the middle.
    pub has_outer: [bool; 2],
}

impl KeyWindow {
    /// Returns the value at a time between the middle keys, in samples.
    #[inline]
    pub fn value(&self, time: f32, knots: KnotSpacing, rotation: bool) -> [f32; 4] {
        let [p0, p1, p2, p3] = match rotation {
            true => aligned(self.values),
            false => self.values,
        };
        let apart = |i: usize| f32::from(self.times[i + 1]) - f32::from(self.times[i]);
        let span = apart(1);
        let u = ((time - f32::from(self.times[1])) / span).clamp(0.0, 1.0);
        let d1 = knots.interval(span);
        let (before, after) = (weights(knots, apart(0), d1), weights(knots, apart(2), d1));
        let value = |k: usize| {
            let step = p2[k] - p1[k];
            let m1 = match self.has_outer[0] {
                true => tangent(before, p1[k] - p0[k], p2[k] - p0[k]) + step,
                false => step,
            };
            let m2 = match self.has_outer[1] {
                true => tangent(after, p3[k] - p2[k], p3[k] - p1[k]) + step,
                false => step,
            };
            let cubic = m1 + m2 - 2.0 * step;
            p1[k] + u * (m1 + u * ((3.0 * step - 2.0 * m1 - m2) + u * cubic))
        };
        let out = [value(0), value(1), value(2), value(3)];
        if rotation { normalize(out) } else { out }
    }
}

/// Returns the weights, in a tangent, of the slope over the outer segment and of that over both segments
/// together.
#[inline]
fn weights(knots: KnotSpacing, outer: f32, d1: f32) -> [f32; 2] {
    let d = knots.interval(outer);
    [d1 / d, d1 / (d + d1)]
}

#[inline]
fn tangent([outer, both]: [f32; 2], near: f32, far: f32) -> f32 {
    near * outer - far * both
}

/// Chooses, of the two quaternions of each rotation, the one nearer to its neighbour.
#[inline]
fn aligned(values: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    let near = |q: [f32; 4], to: [f32; 4]| {
        let dot = q[0] * to[0] + q[1] * to[1] + q[2] * to[2] + q[3] * to[3];
        if dot < 0.0 { q.map(|v| -v) } else { q }
    };
    let [p0, p1, p2, p3] = values;
    let p2 = near(p2, p1);
    [near(p0, p1), p1, p2, near(p3, p2)]
}

/// Normalizes a quaternion; returns the identity if its length is near zero.
#[inline]
pub fn normalize(q: [f32; 4]) -> [f32; 4] {
    let square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if square > 1e-12 && square < f32::MAX {
        let length = square.sqrt();
        q.map(|v| v / length)
    } else {
        [0.0, 0.0, 0.0, 1.0]
    }
}
