//! Frames of the preset `classic`, by group: from one index frame to the next.

use crate::Error;
use crate::codec_terms::block_format;
use crate::method::coder::FramePayload;
use crate::report::{Phase, Progress};
use crate::threads::code_in_order;
use crate::write::job::{Job, MeshSizes, check_size};
use crate::write::node_frames::{FrameInput, NodeFrames, same_bits, unit_bounds};
use meshreel_codec::entropy::block::{Compressor, Decompressor};
use meshreel_codec::transform::{self, Transform};
use rayon::prelude::*;
use std::sync::Arc;

struct GroupInput {
    first: usize,
    last: usize,
    with_last: bool,
    frames: Vec<FrameInput>,
}

/// A frame ready to be written.
pub struct FrameOutput {
    pub frame: usize,
    pub bytes: Vec<u8>,
    pub raw: usize,
    pub bounds: [f32; 6],
    pub parts: Vec<MeshSizes>,
}

/// Returns `true` if a frame is an index frame.
pub fn is_index_frame(frame: usize, frames: usize, every: usize) -> bool {
    frame.is_multiple_of(every) || frame + 1 == frames
}

/// Returns the distance of index frames: the requested one, or less if a group would not fit the allowed
/// memory.
pub fn index_distance(job: &Job) -> usize {
    let mut every = job.content.options.index_every();
    while every > 1 && group_bytes(job, every) > job.content.options.memory {
        every = every.div_ceil(2);
    }
    every
}

/// Returns the memory that one group of frames needs while it is coded.
fn group_bytes(job: &Job, every: usize) -> u64 {
    let (mut largest, mut outputs) = (0u64, 0u64);
    for (plan, _) in &job.plans {
        let vertices =
            plan.prepared.fixed.as_ref().map_or(2 * plan.prepared.scan.points, |f| f.vertex_point.len())
                as u64;
        let (mut levels, mut floats) = (0u64, 24u64);
        for stream in plan.streams.iter().filter(|s| s.animated) {
            levels += stream.semantic.components() as u64 * u64::from(stream.word);
            floats += 4 * stream.semantic.components() as u64 + 12;
        }
        if levels > 0 {
            largest = largest.max(vertices * (7 * levels + 2 * floats));
            outputs += vertices * levels * every as u64;
        }
    }
    let transforms = job.nodes.len() as u64 * 160 * every as u64;
    largest + 2 * outputs + transforms + (1 << 16)
}

/// Codes all frames and hands them out in order.
pub fn encode_frames(
    job: &Job,
    progress: &dyn Progress,
    mut consume: impl FnMut(FrameOutput) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let frames = job.content.times.len();
    let every = index_distance(job);
    let threads = rayon::current_num_threads() as u64;
    let batch = (job.content.options.memory / 2 / group_bytes(job, every).max(1)).clamp(1, threads) as usize;
    let mut nodes = NodeFrames::new(job)?;
    let read = || -> Result<Option<GroupInput>, Error> {
        let first = nodes.next();
        if first >= frames {
            return Ok(None);
        }
        let last = (first + every).min(frames - 1);
        let with_last = last + 1 == frames;
        let end = if with_last { last + 1 } else { last };
        let mut inputs = Vec::with_capacity(end - first);
        for _ in first..end {
            inputs.push(nodes.read()?);
        }
        Ok(Some(GroupInput { first, last, with_last, frames: inputs }))
    };
    let mut done = 0;
    code_in_order(
        batch,
        read,
        |group| encode_group(job, group),
        |outputs: Vec<FrameOutput>| {
            for output in outputs {
                job.content.cancellation.check()?;
                consume(output)?;
                done += 1;
                progress.update(Phase::Encode, done, frames as u64);
            }
            Ok(())
        },
    )
}

fn encode_group(job: &Job, group: GroupInput) -> Result<Vec<FrameOutput>, Error> {
    let parts: Vec<Vec<FramePayload>> = job
        .plans
        .par_iter()
        .map(|(plan, _)| plan.encode_group(group.first, group.last, group.with_last, &job.content.options))
        .collect::<Result<_, Error>>()?;
    let parts = Arc::new(parts);
    group
        .frames
        .par_iter()
        .enumerate()
        .map_init(
            || {
                (
                    Compressor::new(block_format(job.content.options.block), job.content.options.effort),
                    Decompressor::new(),
                )
            },
            |(compressor, decompressor), (i, input)| {
                let frame = group.first + i;
                let mut content = input.visible.clone();
                if !input.transforms.is_empty() {
                    let previous = (i > 0).then(|| group.frames[i - 1].transforms.as_slice());
                    // The last frame is an index frame too.
                    let previous = previous.filter(|_| frame + 1 < job.content.times.len());
                    let start = content.len();
                    transform::encode(&input.transforms, previous, &mut content);
                    let mut back = vec![Transform::IDENTITY; input.transforms.len()];
                    let used = transform::decode(&content[start..], previous, &mut back);
                    if used != Ok(content.len() - start) || !same_bits(&back, &input.transforms) {
                        return Err(Error::Promise {
                            what: format!("transforms of frame {frame} do not decode to what was encoded"),
                            target: Default::default(),
                        });
                    }
                }
                for mesh in parts.iter() {
                    content.extend_from_slice(&mesh[i].bytes);
                }
                check_size("one frame", content.len())?;
                let mut bytes = Vec::new();
                compressor.compress(&content, &mut bytes);
                let mut back = vec![0; content.len()];
                if decompressor.decompress(&bytes, &mut back).is_err() || back != content {
                    return Err(Error::Promise {
                        what: format!(
                            "the block of frame {frame} does not decompress to what was compressed"
                        ),
                        target: Default::default(),
                    });
                }
                let bounds = unit_bounds(&input.shown, |m| parts[m as usize][i].bounds);
                Ok(FrameOutput {
                    frame,
                    raw: content.len(),
                    bytes,
                    bounds,
                    parts: parts
                        .iter()
                        .map(|mesh| MeshSizes {
                            bytes: mesh[i].bytes.len(),
                            position_bytes: mesh[i].position_bytes,
                            error: mesh[i].error,
                            vertices: mesh[i].vertices,
                            indices: mesh[i].indices,
                        })
                        .collect(),
                })
            },
        )
        .collect()
}
