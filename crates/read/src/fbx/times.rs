//! The times of frames: at the file's own rate, from the first key of an animation to the last; for one
//! animation, or for all of them one after the other. Long animations keep only the frames that are needed.

use super::needed_frames::needed_frames;
use crate::ReadOptions;
use meshreel_scene::sample::MAX_FRAMES;
use meshreel_scene::{Channel, Error, NamedRange, TimeSampling};
use std::path::Path;
use std::sync::Arc;

/// An animation on the timeline.
struct Take<'a> {
    anim: &'a ufbx::Anim,
    name: String,
    start: f64,
    /// The number of its first frame, and its number of frames.
    first: usize,
    count: usize,
    /// The frame steps before it, and the steps from its first frame to each of its frames; `None`: one step
    /// per frame.
    before: usize,
    steps: Option<Vec<usize>>,
}

impl Take<'_> {
    /// Returns the steps from its first frame to frame `frame`, counted from there.
    fn step(&self, frame: usize) -> usize {
        self.steps.as_ref().map_or(frame, |steps| steps[frame])
    }

    /// Returns the steps from its first frame to that of the next animation.
    fn length(&self) -> usize {
        self.step(self.count - 1) + 1
    }
}

/// The times of all frames.
pub(super) struct FrameTimes<'a> {
    takes: Vec<Take<'a>>,
    pub start: f64,
    pub step: f64,
    /// Frames per second.
    pub rate: f64,
    pub count: usize,
}

impl<'a> FrameTimes<'a> {
    /// Makes the times of the animation asked for by name, by number from 0, or of all; by default of the
    /// file's first.
    ///
    /// # Errors
    /// `Misuse` if there is no such animation, `Limit` beyond [`MAX_FRAMES`].
    pub fn new(path: &Path, parsed: &'a ufbx::Scene, wanted: Option<&str>) -> Result<FrameTimes<'a>, Error> {
        let mut out = FrameTimes::empty(parsed);
        let stacks = || parsed.anim_stacks.into_iter();
        let name = |stack: &ufbx::AnimStack| stack.element.name.to_string();
        let Some(wanted) = wanted else {
            let own = stacks().next().map(name).unwrap_or_default();
            out.add(path, &parsed.anim, own, Some(parsed))?;
            out.start = out.takes[0].start;
            return Ok(out);
        };
        if wanted == ReadOptions::ALL_ANIMATIONS {
            for stack in stacks() {
                out.add(path, &stack.anim, name(stack), Some(parsed))?;
            }
            if out.takes.is_empty() {
                out.add(path, &parsed.anim, String::new(), Some(parsed))?;
            }
            if let [only] = &out.takes[..] {
                out.start = only.start;
            }
            return Ok(out);
        }
        let named = stacks().find(|stack| *stack.element.name == *wanted);
        let number = || wanted.parse().ok().and_then(|number: usize| stacks().nth(number));
        let Some(stack) = named.or_else(number) else {
            let names: Vec<String> = stacks().take(24).map(|stack| format!("'{}'", name(stack))).collect();
            let there = match &names[..] {
                [] => "it has none".into(),
                names => format!("there are {}", names.join(", ")),
            };
            let path = path.display();
            return Err(Error::misuse(format!("{path}: no animation is called '{wanted}': {there}")));
        };
        out.add(path, &stack.anim, name(stack), Some(parsed))?;
        out.start = out.takes[0].start;
        Ok(out)
    }

    /// Makes the times of one animation alone, with all its frames.
    ///
    /// # Errors
    /// As for [`FrameTimes::new`].
    pub fn single(
        path: &Path,
        parsed: &ufbx::Scene,
        stack: &'a ufbx::AnimStack,
    ) -> Result<FrameTimes<'a>, Error> {
        let mut out = FrameTimes::empty(parsed);
        out.add(path, &stack.anim, stack.element.name.to_string(), None)?;
        out.start = out.takes[0].start;
        Ok(out)
    }

    fn empty(parsed: &ufbx::Scene) -> FrameTimes<'a> {
        let rate = parsed.settings.frames_per_second;
        let rate = if rate.is_finite() && rate > 0.0 { rate } else { 24.0 };
        FrameTimes { takes: Vec::new(), start: 0.0, step: 1.0 / rate, rate, count: 0 }
    }

    /// Appends an animation. With `sparse`, frames that are not needed are left out.
    fn add(
        &mut self,
        path: &Path,
        anim: &'a ufbx::Anim,
        name: String,
        sparse: Option<&ufbx::Scene>,
    ) -> Result<(), Error> {
        let (start, end) = match anim.time_end > anim.time_begin {
            true => (anim.time_begin, anim.time_end),
            false => keys(anim).unwrap_or((anim.time_begin, anim.time_end)),
        };
        let frames = ((end - start) / self.step).round();
        let moves = start.is_finite() && frames.is_finite() && frames >= 1.0;
        let count = if moves { (frames as usize).saturating_add(1) } else { 1 };
        let start = if start.is_finite() { start } else { 0.0 };
        let steps = sparse.and_then(|parsed| needed_frames(parsed, anim, (start, self.rate, count)));
        let count = steps.as_ref().map_or(count, Vec::len);
        let before = self.takes.last().map_or(0, |take| take.before.saturating_add(take.length()));
        self.takes.push(Take { anim, name, start, first: self.count, count, before, steps });
        self.count = self.count.saturating_add(count);
        if self.takes.len() > 1 && self.count > MAX_FRAMES {
            let what = "frames of all animations of an FBX file; name one by --animation";
            return Err(Error::limit(path, what, self.count as u64, MAX_FRAMES as u64));
        }
        Ok(())
    }

    /// Returns the take that contains a frame, and the steps from the take's first frame to it.
    fn locate(&self, frame: usize) -> (&Take<'a>, usize) {
        let take = self.takes.partition_point(|take| take.first <= frame).saturating_sub(1);
        let take = &self.takes[take];
        (take, take.step(frame - take.first))
    }

    /// Returns the animation played in a frame, and the time within it in seconds.
    pub fn animation_at(&self, frame: usize) -> (&'a ufbx::Anim, f64) {
        let (take, step) = self.locate(frame);
        (take.anim, take.start + step as f64 / self.rate)
    }

    /// Returns all animations that are played.
    pub fn anims(&self) -> impl Iterator<Item = &'a ufbx::Anim> {
        self.takes.iter().map(|take| take.anim)
    }

    pub fn sampling(&self) -> Arc<TimeSampling> {
        if self.takes.iter().all(|take| take.steps.is_none()) {
            return Arc::new(TimeSampling::Uniform { start: self.start, step: self.step });
        }
        let time = |frame: usize| {
            let (take, step) = self.locate(frame);
            self.start + (take.before + step) as f64 * self.step
        };
        Arc::new(TimeSampling::Acyclic { times: (0..self.count).map(time).collect() })
    }

    /// Returns a named range per animation, if there are several.
    pub fn ranges(&self) -> Vec<NamedRange> {
        let time = |step: usize| self.start + step as f64 * self.step;
        let range = |take: &Take<'_>| NamedRange {
            name: take.name.clone(),
            start: time(take.before),
            end: time(take.before + take.length() - 1),
        };
        if self.takes.len() > 1 { self.takes.iter().map(range).collect() } else { Vec::new() }
    }
}

/// Makes a channel with one sample per frame.
pub(super) fn each_frame<T: Clone + Send + Sync + 'static>(
    sampling: &Arc<TimeSampling>,
    samples: Vec<Vec<T>>,
) -> Channel<T> {
    let own = TimeSampling::Uniform { start: 0.0, step: 1.0 };
    Channel::in_memory(own, samples).with_sampling(sampling.clone())
}

/// Returns the times of the first and the last key, for an animation that states no time span.
fn keys(anim: &ufbx::Anim) -> Option<(f64, f64)> {
    let values = anim.layers.into_iter().flat_map(|layer| &layer.anim_values);
    let curves = values.flat_map(|value| value.curves.iter().flatten());
    let times =
        curves.filter(|curve| !curve.keyframes.is_empty()).map(|curve| (curve.min_time, curve.max_time));
    times.reduce(|(start, end), (first, last)| (start.min(first), end.max(last)))
}
