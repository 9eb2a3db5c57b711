//! Animations: curves per node, evaluated as the glTF specification defines them (3.11 and appendix C: STEP,
//! LINEAR with slerp, CUBICSPLINE with tangents times the distance of keys), and the uniform times at which
//! they are sampled.

use super::camera::LensParameter;
use super::document::{AnimationJson, Document};
use super::pointer::{self, ChannelTarget, NodeProperty};
use glam::DQuat;
use meshreel_scene::sample::{MAX_FRAMES, last_time_before};
use meshreel_scene::uniform_times::{self, UniformTimes};
use meshreel_scene::{Error, Remark, TIME_TOLERANCE};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Far beyond any sensible value in any unit, and products stay finite.
const MAX_VALUE: f64 = 1e15;

/// `true` if the value is not a number or too large to be usable.
pub(super) fn is_unusable(value: f64) -> bool {
    value.is_nan() || value.abs() > MAX_VALUE
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interpolation {
    Step,
    Linear,
    Cubic,
}

/// Rotations by more than this angle (radians) from one sample to the next are divided: half a turn could go
/// either way, and two samples alone give the shorter way.
const MAX_SAMPLE_TURN: f64 = 1.571;
/// The largest angle of the parts of a divided rotation, in radians.
const MAX_DIVIDED_TURN: f64 = 0.786;

/// The keys of one property of one node.
#[derive(Clone)]
pub(super) struct Curve {
    /// Key times in seconds, ascending; at least one.
    times: Arc<Vec<f64>>,
    /// `width` numbers per key; for cubic curves three times as many: in-tangent, value, out-tangent.
    values: Arc<Vec<f32>>,
    width: usize,
    interpolation: Interpolation,
}

impl Curve {
    /// Returns the key at or before `time`, and the position of `time` between it and the next one as a
    /// fraction, 0 at the key.
    fn locate(&self, time: f64) -> (usize, f64) {
        let keys = &*self.times;
        let after = keys.partition_point(|k| *k <= time + TIME_TOLERANCE);
        let Some(k) = after.checked_sub(1) else {
            return (0, 0.0);
        };
        match keys.get(k + 1) {
            Some(next) if time - keys[k] > TIME_TOLERANCE && *next > keys[k] => {
                (k, ((time - keys[k]) / (next - keys[k])).clamp(0.0, 1.0))
            }
            _ => (k, 0.0),
        }
    }

    /// Returns number `i` of part `part` (0 in-tangent, 1 value, 2 out-tangent) of key `k`.
    fn key_value(&self, k: usize, part: usize, i: usize) -> f64 {
        let at = match self.interpolation {
            Interpolation::Cubic => (3 * k + part) * self.width + i,
            _ => k * self.width + i,
        };
        self.values.get(at).copied().unwrap_or(0.0).into()
    }

    fn interpolate(&self, k: usize, u: f64, i: usize) -> f64 {
        let a = self.key_value(k, 1, i);
        if u == 0.0 || self.interpolation == Interpolation::Step {
            return a;
        }
        let b = self.key_value(k + 1, 1, i);
        if self.interpolation == Interpolation::Linear {
            return a + (b - a) * u;
        }
        let step = self.times[k + 1] - self.times[k];
        let (out, into) = (self.key_value(k, 2, i) * step, self.key_value(k + 1, 0, i) * step);
        let (u2, u3) = (u * u, u * u * u);
        (2.0 * u3 - 3.0 * u2 + 1.0) * a
            + (u3 - 2.0 * u2 + u) * out
            + (3.0 * u2 - 2.0 * u3) * b
            + (u3 - u2) * into
    }

    /// Returns the value at `time`; before the first key and after the last one it is constant.
    pub fn value<const N: usize>(&self, time: f64) -> [f64; N] {
        let (k, u) = self.locate(time);
        std::array::from_fn(|i| self.interpolate(k, u, i))
    }

    /// Computes the value at `time` of a curve of any width.
    pub fn fill(&self, time: f64, out: &mut Vec<f64>) {
        let (k, u) = self.locate(time);
        out.clear();
        out.extend((0..self.width).map(|i| self.interpolate(k, u, i)));
    }

    /// Returns the number of rotation keys that are all zero.
    fn zeros(&self) -> usize {
        (0..self.times.len()).filter(|k| (0..4).all(|i| self.key_value(*k, 1, i) == 0.0)).count()
    }

    /// Returns the value at `time` of a rotation curve, as a unit quaternion.
    pub fn rotation(&self, time: f64) -> DQuat {
        let (k, u) = self.locate(time);
        let value = |k: usize| unit(std::array::from_fn(|i| self.key_value(k, 1, i)));
        if u > 0.0 && self.interpolation == Interpolation::Linear {
            return value(k).slerp(value(k + 1), u).normalize();
        }
        unit(std::array::from_fn(|i| self.interpolate(k, u, i)))
    }

    /// Appends times between keys wherever a rotation turns by more than [`MAX_SAMPLE_TURN`].
    pub fn push_turn_times(&self, times: &mut Vec<f64>) {
        if self.width != 4 || self.interpolation != Interpolation::Linear {
            return;
        }
        for pair in self.times.windows(2) {
            let (a, b) = (self.rotation(pair[0]), self.rotation(pair[1]));
            let turn = rotation_angle(a, b);
            if turn > MAX_SAMPLE_TURN {
                let parts = (turn / MAX_DIVIDED_TURN).ceil();
                let time = |i: usize| pair[0] + (pair[1] - pair[0]) * i as f64 / parts;
                times.extend((1..parts as usize).map(time));
            }
        }
    }

    /// Appends the time just before each step, so that linear interpolation of samples reproduces it.
    pub fn push_step_times(&self, times: &mut Vec<f64>) {
        if self.interpolation != Interpolation::Step {
            return;
        }
        for (k, pair) in self.times.windows(2).enumerate() {
            let same = (0..self.width).all(|i| self.key_value(k, 1, i) == self.key_value(k + 1, 1, i));
            let time = last_time_before(pair[1]);
            if !same && time > pair[0] + TIME_TOLERANCE {
                times.push(time);
            }
        }
    }

    /// Returns the largest angle by which a rotation turns from one time of `grid` to the next. Between two
    /// keys a LINEAR rotation turns evenly and a cubic one smoothly, so a limited number of places is tested,
    /// however many times there are.
    fn farthest_turn(&self, grid: &UniformTimes) -> f64 {
        /// The largest number of places tested between two keys.
        const MAX_TEST_POINTS: usize = 256;
        if self.width != 4
            || self.interpolation == Interpolation::Step
            || self.is_constant()
            || grid.samples < 2
        {
            return 0.0;
        }
        let from = |i: usize| {
            let at = |part: f64| self.rotation(grid.time(i) + part / grid.fps);
            // Measured via the middle, since the rotation need not take the shorter way.
            rotation_angle(at(0.0), at(0.5)) + rotation_angle(at(0.5), at(1.0))
        };
        let last = grid.samples - 2;
        let step_at = |time: f64| (((time - grid.start) * grid.fps).floor().max(0.0) as usize).min(last);
        let (mut farthest, mut next) = (0.0f64, 0);
        for pair in self.times.windows(2) {
            let (first, end) = (step_at(pair[0]).max(next), step_at(pair[1]));
            let apart = end.saturating_sub(first).div_ceil(MAX_TEST_POINTS).max(1);
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
        self.key_value(k, 1, 0) > 0.5
    }

    /// Returns the spans between two keys of a scale curve of which exactly one is zero: players show
    /// nothing, or everything, until the next sample.
    pub fn zero_scale_spans(&self) -> impl Iterator<Item = [f64; 2]> {
        let is_nothing = |k: usize| (0..self.width).all(|i| self.key_value(k, 1, i) == 0.0);
        let keys = self.times.windows(2).enumerate().filter(|_| self.interpolation == Interpolation::Linear);
        keys.filter(move |(k, _)| is_nothing(*k) != is_nothing(k + 1)).map(|(_, pair)| [pair[0], pair[1]])
    }

    /// Returns the spans between two keys in which the value does not change.
    fn constant_spans(&self) -> impl Iterator<Item = [f64; 2]> {
        let still = |k: usize| {
            let tangents = |k: usize, part: usize| (0..self.width).all(|i| self.key_value(k, part, i) == 0.0);
            let same = (0..self.width).all(|i| self.key_value(k, 1, i) == self.key_value(k + 1, 1, i));
            self.interpolation == Interpolation::Step
                || same
                    && (self.interpolation == Interpolation::Linear || tangents(k, 2) && tangents(k + 1, 0))
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
        self.interpolation == Interpolation::Linear
    }

    /// `true` if the curve bends between keys, as non-constant cubic curves do.
    pub fn bends(&self) -> bool {
        self.interpolation == Interpolation::Cubic && !self.is_constant()
    }

    /// `true` if each value holds until the next key.
    pub fn is_step(&self) -> bool {
        self.interpolation == Interpolation::Step
    }

    /// `true` if all keys have the same value and all tangents are zero.
    pub fn is_constant(&self) -> bool {
        let (parts, w) = (if self.interpolation == Interpolation::Cubic { 3 } else { 1 }, self.width);
        let first = |i: usize| self.key_value(0, 1, i);
        (0..self.times.len()).all(|k| {
            (0..w).all(|i| {
                self.key_value(k, 1, i) == first(i)
                    && (parts == 1 || self.key_value(k, 0, i) == 0.0 && self.key_value(k, 2, i) == 0.0)
            })
        })
    }
}

/// Returns the angle between two rotations in radians, at most half a turn.
fn rotation_angle(a: DQuat, b: DQuat) -> f64 {
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
pub(super) struct NodeCurves {
    pub translation: Option<Curve>,
    pub rotation: Option<Curve>,
    pub scale: Option<Curve>,
    pub weights: Option<Curve>,
    /// Curves of single weights, which take precedence over `weights`.
    pub weight: Vec<(usize, Curve)>,
    /// The visibility of the node and all below it.
    pub visible: Option<Curve>,
}

impl NodeCurves {
    /// Returns the curves of translation, rotation and scale that exist.
    pub fn transform_curves(&self) -> impl Iterator<Item = &Curve> {
        [&self.translation, &self.rotation, &self.scale].into_iter().flatten()
    }

    /// Returns all curves of weights.
    pub fn weight_curves(&self) -> impl Iterator<Item = &Curve> {
        self.weights.iter().chain(self.weight.iter().map(|(_, curve)| curve))
    }

    /// `true` if the transform changes.
    pub fn moves(&self) -> bool {
        self.transform_curves().any(|curve| !curve.is_constant())
    }

    /// Returns the slot for a property's curve, or `None` if it is taken.
    fn slot(&mut self, property: NodeProperty) -> Option<&mut Option<Curve>> {
        let place = match property {
            NodeProperty::Translation => &mut self.translation,
            NodeProperty::Rotation => &mut self.rotation,
            NodeProperty::Scale => &mut self.scale,
            NodeProperty::Weights | NodeProperty::Weight(_) => &mut self.weights,
            NodeProperty::Visible => &mut self.visible,
        };
        place.is_none().then_some(place)
    }
}

/// An animation of the file, or several merged ones that move different nodes.
#[derive(Clone, Default)]
pub(super) struct Animation {
    pub name: String,
    pub nodes: BTreeMap<usize, NodeCurves>,
    /// The animated numbers of each camera.
    pub cameras: BTreeMap<usize, BTreeMap<LensParameter, Curve>>,
}

impl Animation {
    /// Returns all curves.
    fn curves(&self) -> impl Iterator<Item = &Curve> {
        let nodes = self.nodes.values();
        let nodes =
            nodes.flat_map(|own| own.transform_curves().chain(own.weight_curves()).chain(&own.visible));
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
        let mut left = LeftOutChannels::default();
        // Weights of meshes apply to nodes without weights of their own.
        let mut of_meshes = Vec::new();
        for (c, channel) in json.channels.iter().enumerate() {
            let at = format!("animation {a}, channel {c}");
            let moved = match pointer::channel_target(&channel.target) {
                Ok(moved) => moved,
                Err(what) => {
                    left.add_unsupported(what);
                    continue;
                }
            };
            if let Some(what) = moved.missing(&document.root) {
                return Err(document.malformed(what, at));
            }
            let mesh = |node: usize| document.root.nodes[node].mesh;
            let all = |mesh: Option<usize>| mesh.map_or(0, &weights_of);
            let one = |mesh: Option<usize>, i: usize| usize::from(i < all(mesh));
            let width = match moved {
                ChannelTarget::Node(node, NodeProperty::Weights) => all(mesh(node)),
                ChannelTarget::Node(node, NodeProperty::Weight(i)) => one(mesh(node), i),
                ChannelTarget::Mesh(mesh, None) => all(Some(mesh)),
                ChannelTarget::Mesh(mesh, Some(i)) => one(Some(mesh), i),
                ChannelTarget::Node(_, NodeProperty::Rotation) => 4,
                ChannelTarget::Node(_, NodeProperty::Translation | NodeProperty::Scale) => 3,
                ChannelTarget::Node(_, NodeProperty::Visible) | ChannelTarget::Camera(..) => 1,
            };
            let Some(curve) = loader.curve(json, channel.sampler, width, moved, &at)? else {
                left.empty += 1;
                continue;
            };
            if let ChannelTarget::Node(_, NodeProperty::Rotation) = moved {
                left.zero += curve.zeros();
            }
            match moved {
                ChannelTarget::Node(node, property) => {
                    left.duplicate += usize::from(!animation.add(node, property, curve));
                }
                ChannelTarget::Mesh(mesh, one) => of_meshes.push((mesh, one, curve)),
                ChannelTarget::Camera(camera, part) => {
                    let parts = animation.cameras.entry(camera).or_default();
                    left.duplicate += usize::from(parts.insert(part, curve).is_some());
                }
            }
        }
        for (mesh, one, curve) in of_meshes {
            let property = one.map_or(NodeProperty::Weights, NodeProperty::Weight);
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
    fn add(&mut self, node: usize, property: NodeProperty, curve: Curve) -> bool {
        let curves = self.nodes.entry(node).or_default();
        if let NodeProperty::Weight(i) = property {
            let new = curves.weight.iter().all(|(other, _)| *other != i);
            if new {
                curves.weight.push((i, curve));
            }
            return new;
        }
        match curves.slot(property) {
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
struct LeftOutChannels {
    /// The distinct targets of channels that are not supported, and the number of these channels.
    targets: BTreeSet<String>,
    unsupported: usize,
    empty: usize,
    duplicate: usize,
    zero: usize,
}

impl LeftOutChannels {
    fn add_unsupported(&mut self, target: &str) {
        self.unsupported += 1;
        self.targets.insert(super::document::abbreviated(target));
    }

    fn remark(self, file: &str, animation: &str, remarks: &mut Vec<Remark>) {
        /// The largest number of targets that are named.
        const MAX_SHOWN_TARGETS: usize = 6;
        let more = match self.targets.len().saturating_sub(MAX_SHOWN_TARGETS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let targets: Vec<String> = self.targets.into_iter().take(MAX_SHOWN_TARGETS).collect();
        let targets = format!("channels move what is not kept: {}{more}", targets.join(", "));
        for (count, what) in [
            (self.unsupported, &*targets),
            (self.empty, "channels move nothing: they have no keys, or their mesh has no such target"),
            (self.duplicate, "channels move what another one moves; the first counts"),
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
        moved: ChannelTarget,
        at: &str,
    ) -> Result<Option<Curve>, Error> {
        let Some(sampler) = json.samplers.get(sampler) else {
            return Err(self.document.malformed("its sampler is not there", at));
        };
        let how = match sampler.interpolation.as_deref() {
            None | Some("LINEAR") => Interpolation::Linear,
            Some("STEP") => Interpolation::Step,
            Some("CUBICSPLINE") => Interpolation::Cubic,
            Some(other) => {
                let other = super::document::abbreviated(other);
                let what = format!("interpolation '{other}'");
                return Err(self.document.malformed(what, at));
            }
        };
        let times = self.times(sampler.input)?;
        let components = match moved {
            ChannelTarget::Node(_, NodeProperty::Rotation) => 4,
            ChannelTarget::Node(_, NodeProperty::Translation | NodeProperty::Scale) => 3,
            _ => 1,
        };
        let values = self.values(sampler.output, components)?;
        let parts = if how == Interpolation::Cubic { 3 } else { 1 };
        if times.len().checked_mul(width * parts) != Some(values.len()) {
            let what = format!("{} numbers at {} times", values.len(), times.len());
            return Err(self.document.malformed(what, at));
        }
        let some = !times.is_empty() && width > 0;
        Ok(some.then_some(Curve { times, values, width, interpolation: how }))
    }

    fn times(&mut self, accessor: usize) -> Result<Arc<Vec<f64>>, Error> {
        if let Some(times) = self.times.get(&accessor) {
            return Ok(times.clone());
        }
        let keys = self.document.values(accessor, 1)?.floats::<1>()?;
        let times: Vec<f64> = keys.iter().map(|[t]| f64::from(*t)).collect();
        let sane = |t: &f64| t.abs() <= MAX_VALUE;
        if !times.iter().all(sane) || times.windows(2).any(|w| w[1] < w[0]) {
            let what = "key times that do not ascend";
            return Err(self.document.malformed(what, format!("accessor {accessor}")));
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
        if let Some(bad) = values.iter().find(|v| is_unusable(f64::from(**v))) {
            let what = format!("{bad} in an animation");
            return Err(self.document.malformed(what, format!("accessor {accessor}")));
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
        for [from, to] in curve.constant_spans() {
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
) -> Result<Option<(UniformTimes, bool)>, Error> {
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
                uniform_times::sort_and_merge(&mut keys);
            }
        }
    }
    let found = UniformTimes::from_keys(keys, usual, &document.path, &animation.name)?;
    Ok(found.map(|(mut grid, exact)| {
        let turns = animation.curves().map(|curve| curve.farthest_turn(&grid));
        let farthest = turns.fold(0.0, f64::max);
        let finer = (farthest / MAX_DIVIDED_TURN).ceil() as usize;
        if farthest > MAX_SAMPLE_TURN && (grid.samples - 1) * finer < MAX_FRAMES {
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
            interpolation: Interpolation::Cubic,
        };
        for t in [0.0, 0.5, 1.0, 2.0, 3.75, 4.0] {
            // a + bt + ct² + dt³ with p(0), p'(0), p(4), p'(4) as above.
            let (a, b) = (1.0, 2.0);
            let c = (3.0 * (3.0 - a) / 4.0 - 2.0 * b - -1.0) / 4.0;
            let d = (2.0 * (a - 3.0) / 4.0 + b + -1.0) / 16.0;
            let wanted = a + b * t + c * t * t + d * t * t * t;
            let [got] = curve.value::<1>(t);
            assert!((got - wanted).abs() < 1e-12, "{t}: {got} {wanted}");
        }
        assert_eq!(curve.value::<1>(-1.0), [1.0]);
        assert_eq!(curve.value::<1>(7.0), [3.0]);
    }

    /// Half a turn follows the specification's slerp and is divided.
    #[test]
    fn far_turns_are_divided() {
        let half = |y: f32, w: f32| [0.0, y, 0.0, w];
        let curve = |how, values: [[f32; 4]; 3]| Curve {
            times: Arc::new(vec![0.0, 2.0, 3.0]),
            values: Arc::new(values.as_flattened().to_vec()),
            width: 4,
            interpolation: how,
        };
        let (zero, quarter, turned) = (half(0.0, 1.0), half(0.3, 0.954), half(1.0, 1e-9));
        let mut times = Vec::new();
        curve(Interpolation::Linear, [zero, turned, turned]).push_turn_times(&mut times);
        assert_eq!(times, [0.5, 1.0, 1.5]);
        times.clear();
        curve(Interpolation::Linear, [zero, quarter, zero]).push_turn_times(&mut times);
        curve(Interpolation::Step, [zero, turned, zero]).push_turn_times(&mut times);
        assert!(times.is_empty(), "{times:?}");
        let grid = UniformTimes { start: 0.0, fps: 1.0, samples: 4 };
        let farthest = |how, values| curve(how, values).farthest_turn(&grid);
        assert_eq!(farthest(Interpolation::Step, [zero, turned, zero]), 0.0);
        let turn = farthest(Interpolation::Linear, [zero, quarter, turned]);
        assert!((turn - (std::f64::consts::PI - 0.6094)).abs() < 1e-3, "{turn}");
        let turn = farthest(Interpolation::Linear, [zero, zero, turned]);
        assert!((turn - std::f64::consts::PI).abs() < 1e-3, "{turn}");
    }
}
