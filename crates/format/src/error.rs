//! The error of reading and playing files: of this crate and of the runtime, which reads them through it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why a file could not be read or written, or a frame of it not be decoded. Five classes, the same in every
/// crate of the project. Bytes that came from no file have the path "(memory)".
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
        /// The place: a byte offset, a chunk, or a frame with its mesh and stream.
        at: String,
    },
    /// Valid, but from a newer writer or with something that this build leaves out.
    #[error("{}: not supported: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What, by name and id where it has one, and what to do instead.
        what: String,
    },
    /// More than the limits that the caller set allow.
    #[error("{}: {what}: {asked} asked, {allowed} allowed", path.display())]
    Limit {
        /// The file.
        path: PathBuf,
        /// Which limit.
        what: String,
        /// The amount that the file wants.
        asked: u64,
        /// The amount that the limits allow.
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
    /// An operation of the system on the file at `path` that failed, with advice on what to do about it.
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
    /// Wrong bytes of `path`.
    pub fn malformed(path: &Path, what: impl Into<String>, at: impl Into<String>) -> Error {
        Error::Malformed { path: path.into(), what: what.into(), at: at.into() }
    }
    /// Something valid in `path` that this build cannot read.
    pub fn unsupported(path: &Path, what: impl Into<String>) -> Error {
        Error::Unsupported { path: path.into(), what: what.into() }
    }
    /// More than is allowed of what `path` asks for.
    pub fn limit(path: &Path, what: impl Into<String>, asked: u64, allowed: u64) -> Error {
        Error::Limit { path: path.into(), what: what.into(), asked, allowed }
    }
    /// A wrong call.
    pub fn misuse(what: impl Into<String>) -> Error {
        Error::Misuse { what: what.into() }
    }
}
