//! Polygons for writers: finds the usable ones and triangulates them for formats of triangles only.

use glam::{DVec2, DVec3};
use meshreel_scene::sample::Faces;

/// Faces with at least three corners, all of which refer to a point.
pub(crate) struct UsableFaces {
    /// Index in the file, first corner, number of corners.
    pub list: Vec<(u32, u32, u32)>,
    /// Number of faces left out although they have enough corners.
    pub broken: usize,
}

/// Checks every face.
pub(crate) fn usable_faces(faces: &Faces, points: usize) -> UsableFaces {
    let mut out = UsableFaces { list: Vec::with_capacity(faces.counts.len()), broken: 0 };
    let mut first = 0usize;
    for (number, &count) in faces.counts.iter().enumerate() {
        let count = count.max(0) as usize;
        let Some(indices) = faces.indices.get(first..first + count) else {
            out.broken += 1;
            break;
        };
        if count >= 3 {
            if indices.iter().all(|&i| i >= 0 && (i as usize) < points) {
                out.list.push((number as u32, first as u32, count as u32));
            } else {
                out.broken += 1;
            }
        }
        first += count;
    }
    out
}

/// Largest polygon for ear clipping, which is cubic at worst; larger ones become fans.
const MAX_EAR_CLIPPING_CORNERS: usize = 512;

/// Splits one polygon into triangles of corner indices (0 is its first corner), and keeps its winding.
pub(crate) fn triangulate(points: &[[f32; 3]], mut emit: impl FnMut([u32; 3])) {
    let n = points.len();
    let at = |i: usize| DVec3::from_array(points[i].map(f64::from));
    // Newell's normal: the sum over edges; its length is twice the area.
    let normal: DVec3 = (0..n).map(|i| (at(i) - at(0)).cross(at((i + 1) % n) - at(0))).sum();
    let plane = normal.try_normalize().filter(|_| (4..=MAX_EAR_CLIPPING_CORNERS).contains(&n));
    let Some(normal) = plane else {
        (1..n.saturating_sub(1)).for_each(|i| emit([0, i as u32, i as u32 + 1]));
        return;
    };
    let (x, y) = normal.any_orthonormal_pair();
    let flat: Vec<DVec2> =
        (0..n).map(|i| DVec2::new((at(i) - at(0)).dot(x), (at(i) - at(0)).dot(y))).collect();
    let turn = |a: u32, b: u32, c: u32| {
        (flat[b as usize] - flat[a as usize]).perp_dot(flat[c as usize] - flat[a as usize])
    };
    let mut left: Vec<u32> = (0..n as u32).collect();
    while left.len() > 3 {
        let m = left.len();
        let corner = |i: usize| (left[(i + m - 1) % m], left[i], left[(i + 1) % m]);
        let is_ear = |i: usize| {
            let (a, b, c) = corner(i);
            let inside = |p: u32| {
                let other = ![a, b, c].contains(&p)
                    && ![a, b, c].iter().any(|&q| flat[q as usize] == flat[p as usize]);
                other && turn(a, b, p) >= 0.0 && turn(b, c, p) >= 0.0 && turn(c, a, p) >= 0.0
            };
            turn(a, b, c) > 0.0 && !left.iter().any(|&p| inside(p))
        };
        // A convex quad is split along its shorter diagonal; other polygons at the first ear, or, if there is
        // none, at any corner.
        let ear = if m == 4 && (0..4).all(is_ear) {
            let cut =
                |i: usize| at(left[(i + 3) % 4] as usize).distance_squared(at(left[(i + 1) % 4] as usize));
            usize::from(cut(0) >= cut(1))
        } else {
            (0..m).find(|&i| is_ear(i)).unwrap_or(0)
        };
        let (a, b, c) = corner(ear);
        emit([a, b, c]);
        left.remove(ear);
    }
    emit([left[0], left[1], left[2]]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(points: &[[f32; 3]]) -> (f64, usize) {
        let (mut sum, mut count) = (0.0, 0);
        triangulate(points, |t| {
            let [a, b, c] = t.map(|i| DVec3::from_array(points[i as usize].map(f64::from)));
            sum += (b - a).cross(c - a).z / 2.0;
            assert!((b - a).cross(c - a).z >= 0.0, "{t:?} is turned over");
            count += 1;
        });
        (sum, count)
    }

    #[test]
    fn concave_faces_keep_their_area() {
        let l = [[0., 0., 0.], [2., 0., 0.], [2., 1., 0.], [1., 1., 0.], [1., 2., 0.], [0., 2., 0.]];
        for shift in 0..6 {
            let mut l = l;
            l.rotate_left(shift);
            assert_eq!(area(&l), (3.0, 4));
        }
        let arrow = [[0., 0., 0.], [1., 2., 0.], [0., 0.5, 0.], [-1., 2., 0.]];
        for shift in 0..4 {
            let mut arrow = arrow;
            arrow.rotate_left(shift);
            assert_eq!(area(&arrow), (0.5, 2));
        }
    }

    #[test]
    fn any_face_gives_two_triangles_less_than_corners() {
        for points in [
            vec![[0.0; 3]; 5],
            vec![[f32::NAN; 3]; 6],
            vec![[f32::MAX; 3]; 4],
            vec![[1.0; 3]; 5000],
            vec![[0.0; 3]; 3],
        ] {
            let mut count = 0;
            triangulate(&points, |t| {
                assert!(t.iter().all(|&i| (i as usize) < points.len()));
                count += 1;
            });
            assert_eq!(count, points.len() - 2);
        }
        let bow = [[0., 0., 0.], [1., 1., 0.], [1., 0., 0.], [0., 1., 0.], [0.5, 3., 0.]];
        let mut count = 0;
        triangulate(&bow, |_| count += 1);
        assert_eq!(count, 3);
    }

    #[test]
    fn broken_faces_are_counted() {
        let faces = Faces { counts: vec![3, -1, 2, 3, 4], indices: vec![0, 1, 2, 0, 1, 0, 1, 9, 0] };
        let usable = usable_faces(&faces, 3);
        assert_eq!(usable.list, [(0, 0, 3)]);
        assert_eq!(usable.broken, 2);
    }
}
