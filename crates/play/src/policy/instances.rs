//! The policy for one instance: what is drawn, the mesh or a stand-in, and whether it is streamed.

use super::lod::LodDistances;
use crate::time::clock::{Clock, Command, Repeat};

/// The meshes that are drawn instead of a cache, by numbers of the caller's. If the first or the last is
/// missing, the default is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandIns {
    /// Used while the animation is at its beginning.
    pub first: Option<u32>,
    /// Used when it has been played to its end.
    pub last: Option<u32>,
    /// Used at all other times.
    pub default: Option<u32>,
}

impl StandIns {
    /// Returns the stand-in for a clock's position.
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
pub struct Switches {
    /// Whether reads may start.
    pub reads: bool,
    /// Whether jobs that decompress and decode may start.
    pub jobs: bool,
    /// Whether caches and stand-ins are drawn.
    pub drawing: bool,
}

impl Switches {
    /// Everything is on.
    pub const ON: Switches = Switches { reads: true, jobs: true, drawing: true };
    /// Everything is off.
    pub const OFF: Switches = Switches { reads: false, jobs: false, drawing: false };
}

impl Default for Switches {
    fn default() -> Switches {
        Switches::ON
    }
}

/// The policy by which one instance is drawn and streamed, from its distance, [`Situation::distance`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Meshes that are drawn instead of the animation.
    pub stand_ins: StandIns,
    /// Distance beyond which a stand-in is drawn, if there is one.
    pub stand_in_beyond: f32,
    /// Distance within which the instance is streamed, even before it plays; beyond it only if it is drawn.
    pub stream_within: f32,
    /// The distances of the LOD levels.
    pub lod_distances: LodDistances,
    /// The margin of the two distances above, as in [`LodDistances::margin`].
    pub margin: f32,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            stand_ins: StandIns::default(),
            stand_in_beyond: f32::INFINITY,
            stream_within: 0.0,
            lod_distances: LodDistances::SINGLE_LEVEL,
            margin: 0.05,
        }
    }
}

/// The distance and visibility of an instance in this tick, as the scene knows them: the input of
/// [`Policy::judge`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situation {
    /// Distance from the eye, in the scene's unit. Below 0 counts as 0, NaN as infinitely far.
    pub distance: f32,
    /// `true` if it is not hidden, and in view.
    pub visible: bool,
    /// `true` if a frame of it can be drawn.
    pub ready: bool,
}

/// The picture of an instance in this tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draw {
    /// Nothing is drawn.
    #[default]
    Nothing,
    /// The cache, at an LOD level.
    Cache(usize),
    /// This mesh instead of it.
    StandIn(u32),
}

/// The outcome of [`Policy::judge`] for one instance. The caller keeps it from one tick to the next: it
/// remembers on which side of each distance the instance was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The picture to draw in this tick.
    pub draw: Draw,
    /// Whether the instance is streamed. If not, it demands nothing.
    pub stream: bool,
    far: bool,
    near: bool,
    lod_level: usize,
}

impl Policy {
    /// Judges an instance; `was` is the verdict of the tick before.
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
        let level = self.lod_distances.level(distance, was.lod_level);
        let stand_in = self.stand_ins.select(clock);
        let plays = !clock.stopped();
        let replaced = far && stand_in.is_some();
        let draw = match (situation.visible && on.drawing, stand_in) {
            (false, _) => Draw::Nothing,
            (true, Some(mesh)) if far || !situation.ready || !plays => Draw::StandIn(mesh),
            (true, _) if situation.ready && plays => Draw::Cache(level),
            (true, _) => Draw::Nothing,
        };
        Verdict {
            draw,
            stream: near || (plays && situation.visible && !replaced),
            far,
            near,
            lod_level: level,
        }
    }
}

impl Verdict {
    /// Returns the command for the clock of an instance that does not play, so that its beginning is in
    /// memory when it starts.
    pub fn command(&self, was: &Verdict, clock: &Clock) -> Option<Command> {
        match (was.stream, self.stream) {
            (false, true) if clock.stopped() => Some(Command::StreamAt(clock.position())),
            (true, false) if clock.stopped() => Some(Command::StreamHere),
            _ => None,
        }
    }
}
