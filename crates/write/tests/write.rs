//! Evaluates the output of the glTF and OBJ writers and compares it with the scene, triangle by triangle.
//! With `MESHREEL_TEST_OUTPUT` the files stay there (for the Khronos validator, `tests/validate_gltf.mjs`).

use crate::support::Glb;
use glam::{DMat4, DQuat, DVec3};
use meshreel_read::{ReadOptions, obj, sequence};
use meshreel_scene::sample::{Faces, FrameOptions, World, faces_at, frame_times, positions_at};
use meshreel_scene::*;
use std::path::{Path, PathBuf};

struct Output(PathBuf, #[allow(dead_code)] Option<tempfile::TempDir>);

fn output() -> Output {
    match std::env::var_os("MESHREEL_TEST_OUTPUT") {
        Some(path) => {
            std::fs::create_dir_all(&path).unwrap();
            Output(path.into(), None)
        }
        None => {
            let folder = tempfile::tempdir().unwrap();
            Output(folder.path().into(), Some(folder))
        }
    }
}

fn node(name: &str, path: &str, parent: Option<usize>) -> Node {
    Node { name: name.into(), parent, ..Node::new(path, NodeKind::Xform) }
}

const FPS: f64 = 25.0;

fn frames<T: Clone + Send + Sync + 'static>(n: usize, sample: impl Fn(usize) -> Vec<T>) -> Channel<T> {
    let sampling = TimeSampling::Uniform { start: 0.0, step: 1.0 / FPS };
    Channel::in_memory(sampling, (0..n).map(sample).collect())
}

fn times(n: usize) -> Vec<f64> {
    (0..n).map(|i| i as f64 / FPS).collect()
}

fn moving(n: usize, matrix: impl Fn(usize) -> DMat4) -> Option<Transform> {
    Some(Transform { local: frames(n, |i| vec![matrix(i)]).into(), inherits: None })
}

fn grid_faces(side: usize) -> (Vec<i32>, Vec<i32>) {
    let mut indices = Vec::new();
    for y in 0..side - 1 {
        for x in 0..side - 1 {
            let i = (y * side + x) as i32;
            indices.extend([i, i + 1, i + 1 + side as i32, i + side as i32]);
        }
    }
    (vec![4; indices.len() / 4], indices)
}

fn grid_points(side: usize, height: impl Fn(usize, usize) -> f32) -> Vec<[f32; 3]> {
    (0..side * side).map(|i| [(i % side) as f32, (i / side) as f32, height(i % side, i / side)]).collect()
}

fn mesh(path: &str, positions: Channel<[f32; 3]>, counts: Vec<i32>, indices: Vec<i32>) -> Mesh {
    Mesh::new(path, positions, Channel::constant(counts), Channel::constant(indices))
}

fn grid(path: &str, side: usize) -> Mesh {
    let (counts, indices) = grid_faces(side);
    mesh(path, Channel::constant(grid_points(side, |_, _| 0.0)), counts, indices)
}

fn with_mesh(mut node: Node, mesh: usize) -> Node {
    node.kind = NodeKind::PolyMesh;
    node.mesh = Some(mesh);
    node
}

/// Returns the triangles of all visible meshes at a time, from the scene itself; faces as fans.
fn expected(scene: &Scene, time: f64) -> Vec<[DVec3; 3]> {
    let placed = scene.expand().unwrap();
    let mut world = World::new(scene, &placed).unwrap();
    world.evaluate(time).unwrap();
    let mut out = Vec::new();
    for (i, object) in placed.iter().enumerate() {
        let Some(mesh) = scene.nodes[object.node].mesh.map(|m| &scene.meshes[m]).filter(|_| world.visible[i])
        else {
            continue;
        };
        let (mut points, mut faces) = (Vec::new(), Faces::default());
        positions_at(mesh, time, &mut points).unwrap();
        faces_at(mesh, time, &mut faces).unwrap();
        let mut first = 0;
        for &count in &faces.counts {
            let corners = &faces.indices[first..first + count as usize];
            first += count as usize;
            let at = |k: usize| {
                world.matrix[i]
                    .transform_point3(DVec3::from_array(points[corners[k] as usize].map(f64::from)))
            };
            let mut push = |a: usize, b: usize, c: usize| match mesh.winding {
                Winding::CounterClockwise => out.push([at(a), at(b), at(c)]),
                Winding::Clockwise => out.push([at(a), at(c), at(b)]),
            };
            (2..count.max(0) as usize).for_each(|k| push(0, k - 1, k));
        }
    }
    out
}

/// Returns the sum over triangles of area, weighted centre and directed area: equal for both diagonals of a
/// flat quad.
fn moments(triangles: &[[DVec3; 3]]) -> (f64, DVec3, DVec3) {
    triangles.iter().fold((0.0, DVec3::ZERO, DVec3::ZERO), |(area, centre, turn), [a, b, c]| {
        let cross = (*b - *a).cross(*c - *a) / 2.0;
        (area + cross.length(), centre + (*a + *b + *c) / 3.0 * cross.length(), turn + cross)
    })
}

fn same_corners(a: &[[DVec3; 3]], b: &[[DVec3; 3]], tolerance: f64, what: &str) {
    let near = |p: &DVec3, list: &[[DVec3; 3]]| list.iter().flatten().any(|q| p.distance(*q) <= tolerance);
    for (from, to) in [(a, b), (b, a)] {
        for p in from.iter().flatten() {
            assert!(near(p, to), "{what}: {p} is missing");
        }
    }
}

/// Writes a scene, reads it back and compares every frame.
fn check_glb(name: &str, scene: &Scene, times: &[f64]) -> (Glb, Vec<Remark>) {
    let folder = output();
    let path = folder.0.join(format!("{name}.glb"));
    let mut last = (0, 0);
    let remarks =
        meshreel_write::glb::write(&path, scene, times, &mut |done, total| last = (done, total)).unwrap();
    assert_eq!(last.0, last.1);
    let glb = Glb::open(&path);
    for (frame, &time) in times.iter().enumerate() {
        let what = format!("{name} frame {frame}");
        let (ours, wanted) = (glb.triangles((time - times[0].min(0.0)) as f32), expected(scene, time));
        assert_eq!(ours.len(), wanted.len(), "{what}");
        same_corners(&ours, &wanted, 1e-4, &what);
        let (a, b) = (moments(&ours), moments(&wanted));
        // Bent quads may be split along the other diagonal; then only the directed area is equal.
        assert!(a.2.distance(b.2) < 1e-3 * (1.0 + b.0), "{what}: {a:?} {b:?}");
    }
    (glb, remarks)
}

fn check_obj(name: &str, scene: &Scene, times: &[f64]) -> Scene {
    let folder = output();
    let path = folder.0.join(name);
    meshreel_write::obj::write(&path, scene, times, &mut |_, _| {}).unwrap();
    let read = sequence::open(
        &path.join(format!("{name}.####.obj")),
        &ReadOptions { source_fps: FPS, ..ReadOptions::default() },
    )
    .unwrap()
    .0;
    for (frame, &time) in times.iter().enumerate() {
        let what = format!("{name} frame {frame}");
        let (ours, wanted) = (expected(&read, frame as f64 / FPS), expected(scene, time));
        assert_eq!(ours.len(), wanted.len(), "{what}");
        same_corners(&ours, &wanted, 1e-4, &what);
    }
    read
}

/// Returns transforms of every kind, an instance, materials, uvs per corner.
fn transforms() -> Scene {
    let mut wall = grid("/root/arm/wall", 4);
    let corners = 9 * 4;
    wall.uvs.push(Attribute {
        name: "st".into(),
        scope: Scope::FaceVarying,
        values: Channel::constant((0..corners).map(|i| [i as f32 / 36.0, (i % 7) as f32]).collect()),
        indices: None,
    });
    wall.face_sets = vec![
        FaceSet { name: "red".into(), faces: Channel::constant(vec![0, 1, 2, 99, -1]) },
        FaceSet { name: "blue".into(), faces: Channel::constant(vec![2, 5]) },
    ];
    wall.winding = Winding::Clockwise;
    let n = 12;
    let turn = |i: usize| DQuat::from_rotation_z(i as f64 * 0.9) * DQuat::from_rotation_x(i as f64 * 0.2);
    let mut root = node("root", "/root", None);
    root.transform = moving(n, |i| {
        DMat4::from_scale_rotation_translation(DVec3::new(1.0, 2.0, -0.5), turn(i), DVec3::X * i as f64)
    });
    let mut arm = node("arm", "/root/arm", Some(0));
    // Below the scale above, this rotation makes shear in world space, but not in the nodes.
    arm.transform = moving(n, |i| DMat4::from_rotation_y(i as f64 * 0.3) * DMat4::from_translation(DVec3::Y));
    let mut sheared = node("sheared", "/sheared", None);
    sheared.transform = moving(n, |i| {
        DMat4::from_scale(DVec3::new(1.0, 3.0, 1.0))
            * DMat4::from_rotation_z(0.2 + i as f64 * 0.05)
            * DMat4::from_scale(DVec3::new(2.0, 1.0, 1.0))
    });
    let mut copy = node("copy", "/sheared/copy", Some(3));
    copy.instance_of = Some(1);
    let mut free = node("free", "/root/free", Some(0));
    free.transform = Some(Transform {
        local: frames(n, |i| vec![DMat4::from_translation(DVec3::Z * i as f64)]).into(),
        inherits: Some(frames(n, |i| vec![i % 3 == 0])),
    });
    let nodes = vec![
        root,
        arm,
        with_mesh(node("wall", "/root/arm/wall", Some(1)), 0),
        with_mesh(free, 1),
        sheared,
        Node { parent: Some(4), ..copy },
    ];
    Scene { nodes, meshes: vec![wall, grid("/root/free", 2)], ..Scene::default() }
}

#[test]
fn transforms_instances_materials() {
    let scene = transforms();
    let (glb, remarks) = check_glb("transforms", &scene, &times(12));
    assert!(remarks.iter().any(|r| r.node == "/sheared" && r.what.contains("sheared")), "{remarks:?}");
    let names: Vec<_> =
        glb.json["materials"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["red", "blue"]);
    // The instance uses the same mesh.
    assert_eq!(glb.json["meshes"].as_array().unwrap().len(), 2);
    let primitives = glb.json["meshes"][0]["primitives"].as_array().unwrap();
    let triangles: Vec<_> = primitives
        .iter()
        .map(|p| {
            glb.json["accessors"][p["indices"].as_u64().unwrap() as usize]["count"].as_u64().unwrap() / 3
        })
        .collect();
    assert_eq!(triangles, [10, 6, 2]);
    let read = check_obj("transforms", &scene, &times(12));
    assert_eq!(read.meshes.len(), 3);
    let sets: Vec<_> = read.meshes[0].face_sets.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(sets, ["red", "none", "blue"]);
    assert_eq!(read.meshes[0].uvs.len(), 1);
}

/// Returns a grid that bends, with normals per corner that split its points from frame 3 on; in a second mesh
/// a single vertex moves.
fn deforming(n: usize) -> Scene {
    let (counts, indices) = grid_faces(8);
    let wave =
        move |f: usize| grid_points(8, move |x, y| ((x + f) as f32 * 0.7).sin() * (y as f32 + 1.0) * 0.2);
    let mut cloth = mesh("/cloth", frames(n, wave), counts.clone(), indices.clone());
    let corners = indices.len();
    cloth.normals = Some(Attribute {
        name: "N".into(),
        scope: Scope::FaceVarying,
        values: frames(n, move |f| {
            (0..corners)
                .map(|c| if f >= 3 && c % 4 == 0 { [0.0, 1.0, 0.0] } else { [0.0, 0.0, 2.0] })
                .collect()
        }),
        indices: None,
    });
    cloth.colours.push(Attribute {
        name: "Cd".into(),
        scope: Scope::Vertex,
        values: Channel::constant((0..64).map(|i| [i as f32 / 64.0, 2.0, f32::NAN, 1.0]).collect()),
        indices: None,
    });
    let poke =
        move |f: usize| grid_points(8, move |x, y| if (x, y) == (3, 3) { (f % 4) as f32 } else { 0.0 });
    let poked = mesh("/poked", frames(n, poke), counts, indices);
    let nodes =
        vec![with_mesh(node("cloth", "/cloth", None), 0), with_mesh(node("poked", "/poked", None), 1)];
    Scene { nodes, meshes: vec![cloth, poked], ..Scene::default() }
}

#[test]
fn morph_targets() {
    let scene = deforming(10);
    let (glb, remarks) = check_glb("deforming", &scene, &times(10));
    assert!(remarks.is_empty(), "{remarks:?}");
    let targets = |m: usize| glb.json["meshes"][m]["primitives"][0]["targets"].as_array().unwrap();
    assert_eq!(targets(0).len(), 9);
    // Repeated frames share a target, and those equal to the first one have none.
    assert_eq!(targets(1).len(), 3);
    let first = targets(1)[0]["POSITION"].as_u64().unwrap() as usize;
    assert_eq!(glb.json["accessors"][first]["sparse"]["count"], 1);
    assert!(glb.json["accessors"][first].get("bufferView").is_none());
    // 64 points, and one more for each corner with a normal of its own.
    let base = glb.json["meshes"][0]["primitives"][0]["attributes"]["NORMAL"].as_u64().unwrap() as usize;
    assert!(glb.json["accessors"][base]["count"].as_u64().unwrap() > 64);
    check_obj("deforming", &scene, &times(10));
}

#[test]
fn changing_faces_and_visibility() {
    let n = 9;
    // Grids of 2, 2, 3, 3, 3, none, 2 … points a side.
    let side = |f: usize| [2, 2, 3, 3, 3, 0, 2, 2, 4][f];
    let points = move |f: usize| {
        if side(f) == 0 { Vec::new() } else { grid_points(side(f), move |x, _| (x * f) as f32 * 0.1) }
    };
    let faces = move |f: usize| {
        if side(f) == 0 { Default::default() } else { grid_faces(side(f)) }
    };
    let mut fluid = mesh("/fluid", frames(n, points), Vec::new(), Vec::new());
    fluid.face_counts = frames(n, move |f| faces(f).0);
    fluid.face_indices = frames(n, move |f| faces(f).1);
    fluid.topology = Topology::Heterogeneous;
    let mut fluid_node = with_mesh(node("fluid", "/fluid", None), 0);
    fluid_node.visibility = Some(frames(n, |f| vec![if f == 1 { 0 } else { -1 }]));
    let mut group = node("group", "/group", None);
    group.visibility = Some(frames(n, |f| vec![i8::from(f % 2 == 0)]));
    group.transform = moving(n, |i| DMat4::from_translation(DVec3::X * i as f64));
    let mut always = with_mesh(node("always", "/group/always", Some(1)), 1);
    always.visibility = Some(Channel::constant(vec![1]));
    let mut never = with_mesh(node("never", "/never", None), 1);
    never.visibility = Some(Channel::constant(vec![0]));
    let nodes = vec![fluid_node, group, with_mesh(node("asks", "/group/asks", Some(1)), 1), always, never];
    let scene = Scene { nodes, meshes: vec![fluid, grid("/group/asks", 3)], ..Scene::default() };
    let (_, remarks) = check_glb("changing", &scene, &times(n));
    assert!(remarks.iter().any(|r| r.node == "/fluid" && r.what.contains("faces change")), "{remarks:?}");
    check_obj("changing", &scene, &times(n));
}

#[test]
fn odd_content() {
    let cloud = mesh(
        "/cloud",
        frames(3, |f| vec![[f as f32, 0.0, 0.0], [f32::NAN, f32::INFINITY, 0.0]]),
        Vec::new(),
        Vec::new(),
    );
    let empty = mesh("/empty", Channel::constant(Vec::new()), Vec::new(), Vec::new());
    let mut bad =
        mesh(
            "/bad",
            frames(3, |f| {
                if f == 2 { Vec::new() } else { vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, f as f32]] }
            }),
            vec![3, 2, -4, 3, 3],
            vec![0, 1, 2, 0, 1, 0, 1, 77, 0],
        );
    bad.normals = Some(Attribute {
        name: "N".into(),
        scope: Scope::Vertex,
        values: Channel::constant(vec![[0.0; 3]]),
        indices: Some(Channel::constant(vec![0, 7])),
    });
    let mut broken = with_mesh(node("bad", "/bad", None), 2);
    broken.transform = moving(3, |i| {
        if i == 1 {
            DMat4::from_scale(DVec3::splat(f64::NAN))
        } else {
            DMat4::from_scale(DVec3::new(0.0, 1.0, 0.0))
        }
    });
    let nodes = vec![
        with_mesh(node("cloud", "/cloud", None), 0),
        with_mesh(node("empty", "/empty", None), 1),
        broken,
        node("camera", "/camera", None),
    ];
    let scene = Scene {
        nodes,
        meshes: vec![cloud, empty, bad],
        unit: Some(LengthUnit::Centimetre),
        ..Scene::default()
    };
    let folder = output();
    let path = folder.0.join("odd.glb");
    // Negative times, and times closer than 32 bits can tell.
    let remarks =
        meshreel_write::glb::write(&path, &scene, &[-0.04, 0.0, 1e-12, 0.04], &mut |_, _| {}).unwrap();
    let has = |part: &str| assert!(remarks.iter().any(|r| r.what.contains(part)), "{part}: {remarks:?}");
    has("begins at 0");
    has("equal in 32 bits");
    has("metre");
    has("no finite numbers were replaced");
    has("points that are not there");
    Glb::open(&path);
    meshreel_write::obj::write(&folder.0.join("odd"), &scene, &[0.0, 0.04], &mut |_, _| {}).unwrap();
    obj::open(&folder.0.join("odd/odd.0001.obj"), &ReadOptions::default()).unwrap();

    assert!(matches!(
        meshreel_write::glb::write(&path, &scene, &[], &mut |_, _| {}),
        Err(Error::Misuse { .. })
    ));
    let empty = Scene::default();
    meshreel_write::glb::write(&folder.0.join("nothing.glb"), &empty, &[0.0], &mut |_, _| {}).unwrap();
    Glb::open(&folder.0.join("nothing.glb"));
    for bad in ["no/such/folder/a.glb", "/"] {
        assert!(meshreel_write::glb::write(Path::new(bad), &empty, &[0.0], &mut |_, _| {}).is_err());
    }
}

#[test]
fn corpus_sequences_as_glb() {
    let Some(corpus) = crate::corpus::corpus_path("sequences").and_then(|p| p.parent().map(Path::to_owned))
    else {
        return;
    };
    let file = |e: &str| corpus.join("sequences").join(format!("horse-gallop.{e}"));
    let options = ReadOptions { points: Some(file("pc2")), source_fps: FPS, ..ReadOptions::default() };
    let scene = obj::open(&file("obj"), &options).unwrap().0;
    let folder = output();
    let path = folder.0.join("horse.glb");
    meshreel_write::glb::write(&path, &scene, &times(48), &mut |_, _| {}).unwrap();
    let glb = Glb::open(&path);
    for frame in [0, 20, 47] {
        let (ours, wanted) = (glb.triangles(times(48)[frame] as f32), expected(&scene, times(48)[frame]));
        assert_eq!(ours.len(), wanted.len());
        let worst = ours
            .iter()
            .flatten()
            .zip(wanted.iter().flatten())
            .map(|(a, b)| a.distance(*b))
            .fold(0.0, f64::max);
        assert!(worst < 1e-6, "{worst}");
    }
}

/// Tests real archives: per frame the same number of triangles, bounds and directed area (which no choice of
/// diagonals changes).
#[test]
fn corpus_archives_as_glb() {
    let Some(corpus) = crate::corpus::corpus_path("sequences").and_then(|p| p.parent().map(Path::to_owned))
    else {
        return;
    };
    let folder = output();
    let mut files: Vec<_> =
        std::fs::read_dir(corpus.join("alembic/gen")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "abc")) {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let scene = meshreel_read::open(file, &ReadOptions::default()).unwrap().0;
        let placed = scene.expand().unwrap();
        let all = vec![true; placed.len()];
        let times = frame_times(&scene, &placed, &all, &FrameOptions::default()).unwrap();
        let path = folder.0.join(format!("{name}.glb"));
        let remarks = meshreel_write::glb::write(&path, &scene, &times, &mut |_, _| {}).unwrap();
        assert!(!remarks.iter().any(|r| r.what.contains("not there")), "{name}: {remarks:?}");
        let glb = Glb::open(&path);
        for frame in [0, times.len() / 2, times.len() - 1] {
            let time = times[frame] - times[0].min(0.0);
            let (ours, wanted) = (glb.triangles(time as f32), expected(&scene, times[frame]));
            assert_eq!(ours.len(), wanted.len(), "{name} frame {frame}");
            let bounds = |t: &[[DVec3; 3]]| {
                let all = t.iter().flatten();
                all.fold((DVec3::MAX, DVec3::MIN), |(low, high), p| (low.min(*p), high.max(*p)))
            };
            let (a, b) = (bounds(&ours), bounds(&wanted));
            let size = 1.0 + b.0.abs().max(b.1.abs()).max_element();
            if !wanted.is_empty() {
                let off = (a.0 - b.0).abs().max((a.1 - b.1).abs()).max_element();
                assert!(off < 1e-5 * size, "{name} frame {frame}: {a:?} {b:?}");
            }
            let (a, b) = (moments(&ours), moments(&wanted));
            assert!(a.2.distance(b.2) < 1e-4 * (1.0 + b.0), "{name} frame {frame}: {a:?} {b:?}");
        }
    }
}
