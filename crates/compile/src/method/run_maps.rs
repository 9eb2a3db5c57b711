//! Source maps of a mesh whose faces change: one for each run of frames with the same faces.

use meshreel_codec::record::source_map::SourceMap;
use std::collections::BTreeMap;

/// Limit for the bytes of one mesh's source maps; beyond it none is kept.
const MAX_MAP_BYTES: usize = 256 << 20;

/// Source maps by run, and the run of each frame.
#[derive(Clone, Default)]
pub struct RunMaps {
    /// By the first frame of a run, its source map.
    pub by_run: BTreeMap<u32, SourceMap>,
    /// By frame, its run.
    pub frame_runs: BTreeMap<u32, u32>,
    bytes: usize,
}

impl RunMaps {
    /// Records the run of a frame; returns `true` if its source map is still wanted.
    pub fn record_run(&mut self, frame: u32, run: u32) -> bool {
        self.frame_runs.insert(frame, run);
        !self.by_run.contains_key(&run) && !self.are_too_many()
    }

    /// Keeps the source map of a run.
    pub fn add_map(&mut self, run: u32, map: SourceMap) {
        let bytes = 4 * (2 * map.vertex_point.len() + 2 * map.triangle_face.len());
        if self.by_run.insert(run, map).is_none() {
            self.bytes += bytes;
        }
    }

    /// Returns `true` if the source maps exceed the limit and will be dropped.
    pub fn are_too_many(&self) -> bool {
        self.bytes > MAX_MAP_BYTES
    }

    /// Returns the source maps of all `frames` that have been coded: runs, and per frame one more than its
    /// run, or 0.
    pub fn finish(self, frames: u32) -> (Vec<SourceMap>, Vec<u32>) {
        if self.are_too_many() {
            return Default::default();
        }
        let number: BTreeMap<u32, u32> = self.by_run.keys().copied().zip(1..).collect();
        let run_of = |frame| {
            let run = self.frame_runs.get(&frame);
            run.and_then(|run| number.get(run)).copied().unwrap_or(0)
        };
        let of = (0..frames).map(run_of).collect();
        (self.by_run.into_values().collect(), of)
    }
}
