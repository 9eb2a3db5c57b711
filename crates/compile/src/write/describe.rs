//! The description of all nodes and meshes, which depends on all other data and is written last.

use crate::Error;
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::NormalOrigin;
use crate::method::mesh_coder::MeshCoder;
use crate::method::particles;
use crate::nodes::motion::visibility;
use crate::nodes::tracks::NodeTracks;
use crate::write::job::{Job, MeshTotals};
use crate::write::output::Batches;
use meshreel_codec::record::source_map::SourceMap;
use meshreel_codec::record::{
    CODEC_CLASSIC, Description, MaterialRecord, MeshRecord, NodeRecord, Visibility,
};
use meshreel_codec::transform::Transform;
use meshreel_options::Preset;
use meshreel_scene::LengthUnit;

/// Describes a file whose chunks are written.
pub fn describe(
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
pub fn mesh_source_map(plan: &MeshPlan) -> SourceMap {
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
        vertex_corner: fixed.vertex_corner.clone(),
        triangle_face: fixed.triangle_face.clone(),
        ..SourceMap::default()
    }
}

/// Returns the source map of a mesh whose faces change, once all of its frames have been coded; `None` if it
/// is empty.
pub fn changing_source_map(plan: &MeshPlan, coder: Option<&MeshCoder>) -> Option<SourceMap> {
    if plan.prepared.fixed.is_some() {
        return None;
    }
    let mut map = mesh_source_map(plan);
    if let Some(coder) = coder {
        (map.run_maps, map.frame_runs) = coder.source_runs();
    }
    Some(map).filter(|map| *map != SourceMap::default())
}
