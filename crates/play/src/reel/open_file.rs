//! An open file: its tables, its description, and what is derived from them. Created by [`super::open`].

use crate::Error;
use crate::reel::chunk_content::read_chunk;
use crate::reel::end_states::MotionWindow;
use crate::reel::layout::FrameLayout;
use crate::reel::order::DecodeOrder;
use crate::reel::statics::Statics;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::record::ranges::FrameRange;
use meshreel_codec::record::{Description, MeshRecord};
use meshreel_codec::sort;
use meshreel_format::{ChunkEntry, FrameEntry, Reader, kind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The way in which a frame is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameKind {
    /// By itself.
    Index,
    /// From other frames around it.
    Predicted,
}

/// An open file. Clones share it; it can be used from several threads.
#[derive(Clone)]
pub struct Reel {
    shared: Arc<ReelData>,
}

/// Damaged static data: the fault, and its place.
pub(super) struct StaticsError {
    what: String,
    at: String,
}

/// The open file that clones of a [`Reel`] share.
pub(super) struct ReelData {
    pub reader: Reader,
    /// See [`Reel::number`].
    pub number: u64,
    pub description: Description,
    /// The chunk of each unit.
    pub unit_chunks: Vec<u32>,
    pub order: DecodeOrder,
    /// Per mesh the frames in which it moves; `None` if it is decoded in all of them.
    pub motion_windows: Vec<Option<MotionWindow>>,
    /// Named ranges of the animation.
    pub ranges: Vec<FrameRange>,
    /// Bytes that the open file takes, without what is counted when static data is read.
    pub memory: u64,
    /// [`Limits::max_memory`] of the limits it was opened with.
    pub max_memory: u64,
    /// Bytes of tables and lists that are made from static data: expected, or counted once it has been read.
    pub counted_bytes: AtomicU64,
    /// [`Limits::attributes`] of the limits it was opened with.
    pub attributes: bool,
    /// [`Limits::poses`] of the limits it was opened with.
    pub poses: bool,
    /// `true` if units have chunks of vertex attributes behind them.
    pub attributes_apart: bool,
    pub layout: FrameLayout,
    pub statics: Mutex<Option<Result<Arc<Statics>, StaticsError>>>,
    /// The last chunk of source maps that was asked for.
    pub source_map_chunk: Mutex<Option<(u32, Arc<Vec<u8>>)>>,
    /// By mesh, the size of its grid, once it was asked for.
    pub grids: OnceLock<Vec<Option<[u32; 2]>>>,
}

impl Reel {
    /// A reel of what was opened and checked.
    pub(super) fn new(shared: ReelData) -> Reel {
        Reel { shared: Arc::new(shared) }
    }

    /// Returns a number that no other file has that this process has opened.
    pub(crate) fn number(&self) -> u64 {
        self.shared.number
    }

    /// Returns the file's path; "(memory)" if the bytes came from elsewhere and have no name.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.shared.reader.path()
    }

    /// Returns the description: nodes, meshes, options.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.shared.description
    }

    /// Returns the container, for tools that print its contents.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.shared.reader
    }

    /// Returns the number of frames, which can be 0.
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.shared.reader.frames().len()
    }

    /// Returns the named ranges of the animation, in order of time, if the source has several animations one
    /// after the other; else none. Frames are not blended from the end of one range to the beginning of the
    /// next. To play a range, pass its first and last frame to [`crate::Command::Range`].
    #[must_use]
    pub fn ranges(&self) -> &[FrameRange] {
        &self.shared.ranges
    }

    /// `true` if frames lie in temporal layers, so that every second one can be left out.
    #[must_use]
    pub fn is_layered(&self) -> bool {
        matches!(self.shared.order, DecodeOrder::Layered { .. })
    }

    /// Returns the frame table: times and world bounds.
    #[must_use]
    pub fn frames(&self) -> &[FrameEntry] {
        self.shared.reader.frames()
    }

    /// Returns the chunk table.
    #[must_use]
    pub fn chunks(&self) -> &[ChunkEntry] {
        self.shared.reader.chunks()
    }

    /// Returns the time of frame `frame` in seconds. Panics if there is no such frame.
    #[must_use]
    pub fn time(&self, frame: usize) -> f64 {
        self.frames()[frame].time
    }

    /// Returns the kind of frame `frame`. Panics if there is no such frame.
    #[must_use]
    pub fn frame_kind(&self, frame: usize) -> FrameKind {
        match self.unit_chunk(self.unit_of(frame)).kind {
            kind::INDEPENDENT_UNIT => FrameKind::Index,
            _ => FrameKind::Predicted,
        }
    }

    /// Returns the chunk that holds frame `frame`, perhaps with others. Panics if there is no such frame.
    #[must_use]
    pub fn frame_chunk(&self, frame: usize) -> &ChunkEntry {
        self.unit_chunk(self.unit_of(frame))
    }

    /// Returns the world bounds of what is shown in frame `frame`: min xyz, max xyz. Panics if there is no
    /// such frame.
    #[must_use]
    pub fn frame_bounds(&self, frame: usize) -> [f32; 6] {
        self.frames()[frame].bounds
    }

    /// Returns the bytes of the whole file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.shared.reader.header().file_size
    }

    /// Returns the compressed bytes of all frames.
    #[must_use]
    pub fn frame_bytes(&self) -> u64 {
        let kinds = [kind::INDEPENDENT_UNIT, kind::DEPENDENT_UNIT, kind::VERTEX_ATTRIBUTES];
        kinds.iter().map(|&kind| self.chunk_bytes(kind)).sum()
    }

    /// `true` if animated attributes are decoded ([`super::limits::Limits::attributes`]).
    #[must_use]
    pub fn has_attributes(&self) -> bool {
        self.shared.attributes
    }

    /// `true` if points that bones move are posed ([`super::limits::Limits::poses`]).
    #[must_use]
    pub fn has_poses(&self) -> bool {
        self.shared.poses
    }

    /// `true` if there are meshes whose points are not decoded ([`super::limits::Limits::points`]).
    #[must_use]
    pub fn has_coded_points(&self) -> bool {
        self.layout().has_coded_points
    }

    /// Returns whether vertex attributes lie in chunks of their own, and whether these are read.
    pub(crate) fn attributes_apart(&self) -> (bool, bool) {
        (self.shared.attributes_apart, self.shared.attributes_apart && self.shared.attributes)
    }

    /// Returns the last frame of the mesh's lead-in and the first frame of its lead-out; a game can put
    /// something cheaper in the mesh's place before and after. All frames for a mesh that moves throughout or
    /// whose triangles change; the same frame twice for one that does not move. Panics if there is no such
    /// mesh.
    #[must_use]
    pub fn motion_frames(&self, mesh: usize) -> [u32; 2] {
        let record = &self.description().meshes[mesh];
        let last = (self.frame_count() as u32).saturating_sub(1);
        match record.streams.iter().any(|s| s.animated) {
            true => record.moving_frames.unwrap_or([0, last]),
            false => [0, 0],
        }
    }
    /// Returns the compressed bytes of all chunks of a kind (see [`kind`]).
    #[must_use]
    pub fn chunk_bytes(&self, kind: u16) -> u64 {
        let chunks = self.chunks().iter().filter(|c| c.kind == kind);
        chunks.map(|c| u64::from(c.size)).sum()
    }

    /// Returns the bytes that the open file takes with its static data and one decoder. Until the static data
    /// has been read, as for the first decoder, the lists from which normals are computed are estimated, and
    /// the tables of the soft codec, which meshes share, are not included.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.shared.memory + self.shared.counted_bytes.load(Ordering::Relaxed)
    }

    /// Returns the bytes that each further decoder takes: frames, and what decoding a unit needs. Static data
    /// is shared.
    #[must_use]
    pub fn decoder_memory(&self) -> u64 {
        let scratch = (0..self.unit_count()).map(|unit| self.scratch_words(unit)).max();
        8 * (self.order().held_frames() * self.frame_words() as u64 + scratch.unwrap_or(0) as u64)
    }

    /// Returns the bytes that tables and lists made from static data may take.
    pub(crate) fn memory_for_tables(&self) -> u64 {
        self.shared.max_memory - self.shared.memory
    }

    /// Records the bytes that tables and lists made from static data take.
    pub(crate) fn set_counted_bytes(&self, bytes: u64) {
        self.shared.counted_bytes.store(bytes, Ordering::Relaxed);
    }

    /// The error for static data whose tables take more memory than is left.
    pub(crate) fn too_much_memory(&self, tables: u64) -> Error {
        let what = "bytes of memory to decode it";
        let asked = self.shared.memory.saturating_add(tables);
        Error::limit(self.path(), what, asked, self.shared.max_memory)
    }

    /// Returns the chunks of its units, in order.
    pub(crate) fn unit_chunks(&self) -> &[u32] {
        &self.shared.unit_chunks
    }

    /// The places of all values in a decoded frame.
    pub(crate) fn layout(&self) -> &FrameLayout {
        &self.shared.layout
    }

    /// Returns the order in which its units are decoded.
    pub(crate) fn order(&self) -> &DecodeOrder {
        &self.shared.order
    }

    /// Returns the frames in which a mesh moves; `None` if it is decoded in all of them.
    pub(crate) fn motion_window(&self, mesh: usize) -> Option<&MotionWindow> {
        self.shared.motion_windows[mesh].as_ref()
    }

    /// Returns the static data of all meshes: what is held, or what `load` reads, which is then held.
    pub(crate) fn statics_or(
        &self,
        load: impl FnOnce() -> Result<Statics, Error>,
    ) -> Result<Arc<Statics>, Error> {
        let mut held = (self.shared.statics.lock()).unwrap_or_else(PoisonError::into_inner);
        let loaded = match &*held {
            Some(Ok(statics)) => return Ok(statics.clone()),
            Some(Err(StaticsError { what, at })) => {
                return Err(Error::malformed(self.path(), what.as_str(), at.as_str()));
            }
            None => load(),
        };
        match loaded {
            Ok(statics) => {
                let statics = Arc::new(statics);
                *held = Some(Ok(statics.clone()));
                Ok(statics)
            }
            Err(error) => {
                // Otherwise asking mesh by mesh would decode all of it each time.
                if let Error::Malformed { what, at, .. } = &error {
                    let (what, at) = (what.clone(), at.clone());
                    *held = Some(Err(StaticsError { what, at }));
                }
                Err(error)
            }
        }
    }

    /// Returns the sizes of the grids of all meshes; `read` reads them at the first call.
    pub(crate) fn grids_or(
        &self,
        read: impl FnOnce() -> Result<Vec<Option<[u32; 2]>>, Error>,
    ) -> Result<&[Option<[u32; 2]>], Error> {
        let held = &self.shared.grids;
        match held.get() {
            Some(known) => Ok(known),
            None => read().map(|all| &held.get_or_init(|| all)[..]),
        }
    }

    /// Returns the content of a chunk of source maps. The last one is kept, as very many meshes share it.
    pub(super) fn source_map_chunk(&self, chunk: u32) -> Result<Arc<Vec<u8>>, Error> {
        let mut held = (self.shared.source_map_chunk.lock()).unwrap_or_else(PoisonError::into_inner);
        if let Some((_, content)) = held.as_ref().filter(|(number, _)| *number == chunk) {
            return Ok(content.clone());
        }
        *held = None;
        let content = Arc::new(self.chunk(chunk, &mut Decompressor::new())?);
        *held = Some((chunk, content.clone()));
        Ok(content)
    }

    /// Reads and decompresses a chunk.
    pub(crate) fn chunk(&self, chunk: u32, decompressor: &mut Decompressor) -> Result<Vec<u8>, Error> {
        read_chunk(&self.shared.reader, chunk as usize, decompressor)
    }

    pub(crate) fn mesh_record(&self, mesh: usize) -> Result<&MeshRecord, Error> {
        let meshes = &self.shared.description.meshes;
        meshes
            .get(mesh)
            .ok_or_else(|| Error::misuse(format!("mesh {mesh} of {} does not exist", meshes.len())))
    }

    /// Calls `read(content, mesh)` for all `(chunk, mesh)`, chunk by chunk, so that a hostile order costs
    /// nothing.
    pub(crate) fn each_chunk(
        &self,
        mut wanted: Vec<(Option<u32>, usize)>,
        mut read: impl FnMut(&[u8], usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        sort::unstable(&mut wanted);
        let mut decompressor = Decompressor::new();
        let mut held: Option<(u32, Vec<u8>)> = None;
        for (chunk, mesh) in wanted {
            if let Some(chunk) = chunk
                && held.as_ref().map(|h| h.0) != Some(chunk)
            {
                drop(held.take());
                held = Some((chunk, self.chunk(chunk, &mut decompressor)?));
            }
            let content = held.as_ref().map_or(&[][..], |h| &h.1);
            read(content, mesh)?;
        }
        Ok(())
    }

    /// Returns the numbers of the chunks of a kind, in order.
    pub(crate) fn chunks_of(&self, kind: u16) -> impl Iterator<Item = u32> + '_ {
        let chunks = (0..).zip(self.chunks());
        chunks.filter(move |(_, c)| c.kind == kind).map(|(i, _)| i)
    }
}

impl std::fmt::Debug for Reel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reel")
            .field("path", &self.path())
            .field("frames", &self.frame_count())
            .field("meshes", &self.shared.description.meshes.len())
            .finish_non_exhaustive()
    }
}
