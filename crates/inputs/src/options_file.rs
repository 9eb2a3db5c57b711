//! Reading of options files.

use crate::Error;
use meshreel_options::OptionSet;
use std::path::Path;

/// The largest options file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Reads and parses an options file.
pub fn read_options(path: &Path) -> Result<OptionSet, Error> {
    let text = read_options_text(path)?;
    OptionSet::parse(&text).map_err(|what| Error::misuse(format!("{}: {what}", path.display())))
}

/// Reads the text of an options file without parsing it.
pub fn read_options_text(path: &Path) -> Result<String, Error> {
    let file = meshreel_files::open(path).map_err(|e| Error::io(path, e))?;
    let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
    if size > MAX_BYTES {
        let what = format!("{}: {size} bytes is too much for an options file", path.display());
        return Err(Error::misuse(what));
    }
    std::io::read_to_string(file).map_err(|e| Error::io(path, e))
}
