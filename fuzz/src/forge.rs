//! Forged files: whole `.reel` files whose contents are wrong behind right checksums. A file is taken apart,
//! what its blocks hold or what its description says is changed, and it is put together again with blocks
//! packed, sizes, places and checksums right.

use libfuzzer_sys::fuzzer_mutate;
use meshreel::raw::record::{ChunkLocation, Coding, Description, Method, Semantic, Visibility};
use meshreel::raw::{format::kind, record};
use meshreel_codec::entropy::block::{BlockFormat, Compressor, Decompressor};

use crate::reel::{Part, Parts};

/// Blocks of more bytes than this are not opened.
const MAX_RAW_BYTES: usize = 1 << 20;
/// Bytes by which libFuzzer's own changes may make something longer.
const GROWTH: usize = 64;
/// Zeros that a block may be given, which pack into next to nothing.
const MAX_ZEROS_LOG2: usize = 24;

/// A small generator, so that each seed gives one file.
pub struct Random(pub u64);

impl Random {
    /// A number of 64 bits.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    /// A number below `n`; 0 where that is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.roll() >> 16) as usize % n.max(1)
    }
    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A custom mutator for whole files, as [`libfuzzer_sys::fuzz_mutator`] wants it: changes `data[..size]`,
/// returns the new size.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random(seed.into());
    let parts = Parts::parse(&data[..size]).filter(|_| !random.one_in(16));
    let Some(mut parts) = parts else {
        return fuzzer_mutate(data, size, max_size);
    };
    for _ in 0..1 + random.below(3) {
        change(&mut parts, None, &mut random);
    }
    keep(&parts.to_bytes(), data, size, max_size)
}

/// Two files into one, as [`libfuzzer_sys::fuzz_crossover`] wants it: the first, with contents of the second.
pub fn cross(one: &[u8], other: &[u8], out: &mut [u8], seed: u32) -> usize {
    let mut random = Random(seed.into());
    let (Some(mut parts), Some(other)) = (Parts::parse(one), Parts::parse(other)) else {
        return 0;
    };
    for _ in 0..1 + random.below(2) {
        match (random.below(4), pick(&other, &mut random)) {
            (0, Some(from)) if !parts.chunks.is_empty() => {
                let at = random.below(parts.chunks.len());
                parts.chunks[at].block = other.chunks[from].block.clone();
            }
            (_, from) => {
                change(&mut parts, from.and_then(|from| unpack(&other.chunks[from].block)), &mut random)
            }
        }
    }
    let file = parts.to_bytes();
    if file.len() > out.len() {
        return 0;
    }
    out[..file.len()].copy_from_slice(&file);
    file.len()
}

fn keep(file: &[u8], data: &mut [u8], size: usize, max_size: usize) -> usize {
    if file.len() > max_size.min(data.len()) || *file == data[..size] {
        return fuzzer_mutate(data, size, max_size);
    }
    data[..file.len()].copy_from_slice(file);
    file.len()
}

/// One change. `donor` is content of another file, to be taken from.
fn change(parts: &mut Parts, donor: Option<Vec<u8>>, random: &mut Random) {
    let donor = donor.or_else(|| {
        let from = pick(parts, random)?;
        unpack(&parts.chunks[from].block)
    });
    let donor = donor.unwrap_or_default();
    match random.below(16) {
        0..3 => describe(parts, random),
        3..7 => change_located(parts, &donor, random),
        7..12 => {
            let frames = parts.frames();
            let at = match frames.is_empty() || random.one_in(3) {
                true => pick(parts, random),
                false => Some(frames[random.below(frames.len())]),
            };
            if let Some(at) = at {
                let block = &mut parts.chunks[at].block;
                repack(block, random, |content, random| contents(content, &donor, random));
            }
        }
        12 => frames(parts, random),
        13 => chunks(parts, random),
        14 => table(parts, random),
        _ => sizes(parts, random),
    }
}

fn pick(parts: &Parts, random: &mut Random) -> Option<usize> {
    (!parts.chunks.is_empty()).then(|| random.below(parts.chunks.len()))
}

/// Content of a block, where that is not too much.
fn unpack(block: &[u8]) -> Option<Vec<u8>> {
    let size = Decompressor::raw_size(block).ok()?;
    let mut raw = vec![0; (size <= MAX_RAW_BYTES).then_some(size)?];
    Decompressor::new().decompress(block, &mut raw).ok()?;
    Some(raw)
}

fn pack(raw: &[u8], format: BlockFormat, block: &mut Vec<u8>) {
    block.clear();
    Compressor::new(format, 1).compress(raw, block);
}

/// Changes what a block holds, and packs it again, mostly as it was.
fn repack(block: &mut Vec<u8>, random: &mut Random, change: impl FnOnce(&mut Vec<u8>, &mut Random)) {
    let Some(mut raw) = unpack(block) else {
        return native(block);
    };
    let was = match block.first() {
        Some(1) => BlockFormat::Deflate,
        Some(2) => BlockFormat::Lz4,
        Some(3) => BlockFormat::Zstd,
        _ => BlockFormat::Store,
    };
    let formats = [was, was, was, BlockFormat::Store, BlockFormat::Lz4, BlockFormat::Zstd];
    change(&mut raw, random);
    pack(&raw, formats[random.below(formats.len())], block);
}

/// libFuzzer's own changes: it knows what the target compared with what.
fn native(content: &mut Vec<u8>) {
    let size = content.len();
    content.resize(size + GROWTH, 0);
    let size = fuzzer_mutate(content, size, size + GROWTH);
    content.truncate(size);
}

// Contents.

/// Changes bytes of which nothing is known.
fn contents(content: &mut Vec<u8>, donor: &[u8], random: &mut Random) {
    if content.is_empty() {
        content.extend_from_slice(&donor[..random.below(donor.len() + 1)]);
        return;
    }
    for _ in 0..1 + random.below(3) {
        let at = random.below(content.len());
        match random.below(16) {
            0..2 => content[at] ^= 1 << random.below(8),
            2 => content[at] = number(random, u64::from(content[at])) as u8,
            3..5 => word::<2>(content, at, random),
            5..7 => word::<4>(content, at, random),
            7 => word::<8>(content, at, random),
            8..10 => varint(content, at, random),
            10 => {
                content.truncate(at);
            }
            11 => {
                let end = (at + 1 + short(random)).min(content.len());
                content.drain(at..end);
            }
            12 => {
                let end = (at + 1 + short(random)).min(content.len());
                let twice = content[at..end].to_vec();
                content.splice(at..at, twice);
            }
            13 => {
                let fill = [0, 0xFF, random.roll() as u8][random.below(3)];
                let count = 1 + short(random);
                if random.one_in(2) {
                    content.splice(at..at, std::iter::repeat_n(fill, count));
                } else {
                    let end = (at + count).min(content.len());
                    content[at..end].fill(fill);
                }
            }
            14 if !donor.is_empty() => {
                let from = random.below(donor.len());
                let given = &donor[from..(from + 1 + short(random)).min(donor.len())];
                let end = match random.one_in(2) {
                    true => at,
                    false => (at + given.len()).min(content.len()),
                };
                content.splice(at..end, given.iter().copied());
            }
            _ => native(content),
        }
        if content.is_empty() {
            return;
        }
    }
}

/// Mostly a few, sometimes many.
fn short(random: &mut Random) -> usize {
    let most = [4, 16, 64, 4096][random.below(4)];
    random.below(most)
}

/// A number in place of `was`.
fn number(random: &mut Random, was: u64) -> u64 {
    let near = random.below(5) as u64;
    match random.below(12) {
        0 => 0,
        1 => 1,
        2 => was.wrapping_add(1),
        3 => was.wrapping_sub(1),
        4 => was.wrapping_add(near),
        5 => was.wrapping_mul(2),
        6 => was / 2,
        7 => u64::MAX,
        8 => (1u64 << random.below(33)).wrapping_sub(near),
        9 => 0x7FFF_FFFF,
        10 => random.roll() >> random.below(64),
        _ => was ^ 1 << random.below(32),
    }
}

/// Changes `N` bytes as a number, little-endian, or as a float.
fn word<const N: usize>(content: &mut [u8], at: usize, random: &mut Random) {
    let Some(bytes) = content.get_mut(at..at + N) else {
        return;
    };
    let mut all = [0; 8];
    all[..N].copy_from_slice(bytes);
    let floats = [0.0, -0.0, 1.0, -1.0, 1e30, 1e-40, f64::NAN, f64::INFINITY];
    let float = floats[random.below(floats.len())];
    let new = match (N, random.one_in(3)) {
        (4, true) => u64::from((float as f32).to_bits()),
        (8, true) => float.to_bits(),
        _ => number(random, u64::from_le_bytes(all)),
    };
    bytes.copy_from_slice(&new.to_le_bytes()[..N]);
}

/// Changes a number of variable length, which may become longer or shorter.
fn varint(content: &mut Vec<u8>, at: usize, random: &mut Random) {
    let size = content[at..].iter().take(5).take_while(|&&b| b >= 0x80).count() + 1;
    let end = (at + size).min(content.len());
    let value = (content[at..end].iter().rev()).fold(0u64, |v, &b| v << 7 | u64::from(b & 0x7F));
    let mut new = number(random, value) & 0xFFFF_FFFF;
    let mut bytes = Vec::new();
    while new >= 0x80 {
        bytes.push(new as u8 | 0x80);
        new >>= 7;
    }
    bytes.push(new as u8);
    content.splice(at..end, bytes);
}

// What the description knows of.

/// Changes something that the description says where it lies: what comes behind it in the same chunk moves,
/// and the description follows.
fn change_located(parts: &mut Parts, donor: &[u8], random: &mut Random) {
    let Some((own, mut description)) = description(parts) else {
        return;
    };
    let mut places: Vec<&mut ChunkLocation> = locations(&mut description);
    places.retain(|place| place.size > 0);
    if places.is_empty() {
        return;
    }
    let chosen = random.below(places.len());
    let place = *places[chosen];
    let Some(chunk) = parts.chunks.get_mut(place.chunk as usize) else {
        return;
    };
    let range = place.offset as usize..place.offset as usize + place.size as usize;
    let mut size = place.size as usize;
    repack(&mut chunk.block, random, |content, random| {
        let Some(inside) = content.get(range.clone()) else {
            return;
        };
        let mut inside = inside.to_vec();
        contents(&mut inside, donor, random);
        size = inside.len();
        content.splice(range, inside);
    });
    let longer = size as i64 - i64::from(place.size);
    for (i, other) in places.into_iter().enumerate() {
        if i == chosen {
            other.size = size as u32;
        } else if other.chunk == place.chunk && other.offset > place.offset {
            other.offset = (i64::from(other.offset) + longer) as u32;
        }
    }
    write_description(parts, own, &description, random);
}

fn description(parts: &Parts) -> Option<(usize, Description)> {
    let is = |part: &Part| part.kind() == kind::DESCRIPTION;
    let at = parts.chunks.iter().position(is)?;
    let content = unpack(&parts.chunks[at].block)?;
    Some((at, record::decode(&content).ok()?))
}

fn write_description(parts: &mut Parts, at: usize, description: &Description, random: &mut Random) {
    repack(&mut parts.chunks[at].block, random, |content, _| {
        content.clear();
        record::encode(description, content);
    });
}

fn locations(description: &mut Description) -> Vec<&mut ChunkLocation> {
    (description.meshes.iter_mut())
        .flat_map(|m| [&mut m.connectivity, &mut m.values, &mut m.source_map, &mut m.end_states])
        .collect()
}

/// Changes one thing that the description says.
fn describe(parts: &mut Parts, random: &mut Random) {
    let Some((own, mut all)) = description(parts) else {
        return;
    };
    let pick = |n: usize, random: &mut Random| random.below(n);
    let small = |was: u32, random: &mut Random| number(random, was.into()) as u32;
    let (nodes, meshes) = (all.nodes.len(), all.meshes.len());
    match random.below(8) {
        0 => all.restart = small(all.restart, random) % 65,
        1 => contents(&mut all.node_setup, &[], random),
        2 => all.period = [0.0, 1e-9, 1.0, 1e300][random.below(4)],
        3 if nodes > 0 => {
            let at = pick(nodes, random);
            let node = &mut all.nodes[at];
            match random.below(6) {
                0 => node.parent = (at > 0).then(|| random.below(at) as u32),
                1 => node.mesh = Some(random.below(meshes + 1) as u32),
                2 => node.animated ^= true,
                3 => {
                    let all = [Visibility::Always, Visibility::Never, Visibility::Animated];
                    node.visibility = all[random.below(3)];
                }
                4 => {
                    let values = [0.0, -0.0, 1e30, 1e-40, -1.0];
                    let value = values[random.below(5)];
                    match random.below(3) {
                        0 => node.rest.rotation[random.below(4)] = value,
                        1 => node.rest.translation[random.below(3)] = value,
                        _ => node.rest.scale[random.below(3)] = value,
                    }
                }
                _ => node.baked ^= true,
            }
        }
        4 if nodes > 0 => {
            let from = all.nodes[pick(nodes, random)].clone();
            for _ in 0..1 + short(random) {
                all.nodes.push(from.clone());
            }
        }
        5 if meshes > 0 => {
            let from = all.meshes[pick(meshes, random)].clone();
            if random.one_in(3) {
                all.meshes.pop();
            } else {
                for _ in 0..1 + short(random) {
                    all.meshes.push(from.clone());
                }
            }
        }
        _ if meshes > 0 => {
            let at = pick(meshes, random);
            mesh(&mut all.meshes[at], parts.boxes.len(), random);
        }
        _ => {}
    }
    write_description(parts, own, &all, random);
}

fn mesh(mesh: &mut record::MeshRecord, frames: usize, random: &mut Random) {
    let small = |was: u32, random: &mut Random| number(random, was.into()) as u32;
    let methods =
        [Method::Static, Method::Soft, Method::Rigid, Method::Skinned, Method::Fluid, Method::Particles];
    match random.below(20) {
        0 => mesh.method = methods[random.below(methods.len())],
        1 => mesh.codec = random.below(4) as u8,
        2 => mesh.vertices = small(mesh.vertices, random),
        3 => mesh.indices = small(mesh.indices, random) / 3 * 3,
        4 => mesh.source_points = small(mesh.source_points, random),
        5 => mesh.points = small(mesh.points, random),
        6 => mesh.has_table ^= true,
        7 => {
            let mut frame = || random.below(frames + 1) as u32;
            let (a, b) = (frame(), frame());
            mesh.moving_frames = (a < b).then_some([a, b]);
        }
        8 => mesh.separate_attributes ^= true,
        9 => mesh.remeshed_blend_frames = [None, Some(0), Some(u32::MAX)][random.below(3)],
        10 => {
            let place = match random.below(4) {
                0 => &mut mesh.connectivity,
                1 => &mut mesh.values,
                2 => &mut mesh.source_map,
                _ => &mut mesh.end_states,
            };
            match random.below(3) {
                0 => place.chunk = small(place.chunk, random),
                1 => place.offset = small(place.offset, random),
                _ => place.size = small(place.size, random),
            }
        }
        11 => {
            let values = [0.0, 1e30, -1e30, 1e-40];
            mesh.bounds[random.below(6)] = values[random.below(4)];
        }
        12 if !mesh.materials.is_empty() => {
            let at = random.below(mesh.materials.len());
            let material = &mut mesh.materials[at];
            match random.below(3) {
                0 => material.first = small(material.first, random) / 3 * 3,
                1 => material.count = small(material.count, random) / 3 * 3,
                _ => {
                    let twice = material.clone();
                    mesh.materials.push(twice);
                }
            }
        }
        13 if !mesh.streams.is_empty() => {
            let at = random.below(mesh.streams.len());
            match random.below(3) {
                0 => drop(mesh.streams.remove(at)),
                1 => {
                    let mut twice = mesh.streams[at].clone();
                    twice.set = twice.set.wrapping_add(1 + random.below(3) as u8);
                    mesh.streams.push(twice);
                }
                _ => {
                    let other = random.below(mesh.streams.len());
                    mesh.streams.swap(at, other);
                }
            }
        }
        14 => {
            let curves = record::CurvesRecord {
                basis: record::CurveBasis::Linear,
                curve_ends: record::CurveEnds::Open,
                max_curves: small(mesh.vertices, random),
            };
            let (ids, curves) = (random.below(2) == 0, (random.below(2) == 0).then_some(curves));
            mesh.particles = (random.below(3) > 0).then_some(record::ParticlesRecord { ids, curves });
        }
        _ if !mesh.streams.is_empty() => {
            let at = random.below(mesh.streams.len());
            stream(&mut mesh.streams[at], random);
        }
        _ => {}
    }
}

fn stream(stream: &mut record::StreamRecord, random: &mut Random) {
    let small = |was: u32, random: &mut Random| number(random, was.into()) as u32;
    match random.below(12) {
        0 => stream.animated ^= true,
        1 => {
            let all =
                [Coding::Quantized, Coding::FixedPoint, Coding::Predicted, Coding::Bones, Coding::Heights];
            stream.coding = all[random.below(5)];
        }
        2 => stream.word = [1, 2, 4][random.below(3)],
        3 => stream.bits = random.below(25) as u8,
        4 if !stream.axes.is_empty() => {
            let at = random.below(stream.axes.len());
            let axis = &mut stream.axes[at];
            match random.below(3) {
                0 => axis.codes = small(axis.codes, random),
                1 => axis.step = [0.0, 1e30, 1e-40, -1.0][random.below(4)],
                _ => axis.min = [0.0, 1e30, -1e30][random.below(3)],
            }
        }
        5 => stream.states = small(stream.states, random),
        6 => stream.bones.rigid = small(stream.bones.rigid, random),
        7 => stream.bones.affine = small(stream.bones.affine, random),
        8 => stream.bones.codes_per_frame = small(stream.bones.codes_per_frame, random),
        9 => stream.bones.coded = small(stream.bones.coded, random),
        10 => stream.bones.wide ^= true,
        _ => {
            stream.semantic = Semantic::ALL[random.below(Semantic::ALL.len())];
        }
    }
}

// Parts as wholes.

/// A frame twice, gone, or of the other kind. Times are left as they are, so that they ascend.
fn frames(parts: &mut Parts, random: &mut Random) {
    let frames = parts.frames();
    if frames.is_empty() {
        return;
    }
    let a = random.below(frames.len());
    let (frame, other) = (frames[a], frames[random.below(frames.len())]);
    match random.below(4) {
        0 => parts.chunks[frame].block = parts.chunks[other].block.clone(),
        1 => parts.chunks.swap(frame, other),
        2 => parts.remove_frame(a),
        _ => {
            let kind = match parts.chunks[frame].kind() {
                kind::INDEPENDENT_UNIT => kind::DEPENDENT_UNIT,
                _ => kind::INDEPENDENT_UNIT,
            };
            parts.chunks[frame].set_kind(kind);
        }
    }
}

/// A chunk twice, gone, of another kind, or elsewhere.
fn chunks(parts: &mut Parts, random: &mut Random) {
    let Some(at) = pick(parts, random) else {
        return;
    };
    let other = random.below(parts.chunks.len());
    match random.below(5) {
        0 => parts.chunks[at].set_kind(random.below(18) as u16),
        1 => {
            let kind = parts.chunks[other].kind();
            parts.chunks[at].set_kind(kind);
        }
        2 => {
            let twice = parts.chunks[at].clone();
            parts.chunks.push(twice);
        }
        3 => drop(parts.chunks.remove(at)),
        _ => parts.chunks.swap(at, other),
    }
}

/// Times and boxes.
fn table(parts: &mut Parts, random: &mut Random) {
    match random.below(4) {
        0 => parts.add_frames(1 + short(random)),
        1 => contents(&mut parts.clock, &[], random),
        2 => {
            let box_at = random.below(parts.boxes.len());
            if let Some(sides) = parts.boxes.get_mut(box_at) {
                sides[random.below(6)] = random.roll() as u8;
            }
        }
        _ => {
            let frames = parts.boxes.len();
            parts.boxes.truncate(random.below(frames + 1));
        }
    }
}

/// A block that says it holds more than it does, or that holds more than it should.
fn sizes(parts: &mut Parts, random: &mut Random) {
    let Some(at) = pick(parts, random) else {
        return;
    };
    let block = &mut parts.chunks[at].block;
    if random.one_in(2) && block.len() > 1 {
        varint(block, 1, random);
    } else if let Some(mut raw) = unpack(block) {
        raw.resize(raw.len() + (1 << random.below(MAX_ZEROS_LOG2 + 1)), 0);
        pack(&raw, BlockFormat::Zstd, block);
    }
}
