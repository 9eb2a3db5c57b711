//! The parts that need no engine, on real files, against the decoder.

mod clips;
mod hierarchy;
mod playing;
mod surfaces;
mod trouble;

use meshreel::{FrameDecoder, FrameView, Limits, Pace, Reel};
use std::path::{Path, PathBuf};

/// Returns the path of a committed file.
fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden").join(name)
}

/// Returns a file that `tests/godot.sh` has compiled with the program; `None`, said to be skipped, without
/// it.
fn compiled(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("MESHREEL_TEST_FILES").map(|folder| Path::new(&folder).join(name));
    let path = path.filter(|path| path.exists());
    if path.is_none() {
        eprintln!("skipped: {name} is compiled by tests/godot.sh, with the program meshreel");
    }
    path
}

fn open(path: &Path) -> Reel {
    Reel::open(path, &Limits::default()).unwrap()
}

/// Decodes a frame of a file.
fn decoded(reel: &Reel, frame: usize) -> FrameDecoder {
    let mut decoder = FrameDecoder::new(reel).unwrap();
    decoder.decode(frame).unwrap();
    decoder
}

/// Returns the view between two decoded frames.
fn between<'a>(first: &'a FrameDecoder, second: &'a FrameDecoder, blend: f32) -> FrameView<'a> {
    FrameView::between(first, second, blend, Pace::new(1.0 / 24.0, 1.0)).unwrap()
}

/// Files with frames: all methods and presets.
const FILES: [&str; 12] = [
    "v0/chains_small.reel",
    "v0/everything_lz4.reel",
    "v0/flag_apart.reel",
    "v0/flag_fast.reel",
    "v0/particles_small.reel",
    "v0/points_fast.reel",
    "v0/robot_small.reel",
    "v0/snake_small.reel",
    "v0/square.reel",
    "v0/wall_fast.reel",
    "v0/wall_packed.reel",
    "v0/wall_small.reel",
];
