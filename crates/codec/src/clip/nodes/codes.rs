//! The codes of moving nodes from those of the frames around, and transforms from codes: formulas for one
//! node or for eight side by side. Everything is f64, each operation rounded, in the order written; sums of
//! codes are exact.

use crate::simd::doubles::Double;
use crate::simd::real::Real;
use crate::transform::Transform;

/// The codes of a node in a frame: three of translation, four of rotation, three of scale, and one for
/// contexts. Parts that do not move keep the codes of the rest transform.
pub type TrackCodes = [i32; 11];

/// The first codes of translation, rotation and scale in [`TrackCodes`], and the code for contexts.
pub(super) const TRANSLATION: usize = 0;
pub(super) const ROTATION: usize = 3;
pub(super) const SCALE: usize = 7;
pub(super) const CONTEXT: usize = 10;

/// The largest and the smallest value of a code.
const MAX_CODE: f64 = 2_147_483_647.0;
const MIN_CODE: f64 = -2_147_483_648.0;
/// A mixture of quaternions whose squared length is below this has no direction. Part of the format, like
/// everything in this file.
const MIN_SQUARED_LENGTH: f64 = 1.0 / 256.0;
/// The unit of a rotation code.
pub(super) const ROTATION_UNIT: f64 = 1.0 / 1_073_741_824.0;
/// The unit of the weights of the frames around.
const WEIGHT_UNIT: f64 = 1.0 / 65536.0;

/// Returns the components of a vector: the weighted sum of those around plus κ.
#[inline(always)]
pub(super) fn vector<R: Real<f64>>(around: &[[R; 3]; 4], weights: &[f64; 4], kappas: &[R; 3]) -> [R; 3] {
    let mut out = *kappas;
    for k in 0..3 {
        let mut sum = around[0][k] * weights[0];
        for i in 1..4 {
            sum = sum + around[i][k] * weights[i];
        }
        let moved = (sum * WEIGHT_UNIT).floor() + kappas[k];
        out[k] = moved.min(MAX_CODE).max(MIN_CODE);
    }
    out
}

#[inline(always)]
fn dot<R: Real<f64>>(a: &[R; 4], b: &[R; 4]) -> R {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
}

/// Returns the weighted sum of rotations, and the square of its length. The first two are the nearest in
/// time; the other two lie beyond the first and beyond the second.
#[inline(always)]
pub(super) fn weighted_rotation<R: Real<f64>>(around: &[[R; 4]; 4], weights: &[f64; 4]) -> ([R; 4], R) {
    let constant = |x: f64| around[0][0].same(x);
    let zero = constant(0.0);
    // q and −q are the same rotation: takes the one nearer to its neighbour in time.
    let [a, b, c, d] = around;
    let sign = R::select(dot(b, a).less(zero), constant(-1.0), constant(1.0));
    let third = R::select(dot(c, a).less(zero), constant(-weights[2]), constant(weights[2]));
    let fourth = R::select(dot(d, b).less(zero), constant(-weights[3]), constant(weights[3]));
    let (second, fourth) = (sign * weights[1], sign * fourth);
    let mut out = [zero; 4];
    for k in 0..4 {
        let sum = a[k] * weights[0] + b[k] * second + c[k] * third + d[k] * fourth;
        out[k] = sum * (ROTATION_UNIT * WEIGHT_UNIT);
    }
    let mut square = dot(&out, &out);
    // Opposite rotations cancel out: then the first is taken.
    let short = square.less(constant(MIN_SQUARED_LENGTH));
    let long = constant(MIN_SQUARED_LENGTH).less(square);
    if !R::all(long) {
        let mut first = [zero; 4];
        for k in 0..4 {
            first[k] = a[k] * ROTATION_UNIT;
        }
        let own = dot(&first, &first).max(MIN_SQUARED_LENGTH);
        for k in 0..4 {
            out[k] = R::select(short, first[k], out[k]);
        }
        square = R::select(short, own, square);
    }
    (out, square)
}

/// Returns the codes of a rotation: the weighted sum of those around, turned by `y`. If `y` is 0 and all of
/// those around are equal, they are returned without rounding.
#[inline(always)]
pub(super) fn rotation<R: Real<f64>>(around: &[[R; 4]; 4], weights: &[f64; 4], y: &[R; 3]) -> [R; 4] {
    let zero = y[0].same(0.0);
    let mut moved = apply_turn(weighted_rotation(around, weights), y);
    let mut still = R::both(y[0].equal(zero), R::both(y[1].equal(zero), y[2].equal(zero)));
    if R::any(still) {
        for other in &around[1..] {
            for k in 0..4 {
                still = R::both(still, other[k].equal(around[0][k]));
            }
        }
        for k in 0..4 {
            moved[k] = R::select(still, around[0][k], moved[k]);
        }
    }
    moved
}

/// Returns the codes of the rotation `from`, whose squared length is given, followed by the turn `y`, whose
/// components are clamped to ±1.
#[inline(always)]
fn apply_turn<R: Real<f64>>((from, square): ([R; 4], R), y: &[R; 3]) -> [R; 4] {
    let one = square.same(1.0);
    let mut cut = *y;
    for k in 0..3 {
        cut[k] = y[k].min(1.0).max(-1.0);
    }
    let [x, y, z] = cut;
    let turn = x * x + y * y + z * z;
    let [bx, by, bz, bw] = [x * 2.0, y * 2.0, z * 2.0, one - turn];
    let [ax, ay, az, aw] = from;
    // The length of the turn is 1 + y².
    let length = square.same(1.0 / ROTATION_UNIT) / (square.sqrt() * (turn + 1.0));
    let product = [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ];
    let mut out = [one; 4];
    for k in 0..4 {
        // A code is an integer: its zero has no sign, which a transform would show.
        out[k] = (product[k] * length).round() + 0.0;
    }
    out
}

/// Returns R·S·p: a point after scale and rotation. `near`: the quaternion has unit length except for
/// rounding; else it may have any length, and a quaternion of zeros does not rotate.
#[inline(always)]
pub(super) fn arm<R: Real<f64>>(q: &[R; 4], near: bool, scale: &[R; 3], p: &[R; 3]) -> [R; 3] {
    let [x, y, z, w] = *q;
    let v = [scale[0] * p[0], scale[1] * p[1], scale[2] * p[2]];
    let square = dot(q, q);
    let twice = match near {
        true => square.same(4.0) - square - square,
        false => square.same(2.0) / square.max(1e-30),
    };
    let u = [y * v[2] - z * v[1] + w * v[0], z * v[0] - x * v[2] + w * v[1], x * v[1] - y * v[0] + w * v[2]];
    [
        v[0] + twice * (y * u[2] - z * u[1]),
        v[1] + twice * (z * u[0] - x * u[2]),
        v[2] + twice * (x * u[1] - y * u[0]),
    ]
}

/// The constants from which, with the codes, transforms are computed: of one node or of eight.
#[derive(Clone, Copy)]
pub(super) struct PoseConstants<R> {
    /// `true` for each of translation, rotation, scale that moves.
    pub moves: [bool; 3],
    /// `true` if some pivot is not the origin.
    pub pivots: bool,
    pub rest: [[R; 4]; 3],
    pub origin: [R; 3],
    pub unit: R,
    pub scale: [R; 3],
    pub pivot: [R; 3],
}

/// Returns the transform of some codes, not yet rounded to f32: rotation, translation, scale.
#[inline(always)]
pub(super) fn pose<R: Double>(
    frame: &PoseConstants<R>,
    t: &[R; 3],
    r: &[R; 4],
    s: &[R; 3],
) -> ([R; 4], [R; 3], [R; 3]) {
    let mut rotation = frame.rest[1];
    if frame.moves[1] {
        for k in 0..4 {
            rotation[k] = (r[k] * ROTATION_UNIT).narrow();
        }
    }
    let [a, b, c, _] = frame.rest[2];
    let mut scale = [a, b, c];
    if frame.moves[2] {
        for k in 0..3 {
            scale[k] = (s[k] * frame.scale[k]).narrow();
        }
    }
    let [a, b, c, _] = frame.rest[0];
    let mut translation = [a, b, c];
    if frame.moves[0] {
        for k in 0..3 {
            translation[k] = frame.origin[k] + t[k] * frame.unit;
        }
        if frame.pivots {
            let arm = arm(&rotation, frame.moves[1], &scale, &frame.pivot);
            for k in 0..3 {
                translation[k] = translation[k] - arm[k];
            }
        }
    }
    (rotation, translation, scale)
}

/// Returns the transform of one node, in f32.
pub(super) fn transform(frame: &PoseConstants<f64>, words: &TrackCodes) -> Transform {
    let at = |k: usize| f64::from(words[k]);
    let t = [at(0), at(1), at(2)];
    let (r, s) = ([at(3), at(4), at(5), at(6)], [at(7), at(8), at(9)]);
    let (rotation, translation, scale) = pose(frame, &t, &r, &s);
    Transform {
        rotation: rotation.map(|v| v as f32),
        translation: translation.map(|v| v as f32),
        scale: scale.map(|v| v as f32),
    }
}
