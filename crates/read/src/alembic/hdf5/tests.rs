//! Real files, whole and damaged.

use super::super::core::{Archive, PropertyHeader, PropertyKind};
use super::super::schema;
use super::{from_bytes, open};
use hdf5_reader::checksum::jenkins_lookup3;
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::layout::alembic::murmur3;
use meshreel_scene::{Error, TimeSampling};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("MESHREEL_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"), PathBuf::from);
    if !folder.join("alembic").is_dir() {
        eprintln!("skipped: no corpus");
        return None;
    }
    Some(folder.join("alembic"))
}

#[derive(Default, Debug, PartialEq)]
struct Totals {
    objects: usize,
    properties: usize,
    samples: usize,
    bytes: usize,
    /// The number of payloads whose stored key is the hash of their bytes.
    keys: usize,
}

/// Reads the whole archive.
fn walk(archive: &dyn Archive) -> Result<Totals, Error> {
    let mut totals = Totals::default();
    let mut objects = vec![archive.top()];
    let mut bytes = Vec::new();
    while let Some(object) = objects.pop() {
        totals.objects += 1;
        objects.extend(archive.children(object)?.iter().map(|child| child.id));
        let mut compounds = vec![archive.properties_of(object)?];
        while let Some(compound) = compounds.pop() {
            for p in archive.properties(compound)? {
                totals.properties += 1;
                if p.kind == PropertyKind::Compound {
                    compounds.push(p.id);
                    continue;
                }
                let mut previous = None;
                for i in 0..p.samples {
                    let identity = archive.identity(p.id, i)?;
                    if previous == Some(identity) {
                        continue;
                    }
                    previous = Some(identity);
                    archive.read(p.id, i, &mut bytes)?;
                    assert_eq!(bytes.len(), archive.size(p.id, i)?, "{}", p.name);
                    totals.samples += 1;
                    totals.bytes += bytes.len();
                    totals.keys += usize::from(identity == murmur3(&bytes));
                }
            }
        }
    }
    Ok(totals)
}

fn child(archive: &dyn Archive, object: u64, name: &str) -> u64 {
    let children = archive.children(object).unwrap();
    children.iter().find(|c| c.name == name).expect(name).id
}

fn property(archive: &dyn Archive, compound: u64, name: &str) -> PropertyHeader {
    let properties = archive.properties(compound).unwrap();
    properties.into_iter().find(|p| p.name == name).expect(name)
}

fn totals(objects: usize, properties: usize, samples: usize, bytes: usize) -> Totals {
    // Every key in these files, from Alembic 1.0 of 2011 on, is the hash of its payload.
    Totals { objects, properties, samples, bytes, keys: samples }
}

#[test]
fn reads_every_sample_of_every_property() {
    let Some(corpus) = corpus() else { return };
    let files = [
        ("gen_hdf5/a_flag_wind_hdf5.abc", totals(6, 34, 144, 988_577)),
        ("gen_hdf5/d_snake_skinned_hdf5.abc", totals(5, 29, 249, 4_130_252)),
        ("gen_hdf5/e_metaballs_hdf5.abc", totals(11, 61, 695, 1_930_456)),
        ("gen_hdf5/g_scene_attributes_hdf5.abc", totals(38, 254, 381, 187_672)),
        ("gen_hdf5/k_curves_points_cameras_hdf5.abc", totals(25, 181, 333, 119_700)),
        ("gen_hdf5/l_shutter_motionblur_hdf5.abc", totals(4, 23, 205, 540_017)),
        ("gen_hdf5/m_scale_shear_hdf5.abc", totals(29, 202, 381, 39_621)),
        ("third_alembic/cube_6b3ad3.abc", totals(6, 22, 67, 6312)),
        ("third_imageengine/animatedCube_646e79.abc", totals(11, 55, 91, 7100)),
        ("third_imageengine/coloredMesh_7d70b3.abc", totals(11, 59, 45, 1709)),
        ("third_imageengine/cube_e74a57.abc", totals(4, 20, 17, 747)),
        ("third_imageengine/rotatingCube_e8149f.abc", totals(3, 15, 37, 2409)),
        ("third_imageengine/subdPlane_b1ad4d.abc", totals(11, 54, 42, 1616)),
    ];
    for (file, expected) in files {
        let archive = open(&corpus.join(file)).unwrap();
        assert_eq!(archive.format(), "alembic-hdf5");
        // Twice, since remembered listings must give the same result.
        for _ in 0..2 {
            assert_eq!(walk(archive.as_ref()).unwrap(), expected, "{file}");
        }
    }
}

#[test]
fn headers_say_what_the_file_holds() {
    let Some(corpus) = corpus() else { return };
    let archive = open(&corpus.join("gen_hdf5/a_flag_wind_hdf5.abc")).unwrap();
    let archive = archive.as_ref();
    assert_eq!(archive.meta().get("FramesPerTimeUnit"), Some("24.000000"));
    let names: Vec<String> = archive.children(archive.top()).unwrap().into_iter().map(|c| c.name).collect();
    assert_eq!(names, ["Turbulence", "Flag", "Wind"], "in the writer's order");
    let flag = child(archive, archive.top(), "Flag");
    let mesh = archive.children(flag).unwrap().remove(0);
    assert_eq!(mesh.meta.get("schema"), Some("AbcGeom_PolyMesh_v1"));
    let geom = property(archive, archive.properties_of(mesh.id).unwrap(), ".geom").id;
    let p = property(archive, geom, "P");
    assert_eq!((p.kind, p.pod, p.extent, p.samples), (PropertyKind::Array, Pod::F32, 3, 60));
    assert_eq!(p.meta.get("geoScope"), Some("vtx"));
    assert_eq!(p.sampling.as_ref(), &TimeSampling::Uniform { start: 1.0 / 24.0, step: 1.0 / 24.0 });
    assert_eq!(archive.size(p.id, 59).unwrap(), 1271 * 12);
    assert_ne!(archive.identity(p.id, 0).unwrap(), archive.identity(p.id, 59).unwrap());
    let counts = property(archive, geom, ".faceCounts");
    assert_eq!((counts.pod, counts.samples), (Pod::I32, 60));
    assert_eq!(archive.identity(counts.id, 0).unwrap(), archive.identity(counts.id, 59).unwrap());
    let mut bytes = Vec::new();
    archive.read(counts.id, 31, &mut bytes).unwrap();
    assert!(bytes.len() == 4800 && bytes.chunks(4).all(|n| n == 4i32.to_le_bytes()));
    assert!(matches!(archive.read(counts.id, 60, &mut bytes), Err(Error::Misuse { .. })));
}

#[test]
fn strings_end_with_a_zero() {
    let Some(corpus) = corpus() else { return };
    let archive = open(&corpus.join("third_imageengine/coloredMesh_7d70b3.abc")).unwrap();
    let archive = archive.as_ref();
    let top = archive.properties_of(archive.top()).unwrap();
    let mut bytes = Vec::new();
    archive.read(property(archive, top, "statistics").id, 0, &mut bytes).unwrap();
    assert!(bytes.starts_with(b"SubDStaticNum 1 SubDStaticCVs 4 ") && bytes.ends_with(b"\0"));
    let camera = child(archive, child(archive, archive.top(), "persp"), "perspShape");
    let geom = property(archive, archive.properties_of(camera).unwrap(), ".geom").id;
    let ops = property(archive, geom, ".filmBackOps");
    archive.read(ops.id, 0, &mut bytes).unwrap();
    assert_eq!(bytes.iter().filter(|b| **b == 0).count(), ops.extent);
    assert!(bytes.starts_with(b"sfilmFitHorz\0"));
}

#[test]
fn cyclic_samplings() {
    let Some(corpus) = corpus() else { return };
    let archive = open(&corpus.join("gen_hdf5/l_shutter_motionblur_hdf5.abc")).unwrap();
    let mut objects = vec![archive.top()];
    let mut cycles = Vec::new();
    while let Some(object) = objects.pop() {
        objects.extend(archive.children(object).unwrap().iter().map(|c| c.id));
        let mut compounds = vec![archive.properties_of(object).unwrap()];
        while let Some(compound) = compounds.pop() {
            for p in archive.properties(compound).unwrap() {
                if p.kind == PropertyKind::Compound {
                    compounds.push(p.id);
                } else if let TimeSampling::Cyclic { times, period } = p.sampling.as_ref() {
                    assert!((period - 1.0 / 24.0).abs() < 1e-12);
                    cycles.push((times.len(), p.samples));
                }
            }
        }
    }
    assert!(cycles.contains(&(2, 48)) && cycles.contains(&(3, 72)), "{cycles:?}");
}

/// Part of a meshreel test file with its arrays rewritten big-endian, in chunks, shuffled and deflated, and
/// its groups and attributes in HDF5's newest layout; the keys are still those of the plain numbers.
#[test]
fn compressed_chunks_and_big_endian_numbers() {
    let path = "../../testdata/inputs/scale_gzip_hdf5.abc";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let archive = open(&path).unwrap();
    assert_eq!(walk(archive.as_ref()).unwrap(), totals(4, 23, 56, 6093));
    let whole = std::fs::read(path).unwrap();
    for length in (0..whole.len()).step_by(7) {
        survive(whole[..length].to_vec()).unwrap_err();
    }
    for at in (0..whole.len()).step_by(5) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        let _ = survive(bytes);
    }
}

#[test]
fn archives_before_1_0_are_refused_by_name() {
    let Some(corpus) = corpus() else { return };
    for file in ["bacon_poly_uvs_c182d4.abc", "cube_b661ad.abc", "xforms_4ee6f1.abc"] {
        match open(&corpus.join("third_alembic").join(file)).err() {
            Some(Error::Unsupported { what, .. }) => assert!(what.contains("before 1.0"), "{what}"),
            other => panic!("{file}: {other:?}"),
        }
    }
}

#[test]
fn what_is_no_archive_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(open(&folder.path().join("none.abc")).err(), Some(Error::Io { .. })));
    assert!(open(folder.path()).is_err());
    let name = Path::new("noise.abc");
    assert!(matches!(from_bytes(name, Vec::new()).err(), Some(Error::Malformed { .. })));
    let mut bytes = b"\x89HDF\r\n\x1a\n".to_vec();
    bytes.resize(4096, 0xff);
    assert!(matches!(
        from_bytes(name, bytes).err(),
        Some(Error::Malformed { .. } | Error::Unsupported { .. })
    ));
}

/// Opens and reads the whole archive; may return an error, but must neither panic nor hang.
fn survive(bytes: Vec<u8>) -> Result<Totals, Error> {
    let start = Instant::now();
    let result = from_bytes(Path::new("damaged.abc"), bytes).and_then(|archive| {
        let _ = schema::read(archive.clone());
        walk(archive.as_ref())
    });
    assert!(start.elapsed() < Duration::from_secs(5), "{result:?}");
    result
}

#[test]
fn every_truncation_is_an_error() {
    let Some(corpus) = corpus() else { return };
    for file in ["third_imageengine/cube_e74a57.abc", "gen_hdf5/m_scale_shear_hdf5.abc"] {
        let whole = std::fs::read(corpus.join(file)).unwrap();
        for length in (0..whole.len()).step_by(whole.len() / 4000 + 1) {
            survive(whole[..length].to_vec()).unwrap_err();
        }
    }
}

#[test]
fn no_byte_flip_does_harm() {
    let Some(corpus) = corpus() else { return };
    // The old layout of groups (a symbol table) with small headers, and the new one with dense attributes.
    for (file, step) in [
        ("third_imageengine/cube_e74a57.abc", 3),
        ("gen_hdf5/m_scale_shear_hdf5.abc", 211),
        ("third_alembic/cube_6b3ad3.abc", 43),
    ] {
        let whole = std::fs::read(corpus.join(file)).unwrap();
        let mut refused = 0;
        for at in (0..whole.len()).step_by(step) {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                refused += usize::from(survive(bytes).is_err());
            }
        }
        assert!(refused > whole.len() / step / 2, "{file}: {refused}");
    }
}

/// Finds structures with a checksum: start and end of the covered bytes, and the position of the checksum.
fn checksums(file: &[u8]) -> Vec<(usize, usize, usize)> {
    let signatures = [b"OHDR", b"OCHK", b"BTHD", b"BTLF", b"BTIN", b"FRHP", b"FHIB", b"FHDB"];
    let stored = |at: usize| file.get(at..at + 4).map(|b| u32::from_le_bytes(b.try_into().unwrap()));
    let mut found = Vec::new();
    for start in 0..file.len().saturating_sub(4) {
        if file.starts_with(b"\x89HDF") && start == 0 && file[8] >= 2 {
            found.push((0, 44, 44));
        }
        let Some(signature) = signatures.iter().find(|s| file[start..].starts_with(**s)) else {
            continue;
        };
        if *signature == b"FHDB" {
            // The checksum lies inside the bytes it covers and counts as zero.
            for (size, at) in (9..16).flat_map(|b| (17..26).map(move |at| (1 << b, start + at))) {
                if let Some(mut block) = file.get(start..start + size).map(<[u8]>::to_vec) {
                    block[at - start..at - start + 4].fill(0);
                    if stored(at) == Some(jenkins_lookup3(&block)) {
                        found.push((start, start + size, at));
                    }
                }
            }
        } else {
            let ends = (start + 8..file.len().min(start + 2048))
                .filter(|&end| stored(end) == Some(jenkins_lookup3(&file[start..end])));
            found.extend(ends.take(1).map(|end| (start, end, end)));
        }
    }
    found
}

/// Like [`no_byte_flip_does_harm`], with the checksums corrected, so that the code behind them is reached.
#[test]
fn no_byte_flip_behind_a_checksum_does_harm() {
    let path = "../../testdata/inputs/scale_gzip_hdf5.abc";
    let mut files = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(path)];
    files.extend(corpus().map(|c| c.join("third_alembic/cube_6b3ad3.abc")));
    for file in files {
        let whole = std::fs::read(&file).unwrap();
        let structures = checksums(&whole);
        assert!(structures.len() > 40, "{}", structures.len());
        let mut random = 1u64;
        for _ in 0..*ROUNDS {
            let mut next = || {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                (random >> 33) as usize
            };
            let (start, end, at) = structures[next() % structures.len()];
            let mut bytes = whole.clone();
            for _ in 0..1 + next() % 3 {
                let victim = start + 4 + next() % (end - start - 4);
                bytes[victim] = [0, 1, 0x7f, 0x80, 0xff, next() as u8][next() % 6];
            }
            if at < end {
                bytes[at..at + 4].fill(0);
            }
            let sum = jenkins_lookup3(&bytes[start..end]);
            bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
            let _ = survive(bytes);
        }
    }
}

/// The environment variable raises the number of rounds, for a longer search.
static ROUNDS: std::sync::LazyLock<usize> = std::sync::LazyLock::new(|| {
    let rounds = std::env::var("MESHREEL_ROUNDS").ok().and_then(|r| r.parse().ok());
    rounds.unwrap_or(1500)
});

/// Makes a zlib stream of `count` zeros, in runs of 258 bytes with deflate's fixed codes.
fn zeros(count: u32) -> Vec<u8> {
    let (mut out, mut held, mut bits) = (vec![0x78, 0x9c], 0u64, 0);
    let mut put = |value: u64, count: u32| {
        held |= value << bits;
        bits += count;
        while bits >= 8 {
            out.push(held as u8);
            held >>= 8;
            bits -= 8;
        }
    };
    // The final block, with fixed codes; codes begin with their highest bit.
    put(0b011, 3);
    let code = |value: u32, length: u32| u64::from(value.reverse_bits() >> (32 - length));
    for _ in 0..1 + (count - 1) % 258 {
        put(code(0x30, 8), 8);
    }
    for _ in 0..(count - 1) / 258 {
        // 258 bytes copied from a distance of 1.
        put(code(0b1100_0101, 8), 8);
        put(0, 5);
    }
    put(code(0, 7), 7);
    put(0, 7);
    out.extend(((count % 65521) << 16 | 1).to_be_bytes());
    out
}

/// Replaces the first chunked array of a test file: number of values, values per chunk, filters and data.
/// `key` is that of the decoded data.
fn repacked(count: u64, chunk: u32, filters: &[u16], data: &[u8], key: u128) -> Vec<u8> {
    const HEADER_OFFSET: usize = 5343;
    let path = "../../testdata/inputs/scale_gzip_hdf5.abc";
    let mut file = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let (first, end) = (HEADER_OFFSET + 8, HEADER_OFFSET + 8 + 256);
    assert!(file[HEADER_OFFSET..].starts_with(b"OHDR") && file[HEADER_OFFSET + 5..first] == [1, 0, 1]);
    let address = file.len() as u64;
    let mut messages = Vec::new();
    let mut at = first;
    while at < end {
        let size = usize::from(u16::from_le_bytes([file[at + 1], file[at + 2]]));
        let (kind, flags) = (file[at], file[at + 3]);
        let mut body = file[at + 4..at + 4 + size].to_vec();
        match kind {
            1 => {
                body[4..12].copy_from_slice(&count.to_le_bytes());
                body[12..20].copy_from_slice(&count.to_le_bytes());
            }
            // Version 5, in chunks, one of them and filtered; two sizes of four bytes.
            8 => {
                body = vec![5, 2, 2, 2, 4];
                body.extend(chunk.to_le_bytes());
                body.extend(4u32.to_le_bytes());
                body.push(1);
                body.extend((data.len() as u64).to_le_bytes());
                body.extend([0; 4]);
                body.extend(address.to_le_bytes());
            }
            11 => {
                body = vec![2, filters.len() as u8];
                for id in filters {
                    let value = if *id == 2 { 4 } else { 6u32 };
                    body.extend(id.to_le_bytes());
                    body.extend([0, 0, 1, 0]);
                    body.extend(value.to_le_bytes());
                }
            }
            12 => {
                let from = body.len() - 16;
                body[from..].copy_from_slice(&key.to_le_bytes());
            }
            // Unused space.
            0 => body.clear(),
            _ => {}
        }
        messages.push((kind, flags, body));
        at += 4 + size;
    }
    let mut header = Vec::new();
    for (kind, flags, mut body) in messages {
        if kind == 0 {
            body.resize(256 - header.len() - 4, 0);
        }
        header.push(kind);
        header.extend((body.len() as u16).to_le_bytes());
        header.push(flags);
        header.extend(body);
    }
    file[first..end].copy_from_slice(&header);
    let sum = jenkins_lookup3(&file[HEADER_OFFSET..end]);
    file[end..end + 4].copy_from_slice(&sum.to_le_bytes());
    file.extend(data);
    // The superblock states where the file ends.
    let length = file.len() as u64;
    file[28..36].copy_from_slice(&length.to_le_bytes());
    let sum = jenkins_lookup3(&file[..44]);
    file[44..48].copy_from_slice(&sum.to_le_bytes());
    file
}

/// Returns the size of the largest sample in bytes, and the last error, if any.
fn largest(file: Vec<u8>) -> (usize, Option<Error>) {
    let archive = from_bytes(Path::new("crafted.abc"), file).unwrap();
    let (mut most, mut failed) = (0, None);
    let mut objects = vec![archive.top()];
    let mut bytes = Vec::new();
    while let Some(object) = objects.pop() {
        objects.extend(archive.children(object).unwrap().iter().map(|c| c.id));
        let mut compounds = vec![archive.properties_of(object).unwrap()];
        while let Some(compound) = compounds.pop() {
            for p in archive.properties(compound).unwrap() {
                if p.kind == PropertyKind::Compound {
                    compounds.push(p.id);
                    continue;
                }
                for i in 0..p.samples {
                    match archive.read(p.id, i, &mut bytes) {
                        Ok(()) => most = most.max(bytes.len()),
                        Err(error) => failed = Some(error),
                    }
                }
            }
        }
    }
    (most, failed)
}

/// Chunks with the key of the data they decode to, so that only the memory limits refuse them.
#[test]
fn few_bytes_of_chunks_cannot_ask_for_much_memory() {
    let key = |numbers: u32| murmur3(&vec![0; 4 * numbers as usize]);
    // Repacked within the limits.
    let small = 30_000;
    let (most, failed) = largest(repacked(small.into(), small, &[1], &zeros(4 * small), key(small)));
    assert_eq!((most, failed.map(|e| e.to_string())), (120_000, None));
    let much = 40 << 20;
    let data = zeros(4 * much);
    let key_of_much = key(much);
    let crafted = [
        ("an array of", repacked(much.into(), much, &[1], &data, key_of_much)),
        ("chunks larger", repacked(4, much, &[1], &data, key(4))),
        ("packed twice", repacked(small.into(), small, &[1, 1], &zeros(4 * small), key(small))),
        ("filter 4", repacked(small.into(), small, &[4], &zeros(4 * small), key(small))),
    ];
    for (what, file) in crafted {
        let (most, failed) = largest(file);
        let said = failed.map(|e| e.to_string()).unwrap_or_default();
        assert!(said.contains(what) && most < 1 << 20, "{what}: {said}, {most}");
    }
}
