//! Where the corpus of real files is, if it is there.

use std::path::{Path, PathBuf};

/// The folder of Alembic files.
pub fn alembic() -> Option<PathBuf> {
    let root = match std::env::var_os("MESHREEL_CORPUS") {
        Some(root) => PathBuf::from(root),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
    };
    let folder = root.join("alembic");
    if !folder.is_dir() {
        println!("skipped: no corpus");
        return None;
    }
    Some(folder)
}
