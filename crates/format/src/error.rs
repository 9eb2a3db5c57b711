//! The error type for reading, writing and playing files, of this crate and of the runtime that reads through
//! it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The reason why a file could not be read or written, or a frame of it not decoded. There are five classes,
/// the same in every crate of the project. Bytes that came from no file have the path "(memory)".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system reported an error.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// The file that the user named.
        path: PathBuf,
        /// The operation that failed, and what the user can do about it.
        what: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The bytes break the rules of the format.
    #[error("{}: damaged or not a .reel file: {what}, at {at}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// A description of the fault.
        what: String,
        /// The place: a byte offset, a chunk, or a frame with its mesh and stream.
        at: String,
    },
    /// The file is valid, but a newer writer made it, or it uses something that this build leaves out.
    #[error("{}: not supported: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The unsupported feature, with its name and id if it has one, and what to do instead.
        what: String,
    },
    /// The file needs more than the limits of the caller allow.
    #[error("{}: {what}: {asked} asked, {allowed} allowed", path.display())]
    Limit {
        /// The file.
        path: PathBuf,
        /// The name of the limit.
        what: String,
        /// The amount that the file wants.
        asked: u64,
        /// The amount that the limits allow.
        allowed: u64,
    },
    /// The caller made a mistake; the file is not at fault.
    #[error("{what}")]
    Misuse {
        /// The wrong use, and what to do instead.
        what: String,
    },
}

impl Error {
    /// Wraps a system error of an operation on the file at `path`, with advice on what to do about it.
    pub(crate) fn io(path: &Path, what: &str, source: std::io::Error) -> Error {
        let advice = match source.kind() {
            ErrorKind::StorageFull => " (free some space or choose another disk)",
            ErrorKind::QuotaExceeded => " (free some of your quota or choose another disk)",
            ErrorKind::FileTooLarge => {
                " (the disk or a limit of this account allows no file as large; choose another disk)"
            }
            ErrorKind::PermissionDenied => {
                " (check the permissions of the file and its folder, or choose another place)"
            }
            ErrorKind::ReadOnlyFilesystem => " (the disk is read-only; choose another place)",
            ErrorKind::NotFound => " (check the name)",
            _ => "",
        };
        Error::Io { path: path.into(), what: format!("{what}{advice}"), source }
    }
    /// Returns [`Error::Malformed`] for the file at `path`.
    pub fn malformed(path: &Path, what: impl Into<String>, at: impl Into<String>) -> Error {
        Error::Malformed { path: path.into(), what: what.into(), at: at.into() }
    }
    /// Returns [`Error::Unsupported`] for the file at `path`.
    pub fn unsupported(path: &Path, what: impl Into<String>) -> Error {
        Error::Unsupported { path: path.into(), what: what.into() }
    }
    /// Returns [`Error::Limit`] for the file at `path`.
    pub fn limit(path: &Path, what: impl Into<String>, asked: u64, allowed: u64) -> Error {
        Error::Limit { path: path.into(), what: what.into(), asked, allowed }
    }
    /// Returns [`Error::Misuse`].
    pub fn misuse(what: impl Into<String>) -> Error {
        Error::Misuse { what: what.into() }
    }
}
