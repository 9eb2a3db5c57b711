//! Determines the output files: one `.reel` per input or one of all, with default names.

use crate::output::Failure;
use meshreel_inputs::is_point_cache;
use meshreel_read::{is_sequence, sequence};
use std::path::{Path, PathBuf};

/// The targets of the inputs.
#[derive(Debug, PartialEq)]
pub enum Targets {
    /// One file of all inputs.
    One(PathBuf),
    /// One file per input: in this directory, or beside the input.
    Each(Option<PathBuf>),
}

impl Targets {
    /// Returns the targets of `inputs`, by the value of `-o` and `--merge`.
    pub fn new(inputs: &[PathBuf], output: Option<&Path>, merge: bool) -> Result<Targets, Failure> {
        // A point cache belongs to its .obj.
        let scenes = inputs.iter().filter(|input| !is_point_cache(input)).count();
        match output {
            Some(output) if is_directory(output) && !merge => Ok(Targets::Each(Some(output.to_path_buf()))),
            Some(output) if is_directory(output) => Err(Failure::usage(format!(
                "--merge makes one file, and {} is a directory: name a .reel",
                output.display()
            ))),
            Some(output) if merge || scenes < 2 => Ok(Targets::One(output.to_path_buf())),
            Some(output) => Err(Failure::usage(format!(
                "{scenes} inputs and -o {}: --merge makes one file of them, and -o {}/ one of each",
                output.display(),
                output.with_extension("").display()
            ))),
            None if merge && scenes > 1 => {
                Err(Failure::usage("--merge makes one file of all inputs: name it with -o"))
            }
            None if scenes < 2 => Ok(Targets::One(default_target(&inputs[0]))),
            None => Ok(Targets::Each(None)),
        }
    }

    /// Returns the targets of a share of the inputs, which may be one or none: one file per input.
    pub fn for_shard(output: Option<&Path>) -> Result<Targets, Failure> {
        match output {
            Some(output) if !is_directory(output) => Err(Failure::usage(format!(
                "--shard makes one file of each input: -o {}/ or none",
                output.with_extension("").display()
            ))),
            output => Ok(Targets::Each(output.map(Path::to_path_buf))),
        }
    }
}

/// Returns the default target: `dir/frame.####.obj` → `dir/frame.reel`.
pub fn default_target(input: &Path) -> PathBuf {
    input.with_file_name(reel_name(input))
}

/// Returns the default name: `dir/frame.####.obj` → `frame.reel`.
pub fn reel_name(input: &Path) -> PathBuf {
    let plain = || input.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stem = sequence::stem(input).filter(|_| is_sequence(input)).unwrap_or_else(plain);
    let stem = stem.trim_end_matches(['#', '.', '_', '-', ' ']);
    PathBuf::from(format!("{}.reel", if stem.is_empty() { "out" } else { stem }))
}

/// `true` if `-o` names a directory.
fn is_directory(path: &Path) -> bool {
    let text = path.as_os_str().to_string_lossy();
    text.ends_with('/') || text.ends_with(std::path::MAIN_SEPARATOR) || path.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_outputs() {
        assert_eq!(default_target(Path::new("a/b/flag.abc")), Path::new("a/b/flag.reel"));
        assert_eq!(reel_name(Path::new("a/frame.####.obj")), Path::new("frame.reel"));
        assert_eq!(reel_name(Path::new("####.ply")), Path::new("out.reel"));
        assert_eq!(reel_name(Path::new("name ###.obj")), Path::new("name.reel"));
        assert_eq!(reel_name(Path::new("frame.%04d.obj")), Path::new("frame.reel"));
        assert_eq!(reel_name(Path::new("frame.$F4.left.obj")), Path::new("frame.left.reel"));
        assert_eq!(reel_name(Path::new("v1.2.abc")), Path::new("v1.2.reel"));
    }

    #[test]
    fn one_or_each() {
        let of = |inputs: &[&str], output: Option<&str>, merge| {
            let inputs: Vec<PathBuf> = inputs.iter().map(PathBuf::from).collect();
            Targets::new(&inputs, output.map(Path::new), merge)
        };
        let one = |path: &str| Targets::One(path.into());
        assert_eq!(of(&["d/a.abc"], None, false).unwrap(), one("d/a.reel"));
        assert_eq!(of(&["a.abc"], Some("b"), false).unwrap(), one("b"));
        assert_eq!(of(&["a.obj", "a.pc2"], Some("b"), false).unwrap(), one("b"));
        assert_eq!(of(&["a.abc", "b.abc"], Some("c"), true).unwrap(), one("c"));
        assert_eq!(of(&["a", "b"], None, false).unwrap(), Targets::Each(None));
        assert_eq!(of(&["a", "b"], Some("c/"), false).unwrap(), Targets::Each(Some("c/".into())));
        let what = of(&["a", "b"], Some("c.reel"), false).unwrap_err().what;
        assert!(what.contains("--merge") && what.contains("c/"), "{what}");
        assert!(of(&["a", "b"], None, true).is_err());
        assert!(of(&["a", "b"], Some("c/"), true).is_err());
    }
}
