//! Events: the player's reports about its files and instances.

use super::ids::{FileId, InstanceId};
use crate::Error;

/// Something that happened to a file or an instance; each is reported once.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The file is open and can be played.
    Opened(FileId),
    /// The file is open and has no frames: [`Player::frame`](crate::Player::frame) never returns any. It
    /// holds clips only, which [`Reel::clips`](crate::Reel::clips) returns and
    /// [`ClipCursor::pose`](crate::clip::ClipCursor::pose) samples. Follows [`Event::Opened`].
    NoFrames(FileId),
    /// The file could not be opened. If it was open before and was unloaded while hidden, opening is retried.
    /// If it is a newer one at the path of a file that is open, the older one stays.
    OpenFailed(FileId, Error),
    /// Reads of the file fail. Its instances keep what they show; reads are retried, less and less often.
    ReadFailed(FileId, std::io::Error),
    /// Bytes of the file are damaged. Frames that need them are not shown; others are. Reads are retried as
    /// well.
    Damaged(FileId, Error),
    /// Everything that failed has been read.
    Recovered(FileId),
    /// A newer file has taken the place of the one that was open at this path ([`Options::watch`]).
    /// Everything that was taken from the old one must be taken anew: [`Player::reel`] is another. Instances
    /// remain at their time, cut to the length of the new file, and [`Player::frame`] returns `None` until
    /// its first frame is decoded. Also reported if the file was replaced while it was unloaded.
    ///
    /// [`Options::watch`]: crate::Options::watch
    /// [`Player::reel`]: crate::Player::reel
    /// [`Player::frame`]: crate::Player::frame
    Replaced(FileId),
    /// The heap has no room for this instance: it needs more than the instances before it leave
    /// ([`Player::set_priority`](crate::Player::set_priority)). Until there is room it is not served, and
    /// shows only what happens to be in memory.
    Refused {
        /// The instance that was refused.
        instance: InstanceId,
        /// The bytes of the heap that it needs.
        needed: u64,
        /// The bytes that were left.
        left: u64,
    },
    /// There is room for an instance that was refused.
    Admitted(InstanceId),
}
