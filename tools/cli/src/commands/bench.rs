//! `meshreel bench`: measures how fast this machine decodes a file, stage by stage, on one core, beside a
//! plain copy of memory and plain decompression of the same blocks.
//!
//! The first row is everything that a shader needs of every mesh: positions, normals and tangents, uvs and
//! colours that move. The rows below are its parts, and other ways through the file. The common measure is
//! vertices, as they are drawn, and megabytes of raw positions, 12 bytes per source point and frame, per
//! second. The bytes that a stage really reads or writes differ; frames per second say how many can be
//! played.

use super::poses::{self, PoseSpeed, best_seconds};
use crate::cli::BenchArgs;
use crate::output::{Failure, Output, one_line, table};
use crate::units;
use meshreel::raw::record::Semantic;
use meshreel::stream::Statistics;
use meshreel::{Command, Event, FrameDecoder, FrameView, Limits, MeshView, Options, Pace, Player, Reel};
use meshreel_check::machine_limits;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_commands::reels;
use serde::Serialize;
use std::collections::BTreeSet;
use std::hint::black_box;
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Memory of the player, in bytes, unless the file needs more.
const HEAP_BYTES: u64 = 256 << 20;
/// Longest measurement of a stage, in seconds.
const MAX_SECONDS: f64 = 60.0;
/// Smallest number of passes of each stage.
const MIN_PASSES: usize = 3;

/// Runs the verb.
pub fn run(arguments: &BenchArgs, output: Output) -> Result<ExitCode, Failure> {
    if !(0.0..=MAX_SECONDS).contains(&arguments.seconds) {
        let what = format!("--seconds must be from 0 to {MAX_SECONDS}");
        return Err(Failure::usage(what));
    }
    reels::expect_reel(&arguments.file)?;
    let mut bytes = Vec::new();
    meshreel_files::open(&arguments.file)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|e| Failure::io(&arguments.file, &e))?;
    // From memory, to leave out the disk.
    let in_file = |error: meshreel::Error| Failure::from(error).or_at(&arguments.file);
    let bytes = Arc::new(bytes);
    let limits = limits(!arguments.no_attributes);
    let open = || Reel::from_named_source(bytes.clone(), &arguments.file, &limits);
    let reel = open().map_err(in_file)?;
    let budget = Duration::from_secs_f64(arguments.seconds.max(0.01));
    // A decoder reads the static data of all meshes.
    let opening = best_seconds(budget, || FrameDecoder::new(&open()?).map(drop)).map_err(in_file)?;
    let mut report = Bench::new(&reel, bytes.clone()).map_err(in_file)?.measure(budget).map_err(in_file)?;
    report.clips = poses::measure(&reel, budget)?;
    report.opening_seconds = opening;
    report.triangles = reel.description().meshes.iter().map(|mesh| u64::from(mesh.indices) / 3).sum();
    report.file = arguments.file.display().to_string();
    output.result(&report, false, || report.text())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns this machine's limits of files, with or without animated vertex attributes.
pub fn limits(attributes: bool) -> Limits {
    machine_limits().with_attributes(attributes)
}

/// The file, its decoder and the buffers of all stages.
struct Bench<'a> {
    reel: &'a Reel,
    bytes: Arc<Vec<u8>>,
    decoder: FrameDecoder,
    /// Blocks of the chunks that contain the frames.
    blocks: Vec<Vec<u8>>,
    raw: Vec<u8>,
    /// Two buffers of the size of all positions of the largest frame.
    floats: [Vec<f32>; 2],
    shader: ShaderBuffers,
    /// Number of points of all frames together.
    points: u64,
    /// Number of vertices of all frames together.
    vertices: u64,
}

/// Buffers for what a shader needs of a mesh.
struct ShaderBuffers {
    positions: Vec<f32>,
    normals: Vec<f32>,
    tangents: Vec<f32>,
    /// Uvs or colours.
    values: Vec<f32>,
}

impl ShaderBuffers {
    fn new(vertices: usize) -> ShaderBuffers {
        let floats = |each: usize| vec![0.0; each * vertices];
        ShaderBuffers { positions: floats(3), normals: floats(3), tangents: floats(4), values: floats(4) }
    }

    /// Writes what changes from frame to frame.
    fn write(&mut self, mesh: &MeshView<'_>) -> Result<(), meshreel::Error> {
        let count = mesh.vertex_count();
        mesh.positions_into(&mut self.positions[..3 * count])?;
        if mesh.has_tangents() {
            mesh.directions_into(&mut self.normals[..3 * count], &mut self.tangents[..4 * count])?;
        } else if mesh.has_normals() {
            mesh.normals_into(&mut self.normals[..3 * count])?;
        }
        let changes = mesh.record().method.changes();
        for stream in mesh.record().streams.iter().filter(|stream| changes || stream.animated) {
            match stream.semantic {
                Semantic::Uv => mesh.uvs_into(stream.set, &mut self.values[..2 * count])?,
                Semantic::Colour => mesh.colours_into(stream.set, &mut self.values[..4 * count])?,
                _ => {}
            }
        }
        black_box(self);
        Ok(())
    }
}

impl<'a> Bench<'a> {
    fn new(reel: &'a Reel, bytes: Arc<Vec<u8>>) -> Result<Bench<'a>, meshreel::Error> {
        let mut decoder = FrameDecoder::new(reel)?;
        let (mut blocks, mut seen) = (Vec::new(), BTreeSet::new());
        let (mut raw, mut points, mut vertices) = (0, 0, 0);
        let (mut all_vertices, mut largest) = (0, 0);
        for frame in 0..reel.frame_count() {
            let of_frame = reel.frame_chunk(frame).offset;
            let chunk = (reel.chunks().iter()).position(|chunk| chunk.offset == of_frame);
            // Several frames can lie in one chunk.
            if let Some(chunk) = chunk.filter(|&chunk| seen.insert(chunk)) {
                let mut block = Vec::new();
                reel.reader().read_chunk(chunk, &mut block)?;
                raw = raw.max(reel.chunks()[chunk].raw_size as usize);
                blocks.push(block);
            }
            decoder.decode(frame)?;
            let meshes = 0..reel.description().meshes.len();
            let of = |m| decoder.mesh(m);
            points += meshes.clone().map(|m| u64::from(of(m).source_points())).sum::<u64>();
            largest = meshes.clone().map(|m| of(m).vertex_count()).fold(largest, usize::max);
            let of_frame = meshes.map(|m| of(m).vertex_count()).sum();
            all_vertices += of_frame as u64;
            vertices = vertices.max(of_frame);
        }
        Ok(Bench {
            reel,
            bytes,
            decoder,
            blocks,
            raw: vec![0; raw],
            floats: [vec![0.0; 3 * vertices], vec![0.0; 3 * vertices]],
            shader: ShaderBuffers::new(largest),
            points,
            vertices: all_vertices,
        })
    }

    fn measure(mut self, budget: Duration) -> Result<BenchReport, meshreel::Error> {
        let frames = self.reel.frame_count();
        let mut stages = Vec::new();
        let (raw_position_bytes, vertices) = (12 * self.points, self.vertices);
        let mut stage = |name, seconds: f64| {
            stages.push(Stage::new(name, seconds, (raw_position_bytes, vertices, frames)))
        };
        if frames > 0 {
            stage("everything to f32", best_seconds(budget, || self.everything(frames))?);
            let copied = best_seconds(budget, || {
                for _ in 0..frames {
                    let [from, to] = &mut self.floats;
                    to.copy_from_slice(from);
                    black_box(to);
                }
                Ok(())
            });
            stage("memcpy of the positions", copied?);
            let mut decompressor = Decompressor::new();
            // Only if the frames are compressed so: decoding them has shown that the blocks are intact.
            let mut unpack = |block: &Vec<u8>| {
                let size = Decompressor::raw_size(block).ok()?;
                let raw = self.raw.get_mut(..size)?;
                decompressor.decompress(block, raw).ok()?;
                black_box(raw);
                Some(())
            };
            if self.blocks.iter().all(|block| unpack(block).is_some()) {
                let unpacked = best_seconds(budget, || {
                    for block in &self.blocks {
                        let _ = unpack(block);
                    }
                    Ok(())
                });
                stage("plain block decompression", unpacked?);
            }
            stage("decode, forward", best_seconds(budget, || self.decode(0..frames))?);
            let jumps = (0..frames).map(|f| f * 617 % frames);
            stage("decode, jumping", best_seconds(budget, || self.decode(jumps.clone()))?);
            for (name, rate) in [("played forward", 1.0), ("played backward", -1.0)] {
                let passes = (0..MIN_PASSES).map(|_| self.player_seconds(rate));
                let seconds = passes.collect::<Result<Vec<f64>, _>>()?;
                stage(name, seconds.into_iter().fold(f64::INFINITY, f64::min));
            }
            stage("positions to f32", best_seconds(budget, || self.positions(frames))?);
            stage("interpolated to f32", self.interpolated(budget, frames)?);
        }
        Ok(BenchReport { frames, raw_position_bytes, stages, ..BenchReport::default() })
    }

    /// Decodes frames in this order; none is left from the pass before.
    fn decode(&mut self, mut order: impl Iterator<Item = usize>) -> Result<(), meshreel::Error> {
        self.decoder.forget();
        order.try_for_each(|frame| self.decoder.decode(frame))
    }

    /// Decodes all frames and writes what a shader needs of each.
    fn everything(&mut self, frames: usize) -> Result<(), meshreel::Error> {
        self.decoder.forget();
        for frame in 0..frames {
            self.decoder.decode(frame)?;
            for mesh in 0..self.reel.description().meshes.len() {
                self.shader.write(&self.decoder.mesh(mesh))?;
            }
        }
        Ok(())
    }

    /// Returns the seconds that a player spends decoding when it plays the whole file once.
    fn player_seconds(&self, rate: f64) -> Result<f64, meshreel::Error> {
        // Decoding runs within the tick, on this core; the file is in memory already.
        let options = Options::default().with_threads(0).with_read_threads(0).with_file_memory(u64::MAX);
        let limits = limits(self.reel.has_attributes());
        let heap = options.least_heap(self.reel, 1).max(HEAP_BYTES);
        let heap = usize::try_from(heap).unwrap_or(usize::MAX);
        let mut player = Player::new(options.with_heap(heap).with_resident(0).with_limits(limits))?;
        let file = player.open_bytes(self.bytes.clone());
        let Some(instance) = player.add_instance(file) else {
            return Ok(0.0);
        };
        player.command(instance, Command::Rate(rate));
        player.command(instance, Command::Play);
        let last = self.reel.frame_count() - 1;
        let step = (self.reel.time(last) - self.reel.time(0)) / last.max(1) as f64;
        // Twice as often as there are frames, so that each is displayed whatever their times are.
        for _ in 0..2 * last + 3 {
            player.tick(step / 2.0);
            while let Some(event) = player.next_event() {
                if let Event::OpenFailed(_, error) | Event::Damaged(_, error) = event {
                    return Err(error);
                }
            }
        }
        let mut statistics = Statistics::default();
        player.statistics(&mut statistics);
        Ok(statistics.decode_seconds)
    }

    fn positions(&mut self, times: usize) -> Result<(), meshreel::Error> {
        for _ in 0..times {
            let mut from = 0;
            for mesh in 0..self.reel.description().meshes.len() {
                let mesh = self.decoder.mesh(mesh);
                let to = from + 3 * mesh.vertex_count();
                mesh.positions_into(&mut self.floats[0][from..to])?;
                from = to;
            }
            black_box(&self.floats[0]);
        }
        Ok(())
    }

    fn interpolated(&mut self, budget: Duration, times: usize) -> Result<f64, meshreel::Error> {
        let mut second = FrameDecoder::new(self.reel)?;
        self.decoder.decode(0)?;
        second.decode(1.min(times - 1))?;
        let pace = Pace::default();
        let view = FrameView::between(&self.decoder, &second, 0.5, pace)?;
        let out = &mut self.floats[0];
        best_seconds(budget, || {
            for _ in 0..times {
                for node in 0..self.reel.description().nodes.len() {
                    if let Some(mesh) = view.mesh(node) {
                        mesh.positions_into(&mut out[..3 * mesh.vertex_count()])?;
                    }
                }
                black_box(&mut *out);
            }
            Ok(())
        })
    }
}

/// The time of each stage, as `--json` prints it.
#[derive(Default, Serialize)]
struct BenchReport {
    file: String,
    frames: usize,
    /// Seconds to open the file in memory and make a decoder, with the static data of all meshes.
    opening_seconds: f64,
    /// The triangles of all meshes; of meshes whose faces change, those of the largest frame.
    triangles: u64,
    /// 12 bytes for each source point of each frame.
    raw_position_bytes: u64,
    stages: Vec<Stage>,
    clips: Vec<PoseSpeed>,
}

/// A stage of decoding.
#[derive(Serialize)]
struct Stage {
    name: &'static str,
    /// Seconds for all frames.
    seconds: f64,
    /// Millions of vertices per second, as they are drawn.
    million_vertices_per_second: f64,
    /// Megabytes of raw positions per second.
    mb_per_second: f64,
    frames_per_second: f64,
}

impl Stage {
    fn new(
        name: &'static str,
        seconds: f64,
        (raw_position_bytes, vertices, frames): (u64, u64, usize),
    ) -> Stage {
        let at_least = seconds.max(1e-9);
        Stage {
            name,
            seconds,
            million_vertices_per_second: vertices as f64 / 1e6 / at_least,
            mb_per_second: raw_position_bytes as f64 / 1e6 / at_least,
            frames_per_second: frames as f64 / at_least,
        }
    }
}

impl BenchReport {
    fn text(&self) -> String {
        let rows: Vec<Vec<String>> = (self.stages.iter())
            .map(|stage| {
                let each = stage.seconds * 1e3 / self.frames as f64;
                vec![
                    stage.name.to_string(),
                    format!("{:.1}", stage.million_vertices_per_second),
                    format!("{:.0}", stage.mb_per_second),
                    format!("{each:.3}"),
                    format!("{:.0}", stage.frames_per_second),
                ]
            })
            .collect();
        let mut text = match self.frames {
            0 => format!("{}\n", one_line(&self.file)),
            _ => format!(
                "{}: {} frames, {} of raw positions; one core, best of several passes\n\n{}",
                one_line(&self.file),
                self.frames,
                units::bytes(self.raw_position_bytes),
                table(&["stage", "M vertices/s", "MB/s of raw positions", "ms per frame", "frames/s"], &rows)
            ),
        };
        if self.triangles > 0 {
            let each = self.opening_seconds * 1e9 / self.triangles as f64;
            let (ms, triangles) = (self.opening_seconds * 1e3, self.triangles);
            text += &format!("\nopened with {triangles} triangles in {ms:.3} ms, {each:.0} ns each\n");
        }
        if !self.clips.is_empty() {
            text += &poses::speed_table(&self.clips);
        }
        text
    }
}
