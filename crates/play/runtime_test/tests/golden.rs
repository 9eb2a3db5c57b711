//! Golden files of all block formats and presets decode to the same bits in every build: with the decoders in
//! Rust if this package is built alone, with the C libraries in a run of the whole workspace.

use meshreel_runtime_test::{digest, play};
use std::path::Path;

#[test]
fn golden_files_decode_to_the_same_bits() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/golden/v0");
    let digests = std::fs::read_to_string(folder.join("DIGESTS")).expect("the digests of golden files");
    let mut seen = 0;
    for line in digests.lines() {
        let (expected, name) = line.split_once("  ").expect("a digest and a name");
        let bytes = std::fs::read(folder.join(name)).expect("a golden file");
        let found = digest(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(format!("{found:016x}"), expected, "{name}");
        seen += 1;
    }
    assert!(seen >= 9, "only {seen} golden files");
}

#[test]
fn golden_files_play_without_threads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/golden/v0");
    for name in ["flag_small.reel", "wall_fast.reel", "everything_zstd.reel"] {
        let bytes = std::fs::read(folder.join(name)).expect("a golden file");
        let shown = play(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(shown > 1, "{name}: {shown} frames shown");
    }
}
