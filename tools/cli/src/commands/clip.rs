//! What `info` says of clips, in a `.reel` and in a source.

use super::info::ratio;
use crate::output::{Failure, one_line, table};
use crate::units;
use meshreel::Reel;
use meshreel_codec::clip::{Rotation, Vector};
use meshreel_scene::Scene;
use serde::Serialize;

/// A clip of one of our files.
#[derive(Serialize)]
pub struct ClipInfo {
    name: String,
    skeleton: String,
    joints: usize,
    samples: usize,
    fps: f64,
    start: f64,
    duration: f64,
    bytes: usize,
    ratio: f64,
    tolerance: f64,
    /// Samples from one restart to the next.
    restart: usize,
    /// Bits per sample of the whole pose.
    bits_per_sample: f64,
    rotations: Kinds,
    translations: Kinds,
    scales: Kinds,
}

/// How many sub-tracks are of which kind.
#[derive(Serialize, Default)]
struct Kinds {
    default: usize,
    constant: usize,
    #[serde(skip_serializing_if = "is_zero")]
    hinge: usize,
    #[serde(skip_serializing_if = "is_zero")]
    two_axes: usize,
    animated: usize,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl Kinds {
    fn rotations(all: &[Rotation]) -> Kinds {
        let mut kinds = Kinds::default();
        for rotation in all {
            match rotation {
                Rotation::Default => kinds.default += 1,
                Rotation::Constant(_) => kinds.constant += 1,
                Rotation::Hinge { .. } => kinds.hinge += 1,
                Rotation::TwoAxes { .. } => kinds.two_axes += 1,
                Rotation::Free => kinds.animated += 1,
            }
        }
        kinds
    }

    fn vectors(all: &[Vector]) -> Kinds {
        let mut kinds = Kinds::default();
        for vector in all {
            match vector {
                Vector::Default => kinds.default += 1,
                Vector::Constant(_) => kinds.constant += 1,
                Vector::Animated => kinds.animated += 1,
            }
        }
        kinds
    }

    fn text(&self) -> String {
        let all = [
            (self.default, "default"),
            (self.constant, "constant"),
            (self.hinge, "hinge"),
            (self.two_axes, "two axes"),
            (self.animated, "free"),
        ];
        let there = all.iter().filter(|(n, _)| *n > 0);
        there
            .map(|(n, what)| format!("{n} {what}"))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// All clips of a file.
pub fn infos(reel: &Reel) -> Result<Vec<ClipInfo>, Failure> {
    let clips = reel.clips()?;
    let info = |clip: &meshreel::clip::Clip| {
        let header = &clip.stored().plan.header;
        let (samples, bytes) = (clip.samples(), clip.stored_bytes());
        ClipInfo {
            name: clip.name().into(),
            skeleton: clip.skeleton().name.clone(),
            joints: clip.joints(),
            samples,
            fps: clip.fps(),
            start: clip.start(),
            duration: clip.duration(),
            bytes,
            ratio: ratio(40 * (clip.joints() * samples) as u64, bytes as u64),
            tolerance: clip.record().tolerance,
            restart: 1 << header.log,
            bits_per_sample: 8.0 * bytes as f64 / samples as f64,
            rotations: Kinds::rotations(&header.rotations),
            translations: Kinds::vectors(&header.translations),
            scales: Kinds::vectors(&header.scales),
        }
    };
    Ok(clips.iter().map(info).collect())
}

/// As a table for people.
pub fn info_table(clips: &[ClipInfo]) -> String {
    let rows: Vec<Vec<String>> = clips
        .iter()
        .map(|clip| {
            vec![
                one_line(&clip.name),
                clip.joints.to_string(),
                units::count(clip.samples as u64),
                units::short(clip.fps),
                units::short(clip.tolerance),
                units::bytes(clip.bytes as u64),
                format!("{}:1", units::short(clip.ratio)),
                format!("{:.0}", clip.bits_per_sample),
                clip.rotations.text(),
            ]
        })
        .collect();
    let head = [
        "clip",
        "joints",
        "samples",
        "fps",
        "tolerance",
        "bytes",
        "ratio",
        "bits/sample",
        "<rotations",
    ];
    table(&head, &rows)
}

/// A clip of a source.
#[derive(Serialize)]
pub struct SourceInfo {
    name: String,
    joints: usize,
    samples: usize,
    fps: f64,
    duration: f64,
    raw_bytes: u64,
}

/// All clips of a source.
pub fn sources(scene: &Scene) -> Vec<SourceInfo> {
    let info = |clip: &meshreel_scene::Clip| SourceInfo {
        name: clip.name.clone(),
        joints: clip.tracks.len(),
        samples: clip.samples,
        fps: clip.fps,
        duration: clip.duration(),
        raw_bytes: clip.raw_bytes(),
    };
    scene.clips.iter().map(info).collect()
}

/// As a table for people.
pub fn source_table(clips: &[SourceInfo]) -> String {
    let rows: Vec<Vec<String>> = clips
        .iter()
        .map(|clip| {
            vec![
                one_line(&clip.name),
                clip.joints.to_string(),
                units::count(clip.samples as u64),
                units::short(clip.fps),
                format!("{} s", units::short(clip.duration)),
                units::bytes(clip.raw_bytes),
            ]
        })
        .collect();
    table(
        &["clip", "joints", "samples", "fps", "duration", "raw"],
        &rows,
    )
}
