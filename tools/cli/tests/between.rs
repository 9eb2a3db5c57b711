//! Tests of the time between samples: joints move points on curves, players on lines. Frames are added where
//! the difference is too large, and `verify` measures it.

use crate::source_rigs::{object, run};
use glam::{Quat, Vec3};
use meshreel_scene::sample::positions_at;
use serde_json::{Value, json};
use std::path::Path;

/// A bar of length 1 along x, as a glTF file. It rotates around z: by a joint, or with its node.
struct Bar {
    /// Seconds and degrees of the keys of each animation.
    keys: Vec<Vec<(f32, f32)>>,
    interpolation: &'static str,
    skinned: bool,
}

/// Number of rings along the bar.
const RINGS: usize = 9;

impl Bar {
    fn turning(keys: &[(f32, f32)]) -> Bar {
        Bar { keys: vec![keys.to_vec()], interpolation: "LINEAR", skinned: true }
    }

    fn write(&self, path: &Path) {
        let mut binary: Vec<u8> = Vec::new();
        let (mut accessors, mut views) = (Vec::new(), Vec::new());
        let mut put = |bytes: Vec<u8>, count: usize, component: u32, kind: &str| {
            views.push(json!({ "buffer": 0, "byteOffset": binary.len(), "byteLength": bytes.len() }));
            binary.extend(bytes);
            binary.resize(binary.len().next_multiple_of(4), 0);
            accessors.push(json!({
                "bufferView": views.len() - 1, "componentType": component, "type": kind, "count": count,
            }));
            accessors.len() - 1
        };
        let floats = |all: &[f32]| -> Vec<u8> { all.iter().flat_map(|v| v.to_le_bytes()).collect() };
        let places: Vec<Vec3> = (0..4 * RINGS)
            .map(|i| {
                let [y, z] = [[-0.05, 0.0], [0.05, 0.0], [0.0, 0.05], [0.0, -0.05]][i % 4];
                Vec3::new((i / 4) as f32 / (RINGS - 1) as f32, y, z)
            })
            .collect();
        let flat: Vec<f32> = places.iter().flat_map(|p| p.to_array()).collect();
        let count = places.len();
        let mut attributes = json!({ "POSITION": put(floats(&flat), count, 5126, "VEC3") });
        let faces: Vec<u8> = (0..RINGS - 1)
            .flat_map(|r| {
                let at = move |k: usize, c: usize| (4 * (r + k) + c) as u16;
                [[0, 2], [2, 1], [1, 3], [3, 0]]
                    .into_iter()
                    .flat_map(move |[a, b]| [at(0, a), at(1, a), at(1, b), at(0, a), at(1, b), at(0, b)])
            })
            .flat_map(u16::to_le_bytes)
            .collect();
        let corners = faces.len() / 2;
        let indices = put(faces, corners, 5123, "SCALAR");
        if self.skinned {
            let joints = put(vec![0; 4 * count], count, 5121, "VEC4");
            let weights: Vec<f32> = [1.0, 0.0, 0.0, 0.0].repeat(count);
            let weights = put(floats(&weights), count, 5126, "VEC4");
            (attributes["JOINTS_0"], attributes["WEIGHTS_0"]) = (joints.into(), weights.into());
        }
        let animations: Vec<Value> = (self.keys.iter().enumerate())
            .map(|(a, keys)| {
                let times: Vec<f32> = keys.iter().map(|k| k.0).collect();
                let turn = |degrees: f32| Quat::from_rotation_z(degrees.to_radians()).to_array();
                let turns: Vec<f32> = (keys.iter())
                    .flat_map(|k| match self.interpolation {
                        // Away from the key, and back.
                        "CUBICSPLINE" => [[0.0, 0.0, 2.0, 0.0], turn(k.1), [0.0, 0.0, 2.0, 0.0]].concat(),
                        _ => turn(k.1).to_vec(),
                    })
                    .collect();
                let input = put(floats(&times), times.len(), 5126, "SCALAR");
                let output = put(floats(&turns), turns.len() / 4, 5126, "VEC4");
                json!({
                    "name": format!("turn {a}"),
                    "samplers": [{ "input": input, "output": output, "interpolation": self.interpolation }],
                    "channels": [{ "sampler": 0, "target": { "node": 0, "path": "rotation" } }],
                })
            })
            .collect();
        let mesh =
            json!([{ "name": "bar", "primitives": [{ "attributes": attributes, "indices": indices }] }]);
        let mut root = json!({
            "asset": { "version": "2.0" }, "scenes": [{ "nodes": [0] }], "nodes": [{ "name": "bar", "mesh": 0 }],
            "meshes": mesh, "animations": animations, "accessors": accessors, "bufferViews": views,
            "buffers": [{ "byteLength": binary.len() }],
        });
        if self.skinned {
            root["nodes"] = json!([{ "name": "joint" }, { "name": "bar", "mesh": 0, "skin": 0 }]);
            root["scenes"] = json!([{ "nodes": [0, 1] }]);
            root["skins"] = json!([{ "joints": [0] }]);
        }
        let mut text = root.to_string();
        text.extend(std::iter::repeat_n(' ', text.len().next_multiple_of(4) - text.len()));
        let mut file = b"glTF".to_vec();
        file.extend(2u32.to_le_bytes());
        file.extend((28 + text.len() as u32 + binary.len() as u32).to_le_bytes());
        for (kind, bytes) in [(b"JSON", text.as_bytes()), (b"BIN\0", &binary[..])] {
            file.extend((bytes.len() as u32).to_le_bytes());
            file.extend(kind);
            file.extend(bytes);
        }
        std::fs::write(path, file).unwrap();
    }
}

/// Compiles and verifies; returns both outputs.
fn compile_and_verify(folder: &Path, more: &[&str]) -> (Value, Value) {
    let line = ["compile", "bar.glb", "-o", "a.reel", "--json", "--tolerance", "0.02%"];
    let line = [&line, more].concat();
    let done = object(&line, folder);
    let checked = object(&["verify", "bar.glb", "a.reel", "--json"], folder);
    assert_eq!(checked["ok"], true, "{done} {checked}");
    assert_eq!(done["frames"], checked["frames"]);
    (done, checked)
}

fn worst(checked: &Value) -> f64 {
    checked["meshes"][0]["between_worst"].as_f64().unwrap()
}

/// Returns keys at these angles in degrees, ten a second.
fn tenths(turns: &[f32]) -> Vec<(f32, f32)> {
    let key = |(i, turn): (usize, &f32)| (i as f32 / 10.0, *turn);
    turns.iter().enumerate().map(key).collect()
}

const SIXTY: [f32; 4] = [0.0, 60.0, 65.0, 65.5];

#[test]
fn joints_turn_between_samples() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    Bar::turning(&tenths(&SIXTY)).write(&at.join("bar.glb"));
    // In the source the tip moves on the circle.
    let scene = meshreel_read::open(&at.join("bar.glb"), &meshreel_read::ReadOptions::default()).unwrap().0;
    let mut points = Vec::new();
    positions_at(&scene.meshes[0], 0.05, &mut points).unwrap();
    let tip = points[4 * (RINGS - 1) + 2];
    let half = 30f32.to_radians();
    assert!((tip[0] - half.cos()).abs() < 1e-5 && (tip[1] - half.sin()).abs() < 1e-5, "{tip:?}");

    let (done, checked) = compile_and_verify(at, &["--between", "off"]);
    assert_eq!((&done["frames"], &checked["between"]), (&4.into(), &Value::Null));
    let mesh = &checked["meshes"][0];
    let error = mesh["between_error"].as_f64().unwrap();
    // The sagitta of 60° at the end of the bar.
    assert!((error - (1.0 - half.cos()) as f64).abs() < 0.01, "{error}");
    assert!((error / mesh["tolerance"].as_f64().unwrap() - worst(&checked)).abs() < 1e-6);
    assert!(worst(&checked) > 100.0, "{checked}");

    // By default at most three times the source's frames.
    let (done, checked) = compile_and_verify(at, &[]);
    assert!(done["added_frames"].as_u64().unwrap() <= 8, "{done}");
    let held = checked["between"].as_f64().unwrap();
    assert!(held > 4.0 && worst(&checked) <= held, "{checked}");
    assert!(done["remarks"].to_string().contains("--between 4 adds about"), "{done}");

    let (done, checked) = compile_and_verify(at, &["--between", "4"]);
    let added = done["added_frames"].as_u64().unwrap();
    assert!(added >= 8 && done["frames"] == added + 4, "{done}");
    assert_eq!(checked["between"], 4.0);
    assert!(worst(&checked) <= 4.0, "{checked}");
    // No frames are added where it hardly rotates.
    let frames = object(&["info", "a.reel", "--frames", "--json"], at);
    let times = frames["frame_list"].as_array().unwrap_or(&Vec::new()).clone();
    let late = times.iter().filter(|f| f["time"].as_f64().unwrap() > 0.2 + 1e-6);
    assert!(times.is_empty() || late.count() == 1, "{frames}");
    let text = run(&["verify", "bar.glb", "a.reel"], at);
    assert!(String::from_utf8_lossy(&text.stdout).contains(" T)"));
    let text = run(&["compile", "bar.glb", "-o", "b.reel"], at);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("frames added to the source's 4"), "{text}");

    // Fewer frames for a looser bound, also from an options file.
    let (loose, checked) = compile_and_verify(at, &["--between", "40"]);
    assert!(loose["added_frames"].as_u64().unwrap() < added);
    assert!(worst(&checked) <= 40.0 && checked["between"] == 40.0);
    std::fs::write(at.join("o.toml"), "between = \"off\"").unwrap();
    assert_eq!(compile_and_verify(at, &["--options", "o.toml"]).0["frames"], 4);
    for (option, code) in [("1", 2), ("-4", 2), ("many", 2), ("0", 0), ("auto", 0)] {
        let option = format!("--between={option}");
        let output = run(&["compile", "bar.glb", "-o", "c.reel", &option], at);
        assert_eq!(output.status.code(), Some(code), "{option}");
    }
    // Frames that the user chose stay; a remark tells how far off they are.
    let (done, checked) = compile_and_verify(at, &["--fps", "10"]);
    assert_eq!((&done["frames"], &checked["between"]), (&4.into(), &Value::Null));
    assert!(done["remarks"].to_string().contains("--between off"), "{done}");
    // Clips move a mesh with a rig, also between its frames.
    let (done, _) = compile_and_verify(at, &["--rig", "keep"]);
    assert_eq!(done["frames"], 4);
    // An extracted file has all frames, also those between the source's samples.
    let (done, _) = compile_and_verify(at, &["--between", "4"]);
    run(&["extract", "a.reel", "-o", "back.abc"], at);
    let back = meshreel_read::open(&at.join("back.abc"), &meshreel_read::ReadOptions::default()).unwrap().0;
    assert_eq!(back.meshes[0].positions.len() as u64, done["frames"].as_u64().unwrap());
}

#[test]
fn nodes_turn_evenly_and_players_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let bar = Bar { skinned: false, ..Bar::turning(&tenths(&[0.0, 85.0, 90.0])) };
    bar.write(&at.join("bar.glb"));
    let (done, checked) = compile_and_verify(at, &["--between", "off"]);
    assert_eq!(done["frames"], 3);
    assert!(worst(&checked) > 20.0, "{checked}");
    let (done, checked) = compile_and_verify(at, &[]);
    assert!((1..8).contains(&done["added_frames"].as_u64().unwrap()), "{done}");
    assert!(worst(&checked) <= 4.0, "{checked}");
}

/// A sudden change gets one frame right before it, not many.
#[test]
fn steps_of_joints_stay_steps() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let bar = Bar { interpolation: "STEP", ..Bar::turning(&tenths(&SIXTY)) };
    bar.write(&at.join("bar.glb"));
    let (done, checked) = compile_and_verify(at, &[]);
    assert_eq!(done["added_frames"], 3, "{done}");
    assert!(worst(&checked) < 1.0, "{checked}");
}

/// Nothing is interpolated between two consecutive animations.
#[test]
fn ranges_are_not_led_from_one_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut bar = Bar::turning(&tenths(&[0.0, 1.0, 2.0]));
    bar.keys.push(tenths(&[80.0, 81.0, 80.0]));
    bar.write(&at.join("bar.glb"));
    let (done, checked) = compile_and_verify(at, &["--animation", "all", "--between", "off"]);
    assert_eq!(done["frames"], 6);
    assert!(worst(&checked) < 4.0, "{checked}");
    bar.keys[1][1].1 = 20.0;
    bar.write(&at.join("bar.glb"));
    let (done, checked) = compile_and_verify(at, &["--animation", "all", "--between", "4"]);
    assert!(worst(&checked) <= 4.0, "{checked}");
    let info = object(&["info", "a.reel", "--json"], at);
    let frames = |i: usize| info["ranges"][i]["frames"].as_u64().unwrap();
    assert_eq!(frames(0), 3);
    assert_eq!(done["frames"], 3 + frames(1));
}

/// The declared error between frames is checked against the source.
#[test]
fn what_leaves_the_line_between_frames_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut bar = Bar::turning(&tenths(&[0.0, 0.5, 1.0]));
    bar.write(&at.join("bar.glb"));
    let (done, checked) = compile_and_verify(at, &[]);
    assert_eq!((&done["frames"], &checked["between"]), (&3.into(), &4.0.into()));
    bar.interpolation = "CUBICSPLINE";
    bar.write(&at.join("bar.glb"));
    let checked = object(&["verify", "bar.glb", "a.reel", "--json"], at);
    assert_eq!(checked["ok"], false);
    let failures = checked["failures"].to_string();
    assert!(failures.contains("between this frame and the next"), "{failures}");
    // A file compiled from it has frames there.
    compile_and_verify(at, &["--between", "4"]);
}

/// Samples of Alembic are interpolated linearly: no frame is added, and the file is the same.
#[test]
fn lines_between_samples_need_no_frames() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs");
    for name in ["m_scale_shear.abc", "n_robot_bone_parented.abc"] {
        std::fs::copy(inputs.join(name), at.join(name)).unwrap();
        let compile = |target: &str, more: &[&str]| {
            let line = [&["compile", name, "-o", target, "--json"], more].concat();
            let done = object(&line, at);
            assert_eq!(done["added_frames"], Value::Null, "{done}");
            std::fs::read(at.join(target)).unwrap()
        };
        assert!(compile("a.reel", &[]) == compile("b.reel", &["--between", "off"]));
        let checked = object(&["verify", name, "a.reel", "--json"], at);
        assert_eq!((&checked["ok"], &checked["between"]), (&true.into(), &Value::Null));
    }
}
