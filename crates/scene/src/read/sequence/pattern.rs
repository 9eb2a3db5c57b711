//! File names with a place for a number, and the files that fit them.

use super::kind::Kind;
use crate::Error;
use std::path::{Path, PathBuf};

/// A file name with a place for a number.
pub(super) struct Pattern {
    before: Vec<u8>,
    after: Vec<u8>,
    /// Digits of the number, at least; 0: as many as there are.
    width: usize,
}

impl Pattern {
    pub(super) fn parse(path: &Path) -> Option<Pattern> {
        let name = path.file_name()?.as_encoded_bytes();
        let split = |start: usize, stop: usize, width| {
            Some(Pattern { before: name[..start].into(), after: name[stop..].into(), width })
        };
        if let Some(last) = name.iter().rposition(|&b| b == b'#') {
            let start = name[..last].iter().rposition(|&b| b != b'#').map_or(0, |i| i + 1);
            // A single one stands for any number of digits, as many programs have it.
            let width = last + 1 - start;
            return split(start, last + 1, if width == 1 { 0 } else { width });
        }
        let start = name.iter().rposition(|&b| b == b'%')?;
        let digits = name[start + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        if name.get(start + 1 + digits) != Some(&b'd') {
            return None;
        }
        let width = std::str::from_utf8(&name[start + 1..start + 1 + digits]).ok()?;
        let width = if width.is_empty() { 0 } else { width.parse().ok()? };
        split(start, start + digits + 2, width)
    }

    /// The number in `name`, if it fits: padded to the width, and longer only where it must be.
    pub(super) fn number(&self, name: &[u8]) -> Option<u64> {
        let digits = name.strip_prefix(self.before.as_slice())?.strip_suffix(self.after.as_slice())?;
        let fits = match self.width {
            0 => !digits.is_empty(),
            width => digits.len() == width || (digits.len() > width && digits[0] != b'0'),
        };
        if !fits || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        std::str::from_utf8(digits).ok()?.parse().ok().filter(|n| *n < 1 << 53)
    }

    pub(super) fn kind(&self, path: &Path) -> Result<Kind, Error> {
        let ends = |e: &[u8]| {
            self.after.len() >= e.len() && self.after[self.after.len() - e.len()..].eq_ignore_ascii_case(e)
        };
        if ends(b".obj") {
            Ok(Kind::Obj)
        } else if ends(b".ply") {
            Ok(Kind::Ply)
        } else {
            Err(Error::unsupported(path, "sequences of files other than .obj and .ply"))
        }
    }

    /// Files that fit, by number.
    pub(super) fn find(&self, path: &Path) -> Result<(Vec<u64>, Vec<PathBuf>), Error> {
        let folder = match path.parent() {
            Some(p) if !p.as_os_str().is_empty() => p,
            _ => Path::new("."),
        };
        let mut found = Vec::new();
        for name in meshreel_files::names(folder).map_err(|e| Error::io(folder, e))? {
            if let Some(number) = self.number(name.as_encoded_bytes()) {
                found.push((number, folder.join(name)));
            }
        }
        found.sort();
        if found.is_empty() {
            return Err(Error::io(
                path,
                std::io::Error::new(std::io::ErrorKind::NotFound, "no file fits this pattern"),
            ));
        }
        if let Some(pair) = found.windows(2).find(|p| p[0].0 == p[1].0) {
            let [a, b] = [&pair[0].1, &pair[1].1].map(|p| p.display().to_string());
            return Err(Error::misuse(format!(
                "{}: number {} is there twice: {a} and {b}",
                path.display(),
                pair[0].0
            )));
        }
        Ok(found.into_iter().unzip())
    }

    /// The pattern without number and extension: 'frame.####.obj' is 'frame'.
    pub(super) fn name(&self) -> String {
        let name = String::from_utf8_lossy(&self.before);
        let name = name.trim_end_matches(['.', '_', '-', ' ']);
        if name.is_empty() { "mesh".into() } else { name.into() }
    }
}
