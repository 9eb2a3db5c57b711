//! Tests of numbered files as inputs: the numbers that a pattern matches, several sequences of one shot,
//! folders.

use super::common::{bundled, run_line};
use meshreel::{FrameDecoder, Limits, Reel};
use serde_json::json;
use std::path::Path;

/// Returns a triangle at a height.
fn triangle(z: f32) -> String {
    format!("v 0 0 {z}\nv 1 0 {z}\nv 0 1 {z}\nf 1 2 3\n")
}

/// Writes one file per number, with the name that `name` returns.
fn write(folder: &Path, numbers: impl IntoIterator<Item = i32>, name: impl Fn(i32) -> String) {
    for number in numbers {
        std::fs::write(folder.join(name(number)), triangle(number as f32)).unwrap();
    }
}

#[test]
fn i51_numbers_that_a_pattern_does_not_take_are_a_remark_that_names_one_that_does() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 8..=12, |n| format!("f{n}.obj"));
    let compile = |pattern: &str| {
        let (input, reel) = (folder.path().join(pattern), folder.path().join("f.reel"));
        run_line("compile $IN -o $OUT --json", &[("$IN", &input), ("$OUT", &reel)])
    };
    for pattern in ["f##.obj", "f%02d.obj", "f$F2.obj"] {
        let done = compile(pattern).expect(0);
        assert_eq!(done.json()["frames"], 3, "{pattern}");
        assert!(done.stderr.contains("f8.obj, f9.obj are left out"), "{pattern}: {}", done.stderr);
        assert!(done.stderr.contains("'f#.obj' takes them"), "{pattern}: {}", done.stderr);
    }
    for pattern in ["f#.obj", "f%d.obj", "f$F.obj", "f${F}.obj"] {
        let done = compile(pattern).expect(0);
        assert_eq!(done.json()["frames"], 5, "{pattern}");
        assert!(!done.stderr.contains("left out"), "{pattern}: {}", done.stderr);
    }
    // If the number is there already, nothing is missed.
    write(folder.path(), 10..=10, |n| format!("f{n:03}.obj"));
    assert!(!compile("f##.obj").expect(0).stderr.contains("f010.obj"));
    // Numbers with a fraction are not part of a sequence.
    write(folder.path(), 11..=11, |n| format!("f{n}.5.obj"));
    assert!(compile("f##.obj").expect(0).stderr.contains("f11.5.obj"));
    let none = compile("f####.obj").expect(1).stderr;
    assert!(none.contains("no file fits this pattern") && none.contains("f8.obj"), "{none}");
}

#[test]
fn i51_numbers_below_zero_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), -2..=2, |n| format!("s_{n}.obj"));
    write(folder.path(), -2..=2, |n| match n {
        ..0 => format!("p.-{:04}.obj", -n),
        n => format!("p.{n:04}.obj"),
    });
    write(folder.path(), -2..=2, |n| format!("c.{n:04}.obj"));
    let reel = folder.path().join("out.reel");
    for pattern in ["s_#.obj", "s_$F.obj", "s_%d.obj", "p.####.obj", "p.$F4.obj", "c.%04d.obj"] {
        let input = folder.path().join(pattern);
        let paths: [(&str, &Path); 2] = [("$IN", &input), ("$OUT", &reel)];
        let done = run_line("compile $IN -o $OUT --json", &paths).expect(0);
        assert_eq!(done.json()["frames"], 5, "{pattern}");
        assert_eq!(done.json()["remarks"], json!([]), "{pattern}");
        let opened = Reel::open(&reel, &Limits::default()).unwrap();
        let mut decoder = FrameDecoder::new(&opened).unwrap();
        for frame in 0..5 {
            decoder.decode(frame).unwrap();
            let mut points = vec![0.0; 9];
            decoder.mesh(0).positions_into(&mut points).unwrap();
            assert!((points[2] - (frame as f32 - 2.0)).abs() < 1e-3, "{pattern} {points:?}");
        }
    }
}

#[test]
fn i51_a_folder_is_answered_with_what_to_type() {
    let folder = tempfile::tempdir().unwrap();
    let [reel, plan] = ["out.reel", "out.plan"].map(|name| folder.path().join(name));
    let refused = |line: &str| {
        run_line(line, &[("$IN", folder.path()), ("$OUT", &reel), ("$PLAN", &plan)])
            .expect(1)
            .error_line()
            .to_owned()
    };
    assert!(refused("compile $IN -o $OUT").contains("nothing is an input"));
    write(folder.path(), 1..=3, |n| format!("f.{n:04}.obj"));
    let sequence = format!("'{}'", folder.path().join("f.####.obj").display());
    std::fs::write(folder.path().join("a.abc"), "").unwrap();
    let archives = format!("'{}'", folder.path().join("*.abc").display());
    for line in ["compile $IN -o $OUT", "info $IN", "plan $IN -o $PLAN"] {
        let said = refused(line);
        assert!(said.contains(&sequence) && said.contains(&archives), "{line}: {said}");
    }
}

#[test]
fn all_files_of_a_sequence_count_and_its_name_has_no_blank() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 1..=3, |n| format!("name {n:03}.obj"));
    let bytes: u64 = (1..=3).map(|n| triangle(n as f32).len() as u64).sum();
    let input = folder.path().join("name ###.obj");
    let done = run_line("compile $IN --json", &[("$IN", &input)]).expect(0).json();
    assert_eq!(done["source_bytes"], bytes);
    let reel = folder.path().join("name.reel");
    assert_eq!(done["output"], reel.display().to_string());
    assert!(reel.is_file());
    let text = run_line("compile $IN", &[("$IN", &input)]).expect(0).stdout;
    assert!(!text.contains("source's 0 B"), "{text}");
    let info = run_line("info $IN --json", &[("$IN", &input)]).expect(0).json();
    assert_eq!(info["file_bytes"], bytes, "{info}");
}

#[test]
fn compile_and_info_give_one_size_of_a_source_map() {
    let folder = tempfile::tempdir().unwrap();
    let (input, reel) = (bundled("g_scene_attributes.abc"), folder.path().join("a.reel"));
    let paths: [(&str, &Path); 2] = [("$IN", &input), ("$OUT", &reel)];
    let done = run_line("compile $IN -o $OUT --effort 1 --json", &paths).expect(0).json();
    let info = run_line("info $OUT --json", &paths).expect(0).json();
    assert!(info["source_map_bytes"].as_u64() > Some(0));
    assert_eq!(done["source_map_bytes"], info["source_map_bytes"]);
    assert_eq!(info["bytes"]["source_map"], info["source_map_bytes"]);
}

#[test]
fn of_clips_there_are_samples_and_no_frames() {
    let folder = tempfile::tempdir().unwrap();
    let (input, reel) = (bundled("prism.glb"), folder.path().join("a.reel"));
    let paths: [(&str, &Path); 2] = [("$IN", &input), ("$OUT", &reel)];
    run_line("compile $IN -o $OUT --clips-only", &paths).expect(0);
    let text = run_line("verify $IN $OUT", &paths).expect(0).stdout;
    assert!(!text.contains("0 frames") && text.contains(" samples, "), "{text}");
}

/// Returns by frame whether the object of this path is visible.
fn seen(reel: &Path, path: &str) -> Vec<bool> {
    let opened = Reel::open(reel, &Limits::default()).unwrap();
    let node = opened.description().nodes.iter().position(|node| node.path == path).expect(path);
    let mut decoder = FrameDecoder::new(&opened).unwrap();
    let visible = |frame: usize| {
        decoder.decode(frame).unwrap();
        decoder.visible(node)
    };
    (0..opened.frame_count()).map(visible).collect()
}

#[test]
fn i51_sequences_that_are_merged_keep_the_numbers_of_their_shot() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(folder.path(), 1..=6, |n| format!("body.{n:04}.obj"));
    write(folder.path(), 4..=6, |n| format!("splash.{n:04}.obj"));
    write(folder.path(), 1..=2, |n| format!("dust.{n:04}.obj"));
    write(folder.path(), 101..=103, |n| format!("late.{n:04}.obj"));
    let (body, splash) = (at("body.####.obj"), at("splash.####.obj"));
    let (dust, late, reel) = (at("dust.####.obj"), at("late.####.obj"), at("out.reel"));
    let paths: [(&str, &Path); 5] =
        [("$BODY", &body), ("$SPLASH", &splash), ("$DUST", &dust), ("$LATE", &late), ("$OUT", &reel)];
    let merge = |inputs: &str, more: &str| {
        let done = run_line(&format!("compile {inputs} --merge -o $OUT {more}"), &paths).expect(0);
        let verified = run_line(&format!("verify {inputs} $OUT --json"), &paths).expect(0).json();
        assert_eq!(verified["ok"], true, "{verified}");
        done.stderr
    };
    let said = merge("$BODY $SPLASH $DUST", "");
    assert!(!said.contains("remark"), "{said}");
    assert_eq!(seen(&reel, "/body"), [true; 6]);
    assert_eq!(seen(&reel, "/splash"), [false, false, false, true, true, true]);
    assert_eq!(seen(&reel, "/dust"), [true, true, false, false, false, false]);
    // As before: all start together, and the last frame stays.
    merge("$BODY $SPLASH", "--merge-at zero");
    assert_eq!((seen(&reel, "/body"), seen(&reel, "/splash")), (vec![true; 6], vec![true; 6]));
    let info = run_line("info $OUT --json", &paths).expect(0).json();
    assert!(info["options"].as_array().unwrap().contains(&json!(["merge-at", "zero"])), "{info}");
    // The sequence with the first number begins.
    merge("$SPLASH $DUST", "");
    assert_eq!(seen(&reel, "/splash"), [false, false, true, true, true]);
    // Absence differs from being hidden.
    merge("$BODY $SPLASH", "--show-hidden");
    assert_eq!(seen(&reel, "/splash"), [false, false, false, true, true, true]);
    // No frame in common.
    let said = merge("$BODY $LATE", "");
    assert!(said.contains("101 to 103") && said.contains("--merge-at zero"), "{said}");
    assert_eq!(seen(&reel, "/late"), [false, false, false, false, false, false, true, true, true]);
    // A single sequence starts at zero, whatever its numbers.
    run_line("compile $LATE -o $OUT", &paths).expect(0);
    let opened = Reel::open(&reel, &Limits::default()).unwrap();
    assert_eq!((opened.frame_count(), opened.time(0)), (3, 0.0));
}
