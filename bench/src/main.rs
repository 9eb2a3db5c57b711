//! Reproduces the project's published figures: sizes of known sequences compared with other systems, and the
//! speed and memory of a compile. Every figure is that of a file that was decoded again and compared with its
//! source.

mod assets;
mod baselines;
mod choice;
mod clip_sizes;
mod clips;
mod compare;
mod compiles;
mod curves;
mod decode;
mod dice;
mod digests;
mod frames;
#[cfg(feature = "gpu")]
mod gpu;
mod machine;
mod memory;
mod particle_scenes;
mod particles;
mod parts;
mod peers;
mod pictures;
mod random;
mod scenes;
mod sequences;
mod sheet;
mod slopes;
mod small;
mod soft;
mod speed;
mod stages;
mod svg;
mod tables;
mod time_left;

use clap::{Parser, Subcommand};

/// Benchmarks of meshreel.
#[derive(Parser)]
#[command(name = "meshreel-bench", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Whole assets with all channels: sizes in the presets small and fast, and the decoding speed of one
    /// core.
    Assets(assets::Arguments),
    /// Bits per vertex and frame of the six sequences, compared with the baselines.
    Sequences(sequences::Arguments),
    /// Size, speed and error of the soft codec alone.
    Soft(soft::Arguments),
    /// Bytes, error and speed of skeletal clips, compared with ACL.
    Clips(clips::Arguments),
    /// Keys and memory of skeletal clips in codec curve.
    Curves(curves::Arguments),
    /// Make the default sets of tables of the soft codec.
    Tables(tables::Arguments),
    /// Cost of the automatic choice of method, compared with the best method.
    Choice(choice::Arguments),
    /// Write moving meshes that no corpus has, to compare methods on.
    Scenes(scenes::Arguments),
    /// Compile and verify random scenes, and reduce those that break their promise.
    Random(random::Arguments),
    /// Sizes of particles, compared with zstd on quantized differences.
    Particles(particles::Arguments),
    /// Bytes and decoding time beside other codecs, at the same largest error.
    Peers(peers::Arguments),
    /// Draw the pictures of docs/METHODS.md.
    Pictures(pictures::Arguments),
    /// Speed of decoding, by stage.
    Decode(decode::Arguments),
    /// Speed of decoding files of any method, frame by frame.
    Frames(frames::Arguments),
    /// Cost of files on a graphics card.
    #[cfg(feature = "gpu")]
    Gpu(gpu::Arguments),
    /// Growth of each verb's time when one count of an input doubles.
    Slopes(slopes::Arguments),
    /// Bytes of compiled files by part: what is stored once, by kind, and frames.
    Parts(parts::Arguments),
    /// Cost of a small mesh: bytes, memory and time.
    Small(small::Arguments),
    /// Bytes per vertex that compiling, decoding and playing a large mesh take.
    Memory(memory::Arguments),
    /// Checksums of files compiled with every method, preset and option, and of what they decode to, compared
    /// with those of a list.
    Digests(digests::Arguments),
    /// Processor time and output size of many compiles, by one compiler or by several in turn.
    Compiles(compiles::Arguments),
    /// Accuracy of the remaining time that a compile displays.
    TimeLeft(time_left::Arguments),
    /// Speed and peak memory of a compile.
    CompileSpeed(speed::Arguments),
}

fn main() -> std::process::ExitCode {
    let result = match Arguments::parse().command {
        Command::Assets(arguments) => assets::run(&arguments),
        Command::Sequences(arguments) => sequences::run(&arguments),
        Command::Soft(arguments) => soft::run(&arguments),
        Command::Clips(arguments) => clips::run(&arguments),
        Command::Curves(arguments) => curves::run(&arguments),
        Command::Tables(arguments) => tables::run(&arguments),
        Command::Choice(arguments) => choice::run(&arguments),
        Command::Scenes(arguments) => scenes::run(&arguments),
        Command::Random(arguments) => random::run(&arguments),
        Command::Particles(arguments) => particles::run(&arguments),
        Command::Peers(arguments) => peers::run(&arguments),
        Command::Pictures(arguments) => pictures::run(&arguments),
        Command::Decode(arguments) => decode::run(&arguments),
        Command::Frames(arguments) => frames::run(&arguments),
        #[cfg(feature = "gpu")]
        Command::Gpu(arguments) => gpu::run(&arguments),
        Command::Slopes(arguments) => slopes::run(&arguments),
        Command::Parts(arguments) => parts::run(&arguments),
        Command::Small(arguments) => small::run(&arguments),
        Command::Memory(arguments) => memory::run(&arguments),
        Command::Digests(arguments) => digests::run(&arguments),
        Command::Compiles(arguments) => compiles::run(&arguments),
        Command::TimeLeft(arguments) => time_left::run(&arguments),
        Command::CompileSpeed(arguments) => speed::run(&arguments),
    };
    match result {
        Ok(true) => std::process::ExitCode::SUCCESS,
        Ok(false) => std::process::ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::from(1)
        }
    }
}
