//! The contents of a `.reel`.

use super::attributes::{self, AttributeInfo};
use super::cameras::{self, CameraInfo};
use super::clips::{self, ClipInfo};
use super::joints::{self, SkeletonInfo};
use super::lod::{self, LodInfo};
use super::options::InfoOptions;
use super::ranges::RangeInfo;
use super::ratio::ratio;
use super::rigs::{self, RigInfo};
use crate::failure::Failure;
use crate::reels;
use meshreel::raw::format::CHUNK_ENTRY_SIZE;
use meshreel::raw::format::kind;
use meshreel::raw::record::{Coding, Method, NodeRecord, Semantic, StreamRecord, Visibility};
use meshreel::{FrameDecoder, FrameKind, Reel};
use meshreel_check::compressed_bytes;
use meshreel_codec::entropy::block::{BlockFormat, Compressor};
use meshreel_compile::advice::{self, Advice};
use serde::Serialize;
use std::collections::HashMap;

/// The largest unpacked size of all frames, and the most memory to decode them, in bytes, for which they are
/// decoded just to measure meshes.
const MAX_MEASURED_BYTES: u64 = 64 << 20;

/// The effort with which streams are compressed to divide bytes among them.
const ESTIMATE_EFFORT: u32 = 5;

/// A `.reel` as `--json` prints it.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct ReelInfo {
    pub kind: &'static str,
    pub file: String,
    pub version: u32,
    pub generator: String,
    pub options: Vec<(String, String)>,
    /// The file was compiled with `--no-verify`.
    pub no_verify: bool,
    pub unit: Option<&'static str>,
    pub fps: Option<f64>,
    pub period: Option<f64>,
    pub frames: usize,
    pub start: f64,
    pub duration: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<RangeInfo>,
    pub bounds: [f32; 6],
    pub file_bytes: u64,
    pub source_map_bytes: u64,
    pub raw_bytes: u64,
    pub ratio: f64,
    pub bytes: SectionSizes,
    pub decoder_memory_bytes: u64,
    /// The smallest heap of a player that shows the file, with as many threads as this machine suggests.
    pub player_heap_bytes: u64,
    pub nodes: Vec<NodeInfo>,
    pub meshes: Vec<MeshInfo>,
    pub clips: Vec<ClipInfo>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rigs: Vec<RigInfo>,
    /// Cameras that stand at the file's nodes.
    pub cameras: Vec<CameraInfo>,
    pub skeletons: Vec<SkeletonInfo>,
    pub attributes: Vec<AttributeInfo>,
    pub advice: Vec<Advice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_table: Option<Vec<FrameInfo>>,
}

/// Sizes of the parts of a file, in bytes.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct SectionSizes {
    pub description: u64,
    pub connectivity: u64,
    pub values: u64,
    /// Frames, except the parts listed below.
    pub frames: u64,
    /// Animated vertex attributes that are stored apart.
    pub attributes: u64,
    pub clips: u64,
    pub source_map: u64,
    pub levels: u64,
    pub hidden: u64,
    /// Part attributes.
    pub numbers: u64,
    pub rigs: u64,
    pub tables: u64,
}

#[derive(Serialize)]
#[allow(missing_docs)]
pub struct NodeInfo {
    pub path: String,
    pub kind: &'static str,
    pub samples: usize,
    #[serde(skip)]
    pub parent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<u32>,
    pub visibility: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    pub baked: bool,
}

#[derive(Serialize)]
#[allow(missing_docs)]
pub struct MeshInfo {
    pub path: String,
    pub method: &'static str,
    /// Vertices per row and number of rows of a regular grid, whose triangles are not stored.
    pub grid: Option<[u32; 2]>,
    /// The mesh is a height field: only heights over a plane are stored of its positions.
    pub heights: bool,
    /// First and last frame in which the mesh moves; before and after it stands still.
    pub moves: Option<[u32; 2]>,
    /// The faces are not those of the source.
    pub remeshed: bool,
    /// Number of frames at the end that are blended into the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blended: Option<u32>,
    pub vertices: u32,
    pub triangles: u32,
    pub points: u32,
    pub samples: usize,
    pub topology: &'static str,
    pub materials: Vec<String>,
    pub source_map: bool,
    /// The tolerance in the world; the smallest of all places of the mesh, `None` if it has no place.
    pub tolerance: Option<f64>,
    /// Size in bytes without the source map; `None` if it was not measured.
    pub bytes: Option<u64>,
    /// Size of its triangles, and of its part of the source map, in bytes.
    pub connectivity_bytes: u64,
    pub source_map_bytes: u64,
    /// Triangles and errors of all LOD levels, the mesh itself first; empty if it has no others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LodInfo>,
    /// Number of triangles hidden in the first frame, in the last, and in every frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden_triangles: Option<[usize; 3]>,
    pub streams: Vec<StreamInfo>,
}

#[derive(Serialize)]
#[allow(missing_docs)]
pub struct StreamInfo {
    pub name: String,
    pub what: &'static str,
    pub animated: bool,
    pub bits: u8,
    pub word_bytes: u8,
    pub tolerance: f64,
    /// Size of its static values in bytes: of positions the first frame or the rest pose, weights and tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub static_bytes: Option<u64>,
    /// Size of the stream in frames, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_bytes: Option<u64>,
}

#[derive(Serialize)]
#[allow(missing_docs)]
pub struct FrameInfo {
    pub time: f64,
    pub kind: &'static str,
    /// The earlier frame that it is packed together with, whose bytes are those of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<usize>,
    pub bytes: u32,
    pub raw_bytes: u32,
}

impl SectionSizes {
    fn new(reel: &Reel) -> SectionSizes {
        let of = |kinds: &[u16]| kinds.iter().map(|kind| reel.chunk_bytes(*kind)).sum::<u64>();
        let mut out = SectionSizes {
            description: of(&[kind::DESCRIPTION]),
            connectivity: of(&[kind::CONNECTIVITY]),
            values: of(&[kind::VALUES]),
            frames: reel.frame_bytes() - of(&[kind::VERTEX_ATTRIBUTES]),
            attributes: of(&[kind::VERTEX_ATTRIBUTES]),
            clips: of(&[kind::SKELETON, kind::CLIP, kind::LAYERS, kind::TIERS]),
            source_map: source_map_bytes(reel),
            levels: of(&[kind::LOD]),
            hidden: of(&[kind::VISIBILITY]),
            numbers: of(&[kind::PART_ATTRIBUTES]),
            rigs: of(&[kind::RIGS]),
            tables: 0,
        };
        let known = [
            out.description,
            out.connectivity,
            out.values,
            out.frames,
            out.attributes,
            out.clips,
            out.source_map,
            out.levels,
            out.hidden,
            out.numbers,
            out.rigs,
        ];
        out.tables = reel.file_bytes().saturating_sub(known.iter().sum());
        out
    }
}

/// Returns by how many bytes the file would be smaller without its source map: its chunks, and their entries
/// in the table.
fn source_map_bytes(reel: &Reel) -> u64 {
    let chunks = reel.chunks().iter().filter(|chunk| chunk.kind == kind::SOURCE_MAP).count();
    reel.chunk_bytes(kind::SOURCE_MAP) + (chunks * CHUNK_ENTRY_SIZE) as u64
}

impl ReelInfo {
    /// Describes everything but the frames; these are decoded only if they are few, or if their streams are
    /// wanted.
    pub fn new(reel: &Reel, wanted: InfoOptions) -> Result<ReelInfo, Failure> {
        let description = reel.description();
        let header = reel.reader().header();
        let frames = reel.frames();
        let start = frames.first().map_or(0.0, |frame| frame.time);
        let file_bytes = reel.file_bytes();
        let source_map = source_map_bytes(reel);
        let sizes = mesh_bytes(reel, wanted)?;
        // This reads static data, so the decoder's memory is known only afterwards.
        let meshes = mesh_infos(reel, frames.len(), sizes.as_ref())?;
        Ok(ReelInfo {
            kind: "reel",
            file: reel.path().display().to_string(),
            version: header.version,
            generator: description.generator.clone(),
            options: description
                .options
                .lines()
                .filter_map(|line| line.split_once('='))
                .map(|(key, value)| (key.trim().to_string(), value.trim().to_string()))
                .collect(),
            no_verify: reels::options(reel)?.no_verify,
            unit: ["m", "cm", "mm", "in"].get(usize::from(description.unit).wrapping_sub(1)).copied(),
            fps: (description.fps > 0.0).then_some(description.fps),
            period: (description.period > 0.0).then_some(description.period),
            frames: frames.len(),
            start,
            duration: frames.last().map_or(0.0, |frame| frame.time - start),
            ranges: (reel.ranges().iter())
                .map(|range| {
                    let (first, count) = (range.first as usize, range.frames as usize);
                    RangeInfo::new(&range.name, first, count, |frame| reel.time(frame))
                })
                .collect(),
            bounds: header.bounds,
            file_bytes,
            source_map_bytes: source_map,
            raw_bytes: header.raw_bytes,
            ratio: ratio(header.raw_bytes, file_bytes.saturating_sub(source_map)),
            bytes: SectionSizes::new(reel),
            decoder_memory_bytes: reel.memory(),
            player_heap_bytes: meshreel::Options::default().least_heap(reel, 1),
            nodes: description.nodes.iter().map(|node| node_info(node, frames.len())).collect(),
            meshes,
            advice: advice::from_description(
                description,
                reel.frame_count(),
                sizes.as_ref().map(|sizes| &sizes.meshes[..]),
            ),
            clips: clips::infos(reel)?,
            rigs: rigs::infos(reel)?,
            cameras: cameras::infos(reel)?,
            skeletons: joints::reel_skeletons(reel)?,
            attributes: attributes::infos(reel)?,
            frame_table: wanted.frames.then(|| frame_table(reel)),
        })
    }
}

/// Lists all frames. Of frames packed together only the first has a size, so that the sum is right.
fn frame_table(reel: &Reel) -> Vec<FrameInfo> {
    let mut first = HashMap::new();
    let of = |frame| {
        let chunk = reel.frame_chunk(frame);
        let with = *first.entry(chunk.offset).or_insert(frame);
        FrameInfo {
            time: reel.time(frame),
            kind: match reel.frame_kind(frame) {
                FrameKind::Index => "index",
                _ => "between",
            },
            with: (with != frame).then_some(with),
            bytes: if with == frame { chunk.size } else { 0 },
            raw_bytes: if with == frame { chunk.raw_size } else { 0 },
        }
    };
    (0..reel.frame_count()).map(of).collect()
}

fn node_info(node: &NodeRecord, frames: usize) -> NodeInfo {
    NodeInfo {
        path: node.path.clone(),
        kind: match node.mesh {
            Some(_) => "mesh",
            None if node.reach > 0.0 => "locator",
            None => "xform",
        },
        samples: if node.animated { frames } else { 1 },
        parent: node.parent,
        mesh: node.mesh,
        visibility: match node.visibility {
            Visibility::Always => "always",
            Visibility::Never => "never",
            Visibility::Animated => "animated",
        },
        tolerance: (node.mesh.is_some() || node.reach > 0.0).then_some(node.tolerance),
        baked: node.baked,
    }
}

/// Sizes of the meshes.
struct MeshBytes {
    meshes: Vec<u64>,
    /// For each mesh, the size of each of its streams in frames, in bytes, and that of its static values.
    streams: Vec<Vec<u64>>,
    static_streams: Vec<Vec<u64>>,
}

/// Returns the size of each mesh without its source map: its part of the chunks and of all frames. The latter
/// must be decoded for this, so a large file is only measured when `--streams` asks for it.
fn mesh_bytes(reel: &Reel, wanted: InfoOptions) -> Result<Option<MeshBytes>, Failure> {
    let unpacked: u64 =
        (0..reel.frame_count()).map(|frame| u64::from(reel.frame_chunk(frame).raw_size)).sum();
    if unpacked.max(reel.memory()) > MAX_MEASURED_BYTES && !wanted.streams {
        return Ok(None);
    }
    let mut decoder = FrameDecoder::new(reel)?;
    for frame in 0..reel.frame_count() {
        decoder.decode(frame)?;
    }
    let meshes = decoder.mesh_bytes().iter().zip(meshreel_check::static_bytes(reel));
    let meshes: Vec<u64> = meshes.map(|(frames, once)| (frames + once) as u64).collect();
    let streams = |mesh| decoder.stream_bytes(mesh).iter().map(|size| *size as u64).collect();
    let streams = (0..meshes.len()).map(streams).collect();
    let static_streams = (reel.description().meshes.iter().enumerate())
        .map(|(mesh, record)| {
            divided_bytes(&decoder.static_streams(mesh), compressed_bytes(reel, record.values))
        })
        .collect();
    Ok(Some(MeshBytes { meshes, streams, static_streams }))
}

/// Divides the compressed bytes of streams among them, in proportion to what each takes if it is compressed
/// alone: some are entropy-coded already.
fn divided_bytes(streams: &[&[u8]], bytes: f64) -> Vec<u64> {
    let mut compressor = Compressor::new(BlockFormat::Zstd, ESTIMATE_EFFORT);
    let alone = streams.iter().map(|stream| {
        let mut out = Vec::new();
        compressor.compress(stream, &mut out);
        out.len().min(stream.len()) as f64
    });
    let alone: Vec<f64> = alone.collect();
    let scale = bytes / alone.iter().sum::<f64>().max(1.0);
    alone.iter().map(|size| (size * scale) as u64).collect()
}

fn mesh_infos(
    reel: &Reel,
    frames: usize,
    bytes: Option<&MeshBytes>,
) -> Result<Vec<MeshInfo>, meshreel::Error> {
    let grids: Vec<Option<[u32; 2]>> =
        (0..reel.description().meshes.len()).map(|m| reel.grid(m)).collect::<Result<_, _>>()?;
    let hidden: Vec<Option<[usize; 3]>> =
        (0..grids.len()).map(|m| reel.hidden_triangles(m)).collect::<Result<_, _>>()?;
    let levels: Vec<Vec<LodInfo>> =
        (0..grids.len()).map(|m| lod::lod_infos(reel, m)).collect::<Result<_, _>>()?;
    let mut promised: Vec<Option<f64>> = vec![None; grids.len()];
    for node in &reel.description().nodes {
        if let Some(of_mesh) = node.mesh.and_then(|m| promised.get_mut(m as usize)) {
            let least = of_mesh.map_or(node.tolerance, |other: f64| other.min(node.tolerance));
            *of_mesh = Some(least);
        }
    }
    let infos = reel.description().meshes.iter().enumerate().map(|(m, mesh)| MeshInfo {
        tolerance: promised[m],
        bytes: bytes.map(|bytes| bytes.meshes[m]),
        connectivity_bytes: compressed_bytes(reel, mesh.connectivity) as u64,
        source_map_bytes: compressed_bytes(reel, mesh.source_map) as u64,
        grid: grids[m],
        heights: mesh.streams.iter().any(|s| s.coding == Coding::Heights),
        moves: mesh.moving_frames,
        remeshed: mesh.remeshed_blend_frames.is_some(),
        blended: mesh.remeshed_blend_frames.filter(|frames| *frames > 0),
        path: mesh.path.clone(),
        method: match mesh.method {
            Method::Static => "static",
            Method::Soft => "soft",
            Method::Rigid => "rigid",
            Method::Skinned => "skinned",
            Method::Fluid => "fluid",
            Method::Particles => "particles",
        },
        vertices: mesh.vertices,
        triangles: mesh.indices / 3,
        points: mesh.source_points,
        samples: if mesh.method == Method::Static { 1 } else { frames },
        topology: match mesh.method {
            Method::Static => "constant",
            Method::Soft | Method::Rigid | Method::Skinned => "homogeneous",
            Method::Fluid | Method::Particles => "heterogeneous",
        },
        materials: mesh.materials.iter().map(|material| material.name.clone()).collect(),
        source_map: mesh.source_map.size > 0,
        levels: levels[m].clone(),
        hidden_triangles: hidden[m],
        streams: (mesh.streams.iter().enumerate())
            .map(|(s, stream)| {
                // The streams of a mesh whose vertices come with each frame are stored together.
                let own = bytes.filter(|_| !mesh.method.changes());
                let of_frames = own.filter(|_| stream.animated).map(|bytes| bytes.streams[m][s]);
                stream_info(stream, own.and_then(|bytes| bytes.static_streams[m].get(s).copied()), of_frames)
            })
            .collect(),
    });
    Ok(infos.collect())
}

fn stream_info(stream: &StreamRecord, static_bytes: Option<u64>, frame_bytes: Option<u64>) -> StreamInfo {
    let what = match stream.semantic {
        Semantic::Position => "positions",
        Semantic::Normal => "normals (octahedral)",
        Semantic::QTangent => "tangent frames (quaternion)",
        Semantic::Uv => "uvs",
        Semantic::Colour => "colours",
        Semantic::Velocity => "velocities",
        Semantic::Width => "widths",
        Semantic::Custom1 | Semantic::Custom2 | Semantic::Custom3 | Semantic::Custom4 => "attached numbers",
    };
    StreamInfo {
        name: match stream.name.is_empty() {
            true => what.split(' ').next().unwrap_or(what).to_string(),
            false => stream.name.clone(),
        },
        what,
        animated: stream.animated,
        bits: stream.bits,
        word_bytes: stream.word,
        tolerance: stream.tolerance,
        static_bytes,
        frame_bytes,
    }
}
