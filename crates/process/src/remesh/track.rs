//! Moves a fixed mesh from the surface of one frame to that of the next, and measures the fit.
//!
//! Vertices are drawn to the nearest place of the new surface that faces the same way, but only across it:
//! their motion along it is determined by their neighbours, since the field of displacements must be smooth.
//! It is stiff at first and softens from round to round. In the end every vertex is projected onto the
//! surface. Vertices of borders and sharp edges are drawn to lines, corners to corners.
//!
//! ```text
//! for λ in stiff … soft
//!     c, A ← nearest place of each vertex, and the directions in which it counts
//!     d    ← arg min  Σ (x + d − c)ᵀ A (x + d − c)  +  λ Σ |d_v − d_w|²  over edges        conjugate gradients
//! x ← nearest place of x + d
//! ```
//!
//! After N. Amberg, S. Romdhani, T. Vetter, *Optimal step nonrigid ICP algorithms for surface registration*,
//! 2007, with planes (Y. Chen, G. Medioni,
//! 1992) in place of points.

use super::surface::{self, NearestPoint, Surface, TriangleTree};
use super::template::{Feature, Template};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Stiffness: the weight of differences between displacements of neighbours, by round.
const STIFFNESS: [f64; 7] = [30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03];

/// The number of conjugate-gradient steps in a round.
const DESCENTS: usize = 25;

/// The weight of displacements along the surface.
const TANGENTIAL_WEIGHT: f64 = 1e-3;

/// The least cosine between the normals of matching surfaces.
const FACING: f64 = 0.2;

/// The largest distance of a line or corner to which vertices are drawn, in edge lengths.
const MAX_FEATURE_DISTANCE: f64 = 3.0;

/// The number of rounds in which folds are smoothed out.
const UNFOLDINGS: usize = 12;

/// The number of elements of a job.
const CHUNK: usize = 512;

/// The target of a vertex.
struct VertexTarget {
    /// Offset from its initial position.
    offset: DVec3,
    weight: DMat3,
}

/// Moves `template` from `from` onto `surface`; `ahead` is the extrapolation of its motion.
pub fn track_step(
    template: &Template,
    from: &[DVec3],
    ahead: Option<&[DVec3]>,
    surface: &Surface,
) -> Vec<DVec3> {
    let mut ways: Vec<DVec3> = match ahead {
        Some(ahead) => ahead.iter().zip(from).map(|(a, b)| *a - *b).collect(),
        None => vec![DVec3::ZERO; from.len()],
    };
    let reach = lengths(template, from);
    let mut place: Vec<DVec3> = from.iter().zip(&ways).map(|(p, d)| *p + *d).collect();
    for stiffness in STIFFNESS {
        let normals = template.normals(&place);
        let pulls: Vec<VertexTarget> = (0..from.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|v| {
                vertex_target(
                    template.feature[v],
                    from[v],
                    place[v],
                    normals[v],
                    MAX_FEATURE_DISTANCE * reach[v],
                    surface,
                )
            })
            .collect();
        solve(template, &pulls, stiffness, &mut ways);
        for v in 0..from.len() {
            place[v] = from[v] + ways[v];
        }
    }
    project(template, place, &reach, surface)
}

/// Moves a refined mesh onto `surface`: new vertices, which are middles of `halved`, in the order of
/// refinement, come after those at `points`.
pub fn track_refined(
    template: &Template,
    halved: &[[u32; 2]],
    mut points: Vec<DVec3>,
    surface: &Surface,
) -> Vec<DVec3> {
    for edge in halved {
        let [a, b] = edge.map(|v| points[v as usize]);
        points.push((a + b) / 2.0);
    }
    let reach = lengths(template, &points);
    project(template, points, &reach, surface)
}

/// Returns the mean length of the edges around each vertex.
fn lengths(template: &Template, points: &[DVec3]) -> Vec<f64> {
    let one = |v: usize| {
        let ring = template.neighbours(v);
        let sum: f64 = ring.iter().map(|&w| points[v].distance(points[w as usize])).sum();
        sum / ring.len().max(1) as f64
    };
    (0..points.len()).map(one).collect()
}

/// Projects every vertex onto the surface. If triangles are then flipped, the vertices around them move along
/// the surface towards the middle of their neighbours.
fn project(template: &Template, mut place: Vec<DVec3>, reach: &[f64], surface: &Surface) -> Vec<DVec3> {
    let normals = template.normals(&place);
    place = (0..place.len())
        .into_par_iter()
        .with_min_len(CHUNK)
        .map(|v| project_vertex(template.feature[v], place[v], normals[v], reach[v], surface))
        .collect();
    for _ in 0..UNFOLDINGS {
        let mut near = vec![false; place.len()];
        let mut any = false;
        for (triangle, wrong) in template.triangles.iter().zip(flipped_triangles(template, &place, surface)) {
            if wrong {
                any = true;
                for &v in triangle {
                    near[v as usize] = true;
                    template.neighbours(v as usize).iter().for_each(|&w| near[w as usize] = true);
                }
            }
        }
        if !any {
            break;
        }
        let normals = template.normals(&place);
        let moved: Vec<DVec3> = (0..place.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|v| {
                let hold = template.feature[v];
                if !near[v] || hold == Feature::Corner {
                    return place[v];
                }
                // On lines, only neighbours on lines count.
                let ring = template.neighbours(v).iter().map(|&w| w as usize);
                let ring = ring.filter(|&w| hold == Feature::Free || template.feature[w] != Feature::Free);
                let (sum, count) = ring.fold((DVec3::ZERO, 0.0), |(s, n), w| (s + place[w], n + 1.0));
                let to = if count > 0.0 { sum / count } else { place[v] };
                project_vertex(hold, (place[v] + to) / 2.0, normals[v], reach[v], surface)
            })
            .collect();
        place = moved;
    }
    place
}

/// Returns, by triangle, `true` if it is flipped, or nearly so.
fn flipped_triangles(template: &Template, points: &[DVec3], surface: &Surface) -> Vec<bool> {
    (0..template.triangles.len())
        .into_par_iter()
        .with_min_len(CHUNK)
        .map(|t| {
            let corners = template.corners(t, points);
            let normal = surface::normal(&corners);
            let hit = surface.tree.nearest(surface::middle(&corners), f64::INFINITY, |_| true);
            hit.is_some_and(|hit| {
                let there = surface.normals[hit.item as usize];
                there.dot(normal) < FACING * normal.length()
            })
        })
        .collect()
}

fn nearest_facing(p: DVec3, normal: DVec3, surface: &Surface, least: f64) -> Option<NearestPoint> {
    let near = surface.tree.nearest(p, f64::INFINITY, |t| surface.normals[t as usize].dot(normal) >= least);
    near.or_else(|| surface.tree.nearest(p, f64::INFINITY, |_| true))
}

fn vertex_target(
    hold: Feature,
    from: DVec3,
    p: DVec3,
    normal: DVec3,
    reach: f64,
    surface: &Surface,
) -> VertexTarget {
    let to = |at: DVec3, weight: DMat3| VertexTarget {
        offset: at - from,
        weight: weight + DMat3::from_diagonal(DVec3::splat(TANGENTIAL_WEIGHT)),
    };
    let any = |tree: &TriangleTree| tree.nearest(p, reach * reach, |_| true);
    if hold == Feature::Corner
        && let Some(hit) = any(&surface.corners)
    {
        return to(hit.position, DMat3::IDENTITY);
    }
    if hold != Feature::Free
        && let Some(hit) = any(&surface.lines)
    {
        let [a, b, _] = surface.lines.item(hit.item);
        let along = (*b - *a).normalize_or_zero();
        return to(hit.position, DMat3::IDENTITY - outer(along));
    }
    match nearest_facing(p, normal, surface, FACING) {
        Some(hit) => to(hit.position, outer(surface.normals[hit.item as usize])),
        None => to(p, DMat3::ZERO),
    }
}

fn outer(n: DVec3) -> DMat3 {
    DMat3::from_cols(n * n.x, n * n.y, n * n.z)
}

/// Returns the place on the surface for a vertex. If a line or corner no longer exists, or is farther away
/// than `reach`, the surface is used.
fn project_vertex(hold: Feature, p: DVec3, normal: DVec3, reach: f64, surface: &Surface) -> DVec3 {
    let near = |tree: &TriangleTree| Some(tree.nearest(p, reach * reach, |_| true)?.position);
    let corner = (hold == Feature::Corner).then(|| near(&surface.corners)).flatten();
    let line = || (hold != Feature::Free).then(|| near(&surface.lines)).flatten();
    let place = || nearest_facing(p, normal, surface, 0.0).map(|hit| hit.position);
    corner.or_else(line).or_else(place).unwrap_or(p)
}

/// Solves (A + λ L) d = A c by conjugate gradients, with blocks of the diagonal as preconditioner. Sums have
/// a fixed order.
fn solve(template: &Template, pulls: &[VertexTarget], stiffness: f64, ways: &mut [DVec3]) {
    let n = pulls.len();
    // Weights are scaled as on a regular mesh of six neighbours.
    let lambda = stiffness / 6.0;
    let times = |x: &[DVec3]| -> Vec<DVec3> {
        let row = |v: usize| {
            let ring = template.neighbours(v);
            let around: DVec3 = ring.iter().map(|&w| x[w as usize]).sum();
            pulls[v].weight * x[v] + (x[v] * ring.len() as f64 - around) * lambda
        };
        (0..n).into_par_iter().with_min_len(CHUNK).map(row).collect()
    };
    let dot = |a: &[DVec3], b: &[DVec3]| -> f64 {
        let parts: Vec<f64> = (a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)))
            .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum())
            .collect();
        parts.iter().sum()
    };
    let blocks: Vec<DMat3> = (0..n)
        .map(|v| {
            let own = lambda * template.neighbours(v).len() as f64;
            (pulls[v].weight + DMat3::from_diagonal(DVec3::splat(own))).inverse()
        })
        .collect();
    let eased = |r: &[DVec3]| -> Vec<DVec3> { r.iter().zip(&blocks).map(|(r, b)| *b * *r).collect() };
    let mut rest = times(ways);
    for (rest, pull) in rest.iter_mut().zip(pulls) {
        *rest = pull.weight * pull.offset - *rest;
    }
    let mut z = eased(&rest);
    let mut direction = z.clone();
    let mut old = dot(&rest, &z);
    let enough = old * 1e-8;
    for _ in 0..DESCENTS {
        if old.is_nan() || old <= enough {
            break;
        }
        let product = times(&direction);
        let curved = dot(&direction, &product);
        if curved.is_nan() || curved <= 0.0 {
            break;
        }
        let length = old / curved;
        for v in 0..n {
            ways[v] += direction[v] * length;
            rest[v] -= product[v] * length;
        }
        z = eased(&rest);
        let new = dot(&rest, &z);
        for (direction, z) in direction.iter_mut().zip(&z) {
            *direction = *z + *direction * (new / old);
        }
        old = new;
    }
}

/// The distances between a fixed mesh and a surface.
#[derive(Clone, Debug, Default)]
pub struct SurfaceFit {
    /// The number of points of the source.
    pub points: usize,
    /// The largest distance of points and middles of triangles of either surface from the other.
    pub worst: f64,
    /// The number of flipped triangles.
    pub folded: usize,
    /// By triangle, how often it should be halved; empty if all fit.
    pub halvings: Vec<u8>,
}

/// Distances in multiples of the limit beyond which finer triangles do not help.
const MAX_REFINABLE_RATIO: f64 = 16.0;

impl SurfaceFit {
    /// Returns `true` if no point is too far away and no triangle is flipped.
    pub fn holds(&self, limit: f64) -> bool {
        self.folded == 0 && self.worst <= limit
    }

    /// Returns `true` if finer triangles may suffice.
    pub fn may_be_refined(&self, limit: f64) -> bool {
        self.folded == 0 && self.worst <= MAX_REFINABLE_RATIO * limit
    }
}

/// Compares `template` at `points` with `surface`, both ways.
pub fn compare(template: &Template, points: &[DVec3], surface: &Surface, limit: f64) -> SurfaceFit {
    let own = TriangleTree::new((0..template.triangles.len()).map(|t| template.corners(t, points)).collect());
    let everything = f64::INFINITY;
    let there = |p: DVec3| {
        let hit = own.nearest(p, everything, |_| true);
        hit.map_or((everything, 0), |hit| (hit.distance_squared.sqrt(), hit.item))
    };
    let middles = (0..surface.triangles.len()).into_par_iter().with_min_len(CHUNK);
    let mut found: Vec<(f64, u32)> = middles.map(|t| there(surface.middle(t))).collect();
    found.par_extend(surface.points.par_iter().with_min_len(CHUNK).map(|p| there(*p)));
    let looked: Vec<(f64, bool)> = (0..template.triangles.len())
        .into_par_iter()
        .with_min_len(CHUNK)
        .map(|t| {
            let corners = template.corners(t, points);
            let normal = surface::normal(&corners);
            let [a, b, c] = corners;
            let mut worst = 0.0f64;
            for p in [a, b, c, (a + b) / 2.0, (b + c) / 2.0, (c + a) / 2.0] {
                let hit = surface.tree.nearest(p, everything, |_| true);
                worst = worst.max(hit.map_or(everything, |hit| hit.distance_squared.sqrt()));
            }
            let hit = surface.tree.nearest(surface::middle(&corners), everything, |_| true);
            worst = worst.max(hit.map_or(everything, |hit| hit.distance_squared.sqrt()));
            let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
            let thick = normal.length() > limit * longest;
            let against = hit.is_some_and(|hit| surface.normals[hit.item as usize].dot(normal) < 0.0);
            (worst, thick && against)
        })
        .collect();
    let mut fit = SurfaceFit { points: surface.points.len(), ..SurfaceFit::default() };
    for (t, (distance, folded)) in looked.into_iter().enumerate() {
        found.push((distance, t as u32));
        fit.folded += usize::from(folded);
    }
    for (distance, triangle) in found {
        fit.worst = fit.worst.max(distance);
        if distance > limit {
            fit.halvings.resize(template.triangles.len(), 0);
            let level = if distance > 4.0 * limit { 2 } else { 1 };
            if let Some(own) = fit.halvings.get_mut(triangle as usize) {
                *own = level.max(*own);
            }
        }
    }
    fit
}
