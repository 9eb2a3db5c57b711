//! `meshreel extract`: a `.reel` back as Alembic, glTF, BVH, an OBJ file or a sequence of them.

use crate::cli::ExtractArgs;
use crate::output::{Failure, Output};
use crate::progress::Progress;
use crate::units;
use meshreel_commands::extract;
use meshreel_compile::Cancellation;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(arguments: &ExtractArgs, output: Output) -> Result<ExitCode, Failure> {
    let name = arguments.output.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let progress = Progress::new(output, &name);
    let step = |phase: &str, done, total| progress.step(phase, done, total);
    let level = usize::from(arguments.lod);
    let never = Cancellation::never();
    let done = extract::extract(&arguments.file, &arguments.output, arguments.bones, level, &step, &never)?;
    drop(progress);
    output.remarks(&done.remarks);
    output.result(&done, true, || {
        format!(
            "{}: {}, {}, {}, {} in {:.2} s",
            done.output,
            units::number(done.frames, "frame"),
            units::number(done.meshes, "mesh"),
            units::number(done.clips, "clip"),
            units::bytes(done.bytes),
            done.seconds
        )
    })?;
    Ok(ExitCode::SUCCESS)
}
