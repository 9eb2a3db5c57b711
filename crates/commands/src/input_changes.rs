//! Inputs that change while they are read: the failure that follows is replaced by one that names this cause.

use crate::failure::{Class, Failure};
use meshreel_files::FileStamp;
use std::path::PathBuf;

/// Runs `work`, which reads `inputs`. If it fails and one of them has changed since the beginning, the
/// failure says so.
pub fn report_input_changes<T>(
    inputs: &[PathBuf],
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let before: Vec<_> = inputs.iter().map(|path| FileStamp::read(path)).collect();
    work().map_err(|failure| {
        let mut pairs = inputs.iter().zip(&before);
        let changed = pairs.find(|(path, before)| before.is_some() && FileStamp::read(path) != **before);
        match changed {
            Some((path, _)) if !matches!(failure.class, Class::Usage | Class::Cancelled) => {
                let what = "it has changed while it was read; try again when nobody writes to it any more";
                Failure::new(Class::Io, what, Some(path.display().to_string()))
            }
            _ => failure,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_is_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.abc");
        std::fs::write(&path, "whole").unwrap();
        let inputs = [path.clone(), folder.path().join("frame.####.obj")];
        let broken = || Failure::new(Class::Malformed, "ends early", None);
        let failure = report_input_changes(&inputs, || Err::<(), _>(broken())).unwrap_err();
        assert_eq!((failure.class, &failure.what[..]), (Class::Malformed, "ends early"));
        let failure = report_input_changes(&inputs, || {
            std::fs::write(&path, "cut").unwrap();
            Err::<(), _>(broken())
        });
        let failure = failure.unwrap_err();
        assert_eq!(failure.class, Class::Io);
        assert!(failure.line().contains("a.abc: it has changed while it was read"), "{}", failure.line());
    }
}
