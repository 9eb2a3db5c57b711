//! Sequences of clips of caches: the start, the number of plays and the end state of each clip.

use crate::command::repeat_of;
use crate::player::{instance_of, mr_player, player_of};
use crate::pointers::{check_number, free, list, make, shared, text, unique, write_out};
use crate::prefixed::{self, Prefixed};
use crate::reel::mr_reel;
use crate::status::{guard, mr_status};
use meshreel::Error;
use meshreel::time::Timeline;
use meshreel::time::sequencer::{
    Action, ActionKind, ClipEnd, ClipStart, ExitSignal, PlaybackState, SequenceClip, Sequencer, ShownMesh,
};
use std::collections::VecDeque;
use std::ffi::c_char;

/// The start of a clip of a sequence.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_start {
    /// `start_seconds` after the sequence began.
    At = 0,
    /// `start_seconds` after each end of the clip `start_number`.
    After = 1,
    /// At the signal `start_number`.
    On = 2,
    /// Only as the end of another clip.
    Never = 3,
}

/// The way in which a signal ends a clip of a sequence.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_leave {
    /// No signal ends it.
    Never = 0,
    /// The signal `leave_signal` ends it at once.
    AtOnce = 1,
    /// The signal `leave_signal` ends it at the end of the current play.
    AtSeam = 2,
}

/// The mesh that is shown for a clip of a sequence after its end.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_end {
    /// Nothing; its buffers are freed.
    Nothing = 0,
    /// Its last frame, with all its buffers.
    Hold = 1,
    /// The static mesh `end_number`, a number of the caller's; its buffers are freed.
    Mesh = 2,
    /// The clip `end_number`, which starts at the same moment.
    Clip = 3,
}

/// A number that is reported when the position passes a time of the animation.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct mr_sequence_event {
    pub seconds: f64,
    pub number: u32,
    /// Reserved: 0.
    pub reserved: u32,
}

/// A slice of a cache, with the time and manner in which it plays. `mr_sequence_clip_init` writes one of a
/// whole file.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_sequence_clip {
    /// The name, unique in the sequence; UTF-8, ends with a zero.
    pub name: *const c_char,
    /// The events.
    pub events: *const mr_sequence_event,
    /// The number of events.
    pub event_count: usize,
    /// See `mr_start`.
    pub start_seconds: f64,
    /// The beginning of the slice in seconds of animation.
    pub from: f64,
    /// The end of the slice in seconds of animation.
    pub to: f64,
    /// Seconds of animation between the last frame of a closed cycle and its first; 0 for other clips.
    pub seam: f64,
    /// Seconds of animation per second; negative plays from `to` to `from`.
    pub rate: f64,
    /// Seconds before its start at which streaming begins.
    pub stream_before: f64,
    /// The cache, by a number of the caller's.
    pub cache: u32,
    /// An `mr_start`.
    pub start: u32,
    /// See `mr_start`.
    pub start_number: u32,
    /// An `mr_repeat`, used if it plays more than once.
    pub repeat: u32,
    /// The number of plays; 0: until a signal.
    pub plays: u32,
    /// An `mr_leave`.
    pub leave: u32,
    /// See `mr_leave`.
    pub leave_signal: u32,
    /// An `mr_end`.
    pub end: u32,
    /// See `mr_end`.
    pub end_number: u32,
    /// Reserved: 0.
    pub reserved: u32,
}

/// Writes a clip of a whole file that plays once, at the beginning of the sequence, and leaves nothing. Its
/// name is null, and must be set.
///
/// # Safety
/// `reel` is a valid reel; `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_sequence_clip_init(
    reel: *const mr_reel,
    cache: u32,
    out: *mut mr_sequence_clip,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_reel(reel) = unsafe { shared(reel, "the reel") }?;
        let whole = SequenceClip::new("", cache, &Timeline::from_reel(reel));
        let clip = mr_sequence_clip {
            name: std::ptr::null(),
            events: std::ptr::null(),
            event_count: 0,
            start_seconds: 0.0,
            from: whole.from,
            to: whole.to,
            seam: whole.seam,
            rate: whole.rate,
            stream_before: whole.stream_before,
            cache,
            start: mr_start::At as u32,
            start_number: 0,
            repeat: crate::command::mr_repeat::Loop as u32,
            plays: whole.plays,
            leave: mr_leave::Never as u32,
            leave_signal: 0,
            end: mr_end::Nothing as u32,
            end_number: 0,
            reserved: 0,
        };
        // SAFETY: as above.
        unsafe { write_out(out, clip, "the place for the clip") }
    })
}

/// # Safety
/// The name and the events of `given` are valid.
unsafe fn clip_of(given: &mr_sequence_clip) -> Result<SequenceClip, Error> {
    let unknown =
        |what: &str, number: u32| Error::misuse(format!("{what} {number} of a clip does not exist"));
    // SAFETY: the caller's promise.
    let name = unsafe { text(given.name, "the name of a clip") }?;
    // SAFETY: as above.
    let events = unsafe { list(given.events, given.event_count, "the events of a clip") }?;
    let start = match given.start {
        0 => ClipStart::At(given.start_seconds),
        1 => ClipStart::After(given.start_number as usize, given.start_seconds),
        2 => ClipStart::OnSignal(given.start_number),
        3 => ClipStart::Never,
        other => return Err(unknown("start", other)),
    };
    let end = match given.end {
        0 => ClipEnd::Nothing,
        1 => ClipEnd::Hold,
        2 => ClipEnd::Mesh(given.end_number),
        3 => ClipEnd::Clip(given.end_number as usize),
        other => return Err(unknown("end", other)),
    };
    let clip = SequenceClip::new(name, given.cache, &Timeline::new([0.0], 0.0))
        .with_start(start)
        .with_slice(given.from, given.to)
        .with_seam(given.seam)
        .with_rate(given.rate)
        .with_repeat(repeat_of(given.repeat)?)
        .with_plays(given.plays)
        .with_stream_before(given.stream_before)
        .with_end(end)
        .with_events(events.iter().map(|event| (event.seconds, event.number)).collect());
    Ok(match given.leave {
        0 => clip,
        1 => clip.with_exit(ExitSignal::AtOnce(given.leave_signal)),
        2 => clip.with_exit(ExitSignal::AtSeam(given.leave_signal)),
        other => return Err(unknown("leave", other)),
    })
}

/// A sequence of clips: a state machine that does not read files. One thread at a time uses it.
pub struct mr_sequencer {
    sequencer: Sequencer,
    /// Actions of the last tick or jump that have not been asked for yet.
    actions: VecDeque<Action>,
}

/// Creates a sequence, at its beginning. Names must be unique, times finite and not negative.
///
/// # Safety
/// `clips` has `count` clips with their names and events; `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_sequencer_new(
    clips: *const mr_sequence_clip,
    count: usize,
    out: *mut *mut mr_sequencer,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let given = unsafe { list(clips, count, "the clips") }?;
        // SAFETY: as above.
        let clips = given.iter().map(|clip| unsafe { clip_of(clip) }).collect::<Result<_, _>>()?;
        let new = || Ok(mr_sequencer { sequencer: Sequencer::new(clips)?, actions: VecDeque::new() });
        // SAFETY: as above.
        unsafe { make(out, new) }
    })
}

/// Frees a sequence. Null is allowed.
///
/// # Safety
/// `sequencer` is null, or has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_sequencer_free(sequencer: *mut mr_sequencer) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(sequencer) })
}

/// # Safety
/// Null, or a sequence that is not used otherwise meanwhile.
unsafe fn sequencer_mut<'a>(sequencer: *mut mr_sequencer) -> Result<&'a mut mr_sequencer, Error> {
    // SAFETY: the caller's promise.
    unsafe { unique(sequencer, "the sequence") }
}

/// Advances a sequence by `seconds`; `mr_sequencer_next` then returns the actions. Earlier actions that were
/// not asked for are lost.
///
/// # Safety
/// `sequencer` is a valid sequence.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_sequencer_tick(sequencer: *mut mr_sequencer, seconds: f64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_sequencer { sequencer, actions } = unsafe { sequencer_mut(sequencer) }?;
        actions.clear();
        sequencer.tick(seconds, |action| actions.push_back(action));
        Ok(())
    })
}

/// Jumps to a time of the sequence, in seconds; `mr_sequencer_next` then returns the necessary actions.
/// Earlier signals are forgotten.
///
/// # Safety
/// `sequencer` is a valid sequence.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_sequencer_go_to(sequencer: *mut mr_sequencer, seconds: f64) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_sequencer { sequencer, actions } = unsafe { sequencer_mut(sequencer) }?;
        actions.clear();
        sequencer.go_to(seconds, |action| actions.push_back(action));
        Ok(())
    })
}

/// Gives a signal: starts the clips that wait for it, and ends those that leave on it. The next tick reports
/// the actions.
///
/// # Safety
/// `sequencer` is a valid sequence.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_sequencer_signal(sequencer: *mut mr_sequencer, signal: u32) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { sequencer_mut(sequencer) }?.sequencer.signal(signal);
        Ok(())
    })
}

/// The kinds of actions.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_action_kind {
    /// There is no further action.
    None = 0,
    /// The static data and first frames of the clip will be needed.
    Stream = 1,
    /// The clip begins to play.
    Start = 2,
    /// The clip begins to play again; `number` is the number of this play, counted from 0.
    Turn = 3,
    /// The position passed the event `number`.
    Event = 4,
    /// The clip is over.
    End = 5,
    /// After a jump: the clip is as if it had never played.
    Remove = 6,
}

/// An action of a sequence.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct mr_action {
    /// Seconds after the sequence began.
    pub at: f64,
    /// Seconds from the beginning of the tick to the action. Negative after a jump to a later time: the clip
    /// has been playing for that long.
    pub delay: f64,
    /// An `mr_action_kind`.
    pub kind: u32,
    /// The number of the clip.
    pub clip: u32,
    /// See `mr_action_kind`.
    pub number: u32,
    /// Reserved: 0.
    pub reserved: u32,
}

fn action_to_c(action: &Action) -> mr_action {
    use mr_action_kind as kind;
    let (kind, number) = match action.kind {
        ActionKind::Stream => (kind::Stream, 0),
        ActionKind::Start => (kind::Start, 0),
        ActionKind::Turn(play) => (kind::Turn, play),
        ActionKind::Event(number) => (kind::Event, number),
        ActionKind::End => (kind::End, 0),
        ActionKind::Remove => (kind::Remove, 0),
        _ => (kind::None, 0),
    };
    mr_action {
        at: action.at,
        delay: action.delay,
        kind: kind as u32,
        clip: action.clip as u32,
        number,
        reserved: 0,
    }
}

/// Writes the next action, in order; its kind is `MR_ACTION_KIND_NONE` if there is none.
///
/// # Safety
/// `sequencer` is a valid sequence; `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_sequencer_next(sequencer: *mut mr_sequencer, out: *mut mr_action) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { write_out(out, mr_action::default(), "the place for the action") }?;
        // SAFETY: as above.
        if let Some(action) = unsafe { sequencer_mut(sequencer) }?.actions.pop_front() {
            // SAFETY: as above.
            unsafe { write_out(out, action_to_c(&action), "the place for the action") }?;
        }
        Ok(())
    })
}

/// Gives the instance that plays a clip the commands of an action. Call it before the player's tick.
///
/// # Safety
/// `sequencer` is a valid sequence, `action` is valid for one read; `player` is a valid player.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_sequencer_apply(
    sequencer: *const mr_sequencer,
    action: *const mr_action,
    player: *mut mr_player,
    instance: u64,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let sequencer = &unsafe { shared(sequencer, "the sequence") }?.sequencer;
        // SAFETY: as above.
        let action = unsafe { shared(action, "the action") }?;
        // SAFETY: as above.
        let player = &mut unsafe { player_of(player) }?.player;
        check_number(action.clip as usize, sequencer.len(), "clip")?;
        let kind = match action.kind {
            0 => return Ok(()),
            1 => ActionKind::Stream,
            2 => ActionKind::Start,
            3 => ActionKind::Turn(action.number),
            4 => ActionKind::Event(action.number),
            5 => ActionKind::End,
            6 => ActionKind::Remove,
            other => return Err(Error::misuse(format!("action {other}: it must be an mr_action_kind"))),
        };
        let clip = action.clip as usize;
        let id = instance_of(player, instance)?;
        let action = Action { clip, at: action.at, delay: action.delay, kind };
        action.commands(sequencer.clip(clip)).for_each(|command| player.command(id, command));
        Ok(())
    })
}

/// The playback state of a clip of a sequence.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_stage {
    /// Not started yet, or reset by a jump.
    Idle = 0,
    /// Not started yet, but streaming.
    Streaming = 1,
    /// Playing.
    Playing = 2,
    /// Over.
    Ended = 3,
}

/// The current state of a clip of a sequence.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_sequence_state {
    /// The size of this structure in bytes.
    pub size: usize,
    /// Seconds since the sequence began.
    pub time: f64,
    /// The position in seconds of animation; while the clip does not play, the one at which it would begin.
    pub position: f64,
    /// An `mr_stage`.
    pub stage: u32,
    /// 1 if its cache is shown.
    pub cache_is_shown: u32,
    /// The static mesh that is shown, a number of the caller's, or `MR_NONE`.
    pub mesh: u32,
    /// 1 if its buffers are in use.
    pub holds_memory: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_sequence_state {}

/// Writes the current state of a clip of a sequence.
///
/// # Safety
/// `sequencer` is a valid sequence; `out` is as large as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_sequencer_state(
    sequencer: *const mr_sequencer,
    clip: u32,
    out: *mut mr_sequence_state,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let sequencer = &unsafe { shared(sequencer, "the sequence") }?.sequencer;
        check_number(clip as usize, sequencer.len(), "clip")?;
        let clip = clip as usize;
        let shown = sequencer.shown_mesh(clip);
        let state = mr_sequence_state {
            size: 0,
            time: sequencer.time(),
            position: sequencer.position(clip),
            stage: match sequencer.playback_state(clip) {
                PlaybackState::Idle => mr_stage::Idle,
                PlaybackState::Streaming => mr_stage::Streaming,
                PlaybackState::Playing => mr_stage::Playing,
                PlaybackState::Ended => mr_stage::Ended,
                _ => mr_stage::Idle,
            } as u32,
            cache_is_shown: u32::from(shown == ShownMesh::Cache),
            mesh: match shown {
                ShownMesh::Mesh(mesh) => mesh,
                _ => crate::types::MR_NONE,
            },
            holds_memory: u32::from(sequencer.holds_memory(clip)),
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, state, "the state") }
    })
}
