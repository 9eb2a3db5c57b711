//! The way back: what `extract` writes is what the source had, as far as the format written can hold it.

use crate::cli::common::{Run, run};
use meshreel_scene::read::{ReadOptions, open};
use meshreel_scene::{Channel, Scene, TimeSampling};
use std::path::Path;

/// Runs the program in a folder.
fn at(folder: &Path, words: &[&str]) -> Run {
    let place = |word: &&str| match word.contains('.') || word.ends_with('/') {
        true => folder.join(word).display().to_string(),
        false => word.to_string(),
    };
    run(words.iter().map(place))
}

fn read(folder: &Path, name: &str) -> Scene {
    open(&folder.join(name), &ReadOptions::default()).unwrap().0
}

fn sample<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, i: usize) -> Vec<T> {
    let mut out = Vec::new();
    channel.read(i, &mut out).unwrap();
    out
}

/// Hips that walk, a leg that turns, and a foot that stands still; in the order of channels that is asked for.
fn walk(order: &str) -> String {
    let channels: Vec<String> = order
        .chars()
        .map(|axis| format!("{axis}rotation"))
        .collect();
    let channels = channels.join(" ");
    let mut text = format!(
        "HIERARCHY\nROOT hips\n{{\nOFFSET 0 90 0\nCHANNELS 6 Xposition Yposition Zposition {channels}\n\
         JOINT leg\n{{\nOFFSET 10 -5 0\nCHANNELS 3 {channels}\n\
         JOINT foot\n{{\nOFFSET 0 -80 0\nCHANNELS 3 {channels}\n\
         End Site\n{{\nOFFSET 0 -5 10\n}}\n}}\n}}\n}}\nMOTION\nFrames: 25\nFrame Time: 0.04\n"
    );
    for i in 0..25 {
        let t = f64::from(i);
        text += &format!(
            "{} 90 0 10 {} 5 {} 20 {} 0 0 0\n",
            t,
            -t,
            (t * 0.3).sin() * 40.0,
            t * 2.0
        );
    }
    text
}

#[test]
fn clips_become_transforms_or_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("walk.bvh"), walk("ZYX")).unwrap();
    at(folder, &["compile", "walk.bvh", "-o", "walk.reel"]).expect(0);
    let done = at(folder, &["extract", "walk.reel", "-o", "back.abc"]).expect(0);
    assert!(done.stdout.contains(" 1 clip,"), "{}", done.stdout);
    let (source, back) = (read(folder, "walk.bvh"), read(folder, "back.abc"));
    let paths: Vec<&str> = back.nodes.iter().map(|n| n.path.as_str()).collect();
    assert_eq!(paths, ["/hips", "/hips/leg", "/hips/leg/foot"]);
    for (j, node) in back.nodes.iter().enumerate() {
        let matrix = &node.transform.as_ref().unwrap().matrix;
        assert_eq!(matrix.len(), if j == 2 { 1 } else { 25 });
        if let TimeSampling::Uniform { start, step } = **matrix.sampling() {
            assert!(j == 2 || start == 0.0 && (step - 0.04).abs() < 1e-12);
        }
        for i in 0..matrix.len() {
            let local = source.clips[0].tracks[j].at(i).matrix();
            let off = (sample(matrix, i)[0].w_axis.truncate() - local.translation).length();
            assert!(off < 0.01, "{off}");
        }
    }
    // What cannot hold it is refused, and says what can.
    for target in ["out/", "frames/"] {
        let refused = at(folder, &["extract", "walk.reel", "-o", target]).expect(1);
        let line = refused.error_line();
        assert!(line.contains("1 clip,") && line.contains(".abc"), "{line}");
        assert!(!folder.join(target).exists());
    }
}

#[test]
fn clips_beside_meshes_are_left_out_with_a_remark() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/prism.glb");
    std::fs::copy(source, folder.join("prism.glb")).unwrap();
    at(folder, &["compile", "prism.glb", "-o", "prism.reel"]).expect(0);
    let done = at(folder, &["extract", "prism.reel", "-o", "out/"]).expect(0);
    assert!(done.stderr.contains("one was left out"), "{}", done.stderr);
    let done = at(folder, &["extract", "prism.reel", "-o", "back.bvh"]).expect(0);
    assert!(done.stderr.contains("1 mesh left out"), "{}", done.stderr);
    at(folder, &["extract", "prism.reel", "-o", "back.abc"]).expect(0);
    let back = read(folder, "back.abc");
    let clips = read(folder, "prism.glb").clips;
    assert!(
        back.nodes
            .iter()
            .any(|n| n.path == format!("/{}", clips[0].name))
    );
}
