//! Conversion of the runtime's errors to those of scenes.

use meshreel_scene::Error;

/// Converts an error of the runtime to one of the scene; both have the same five classes.
pub(crate) fn error(error: meshreel::Error) -> Error {
    use meshreel::Error as R;
    match error {
        R::Io { path, source, .. } => Error::Io { path, source },
        R::Malformed { path, what, at } => Error::Malformed { path, what, at },
        R::Unsupported { path, what } => Error::Unsupported { path, what },
        R::Limit { path, what, asked, allowed } => Error::Limit { path, what, asked, allowed },
        R::Misuse { what } => Error::Misuse { what },
        other => Error::Misuse { what: other.to_string() },
    }
}
