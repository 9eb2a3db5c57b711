//! `meshreel info`: what is in a file. Sources are described by [`super::scene_info`], our own files here.

use super::attributes::{self, AttributeInfo};
use super::joints::{self, SkeletonInfo};
use super::lod::{self, LodInfo};
use super::ranges::{RangeInfo, range_lines};
use super::rigs;
use super::scene_info::{SceneInfo, Wanted};
use crate::cli::InfoArgs;
use crate::output::{Failure, Output, advice_text, one_line, table};
use crate::units;
use crate::units::ratio;
use meshreel::record::{Coding, Method, NodeRecord, Semantic, StreamRecord, Visibility};
use meshreel::{FrameDecoder, FrameKind, Limits, Reel, kind};
use meshreel_commands::reels;
use meshreel_compile::advice::{self, Advice};
use meshreel_inputs::{self as inputs, InputOptions};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write;
use std::process::ExitCode;

/// Largest size of all frames, unpacked, that is decoded only to tell the sizes of meshes.
const MEASURED_BYTES: u64 = 64 << 20;

/// Runs the verb.
pub fn run(arguments: &InfoArgs, output: Output) -> Result<ExitCode, Failure> {
    let wanted = Wanted { tree: arguments.tree, streams: arguments.streams, frames: arguments.frames };
    if reels::is_reel(&arguments.file) {
        let reel = Reel::open(&arguments.file, &Limits::default())?;
        let info = ReelInfo::new(&reel, wanted)?;
        output.result(&info, false, || info.text(wanted))?;
        return Ok(ExitCode::SUCCESS);
    }
    let paths = [arguments.file.clone()];
    let options = InputOptions {
        points: arguments.points.clone(),
        source_fps: arguments.source_fps,
        animation: arguments.animation.clone(),
    };
    let (scene, remarks) = inputs::open(&paths, &options)?;
    let bytes = inputs::file_bytes(&paths);
    let info = SceneInfo::new(&scene, &remarks, &arguments.file, bytes, wanted)
        .map_err(|failure| failure.or_at(&arguments.file))?;
    output.remarks(&remarks);
    output.result(&info, false, || info.text(wanted))?;
    Ok(ExitCode::SUCCESS)
}

/// One of our files as `--json` prints it.
#[derive(Serialize)]
struct ReelInfo {
    kind: &'static str,
    file: String,
    version: u32,
    generator: String,
    options: Vec<(String, String)>,
    unit: Option<&'static str>,
    fps: Option<f64>,
    period: Option<f64>,
    frames: usize,
    start: f64,
    duration: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ranges: Vec<RangeInfo>,
    bounds: [f32; 6],
    file_bytes: u64,
    source_map_bytes: u64,
    raw_bytes: u64,
    ratio: f64,
    bytes: Bytes,
    decoder_memory_bytes: u64,
    nodes: Vec<NodeInfo>,
    meshes: Vec<MeshInfo>,
    clips: Vec<super::clip::ClipInfo>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rigs: Vec<rigs::RigInfo>,
    skeletons: Vec<SkeletonInfo>,
    attributes: Vec<AttributeInfo>,
    advice: Vec<Advice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frame_table: Option<Vec<FrameInfo>>,
}

/// The sizes of the parts of a file.
#[derive(Serialize)]
struct Bytes {
    description: u64,
    connectivity: u64,
    values: u64,
    /// All but what follows.
    frames: u64,
    /// Animated attributes that are apart.
    attributes: u64,
    clips: u64,
    source_map: u64,
    levels: u64,
    hidden: u64,
    /// Attributes of parts.
    numbers: u64,
    rigs: u64,
    tables: u64,
}

#[derive(Serialize)]
struct NodeInfo {
    path: String,
    kind: &'static str,
    samples: usize,
    #[serde(skip)]
    parent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mesh: Option<u32>,
    visibility: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tolerance: Option<f64>,
    baked: bool,
}

#[derive(Serialize)]
struct MeshInfo {
    path: String,
    method: &'static str,
    /// Vertices of a row and rows of a regular grid, whose triangles are not stored.
    grid: Option<[u32; 2]>,
    /// Only heights over a plane are stored of its positions.
    heights: bool,
    /// First and last frame in which the mesh moves; before and after it stands still.
    moves: Option<[u32; 2]>,
    /// Its faces are not the source's.
    remeshed: bool,
    /// Frames at the end that lead into the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    blended: Option<u32>,
    vertices: u32,
    triangles: u32,
    points: u32,
    samples: usize,
    topology: &'static str,
    materials: Vec<String>,
    source_map: bool,
    /// Promised in the world; where it is in several places, of that with the smallest. None where it is in
    /// none.
    tolerance: Option<f64>,
    /// All but the source map; none where that was not measured.
    bytes: Option<u64>,
    /// Triangles and errors of all levels of detail, the mesh itself first; none where it has no others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    levels: Vec<LodInfo>,
    /// Triangles that are left out in the first frame, in the last, and in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden_triangles: Option<[usize; 3]>,
    streams: Vec<StreamInfo>,
}

impl MeshInfo {
    /// The method, and what is special.
    fn kept(&self) -> String {
        let heights = if self.heights { " of heights" } else { "" };
        let grid = self.grid.map(|[w, h]| format!(", grid {w} × {h}{heights}"));
        let moves = self.moves.map(|[a, b]| format!(", moves in frames {a} to {b}"));
        let remeshed = self.remeshed.then(|| ", re-meshed".into());
        let rest = [grid, remeshed, moves].map(Option::unwrap_or_default).concat();
        format!("{}{rest}", self.method)
    }
}

#[derive(Serialize)]
struct StreamInfo {
    name: String,
    what: &'static str,
    animated: bool,
    bits: u8,
    word_bytes: u8,
    tolerance: f64,
    /// Bytes in frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    frame_bytes: Option<u64>,
}

#[derive(Serialize)]
struct FrameInfo {
    time: f64,
    kind: &'static str,
    /// The frame that it is packed together with, and whose bytes are those of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    with: Option<usize>,
    bytes: u32,
    raw_bytes: u32,
}

impl Bytes {
    fn new(reel: &Reel) -> Bytes {
        let of = |kinds: &[u16]| kinds.iter().map(|kind| reel.chunk_bytes(*kind)).sum::<u64>();
        let mut out = Bytes {
            description: of(&[kind::DESCRIPTION]),
            connectivity: of(&[kind::CONNECTIVITY]),
            values: of(&[kind::VALUES]),
            frames: reel.frame_bytes() - of(&[kind::VERTEX_ATTRIBUTES]),
            attributes: of(&[kind::VERTEX_ATTRIBUTES]),
            clips: of(&[kind::SKELETON, kind::CLIP, kind::LAYERS, kind::TIERS]),
            source_map: of(&[kind::SOURCE_MAP]),
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

impl ReelInfo {
    fn new(reel: &Reel, wanted: Wanted) -> Result<ReelInfo, Failure> {
        let description = reel.description();
        let header = reel.reader().header();
        let frames = reel.frames();
        let start = frames.first().map_or(0.0, |frame| frame.time);
        let file_bytes = reel.file_bytes();
        let source_map = reel.chunk_bytes(kind::SOURCE_MAP);
        let sizes = mesh_bytes(reel, wanted)?;
        // Reads static data: what it takes is known afterwards.
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
            bytes: Bytes::new(reel),
            decoder_memory_bytes: reel.memory(),
            nodes: description.nodes.iter().map(|node| node_info(node, frames.len())).collect(),
            meshes,
            advice: advice::of_description(
                description,
                reel.frame_count(),
                sizes.as_ref().map(|sizes| &sizes.meshes[..]),
            ),
            clips: super::clip::infos(reel)?,
            rigs: rigs::infos(reel)?,
            skeletons: joints::of_reel(reel)?,
            attributes: attributes::infos(reel)?,
            frame_table: wanted.frames.then(|| frame_table(reel)),
        })
    }

    fn text(&self, wanted: Wanted) -> String {
        let mut out = self.fields();
        out.push('\n');
        if !self.clips.is_empty() {
            out.push_str(&super::clip::info_table(&self.clips));
        }
        out.push_str(&rigs::info_table(&self.rigs));
        if !self.meshes.is_empty() || self.clips.is_empty() {
            out.push_str(&self.mesh_table(if wanted.streams || wanted.tree { usize::MAX } else { 24 }));
            let culled = self
                .meshes
                .iter()
                .filter_map(|m| Some((&m.path[..], m.triangles as usize, m.hidden_triangles?)));
            out.push_str(&lod::hidden_table(culled.take(24)));
            let detailed = self.meshes.iter().filter(|mesh| !mesh.levels.is_empty());
            let detailed = detailed.map(|mesh| (&mesh.path[..], mesh.levels.clone()));
            out.push_str(&lod::table(detailed.take(24)));
            let most = if wanted.streams { usize::MAX } else { 24 };
            out.push_str(&attributes::text(&self.attributes, most));
        }
        if wanted.tree {
            out.push('\n');
            out.push_str(&self.tree());
            out.push_str(&joints::text(&self.skeletons));
        }
        if wanted.streams {
            out.push('\n');
            out.push_str(&self.stream_table());
        }
        if !self.advice.is_empty() {
            out.push('\n');
            out.push_str(&advice_text(&self.advice));
        }
        if let Some(frames) = &self.frame_table {
            out.push('\n');
            out.push_str(&frame_lines(frames));
        }
        out
    }

    /// Facts about the file as a whole, a line each.
    fn fields(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "{}", self.file);
        let mut field = |name: &str, value: String| {
            let _ = writeln!(out, "  {name:<12}{value}");
        };
        field("kind", format!("reel, format version {}, by {}", self.version, one_line(&self.generator)));
        field(
            "size",
            format!(
                "{} + {} source map; uncompressed {}, ratio {}:1",
                units::bytes(self.file_bytes - self.source_map_bytes),
                units::bytes(self.source_map_bytes),
                units::bytes(self.raw_bytes),
                units::short(self.ratio)
            ),
        );
        field(
            "of that",
            format!(
                "frames {}, clips {}, values {}, connectivity {}, description {}, tables {}",
                units::bytes(self.bytes.frames),
                units::bytes(self.bytes.clips),
                units::bytes(self.bytes.values),
                units::bytes(self.bytes.connectivity),
                units::bytes(self.bytes.description),
                units::bytes(self.bytes.tables)
            ),
        );
        if self.bytes.attributes > 0 {
            let apart = units::bytes(self.bytes.attributes);
            field("apart", format!("{apart} of animated attributes, beside the frames"));
        }
        if self.bytes.levels > 0 {
            field("levels", units::bytes(self.bytes.levels));
        }
        if self.bytes.numbers > 0 {
            field("numbers", format!("{} of parts", units::bytes(self.bytes.numbers)));
        }
        if self.bytes.rigs > 0 {
            field("rigs", units::bytes(self.bytes.rigs));
        }
        field("unit", self.unit.unwrap_or("not stated").to_string());
        if let Some(fps) = self.fps {
            field("rate", format!("{} frames per second", units::short(fps)));
        }
        field("time", self.time());
        for range in range_lines(&self.ranges) {
            field("range", range);
        }
        field("decoder", format!("{} of memory", units::bytes(self.decoder_memory_bytes)));
        let options: Vec<String> =
            self.options.iter().map(|(key, value)| format!("{key} {}", shown(value))).collect();
        field("options", one_line(&options.join(", ")));
        out
    }

    /// From when to when it goes.
    fn time(&self) -> String {
        let clips = (self.clips.iter()).filter(|_| self.frames == 0);
        let longest = clips.max_by(|a, b| a.duration.total_cmp(&b.duration));
        match longest {
            Some(clip) if self.clips.len() == 1 => format!(
                "{} samples, {} s to {} s ({} s)",
                clip.samples,
                units::short(clip.start),
                units::short(clip.start + clip.duration),
                units::short(clip.duration)
            ),
            Some(clip) => {
                format!("{} clips, the longest of {} s", self.clips.len(), units::short(clip.duration))
            }
            None => format!(
                "{} frames, {} s to {} s ({} s{})",
                self.frames,
                units::short(self.start),
                units::short(self.start + self.duration),
                units::short(self.duration),
                match self.period {
                    Some(period) => format!(", a cycle of {} s", units::short(period)),
                    None => String::new(),
                }
            ),
        }
    }

    fn mesh_table(&self, most: usize) -> String {
        let mut rows: Vec<Vec<String>> = self
            .meshes
            .iter()
            .take(most)
            .map(|mesh| {
                let position = mesh.streams.first();
                vec![
                    one_line(&mesh.path),
                    mesh.kept(),
                    units::count(u64::from(mesh.vertices)),
                    units::count(u64::from(mesh.triangles)),
                    units::count(u64::from(mesh.points)),
                    position.map_or(String::new(), |s| s.bits.to_string()),
                    mesh.tolerance.map_or(String::new(), units::short),
                    mesh.bytes.map_or("–".into(), units::bytes),
                ]
            })
            .collect();
        if self.meshes.len() > most {
            rows.push(vec![format!("… and {} more; --tree shows all", self.meshes.len() - most)]);
        }
        table(
            &["mesh", "<method", "vertices", "triangles", "source points", "bits", "tolerance", "bytes"],
            &rows,
        )
    }

    fn stream_table(&self) -> String {
        let mut rows = Vec::new();
        for mesh in &self.meshes {
            rows.push(vec![one_line(&mesh.path)]);
            for stream in &mesh.streams {
                rows.push(vec![
                    format!("    {}", one_line(&stream.name)),
                    stream.what.to_string(),
                    if stream.animated { "every frame" } else { "once" }.to_string(),
                    stream.bits.to_string(),
                    stream.word_bytes.to_string(),
                    units::short(stream.tolerance),
                    stream.frame_bytes.map_or("-".to_string(), units::bytes),
                ]);
            }
        }
        table(&["mesh and stream", "what", "kept", "bits", "word", "tolerance", "in frames"], &rows)
    }

    fn tree(&self) -> String {
        let mut depths: Vec<usize> = Vec::with_capacity(self.nodes.len());
        let mut out = String::new();
        for node in &self.nodes {
            let depth = match node.parent {
                Some(parent) => depths.get(parent as usize).map_or(0, |depth| depth + 1),
                None => 0,
            };
            depths.push(depth);
            let mut parts = vec![node.kind.to_string()];
            if let Some(mesh) = node.mesh.and_then(|mesh| self.meshes.get(mesh as usize)) {
                parts.push(format!("mesh {}", one_line(&mesh.path)));
            }
            if node.samples > 1 {
                parts.push("transform every frame".into());
            }
            if node.visibility != "always" {
                parts.push(format!("visible {}", node.visibility));
            }
            if node.baked {
                parts.push("baked to world space".into());
            }
            if let Some(tolerance) = node.tolerance {
                parts.push(format!("tolerance {}", units::short(tolerance)));
            }
            let _ = writeln!(out, "{}{}  {}", "  ".repeat(depth), one_line(&node.path), parts.join(", "));
        }
        out
    }
}

/// A value of the options as a user gives it: parts of something as percentages.
fn shown(value: &str) -> String {
    let part =
        (value.split_once('*')).filter(|(_, of)| ["diagonal", "range"].iter().any(|o| of.starts_with(o)));
    let percent = part.and_then(|(part, of)| Some((part.parse::<f64>().ok()? * 100.0, of)));
    match percent {
        // 0.0001 × 100 is no 0.01.
        Some((percent, of)) => {
            let rest = of.split_once(' ').map_or(String::new(), |(_, rest)| format!(" {rest}"));
            format!("{} %{rest}", (percent * 1e12).round() / 1e12)
        }
        None => value.to_string(),
    }
}

/// Every frame. Frames that are packed together take nothing but the first of them, so that all add up.
fn frame_table(reel: &Reel) -> Vec<FrameInfo> {
    let mut first = HashMap::new();
    let of = |frame| {
        let chunk = reel.frame_chunk(frame);
        let with = *first.entry(chunk.offset).or_insert(frame);
        FrameInfo {
            time: reel.time(frame),
            kind: match reel.frame_kind(frame) {
                FrameKind::Index => "index",
                FrameKind::Between => "between",
            },
            with: (with != frame).then_some(with),
            bytes: if with == frame { chunk.size } else { 0 },
            raw_bytes: if with == frame { chunk.raw_size } else { 0 },
        }
    };
    (0..reel.frame_count()).map(of).collect()
}

/// Frames, one in each line.
fn frame_lines(frames: &[FrameInfo]) -> String {
    let rows: Vec<Vec<String>> = frames
        .iter()
        .enumerate()
        .map(|(i, frame)| {
            let (bytes, raw) = match frame.with {
                Some(first) => (format!("with {first}"), String::new()),
                None => (units::count(u64::from(frame.bytes)), units::count(u64::from(frame.raw_bytes))),
            };
            let time = format!("{:.6}", frame.time);
            vec![i.to_string(), time, frame.kind.to_string(), bytes, raw]
        })
        .collect();
    table(&["frame", "seconds", "<kind", "bytes", "unpacked"], &rows)
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

/// What meshes take.
struct MeshBytes {
    meshes: Vec<u64>,
    /// What streams take of that in frames.
    streams: Vec<Vec<u64>>,
}

/// Bytes of each mesh but its source map: its part of the chunks and of all frames. To know the latter they
/// have to be decoded, so a large file is only measured when `--streams` asks for it.
fn mesh_bytes(reel: &Reel, wanted: Wanted) -> Result<Option<MeshBytes>, Failure> {
    let unpacked: u64 =
        (0..reel.frame_count()).map(|frame| u64::from(reel.frame_chunk(frame).raw_size)).sum();
    if unpacked > MEASURED_BYTES && !wanted.streams {
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
    Ok(Some(MeshBytes { meshes, streams }))
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
    let levels: Vec<Vec<LodInfo>> = (0..grids.len()).map(|m| lod::of(reel, m)).collect::<Result<_, _>>()?;
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
        grid: grids[m],
        heights: mesh.streams.iter().any(|s| s.coding == Coding::Heights),
        moves: mesh.moves,
        remeshed: mesh.remeshed.is_some(),
        blended: mesh.remeshed.filter(|frames| *frames > 0),
        path: mesh.path.clone(),
        method: match mesh.method {
            Method::Static => "static",
            Method::Soft => "soft",
            Method::Rigid => "rigid",
            Method::Skinned => "skinned",
            Method::Fluid => "fluid",
        },
        vertices: mesh.vertices,
        triangles: mesh.indices / 3,
        points: mesh.source_points,
        samples: if mesh.method == Method::Static { 1 } else { frames },
        topology: match mesh.method {
            Method::Static => "constant",
            Method::Soft | Method::Rigid | Method::Skinned => "homogeneous",
            Method::Fluid => "heterogeneous",
        },
        materials: mesh.materials.iter().map(|material| material.name.clone()).collect(),
        source_map: mesh.source_map.size > 0,
        levels: levels[m].clone(),
        hidden_triangles: hidden[m],
        streams: (mesh.streams.iter().enumerate())
            .map(|(s, stream)| {
                // Of a mesh whose faces change they lie together.
                let own = bytes.filter(|_| stream.animated && mesh.method != Method::Fluid);
                stream_info(stream, own.map(|bytes| bytes.streams[m][s]))
            })
            .collect(),
    });
    Ok(infos.collect())
}

fn stream_info(stream: &StreamRecord, frame_bytes: Option<u64>) -> StreamInfo {
    let what = match stream.semantic {
        Semantic::Position => "positions",
        Semantic::Normal => "normals (octahedral)",
        Semantic::QTangent => "tangent frames (quaternion)",
        Semantic::Uv => "uvs",
        Semantic::Colour => "colours",
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
        frame_bytes,
    }
}
