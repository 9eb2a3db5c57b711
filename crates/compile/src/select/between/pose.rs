//! Evaluates the source at a time, and the interpolation of players between two frames.

use super::items::{BetweenRequest, DeviatingItem, DeviatingItems, ItemPoints};
use crate::Error;
use crate::nodes::flatten::FlatNode;
use crate::nodes::tracks::decompose_local;
use glam::{DMat4, DVec3};
use meshreel_process::extent::is_usable_point;
use meshreel_process::trs::{Trs, align};
use meshreel_scene::sample::{World, last_time_before};
use meshreel_scene::{MeshId, sample};

/// The largest number of parts of the time between two samples.
pub(super) const MAX_PARTS: usize = 16;
/// Places between two frames that are measured, the usually worst one first. For rotations along a chord the
/// middle is exact and the places beside it are not.
const MEASURED_PLACES: [f64; 3] = [0.5, 0.25, 0.75];
/// The least ratio of the distance of a step to the motion in the equal time right before it.
const MIN_STEP_RATIO: f64 = 4.0;

/// The deviation of players between two frames.
#[derive(Clone, Copy, Default)]
pub(super) struct PairDeviation {
    /// The largest distance between the frames, in tolerances.
    pub(super) largest: f64,
    /// `true` if something changes at once at the second frame.
    pub(super) step: bool,
    /// The largest distance up to right before that step, in tolerances.
    pub(super) before_step: f64,
}

/// The source at a time.
pub(super) struct SourcePose {
    pub(super) time: f64,
    /// By item, its matrix to world space.
    pub(super) world: Vec<DMat4>,
    /// By node of the file, its local transform.
    pub(super) parts: Vec<Trs>,
    /// By mesh whose points move, its points.
    pub(super) points: Vec<Vec<[f32; 3]>>,
    /// By item, `true` if it is visible.
    pub(super) visible: Vec<bool>,
}

impl SourcePose {
    /// Returns `true` if an item is visible in both of two frames.
    pub(super) fn both_visible(&self, to: &SourcePose, item: usize) -> bool {
        self.visible[item] && to.visible[item]
    }
}

/// One thread's view of the source.
pub(super) struct PoseReader<'a> {
    pub(super) given: &'a BetweenRequest<'a>,
    pub(super) items: &'a DeviatingItems,
    pub(super) world: World<'a>,
}

impl<'a> PoseReader<'a> {
    pub(super) fn new(
        given: &'a BetweenRequest<'a>,
        items: &'a DeviatingItems,
    ) -> Result<PoseReader<'a>, Error> {
        Ok(PoseReader { given, items, world: World::new(given.scene, given.placed)? })
    }

    /// Evaluates the frame at a time. `previous`: the nodes of the frame before.
    pub(super) fn frame_pose(&mut self, time: f64, previous: Option<&[Trs]>) -> Result<SourcePose, Error> {
        let parts = self.node_transforms(time, previous)?;
        Ok(SourcePose { time, parts, ..self.source_pose(time)? })
    }

    /// Evaluates the source at a time, without the nodes of the file.
    pub(super) fn source_pose(&mut self, time: f64) -> Result<SourcePose, Error> {
        self.world.evaluate(time)?;
        let items = self.items;
        let points = |mesh: &MeshId| {
            let mut points = Vec::new();
            sample::positions_at(&self.given.scene.meshes[*mesh], time, &mut points)?;
            Ok(points)
        };
        Ok(SourcePose {
            time,
            world: (items.list.iter()).map(|item| self.world.matrix[item.placed]).collect(),
            visible: (items.list.iter()).map(|item| self.world.visible[item.placed]).collect(),
            parts: Vec::new(),
            points: items.meshes.iter().map(points).collect::<Result<_, Error>>()?,
        })
    }

    /// Evaluates a time and returns the decomposed transforms of the nodes, as [`NodeTracks`] has them.
    pub(super) fn node_transforms(&mut self, time: f64, previous: Option<&[Trs]>) -> Result<Vec<Trs>, Error> {
        self.world.evaluate(time)?;
        let nodes = self.items.nodes.iter().zip(&self.items.needed).enumerate();
        let parts = |(n, (node, needed)): (usize, (&FlatNode, &bool))| {
            let before = previous.map(|all| &all[n]);
            match needed {
                true => decompose_local(&node.local_transform(&self.world), before)
                    .or(before.copied())
                    .unwrap_or(Trs::IDENTITY),
                false => Trs::IDENTITY,
            }
        };
        Ok(nodes.map(parts).collect())
    }

    /// Evaluates the frame of a number. `last`: an earlier frame.
    pub(super) fn later_frame(
        &mut self,
        last: Option<SourcePose>,
        times: &[f64],
        frame: usize,
    ) -> Result<SourcePose, Error> {
        let mut parts = last.as_ref().map(|last| last.parts.clone());
        if !self.items.steady {
            let start = last.map_or(0, |last| times.partition_point(|time| *time <= last.time));
            for &time in &times[start..frame] {
                parts = Some(self.node_transforms(time, parts.as_deref())?);
            }
        }
        self.frame_pose(times[frame], parts.as_deref())
    }

    /// Measures the deviation between two frames.
    pub(super) fn measure_pair(
        &mut self,
        from: &SourcePose,
        to: &SourcePose,
        allowed: f64,
    ) -> Result<PairDeviation, Error> {
        let whole = self.deviation(from, to, f64::INFINITY)?;
        let mut pair = PairDeviation { largest: whole, step: false, before_step: whole };
        let before = last_time_before(to.time);
        let vanishes = |k: usize| from.visible[k] && !to.visible[k];
        let some_vanish = self.given.add && (0..self.items.list.len()).any(vanishes);
        if !(some_vanish || whole > allowed) || before - from.time <= 0.5 * (to.time - from.time) {
            return Ok(pair);
        }
        let pose = self.frame_pose(before, Some(&from.parts))?;
        // A vanishing object stands still until then, unless a frame right before that shows where it went.
        let left = if some_vanish { self.pose_distance(from, &pose, vanishes) } else { 0.0 };
        let moved = |a: &SourcePose, b: &SourcePose| self.pose_distance(a, b, |k| pose.both_visible(to, k));
        let jump = if whole > allowed { moved(&pose, to) } else { 0.0 };
        // Equally fast motion before it means that it is no step.
        let fast = match jump > allowed {
            true => Some(self.frame_pose(2.0 * before - to.time, Some(&from.parts))?),
            false => None,
        };
        let moved = |a: &SourcePose, b: &SourcePose| self.pose_distance(a, b, |k| pose.both_visible(to, k));
        if left > allowed || fast.is_some_and(|fast| jump > MIN_STEP_RATIO * moved(&fast, &pose)) {
            pair.step = true;
            pair.largest = whole.max(left);
            pair.before_step = self.deviation(from, &pose, f64::INFINITY)?;
        }
        Ok(pair)
    }

    /// Returns times between two frames such that no deviation exceeds `allowed`, and the remaining
    /// deviation.
    pub(super) fn divide(
        &mut self,
        from: &SourcePose,
        to: &SourcePose,
        pair: PairDeviation,
        allowed: f64,
    ) -> Result<(Vec<f64>, f64), Error> {
        let mut added = Vec::new();
        let (mut off, mut end) = (pair.before_step, None);
        if pair.step {
            let before = last_time_before(to.time);
            added.push(before);
            end = Some(self.frame_pose(before, Some(&from.parts))?);
        }
        let to = end.as_ref().unwrap_or(to);
        let mut parts = 1usize;
        while off > allowed && parts < MAX_PARTS {
            let more = (off / allowed).sqrt().min(MAX_PARTS as f64);
            parts = ((parts as f64 * more).ceil() as usize).clamp(parts + 1, MAX_PARTS);
            off = 0.0;
            // At the last try the remaining deviation must be known exactly.
            let enough = if parts < MAX_PARTS { allowed } else { f64::INFINITY };
            let mut last: Option<SourcePose> = None;
            for part in 1..=parts {
                let before = last.as_ref().unwrap_or(from);
                let next = match part == parts {
                    true => None,
                    false => Some(
                        self.frame_pose(divided_time(from.time, to.time, part, parts), Some(&before.parts))?,
                    ),
                };
                let pair = (last.as_ref().unwrap_or(from), next.as_ref().unwrap_or(to));
                off = off.max(self.deviation(pair.0, pair.1, enough)?);
                last = next;
                if off > enough {
                    break;
                }
            }
        }
        added.extend((1..parts).map(|part| divided_time(from.time, to.time, part, parts)));
        Ok((added, off))
    }

    /// Returns the largest distance, in tolerances, between the source and the interpolation of two poses;
    /// measures only the first places if the distance there exceeds `enough`.
    pub(super) fn deviation(
        &mut self,
        from: &SourcePose,
        to: &SourcePose,
        enough: f64,
    ) -> Result<f64, Error> {
        let mut worst = 0.0f64;
        for place in MEASURED_PLACES {
            if worst > enough {
                break;
            }
            let own = self.source_pose(from.time + (to.time - from.time) * place)?;
            let ways = self.player_matrices(from, to, place);
            let list = self.items.list.iter().enumerate();
            for (k, item) in list.filter(|(k, _)| from.both_visible(to, *k)) {
                let far =
                    |shown: &Vec<Option<DMat4>>| item_deviation([from, &own, to], place, (k, item), shown[k]);
                let far = ways.iter().map(far).fold(0.0, f64::max);
                // Damaged transforms give NaN or infinity, and have no guarantee.
                if far.is_finite() && item.tolerance > 0.0 {
                    worst = worst.max(far / item.tolerance);
                }
            }
        }
        Ok(worst)
    }

    /// Returns, by item, the matrix from its points to world space in a player, `None` if they are in world
    /// space; a second list has half turns that go the other way.
    pub(super) fn player_matrices(
        &self,
        from: &SourcePose,
        to: &SourcePose,
        place: f64,
    ) -> Vec<Vec<Option<DMat4>>> {
        let nodes = || from.parts.iter().zip(&to.parts).zip(&self.items.half_turn);
        let either = |((a, b), near): ((&Trs, &Trs), &f64)| a.rotation.dot(b.rotation).abs() < *near;
        let way = |other: bool| {
            let local = |(pair, near)| {
                let (a, b): (&Trs, &Trs) = pair;
                interpolate(a, b, place, other && either((pair, near)))
            };
            let local: Vec<DMat4> = nodes().map(local).collect();
            let of = |item: &DeviatingItem| {
                let nodes = item.nodes.iter();
                (!item.nodes.is_empty()).then(|| nodes.fold(DMat4::IDENTITY, |above, n| above * local[*n]))
            };
            self.items.list.iter().map(of).collect()
        };
        match nodes().any(either) {
            true => vec![way(false), way(true)],
            false => vec![way(false)],
        }
    }

    /// Returns the largest distance of two poses, in tolerances, over the items that are `wanted`.
    pub(super) fn pose_distance(
        &self,
        a: &SourcePose,
        b: &SourcePose,
        wanted: impl Fn(usize) -> bool,
    ) -> f64 {
        let mut worst = 0.0f64;
        for (k, item) in self.items.list.iter().enumerate().filter(|(k, _)| wanted(*k)) {
            let (m, n) = (&a.world[k], &b.world[k]);
            let far = match &item.points {
                ItemPoints::Constant(corners) => {
                    let far = |p: &DVec3| m.transform_point3(*p).distance(n.transform_point3(*p));
                    corners.iter().map(far).fold(0.0, f64::max)
                }
                &ItemPoints::Moving(mesh) => {
                    let pairs = a.points[mesh].iter().zip(&b.points[mesh]);
                    let far = |(p, q): (&[f32; 3], &[f32; 3])| {
                        if !(is_usable_point(p) && is_usable_point(q)) {
                            return 0.0;
                        }
                        let at = m.transform_point3(vector(p));
                        at.distance(n.transform_point3(vector(q)))
                    };
                    pairs.map(far).fold(0.0, f64::max)
                }
            };
            if far.is_finite() && item.tolerance > 0.0 {
                worst = worst.max(far / item.tolerance);
            }
        }
        worst
    }
}

pub(super) fn divided_time(from: f64, to: f64, part: usize, parts: usize) -> f64 {
    from + (to - from) * part as f64 / parts as f64
}

pub(super) fn vector(p: &[f32; 3]) -> DVec3 {
    DVec3::from_array(p.map(f64::from))
}

/// Returns the largest distance between `own`, the source at a place between two frames, and the interpolated
/// item; `shown` takes its points to world space.
pub(super) fn item_deviation(
    [from, own, to]: [&SourcePose; 3],
    place: f64,
    (k, item): (usize, &DeviatingItem),
    shown: Option<DMat4>,
) -> f64 {
    let at = |a: DVec3, b: DVec3| match &shown {
        Some(matrix) => matrix.transform_point3(a.lerp(b, place)),
        None => from.world[k].transform_point3(a).lerp(to.world[k].transform_point3(b), place),
    };
    let far = |a, b, p| own.world[k].transform_point3(p).distance_squared(at(a, b));
    let most = match &item.points {
        ItemPoints::Constant(corners) => corners.iter().map(|p| far(*p, *p, *p)).fold(0.0, f64::max),
        &ItemPoints::Moving(mesh) => {
            let ends = from.points[mesh].iter().zip(&to.points[mesh]);
            let far = |((a, b), p): ((&[f32; 3], &[f32; 3]), &[f32; 3])| match is_usable_point(a)
                && is_usable_point(b)
                && is_usable_point(p)
            {
                true => far(vector(a), vector(b), vector(p)),
                false => 0.0,
            };
            ends.zip(&own.points[mesh]).map(far).fold(0.0, f64::max)
        }
    };
    most.sqrt()
}

/// Returns the transform that a player interpolates between two transforms of a node; `other` takes the
/// longer way.
pub(super) fn interpolate(from: &Trs, to: &Trs, place: f64, other: bool) -> DMat4 {
    let nothing = |t: &Trs| t.scale == DVec3::ZERO;
    if from == to || nothing(from) || nothing(to) {
        return from.matrix();
    }
    let near = align(from.rotation, to.rotation);
    let turned = from.rotation * (1.0 - place) + if other { -near } else { near } * place;
    let rotation = match turned.length_squared() > 1e-12 {
        true => turned.normalize(),
        false => from.rotation,
    };
    let between = Trs {
        rotation,
        translation: from.translation.lerp(to.translation, place),
        scale: from.scale.lerp(to.scale, place),
    };
    between.matrix()
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    /// Interpolated as by `meshreel::interpolate`: the middle of a rotation is exact, a quarter is not.
    #[test]
    fn nodes_turn_on_the_chord() {
        let (a, b) = (Trs::IDENTITY, Trs { rotation: DQuat::from_rotation_z(1.5), ..Trs::IDENTITY });
        let blend = |place| interpolate(&a, &b, place, false);
        assert!(blend(0.5).abs_diff_eq(DMat4::from_rotation_z(0.75), 1e-12));
        let quarter = blend(0.25);
        let even = DMat4::from_rotation_z(0.375);
        assert!(!quarter.abs_diff_eq(even, 1e-2) && quarter.abs_diff_eq(even, 3e-2));
    }
}
