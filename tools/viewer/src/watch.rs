//! Watches the file that is shown, also while the window is idle.

use meshreel::raw::format::FileStamp;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time between two looks at the file.
const LOOK: Duration = Duration::from_millis(300);

/// The watch of a file. Its thread ends after the watch is dropped.
pub struct FileWatch(Arc<AtomicBool>);

impl FileWatch {
    /// Watches a path whose content had this stamp before it was opened. `wake` is called when there is
    /// another file.
    pub fn start(path: &Path, opened: Option<FileStamp>, wake: impl Fn() + Send + 'static) -> FileWatch {
        let replaced = Arc::new(AtomicBool::new(false));
        let (path, watched): (PathBuf, _) = (path.into(), Arc::downgrade(&replaced));
        std::thread::spawn(move || {
            let (mut opened, mut before) = (opened, opened);
            loop {
                std::thread::sleep(LOOK);
                let Some(replaced) = watched.upgrade() else { return };
                let stamp = FileStamp::read(&path);
                // A file that is being written differs from one look to the next.
                if stamp.is_some() && stamp == before && stamp != opened {
                    opened = stamp;
                    replaced.store(true, Ordering::Relaxed);
                    wake();
                }
                before = stamp;
            }
        });
        FileWatch(replaced)
    }

    /// Returns `true` once after the file was replaced.
    pub fn take_replaced(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}
