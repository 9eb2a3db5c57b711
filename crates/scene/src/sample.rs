//! What the source is at a time: the one place that says how it is interpolated, which times become frames,
//! and what is visible. Whoever compiles and whoever checks must mean the same source, so both ask here.
//!
//! * What a file says of the time between samples counts: joints that turn carry skins on curves, cubic keys
//!   bend ([`Source::between`]).
//! * Else positions, uvs, colours, normals: linear between samples of equal topology, else the earlier sample
//!   holds.
//! * Else transforms: translation and scale linear, rotation by slerp, where both samples are such; else
//!   linear by element.
//! * Visibility, topology, face sets: the earlier sample holds.

use crate::{
    Attribute, Channel, Error, Identity, Mesh, NamedRange, Numbers, Placed, SAME_TIME, Scene, Scope, Source,
    TimeSampling, Transform,
};
use glam::{DMat3, DMat4, DQuat, DVec3};
use std::collections::HashSet;
use std::sync::Arc;

/// Which attributes are compiled. Positions always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Channels {
    pub normals: bool,
    pub uvs: bool,
    pub colours: bool,
    /// [`numbers`], as far as they are equal all over a part.
    pub attributes: bool,
}

impl Default for Channels {
    fn default() -> Self {
        Channels { normals: true, uvs: true, colours: true, attributes: true }
    }
}

/// A part of the animation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Frames, both ends included.
    Frames(usize, usize),
    /// Seconds, both ends included.
    Seconds(f64, f64),
}

/// How frame times are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameOptions {
    /// What is compiled.
    pub channels: Channels,
    /// Resample to this rate.
    pub fps: Option<f64>,
    /// Keep only these.
    pub range: Option<Range>,
}

/// Largest number of frames.
pub const MAX_FRAMES: usize = 1 << 24;

/// Time of every output frame, ascending: the superset of the sample times of everything that is compiled and
/// really changes, times closer than [`SAME_TIME`] merged; then range, then rate. A scene in which nothing
/// changes has one frame. PROMISE.md §4. `selected[i]` says whether `placed[i]`'s mesh is compiled.
pub fn frame_times(
    scene: &Scene,
    placed: &[Placed],
    selected: &[bool],
    options: &FrameOptions,
) -> Result<Vec<f64>, Error> {
    let mut times = Vec::new();
    let mut fallback: Option<f64> = None;
    let mut needed = vec![false; placed.len()];
    let mut meshes = vec![false; scene.meshes.len()];
    for (i, _) in placed.iter().enumerate().filter(|(i, _)| selected[*i]) {
        let mut at = Some(i);
        while let Some(j) = at.filter(|&j| !needed[j]) {
            needed[j] = true;
            at = placed[j].parent;
        }
        if let Some(mesh) = scene.nodes[placed[i].node].mesh {
            meshes[mesh] = true;
        }
    }
    for (i, place) in placed.iter().enumerate().filter(|(i, _)| needed[*i]) {
        let node = &scene.nodes[place.node];
        if let Some(transform) = &node.transform {
            collect(&transform.matrix, &mut times)?;
            if let Some(inherits) = &transform.inherits {
                collect(inherits, &mut times)?;
            }
        }
        if let Some(visibility) = &node.visibility {
            collect(visibility, &mut times)?;
        }
        debug_assert!(i < placed.len());
    }
    for (mesh, _) in scene.meshes.iter().zip(&meshes).filter(|(_, used)| **used) {
        if !mesh.positions.is_empty() {
            let first = mesh.positions.time(0);
            fallback = Some(fallback.map_or(first, |t: f64| t.min(first)));
        }
        collect(&mesh.positions, &mut times)?;
        collect(&follow(&mesh.face_counts, mesh), &mut times)?;
        collect(&follow(&mesh.face_indices, mesh), &mut times)?;
        for set in &mesh.face_sets {
            collect(&follow(&set.faces, mesh), &mut times)?;
        }
        if let (true, Some(attribute)) = (options.channels.normals, &mesh.normals) {
            collect_attribute(attribute, mesh, &mut times)?;
        }
        if options.channels.uvs {
            for attribute in &mesh.uvs {
                collect_attribute(attribute, mesh, &mut times)?;
            }
        }
        if options.channels.colours {
            for attribute in &mesh.colours {
                collect_attribute(attribute, mesh, &mut times)?;
            }
        }
        if options.channels.attributes {
            for numbers in numbers(mesh) {
                collect_attribute(&numbers.attribute, mesh, &mut times)?;
            }
        }
    }
    times.retain(|t| t.is_finite());
    times.sort_by(f64::total_cmp);
    times.dedup_by(|b, a| *b - *a < SAME_TIME);
    if times.is_empty() {
        times.push(fallback.filter(|t| t.is_finite()).unwrap_or(0.0));
    }
    if let Some(fps) = options.fps {
        times = resample_ranges(&times, &scene.ranges, fps)?;
    }
    match options.range {
        None => {}
        Some(Range::Frames(first, last)) => {
            if first > last || first >= times.len() {
                return Err(Error::misuse(format!(
                    "--range {first}:{last}: the animation has frames 0 to {}",
                    times.len() - 1
                )));
            }
            times.truncate(last.saturating_add(1));
            times.drain(..first);
        }
        Some(Range::Seconds(first, last)) => {
            let (start, end) = (times[0], times[times.len() - 1]);
            times.retain(|&t| t >= first - SAME_TIME && t <= last + SAME_TIME);
            if times.is_empty() {
                return Err(Error::misuse(format!(
                    "--range {first}s:{last}s: the animation runs from {start} s to {end} s"
                )));
            }
        }
    }
    Ok(times)
}

/// The same for each range by itself: there is nothing between one and the next.
fn resample_ranges(times: &[f64], ranges: &[NamedRange], fps: f64) -> Result<Vec<f64>, Error> {
    let mut out = Vec::new();
    let mut left = times;
    for range in ranges {
        let before = left.partition_point(|t| *t < range.start - SAME_TIME);
        let (own, rest) = left.split_at(before);
        if !own.is_empty() {
            out.extend(resample(own, fps)?);
        }
        left = rest;
    }
    if !left.is_empty() {
        out.extend(resample(left, fps)?);
    }
    Ok(out)
}

/// Frames that belong together, of those at `times`: the name of their range, the first, and how many they
/// are. Ranges without frames are left out.
pub fn frame_ranges(ranges: &[NamedRange], times: &[f64]) -> Vec<(String, usize, usize)> {
    let frames = ranges.iter().map(|range| {
        let first = times.partition_point(|t| *t < range.start - SAME_TIME);
        let end = times.partition_point(|t| *t <= range.end + SAME_TIME);
        (range.name.clone(), first, end.saturating_sub(first))
    });
    frames.filter(|(_, _, count)| *count > 0).collect()
}

fn resample(times: &[f64], fps: f64) -> Result<Vec<f64>, Error> {
    let duration = times[times.len() - 1] - times[0];
    let count = (duration * fps + 1e-6).floor() + 1.0;
    if !(fps.is_finite() && fps > 0.0 && count <= MAX_FRAMES as f64) {
        return Err(Error::misuse(format!(
            "--fps {fps}: gives no usable number of frames over {duration} s"
        )));
    }
    Ok((0..count as usize).map(|i| times[0] + i as f64 / fps).collect())
}

fn collect<T: Clone + Send + Sync + 'static>(
    channel: &Channel<T>,
    times: &mut Vec<f64>,
) -> Result<(), Error> {
    match channel.len() > 1 && !channel.is_constant() {
        true => add(channel, 0..channel.len(), times),
        false => Ok(()),
    }
}

/// Only of the samples that differ from the one before or behind: between two that are the same nothing
/// changes.
fn collect_changes<T: Clone + Send + Sync + 'static>(
    channel: &Channel<T>,
    times: &mut Vec<f64>,
) -> Result<(), Error> {
    let n = channel.len();
    let differ = |i: usize| channel.identity(i) != channel.identity(i + 1);
    let changes = (0..n).filter(|&i| i > 0 && differ(i - 1) || i + 1 < n && differ(i));
    add(channel, changes, times)
}

fn add<T: Clone + Send + Sync + 'static>(
    channel: &Channel<T>,
    samples: impl Iterator<Item = usize>,
    times: &mut Vec<f64>,
) -> Result<(), Error> {
    if times.len() + channel.len() > 4 * MAX_FRAMES {
        // Many objects share times: merge before giving up.
        times.sort_by(f64::total_cmp);
        times.dedup_by(|b, a| *b - *a < SAME_TIME);
    }
    if times.len() + channel.len() > 8 * MAX_FRAMES {
        return Err(Error::Limit {
            path: Default::default(),
            what: "frames".into(),
            asked: (times.len() + channel.len()) as u64,
            allowed: MAX_FRAMES as u64,
        });
    }
    times.extend(samples.map(|i| channel.time(i)));
    Ok(())
}

fn collect_attribute<T: Clone + Send + Sync + 'static>(
    attribute: &Attribute<T>,
    mesh: &Mesh,
    times: &mut Vec<f64>,
) -> Result<(), Error> {
    collect_changes(&follow(&attribute.values, mesh), times)?;
    if let Some(indices) = &attribute.indices {
        collect_changes(&follow(indices, mesh), times)?;
    }
    Ok(())
}

/// `channel`, but with the times of the mesh's positions where an exporter gave it sampling 0 (one sample per
/// *second*) although it has a sample per frame.
pub fn follow<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, mesh: &Mesh) -> Channel<T> {
    let identity = TimeSampling::Uniform { start: 0.0, step: 1.0 };
    let positions = &mesh.positions;
    if channel.len() > 1 && channel.len() == positions.len() && **channel.sampling() == identity {
        channel.with_sampling(positions.sampling().clone())
    } else {
        channel.clone()
    }
}

/// Local matrix at `time`, and whether the parents' transforms apply.
pub fn transform_at(transform: &Transform, time: f64) -> Result<(DMat4, bool), Error> {
    let mut buffer = Vec::new();
    let inherits = match &transform.inherits {
        Some(channel) if !channel.is_empty() => {
            let mut flags = Vec::new();
            channel.read(channel.locate(time).0, &mut flags)?;
            flags.first().copied().unwrap_or(true)
        }
        _ => true,
    };
    let channel = &transform.matrix;
    if channel.is_empty() {
        return Ok((DMat4::IDENTITY, inherits));
    }
    let (i, fraction) = channel.locate(time);
    if fraction > 0.0 && channel.between(time, &mut buffer)? {
        let own = buffer.first().copied();
        return Ok((own.unwrap_or(DMat4::IDENTITY), inherits));
    }
    channel.read(i, &mut buffer)?;
    let a = buffer.first().copied().unwrap_or(DMat4::IDENTITY);
    if fraction == 0.0 || channel.identity(i) == channel.identity(i + 1) {
        return Ok((a, inherits));
    }
    channel.read(i + 1, &mut buffer)?;
    let b = buffer.first().copied().unwrap_or(DMat4::IDENTITY);
    Ok((interpolate(&a, &b, fraction), inherits))
}

/// Whether the file says that placed object `i` goes from sample to sample on another way than a player takes
/// it, which puts points on lines and turns of nodes on chords: its points, or a transform above it.
pub fn bends(scene: &Scene, placed: &[Placed], i: usize) -> bool {
    let mesh = scene.nodes[placed[i].node].mesh;
    if mesh.is_some_and(|mesh| scene.meshes[mesh].positions.bends()) {
        return true;
    }
    let mut at = Some(i);
    while let Some(j) = at {
        let transform = scene.nodes[placed[j].node].transform.as_ref();
        if transform.is_some_and(|t| t.matrix.bends()) {
            return true;
        }
        let inherits = transform.and_then(|t| t.inherits.as_ref());
        // One that never takes part in what is above.
        let alone = inherits.is_some_and(|channel| {
            let mut flags = Vec::new();
            channel.is_constant()
                && !channel.is_empty()
                && channel.read(0, &mut flags).is_ok()
                && flags.first() == Some(&false)
        });
        at = placed[j].parent.filter(|_| !alone);
    }
    false
}

/// The last time that is before `time` when times are of 32 bits: what is there holds up to a step at `time`.
/// More than a key may be moved to a uniform time.
pub fn just_before(time: f64) -> f64 {
    time - (5.0 * SAME_TIME).max(time.abs() * 4.0 * f64::from(f32::EPSILON))
}

/// Whether two times are so near to each other that what changes from one to the other is a step.
pub fn is_step(from: f64, to: f64) -> bool {
    to - from <= 2.0 * (to - just_before(to))
}

/// Between two local matrices.
pub fn interpolate(a: &DMat4, b: &DMat4, fraction: f64) -> DMat4 {
    match (pure(a), pure(b)) {
        (Some((sa, ra, ta)), Some((sb, rb, tb))) if (sa.x < 0.0) == (sb.x < 0.0) => {
            DMat4::from_scale_rotation_translation(
                sa.lerp(sb, fraction),
                ra.slerp(rb, fraction),
                ta.lerp(tb, fraction),
            )
        }
        _ => *a + (*b - *a) * fraction,
    }
}

/// Scale, rotation, translation, where the matrix is nothing else.
fn pure(m: &DMat4) -> Option<(DVec3, DQuat, DVec3)> {
    let (s, r, t) = m.to_scale_rotation_translation();
    if !(s.is_finite() && r.is_finite() && t.is_finite()) || s.min_element() == 0.0 && s.max_element() == 0.0
    {
        return None;
    }
    let back = DMat4::from_scale_rotation_translation(s, r, t);
    let size = m.x_axis.abs().max(m.y_axis.abs()).max(m.z_axis.abs()).max_element();
    let error = (0..3).map(|i| (back.col(i) - m.col(i)).abs().max_element()).fold(0.0, f64::max);
    (error <= 1e-6 * size).then_some((s, r, t))
}

/// World matrices and visibility of all placed objects at one time, reused from time to time.
pub struct World<'a> {
    scene: &'a Scene,
    placed: &'a [Placed],
    /// World matrix per placed object.
    pub matrix: Vec<DMat4>,
    /// Effective visibility per placed object.
    pub visible: Vec<bool>,
    /// Local matrix and inherits flag per placed object.
    pub local: Vec<(DMat4, bool)>,
    constant: Vec<bool>,
}

impl<'a> World<'a> {
    /// Reads what never changes.
    pub fn new(scene: &'a Scene, placed: &'a [Placed]) -> Result<World<'a>, Error> {
        let mut per_node: Vec<Option<(DMat4, bool)>> = vec![None; scene.nodes.len()];
        for (slot, node) in per_node.iter_mut().zip(&scene.nodes) {
            *slot = match &node.transform {
                None => Some((DMat4::IDENTITY, true)),
                Some(t) if t.matrix.is_constant() && t.inherits.as_ref().is_none_or(Channel::is_constant) => {
                    Some(transform_at(t, 0.0)?)
                }
                Some(_) => None,
            };
        }
        let constant: Vec<bool> = placed.iter().map(|p| per_node[p.node].is_some()).collect();
        let local = placed.iter().map(|p| per_node[p.node].unwrap_or((DMat4::IDENTITY, true))).collect();
        let n = placed.len();
        Ok(World { scene, placed, matrix: vec![DMat4::IDENTITY; n], visible: vec![true; n], local, constant })
    }

    /// Local matrix and inherits flag of `placed[i]` at any time.
    pub fn local_at(&self, i: usize, time: f64) -> Result<(DMat4, bool), Error> {
        match (self.constant[i], &self.scene.nodes[self.placed[i].node].transform) {
            (false, Some(transform)) => transform_at(transform, time),
            _ => Ok(self.local[i]),
        }
    }

    /// True where neither the local transform nor its inheritance changes.
    pub fn is_constant(&self, i: usize) -> bool {
        self.constant[i]
    }

    /// Fills `local`, `matrix` and `visible` for `time`.
    pub fn evaluate(&mut self, time: f64) -> Result<(), Error> {
        for i in 0..self.placed.len() {
            let node = &self.scene.nodes[self.placed[i].node];
            if let (false, Some(transform)) = (self.constant[i], &node.transform) {
                self.local[i] = transform_at(transform, time)?;
            }
            let (local, inherits) = self.local[i];
            let parent = self.placed[i].parent;
            self.matrix[i] = match parent {
                Some(p) if inherits => self.matrix[p] * local,
                _ => local,
            };
            self.visible[i] = match self.own_visibility(i, time)? {
                0 => false,
                1 => true,
                _ => parent.is_none_or(|p| self.visible[p]),
            };
        }
        Ok(())
    }

    fn own_visibility(&self, i: usize, time: f64) -> Result<i8, Error> {
        match &self.scene.nodes[self.placed[i].node].visibility {
            Some(channel) if !channel.is_empty() => {
                let mut value = Vec::new();
                channel.read(channel.locate(time).0, &mut value)?;
                Ok(value.first().copied().unwrap_or(-1))
            }
            _ => Ok(-1),
        }
    }
}

/// Largest factor by which a matrix stretches any direction: the largest singular value of its linear part.
pub fn largest_scale(m: &DMat4) -> f64 {
    let a = DMat3::from_mat4(*m);
    let mut s = a.transpose() * a;
    let off = s.col(1)[0].abs().max(s.col(2)[0].abs()).max(s.col(2)[1].abs());
    let on = s.col(0)[0].max(s.col(1)[1]).max(s.col(2)[2]);
    if off <= 1e-15 * on {
        return on.sqrt();
    }
    // Jacobi rotations on the symmetric 3×3: converges quadratically, 8 sweeps are plenty.
    for _ in 0..8 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let off = s.col(q)[p];
            if off.abs() <= f64::MIN_POSITIVE {
                continue;
            }
            let theta = (s.col(q)[q] - s.col(p)[p]) / (2.0 * off);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let t = if theta == 0.0 { 1.0 } else { t };
            let c = 1.0 / (t * t + 1.0).sqrt();
            let mut rotation = DMat3::IDENTITY;
            rotation.col_mut(p)[p] = c;
            rotation.col_mut(q)[q] = c;
            rotation.col_mut(q)[p] = t * c;
            rotation.col_mut(p)[q] = -t * c;
            s = rotation.transpose() * s * rotation;
        }
    }
    s.col(0)[0].max(s.col(1)[1]).max(s.col(2)[2]).max(0.0).sqrt()
}

/// Faces of a mesh at a time, in the file's order and winding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faces {
    /// Corners per face.
    pub counts: Vec<i32>,
    /// Point per corner.
    pub indices: Vec<i32>,
}

/// Values of an attribute at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values<T> {
    /// Values or palette.
    pub values: Vec<T>,
    /// Indices into the palette, one per element, where there are any.
    pub indices: Option<Vec<u32>>,
}

/// A value that can be mixed linearly.
pub trait Mix: Copy + Send + Sync + 'static {
    /// `a + (b − a)·f`, computed in f64.
    fn mix(a: Self, b: Self, f: f64) -> Self;
}

impl<const N: usize> Mix for [f32; N] {
    fn mix(a: Self, b: Self, f: f64) -> Self {
        std::array::from_fn(|i| (f64::from(a[i]) + (f64::from(b[i]) - f64::from(a[i])) * f) as f32)
    }
}

/// Number that says which topology a mesh has at `time`: equal numbers, equal faces.
pub fn topology_identity(mesh: &Mesh, time: f64) -> (u128, u128) {
    let of = |channel: &Channel<i32>| {
        if channel.is_empty() {
            return 0;
        }
        let channel = follow(channel, mesh);
        channel.identity(channel.locate(time).0)
    };
    (of(&mesh.face_counts), of(&mesh.face_indices))
}

/// Faces at `time`.
pub fn faces_at(mesh: &Mesh, time: f64, out: &mut Faces) -> Result<(), Error> {
    held(&mesh.face_counts, mesh, time, &mut out.counts)?;
    held(&mesh.face_indices, mesh, time, &mut out.indices)
}

/// The sample at or before `time`, of a channel that is never interpolated.
pub fn held<T: Clone + Send + Sync + 'static>(
    channel: &Channel<T>,
    mesh: &Mesh,
    time: f64,
    out: &mut Vec<T>,
) -> Result<(), Error> {
    out.clear();
    if channel.is_empty() {
        return Ok(());
    }
    let channel = follow(channel, mesh);
    channel.read(channel.locate(time).0, out)
}

/// Positions at `time`. Where a sample's number of points or the faces differ from the next one's, it holds.
pub fn positions_at(mesh: &Mesh, time: f64, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
    mixed(&mesh.positions, mesh, time, out)
}

/// Matrix of each joint of a mesh's skin at `time`; between samples as [`positions_at`] has it: what the file
/// says, or blended as matrices are. False without a skin, or where its samples are not those of the points.
pub fn pose_at(mesh: &Mesh, time: f64, out: &mut Vec<DMat4>) -> Result<bool, Error> {
    out.clear();
    let Some(skin) = &mesh.skin else {
        return Ok(false);
    };
    if skin.pose.is_empty() || skin.pose.len() != mesh.positions.len() {
        return Ok(false);
    }
    let (i, fraction) = mesh.positions.locate(time);
    if fraction > 0.0 && skin.pose.between(time, out)? {
        return Ok(out.len() == skin.joints.len());
    }
    skin.pose.read(i, out)?;
    if fraction > 0.0 {
        let mut next = Vec::new();
        skin.pose.read(i + 1, &mut next)?;
        for (m, next) in out.iter_mut().zip(next) {
            *m = *m * (1.0 - fraction) + next * fraction;
        }
    }
    Ok(out.len() == skin.joints.len())
}

/// An attribute at `time`.
pub fn attribute_at<T: Mix>(
    attribute: &Attribute<T>,
    mesh: &Mesh,
    time: f64,
    out: &mut Values<T>,
) -> Result<(), Error> {
    let values = follow(&attribute.values, mesh);
    match &attribute.indices {
        None => {
            out.indices = None;
            mixed(&values, mesh, time, &mut out.values)
        }
        Some(indices) => {
            let indices = follow(indices, mesh);
            let list = out.indices.get_or_insert_default();
            list.clear();
            if indices.is_empty() || values.is_empty() {
                out.values.clear();
                return Ok(());
            }
            let (i, fraction) = indices.locate(time);
            indices.read(i, list)?;
            let steady = fraction == 0.0 || indices.identity(i) == indices.identity(i + 1);
            if steady {
                mixed(&values, mesh, time, &mut out.values)
            } else {
                values.read(values.locate(time).0, &mut out.values)
            }
        }
    }
}

/// Attributes of one to four numbers, the first of each name; whole ones, too, which are NaN where f32 has no
/// such number.
pub fn numbers(mesh: &Mesh) -> Vec<Numbers> {
    struct Whole(Channel<i64>);
    impl Source<[f32; 4]> for Whole {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn identity(&self, i: usize) -> Identity {
            self.0.identity(i)
        }
        fn is_constant(&self) -> bool {
            self.0.is_constant()
        }
        fn read(&self, i: usize, out: &mut Vec<[f32; 4]>) -> Result<(), Error> {
            let mut values = Vec::new();
            self.0.read(i, &mut values)?;
            let number = |&v: &i64| match v.unsigned_abs() <= 1 << f32::MANTISSA_DIGITS {
                true => [v as f32, 0.0, 0.0, 0.0],
                false => [f32::NAN; 4],
            };
            out.clear();
            out.extend(values.iter().map(number));
            Ok(())
        }
    }
    let whole = |attribute: &Attribute<i64>| Numbers {
        components: 1,
        attribute: Attribute {
            name: attribute.name.clone(),
            scope: attribute.scope,
            values: Channel::new(
                attribute.values.sampling().clone(),
                Arc::new(Whole(attribute.values.clone())),
            ),
            indices: attribute.indices.clone(),
        },
    };
    let all = (mesh.numbers.iter().cloned()).chain(mesh.integers.iter().map(whole));
    let mut names = HashSet::new();
    all.filter(|n| !n.attribute.values.is_empty() && names.insert(n.attribute.name.clone())).collect()
}

/// Values of an attribute (not one of the whole mesh) by point, or what is wrong with it; none where faces or
/// corners of one point differ. Points without faces have 0.
pub fn by_point(
    scope: Scope,
    faces: &Faces,
    points: usize,
    values: &Values<[f32; 4]>,
) -> Result<Option<Vec<[f32; 4]>>, &'static str> {
    let count = element_count(scope, points, faces);
    let of = |i: usize| match &values.indices {
        None => values.values.get(i).copied(),
        Some(list) => values.values.get(*list.get(i)? as usize).copied(),
    };
    let there = values.indices.as_ref().map_or(values.values.len(), Vec::len);
    if there != count {
        return Err("has not as many values as there are elements");
    }
    const BEYOND: &str = "has indices beyond its values";
    if matches!(scope, Scope::Varying | Scope::Vertex) {
        let all = (0..points).map(|i| of(i).ok_or(BEYOND));
        return all.collect::<Result<_, _>>().map(Some);
    }
    let mut out: Vec<Option<[f32; 4]>> = vec![None; points];
    let mut corner = 0;
    for (face, &size) in faces.counts.iter().enumerate() {
        for _ in 0..size.max(0) {
            let Some(&point) = faces.indices.get(corner) else {
                break;
            };
            let value = of(if scope == Scope::Uniform { face } else { corner }).ok_or(BEYOND)?;
            corner += 1;
            let Some(own) = usize::try_from(point).ok().and_then(|p| out.get_mut(p)) else {
                continue;
            };
            match own {
                Some(other) if other.map(f32::to_bits) != value.map(f32::to_bits) => {
                    return Ok(None);
                }
                _ => *own = Some(value),
            }
        }
    }
    let all = out.into_iter().map(Option::unwrap_or_default);
    Ok(Some(all.collect()))
}

/// Number of values (through indices, if any) that `attribute` has at `time`, cheap only where it is
/// constant.
pub fn element_count(scope: Scope, points: usize, faces: &Faces) -> usize {
    match scope {
        Scope::Constant => 1,
        Scope::Uniform => faces.counts.len(),
        Scope::Varying | Scope::Vertex => points,
        Scope::FaceVarying => faces.indices.len(),
    }
}

fn mixed<T: Mix>(channel: &Channel<T>, mesh: &Mesh, time: f64, out: &mut Vec<T>) -> Result<(), Error> {
    out.clear();
    if channel.is_empty() {
        return Ok(());
    }
    let (i, fraction) = channel.locate(time);
    if fraction > 0.0 && channel.between(time, out)? {
        return Ok(());
    }
    channel.read(i, out)?;
    if fraction == 0.0 || channel.identity(i) == channel.identity(i + 1) {
        return Ok(());
    }
    let (before, after) = (channel.time(i), channel.time(i + 1));
    if topology_identity(mesh, before) != topology_identity(mesh, after) {
        return Ok(());
    }
    let mut next = Vec::new();
    channel.read(i + 1, &mut next)?;
    if next.len() == out.len() {
        for (a, b) in out.iter_mut().zip(&next) {
            *a = T::mix(*a, *b, fraction);
        }
    }
    Ok(())
}

/// True where the mesh's faces stay the same at all `times` (faces by identity, then by content).
pub fn fixed_topology(mesh: &Mesh, times: &[f64]) -> Result<bool, Error> {
    let (mut first, mut other) = (Faces::default(), Faces::default());
    let Some(&start) = times.first() else {
        return Ok(true);
    };
    faces_at(mesh, start, &mut first)?;
    let mut same = topology_identity(mesh, start);
    for &time in &times[1..] {
        let identity = topology_identity(mesh, time);
        if identity != same {
            faces_at(mesh, time, &mut other)?;
            if other != first {
                return Ok(false);
            }
            same = identity;
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_scale_of_rotated_and_sheared() {
        let m = DMat4::from_rotation_x(0.3)
            * DMat4::from_scale(DVec3::new(-2.0, 5.0, 0.5))
            * DMat4::from_rotation_z(1.0);
        assert!((largest_scale(&m) - 5.0).abs() < 1e-9);
        assert_eq!(largest_scale(&DMat4::ZERO), 0.0);
    }

    #[test]
    fn rate_and_range() {
        let times: Vec<f64> = (0..10).map(|i| i as f64 / 24.0).collect();
        let twice = resample(&times, 48.0).unwrap();
        assert_eq!(twice.len(), 19);
        assert!(resample(&times, 0.0).is_err());
    }

    #[test]
    fn locate_clamps_and_snaps() {
        let sampling = TimeSampling::Uniform { start: 1.0, step: 0.5 };
        let channel = Channel::in_memory(sampling, vec![vec![[0.0f32; 3]]; 4]);
        assert_eq!(channel.locate(0.0), (0, 0.0));
        assert_eq!(channel.locate(1.5 + 5e-6), (1, 0.0));
        assert_eq!(channel.locate(9.0), (3, 0.0));
        let (i, f) = channel.locate(1.75);
        assert!(i == 1 && (f - 0.5).abs() < 1e-12);
    }

    fn moving(sampling: TimeSampling, samples: usize) -> Channel<[f32; 3]> {
        Channel::in_memory(sampling, (0..samples).map(|i| vec![[i as f32, 0.0, 0.0]; 3]).collect())
    }

    fn scene(positions: Channel<[f32; 3]>, matrix: Channel<DMat4>) -> Scene {
        let node = |name: &str, parent: Option<usize>| crate::Node {
            name: name.into(),
            path: format!("/{name}"),
            parent,
            kind: crate::NodeKind::Xform,
            transform: None,
            visibility: None,
            mesh: None,
            instance_of: None,
            samples: 1,
            user_properties: Vec::new(),
        };
        let mut scene = Scene::default();
        let transform = Transform { matrix, inherits: None };
        scene.nodes.push(crate::Node { transform: Some(transform), ..node("top", None) });
        scene.nodes.push(crate::Node {
            mesh: Some(0),
            kind: crate::NodeKind::PolyMesh,
            ..node("mesh", Some(0))
        });
        scene.meshes.push(Mesh {
            path: "/top/mesh".into(),
            positions,
            face_counts: Channel::constant(vec![3]),
            face_indices: Channel::constant(vec![0, 1, 2]),
            winding: crate::Winding::CounterClockwise,
            topology: crate::Topology::Homogeneous,
            normals: None,
            uvs: Vec::new(),
            colours: Vec::new(),
            velocities: None,
            face_sets: Vec::new(),
            other_attributes: Vec::new(),
            is_subd: false,
            integers: Vec::new(),
            numbers: Vec::new(),
            names: Vec::new(),
            skin: None,
        });
        scene
    }

    fn times(scene: &Scene, options: &FrameOptions) -> Vec<f64> {
        let placed = scene.expand().unwrap();
        frame_times(scene, &placed, &[false, true], options).unwrap()
    }

    #[test]
    fn frames_are_the_superset_of_all_times_that_bring_change() {
        // The mesh at 0, 1/4, 1/2 … s; its transform at 0, 1/3, 2/3, 1 s and a hair beside 1/2 s.
        let step = 0.25;
        let matrix =
            |n: usize| (0..n).map(|i| vec![DMat4::from_translation(DVec3::X * i as f64)]).collect::<Vec<_>>();
        let irregular = TimeSampling::Acyclic { times: vec![0.0, 1.0 / 3.0, 0.5 + 4e-6, 2.0 / 3.0, 1.0] };
        let both = scene(
            moving(TimeSampling::Uniform { start: 0.0, step }, 5),
            Channel::in_memory(irregular.clone(), matrix(5)),
        );
        let expected = [0.0, 0.25, 1.0 / 3.0, 0.5, 2.0 / 3.0, 0.75, 1.0];
        let found = times(&both, &FrameOptions::default());
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < SAME_TIME), "{found:?}");
        let placed = both.expand().unwrap();
        let mut world = World::new(&both, &placed).unwrap();
        world.evaluate(0.25).unwrap();
        assert!((world.matrix[1].w_axis.x - 0.75).abs() < 1e-12, "a quarter lies at 3/4 of the first third");
        // Samples that change nothing bring no frames.
        struct Same(Channel<DMat4>);
        impl crate::Source<DMat4> for Same {
            fn len(&self) -> usize {
                self.0.len()
            }
            fn identity(&self, _: usize) -> u128 {
                7
            }
            fn read(&self, _: usize, out: &mut Vec<DMat4>) -> Result<(), Error> {
                self.0.read(0, out)
            }
        }
        let still = Channel::new(
            irregular.into(),
            std::sync::Arc::new(Same(both.nodes[0].transform.as_ref().unwrap().matrix.clone())),
        );
        let mesh_only = scene(moving(TimeSampling::Uniform { start: 0.0, step }, 5), still);
        assert_eq!(times(&mesh_only, &FrameOptions::default()).len(), 5);
        let range = FrameOptions { range: Some(Range::Frames(1, 3)), ..FrameOptions::default() };
        assert_eq!(times(&mesh_only, &range), [0.25, 0.5, 0.75]);
        let rate = FrameOptions { fps: Some(8.0), ..FrameOptions::default() };
        assert_eq!(times(&mesh_only, &rate).len(), 9);
    }

    #[test]
    fn turning_is_interpolated_as_turning_and_shear_by_elements() {
        let a = DMat4::from_rotation_z(0.0);
        let b = DMat4::from_rotation_z(1.0);
        assert!(interpolate(&a, &b, 0.5).abs_diff_eq(DMat4::from_rotation_z(0.5), 1e-12));
        let mut shear = DMat4::IDENTITY;
        shear.y_axis.x = 1.0;
        let middle = interpolate(&a, &shear, 0.5);
        assert_eq!(middle.y_axis.x, 0.5);
    }
}
