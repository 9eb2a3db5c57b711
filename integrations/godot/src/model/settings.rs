//! The settings of an instance, and the commands that give them to its clock.

use meshreel::{Command, Repeat};

/// Seconds after any file's end: the end of a range that is not limited.
const NO_END: f64 = 1e9;

/// The settings of an instance, as its properties say them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// `true` if it plays as soon as its file is open; else it stands at its start.
    pub playing: bool,
    /// Seconds of animation per second; negative is backwards, 0 stands still.
    pub rate: f64,
    /// What happens at the ends of the range.
    pub repeat: Repeat,
    /// The time at which it begins, in seconds from the first frame; `None` for the beginning of the range
    /// or, played backwards, its end.
    pub start: Option<f64>,
    /// The first and the last time that is played; `None` for the whole file.
    pub range: Option<[f64; 2]>,
    /// `true` if frames are blended.
    pub interpolate: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            playing: false,
            rate: 1.0,
            repeat: Repeat::Once,
            start: None,
            range: None,
            interpolate: true,
        }
    }
}

impl Settings {
    /// Returns the command for the range.
    pub fn range_command(&self) -> Command {
        let [from, to] = self.range.unwrap_or([0.0, NO_END]);
        Command::Range(from, to)
    }

    /// Returns the command for the start: where none is set, that of a clock which was given none.
    pub fn start_command(&self) -> Command {
        let [from, to] = self.range.unwrap_or([0.0, NO_END]);
        let first = if self.rate < 0.0 { to } else { from };
        Command::StartAt(self.start.unwrap_or(first))
    }

    /// Returns the command that plays or stands.
    pub fn play_command(&self) -> Command {
        if self.playing { Command::Play } else { Command::Pause }
    }

    /// Returns the commands that a new clock needs, in order.
    pub fn commands(&self) -> impl Iterator<Item = Command> {
        let settings = [
            Command::Repeat(self.repeat),
            Command::Rate(self.rate),
            self.range_command(),
            Command::Interpolate(self.interpolate),
        ];
        let start = self.start.map(Command::StartAt);
        settings.into_iter().chain(start).chain([self.play_command()])
    }
}

/// Returns the range of two times as a property has them; `None` for an empty one, which stands for the whole
/// file.
pub fn playable_range(from: f64, to: f64) -> Option<[f64; 2]> {
    (from < to).then_some([from.max(0.0), to])
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel::time::Clock;
    use meshreel::time::Timeline;

    fn clock(settings: &Settings) -> Clock {
        let times: Vec<f64> = (0..11).map(|frame| f64::from(frame) / 10.0).collect();
        let mut clock = Clock::new(&Timeline::new(times, 0.0));
        settings.commands().for_each(|command| clock.command(command));
        clock.advance(0.0);
        clock
    }

    #[test]
    fn a_new_clock_stands_at_its_start() {
        let clock = clock(&Settings { start: Some(0.5), ..Settings::default() });
        assert!(!clock.playing() && !clock.stopped());
        assert_eq!(clock.position(), 0.5);
    }

    #[test]
    fn a_new_clock_plays_in_its_range() {
        let settings = Settings {
            playing: true,
            rate: 2.0,
            repeat: Repeat::Loop,
            range: playable_range(0.2, 0.6),
            ..Settings::default()
        };
        let mut clock = clock(&settings);
        assert_eq!(clock.position(), 0.2);
        clock.advance(0.1);
        assert!((clock.position() - 0.4).abs() < 1e-9);
        clock.advance(0.15);
        assert!((clock.position() - 0.3).abs() < 1e-9);
    }

    #[test]
    fn backwards_begins_at_the_end() {
        let clock = clock(&Settings { playing: true, rate: -1.0, ..Settings::default() });
        assert_eq!(clock.position(), 1.0);
    }

    #[test]
    fn a_start_that_is_taken_back_is_the_beginning_again() {
        let mut settings =
            Settings { start: Some(0.5), range: playable_range(0.2, 0.6), ..Settings::default() };
        let mut clock = clock(&settings);
        settings.start = None;
        for (rate, start) in [(1.0, 0.2), (-1.0, 0.6)] {
            settings.rate = rate;
            clock.command(settings.start_command());
            clock.command(Command::Reset);
            clock.advance(0.0);
            assert_eq!(clock.position(), start);
        }
    }

    #[test]
    fn an_empty_range_is_the_whole_file() {
        assert_eq!(playable_range(0.0, 0.0), None);
        assert_eq!(playable_range(2.0, 1.0), None);
        assert_eq!(playable_range(f64::NAN, 1.0), None);
        assert_eq!(playable_range(-1.0, 1.0), Some([0.0, 1.0]));
        assert_eq!(Settings::default().range_command(), Command::Range(0.0, NO_END));
    }
}
