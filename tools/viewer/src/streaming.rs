//! A file played as a game plays it: streamed from the disk into a heap of fixed size.

use crate::clock::Clock;
use meshreel::{Command, InstanceId, Limits, Options, Player, Repeat, Shown, Statistics};
use std::path::Path;
use std::time::Instant;

/// A player with one file, and what it says of itself.
pub struct Streaming {
    player: Player,
    instance: Option<InstanceId>,
    pub statistics: Statistics,
    /// Milliseconds of the last ticks.
    pub tick: f64,
    /// What it was told last, and the time that it came to by itself.
    told: Option<Clock>,
    came_to: f64,
}

impl Streaming {
    /// With a heap of so many bytes. Nothing is kept for good, so that streaming is seen at work.
    pub fn new(reel: &Path, heap: usize) -> anyhow::Result<Streaming> {
        let limits = Limits::default();
        let options = Options { heap, resident: 0, file_memory: 4 << 30, limits, ..Options::default() };
        let mut player = Player::try_new(options)?;
        let file = player.open(reel);
        let instance = player.instance(file);
        Ok(Streaming {
            player,
            instance,
            statistics: Statistics::default(),
            tick: 0.0,
            told: None,
            came_to: f64::NAN,
        })
    }

    /// Tells the player what the clock was set to, lets time pass, and sets the clock to where that led.
    pub fn advance(&mut self, clock: &mut Clock, seconds: f64) {
        let Some(instance) = self.instance else { return };
        let told = self.told.replace(*clock);
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
        changed(&|_| self.came_to == clock.time, Command::GoTo(clock.time));
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
        self.came_to = clock.time;
        if let Some(told) = &mut self.told {
            told.time = clock.time;
        }
    }

    /// What is shown now; none before anything of it is in memory.
    pub fn shown(&self) -> Option<Shown> {
        self.player.frame(self.instance?)
    }

    /// Ticks without the frame that should have been shown, and those that waited for a start or a jump.
    pub fn late(&self) -> (u64, u64) {
        self.instance.and_then(|instance| self.player.late_ticks(instance)).unwrap_or_default()
    }
}
