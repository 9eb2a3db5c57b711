//! Peers that are Rust packages: meshoptimizer's vertex codec and zstd, on the same grid. Each codes all
//! frames of an animation and decodes them to floats.

use crate::peers::case::Vertices;
use crate::peers::values::{self, Code, Directions, Errors, Floats, Grid, Position};
use anyhow::Context;
use fearless_simd::Level;
use std::hint::black_box;

/// The codec of a frame's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// The vertex codec of this version.
    Vertex(i32),
    /// Planes of bytes; small numbers of either sign are small.
    Planes,
}

/// A way of coding.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    pub name: &'static str,
    packing: Packing,
    /// Differences to the frame before.
    has_deltas: bool,
    has_zstd: bool,
}

const fn method(name: &'static str, packing: Packing, has_deltas: bool, has_zstd: bool) -> Method {
    Method { name, packing, has_deltas, has_zstd }
}

/// All of them, in the order of the tables.
pub const METHODS: [Method; 9] = [
    method("meshoptimizer v0", Packing::Vertex(0), false, false),
    method("meshoptimizer v0 + zstd 19", Packing::Vertex(0), false, true),
    method("meshoptimizer v1", Packing::Vertex(1), false, false),
    method("meshoptimizer v1 + zstd 19", Packing::Vertex(1), false, true),
    method("frame deltas, meshoptimizer v0", Packing::Vertex(0), true, false),
    method("frame deltas, meshoptimizer v0 + zstd 19", Packing::Vertex(0), true, true),
    method("frame deltas, meshoptimizer v1", Packing::Vertex(1), true, false),
    method("frame deltas, meshoptimizer v1 + zstd 19", Packing::Vertex(1), true, true),
    method("frame deltas, zstd 19", Packing::Planes, true, true),
];

/// Level of meshoptimizer's encoder: the smallest output.
const LEVEL: i32 = 3;
/// Level of zstd.
const ZSTD_LEVEL: i32 = 19;

/// Animations as all methods get them.
pub struct Quantized<'a> {
    pub vertices: &'a Vertices,
    pub grid: Grid,
    frames: Vec<(Vec<Position>, Vec<Directions>)>,
}

impl<'a> Quantized<'a> {
    /// Moves positions to the grid of this tolerance; `None` if that takes more than 16 bits.
    pub fn new(vertices: &'a Vertices, tolerance: f64) -> Option<Quantized<'a>> {
        let grid = Grid::new(&vertices.frames, tolerance)?;
        let directions = |frame: &values::Frame| {
            let one = |v: usize| {
                let [a, b] = values::octahedral(frame.normals[v]);
                let [c, d] = frame.tangents.get(v).map_or([0; 2], |t| values::octahedral(*t));
                [a, b, c, d]
            };
            (0..frame.normals.len()).map(one).collect()
        };
        let frames = vertices.frames.iter().map(|f| (grid.quantize(&f.positions), directions(f))).collect();
        Some(Quantized { vertices, grid, frames })
    }

    /// Returns the bytes that meshoptimizer's codec makes of the first frame and its triangles.
    pub fn first_frame_bytes(&self) -> anyhow::Result<usize> {
        let (positions, directions) = &self.frames[0];
        let vertex = pack(METHODS[2], positions, None)?.len() + pack(METHODS[2], directions, None)?.len();
        Ok(vertex + self.triangle_bytes()?)
    }

    /// Returns the bytes of what no frame changes: triangles, uvs, signs of tangents.
    pub fn static_bytes(&self) -> anyhow::Result<usize> {
        Ok(if self.vertices.has_fixed_faces { self.triangle_bytes()? } else { 0 } + self.uv_bytes()?)
    }

    fn triangle_bytes(&self) -> anyhow::Result<usize> {
        let first = &self.vertices.frames[0];
        Ok(zstd::bulk::compress(&triangles(first)?, ZSTD_LEVEL)?.len())
    }

    /// Returns the bytes of uvs in steps that hold the default tolerance of uvs, and of signs of tangents.
    pub fn uv_bytes(&self) -> anyhow::Result<usize> {
        let uvs = &self.vertices.uvs;
        let step = f64::from(2f32).sqrt() * meshreel_options::Options::default().uv_tolerance;
        let least = |k: usize| uvs.iter().map(|uv| uv[k]).fold(f32::INFINITY, f32::min);
        let low = [least(0), least(1)];
        let code = |uv: &[f32; 2]| [0, 1].map(|k| (f64::from(uv[k] - low[k]) / step).round() as u16);
        let codes: Vec<[u16; 2]> = uvs.iter().map(code).collect();
        if codes.is_empty() {
            return Ok(0);
        }
        let codes = meshopt::encode_vertex_buffer_level(&codes, LEVEL, Some(1))?;
        let signs: Vec<u8> = self.vertices.signs.iter().map(|s| u8::from(*s < 0.0)).collect();
        let bytes = [&codes, &signs].map(|bytes| zstd::bulk::compress(bytes, ZSTD_LEVEL));
        let [codes, signs] = bytes;
        Ok(codes?.len() + signs?.len())
    }
}

fn triangles(frame: &values::Frame) -> anyhow::Result<Vec<u8>> {
    Ok(meshopt::encode_index_buffer(&frame.triangles, frame.positions.len())?)
}

/// Coded frames.
pub struct Coded {
    method: Method,
    grid: Grid,
    signs: Vec<f32>,
    /// Chunks of all frames, one behind the other; compressed with zstd where the method says so.
    bytes: Vec<u8>,
    /// Size of all chunks.
    raw_bytes: usize,
    /// Of each frame: vertices, indices, and sizes of its chunks of positions, directions and triangles.
    frames: Vec<(usize, usize, [usize; 3])>,
}

/// Codes all frames. `None` where faces change and the method needs the frame before.
pub fn encode(method: Method, source: &Quantized<'_>) -> anyhow::Result<Option<Coded>> {
    let vertices = source.vertices;
    if method.has_deltas && !vertices.has_fixed_faces {
        return Ok(None);
    }
    let (mut bytes, mut frames) = (Vec::new(), Vec::new());
    for (number, frame) in source.frames.iter().enumerate() {
        let before = number.checked_sub(1).filter(|_| method.has_deltas).map(|n| &source.frames[n]);
        let positions = pack(method, &frame.0, before.map(|b| &b.0[..]))?;
        let directions = pack(method, &frame.1, before.map(|b| &b.1[..]))?;
        let faces = match vertices.has_fixed_faces {
            true => Vec::new(),
            false => triangles(&vertices.frames[number])?,
        };
        let chunks = [positions, directions, faces];
        let indices = if chunks[2].is_empty() { 0 } else { vertices.frames[number].triangles.len() };
        frames.push((frame.0.len(), indices, chunks.each_ref().map(Vec::len)));
        bytes.extend(chunks.concat());
    }
    let raw_bytes = bytes.len();
    if method.has_zstd {
        bytes = zstd::bulk::compress(&bytes, ZSTD_LEVEL)?;
    }
    Ok(Some(Coded { method, grid: source.grid, signs: vertices.signs.clone(), bytes, raw_bytes, frames }))
}

fn pack<T: Code>(method: Method, values: &[[T; 4]], before: Option<&[[T; 4]]>) -> anyhow::Result<Vec<u8>> {
    if values.is_empty() {
        return Ok(Vec::new());
    }
    let change = |v: usize| match before {
        Some(before) => [0, 1, 2, 3].map(|k| values[v][k].minus(before[v][k])),
        None => values[v],
    };
    let codes: Vec<[T; 4]> = (0..values.len()).map(change).collect();
    match method.packing {
        Packing::Vertex(version) => Ok(meshopt::encode_vertex_buffer_level(&codes, LEVEL, Some(version))?),
        Packing::Planes => {
            let plane = |k: usize, byte: usize| codes.iter().map(move |c| c[k].zigzag().to_planes()[byte]);
            Ok((0..4).flat_map(|k| (0..T::BYTES).flat_map(move |byte| plane(k, byte))).collect())
        }
    }
}

/// Decodes frames one after the other, into memory of its own.
pub struct Decoder<'a> {
    coded: &'a Coded,
    level: Level,
    zstd: zstd::bulk::Decompressor<'static>,
    raw: Vec<u8>,
    positions: Vec<Position>,
    directions: Vec<Directions>,
    pub out: Floats,
}

impl Coded {
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn decoder(&self) -> anyhow::Result<Decoder<'_>> {
        Ok(Decoder {
            coded: self,
            level: Level::new(),
            zstd: zstd::bulk::Decompressor::new()?,
            raw: Vec::with_capacity(self.raw_bytes),
            positions: Vec::new(),
            directions: Vec::new(),
            out: Floats::default(),
        })
    }

    /// Allocates what the interface of the package `meshopt` allocates in a pass, and nothing else: that is
    /// not the codec's time.
    pub fn allocate(&self) {
        if self.method.packing == Packing::Planes {
            return;
        }
        for &(count, indices, sizes) in &self.frames {
            black_box(vec![Position::default(); black_box(count)]);
            if sizes[1] > 0 {
                black_box(vec![Directions::default(); black_box(count)]);
            }
            if sizes[2] > 0 {
                black_box(vec![0u32; black_box(indices)]);
            }
        }
    }

    /// Compares all decoded frames with their source.
    pub fn errors(&self, source: &Vertices) -> anyhow::Result<Errors> {
        let mut errors = Errors::default();
        self.decoder()?.pass(&mut |number, out| {
            let (positions, normals) = (out.positions.as_flattened(), out.normals.as_flattened());
            errors.add(&source.frames[number], positions, normals, 4);
        })?;
        Ok(errors)
    }
}

impl Decoder<'_> {
    /// Decodes all frames to floats.
    pub fn pass(&mut self, each: &mut dyn FnMut(usize, &Floats)) -> anyhow::Result<()> {
        let coded = self.coded;
        let mut bytes = &coded.bytes[..];
        if coded.method.has_zstd {
            self.raw.clear();
            self.zstd.decompress_to_buffer(bytes, &mut self.raw)?;
            bytes = &self.raw;
        }
        for (number, &(count, indices, sizes)) in coded.frames.iter().enumerate() {
            let mut chunk = |size: usize| {
                let (chunk, rest) = bytes.split_at_checked(size).context("a chunk is cut off")?;
                bytes = rest;
                anyhow::Ok(chunk)
            };
            let (positions, directions, faces) = (chunk(sizes[0])?, chunk(sizes[1])?, chunk(sizes[2])?);
            let is_first = number == 0 || !coded.method.has_deltas;
            unpack(self.level, coded.method.packing, positions, count, is_first, &mut self.positions)?;
            values::restore_positions(self.level, &coded.grid, &self.positions, &mut self.out.positions);
            if sizes[1] > 0 {
                unpack(self.level, coded.method.packing, directions, count, is_first, &mut self.directions)?;
                values::restore_directions(self.level, &self.directions, &coded.signs, &mut self.out);
            }
            if sizes[2] > 0 {
                black_box(meshopt::decode_index_buffer::<u32>(faces, indices)?);
            }
            each(number, black_box(&self.out));
        }
        Ok(())
    }
}

/// Decodes a chunk, and adds it to the values of the frame before if it is not the first.
fn unpack<T: Code>(
    level: Level,
    packing: Packing,
    chunk: &[u8],
    count: usize,
    is_first: bool,
    values: &mut Vec<[T; 4]>,
) -> anyhow::Result<()> {
    match packing {
        Packing::Vertex(_) => {
            let codes = meshopt::decode_vertex_buffer::<[T; 4]>(chunk, count)?;
            if is_first {
                *values = codes;
            } else {
                values::add(level, values, &codes);
            }
        }
        Packing::Planes => {
            if is_first {
                values.clear();
                values.resize(count, Default::default());
            }
            values::add_planes(level, values, chunk);
        }
    }
    Ok(())
}
