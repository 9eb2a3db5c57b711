//! Last pass: static chunks, then frames in parallel and in order, then the description, which knows the
//! largest of everything.

use crate::method::mesh_coder::{self, MeshCoder};
use crate::report::{ClipReport, Detailed, Inspect, MeshReport, Phase, Progress, Report, RigReport};
use crate::write::classic::{encode_frames, every, index_frame};
use crate::write::describe::describe;
use crate::write::job::{Counted, Job, Total};
use crate::write::lod::{self, Lod};
use crate::write::node_coder::NodeCoder;
use crate::write::output::{
    ATTRIBUTES, BETWEEN, Batches, CONNECTIVITY, DESCRIPTION, DETAIL, DRAWN, ENDS, INDEX, NUMBERS, Output,
    RANGES, RIGS, SOURCE_MAP, VALUES, check_size, publish,
};
use crate::write::visibility::{self, Visibility};
use crate::write::{part_attributes, source_maps, units};
use crate::{Error, Preset};
use meshreel_codec::{
    block::Compressor,
    index,
    ranges::{self},
    soft::schedule::Schedule,
    source_map,
};
use meshreel_format::{BOX_SIZE, CHUNK_ENTRY_SIZE, Summary, Writer, frame_table_size};
use rayon::prelude::*;
use std::path::Path;

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
    let points: Vec<_> = job.plans.iter().map(|(plan, _)| mesh_coder::points(plan)).collect();
    let sources: Vec<_> = (job.plans.iter().zip(&points))
        .map(|((plan, _), points)| mesh_coder::frames(plan, points.as_ref()))
        .collect();
    let ladder = mesh_coder::ladder(job.options);
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
    let details: Vec<Lod> = match job.options.lod {
        0 => Vec::new(),
        _ => pool.install(|| {
            let plans = job.plans.par_iter();
            let all = plans.map(|(plan, _)| lod::of_mesh(plan, job.options));
            all.collect::<Result<_, Error>>()
        })?,
    };
    let culls: Vec<Visibility> = match job.options.cull_hidden {
        true => pool.install(|| visibility::all(job))?,
        false => Vec::new(),
    };
    let kept = part_attributes::all(job, &coders)?;
    let mut said: Vec<_> = (details.iter()).flat_map(|d| d.remarks.clone()).collect();
    said.extend(culls.iter().flat_map(|c| c.remarks.clone()));
    said.extend(kept.iter().flat_map(|k| k.remarks.clone()));
    if job.options.strict && !said.is_empty() {
        return Err(Error::Strict { remarks: said });
    }
    let mut drawn = Batches::new(DRAWN, meshes);
    for (m, cull) in (0..).zip(&culls).filter(|(_, c)| !c.bytes.is_empty()) {
        drawn.add(
            m as usize,
            |out| meshreel_codec::detail::put_entry(m, &cull.bytes, out),
            &mut compressor,
            &mut output,
        )?;
    }
    let mut levels = Batches::new(DETAIL, meshes);
    for (m, detail) in (0..).zip(&details).filter(|(_, d)| !d.levels.is_empty()) {
        levels.add(
            m as usize,
            |out| meshreel_codec::detail::put_entry(m, &detail.bytes, out),
            &mut compressor,
            &mut output,
        )?;
    }
    let mut riding = Batches::new(NUMBERS, meshes);
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
        bounds: crate::mesh::streams::NOTHING,
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
    let mut boxes = vec![crate::mesh::streams::NOTHING; job.times.len()];
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
                output.chunk(ATTRIBUTES, raw as u32, &bytes)?;
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
    let mut ends = Batches::new(ENDS, meshes);
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
                .map(|level| Detailed { triangles: level.triangles, error: level.error })
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
