//! The fixed mesh that is fitted to changing ones: the triangles of one frame, refined where necessary.

use super::surface::{self, Surface, find_lines};
use glam::DVec3;
use std::collections::HashMap;

/// The feature of the surface that a vertex follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// The surface.
    Free,
    /// A border or a sharp edge.
    Line,
    /// An end or corner of a line.
    Corner,
}

/// A fixed mesh.
#[derive(Clone, Default)]
pub struct Template {
    /// Positions of the vertices in the frame that the mesh was made from.
    pub points: Vec<DVec3>,
    /// Triangles, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// By triangle, its face's number in the source, in that frame.
    pub face: Vec<u32>,
    /// By vertex, the feature of the surface that it follows.
    pub feature: Vec<Feature>,
    /// Neighbours of vertex v: `ring[start[v]..start[v + 1]]`.
    start: Vec<u32>,
    ring: Vec<u32>,
}

impl Template {
    /// Creates a fixed mesh from the triangles of `surface`.
    pub fn new(surface: &Surface) -> Template {
        // Points used only by faces without area are left out.
        let mut own = vec![u32::MAX; surface.points.len()];
        let mut points = Vec::new();
        let mut name = |v: u32| {
            let own = &mut own[v as usize];
            if *own == u32::MAX {
                *own = points.len() as u32;
                points.push(surface.points[v as usize]);
            }
            *own
        };
        let triangles = surface.triangles.iter().map(|t| t.map(&mut name)).collect();
        Template::from_triangles(points, triangles, surface.face.clone())
    }

    fn from_triangles(points: Vec<DVec3>, triangles: Vec<[u32; 3]>, face: Vec<u32>) -> Template {
        let mut out = Template { points, triangles, face, ..Template::default() };
        let normals: Vec<DVec3> = (0..out.triangles.len())
            .map(|t| surface::normal(&out.corners(t, &out.points)).normalize_or_zero())
            .collect();
        let lines = find_lines(&out.points, &out.triangles, &normals);
        out.feature = vec![Feature::Free; out.points.len()];
        for v in lines.edges.iter().flatten() {
            out.feature[*v as usize] = Feature::Line;
        }
        for &v in &lines.corners {
            out.feature[v as usize] = Feature::Corner;
        }
        let mut sides: Vec<(u32, u32)> = Vec::with_capacity(6 * out.triangles.len());
        for t in &out.triangles {
            for k in 0..3 {
                let (a, b) = (t[k], t[(k + 1) % 3]);
                sides.extend([(a, b), (b, a)]);
            }
        }
        sides.sort_unstable();
        sides.dedup();
        out.start = vec![0; out.points.len() + 1];
        for side in &sides {
            out.start[side.0 as usize + 1] += 1;
        }
        for v in 0..out.points.len() {
            out.start[v + 1] += out.start[v];
        }
        out.ring = sides.into_iter().map(|side| side.1).collect();
        out
    }

    /// Returns the neighbours of a vertex, ascending.
    pub fn neighbours(&self, v: usize) -> &[u32] {
        &self.ring[self.start[v] as usize..self.start[v + 1] as usize]
    }

    /// Returns the corners of a triangle for vertices at `points`.
    pub fn corners(&self, t: usize, points: &[DVec3]) -> [DVec3; 3] {
        self.triangles[t].map(|v| points[v as usize])
    }

    /// Returns vertex normals for vertices at `points`, weighted by area; zero if there is none.
    pub fn normals(&self, points: &[DVec3]) -> Vec<DVec3> {
        let mut out = vec![DVec3::ZERO; points.len()];
        for (t, triangle) in self.triangles.iter().enumerate() {
            let normal = surface::normal(&self.corners(t, points));
            triangle.iter().for_each(|&v| out[v as usize] += normal);
        }
        out.iter_mut().for_each(|n| *n = n.normalize_or_zero());
        out
    }

    /// Returns the approximate number of vertices after [`Template::refine`].
    pub fn refined_points(&self, levels: &[u8]) -> usize {
        let more = levels.iter().map(|&l| (1usize << (2 * l)) - 1);
        self.points.len() + more.sum::<usize>() / 2
    }

    /// Halves all edges of triangle t `levels[t]` times. Adjacent triangles are cut as necessary, and
    /// further, so that none becomes thin. Also returns the halved edges: their middles are the new vertices,
    /// in this order.
    pub fn refine(&self, levels: &[u8]) -> (Template, Vec<[u32; 2]>) {
        let mut parts = Refinement {
            points: self.points.clone(),
            triangles: self.triangles.clone(),
            face: self.face.clone(),
            halvings: levels.to_vec(),
            halved: Vec::new(),
        };
        for _ in 0..levels.iter().copied().max().unwrap_or(0) {
            parts.halve();
        }
        let fine = Template::from_triangles(parts.points, parts.triangles, parts.face);
        (fine, parts.halved)
    }
}

struct Refinement {
    points: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    face: Vec<u32>,
    halvings: Vec<u8>,
    halved: Vec<[u32; 2]>,
}

fn sorted_edge(triangle: &[u32; 3], k: usize) -> [u32; 2] {
    let (a, b) = (triangle[k], triangle[(k + 1) % 3]);
    [a.min(b), a.max(b)]
}

impl Refinement {
    fn halve(&mut self) {
        let points = &self.points;
        let length = |e: [u32; 2]| points[e[0] as usize].distance_squared(points[e[1] as usize]);
        // Edges that are halved; this spreads to adjacent triangles until no more edges are added.
        let mut cut: HashMap<[u32; 2], u32> = HashMap::new();
        for (triangle, _) in self.triangles.iter().zip(&self.halvings).filter(|(_, l)| **l > 0) {
            cut.extend((0..3).map(|k| (sorted_edge(triangle, k), 0)));
        }
        loop {
            let before = cut.len();
            for triangle in &self.triangles {
                let sides = [0, 1, 2].map(|k| sorted_edge(triangle, k));
                let cuts = sides.map(|s| cut.contains_key(&s));
                let count = cuts.iter().filter(|c| **c).count();
                let longest = sides.iter().map(|s| length(*s)).fold(0.0, f64::max);
                let thin = || (0..3).any(|k| cuts[k] && length(sides[k]) < 0.6 * longest);
                if count == 2 || count == 1 && thin() {
                    cut.extend(sides.map(|s| (s, 0)));
                }
            }
            if cut.len() == before {
                break;
            }
        }
        let mut edges: Vec<[u32; 2]> = cut.keys().copied().collect();
        edges.sort_unstable();
        for &edge in &edges {
            cut.insert(edge, self.points.len() as u32);
            let [a, b] = edge.map(|v| self.points[v as usize]);
            self.points.push((a + b) / 2.0);
        }
        self.halved.extend(edges);
        let whole = std::mem::take(&mut self.triangles);
        let (face, levels) = (std::mem::take(&mut self.face), std::mem::take(&mut self.halvings));
        for (t, triangle) in whole.iter().enumerate() {
            let [a, b, c] = *triangle;
            let new = [0, 1, 2].map(|k| cut.get(&sorted_edge(triangle, k)).copied());
            let mut push = |list: &[[u32; 3]]| {
                for &corners in list {
                    self.triangles.push(corners);
                    self.face.push(face[t]);
                    self.halvings.push(levels[t].saturating_sub(1));
                }
            };
            match new {
                [None, None, None] => push(&[*triangle]),
                [Some(ab), Some(bc), Some(ca)] => {
                    push(&[[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
                }
                [Some(ab), ..] => push(&[[a, ab, c], [ab, b, c]]),
                [_, Some(bc), _] => push(&[[a, b, bc], [a, bc, c]]),
                [.., Some(ca)] => push(&[[a, b, ca], [ca, b, c]]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refined_meshes_have_no_gaps_and_the_same_area() {
        let n = 6u32;
        let points: Vec<DVec3> = (0..n * n)
            .map(|i| DVec3::new(f64::from(i % n), f64::from(i / n), f64::from(i % 3) * 0.1))
            .collect();
        let quads = (0..(n - 1) * (n - 1)).map(|i| i / (n - 1) * n + i % (n - 1));
        let triangles: Vec<[u32; 3]> =
            quads.flat_map(|q| [[q, q + 1, q + n + 1], [q, q + n + 1, q + n]]).collect();
        let face = (0..triangles.len() as u32).collect();
        let template = Template::from_triangles(points, triangles, face);
        let mut levels = vec![0; template.triangles.len()];
        (levels[7], levels[8], levels[30]) = (2, 1, 3);
        let (fine, halved) = template.refine(&levels);
        assert_eq!(fine.points.len(), template.points.len() + halved.len());
        let area = |t: &Template| -> f64 {
            let one = |i| surface::normal(&t.corners(i, &t.points)).length();
            (0..t.triangles.len()).map(one).sum()
        };
        assert!((area(&template) - area(&fine)).abs() < 1e-9);
        assert!(fine.points.len() > template.points.len() + 40);
        assert!(fine.points.len() <= template.refined_points(&[3; 50]));
        // Borders keep their length: no inner edge has only one triangle.
        let border = |t: &Template| -> f64 {
            let normals = vec![DVec3::Z; t.triangles.len()];
            let edges = find_lines(&t.points, &t.triangles, &normals).edges;
            (edges.iter().map(|e| t.points[e[0] as usize].distance(t.points[e[1] as usize]))).sum()
        };
        assert!((border(&template) - border(&fine)).abs() < 1e-9);
        // Every triangle lies in the face that it is assigned to.
        for t in 0..fine.triangles.len() {
            let whole = template.corners(fine.face[t] as usize, &template.points);
            let middle = surface::middle(&fine.corners(t, &fine.points));
            assert!(surface::nearest_on_triangle(middle, &whole).distance(middle) < 1e-9);
        }
        // None is thin: the shortest edge is not below a fifth of the longest.
        for t in 0..fine.triangles.len() {
            let c = fine.corners(t, &fine.points);
            let sides = [c[0].distance(c[1]), c[1].distance(c[2]), c[2].distance(c[0])];
            assert!(sides.iter().all(|s| *s > 0.2 * sides.iter().copied().fold(0.0, f64::max)), "{sides:?}");
        }
    }
}
