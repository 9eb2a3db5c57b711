//! The error of this crate.

use std::path::PathBuf;

/// The reason why a compile failed. Five classes, the same in every crate of the project; a cancelled compile
/// has none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The source could not be read.
    #[error(transparent)]
    Scene(#[from] meshreel_scene::Error),
    /// The target could not be written.
    #[error(transparent)]
    Format(#[from] meshreel_format::Error),
    /// A plan or a part that this crate wrote earlier is damaged, or does not belong to the content.
    #[error("damaged, or of something else: {what}")]
    Malformed {
        /// The mismatch.
        what: String,
    },
    /// The content cannot be kept as asked.
    #[error("not supported: {what}")]
    Unsupported {
        /// The thing that cannot be kept, and what to do instead.
        what: String,
    },
    /// The content needs more than a file can hold.
    #[error("{what}: {asked} asked, {allowed} allowed")]
    Limit {
        /// Name of the limited quantity.
        what: String,
        /// The number that the content needs.
        asked: u64,
        /// The largest number allowed.
        allowed: u64,
    },
    /// There are remarks, and `--strict` is given.
    #[error("--strict and {} remark(s), the first: {}", remarks.len(), remarks.first().map(ToString::to_string).unwrap_or_default())]
    Strict {
        /// All of them.
        remarks: Vec<meshreel_scene::Remark>,
    },
    /// Decoded values exceed the tolerance. Nothing was written.
    #[error("promise not kept: {what} (this is a defect of meshreel, please report it)")]
    Promise {
        /// The mesh, frame and measure.
        what: String,
        /// The target that was left alone.
        target: PathBuf,
    },
    /// The finished file does not open, or does not decode; it never got its name.
    #[error("the finished file was refused when it was opened again, {} is as it was: {source}", target.display())]
    Refused {
        /// The error of the caller's [`crate::Inspect`].
        source: Box<dyn std::error::Error + Send + Sync>,
        /// The target that was left alone.
        target: PathBuf,
    },
    /// The caller cancelled the compile ([`crate::Progress::cancellation`]); the target is unchanged.
    #[error("cancelled")]
    Cancelled,
    /// The call is wrong, not the content.
    #[error("{what}")]
    Misuse {
        /// The mistake, and what to do instead.
        what: String,
    },
}

impl From<meshreel_options::Error> for Error {
    fn from(error: meshreel_options::Error) -> Error {
        Error::misuse(error.to_string())
    }
}

impl From<meshreel_process::Error> for Error {
    fn from(error: meshreel_process::Error) -> Error {
        match error {
            meshreel_process::Error::Scene(error) => Error::Scene(error),
            meshreel_process::Error::Cancelled(cancelled) => cancelled.into(),
            meshreel_process::Error::Limit { what, asked, allowed } => Error::Limit { what, asked, allowed },
            other => Error::Unsupported { what: other.to_string() },
        }
    }
}

impl From<meshreel_process::Cancelled> for Error {
    fn from(_: meshreel_process::Cancelled) -> Error {
        Error::Cancelled
    }
}

impl Error {
    /// Returns a [`Error::Misuse`].
    pub fn misuse(what: impl Into<String>) -> Error {
        Error::Misuse { what: what.into() }
    }
}
