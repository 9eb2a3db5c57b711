//! A file that is being written. [`FileWriter`] is what passes add chunks to, in the order of
//! [`crate::plan::write`]; [`Body`] is its part that does not depend on how frames are coded, which a join of
//! parts fills as well; the description of nodes and meshes depends on all other data and is written last.

use crate::Error;
use crate::codec_terms::block_format;
use crate::mesh::particles::point_set;
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::NormalOrigin;
use crate::mesh::streams::EMPTY_BOUNDS;
use crate::method::mesh_coder::MeshCoder;
use crate::method::particles;
use crate::nodes::motion::visibility;
use crate::nodes::tracks::NodeTracks;
use crate::report::Progress;
use crate::write::classic::{encode_frames, index_distance, is_index_frame};
use crate::write::extras;
use crate::write::extras::Extras;
use crate::write::job::{Chunk, Job, MeshSizes, MeshTotals, check_size};
use crate::write::node_coder::NodeCoder;
use crate::write::node_units::LiveNodes;
use crate::write::units::{AttributesOutput, Encoding, UnitOutput, UnitRange};
use meshreel_codec::entropy::block::Compressor;
use meshreel_codec::record::source_map::SourceMap;
use meshreel_codec::record::{
    self, CODEC_CLASSIC, ChunkLocation, Description, MaterialRecord, MeshRecord, NodeRecord, Visibility,
    ranges, source_map,
};
use meshreel_codec::topology::index;
use meshreel_codec::topology::lod::write_entry;
use meshreel_codec::transform::Transform;
use meshreel_format::{
    BOX_SIZE, CHUNK_ENTRY_SIZE, CompleteFile, HEADER_SIZE, Summary, Writer, frame_table_size, kind,
};
use meshreel_options::Preset;
use meshreel_scene::LengthUnit;
use std::path::Path;

/// The chunks so far, with their sizes by mesh.
pub struct FileWriter<'a> {
    pub job: &'a Job,
    target: &'a Path,
    /// Frames, and everything that is written after them.
    pub body: Body,
    /// Batches of connectivity.
    pub connectivity: Batches,
    /// Static values, and the data that frames are predicted from.
    pub values: Batches,
    /// LOD levels.
    pub lods: Batches,
    /// Triangle visibility.
    pub visibility: Batches,
    /// Part attributes.
    pub part_attributes: Batches,
    /// Batches of rigs.
    pub rigs: Batches,
    /// By mesh, the fraction of its static values that positions take.
    pub position_fractions: Vec<f64>,
    /// By mesh, the fraction of its end states that positions take.
    pub end_position_fractions: Vec<f64>,
}

impl<'a> FileWriter<'a> {
    /// Starts a file, or, on a dry run, counts its size.
    pub fn create(job: &'a Job, target: &'a Path) -> Result<FileWriter<'a>, Error> {
        let output = match job.content.options.dry_run {
            true => ChunkOutput::Count {
                chunks: 0,
                bytes: HEADER_SIZE as u64 + frame_table_size(&job.content.times),
            },
            false => ChunkOutput::File(Writer::create(target)?),
        };
        Ok(FileWriter::with_output(job, target, output))
    }

    /// Starts a file whose chunks are kept in memory for a join.
    pub fn in_memory(job: &'a Job) -> FileWriter<'a> {
        FileWriter::with_output(job, Path::new(""), ChunkOutput::Memory(Vec::new()))
    }

    fn with_output(job: &'a Job, target: &'a Path, output: ChunkOutput) -> FileWriter<'a> {
        let meshes = job.plans.len();
        let batches = |kind: u16| Batches::new(kind, meshes);
        let raw_points: u64 = (job.plans.iter()).map(|(p, _)| 12 * p.source_points()).sum();
        let raw_bytes = raw_points + job.raw_transform_bytes + job.clip_raw_bytes;
        let compressor = Compressor::new(block_format(job.content.options.block), job.content.options.effort);
        FileWriter {
            job,
            target,
            body: Body::new(output, compressor, meshes, job.content.times.len(), raw_bytes),
            connectivity: batches(kind::CONNECTIVITY),
            values: batches(kind::VALUES),
            lods: batches(kind::LOD),
            visibility: batches(kind::VISIBILITY),
            part_attributes: batches(kind::PART_ATTRIBUTES),
            rigs: batches(kind::RIGS),
            position_fractions: vec![0.0; meshes],
            end_position_fractions: vec![0.0; meshes],
        }
    }

    /// Returns the source size, at 12 bytes per point and frame plus 40 per transform and sample.
    pub fn raw_bytes(&self) -> u64 {
        self.body.summary.raw_bytes
    }

    fn with_target(&self, error: Error) -> Error {
        match error {
            Error::Promise { what, .. } => Error::Promise { what, target: self.target.into() },
            other => other,
        }
    }

    /// Writes triangles, static values and source maps of meshes with constant faces. They share chunks,
    /// which are complete after [`FileWriter::extras`].
    pub fn static_data(&mut self, coders: &[MeshCoder]) -> Result<(), Error> {
        let job = self.job;
        for (m, (plan, _)) in job.plans.iter().enumerate() {
            let Some(fixed) = &plan.prepared.fixed else {
                continue;
            };
            let set = match plan.prepared.particles {
                Some(_) => Some(point_set(&plan.source, &plan.prepared)?),
                None => None,
            };
            let triangles = |out: &mut Vec<u8>| match (&fixed.grid, &fixed.compact) {
                _ if set.is_some() => set.iter().for_each(|set| set.encode(out)),
                (Some(grid), _) => grid.encode(out),
                (None, Some(compact)) => out.extend_from_slice(compact),
                (None, None) => index::encode(&fixed.indices, out),
            };
            let (compressor, output) = (&mut self.body.compressor, &mut self.body.output);
            self.connectivity.add(m, triangles, compressor, output)?;
            let mut bytes = Vec::new();
            let positions = match coders.get(m) {
                Some(coder) => coder.encode_values(&mut bytes),
                None => plan.encode_values(&mut bytes),
            };
            self.position_fractions[m] = positions as f64 / bytes.len().max(1) as f64;
            self.values.add(m, |out| out.extend_from_slice(&bytes), compressor, output)?;
            // Vertices of a re-meshed mesh have no origin in the source.
            if !job.content.options.strip && plan.source.remeshed.is_none() && set.is_none() {
                self.body.add_source_map(m, &mesh_source_map(plan))?;
            }
        }
        Ok(())
    }

    /// Writes LOD levels, triangle visibility and part attributes.
    pub fn extras(&mut self, extras: &Extras) -> Result<(), Error> {
        let Body { compressor, output, maps, .. } = &mut self.body;
        for (m, own) in (0..).zip(&extras.visibility).filter(|(_, own)| !own.bytes.is_empty()) {
            let entry = |out: &mut Vec<u8>| write_entry(m, &own.bytes, out);
            self.visibility.add(m as usize, entry, compressor, output)?;
        }
        for (m, own) in (0..).zip(&extras.lods).filter(|(_, own)| !own.lod_levels.is_empty()) {
            let entry = |out: &mut Vec<u8>| write_entry(m, &own.bytes, out);
            self.lods.add(m as usize, entry, compressor, output)?;
        }
        for own in extras.attributes.iter().filter(|own| !own.bytes.is_empty()) {
            let entry = |out: &mut Vec<u8>| write_entry(own.nodes[0], &own.bytes, out);
            self.part_attributes.add(own.mesh, entry, compressor, output)?;
        }
        self.connectivity.flush(compressor, output)?;
        self.values.flush(compressor, output)?;
        maps.flush(compressor, output)?;
        self.lods.flush(compressor, output)?;
        self.visibility.flush(compressor, output)?;
        self.part_attributes.flush(compressor, output)
    }

    /// Writes all frames, as units in the presets small and fast, or one by one in the preset classic.
    pub fn frames(
        &mut self,
        coders: &[MeshCoder],
        nodes: &mut Option<NodeCoder<'a>>,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let (job, body) = (self.job, &mut self.body);
        let schedule = job.schedule();
        let done = if job.content.options.preset != Preset::Classic {
            let encoding = Encoding {
                plans: &job.plans,
                nodes: job.nodes.len(),
                options: &job.content.options,
                cancellation: &job.content.cancellation,
                coders,
                schedule,
                range: UnitRange::all(schedule),
                progress,
            };
            LiveNodes::new(job, nodes.as_mut(), schedule)
                .and_then(|mut nodes| encoding.encode(&mut nodes, &mut |unit| body.write_unit(unit)))
        } else {
            encode_frames(job, progress, |frame| {
                let kind = match is_index_frame(frame.frame, job.content.times.len(), index_distance(job)) {
                    true => kind::INDEPENDENT_UNIT,
                    false => kind::DEPENDENT_UNIT,
                };
                body.output.write_chunk(kind, frame.raw as u32, &frame.bytes)?;
                let cost = CHUNK_ENTRY_SIZE + BOX_SIZE;
                body.count_sizes(frame.raw, frame.bytes.len() + cost, frame.parts);
                body.boxes[frame.frame] = frame.bounds;
                Ok(())
            })
        };
        done.map_err(|error| self.with_target(error))
    }

    /// Writes the end states of meshes: before the lead-in ends, and after the lead-out begins.
    pub fn end_states(&mut self, coders: &[MeshCoder]) -> Result<(), Error> {
        for (m, coder) in coders.iter().enumerate() {
            let (bytes, positions) = coder.end_states();
            self.body.add_end_states(m, &bytes)?;
            self.end_position_fractions[m] = positions as f64 / bytes.len().max(1) as f64;
        }
        self.body.flush_end_states()
    }

    /// Writes the source maps of meshes whose faces change, which are known when all frames are coded.
    pub fn changing_source_maps(&mut self, coders: &[MeshCoder]) -> Result<(), Error> {
        let job = self.job;
        for (m, (plan, _)) in job.plans.iter().enumerate() {
            let map = changing_source_map(plan, coders.get(m));
            if let Some(map) = map.filter(|_| !job.content.options.strip) {
                self.body.add_source_map(m, &map)?;
            }
        }
        self.body.flush_source_maps()
    }

    /// Writes the times and bounds of frames.
    pub fn frame_table(&mut self) -> Result<(), Error> {
        self.body.frame_table(&self.job.content.times)
    }

    /// Writes skeletons and clips, rigs, cameras, and names of ranges.
    pub fn clips_rigs_ranges(&mut self) -> Result<(), Error> {
        let job = self.job;
        let (compressor, output) = (&mut self.body.compressor, &mut self.body.output);
        for (kind, raw, bytes) in &job.clip_chunks {
            output.write_chunk(*kind, *raw, bytes)?;
        }
        for rig in &job.rigs {
            let entry = |out: &mut Vec<u8>| write_entry(rig.mesh as u32, &rig.bytes, out);
            self.rigs.add(rig.mesh, entry, compressor, output)?;
        }
        self.rigs.flush(compressor, output)?;
        for camera in extras::collect_cameras(job)? {
            let (mut raw, mut packed) = (Vec::new(), Vec::new());
            record::cameras::encode(&camera, &mut raw);
            check_size("a camera", raw.len())?;
            compressor.compress_bounded(&raw, &mut packed);
            output.write_chunk(kind::CAMERAS, raw.len() as u32, &packed)?;
        }
        if !job.ranges.is_empty() {
            let (mut raw, mut packed) = (Vec::new(), Vec::new());
            ranges::encode(&job.ranges, &mut raw);
            check_size("the names of ranges", raw.len())?;
            // The size of its content is not known from elsewhere.
            compressor.compress_bounded(&raw, &mut packed);
            output.write_chunk(kind::RANGES, raw.len() as u32, &packed)?;
        }
        Ok(())
    }

    /// Returns the description of nodes and meshes, from the data so far.
    pub fn description(&self, coders: &[MeshCoder], nodes: Option<&NodeCoder<'_>>) -> Description {
        let setup = nodes.map_or(&[][..], |nodes| &nodes.setup);
        let Body { maps, end_states, totals, .. } = &self.body;
        describe(self.job, coders, setup, [&self.connectivity, &self.values, maps, end_states], totals)
    }

    /// Writes the description of nodes and meshes, and checks that it reads back.
    pub fn describe(
        &mut self,
        coders: &[MeshCoder],
        nodes: Option<&NodeCoder<'_>>,
    ) -> Result<Description, Error> {
        let description = self.description(coders, nodes);
        self.body.write_description(&description, self.target)?;
        Ok(description)
    }

    /// Completes the file, which has no name yet. Returns its size, and no file on a dry run.
    pub fn complete(&mut self) -> Result<(u64, Option<CompleteFile>), Error> {
        self.body.complete()
    }
}

/// Frames of a file, with their sizes by mesh.
pub struct Body {
    pub output: ChunkOutput,
    pub compressor: Compressor,
    /// Source maps.
    pub maps: Batches,
    /// End states of meshes: before the lead-in ends and after the lead-out begins.
    pub end_states: Batches,
    /// Total sizes of all frames, by mesh.
    pub totals: Vec<MeshTotals>,
    /// Bytes of node transforms in all frames.
    pub node_bytes: f64,
    /// Size of the description, uncompressed and in the file.
    pub description_bytes: [usize; 2],
    /// World-space bounds of each frame.
    pub boxes: Vec<[f32; 6]>,
    pub summary: Summary,
}

impl Body {
    /// Starts the body of a file of `meshes` meshes and `frames` frames.
    pub fn new(
        output: ChunkOutput,
        compressor: Compressor,
        meshes: usize,
        frames: usize,
        raw_bytes: u64,
    ) -> Body {
        Body {
            output,
            compressor,
            maps: Batches::new(kind::SOURCE_MAP, meshes),
            end_states: Batches::new(kind::END_STATES, meshes),
            totals: vec![MeshTotals::default(); meshes],
            node_bytes: 0.0,
            description_bytes: [0; 2],
            boxes: vec![EMPTY_BOUNDS; frames],
            summary: Summary { bounds: EMPTY_BOUNDS, raw_bytes, flags: 0 },
        }
    }

    /// Writes the next unit, whose frames must be the file's.
    pub fn write_unit(&mut self, unit: UnitOutput) -> Result<(), Error> {
        self.node_bytes += unit.nodes as f64 * unit.bytes.len() as f64 / unit.raw.max(1) as f64;
        let kind = if unit.alone { kind::INDEPENDENT_UNIT } else { kind::DEPENDENT_UNIT };
        self.output.write_chunk(kind, unit.raw as u32, &unit.bytes)?;
        let cost = CHUNK_ENTRY_SIZE + BOX_SIZE * unit.bounds.len();
        self.count_sizes(unit.raw, unit.bytes.len() + cost, unit.parts);
        if let Some(AttributesOutput { bytes, raw, parts }) = unit.attributes {
            self.output.write_chunk(kind::VERTEX_ATTRIBUTES, raw as u32, &bytes)?;
            self.count_sizes(raw, bytes.len() + CHUNK_ENTRY_SIZE, parts);
        }
        for (frame, bounds) in unit.bounds {
            self.boxes[frame as usize] = bounds;
        }
        Ok(())
    }

    /// Counts the sizes of meshes in data of `raw` bytes that takes `size` bytes in the file.
    fn count_sizes(&mut self, raw: usize, size: usize, parts: Vec<MeshSizes>) {
        let stored = size as f64 / raw.max(1) as f64;
        for (total, part) in self.totals.iter_mut().zip(parts) {
            total.bytes += part.bytes as f64 * stored;
            total.position_bytes += part.position_bytes as f64 * stored;
            total.error = total.error.max(part.error);
            total.vertices = total.vertices.max(part.vertices);
            total.indices = total.indices.max(part.indices);
        }
    }

    /// Writes the end states of a mesh, if it has any.
    pub fn add_end_states(&mut self, mesh: usize, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let fill = |out: &mut Vec<u8>| out.extend_from_slice(bytes);
        self.end_states.add(mesh, fill, &mut self.compressor, &mut self.output)
    }

    /// Writes the end states that are still pending.
    pub fn flush_end_states(&mut self) -> Result<(), Error> {
        self.end_states.flush(&mut self.compressor, &mut self.output)
    }

    /// Writes the source map of a mesh.
    pub fn add_source_map(&mut self, mesh: usize, map: &SourceMap) -> Result<(), Error> {
        let fill = |out: &mut Vec<u8>| source_map::encode(map, out);
        self.maps.add(mesh, fill, &mut self.compressor, &mut self.output)
    }

    /// Writes the source maps that are still pending.
    pub fn flush_source_maps(&mut self) -> Result<(), Error> {
        self.maps.flush(&mut self.compressor, &mut self.output)
    }

    /// Writes the times and bounds of frames.
    pub fn frame_table(&mut self, times: &[f64]) -> Result<(), Error> {
        for (&time, &bounds) in times.iter().zip(&self.boxes) {
            let all = &mut self.summary.bounds;
            for k in 0..3 {
                all[k] = all[k].min(bounds[k]);
                all[k + 3] = all[k + 3].max(bounds[k + 3]);
            }
            if let ChunkOutput::File(writer) = &mut self.output {
                writer.add_frame(time, bounds)?;
            }
        }
        Ok(())
    }

    /// Writes the description, and checks that it reads back.
    pub fn write_description(&mut self, description: &Description, target: &Path) -> Result<(), Error> {
        let mut bytes = Vec::new();
        record::encode(description, &mut bytes);
        if record::decode(&bytes).as_ref() != Ok(description) {
            return Err(Error::Promise {
                what: "the description does not read back".into(),
                target: target.into(),
            });
        }
        check_size("the description of all nodes and meshes", bytes.len())?;
        let mut packed = Vec::new();
        self.compressor.compress_bounded(&bytes, &mut packed);
        self.output.write_chunk(kind::DESCRIPTION, bytes.len() as u32, &packed)?;
        self.description_bytes = [bytes.len(), packed.len()];
        Ok(())
    }

    /// Completes the file, which has no name yet. Returns its size, and no file on a dry run.
    pub fn complete(&mut self) -> Result<(u64, Option<CompleteFile>), Error> {
        match std::mem::replace(&mut self.output, ChunkOutput::Memory(Vec::new())) {
            ChunkOutput::File(writer) => {
                let file = writer.complete(self.summary)?;
                Ok((file.size(), Some(file)))
            }
            ChunkOutput::Count { bytes, .. } => Ok((bytes, None)),
            ChunkOutput::Memory(_) => Ok((0, None)),
        }
    }
}

/// Collects the data of many meshes into chunks of one kind.
pub struct Batches {
    kind: u16,
    content: Vec<u8>,
    /// Data that is not written yet: mesh, raw size.
    pending: Vec<(usize, usize)>,
    /// Compressed bytes by mesh, in proportion to the raw size.
    pub compressed_bytes: Vec<f64>,
    pub locations: Vec<ChunkLocation>,
    pub total: u64,
}

impl Batches {
    fn new(kind: u16, meshes: usize) -> Batches {
        Batches {
            kind,
            content: Vec::new(),
            pending: Vec::new(),
            compressed_bytes: vec![0.0; meshes],
            locations: vec![ChunkLocation::default(); meshes],
            total: 0,
        }
    }

    fn add(
        &mut self,
        mesh: usize,
        fill: impl FnOnce(&mut Vec<u8>),
        compressor: &mut Compressor,
        output: &mut ChunkOutput,
    ) -> Result<(), Error> {
        let start = self.content.len();
        fill(&mut self.content);
        let size = self.content.len() - start;
        check_size("static data of one mesh", self.content.len())?;
        self.locations[mesh] = ChunkLocation { chunk: u32::MAX, offset: start as u32, size: size as u32 };
        self.pending.push((mesh, size));
        if self.content.len() >= BATCH_BYTES { self.flush(compressor, output) } else { Ok(()) }
    }

    fn flush(&mut self, compressor: &mut Compressor, output: &mut ChunkOutput) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut packed = Vec::new();
        match self.kind {
            // The size of their content is not known from elsewhere.
            kind::PART_ATTRIBUTES | kind::RIGS => compressor.compress_bounded(&self.content, &mut packed),
            _ => compressor.compress(&self.content, &mut packed),
        }
        let chunk = output.write_chunk(self.kind, self.content.len() as u32, &packed)?;
        let stored = (packed.len() + CHUNK_ENTRY_SIZE) as f64;
        self.total += stored as u64;
        for (mesh, size) in self.pending.drain(..) {
            self.locations[mesh].chunk = chunk;
            self.compressed_bytes[mesh] += stored * size as f64 / self.content.len().max(1) as f64;
        }
        self.content.clear();
        Ok(())
    }
}

/// Size before compression, in bytes, to which shared chunks are filled.
const BATCH_BYTES: usize = 1 << 20;

/// The output file; on a dry run, only its size; or chunks that a join will write.
pub enum ChunkOutput {
    File(Writer),
    Count { chunks: u32, bytes: u64 },
    Memory(Vec<Chunk>),
}

impl ChunkOutput {
    pub fn write_chunk(&mut self, kind: u16, raw: u32, bytes: &[u8]) -> Result<u32, Error> {
        match self {
            ChunkOutput::File(writer) => Ok(writer.add_chunk(kind, raw, bytes)?),
            ChunkOutput::Count { chunks, bytes: total } => {
                *total += (bytes.len() + CHUNK_ENTRY_SIZE) as u64;
                *chunks += 1;
                Ok(*chunks - 1)
            }
            ChunkOutput::Memory(chunks) => {
                chunks.push((kind, raw, bytes.to_vec()));
                Ok(chunks.len() as u32 - 1)
            }
        }
    }
}

/// Describes a file whose chunks are written.
fn describe(
    job: &Job,
    coders: &[MeshCoder],
    tracks: &[u8],
    batches: [&Batches; 4],
    totals: &[MeshTotals],
) -> Description {
    let mut mesh_of = vec![None; job.content.placed.len()];
    for (m, (_, placements)) in job.plans.iter().enumerate() {
        placements.iter().for_each(|&i| mesh_of[i] = Some(m as u32));
    }
    let unit = match job.content.options.unit.or(job.content.scene.unit) {
        None => 0,
        Some(LengthUnit::Metre) => 1,
        Some(LengthUnit::Centimetre) => 2,
        Some(LengthUnit::Millimetre) => 3,
        Some(LengthUnit::Inch) => 4,
    };
    // The transforms of the first frame, which are the rest transforms of animated nodes.
    let rest = NodeTracks::new(&job.content.scene, &job.content.placed, &job.nodes)
        .and_then(|mut tracks| tracks.evaluate(job.content.times[0]).map(|()| tracks.local))
        .unwrap_or_else(|_| vec![Transform::IDENTITY; job.nodes.len()]);
    let nodes = job
        .nodes
        .iter()
        .zip(rest)
        .map(|(node, rest)| NodeRecord {
            path: job.content.placed[node.named].path.clone(),
            parent: node.parent.map(|p| p as u32),
            mesh: node.mesh.and_then(|i| mesh_of[i]),
            animated: node.animated,
            visibility: node
                .visible_object()
                .map_or(Visibility::Always, |i| visibility(&job.motion.visible[i], job.content.times.len())),
            rest,
            tolerance: node.visible_object().map_or(0.0, |i| {
                let budget = &job.tolerances[i];
                budget.tolerance + budget.spent
            }),
            baked: node.baked,
            reach: node.half_size.unwrap_or(0.0),
        })
        .collect();
    let meshes = job
        .plans
        .iter()
        .enumerate()
        .map(|(m, (plan, _))| mesh_record(plan, coders.get(m), m, batches, &totals[m]))
        .collect();
    Description {
        generator: concat!("meshreel ", env!("CARGO_PKG_VERSION")).into(),
        options: job.promised.stored_text(job.between),
        unit,
        fps: job.content.scene.fps.unwrap_or(0.0),
        period: period(job),
        restart: match job.content.options.preset {
            Preset::Classic => 0,
            _ => job.content.options.restart(),
        },
        node_setup: tracks.to_vec(),
        nodes,
        meshes,
    }
}

/// Returns the record of mesh number `m`. `batches`: locations of its triangles, static values, source map
/// and end states.
fn mesh_record(
    plan: &MeshPlan,
    coder: Option<&MeshCoder>,
    m: usize,
    [connectivity, values, maps, ends]: [&Batches; 4],
    totals: &MeshTotals,
) -> MeshRecord {
    let prepared = &plan.prepared;
    let fixed = prepared.fixed.as_ref();
    let ranges = |i: usize| fixed.and_then(|f| f.ranges.get(i)).copied().unwrap_or((0, 0));
    let (codec, points) = coder.map_or((CODEC_CLASSIC, 0), MeshCoder::codec);
    MeshRecord {
        path: plan.path.clone(),
        method: coder.map_or(plan.method, MeshCoder::method),
        codec,
        vertices: fixed.map_or(totals.vertices, |f| f.vertex_point.len()) as u32,
        indices: fixed.map_or(totals.indices, |f| f.indices.len()) as u32,
        source_points: prepared.scan.points as u32,
        points,
        bounds: plan.bounds(),
        connectivity: connectivity.locations[m],
        values: values.locations[m],
        source_map: maps.locations[m],
        has_table: coder.map_or(plan.has_table, MeshCoder::has_table),
        moving_frames: plan.source.moves,
        end_states: ends.locations[m],
        remeshed_blend_frames: plan.source.remeshed.as_ref().map(|r| r.blended),
        separate_attributes: coder.is_some_and(MeshCoder::has_separate_attributes),
        particles: particles::particles_record(plan),
        streams: coder.map_or_else(|| plan.streams.clone(), MeshCoder::records),
        materials: prepared
            .materials
            .iter()
            .enumerate()
            .map(|(i, material)| MaterialRecord {
                id: material.id,
                name: material.name.clone(),
                first: ranges(i).0,
                count: ranges(i).1,
            })
            .collect(),
    }
}

/// Returns the period of a closed cycle: N − 1 intervals with equal ends, else N if the user says so
/// (PROMISE.md §4).
fn period(job: &Job) -> f64 {
    let n = job.content.times.len();
    // Several animations do not form a cycle.
    if n < 2 || job.ranges.len() > 1 {
        return 0.0;
    }
    let duration = job.content.times[n - 1] - job.content.times[0];
    let equal = || -> Result<bool, Error> {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let mut moves = false;
        for (plan, _) in &job.plans {
            let Some(fixed) = &plan.prepared.fixed else {
                return Ok(false);
            };
            moves |= plan.prepared.scan.moving;
            let last = plan.source.times.len() - 1;
            plan.source.object_points(0, &fixed.first_points, &mut a)?;
            plan.source.object_points(last, &fixed.first_points, &mut b)?;
            if a != b {
                return Ok(false);
            }
        }
        let mut tracks = NodeTracks::new(&job.content.scene, &job.content.placed, &job.nodes)?;
        tracks.evaluate(job.content.times[0])?;
        let first = tracks.decoded.clone();
        tracks.evaluate(job.content.times[n - 1])?;
        Ok(first == tracks.decoded && (moves || job.nodes.iter().any(|node| node.animated)))
    };
    match (equal().unwrap_or(false), job.content.options.cycle) {
        (true, _) => duration,
        // Added frames do not shorten the interval of the cycle.
        (false, true) => duration * job.samples as f64 / (job.samples.max(2) - 1) as f64,
        (false, false) => 0.0,
    }
}

/// Returns the source map of a mesh; that of a mesh whose faces change has no vertices.
fn mesh_source_map(plan: &MeshPlan) -> SourceMap {
    let made_normals = plan.prepared.channels.normals == NormalOrigin::Generated;
    let Some(fixed) = &plan.prepared.fixed else {
        return SourceMap { computed_normals: made_normals, ..SourceMap::default() };
    };
    SourceMap {
        computed_normals: made_normals,
        face_starts: fixed.face_starts.clone(),
        other_faces: fixed.undetermined_faces.clone(),
        points: plan.prepared.scan.points as u32,
        corners: fixed.faces.corner_point.len() as u32,
        faces: fixed.face_count as u32,
        vertex_point: fixed.vertex_point.clone(),
        triangle_face: fixed.triangle_face.clone(),
        ..SourceMap::default()
    }
}

/// Returns the source map of a mesh whose faces change, once all of its frames have been coded; `None` if it
/// is empty.
fn changing_source_map(plan: &MeshPlan, coder: Option<&MeshCoder>) -> Option<SourceMap> {
    if plan.prepared.fixed.is_some() {
        return None;
    }
    let mut map = mesh_source_map(plan);
    if let Some(coder) = coder {
        (map.run_maps, map.frame_runs) = coder.source_runs();
    }
    Some(map).filter(|map| *map != SourceMap::default())
}
