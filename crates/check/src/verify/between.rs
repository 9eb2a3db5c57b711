//! Compares what a player shows between frames with the source. Players move points along lines and turn
//! nodes along chords, by the rules of `meshreel::FrameView`; a source may define other motion. If it does,
//! the file may have frames between the source's samples, and promises a multiple of the tolerance; otherwise
//! the error is only reported.
//!
//! Left out are the times between two named ranges and before a step, meshes whose faces change or that have
//! no source map, and meshes hidden in one of the two frames.

use crate::requested::{RequestedOptions, RigMode};
use crate::verify::meshes::vector;
use crate::verify::plan::{BetweenFrames, FilePlacement, Findings, FrameState, MeshPair, Verification, fail};
use crate::verify::polygons::is_usable;
use crate::verify::report::{beyond, larger};
use crate::verify::source_transforms::SourceTransforms;
use crate::verify::survey::{Survey, transform_point};
use glam::{DMat4, DQuat, DVec3};
use meshreel::{FrameDecoder, Transform};
use meshreel_extract::convert;
use meshreel_scene::rig::is_driven;
use meshreel_scene::sample;
use meshreel_scene::{Error, Mesh};
use std::collections::HashSet;

/// Positions between two frames that are compared. A turn on a chord is right in the middle, but not beside
/// it.
const COMPARED_FRACTIONS: [f32; 3] = [0.25, 0.5, 0.75];

impl BetweenFrames {
    pub fn new(
        survey: &Survey<'_>,
        asked: &RequestedOptions,
        frames: &[Option<usize>],
        shows: &[Option<FilePlacement>],
        units: &[MeshPair],
    ) -> BetweenFrames {
        let (scene, placed) = (survey.scene, &survey.placed);
        let moves = |i: usize| {
            let mut at = Some(i);
            std::iter::from_fn(|| {
                let i = at?;
                at = placed[i].parent;
                Some(i)
            })
            .any(|i| {
                let transform = scene.nodes[placed[i].node].transform.as_ref();
                transform.is_some_and(|t| !t.local.is_constant())
            })
        };
        let mut placements = vec![None; survey.placements.len()];
        for unit in units {
            if unit.exact.is_none() || unit.is_remeshed || unit.has_wrong_map {
                continue;
            }
            for &p in unit.placements.iter().filter(|p| shows[**p].is_some()) {
                let place = &survey.placements[p];
                let bends = sample::has_own_interpolation(scene, placed, place.placed);
                if bends || moves(place.placed) {
                    let rig = asked.rig == RigMode::Allowed && is_driven(&scene.meshes[place.mesh]);
                    placements[p] = Some(bends && !rig);
                }
            }
        }
        let looked = |unit: &MeshPair| unit.placements.iter().any(|p| placements[*p].is_some());
        let ranges = sample::frame_ranges(&scene.ranges, &survey.times);
        let starts: HashSet<usize> = ranges.iter().map(|(_, first, _)| *first).collect();
        let time = |frame: Option<usize>| frame.map(|frame| survey.times[frame]);
        let pair = |i: usize| {
            let (from, to) = (time(*frames.get(i.checked_sub(1)?)?)?, time(frames[i])?);
            let starts = frames[i].is_some_and(|frame| starts.contains(&frame));
            (!starts && !sample::is_step(from, to)).then_some(())
        };
        BetweenFrames {
            mesh_pairs: units.iter().map(looked).collect(),
            pairs: (0..frames.len()).map(|i| pair(i).is_some()).collect(),
            placements,
        }
    }

    /// `true` if a frame must be kept until the next.
    pub fn keeps_previous_frame(&self) -> bool {
        self.mesh_pairs.contains(&true)
    }

    /// Compares players and source between two frames.
    pub fn compare(
        &self,
        plan: &Verification<'_>,
        source: &mut SourceTransforms<'_>,
        from: &FrameState,
        to: &FrameState,
        found: &mut Findings,
    ) -> Result<(), Error> {
        if from.frame + 1 != to.frame || !self.pairs[to.frame] {
            return Ok(());
        }
        let time = |seen: &FrameState| plan.frames[seen.frame].map(|frame| plan.survey.times[frame]);
        let (Some(start), Some(end)) = (time(from), time(to)) else {
            return Ok(());
        };
        let mut worst: Vec<Option<f64>> = vec![None; self.placements.len()];
        for place in COMPARED_FRACTIONS {
            let time = start + (end - start) * f64::from(place);
            source.evaluate(time)?;
            let shown =
                InterpolatedFrame { from, to, fraction: place, time, world: worlds(plan, from, to, place) };
            self.measure(plan, source, &shown, &mut worst)?;
        }
        self.judge(plan, from.frame, &worst, found);
        Ok(())
    }

    /// Measures the largest distance between players and source at one time. `worst`: the largest so far, by
    /// placement.
    fn measure(
        &self,
        plan: &Verification<'_>,
        moment: &SourceTransforms<'_>,
        shown: &InterpolatedFrame<'_>,
        worst: &mut [Option<f64>],
    ) -> Result<(), Error> {
        let &InterpolatedFrame { from, to, fraction: place, time, ref world } = shown;
        let mut points = Vec::new();
        for (u, unit) in plan.mesh_pairs.iter().enumerate().filter(|(u, _)| self.mesh_pairs[*u]) {
            let (a, b) = (&from.positions[u], &to.positions[u]);
            let ends = [&from.points[u], &to.points[u]];
            let Some(exact) = unit
                .exact
                .as_ref()
                .filter(|exact| a.len() == b.len() && a.len() == 3 * exact.vertex_point.len())
            else {
                continue;
            };
            let mesh = &plan.survey.scene.meshes[unit.mesh];
            let facts = plan.survey.meshes[unit.mesh].as_ref();
            let constant = facts.and_then(|facts| facts.constant.as_deref());
            let source = match constant {
                Some(points) => points,
                None => {
                    source_points(mesh, time, ends, place, &mut points)?;
                    &points
                }
            };
            if source.len() != exact.polygons.points {
                continue;
            }
            let deforms = plan.reel.description().meshes[unit.record].method.deforms();
            for &p in &unit.placements {
                let both = from.visible[p] && to.visible[p] && self.placements[p].is_some();
                let Some(show) = plan.file_placements[p].as_ref().filter(|_| both) else {
                    continue;
                };
                let matrix = &moment.matrix[plan.survey.placements[p].placed];
                if !matrix.is_finite() {
                    continue;
                }
                let shown = &world[show.node];
                let far = |(v, &point): (usize, &u32)| {
                    let point = point as usize;
                    let own = source[point];
                    // From or to a damaged point of a frame no motion is defined.
                    if !is_usable(own)
                        || ends.iter().any(|end| end.get(point).is_some_and(|p| !is_usable(*p)))
                    {
                        return 0.0;
                    }
                    let at = match deforms {
                        true => {
                            let blend = |k: usize| a[k] + (b[k] - a[k]) * place;
                            let [x, y, z] = [3 * v, 3 * v + 1, 3 * v + 2].map(blend);
                            DVec3::new(x.into(), y.into(), z.into())
                        }
                        false => vector(a, v),
                    };
                    let right = matrix.transform_point3(convert::vector(own));
                    (transform_point(shown, at) - right).length()
                };
                let all = exact.vertex_point.iter().enumerate().map(far);
                let most = all.fold(0.0, |m, d| if beyond(d, m) { d } else { m });
                worst[p] = larger(worst[p], Some(most));
            }
        }
        Ok(())
    }

    /// Adds the largest distances to the statistics, and a failure for those beyond the file's promise.
    fn judge(&self, plan: &Verification<'_>, frame: usize, worst: &[Option<f64>], found: &mut Findings) {
        for (p, worst) in worst.iter().enumerate() {
            let Some(worst) = *worst else { continue };
            let stats = &mut found.stats[p];
            stats.between = larger(stats.between, Some(worst));
            let promised = plan.asked.between.filter(|_| self.placements[p] == Some(true));
            if let (Some(multiple), Some(show)) = (promised, &plan.file_placements[p])
                && beyond(worst, multiple * show.tolerance * (1.0 + 1e-6))
            {
                let what = format!(
                    "between this frame and the next players are {worst:e} away from the source, {multiple} times {:e} is allowed",
                    show.tolerance
                );
                fail(plan, found, p, frame, what);
            }
        }
    }
}

/// The state that players show between two frames.
struct InterpolatedFrame<'a> {
    from: &'a FrameState,
    to: &'a FrameState,
    /// Position between the frames, 0 to 1.
    fraction: f32,
    /// Time of the source in seconds.
    time: f64,
    /// For each node of the file, object to world as players compute it, by rows.
    world: Vec<[[f64; 4]; 3]>,
}

/// Returns the source's points: those that it defines itself, else on lines from one frame to the next.
fn source_points(
    mesh: &Mesh,
    time: f64,
    [from, to]: [&Vec<[f32; 3]>; 2],
    place: f32,
    out: &mut Vec<[f32; 3]>,
) -> Result<(), Error> {
    if mesh.positions.has_own_interpolation() {
        return sample::positions_at(mesh, time, out);
    }
    out.clear();
    if from.len() == to.len() {
        let pairs = from.iter().zip(to);
        let mix = |(a, b): (&[f32; 3], &[f32; 3])| sample::Lerp::lerp(*a, *b, f64::from(place));
        out.extend(pairs.map(mix));
    }
    Ok(())
}

impl FrameState {
    /// Takes visibility and transforms from a decoded frame; positions are still missing.
    pub fn new(plan: &Verification<'_>, decoder: &FrameDecoder, frame: usize) -> FrameState {
        let nodes = plan.reel.description().nodes.len();
        let expected = plan.frames[frame];
        let visible = plan.file_placements.iter().enumerate().map(|(p, show)| {
            let own = expected.is_some_and(|i| plan.survey.placements[p].visible.get(i));
            own && show.as_ref().is_some_and(|show| decoder.visible(show.node))
        });
        FrameState {
            frame,
            visible: visible.collect(),
            local: (0..nodes).map(|node| decoder.transform(node)).collect(),
            positions: vec![Vec::new(); plan.mesh_pairs.len()],
            points: vec![Vec::new(); plan.mesh_pairs.len()],
        }
    }

    /// Keeps the positions of a unit, if it is compared between frames.
    pub fn keep_positions(
        &mut self,
        plan: &Verification<'_>,
        unit: usize,
        positions: Vec<f32>,
        points: Vec<[f32; 3]>,
    ) {
        if plan.between.mesh_pairs[unit] {
            self.positions[unit] = positions;
            self.points[unit] = points;
        }
    }
}

/// Returns object to world of all nodes between two frames, as players compute it.
fn worlds(plan: &Verification<'_>, from: &FrameState, to: &FrameState, place: f32) -> Vec<[[f64; 4]; 3]> {
    let nodes = &plan.reel.description().nodes;
    let mut out: Vec<DMat4> = Vec::with_capacity(nodes.len());
    for (n, node) in nodes.iter().enumerate() {
        let own = interpolate_as_player(&from.local[n], &to.local[n], f64::from(place));
        let above = node.parent.map(|parent| out[parent as usize]);
        out.push(above.map_or(own, |above| above * own));
    }
    let rows = |m: DMat4| std::array::from_fn(|r| m.row(r).to_array());
    out.into_iter().map(rows).collect()
}

/// Returns the transform that players show between two others: translation and scale are interpolated
/// linearly, rotations linearly by the shorter way and normalized; if one of the two is scaled to nothing,
/// the first one holds.
fn interpolate_as_player(from: &Transform, to: &Transform, place: f64) -> DMat4 {
    let rotation = |t: &Transform| match DQuat::from_array(t.rotation.map(f64::from)) {
        q if q.length_squared() > 0.0 && q.is_finite() => q.normalize(),
        _ => DQuat::IDENTITY,
    };
    let nothing = from.scale == [0.0; 3] || to.scale == [0.0; 3];
    let (place, a, b) = (if nothing { 0.0 } else { place }, rotation(from), rotation(to));
    let near = if a.dot(b) < 0.0 { -b } else { b };
    let turned = a * (1.0 - place) + near * place;
    DMat4::from_scale_rotation_translation(
        convert::vector(from.scale).lerp(convert::vector(to.scale), place),
        match turned.length_squared() > 1e-12 {
            true => turned.normalize(),
            false => a,
        },
        convert::vector(from.translation).lerp(convert::vector(to.translation), place),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_the_shorter_way_on_the_chord() {
        let turned = |angle: f64| Transform {
            rotation: DQuat::from_rotation_z(angle).to_array().map(|v| v as f32),
            ..Transform::IDENTITY
        };
        let opposite = |mut t: Transform| {
            t.rotation = t.rotation.map(|v| -v);
            t
        };
        let (a, b) = (turned(0.0), turned(1.5));
        let half = DMat4::from_rotation_z(0.75);
        for b in [b, opposite(b)] {
            assert!(interpolate_as_player(&a, &b, 0.5).abs_diff_eq(half, 1e-6));
        }
        let even = DMat4::from_rotation_z(0.375);
        let quarter = interpolate_as_player(&a, &b, 0.25);
        assert!(!quarter.abs_diff_eq(even, 1e-2) && quarter.abs_diff_eq(even, 3e-2));
        let gone = Transform { scale: [0.0; 3], ..b };
        assert!(interpolate_as_player(&b, &gone, 0.5).abs_diff_eq(DMat4::from_rotation_z(1.5), 1e-6));
    }
}
