//! Simplifies triangles on the same vertices: half-edge collapses in the order of their cost in all poses at
//! once.
//!
//! The cost of a collapse is the sum, over the poses, of the squared distances to the planes of the triangles
//! that met there (Michael Garland and Paul Heckbert, *Surface simplification using quadric error metrics*,
//! 1997), weighted by area. Borders, seams and material edges have planes of their own across the surface.
//! Points that coincide in all frames are one; each of their vertices must find a target on its side of a
//! seam.

use crate::{Cancellation, Cancelled};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A mesh in some poses.
pub struct PosedShape<'a> {
    /// Three vertices per triangle.
    pub triangles: &'a [[u32; 3]],
    /// By triangle, its material.
    pub material: &'a [u32],
    /// By vertex, its point; numbers without gaps.
    pub point: &'a [u32],
    /// Positions by pose and point.
    pub poses: &'a [Vec<[f32; 3]>],
    /// By vertex, the values that separate vertices of one point: uvs and normal in the first frame.
    pub vertex_attributes: &'a [[f32; 5]],
}

/// Returns the triangles that are left when vertices have become others.
pub fn apply_collapses(triangles: &[[u32; 3]], becomes: &[u32]) -> impl Iterator<Item = [u32; 3]> {
    let moved = triangles.iter().map(|t| t.map(|v| becomes[v as usize]));
    moved.filter(|[a, b, c]| a != b && b != c && c != a)
}

/// The features of the shape that must be preserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preserve {
    /// Seams, borders, material edges and pieces are preserved.
    All,
    /// Borders, material edges and pieces are preserved; vertex attributes may jump where they did not.
    Edges,
    /// Nothing is preserved: borders shrink, small pieces vanish.
    Nothing,
}

/// The kind of an edge, by its two sides.
#[derive(Clone, Copy, PartialEq)]
enum Edge {
    Inner,
    /// The sides have different vertices of the same points.
    Seam,
    /// The other side is empty, has another material, or several triangles.
    Border,
}

type Vec3 = [f64; 3];

fn minus(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}
fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Sum of weighted squared distances to planes: the upper half of a symmetric matrix, a vector, a number.
#[derive(Clone, Copy, Default)]
struct Quadric([f64; 10]);

impl Quadric {
    /// Returns the quadric of the plane with the unit normal `n` through `p`.
    fn plane(n: Vec3, p: Vec3, weight: f64) -> Quadric {
        let d = -dot(n, p);
        let [x, y, z] = n;
        let all = [x * x, x * y, x * z, y * y, y * z, z * z, x * d, y * d, z * d, d * d];
        Quadric(all.map(|v| v * weight))
    }

    fn add(&mut self, other: &Quadric) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a += b;
        }
    }

    fn evaluate(&self, [x, y, z]: Vec3) -> f64 {
        let q = &self.0;
        let square = q[0] * x * x + q[3] * y * y + q[5] * z * z;
        let mixed = q[1] * x * y + q[2] * x * z + q[4] * y * z;
        let linear = q[6] * x + q[7] * y + q[8] * z;
        (square + 2.0 * (mixed + linear) + q[9]).max(0.0)
    }
}

/// The weight of planes across borders and seams relative to that of triangles.
const EDGE_WEIGHT: f64 = 10.0;
/// If everything is flat, short edges come first: this fraction of length² times area.
const SHORT_EDGE_WEIGHT: f64 = 1e-6;
/// The least cosine of the angle by which a triangle may rotate in any pose.
const MIN_COSINE: f64 = 0.2;
/// The largest number of triangles of a piece that may vanish.
const MAX_SMALL_TRIANGLES: usize = 4;

/// A point of more triangles (a hub) is not collapsed until it has fewer, nor is it a target: examining one
/// takes time that grows with the square of them.
pub const HUB_TRIANGLES: usize = 256;

/// Costs are never negative, so the order of their bits is that of the numbers.
type Entry = Reverse<(u64, u32, u32, u32)>;

/// A mesh that is being simplified.
pub struct Simplifier<'a> {
    shape: &'a PosedShape<'a>,
    /// Triangles with their present vertices; removed ones have two equal vertices.
    pub triangles: Vec<[u32; 3]>,
    /// The number of triangles between three different points.
    pub count: usize,
    /// By point, its triangles. Up to half of those of a hub may be removed ones.
    around: Vec<Vec<u32>>,
    /// By hub, the number of its triangles that are removed ones.
    removed_counts: Vec<u32>,
    /// By point, its vertices that have not become others.
    members: Vec<Vec<u32>>,
    /// By point, pose after pose.
    quadrics: Vec<Quadric>,
    area: Vec<f64>,
    version: Vec<u32>,
    /// By vertex, the one that it has become, step by step.
    becomes: Vec<u32>,
    heap: BinaryHeap<Entry>,
    /// The features that must be preserved at present.
    pub preserve: Preserve,
}

impl<'a> Simplifier<'a> {
    /// Starts with all triangles between different vertices.
    pub fn new(shape: &'a PosedShape<'a>) -> Simplifier<'a> {
        let points = shape.poses.first().map_or(0, Vec::len);
        let mut out = Simplifier {
            shape,
            triangles: shape.triangles.to_vec(),
            count: 0,
            around: vec![Vec::new(); points],
            removed_counts: vec![0; points],
            members: vec![Vec::new(); points],
            quadrics: vec![Quadric::default(); points * shape.poses.len()],
            area: vec![0.0; points],
            version: vec![0; points],
            becomes: (0..shape.point.len() as u32).collect(),
            heap: BinaryHeap::new(),
            preserve: Preserve::All,
        };
        for (v, &p) in shape.point.iter().enumerate() {
            out.members[p as usize].push(v as u32);
        }
        for (t, &[a, b, c]) in shape.triangles.iter().enumerate() {
            if a == b || b == c || c == a {
                continue;
            }
            let corners = out.corners(t as u32);
            let [a, b, c] = corners;
            // A triangle that is degenerate in all frames stays, or vanishes when its vertices become one.
            if a != b && b != c && c != a {
                out.count += 1;
                let around = corners.into_iter();
                around.for_each(|p| out.around[p as usize].push(t as u32));
            }
        }
        out.measure();
        out.fill();
        out
    }

    /// Returns the points of a triangle.
    fn corners(&self, t: u32) -> [u32; 3] {
        self.triangles[t as usize].map(|v| self.shape.point[v as usize])
    }

    fn place(&self, pose: usize, point: u32) -> Vec3 {
        self.shape.poses[pose][point as usize].map(f64::from)
    }

    fn normal(&self, pose: usize, [a, b, c]: [u32; 3]) -> Vec3 {
        let [a, b, c] = [a, b, c].map(|p| self.place(pose, p));
        cross(minus(b, a), minus(c, a))
    }

    /// Computes the planes of all triangles and edges.
    fn measure(&mut self) {
        let poses = self.shape.poses.len();
        let mut seams = vec![0u32; self.around.len()];
        let kinds: Vec<[Edge; 3]> = (0..self.triangles.len() as u32)
            .map(|t| {
                let corners = self.corners(t);
                std::array::from_fn(|k| self.edge(t, corners[k], corners[(k + 1) % 3]))
            })
            .collect();
        for (t, kinds) in kinds.iter().enumerate() {
            let corners = self.corners(t as u32);
            for k in (0..3).filter(|&k| kinds[k] == Edge::Seam) {
                seams[corners[k] as usize] += 1;
                seams[corners[(k + 1) % 3] as usize] += 1;
            }
        }
        for p in 0..self.around.len() {
            for i in 0..self.around[p].len() {
                let t = self.around[p][i];
                let corners = self.corners(t);
                if corners[0] as usize != p {
                    continue;
                }
                // If every edge is a seam (flat shading), a seam is not a line to preserve.
                let line = |k: usize| seams[corners[k] as usize] <= 4;
                let edges: [bool; 3] = std::array::from_fn(|k| match kinds[t as usize][k] {
                    Edge::Inner => false,
                    Edge::Seam => line(k) || line((k + 1) % 3),
                    Edge::Border => true,
                });
                for pose in 0..poses {
                    let n = self.normal(pose, corners);
                    let size = dot(n, n).sqrt();
                    if size <= 0.0 || !size.is_finite() {
                        continue;
                    }
                    let n = n.map(|v| v / size);
                    let at = corners.map(|p| self.place(pose, p));
                    let own = Quadric::plane(n, at[0], size / 2.0);
                    for &q in &corners {
                        self.quadrics[q as usize * poses + pose].add(&own);
                        self.area[q as usize] += size / 2.0;
                    }
                    for k in (0..3).filter(|&k| edges[k]) {
                        let along = minus(at[(k + 1) % 3], at[k]);
                        let across = cross(along, n);
                        let length = dot(across, across).sqrt();
                        if length > 0.0 {
                            let across = across.map(|v| v / length);
                            let weight = EDGE_WEIGHT * length * length;
                            let plane = Quadric::plane(across, at[k], weight);
                            for q in [corners[k], corners[(k + 1) % 3]] {
                                self.quadrics[q as usize * poses + pose].add(&plane);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns the kind of an edge of triangle `t`.
    fn edge(&self, t: u32, a: u32, b: u32) -> Edge {
        let [of_a, of_b] = [a, b].map(|p| &self.around[p as usize]);
        let fewer = if of_b.len() < of_a.len() { of_b } else { of_a };
        let both = |o: u32| {
            let corners = self.corners(o);
            corners.contains(&a) && corners.contains(&b)
        };
        let mut others = fewer.iter().filter(|&&o| o != t && both(o));
        match (others.next(), others.next()) {
            (Some(&other), None) if self.material(t) == self.material(other) => {
                let shared = self.triangles[other as usize];
                let own = self.triangles[t as usize].into_iter();
                match own.filter(|v| shared.contains(v)).count() {
                    0 | 1 => Edge::Seam,
                    _ => Edge::Inner,
                }
            }
            _ => Edge::Border,
        }
    }

    fn material(&self, t: u32) -> u32 {
        self.shape.material.get(t as usize).copied().unwrap_or(0)
    }

    /// Queues all collapses that are allowed now.
    fn fill(&mut self) {
        self.heap.clear();
        for p in 0..self.around.len() as u32 {
            self.push(p);
        }
    }

    fn push(&mut self, p: u32) {
        self.version[p as usize] += 1;
        if let Some((cost, to)) = self.best(p) {
            let version = self.version[p as usize];
            self.heap.push(Reverse((cost.to_bits(), p, to, version)));
        }
    }

    fn neighbours(&self, p: u32) -> Vec<u32> {
        let around = self.around[p as usize].iter();
        let mut out: Vec<u32> = around.flat_map(|&t| self.corners(t)).collect();
        out.sort_unstable();
        out.dedup();
        out.retain(|&q| q != p);
        out
    }

    fn cost(&self, from: u32, to: u32) -> f64 {
        let poses = self.shape.poses.len();
        let (mut planes, mut length) = (0.0, 0.0);
        for pose in 0..poses {
            let at = self.place(pose, to);
            let quadric = |p: u32| self.quadrics[p as usize * poses + pose].evaluate(at);
            planes += quadric(from) + quadric(to);
            let way = minus(at, self.place(pose, from));
            length += dot(way, way);
        }
        let short = SHORT_EDGE_WEIGHT * length * self.area[from as usize] / poses as f64;
        let cost = planes + short;
        if cost.is_finite() { cost } else { f64::MAX }
    }

    /// Returns the cheapest allowed collapse of a point.
    fn best(&self, p: u32) -> Option<(f64, u32)> {
        if self.is_hub(p) {
            return None;
        }
        let mut to = self.neighbours(p);
        if self.preserve < Preserve::Nothing {
            match &self.edges(p)[..] {
                [] => {}
                &[a, b] => to.retain(|q| [a, b].contains(q)),
                _ => return None,
            }
        }
        let mut all: Vec<(f64, u32)> = to.iter().map(|&q| (self.cost(p, q), q)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        (all.into_iter()).find(|&(_, q)| self.targets_on_edges(p, q).is_some())
    }

    fn is_hub(&self, p: u32) -> bool {
        self.around[p as usize].len() > HUB_TRIANGLES
    }

    /// Returns `true` if both points are of a piece so small that it may vanish.
    fn is_small(&self, from: u32, to: u32) -> bool {
        let mut all: Vec<u32> = Vec::new();
        for p in [&[from][..], &self.neighbours(from)].concat() {
            if self.around[p as usize].len() > MAX_SMALL_TRIANGLES {
                return false;
            }
            all.extend(&self.around[p as usize]);
        }
        all.sort_unstable();
        all.dedup();
        all.len() <= MAX_SMALL_TRIANGLES && self.neighbours(from).contains(&to)
    }

    /// Returns the targets of a point's vertices when it collapses to another one; `None` if that is not
    /// allowed.
    fn targets(&self, from: u32, to: u32) -> Option<Vec<(u32, u32)>> {
        let free = self.preserve == Preserve::Nothing || self.follows_edges(from, to);
        free.then(|| self.targets_on_edges(from, to)).flatten()
    }

    /// Returns the targets of a point's vertices while borders and material edges are preserved.
    fn targets_on_edges(&self, from: u32, to: u32) -> Option<Vec<(u32, u32)>> {
        if self.is_hub(from) || self.is_hub(to) {
            return None;
        }
        let around = &self.around[from as usize];
        let (shared, others): (Vec<u32>, Vec<u32>) =
            (around.iter().copied()).partition(|&t| self.corners(t).contains(&to));
        let small = self.preserve == Preserve::Nothing && self.is_small(from, to);
        if !small {
            // A point next to both must form a triangle with both, or separate surfaces would touch.
            let third = |&t: &u32| self.corners(t).into_iter().find(|&p| p != from && p != to);
            let mut thirds: Vec<u32> = shared.iter().filter_map(third).collect();
            thirds.sort_unstable();
            thirds.dedup();
            let beside = self.neighbours(to);
            let common = self.neighbours(from);
            let mut common = common.iter().filter(|&p| beside.binary_search(p).is_ok());
            if !common.all(|p| thirds.binary_search(p).is_ok()) {
                return None;
            }
            if others.iter().any(|&t| self.flips(t, from, to)) {
                return None;
            }
        }
        let mut out = Vec::new();
        for &v in &self.members[from as usize] {
            let mut target = None;
            for &t in &shared {
                let triangle = self.triangles[t as usize];
                if !triangle.contains(&v) {
                    continue;
                }
                let is = |w: &&u32| self.shape.point[**w as usize] == to;
                let other = triangle.iter().find(is).copied();
                if target.is_some() && target != other {
                    return None;
                }
                target = other;
            }
            let used = |t: &u32| self.triangles[*t as usize].contains(&v);
            if target.is_none() && self.preserve == Preserve::All && others.iter().any(used) {
                return None;
            }
            out.push((v, target.or_else(|| self.most_similar_vertex(v, to))?));
        }
        Some(out)
    }

    /// Returns the vertex of a point whose attributes are nearest to those of `v`.
    fn most_similar_vertex(&self, v: u32, point: u32) -> Option<u32> {
        let looks = |v: u32| self.shape.vertex_attributes.get(v as usize).copied().unwrap_or_default();
        let apart = |w: u32| -> f32 {
            let pairs = looks(v).into_iter().zip(looks(w));
            pairs.map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let members = self.members[point as usize].iter().copied();
        members.min_by(|&a, &b| apart(a).total_cmp(&apart(b)).then(a.cmp(&b)))
    }

    /// Returns `true` if a collapse keeps points on their border or material edge; points where such edges
    /// meet stay.
    fn follows_edges(&self, from: u32, to: u32) -> bool {
        match &self.edges(from)[..] {
            [] => true,
            edges => edges.len() == 2 && edges.contains(&to),
        }
    }

    /// Returns the points to which borders and material edges lead from a point.
    fn edges(&self, from: u32) -> Vec<u32> {
        let around = self.around[from as usize].iter();
        let corners = |&t: &u32| self.corners(t).map(|p| (p, t));
        let mut sides: Vec<(u32, u32)> = around.flat_map(corners).collect();
        sides.retain(|side| side.0 != from);
        sides.sort_unstable();
        sides.dedup();
        let inner = |with: &[(u32, u32)]| match with {
            &[(_, a), (_, b)] => self.material(a) == self.material(b),
            _ => false,
        };
        let by_point = sides.chunk_by(|a, b| a.0 == b.0);
        by_point.filter(|with| !inner(with)).map(|with| with[0].0).collect()
    }

    /// Returns `true` if a triangle would flip, or degenerate, in any pose.
    fn flips(&self, t: u32, from: u32, to: u32) -> bool {
        let before = self.corners(t);
        let after = before.map(|p| if p == from { to } else { p });
        (0..self.shape.poses.len()).any(|pose| {
            let (a, b) = (self.normal(pose, before), self.normal(pose, after));
            let (old, new) = (dot(a, a), dot(b, b));
            old > 0.0 && dot(a, b) <= MIN_COSINE * (old * new).sqrt()
        })
    }

    /// Removes triangle `t`, which is gone, from a point.
    fn remove_triangle(&mut self, p: u32, t: u32) {
        let at = p as usize;
        if !self.is_hub(p) {
            self.around[at].retain(|&o| o != t);
            return;
        }
        // Removing one of many takes as long as examining all.
        self.removed_counts[at] += 1;
        if 2 * self.removed_counts[at] as usize > self.around[at].len() {
            self.removed_counts[at] = 0;
            let mut around = std::mem::take(&mut self.around[at]);
            around.retain(|&o| {
                let [a, b, c] = self.corners(o);
                a != b && b != c && c != a
            });
            self.around[at] = around;
        }
    }

    fn collapse(&mut self, from: u32, to: u32, targets: &[(u32, u32)]) {
        for &(v, w) in targets {
            self.becomes[v as usize] = w;
        }
        self.members[from as usize].clear();
        let around = std::mem::take(&mut self.around[from as usize]);
        for &t in &around {
            let triangle = &mut self.triangles[t as usize];
            for v in triangle {
                if let Some((_, w)) = targets.iter().find(|target| target.0 == *v) {
                    *v = *w;
                }
            }
            let corners = self.corners(t);
            let [a, b, c] = corners;
            if a == b || b == c || c == a {
                self.count -= 1;
                for p in corners {
                    self.remove_triangle(p, t);
                }
            } else {
                self.around[to as usize].push(t);
            }
        }
        let poses = self.shape.poses.len();
        for pose in 0..poses {
            let own = self.quadrics[from as usize * poses + pose];
            self.quadrics[to as usize * poses + pose].add(&own);
        }
        self.area[to as usize] += self.area[from as usize];
        self.version[from as usize] += 1;
        self.push(to);
        for n in self.neighbours(to) {
            self.push(n);
        }
    }

    /// Collapses until at most `most` triangles are left, or no collapse is allowed.
    pub fn reduce(&mut self, most: usize, cancellation: &Cancellation) -> Result<(), Cancelled> {
        while self.count > most {
            cancellation.check()?;
            let Some(Reverse((_, from, to, version))) = self.heap.pop() else {
                let next = match self.preserve {
                    Preserve::All => Preserve::Edges,
                    Preserve::Edges => Preserve::Nothing,
                    Preserve::Nothing => return Ok(()),
                };
                self.preserve = next;
                self.fill();
                continue;
            };
            if version != self.version[from as usize] {
                continue;
            }
            match self.targets(from, to) {
                Some(targets) => self.collapse(from, to, &targets),
                None => self.push(from),
            }
        }
        Ok(())
    }

    /// Returns the final target of each vertex, itself if it is kept.
    pub fn final_vertices(&self) -> Vec<u32> {
        let mut out = self.becomes.clone();
        for v in 0..out.len() {
            let mut at = v;
            while out[at] as usize != at {
                out[at] = out[out[at] as usize];
                at = out[at] as usize;
            }
            out[v] = at as u32;
        }
        out
    }
}
