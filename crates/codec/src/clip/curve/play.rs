//! Playing keys: a playhead that goes through the block strictly forward, and snapshots from which it starts
//! anew after a jump.

use super::keys::{Curves, Key, Part, put};
use super::spline::Window;
use crate::clip::Skeleton;
use crate::transform::Transform;

/// No key.
const NONE: u32 = u32::MAX;

/// The last four keys of a sub-track that were passed, with their values.
#[derive(Clone, Copy, Debug)]
struct Track {
    window: Window,
    count: u32,
}

/// A place in a clip, kept from call to call.
///
/// Going forward it reads the block from front to back and each key once; going back it starts at a snapshot.
#[derive(Clone, Debug)]
pub struct Playhead {
    tracks: Vec<Track>,
    next: usize,
    time: f32,
    reads: u64,
}

impl Playhead {
    /// At the start of a clip. Allocates all it will need.
    pub fn new(curves: &Curves) -> Playhead {
        let empty = Track { window: Window::default(), count: 0 };
        Playhead { tracks: vec![empty; curves.tracks()], next: 0, time: 0.0, reads: 0 }
    }

    /// The first key that was not read yet: it only grows while time does.
    pub fn position(&self) -> usize {
        self.next
    }

    /// Keys read so far.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// The pose at a time in samples, cut to the clip: local transforms of all joints. Panics where `pose` is
    /// not one per joint, or the playhead is another clip's.
    pub fn pose(&mut self, curves: &Curves, skeleton: &Skeleton<'_>, time: f32, pose: &mut [Transform]) {
        assert_eq!(pose.len(), skeleton.rest.len(), "a transform per joint");
        assert_eq!(self.tracks.len(), curves.tracks(), "a playhead of this clip");
        let time = self.go(curves, time);
        curves.prefill(skeleton, pose);
        for (track, &(joint, part)) in self.tracks.iter().zip(&curves.tracks) {
            let value = track.at(time, curves, part);
            put(&mut pose[usize::from(joint)], part, value);
        }
    }

    /// Reads on, or starts anew, until all that a time needs is there; gives the time within the clip.
    fn go(&mut self, curves: &Curves, time: f32) -> f32 {
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
            if f32::from(track.need()) > time {
                break;
            }
            track.push(key, curves.value(key));
            self.next += 1;
            self.reads += 1;
        }
        time
    }

    /// To the last snapshot from which a time can be reached.
    fn restore(&mut self, curves: &Curves, time: f32) {
        let after = curves.snapshots.partition_point(|s| f32::from(s.time) <= time);
        self.tracks.iter_mut().for_each(|track| track.count = 0);
        self.next = 0;
        let Some(snapshot) = after.checked_sub(1).map(|i| &curves.snapshots[i]) else {
            return;
        };
        self.next = snapshot.next as usize;
        for (track, last) in self.tracks.iter_mut().zip(&snapshot.last) {
            for &key in last.iter().filter(|&&key| key != NONE) {
                let key = &curves.keys[key as usize];
                track.push(key, curves.value(key));
                self.reads += 1;
            }
        }
    }
}

impl Track {
    /// When the next key is needed: when the one before the last is passed.
    fn need(&self) -> u16 {
        if self.count < 2 { 0 } else { self.window.times[2] }
    }

    fn push(&mut self, key: &Key, value: [f32; 4]) {
        let window = &mut self.window;
        window.times.copy_within(1.., 0);
        window.values.copy_within(1.., 0);
        (window.times[3], window.values[3]) = (key.time, value);
        self.count += 1;
    }

    /// The last four keys are the ones around `time`, or, near the end, some of them.
    fn at(&self, time: f32, curves: &Curves, part: Part) -> [f32; 4] {
        let first = 4 - self.count.min(4) as usize;
        let times = &self.window.times;
        // The key before or at `time`, if another one follows.
        let mut left = 2;
        while left > first && f32::from(times[left]) > time {
            left -= 1;
        }
        let mut window = Window { ends: [left > first, left < 2], ..Window::default() };
        for k in 0..4 {
            // Where there is no such key, a time that divides nothing by zero.
            let at = left + k;
            if (first + 1..=4).contains(&at) {
                (window.times[k], window.values[k]) = (times[at - 1], self.window.values[at - 1]);
            }
        }
        window.fill_ends();
        window.at(time, curves.head.knots, part == Part::Rotation)
    }
}

impl Window {
    /// Keys that are not there lie as far away as the segment is long, with the value of the nearest.
    fn fill_ends(&mut self) {
        if !self.ends[0] {
            self.times[0] = self.times[1];
            self.values[0] = self.values[1];
        }
        if !self.ends[1] {
            self.times[3] = self.times[2];
            self.values[3] = self.values[2];
        }
    }
}
