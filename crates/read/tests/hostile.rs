//! Damaged Alembic files give an error of one line, or remarks and a partial scene. Never a panic, a hang, or
//! more values than the file has bytes.

use meshreel_read::{ReadOptions, open};
use meshreel_scene::{Attribute, Channel, Scene};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Largest number of samples read of each channel.
const SAMPLES: usize = 4;

fn read_some<T: Clone + Send + Sync + 'static>(channel: &Channel<T>, bytes: usize) {
    let mut out = Vec::new();
    let last = channel.len().saturating_sub(1);
    for i in (0..channel.len()).take(SAMPLES).chain([last]) {
        let _ = channel.identity(i);
        if channel.read(i, &mut out).is_ok() {
            assert!(out.len() <= bytes, "{} values of {bytes} bytes", out.len());
        }
    }
    channel.is_constant();
}

fn read_attribute<T: Clone + Send + Sync + 'static>(attribute: &Attribute<T>, bytes: usize) {
    read_some(&attribute.values, bytes);
    if let Some(indices) = &attribute.indices {
        read_some(indices, bytes);
    }
}

fn walk(scene: &Scene, bytes: usize) {
    let _ = scene.expand();
    for node in &scene.nodes {
        if let Some(transform) = &node.transform {
            read_some(&transform.local, bytes);
        }
        if let Some(visibility) = &node.visibility {
            read_some(visibility, bytes);
        }
    }
    for mesh in &scene.meshes {
        read_some(&mesh.positions, bytes);
        read_some(&mesh.face_counts, bytes);
        read_some(&mesh.face_indices, bytes);
        mesh.normals.iter().for_each(|a| read_attribute(a, bytes));
        mesh.uvs.iter().for_each(|a| read_attribute(a, bytes));
        mesh.colours.iter().for_each(|a| read_attribute(a, bytes));
        for set in &mesh.face_sets {
            read_some(&set.faces, bytes);
        }
    }
}

/// Opens and reads a file; `true` if there was a scene.
fn survive(path: &Path, size: usize) -> bool {
    let start = Instant::now();
    let result = open(path, &ReadOptions::default());
    let opened = match &result {
        Ok((scene, remarks)) => {
            walk(scene, size.max(64));
            assert!(remarks.iter().all(|r| !r.to_string().contains('\n')));
            true
        }
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            false
        }
    };
    let limit = Duration::from_secs(10);
    assert!(start.elapsed() < limit, "{}: bounded work", path.display());
    opened
}

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }
    fn survive(&self, bytes: &[u8]) -> bool {
        let path = self.0.path().join("damaged.abc");
        // Overwritten, not replaced: some file systems sync a truncated file when it is closed.
        let mut options = std::fs::File::options();
        let mut file = options.write(true).create(true).truncate(false).open(&path).unwrap();
        file.write_all(bytes).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        survive(&path, bytes.len())
    }
}

/// xorshift: the same damage in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

#[test]
fn malformed_files_of_the_library() {
    let Some(folder) = crate::corpus::alembic() else {
        return;
    };
    let mut files = 0;
    for entry in std::fs::read_dir(folder.join("fuzz")).unwrap() {
        let path = entry.unwrap().path();
        let size = std::fs::metadata(&path).unwrap().len() as usize;
        survive(&path, size);
        files += 1;
    }
    assert_eq!(files, 30);
}

/// Returns a small animated archive of our writer: transform, mesh, face set, uv and visibility.
fn small() -> Vec<u8> {
    use meshreel_scene::*;
    let sampling = || TimeSampling::Uniform { start: 0.0, step: 0.04 };
    let node = |name: &str, parent, kind| Node {
        name: name.into(),
        parent,
        ..Node::new(
            match parent {
                None => format!("/{name}"),
                Some(_) => format!("/move/{name}"),
            },
            kind,
        )
    };
    let mut scene = Scene::default();
    let mut group = node("move", None, NodeKind::Xform);
    let moves = (0..3).map(|i| vec![glam::DMat4::from_translation(glam::DVec3::splat(f64::from(i)))]);
    group.transform =
        Some(Transform { local: Channel::in_memory(sampling(), moves.collect()).into(), inherits: None });
    group.visibility = Some(Channel::in_memory(sampling(), vec![vec![1], vec![0], vec![-1]]));
    let mut shape = node("shape", Some(0), NodeKind::PolyMesh);
    shape.mesh = Some(0);
    scene.nodes = vec![group, shape];
    let points = (0..3).map(|i| vec![[i as f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    scene.meshes = vec![Mesh {
        winding: Winding::Clockwise,
        uvs: vec![Attribute {
            name: "uv".into(),
            scope: Scope::FaceVarying,
            values: Channel::constant(vec![[0.0, 0.0], [1.0, 0.5]]),
            indices: Some(Channel::constant(vec![0, 1, 0])),
        }],
        face_sets: vec![FaceSet { name: "1_red".into(), faces: Channel::constant(vec![0]) }],
        ..Mesh::new(
            "/move/shape",
            Channel::in_memory(sampling(), points.collect()),
            Channel::constant(vec![3]),
            Channel::constant(vec![0, 1, 2]),
        )
    }];
    let scratch = Scratch::new();
    let path = scratch.0.path().join("small.abc");
    meshreel_write::alembic::write(&path, &scene, &mut |_, _| {}).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn every_truncation_and_many_flips_of_a_small_file() {
    let good = small();
    let scratch = Scratch::new();
    assert!(scratch.survive(&good));
    for n in 0..good.len() {
        scratch.survive(&good[..n]);
    }
    let mut bytes = good.clone();
    let mut opened = 0;
    for at in 0..good.len() {
        for value in [!good[at], good[at] ^ 1, 0xFF, 0] {
            bytes[at] = value;
            opened += usize::from(scratch.survive(&bytes));
        }
        bytes[at] = good[at];
    }
    assert!(opened > good.len(), "most damage is survived: {opened}");
}

#[test]
fn damage_to_files_of_other_exporters() {
    let Some(folder) = crate::corpus::alembic() else {
        return;
    };
    let mut files = vec![
        "third_alembic/polyMesh1_f5eaa5.abc",
        "third_alembic/cube_769245.abc",
        "third_imageengine/alembicIndices_dac2ca.abc",
        "third_imageengine/subdPlane_7833a4.abc",
        "gen/j_visibility_particles.abc",
    ];
    if cfg!(feature = "hdf5") {
        files.push("third_imageengine/cube_e74a57.abc");
    }
    let scratch = Scratch::new();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for file in files {
        let good = std::fs::read(folder.join(file)).unwrap();
        for i in 0..40 {
            scratch.survive(&good[..good.len() * i / 40]);
        }
        let mut bytes = good.clone();
        for _ in 0..150 {
            let places: Vec<usize> = (0..1 + random.below(4)).map(|_| random.below(good.len())).collect();
            for &at in &places {
                bytes[at] = random.below(256) as u8;
            }
            scratch.survive(&bytes);
            for &at in &places {
                bytes[at] = good[at];
            }
        }
    }
}

#[test]
fn what_is_no_file_or_no_archive() {
    let folder = tempfile::tempdir().unwrap();
    let options = ReadOptions::default();
    for (name, content) in [("empty.abc", &b""[..]), ("text.abc", b"hello"), ("x.bin", b"hello")] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        assert!(open(&path, &options).err().unwrap().to_string().contains(name));
    }
    assert!(open(folder.path(), &options).is_err(), "a folder");
    assert!(open(&folder.path().join("missing.abc"), &options).is_err());
    let mut with_points = options;
    with_points.points = Some("points.pc2".into());
    let path = folder.path().join("small.abc");
    std::fs::write(&path, small()).unwrap();
    let error = open(&path, &with_points).err().unwrap();
    assert!(error.to_string().contains("--points"), "{error}");
}
