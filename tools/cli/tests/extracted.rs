//! Tests of `verify --extracted`: the output of `extract` equals the decoded file, at every frame, in every
//! format.

use crate::cli::common::{bundled, corpus, run};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Runs a line in a folder; words with a dot or a slash are names of files there, those that begin with '$'
/// are not.
fn run_in(folder: &Path, line: &str) -> crate::cli::common::Run {
    let place =
        |word: &str| match word.starts_with(|c: char| c.is_ascii_lowercase()) && word.contains(['.', '/']) {
            true => folder.join(word).display().to_string(),
            false => word.to_string(),
        };
    run(line.split_whitespace().map(place))
}

/// Extracts `a.reel` in each of these ways and compares; returns the reports.
fn all_ways(folder: &Path, ways: &[&str]) -> Vec<Value> {
    let compare = |way: &&str| {
        let words: Vec<&str> = way.split_whitespace().collect();
        run_in(folder, &format!("extract a.reel -o {way}")).expect(0);
        let lod = words.iter().position(|w| *w == "--lod").map_or("0", |at| words[at + 1]);
        let done = run_in(folder, &format!("verify --extracted {} a.reel --lod {lod} --json", words[0]));
        let json = done.json();
        assert_eq!((done.code, &json["ok"]), (0, &Value::Bool(true)), "{way}: {json:#}");
        json
    };
    ways.iter().map(compare).collect()
}

const WAYS: [&str; 6] =
    ["back.abc", "back.glb", "back.usdc", "text.usda", "frames/", "web.glb --compress meshopt"];

/// A square that rotates, and is hidden from its last sample on, where its points are elsewhere.
const HIDDEN: &str = r#"#usda 1.0
( metersPerUnit = 1
 upAxis = "Y"
 timeCodesPerSecond = 24 )
def Xform "G"
{
    token visibility.timeSamples = { 0: "inherited", 2: "invisible" }
    double xformOp:rotateX.timeSamples = { 0: 0, 1: 60, 2: 120 }
    uniform token[] xformOpOrder = ["xformOp:rotateX"]
    def Mesh "M" {
        int[] faceVertexCounts = [4]
        int[] faceVertexIndices = [0,1,2,3]
        point3f[] points.timeSamples = {
            0: [(0,0,0),(1,0,0),(1,1,0),(0,1,0)],
            1: [(0,0,0),(1,0,0.1),(1,1,0),(0,1,0.2)],
            2: [(0,0,0),(1,0,5),(1,1,5),(0,1,0)],
        }
        uniform token subdivisionScheme = "none"
    }
}
"#;

#[test]
fn frames_between_samples_are_as_decoded() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("a.usda"), HIDDEN).unwrap();
    let done = run_in(folder, "compile a.usda -o a.reel --json").expect(0).json();
    assert!(done["added_frames"].as_u64().unwrap() > 0, "{done}");
    for report in all_ways(folder, &WAYS) {
        assert_eq!(report["frames"], done["frames"]);
        assert!(report["vertices"].as_u64().unwrap() > 8, "{report}");
    }
}

/// Compiles and extracts a scene. Returns the file of its second frame, and its text.
fn second_frame(folder: &Path) -> (PathBuf, String) {
    std::fs::write(folder.join("a.usda"), HIDDEN).unwrap();
    run_in(folder, "compile a.usda -o a.reel").expect(0);
    run_in(folder, "extract a.reel -o frames/").expect(0);
    let file = folder.join("frames/frames.0002.obj");
    let text = std::fs::read_to_string(&file).unwrap();
    (file, text)
}

#[test]
fn what_differs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (file, text) = second_frame(folder);
    let moved = text.replacen("v 1.0", "v 1.1", 1);
    assert_ne!(text, moved);
    std::fs::write(&file, moved).unwrap();
    let done = run_in(folder, "verify --extracted frames/ a.reel").expect(1).stdout;
    assert!(
        done.contains("/G/M") && done.contains("frame 1") && done.contains("NOT as it decodes"),
        "{done}"
    );
    // A missing frame.
    std::fs::write(&file, text).unwrap();
    std::fs::remove_file(folder.join("frames/frames.0001.obj")).unwrap();
    run_in(folder, "verify --extracted frames/ a.reel").expect(1);
    // Within the allowed tolerance.
    run_in(folder, "extract a.reel -o frames/").expect(0);
    run_in(folder, "verify --extracted frames/ a.reel --tolerance 0.01").expect(0);
}

#[test]
fn everything_that_hangs_on_points_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, options, ways) in [
        ("g_scene_attributes.abc", "", &WAYS[..]),
        ("e_metaballs.abc", "--range 0:5", &WAYS[..5]),
        ("j_visibility_particles.abc", "--range 0:20", &["back.abc", "back.usdc", "text.usda"]),
        ("n_robot_bone_parented.abc", "", &WAYS[..]),
        ("m_scale_shear.abc", "", &WAYS[..5]),
        ("prism.glb", "--rig keep", &WAYS[..]),
        (
            "a_flag_wind.abc",
            "--lod 2 --range 0:9",
            &["back.abc --lod 1", "back.glb --lod 2", "frames/ --lod 1"],
        ),
    ] {
        let source = bundled(name);
        let line = format!("compile {} -o a.reel --quiet {options}", source.display());
        run_in(folder, &line).expect(0);
        let reports = all_ways(folder, ways);
        println!("{name}: {}", reports[0]);
        let _ = std::fs::remove_dir_all(folder.join("frames"));
    }
}

#[test]
fn clips_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("a.bvh"), meshreel_testkit::bvh(40, 0.0)).unwrap();
    run_in(folder, "compile a.bvh -o a.reel").expect(0);
    for report in all_ways(folder, &["back.bvh", "back.glb", "back.abc", "back.usdc", "text.usda"]) {
        assert_eq!(report["clips"].as_array().unwrap().len(), 1, "{report}");
    }
}

#[test]
fn a_face_that_is_turned_or_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (file, text) = second_frame(folder);
    let report = run_in(folder, "verify --extracted frames/ a.reel --json").expect(0).json();
    assert!(report["faces"].as_u64().unwrap() >= 4, "{report}");
    for faces in ["f 4 3 2 1\n", "f 1 2 3\nf 2 3 4\n", "f 1 2 3 4\nf 1 2 3\n"] {
        let at_faces = text.find("f ").unwrap();
        std::fs::write(&file, format!("{}{faces}", &text[..at_faces])).unwrap();
        let done = run_in(folder, "verify --extracted frames/ a.reel").expect(1).stdout;
        assert!(done.contains("NOT as it decodes") && !done.contains("from what was extracted"), "{done}");
    }
}

/// Characters with keys at uneven times, quantized accessors and steps are extracted at all their frames.
#[test]
fn characters_come_back_at_all_their_frames() {
    let Some(corpus) = corpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in ["gltf/CesiumMan.glb", "cases/gltf/quantized_anim.glb", "gltf/BoxAnimated.gltf"] {
        let source: PathBuf = corpus.join(name);
        if !source.is_file() {
            meshreel_testkit::report_skipped(name);
            continue;
        }
        run_in(folder, &format!("compile {} -o a.reel --quiet", source.display())).expect(0);
        all_ways(folder, &["back.abc", "frames/", "back.glb", "points.glb --as points", "back.usdc"]);
        std::fs::remove_dir_all(folder.join("frames")).unwrap();
    }
}
