//! What the player says of its files and instances.

use super::ids::{FileId, InstanceId};
use crate::Error;

/// Something that happened to a file or an instance; each is told once.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The file is open and can be played.
    Opened(FileId),
    /// The file is open and has no frames: [`Player::frame`](crate::Player::frame) never shows anything of it.
    /// It holds clips alone, which [`Reel::clips`](crate::Reel::clips) gives and
    /// [`PoseSource::sample`](crate::clip::PoseSource::sample) samples. Follows [`Event::Opened`].
    NoFrames(FileId),
    /// The file could not be opened. Where it was open before and had been given up while hidden, that is
    /// tried again.
    OpenFailed(FileId, Error),
    /// Reads fail. Its instances keep what they show; it is tried again, less and less often.
    ReadFailed(FileId, std::io::Error),
    /// Bytes of it are wrong. Frames that need them are not shown; others are. It is tried again as well.
    Damaged(FileId, Error),
    /// All that failed has been read.
    Recovered(FileId),
    /// The heap has no room for this instance: what it needs at least is more than what those before it leave
    /// ([`Player::set_priority`](crate::Player::set_priority)). It is not served, and shows nothing but what
    /// happens to be in memory, until there is room.
    Refused {
        /// The instance that was refused.
        instance: InstanceId,
        /// Bytes of the heap that it needs.
        needed: u64,
        /// Bytes that were left.
        left: u64,
    },
    /// There is room for an instance that was refused.
    Admitted(InstanceId),
}
