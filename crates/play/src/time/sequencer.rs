//! Sequences of cache clips: when each starts, how often it plays, and what is shown after its end. A state
//! machine without threads, files or pictures: it reports what happens when, and the caller passes that on to
//! its player.
//!
//! *Minimise duration*: a clip is a slice of a cache, only while it moves. *Stagger starts* ([`stagger`]), so
//! that no single frame has to begin everything. *End states*: a finished clip is replaced by a static mesh
//! and its buffers are freed. *Loops* pass their seam without visiting an end state. *Chains* ([`chain`])
//! divide a long path into segments, each created when the one before is deleted, so that culling works.
//!
//! Time is counted in whole flicks, and everything that happens has an exact moment, so ticks of any length
//! give the same state and the same actions in the same order.
//!
//! ```text
//! begin of play k = start + ⌈k · length / |rate|⌉          from the start every time: nothing adds up
//! tick: as long as something happens at or before now + dt: do the earliest; of one moment: events, turns, ends,
//!       starts, streams; of these in the order of clips
//! ```

use crate::Error;
use crate::setters::setters;
use crate::time::clock::{Command, Repeat};
use crate::time::timeline::{FRACTION_BITS, Timeline, fixed_rate, flicks, seconds};

// Together these bound the work of a tick and of a jump. In seconds.
/// A longer tick is cut to it.
const MAX_TICK_SECONDS: f64 = 60.0;
/// The shortest play of a clip.
const MIN_PLAY_SECONDS: f64 = 1e-3;
/// All times of a sequence lie within a day.
const MAX_SEQUENCE_SECONDS: f64 = 86_400.0;

/// The start of a clip.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ClipStart {
    /// Seconds after the sequence began.
    At(f64),
    /// This many seconds after each end of another clip.
    After(usize, f64),
    /// At the call of [`Sequencer::signal`] with this number.
    OnSignal(u32),
    /// Only as the end of another clip ([`ClipEnd::Clip`]).
    Never,
}

/// The mesh that is shown for a clip after its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClipEnd {
    /// Nothing: the clip is hidden, and its buffers are freed.
    #[default]
    Nothing,
    /// Its last frame, with all its buffers.
    Hold,
    /// A static mesh, by a number of the caller's; the buffers of the clip are freed.
    Mesh(u32),
    /// Another clip, which starts at the same moment; the buffers of this one are freed.
    Clip(usize),
}

/// The way in which a signal ends a clip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitSignal {
    /// At the moment of the signal.
    AtOnce(u32),
    /// At the end of the current play.
    AtSeam(u32),
}

/// A slice of a cache, with the time and manner in which it plays.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct SequenceClip {
    /// Its name, unique in the sequence.
    pub name: String,
    /// The cache, by a number of the caller's.
    pub cache: u32,
    /// The time or event at which it starts.
    pub start: ClipStart,
    /// The beginning of the slice in seconds of animation; `to` is its end.
    pub from: f64,
    /// See `from`.
    pub to: f64,
    /// Seconds of animation between the last frame of a closed cycle and its first; 0 for other clips.
    pub seam: f64,
    /// Seconds of animation per second; negative plays from `to` to `from`.
    pub rate: f64,
    /// The continuation if it plays more than once ([`Repeat::Once`] counts as [`Repeat::Loop`]).
    pub repeat: Repeat,
    /// The number of plays; 0 until a signal. Ping-pong counts each way.
    pub plays: u32,
    /// The signal that ends it earlier.
    pub exit: Option<ExitSignal>,
    /// Seconds before its start at which streaming begins (pre-roll), if the start is known that early.
    pub stream_before: f64,
    /// The mesh that is shown for the clip after its end.
    pub end: ClipEnd,
    /// Events: numbers that are reported when the position passes these seconds of animation; in order of
    /// time.
    pub events: Vec<(f64, u32)>,
}

impl SequenceClip {
    /// Returns a clip of a whole file that plays once, at the beginning of the sequence, and leaves nothing.
    pub fn new(name: impl Into<String>, cache: u32, timeline: &Timeline) -> SequenceClip {
        SequenceClip {
            name: name.into(),
            cache,
            start: ClipStart::At(0.0),
            from: 0.0,
            to: timeline.duration(),
            seam: timeline.period().map_or(0.0, |period| period - timeline.duration()),
            rate: 1.0,
            repeat: Repeat::Loop,
            plays: 1,
            exit: None,
            stream_before: 0.5,
            end: ClipEnd::Nothing,
            events: Vec::new(),
        }
    }

    /// Sets [`SequenceClip::from`] and [`SequenceClip::to`], in seconds of animation.
    pub fn with_slice(self, from: f64, to: f64) -> SequenceClip {
        SequenceClip { from, to, ..self }
    }

    /// Sets [`SequenceClip::exit`].
    pub fn with_exit(self, exit: ExitSignal) -> SequenceClip {
        SequenceClip { exit: Some(exit), ..self }
    }

    setters! {
        with_start(start: ClipStart);
        with_seam(seam: f64);
        with_rate(rate: f64);
        with_repeat(repeat: Repeat);
        with_plays(plays: u32);
        with_stream_before(stream_before: f64);
        with_end(end: ClipEnd);
        with_events(events: Vec<(f64, u32)>);
    }
}

/// Delays starts at fixed times so that any two are at least `spacing` seconds apart, in their original
/// order.
pub fn stagger(clips: &mut [SequenceClip], spacing: f64) {
    let at = |clip: &SequenceClip| match clip.start {
        ClipStart::At(at) => Some(at),
        _ => None,
    };
    let mut order: Vec<(usize, f64)> =
        (clips.iter().enumerate()).filter_map(|(c, clip)| Some((c, at(clip)?))).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut earliest = f64::NEG_INFINITY;
    for (clip, at) in order {
        let at = at.max(earliest);
        clips[clip].start = ClipStart::At(at);
        earliest = at + spacing;
    }
}

/// Turns clips into segments of one long path: each starts at the end of the one before, which leaves
/// nothing.
pub fn chain(clips: &mut [SequenceClip]) {
    let count = clips.len();
    for (c, clip) in clips.iter_mut().enumerate() {
        if c > 0 {
            clip.start = ClipStart::After(c - 1, 0.0);
        }
        if c + 1 < count {
            clip.end = ClipEnd::Nothing;
        }
    }
}

/// An action of the sequence; actions are reported in the order in which they happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Action {
    /// The number of the clip.
    pub clip: usize,
    /// Seconds after the sequence began.
    pub at: f64,
    /// Seconds from the beginning of the tick to the action. Negative after a jump to a later time: the clip
    /// has been playing for that many seconds.
    pub delay: f64,
    /// The kind of action.
    pub kind: ActionKind,
}

/// The kinds of actions, see [`Action`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ActionKind {
    /// Its static data and first frames will be needed.
    Stream,
    /// The clip begins to play.
    Start,
    /// The clip begins to play again, without an end state in between: the number of this play, counted from
    /// 0.
    Turn(u32),
    /// The position passed this event.
    Event(u32),
    /// The clip is over; [`SequenceClip::end`] is what remains of it.
    End,
    /// After a jump: the clip is as if it had never played.
    Remove,
}

impl Action {
    /// Returns the commands for the player's instance of the clip, to be given in this order before the tick
    /// in which the action happened.
    pub fn commands(&self, clip: &SequenceClip) -> impl Iterator<Item = Command> + use<> {
        let begin = if clip.rate < 0.0 { clip.to } else { clip.from };
        let repeat = match (clip.plays, clip.repeat) {
            (1, _) => Repeat::Once,
            (_, Repeat::Once) => Repeat::Loop,
            (_, repeat) => repeat,
        };
        let none = [None; 8];
        let commands = match self.kind {
            ActionKind::Stream => [Some(Command::StreamAt(begin)), None, None, None, None, None, None, None],
            ActionKind::Start => [
                Some(Command::StreamHere),
                Some(Command::Range(clip.from, clip.to)),
                Some(Command::Rate(clip.rate)),
                Some(Command::Repeat(repeat)),
                Some(Command::Delay(self.delay)),
                Some(Command::Stop),
                Some(Command::GoTo(begin)),
                Some(Command::Play),
            ],
            ActionKind::End if clip.end == ClipEnd::Hold => {
                [Some(Command::Pause), None, None, None, None, None, None, None]
            }
            ActionKind::End | ActionKind::Remove => {
                [Some(Command::Stop), None, None, None, None, None, None, None]
            }
            ActionKind::Turn(_) | ActionKind::Event(_) => none,
        };
        commands.into_iter().flatten()
    }
}

/// The playback state of a clip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaybackState {
    /// Not started yet, or reset by a jump.
    #[default]
    Idle,
    /// Not started yet, but streaming.
    Streaming,
    /// The clip plays.
    Playing,
    /// Over; [`SequenceClip::end`] is shown.
    Ended,
}

/// The mesh that is shown for a clip at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShownMesh {
    /// Nothing.
    Nothing,
    /// The cache, at [`Sequencer::position`].
    Cache,
    /// A static mesh.
    Mesh(u32),
}

/// A clip with its times in flicks.
#[derive(Clone, Debug)]
struct TimedClip {
    clip: SequenceClip,
    /// The animation of one play.
    length: i64,
    /// The absolute rate, in units of 2^-32; larger than 0.
    rate: i64,
    stream_before: i64,
    /// Distance from the beginning of the play, and number; in order.
    events: Vec<(i64, u32)>,
}

/// The state of one clip of the sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ClipState {
    /// Never [`PlaybackState::Streaming`].
    playback: PlaybackState,
    /// The time at which it starts, perhaps again.
    due: Option<i64>,
    /// `true` if it streams for that start.
    is_streaming: bool,
    /// The time at which a signal ends it.
    exit_at: Option<i64>,
    /// The time at which it started; valid while playing and after.
    started_at: i64,
    /// The time at which it ended.
    ended_at: i64,
    /// The number of completed plays.
    plays_done: u32,
    /// The number of events of this play that have passed.
    events_done: u32,
    /// The number of plays, 0 without end.
    plays: u32,
}

/// The order of what happens at one moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ActionOrder {
    Event,
    Turn,
    End,
    Start,
    Stream,
}

/// Plays a sequence. All memory is allocated when it is created.
#[derive(Clone, Debug)]
pub struct Sequencer {
    clips: Vec<TimedClip>,
    states: Vec<ClipState>,
    /// Flicks since the beginning.
    now: i64,
    /// The time in flicks at which the current tick began.
    tick_start: i64,
    /// The states before a jump.
    before: Vec<ClipState>,
}

impl Sequencer {
    /// Creates a sequencer and checks the clips: names unique, times finite and not negative, plays of at
    /// least a millisecond.
    pub fn new(clips: Vec<SequenceClip>) -> Result<Sequencer, Error> {
        let count = clips.len();
        for (c, clip) in clips.iter().enumerate() {
            check_clip(clip, count)?;
            if clips[..c].iter().any(|other| other.name == clip.name) {
                return Err(Error::misuse(format!("two clips are named {}", clip.name)));
            }
        }
        let mut sequencer = Sequencer {
            states: vec![ClipState::default(); count],
            before: vec![ClipState::default(); count],
            clips: clips.into_iter().map(TimedClip::new).collect(),
            now: 0,
            tick_start: 0,
        };
        sequencer.rewind();
        Ok(sequencer)
    }

    /// Returns the seconds since the sequence began.
    #[must_use]
    pub fn time(&self) -> f64 {
        seconds(self.now)
    }
    /// Returns the number of clips.
    #[must_use]
    pub fn len(&self) -> usize {
        self.clips.len()
    }
    /// `true` without clips.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.clips.is_empty()
    }
    /// Returns a clip. Panics if there is no such clip.
    pub fn clip(&self, clip: usize) -> &SequenceClip {
        &self.clips[clip].clip
    }
    /// Returns the number of the clip with that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.clips.iter().position(|part| part.clip.name == name)
    }
    /// Returns the playback state of a clip. Panics if there is no such clip.
    #[must_use]
    pub fn playback_state(&self, clip: usize) -> PlaybackState {
        match self.states[clip] {
            ClipState { playback: PlaybackState::Idle, is_streaming: true, .. } => PlaybackState::Streaming,
            run => run.playback,
        }
    }

    /// Returns the mesh that is shown for a clip now. Panics if there is no such clip.
    #[must_use]
    pub fn shown_mesh(&self, clip: usize) -> ShownMesh {
        match (self.states[clip].playback, self.clips[clip].clip.end) {
            (PlaybackState::Idle | PlaybackState::Streaming, _) => ShownMesh::Nothing,
            (PlaybackState::Playing, _) | (PlaybackState::Ended, ClipEnd::Hold) => ShownMesh::Cache,
            (PlaybackState::Ended, ClipEnd::Mesh(mesh)) => ShownMesh::Mesh(mesh),
            (PlaybackState::Ended, ClipEnd::Nothing | ClipEnd::Clip(_)) => ShownMesh::Nothing,
        }
    }

    /// `true` if a clip's buffers are in use: it is streamed or shown as a cache. Panics if there is no such
    /// clip.
    #[must_use]
    pub fn holds_memory(&self, clip: usize) -> bool {
        self.states[clip].is_streaming || self.shown_mesh(clip) == ShownMesh::Cache
    }

    /// Returns the position of a clip in seconds of animation; that of its beginning before it plays. Panics
    /// if there is no such clip.
    #[must_use]
    pub fn position(&self, clip: usize) -> f64 {
        let (part, run) = (&self.clips[clip], &self.states[clip]);
        let until = match run.playback {
            PlaybackState::Idle | PlaybackState::Streaming => run.started_at,
            PlaybackState::Playing => self.now,
            PlaybackState::Ended => run.ended_at,
        };
        part.position(until - run.started_at, run)
    }

    /// Goes back to the beginning without reporting actions.
    fn rewind(&mut self) {
        (self.now, self.tick_start) = (0, 0);
        for (part, run) in self.clips.iter().zip(&mut self.states) {
            *run = ClipState::default();
            if let ClipStart::At(at) = part.clip.start {
                run.due = Some(flicks(at));
            }
        }
    }

    /// Gives a signal: starts the clips that wait for it and ends those that leave on it, at the time of the
    /// end of the last tick. The next tick reports the actions.
    pub fn signal(&mut self, signal: u32) {
        for (part, run) in self.clips.iter().zip(&mut self.states) {
            if part.clip.start == ClipStart::OnSignal(signal) {
                run.due = Some(self.now);
            }
            let playing = run.playback == PlaybackState::Playing;
            match part.clip.exit {
                Some(ExitSignal::AtSeam(on)) if on == signal && playing => run.plays = run.plays_done + 1,
                Some(ExitSignal::AtOnce(on)) if on == signal && playing => run.exit_at = Some(self.now),
                _ => {}
            }
        }
    }

    /// Passes `dt` seconds and reports what happens, in order. A `dt` that is negative or NaN counts as 0,
    /// one above a minute as a minute.
    pub fn tick(&mut self, dt: f64, mut say: impl FnMut(Action)) {
        self.advance(flicks(dt.clamp(0.0, MAX_TICK_SECONDS)), &mut say);
    }

    /// Jumps to a time of the sequence and reports the necessary actions: which clips are gone, which are
    /// new, and from where they play. Earlier signals are forgotten; events on the way are not reported.
    pub fn go_to(&mut self, time: f64, mut say: impl FnMut(Action)) {
        self.before.copy_from_slice(&self.states);
        self.rewind();
        let target = flicks(time.clamp(0.0, MAX_SEQUENCE_SECONDS));
        while self.now < target {
            self.advance((target - self.now).min(flicks(MAX_TICK_SECONDS)), &mut |_| {});
        }
        self.advance(0, &mut |_| {});
        for clip in 0..self.clips.len() {
            let was = (self.before[clip].playback, self.before[clip].is_streaming);
            let is = self.playback_state(clip);
            let kind = match is {
                PlaybackState::Playing => ActionKind::Start,
                PlaybackState::Streaming => ActionKind::Stream,
                PlaybackState::Ended => ActionKind::End,
                PlaybackState::Idle if was == (PlaybackState::Idle, false) => continue,
                PlaybackState::Idle => ActionKind::Remove,
            };
            let since = match is {
                PlaybackState::Playing => self.states[clip].started_at,
                _ => self.now,
            };
            say(Action { clip, at: seconds(since), delay: seconds(since - self.now), kind });
        }
    }

    fn advance(&mut self, dt: i64, say: &mut dyn FnMut(Action)) {
        self.tick_start = self.now;
        let target = self.now + dt;
        while let Some((at, kind, clip)) = self.earliest_action().filter(|next| next.0 <= target) {
            // Clips that a signal started are due at the moment of the signal, which has passed.
            self.now = at.max(self.now);
            let kind = self.apply(kind, clip);
            say(Action { clip, at: seconds(self.now), delay: seconds(self.now - self.tick_start), kind });
        }
        self.now = target;
    }

    fn earliest_action(&self) -> Option<(i64, ActionOrder, usize)> {
        let of = |clip: usize| self.clips[clip].next_action(&self.states[clip], clip);
        (0..self.clips.len()).filter_map(of).min()
    }

    fn apply(&mut self, kind: ActionOrder, clip: usize) -> ActionKind {
        let now = self.now;
        let (part, run) = (&self.clips[clip], &mut self.states[clip]);
        match kind {
            ActionOrder::Stream => {
                run.is_streaming = true;
                ActionKind::Stream
            }
            ActionOrder::Start => {
                *run = ClipState {
                    playback: PlaybackState::Playing,
                    started_at: now,
                    plays: part.clip.plays,
                    ..ClipState::default()
                };
                ActionKind::Start
            }
            ActionOrder::Event => {
                let number = part.next_event(run).map_or(0, |event| event.1);
                run.events_done += 1;
                ActionKind::Event(number)
            }
            ActionOrder::Turn => {
                (run.plays_done, run.events_done) = (run.plays_done + 1, 0);
                ActionKind::Turn(run.plays_done)
            }
            ActionOrder::End => {
                (run.playback, run.ended_at) = (PlaybackState::Ended, now);
                let end = part.clip.end;
                self.schedule_followers(clip, end);
                ActionKind::End
            }
        }
    }

    /// Schedules the clips that start at the end of a clip.
    fn schedule_followers(&mut self, ended: usize, end: ClipEnd) {
        let now = self.now;
        if let ClipEnd::Clip(next) = end {
            self.states[next].due = Some(now);
        }
        for (part, run) in self.clips.iter().zip(&mut self.states) {
            if let ClipStart::After(clip, delay) = part.clip.start
                && clip == ended
            {
                run.due = Some(now + flicks(delay));
            }
        }
    }
}

impl TimedClip {
    fn new(clip: SequenceClip) -> TimedClip {
        let (from, to) = (flicks(clip.from), flicks(clip.to));
        let closed = clip.plays != 1 && clip.repeat != Repeat::PingPong;
        let length = to - from + if closed { flicks(clip.seam) } else { 0 };
        let distance = |at: f64| match clip.rate < 0.0 {
            false => flicks(at) - from,
            true => from + length - flicks(at),
        };
        let mut events: Vec<(i64, u32)> =
            (clip.events.iter()).map(|&(at, number)| (distance(at).clamp(0, length), number)).collect();
        events.sort_by_key(|event| event.0);
        TimedClip {
            length,
            rate: fixed_rate(clip.rate).abs(),
            stream_before: flicks(clip.stream_before),
            events,
            clip,
        }
    }

    /// Returns the flicks from the start until this distance of the animation has been played.
    fn play_time(&self, distance: i128) -> i64 {
        let rate = i128::from(self.rate);
        let time = ((distance << FRACTION_BITS) + rate - 1) / rate;
        time.try_into().unwrap_or(i64::MAX / 4)
    }

    /// `true` if this play goes backwards in ping-pong.
    fn plays_back(&self, play: u32) -> bool {
        self.clip.repeat == Repeat::PingPong && play % 2 == 1
    }

    /// Returns the distance and number of the next event of this play.
    fn next_event(&self, run: &ClipState) -> Option<(i64, u32)> {
        let next = run.events_done as usize;
        if self.plays_back(run.plays_done) {
            let last = self.events.len().checked_sub(next + 1)?;
            let (distance, number) = self.events[last];
            return Some((self.length - distance, number));
        }
        self.events.get(next).copied()
    }

    /// Returns the time and kind of the next action of a clip.
    fn next_action(&self, run: &ClipState, clip: usize) -> Option<(i64, ActionOrder, usize)> {
        if run.playback == PlaybackState::Playing {
            return Some(self.next_play_action(run, clip));
        }
        let due = run.due?;
        if run.is_streaming || self.stream_before == 0 {
            return Some((due, ActionOrder::Start, clip));
        }
        // A clip whose start is not known earlier begins to stream at the start.
        Some((due - self.stream_before, ActionOrder::Stream, clip))
    }

    fn next_play_action(&self, run: &ClipState, clip: usize) -> (i64, ActionOrder, usize) {
        let played = i128::from(run.plays_done) * i128::from(self.length);
        let at = |distance: i64| run.started_at.saturating_add(self.play_time(played + i128::from(distance)));
        let boundary = match run.plays_done + 1 == run.plays {
            true => (at(self.length), ActionOrder::End, clip),
            false => (at(self.length), ActionOrder::Turn, clip),
        };
        let event = self.next_event(run).map(|event| (at(event.0), ActionOrder::Event, clip));
        let next = event.map_or(boundary, |event| event.min(boundary));
        // Restarted, or ended by a signal.
        let due = (run.due).map_or(next, |due| next.min((due, ActionOrder::Start, clip)));
        (run.exit_at).map_or(due, |leave| due.min((leave, ActionOrder::End, clip)))
    }

    /// Returns the position in seconds of animation, `since` flicks after the start.
    fn position(&self, since: i64, run: &ClipState) -> f64 {
        let distance = (i128::from(since) * i128::from(self.rate)) >> FRACTION_BITS;
        let length = i128::from(self.length);
        let most = match run.plays {
            0 => i128::MAX,
            plays => length * i128::from(plays),
        };
        let distance = distance.min(most);
        // The end of a play is shown before the next one begins.
        let play = ((distance - 1).max(0) / length) as u32;
        let within = (distance - length * i128::from(play)) as i64;
        let backwards = (self.clip.rate < 0.0) != self.plays_back(play);
        let from = flicks(self.clip.from);
        seconds(if backwards { from + self.length - within } else { from + within })
    }
}

fn check_clip(clip: &SequenceClip, count: usize) -> Result<(), Error> {
    let wrong = |what: &str| Err(Error::misuse(format!("clip {}: {what}", clip.name)));
    let (start, follows) = match clip.start {
        ClipStart::At(at) => (at, None),
        ClipStart::After(other, delay) => (delay, Some(other)),
        ClipStart::OnSignal(_) | ClipStart::Never => (0.0, None),
    };
    let times = [start, clip.from, clip.to, clip.seam, clip.stream_before];
    let events = clip.events.iter().map(|event| &event.0);
    if !(times.iter().chain(events)).all(|time| (0.0..MAX_SEQUENCE_SECONDS).contains(time)) {
        return wrong("its times must be seconds, not negative and less than a day");
    }
    let shown = (clip.to - clip.from) / clip.rate.abs().min(65536.0);
    if !shown.is_finite() || shown < MIN_PLAY_SECONDS || fixed_rate(clip.rate) == 0 {
        return wrong("it must play for at least a millisecond, at a rate that is a number");
    }
    let next = match clip.end {
        ClipEnd::Clip(next) => Some(next),
        _ => None,
    };
    if follows.into_iter().chain(next).any(|other| other >= count) {
        return wrong("it follows or ends in a clip that does not exist");
    }
    Ok(())
}

#[cfg(test)]
#[path = "sequencer_tests.rs"]
mod tests;
