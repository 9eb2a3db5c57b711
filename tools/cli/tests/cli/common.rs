//! Runs the binary, and finds test files.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The outcome of a run.
pub struct Run {
    /// Exit code; −1 if a signal ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    fn from_output(output: Output) -> Run {
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        }
    }

    /// Returns stdout as exactly one JSON object.
    pub fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}: {:?} {:?}", self.stdout, self.stderr));
        assert!(value.is_object(), "{value}");
        value
    }

    /// Fails the test unless the exit code is `code`.
    #[track_caller]
    pub fn expect(self, code: i32) -> Run {
        assert_eq!(self.code, code, "stdout {:?} stderr {:?}", self.stdout, self.stderr);
        self
    }

    /// Returns the only line of stderr that is an error.
    #[track_caller]
    pub fn error_line(&self) -> &str {
        let mut lines = self.stderr.lines().filter(|line| line.starts_with("error: "));
        let line = lines.next().unwrap_or_else(|| panic!("no error in {:?}", self.stderr));
        assert_eq!(lines.next(), None, "more than one error line");
        line
    }
}

/// Returns a command for the binary.
pub fn binary() -> Command {
    Command::new(env!("CARGO_BIN_EXE_meshreel"))
}

/// Runs the binary with `arguments`.
pub fn run<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Run {
    Run::from_output(binary().args(arguments).output().expect("the binary runs"))
}

/// Runs the binary with words separated by blanks; words `$NAME` are replaced by paths.
pub fn run_line(line: &str, paths: &[(&str, &Path)]) -> Run {
    run(line.split_whitespace().map(|word| {
        paths
            .iter()
            .find(|(name, _)| *name == word)
            .map_or(PathBuf::from(word), |(_, path)| path.to_path_buf())
    }))
}

pub use meshreel_testkit::bundled;

pub use meshreel_testkit::corpus;

/// Returns the names of all files in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
