//! Transforms: an ordered list of operations, each an attribute that may be animated, becomes one transform
//! over time: translation, rotation and scale if these suffice, otherwise a matrix.

use super::compose::{Prim, Stage};
use super::rotation::slerp_unnormalized;
use super::samples::{Timeline, f64s};
use glam::{DMat4, DQuat, DVec3};
use meshreel_scene::{
    Channel, Error, Identity, LocalTransform, Qvv, Source, TIME_TOLERANCE, TimeSampling, Transform,
};
use std::sync::Arc;

/// Rotates from z up to y up.
pub const Y_UP: DMat4 = DMat4::from_cols_array(&[
    1.0, 0.0, 0.0, 0.0, //
    0.0, 0.0, -1.0, 0.0, //
    0.0, 1.0, 0.0, 0.0, //
    0.0, 0.0, 0.0, 1.0,
]);

/// Upper limit for the operations of a transform.
const MAX_OPS: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum XformOpKind {
    Translate,
    Scale,
    /// Along one axis.
    TranslateAxis(usize),
    ScaleAxis(usize),
    Rotate(usize),
    /// Rotations about three axes, the first axis applied first.
    RotateThree([usize; 3]),
    Orient,
    Matrix,
}

impl XformOpKind {
    /// Returns the kind for the second part of an operation's name.
    fn from_name(name: &str) -> Option<XformOpKind> {
        let axis = |letter: char| "XYZ".find(letter);
        let one = |prefix: &str| axis(name.strip_prefix(prefix)?.chars().next()?);
        Some(match name {
            "translate" => XformOpKind::Translate,
            "scale" => XformOpKind::Scale,
            "orient" => XformOpKind::Orient,
            "transform" => XformOpKind::Matrix,
            "translateX" | "translateY" | "translateZ" => XformOpKind::TranslateAxis(one("translate")?),
            "scaleX" | "scaleY" | "scaleZ" => XformOpKind::ScaleAxis(one("scale")?),
            "rotateX" | "rotateY" | "rotateZ" => XformOpKind::Rotate(one("rotate")?),
            "rotateXYZ" | "rotateXZY" | "rotateYXZ" | "rotateYZX" | "rotateZXY" | "rotateZYX" => {
                let mut axes = name.chars().rev().filter_map(axis);
                let (third, second, first) = (axes.next()?, axes.next()?, axes.next()?);
                XformOpKind::RotateThree([first, second, third])
            }
            _ => return None,
        })
    }

    /// Returns how many numbers the operation takes.
    fn width(self) -> usize {
        match self {
            XformOpKind::TranslateAxis(_) | XformOpKind::ScaleAxis(_) | XformOpKind::Rotate(_) => 1,
            XformOpKind::Translate | XformOpKind::Scale | XformOpKind::RotateThree(_) => 3,
            XformOpKind::Orient => 4,
            XformOpKind::Matrix => 16,
        }
    }

    /// Returns the transform for `width` numbers.
    fn local(self, v: &[f64]) -> LocalTransform {
        let axis = |axis: usize, value: f64, rest: f64| {
            DVec3::from_array(std::array::from_fn(|i| if i == axis { value } else { rest }))
        };
        let turn =
            |about: usize, degrees: f64| DQuat::from_axis_angle(axis(about, 1.0, 0.0), degrees.to_radians());
        let moved = |translation| LocalTransform::Components(Qvv { translation, ..Qvv::IDENTITY });
        let turned = |rotation| LocalTransform::Components(Qvv { rotation, ..Qvv::IDENTITY });
        let scaled = |scale| LocalTransform::Components(Qvv { scale, ..Qvv::IDENTITY });
        match (self, v) {
            (XformOpKind::Translate, &[x, y, z]) => moved(DVec3::new(x, y, z)),
            (XformOpKind::Scale, &[x, y, z]) => scaled(DVec3::new(x, y, z)),
            (XformOpKind::TranslateAxis(a), &[v]) => moved(axis(a, v, 0.0)),
            (XformOpKind::ScaleAxis(a), &[v]) => scaled(axis(a, v, 1.0)),
            (XformOpKind::Rotate(a), &[degrees]) => turned(turn(a, degrees)),
            (XformOpKind::RotateThree([a, b, c]), &[x, y, z]) => {
                let degrees = [x, y, z];
                turned(turn(c, degrees[c]) * turn(b, degrees[b]) * turn(a, degrees[a]))
            }
            // The real part determines the angle, whatever the length is.
            (XformOpKind::Orient, &[x, y, z, w]) => {
                let axis = DVec3::new(x, y, z).try_normalize();
                let angle = 2.0 * w.clamp(-1.0, 1.0).acos();
                turned(axis.map_or(DQuat::IDENTITY, |axis| DQuat::from_axis_angle(axis, angle)))
            }
            // The rows of a row-vector matrix are the columns of a column-vector matrix.
            (XformOpKind::Matrix, v) => {
                LocalTransform::Matrix(v.first_chunk().map_or(DMat4::IDENTITY, DMat4::from_cols_array))
            }
            _ => LocalTransform::IDENTITY,
        }
    }
}

struct XformOp {
    kind: XformOpKind,
    inverted: bool,
    values: Channel<f64>,
}

impl XformOp {
    fn transform_at(&self, time: f64) -> Result<LocalTransform, Error> {
        let (at, fraction) = self.values.locate(time);
        let mut values = Vec::new();
        self.values.read(at, &mut values)?;
        if fraction > 0.0 {
            let mut next = Vec::new();
            self.values.read(at + 1, &mut next)?;
            if self.kind == XformOpKind::Orient {
                if let (&[x, y, z, w], &[a, b, c, d]) = (&values[..], &next[..]) {
                    let (from, to) = (DQuat::from_xyzw(x, y, z, w), DQuat::from_xyzw(a, b, c, d));
                    values = slerp_unnormalized(from, to, fraction).to_array().to_vec();
                }
            } else if values.len() == next.len() {
                let pairs = values.iter_mut().zip(&next);
                pairs.for_each(|(value, next)| *value += (next - *value) * fraction);
            }
        }
        if values.len() != self.kind.width() {
            return Ok(LocalTransform::IDENTITY);
        }
        let local = self.kind.local(&values);
        Ok(match (self.inverted, local) {
            (false, local) => local,
            // A singular transform has no inverse.
            (true, local) if local.matrix().determinant() == 0.0 => LocalTransform::IDENTITY,
            // Only one of the parts differs from the identity.
            (true, LocalTransform::Components(Qvv { translation, rotation, scale })) => {
                let (rotation, scale) = (rotation.conjugate(), scale.recip());
                LocalTransform::Components(Qvv { translation: -translation, rotation, scale })
            }
            (true, LocalTransform::Matrix(matrix)) => LocalTransform::Matrix(matrix.inverse()),
        })
    }
}

/// The product of all operations.
struct XformOpStack {
    /// The outermost transform, from z up to y up.
    turn: Option<LocalTransform>,
    ops: Vec<XformOp>,
    sampling: Arc<TimeSampling>,
    count: usize,
    bends: bool,
}

impl XformOpStack {
    fn transform_at(&self, time: f64) -> Result<LocalTransform, Error> {
        let mut local = self.turn.unwrap_or(LocalTransform::IDENTITY);
        for op in &self.ops {
            local = local.compose(&op.transform_at(time)?);
        }
        Ok(local)
    }
}

impl Source<LocalTransform> for XformOpStack {
    fn len(&self) -> usize {
        self.count
    }

    fn identity(&self, i: usize) -> Identity {
        let time = self.sampling.time(i);
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        for op in &self.ops {
            let (at, fraction) = op.values.locate(time);
            hash.update(&op.values.identity(at).to_le_bytes());
            if fraction > 0.0 && op.values.identity(at) != op.values.identity(at + 1) {
                hash.update(&op.values.identity(at + 1).to_le_bytes());
                hash.update(&fraction.to_le_bytes());
            }
        }
        hash.digest128()
    }

    fn read(&self, i: usize, out: &mut Vec<LocalTransform>) -> Result<(), Error> {
        out.clear();
        out.push(self.transform_at(self.sampling.time(i))?);
        Ok(())
    }

    fn has_own_interpolation(&self) -> bool {
        self.bends
    }

    fn read_between(&self, time: f64, out: &mut Vec<LocalTransform>) -> Result<bool, Error> {
        if self.bends {
            out.clear();
            out.push(self.transform_at(time)?);
        }
        Ok(self.bends)
    }
}

/// Returns the matrix at a time: that of the operations if they bend, otherwise linear between samples.
pub fn matrix_at(channel: &Channel<LocalTransform>, time: f64) -> Result<DMat4, Error> {
    let (sample, fraction) = channel.locate(time);
    let mut out = Vec::new();
    if fraction > 0.0 && channel.read_between(time, &mut out)? {
        return Ok(out.first().map_or(DMat4::IDENTITY, LocalTransform::matrix));
    }
    channel.read(sample, &mut out)?;
    let matrix = out.first().map_or(DMat4::IDENTITY, LocalTransform::matrix);
    if fraction > 0.0 {
        channel.read(sample + 1, &mut out)?;
        let next = out.first().map_or(matrix, LocalTransform::matrix);
        return Ok(matrix * (1.0 - fraction) + next * fraction);
    }
    Ok(matrix)
}

/// Reads the transform of a prim. `turn`: a rotation applied outside of transforms in world space.
pub fn read(
    stage: &mut Stage,
    prim: &Prim,
    timeline: &mut Timeline,
    turn: Option<DMat4>,
    is_root: bool,
) -> Result<Option<Transform>, Error> {
    let mut order = stage.attribute(prim, "xformOpOrder")?;
    if order.is_some() && matches!(stage.text(prim, "typeName")?.as_deref(), None | Some("" | "Scope")) {
        let what = "has operations of a transform, which its type has not; they are left out";
        stage.remark(&prim.path, what);
        order = None;
    }
    let order = match order {
        Some(order) => {
            let count = order.length()?;
            if count > MAX_OPS {
                let (asked, name) = (count as u64, &stage.root_stack().root_layer().name);
                return Err(Error::limit(
                    name,
                    "operations of a transform; bake it into a matrix",
                    asked,
                    MAX_OPS as u64,
                ));
            }
            let mut names = Vec::new();
            timeline.channel(&order, super::samples::texts()).read(0, &mut names)?;
            names
        }
        None => Vec::new(),
    };
    // Everything before the last reset has no effect.
    let reset = order.iter().rposition(|name| &**name == "!resetXformStack!");
    let mut ops = Vec::new();
    for name in &order[reset.map_or(0, |at| at + 1)..] {
        match op(stage, prim, timeline, name)? {
            Ok(op) => ops.extend(op),
            Err(what) => stage.remark(&prim.path, format!("{what}; that operation is left out")),
        }
    }
    let turn = turn.filter(|_| is_root || reset.is_some());
    if ops.is_empty() && turn.is_none() && reset.is_none() {
        return Ok(None);
    }
    let local = product(turn, ops)?;
    Ok(Some(Transform { local, inherits: reset.map(|_| Channel::constant(vec![false])) }))
}

/// Reads one operation; `None` if it has no value and so no effect.
fn op(
    stage: &Stage,
    prim: &Prim,
    timeline: &mut Timeline,
    name: &str,
) -> Result<Result<Option<XformOp>, String>, Error> {
    let (inverted, name) = match name.strip_prefix("!invert!") {
        Some(name) => (true, name),
        None => (false, name),
    };
    let kind = name.strip_prefix("xformOp:").map(|rest| rest.split(':').next().unwrap_or(rest));
    let Some(kind) = kind.and_then(XformOpKind::from_name) else {
        return Ok(Err(format!("its operation '{}' is of no known kind", super::stack::abbreviated(name))));
    };
    let Some(attribute) = stage.attribute(prim, name)? else {
        return Ok(Ok(None));
    };
    if attribute.length()? > 1 {
        return Ok(Err(format!("its operation '{name}' is a list")));
    }
    let values = timeline.channel(&attribute, f64s());
    // At times without a value it has no effect.
    let mut some = 0;
    while some + 1 < values.len() && attribute.values.length(some)? == 0 {
        some += 1;
    }
    let mut first = Vec::new();
    values.read(if attribute.retime.scale < 0.0 { values.len() - 1 - some } else { some }, &mut first)?;
    if first.len() != kind.width() {
        let what = format!("its operation '{name}' has {} numbers instead of {}", first.len(), kind.width());
        return Ok(Err(what));
    }
    Ok(Ok(Some(XformOp { kind, inverted, values })))
}

fn product(turn: Option<DMat4>, ops: Vec<XformOp>) -> Result<Channel<LocalTransform>, Error> {
    let moving: Vec<&XformOp> = ops.iter().filter(|op| !op.values.is_constant()).collect();
    let constant = Arc::new(TimeSampling::Uniform { start: 0.0, step: 1.0 });
    let (sampling, count) = match &moving[..] {
        [] => (constant, 1),
        [first, rest @ ..] => {
            let (own, count) = (first.values.sampling(), first.values.len());
            let same = |op: &&XformOp| op.values.sampling() == own && op.values.len() == count;
            match rest.iter().all(same) {
                true => (own.clone(), count),
                false => {
                    let times = |op: &&XformOp| -> Vec<f64> {
                        (0..op.values.len()).map(|i| op.values.time(i)).collect()
                    };
                    let mut times: Vec<f64> = moving.iter().flat_map(times).collect();
                    times.sort_by(f64::total_cmp);
                    times.dedup_by(|b, a| *b - *a < TIME_TOLERANCE);
                    let count = times.len();
                    (Arc::new(TimeSampling::Acyclic { times }), count)
                }
            }
        }
    };
    let plain = |op: &&XformOp| {
        matches!(op.kind, XformOpKind::Matrix | XformOpKind::Translate | XformOpKind::TranslateAxis(_))
    };
    let bends = moving.len() > 1 || !moving.iter().all(plain);
    let turned = |turn: DMat4| Qvv { rotation: DQuat::from_mat4(&turn), ..Qvv::IDENTITY }.into();
    let ops = XformOpStack { turn: turn.map(turned), ops, sampling: sampling.clone(), count, bends };
    Ok(Channel::new(sampling, Arc::new(ops)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_axis_turns_first() {
        let Some(kind) = XformOpKind::from_name("rotateXYZ") else { panic!("no rotation") };
        assert_eq!(kind, XformOpKind::RotateThree([0, 1, 2]));
        // Rotates y to z by 90° about x, then z to x about y.
        let m = kind.local(&[90.0, 90.0, 0.0]).matrix();
        assert!(m.transform_vector3(DVec3::Y).abs_diff_eq(DVec3::X, 1e-12));
        let other = XformOpKind::from_name("rotateZYX").map(|kind| kind.local(&[90.0, 90.0, 0.0]).matrix());
        assert!(other.is_some_and(|m| m.transform_vector3(DVec3::Y).abs_diff_eq(DVec3::Z, 1e-12)));
        assert_eq!(XformOpKind::from_name("rotateXX"), None);
        assert!(Y_UP.transform_vector3(DVec3::Z).abs_diff_eq(DVec3::Y, 0.0));
    }
}
