//! Triangles that are invisible from outside while pieces stand together, or when they have come to rest:
//! surfaces between stones before a wall bursts, and the undersides of fallen stones. Nothing is hidden while
//! it, or the piece that hides it, moves.
//!
//! ```text
//! piece      triangles that hang together; still before it leaves its place in the first frame by more than the tolerance, and after it has reached its place in the last
//! covered    a point of a triangle through which, a hair before it or behind, the surface of another piece passes that faces it; one of the two is closed
//! enclosed   a point from which all of many ways out, in all directions to which the triangle faces, end at the inner side of a surface
//! hidden     all of many points of a triangle are covered or enclosed by what is still as long: as long as the shortest of these stays
//! ```

mod tree;

use crate::frame_set::FrameSet;
use crate::{Cancellation, Cancelled};
use glam::DVec3;
use rayon::prelude::*;
use tree::{ComponentTriangle, RayTree};

/// The least and the largest number of points along the longest side of a triangle, besides those near its
/// corners and the middles of its sides.
const POINTS_PER_SIDE: [f64; 2] = [3.0, 24.0];
/// Elevations over the triangle of the rays that look for a way out, in degrees, and the number of rays
/// around at each.
const RAY_ELEVATIONS: [f64; 5] = [2.0, 8.0, 20.0, 38.0, 62.0];
const RAYS_PER_ELEVATION: usize = 12;
/// The largest distance of near surfaces, as a fraction of the piece's size.
const MAX_NEAR_FRACTION: f64 = 0.02;
/// Surfaces face each other if the cosine between their normals is at most this.
const MAX_FACING_COSINE: f64 = -0.5;

/// Reads the points of a body (the second number) in a frame (the first), in world space.
pub type ReadPoints<'a, E> = dyn FnMut(usize, usize, &mut Vec<DVec3>) -> Result<(), E> + 'a;

/// An interval of frames: the first, and the first one after it.
pub type Interval = [u32; 2];

/// A placed mesh.
pub struct Body<'a> {
    /// Three vertices per triangle.
    pub triangles: &'a [[u32; 3]],
    /// By vertex, its index in the points that are read.
    pub vertex_point: &'a [u32],
    /// By vertex, its point, numbered without gaps: vertices that coincide in all frames share one.
    pub point: Vec<u32>,
    /// The largest distance that it may move and still count as standing still.
    pub rest_tolerance: f64,
    /// Frames in which it is visible.
    pub visible: &'a FrameSet,
    /// `true` if its hidden triangles are wanted; it hides others in any case.
    pub wanted: bool,
}

/// A body, its pieces, and its positions at both ends.
struct BodyEnds<'a> {
    body: &'a Body<'a>,
    /// By triangle, the number of its piece, counted over all bodies.
    component: Vec<u32>,
    /// Points in the first and the last frame, in world space.
    end_positions: [Vec<DVec3>; 2],
}

/// Finds, by body and triangle, the frames in which it can be seen; all frames if the body is not wanted.
/// `read` returns the points of a body in world space in a frame; frames come in order, with all bodies of a
/// frame one after the other.
pub fn visible_intervals<E: From<Cancelled>>(
    bodies: &[Body<'_>],
    frames: u32,
    read: &mut ReadPoints<'_, E>,
    cancellation: &Cancellation,
) -> Result<Vec<Vec<Interval>>, E> {
    let (mut placed, mut pieces) = (Vec::new(), Vec::new());
    for body in bodies {
        let (own, closed) = connected_components(body.triangles, &body.point);
        let first = pieces.len() as u32;
        pieces.extend(closed.iter().map(|&closed| Component { leaves: frames, rests: 0, closed, near: 0.0 }));
        let piece = own.iter().map(|p| p + first).collect();
        placed.push(BodyEnds { body, component: piece, end_positions: Default::default() });
    }
    for (end, frame) in [(0, 0), (1, frames as usize - 1)] {
        for (b, placed) in placed.iter_mut().enumerate() {
            read(frame, b, &mut placed.end_positions[end])?;
        }
    }
    measure_components(&placed, frames, read, &mut pieces)?;
    let side = sample_spacing(&placed);
    let mut when: Vec<Vec<Interval>> =
        (placed.iter()).map(|body| vec![[0, frames]; body.component.len()]).collect();
    for end in 0..2 {
        // The number of frames for which a piece stands still at this end.
        let stays = |piece: u32| match end {
            0 => pieces[piece as usize].leaves,
            _ => frames - pieces[piece as usize].rests,
        };
        let scene = EndScene {
            tree: RayTree::new(component_triangles(&placed, end, |piece| stays(piece) >= 2)),
            components: &pieces,
            stays: &stays,
            spacing: side,
        };
        for (placed, when) in placed.iter().zip(&mut when).filter(|(placed, _)| placed.body.wanted) {
            let triangles = (0..placed.component.len()).into_par_iter();
            let hidden = triangles.map(|t| {
                cancellation.check()?;
                Ok(scene.hidden(placed, end, t))
            });
            let hidden: Vec<u32> = hidden.collect::<Result<_, Cancelled>>()?;
            for (when, hidden) in when.iter_mut().zip(hidden).filter(|(_, h)| *h >= 2) {
                match end {
                    0 => when[0] = hidden,
                    _ => when[1] = frames - hidden,
                }
            }
        }
    }
    Ok(when)
}

/// A piece of a body.
#[derive(Clone, Copy)]
struct Component {
    /// The first frame in which it has left its first position …
    leaves: u32,
    /// … and the first from which on it has its last position.
    rests: u32,
    /// `true` if every edge has a triangle on either side.
    closed: bool,
    /// Half the largest distance of near surfaces.
    near: f64,
}

/// Returns the piece of each triangle, and whether each piece is closed.
fn connected_components(triangles: &[[u32; 3]], point: &[u32]) -> (Vec<u32>, Vec<bool>) {
    let mut root: Vec<u32> = (0..point.len() as u32).collect();
    fn find(root: &mut [u32], mut at: u32) -> u32 {
        while root[at as usize] != at {
            root[at as usize] = root[root[at as usize] as usize];
            at = root[at as usize];
        }
        at
    }
    for t in triangles {
        let [a, b, c] = t.map(|v| point[v as usize]);
        for (a, b) in [(a, b), (a, c)] {
            let (a, b) = (find(&mut root, a), find(&mut root, b));
            root[a.max(b) as usize] = a.min(b);
        }
    }
    let mut number = vec![u32::MAX; point.len()];
    let (mut piece, mut closed) = (Vec::new(), Vec::new());
    for t in triangles {
        let root = find(&mut root, point[t[0] as usize]) as usize;
        if number[root] == u32::MAX {
            number[root] = closed.len() as u32;
            closed.push(true);
        }
        piece.push(number[root]);
    }
    let mut edges: Vec<(u32, u32, i32, u32)> = Vec::new();
    for (t, &piece) in triangles.iter().zip(&piece) {
        let t = t.map(|v| point[v as usize]);
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            edges.push((a.min(b), a.max(b), if a < b { 1 } else { -1 }, piece));
        }
    }
    edges.sort_unstable();
    for same in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        if same.iter().map(|e| e.2).sum::<i32>() != 0 {
            closed[same[0].3 as usize] = false;
        }
    }
    (piece, closed)
}

/// Examines all frames: how long pieces stand still at both ends, and how large they are.
fn measure_components<E>(
    bodies: &[BodyEnds<'_>],
    frames: u32,
    read: &mut ReadPoints<'_, E>,
    pieces: &mut [Component],
) -> Result<(), E> {
    let mut low = vec![DVec3::INFINITY; pieces.len()];
    let mut high = vec![DVec3::NEG_INFINITY; pieces.len()];
    for placed in bodies {
        let body = placed.body;
        for (t, &piece) in body.triangles.iter().zip(&placed.component) {
            for v in t {
                let p = placed.end_positions[0][body.vertex_point[*v as usize] as usize];
                low[piece as usize] = p.min(low[piece as usize]);
                high[piece as usize] = p.max(high[piece as usize]);
            }
        }
        for &piece in &placed.component {
            let size = (high[piece as usize] - low[piece as usize]).length();
            // Decoded points may be off on both sides.
            pieces[piece as usize].near = (2.0 * body.rest_tolerance).min(MAX_NEAR_FRACTION * size);
        }
    }
    let mut now = Vec::new();
    for frame in 0..frames as usize {
        for (b, placed) in bodies.iter().enumerate() {
            let body = placed.body;
            let shown = body.visible.contains(frame);
            read(frame, b, &mut now)?;
            for (t, &piece) in body.triangles.iter().zip(&placed.component) {
                let piece = &mut pieces[piece as usize];
                let away = |end: usize| {
                    let points = t.iter().map(|&v| body.vertex_point[v as usize] as usize);
                    let mut far = points.map(|p| now[p].distance(placed.end_positions[end][p]));
                    // A NaN counts as far.
                    !far.all(|d| d <= body.rest_tolerance)
                };
                if piece.leaves as usize > frame && (!shown || away(0)) {
                    piece.leaves = frame as u32;
                }
                if !shown || away(1) {
                    piece.rests = frame as u32 + 1;
                }
            }
        }
    }
    Ok(())
}

/// Returns the distance of the tested points on a triangle: a quarter of the usual side of a triangle.
fn sample_spacing(bodies: &[BodyEnds<'_>]) -> f64 {
    let mut sides: Vec<f64> = Vec::new();
    for body in bodies {
        for t in body.body.triangles {
            let [a, b, c] = corners(body, 0, t);
            sides.push(a.distance(b).max(b.distance(c)).max(c.distance(a)));
        }
    }
    sides.retain(|s| s.is_finite() && *s > 0.0);
    sides.sort_unstable_by(f64::total_cmp);
    sides.get(sides.len() / 2).map_or(1.0, |s| s / 4.0)
}

fn corners(placed: &BodyEnds<'_>, end: usize, t: &[u32; 3]) -> [DVec3; 3] {
    t.map(|v| placed.end_positions[end][placed.body.vertex_point[v as usize] as usize])
}

fn component_triangles(
    bodies: &[BodyEnds<'_>],
    end: usize,
    wanted: impl Fn(u32) -> bool,
) -> Vec<ComponentTriangle> {
    let mut out = Vec::new();
    for body in bodies {
        let triangles = body.body.triangles.iter();
        for (t, &piece) in triangles.zip(&body.component).filter(|(_, p)| wanted(**p)) {
            let corners = corners(body, end, t);
            if corners.iter().all(|c| c.is_finite()) {
                out.push(ComponentTriangle { corners, component: piece });
            }
        }
    }
    out
}

/// All pieces that stand still at one end.
struct EndScene<'a, F> {
    tree: RayTree,
    components: &'a [Component],
    stays: &'a F,
    spacing: f64,
}

impl<F: Fn(u32) -> u32> EndScene<'_, F> {
    /// Returns the number of frames for which a triangle is invisible.
    fn hidden(&self, body: &BodyEnds<'_>, end: usize, t: usize) -> u32 {
        let piece = body.component[t];
        let own = (self.stays)(piece);
        if own < 2 {
            return 0;
        }
        let [a, b, c] = corners(body, end, &body.body.triangles[t]);
        let Some(normal) = (b - a).cross(c - a).try_normalize() else {
            return 0;
        };
        let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
        let n = (longest / self.spacing).ceil().clamp(POINTS_PER_SIDE[0], POINTS_PER_SIDE[1]) as usize;
        let mut least = own;
        let mut look = |weights: [f64; 3]| {
            let [u, v, w] = weights;
            let p = a * u + b * v + c * w;
            if least < 2 {
                return;
            }
            let covered = self.covered(p, normal, piece);
            if covered < least {
                least = covered.max(self.enclosed(p, normal, piece, least));
            }
        };
        // Points near corners and sides first: there triangles are most often visible.
        let edge = 1e-3;
        for k in 0..3 {
            let mut corner = [edge; 3];
            corner[k] = 1.0 - 2.0 * edge;
            look(corner);
            let mut side = [(1.0 - edge) / 2.0; 3];
            side[k] = edge;
            look(side);
        }
        for i in 0..n {
            for j in 0..n - i {
                let at = |x: f64, y: f64| {
                    let (x, y) = ((i as f64 + x) / n as f64, (j as f64 + y) / n as f64);
                    [1.0 - x - y, x, y]
                };
                look(at(1.0 / 3.0, 1.0 / 3.0));
                if i + j + 1 < n {
                    look(at(2.0 / 3.0, 2.0 / 3.0));
                }
            }
        }
        if least >= 2 { least } else { 0 }
    }

    /// Returns the number of frames for which a point is covered by another piece.
    fn covered(&self, p: DVec3, normal: DVec3, piece: u32) -> u32 {
        let Component { near, closed, .. } = self.components[piece as usize];
        let mut most = 0;
        self.tree.cast(p - normal * near, normal * (2.0 * near), |target, _| {
            let [a, b, c] = target.corners;
            let facing = (b - a).cross(c - a).normalize_or_zero().dot(normal) < MAX_FACING_COSINE;
            let solid = closed || self.components[target.component as usize].closed;
            if target.component != piece && facing && solid {
                most = most.max((self.stays)(target.component));
            }
            false
        });
        most
    }

    /// Returns the number of frames for which all ways out of a point are blocked, at most `enough`.
    fn enclosed(&self, p: DVec3, normal: DVec3, piece: u32, enough: u32) -> u32 {
        let start = p + normal * self.components[piece as usize].near;
        let (across, along) = normal.any_orthonormal_pair();
        // Longer than the whole scene.
        let far = self.tree.exit_length();
        let mut least = enough;
        let mut look = |way: DVec3| {
            let mut most = 0;
            self.tree.cast(start, way * far, |target, out| {
                if out {
                    most = most.max((self.stays)(target.component).min(enough));
                }
                most == enough
            });
            least = least.min(most);
            most >= 2
        };
        if !look(normal) {
            return 0;
        }
        for (h, height) in RAY_ELEVATIONS.iter().enumerate().rev() {
            let (sin, cos) = height.to_radians().sin_cos();
            for k in 0..RAYS_PER_ELEVATION {
                let turn = (k as f64 + 0.5 * (h % 2) as f64) / RAYS_PER_ELEVATION as f64;
                let (y, x) = (turn * std::f64::consts::TAU).sin_cos();
                if !look(normal * sin + (across * x + along * y) * cos) {
                    return 0;
                }
            }
        }
        least
    }
}
