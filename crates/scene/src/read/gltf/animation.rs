//! Animations: curves per node, evaluated as the format's specification says (3.11 and appendix C: STEP,
//! LINEAR with slerp, CUBICSPLINE with tangents times the distance of keys), and the uniform times to sample
//! them at.

use super::document::{AnimationJson, Document};
use crate::grid::{self, Grid};
use crate::sample::{MAX_FRAMES, just_before};
use crate::{Error, Remark, SAME_TIME};
use glam::DQuat;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Far beyond what any unit can mean, and products stay finite.
const LARGEST: f64 = 1e15;

/// No number, or one beyond all use.
pub(super) fn is_wild(value: f64) -> bool {
    value.is_nan() || value.abs() > LARGEST
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Step,
    Linear,
    Cubic,
}

/// Turns from one sample to the next beyond this are divided, in radians: half a turn can go either way, and
/// whoever has two samples alone takes the shorter one.
const FAR: f64 = 1.571;
/// Angle of the turns that far turns are divided into, at most, in radians.
const DIVIDED: f64 = 0.786;

/// Keys of one property of one node.
#[derive(Clone)]
pub(super) struct Curve {
    /// Ascending, at least one.
    times: Arc<Vec<f64>>,
    /// `width` numbers per key; three times as many for cubic ones: tangent in, value, tangent out.
    values: Arc<Vec<f32>>,
    width: usize,
    how: How,
}

impl Curve {
    /// The key at or before `time`, and where between it and the next one `time` is: a fraction, 0 at the
    /// key.
    fn locate(&self, time: f64) -> (usize, f64) {
        let keys = &*self.times;
        let after = keys.partition_point(|k| *k <= time + SAME_TIME);
        let Some(k) = after.checked_sub(1) else {
            return (0, 0.0);
        };
        match keys.get(k + 1) {
            Some(next) if time - keys[k] > SAME_TIME && *next > keys[k] => {
                (k, ((time - keys[k]) / (next - keys[k])).clamp(0.0, 1.0))
            }
            _ => (k, 0.0),
        }
    }

    /// Number `i` of part `part` (0 tangent in, 1 value, 2 tangent out) of key `k`.
    fn part(&self, k: usize, part: usize, i: usize) -> f64 {
        let at = match self.how {
            How::Cubic => (3 * k + part) * self.width + i,
            _ => k * self.width + i,
        };
        self.values.get(at).copied().unwrap_or(0.0).into()
    }

    fn between(&self, k: usize, u: f64, i: usize) -> f64 {
        let a = self.part(k, 1, i);
        if u == 0.0 || self.how == How::Step {
            return a;
        }
        let b = self.part(k + 1, 1, i);
        if self.how == How::Linear {
            return a + (b - a) * u;
        }
        let step = self.times[k + 1] - self.times[k];
        let (out, into) = (self.part(k, 2, i) * step, self.part(k + 1, 0, i) * step);
        let (u2, u3) = (u * u, u * u * u);
        (2.0 * u3 - 3.0 * u2 + 1.0) * a
            + (u3 - 2.0 * u2 + u) * out
            + (3.0 * u2 - 2.0 * u3) * b
            + (u3 - u2) * into
    }

    /// The value at `time`: the first key's before it, the last one's after it.
    pub fn at<const N: usize>(&self, time: f64) -> [f64; N] {
        let (k, u) = self.locate(time);
        std::array::from_fn(|i| self.between(k, u, i))
    }

    /// Value at `time` of a curve of any width.
    pub fn fill(&self, time: f64, out: &mut Vec<f64>) {
        let (k, u) = self.locate(time);
        out.clear();
        out.extend((0..self.width).map(|i| self.between(k, u, i)));
    }

    /// Value at `time` of a curve of rotations: a unit quaternion.
    pub fn rotation(&self, time: f64) -> DQuat {
        let (k, u) = self.locate(time);
        let value = |k: usize| unit(std::array::from_fn(|i| self.part(k, 1, i)));
        if u > 0.0 && self.how == How::Linear {
            return value(k).slerp(value(k + 1), u).normalize();
        }
        unit(std::array::from_fn(|i| self.between(k, u, i)))
    }

    /// Appends times between its keys where a rotation turns far.
    pub fn far_turns(&self, times: &mut Vec<f64>) {
        if self.width != 4 || self.how != How::Linear {
            return;
        }
        for pair in self.times.windows(2) {
            let (a, b) = (self.rotation(pair[0]), self.rotation(pair[1]));
            let turn = turn(a, b);
            if turn > FAR {
                let parts = (turn / DIVIDED).ceil();
                let time = |i: usize| pair[0] + (pair[1] - pair[0]) * i as f64 / parts;
                times.extend((1..parts as usize).map(time));
            }
        }
    }

    /// Appends for each step the time right before it, so that lines between samples are steps.
    pub fn before_steps(&self, times: &mut Vec<f64>) {
        if self.how != How::Step {
            return;
        }
        for (k, pair) in self.times.windows(2).enumerate() {
            let same = (0..self.width).all(|i| self.part(k, 1, i) == self.part(k + 1, 1, i));
            let time = just_before(pair[1]);
            if !same && time > pair[0] + SAME_TIME {
                times.push(time);
            }
        }
    }

    /// The farthest that a rotation turns from one time of `grid` to the next.
    fn farthest_turn(&self, grid: &Grid) -> f64 {
        if self.width != 4 || self.how == How::Step || self.is_constant() {
            return 0.0;
        }
        let mut farthest = 0.0f64;
        let mut before = self.rotation(grid.time(0));
        for i in 1..grid.samples {
            let after = self.rotation(grid.time(i));
            // By way of the middle, since the shorter way need not be the one it goes.
            let middle = self.rotation(grid.time(i - 1) + 0.5 / grid.fps);
            farthest = farthest.max(turn(before, middle) + turn(middle, after));
            before = after;
        }
        farthest
    }

    pub fn times(&self) -> &[f64] {
        &self.times
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether straight lines between its keys say everything.
    pub fn is_linear(&self) -> bool {
        self.how == How::Linear
    }

    /// Whether between keys it bends: cubic ones do.
    pub fn bends(&self) -> bool {
        self.how == How::Cubic && !self.is_constant()
    }

    /// Whether each value stays until the next key.
    pub fn is_step(&self) -> bool {
        self.how == How::Step
    }

    /// Whether all keys are one value and no tangent leads away from it.
    pub fn is_constant(&self) -> bool {
        let (parts, w) = (if self.how == How::Cubic { 3 } else { 1 }, self.width);
        let first = |i: usize| self.part(0, 1, i);
        (0..self.times.len()).all(|k| {
            (0..w).all(|i| {
                self.part(k, 1, i) == first(i)
                    && (parts == 1 || self.part(k, 0, i) == 0.0 && self.part(k, 2, i) == 0.0)
            })
        })
    }
}

/// Angle between two rotations, in radians: at most half a turn.
fn turn(a: DQuat, b: DQuat) -> f64 {
    2.0 * a.dot(b).abs().min(1.0).acos()
}

/// A quaternion of length 1; none of length 0 is a rotation, and the identity stands for it.
pub(super) fn unit(q: [f64; 4]) -> DQuat {
    let q = DQuat::from_array(q);
    match q.length_squared() {
        square if square > 1e-30 => q.normalize(),
        _ => DQuat::IDENTITY,
    }
}

/// The animation curves of a node.
#[derive(Clone, Default)]
pub(super) struct Curves {
    pub translation: Option<Curve>,
    pub rotation: Option<Curve>,
    pub scale: Option<Curve>,
    pub weights: Option<Curve>,
}

impl Curves {
    /// The curves that are there of translation, rotation and scale.
    pub fn of_transform(&self) -> impl Iterator<Item = &Curve> {
        [&self.translation, &self.rotation, &self.scale].into_iter().flatten()
    }

    /// Whether the transform changes.
    pub fn moves(&self) -> bool {
        self.of_transform().any(|curve| !curve.is_constant())
    }
}

/// An animation of the file, or several that move different nodes.
#[derive(Clone, Default)]
pub(super) struct Animation {
    pub name: String,
    pub nodes: BTreeMap<usize, Curves>,
}

impl Animation {
    /// All curves.
    fn curves(&self) -> impl Iterator<Item = &Curve> {
        self.nodes.values().flat_map(|curves| curves.of_transform().chain(&curves.weights))
    }

    /// Whether anything changes.
    pub fn moves(&self) -> bool {
        self.curves().any(|curve| !curve.is_constant())
    }
}

/// Reads all animations. What is shared in the file is shared in memory.
pub(super) fn read(
    document: &Document,
    weights_of: impl Fn(usize) -> usize,
    remarks: &mut Vec<Remark>,
) -> Result<Vec<Animation>, Error> {
    let mut loader = Loader { document, times: HashMap::new(), values: HashMap::new() };
    let file = document.path.display().to_string();
    let mut out = Vec::new();
    for (a, json) in document.root.animations.iter().enumerate() {
        let mut animation =
            Animation { name: json.name.clone().unwrap_or(format!("animation {a}")), nodes: BTreeMap::new() };
        let (mut other, mut twice, mut zero) = (0, 0, 0);
        for (c, channel) in json.channels.iter().enumerate() {
            let at = format!("animation {a}, channel {c}");
            let path = &*channel.target.path;
            let (Some(node), "translation" | "rotation" | "scale" | "weights") = (channel.target.node, path)
            else {
                other += 1;
                continue;
            };
            if node >= document.root.nodes.len() {
                return Err(document.wrong(format!("node {node} is not there"), at));
            }
            let width = match path {
                "weights" => weights_of(node),
                "rotation" => 4,
                _ => 3,
            };
            let Some(curve) = loader.curve(json, channel.sampler, width, path, &at)? else {
                other += 1;
                continue;
            };
            if path == "rotation" {
                let is_zero = |k: &usize| (0..4).all(|i| curve.part(*k, 1, i) == 0.0);
                zero += (0..curve.times.len()).filter(is_zero).count();
            }
            let curves = animation.nodes.entry(node).or_default();
            let place = match path {
                "translation" => &mut curves.translation,
                "rotation" => &mut curves.rotation,
                "scale" => &mut curves.scale,
                _ => &mut curves.weights,
            };
            match place {
                None => *place = Some(curve),
                Some(_) => twice += 1,
            }
        }
        let mut remark = |count: usize, what: &str| {
            if count > 0 {
                let what = format!("animation '{}': {count} {what}", animation.name);
                remarks.push(Remark::new(&file, what));
            }
        };
        remark(other, "channels move nothing that is taken over");
        remark(twice, "channels move what another one moves; the first counts");
        remark(zero, "rotations are all zero; no rotation stands for them");
        out.push(animation);
    }
    Ok(out)
}

struct Loader<'a> {
    document: &'a Document,
    times: HashMap<usize, Arc<Vec<f64>>>,
    values: HashMap<(usize, usize), Arc<Vec<f32>>>,
}

impl Loader<'_> {
    /// `None` for one without keys.
    fn curve(
        &mut self,
        json: &AnimationJson,
        sampler: usize,
        width: usize,
        path: &str,
        at: &str,
    ) -> Result<Option<Curve>, Error> {
        let Some(sampler) = json.samplers.get(sampler) else {
            return Err(self.document.wrong("its sampler is not there", at));
        };
        let how = match sampler.interpolation.as_deref() {
            None | Some("LINEAR") => How::Linear,
            Some("STEP") => How::Step,
            Some("CUBICSPLINE") => How::Cubic,
            Some(other) => {
                let other = super::document::shown(other);
                let what = format!("interpolation '{other}'");
                return Err(self.document.wrong(what, at));
            }
        };
        let times = self.times(sampler.input)?;
        let values = self.values(sampler.output, if path == "weights" { 1 } else { width })?;
        let parts = if how == How::Cubic { 3 } else { 1 };
        if times.len().checked_mul(width * parts) != Some(values.len()) {
            let what = format!("{} numbers at {} times", values.len(), times.len());
            return Err(self.document.wrong(what, at));
        }
        let some = !times.is_empty() && width > 0;
        Ok(some.then_some(Curve { times, values, width, how }))
    }

    fn times(&mut self, accessor: usize) -> Result<Arc<Vec<f64>>, Error> {
        if let Some(times) = self.times.get(&accessor) {
            return Ok(times.clone());
        }
        let keys = self.document.values(accessor, 1)?.floats::<1>()?;
        let times: Vec<f64> = keys.iter().map(|[t]| f64::from(*t)).collect();
        let sane = |t: &f64| t.abs() <= LARGEST;
        if !times.iter().all(sane) || times.windows(2).any(|w| w[1] < w[0]) {
            let what = "key times that do not ascend";
            return Err(self.document.wrong(what, format!("accessor {accessor}")));
        }
        let times = Arc::new(times);
        self.times.insert(accessor, times.clone());
        Ok(times)
    }

    fn values(&mut self, accessor: usize, width: usize) -> Result<Arc<Vec<f32>>, Error> {
        if let Some(values) = self.values.get(&(accessor, width)) {
            return Ok(values.clone());
        }
        let values = self.document.values(accessor, width)?;
        let values = match width {
            1 => values.floats::<1>()?.into_flattened(),
            3 => values.floats::<3>()?.into_flattened(),
            _ => values.floats::<4>()?.into_flattened(),
        };
        if let Some(bad) = values.iter().find(|v| is_wild(f64::from(**v))) {
            let what = format!("{bad} in an animation");
            return Err(self.document.wrong(what, format!("accessor {accessor}")));
        }
        let values = Arc::new(values);
        self.values.insert((accessor, width), values.clone());
        Ok(values)
    }
}

/// From the first to the last key of `animation`: at the rate that its keys have, or one that they lie on, or
/// else at `usual` frames per second; at a multiple of it where something turns too far from one sample to
/// the next. The flag says whether all keys are on it. `None` without keys.
pub(super) fn grid(
    animation: &Animation,
    usual: f64,
    document: &Document,
) -> Result<Option<(Grid, bool)>, Error> {
    let mut keys: Vec<f64> = Vec::new();
    let mut seen: Vec<*const Vec<f64>> = Vec::new();
    for curve in animation.curves() {
        let shared = Arc::as_ptr(&curve.times);
        if !seen.contains(&shared) {
            // Nearly all files share the keys of all curves; in others, a few repetitions cost nothing.
            seen.truncate(64);
            seen.insert(0, shared);
            keys.extend_from_slice(&curve.times);
            if keys.len() > 4 * MAX_FRAMES {
                grid::tidy(&mut keys);
            }
        }
    }
    let found = Grid::of(keys, usual, &document.path, &animation.name)?;
    Ok(found.map(|(mut grid, exact)| {
        let turns = animation.curves().map(|curve| curve.farthest_turn(&grid));
        let farthest = turns.fold(0.0, f64::max);
        let finer = (farthest / DIVIDED).ceil() as usize;
        if farthest > FAR && (grid.samples - 1) * finer < MAX_FRAMES {
            grid.samples = (grid.samples - 1) * finer + 1;
            grid.fps *= finer as f64;
        }
        (grid, exact)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cubic_tangents_are_times_the_distance_of_keys() {
        // p(0) = 1, p'(0) = 2, p(4) = 3, p'(4) = -1: Hermite's polynomial, worked out by its definition.
        let curve = Curve {
            times: Arc::new(vec![0.0, 4.0]),
            values: Arc::new(vec![9.0, 1.0, 2.0, -1.0, 3.0, 9.0]),
            width: 1,
            how: How::Cubic,
        };
        for t in [0.0, 0.5, 1.0, 2.0, 3.75, 4.0] {
            // a + bt + ct² + dt³ with p(0), p'(0), p(4), p'(4) as above.
            let (a, b) = (1.0, 2.0);
            let c = (3.0 * (3.0 - a) / 4.0 - 2.0 * b - -1.0) / 4.0;
            let d = (2.0 * (a - 3.0) / 4.0 + b + -1.0) / 16.0;
            let wanted = a + b * t + c * t * t + d * t * t * t;
            let [got] = curve.at::<1>(t);
            assert!((got - wanted).abs() < 1e-12, "{t}: {got} {wanted}");
        }
        assert_eq!(curve.at::<1>(-1.0), [1.0]);
        assert_eq!(curve.at::<1>(7.0), [3.0]);
    }

    /// Half a turn goes where the specification's slerp goes, and is divided.
    #[test]
    fn far_turns_are_divided() {
        let half = |y: f32, w: f32| [0.0, y, 0.0, w];
        let curve = |how, values: [[f32; 4]; 3]| Curve {
            times: Arc::new(vec![0.0, 2.0, 3.0]),
            values: Arc::new(values.as_flattened().to_vec()),
            width: 4,
            how,
        };
        let (zero, quarter, turned) = (half(0.0, 1.0), half(0.3, 0.954), half(1.0, 1e-9));
        let mut times = Vec::new();
        curve(How::Linear, [zero, turned, turned]).far_turns(&mut times);
        assert_eq!(times, [0.5, 1.0, 1.5]);
        times.clear();
        curve(How::Linear, [zero, quarter, zero]).far_turns(&mut times);
        curve(How::Step, [zero, turned, zero]).far_turns(&mut times);
        assert!(times.is_empty(), "{times:?}");
        let grid = Grid { start: 0.0, fps: 1.0, samples: 4 };
        let farthest = |how, values| curve(how, values).farthest_turn(&grid);
        assert_eq!(farthest(How::Step, [zero, turned, zero]), 0.0);
        let turn = farthest(How::Linear, [zero, quarter, turned]);
        assert!((turn - (std::f64::consts::PI - 0.6094)).abs() < 1e-3, "{turn}");
        let turn = farthest(How::Linear, [zero, zero, turned]);
        assert!((turn - std::f64::consts::PI).abs() < 1e-3, "{turn}");
    }
}
