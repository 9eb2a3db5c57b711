//! Files on their way: a `.reel` is opened at once, anything else is compiled in the background first.

use crate::source::input_options;
use meshreel_compile::{Phase, Progress, compile};
use meshreel_inputs::open;
use meshreel_options::Options;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};

/// A file that can be opened: where it lies, and the folder that goes with it.
pub struct Ready {
    pub reel: PathBuf,
    pub folder: Option<tempfile::TempDir>,
}

/// A compile that runs.
pub struct Loading {
    pub path: PathBuf,
    done: Arc<Done>,
    result: Receiver<Result<Ready, String>>,
}

/// Parts of the work, in 2⁻³² of it.
#[derive(Default)]
struct Done(AtomicU64);

impl Progress for Done {
    fn update(&self, phase: Phase, done: u64, total: u64) {
        // What each phase takes of the whole, about.
        let (start, end) = match phase {
            Phase::Analyse => (0.0, 0.2),
            Phase::Search => (0.2, 0.4),
            Phase::Encode => (0.4, 0.95),
            Phase::Inspect => (0.95, 1.0),
        };
        let part = start + (end - start) * done as f64 / total.max(1) as f64;
        self.0.fetch_max((part * 4_294_967_296.0) as u64, Ordering::Relaxed);
    }
}

/// Whether a path names a compiled file.
pub fn is_reel(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("reel"))
}

impl Loading {
    /// Begins.
    pub fn start(path: &Path) -> Loading {
        let done = Arc::new(Done::default());
        let (told, result) = channel();
        let (own, progress) = (path.to_path_buf(), done.clone());
        std::thread::spawn(move || drop(told.send(compiled(&own, &*progress))));
        Loading { path: path.into(), done, result }
    }

    /// What part of it is done, about.
    pub fn part(&self) -> f32 {
        (self.done.0.load(Ordering::Relaxed) as f64 / 4_294_967_296.0) as f32
    }

    /// The result, once it is there.
    pub fn poll(&self) -> Option<Result<Ready, String>> {
        match self.result.try_recv() {
            Ok(result) => Some(result),
            Err(std::sync::mpsc::TryRecvError::Empty) => None,
            Err(std::sync::mpsc::TryRecvError::Disconnected) => Some(Err("the compile ended early".into())),
        }
    }

    /// Waits for it.
    pub fn wait(self) -> Result<Ready, String> {
        self.result.recv().unwrap_or_else(|_| Err("the compile ended early".into()))
    }
}

fn compiled(path: &Path, progress: &dyn Progress) -> Result<Ready, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let (scene, remarks) = open(&[path.to_path_buf()], &input_options(path)).map_err(|e| e.to_string())?;
    let reel = folder.path().join("seen.reel");
    // To be seen soon: little work, and what is decoded the fastest.
    let options = Options { effort: 1, preset: meshreel_options::Preset::Fast, ..Options::default() };
    compile(&scene, remarks, &reel, &options, &meshreel_check::reopen, progress)
        .map_err(|e| e.to_string())?;
    Ok(Ready { reel, folder: Some(folder) })
}
