//! Scenes made here are written and read back.

use super::write;
use glam::{DMat4, DVec3};
use meshreel_read::{ReadOptions, open};
use meshreel_scene::*;

/// Returns a cube and a group; the caller chooses `winding` and the order of corners.
fn scene(winding: Winding) -> Scene {
    let uniform = |n: usize| TimeSampling::Uniform { start: 1.0 / 24.0, step: 1.0 / 24.0 * n as f64 };
    let corner =
        |i: u32, grow: f32| [i & 1, i >> 1 & 1, i >> 2 & 1].map(|b| if b == 1 { 1.0 + grow } else { -1.0 });
    let positions = (0..5).map(|f| (0..8).map(|i| corner(i, f as f32 * 0.25)).collect()).collect();
    let mut faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    if winding == Winding::Clockwise {
        faces.iter_mut().for_each(|f| f.reverse());
    }
    let uvs: Vec<[f32; 2]> = (0..24).map(|i| [i as f32 / 24.0, (i % 4) as f32]).collect();
    let times: Vec<f64> = (0..5).map(|i| (i + 1) as f64 / 24.0).collect();
    let matrices = (0..5).map(|i| vec![DMat4::from_translation(DVec3::new(i as f64, 2.0, 3.0))]).collect();
    let xform = Node {
        name: "Group".into(),
        path: "/Group".into(),
        parent: None,
        kind: NodeKind::Xform,
        transform: Some(Transform {
            local: Channel::in_memory(TimeSampling::Acyclic { times }, matrices).into(),
            inherits: None,
        }),
        visibility: Some(Channel::in_memory(uniform(1), vec![vec![1], vec![1], vec![0], vec![1], vec![1]])),
        mesh: None,
        instance_of: None,
        samples: 5,
        camera: None,
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
        face_sets: vec![FaceSet { name: "red/1".into(), faces: Channel::constant(vec![0, 1, 2]) }],
        other_attributes: Vec::new(),
        is_subd: false,
        integers: Vec::new(),
        custom_attributes: Vec::new(),
        names: Vec::new(),
        skin: None,
        particles: None,
    };
    Scene {
        nodes: vec![xform, cube, copy],
        meshes: vec![mesh],
        fps: Some(24.0),
        metadata: vec![("_ai_Description".into(), "a;cube".into())],
        ..Scene::default()
    }
}

fn round_trip(scene: &Scene) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.abc");
    write(&path, scene, &mut |_, _| {}).unwrap();
    let (again, remarks) = open(&path, &ReadOptions::default()).unwrap();
    assert!(remarks.is_empty(), "{remarks:?}");
    again
}

fn values<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, i: usize) -> Vec<T> {
    let mut out = Vec::new();
    channel.read(i, &mut out).unwrap();
    out
}

fn paths(scene: &Scene) -> Vec<&str> {
    scene.nodes.iter().map(|n| n.path.as_str()).collect()
}

#[test]
fn a_file_begins_as_one_and_the_caller_hears_of_progress() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cube.abc");
    let mut calls = Vec::new();
    let scene = scene(Winding::Clockwise);
    write(&path, &scene, &mut |done, of| calls.push((done, of))).unwrap();
    assert_eq!(calls, [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]);
    assert_eq!(std::fs::read(&path).unwrap()[..8], *b"Ogawa\xff\0\x01");
}

#[test]
fn faces_and_their_corners_are_turned_to_alembics_way() {
    for winding in [Winding::Clockwise, Winding::CounterClockwise] {
        let source = scene(winding);
        let again = round_trip(&source);
        let (a, b) = (&source.meshes[0], &again.meshes[0]);
        assert_eq!(b.winding, Winding::Clockwise);
        let turned = |list: Vec<[f32; 2]>| match winding {
            Winding::Clockwise => list,
            Winding::CounterClockwise => list.chunks(4).flat_map(|f| [f[0], f[3], f[2], f[1]]).collect(),
        };
        let faces = values(&a.face_indices, 0);
        let faces: Vec<i32> = match winding {
            Winding::Clockwise => faces,
            Winding::CounterClockwise => faces.chunks(4).flat_map(|f| [f[0], f[3], f[2], f[1]]).collect(),
        };
        assert_eq!(values(&b.face_indices, 0), faces);
        assert_eq!(values(&b.uvs[0].values, 0), turned(values(&a.uvs[0].values, 0)));
        for i in 0..5 {
            assert_eq!(values(&b.positions, i), values(&a.positions, i));
        }
    }
}

#[test]
fn tree_instances_names_times_and_visibility() {
    let source = scene(Winding::Clockwise);
    let again = round_trip(&source);
    assert_eq!(paths(&again), ["/Group", "/Group/Cube", "/Copy"]);
    assert_eq!(again.nodes[2].instance_of, Some(0));
    let matrix = &again.nodes[0].transform.as_ref().unwrap().local;
    // The times were given one by one, but they are even.
    assert!(matches!(**matrix.sampling(), TimeSampling::Uniform { .. }));
    assert!((0..5).all(|i| (matrix.time(i) - (i + 1) as f64 / 24.0).abs() < 1e-12));
    assert_eq!(values(matrix, 3)[0].matrix().w_axis.x, 3.0);
    let visibility = again.nodes[0].visibility.as_ref().unwrap();
    let shown: Vec<i8> = (0..5).flat_map(|i| values(visibility, i)).collect();
    assert_eq!(shown, [1, 1, 0, 1, 1]);
    let mesh = &again.meshes[0];
    assert_eq!(mesh.uvs[0].name, "map1");
    assert_eq!(mesh.face_sets[0].name, "red_1");
    assert_eq!(values(&mesh.face_sets[0].faces, 0), [0, 1, 2]);
    assert_eq!(again.fps, Some(24.0));
    let meta = |key: &str| again.metadata.iter().find(|(k, _)| k == key).unwrap().1.clone();
    assert_eq!(meta("_ai_Description"), "a cube");
    assert!(meta("_ai_Application").starts_with("meshreel "));
}

#[test]
fn a_mesh_that_moves_itself_becomes_a_transform_and_a_shape() {
    let mut source = scene(Winding::Clockwise);
    source.nodes[1].transform = source.nodes[0].transform.clone();
    source.nodes[2].instance_of = Some(1);
    let again = round_trip(&source);
    let names = ["/Group", "/Group/Cube", "/Group/Cube/CubeShape", "/Copy"];
    assert_eq!(paths(&again), names);
    assert_eq!(again.nodes[2].kind, NodeKind::PolyMesh);
    assert_eq!(again.nodes[3].instance_of, Some(1));
}

#[test]
fn names_that_alembic_cannot_have_are_changed_and_others_kept_apart() {
    let mut source = scene(Winding::Clockwise);
    source.nodes[0].name = "a/b".into();
    source.nodes[2].name = "a_b".into();
    let mesh = &mut source.meshes[0];
    mesh.face_sets = vec![mesh.face_sets[0].clone(), mesh.face_sets[0].clone()];
    mesh.face_sets[1].faces = Channel::constant(vec![]);
    mesh.uvs = vec![mesh.uvs[0].clone(), mesh.uvs[0].clone(), mesh.uvs[0].clone()];
    let again = round_trip(&source);
    assert_eq!(paths(&again), ["/a_b", "/a_b/Cube", "/a_b_2"]);
    let mesh = &again.meshes[0];
    let names: Vec<&str> = mesh.face_sets.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["red_1", "red_1_2"]);
    assert_eq!(mesh.uvs.len(), 3);
}

#[test]
fn what_has_no_data_is_left_out_unless_something_lies_below_it() {
    let mut source = scene(Winding::Clockwise);
    source.nodes[0].kind = NodeKind::Other;
    source.nodes[0].transform = None;
    source.nodes[2].instance_of = None;
    source.nodes[2].kind = NodeKind::Camera;
    let again = round_trip(&source);
    assert_eq!(paths(&again), ["/Group", "/Group/Cube"]);
    assert!(again.nodes[0].transform.is_none());
}

/// Topology changes from sample to sample, uvs are indexed, and times are not even.
#[test]
fn faces_that_change_are_turned_by_those_of_their_time() {
    let times = TimeSampling::Acyclic { times: vec![0.0, 0.5, 2.0] };
    let at = |s: Vec<Vec<i32>>| Channel::in_memory(times.clone(), s);
    let mut source = scene(Winding::CounterClockwise);
    let mesh = &mut source.meshes[0];
    mesh.topology = Topology::Heterogeneous;
    mesh.positions = Channel::in_memory(times.clone(), vec![vec![[0.0; 3]; 4], vec![[1.0; 3]; 5], vec![]]);
    mesh.face_counts = at(vec![vec![3], vec![2, 3], vec![]]);
    mesh.face_indices = at(vec![vec![0, 1, 2], vec![0, 1, 2, 3, 4], vec![]]);
    mesh.uvs[0].values = Channel::in_memory(times.clone(), vec![vec![[0.5; 2], [0.0; 2]]; 3]);
    mesh.uvs[0].indices = Some(Channel::in_memory(times, vec![vec![0, 1, 1], vec![0, 1, 0, 1, 1], vec![]]));
    mesh.face_sets.clear();
    let again = round_trip(&source);
    let mesh = &again.meshes[0];
    assert_eq!(mesh.topology, Topology::Heterogeneous);
    assert!((0..3).all(|i| mesh.positions.time(i) == [0.0, 0.5, 2.0][i]));
    let sample = |c: &Channel<i32>| [0, 1, 2].map(|i| values(c, i));
    assert_eq!(sample(&mesh.face_indices), [vec![0, 2, 1], vec![0, 1, 2, 4, 3], vec![]]);
    let indices = mesh.uvs[0].indices.as_ref().unwrap();
    assert_eq!([0, 1, 2].map(|i| values(indices, i)), [vec![0, 1, 1], vec![0, 1, 0, 1, 1], vec![]]);
}

/// Tests counters of one, two and four bytes; runs of equal samples at both ends and inside.
#[test]
fn many_samples_and_few_that_differ() {
    for (count, change) in [(255, 254), (256, 1), (300, 0), (70_000, 1_000)] {
        let odd = |i: usize| i == change + 2 || i == 69_999;
        let sample = |i: usize| vec![[(i >= change && !odd(i)) as u8 as f32; 3]; 8];
        let mut source = scene(Winding::Clockwise);
        let sampling = TimeSampling::Uniform { start: 10.0, step: 0.01 };
        source.meshes[0].positions = Channel::in_memory(sampling, (0..count).map(sample).collect());
        let again = round_trip(&source);
        let (a, b) = (&source.meshes[0].positions, &again.meshes[0].positions);
        assert_eq!(a.len(), b.len());
        for i in (0..count).step_by(1 + count / 1000).chain(change..count.min(change + 5)) {
            assert_eq!(values(a, i), values(b, i), "{i} of {count}");
        }
    }
}

#[test]
fn empty_things() {
    let mut source = scene(Winding::CounterClockwise);
    let mesh = &mut source.meshes[0];
    mesh.positions = Channel::in_memory(TimeSampling::Acyclic { times: vec![] }, vec![]);
    mesh.face_counts = Channel::constant(vec![]);
    mesh.face_indices = Channel::constant(vec![]);
    mesh.uvs.clear();
    mesh.face_sets.clear();
    let again = round_trip(&source);
    assert!(values(&again.meshes[0].positions, 0).is_empty());
    assert!(values(&again.meshes[0].face_counts, 0).is_empty());
    assert!(round_trip(&Scene::default()).nodes.is_empty());
}

/// The source fails in the middle: the target stays unchanged, and no other file is left.
#[test]
fn a_failure_leaves_the_target_alone() {
    struct Failing;
    impl Source<[f32; 3]> for Failing {
        fn len(&self) -> usize {
            9
        }
        fn identity(&self, i: usize) -> Identity {
            i as Identity
        }
        fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
            *out = vec![[i as f32; 3]; 8];
            if i < 5 { Ok(()) } else { Err(Error::misuse("gone")) }
        }
    }
    let mut source = scene(Winding::Clockwise);
    let sampling = TimeSampling::Uniform { start: 0.0, step: 1.0 };
    source.meshes[0].positions = Channel::new(sampling.into(), std::sync::Arc::new(Failing));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cube.abc");
    std::fs::write(&path, "old").unwrap();
    assert!(write(&path, &source, &mut |_, _| {}).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
