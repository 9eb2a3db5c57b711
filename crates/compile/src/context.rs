//! What all passes of a compile share beside the scene.

use crate::Error;
use crate::meter::Meter;
use crate::report::Progress;
use crate::threads::pool;
use crate::tighter::{RequestedOptions, Tightening};
use meshreel_options::Options;
use meshreel_options::by_path::ByPath;
use meshreel_process::Cancellation;
use meshreel_process::remesh::Remeshed;
use meshreel_scene::{PlacedObject, Scene};
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
