//! What all passes of a compile share beside the scene.

use crate::Error;
use crate::meter::Meter;
use crate::report::Progress;
use crate::threads::pool;
use crate::tighter::RequestedOptions;
use meshreel_process::Cancellation;

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
