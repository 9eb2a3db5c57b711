//! Into which file inputs may be compiled.

use crate::failure::Failure;
use meshreel_inputs as inputs;
use std::path::{Path, PathBuf};

/// Refuses to write over an input, or under the name of one.
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
