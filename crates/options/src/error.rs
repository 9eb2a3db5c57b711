//! The error of this crate.

/// The reason for which options are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller asks for something that makes no sense.
    #[error("{what}")]
    Misuse {
        /// The correct use.
        what: String,
    },
    /// The options stored in a file cannot be read.
    #[error("{what}")]
    Malformed {
        /// The problem.
        what: String,
    },
}

impl Error {
    /// Creates the error for wrong use.
    pub fn misuse(what: impl Into<String>) -> Error {
        Error::Misuse { what: what.into() }
    }
}
