//! Clip databases: many clips whose layers and tiers are streamed in and out while they are played, in memory
//! that is fixed when the file is opened.
//!
//! Headers and the base's first tier are always in memory. All else lies in chunks, each of one layer and
//! tier of some clips. [`Database::stream_in`] and [`Database::stream_out`] request what shall be in memory,
//! [`Database::tick`] begins reads and publishes what has arrived. Poses are sampled through
//! [`Clip`]s, on any thread, also while a tick runs.
//!
//! ```text
//! slot      empty → reading → arrived → there → empty          cancelled while it is read: its memory comes back with the read
//! tick      checks what arrived; then hands it over, for which it waits for nobody: where poses are being sampled it is done at the next tick
//! sampler   holds what is there still, for one pose
//! ```
//!
//! ```no_run
//! use meshreel::clip::{Database, DatabaseOptions, LayerTier, Query};
//! use meshreel::{Limits, Transform};
//!
//! # fn main() -> Result<(), meshreel::Error> {
//! let mut database = Database::open("set.reel", &Limits::default(), DatabaseOptions::default())?;
//! let walk = database.clip(0)?;
//! let mut cursor = walk.cursor();
//! let mut pose = vec![Transform::IDENTITY; walk.joints()];
//! database.stream_in(LayerTier { layer: 0, tier: 1 }, None)?;
//! database.tick();
//! cursor.pose(&Query::new(0.25).wrapped(), &mut pose[..])?;
//! # Ok(())
//! # }
//! ```

use super::layer::{LayeredClip, Published};
use super::open::TierSource;
use super::opened::{Clip, ClipForm};
use crate::reel::limits::Limits;
use crate::reel::open_file::Reel;
use crate::setters::setters;
use crate::stream::io::{
    AsyncSource, BlockingSource, FinishedReads, PositionedSource, QueuedRead, ReadRequest, ReadToken,
};
use crate::stream::worker_threads::WorkerThreads;
use crate::{Error, error};
use meshreel_codec::Corrupt;
use meshreel_codec::clip::record::ClipCodec;
use meshreel_codec::clip::streamed::Scratch;
use meshreel_format::{FileSource, ReadAt, kind};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};

/// Memory and threads of a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct DatabaseOptions {
    /// Bytes of memory for chunks; rounded down to whole chunks of the largest size in the file.
    /// Default 4 MiB.
    pub memory: u64,
    /// The number of threads that read, for files and memory. Default 1; with 0 the tick reads.
    pub threads: usize,
}

impl DatabaseOptions {
    setters! {
        with_memory(memory: u64);
        with_threads(threads: usize);
    }
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        DatabaseOptions { memory: 4 << 20, threads: 1 }
    }
}

/// The unit of streaming: a tier of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LayerTier {
    /// The layer; 0 is the base.
    pub layer: u8,
    /// The tier. It is used when all before it are in memory. The base's tier 0 always is.
    pub tier: u8,
}

/// The number of chunks and bytes of a part, and how many of them are in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayerTierState {
    /// The number of its chunks.
    pub chunks: usize,
    /// The number of chunks that are in memory.
    pub loaded: usize,
    /// The number of chunks that are being read.
    pub reading: usize,
    /// The number of chunks that could not be read, or had the wrong content; [`Database::stream_in`] tries
    /// them again.
    pub failed: usize,
    /// The bytes of all chunks.
    pub bytes: u64,
}

impl LayerTierState {
    /// `true` if all chunks are in memory.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.loaded == self.chunks
    }
}

/// The results of one call of [`Database::tick`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TickReport {
    /// The number of chunks that this tick made available.
    pub arrived: usize,
    /// The number of chunks that arrived, but are made available at a later tick, because poses were being
    /// sampled.
    pub waiting: usize,
    /// The first failure since the last tick, and the number of failures.
    pub failed: Option<(Arc<Error>, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkState {
    Unloaded,
    /// Being read into this slot.
    Reading(u32),
    /// No longer wanted; the slot becomes free when the read ends.
    Cancelled(u32),
    /// In memory, in this slot.
    Loaded(u32),
    /// Could not be read.
    Failed,
}

/// A chunk of pieces of tiers.
struct TierChunk {
    part: LayerTier,
    /// Its number in the container.
    index: usize,
    offset: u64,
    size: u32,
    state: ChunkState,
    /// The clips that have pieces in it.
    clips: Vec<u32>,
}

/// A clip database: opens the file, streams and ticks. Clips are sampled through [`Database::clip`].
pub struct Database {
    clips: Vec<Clip>,
    published: Arc<RwLock<Published>>,
    reel: Reel,
    source: Arc<dyn AsyncSource>,
    crew: Option<Arc<WorkerThreads<QueuedRead>>>,
    mailbox: Arc<FinishedReads>,
    chunks: Vec<TierChunk>,
    /// The memory of free slots.
    free: Vec<(u32, Vec<u64>)>,
    /// Chunks that were checked and wait to be published: chunk, slot, memory.
    ready: Vec<(usize, u32, Vec<u64>)>,
    slot_bytes: usize,
    slots: usize,
    scratch: Scratch,
    tokens: u64,
    failed: Option<(Arc<Error>, usize)>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("clips", &self.clip_count())
            .field("chunks", &self.chunks.len())
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}

impl Database {
    /// Opens a file. All memory is allocated here.
    pub fn open(
        path: impl AsRef<Path>,
        limits: &Limits,
        options: DatabaseOptions,
    ) -> Result<Database, Error> {
        let path = path.as_ref();
        let file = FileSource::open(path).map_err(|source| Error::Io {
            path: path.into(),
            what: "could not be opened".into(),
            source,
        })?;
        Database::from_bytes(path, Arc::new(file), limits, options)
    }

    /// Opens a database in bytes that lie in memory, or any other bytes that a thread can read. Errors call
    /// it `name`.
    pub fn from_bytes(
        name: impl AsRef<Path>,
        bytes: Arc<dyn ReadAt>,
        limits: &Limits,
        options: DatabaseOptions,
    ) -> Result<Database, Error> {
        let crew = Arc::new(WorkerThreads::new("meshreel database", options.threads, 256, QueuedRead::run)?);
        let source = PositionedSource { source: bytes, crew: crew.clone() };
        let mut database = Database::from_source(name, Arc::new(source), limits, options)?;
        database.crew = Some(crew);
        Ok(database)
    }

    /// Opens a database in a source of the caller's own, such as a pack file, through the same trait as
    /// [`crate::Player`].
    pub fn from_source(
        name: impl AsRef<Path>,
        source: Arc<dyn AsyncSource>,
        limits: &Limits,
        options: DatabaseOptions,
    ) -> Result<Database, Error> {
        let path = name.as_ref().to_path_buf();
        let waiting = BlockingSource { source: source.clone(), closing: Arc::new(AtomicBool::new(false)) };
        let reader = meshreel_format::Reader::open_named(Arc::new(waiting), &path, &limits.format)?;
        let reel = Reel::from_reader(reader, limits)?;
        let mut chunks: Vec<TierChunk> =
            reel.chunks_of(kind::TIERS).map(|index| TierChunk::new(&reel, index)).collect();
        let published = Arc::new(RwLock::new(Published::new(chunks.iter().map(|c| c.size).collect())));
        let clips = read_clips(&reel, &published, &mut chunks)?;
        let largest = chunks.iter().map(|c| c.size as usize).max().unwrap_or(0);
        let slot_bytes = largest.next_multiple_of(8);
        let asked = match slot_bytes {
            0 => 0,
            size => (options.memory / size as u64).min(chunks.len() as u64) as usize,
        };
        let layers = || clips.iter().filter_map(layered).flat_map(|clip| clip.set.layers.iter().skip(1));
        let keys: usize = layers().map(|l| l.plan.keys() * l.plan.codes_per_sample).sum();
        let taken = (asked as u64 * slot_bytes as u64).saturating_add(4 * keys as u64);
        if taken > limits.max_memory {
            return Err(Error::limit(&path, "bytes of a database", taken, limits.max_memory));
        }
        let free = (0..asked as u32).map(|slot| (slot, vec![0u64; slot_bytes / 8])).collect();
        let mut scratch = Scratch::default();
        layers().for_each(|layer| scratch.reserve(&layer.plan));
        published.write().unwrap_or_else(PoisonError::into_inner).keys =
            clips.iter().filter_map(layered).map(|clip| clip.set.unloaded_keys()).collect();
        Ok(Database {
            clips,
            published,
            reel,
            source,
            crew: None,
            mailbox: Arc::new(FinishedReads::new(asked)),
            ready: Vec::with_capacity(asked),
            chunks,
            free,
            slot_bytes,
            slots: asked,
            scratch,
            tokens: 0,
            failed: None,
        })
    }

    /// Returns the number of clips.
    #[must_use]
    pub fn clip_count(&self) -> usize {
        self.clips.len()
    }
    /// Returns the file.
    #[must_use]
    pub fn reel(&self) -> &Reel {
        &self.reel
    }
    /// Returns the bytes of a slot and the number of slots: the memory for chunks.
    #[must_use]
    pub fn memory(&self) -> (usize, usize) {
        (self.slot_bytes, self.slots)
    }

    /// Returns clip number `clip`. Any number of cursors can play it, on any thread.
    pub fn clip(&self, clip: usize) -> Result<Clip, Error> {
        let found = self.clips.get(clip).cloned();
        found.ok_or_else(|| Error::misuse(format!("clip {clip} of {}", self.clip_count())))
    }

    /// Returns all parts that can be streamed, ascending.
    #[must_use]
    pub fn layer_tiers(&self) -> Vec<LayerTier> {
        let mut parts: Vec<LayerTier> = self.chunks.iter().map(|c| c.part).collect();
        parts.sort();
        parts.dedup();
        parts
    }

    /// Returns the state of a part, for one clip or for all.
    #[must_use]
    pub fn state(&self, part: LayerTier, clip: Option<usize>) -> LayerTierState {
        let mut state = LayerTierState::default();
        for chunk in self.chunks.iter().filter(|c| c.matches(part, clip)) {
            state.chunks += 1;
            state.bytes += u64::from(chunk.size);
            match chunk.state {
                ChunkState::Loaded(_) => state.loaded += 1,
                ChunkState::Reading(_) => state.reading += 1,
                ChunkState::Failed => state.failed += 1,
                ChunkState::Unloaded | ChunkState::Cancelled(_) => {}
            }
        }
        state
    }

    /// Begins to read the missing chunks of a part, of one clip (and what lies in the same chunks) or of all.
    /// Returns their number. If they do not fit into the free memory, returns an error and does nothing.
    pub fn stream_in(&mut self, part: LayerTier, clip: Option<usize>) -> Result<usize, Error> {
        let mut wanted = 0;
        for chunk in self.chunks.iter_mut().filter(|c| c.matches(part, clip)) {
            match chunk.state {
                ChunkState::Unloaded | ChunkState::Failed => wanted += 1,
                _ => {}
            }
        }
        if wanted > self.free.len() {
            return Err(Error::limit(
                self.reel.path(),
                "chunks that are there; stream something out, or open with more memory",
                (self.slots - self.free.len() + wanted) as u64,
                self.slots as u64,
            ));
        }
        for i in 0..self.chunks.len() {
            let chunk = &mut self.chunks[i];
            if !chunk.matches(part, clip) || !matches!(chunk.state, ChunkState::Unloaded | ChunkState::Failed)
            {
                continue;
            }
            let Some((slot, words)) = self.free.pop() else {
                break;
            };
            chunk.state = ChunkState::Reading(slot);
            self.tokens += 1;
            self.mailbox.begin(slot, ReadToken(self.tokens));
            self.source.start(ReadRequest::for_slot(
                self.mailbox.clone(),
                slot,
                ReadToken(self.tokens),
                chunk.offset,
                chunk.size as usize,
                words,
            ));
        }
        Ok(wanted)
    }

    /// Removes a part, of one clip (and what lies in the same chunks) or of all, and cancels its reads. A
    /// pose that is being sampled keeps it until that is done: this waits until no pose is being sampled.
    /// Returns the number of chunks.
    pub fn stream_out(&mut self, part: LayerTier, clip: Option<usize>) -> usize {
        let mut count = self.cancel(part, clip);
        let published = self.published.clone();
        let mut published = published.write().unwrap_or_else(PoisonError::into_inner);
        for (i, chunk) in self.chunks.iter_mut().enumerate() {
            if !chunk.matches(part, clip) {
                continue;
            }
            if let ChunkState::Loaded(slot) = chunk.state {
                chunk.state = ChunkState::Unloaded;
                count += 1;
                self.free.extend(
                    unpublish(&self.clips, &mut published, i, &chunk.clips).map(|words| (slot, words)),
                );
            }
        }
        count
    }

    /// Cancels the reads of a part. Returns their number. Their memory becomes free when the source releases
    /// it.
    pub fn cancel(&mut self, part: LayerTier, clip: Option<usize>) -> usize {
        let mut count = 0;
        for (i, chunk) in self.chunks.iter_mut().enumerate() {
            let ChunkState::Reading(slot) = chunk.state else {
                continue;
            };
            if !chunk.matches(part, clip) {
                continue;
            }
            count += 1;
            // A chunk that is read and waits to be published is dropped at once.
            if let Some(at) = self.ready.iter().position(|(own, ..)| *own == i) {
                let (_, slot, words) = self.ready.swap_remove(at);
                self.free.push((slot, words));
                chunk.state = ChunkState::Unloaded;
                continue;
            }
            chunk.state = ChunkState::Cancelled(slot);
            if let Some(token) = self.mailbox.cancel(slot) {
                self.source.cancel(token);
            }
        }
        count
    }

    /// Collects reads that have ended, checks them, and publishes the good ones. Never waits; allocates only
    /// for an error.
    pub fn tick(&mut self) -> TickReport {
        if let Some(crew) = &self.crew {
            crew.run_all();
        }
        for i in 0..self.chunks.len() {
            let (ChunkState::Reading(slot) | ChunkState::Cancelled(slot)) = self.chunks[i].state else {
                continue;
            };
            if let Some((result, words)) = self.mailbox.take(slot) {
                self.finish_read(i, slot, result, words);
            }
        }
        let mut ticked = TickReport::default();
        let published = self.published.clone();
        if let Ok(mut published) = published.try_write() {
            while let Some((i, slot, words)) = self.ready.pop() {
                let chunk = &mut self.chunks[i];
                let Published { chunks, keys } = &mut *published;
                chunks.words[i] = Some(words);
                let bytes = chunks.bytes(i).unwrap_or(&[]);
                let scratch = &mut self.scratch;
                let mut decode = |(c, clip): (usize, &LayeredClip)| {
                    clip.set.decode_keys(i, bytes, &mut keys[c], scratch).is_ok()
                };
                if chunk.layered_clips(&self.clips).all(&mut decode) {
                    chunk.state = ChunkState::Loaded(slot);
                    ticked.arrived += 1;
                    continue;
                }
                chunk.state = ChunkState::Failed;
                let error = error::corrupt(
                    self.reel.path(),
                    Corrupt("keys of a layer are damaged"),
                    format!("chunk {}", chunk.index),
                );
                record_failure(&mut self.failed, error);
                self.free.extend(
                    unpublish(&self.clips, &mut published, i, &chunk.clips).map(|words| (slot, words)),
                );
            }
        }
        ticked.waiting = self.ready.len();
        ticked.failed = self.failed.take();
        ticked
    }

    /// Handles a read that ended.
    fn finish_read(&mut self, i: usize, slot: u32, result: std::io::Result<usize>, words: Vec<u64>) {
        let chunk = &mut self.chunks[i];
        if let ChunkState::Cancelled(_) = chunk.state {
            chunk.state = ChunkState::Unloaded;
            self.free.push((slot, words));
            return;
        }
        let size = chunk.size as usize;
        let path = self.reel.path();
        let checked = match result {
            Ok(filled) if filled == size => {
                let bytes: &[u8] = &bytemuck::cast_slice(&words)[..size];
                (self.reel.reader().check_chunk(chunk.index, bytes)).and_then(|()| {
                    chunk.layered_clips(&self.clips).try_for_each(|(c, clip)| {
                        clip.set.check_chunk(i, bytes).map_err(|e| self.clips[c].damaged(e))
                    })
                })
            }
            Ok(_) => Err(Error::Io {
                path: path.into(),
                what: "a chunk was read in part".into(),
                source: std::io::ErrorKind::UnexpectedEof.into(),
            }),
            Err(source) => {
                Err(Error::Io { path: path.into(), what: "a chunk could not be read".into(), source })
            }
        };
        match checked {
            Ok(()) => self.ready.push((i, slot, words)),
            Err(error) => {
                chunk.state = ChunkState::Failed;
                self.free.push((slot, words));
                record_failure(&mut self.failed, error);
            }
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        for chunk in &mut self.chunks {
            if let ChunkState::Reading(slot) = chunk.state
                && let Some(token) = self.mailbox.cancel(slot)
            {
                self.source.cancel(token);
            }
        }
        if let Some(crew) = &self.crew {
            crew.close(true);
        }
    }
}

impl TierChunk {
    fn new(reel: &Reel, index: u32) -> TierChunk {
        let entry = &reel.chunks()[index as usize];
        TierChunk {
            part: LayerTier { layer: 0, tier: 0 },
            index: index as usize,
            offset: entry.offset,
            size: entry.size,
            state: ChunkState::Unloaded,
            clips: Vec::new(),
        }
    }

    /// Returns the clips that have pieces in it, and their numbers.
    fn layered_clips<'a>(&'a self, clips: &'a [Clip]) -> impl Iterator<Item = (usize, &'a LayeredClip)> {
        self.clips.iter().filter_map(move |c| Some((*c as usize, layered(&clips[*c as usize])?)))
    }

    fn matches(&self, part: LayerTier, clip: Option<usize>) -> bool {
        self.part == part && clip.is_none_or(|clip| self.clips.binary_search(&(clip as u32)).is_ok())
    }
}

fn record_failure(failed: &mut Option<(Arc<Error>, usize)>, error: Error) {
    match failed {
        Some((_, count)) => *count += 1,
        none => *none = Some((Arc::new(error), 1)),
    }
}

/// Reads the clips, and for each chunk the tier and the clips that it has.
fn read_clips(
    reel: &Reel,
    published: &Arc<RwLock<Published>>,
    chunks: &mut [TierChunk],
) -> Result<Vec<Clip>, Error> {
    let sizes: Vec<u32> = chunks.iter().map(|chunk| chunk.size).collect();
    let clips = reel.clips_of(&TierSource::Streamed(published.clone()), &sizes)?;
    for (c, clip) in (0u32..).zip(&clips) {
        let Some(layers) = layered(clip) else {
            let (name, path, codec) = (clip.name(), reel.path().display(), clip.record().codec);
            let why = match codec {
                ClipCodec::Sampled => {
                    "has no layers that can be streamed (those of several tiers can)".into()
                }
                other => format!("is in codec {}, whose layers do not come and go", other.name()),
            };
            return Err(Error::misuse(format!("clip {name} of {path} {why}; play it with Reel::clips")));
        };
        for piece in &layers.set.table.tier_parts {
            let part = LayerTier { layer: piece.layer, tier: piece.tier };
            let chunk = &mut chunks[piece.chunk as usize];
            if !chunk.clips.is_empty() && chunk.part != part {
                let what = Corrupt("a chunk with pieces of several tiers");
                return Err(error::corrupt(reel.path(), what, "pieces of clips"));
            }
            chunk.part = part;
            if chunk.clips.last() != Some(&c) {
                chunk.clips.push(c);
            }
        }
    }
    Ok(clips)
}

fn layered(clip: &Clip) -> Option<&LayeredClip> {
    match &clip.shared.form {
        ClipForm::Layers(layers) => Some(layers),
        _ => None,
    }
}

/// Takes chunk `i` with the keys in it away from samplers, and returns its memory.
fn unpublish(clips: &[Clip], published: &mut Published, i: usize, its_clips: &[u32]) -> Option<Vec<u64>> {
    for c in its_clips.iter().map(|c| *c as usize) {
        if let Some(clip) = layered(&clips[c]) {
            clip.set.unload_keys(i, &mut published.keys[c]);
        }
    }
    published.chunks.words[i].take()
}
