//! The surface of one frame: its triangles in a tree, so that the nearest place on it is found in a few dozen
//! tests, and the lines and corners that a fixed mesh must follow (borders and sharp edges).
//!
//! Distances are exact for triangles, edges and points alike; a triangle without area counts as an edge or a
//! point.

use crate::extent::is_usable_point;
use crate::faces::Faces;
use crate::{Error, triangulate};
use glam::DVec3;
use meshreel_scene::{Mesh, sample};
use std::collections::HashMap;

/// The least angle between two triangles, in degrees, that makes their edge a line.
const SHARP: f64 = 40.0;

/// The least angle between two lines, in degrees, that makes a corner.
const CORNER: f64 = 40.0;

/// Squared sine of an angle below which a triangle is treated as its edges.
const FLAT: f64 = 1e-24;

/// The largest number of triangles of a leaf.
const LEAF: usize = 4;

/// The nearest place on a surface.
#[derive(Clone, Copy, Debug)]
pub struct NearestPoint {
    /// Index of the triangle in the tree.
    pub item: u32,
    /// The position.
    pub position: DVec3,
    /// The squared distance.
    pub distance_squared: f64,
}

/// A tree of triangles. Edges and points are triangles whose corners coincide.
#[derive(Default)]
pub struct TriangleTree {
    items: Vec<[DVec3; 3]>,
    /// Indices into `items`, leaf by leaf.
    order: Vec<u32>,
    nodes: Vec<Node>,
}

struct Node {
    low: DVec3,
    high: DVec3,
    /// For a leaf, its first index in `order`; else the second child (the first is the next node).
    next: u32,
    /// The number of items of a leaf, 0 for other nodes.
    count: u32,
}

impl TriangleTree {
    /// Builds the tree, splitting at the middle item along the longest side.
    pub fn new(items: Vec<[DVec3; 3]>) -> TriangleTree {
        let mut tree = TriangleTree {
            order: (0..items.len() as u32).collect(),
            nodes: Vec::with_capacity(2 * items.len() / LEAF + 1),
            items,
        };
        if !tree.items.is_empty() {
            let mut order = std::mem::take(&mut tree.order);
            tree.split(&mut order, 0);
            tree.order = order;
        }
        tree
    }

    fn split(&mut self, order: &mut [u32], first: usize) {
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for &i in order.iter() {
            for p in self.items[i as usize] {
                (low, high) = (low.min(p), high.max(p));
            }
        }
        let own = self.nodes.len();
        self.nodes.push(Node { low, high, next: first as u32, count: order.len() as u32 });
        if order.len() <= LEAF {
            return;
        }
        let size = high - low;
        let axis = (0..3).fold(0, |a, k| if size[k] > size[a] { k } else { a });
        let items = &self.items;
        let key = |i: u32| items[i as usize].iter().map(|p| p[axis]).sum::<f64>();
        let half = order.len() / 2;
        order.select_nth_unstable_by(half, |&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
        let (near, far) = order.split_at_mut(half);
        self.split(near, first);
        let second = self.nodes.len() as u32;
        self.split(far, first + half);
        (self.nodes[own].next, self.nodes[own].count) = (second, 0);
    }

    /// Returns the nearest place to `p` on an item that `take` accepts, nearer than the square root of
    /// `square`.
    pub fn nearest(&self, p: DVec3, square: f64, take: impl Fn(u32) -> bool) -> Option<NearestPoint> {
        let mut best = NearestPoint { item: u32::MAX, position: p, distance_squared: square };
        if self.nodes.is_empty() {
            return None;
        }
        // Deep enough for any tree: each half has at most half of the items, rounded up.
        let mut stack = [(0u32, 0.0f64); 64];
        stack[0] = (0, self.nodes[0].distance_squared(p));
        let mut top = 1;
        while top > 0 {
            top -= 1;
            let (n, away) = stack[top];
            if away >= best.distance_squared {
                continue;
            }
            let node = &self.nodes[n as usize];
            if node.count > 0 {
                let range = node.next as usize..(node.next + node.count) as usize;
                for &item in &self.order[range] {
                    if !take(item) {
                        continue;
                    }
                    let at = nearest_on_triangle(p, &self.items[item as usize]);
                    let square = at.distance_squared(p);
                    if square < best.distance_squared {
                        best = NearestPoint { item, position: at, distance_squared: square };
                    }
                }
                continue;
            }
            let children = [n + 1, node.next];
            let [a, b] = children.map(|c| (c, self.nodes[c as usize].distance_squared(p)));
            let (near, far) = if b.1 < a.1 { (b, a) } else { (a, b) };
            for child in [far, near] {
                if child.1 < best.distance_squared {
                    stack[top] = child;
                    top += 1;
                }
            }
        }
        (best.item != u32::MAX).then_some(best)
    }

    /// Returns the corners of an item.
    pub fn item(&self, item: u32) -> &[DVec3; 3] {
        &self.items[item as usize]
    }
}

impl Node {
    fn distance_squared(&self, p: DVec3) -> f64 {
        p.distance_squared(p.clamp(self.low, self.high))
    }
}

/// Returns the place on a triangle that is nearest to `p`: the signs of the areas that `p` forms with its
/// edges decide between corners, edges and the inside (C. Ericson, *Real-Time Collision Detection*, 2005,
/// 5.1.5).
pub fn nearest_on_triangle(p: DVec3, [a, b, c]: &[DVec3; 3]) -> DVec3 {
    let (ab, ac) = (*b - *a, *c - *a);
    if ab.cross(ac).length_squared() <= FLAT * ab.length_squared() * ac.length_squared() {
        let sides = [[a, b], [b, c], [c, a]].map(|[a, b]| nearest_on_segment(p, *a, *b));
        let nearer = |x: DVec3, y: DVec3| match y.distance_squared(p) < x.distance_squared(p) {
            true => y,
            false => x,
        };
        return nearer(nearer(sides[0], sides[1]), sides[2]);
    }
    let from = |q: &DVec3| (ab.dot(p - *q), ac.dot(p - *q));
    let (a1, a2) = from(a);
    if a1 <= 0.0 && a2 <= 0.0 {
        return *a;
    }
    let (b1, b2) = from(b);
    if b1 >= 0.0 && b2 <= b1 {
        return *b;
    }
    let part = |x: f64, all: f64| {
        if all > 0.0 { (x / all).clamp(0.0, 1.0) } else { 0.0 }
    };
    let beyond_c = a1 * b2 - b1 * a2;
    if beyond_c <= 0.0 && a1 >= 0.0 && b1 <= 0.0 {
        return *a + ab * part(a1, a1 - b1);
    }
    let (c1, c2) = from(c);
    if c2 >= 0.0 && c1 <= c2 {
        return *c;
    }
    let beyond_b = c1 * a2 - a1 * c2;
    if beyond_b <= 0.0 && a2 >= 0.0 && c2 <= 0.0 {
        return *a + ac * part(a2, a2 - c2);
    }
    let beyond_a = b1 * c2 - c1 * b2;
    if beyond_a <= 0.0 && b2 - b1 >= 0.0 && c1 - c2 >= 0.0 {
        return *b + (*c - *b) * part(b2 - b1, (b2 - b1) + (c1 - c2));
    }
    let all = beyond_a + beyond_b + beyond_c;
    *a + ab * part(beyond_b, all) + ac * part(beyond_c, all)
}

/// Returns the place between `a` and `b` that is nearest to `p`.
fn nearest_on_segment(p: DVec3, a: DVec3, b: DVec3) -> DVec3 {
    let way = b - a;
    let all = way.length_squared();
    match all > 0.0 {
        true => a + way * ((p - a).dot(way) / all).clamp(0.0, 1.0),
        false => a,
    }
}

/// One frame of a source mesh.
#[derive(Default)]
pub struct Surface {
    /// Points that faces use; coincident points are merged.
    pub points: Vec<DVec3>,
    /// Triangles, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// By triangle, its face's number in the source.
    pub face: Vec<u32>,
    /// By triangle, its unit normal; zero if it has no area.
    pub normals: Vec<DVec3>,
    /// Tree of the triangles.
    pub tree: TriangleTree,
    /// Tree of borders and sharp edges.
    pub lines: TriangleTree,
    /// Tree of ends and corners of lines.
    pub corners: TriangleTree,
}

/// The lines of a surface, with their ends and corners.
pub struct Lines {
    /// Edges, by their two points.
    pub edges: Vec<[u32; 2]>,
    /// Ends and corners.
    pub corners: Vec<u32>,
}

impl Surface {
    /// Reads `mesh` at `time`. Unusable points are left out with their faces.
    pub fn read(mesh: &Mesh, time: f64) -> Result<Surface, Error> {
        let (mut raw, mut points) = (sample::Faces::default(), Vec::new());
        sample::faces_at(mesh, time, &mut raw)?;
        sample::positions_at(mesh, time, &mut points)?;
        let faces = Faces::new(&raw.counts, &raw.indices, points.len());
        let cut = triangulate::triangulate_faces(&points, &faces, mesh.winding);
        let mut own: HashMap<[u32; 3], u32> = HashMap::new();
        let mut surface = Surface::default();
        for (corners, &face) in cut.corners.iter().zip(&cut.faces) {
            let places = corners.map(|c| points[faces.corner_point[c as usize] as usize]);
            if !places.iter().all(is_usable_point) {
                continue;
            }
            let triangle = places.map(|p| {
                // −0 is treated as 0.
                *own.entry(p.map(|v| (v + 0.0).to_bits())).or_insert_with(|| {
                    surface.points.push(DVec3::from_array(p.map(f64::from)));
                    surface.points.len() as u32 - 1
                })
            });
            let [a, b, c] = triangle;
            if a != b && b != c && c != a {
                surface.triangles.push(triangle);
                surface.face.push(face);
            }
        }
        surface.finish();
        Ok(surface)
    }

    fn finish(&mut self) {
        let corners = |t: &[u32; 3]| t.map(|v| self.points[v as usize]);
        let items: Vec<[DVec3; 3]> = self.triangles.iter().map(corners).collect();
        self.normals = items.iter().map(|t| normal(t).normalize_or_zero()).collect();
        let lines = find_lines(&self.points, &self.triangles, &self.normals);
        let place = |v: u32| self.points[v as usize];
        let edge = |e: &[u32; 2]| [place(e[0]), place(e[1]), place(e[1])];
        self.lines = TriangleTree::new(lines.edges.iter().map(edge).collect());
        self.corners = TriangleTree::new(lines.corners.iter().map(|&v| [place(v); 3]).collect());
        self.tree = TriangleTree::new(items);
    }

    /// Returns the middle of a triangle.
    pub fn middle(&self, t: usize) -> DVec3 {
        middle(self.tree.item(t as u32))
    }
}

/// Returns twice the vector area.
pub fn normal([a, b, c]: &[DVec3; 3]) -> DVec3 {
    (*b - *a).cross(*c - *a)
}

/// Returns the middle of a triangle.
pub fn middle([a, b, c]: &[DVec3; 3]) -> DVec3 {
    (*a + *b + *c) / 3.0
}

/// Finds borders, edges of more than two triangles, and edges at which the surface bends sharply; and ends,
/// branches and corners of the lines that they form.
pub fn find_lines(points: &[DVec3], triangles: &[[u32; 3]], normals: &[DVec3]) -> Lines {
    let mut sides: Vec<([u32; 2], u32)> = Vec::with_capacity(3 * triangles.len());
    for (t, corners) in triangles.iter().enumerate() {
        for k in 0..3 {
            let (a, b) = (corners[k], corners[(k + 1) % 3]);
            sides.push(([a.min(b), a.max(b)], t as u32));
        }
    }
    sides.sort_unstable();
    let turn = SHARP.to_radians().cos();
    let mut edges = Vec::new();
    for group in sides.chunk_by(|a, b| a.0 == b.0) {
        let line = match group {
            [a, b] => normals[a.1 as usize].dot(normals[b.1 as usize]) < turn,
            _ => true,
        };
        if line {
            edges.push(group[0].0);
        }
    }
    let mut ends: Vec<(u32, u32)> = (edges.iter().flat_map(|&[a, b]| [(a, b), (b, a)])).collect();
    ends.sort_unstable();
    let straight = -CORNER.to_radians().cos();
    let mut corners = Vec::new();
    for group in ends.chunk_by(|a, b| a.0 == b.0) {
        let here = points[group[0].0 as usize];
        let way = |end: &(u32, u32)| (points[end.1 as usize] - here).normalize_or_zero();
        let corner = match group {
            [a, b] => way(a).dot(way(b)) > straight,
            _ => true,
        };
        if corner {
            corners.push(group[0].0);
        }
    }
    Lines { edges, corners }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a pseudo-random number from 0 up to but not including 1, and advances the seed.
    fn random(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 40) as f64 / f64::from(1 << 24)
    }

    fn point(seed: &mut u64) -> DVec3 {
        DVec3::from_array([(); 3].map(|()| random(seed)))
    }

    #[test]
    fn nearest_is_the_best_of_many_places() {
        let mut seed = 3;
        for _ in 0..300 {
            let mut triangle = [(); 3].map(|()| point(&mut seed));
            match (random(&mut seed) * 6.0) as u32 {
                0 => triangle[2] = triangle[1],
                1 => triangle[1] = triangle[0],
                2 => triangle = [triangle[0]; 3],
                3 => triangle[2] = (triangle[0] + triangle[1]) / 2.0,
                _ => {}
            }
            let p = point(&mut seed) * 2.0 - 0.5;
            let found = nearest_on_triangle(p, &triangle).distance(p);
            let mut best = f64::INFINITY;
            for i in 0..=60 {
                for j in 0..=60 - i {
                    let (u, v) = (f64::from(i) / 60.0, f64::from(j) / 60.0);
                    let at = triangle[0] * (1.0 - u - v) + triangle[1] * u + triangle[2] * v;
                    best = best.min(at.distance(p));
                }
            }
            assert!(found <= best + 1e-12, "{triangle:?} {p}: {found} {best}");
            assert!(best <= found + 0.05, "{triangle:?} {p}: {found} {best}");
        }
    }

    #[test]
    fn the_tree_finds_what_looking_at_all_finds() {
        let mut seed = 11;
        let items: Vec<[DVec3; 3]> = (0..500)
            .map(|_| {
                let at = point(&mut seed) * 10.0;
                [(); 3].map(|()| at + point(&mut seed))
            })
            .collect();
        let tree = TriangleTree::new(items.clone());
        for _ in 0..200 {
            let p = point(&mut seed) * 12.0 - 1.0;
            let even = |i: u32| i.is_multiple_of(2);
            let all = items.iter().step_by(2).map(|t| nearest_on_triangle(p, t).distance_squared(p));
            let hit = tree.nearest(p, f64::INFINITY, even).unwrap();
            assert_eq!(hit.distance_squared, all.fold(f64::INFINITY, f64::min));
            assert!(tree.nearest(p, hit.distance_squared, even).is_none(), "nothing is nearer");
        }
        assert!(TriangleTree::new(Vec::new()).nearest(DVec3::ZERO, f64::INFINITY, |_| true).is_none());
    }

    #[test]
    fn a_sheet_has_its_border_and_four_corners() {
        let points: Vec<DVec3> =
            (0..16).map(|i| DVec3::new(f64::from(i % 4), f64::from(i / 4), 0.0)).collect();
        let quads = (0..9).map(|i| i / 3 * 4 + i % 3);
        let triangles: Vec<[u32; 3]> = quads.flat_map(|q| [[q, q + 1, q + 5], [q, q + 5, q + 4]]).collect();
        let lines = find_lines(&points, &triangles, &[DVec3::Z; 18]);
        assert_eq!(lines.edges.len(), 12);
        assert_eq!(lines.corners, [0, 3, 12, 15]);
    }
}
