//! The runtime as a web page uses it, on one thread and without a system: golden files are compiled into the
//! program, which panics unless they decode and play correctly. `tests/portable.sh` runs it as WebAssembly
//! that imports nothing.

use meshreel_runtime_test::{digest, play};

/// The names and contents of golden files.
macro_rules! golden {
    ($($name:literal)*) => {
        [$(($name, &include_bytes!(concat!("../../../../testdata/golden/v0/", $name))[..])),*]
    };
}

fn main() {
    let digests = include_str!("../../../../testdata/golden/v0/DIGESTS");
    let files = golden!(
        "everything_zstd.reel" "everything_lz4.reel" "everything_deflate.reel" "flag_small.reel"
        "flag_fast.reel" "robot_small.reel" "snake_small.reel" "square.reel" "wall_fast.reel"
    );
    for (name, bytes) in files {
        let found = digest(bytes.to_vec()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let line = digests.lines().find(|line| line.ends_with(name)).expect("a digest");
        assert!(line.starts_with(&format!("{found:016x}")), "{name}");
        let shown = play(bytes.to_vec()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(shown > 0, "{name} shows nothing");
        println!("{name}: {shown} frames");
    }
}
