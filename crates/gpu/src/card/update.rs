//! What was done for a picture.

/// What an update did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Update {
    /// Frames that were uploaded, and bytes in all.
    pub frames: u32,
    /// Bytes that went to the card.
    pub bytes: u64,
    /// Dispatches that were recorded.
    pub dispatches: u32,
    /// Meshes that needed no work: they show what they showed.
    pub unchanged: u32,
    /// Meshes that show what they showed because their points are not on the card ([`crate::card::CardReel::decode_with`]).
    pub late: u32,
}
