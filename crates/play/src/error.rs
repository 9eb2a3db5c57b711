//! The error of the runtime: five classes, the same in every crate of the project.

use meshreel_codec::Corrupt;
use std::path::{Path, PathBuf};

/// Why a file could not be opened or a frame not be decoded. Bytes that came from no file have the path
/// "(memory)".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system said no.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done, and what to do about it.
        what: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The bytes break the rules of the format.
    #[error("{}: damaged or not a .reel file: {what}, at {at}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// Where: frame, mesh and stream, or a byte offset.
        at: String,
    },
    /// Valid, but from a newer writer or with something that this build leaves out.
    #[error("{}: not supported: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What, by name and id.
        what: String,
    },
    /// More than [`crate::Limits`] allow.
    #[error("{}: {what}: {asked} asked, {allowed} allowed", path.display())]
    Limit {
        /// The file.
        path: PathBuf,
        /// Which limit.
        what: String,
        /// What the file wants.
        asked: u64,
        /// What is allowed.
        allowed: u64,
    },
    /// The caller is wrong, not the file.
    #[error("{what}")]
    Misuse {
        /// What to do instead.
        what: String,
    },
}

impl Error {
    /// Wrong bytes of `path`.
    pub(crate) fn malformed(path: &Path, what: impl Into<String>, at: impl Into<String>) -> Error {
        Error::Malformed { path: path.into(), what: what.into(), at: at.into() }
    }
    /// A read of `path` that failed.
    pub(crate) fn io(path: &Path, what: impl Into<String>, source: std::io::Error) -> Error {
        Error::Io { path: path.into(), what: what.into(), source }
    }
    /// What a decoder of `codec` said about the bytes at `at`.
    pub(crate) fn corrupt(path: &Path, corrupt: Corrupt, at: impl Into<String>) -> Error {
        Error::malformed(path, corrupt.0, at)
    }
    pub(crate) fn unsupported(path: &Path, what: impl Into<String>) -> Error {
        Error::Unsupported { path: path.into(), what: what.into() }
    }
    pub(crate) fn limit(path: &Path, what: impl Into<String>, asked: u64, allowed: u64) -> Error {
        Error::Limit { path: path.into(), what: what.into(), asked, allowed }
    }
    pub(crate) fn misuse(what: impl Into<String>) -> Error {
        Error::Misuse { what: what.into() }
    }
}

impl From<meshreel_format::Error> for Error {
    fn from(error: meshreel_format::Error) -> Error {
        use meshreel_format::Error as F;
        match error {
            F::Io { path, what, source } => Error::Io { path, what, source },
            F::Malformed { path, what, at } => Error::Malformed { path, what, at },
            F::Unsupported { path, what } => Error::Unsupported { path, what },
            F::Limit { path, what, asked, allowed } => Error::Limit { path, what, asked, allowed },
            F::Misuse { what } => Error::Misuse { what },
            // The container's error may grow classes; whatever they are, this build does not know them.
            other => Error::Unsupported { path: PathBuf::new(), what: other.to_string() },
        }
    }
}
