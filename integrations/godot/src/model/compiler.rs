//! Runs the program `meshreel`, which compiles a source to a `.reel` file.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// The options of an import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompileOptions {
    /// The largest error, as the program takes it: `0.01%`, `0.5mm`; empty for its default.
    pub tolerance: String,
    /// `small`, `fast` or `classic`; empty for the default.
    pub preset: String,
    /// The unit of sources that name none: `m`, `cm`, `mm`, `in`; empty for none.
    pub unit: String,
    /// The number of levels of detail, 0 … 7.
    pub lods: u32,
    /// `true` for clips alone, without meshes.
    pub clips_only: bool,
    /// `true` for a closed cycle.
    pub cycle: bool,
    /// Further arguments.
    pub arguments: Vec<String>,
}

impl CompileOptions {
    /// Returns the arguments of the program.
    pub fn command_line(&self, input: &Path, output: &Path) -> Vec<OsString> {
        let mut out: Vec<OsString> = vec!["compile".into(), input.into(), "-o".into(), output.into()];
        let named = [("--tolerance", &self.tolerance), ("--preset", &self.preset), ("--unit", &self.unit)];
        for (name, value) in named.into_iter().filter(|(_, value)| !value.trim().is_empty()) {
            out.extend([name.into(), value.trim().into()]);
        }
        if self.lods > 0 {
            out.extend(["--lod".into(), self.lods.min(7).to_string().into()]);
        }
        let flags = [("--clips-only", self.clips_only), ("--cycle", self.cycle)];
        out.extend(flags.into_iter().filter(|(_, on)| *on).map(|(name, _)| name.into()));
        out.extend(self.arguments.iter().filter(|argument| !argument.is_empty()).map(Into::into));
        out
    }

    /// Compiles a source. Returns what the program remarked; on failure its message, with the source's name.
    /// The output is whole or absent.
    pub fn compile(&self, program: &str, input: &Path, output: &Path) -> Result<String, String> {
        let command_line = self.command_line(input, output);
        let done = Command::new(program).args(&command_line).stdin(Stdio::null()).output();
        let done = done.map_err(|error| {
            format!(
                "{}: the program {program:?} cannot be run: {error}. Install meshreel, or name it in the \
                 project setting meshreel/program",
                input.display()
            )
        })?;
        let text = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        match done.status.success() {
            true => Ok(text),
            false => Err(format!("{}: meshreel compile, {}: {text}", input.display(), done.status)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_arguments() {
        let options = CompileOptions {
            tolerance: " 0.5mm ".into(),
            preset: "fast".into(),
            lods: 9,
            cycle: true,
            arguments: vec!["--fps".into(), "24".into(), String::new()],
            ..CompileOptions::default()
        };
        let line = options.command_line(Path::new("a b.abc"), Path::new("out.reel"));
        let wanted = "compile|a b.abc|-o|out.reel|--tolerance|0.5mm|--preset|fast|--lod|7|--cycle|--fps|24";
        assert_eq!(line, wanted.split('|').collect::<Vec<_>>());
        let plain = CompileOptions::default().command_line(Path::new("a"), Path::new("b"));
        assert_eq!(plain.len(), 4);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_with_the_name_of_the_source() {
        let options = CompileOptions::default();
        let error = options.compile("/no/such/program", Path::new("flag.abc"), Path::new("flag.reel"));
        let error = error.unwrap_err();
        assert!(error.starts_with("flag.abc: ") && error.contains("meshreel/program"), "{error}");
    }
}
