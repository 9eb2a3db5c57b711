//! The search for skins of one mesh, of which what takes most of the time is done once.

use crate::meter::MeshWork;
use meshreel_process::bones::Choice;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
}

impl<'a> SkinSearch<'a> {
    /// Nothing yet. Skins are sought if the effort is worth it.
    pub fn new(effort: u32, work: Arc<MeshWork<'a>>) -> SkinSearch<'a> {
        SkinSearch { work, effort, only_tell: false, wanted: AtomicBool::new(false), skins: Mutex::default() }
    }

    /// A copy for trials, in which no skins are sought and it is only noted whether they would be.
    pub fn telling(&self) -> SkinSearch<'a> {
        SkinSearch { only_tell: true, ..SkinSearch::new(self.effort, self.work.clone()) }
    }

    /// Whether skins were likely enough to be sought.
    pub fn were_likely(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// The skin for an effort and so many points, sought where that was not done before.
    pub fn once(&self, effort: u32, points: usize, seek: impl FnOnce() -> Option<Choice>) -> Option<Choice> {
        self.wanted.store(true, Ordering::Relaxed);
        if self.only_tell {
            return None;
        }
        let lock = || self.skins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().get(&(effort, points)) {
            return found.clone();
        }
        if !lock().is_empty() {
            self.work.seek_again();
        }
        self.work.trying("bones");
        let found = seek();
        self.work.sought(1.0);
        lock().insert((effort, points), found.clone());
        found
    }
}
