//! Scenes made here, written and read again.

use super::write;
use crate::*;
use glam::{DMat4, DVec3};

/// A cube and a group; `winding` and the order of corners are the caller's.
fn scene(winding: Winding) -> Scene {
    let uniform = |n: usize| TimeSampling::Uniform {
        start: 1.0 / 24.0,
        step: 1.0 / 24.0 * n as f64,
    };
    let corner = |i: u32, grow: f32| {
        [i & 1, i >> 1 & 1, i >> 2 & 1].map(|b| if b == 1 { 1.0 + grow } else { -1.0 })
    };
    let positions = (0..5)
        .map(|f| (0..8).map(|i| corner(i, f as f32 * 0.25)).collect())
        .collect();
    let mut faces = vec![
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    if winding == Winding::Clockwise {
        faces.iter_mut().for_each(|f| f.reverse());
    }
    let uvs: Vec<[f32; 2]> = (0..24).map(|i| [i as f32 / 24.0, (i % 4) as f32]).collect();
    let times: Vec<f64> = (0..5).map(|i| (i + 1) as f64 / 24.0).collect();
    let matrices = (0..5)
        .map(|i| vec![DMat4::from_translation(DVec3::new(i as f64, 2.0, 3.0))])
        .collect();
    let xform = Node {
        name: "Group".into(),
        path: "/Group".into(),
        parent: None,
        kind: NodeKind::Xform,
        transform: Some(Transform {
            matrix: Channel::in_memory(TimeSampling::Acyclic { times }, matrices),
            inherits: None,
        }),
        visibility: Some(Channel::in_memory(
            uniform(1),
            vec![vec![1], vec![1], vec![0], vec![1], vec![1]],
        )),
        mesh: None,
        instance_of: None,
        samples: 5,
        user_properties: Vec::new(),
    };
    let cube = Node {
        name: "Cube".into(),
        path: "/Group/Cube".into(),
        parent: Some(0),
        kind: NodeKind::PolyMesh,
        transform: None,
        visibility: None,
        mesh: Some(0),
        ..xform.clone()
    };
    let copy = Node {
        name: "Copy".into(),
        path: "/Copy".into(),
        parent: None,
        transform: None,
        visibility: None,
        instance_of: Some(0),
        ..xform.clone()
    };
    let mesh = Mesh {
        path: "/Group/Cube".into(),
        positions: Channel::in_memory(uniform(1), positions),
        face_counts: Channel::constant(vec![4; 6]),
        face_indices: Channel::constant(faces.concat()),
        winding,
        topology: Topology::Homogeneous,
        normals: None,
        uvs: vec![Attribute {
            name: "map1".into(),
            scope: Scope::FaceVarying,
            values: Channel::constant(uvs),
            indices: None,
        }],
        colours: Vec::new(),
        velocities: None,
        face_sets: vec![FaceSet {
            name: "red/1".into(),
            faces: Channel::constant(vec![0, 1, 2]),
        }],
        other_attributes: Vec::new(),
        is_subd: false,
    };
    Scene {
        nodes: vec![xform, cube, copy],
        meshes: vec![mesh],
        fps: Some(24.0),
        metadata: vec![("_ai_Description".into(), "a;cube".into())],
        ..Scene::default()
    }
}

#[test]
fn writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cube.abc");
    let mut calls = Vec::new();
    write(&path, &scene(Winding::CounterClockwise), &mut |done, of| {
        calls.push((done, of))
    })
    .unwrap();
    assert_eq!(calls, [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]);
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes[..8], *b"Ogawa\xff\0\x01");
    if let Some(keep) = std::env::var_os("KEEP") {
        std::fs::copy(&path, keep).unwrap();
    }
}
