//! The error of scenes, their readers and their writers, and remarks for content that is messy but usable.

use std::path::{Path, PathBuf};

/// The reason why a file could not be read or written. Five classes, the same in every crate of the project.
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
        /// Description of the fault.
        what: String,
        /// The place: a node path, a byte offset or a line.
        at: String,
    },
    /// Valid, but something this library does not do.
    #[error("{}: not supported: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The unsupported feature, and what to do instead.
        what: String,
    },
    /// More than the limits allow.
    #[error("{}: {what}: {asked} asked, {allowed} allowed", path.display())]
    Limit {
        /// The file.
        path: PathBuf,
        /// The limit that is exceeded.
        what: String,
        /// The amount that the file asks for.
        asked: u64,
        /// The amount that the limit allows.
        allowed: u64,
    },
    /// The caller made a mistake; the file is fine.
    #[error("{what}")]
    Misuse {
        /// The right use.
        what: String,
    },
}

impl Error {
    /// Returns an I/O error of `path`.
    pub fn io(path: &Path, source: std::io::Error) -> Error {
        Error::Io { path: path.into(), source }
    }
    /// Returns the error of a malformed file.
    pub fn malformed(path: &Path, what: impl Into<String>, at: impl Into<String>) -> Error {
        Error::Malformed { path: path.into(), what: what.into(), at: at.into() }
    }
    /// Returns the error of an unsupported feature.
    pub fn unsupported(path: &Path, what: impl Into<String>) -> Error {
        Error::Unsupported { path: path.into(), what: what.into() }
    }
    /// Returns the error of an exceeded limit.
    pub fn limit(path: &Path, what: impl Into<String>, asked: u64, allowed: u64) -> Error {
        Error::Limit { path: path.into(), what: what.into(), asked, allowed }
    }
    /// Returns the error of a wrong use.
    pub fn misuse(what: impl Into<String>) -> Error {
        Error::Misuse { what: what.into() }
    }
}

/// A file that could not be opened or read, and the system's reason.
impl From<(PathBuf, std::io::Error)> for Error {
    fn from((path, source): (PathBuf, std::io::Error)) -> Error {
        Error::Io { path, source }
    }
}

/// A finding in the content that the user should know about and that stopped nothing. `--strict` makes it an
/// error.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Remark {
    /// The node's path, or the file if the remark concerns the whole of it.
    pub node: String,
    /// One sentence: the finding, and what was done about it.
    pub what: String,
}

impl Remark {
    /// Returns a remark on `node`.
    pub fn new(node: impl Into<String>, what: impl Into<String>) -> Remark {
        Remark { node: node.into(), what: what.into() }
    }
}

impl std::fmt::Display for Remark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.node, self.what)
    }
}
