//! Smoothing groups: the corners of a mesh that share a normal.

use super::polygons::{NO_INDEX, Polygons, is_usable};
use super::rings;
use glam::DVec3;

impl Polygons {
    /// Returns the smoothing group of each corner, and the number of groups. A group is a point (at faces
    /// with an opposite face on the same points, each side of it), or, with a crease angle in degrees, the
    /// corners of a point that are connected over edges less sharp than that; [`NO_INDEX`] where unusable
    /// points leave it open.
    pub fn groups(&self, positions: &[[f32; 3]], crease: Option<f64>) -> (Vec<u32>, usize) {
        let Some(angle) = crease.filter(|a| *a < 180.0) else {
            let mut group: Vec<u32> = (0..self.point.len() as u32).collect();
            return match rings::join_by_side(self, &mut |a, b| join(&mut group, a, b)) {
                true => self.numbered(group),
                false => (self.point.clone(), self.points),
            };
        };
        let limit = angle.max(0.0).to_radians().cos().min(1.0 - 1e-12);
        let normals: Vec<Option<DVec3>> =
            self.faces.iter().map(|f| self.face_normal(positions, f).try_normalize()).collect();
        // Both points, the corners at which the edge begins and ends, and the face.
        let mut edges: Vec<(u32, u32, u32, u32, u32)> = Vec::new();
        for (f, face) in self.faces.iter().enumerate() {
            let range = face.corners();
            for c in range.clone() {
                let d = if c + 1 == range.end { range.start } else { c + 1 };
                let (a, b) = (self.point[c], self.point[d]);
                edges.push((a.min(b), a.max(b), c as u32, d as u32, f as u32));
            }
        }
        edges.sort_unstable();
        let mut group: Vec<u32> = (0..self.point.len() as u32).collect();
        for pair in edges.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
            let &[(a, b, c1, d1, f1), (_, _, c2, d2, f2)] = pair else {
                continue;
            };
            if a == b || self.point[c1 as usize] == self.point[c2 as usize] {
                continue;
            }
            let hard = match (normals[f1 as usize], normals[f2 as usize]) {
                (Some(n), Some(m)) => n.dot(m) < limit,
                _ => false,
            };
            if !hard {
                join(&mut group, c1, d2);
                join(&mut group, d1, c2);
            }
        }
        let (mut numbers, count) = self.numbered(group);
        let mut open = vec![false; self.points];
        for face in &self.faces {
            let points = &self.point[face.corners()];
            if !points.iter().all(|&p| is_usable(positions[p as usize])) {
                points.iter().for_each(|&p| open[p as usize] = true);
            }
        }
        for (number, &point) in numbers.iter_mut().zip(&self.point) {
            if point != NO_INDEX && open[point as usize] {
                *number = NO_INDEX;
            }
        }
        (numbers, count)
    }

    /// Numbers the sets of a union-find over corners; returns the number of each corner's set, and how many
    /// there are.
    fn numbered(&self, mut group: Vec<u32>) -> (Vec<u32>, usize) {
        let mut count = 0;
        let mut number = vec![NO_INDEX; self.point.len()];
        for c in 0..self.point.len() as u32 {
            if self.point[c as usize] == NO_INDEX {
                continue;
            }
            let root = find(&mut group, c) as usize;
            if number[root] == NO_INDEX {
                number[root] = count;
                count += 1;
            }
            number[c as usize] = number[root];
        }
        (number, count as usize)
    }
}

fn find(group: &mut [u32], mut c: u32) -> u32 {
    while group[c as usize] != c {
        group[c as usize] = group[group[c as usize] as usize];
        c = group[c as usize];
    }
    c
}

fn join(group: &mut [u32], a: u32, b: u32) {
    let (a, b) = (find(group, a), find(group, b));
    group[a.max(b) as usize] = a.min(b);
}
