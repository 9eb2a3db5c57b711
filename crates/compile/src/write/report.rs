//! Reports on a file that was written.

use crate::method::mesh_coder::MeshCoder;
use crate::report::{
    ClipReport, HiddenReport, LodReport, LodReports, MeshReport, NormalPrecision, PartAttributeReports,
    Report, RigReport,
};
use crate::write::extras::Extras;
use crate::write::file::FileWriter;
use crate::write::job::{Job, ratio};
use crate::write::node_coder::NodeCoder;
use meshreel_codec::record::Description;

/// The input of the report of a file.
pub struct WrittenFile<'a> {
    /// The decisions of the passes before writing.
    pub job: &'a Job,
    /// The file, with the measured sizes.
    pub file: &'a FileWriter<'a>,
    /// The coders of meshes; empty in the preset classic.
    pub coders: &'a [MeshCoder],
    /// The coder of transforms, if any node moves.
    pub nodes: Option<&'a NodeCoder<'a>>,
    /// LOD levels, triangle visibility and part attributes.
    pub extras: &'a Extras,
    /// The description that the file holds.
    pub description: &'a Description,
}

impl WrittenFile<'_> {
    /// Returns the report of the finished file.
    pub fn report(&self, file_bytes: u64) -> Report {
        let (job, file) = (self.job, self.file);
        let mut report = Report {
            file_bytes,
            source_map_bytes: file.body.maps.total,
            frames: job.content.times.len(),
            raw_bytes: file.raw_bytes(),
            ..Report::default()
        };
        report.rigs = (job.rigs.iter())
            .map(|rig| RigReport {
                bytes: file.rigs.compressed_bytes[rig.mesh].round() as u64,
                ..rig.report.clone()
            })
            .collect();
        report.clips.extend(self.nodes.map(|nodes| self.nodes_report(nodes)));
        for m in 0..job.plans.len() {
            let remarks = self.coders.get(m).map_or(&[][..], |coder| &coder.remarks);
            report.remarks.extend_from_slice(remarks);
            report.remarks.extend(self.extras.remarks(m));
            report.meshes.push(self.mesh_report(m));
        }
        report
    }

    fn nodes_report(&self, nodes: &NodeCoder<'_>) -> ClipReport {
        let (tolerance, max_error) = nodes.worst_tolerance_and_error();
        let [raw, packed] = self.file.body.description_bytes;
        let stored = packed as f64 / raw.max(1) as f64;
        let joints = nodes.tracks().len();
        let free = nodes.tracks().iter().filter(|t| t.setup.moves[1]).count();
        let samples = self.job.content.times.len();
        let raw_bytes = 40 * joints as u64 * samples as u64;
        let bytes = (self.file.body.node_bytes + nodes.setup.len() as f64 * stored).ceil() as u64;
        ClipReport {
            name: "nodes".into(),
            joints,
            samples,
            raw_bytes,
            bytes,
            ratio: ratio(raw_bytes, bytes),
            tolerance,
            max_error,
            rotations: [joints - free, 0, 0, 0, free],
            ..ClipReport::default()
        }
    }

    fn mesh_report(&self, m: usize) -> MeshReport {
        let (job, file, coder) = (self.job, self.file, self.coders.get(m));
        let (plan, totals) = (&job.plans[m].0, &file.body.totals[m]);
        let fixed = plan.prepared.fixed.as_ref();
        let position_bytes = file.values.compressed_bytes[m] * file.position_fractions[m]
            + file.body.end_states.compressed_bytes[m] * file.end_position_fractions[m]
            + totals.position_bytes;
        let points_frames = plan.source_points();
        let (max_error, tolerance) = self.worst_error(m);
        let mut measures = coder.map_or_else(Default::default, MeshCoder::measures);
        if let Some(rest) = &mut measures.rest {
            rest.frame += plan.source.start;
            rest.time = job.content.times[rest.frame] - job.content.times[0];
        }
        let bytes = (file.values.compressed_bytes[m]
            + file.connectivity.compressed_bytes[m]
            + file.body.end_states.compressed_bytes[m]
            + file.lods.compressed_bytes[m]
            + file.visibility.compressed_bytes[m]
            + file.part_attributes.compressed_bytes[m]
            + totals.bytes)
            .round() as u64;
        let triangles = fixed.map_or(totals.indices, |fixed| fixed.indices.len()) / 3;
        let [parts, bones] = coder.map_or([0; 2], MeshCoder::bones);
        MeshReport {
            path: plan.path.clone(),
            method: format!("{:?}", coder.map_or(plan.method, MeshCoder::method)).to_lowercase(),
            tried: coder.map_or(Vec::new(), |c| c.tried.clone()),
            parts,
            bones,
            remeshed: plan.source.remeshed.as_deref().cloned(),
            measures,
            triangles,
            grid: (fixed.and_then(|fixed| fixed.grid.as_ref()))
                .map(|grid| [grid.shape.width, grid.shape.height]),
            vertices: self.description.meshes[m].vertices as usize,
            lod: self.lod(m, triangles),
            hidden: self.hidden(m),
            part_attributes: self.part_attributes(m),
            source_points: plan.prepared.scan.points,
            frames: job.content.times.len(),
            normals_decide: plan.normal_precision.map(|decided| NormalPrecision {
                bytes_then: decided.estimated_fraction.map(|part| (part * bytes as f64).round()),
                ..decided
            }),
            tolerance,
            bytes,
            moves: plan.source.moves,
            position_bytes: position_bytes.round() as u64,
            bits_per_vertex_frame: 8.0 * position_bytes / (points_frames.max(1) as f64),
            max_error,
        }
    }

    /// Returns the LOD levels of a mesh of `triangles` triangles, if it has any.
    fn lod(&self, m: usize, triangles: usize) -> Option<LodReports> {
        let own = self.extras.lods.get(m).filter(|own| !own.lod_levels.is_empty())?;
        let itself = LodReport { triangles: triangles as u32, error: 0.0 };
        let others = own.lod_levels.iter();
        let others = others.map(|level| LodReport { triangles: level.triangles, error: level.error });
        Some(LodReports {
            levels: std::iter::once(itself).chain(others).collect(),
            bytes: self.file.lods.compressed_bytes[m].round() as u64,
        })
    }

    /// Returns the triangles of a mesh that are not visible in some frames, if there are any.
    fn hidden(&self, m: usize) -> Option<HiddenReport> {
        let own = self.extras.visibility.get(m).filter(|own| !own.bytes.is_empty())?;
        let bytes = self.file.visibility.compressed_bytes[m].round() as u64;
        Some(HiddenReport { triangles: own.hidden, bytes })
    }

    /// Returns the part attributes of a mesh, if any are kept.
    fn part_attributes(&self, m: usize) -> Option<PartAttributeReports> {
        let own = self.extras.attributes_of(m).flat_map(|own| own.attributes.clone());
        let attributes: Vec<_> = own.collect();
        let bytes = self.file.part_attributes.compressed_bytes[m].round() as u64;
        (!attributes.is_empty()).then_some(PartAttributeReports { attributes, bytes })
    }

    /// Returns the error and tolerance of the placement of a mesh whose error is largest relative to its
    /// tolerance.
    fn worst_error(&self, m: usize) -> (f64, f64) {
        let (plan, placements) = &self.job.plans[m];
        let own = self.file.body.totals[m].error.max(plan.static_error.first().copied().unwrap_or(0.0));
        let of = |&i: &usize| {
            let b = &self.job.tolerances[i];
            let coded = self.nodes.and_then(|nodes| nodes.error(i));
            (coded.unwrap_or(b.transform_error) + b.scale * own + b.spent, b.tolerance + b.spent)
        };
        let nearest = placements.iter().map(of).max_by(|a, b| (a.0 * b.1).total_cmp(&(b.0 * a.1)));
        nearest.unwrap_or((0.0, 0.0))
    }
}
