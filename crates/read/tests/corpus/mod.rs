//! Finds the corpus of real files, if there is one.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns the folder of Alembic files.
pub fn alembic() -> Option<PathBuf> {
    corpus_path("alembic")
}

/// Returns a file or folder of the corpus; a test that does not find it is recorded as skipped in the file
/// that `MESHREEL_SKIPPED` names.
pub fn corpus_path(path: &str) -> Option<PathBuf> {
    let root = match std::env::var_os("MESHREEL_CORPUS") {
        Some(root) => PathBuf::from(root),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
    };
    let place = root.join(path);
    if place.exists() {
        return Some(place);
    }
    let thread = std::thread::current();
    let line = format!("{}: no corpus ({path})", thread.name().unwrap_or("a test"));
    println!("skipped: {line}");
    let list = std::env::var_os("MESHREEL_SKIPPED");
    let list = list.and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok());
    if let Some(mut list) = list {
        let _ = writeln!(list, "{line}");
    }
    None
}
