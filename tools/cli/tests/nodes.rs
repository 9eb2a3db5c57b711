//! Tests of moving nodes as a clip: size, precision, and equal frames in any order.

use glam::{DMat4, DQuat, DVec3};
use meshreel::raw::record::Semantic;
use meshreel::{FrameDecoder, Reel};
use meshreel_check::verify;
use meshreel_compile::{Silent, compile};
use meshreel_options::{Options, Preset, Tolerance};
use meshreel_scene::sample::ChannelSelection;
use meshreel_scene::{Attribute, Channel, Mesh, Node, NodeKind, Scene, Scope, TimeSampling, Transform};
use meshreel_testkit::{compiled, corpus_if_thorough, opened};
use std::process::Command;
use std::sync::Arc;

const FRAMES: usize = 71;

/// A scene that is built node by node.
#[derive(Default)]
struct World(Scene);

impl World {
    fn add(&mut self, parent: Option<usize>, matrices: Vec<DMat4>, cube: Option<f32>) -> usize {
        let id = self.0.nodes.len();
        let times = TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 };
        let above = parent.map_or(String::new(), |p| self.0.nodes[p].path.clone());
        let path = format!("{above}/n{id}");
        let samples = matrices.into_iter().map(|m| vec![m]).collect();
        self.0.nodes.push(Node {
            name: format!("n{id}"),
            parent,
            transform: Some(Transform { local: Channel::in_memory(times, samples).into(), inherits: None }),
            mesh: cube.map(|_| self.0.meshes.len()),
            ..Node::new(path.clone(), if cube.is_some() { NodeKind::PolyMesh } else { NodeKind::Xform })
        });
        if let Some(size) = cube {
            self.0.meshes.push(block(path, size, id));
        }
        id
    }

    fn hide(&mut self, node: usize, hidden: impl Fn(usize) -> bool) {
        let times = TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 };
        let samples = (0..FRAMES).map(|f| vec![if hidden(f) { 0 } else { -1 }]).collect();
        self.0.nodes[node].visibility = Some(Channel::in_memory(times, samples));
    }
}

/// Returns a box that is far from its origin.
fn block(path: String, size: f32, id: usize) -> Mesh {
    let at = id as f32;
    let points = (0..8)
        .map(|i| [0, 1, 2].map(|k| at + if i >> k & 1 == 1 { size } else { -size * (1 + k) as f32 }))
        .collect();
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    Mesh::new(
        path,
        Channel::constant(points),
        Channel::constant(vec![4; 6]),
        Channel::constant(faces.as_flattened().to_vec()),
    )
}

/// Returns matrices that fall, rotate and come to rest; `seed` varies them.
fn fall(seed: usize) -> Vec<DMat4> {
    let s = seed as f64;
    (0..FRAMES)
        .map(|f| {
            let t = (f as f64 - 10.0 - s % 7.0).clamp(0.0, 30.0) / 24.0;
            let axis = DVec3::new((s * 1.7).sin(), (s * 2.3).cos(), 0.3).normalize();
            let at = DVec3::new(s, 3.0 * t, -4.9 * t * t + 0.2 * (9.0 * t).sin());
            DMat4::from_rotation_translation(DQuat::from_axis_angle(axis, (2.0 + s % 3.0) * t), at)
        })
        .collect()
}

/// Returns nodes with every kind of transform.
fn zoo() -> Scene {
    let mut world = World::default();
    for seed in 0..12 {
        let id = world.add(None, fall(seed), Some(0.5 + seed as f32 * 0.1));
        if seed % 4 == 1 {
            world.hide(id, |f| (20..35).contains(&f) || f > 60);
        }
    }
    // A tree: a moving node with children that move, stand still, and have children.
    let trunk = world.add(None, fall(3), Some(2.0));
    let branch = world.add(Some(trunk), fall(5), None);
    world.add(Some(branch), vec![DMat4::from_translation(DVec3::X * 3.0)], Some(0.3));
    world.add(Some(branch), vec![DMat4::from_rotation_z(1.0)], Some(0.2));
    let twig = world.add(Some(branch), fall(8), Some(0.4));
    world.add(Some(twig), fall(2), Some(0.1));
    // A stretch above a rotation.
    let stretch = DMat4::from_scale(DVec3::new(1.0, 3.0, 0.5));
    let wide = world.add(None, fall(4).iter().map(|m| *m * stretch).collect(), Some(1.0));
    world.add(Some(wide), vec![DMat4::from_rotation_y(0.4)], Some(0.5));
    // Spinning, and tumbling; growing from nothing and vanishing; mirrored.
    let spin = |f: usize| DMat4::from_rotation_x(2.9 * f as f64);
    world.add(None, (0..FRAMES).map(spin).collect(), Some(1.0));
    let size = |f: usize| {
        if (5..50).contains(&f) { (f as f64 * 0.1).sin().abs() + 0.2 } else { 0.0 }
    };
    world.add(None, (0..FRAMES).map(|f| DMat4::from_scale(DVec3::splat(size(f)))).collect(), Some(1.0));
    let flip = DMat4::from_scale(DVec3::new(-1.0, 1.0, 2.0));
    world.add(None, fall(6).iter().map(|m| *m * flip).collect(), Some(1.0));
    // Only sliding; only jumping.
    let slide = |f: usize| DMat4::from_translation(DVec3::new(0.1 * f as f64, 0.0, 0.0));
    world.add(None, (0..FRAMES).map(slide).collect(), Some(1.0));
    let jump = |f: usize| DMat4::from_translation(DVec3::Y * if f == 33 { 1e5 } else { 0.0 });
    world.add(None, (0..FRAMES).map(jump).collect(), Some(1.0));
    world.0
}

fn options(preset: Preset, tolerance: Tolerance) -> Options {
    Options { preset, tolerance, ..Options::default() }
}

#[test]
fn transforms_of_all_kinds_keep_the_promise() {
    let scene = zoo();
    for tolerance in [Tolerance::Absolute(0.01), Tolerance::Absolute(1e-4), Tolerance::Relative(1e-4)] {
        for preset in [Preset::Small, Preset::Fast] {
            let (bytes, report) = compiled(&scene, &options(preset, tolerance));
            let reel = opened(bytes);
            assert!(!reel.description().node_setup.is_empty(), "they are coded");
            let found = verify(&scene, &reel, &|_, _| ()).unwrap();
            assert!(found.ok, "{tolerance:?} {preset:?}: {:#?}", found.failures);
            let nodes = report.clips.iter().find(|clip| clip.name == "nodes").unwrap();
            assert_eq!(nodes.samples, FRAMES);
            let seen = reel.moving_nodes().unwrap().unwrap();
            assert_eq!(seen.count, nodes.joints);
        }
    }
}

#[test]
fn what_is_scaled_to_nothing_is_exactly_nothing() {
    let (bytes, _) = compiled(&zoo(), &options(Preset::Small, Tolerance::Absolute(0.01)));
    let reel = opened(bytes);
    let nodes = &reel.description().nodes;
    let node = nodes.iter().position(|n| n.path.ends_with("/n21")).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    for frame in 0..FRAMES {
        decoder.decode(frame).unwrap();
        let there = (5..50).contains(&frame);
        assert_eq!(decoder.transform(node).scale != [0.0; 3], there, "{frame}");
    }
}

#[test]
fn any_order_gives_the_same_transforms() {
    let (bytes, _) = compiled(&zoo(), &options(Preset::Small, Tolerance::Absolute(0.01)));
    let reel = opened(bytes);
    let count = reel.description().nodes.len();
    let shown = |decoder: &FrameDecoder| -> Vec<u32> {
        let of = |n: usize| {
            let t = decoder.transform(n);
            t.rotation.into_iter().chain(t.translation).chain(t.scale)
        };
        (0..count).flat_map(of).map(f32::to_bits).collect()
    };
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    let mut forward = Vec::new();
    for frame in 0..FRAMES {
        decoder.decode(frame).unwrap();
        forward.push(shown(&decoder));
    }
    for step in [FRAMES - 1, 7, 31, 53] {
        for i in 0..FRAMES {
            let frame = i * step % FRAMES;
            decoder.decode(frame).unwrap();
            assert_eq!(shown(&decoder), forward[frame], "{step}: {frame}");
        }
    }
}

#[test]
fn the_bytes_do_not_depend_on_threads() {
    let of = |jobs: usize| {
        let options = Options { jobs, ..options(Preset::Small, Tolerance::Absolute(0.01)) };
        compiled(&zoo(), &options).0
    };
    assert!(of(1) == of(3));
}

#[test]
fn classic_files_keep_transforms_as_they_are() {
    let (bytes, report) = compiled(&zoo(), &options(Preset::Classic, Tolerance::Absolute(0.01)));
    let reel = opened(bytes);
    assert!(reel.description().node_setup.is_empty() && report.clips.is_empty());
    assert_eq!(reel.moving_nodes().unwrap(), None);
    assert!(verify(&zoo(), &reel, &|_, _| ()).unwrap().ok);
}

#[test]
fn pieces_of_a_wall_are_at_least_eight_times_smaller_than_floats() {
    let Some(corpus) = corpus_if_thorough() else { return };
    let file = corpus.join("alembic/gen/b_wall_fracture_xform.abc");
    let (scene, _) = meshreel_read::open(&file, &meshreel_read::ReadOptions::default()).unwrap();
    // A ten-thousandth of the diagonal of the whole scene, which is 42.63.
    let (bytes, report) = compiled(&scene, &options(Preset::Small, Tolerance::Absolute(0.004_26)));
    let reel = opened(bytes);
    let bounds = reel.reader().header().bounds;
    let side = |k: usize| f64::from(bounds[k + 3] - bounds[k]);
    let diagonal = (0..3).map(|k| side(k).powi(2)).sum::<f64>().sqrt();
    assert!((diagonal * 1e-4 - 0.004_26).abs() < 1e-4, "{diagonal}");
    let nodes = report.clips.iter().find(|clip| clip.name == "nodes").unwrap();
    let ratio = (40 * nodes.joints * nodes.samples) as f64 / nodes.bytes as f64;
    println!("{} nodes, {} frames: {} bytes, {ratio:.2}:1", nodes.joints, nodes.samples, nodes.bytes);
    assert!(nodes.joints > 300 && ratio >= 8.0, "{ratio}");
    let found = verify(&scene, &reel, &|_, _| ()).unwrap();
    assert!(found.ok, "{:#?}", found.failures);
}

/// Compiles, verifies, plays every frame as a game would and compares the display; returns the compiled file.
fn through_everything(scene: &Scene, options: &Options) -> Reel {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.reel");
    compile(scene.clone(), Vec::new(), &path, options, &meshreel_check::reopen, &Silent).unwrap();
    let reel = opened(std::fs::read(&path).unwrap());
    let found = verify(scene, &reel, &|_, _| ()).unwrap();
    assert!(found.ok, "{:#?}", found.failures);
    let played = Command::new(env!("CARGO_BIN_EXE_meshreel"))
        .args(["play", "a.reel", "--rate", "4", "--check", "--json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(played.status.success(), "{played:?}");
    reel
}

/// Returns the frames in which each node is visible.
fn lives(reel: &Reel) -> Vec<Vec<usize>> {
    let mut decoder = FrameDecoder::new(reel).unwrap();
    let nodes = reel.description().nodes.len();
    let mut out = vec![Vec::new(); nodes];
    for frame in 0..reel.frame_count() {
        decoder.decode(frame).unwrap();
        for (node, out) in out.iter_mut().enumerate() {
            if decoder.visible(node) {
                out.push(frame);
            }
        }
    }
    out
}

/// Tests eight pieces that are alive by `alive`, with parts and bones allowed and without.
fn parts_exist_when(alive: impl Fn(usize, usize) -> bool) {
    let mut world = World::default();
    for seed in 0..8 {
        let id = world.add(None, fall(seed), Some(0.5));
        world.hide(id, |f| !alive(seed, f));
    }
    for preset in [Preset::Small, Preset::Fast, Preset::Classic] {
        let wanted = options(preset, Tolerance::Absolute(0.01));
        let reel = through_everything(&world.0, &wanted);
        let lives = lives(&reel);
        for (seed, node) in reel.description().nodes.iter().enumerate() {
            let number: usize = node.path.trim_start_matches("/n").parse().unwrap();
            let wanted: Vec<usize> = (0..FRAMES).filter(|&f| alive(number, f)).collect();
            assert_eq!(lives[seed], wanted, "{} {preset:?}", node.path);
        }
    }
}

#[test]
fn f05_deleted_and_created_in_order() {
    parts_exist_when(|piece, f| (5 * piece..5 * piece + 20).contains(&f));
}

#[test]
fn f05_deleted_and_created_out_of_order() {
    parts_exist_when(|piece, f| {
        let first = 7 * (5 * piece % 8);
        (first..first + 11 + piece).contains(&f)
    });
}

#[test]
fn f05_created_deleted_created_deleted() {
    parts_exist_when(|piece, f| (10..20).contains(&((f + piece) % 25)) || f == piece);
}

#[test]
fn f05_different_frame_rates() {
    let mut world = World::default();
    for (seed, rate) in [24.0, 30.0, 12.0, 29.97].into_iter().enumerate() {
        let id = world.add(None, fall(seed), Some(0.5));
        let transform = world.0.nodes[id].transform.as_mut().unwrap();
        let times = TimeSampling::Uniform { start: 0.0, step: 1.0 / rate };
        transform.local = transform.local.with_sampling(Arc::new(times));
    }
    let reel = through_everything(&world.0, &options(Preset::Small, Tolerance::Absolute(0.01)));
    // All times of changes, each once: those of 12 are also times of 24.
    assert!(reel.frame_count() > 2 * FRAMES, "{}", reel.frame_count());
}

#[test]
fn f05_no_geometry() {
    let mut world = World::default();
    let root = world.add(None, fall(1), None);
    world.add(Some(root), fall(2), None);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.reel");
    let wanted = options(Preset::Small, Tolerance::Absolute(0.01));
    let nothing = meshreel_scene::Scene::default();
    let failed = compile(nothing.clone(), Vec::new(), &path, &wanted, &meshreel_check::reopen, &Silent);
    assert!(failed.unwrap_err().to_string().contains("no mesh"));
    assert!(!path.exists());
    // Transforms alone become locators, or a clip, if requested.
    let report =
        compile(world.0.clone(), Vec::new(), &path, &wanted, &meshreel_check::reopen, &Silent).unwrap();
    assert!(report.meshes.is_empty());
    let wanted = Options { clips_only: true, ..wanted };
    let report =
        compile(world.0.clone(), Vec::new(), &path, &wanted, &meshreel_check::reopen, &Silent).unwrap();
    assert_eq!((report.clips.len(), report.clips[0].joints), (1, 2));
    // A mesh without points or faces is no geometry either, but no error beside another.
    world.add(None, fall(3), Some(1.0));
    add_empty(&mut world);
    through_everything(&world.0, &options(Preset::Small, Tolerance::Absolute(0.01)));
}

/// Adds an empty mesh that moves like the last node.
fn add_empty(world: &mut World) {
    let mut empty = block("/empty".into(), 1.0, 9);
    empty.positions = Channel::constant(Vec::new());
    empty.face_counts = Channel::constant(Vec::new());
    empty.face_indices = Channel::constant(Vec::new());
    let last = world.0.nodes.last().unwrap().clone();
    let mesh = Some(world.0.meshes.len());
    world.0.nodes.push(Node { mesh, path: "/empty".into(), name: "empty".into(), ..last });
    world.0.meshes.push(empty);
}

#[test]
fn an_empty_mesh_asks_for_no_precision() {
    let mut world = World::default();
    for seed in 0..20 {
        world.add(None, fall(seed), Some(0.5));
    }
    let wanted = options(Preset::Small, Tolerance::Relative(0.01));
    let bytes = |scene: &Scene| {
        through_everything(scene, &wanted);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.reel");
        compile(scene.clone(), Vec::new(), &path, &wanted, &meshreel_check::reopen, &Silent)
            .unwrap()
            .file_bytes
    };
    let without = bytes(&world.0);
    add_empty(&mut world);
    let with = bytes(&world.0);
    assert!(with < without * 6 / 5, "{with} instead of {without} bytes");
}

#[test]
fn f05_no_transforms() {
    let mut world = World::default();
    for seed in 0..3 {
        let id = world.add(None, vec![DMat4::IDENTITY], Some(0.5));
        world.0.nodes[id].transform = None;
        if seed == 1 {
            world.hide(id, |f| f % 9 < 4);
        }
    }
    let reel = through_everything(&world.0, &options(Preset::Small, Tolerance::Absolute(0.01)));
    assert!(reel.moving_nodes().unwrap().is_none());
}

#[test]
fn f05_with_and_without_attributes() {
    let mut world = World::default();
    for seed in 0..4 {
        world.add(None, fall(seed), Some(0.5));
    }
    let attribute = |scope, count: usize| Attribute {
        name: "st".into(),
        scope,
        values: Channel::constant((0..count).map(|i| [i as f32 / 24.0, 0.5]).collect()),
        indices: None,
    };
    let meshes = &mut world.0.meshes;
    meshes[0].uvs = vec![attribute(Scope::FaceVarying, 24)];
    meshes[1].uvs = vec![attribute(Scope::Vertex, 8), attribute(Scope::Uniform, 6)];
    meshes[2].colours = vec![Attribute {
        name: "Cd".into(),
        scope: Scope::Constant,
        values: Channel::constant(vec![[0.2, 0.4, 0.6, 1.0]]),
        indices: None,
    }];
    let wanted = options(Preset::Small, Tolerance::Absolute(0.01));
    let reel = through_everything(&world.0, &wanted);
    let uvs = |mesh: &meshreel::raw::record::MeshRecord| {
        let of = |s: &&meshreel::raw::record::StreamRecord| s.semantic == Semantic::Uv;
        mesh.streams.iter().filter(of).count()
    };
    let mut all: Vec<usize> = reel.description().meshes.iter().map(uvs).collect();
    all.sort_unstable();
    assert_eq!(all, [0, 0, 1, 2]);
    // And without any of it, if requested.
    let bare = Options {
        channels: ChannelSelection { normals: false, uvs: false, colours: false, attributes: false },
        ..wanted
    };
    let reel = through_everything(&world.0, &bare);
    assert!(reel.description().meshes.iter().all(|m| m.streams.len() == 1));
}

#[test]
fn transforms_alone_are_locators_or_a_clip() {
    let mut world = World::default();
    let way = (0..5).map(|i| DMat4::from_translation(DVec3::X * f64::from(i)));
    world.add(None, way.collect(), None);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.reel");
    let of = |options: &Options| {
        let inspect = &meshreel_check::reopen;
        compile(world.0.clone(), Vec::new(), &path, options, inspect, &Silent)
    };
    let locators = of(&Options::default()).unwrap();
    assert!(locators.meshes.is_empty());
    let reel = meshreel::Reel::open(&path, &meshreel::Limits::default()).unwrap();
    assert_eq!((reel.frame_count(), reel.description().nodes.len()), (5, 1));
    assert!(meshreel_check::verify(&world.0, &reel, &|_, _| ()).unwrap().ok);
    let clips_only = true;
    let kept = of(&Options { clips_only, ..Options::default() }).unwrap();
    assert_eq!(kept.clips.len(), 1);
}
