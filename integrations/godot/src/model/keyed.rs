//! A time that something else keys, frame by frame, such as a track of an animation.
//!
//! A jump in each frame would stop the streaming ahead. So a clock whose time is set again and again is
//! played instead, in each tick with the rate that takes it exactly to the time of that tick. Frames are then
//! decoded ahead in the direction in which the track moves.

use super::settings::Settings;
use meshreel::time::Clock;
use meshreel::{Command, Repeat};

/// The largest rate that is played. Faster changes of the time are jumps.
pub const MAX_KEYED_RATE: f64 = 8.0;

/// The time that was set since the last tick, and whether the clock follows it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KeyedTime {
    set: Option<f64>,
    was_set: bool,
    follows: bool,
}

impl KeyedTime {
    /// Sets the time, in seconds of animation from the first frame. Not a number does nothing.
    pub fn set(&mut self, seconds: f64) {
        if !seconds.is_nan() {
            self.set = Some(seconds.max(0.0));
        }
    }

    /// Returns the time that was set since the last tick.
    pub fn pending(&self) -> Option<f64> {
        self.set
    }

    /// `true` if the time is keyed: the clock follows it.
    pub fn follows(&self) -> bool {
        self.follows
    }

    /// Ends the following, because of a command of another kind; the settings are given to the clock again.
    pub fn release(&mut self, settings: &Settings, give: &mut dyn FnMut(Command)) {
        if std::mem::take(&mut self.follows) {
            give(Command::Repeat(settings.repeat));
            give(Command::Rate(settings.rate));
        }
        *self = KeyedTime::default();
    }

    /// Gives a clock the commands for its next tick of `dt` seconds.
    pub fn tick(&mut self, clock: &Clock, dt: f64, settings: &Settings, give: &mut dyn FnMut(Command)) {
        let was_set = std::mem::replace(&mut self.was_set, self.set.is_some());
        let Some(time) = self.set.take() else {
            if self.follows {
                self.follows = false;
                give(Command::Repeat(settings.repeat));
                give(Command::Rate(settings.rate));
                give(settings.play_command());
            }
            return;
        };
        let rate = if dt > 0.0 { (time - clock.position()) / dt } else { f64::INFINITY };
        if !was_set {
            // One that is set once is a jump.
            give(Command::GoTo(time));
        } else if !self.follows {
            self.follows = true;
            give(Command::Repeat(Repeat::Once));
            give(Command::Rate(0.0));
            // Before `Play`, which would begin anew at the end.
            give(Command::GoTo(time));
            give(Command::Play);
        } else if rate.abs() <= MAX_KEYED_RATE {
            give(Command::Rate(rate));
        } else {
            give(Command::Rate(0.0));
            give(Command::GoTo(time));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel::time::Timeline;

    const DT: f64 = 1.0 / 60.0;

    fn clock(settings: &Settings) -> Clock {
        let times: Vec<f64> = (0..25).map(|frame| f64::from(frame) / 24.0).collect();
        let mut clock = Clock::new(&Timeline::new(times, 0.0));
        settings.commands().for_each(|command| clock.command(command));
        clock.advance(0.0);
        clock
    }

    /// Passes one tick and returns the number of jumps in it.
    fn tick(keyed: &mut KeyedTime, clock: &mut Clock, settings: &Settings) -> bool {
        let mut given = Vec::new();
        keyed.tick(clock, DT, settings, &mut |command| given.push(command));
        given.into_iter().for_each(|command| clock.command(command));
        clock.advance(DT).jumped
    }

    #[test]
    fn one_time_is_a_jump_and_the_settings_go_on() {
        let settings = Settings { playing: true, ..Settings::default() };
        let (mut clock, mut keyed) = (clock(&settings), KeyedTime::default());
        keyed.set(0.5);
        assert!(tick(&mut keyed, &mut clock, &settings));
        assert!((clock.position() - 0.5 - DT).abs() < 1e-8);
        assert!(!tick(&mut keyed, &mut clock, &settings));
        assert!((clock.position() - 0.5 - 2.0 * DT).abs() < 1e-8);
    }

    #[test]
    fn a_keyed_time_is_met_in_each_tick_without_jumps() {
        let settings = Settings::default();
        let (mut clock, mut keyed) = (clock(&settings), KeyedTime::default());
        // A track that speeds up, then goes back, then stands.
        let track = |k: f64| match k {
            k if k < 40.0 => (k / 40.0).powi(2) * 0.9,
            k if k < 80.0 => 0.9 - (k - 40.0) / 50.0,
            _ => 0.1,
        };
        for k in 0..100 {
            let time = track(f64::from(k));
            keyed.set(time);
            let jumped = tick(&mut keyed, &mut clock, &settings);
            assert!((clock.position() - time).abs() < 1e-8, "{k}: {} for {time}", clock.position());
            assert!(!jumped || k < 2, "{k}");
        }
        // No longer keyed: it stands, as its settings say.
        let last = clock.position();
        assert!(!tick(&mut keyed, &mut clock, &settings));
        tick(&mut keyed, &mut clock, &settings);
        assert!(!keyed.follows() && !clock.playing());
        assert_eq!((clock.position(), clock.rate()), (last, 1.0));
    }

    #[test]
    fn a_track_that_starts_again_is_a_jump() {
        let settings = Settings { repeat: Repeat::Loop, ..Settings::default() };
        let (mut clock, mut keyed) = (clock(&settings), KeyedTime::default());
        for time in [0.9, 0.95, 1.0, 0.02, 0.04] {
            keyed.set(time);
            tick(&mut keyed, &mut clock, &settings);
            assert!((clock.position() - time).abs() < 1e-8, "{} for {time}", clock.position());
        }
    }

    #[test]
    fn at_the_end_it_stays_and_comes_back() {
        let settings = Settings::default();
        let (mut clock, mut keyed) = (clock(&settings), KeyedTime::default());
        for time in [0.97, 0.99, 1.0, 1.0, 1.2, 0.98, 0.95] {
            keyed.set(time);
            tick(&mut keyed, &mut clock, &settings);
            assert!((clock.position() - time.min(1.0)).abs() < 1e-8, "{} for {time}", clock.position());
        }
    }

    #[test]
    fn a_command_of_another_kind_ends_it() {
        let settings = Settings { rate: 0.5, ..Settings::default() };
        let (mut clock, mut keyed) = (clock(&settings), KeyedTime::default());
        for time in [0.1, 0.12, 0.14] {
            keyed.set(time);
            tick(&mut keyed, &mut clock, &settings);
        }
        assert!(keyed.follows());
        let mut given = Vec::new();
        keyed.release(&settings, &mut |command| given.push(command));
        assert_eq!(given, [Command::Repeat(Repeat::Once), Command::Rate(0.5)]);
        assert_eq!(keyed, KeyedTime::default());
    }

    #[test]
    fn not_a_number_is_ignored() {
        let mut keyed = KeyedTime::default();
        keyed.set(f64::NAN);
        assert_eq!(keyed.pending(), None);
        keyed.set(-1.0);
        assert_eq!(keyed.pending(), Some(0.0));
    }
}
