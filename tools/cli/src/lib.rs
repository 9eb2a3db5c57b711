//! The command line of meshreel, which the program and the Python package share: parse, run one verb, print.

mod cli;
mod commands;
mod content;
mod counting;
mod guard;
mod memory;
mod output;
mod picture;
mod progress;
mod signals;
mod targets;
mod units;

use clap::Parser;
use clap::error::ErrorKind;
use cli::{Cli, OutputFlags};
use output::Output;
use serde::Serialize;
use std::ffi::OsString;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: counting::CountingAllocator = counting::CountingAllocator;

/// The output of `--version --json`.
#[derive(Serialize)]
struct VersionJson {
    name: &'static str,
    version: &'static str,
}

/// Runs a command line, whose first argument is the program's name. Exit codes: 0 all well, 1 failed, 2 wrong
/// usage. A signal ends the process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let json = asks_json(&arguments);
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) if error.kind() == ErrorKind::DisplayVersion && json => {
            let version = VersionJson { name: "meshreel", version: env!("CARGO_PKG_VERSION") };
            let output = Output { flags: OutputFlags { json: true, ..OutputFlags::default() } };
            return match output.result(&version, true, String::new) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => output.failure(&failure),
            };
        }
        Err(error) if !error.use_stderr() => {
            // Help and version; a closed pipe is no error.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => return wrong_usage(&error, json),
    };
    let output = Output { flags: cli.output };
    signals::remove_files_on_signals();
    guard::record_panics();
    let outcome = guard::catch_panics(|| {
        #[cfg(feature = "store")]
        meshreel_store::connect()
            .map_err(|error| output::Failure::io(std::path::Path::new("stores"), &error))?;
        commands::run(cli.command, output)
    });
    match outcome {
        Ok(code) => code,
        Err(failure) => output.failure(&failure),
    }
}

/// `true` if there is a `--json`, even if nothing else could be parsed.
fn asks_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json")
}

/// Reports a command line that clap does not accept. `--json` is honoured.
fn wrong_usage(error: &clap::Error, json: bool) -> ExitCode {
    let output = Output { flags: OutputFlags { json, ..OutputFlags::default() } };
    output.failure(&output::usage_failure(error))
}
