//! USD read: the small files of `testdata/inputs/usd` against what the library sees in them, and damaged ones.

use crate::maker::walk;
use glam::DVec3;
use meshreel_scene::read::{self, ReadOptions};
use meshreel_scene::sample::{Faces, World, faces_at, positions_at};
use meshreel_scene::{Error, NodeKind, Remark, Scene, Scope, Topology, Unit, Winding};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs/usd")
}

fn open(path: &Path) -> (Scene, Vec<Remark>) {
    read::open(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// What a mesh is at a time.
#[derive(Debug)]
struct Seen {
    points: usize,
    sum: DVec3,
    last: DVec3,
    corners: usize,
    shown: bool,
}

/// All meshes of a scene at a time, by path.
fn seen(scene: &Scene, time: f64) -> BTreeMap<String, Seen> {
    let placed = scene.expand().unwrap();
    let mut world = World::new(scene, &placed).unwrap();
    world.evaluate(time).unwrap();
    let (mut points, mut faces, mut out) = (Vec::new(), Faces::default(), BTreeMap::new());
    for (i, place) in placed.iter().enumerate() {
        let Some(mesh) = scene.nodes[place.node].mesh else {
            continue;
        };
        positions_at(&scene.meshes[mesh], time, &mut points).unwrap();
        faces_at(&scene.meshes[mesh], time, &mut faces).unwrap();
        let at = |p: &[f32; 3]| world.matrix[i].transform_point3(DVec3::from_array(p.map(f64::from)));
        let seen = Seen {
            points: points.len(),
            sum: points.iter().map(at).sum(),
            last: points.last().map_or(DVec3::ZERO, at),
            corners: faces.indices.len(),
            shown: world.visible[i],
        };
        out.insert(place.path.clone(), seen);
    }
    out
}

fn vector(value: &Value) -> DVec3 {
    DVec3::from_array(std::array::from_fn(|i| value[i].as_f64().unwrap()))
}

#[test]
fn meshes_and_transforms_are_the_librarys() {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let mut compared = 0;
    for (name, moments) in expected.as_object().unwrap() {
        let (scene, _) = open(&folder().join(name));
        for moment in moments.as_array().unwrap() {
            let time = moment["time"].as_f64().unwrap();
            let (ours, theirs) = (seen(&scene, time), moment["meshes"].as_object().unwrap());
            assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{name}");
            for (path, theirs) in theirs {
                let ours = &ours[path];
                let what = format!("{name}, {path} at {time}: {ours:?}, not {theirs}");
                assert_eq!(ours.points as u64, theirs["points"].as_u64().unwrap(), "{what}");
                assert_eq!(ours.corners as u64, theirs["corners"].as_u64().unwrap(), "{what}");
                assert_eq!(ours.shown, theirs["shown"].as_bool().unwrap(), "{what}");
                let near = 1e-5 * ours.points.max(1) as f64;
                assert!(ours.sum.distance(vector(&theirs["sum"])) < near, "{what}");
                assert!(ours.last.distance(vector(&theirs["last"])) < 1e-5, "{what}");
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn attributes_and_materials() {
    let (scene, remarks) = open(&folder().join("cloth.usdc"));
    assert_eq!((scene.unit, scene.fps, scene.format), (Some(Unit::Metre), Some(24.0), "usd"));
    let [mesh] = &scene.meshes[..] else { panic!("{} meshes", scene.meshes.len()) };
    assert_eq!((mesh.topology, mesh.winding), (Topology::Homogeneous, Winding::CounterClockwise));
    assert!(!mesh.is_subd);
    assert_eq!(mesh.positions.len(), 8);
    assert!((mesh.positions.time(0) - 1.0 / 24.0).abs() < 1e-12);
    let normals = mesh.normals.as_ref().unwrap();
    assert_eq!((normals.scope, normals.values.len()), (Scope::Vertex, 2));
    let uvs: Vec<_> = mesh.uvs.iter().map(|uv| (&*uv.name, uv.scope, uv.indices.is_some())).collect();
    assert_eq!(uvs, [("st", Scope::FaceVarying, true), ("atlas", Scope::Vertex, false)]);
    let mut indices = Vec::new();
    mesh.uvs[0].indices.as_ref().unwrap().read(0, &mut indices).unwrap();
    assert_eq!((indices.len(), &indices[..5]), (144, &[0, 1, 2, 3, 0][..]));
    let mut colours = Vec::new();
    mesh.colours[0].values.read(0, &mut colours).unwrap();
    assert_eq!((&*mesh.colours[0].name, colours[18]), ("displayColor", [0.5, 0.5, 1.0, 1.0]));
    let mut pieces = Vec::new();
    mesh.integers[0].values.read(0, &mut pieces).unwrap();
    assert_eq!((&*mesh.integers[0].name, pieces[17], pieces[18]), ("piece", 0, 1));
    let custom: Vec<_> = mesh.custom_attributes.iter().map(|c| (&*c.attribute.name, c.components)).collect();
    assert_eq!(custom, [("heat", 1), ("weights", 1)]);
    assert!(mesh.velocities.is_some());
    let sets: Vec<_> = mesh.face_sets.iter().map(|set| &*set.name).collect();
    assert_eq!(sets, ["Seam", "Linen"]);
    let (mut edge, mut rest) = (Vec::new(), Vec::new());
    mesh.face_sets[0].faces.read(0, &mut edge).unwrap();
    mesh.face_sets[1].faces.read(0, &mut rest).unwrap();
    assert_eq!((edge, rest), ((0..6).collect(), (6..36).collect()));
    let about = |what: &str| remarks.iter().any(|remark| remark.what.contains(what));
    assert!(about("attribute odd"), "{remarks:?}");
    assert!(!about("weights"), "{remarks:?}");
}

#[test]
fn what_is_left_out_is_said() {
    let (scene, remarks) = open(&folder().join("moves.usdc"));
    assert_eq!(scene.unit, Some(Unit::Centimetre));
    let about = |path: &str, what: &str| remarks.iter().any(|r| r.node == path && r.what.contains(what));
    assert!(about("/Arm/Guide", "guide"), "{remarks:?}");
    assert!(about("/Nothing", "not there"), "{remarks:?}");
    assert!(scene.nodes.iter().all(|node| !["Guide", "Off", "Kind", "Nothing"].contains(&&*node.name)));
    let loose = scene.nodes.iter().find(|node| node.path == "/Arm/Loose").unwrap();
    let mut inherits = Vec::new();
    loose.transform.as_ref().unwrap().inherits.as_ref().unwrap().read(0, &mut inherits).unwrap();
    assert_eq!((inherits, loose.kind), (vec![false], NodeKind::Xform));
    let (scene, _) = open(&folder().join("changing.usdc"));
    assert_eq!(scene.meshes[0].topology, Topology::Heterogeneous);
    assert_eq!(scene.meshes[0].winding, Winding::Clockwise);
}

/// Opens bytes and reads all; errors are of the classes that a file can cause.
fn read_all(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
    let walked = read::open(path, &ReadOptions::default()).and_then(|(scene, _)| walk(&scene));
    match walked {
        Ok(()) => {}
        Err(Error::Malformed { .. } | Error::Unsupported { .. } | Error::Limit { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn damaged_files_are_errors_or_other_scenes() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.usdc");
    for name in ["changing.usdc", "moves.usdc"] {
        let bytes = std::fs::read(folder().join(name)).unwrap();
        for end in 0..bytes.len() {
            read_all(&path, &bytes[..end]);
        }
        for at in 0..bytes.len() {
            for value in [bytes[at] ^ 1 << (at % 8), 0xFF] {
                let mut bytes = bytes.clone();
                bytes[at] = value;
                read_all(&path, &bytes);
            }
        }
    }
}
