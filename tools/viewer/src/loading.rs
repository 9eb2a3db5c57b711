//! Opens files in the background: a `.reel` directly, anything else after compiling it, and uploads the
//! static data to the graphics card.

use crate::document::{Document, OpenedFile};
use crate::errors::one_line;
use crate::source::input_options;
use anyhow::bail;
use meshreel::raw::format::FileStamp;
use meshreel::{FrameDecoder, Reel};
use meshreel_check::{machine_limits, reopen_while};
use meshreel_compile::{Cancellation, Phase, Progress, compile};
use meshreel_inputs::open;
use meshreel_options::Options;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A device and its queue.
pub type DeviceAndQueue = (wgpu::Device, wgpu::Queue);

/// A file that is being opened. Dropping it cancels the work.
pub struct Loading {
    pub path: PathBuf,
    pub compiles: bool,
    /// The stamp of the file before it was opened.
    pub stamp: Option<FileStamp>,
    progress: Arc<LoadingProgress>,
    result: Receiver<Result<Box<Document>, String>>,
    thread: Option<JoinHandle<()>>,
    /// Folder of the compiled file.
    folder: Option<Arc<tempfile::TempDir>>,
}

/// Longest wait for a cancelled compile before its files are removed anyway.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(3);

/// Progress in units of 2⁻³², and the cancellation flag.
struct LoadingProgress(AtomicU64, Cancellation);

impl Progress for LoadingProgress {
    fn update(&self, phase: Phase, done: u64, total: u64) {
        // The approximate share of each phase.
        let (start, end) = match phase {
            Phase::Analyse => (0.0, 0.2),
            Phase::Search => (0.2, 0.4),
            Phase::Encode => (0.4, 0.95),
            Phase::Inspect => (0.95, 1.0),
        };
        let part = start + (end - start) * done as f64 / total.max(1) as f64;
        self.0.fetch_max((part * 4_294_967_296.0) as u64, Ordering::Relaxed);
    }

    fn cancellation(&self) -> Cancellation {
        self.1.clone()
    }
}

/// `true` if a path names a compiled file.
pub fn is_reel(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("reel"))
}

impl Loading {
    /// Starts opening; the result will be drawn on this card.
    pub fn start(path: &Path, card: DeviceAndQueue) -> Loading {
        let done = Arc::new(LoadingProgress(AtomicU64::new(0), Cancellation::new()));
        let stamp = FileStamp::read(path);
        let (told, result) = channel();
        let compiles = !is_reel(path);
        let made = if compiles { tempfile::tempdir().map(|folder| Some(Arc::new(folder))) } else { Ok(None) };
        let (folder, failed) = match made {
            Ok(folder) => (folder, None),
            Err(error) => (None, Some(format!("no folder to compile to: {error}"))),
        };
        let (own, progress, target) = (path.to_path_buf(), done.clone(), folder.clone());
        let thread = std::thread::spawn(move || {
            let result = match failed {
                Some(why) => Err(why),
                None => document(&own, target, &progress, &card).map_err(|error| one_line(&error)),
            };
            drop(told.send(result));
        });
        Loading { path: path.into(), compiles, stamp, progress: done, result, thread: Some(thread), folder }
    }

    /// Cancels at the end of the program: waits briefly for the thread, and leaves no file.
    pub fn cancel_and_wait(mut self) {
        self.progress.1.cancel();
        let since = Instant::now();
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
            && since.elapsed() < CANCEL_TIMEOUT
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.thread = None;
        if let Some(folder) = self.folder.take() {
            // A thread that still writes there has nobody to report to.
            let _ = std::fs::remove_dir_all(folder.path());
        }
    }

    /// Returns the approximate progress, 0 to 1.
    pub fn fraction(&self) -> f32 {
        (self.progress.0.load(Ordering::Relaxed) as f64 / 4_294_967_296.0) as f32
    }

    /// Returns the result, once it is ready.
    pub fn poll(&self) -> Option<Result<Box<Document>, String>> {
        match self.result.try_recv() {
            Ok(result) => Some(result),
            Err(std::sync::mpsc::TryRecvError::Empty) => None,
            Err(std::sync::mpsc::TryRecvError::Disconnected) => Some(Err(self.ended_early())),
        }
    }

    /// Waits for the result.
    pub fn wait(self) -> Result<Box<Document>, String> {
        self.result.recv().unwrap_or_else(|_| Err(self.ended_early()))
    }

    /// Returns the error for a thread that ended without a result.
    fn ended_early(&self) -> String {
        format!("{}: opening it ended early, which is a mistake of this program", self.path.display())
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        self.progress.1.cancel();
    }
}

fn document(
    path: &Path,
    folder: Option<Arc<tempfile::TempDir>>,
    progress: &LoadingProgress,
    (device, queue): &DeviceAndQueue,
) -> anyhow::Result<Box<Document>> {
    let ready = open_or_compile(path, folder, progress)?;
    Ok(Box::new(Document::new(ready, (device, queue))?))
}

fn open_or_compile(
    path: &Path,
    folder: Option<Arc<tempfile::TempDir>>,
    progress: &LoadingProgress,
) -> anyhow::Result<OpenedFile> {
    let Some(folder) = folder else { return open_compiled(path, path) };
    let (scene, remarks) = open(&[path.to_path_buf()], &input_options(path))?;
    let reel = folder.path().join("seen.reel");
    // For a quick start: little effort, and the preset that decodes fastest.
    let options = Options { effort: 1, preset: meshreel_options::Preset::Fast, ..Options::default() };
    let wanted = || !progress.1.is_cancelled();
    let inspect = |path: &Path| reopen_while(path, &wanted);
    let report = compile(scene, remarks, &reel, &options, &inspect, progress)?;
    Ok(OpenedFile { report: Some(report), folder: Some(folder), ..open_compiled(&reel, path)? })
}

/// Opens a compiled file and decodes its first frame.
fn open_compiled(reel_path: &Path, path: &Path) -> anyhow::Result<OpenedFile> {
    let reel = Reel::open(reel_path, &machine_limits())?;
    let clips = reel.clips()?;
    let has_meshes = reel.frame_count() > 0 && !reel.description().meshes.is_empty();
    if !has_meshes && clips.is_empty() {
        bail!("{}: nothing to see: the file has neither meshes nor clips", path.display());
    }
    let frames = match has_meshes {
        true => {
            let mut frames = [FrameDecoder::new(&reel)?, FrameDecoder::new(&reel)?];
            frames[0].decode(0)?;
            frames[1].decode(0)?;
            Some(frames)
        }
        false => None,
    };
    let (path, reel_path) = (path.to_path_buf(), reel_path.to_path_buf());
    Ok(OpenedFile { path, reel_path, reel, frames, clips, report: None, folder: None })
}
