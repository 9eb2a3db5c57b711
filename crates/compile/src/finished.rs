//! A compiled file that has no name yet.

use crate::Error;
use crate::report::{Inspect, Phase, Progress, Report};
use crate::threads::pool;
use crate::write::output::publish;
use meshreel_format::CompleteFile;
use std::path::{Path, PathBuf};

/// A compiled file that is complete, but has no name yet. Dropping it removes the file; the target stays as
/// it is.
pub struct Finished {
    pub(crate) report: Report,
    /// The file; `None` on a dry run.
    pub(crate) file: Option<CompleteFile>,
    pub(crate) target: PathBuf,
    /// Number of threads for the inspection; 0 stands for all cores.
    pub(crate) jobs: usize,
}

impl Finished {
    /// The report of the compile.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Moves the file to its target unless `inspect` refuses it. On a dry run nothing is inspected.
    pub fn publish(mut self, inspect: Inspect<'_>, progress: &dyn Progress) -> Result<Report, Error> {
        if let Some(file) = self.file {
            let cancellation = progress.cancellation();
            progress.update(Phase::Inspect, 0, 1);
            cancellation.check()?;
            let look = |path: &Path| pool(self.jobs)?.install(|| inspect(path));
            let published = publish(file, &self.target, &look, &mut self.report.remarks);
            published.map_err(|error| if cancellation.is_cancelled() { Error::Cancelled } else { error })?;
        }
        Ok(self.report)
    }
}
