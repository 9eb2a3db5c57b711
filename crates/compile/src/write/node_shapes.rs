//! Shapes below moving nodes: the points by which transforms are chosen and measured, and the track that
//! moves them.

use crate::mesh::plan::MeshPlan;
use crate::nodes::flatten::FlatNode;
use crate::nodes::matrix::{IDENTITY, Matrix, corners, outermost, product};
use crate::with_quantized;
use crate::write::job::Job;
use meshreel_codec::quantize;
use meshreel_codec::record::Method;
use meshreel_codec::transform::Transform;

/// The largest number of vertices of a still mesh that are checked one by one; of more, the corners of their
/// box are.
const MAX_CHECKED_VERTICES: usize = 4096;

/// A placement of a mesh, or a locator, below something that moves.
pub struct MovedShape {
    pub node: usize,
    /// Index of the placed object.
    pub placed: usize,
    /// `true` for a locator, which is checked in all frames, visible or not.
    pub is_locator: bool,
    /// Decoded vertices, or the corners of their box; for a locator, of its cube.
    pub points: Vec<[f64; 3]>,
    /// The points that lie outermost.
    pub outermost: Vec<[f64; 3]>,
    /// The largest distance by which transforms may move a point.
    pub limit: f64,
    /// The same if the rounding of other transforms adds to it.
    pub room: f64,
    /// The track that moves it.
    pub track: usize,
    /// The product of still transforms between that track and its node.
    pub between: Matrix,
}

/// Returns the nearest track at or above a node, and the product of still transforms between it and the node.
pub fn track_above(
    nodes: &[FlatNode],
    rest: &[Transform],
    track_of: &[Option<usize>],
    mut node: usize,
) -> (Option<usize>, Matrix) {
    let mut between = IDENTITY;
    loop {
        if let Some(track) = track_of[node] {
            return (Some(track), between);
        }
        between = product(&rest[node].matrix(), &between);
        match nodes[node].parent {
            Some(parent) => node = parent,
            None => return (None, between),
        }
    }
}

/// Returns the meshes that have points and the locators at or below moving nodes, in the order of the nodes.
pub fn moved_shapes(job: &Job, rest: &[Transform], track_of: &[Option<usize>]) -> Vec<MovedShape> {
    let mut plan_of = vec![None; job.content.placed.len()];
    for (m, (_, placements)) in job.plans.iter().enumerate() {
        placements.iter().for_each(|&i| plan_of[i] = Some(m));
    }
    let mut out = Vec::new();
    for (n, node) in job.nodes.iter().enumerate() {
        let plan = node.mesh.and_then(|i| plan_of[i]);
        let placed = match (node.visible_object(), plan) {
            (Some(placed), Some(m)) if job.plans[m].0.prepared.scan.points > 0 => placed,
            (Some(placed), None) if node.half_size.is_some() => placed,
            _ => continue,
        };
        let (Some(above), between) = track_above(&job.nodes, rest, track_of, n) else {
            continue;
        };
        let budget = &job.tolerances[placed];
        let (points, own) = match (plan, node.half_size) {
            (Some(m), _) => checked_points(&job.plans[m].0),
            (None, reach) => {
                let reach = f64::from(reach.unwrap_or(0.0));
                (corners([-reach; 3], [reach; 3]), 0.0)
            }
        };
        // The verification's own result differs from this by less.
        let limit = (budget.tolerance - budget.scale * own) * (1.0 - 1e-6);
        out.push(MovedShape {
            node: n,
            placed,
            is_locator: node.half_size.is_some(),
            outermost: outermost(&points),
            points,
            limit,
            room: (limit - budget.transform_error).max(limit * 1e-3),
            track: above,
            between,
        });
    }
    out
}

/// Returns the points that represent a mesh, in its space, and the error of their quantization.
fn checked_points(plan: &MeshPlan) -> (Vec<[f64; 3]>, f64) {
    let mut points = Vec::new();
    let mut own = plan.error_bound;
    let few = plan.method == Method::Static
        && plan.bases.first().is_some_and(|b| b.len() <= 3 * MAX_CHECKED_VERTICES);
    if let (true, Some(base), Some(record)) = (few, plan.bases.first(), plan.streams.first()) {
        let mut values = vec![[0.0f32; 3]; base.len() / 3];
        with_quantized!(base, v => quantize::dequantize(&record.axes, v, values.as_flattened_mut()));
        values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        values.dedup();
        points.extend(values.iter().map(|v| v.map(f64::from)));
        own = plan.static_error.first().copied().unwrap_or(own);
    } else {
        let b = plan.bounds().map(f64::from);
        points = corners([b[0], b[1], b[2]], [b[3], b[4], b[5]]);
    }
    (points, own)
}
