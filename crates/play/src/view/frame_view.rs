//! The view of an instance: nodes and meshes at a moment between two frames, for drawing, motion blur and
//! collision. Lent from the player's memory or from decoders; nothing is allocated, and all results are
//! written where the caller wants them.
//!
//! Between two frames a node moves and a mesh deforms, but nothing appears or vanishes: visibility is that of
//! the first frame, and a mesh is shown as in the first frame if it is hidden in one of the two, if it is
//! scaled to nothing in one, or if it brings its own topology. Particles that both frames have move. So
//! births and deaths do not smear.

use crate::Error;
use crate::debug::impl_debug;
use crate::decode::decoder::FrameDecoder;
use crate::decode::matrix;
use crate::decode::mesh::MeshView;
use crate::reel::frame::FrameData;
use crate::reel::layout::IndexRange;
use crate::reel::lod::Lod;
use crate::reel::open_file::Reel;
use crate::reel::quantized::QuantizedValues;
use crate::reel::statics::Statics;
use crate::reel::visibility::VisibleRanges;
use crate::time::clock::Pace;
use crate::time::demand::FramePair;
use crate::view::interpolate::{self, has_zero_scale};
use crate::view::vertex::{VertexAttribute, VertexChannel, VertexFormat, VertexWriter};
use meshreel_codec::record::{MeshRecord, Semantic, Visibility};
use meshreel_codec::transform::Transform;

/// The number of ancestors that are multiplied in the order of [`FrameDecoder::world`]; in deeper trees the
/// rest is multiplied in the opposite order, which differs by rounding.
const MAX_STACKED_ANCESTORS: usize = 64;

/// A moment of a file.
#[derive(Clone, Copy)]
#[must_use]
pub struct FrameView<'a> {
    reel: &'a Reel,
    statics: &'a Statics,
    first: Option<FrameData<'a>>,
    second: Option<FrameData<'a>>,
    pair: FramePair,
    pace: Pace,
}

impl_debug!("FrameView", FrameView<'_>, |view| { reel: view.reel, pair: view.pair, pace: view.pace });

impl<'a> FrameView<'a> {
    pub(crate) fn new(
        reel: &'a Reel,
        statics: &'a Statics,
        frames: [Option<FrameData<'a>>; 2],
        pair: FramePair,
        pace: Pace,
    ) -> FrameView<'a> {
        FrameView {
            reel,
            statics,
            first: frames[0],
            second: frames[1].filter(|_| pair.first != pair.second),
            pair,
            pace,
        }
    }

    /// Returns the view between the frames of two decoders of one file, for tools and tests; a player's views
    /// are the same. `pace` is used for velocities only.
    pub fn between(
        first: &'a FrameDecoder,
        second: &'a FrameDecoder,
        blend: f32,
        pace: Pace,
    ) -> Result<FrameView<'a>, Error> {
        let (Some(from), Some(to)) = (first.frame(), second.frame()) else {
            return Err(Error::misuse("both decoders must have decoded a frame"));
        };
        if !std::ptr::eq(first.reel().description(), second.reel().description()) {
            return Err(Error::misuse("the decoders must be of one open file"));
        }
        if !(0.0..1.0).contains(&blend) {
            return Err(Error::misuse("a blend is at least 0 and less than 1"));
        }
        let pair = FramePair { first: from as u32, second: to as u32, blend };
        let frames = [first.current_frame(), second.current_frame()];
        Ok(FrameView::new(first.reel(), first.statics(), frames, pair, pace))
    }

    /// Returns the file.
    #[must_use]
    pub fn reel(&self) -> &'a Reel {
        self.reel
    }
    /// Returns the two frames and the blend weight between them.
    pub fn pair(&self) -> FramePair {
        self.pair
    }
    /// Returns the world bounds of all that is shown: min xyz, max xyz; min is larger than max if nothing is
    /// shown.
    #[must_use]
    pub fn bounds(&self) -> [f32; 6] {
        let of = |frame: u32| self.reel.frame_bounds(frame as usize);
        let (a, b) = (of(self.pair.first), of(self.pair.second));
        std::array::from_fn(|k| if k < 3 { a[k].min(b[k]) } else { a[k].max(b[k]) })
    }

    // Nodes.

    /// `true` if a node's own mesh is shown in the first frame. Panics if there is no such node.
    #[must_use]
    pub fn visible(&self, node: usize) -> bool {
        self.visible_in(self.first, node)
    }

    fn visible_in(&self, frame: Option<FrameData<'a>>, node: usize) -> bool {
        match self.reel.description().nodes[node].visibility {
            Visibility::Always => true,
            Visibility::Never => false,
            Visibility::Animated => {
                let bit = self.reel.layout().visibility_bits[node];
                bit.zip(frame).is_some_and(|(bit, frame)| frame.visible(bit))
            }
        }
    }

    fn local_in(&self, frame: Option<FrameData<'a>>, node: usize) -> Transform {
        let rest = self.reel.description().nodes[node].rest;
        let number = self.reel.layout().transform_indices[node];
        let of_frame = number.zip(frame);
        of_frame.map_or(rest, |(number, frame)| frame.transforms()[number as usize])
    }

    /// Returns the second frame, if this node's mesh is there in both.
    fn second_frame(&self, node: usize) -> Option<FrameData<'a>> {
        let second = self.second?;
        let mesh = self.reel.description().nodes[node].mesh.is_some();
        let there = |frame| !mesh || self.visible_in(Some(frame), node);
        (self.first.is_some_and(there) && there(second)).then_some(second)
    }

    /// Returns a node's transform, blended between the first frame and `second`.
    fn local_with(&self, second: Option<FrameData<'a>>, node: usize, blend: f32) -> Transform {
        let from = self.local_in(self.first, node);
        if blend == 0.0 || second.is_none() {
            return from;
        }
        let to = self.local_in(second, node);
        match has_zero_scale(&from) || has_zero_scale(&to) {
            true => from,
            false => interpolate::transform(&from, &to, blend),
        }
    }

    /// Returns the transform of a node relative to its parent. Panics if there is no such node.
    #[must_use]
    pub fn local(&self, node: usize) -> Transform {
        self.local_with(self.second_frame(node), node, self.pair.blend)
    }

    /// Returns the object-to-world matrix of a node, row-major. Costs one matrix product per ancestor; for
    /// all nodes see [`FrameView::worlds_into`]. Panics if there is no such node.
    #[must_use]
    pub fn world(&self, node: usize) -> [[f64; 4]; 3] {
        self.world_at(node, self.second_frame(node), self.pair.blend)
    }

    /// Returns the world matrix of a node. Its own transform is blended with that in `second`, those of its
    /// ancestors with the second frame, as they move on even if their own mesh is hidden.
    fn world_at(&self, node: usize, second: Option<FrameData<'a>>, blend: f32) -> [[f64; 4]; 3] {
        let nodes = &self.reel.description().nodes;
        let mut chain = [0; MAX_STACKED_ANCESTORS];
        let mut depth = 0;
        let mut above = nodes[node].parent;
        while let Some(parent) = above.filter(|_| depth < MAX_STACKED_ANCESTORS) {
            chain[depth] = parent as usize;
            depth += 1;
            above = nodes[parent as usize].parent;
        }
        let ancestor = |node: usize| self.local_with(self.second, node, blend).matrix();
        let mut world = None;
        while let Some(parent) = above {
            let matrix = ancestor(parent as usize);
            world = Some(world.map_or(matrix, |below| matrix::product(&matrix, &below)));
            above = nodes[parent as usize].parent;
        }
        for &parent in chain[..depth].iter().rev() {
            let matrix = ancestor(parent);
            world = Some(world.map_or(matrix, |above| matrix::product(&above, &matrix)));
        }
        let own = self.local_with(second, node, blend).matrix();
        world.map_or(own, |above| matrix::product(&above, &own))
    }

    /// Writes the object-to-world matrices of all nodes, at one product each. Returns an error unless `out`
    /// is as long as the file has nodes.
    pub fn worlds_into(&self, out: &mut [[[f64; 4]; 3]]) -> Result<(), Error> {
        let nodes = &self.reel.description().nodes;
        if out.len() != nodes.len() {
            return Err(Error::misuse(format!(
                "the worlds of {} nodes do not fit into a buffer of {}",
                nodes.len(),
                out.len()
            )));
        }
        let blend = self.pair.blend;
        for (node, record) in nodes.iter().enumerate() {
            let own = self.local(node).matrix();
            let Some(parent) = record.parent.map(|parent| parent as usize) else {
                out[node] = own;
                continue;
            };
            // A parent that stands still because its own mesh is hidden moves its children all the same.
            let stands = blend > 0.0 && self.second.is_some() && self.second_frame(parent).is_none();
            out[node] = match stands {
                true => self.world(node),
                false => matrix::product(&out[parent], &own),
            };
        }
        Ok(())
    }

    /// Returns the change of [`FrameView::world`] per second: the last column is the velocity of the node's
    /// origin. The velocity of a point p of its mesh (with p₃ = 1) is this matrix times p, plus the world
    /// matrix times the vertex's own velocity. 0 if the mesh is not there in both frames. Panics if there is
    /// no such node.
    #[must_use]
    pub fn world_velocity(&self, node: usize) -> [[f64; 4]; 3] {
        let per_second = self.per_second();
        let Some(second) = self.second_frame(node).filter(|_| per_second != 0.0) else {
            return [[0.0; 4]; 3];
        };
        let gone = has_zero_scale(&self.local_in(self.first, node))
            || has_zero_scale(&self.local_in(Some(second), node));
        if gone {
            return [[0.0; 4]; 3];
        }
        let from = self.world_at(node, None, 0.0);
        let there = FrameView { first: self.second, second: None, ..*self };
        let to = there.world_at(node, None, 0.0);
        interpolate::matrix_velocity(&from, &to, per_second)
    }

    /// Returns the factor from a difference of the two frames to a change per second.
    fn per_second(&self) -> f64 {
        match self.pace.span == 0.0 || self.second.is_none() {
            true => 0.0,
            false => self.pace.speed / self.pace.span,
        }
    }

    /// Returns the world bounds of a node's mesh over all frames: min xyz, max xyz. `None` without a mesh.
    /// Panics if there is no such node.
    #[must_use]
    pub fn node_bounds(&self, node: usize) -> Option<[f32; 6]> {
        let mesh = self.reel.description().nodes[node].mesh?;
        let bounds = self.reel.description().meshes[mesh as usize].bounds;
        Some(transform_bounds(&bounds, &self.world(node)))
    }

    // Meshes.

    /// Returns the mesh of a node at this moment; `None` without a mesh. Other nodes with the same mesh show
    /// the same, unless they appear or vanish between the frames. Panics if there is no such node.
    #[must_use]
    pub fn mesh(&self, node: usize) -> Option<MeshFrame<'a>> {
        let mesh = self.reel.description().nodes[node].mesh? as usize;
        let view = |frame| MeshView::new(self.reel, self.statics, mesh, frame);
        let record = &self.reel.description().meshes[mesh];
        let first = view(self.first);
        let second = self.second_frame(node).filter(|_| record.method.deforms() || first.particles_change());
        let second = second.map(|frame| view(Some(frame)));
        Some(MeshFrame {
            mesh,
            frames: [self.pair.first, self.pair.second],
            vertices: VertexWriter {
                first,
                second: second.filter(|other| first.finds_particles(other)),
                blend: self.pair.blend,
                per_second: self.per_second() as f32,
                speed: self.pace.speed as f32,
            },
        })
    }

    /// Returns the numbers of vertices and of indices that [`FrameView::collision_into`] writes. Panics if
    /// there is no such node.
    #[must_use]
    pub fn collision_size(&self, node: usize) -> (usize, usize) {
        self.mesh(node).map_or((0, 0), |mesh| (mesh.vertex_count(), mesh.indices().len()))
    }

    /// Writes the triangles of a node's mesh in world space, for physics: xyz per vertex, and three indices
    /// per triangle. Returns an error unless the buffers have the lengths of [`FrameView::collision_size`].
    /// Panics if there is no such node.
    pub fn collision_into(
        &self,
        node: usize,
        positions: &mut [f32],
        indices: &mut [u32],
    ) -> Result<(), Error> {
        let Some(mesh) = self.mesh(node) else {
            return Err(Error::misuse(format!("node {node} has no mesh to collide with")));
        };
        if indices.len() != mesh.indices().len() {
            return Err(Error::misuse(format!(
                "mesh {} has {} indices, the buffer {}",
                mesh.record().path,
                mesh.indices().len(),
                indices.len()
            )));
        }
        mesh.positions_into(positions)?;
        let world = self.world(node);
        let (points, _) = positions.as_chunks_mut::<3>();
        for point in points {
            *point = transform_point(&world, point.map(f64::from)).map(|v| v as f32);
        }
        indices.copy_from_slice(mesh.indices());
        Ok(())
    }
}

fn transform_point(world: &[[f64; 4]; 3], [x, y, z]: [f64; 3]) -> [f64; 3] {
    world.map(|[a, b, c, d]| a * x + b * y + c * z + d)
}

/// Returns the bounds of a transformed box.
fn transform_bounds(bounds: &[f32; 6], world: &[[f64; 4]; 3]) -> [f32; 6] {
    let at = bounds.map(f64::from);
    if (0..3).any(|k| at[k] > at[k + 3]) {
        return *bounds;
    }
    let centre: [f64; 3] = std::array::from_fn(|k| (at[k] + at[k + 3]) / 2.0);
    let half: [f64; 3] = std::array::from_fn(|k| (at[k + 3] - at[k]) / 2.0);
    let middle = transform_point(world, centre);
    std::array::from_fn(|k| {
        let row = &world[k % 3];
        let reach: f64 = (0..3).map(|c| row[c].abs() * half[c]).sum();
        // Rounded outwards, so that the bounds stay conservative.
        match k < 3 {
            true => ((middle[k % 3] - reach) as f32).next_down(),
            false => ((middle[k % 3] + reach) as f32).next_up(),
        }
    })
}

/// A mesh at a moment.
#[derive(Clone, Copy)]
#[must_use]
pub struct MeshFrame<'a> {
    mesh: usize,
    /// The frames around the moment.
    frames: [u32; 2],
    vertices: VertexWriter<'a>,
}

impl_debug!("MeshFrame", MeshFrame<'_>, |mesh| { mesh: mesh.mesh, frames: mesh.frames, blend: mesh.blend() });

impl<'a> MeshFrame<'a> {
    /// Returns its number in the file.
    #[must_use]
    pub fn number(&self) -> usize {
        self.mesh
    }
    /// Returns the mesh's record in the description.
    #[must_use]
    pub fn record(&self) -> &'a MeshRecord {
        self.vertices.first.record()
    }
    /// Returns the number of vertices at this moment.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.vertices.first.vertex_count()
    }
    /// `true` if two frames are blended; otherwise the mesh is as in the first one.
    #[must_use]
    pub fn blends(&self) -> bool {
        self.vertices.second.is_some() && self.vertices.blend > 0.0
    }
    /// Returns the two frames around the moment; the first one twice if only that is shown.
    #[must_use]
    pub fn frames(&self) -> [u32; 2] {
        let [first, second] = self.frames;
        [first, if self.vertices.second.is_some() { second } else { first }]
    }
    /// Returns the blend weight from the first frame to the second, 0 … 1.
    #[must_use]
    pub fn blend(&self) -> f32 {
        if self.blends() { self.vertices.blend } else { 0.0 }
    }
    /// Returns the factor by which the difference of the two frames is multiplied for velocities.
    #[must_use]
    pub fn per_second(&self) -> f32 {
        if self.vertices.second.is_some() { self.vertices.per_second } else { 0.0 }
    }
    /// `true` if a stream changes at all; one that does not need not be written again.
    #[must_use]
    pub fn is_animated(&self, semantic: Semantic, set: u8) -> bool {
        let stream = self.vertices.first.find_stream(semantic, set);
        stream.is_some_and(|s| self.record().streams[s].animated) || self.is_fluid()
    }
    /// `true` if indices and the number of vertices change from frame to frame: for fluid meshes, and for
    /// particles and curves that do not have the same points in all frames.
    #[must_use]
    pub fn is_fluid(&self) -> bool {
        self.record().method.changes()
    }
    /// Returns the object bounds over all frames, min xyz and max xyz: the range of positions as
    /// [`VertexFormat::U16x4`].
    #[must_use]
    pub fn bounds(&self) -> [f32; 6] {
        self.record().bounds
    }
    /// Returns the smallest u and v and the sizes of their ranges: the range of uvs as
    /// [`VertexFormat::U16x2`]. `None` without such a set, and if its precision is too fine for 16 bits.
    #[must_use]
    pub fn uv_range(&self, set: u8) -> Option<[f32; 4]> {
        let stream = self.vertices.first.find_stream(Semantic::Uv, set)?;
        self.vertices.first.uv_range(stream)
    }

    // Triangles.

    /// Returns the ids of particles, ascending, one for each vertex; empty if they have none, and for other
    /// meshes. Between two frames the particles are those of the first: those that both have are blended, the
    /// others stay.
    #[must_use]
    pub fn ids(&self) -> &'a [u64] {
        self.vertices.first.ids()
    }
    /// Returns the number of vertices of each curve; empty if there are no curves.
    #[must_use]
    pub fn curves(&self) -> &'a [u32] {
        self.vertices.first.curves()
    }
    /// Returns the indices, three per triangle.
    #[must_use]
    pub fn indices(&self) -> &'a [u32] {
        self.vertices.first.indices()
    }
    /// Returns the index ranges of the record's materials, in its order.
    #[must_use]
    pub fn materials(&self) -> &'a [IndexRange] {
        self.vertices.first.materials()
    }
    /// Returns the number of LOD levels, including the mesh itself, which is level 0.
    #[must_use]
    pub fn lod_count(&self) -> usize {
        self.vertices.first.lod_count()
    }
    /// Returns an LOD level: fewer triangles between the same vertices, so the vertices that are written
    /// serve all levels. If `level` is too large, the last level is returned.
    /// [`crate::policy::LodDistances::from_errors`] tells from which distance on a level is good enough.
    pub fn lod(&self, level: usize) -> Lod<'a> {
        self.vertices.first.lod(level)
    }
    /// Returns the indices in the order of [`MeshFrame::visible_ranges`], which is the same in all frames of
    /// a mesh that is not fluid.
    #[must_use]
    pub fn indices_by_visibility(&self) -> &'a [u32] {
        self.vertices.first.indices_by_visibility()
    }
    /// Returns the ranges of [`MeshFrame::indices_by_visibility`] that are visible at this moment, for one
    /// material or for all; one range if nothing is left out. Triangles that are left out cannot be seen from
    /// outside. The ranges change only when pieces separate or come to rest. Does not allocate.
    pub fn visible_ranges(&self, material: Option<usize>) -> VisibleRanges<'a> {
        self.vertices.first.visible_ranges(self.frames, material)
    }
    /// Returns the indices of one material.
    pub fn material_indices(&self, material: usize) -> Result<&'a [u32], Error> {
        let ranges = self.materials();
        let range = ranges.get(material).ok_or_else(|| {
            let (path, count) = (&self.record().path, ranges.len());
            Error::misuse(format!("material {material} of mesh {path}, which has {count}"))
        })?;
        let (first, count) = (range.first as usize, range.count as usize);
        // The description and every frame were checked against the number of indices.
        Ok(self.indices().get(first..first + count).unwrap_or(&[]))
    }
    /// Writes the indices of one material in 16 bits, for meshes of up to 65,536 vertices.
    pub fn material_indices_u16_into(&self, material: usize, out: &mut [u16]) -> Result<(), Error> {
        let indices = self.material_indices(material)?;
        let path = &self.record().path;
        if out.len() != indices.len() {
            return Err(Error::misuse(format!(
                "material {material} of mesh {path} has {} indices, the buffer {}",
                indices.len(),
                out.len()
            )));
        }
        if self.vertex_count() > 1 << 16 {
            return Err(Error::misuse(format!(
                "mesh {path} has {} vertices, too many for indices of 16 bits",
                self.vertex_count()
            )));
        }
        for (out, &index) in out.iter_mut().zip(indices) {
            *out = index as u16;
        }
        Ok(())
    }

    // Vertices.

    /// Writes a range of vertices in the caller's own layout, `stride` bytes apart; `out` must have exactly
    /// their size. Bytes that no attribute covers are not changed. A range makes partial updates possible.
    pub fn write(
        &self,
        attributes: &[VertexAttribute],
        stride: usize,
        vertices: std::ops::Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        self.vertices.write(attributes, stride, vertices, out)
    }

    /// Writes object-space positions, xyz per vertex.
    pub fn positions_into(&self, out: &mut [f32]) -> Result<(), Error> {
        self.write_floats(VertexChannel::Position, VertexFormat::F32x3, out)
    }
    /// Writes unit normals, xyz per vertex.
    pub fn normals_into(&self, out: &mut [f32]) -> Result<(), Error> {
        self.write_floats(VertexChannel::Normal, VertexFormat::F32x3, out)
    }
    /// Writes unit tangents, xyzw per vertex; w is the sign of the bitangent `cross(normal, tangent)·w`.
    pub fn tangents_into(&self, out: &mut [f32]) -> Result<(), Error> {
        self.write_floats(VertexChannel::Tangent, VertexFormat::F32x4, out)
    }
    /// Writes unit normals and tangents, as the two functions before do, in one pass: if both are predicted
    /// from the positions, that takes little more time than the tangents alone.
    pub fn directions_into(&self, normals: &mut [f32], tangents: &mut [f32]) -> Result<(), Error> {
        self.vertices.write_directions_whole(normals, tangents)
    }
    /// Writes texture coordinates, uv per vertex.
    pub fn uvs_into(&self, set: u8, out: &mut [f32]) -> Result<(), Error> {
        self.write_floats(VertexChannel::Uv(set), VertexFormat::F32x2, out)
    }
    /// Writes colours, rgba per vertex.
    pub fn colours_into(&self, set: u8, out: &mut [f32]) -> Result<(), Error> {
        self.write_floats(VertexChannel::Colour(set), VertexFormat::F32x4, out)
    }
    /// Writes the width of particles or curves at each vertex, as a diameter.
    pub fn widths_into(&self, out: &mut [f32]) -> Result<(), Error> {
        self.write_floats(VertexChannel::Width, VertexFormat::F32, out)
    }
    /// Writes custom values of particles or curves: set `set` of those with `components` components, 1 to 4,
    /// as [`MeshFrame::record`] lists them.
    pub fn custom_into(&self, components: u8, set: u8, out: &mut [f32]) -> Result<(), Error> {
        let what = VertexChannel::Custom { components, set };
        match what.formats().first() {
            Some(&format) => self.write_floats(what, format, out),
            None => Err(Error::misuse(format!("attached numbers of {components} components"))),
        }
    }
    /// Writes the velocity of each vertex in object space, xyz per second: that of the source if it has one
    /// ([`Semantic::Velocity`], for a mesh whose vertices change or for particles), else the difference of
    /// the frames. 0 if nothing moves, or the mesh is not there in both frames.
    pub fn velocities_into(&self, out: &mut [f32]) -> Result<(), Error> {
        self.write_floats(VertexChannel::Velocity, VertexFormat::F32x3, out)
    }

    fn write_floats(&self, what: VertexChannel, format: VertexFormat, out: &mut [f32]) -> Result<(), Error> {
        self.vertices.write_floats(what, format, out)
    }

    /// Returns the quantized values of a stream of the record as they are in memory, for a GPU that
    /// dequantizes and blends: those of the first frame and, if it is blended, of the second. Empty for a
    /// fixed-point stream and for predicted normals; particles that change have no second, as it has others.
    /// Nothing is copied. Panics if there is no such stream.
    pub fn quantized(&self, stream: usize) -> (QuantizedValues<'a>, Option<QuantizedValues<'a>>) {
        let alike = self.blends() && !self.vertices.first.particles_change();
        let second = self.vertices.second.filter(|_| alike);
        let second = second.map(|view| view.quantized(stream));
        (self.vertices.first.quantized(stream), second)
    }
}
