//! Compares part attributes: the set of them, and their values in every frame.

use super::report::Failures;
use crate::requested::Tolerance;
use crate::verify::plan::Verification;
use meshreel::FrameDecoder;
use meshreel::time::FramePair;
use meshreel::view::PartAttribute;
use meshreel_extract::convert::error;
use meshreel_extract::skinning::vertex_group;
use meshreel_scene::{CustomAttribute, Error, Mesh, Scope, sample};
use std::collections::HashMap;

/// Checks the part attributes of all nodes. Returns, for each mesh of the file, the largest error of any
/// value, if it has any.
pub(crate) fn check(plan: &Verification<'_>, failures: &mut Failures) -> Result<Vec<Option<f64>>, Error> {
    let (reel, survey) = (plan.reel, plan.survey);
    let meshes = &reel.description().meshes;
    let mut worst = vec![None; meshes.len()];
    let all = reel.all_part_attributes().map_err(error)?;
    let mut of_node = HashMap::new();
    for own in &all {
        of_node.extend(own.nodes.iter().map(|&n| (n as usize, &own.attributes)));
    }
    if !plan.asked.frames.channels.attributes {
        if !all.is_empty() {
            failures.add("", None, || "has attributes, which were not asked for".into());
        }
        return Ok(worst);
    }
    // Done already: nodes that show the same mesh of the source have the same attributes.
    let mut done = HashMap::new();
    let mut decoder = None;
    for (i, show) in plan.file_placements.iter().enumerate() {
        let Some(show) = show.as_ref().filter(|s| !plan.mesh_pairs[s.mesh_pair].has_wrong_map) else {
            continue;
        };
        let path = survey.path(i);
        let source = survey.placements[i].mesh;
        let own: &[PartAttribute] = of_node.get(&show.node).map_or(&[], |a| a);
        if let Some(&other) = done.get(&(source, show.record)) {
            if own != other {
                failures.add(path, None, || "has other attributes than what shows the same mesh".into());
            }
            continue;
        }
        done.insert((source, show.record), own);
        let mesh = &survey.scene.meshes[source];
        let numbers = sample::custom_attributes(mesh);
        for wanted in numbers.iter().filter(|n| n.attribute.scope == Scope::Constant) {
            let name = &wanted.attribute.name;
            if !own.iter().any(|a| a.name() == name) && fits_f32(plan, mesh, wanted)? {
                failures.add(path, None, || format!("attribute {name} is missing"));
            }
        }
        for attribute in own {
            let name = attribute.name();
            let Some(wanted) = numbers.iter().find(|n| n.attribute.name == name) else {
                failures.add(path, None, || format!("attribute {name} is not the source's"));
                continue;
            };
            let (record, fluid) = (show.record, meshes[show.record].method.changes());
            let of_point = match (wanted.attribute.scope, fluid) {
                (Scope::Constant, _) | (_, true) => Some(vec![(0, 0)]),
                _ => groups(plan, attribute, record, &mut decoder)?,
            };
            let Some(of_point) = of_point else { continue };
            match compare(plan, mesh, wanted, attribute, &of_point)? {
                Ok(found) => {
                    let own: &mut Option<f64> = &mut worst[record];
                    *own = Some(own.unwrap_or(0.0).max(found));
                }
                Err(what) => failures.add(path, None, || format!("attribute {name}: {what}")),
            }
        }
    }
    Ok(worst)
}

/// Returns points of the source, each with the group that it must have; `None` without a source map.
fn groups(
    plan: &Verification<'_>,
    attribute: &PartAttribute,
    record: usize,
    decoder: &mut Option<FrameDecoder>,
) -> Result<Option<Vec<(usize, usize)>>, Error> {
    let Some(map) = plan.reel.source_map(record).map_err(error)? else {
        return Ok(None);
    };
    let points = map.vertex_point.iter().map(|&p| p as usize);
    let mut of_point: Vec<(usize, usize)> = match (attribute.part_groups(), attribute.vertex_groups()) {
        (Some(_), _) => {
            let decoder = match decoder {
                Some(decoder) => decoder,
                None => decoder.insert(FrameDecoder::new(plan.reel).map_err(error)?),
            };
            if decoder.frame().is_none() {
                decoder.decode(0).map_err(error)?;
            }
            let view = decoder.mesh(record);
            let bones = view.bones();
            let group = |v| vertex_group(attribute, bones.as_ref(), v).map_or(usize::MAX, |g| g as usize);
            points.enumerate().map(|(v, p)| (p, group(v))).collect()
        }
        (_, Some(groups)) => points.zip(groups.iter().map(|&g| g as usize)).collect(),
        _ => points.map(|p| (p, 0)).collect(),
    };
    of_point.sort_unstable();
    of_point.dedup();
    Ok(Some(of_point))
}

/// Called with a frame and the source's values of all points in it; an error is a sentence.
type FrameVisitor<'a> = dyn FnMut(usize, &[[f32; 4]]) -> Result<(), String> + 'a;

/// Calls `take` for every frame with the values of the source, by point.
fn each_frame(
    plan: &Verification<'_>,
    mesh: &Mesh,
    wanted: &CustomAttribute,
    take: &mut FrameVisitor<'_>,
) -> Result<Result<(), String>, Error> {
    let (mut faces, mut values) = (sample::Faces::default(), sample::AttributeValues::default());
    let mut positions = Vec::new();
    for (i, frame) in plan.frames.iter().enumerate() {
        let Some(time) = frame.map(|f| plan.survey.times[f]) else {
            continue;
        };
        sample::attribute_at(&wanted.attribute, mesh, time, &mut values)?;
        let now = match wanted.attribute.scope {
            Scope::Constant => {
                let at = values.indices.as_ref().map_or(Some(0), |list| list.first().copied());
                let value = at.and_then(|at| values.values.get(at as usize));
                value.map(|v| vec![*v]).ok_or("has no value in some frames")
            }
            scope => {
                sample::faces_at(mesh, time, &mut faces)?;
                sample::positions_at(mesh, time, &mut positions)?;
                let now = sample::values_by_point(scope, &faces, positions.len(), &values);
                now.and_then(|now| now.ok_or("differs between faces that share a point"))
            }
        };
        let taken = now.map_err(str::to_owned).and_then(|now| take(i, &now));
        if taken.is_err() {
            return Ok(taken);
        }
    }
    Ok(Ok(()))
}

/// `true` if f32 can represent all values of the source, and their differences.
fn fits_f32(plan: &Verification<'_>, mesh: &Mesh, wanted: &CustomAttribute) -> Result<bool, Error> {
    let fits = |v: &[f32; 4]| v.iter().all(|v| v.abs() <= f32::MAX / 4.0);
    let found = each_frame(plan, mesh, wanted, &mut |_, now| match now.iter().all(fits) {
        true => Ok(()),
        false => Err(String::new()),
    })?;
    Ok(found.is_ok())
}

/// Returns the largest error of any value in any frame, or a sentence about what is wrong.
fn compare(
    plan: &Verification<'_>,
    mesh: &Mesh,
    wanted: &CustomAttribute,
    attribute: &PartAttribute,
    of_point: &[(usize, usize)],
) -> Result<Result<f64, String>, Error> {
    let name = &wanted.attribute.name;
    if attribute.components() != wanted.components.clamp(1, 4) {
        return Ok(Err("has another number of components than the source's".into()));
    }
    let whole = mesh.integers.iter().any(|a| a.name == *name);
    // For each component, the smallest and largest value, and the largest error.
    let mut seen = [(f64::INFINITY, f64::NEG_INFINITY, 0.0f64); 4];
    let found = each_frame(plan, mesh, wanted, &mut |frame, now| {
        for &(point, group) in of_point {
            let value = now.get(point).ok_or("has other points than its mesh")?;
            if group >= attribute.groups() {
                return Err(format!("point {point} is in no group"));
            }
            let decoded = attribute.values(group, FramePair::single(frame as u32));
            for c in 0..attribute.components() {
                let (v, (low, high, worst)) = (f64::from(value[c]), &mut seen[c]);
                (*low, *high) = (low.min(v), high.max(v));
                let error = (f64::from(decoded[c]) - v).abs();
                // A NaN is an error, too.
                *worst = if error <= *worst { *worst } else { error };
            }
        }
        Ok(())
    })?;
    if let Err(what) = found {
        return Ok(Err(what));
    }
    let mut most = 0.0f64;
    for &(low, high, worst) in &seen[..attribute.components()] {
        let asked = match plan.asked.scalar_tolerance {
            _ if whole => 0.0,
            Tolerance::Absolute(t) => t,
            Tolerance::Relative(part) => part * (high - low),
        };
        // Not finer than the precision of f32.
        let allowed = asked.max(low.abs().max(high.abs()) / f64::from(1u32 << 22));
        if worst > allowed || worst.is_nan() {
            return Ok(Err(format!("an error of {worst:e}, {allowed:e} allowed")));
        }
        most = most.max(worst);
    }
    Ok(Ok(most))
}
