//! The error of this crate.

/// Why options are not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller asks for something that makes no sense.
    #[error("{what}")]
    Misuse {
        /// What to do instead.
        what: String,
    },
    /// The options that a file holds cannot be read.
    #[error("{what}")]
    Malformed {
        /// What is wrong.
        what: String,
    },
}

impl Error {
    /// A wrong use.
    pub fn misuse(what: impl Into<String>) -> Error {
        Error::Misuse { what: what.into() }
    }
}
