//! Tests of FBX files with the program, if it was built with the feature `fbx`.

use super::common::run_line;
use std::path::{Path, PathBuf};

fn input(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/fbx").join(name)
}

#[test]
fn i22_fbx_is_compiled_holds_and_is_extracted() {
    let directory = tempfile::tempdir().unwrap();
    for (name, meshes, frames, more) in [
        ("skinned.fbx", 1, 12, ""),
        ("shapes.fbx", 1, 12, ""),
        ("moves.fbx", 3, 12, ""),
        ("cached.fbx", 6, 8, ""),
        ("takes.fbx", 1, 6, ""),
        ("takes.fbx", 1, 9, " --animation 1"),
        ("takes.fbx", 1, 15, " --animation all"),
        ("cameras.fbx", 1, 12, " --channels attributes"),
    ] {
        let (input, out) = (input(name), directory.path().join("out.reel"));
        let back = directory.path().join("back.abc");
        let paths = [("$IN", &*input), ("$OUT", &*out), ("$BACK", &*back)];
        let info = run_line("info $IN --json", &paths).expect(0).json();
        assert_eq!(info["kind"], "fbx", "{name}");
        run_line(&format!("compile $IN -o $OUT --effort 1{more}"), &paths).expect(0);
        let report = run_line("verify $IN $OUT --json", &paths).expect(0).json();
        assert_eq!(report["ok"], true, "{name}{more}: {report}");
        let info = run_line("info $OUT --json", &paths).expect(0).json();
        let nodes = info["nodes"].as_array().unwrap();
        assert_eq!(
            nodes.iter().filter(|node| node["kind"] == "mesh").count(),
            meshes,
            "{name}{more}: {info}"
        );
        assert_eq!(info["frames"], frames, "{name}{more}");
        run_line("extract $OUT -o $BACK", &paths).expect(0);
        let info = run_line("info $BACK --json", &paths).expect(0).json();
        assert_eq!(info["kind"], "alembic-ogawa", "{name}: {info}");
        for file in [&out, &back] {
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn i22_bones_are_a_rig_and_clips() {
    let directory = tempfile::tempdir().unwrap();
    let (input, out) = (input("skinned.fbx"), directory.path().join("tube.reel"));
    let paths = [("$IN", &*input), ("$OUT", &*out)];
    let run = run_line("compile $IN -o $OUT --rig keep --effort 1 --json", &paths).expect(0);
    assert!(!run.stderr.contains("rig is left out"), "{}", run.stderr);
    assert_eq!(run.json()["rigs"].as_array().map(Vec::len), Some(1), "{}", run.stdout);
    let report = run_line("verify $IN $OUT --json", &paths).expect(0).json();
    assert_eq!((&report["ok"], &report["rigs"][0]["ok"]), (&true.into(), &true.into()), "{report}");
    let info = run_line("info $OUT --json", &paths).expect(0).json();
    assert_eq!(info["clips"].as_array().map(Vec::len), Some(1), "{info}");
}

#[test]
fn i22_animations_of_bones_alone_are_clips() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out.reel");
    // Bones alone, and without the mesh that they move: joints of the skeleton, and samples of each clip.
    for (name, joints, samples) in [("bones.fbx", 4, &[5, 9][..]), ("skinned.fbx", 4, &[12])] {
        let input = input(name);
        let paths = [("$IN", &*input), ("$OUT", &*out)];
        let done =
            run_line("compile $IN -o $OUT --clips-only --tolerance 0.001 --json", &paths).expect(0).json();
        let clips = done["clips"].as_array().unwrap();
        assert_eq!(
            (clips.len(), done["meshes"].as_array().map(Vec::len)),
            (samples.len(), Some(0)),
            "{done}"
        );
        for (clip, samples) in clips.iter().zip(samples) {
            assert_eq!(
                (&clip["joints"], &clip["samples"]),
                (&joints.into(), &(*samples).into()),
                "{name}: {done}"
            );
        }
        let report = run_line("verify $IN $OUT --json", &paths).expect(0).json();
        assert_eq!(report["ok"], true, "{name}: {report}");
        std::fs::remove_file(&out).unwrap();
    }
}

#[test]
fn i22_what_is_no_fbx_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("a.fbx");
    std::fs::write(&input, b"content").unwrap();
    let run = run_line("info $IN", &[("$IN", &input)]).expect(1);
    assert!(run.error_line().contains("a.fbx"), "{}", run.stderr);
}

#[test]
fn i22_keys_far_out_take_no_frames_and_are_a_remark() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out.reel");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/cases/fbx");
    let maya = corpus.join("maya_long_keyframes_7700_binary.fbx");
    // The largest number of frames, also in the range that the remark names.
    for (input, most, left) in [(input("far.fbx"), 64, 27), (maya, 60_000, 30_000)] {
        if !input.exists() {
            println!("skipped: no {}", input.display());
            continue;
        }
        let paths = [("$IN", &*input), ("$OUT", &*out)];
        let done = run_line("compile $IN -o $OUT --effort 1 --json", &paths).expect(0).json();
        assert!(done["frames"].as_u64().unwrap() < most, "{done}");
        let report = run_line("verify $IN $OUT --json", &paths).expect(0).json();
        assert_eq!(report["ok"], true, "{report}");
        let remarks = done["remarks"].to_string();
        let (_, range) = remarks.split_once("--range ").unwrap_or_else(|| panic!("{remarks}"));
        let range = range.split_once(' ').unwrap().0;
        let line = format!("compile $IN -o $OUT --effort 1 --range {range} --json");
        let done = run_line(&line, &paths).expect(0).json();
        let frames = done["frames"].as_u64().unwrap();
        assert!(frames > 1 && frames <= left && !done["remarks"].to_string().contains("--range"), "{done}");
    }
}
