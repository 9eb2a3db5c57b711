//! Files made by hand, with codecs and container but without the compiler: a small one, and one with all
//! features.

use std::path::PathBuf;

use meshreel::FrameKind;
use meshreel::raw::format::kind;
use meshreel_codec::classic::stream::{References, SpatialPrediction, encode_b_frame, encode_index};
use meshreel_codec::entropy::block::{BlockFormat, Compressor};
use meshreel_codec::quantize::Axis;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::record::{
    self, CODEC_CLASSIC, ChunkLocation, Coding, Description, MaterialRecord, MeshRecord, Method, NodeRecord,
    Semantic, StreamRecord, Visibility,
};
use meshreel_codec::topology::index;
use meshreel_codec::transform::{self, Transform};
use meshreel_codec::values::parallelogram::{PredictorTable, build_table, derive_table, encode_table};
use meshreel_format::{EMPTY_BOUNDS, Summary, Writer};

const BOX: [f32; 6] = [-1.0, -1.0, 0.0, 1.0, 1.0, 2.0];

/// Returns bounds of every kind: the whole box, nothing, and parts of it that are no 255ths.
fn bounds(frame: usize) -> [f32; 6] {
    let part = 1.0 / (frame + 1) as f32;
    match frame % 3 {
        0 => BOX,
        1 => EMPTY_BOUNDS,
        _ => BOX.map(|side| side * part),
    }
}

/// A file being built: blocks by name, for the example, and the container.
struct File {
    path: PathBuf,
    writer: Writer,
    compressor: Compressor,
    parts: Vec<(&'static str, Vec<u8>)>,
}

impl File {
    fn new(path: PathBuf, format: BlockFormat) -> File {
        File {
            writer: Writer::create(&path).unwrap(),
            path,
            compressor: Compressor::new(format, 5),
            parts: Vec::new(),
        }
    }

    fn block(&mut self, name: &'static str, content: &[u8]) -> Vec<u8> {
        let mut block = Vec::new();
        self.compressor.compress(content, &mut block);
        self.parts.push((name, block.clone()));
        block
    }

    fn chunk(&mut self, name: &'static str, kind: u16, content: &[u8]) -> u32 {
        let block = self.block(name, content);
        self.writer.add_chunk(kind, content.len() as u32, &block).unwrap()
    }

    fn frame(&mut self, time: f64, kind: FrameKind, bounds: [f32; 6], content: &[u8]) {
        let (name, kind) = match kind {
            FrameKind::Index => ("an index frame", kind::INDEPENDENT_UNIT),
            _ => ("a between frame", kind::DEPENDENT_UNIT),
        };
        self.chunk(name, kind, content);
        self.writer.add_frame(time, bounds).unwrap();
    }

    fn finish(self) -> (Vec<u8>, Vec<(&'static str, Vec<u8>)>) {
        let summary = Summary { bounds: BOX, raw_bytes: 0, flags: 0 };
        self.writer.finish(summary).unwrap();
        (std::fs::read(&self.path).unwrap(), self.parts)
    }
}

fn stream_record(semantic: Semantic, animated: bool, word: u8, bits: u8) -> StreamRecord {
    let axis =
        |k: usize| Axis { min: -1.0 + k as f32, step: 2.0 / ((1u32 << bits) - 1) as f32, codes: 1 << bits };
    StreamRecord {
        semantic,
        set: 0,
        name: String::new(),
        animated,
        coding: Coding::Quantized,
        word,
        bits,
        axes: match semantic.has_axes() {
            true => (0..semantic.components()).map(axis).collect(),
            false => Vec::new(),
        },
        states: 0,
        bones: Default::default(),
        tolerance: 0.01,
    }
}

fn mesh_record(path: &str, method: Method, vertices: u32, indices: u32) -> MeshRecord {
    MeshRecord {
        path: path.into(),
        method,
        codec: CODEC_CLASSIC,
        vertices,
        indices,
        source_points: vertices,
        points: 0,
        bounds: BOX,
        connectivity: ChunkLocation::default(),
        values: ChunkLocation::default(),
        source_map: ChunkLocation::default(),
        has_table: false,
        moving_frames: None,
        end_states: ChunkLocation::default(),
        remeshed_blend_frames: None,
        separate_attributes: false,
        particles: None,
        streams: Vec::new(),
        materials: vec![MaterialRecord { id: 0, name: "all".into(), first: 0, count: indices }],
    }
}

fn node_record(path: &str, parent: Option<u32>, mesh: Option<u32>) -> NodeRecord {
    NodeRecord {
        path: path.into(),
        parent,
        mesh,
        animated: false,
        visibility: Visibility::Always,
        rest: Transform::IDENTITY,
        tolerance: 0.01,
        baked: false,
        reach: 0.0,
    }
}

fn description(nodes: Vec<NodeRecord>, meshes: Vec<MeshRecord>) -> Description {
    Description {
        generator: "example".into(),
        options: "tolerance = 0.01\n".into(),
        unit: 1,
        fps: 24.0,
        period: 0.0,
        restart: 0,
        node_setup: Vec::new(),
        nodes,
        meshes,
    }
}

fn spatial(semantic: Semantic) -> SpatialPrediction {
    match semantic {
        Semantic::Position | Semantic::Uv => SpatialPrediction::Parallelogram,
        _ => SpatialPrediction::Average,
    }
}

/// The values of a stream in all frames, and the coding of each frame.
struct Stream {
    record: StreamRecord,
    frames: Vec<Vec<u32>>,
}

impl Stream {
    fn base(&self, table: &PredictorTable, out: &mut Vec<u8>) {
        match self.record.word {
            1 => self.base_as::<u8>(|v| v as u8, table, out),
            2 => self.base_as::<u16>(|v| v as u16, table, out),
            _ => self.base_as::<u32>(|v| v, table, out),
        }
    }

    fn base_as<W: Code>(&self, word: fn(u32) -> W, table: &PredictorTable, out: &mut Vec<u8>) {
        let values: Vec<W> = self.frames[0].iter().map(|&v| word(v)).collect();
        let semantic = self.record.semantic;
        let refs = References::of_index_frame(None, table);
        encode_index(&values, semantic.components(), spatial(semantic), refs, out);
    }

    fn frame(&self, i: usize, kinds: &[FrameKind], table: &PredictorTable, out: &mut Vec<u8>) {
        match self.record.word {
            1 => self.frame_as::<u8>(|v| v as u8, i, kinds, table, out),
            2 => self.frame_as::<u16>(|v| v as u16, i, kinds, table, out),
            _ => self.frame_as::<u32>(|v| v, i, kinds, table, out),
        }
    }

    fn frame_as<W: Code>(
        &self,
        word: fn(u32) -> W,
        i: usize,
        kinds: &[FrameKind],
        table: &PredictorTable,
        out: &mut Vec<u8>,
    ) {
        let values = |i: usize| -> Vec<W> { self.frames[i].iter().map(|&v| word(v)).collect() };
        let semantic = self.record.semantic;
        let (k, spatial) = (semantic.components(), spatial(semantic));
        let base = values(0);
        if kinds[i] == FrameKind::Index {
            let refs = References::of_index_frame(Some(&base), table);
            encode_index(&values(i), k, spatial, refs, out);
            return;
        }
        let index = |j: &usize| kinds[*j] == FrameKind::Index;
        let first = (0..i).rev().find(index).unwrap();
        let last = (i..kinds.len()).find(index).unwrap();
        let (previous, first_values, last_values) = (values(i - 1), values(first), values(last));
        let before = (i >= first + 2).then(|| values(i - 2));
        let refs = References {
            base: Some(&base),
            previous: Some(&previous),
            before_previous: before.as_deref(),
            index_before: Some(&first_values),
            index_after: Some(&last_values),
            table,
        };
        encode_b_frame(&values(i), k, refs, 5, out);
    }
}

/// Returns a square of two triangles that moves to the right and bends; its node rotates. Three frames.
pub fn small(path: PathBuf) -> (Vec<u8>, Vec<(&'static str, Vec<u8>)>) {
    let indices = [0, 1, 2, 2, 1, 3];
    let positions = Stream {
        record: stream_record(Semantic::Position, true, 1, 6),
        frames: (0..3u32)
            .map(|f| {
                let x = [0, 20, 0, 20].map(|x| x + 5 * f);
                let y = [0, 0, 20, 20];
                let z = [0, 0, 0, f * f];
                [x, y, z].concat()
            })
            .collect(),
    };
    let kinds = [FrameKind::Index, FrameKind::Predicted, FrameKind::Index];
    let values: Vec<Vec<u8>> =
        positions.frames.iter().map(|f| f.iter().map(|&v| v as u8).collect()).collect();
    let frames: Vec<&[u8]> = values.iter().map(|f| &f[..]).collect();
    let table = build_table(&indices, 4, 3, &frames);

    let mut file = File::new(path, BlockFormat::Store);
    let mut mesh = mesh_record("/square", Method::Soft, 4, 6);
    mesh.has_table = true;
    mesh.streams = vec![positions.record.clone()];
    let mut bytes = Vec::new();
    index::encode(&indices, &mut bytes);
    mesh.connectivity =
        ChunkLocation { chunk: file.chunk("indices", 2, &bytes), offset: 0, size: bytes.len() as u32 };
    bytes.clear();
    encode_table(&table, &indices, &mut bytes);
    positions.base(&table, &mut bytes);
    mesh.values =
        ChunkLocation { chunk: file.chunk("static data", 3, &bytes), offset: 0, size: bytes.len() as u32 };
    let turned =
        |f: usize| Transform { rotation: [0.0, 0.0, [0.0, 0.5, 1.0][f], 1.0], ..Transform::IDENTITY };
    for f in 0..3usize {
        let mut bytes = Vec::new();
        let previous = [turned(f.saturating_sub(1))];
        let previous = (kinds[f] == FrameKind::Predicted).then_some(&previous[..]);
        transform::encode(&[turned(f)], previous, &mut bytes);
        positions.frame(f, &kinds, &table, &mut bytes);
        file.frame(f as f64 / 24.0, kinds[f], BOX, &bytes);
    }
    let node = NodeRecord { animated: true, ..node_record("/square", None, Some(0)) };
    let mut bytes = Vec::new();
    record::encode(&description(vec![node], vec![mesh]), &mut bytes);
    file.chunk("description", 1, &bytes);
    file.finish()
}

/// Pseudo-random numbers, the same in every run.
struct Noise(u64);

impl Noise {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}

fn grid(columns: u32, rows: u32) -> Vec<u32> {
    let corner = |x: u32, y: u32| y * columns + x;
    (0..rows - 1)
        .flat_map(|y| (0..columns - 1).map(move |x| (x, y)))
        .flat_map(|(x, y)| {
            let [a, b] = [corner(x, y), corner(x + 1, y)];
            let [c, d] = [corner(x, y + 1), corner(x + 1, y + 1)];
            [a, b, c, c, b, d]
        })
        .collect()
}

/// Returns a wave over `count` vertices for one frame, with some noise; component-major, below 2^bits.
fn wave(noise: &mut Noise, record: &StreamRecord, count: u32, frame: u32) -> Vec<u32> {
    let top = (1u32 << record.bits) - 1;
    let components = record.semantic.components() as u32;
    let half_levels = !record.semantic.has_axes();
    let value = |k: u32, v: u32, n: u32| {
        let phase = f64::from(v) * 0.2 + f64::from(k) + f64::from(frame) * 0.1;
        let level = (phase.sin() * 0.45 + 0.5) * f64::from(top);
        (level as u32 + n).min(top - u32::from(half_levels))
    };
    (0..components)
        .flat_map(|k| (0..count).map(move |v| (k, v)))
        .map(|(k, v)| {
            // Most are smooth, some jump: short and long residuals.
            let n = if noise.below(20) == 0 { top / 3 } else { 3 };
            value(k, v, noise.below(n.max(1)))
        })
        .collect()
}

/// Returns a scene with a cloth, a fluid and a stone, and every kind of stream, in `frames` frames.
pub fn rich(path: PathBuf, format: BlockFormat, frames: usize) -> Vec<u8> {
    let mut noise = Noise(frames as u64);
    let kinds: Vec<FrameKind> = (0..frames)
        .map(|i| match i % 4 == 0 || i + 1 == frames {
            true => FrameKind::Index,
            false => FrameKind::Predicted,
        })
        .collect();
    let mut file = File::new(path, format);

    // Cloth: soft.
    let cloth_indices = grid(9, 7);
    let vertices = 63;
    let cloth: Vec<Stream> = [
        (Semantic::Position, true, 2, 14),
        (Semantic::QTangent, true, 2, 10),
        (Semantic::Uv, false, 4, 18),
        (Semantic::Colour, true, 1, 8),
    ]
    .map(|(semantic, animated, word, bits)| {
        let record = stream_record(semantic, animated, word, bits);
        let frames = (0..frames as u32)
            .map(|f| wave(&mut noise, &record, vertices, if animated { f } else { 0 }))
            .collect();
        Stream { record, frames }
    })
    .into();
    let positions: Vec<Vec<u16>> =
        cloth[0].frames.iter().map(|f| f.iter().map(|&v| v as u16).collect()).collect();
    let some: Vec<&[u16]> = positions.iter().map(|f| &f[..]).collect();
    let table = build_table(&cloth_indices, vertices as usize, 3, &some);

    // Stone: static, without a table. Both meshes share their chunks.
    let stone_indices = [0, 1, 2, 0, 2, 3, 0, 3, 1, 3, 2, 1];
    let stone_record = stream_record(Semantic::Position, false, 1, 7);
    let stone = Stream { frames: vec![wave(&mut noise, &stone_record, 4, 0)], record: stone_record };
    let mut bytes = vec![0xaa; 5];
    let place = |chunk: u32, start: usize, end: usize| ChunkLocation {
        chunk,
        offset: start as u32,
        size: (end - start) as u32,
    };
    index::encode(&cloth_indices, &mut bytes);
    let cut = bytes.len();
    index::encode(&stone_indices, &mut bytes);
    let chunk = file.chunk("indices", 2, &bytes);
    let connectivity = [place(chunk, 5, cut), place(chunk, cut, bytes.len())];
    let mut bytes = Vec::new();
    encode_table(&table, &cloth_indices, &mut bytes);
    for stream in &cloth {
        stream.base(&table, &mut bytes);
    }
    let cut = bytes.len();
    stone.base(&PredictorTable::new(), &mut bytes);
    let chunk = file.chunk("static data", 3, &bytes);
    let values = [place(chunk, 0, cut), place(chunk, cut, bytes.len())];

    let mut cloth_record = mesh_record("/root/cloth", Method::Soft, vertices, cloth_indices.len() as u32);
    cloth_record.has_table = true;
    cloth_record.streams = cloth.iter().map(|s| s.record.clone()).collect();
    (cloth_record.connectivity, cloth_record.values) = (connectivity[0], values[0]);
    let mut stone_mesh = mesh_record("/stone", Method::Static, 4, 12);
    stone_mesh.streams = vec![stone.record];
    (stone_mesh.connectivity, stone_mesh.values) = (connectivity[1], values[1]);
    let mut water = mesh_record("/root/water", Method::Fluid, 80, 6 * 80);
    water.streams =
        vec![stream_record(Semantic::Position, true, 4, 20), stream_record(Semantic::Normal, true, 2, 11)];

    let mut moving = |f: usize, n: usize| -> Transform {
        let t = f as f32 * 0.1 + n as f32;
        Transform {
            rotation: [0.1 * t.sin(), 0.2, 0.3 * t.cos(), 0.9],
            translation: [t, if f < 3 { 0.0 } else { -t }, noise.below(100) as f32],
            scale: [1.0, -0.5, 1.0 + 0.1 * n as f32],
        }
    };
    let transforms: Vec<Vec<Transform>> =
        (0..frames).map(|f| (0..3).map(|n| moving(f, n)).collect()).collect();
    for f in 0..frames {
        let between = kinds[f] == FrameKind::Predicted;
        // Bits of the two nodes with animated visibility.
        let mut bytes = vec![(f % 4) as u8];
        let previous = between.then(|| &transforms[f - 1][..]);
        transform::encode(&transforms[f], previous, &mut bytes);
        for stream in cloth.iter().filter(|s| s.record.animated) {
            stream.frame(f, &kinds, &table, &mut bytes);
        }
        if f % 4 < 2 {
            bytes.push(0);
        } else {
            bytes.push(1);
            let (columns, rows) = (4 + noise.below(4), 3 + noise.below(5));
            let indices = grid(columns, rows);
            let count = columns * rows;
            for number in [count, indices.len() as u32, count, 0, indices.len() as u32] {
                bytes.extend(number.to_le_bytes());
            }
            index::encode(&indices, &mut bytes);
            let table = derive_table(&indices, count as usize);
            for record in &water.streams {
                let frames = vec![wave(&mut noise, record, count, f as u32)];
                let record = record.clone();
                Stream { record, frames }.base(&table, &mut bytes);
            }
        }
        file.frame(f as f64 * 0.04 - 0.5, kinds[f], bounds(f), &bytes);
    }

    let animated = |mut node: NodeRecord| {
        node.animated = true;
        node
    };
    let flickering = |mut node: NodeRecord| {
        node.visibility = Visibility::Animated;
        node
    };
    let mut hidden = node_record("/stone", None, Some(1));
    hidden.visibility = Visibility::Never;
    hidden.rest = transforms[0][0];
    let nodes = vec![
        animated(node_record("/root", None, None)),
        flickering(animated(node_record("/root/cloth", Some(0), Some(0)))),
        flickering(node_record("/root/water", Some(1), Some(2))),
        hidden,
        animated(node_record("/root/copy", Some(0), Some(0))),
    ];
    let mut bytes = Vec::new();
    record::encode(&description(nodes, vec![cloth_record, stone_mesh, water]), &mut bytes);
    file.chunk("description", 1, &bytes);
    file.finish().0
}
