//! A file that takes its name when it is complete: whoever looks at the target finds the old one or the whole new one.

use crate::Error;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Removed when dropped, unless [`Temporary::keep`] made it the target.
pub(crate) struct Temporary {
    file: File,
    own: PathBuf,
    target: PathBuf,
    kept: bool,
}

impl Temporary {
    /// A new file next to `target`, under a name that nobody else uses.
    pub fn create(target: &Path) -> Result<Temporary, Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if target.is_dir() {
            let source = std::io::Error::from(std::io::ErrorKind::IsADirectory);
            return Err(Error::io(target, source));
        }
        let Some(name) = target.file_name() else {
            return Err(Error::misuse(format!("{} names no file", target.display())));
        };
        loop {
            let mut own = std::ffi::OsString::from(".");
            own.push(name);
            own.push(format!(
                ".{}-{}.tmp",
                std::process::id(),
                NUMBER.fetch_add(1, Relaxed)
            ));
            let own = target.with_file_name(own);
            match OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&own)
            {
                Ok(file) => {
                    return Ok(Temporary {
                        file,
                        own,
                        target: target.into(),
                        kept: false,
                    });
                }
                // Left behind by a process that was killed and had our id.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(target, error)),
            }
        }
    }

    /// What the file will be.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// To write to it, and to read again what was written.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Makes it the target, once its bytes are on the disk.
    pub fn keep(mut self) -> Result<(), Error> {
        let done = self
            .file
            .sync_all()
            .and_then(|()| std::fs::rename(&self.own, &self.target));
        done.map_err(|e| Error::io(&self.target, e))?;
        self.kept = true;
        // The name itself is safe only with its folder; where a system cannot sync folders, nothing is lost but that.
        let folder = self.target.parent().filter(|p| !p.as_os_str().is_empty());
        if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            let _ = std::fs::remove_file(&self.own);
        }
    }
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
        kept.keep().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(matches!(
            Temporary::create(folder.path()),
            Err(Error::Io { .. })
        ));
        assert!(matches!(
            Temporary::create(&folder.path().join("no/b.abc")),
            Err(Error::Io { .. })
        ));
    }
}
