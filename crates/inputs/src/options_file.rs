//! Reads options files.

use crate::Error;
use meshreel_options::OptionSet;
use std::path::Path;

/// Largest options file that is read.
const MAX_BYTES: u64 = 16 << 20;

/// What an options file says.
pub fn read_options(path: &Path) -> Result<OptionSet, Error> {
    let text = read_options_text(path)?;
    OptionSet::parse(&text).map_err(|what| Error::misuse(format!("{}: {what}", path.display())))
}

/// The text of an options file, which may say anything.
pub fn read_options_text(path: &Path) -> Result<String, Error> {
    let file = meshreel_files::open(path).map_err(|e| Error::io(path, e))?;
    let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
    if size > MAX_BYTES {
        let what = format!("{}: {size} bytes is too much for an options file", path.display());
        return Err(Error::misuse(what));
    }
    std::io::read_to_string(file).map_err(|e| Error::io(path, e))
}
