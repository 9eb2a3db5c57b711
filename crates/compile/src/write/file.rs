//! A file that is being written: passes add chunks to it, in the order of [`crate::plan::write`].

use crate::Error;
use crate::codec_terms::block_format;
use crate::method::mesh_coder::MeshCoder;
use crate::report::Progress;
use crate::write::body::Body;
use crate::write::classic::{encode_frames, index_distance, is_index_frame};
use crate::write::describe;
use crate::write::describe::describe;
use crate::write::extras;
use crate::write::extras::Extras;
use crate::write::job::Job;
use crate::write::node_coder::NodeCoder;
use crate::write::node_units::LiveNodes;
use crate::write::output::{Batches, ChunkOutput, check_size};
use crate::write::units::{Encoding, UnitRange};
use meshreel_codec::entropy::block::Compressor;
use meshreel_codec::record::{self, Description, ranges};
use meshreel_codec::topology::index;
use meshreel_codec::topology::lod::write_entry;
use meshreel_format::{
    BOX_SIZE, CHUNK_ENTRY_SIZE, CompleteFile, HEADER_SIZE, Writer, frame_table_size, kind,
};
use meshreel_options::Preset;
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
            let triangles = |out: &mut Vec<u8>| match &fixed.grid {
                Some(grid) => grid.encode(out),
                None => index::encode(&fixed.indices, out),
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
            if !job.content.options.strip && plan.source.remeshed.is_none() {
                self.body.add_source_map(m, &describe::mesh_source_map(plan))?;
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
            let map = describe::changing_source_map(plan, coders.get(m));
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
