//! Tests of characters: a mesh keeps its rig, any clip of its skeleton moves it as in the source, and it is
//! extracted with a skin.

use crate::replaced::replaced;
use crate::source_rigs::{Worm, object, run, structure};
use glam::DVec3;
use meshreel::clip::{blend, object_space};
use meshreel::raw::format::kind;
use meshreel::view::BoneMatrix;
use meshreel::{FrameDecoder, Limits, MeshRig, Reel, Transform};
use meshreel_read::ReadOptions;
use meshreel_scene::{Scene, Skin, sample};
use serde_json::Value;
use std::path::Path;

fn vector(p: [f32; 3]) -> DVec3 {
    DVec3::from_array(p.map(f64::from))
}

fn open(path: &Path, animation: Option<&str>) -> Scene {
    let options = ReadOptions { animation: animation.map(str::to_owned), ..ReadOptions::default() };
    meshreel_read::open(path, &options).unwrap().0
}

/// Compiles `worm.glb` with its rig, and verifies it; returns both outputs.
fn compile_with_rig(folder: &Path, more: &[&str]) -> (Value, Value) {
    let line = ["compile", "worm.glb", "-o", "a.reel", "--rig", "keep", "--json"];
    let done = object(&[&line[..], more].concat(), folder);
    let checked = object(&["verify", "worm.glb", "a.reel", "--json"], folder);
    assert_eq!(checked["ok"], true, "{checked}");
    (done, checked)
}

/// Moves a mesh by its rig.
struct Driver<'a> {
    reel: &'a Reel,
    rig: &'a MeshRig,
}

impl Driver<'_> {
    fn positions(&self, pose: &[Transform]) -> Vec<[f32; 3]> {
        let skeletons = self.reel.skeletons().unwrap();
        let mut object = vec![BoneMatrix::default(); pose.len()];
        let mut matrices = vec![BoneMatrix::default(); self.rig.joints().len()];
        let mut out = vec![[0.0; 3]; self.rig.vertex_count()];
        object_space(&skeletons[self.rig.skeleton()].parents, pose, &mut object);
        self.rig.matrices(&object, &mut matrices);
        self.rig.positions(&matrices, &mut out);
        out
    }
}

fn farthest(got: &[[f32; 3]], wanted: impl Fn(usize) -> [f32; 3]) -> f64 {
    let off = got.iter().enumerate().map(|(v, got)| vector(*got).distance(vector(wanted(v))));
    off.fold(0.0, f64::max)
}

#[test]
fn f17_any_clip_moves_a_mesh_as_the_source_does() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // In a bind space of the world's scale, and in one a hundred times as large.
    for size in [1.0, 100.0] {
        let worm = Worm { size, more: 2, ..Worm::default() };
        worm.write(&at.join("worm.glb"));
        let (done, checked) = compile_with_rig(at, &[]);
        let (made, rig) = (&done["rigs"][0], &checked["rigs"][0]);
        assert_eq!((made["joints"].as_u64(), rig["clips"].as_u64()), (Some(7), Some(3)));
        assert_eq!(rig["samples"].as_u64(), Some(61 + 51 + 41));
        let number = |value: &Value, key: &str| value[key].as_f64().unwrap();
        let tolerance = number(rig, "tolerance");
        assert!(number(rig, "max_error") <= tolerance, "{rig}");
        let off = number(rig, "max_error") - number(made, "max_error");
        assert!(off.abs() < 0.1 * tolerance);
        assert!(number(rig, "blend_error") <= 2.0 * tolerance, "{rig}");
        // Independently: the runtime against the source's points, for all clips and not only the first.
        let scene = open(&at.join("worm.glb"), None);
        let skin: &Skin = scene.meshes[0].skin.as_deref().unwrap();
        let reel = Reel::open(at.join("a.reel"), &Limits::default()).unwrap();
        let (rigs, clips) = (reel.rigs().unwrap(), reel.clips().unwrap());
        let driver = Driver { reel: &reel, rig: &rigs[0] };
        assert_eq!(rigs[0].first_frame(), Some((0, 0)));
        let map = reel.source_map(0).unwrap().unwrap().vertex_point;
        let mut poses = Vec::new();
        for (number, clip) in clips.iter().enumerate() {
            let (_, source) = skin.driven.iter().find(|(n, _)| *n == number).unwrap();
            let mut cursor = clip.cursor();
            let mut pose = vec![Transform::IDENTITY; clip.joints()];
            let mut points = Vec::new();
            for i in (0..clip.samples()).step_by(5) {
                cursor.sample(i, &mut pose).unwrap();
                source.points(i as f64 / 30.0, &mut points).unwrap();
                let off = farthest(&driver.positions(&pose), |v| points[map[v] as usize]);
                assert!(off <= tolerance, "{} {i}: {off}", clip.name());
            }
            poses.push(pose);
        }
        // The frames of the file are the first clip: both are within the tolerance of the same points.
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        let mut cursor = clips[0].cursor();
        let mut pose = poses[0].clone();
        for frame in [0, 17, 60] {
            decoder.decode(frame).unwrap();
            let mut shown = vec![0.0; 3 * rigs[0].vertex_count()];
            decoder.mesh(0).positions_into(&mut shown).unwrap();
            cursor.sample(frame, &mut pose).unwrap();
            let at = |v: usize| [shown[3 * v], shown[3 * v + 1], shown[3 * v + 2]];
            let off = farthest(&driver.positions(&pose), at);
            assert!(off <= 2.0 * tolerance, "{frame}: {off}");
        }
        // A blend differs from both, and no vertex is thrown away.
        let mut both = pose.clone();
        blend(&poses[1], &poses[2], 0.5, &mut both);
        let [a, b, mid] = [&poses[1], &poses[2], &both].map(|pose| driver.positions(pose));
        assert!(farthest(&mid, |v| a[v]) > 0.1 && farthest(&mid, |v| b[v]) > 0.1);
        assert!(mid.iter().flatten().all(|x| x.abs() < 10.0));
    }
}

#[test]
fn f17_by_default_a_mesh_is_what_frames_show() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    Worm::default().write(&at.join("worm.glb"));
    let plain = object(&["compile", "worm.glb", "-o", "a.reel", "--json"], at);
    assert_eq!(plain["rigs"].as_array().map(Vec::len), Some(0));
    let bake = object(&["compile", "worm.glb", "-o", "b.reel", "--rig", "bake", "--json"], at);
    assert_eq!(plain["file_bytes"], bake["file_bytes"]);
    let bytes = |name: &str| std::fs::read(at.join(name)).unwrap();
    assert_eq!(bytes("a.reel"), bytes("b.reel"));
    let reel = Reel::open(at.join("a.reel"), &Limits::default()).unwrap();
    assert!(reel.rigs().unwrap().is_empty());
    // A rig is compared through the source map.
    let output = run(&["compile", "worm.glb", "-o", "c.reel", "--rig", "keep", "--strip"], at);
    assert_eq!(output.status.code(), Some(2));
}

/// Joints explain only a part of the motion: a remark tells so, and the mesh is that of its frames.
#[test]
fn f17_a_rig_that_does_not_say_all_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let worm = Worm { swells: true, ..Worm::default() };
    worm.write(&at.join("worm.glb"));
    let (done, checked) = compile_with_rig(at, &["--method", "soft"]);
    assert_eq!(done["rigs"].as_array().map(Vec::len), Some(0));
    assert_eq!(checked["rigs"].as_array().map(Vec::len), Some(0));
    let said = done["remarks"].to_string();
    assert!(said.contains("its rig is left out"), "{said}");
    // With `--strict` that is an error.
    let line = ["compile", "worm.glb", "-o", "b.reel", "--method", "soft"];
    let strict = [&line[..], &["--rig", "keep", "--strict"]].concat();
    let output = run(&strict, at);
    assert_eq!(output.status.code(), Some(1));
    // The clips are the same as without the option.
    let plain = object(&[&line[..], &["--json"]].concat(), at);
    assert_eq!(done["clips"], plain["clips"]);
}

/// Extracted as one character: a skin on the skeleton, an animation for each clip that moves mesh and joints,
/// and no morph targets.
#[test]
fn f17_a_character_comes_back_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let worm = Worm {
        more: 1,
        // Some points have no joint.
        weights: |z, i| match i {
            3 => Vec::new(),
            _ => {
                let part = (2.0 * (z.fract() - 0.5)).clamp(0.0, 1.0);
                vec![(z as usize, 1.0 - part), (z as usize + 1, part)]
            }
        },
        ..Worm::default()
    };
    worm.write(&at.join("worm.glb"));
    let (_, checked) = compile_with_rig(at, &[]);
    let tolerance = checked["rigs"][0]["tolerance"].as_f64().unwrap();
    object(&["extract", "a.reel", "-o", "back.glb", "--json"], at);
    let back = structure(&at.join("back.glb"));
    assert_eq!(back["skins"].as_array().map(Vec::len), Some(1));
    let primitive = &back["meshes"][0]["primitives"][0];
    assert!(primitive["attributes"]["JOINTS_0"].is_u64() && primitive["targets"].is_null());
    let names: Vec<&str> =
        (back["animations"].as_array().unwrap().iter()).map(|a| a["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["crawl", "roll"]);
    // Each moves the points as the source's does, and the joints with them.
    for name in names {
        let [source, back] = ["worm.glb", "back.glb"].map(|file| open(&at.join(file), Some(name)));
        assert_eq!(back.clips.len(), 2);
        let (mut wanted, mut got) = (Vec::new(), Vec::new());
        let (from, to) = (&source.meshes[0], &back.meshes[0]);
        for time in [0.0, 0.3, 1.0, 1.6] {
            sample::positions_at(from, time, &mut wanted).unwrap();
            sample::positions_at(to, time, &mut got).unwrap();
            assert_eq!(got.len(), wanted.len());
            let off = farthest(&got, |v| wanted[v]);
            assert!(off <= 1.05 * tolerance, "{name} {time}: {off}");
        }
        assert!(source.clips.iter().zip(&back.clips).all(|(a, b)| a.samples == b.samples));
    }
    // It compiles again, with its rig.
    let line = ["compile", "back.glb", "-o", "again.reel", "--rig", "keep", "--json"];
    assert_eq!(object(&line, at)["rigs"].as_array().map(Vec::len), Some(1));
    // Frames on request.
    object(&["extract", "a.reel", "-o", "points.glb", "--as", "points", "--json"], at);
    let points = structure(&at.join("points.glb"));
    assert!(points["meshes"][0]["primitives"][0]["targets"].is_array());
}

/// All animations as ranges of frames, and each as a clip that moves the mesh.
#[test]
fn f17_ranges_and_rigs_together() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let worm = Worm { more: 1, ..Worm::default() };
    worm.write(&at.join("worm.glb"));
    let (done, _) = compile_with_rig(at, &["--animation", "all"]);
    assert_eq!(done["frames"].as_u64(), Some(61 + 51));
    object(&["extract", "a.reel", "-o", "back.glb", "--json"], at);
    let back = structure(&at.join("back.glb"));
    assert_eq!(back["animations"].as_array().map(Vec::len), Some(2));
}

/// Only clips move it: far smaller, with the same precision, and extracted as one character.
#[test]
fn f17_a_rig_may_be_all_that_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let worm = Worm { frames: 241, more: 1, ..Worm::default() };
    worm.write(&at.join("worm.glb"));
    let line = |output, rig| ["compile", "worm.glb", "-o", output, "--rig", rig, "--json"];
    let bake = object(&line("bake.reel", "bake"), at);
    let only = object(&line("only.reel", "only"), at);
    let bytes = |done: &Value| {
        let number = |key: &str| done[key].as_u64().unwrap();
        number("file_bytes") - number("source_map_bytes")
    };
    println!("bake {} only {}", bytes(&bake), bytes(&only));
    assert!(bytes(&only) < bytes(&bake));
    assert_eq!((only["frames"].as_u64(), &only["meshes"][0]["method"]), (Some(1), &"static".into()));
    let checked = object(&["verify", "worm.glb", "only.reel", "--json"], at);
    assert_eq!(checked["ok"], true, "{checked}");
    assert_eq!(checked["rigs"][0]["samples"].as_u64(), Some(241 + 231));
    object(&["extract", "only.reel", "-o", "back.glb", "--json"], at);
    let [source, back] = ["worm.glb", "back.glb"].map(|file| open(&at.join(file), Some("roll")));
    let tolerance = checked["rigs"][0]["tolerance"].as_f64().unwrap();
    let (mut wanted, mut got) = (Vec::new(), Vec::new());
    for time in [0.0, 1.0, 1.6] {
        sample::positions_at(&source.meshes[0], time, &mut wanted).unwrap();
        sample::positions_at(&back.meshes[0], time, &mut got).unwrap();
        assert!(farthest(&got, |v| wanted[v]) <= 1.05 * tolerance, "{time}");
    }
    // Other formats have no skins.
    let output = run(&["extract", "only.reel", "-o", "back.abc"], at);
    assert!(String::from_utf8_lossy(&output.stderr).contains("stand still"));
    // A mesh that the rig cannot move is not frozen.
    let worm = Worm { swells: true, ..Worm::default() };
    worm.write(&at.join("worm.glb"));
    let output = run(&line("swell.reel", "only"), at);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("--rig keep"));
    assert!(!at.join("swell.reel").exists());
}

/// A wrong rig, one with a looser tolerance, and ranges with other names are detected.
#[test]
fn f17_a_rig_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let worm = Worm { more: 1, ..Worm::default() };
    worm.write(&at.join("worm.glb"));
    compile_with_rig(at, &["--animation", "all"]);
    let reel = Reel::open(at.join("a.reel"), &Limits::default()).unwrap();
    let refused = |kind: u16, change: &dyn Fn(&mut Vec<u8>), what: &str| {
        std::fs::write(at.join("b.reel"), replaced(&reel, kind, change)).unwrap();
        let checked = object(&["verify", "worm.glb", "b.reel", "--json"], at);
        assert_eq!(checked["ok"], false, "{what}");
        let said = checked["failures"].to_string();
        assert!(said.contains(what), "{what}: {said}");
        checked
    };
    // The last eight bytes are the measured error, those before the tolerance.
    let more = |content: &mut Vec<u8>| {
        let at = content.len() - 16;
        content[at..at + 8].copy_from_slice(&1.0f64.to_le_bytes());
    };
    refused(kind::RIGS, &more, "promises 1e0 only");
    // An inverse bind matrix of a joint elsewhere: after mesh, size, skeleton and the list of joints.
    let elsewhere = |content: &mut Vec<u8>| {
        let number = 1f32.to_le_bytes();
        let first = content.windows(4).position(|w| w == number).unwrap();
        content[first + 12..first + 16].copy_from_slice(&0.01f32.to_le_bytes());
    };
    let checked = refused(kind::RIGS, &elsewhere, "an error of");
    assert_eq!(checked["rigs"][0]["ok"], false);
    let renamed = |content: &mut Vec<u8>| content[2] = b'X';
    refused(kind::RANGES, &renamed, "named ranges");
}

/// Tests the first root of the hand-written skins, blended by dual quaternions.
fn dual(folder: &Path) {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/usd/skins.usda");
    let text = std::fs::read_to_string(all).unwrap();
    let end = text.match_indices("def SkelRoot").nth(1).unwrap().0;
    std::fs::write(folder.join("dual.usda"), &text[..end]).unwrap();
}

#[test]
fn f17_dual_quaternions_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    dual(at);
    for rig in ["keep", "only"] {
        let done = object(
            &["compile", "dual.usda", "-o", "a.reel", "--rig", rig, "--tolerance", "0.001", "--json"],
            at,
        );
        assert_eq!(done["rigs"].as_array().map(Vec::len), Some(1), "{done}");
        let checked = object(&["verify", "dual.usda", "a.reel", "--json"], at);
        assert_eq!(checked["ok"], true, "{checked}");
        let reel = Reel::open(at.join("a.reel"), &Limits::default()).unwrap();
        let (rigs, clips) = (reel.rigs().unwrap(), reel.clips().unwrap());
        let rig = &rigs[0];
        assert!(
            rig.uses_dual_quaternions()
                && (0..rig.vertex_count()).all(|v| rig.dual_quaternion_weight(v) == 1.0)
        );
        // The runtime against the source, at the end, where linear blending is far off.
        let scene = open(&at.join("dual.usda"), None);
        let (skin, mut wanted) = (scene.meshes[0].skin.as_deref().unwrap(), Vec::new());
        skin.driven[0].1.points(5.0 / 24.0, &mut wanted).unwrap();
        let mut pose = vec![Transform::IDENTITY; clips[0].joints()];
        let last = clips[0].samples() - 1;
        clips[0].cursor().sample(last, &mut pose).unwrap();
        let map = reel.source_map(0).unwrap().unwrap().vertex_point;
        let driver = Driver { reel: &reel, rig };
        assert!(farthest(&driver.positions(&pose), |v| wanted[map[v] as usize]) <= 0.001);
        // Linear blending puts one of them there.
        let linear = [1.0, 1.75, 2.567];
        let off = (0..4).map(|p| vector(wanted[p]).distance(vector(linear)));
        assert!(off.fold(f64::INFINITY, f64::min) > 0.3);
    }
    // Skins of glTF are linear.
    let output = run(&["extract", "a.reel", "-o", "a.glb"], at);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("blends dual quaternions"), "{said}");
    let written = structure(&at.join("a.glb"));
    assert!(written["nodes"].as_array().unwrap().iter().all(|node| node.get("skin").is_none()), "{written}");
}
