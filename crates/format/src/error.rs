//! The error of this crate.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why a file could not be read or written. Five classes, the same in every crate of the project.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system said no.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// The file that the user named.
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
        /// Where: a byte offset, a frame or a chunk.
        at: String,
    },
    /// Valid, but something that this library does not do.
    #[error("{}: not supported: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What, and what to do instead.
        what: String,
    },
    /// More than the limits allow.
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
    pub(crate) fn malformed(path: &Path, what: impl Into<String>, at: impl Into<String>) -> Error {
        Error::Malformed { path: path.into(), what: what.into(), at: at.into() }
    }
    pub(crate) fn limit(path: &Path, what: impl Into<String>, asked: u64, allowed: u64) -> Error {
        Error::Limit { path: path.into(), what: what.into(), asked, allowed }
    }
    pub(crate) fn misuse(what: impl Into<String>) -> Error {
        Error::Misuse { what: what.into() }
    }
}
