//! Evaluates positions, faces, attributes and poses of a mesh at a time.

use crate::{Attribute, Channel, CustomAttribute, Error, Identity, Lens, Mesh, Scope, Source, TimeSampling};
use glam::DMat4;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Returns `channel`, with the times of the mesh's positions if an exporter gave it sampling 0 (one sample
/// per *second*) although it has one sample per frame.
pub fn with_position_times<T: Clone + Send + Sync + 'static>(
    channel: &Channel<T>,
    mesh: &Mesh,
) -> Channel<T> {
    let identity = TimeSampling::Uniform { start: 0.0, step: 1.0 };
    let positions = &mesh.positions;
    if channel.len() > 1 && channel.len() == positions.len() && **channel.sampling() == identity {
        channel.with_sampling(positions.sampling().clone())
    } else {
        channel.clone()
    }
}

/// Faces of a mesh at a time, in the file's order and winding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faces {
    /// Number of corners of each face.
    pub counts: Vec<i32>,
    /// Point index of each corner.
    pub indices: Vec<i32>,
}

/// Values of an attribute at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttributeValues<T> {
    /// The values, or the palette.
    pub values: Vec<T>,
    /// Indices into the palette, one per element, if there is one.
    pub indices: Option<Vec<u32>>,
}

/// A value that can be interpolated linearly.
pub trait Lerp: Copy + Send + Sync + 'static {
    /// Returns `a + (b − a)·f`, computed in f64.
    fn lerp(a: Self, b: Self, f: f64) -> Self;
}

impl<const N: usize> Lerp for [f32; N] {
    fn lerp(a: Self, b: Self, f: f64) -> Self {
        std::array::from_fn(|i| (f64::from(a[i]) + (f64::from(b[i]) - f64::from(a[i])) * f) as f32)
    }
}

/// Returns an identity of the topology at `time`: equal values mean equal faces, or equal ids and curves.
pub fn topology_identity(mesh: &Mesh, time: f64) -> (u128, u128) {
    let of = |channel: &Channel<i32>| {
        if channel.is_empty() {
            return 0;
        }
        let channel = with_position_times(channel, mesh);
        channel.identity(channel.locate(time).0)
    };
    let Some(particles) = &mesh.particles else {
        return (of(&mesh.face_counts), of(&mesh.face_indices));
    };
    let ids = particles.ids.as_ref().filter(|ids| !ids.is_empty()).map_or(0, |ids| {
        let ids = with_position_times(ids, mesh);
        ids.identity(ids.locate(time).0)
    });
    (particles.curves.as_ref().map_or(0, |curves| of(&curves.counts)), ids)
}

/// Reads the faces at `time`.
pub fn faces_at(mesh: &Mesh, time: f64, out: &mut Faces) -> Result<(), Error> {
    read_held(&mesh.face_counts, mesh, time, &mut out.counts)?;
    read_held(&mesh.face_indices, mesh, time, &mut out.indices)
}

/// Returns the sample at or before `time` of a channel that is never interpolated.
pub fn read_held<T: Clone + Send + Sync + 'static>(
    channel: &Channel<T>,
    mesh: &Mesh,
    time: f64,
    out: &mut Vec<T>,
) -> Result<(), Error> {
    out.clear();
    if channel.is_empty() {
        return Ok(());
    }
    let channel = with_position_times(channel, mesh);
    channel.read(channel.locate(time).0, out)
}

/// Returns the lens of a camera at `time`, each value interpolated linearly; `None` if there is no sample.
pub fn lens_at(camera: &Channel<Lens>, time: f64) -> Result<Option<Lens>, Error> {
    if camera.is_empty() {
        return Ok(None);
    }
    let (i, fraction) = camera.locate(time);
    let mut values = Vec::new();
    camera.read(i, &mut values)?;
    let Some(first) = values.first().copied() else {
        return Ok(None);
    };
    if fraction == 0.0 {
        return Ok(Some(first));
    }
    camera.read(i + 1, &mut values)?;
    let (mut from, to) = (first.tracks(), values.first().unwrap_or(&first).tracks());
    for (a, b) in from.as_flattened_mut().iter_mut().zip(to.as_flattened()) {
        *a += (b - *a) * fraction;
    }
    Ok(Some(Lens { orthographic: first.orthographic, ..Lens::from_tracks(&from) }))
}

/// Returns the lens of a camera at each of `times`. An unusable lens, with a missing sample or a value that
/// f32 cannot hold, is replaced by the one before, or by the first usable one. Empty if none is usable.
pub fn lenses_at(camera: &Channel<Lens>, times: &[f64]) -> Result<Vec<Lens>, Error> {
    let mut all = Vec::with_capacity(times.len());
    for &time in times {
        all.push(lens_at(camera, time)?.filter(Lens::is_usable));
    }
    let Some(mut last) = all.iter().find_map(|lens| *lens) else {
        return Ok(Vec::new());
    };
    let held = |lens: Option<Lens>| {
        last = lens.unwrap_or(last);
        last
    };
    Ok(all.into_iter().map(held).collect())
}

/// Writes the velocities at `time`, in units per second; empty if there are none.
pub fn velocities_at(mesh: &Mesh, time: f64, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
    out.clear();
    match &mesh.velocities {
        Some(velocities) => read_interpolated(&with_position_times(velocities, mesh), mesh, time, out),
        None => Ok(()),
    }
}

/// Writes the ids of particles at `time`; empty if they have none.
pub fn ids_at(mesh: &Mesh, time: f64, out: &mut Vec<u64>) -> Result<(), Error> {
    out.clear();
    match mesh.particles.as_ref().and_then(|particles| particles.ids.as_ref()) {
        Some(ids) => read_held(ids, mesh, time, out),
        None => Ok(()),
    }
}

/// Writes the number of points of each curve at `time`, negative ones as 0; empty if there are no curves.
pub fn curves_at(mesh: &Mesh, time: f64, out: &mut Vec<u32>) -> Result<(), Error> {
    out.clear();
    if let Some(curves) = mesh.particles.as_ref().and_then(|particles| particles.curves.as_ref()) {
        let mut counts = Vec::new();
        read_held(&curves.counts, mesh, time, &mut counts)?;
        out.extend(counts.into_iter().map(|count| count.max(0) as u32));
    }
    Ok(())
}

/// The largest valid coordinate, so that squares of distances stay finite in f32; larger ones count as
/// damaged.
pub const MAX_COORDINATE: f32 = 1e18;

/// `true` if a point is finite and within [`MAX_COORDINATE`].
#[inline]
pub fn is_usable_point(p: &[f32; 3]) -> bool {
    // Without branches, so that loops over points vectorize.
    p.iter().fold(true, |all, v| all & (v.abs() <= MAX_COORDINATE))
}

/// Writes the positions at `time`. If the number of points or the faces differ from the next sample's, the
/// sample holds. A point damaged in one of two samples is unusable between them too.
pub fn positions_at(mesh: &Mesh, time: f64, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
    let mix = |a: [f32; 3], b, fraction| match is_usable_point(&a) && is_usable_point(&b) {
        true => Lerp::lerp(a, b, fraction),
        false => [f32::NAN; 3],
    };
    read_interpolated_by(&mesh.positions, mesh, time, out, mix)
}

/// Writes the matrix of each joint of a mesh's skin at `time`; between samples as [`positions_at`] does: by
/// the file's definition, or blended as matrices. `false` without a skin, or if its samples are not those of
/// the points.
pub fn pose_at(mesh: &Mesh, time: f64, out: &mut Vec<DMat4>) -> Result<bool, Error> {
    out.clear();
    let Some(skin) = &mesh.skin else {
        return Ok(false);
    };
    if skin.pose.is_empty() || skin.pose.len() != mesh.positions.len() {
        return Ok(false);
    }
    let (i, fraction) = mesh.positions.locate(time);
    if fraction > 0.0 && skin.pose.read_between(time, out)? {
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

/// Evaluates an attribute at `time`.
pub fn attribute_at<T: Lerp>(
    attribute: &Attribute<T>,
    mesh: &Mesh,
    time: f64,
    out: &mut AttributeValues<T>,
) -> Result<(), Error> {
    let values = with_position_times(&attribute.values, mesh);
    match &attribute.indices {
        None => {
            out.indices = None;
            read_interpolated(&values, mesh, time, &mut out.values)
        }
        Some(indices) => {
            let indices = with_position_times(indices, mesh);
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
                read_interpolated(&values, mesh, time, &mut out.values)
            } else {
                values.read(values.locate(time).0, &mut out.values)
            }
        }
    }
}

/// Returns the custom attributes of a mesh, the first of each name, including those of integers, which are
/// NaN where f32 cannot hold the value.
pub fn custom_attributes(mesh: &Mesh) -> Vec<CustomAttribute> {
    struct IntegersAsFloats(Channel<i64>);
    impl Source<[f32; 4]> for IntegersAsFloats {
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
    let whole = |attribute: &Attribute<i64>| CustomAttribute {
        components: 1,
        attribute: Attribute {
            name: attribute.name.clone(),
            scope: attribute.scope,
            values: Channel::new(
                attribute.values.sampling().clone(),
                Arc::new(IntegersAsFloats(attribute.values.clone())),
            ),
            indices: attribute.indices.clone(),
        },
    };
    let all = (mesh.custom_attributes.iter().cloned()).chain(mesh.integers.iter().map(whole));
    let mut names = HashSet::new();
    all.filter(|n| !n.attribute.values.is_empty() && names.insert(n.attribute.name.clone())).collect()
}

/// Returns the values of an attribute (not a constant one) by point, or the reason why it is invalid; `None`
/// if faces or corners of one point differ. Points without faces get 0.
pub fn values_by_point(
    scope: Scope,
    faces: &Faces,
    points: usize,
    values: &AttributeValues<[f32; 4]>,
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
    const OUT_OF_RANGE: &str = "has indices beyond its values";
    if matches!(scope, Scope::Varying | Scope::Vertex) {
        let all = (0..points).map(|i| of(i).ok_or(OUT_OF_RANGE));
        return all.collect::<Result<_, _>>().map(Some);
    }
    let mut out: Vec<Option<[f32; 4]>> = vec![None; points];
    let mut corner = 0;
    for (face, &size) in faces.counts.iter().enumerate() {
        for _ in 0..size.max(0) {
            let Some(&point) = faces.indices.get(corner) else {
                break;
            };
            let value = of(if scope == Scope::Uniform { face } else { corner }).ok_or(OUT_OF_RANGE)?;
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

/// Returns the number of elements of a scope, each of which has one value (through indices, if any).
pub fn element_count(scope: Scope, points: usize, faces: &Faces) -> usize {
    match scope {
        Scope::Constant => 1,
        Scope::Uniform => faces.counts.len(),
        Scope::Varying | Scope::Vertex => points,
        Scope::FaceVarying => faces.indices.len(),
    }
}

fn read_interpolated<T: Lerp>(
    channel: &Channel<T>,
    mesh: &Mesh,
    time: f64,
    out: &mut Vec<T>,
) -> Result<(), Error> {
    read_interpolated_by(channel, mesh, time, out, T::lerp)
}

fn read_interpolated_by<T: Lerp>(
    channel: &Channel<T>,
    mesh: &Mesh,
    time: f64,
    out: &mut Vec<T>,
    mix: impl Fn(T, T, f64) -> T,
) -> Result<(), Error> {
    out.clear();
    if channel.is_empty() {
        return Ok(());
    }
    let (i, fraction) = channel.locate(time);
    if fraction > 0.0 && channel.read_between(time, out)? {
        return Ok(());
    }
    channel.read(i, out)?;
    if fraction == 0.0 || channel.identity(i) == channel.identity(i + 1) {
        return Ok(());
    }
    let (before, after) = (channel.time(i), channel.time(i + 1));
    let mut next = Vec::new();
    if topology_identity(mesh, before) != topology_identity(mesh, after) {
        let (mut from, mut to) = (Vec::new(), Vec::new());
        ids_at(mesh, before, &mut from)?;
        ids_at(mesh, after, &mut to)?;
        if from.len() == out.len() && !from.is_empty() {
            channel.read(i + 1, &mut next)?;
            let place: HashMap<u64, T> = to.into_iter().zip(next).collect();
            for (value, id) in out.iter_mut().zip(&from) {
                if let Some(next) = place.get(id) {
                    *value = mix(*value, *next, fraction);
                }
            }
        }
        return Ok(());
    }
    channel.read(i + 1, &mut next)?;
    if next.len() == out.len() {
        for (a, b) in out.iter_mut().zip(&next) {
            *a = mix(*a, *b, fraction);
        }
    }
    Ok(())
}

/// `true` if the mesh's faces stay the same at all `times` (compared by identity, then by content).
pub fn has_fixed_topology(mesh: &Mesh, times: &[f64]) -> Result<bool, Error> {
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
    fn locate_clamps_and_snaps() {
        let sampling = TimeSampling::Uniform { start: 1.0, step: 0.5 };
        let channel = Channel::in_memory(sampling, vec![vec![[0.0f32; 3]]; 4]);
        assert_eq!(channel.locate(0.0), (0, 0.0));
        assert_eq!(channel.locate(1.5 + 5e-6), (1, 0.0));
        assert_eq!(channel.locate(9.0), (3, 0.0));
        let (i, f) = channel.locate(1.75);
        assert!(i == 1 && (f - 0.5).abs() < 1e-12);
    }
}
