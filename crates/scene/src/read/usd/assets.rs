//! Files that layers name: all in the folder of the file that was opened, or in folders there.
//!
//! A file is known by its path from that folder, with the entry of a package in brackets behind it:
//! `sets/wall.usda`, `prop.usdz[geo.usdc]`.

use super::bytes::Bytes;
use super::clips::{ClipFile, ClipPlace};
use super::layer::Layer;
use super::package::{Package, is_package};
use crate::Error;
use crate::read::positioned::PositionedFile;
use meshreel_files::{Folder, inside};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of the file that was opened.
pub struct Assets {
    folder: Folder,
    /// The file that was opened: its name in the folder, and how it was said.
    first: (String, PathBuf),
    /// Files that were looked at; none where they are no packages.
    packages: HashMap<String, Option<Package>>,
    /// Bytes of all layers that were opened.
    pub bytes: usize,
    /// All files that were opened, for whoever watches them.
    pub files: Vec<PathBuf>,
}

impl Assets {
    /// The folder of `path`, and the name of that file there.
    pub fn new(path: &Path) -> (Assets, String) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (folder, first) = (Folder::of(path), (name.clone(), path.to_path_buf()));
        (Assets { folder, first, packages: HashMap::new(), bytes: 0, files: Vec::new() }, name)
    }

    /// The file that `asset` names in the file `from`, or why it is not read.
    pub fn find(from: &str, asset: &str) -> Result<String, &'static str> {
        let (file, entry) = split(from);
        let base = entry.unwrap_or(file).rsplit_once('/').map_or("", |(base, _)| base);
        match (entry, split(asset)) {
            (None, (asset, None)) => inside(base, asset),
            (None, (asset, Some(within))) => Ok(format!("{}[{}]", inside(base, asset)?, inside("", within)?)),
            (Some(_), (_, Some(_))) => Err("is a package in a package; unpack it"),
            (Some(_), (asset, None)) => match inside(base, asset)? {
                name if name.ends_with(".usdz") => Err("is a package in a package; unpack it"),
                name => Ok(format!("{file}[{name}]")),
            },
        }
    }

    /// A file by its name in the folder; none where there is no such file.
    fn file(&self, name: &str) -> Result<Option<PositionedFile>, Error> {
        match *name == self.first.0 {
            true => PositionedFile::open(&self.first.1).map(Some),
            false if self.folder.exists(name) => PositionedFile::named(&self.folder, name).map(Some),
            false => Ok(None),
        }
    }

    /// The name with the entry that is meant, where it is that of a package; none where there is no such file.
    pub fn entry(&mut self, name: &str) -> Result<Option<String>, Error> {
        let (file, entry) = split(name);
        if !self.packages.contains_key(file) {
            let Some(opened) = self.file(file)? else {
                return Ok(None);
            };
            self.files.push(opened.path().into());
            let bytes = Bytes::of_file(Arc::new(opened));
            let mut start = [0; 4];
            let length = bytes.length().min(4) as usize;
            bytes.read_into(0, &mut start[..length])?;
            let package = is_package(&start).then(|| Package::open(bytes)).transpose()?;
            self.packages.insert(file.into(), package);
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
        Ok(match (package, entry) {
            (Some(package), Some(entry)) => {
                let bytes = package.entry(entry)?;
                bytes.map(|own| ClipFile { name: own.name().into(), place: ClipPlace::Entry(own) })
            }
            (_, Some(_)) => None,
            (_, None) => self
                .folder
                .path(file)
                .ok()
                .map(|name| ClipFile { name, place: ClipPlace::File(self.folder.clone(), file.into()) }),
        })
    }

    /// Opens the layer of a name that [`Assets::entry`] gave; none where there is no such file.
    pub fn open(&mut self, name: &str) -> Result<Option<Layer>, Error> {
        let (file, entry) = split(name);
        let package = self.packages.get(file).and_then(Option::as_ref);
        let bytes = match (package, entry) {
            (Some(package), Some(entry)) => package.entry(entry)?,
            (_, Some(_)) => None,
            (_, None) => self.file(file)?.map(|file| Bytes::of_file(Arc::new(file))),
        };
        self.bytes += bytes.as_ref().map_or(0, |bytes| bytes.length() as usize);
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
