//! What a decoder of `codec` says about wrong bytes, as the error of this crate, which is that of the container.

use crate::Error;
use meshreel_codec::Corrupt;
use std::path::Path;

/// What a decoder said about the bytes of `path` at `at`.
pub(crate) fn corrupt(path: &Path, corrupt: Corrupt, at: impl Into<String>) -> Error {
    Error::malformed(path, corrupt.0, at)
}
