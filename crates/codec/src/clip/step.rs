//! The axes and step sizes of each joint. They follow from the skeleton, so they take no bytes in a file.
//!
//! ```text
//! lever points   of a joint, in its own space: its three shell points; the origin of each child; and the lever points of children that cannot turn freely
//!                (default, constant, hinge, two axes). At most 64
//! A = Σ (|p|²I − ppᵀ)     axes = eigenvectors of A (free rotations), or the axes that are stored (hinges)
//! lever(b) = max(√⅔·shell, max |b × p|)          the largest distance by which a turn about b moves a point that no child can correct
//! reach = max(shell, max over children of |offset| + reach(child))
//! step = base · 2^(−fine/2) / (lever^(1−η) · reach^η)          η = spread in 16ths; fine: the joint's fineness
//! ```
//!
//! If joints are in several layers, the steps of each layer are computed with all other joints in the rest
//! pose.
//!
//! Everything is f64 with square roots and no other functions, in the order written: the same bits
//! everywhere.
//!
//! Credit: J. Jung, *Compressing skeletal animation data*, Riot Games, 2015, for error margins that shrink
//! towards the root, made continuous here; N. Frechette, *Animation Compression Library*, 2017, for the three
//! points of the error.

use crate::clip::{ClipHeader, RotationSubTrack, Skeleton, VectorSubTrack};
use crate::quantize::rotation::multiply;

/// The largest number of lever points of a joint. Part of the format, like everything in this file.
const MAX_LEVER_POINTS: usize = 64;
/// The range of rotation steps in radians; f32 cannot represent finer ones.
const ROTATION_STEP: [f64; 2] = [5e-7, 0.5];

/// Axes and steps of a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointSteps {
    /// The body axes of a free rotation; the last is perpendicular to the first two.
    pub axes: [[f64; 3]; 3],
    /// The steps of the rotation components, in radians: free 3, two axes 2, hinge 1.
    pub rotation: [f64; 3],
    /// The levers of the same components.
    pub lever: [f64; 3],
    /// The matrix A of the joint.
    pub metric: [[f64; 3]; 3],
    /// The sum of the lever points.
    pub sum: [f64; 3],
    /// The number of lever points.
    pub points: usize,
    /// The step of the translation, in units of length.
    pub translation: f64,
    /// The step of the scale.
    pub scale: f64,
    /// The length of the longest chain below.
    pub reach: f64,
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn length(a: [f64; 3]) -> f64 {
    (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]).sqrt()
}

/// Returns `v` rotated by `q`.
pub fn rotate(q: [f64; 4], v: [f64; 3]) -> [f64; 3] {
    let inverse = [-q[0], -q[1], -q[2], q[3]];
    let r = multiply(multiply(q, [v[0], v[1], v[2], 0.0]), inverse);
    [r[0], r[1], r[2]]
}

/// Returns x^(n/16) for n ≤ 16, by square roots.
fn power(x: f64, sixteenths: u32) -> f64 {
    if sixteenths >= 16 {
        return x;
    }
    let (mut out, mut root) = (1.0, x);
    for bit in (0..4).rev() {
        root = root.sqrt();
        if sixteenths >> bit & 1 != 0 {
            out *= root;
        }
    }
    out
}

/// Returns 2^(−n/2).
fn half_octaves(n: i8) -> f64 {
    let mut out = if n % 2 == 0 { 1.0 } else { 0.5f64.sqrt() };
    let whole = i32::from(n).div_euclid(2);
    for _ in 0..whole.abs() {
        out *= if whole > 0 { 0.5 } else { 2.0 };
    }
    out
}

/// Returns the steps of all joints. The header must fit the skeleton.
pub fn steps(skeleton: &Skeleton<'_>, header: &ClipHeader) -> Vec<JointSteps> {
    let layers = &header.split.layers;
    let Some(&last) = layers.iter().max() else {
        return steps_of_one_layer(skeleton, header);
    };
    let mut steps = steps_of_one_layer(skeleton, &header.layer_header(0));
    for layer in 1..=last {
        let own = steps_of_one_layer(skeleton, &header.layer_header(layer));
        for ((to, from), of) in steps.iter_mut().zip(own).zip(layers) {
            if *of == layer {
                *to = from;
            }
        }
    }
    steps
}

/// Returns the steps of all joints, without regard to layers.
fn steps_of_one_layer(skeleton: &Skeleton<'_>, header: &ClipHeader) -> Vec<JointSteps> {
    let levers = Levers::new(skeleton, header);
    (0..skeleton.parents.len()).map(|j| levers.steps(skeleton, header, j)).collect()
}

/// The reach of each joint, and the points that its rotation moves.
struct Levers {
    /// The length of the longest chain below each joint.
    reach: Vec<f64>,
    /// The lever points in the joint's own space, at most [`MAX_LEVER_POINTS`] of those from below.
    points: Vec<Vec<[f64; 3]>>,
}

impl Levers {
    /// Accumulates from the leaves to the roots.
    fn new(skeleton: &Skeleton<'_>, header: &ClipHeader) -> Levers {
        let origin = |j: usize| match header.translations[j] {
            VectorSubTrack::Default | VectorSubTrack::Animated => skeleton.rest[j].translation.map(f64::from),
            VectorSubTrack::Constant(v) => v.map(f64::from),
        };
        let mut reach: Vec<f64> = skeleton.shell.iter().map(|s| f64::from(*s)).collect();
        let of_shell = |&s: &f64| vec![[s, 0.0, 0.0], [0.0, s, 0.0], [0.0, 0.0, s]];
        let mut points: Vec<Vec<[f64; 3]>> = reach.iter().map(of_shell).collect();
        for j in (0..skeleton.parents.len()).rev() {
            let Some(parent) = skeleton.parent(j) else {
                continue;
            };
            let offset = origin(j);
            let far = length(offset) + reach[j];
            reach[parent] = reach[parent].max(far);
            let rest = match &header.rotations[j] {
                RotationSubTrack::Free => None,
                RotationSubTrack::Default => Some(skeleton.rest[j].rotation.map(f64::from)),
                RotationSubTrack::Constant(q) => Some(q.to_quaternion()),
                RotationSubTrack::Hinge { rest, .. } | RotationSubTrack::TwoAxes { rest, .. } => {
                    Some(rest.to_quaternion())
                }
            };
            let below = std::mem::take(&mut points[j]);
            let above = &mut points[parent];
            above.push(offset);
            if let Some(rest) = rest {
                for p in &below {
                    let p = rotate(rest, *p);
                    above.push([p[0] + offset[0], p[1] + offset[1], p[2] + offset[2]]);
                }
            }
            above.truncate(MAX_LEVER_POINTS);
            points[j] = below;
        }
        Levers { reach, points }
    }

    /// Returns the axes and steps of joint `j`.
    fn steps(&self, skeleton: &Skeleton<'_>, header: &ClipHeader, j: usize) -> JointSteps {
        let (points, reach) = (&self.points[j], self.reach[j]);
        let (metric, sum) = moments(points);
        let least = f64::from(skeleton.shell[j]) * (2.0f64 / 3.0).sqrt();
        let arm = |axis: [f64; 3]| {
            let far = points.iter().map(|p| length(cross(axis, *p)));
            far.fold(least, f64::max)
        };
        let eta = u32::from(header.spread).min(15);
        let base = f64::from(header.base) * half_octaves(header.fine.get(j).copied().unwrap_or(0));
        let step = |lever: f64| base / (power(lever, 16 - eta) * power(reach, eta));
        let mut axes = eigenvectors(metric);
        match &header.rotations[j] {
            RotationSubTrack::Hinge { axis, .. } => axes[0] = axis.to_vector(),
            RotationSubTrack::TwoAxes { first, second, .. } => {
                axes[0] = first.to_vector();
                axes[1] = second.to_vector();
            }
            _ => {}
        }
        let lever = axes.map(arm);
        let [low, high] = ROTATION_STEP;
        let far = points.iter().map(|p| length(*p)).fold(least, f64::max);
        JointSteps {
            axes,
            rotation: lever.map(|l| step(l).clamp(low, high)),
            lever,
            metric,
            sum,
            points: points.len(),
            translation: base,
            scale: step(far),
            reach,
        }
    }
}

/// Returns `A` of the lever points (see the head of this file), and their sum.
fn moments(points: &[[f64; 3]]) -> ([[f64; 3]; 3], [f64; 3]) {
    let mut metric = [[0.0; 3]; 3];
    let mut sum = [0.0; 3];
    for p in points {
        let square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
        for r in 0..3 {
            sum[r] += p[r];
            for c in 0..3 {
                let diagonal = if r == c { square } else { 0.0 };
                metric[r][c] += diagonal - p[r] * p[c];
            }
        }
    }
    (metric, sum)
}

/// Returns the eigenvectors of a symmetric matrix, by 12 sweeps of Jacobi rotations. A diagonal matrix keeps
/// the coordinate axes.
fn eigenvectors(mut a: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let mut v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _ in 0..12 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let size = a[p][p].abs() + a[q][q].abs();
            if a[p][q].abs() <= size * 1e-15 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let sign = if theta < 0.0 { -1.0 } else { 1.0 };
            let t = sign / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            for k in 0..3 {
                let (x, y) = (a[k][p], a[k][q]);
                a[k][p] = c * x - s * y;
                a[k][q] = s * x + c * y;
            }
            for k in 0..3 {
                let (x, y) = (a[p][k], a[q][k]);
                a[p][k] = c * x - s * y;
                a[q][k] = s * x + c * y;
                // Row k of v is axis k.
                let (x, y) = (v[p][k], v[q][k]);
                v[p][k] = c * x - s * y;
                v[q][k] = s * x + c * y;
            }
        }
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_are_those_of_the_matrix() {
        let a = [[4.0, 1.0, -2.0], [1.0, 9.0, 0.5], [-2.0, 0.5, 1.0]];
        let v = eigenvectors(a);
        for (k, axis) in v.iter().enumerate() {
            let image: Vec<f64> = a.iter().map(|row| (0..3).map(|c| row[c] * axis[c]).sum()).collect();
            let value: f64 = (0..3).map(|c| image[c] * axis[c]).sum();
            for c in 0..3 {
                assert!((image[c] - value * axis[c]).abs() < 1e-12, "{k}");
            }
            assert!((length(*axis) - 1.0).abs() < 1e-12);
        }
        assert_eq!(eigenvectors([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])[1], [0.0, 1.0, 0.0]);
    }

    #[test]
    fn powers() {
        for n in -32..=31i8 {
            let want = 2.0f64.powf(-f64::from(n) / 2.0);
            assert!((half_octaves(n) / want - 1.0).abs() < 1e-12, "{n}");
        }
        for n in 0..=16u32 {
            let want = 7.3f64.powf(f64::from(n) / 16.0);
            assert!((power(7.3, n) - want).abs() < 1e-12, "{n}");
        }
    }
}
