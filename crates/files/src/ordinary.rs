//! Ordinary files and folders, on disk or in a store.

use crate::store;
use std::fs::{File, FileType};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Opens a file for reading. Anything but an ordinary file (a folder, a named pipe, a socket, a device) is
/// refused before it is opened. A file of a store is fetched; its local copy is deleted when it is closed.
pub fn open(path: &Path) -> Result<File> {
    if let Some(url) = store::url(path) {
        return store::fetch(url);
    }
    check(std::fs::metadata(path)?.file_type())?;
    let file = File::open(path)?;
    // Another file may have taken its place meanwhile.
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// Returns the length of an ordinary file in bytes; an error for anything else.
pub fn length(path: &Path) -> Result<u64> {
    if let Some(url) = store::url(path) {
        return Ok(store::open(url)?.len());
    }
    let found = std::fs::metadata(path)?;
    check(found.file_type())?;
    Ok(found.len())
}

/// `true` if something of that name exists; in a store, if it can be opened.
pub fn exists(path: &Path) -> bool {
    match store::url(path) {
        Some(url) => store::open(url).is_ok(),
        None => path.exists(),
    }
}

/// Returns the names in a folder, in no particular order.
pub fn names(folder: &Path) -> Result<Vec<std::ffi::OsString>> {
    match store::url(folder) {
        Some(url) => Ok(store::names(url)?.into_iter().map(Into::into).collect()),
        None => std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect(),
    }
}

/// Creates a folder and its parents if they do not exist. Stores have no folders: nothing is done.
pub fn create_folder(path: &Path) -> Result<()> {
    match store::url(path) {
        Some(_) => Ok(()),
        None => std::fs::create_dir_all(path),
    }
}

/// Fails if `path` is a symbolic link. Files written into a folder under names that the user did not choose
/// must stay in that folder; a link in it would lead elsewhere.
pub fn refuse_link(path: &Path) -> Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(Error::new(
            ErrorKind::InvalidInput,
            "it is a symbolic link, and what is written into a folder does not leave it; remove the link",
        )),
        _ => Ok(()),
    }
}

/// Fails, naming the kind of file, unless `kind` is an ordinary file.
pub(crate) fn check(kind: FileType) -> Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(Error::new(ErrorKind::IsADirectory, "it is a folder, not a file"));
    }
    let what = special(kind).unwrap_or("it is not an ordinary file");
    Err(Error::new(ErrorKind::InvalidInput, format!("{what}; give the name of an ordinary file")))
}

#[cfg(unix)]
fn special(kind: FileType) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    match () {
        () if kind.is_fifo() => Some("it is a named pipe"),
        () if kind.is_socket() => Some("it is a socket"),
        () if kind.is_char_device() || kind.is_block_device() => Some("it is a device"),
        () => None,
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ordinary_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert_eq!(open(&path).unwrap_err().kind(), ErrorKind::NotFound);
        std::fs::write(&path, "a").unwrap();
        assert!(open(&path).is_ok());
        let error = open(folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IsADirectory, "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn links_are_refused_wherever_they_lead() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, broken] = ["file", "link", "broken"].map(|name| folder.path().join(name));
        std::fs::write(&file, "a").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::os::unix::fs::symlink("nowhere", &broken).unwrap();
        assert!(refuse_link(&file).is_ok() && refuse_link(&folder.path().join("new")).is_ok());
        assert!(refuse_link(&link).is_err() && refuse_link(&broken).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn pipes_sockets_and_devices_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, socket, link] = ["pipe", "socket", "link"].map(|name| folder.path().join(name));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        let device = Path::new("/dev/zero").to_path_buf();
        for (path, what) in
            [(pipe, "named pipe"), (link, "named pipe"), (socket, "socket"), (device, "device")]
        {
            let error = open(&path).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
        }
    }
}
