//! Estimates coded sizes: the static part, and a sample of the segments.

use crate::Error;
use crate::codec_terms::block_format;
use crate::method::coder::StreamCoder;
use meshreel_codec::entropy::block::Compressor;
use meshreel_codec::schedule::Schedule;
use meshreel_options::Options;
use rayon::prelude::*;

// Tuning.
/// Number of segments that a trial codes, by effort; all segments if there are no more groups, or points ×
/// frames, than these limits.
const TRIAL_SEGMENTS: [u32; 9] = [1, 1, 1, 2, 2, 2, 3, 4, 6];
const MAX_WHOLE_GROUPS: u32 = 8;
const MAX_WHOLE_VALUES: [u64; 9] =
    [1 << 19, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 22, 1 << 23, 1 << 24, 1 << 25];

/// Something that is coded in segments of keys, and groups of the frames between them.
pub trait SegmentedCoder: Sync {
    /// Returns the static part, which is stored once.
    fn static_part(&self) -> Vec<u8>;
    /// Codes the keys of a segment and returns their units.
    fn key_units(&self, segment: u32) -> Result<Vec<Vec<u8>>, Error>;
    /// Returns the units of a group whose keys have been coded.
    fn group_units(&self, group: u32) -> Result<Vec<Vec<u8>>, Error>;
    /// Drops all keys.
    fn forget_keys(&self);
}

impl SegmentedCoder for dyn StreamCoder + '_ {
    fn static_part(&self) -> Vec<u8> {
        self.static_bytes().to_vec()
    }

    fn key_units(&self, segment: u32) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self.segment(segment, false)?.units)
    }

    fn group_units(&self, group: u32) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self.group(group, false)?.units)
    }

    fn forget_keys(&self) {
        self.forget(u32::MAX);
    }
}

/// The segments that a trial codes.
#[derive(Clone, Copy)]
pub struct SegmentSample {
    segments: u32,
    /// `true` if these are all segments.
    pub whole: bool,
}

impl SegmentSample {
    /// Returns the sample for a mesh of `points` points: all segments of small meshes, some of large ones.
    pub fn new(points: usize, schedule: Schedule, effort: u32) -> SegmentSample {
        let effort = effort.clamp(1, 9) as usize - 1;
        let values = points as u64 * u64::from(schedule.frames());
        match schedule.groups() <= MAX_WHOLE_GROUPS || values <= MAX_WHOLE_VALUES[effort] {
            true => SegmentSample::all_segments(schedule),
            false => SegmentSample {
                segments: TRIAL_SEGMENTS[effort].min(schedule.segments()),
                whole: TRIAL_SEGMENTS[effort] >= schedule.segments(),
            },
        }
    }

    /// Returns the sample of all segments.
    pub fn all_segments(schedule: Schedule) -> SegmentSample {
        SegmentSample { segments: schedule.segments(), whole: true }
    }
}

/// Estimates the bytes of all frames.
pub fn estimate_size<C: SegmentedCoder + ?Sized>(
    coder: &C,
    schedule: Schedule,
    sample: SegmentSample,
    options: &Options,
) -> Result<u64, Error> {
    // Block compression shrinks bone data in skinned units more than soft units.
    let shrink = || Compressor::new(block_format(options.block), options.effort);
    let stored = |shrink: &mut Compressor, bytes: &[u8]| -> u64 {
        let mut out = Vec::new();
        shrink.compress(bytes, &mut out);
        out.len().min(bytes.len()) as u64
    };
    let (segments, groups, count) = (schedule.segments(), schedule.groups(), sample.segments);
    let chosen: Vec<u32> = (0..count).map(|i| (2 * i + 1) * segments / (2 * count)).collect();
    let mut needed: Vec<u32> = Vec::new();
    // Two keys behind a segment are needed, which may be in two other segments.
    let ahead = if schedule.restart() == 1 { 2 } else { 1 };
    for &s in &chosen {
        needed.extend(s.saturating_sub(1)..=(s + ahead).min(segments - 1));
    }
    needed.sort_unstable();
    needed.dedup();
    let keys: u64 = (needed.par_iter())
        .map_init(shrink, |shrink, &s| {
            let keys = coder.key_units(s)?;
            let bytes = keys.iter().map(|key| stored(shrink, key)).sum();
            Ok(if chosen.contains(&s) { bytes } else { 0 })
        })
        .collect::<Result<Vec<u64>, Error>>()?
        .iter()
        .sum();
    let restart = schedule.restart();
    let list: Vec<u32> =
        (chosen.iter()).flat_map(|&s| s * restart..((s + 1) * restart).min(groups)).collect();
    let between: u64 = (list.par_iter())
        .map_init(shrink, |shrink, &g| {
            let units = coder.group_units(g)?;
            Ok(units.iter().map(|unit| stored(shrink, unit)).sum())
        })
        .collect::<Result<Vec<u64>, Error>>()?
        .iter()
        .sum();
    coder.forget_keys();
    let sampled = list.len().max(1) as u64;
    let once = stored(&mut shrink(), &coder.static_part());
    Ok(once + (keys + between) * u64::from(groups.max(1)) / sampled)
}
