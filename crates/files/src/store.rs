//! Files that are not on this machine. A program that can reach a store connects it once; from then on this
//! crate accepts names such as `s3://bucket/name`. The transport is unknown to this crate.

use crate::read_at::ReadAt;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// URL schemes of stores: Amazon S3 and compatible stores, Google Cloud Storage, Azure Blob Storage.
pub const SCHEMES: [&str; 3] = ["s3://", "gs://", "az://"];

/// Access to stores. Its errors contain no credentials.
pub trait Store: Send + Sync {
    /// Opens a file whose parts are read on demand; `NotFound` if there is none.
    fn open(&self, url: &str) -> Result<Arc<dyn ReadAt>>;
    /// Fetches a whole file into a local copy, positioned at its start, which is deleted when it is closed.
    fn fetch(&self, url: &str) -> Result<File>;
    /// Uploads a file and replaces the one of that name: whole or not at all.
    fn upload(&self, file: &Path, url: &str) -> Result<()>;
    /// Returns the names of the files directly in a folder, without those of its subfolders.
    fn names(&self, url: &str) -> Result<Vec<String>>;
}

static CONNECTED: OnceLock<Box<dyn Store>> = OnceLock::new();

/// Connects stores for the lifetime of the process; `false` if stores are already connected.
pub fn connect(store: impl Store + 'static) -> bool {
    CONNECTED.set(Box::new(store)).is_ok()
}

/// Returns the name of a file of a store; `None` for a path on disk.
pub fn url(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    SCHEMES.iter().any(|scheme| text.starts_with(scheme)).then_some(text)
}

fn connected() -> Result<&'static dyn Store> {
    let none = || {
        let what = "this program was built without stores (feature 'store'); copy the file to a disk first";
        Error::new(ErrorKind::Unsupported, what)
    };
    CONNECTED.get().map(|store| &**store).ok_or_else(none)
}

/// Fails if no store is connected; called before much work is done for one.
pub(crate) fn check() -> Result<()> {
    connected().map(|_| ())
}

pub(crate) fn open(url: &str) -> Result<Arc<dyn ReadAt>> {
    connected()?.open(url)
}

pub(crate) fn fetch(url: &str) -> Result<File> {
    connected()?.fetch(url)
}

pub(crate) fn upload(file: &Path, url: &str) -> Result<()> {
    connected()?.upload(file, url)
}

pub(crate) fn names(url: &str) -> Result<Vec<String>> {
    connected()?.names(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_stores_are_told_from_paths() {
        for name in ["s3://b/a.abc", "gs://b/a.abc", "az://c/d/a.reel"] {
            assert_eq!(url(Path::new(name)), Some(name));
        }
        for path in ["a.abc", "/s3://b", "c:/a.abc", "s3:/b/a.abc", "file://a"] {
            assert_eq!(url(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn without_a_store_its_names_are_refused_and_nothing_is_made_of_them() {
        let target = Path::new("s3://bucket/a.reel");
        let unsupported = |kind| assert_eq!(kind, ErrorKind::Unsupported);
        unsupported(crate::open(target).unwrap_err().kind());
        unsupported(crate::length(target).unwrap_err().kind());
        unsupported(crate::FileSource::open(target).err().unwrap().kind());
        unsupported(crate::Temporary::create(target).unwrap_err().kind());
        assert!(!Path::new("s3:").exists());
    }
}
