//! Tests of reading glTF: animations against their definition, meshes against a separate evaluator; clips
//! written and read back.

use crate::glb_builder::{GlbBuilder, animated};
use crate::support::Glb;
use crate::walk::walk;
use glam::{DMat4, DQuat, DVec3, DVec4};
use meshreel_read::ReadOptions;
use meshreel_scene::sample::{Faces, World, faces_at, positions_at};
use meshreel_scene::{
    Clip, Error, Joint, LengthUnit, Marker, Qvv, ScalarTrack, Scene, Skeleton, SubTrack, Track,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Returns all triangles of a scene in world space.
fn triangles(scene: &Scene, time: f64) -> Vec<[DVec3; 3]> {
    let placed = scene.expand().unwrap();
    let mut world = World::new(scene, &placed).unwrap();
    world.evaluate(time).unwrap();
    let (mut points, mut faces, mut out) = (Vec::new(), Faces::default(), Vec::new());
    for (i, place) in placed.iter().enumerate() {
        let Some(mesh) = scene.nodes[place.node].mesh else {
            continue;
        };
        let mesh = &scene.meshes[mesh];
        positions_at(mesh, time, &mut points).unwrap();
        faces_at(mesh, time, &mut faces).unwrap();
        let point = |c: &i32| {
            let p = points[*c as usize].map(f64::from);
            world.matrix[i].transform_point3(DVec3::from_array(p))
        };
        out.extend(faces.indices.chunks_exact(3).map(|t| [point(&t[0]), point(&t[1]), point(&t[2])]));
    }
    out
}

fn sorted(mut all: Vec<[DVec3; 3]>) -> Vec<[DVec3; 3]> {
    let key = |t: &[DVec3; 3]| t.map(|p| (p * 1e3).round().to_array().map(|v| v as i64));
    all.sort_by_key(key);
    all
}

/// Returns the largest distance between corners, with triangles in the same order.
fn distance(a: &[[DVec3; 3]], b: &[[DVec3; 3]]) -> f64 {
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

#[test]
fn sampling_is_the_specifications() {
    let mut maker = GlbBuilder::new();
    let root = maker.node(None, json!({"name": "root"}));
    let arm = maker.node(Some(root), json!({"name": "arm", "translation": [1, 2, 3]}));
    let hand = maker.node(Some(arm), json!({"name": "hand", "scale": [2, 2, 2]}));
    maker.skin(&[hand, arm, root]);
    let keys = [0.5f32, 1.5, 3.0];
    let steps = [[1f32, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 1.0, 0.0]];
    maker.channel(root, "translation", "STEP", &keys, &steps);
    // Not normalized, and in the opposite hemisphere: the shorter arc is meant.
    let (half, third) = (0.5f64.sqrt() as f32, 0.25f32);
    let turns = [[0f32, 0.0, 0.0, 1.0], [-2.0 * half, 0.0, 0.0, -2.0 * half], [0.0, third, 0.0, 0.9]];
    maker.channel(arm, "rotation", "LINEAR", &keys, &turns);
    let scales = [[1f32, 1.0, 1.0], [2.0, 0.5, -1.0], [0.0, 0.0, 0.0]];
    maker.channel(arm, "scale", "LINEAR", &keys, &scales);
    // In-tangent, value, out-tangent.
    let cubic = [
        [9f32, 9.0, 9.0],
        [0.0, 0.0, 0.0],
        [1.0, 0.0, -2.0],
        [0.5, 0.0, 0.0],
        [4.0, 1.0, 0.0],
        [0.0, 3.0, 0.0],
        [0.0, 0.0, 0.0],
        [0.0, 0.0, 5.0],
        [9.0, 9.0, 9.0],
    ];
    maker.channel(hand, "translation", "CUBICSPLINE", &keys, &cubic);
    let spin = [
        [0f32, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 1.0],
        [0.3, 0.0, 0.0, 0.0],
        [0.0, 0.1, 0.0, 0.0],
        [half, 0.0, half, 0.0],
        [0.0, 0.0, 0.0, 0.2],
        [0.0, 0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ];
    maker.channel(hand, "rotation", "CUBICSPLINE", &keys, &spin);
    let (scene, remarks) = maker.open().unwrap();
    assert!(remarks.is_empty(), "{remarks:?}");
    let (skeleton, clip) = (&scene.skeletons[0], &scene.clips[0]);
    let names: Vec<_> = skeleton.joints.iter().map(|j| (&*j.name, j.parent)).collect();
    assert_eq!(names, [("root", None), ("arm", Some(0)), ("hand", Some(1))]);
    assert_eq!((clip.start, clip.fps, clip.samples), (0.5, 30.0, 76));
    // As the specification defines it, without the reader's code.
    for i in 0..clip.samples {
        let t = 0.5 + i as f64 / 30.0;
        let k = if t < 1.5 - 1e-9 { 0 } else { 1 };
        let (t0, t1) = (f64::from(keys[k]), f64::from(keys[k + 1]));
        let u = (t - t0) / (t1 - t0);
        let step = if i == 75 { steps[2] } else { steps[k] };
        let got = clip.tracks[0].transform(i);
        assert_eq!(got.translation, DVec3::from_array(step.map(f64::from)), "{i}");

        let got = clip.tracks[1].transform(i);
        let quat = |q: [f32; 4]| DQuat::from_array(q.map(f64::from)).normalize();
        let (a, b) = (quat(turns[k]), quat(turns[k + 1]));
        let dot = a.dot(b);
        let (b, dot) = if dot < 0.0 { (-b, -dot) } else { (b, dot) };
        let angle = dot.acos();
        let wanted = (a * ((1.0 - u) * angle).sin() + b * (u * angle).sin()) / angle.sin();
        assert!(1.0 - got.rotation.dot(wanted).abs() < 1e-9, "{i}: {} {wanted}", got.rotation);
        let vector = |v: [f32; 3]| DVec3::from_array(v.map(f64::from));
        let wanted = vector(scales[k]) * (1.0 - u) + vector(scales[k + 1]) * u;
        assert!(got.scale.distance(wanted) < 1e-7, "{i}");
        assert_eq!(got.translation, DVec3::new(1.0, 2.0, 3.0));

        let got = clip.tracks[2].transform(i);
        let dt = t1 - t0;
        let h = [
            2.0 * u * u * u - 3.0 * u * u + 1.0,
            dt * (u * u * u - 2.0 * u * u + u),
            -2.0 * u * u * u + 3.0 * u * u,
            dt * (u * u * u - u * u),
        ];
        let at = 3 * k + 1;
        let wanted = vector(cubic[at]) * h[0]
            + vector(cubic[at + 1]) * h[1]
            + vector(cubic[at + 3]) * h[2]
            + vector(cubic[at + 2]) * h[3];
        assert!(got.translation.distance(wanted) < 1e-6, "{i}: {} {wanted}", got.translation);
        let q = |i: usize| DQuat::from_array(spin[i].map(f64::from));
        let wanted = (q(at) * h[0] + q(at + 1) * h[1] + q(at + 3) * h[2] + q(at + 2) * h[3]).normalize();
        assert!(1.0 - got.rotation.dot(wanted).abs() < 1e-9, "{i}");
        assert_eq!(got.scale, DVec3::splat(2.0));
    }
}

/// Between two keys half a turn apart the box turns as the specification's slerp does, and the samples in
/// between show it.
#[test]
fn half_turns_go_where_the_source_goes() {
    let mut maker = GlbBuilder::new();
    let tri = maker.triangle(&[]);
    let node = maker.node(None, json!({"name": "box", "mesh": tri}));
    let turns = [[-0.0f32, -0.0, -0.0, -1.0], [1.0, 0.0, 0.0, 4.489_659e-11]];
    maker.channel(node, "rotation", "LINEAR", &[1.25, 2.5], &turns);
    let mut scenes = vec![maker.open().unwrap().0];
    if let Some(path) = crate::corpus::corpus_path("gltf/BoxAnimated.gltf") {
        scenes.push(meshreel_read::open(&path, &ReadOptions::default()).unwrap().0);
    }
    for scene in scenes {
        let mut nodes = scene.nodes.iter().filter_map(|n| n.transform.as_ref());
        let turned = |t: &&meshreel_scene::Transform| t.local.len() >= 5;
        let channel = &nodes.find(turned).unwrap().local;
        let mut value = Vec::new();
        let mut before: Option<DQuat> = None;
        for i in 0..channel.len() {
            channel.read(i, &mut value).unwrap();
            let (_, rotation, _) = value[0].matrix().to_scale_rotation_translation();
            let part = ((channel.time(i) - 1.25) / 1.25).clamp(0.0, 1.0);
            let wanted = DQuat::from_rotation_x(std::f64::consts::PI * part);
            assert!(rotation.dot(wanted).abs() > 1.0 - 1e-6, "{part}: {rotation} {wanted}");
            // The shorter arc between two samples is the correct one.
            let far = before
                .map_or(0.0, |b| b.angle_between(if b.dot(rotation) < 0.0 { -rotation } else { rotation }));
            assert!(far < 0.8, "{part}: {far}");
            before = Some(rotation);
        }
    }
}

/// Files often begin with a pose: meshes follow the first animation in which something changes, or the
/// requested one.
#[test]
fn meshes_follow_the_animation_that_moves_or_is_asked_for() {
    let mut maker = GlbBuilder::new();
    let tri = maker.triangle(&[]);
    let node = maker.node(None, json!({"name": "a", "mesh": tri}));
    let other = maker.node(None, json!({"name": "b", "mesh": tri}));
    let line = |to: f32| [[0f32, 0.0, 0.0], [to, 0.0, 0.0]];
    let animations: [(&str, usize, f32); 4] =
        [("RESET", node, 0.0), ("walk", node, 1.0), ("3", node, 2.0), ("lift", other, 4.0)];
    for (name, node, to) in animations {
        maker.push("animations", json!({"name": name, "channels": [], "samplers": []}));
        maker.channel(node, "translation", "LINEAR", &[0.0, 1.0], &line(to));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.glb");
    std::fs::write(&path, maker.glb()).unwrap();
    let open = |animation: Option<&str>| {
        let animation = animation.map(str::to_owned);
        meshreel_read::open(&path, &ReadOptions { animation, ..ReadOptions::default() })
    };
    // The final places of both nodes.
    let ends = |scene: &Scene| {
        let of = |name: &str| {
            let node = scene.nodes.iter().find(|n| n.name == name).unwrap();
            let matrix = &node.transform.as_ref()?.local;
            let mut value = Vec::new();
            matrix.read(matrix.len() - 1, &mut value).unwrap();
            Some(value[0].matrix().w_axis.x)
        };
        (of("a"), of("b"))
    };
    let (scene, remarks) = open(None).unwrap();
    assert_eq!(ends(&scene), (Some(1.0), Some(4.0)));
    let said = remarks[0].to_string();
    assert!(
        said.contains("0 'RESET', 1 'walk', 2 '3', 3 'lift'") && said.contains("follows 'walk'"),
        "{said}"
    );
    for (asked, wanted) in [
        ("walk", (Some(1.0), None)),
        ("0", (Some(0.0), None)),
        // A name takes precedence over a number.
        ("3", (Some(2.0), None)),
        ("lift", (None, Some(4.0))),
    ] {
        let (scene, remarks) = open(Some(asked)).unwrap();
        assert_eq!((ends(&scene), remarks.len()), (wanted, 0), "{asked}");
    }
    let refused = open(Some("run")).err().unwrap();
    assert!(matches!(refused, Error::Misuse { .. }));
    assert!(refused.to_string().contains("'run': there are 0 'RESET'"), "{refused}");
    // Animations that move different nodes do not conflict.
    maker.json["animations"].as_array_mut().unwrap().drain(1..3);
    assert!(maker.open().unwrap().1.is_empty());
}

#[test]
fn skins_become_skeletons() {
    let mut maker = GlbBuilder::new();
    let armature = maker.node(None, json!({"name": "armature", "scale": [0.01, 0.01, 0.01]}));
    let hips = maker.node(Some(armature), json!({"name": "hips", "extras": {"layer": "base", "bias": 2.5}}));
    let between = maker.node(Some(hips), json!({"name": "between", "translation": [0, 1, 0]}));
    let head =
        maker.node(Some(between), json!({"name": "head", "extras": {"layer": "cosmetic", "shell": 0.2}}));
    let idle = maker.node(None, json!({"name": "idle"}));
    let other = maker.node(Some(idle), json!({"name": "other"}));
    let second = maker.node(Some(idle), json!({"name": "second"}));
    // Children before parents, and two skins of one rig.
    maker.skin(&[head, hips]);
    maker.skin(&[head]);
    maker.push("skins", json!({"joints": [second, other]}));
    maker.channel(head, "translation", "LINEAR", &[0.0, 0.1], &[[0.0; 3], [1.0, 0.0, 0.0]]);
    maker.json["animations"][0]["extras"] = json!({
        "events": [{"name": "late", "time": 0.1}, {"name": "early", "time": 0}, {"time": 3}],
        "scalars": [{"name": "smile", "components": 2, "values": [1, 2, 3, 4]}, {"name": "bad", "values": [1, 2, 3]}],
    });
    let (scene, remarks) = maker.open().unwrap();
    assert_eq!(remarks.len(), 2, "{remarks:?}");
    let names = |s: usize| -> Vec<(&str, Option<usize>)> {
        let joints = scene.skeletons[s].joints.iter();
        joints.map(|j| (&*j.name, j.parent)).collect()
    };
    // An ancestor that has an effect is a joint; one without is not.
    assert_eq!(names(0), [("armature", None), ("hips", Some(0)), ("between", Some(1)), ("head", Some(2))]);
    assert_eq!(names(1), [("other", None), ("second", None)]);
    let joints = &scene.skeletons[0].joints;
    assert_eq!((joints[1].layer.as_deref(), joints[1].bias), (Some("base"), Some(2.5)));
    assert_eq!((joints[3].layer.as_deref(), joints[3].shell), (Some("cosmetic"), Some(0.2)));
    assert_eq!(scene.skeletons[0].name, "rig");
    assert_eq!(scene.clips.len(), 1);
    let clip = &scene.clips[0];
    assert_eq!((clip.skeleton, clip.samples, clip.fps), (0, 2, 10.0));
    let markers: Vec<_> = clip.markers.iter().map(|m| (&*m.name, m.time)).collect();
    assert_eq!(markers, [("early", 0.0), ("late", 0.1)]);
    let scalar = &clip.scalars[0];
    assert_eq!((clip.scalars.len(), &*scalar.name, scalar.components), (1, "smile", 2));
    assert_eq!(scalar.values.sample(1).to_array(), [3.0, 4.0, 0.0, 0.0]);
}

#[test]
fn real_characters_are_what_an_evaluator_says() {
    for (file, joints, samples) in [("hero", 65, 240), ("snake", 24, 120)] {
        let Some(path) = crate::corpus::corpus_path(&format!("characters/{file}.glb")) else {
            return;
        };
        let (scene, remarks) = meshreel_read::open(&path, &ReadOptions::default()).unwrap();
        assert!(remarks.is_empty(), "{remarks:?}");
        assert_eq!(scene.skeletons[0].joints.len(), joints);
        let clip = &scene.clips[0];
        assert_eq!((clip.samples, clip.fps), (samples, 30.0));
        assert!((clip.start - 1.0 / 30.0).abs() < 1e-12);
        let mesh = &scene.meshes[0];
        assert_eq!(mesh.positions.len(), samples);
        let skin = mesh.skin.as_ref().unwrap();
        assert_eq!(skin.joints.len(), joints);
        let evaluator = Glb::open(&path);
        for i in (0..samples).step_by(37) {
            let time = mesh.positions.time(i);
            let wanted = evaluator.triangles(time as f32);
            let off = distance(&triangles(&scene, time), &wanted);
            assert!(off < 2e-6, "{file}, sample {i}: {off}");
        }
        // The skin reproduces the positions from clip and bind pose alone.
        let (mut pose, mut points) = (Vec::new(), Vec::new());
        let mut world: Vec<DMat4> = Vec::new();
        for i in [0, samples / 2] {
            clip.pose(i, &mut pose);
            world.clear();
            for (joint, local) in scene.skeletons[0].joints.iter().zip(&pose) {
                let parent = joint.parent.map_or(DMat4::IDENTITY, |p| world[p]);
                world.push(parent * DMat4::from(local.matrix()));
            }
            mesh.positions.read(i, &mut points).unwrap();
            for (v, point) in points.iter().enumerate().step_by(11) {
                let bind = DVec3::from_array(skin.bind_positions[v].map(f64::from));
                let k = skin.influences;
                let wanted: DVec3 = (v * k..v * k + k)
                    .map(|at| {
                        let j = usize::from(skin.joint[at]);
                        let matrix = world[skin.joints[j]] * skin.inverse_bind[j];
                        matrix.transform_point3(bind) * f64::from(skin.weight[at])
                    })
                    .sum();
                assert!(wanted.distance(DVec3::from_array(point.map(f64::from))) < 1e-6);
            }
        }
    }
}

#[test]
fn all_kinds_of_primitives_and_accessors() {
    let mut maker = GlbBuilder::new();
    let square = [[0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]];
    let positions = maker.floats(&square);
    let strip = maker.shorts(&[0, 1, 2, 3]);
    let fan = maker.accessor(&[0, 1, 3, 2], 5121, "SCALAR", 4);
    let wild = maker.shorts(&[0, 1, 9, 1, 3, 2]);
    // Interleaved with a stride, normalized and quantized; colours of three bytes.
    let mut bytes = Vec::new();
    for [x, y, _] in square {
        for v in [x * 32767.0, y * 32767.0, 0.0, 0.0] {
            bytes.extend((v as i16).to_le_bytes());
        }
        bytes.extend([255, (x * 255.0) as u8, 0, 7]);
    }
    let view = maker.view(&bytes);
    maker.json["bufferViews"][view]["byteStride"] = json!(12);
    let quantized =
        json!({"bufferView": view, "componentType": 5122, "normalized": true, "type": "VEC3", "count": 4});
    let quantized = maker.push("accessors", quantized);
    let colours = json!({"bufferView": view, "byteOffset": 8, "componentType": 5121, "normalized": true, "type": "VEC3", "count": 4});
    let colours = maker.push("accessors", colours);
    // No view and one value: all zeros but that one.
    let (indices, values) = (maker.view(&[2]), maker.view(&[0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64]));
    let sparse = json!({
        "componentType": 5126, "type": "VEC3", "count": 3, "sparse": {
            "count": 1, "indices": {"bufferView": indices, "componentType": 5121}, "values": {"bufferView": values},
        },
    });
    let sparse = maker.push("accessors", sparse);
    let uvs = maker.floats(&[[0f32, 0.0], [1.0, 0.25], [0.0, 1.0], [1.0, 1.0]]);
    maker.json["materials"] = json!([{"name": "red"}, {}]);
    maker.push("meshes", json!({"name": "all", "primitives": [
        {"attributes": {"POSITION": positions, "TEXCOORD_0": uvs}, "indices": strip, "mode": 5, "material": 1},
        {"attributes": {"POSITION": positions}, "indices": fan, "mode": 6, "material": 0},
        {"attributes": {"POSITION": positions}, "indices": wild, "material": 0},
        {"attributes": {"POSITION": quantized, "COLOR_0": colours}, "mode": 5},
        {"attributes": {"POSITION": sparse}},
        {"attributes": {"POSITION": positions}, "mode": 1},
    ]}));
    maker.node(None, json!({"name": "one", "mesh": 0, "translation": [5, 0, 0]}));
    maker.node(None, json!({"mesh": 0}));
    maker.node(None, json!({"mesh": 0, "matrix": [1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 7, 8, 9, 1]}));
    maker.json["extensionsRequired"] = json!(["KHR_mesh_quantization"]);
    let (scene, remarks) = maker.open().unwrap();
    let paths: Vec<_> = scene.nodes.iter().map(|n| &*n.path).collect();
    assert_eq!(paths, ["/one", "/one/all", "/node", "/node/all", "/node.2", "/node.2/all"]);
    assert_eq!(scene.meshes.len(), 1, "nodes share what nothing moves");
    assert!(remarks.iter().any(|r| r.what.contains("points or lines")), "{remarks:?}");
    let mesh = &scene.meshes[0];
    let mut corners = Vec::new();
    mesh.face_indices.read(0, &mut corners).unwrap();
    assert_eq!(
        corners,
        [
            [0, 1, 2],
            [2, 1, 3], // the strip
            [5, 7, 4],
            [7, 6, 4], // the fan, which starts with the second corner
            [4, 5, -1],
            [5, 7, 6], // one corner is missing; its points are the fan's
            [8, 9, 10],
            [10, 9, 11],
            [12, 13, 14],
        ]
        .concat()
    );
    let mut points = Vec::new();
    mesh.positions.read(0, &mut points).unwrap();
    assert_eq!(points[8..12], square);
    assert_eq!(points[12..], [[0.0; 3], [0.0; 3], [1.0, 2.0, 3.0]]);
    let (mut uv, mut colour) = (Vec::new(), Vec::new());
    mesh.uvs[0].values.read(0, &mut uv).unwrap();
    // The origin of glTF's images is at the top.
    assert_eq!(uv[..4], [[0.0, 1.0], [1.0, 0.75], [0.0, 0.0], [1.0, 0.0]]);
    mesh.colours[0].values.read(0, &mut colour).unwrap();
    assert_eq!(colour[7..11], [[1.0; 4], [1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]);
    let sets: Vec<_> = mesh.face_sets.iter().map(|s| &*s.name).collect();
    assert_eq!(sets, ["material 1", "red"]);
    let mut faces = Vec::new();
    mesh.face_sets[1].faces.read(0, &mut faces).unwrap();
    assert_eq!(faces, [2, 3, 4, 5]);
    // A matrix with shear is kept as it is.
    let mut matrix = Vec::new();
    scene.nodes[4].transform.as_ref().unwrap().local.read(0, &mut matrix).unwrap();
    assert_eq!(matrix[0].matrix().y_axis.x, 1.0);
}

#[test]
fn buffers_beside_and_inside() {
    let mut maker = GlbBuilder::new();
    let mesh = maker.triangle(&[]);
    maker.node(None, json!({"mesh": mesh}));
    let mut json = maker.finished();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gltf");
    let open = |json: &Value| {
        std::fs::write(&path, serde_json::to_vec(json).unwrap()).unwrap();
        let (scene, _) = meshreel_read::open(&path, &ReadOptions::default())?;
        walk(&scene)?;
        Ok::<_, Error>(triangles(&scene, 0.0))
    };
    let wanted = triangles(&maker.open().unwrap().0, 0.0);
    std::fs::write(folder.path().join("my data.bin"), &maker.binary).unwrap();
    json["buffers"][0]["uri"] = json!("my%20data.bin");
    assert_eq!(open(&json).unwrap(), wanted);
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("data:application/octet-stream;base64,");
    for chunk in maker.binary.chunks(3) {
        let bits = chunk.iter().chain(&[0, 0]).take(3).fold(0usize, |all, b| all << 8 | usize::from(*b));
        for k in 0..=chunk.len() {
            text.push(char::from(alphabet[bits >> (18 - 6 * k) & 63]));
        }
    }
    json["buffers"][0]["uri"] = json!(text);
    assert_eq!(open(&json).unwrap(), wanted);
    for (uri, class) in [
        ("http://example.com/a.bin", "not supported"),
        ("/etc/passwd", "not supported"),
        ("missing.bin", "missing.bin"),
        ("data:nonsense", "base64"),
        (".", "not supported"),
        ("%zz", "URI"),
    ] {
        json["buffers"][0]["uri"] = json!(uri);
        let error = open(&json).unwrap_err().to_string();
        assert!(error.contains(class), "{uri}: {error}");
    }
}

#[test]
fn no_file_outside_of_the_folder_is_read() {
    let maker = animated();
    let mut json = maker.finished();
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("folder");
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    for place in ["secret.bin", "folder/own.bin", "folder/sub/own.bin"] {
        std::fs::write(above.path().join(place), &maker.binary).unwrap();
    }
    let path = folder.join("a.gltf");
    let mut open = |uri: &str| {
        json["buffers"][0]["uri"] = json!(uri);
        std::fs::write(&path, serde_json::to_vec(&json).unwrap()).unwrap();
        let (scene, _) = meshreel_read::open(&path, &ReadOptions::default())?;
        walk(&scene)
    };
    let absolute = above.path().join("secret.bin").display().to_string();
    let encoded: String = absolute.bytes().map(|b| format!("%{b:02x}")).collect();
    for outside in [
        "../secret.bin",
        "%2e%2e/secret.bin",
        "%2E%2E%2Fsecret.bin",
        "./../secret.bin",
        "sub/../../secret.bin",
        "sub/../../folder/own.bin",
        "..",
        &absolute,
        &encoded,
        &format!("file://{absolute}"),
        &format!("file%3A%2F%2F{absolute}"),
        &format!("FILE:{absolute}"),
        r"..\\secret.bin",
        "..%5Csecret.bin",
        "sub%5c..%2f..%5csecret.bin",
        "%2e%2e%5csecret.bin",
        "%5C%5Cserver%5Csecret.bin",
        "C:%5Csecret.bin",
        "own.bin%00/../../secret.bin",
        "..%20/secret.bin",
    ] {
        let error = open(outside).expect_err(outside).to_string();
        assert!(error.contains("only files beside the .gltf"), "{outside}: {error}");
    }
    for inside in ["own.bin", "./own.bin", "sub/own.bin", "sub/../own.bin", "sub/.//own.bin", "sub%5Cown.bin"]
    {
        open(inside).expect(inside);
    }
    // Percent-encoding is decoded once, not twice.
    let error = open("%252e%252e/secret.bin").unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    #[cfg(unix)]
    {
        // A link is made by the folder's owner, not by the file, so it is followed.
        std::os::unix::fs::symlink(above.path().join("secret.bin"), folder.join("link.bin")).unwrap();
        open("link.bin").unwrap();
        let made = std::process::Command::new("mkfifo").arg(folder.join("pipe.bin")).status();
        assert!(made.unwrap().success());
        let error = open("pipe.bin").unwrap_err().to_string();
        assert!(error.contains("named pipe"), "{error}");
    }
}

#[test]
fn morph_targets_move_points() {
    let mut maker = GlbBuilder::new();
    let mesh = maker.triangle(&[]);
    let deltas = maker.floats(&[[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 3.0]]);
    let other = maker.floats(&[[1.0, 0.0, 0.0]; 3]);
    maker.json["meshes"][mesh]["primitives"][0]["targets"] =
        json!([{"POSITION": deltas}, {"POSITION": other}]);
    maker.json["meshes"][mesh]["weights"] = json!([0.5, 0.0]);
    let node = maker.node(None, json!({"mesh": mesh}));
    let still = maker.node(None, json!({"mesh": mesh}));
    // Keys at irregular times: linear interpolation between them is exact.
    maker.channel(
        node,
        "weights",
        "LINEAR",
        &[0.0, 0.1234, 1.0],
        &[[0.0f32], [0.0], [1.0], [2.0], [0.0], [-1.0]],
    );
    let (scene, remarks) = maker.open().unwrap();
    assert!(remarks.is_empty(), "{remarks:?}");
    assert_ne!(node, still);
    let read = |mesh: usize, i: usize| {
        let mut points = Vec::new();
        scene.meshes[mesh].positions.read(i, &mut points).unwrap();
        points
    };
    assert_eq!(scene.meshes[0].positions.len(), 3);
    assert_eq!(read(0, 1), [[2.0, 0.0, 1.0], [3.0, 0.0, 2.0], [2.0, 1.0, 3.0]]);
    assert_eq!(read(0, 2), [[-1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [-1.0, 1.0, 0.0]]);
    assert_eq!(scene.meshes[1].positions.len(), 1);
    assert_eq!(read(1, 0)[2], [0.0, 1.0, 1.5]);
}

#[test]
fn what_was_written_is_read() {
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs");
    for name in ["m_scale_shear.abc", "n_robot_bone_parented.abc"] {
        let (source, _) = meshreel_read::open(&input.join(name), &ReadOptions::default()).unwrap();
        let placed = source.expand().unwrap();
        let selected = vec![true; placed.len()];
        let options = meshreel_scene::sample::FrameOptions::default();
        let times = meshreel_scene::sample::frame_times(&source, &placed, &selected, &options).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.glb");
        meshreel_write::glb::write(&path, &source, &times, &mut |_, _| ()).unwrap();
        let (scene, _) = meshreel_read::open(&path, &ReadOptions::default()).unwrap();
        let evaluator = Glb::open(&path);
        for time in times.iter().step_by(5) {
            let wanted = sorted(evaluator.triangles((*time - times[0].min(0.0)) as f32));
            let got = sorted(triangles(&scene, *time - times[0].min(0.0)));
            let shown: Vec<_> = got.iter().filter(|t| t[0].distance(t[1]) > 1e-9).copied().collect();
            assert_eq!(shown.len(), wanted.len(), "{name} at {time}");
            let off = distance(&shown, &wanted);
            assert!(off < 1e-4, "{name} at {time}: {off}");
        }
    }
}

#[test]
fn a_skinned_mesh_stands_in_the_world() {
    let (scene, remarks) = animated().open().unwrap();
    assert!(remarks.is_empty(), "{remarks:?}");
    let paths: Vec<_> = scene.nodes.iter().map(|n| &*n.path).collect();
    assert_eq!(paths, ["/body", "/body/tri"], "joints that carry nothing are no nodes");
    // Sample 1 by hand: root moves by 1 in x, tip turns by 2·asin(0.6) around z at its place, the target
    // lifts by 1.
    let (sin, cos) = (0.96, 0.28);
    let tip =
        |p: [f64; 3]| [1.0 + cos * p[0] - sin * (p[1] - 1.0), 1.0 + sin * p[0] + cos * (p[1] - 1.0), p[2]];
    let root = |p: [f64; 3]| [1.0 + p[0], p[1], p[2]];
    let blend = |p: [f64; 3], w: f64| DVec3::from_array(root(p)) * (1.0 - w) + DVec3::from_array(tip(p)) * w;
    let wanted = [blend([0.0, 0.0, 1.0], 0.5), blend([1.0, 0.0, 1.0], 1.0), blend([0.0, 1.0, 1.0], 1.0)];
    let got = triangles(&scene, scene.meshes[0].positions.time(1));
    for (got, wanted) in got[0].iter().zip(wanted) {
        assert!(got.distance(wanted) < 1e-6, "{got} {wanted}");
    }
    // The weight of the morph target is a scalar track of the clip.
    let clip = &scene.clips[0];
    assert_eq!((clip.scalars.len(), clip.scalars[0].values.sample(1).x), (1, 1.0));
}

/// Returns two roots, tracks that stand still at rest and elsewhere, and scalar tracks and markers.
fn root_skeleton_and_clip() -> (Skeleton, Clip) {
    let joint = |name: &str, parent: Option<usize>, y: f64| Joint {
        name: name.into(),
        parent,
        rest: Qvv { translation: DVec3::new(0.0, y, 0.0), ..Qvv::IDENTITY },
        ..Joint::default()
    };
    let mut joints = vec![joint("a", None, 100.0), joint("b", Some(0), 20.0), joint("c", None, 3.0)];
    joints[1].layer = Some("cosmetic".into());
    (joints[1].bias, joints[2].shell) = (Some(0.5), Some(2.0));
    let skeleton = Skeleton { name: "two roots".into(), joints };
    let n = 20;
    let moving = |f: &dyn Fn(f64) -> DVec3| SubTrack::new((0..n).map(|i| f(f64::from(i))).collect()).unwrap();
    let turns =
        (0..n).map(|i| DQuat::from_rotation_z(f64::from(i) * 0.4) * if i % 3 == 0 { -1.0 } else { 1.0 });
    let mut tracks: Vec<Track> = skeleton.joints.iter().map(|j| Track::constant(j.rest)).collect();
    tracks[0].translation = moving(&|i| DVec3::new(i, 100.0 + i * i, -0.1 * i));
    tracks[1].rotation = SubTrack::new(turns.collect()).unwrap();
    tracks[1].scale = SubTrack::constant(DVec3::splat(2.0));
    tracks[2].scale = moving(&|i| DVec3::new(1.0 - i * 0.1, 1.0, 1.0));
    let clip = Clip {
        name: "all".into(),
        skeleton: 0,
        start: 0.5,
        fps: 24.0,
        samples: n as usize,
        tracks,
        scalars: vec![ScalarTrack {
            name: "smile".into(),
            components: 3,
            values: SubTrack::new((0..n).map(|i| DVec4::new(f64::from(i), 0.25, -1.0, 0.0)).collect())
                .unwrap(),
        }],
        markers: vec![Marker { name: "step".into(), time: 0.75 }],
    };
    (skeleton, clip)
}

/// Writes clips as glTF and reads them back.
fn round_trip(scene: &Scene) -> Scene {
    let output = std::env::var_os("MESHREEL_TEST_OUTPUT").map(PathBuf::from);
    let folder = tempfile::tempdir().unwrap();
    let path = output.as_deref().unwrap_or(folder.path()).join("clips.glb");
    let remarks = meshreel_write::glb::write(&path, scene, &[], &mut |_, _| ()).unwrap();
    assert!(remarks.is_empty(), "{remarks:?}");
    let (again, remarks) = meshreel_read::open(&path, &ReadOptions::default()).unwrap();
    assert!(remarks.is_empty(), "{remarks:?}");
    again
}

#[test]
fn clips_come_back() {
    let (skeleton, clip) = root_skeleton_and_clip();
    for still in [false, true] {
        let mut clip = clip.clone();
        if still {
            for (track, joint) in clip.tracks.iter_mut().zip(&skeleton.joints) {
                *track = Track::constant(joint.rest);
            }
        }
        let scene = Scene {
            skeletons: vec![skeleton.clone()],
            clips: vec![clip.clone()],
            unit: Some(LengthUnit::Centimetre),
            ..Scene::default()
        };
        let again = round_trip(&scene);
        let (wanted, got) = (skeleton.scaled(0.01), &again.skeletons[0]);
        assert_eq!(wanted.joints.len(), got.joints.len());
        for (a, b) in wanted.joints.iter().zip(&got.joints) {
            assert_eq!((&a.name, a.parent, &a.layer, a.bias), (&b.name, b.parent, &b.layer, b.bias));
            assert_eq!(a.shell, b.shell);
            assert!(a.rest.translation.distance(b.rest.translation) < 1e-7);
        }
        let (wanted, got) = (clip.scaled(0.01), &again.clips[0]);
        assert_eq!((wanted.samples, wanted.fps, wanted.start), (got.samples, got.fps, got.start));
        assert_eq!(wanted.markers, got.markers);
        assert_eq!(wanted.scalars, got.scalars);
        for i in 0..wanted.samples {
            for (a, b) in wanted.tracks.iter().zip(&got.tracks) {
                let (a, b) = (a.transform(i), b.transform(i));
                assert!(a.translation.distance(b.translation) < 1e-6 && a.scale.distance(b.scale) < 1e-6);
                assert!(1.0 - a.rotation.dot(b.rotation).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn motion_capture_survives_gltf() {
    let Some(path) = crate::corpus::corpus_path("characters/snake.bvh") else {
        return;
    };
    let (scene, _) = meshreel_read::open(&path, &ReadOptions::default()).unwrap();
    let again = round_trip(&scene);
    let (wanted, got) = (&scene.clips[0], again.clips[0].scaled(100.0));
    assert_eq!((wanted.samples, wanted.fps, wanted.start), (got.samples, got.fps, got.start));
    // The same as BVH.
    let text = meshreel_write::bvh::text(&again.skeletons[0].scaled(100.0), &got, &mut Vec::new());
    let options = ReadOptions::default();
    let (bvh, _) = meshreel_read::bvh::parse(Path::new("a.bvh"), text.as_bytes(), &options).unwrap();
    for i in 0..wanted.samples {
        for (j, a) in wanted.tracks.iter().enumerate() {
            let a = a.transform(i);
            for b in [got.tracks[j].transform(i), bvh.clips[0].tracks[j].transform(i)] {
                assert!(a.translation.distance(b.translation) < 1e-3, "{i} {j}");
                assert!(1.0 - a.rotation.dot(b.rotation).abs() < 1e-10, "{i} {j}");
            }
        }
    }
}

#[test]
fn the_bundled_prism() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/prism.glb");
    let (scene, remarks) = meshreel_read::open(&path, &ReadOptions::default()).unwrap();
    assert!(remarks.is_empty(), "{remarks:?}");
    walk(&scene).unwrap();
    let joints = &scene.skeletons[0].joints;
    let names: Vec<_> = joints.iter().map(|j| (&*j.name, j.parent, j.layer.as_deref())).collect();
    assert_eq!(
        names,
        [("hips", None, Some("base")), ("spine", Some(0), None), ("tip", Some(1), Some("cosmetic"))]
    );
    let clip = &scene.clips[0];
    assert_eq!((&*clip.name, clip.fps, clip.samples, clip.duration()), ("bend", 24.0, 49, 2.0));
    assert_eq!((clip.markers.len(), clip.scalars.len(), &*clip.scalars[0].name), (2, 1, "bulge"));
    let tip = &clip.tracks[2];
    // Held until the key, and a quarter of a curve that starts flat and ends with a tangent.
    assert_eq!((tip.scale.sample(11).x, tip.scale.sample(12).x), (1.0, 1.5));
    let angle = |i: usize| 2.0 * tip.rotation.sample(i).z.atan2(tip.rotation.sample(i).w);
    assert!(angle(0).abs() < 1e-9 && (angle(12) - 1.0).abs() < 1e-6 && (angle(48) + 0.5).abs() < 1e-6);
    let u: f64 = 3.0 / 12.0;
    let h = [
        1.0 - 3.0 * u * u + 2.0 * u * u * u,
        0.5 * (u - 2.0 * u * u + u * u * u),
        3.0 * u * u - 2.0 * u * u * u,
    ];
    let (z, w) = (h[1] + h[2] * 0.5f64.sin(), h[0] + h[2] * 0.5f64.cos());
    assert!((angle(3) - 2.0 * z.atan2(w)).abs() < 1e-6, "{} {}", angle(3), 2.0 * z.atan2(w));
    let mesh = &scene.meshes[0];
    assert_eq!((mesh.positions.len(), mesh.face_sets.len(), mesh.uvs.len()), (49, 2, 1));
    assert_eq!(mesh.skin.as_ref().unwrap().joints, [0, 1, 2]);
}

/// Reads the prism of another program: quantized, and compressed with either extension.
#[test]
fn compressed_views_are_what_they_stand_for() {
    let read = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs");
        let (scene, remarks) = meshreel_read::open(&folder.join(name), &ReadOptions::default()).unwrap();
        assert!(remarks.is_empty(), "{remarks:?}");
        walk(&scene).unwrap();
        scene
    };
    // From each triangle to the nearest one, starting at any corner.
    let apart = |a: &[[DVec3; 3]], b: &[[DVec3; 3]]| {
        assert_eq!(a.len(), b.len());
        let between = |a: &[DVec3; 3], b: &[DVec3; 3]| {
            let turned = |turn: usize| (0..3).map(|k| a[k].distance(b[(k + turn) % 3])).fold(0.0, f64::max);
            (0..3).map(turned).fold(f64::INFINITY, f64::min)
        };
        let nearest = |a: &[DVec3; 3]| b.iter().map(|b| between(a, b)).fold(f64::INFINITY, f64::min);
        a.iter().map(nearest).fold(0.0, f64::max)
    };
    let original = read("prism.glb");
    let [quantized, plain, ext, khr] =
        ["quantized", "plain", "ext", "khr"].map(|name| read(&format!("meshopt/prism_{name}.glb")));
    for time in [0.0, 0.3, 1.0, 1.9] {
        let [original, quantized, plain, ext, khr] =
            [&original, &quantized, &plain, &ext, &khr].map(|scene| triangles(scene, time));
        assert_eq!(apart(&quantized, &plain), 0.0, "without filters nothing is lost");
        assert_eq!(apart(&ext, &khr), 0.0, "two versions of one thing");
        // Rotations of 12 bits; positions of 14, sampled 30 times a second.
        let [turns, all] = [apart(&ext, &quantized), apart(&original, &quantized)];
        assert!(turns < 2e-3 && all < 0.05, "{turns} {all}");
    }
    let counts =
        |scene: &Scene| (scene.meshes[0].positions.len(), scene.meshes[0].uvs.len(), scene.clips[0].samples);
    assert_eq!(counts(&ext), counts(&quantized));
}
