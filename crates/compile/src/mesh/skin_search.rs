//! The search for skins of one mesh, of which what takes most of the time is done once.

use crate::Error;
use crate::meter::MeshWork;
use meshreel_codec::mesh::normals::encode::Weighting;
use meshreel_process::bones::Choice;
use meshreel_process::parts::ids::HintedParts;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Parts whose transforms, over all frames, are no more than so many are kept.
const MOST_KEPT: usize = 1 << 17;

/// Skins that were sought for a mesh, by effort and number of points: what takes most of the time is done
/// once.
pub struct SkinSearch<'a> {
    /// The mesh's part of the work, for the progress that is shown.
    pub work: Arc<MeshWork<'a>>,
    /// The effort that was asked for.
    pub effort: u32,
    /// They are not sought, only whether they would be is told.
    only_tell: bool,
    wanted: AtomicBool,
    skins: Mutex<BTreeMap<(u32, usize), Option<Choice>>>,
    /// The parts that were found last, and the tolerance that they hold; trials of the precision share them.
    parts: Arc<Mutex<Option<(f64, HintedParts)>>>,
    normals: Arc<KnownNormals>,
}

/// What is known of a mesh's normals whatever the precision of its positions.
#[derive(Default)]
struct KnownNormals {
    /// Per vertex a number that those share whose normals are equal in all frames.
    groups: Mutex<Option<Arc<Vec<u32>>>>,
    /// How polygons are weighted: with bones that normals turn with, and without.
    weighting: Mutex<[Option<Weighting>; 2]>,
}

impl<'a> SkinSearch<'a> {
    /// Nothing yet. Skins are sought if the effort is worth it.
    pub fn new(effort: u32, work: Arc<MeshWork<'a>>) -> SkinSearch<'a> {
        SkinSearch {
            work,
            effort,
            only_tell: false,
            wanted: AtomicBool::new(false),
            skins: Mutex::default(),
            parts: Arc::default(),
            normals: Arc::default(),
        }
    }

    /// A copy for trials, in which no skins are sought and it is only noted whether they would be.
    pub fn telling(&self) -> SkinSearch<'a> {
        let (parts, normals) = (self.parts.clone(), self.normals.clone());
        SkinSearch { only_tell: true, parts, normals, ..SkinSearch::new(self.effort, self.work.clone()) }
    }

    /// Whether this is a copy for trials.
    pub fn is_for_trials(&self) -> bool {
        self.only_tell
    }

    /// Whether skins were likely enough to be sought.
    pub fn were_likely(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// The parts that hold a tolerance, sought where they were not the last that were found.
    pub fn parts(
        &self,
        tolerance: f64,
        seek: impl FnOnce() -> Result<HintedParts, Error>,
    ) -> Result<HintedParts, Error> {
        let mut known = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((held, parts)) if *held == tolerance => Ok(parts.clone()),
            _ => {
                let parts = seek()?;
                let transforms: usize = parts.parts.transforms.iter().map(Vec::len).sum();
                if transforms <= MOST_KEPT {
                    *known = Some((tolerance, parts.clone()));
                }
                Ok(parts)
            }
        }
    }

    /// Who shares normals, looked for once.
    pub fn normal_groups(
        &self,
        seek: impl FnOnce() -> Result<Vec<u32>, Error>,
    ) -> Result<Arc<Vec<u32>>, Error> {
        let mut known = self.normals.groups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(groups) = &*known {
            return Ok(groups.clone());
        }
        let groups = Arc::new(seek()?);
        *known = Some(groups.clone());
        Ok(groups)
    }

    /// How polygons are weighted, where a trial may take what another one chose.
    pub fn weighting(&self, bones: bool) -> Option<Weighting> {
        let known = self.normals.weighting.lock().unwrap_or_else(PoisonError::into_inner);
        known[usize::from(bones)].filter(|_| self.only_tell)
    }

    /// Keeps how polygons are weighted for trials to come.
    pub fn keep_weighting(&self, bones: bool, weighting: Weighting) {
        let mut known = self.normals.weighting.lock().unwrap_or_else(PoisonError::into_inner);
        known[usize::from(bones)] = Some(weighting);
    }

    /// Notes that skins are likely enough to be sought; whether that is all that is asked.
    pub fn only_tells(&self) -> bool {
        self.wanted.store(true, Ordering::Relaxed);
        self.only_tell
    }

    /// The skin for an effort and so many points, sought where that was not done before; that is `share` of
    /// the work that it is for all points.
    pub fn once(
        &self,
        effort: u32,
        points: usize,
        share: f64,
        seek: impl FnOnce() -> Result<Option<Choice>, Error>,
    ) -> Result<Option<Choice>, Error> {
        let lock = || self.skins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().get(&(effort, points)) {
            return Ok(found.clone());
        }
        self.work.seek(share);
        let found = seek()?;
        self.work.sought(1.0);
        lock().insert((effort, points), found.clone());
        Ok(found)
    }
}
