//! Compares one frame: its vertices, points and triangles with those of the extracted file.

use super::comparison::{ReelComparison, is_obj};
use super::geometry::{
    AttributeKind, ExtractedFrame, FormatContents, FrameGeometry, PointOwner, PointValues, is_gltf,
};
use super::report::ExtractedFindings;
use super::{faces, triangles};
use crate::verify::kd_tree::KdTree;
use crate::verify::report::beyond;
use meshreel::FrameDecoder;
use meshreel::raw::record::StreamRecord;
use meshreel_extract::convert::ulp;
use meshreel_scene::Error;
use meshreel_scene::sample::World;

/// The largest number of coincident points examined for the values of one vertex.
const MAX_COINCIDENT_POINTS: usize = 4096;

/// The largest angle, in degrees, by which rounding turns normals if a transform scales all directions
/// equally.
const MAX_EVEN_SCALE_TURN: f64 = 1e-4;

/// Compares one frame, both ways. `time`: its time in the extracted file.
pub(super) fn compare(
    comparison: &ReelComparison<'_>,
    (number, time): (usize, f64),
    (decoder, world): (&FrameDecoder, &World<'_>),
    found: &mut ExtractedFindings,
) -> Result<(), Error> {
    let ReelComparison { scene, reel, placed, .. } = *comparison;
    let holds = FormatContents {
        particles: scene.format.starts_with("alembic") || scene.format == "usd",
        flattened: is_obj(scene),
        other_normals: &comparison.other_normals,
    };
    let decoded = FrameGeometry::from_reel(reel, decoder, &comparison.lod_triangles, holds)?;
    // Two points that are both off by as much as they may be.
    let hidden_size = comparison.expected.tolerance.filter(|_| scene.format == "openvat").map(|t| 2.0 * t);
    let moment = (time, comparison.factor);
    let extracted = ExtractedFrame::read(scene, placed, world, &comparison.loose, moment, hidden_size)?;
    let (here, there) = (KdTree::new(&decoded.points), KdTree::new(&extracted.side.points));
    let frame =
        FrameComparison { comparison, number, decoded, extracted, decoded_tree: here, extracted_tree: there };
    let near = frame.compare_vertices(found);
    frame.compare_points(found);
    if let Some(near) = near {
        frame.compare_triangles(&near, found);
    }
    Ok(())
}

/// Both sides of a frame.
struct FrameComparison<'a> {
    comparison: &'a ReelComparison<'a>,
    number: usize,
    decoded: FrameGeometry,
    extracted: ExtractedFrame<'a>,
    decoded_tree: KdTree,
    extracted_tree: KdTree,
}

/// The kind of an attribute value, its difference and the limit for that.
type ValueDifference = (AttributeKind, f64, f64);

/// Differences between the attribute values of a vertex and those of a corner.
struct CornerDifferences {
    /// The largest difference as a fraction of its limit.
    limit_fraction: f64,
    differences: Vec<ValueDifference>,
}

impl FrameComparison<'_> {
    /// Looks for a point at each vertex, and compares the attribute values of both. Returns all points that a
    /// vertex may stand for, unless too many coincide.
    fn compare_vertices(&self, found: &mut ExtractedFindings) -> Option<Vec<(u32, u32)>> {
        let (decoded, number) = (&self.decoded, self.number);
        let nodes = &self.comparison.reel.description().nodes;
        let mut lost = vec![false; nodes.len()];
        let (mut near_points, mut all_near): (Vec<(u32, u32)>, bool) = (Vec::new(), true);
        let compared = |seen: &PointOwner| !self.comparison.is_moved_by_clips(seen.owner);
        for (v, &seen) in decoded.owners.iter().enumerate().filter(|(_, seen)| compared(seen)) {
            found.report.vertices += 1;
            let (p, path) = (decoded.points[v], &nodes[seen.owner].path);
            let (distance, nearest) = self.extracted_tree.nearest(p).unwrap_or((f64::INFINITY, u32::MAX));
            let limit = self.limit(seen.owner, self.extracted.side.owners.get(nearest as usize));
            if !seen.in_area && beyond(distance, limit) {
                continue;
            }
            if !found.distance(distance, limit, path, number) {
                if !std::mem::replace(&mut lost[seen.owner], true) {
                    let what = format!(
                        "vertex {} is {distance:e} from what was extracted, {limit:e} is allowed",
                        seen.number
                    );
                    found.failures.add(path, Some(number), || what);
                }
                continue;
            }
            let from = near_points.len();
            let (_, more) = self.extracted_tree.within(p, limit, MAX_COINCIDENT_POINTS, |i| {
                near_points.push((v as u32, i));
                false
            });
            all_near &= !more;
            self.compare_values(v, &near_points[from..], limit, found);
        }
        all_near.then_some(near_points)
    }

    /// Looks for a vertex at each point.
    fn compare_points(&self, found: &mut ExtractedFindings) {
        let (decoded, side) = (&self.decoded, &self.extracted.side);
        let compared = |seen: &PointOwner| seen.in_area && !self.comparison.is_on_joints_alone(seen.owner);
        for (i, seen) in side.owners.iter().enumerate().filter(|(_, seen)| compared(seen)) {
            let (distance, nearest) =
                self.decoded_tree.nearest(side.points[i]).unwrap_or((f64::INFINITY, u32::MAX));
            let owner = decoded.owners.get(nearest as usize).map(|seen| seen.owner);
            let limit = owner.map_or(0.0, |owner| self.limit(owner, Some(seen)));
            let path = &self.comparison.placed[seen.owner].path;
            if !found.distance(distance, limit, path, self.number) {
                let what = format!(
                    "point {} is {distance:e} from what is decoded, {limit:e} is allowed",
                    seen.number
                );
                found.failures.add(path, Some(self.number), || what);
                break;
            }
        }
    }

    /// Compares triangles with faces, if all points were found.
    fn compare_triangles(&self, near: &[(u32, u32)], found: &mut ExtractedFindings) {
        let ReelComparison { rig_only, ref rigged, .. } = *self.comparison;
        if !found.failures.list.is_empty() || rig_only && !rigged.is_empty() {
            return;
        }
        let near = faces::IndexLists::new(self.decoded.points.len(), near.iter().copied());
        found.report.faces += self.decoded.faces.len() as u64;
        let (path, what) = match triangles::compare(&self.decoded, &self.extracted.side, &near) {
            None => return,
            Some(triangles::FaceDifference::Decoded(node, what)) => {
                (&self.comparison.reel.description().nodes[node].path, what)
            }
            Some(triangles::FaceDifference::Extracted(placed, what)) => {
                (&self.comparison.placed[placed].path, what)
            }
        };
        found.failures.add(path, Some(self.number), || what);
    }

    /// Returns the allowed distance of a decoded point of a node from the extracted point `seen`, if there is
    /// one.
    fn limit(&self, owner: usize, seen: Option<&PointOwner>) -> f64 {
        let description = self.comparison.reel.description();
        let node = &description.nodes[owner];
        let float =
            self.decoded.float_errors[owner] + seen.map_or(0.0, |seen| self.extracted.base_error(seen.owner));
        let moves = node.mesh.is_some_and(|m| {
            let record = &description.meshes[m as usize];
            record.method.changes() || record.streams.first().is_some_and(|s| s.animated)
        });
        let loose = seen.is_some_and(|seen| self.extracted.is_loose(seen.owner, moves));
        match self.comparison.expected.tolerance {
            Some(tolerance) => tolerance.max(float),
            None if loose => {
                let times = if self.comparison.has_rig(owner) { 2.0 } else { 1.0 };
                // Rounding to float32 comes on top: of the points, and as much of the joints or nodes that
                // move them.
                node.tolerance * times + 2.0 * float
            }
            None => float,
        }
    }

    /// Compares the values of a vertex with those of the corners at its place, at most `limit` away.
    fn compare_values(&self, v: usize, near: &[(u32, u32)], limit: f64, found: &mut ExtractedFindings) {
        let Some(mut best) = self.best_values(v, near) else { return };
        if best.limit_fraction > 1.0 {
            // Vertices of one source corner, rounded separately in the file, are extracted as one corner.
            self.decoded_tree.within(self.decoded.points[v], limit, MAX_COINCIDENT_POINTS, |other| {
                let own = Some(other as usize).filter(|other| self.is_twin(v, *other));
                let own = own.and_then(|other| self.best_values(other, near));
                if let Some(own) = own.filter(|own| own.limit_fraction <= 1.0) {
                    best = own;
                }
                best.limit_fraction <= 1.0
            });
        }
        let PointOwner { owner, number, .. } = self.decoded.owners[v];
        let path = &self.comparison.reel.description().nodes[owner].path;
        for (kind, off, limit) in best.differences {
            found.value(kind, off);
            if beyond(off, limit) {
                found.failures.add(path, Some(self.number), || {
                    format!("{} of vertex {number} is {off:e} off, {limit:e} is allowed", kind.name())
                });
            }
        }
    }

    /// Returns the differences between a vertex's values and those of the best-fitting corner at its place.
    fn best_values(&self, v: usize, near: &[(u32, u32)]) -> Option<CornerDifferences> {
        let (decoded, extracted) = (&self.decoded, &self.extracted);
        let own = &decoded.values[v];
        let mut best: Option<CornerDifferences> = None;
        let PointOwner { owner, edge, .. } = decoded.owners[v];
        for &(_, i) in near {
            let seen = &extracted.side.owners[i as usize];
            for corner in extracted.corners(i as usize) {
                let loose = extracted.is_loose(seen.owner, true);
                // If points may be off, faces may turn.
                let tolerance = self.comparison.reel.description().nodes[owner].tolerance;
                let turned = if loose { (2.0 * tolerance / edge).min(std::f64::consts::PI) } else { 0.0 };
                let turn = decoded.normal_turns[owner] + turned.to_degrees();
                let mut all = self.differences(own, corner, (loose, turn));
                all.retain(|(kind, ..)| {
                    !(decoded.changing[owner].contains(kind) && extracted.is_earlier(seen.owner, *kind))
                });
                let share = all.iter().map(|(_, off, limit)| off / limit).fold(0.0, f64::max);
                if best.as_ref().is_none_or(|best| share < best.limit_fraction) {
                    best = Some(CornerDifferences { limit_fraction: share, differences: all });
                }
            }
            if best.as_ref().is_some_and(|best| best.limit_fraction == 0.0) {
                break;
            }
        }
        best
    }

    /// `true` if the values of two vertices of one mesh may be those of one source corner: each within the
    /// tolerances of the file.
    fn is_twin(&self, v: usize, other: usize) -> bool {
        let (decoded, description) = (&self.decoded, self.comparison.reel.description());
        let owner = decoded.owners[v].owner;
        let Some(mesh) = description.nodes[owner].mesh else { return false };
        let streams = &description.meshes[mesh as usize].streams;
        let tolerance = |kind: AttributeKind| {
            let of_kind = |s: &&StreamRecord| kind.is_of(s.semantic);
            streams.iter().filter(of_kind).map(|s| s.tolerance).fold(0.0, f64::max)
        };
        let (a, b) = (&decoded.values[v], &decoded.values[other]);
        v != other
            && decoded.owners[other].owner == owner
            && a.len() == b.len()
            && a.iter().zip(b).all(|((kind, a), (_, b))| {
                // Transforms of uneven scale turn some normals farther apart.
                let even = decoded.normal_turns[owner] <= MAX_EVEN_SCALE_TURN;
                kind.distance(a, b) <= 2.0 * tolerance(*kind) || *kind == AttributeKind::Normal && !even
            })
    }

    /// Returns difference and limit of each attribute value. `loose`: the extracted file was quantized or is
    /// a skin. `turn`: the angle by which normals may be off because of their transform.
    fn differences(
        &self,
        own: &PointValues,
        there: &PointValues,
        (loose, turn): (bool, f64),
    ) -> Vec<ValueDifference> {
        let mut out = Vec::new();
        for (kind, a) in own {
            let Some((_, b)) = there.iter().find(|(other, _)| other == kind) else { continue };
            let clamped;
            let a = match kind {
                // Colours of a glTF are limited to 0..=1.
                AttributeKind::Colour(_) if is_gltf(self.comparison.scene) => {
                    clamped = a.iter().map(|v| v.clamp(0.0, 1.0)).collect();
                    &clamped
                }
                _ => a,
            };
            let largest = a.iter().chain(b).fold(1.0f64, |most, v| most.max(v.abs()));
            let off = match kind {
                AttributeKind::Colour(_) if is_obj(self.comparison.scene) => kind.distance(&a[..3], b),
                _ => kind.distance(a, b),
            };
            // The least that compressed files keep: 8-bit octahedral normals, 12 bits of a texture's width.
            let limit = match kind {
                AttributeKind::Normal if loose => 2.0 + turn,
                AttributeKind::Normal => 0.05 + turn,
                AttributeKind::Uv(_) if loose => largest / 4096.0,
                AttributeKind::Colour(_) if loose => largest / 254.0,
                _ => 8.0 * ulp(largest),
            };
            out.push((*kind, off, limit));
        }
        out
    }
}
