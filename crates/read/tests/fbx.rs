//! Tests of reading FBX: the small files of `testdata/inputs/fbx` compared with Blender's vertices and with
//! the library's own evaluation, and damaged files.

mod cameras;
mod meant;
mod normals;
mod skeletons;

use crate::walk::walk;
use glam::DVec3;
use meshreel_read::ReadOptions;
use meshreel_scene::sample::{Faces, World, faces_at, pose_at, positions_at};
use meshreel_scene::{Error, LengthUnit, NodeKind, Remark, Scene};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/fbx")
}

fn open(path: &Path) -> (Scene, Vec<Remark>) {
    meshreel_read::open(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the points of all meshes in world space at a frame, in metres, by the name of the parent node.
fn world(scene: &Scene, frame: usize) -> BTreeMap<String, Vec<DVec3>> {
    let placed = scene.expand().unwrap();
    let mut world = World::new(scene, &placed).unwrap();
    let first = scene.meshes.iter().map(|m| m.positions.time(0)).fold(f64::INFINITY, f64::min);
    let start =
        scene.nodes.iter().filter_map(|n| Some(n.transform.as_ref()?.local.time(0))).fold(first, f64::max);
    let time = start + frame as f64 / 24.0;
    world.evaluate(time).unwrap();
    let metres = scene.unit.map_or(1.0, LengthUnit::metres);
    let (mut points, mut out) = (Vec::new(), BTreeMap::new());
    for (i, place) in placed.iter().enumerate() {
        let Some(mesh) = scene.nodes[place.node].mesh else { continue };
        positions_at(&scene.meshes[mesh], time, &mut points).unwrap();
        let at =
            |p: &[f32; 3]| metres * world.matrix[i].transform_point3(DVec3::from_array(p.map(f64::from)));
        let name = place.path.split('/').rev().nth(1).unwrap_or_default().to_string();
        out.insert(name, points.iter().map(at).collect());
    }
    out
}

#[test]
fn vertices_are_where_blender_has_them() {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    for (name, meshes) in expected.as_object().unwrap() {
        let (scene, remarks) = open(&folder().join(format!("{name}.fbx")));
        assert_eq!(scene.fps, Some(24.0), "{name}: {remarks:?}");
        assert_eq!(scene.unit, Some(LengthUnit::Centimetre), "{name}");
        for frame in 0..12 {
            let found = world(&scene, frame);
            for (mesh, frames) in meshes.as_object().unwrap() {
                let points =
                    found.get(mesh).unwrap_or_else(|| panic!("{name}: {mesh} of {:?}", found.keys()));
                let truth = frames[frame].as_array().unwrap();
                assert_eq!(points.len(), truth.len(), "{name}, {mesh}");
                for (point, truth) in points.iter().zip(truth) {
                    let truth = DVec3::from_array(std::array::from_fn(|i| truth[i].as_f64().unwrap()));
                    // Rounding of the list and of FBX itself, whose keys and bind poses are floats.
                    let off = point.distance(truth);
                    assert!(off < 2e-5, "{name}, {mesh}, frame {frame}: {off}: {point} {truth}");
                }
            }
        }
    }
}

/// Returns the options by which the library converts to our axes.
fn target() -> ufbx::LoadOpts<'static> {
    ufbx::LoadOpts {
        target_axes: ufbx::axes_right_handed_y_up(),
        space_conversion: ufbx::SpaceConversion::AdjustTransforms,
        ..Default::default()
    }
}

/// Returns the points of a mesh in world space as the library evaluates the whole file.
fn evaluated(path: &Path, time: f64) -> BTreeMap<String, Vec<DVec3>> {
    let bytes = std::fs::read(path).unwrap();
    let scene = ufbx::load_memory(&bytes, target()).unwrap();
    let options = ufbx::EvaluateOpts { evaluate_skinning: true, ..Default::default() };
    let moment = ufbx::evaluate_scene(&scene, &scene.anim, time, options).unwrap();
    let metres = scene.settings.unit_meters;
    let mut out = BTreeMap::new();
    for node in &moment.nodes {
        let Some(mesh) = &node.mesh else { continue };
        let place = |p: &ufbx::Vec3| {
            let p = match mesh.skinned_is_local {
                true => ufbx::transform_position(&node.geometry_to_world, *p),
                false => *p,
            };
            metres * DVec3::new(p.x, p.y, p.z)
        };
        let points = mesh.skinned_position.values.iter().map(place).collect();
        out.insert(node.element.name.to_string(), points);
    }
    out
}

#[test]
fn vertices_are_where_the_library_has_them() {
    for name in ["skinned", "shapes", "moves", "cameras"] {
        let path = folder().join(format!("{name}.fbx"));
        let (scene, _) = open(&path);
        for frame in 0..12 {
            let found = world(&scene, frame);
            // The exporter's first key is at the first frame.
            let first = scene.nodes.iter().filter_map(|n| Some(n.transform.as_ref()?.local.time(0)));
            let meshes = scene.meshes.iter().map(|m| m.positions.time(0));
            let start = first.chain(meshes).fold(0.0, f64::max);
            let truth = evaluated(&path, start + frame as f64 / 24.0);
            for (mesh, points) in &found {
                let most = points.iter().zip(&truth[mesh]).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
                assert_eq!(points.len(), truth[mesh].len());
                assert!(most < 1e-6, "{name}, {mesh}, frame {frame}: {most}");
            }
        }
    }
}

#[test]
fn dual_quaternions_blend_all_of_a_point_or_a_part() {
    let path = folder().join("dual.fbx");
    let (scene, remarks) = open(&path);
    assert!(remarks.is_empty(), "{remarks:?}");
    for frame in 0..49 {
        let found = world(&scene, frame);
        let truth = evaluated(&path, frame as f64 / 24.0);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["Some", "Whole"]);
        for (mesh, points) in &found {
            let off = points.iter().zip(&truth[mesh]).map(|(a, b)| a.distance(*b));
            let most = off.fold(0.0, f64::max);
            assert!(most < 1e-6, "{mesh}, frame {frame}: {most}");
        }
    }
    let parts = |path: &str| {
        let mesh = scene.meshes.iter().find(|mesh| mesh.path.starts_with(path)).unwrap();
        mesh.skin.as_ref().unwrap().dual_fraction.clone()
    };
    assert!(parts("/Whole").iter().all(|part| *part == 1.0));
    assert_eq!((parts("/Some")[0], parts("/Some")[27]), (0.0, 1.0));
}

/// Returns the points of all meshes of a node, in its own space, as the library reads their caches.
fn cached(path: &Path, time: f64) -> BTreeMap<String, Vec<DVec3>> {
    let options =
        ufbx::LoadOpts { load_external_files: true, ignore_missing_external_files: true, ..target() };
    let scene = ufbx::load_file(path.to_str().unwrap(), options).unwrap();
    let options = ufbx::EvaluateOpts {
        load_external_files: true,
        evaluate_skinning: true,
        evaluate_caches: true,
        ..Default::default()
    };
    let moment = ufbx::evaluate_scene(&scene, &scene.anim, time, options).unwrap();
    let point = |p: &ufbx::Vec3| DVec3::new(p.x, p.y, p.z);
    let meshes = moment.nodes.into_iter().filter_map(|node| Some((node, node.mesh.as_ref()?)));
    meshes
        .map(|(node, mesh)| {
            let points = mesh.skinned_position.values.iter().map(point).collect();
            (node.element.name.to_string(), points)
        })
        .collect()
}

#[test]
fn geometry_caches_move_points() {
    let path = folder().join("cached.fbx");
    let (scene, remarks) = open(&path);
    let mesh_of = |name: &str| {
        let node = scene.nodes.iter().find(|node| node.path.starts_with(&format!("/{name}/"))).unwrap();
        &scene.meshes[node.mesh.unwrap()]
    };
    let mut points = Vec::new();
    for tenth in -3..90 {
        let time = f64::from(tenth) / 240.0;
        let truth = cached(&path, time);
        for (name, amount) in [("Sheet", 0.5), ("Left", 1.0), ("Right", 2.0), ("Apart", 3.0)] {
            positions_at(mesh_of(name), time, &mut points).unwrap();
            assert_eq!(points.len(), 12);
            // The formula by which the caches were made, at whole frames.
            let frame = (time * 24.0).clamp(0.0, 7.0);
            let wave = |frame: f64, x: f64, y: f64| amount * (x + 0.7 * frame).sin() + 0.1 * y * frame;
            for (number, own) in points.iter().enumerate() {
                let own = DVec3::from_array(own.map(f64::from));
                let (x, y) = ((number % 4) as f64, (number / 4) as f64);
                let (low, part) = (frame.floor(), frame.fract());
                let z = wave(low, x, y) * (1.0 - part) + wave(low + 1.0, x, y) * part;
                assert!(own.distance(DVec3::new(x, y, z)) < 1e-5, "{name} at {time}: {own} {z}");
                // The library looks for caches in no other place.
                if name != "Apart" {
                    let truth = truth[name][number];
                    assert!(own.distance(truth) < 1e-5, "{name} at {time}: {own} {truth}");
                }
            }
        }
    }
    assert_eq!(mesh_of("Left").positions.len(), 8);
    for name in ["Lost", "Outside"] {
        assert!(mesh_of(name).positions.is_constant());
        let about = |r: &Remark| r.node.starts_with(&format!("/{name}/")) && r.what.contains("put it there");
        assert!(remarks.iter().any(about), "{remarks:?}");
    }
    let files: Vec<_> = scene.files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
    for file in ["sheet.pc2", "both.xml", "both.mc", "apart.xml", "apartFrame7.mc"] {
        assert!(files.contains(&file), "{file}: {files:?}");
    }
}

#[test]
fn damaged_caches_are_left_out_or_errors() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("caches")).unwrap();
    let names = ["cached.fbx", "caches/sheet.pc2", "caches/both.xml", "caches/both.mc"];
    let whole = names.map(|name| std::fs::read(folder().join(name)).unwrap());
    let restore = || {
        names.iter().zip(&whole).for_each(|(name, own)| std::fs::write(place.path().join(name), own).unwrap())
    };
    for (name, bytes) in names.iter().zip(&whole).skip(1) {
        restore();
        for cut in (0..bytes.len()).step_by(37) {
            std::fs::write(place.path().join(name), &bytes[..cut]).unwrap();
            let (scene, _) = open(&place.path().join("cached.fbx"));
            walk(&scene).unwrap();
            let mut other = bytes.clone();
            other[cut] ^= 1 << (cut % 8);
            std::fs::write(place.path().join(name), &other).unwrap();
            let (scene, _) = open(&place.path().join("cached.fbx"));
            walk(&scene).unwrap();
        }
    }
    // A cache that is truncated after opening is reported.
    restore();
    let (scene, _) = open(&place.path().join("cached.fbx"));
    std::fs::write(place.path().join("caches/sheet.pc2"), &whole[1][..100]).unwrap();
    let error = walk(&scene).unwrap_err();
    assert!(error.to_string().contains("sheet.pc2"), "{error}");
}

#[test]
fn animations_are_played_as_they_are_asked_for() {
    let path = folder().join("takes.fbx");
    let text = std::fs::read_to_string(folder().join("takes.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let played = |animation: Option<&str>| {
        let options = ReadOptions { animation: animation.map(str::to_owned), ..ReadOptions::default() };
        meshreel_read::open(&path, &options)
    };
    let name_of = |name: &str| format!("Prop|{name}");
    let (first, remarks) = played(None).unwrap();
    assert!(remarks.iter().any(|r| r.what.contains("--animation")), "{remarks:?}");
    let check = |scene: &Scene, name: &str, start: f64| {
        let frames = expected[name].as_array().unwrap();
        let placed = scene.expand().unwrap();
        let mut world = World::new(scene, &placed).unwrap();
        for (frame, truth) in frames.iter().enumerate() {
            let time = start + frame as f64 / 24.0;
            world.evaluate(time).unwrap();
            let at = placed.iter().position(|place| scene.nodes[place.node].mesh.is_some()).unwrap();
            let mut points = Vec::new();
            positions_at(&scene.meshes[0], time, &mut points).unwrap();
            for (own, truth) in points.iter().zip(truth.as_array().unwrap()) {
                let own = 0.01 * world.matrix[at].transform_point3(DVec3::from_array(own.map(f64::from)));
                let truth = DVec3::from_array(std::array::from_fn(|i| truth[i].as_f64().unwrap()));
                assert!(own.distance(truth) < 2e-5, "{name}, frame {frame}: {own} {truth}");
            }
        }
    };
    let start_of = |scene: &Scene| {
        scene.nodes.iter().filter_map(|n| Some(n.transform.as_ref()?.local.time(0))).fold(0.0, f64::max)
    };
    for (name, number) in [("Lift", "0"), ("Slide", "1")] {
        for wanted in [&*name_of(name), number] {
            let (scene, remarks) = played(Some(wanted)).unwrap();
            assert!(scene.ranges.is_empty() && !remarks.iter().any(|r| r.what.contains("--animation")));
            check(&scene, name, start_of(&scene));
        }
    }
    check(&first, "Lift", start_of(&first));
    let (all, _) = played(Some("all")).unwrap();
    let frame = |time: f64| (time * 24.0).round() as i32;
    let ranges = all.ranges.iter().map(|range| (&*range.name, frame(range.start), frame(range.end)));
    assert_eq!(ranges.collect::<Vec<_>>(), [("Prop|Lift", 0, 5), ("Prop|Slide", 6, 14)]);
    check(&all, "Lift", 0.0);
    check(&all, "Slide", 0.25);
    let error = played(Some("Jump")).err().unwrap();
    assert!(matches!(error, Error::Misuse { .. }) && error.to_string().contains("'Prop|Slide'"), "{error}");
}

#[test]
fn attributes_materials_and_skins() {
    let (scene, remarks) = open(&folder().join("shapes.fbx"));
    let mesh = &scene.meshes[0];
    assert_eq!((mesh.uvs.len(), mesh.colours.len(), mesh.skin.is_some()), (1, 1, false));
    let sets: Vec<&str> = mesh.face_sets.iter().map(|set| &set.name[..]).collect();
    assert_eq!(sets, ["red", "blue"]);
    let mut faces = Vec::new();
    mesh.face_sets[1].faces.read(0, &mut faces).unwrap();
    assert!(faces.len() == 16 && faces.iter().all(|face| face % 2 == 1), "{faces:?}");
    let mut all = Faces::default();
    faces_at(mesh, 0.0, &mut all).unwrap();
    assert!(all.counts.iter().all(|count| *count == 4));
    let (mut values, mut indices) = (Vec::new(), Vec::new());
    mesh.uvs[0].values.read(0, &mut values).unwrap();
    mesh.uvs[0].indices.as_ref().unwrap().read(0, &mut indices).unwrap();
    for (corner, point) in indices.iter().zip(&all.indices) {
        let [u, v] = values[*corner as usize];
        assert_eq!((u, v), ((point % 8) as f32 / 8.0, (point / 8) as f32 / 4.0));
    }
    assert!(remarks.iter().any(|r| r.what.contains("normals")), "{remarks:?}");

    // The bones and the bind pose reproduce the points.
    let (scene, _) = open(&folder().join("skinned.fbx"));
    let mesh = &scene.meshes[0];
    let skin = mesh.skin.as_ref().unwrap();
    assert_eq!((skin.skeleton, skin.joints.len(), skin.pose.len()), (Some(0), 3, 12));
    let (mut points, mut pose) = (Vec::new(), Vec::new());
    for frame in 0..12 {
        let time = mesh.positions.time(frame);
        positions_at(mesh, time, &mut points).unwrap();
        pose_at(mesh, time, &mut pose).unwrap();
        for (i, point) in points.iter().enumerate() {
            let own = i * skin.influences..(i + 1) * skin.influences;
            let bind = DVec3::from_array(skin.bind_positions[i].map(f64::from));
            let moved: DVec3 = (skin.joint[own.clone()].iter().zip(&skin.weight[own]))
                .map(|(joint, weight)| f64::from(*weight) * pose[usize::from(*joint)].transform_point3(bind))
                .sum();
            assert!(moved.distance(DVec3::from_array(point.map(f64::from))) < 1e-4);
        }
    }
    let (scene, _) = open(&folder().join("moves.fbx"));
    let paths: Vec<&str> =
        scene.nodes.iter().filter(|n| n.kind == NodeKind::PolyMesh).map(|n| &n.path[..]).collect();
    assert!(paths.contains(&"/Group/Upper/Lower/LowerMesh"), "{paths:?}");
}

#[test]
fn damaged_files_are_errors_or_other_scenes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.fbx");
    // Reads all samples, and the joints of clips.
    let walk = |scene: &Scene| -> Result<(), Error> {
        for clip in &scene.clips {
            assert!(skeletons::world_transforms(scene, clip, clip.samples - 1).iter().all(|m| !m.is_nan()));
        }
        walk(scene)
    };
    for name in ["skinned", "shapes", "moves", "cameras", "bones"] {
        let whole = std::fs::read(folder().join(format!("{name}.fbx"))).unwrap();
        for cut in (0..whole.len()).step_by(331) {
            std::fs::write(&file, &whole[..cut]).unwrap();
            match meshreel_read::open(&file, &ReadOptions::default()) {
                Ok((scene, _)) => drop(walk(&scene)),
                Err(error) => assert!(!matches!(error, Error::Misuse { .. }), "{error}"),
            }
        }
        for at in (0..whole.len()).step_by(101) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&file, &bytes).unwrap();
            if let Ok((scene, _)) = meshreel_read::open(&file, &ReadOptions::default()) {
                let _ = walk(&scene);
            }
        }
    }
    // Damaged text often stays valid text: numbers of bones, of points, of keys.
    let whole = skeletons::animated().into_bytes();
    for at in (0..whole.len()).step_by(2) {
        let mut bytes = whole.clone();
        bytes[at] = [b'9', b'-', whole[at] ^ 1][at / 2 % 3];
        std::fs::write(&file, &bytes).unwrap();
        if let Ok((scene, _)) = meshreel_read::open(&file, &ReadOptions::default()) {
            let _ = walk(&scene);
        }
    }
    std::fs::write(&file, b"Kaydara FBX Binary  \0\x1a\0").unwrap();
    assert!(matches!(meshreel_read::open(&file, &ReadOptions::default()), Err(Error::Malformed { .. })));
}
