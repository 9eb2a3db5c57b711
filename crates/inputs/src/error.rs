//! The error of this crate.

use std::path::{Path, PathBuf};

/// Why inputs are not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A kind of file that this version does not read.
    #[error("{}: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What to give instead.
        what: String,
    },
    /// The caller asks for something that makes no sense.
    #[error("{what}")]
    Misuse {
        /// What to do instead.
        what: String,
    },
    /// A file that cannot be read as what its name says, or files that do not go together.
    #[error("{source}")]
    Scene {
        /// Which, where it is one.
        path: Option<PathBuf>,
        /// Why.
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
