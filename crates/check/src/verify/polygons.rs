//! The source's faces as a checker sees them: which can be used, where their corners are, and smooth normals
//! computed from them. Written from the definitions again, on purpose: the compiler's code must not be its
//! own judge.
//!
//! A face is usable with at least three corners that all name points; one that runs past the corner list ends
//! the list. Smooth normals are angle-weighted (G. Thürmer, C. Wüthrich, 1998) on polygons, with Newell
//! normals per face.

use crate::double;
use glam::DVec3;
use meshreel_scene::Winding;
use meshreel_scene::sample::Faces;

/// Usable faces of a mesh at one time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Polygons {
    /// Number, first corner and number of corners of each usable face, in order.
    pub faces: Vec<Polygon>,
    /// Point per corner of the file; [`NONE`] for corners of unusable faces.
    pub point: Vec<u32>,
    /// Face number per corner of the file; [`NONE`] for corners of unusable faces.
    pub face: Vec<u32>,
    /// Points of the mesh.
    pub points: usize,
    /// Faces of the file.
    pub total: usize,
    /// The file's winding: +1 counter-clockwise, −1 clockwise.
    pub turn: i8,
}

/// One face.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polygon {
    pub number: u32,
    pub first: u32,
    pub count: u32,
}

/// Stands for no point and no face.
pub(crate) const NONE: u32 = u32::MAX;

/// Weighted unit normals that sum up to no more than this part of the sum of their weights cancel each other:
/// nothing says which way the surface looks there (PROMISE.md §1).
const CANCELLED: f64 = 1e-6;

impl Polygon {
    pub fn corners(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

impl Polygons {
    pub fn new(raw: &Faces, points: usize, winding: Winding) -> Polygons {
        let corners = raw.indices.len().min(NONE as usize - 1);
        let mut out = Polygons {
            point: vec![NONE; raw.indices.len()],
            face: vec![NONE; raw.indices.len()],
            points,
            total: raw.counts.len(),
            turn: if winding == Winding::Clockwise { -1 } else { 1 },
            ..Polygons::default()
        };
        let mut first = 0usize;
        for (number, &count) in raw.counts.iter().enumerate() {
            let count = usize::try_from(count).unwrap_or(0);
            let Some(end) = first.checked_add(count).filter(|&end| end <= corners) else {
                break;
            };
            let own = &raw.indices[first..end];
            let names_points = own.iter().all(|&p| usize::try_from(p).is_ok_and(|p| p < points));
            if count >= 3 && names_points {
                for (c, &p) in (first..end).zip(own) {
                    out.point[c] = p as u32;
                    out.face[c] = number as u32;
                }
                out.faces.push(Polygon { number: number as u32, first: first as u32, count: count as u32 });
            }
            first = end;
        }
        out
    }

    /// Triangles that the faces give.
    pub fn triangles(&self) -> usize {
        self.faces.iter().map(|f| f.count as usize - 2).sum()
    }

    /// Unit normal of each group, pointing outside; none where nothing says which (no area, normals that
    /// cancel each other, or a point that is not usable).
    pub fn normals(&self, positions: &[[f32; 3]], groups: &[u32], count: usize) -> Vec<Option<DVec3>> {
        let mut sums = vec![DVec3::ZERO; count];
        let mut weights = vec![0.0; count];
        for face in &self.faces {
            let normal = self.face_normal(positions, face);
            let bad = self.point[face.corners()].iter().any(|&p| !usable(positions[p as usize]));
            let Some(unit) = normal.try_normalize().filter(|_| !bad) else {
                if bad {
                    for &g in groups[face.corners()].iter().filter(|g| **g != NONE) {
                        sums[g as usize] = DVec3::NAN;
                    }
                }
                continue;
            };
            let n = face.count as usize;
            let at = |i: usize| place(positions, self.point[face.first as usize + i]);
            for i in 0..n {
                let (before, here, after) = (at((i + n - 1) % n), at(i), at((i + 1) % n));
                let group = groups[face.first as usize + i] as usize;
                if group == NONE as usize {
                    continue;
                }
                let weight = inner_angle(before - here, after - here, unit);
                sums[group] += unit * weight;
                weights[group] += weight;
            }
        }
        let normal = |(sum, weight): (DVec3, f64)| {
            let clear = sum.length() > CANCELLED * weight;
            let unit = sum.try_normalize().filter(|_| clear);
            unit.map(|n| n * f64::from(self.turn))
        };
        sums.into_iter().zip(weights).map(normal).collect()
    }

    /// Twice the area times the normal, following the file's winding.
    pub fn face_normal(&self, positions: &[[f32; 3]], face: &Polygon) -> DVec3 {
        let points = &self.point[face.corners()];
        let origin = place(positions, points[0]);
        points
            .windows(2)
            .map(|e| (place(positions, e[0]) - origin).cross(place(positions, e[1]) - origin))
            .sum()
    }
}

/// Whether coordinates can be compared: finite, and so small that distances are finite.
pub(crate) fn usable(p: [f32; 3]) -> bool {
    p.iter().all(|v| v.abs() <= 1e18)
}

/// Angle inside a face with normal `n` between the edges to the corners before and after.
fn inner_angle(before: DVec3, after: DVec3, n: DVec3) -> f64 {
    let cross = after.cross(before);
    let (sine, cosine) = (cross.length(), after.dot(before));
    let angle = sine.atan2(cosine);
    let flat = sine <= 1e-9 * (before.length_squared() * after.length_squared()).sqrt();
    if !flat && cross.dot(n) < 0.0 { std::f64::consts::TAU - angle } else { angle }
}

fn place(positions: &[[f32; 3]], point: u32) -> DVec3 {
    double::vector(positions[point as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube() -> (Vec<[f32; 3]>, Faces) {
        let points = (0..8).map(|i| [0, 1, 2].map(|k| if i >> k & 1 == 1 { 1.0 } else { -1.0 }));
        let faces = Faces {
            counts: vec![4; 6],
            indices: vec![0, 2, 3, 1, 4, 5, 7, 6, 0, 1, 5, 4, 2, 6, 7, 3, 0, 4, 6, 2, 1, 3, 7, 5],
        };
        (points.collect(), faces)
    }

    #[test]
    fn smooth_and_hard_cube() {
        let (points, raw) = cube();
        for (winding, sign) in [(Winding::CounterClockwise, 1.0), (Winding::Clockwise, -1.0)] {
            let polygons = Polygons::new(&raw, 8, winding);
            assert_eq!(polygons.triangles(), 12);
            let (groups, count) = polygons.groups(&points, None);
            assert_eq!(count, 8);
            for (i, n) in polygons.normals(&points, &groups, count).iter().enumerate() {
                let expected = place(&points, i as u32).normalize() * sign;
                assert!((n.unwrap() - expected).length() < 1e-12);
            }
            let (groups, count) = polygons.groups(&points, Some(60.0));
            assert_eq!(count, 24);
            let normals = polygons.normals(&points, &groups, count);
            assert!((normals[groups[0] as usize].unwrap() - DVec3::NEG_Z * sign).length() < 1e-12);
            assert_eq!(polygons.groups(&points, Some(100.0)).1, 8);
        }
    }

    #[test]
    fn what_cancels_has_no_normal() {
        // A folded sheet: points 0 and 1 of the fold lie between faces that look opposite ways.
        let raw = Faces { counts: vec![4; 2], indices: vec![0, 1, 2, 3, 1, 0, 5, 4] };
        let polygons = Polygons::new(&raw, 6, Winding::CounterClockwise);
        let normals = |open: f32| {
            let far = [[0.3, 0.9, 0.1], [0.3, 0.1, 0.1]];
            let other = far.map(|[x, y, z]: [f32; 3]| [x, y, z + open]);
            let points = [[[0.0; 3], [0.0, 1.0, 0.0]], far, other].concat();
            let (groups, count) = polygons.groups(&points, None);
            polygons.normals(&points, &groups, count)
        };
        let closed = normals(0.0);
        assert!(closed[0].is_none() && closed[1].is_none() && closed[2..].iter().all(Option::is_some));
        assert!(normals(1e-8)[0].is_none());
        assert!(normals(1e-4).iter().all(Option::is_some));
    }

    #[test]
    fn unusable_faces_and_points() {
        let raw = Faces { counts: vec![3, 2, -1, 3, 3, 9], indices: vec![0, 1, 2, 0, 1, 0, 1, 7, 2, 1, 3] };
        let polygons = Polygons::new(&raw, 4, Winding::CounterClockwise);
        let numbers: Vec<u32> = polygons.faces.iter().map(|f| f.number).collect();
        assert_eq!(numbers, [0, 4]);
        assert_eq!(polygons.face[8..11], [4; 3]);
        let points = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [f32::NAN; 3]];
        let (groups, count) = polygons.groups(&points, None);
        let normals = polygons.normals(&points, &groups, count);
        assert!(normals[0].is_some() && normals[1].is_none() && normals[3].is_none());
    }
}
