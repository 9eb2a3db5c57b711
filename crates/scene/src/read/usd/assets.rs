//! Files that layers name: all in the folder of the file that was opened, or in folders there.
//!
//! A file is known by its path from that folder, with the entry of a package in brackets behind it:
//! `sets/wall.usda`, `prop.usdz[geo.usdc]`.

use super::bytes::Bytes;
use super::layer::Layer;
use crate::Error;
use crate::read::beside::inside;
use crate::read::positioned::PositionedFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of the file that was opened.
pub struct Assets {
    folder: PathBuf,
    /// All files that were opened, for whoever watches them.
    pub files: Vec<PathBuf>,
}

impl Assets {
    /// The folder of `path`, and the name of that file there.
    pub fn new(path: &Path) -> (Assets, String) {
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (Assets { folder, files: Vec::new() }, name)
    }

    /// The file that `asset` names in the file `from`, or why it is not read.
    pub fn find(from: &str, asset: &str) -> Result<String, &'static str> {
        let (file, _) = split(from);
        if has_scheme(asset) {
            return Err("is no file beside the others");
        }
        let leads_out = "lies outside of the folder of the file that was opened; put it there";
        let near = Path::new(file).parent().unwrap_or(Path::new(""));
        let path = inside(&near.join(asset)).ok_or(leads_out)?;
        match path.to_str() {
            // An absolute path replaces what it is joined to.
            Some(path) if !Path::new(asset).is_absolute() => Ok(path.replace('\\', "/")),
            _ => Err(leads_out),
        }
    }

    /// Opens the layer of that name; none where there is no such file.
    pub fn open(&mut self, name: &str) -> Result<Option<Layer>, Error> {
        let (file, _) = split(name);
        let path = self.folder.join(file);
        if !meshreel_files::exists(&path) {
            return Ok(None);
        }
        let bytes = Bytes::of_file(Arc::new(PositionedFile::open(&path)?));
        if !self.files.contains(&path) {
            self.files.push(path);
        }
        Layer::open(bytes).map(Some)
    }
}

/// A file, and the entry of a package.
fn split(name: &str) -> (&str, Option<&str>) {
    match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
        Some((file, entry)) => (file, Some(entry)),
        None => (name, None),
    }
}

fn has_scheme(asset: &str) -> bool {
    let scheme = asset.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.len() > 1 && scheme.bytes().all(|b| b.is_ascii_alphanumeric())
}
