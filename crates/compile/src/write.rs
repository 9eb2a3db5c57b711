//! Last pass: static chunks, then frames in parallel and in order, then the description, which knows the
//! largest of everything.

use crate::attributes;
use crate::cull::{self, Cull};
use crate::detail::{self, Detail};
use crate::encode::{MeshPlan, Part};
use crate::flatten::FlatNode;
use crate::layered::{self, MeshCoder};
use crate::motion::visibility;
use crate::motion::{Motion, Tracks, transform_box};
use crate::node_frames::{FrameInput, NodeFrames};
use crate::nodes::NodeCoder;
use crate::plan::Budget;
use crate::report::{ClipReport, Detailed, Inspect, MeshReport, Phase, Progress, Report, RigReport};
use crate::rig;
use crate::{Error, Options, Preset, pipeline, source_maps, units};
use meshreel_codec::{
    block::{Compressor, Decompressor},
    index,
    ranges::{self, FrameRange},
    record::{CODEC_CLASSIC, Description, Location, Material, MeshRecord, NodeRecord, Visibility},
    soft::schedule::Schedule,
    source_map,
    transform::{self, Transform},
};
use meshreel_format::kind::{
    BETWEEN, CONNECTIVITY, DESCRIPTION, END_STATES, INDEX, LOD, PART_ATTRIBUTES, RANGES, RIGS, SOURCE_MAP,
    VALUES, VERTEX_ATTRIBUTES, VISIBILITY,
};
use meshreel_format::{BOX_SIZE, CHUNK_ENTRY_SIZE, Complete, Summary, Writer, frame_table_size};
use meshreel_scene::{Placed, Remark, Scene, Unit};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Meshes share chunks of about this size before compression.
const BATCH: usize = 1 << 20;

/// Everything that the passes before decided.
pub struct Job<'a> {
    pub scene: &'a Scene,
    pub placed: &'a [Placed],
    pub times: &'a [f64],
    /// How many of these are the source's.
    pub samples: usize,
    /// What is promised between frames, in tolerances, where the source says what is there.
    pub between: Option<f64>,
    /// Named parts of these.
    pub ranges: Vec<FrameRange>,
    pub nodes: &'a [FlatNode],
    /// Unique meshes and where they are placed.
    pub plans: Vec<(MeshPlan<'a>, Vec<usize>)>,
    /// Per placed object.
    pub tolerances: Vec<Budget>,
    pub options: &'a Options,
    pub motion: &'a Motion,
    /// 40 bytes per transform and sample of the source.
    pub raw_transform_bytes: u64,
    /// Skeletons and clips, ready to be written.
    pub clip_chunks: Vec<crate::clip::file::Chunk>,
    /// Rigs that are kept, in the order of their meshes.
    pub rigs: Vec<rig::Made>,
    /// 40 bytes per joint and sample of these.
    pub clip_raw_bytes: u64,
    /// Transforms are kept as they are.
    pub exact: bool,
    /// Set where coded transforms did not keep the promise, and exact ones will.
    pub loose: AtomicBool,
}

/// The file, or, on a dry run, only its size.
enum Output {
    File(Writer),
    Count { chunks: u32, bytes: u64 },
}

impl Output {
    fn chunk(&mut self, kind: u16, raw: u32, bytes: &[u8]) -> Result<u32, Error> {
        match self {
            Output::File(writer) => Ok(writer.add_chunk(kind, raw, bytes)?),
            Output::Count { chunks, bytes: total } => {
                *total += (bytes.len() + CHUNK_ENTRY_SIZE) as u64;
                *chunks += 1;
                Ok(*chunks - 1)
            }
        }
    }
}

/// Collects the pieces of many meshes into chunks of one kind.
struct Batches {
    kind: u16,
    content: Vec<u8>,
    /// Chunks written so far hold these pieces: mesh, raw size.
    pending: Vec<(usize, usize)>,
    /// Compressed bytes per mesh, shared out by raw size.
    stored: Vec<f64>,
    locations: Vec<Location>,
    total: u64,
}

impl Batches {
    fn new(kind: u16, meshes: usize) -> Batches {
        Batches {
            kind,
            content: Vec::new(),
            pending: Vec::new(),
            stored: vec![0.0; meshes],
            locations: vec![Location::default(); meshes],
            total: 0,
        }
    }

    fn add(
        &mut self,
        mesh: usize,
        fill: impl FnOnce(&mut Vec<u8>),
        compressor: &mut Compressor,
        output: &mut Output,
    ) -> Result<(), Error> {
        let start = self.content.len();
        fill(&mut self.content);
        let size = self.content.len() - start;
        check_size("static data of one mesh", self.content.len())?;
        self.locations[mesh] = Location { chunk: u32::MAX, offset: start as u32, size: size as u32 };
        self.pending.push((mesh, size));
        if self.content.len() >= BATCH { self.flush(compressor, output) } else { Ok(()) }
    }

    fn flush(&mut self, compressor: &mut Compressor, output: &mut Output) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut packed = Vec::new();
        match self.kind {
            // How much these hold follows from nothing else.
            PART_ATTRIBUTES | RIGS => compressor.compress_bounded(&self.content, &mut packed),
            _ => compressor.compress(&self.content, &mut packed),
        }
        let chunk = output.chunk(self.kind, self.content.len() as u32, &packed)?;
        let stored = (packed.len() + CHUNK_ENTRY_SIZE) as f64;
        self.total += stored as u64;
        for (mesh, size) in self.pending.drain(..) {
            self.locations[mesh].chunk = chunk;
            self.stored[mesh] += stored * size as f64 / self.content.len().max(1) as f64;
        }
        self.content.clear();
        Ok(())
    }
}

/// Blocks are at most this large, so that a reader's limits hold.
const LARGEST_BLOCK: usize = 1 << 30;

pub fn check_size(what: &str, size: usize) -> Result<(), Error> {
    match size <= LARGEST_BLOCK {
        true => Ok(()),
        false => Err(Error::Limit { what: what.into(), asked: size as u64, allowed: LARGEST_BLOCK as u64 }),
    }
}

struct GroupInput {
    first: usize,
    last: usize,
    with_last: bool,
    frames: Vec<FrameInput>,
}

/// One frame ready to be written.
struct FrameOutput {
    frame: usize,
    bytes: Vec<u8>,
    raw: usize,
    bounds: [f32; 6],
    parts: Vec<Counted>,
}

/// Writes the file.
pub fn write(
    job: &Job<'_>,
    target: &Path,
    pool: &rayon::ThreadPool,
    inspect: Inspect<'_>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let with_target = |error| match error {
        Error::Promise { what, .. } => Error::Promise { what, target: target.into() },
        other => other,
    };
    let mut output = match job.options.dry_run {
        true => Output::Count {
            chunks: 0,
            bytes: meshreel_format::HEADER_SIZE as u64 + frame_table_size(job.times),
        },
        false => Output::File(Writer::create(target)?),
    };
    let meshes = job.plans.len();
    let schedule = Schedule::new(job.times.len() as u32, job.options.restart());
    let layered = job.options.preset != Preset::Classic;
    let points: Vec<_> = job.plans.iter().map(|(plan, _)| layered::points(plan)).collect();
    let sources: Vec<_> = (job.plans.iter().zip(&points))
        .map(|((plan, _), points)| layered::frames(plan, points.as_ref()))
        .collect();
    let ladder = layered::ladder(job.options);
    let coders: Vec<MeshCoder<'_>> = match layered {
        false => Vec::new(),
        true => pool.install(|| {
            let meshes = job.plans.par_iter().zip(&points).zip(&sources);
            meshes
                .map(|(((plan, _), points), sources)| {
                    MeshCoder::smallest(plan, points.as_ref(), sources, schedule, &ladder)
                })
                .collect::<Result<_, Error>>()
        })?,
    };
    let mut compressor = Compressor::new(job.options.block, job.options.effort);
    let mut connectivity = Batches::new(CONNECTIVITY, meshes);
    let mut values = Batches::new(VALUES, meshes);
    let mut maps = Batches::new(SOURCE_MAP, meshes);
    let mut position_share = vec![0.0; meshes];
    let mut position_share_of_ends = vec![0.0; meshes];
    for (m, (plan, _)) in job.plans.iter().enumerate() {
        let Some(fixed) = &plan.prepared.fixed else {
            continue;
        };
        connectivity.add(
            m,
            |out| match &fixed.grid {
                Some(grid) => grid.encode(out),
                None => index::encode(&fixed.indices, out),
            },
            &mut compressor,
            &mut output,
        )?;
        let mut bytes = Vec::new();
        let positions = match coders.get(m) {
            Some(coder) => coder.encode_values(&mut bytes),
            None => plan.encode_values(&mut bytes),
        };
        position_share[m] = positions as f64 / bytes.len().max(1) as f64;
        values.add(m, |out| out.extend_from_slice(&bytes), &mut compressor, &mut output)?;
        // Vertices of a re-meshed one are nobody's in the source.
        if !job.options.strip && plan.source.remeshed.is_none() {
            maps.add(
                m,
                |out| source_map::encode(&source_maps::of_mesh(plan, job.times), out),
                &mut compressor,
                &mut output,
            )?;
        }
    }
    let details: Vec<Detail> = match job.options.lod {
        0 => Vec::new(),
        _ => pool.install(|| {
            let plans = job.plans.par_iter();
            let all = plans.map(|(plan, _)| detail::make(plan, job.options));
            all.collect::<Result<_, Error>>()
        })?,
    };
    let culls: Vec<Cull> = match job.options.cull_hidden {
        true => pool.install(|| cull::all(job))?,
        false => Vec::new(),
    };
    let kept = attributes::all(job, &coders)?;
    let mut said: Vec<_> = (details.iter()).flat_map(|d| d.remarks.clone()).collect();
    said.extend(culls.iter().flat_map(|c| c.remarks.clone()));
    said.extend(kept.iter().flat_map(|k| k.remarks.clone()));
    if job.options.strict && !said.is_empty() {
        return Err(Error::Strict { remarks: said });
    }
    let mut drawn = Batches::new(VISIBILITY, meshes);
    for (m, cull) in (0..).zip(&culls).filter(|(_, c)| !c.bytes.is_empty()) {
        drawn.add(
            m as usize,
            |out| meshreel_codec::detail::put_entry(m, &cull.bytes, out),
            &mut compressor,
            &mut output,
        )?;
    }
    let mut levels = Batches::new(LOD, meshes);
    for (m, detail) in (0..).zip(&details).filter(|(_, d)| !d.levels.is_empty()) {
        levels.add(
            m as usize,
            |out| meshreel_codec::detail::put_entry(m, &detail.bytes, out),
            &mut compressor,
            &mut output,
        )?;
    }
    let mut riding = Batches::new(PART_ATTRIBUTES, meshes);
    for kept in kept.iter().filter(|kept| !kept.bytes.is_empty()) {
        riding.add(
            kept.mesh,
            |out| meshreel_codec::detail::put_entry(kept.nodes[0], &kept.bytes, out),
            &mut compressor,
            &mut output,
        )?;
    }
    for batches in [&mut connectivity, &mut values, &mut maps, &mut levels, &mut drawn, &mut riding] {
        batches.flush(&mut compressor, &mut output)?;
    }
    let mut totals = vec![Total::default(); meshes];
    let raw_points: u64 = (job.plans.iter()).map(|(p, _)| 12 * p.source_points()).sum();
    let mut summary = Summary {
        bounds: crate::encode::NOTHING,
        raw_bytes: raw_points + job.raw_transform_bytes + job.clip_raw_bytes,
        flags: 0,
    };
    let mut count = |raw: usize, size: usize, parts: Vec<Counted>| {
        let stored = size as f64 / raw.max(1) as f64;
        for (total, part) in totals.iter_mut().zip(parts) {
            total.bytes += part.bytes as f64 * stored;
            total.position_bytes += part.position_bytes as f64 * stored;
            total.error = total.error.max(part.error);
            total.vertices = total.vertices.max(part.vertices);
            total.indices = total.indices.max(part.indices);
        }
    };
    let mut boxes = vec![crate::encode::NOTHING; job.times.len()];
    let mut nodes = match layered {
        true => pool.install(|| NodeCoder::new(job, schedule))?,
        false => None,
    };
    let mut node_bytes = 0.0;
    if layered {
        units::encode(job, &coders, &mut nodes, schedule, pool, progress, &mut |unit| {
            node_bytes += unit.nodes as f64 * unit.bytes.len() as f64 / unit.raw.max(1) as f64;
            let kind = if unit.alone { INDEX } else { BETWEEN };
            output.chunk(kind, unit.raw as u32, &unit.bytes)?;
            let cost = CHUNK_ENTRY_SIZE + BOX_SIZE * unit.bounds.len();
            count(unit.raw, unit.bytes.len() + cost, unit.parts);
            if let Some(units::Attributes { bytes, raw, parts }) = unit.attributes {
                output.chunk(VERTEX_ATTRIBUTES, raw as u32, &bytes)?;
                count(raw, bytes.len() + CHUNK_ENTRY_SIZE, parts);
            }
            for (frame, bounds) in unit.bounds {
                boxes[frame as usize] = bounds;
            }
            Ok(())
        })
    } else {
        encode_frames(job, pool, progress, |frame| {
            let kind = match index_frame(frame.frame, job.times.len(), every(job)) {
                true => INDEX,
                false => BETWEEN,
            };
            output.chunk(kind, frame.raw as u32, &frame.bytes)?;
            let cost = CHUNK_ENTRY_SIZE + BOX_SIZE;
            count(frame.raw, frame.bytes.len() + cost, frame.parts);
            boxes[frame.frame] = frame.bounds;
            Ok(())
        })
    }
    .map_err(with_target)?;
    let mut ends = Batches::new(END_STATES, meshes);
    for (m, coder) in coders.iter().enumerate() {
        let (bytes, positions) = coder.ends();
        if !bytes.is_empty() {
            let fill = |out: &mut Vec<u8>| out.extend_from_slice(&bytes);
            ends.add(m, fill, &mut compressor, &mut output)?;
            position_share_of_ends[m] = positions as f64 / bytes.len() as f64;
        }
    }
    ends.flush(&mut compressor, &mut output)?;
    for (m, (plan, _)) in job.plans.iter().enumerate() {
        let map = source_maps::of_changing(plan, job.times, coders.get(m));
        if let Some(map) = map.filter(|_| !job.options.strip) {
            let fill = |out: &mut Vec<u8>| source_map::encode(&map, out);
            maps.add(m, fill, &mut compressor, &mut output)?;
        }
    }
    maps.flush(&mut compressor, &mut output)?;
    for (&time, bounds) in job.times.iter().zip(boxes) {
        for k in 0..3 {
            summary.bounds[k] = summary.bounds[k].min(bounds[k]);
            summary.bounds[k + 3] = summary.bounds[k + 3].max(bounds[k + 3]);
        }
        if let Output::File(writer) = &mut output {
            writer.add_frame(time, bounds)?;
        }
    }
    for (kind, raw, bytes) in &job.clip_chunks {
        output.chunk(*kind, *raw, bytes)?;
    }
    let mut kept_rigs = Batches::new(RIGS, meshes);
    for rig in &job.rigs {
        kept_rigs.add(
            rig.mesh,
            |out| meshreel_codec::detail::put_entry(rig.mesh as u32, &rig.bytes, out),
            &mut compressor,
            &mut output,
        )?;
    }
    kept_rigs.flush(&mut compressor, &mut output)?;
    if !job.ranges.is_empty() {
        let (mut raw, mut packed) = (Vec::new(), Vec::new());
        ranges::encode(&job.ranges, &mut raw);
        check_size("the names of ranges", raw.len())?;
        // How much it holds follows from nothing else.
        compressor.compress_bounded(&raw, &mut packed);
        output.chunk(RANGES, raw.len() as u32, &packed)?;
    }
    let setup = nodes.as_ref().map_or(&[][..], |nodes| &nodes.setup);
    let description = describe(job, &coders, setup, [&connectivity, &values, &maps, &ends], &totals);
    let mut bytes = Vec::new();
    meshreel_codec::record::encode(&description, &mut bytes);
    if meshreel_codec::record::decode(&bytes).as_ref() != Ok(&description) {
        return Err(with_target(Error::Promise {
            what: "the description does not read back".into(),
            target: target.into(),
        }));
    }
    check_size("the description of all nodes and meshes", bytes.len())?;
    let mut packed = Vec::new();
    compressor.compress_bounded(&bytes, &mut packed);
    output.chunk(DESCRIPTION, bytes.len() as u32, &packed)?;

    let raw_bytes = summary.raw_bytes;
    let mut remarks = Vec::new();
    let file_bytes = match output {
        Output::File(writer) => {
            progress.update(Phase::Inspect, 0, 1);
            let written = writer.complete(summary)?;
            pool.install(|| publish(written, target, inspect, &mut remarks))?
        }
        Output::Count { bytes, .. } => bytes,
    };
    let mut report = Report {
        file_bytes,
        source_map_bytes: maps.total,
        frames: job.times.len(),
        raw_bytes,
        remarks,
        ..Report::default()
    };
    report.rigs = (job.rigs.iter())
        .map(|rig| RigReport { bytes: kept_rigs.stored[rig.mesh].round() as u64, ..rig.report.clone() })
        .collect();
    if let Some(nodes) = &nodes {
        let (tolerance, max_error) = nodes.promised();
        let stored = packed.len() as f64 / bytes.len().max(1) as f64;
        let joints = nodes.tracks().len();
        let free = nodes.tracks().iter().filter(|t| t.setup.moves[1]).count();
        report.clips.push(ClipReport {
            name: "nodes".into(),
            joints,
            samples: job.times.len(),
            raw_bytes: 40 * joints as u64 * job.times.len() as u64,
            bytes: (node_bytes + nodes.setup.len() as f64 * stored).ceil() as u64,
            tolerance,
            max_error,
            rotations: [joints - free, 0, 0, 0, free],
            ..ClipReport::default()
        });
    }
    for (m, (plan, placements)) in job.plans.iter().enumerate() {
        let position_bytes = values.stored[m] * position_share[m]
            + ends.stored[m] * position_share_of_ends[m]
            + totals[m].position_bytes;
        let points_frames = plan.source_points();
        // Of all placements the one that comes nearest to its tolerance.
        let own = totals[m].error.max(plan.static_error.first().copied().unwrap_or(0.0));
        let (max_error, tolerance) = placements
            .iter()
            .map(|&i| {
                let b = &job.tolerances[i];
                let coded = nodes.as_ref().and_then(|nodes| nodes.error(i));
                (coded.unwrap_or(b.transform_error) + b.scale * own + b.spent, b.tolerance + b.spent)
            })
            .max_by(|a, b| (a.0 * b.1).total_cmp(&(b.0 * a.1)))
            .unwrap_or((0.0, 0.0));
        let mut measures = coders.get(m).map_or_else(Default::default, MeshCoder::measures);
        if let Some(rest) = &mut measures.rest {
            rest.frame += plan.source.start;
            rest.time = job.times[rest.frame] - job.times[0];
        }
        let remarks = coders.get(m).map_or(&[][..], |coder| &coder.remarks);
        report.remarks.extend_from_slice(remarks);
        let detail = details.get(m);
        let cull = culls.get(m);
        report.remarks.extend(cull.iter().flat_map(|c| c.remarks.clone()));
        report.remarks.extend(detail.iter().flat_map(|d| d.remarks.clone()));
        let own = || kept.iter().filter(|k| k.mesh == m);
        report.remarks.extend(own().flat_map(|k| k.remarks.clone()));
        report.meshes.push(MeshReport {
            path: plan.path.clone(),
            method: format!("{:?}", coders.get(m).map_or(plan.method, MeshCoder::method)).to_lowercase(),
            tried: coders.get(m).map_or(Vec::new(), |c| c.tried.clone()),
            bones: coders.get(m).map_or([0; 2], MeshCoder::bones),
            remeshed: plan.source.remeshed.cloned(),
            measures,
            triangles: (plan.prepared.fixed.as_ref()).map_or(totals[m].indices, |fixed| fixed.indices.len())
                / 3,
            grid: (plan.prepared.fixed.as_ref())
                .and_then(|fixed| fixed.grid.as_ref())
                .map(|grid| [grid.shape.width, grid.shape.height]),
            vertices: description.meshes[m].vertices as usize,
            details: (detail.iter().flat_map(|d| &d.levels))
                .map(|(level, _)| Detailed { triangles: level.triangles, error: level.error })
                .collect(),
            detail_bytes: levels.stored[m].round() as u64,
            hidden: cull.filter(|c| !c.bytes.is_empty()).map(|c| c.hidden),
            hidden_bytes: drawn.stored[m].round() as u64,
            attributes: own().flat_map(|k| k.attributes.clone()).collect(),
            attribute_bytes: riding.stored[m].round() as u64,
            source_points: plan.prepared.points,
            frames: job.times.len(),
            normals_decide: plan.normals_decide,
            tolerance,
            bytes: (values.stored[m]
                + connectivity.stored[m]
                + ends.stored[m]
                + levels.stored[m]
                + drawn.stored[m]
                + riding.stored[m]
                + totals[m].bytes)
                .round() as u64,
            moves: plan.source.moves,
            position_bytes: position_bytes.round() as u64,
            bits_per_vertex_frame: 8.0 * position_bytes / (points_frames.max(1) as f64),
            max_error,
        });
    }
    Ok(report)
}

/// Puts a file in its place if it opens and decodes. Returns its size in bytes.
pub fn publish(
    file: Complete,
    target: &Path,
    inspect: Inspect<'_>,
    remarks: &mut Vec<Remark>,
) -> Result<u64, Error> {
    inspect(file.path()).map_err(|source| Error::Refused { source, target: target.into() })?;
    let published = file.publish()?;
    if let Some(error) = published.unsynced {
        remarks.push(Remark::new(
            target.display().to_string(),
            format!("the file is complete and in its place, but its folder could not be synced ({error}): the older one may be back after a power cut in the next seconds"),
        ));
    }
    Ok(published.size)
}

#[derive(Clone, Default)]
struct Total {
    bytes: f64,
    position_bytes: f64,
    error: f64,
    vertices: usize,
    indices: usize,
}

/// What is counted of one mesh in one frame.
#[derive(Default)]
pub struct Counted {
    pub bytes: usize,
    pub position_bytes: usize,
    pub error: f64,
    pub vertices: usize,
    pub indices: usize,
}

fn describe(
    job: &Job<'_>,
    coders: &[MeshCoder<'_>],
    tracks: &[u8],
    [connectivity, values, maps, ends]: [&Batches; 4],
    totals: &[Total],
) -> Description {
    let mut mesh_of = vec![None; job.placed.len()];
    for (m, (_, placements)) in job.plans.iter().enumerate() {
        placements.iter().for_each(|&i| mesh_of[i] = Some(m as u32));
    }
    let unit = match job.options.unit.or(job.scene.unit) {
        None => 0,
        Some(Unit::Metre) => 1,
        Some(Unit::Centimetre) => 2,
        Some(Unit::Millimetre) => 3,
        Some(Unit::Inch) => 4,
    };
    // The first frame's transforms: what an animated node rests at.
    let rest = Tracks::new(job.scene, job.placed, job.nodes)
        .and_then(|mut tracks| tracks.evaluate(job.times[0]).map(|()| tracks.local))
        .unwrap_or_else(|_| vec![Transform::IDENTITY; job.nodes.len()]);
    let nodes = job
        .nodes
        .iter()
        .zip(rest)
        .map(|(node, rest)| NodeRecord {
            path: job.placed[node.named].path.clone(),
            parent: node.parent.map(|p| p as u32),
            mesh: node.mesh.and_then(|i| mesh_of[i]),
            animated: node.animated,
            visibility: node
                .shown()
                .map_or(Visibility::Always, |i| visibility(&job.motion.visible[i], job.times.len())),
            rest,
            tolerance: node.shown().map_or(0.0, |i| {
                let budget = &job.tolerances[i];
                budget.tolerance + budget.spent
            }),
            baked: node.baked,
            reach: node.reach.unwrap_or(0.0),
        })
        .collect();
    let meshes = job
        .plans
        .iter()
        .enumerate()
        .map(|(m, (plan, _))| {
            let prepared = &plan.prepared;
            let fixed = prepared.fixed.as_ref();
            let ranges = |i: usize| fixed.and_then(|f| f.ranges.get(i)).copied().unwrap_or((0, 0));
            let coder = coders.get(m);
            let (codec, points) = coder.map_or((CODEC_CLASSIC, 0), MeshCoder::codec);
            MeshRecord {
                path: plan.path.clone(),
                method: coder.map_or(plan.method, MeshCoder::method),
                codec,
                vertices: fixed.map_or(totals[m].vertices, |f| f.vertex_point.len()) as u32,
                indices: fixed.map_or(totals[m].indices, |f| f.indices.len()) as u32,
                source_points: prepared.points as u32,
                points,
                bounds: plan.bounds(),
                connectivity: connectivity.locations[m],
                values: values.locations[m],
                source_map: maps.locations[m],
                has_table: coder.map_or(plan.has_table, MeshCoder::has_table),
                moves: plan.source.moves,
                ends: ends.locations[m],
                remeshed: plan.source.remeshed.map(|r| r.blended),
                apart: coder.is_some_and(MeshCoder::is_apart),
                streams: coder.map_or_else(|| plan.streams.clone(), MeshCoder::records),
                materials: prepared
                    .materials
                    .iter()
                    .enumerate()
                    .map(|(i, material)| Material {
                        id: material.id,
                        name: material.name.clone(),
                        first: ranges(i).0,
                        count: ranges(i).1,
                    })
                    .collect(),
            }
        })
        .collect();
    let between = (job.between).map_or(String::new(), |multiple| format!("between = {multiple}\n"));
    Description {
        generator: concat!("meshreel ", env!("CARGO_PKG_VERSION")).into(),
        options: job.options.to_text() + &between,
        unit,
        fps: job.scene.fps.unwrap_or(0.0),
        period: period(job),
        restart: match job.options.preset {
            Preset::Classic => 0,
            _ => job.options.restart(),
        },
        tracks: tracks.to_vec(),
        nodes,
        meshes,
    }
}

/// Period of a closed cycle: with equal ends N − 1 intervals, else, if the user says so, N (PROMISE.md §4).
fn period(job: &Job<'_>) -> f64 {
    let n = job.times.len();
    // Several animations are no cycle.
    if n < 2 || job.ranges.len() > 1 {
        return 0.0;
    }
    let duration = job.times[n - 1] - job.times[0];
    let equal = || -> Result<bool, Error> {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let mut moves = false;
        for (plan, _) in &job.plans {
            let Some(fixed) = &plan.prepared.fixed else {
                return Ok(false);
            };
            moves |= plan.prepared.moving;
            let last = plan.source.times.len() - 1;
            plan.source.object_points(0, &fixed.first_points, &mut a)?;
            plan.source.object_points(last, &fixed.first_points, &mut b)?;
            if a != b {
                return Ok(false);
            }
        }
        let mut tracks = Tracks::new(job.scene, job.placed, job.nodes)?;
        tracks.evaluate(job.times[0])?;
        let first = tracks.decoded.clone();
        tracks.evaluate(job.times[n - 1])?;
        Ok(first == tracks.decoded && (moves || job.nodes.iter().any(|node| node.animated)))
    };
    match (equal().unwrap_or(false), job.options.cycle) {
        (true, _) => duration,
        // Frames between samples make none of its steps shorter.
        (false, true) => duration * job.samples as f64 / (job.samples.max(2) - 1) as f64,
        (false, false) => 0.0,
    }
}

fn index_frame(frame: usize, frames: usize, every: usize) -> bool {
    frame.is_multiple_of(every) || frame + 1 == frames
}

/// Distance of index frames: as asked, but shorter where one group would not fit into the memory allowed.
fn every(job: &Job<'_>) -> usize {
    let mut every = job.options.index_every();
    while every > 1 && group_bytes(job, every) > job.options.memory {
        every = every.div_ceil(2);
    }
    every
}

/// Memory that one group of frames needs while it is worked on.
fn group_bytes(job: &Job<'_>, every: usize) -> u64 {
    let (mut largest, mut outputs) = (0u64, 0u64);
    for (plan, _) in &job.plans {
        let vertices =
            plan.prepared.fixed.as_ref().map_or(2 * plan.prepared.points, |f| f.vertex_point.len()) as u64;
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

fn encode_frames(
    job: &Job<'_>,
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
    mut consume: impl FnMut(FrameOutput) -> Result<(), Error> + Send,
) -> Result<(), Error> {
    let frames = job.times.len();
    let every = every(job);
    let window =
        (job.options.memory / group_bytes(job, every).max(1)).clamp(1, 2 * pool.current_num_threads() as u64);
    let mut nodes = NodeFrames::new(job)?;
    let produce = || -> Result<Option<GroupInput>, Error> {
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
    pipeline::run(
        pool,
        window as usize,
        produce,
        |group| encode_group(job, group),
        |outputs: Vec<FrameOutput>| {
            for output in outputs {
                consume(output)?;
                done += 1;
                progress.update(Phase::Encode, done, frames as u64);
            }
            Ok(())
        },
    )
}

fn encode_group(job: &Job<'_>, group: GroupInput) -> Result<Vec<FrameOutput>, Error> {
    let parts: Vec<Vec<Part>> = job
        .plans
        .par_iter()
        .map(|(plan, _)| plan.encode_group(group.first, group.last, group.with_last, job.options))
        .collect::<Result<_, Error>>()?;
    let parts = Arc::new(parts);
    group
        .frames
        .par_iter()
        .enumerate()
        .map_init(
            || (Compressor::new(job.options.block, job.options.effort), Decompressor::new()),
            |(compressor, decompressor), (i, input)| {
                let frame = group.first + i;
                let mut content = input.visible.clone();
                if !input.transforms.is_empty() {
                    let previous = (i > 0).then(|| group.frames[i - 1].transforms.as_slice());
                    // The last frame is an index frame too.
                    let previous = previous.filter(|_| frame + 1 < job.times.len());
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
                        .map(|mesh| Counted {
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

/// Box in the world of what is shown; `own` gives the box of a mesh.
pub fn unit_bounds(shown: &[(u32, [[f64; 4]; 3])], own: impl Fn(u32) -> [f32; 6]) -> [f32; 6] {
    let mut bounds = crate::encode::NOTHING;
    for (m, matrix) in shown {
        let own = own(*m);
        if own[0] <= own[3] {
            let world = transform_box(matrix, &own);
            for k in 0..3 {
                bounds[k] = bounds[k].min((world[k] as f32).next_down());
                bounds[k + 3] = bounds[k + 3].max((world[k + 3] as f32).next_up());
            }
        }
    }
    bounds
}

pub fn same_bits(a: &[Transform], b: &[Transform]) -> bool {
    let bits = |t: &Transform| {
        (t.rotation.map(f32::to_bits), t.translation.map(f32::to_bits), t.scale.map(f32::to_bits))
    };
    a.iter().map(bits).eq(b.iter().map(bits))
}
