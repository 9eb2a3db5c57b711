//! Plays keys: a playhead reads the block strictly forward, and starts from a snapshot after a jump back.

use super::keys::{CurveClip, Key, TransformPart, set_part};
use super::spline::KeyWindow;
use crate::clip::Skeleton;
use crate::transform::Transform;

/// The number of a missing key.
const NO_KEY: u32 = u32::MAX;

/// The last four keys of a sub-track that were passed, with their values.
#[derive(Clone, Copy, Debug)]
struct PassedKeys {
    window: KeyWindow,
    count: u32,
}

/// A position in a clip, kept from call to call.
///
/// Going forward, it reads the block from front to back and each key once; going back, it starts at a
/// snapshot.
#[derive(Clone, Debug)]
pub struct Playhead {
    tracks: Vec<PassedKeys>,
    next: usize,
    time: f32,
    reads: u64,
}

impl Playhead {
    /// Returns a playhead at the start of a clip. Allocates all the memory that it will need.
    pub fn new(curves: &CurveClip) -> Playhead {
        let empty = PassedKeys { window: KeyWindow::default(), count: 0 };
        Playhead { tracks: vec![empty; curves.tracks()], next: 0, time: 0.0, reads: 0 }
    }

    /// Returns the number of the first key that was not read yet. It only grows while time does.
    pub fn position(&self) -> usize {
        self.next
    }

    /// Returns the number of keys read so far.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// Writes the pose at a time in samples, clamped to the clip: local transforms of all joints. Panics if
    /// `pose` has not one transform per joint, or if the playhead belongs to another clip.
    pub fn pose(&mut self, curves: &CurveClip, skeleton: &Skeleton<'_>, time: f32, pose: &mut [Transform]) {
        assert_eq!(pose.len(), skeleton.rest.len(), "a transform per joint");
        assert_eq!(self.tracks.len(), curves.tracks(), "a playhead of this clip");
        let time = self.advance(curves, time);
        curves.prefill(skeleton, pose);
        for (track, &(joint, part)) in self.tracks.iter().zip(&curves.tracks) {
            let value = track.value(time, curves, part);
            set_part(&mut pose[usize::from(joint)], part, value);
        }
    }

    /// Reads on, or restarts, until all keys that `time` needs are read. Returns the time clamped to the
    /// clip.
    fn advance(&mut self, curves: &CurveClip, time: f32) -> f32 {
        let last = (curves.head.samples - 1) as f32;
        // NaN becomes 0.
        let time = time.max(0.0).min(last);
        if time < self.time || self.next == 0 {
            self.restore(curves, time);
        }
        self.time = time;
        while let Some(key) = curves.keys.get(self.next) {
            let Some(number) = curves.number(key) else {
                break;
            };
            let track = &mut self.tracks[number];
            if f32::from(track.need_time()) > time {
                break;
            }
            track.push(key, curves.value(key));
            self.next += 1;
            self.reads += 1;
        }
        time
    }

    /// Goes to the last snapshot from which `time` can be reached.
    fn restore(&mut self, curves: &CurveClip, time: f32) {
        let after = curves.snapshots.partition_point(|s| f32::from(s.time) <= time);
        self.tracks.iter_mut().for_each(|track| track.count = 0);
        self.next = 0;
        let Some(snapshot) = after.checked_sub(1).map(|i| &curves.snapshots[i]) else {
            return;
        };
        self.next = snapshot.next as usize;
        for (track, last) in self.tracks.iter_mut().zip(&snapshot.last_keys) {
            for &key in last.iter().filter(|&&key| key != NO_KEY) {
                let key = &curves.keys[key as usize];
                track.push(key, curves.value(key));
                self.reads += 1;
            }
        }
    }
}

impl PassedKeys {
    /// Returns the time at which the next key is needed: that of the second to last key read.
    fn need_time(&self) -> u16 {
        if self.count < 2 { 0 } else { self.window.times[2] }
    }

    fn push(&mut self, key: &Key, value: [f32; 4]) {
        let window = &mut self.window;
        window.times.copy_within(1.., 0);
        window.values.copy_within(1.., 0);
        (window.times[3], window.values[3]) = (key.time, value);
        self.count += 1;
    }

    /// Returns the value at `time`. The last four keys are the ones around it, or include them near the end.
    fn value(&self, time: f32, curves: &CurveClip, part: TransformPart) -> [f32; 4] {
        let first = 4 - self.count.min(4) as usize;
        let times = &self.window.times;
        // The key before or at `time`, if another one follows.
        let mut left = 2;
        while left > first && f32::from(times[left]) > time {
            left -= 1;
        }
        let mut window = KeyWindow { has_outer: [left > first, left < 2], ..KeyWindow::default() };
        for k in 0..4 {
            // For a missing key, a time that avoids a division by zero.
            let at = left + k;
            if (first + 1..=4).contains(&at) {
                (window.times[k], window.values[k]) = (times[at - 1], self.window.values[at - 1]);
            }
        }
        window.fill_ends();
        window.value(time, curves.head.knots, part == TransformPart::Rotation)
    }
}

impl KeyWindow {
    /// Places a missing outer key at the time of its neighbour, with the same value.
    fn fill_ends(&mut self) {
        if !self.has_outer[0] {
            self.times[0] = self.times[1];
            self.values[0] = self.values[1];
        }
        if !self.has_outer[1] {
            self.times[3] = self.times[2];
            self.values[3] = self.values[2];
        }
    }
}
