//! The output of a file for a moment: vertices in the caller's layout.

use crate::batches::{Dispatch, WorkList};
use crate::card::{CardTypes, UpdateStatistics, WriteBuffers};
use crate::params::{PARAMS_BYTES, Params};
use meshreel::view::EndState;
use std::ops::Range;

/// The moment that vertices show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShownMoment {
    /// The vertices do not move.
    Never,
    /// An end state, for all frames in it.
    End(EndState),
    /// Two frames, and the bits of the blend weight.
    Between([u32; 2], u32),
}

/// The buffers of a batch of meshes.
pub(super) struct OutputBatch<T: CardTypes> {
    /// The vertices of the current moment and, if they are kept, of the moment before, one after the other.
    pub vertices: T::Buffer,
    pub bindings: T::Bindings,
    pub pulled: Option<T::Bindings>,
    pub moment_count: usize,
    /// The bytes of one moment.
    pub moment_bytes: u64,
}

/// A mesh of an output.
pub(super) struct OutputMesh<T: CardTypes> {
    batch: usize,
    /// The byte range of its vertices in a moment of its batch.
    vertices: Range<u64>,
    /// The index of the current moment.
    current_moment: usize,
    /// `true` if the other moment is the one before; else nothing has moved.
    moved: bool,
    /// `true` if its vertices must be computed.
    due: bool,
    indices: T::Buffer,
    index_count: u32,
    vertex_count: u32,
    /// The moment that its vertices show.
    shown_moment: Option<ShownMoment>,
}

impl<T: CardTypes> OutputMesh<T> {
    pub fn new(batch: usize, vertices: Range<u64>, indices: T::Buffer, index_count: u32) -> OutputMesh<T> {
        OutputMesh {
            batch,
            vertices,
            current_moment: 0,
            moved: false,
            due: false,
            indices,
            index_count,
            vertex_count: 0,
            shown_moment: None,
        }
    }
}

/// The vertices of a file at a moment. All instances that show the same moment share it.
pub struct CardOutput<T: CardTypes> {
    params: (T::Buffer, Vec<Params>),
    work: T::Buffer,
    /// The current work, and the work before.
    lists: [WorkList; 2],
    batches: Vec<OutputBatch<T>>,
    meshes: Vec<OutputMesh<T>>,
}

impl<T: CardTypes> std::fmt::Debug for CardOutput<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CardOutput").field("meshes", &self.meshes.len()).finish_non_exhaustive()
    }
}

/// A range of bytes of a buffer.
#[derive(Debug, Clone)]
pub struct BufferRange<B> {
    #[allow(missing_docs)]
    pub buffer: B,
    #[allow(missing_docs)]
    pub bytes: Range<u64>,
}

impl<T: CardTypes> CardOutput<T> {
    pub(super) fn new(
        params: (T::Buffer, Vec<Params>),
        (work, mut list): (T::Buffer, WorkList),
        batches: Vec<OutputBatch<T>>,
        meshes: Vec<OutputMesh<T>>,
    ) -> CardOutput<T> {
        // The list is the longest possible one, so its memory is always enough.
        list.dispatches.clear();
        let before = WorkList { work: Vec::with_capacity(list.work.len()), dispatches: Vec::new() };
        list.work.clear();
        CardOutput { params, work, lists: [list, before], batches, meshes }
    }

    /// `true` if a mesh shows a moment already.
    pub(super) fn is_showing(&mut self, mesh: usize, moment: ShownMoment) -> bool {
        let shows = self.meshes[mesh].shown_moment == Some(moment);
        if shows {
            self.keep_moment(mesh);
        }
        shows
    }

    /// Notes that a mesh continues to show its moment.
    pub(super) fn keep_moment(&mut self, mesh: usize) {
        self.meshes[mesh].moved = false;
    }

    /// Notes that a mesh will show a moment, with `vertices` vertices. Returns the first word of that moment
    /// in its batch.
    pub(super) fn begin_moment(&mut self, mesh: usize, moment: ShownMoment, vertices: u32) -> usize {
        let own = &mut self.meshes[mesh];
        let batch = &self.batches[own.batch];
        own.moved = batch.moment_count > 1 && own.shown_moment.is_some() && own.vertex_count == vertices;
        own.current_moment = (own.current_moment + 1) % batch.moment_count;
        own.shown_moment = Some(moment);
        own.vertex_count = vertices;
        own.current_moment * batch.moment_bytes as usize / 4
    }

    /// Writes the triangles of a mesh that brings its own. Returns their bytes.
    pub(super) fn write_indices(
        &mut self,
        queue: &mut impl WriteBuffers<T>,
        mesh: usize,
        indices: &[u32],
    ) -> u64 {
        let own = &mut self.meshes[mesh];
        let bytes = bytemuck::cast_slice(indices);
        queue.write(&own.indices, 0, bytes);
        own.index_count = indices.len() as u32;
        bytes.len() as u64
    }

    /// Sets the parameters of a mesh whose vertices must be computed.
    pub(super) fn set_params(&mut self, mesh: usize, params: Params) {
        self.params.1[mesh] = params;
        self.meshes[mesh].due = true;
    }

    /// Writes the parameters of the meshes that are due, and the work list that `list` makes from them if it
    /// differs from the one before.
    pub(super) fn write(
        &mut self,
        queue: &mut impl WriteBuffers<T>,
        out: &mut UpdateStatistics,
        list: impl for<'p> FnOnce(&dyn Fn(usize) -> Option<&'p Params>, &mut WorkList),
    ) {
        let (buffer, params) = &self.params;
        let meshes = &mut self.meshes;
        self.lists.swap(0, 1);
        let [now, before] = &mut self.lists;
        let first = meshes.iter().position(|mesh| mesh.due);
        let Some((first, last)) = first.zip(meshes.iter().rposition(|mesh| mesh.due)) else {
            now.work.clear();
            now.dispatches.clear();
            return;
        };
        let bytes = bytemuck::cast_slice(&params[first..=last]);
        queue.write(buffer, (first * PARAMS_BYTES) as u64, bytes);
        out.bytes += bytes.len() as u64;
        list(&|mesh| meshes[mesh].due.then_some(&params[mesh]), now);
        meshes.iter_mut().for_each(|mesh| mesh.due = false);
        if now.work != before.work {
            let bytes = bytemuck::cast_slice(now.work.as_flattened());
            queue.write(&self.work, 0, bytes);
            out.bytes += bytes.len() as u64;
        }
    }

    /// Returns the dispatches that the last [`CardOutput::write`] found necessary.
    pub(super) fn dispatches(&self) -> &[Dispatch] {
        &self.lists[0].dispatches
    }

    pub(super) fn bindings(&self, dispatch: &Dispatch) -> &T::Bindings {
        &self.batches[dispatch.batch].bindings
    }

    fn slice(&self, mesh: usize, moment: usize) -> BufferRange<&T::Buffer> {
        let own = &self.meshes[mesh];
        let batch = &self.batches[own.batch];
        let start = (moment % batch.moment_count) as u64 * batch.moment_bytes;
        BufferRange { buffer: &batch.vertices, bytes: start + own.vertices.start..start + own.vertices.end }
    }

    /// Returns the vertices of a mesh, in the layout. They begin at a multiple of 256 bytes of their buffer.
    /// Panics if there is no such mesh.
    pub fn vertices_of(&self, mesh: usize) -> BufferRange<&T::Buffer> {
        self.slice(mesh, self.meshes[mesh].current_moment)
    }

    /// Returns the vertices of the update before, in the same order ([`crate::card::Budget::previous`]); the
    /// current ones if the mesh has not moved since, or has other vertices. Panics if there is no such mesh.
    pub fn previous_vertices_of(&self, mesh: usize) -> BufferRange<&T::Buffer> {
        let own = &self.meshes[mesh];
        self.slice(mesh, own.current_moment + usize::from(own.moved))
    }

    /// Returns the bindings from which the caller's vertex shader fetches the vertices of a mesh, and the
    /// offset of its parameters; `None` unless the layout is [`crate::VertexLayout::pulled`].
    pub fn pulled(&self, mesh: usize) -> Option<(&T::Bindings, u32)> {
        let batch = &self.batches[self.meshes.get(mesh)?.batch];
        Some((batch.pulled.as_ref()?, (mesh * PARAMS_BYTES) as u32))
    }

    /// `true` if its vertices were computed.
    pub fn is_shown(&self, mesh: usize) -> bool {
        self.meshes[mesh].shown_moment.is_some()
    }

    /// Returns the frames that its vertices are between, and the blend weight; `None` for a mesh that stands
    /// still.
    pub fn between(&self, mesh: usize) -> Option<([u32; 2], f32)> {
        match self.meshes[mesh].shown_moment {
            Some(ShownMoment::Between(frames, blend)) => Some((frames, f32::from_bits(blend))),
            _ => None,
        }
    }

    /// Returns its current number of vertices.
    pub fn vertex_count(&self, mesh: usize) -> u32 {
        self.meshes[mesh].vertex_count
    }

    /// Returns its indices, u32, three per triangle: [`CardOutput::index_count`] of the finest level,
    /// followed by those of the other levels ([`crate::card::CardReel::lod_range`]) if the triangles of the
    /// mesh do not change. Shaders may read them as storage.
    pub fn indices(&self, mesh: usize) -> &T::Buffer {
        &self.meshes[mesh].indices
    }

    /// Returns the number of indices of the finest level, see [`CardOutput::indices`].
    pub fn index_count(&self, mesh: usize) -> u32 {
        self.meshes[mesh].index_count
    }
}
