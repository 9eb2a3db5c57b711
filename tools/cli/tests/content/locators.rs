//! Tests of nodes without meshes: they are in the file by name, at the source's place in every frame, and are
//! extracted again.

use super::build::*;
use crate::cli::common::run;
use glam::{DMat4, DQuat, DVec3};
use meshreel::FrameDecoder;
use meshreel_compile::Error;
use meshreel_options::{Options, Preset, Tolerance};
use meshreel_read::{ReadOptions, open};
use meshreel_scene::sample::World;
use meshreel_scene::{Attribute, Channel, CustomAttribute, FaceSet, NodeKind, Scene, Scope};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

const PRESETS: [Preset; 3] = [Preset::Small, Preset::Fast, Preset::Classic];

fn translation(x: f64, y: f64, z: f64) -> DMat4 {
    DMat4::from_translation(DVec3::new(x, y, z))
}

/// Returns a gun that swings with its muzzle, a rig of locators, a camera, a place, and groups without
/// meaning.
fn armed() -> Tree {
    let mut tree = Tree::default();
    let gun = tree.xform(None, "gun", frames(motion));
    tree.mesh(Some(gun), "body", cube());
    let muzzle = DMat4::from_rotation_translation(DQuat::from_rotation_y(0.7), DVec3::Z * 2.0);
    tree.xform(Some(gun), "muzzle", vec![muzzle]);
    let rig = tree.xform(None, "rig", vec![translation(5.0, 0.0, 0.0)]);
    let swing = tree.xform(Some(rig), "swing", frames(|f| motion(FRAMES - f)));
    let tip = tree.xform(Some(swing), "tip", frames(|f| motion(f) * translation(0.0, 3.0, 0.0)));
    tree.xform(Some(tip), "still", vec![translation(1.0, 0.0, 0.0)]);
    let camera = tree.xform(None, "camera", frames(motion));
    tree.node(Some(camera), "lens", NodeKind::Camera);
    tree.xform(None, "spawn", vec![translation(-4.0, 1.0, 2.0)]);
    tree.xform(None, "origin", vec![DMat4::IDENTITY]);
    tree.node(None, "empty", NodeKind::Xform);
    tree
}

const ARMED: [&str; 6] =
    ["/gun/muzzle", "/rig/swing", "/rig/swing/tip", "/rig/swing/tip/still", "/camera", "/spawn"];

fn locators(out: &Outcome) -> Vec<String> {
    let nodes = out.reel.description().nodes.iter();
    let own = nodes.filter(|n| n.reach > 0.0).map(|n| n.path.clone());
    let own: Vec<String> = own.collect();
    let checked: Vec<String> = out.check.locators.iter().map(|l| l.path.clone()).collect();
    assert_eq!(own, checked);
    let last = out.reel.frame_count();
    assert!(out.check.locators.iter().all(|l| l.ok && l.frames == last));
    own
}

/// Returns the largest distance of any of `paths` between the scenes, over all frames of the first.
fn largest_distance(a: &Scene, b: &Scene, paths: &[&str]) -> f64 {
    let (left, right) = (a.expand().unwrap(), b.expand().unwrap());
    let (mut one, mut other) = (World::new(a, &left).unwrap(), World::new(b, &right).unwrap());
    let mut most = 0.0f64;
    for f in 0..FRAMES {
        let time = f as f64 / 24.0;
        one.evaluate(time).unwrap();
        other.evaluate(time).unwrap();
        for path in paths {
            let find = |all: &[meshreel_scene::PlacedObject]| all.iter().position(|p| p.path == **path);
            let i = find(&left).unwrap_or_else(|| panic!("{path} is not there"));
            let j = find(&right).unwrap_or_else(|| panic!("{path} did not come back"));
            let off = one.matrix[i] - other.matrix[j];
            let off = off.to_cols_array().into_iter().fold(0.0f64, |m, v| m.max(v.abs()));
            most = most.max(off);
        }
    }
    most
}

#[test]
fn they_are_in_the_file_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let tree = armed();
    meshreel_write::alembic::write(Path::new(&file("a.abc")), &tree.0, &mut |_, _| {}).unwrap();
    let source = open(Path::new(&file("a.abc")), &ReadOptions::default()).unwrap().0;
    for (n, preset) in PRESETS.into_iter().enumerate() {
        let out = holds(&source, &Options { preset, ..Options::default() });
        assert_eq!(locators(&out), ARMED);
        if n > 0 {
            continue;
        }
        std::fs::write(file("a.reel"), &out.bytes).unwrap();
        // Through the runtime, by name.
        let nodes = &out.reel.description().nodes;
        let tip = nodes.iter().position(|n| n.path == ARMED[2]).unwrap();
        let mut decoder = FrameDecoder::new(&out.reel).unwrap();
        let mut at = |frame: usize| {
            decoder.decode(frame).unwrap();
            DVec3::from_array(decoder.world(tip).map(|row| row[3]))
        };
        assert!((at(0) - at(9)).length() > 1.0);
    }
    run(["verify".into(), file("a.abc"), file("a.reel")]).expect(0);
    let info = run(["info".into(), "--json".into(), file("a.reel")]).expect(0).json();
    let named = info["nodes"].as_array().unwrap().iter();
    let named = named.filter(|n| n["kind"] == "locator" && n["tolerance"].as_f64() > Some(0.0));
    assert_eq!(named.count(), ARMED.len());
    let tree = run(["info".into(), "--tree".into(), file("a.reel")]).expect(0);
    assert!(tree.stdout.contains("/rig/swing/tip  locator"), "{}", tree.stdout);
    for name in ["back.abc", "back.glb"] {
        run(["extract".into(), file("a.reel"), "-o".into(), file(name)]).expect(0);
        let back = open(Path::new(&file(name)), &ReadOptions::default()).unwrap().0;
        let off = largest_distance(&source, &back, &ARMED);
        assert!(off < 1e-3, "{name}: {off}");
    }
}

#[test]
fn they_are_chosen_by_path() {
    let tree = armed();
    let options = |include: &[&str], exclude: &[&str]| Options {
        include: include.iter().map(|s| s.to_string()).collect(),
        exclude: exclude.iter().map(|s| s.to_string()).collect(),
        ..Options::default()
    };
    let out = holds(&tree.0, &options(&[], &["/rig", "/camera"]));
    assert_eq!(locators(&out), ["/gun/muzzle", "/spawn"]);
    let out = holds(&tree.0, &options(&["/gun", "/camera"], &[]));
    assert_eq!(locators(&out), ["/gun/muzzle", "/camera"]);
    assert!(out.report.remarks.is_empty(), "{:?}", out.report.remarks);
    // Without any selected, the file equals that of a scene without locators.
    let out = holds(&tree.0, &options(&["/gun/body"], &[]));
    let mut alone = Tree::default();
    let gun = alone.xform(None, "gun", frames(motion));
    alone.mesh(Some(gun), "body", cube());
    let other = holds(&alone.0, &options(&["/gun/body"], &[]));
    assert!(locators(&out).is_empty() && out.bytes == other.bytes);
}

#[test]
fn each_keeps_its_tolerance() {
    let mut tree = armed();
    // A small object beside a large one: what is near it has its precision.
    let far = tree.xform(None, "far", vec![translation(3.0, 0.0, 0.0)]);
    let tenth = DMat4::from_scale(DVec3::splat(0.01));
    let small = tree.xform(Some(far), "small", vec![tenth]);
    tree.mesh(Some(small), "body", cube());
    tree.xform(Some(far), "mark", frames(motion));
    let (size, near) = (0.01 * 12f64.sqrt(), |a: f64, b: f64| (a / b - 1.0).abs() < 1e-4);
    let mut last = usize::MAX;
    for tolerance in [1e-5, 1e-4, 1e-2] {
        for preset in PRESETS {
            let options = Options { preset, tolerance: Tolerance::Relative(tolerance), ..Options::default() };
            let out = holds(&tree.0, &options);
            let of = |path: &str| out.check.locators.iter().find(|l| l.path == path).unwrap();
            if tolerance == 1e-2 {
                // The gun grows to twice its size.
                assert!(near(of("/far/mark").tolerance, 1e-2 * size));
                assert!(near(of("/gun/muzzle").tolerance, 2e2 * 1e-2 * size));
                assert!(near(of("/camera").tolerance, 1e-2 * size));
            }
            if preset == Preset::Small {
                assert!(out.bytes.len() <= last, "{tolerance}");
                last = out.bytes.len();
            }
        }
    }
    let absolute = Options { tolerance: Tolerance::Absolute(0.05), ..Options::default() };
    let out = holds(&tree.0, &absolute);
    assert!(out.check.locators.iter().all(|l| l.tolerance == 0.05));
}

#[test]
fn odd_transforms() {
    let mut tree = armed();
    // Sheared, mirrored, scaled through zero, not finite, far away, and temporarily without inheritance.
    let shear = |f: usize| {
        let mut m = motion(f);
        m.y_axis += m.x_axis * 0.3;
        m
    };
    let odd = tree.xform(None, "odd", frames(shear));
    tree.xform(Some(odd), "below", vec![translation(1.0, 2.0, 3.0)]);
    tree.xform(None, "mirrored", frames(|f| motion(f) * DMat4::from_scale(DVec3::new(-1.0, 2.0, 1.0))));
    tree.xform(None, "gone", frames(|f| motion(f) * DMat4::from_scale(DVec3::splat(f as f64 - 10.0))));
    let broken = frames(|f| if f % 5 == 2 { DMat4::NAN } else { motion(f) });
    let broken = tree.xform(None, "broken", broken);
    tree.xform(Some(broken), "below", frames(motion));
    tree.xform(None, "distant", frames(|f| translation(1e7 + f as f64, 0.0, 0.0)));
    let free = tree.xform(Some(odd), "free", frames(motion));
    tree.inherits(free, frames(|f| f % 3 == 0));
    tree.xform(Some(free), "below", frames(motion));
    let never = tree.xform(Some(odd), "never", frames(motion));
    tree.inherits(never, vec![false]);
    tree.visible(never, frames(|f| (f % 2) as i8));
    for preset in PRESETS {
        let out = holds(&tree.0, &Options { preset, ..Options::default() });
        assert_eq!(locators_of(&out).len(), ARMED.len() + 10);
        assert!(out.remark("/odd: ") && out.remark("shear") && out.remark("not finite"));
        assert_eq!(out.shown_in("/odd/never").len(), FRAMES / 2);
    }
    // Moving locators are extracted to the same places.
    let out = default(&tree.0);
    let back = meshreel_extract::to_scene(&out.reel).unwrap();
    let paths: Vec<String> = back.nodes.iter().map(|n| n.path.clone()).collect();
    for name in ["free", "never", "below"] {
        assert!(paths.iter().any(|p| p.ends_with(name)), "{paths:?}");
    }
}

fn locators_of(out: &Outcome) -> Vec<String> {
    assert!(out.check.locators.iter().all(|l| l.ok));
    out.check.locators.iter().map(|l| l.path.clone()).collect()
}

#[test]
fn a_file_that_lost_one_is_found_out() {
    let tree = armed();
    let out = default(&tree.0);
    let mut other = armed();
    let spare = other.xform(None, "spare", frames(motion));
    let check = meshreel_check::verify(&other.0, &out.reel, &|_, _| {}).unwrap();
    assert!(!check.ok && check.failures.iter().any(|f| f.path == "/spare"));
    other.0.nodes.truncate(spare);
    other.0.nodes[5].transform = None;
    let check = meshreel_check::verify(&other.0, &out.reel, &|_, _| {}).unwrap();
    assert!(!check.ok && check.failures.iter().any(|f| f.path == "/rig/swing/tip"));
}

#[test]
fn very_many_are_cheap() {
    let mut tree = Tree::default();
    let top = tree.xform(None, "top", vec![translation(1.0, 0.0, 0.0)]);
    tree.mesh(Some(top), "body", cube());
    let none = default(&tree.0).bytes.len();
    for g in 0..40 {
        let group = tree.xform(Some(top), &format!("group{g}"), vec![translation(0.0, f64::from(g), 0.0)]);
        for i in 0..50 {
            tree.xform(Some(group), &format!("place{i}"), vec![translation(f64::from(i), 0.0, 0.0)]);
        }
    }
    let out = default(&tree.0);
    assert_eq!((locators(&out).len(), out.reel.description().nodes.len()), (2000, 2001));
    let each = (out.bytes.len() - none) / 2000;
    assert!(each < 20, "{each} bytes each");
}

/// A node and its translations at 0 s and 1 s.
type NodeAnimation = (usize, [[f32; 3]; 2]);

/// Writes a `.gltf` of these nodes, skins and animations, with one triangle as mesh 0.
fn gltf(folder: &Path, mut text: Value, animations: &[&[NodeAnimation]]) -> String {
    let mut numbers: Vec<f32> = vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0];
    // All on joint 0: one four-byte float per four joint indices.
    let weights = numbers.len();
    numbers.extend([1.0, 0.0, 0.0, 0.0].repeat(3));
    let mut accessors = vec![
        json!({ "bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 3 }),
        json!({ "bufferView": 0, "byteOffset": 36, "componentType": 5126, "type": "SCALAR", "count": 2 }),
        json!({ "bufferView": 0, "byteOffset": 4 * weights, "componentType": 5126, "type": "VEC4", "count": 3 }),
        json!({ "bufferView": 0, "byteOffset": 4 * weights + 4, "componentType": 5121, "type": "VEC4", "count": 3 }),
        json!({ "bufferView": 0, "componentType": 5126, "type": "SCALAR", "count": 3 }),
    ];
    let mut all = Vec::new();
    for moved in animations {
        let (mut samplers, mut channels) = (Vec::new(), Vec::new());
        for (node, places) in *moved {
            accessors.push(json!({
                "bufferView": 0, "byteOffset": 4 * numbers.len(), "componentType": 5126, "type": "VEC3", "count": 2,
            }));
            numbers.extend(places.as_flattened());
            channels.push(
                json!({ "sampler": samplers.len(), "target": { "node": node, "path": "translation" } }),
            );
            samplers.push(json!({ "input": 1, "output": accessors.len() - 1 }));
        }
        all.push(json!({ "name": "act", "samplers": samplers, "channels": channels }));
    }
    let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(folder.join("a.bin"), &bytes).unwrap();
    let base = json!({
        "asset": { "version": "2.0" }, "scenes": [{ "nodes": [0] }], "animations": all, "accessors": accessors,
        "meshes": [{ "name": "leaf", "primitives": [{ "attributes": { "POSITION": 0, "WEIGHTS_0": 2, "JOINTS_0": 3 } }] }],
        "bufferViews": [{ "buffer": 0, "byteLength": bytes.len() }],
        "buffers": [{ "byteLength": bytes.len(), "uri": "a.bin" }],
    });
    for (key, value) in base.as_object().unwrap() {
        text.as_object_mut().unwrap().entry(key).or_insert(value.clone());
    }
    let path = folder.join("a.gltf");
    std::fs::write(&path, text.to_string()).unwrap();
    path.display().to_string()
}

#[test]
fn empties_of_gltf_are_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let far = [[0.0; 3], [3.0, 0.0, 0.0]];
    let nodes = json!([
        { "name": "top", "children": [1, 4, 6, 7] },
        { "name": "hip", "children": [2] },
        { "name": "hand", "children": [3, 5] },
        { "name": "socket", "translation": [0, 1, 0] },
        { "name": "body", "mesh": 0, "skin": 0 },
        { "name": "sword", "mesh": 0, "children": [8] },
        { "name": "tracked" },
        { "name": "spot", "translation": [0, 0, 5], "camera": 0, "extras": { "who": "me" } },
        { "name": "tip", "translation": [0, 2, 0] },
    ]);
    let cameras = json!([{ "type": "perspective", "perspective": { "yfov": 1.0, "znear": 0.1 } }]);
    let skins = json!([{ "joints": [1, 2] }]);
    let text = json!({ "nodes": nodes, "skins": skins, "cameras": cameras });
    let file = gltf(folder.path(), text.clone(), &[&[(2, far), (6, far)]]);
    let reel = folder.path().join("a.reel").display().to_string();
    let said =
        run(["compile".into(), file.clone(), "-o".into(), reel.clone(), "--json".into()]).expect(0).json();
    let remarks = said["remarks"].to_string();
    assert!(!remarks.contains("lens") && remarks.contains("who"), "{remarks}");
    let checked = run(["verify".into(), file.clone(), reel.clone(), "--json".into()]).expect(0).json();
    let paths = |of: &Value| -> Vec<String> {
        let list = of["locators"].as_array().unwrap().iter();
        list.map(|l| l["path"].as_str().unwrap().to_owned()).collect()
    };
    // The socket follows the joints above it, the tip the sword's mesh.
    assert_eq!(paths(&checked), ["/top/hip/hand/sword/tip", "/top/tracked", "/top/spot"]);
    let tree = run(["info".into(), "--tree".into(), reel]).expect(0).stdout;
    assert!(tree.contains("socket"), "{tree}");
    // Without a clip of the skeleton it is a node.
    let file = gltf(folder.path(), text, &[&[(6, far)]]);
    let reel = folder.path().join("b.reel").display().to_string();
    run(["compile".into(), file.clone(), "-o".into(), reel.clone()]).expect(0);
    let checked = run(["verify".into(), file, reel, "--json".into()]).expect(0).json();
    assert!(paths(&checked).contains(&"/top/hip/hand/socket".to_owned()));
}

#[test]
fn what_is_left_out_has_a_remark() {
    let folder = tempfile::tempdir().unwrap();
    let strict = |file: &str, words: &[&str]| {
        let target = folder.path().join("out.reel").display().to_string();
        let all = ["compile", file, "-o", &target, "--json"].map(str::to_owned);
        let said = run(all.clone()).expect(0).json()["remarks"].to_string();
        for word in words {
            assert!(said.contains(word), "{word}: {said}");
        }
        let refused = run(all.into_iter().chain(["--strict".into()]));
        assert_ne!(refused.code, 0, "{file}");
    };
    let primitive =
        json!({ "attributes": { "POSITION": 0, "WIND": 4, "_HEAT": 4, "TEXCOORD_9": 4, "_FLOW": 1 } });
    let text = json!({
        "nodes": [{ "mesh": 0 }], "meshes": [{ "primitives": [primitive], "extras": { "note": 1 } }],
    });
    let file = gltf(folder.path(), text, &[]);
    strict(&file, &["WIND", "TEXCOORD_9", "_FLOW", "note"]);
    let ply = folder.path().join("a.ply");
    let text = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nproperty float vx\n\
        element face 1\nproperty list uchar int vertex_indices\nproperty float quality\nelement edge 1\nproperty int a\nend_header\n\
        0 0 0 1\n1 0 0 1\n0 1 0 1\n3 0 1 2 5\n7\n";
    std::fs::write(&ply, text).unwrap();
    strict(&ply.display().to_string(), &["'vx' of vertices", "'quality' of faces", "element 'edge'"]);
    // Nodes that other readers put beside a mesh.
    let mut tree = Tree::default();
    let top = tree.xform(None, "top", frames(motion));
    let mut mesh = cube();
    mesh.velocities = Some(channel(vec![vec![[1.0; 3]; 8]]));
    mesh.other_attributes =
        ["frame", "label", "mat", "heat", "age"].map(|n| (n.into(), "float32 x9".into())).to_vec();
    let text =
        |values: &[&str]| channel(vec![values.iter().map(|v| Arc::from(*v)).collect::<Vec<Arc<str>>>()]);
    mesh.names = vec![
        attribute_of("label", Scope::Vertex, text(&["a"; 8])),
        attribute_of("mat", Scope::Uniform, text(&["red"; 6])),
    ];
    mesh.face_sets = vec![FaceSet { name: "red".into(), faces: channel(vec![vec![0, 1, 2, 3, 4, 5]]) }];
    let numbers = |name: &str, values: Vec<[f32; 4]>| CustomAttribute {
        components: 1,
        attribute: attribute(name, Scope::Vertex, vec![values]),
    };
    let differ: Vec<[f32; 4]> = (0..8).map(|i| [i as f32 * 0.37, 0.0, 0.0, 0.0]).collect();
    mesh.custom_attributes = vec![numbers("age", vec![[2.0, 0.0, 0.0, 0.0]; 8])];
    let mut other = sheet(12, FRAMES);
    let differ: Vec<[f32; 4]> = (0..169).map(|i| [differ[i % 8][0] + i as f32, 0.0, 0.0, 0.0]).collect();
    other.custom_attributes = vec![numbers("heat", differ)];
    other.other_attributes = vec![("heat".into(), "float32, vertex".into())];
    mesh.custom_attributes.push(numbers("heat", vec![[2.0, 0.0, 0.0, 0.0]; 8]));
    tree.mesh(Some(top), "cube", mesh);
    tree.mesh(Some(top), "sheet", other);
    tree.0.nodes[top].user_properties = vec![("owner".into(), "string = x".into())];
    let out = default(&tree.0);
    let said: Vec<String> = out.report.remarks.iter().map(|r| r.to_string()).collect();
    let has = |words: &[&str]| said.iter().any(|r| words.iter().all(|w| r.contains(w)));
    assert!(
        has(&["/top/cube", "velocities"]) && has(&["attribute frame"]) && has(&["attribute label"]),
        "{said:?}"
    );
    assert!(has(&["/top: ", "user property owner"]) && has(&["/top/sheet", "heat: differs"]), "{said:?}");
    assert!(!has(&["attribute mat"]) && !has(&["age"]) && !has(&["/top/cube", "heat"]), "{said:?}");
    let strict = Options { strict: true, ..Options::default() };
    assert!(matches!(build(&tree.0, &strict), Err(Error::Strict { .. })));
    // Positions alone leave locators out.
    let mut bare = Options::default();
    bare.channels.attributes = false;
    assert!(holds(&tree.0, &bare).report.remarks.is_empty());
}

fn attribute_of<T: Clone + Send + Sync + 'static>(
    name: &str,
    scope: Scope,
    values: Channel<T>,
) -> Attribute<T> {
    Attribute { name: name.into(), scope, values, indices: None }
}
