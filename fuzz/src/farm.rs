//! Plans and parts of small caches: seeds, a way past their checksum, and changes to what their sections
//! hold.

use crate::file;
use crate::forge::Random;
use libfuzzer_sys::fuzzer_mutate;
use meshreel_commands::farm::{PlanRequest, part, plan};
use meshreel_commands::shard::Shard;
use meshreel_compile::Silent;
use std::f32::consts::PI;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use xxhash_rust::xxh3::xxh3_128;

/// Bytes before sections, before each of them, and of the checksum behind all.
const HEAD: usize = 12;
const SECTION: usize = 12;
const HASH: usize = 16;
/// Bytes by which a change may make a section longer.
const GROWTH: usize = 64;

/// What is planned.
pub struct Cache {
    /// Its files.
    pub inputs: Vec<PathBuf>,
    /// Its positions over time, if they stand by themselves.
    pub points: Option<PathBuf>,
}

/// Small caches: cloth that stands still at first, boxes that fly apart, a tube that bends, faces that
/// change, nodes whose transforms cannot be coded.
pub fn caches() -> &'static [Cache] {
    static CACHES: OnceLock<Vec<Cache>> = OnceLock::new();
    CACHES.get_or_init(|| {
        let shear = include_bytes!("../../testdata/inputs/m_scale_shear.abc");
        let frames: Vec<PathBuf> = (0..20).map(fluid).collect();
        let sequence = frames[0].with_file_name("fluid.##.obj");
        let shear = Cache { inputs: vec![file("shear.abc", shear)], points: None };
        vec![cloth(), boxes(), tube(), Cache { inputs: vec![sequence], points: None }, shear]
    })
}

/// A plan of each cache with some options, and all of its frames as one part; the first byte of each says of
/// which cache.
pub fn seeds() -> &'static [Vec<u8>] {
    static SEEDS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let mut out = Vec::new();
        for (number, cache) in (0..).zip(caches()) {
            for preset in ["small", "fast"] {
                let said = [("preset", preset), ("effort", "2"), ("jobs", "1"), ("tolerance", "1%")];
                let wanted = PlanRequest {
                    inputs: cache.inputs.clone(),
                    points: cache.points.clone(),
                    options: None,
                    said: said.map(|(key, value)| (key.into(), value.into())).to_vec(),
                };
                let planned = file("seed.plan", &[]);
                let coded = planned.with_extension("part");
                plan(wanted, &planned, &Silent).expect("a plan");
                let whole = Shard::new(1, 1).expect("the whole");
                let _ = fs::remove_file(&coded);
                part(&planned, whole, &coded, None, 1, &Silent).expect("a part");
                for path in [&planned, &coded] {
                    let bytes = fs::read(path).expect("a seed");
                    out.push([&[number][..], &bytes].concat());
                }
            }
        }
        out
    })
}

/// Puts the checksum right. False where there is no room for one.
pub fn seal(bytes: &mut [u8]) -> bool {
    let Some(end) = bytes.len().checked_sub(HASH).filter(|end| *end >= HEAD) else {
        return false;
    };
    let hash = xxh3_128(&bytes[..end]).to_le_bytes();
    bytes[end..].copy_from_slice(&hash);
    true
}

/// Kind and bytes of each section, as far as they are whole.
fn sections(bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut rest = bytes.get(HEAD..bytes.len().saturating_sub(HASH)).unwrap_or_default();
    let mut out = Vec::new();
    while let Some((head, behind)) = rest.split_first_chunk::<SECTION>() {
        let kind = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let size: [u8; 8] = std::array::from_fn(|k| head[4 + k]);
        let size = u64::from_le_bytes(size).min(behind.len() as u64) as usize;
        out.push((kind, behind[..size].to_vec()));
        rest = &behind[size..];
    }
    out
}

/// A custom mutator, as [`libfuzzer_sys::fuzz_mutator`] wants it: changes what a section holds, or which
/// there are.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random(seed.into());
    let own = size > 1 + HEAD + HASH && !random.one_in(200);
    let from = match own {
        true => data[..size].to_vec(),
        false => seeds()[random.below(seeds().len())].clone(),
    };
    let mut all = sections(&from[1..]);
    if own && !all.is_empty() {
        let at = random.below(all.len());
        match random.below(12) {
            0 => drop(all.remove(at)),
            1 => {
                let other = &seeds()[random.below(seeds().len())];
                let others = sections(&other[1..]);
                all[at] = others[random.below(others.len())].clone();
            }
            2 => all.swap(at, 0),
            _ => {
                let bytes = &mut all[at].1;
                let length = bytes.len();
                bytes.resize(length + GROWTH, 0);
                let most = bytes.len();
                let length = fuzzer_mutate(bytes, length, most);
                bytes.truncate(length);
            }
        }
    }
    let mut out = from[..1 + HEAD].to_vec();
    for (kind, bytes) in all {
        out.extend(kind.to_le_bytes());
        out.extend((bytes.len() as u64).to_le_bytes());
        out.extend(bytes);
    }
    out.extend([0; HASH]);
    if out.len() > max_size.min(data.len()) {
        return fuzzer_mutate(data, size, max_size);
    }
    data[..out.len()].copy_from_slice(&out);
    out.len()
}

type Points = Vec<[f32; 3]>;

fn obj(name: &str, points: &Points, faces: &[Vec<usize>], uvs: bool) -> PathBuf {
    let mut text = String::new();
    for [x, y, z] in points {
        text += &format!("v {x} {y} {z}\n");
    }
    for [x, y, _] in points.iter().filter(|_| uvs) {
        text += &format!("vt {x} {y}\n");
    }
    for face in faces {
        let corner = |v: &usize| if uvs { format!(" {0}/{0}", v + 1) } else { format!(" {}", v + 1) };
        text += &format!("f{}\n", face.iter().map(corner).collect::<String>());
    }
    file(name, text.as_bytes())
}

/// A mesh whose points are elsewhere in each frame.
fn moving(name: &str, faces: &[Vec<usize>], frames: u32, uvs: bool, at: impl Fn(u32) -> Points) -> Cache {
    let first = at(0);
    let input = obj(&format!("{name}.obj"), &first, faces, uvs);
    let mut bytes = b"POINTCACHE2\0".to_vec();
    bytes.extend(1u32.to_le_bytes());
    bytes.extend((first.len() as u32).to_le_bytes());
    bytes.extend([0f32, 1.0].iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend(frames.to_le_bytes());
    for frame in 0..frames {
        bytes.extend(at(frame).as_flattened().iter().flat_map(|number| number.to_le_bytes()));
    }
    Cache { inputs: vec![input], points: Some(file(&format!("{name}.pc2"), &bytes)) }
}

fn grid(width: usize, height: usize) -> Vec<Vec<usize>> {
    let quad = |x, y| vec![y * width + x, y * width + x + 1, (y + 1) * width + x + 1, (y + 1) * width + x];
    (0..height - 1).flat_map(|y| (0..width - 1).map(move |x| quad(x, y))).collect()
}

fn cloth() -> Cache {
    moving("cloth", &grid(5, 4), 90, true, |t| {
        let t = t.saturating_sub(70) as f32;
        let at = |x: f32, y: f32| [x + 0.1 * (t + y).sin() * t.min(1.0), y, 0.3 * (0.4 * t).sin() * x];
        (0..20).map(|k| at((k % 5) as f32, (k / 5) as f32)).collect()
    })
}

fn boxes() -> Cache {
    let sides = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]];
    let faces: Vec<_> = (0..6).flat_map(|i| sides.map(|side| side.map(|v| 8 * i + v).to_vec())).collect();
    moving("boxes", &faces, 20, false, |t| {
        let at = |k: usize| {
            let (i, v) = (k / 8, k % 8);
            let [x, y, z] = [v & 1, v >> 1 & 1, v >> 2].map(|side| side as f32 - 0.5);
            let (sin, cos) = (0.2 * t as f32 * (1 + i) as f32).sin_cos();
            [2.0 * i as f32 + x * cos - y * sin, x * sin + y * cos + 0.2 * (t * i as u32) as f32, z]
        };
        (0..48).map(at).collect()
    })
}

fn tube() -> Cache {
    let side =
        |r: usize, k: usize| vec![r * 6 + k, r * 6 + (k + 1) % 6, (r + 1) * 6 + (k + 1) % 6, (r + 1) * 6 + k];
    let faces: Vec<_> = (0..7).flat_map(|r| (0..6).map(move |k| side(r, k))).collect();
    moving("tube", &faces, 20, false, |t| {
        let at = |p: usize| {
            let (ring, k) = ((p / 6) as f32, (p % 6) as f32);
            let (sin, cos) = (0.12 * (0.4 * t as f32).sin() * (ring - 3.0).max(0.0)).sin_cos();
            let (y, x) = (k * PI / 3.0).sin_cos();
            [x * cos + ring * sin, y, ring * cos - x * sin]
        };
        (0..48).map(at).collect()
    })
}

fn fluid(t: usize) -> PathBuf {
    let n = 3 + t / 5 % 3;
    let at = |k: usize| [(k % n) as f32 / n as f32, (k / n) as f32 / n as f32, 0.1 * (t + k) as f32];
    obj(&format!("fluid.{t:02}.obj"), &(0..n * n).map(at).collect(), &grid(n, n), true)
}

/// Where what is made of an input goes.
pub fn target(name: &str) -> PathBuf {
    let path = file(name, &[]);
    let _ = fs::remove_file(&path);
    path
}
