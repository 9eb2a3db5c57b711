//! The state that all passes of a compile share: the content with its options, the threads, and the progress.

use crate::Error;
use crate::meter::Meter;
use crate::report::Progress;
use crate::threads::pool;
use meshreel_options::Options;
use meshreel_options::by_path::ByPath;
use meshreel_process::Cancellation;
use meshreel_process::remesh::Remeshed;
use meshreel_scene::{PlacedObject, Scene};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The thread pool, the progress, and the options of a compile.
pub(crate) struct CompileContext<'p> {
    pool: rayon::ThreadPool,
    pub progress: &'p dyn Progress,
    pub cancellation: Cancellation,
    pub asked: RequestedOptions,
    pub meter: Meter,
}

impl<'p> CompileContext<'p> {
    /// Checks the options, and starts the threads.
    pub fn new(asked: RequestedOptions, progress: &'p dyn Progress) -> Result<CompileContext<'p>, Error> {
        let cancellation = progress.cancellation();
        cancellation.check()?;
        asked.options.check()?;
        let pool = pool(asked.options.jobs)?;
        Ok(CompileContext { pool, progress, cancellation, asked, meter: Meter::default() })
    }

    /// Runs `work` on the threads of the pool, and reports the progress of its searches.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.meter.watch(self.progress, || self.pool.install(work))
    }

    /// Returns `result`. A cancelled compile can fail with many kinds of errors: all of them become
    /// [`Error::Cancelled`].
    pub fn or_cancelled<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.map_err(|error| if self.cancellation.is_cancelled() { Error::Cancelled } else { error })
    }
}

/// A scene, its objects, the frames that are compiled, and the options. A copy shares all of them.
#[derive(Clone)]
pub struct Content {
    /// The scene.
    pub scene: Arc<Scene>,
    /// By mesh, its fixed faces, if it was re-meshed; empty if none was.
    pub remeshed: Arc<[Option<Arc<Remeshed>>]>,
    /// The placed objects of the scene.
    pub placed: Arc<[PlacedObject]>,
    /// Time of each frame, in seconds.
    pub times: Arc<[f64]>,
    /// The options for everything.
    pub options: Arc<Options>,
    /// Objects and streams that are coded with a smaller tolerance than the file stores.
    pub tighter: Arc<Tightening>,
    /// The options for single objects, by their paths.
    pub by_path: Arc<ByPath>,
    /// Cancels the work, which then ends with an error.
    pub cancellation: Cancellation,
}

impl Content {
    /// Returns the content of a scene, with no frames yet.
    pub(crate) fn new(
        scene: Arc<Scene>,
        asked: &RequestedOptions,
        cancellation: &Cancellation,
    ) -> Result<Content, Error> {
        Ok(Content {
            placed: scene.expand()?.into(),
            scene,
            remeshed: Arc::default(),
            times: Arc::default(),
            by_path: Arc::new(ByPath::new(asked.options.clone())?),
            options: asked.options.clone(),
            tighter: asked.tighter.clone(),
            cancellation: cancellation.clone(),
        })
    }
}

/// Objects and streams that a verification found to exceed their tolerance. The next compile uses a fraction
/// of their tolerance for them; the tolerance that the file stores stays the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tightening {
    /// Paths of objects whose positions are coded with a smaller tolerance, in frames and between them.
    pub paths: BTreeSet<String>,
    /// All normals are coded with a smaller tolerance.
    pub normals: bool,
    /// All clips are coded with a smaller tolerance.
    pub clips: bool,
    /// Transforms of nodes are stored exactly, not coded.
    pub exact: bool,
}

impl Tightening {
    /// The fraction of a tolerance that is used.
    pub(crate) const FRACTION: f64 = 0.5;

    /// Returns the fraction of its tolerance that the object at `path` is coded with.
    pub(crate) fn fraction(&self, path: &str) -> f64 {
        if self.paths.contains(path) { Tightening::FRACTION } else { 1.0 }
    }

    /// Returns the options to code with, where `promised` are the options that were given.
    pub(crate) fn options(&self, promised: &Options) -> Options {
        let part = if self.normals { Tightening::FRACTION } else { 1.0 };
        Options { normal_tolerance: part * promised.normal_tolerance, ..promised.clone() }
    }
}

/// The options of a compile, and those that it codes with.
#[derive(Clone)]
pub(crate) struct RequestedOptions {
    /// The options that the file stores.
    pub promised: Arc<Options>,
    pub options: Arc<Options>,
    pub tighter: Arc<Tightening>,
}

impl RequestedOptions {
    pub fn new(promised: &Options, tighter: &Tightening) -> RequestedOptions {
        RequestedOptions {
            promised: Arc::new(promised.clone()),
            options: Arc::new(tighter.options(promised)),
            tighter: Arc::new(tighter.clone()),
        }
    }
}
