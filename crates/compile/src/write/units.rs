//! The units of a layered file, in the order in which they are written: nodes and meshes put together,
//! compressed and decompressed again.

use crate::Error;
use crate::codec_terms::block_format;
use crate::mesh::streams::NOTHING;
use crate::method::mesh_coder::MeshCoder;
use crate::method::payload::Payload;
use crate::report::{Phase, Progress};
use crate::write::job::{Counted, Job};
use crate::write::node_coder::NodeCoder;
use crate::write::node_frames::{FrameInput, NodeFrames, same_bits, unit_bounds};
use crate::write::output::check_size;
use meshreel_codec::entropy::block::{Compressor, Decompressor, Format};
use meshreel_codec::put_sized;
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::transform::{self, Transform};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// One unit ready to be written.
pub struct UnitOutput {
    /// It decodes without other units.
    pub alone: bool,
    /// Its block, compressed.
    pub bytes: Vec<u8>,
    /// Bytes before compression.
    pub raw: usize,
    /// Bytes before compression that transforms of nodes take.
    pub nodes: usize,
    /// Each frame with the box in the world around everything that it shows.
    pub bounds: Vec<(u32, [f32; 6])>,
    /// Sizes and errors of each mesh.
    pub parts: Vec<Counted>,
    /// The unit of vertex attributes behind it, where these are in units of their own.
    pub attributes: Option<Attributes>,
}

/// Animated vertex attributes of a unit, ready to be written.
pub struct Attributes {
    /// Their block, compressed.
    pub bytes: Vec<u8>,
    /// Bytes before compression.
    pub raw: usize,
    /// Sizes and errors of each mesh.
    pub parts: Vec<Counted>,
}

/// A task of a step: what one mesh has in a segment of keys or in a group.
#[derive(Clone, Copy)]
enum Task {
    Segment(u32),
    Group(u32),
}

/// Codes all units and hands them to `consume` in the order of the file.
pub fn encode(
    job: &Job<'_>,
    coders: &[MeshCoder<'_>],
    tracks: &mut Option<NodeCoder<'_>>,
    schedule: Schedule,
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
    consume: &mut (dyn FnMut(UnitOutput) -> Result<(), Error> + Send),
) -> Result<(), Error> {
    let mut nodes = NodeFrames::new(job)?;
    let mut inputs: BTreeMap<u32, FrameInput> = BTreeMap::new();
    let mut payloads: BTreeMap<(u32, u8), Vec<Payload>> = BTreeMap::new();
    let mut units = schedule.in_file().peekable();
    let (segments, restart) = (schedule.segments(), schedule.restart());
    let mut done = 0;
    let step = segments_at_once(job, schedule, pool.current_num_threads());
    // Groups of a segment look ahead to two keys behind it, which may be of two segments.
    let ahead = if restart == 1 { 2 } else { 1 };
    for first in (0..segments).step_by(step as usize) {
        job.cancellation.check()?;
        let start = if first == 0 { 0 } else { first + ahead };
        let keys = start.min(segments)..(first + step + ahead).min(segments);
        let keys = keys.map(Task::Segment);
        run(coders, keys.collect(), pool, schedule, &mut payloads)?;
        let last = (first + step).min(segments);
        let groups = first * restart..(last * restart).min(schedule.groups());
        run(coders, groups.clone().map(Task::Group).collect(), pool, schedule, &mut payloads)?;
        // All frames of these groups, and the two keys that are written ahead of them.
        let end = schedule.key_frame((groups.end + 1).min(schedule.keys() - 1));
        let end = if last == segments { schedule.frames() } else { end + 1 };
        while nodes.next() < end as usize {
            let frame = nodes.next() as u32;
            inputs.insert(frame, nodes.read()?);
        }
        if let Some(tracks) = tracks {
            pool.install(|| tracks.code(&inputs, groups.end))?;
        }
        let mut batch = Vec::new();
        while let Some(unit) = units.next_if(|unit| {
            let coded = payloads.contains_key(&number(*unit));
            coded && schedule.frames_of(*unit).iter().all(|f| inputs.contains_key(f))
        }) {
            batch.push((unit, payloads.remove(&number(unit)).unwrap_or_default()));
        }
        let moved = tracks.as_ref();
        let apart = coders.iter().any(MeshCoder::is_apart);
        let outputs: Vec<UnitOutput> = pool.install(|| {
            batch
                .par_iter()
                .map_init(
                    || Packer::new(job),
                    |packer, (unit, payload)| {
                        job.cancellation.check()?;
                        let mut output = pack(schedule, *unit, payload, &inputs, moved, packer)?;
                        if apart {
                            output.attributes = Some(packer.attributes(*unit, payload)?);
                        }
                        Ok(output)
                    },
                )
                .collect::<Result<_, Error>>()
        })?;
        for output in outputs {
            job.cancellation.check()?;
            done += output.bounds.len() as u64;
            consume(output)?;
            progress.update(Phase::Encode, done, u64::from(schedule.frames()));
        }
        // Kept: what units of the next step refer to.
        let key = groups.end.saturating_sub(1);
        coders.iter().for_each(|coder| coder.forget(key));
        let keep = schedule.key_frame(key);
        inputs.retain(|&frame, _| frame >= keep);
        if let Some(tracks) = tracks {
            tracks.forget(keep);
        }
    }
    Ok(())
}

fn number(unit: Unit) -> (u32, u8) {
    match unit {
        Unit::Key(i) => (i, 0),
        Unit::LowerLayers(g) => (g, 1),
        Unit::TopLayer(g) => (g, 2),
    }
}

/// The number of segments that are worked on side by side.
fn segments_at_once(job: &Job<'_>, schedule: Schedule, threads: usize) -> u32 {
    let mut per_segment = 1u64 << 16;
    for (plan, _) in &job.plans {
        let fixed = plan.prepared.fixed.as_ref();
        let vertices = fixed.map_or(2 * plan.prepared.points, |f| f.vertex_point.len()) as u64;
        if plan.streams.iter().any(|s| s.animated) {
            // Decoded keys; units before they are written.
            per_segment += vertices * u64::from(schedule.restart()) * (16 + 16 * 8);
        }
    }
    per_segment += job.nodes.len() as u64 * 700 * 16 * u64::from(schedule.restart());
    let groups = 2 * threads as u64;
    let wanted = groups.div_ceil(u64::from(schedule.restart()));
    (job.options.memory / 2 / per_segment).clamp(1, wanted) as u32
}

/// Runs tasks for all meshes side by side.
fn run(
    coders: &[MeshCoder<'_>],
    tasks: Vec<Task>,
    pool: &rayon::ThreadPool,
    schedule: Schedule,
    payloads: &mut BTreeMap<(u32, u8), Vec<Payload>>,
) -> Result<(), Error> {
    let jobs: Vec<(Task, &MeshCoder<'_>)> =
        (tasks.iter()).flat_map(|&task| coders.iter().map(move |coder| (task, coder))).collect();
    let coded: Vec<Vec<Payload>> = pool.install(|| {
        jobs.par_iter()
            .map(|(task, coder)| match task {
                Task::Segment(s) => coder.segment(*s),
                Task::Group(g) => coder.group(*g),
            })
            .collect::<Result<_, Error>>()
    })?;
    for ((task, _), mesh) in jobs.iter().zip(coded) {
        let units: Vec<Unit> = match task {
            Task::Segment(s) => schedule.segment(*s).map(Unit::Key).collect(),
            Task::Group(g) => vec![Unit::LowerLayers(*g), Unit::TopLayer(*g)],
        };
        for (unit, payload) in units.into_iter().zip(mesh) {
            payloads.entry(number(unit)).or_default().push(payload);
        }
    }
    Ok(())
}

/// Compression contexts of a thread.
struct Packer {
    shrink: Compressor,
    store: Compressor,
    check: Decompressor,
}

impl Packer {
    fn new(job: &Job<'_>) -> Packer {
        Packer {
            shrink: Compressor::new(block_format(job.options.block), job.options.effort),
            store: Compressor::new(Format::Store, 1),
            check: Decompressor::new(),
        }
    }

    /// A block of a unit, compressed where that is worth it, and decompressed again.
    fn block(&mut self, unit: Unit, content: &[u8]) -> Result<Vec<u8>, Error> {
        check_size("one unit of frames", content.len())?;
        let mut bytes = Vec::new();
        self.shrink.compress(content, &mut bytes);
        if bytes.len() + content.len() / WORTH > content.len() {
            bytes.clear();
            self.store.compress(content, &mut bytes);
        }
        let mut back = vec![0; content.len()];
        if self.check.decompress(&bytes, &mut back).is_err() || back != content {
            return Err(broken(format!("the block of {unit:?}")));
        }
        Ok(bytes)
    }

    fn attributes(&mut self, unit: Unit, meshes: &[Payload]) -> Result<Attributes, Error> {
        let all: Vec<&[u8]> = meshes.iter().map(|mesh| &mesh.attributes[..]).collect();
        let content = all.concat();
        let counted = |mesh: &Payload| Counted { bytes: mesh.attributes.len(), ..Counted::default() };
        Ok(Attributes {
            bytes: self.block(unit, &content)?,
            raw: content.len(),
            parts: meshes.iter().map(counted).collect(),
        })
    }
}

/// Blocks that shrink by less than one part in this many are stored as they are, which decodes faster.
const WORTH: usize = 32;

/// Puts a unit together: visibility and transforms of nodes, then each mesh; compressed, and decoded again.
fn pack(
    schedule: Schedule,
    unit: Unit,
    meshes: &[Payload],
    inputs: &BTreeMap<u32, FrameInput>,
    tracks: Option<&NodeCoder<'_>>,
    packer: &mut Packer,
) -> Result<UnitOutput, Error> {
    let mut content = Vec::new();
    for &frame in schedule.frames_of(unit).iter() {
        let Some(input) = inputs.get(&frame) else {
            continue;
        };
        content.extend_from_slice(&input.visible);
        if !input.transforms.is_empty() && tracks.is_none() {
            put_transforms(schedule, frame, inputs, &input.transforms, &mut content)?;
        }
    }
    let mut nodes = 0;
    if let Some(tracks) = tracks {
        let start = content.len();
        put_sized(&tracks.unit(unit)?, &mut content);
        nodes = content.len() - start;
    }
    for mesh in meshes {
        content.extend_from_slice(&mesh.bytes);
    }
    Ok(UnitOutput {
        alone: is_alone(schedule, unit),
        raw: content.len(),
        nodes,
        bytes: packer.block(unit, &content)?,
        bounds: frame_bounds(schedule, unit, meshes, inputs, tracks),
        attributes: None,
        parts: meshes
            .iter()
            .map(|mesh| Counted {
                bytes: mesh.bytes.len(),
                position_bytes: mesh.position_bytes,
                error: mesh.seen.iter().fold(0.0, |most, s| most.max(s.1.error)),
                vertices: mesh.vertices,
                indices: mesh.indices,
            })
            .collect(),
    })
}

/// Adds the transforms of a frame as they are, as a difference to the frame that it refers to; decoded again.
fn put_transforms(
    schedule: Schedule,
    frame: u32,
    inputs: &BTreeMap<u32, FrameInput>,
    transforms: &[Transform],
    content: &mut Vec<u8>,
) -> Result<(), Error> {
    // As in the player: what a key would take from the first frame it does not.
    let key = schedule.key_of(frame).is_some();
    let references = schedule.references(frame);
    let mut list = references.iter().filter(|&&r| !(key && r == 0));
    let previous = list.next().and_then(|r| inputs.get(r));
    let previous = previous.map(|input| &input.transforms[..]);
    let start = content.len();
    transform::encode(transforms, previous, content);
    let mut back = vec![Transform::IDENTITY; transforms.len()];
    let used = transform::decode(&content[start..], previous, &mut back);
    match used == Ok(content.len() - start) && same_bits(&back, transforms) {
        true => Ok(()),
        false => Err(broken(format!("the transforms of frame {frame}"))),
    }
}

/// Each frame of a unit, with the box in the world around everything that it shows.
fn frame_bounds(
    schedule: Schedule,
    unit: Unit,
    meshes: &[Payload],
    inputs: &BTreeMap<u32, FrameInput>,
    tracks: Option<&NodeCoder<'_>>,
) -> Vec<(u32, [f32; 6])> {
    (schedule.frames_of(unit).iter())
        .map(|&frame| {
            let own = |mesh: u32| {
                let seen = meshes.get(mesh as usize).map(|m| &m.seen[..]);
                let seen = seen.unwrap_or_default().iter().find(|s| s.0 == frame);
                seen.map_or(NOTHING, |s| s.1.bounds)
            };
            let shown = inputs.get(&frame).map(|input| match tracks {
                Some(tracks) => tracks.shown(frame, input),
                None => input.shown.clone(),
            });
            (frame, unit_bounds(&shown.unwrap_or_default(), own))
        })
        .collect()
}

/// Whether a unit decodes without others: a key that refers to the first frame at most.
fn is_alone(schedule: Schedule, unit: Unit) -> bool {
    match unit {
        Unit::Key(_) => {
            let frames = schedule.frames_of(unit);
            let frame = frames.first().copied().unwrap_or(0);
            schedule.references(frame).iter().all(|&r| r == 0)
        }
        _ => false,
    }
}

fn broken(what: String) -> Error {
    Error::Promise { what: format!("{what} does not decode to what was encoded"), target: Default::default() }
}
