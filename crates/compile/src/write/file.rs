//! A file while it is written: passes add chunks to it, in the order in which [`crate::plan::write`] lists
//! them.

use crate::Error;
use crate::codec_terms::block_format;
use crate::mesh::streams::NOTHING;
use crate::method::mesh_coder::MeshCoder;
use crate::report::{Inspect, Phase, Progress};
use crate::write::classic::{encode_frames, every, index_frame};
use crate::write::describe::describe;
use crate::write::extras::Extras;
use crate::write::job::{Counted, Job, Total};
use crate::write::node_coder::NodeCoder;
use crate::write::output::{Batches, Output, check_size, publish};
use crate::write::{source_maps, units};
use meshreel_codec::entropy::block::Compressor;
use meshreel_codec::record;
use meshreel_codec::record::{Description, ranges, source_map};
use meshreel_codec::schedule::Schedule;
use meshreel_codec::topology::index;
use meshreel_codec::topology::lod::put_entry;
use meshreel_format::{BOX_SIZE, CHUNK_ENTRY_SIZE, HEADER_SIZE, Summary, Writer, frame_table_size, kind};
use meshreel_options::Preset;
use meshreel_scene::Remark;
use std::path::Path;

/// Chunks so far, and what was counted of them by mesh.
pub struct File<'a> {
    job: &'a Job<'a>,
    target: &'a Path,
    output: Output,
    compressor: Compressor,
    /// Batches of connectivity.
    pub connectivity: Batches,
    /// Static values, and what frames are predicted from.
    pub values: Batches,
    /// Maps back to the source.
    pub maps: Batches,
    /// LOD levels.
    pub lods: Batches,
    /// Triangle visibility.
    pub visibility: Batches,
    /// Part attributes.
    pub part_attributes: Batches,
    /// End states of meshes: what they show before they begin to move, and when they have come to rest.
    pub end_states: Batches,
    /// Batches of rigs.
    pub rigs: Batches,
    /// By mesh the part of its static values that positions take …
    pub position_share: Vec<f64>,
    /// By mesh the part of its end states that positions take.
    pub position_share_of_ends: Vec<f64>,
    /// By mesh what all frames take.
    pub totals: Vec<Total>,
    /// Bytes of transforms of nodes, in all frames.
    pub node_bytes: f64,
    /// Size of the description and what it takes in the file.
    pub description_bytes: [usize; 2],
    /// Boxes of frames.
    boxes: Vec<[f32; 6]>,
    summary: Summary,
}

impl<'a> File<'a> {
    /// Begins a file, or, on a dry run, counts what one would take.
    pub fn create(job: &'a Job<'a>, target: &'a Path) -> Result<File<'a>, Error> {
        let output = match job.options.dry_run {
            true => Output::Count { chunks: 0, bytes: HEADER_SIZE as u64 + frame_table_size(job.times) },
            false => Output::File(Writer::create(target)?),
        };
        let meshes = job.plans.len();
        let batches = |kind: u16| Batches::new(kind, meshes);
        let raw_points: u64 = (job.plans.iter()).map(|(p, _)| 12 * p.source_points()).sum();
        Ok(File {
            job,
            target,
            output,
            compressor: Compressor::new(block_format(job.options.block), job.options.effort),
            connectivity: batches(kind::CONNECTIVITY),
            values: batches(kind::VALUES),
            maps: batches(kind::SOURCE_MAP),
            lods: batches(kind::LOD),
            visibility: batches(kind::VISIBILITY),
            part_attributes: batches(kind::PART_ATTRIBUTES),
            end_states: batches(kind::END_STATES),
            rigs: batches(kind::RIGS),
            position_share: vec![0.0; meshes],
            position_share_of_ends: vec![0.0; meshes],
            totals: vec![Total::default(); meshes],
            node_bytes: 0.0,
            description_bytes: [0; 2],
            boxes: vec![NOTHING; job.times.len()],
            summary: Summary {
                bounds: NOTHING,
                raw_bytes: raw_points + job.raw_transform_bytes + job.clip_raw_bytes,
                flags: 0,
            },
        })
    }

    /// 12 bytes per source point and frame plus 40 per transform and sample.
    pub fn raw_bytes(&self) -> u64 {
        self.summary.raw_bytes
    }

    fn with_target(&self, error: Error) -> Error {
        match error {
            Error::Promise { what, .. } => Error::Promise { what, target: self.target.into() },
            other => other,
        }
    }

    /// Triangles, static values and maps back to the source of meshes whose faces stay. They share chunks,
    /// which are complete after [`File::extras`].
    pub fn static_data(&mut self, coders: &[MeshCoder<'_>]) -> Result<(), Error> {
        let (job, compressor, output) = (self.job, &mut self.compressor, &mut self.output);
        for (m, (plan, _)) in job.plans.iter().enumerate() {
            let Some(fixed) = &plan.prepared.fixed else {
                continue;
            };
            let triangles = |out: &mut Vec<u8>| match &fixed.grid {
                Some(grid) => grid.encode(out),
                None => index::encode(&fixed.indices, out),
            };
            self.connectivity.add(m, triangles, compressor, output)?;
            let mut bytes = Vec::new();
            let positions = match coders.get(m) {
                Some(coder) => coder.encode_values(&mut bytes),
                None => plan.encode_values(&mut bytes),
            };
            self.position_share[m] = positions as f64 / bytes.len().max(1) as f64;
            self.values.add(m, |out| out.extend_from_slice(&bytes), compressor, output)?;
            // Vertices of a re-meshed one are nobody's in the source.
            if !job.options.strip && plan.source.remeshed.is_none() {
                let map = |out: &mut Vec<u8>| source_map::encode(&source_maps::of_mesh(plan, job.times), out);
                self.maps.add(m, map, compressor, output)?;
            }
        }
        Ok(())
    }

    /// LOD levels, triangle visibility and part attributes.
    pub fn extras(&mut self, extras: &Extras) -> Result<(), Error> {
        let (compressor, output) = (&mut self.compressor, &mut self.output);
        for (m, own) in (0..).zip(&extras.visibility).filter(|(_, own)| !own.bytes.is_empty()) {
            let entry = |out: &mut Vec<u8>| put_entry(m, &own.bytes, out);
            self.visibility.add(m as usize, entry, compressor, output)?;
        }
        for (m, own) in (0..).zip(&extras.lods).filter(|(_, own)| !own.levels.is_empty()) {
            let entry = |out: &mut Vec<u8>| put_entry(m, &own.bytes, out);
            self.lods.add(m as usize, entry, compressor, output)?;
        }
        for own in extras.attributes.iter().filter(|own| !own.bytes.is_empty()) {
            let entry = |out: &mut Vec<u8>| put_entry(own.nodes[0], &own.bytes, out);
            self.part_attributes.add(own.mesh, entry, compressor, output)?;
        }
        self.connectivity.flush(compressor, output)?;
        self.values.flush(compressor, output)?;
        self.maps.flush(compressor, output)?;
        self.lods.flush(compressor, output)?;
        self.visibility.flush(compressor, output)?;
        self.part_attributes.flush(compressor, output)
    }

    /// All frames, as units of the presets small and fast, or one by one as those of the preset classic.
    pub fn frames(
        &mut self,
        coders: &[MeshCoder<'_>],
        nodes: &mut Option<NodeCoder<'_>>,
        schedule: Schedule,
        pool: &rayon::ThreadPool,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let (job, output, boxes) = (self.job, &mut self.output, &mut self.boxes);
        let (totals, node_bytes) = (&mut self.totals, &mut self.node_bytes);
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
        let done = if job.options.preset != Preset::Classic {
            units::encode(job, coders, nodes, schedule, pool, progress, &mut |unit| {
                *node_bytes += unit.nodes as f64 * unit.bytes.len() as f64 / unit.raw.max(1) as f64;
                let kind = if unit.alone { kind::INDEX } else { kind::BETWEEN };
                output.chunk(kind, unit.raw as u32, &unit.bytes)?;
                let cost = CHUNK_ENTRY_SIZE + BOX_SIZE * unit.bounds.len();
                count(unit.raw, unit.bytes.len() + cost, unit.parts);
                if let Some(units::Attributes { bytes, raw, parts }) = unit.attributes {
                    output.chunk(kind::VERTEX_ATTRIBUTES, raw as u32, &bytes)?;
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
                    true => kind::INDEX,
                    false => kind::BETWEEN,
                };
                output.chunk(kind, frame.raw as u32, &frame.bytes)?;
                let cost = CHUNK_ENTRY_SIZE + BOX_SIZE;
                count(frame.raw, frame.bytes.len() + cost, frame.parts);
                boxes[frame.frame] = frame.bounds;
                Ok(())
            })
        };
        done.map_err(|error| self.with_target(error))
    }

    /// Writes the end states of meshes: what they show before they begin to move, and when they have come to
    /// rest.
    pub fn end_states(&mut self, coders: &[MeshCoder<'_>]) -> Result<(), Error> {
        for (m, coder) in coders.iter().enumerate() {
            let (bytes, positions) = coder.end_states();
            if !bytes.is_empty() {
                let fill = |out: &mut Vec<u8>| out.extend_from_slice(&bytes);
                self.end_states.add(m, fill, &mut self.compressor, &mut self.output)?;
                self.position_share_of_ends[m] = positions as f64 / bytes.len() as f64;
            }
        }
        self.end_states.flush(&mut self.compressor, &mut self.output)
    }

    /// Maps back to the source of meshes whose faces change: they are known when all frames are coded.
    pub fn changing_source_maps(&mut self, coders: &[MeshCoder<'_>]) -> Result<(), Error> {
        let job = self.job;
        for (m, (plan, _)) in job.plans.iter().enumerate() {
            let map = source_maps::of_changing(plan, job.times, coders.get(m));
            if let Some(map) = map.filter(|_| !job.options.strip) {
                let fill = |out: &mut Vec<u8>| source_map::encode(&map, out);
                self.maps.add(m, fill, &mut self.compressor, &mut self.output)?;
            }
        }
        self.maps.flush(&mut self.compressor, &mut self.output)
    }

    /// Times and boxes of frames.
    pub fn frame_table(&mut self) -> Result<(), Error> {
        for (&time, &bounds) in self.job.times.iter().zip(&self.boxes) {
            let all = &mut self.summary.bounds;
            for k in 0..3 {
                all[k] = all[k].min(bounds[k]);
                all[k + 3] = all[k + 3].max(bounds[k + 3]);
            }
            if let Output::File(writer) = &mut self.output {
                writer.add_frame(time, bounds)?;
            }
        }
        Ok(())
    }

    /// Skeletons and clips, rigs, and names of ranges.
    pub fn clips_rigs_ranges(&mut self) -> Result<(), Error> {
        let (job, compressor, output) = (self.job, &mut self.compressor, &mut self.output);
        for (kind, raw, bytes) in &job.clip_chunks {
            output.chunk(*kind, *raw, bytes)?;
        }
        for rig in &job.rigs {
            let entry = |out: &mut Vec<u8>| put_entry(rig.mesh as u32, &rig.bytes, out);
            self.rigs.add(rig.mesh, entry, compressor, output)?;
        }
        self.rigs.flush(compressor, output)?;
        if !job.ranges.is_empty() {
            let (mut raw, mut packed) = (Vec::new(), Vec::new());
            ranges::encode(&job.ranges, &mut raw);
            check_size("the names of ranges", raw.len())?;
            // How much it holds follows from nothing else.
            compressor.compress_bounded(&raw, &mut packed);
            output.chunk(kind::RANGES, raw.len() as u32, &packed)?;
        }
        Ok(())
    }

    /// The description of nodes and meshes; it must read back.
    pub fn describe(
        &mut self,
        coders: &[MeshCoder<'_>],
        nodes: Option<&NodeCoder<'_>>,
    ) -> Result<Description, Error> {
        let setup = nodes.map_or(&[][..], |nodes| &nodes.setup);
        let batches = [&self.connectivity, &self.values, &self.maps, &self.end_states];
        let description = describe(self.job, coders, setup, batches, &self.totals);
        let mut bytes = Vec::new();
        record::encode(&description, &mut bytes);
        if record::decode(&bytes).as_ref() != Ok(&description) {
            return Err(Error::Promise {
                what: "the description does not read back".into(),
                target: self.target.into(),
            });
        }
        check_size("the description of all nodes and meshes", bytes.len())?;
        let mut packed = Vec::new();
        self.compressor.compress_bounded(&bytes, &mut packed);
        self.output.chunk(kind::DESCRIPTION, bytes.len() as u32, &packed)?;
        self.description_bytes = [bytes.len(), packed.len()];
        Ok(description)
    }

    /// Completes the file, lets `inspect` look at it, and gives it its name. Returns its size.
    pub fn publish(
        &mut self,
        pool: &rayon::ThreadPool,
        inspect: Inspect<'_>,
        progress: &dyn Progress,
        remarks: &mut Vec<Remark>,
    ) -> Result<u64, Error> {
        match std::mem::replace(&mut self.output, Output::Count { chunks: 0, bytes: 0 }) {
            Output::File(writer) => {
                progress.update(Phase::Inspect, 0, 1);
                self.job.cancellation.check()?;
                let written = writer.complete(self.summary)?;
                pool.install(|| publish(written, self.target, inspect, remarks))
            }
            Output::Count { bytes, .. } => Ok(bytes),
        }
    }
}
