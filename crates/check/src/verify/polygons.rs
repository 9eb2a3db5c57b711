//! The source's faces for a checker: which of them are usable, where their corners are, and smooth normals
//! computed from them. Written a second time from the definitions, on purpose: the compiler's code must not
//! check itself.
//!
//! A face is usable with at least three corners that all name points; one that runs past the corner list ends
//! the list. Smooth normals are angle-weighted (G. Thürmer, C. Wüthrich, 1998) on polygons, with Newell
//! normals per face.

use glam::DVec3;
use meshreel_extract::convert;
use meshreel_scene::Winding;
use meshreel_scene::sample::{self, Faces};

/// Usable faces of a mesh at one time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Polygons {
    /// Number, first corner and number of corners of each usable face, in order.
    pub faces: Vec<Polygon>,
    /// Point per corner of the file; [`NO_INDEX`] for corners of unusable faces.
    pub point: Vec<u32>,
    /// Face number per corner of the file; [`NO_INDEX`] for corners of unusable faces.
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
pub(crate) const NO_INDEX: u32 = u32::MAX;

/// If weighted unit normals add up to no more than this fraction of the sum of their weights, they cancel
/// each other: the direction of the surface is undefined there (PROMISE.md §1).
const CANCELLED: f64 = 1e-6;

impl Polygon {
    pub fn corners(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

impl Polygons {
    pub fn new(raw: &Faces, points: usize, winding: Winding) -> Polygons {
        let corners = raw.indices.len().min(NO_INDEX as usize - 1);
        let mut out = Polygons {
            point: vec![NO_INDEX; raw.indices.len()],
            face: vec![NO_INDEX; raw.indices.len()],
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

    /// Returns the number of triangles of the usable faces.
    pub fn triangles(&self) -> usize {
        self.faces.iter().map(|f| f.count as usize - 2).sum()
    }

    /// Returns the unit normal of each group, pointing outside; `None` if it is undefined (no area, normals
    /// that cancel each other, or an unusable point).
    pub fn normals(&self, positions: &[[f32; 3]], groups: &[u32], count: usize) -> Vec<Option<DVec3>> {
        let mut sums = vec![DVec3::ZERO; count];
        let mut weights = vec![0.0; count];
        let all_usable = positions.iter().all(|p| is_usable(*p));
        let mut corners = WeightedCorners::default();
        let mut points: Vec<DVec3> = Vec::new();
        for face in &self.faces {
            let own = &self.point[face.corners()];
            let groups = &groups[face.corners()];
            points.clear();
            points.extend(own.iter().map(|&p| place(positions, p)));
            let bad = !all_usable && own.iter().any(|&p| !is_usable(positions[p as usize]));
            match area_normal(points.iter().copied()).try_normalize().filter(|_| !bad) {
                Some(unit) => corners.add(&points, groups, unit),
                None if bad => {
                    for &g in groups.iter().filter(|g| **g != NO_INDEX) {
                        sums[g as usize] = DVec3::NAN;
                    }
                }
                None => {}
            }
            if corners.group.len() >= BLOCK {
                corners.weigh(&mut sums, &mut weights);
            }
        }
        corners.weigh(&mut sums, &mut weights);
        let normal = |(sum, weight): (DVec3, f64)| {
            let clear = sum.length() > CANCELLED * weight;
            let unit = sum.try_normalize().filter(|_| clear);
            unit.map(|n| n * f64::from(self.turn))
        };
        sums.into_iter().zip(weights).map(normal).collect()
    }

    /// Returns the normal times twice the area, following the file's winding.
    pub fn face_normal(&self, positions: &[[f32; 3]], face: &Polygon) -> DVec3 {
        area_normal(self.point[face.corners()].iter().map(|&p| place(positions, p)))
    }
}

/// Returns the normal of a face times twice its area, from its points in order.
fn area_normal(mut points: impl Iterator<Item = DVec3>) -> DVec3 {
    let (Some(origin), Some(second)) = (points.next(), points.next()) else { return DVec3::ZERO };
    let (mut sum, mut before) = (DVec3::ZERO, second - origin);
    for point in points {
        let here = point - origin;
        sum += before.cross(here);
        before = here;
    }
    sum
}

/// `true` if coordinates can be compared: finite, and so small that distances are finite.
pub(crate) fn is_usable(p: [f32; 3]) -> bool {
    sample::is_usable_point(&p)
}

/// Number of corners whose angles are computed at once.
const BLOCK: usize = 1024;

/// Corners of faces whose normals are to be summed. Computing the angles is most of the work of smooth
/// normals.
#[derive(Default)]
struct WeightedCorners {
    /// Unit normal of each face, and the number of its corners.
    faces: Vec<(DVec3, usize)>,
    group: Vec<u32>,
    /// Square of the sine, and the cosine, both scaled by the lengths of the edges at the corner.
    sine_squared: Vec<f64>,
    cosine: Vec<f64>,
    /// Corners whose angle inside the face is more than half a turn.
    turned: Vec<usize>,
}

impl WeightedCorners {
    /// Adds the corners of a face.
    fn add(&mut self, points: &[DVec3], groups: &[u32], unit: DVec3) {
        let [first, .., last] = points else { return };
        let mut before = *last;
        let next = points[1..].iter().chain([first]);
        for (&here, &next) in points.iter().zip(next) {
            // Differences from the corner: the sign of a zero decides whether a corner without an edge has an
            // angle of 0 or of half a turn.
            let (back, after) = (before - here, next - here);
            let cross = after.cross(back);
            let sine_squared = cross.length_squared();
            // A corner perpendicular to its face has no orientation.
            let away = -cross.dot(unit);
            let turned = away > 0.0 && away * away > 1e-18 * sine_squared;
            if turned && sine_squared > 1e-18 * back.length_squared() * after.length_squared() {
                self.turned.push(self.cosine.len());
            }
            self.sine_squared.push(sine_squared);
            self.cosine.push(after.dot(back));
            before = here;
        }
        self.group.extend_from_slice(groups);
        self.faces.push((unit, groups.len()));
    }

    /// Adds the unit normals, weighted by angle, to the sums of their groups, and clears the list.
    fn weigh(&mut self, sums: &mut [DVec3], weights: &mut [f64]) {
        let angles = &mut self.sine_squared;
        for (sine, &cosine) in angles.iter_mut().zip(&self.cosine) {
            *sine = arc_tangent(sine.sqrt(), cosine);
        }
        for &corner in &self.turned {
            angles[corner] = std::f64::consts::TAU - angles[corner];
        }
        let mut corners = self.group.iter().zip(&*angles);
        for &(unit, count) in &self.faces {
            for (&group, &angle) in corners.by_ref().take(count) {
                if group != NO_INDEX {
                    sums[group as usize] += unit * angle;
                    weights[group as usize] += angle;
                }
            }
        }
        self.faces.clear();
        self.group.clear();
        self.sine_squared.clear();
        self.cosine.clear();
        self.turned.clear();
    }
}

/// Coefficients of the series of the arc tangent.
const SERIES: [f64; 13] = {
    let mut series = [0.0; 13];
    let mut k = 0;
    while k < 13 {
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        series[k] = sign / (2 * k + 1) as f64;
        k += 1;
    }
    series
};

/// Returns the angle, 0 to π, of the direction (`cosine`, `sine`), with `sine` not negative; within 1e-11. It
/// has no branches, so that compilers can vectorize it.
#[inline(always)]
fn arc_tangent(sine: f64, cosine: f64) -> f64 {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI, SQRT_2};
    let along = cosine.abs();
    let (low, high) = if sine <= along { (sine, along) } else { (along, sine) };
    // tan(π/8): above it, the angle from the diagonal is the smaller one.
    let steep = low > (SQRT_2 - 1.0) * high;
    let (up, by) = if steep { (low - high, low + high) } else { (low, high) };
    let tangent = up / if by == 0.0 { 1.0 } else { by };
    let s = tangent * tangent;
    let (s2, s4) = (s * s, s * s * (s * s));
    let four = |k: usize| (SERIES[k] + SERIES[k + 1] * s) + (SERIES[k + 2] + SERIES[k + 3] * s) * s2;
    let series = four(0) + (four(4) + (four(8) + SERIES[12] * s4) * s4) * s4;
    let angle = tangent * series + if steep { FRAC_PI_4 } else { 0.0 };
    let angle = if sine <= along { angle } else { FRAC_PI_2 - angle };
    if cosine.is_sign_negative() { PI - angle } else { angle }
}

fn place(positions: &[[f32; 3]], point: u32) -> DVec3 {
    convert::vector(positions[point as usize])
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
    fn angles_are_those_of_the_arc_tangent() {
        for step in 0..=1800 {
            let (sine, cosine) = (f64::from(step) / 1800.0 * std::f64::consts::PI).sin_cos();
            for length in [1e-18, 1.0, 1e18] {
                let (sine, cosine) = (sine.abs() * length, cosine * length);
                assert!((arc_tangent(sine, cosine) - sine.atan2(cosine)).abs() < 1e-11, "{step}");
            }
        }
        assert_eq!([arc_tangent(0.0, 0.0), arc_tangent(0.0, -0.0)], [0.0, std::f64::consts::PI]);
        assert!(arc_tangent(f64::NAN, 1.0).is_nan());
    }

    #[test]
    fn what_cancels_has_no_normal() {
        // A folded sheet: points 0 and 1 of the fold are between faces that look in opposite directions.
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
