//! A file that gets its name when it is complete: readers of the target find the old file or the whole new
//! one.

use meshreel_scene::Error;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A temporary file, removed when dropped, unless [`Temporary::publish`] made it the target.
pub(crate) struct Temporary(meshreel_files::Temporary);

impl Temporary {
    /// Creates a file next to `target`, under a unique name.
    pub fn create(target: &Path) -> Result<Temporary, Error> {
        if target.file_name().is_none() {
            return Err(Error::misuse(format!("{} names no file", target.display())));
        }
        let file = meshreel_files::Temporary::create(target).map_err(|e| Error::io(target, e))?;
        Ok(Temporary(file))
    }

    /// Returns the path that the file will have when it is complete.
    pub fn target(&self) -> &Path {
        self.0.target()
    }

    /// Returns the file, for writing and for reading back.
    pub fn file(&self) -> &File {
        self.0.file()
    }

    /// Renames it to the target, once its bytes are on disk.
    pub fn publish(self) -> Result<(), Error> {
        let target = self.target().to_path_buf();
        // The name itself is safe only once its folder is synced; if that fails, only the name is at risk.
        let _ = self.0.publish().map_err(|e| Error::io(&target, e))?;
        Ok(())
    }
}

/// Returns the path of a file in a folder that the user named. A link of that name is refused.
pub(crate) fn path_in_folder(folder: &Path, name: &str) -> Result<PathBuf, Error> {
    let path = folder.join(name);
    meshreel_files::refuse_link(&path).map_err(|e| Error::io(&path, e))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_target_is_old_or_new() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.abc");
        std::fs::write(&target, "old").unwrap();
        let abandoned = Temporary::create(&target).unwrap();
        abandoned.file().write_all(b"half").unwrap();
        drop(abandoned);
        assert_eq!(std::fs::read(&target).unwrap(), b"old");
        let kept = Temporary::create(&target).unwrap();
        kept.file().write_all(b"new").unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"old");
        kept.publish().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(matches!(Temporary::create(folder.path()), Err(Error::Io { .. })));
        assert!(matches!(Temporary::create(&folder.path().join("no/b.abc")), Err(Error::Io { .. })));
    }
}
