//! Compiles inputs into one file, which is verified before it gets its name.

pub use crate::inspection::{Inputs, VerificationSummary};

use crate::failure::Failure;
use crate::inspection::{Inspection, InspectionOutcome, broken_promise};
use meshreel_compile::{Finished, Progress, Report, Tightening, compile_unnamed};
use meshreel_inputs as inputs;
use meshreel_options::Options;
use meshreel_scene::{Remark, Scene};
use std::path::{Path, PathBuf};

/// The result of a compile.
pub struct Compiled {
    /// The report of the compiler.
    pub report: Report,
    /// The verification; `None` with `--no-verify` and on a dry run.
    pub verified: Option<VerificationSummary>,
}

/// The advice for a promise that a second compile could not keep either.
const DEFECT_ADVICE: &str = "this is a defect of meshreel, please report it with the input; --no-verify writes the file as it is, --tolerance and --between change what is promised";

/// Compiles `opened`, the scene and remarks that were read from `inputs`, into `target`. The finished file is
/// then verified against `inputs`, which are opened again. If it breaks a promise, a second compile uses
/// tighter error bounds where it did; if that breaks one too, it is an error, and the target stays as it was.
pub fn compile(
    opened: (Scene, Vec<Remark>),
    inputs: Inputs<'_>,
    target: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Compiled, Failure> {
    let first = finish(opened, target, (options, &Tightening::default()), progress)?;
    let refused = match publish(first, inputs, options, progress)? {
        Ok(compiled) => return Ok(compiled),
        Err(refused) => refused,
    };
    let opened = inputs::open(inputs.paths, inputs.options)?;
    let second = finish(opened, target, (options, &tighter(&refused, options)), progress)?;
    match publish(second, inputs, options, progress)? {
        Ok(mut compiled) => {
            compiled.verified.iter_mut().for_each(|verified| verified.cured.clone_from(&refused.failures));
            Ok(compiled)
        }
        Err(refused) => Err(broken_promise(&refused, target, DEFECT_ADVICE)),
    }
}

/// Compiles all but the final name. Drops the scene, so that it takes no memory beside the one that the file
/// is verified with.
fn finish(
    (scene, remarks): (Scene, Vec<Remark>),
    target: &Path,
    options: (&Options, &Tightening),
    progress: &dyn Progress,
) -> Result<Finished, Failure> {
    compile_unnamed(scene, remarks.clone(), target, options, progress)
        .map_err(|error| Failure::from(error).with_reader_remarks(remarks))
}

/// Verifies a finished file and gives it its name; returns the report of the verification if it is refused.
fn publish(
    finished: Finished,
    inputs: Inputs<'_>,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Result<Compiled, meshreel_check::Report>, Failure> {
    let inspection = Inspection::new((!options.no_verify).then_some(inputs), progress);
    let published = finished.publish(&|path| inspection.inspect(path), progress);
    match (inspection.outcome()?, published) {
        (InspectionOutcome::Broken(refused), _) => Ok(Err(refused)),
        (_, Err(error)) => Err(error.into()),
        (InspectionOutcome::Holds(verified), Ok(report)) => {
            Ok(Ok(Compiled { report, verified: Some(verified) }))
        }
        (InspectionOutcome::NotVerified, Ok(report)) => Ok(Ok(Compiled { report, verified: None })),
    }
}

/// Returns the objects and streams that broke a promise in a report.
fn tighter(report: &meshreel_check::Report, options: &Options) -> Tightening {
    let meshes = report.meshes.iter().filter(|mesh| !mesh.ok).map(|mesh| &mesh.path);
    let locators = report.locators.iter().filter(|locator| !locator.ok).map(|locator| &locator.path);
    let failures = report.failures.iter().map(|failure| &failure.path);
    let beyond = |angle: f64| angle.is_nan() || angle > options.normal_tolerance;
    Tightening {
        paths: meshes.chain(locators).chain(failures).cloned().collect(),
        normals: report.meshes.iter().filter_map(|mesh| mesh.normal_max_deg).any(beyond),
        clips: !report.clips.iter().all(|clip| clip.ok) || !report.rigs.iter().all(|rig| rig.ok),
        exact: !report.locators.iter().all(|locator| locator.ok),
    }
}

/// Refuses a target that is an input or has the extension of one.
pub fn check_target(target: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    let extension = target.extension().and_then(|e| e.to_str()).unwrap_or_default();
    if inputs::EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str()) {
        return Err(Failure::usage(format!(
            "{}: the output is a .reel; to convert a .reel back use 'meshreel extract'",
            target.display()
        )));
    }
    let Ok(real) = target.canonicalize() else {
        return Ok(());
    };
    match inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == real)) {
        true => Err(Failure::usage(format!("{}: is an input and the output", target.display()))),
        false => Ok(()),
    }
}
