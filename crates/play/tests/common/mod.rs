//! A small encoder for tests: a scene with every method, channel and word width, made directly by `codec` and
//! `format`. [`Parts`] is a file before it is written, so that tests can damage any of it behind the
//! checksums.
#![allow(dead_code)]

pub mod clips;
pub mod faults;
pub mod playing;
pub mod rigs;

use meshreel::raw::format::{Summary, Writer};
use meshreel::raw::record::{
    CODEC_CLASSIC, ChunkLocation, Coding, Description, MaterialRecord, MeshRecord, Method, NodeRecord,
    Semantic, StreamRecord, Visibility,
};
use meshreel::raw::{format::kind, record};
use meshreel::{FrameDecoder, FrameKind, Limits, Options, Reel, SourceMap, Transform};
use meshreel_codec::classic::stream;
use meshreel_codec::classic::stream::{References, SpatialPrediction};
use meshreel_codec::entropy::block::{BlockFormat, Compressor};
use meshreel_codec::quantize::Axis;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::record::source_map;
use meshreel_codec::topology::index;
use meshreel_codec::transform;
use meshreel_codec::values::parallelogram;
use meshreel_codec::values::parallelogram::PredictorTable;
use std::path::Path;
use std::sync::Arc;

/// A file before it is written: the uncompressed contents of chunks and frames.
#[derive(Clone)]
pub struct Parts {
    pub description: Description,
    /// All chunks but the description, which is chunk 0.
    pub chunks: Vec<(u16, Vec<u8>)>,
    pub frames: Vec<(f64, FrameKind, Vec<u8>)>,
    pub format: BlockFormat,
}

impl Parts {
    /// Returns the file's bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut content = Vec::new();
        record::encode(&self.description, &mut content);
        self.write_with(&content)
    }

    /// Returns the file's bytes with other bytes as description.
    pub fn write_with(&self, description: &[u8]) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("test.reel");
        let mut writer = Writer::create(&path).unwrap();
        let mut compressor = Compressor::new(self.format, 4);
        let mut block = |raw: &[u8]| {
            let mut out = Vec::new();
            compressor.compress(raw, &mut out);
            out
        };
        let size = |raw: &[u8]| raw.len() as u32;
        let bytes = block(description);
        let kind = kind::DESCRIPTION;
        (writer.add_chunk(kind, size(description), &bytes)).unwrap();
        for (kind, raw) in &self.chunks {
            // Pieces of clips are read in place, so they are not compressed.
            let bytes = if *kind == kind::TIERS { raw.clone() } else { block(raw) };
            writer.add_chunk(*kind, size(raw), &bytes).unwrap();
        }
        for (time, kind, raw) in &self.frames {
            let bytes = block(raw);
            let kind = match kind {
                FrameKind::Index => kind::INDEPENDENT_UNIT,
                _ => kind::DEPENDENT_UNIT,
            };
            writer.add_chunk(kind, size(raw), &bytes).unwrap();
            writer.add_frame(*time, [0.0; 6]).unwrap();
        }
        let summary = Summary { bounds: [0.0; 6], raw_bytes: 1, flags: 0 };
        writer.finish(summary).unwrap();
        std::fs::read(&path).unwrap()
    }
}

/// The expected content of a frame of the sample.
#[derive(Clone, Default)]
pub struct Expected {
    pub visible: Vec<bool>,
    pub transforms: Vec<Transform>,
    pub meshes: Vec<ExpectedMesh>,
}

/// The expected content of one mesh.
#[derive(Clone, Default)]
pub struct ExpectedMesh {
    pub vertices: usize,
    pub indices: Vec<u32>,
    pub materials: Vec<(u32, u32)>,
    /// The quantized values of each stream, component-major.
    pub streams: Vec<Vec<u32>>,
}

/// A sample file and its expected frames.
pub struct Sample {
    pub parts: Parts,
    pub expected: Vec<Expected>,
}

/// Reads a file of `testdata/golden`.
pub fn golden(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden");
    std::fs::read(folder.join(name)).unwrap()
}

/// Returns options of a player without threads: the tick reads and decodes.
pub fn inline(heap: usize) -> Options {
    Options::default().with_heap(heap).with_resident(0).with_threads(0).with_read_threads(0)
}

pub fn open(bytes: Vec<u8>) -> Result<Reel, meshreel::Error> {
    Reel::from_source(Arc::new(bytes), &Limits::default())
}

/// Compares everything that a decoder shows with the expected content.
pub fn assert_shows(decoder: &FrameDecoder, expected: &Expected) {
    for (node, visible) in expected.visible.iter().enumerate() {
        assert_eq!(decoder.visible(node), *visible, "node {node}");
        assert_eq!(decoder.transform(node), expected.transforms[node]);
    }
    for (m, expected) in expected.meshes.iter().enumerate() {
        let mesh = decoder.mesh(m);
        assert_eq!(mesh.vertex_count(), expected.vertices, "mesh {m}");
        assert_eq!(mesh.indices(), expected.indices, "mesh {m}");
        let ranges = mesh.materials().iter().map(|r| (r.first, r.count));
        assert_eq!(ranges.collect::<Vec<_>>(), expected.materials, "mesh {m}");
        for (s, expected) in expected.streams.iter().enumerate() {
            let levels = mesh.quantized(s);
            assert_eq!(levels.len(), expected.len(), "mesh {m} stream {s}");
            let same = expected.iter().enumerate().all(|(i, &e)| levels.get(i) == Some(e));
            assert!(same, "mesh {m} stream {s} differs");
        }
    }
}

/// Calls everything that a decoder offers, whatever it shows.
pub fn touch_everything(decoder: &FrameDecoder) {
    let mut out = Vec::new();
    for (node, record) in decoder.reel().description().nodes.iter().enumerate() {
        let _ = (decoder.visible(node), decoder.world(node));
        let Some(mesh) = record.mesh else { continue };
        let mesh = decoder.mesh(mesh as usize);
        out.resize(3 * mesh.vertex_count(), 0.0);
        mesh.positions_into(&mut out).unwrap();
        if mesh.has_normals() {
            mesh.normals_into(&mut out).unwrap();
        }
        out.resize(4 * mesh.vertex_count(), 0.0);
        if mesh.has_tangents() {
            mesh.tangents_into(&mut out).unwrap();
        }
        for stream in &mesh.record().streams {
            let set = stream.set;
            match stream.semantic {
                Semantic::Colour => mesh.colours_into(set, &mut out).unwrap(),
                Semantic::Uv => {
                    let len = 2 * mesh.vertex_count();
                    mesh.uvs_into(set, &mut out[..len]).unwrap();
                }
                _ => {}
            }
        }
        let vertices = mesh.vertex_count() as u32;
        assert!(mesh.indices().iter().all(|&i| i < vertices));
        for range in mesh.materials() {
            let end = (range.first + range.count) as usize;
            assert!(end <= mesh.indices().len());
        }
    }
}

/// Returns the kind of a frame: index frames are 0, 5, 10, 12, 13 (groups of several sizes, also an empty
/// one).
pub fn kind_of(frame: usize, frames: usize) -> FrameKind {
    if frame.is_multiple_of(5) || frame == 12 || frame + 1 == frames {
        FrameKind::Index
    } else {
        FrameKind::Predicted
    }
}

/// Returns the triangles of a grid of `n × n` vertices.
pub fn grid(n: u32) -> Vec<u32> {
    let mut indices = Vec::new();
    for y in 0..n.saturating_sub(1) {
        for x in 0..n - 1 {
            let a = y * n + x;
            indices.extend([a, a + 1, a + n, a + n, a + 1, a + n + 1]);
        }
    }
    indices
}

fn stream_record(semantic: Semantic, set: u8, animated: bool, word: u8, bits: u8) -> StreamRecord {
    let lattice = !matches!(semantic, Semantic::Normal | Semantic::QTangent);
    let axis = Axis { min: -1.5, step: 3.0 / (1u32 << bits) as f32, codes: 1 << bits };
    let axes = if lattice { semantic.components() } else { 0 };
    StreamRecord {
        semantic,
        set,
        name: format!("{semantic:?}{set}"),
        animated,
        coding: Coding::Quantized,
        word,
        bits,
        axes: vec![axis; axes],
        states: 0,
        bones: Default::default(),
        tolerance: 0.01,
    }
}

fn mesh_record(path: &str, method: Method, n: u32, streams: Vec<StreamRecord>) -> MeshRecord {
    let indices = grid(n).len() as u32;
    let half = indices / 6 * 3;
    let material = |id, name: &str, first, count| MaterialRecord { id, name: name.into(), first, count };
    MeshRecord {
        path: path.into(),
        method,
        codec: CODEC_CLASSIC,
        vertices: n * n,
        indices,
        source_points: n * n,
        points: 0,
        bounds: [-1.5, -1.5, -1.5, 1.5, 1.5, 1.5],
        connectivity: ChunkLocation::default(),
        values: ChunkLocation::default(),
        source_map: ChunkLocation::default(),
        has_table: method != Method::Fluid,
        moving_frames: None,
        end_states: ChunkLocation::default(),
        remeshed_blend_frames: None,
        separate_attributes: false,
        particles: None,
        streams,
        materials: vec![material(1, "skin1", 0, half), material(2, "cloth2", half, indices - half)],
    }
}

/// Returns quantized values that are smooth in space and time with some noise, component-major, below
/// `2^bits`.
fn wave(stream: &StreamRecord, n: u32, frame: usize, seed: u32) -> Vec<u32> {
    let top = f64::from((1u32 << stream.bits) - 1);
    let t = if stream.animated { frame as f64 } else { 0.0 };
    let mut out = Vec::new();
    for k in 0..stream.semantic.components() as u32 {
        for v in 0..n * n {
            let (x, y) = (f64::from(v % n), f64::from(v / n));
            let phase = f64::from(seed + 7 * k);
            let smooth = 0.5 + 0.45 * (0.3 * x + 0.2 * y + 0.15 * t + phase).sin();
            let noise = (v.wrapping_mul(2_654_435_761).wrapping_add(frame as u32 * 97) >> 13) % 3;
            let level = (smooth * top) as u32 + if stream.animated { noise } else { 0 };
            out.push(level.min(top as u32));
        }
    }
    out
}

fn narrow<W: Code>(codes: &[u32]) -> Vec<W> {
    codes.iter().map(|&l| W::wrap(i64::from(l))).collect()
}

fn spatial(semantic: Semantic) -> SpatialPrediction {
    match semantic {
        Semantic::Position | Semantic::Uv => SpatialPrediction::Parallelogram,
        _ => SpatialPrediction::Average,
    }
}

/// The quantized values of the frames that a stream is predicted from: base, previous, before previous, index
/// before, index after.
type CodeReferences<'a> = [Option<&'a [u32]>; 5];

fn encode_as<W: Code>(
    record: &StreamRecord,
    codes: &[u32],
    around: CodeReferences<'_>,
    table: &PredictorTable,
    out: &mut Vec<u8>,
) {
    let around = around.map(|levels| levels.map(narrow::<W>));
    let [base, previous, before_previous, index_before, index_after] =
        std::array::from_fn(|i| around[i].as_deref());
    let references = References { base, previous, before_previous, index_before, index_after, table };
    let components = record.semantic.components();
    let values = narrow::<W>(codes);
    if previous.is_some() {
        stream::encode_b_frame(&values, components, references, 5, out);
    } else {
        let spatial = spatial(record.semantic);
        stream::encode_index(&values, components, spatial, references, out);
    }
}

fn encode_stream(
    record: &StreamRecord,
    codes: &[u32],
    around: CodeReferences<'_>,
    table: &PredictorTable,
    out: &mut Vec<u8>,
) {
    match record.word {
        1 => encode_as::<u8>(record, codes, around, table, out),
        2 => encode_as::<u16>(record, codes, around, table, out),
        _ => encode_as::<u32>(record, codes, around, table, out),
    }
}

fn table_of(record: &MeshRecord, streams: &[Vec<u32>], n: u32) -> PredictorTable {
    let position = narrow::<u32>(&streams[0]);
    let vertices = record.vertices as usize;
    parallelogram::build_table(&grid(n), vertices, 3, &[&position])
}

/// Returns the side of the fluid's grid in a frame; 0 if all its placements are hidden.
fn fluid_side(frame: usize) -> u32 {
    [4, 5, 6, 0, 3, 1, 6, 2][frame % 8]
}

fn append(chunk: &mut Vec<u8>, number: u32, bytes: &[u8]) -> ChunkLocation {
    let offset = chunk.len() as u32;
    chunk.extend_from_slice(bytes);
    ChunkLocation { chunk: number, offset, size: bytes.len() as u32 }
}

fn turned(angle: f32, x: f32, scale: [f32; 3]) -> Transform {
    let (sin, cos) = (0.5 * angle).sin_cos();
    Transform { rotation: [0.0, sin, 0.0, cos], translation: [x, 0.25, -x], scale }
}

fn nodes() -> Vec<NodeRecord> {
    let node = |path: &str, parent, mesh, animated, visibility| NodeRecord {
        path: path.into(),
        parent,
        mesh,
        animated,
        visibility,
        rest: Transform::IDENTITY,
        tolerance: if mesh.is_some() { 0.01 } else { 0.0 },
        baked: false,
        reach: 0.0,
    };
    let mut nodes = vec![
        node("/root", None, None, true, Visibility::Always),
        node("/root/cloth", Some(0), Some(0), false, Visibility::Always),
        node("/root/arm", Some(0), None, true, Visibility::Always),
        node("/root/arm/hand", Some(2), Some(1), true, Visibility::Animated),
        node("/root/rock", Some(0), Some(2), false, Visibility::Animated),
        node("/root/rock2", Some(0), Some(2), false, Visibility::Never),
        node("/water", None, Some(3), false, Visibility::Animated),
    ];
    nodes[1].rest = turned(0.4, 1.0, [1.0, 2.0, 1.0]);
    nodes
}

/// Returns a sample of `frames` frames with one mesh of each method, or without the fluid one.
pub fn sample(frames: usize, fluid: bool) -> Sample {
    sample_of(frames, fluid, 9)
}

/// Returns a sample with a cloth of `side × side` vertices.
pub fn sample_of(frames: usize, fluid: bool, side: u32) -> Sample {
    let kinds: Vec<FrameKind> = (0..frames).map(|f| kind_of(f, frames)).collect();
    sample_with(&kinds, fluid, side)
}

/// Returns a sample with frames of these kinds; the first and the last must be index frames.
pub fn sample_with(kinds: &[FrameKind], fluid: bool, side: u32) -> Sample {
    use Semantic::*;
    let frames = kinds.len();
    let sides = [side, 5, 4, 6];
    let mut meshes = vec![
        mesh_record(
            "/root/cloth",
            Method::Soft,
            side,
            vec![
                stream_record(Position, 0, true, 2, 13),
                stream_record(QTangent, 0, true, 2, 11),
                stream_record(Uv, 0, false, 2, 12),
                stream_record(Uv, 1, true, 4, 18),
                stream_record(Colour, 0, true, 1, 8),
            ],
        ),
        mesh_record(
            "/root/arm/hand",
            Method::Soft,
            5,
            vec![stream_record(Position, 0, true, 4, 20), stream_record(Normal, 0, true, 1, 8)],
        ),
        mesh_record(
            "/root/rock",
            Method::Static,
            4,
            vec![stream_record(Position, 0, false, 2, 16), stream_record(Normal, 0, false, 2, 10)],
        ),
        mesh_record(
            "/water",
            Method::Fluid,
            6,
            vec![
                stream_record(Position, 0, true, 2, 12),
                stream_record(Normal, 0, true, 2, 9),
                stream_record(Colour, 0, true, 1, 8),
            ],
        ),
    ];
    let mut nodes = nodes();
    if !fluid {
        meshes.pop();
        nodes.pop();
    }
    let visible = |frame: usize| {
        let mut visible = vec![true, true, true, frame % 3 != 1, frame != 6, false];
        if fluid {
            visible.push(fluid_side(frame) > 0);
        }
        visible
    };

    // The content of each frame.
    let mut expected = Vec::new();
    for frame in 0..frames {
        let t = frame as f32;
        let mut transforms: Vec<Transform> = nodes.iter().map(|n| n.rest).collect();
        transforms[0] = turned(0.1 * t, 0.5 * t, [1.0; 3]);
        transforms[2] = turned(-0.3 * t, 1.0, [1.0, 1.0 + 0.1 * t, -1.0]);
        transforms[3] = turned(0.0, if frame > 5 { 3.0 } else { 2.0 }, [1.0; 3]);
        let shapes = meshes.iter().enumerate().map(|(m, mesh)| {
            let n = match mesh.method {
                Method::Fluid => fluid_side(frame),
                _ => sides[m],
            };
            let indices = grid(n);
            let total = indices.len() as u32;
            let half = total / 6 * 3;
            let hidden = mesh.method == Method::Fluid && n == 0;
            let rest = if hidden { (0, 0) } else { (half, total - half) };
            ExpectedMesh {
                vertices: (n * n) as usize,
                indices,
                materials: vec![(0, half), rest],
                streams: (mesh.streams.iter().enumerate())
                    .map(|(s, stream)| wave(stream, n, frame, (10 * m + s) as u32))
                    .collect(),
            }
        });
        expected.push(Expected { visible: visible(frame), meshes: shapes.collect(), transforms });
    }
    for (node, record) in nodes.iter_mut().enumerate() {
        record.rest = expected[0].transforms[node];
    }

    // Static data.
    let mut connectivity = Vec::new();
    let mut values = Vec::new();
    let mut maps = Vec::new();
    let mut tables = Vec::new();
    for (m, mesh) in meshes.iter_mut().enumerate() {
        let first = &expected[0].meshes[m];
        let mut table = PredictorTable::new();
        if mesh.method != Method::Fluid {
            let mut bytes = Vec::new();
            index::encode(&first.indices, &mut bytes);
            mesh.connectivity = append(&mut connectivity, 1, &bytes);
            bytes.clear();
            table = table_of(mesh, &first.streams, sides[m]);
            parallelogram::encode_table(&table, &first.indices, &mut bytes);
            for (stream, levels) in mesh.streams.iter().zip(&first.streams) {
                encode_stream(stream, levels, [None; 5], &table, &mut bytes);
            }
            mesh.values = append(&mut values, 2, &bytes);
            bytes.clear();
            // The source has quads: two triangles each.
            let map = SourceMap {
                points: mesh.source_points,
                corners: mesh.indices / 6 * 4,
                faces: mesh.indices / 6,
                vertex_point: (0..mesh.vertices).collect(),
                triangle_face: (0..mesh.indices / 3).map(|t| t / 2).collect(),
                ..SourceMap::default()
            };
            source_map::encode(&map, &mut bytes);
            mesh.source_map = append(&mut maps, 3, &bytes);
        }
        tables.push(table);
    }
    let chunks = vec![(kind::CONNECTIVITY, connectivity), (kind::VALUES, values), (kind::SOURCE_MAP, maps)];

    let mut written = Vec::new();
    for frame in 0..frames {
        let raw = frame_content(&nodes, &meshes, &tables, &expected, (frame, kinds));
        written.push((frame as f64 / 24.0, kinds[frame], raw));
    }
    let description = Description {
        generator: "test".into(),
        options: "tolerance = 1%\n".into(),
        unit: 1,
        fps: 24.0,
        period: 0.0,
        restart: 0,
        node_setup: Vec::new(),
        nodes,
        meshes,
    };
    Sample { parts: Parts { description, chunks, frames: written, format: BlockFormat::Zstd }, expected }
}

fn frame_content(
    nodes: &[NodeRecord],
    meshes: &[MeshRecord],
    tables: &[PredictorTable],
    expected: &[Expected],
    (frame, kinds): (usize, &[FrameKind]),
) -> Vec<u8> {
    let frames = expected.len();
    let shown = &expected[frame];
    let between = kinds[frame] == FrameKind::Predicted;
    let index = |f: &usize| kinds[*f] == FrameKind::Index;
    let before = (0..=frame).rev().find(index).unwrap();
    let after = (frame..frames).find(index).unwrap();
    let mut out = Vec::new();

    let animated = |n: &usize| nodes[*n].visibility == Visibility::Animated;
    let bits: Vec<bool> = (0..nodes.len()).filter(animated).map(|n| shown.visible[n]).collect();
    for bits in bits.chunks(8) {
        let byte = bits.iter().enumerate().map(|(i, &bit)| u8::from(bit) << i);
        out.push(byte.sum());
    }
    let moving = |f: usize| -> Vec<Transform> {
        let animated = (0..nodes.len()).filter(|&n| nodes[n].animated);
        animated.map(|n| expected[f].transforms[n]).collect()
    };
    let previous = between.then(|| moving(frame - 1));
    transform::encode(&moving(frame), previous.as_deref(), &mut out);
    for (m, mesh) in meshes.iter().enumerate() {
        let shape = &shown.meshes[m];
        if mesh.method == Method::Fluid {
            out.push(u8::from(shape.vertices > 0));
            if shape.vertices == 0 {
                continue;
            }
            let counts = [shape.vertices, shape.indices.len(), shape.vertices];
            let counts = counts.into_iter().map(|c| c as u32);
            let ranges = shape.materials.iter().flat_map(|r| [r.0, r.1]);
            for word in counts.chain(ranges) {
                out.extend(word.to_le_bytes());
            }
            index::encode(&shape.indices, &mut out);
            let table = parallelogram::derive_table(&shape.indices, shape.vertices);
            for (stream, levels) in mesh.streams.iter().zip(&shape.streams) {
                encode_stream(stream, levels, [None; 5], &table, &mut out);
            }
            continue;
        }
        for (s, stream) in mesh.streams.iter().enumerate() {
            if !stream.animated {
                continue;
            }
            let levels = |f: usize| Some(&expected[f].meshes[m].streams[s][..]);
            let mut around: CodeReferences = [levels(0), None, None, None, None];
            if between {
                around[1] = levels(frame - 1);
                around[2] = if frame >= before + 2 { levels(frame - 2) } else { None };
                around[3] = levels(before);
                around[4] = levels(after);
            }
            encode_stream(stream, &shape.streams[s], around, &tables[m], &mut out);
        }
    }
    out
}
