//! Tests of unusual clips: scalar tracks and markers, layers of a source, and bad input.

use meshreel_testkit::bvh;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_meshreel")).args(arguments).current_dir(folder).output().unwrap()
}

fn json(arguments: &[&str], folder: &Path) -> Value {
    let output = run(arguments, folder);
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn succeeds(arguments: &[&str], folder: &Path) {
    let output = run(arguments, folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Scalar tracks and markers of a source pass through every verb, and are extracted again.
#[test]
fn e11_scalars_and_markers_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let prism = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/prism.glb");
    std::fs::copy(prism, at.join("prism.glb")).unwrap();
    let compile = ["compile", "prism.glb", "-o", "p.reel", "--json"];
    let done = json(&[&compile[..], &["--tolerance", "0.001", "--scalar-tolerance", "0.01"]].concat(), at);
    assert_eq!(
        (&done["clips"][0]["scalars"], &done["clips"][0]["markers"]),
        (&1.into(), &2.into()),
        "{done}"
    );
    let info = json(&["info", "p.reel", "--json"], at);
    let clip = &info["clips"][0];
    assert_eq!(clip["scalars"][0]["name"], "bulge");
    assert_eq!(clip["markers"].as_array().unwrap().len(), 2);
    let times: Vec<f64> =
        (clip["markers"].as_array().unwrap().iter()).map(|m| m["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted() && times[1] <= 2.0, "{times:?}");
    let verified = json(&["verify", "prism.glb", "p.reel", "--json"], at);
    assert_eq!(verified["ok"], true, "{verified}");
    let error = verified["clips"][0]["scalar_error"].as_f64().unwrap();
    assert!(error > 0.0 && error <= 0.01, "{error}");
    // The extracted file has them too, within the file's precision.
    succeeds(&["extract", "p.reel", "-o", "back.glb"], at);
    let back = json(&["verify", "back.glb", "p.reel", "--json"], at);
    let clip = &back["clips"][0];
    assert_eq!(clip["ok"], true, "{back}");
    assert!(clip["scalar_error"].as_f64().unwrap() < 1e-6, "{back}");
    let again = json(&["info", "back.glb", "--json"], at);
    let (was, now) = (json(&["info", "prism.glb", "--json"], at), again);
    assert_eq!(was["clips"][0]["markers"], now["clips"][0]["markers"]);
    succeeds(&["play", "p.reel", "--check", "--seconds", "0.3", "--loop", "--json"], at);
    // Other values or markers are detected.
    let text = std::fs::read(at.join("prism.glb")).unwrap();
    let place = text.windows(5).position(|w| w == b"bulge").unwrap();
    let mut other = text.clone();
    other[place] = b'x';
    std::fs::write(at.join("other.glb"), other).unwrap();
    let found = run(&["verify", "other.glb", "p.reel"], at);
    assert_eq!(found.status.code(), Some(1));
}

/// Layers that a source names are extracted again.
#[test]
fn layers_come_back_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let prism = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/prism.glb");
    std::fs::copy(prism, at.join("prism.glb")).unwrap();
    let bias = "[[joint]]\nglob = \"spine\"\nbias = 2.5\n";
    std::fs::write(at.join("o.toml"), bias).unwrap();
    let options = ["--options", "o.toml", "--tolerance", "0.001"];
    succeeds(&[&["compile", "prism.glb", "-o", "p.reel"][..], &options].concat(), at);
    let reel = meshreel::Reel::open(at.join("p.reel"), &meshreel::Limits::default()).unwrap();
    let scene = meshreel_extract::to_scene(&reel).unwrap();
    let joints = &scene.skeletons[0].joints;
    let layers: Vec<_> = joints.iter().map(|j| j.layer.as_deref()).collect();
    assert_eq!(layers, [None, None, Some("cosmetic")]);
    let biases: Vec<_> = joints.iter().map(|j| j.bias).collect();
    assert_eq!(biases, [None, Some(2.5), None]);
    // Compiling it gives the same layers again.
    succeeds(&["extract", "p.reel", "-o", "back.glb"], at);
    succeeds(&["compile", "back.glb", "-o", "again.reel", "--tolerance", "0.001"], at);
    let names = |file: &str| {
        let info = json(&["info", file, "--json"], at);
        let layers = info["clips"][0]["layers"].as_array().unwrap().clone();
        layers.iter().map(|l| (l["name"].clone(), l["joints"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(names("p.reel"), names("again.reel"));
}

/// Remarks on clips are errors with `--strict`.
#[test]
fn strict_refuses_what_is_only_remarked_of_clips() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let odd = bvh(20, 0.0).replace("Frame Time: ", "Frame Time: -");
    std::fs::write(at.join("odd.bvh"), odd).unwrap();
    std::fs::write(at.join("good.bvh"), bvh(20, 0.0)).unwrap();
    succeeds(&["compile", "odd.bvh", "-o", "odd.reel"], at);
    let strict = |name: &str| {
        let file = format!("{name}.bvh");
        run(&["compile", &file, "-o", "s.reel", "--strict"], at)
    };
    let refused = strict("odd");
    assert_eq!(refused.status.code(), Some(1));
    assert!(!at.join("s.reel").exists());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("frames per second"));
    assert!(strict("good").status.success());
}

/// Extreme clips: far away, scaled through zero, one sample, standing still, at every tolerance.
#[test]
fn bad_input_gives_a_right_result_or_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let compiles = |text: &str, tolerance: &str| -> Value {
        std::fs::write(at.join("x.bvh"), text).unwrap();
        let arguments = ["compile", "x.bvh", "-o", "x.reel", "--json", "--tolerance", tolerance];
        let done = json(&arguments, at);
        let verified = json(&["verify", "x.bvh", "x.reel", "--json"], at);
        assert_eq!(verified["ok"], true, "{verified}");
        done
    };
    // One sample has no duration.
    compiles(&bvh(1, 0.0), "0.01");
    // 100 kilometres away: the tolerance is limited to the precision of f32, with a remark.
    let near = bvh(30, 0.0);
    let far: String = (near.lines())
        .map(|line| match line.chars().next() {
            Some('-' | '0'..='9') => {
                let (first, rest) = line.split_once(' ').unwrap();
                format!("{} {rest}\n", first.parse::<f64>().unwrap() + 1e7)
            }
            _ => format!("{line}\n"),
        })
        .collect();
    let done = compiles(&far, "0.01");
    assert!(done["clips"][0]["tolerance"].as_f64().unwrap() >= 1.0, "{done}");
    // More joints than a file may have.
    let mut text = String::from("HIERARCHY\nROOT r\n{ OFFSET 0 0 0 CHANNELS 1 Xrotation\n");
    for i in 0..16_384 {
        text.push_str(&format!("JOINT j{i}\n{{ OFFSET 0 1 0 CHANNELS 0 }}\n"));
    }
    text.push_str("}\nMOTION\nFrames: 1\nFrame Time: 0.1\n0\n");
    std::fs::write(at.join("many.bvh"), text).unwrap();
    let many = run(&["compile", "many.bvh", "-o", "many.reel"], at);
    assert_eq!(many.status.code(), Some(1));
    let said = String::from_utf8_lossy(&many.stderr).to_string();
    assert!(said.contains("joints") && said.lines().count() <= 3, "{said}");
    // Values that are not finite, and an empty file.
    for bad in [bvh(5, 0.0).replace("Frames: 5", "Frames: 0"), bvh(9, f64::NAN), String::new()] {
        std::fs::write(at.join("bad.bvh"), bad).unwrap();
        let output = run(&["compile", "bad.bvh", "-o", "bad.reel"], at);
        assert_eq!(output.status.code(), Some(1));
        assert!(!at.join("bad.reel").exists());
        assert!(!output.stderr.is_empty());
    }
}
