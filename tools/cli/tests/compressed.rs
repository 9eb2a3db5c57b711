//! Tests of compressed glTF: other readers are told of the extension, and positions and normals keep their
//! tolerances.

use crate::cli::common::{bundled, run};
use glam::DVec3;
use meshreel_read::{ReadOptions, open};
use meshreel_scene::sample::{Faces, World, faces_at, positions_at};
use meshreel_scene::{Channel, Mesh, Node, NodeKind, Scene, TimeSampling};
use serde_json::Value;
use std::path::Path;

fn read(path: &Path) -> Scene {
    open(path, &ReadOptions::default()).unwrap().0
}

/// Returns the JSON of a .glb.
fn json(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap();
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&bytes[20..20 + length]).unwrap()
}

/// Returns the corners of all triangles in the world at a time, mesh by mesh.
fn corners(scene: &Scene, time: f64) -> Vec<[DVec3; 3]> {
    let placed = scene.expand().unwrap();
    let mut world = World::new(scene, &placed).unwrap();
    world.evaluate(time).unwrap();
    let (mut out, mut faces, mut positions) = (Vec::new(), Faces::default(), Vec::new());
    for (object, matrix) in placed.iter().zip(&world.matrix) {
        let Some(mesh) = scene.nodes[object.node].mesh.map(|m| &scene.meshes[m]) else { continue };
        positions_at(mesh, time, &mut positions).unwrap();
        faces_at(mesh, time, &mut faces).unwrap();
        assert!(faces.counts.iter().all(|count| *count == 3));
        let place = |i: i32| matrix.transform_point3(DVec3::from_array(positions[i as usize].map(f64::from)));
        out.extend(faces.indices.as_chunks::<3>().0.iter().map(|triangle| triangle.map(place)));
    }
    out
}

/// Returns the largest distance of corners of the same triangles, which may begin with another corner.
fn distance(a: &[[DVec3; 3]], b: &[[DVec3; 3]]) -> f64 {
    assert_eq!(a.len(), b.len());
    let turned = |a: &[DVec3; 3], b: &[DVec3; 3]| {
        let at = |turn: usize| (0..3).map(|k| a[k].distance(b[(k + turn) % 3])).fold(0.0, f64::max);
        at(0).min(at(1)).min(at(2))
    };
    a.iter().zip(b).map(|(a, b)| turned(a, b)).fold(0.0, f64::max)
}

#[test]
fn i21_compressed_files_keep_the_tolerance() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Soft meshes, moving nodes, skins; and one with materials, uvs and a scale.
    for (input, filter) in [
        ("a_flag_wind.abc", "TRIANGLES"),
        ("n_robot_bone_parented.abc", "OCTAHEDRAL"),
        ("d_snake_skinned.abc", "EXPONENTIAL"),
        ("prism.glb", "OCTAHEDRAL"),
        ("m_scale_shear.abc", "ATTRIBUTES"),
    ] {
        let words = |words: &str| {
            let word = |word: &str| match word {
                "IN" => bundled(input).display().to_string(),
                "a.reel" | "plain.glb" | "packed.glb" => at(word).display().to_string(),
                _ => word.into(),
            };
            words.split_whitespace().map(word).collect::<Vec<String>>()
        };
        run(words("compile IN -o a.reel --quiet")).expect(0);
        run(words("extract a.reel -o plain.glb --quiet")).expect(0);
        let plain = read(&at("plain.glb"));
        let bytes = |name: &str| std::fs::metadata(at(name)).unwrap().len();
        for (kind, name) in
            [("meshopt", "EXT_meshopt_compression"), ("khr-meshopt", "KHR_meshopt_compression")]
        {
            let line = format!("extract a.reel -o packed.glb --compress {kind} --json");
            let told = run(words(&line)).expect(0).json()["compressed"].clone();
            let file = json(&at("packed.glb"));
            let required: Vec<&str> =
                file["extensionsRequired"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
            assert_eq!(required[0], name, "{input}");
            assert_eq!(file["buffers"][1]["extensions"][name]["fallback"], true);
            assert!(file["buffers"][1].get("uri").is_none());
            let text = file.to_string();
            assert!(text.contains(filter), "{input}: {filter}");
            assert_eq!(text.contains("KHR_mesh_quantization"), required.len() == 2);
            // Small files are mostly JSON, which is not compressed.
            if bytes("plain.glb") > 500_000 {
                assert!(3 * bytes("packed.glb") < bytes("plain.glb"), "{input}: {}", bytes("packed.glb"));
            }

            let packed = read(&at("packed.glb"));
            let (error, share) = (told["error"].as_f64().unwrap(), told["share"].as_f64().unwrap());
            assert!(share <= 1.0 && share > 0.2, "{input}: {share}");
            let scale = corners(&plain, 0.0).iter().flatten().fold(0.0, |most: f64, p| most.max(p.length()));
            let mut most = 0.0f64;
            for frame in 0..40 {
                let time = f64::from(frame) / 24.0;
                most = most.max(distance(&corners(&plain, time), &corners(&packed, time)));
            }
            // Both are read in 32 bits; between frames they are mixed by weights and rotations.
            assert!(most <= error + 4e-6 * scale, "{input}, {kind}: {most} {error}");
            assert!(most > 0.1 * error, "{input}, {kind}: {most} {error}");
        }
    }
}

#[test]
fn i21_a_tolerance_takes_the_place_of_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let input = bundled("a_flag_wind.abc").display().to_string();
    run(["compile", &input, "-o", &at("a.reel"), "--quiet"]).expect(0);
    let mut sizes = Vec::new();
    // The last is finer than 16 bits.
    for tolerance in ["0.1", "0.001", "0.00001"] {
        let words = [
            "extract",
            &at("a.reel"),
            "-o",
            &at("a.glb"),
            "--compress",
            "meshopt",
            "--tolerance",
            tolerance,
            "--json",
        ];
        let told = run(words).expect(0).json();
        let error = told["compressed"]["error"].as_f64().unwrap();
        let tolerance: f64 = tolerance.parse().unwrap();
        assert!(error <= tolerance && error > 0.2 * tolerance, "{error} {tolerance}");
        sizes.push(told["bytes"].as_u64().unwrap());
        let file = json(Path::new(&at("a.glb")));
        let accessor = file["meshes"][0]["primitives"][0]["attributes"]["POSITION"].as_u64().unwrap();
        let component = &file["accessors"][accessor as usize]["componentType"];
        assert_eq!(*component, if tolerance < 1e-4 { 5126 } else { 5123 }, "{tolerance}");
    }
    assert!(sizes.is_sorted() && sizes[0] < sizes[2], "{sizes:?}");
}

#[test]
fn i21_more_morph_targets_than_load_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let wave = |f: usize, i: usize| {
        let (x, y) = ((i % 6) as f32, (i / 6) as f32);
        [x, y, (x * x * 0.7 + y * 1.9 + f as f32 * 0.3).sin() * 0.4 + (y * x + f as f32 * 0.7).cos() * 0.3]
    };
    let samples = (0..300).map(|f| (0..36).map(|i| wave(f, i)).collect()).collect();
    let quad = |i: i32| [i, i + 1, i + 7, i + 6];
    let faces: Vec<i32> = (0..25).flat_map(|i| quad(i % 5 + i / 5 * 6)).collect();
    let sampling = TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 };
    let positions = Channel::in_memory(sampling, samples);
    let mesh = Mesh::new("/sheet", positions, Channel::constant(vec![4; 25]), Channel::constant(faces));
    let node =
        Node { name: "sheet".into(), mesh: Some(0), samples: 300, ..Node::new("/sheet", NodeKind::PolyMesh) };
    let scene = Scene { nodes: vec![node], meshes: vec![mesh], ..Scene::default() };
    meshreel_write::alembic::write(Path::new(&at("a.abc")), &scene, &mut |_, _| {}).unwrap();
    run(["compile", &at("a.abc"), "-o", &at("a.reel"), "--quiet"]).expect(0);
    let done = run(["extract", &at("a.reel"), "-o", &at("a.glb"), "--as", "points", "--compress", "meshopt"])
        .expect(1);
    let line = done.error_line();
    assert!(line.contains("morph targets of /sheet") && line.contains("257 asked, 256 allowed"), "{line}");
    assert!(!Path::new(&at("a.glb")).exists());
    // Without compression it is written, with a remark.
    let done = run(["extract", &at("a.reel"), "-o", &at("a.glb"), "--as", "points"]).expect(0);
    assert!(done.stderr.contains("more than 256 morph targets"), "{}", done.stderr);
}
