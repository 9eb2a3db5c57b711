//! The clock of an instance: commands in, position and [`Demand`] out. No threads, no allocation, and the
//! same result however time is divided into ticks: all sums are of integers, so a second in one step or in a
//! thousand gives the same position to the last bit, and playing backwards retraces the way exactly.
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

use crate::time::demand::{Demand, FramePair, Span};
use crate::time::timeline::{FRACTION, PER_SECOND, Timeline, flicks, rate_parts, seconds};

/// The longest tick in seconds; a longer one is cut to it, so that no product overflows.
const LONGEST_TICK: f64 = 1e6;

/// The behaviour of a clock at the ends of the range that it plays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Whether every second frame is left out, neither read nor decoded: for distant instances. Only in files
    /// with temporal layers (presets `small` and `fast`).
    HalfRate(bool),
}

/// The effect of one tick on a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moved {
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
pub struct Pace {
    /// Seconds of animation from the first to the second frame of a pair.
    pub span: f64,
    /// Seconds of animation per second; 0 if nothing moves: stopped, paused, waiting, ended.
    pub speed: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Stopped,
    Paused,
    Playing,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    state: State,
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
    half_rate: bool,
}

/// The position that a command asks for.
#[derive(Clone, Copy, Debug)]
enum Target {
    At(i64),
    Start,
    /// The start, if the end has been reached.
    Again,
}

/// The clock of one instance. Initially it is stopped at the first frame, to play once at rate 1.
#[derive(Clone, Debug)]
pub struct Clock {
    timeline: Timeline,
    /// The frames that are shown: all of them, or every second one.
    walked: Timeline,
    now: Settings,
    /// The settings from the next tick on.
    next: Settings,
    target: Option<Target>,
    /// Flicks with [`FRACTION`] bits of fraction.
    position: i128,
    /// `true` on the way back of ping-pong.
    back: bool,
    waiting: bool,
    /// `true` if all frames of the pre-roll are in memory.
    filled: bool,
    /// Flicks that it still waits for the pre-roll after the first picture is there.
    patience: i64,
    ended: bool,
    /// The number of starts and jumps so far.
    jumps: u32,
    /// The frame at or before the position.
    cursor: usize,
}

/// Returns the flicks that a pre-roll is waited for.
fn patience(pre_roll: i64) -> i64 {
    pre_roll.saturating_mul(2).saturating_add(flicks(0.5))
}

/// The behaviour of the position at an end of the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Stop,
    Wrap,
    Bounce,
}

/// The frames around a position, the flicks between them, and the blend weight.
struct Place {
    floor: usize,
    /// The next frame; in a closed seam the first one of the range, at the end of everything `floor`.
    ceil: usize,
    span: i64,
    blend: f32,
}

/// The ends of a range, and how its end leads to its beginning.
#[derive(Clone, Copy)]
struct Course {
    begin: i64,
    end: i64,
    /// First and last frame.
    lo: usize,
    hi: usize,
    turn: Turn,
    /// `true` if the last frame is blended into the first, from the last frame's time to `end`.
    closed: bool,
}

impl Clock {
    /// Creates a clock, stopped at the first frame.
    pub fn new(timeline: &Timeline) -> Clock {
        let now = Settings {
            state: State::Stopped,
            rate: 1 << FRACTION,
            repeat: Repeat::Once,
            range: [0, timeline.last()],
            start: None,
            delay: 0,
            pre_roll: 0,
            stream_at: None,
            interpolate: true,
            half_rate: false,
        };
        Clock {
            timeline: timeline.clone(),
            walked: timeline.clone(),
            now,
            next: now,
            target: None,
            position: 0,
            back: false,
            waiting: false,
            filled: false,
            patience: 0,
            jumps: 0,
            ended: false,
            cursor: 0,
        }
    }

    /// Returns the times of the frames.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }
    /// Returns the position in seconds from the first frame.
    pub fn position(&self) -> f64 {
        self.position as f64 / (1i64 << FRACTION) as f64 / PER_SECOND as f64
    }
    /// `true` if it has played to the end and does not repeat. A sequence is then replaced by its end state.
    pub fn ended(&self) -> bool {
        self.ended
    }
    /// `true` if it is neither stopped nor paused (but possibly waiting, or at the end).
    pub fn playing(&self) -> bool {
        self.now.state == State::Playing
    }
    /// `true` if it is neither shown nor streamed.
    pub fn stopped(&self) -> bool {
        self.now.state == State::Stopped
    }
    /// `true` if it would play, but the pre-roll is not in memory yet.
    pub fn waiting(&self) -> bool {
        self.waiting
    }
    /// Returns the seconds that the first picture after a start or jump may take, twice the pre-roll plus
    /// half a second. After that, ticks without it count as missed.
    pub fn patience(&self) -> f64 {
        seconds(patience(self.now.pre_roll))
    }
    /// Returns the behaviour at the ends of the range.
    pub fn repeat(&self) -> Repeat {
        self.now.repeat
    }
    /// Returns the rate that was set, in seconds of animation per second.
    pub fn rate(&self) -> f64 {
        self.now.rate as f64 / (1i64 << FRACTION) as f64
    }

    /// Gives a command, which takes effect at the next [`Clock::advance`].
    pub fn command(&mut self, command: Command) {
        let last = self.timeline.last();
        let within = |time: f64| (!time.is_nan()).then(|| flicks(time).clamp(0, last));
        let next = &mut self.next;
        match command {
            Command::Play => {
                if self.target.is_none() {
                    self.target = Some(match next.state {
                        State::Stopped => Target::Start,
                        _ => Target::Again,
                    });
                }
                next.state = State::Playing;
            }
            Command::Pause if next.state == State::Stopped => {
                // It is visible from now on: a stopped instance can only be at its start.
                self.target.get_or_insert(Target::Start);
                next.state = State::Paused;
            }
            Command::Pause => next.state = State::Paused,
            Command::Stop => {
                next.state = State::Stopped;
                next.stream_at = None;
                self.target = Some(Target::Start);
            }
            Command::Reset => self.target = Some(Target::Start),
            Command::GoTo(time) => {
                if let Some(at) = within(time) {
                    self.target = Some(Target::At(at));
                }
            }
            Command::GoToFrame(frame) => self.target = Some(Target::At(self.timeline.at(frame))),
            Command::Rate(rate) if rate.is_nan() => {}
            Command::Rate(rate) => next.rate = rate_parts(rate),
            Command::Repeat(repeat) => next.repeat = repeat,
            Command::Range(from, to) => {
                if let (Some(from), Some(to)) = (within(from), within(to)) {
                    next.range = [from, to.max(from)];
                }
            }
            Command::Frames(from, to) => {
                let from = self.timeline.at(from);
                next.range = [from, self.timeline.at(to).max(from)];
            }
            Command::StartAt(time) => {
                if let Some(at) = within(time) {
                    next.start = Some(at);
                }
            }
            Command::Delay(time) if time.is_nan() => {}
            Command::Delay(time) => {
                next.delay = flicks(time.clamp(-LONGEST_TICK, LONGEST_TICK));
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
            Command::HalfRate(on) => next.half_rate = on,
        }
    }

    /// Tells a waiting clock which frames are in memory. It continues at the next tick if they are enough for
    /// its pre-roll, or for the `most` seconds that are decoded ahead. A clock that does not wait calls
    /// nothing.
    pub fn fill(&mut self, most: f64, mut there: impl FnMut(u32) -> bool) {
        if self.waiting {
            let enough = match self.patience > 0 {
                true => seconds(self.now.pre_roll).min(most),
                false => 0.0,
            };
            self.filled = self.has_enough(enough, &mut there);
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
    pub fn advance(&mut self, dt: f64) -> Moved {
        let mut moved = Moved { jumped: self.obey(), ..Moved::default() };
        let was_at_end = self.ended;
        self.waiting &= !self.filled;
        if self.waiting {
            self.patience = (self.patience).saturating_sub(flicks(dt.clamp(0.0, LONGEST_TICK)));
        }
        if self.now.state == State::Playing && !self.waiting {
            let mut dt = flicks(dt.clamp(0.0, LONGEST_TICK));
            let delayed = dt.min(self.now.delay);
            dt -= delayed;
            self.now.delay -= delayed;
            self.next.delay = self.now.delay;
            self.step(i128::from(dt) * i128::from(self.now.rate), &mut moved);
        }
        self.ended = self.at_end();
        moved.ended = self.ended && (!was_at_end || moved.jumped);
        self.cursor = self.walked.floor(self.flick(), self.cursor);
        moved.position = self.position();
        moved
    }

    /// Returns the frames that are needed now and next: those up to the end of the range in the direction of
    /// play, then those behind the seam or the turn. If another place is streamed as well, the same from
    /// there.
    pub fn demand(&self) -> Demand {
        let mut demand = Demand { jump: self.jumps, ..Demand::default() };
        if self.walked.frame_count() == 0 {
            return demand;
        }
        let course = self.course();
        let forward = self.forward();
        if !self.stopped() {
            let place = self.place(&course, self.flick(), self.fraction());
            let pair = self.pair(&place, &course).0;
            demand.now = Some(pair);
            // Streaming at another place comes before the frames after a picture that stands still.
            if self.now.stream_at.is_none() || self.moves() || self.waiting {
                let alone = place.blend == 0.0 || pair.second == pair.first;
                let held = [place.floor, if alone { place.floor } else { place.ceil }];
                self.add_spans(&course, self.flick(), held, forward, true, &mut demand);
            }
        }
        if let Some(at) = self.now.stream_at {
            let at = at.clamp(course.begin, self.now.range[1]);
            let floor = self.walked.floor(at, course.lo);
            let held = [floor, (floor + usize::from(self.walked.at(floor) < at)).min(course.hi)];
            self.add_spans(&course, at, held, self.now.rate >= 0, false, &mut demand);
        }
        demand
    }

    /// Returns the seconds of animation between the two frames of [`Demand::now`] (negative if the second is
    /// the earlier), and the seconds of animation that pass per second, negative backwards. The difference of
    /// the frames divided by the first and multiplied by the second is the change per second.
    pub fn pace(&self) -> Pace {
        let course = self.course();
        let place = self.place(&course, self.flick(), self.fraction());
        let (_, span) = self.pair(&place, &course);
        Pace { span: seconds(span), speed: self.speed() }
    }

    /// Applies the commands; `true` if the picture jumps.
    fn obey(&mut self) -> bool {
        let was = self.now;
        self.now = self.next;
        if self.now.half_rate != was.half_rate {
            self.walked = match self.now.half_rate {
                true => self.timeline.halved(),
                false => self.timeline.clone(),
            };
        }
        let course = self.course();
        let before = self.position;
        match self.target.take() {
            Some(Target::At(at)) => self.put(at),
            Some(Target::Start) => self.put(self.start(&course)),
            Some(Target::Again) if self.at_end() => self.put(self.start(&course)),
            _ => {}
        }
        let limits = [course.begin, course.end].map(|t| i128::from(t) << FRACTION);
        self.position = self.position.clamp(limits[0], limits[1]);
        self.back &= course.turn == Turn::Bounce;
        let appeared = was.state == State::Stopped && self.now.state != State::Stopped;
        let jumped = self.position != before || appeared;
        let started = was.state != State::Playing && self.now.state == State::Playing;
        if (jumped || started) && self.now.pre_roll > 0 {
            self.waiting = true;
            self.filled = false;
            self.patience = patience(self.now.pre_roll);
        }
        self.waiting &= self.now.state == State::Playing;
        self.jumps = self.jumps.wrapping_add(u32::from(jumped));
        jumped
    }

    fn put(&mut self, at: i64) {
        self.position = i128::from(at) << FRACTION;
        self.back = false;
    }

    fn start(&self, course: &Course) -> i64 {
        let from = if self.now.rate < 0 { self.now.range[1] } else { course.begin };
        self.now.start.unwrap_or(from)
    }

    /// Returns the whole flicks of the position.
    fn flick(&self) -> i64 {
        (self.position >> FRACTION) as i64
    }
    /// Returns the fraction of the position, in units of 2^-32.
    fn fraction(&self) -> u32 {
        self.position as u32
    }

    /// `true` if the frame number increases.
    fn forward(&self) -> bool {
        (self.now.rate >= 0) != self.back
    }

    fn at_end(&self) -> bool {
        let course = self.course();
        let end = if self.now.rate < 0 { course.begin } else { course.end };
        let reached = self.position == i128::from(end) << FRACTION;
        self.playing() && course.turn == Turn::Stop && self.now.rate != 0 && reached
    }

    fn course(&self) -> Course {
        let times = self.walked.times();
        let [begin, end] = self.now.range;
        let lo = self.walked.floor(begin, self.range_hint(begin));
        let last = self.walked.floor(end, self.range_hint(end));
        let hi = (last + usize::from(self.walked.at(last) < end)).min(times.len().saturating_sub(1));
        let whole = begin == 0 && end == self.walked.last();
        let mut course = Course {
            begin,
            end,
            lo,
            hi,
            turn: match self.now.repeat {
                Repeat::Once => Turn::Stop,
                Repeat::Loop | Repeat::Cycle => Turn::Wrap,
                Repeat::PingPong => Turn::Bounce,
            },
            closed: false,
        };
        let file_closes = whole && self.walked.cycle() > 0;
        let asked = self.now.repeat == Repeat::Cycle;
        if course.turn == Turn::Wrap && (file_closes || asked) && lo < hi {
            course.closed = true;
            course.end = match file_closes {
                true => self.walked.cycle(),
                false => end + self.last_step(end),
            };
        }
        course
    }

    /// Returns the flicks between the frame at or after `end` and the one before that, even if frames are
    /// left out.
    fn last_step(&self, end: i64) -> i64 {
        let hint = self.walked.frame(self.range_hint(end)) as usize;
        let floor = self.timeline.floor(end, hint);
        let frame = (floor + usize::from(self.timeline.at(floor) < end)).max(1);
        self.timeline.at(frame) - self.timeline.at(frame - 1)
    }

    /// Returns a hint with which the first and the last frame are found at once.
    fn range_hint(&self, at: i64) -> usize {
        if at == self.walked.last() { self.walked.frame_count() } else { 0 }
    }

    /// Moves by flicks with fraction.
    fn step(&mut self, by: i128, moved: &mut Moved) {
        let course = self.course();
        let begin = i128::from(course.begin) << FRACTION;
        let length = (i128::from(course.end) << FRACTION) - begin;
        let at = self.position - begin;
        if length == 0 || by == 0 {
            return;
        }
        let turns = match course.turn {
            Turn::Stop => {
                self.position = begin + (at + by).clamp(0, length);
                0
            }
            Turn::Wrap => {
                let sum = at + by;
                // Into (0, length] going forward, so that the end is reached before the beginning follows.
                let open = i128::from(by > 0);
                let turns = (sum - open).div_euclid(length);
                let turns = if sum == 0 && at == 0 { 0 } else { turns };
                self.position = begin + sum - turns * length;
                moved.jumped |= turns != 0 && !course.closed;
                turns
            }
            Turn::Bounce => {
                let phase = if self.back { 2 * length - at } else { at };
                let sum = (phase + by).rem_euclid(2 * length);
                let turns = (phase + by).div_euclid(length) - phase.div_euclid(length);
                self.back = sum > length;
                self.position = begin + if self.back { 2 * length - sum } else { sum };
                turns
            }
        };
        moved.turns = turns.unsigned_abs().try_into().unwrap_or(u32::MAX);
    }

    fn place(&self, course: &Course, at: i64, fraction: u32) -> Place {
        let alone = |floor| Place { floor, ceil: floor, span: 0, blend: 0.0 };
        let floor = self.walked.floor(at, self.cursor);
        let (floor, next, until) = if floor < course.hi && !self.walked.leads_on(floor) {
            // The last frame of a range is held until the next range begins.
            return alone(floor);
        } else if floor < course.hi {
            (floor, floor + 1, self.walked.at(floor + 1))
        } else if course.closed && self.walked.at(course.hi) < course.end {
            (course.hi, course.lo, course.end)
        } else {
            return alone(floor);
        };
        let from = self.walked.at(floor);
        let span = until - from;
        if span <= 0 {
            return alone(floor);
        }
        let gone = (at - from) as f64 + f64::from(fraction) / (1u64 << FRACTION) as f64;
        // Never 1: a weight so close to the next frame would select that frame.
        let blend = ((gone / span as f64) as f32).clamp(0.0, 1.0f32.next_down());
        Place { floor, ceil: next, span, blend }
    }

    /// Returns the frames that are shown, and the flicks from the first to the second. If the position is on
    /// a frame and moving, the second is its neighbour: the frame that it moves to, from which its velocity
    /// is computed.
    fn pair(&self, place: &Place, course: &Course) -> (FramePair, i64) {
        let blend = if self.now.interpolate { place.blend } else { 0.0 };
        let (second, span) = match (place.blend > 0.0, self.moves()) {
            (true, moves) if blend > 0.0 || moves => (place.ceil, place.span),
            (false, true) => self.neighbour(place, course),
            _ => (place.floor, 0),
        };
        let [first, second] = [place.floor, second].map(|i| self.walked.frame(i));
        (FramePair { first, second, blend }, span)
    }

    /// Returns the frame that follows the one at `place` in the direction of play, and the flicks to it; the
    /// frame itself at an end.
    fn neighbour(&self, place: &Place, course: &Course) -> (usize, i64) {
        let &Course { lo, hi, end, closed, .. } = course;
        let time = |frame: usize| self.walked.at(frame);
        let floor = place.floor;
        match self.forward() {
            true if place.ceil != floor => (place.ceil, place.span),
            true if floor < hi => (floor, 0),
            false if floor > lo && !self.walked.leads_on(floor - 1) => (floor, 0),
            // The last frame equals the first: the second follows it.
            true if closed => (lo + 1, time(lo + 1) - time(lo)),
            false if floor > lo => (floor - 1, time(floor - 1) - time(floor)),
            false if closed && time(hi) < end => (hi, time(hi) - end),
            false if closed => (hi - 1, time(hi - 1) - time(hi)),
            _ => (floor, 0),
        }
    }

    /// `true` if time passes: playing, not waiting, not at the end.
    fn moves(&self) -> bool {
        self.playing() && !self.waiting && !self.ended && self.now.rate != 0
    }

    /// Returns the current speed in seconds of animation per second.
    fn speed(&self) -> f64 {
        match (self.moves(), self.back) {
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
        course: &Course,
        at: i64,
        held: [usize; 2],
        forward: bool,
        skip_held: bool,
        demand: &mut Demand,
    ) {
        let Course { begin, end, lo, hi, .. } = *course;
        let [floor, ceil] = held;
        let seam = ceil < floor;
        let time = |frame: usize| self.walked.at(frame);
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
            (Turn::Stop, _) => return,
            (Turn::Wrap, true) => {
                let wait = if course.closed { time(hi) - at } else { left };
                (lo + cut, floor.wrapping_sub(1), if cut > 0 { left } else { wait })
            }
            (Turn::Wrap, false) if seam => return,
            (Turn::Wrap, false) => (hi, ceil + 1, left),
            (Turn::Bounce, true) => (floor.wrapping_sub(1), lo, left + end - time(floor)),
            (Turn::Bounce, false) => (ceil + 1, hi, left + time(ceil) - begin),
        };
        let there = |frame: usize| (lo..=hi).contains(&frame);
        let upwards = forward == (course.turn == Turn::Wrap);
        if there(from) && there(to) && if upwards { from <= to } else { from >= to } {
            self.add_span(from, to, wait.max(0), demand);
        }
    }

    fn add_span(&self, from: usize, to: usize, wait: i64, demand: &mut Demand) {
        let rate = self.rate().abs();
        let rate = if rate > 0.0 { rate } else { 1.0 };
        demand.add(Span {
            from: self.walked.frame(from),
            to: self.walked.frame(to),
            step: self.walked.step(),
            in_seconds: (seconds(wait) / rate) as f32,
            rate: rate as f32,
        });
    }
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
