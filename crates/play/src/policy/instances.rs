//! What holds for one instance: what is drawn of it or in its place, and whether it is streamed.

use super::lod::LodDistances;
use crate::time::clock::{Clock, Command, Repeat};

/// Meshes that are drawn instead of a cache, by numbers of the caller's. Where the first or the last is
/// missing the default stands for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandIns {
    /// While the animation is at its beginning.
    pub first: Option<u32>,
    /// When it has been played to its end.
    pub last: Option<u32>,
    /// At all other times.
    pub default: Option<u32>,
}

impl StandIns {
    /// The one for where a clock is.
    pub fn at(&self, clock: &Clock) -> Option<u32> {
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

/// Turns parts of the system off, to see what costs what. Off are: drawing nothing, no new reads, no new
/// jobs; what has begun is finished, clocks go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    /// Reads may start.
    pub reads: bool,
    /// Jobs that decompress and decode may start.
    pub jobs: bool,
    /// Caches and stand-ins are drawn.
    pub drawing: bool,
}

impl Switches {
    /// Everything works.
    pub const ON: Switches = Switches { reads: true, jobs: true, drawing: true };
    /// Nothing does.
    pub const OFF: Switches = Switches { reads: false, jobs: false, drawing: false };
}

impl Default for Switches {
    fn default() -> Switches {
        Switches::ON
    }
}

/// How one instance is drawn and streamed by its distance, which is [`Situation::distance`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Meshes that are drawn instead of the animation.
    pub stand_ins: StandIns,
    /// Beyond it a stand-in is drawn, where there is one.
    pub stand_in_beyond: f32,
    /// Within it, it is streamed, even before it plays; beyond it only what is drawn is.
    pub stream_within: f32,
    /// Levels of detail.
    pub levels: LodDistances,
    /// As [`LodDistances::margin`], for the two distances above.
    pub margin: f32,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            stand_ins: StandIns::default(),
            stand_in_beyond: f32::INFINITY,
            stream_within: 0.0,
            levels: LodDistances::ONE,
            margin: 0.05,
        }
    }
}

/// Distance and visibility of an instance in this tick, as the scene knows them: the input of
/// [`Policy::judge`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situation {
    /// From the eye to it, in the scene's unit. Below 0 counts as 0, NaN as infinitely far.
    pub distance: f32,
    /// Not hidden, and in sight.
    pub visible: bool,
    /// A frame of it can be drawn.
    pub ready: bool,
}

/// What is drawn of an instance in this tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draw {
    /// Nothing is drawn.
    #[default]
    Nothing,
    /// The cache, at a level of detail.
    Cache(usize),
    /// This mesh.
    StandIn(u32),
}

/// The outcome of [`Policy::judge`] for one instance. Kept by the caller from one tick to the next: it
/// remembers on which side of each distance the instance was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What is to be drawn in this tick.
    pub draw: Draw,
    /// The instance is to be streamed. Where this is false it demands nothing.
    pub stream: bool,
    far: bool,
    near: bool,
    level: usize,
}

impl Policy {
    /// Judges an instance; `was` is the verdict before.
    pub fn judge(&self, situation: &Situation, clock: &Clock, was: &Verdict, on: Switches) -> Verdict {
        let distance = match situation.distance {
            d if d.is_nan() => f32::INFINITY,
            d => d.max(0.0),
        };
        let inside = |border: f32, was_inside: bool| match was_inside {
            true => distance <= border * (1.0 + self.margin),
            false => distance <= border,
        };
        let far = !inside(self.stand_in_beyond, !was.far);
        let near = inside(self.stream_within, was.near);
        let level = self.levels.at(distance, was.level);
        let stand_in = self.stand_ins.at(clock);
        let plays = !clock.stopped();
        let replaced = far && stand_in.is_some();
        let draw = match (situation.visible && on.drawing, stand_in) {
            (false, _) => Draw::Nothing,
            (true, Some(mesh)) if far || !situation.ready || !plays => Draw::StandIn(mesh),
            (true, _) if situation.ready && plays => Draw::Cache(level),
            (true, _) => Draw::Nothing,
        };
        Verdict { draw, stream: near || (plays && situation.visible && !replaced), far, near, level }
    }
}

impl Verdict {
    /// The command for the clock of an instance that does not play, so that its beginning is in memory when
    /// it does.
    pub fn command(&self, was: &Verdict, clock: &Clock) -> Option<Command> {
        match (was.stream, self.stream) {
            (false, true) if clock.stopped() => Some(Command::StreamAt(clock.position())),
            (true, false) if clock.stopped() => Some(Command::StreamHere),
            _ => None,
        }
    }
}
