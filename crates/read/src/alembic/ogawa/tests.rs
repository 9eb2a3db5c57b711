//! Files written byte by byte: hostile ones, and the smallest valid one.

use super::*;
use crate::{ReadOptions, open};
use meshreel_scene::{Remark, Scene};
use std::time::{Duration, Instant};

const DATA: u64 = 1 << 63;

/// A file under construction.
struct ArchiveBuilder(Vec<u8>);

impl ArchiveBuilder {
    fn new() -> ArchiveBuilder {
        ArchiveBuilder(b"Ogawa\xFF\0\x01\0\0\0\0\0\0\0\0".to_vec())
    }

    fn data(&mut self, bytes: &[u8]) -> u64 {
        let at = self.0.len() as u64;
        self.0.extend((bytes.len() as u64).to_le_bytes());
        self.0.extend(bytes);
        at | DATA
    }

    /// Adds a sample: a given number as key, and the payload.
    fn sample(&mut self, key: u128, payload: &[u8]) -> u64 {
        self.data(&[&key.to_le_bytes(), payload].concat())
    }

    fn group(&mut self, references: &[u64]) -> u64 {
        let at = self.0.len() as u64;
        self.0.extend((references.len() as u64).to_le_bytes());
        self.0.extend(references.iter().flat_map(|r| r.to_le_bytes()));
        at
    }

    /// Adds headers of children without metadata.
    fn names(&mut self, names: &[&str]) -> u64 {
        let mut bytes = Vec::new();
        for name in names {
            bytes.extend((name.len() as u32).to_le_bytes());
            bytes.extend(name.as_bytes());
            bytes.push(0);
        }
        bytes.extend([0; 32]);
        self.data(&bytes)
    }

    fn patch(&mut self, at: u64, value: u64) {
        self.0[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// Completes the file around the top object.
    fn finish(mut self, top: u64) -> Vec<u8> {
        let version = self.data(&0i32.to_le_bytes());
        let library = self.data(&10_800i32.to_le_bytes());
        let mut sampling = 1u32.to_le_bytes().to_vec();
        sampling.extend(1f64.to_le_bytes());
        sampling.extend(1u32.to_le_bytes());
        sampling.extend(0f64.to_le_bytes());
        let samplings = self.data(&sampling);
        let root = self.group(&[version, library, top, DATA, samplings, DATA]);
        self.patch(8, root);
        self.0
    }
}

/// Makes a property header with counters of 4 bytes and inline metadata.
fn header(kind: u32, pod: u32, samples: u32, name: &str, meta: &str) -> Vec<u8> {
    let constant = 0x800;
    let info = kind | 2 << 2 | pod << 4 | constant | 1 << 12 | 255 << 20;
    let mut bytes = info.to_le_bytes().to_vec();
    if kind != 0 {
        bytes.extend(samples.to_le_bytes());
    }
    for text in [name, meta] {
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

fn read(bytes: &[u8]) -> Result<(Scene, Vec<Remark>), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("raw.abc");
    std::fs::write(&path, bytes).unwrap();
    let start = Instant::now();
    let result = open(&path, &ReadOptions::default());
    assert!(start.elapsed() < Duration::from_secs(20), "bounded work");
    result
}

#[test]
fn the_smallest_archive() {
    let (scene, remarks) = read(&ArchiveBuilder::new().finish(0)).unwrap();
    assert!(scene.nodes.is_empty() && remarks.is_empty());
    let mut raw = ArchiveBuilder::new();
    let names = raw.names(&["ä", "b"]);
    let top = raw.group(&[0, 0, 0, names]);
    let (scene, remarks) = read(&raw.finish(top)).unwrap();
    assert!(remarks.is_empty());
    let paths: Vec<&str> = scene.nodes.iter().map(|n| n.path.as_str()).collect();
    assert_eq!(paths, ["/ä", "/b"]);
}

#[test]
fn headers_that_are_refused_by_name() {
    let good = ArchiveBuilder::new().finish(0);
    let edited = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        read(&bytes).err().unwrap().to_string()
    };
    assert!(edited(5, 0).contains("not closed"));
    assert!(edited(7, 2).contains("container version 2"));
    assert!(edited(16 + 8, 1).contains("Alembic-Ogawa version 1"));
    assert!(edited(16 + 8 + 3, 0x80).contains("Alembic-Ogawa version -"));
    assert!(edited(28 + 8 + 1, 0).contains("library version"));
    assert!(read(&good[..12]).err().unwrap().to_string().contains("header"));
}

#[test]
fn objects_in_circles_and_nets_end() {
    // An object that is its own grandchild.
    let mut raw = ArchiveBuilder::new();
    let names = raw.names(&["a"]);
    let inner = raw.group(&[0, 0, names]);
    let outer = raw.group(&[0, inner, names]);
    raw.patch(inner + 16, outer);
    let (scene, remarks) = read(&raw.finish(outer)).unwrap();
    assert!(scene.nodes.len() < 4 && remarks[0].what.contains("same object"));
    // Eight children, all the same object, which again has eight children that are one object, and so on.
    let mut raw = ArchiveBuilder::new();
    let names = raw.names(&["a", "b", "c", "d", "e", "f", "g", "h"]);
    let mut level = 0;
    for _ in 0..100 {
        let mut group = vec![level; 10];
        (group[0], group[9]) = (0, names);
        level = raw.group(&group);
    }
    let (scene, _) = read(&raw.finish(level)).unwrap();
    assert!(scene.nodes.len() < 200);
}

#[test]
fn deep_trees_are_cut_and_long_paths_refused() {
    let chain = |name: &str| {
        let mut raw = ArchiveBuilder::new();
        let names = raw.names(&[name]);
        let mut object = 0;
        for _ in 0..2000 {
            object = raw.group(&[0, object, names]);
        }
        read(&raw.finish(object))
    };
    let (scene, remarks) = chain("a").unwrap();
    assert_eq!(scene.nodes.len(), 512);
    assert!(remarks[0].what.contains("deeper"));
    assert!(matches!(chain(&"a".repeat(60_000)), Err(Error::Limit { .. })));
}

#[test]
fn counts_beyond_the_file_are_refused() {
    for count in [3, 1 << 20, 1 << 61, u64::MAX] {
        let mut raw = ArchiveBuilder::new();
        let names = raw.names(&["a"]);
        let top = raw.group(&[0, 0, names]);
        raw.patch(top, count);
        let error = read(&raw.finish(top));
        // Three children is the true number; larger counts are refused.
        assert_eq!(error.is_ok(), count == 3);
        let mut raw = ArchiveBuilder::new();
        let names = raw.names(&["a"]);
        raw.patch(names & !DATA, count);
        let top = raw.group(&[0, 0, names]);
        let (scene, _) = match read(&raw.finish(top)) {
            Ok(read) => read,
            Err(Error::Malformed { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        assert!(scene.nodes.is_empty());
    }
}

/// Makes a file with an object `m`, a PolyMesh with the given property headers and groups.
fn mesh(mut raw: ArchiveBuilder, headers: &[Vec<u8>], groups: &[u64]) -> Vec<u8> {
    let headers = raw.data(&headers.concat());
    let geometry = raw.group(&[groups, &[headers]].concat());
    let schema = header(0, 0, 0, ".geom", "schema=AbcGeom_PolyMesh_v1");
    let schema = raw.data(&schema);
    let compound = raw.group(&[geometry, schema]);
    let object = raw.group(&[compound, DATA]);
    let names = raw.names(&["m"]);
    let top = raw.group(&[0, object, names]);
    raw.finish(top)
}

#[test]
fn properties_by_hand() {
    let numbers = |n: &[i32]| -> Vec<u8> { n.iter().flat_map(|v| v.to_le_bytes()).collect() };
    let good = |samples: u32, payload: &[u8]| {
        let mut raw = ArchiveBuilder::new();
        let sample = raw.sample(7, payload);
        let group = raw.group(&[sample, DATA]);
        mesh(raw, &[header(2, 6, samples, ".faceCounts", "")], &[group])
    };
    let (scene, remarks) = read(&good(1, &numbers(&[3, 4]))).unwrap();
    let mut counts = Vec::new();
    scene.meshes[0].face_counts.read(0, &mut counts).unwrap();
    assert_eq!(counts, [3, 4]);
    assert_eq!(remarks.len(), 1, "no positions");
    // Three surplus bytes belong to no number.
    let (scene, _) = read(&good(1, &[1, 0, 0, 0, 9, 9, 9])).unwrap();
    scene.meshes[0].face_counts.read(0, &mut counts).unwrap();
    assert_eq!(counts, [1]);
    // A constant property can claim any number of samples.
    let (scene, _) = read(&good(60_000, &numbers(&[3]))).unwrap();
    assert!(scene.meshes[0].face_counts.is_constant());
    let (scene, remarks) = read(&good(u32::MAX, &numbers(&[3]))).unwrap();
    assert!(scene.meshes.is_empty() && remarks[0].what.contains("more samples"));
}

#[test]
fn keys_tell_equal_samples() {
    let mut raw = ArchiveBuilder::new();
    let one = raw.sample(1, &[1, 0, 0, 0]);
    let same = raw.sample(1, &[1, 0, 0, 0]);
    let other = raw.sample(2, &[2, 0, 0, 0]);
    let blank = raw.sample(0, &[3, 0, 0, 0]);
    let blank_too = raw.sample(0, &[4, 0, 0, 0]);
    let blocks = [one, same, other, blank, blank_too, DATA];
    let group = raw.group(&blocks.iter().flat_map(|b| [*b, DATA]).collect::<Vec<_>>());
    // Samples 1 to 5 differ from sample 0 or each other: first and last are stored.
    let info: u32 = 2 | 2 << 2 | 6 << 4 | 0x200 | 1 << 12;
    let mut header = info.to_le_bytes().to_vec();
    for counter in [6u32, 1, 5, 11] {
        header.extend(counter.to_le_bytes());
    }
    header.extend(b".faceCounts");
    let bytes = mesh(raw, &[header], &[group]);
    let (scene, _) = read(&bytes).unwrap();
    let channel = &scene.meshes[0].face_counts;
    let id = |i| channel.identity(i);
    assert_eq!(id(0), id(1));
    assert!(id(0) != id(2) && id(3) != id(4), "blank keys say nothing");
    assert!(!channel.is_constant());
    let mut all = Vec::new();
    for i in 0..6 {
        let mut one = Vec::new();
        channel.read(i, &mut one).unwrap();
        all.push(one);
    }
    assert_eq!(all, [vec![1], vec![1], vec![2], vec![3], vec![4], vec![]]);
    assert!(channel.read(6, &mut Vec::new()).is_err());
}

#[test]
fn compounds_within_themselves_end() {
    let mut raw = ArchiveBuilder::new();
    let headers = raw.data(&header(0, 0, 0, ".arbGeomParams", ""));
    let inner = raw.group(&[0, headers]);
    raw.patch(inner + 8, inner);
    let bytes = mesh(raw, &[header(0, 0, 0, ".arbGeomParams", "")], &[inner]);
    assert_eq!(read(&bytes).unwrap().0.meshes.len(), 1);
}

#[test]
fn large_tables_used_by_many_are_stopped() {
    // 5,000 attributes that share one table of 20,000 samples.
    let mut raw = ArchiveBuilder::new();
    let sample = raw.sample(1, &[0; 8]);
    let table = raw.group(&vec![sample; 40_000]);
    let headers: Vec<Vec<u8>> =
        (0..5000).map(|i| header(2, 10, 20_000, &format!("a{i}"), "interpretation=rgb")).collect();
    let bytes = mesh(raw, &headers, &[table; 5000]);
    match read(&bytes) {
        Ok((scene, _)) => assert_eq!(scene.meshes.len(), 1),
        Err(error) => assert!(matches!(error, Error::Limit { .. }), "{error}"),
    }
}
