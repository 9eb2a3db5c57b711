//! Files named within another file: they must lie in the folder of that file or below it, so that the author
//! of a file cannot choose among all files of this machine. Links are followed: the owner of the folder made
//! them.

use crate::{FileSource, ordinary};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of a file that names other files. Nothing outside of it is opened.
#[derive(Clone, Debug)]
pub struct Folder(Arc<Path>);

impl Folder {
    /// Returns the folder that contains `file`.
    pub fn containing(file: &Path) -> Folder {
        Folder(file.parent().unwrap_or(Path::new("")).into())
    }

    /// Returns the path of a file in this folder, or the reason for which the name is refused.
    pub fn path(&self, name: &str) -> std::result::Result<PathBuf, &'static str> {
        resolve_inside("", name).map(|name| self.0.join(name))
    }

    /// `true` if a file of this name can be opened in this folder.
    pub fn exists(&self, name: &str) -> bool {
        self.path(name).is_ok_and(|path| ordinary::exists(&path))
    }

    /// Opens a file in this folder.
    pub fn open(&self, name: &str) -> Result<FileSource> {
        let path = self.path(name).map_err(|what| Error::new(ErrorKind::InvalidInput, what))?;
        FileSource::open(&path)
    }
}

/// Resolves the name `said`, written in a file of the subfolder `base`, to a name relative to the [`Folder`],
/// with `/` as the separator and without `.` and `..`. Fails with the reason if the name leads out or is
/// none. The separators of all systems count on each, so that a file means the same everywhere.
pub fn resolve_inside(base: &str, said: &str) -> std::result::Result<String, &'static str> {
    const LEADS_OUT: &str = "lies outside of the folder of the file that was opened; put it there";
    const NO_NAME: &str = "is no name of a file";
    let said = said.replace('\\', "/");
    let scheme = said.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    if said.starts_with('/') || is_scheme && scheme.len() == 1 {
        // A single letter before the colon is a drive.
        return Err(LEADS_OUT);
    }
    if is_scheme && !scheme.is_empty() {
        return Err("is no file beside the others");
    }
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in said.split('/') {
        match part {
            "" | "." => {}
            ".." => parts.pop().map(drop).ok_or(LEADS_OUT)?,
            // Some systems drop trailing dots and blanks from a name, and take `.. ` for `..`.
            _ if part.trim_end_matches(['.', ' ']).is_empty() || part.contains('\0') => return Err(NO_NAME),
            // On Windows a colon names a stream within a file.
            _ if cfg!(windows) && part.contains(':') => return Err(NO_NAME),
            _ => parts.push(part),
        }
    }
    match parts.is_empty() {
        true => Err(NO_NAME),
        false => Ok(parts.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_in_every_spelling() {
        for (base, said, name) in [
            ("", "a.bin", "a.bin"),
            ("", "./sub//a.bin", "sub/a.bin"),
            ("", r".\sub\.\a.bin", "sub/a.bin"),
            ("sets", "../a.bin", "a.bin"),
            ("sets/far", r"..\..\a b.bin", "a b.bin"),
            ("", "sub/../a.bin", "a.bin"),
            ("", ".hidden", ".hidden"),
            ("", "..a", "..a"),
            ("", "a..", "a.."),
            ("", "%2e%2e/a", "%2e%2e/a"),
            ("", "a/\u{e9}.bin", "a/\u{e9}.bin"),
        ] {
            assert_eq!(resolve_inside(base, said).as_deref(), Ok(name), "{base} {said}");
        }
    }

    #[test]
    fn names_that_lead_out_are_refused_in_every_spelling() {
        let out = [
            "..",
            "../a",
            r"..\a",
            r"sub\..\..\a",
            "sub/../../a",
            r"sub/..\../a",
            "/a",
            r"\a",
            "//server/share/a",
            r"\\server\share\a",
            r"\\?\D:\a",
            r"\\.\pipe\a",
            r"D:\a",
            "C:/a",
            "c:a",
            r"\/a",
        ];
        let others = [
            "",
            ".",
            "./",
            "sub/..",
            "...",
            ".. /a",
            ". ./a",
            "../.. /a",
            " ",
            "a/.. /../../b",
            "a\0b",
            "..\0/a",
            "file:///a",
            "file://server/a",
            "FILE:a",
            "http://a/b",
            "s3://bucket/a",
            "git+ssh://a",
        ];
        for said in out.iter().chain(&others) {
            assert!(resolve_inside("", said).is_err(), "{said:?}");
        }
        for said in out {
            assert!(resolve_inside("", said).unwrap_err().contains("outside"), "{said:?}");
        }
        assert!(resolve_inside("sets", "../../a").is_err());
    }

    #[test]
    fn nothing_outside_of_the_folder_is_opened() {
        let place = tempfile::tempdir().unwrap();
        let inner = place.path().join("in");
        std::fs::create_dir_all(inner.join("sub")).unwrap();
        std::fs::write(place.path().join("outside"), "o").unwrap();
        std::fs::write(inner.join("sub/own"), "own").unwrap();
        let folder = Folder::containing(&inner.join("file"));
        assert!(folder.exists(r"sub\own") && folder.open("./sub/own").is_ok());
        let absolute = place.path().join("outside").display().to_string();
        for name in ["../outside", r"..\outside", r"sub\..\..\outside", &absolute] {
            assert!(!folder.exists(name), "{name}");
            assert_eq!(folder.open(name).err().unwrap().kind(), ErrorKind::InvalidInput, "{name}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn links_in_the_folder_are_followed() {
        let place = tempfile::tempdir().unwrap();
        let inner = place.path().join("in");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(place.path().join("outside"), "o").unwrap();
        std::os::unix::fs::symlink("../outside", inner.join("link")).unwrap();
        assert!(Folder::containing(&inner.join("file")).open("link").is_ok());
    }
}
