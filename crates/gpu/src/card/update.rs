//! Statistics of an update.

/// The work of an update.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateStatistics {
    /// The number of frames that were uploaded.
    pub frames: u32,
    /// The bytes that were uploaded.
    pub bytes: u64,
    /// The number of dispatches that were recorded.
    pub dispatches: u32,
    /// The number of meshes that needed no work, as they show the same moment as before.
    pub unchanged: u32,
    /// The number of meshes that still show the moment before because their points are not on the card
    /// ([`crate::card::CardReel::decode_with`]).
    pub late: u32,
}
