//! The error of this crate.

/// Why geometry could not be processed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The source could not be read.
    #[error(transparent)]
    Scene(#[from] meshreel_scene::Error),
    /// Nobody wants it any more.
    #[error(transparent)]
    Cancelled(#[from] crate::Cancelled),
    /// More than the caller allows.
    #[error("{what}: {asked} asked, {allowed} allowed")]
    Limit {
        /// Name of what is limited.
        what: String,
        /// The number that the content needs.
        asked: u64,
        /// The largest number allowed.
        allowed: u64,
    },
}
