//! One file per verb.

mod attributes;
mod bench;
mod clip;
mod compile;
mod compile_report;
mod demo;
mod extract;
mod faces;
mod farm;
mod frame;
mod hidden;
mod info;
mod joints;
mod live;
mod lod;
mod manual;
mod parts;
mod play;
mod plot;
mod poses;
mod ranges;
mod rigs;
mod scene_info;
mod verify;

use crate::cli::Command;
use crate::output::{Failure, Output};
use std::process::ExitCode;

/// Runs the verb of the command line.
pub fn run(command: Command, output: Output) -> Result<ExitCode, Failure> {
    match command {
        Command::Compile(arguments) => compile::run(*arguments, output),
        Command::Plan(arguments) => farm::plan(*arguments, output),
        Command::Part(arguments) => farm::part(arguments, output),
        Command::Join(arguments) => farm::join(&arguments, output),
        Command::Info(arguments) => info::run(&arguments, output),
        Command::Verify(arguments) => verify::run(&arguments, output),
        Command::Extract(arguments) => extract::run(&arguments, output),
        Command::Demo(arguments) => demo::run(&arguments, output),
        Command::Play(arguments) => play::run(&arguments, output),
        Command::Bench(arguments) => bench::run(&arguments, output),
        Command::Plot(arguments) => plot::run(&arguments, output),
        Command::Manual(arguments) => manual::run(&arguments, output),
    }
}
