//! Compares particles and curves: points without faces, identified by ids if the source has them in all
//! frames, else by their numbers; and their attributes.

use crate::requested::RequestedOptions;
use crate::verify::attribute::{SampledAttribute, min_tolerance, velocities};
use crate::verify::channels::Counterparts;
use crate::verify::meshes::{DecodedMesh, SourceMesh};
use crate::verify::polygons::is_usable;
use crate::verify::report::{Failures, Stats, beyond, larger};
use glam::{DMat4, DVec3};
use meshreel::raw::record::Semantic;
use meshreel_extract::convert::error;
use meshreel_extract::convert::ulp;
use meshreel_scene::sample::{self, Lerp};
use meshreel_scene::{Attribute, CustomAttribute, Error, Mesh, Scope};
use std::collections::HashMap;

/// The streams that particles of the file must have, besides positions.
#[derive(Debug, Clone, Default)]
pub(crate) struct ParticleStreams {
    /// Points are identified by ids.
    ids: bool,
    streams: Vec<Stream>,
}

/// The source of a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
enum StreamSource {
    Uv(usize),
    Colour(usize),
    Velocity,
    Width,
    /// A custom attribute, by index; the index after the last one is the normals.
    Custom(usize),
}

#[derive(Debug, Clone)]
struct Stream {
    source: StreamSource,
    /// Number of the stream in the record.
    stream: usize,
    /// Allowed distance; for colours and attached numbers, by component.
    tolerance: [f64; 4],
}

/// Whole numbers up to this are stored exactly.
const MAX_EXACT_INTEGER: f32 = 8_388_608.0;
/// Number of steps over the range of attached numbers.
const CUSTOM_STEPS: f64 = 65_535.0;

/// The lowest and highest value of each component over the visible frames, and whether all are whole.
struct Extent<const N: usize> {
    bounds: [(f32, f32); N],
    whole: [bool; N],
}

/// Compares the attributes of the source with the record of the file.
pub(crate) fn find_streams(
    pair: &Counterparts<'_>,
    asked: &RequestedOptions,
    seconds: f64,
    failures: &mut Failures,
) -> Result<ParticleStreams, Error> {
    let &Counterparts { mesh, record, shown, path, .. } = pair;
    let ids = has_ids(mesh, shown)?;
    if record.particles.is_some_and(|particles| particles.ids) != ids {
        let what =
            if ids { "does not keep the ids of its points" } else { "has ids that the source has not" };
        failures.add(path, None, || what.into());
    }
    let curves = mesh.particles.as_ref().is_some_and(|p| p.curves.is_some());
    if record.particles.is_some_and(|particles| particles.curves.is_some()) != curves {
        failures.add(path, None, || "has curves where the source has points, or the other way round".into());
    }
    let mut out = ParticleStreams { ids, streams: Vec::new() };
    let mut finder = StreamFinder { pair, next: 1, failures, out: &mut out };
    let wanted = asked.frames.channels;
    if wanted.uvs {
        for (i, attribute) in mesh.uvs.iter().enumerate() {
            finder.find(attribute, (Semantic::Uv, &attribute.name), StreamSource::Uv(i), |extent| {
                let largest = extent.bounds.iter().fold(0.0, |m: f32, (a, b)| m.max(a.abs()).max(b.abs()));
                [asked.uv_tolerance.max(4.0 * ulp(f64::from(largest))); 4]
            })?;
        }
    }
    if wanted.colours {
        let steps = f64::from((1u32 << asked.colour_bits) - 1);
        for (i, attribute) in mesh.colours.iter().enumerate() {
            finder.find(
                attribute,
                (Semantic::Colour, &attribute.name),
                StreamSource::Colour(i),
                |extent| {
                    extent.bounds.map(|(low, high)| {
                        let (low, high) = (f64::from(low.min(0.0)), f64::from(high.max(1.0)));
                        0.5001 * (high - low) / steps + 3.0 * ulp(high.abs().max(low.abs()))
                    })
                },
            )?;
        }
    }
    if wanted.attributes {
        let points = record.streams.first().map_or(0.0, |positions| positions.tolerance);
        if let Some(velocities) = velocities(mesh) {
            let tolerance =
                |extent: &Extent<3>| [pair.min_velocity_tolerance(&extent.bounds).max(points / seconds); 4];
            finder.find(&velocities, (Semantic::Velocity, ""), StreamSource::Velocity, tolerance)?;
        }
        if let Some(widths) = mesh.particles.as_ref().and_then(|p| p.widths.as_ref()) {
            finder.find(widths, (Semantic::Width, ""), StreamSource::Width, |extent| {
                [min_tolerance(&extent.bounds).max(points); 4]
            })?;
        }
        let all = point_attributes(mesh);
        for (i, CustomAttribute { components, attribute }) in all.iter().enumerate() {
            let semantic = Semantic::custom(*components).unwrap_or(Semantic::Custom4);
            finder.find(attribute, (semantic, &attribute.name), StreamSource::Custom(i), custom_tolerance)?;
        }
        if let Some(normals) = &mesh.normals {
            let of = StreamSource::Custom(all.len());
            let tolerance = |extent: &Extent<3>| {
                let [x, y, z] = extent.bounds;
                let [a, b, c] = extent.whole;
                custom_tolerance(&Extent { bounds: [x, y, z, (0.0, 0.0)], whole: [a, b, c, true] })
            };
            finder.find(normals, (Semantic::Custom3, "N"), of, tolerance)?;
        }
    }
    let next = finder.next;
    if next < record.streams.len() {
        failures.add(path, None, || {
            format!("the file has {:?}, the source has none in its place", record.streams[next].semantic)
        });
    }
    Ok(out)
}

/// Returns the custom attributes, except those of the whole object.
fn point_attributes(mesh: &Mesh) -> Vec<CustomAttribute> {
    let mut all = sample::custom_attributes(mesh);
    all.retain(|custom| custom.attribute.scope != Scope::Constant);
    all
}

/// Returns the tolerance of attached numbers.
fn custom_tolerance(extent: &Extent<4>) -> [f64; 4] {
    std::array::from_fn(|k| {
        let (low, high) = extent.bounds[k];
        match extent.whole[k] {
            true => 0.0,
            false => {
                let largest = ulp(f64::from(low.abs().max(high.abs())));
                0.5001 * (f64::from(high) - f64::from(low)) / CUSTOM_STEPS + 3.0 * largest
            }
        }
    })
}

/// `true` if each point has an id at all visible times.
fn has_ids(mesh: &Mesh, shown: &[f64]) -> Result<bool, Error> {
    if mesh.particles.as_ref().is_none_or(|p| p.ids.as_ref().is_none_or(|ids| ids.is_empty())) {
        return Ok(false);
    }
    let (mut ids, mut points) = (Vec::new(), Vec::new());
    for &time in shown {
        sample::ids_at(mesh, time, &mut ids)?;
        sample::positions_at(mesh, time, &mut points)?;
        if ids.len() != points.len() || ids.contains(&u64::MAX) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Finds streams of the record, one after the other.
struct StreamFinder<'f, 'a> {
    pair: &'f Counterparts<'a>,
    /// The stream that is tried next.
    next: usize,
    failures: &'f mut Failures,
    out: &'f mut ParticleStreams,
}

impl StreamFinder<'_, '_> {
    /// Finds the stream of an attribute that exists at all times.
    fn find<const N: usize>(
        &mut self,
        attribute: &Attribute<[f32; N]>,
        (semantic, name): (Semantic, &str),
        of: StreamSource,
        tolerance: impl Fn(&Extent<N>) -> [f64; 4],
    ) -> Result<(), Error>
    where
        [f32; N]: Lerp,
    {
        let &Counterparts { mesh, record, shown, path, .. } = self.pair;
        let Some(extent) = extent(attribute, mesh, shown)? else {
            return Ok(());
        };
        let stream = record.streams.get(self.next);
        if stream.is_none_or(|s| s.semantic != semantic || s.name != name) {
            self.failures
                .add(path, None, || format!("{semantic:?} {name} is not in the file, or not in its place"));
            return Ok(());
        }
        self.out.streams.push(Stream { source: of, stream: self.next, tolerance: tolerance(&extent) });
        self.next += 1;
        Ok(())
    }
}

/// Returns the values of an attribute at a time, and whether there is one for each point.
fn sampled<const N: usize>(
    attribute: &Attribute<[f32; N]>,
    mesh: &Mesh,
    time: f64,
    points: usize,
) -> Result<(SampledAttribute<N>, bool), Error>
where
    [f32; N]: Lerp,
{
    let mut curves = Vec::new();
    sample::curves_at(mesh, time, &mut curves)?;
    let values = SampledAttribute::read(attribute, mesh, time)?;
    let faces = if curves.is_empty() { 1 } else { curves.len() };
    let complete = values.is_complete(faces, points, points);
    Ok((values, complete))
}

/// Returns the extent of an attribute; `None` if it does not exist at all times.
fn extent<const N: usize>(
    attribute: &Attribute<[f32; N]>,
    mesh: &Mesh,
    shown: &[f64],
) -> Result<Option<Extent<N>>, Error>
where
    [f32; N]: Lerp,
{
    let mut out = Extent { bounds: [(f32::INFINITY, f32::NEG_INFINITY); N], whole: [true; N] };
    let mut points = Vec::new();
    for &time in shown {
        sample::positions_at(mesh, time, &mut points)?;
        let (values, complete) = sampled(attribute, mesh, time, points.len())?;
        if !complete {
            return Ok(None);
        }
        for value in &values.values.values {
            for (k, v) in value.iter().enumerate().filter(|(_, v)| v.is_finite()) {
                out.bounds[k] = (out.bounds[k].0.min(*v), out.bounds[k].1.max(*v));
                out.whole[k] &= v.fract() == 0.0 && v.abs() <= MAX_EXACT_INTEGER;
            }
        }
    }
    for side in out.bounds.iter_mut().filter(|side| side.0 > side.1) {
        *side = (0.0, 0.0);
    }
    Ok(Some(out))
}

/// For each vertex, the point of the source that it stands for, and that point's curve.
pub(crate) struct PointPairs {
    pub point: Vec<u32>,
    curve: Vec<u32>,
}

impl ParticleStreams {
    /// Finds the points of a frame, or returns a message about what differs from the source.
    pub fn pairs(
        &self,
        source: &SourceMesh<'_>,
        decoded: &DecodedMesh<'_>,
    ) -> Result<Result<PointPairs, String>, Error> {
        let (mesh, time, points) = (source.mesh, source.time, &source.points);
        let view = &decoded.view;
        if self.ids {
            let mut ids = Vec::new();
            sample::ids_at(mesh, time, &mut ids)?;
            let mut place: HashMap<u64, u32> = HashMap::new();
            for (v, id) in (0u32..).zip(ids) {
                // The first of two equal ids counts.
                place.entry(id).or_insert(v);
            }
            place.retain(|_, v| is_usable(points[*v as usize]));
            if view.ids().len() != place.len() {
                return Ok(Err(format!("{} points where the source has {}", view.ids().len(), place.len())));
            }
            let point: Option<Vec<u32>> = view.ids().iter().map(|id| place.get(id).copied()).collect();
            return Ok(match point {
                Some(point) => Ok(PointPairs { curve: vec![0; point.len()], point }),
                None => Err("ids that the source does not have".into()),
            });
        }
        let mut curves = Vec::new();
        sample::curves_at(mesh, time, &mut curves)?;
        let mut left = points.len() as u32;
        for length in &mut curves {
            *length = (*length).min(left);
            left -= *length;
        }
        if view.curves() != curves {
            return Ok(Err("its curves have not as many points as those of the source".into()));
        }
        let of_curves = mesh.particles.as_ref().is_some_and(|p| p.curves.is_some());
        let count = points.len() as u32 - if of_curves { left } else { 0 };
        if view.vertex_count() != count as usize {
            return Ok(Err(format!("{} points where the source has {count}", view.vertex_count())));
        }
        let mut curve = vec![0; count as usize];
        let mut first = 0;
        for (c, &length) in (0..).zip(&curves) {
            curve[first..first + length as usize].fill(c);
            first += length as usize;
        }
        Ok(Ok(PointPairs { point: (0..count).collect(), curve }))
    }

    /// Compares the streams of a frame. `placed`: for points in world space, their matrix and its change per
    /// second. Returns sentences about errors beyond the tolerance.
    pub fn compare(
        &self,
        (source, decoded): (&SourceMesh<'_>, &DecodedMesh<'_>),
        pairs: &PointPairs,
        placed: Option<[DMat4; 2]>,
        stats: &mut Stats,
    ) -> Result<Vec<String>, Error> {
        let mut out = Vec::new();
        let mut all_attached = None;
        for stream in &self.streams {
            let frame = ParticleFrame { source, decoded, pairs };
            let mesh = source.mesh;
            let found = match stream.source {
                StreamSource::Uv(i) => frame.largest(&mesh.uvs[i], stream, length)?,
                StreamSource::Colour(i) => frame.largest(&mesh.colours[i], stream, worst_component)?,
                StreamSource::Velocity => frame.velocities(stream, placed)?,
                StreamSource::Width => {
                    let scale = placed.map_or(1.0, |[m, _]| m.determinant().abs().cbrt());
                    let widths = mesh.particles.as_ref().and_then(|p| p.widths.as_ref());
                    match widths {
                        Some(widths) => frame.scaled(widths, stream, scale)?,
                        None => None,
                    }
                }
                StreamSource::Custom(i) => {
                    let all = all_attached.get_or_insert_with(|| point_attributes(mesh));
                    match (all.get(i), &mesh.normals) {
                        (Some(custom), _) => frame.largest(&custom.attribute, stream, worst_component)?,
                        (None, Some(normals)) => frame.largest(normals, stream, worst_component)?,
                        (None, None) => None,
                    }
                }
            };
            let Some((worst, limit, vertex)) = found else { continue };
            let slot = match stream.source {
                StreamSource::Uv(_) => &mut stats.uv,
                StreamSource::Colour(_) => &mut stats.colour,
                StreamSource::Velocity => &mut stats.velocity,
                StreamSource::Width => &mut stats.width,
                StreamSource::Custom(_) => &mut stats.custom,
            };
            *slot = larger(*slot, Some(worst));
            if beyond(worst, limit) {
                let record = &decoded.view.record().streams[stream.stream];
                let (what, name) = (record.semantic, &record.name);
                out.push(format!("{what:?} {name} of vertex {vertex} is {worst} off, {limit} is allowed"));
            }
        }
        Ok(out)
    }
}

/// Returns the length of a difference, and its limit.
fn length<const N: usize>(difference: [f64; N], tolerance: &[f64; 4]) -> (f64, f64) {
    (difference.iter().map(|d| d * d).sum::<f64>().sqrt(), tolerance[0])
}

/// Returns the component that exceeds its limit most (or comes nearest to it), and that limit.
fn worst_component<const N: usize>(difference: [f64; N], tolerance: &[f64; 4]) -> (f64, f64) {
    let over = |k: &usize| difference[*k].abs() - tolerance[*k];
    let worst = (0..N).max_by(|a, b| over(a).total_cmp(&over(b))).unwrap_or(0);
    (difference[worst].abs(), tolerance[worst])
}

struct ParticleFrame<'f> {
    source: &'f SourceMesh<'f>,
    decoded: &'f DecodedMesh<'f>,
    pairs: &'f PointPairs,
}

/// The largest difference, its limit, and the vertex.
type StreamError = Option<(f64, f64, usize)>;

impl ParticleFrame<'_> {
    fn decoded(&self, stream: usize) -> Result<Vec<f32>, Error> {
        let view = &self.decoded.view;
        let record = &view.record().streams[stream];
        let mut out = vec![0.0; record.semantic.components() * view.vertex_count()];
        match record.semantic {
            Semantic::Uv => view.uvs_into(record.set, &mut out),
            Semantic::Colour => view.colours_into(record.set, &mut out),
            Semantic::Velocity => view.velocities_into(&mut out),
            Semantic::Width => view.widths_into(&mut out),
            _ => view.custom_into(stream, &mut out),
        }
        .map_err(error)?;
        Ok(out)
    }

    /// Compares all vertices with the value that `right` returns for point and curve.
    fn worst<const N: usize>(
        &self,
        stream: &Stream,
        right: impl Fn(u32, u32) -> Option<[f64; N]>,
        measure: impl Fn([f64; N], &[f64; 4]) -> (f64, f64),
    ) -> Result<StreamError, Error> {
        let values = self.decoded(stream.stream)?;
        let components = self.decoded.view.record().streams[stream.stream].semantic.components();
        let mut worst: StreamError = None;
        for (v, (&point, &curve)) in self.pairs.point.iter().zip(&self.pairs.curve).enumerate() {
            let Some(right) = right(point, curve) else { continue };
            let got = |k: usize| values[components * v + k];
            let difference = std::array::from_fn(|k| match k < components {
                true => f64::from(got(k)) - right[k],
                false => 0.0,
            });
            let (off, limit) = measure(difference, &stream.tolerance);
            if worst.is_none_or(|(most, allowed, _)| beyond(off - limit, most - allowed)) {
                worst = Some((off, limit, v));
            }
        }
        Ok(worst)
    }

    fn largest<const N: usize>(
        &self,
        attribute: &Attribute<[f32; N]>,
        stream: &Stream,
        measure: impl Fn([f64; N], &[f64; 4]) -> (f64, f64),
    ) -> Result<StreamError, Error>
    where
        [f32; N]: Lerp,
    {
        let points = self.source.points.len();
        let (values, _) = sampled(attribute, self.source.mesh, self.source.time, points)?;
        self.worst(
            stream,
            |point, curve| values.value(point, curve, point).map(|v| v.map(f64::from)),
            measure,
        )
    }

    fn scaled(
        &self,
        widths: &Attribute<[f32; 1]>,
        stream: &Stream,
        scale: f64,
    ) -> Result<StreamError, Error> {
        let points = self.source.points.len();
        let (values, _) = sampled(widths, self.source.mesh, self.source.time, points)?;
        let right = |point, curve| values.value(point, curve, point).map(|[w]| [f64::from(w) * scale]);
        // Scaled sizes are rounded to f32.
        let tolerance = stream.tolerance.map(|t| t * scale.max(1.0) * (1.0 + 1e-6));
        self.worst(&Stream { tolerance, ..stream.clone() }, right, length)
    }

    fn velocities(&self, stream: &Stream, placed: Option<[DMat4; 2]>) -> Result<StreamError, Error> {
        let Some(velocities) = velocities(self.source.mesh) else {
            return Ok(None);
        };
        let points = &self.source.points;
        let (values, _) = sampled(&velocities, self.source.mesh, self.source.time, points.len())?;
        let right = |point: u32, curve: u32| {
            let own = values.value(point, curve, point)?;
            stored_velocity(own, points[point as usize], placed)
        };
        self.worst(stream, right, length)
    }
}

/// Returns a velocity in the space in which the file stores it: for points in world space it includes the
/// change of the matrix per second. `None` if the result is not finite.
pub(crate) fn stored_velocity(
    velocity: [f32; 3],
    point: [f32; 3],
    placed: Option<[DMat4; 2]>,
) -> Option<[f64; 3]> {
    let [v, p] = [velocity, point].map(|v| DVec3::from_array(v.map(f64::from)));
    let out = match placed {
        None => v,
        Some([matrix, change]) => matrix.transform_vector3(v) + (change * p.extend(1.0)).truncate(),
    };
    out.is_finite().then(|| out.to_array())
}
