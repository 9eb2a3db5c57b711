//! What an instance can be told.

use meshreel::{Command, Error, Repeat};

/// What an instance's clock does at the ends of its range.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_repeat {
    /// Stays at the last frame.
    Once = 0,
    /// Goes on at the other end.
    Loop = 1,
    /// As `MR_REPEAT_LOOP`, and the last frame leads to the first.
    Cycle = 2,
    /// Turns around at both ends.
    PingPong = 3,
}

const REPEATS: [Repeat; 4] = [Repeat::Once, Repeat::Loop, Repeat::Cycle, Repeat::PingPong];

pub(crate) fn repeat_of(number: u32) -> Result<Repeat, Error> {
    REPEATS
        .get(number as usize)
        .copied()
        .ok_or_else(|| Error::misuse(format!("repeat {number} does not exist: it must be an mr_repeat")))
}

/// What an instance is told. Times are seconds of animation from the first frame.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_command_kind {
    /// Goes on, or starts; starts anew after the end.
    Play = 0,
    /// Stays where it is, and keeps being shown.
    Pause = 1,
    /// Back to the start, not shown.
    Stop = 2,
    /// Back to the start, playing or not as before.
    Reset = 3,
    /// Jumps to the time `a`.
    GoTo = 4,
    /// Jumps to the frame `number`.
    GoToFrame = 5,
    /// `a` seconds of animation per second; negative backwards.
    Rate = 6,
    /// `number` is an `mr_repeat`.
    Repeat = 7,
    /// Plays only from the time `a` to the time `b`.
    Range = 8,
    /// Plays only from the frame `number` to the frame `last`, both included.
    Frames = 9,
    /// Starts at the time `a`.
    StartAt = 10,
    /// `a` seconds pass before the position moves.
    Delay = 11,
    /// `a` seconds must be there before playing starts.
    PreRoll = 12,
    /// Streams from the time `a` on as well.
    StreamAt = 13,
    /// Streams where it plays.
    StreamHere = 14,
    /// Between two frames where `number` is not 0, as at first, else the earlier one.
    Interpolate = 15,
    /// Every second frame is left out where `number` is not 0.
    HalfRate = 16,
}

/// A command; what its kind does not name is not looked at.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct mr_command {
    /// An `mr_command_kind`.
    pub kind: u32,
    #[allow(missing_docs)]
    pub number: u32,
    #[allow(missing_docs)]
    pub last: u32,
    /// 0.
    pub reserved: u32,
    #[allow(missing_docs)]
    pub a: f64,
    #[allow(missing_docs)]
    pub b: f64,
}

pub(crate) fn command_of(command: &mr_command) -> Result<Command, Error> {
    let mr_command { kind, number, last, a, b, .. } = *command;
    Ok(match kind {
        0 => Command::Play,
        1 => Command::Pause,
        2 => Command::Stop,
        3 => Command::Reset,
        4 => Command::GoTo(a),
        5 => Command::GoToFrame(number as usize),
        6 => Command::Rate(a),
        7 => Command::Repeat(repeat_of(number)?),
        8 => Command::Range(a, b),
        9 => Command::Frames(number as usize, last as usize),
        10 => Command::StartAt(a),
        11 => Command::Delay(a),
        12 => Command::PreRoll(a),
        13 => Command::StreamAt(a),
        14 => Command::StreamHere,
        15 => Command::Interpolate(number != 0),
        16 => Command::HalfRate(number != 0),
        _ => {
            return Err(Error::misuse(format!(
                "command {kind} does not exist: it must be an mr_command_kind"
            )));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_a_command_or_refused() {
        let command =
            |kind, number| command_of(&mr_command { kind, number, last: 9, a: 1.5, b: 2.5, reserved: 0 });
        for kind in 0..=mr_command_kind::HalfRate as u32 {
            assert!(command(kind, 1).is_ok(), "{kind}");
        }
        assert_eq!(command(mr_command_kind::Range as u32, 0).unwrap(), Command::Range(1.5, 2.5));
        assert_eq!(command(mr_command_kind::Frames as u32, 3).unwrap(), Command::Frames(3, 9));
        let ping_pong = command(mr_command_kind::Repeat as u32, mr_repeat::PingPong as u32);
        assert_eq!(ping_pong.unwrap(), Command::Repeat(Repeat::PingPong));
        assert!(command(mr_command_kind::Repeat as u32, 4).is_err() && command(17, 0).is_err());
    }
}
