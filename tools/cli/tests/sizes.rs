//! Tests of content for which careless code takes quadratic time, and of content that cancels out: compiled
//! files verify. These tests measure no time; with quadratic work they would not end.

use crate::cli::common::run;
use glam::DMat4;
use meshreel::{Limits, Reel};
use meshreel_check::{Report, reopen, verify};
use meshreel_compile::{Silent, compile};
use meshreel_options::{MethodChoice, Options, Preset, Tolerance};
use meshreel_scene::{Channel, Mesh, Node, NodeKind, Scene, TimeSampling, Transform};
use meshreel_testkit::{bundled, compiled, corpus_if_thorough, verified};

/// Returns a scene of one mesh, which moves if there are several samples of points.
fn scene(mut samples: Vec<Vec<[f32; 3]>>, faces: &[Vec<i32>]) -> Scene {
    let times = TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 };
    let mesh = Mesh::new(
        "/mesh",
        match samples.len() {
            1 => Channel::constant(samples.remove(0)),
            _ => Channel::in_memory(times, samples),
        },
        Channel::constant(faces.iter().map(|f| f.len() as i32).collect()),
        Channel::constant(faces.concat()),
    );
    let node = Node { mesh: Some(0), ..Node::new("/mesh", NodeKind::PolyMesh) };
    Scene { nodes: vec![node], meshes: vec![mesh], ..Scene::default() }
}

/// Compiles and verifies; returns the report, the number of triangles, and remarks.
fn held(scene: &Scene, options: &Options) -> (Report, usize, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.reel");
    let compiled = compile(scene.clone(), Vec::new(), &path, options, &reopen, &Silent).unwrap();
    let reel = Reel::open(&path, &Limits::default()).unwrap();
    let report = verify(scene, &reel, &|_, _| ()).unwrap();
    assert!(report.ok, "{options:?}: {:#?}", report.failures);
    let triangles = reel.indices(0).unwrap().len() / 3;
    let remarks = compiled.remarks.iter().map(ToString::to_string).collect();
    (report, triangles, remarks)
}

fn presets() -> impl Iterator<Item = Options> {
    [Preset::Small, Preset::Fast, Preset::Classic]
        .into_iter()
        .flat_map(|preset| [false, true].map(|strip| (preset, strip)))
        .map(|(preset, strip)| Options { preset, strip, ..Options::default() })
}

fn disc(corners: i32) -> Vec<[f32; 3]> {
    let point = |i: i32| {
        let (y, x) = (f64::from(i) / f64::from(corners) * std::f64::consts::TAU).sin_cos();
        [x as f32, y as f32, 0.0]
    };
    (0..corners).map(point).collect()
}

#[test]
fn leaf_cards_hold_and_have_two_sides() {
    // Cards with front and back on the same points, one of them folded, swaying; at the usual size and as
    // small as 1e-6.
    for size in [1.0, 1e-6] {
        let mut samples = Vec::new();
        for frame in 0..40 {
            let sway = (frame as f32 * 0.2).sin() * 0.3;
            let mut points = Vec::new();
            for card in 0..3 {
                for corner in 0..6 {
                    let (x, y) = ((corner % 3) as f32, (corner / 3) as f32);
                    let bend = card as f32 * 0.2 * (x - 1.0).abs();
                    points.push([x + card as f32 * 5.0, y, sway * y + bend].map(|v| v * size));
                }
            }
            samples.push(points);
        }
        let mut faces = Vec::new();
        for first in [0, 6, 12] {
            for quad in [[0, 1, 4, 3], [1, 2, 5, 4]] {
                faces.push(quad.map(|p| p + first).to_vec());
                faces.push(quad.iter().rev().map(|p| p + first).collect());
            }
        }
        let scene = scene(samples, &faces);
        for options in presets() {
            let (report, triangles, _) = held(&scene, &options);
            assert_eq!((triangles, report.meshes[0].vertices), (24, 36));
        }
    }
}

#[test]
fn what_cancels_and_what_has_no_extent_holds() {
    // A sheet folded flat on itself with points of its own; a box as small as f32 can resolve at 1e14; one
    // point, with a tolerance below the precision of f32.
    let fold = vec![
        [0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.3, 0.9, 0.1],
        [0.3, 0.1, 0.1],
        [0.3, 0.9, 0.1],
        [0.3, 0.1, 0.1],
    ];
    let fold = scene(vec![fold], &[vec![0, 1, 2, 3], vec![1, 0, 5, 4]]);
    let corner = |i: i32, k: i32| 1e14 + 1e8 * (i >> k & 1) as f32;
    let cube: Vec<[f32; 3]> = (0..8).map(|i| [0, 1, 2].map(|k| corner(i, k))).collect();
    let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let far = scene(vec![cube], &sides.map(|s| s.to_vec()));
    let point = scene(vec![vec![[1e-30, 0.0, 0.0]]], &[]);
    let mut flat = scene(vec![disc(12)], &[(0..12).collect()]);
    // A mesh flattened by a transform has only perpendicular normals.
    flat.nodes[0].transform = Some(Transform {
        local: Channel::constant(vec![DMat4::from_cols_array(&[
            1.0, 0.5, 0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0,
        ])])
        .into(),
        inherits: None,
    });
    for scene in [&fold, &far, &point, &flat] {
        for options in presets() {
            held(scene, &options);
            let tolerance = Tolerance::Absolute(1e-42);
            held(scene, &Options { tolerance, ..options });
        }
    }
}

#[test]
fn repeated_triangles_are_left_out_with_a_remark() {
    let mut faces = vec![vec![0, 1, 2]; 200_000];
    // The reverse side is no repetition.
    faces.push(vec![2, 1, 0]);
    let points = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let scene = scene(vec![points], &faces);
    for options in presets() {
        let (_, triangles, remarks) = held(&scene, &options);
        assert_eq!(triangles, 2);
        assert!(remarks.iter().any(|r| r.contains("199999 that repeat earlier ones")), "{remarks:?}");
    }
}

#[test]
fn a_polygon_and_a_fan_of_two_hundred_thousand_hold() {
    let count = 200_000;
    let polygon = scene(vec![disc(count)], &[(0..count).collect()]);
    let (_, triangles, _) = held(&polygon, &Options::default());
    assert_eq!(triangles, count as usize - 2);
    let mut points = disc(count);
    points.push([0.0, 0.0, 1.0]);
    let faces: Vec<Vec<i32>> = (0..count).map(|i| vec![count, i, (i + 1) % count]).collect();
    let fan = scene(vec![points], &faces);
    for (lod, strip) in [(2, false), (0, true)] {
        let options = Options { lod, strip, ..Options::default() };
        let (_, triangles, _) = held(&fan, &options);
        assert_eq!(triangles, count as usize);
    }
}

/// Returns tumbling boxes, each on its own path, in one mesh.
fn tumbling(boxes: usize, frames: usize) -> Scene {
    let samples = (0..frames).map(|frame| {
        let of_box = |b: usize| {
            let (time, way) = (frame as f32 * 0.05, b as f32);
            let (y, x) = (time * (1.0 + way % 3.0)).sin_cos();
            (0..8).map(move |corner| {
                let side = |k: usize| (corner >> k & 1) as f32 - 0.5;
                let turned = [x * side(0) - y * side(1), y * side(0) + x * side(1), side(2)];
                let middle = [3.0 * (way % 5.0), time * (way - 8.0), (time * 2.0 + way).sin()];
                std::array::from_fn(|k| turned[k] + middle[k])
            })
        };
        (0..boxes).flat_map(of_box).collect()
    });
    let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let faces: Vec<Vec<i32>> = (0..boxes as i32)
        .flat_map(|b| sides.map(|side| side.map(|corner| 8 * b + corner).to_vec()))
        .collect();
    scene(samples.collect(), &faces)
}

/// Returns a tube that bends at two joints, with blended weights.
fn bending(frames: usize) -> Scene {
    let samples = (0..frames).map(|frame| {
        let time = frame as f32 * 0.07;
        let bends = [0.0, 0.9 * time.sin(), 0.7 * (1.3 * time + 1.0).sin()];
        let at = |p: [f32; 3], joint: usize| {
            // Along x; a joint rotates everything beyond it.
            (1..=joint).rev().fold(p, |[x, y, z], k| {
                let (s, c) = bends[k].sin_cos();
                let from = 4.0 * k as f32;
                [from + c * (x - from) - s * y, s * (x - from) + c * y, z]
            })
        };
        let ring = |r: usize| {
            (0..8).map(move |k| {
                let (y, z) = (k as f32 * std::f32::consts::FRAC_PI_4).sin_cos();
                let x = r as f32 * 0.4;
                let along = (x / 4.0 - 0.5 + 0.1 * y).clamp(0.0, 2.0);
                let (bone, part) = (along as usize, along.fract());
                let (a, b) = (at([x, y, z], bone), at([x, y, z], (bone + 1).min(2)));
                std::array::from_fn(|k| a[k] * (1.0 - part) + b[k] * part)
            })
        };
        (0..30).flat_map(ring).collect()
    });
    let faces: Vec<Vec<i32>> = (0..29)
        .flat_map(|r| (0..8).map(move |k| [(r, k), (r, (k + 1) % 8), (r + 1, (k + 1) % 8), (r + 1, k)]))
        .map(|quad| quad.map(|(r, k)| 8 * r + k).to_vec())
        .collect();
    scene(samples.collect(), &faces)
}

#[test]
fn e06_parts_and_bones_are_found_in_little_memory() {
    let size = |scene: &Scene, options: &Options| {
        let (_, report) = verified(scene, options);
        let remarks: Vec<String> = report.remarks.iter().map(ToString::to_string).collect();
        (report.file_bytes, report.meshes[0].method.clone(), remarks)
    };
    // Points × frames × 12 bytes far exceed the memory limit.
    for (scene, raw) in [(tumbling(24, 130), 24 * 8 * 130 * 12), (bending(130), 240 * 130 * 12)] {
        for preset in [Preset::Small, Preset::Fast] {
            let with = |memory: u64| Options { preset, memory, ..Options::default() };
            let (large, in_large, _) = size(&scene, &with(512 << 20));
            let (little, in_little, remarks) = size(&scene, &with(raw / 2));
            // The small preset uses bones; the fast one may leave them out.
            assert!(preset == Preset::Fast || in_large != "soft" && in_little != "soft");
            assert!(little as f64 <= large as f64 * 1.1, "{preset:?}: {large} {little}");
            assert!(remarks.is_empty(), "{remarks:?}");
            // Not even a sample fits.
            let (_, soft, remarks) = size(&scene, &with(raw / 10));
            assert_eq!(soft, "soft");
            assert!(remarks.iter().any(|r| r.contains("ask for --memory")), "{remarks:?}");
        }
    }
    let asked = Options { method: MethodChoice::Rigid, memory: 1 << 20, ..Options::default() };
    assert_eq!(size(&tumbling(24, 40), &asked).1, "rigid");
}

#[test]
fn a_gltf_of_very_many_primitives_takes_little_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let own = |name: &str| folder.path().join(name);
    let count = 50_000;
    // One triangle, shared by all.
    let mut bytes = Vec::new();
    for v in [0.0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0] {
        bytes.extend(v.to_le_bytes());
    }
    std::fs::write(own("points.bin"), &bytes).unwrap();
    let primitives = vec![r#"{"attributes":{"POSITION":0}}"#; count].join(",");
    let text = format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],"nodes":[{{"mesh":0}}],
        "meshes":[{{"primitives":[{primitives}]}}],"buffers":[{{"uri":"points.bin","byteLength":36}}],
        "bufferViews":[{{"buffer":0,"byteLength":36}}],
        "accessors":[{{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}}]}}"#
    );
    std::fs::write(own("many.gltf"), text).unwrap();
    let (input, output) = (own("many.gltf"), own("many.reel"));
    let [input, output] = [&input, &output].map(|p| p.to_str().unwrap());
    let made = run(["compile", input, "-o", output, "--json"]).expect(0).json();
    assert_eq!(made["meshes"][0]["vertices"], 3 * count);
    if let Some(peak) = made["peak_anon_bytes"].as_u64() {
        assert!(peak < (64 << 20) + 3000 * count as u64, "{peak} bytes");
    }
    run(["verify", input, output]).expect(0);
}

#[test]
fn very_many_objects_go_to_obj_and_keep_names_of_their_own() {
    let count = 30_000;
    let one = scene(vec![disc(3)], &[vec![0, 1, 2]]);
    let nodes = (0..count).map(|i| Node {
        // All but the first few have the same name in the file.
        path: format!("/group{}/mesh", i / 10).replace("group0", "group_0"),
        mesh: Some(i),
        ..one.nodes[0].clone()
    });
    let scene =
        Scene { nodes: nodes.collect(), meshes: vec![one.meshes[0].clone(); count], ..Scene::default() };
    let folder = tempfile::tempdir().unwrap();
    meshreel_write::obj::write(folder.path(), &scene, &[0.0], &mut |_, _| ()).unwrap();
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
    let text = std::fs::read_to_string(file.path()).unwrap();
    let mut names: Vec<&str> = text.lines().filter(|line| line.starts_with("o ")).collect();
    assert_eq!(names.len(), count);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn more_meshes_than_memory_was_allowed_for_are_remarked_upon() {
    let one = scene(vec![disc(3)], &[vec![0, 1, 2]]);
    let count = 50;
    let nodes = (0..count).map(|i| Node {
        path: format!("/mesh{i}"),
        name: format!("mesh{i}"),
        mesh: Some(i),
        ..one.nodes[0].clone()
    });
    // No two are alike, so nothing is shared.
    let meshes = (0..count).map(|i| Mesh {
        path: format!("/mesh{i}"),
        positions: Channel::constant(disc(3 + i as i32)),
        ..one.meshes[0].clone()
    });
    let scene = Scene { nodes: nodes.collect(), meshes: meshes.collect(), ..Scene::default() };
    for (memory, says) in [(1 << 20, true), (512 << 20, false)] {
        let options = Options { memory, ..Options::default() };
        let (_, _, remarks) = held(&scene, &options);
        assert_eq!(remarks.iter().any(|r| r.contains("--memory")), says);
    }
}

/// The preset `small` takes at most the bytes of `fast`, but for its longer name and what a sample of frames
/// cannot tell.
#[test]
fn small_is_not_larger_than_fast() {
    let bundled = ["d_snake_skinned.abc", "n_robot_bone_parented.abc", "m_scale_shear.abc"].map(bundled);
    let mut inputs = bundled.to_vec();
    if let Some(corpus) = corpus_if_thorough() {
        let folder = std::fs::read_dir(corpus.join("alembic/gen")).unwrap();
        inputs.extend(folder.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some()));
    }
    for input in inputs {
        let (scene, _) = meshreel_read::open(&input, &meshreel_read::ReadOptions::default()).unwrap();
        let [small, fast] = [Preset::Small, Preset::Fast]
            .map(|preset| compiled(&scene, &Options { preset, ..Options::default() }).0.len());
        assert!(small <= fast + fast / 500 + 16, "{}: {small} and {fast} bytes", input.display());
    }
}
