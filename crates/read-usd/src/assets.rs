//! Files that layers refer to: all are in the folder of the opened file, or below it.
//!
//! A file is identified by its path from that folder, followed by the entry of a package in brackets; the
//! entry may itself be a package: `sets/wall.usda`, `prop.usdz[geo.usdc]`, `set.usdz[prop.usdz[geo.usdc]]`.

use super::bytes::LayerBytes;
use super::clips::{ClipFile, ClipLocation};
use super::layer::Layer;
use super::package::{Package, is_package};
use meshreel_files::PositionedFile;
use meshreel_files::{Folder, resolve_inside};
use meshreel_scene::Error;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Upper limit for the nesting of packages.
const MAX_PACKAGES: usize = 8;

/// The folder of the opened file, and the files read from it.
pub struct Assets {
    folder: Folder,
    /// The opened file: its name in the folder, and the path as given.
    root_file: (String, PathBuf),
    /// The files and entries examined so far; `None` for those that are no packages.
    packages: HashMap<String, Option<Package>>,
    /// For each package, the bytes taken by layers and lists of its entries.
    taken: HashMap<String, u64>,
    /// The total size of all opened layers in bytes.
    pub layer_bytes: usize,
    /// All opened files, for callers that watch them.
    pub files: Vec<PathBuf>,
}

impl Assets {
    /// Returns the folder of `path`, and the name of that file in it.
    pub fn new(path: &Path) -> (Assets, String) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (folder, first) = (Folder::containing(path), (name.clone(), path.to_path_buf()));
        let (packages, taken) = Default::default();
        (Assets { folder, root_file: first, packages, taken, layer_bytes: 0, files: Vec::new() }, name)
    }

    /// Returns the name of the file that `asset` refers to in the file `from`; the error is the reason why it
    /// is not read.
    pub fn resolve(from: &str, asset: &str) -> Result<String, &'static str> {
        let (file, mut entries) = split(from);
        let (asset, within) = split(asset);
        let base = entries.pop().unwrap_or(file);
        let own = resolve_inside(base.rsplit_once('/').map_or("", |(base, _)| base), asset)?;
        let within: Vec<String> =
            within.into_iter().map(|entry| resolve_inside("", entry)).collect::<Result<_, _>>()?;
        let is_entry = !std::ptr::eq(base, file);
        let (file, own) = if is_entry { (file, Some(&*own)) } else { (&*own, None) };
        Ok(join(file, entries.into_iter().chain(own).chain(within.iter().map(String::as_str))))
    }

    /// Opens a file by its name in the folder; `None` if it does not exist.
    fn file(&self, name: &str) -> Result<Option<PositionedFile>, Error> {
        match *name == self.root_file.0 {
            true => Ok(Some(PositionedFile::open(&self.root_file.1)?)),
            false if self.folder.exists(name) => Ok(Some(PositionedFile::named(&self.folder, name)?)),
            false => Ok(None),
        }
    }

    /// Returns the name, completed by the default entry if it is that of a package; `None` if the file does
    /// not exist.
    pub fn complete_name(&mut self, name: &str) -> Result<Option<String>, Error> {
        let (file, entries) = split(name);
        let (mut own, mut entries) = (vec![file.to_owned()], entries.into_iter());
        loop {
            let parts = own[1..].iter().map(String::as_str);
            let name = join(&own[0], parts);
            if !self.examine(&name)? {
                return Ok(None);
            }
            let package = self.packages.get(&name).and_then(Option::as_ref);
            own.push(match (package, entries.next()) {
                (Some(_), Some(entry)) => entry.into(),
                (Some(package), None) => package.first.clone(),
                (None, Some(_)) => return Ok(None),
                (None, None) => return Ok(Some(name)),
            });
            if own.len() > MAX_PACKAGES + 1 {
                let what = format!("a package in {MAX_PACKAGES} others; unpack it");
                return Err(Error::unsupported(Path::new(&name), what));
            }
        }
    }

    /// Finds out whether a file or an entry is a package. Returns `false` if it does not exist.
    fn examine(&mut self, name: &str) -> Result<bool, Error> {
        if self.packages.contains_key(name) {
            return Ok(true);
        }
        let (file, entries) = split(name);
        let Some(bytes) = self.bytes_of(file, &entries)? else {
            return Ok(false);
        };
        if entries.is_empty() {
            self.files.push(bytes.name().into());
        }
        let mut start = [0; 4];
        let length = bytes.length().min(4) as usize;
        bytes.read_into(0, &mut start[..length])?;
        let package = is_package(&start).then(|| Package::open(bytes)).transpose()?;
        let listed = package.as_ref().map_or(0, |package| package.listing_bytes);
        self.packages.insert(name.into(), package);
        self.charge_package(file, listed)?;
        Ok(true)
    }

    /// Returns the bytes of a file, or of the last of a chain of nested entries that were examined before;
    /// `None` if it does not exist.
    fn bytes_of(&self, file: &str, entries: &[&str]) -> Result<Option<LayerBytes>, Error> {
        let Some((last, outer)) = entries.split_last() else {
            return Ok(self.file(file)?.map(|file| LayerBytes::from_file(Arc::new(file))));
        };
        let outer = self.packages.get(&join(file, outer.iter().copied())).and_then(Option::as_ref);
        outer.map_or(Ok(None), |package| package.entry(last))
    }

    /// Counts the bytes of a package that are read. Overlapping entries would exceed its size.
    fn charge_package(&mut self, file: &str, bytes: u64) -> Result<(), Error> {
        let Some(package) = self.packages.get(file).and_then(Option::as_ref) else {
            return Ok(());
        };
        let taken = self.taken.entry(file.into()).or_default();
        *taken = taken.saturating_add(bytes);
        match *taken > package.length() {
            true => Err(package.overlap()),
            false => Ok(()),
        }
    }

    /// Returns the location of the layer with a name from [`Assets::complete_name`]; `None` if the file does
    /// not exist.
    pub fn clip(&mut self, name: &str) -> Result<Option<ClipFile>, Error> {
        let Some(name) = self.complete_name(name)? else {
            return Ok(None);
        };
        let (file, entries) = split(&name);
        if entries.is_empty() {
            let place =
                |name| ClipFile { name, location: ClipLocation::File(self.folder.clone(), file.into()) };
            return Ok(self.folder.path(file).ok().map(place));
        }
        let bytes = self.bytes_of(file, &entries)?;
        Ok(bytes.map(|own| ClipFile { name: own.name().into(), location: ClipLocation::Entry(own) }))
    }

    /// Opens the layer with a name from [`Assets::complete_name`]; `None` if the file does not exist.
    pub fn open(&mut self, name: &str) -> Result<Option<Layer>, Error> {
        let (file, entries) = split(name);
        let Some(bytes) = self.bytes_of(file, &entries)? else {
            return Ok(None);
        };
        self.charge_package(file, bytes.length())?;
        self.layer_bytes += bytes.length() as usize;
        Layer::open(bytes).map(Some)
    }
}

/// Splits a name into a file and nested package entries, outermost first.
fn split(name: &str) -> (&str, Vec<&str>) {
    let inner = name.trim_end_matches(']');
    let count = name.len() - inner.len();
    let mut parts: Vec<&str> = inner.rsplitn(count.min(MAX_PACKAGES + 1) + 1, '[').collect();
    match parts.pop() {
        Some(file) if parts.len() == count => {
            parts.reverse();
            (file, parts)
        }
        _ => (name, Vec::new()),
    }
}

/// Joins a file and entries to a name that [`split`] takes apart.
fn join<'a>(file: &str, entries: impl Iterator<Item = &'a str>) -> String {
    let (mut out, mut ends) = (file.to_owned(), String::new());
    for entry in entries {
        out = out + "[" + entry;
        ends.push(']');
    }
    out + &ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_are_said() {
        for (from, asset, name) in [
            ("a/b.usda", "c.usda", "a/c.usda"),
            ("a/b.usda", "../c.usdz[d/e.usda]", "c.usdz[d/e.usda]"),
            ("a/b.usda", "c.usdz[d.usdz[./e.usda]]", "a/c.usdz[d.usdz[e.usda]]"),
            ("a/c.usdz[d/e.usda]", "../f.usda", "a/c.usdz[f.usda]"),
            ("c.usdz[d/e.usdz[f/g.usda]]", "h.usda", "c.usdz[d/e.usdz[f/h.usda]]"),
            ("c.usdz[d/e.usda]", "g.usdz[h.usda]", "c.usdz[d/g.usdz[h.usda]]"),
            ("a]/b.usda", "c].usda", "a]/c].usda"),
        ] {
            assert_eq!(Assets::resolve(from, asset).as_deref(), Ok(name), "{from} {asset}");
        }
        for (from, asset) in [("c.usdz[d.usda]", "../e.usda"), ("c.usda", "d.usdz[../e.usda]")] {
            assert!(Assets::resolve(from, asset).is_err(), "{from} {asset}");
        }
        assert_eq!(split("a[b[c]]"), ("a", vec!["b", "c"]));
        assert_eq!(split("a]]"), ("a]]", vec![]));
    }
}
