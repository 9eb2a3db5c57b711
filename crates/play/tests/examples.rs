//! Runs the examples.

#[path = "../examples/minimal.rs"]
#[allow(dead_code)]
mod minimal;
#[path = "../examples/pack_file.rs"]
#[allow(dead_code)]
mod pack_file;
#[path = "../examples/sequencer.rs"]
#[allow(dead_code)]
mod sequencer;

use crate::common::sample;
use std::path::PathBuf;

fn files(folder: &tempfile::TempDir, frames: &[usize]) -> Vec<PathBuf> {
    let write = |(i, &frames): (usize, &usize)| {
        let path = folder.path().join(format!("{i}.reel"));
        std::fs::write(&path, sample(frames, i == 0).parts.write()).unwrap();
        path
    };
    frames.iter().enumerate().map(write).collect()
}

#[test]
fn minimal_is_short_and_works() {
    let folder = tempfile::tempdir().unwrap();
    minimal::play(&files(&folder, &[12])[0], 10);
    let text = include_str!("../examples/minimal.rs");
    let body = text.split("pub fn play").nth(1).unwrap();
    let lines = body.lines().skip(1).filter(|line| !line.trim().is_empty());
    assert!(lines.count() <= 15, "what a game has to write");
}

#[test]
fn a_pack_of_several_files_plays() {
    let folder = tempfile::tempdir().unwrap();
    let pack = folder.path().join("game.pack");
    pack_file::write(&pack, &files(&folder, &[12, 30, 7])).unwrap();
    let shown = pack_file::play(&pack, 200).unwrap();
    assert_eq!(shown.len(), 3);
    assert!(shown.iter().all(|&frames| frames > 50), "{shown:?}");
    std::fs::write(&pack, [1; 100]).unwrap();
    assert!(pack_file::play(&pack, 200).is_err());
}

#[test]
fn the_scene_is_the_same_in_any_ticks() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(&folder, &[25, 13]);
    let play = |dt| sequencer::play(&files[0], &files[1], dt).unwrap();
    let lines = play(1.0 / 64.0);
    assert_eq!(lines, play(1.0 / 16.0));
    let starts = ["0.000 s  tower 1: Start", "0.250 s  tower 2: Start", "0.500 s  tower 3: Start"];
    for line in starts.iter().chain(&["1.500 s  flag: over", "1.500 s  tower 3: over, mesh 7"]) {
        assert!(lines.iter().any(|l| l.contains(line)), "{line} in {lines:?}");
    }
}
