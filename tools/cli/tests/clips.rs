//! Clips through the program: compiled, checked against their source, taken back, and refused where they must be.

use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_meshreel"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn json(arguments: &[&str], folder: &Path) -> Value {
    let output = run(arguments, folder);
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Three joints and an end site that swing; `shift` moves the last joint of sample 7 by so many degrees.
fn bvh(samples: usize, shift: f64) -> String {
    let mut text = String::from(
        "HIERARCHY\nROOT hips\n{\nOFFSET 0 90 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
        JOINT knee\n{\nOFFSET 0 -40 2\nCHANNELS 3 Zrotation Yrotation Xrotation
        JOINT foot\n{\nOFFSET 0 -42 0\nCHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET 0 0 15\n}\n}\n}\n}\n",
    );
    let _ = writeln!(text, "MOTION\nFrames: {samples}\nFrame Time: 0.0333333");
    for i in 0..samples {
        let t = i as f64 * 0.2;
        let more = if i == 7 { shift } else { 0.0 };
        let _ = writeln!(
            text,
            "{} {} {} {} {} {} 0 0 {} {} 0 {}",
            t.sin() * 5.0,
            90.0 + t.cos(),
            3.0 * t,
            t.cos() * 20.0,
            t.sin() * 30.0,
            t * 3.0,
            40.0 + 35.0 * t.sin(),
            5.0 * t.cos() + more,
            12.0 * t.sin(),
        );
    }
    text
}

#[test]
fn there_and_back_within_the_tolerance() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("walk.bvh"), bvh(300, 0.0)).unwrap();
    for tolerance in ["0.001", "0.01", "1"] {
        let done = json(
            &[
                "compile",
                "walk.bvh",
                "-o",
                "walk.reel",
                "--tolerance",
                tolerance,
                "--json",
            ],
            at,
        );
        let clip = &done["clips"][0];
        assert_eq!(
            (clip["joints"].as_u64(), clip["samples"].as_u64()),
            (Some(3), Some(300))
        );
        assert_eq!(done["raw_bytes"].as_u64(), Some(40 * 3 * 300));
        let verified = json(&["verify", "walk.bvh", "walk.reel", "--json"], at);
        assert_eq!(verified["ok"], true);
        let error = verified["clips"][0]["max_error"].as_f64().unwrap();
        let promised: f64 = tolerance.parse().unwrap();
        assert!(error <= promised && error > promised / 100.0, "{error}");
        assert!(verified["clips"][0]["mid_error"].as_f64().unwrap() <= 2.5 * promised);
        let own = clip["max_error"].as_f64().unwrap();
        assert!((own - error).abs() < 1e-9, "{own} {error}");
        // What is taken out again is what the file holds.
        assert!(
            run(&["extract", "walk.reel", "-o", "back.bvh"], at)
                .status
                .success()
        );
        let back = json(&["verify", "back.bvh", "walk.reel", "--json"], at);
        assert!(back["clips"][0]["max_error"].as_f64().unwrap() < 1e-5);
    }
    let text = String::from_utf8(run(&["info", "walk.reel"], at).stdout).unwrap();
    assert!(
        text.contains("walk") && text.contains("rotations"),
        "{text}"
    );
    let text = String::from_utf8(run(&["info", "walk.bvh"], at).stdout).unwrap();
    assert!(text.contains("300"), "{text}");
    let info = json(&["info", "walk.reel", "--json"], at);
    assert_eq!(info["clips"][0]["rotations"]["animated"].as_u64(), Some(1));
    assert_eq!(info["clips"][0]["rotations"]["hinge"].as_u64(), Some(1));
    assert_eq!(info["clips"][0]["rotations"]["two_axes"].as_u64(), Some(1));
}

#[test]
fn another_source_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("a.bvh"), bvh(40, 0.0)).unwrap();
    std::fs::write(at.join("b.bvh"), bvh(40, 1.0)).unwrap();
    std::fs::write(at.join("c.bvh"), bvh(41, 0.0)).unwrap();
    assert!(
        run(&["compile", "a.bvh", "-o", "a.reel"], at)
            .status
            .success()
    );
    for other in ["b.bvh", "c.bvh"] {
        let output = run(&["verify", other, "a.reel"], at);
        assert_eq!(output.status.code(), Some(1), "{other}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("BROKEN"));
    }
}

#[test]
fn a_percentage_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("a.bvh"), bvh(4, 0.0)).unwrap();
    let output = run(
        &["compile", "a.bvh", "-o", "a.reel", "--tolerance", "1%"],
        at,
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a percentage"));
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("a.bvh"), bvh(600, 0.0)).unwrap();
    let bytes = |jobs: &str| {
        assert!(
            run(&["compile", "a.bvh", "-o", "a.reel", "--jobs", jobs], at)
                .status
                .success()
        );
        std::fs::read(at.join("a.reel")).unwrap()
    };
    assert_eq!(bytes("1"), bytes("3"));
}

#[test]
fn damaged_files_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("a.bvh"), bvh(30, 0.0)).unwrap();
    assert!(
        run(&["compile", "a.bvh", "-o", "a.reel"], at)
            .status
            .success()
    );
    let whole = std::fs::read(at.join("a.reel")).unwrap();
    for i in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[i] ^= 0x10;
        std::fs::write(at.join("b.reel"), &bytes).unwrap();
        let output = run(&["verify", "a.bvh", "b.reel"], at);
        assert_eq!(output.status.code(), Some(1), "byte {i}");
        assert!(
            !String::from_utf8_lossy(&output.stderr).contains("defect"),
            "byte {i}"
        );
    }
    std::fs::write(at.join("bad.bvh"), "HIERARCHY\nROOT a\n{\nOFFSET 0 nan 0").unwrap();
    let output = run(&["compile", "bad.bvh", "-o", "bad.reel"], at);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 4"));
}

/// A skeleton with fingers, a face and a cape, where the corpus is there.
#[test]
fn characters_of_the_corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let places = [
        std::env::var_os("MESHREEL_CORPUS").map(PathBuf::from),
        Some(root.join("shared/corpus")),
        Some(root.join("../shared/corpus")),
    ];
    let Some(corpus) = places
        .into_iter()
        .flatten()
        .find(|p| p.join("characters").is_dir())
    else {
        eprintln!("skipped: no corpus");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for name in ["hero.bvh", "snake.bvh"] {
        let source = corpus.join("characters").join(name);
        let source = source.to_str().unwrap();
        let done = json(&["compile", source, "-o", "a.reel", "--json"], at);
        assert!(done["clips"][0]["ratio"].as_f64().unwrap() > 20.0, "{done}");
        assert_eq!(
            json(&["verify", source, "a.reel", "--json"], at)["ok"],
            true
        );
    }
}
