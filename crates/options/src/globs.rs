//! Globs over paths of nodes and names of joints.

use crate::Error;
use globset::{Glob, GlobMatcher, GlobSet, GlobSetBuilder};

/// Compiles a set of globs; `flag` is the name for errors.
pub fn globs(flag: &str, list: &[String]) -> Result<GlobSet, Error> {
    let mut builder = GlobSetBuilder::new();
    for text in list {
        builder.add(glob(flag, text)?.glob().clone());
    }
    builder.build().map_err(|e| Error::misuse(format!("{flag}: {e}")))
}

/// Compiles one glob; `flag` is the name for errors.
pub fn glob(flag: &str, text: &str) -> Result<GlobMatcher, Error> {
    match Glob::new(text) {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(e) => Err(Error::misuse(format!("{flag} {text}: {e}"))),
    }
}

/// `true` if the set matches the object at `path`. A glob that matches a group also matches everything below
/// it.
pub fn glob_matches(set: &GlobSet, path: &str) -> bool {
    let mut end = path.len();
    loop {
        if set.is_match(&path[..end]) {
            return true;
        }
        match path[..end].rfind('/') {
            Some(0) | None => return false,
            Some(slash) => end = slash,
        }
    }
}
