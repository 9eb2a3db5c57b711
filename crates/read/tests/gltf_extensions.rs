//! Tests of glTF extensions that place, move and hide nodes; cameras; keys that lie far apart.

use crate::glb_builder::GlbBuilder;
use glam::{DQuat, DVec3};
use meshreel_scene::sample::{World, lens_at, positions_at, transform_at};
use meshreel_scene::{LocalTransform, NodeKind, Scene};
use serde_json::{Value, json};

/// Returns the second point, which is at x = 1, of each mesh visible at a time, by path.
fn tips(scene: &Scene, time: f64) -> Vec<(String, DVec3)> {
    let placed = scene.expand().unwrap();
    let mut world = World::new(scene, &placed).unwrap();
    world.evaluate(time).unwrap();
    let mut points = Vec::new();
    let mut out = Vec::new();
    for (i, place) in placed.iter().enumerate().filter(|(i, _)| world.visible[*i]) {
        if let Some(mesh) = scene.nodes[place.node].mesh {
            positions_at(&scene.meshes[mesh], time, &mut points).unwrap();
            let tip = DVec3::from_array(points[1].map(f64::from));
            out.push((place.path.clone(), world.matrix[i].transform_point3(tip)));
        }
    }
    out
}

fn assert_near(found: &[(String, DVec3)], wanted: &[(&str, [f64; 3])]) {
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    for ((path, tip), (name, place)) in found.iter().zip(wanted) {
        assert!(path == name && tip.abs_diff_eq(DVec3::from_array(*place), 1e-6), "{found:?} {wanted:?}");
    }
}

/// Adds a channel with a JSON pointer as its target.
fn pointer<const N: usize>(
    maker: &mut GlbBuilder,
    pointer: &str,
    how: &str,
    keys: &[f32],
    values: &[[f32; N]],
) {
    maker.channel(0, "pointer", how, keys, values);
    let animation = maker.json["animations"].as_array_mut().unwrap().last_mut().unwrap();
    let channel = animation["channels"].as_array_mut().unwrap().last_mut().unwrap();
    let extension = json!({"KHR_animation_pointer": {"pointer": pointer}});
    channel["target"] = json!({"path": "pointer", "extensions": extension});
}

#[test]
fn scales_that_change_signs_do_not_turn() {
    let mut maker = GlbBuilder::new();
    let mesh = maker.triangle(&[]);
    let node = maker.node(None, json!({"name": "flip", "mesh": mesh}));
    maker.channel(node, "scale", "LINEAR", &[0.0, 1.0], &[[1.0, 1.0, 1.0], [-1.0, -1.0, 1.0]]);
    let (scene, _) = maker.open().unwrap();
    for part in [0.0, 0.25, 0.5, 0.75, 1.0] {
        assert_near(&tips(&scene, part), &[("/flip/tri", [1.0 - 2.0 * part, 0.0, 0.0])]);
    }
    let transform = scene.nodes[0].transform.as_ref().unwrap();
    let LocalTransform::Components(parts) = transform_at(transform, 1.0).unwrap().0 else {
        panic!("a matrix")
    };
    assert_eq!((parts.rotation, parts.scale), (DQuat::IDENTITY, DVec3::new(-1.0, -1.0, 1.0)));
}

/// Players hold a zero scale up to the next frame, so there must be one soon.
#[test]
fn scales_that_come_starts_from_zero_are_sampled() {
    let mut maker = GlbBuilder::new();
    let mesh = maker.triangle(&[]);
    let node = maker.node(None, json!({"name": "pop", "mesh": mesh}));
    maker.channel(node, "scale", "LINEAR", &[0.0, 1.0, 2.0], &[[0.0; 3], [1.0; 3], [2.0; 3]]);
    let (scene, _) = maker.open().unwrap();
    assert_eq!(scene.nodes[0].transform.as_ref().unwrap().local.len(), 32);
}

#[test]
fn instances_stand_on_a_node_that_moves() {
    for required in [false, true] {
        let mut maker = GlbBuilder::new();
        let mesh = maker.triangle(&[]);
        let translations = maker.floats(&[[0.0, 0.0, 0.0], [5.0, 0.0, 0.0], [10.0, 0.0, 0.0]]);
        // A half turn about z, in normalized integers.
        let turns = [0i16, 0, 0, 32767, 0, 0, 32767, 0, 0, 0, 0, 32767];
        let bytes: Vec<u8> = turns.iter().flat_map(|v| v.to_le_bytes()).collect();
        let rotations = maker.accessor(&bytes, 5122, "VEC4", 3);
        maker.json["accessors"][rotations]["normalized"] = json!(true);
        let scales = maker.floats(&[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [2.0, 1.0, 1.0]]);
        let attributes =
            json!({"TRANSLATION": translations, "ROTATION": rotations, "SCALE": scales, "_ID": translations});
        let instancing = json!({"EXT_mesh_gpu_instancing": {"attributes": attributes}});
        let node = maker.node(None, json!({"name": "many", "mesh": mesh, "extensions": instancing}));
        maker.node(Some(node), json!({"name": "one", "mesh": mesh}));
        maker.channel(node, "translation", "LINEAR", &[0.0, 1.0], &[[0.0; 3], [0.0, 4.0, 0.0]]);
        maker.json["extensionsUsed"] = json!(["EXT_mesh_gpu_instancing"]);
        if required {
            maker.json["extensionsRequired"] = json!(["EXT_mesh_gpu_instancing"]);
        }
        let (scene, remarks) = maker.open().unwrap();
        assert!(remarks.is_empty(), "{remarks:?}");
        // The subtree of the node exists once, and so does the mesh's data.
        assert_eq!(scene.meshes.len(), 1);
        let wanted = [
            ("/many/tri", [1.0, 2.0, 0.0]),
            ("/many/tri.2", [4.0, 2.0, 0.0]),
            ("/many/tri.3", [12.0, 2.0, 0.0]),
            ("/many/one/tri", [1.0, 2.0, 0.0]),
        ];
        assert_near(&tips(&scene, 0.5), &wanted);
        maker.json["accessors"][scales]["count"] = json!(2);
        assert!(maker.open().is_err());
        maker.json["accessors"][scales]["count"] = json!(1 << 30);
        maker.json["nodes"][node]["extensions"]["EXT_mesh_gpu_instancing"]["attributes"] =
            json!({"SCALE": scales});
        assert!(maker.open().is_err());
    }
}

#[test]
fn hidden_nodes_hide_all_below_them() {
    let mut maker = GlbBuilder::new();
    let mesh = maker.triangle(&[]);
    let hidden = |visible: bool| json!({"KHR_node_visibility": {"visible": visible}});
    let top = maker.node(None, json!({"name": "top", "extensions": hidden(false)}));
    maker.node(Some(top), json!({"name": "under", "mesh": mesh, "extensions": hidden(true)}));
    let blink = maker.node(None, json!({"name": "blink", "mesh": mesh, "extensions": hidden(false)}));
    maker.node(Some(blink), json!({"name": "leaf", "mesh": mesh}));
    let keys = maker.floats(&[[0.0f32], [0.5], [1.0]]);
    let bytes = maker.accessor(&[0, 1, 0], 5121, "SCALAR", 3);
    let target = format!("/nodes/{blink}/extensions/KHR_node_visibility/visible");
    pointer(&mut maker, &target, "STEP", &[0.0], &[[0.0]]);
    maker.json["animations"][0]["samplers"][0] =
        json!({"input": keys, "output": bytes, "interpolation": "STEP"});
    maker.json["extensionsUsed"] = json!(["KHR_animation_pointer", "KHR_node_visibility"]);
    let (scene, remarks) = maker.open().unwrap();
    assert!(remarks.is_empty(), "{remarks:?}");
    let both = [("/blink/tri", [1.0, 0.0, 0.0]), ("/blink/leaf/tri", [1.0, 0.0, 0.0])];
    for (time, shown) in [(0.0, false), (0.4, false), (0.5, true), (0.9, true), (1.0, false)] {
        assert_near(&tips(&scene, time), if shown { &both } else { &[] });
    }
}

#[test]
fn pointers_move_nodes_weights_and_cameras() {
    let mut maker = GlbBuilder::new();
    let mesh = maker.triangle(&[]);
    let targets: Vec<Value> = [[0.0f32, 1.0, 0.0], [0.0, 0.0, 1.0]]
        .map(|offset| json!({"POSITION": maker.floats(&[offset; 3])}))
        .to_vec();
    maker.json["meshes"][mesh]["primitives"][0]["targets"] = json!(targets);
    maker.json["meshes"][mesh]["weights"] = json!([0.0, 0.5]);
    let own = maker.node(None, json!({"name": "own", "mesh": mesh, "weights": [0.0, 0.25]}));
    maker.node(None, json!({"name": "meshs", "mesh": mesh}));
    maker.json["cameras"] = json!([{"perspective": {"yfov": 1.0, "znear": 0.1}}]);
    maker.node(None, json!({"name": "eye", "camera": 0}));
    let keys = [0.0f32, 1.0];
    pointer(&mut maker, &format!("/nodes/{own}/translation"), "LINEAR", &keys, &[[0.0; 3], [2.0, 0.0, 0.0]]);
    pointer(&mut maker, &format!("/nodes/{own}/weights/0"), "LINEAR", &keys, &[[0.0], [1.0]]);
    pointer(&mut maker, &format!("/meshes/{mesh}/weights"), "LINEAR", &keys, &[[0.0], [0.0], [1.0], [2.0]]);
    pointer(&mut maker, "/cameras/0/perspective/yfov", "LINEAR", &keys, &[[1.0], [2.0]]);
    pointer(&mut maker, "/materials/0/emissiveFactor", "LINEAR", &keys, &[[0.0; 3], [1.0; 3]]);
    let (scene, remarks) = maker.open().unwrap();
    let said = remarks.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(said.contains("1 channels move what is not kept: /materials/0/emissiveFactor"), "{said}");
    let wanted = [("/own/tri", [2.0, 0.5, 0.25]), ("/meshs/tri", [1.0, 0.5, 1.0])];
    assert_near(&tips(&scene, 0.5), &wanted);
    let eye = scene.nodes.iter().find_map(|node| node.camera.as_ref()).unwrap();
    for (time, yfov) in [(0.0, 1.0), (0.5, 1.5), (1.0, 2.0f64)] {
        let lens = lens_at(eye, time).unwrap().unwrap();
        assert!((2.0 * (lens.aperture[1] / 2.0 / lens.focal_length).atan() - yfov).abs() < 1e-9, "{time}");
    }
    // A pointer to a missing target is an error, as in the core format.
    pointer(&mut maker, "/nodes/77/translation", "LINEAR", &keys, &[[0.0; 3], [1.0; 3]]);
    assert!(maker.open().is_err());
}

#[test]
fn cameras_alone_are_cameras() {
    let mut maker = GlbBuilder::new();
    maker.json["cameras"] = json!([{"perspective": {"yfov": 0.8, "znear": 0.1}}]);
    let dolly = maker.node(None, json!({"name": "dolly"}));
    maker.node(Some(dolly), json!({"name": "shot", "camera": 0}));
    maker.channel(dolly, "translation", "LINEAR", &[0.0, 1.0], &[[0.0; 3], [1.0, 0.0, 0.0]]);
    let (scene, _) = maker.open().unwrap();
    assert!(scene.skeletons.is_empty() && scene.clips.is_empty());
    assert!(scene.nodes[1].camera.is_some() && scene.nodes[0].transform.is_some());
    // Beside moving joints they are cameras, and the joints are a skeleton.
    let hips = maker.node(None, json!({"name": "hips"}));
    maker.node(Some(hips), json!({"name": "leg"}));
    maker.channel(hips, "translation", "LINEAR", &[0.0, 1.0], &[[0.0; 3], [1.0, 0.0, 0.0]]);
    let (scene, _) = maker.open().unwrap();
    assert_eq!((scene.skeletons.len(), scene.clips.len()), (1, 1));
    let joints: Vec<&str> = scene.skeletons[0].joints.iter().map(|joint| &*joint.name).collect();
    assert!(joints.contains(&"hips") && joints.contains(&"leg") && !joints.contains(&"shot"), "{joints:?}");
    assert!(scene.nodes.iter().any(|node| node.kind == NodeKind::Xform && node.camera.is_some()));
}

#[test]
fn spans_in_which_nothing_changes_cost_nothing() {
    // A day in five keys: half a turn between two keys takes few samples, and no time.
    let mut maker = GlbBuilder::new();
    let mesh = maker.triangle(&[]);
    let sun = maker.node(None, json!({"name": "sun", "mesh": mesh}));
    let keys = [0.0f32, 21600.0, 43200.0, 64800.0, 86400.0];
    let turn = |quarter: usize| {
        let angle = std::f32::consts::FRAC_PI_4 * quarter as f32;
        [0.0, angle.sin(), 0.0, angle.cos()]
    };
    let turns: Vec<[f32; 4]> = (0..5).map(turn).collect();
    maker.channel(sun, "rotation", "LINEAR", &keys, &turns);
    let started = std::time::Instant::now();
    let (scene, _) = maker.open().unwrap();
    assert!(started.elapsed().as_secs_f64() < 0.5, "{:?}", started.elapsed());
    assert!(scene.nodes[0].transform.as_ref().unwrap().local.len() < 20);
    // A joint that moves for a second, with a last key ten hours later.
    let mut maker = GlbBuilder::new();
    let (joints, weights) = (maker.shorts(&[0; 12]), maker.floats(&[[1.0f32, 0.0, 0.0, 0.0]; 3]));
    for (key, value) in [("type", json!("VEC4")), ("count", json!(3))] {
        maker.json["accessors"][joints][key] = value;
    }
    let mesh = maker.triangle(&[("JOINTS_0", joints), ("WEIGHTS_0", weights)]);
    let joint = maker.node(None, json!({"name": "joint"}));
    let skin = maker.skin(&[joint]);
    maker.json["skins"][skin]["extras"] = json!({"clip": false});
    maker.node(None, json!({"name": "body", "mesh": mesh, "skin": skin}));
    let places = [[0.0; 3], [3.0, 0.0, 0.0], [3.0, 0.0, 0.0]];
    maker.channel(joint, "translation", "LINEAR", &[0.0, 1.0, 36000.0], &places);
    let (scene, remarks) = maker.open().unwrap();
    let samples = scene.meshes[0].positions.len();
    assert!((30..40).contains(&samples), "{samples}");
    for (time, x) in [(0.5, 2.5), (1.0, 4.0), (30000.0, 4.0)] {
        assert_near(&tips(&scene, time), &[("/body/tri", [x, 0.0, 0.0])]);
    }
    let said = remarks.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(said.contains("--range 0s:1s"), "{said}");
}
