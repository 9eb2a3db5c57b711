//! Samples of clips for formats that interpolate linearly between samples.

use meshreel_scene::model::BEFORE_STEP;
use meshreel_scene::{Clip, Qvv, SubTrack, Track};

/// A sample to write: one of the clip's, or the value right before it if values are held until then.
#[derive(Clone, Copy)]
pub(crate) enum ClipSample {
    Sample(usize),
    BeforeStep(usize),
}

impl ClipSample {
    pub fn time(self, clip: &Clip) -> f64 {
        let at = |i: usize| clip.start + i as f64 / clip.fps;
        match self {
            ClipSample::Sample(i) => at(i),
            ClipSample::BeforeStep(i) => at(i) - BEFORE_STEP,
        }
    }

    pub fn local(self, track: &Track, fps: f64) -> Qvv {
        let i = match self {
            ClipSample::Sample(i) => return track.transform(i),
            ClipSample::BeforeStep(i) => i,
        };
        // Held values stay, others have nearly reached the sample.
        let part = 1.0 - BEFORE_STEP * fps;
        let (was, is) = (track.transform(i - 1), track.transform(i));
        Qvv {
            rotation: match track.rotation.is_held() {
                true => was.rotation,
                false => was.rotation.slerp(is.rotation, part),
            },
            translation: match track.translation.is_held() {
                true => was.translation,
                false => was.translation.lerp(is.translation, part),
            },
            scale: match track.scale.is_held() {
                true => was.scale,
                false => was.scale.lerp(is.scale, part),
            },
        }
    }
}

/// Returns the samples of joints that are written together; one if none of them moves.
pub(crate) fn clip_samples(tracks: &[Track], clip: &Clip) -> Vec<ClipSample> {
    fn steps<T: Copy + PartialEq>(values: &SubTrack<T>, i: usize) -> bool {
        values.is_held() && values.sample(i) != values.sample(i - 1)
    }
    let is_constant = |track: &Track| {
        track.rotation.is_constant() && track.translation.is_constant() && track.scale.is_constant()
    };
    let mut out = vec![ClipSample::Sample(0)];
    // At rates that leave no room for a step, linear interpolation is as good.
    let room = BEFORE_STEP * clip.fps < 0.25;
    for i in 1..if tracks.iter().all(is_constant) { 1 } else { clip.samples } {
        let held = |track: &Track| {
            steps(&track.rotation, i) || steps(&track.translation, i) || steps(&track.scale, i)
        };
        if room && tracks.iter().any(held) {
            out.push(ClipSample::BeforeStep(i));
        }
        out.push(ClipSample::Sample(i));
    }
    out
}
