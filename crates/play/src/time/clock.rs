//! The clock of an instance: commands in, position and [`FrameDemand`] out. No threads, no allocation, and
//! the same result however time is divided into ticks: all sums are of integers, so a second in one step or
//! in a thousand gives the same position to the last bit, and playing backwards retraces the way exactly.
//!
//! A command takes effect at the beginning of the next [`Clock::advance`], before time passes. Of several
//! commands of one kind between two ticks the last one counts.
//!
//! ```text
//! position  whole flicks and 32 bits of fraction      dt  whole flicks      rate  whole parts of 2^-32
//! position += dt · rate
//! once      cut to begin … end
//! loop      ± whole lengths, into (begin, end] going forward, into [begin, end) going backward
//! ping-pong the same on twice the length, whose second half is the way back
//! ```

use crate::time::demand::{FrameDemand, FramePair, Span};
use crate::time::timeline::{FLICKS_PER_SECOND, FRACTION_BITS, Timeline, fixed_rate, flicks, seconds};

/// The longest tick in seconds; a longer one is cut to it, so that no product overflows.
const MAX_TICK_SECONDS: f64 = 1e6;

/// The behaviour of a clock at the ends of the range that it plays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeat {
    /// Stays at the last frame (played backwards: at the first), and reports [`Clock::ended`].
    #[default]
    Once,
    /// Continues at the other end. If the file is a closed cycle and all of it is played, the last frame is
    /// blended into the first; otherwise the position jumps.
    Loop,
    /// As `Loop`, but the caller guarantees that the cycle is closed: the last frame of the range is blended
    /// into its first, in the time that the file's period leaves or, without one, in the time of the last
    /// frame.
    Cycle,
    /// Turns around at both ends.
    PingPong,
}

/// A command for a clock. Times are seconds of animation from the first frame; times outside are clamped, and
/// a command with NaN does nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// Starts or continues; starts again after the end.
    Play,
    /// Stays at its position, and remains visible.
    Pause,
    /// Goes back to the start and is hidden; its frames need not be kept.
    Stop,
    /// Goes back to the start, playing or not as before.
    Reset,
    /// Jumps to a time.
    GoTo(f64),
    /// Jumps to a frame.
    GoToFrame(usize),
    /// Sets the rate in seconds of animation per second: 1 for the original speed, negative backwards, 0
    /// stands still. At most 65,536 in both directions.
    Rate(f64),
    /// Sets the behaviour at the ends of the range.
    Repeat(Repeat),
    /// Plays only from one time to another.
    Range(f64, f64),
    /// Plays only from one frame to another, both included.
    Frames(usize, usize),
    /// Sets the position for `Stop`, `Reset` and the first `Play`. The default is the beginning of the range
    /// or, played backwards, its end.
    StartAt(f64),
    /// Delays the next motion by these seconds, for a start within a tick; if negative, these seconds have
    /// passed already and are made up for when it moves. Applies once, and is not limited by the length of
    /// the file.
    Delay(f64),
    /// The seconds that must be in memory before playing starts, and before it continues after a jump; at
    /// most those that are decoded ahead. 0 starts at once. After twice that time plus half a second, the
    /// clock does not wait any longer.
    PreRoll(f64),
    /// Streams from this time on as well, so that a later jump finds its frames.
    StreamAt(f64),
    /// Streams at the position only.
    StreamHere,
    /// Whether to interpolate between two frames (the default), or to show the earlier one.
    Interpolate(bool),
    /// Shows every frame (1, the default), every second one (2), or every 16th (16), which are keys, and the
    /// last. The others are neither read nor decoded: for distant instances. Other numbers count as the next
    /// smaller of these. Only in files with temporal layers (presets `small` and `fast`).
    FrameStep(u32),
}

/// The effect of one tick on a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ClockAdvance {
    /// Position in seconds from the first frame.
    pub position: f64,
    /// The number of passages over a loop's seam, or of turns of ping-pong.
    pub turns: u32,
    /// `true` if the picture does not continue the last one: after a jump, or a seam that is not closed.
    pub jumped: bool,
    /// `true` if the end was reached in this tick.
    pub ended: bool,
}

/// The speed of an instance, see [`Clock::pace`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Pace {
    /// Seconds of animation from the first to the second frame of a pair.
    pub span: f64,
    /// Seconds of animation per second; 0 if nothing moves: stopped, paused, waiting, ended.
    pub speed: f64,
}

impl Pace {
    /// Returns a pace of `speed` seconds of animation per second, between frames that are `span` seconds of
    /// animation apart.
    pub const fn new(span: f64, speed: f64) -> Pace {
        Pace { span, speed }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlayState {
    Stopped,
    Paused,
    Playing,
}

#[derive(Clone, Copy, Debug)]
struct ClockSettings {
    state: PlayState,
    /// In units of 2^-32.
    rate: i64,
    repeat: Repeat,
    /// First and last time of the range, in flicks.
    range: [i64; 2],
    start: Option<i64>,
    delay: i64,
    pre_roll: i64,
    stream_at: Option<i64>,
    interpolate: bool,
    frame_step: u32,
}

/// The position that a command asks for.
#[derive(Clone, Copy, Debug)]
enum JumpTarget {
    Position(i64),
    Start,
    /// The start, if the end has been reached.
    Restart,
}

/// The clock of one instance. Initially it is stopped at the first frame, to play once at rate 1.
#[derive(Clone, Debug)]
#[must_use]
pub struct Clock {
    timeline: Timeline,
    /// The frames that are shown: all of them, or every second one.
    shown_timeline: Timeline,
    settings: ClockSettings,
    /// The settings from the next tick on.
    next_settings: ClockSettings,
    target: Option<JumpTarget>,
    /// Flicks with [`FRACTION_BITS`] bits of fraction.
    position: i128,
    /// `true` on the way back of ping-pong.
    returning: bool,
    waiting: bool,
    /// `true` if all frames of the pre-roll are in memory.
    pre_roll_filled: bool,
    /// Flicks that it still waits for the pre-roll after the first picture is there.
    patience: i64,
    ended: bool,
    /// The number of starts and jumps so far.
    jumps: u32,
    /// The frame at or before the position.
    cursor: usize,
}

/// Returns the flicks that a pre-roll is waited for.
fn pre_roll_timeout(pre_roll: i64) -> i64 {
    pre_roll.saturating_mul(2).saturating_add(flicks(0.5))
}

/// The behaviour of the position at an end of the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndBehaviour {
    Stop,
    Wrap,
    Bounce,
}

/// The frames around a position, the flicks between them, and the blend weight.
struct FramePosition {
    floor: usize,
    /// The next frame; in a closed seam the first one of the range, at the end of everything `floor`.
    ceil: usize,
    span: i64,
    blend: f32,
}

/// The ends of a range, and how its end leads to its beginning.
#[derive(Clone, Copy)]
struct PlayRange {
    begin: i64,
    end: i64,
    /// First and last frame.
    lo: usize,
    hi: usize,
    turn: EndBehaviour,
    /// `true` if the last frame is blended into the first, from the last frame's time to `end`.
    closed: bool,
}

impl Clock {
    /// Creates a clock, stopped at the first frame.
    pub fn new(timeline: &Timeline) -> Clock {
        let now = ClockSettings {
            state: PlayState::Stopped,
            rate: 1 << FRACTION_BITS,
            repeat: Repeat::Once,
            range: [0, timeline.last_flicks()],
            start: None,
            delay: 0,
            pre_roll: 0,
            stream_at: None,
            interpolate: true,
            frame_step: 1,
        };
        Clock {
            timeline: timeline.clone(),
            shown_timeline: timeline.clone(),
            settings: now,
            next_settings: now,
            target: None,
            position: 0,
            returning: false,
            waiting: false,
            pre_roll_filled: false,
            patience: 0,
            jumps: 0,
            ended: false,
            cursor: 0,
        }
    }

    /// Goes on with the times of another file, which replaces the one before. Settings and position in
    /// seconds remain, cut to its length; a range of all frames remains one.
    pub(crate) fn set_timeline(&mut self, timeline: &Timeline) {
        if self.timeline == *timeline {
            return;
        }
        let (before, last) = (self.timeline.last_flicks(), timeline.last_flicks());
        let cut = |at: i64| at.min(last);
        for settings in [&mut self.settings, &mut self.next_settings] {
            settings.range = if settings.range == [0, before] { [0, last] } else { settings.range.map(cut) };
            settings.start = settings.start.map(cut);
            settings.stream_at = settings.stream_at.map(cut);
        }
        if let Some(JumpTarget::Position(at)) = &mut self.target {
            *at = cut(*at);
        }
        self.position = self.position.min(i128::from(last) << FRACTION_BITS);
        self.timeline = timeline.clone();
        self.shown_timeline = self.timeline_at_step();
        self.cursor = self.shown_timeline.frame_at_flicks(self.position_flicks(), 0);
        self.jumps = self.jumps.wrapping_add(1);
    }

    /// Returns the timeline of the frames that are shown.
    fn timeline_at_step(&self) -> Timeline {
        self.timeline.with_step(self.settings.frame_step)
    }

    /// Returns the times of the frames.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }
    /// Returns the position in seconds from the first frame.
    #[must_use]
    pub fn position(&self) -> f64 {
        self.position as f64 / (1i64 << FRACTION_BITS) as f64 / FLICKS_PER_SECOND as f64
    }
    /// `true` if it has played to the end and does not repeat. A sequence is then replaced by its end state.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended
    }
    /// `true` if it is neither stopped nor paused (but possibly waiting, or at the end).
    #[must_use]
    pub fn playing(&self) -> bool {
        self.settings.state == PlayState::Playing
    }
    /// `true` if it is neither shown nor streamed.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.settings.state == PlayState::Stopped
    }
    /// `true` if it would play, but the pre-roll is not in memory yet.
    #[must_use]
    pub fn waiting(&self) -> bool {
        self.waiting
    }
    /// Returns the seconds that the first picture after a start or jump may take, twice the pre-roll plus
    /// half a second. After that, ticks without it count as missed.
    #[must_use]
    pub fn jump_timeout(&self) -> f64 {
        seconds(pre_roll_timeout(self.settings.pre_roll))
    }
    /// Returns the behaviour at the ends of the range.
    #[must_use]
    pub fn repeat(&self) -> Repeat {
        self.settings.repeat
    }
    /// Returns the rate that was set, in seconds of animation per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.settings.rate as f64 / (1i64 << FRACTION_BITS) as f64
    }

    /// Gives a command, which takes effect at the next [`Clock::advance`].
    pub fn command(&mut self, command: Command) {
        let last = self.timeline.last_flicks();
        let within = |time: f64| (!time.is_nan()).then(|| flicks(time).clamp(0, last));
        let next = &mut self.next_settings;
        match command {
            Command::Play => {
                if self.target.is_none() {
                    self.target = Some(match next.state {
                        PlayState::Stopped => JumpTarget::Start,
                        _ => JumpTarget::Restart,
                    });
                }
                next.state = PlayState::Playing;
            }
            Command::Pause if next.state == PlayState::Stopped => {
                // It is visible from now on: a stopped instance can only be at its start.
                self.target.get_or_insert(JumpTarget::Start);
                next.state = PlayState::Paused;
            }
            Command::Pause => next.state = PlayState::Paused,
            Command::Stop => {
                next.state = PlayState::Stopped;
                next.stream_at = None;
                self.target = Some(JumpTarget::Start);
            }
            Command::Reset => self.target = Some(JumpTarget::Start),
            Command::GoTo(time) => {
                if let Some(at) = within(time) {
                    self.target = Some(JumpTarget::Position(at));
                }
            }
            Command::GoToFrame(frame) => {
                self.target = Some(JumpTarget::Position(self.timeline.time_flicks(frame)))
            }
            Command::Rate(rate) if rate.is_nan() => {}
            Command::Rate(rate) => next.rate = fixed_rate(rate),
            Command::Repeat(repeat) => next.repeat = repeat,
            Command::Range(from, to) => {
                if let (Some(from), Some(to)) = (within(from), within(to)) {
                    next.range = [from, to.max(from)];
                }
            }
            Command::Frames(from, to) => {
                let from = self.timeline.time_flicks(from);
                next.range = [from, self.timeline.time_flicks(to).max(from)];
            }
            Command::StartAt(time) => {
                if let Some(at) = within(time) {
                    next.start = Some(at);
                }
            }
            Command::Delay(time) if time.is_nan() => {}
            Command::Delay(time) => {
                next.delay = flicks(time.clamp(-MAX_TICK_SECONDS, MAX_TICK_SECONDS));
            }
            Command::PreRoll(time) if time.is_nan() => {}
            Command::PreRoll(time) => next.pre_roll = flicks(time).max(0),
            Command::StreamAt(time) => {
                if let Some(at) = within(time) {
                    next.stream_at = Some(at);
                }
            }
            Command::StreamHere => next.stream_at = None,
            Command::Interpolate(on) => next.interpolate = on,
            Command::FrameStep(step) => next.frame_step = step,
        }
    }

    /// Tells a waiting clock which frames are in memory. It continues at the next tick if they are enough for
    /// its pre-roll, or for the `most` seconds that are decoded ahead. A clock that does not wait calls
    /// nothing.
    pub fn update_pre_roll(&mut self, most: f64, mut there: impl FnMut(u32) -> bool) {
        if self.waiting {
            let enough = match self.patience > 0 {
                true => seconds(self.settings.pre_roll).min(most),
                false => 0.0,
            };
            self.pre_roll_filled = self.has_enough(enough, &mut there);
        }
    }

    fn has_enough(&self, enough: f64, there: &mut dyn FnMut(u32) -> bool) -> bool {
        let demand = self.demand();
        let now = demand.now.is_none_or(|pair| there(pair.first) && there(pair.second));
        let mut missing = demand.spans().iter().flat_map(|span| {
            let step = span.step.max(1);
            let count = span.from.abs_diff(span.to).div_ceil(step);
            (0..=count)
                .map(move |k| match span.to >= span.from {
                    true => (span.from + k * step).min(span.to),
                    false => span.from.saturating_sub(k * step).max(span.to),
                })
                .map(move |frame| {
                    let way =
                        (self.timeline.time(frame as usize) - self.timeline.time(span.from as usize)).abs();
                    (frame, f64::from(span.in_seconds) + way / f64::from(span.rate))
                })
                .take_while(move |&(_, within)| within < enough)
        });
        now && missing.all(|(frame, _)| there(frame))
    }

    /// Advances by one tick: commands, then `dt` seconds. A `dt` that is negative or NaN counts as 0, one
    /// above 10⁶ s as 10⁶ s.
    pub fn advance(&mut self, dt: f64) -> ClockAdvance {
        let mut moved = ClockAdvance { jumped: self.apply_commands(), ..ClockAdvance::default() };
        let was_at_end = self.ended;
        self.waiting &= !self.pre_roll_filled;
        if self.waiting {
            self.patience = (self.patience).saturating_sub(flicks(dt.clamp(0.0, MAX_TICK_SECONDS)));
        }
        if self.settings.state == PlayState::Playing && !self.waiting {
            let mut dt = flicks(dt.clamp(0.0, MAX_TICK_SECONDS));
            let delayed = dt.min(self.settings.delay);
            dt -= delayed;
            self.settings.delay -= delayed;
            self.next_settings.delay = self.settings.delay;
            self.advance_by(i128::from(dt) * i128::from(self.settings.rate), &mut moved);
        }
        self.ended = self.at_end();
        moved.ended = self.ended && (!was_at_end || moved.jumped);
        self.cursor = self.shown_timeline.frame_at_flicks(self.position_flicks(), self.cursor);
        moved.position = self.position();
        moved
    }

    /// Returns the frames that are needed now and next: those up to the end of the range in the direction of
    /// play, then those behind the seam or the turn. If another place is streamed as well, the same from
    /// there.
    pub fn demand(&self) -> FrameDemand {
        let mut demand = FrameDemand { jump: self.jumps, ..FrameDemand::default() };
        if self.shown_timeline.frame_count() == 0 {
            return demand;
        }
        let course = self.play_range();
        let forward = self.is_forward();
        if !self.stopped() {
            let place = self.frame_position(&course, self.position_flicks(), self.position_fraction());
            let pair = self.pair(&place, &course).0;
            demand.now = Some(pair);
            // Streaming at another place comes before the frames after a picture that stands still.
            if self.settings.stream_at.is_none() || self.is_moving() || self.waiting {
                let alone = place.blend == 0.0 || pair.second == pair.first;
                let held = [place.floor, if alone { place.floor } else { place.ceil }];
                self.add_spans(&course, self.position_flicks(), held, forward, true, &mut demand);
            }
        }
        if let Some(at) = self.settings.stream_at {
            let at = at.clamp(course.begin, self.settings.range[1]);
            let floor = self.shown_timeline.frame_at_flicks(at, course.lo);
            let held =
                [floor, (floor + usize::from(self.shown_timeline.time_flicks(floor) < at)).min(course.hi)];
            self.add_spans(&course, at, held, self.settings.rate >= 0, false, &mut demand);
        }
        demand
    }

    /// Returns the seconds of animation between the two frames of [`FrameDemand::now`] (negative if the
    /// second is the earlier), and the seconds of animation that pass per second, negative backwards. The
    /// difference of the frames divided by the first and multiplied by the second is the change per second.
    pub fn pace(&self) -> Pace {
        let course = self.play_range();
        let place = self.frame_position(&course, self.position_flicks(), self.position_fraction());
        let (_, span) = self.pair(&place, &course);
        Pace { span: seconds(span), speed: self.speed() }
    }

    /// Applies the commands; `true` if the picture jumps.
    fn apply_commands(&mut self) -> bool {
        let was = self.settings;
        self.settings = self.next_settings;
        if self.settings.frame_step != was.frame_step {
            self.shown_timeline = self.timeline_at_step();
        }
        let course = self.play_range();
        let before = self.position;
        match self.target.take() {
            Some(JumpTarget::Position(at)) => self.set_position(at),
            Some(JumpTarget::Start) => self.set_position(self.start_position(&course)),
            Some(JumpTarget::Restart) if self.at_end() => self.set_position(self.start_position(&course)),
            _ => {}
        }
        let limits = [course.begin, course.end].map(|t| i128::from(t) << FRACTION_BITS);
        self.position = self.position.clamp(limits[0], limits[1]);
        self.returning &= course.turn == EndBehaviour::Bounce;
        let appeared = was.state == PlayState::Stopped && self.settings.state != PlayState::Stopped;
        let jumped = self.position != before || appeared;
        let started = was.state != PlayState::Playing && self.settings.state == PlayState::Playing;
        if (jumped || started) && self.settings.pre_roll > 0 {
            self.waiting = true;
            self.pre_roll_filled = false;
            self.patience = pre_roll_timeout(self.settings.pre_roll);
        }
        self.waiting &= self.settings.state == PlayState::Playing;
        self.jumps = self.jumps.wrapping_add(u32::from(jumped));
        jumped
    }

    fn set_position(&mut self, at: i64) {
        self.position = i128::from(at) << FRACTION_BITS;
        self.returning = false;
    }

    fn start_position(&self, course: &PlayRange) -> i64 {
        let from = if self.settings.rate < 0 { self.settings.range[1] } else { course.begin };
        self.settings.start.unwrap_or(from)
    }

    /// Returns the whole flicks of the position.
    fn position_flicks(&self) -> i64 {
        (self.position >> FRACTION_BITS) as i64
    }
    /// Returns the fraction of the position, in units of 2^-32.
    fn position_fraction(&self) -> u32 {
        self.position as u32
    }

    /// `true` if the frame number increases.
    fn is_forward(&self) -> bool {
        (self.settings.rate >= 0) != self.returning
    }

    fn at_end(&self) -> bool {
        let course = self.play_range();
        let end = if self.settings.rate < 0 { course.begin } else { course.end };
        let reached = self.position == i128::from(end) << FRACTION_BITS;
        self.playing() && course.turn == EndBehaviour::Stop && self.settings.rate != 0 && reached
    }

    fn play_range(&self) -> PlayRange {
        let times = self.shown_timeline.times();
        let [begin, end] = self.settings.range;
        let lo = self.shown_timeline.frame_at_flicks(begin, self.range_hint(begin));
        let last = self.shown_timeline.frame_at_flicks(end, self.range_hint(end));
        let hi = (last + usize::from(self.shown_timeline.time_flicks(last) < end))
            .min(times.len().saturating_sub(1));
        let whole = begin == 0 && end == self.shown_timeline.last_flicks();
        let mut course = PlayRange {
            begin,
            end,
            lo,
            hi,
            turn: match self.settings.repeat {
                Repeat::Once => EndBehaviour::Stop,
                Repeat::Loop | Repeat::Cycle => EndBehaviour::Wrap,
                Repeat::PingPong => EndBehaviour::Bounce,
            },
            closed: false,
        };
        let file_closes = whole && self.shown_timeline.period_flicks() > 0;
        let asked = self.settings.repeat == Repeat::Cycle;
        if course.turn == EndBehaviour::Wrap && (file_closes || asked) && lo < hi {
            course.closed = true;
            course.end = match file_closes {
                true => self.shown_timeline.period_flicks(),
                false => end + self.last_step(end),
            };
        }
        course
    }

    /// Returns the flicks between the frame at or after `end` and the one before that, even if frames are
    /// left out.
    fn last_step(&self, end: i64) -> i64 {
        let hint = self.shown_timeline.file_frame(self.range_hint(end)) as usize;
        let floor = self.timeline.frame_at_flicks(end, hint);
        let frame = (floor + usize::from(self.timeline.time_flicks(floor) < end)).max(1);
        self.timeline.time_flicks(frame) - self.timeline.time_flicks(frame - 1)
    }

    /// Returns a hint with which the first and the last frame are found at once.
    fn range_hint(&self, at: i64) -> usize {
        if at == self.shown_timeline.last_flicks() { self.shown_timeline.frame_count() } else { 0 }
    }

    /// Moves by flicks with fraction.
    fn advance_by(&mut self, by: i128, moved: &mut ClockAdvance) {
        let course = self.play_range();
        let begin = i128::from(course.begin) << FRACTION_BITS;
        let length = (i128::from(course.end) << FRACTION_BITS) - begin;
        let at = self.position - begin;
        if length == 0 || by == 0 {
            return;
        }
        let turns = match course.turn {
            EndBehaviour::Stop => {
                self.position = begin + (at + by).clamp(0, length);
                0
            }
            EndBehaviour::Wrap => {
                let sum = at + by;
                // Into (0, length] going forward, so that the end is reached before the beginning follows.
                let open = i128::from(by > 0);
                let turns = (sum - open).div_euclid(length);
                let turns = if sum == 0 && at == 0 { 0 } else { turns };
                self.position = begin + sum - turns * length;
                moved.jumped |= turns != 0 && !course.closed;
                turns
            }
            EndBehaviour::Bounce => {
                let phase = if self.returning { 2 * length - at } else { at };
                let sum = (phase + by).rem_euclid(2 * length);
                let turns = (phase + by).div_euclid(length) - phase.div_euclid(length);
                self.returning = sum > length;
                self.position = begin + if self.returning { 2 * length - sum } else { sum };
                turns
            }
        };
        moved.turns = turns.unsigned_abs().try_into().unwrap_or(u32::MAX);
    }

    fn frame_position(&self, course: &PlayRange, at: i64, fraction: u32) -> FramePosition {
        let alone = |floor| FramePosition { floor, ceil: floor, span: 0, blend: 0.0 };
        let floor = self.shown_timeline.frame_at_flicks(at, self.cursor);
        let (floor, next, until) = if floor < course.hi && !self.shown_timeline.blends_to_next(floor) {
            // The last frame of a range is held until the next range begins.
            return alone(floor);
        } else if floor < course.hi {
            (floor, floor + 1, self.shown_timeline.time_flicks(floor + 1))
        } else if course.closed && self.shown_timeline.time_flicks(course.hi) < course.end {
            (course.hi, course.lo, course.end)
        } else {
            return alone(floor);
        };
        let from = self.shown_timeline.time_flicks(floor);
        let span = until - from;
        if span <= 0 {
            return alone(floor);
        }
        let gone = (at - from) as f64 + f64::from(fraction) / (1u64 << FRACTION_BITS) as f64;
        // Never 1: a weight so close to the next frame would select that frame.
        let blend = ((gone / span as f64) as f32).clamp(0.0, 1.0f32.next_down());
        FramePosition { floor, ceil: next, span, blend }
    }

    /// Returns the frames that are shown, and the flicks from the first to the second. If the position is on
    /// a frame and moving, the second is its neighbour: the frame that it moves to, from which its velocity
    /// is computed.
    fn pair(&self, place: &FramePosition, course: &PlayRange) -> (FramePair, i64) {
        let blend = if self.settings.interpolate { place.blend } else { 0.0 };
        let (second, span) = match (place.blend > 0.0, self.is_moving()) {
            (true, moves) if blend > 0.0 || moves => (place.ceil, place.span),
            (false, true) => self.neighbour(place, course),
            _ => (place.floor, 0),
        };
        let [first, second] = [place.floor, second].map(|i| self.shown_timeline.file_frame(i));
        (FramePair { first, second, blend }, span)
    }

    /// Returns the frame that follows the one at `place` in the direction of play, and the flicks to it; the
    /// frame itself at an end.
    fn neighbour(&self, place: &FramePosition, course: &PlayRange) -> (usize, i64) {
        let &PlayRange { lo, hi, end, closed, .. } = course;
        let time = |frame: usize| self.shown_timeline.time_flicks(frame);
        let floor = place.floor;
        match self.is_forward() {
            true if place.ceil != floor => (place.ceil, place.span),
            true if floor < hi => (floor, 0),
            false if floor > lo && !self.shown_timeline.blends_to_next(floor - 1) => (floor, 0),
            // The last frame equals the first: the second follows it.
            true if closed => (lo + 1, time(lo + 1) - time(lo)),
            false if floor > lo => (floor - 1, time(floor - 1) - time(floor)),
            false if closed && time(hi) < end => (hi, time(hi) - end),
            false if closed => (hi - 1, time(hi - 1) - time(hi)),
            _ => (floor, 0),
        }
    }

    /// `true` if time passes: playing, not waiting, not at the end.
    fn is_moving(&self) -> bool {
        self.playing() && !self.waiting && !self.ended && self.settings.rate != 0
    }

    /// Returns the current speed in seconds of animation per second.
    fn speed(&self) -> f64 {
        match (self.is_moving(), self.returning) {
            (false, _) => 0.0,
            (true, false) => self.rate(),
            (true, true) => -self.rate(),
        }
    }

    /// Adds the frames from a place on, up to the end of the range and behind that. `held` are the frames
    /// around the place (the second is the earlier one in a closed seam), which are included unless
    /// `skip_held`.
    fn add_spans(
        &self,
        course: &PlayRange,
        at: i64,
        held: [usize; 2],
        forward: bool,
        skip_held: bool,
        demand: &mut FrameDemand,
    ) {
        let PlayRange { begin, end, lo, hi, .. } = *course;
        let [floor, ceil] = held;
        let seam = ceil < floor;
        let time = |frame: usize| self.shown_timeline.time_flicks(frame);
        // Frame `f` is needed as soon as the frame before it in the order of play is passed.
        let first = match (skip_held, forward) {
            (false, true) => Some(floor),
            (false, false) => Some(ceil),
            (true, true) => (!seam).then_some(ceil + 1),
            (true, false) => floor.checked_sub(1),
        };
        let last = match (forward, seam) {
            (true, _) => hi,
            // In a closed seam the first frame is one of those held.
            (false, true) => lo + usize::from(skip_held),
            (false, false) => lo,
        };
        let first = first.filter(|&f| if forward { f <= last } else { f >= last });
        if let Some(from) = first {
            let wait = match (skip_held, forward) {
                (false, _) => 0,
                (true, true) => time(from - 1) - at,
                (true, false) => at - time(from + 1),
            };
            self.add_span(from, last, wait.max(0), demand);
        }
        let left = if forward { end - at } else { at - begin };
        let cut = usize::from(skip_held && seam);
        let (from, to, wait) = match (course.turn, forward) {
            (EndBehaviour::Stop, _) => return,
            (EndBehaviour::Wrap, true) => {
                let wait = if course.closed { time(hi) - at } else { left };
                (lo + cut, floor.wrapping_sub(1), if cut > 0 { left } else { wait })
            }
            (EndBehaviour::Wrap, false) if seam => return,
            (EndBehaviour::Wrap, false) => (hi, ceil + 1, left),
            (EndBehaviour::Bounce, true) => (floor.wrapping_sub(1), lo, left + end - time(floor)),
            (EndBehaviour::Bounce, false) => (ceil + 1, hi, left + time(ceil) - begin),
        };
        let there = |frame: usize| (lo..=hi).contains(&frame);
        let upwards = forward == (course.turn == EndBehaviour::Wrap);
        if there(from) && there(to) && if upwards { from <= to } else { from >= to } {
            self.add_span(from, to, wait.max(0), demand);
        }
    }

    fn add_span(&self, from: usize, to: usize, wait: i64, demand: &mut FrameDemand) {
        let rate = self.rate().abs();
        let rate = if rate > 0.0 { rate } else { 1.0 };
        demand.add(Span {
            from: self.shown_timeline.file_frame(from),
            to: self.shown_timeline.file_frame(to),
            step: self.shown_timeline.step(),
            in_seconds: (seconds(wait) / rate) as f32,
            rate: rate as f32,
        });
    }
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
