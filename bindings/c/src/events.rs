//! Events of a player about its files and instances, and its counters: plain structures provided by the
//! caller.

use crate::player::{mr_player, player_of};
use crate::prefixed::{self, Prefixed};
use crate::status::{guard, mr_status, status_of};
use meshreel::stream::StreamCounters;
use meshreel::{Error, Event, FileId, Player};
use std::ffi::c_char;
use std::path::Path;

/// The kinds of events.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_event_kind {
    /// There is no further event.
    None = 0,
    /// The file is open and can be played.
    Opened = 1,
    /// The file is open and has no frames, only clips.
    NoFrames = 2,
    /// The file could not be opened; `status` is the class of the error.
    OpenFailed = 3,
    /// Reads of the file fail. Its instances keep what they show; reads are retried.
    ReadFailed = 4,
    /// Bytes of the file are damaged. Frames that need them are not shown; others are.
    Damaged = 5,
    /// Everything that failed has been read.
    Recovered = 6,
    /// The heap has no room for the instance.
    Refused = 7,
    /// There is room for an instance that was refused.
    Admitted = 8,
    /// A newer file has taken the place of the one that was open at this path (`watch` of the options). What
    /// was taken from the old one must be taken anew; there is no frame until the first of the new file is
    /// decoded.
    Replaced = 9,
}

/// An event; each is reported once.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mr_event {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The file; 0 for events of an instance.
    pub file: u64,
    /// The instance that was refused or admitted, or 0.
    pub instance: u64,
    /// The bytes of the heap that a refused instance needs.
    pub needed: u64,
    /// The bytes of the heap that were left for it.
    pub left: u64,
    /// An `mr_event_kind`.
    pub kind: u32,
    /// The class of the error, an `mr_status`; `MR_STATUS_OK` if there is none.
    pub status: u32,
    /// The error message in UTF-8, ending with a zero; cut if it is longer.
    pub text: [c_char; 256],
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_event {}

impl mr_event {
    fn new(kind: mr_event_kind, file: Option<FileId>) -> mr_event {
        mr_event {
            size: 0,
            file: file.map_or(0, FileId::to_bits),
            instance: 0,
            needed: 0,
            left: 0,
            kind: kind as u32,
            status: mr_status::Ok as u32,
            text: [0; 256],
        }
    }

    fn with_error(mut self, status: mr_status, text: &str) -> mr_event {
        self.status = status as u32;
        let mut end = text.len().min(self.text.len() - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for (out, byte) in self.text.iter_mut().zip(&text.as_bytes()[..end]) {
            *out = *byte as c_char;
        }
        self
    }
}

fn event_to_c(event: Option<Event>, player: &Player) -> mr_event {
    use mr_event_kind as kind;
    let failed = |kind, file, error: &Error| {
        mr_event::new(kind, Some(file)).with_error(status_of(error), &error.to_string())
    };
    match event {
        None => mr_event::new(kind::None, None),
        Some(Event::Opened(file)) => mr_event::new(kind::Opened, Some(file)),
        Some(Event::NoFrames(file)) => mr_event::new(kind::NoFrames, Some(file)),
        Some(Event::OpenFailed(file, error)) => failed(kind::OpenFailed, file, &error),
        Some(Event::ReadFailed(file, source)) => {
            let path = player.name(file).unwrap_or(Path::new("a closed file")).into();
            failed(kind::ReadFailed, file, &Error::Io { path, what: "could not be read".into(), source })
        }
        Some(Event::Damaged(file, error)) => failed(kind::Damaged, file, &error),
        Some(Event::Recovered(file)) => mr_event::new(kind::Recovered, Some(file)),
        Some(Event::Replaced(file)) => mr_event::new(kind::Replaced, Some(file)),
        Some(Event::Refused { instance, needed, left }) => {
            let event = mr_event::new(kind::Refused, None);
            mr_event { instance: instance.to_bits(), needed, left, ..event }
                .with_error(mr_status::Limit, "the heap has no room for this instance")
        }
        Some(Event::Admitted(instance)) => {
            mr_event { instance: instance.to_bits(), ..mr_event::new(kind::Admitted, None) }
        }
        // An event of a runtime that is newer than this interface.
        Some(_) => mr_event::new(kind::None, None),
    }
}

/// Writes the next event; its kind is `MR_EVENT_KIND_NONE` if there is none.
///
/// # Safety
/// `player` is a valid player; `out` is as large as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_event(player: *mut mr_player, out: *mut mr_event) -> mr_status {
    guard(|| {
        // Written once before, so that no event is lost if writing fails.
        // SAFETY: the caller's promise.
        unsafe { prefixed::write(out, mr_event::new(mr_event_kind::None, None), "the event") }?;
        // SAFETY: as above.
        let player = &mut unsafe { player_of(player) }?.player;
        let event = player.next_event();
        // SAFETY: as above.
        unsafe { prefixed::write(out, event_to_c(event, player), "the event") }
    })
}

/// Counters of a player.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_statistics {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The number of ticks so far.
    pub ticks: u64,
    /// The bytes of the heap.
    pub heap_bytes: u64,
    /// The bytes of the heap that are not free.
    pub heap_used: u64,
    /// The bytes of the heap that are wanted or in use.
    pub heap_held: u64,
    /// The largest number of bytes of the heap that were not free at once.
    pub heap_peak: u64,
    /// Seconds that all threads together have spent decoding.
    pub decode_seconds: f64,
    /// The number of instances.
    pub instances: u32,
    /// The number of instances for which the heap has no room.
    pub refused: u32,
    /// The number of reads and units in flight.
    pub in_flight: u32,
    /// The number of open files.
    pub streams: u32,
    /// Ticks of instances without the frame that should have been shown, summed over all open files.
    pub missed: u64,
    /// Bytes requested from storage, for all open files.
    pub bytes_read: u64,
    /// The number of decoded frames of all open files.
    pub frames_decoded: u64,
    /// The number of failed reads of all open files.
    pub read_errors: u64,
    /// The number of units with damaged bytes, of all open files.
    pub damaged: u64,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_statistics {}

/// Writes the counters of a player.
///
/// # Safety
/// `player` is a valid player; `out` is as large as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_player_statistics(player: *mut mr_player, out: *mut mr_statistics) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_player { player, statistics } = unsafe { player_of(player) }?;
        player.statistics(statistics);
        let sum = |of: fn(&StreamCounters) -> u64| statistics.streams.iter().map(|s| of(&s.counters)).sum();
        let info = mr_statistics {
            size: 0,
            ticks: statistics.ticks,
            heap_bytes: statistics.heap_bytes,
            heap_used: statistics.heap_used,
            heap_held: statistics.heap_held,
            heap_peak: statistics.heap.peak_bytes,
            decode_seconds: statistics.decode_seconds,
            instances: statistics.instances as u32,
            refused: statistics.refused as u32,
            in_flight: statistics.in_flight,
            streams: statistics.streams.len() as u32,
            missed: sum(|c| c.missed),
            bytes_read: sum(|c| c.bytes_read),
            frames_decoded: sum(|c| c.frames_decoded),
            read_errors: sum(|c| c.read_errors),
            damaged: sum(|c| c.damaged),
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the statistics") }
    })
}
