//! Tests of rigs and part ids that a file contains: they are used, after a check.

use glam::{DVec3, Mat4, Quat, Vec3};
use meshreel::{Limits, Reel};
use meshreel_extract::to_scene;
use meshreel_scene::Scene;
use meshreel_scene::sample::{World, positions_at};
use meshreel_testkit::corpus_if_thorough;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

pub fn run(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_meshreel")).args(arguments).current_dir(folder).output().unwrap()
}

pub fn object(arguments: &[&str], folder: &Path) -> Value {
    let output = run(arguments, folder);
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// A tube along z on a chain of swinging joints, as a glTF file.
pub struct Worm {
    pub joints: usize,
    pub frames: usize,
    /// Scale of the bind space relative to the world.
    pub size: f32,
    /// Weights of a point, by its place along the chain and its index.
    pub weights: fn(f32, usize) -> Vec<(usize, f32)>,
    /// Number of additional animations; each is ten frames shorter than the one before and moves differently.
    pub more: usize,
    /// Adds a morph target that swells, with animated weights.
    pub swells: bool,
}

/// Number of rings; the next constant is the number of points on each.
const RINGS: usize = 61;
const AROUND: usize = 16;

/// Weights of the joint before a place and the one after it.
fn smooth(z: f32, _: usize) -> Vec<(usize, f32)> {
    let part = (2.0 * (z.fract() - 0.5)).clamp(0.0, 1.0);
    let joint = z as usize;
    vec![(joint, 1.0 - part), (joint + 1, part)]
}

impl Default for Worm {
    fn default() -> Worm {
        Worm { joints: 7, frames: 61, size: 1.0, weights: smooth, more: 0, swells: false }
    }
}

impl Worm {
    pub fn write(&self, path: &Path) {
        let mut binary: Vec<u8> = Vec::new();
        let (mut accessors, mut views) = (Vec::new(), Vec::new());
        let mut put = |numbers: &[f32], width: usize, kind: &str, whole: bool| {
            let start = binary.len();
            for v in numbers {
                match whole {
                    true => binary.extend((*v as u32 as u16).to_le_bytes()),
                    false => binary.extend(v.to_le_bytes()),
                }
            }
            binary.resize(binary.len().next_multiple_of(4), 0);
            views.push(json!({"buffer": 0, "byteOffset": start, "byteLength": binary.len() - start}));
            accessors.push(json!({
                "bufferView": views.len() - 1, "componentType": if whole { 5123 } else { 5126 }, "type": kind,
                "count": numbers.len() / width,
            }));
            accessors.len() - 1
        };
        let length = (self.joints - 1) as f32;
        let places: Vec<Vec3> = (0..RINGS * AROUND)
            .map(|i| {
                let a = (i % AROUND) as f32 / AROUND as f32 * std::f32::consts::TAU;
                let z = (i / AROUND) as f32 / (RINGS - 1) as f32 * length;
                Vec3::new(0.3 * a.cos(), 0.3 * a.sin(), z)
            })
            .collect();
        let flat = |all: &[Vec3]| -> Vec<f32> { all.iter().flat_map(|p| p.to_array()).collect() };
        let bound: Vec<Vec3> = places.iter().map(|p| *p * self.size).collect();
        let positions = put(&flat(&bound), 3, "VEC3", false);
        let lists: Vec<Vec<(usize, f32)>> =
            (places.iter().enumerate()).map(|(i, p)| (self.weights)(p.z, i)).collect();
        let sets = lists.iter().map(Vec::len).max().unwrap_or(0).div_ceil(4);
        let mut attributes = json!({ "POSITION": positions });
        for set in 0..sets {
            let slot = |i: usize| {
                let found = lists[i / 4].get(4 * set + i % 4).copied();
                let (joint, weight) = found.unwrap_or((0, 0.0));
                (joint.min(self.joints - 1), weight)
            };
            let slots = 0..4 * lists.len();
            let joints: Vec<f32> = slots.clone().map(|i| slot(i).0 as f32).collect();
            let weights: Vec<f32> = slots.map(|i| slot(i).1).collect();
            attributes[format!("JOINTS_{set}")] = put(&joints, 4, "VEC4", true).into();
            attributes[format!("WEIGHTS_{set}")] = put(&weights, 4, "VEC4", false).into();
        }
        let corner = |ring: usize, a: usize| (ring * AROUND + a % AROUND) as f32;
        let faces: Vec<f32> = (0..(RINGS - 1) * AROUND)
            .flat_map(|i| {
                let (r, a) = (i / AROUND, i % AROUND);
                let [p, q] = [corner(r, a), corner(r, a + 1)];
                let [s, t] = [corner(r + 1, a), corner(r + 1, a + 1)];
                [p, q, t, p, t, s]
            })
            .collect();
        let indices = put(&faces, 1, "SCALAR", true);
        let inverse: Vec<f32> = (0..self.joints)
            .flat_map(|j| {
                let back = Mat4::from_translation(Vec3::new(0.0, 0.0, -(j as f32)));
                (back * Mat4::from_scale(Vec3::splat(1.0 / self.size))).to_cols_array()
            })
            .collect();
        let inverse = put(&inverse, 16, "MAT4", false);
        let mut animations = Vec::new();
        for a in 0..=self.more {
            let frames = self.frames - 10 * a;
            let times: Vec<f32> = (0..frames).map(|f| f as f32 / 30.0).collect();
            let times = put(&times, 1, "SCALAR", false);
            let (mut samplers, mut channels) = (Vec::new(), Vec::new());
            for j in 0..self.joints {
                let turn = |f: usize| {
                    let t = f as f32 * 0.1 * (a + 1) as f32 + j as f32 + a as f32;
                    let axis = Vec3::new(1.0, 0.4 * t.cos(), 0.1).normalize();
                    Quat::from_axis_angle(axis, 0.5 * t.sin())
                };
                let turns: Vec<f32> = (0..frames).flat_map(|f| turn(f).to_array()).collect();
                let output = put(&turns, 4, "VEC4", false);
                samplers.push(json!({ "input": times, "output": output }));
                channels.push(json!({ "sampler": j, "target": { "node": j, "path": "rotation" } }));
            }
            if self.swells {
                let weights: Vec<f32> = (0..frames).map(|f| (f as f32 * 0.3).sin()).collect();
                let output = put(&weights, 1, "SCALAR", false);
                samplers.push(json!({ "input": times, "output": output }));
                channels.push(
                    json!({ "sampler": self.joints, "target": { "node": self.joints, "path": "weights" } }),
                );
            }
            let name = ["crawl", "roll", "rest"][a];
            animations.push(json!({ "name": name, "channels": channels, "samplers": samplers }));
        }
        let mut nodes = Vec::new();
        for j in 0..self.joints {
            let mut node = json!({ "name": format!("joint {j}"), "translation": [0, 0, i32::from(j > 0)] });
            if j + 1 < self.joints {
                node["children"] = json!([j + 1]);
            }
            nodes.push(node);
        }
        nodes.push(json!({ "name": "body", "mesh": 0, "skin": 0 }));
        let mut primitive = json!({ "attributes": attributes, "indices": indices });
        if self.swells {
            let out: Vec<Vec3> = bound.iter().map(|p| Vec3::new(p.x, p.y, 0.0) * 0.5).collect();
            let target = put(&flat(&out), 3, "VEC3", false);
            primitive["targets"] = json!([{ "POSITION": target }]);
        }
        let mut text = json!({
            "asset": { "version": "2.0" }, "scenes": [{ "nodes": [0, self.joints] }], "nodes": nodes,
            "meshes": [{ "name": "worm", "primitives": [primitive] }],
            "skins": [{ "name": "rig", "joints": (0..self.joints).collect::<Vec<_>>(), "inverseBindMatrices": inverse }],
            "animations": animations,
            "accessors": accessors, "bufferViews": views, "buffers": [{ "byteLength": binary.len() }],
        })
        .to_string();
        while !text.len().is_multiple_of(4) {
            text.push(' ');
        }
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

/// Compiles `source` there and verifies it; returns the output of `compile`.
fn compiled(folder: &Path, source: &str, more: &[&str]) -> Value {
    let line = [&["compile", source, "-o", "a.reel", "--explain", "--json"], more];
    let done = object(&line.concat(), folder);
    let checked = object(&["verify", source, "a.reel", "--json"], folder);
    assert_eq!(checked["ok"], true, "{checked}");
    done
}

fn tried(done: &Value) -> Vec<(&str, &str)> {
    let all = done["meshes"][0]["tried"].as_array().unwrap().iter();
    all.map(|t| (t["method"].as_str().unwrap(), t["from"].as_str().unwrap())).collect()
}

fn remarked(done: &Value, what: &str) -> bool {
    done["remarks"].to_string().contains(what)
}

const RIG: (&str, &str) = ("skinned", "rig of the file");

#[test]
fn e05_f17_the_rig_of_the_file_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // In a bind space of the world's scale, and in one a hundred times as large or as small.
    let mut sizes = Vec::new();
    for size in [1.0, 100.0, 0.01] {
        let worm = Worm { size, ..Worm::default() };
        worm.write(&at.join("worm.glb"));
        let done = compiled(at, "worm.glb", &["--channels", "positions"]);
        let mesh = &done["meshes"][0];
        assert_eq!(mesh["method"], "skinned");
        assert_eq!(mesh["parts"].as_u64().unwrap() + mesh["bones"].as_u64().unwrap(), 7);
        // No method is fitted.
        assert_eq!(tried(&done), [("soft", ""), RIG]);
        sizes.push(mesh["position_bytes"].as_f64().unwrap());
    }
    println!("{sizes:?} bytes of positions");
    let (low, high) = sizes.iter().fold((f64::MAX, 0.0f64), |m, s| (m.0.min(*s), m.1.max(*s)));
    assert!(high < 1.1 * low, "{sizes:?}");
    let soft = compiled(at, "worm.glb", &["--method", "soft", "--channels", "positions"]);
    assert!(2.0 * high < soft["meshes"][0]["position_bytes"].as_f64().unwrap());
    // With all other channels of a mesh, and in the other preset.
    let done = compiled(at, "worm.glb", &["--preset", "fast"]);
    assert_eq!(done["meshes"][0]["method"], "skinned");
}

#[test]
fn f17_weights_of_any_sum_sign_and_number() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let write = |weights| {
        let worm = Worm { weights, ..Worm::default() };
        worm.write(&at.join("worm.glb"));
        compiled(at, "worm.glb", &["--method", "skinned"])
    };
    let done = write(|z, i| smooth(z, i).iter().map(|w| (w.0, w.1 * 3.0)).collect());
    assert!(remarked(&done, "do not sum up to 1"), "{}", done["remarks"]);
    assert_eq!(tried(&done), [RIG]);
    let done = write(|z, i| {
        let odd = [-0.5, f32::NAN, f32::NEG_INFINITY][i % 3];
        [smooth(z, i), vec![(3, odd), (4, 0.0)]].concat()
    });
    assert!(remarked(&done, "below zero or no numbers"), "{}", done["remarks"]);
    assert_eq!(tried(&done), [RIG]);
    let done = write(|z, i| if i % 5 == 0 { Vec::new() } else { smooth(z, i) });
    assert!(remarked(&done, "bound to no joint"), "{}", done["remarks"]);
    assert_eq!(tried(&done), [RIG]);
    // Twelve influences, some repeated: those beyond eight are left to the residual.
    let done = write(|z, i| {
        let more = (0..10).map(|k| ((i + k) % 7, 0.004 * k as f32));
        smooth(z, i).into_iter().chain(more).collect()
    });
    assert_eq!(tried(&done), [RIG]);
}

#[test]
fn f17_infinite_weights_and_joints_that_are_not_there_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let worm = Worm { weights: |z, i| [smooth(z, i), vec![(2, f32::INFINITY)]].concat(), ..Worm::default() };
    worm.write(&folder.path().join("worm.glb"));
    let output = run(&["compile", "worm.glb", "-o", "a.reel"], folder.path());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("is bound to joint 2"), "{said}");
}

#[test]
fn e05_a_mesh_with_a_single_frame_needs_no_rig() {
    let folder = tempfile::tempdir().unwrap();
    for frames in [1, 2] {
        let worm = Worm { frames, ..Worm::default() };
        worm.write(&folder.path().join("worm.glb"));
        let done = compiled(folder.path(), "worm.glb", &[]);
        let method = done["meshes"][0]["method"].as_str().unwrap();
        assert_eq!(method, ["static", "soft"][frames - 1]);
    }
}

#[test]
fn e05_f17_corpus_characters_are_moved_by_their_rigs() {
    let Some(corpus) = corpus_if_thorough() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["hero", "snake"] {
        let source = corpus.join(format!("characters/{name}.glb"));
        let done = compiled(folder.path(), source.to_str().unwrap(), &[]);
        assert_eq!(done["meshes"][0]["method"], "skinned");
        assert_eq!(tried(&done), [("soft", ""), RIG]);
    }
}

/// Returns the JSON of a .glb.
pub fn structure(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap();
    let size = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&bytes[20..20 + size]).unwrap()
}

fn bundled(name: &str) -> String {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs");
    inputs.join(name).to_str().unwrap().to_owned()
}

fn fails(arguments: &[&str], folder: &Path, code: i32) -> String {
    let output = run(arguments, folder);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Positions, to an absolute tolerance that does not depend on decoded values. Only frames of the source, so
/// that an extracted file has its rate.
const EXACT: [&str; 6] = ["--channels", "positions", "--tolerance", "0.001", "--between", "off"];

#[test]
fn a_skinned_mesh_comes_back_with_its_skin() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    Worm::default().write(&at.join("worm.glb"));
    // Whether some point lies just beyond the tolerance, and has a residual, is chance.
    let done = ["0.001", "0.0011", "0.0012", "0.0013", "0.0014"]
        .into_iter()
        .map(|tolerance| {
            let mut exact = EXACT;
            exact[3] = tolerance;
            compiled(at, "worm.glb", &exact)
        })
        .find(|done| done["meshes"][0]["tried"][1]["points_with_residual"] == 0)
        .expect("a tolerance that bones alone hold");
    let back = object(&["extract", "a.reel", "-o", "back.glb", "--json"], at);
    assert_eq!(back["skins"][0]["path"], "/body/worm");
    let tolerance = done["meshes"][0]["tolerance"].as_f64().unwrap();
    assert!(back["skins"][0]["max_distance"].as_f64().unwrap() < 0.12 * tolerance);
    let glb = structure(&at.join("back.glb"));
    let primitive = &glb["meshes"][0]["primitives"][0];
    assert!(primitive["attributes"]["WEIGHTS_0"].is_u64() && primitive["targets"].is_null());
    // It agrees on the mesh and on the clip, and its rig is accepted as one.
    let same = object(&["verify", "back.glb", "a.reel", "--json"], at);
    assert_eq!(same["ok"], true, "{same}");
    assert_eq!(same["meshes"][0]["frames"], 61);
    let again = compiled(at, "back.glb", &EXACT);
    assert_eq!(tried(&again), [("soft", ""), RIG]);
    assert_eq!(again["clips"].as_array().unwrap().len(), 1);
    // As points, frame by frame.
    compiled(at, "worm.glb", &EXACT);
    let points = object(&["extract", "a.reel", "-o", "p.glb", "--as", "points", "--json"], at);
    assert_eq!(points["skins"].as_array().unwrap().len(), 0);
    assert!(structure(&at.join("p.glb"))["meshes"][0]["primitives"][0]["targets"].is_array());
    assert_eq!(object(&["verify", "p.glb", "a.reel", "--json"], at)["ok"], true);
}

#[test]
fn what_a_skin_cannot_say_comes_back_as_points_unless_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // Every seventh point has more joints than are kept.
    let worm = Worm {
        joints: 12,
        weights: |z, i| match i % 7 {
            0 => (0..12).map(|k| (k, 0.05 + 0.01 * k as f32)).collect(),
            _ => smooth(z, i),
        },
        ..Worm::default()
    };
    worm.write(&at.join("worm.glb"));
    let done = compiled(at, "worm.glb", &[&EXACT[..], &["--method", "skinned"]].concat());
    assert!(done["meshes"][0]["tried"][0]["points_with_residual"].as_u64().unwrap() > 50);
    let back = object(&["extract", "a.reel", "-o", "back.glb", "--json"], at);
    assert_eq!(back["skins"].as_array().unwrap().len(), 0);
    assert_eq!(object(&["verify", "back.glb", "a.reel", "--json"], at)["ok"], true);
    let skin = object(&["extract", "a.reel", "-o", "s.glb", "--as", "skins", "--json"], at);
    let most = skin["skins"][0]["max_distance"].as_f64().unwrap();
    assert!(most > done["meshes"][0]["tolerance"].as_f64().unwrap());
    assert!(skin["remarks"].to_string().contains("away from its decoded points"));
    assert_eq!(object(&["verify", "s.glb", "a.reel", "--json"], at)["ok"], false);
    let said = fails(&["extract", "a.reel", "-o", "x.abc", "--as", "skins"], at, 2);
    assert!(said.contains("only a .glb has skins"), "{said}");
}

#[test]
fn parts_come_back_as_joints() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let wall = bundled("c_wall_fracture_onemesh.abc");
    let done = compiled(at, &wall, &["--method", "rigid", "--channels", "positions", "--effort", "3"]);
    let parts = done["meshes"][0]["parts"].as_u64().unwrap();
    assert_eq!(done["meshes"][0]["tried"][0]["points_with_residual"], 0);
    let back = object(&["extract", "a.reel", "-o", "back.glb", "--json"], at);
    assert_eq!(back["skins"][0]["joints"], parts);
    assert_near_decoded(&at.join("back.glb"), at, done["meshes"][0]["tolerance"].as_f64().unwrap());
    // Alembic has no skins.
    let back = object(&["extract", "a.reel", "-o", "back.abc", "--json"], at);
    assert_eq!(back["skins"].as_array().unwrap().len(), 0);
}

#[test]
fn names_of_extracted_meshes_are_those_of_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let prism = bundled("prism.glb");
    compiled(at, &prism, &[]);
    for how in ["auto", "points", "skins"] {
        object(&["extract", "a.reel", "-o", "back.glb", "--as", how, "--json"], at);
        let info = object(&["info", "back.glb", "--json"], at);
        assert_eq!(info["meshes"][0]["path"], "/rig/body/prism", "{how}");
    }
    object(&["extract", "a.reel", "-o", "back.glb", "--as", "points", "--json"], at);
    // Compiled again, the mesh keeps its name.
    let again = compiled(at, "back.glb", &[]);
    assert_eq!(again["meshes"][0]["path"], "/rig/body/prism");
}

#[test]
fn f09_advice_is_printed_by_explain_and_info() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // Two thousand frames of a mesh that hardly moves.
    let worm = Worm { joints: 2, frames: 1_802, ..Worm::default() };
    worm.write(&at.join("worm.glb"));
    let done = compiled(at, "worm.glb", &["--channels", "positions", "--effort", "1"]);
    let about = |value: &Value| -> Vec<String> {
        let all = value["advice"].as_array().unwrap().iter();
        all.map(|a| a["about"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(about(&done), ["frames"]);
    let said = done["advice"][0]["text"].as_str().unwrap();
    assert!(said.contains("segments that follow each other"), "{said}");
    assert_eq!(about(&object(&["info", "a.reel", "--json"], at)), ["frames"]);
    let printed = run(&["info", "a.reel"], at);
    assert!(String::from_utf8_lossy(&printed.stdout).contains("advice\n"));
    let line = ["compile", "worm.glb", "-o", "b.reel", "--explain", "--range", "0:40"];
    assert!(!String::from_utf8_lossy(&run(&line, at).stdout).contains("advice\n"));
}

/// Returns all points of a scene in the world at a time.
fn world_points(scene: &Scene, time: f64) -> Vec<DVec3> {
    let placed = scene.expand().unwrap();
    let mut world = World::new(scene, &placed).unwrap();
    world.evaluate(time).unwrap();
    let (mut out, mut points) = (Vec::new(), Vec::new());
    for (i, object) in placed.iter().enumerate() {
        let Some(mesh) = scene.nodes[object.node].mesh else {
            continue;
        };
        positions_at(&scene.meshes[mesh], time, &mut points).unwrap();
        let at = |p: &[f32; 3]| DVec3::from_array(p.map(f64::from));
        out.extend(points.iter().map(|p| world.matrix[i].transform_point3(at(p))));
    }
    out
}

/// Opens a file extracted from `a.reel` there; all of its points are within a fraction of the tolerance of
/// decoded ones.
fn assert_near_decoded(path: &Path, folder: &Path, tolerance: f64) -> Scene {
    let reel = Reel::open(folder.join("a.reel"), &Limits::default()).unwrap();
    let whole = to_scene(&reel).unwrap();
    let (scene, _) = meshreel_read::open(path, &meshreel_read::ReadOptions::default()).unwrap();
    for frame in [0, 20, reel.frame_count() - 1] {
        let time = reel.time(frame);
        let (wanted, found) = (world_points(&whole, time), world_points(&scene, time));
        assert!(found.len() >= wanted.len());
        for p in found.iter().step_by(37) {
            let near = wanted.iter().map(|q| (*q - *p).length());
            let near = near.fold(f64::INFINITY, f64::min);
            assert!(near < 0.2 * tolerance, "{}, frame {frame}: {near}", path.display());
        }
    }
    scene
}

#[test]
fn parts_come_back_as_nodes_that_move() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let wall = bundled("c_wall_fracture_onemesh.abc");
    let done = compiled(at, &wall, &["--method", "rigid", "--effort", "3"]);
    let tolerance = done["meshes"][0]["tolerance"].as_f64().unwrap();
    let parts = done["meshes"][0]["parts"].as_u64().unwrap();
    for name in ["back.abc", "back.glb"] {
        let line = ["extract", "a.reel", "-o", name, "--as", "parts", "--json"];
        let back = object(&line, at);
        assert!(back["meshes"].as_u64().unwrap() >= parts, "{back}");
        let scene = assert_near_decoded(&at.join(name), at, tolerance);
        // Each part is a still mesh below a moving node.
        let still = |n: &&meshreel_scene::Node| n.name.starts_with("part ");
        assert_eq!(scene.nodes.iter().filter(still).count() as u64, parts);
    }
    assert!(fails(&["extract", "a.reel", "-o", "out/", "--as", "parts"], at, 2).contains("--as parts"));
    // Blended bones cannot be taken apart.
    Worm::default().write(&at.join("worm.glb"));
    // As a length: the extracted file has another extent, which a percentage would refer to.
    compiled(at, "worm.glb", &["--between", "off", "--tolerance", "0.001"]);
    let line = ["extract", "a.reel", "-o", "back.glb", "--as", "parts", "--json"];
    let back = object(&line, at);
    assert!(remarked(&back, "bones blend it"), "{back}");
    let verified = object(&["verify", "back.glb", "a.reel", "--json"], at);
    assert_eq!(verified["ok"], true, "{back} {verified}");
}

#[test]
fn parts_and_bones_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let input = |name: &str| {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs");
        all.join(name).display().to_string()
    };
    let wall = input("c_wall_fracture_onemesh.abc");
    let packed = ["compile", &wall, "-o", "wall.reel", "--effort", "2", "--channels", "positions"];
    let packed = object(&[&packed[..], &["--transforms", "packed", "--json"]].concat(), at);
    assert_eq!(packed["meshes"][0]["method"], "rigid");
    let plot = object(&["plot", "wall.reel", "--parts", "-o", "wall.png", "--json"], at);
    assert_eq!((&plot["parts"], &plot["bones"]), (&json!(350), &json!(0)));
    let picture = std::fs::read(at.join("wall.png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 20_000);
    let frame = ["plot", "wall.reel", "--frame", "30", "--size", "320x200", "-o", "frame.png", "--json"];
    let drawn = object(&frame, at);
    assert_eq!((&drawn["frame"], &drawn["size"]), (&json!(30), &json!([320, 200])));
    assert!(drawn["eye"][2].is_f64() && drawn["angle"].as_f64().is_some_and(|angle| angle > 10.0));
    assert!(std::fs::read(at.join("frame.png")).unwrap().starts_with(b"\x89PNG"));
    let moving = ["plot", "wall.reel", "--animate", "--size", "64x40", "-o", "moving.png", "--json"];
    let drawn = object(&moving, at);
    assert_eq!((&drawn["frames"], &drawn["size"]), (&json!(60), &json!([64, 40])));
    let moving = std::fs::read(at.join("moving.png")).unwrap();
    assert_eq!(drawn["bytes"], moving.len());
    assert_eq!(moving.windows(4).filter(|window| window == b"fcTL").count(), 60, "a chunk per picture");
    assert_eq!(run(&["verify", &wall, "wall.reel"], at).status.code(), Some(0));
    let flag = input("a_flag_wind.abc");
    let soft = ["compile", &flag, "-o", "flag.reel", "--method", "soft", "--effort", "1"];
    assert_eq!(run(&soft, at).status.code(), Some(0));
    for (wrong, says) in [
        (&["plot", "flag.reel", "--parts"][..], "no mesh of the file has parts"),
        (&["plot", "flag.reel", "--parts", "--vertex", "1"], "cannot be used with"),
        (&["plot", "flag.reel", "--frame", "60"], "frames are 0 to 59"),
        (&["plot", "flag.reel", "--frame", "6", "--animate"], "cannot be used with"),
        (&["plot", "flag.reel", "--size", "64x48"], "--animate"),
        (&["plot", "flag.reel", "--size", "0x9", "--frame", "1"], "as in 640x480"),
        (&["compile", &flag, "-o", "a.reel", "--transforms", "small"], "clip, packed"),
        (
            &["compile", &flag, "-o", "a.reel", "--transforms", "packed", "--preset", "classic"],
            "no packed transforms",
        ),
    ] {
        let output = run(wrong, at);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {text}");
        assert!(text.contains(says), "{wrong:?}: {text}");
    }
}
