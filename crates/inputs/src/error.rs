//! The error of this crate.

use std::path::{Path, PathBuf};

/// The reason for which inputs are refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A kind of file that this version does not read.
    #[error("{}: {what}", path.display())]
    Unsupported {
        /// Path of the file.
        path: PathBuf,
        /// The kinds to give instead.
        what: String,
    },
    /// The caller asks for something that makes no sense.
    #[error("{what}")]
    Misuse {
        /// The correct use.
        what: String,
    },
    /// A file whose content does not match its extension, or files that cannot be combined.
    #[error("{source}")]
    Scene {
        /// Path of the file, if the error concerns a single one.
        path: Option<PathBuf>,
        /// The cause.
        source: meshreel_scene::Error,
    },
}

impl Error {
    pub(crate) fn io(path: &Path, source: impl Into<std::io::Error>) -> Error {
        Error::Io { path: path.to_path_buf(), source: source.into() }
    }

    pub(crate) fn misuse(what: impl Into<String>) -> Error {
        Error::Misuse { what: what.into() }
    }
}
