//! The list of passes.

use crate::{Error, Options, Progress, Report};
use meshreel_scene::{Remark, Scene};
use std::path::Path;

/// Compiles `scene` into `target`. `remarks` are those of the reader; the report has them and its own.
pub fn compile(
    _scene: &Scene,
    _remarks: Vec<Remark>,
    _target: &Path,
    _options: &Options,
    _progress: &dyn Progress,
) -> Result<Report, Error> {
    todo!()
}
