//! Tests of OBJ, PLY, point caches and sequences as files on disk.

use meshreel_read::{ReadOptions, obj, ply, sequence};
use meshreel_scene::{ABSENT, Error, Remark, Scene, Topology};
use std::path::Path;

type Opened = Result<(Scene, Vec<Remark>), Error>;

const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

fn with_points(obj_path: &Path, points: &Path, fps: f64) -> Opened {
    obj::open(
        obj_path,
        &ReadOptions { points: Some(points.into()), source_fps: fps, ..ReadOptions::default() },
    )
}

fn pc2(points: i32, start: f32, rate: f32, frames: i32, values: &[f32]) -> Vec<u8> {
    let mut out = b"POINTCACHE2\0".to_vec();
    out.extend(1i32.to_le_bytes());
    out.extend(points.to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend(rate.to_le_bytes());
    out.extend(frames.to_le_bytes());
    values.iter().for_each(|v| out.extend(v.to_le_bytes()));
    out
}

fn mdd(frames: i32, points: i32, times: &[f32], values: &[f32]) -> Vec<u8> {
    let mut out = frames.to_be_bytes().to_vec();
    out.extend(points.to_be_bytes());
    times.iter().chain(values).for_each(|v| out.extend(v.to_be_bytes()));
    out
}

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32 * 0.5).collect()
}

/// Writes a triangle and a point cache, and opens both.
fn open_cache(name: &str, bytes: &[u8]) -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a.obj"), folder.path().join(name));
    std::fs::write(&a, TRIANGLE).unwrap();
    std::fs::write(&b, bytes).unwrap();
    with_points(&a, &b, 24.0)
}

#[test]
fn pc2_moves_the_points() {
    let (scene, remarks) = open_cache("b.pc2", &pc2(3, 12.0, 2.0, 2, &ramp(18))).unwrap();
    assert!(remarks.is_empty());
    let mesh = &scene.meshes[0];
    assert_eq!(mesh.topology, Topology::Homogeneous);
    assert_eq!((mesh.positions.len(), mesh.positions.time(0), mesh.positions.time(1)), (2, 0.5, 14.0 / 24.0));
    let mut out = Vec::new();
    mesh.positions.read(1, &mut out).unwrap();
    assert_eq!(out, [[4.5, 5.0, 5.5], [6.0, 6.5, 7.0], [7.5, 8.0, 8.5]]);
    assert!(mesh.positions.read(2, &mut out).is_err());
    assert_eq!(scene.nodes[0].samples, 2);
    let (scene, _) = open_cache("b.pc2", &pc2(3, 0.0, 1.0, 1, &ramp(9))).unwrap();
    assert_eq!(scene.meshes[0].topology, Topology::Constant);
}

#[test]
fn mdd_moves_the_points() {
    let (scene, remarks) = open_cache("b.mdd", &mdd(2, 3, &[0.25, 0.5], &ramp(18))).unwrap();
    assert!(remarks.is_empty());
    let mesh = &scene.meshes[0];
    assert_eq!((mesh.positions.time(0), mesh.positions.time(1)), (0.25, 0.5));
    let mut out = Vec::new();
    mesh.positions.read(1, &mut out).unwrap();
    assert_eq!(out[2], [7.5, 8.0, 8.5]);
    let (scene, remarks) = open_cache("b.mdd", &mdd(2, 3, &[0.5, 0.5], &ramp(18))).unwrap();
    assert_eq!(remarks.len(), 1);
    assert_eq!(scene.meshes[0].positions.time(1), 1.0 / 24.0);
}

fn error(opened: Opened) -> String {
    match opened {
        Ok(_) => panic!("opened"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn caches_that_do_not_fit() {
    let other = error(open_cache("b.pc2", &pc2(4, 0.0, 1.0, 1, &ramp(12))));
    assert!(other.contains("4 points") && other.contains("has 3"), "{other}");
    let short = error(open_cache("b.pc2", &pc2(3, 0.0, 1.0, 5, &ramp(9 * 3 + 2))));
    assert!(short.contains("5 frames of 3 points, only 3"), "{short}");
    let short = error(open_cache("b.mdd", &mdd(5, 3, &ramp(5), &ramp(9 * 3 + 2))));
    assert!(short.contains("5 frames of 3 points, only 3"), "{short}");
    let (_, remarks) = open_cache("b.pc2", &pc2(3, f32::NAN, 0.0, 1, &ramp(10))).unwrap();
    assert_eq!(remarks.len(), 3);
    for (points, frames) in
        [(i32::MAX, i32::MAX), (-1, 1), (3, -1), (3, 0), (i32::MIN, i32::MIN), (0, i32::MAX), (3, i32::MAX)]
    {
        assert!(open_cache("b.pc2", &pc2(points, 0.0, 1.0, frames, &ramp(9))).is_err(), "{points} {frames}");
        assert!(open_cache("b.mdd", &mdd(frames, points, &[0.0], &ramp(9))).is_err(), "{points} {frames}");
    }
    for good in [pc2(3, 0.0, 1.0, 2, &ramp(18)), mdd(2, 3, &[0.0, 1.0], &ramp(18))] {
        for stop in 0..good.len() {
            assert!(open_cache("b.bin", &good[..stop]).is_err(), "{stop}");
        }
        for i in 0..40 {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[i] ^= 1 << bit;
                let _ = open_cache("b.bin", &bytes);
            }
        }
    }
    assert!(matches!(with_points(Path::new("/no/where.obj"), Path::new("x"), 24.0), Err(Error::Io { .. })));
}

#[test]
fn corpus_point_caches() {
    let Some(corpus) = crate::corpus::corpus_path("sequences").and_then(|p| p.parent().map(Path::to_owned))
    else {
        return;
    };
    for (name, frames, points, faces) in
        [("horse-gallop", 48, 8431, 16843), ("samba", 175, 9971, 19938), ("chickenCrossing", 400, 3030, 5664)]
    {
        let path = |e: &str| corpus.join("sequences").join(format!("{name}.{e}"));
        let (scene, remarks) = with_points(&path("obj"), &path("pc2"), 30.0).unwrap();
        assert!(remarks.is_empty(), "{remarks:?}");
        let mesh = &scene.meshes[0];
        assert_eq!((mesh.positions.len(), mesh.face_counts.len()), (frames, 1));
        let (mut counts, mut values) = (Vec::new(), Vec::new());
        mesh.face_counts.read(0, &mut counts).unwrap();
        assert_eq!(counts.len(), faces);
        for frame in 0..frames {
            mesh.positions.read(frame, &mut values).unwrap();
            assert_eq!(values.len(), points);
        }
        // The OBJ is the first frame, printed with nine digits.
        mesh.positions.read(0, &mut values).unwrap();
        let still = obj::open(&path("obj"), &ReadOptions::default()).unwrap().0;
        let mut own = Vec::new();
        still.meshes[0].positions.read(0, &mut own).unwrap();
        assert_eq!(own, values);
    }
}

fn write_all(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn open_pattern(folder: &tempfile::TempDir, pattern: &str) -> Opened {
    let path = folder.path().join(pattern);
    assert!(sequence::is_pattern(&path));
    sequence::open(&path, &ReadOptions { source_fps: 25.0, ..ReadOptions::default() })
}

#[test]
fn a_sequence_with_changing_topology() {
    let quad = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n";
    let moved = "v 0 0 1\nv 1 0 1\nv 0 1 1\nf 1 2 3\n";
    let folder = write_all(&[
        ("f.0009.obj", TRIANGLE),
        ("f.0010.obj", moved),
        ("f.0011.obj", quad),
        ("f.0012.obj", TRIANGLE),
        ("f.12.obj", "not this"),
        ("f.0012.obj.bak", "nor this"),
    ]);
    for pattern in ["f.####.obj", "f.%04d.obj"] {
        let (scene, remarks) = open_pattern(&folder, pattern).unwrap();
        assert!(remarks.is_empty(), "{remarks:?}");
        assert_eq!((scene.nodes.len(), scene.nodes[0].path.as_str(), scene.nodes[0].samples), (1, "/f", 4));
        let mesh = &scene.meshes[0];
        assert_eq!(mesh.topology, Topology::Heterogeneous);
        assert_eq!(mesh.positions.time(3), 3.0 / 25.0);
        let same = |i, j| mesh.face_indices.identity(i) == mesh.face_indices.identity(j);
        assert!(same(0, 1) && !same(1, 2) && same(0, 3));
        assert_eq!(mesh.positions.identity(0), mesh.positions.identity(3));
        let mut out = Vec::new();
        // In any order, and more frames than the cache holds.
        for i in [3usize, 0, 2, 1, 2, 0].into_iter().cycle().take(50) {
            mesh.positions.read(i, &mut out).unwrap();
            assert_eq!(out.len(), [3, 3, 4, 3][i]);
            assert_eq!(out[0][2], [0.0, 1.0, 0.0, 0.0][i]);
        }
    }
}

#[test]
fn topology_classes_and_gaps() {
    let moved = "v 0 0 1\nv 1 0 1\nv 0 1 1\nf 1 2 3\n";
    let folder = write_all(&[
        ("a1.obj", TRIANGLE),
        ("a3.obj", moved),
        ("a10.obj", TRIANGLE),
        ("b_1.obj", TRIANGLE),
        ("b_2.obj", TRIANGLE),
    ]);
    let (scene, remarks) = open_pattern(&folder, "a#.obj").unwrap();
    assert_eq!(scene.meshes[0].topology, Topology::Homogeneous);
    assert_eq!(scene.meshes[0].positions.time(2), 9.0 / 25.0);
    assert!(
        remarks.len() == 1 && remarks[0].what.contains("7 numbers") && remarks[0].what.contains("first is 2"),
        "{remarks:?}"
    );
    let (scene, _) = open_pattern(&folder, "b_%d.obj").unwrap();
    assert_eq!((scene.meshes[0].topology, scene.nodes[0].name.as_str()), (Topology::Constant, "b"));
    assert!(scene.meshes[0].positions.is_constant());
    let missing = error(open_pattern(&folder, "c.##.obj"));
    assert!(missing.contains("no file fits"), "{missing}");
    assert!(!sequence::is_pattern(Path::new("a%.obj")) && !sequence::is_pattern(Path::new("#/a.obj")));
    assert!(open_pattern(&folder, "a#.abc").is_err());
}

#[test]
fn objects_come_and_go() {
    let object = |name: &str, from: usize, m: &str| {
        format!("o {name}\nv 0 0 {from}\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl {m}\nf -3/-1 -2/-1 -1/-1\n")
    };
    let bare = "o a\nv 0 0 3\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    let both = object("a", 2, "m") + &object("b", 2, "n");
    let folder = write_all(&[("s1.obj", &object("a", 1, "m")), ("s2.obj", &both), ("s3.obj", bare)]);
    let (scene, remarks) = open_pattern(&folder, "s#.obj").unwrap();
    assert_eq!(scene.nodes.iter().map(|n| n.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(scene.nodes[0].visibility.is_none());
    let visible = scene.nodes[1].visibility.as_ref().unwrap();
    let (mut flag, mut out, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    let flags: Vec<i8> = (0..3)
        .map(|i| {
            visible.read(i, &mut flag).unwrap();
            flag[0]
        })
        .collect();
    assert_eq!(flags, [ABSENT, -1, ABSENT]);
    assert!(visible.identity(0) == visible.identity(2) && visible.identity(0) != visible.identity(1));
    // While it is absent it keeps its faces, so its topology does not change.
    assert_eq!(scene.meshes[1].topology, Topology::Constant);
    scene.meshes[1].positions.read(0, &mut out).unwrap();
    assert_eq!(out[0], [0.0, 0.0, 2.0]);
    // The third file has no uvs and no material.
    let uvs = &scene.meshes[0].uvs[0];
    uvs.indices.as_ref().unwrap().read(2, &mut indices).unwrap();
    assert_eq!(indices, [0, 0, 0]);
    assert_eq!(scene.meshes[0].face_sets.len(), 1);
    let mut faces = Vec::new();
    scene.meshes[0].face_sets[0].faces.read(2, &mut faces).unwrap();
    assert!(faces.is_empty());
    assert_eq!(remarks.len(), 1, "{remarks:?}");
}

#[test]
fn a_bad_or_changed_file_of_a_sequence_is_named() {
    let folder = write_all(&[("x01.obj", TRIANGLE), ("x02.obj", "v 1 2\n"), ("x03.obj", "")]);
    let error = error(open_pattern(&folder, "x##.obj"));
    assert!(error.contains("x02.obj") && error.contains("line 1"), "{error}");
    std::fs::write(folder.path().join("x02.obj"), TRIANGLE).unwrap();
    std::fs::write(folder.path().join("x03.obj"), TRIANGLE).unwrap();
    let (scene, _) = open_pattern(&folder, "x##.obj").unwrap();
    std::fs::write(folder.path().join("x02.obj"), "v 0 0 0\n").unwrap();
    let changed = scene.meshes[0].positions.read(1, &mut Vec::new()).unwrap_err().to_string();
    assert!(changed.contains("x02.obj") && changed.contains("changed"), "{changed}");
}

#[test]
fn a_ply_sequence_and_a_single_file() {
    let file = |z: f32, n: usize| {
        let rows: String = (0..n).map(|i| format!("{i} {} {z}\n", i * i)).collect();
        format!(
            "ply\nformat ascii 1.0\nelement vertex {n}\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n{rows}3 0 1 2\n"
        )
    };
    let folder =
        write_all(&[("p-08.ply", &file(0.0, 3)), ("p-09.ply", &file(1.0, 3)), ("p-10.ply", &file(1.0, 4))]);
    let (scene, _) = open_pattern(&folder, "p-##.ply").unwrap();
    assert_eq!((scene.nodes[0].path.as_str(), scene.meshes[0].topology), ("/p", Topology::Heterogeneous));
    let mut out = Vec::new();
    scene.meshes[0].positions.read(2, &mut out).unwrap();
    assert_eq!(out[3], [3.0, 9.0, 1.0]);
    let (scene, remarks) = ply::open(&folder.path().join("p-08.ply"), &ReadOptions::default()).unwrap();
    assert!(remarks.is_empty());
    assert_eq!((scene.nodes[0].path.as_str(), scene.format, scene.counts.meshes), ("/p-08", "ply", 1));
}

/// Returns the frames in which the only mesh is absent.
fn gone_in(scene: &Scene) -> Vec<usize> {
    let (visible, mut flag) = (&scene.nodes[0].visibility, Vec::new());
    let visible = visible.as_ref().expect("it is not always there");
    let is_gone = |i: &usize| {
        visible.read(*i, &mut flag).unwrap();
        flag[0] == ABSENT
    };
    (0..visible.len()).filter(is_gone).collect()
}

#[test]
fn an_empty_file_of_a_sequence_is_a_frame_of_nothing() {
    let ply = |n: usize| {
        let rows: String = (0..n).map(|i| format!("{i} {} 0\n", i * i)).collect();
        let faces = if n > 0 { "3 0 1 2\n" } else { "" };
        format!(
            "ply\nformat ascii 1.0\nelement vertex {n}\nproperty float x\nproperty float y\nproperty float z\nelement face {}\nproperty list uchar int vertex_indices\nend_header\n{rows}{faces}",
            faces.lines().count()
        )
    };
    let (whole, none) = (ply(3), ply(0));
    for (extension, full, empty) in [
        ("obj", TRIANGLE, ""),
        ("obj", TRIANGLE, "# nothing\no a\nusemtl m\n"),
        ("ply", &whole, ""),
        ("ply", &whole, &none),
    ] {
        for gone in [&[0, 1][..], &[2], &[4], &[0, 2, 3, 4]] {
            let names: Vec<String> = (0..5).map(|i| format!("f{i}.{extension}")).collect();
            let content = |i: usize| if gone.contains(&i) { empty } else { full };
            let files: Vec<(&str, &str)> = (0..5).map(|i| (&*names[i], content(i))).collect();
            let folder = write_all(&files);
            let pattern = format!("f#.{extension}");
            let (scene, remarks) = open_pattern(&folder, &pattern).unwrap();
            assert_eq!((scene.meshes.len(), scene.nodes[0].samples), (1, 5));
            assert_eq!(gone_in(&scene), gone, "{extension} {empty:?}");
            let [remark] = &remarks[..] else {
                panic!("{remarks:?}");
            };
            assert!(remark.what.contains("frames in which nothing is shown"), "{remark}");
            assert!(remark.what.contains(&names[gone[0]]), "{remark}");
            let mut out = Vec::new();
            for i in 0..5 {
                scene.meshes[0].positions.read(i, &mut out).unwrap();
                assert_eq!(out.len(), 3);
            }
        }
        let folder = write_all(&[("f0", empty), ("f1", empty)]);
        for name in ["f0", "f1"] {
            let path = folder.path().join(name);
            std::fs::rename(&path, path.with_extension(extension)).unwrap();
        }
        let error = error(open_pattern(&folder, &format!("f#.{extension}")));
        assert!(error.contains("no points in any file"), "{error}");
    }
    // A file that is no OBJ is an error in a sequence too; an empty one alone has no mesh.
    let folder = write_all(&[("f0.obj", TRIANGLE), ("f1.obj", "\0\0\0\0")]);
    assert!(error(open_pattern(&folder, "f#.obj")).contains("no points"));
    std::fs::write(folder.path().join("f1.obj"), "").unwrap();
    let alone = meshreel_read::open(&folder.path().join("f1.obj"), &ReadOptions::default());
    assert!(error(alone).contains("no points"));
}
