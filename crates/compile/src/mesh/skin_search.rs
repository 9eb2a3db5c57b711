//! The search for skins of one mesh, with the expensive results cached.

use crate::Error;
use crate::mesh::streams::VertexValues;
use crate::meter::MeshWork;
use meshreel_codec::mesh::normals::encode::Weighting;
use meshreel_process::bones::SkinChoice;
use meshreel_process::parts::ids::HintedParts;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The largest number of part transforms, over all frames, for which the parts are cached.
const MAX_CACHED_TRANSFORMS: usize = 1 << 17;

/// Skins that were sought for a mesh, by effort and number of points, and other results that take long and
/// are computed once.
pub struct SkinSearch {
    /// The mesh's share of the work, for the progress report.
    pub work: Arc<MeshWork>,
    /// The requested effort.
    pub effort: u32,
    /// `true` if skins are not sought, and only the wish to seek them is recorded.
    record_only: bool,
    wanted: AtomicBool,
    /// `true` if a patch of the mesh is smaller without bones.
    ruled_out: AtomicBool,
    skins: Mutex<BTreeMap<(u32, usize), Option<SkinChoice>>>,
    /// The parts that were found last, and the tolerance that they hold; trials of the precision share them.
    parts: Arc<Mutex<Option<(f64, HintedParts)>>>,
    normals: Arc<KnownNormals>,
    source_normals: Mutex<Arc<SourceNormals>>,
}

/// Normals and tangents of the source by frame, as far as there is room for them.
#[derive(Default)]
pub struct SourceNormals {
    max_bytes: usize,
    held: Mutex<HeldNormals>,
}

#[derive(Default)]
struct HeldNormals {
    bytes: usize,
    frames: BTreeMap<u32, Arc<VertexValues>>,
}

impl SourceNormals {
    /// Returns the values of a frame, evaluated on the first call if there is room to keep them.
    pub fn frame(
        &self,
        frame: u32,
        evaluate: impl FnOnce() -> Result<VertexValues, Error>,
    ) -> Result<Arc<VertexValues>, Error> {
        if let Some(known) = lock(&self.held).frames.get(&frame) {
            return Ok(known.clone());
        }
        let VertexValues { normals, tangents, .. } = evaluate()?;
        let bytes = size_of_val(&normals[..]) + size_of_val(&tangents[..]);
        let values = Arc::new(VertexValues { normals, tangents, ..VertexValues::default() });
        let mut held = lock(&self.held);
        if held.bytes + bytes <= self.max_bytes && held.frames.insert(frame, values.clone()).is_none() {
            held.bytes += bytes;
        }
        Ok(values)
    }

    /// Returns `true` if no frame is kept.
    pub fn keeps_none(&self) -> bool {
        self.max_bytes == 0
    }
}

/// Results about a mesh's normals that do not depend on the precision of its positions.
#[derive(Default)]
struct KnownNormals {
    /// By vertex, a group number; the vertices of a group have equal normals in all frames.
    groups: Mutex<Option<Arc<Vec<u32>>>>,
    /// The weighting of polygons: with bones that rotate normals, and without.
    weighting: Mutex<[Option<Weighting>; 2]>,
    /// `true` if the weighting was chosen on a patch, for all later coders.
    of_patch: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SkinSearch {
    /// Creates an empty search. Skins are sought if the effort allows it.
    pub fn new(effort: u32, work: Arc<MeshWork>) -> SkinSearch {
        SkinSearch {
            work,
            effort,
            record_only: false,
            wanted: AtomicBool::new(false),
            ruled_out: AtomicBool::new(false),
            skins: Mutex::default(),
            parts: Arc::default(),
            normals: Arc::default(),
            source_normals: Mutex::default(),
        }
    }

    /// Returns a copy for trials, which seeks no skins and only records the wish to seek them.
    pub fn for_trials(&self) -> SkinSearch {
        SkinSearch {
            record_only: true,
            parts: self.parts.clone(),
            normals: self.normals.clone(),
            source_normals: Mutex::new(self.source_normals()),
            ..SkinSearch::new(self.effort, self.work.clone())
        }
    }

    /// Returns a copy that has everything found so far, and shares nothing that is found from now on, except
    /// the source's normals.
    pub fn copy(&self) -> SkinSearch {
        let (parts, skins, groups, weighting) =
            (lock(&self.parts), lock(&self.skins), lock(&self.normals.groups), lock(&self.normals.weighting));
        SkinSearch {
            record_only: self.record_only,
            wanted: AtomicBool::new(self.were_likely()),
            ruled_out: AtomicBool::new(self.are_skins_ruled_out()),
            skins: Mutex::new(skins.clone()),
            parts: Arc::new(Mutex::new(parts.clone())),
            normals: Arc::new(KnownNormals {
                groups: Mutex::new(groups.clone()),
                weighting: Mutex::new(*weighting),
                of_patch: AtomicBool::new(self.normals.of_patch.load(Ordering::Relaxed)),
            }),
            source_normals: Mutex::new(self.source_normals()),
            ..SkinSearch::new(self.effort, self.work.clone())
        }
    }

    /// Returns normals and tangents of the source, which coders share.
    pub fn source_normals(&self) -> Arc<SourceNormals> {
        lock(&self.source_normals).clone()
    }

    /// Lets coders that are made from now on keep up to this many bytes of the source's normals.
    pub fn keep_source_normals(&self, max_bytes: usize) {
        let normals = SourceNormals { max_bytes, ..SourceNormals::default() };
        *lock(&self.source_normals) = Arc::new(normals);
    }

    /// Returns `true` if this is a copy for trials.
    pub fn is_for_trials(&self) -> bool {
        self.record_only
    }

    /// Records that skins are not to be sought, as a patch of the mesh is smaller without.
    pub fn rule_out_skins(&self) {
        self.ruled_out.store(true, Ordering::Relaxed);
    }

    /// Returns `true` after [`SkinSearch::rule_out_skins`].
    pub fn are_skins_ruled_out(&self) -> bool {
        self.ruled_out.load(Ordering::Relaxed)
    }

    /// Returns `true` if skins were promising enough to be sought.
    pub fn were_likely(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Returns the parts that hold a tolerance; seeks them unless they are the last ones that were found.
    pub fn parts(
        &self,
        tolerance: f64,
        seek: impl FnOnce() -> Result<HintedParts, Error>,
    ) -> Result<HintedParts, Error> {
        let mut known = lock(&self.parts);
        match &*known {
            Some((held, parts)) if *held == tolerance => Ok(parts.clone()),
            _ => {
                let parts = seek()?;
                let transforms: usize = parts.parts.transforms.iter().map(Vec::len).sum();
                if transforms <= MAX_CACHED_TRANSFORMS {
                    *known = Some((tolerance, parts.clone()));
                }
                Ok(parts)
            }
        }
    }

    /// Returns the groups of vertices with equal normals, computed once.
    pub fn normal_groups(
        &self,
        seek: impl FnOnce() -> Result<Vec<u32>, Error>,
    ) -> Result<Arc<Vec<u32>>, Error> {
        let mut known = lock(&self.normals.groups);
        if let Some(groups) = &*known {
            return Ok(groups.clone());
        }
        let groups = Arc::new(seek()?);
        *known = Some(groups.clone());
        Ok(groups)
    }

    /// Returns the weighting of polygons that was chosen before: in a trial, and if it was chosen on a patch.
    pub fn weighting(&self, bones: bool) -> Option<Weighting> {
        let known = lock(&self.normals.weighting);
        let serves = self.record_only || self.normals.of_patch.load(Ordering::Relaxed);
        known[usize::from(bones)].filter(|_| serves)
    }

    /// Takes the weighting of polygons that was chosen on a patch.
    pub fn take_weighting(&self, patch: &SkinSearch) {
        let chosen = *lock(&patch.normals.weighting);
        *lock(&self.normals.weighting) = chosen;
        self.normals.of_patch.store(true, Ordering::Relaxed);
    }

    /// Keeps the weighting of polygons for later trials.
    pub fn keep_weighting(&self, bones: bool, weighting: Weighting) {
        let mut known = lock(&self.normals.weighting);
        known[usize::from(bones)] = Some(weighting);
    }

    /// Records that skins are promising enough to be sought; returns `true` if nothing more is wanted.
    pub fn record_likely(&self) -> bool {
        self.wanted.store(true, Ordering::Relaxed);
        self.record_only
    }

    /// Returns the skin for an effort and a number of points, and seeks it on the first call.
    pub fn skin(
        &self,
        effort: u32,
        points: usize,
        seek: impl FnOnce() -> Result<Option<SkinChoice>, Error>,
    ) -> Result<Option<SkinChoice>, Error> {
        if let Some(found) = lock(&self.skins).get(&(effort, points)) {
            return Ok(found.clone());
        }
        self.work.trying("bones");
        let found = seek()?;
        lock(&self.skins).insert((effort, points), found.clone());
        Ok(found)
    }
}
