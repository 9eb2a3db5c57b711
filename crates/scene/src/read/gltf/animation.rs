//! Animations: curves per node, evaluated as the glTF specification defines them (3.11 and appendix C: STEP,
//! LINEAR with slerp, CUBICSPLINE with tangents times the distance of keys), and the uniform times at which
//! they are sampled.

use super::camera::LensPart;
use super::document::{AnimationJson, Document};
use super::pointer::{self, Moved, Property};
use crate::grid::{self, Grid};
use crate::sample::{MAX_FRAMES, just_before};
use crate::{Error, Remark, SAME_TIME};
use glam::DQuat;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Far beyond any sensible value in any unit, and products stay finite.
const LARGEST: f64 = 1e15;

/// `true` if the value is not a number or too large to be usable.
pub(super) fn is_wild(value: f64) -> bool {
    value.is_nan() || value.abs() > LARGEST
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Step,
    Linear,
    Cubic,
}

/// Rotations by more than this angle (radians) from one sample to the next are divided: half a turn could go
/// either way, and two samples alone give the shorter way.
const FAR: f64 = 1.571;
/// The largest angle of the parts of a divided rotation, in radians.
const DIVIDED: f64 = 0.786;

/// The keys of one property of one node.
#[derive(Clone)]
pub(super) struct Curve {
    /// Key times in seconds, ascending; at least one.
    times: Arc<Vec<f64>>,
    /// `width` numbers per key; for cubic curves three times as many: in-tangent, value, out-tangent.
    values: Arc<Vec<f32>>,
    width: usize,
    how: How,
}

impl Curve {
    /// Returns the key at or before `time`, and the position of `time` between it and the next one as a
    /// fraction, 0 at the key.
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

    /// Returns number `i` of part `part` (0 in-tangent, 1 value, 2 out-tangent) of key `k`.
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

    /// Returns the value at `time`; before the first key and after the last one it is constant.
    pub fn at<const N: usize>(&self, time: f64) -> [f64; N] {
        let (k, u) = self.locate(time);
        std::array::from_fn(|i| self.between(k, u, i))
    }

    /// Computes the value at `time` of a curve of any width.
    pub fn fill(&self, time: f64, out: &mut Vec<f64>) {
        let (k, u) = self.locate(time);
        out.clear();
        out.extend((0..self.width).map(|i| self.between(k, u, i)));
    }

    /// Returns the number of rotation keys that are all zero.
    fn zeros(&self) -> usize {
        (0..self.times.len()).filter(|k| (0..4).all(|i| self.part(*k, 1, i) == 0.0)).count()
    }

    /// Returns the value at `time` of a rotation curve, as a unit quaternion.
    pub fn rotation(&self, time: f64) -> DQuat {
        let (k, u) = self.locate(time);
        let value = |k: usize| unit(std::array::from_fn(|i| self.part(k, 1, i)));
        if u > 0.0 && self.how == How::Linear {
            return value(k).slerp(value(k + 1), u).normalize();
        }
        unit(std::array::from_fn(|i| self.between(k, u, i)))
    }

    /// Appends times between keys wherever a rotation turns by more than [`FAR`].
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

    /// Appends the time just before each step, so that linear interpolation of samples reproduces it.
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

    /// Returns the largest angle by which a rotation turns from one time of `grid` to the next. Between two
    /// keys a LINEAR rotation turns evenly and a cubic one smoothly, so a limited number of places is tested,
    /// however many times there are.
    fn farthest_turn(&self, grid: &Grid) -> f64 {
        /// The largest number of places tested between two keys.
        const PLACES: usize = 256;
        if self.width != 4 || self.how == How::Step || self.is_constant() || grid.samples < 2 {
            return 0.0;
        }
        let from = |i: usize| {
            let at = |part: f64| self.rotation(grid.time(i) + part / grid.fps);
            // Measured via the middle, since the rotation need not take the shorter way.
            turn(at(0.0), at(0.5)) + turn(at(0.5), at(1.0))
        };
        let last = grid.samples - 2;
        let step_at = |time: f64| (((time - grid.start) * grid.fps).floor().max(0.0) as usize).min(last);
        let (mut farthest, mut next) = (0.0f64, 0);
        for pair in self.times.windows(2) {
            let (first, end) = (step_at(pair[0]).max(next), step_at(pair[1]));
            let apart = end.saturating_sub(first).div_ceil(PLACES).max(1);
            // The keys themselves may lie within a step.
            let steps = (first..=end).step_by(apart).chain((end.max(first) > next).then_some(end));
            farthest = steps.map(from).fold(farthest, f64::max);
            next = next.max(end + 1);
        }
        farthest
    }

    /// `true` if a held curve is above 0 at `time`; its values are never interpolated.
    pub fn is_on(&self, time: f64) -> bool {
        let (k, _) = self.locate(time);
        self.part(k, 1, 0) > 0.5
    }

    /// Returns the spans between two keys of a scale curve of which exactly one is zero: players show
    /// nothing, or everything, until the next sample.
    pub fn starts_from_zero(&self) -> impl Iterator<Item = [f64; 2]> {
        let is_nothing = |k: usize| (0..self.width).all(|i| self.part(k, 1, i) == 0.0);
        let keys = self.times.windows(2).enumerate().filter(|_| self.how == How::Linear);
        keys.filter(move |(k, _)| is_nothing(*k) != is_nothing(k + 1)).map(|(_, pair)| [pair[0], pair[1]])
    }

    /// Returns the spans between two keys in which the value does not change.
    fn still_spans(&self) -> impl Iterator<Item = [f64; 2]> {
        let still = |k: usize| {
            let tangents = |k: usize, part: usize| (0..self.width).all(|i| self.part(k, part, i) == 0.0);
            let same = (0..self.width).all(|i| self.part(k, 1, i) == self.part(k + 1, 1, i));
            self.how == How::Step || same && (self.how == How::Linear || tangents(k, 2) && tangents(k + 1, 0))
        };
        let keys = self.times.windows(2).enumerate();
        keys.filter(move |(k, _)| still(*k)).map(|(_, pair)| [pair[0], pair[1]])
    }

    pub fn times(&self) -> &[f64] {
        &self.times
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// `true` if linear interpolation of the keys is exact.
    pub fn is_linear(&self) -> bool {
        self.how == How::Linear
    }

    /// `true` if the curve bends between keys, as non-constant cubic curves do.
    pub fn bends(&self) -> bool {
        self.how == How::Cubic && !self.is_constant()
    }

    /// `true` if each value holds until the next key.
    pub fn is_step(&self) -> bool {
        self.how == How::Step
    }

    /// `true` if all keys have the same value and all tangents are zero.
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

/// Returns the angle between two rotations in radians, at most half a turn.
fn turn(a: DQuat, b: DQuat) -> f64 {
    2.0 * a.dot(b).abs().min(1.0).acos()
}

/// Normalizes a quaternion; one of length 0 becomes the identity.
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
    /// Curves of single weights, which take precedence over `weights`.
    pub weight: Vec<(usize, Curve)>,
    /// The visibility of the node and all below it.
    pub visible: Option<Curve>,
}

impl Curves {
    /// Returns the curves of translation, rotation and scale that exist.
    pub fn of_transform(&self) -> impl Iterator<Item = &Curve> {
        [&self.translation, &self.rotation, &self.scale].into_iter().flatten()
    }

    /// Returns all curves of weights.
    pub fn of_weights(&self) -> impl Iterator<Item = &Curve> {
        self.weights.iter().chain(self.weight.iter().map(|(_, curve)| curve))
    }

    /// `true` if the transform changes.
    pub fn moves(&self) -> bool {
        self.of_transform().any(|curve| !curve.is_constant())
    }

    /// Returns the slot for a property's curve, or `None` if it is taken.
    fn place(&mut self, property: Property) -> Option<&mut Option<Curve>> {
        let place = match property {
            Property::Translation => &mut self.translation,
            Property::Rotation => &mut self.rotation,
            Property::Scale => &mut self.scale,
            Property::Weights | Property::Weight(_) => &mut self.weights,
            Property::Visible => &mut self.visible,
        };
        place.is_none().then_some(place)
    }
}

/// An animation of the file, or several merged ones that move different nodes.
#[derive(Clone, Default)]
pub(super) struct Animation {
    pub name: String,
    pub nodes: BTreeMap<usize, Curves>,
    /// The animated numbers of each camera.
    pub cameras: BTreeMap<usize, BTreeMap<LensPart, Curve>>,
}

impl Animation {
    /// Returns all curves.
    fn curves(&self) -> impl Iterator<Item = &Curve> {
        let nodes = self.nodes.values();
        let nodes = nodes.flat_map(|own| own.of_transform().chain(own.of_weights()).chain(&own.visible));
        nodes.chain(self.cameras.values().flat_map(BTreeMap::values))
    }

    /// `true` if anything changes.
    pub fn moves(&self) -> bool {
        self.curves().any(|curve| !curve.is_constant())
    }
}

/// Reads all animations. Data shared in the file is shared in memory. `weights_of`: the number of morph
/// targets of a mesh.
pub(super) fn read(
    document: &Document,
    weights_of: impl Fn(usize) -> usize,
    remarks: &mut Vec<Remark>,
) -> Result<Vec<Animation>, Error> {
    let mut loader = Loader { document, times: HashMap::new(), values: HashMap::new() };
    let file = document.path.display().to_string();
    let mut out = Vec::new();
    for (a, json) in document.root.animations.iter().enumerate() {
        let name = json.name.clone().unwrap_or(format!("animation {a}"));
        let mut animation = Animation { name, ..Animation::default() };
        let mut left = Left::default();
        // Weights of meshes apply to nodes without weights of their own.
        let mut of_meshes = Vec::new();
        for (c, channel) in json.channels.iter().enumerate() {
            let at = format!("animation {a}, channel {c}");
            let moved = match pointer::moved(&channel.target) {
                Ok(moved) => moved,
                Err(what) => {
                    left.other(what);
                    continue;
                }
            };
            if let Some(what) = moved.missing(&document.root) {
                return Err(document.wrong(what, at));
            }
            let mesh = |node: usize| document.root.nodes[node].mesh;
            let all = |mesh: Option<usize>| mesh.map_or(0, &weights_of);
            let one = |mesh: Option<usize>, i: usize| usize::from(i < all(mesh));
            let width = match moved {
                Moved::Node(node, Property::Weights) => all(mesh(node)),
                Moved::Node(node, Property::Weight(i)) => one(mesh(node), i),
                Moved::Mesh(mesh, None) => all(Some(mesh)),
                Moved::Mesh(mesh, Some(i)) => one(Some(mesh), i),
                Moved::Node(_, Property::Rotation) => 4,
                Moved::Node(_, Property::Translation | Property::Scale) => 3,
                Moved::Node(_, Property::Visible) | Moved::Camera(..) => 1,
            };
            let Some(curve) = loader.curve(json, channel.sampler, width, moved, &at)? else {
                left.empty += 1;
                continue;
            };
            if let Moved::Node(_, Property::Rotation) = moved {
                left.zero += curve.zeros();
            }
            match moved {
                Moved::Node(node, property) => {
                    left.twice += usize::from(!animation.add(node, property, curve));
                }
                Moved::Mesh(mesh, one) => of_meshes.push((mesh, one, curve)),
                Moved::Camera(camera, part) => {
                    let parts = animation.cameras.entry(camera).or_default();
                    left.twice += usize::from(parts.insert(part, curve).is_some());
                }
            }
        }
        for (mesh, one, curve) in of_meshes {
            let property = one.map_or(Property::Weights, Property::Weight);
            for (node, json) in document.root.nodes.iter().enumerate() {
                if json.mesh == Some(mesh) && json.weights.is_none() {
                    animation.add(node, property, curve.clone());
                }
            }
        }
        left.remark(&file, &animation.name, remarks);
        out.push(animation);
    }
    Ok(out)
}

impl Animation {
    /// Adds a curve to a node; returns `false` if the property already has one.
    fn add(&mut self, node: usize, property: Property, curve: Curve) -> bool {
        let curves = self.nodes.entry(node).or_default();
        if let Property::Weight(i) = property {
            let new = curves.weight.iter().all(|(other, _)| *other != i);
            if new {
                curves.weight.push((i, curve));
            }
            return new;
        }
        match curves.place(property) {
            Some(place) => {
                *place = Some(curve);
                true
            }
            None => false,
        }
    }
}

/// The channels of an animation that are left out, and the reasons.
#[derive(Default)]
struct Left {
    /// The distinct targets of channels that are not supported, and the number of these channels.
    targets: BTreeSet<String>,
    other: usize,
    empty: usize,
    twice: usize,
    zero: usize,
}

impl Left {
    fn other(&mut self, target: &str) {
        self.other += 1;
        self.targets.insert(super::document::shown(target));
    }

    fn remark(self, file: &str, animation: &str, remarks: &mut Vec<Remark>) {
        /// The largest number of targets that are named.
        const SHOWN: usize = 6;
        let more = match self.targets.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let targets: Vec<String> = self.targets.into_iter().take(SHOWN).collect();
        let targets = format!("channels move what is not kept: {}{more}", targets.join(", "));
        for (count, what) in [
            (self.other, &*targets),
            (self.empty, "channels move nothing: they have no keys, or their mesh has no such target"),
            (self.twice, "channels move what another one moves; the first counts"),
            (self.zero, "rotations are all zero; no rotation stands for them"),
        ] {
            if count > 0 {
                remarks.push(Remark::new(file, format!("animation '{animation}': {count} {what}")));
            }
        }
    }
}

struct Loader<'a> {
    document: &'a Document,
    times: HashMap<usize, Arc<Vec<f64>>>,
    values: HashMap<(usize, usize), Arc<Vec<f32>>>,
}

impl Loader<'_> {
    /// Reads a sampler as a curve; returns `None` if it has no keys.
    fn curve(
        &mut self,
        json: &AnimationJson,
        sampler: usize,
        width: usize,
        moved: Moved,
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
        let components = match moved {
            Moved::Node(_, Property::Rotation) => 4,
            Moved::Node(_, Property::Translation | Property::Scale) => 3,
            _ => 1,
        };
        let values = self.values(sampler.output, components)?;
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

/// Returns the maximal spans in which no curve of `animation` changes, in order of time.
pub(super) fn idle(animation: &Animation) -> Vec<[f64; 2]> {
    let mut keys: Vec<f64> = Vec::new();
    let mut moving: Vec<[f64; 2]> = Vec::new();
    for curve in animation.curves().filter(|curve| !curve.is_constant()) {
        let mut at = curve.times[0];
        for [from, to] in curve.still_spans() {
            // The value changes at the end of a step.
            moving.extend([[at, from], [to, to]]);
            at = to;
        }
        moving.push([at, curve.times[curve.times.len() - 1]]);
    }
    for curve in animation.curves() {
        keys.extend([curve.times[0], curve.times[curve.times.len() - 1]]);
    }
    let (Some(first), Some(last)) =
        (keys.iter().copied().reduce(f64::min), keys.iter().copied().reduce(f64::max))
    else {
        return Vec::new();
    };
    moving.push([last, last]);
    moving.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let (mut out, mut end) = (Vec::new(), first);
    for [from, to] in moving {
        if from > end {
            out.push([end, from]);
        }
        end = end.max(to);
    }
    out
}

/// Returns the uniform times from the first to the last key of `animation`: at the rate of the keys, or a
/// rate that contains them, or else at `usual` frames per second; at a multiple of it if a rotation turns too
/// far from one sample to the next. The flag is `true` if all keys are on these times. `None` without keys.
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
            // Nearly all files share key times between all curves; otherwise a few repetitions cost little.
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
        // p(0) = 1, p'(0) = 2, p(4) = 3, p'(4) = -1: the Hermite polynomial, computed from its definition.
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

    /// Half a turn follows the specification's slerp and is divided.
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
