//! Points without faces, frame by frame: particles with ids, or identified by their index, and the points of
//! curves. Particles with ids are sorted by them, all others keep the order of the source. If all frames have
//! the same points, they also have the layout of a mesh.

use crate::Error;
use crate::mesh::prepared::{
    CustomChannel, FixedLayout, MeshChannels, NormalOrigin, Prepared, PreparedParticles, VertexChannel,
};
use crate::mesh::source::{MeshSource, PositionScan, beyond_float32, replace_non_finite, velocities};
use crate::mesh::streams::{RequestedValues, Scratch, VertexValues};
use meshreel_codec::record::Semantic;
use meshreel_codec::values::particles::point_set::PointSet;
use meshreel_process::extent::{Extent, MAX_COORDINATE, is_usable_point};
use meshreel_scene::sample::{self, Lerp};
use meshreel_scene::{Attribute, Channel, CustomAttribute, Identity, Mesh, Remark, Scope};
use std::sync::Arc;

/// Whole numbers up to this are exact in f32, and so are their differences.
const MAX_EXACT_INTEGER: f32 = 8_388_608.0;

/// The particles of a frame.
#[derive(Debug, Default)]
pub struct ParticleFrame {
    /// Ids, ascending; empty if there are none.
    pub ids: Vec<u64>,
    /// The number of points of each curve; empty if there are no curves.
    pub curves: Vec<u32>,
    /// Values of all points.
    pub values: VertexValues,
}

/// The points of a frame and their origin in the source.
#[derive(Clone, Default)]
struct FramePoints {
    ids: Vec<u64>,
    curves: Vec<u32>,
    /// By point, its index in the source, and that of its curve.
    origin: Vec<[u32; 2]>,
    /// The points of the source, in object space.
    object: Vec<[f32; 3]>,
    /// Bounds of the undamaged points of the source.
    bounds: Extent<3>,
    /// The number of source points that are left out, and of those that were replaced.
    left_out: usize,
    replaced: usize,
}

/// Returns everything that is attached to points as numbers: custom attributes except those of the whole
/// object, and normals as three more.
pub fn point_attributes(mesh: &Mesh) -> Vec<CustomAttribute> {
    struct Wide(Channel<[f32; 3]>);
    impl meshreel_scene::Source<[f32; 4]> for Wide {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn identity(&self, i: usize) -> Identity {
            self.0.identity(i)
        }
        fn read(&self, i: usize, out: &mut Vec<[f32; 4]>) -> Result<(), meshreel_scene::Error> {
            let mut values = Vec::new();
            self.0.read(i, &mut values)?;
            out.clear();
            out.extend(values.iter().map(|[x, y, z]| [*x, *y, *z, 0.0]));
            Ok(())
        }
    }
    let mut all = sample::custom_attributes(mesh);
    all.retain(|custom| custom.attribute.scope != Scope::Constant);
    if let Some(normals) = &mesh.normals {
        let values = Channel::new(normals.values.sampling().clone(), Arc::new(Wide(normals.values.clone())));
        all.push(CustomAttribute {
            components: 3,
            attribute: Attribute {
                name: "N".into(),
                scope: normals.scope,
                values,
                indices: normals.indices.clone(),
            },
        });
    }
    all
}

/// Examines all frames: number and positions of points, whether they have ids, and which channels are present
/// in every frame.
///
/// If all frames have the same points, these get a layout in files with temporal layers (`layered`).
pub fn prepare(source: &MeshSource, layered: bool, remarks: &mut Vec<Remark>) -> Result<Prepared, Error> {
    let mesh = &*source.mesh;
    let mut remark = |what: String| remarks.push(Remark::new(&mesh.path, what));
    let mut own = PreparedParticles { ids: has_ids(source, &mut remark)?, ..PreparedParticles::default() };
    let mut scan = PositionScan { seconds: source.seconds, ..PositionScan::default() };
    let (mut lost, mut mended) = (0, 0);
    let (mut count, mut curves) = (usize::MAX, Vec::new());
    let mut placed = Vec::new();
    let mut comparison = FrameComparison { same: layered, ..FrameComparison::default() };
    for frame in 0..source.times.len() {
        let at = FramePoints::read(source, own.ids, frame)?;
        (lost, mended) = (lost + at.left_out, mended + at.replaced);
        let points = at.points();
        comparison.add(&at, &points);
        source.to_file_space(frame, &points, &mut placed);
        if !placed.as_flattened().iter().all(|v| v.is_finite()) {
            return Err(beyond_float32(mesh, frame));
        }
        scan.extent.extend(&placed);
        scan.add_bounds(&at.bounds);
        scan.points = scan.points.max(points.len());
        scan.points_total += points.len() as u64;
        if mesh.particles.as_ref().is_some_and(|p| p.curves.is_some()) {
            own.curves = own.curves.max(Some(at.curves.len()));
        }
        let goes_on = points.len() == count && at.curves == curves;
        let run = scan.runs.last().copied().filter(|_| goes_on || own.ids);
        scan.runs.push(run.unwrap_or(frame as u32));
        (count, curves) = (points.len(), at.curves);
    }
    let turns = |all: &Vec<glam::DMat4>| all.iter().any(|m| *m != all[0]);
    scan.moving = !comparison.same || comparison.moving || source.matrices.as_ref().is_some_and(turns);
    if lost > 0 {
        remark(format!(
            "{lost} points (over all frames) were left out: they are not finite or beyond {MAX_COORDINATE:e}, have the id of another, or belong to no curve"
        ));
    }
    if mended > 0 {
        remark(format!(
            "{mended} points (over all frames) are not finite or beyond {MAX_COORDINATE:e} and were replaced"
        ));
    }
    let mut out = MeshChannels {
        normals: NormalOrigin::None,
        normals_animated: false,
        tangents: false,
        uvs: Vec::new(),
        colours: Vec::new(),
        velocities: None,
    };
    let mut look = AttributeScan { source, ids: own.ids, remark: &mut remark };
    if source.uvs {
        for (i, attribute) in mesh.uvs.iter().enumerate() {
            out.uvs.extend(look.scan_channel(attribute, i)?);
        }
    }
    if source.colours {
        for (i, attribute) in mesh.colours.iter().enumerate() {
            out.colours.extend(look.scan_channel(attribute, i)?);
        }
    }
    if source.velocities {
        if let Some(velocities) = velocities(mesh) {
            out.velocities = look.velocities(&velocities)?;
        }
        look.scan_custom_values(&mut own)?;
    }
    let most = out.uvs.len().max(out.colours.len()).max(own.custom.len());
    if most > 255 {
        return Err(Error::Limit {
            what: format!("{}: attribute sets of one kind", mesh.path),
            asked: most as u64,
            allowed: 255,
        });
    }
    let fixed = comparison.layout().map(Arc::new);
    Ok(Prepared { scan, channels: out, particles: Some(own), fixed, materials: Vec::new() })
}

/// Compares the points of all frames with those of the first.
#[derive(Default)]
struct FrameComparison {
    first: Option<FramePoints>,
    /// Those of the first frame that are kept, in object space.
    first_points: Vec<[f32; 3]>,
    /// `true` while all frames have the same ids and curves, and equally many points.
    same: bool,
    /// `true` if positions differ between frames.
    moving: bool,
}

impl FrameComparison {
    fn add(&mut self, at: &FramePoints, points: &[[f32; 3]]) {
        let Some(first) = &self.first else {
            (self.first, self.first_points) = (Some(at.clone()), points.to_vec());
            return;
        };
        let same = at.ids == first.ids && at.curves == first.curves && points.len() == first.origin.len();
        self.same &= same;
        self.moving |= !same || points != self.first_points;
    }

    /// Returns the layout of points that are the same in all frames; `None` if they are not, or if there are
    /// none.
    fn layout(self) -> Option<FixedLayout> {
        let first = self.first.filter(|first| self.same && !first.origin.is_empty())?;
        let vertices = first.origin.len();
        Some(FixedLayout {
            vertex_point: first.origin.iter().map(|[v, _]| *v).collect(),
            vertex_corner: vec![u32::MAX; vertices],
            vertex_face: vec![u32::MAX; vertices],
            vertex_sign: vec![1.0; vertices],
            first_points: first.object,
            ..FixedLayout::default()
        })
    }
}

/// Returns the ids or curves of points that are the same in all frames.
pub fn point_set(source: &MeshSource, prepared: &Prepared) -> Result<PointSet, Error> {
    let ids = prepared.particles.as_ref().is_some_and(|own| own.ids);
    let first = FramePoints::read(source, ids, 0)?;
    Ok(PointSet { ids: first.ids, curves: first.curves })
}

/// Returns `true` if there is an id for each point in every frame.
fn has_ids(source: &MeshSource, remark: &mut impl FnMut(String)) -> Result<bool, Error> {
    let mesh = &*source.mesh;
    if mesh.particles.as_ref().is_none_or(|p| p.ids.as_ref().is_none_or(Channel::is_empty)) {
        return Ok(false);
    }
    let (mut ids, mut points) = (Vec::new(), Vec::new());
    for (frame, &time) in source.times.iter().enumerate() {
        source.cancellation.check()?;
        sample::ids_at(mesh, time, &mut ids)?;
        sample::positions_at(mesh, time, &mut points)?;
        if ids.len() != points.len() {
            remark(format!("{} ids for {} points (frame {frame}); ids left out", ids.len(), points.len()));
            return Ok(false);
        }
        // Writers use −1 where there is no id; the file holds only smaller numbers.
        if ids.contains(&u64::MAX) {
            remark(format!("points whose id is −1 (frame {frame}); ids left out"));
            return Ok(false);
        }
    }
    Ok(true)
}

impl FramePoints {
    fn read(source: &MeshSource, ids: bool, frame: usize) -> Result<FramePoints, Error> {
        source.cancellation.check()?;
        let (mesh, time) = (&*source.mesh, source.times[frame]);
        let mut out = FramePoints::default();
        sample::positions_at(mesh, time, &mut out.object)?;
        let count = out.object.len();
        out.bounds.extend(out.object.iter().filter(|p| is_usable_point(p)));
        if ids {
            let mut all = Vec::new();
            sample::ids_at(mesh, time, &mut all)?;
            let mut order: Vec<(u64, u32)> = all.into_iter().zip(0..).collect();
            order.sort_unstable();
            order.dedup_by_key(|(id, _)| *id);
            order.retain(|(_, v)| is_usable_point(&out.object[*v as usize]));
            out.left_out = count - order.len();
            (out.ids, out.origin) = order.into_iter().map(|(id, v)| (id, [v, 0])).unzip();
            return Ok(out);
        }
        out.replaced = replace_non_finite(&mut out.object, &[]);
        if mesh.particles.as_ref().is_none_or(|p| p.curves.is_none()) {
            out.origin = (0..count as u32).map(|v| [v, 0]).collect();
            return Ok(out);
        }
        sample::curves_at(mesh, time, &mut out.curves)?;
        let mut left = count as u32;
        for (c, length) in (0..).zip(&mut out.curves) {
            *length = (*length).min(left);
            let first = count as u32 - left;
            out.origin.extend((first..first + *length).map(|v| [v, c]));
            left -= *length;
        }
        out.left_out = left as usize;
        Ok(out)
    }

    /// Returns the points that are kept, in object space.
    fn points(&self) -> Vec<[f32; 3]> {
        self.origin.iter().map(|[v, _]| self.object[*v as usize]).collect()
    }

    /// Returns the values of an attribute at the points that are kept, finite or not, or the reason why it
    /// has none.
    fn values<const N: usize>(
        &self,
        attribute: &Attribute<[f32; N]>,
        mesh: &Mesh,
        time: f64,
    ) -> Result<Result<Vec<[f32; N]>, String>, Error>
    where
        [f32; N]: Lerp + Default,
    {
        let mut values = sample::AttributeValues::default();
        sample::attribute_at(attribute, mesh, time, &mut values)?;
        let need = match attribute.scope {
            Scope::Constant => 1,
            Scope::Uniform if !self.curves.is_empty() => self.curves.len(),
            Scope::Uniform => 1,
            Scope::Varying | Scope::Vertex | Scope::FaceVarying => self.object.len(),
        };
        let have = values.indices.as_ref().map_or(values.values.len(), Vec::len);
        if have != need && !self.origin.is_empty() {
            return Ok(Err(format!("{have} values where {need} are needed")));
        }
        let element = |[v, c]: [u32; 2]| match attribute.scope {
            Scope::Constant => 0,
            Scope::Uniform => c,
            Scope::Varying | Scope::Vertex | Scope::FaceVarying => v,
        };
        let value = |origin: &[u32; 2]| {
            let element = element(*origin) as usize;
            let at = match &values.indices {
                Some(indices) => *indices.get(element)? as usize,
                None => element,
            };
            values.values.get(at).copied()
        };
        let all: Option<Vec<[f32; N]>> = self.origin.iter().map(value).collect();
        Ok(all.ok_or_else(|| "indices beyond its values".into()))
    }
}

/// Examines attributes in all frames.
struct AttributeScan<'l> {
    source: &'l MeshSource,
    ids: bool,
    remark: &'l mut dyn FnMut(String),
}

impl AttributeScan<'_> {
    /// Returns the attribute if it is present in all frames.
    fn scan_channel<const N: usize>(
        &mut self,
        attribute: &Attribute<[f32; N]>,
        number: usize,
    ) -> Result<Option<VertexChannel<N>>, Error>
    where
        [f32; N]: Lerp + Default,
    {
        let mut change = ValueChange::default();
        let extent = self.scan_values(attribute, |values| change.add(values))?;
        Ok(extent.map(|extent| VertexChannel { source: number, animated: change.changes, extent }))
    }

    /// Returns the extent of an attribute that is present in all frames, and passes its values to `see`.
    fn scan_values<const N: usize>(
        &mut self,
        attribute: &Attribute<[f32; N]>,
        mut see: impl FnMut(&[[f32; N]]),
    ) -> Result<Option<Extent<N>>, Error>
    where
        [f32; N]: Lerp + Default,
    {
        let mut extent = Extent::default();
        for frame in 0..self.source.times.len() {
            let placed = FramePoints::read(self.source, self.ids, frame)?;
            match placed.values(attribute, &self.source.mesh, self.source.times[frame])? {
                Ok(values) => {
                    extent.extend(&values);
                    see(&values);
                }
                Err(why) => {
                    (self.remark)(format!("{} left out: {why} (frame {frame})", attribute.name));
                    return Ok(None);
                }
            }
        }
        Ok(Some(extent))
    }

    /// Returns the velocities in the space of the file.
    fn velocities(&mut self, attribute: &Attribute<[f32; 3]>) -> Result<Option<VertexChannel<3>>, Error> {
        let found = self.scan_channel(attribute, 0)?;
        let (Some(set), true) = (found, self.source.matrices.is_some()) else {
            return Ok(found);
        };
        let (mut extent, mut change) = (Extent::default(), ValueChange::default());
        for (frame, &time) in self.source.times.iter().enumerate() {
            let placed = FramePoints::read(self.source, self.ids, frame)?;
            let Ok(mut own) = placed.values(attribute, &self.source.mesh, time)? else {
                return Ok(None);
            };
            self.source.velocities_to_file_space(frame, &placed.points(), &mut own);
            extent.extend(&own);
            change.add(&own);
        }
        Ok(Some(VertexChannel { extent, animated: change.changes, ..set }))
    }

    /// Examines widths and all other attached numbers.
    fn scan_custom_values(&mut self, own: &mut PreparedParticles) -> Result<(), Error> {
        let (source, mesh) = (self.source, &*self.source.mesh);
        if let Some(widths) = mesh.particles.as_ref().and_then(|p| p.widths.as_ref()) {
            own.widths = self.scan_channel(widths, 0)?.map(|set| {
                let (mut extent, Extent { low, high }) = (Extent::default(), set.extent);
                let first = source.length_scale(0);
                let mut animated = set.animated;
                for frame in 0..source.times.len() {
                    let scale = source.length_scale(frame);
                    animated |= scale != first;
                    extent.extend(&[low, high].map(|[w]| [(f64::from(w) * scale) as f32]));
                }
                VertexChannel { extent, animated, ..set }
            });
        }
        for (i, custom) in point_attributes(mesh).iter().enumerate() {
            let (mut whole, mut change) = ([true; 4], ValueChange::default());
            let found = self.scan_values(&custom.attribute, |values: &[[f32; 4]]| {
                change.add(values);
                for value in values {
                    for (whole, v) in whole.iter_mut().zip(value).filter(|(_, v)| v.is_finite()) {
                        *whole &= v.fract() == 0.0 && v.abs() <= MAX_EXACT_INTEGER;
                    }
                }
            })?;
            let animated = change.changes;
            let found = found.map(|extent| CustomChannel { source: i, extent, integral: whole, animated });
            own.custom.extend(found.map(|set| (set, custom.attribute.name.clone(), custom.components)));
        }
        Ok(())
    }
}

/// Whether values differ between frames.
#[derive(Default)]
struct ValueChange<const N: usize> {
    first: Option<Vec<[f32; N]>>,
    changes: bool,
}

impl<const N: usize> ValueChange<N> {
    /// Adds the values of the next frame.
    fn add(&mut self, values: &[[f32; N]]) {
        match &self.first {
            None => self.first = Some(values.to_vec()),
            Some(first) => self.changes |= first != values,
        }
    }
}

/// Returns the particles of a frame.
pub fn evaluate(source: &MeshSource, prepared: &Prepared, frame: usize) -> Result<ParticleFrame, Error> {
    evaluate_streams(source, prepared, frame, &|_, _| true)
}

/// Fills `out` with the values of `frame` of a mesh with a layout, be it of points without faces.
pub fn evaluate_layout(
    fixed: &FixedLayout,
    (source, prepared): (&MeshSource, &Prepared),
    frame: usize,
    want: RequestedValues,
    scratch: &mut Scratch,
    out: &mut VertexValues,
) -> Result<(), Error> {
    if prepared.particles.is_some() {
        *out = evaluate(source, prepared, frame)?.values;
        return Ok(());
    }
    fixed.evaluate(source, prepared, frame, want, scratch, out)
}

/// Returns the particles of a frame with the values of the streams that are `wanted`, by semantic and set;
/// those of others are empty.
pub fn evaluate_streams(
    source: &MeshSource,
    prepared: &Prepared,
    frame: usize,
    wanted: &dyn Fn(Semantic, usize) -> bool,
) -> Result<ParticleFrame, Error> {
    let mesh = &*source.mesh;
    let own = prepared.particles.clone().unwrap_or_default();
    let placed = FramePoints::read(source, own.ids, frame)?;
    let object = placed.points();
    let mut values = VertexValues::default();
    source.to_file_space(frame, &object, &mut values.positions);
    let gone = |what: String| Error::Malformed { what: format!("{}: {what} (frame {frame})", mesh.path) };
    let time = source.times[frame];
    for (s, set) in prepared.channels.uvs.iter().enumerate() {
        if !wanted(Semantic::Uv, s) {
            values.uvs.push(Vec::new());
            continue;
        }
        let own = placed.values(&mesh.uvs[set.source], mesh, time)?.map_err(gone)?;
        values.uvs.push(clamp_non_finite(own, &set.extent));
    }
    for (s, set) in prepared.channels.colours.iter().enumerate() {
        if !wanted(Semantic::Colour, s) {
            values.colours.push(Vec::new());
            continue;
        }
        let own = placed.values(&mesh.colours[set.source], mesh, time)?.map_err(gone)?;
        values.colours.push(clamp_non_finite(own, &set.extent));
    }
    if let (Some(set), Some(velocities)) = (&prepared.channels.velocities, velocities(mesh))
        && wanted(Semantic::Velocity, 0)
    {
        let mut own = placed.values(&velocities, mesh, time)?.map_err(gone)?;
        source.velocities_to_file_space(frame, &object, &mut own);
        values.velocities = clamp_non_finite(own, &set.extent);
    }
    let widths = mesh.particles.as_ref().and_then(|p| p.widths.as_ref());
    if let (Some(set), Some(widths)) = (&own.widths, widths)
        && wanted(Semantic::Width, 0)
    {
        let mut all = placed.values(widths, mesh, time)?.map_err(gone)?;
        let scale = source.length_scale(frame);
        all.iter_mut().for_each(|w| w[0] = (f64::from(w[0]) * scale) as f32);
        values.widths = clamp_non_finite(all, &set.extent);
    }
    let attached = point_attributes(mesh);
    for (s, (set, _, components)) in own.custom.iter().enumerate() {
        if !Semantic::custom(*components).is_some_and(|semantic| wanted(semantic, s)) {
            values.custom.push(Vec::new());
            continue;
        }
        let attribute = &attached[set.source].attribute;
        let all = placed.values(attribute, mesh, time)?.map_err(gone)?;
        values.custom.push(clamp_non_finite(all, &set.extent));
    }
    Ok(ParticleFrame { ids: placed.ids, curves: placed.curves, values })
}

/// Replaces values that are not finite by zero, or by the value of the extent nearest to it, so that
/// replacements do not enlarge the range.
fn clamp_non_finite<const N: usize>(mut values: Vec<[f32; N]>, extent: &Extent<N>) -> Vec<[f32; N]> {
    for value in &mut values {
        for (k, v) in value.iter_mut().enumerate().filter(|(_, v)| !v.is_finite()) {
            let (low, high) = extent.component(k);
            *v = 0.0f32.clamp(low, high);
        }
    }
    values
}
