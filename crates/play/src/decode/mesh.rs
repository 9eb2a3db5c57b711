//! A mesh of a decoded frame: indices, quantized values for a GPU, and floats in the caller's buffers.

use crate::Error;
use crate::debug::impl_debug;
use crate::decode::bones::BonesView;
use crate::reel::end_states::EndState;
use crate::reel::fixed_point::{self, FixedPointStream, VertexBlock};
use crate::reel::frame::{FrameData, ParticlesFrame};
use crate::reel::layout::{ArrayLayout, BonesLayout, IndexRange};
use crate::reel::lod::{Lod, LodLevel};
use crate::reel::normals::{PredictedFrame, PredictedNormals};
use crate::reel::open_file::Reel;
use crate::reel::quantized::{QuantizedBuffer, QuantizedValues, for_quantized};
use crate::reel::statics::Statics;
use crate::reel::visibility::{TriangleVisibility, VisibleRanges};
use meshreel_codec::Points;
use meshreel_codec::mesh::normals;
use meshreel_codec::mesh::normals::Directions;
use meshreel_codec::quantize;
use meshreel_codec::quantize::{Axis, octahedral, qtangent};
use meshreel_codec::record::{Coding, MeshRecord, Method, Semantic};
use meshreel_codec::values::particles::point_set::PointSet;

/// One mesh in one frame. Valid until the decoder moves on.
#[derive(Clone, Copy)]
#[must_use]
pub struct MeshView<'a> {
    record: &'a MeshRecord,
    /// Whether animated vertex attributes are decoded.
    attributes: bool,
    /// Whether points that bones move are posed.
    poses: bool,
    /// Whether points of its frames are left coded.
    coded_points: bool,
    vertices: u32,
    source_points: u32,
    points: &'a [u32],
    particles: Option<ParticlesFrame<'a>>,
    /// The ids or curves of points that are the same in all frames.
    point_set: &'a PointSet,
    indices: &'a [u32],
    materials: &'a [IndexRange],
    lods: &'a [LodLevel],
    visibility: Option<&'a TriangleVisibility>,
    /// Static streams, and the first frame of animated ones.
    static_streams: &'a [QuantizedBuffer],
    /// The parts of each fixed-point stream.
    fixed_point: &'a [Vec<FixedPointStream>],
    /// The predictor of each stream of predicted normals.
    predicted_normals: &'a [Option<Box<PredictedNormals>>],
    /// The mesh's number, and the frame with its animated streams.
    frame: Option<(usize, FrameData<'a>)>,
    end_state: Option<EndState>,
}

impl_debug!("MeshView", MeshView<'_>, |mesh| {
    path: mesh.record.path,
    vertices: mesh.vertices,
    indices: mesh.indices.len(),
});

impl<'a> MeshView<'a> {
    /// Returns the mesh in a frame; without one in its first frame, and an empty fluid mesh.
    pub(crate) fn new(
        reel: &'a Reel,
        statics: &'a Statics,
        mesh: usize,
        frame: Option<FrameData<'a>>,
    ) -> MeshView<'a> {
        let record = &reel.description().meshes[mesh];
        let fixed = &statics.meshes[mesh];
        let end_state = frame.and_then(|frame| frame.end_state(mesh));
        let frame = frame.map(|frame| frame.for_mesh(statics, mesh));
        let mut view = MeshView {
            record,
            attributes: reel.has_attributes(),
            poses: reel.has_poses(),
            coded_points: reel.layout().meshes[mesh].coded_points.is_some(),
            vertices: record.vertices,
            source_points: record.source_points,
            points: &[],
            particles: None,
            point_set: &fixed.point_set,
            indices: &fixed.indices,
            materials: &reel.layout().meshes[mesh].material_ranges,
            lods: &fixed.lods,
            visibility: fixed.visibility.as_ref(),
            static_streams: &fixed.streams,
            fixed_point: &fixed.fixed_point,
            predicted_normals: &fixed.normals,
            frame: frame.map(|frame| (mesh, frame)),
            end_state,
        };
        if record.method == Method::Fluid {
            let fluid = frame.and_then(|frame| frame.fluid(mesh));
            view.vertices = fluid.as_ref().map_or(0, |f| f.vertices.min(record.vertices));
            view.source_points = fluid.as_ref().map_or(0, |f| f.source_points);
            view.points = fluid.as_ref().map_or(&[], |f| f.points);
            view.indices = fluid.as_ref().map_or(&[], |f| f.indices);
            view.materials = fluid.as_ref().map_or(&[], |f| f.materials);
        }
        if record.method == Method::Particles {
            view.particles = frame.and_then(|frame| frame.particles(mesh));
            view.vertices = view.particles.map_or(0, |p| p.count.min(record.vertices));
            view.source_points = view.vertices;
        }
        view
    }

    /// Returns the state of the rigid bones in this frame, see [`BonesView`]; `None` without rigid bones.
    pub(crate) fn bone_states(&self) -> Option<&'a [u32]> {
        let (mesh, frame) = self.frame?;
        frame.bone_states(mesh)
    }

    /// Returns the end state that the mesh is in, if nothing of it is decoded in this frame: vertices that
    /// were computed before are still valid.
    #[must_use]
    pub fn end_state(&self) -> Option<EndState> {
        self.end_state
    }

    /// Returns the mesh's record in the description.
    #[must_use]
    pub fn record(&self) -> &'a MeshRecord {
        self.record
    }
    /// Returns the number of vertices of this frame; 0 for a mesh that brings its own vertices but is not
    /// shown anywhere.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.vertices as usize
    }
    /// Returns the number of points of the source mesh in this frame.
    #[must_use]
    pub fn source_points(&self) -> u32 {
        self.source_points
    }
    /// Returns the point of each vertex of a fluid mesh: vertices at one place with different attributes
    /// share a point. Empty if every vertex is a point of its own.
    #[must_use]
    pub fn fluid_points(&self) -> &'a [u32] {
        self.points
    }
    /// Returns the ids of particles, ascending, one for each vertex; empty if they have none, and for other
    /// meshes.
    #[must_use]
    pub fn ids(&self) -> &'a [u64] {
        self.particles.map_or(&self.point_set.ids, |particles| particles.ids)
    }
    /// Returns the number of vertices of each curve; empty if there are no curves.
    #[must_use]
    pub fn curves(&self) -> &'a [u32] {
        self.particles.map_or(&self.point_set.curves, |particles| particles.curves)
    }
    /// `true` if each frame has its own particles, which may be others in the next.
    pub(crate) fn particles_change(&self) -> bool {
        self.record.method == Method::Particles
    }
    /// `true` if particles can be found in another frame: by their ids, or by their indices if these are the
    /// same particles there.
    pub(crate) fn finds_particles(&self, other: &MeshView<'_>) -> bool {
        if !self.particles_change() || self.record.particles.is_some_and(|particles| particles.ids) {
            return true;
        }
        let run = |view: &MeshView<'_>| view.particles.map_or(0, |p| p.run);
        run(self) > 0 && run(self) == run(other) && self.vertices == other.vertices
    }
    /// Returns the indices, three per triangle, counter-clockwise seen from outside, ordered for a vertex
    /// cache.
    #[must_use]
    pub fn indices(&self) -> &'a [u32] {
        self.indices
    }
    /// Returns the index ranges of the record's materials, in its order.
    #[must_use]
    pub fn materials(&self) -> &'a [IndexRange] {
        self.materials
    }
    /// Returns the indices in the order of [`MeshView::visible_ranges`]; equal to [`MeshView::indices`] if
    /// all triangles are always visible.
    #[must_use]
    pub fn indices_by_visibility(&self) -> &'a [u32] {
        self.visibility.map_or(self.indices, |visibility| &visibility.indices)
    }
    /// Returns the ranges of [`MeshView::indices_by_visibility`] that are visible between two frames, for one
    /// material or for all. If both frames are the same, it is for that frame; if the second is below the
    /// first, for the seam of a loop. The other triangles cannot be seen from outside: they lie between parts
    /// that touch, or that have come to rest.
    pub fn visible_ranges(&self, frames: [u32; 2], material: Option<usize>) -> VisibleRanges<'a> {
        match (self.visibility, material) {
            (Some(visibility), _) => VisibleRanges::new(visibility, frames, material),
            (None, Some(m)) => VisibleRanges::whole(self.materials.get(m).copied().unwrap_or_default()),
            (None, None) => VisibleRanges::whole(IndexRange { first: 0, count: self.indices.len() as u32 }),
        }
    }
    /// Returns the number of LOD levels, including the mesh itself, which is level 0. Each has fewer
    /// triangles between the same vertices.
    #[must_use]
    pub fn lod_count(&self) -> usize {
        1 + self.lods.len()
    }
    /// Returns an LOD level; the last one if `level` is too large.
    pub fn lod(&self, level: usize) -> Lod<'a> {
        let coarser = level.min(self.lods.len()).checked_sub(1);
        coarser
            .map_or(Lod { indices: self.indices, materials: self.materials, error: 0.0, becomes: &[] }, |l| {
                self.lods[l].lod()
            })
    }
    /// Returns the index of a stream in the record; `None` if it does not exist or is left out
    /// ([`crate::Limits::attributes`]).
    #[must_use]
    pub fn find_stream(&self, semantic: Semantic, set: u8) -> Option<usize> {
        let streams = &self.record.streams;
        let found = (streams.iter()).position(|s| s.semantic == semantic && s.set == set);
        found.filter(|&s| self.attributes || !self.record.is_attribute(s))
    }
    /// `true` if [`MeshView::normals_into`] can write normals.
    #[must_use]
    pub fn has_normals(&self) -> bool {
        self.has_tangents() || self.find_stream(Semantic::Normal, 0).is_some()
    }
    /// `true` if [`MeshView::tangents_into`] can write tangents.
    #[must_use]
    pub fn has_tangents(&self) -> bool {
        self.find_stream(Semantic::QTangent, 0).is_some()
    }

    /// Returns the quantized values of stream `stream` of the record as they are in memory, component-major,
    /// for a GPU to dequantize; their meaning is in `record().streams[stream]`. Empty for a fixed-point
    /// stream, for predicted normals, and for a stream that is left out. Panics if there is no such stream.
    pub fn quantized(&self, stream: usize) -> QuantizedValues<'a> {
        let of_frame = self.frame.and_then(|(mesh, frame)| frame.stream(mesh, stream));
        let components = self.record.streams[stream].semantic.components();
        let levels = of_frame.or_else(|| self.static_streams.get(stream).map(QuantizedBuffer::values));
        levels.map_or(QuantizedValues::U8(&[]), |levels| levels.first(components * self.vertex_count()))
    }

    /// Returns the bones that move the positions; `None` if neither parts nor bones move the mesh.
    #[must_use]
    pub fn bones(&self) -> Option<BonesView<'a>> {
        let stream = self.find_stream(Semantic::Position, 0)?;
        BonesView::new(self.fixed_point.get(stream)?, self.bones_frame())
    }

    /// Writes object-space positions, xyz per vertex.
    pub fn positions_into(&self, out: &mut [f32]) -> Result<(), Error> {
        self.lattice_into(Semantic::Position, 0, "positions", out)
    }
    /// Writes texture coordinates, uv per vertex.
    pub fn uvs_into(&self, set: u8, out: &mut [f32]) -> Result<(), Error> {
        self.lattice_into(Semantic::Uv, set, "uvs", out)
    }
    /// Writes colours, rgba per vertex.
    pub fn colours_into(&self, set: u8, out: &mut [f32]) -> Result<(), Error> {
        self.lattice_into(Semantic::Colour, set, "colours", out)
    }

    /// Writes the velocities of the source, xyz per vertex in units per second, for a mesh whose vertices
    /// come with each frame.
    pub fn velocities_into(&self, out: &mut [f32]) -> Result<(), Error> {
        self.lattice_into(Semantic::Velocity, 0, "velocities", out)
    }
    /// Writes the width of particles or curves at each vertex, as a diameter.
    pub fn widths_into(&self, out: &mut [f32]) -> Result<(), Error> {
        self.lattice_into(Semantic::Width, 0, "widths", out)
    }
    /// Writes custom values, as many per vertex as stream `stream` of the record has components.
    pub fn custom_into(&self, stream: usize, out: &mut [f32]) -> Result<(), Error> {
        let record = self.record.streams.get(stream).filter(|record| record.semantic.is_custom());
        let record = record.ok_or_else(|| {
            Error::misuse(format!("stream {stream} of mesh {} is none of attached numbers", self.record.path))
        })?;
        self.lattice_into(record.semantic, record.set, "attached numbers", out)
    }

    /// Writes unit normals, xyz per vertex, from the stream of normals or of tangent frames.
    pub fn normals_into(&self, out: &mut [f32]) -> Result<(), Error> {
        if self.has_tangents() {
            let stream = self.require_stream(Semantic::QTangent, 0, "normals")?;
            if let Some(frame) = self.predicted_frame(stream) {
                return self.predicted_into(frame, Some(out), None);
            }
            self.check_size(out, 3, "normals")?;
            for_quantized!(self.quantized(stream), codes => qtangent::normals(self.bits(stream), codes, out));
            return Ok(());
        }
        let stream = self.require_stream(Semantic::Normal, 0, "normals")?;
        if let Some(frame) = self.predicted_frame(stream) {
            return self.predicted_into(frame, Some(out), None);
        }
        self.check_size(out, 3, "normals")?;
        for_quantized!(self.quantized(stream), codes => octahedral::normals(self.bits(stream), codes, out));
        Ok(())
    }

    /// Writes unit tangents, xyzw per vertex; w is the sign of the bitangent `cross(normal, tangent)·w`.
    pub fn tangents_into(&self, out: &mut [f32]) -> Result<(), Error> {
        let stream = self.require_stream(Semantic::QTangent, 0, "tangents")?;
        if let Some(frame) = self.predicted_frame(stream) {
            return self.predicted_into(frame, None, Some(out));
        }
        self.check_size(out, 4, "tangents")?;
        for_quantized!(self.quantized(stream), codes => qtangent::tangents(self.bits(stream), codes, out));
        Ok(())
    }

    /// Writes unit normals and tangents, as [`MeshView::normals_into`] and [`MeshView::tangents_into`] do, in
    /// one pass: if both are predicted from the positions, that takes little more time than the tangents
    /// alone.
    pub fn directions_into(&self, normals: &mut [f32], tangents: &mut [f32]) -> Result<(), Error> {
        let stream = self.require_stream(Semantic::QTangent, 0, "tangents")?;
        if let Some(frame) = self.predicted_frame(stream) {
            return self.predicted_into(frame, Some(normals), Some(tangents));
        }
        self.normals_into(normals)?;
        self.tangents_into(tangents)
    }

    fn predicted_into(
        &self,
        frame: PredictedFrame<'_>,
        normals: Option<&mut [f32]>,
        tangents: Option<&mut [f32]>,
    ) -> Result<(), Error> {
        frame.write(None, self.directions(normals, tangents)?);
        Ok(())
    }

    /// Checks that the buffers for normals and tangents have the right size.
    pub(crate) fn directions<'o>(
        &self,
        normals: Option<&'o mut [f32]>,
        tangents: Option<&'o mut [f32]>,
    ) -> Result<Directions<'o>, Error> {
        if let Some(normals) = &normals {
            self.check_size(normals, 3, "normals")?;
        }
        if let Some(tangents) = &tangents {
            self.check_size(tangents, 4, "tangents")?;
        }
        Ok(Directions {
            normals: normals.map(|out| out.as_chunks_mut().0),
            tangents: tangents.map(|out| out.as_chunks_mut().0),
        })
    }

    /// Returns the data from which the normals of a stream are computed; `None` if they are not predicted.
    pub(crate) fn predicted_frame(&self, stream: usize) -> Option<PredictedFrame<'a>> {
        let predicted = self.predicted_normals.get(stream)?.as_deref()?;
        let positions = self.fixed_point.first()?.first()?;
        let states = self.frame.and_then(|(mesh, frame)| frame.normal_states(mesh, stream));
        let transforms = self.frame.and_then(|(mesh, frame)| frame.bone_transforms(mesh));
        let frame = normals::NormalsFrame {
            points: positions.part_positions(0, self.fixed_point_array(0)),
            state: states.unwrap_or(predicted.coded.base()),
            transforms: transforms.unwrap_or_default(),
        };
        Some(PredictedFrame { predicted, frame })
    }

    /// `true` if points of its frames are not decoded.
    pub(crate) fn has_coded_points(&self) -> bool {
        self.coded_points
    }

    /// Returns the frame's buffer and the place of a stream of fixed-point positions in it.
    fn fixed_point_array(&self, stream: usize) -> Option<(&'a [u64], ArrayLayout)> {
        let (mesh, frame) = self.frame?;
        frame.fixed_point(mesh, stream)
    }

    /// Returns the first part of a fixed-point stream, and its points in this frame; these are `None` if
    /// they are not decoded or not posed.
    pub(crate) fn fixed_point_part(
        &self,
        stream: usize,
    ) -> Option<(&'a FixedPointStream, Option<Points<'a>>)> {
        let part = self.fixed_point.get(stream)?.first()?;
        let record = &self.record.streams[stream];
        let placed = match record.semantic {
            Semantic::Position => !self.coded_points && (self.poses || record.coding != Coding::Bones),
            _ => true,
        };
        Some((part, placed.then(|| part.part_positions(0, self.fixed_point_array(stream)))))
    }

    /// Returns the frame with its animated streams, and the places of its bones.
    pub(crate) fn bones_frame(&self) -> Option<(FrameData<'a>, BonesLayout)> {
        let (mesh, frame) = self.frame?;
        Some((frame, frame.layout.meshes[mesh].bones?))
    }

    /// Writes the values of a range of vertices of a fixed-point stream as planes; returns `false` for a
    /// stream of quantized values.
    pub(crate) fn fixed_point_into(
        &self,
        stream: usize,
        vertices: std::ops::Range<usize>,
        out: &mut VertexBlock,
    ) -> bool {
        let is = self.record.streams[stream].coding.has_fixed_point();
        if is {
            fixed_point::planes_into(
                &self.fixed_point[stream],
                self.fixed_point_array(stream),
                vertices,
                out,
            );
        }
        is
    }

    /// Returns the smallest u and v of a stream, and the sizes of their ranges, if these are known.
    pub(crate) fn uv_range(&self, stream: usize) -> Option<[f32; 4]> {
        let record = &self.record.streams[stream];
        if record.coding.has_fixed_point() {
            let [low, high] = fixed_point::value_range(&self.fixed_point[stream])?;
            return Some([low[0], low[1], high[0] - low[0], high[1] - low[1]]);
        }
        let [u, v] = &record.axes[..] else {
            return None;
        };
        let size = |axis: &Axis| axis.value(axis.codes.max(1) - 1) - axis.min;
        Some([u.min, v.min, size(u), size(v)])
    }

    fn bits(&self, stream: usize) -> u32 {
        u32::from(self.record.streams[stream].bits)
    }

    pub(crate) fn require_stream(&self, semantic: Semantic, set: u8, name: &str) -> Result<usize, Error> {
        let path = &self.record.path;
        let found = self.find_stream(semantic, set);
        let found = found.ok_or_else(|| Error::misuse(format!("mesh {path} has no {name} {set}")))?;
        let posed = self.poses || !self.record.streams.iter().any(|s| s.coding == Coding::Bones);
        let needs = match semantic {
            semantic if semantic.has_sets() => "",
            _ if !posed => ", which bones move, in a file that was opened without poses (Limits::poses)",
            _ if self.coded_points => {
                " in a file that was opened without points of the preset fast (Limits::points)"
            }
            _ => "",
        };
        match needs {
            "" => Ok(found),
            needs => Err(Error::misuse(format!("{name} of mesh {path}{needs}"))),
        }
    }

    fn check_size(&self, out: &[f32], components: usize, name: &str) -> Result<(), Error> {
        let want = components * self.vertex_count();
        if out.len() == want {
            return Ok(());
        }
        Err(Error::misuse(format!(
            "{name} of mesh {} need a buffer of {want} floats, not {}",
            self.record.path,
            out.len()
        )))
    }

    fn lattice_into(&self, semantic: Semantic, set: u8, name: &str, out: &mut [f32]) -> Result<(), Error> {
        let stream = self.require_stream(semantic, set, name)?;
        self.check_size(out, semantic.components(), name)?;
        if self.record.streams[stream].coding.has_fixed_point() {
            let components = semantic.components();
            fixed_point::positions_into(
                &self.fixed_point[stream],
                self.fixed_point_array(stream),
                components,
                out,
            );
            return Ok(());
        }
        let axes: &[Axis] = &self.record.streams[stream].axes;
        for_quantized!(self.quantized(stream), codes => quantize::dequantize(axes, codes, out));
        Ok(())
    }
}
