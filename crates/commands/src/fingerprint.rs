//! Fingerprints of files, which tell whether they have changed. The time of the last change is not part of
//! one: it changes when a file is copied, and does not change if a clock stands still.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// Size of a read, in bytes.
const READ_BYTES: usize = 1 << 17;

/// Name and content of a file. Two are equal if both are; the folder does not matter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// The name of the file, without folders.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// XXH3 of its content, 128 bits as 32 hexadecimal digits.
    pub hash: String,
}

impl Fingerprint {
    /// Computes the fingerprint of a file, reading all of it.
    pub fn from_file(path: &Path) -> Result<Fingerprint, Failure> {
        let failed = |error: std::io::Error| Failure::io(path, &error);
        let mut file = meshreel_files::open(path).map_err(failed)?;
        let (mut hash, mut bytes, mut block) = (Xxh3::new(), 0, vec![0; READ_BYTES]);
        loop {
            let read = match file.read(&mut block) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                read => read.map_err(failed)?,
            };
            if read == 0 {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                return Ok(Fingerprint { name, bytes, hash: format!("{:032x}", hash.digest128()) });
            }
            bytes += read as u64;
            hash.update(&block[..read]);
        }
    }

    /// Computes those of all files that `scene` is read from, in the order of its reader.
    pub fn from_scene_files(scene: &meshreel_scene::Scene) -> Result<Vec<Fingerprint>, Failure> {
        scene.files.iter().map(|path| Fingerprint::from_file(path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_and_name_count() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, content).unwrap();
            Fingerprint::from_file(&path).unwrap()
        };
        let long = vec![7; READ_BYTES + 1];
        assert_eq!(of("a", &long), of("b/a", &long));
        assert_eq!(of("a", b"x").bytes, 1);
        assert_ne!(of("a", b"x"), of("a", b"y"));
        assert_ne!(of("a", b"x"), of("c", b"x"));
        assert!(Fingerprint::from_file(folder.path()).is_err());
    }
}
