//! Tests of `info`: compared with the manifest of the corpus, and the form of its output.

use super::common::{bundled, corpus, run, run_line};
use serde_json::Value;
use std::collections::HashMap;

#[test]
fn every_corpus_file_counts_as_its_manifest_says() {
    let Some(corpus) = corpus() else { return };
    let folder = corpus.join("alembic");
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut lines = manifest.lines();
    let header: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let mut compared = 0;
    for line in lines {
        let row: HashMap<&str, &str> = header.iter().copied().zip(line.split('\t')).collect();
        let file = row["file"];
        if !file.ends_with(".abc") {
            continue;
        }
        let run = run([std::ffi::OsStr::new("info"), folder.join(file).as_os_str(), "--json".as_ref()]);
        let json = run.json();
        if row["status"] != "ok" {
            // Refused, or printed with remarks; never a crash.
            assert!(run.code == 0 || run.code == 1, "{file}: {}", run.stderr);
            assert_ne!(json["error"]["class"], "defect", "{file}: {json}");
            continue;
        }
        assert_eq!(run.code, 0, "{file}: {}", run.stderr);
        let number = |key: &str| -> u64 { row[key].parse().unwrap_or(0) };
        let counts = &json["counts"];
        let xforms: u64 = row["xform(anim)"].split('(').next().unwrap().parse().unwrap();
        assert_eq!(counts["xforms"], xforms, "{file}: transforms");
        for (ours, theirs) in [
            ("meshes", "mesh"),
            ("subds", "subd"),
            ("curves", "curves"),
            ("points", "points"),
            ("cameras", "cam"),
            ("facesets", "faceset"),
            ("instances", "inst"),
            ("nurbs", "nurbs"),
            ("lights", "light"),
        ] {
            assert_eq!(counts[ours], number(theirs), "{file}: {ours}");
        }
        // The manifest counts meshes with faces.
        let has_faces =
            |mesh: &&serde_json::Value| mesh["topology"] != "points" && mesh["topology"] != "curves";
        let meshes: Vec<_> = json["meshes"].as_array().unwrap().iter().filter(has_faces).collect();
        let sum = |key: &str| -> u64 { meshes.iter().map(|mesh| mesh[key].as_u64().unwrap()).sum() };
        assert_eq!(meshes.len() as u64, number("mesh") + number("subd"), "{file}: list of meshes");
        assert_eq!(sum("points"), number("V0sum"), "{file}: points");
        assert_eq!(sum("faces"), number("F0sum"), "{file}: faces");
        let classes: Vec<u64> = row["topo(c/h/het)"].split('/').map(|n| n.parse().unwrap()).collect();
        for (class, expected) in ["constant", "homogeneous", "heterogeneous"].iter().zip(classes) {
            let ours = meshes.iter().filter(|mesh| mesh["topology"] == *class).count();
            assert_eq!(ours as u64, expected, "{file}: {class}");
        }
        // The manifest's samples are those of transforms and meshes.
        let samples = json["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|node| ["xform", "polymesh", "subd"].iter().any(|kind| node["kind"] == *kind))
            .map(|node| node["samples"].as_u64().unwrap())
            .max();
        assert_eq!(samples.unwrap_or(0), number("maxsamples"), "{file}: samples");
        compared += 1;
    }
    assert!(compared >= 60, "{compared}");
}

#[test]
fn keys_of_a_source() {
    let scene = bundled("g_scene_attributes.abc");
    let run = run_line("info $IN --json --streams --frames --tree", &[("$IN", &scene)]).expect(0);
    let json = run.json();
    assert_eq!(json["kind"], "alembic-ogawa");
    assert_eq!(json["frames"], 40);
    assert_eq!(json["times"].as_array().map(Vec::len), Some(40));
    assert!((json["duration"].as_f64().unwrap() - 39.0 / 24.0).abs() < 1e-4);
    let node = &json["nodes"][0];
    assert!(node["path"].as_str().is_some_and(|path| path.starts_with('/')));
    assert!(node["kind"].is_string() && node["samples"].is_u64());
    let mesh = &json["meshes"][0];
    for key in ["path", "points", "faces", "samples", "topology", "streams"] {
        assert_ne!(mesh[key], Value::Null, "{key}");
    }
    assert!(mesh["streams"].as_array().unwrap().iter().any(|stream| stream["name"] == "positions"));
}

#[test]
fn text_for_people() {
    let scene = bundled("g_scene_attributes.abc");
    let text = run_line("info $IN --tree", &[("$IN", &scene)]).expect(0).stdout;
    for part in [
        "alembic-ogawa",
        "24 frames per second",
        "15 transforms, 9 meshes, 1 camera, 12 face sets",
        "└─ ",
        "·",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = run_line("info $IN --streams", &[("$IN", &scene)]).expect(0).stdout;
    assert!(text.contains("per corner, indexed"), "{text}");
    let text = run_line("info $IN --frames", &[("$IN", &scene)]).expect(0).stdout;
    assert!(text.contains("0.041667"), "{text}");
}

#[test]
fn a_compiled_file() {
    let directory = tempfile::tempdir().unwrap();
    let reel = directory.path().join("robot.reel");
    let source = bundled("n_robot_bone_parented.abc");
    let paths = [("$IN", source.as_path()), ("$OUT", reel.as_path())];
    let compiled = run_line("compile $IN -o $OUT --json", &paths).expect(0).json();
    let json = run_line("info $OUT --json --frames", &paths).expect(0).json();
    assert_eq!(json["kind"], "reel");
    assert_eq!(json["frames"], 48);
    assert_eq!(json["file_bytes"], std::fs::metadata(&reel).unwrap().len());
    assert_eq!(json["raw_bytes"], compiled["raw_bytes"]);
    assert_eq!(json["frame_table"].as_array().map(Vec::len), Some(48));
    let parts: u64 = json["bytes"].as_object().unwrap().values().map(|v| v.as_u64().unwrap()).sum();
    assert_eq!(json["file_bytes"], parts, "every byte is in exactly one place");
    assert_eq!(json["meshes"][0]["method"], "static");
    assert!(json["nodes"].as_array().unwrap().len() >= 10);
    let text = run_line("info $OUT --tree --streams --frames", &paths).expect(0).stdout;
    for part in ["reel, format version", "transform every frame", "positions", "index"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn sizes_of_meshes_are_those_that_compile_told() {
    let directory = tempfile::tempdir().unwrap();
    let reel = directory.path().join("x.reel");
    for name in ["e_metaballs.abc", "a_flag_wind.abc"] {
        let source = bundled(name);
        let paths = [("$IN", source.as_path()), ("$OUT", reel.as_path())];
        let compiled = run_line("compile $IN -o $OUT --json", &paths).expect(0).json();
        let shown = run_line("info $OUT --json", &paths).expect(0).json();
        let bytes = |json: &Value| json["meshes"][0]["bytes"].as_f64().unwrap();
        let (told, shown) = (bytes(&compiled), bytes(&shown));
        assert!((told - shown).abs() < 0.02 * told, "{name}: {told} {shown}");
    }
}
