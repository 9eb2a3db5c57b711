//! Tests of transforms as clips: each joint is at its node's place in the world.

use glam::{DMat4, DQuat, DVec3};
use meshreel_read::ReadOptions;
use meshreel_scene::node_clip::clips_only;
use meshreel_scene::sample::World;
use meshreel_scene::{Channel, Error, Node, NodeKind, Remark, Scene, TimeSampling, Transform};
use std::path::Path;

fn node(name: &str, parent: Option<usize>, path: &str, matrices: Vec<DMat4>, step: f64) -> Node {
    let sampling = TimeSampling::Uniform { start: 1.0, step };
    let samples = matrices.len();
    Node {
        name: name.into(),
        parent,
        transform: Some(Transform {
            local: Channel::in_memory(sampling, matrices.into_iter().map(|m| vec![m]).collect()).into(),
            inherits: None,
        }),
        samples,
        ..Node::new(path, NodeKind::Xform)
    }
}

fn turning(n: usize, shear: bool) -> Vec<DMat4> {
    (0..n)
        .map(|i| {
            let a = i as f64 * 0.1;
            let m = DMat4::from_rotation_translation(DQuat::from_rotation_y(a), DVec3::new(a, 0.0, 1.0));
            let skew =
                DMat4::from_cols_array(&[1., 0., 0., 0., 0.5, 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.]);
            if shear { m * skew } else { m }
        })
        .collect()
}

fn scene() -> Scene {
    let still = vec![DMat4::from_translation(DVec3::X)];
    Scene {
        nodes: vec![
            node("group", None, "/group", still.clone(), 1.0),
            node("piece", Some(0), "/group/piece", turning(25, false), 1.0 / 24.0),
            node("rivet", Some(1), "/group/piece/rivet", still.clone(), 1.0),
            node("wall", Some(0), "/group/wall", still.clone(), 1.0),
            node("other", None, "/other", turning(13, false), 1.0 / 12.0),
        ],
        ..Scene::default()
    }
}

fn clips(scene: &Scene) -> (Scene, Vec<Remark>) {
    let mut remarks = Vec::new();
    let clips = clips_only(scene, &|_| true, &mut remarks).unwrap();
    (clips, remarks)
}

/// Returns the largest distance of joints in world space from the nodes of the same path.
fn max_distance(scene: &Scene, clips: &Scene) -> f64 {
    let placed = scene.expand().unwrap();
    let mut world = World::new(scene, &placed).unwrap();
    let (skeleton, clip) = (&clips.skeletons[0], &clips.clips[0]);
    let mut worst: f64 = 0.0;
    let mut pose = Vec::new();
    for i in 0..clip.samples {
        world.evaluate(clip.start + i as f64 / clip.fps).unwrap();
        clip.pose(i, &mut pose);
        let (mut paths, mut matrices): (Vec<String>, Vec<DMat4>) = Default::default();
        for (joint, local) in skeleton.joints.iter().zip(&pose) {
            let (path, matrix) = match joint.parent {
                Some(p) => (paths[p].clone(), matrices[p]),
                None => Default::default(),
            };
            paths.push(format!("{path}/{}", joint.name));
            matrices.push(matrix * DMat4::from(local.matrix()));
            let at = placed.iter().position(|p| p.path.ends_with(paths.last().unwrap())).unwrap();
            for k in 0..4 {
                worst = worst.max((world.matrix[at].col(k) - matrices.last().unwrap().col(k)).length());
            }
        }
    }
    worst
}

#[test]
fn joints_are_where_their_nodes_are() {
    let scene = scene();
    let (clips, remarks) = clips(&scene);
    assert!(remarks.is_empty(), "{remarks:?}");
    let joints: Vec<_> = clips.skeletons[0].joints.iter().map(|j| (&*j.name, j.parent)).collect();
    // A still node below a still node is no joint.
    assert_eq!(joints, [("group", None), ("piece", Some(0)), ("rivet", Some(1)), ("other", None)]);
    let clip = &clips.clips[0];
    assert_eq!((clip.fps, clip.samples, clip.start), (24.0, 25, 1.0));
    assert!(max_distance(&scene, &clips) < 1e-12);
    assert!(clips.nodes.is_empty() && clips.meshes.is_empty());
}

#[test]
fn a_part_of_the_nodes() {
    let scene = scene();
    let only = |path: &str| path.starts_with("/other");
    let clips = clips_only(&scene, &only, &mut Vec::new()).unwrap();
    assert_eq!(clips.skeletons[0].joints.len(), 1);
    let error = clips_only(&scene, &|path| path == "/group/wall", &mut Vec::new()).err().unwrap();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

#[test]
fn shear_is_left_out_and_said() {
    let mut scene = scene();
    scene.nodes[1] = node("piece", Some(0), "/group/piece", turning(25, true), 1.0 / 24.0);
    let (clips, remarks) = clips(&scene);
    assert!(remarks.iter().any(|r| r.what.contains("sheared") && r.node == "/group/piece"));
    let matrix = clips.clips[0].tracks[1].transform(3).matrix();
    assert!(matrix.x_axis.dot(matrix.y_axis).abs() < 1e-12);
    assert!((matrix.y_axis.length() - 1.25f64.sqrt()).abs() < 1e-12);
}

#[test]
fn who_ignores_its_parents_is_a_root() {
    let mut scene = scene();
    let flags = Channel::in_memory(
        TimeSampling::Uniform { start: 1.0, step: 0.5 },
        vec![vec![true], vec![false], vec![true]],
    );
    scene.nodes[2].transform.as_mut().unwrap().inherits = Some(flags);
    let (clips, _) = clips(&scene);
    assert_eq!(clips.skeletons[0].joints[2].parent, None);
    assert!(max_distance(&scene, &clips) < 1e-12);
}

#[test]
fn a_real_archive() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/n_robot_bone_parented.abc");
    let (scene, _) = meshreel_read::open(&path, &ReadOptions::default()).unwrap();
    let (clips, _) = clips(&scene);
    let clip = &clips.clips[0];
    assert!(clip.samples > 10 && clips.skeletons[0].joints.len() > 3);
    assert!(max_distance(&scene, &clips) < 1e-5);
}
