//! The vertex channels that a mesh of the file must have, and their tolerances.

use crate::requested::RequestedOptions;
use crate::verify::attribute::{SampledAttribute, is_constant, min_tolerance, velocities};
use crate::verify::report::Failures;
use crate::verify::survey::VelocityEffect;
use meshreel::raw::record::{MeshRecord, Method, Semantic, StreamRecord};
use meshreel_extract::convert::ulp;
use meshreel_scene::sample::{self, Lerp};
use meshreel_scene::{Attribute, Error, Mesh};

/// The vertex channels that are compared besides positions.
#[derive(Debug, Clone, Default)]
pub(crate) struct MeshChannels {
    /// Normals of the file, if it has any, and whether they are the source's or computed.
    pub normals: Option<Normals>,
    pub uvs: Vec<AttributeSet>,
    pub colours: Vec<AttributeSet>,
    /// Tolerance of the velocities of a mesh whose faces change, in units per second.
    pub velocities: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Normals {
    Source,
    Computed,
}

/// A uv or colour set.
#[derive(Debug, Clone)]
pub(crate) struct AttributeSet {
    /// Number in the source.
    pub source_set: usize,
    /// Number in the file.
    pub file_set: u8,
    /// Allowed distance (uv) or difference per component (colour).
    pub tolerance: f64,
    /// `false` if neither side changes, so that one comparison is enough.
    pub changes: bool,
}

/// The precision of normals of 16 bits per component, in degrees.
const MIN_NORMAL_TOLERANCE_DEGREES: f64 = 0.02;

/// Returns the allowed angle between normals, in degrees: the tolerance, and the rounding of f32 vectors.
pub(crate) fn normal_limit(asked: &RequestedOptions) -> f64 {
    asked.normal_tolerance.max(MIN_NORMAL_TOLERANCE_DEGREES) + 2e-4
}

/// A mesh of the source and its record in the file.
pub(crate) struct Counterparts<'a> {
    pub mesh: &'a Mesh,
    pub record: &'a MeshRecord,
    /// Times at which the mesh is shown, in seconds.
    pub shown: &'a [f64],
    /// Path of the mesh, for sentences about it.
    pub path: &'a str,
    /// The effect of transforms on velocities, if the file has the mesh in world space.
    pub velocity_effect: Option<VelocityEffect>,
}

impl Counterparts<'_> {
    /// Returns the least tolerance for velocities in these ranges, in the space in which the file stores
    /// them.
    pub fn min_velocity_tolerance(&self, sides: &[(f32, f32)]) -> f64 {
        match self.velocity_effect {
            Some(pace) => min_tolerance(&pace.world_bounds(sides)),
            None => min_tolerance(sides),
        }
    }
}

/// Compares the channels of the source, at the times it is shown, with the streams of the record.
pub(crate) fn find_channels(
    pair: &Counterparts<'_>,
    asked: &RequestedOptions,
    seconds: f64,
    failures: &mut Failures,
) -> Result<MeshChannels, Error> {
    let &Counterparts { mesh, record, shown, path, .. } = pair;
    let mut out = MeshChannels::default();
    let wanted = asked.frames.channels;
    let normals = |s: &&StreamRecord| matches!(s.semantic, Semantic::Normal | Semantic::QTangent);
    match record.streams.iter().find(normals) {
        Some(stream) => {
            let from_source = match &mesh.normals {
                Some(attribute) => attribute_extent(attribute, mesh, shown)?.is_some(),
                None => false,
            };
            out.normals = Some(if from_source { Normals::Source } else { Normals::Computed });
            if stream.tolerance > asked.normal_tolerance * (1.0 + 1e-9) {
                failures.add(path, None, || {
                    format!(
                        "the file allows normals to be {}° off, {}° was asked for",
                        stream.tolerance, asked.normal_tolerance
                    )
                });
            }
        }
        None if wanted.normals => {
            failures.add(path, None, || "has no normals in the file".into());
        }
        None => {}
    }
    if wanted.uvs {
        out.uvs = sets(&mesh.uvs, Semantic::Uv, pair, failures, |extent| {
            let largest = extent.iter().flat_map(|(a, b)| [a.abs(), b.abs()]).fold(0.0, f32::max);
            asked.uv_tolerance.max(4.0 * ulp(f64::from(largest)))
        })?;
    }
    if wanted.colours {
        let steps = f64::from((1u32 << asked.colour_bits) - 1);
        let tolerance = |extent: &[(f32, f32)]| {
            // Colours are quantized over 0 to 1, or over the range of the values if that is larger.
            let off = extent.iter().map(|(low, high)| {
                let (low, high) = (f64::from(low.min(0.0)), f64::from(high.max(1.0)));
                0.5001 * (high - low) / steps + 3.0 * ulp(high.abs().max(low.abs()))
            });
            off.fold(0.0, f64::max)
        };
        out.colours = sets(&mesh.colours, Semantic::Colour, pair, failures, tolerance)?;
    }
    let stored = record.streams.iter().any(|s| s.semantic == Semantic::Velocity);
    if record.method == Method::Fluid
        && wanted.attributes
        && let Some(velocities) = velocities(mesh)
        && let Some(extent) = attribute_extent(&velocities, mesh, shown)?
    {
        let points = record.streams.first().map_or(0.0, |positions| positions.tolerance);
        out.velocities = Some((points / seconds).max(pair.min_velocity_tolerance(&extent)));
        if !stored {
            failures.add(path, None, || "does not keep the velocities of the source".into());
        }
    } else if stored {
        failures.add(path, None, || "has velocities, the source has none".into());
    }
    Ok(out)
}

/// Returns the extent of each component over the times an attribute is shown, if it is complete at all of
/// them.
fn attribute_extent<const N: usize>(
    attribute: &Attribute<[f32; N]>,
    mesh: &Mesh,
    shown: &[f64],
) -> Result<Option<Vec<(f32, f32)>>, Error>
where
    [f32; N]: Lerp,
{
    let mut extent = vec![(f32::INFINITY, f32::NEG_INFINITY); N];
    let (mut faces, mut points) = (sample::Faces::default(), Vec::new());
    let constant =
        mesh.positions.is_constant() && mesh.face_counts.is_constant() && mesh.face_indices.is_constant();
    let once = is_constant(attribute) && constant;
    for &time in &shown[..if once { shown.len().min(1) } else { shown.len() }] {
        sample::faces_at(mesh, time, &mut faces)?;
        sample::positions_at(mesh, time, &mut points)?;
        let sampled = SampledAttribute::read(attribute, mesh, time)?;
        if !sampled.is_complete(faces.counts.len(), points.len(), faces.indices.len()) {
            return Ok(None);
        }
        let (low, high) = sampled.extent();
        for k in 0..N {
            extent[k] = (extent[k].0.min(low[k]), extent[k].1.max(high[k]));
        }
    }
    for e in &mut extent {
        if e.0 > e.1 {
            *e = (0.0, 0.0);
        }
    }
    Ok(Some(extent))
}

/// Returns the uv or colour sets that the file must have. `tolerance` computes the allowed difference from
/// the extent of each component.
fn sets<const N: usize>(
    attributes: &[Attribute<[f32; N]>],
    semantic: Semantic,
    pair: &Counterparts<'_>,
    failures: &mut Failures,
    tolerance: impl Fn(&[(f32, f32)]) -> f64,
) -> Result<Vec<AttributeSet>, Error>
where
    [f32; N]: Lerp,
{
    let &Counterparts { mesh, record, shown, path, .. } = pair;
    let kind = if semantic == Semantic::Uv { "uv" } else { "colour" };
    let mut streams = record.streams.iter().filter(|s| s.semantic == semantic);
    let mut out = Vec::new();
    for (source, attribute) in attributes.iter().enumerate() {
        // The compiler leaves out incomplete ones, with a remark.
        let Some(extent) = attribute_extent(attribute, mesh, shown)? else {
            continue;
        };
        let Some(stream) = streams.next().filter(|s| s.name == attribute.name) else {
            failures.add(path, None, || {
                format!("{kind} set {:?} is not in the file, or not in its place", attribute.name)
            });
            return Ok(out);
        };
        let own = tolerance(&extent);
        if stream.tolerance > own * (1.0 + 1e-9) {
            failures.add(path, None, || {
                format!(
                    "the file allows {kind} set {:?} to be {} off, {own} follows from what was asked for",
                    attribute.name, stream.tolerance
                )
            });
        }
        out.push(AttributeSet {
            source_set: source,
            file_set: stream.set,
            tolerance: own.min(stream.tolerance),
            changes: stream.animated || !is_constant(attribute),
        });
    }
    if let Some(stream) = streams.next() {
        failures.add(path, None, || {
            format!("the file has the {kind} set {:?}, the source has none in its place", stream.name)
        });
    }
    Ok(out)
}
