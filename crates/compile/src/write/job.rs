//! Everything that the passes before writing decided.

use crate::Error;
use crate::context::Content;
use crate::mesh::plan::Plans;
use crate::nodes::budget::Budget;
use crate::nodes::flatten::FlatNode;
use crate::nodes::motion::Motion;
use crate::rig::candidates::EncodedRig;
use meshreel_codec::record::ranges::FrameRange;
use meshreel_codec::schedule::Schedule;
use meshreel_options::Options;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Everything that the passes before writing decided.
pub struct Job {
    pub content: Content,
    /// The number of frames that are samples of the source.
    pub samples: usize,
    /// The multiple of the tolerance that is guaranteed between frames, if the source defines the motion
    /// there.
    pub between: Option<f64>,
    /// Named ranges of frames.
    pub ranges: Vec<FrameRange>,
    pub nodes: Vec<FlatNode>,
    /// Distinct meshes and their placements.
    pub plans: Plans,
    /// The tolerances of each placed object.
    pub tolerances: Vec<Budget>,
    /// The options that the file stores: those that the user gave.
    pub promised: Arc<Options>,
    pub motion: Motion,
    /// Size of the source's transforms, at 40 bytes per transform and sample.
    pub raw_transform_bytes: u64,
    /// Skeletons and clips, ready to be written.
    pub clip_chunks: Vec<Chunk>,
    /// Rigs that are kept, in the order of their meshes.
    pub rigs: Vec<EncodedRig>,
    /// Size of the source's clips, at 40 bytes per joint and sample.
    pub clip_raw_bytes: u64,
    /// `true` if transforms are stored exactly, not coded.
    pub exact: bool,
    /// Set when coded transforms exceed the tolerance and exact ones hold it.
    pub needs_exact: AtomicBool,
}

impl Job {
    /// Returns the frames of the file, and their dependencies.
    pub fn schedule(&self) -> Schedule {
        Schedule::new(self.content.times.len() as u32, self.content.options.restart())
    }
}

#[derive(Clone, Default)]
pub struct MeshTotals {
    pub bytes: f64,
    pub position_bytes: f64,
    pub error: f64,
    pub vertices: usize,
    pub indices: usize,
}

/// Sizes and the error of one mesh in one unit.
#[derive(Default, Serialize, Deserialize)]
pub struct MeshSizes {
    pub bytes: usize,
    pub position_bytes: usize,
    pub error: f64,
    pub vertices: usize,
    pub indices: usize,
}

/// A chunk before it is written: kind, size before compression, bytes.
pub type Chunk = (u16, u32, Vec<u8>);

/// Returns `raw` over `packed` bytes, 0 if nothing is packed.
pub fn ratio(raw: u64, packed: u64) -> f64 {
    match packed {
        0 => 0.0,
        packed => raw as f64 / packed as f64,
    }
}

/// The largest size of a block, which keeps a reader's limits.
const MAX_BLOCK_BYTES: usize = 1 << 30;

pub fn check_size(what: &str, size: usize) -> Result<(), Error> {
    match size <= MAX_BLOCK_BYTES {
        true => Ok(()),
        false => Err(Error::Limit { what: what.into(), asked: size as u64, allowed: MAX_BLOCK_BYTES as u64 }),
    }
}
