//! The bytes of one layer: a file, or a part of one (an entry of a package). Bounds are checked here.

use meshreel_files::PositionedFile;
use meshreel_scene::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A part of a file that is read at positions.
#[derive(Clone)]
pub struct LayerBytes {
    file: Arc<PositionedFile>,
    start: u64,
    length: u64,
    /// The name in errors: the file, and the package entry if it is one.
    name: Arc<Path>,
}

impl LayerBytes {
    /// Takes a whole file.
    pub fn from_file(file: Arc<PositionedFile>) -> LayerBytes {
        let (length, name) = (file.length(), file.path().into());
        LayerBytes { file, start: 0, length, name }
    }

    /// Returns the `length` bytes from `start` on, under another name; `None` if they exceed these bytes.
    pub fn slice(&self, start: u64, length: u64, name: PathBuf) -> Option<LayerBytes> {
        let end = start.checked_add(length)?;
        (end <= self.length).then(|| LayerBytes {
            file: self.file.clone(),
            start: self.start + start,
            length,
            name: name.into(),
        })
    }

    pub fn name(&self) -> &Path {
        &self.name
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// Makes an error about damage at a byte. Its advice is to obtain the file anew, as nobody repairs bytes
    /// by hand.
    pub fn malformed(&self, what: impl Into<String>, at: u64) -> Error {
        let what = format!("{}; copy or export it anew", what.into());
        Error::malformed(&self.name, what, format!("byte {at}"))
    }

    pub fn limit(&self, what: &str, asked: u64, allowed: u64) -> Error {
        let what = format!("{what}; export it anew if it is damaged, or else in parts");
        Error::limit(&self.name, what, asked, allowed)
    }

    /// Fills `out` with the bytes from `at` on.
    pub fn read_into(&self, at: u64, out: &mut [u8]) -> Result<(), Error> {
        match at.checked_add(out.len() as u64) {
            Some(end) if end <= self.length => Ok(self.file.read_exact(self.start + at, out)?),
            _ => Err(self.malformed(format!("{} bytes are wanted beyond the end", out.len()), at)),
        }
    }

    /// Returns the `length` bytes from `at` on. Memory is reserved only after the bounds are checked.
    pub fn read(&self, at: u64, length: u64) -> Result<Vec<u8>, Error> {
        if at.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(self.malformed(format!("{length} bytes are wanted beyond the end"), at));
        }
        let mut out = vec![0; length as usize];
        self.file.read_exact(self.start + at, &mut out)?;
        Ok(out)
    }

    pub fn u64(&self, at: u64) -> Result<u64, Error> {
        let mut bytes = [0; 8];
        self.read_into(at, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub fn u32(&self, at: u64) -> Result<u32, Error> {
        let mut bytes = [0; 4];
        self.read_into(at, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }
}
