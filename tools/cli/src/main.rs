//! `meshreel`: the command line. Parse, run one verb, print, exit: 0 all well, 1 failed, 2 wrong usage.

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
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: counting::CountingAllocator = counting::CountingAllocator;

/// The output of `--version --json`.
#[derive(Serialize)]
struct VersionJson {
    name: &'static str,
    version: &'static str,
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.kind() == ErrorKind::DisplayVersion && asks_json() => {
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
        Err(error) => return wrong_usage(&error),
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
fn asks_json() -> bool {
    std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

/// Reports a command line that clap does not accept. `--json` is honoured.
fn wrong_usage(error: &clap::Error) -> ExitCode {
    let json = asks_json();
    let output = Output { flags: OutputFlags { json, ..OutputFlags::default() } };
    output.failure(&output::usage_failure(error))
}
