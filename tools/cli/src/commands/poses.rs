//! Clips in `play` and `bench`: samples poses at each tick from the stored form, and measures the time per
//! pose.

use crate::output::{Failure, one_line, table};
use crate::units;
use meshreel::clip::{Clip, ClipCodec, ClipCursor, Query, Repeats};
use meshreel::{Error, Reel, Transform};
use meshreel_compile::clip::{ClipOptions, random_access as compressor};
use serde::Serialize;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Largest number of poses in one pass of a measurement: longer clips are not played to their end.
const MAX_TICKS_PER_PASS: usize = 100_000;

/// The clips that are played, each at its own time.
#[derive(Default)]
pub struct ClipPlayback {
    playing: Vec<PlayingClip>,
    /// Number of poses sampled.
    pub poses: u64,
    /// Number of poses compared with those of a fresh cursor.
    pub checked: u64,
    /// Number of compared poses that differ.
    pub wrong: u64,
}

struct PlayingClip {
    file: usize,
    cursor: ClipCursor,
    pose: Vec<Transform>,
    /// Seconds from the first sample for the next pose; `shown_seconds` is that of the last one.
    seconds: f64,
    shown_seconds: f64,
    poses: u64,
}

impl ClipPlayback {
    /// Adds all clips of a file, `copies` times, each copy at another time.
    pub fn add(&mut self, file: usize, reel: &Reel, copies: u32) -> Result<(), Error> {
        for clip in reel.clips()? {
            for copy in 0..copies {
                self.playing.push(PlayingClip {
                    file,
                    cursor: clip.cursor(),
                    pose: vec![Transform::IDENTITY; clip.joints()],
                    seconds: clip.duration() * f64::from(copy) / f64::from(copies),
                    shown_seconds: 0.0,
                    poses: 0,
                });
            }
        }
        Ok(())
    }

    /// Returns the duration of the longest clip in seconds.
    pub fn longest(&self) -> f64 {
        let durations = self.playing.iter().map(|p| p.cursor.clip().duration());
        durations.fold(0.0, f64::max)
    }

    /// Moves clips at their start to the end, if the rate is negative.
    pub fn start(&mut self, rate: f64) {
        for p in self.playing.iter_mut().filter(|p| rate < 0.0 && p.seconds == 0.0) {
            p.seconds = p.cursor.clip().duration();
        }
    }

    /// Moves each clip to a fraction of its duration, a new one for each.
    pub fn seek(&mut self, mut part: impl FnMut() -> f64) {
        for p in &mut self.playing {
            p.seconds = part() * p.cursor.clip().duration();
        }
    }

    /// Advances by this number of seconds and samples all poses. Allocates nothing.
    pub fn tick(&mut self, seconds: f64, repeat: bool) -> Result<(), Error> {
        let repeats = if repeat { Repeats::Wrap } else { Repeats::Clamp };
        for p in &mut self.playing {
            p.cursor.pose(&Query::new(p.seconds).with_repeats(repeats), &mut p.pose[..])?;
            p.shown_seconds = p.seconds;
            p.seconds += seconds;
            p.poses += 1;
            self.poses += 1;
        }
        Ok(())
    }

    /// Compares the poses of the last tick with those of fresh cursors.
    pub fn check(&mut self, repeat: bool) -> Result<(), Error> {
        let repeats = if repeat { Repeats::Wrap } else { Repeats::Clamp };
        for p in &self.playing {
            let mut pose = vec![Transform::IDENTITY; p.pose.len()];
            let mut cursor = p.cursor.clip().cursor();
            cursor.pose(&Query::new(p.shown_seconds).with_repeats(repeats), &mut pose[..])?;
            self.checked += 1;
            self.wrong += u64::from(pose != p.pose);
        }
        Ok(())
    }

    /// `true` if all clips are beyond their end.
    pub fn ended(&self, rate: f64) -> bool {
        let ended = |p: &PlayingClip| match rate < 0.0 {
            true => p.seconds < 0.0,
            false => p.seconds > p.cursor.clip().duration(),
        };
        self.playing.iter().all(ended)
    }

    /// Returns a report on each clip; `names` are the names of the files.
    pub fn reports(&self, names: &[String]) -> Vec<PlayedClip> {
        let report = |p: &PlayingClip| PlayedClip {
            file: names[p.file].clone(),
            name: p.cursor.clip().name().into(),
            codec: p.cursor.clip().record().codec.name(),
            joints: p.cursor.clip().joints(),
            samples: p.cursor.clip().samples(),
            poses: p.poses,
            bytes: p.cursor.clip().file_bytes(),
        };
        self.playing.iter().map(report).collect()
    }

    /// Returns one line, if there are clips.
    pub fn text(&self) -> String {
        match self.playing.len() {
            0 => String::new(),
            clips => format!("{clips} clips: {} poses\n", units::count(self.poses)),
        }
    }
}

/// A clip that was played, as `play --json` prints it.
#[derive(Serialize)]
pub struct PlayedClip {
    file: String,
    name: String,
    codec: &'static str,
    joints: usize,
    samples: usize,
    /// Number of poses sampled.
    poses: u64,
    /// Size of the clip in the file, in bytes.
    bytes: usize,
}

/// The time per pose of a clip, in nanoseconds.
#[derive(Serialize)]
pub struct PoseSpeed {
    name: String,
    codec: &'static str,
    joints: usize,
    bytes: usize,
    /// In the stored form, at 60 Hz from the first sample to the last.
    #[serde(rename = "forward_ns")]
    forward: f64,
    /// In the stored form, at 60 Hz from the last sample to the first.
    #[serde(rename = "backward_ns")]
    backward: f64,
    /// In the stored form, at random times.
    #[serde(rename = "random_ns")]
    random: f64,
    /// Size of the random-access form of the clip in bytes; `None` if that form cannot keep the tolerance.
    #[serde(rename = "resident_bytes")]
    random_access_bytes: Option<u64>,
    /// A pose of the random-access form, at random times.
    #[serde(rename = "resident_ns")]
    random_access_pose: Option<f64>,
    /// One joint of the random-access form, at random times.
    #[serde(rename = "joint_ns")]
    random_access_joint: Option<f64>,
}

/// Returns pseudo-random fractions of the whole, the same in every run.
fn random_fractions() -> impl Iterator<Item = f64> {
    (0..1000u64).map(|i| {
        let x = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
        x as f64 / (1u64 << 53) as f64
    })
}

/// Measures all clips of a file, each stage for at least `budget`.
pub fn measure(reel: &Reel, budget: Duration) -> Result<Vec<PoseSpeed>, Failure> {
    let clips = reel.clips()?;
    if clips.is_empty() {
        return Ok(Vec::new());
    }
    let scene = meshreel_extract::to_scene(reel)?;
    let skeletons = reel.skeletons()?;
    let mut speeds = Vec::new();
    for (clip, source) in clips.iter().zip(&scene.clips) {
        let ticks = ((clip.duration() * 60.0) as usize).min(MAX_TICKS_PER_PASS) + 1;
        let mut cursor = clip.cursor();
        let mut pose = vec![Transform::IDENTITY; clip.joints()];
        let mut stored = |times: &mut dyn Iterator<Item = f64>| {
            for seconds in times {
                cursor.pose(&Query::new(seconds), &mut pose[..])?;
                black_box(&mut pose);
            }
            Ok(())
        };
        let each = |seconds: f64, count: usize| seconds * 1e9 / count as f64;
        let time = |tick: usize| tick as f64 / 60.0;
        let forward = best_seconds(budget, || stored(&mut (0..ticks).map(time)))?;
        let backward = best_seconds(budget, || stored(&mut (0..ticks).rev().map(time)))?;
        let times: Vec<f64> = random_fractions().map(|part| part * clip.duration()).collect();
        let random = best_seconds(budget, || stored(&mut times.iter().copied()))?;
        // The file's own form if that is its codec; else the compiler's, made from the file's samples.
        let skeleton = clip.record().skeleton as usize;
        let form = match clip.record().codec {
            ClipCodec::RandomAccess => Some((clip.clone(), clip.form_bytes())),
            _ => {
                let options = ClipOptions { tolerance: clip.record().tolerance, ..ClipOptions::default() };
                match compressor::compress(&scene.skeletons[skeleton], source, &options) {
                    Err(_) => None,
                    Ok(packed) => {
                        let form = Clip::from_random_access(&skeletons[skeleton], &[&packed.bytes])?;
                        Some((form, packed.bytes.len()))
                    }
                }
            }
        };
        let random_access = match form {
            None => None,
            Some((form, bytes)) => {
                let mut cursor = form.cursor();
                let whole = best_seconds(budget, || {
                    for seconds in &times {
                        cursor.pose(&Query::new(*seconds), &mut pose[..])?;
                        black_box(&mut pose);
                    }
                    Ok(())
                })?;
                let joint = best_seconds(budget, || {
                    for (i, seconds) in times.iter().enumerate() {
                        let joint = i * 7 % clip.joints();
                        black_box(cursor.joint(joint, &Query::new(*seconds))?);
                    }
                    Ok(())
                })?;
                Some((bytes as u64, each(whole, times.len()), each(joint, times.len())))
            }
        };
        speeds.push(PoseSpeed {
            name: clip.name().into(),
            codec: clip.record().codec.name(),
            joints: clip.joints(),
            bytes: clip.file_bytes(),
            forward: each(forward, ticks),
            backward: each(backward, ticks),
            random: each(random, times.len()),
            random_access_bytes: random_access.map(|r| r.0),
            random_access_pose: random_access.map(|r| r.1),
            random_access_joint: random_access.map(|r| r.2),
        });
    }
    Ok(speeds)
}

/// Returns the seconds of the best pass; as many passes as fit into the budget, but at least a few.
pub fn best_seconds(budget: Duration, mut pass: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    let begun = Instant::now();
    let mut best = f64::INFINITY;
    let mut passes = 0;
    while passes < 3 || begun.elapsed() < budget {
        let begun = Instant::now();
        pass()?;
        best = best.min(begun.elapsed().as_secs_f64());
        passes += 1;
    }
    Ok(best)
}

/// Returns a table of the measurements.
pub fn speed_table(speeds: &[PoseSpeed]) -> String {
    let rows: Vec<Vec<String>> = (speeds.iter())
        .map(|s| {
            let optional = |ns: Option<f64>| ns.map_or("–".into(), |ns| format!("{ns:.0}"));
            vec![
                one_line(&s.name),
                s.codec.into(),
                s.joints.to_string(),
                units::bytes(s.bytes as u64),
                format!("{:.0}", s.forward),
                format!("{:.0}", s.backward),
                format!("{:.0}", s.random),
                s.random_access_bytes.map_or("–".into(), units::bytes),
                optional(s.random_access_pose),
                optional(s.random_access_joint),
            ]
        })
        .collect();
    let head = [
        "clip",
        "<codec",
        "joints",
        "bytes",
        "forward",
        "backward",
        "random",
        "resident",
        "random",
        "one joint",
    ];
    format!(
        "\nnanoseconds per pose, one core, best of several passes: as it is in the file (at 60 Hz, and at random times), and resident\n\n{}",
        table(&head, &rows)
    )
}
