//! The policy for one instance: what is drawn, the mesh or a stand-in, and whether it is streamed.

use super::lod::LodDistances;
use crate::setters::setters;
use crate::time::clock::{Clock, Command, Repeat};

/// The meshes that are drawn instead of a cache, by numbers of the caller's. If the first or the last is
/// missing, the default is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct StandIns {
    /// Used while the animation is at its beginning.
    pub first: Option<u32>,
    /// Used when it has been played to its end.
    pub last: Option<u32>,
    /// Used at all other times.
    pub default: Option<u32>,
}

impl StandIns {
    /// Sets [`StandIns::first`].
    pub fn with_first(self, mesh: u32) -> StandIns {
        StandIns { first: Some(mesh), ..self }
    }

    /// Sets [`StandIns::last`].
    pub fn with_last(self, mesh: u32) -> StandIns {
        StandIns { last: Some(mesh), ..self }
    }

    /// Sets [`StandIns::default`].
    pub fn with_default(self, mesh: u32) -> StandIns {
        StandIns { default: Some(mesh), ..self }
    }

    /// Returns the stand-in for a clock's position.
    #[must_use]
    pub fn select(&self, clock: &Clock) -> Option<u32> {
        let repeats = clock.repeat() != Repeat::Once;
        let special = if clock.position() == 0.0 {
            self.first
        } else if clock.position() >= clock.timeline().duration() && !repeats {
            self.last
        } else {
            None
        };
        special.or(self.default)
    }
}

/// Turns parts of the system off, to measure what each costs. Work that has begun is finished, and clocks go
/// on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct DebugSwitches {
    /// Whether reads may start.
    pub reads: bool,
    /// Whether jobs that decompress and decode may start.
    pub jobs: bool,
    /// Whether caches and stand-ins are drawn.
    pub drawing: bool,
}

impl DebugSwitches {
    /// Everything is on.
    pub const ON: DebugSwitches = DebugSwitches { reads: true, jobs: true, drawing: true };
    /// Everything is off.
    pub const OFF: DebugSwitches = DebugSwitches { reads: false, jobs: false, drawing: false };

    setters! {
        with_reads(reads: bool);
        with_jobs(jobs: bool);
        with_drawing(drawing: bool);
    }
}

impl Default for DebugSwitches {
    fn default() -> DebugSwitches {
        DebugSwitches::ON
    }
}

/// The policy by which one instance is drawn and streamed, from its distance, [`InstanceState::distance`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Policy {
    /// Meshes that are drawn instead of the animation. Default none.
    pub stand_ins: StandIns,
    /// Distance beyond which a stand-in is drawn, if there is one. Default ∞.
    pub stand_in_beyond: f32,
    /// Distance within which the instance is streamed, even before it plays; beyond it only if it is drawn.
    /// Default 0.
    pub stream_within: f32,
    /// The distances of the LOD levels. Default one level.
    pub lod_distances: LodDistances,
    /// Distance beyond which every second frame is left out ([`Command::FrameStep`]). Default ∞.
    pub half_rate_beyond: f32,
    /// Distance beyond which only every 16th frame is read and decoded. Default ∞.
    pub keys_beyond: f32,
    /// The margin of the distances above, as in [`LodDistances::margin`]. Default 0.05.
    pub margin: f32,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            stand_ins: StandIns::default(),
            stand_in_beyond: f32::INFINITY,
            stream_within: 0.0,
            lod_distances: LodDistances::SINGLE_LEVEL,
            half_rate_beyond: f32::INFINITY,
            keys_beyond: f32::INFINITY,
            margin: 0.05,
        }
    }
}

/// The distance and visibility of an instance in this tick, as the scene knows them: the input of
/// [`Policy::decide`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct InstanceState {
    /// Distance from the eye, in the scene's unit. Below 0 counts as 0, NaN as infinitely far.
    pub distance: f32,
    /// `true` if it is not hidden, and in view.
    pub visible: bool,
    /// `true` if a frame of it can be drawn.
    pub ready: bool,
}

impl InstanceState {
    /// Returns the state of an instance at a distance that is visible and ready.
    pub fn new(distance: f32) -> InstanceState {
        InstanceState { distance, visible: true, ready: true }
    }

    setters! {
        with_visible(visible: bool);
        with_ready(ready: bool);
    }
}

/// The choice of the mesh that is drawn for an instance in this tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DrawChoice {
    /// Nothing is drawn.
    #[default]
    Nothing,
    /// The cache, at an LOD level.
    Cache(usize),
    /// This mesh instead of it.
    StandIn(u32),
}

/// The outcome of [`Policy::decide`] for one instance. The caller keeps it from one tick to the next: it
/// remembers on which side of each distance the instance was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Decision {
    /// The mesh to draw in this tick.
    pub draw: DrawChoice,
    /// Whether the instance is streamed. If not, it demands nothing.
    pub stream: bool,
    /// The frames from one that is shown to the next: 1, 2 or 16. 0 before the first decision.
    pub frame_step: u32,
    far: bool,
    near: bool,
    lod_level: usize,
}

impl Policy {
    setters! {
        with_stand_ins(stand_ins: StandIns);
        with_stand_in_beyond(stand_in_beyond: f32);
        with_stream_within(stream_within: f32);
        with_lod_distances(lod_distances: LodDistances);
        with_half_rate_beyond(half_rate_beyond: f32);
        with_keys_beyond(keys_beyond: f32);
        with_margin(margin: f32);
    }

    /// Decides about an instance; `was` is the decision of the tick before.
    pub fn decide(
        &self,
        state: &InstanceState,
        clock: &Clock,
        was: &Decision,
        on: DebugSwitches,
    ) -> Decision {
        let distance = match state.distance {
            d if d.is_nan() => f32::INFINITY,
            d => d.max(0.0),
        };
        let inside = |border: f32, was_inside: bool| match was_inside {
            true => distance <= border * (1.0 + self.margin),
            false => distance <= border,
        };
        let far = !inside(self.stand_in_beyond, !was.far);
        let near = inside(self.stream_within, was.near);
        let level = self.lod_distances.level(distance, was.lod_level);
        let frame_step = match was.frame_step {
            _ if !inside(self.keys_beyond, was.frame_step < 16) => 16,
            step if !inside(self.half_rate_beyond, step < 2) => 2,
            _ => 1,
        };
        let stand_in = self.stand_ins.select(clock);
        let plays = !clock.stopped();
        let replaced = far && stand_in.is_some();
        let draw = match (state.visible && on.drawing, stand_in) {
            (false, _) => DrawChoice::Nothing,
            (true, Some(mesh)) if far || !state.ready || !plays => DrawChoice::StandIn(mesh),
            (true, _) if state.ready && plays => DrawChoice::Cache(level),
            (true, _) => DrawChoice::Nothing,
        };
        let stream = near || (plays && state.visible && !replaced);
        Decision { draw, stream, frame_step, far, near, lod_level: level }
    }
}

impl Decision {
    /// Returns the commands for the clock of an instance: frames are left out or not, and if it does not
    /// play, its beginning is in memory when it starts.
    pub fn commands(&self, was: &Decision, clock: &Clock) -> impl Iterator<Item = Command> + use<> {
        let stream = match (was.stream, self.stream) {
            (false, true) if clock.stopped() => Some(Command::StreamAt(clock.position())),
            (true, false) if clock.stopped() => Some(Command::StreamHere),
            _ => None,
        };
        let step = (was.frame_step.max(1) != self.frame_step).then_some(Command::FrameStep(self.frame_step));
        stream.into_iter().chain(step)
    }
}
