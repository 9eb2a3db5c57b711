//! Quoted globs.

use crate::Error;
use meshreel_scene::read::sequence;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The inputs that `given` names, where quoted globs, and those of shells that expand none, stand for all
/// files that match, by name. Sequences stay as they are.
pub fn expand(given: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut out = Vec::with_capacity(given.len());
    for path in given {
        let text = path.to_string_lossy();
        if !text.contains(['*', '?', '[']) || path.exists() || sequence::is_pattern(path) {
            out.push(path.clone());
            continue;
        }
        let wrong = |e: glob::PatternError| Error::misuse(format!("{text}: {e}"));
        let mut found: Vec<PathBuf> = glob::glob(&text).map_err(wrong)?.flatten().collect();
        if found.is_empty() {
            return Err(Error::io(path, std::io::Error::new(ErrorKind::NotFound, "no file matches")));
        }
        found.sort();
        out.extend(found);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_stand_for_files_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.abc", "a.abc", "c.obj"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let at = |name: &str| folder.path().join(name);
        assert_eq!(expand(&[at("*.abc"), at("x.ply")]).unwrap(), [at("a.abc"), at("b.abc"), at("x.ply")]);
        assert_eq!(expand(&[at("f.####.obj")]).unwrap(), [at("f.####.obj")]);
        assert!(matches!(expand(&[at("*.glb")]), Err(Error::Io { .. })));
        assert!(matches!(expand(&[at("a***")]), Err(Error::Misuse { .. })));
    }
}
