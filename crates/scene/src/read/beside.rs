//! Files that a file names.

use std::path::{Component, Path, PathBuf};

/// A relative path without `.` and `..`; none where it leads out of the folder that it starts from. A file
/// says what is read with it, and whoever wrote that file shall not choose among all files of this machine.
/// Links are the folder's own affair: these its owner made.
pub(crate) fn inside(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => out.push(name),
            Component::CurDir => {}
            Component::ParentDir if out.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(out)
}
