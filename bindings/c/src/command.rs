//! Commands for instances.

use meshreel::{Command, Error, Repeat};

/// The behaviour of an instance's clock at the ends of its range.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_repeat {
    /// Stays at the last frame; played backwards, at the first.
    Once = 0,
    /// Continues at the other end.
    Loop = 1,
    /// As `MR_REPEAT_LOOP`, and the last frame is blended into the first.
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

/// The kinds of commands. Times are seconds of animation from the first frame.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_command_kind {
    /// Starts or continues; starts again after the end.
    Play = 0,
    /// Stays at its position, and remains visible.
    Pause = 1,
    /// Goes back to the start, and is hidden.
    Stop = 2,
    /// Goes back to the start, playing or not as before.
    Reset = 3,
    /// Jumps to the time `a`.
    GoTo = 4,
    /// Jumps to the frame `number`.
    GoToFrame = 5,
    /// Sets the rate to `a` seconds of animation per second; negative plays backwards.
    Rate = 6,
    /// Sets the behaviour at the ends to `number`, an `mr_repeat`.
    Repeat = 7,
    /// Plays only from the time `a` to the time `b`.
    Range = 8,
    /// Plays only from the frame `number` to the frame `last`, both included.
    Frames = 9,
    /// Makes the time `a` the start.
    StartAt = 10,
    /// Waits `a` seconds before the position moves.
    Delay = 11,
    /// Waits until `a` seconds of animation are in memory before playing starts.
    PreRoll = 12,
    /// Streams from the time `a` on as well, so that a later jump finds its frames.
    StreamAt = 13,
    /// Streams at the position only.
    StreamHere = 14,
    /// Interpolates between two frames if `number` is not 0 (the default); otherwise shows the earlier one.
    Interpolate = 15,
    /// Shows every frame (`number` 0 or 1), every second one (2), or only keys, which are every 16th (16),
    /// and the last; the rest is neither read nor decoded.
    FrameStep = 16,
}

/// A command; members that its kind does not mention are ignored.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct mr_command {
    /// An `mr_command_kind`.
    pub kind: u32,
    #[allow(missing_docs)]
    pub number: u32,
    #[allow(missing_docs)]
    pub last: u32,
    /// Reserved: 0.
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
        16 => Command::FrameStep(number),
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
        for kind in 0..=mr_command_kind::FrameStep as u32 {
            assert!(command(kind, 1).is_ok(), "{kind}");
        }
        assert_eq!(command(mr_command_kind::Range as u32, 0).unwrap(), Command::Range(1.5, 2.5));
        assert_eq!(command(mr_command_kind::Frames as u32, 3).unwrap(), Command::Frames(3, 9));
        let ping_pong = command(mr_command_kind::Repeat as u32, mr_repeat::PingPong as u32);
        assert_eq!(ping_pong.unwrap(), Command::Repeat(Repeat::PingPong));
        assert!(command(mr_command_kind::Repeat as u32, 4).is_err() && command(17, 0).is_err());
    }
}
