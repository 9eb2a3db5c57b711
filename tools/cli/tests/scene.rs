//! Tests of a decoded file as a scene: its tree, values, times and visibility equal the decoder's.

#[path = "../../../crates/play/tests/common/mod.rs"]
mod common;

use common::{open, sample};
use meshreel::{FrameDecoder, Reel};
use meshreel_extract::to_scene;
use meshreel_scene::{Channel, NodeKind, Scene, Scope, TimeSampling, Topology};

const FRAMES: usize = 9;

fn read<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, i: usize) -> Vec<T> {
    let mut out = Vec::new();
    channel.read(i.min(channel.len() - 1), &mut out).unwrap();
    out
}

fn sampled(change: impl Fn(&mut common::Parts)) -> (Reel, Scene) {
    let mut parts = sample(FRAMES, true).parts;
    change(&mut parts);
    let reel = open(parts.write()).unwrap();
    let scene = to_scene(&reel).unwrap();
    (reel, scene)
}

#[test]
fn the_tree_comes_back() {
    let (_, scene) = sampled(|_| {});
    let shown: Vec<(&str, NodeKind)> = (scene.nodes.iter()).map(|n| (&n.path[..], n.kind)).collect();
    let want = [
        ("/root", NodeKind::Xform),
        ("/root/cloth", NodeKind::Xform),
        ("/root/cloth/clothShape", NodeKind::PolyMesh),
        ("/root/arm", NodeKind::Xform),
        ("/root/arm/hand", NodeKind::Xform),
        ("/root/arm/hand/handShape", NodeKind::PolyMesh),
        ("/root/rock", NodeKind::PolyMesh),
        ("/root/rock2", NodeKind::PolyMesh),
        ("/water", NodeKind::PolyMesh),
    ];
    assert_eq!(shown, want);
    assert_eq!((scene.counts.xforms, scene.counts.meshes), (4, 5));
    assert_eq!(scene.expand().unwrap().len(), want.len());
    assert_eq!(scene.fps, Some(24.0));
}

#[test]
fn values_are_what_the_decoder_shows() {
    let (reel, scene) = sampled(|_| {});
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    let node = |path: &str| scene.nodes.iter().find(|n| n.path == path).unwrap();
    // Mesh by mesh, as by a writer of one object after the other.
    for (m, mesh) in scene.meshes.iter().enumerate() {
        for frame in [3, 0, 8, 4, 1] {
            decoder.decode(frame).unwrap();
            let view = decoder.mesh(m);
            let mut floats = vec![0.0; 3 * view.vertex_count()];
            view.positions_into(&mut floats).unwrap();
            assert_eq!(read(&mesh.positions, frame).as_flattened(), floats);
            view.normals_into(&mut floats).unwrap();
            let normals = mesh.normals.as_ref().unwrap();
            assert_eq!(normals.scope, Scope::Vertex);
            assert_eq!(read(&normals.values, frame).as_flattened(), floats);
            let mut floats = vec![0.0; 4 * view.vertex_count()];
            for colours in &mesh.colours {
                view.colours_into(0, &mut floats).unwrap();
                assert_eq!(read(&colours.values, frame).as_flattened(), floats);
            }
            if mesh.topology == Topology::Heterogeneous {
                let indices: Vec<i32> = view.indices().iter().map(|&i| i as i32).collect();
                assert_eq!(read(&mesh.face_indices, frame), indices);
                assert_eq!(read(&mesh.face_counts, frame), vec![3; indices.len() / 3]);
            }
            let sets = mesh.face_sets.iter().map(|s| read(&s.faces, frame).len());
            let faces = read(&mesh.face_counts, frame).len();
            assert_eq!(sets.sum::<usize>(), faces);
        }
    }
    for frame in (0..FRAMES).rev() {
        decoder.decode(frame).unwrap();
        let hand = node("/root/arm/hand");
        let matrix = read(&hand.transform.as_ref().unwrap().local, frame)[0].matrix();
        let rows = matrix.transpose().to_cols_array_2d();
        let right = decoder.transform(3).matrix();
        let off = rows.as_flattened().iter().zip(right.as_flattened()).map(|(a, b)| (a - b).abs());
        assert!(off.fold(0.0, f64::max) < 1e-12, "{rows:?} {right:?}");
        for (path, record) in [("/root/rock", 4), ("/water", 6), ("/root/arm/hand/handShape", 3)] {
            let shown = read(node(path).visibility.as_ref().unwrap(), frame);
            assert_eq!(shown, [i8::from(decoder.visible(record))], "{path} {frame}");
        }
    }
    assert_eq!(read(node("/root/rock2").visibility.as_ref().unwrap(), 0), [0]);
    assert!(node("/root/cloth/clothShape").visibility.is_none());
    let uv = &scene.meshes[0].uvs;
    assert_eq!((uv.len(), uv[0].values.len(), uv[1].values.len()), (2, 1, FRAMES));
    assert_eq!(scene.meshes[0].face_sets[1].name, "cloth2");
}

#[test]
fn polygons_come_from_the_source_map_where_it_is() {
    let (_, scene) = sampled(|_| {});
    assert_eq!(read(&scene.meshes[0].face_counts, 0), vec![4; 64]);
    assert_eq!(scene.meshes[0].topology, Topology::Homogeneous);
    assert_eq!(scene.meshes[2].topology, Topology::Constant);
    let (_, stripped) = sampled(|parts| {
        for mesh in &mut parts.description.meshes {
            mesh.source_map = Default::default();
        }
    });
    assert_eq!(read(&stripped.meshes[0].face_counts, 0), vec![3; 128]);
}

#[test]
fn times_are_uniform_where_they_are() {
    let (_, scene) = sampled(|_| {});
    let sampling = scene.meshes[0].positions.sampling();
    assert!(matches!(**sampling, TimeSampling::Uniform { step, .. } if (step - 1.0 / 24.0).abs() < 1e-12));
    let (reel, scene) = sampled(|parts| parts.frames[3].0 += 0.01);
    let sampling = scene.meshes[0].positions.sampling();
    assert!(matches!(**sampling, TimeSampling::Acyclic { .. }));
    for frame in 0..FRAMES {
        assert_eq!(sampling.time(frame), reel.time(frame));
    }
}

#[test]
fn damage_is_an_error_and_no_frames_are_no_panic() {
    let (_, scene) = sampled(|parts| parts.frames[2].2.truncate(3));
    let mut out = Vec::new();
    let error = scene.meshes[0].positions.read(2, &mut out).unwrap_err();
    assert!(error.to_string().contains("frame 2"), "{error}");
    scene.meshes[0].positions.read(0, &mut out).unwrap();

    let (_, scene) = sampled(|parts| parts.frames.clear());
    for mesh in &scene.meshes {
        let _ = (read(&mesh.positions, 0), read(&mesh.face_indices, 0));
    }
    for node in &scene.nodes {
        let _ = node.visibility.as_ref().map(|v| read(v, 0));
        let _ = node.transform.as_ref().map(|t| read(&t.local, 0));
    }
}
