//! `meshreel extract`: converts a `.reel` to Alembic, glTF, BVH, an OBJ file or a sequence of them, or vertex
//! animation textures.

use crate::cli::ExtractArgs;
use crate::output::{Failure, Output, one_line};
use crate::progress::Progress;
use crate::units;
use meshreel_commands::extract::{self, Extracted, Options};
use meshreel_compile::Cancellation;
use meshreel_compile::report::readable::short;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(arguments: &ExtractArgs, output: Output) -> Result<ExitCode, Failure> {
    let name = arguments.output.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let progress = Progress::new(output, &name);
    let step = |phase: &str, done, total| progress.step(phase, done, total);
    let options = Options {
        bones: arguments.bones,
        level: usize::from(arguments.lod),
        format: arguments.format,
        normals: arguments.normals,
        image: arguments.image,
        tolerance: arguments.tolerance,
        compress: arguments.compress,
    };
    let done = extract::extract(&arguments.file, &arguments.output, &options, &step, &Cancellation::never())?;
    drop(progress);
    output.remarks(&done.remarks);
    output.result(&done, true, || summary(&done))?;
    Ok(ExitCode::SUCCESS)
}

fn summary(done: &Extracted) -> String {
    let mut text = format!(
        "{}: {}, {}, {}, {} in {:.2} s",
        one_line(&done.output),
        units::with_noun(done.frames, "frame"),
        units::with_noun(done.meshes, "mesh"),
        units::with_noun(done.clips, "clip"),
        units::bytes(done.bytes),
        done.seconds
    );
    if let Some(textures) = &done.openvat {
        text += &format!(
            "\n{} vertices in textures of {} x {}: at most {} away (frame {}, {})",
            textures.vertices,
            textures.width,
            textures.height,
            short(textures.error),
            textures.error_frame,
            one_line(&textures.error_mesh)
        );
        if let Some(degrees) = textures.normal_error {
            text += &format!(", normals {} degrees", short(degrees));
        }
    }
    if let Some(compressed) = &done.compressed {
        text += &format!(
            "\n{}: positions at most {} away ({}), {:.0} % of what they may be",
            compressed.extension,
            short(compressed.error),
            one_line(&compressed.error_mesh),
            100.0 * compressed.share
        );
    }
    text
}
