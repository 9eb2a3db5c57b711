//! The place that the bytes of a file come from: a file of the system, which is streamed, or the whole file
//! in memory, for files in packages.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The bytes by which a file is recognized: its header, with its checksum and length.
pub const START_BYTES: usize = 64;

/// The source of a file.
#[derive(Clone)]
pub enum ReelSource {
    /// A file of the system, which can be watched for changes.
    Path(PathBuf),
    /// A file in memory.
    Bytes {
        /// Its name in errors.
        name: String,
        /// All of it.
        bytes: Arc<[u8]>,
    },
}

impl std::fmt::Debug for ReelSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReelSource::Path(path) => f.debug_tuple("Path").field(path).finish(),
            ReelSource::Bytes { name, bytes } => {
                f.debug_tuple("Bytes").field(name).field(&bytes.len()).finish()
            }
        }
    }
}

impl PartialEq for ReelSource {
    /// Sources in memory are equal if they are the same memory.
    fn eq(&self, other: &ReelSource) -> bool {
        match (self, other) {
            (ReelSource::Path(a), ReelSource::Path(b)) => a == b,
            (ReelSource::Bytes { bytes: a, .. }, ReelSource::Bytes { bytes: b, .. }) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl ReelSource {
    /// Returns its name in errors.
    pub fn name(&self) -> String {
        match self {
            ReelSource::Path(path) => path.display().to_string(),
            ReelSource::Bytes { name, .. } => name.clone(),
        }
    }
}

/// `true` if a file of the system begins with these bytes, as the engine's file system has read them: then it
/// is the same file, and not one of another name space or of an older package.
pub fn begins_with(path: &Path, start: &[u8]) -> bool {
    let mut same = vec![0; start.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut same));
    read.is_ok() && same == start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_recognized_by_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.reel");
        assert!(!begins_with(&path, b"abc"));
        std::fs::write(&path, b"abcdef").unwrap();
        assert!(begins_with(&path, b"abc"));
        assert!(!begins_with(&path, b"abd"));
        assert!(!begins_with(&path, b"abcdefg"));
    }

    #[test]
    fn sources_in_memory_are_equal_if_they_are_the_same_memory() {
        let bytes: Arc<[u8]> = Arc::from(&b"abc"[..]);
        let source = |bytes: &Arc<[u8]>| ReelSource::Bytes { name: "a".into(), bytes: bytes.clone() };
        assert_eq!(source(&bytes), source(&bytes));
        assert_ne!(source(&bytes), source(&Arc::from(&b"abc"[..])));
        assert_ne!(source(&bytes), ReelSource::Path("a".into()));
        assert_eq!(format!("{:?}", source(&bytes)), "Bytes(\"a\", 3)");
    }
}
