//! Plays a file as a game does: streamed from disk into a heap of fixed size.

use crate::clock::Clock;
use meshreel::stream::Statistics;
use meshreel::{Command, InstanceId, Limits, Options, Player, Repeat, ShownFrames};
use std::path::Path;
use std::time::Instant;

/// A player with one file, and its statistics.
pub struct Streaming {
    player: Player,
    /// Bytes of the heap.
    pub heap: usize,
    instance: Option<InstanceId>,
    pub statistics: Statistics,
    /// Smoothed duration of the last ticks in milliseconds.
    pub tick: f64,
    /// The clock that was last sent to the player; `player_time` is the time that it reached by itself.
    sent_clock: Option<Clock>,
    player_time: f64,
}

impl Streaming {
    /// Opens the file with a heap of this size in bytes. Nothing is kept resident, so that streaming can be
    /// observed.
    pub fn new(reel: &Path, heap: usize) -> anyhow::Result<Streaming> {
        let limits = Limits::default();
        let options =
            Options::default().with_heap(heap).with_resident(0).with_file_memory(4 << 30).with_limits(limits);
        let mut player = Player::new(options)?;
        let file = player.open(reel);
        let instance = player.add_instance(file);
        Ok(Streaming {
            player,
            heap,
            instance,
            statistics: Statistics::default(),
            tick: 0.0,
            sent_clock: None,
            player_time: f64::NAN,
        })
    }

    /// Sends changes of the clock to the player, advances it, and sets the clock to its time.
    pub fn advance(&mut self, clock: &mut Clock, seconds: f64) {
        let Some(instance) = self.instance else { return };
        let told = self.sent_clock.replace(*clock);
        let mut changed = |is: &dyn Fn(&Clock) -> bool, command: Command| {
            if told.as_ref().is_none_or(|told| !is(told)) {
                self.player.command(instance, command);
            }
        };
        let repeat = if clock.repeats { Repeat::Loop } else { Repeat::Once };
        changed(&|told| told.repeats == clock.repeats, Command::Repeat(repeat));
        changed(&|told| told.range == clock.range, Command::Frames(clock.range[0], clock.range[1]));
        changed(&|told| told.rate == clock.rate, Command::Rate(clock.rate));
        changed(&|told| told.interpolates == clock.interpolates, Command::Interpolate(clock.interpolates));
        changed(&|_| self.player_time == clock.time, Command::GoTo(clock.time));
        let command = if clock.playing { Command::Play } else { Command::Pause };
        changed(&|told| told.playing == clock.playing, command);
        let since = Instant::now();
        self.player.tick(seconds);
        self.tick += (since.elapsed().as_secs_f64() * 1e3 - self.tick) * 0.1;
        self.player.statistics(&mut self.statistics);
        if let Some(own) = self.player.clock(instance) {
            clock.time = own.position();
            clock.playing &= !own.ended();
        }
        self.player_time = clock.time;
        if let Some(told) = &mut self.sent_clock {
            told.time = clock.time;
        }
    }

    /// Returns the current frames; `None` before anything is in memory.
    pub fn shown(&self) -> Option<ShownFrames> {
        self.player.frame(self.instance?)
    }

    /// Returns the number of ticks that missed their frame, and of those that waited for a start or a jump.
    pub fn missed_ticks(&self) -> (u64, u64) {
        self.instance.and_then(|instance| self.player.late_ticks(instance)).unwrap_or_default()
    }
}
