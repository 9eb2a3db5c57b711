//! Files that get their final name when they are complete.

use crate::{ordinary, store};
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number of bytes of the target's name that the temporary name contains; it is cut, so that it fits even
/// if the target's own name just fits.
const MAX_NAME_BYTES: usize = 120;
/// The time for which a folder listing is reused: a sequence writes thousands of files into one folder.
const LISTING_LIFETIME: Duration = Duration::from_secs(2);

/// Paths of the unfinished files of this process.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Names that may be temporary files in the last folder listed, and the time of the listing.
static LEFTOVERS: Mutex<Option<Leftovers>> = Mutex::new(None);

/// A new file beside its target, named `.<target>.<process>-<number>.tmp`. If it is dropped it is removed,
/// and the target stays as it was.
///
/// Its process holds a lock on it as long as it exists. Making another one for the same target removes those
/// that are not locked, whose process was killed.
#[derive(Debug)]
pub struct Temporary {
    file: File,
    path: PathBuf,
    target: PathBuf,
    published: bool,
}

/// The result of publishing a file.
#[derive(Debug)]
pub struct Published {
    /// The reason for which the new name may be lost in a power failure: the folder could not be synced. The
    /// file itself is complete and in its place.
    pub unsynced: Option<Error>,
}

impl Temporary {
    /// Creates a new file for `target`. If that is a link, it stays one, and the file it points to is
    /// replaced. An existing target that is not an ordinary file is refused. For a file of a store, the
    /// temporary file is in the system's temporary folder.
    pub fn create(target: &Path) -> Result<Temporary> {
        if let Some(url) = store::url(target) {
            store::check()?;
            let name = url.rsplit('/').next().unwrap_or_default();
            return Temporary::within(&std::env::temp_dir(), name, target.to_path_buf());
        }
        let target = match fs::symlink_metadata(target) {
            Ok(found) if found.is_symlink() => {
                fs::canonicalize(target).unwrap_or_else(|_| target.to_path_buf())
            }
            _ => target.to_path_buf(),
        };
        if let Ok(found) = fs::metadata(&target) {
            ordinary::check(found.file_type())?;
        }
        let Some(name) = target.file_name() else {
            return Err(Error::new(ErrorKind::InvalidInput, "it names no file"));
        };
        let name = name.to_string_lossy().into_owned();
        Temporary::within(folder_of(&target), &name, target.clone())
    }

    /// Creates a new file in a folder.
    fn within(folder: &Path, name: &str, target: PathBuf) -> Result<Temporary> {
        if name.is_empty() {
            return Err(Error::new(ErrorKind::InvalidInput, "it names no file"));
        }
        let mut name = name.to_string();
        while name.len() > MAX_NAME_BYTES {
            name.pop();
        }
        remove_leftovers(folder, &name);
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".{name}.{}-{number}.tmp", std::process::id()));
            if let Some(file) = create_locked(&path)? {
                return Ok(Temporary { file, path, target, published: false });
            }
        }
    }

    /// Returns the file, for writing and for reading what was written.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the path of the file until it is published.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path that the file will have.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Syncs the file, gives it the permissions of the file that it replaces, and moves it to its target or
    /// uploads it.
    pub fn publish(mut self) -> Result<Published> {
        if let Some(url) = store::url(&self.target) {
            // The file on disk is removed when `self` is dropped.
            store::upload(&self.path, url)?;
            return Ok(Published { unsynced: None });
        }
        self.file.sync_all()?;
        if let Ok(old) = fs::metadata(&self.target) {
            // The target may have changed since `create`.
            ordinary::check(old.file_type())?;
            let _ = fs::set_permissions(&self.path, old.permissions());
        }
        let mut unfinished = unfinished();
        fs::rename(&self.path, &self.target)?;
        self.published = true;
        unfinished.retain(|path| *path != self.path);
        drop(unfinished);
        Ok(Published { unsynced: sync(folder_of(&self.target)).err() })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.published {
            let mut unfinished = unfinished();
            // If it cannot be removed, nothing better can be done; it is never opened anyway.
            let _ = fs::remove_file(&self.path);
            unfinished.retain(|path| *path != self.path);
        }
    }
}

/// Removes the unfinished files of a process that is about to end: after this it creates and publishes no
/// more.
pub fn remove_unfinished() {
    let unfinished = unfinished();
    for path in &*unfinished {
        let _ = fs::remove_file(path);
    }
    std::mem::forget(unfinished);
}

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Syncs a folder, so that a rename in it is durable. Only Unix can do so, and some network file systems
/// cannot; the file is complete all the same.
fn sync(folder: &Path) -> Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    match synced {
        Err(error) if !matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Err(error),
        _ => Ok(()),
    }
}

/// Creates a new file and locks it. `None` if the name is taken, or if another process took the file for a
/// leftover before it was locked.
fn create_locked(path: &Path) -> Result<Option<File>> {
    let mut unfinished = unfinished();
    let mut options = File::options();
    let file = match options.read(true).write(true).create_new(true).open(path) {
        Ok(file) => file,
        // Left by a process that had the same number; it is not opened.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
        Err(error) => return Err(error),
    };
    if lock(&file) == Lock::Held || !is_at(&file, path) {
        return Ok(None);
    }
    unfinished.push(path.to_path_buf());
    Ok(Some(file))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lock {
    Ours,
    /// Locked by another process, or through another handle of this one.
    Held,
    /// The file system has no locks.
    Unknown,
}

/// Locks a file for as long as it is open. Done on Unix only, where a lock does not prevent reading.
fn lock(file: &File) -> Lock {
    if cfg!(not(unix)) {
        return Lock::Unknown;
    }
    match file.try_lock() {
        Ok(()) => Lock::Ours,
        Err(TryLockError::WouldBlock) => Lock::Held,
        Err(TryLockError::Error(_)) => Lock::Unknown,
    }
}

/// `true` if `path` still names this very file.
fn is_at(file: &File, path: &Path) -> bool {
    let same = |a: Metadata, b: Metadata| {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            (a.dev(), a.ino()) == (b.dev(), b.ino())
        }
        #[cfg(not(unix))]
        {
            let _ = (a, b);
            true
        }
    };
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(own), Ok(found)) => same(own, found),
        _ => false,
    }
}

/// A listing of a folder.
struct Leftovers {
    folder: PathBuf,
    listed_at: Instant,
    names: Vec<String>,
}

/// Removes temporary files for a target called `name` whose process has ended.
fn remove_leftovers(folder: &Path, name: &str) {
    let mut seen = LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner);
    let known =
        (seen.as_ref()).is_some_and(|s| s.folder == folder && s.listed_at.elapsed() < LISTING_LIFETIME);
    if !known {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        *seen = Some(Leftovers {
            folder: folder.into(),
            listed_at: Instant::now(),
            names: names.filter(|name| target_of(name).is_some()).collect(),
        });
    }
    let Some(seen) = &mut *seen else {
        return;
    };
    seen.names.retain(|own| {
        let ours = target_of(own) == Some(name);
        if ours {
            remove_leftover(&folder.join(own));
        }
        !ours
    });
}

fn remove_leftover(path: &Path) {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        return;
    }
    let Ok(file) = File::options().read(true).write(true).open(path) else {
        return;
    };
    if lock(&file) == Lock::Ours && is_at(&file, path) {
        let _ = fs::remove_file(path);
    }
}

/// Returns the target's name that is part of the name of a temporary file.
fn target_of(name: &str) -> Option<&str> {
    let (target, numbers) = name.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.')?;
    let (process, number) = numbers.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (digits(process) && digits(number)).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_target_is_old_or_new() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.abc");
        fs::write(&target, "old").unwrap();
        let abandoned = Temporary::create(&target).unwrap();
        abandoned.file().write_all(b"half").unwrap();
        drop(abandoned);
        assert_eq!(fs::read(&target).unwrap(), b"old");
        let kept = Temporary::create(&target).unwrap();
        kept.file().write_all(b"new").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"old");
        assert!(kept.publish().unwrap().unsynced.is_none());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["a.abc"]);
        assert!(Temporary::create(folder.path()).is_err());
        assert!(Temporary::create(&folder.path().join("no/b.abc")).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn links_stay_and_pipes_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [target, link, pipe] = ["target", "link", "pipe"].map(|name| folder.path().join(name));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let new = Temporary::create(&link).unwrap();
        new.file().write_all(b"new").unwrap();
        new.publish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert!(Temporary::create(&pipe).is_err());
    }

    #[test]
    fn targets_stand_in_the_names() {
        assert_eq!(target_of(".a.reel.12-0.tmp"), Some("a.reel"));
        assert_eq!(target_of(".a.reel.1-2.tmp.3-4.tmp"), Some("a.reel.1-2.tmp"));
        for none in [
            "a.reel.12-0.tmp",
            ".a.reel.12-0",
            ".a.reel.12.tmp",
            ".a.reel.-1.tmp",
            ".a.reel.1-.tmp",
            ".a.reel.x-1.tmp",
            ".tmp",
        ] {
            assert_eq!(target_of(none), None, "{none}");
        }
    }

    /// An unlocked file was left by a process that has ended, whatever process number is in its name.
    #[test]
    #[cfg(unix)]
    fn what_the_dead_left_goes_and_what_others_write_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let other = Temporary::create(&file("b.reel")).unwrap();
        let running = Temporary::create(&file("a.reel")).unwrap();
        for name in [
            ".a.reel.1-0.tmp",
            ".a.reel.999999999-7.tmp",
            ".b.reel.999999999-0.tmp",
            ".a.reel.12.tmp",
            "a.reel.1-0.tmp",
        ] {
            fs::write(file(name), "left").unwrap();
        }
        fs::create_dir(file(".a.reel.5-5.tmp")).unwrap();
        *LEFTOVERS.lock().unwrap() = None;
        let second = Temporary::create(&file("a.reel")).unwrap();
        let own = |t: &Temporary| t.path().file_name().unwrap().to_str().unwrap().to_string();
        let mut expected = vec![
            own(&other),
            own(&running),
            own(&second),
            ".b.reel.999999999-0.tmp".into(),
            ".a.reel.12.tmp".into(),
            "a.reel.1-0.tmp".into(),
            ".a.reel.5-5.tmp".into(),
        ];
        expected.sort();
        assert_eq!(names(folder.path()), expected);
        running.publish().unwrap();
        second.publish().unwrap();
    }
}
