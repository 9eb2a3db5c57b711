//! Recognizes `.reel` files.

use crate::failure::{Class, Failure};
use meshreel::Reel;
use meshreel_files::{FileSource, ReadAt};
use meshreel_options::Options;
use std::path::Path;

/// `true` if `path` is a `.reel`, by its first bytes, or by its name if it cannot be read.
pub fn is_reel(path: &Path) -> bool {
    let magic = meshreel::raw::format::MAGIC;
    let mut first = [0u8; 8];
    let read = FileSource::open(path).and_then(|file| file.read_at(0, &mut first));
    match read {
        Ok(()) => first == magic || has_reel_name(path),
        Err(_) => has_reel_name(path),
    }
}

/// Refuses a file that is not a `.reel`, before it is opened as one.
pub fn expect_reel(path: &Path) -> Result<(), Failure> {
    match meshreel_files::exists(path) {
        true if is_reel(path) => Ok(()),
        true => Err(Failure::new(
            Class::Malformed,
            "not a .reel; 'meshreel compile' makes one of a source file",
            Some(path.display().to_string()),
        )),
        false => Err(Failure::io(path, &std::io::ErrorKind::NotFound.into())),
    }
}

/// Returns the options with which a file was compiled.
pub fn options(reel: &Reel) -> Result<Options, Failure> {
    Options::from_text(&reel.description().options).map_err(|error| {
        Failure::new(Class::Malformed, error.to_string(), Some(reel.path().display().to_string()))
    })
}

fn has_reel_name(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("reel"))
}
