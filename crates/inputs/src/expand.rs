//! Expansion of quoted globs.

use crate::Error;
use meshreel_files::store;
use meshreel_read::sequence;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Expands globs in `given` (quoted ones, and those of shells that expand none) to all files that match,
/// sorted by name. Patterns of sequences stay as they are.
pub fn expand(given: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut out = Vec::with_capacity(given.len());
    for path in given {
        let text = path.to_string_lossy();
        if !text.contains(['*', '?', '[']) || sequence::is_pattern(path) || meshreel_files::exists(path) {
            out.push(path.clone());
            continue;
        }
        let wrong = |e: glob::PatternError| Error::misuse(format!("{text}: {e}"));
        let mut found: Vec<PathBuf> = match store::url(path) {
            Some(_) => in_folder(path, &glob::Pattern::new(&name_of(path)).map_err(wrong)?)?,
            None => glob::glob(&text).map_err(wrong)?.flatten().collect(),
        };
        if found.is_empty() {
            return Err(Error::io(path, std::io::Error::new(ErrorKind::NotFound, "no file matches")));
        }
        found.sort();
        out.extend(found);
    }
    Ok(out)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the files of a store in the folder of `path` whose names match.
fn in_folder(path: &Path, pattern: &glob::Pattern) -> Result<Vec<PathBuf>, Error> {
    let folder = path.parent().unwrap_or(path);
    let names = meshreel_files::names(folder).map_err(|e| Error::io(folder, e))?;
    let matching = names.into_iter().filter(|name| pattern.matches(&name.to_string_lossy()));
    Ok(matching.map(|name| folder.join(name)).collect())
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
