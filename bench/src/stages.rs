//! Times the decoding of the one animated stream of a file from memory, as a whole and stage by stage.

use anyhow::bail;
use meshreel::raw::record::{Coding, MeshRecord, NodeRecord, StreamRecord, Visibility};
use meshreel::view::QuantizedValues;
use meshreel::{FrameDecoder, FrameKind, Limits, Reel};
use meshreel_codec::classic::motion::{BlendFactors, MotionReferences};
use meshreel_codec::classic::stream::References;
use meshreel_codec::classic::{motion, stream};
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::quantize;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::values::parallelogram::{
    PredictionRule, PredictorTable, SpatialPrediction, TriangleWeights,
};
use meshreel_codec::values::{parallelogram, residual};
use serde::Serialize;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// One line of the table. Speeds are MB/s of raw positions, 12 bytes per vertex and frame.
#[derive(Serialize, Default)]
pub struct Row {
    pub name: String,
    pub block: String,
    /// Bits per vertex and frame of all frame blocks.
    pub bits: f64,
    /// From compressed bytes to quantized values.
    pub decode: f64,
    /// Each stage by itself: decompression, residuals, prediction within the frame, prediction from other
    /// frames.
    pub block_stage: f64,
    pub residual_stage: f64,
    pub spatial_stage: f64,
    pub motion_stage: f64,
    /// Plain decompression of the same blocks, followed by the motion kernel alone.
    pub plain: f64,
    /// Each group's frames once forwards and then backwards, through the player's decoder.
    pub of_plain: f64,
    /// Quantized values to f32, by itself.
    pub dequantize: f64,
    /// A copy of as many bytes as the positions have.
    pub memcpy: f64,
    /// Fraction of frames with spatial prediction, and number of frames with each residual layout.
    pub spatial_share: f64,
    pub layouts: [usize; 4],
}

/// Times every stage; for each frame the fastest of `repeat` runs counts, which excludes other load on the
/// machine.
pub fn measure(path: &Path, repeat: usize) -> anyhow::Result<Row> {
    let reel = Reel::open(path, &Limits::default())?;
    let [mesh] = &reel.description().meshes[..] else {
        bail!("only files with one mesh are measured");
    };
    let [stream] = &mesh.streams[..] else {
        bail!("only files with positions alone are measured");
    };
    let still = |n: &NodeRecord| !n.animated && n.visibility != Visibility::Animated;
    if mesh.streams[0].coding != Coding::FixedPoint || !reel.description().nodes.iter().all(still) {
        bail!("only soft meshes under nodes that stand still are measured");
    }
    match stream.word {
        1 => Bench::<u8>::new(&reel, mesh, stream)?.row(repeat),
        2 => Bench::<u16>::new(&reel, mesh, stream)?.row(repeat),
        _ => Bench::<u32>::new(&reel, mesh, stream)?.row(repeat),
    }
}

/// Everything of one file in memory.
struct Bench<'a, W> {
    reel: &'a Reel,
    stream: &'a StreamRecord,
    vertices: usize,
    table: PredictorTable,
    base: Vec<W>,
    /// Steps in decode order.
    steps: Vec<Step>,
    /// Compressed and raw content of each step's frame.
    blocks: Vec<Vec<u8>>,
    raw: Vec<Vec<u8>>,
    parts: Vec<FrameParameters>,
}

/// A frame, and the buffers that it is decoded to and predicted from.
#[derive(Clone, Copy)]
struct Step {
    frame: usize,
    out: usize,
    from: Option<[Option<usize>; 4]>,
}

/// The parameters at the start of a stream's frame.
struct FrameParameters {
    source: u8,
    blend: BlendFactors,
    rule: Option<PredictionRule>,
    residuals: usize,
    layout: u8,
}

/// Buffers for two index frames and three B-frames between them, as in the player.
const BUFFERS: usize = 5;

impl<'a, W: Code> Bench<'a, W> {
    fn new(reel: &'a Reel, mesh: &MeshRecord, stream: &'a StreamRecord) -> anyhow::Result<Self> {
        let vertices = mesh.vertices as usize;
        let mut block = Vec::new();
        reel.reader().read_chunk(mesh.values.chunk as usize, &mut block)?;
        let content = unpack(&block)?;
        let at = mesh.values.offset as usize;
        let values = &content[at..at + mesh.values.size as usize];
        let (table, used) = match mesh.has_table {
            true => parallelogram::decode_table(values, &reel.indices(0)?, vertices)?,
            false => (PredictorTable::new(), 0),
        };
        let mut base = vec![W::default(); 3 * vertices];
        let refs = References::of_index_frame(None, &table);
        stream::decode(&values[used..], 3, SpatialPrediction::Parallelogram, refs, &mut base)?;
        let steps = steps(reel);
        let mut blocks = Vec::new();
        for step in &steps {
            let chunk = reel.frame_chunk(step.frame);
            let mut block = vec![0; chunk.size as usize];
            reel.reader().source().read_at(chunk.offset, &mut block)?;
            blocks.push(block);
        }
        let raw: Vec<Vec<u8>> = blocks.iter().map(|b| unpack(b)).collect::<Result<_, _>>()?;
        let parts = raw.iter().map(|raw| FrameParameters::read(raw)).collect();
        Ok(Bench { reel, stream, vertices, table, base, steps, blocks, raw, parts })
    }

    fn row(&self, repeat: usize) -> anyhow::Result<Row> {
        self.check()?;
        let bytes = 12e-6 * (self.vertices * self.steps.len()) as f64;
        let mut frames = vec![vec![W::default(); 3 * self.vertices]; BUFFERS];
        let mut scratch = vec![0; self.raw.iter().map(Vec::len).max().unwrap_or(0)];
        let mut decompressor = Decompressor::new();
        // The fastest time of each step counts.
        let speed = |pass: &mut dyn FnMut(usize)| {
            let mut best = vec![f64::INFINITY; self.steps.len()];
            for _ in 0..repeat {
                for (at, best) in best.iter_mut().enumerate() {
                    let start = Instant::now();
                    pass(at);
                    *best = best.min(start.elapsed().as_secs_f64());
                }
            }
            bytes / best.iter().sum::<f64>()
        };
        let decode = speed(&mut |at| self.step(at, &mut decompressor, &mut scratch, &mut frames));
        let block_stage = speed(&mut |at| {
            black_box(decompressor.content(&self.blocks[at], &mut scratch).is_ok());
        });
        let residual_stage = speed(&mut |at| {
            let out = &mut frames[self.steps[at].out];
            let bytes = &self.raw[at][self.parts[at].residuals..];
            black_box(residual::decode(bytes, 3, out).is_ok());
        });
        let spatial_stage = speed(&mut |at| {
            let parts = &self.parts[at];
            if let Some(rule) = parts.rule {
                let signed = parts.source != 0;
                let out = &mut frames[self.steps[at].out];
                black_box(parallelogram::reconstruct(3, rule, signed, &self.table, out).is_ok());
            }
        });
        let motion_stage = speed(&mut |at| self.predict(&self.steps[at], &self.parts[at], &mut frames));
        let plain = speed(&mut |at| {
            black_box(decompressor.content(&self.blocks[at], &mut scratch).is_ok());
            self.predict(&self.steps[at], &self.parts[at], &mut frames);
        });
        let mut floats = vec![0f32; 3 * self.vertices];
        let dequantize = speed(&mut |at| {
            quantize::dequantize(&self.stream.axes, &frames[self.steps[at].out], &mut floats);
            black_box(&floats);
        });
        let source = vec![0u8; 12 * self.vertices];
        let mut target = source.clone();
        let memcpy = speed(&mut |_| {
            target.copy_from_slice(black_box(&source));
            black_box(&target);
        });
        let size: usize = self.blocks.iter().map(Vec::len).sum();
        let mut layouts = [0; 4];
        for parts in &self.parts {
            layouts[usize::from(parts.layout) & 3] += 1;
        }
        let spatial = self.parts.iter().filter(|p| p.rule.is_some()).count();
        Ok(Row {
            bits: 8.0 * size as f64 / (self.vertices * self.steps.len()) as f64,
            decode,
            block_stage,
            residual_stage,
            spatial_stage,
            motion_stage,
            plain,
            of_plain: decode / plain,
            dequantize,
            memcpy,
            spatial_share: spatial as f64 / self.parts.len().max(1) as f64,
            layouts,
            ..Row::default()
        })
    }

    /// Decodes everything once, and compares with the player's output.
    fn check(&self) -> anyhow::Result<()> {
        let mut player = FrameDecoder::new(self.reel)?;
        let mut frames = vec![vec![W::default(); 3 * self.vertices]; BUFFERS];
        let mut scratch = vec![0; self.raw.iter().map(Vec::len).max().unwrap_or(0)];
        let mut decompressor = Decompressor::new();
        for (at, step) in self.steps.iter().enumerate() {
            self.step(at, &mut decompressor, &mut scratch, &mut frames);
            player.decode(step.frame)?;
            let mine = frames[step.out].iter().map(|w| w.to_u32());
            let same = match player.mesh(0).quantized(0) {
                QuantizedValues::U8(v) => v.iter().map(|&w| u32::from(w)).eq(mine),
                QuantizedValues::U16(v) => v.iter().map(|&w| u32::from(w)).eq(mine),
                QuantizedValues::U32(v) => v.iter().copied().eq(mine),
                _ => bail!("values have 1, 2 or 4 bytes"),
            };
            if !same {
                bail!("frame {} is not what the player gives", step.frame);
            }
        }
        Ok(())
    }

    /// Decodes a frame.
    fn step(&self, at: usize, decompressor: &mut Decompressor, scratch: &mut [u8], frames: &mut [Vec<W>]) {
        let step = &self.steps[at];
        let content = decompressor.content(&self.blocks[at], scratch);
        let mut out = std::mem::take(&mut frames[step.out]);
        let frame = |at: usize| &frames[at][..];
        let refs = match step.from {
            None => References::of_index_frame(Some(&self.base), &self.table),
            Some([previous, before, first, last]) => References {
                previous: previous.map(frame),
                before_previous: before.map(frame),
                index_before: first.map(frame),
                index_after: last.map(frame),
                ..References::of_index_frame(Some(&self.base), &self.table)
            },
        };
        if let Ok(content) = content {
            let decoded = stream::decode(content, 3, SpatialPrediction::Parallelogram, refs, &mut out);
            black_box(decoded.is_ok());
        }
        frames[step.out] = out;
    }

    /// Runs only the kernel of prediction from other frames.
    fn predict(&self, step: &Step, parts: &FrameParameters, frames: &mut [Vec<W>]) {
        let mut out = std::mem::take(&mut frames[step.out]);
        match (step.from, parts.source) {
            (Some([Some(previous), before, Some(first), Some(last)]), 2) => {
                let sources = MotionReferences {
                    previous: &frames[previous],
                    before_previous: &frames[before.unwrap_or(previous)],
                    index_before: &frames[first],
                    index_after: &frames[last],
                };
                motion::reconstruct(sources, parts.blend, &mut out);
            }
            (_, 1) => {
                for (o, &b) in out.iter_mut().zip(&self.base) {
                    *o = o.wrapping_add(b);
                }
            }
            _ => {}
        }
        black_box(&out);
        frames[step.out] = out;
    }
}

impl FrameParameters {
    /// Reads the layout of `docs/FORMAT/mesh.md`. The file was decoded before, so it is valid.
    fn read(raw: &[u8]) -> FrameParameters {
        let predictor = raw[0];
        let source = predictor & 3;
        let mut at = 1;
        let mut blend = BlendFactors::default();
        if source == 2 {
            blend = BlendFactors { a: raw[1], b: raw[2], c: raw[3] };
            at += 3;
        }
        let mut rule = (source != 2).then_some(PredictionRule::Usual(SpatialPrediction::Parallelogram));
        if predictor & 4 != 0 {
            rule = Some(PredictionRule::Weighted(TriangleWeights { edge: raw[at], apex: raw[at + 1] as i8 }));
            at += 2;
        }
        FrameParameters { source, blend, rule, residuals: at, layout: raw[at] }
    }
}

fn unpack(block: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut content = vec![0; Decompressor::raw_size(block)?];
    Decompressor::new().decompress(block, &mut content)?;
    Ok(content)
}

/// Returns all frames, group by group: the index frame at the end, then those between.
fn steps(reel: &Reel) -> Vec<Step> {
    let index: Vec<usize> =
        (0..reel.frame_count()).filter(|&f| reel.frame_kind(f) == FrameKind::Index).collect();
    let mut steps = Vec::new();
    for (group, &last) in index.iter().enumerate() {
        let (out, other) = (group % 2, (group + 1) % 2);
        steps.push(Step { frame: last, out, from: None });
        let Some(first) = group.checked_sub(1).map(|g| index[g]) else {
            continue;
        };
        let buffer = |frame: usize| match frame == first {
            true => other,
            false => 2 + frame % 3,
        };
        for frame in first + 1..last {
            let before = (frame > first + 1).then(|| buffer(frame - 2));
            steps.push(Step {
                frame,
                out: buffer(frame),
                from: Some([Some(buffer(frame - 1)), before, Some(other), Some(out)]),
            });
        }
    }
    steps
}
