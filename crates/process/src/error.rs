//! The error of this crate.

/// The reason why geometry could not be processed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The source could not be read.
    #[error(transparent)]
    Scene(#[from] meshreel_scene::Error),
    /// The work was cancelled.
    #[error(transparent)]
    Cancelled(#[from] crate::Cancelled),
    /// The content needs more than the caller allows.
    #[error("{what}: {asked} asked, {allowed} allowed")]
    Limit {
        /// Name of the limited quantity.
        what: String,
        /// The number that the content needs.
        asked: u64,
        /// The largest number allowed.
        allowed: u64,
    },
}
