//! Turns what a decoder of `codec` reports about wrong bytes into the error of this crate, which is that of
//! the container.

use crate::Error;
use meshreel_codec::Corrupt;
use std::path::Path;

/// The error for bytes of the file `path` that a decoder refused; `at` names the place.
pub(crate) fn corrupt(path: &Path, corrupt: Corrupt, at: impl Into<String>) -> Error {
    Error::malformed(path, corrupt.0, at)
}
