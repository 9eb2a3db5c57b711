//! The units of a layered file, in the order in which they are written: nodes and meshes joined, compressed
//! and decompressed again.

use crate::Error;
use crate::codec_terms::block_format;
use crate::mesh::plan::Plans;
use crate::mesh::streams::EMPTY_BOUNDS;
use crate::method::coder::Payload;
use crate::method::mesh_coder::MeshCoder;
use crate::report::{Phase, Progress};
use crate::write::job::{MeshSizes, check_size};
use crate::write::node_units::{NodeSource, NodeUnit};
use meshreel_codec::entropy::block::{BlockFormat, Compressor, Decompressor};
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_options::Options;
use meshreel_process::Cancellation;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// A unit ready to be written.
#[derive(Serialize, Deserialize)]
pub struct UnitOutput {
    /// `true` if it decodes without other units.
    pub alone: bool,
    /// Its compressed block.
    pub bytes: Vec<u8>,
    /// Bytes before compression.
    pub raw: usize,
    /// Bytes of node transforms before compression.
    pub nodes: usize,
    /// World-space bounds of everything visible, by frame.
    pub bounds: Vec<(u32, [f32; 6])>,
    /// Sizes and errors of each mesh.
    pub parts: Vec<MeshSizes>,
    /// The following unit of vertex attributes, if these are in units of their own.
    pub attributes: Option<AttributesOutput>,
}

/// Animated vertex attributes of a unit, ready to be written.
#[derive(Serialize, Deserialize)]
pub struct AttributesOutput {
    /// Their compressed block.
    pub bytes: Vec<u8>,
    /// Bytes before compression.
    pub raw: usize,
    /// Sizes and errors of each mesh.
    pub parts: Vec<MeshSizes>,
}

/// A task of a step: one mesh's share of a segment of keys, or of a group.
#[derive(Clone, Copy)]
enum CodingTask {
    Segment(u32),
    Group(u32),
}

/// A range of groups, with the key at the end of each, that is coded at once.
#[derive(Clone)]
pub struct UnitRange {
    groups: Range<u32>,
    /// `true` if the first key is included.
    first: bool,
}

impl UnitRange {
    /// Returns the range of all units.
    pub fn all(schedule: Schedule) -> UnitRange {
        UnitRange { groups: 0..schedule.groups(), first: true }
    }

    /// Returns part `number` (from 1) of `count` parts, as equal in size as possible: whole segments if there
    /// are enough, since the keys of a segment are coded together; always whole with `chains`, which run from
    /// key to key.
    pub fn part(schedule: Schedule, chains: bool, number: u32, count: u32) -> UnitRange {
        let whole = chains || schedule.segments() >= count;
        let all = if whole { schedule.segments() } else { schedule.groups() };
        let border = |part: u32| {
            let at = (u64::from(all) * u64::from(part) / u64::from(count)) as u32;
            let at = if whole { at.saturating_mul(schedule.restart()) } else { at };
            at.min(schedule.groups())
        };
        UnitRange { groups: border(number - 1)..border(number), first: number == 1 }
    }

    /// Returns the first and the last frame of the range; `None` if it is empty.
    pub fn frames(&self, schedule: Schedule) -> Option<[u32; 2]> {
        let own = || schedule.units_in_file_order().filter(|unit| self.contains(*unit));
        let frames = || own().flat_map(|unit| schedule.frames_of(unit).to_vec());
        Some([frames().min()?, frames().max()?])
    }

    /// Returns `true` if the range contains a unit.
    pub fn contains(&self, unit: Unit) -> bool {
        match unit {
            Unit::Key(0) => self.first,
            Unit::Key(key) => self.groups.contains(&(key - 1)),
            Unit::LowerLayers(group) | Unit::TopLayer(group) => self.groups.contains(&group),
        }
    }

    /// Returns the keys that are needed for the range.
    fn keys(&self, schedule: Schedule) -> Range<u32> {
        match (self.groups.is_empty(), self.first) {
            (true, false) => 0..0,
            (true, true) => 0..schedule.keys().min(1),
            _ => self.groups.start.saturating_sub(1)..(self.groups.end + 2).min(schedule.keys()),
        }
    }
}

/// The coding of the units of a file, or of a range of them.
pub struct Encoding<'e> {
    pub plans: &'e Plans,
    /// The number of nodes of the file.
    pub nodes: usize,
    pub options: &'e Options,
    pub cancellation: &'e Cancellation,
    pub coders: &'e [MeshCoder],
    pub schedule: Schedule,
    pub range: UnitRange,
    pub progress: &'e dyn Progress,
}

impl Encoding<'_> {
    /// Codes the units and hands them to `consume` in the order of the file.
    pub fn encode(
        &self,
        nodes: &mut dyn NodeSource,
        consume: &mut (dyn FnMut(UnitOutput) -> Result<(), Error> + Send),
    ) -> Result<(), Error> {
        let Encoding { coders, schedule, ref range, progress, cancellation, .. } = *self;
        let mut payloads: BTreeMap<(u32, u8), Vec<Payload>> = BTreeMap::new();
        let own = || schedule.units_in_file_order().filter(|unit| range.contains(*unit));
        let total = own().map(|unit| schedule.frames_of(unit).len() as u64).sum();
        let mut units = own().peekable();
        let needed = range.keys(schedule);
        let holds = |segment: u32| schedule.segment(segment).end > needed.start;
        let mut segment = (0..schedule.segments()).find(|s| holds(*s)).unwrap_or(schedule.segments());
        let step = self.segments_at_once() * schedule.restart();
        let (mut done, mut from) = (0, range.groups.start);
        while !needed.is_empty() {
            cancellation.check()?;
            let to = from.saturating_add(step).min(range.groups.end);
            // Groups need up to two keys behind them, which may be in two segments.
            let last = needed.end.min(to + 2);
            let more = segment..schedule.segments();
            let more: Vec<u32> = more.take_while(|s| schedule.segment(*s).start < last).collect();
            segment += more.len() as u32;
            self.run_tasks(more.into_iter().map(CodingTask::Segment).collect(), &mut payloads)?;
            self.run_tasks((from..to).map(CodingTask::Group).collect(), &mut payloads)?;
            nodes.advance(to)?;
            let mut batch = Vec::new();
            while let Some(unit) =
                units.next_if(|unit| payloads.contains_key(&unit_number(*unit)) && nodes.is_ready(*unit))
            {
                batch.push((unit, payloads.remove(&unit_number(unit)).unwrap_or_default()));
            }
            for output in self.pack_all(&batch, nodes)? {
                cancellation.check()?;
                done += output.bounds.len() as u64;
                consume(output)?;
                progress.update(Phase::Encode, done, total);
            }
            if to >= range.groups.end {
                break;
            }
            // Keeps the keys that units of the next step refer to.
            let key = to.saturating_sub(1);
            coders.iter().for_each(|coder| coder.forget(key));
            nodes.forget(key);
            from = to;
        }
        Ok(())
    }

    /// Returns the number of segments that are coded in parallel.
    fn segments_at_once(&self) -> u32 {
        let (schedule, threads) = (self.schedule, rayon::current_num_threads());
        let mut per_segment = 1u64 << 16;
        for (plan, _) in self.plans {
            let fixed = plan.prepared.fixed.as_ref();
            let vertices = fixed.map_or(2 * plan.prepared.scan.points, |f| f.vertex_point.len()) as u64;
            if plan.streams.iter().any(|s| s.animated) {
                // Decoded keys; units before they are written.
                per_segment += vertices * u64::from(schedule.restart()) * (16 + 16 * 8);
            }
            if plan.prepared.particles.is_some() {
                // All frames between two keys, during trials.
                per_segment += vertices * 16 * 64;
            }
        }
        per_segment += (self.nodes as u64 * 700 * 16).saturating_mul(schedule.restart().into());
        let groups = 2 * threads as u64;
        let wanted = groups.div_ceil(u64::from(schedule.restart()));
        (self.options.memory / 2 / per_segment).clamp(1, wanted) as u32
    }

    /// Packs units in parallel.
    fn pack_all(
        &self,
        batch: &[(Unit, Vec<Payload>)],
        nodes: &dyn NodeSource,
    ) -> Result<Vec<UnitOutput>, Error> {
        let apart = self.coders.iter().any(MeshCoder::has_separate_attributes);
        let pack = |packer: &mut Packer, (unit, payload): &(Unit, Vec<Payload>)| {
            self.cancellation.check()?;
            let mut output = pack_unit(self.schedule, *unit, payload, nodes.node_unit(*unit)?, packer)?;
            if apart {
                output.attributes = Some(packer.attributes(*unit, payload)?);
            }
            Ok(output)
        };
        batch.par_iter().map_init(|| Packer::new(self.options), pack).collect()
    }

    /// Returns the units that a task contributes to.
    fn units_of(&self, task: CodingTask) -> Vec<Unit> {
        match task {
            CodingTask::Segment(s) => self.schedule.segment(s).map(Unit::Key).collect(),
            CodingTask::Group(g) => vec![Unit::LowerLayers(g), Unit::TopLayer(g)],
        }
    }

    /// Runs tasks for all meshes in parallel, and keeps their payloads for the units of the range.
    fn run_tasks(
        &self,
        tasks: Vec<CodingTask>,
        payloads: &mut BTreeMap<(u32, u8), Vec<Payload>>,
    ) -> Result<(), Error> {
        // Without meshes the units still exist.
        for unit in
            tasks.iter().flat_map(|task| self.units_of(*task)).filter(|unit| self.range.contains(*unit))
        {
            payloads.entry(unit_number(unit)).or_default();
        }
        let jobs: Vec<(CodingTask, &MeshCoder)> =
            (tasks.iter()).flat_map(|&task| self.coders.iter().map(move |coder| (task, coder))).collect();
        let code = |(task, coder): &(CodingTask, &MeshCoder)| match *task {
            CodingTask::Segment(s) => coder.segment(s),
            CodingTask::Group(g) => coder.group(g),
        };
        let coded: Vec<Vec<Payload>> = jobs.par_iter().map(code).collect::<Result<_, Error>>()?;
        for ((task, _), mesh) in jobs.iter().zip(coded) {
            let units = self.units_of(*task).into_iter();
            for (unit, payload) in units.zip(mesh).filter(|(unit, _)| self.range.contains(*unit)) {
                payloads.entry(unit_number(unit)).or_default().push(payload);
            }
        }
        Ok(())
    }
}

fn unit_number(unit: Unit) -> (u32, u8) {
    match unit {
        Unit::Key(i) => (i, 0),
        Unit::LowerLayers(g) => (g, 1),
        Unit::TopLayer(g) => (g, 2),
    }
}

/// Compression contexts of a thread.
struct Packer {
    compressor: Compressor,
    storing: Compressor,
    decompressor: Decompressor,
}

impl Packer {
    fn new(options: &Options) -> Packer {
        Packer {
            compressor: Compressor::new(block_format(options.block), options.effort),
            storing: Compressor::new(BlockFormat::Store, 1),
            decompressor: Decompressor::new(),
        }
    }

    /// Returns a block of a unit, compressed if that is worth it, and decompressed again.
    fn block(&mut self, unit: Unit, content: &[u8]) -> Result<Vec<u8>, Error> {
        check_size("one unit of frames", content.len())?;
        let mut bytes = Vec::new();
        self.compressor.compress(content, &mut bytes);
        if bytes.len() + content.len() / MIN_SAVING_DIVISOR > content.len() {
            bytes.clear();
            self.storing.compress(content, &mut bytes);
        }
        let mut back = vec![0; content.len()];
        if self.decompressor.decompress(&bytes, &mut back).is_err() || back != content {
            return Err(mismatch_error(format!("the block of {unit:?}")));
        }
        Ok(bytes)
    }

    fn attributes(&mut self, unit: Unit, meshes: &[Payload]) -> Result<AttributesOutput, Error> {
        let all: Vec<&[u8]> = meshes.iter().map(|mesh| &mesh.attributes[..]).collect();
        let content = all.concat();
        let counted = |mesh: &Payload| MeshSizes { bytes: mesh.attributes.len(), ..MeshSizes::default() };
        Ok(AttributesOutput {
            bytes: self.block(unit, &content)?,
            raw: content.len(),
            parts: meshes.iter().map(counted).collect(),
        })
    }
}

/// Blocks that shrink by less than this fraction are stored uncompressed, which decodes faster.
const MIN_SAVING_DIVISOR: usize = 32;

/// Packs a unit: visibility and transforms of nodes, then each mesh; compressed, and decoded again.
fn pack_unit(
    schedule: Schedule,
    unit: Unit,
    meshes: &[Payload],
    nodes: NodeUnit,
    packer: &mut Packer,
) -> Result<UnitOutput, Error> {
    let NodeUnit { bytes: mut content, transform_bytes: transforms, frames } = nodes;
    for mesh in meshes {
        content.extend_from_slice(&mesh.bytes);
    }
    let bounds = |frame: u32, mesh: u32| {
        let seen = meshes.get(mesh as usize).map(|m| &m.measures[..]);
        let seen = seen.unwrap_or_default().iter().find(|s| s.0 == frame);
        seen.map_or(EMPTY_BOUNDS, |s| s.1.bounds)
    };
    Ok(UnitOutput {
        alone: is_alone(schedule, unit),
        raw: content.len(),
        nodes: transforms,
        bytes: packer.block(unit, &content)?,
        bounds: frames.iter().map(|f| (f.frame, f.bounds(|mesh| bounds(f.frame, mesh)))).collect(),
        attributes: None,
        parts: meshes
            .iter()
            .map(|mesh| MeshSizes {
                bytes: mesh.bytes.len(),
                position_bytes: mesh.position_bytes,
                error: mesh.measures.iter().fold(0.0, |most, s| most.max(s.1.error)),
                vertices: mesh.vertices,
                indices: mesh.indices,
            })
            .collect(),
    })
}

/// Returns `true` if a unit decodes without others: a key that refers at most to the first frame.
pub fn is_alone(schedule: Schedule, unit: Unit) -> bool {
    match unit {
        Unit::Key(_) => {
            let frames = schedule.frames_of(unit);
            let frame = frames.first().copied().unwrap_or(0);
            schedule.references(frame).iter().all(|&r| r == 0)
        }
        _ => false,
    }
}

fn mismatch_error(what: String) -> Error {
    Error::Promise { what: format!("{what} does not decode to what was encoded"), target: Default::default() }
}
