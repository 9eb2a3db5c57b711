//! Tests of damaged glTF files, exceeded limits, and unusual but valid files.

use crate::glb_builder::{GlbBuilder, animated, open_bytes};
use meshreel_read::ReadOptions;
use meshreel_scene::Error;
use meshreel_scene::sample::World;
use serde_json::json;

fn error_of(change: impl Fn(&mut GlbBuilder)) -> String {
    let mut maker = animated();
    change(&mut maker);
    match maker.open() {
        Err(error) => error.to_string(),
        Ok(_) => panic!("was read: {}", maker.json),
    }
}

#[test]
fn damage_is_named() {
    type Change = fn(&mut GlbBuilder);
    let cases: [(&str, Change); 24] = [
        ("version '0.9'", |m| m.json["asset"]["version"] = json!("0.9")),
        ("version '1.0'", |m| {
            m.json["asset"]["version"] = json!("1.0");
            m.json["meshes"] = json!({ "mesh": {} });
        }),
        ("KHR_draco", |m| m.json["extensionsRequired"] = json!(["KHR_draco_mesh_compression"])),
        ("compressed buffer view 0", |m| {
            let view =
                json!({ "buffer": 0, "byteLength": 9, "byteStride": 4, "count": 1, "mode": "ATTRIBUTES" });
            m.json["bufferViews"][0]["extensions"] = json!({ "EXT_meshopt_compression": view });
        }),
        ("two parents", |m| m.json["nodes"][2]["children"] = json!([1])),
        ("ancestors", |m| m.json["nodes"][1]["children"] = json!([0])),
        ("child 77", |m| m.json["nodes"][1]["children"] = json!([77])),
        ("node 99", |m| m.json["animations"][0]["channels"][0]["target"]["node"] = json!(99)),
        ("sampler", |m| m.json["animations"][0]["channels"][0]["sampler"] = json!(99)),
        ("interpolation", |m| m.json["animations"][0]["samplers"][0]["interpolation"] = json!("LINE")),
        ("do not fit", |m| m.json["accessors"][0]["count"] = json!(1_000_000)),
        ("values of accessor", |m| m.json["accessors"][0]["count"] = json!(1u64 << 40)),
        ("do not fit", |m| m.json["accessors"][0]["byteOffset"] = json!(u64::MAX)),
        ("do not fit", |m| m.json["bufferViews"][0]["byteLength"] = json!(u64::MAX)),
        ("stride", |m| m.json["bufferViews"][0]["byteStride"] = json!(3)),
        ("not one of", |m| m.json["accessors"][0]["type"] = json!("VEC2")),
        ("not one of", |m| m.json["accessors"][0]["componentType"] = json!(5124)),
        ("buffer view is not there", |m| m.json["accessors"][0]["bufferView"] = json!(500)),
        ("joint 40", |m| m.json["skins"][0]["joints"] = json!([40])),
        ("no joints", |m| m.json["skins"][0]["joints"] = json!([])),
        ("mesh 9", |m| m.json["nodes"][2]["mesh"] = json!(9)),
        ("skin 9", |m| m.json["nodes"][2]["skin"] = json!(9)),
        ("of 1 with", |m| m.json["skins"][0]["joints"] = json!([0])),
        ("numbers at", |m| m.json["accessors"][7]["count"] = json!(2)),
    ];
    for (word, change) in cases {
        let error = error_of(change);
        assert!(error.contains(word), "{word}: {error}");
    }
    // NaN in every float of the file: an error or a result, and animations with one are named.
    let good = animated();
    let mut named = 0;
    for at in (0..good.binary.len()).step_by(4) {
        let mut maker = good.clone();
        maker.binary[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        named += usize::from(maker.open().is_err_and(|e| matches!(e, Error::Malformed { .. })));
    }
    assert!(named > 30, "{named}");
}

#[test]
fn cut_short_and_flipped_is_no_panic() {
    let bytes = animated().glb();
    for end in 0..bytes.len() {
        assert!(open_bytes(&bytes[..end]).is_err(), "{end}");
    }
    let mut state = 1u64;
    for _ in 0..3000 {
        let mut bytes = bytes.clone();
        for _ in 0..1 + state % 3 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] ^= 1 << (state >> 20 & 7);
        }
        let _ = open_bytes(&bytes);
    }
}

#[test]
fn more_than_the_limits_is_refused_before_it_is_made() {
    let limit = |maker: &GlbBuilder, word: &str| match maker.open() {
        Err(Error::Limit { what, .. }) => assert!(what.contains(word), "{what}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("was read"),
    };
    // Too many joints.
    let mut maker = GlbBuilder::new();
    let joints: Vec<usize> = (0..16_385).map(|_| maker.node(None, json!({}))).collect();
    maker.skin(&joints);
    limit(&maker, "joints");
    maker.json["skins"][0]["joints"] = json!(&joints[..16_384]);
    assert_eq!(maker.open().unwrap().0.skeletons[0].joints.len(), 16_384);
    // Too many samples: two keys, years apart.
    let mut maker = GlbBuilder::new();
    let node = maker.node(None, json!({}));
    maker.channel(node, "translation", "LINEAR", &[0.0, 1e9], &[[0.0; 3], [1.0; 3]]);
    limit(&maker, "samples");
    // Zeros that take no bytes.
    let mut maker = GlbBuilder::new();
    let zeros = json!({"componentType": 5126, "type": "VEC3", "count": 100_000_000});
    let zeros = maker.push("accessors", zeros);
    maker.push("meshes", json!({"primitives": [{"attributes": {"POSITION": zeros}}]}));
    maker.node(None, json!({"mesh": 0}));
    limit(&maker, "zeros");
    // The same points many times.
    maker.json["accessors"][0]["count"] = json!(1 << 24);
    let primitive = maker.json["meshes"][0]["primitives"][0].clone();
    maker.json["meshes"][0]["primitives"] = json!(vec![primitive; 3]);
    limit(&maker, "points of one mesh");
    // Paths of deeply nested nodes.
    let mut maker = GlbBuilder::new();
    let mut parent = None;
    let name = "a long name for a node, so that all paths together are long".repeat(4);
    for _ in 0..3000 {
        parent = Some(maker.node(parent, json!({"name": name})));
    }
    limit(&maker, "paths");
}

#[test]
fn odd_animations_have_a_result() {
    // One key, zero length, a zero quaternion, alternating signs, scale through zero, far away.
    let mut maker = GlbBuilder::new();
    let node = maker.node(None, json!({"name": "a"}));
    maker.channel(node, "translation", "LINEAR", &[2.0], &[[1e5f32, -1e5, 1e5]]);
    let (scene, _) = maker.open().unwrap();
    assert_eq!((scene.clips[0].samples, scene.clips[0].start), (1, 2.0));
    maker.channel(node, "scale", "LINEAR", &[2.0, 2.0], &[[1f32, 1.0, 1.0], [-1.0, 1.0, 1.0]]);
    assert_eq!(maker.open().unwrap().0.clips[0].samples, 1);
    let keys: Vec<f32> = (0..9).map(|i| i as f32 / 24.0).collect();
    let flips: Vec<[f32; 4]> = (0..9)
        .map(|i| match i {
            4 => [0.0; 4],
            i if i % 2 == 0 => [0.0, 0.0, 0.0, -3.0],
            _ => [0.0, 0.0, 0.1, 1.0],
        })
        .collect();
    let mut maker = GlbBuilder::new();
    let node = maker.node(None, json!({"name": "a"}));
    maker.channel(node, "rotation", "LINEAR", &keys, &flips);
    let through: Vec<[f32; 3]> = (0..9).map(|i| [1.0 - i as f32 / 4.0, 1.0, 1.0]).collect();
    maker.channel(node, "scale", "LINEAR", &keys, &through);
    let (scene, remarks) = maker.open().unwrap();
    assert!(remarks.iter().any(|r| r.what.contains("all zero")), "{remarks:?}");
    let clip = &scene.clips[0];
    assert_eq!((clip.fps, clip.samples), (24.0, 9));
    for i in 0..9 {
        assert!((clip.tracks[0].transform(i).rotation.length() - 1.0).abs() < 1e-12);
    }
    assert_eq!(clip.tracks[0].transform(4).scale.x, 0.0);
    // A rate of 0 for inputs that need one.
    let options = ReadOptions { source_fps: 0.0, ..ReadOptions::default() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.glb");
    std::fs::write(&path, maker.glb()).unwrap();
    assert!(matches!(meshreel_read::open(&path, &options), Err(Error::Misuse { .. })));
}

/// Kenney's assets list a node below another one that is not part of the scene.
#[test]
fn nodes_of_a_scene_are_shown_once_and_without_parents_that_it_does_not_have() {
    let mut maker = GlbBuilder::new();
    let mesh = maker.triangle(&[]);
    let parent = maker.node(None, json!({ "name": "parent", "translation": [5, 0, 0] }));
    let child = maker.node(Some(parent), json!({ "name": "child", "mesh": mesh, "translation": [0, 1, 0] }));
    let seen = |maker: &GlbBuilder| {
        let (scene, remarks) = maker.open().unwrap();
        let placed = scene.expand().unwrap();
        let mut world = World::new(&scene, &placed).unwrap();
        world.evaluate(0.0).unwrap();
        let meshes = (0..placed.len()).filter(|&p| scene.nodes[placed[p].node].mesh.is_some());
        let places: Vec<[f64; 3]> =
            meshes.map(|p| world.matrix[p].transform_point3(glam::DVec3::ZERO).to_array()).collect();
        (places, remarks.iter().any(|r| r.to_string().contains("hang below others")))
    };
    assert_eq!(seen(&maker), (vec![[5.0, 1.0, 0.0]], false));
    maker.json["scenes"][0]["nodes"] = json!([child]);
    assert_eq!(seen(&maker), (vec![[0.0, 1.0, 0.0]], true));
    for listed in [json!([parent, child]), json!([child, parent, parent])] {
        maker.json["scenes"][0]["nodes"] = listed;
        assert_eq!(seen(&maker), (vec![[5.0, 1.0, 0.0]], true));
    }
}
