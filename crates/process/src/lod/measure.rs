//! Measures the distance of a level from its mesh, over all frames.
//!
//! The place of a point of one surface on the other is found once, in all poses together: the nearest place
//! of a triangle, as weights of its corners, in the space that has all poses as its axes. In any frame the
//! distance to that place is at least the distance to the surface. So the measured error is never too small
//! at the points where it is measured: all vertices of the mesh, and the middles of the level's triangles and
//! edges. This also holds if not all triangles are examined.

use super::simplify::{HUB_TRIANGLES, apply_collapses};

/// A place on a triangle: its vertices, and the weights of the second and the third. Rounding the weights to
/// single precision never moves the place out of the triangle, nor off its plane.
type TrianglePoint = ([u32; 3], [f32; 2]);

/// A point of one surface with its place on the other.
struct PointPair {
    source: TrianglePoint,
    nearest: TrianglePoint,
}

/// The pairs of points that are measured in each frame.
pub struct DistanceMeasure {
    list: Vec<PointPair>,
    /// Largest squared distance so far.
    largest_squared: f64,
}

/// Triangles by point.
struct PointTriangles {
    start: Vec<u32>,
    list: Vec<u32>,
}

impl PointTriangles {
    /// Collects the triangles. `point`: by vertex, its point.
    fn new(triangles: &[[u32; 3]], point: &[u32], points: usize) -> PointTriangles {
        let mut start = vec![0u32; points + 1];
        let corners = || triangles.iter().flat_map(|t| t.map(|v| point[v as usize]));
        corners().for_each(|p| start[p as usize + 1] += 1);
        for p in 0..points {
            start[p + 1] += start[p];
        }
        let (mut at, mut list) = (start.clone(), vec![0; 3 * triangles.len()]);
        for (i, p) in corners().enumerate() {
            list[at[p as usize] as usize] = i as u32 / 3;
            at[p as usize] += 1;
        }
        PointTriangles { start, list }
    }

    fn triangles(&self, point: u32) -> &[u32] {
        let p = point as usize;
        &self.list[self.start[p] as usize..self.start[p + 1] as usize]
    }

    /// Returns the triangles of a point; none if it has very many: those of neighbouring points are nearer,
    /// and examining all of them from each would take time that grows with the square of their number.
    fn triangles_unless_hub(&self, point: u32) -> &[u32] {
        let all = self.triangles(point);
        if all.len() > HUB_TRIANGLES { &[] } else { all }
    }
}

impl DistanceMeasure {
    /// Prepares the measurement of a level whose vertices end at `ends`. `poses` are by point.
    pub fn new(
        triangles: &[[u32; 3]],
        point: &[u32],
        poses: &[Vec<[f32; 3]>],
        ends: &[u32],
    ) -> DistanceMeasure {
        let points = poses.first().map_or(0, Vec::len);
        let level: Vec<[u32; 3]> = apply_collapses(triangles, ends).collect();
        let (of_mesh, of_level) =
            (PointTriangles::new(triangles, point, points), PointTriangles::new(&level, point, points));
        let mut list = Vec::new();
        // One vertex of each point.
        let mut seen = vec![false; points];
        let mut near: Vec<u32> = Vec::new();
        // Points of the mesh, sorted by the point at which they ended.
        let mut ended: Vec<(u32, u32)> = Vec::new();
        for (v, &end) in ends.iter().enumerate() {
            let (own, end_point) = (point[v], point[end as usize]);
            if std::mem::replace(&mut seen[own as usize], true) {
                continue;
            }
            ended.push((end_point, own));
            if own == end_point || of_mesh.triangles(own).is_empty() {
                continue;
            }
            near.clear();
            for &t in of_level.triangles(end_point).iter().take(HUB_TRIANGLES) {
                let ring = level[t as usize].map(|v| point[v as usize]);
                near.push(t);
                near.extend(ring.iter().flat_map(|&p| of_level.triangles_unless_hub(p)));
            }
            near.sort_unstable();
            near.dedup();
            let v = v as u32;
            let own = ([v; 3], [0.0; 2]);
            let on = nearest(own, &near, &level, point, poses);
            let on = on.unwrap_or(([end; 3], [0.0; 2]));
            list.push(PointPair { source: own, nearest: on });
        }
        ended.sort_unstable();
        let cluster = |p: u32| {
            let from = ended.partition_point(|e| e.0 < p);
            ended[from..].iter().take_while(move |e| e.0 == p).map(|e| e.1)
        };
        const THIRD: f32 = 1.0 / 3.0;
        let samples = [[THIRD; 2], [0.5, 0.0], [0.5, 0.5], [0.0, 0.5]];
        for t in &level {
            near.clear();
            let corners = t.map(|v| point[v as usize]);
            near.extend(
                corners.iter().flat_map(|&p| cluster(p)).flat_map(|p| of_mesh.triangles_unless_hub(p)),
            );
            if near.is_empty() {
                near.extend(corners.iter().flat_map(|&p| of_mesh.triangles(p).iter().take(HUB_TRIANGLES)));
            }
            near.sort_unstable();
            near.dedup();
            for weights in samples {
                let own = (*t, weights);
                let on = nearest(own, &near, triangles, point, poses);
                list.extend(on.map(|on| PointPair { source: own, nearest: on }));
            }
        }
        DistanceMeasure { list, largest_squared: 0.0 }
    }

    /// Measures a frame; positions by vertex.
    pub fn measure_frame(&mut self, at: impl Fn(u32) -> [f32; 3]) {
        let place = |&(vertices, weights): &TrianglePoint| {
            on_triangle(vertices.map(|v| at(v).map(f64::from)), weights)
        };
        for bound in &self.list {
            let (a, b) = (place(&bound.source), place(&bound.nearest));
            let square: f64 = (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum();
            self.largest_squared = self.largest_squared.max(square);
        }
    }

    /// Returns the largest distance over all frames.
    pub fn error(&self) -> f64 {
        self.largest_squared.sqrt()
    }
}

fn on_triangle([a, b, c]: [[f64; 3]; 3], weights: [f32; 2]) -> [f64; 3] {
    let [v, w] = weights.map(f64::from);
    std::array::from_fn(|k| a[k] + v * (b[k] - a[k]) + w * (c[k] - a[k]))
}

/// Rounds a weight to single precision, not upwards.
fn narrow(weight: f64) -> f32 {
    let near = weight as f32;
    if f64::from(near) > weight { near.next_down() } else { near }
}

/// Returns the place on some triangles nearest to a point, in all poses together.
fn nearest(
    (vertices, weights): TrianglePoint,
    near: &[u32],
    triangles: &[[u32; 3]],
    point: &[u32],
    poses: &[Vec<[f32; 3]>],
) -> Option<TrianglePoint> {
    let mut best = None;
    let mut least = f64::INFINITY;
    for &t in near {
        let corners = triangles[t as usize];
        // Products of the vectors from the first corner to the others and to the point: they suffice, in any
        // number of dimensions.
        let (mut bb, mut bc, mut cc, mut bp, mut cp, mut pp) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        for pose in poses {
            let at = |v: u32| pose[point[v as usize] as usize].map(f64::from);
            let [a, b, c] = corners.map(at);
            let own = on_triangle(vertices.map(at), weights);
            for k in 0..3 {
                let (b, c, p) = (b[k] - a[k], c[k] - a[k], own[k] - a[k]);
                (bb, bc, cc) = (bb + b * b, bc + b * c, cc + c * c);
                (bp, cp, pp) = (bp + b * p, cp + c * p, pp + p * p);
            }
        }
        let (v, w) = inside(bb, bc, cc, bp, cp);
        let square = pp - 2.0 * (v * bp + w * cp) + v * v * bb + 2.0 * v * w * bc + w * w * cc;
        if square < least {
            least = square;
            best = Some((corners, [v, w].map(narrow)));
        }
    }
    best
}

/// Returns the weights of the second and third corner at the place of a triangle nearest to a point, from
/// products of the vectors b and c along its sides and p to the point.
fn inside(bb: f64, bc: f64, cc: f64, bp: f64, cp: f64) -> (f64, f64) {
    let along = |product: f64, square: f64| match square > 0.0 {
        true => (product / square).clamp(0.0, 1.0),
        false => 0.0,
    };
    let squared = |v: f64, w: f64| v * v * bb + 2.0 * v * w * bc + w * w * cc - 2.0 * (v * bp + w * cp);
    let area = bb * cc - bc * bc;
    if area > 1e-12 * bb * cc {
        let (v, w) = ((cc * bp - bc * cp) / area, (bb * cp - bc * bp) / area);
        if v >= 0.0 && w >= 0.0 && v + w <= 1.0 {
            return (v, w);
        }
    }
    // The nearest of the three sides.
    let third = along(cp - bp - bc + bb, bb - 2.0 * bc + cc);
    let sides = [(along(bp, bb), 0.0), (0.0, along(cp, cc)), (1.0 - third, third)];
    let mut best = sides[0];
    for side in sides {
        if squared(side.0, side.1) < squared(best.0, best.1) {
            best = side;
        }
    }
    best
}
