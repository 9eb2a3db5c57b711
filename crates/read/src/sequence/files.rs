//! The files of a sequence: scanned once on opening, then parsed again on demand, with the last few kept.

use super::format::SequenceFormat;
use crate::parsed_mesh::{NO_FACES, ParsedAttribute, ParsedMesh, Tally};
use crate::{obj, ply};
use meshreel_files::store;
use meshreel_scene::identity::{ToBytes, content_identity};
use meshreel_scene::{Error, Identity, Scope};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Memory for parsed files kept for the next request; at least [`MIN_CACHED_FILES`] are kept regardless.
const CACHE_BYTES: usize = 128 << 20;
const MIN_CACHED_FILES: usize = 4;
const MAX_CACHED_FILES: usize = 16;

/// Remark about files without points.
const EMPTY_FILES: &str = "files without points are frames in which nothing is shown";

/// Size and modification time, to detect whether a file is still the one that was scanned.
pub(super) type FileStamp = (u64, Option<SystemTime>);

fn load(kind: SequenceFormat, path: &Path, tally: &mut Tally) -> Result<(Vec<ParsedMesh>, FileStamp), Error> {
    let file = meshreel_files::open(path).map_err(|e| Error::io(path, e))?;
    let data = file.metadata().map_err(|e| Error::io(path, e))?;
    let mut shapes = match kind {
        _ if data.len() == 0 => Vec::new(),
        SequenceFormat::Obj => obj::parse(file, path, false, tally)?,
        SequenceFormat::Ply => vec![ply::parse(file, data.len(), path, tally)?],
    };
    // Simulations write such files before anything exists, or when nothing is left.
    if shapes.iter().all(|shape| shape.positions.is_empty()) {
        shapes.clear();
        tally.forget(NO_FACES);
        tally.add(EMPTY_FILES, || "end of file".into());
    }
    // A file from an object store has the modification time of its local copy, so it does not count.
    let changed = if store::url(path).is_some() { None } else { data.modified().ok() };
    Ok((shapes, (data.len(), changed)))
}

/// Facts about one file of a sequence, gathered when the sequence is opened.
pub(super) struct FileScan {
    pub(super) names: Vec<Option<String>>,
    pub(super) fingerprints: Vec<MeshFingerprint>,
    pub(super) tally: Tally,
    pub(super) stamp: FileStamp,
    /// Memory its meshes take, in bytes.
    pub(super) bytes: usize,
}

/// Content identities of all properties of a mesh.
pub(super) struct MeshFingerprint {
    pub(super) points: usize,
    pub(super) positions: Identity,
    pub(super) face_counts: Identity,
    pub(super) face_indices: Identity,
    pub(super) normals: Option<AttributeFingerprint>,
    pub(super) uvs: Option<AttributeFingerprint>,
    pub(super) colours: Option<AttributeFingerprint>,
    pub(super) face_sets: Vec<(String, Identity)>,
}

#[derive(Clone, Copy)]
pub(super) struct AttributeFingerprint {
    pub(super) scope: Scope,
    pub(super) values: Identity,
    pub(super) indices: Option<Identity>,
}

fn attribute_fingerprint<T: ToBytes>(values: &Option<ParsedAttribute<T>>) -> Option<AttributeFingerprint> {
    values.as_ref().map(|v| AttributeFingerprint {
        scope: v.scope,
        values: content_identity(&v.values),
        indices: v.indices.as_deref().map(content_identity),
    })
}

fn mesh_fingerprint(shape: &ParsedMesh) -> MeshFingerprint {
    MeshFingerprint {
        points: shape.positions.len(),
        positions: content_identity(&shape.positions),
        face_counts: content_identity(&shape.face_counts),
        face_indices: content_identity(&shape.face_indices),
        normals: attribute_fingerprint(&shape.normals),
        uvs: attribute_fingerprint(&shape.uvs),
        colours: attribute_fingerprint(&shape.colours),
        face_sets: shape.face_sets.iter().map(|(n, f)| (n.clone(), content_identity(f))).collect(),
    }
}

fn memory_bytes(shape: &ParsedMesh) -> usize {
    fn values<T>(v: &Option<ParsedAttribute<T>>) -> usize {
        v.as_ref()
            .map_or(0, |v| v.values.len() * size_of::<T>() + v.indices.as_ref().map_or(0, |i| i.len() * 4))
    }
    let sets: usize = shape.face_sets.iter().map(|s| s.1.len() * 4).sum();
    let faces = (shape.face_counts.len() + shape.face_indices.len()) * 4;
    shape.positions.len() * 12
        + faces
        + sets
        + values(&shape.normals)
        + values(&shape.uvs)
        + values(&shape.colours)
}

/// Reads all files once, on up to 8 threads. The error is that of the first bad file.
pub(super) fn scan(kind: SequenceFormat, paths: &[PathBuf]) -> Result<Vec<FileScan>, Error> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(8).min(paths.len());
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let done: Mutex<Vec<(usize, Result<FileScan, Error>)>> = Mutex::default();
    let work = || loop {
        let i = next.fetch_add(1, Ordering::Relaxed);
        // Numbers are handed out in ascending order, so every file before a failed one is read.
        if i >= paths.len() || i > failed.load(Ordering::Relaxed) {
            break;
        }
        let mut tally = Tally::default();
        let result = load(kind, &paths[i], &mut tally).map(|(shapes, stamp)| FileScan {
            fingerprints: shapes.iter().map(mesh_fingerprint).collect(),
            bytes: shapes.iter().map(memory_bytes).sum(),
            names: shapes.into_iter().map(|s| s.name).collect(),
            tally,
            stamp,
        });
        if result.is_err() {
            failed.fetch_min(i, Ordering::Relaxed);
        }
        lock(&done).push((i, result));
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|d| d.0);
    done.into_iter().map(|d| d.1).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The files of a sequence, and the last few of them parsed.
pub(super) struct SequenceFiles {
    kind: SequenceFormat,
    pub(super) paths: Vec<PathBuf>,
    stamps: Vec<FileStamp>,
    capacity: usize,
    cache: Mutex<VecDeque<(usize, Arc<CacheSlot>)>>,
}

/// A parsed file, or one that the holder of the lock is parsing.
type CacheSlot = Mutex<Option<Arc<Vec<ParsedMesh>>>>;

impl SequenceFiles {
    /// `largest`: the memory in bytes that the largest file takes when parsed.
    pub(super) fn new(
        kind: SequenceFormat,
        paths: Vec<PathBuf>,
        stamps: Vec<FileStamp>,
        largest: usize,
    ) -> SequenceFiles {
        let capacity = (CACHE_BYTES / largest.max(1)).clamp(MIN_CACHED_FILES, MAX_CACHED_FILES);
        SequenceFiles { kind, paths, stamps, capacity, cache: Mutex::default() }
    }

    /// Returns the meshes of file number `file`.
    pub(super) fn meshes(&self, file: usize) -> Result<Arc<Vec<ParsedMesh>>, Error> {
        let slot = {
            let mut cache = lock(&self.cache);
            let slot = match cache.iter().position(|c| c.0 == file).and_then(|i| cache.remove(i)) {
                Some((_, slot)) => slot,
                None => Arc::default(),
            };
            cache.push_back((file, slot.clone()));
            while cache.len() > self.capacity {
                cache.pop_front();
            }
            slot
        };
        let mut slot = lock(&slot);
        if let Some(shapes) = &*slot {
            return Ok(shapes.clone());
        }
        let path = &self.paths[file];
        let (shapes, stamp) = load(self.kind, path, &mut Tally::default())?;
        if stamp != self.stamps[file] {
            return Err(Error::malformed(
                path,
                "the file has changed since it was opened",
                "file time or size",
            ));
        }
        let shapes = Arc::new(shapes);
        *slot = Some(shapes.clone());
        Ok(shapes)
    }
}
