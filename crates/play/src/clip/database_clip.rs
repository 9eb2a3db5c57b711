//! Clips of a database: poses are sampled from the layers and tiers that are in memory at the moment.

use super::layer::{LayerBytes, LayerCursor, LayerSet, damaged_layers, segment_bytes};
use super::pose::{JointPose, Pose, check_capacity};
use super::pose_source::{PoseSource, check_joint};
use super::query::Query;
use crate::Error;
use meshreel_codec::clip::layer::segment;
use meshreel_codec::clip::record::SkeletonRecord;
use meshreel_codec::clip::schedule::MAX_TIERS;
use meshreel_codec::clip::streamed::StreamedClip;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// The part of a database that does not change after it was opened.
pub(super) struct DatabaseTables {
    pub path: PathBuf,
    pub clips: Vec<ClipEntry>,
}

pub(super) struct ClipEntry {
    pub name: String,
    pub skeleton: Arc<SkeletonRecord>,
    pub set: LayerSet,
    pub base: StreamedClip,
}

/// The chunks that are in memory, as samplers see them.
pub(super) struct LoadedChunks {
    /// For each chunk its bytes as words, if it is in memory.
    pub chunks: Vec<Option<Vec<u64>>>,
    pub sizes: Vec<u32>,
    /// For each clip and layer after the base: the words of the keys, and whether they are valid.
    pub keys: Vec<Vec<(Vec<i32>, bool)>>,
}

/// A clip of a database, for sampling. Clones are cheap.
#[derive(Clone)]
pub struct DatabaseClip {
    pub(super) fixed: Arc<DatabaseTables>,
    pub(super) published: Arc<RwLock<LoadedChunks>>,
    pub(super) clip: usize,
}

impl std::fmt::Debug for DatabaseClip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatabaseClip").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// A place in a clip of a database, with the memory that playing it needs.
#[derive(Debug)]
pub struct DatabaseCursor {
    clip: usize,
    layers: Vec<LayerCursor>,
}

/// One layer of a clip, with its chunks that are in memory.
struct DatabaseLayer<'a> {
    entry: &'a ClipEntry,
    published: &'a LoadedChunks,
    clip: usize,
    layer: usize,
}

impl DatabaseLayer<'_> {
    fn tier_segment(&self, tier: usize, s: usize) -> Option<&[u8]> {
        let (piece, at) = self.entry.set.layers[self.layer].tier_part(tier, s)?;
        let chunk = self.published.chunks[piece.chunk as usize].as_ref()?;
        let size = self.published.sizes[piece.chunk as usize] as usize;
        let bytes: &[u8] = bytemuck::cast_slice(chunk);
        let own = segment_bytes(piece, s == at, bytes.get(..size)?)?;
        segment(own, piece.segments as usize, at)
    }
}

impl LayerBytes for DatabaseLayer<'_> {
    fn keys(&self) -> Option<&[i32]> {
        match self.layer {
            0 => Some(self.entry.base.keys()),
            l => {
                let (words, there) = &self.published.keys[self.clip][l - 1];
                there.then_some(words)
            }
        }
    }

    fn segment<'a>(&'a self, s: usize, out: &mut [&'a [u8]; MAX_TIERS as usize]) -> usize {
        let tiers = self.entry.set.layers[self.layer].plan.tiers();
        for (tier, out) in out.iter_mut().enumerate().take(tiers) {
            let bytes = match (self.layer, tier) {
                (0, 0) => self.entry.base.segment(s),
                _ => self.tier_segment(tier, s),
            };
            match bytes {
                Some(bytes) => *out = bytes,
                None => return tier,
            }
        }
        tiers
    }

    fn tiers(&self, s: usize) -> usize {
        let layer = &self.entry.set.layers[self.layer];
        let there = |tier: &usize| {
            (self.layer, *tier) == (0, 0)
                || (layer.tier_part(*tier, s))
                    .is_some_and(|(piece, _)| self.published.chunks[piece.chunk as usize].is_some())
        };
        (0..layer.plan.tiers()).take_while(there).count()
    }
}

impl DatabaseClip {
    fn entry(&self) -> &ClipEntry {
        &self.fixed.clips[self.clip]
    }

    fn published(&self) -> RwLockReadGuard<'_, LoadedChunks> {
        (self.published.read()).unwrap_or_else(PoisonError::into_inner)
    }

    fn layer_bytes<'a>(&'a self, published: &'a LoadedChunks, layer: usize) -> DatabaseLayer<'a> {
        DatabaseLayer { entry: self.entry(), published, clip: self.clip, layer }
    }

    fn check_cursor(&self, cursor: &DatabaseCursor) -> Result<(), Error> {
        match cursor.clip == self.clip && cursor.layers.len() == self.entry().set.layers.len() {
            true => Ok(()),
            false => Err(Error::misuse("a cursor of another clip; make one with DatabaseClip::cursor")),
        }
    }
}

impl PoseSource for DatabaseClip {
    type Cursor = DatabaseCursor;

    fn name(&self) -> &str {
        &self.entry().name
    }

    fn skeleton(&self) -> &SkeletonRecord {
        &self.entry().skeleton
    }

    fn samples(&self) -> usize {
        self.entry().set.samples()
    }

    fn fps(&self) -> f64 {
        self.entry().set.fps
    }

    fn joint_layer(&self, joint: usize) -> Option<u8> {
        self.entry().set.table.joint_layers.get(joint).copied()
    }

    fn cursor(&self) -> DatabaseCursor {
        DatabaseCursor { clip: self.clip, layers: self.entry().set.cursors() }
    }

    fn pose(
        &self,
        cursor: &mut DatabaseCursor,
        query: &Query<'_>,
        pose: &mut (impl Pose + ?Sized),
    ) -> Result<(), Error> {
        check_capacity(pose, self.joints())?;
        self.check_cursor(cursor)?;
        let entry = self.entry();
        let published = self.published();
        let have = |layer| Some(self.layer_bytes(&published, layer));
        let posed = entry.set.pose(have, &mut cursor.layers, query, pose);
        posed.map_err(|c| damaged_layers(&self.fixed.path, &entry.name, c))
    }

    fn joint(
        &self,
        cursor: &mut DatabaseCursor,
        joint: usize,
        query: &Query<'_>,
    ) -> Result<JointPose, Error> {
        check_joint(joint, self.joints())?;
        self.check_cursor(cursor)?;
        let entry = self.entry();
        let published = self.published();
        let have = |layer| Some(self.layer_bytes(&published, layer));
        let posed = entry.set.joint(have, &mut cursor.layers, query, joint);
        posed.map_err(|c| damaged_layers(&self.fixed.path, &entry.name, c))
    }
}
