//! Files that layers name: all in the folder of the file that was opened, or in folders there.
//!
//! A file is known by its path from that folder, with the entry of a package in brackets behind it:
//! `sets/wall.usda`, `prop.usdz[geo.usdc]`.

use super::bytes::Bytes;
use super::clips::ClipFile;
use super::layer::Layer;
use super::package::{Package, is_package};
use crate::Error;
use crate::read::beside::inside;
use crate::read::positioned::PositionedFile;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of the file that was opened.
pub struct Assets {
    folder: PathBuf,
    /// Files that were looked at; none where they are no packages.
    packages: HashMap<String, Option<Package>>,
    /// All files that were opened, for whoever watches them.
    pub files: Vec<PathBuf>,
}

impl Assets {
    /// The folder of `path`, and the name of that file there.
    pub fn new(path: &Path) -> (Assets, String) {
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (Assets { folder, packages: HashMap::new(), files: Vec::new() }, name)
    }

    /// The file that `asset` names in the file `from`, or why it is not read.
    pub fn find(from: &str, asset: &str) -> Result<String, &'static str> {
        let (file, entry) = split(from);
        if has_scheme(asset) {
            return Err("is no file beside the others");
        }
        let leads_out = "lies outside of the folder of the file that was opened; put it there";
        let near = Path::new(entry.unwrap_or(file)).parent().unwrap_or(Path::new(""));
        let path = inside(&near.join(asset)).filter(|_| !Path::new(asset).is_absolute()).ok_or(leads_out)?;
        if path.as_os_str().is_empty() {
            return Err("is no name of a file");
        }
        let path = path.to_str().ok_or(leads_out)?.replace('\\', "/");
        match entry {
            None => Ok(path),
            Some(_) if path.contains('[') || path.ends_with(".usdz") => {
                Err("is a package in a package; unpack it")
            }
            Some(_) => Ok(format!("{file}[{path}]")),
        }
    }

    /// The name with the entry that is meant, where it is that of a package; none where there is no such file.
    pub fn entry(&mut self, name: &str) -> Result<Option<String>, Error> {
        let (file, entry) = split(name);
        if !self.packages.contains_key(file) {
            let path = self.folder.join(file);
            if !meshreel_files::exists(&path) {
                return Ok(None);
            }
            let bytes = Bytes::of_file(Arc::new(PositionedFile::open(&path)?));
            let mut start = [0; 4];
            let length = bytes.length().min(4) as usize;
            bytes.read_into(0, &mut start[..length])?;
            let package = is_package(&start).then(|| Package::open(bytes)).transpose()?;
            self.packages.insert(file.into(), package);
            self.files.push(path);
        }
        let package = self.packages.get(file).and_then(Option::as_ref);
        Ok(Some(match (package, entry) {
            (Some(package), None) => format!("{file}[{}]", package.first),
            _ => name.into(),
        }))
    }

    /// Where the layer of a name that [`Assets::entry`] gave is; none where there is no such file.
    pub fn clip(&mut self, name: &str) -> Result<Option<ClipFile>, Error> {
        let Some(name) = self.entry(name)? else {
            return Ok(None);
        };
        let (file, entry) = split(&name);
        let package = self.packages.get(file).and_then(Option::as_ref);
        let path = self.folder.join(file);
        Ok(match (package, entry) {
            (Some(package), Some(entry)) => {
                package.entry(entry)?.map(|bytes| ClipFile { name: bytes.name().into(), bytes: Some(bytes) })
            }
            _ => Some(ClipFile { name: path, bytes: None }),
        })
    }

    /// Opens the layer of a name that [`Assets::entry`] gave; none where there is no such file.
    pub fn open(&mut self, name: &str) -> Result<Option<Layer>, Error> {
        let (file, entry) = split(name);
        let package = self.packages.get(file).and_then(Option::as_ref);
        let bytes = match (package, entry) {
            (Some(package), Some(entry)) => package.entry(entry)?,
            _ => Some(Bytes::of_file(Arc::new(PositionedFile::open(&self.folder.join(file))?))),
        };
        bytes.map(Layer::open).transpose()
    }
}

/// A file, and the entry of a package.
fn split(name: &str) -> (&str, Option<&str>) {
    match name.strip_suffix(']').and_then(|name| name.rsplit_once('[')) {
        Some((file, entry)) => (file, Some(entry)),
        None => (name, None),
    }
}

fn has_scheme(asset: &str) -> bool {
    let scheme = asset.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.len() > 1 && scheme.bytes().all(|b| b.is_ascii_alphanumeric())
}
