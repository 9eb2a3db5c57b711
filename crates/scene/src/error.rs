//! The error of this crate, and remarks for content that is messy but usable.

use std::path::{Path, PathBuf};

/// Why a file could not be read or written. Five classes, the same in every crate of the project.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system reported an error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The bytes break the rules of their format.
    #[error("{}: damaged or not of its kind: {what}, at {at}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// The place: a node path, a byte offset or a line.
        at: String,
    },
    /// Valid, but something this library does not do.
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
    /// An I/O error of `path`.
    pub fn io(path: &Path, source: std::io::Error) -> Error {
        Error::Io { path: path.into(), source }
    }
    /// A malformed file.
    pub fn malformed(path: &Path, what: impl Into<String>, at: impl Into<String>) -> Error {
        Error::Malformed { path: path.into(), what: what.into(), at: at.into() }
    }
    /// Something not supported.
    pub fn unsupported(path: &Path, what: impl Into<String>) -> Error {
        Error::Unsupported { path: path.into(), what: what.into() }
    }
    /// A limit exceeded.
    pub fn limit(path: &Path, what: impl Into<String>, asked: u64, allowed: u64) -> Error {
        Error::Limit { path: path.into(), what: what.into(), asked, allowed }
    }
    /// A wrong use.
    pub fn misuse(what: impl Into<String>) -> Error {
        Error::Misuse { what: what.into() }
    }
}

/// Something in the content that the user should know and that stopped nothing. `--strict` makes it an error.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Remark {
    /// The node's path, or the file where it concerns the whole of it.
    pub node: String,
    /// One sentence: what it is and what was done about it.
    pub what: String,
}

impl Remark {
    /// A remark on `node`.
    pub fn new(node: impl Into<String>, what: impl Into<String>) -> Remark {
        Remark { node: node.into(), what: what.into() }
    }
}

impl std::fmt::Display for Remark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.node, self.what)
    }
}
