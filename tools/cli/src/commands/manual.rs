//! `meshreel manual`: completions for shells and manual pages, made from the definition of the command line.

use crate::cli::{Cli, ManualArgs};
use crate::output::{Failure, Output};
use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The written files, as `--json` prints them.
#[derive(Serialize)]
struct ManualResult {
    files: Vec<PathBuf>,
}

/// Runs the verb.
pub fn run(arguments: &ManualArgs, output: Output) -> Result<ExitCode, Failure> {
    let files = write(&arguments.output).map_err(|e| Failure::io(&arguments.output, &e))?;
    let lines: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
    output.result(&ManualResult { files }, true, || lines)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a file per shell, and one page for the program and each of its verbs.
fn write(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut command = Cli::command();
    let mut files = Vec::new();
    let completions = directory.join("completions");
    std::fs::create_dir_all(&completions)?;
    for &shell in Shell::value_variants() {
        files.push(clap_complete::generate_to(shell, &mut command, "meshreel", &completions)?);
    }
    let pages = directory.join("man1");
    std::fs::create_dir_all(&pages)?;
    command.build();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
    for page in verbs.chain([&command]) {
        files.push(clap_mangen::Man::new(page.clone()).generate_to(&pages)?);
    }
    Ok(files)
}
