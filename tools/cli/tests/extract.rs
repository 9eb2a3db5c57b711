//! Tests of `extract`: the output equals the source, as far as the output format can hold it.

use crate::cli::common::{Run, run};
use meshreel_read::{ReadOptions, open};
use meshreel_scene::{
    Attribute, Channel, CustomAttribute, FaceSet, Mesh, Node, NodeKind, Scene, Scope, TimeSampling, Topology,
    Winding,
};
use std::path::Path;

/// Runs the program in a folder.
fn run_in(folder: &Path, words: &[&str]) -> Run {
    let place =
        |word: &&str| match word.contains(char::is_alphabetic) && word.contains('.') || word.ends_with('/') {
            true => folder.join(word).display().to_string(),
            false => word.to_string(),
        };
    run(words.iter().map(place))
}

fn read(folder: &Path, name: &str) -> Scene {
    open(&folder.join(name), &ReadOptions::default()).unwrap().0
}

fn sample<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, i: usize) -> Vec<T> {
    let mut out = Vec::new();
    channel.read(i, &mut out).unwrap();
    out
}

/// Returns hips that walk, a leg that turns, and a foot that stands still; with channels in the given order.
fn walk(order: &str) -> String {
    let channels: Vec<String> = order.chars().map(|axis| format!("{axis}rotation")).collect();
    let channels = channels.join(" ");
    let mut text = format!(
        "HIERARCHY\nROOT hips\n{{\nOFFSET 0 90 0\nCHANNELS 6 Xposition Yposition Zposition {channels}\n\
         JOINT leg\n{{\nOFFSET 10 -5 0\nCHANNELS 3 {channels}\n\
         JOINT foot\n{{\nOFFSET 0 -80 0\nCHANNELS 3 {channels}\n\
         End Site\n{{\nOFFSET 0 -5 10\n}}\n}}\n}}\n}}\nMOTION\nFrames: 25\nFrame Time: 0.04\n"
    );
    for i in 0..25 {
        let t = f64::from(i);
        text += &format!("{} 90 0 10 {} 5 {} 20 {} 0 0 0\n", t, -t, (t * 0.3).sin() * 40.0, t * 2.0);
    }
    text
}

#[test]
fn clips_become_transforms_or_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("walk.bvh"), walk("ZYX")).unwrap();
    run_in(folder, &["compile", "walk.bvh", "-o", "walk.reel"]).expect(0);
    let done = run_in(folder, &["extract", "walk.reel", "-o", "back.abc"]).expect(0);
    assert!(done.stdout.contains(" 1 clip,"), "{}", done.stdout);
    let (source, back) = (read(folder, "walk.bvh"), read(folder, "back.abc"));
    let paths: Vec<&str> = back.nodes.iter().map(|n| n.path.as_str()).collect();
    assert_eq!(paths, ["/hips", "/hips/leg", "/hips/leg/foot"]);
    for (j, node) in back.nodes.iter().enumerate() {
        let local = &node.transform.as_ref().unwrap().local;
        assert_eq!(local.len(), if j == 2 { 1 } else { 25 });
        if let TimeSampling::Uniform { start, step } = **local.sampling() {
            assert!(j == 2 || start == 0.0 && (step - 0.04).abs() < 1e-12);
        }
        for i in 0..local.len() {
            let right = source.clips[0].tracks[j].transform(i).translation;
            let off = (sample(local, i)[0].matrix().w_axis.truncate() - right).length();
            assert!(off < 0.01, "{off}");
        }
    }
    // A format that cannot hold it is refused, with a suggestion.
    for target in ["out/", "frames/"] {
        let refused = run_in(folder, &["extract", "walk.reel", "-o", target]).expect(1);
        let line = refused.error_line();
        assert!(line.contains("1 clip,") && line.contains(".abc"), "{line}");
        assert!(!folder.join(target).exists());
    }
}

#[test]
fn clips_beside_meshes_are_left_out_with_a_remark() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/prism.glb");
    std::fs::copy(source, folder.join("prism.glb")).unwrap();
    run_in(folder, &["compile", "prism.glb", "-o", "prism.reel"]).expect(0);
    let done = run_in(folder, &["extract", "prism.reel", "-o", "out/"]).expect(0);
    assert!(done.stderr.contains("one was left out"), "{}", done.stderr);
    let done = run_in(folder, &["extract", "prism.reel", "-o", "back.bvh"]).expect(0);
    assert!(done.stderr.contains("1 mesh left out"), "{}", done.stderr);
    run_in(folder, &["extract", "prism.reel", "-o", "back.abc"]).expect(0);
    let back = read(folder, "back.abc");
    let clips = read(folder, "prism.glb").clips;
    assert!(back.nodes.iter().any(|n| n.path == format!("/{}", clips[0].name)));
}

/// Returns samples from 1/24 s on, `step` 24ths apart.
fn sampling_by_step(step: usize) -> TimeSampling {
    TimeSampling::Uniform { start: 1.0 / 24.0, step: step as f64 / 24.0 }
}

/// Returns a waving sheet with irregular faces, mostly quads: each starts at another of its corners, one has
/// five corners, one exists twice and one is a line.
fn sheet(path: &str, samples: usize, step: usize) -> Mesh {
    let wave = |f: usize, i: usize| {
        let (x, y) = ((i % 5) as f32, (i / 5) as f32);
        [x, y, (x * 0.7 + (f * step) as f32 * 0.3).sin() * step as f32]
    };
    let positions = (0..samples).map(|f| (0..25).map(|i| wave(f, i)).collect());
    let mut faces: Vec<Vec<i32>> = Vec::new();
    for i in 0..16 {
        let a = i % 4 + i / 4 * 5;
        let mut face = vec![a, a + 5, a + 6, a + 1];
        face.rotate_left(i as usize * 3 % 4);
        faces.push(face);
    }
    faces[3] = vec![9, 4, 3, 8];
    faces[2] = vec![2, 7, 12, 8, 3];
    faces.push(faces[5].clone());
    faces.push(vec![3, 7]);
    Mesh {
        winding: Winding::Clockwise,
        face_sets: vec![FaceSet { name: "red".into(), faces: Channel::constant(vec![0, 5, 16]) }],
        ..Mesh::new(
            path,
            Channel::in_memory(sampling_by_step(step), positions.collect()),
            Channel::constant(faces.iter().map(|f| f.len() as i32).collect()),
            Channel::constant(faces.concat()),
        )
    }
}

fn scene(meshes: Vec<Mesh>) -> Scene {
    let node = |(i, mesh): (usize, &Mesh)| Node {
        name: mesh.path[1..].into(),
        mesh: Some(i),
        samples: mesh.positions.len(),
        ..Node::new(mesh.path.clone(), NodeKind::PolyMesh)
    };
    Scene {
        nodes: meshes.iter().enumerate().map(node).collect(),
        meshes,
        fps: Some(24.0),
        ..Scene::default()
    }
}

fn write_abc(folder: &Path, name: &str, scene: &Scene) {
    meshreel_write::alembic::write(&folder.join(name), scene, &mut |_, _| ()).unwrap();
}

#[test]
fn the_animators_own_polygons_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let source = scene(vec![sheet("/a", 12, 1), sheet("/b", 6, 2)]);
    write_abc(folder, "a.abc", &source);
    for preset in ["small", "classic"] {
        run_in(folder, &["compile", "a.abc", "-o", "a.reel", "--preset", preset]).expect(0);
        run_in(folder, &["extract", "a.reel", "-o", "back.abc"]).expect(0);
        let back = read(folder, "back.abc");
        for (a, b) in source.meshes.iter().zip(&back.meshes) {
            assert_eq!(b.winding, Winding::Clockwise);
            assert_eq!(sample(&a.face_counts, 0), sample(&b.face_counts, 0));
            assert_eq!(sample(&a.face_indices, 0), sample(&b.face_indices, 0));
            let set = |mesh: &Mesh| sample(&mesh.face_sets[0].faces, 0);
            assert_eq!(set(a), set(b));
            // Computed normals are not written.
            assert!(b.normals.is_none());
            // Every frame of the file, also those between the samples of the slower one.
            assert_eq!(b.positions.len(), source.meshes[0].positions.len());
            for i in 0..a.positions.len() {
                let k = i * b.positions.len() / a.positions.len();
                assert!((a.positions.time(i) - b.positions.time(k)).abs() < 1e-9);
                let (p, q) = (sample(&a.positions, i), sample(&b.positions, k));
                assert_eq!(p.len(), q.len());
                for (p, q) in p.iter().zip(&q) {
                    assert!((0..3).all(|k| (p[k] - q[k]).abs() < 4e-3));
                }
            }
        }
        let size = |name: &str| std::fs::metadata(folder.join(name)).unwrap().len();
        assert!(size("back.abc") <= size("a.abc") * 3 / 2, "{} {}", size("back.abc"), size("a.abc"));
    }
    // Without a source map a file has triangles, and normals for them.
    run_in(folder, &["compile", "a.abc", "-o", "a.reel", "--strip"]).expect(0);
    run_in(folder, &["extract", "a.reel", "-o", "back.abc"]).expect(0);
    let back = &read(folder, "back.abc").meshes[0];
    assert!(back.normals.is_some() && sample(&back.face_counts, 0).iter().all(|n| *n == 3));
}

#[test]
fn normals_and_corners_that_were_there_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut mesh = sheet("/a", 3, 1);
    let corners = sample(&mesh.face_indices, 0).len();
    let uv = |c: usize| [(c % 7) as f32 / 8.0, (c % 5) as f32 / 8.0];
    mesh.normals = Some(Attribute {
        name: "N".into(),
        scope: Scope::Vertex,
        values: Channel::constant(vec![[0.0, 0.0, 1.0]; 25]),
        indices: None,
    });
    mesh.uvs = vec![Attribute {
        name: "uv".into(),
        scope: Scope::FaceVarying,
        values: Channel::constant((0..corners).map(uv).collect()),
        indices: None,
    }];
    write_abc(folder, "a.abc", &scene(vec![mesh.clone()]));
    run_in(folder, &["compile", "a.abc", "-o", "a.reel"]).expect(0);
    run_in(folder, &["extract", "a.reel", "-o", "back.abc"]).expect(0);
    let back = &read(folder, "back.abc").meshes[0];
    assert!(back.normals.is_some());
    assert_eq!(sample(&mesh.face_indices, 0), sample(&back.face_indices, 0));
    let (palette, indices) =
        (sample(&back.uvs[0].values, 0), sample(back.uvs[0].indices.as_ref().unwrap(), 0));
    // Each corner has its own, also in a face with split vertices. The line has no corner with a vertex.
    for (c, index) in indices.iter().enumerate().take(corners - 2) {
        let (is, was) = (palette[*index as usize], uv(c));
        assert!((is[0] - was[0]).abs() < 1e-3 && (is[1] - was[1]).abs() < 1e-3, "corner {c}: {is:?} {was:?}");
    }
}

#[test]
fn bvh_comes_back_in_its_own_order_of_rotations() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for order in ["XYZ", "ZXY", "ZYX", "YXZ"] {
        let text = walk(order);
        std::fs::write(folder.join("walk.bvh"), &text).unwrap();
        run_in(folder, &["compile", "walk.bvh", "-o", "walk.reel", "--tolerance", "0.0001"]).expect(0);
        run_in(folder, &["extract", "walk.reel", "-o", "back.bvh"]).expect(0);
        let back = std::fs::read_to_string(folder.join("back.bvh")).unwrap();
        let channels = |text: &str| -> Vec<String> {
            let lines = text.lines().map(str::trim);
            lines.filter(|l| l.starts_with("CHANNELS")).map(str::to_owned).collect()
        };
        assert_eq!(channels(&back), channels(&text), "{order}");
        let numbers = |text: &str| -> Vec<f64> {
            let rows = text.lines().skip_while(|l| !l.starts_with("Frame Time")).skip(1);
            rows.flat_map(|l| l.split_whitespace().map(|n| n.parse().unwrap()).collect::<Vec<_>>()).collect()
        };
        let (was, is) = (numbers(&text), numbers(&back));
        assert_eq!(was.len(), is.len());
        for (a, b) in was.iter().zip(&is) {
            assert!((a - b).abs() < 0.01, "{order}: {a} {b}");
        }
    }
}

/// A node, its interpolation, keys, and values at them.
type NodeAnimation<'a> = (usize, &'a str, &'a [f32], &'a [[f32; 3]]);

/// Writes `a.gltf` with its buffer: nodes, and animations of their translations from `(node, interpolation,
/// keys, values)`.
fn gltf(folder: &Path, nodes: serde_json::Value, animations: &[(&str, &[NodeAnimation<'_>])]) {
    let mut bytes: Vec<u8> = Vec::new();
    let (mut views, mut accessors) = (Vec::new(), Vec::new());
    let mut put = |numbers: &[f32], width: usize, kind: &str| {
        views.push(
            serde_json::json!({ "buffer": 0, "byteOffset": bytes.len(), "byteLength": numbers.len() * 4 }),
        );
        bytes.extend(numbers.iter().flat_map(|v| v.to_le_bytes()));
        accessors.push(serde_json::json!({
            "bufferView": views.len() - 1, "componentType": 5126, "type": kind, "count": numbers.len() / width,
        }));
        accessors.len() - 1
    };
    let mut all = Vec::new();
    for (name, channels) in animations {
        let (mut samplers, mut targets) = (Vec::new(), Vec::new());
        for (node, how, keys, values) in *channels {
            let (input, output) = (put(keys, 1, "SCALAR"), put(values.as_flattened(), 3, "VEC3"));
            targets.push(serde_json::json!({ "sampler": samplers.len(), "target": { "node": node, "path": "translation" } }));
            samplers.push(serde_json::json!({ "input": input, "output": output, "interpolation": how }));
        }
        all.push(serde_json::json!({ "name": name, "samplers": samplers, "channels": targets }));
    }
    let places = put(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0], 3, "VEC3");
    std::fs::write(folder.join("a.bin"), &bytes).unwrap();
    let text = serde_json::json!({
        "asset": { "version": "2.0" }, "nodes": nodes, "scenes": [{ "nodes": [0] }], "animations": all,
        "meshes": [{ "name": "leaf", "primitives": [{ "attributes": { "POSITION": places } }] }],
        "bufferViews": views, "accessors": accessors,
        "buffers": [{ "byteLength": bytes.len(), "uri": "a.bin" }],
    })
    .to_string();
    std::fs::write(folder.join("a.gltf"), text).unwrap();
}

/// Returns the JSON of a `.glb`.
fn glb(folder: &Path, name: &str) -> serde_json::Value {
    let bytes = std::fs::read(folder.join(name)).unwrap();
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&bytes[20..20 + length]).unwrap()
}

#[test]
fn steps_of_clips_stay_steps_and_all_clips_say_where_joints_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let nodes = serde_json::json!([
        { "name": "hips", "children": [1, 2] }, { "name": "arm" }, { "name": "hand", "translation": [0, 1, 0] },
    ]);
    let keys = [0.0, 0.5, 1.0];
    let moves = [[0.0; 3], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]];
    let aside = [[0.0, 5.0, 0.0]; 3];
    gltf(
        folder,
        nodes,
        &[
            ("walk", &[(1, "STEP", &keys, &moves), (2, "LINEAR", &keys, &aside)]),
            ("wave", &[(0, "LINEAR", &keys, &moves)]),
        ],
    );
    run_in(folder, &["compile", "a.gltf", "-o", "a.reel"]).expect(0);
    run_in(folder, &["verify", "a.gltf", "a.reel"]).expect(0);
    run_in(folder, &["extract", "a.reel", "-o", "back.glb"]).expect(0);
    let back = glb(folder, "back.glb");
    // Node and interpolation of each channel of an animation that moves something.
    let channels = |animation: usize| -> Vec<(String, String)> {
        let animation = &back["animations"][animation];
        let all = animation["channels"].as_array().unwrap().iter();
        let mut all: Vec<_> = all
            .map(|channel| {
                let node = &back["nodes"][channel["target"]["node"].as_u64().unwrap() as usize];
                let sampler = &animation["samplers"][channel["sampler"].as_u64().unwrap() as usize];
                let how = sampler["interpolation"].as_str().unwrap_or("LINEAR");
                (node["name"].as_str().unwrap().to_owned(), how.to_owned())
            })
            .collect();
        all.sort();
        all
    };
    let pair = |node: &str, how: &str| (node.to_owned(), how.to_owned());
    let (linear, step) = ("LINEAR", "STEP");
    assert_eq!(channels(0), [pair("arm", step), pair("hand", linear), pair("hips", linear)]);
    // Nodes moved by the other animation are reset by this one.
    assert_eq!(channels(1), [pair("arm", linear), pair("hand", linear), pair("hips", linear)]);
    let again = read(folder, "back.glb");
    assert!(again.clips[0].tracks.iter().any(|track| track.translation.is_held()));
}

#[test]
fn steps_of_nodes_stay_steps() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let nodes = serde_json::json!([
        { "name": "top", "children": [1] }, { "name": "leaf", "mesh": 0 },
    ]);
    let keys = [0.0, 0.5, 1.0, 100.0];
    let places = [[0.0; 3], [4.0, 0.0, 0.0], [4.0, 2.0, 0.0], [0.0, 2.0, 0.0]];
    gltf(folder, nodes, &[("jump", &[(0, "STEP", &keys, &places)])]);
    run_in(folder, &["compile", "a.gltf", "-o", "a.reel"]).expect(0);
    run_in(folder, &["verify", "a.gltf", "a.reel"]).expect(0);
    for name in ["back.glb", "back.abc"] {
        run_in(folder, &["extract", "a.reel", "-o", name]).expect(0);
        let back = read(folder, name);
        let moving = back.nodes.iter().filter_map(|n| n.transform.as_ref()).find(|t| t.local.len() > 1);
        let local = &moving.unwrap().local;
        for (k, key) in keys.iter().enumerate().skip(1) {
            // A tenth of a frame earlier it still stands at the old place; from the key on, it does not.
            for (time, place) in [(key - 0.004, places[k - 1]), (key + 2e-6, places[k])] {
                let (i, part) = local.locate(f64::from(time));
                let [a, b] = [i, (i + 1).min(local.len() - 1)].map(|i| sample(local, i)[0].matrix().w_axis);
                let off = (a.lerp(b, part).truncate().as_vec3() - glam::Vec3::from(place)).length();
                assert!(off < 2e-3, "{name}: {time} s off by {off}");
            }
        }
    }
}

#[test]
fn a_glb_has_each_point_once_and_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut mesh = sheet("/a", 3, 1);
    mesh.custom_attributes = vec![CustomAttribute {
        components: 2,
        attribute: Attribute {
            name: "heat".into(),
            scope: Scope::Constant,
            values: Channel::constant(vec![[3.5, 2.0, 0.0, 0.0]]),
            indices: None,
        },
    }];
    write_abc(folder, "a.abc", &scene(vec![mesh]));
    run_in(folder, &["compile", "a.abc", "-o", "a.reel"]).expect(0);
    run_in(folder, &["extract", "a.reel", "-o", "back.glb"]).expect(0);
    // Two materials that share the same vertices.
    let text = glb(folder, "back.glb");
    let primitives = text["meshes"][0]["primitives"].as_array().unwrap();
    assert_eq!(primitives.len(), 2);
    assert!(primitives[0]["attributes"]["_heat"].is_u64(), "{primitives:?}");
    assert!(primitives[0]["attributes"].get("NORMAL").is_none());
    let back = &read(folder, "back.glb").meshes[0];
    assert_eq!(sample(&back.positions, 0).len(), 25);
    assert_eq!(sample(&back.custom_attributes[0].attribute.values, 0)[7][..2], [3.5, 2.0]);
    let set = sample(&back.face_sets[0].faces, 0).len();
    assert!(set > 0 && set < sample(&back.face_counts, 0).len());
}

/// Returns a sheet that grows by a row with every frame, with uvs that differ at the corners of a point.
fn growing() -> Mesh {
    let rows = |f: usize| f + 1;
    let points = |f: usize| {
        let of = |i: usize| [(i % 4) as f32, (i / 4) as f32, ((i + f) as f32).sin()];
        // Not in the order in which faces use them.
        (0..4 * (rows(f) + 1)).rev().map(of).collect()
    };
    let faces = |f: usize| -> Vec<i32> {
        let last = 4 * (rows(f) + 1) as i32 - 1;
        let face = |i: i32| {
            let a = i % 3 + i / 3 * 4;
            let mut face = [a, a + 4, a + 5, a + 1].map(|p| last - p);
            face.rotate_left(i as usize % 4);
            face
        };
        (0..3 * rows(f) as i32).flat_map(face).collect()
    };
    let counts = |f: usize| vec![4; 3 * rows(f)];
    let uvs = |f: usize| {
        let of = |c: usize| [(c % 4) as f32 / 4.0, (c / 4) as f32 / 64.0];
        (0..12 * rows(f)).map(of).collect()
    };
    let faces_of_set = |f: usize| (0..rows(f) as i32).collect();
    Mesh {
        positions: Channel::in_memory(sampling_by_step(1), (0..6).map(points).collect()),
        face_counts: Channel::in_memory(sampling_by_step(1), (0..6).map(counts).collect()),
        face_indices: Channel::in_memory(sampling_by_step(1), (0..6).map(faces).collect()),
        topology: Topology::Heterogeneous,
        uvs: vec![Attribute {
            name: "uv".into(),
            scope: Scope::FaceVarying,
            values: Channel::in_memory(sampling_by_step(1), (0..6).map(uvs).collect()),
            indices: None,
        }],
        face_sets: vec![FaceSet {
            name: "red".into(),
            faces: Channel::in_memory(sampling_by_step(1), (0..6).map(faces_of_set).collect()),
        }],
        ..sheet("/a", 1, 1)
    }
}

#[test]
fn polygons_and_points_come_back_where_faces_change() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let source = growing();
    write_abc(folder, "a.abc", &scene(vec![source.clone()]));
    run_in(folder, &["compile", "a.abc", "-o", "a.reel"]).expect(0);
    run_in(folder, &["verify", "a.abc", "a.reel"]).expect(0);
    let done = run_in(folder, &["extract", "a.reel", "-o", "back.abc"]).expect(0);
    assert!(!done.stderr.contains("triangles"), "{}", done.stderr);
    let back = &read(folder, "back.abc").meshes[0];
    assert_eq!(back.topology, Topology::Heterogeneous);
    assert!(back.normals.is_none());
    for f in 0..6 {
        assert_eq!(sample(&source.face_counts, f), sample(&back.face_counts, f));
        assert_eq!(sample(&source.face_indices, f), sample(&back.face_indices, f));
        let set = |mesh: &Mesh| sample(&mesh.face_sets[0].faces, f);
        assert_eq!(set(&source), set(back));
        let (p, q) = (sample(&source.positions, f), sample(&back.positions, f));
        assert_eq!(p.len(), q.len());
        for (p, q) in p.iter().zip(&q) {
            assert!((0..3).all(|k| (p[k] - q[k]).abs() < 4e-3), "{f}: {p:?} {q:?}");
        }
        let uvs = &back.uvs[0];
        let (palette, indices) = (sample(&uvs.values, f), sample(uvs.indices.as_ref().unwrap(), f));
        for (corner, uv) in sample(&source.uvs[0].values, f).iter().enumerate() {
            let is = palette[indices[corner] as usize];
            assert!((0..2).all(|k| (uv[k] - is[k]).abs() < 1e-3), "{f} {corner}");
        }
    }
    // Without the map, corners of one point are still one point.
    run_in(folder, &["compile", "a.abc", "-o", "b.reel", "--short-source-map"]).expect(0);
    let done = run_in(folder, &["extract", "b.reel", "-o", "back.abc"]).expect(0);
    let remark = "it comes back in triangles";
    assert!(done.stderr.contains(remark), "{}", done.stderr);
    let back = &read(folder, "back.abc").meshes[0];
    for f in 0..6 {
        let points = sample(&source.positions, f).len();
        assert_eq!(sample(&back.positions, f).len(), points);
        assert!(sample(&back.face_counts, f).iter().all(|n| *n == 3));
        let indices = sample(&back.face_indices, f);
        assert!(indices.iter().all(|p| (*p as usize) < points));
    }
}

#[test]
fn one_frame_is_an_obj() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut still = sheet("/a", 3, 1);
    still.positions = Channel::constant(sample(&still.positions, 0));
    write_abc(folder, "a.abc", &scene(vec![still]));
    run_in(folder, &["compile", "a.abc", "-o", "a.reel"]).expect(0);
    run_in(folder, &["extract", "a.reel", "-o", "back.obj"]).expect(0);
    run_in(folder, &["compile", "back.obj", "-o", "b.reel"]).expect(0);
    let (was, is) = (read(folder, "a.abc"), read(folder, "back.obj"));
    let (was, is) = (&was.meshes[0], &is.meshes[0]);
    let both = sample(&was.positions, 0).into_iter().zip(sample(&is.positions, 0));
    for (a, b) in both {
        assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-3), "{a:?} {b:?}");
    }
    // An .obj cannot hold a face of two corners.
    let mut counts = sample(&was.face_counts, 0);
    counts.retain(|n| *n > 2);
    assert_eq!(counts, sample(&is.face_counts, 0));
    // Several frames do not fit into one .obj.
    write_abc(folder, "m.abc", &scene(vec![sheet("/a", 3, 4)]));
    run_in(folder, &["compile", "m.abc", "-o", "m.reel"]).expect(0);
    let refused = run_in(folder, &["extract", "m.reel", "-o", "none.obj"]).expect(2);
    assert!(refused.stderr.contains("3 frames"), "{}", refused.stderr);
    assert!(!folder.join("none.obj").exists());
}

#[test]
fn steps_of_clips_stay_steps_in_alembic() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let nodes = serde_json::json!([{ "name": "hips", "children": [1] }, { "name": "arm" }]);
    let keys = [0.0, 0.5, 1.0];
    let places = [[0.0; 3], [4.0, 0.0, 0.0], [4.0, 2.0, 0.0]];
    let lift = [[0.0; 3], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0]];
    let moved: [NodeAnimation<'_>; 2] = [(1, "STEP", &keys, &places), (0, "LINEAR", &keys, &lift)];
    gltf(folder, nodes, &[("jump", &moved)]);
    run_in(folder, &["compile", "a.gltf", "-o", "a.reel"]).expect(0);
    run_in(folder, &["extract", "a.reel", "-o", "back.abc"]).expect(0);
    let back = read(folder, "back.abc");
    let arm = back.nodes.iter().find(|n| n.name == "arm").unwrap();
    let local = &arm.transform.as_ref().unwrap().local;
    for (k, key) in keys.iter().enumerate().skip(1) {
        for (time, place) in
            [(key - 1e-3, places[k - 1]), (key - 6e-5, places[k - 1]), (key + 2e-6, places[k])]
        {
            let (i, part) = local.locate(f64::from(time));
            let next = (i + 1).min(local.len() - 1);
            let [a, b] = [i, next].map(|i| sample(local, i)[0].matrix().w_axis);
            let off = (a.lerp(b, part).truncate().as_vec3() - glam::Vec3::from(place)).length();
            assert!(off < 2e-3, "{time} s off by {off}");
        }
    }
    // The rate is preserved.
    let remade = run_in(folder, &["compile", "back.abc", "-o", "b.reel", "--clips-only", "--json"]).expect(0);
    let said = remade.json();
    assert!(!said["remarks"].to_string().contains("uniform rate"), "{said}");
    let samples = |name: &str| {
        run_in(folder, &["info", name, "--json"]).expect(0).json()["clips"][0]["samples"].clone()
    };
    assert_eq!(samples("a.reel"), samples("b.reel"));
    run_in(folder, &["verify", "back.abc", "b.reel"]).expect(0);
}
