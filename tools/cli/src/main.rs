//! The program `meshreel`.

use std::process::ExitCode;

fn main() -> ExitCode {
    meshreel_cli::run(std::env::args_os())
}
