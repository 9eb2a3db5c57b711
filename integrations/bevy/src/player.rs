//! The component that plays a file.

use crate::asset::Reel;
use bevy::prelude::*;
use meshreel::{Command, Repeat};

/// Plays a `.reel` file on its entity. Commands take effect in the same frame, or once the file is open.
///
/// Until its file is open nothing is shown; then it stands at its first frame unless told to play.
#[derive(Component, Clone, Debug)]
#[require(Transform, Visibility)]
pub struct ReelPlayer {
    /// The file. If it is changed, the nodes of the file before are despawned. The new one begins at its
    /// start, and plays or not, repeats, and has the rate as before.
    pub reel: Handle<Reel>,
    /// Commands that were not yet given to the clock.
    pub(crate) commands: Vec<Command>,
}

impl ReelPlayer {
    /// Creates a player that stands at the first frame.
    pub fn new(reel: Handle<Reel>) -> ReelPlayer {
        ReelPlayer { reel, commands: vec![Command::Pause] }
    }

    /// Plays as soon as the file is open.
    pub fn playing(self) -> ReelPlayer {
        self.with(Command::Play)
    }

    /// Repeats: a closed cycle is continued smoothly, other files jump to their beginning.
    pub fn looping(self) -> ReelPlayer {
        self.with(Command::Repeat(Repeat::Loop))
    }

    /// Plays with this many seconds of animation per second; negative is backwards.
    pub fn at_rate(self, rate: f64) -> ReelPlayer {
        self.with(Command::Rate(rate))
    }

    /// Begins at this time, in seconds of animation from the first frame.
    pub fn starting_at(self, seconds: f64) -> ReelPlayer {
        self.with(Command::GoTo(seconds))
    }

    /// Begins with a command.
    pub fn with(mut self, command: Command) -> ReelPlayer {
        self.commands.push(command);
        self
    }

    /// Starts or continues; starts again after the end.
    pub fn play(&mut self) {
        self.command(Command::Play);
    }

    /// Stays at its time.
    pub fn pause(&mut self) {
        self.command(Command::Pause);
    }

    /// Jumps to a time, in seconds of animation from the first frame.
    pub fn seek(&mut self, seconds: f64) {
        self.command(Command::GoTo(seconds));
    }

    /// Sets the seconds of animation per second; negative is backwards, 0 stands still.
    pub fn set_rate(&mut self, rate: f64) {
        self.command(Command::Rate(rate));
    }

    /// Sets what happens at the end.
    pub fn set_repeat(&mut self, repeat: Repeat) {
        self.command(Command::Repeat(repeat));
    }

    /// Gives any command to the clock, such as a range of frames, or a time to stream for a later jump.
    pub fn command(&mut self, command: Command) {
        self.commands.push(command);
    }
}
