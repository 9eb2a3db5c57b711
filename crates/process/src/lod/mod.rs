//! LOD levels that share the motion: fewer triangles between the same vertices, each level about half of the
//! one before, and its largest distance from the mesh in any frame.

mod measure;
mod simplify;

use crate::{Cancellation, Cancelled};
use measure::DistanceMeasure;
use simplify::{PosedShape, Preserve, Simplifier, apply_collapses};

/// The number of poses in which the cost of collapses is measured.
const POSES: usize = 8;
/// The number of frames from which they are chosen, and of distances by which poses are compared.
const CANDIDATES: usize = 64;
const DISTANCES: usize = 2000;
/// Poses that differ by less than this fraction of the distances count as equal.
const MIN_POSE_DIFFERENCE: f64 = 1e-3;
/// The largest number of values for the planes of all poses; with more points there are fewer poses.
const PLANES: usize = 4 << 20;

/// Reads positions of a frame.
pub type ReadFrame<'a, E> = dyn Fn(usize, &mut Vec<[f32; 3]>) -> Result<(), E> + 'a;

/// A mesh to simplify.
pub struct LodMesh<'a, E> {
    /// Three vertices per triangle.
    pub triangles: &'a [[u32; 3]],
    /// By triangle, its material.
    pub material: &'a [u32],
    /// By vertex, its point, numbered without gaps: vertices that coincide in all frames share one.
    pub point: &'a [u32],
    /// By vertex, its index in the positions that `read` returns.
    pub vertex_point: &'a [u32],
    /// By vertex, the values that separate vertices of one point: its first uv and its normal, in the first
    /// frame.
    pub vertex_attributes: &'a [[f32; 5]],
    /// `true` if positions differ between frames.
    pub moving: bool,
    /// Frames in which it is shown, at least one.
    pub frames: &'a [usize],
    /// The error bound of decoded points.
    pub error_bound: f64,
    /// Reads positions of a frame.
    pub read: &'a ReadFrame<'a, E>,
    /// Cancels the work, which then ends with an error.
    pub cancellation: &'a Cancellation,
}

/// The LOD levels of a mesh.
pub struct LodLevels {
    /// The levels, the finest first: by vertex, the one that it becomes there (itself if it stays); and the
    /// largest distance from the mesh in any frame.
    pub lod_levels: Vec<(Vec<u32>, f32)>,
    /// The number of triangles of the coarsest level, or of the mesh if there is none.
    pub triangles: usize,
    /// The first level, counted from 1, that does not preserve edges and seams.
    pub first_jumping_level: Option<usize>,
}

/// Makes at most the given number of levels; `may_follow(a, b)`: `true` if a level of `b` triangles may come
/// after one of `a`.
pub fn make_levels<E: From<Cancelled>>(
    mesh: &LodMesh<'_, E>,
    wanted: usize,
    may_follow: impl Fn(usize, usize) -> bool,
) -> Result<LodLevels, E> {
    let LodMesh { triangles, material, point, vertex_attributes: looks, .. } = *mesh;
    let poses = poses(mesh)?;
    let shape = PosedShape { triangles, material, point, poses: &poses, vertex_attributes: looks };
    let mut simplifier = Simplifier::new(&shape);
    let whole = triangles.len();
    let mut before = whole;
    let mut ends: Vec<Vec<u32>> = Vec::new();
    let mut jumps = None;
    for level in 1..=wanted {
        simplifier.reduce((whole >> level).max(1), mesh.cancellation)?;
        let all = simplifier.final_vertices();
        let now = apply_collapses(triangles, &all).count();
        if now == 0 || !may_follow(before, now) {
            break;
        }
        if simplifier.preserve > Preserve::All {
            jumps = jumps.or(Some(level));
        }
        before = now;
        ends.push(all);
    }
    let errors = errors(mesh, &poses, &ends)?;
    Ok(LodLevels {
        lod_levels: ends.into_iter().zip(errors).collect(),
        triangles: before,
        first_jumping_level: jumps,
    })
}

/// Returns the poses that differ most, by pose and point. They are compared by distances between points of
/// one or two adjacent triangles, which do not change when a mesh moves rigidly.
fn poses<E>(mesh: &LodMesh<'_, E>) -> Result<Vec<Vec<[f32; 3]>>, E> {
    let LodMesh { point, frames, .. } = *mesh;
    let points = point.iter().max().map_or(0, |&p| p as usize + 1);
    let mut vertex = vec![0; points];
    for (v, &p) in point.iter().enumerate() {
        vertex[p as usize] = v;
    }
    let mut at = Vec::new();
    let mut read = |frame: usize| -> Result<Vec<[f32; 3]>, E> {
        (mesh.read)(frame, &mut at)?;
        let of = |&v: &usize| at[mesh.vertex_point[v] as usize];
        Ok(vertex.iter().map(of).collect())
    };
    let first = read(frames[0])?;
    if !mesh.moving {
        return Ok(vec![first]);
    }
    let pairs = pairs(mesh.triangles, point);
    let lengths = |at: &[[f32; 3]]| -> Vec<f64> {
        let of = |&[a, b]: &[u32; 2]| {
            let (a, b) = (at[a as usize], at[b as usize]);
            let square: f64 = (0..3).map(|k| f64::from(a[k]) - f64::from(b[k])).map(|d| d * d).sum();
            square.sqrt()
        };
        pairs.iter().map(of).collect()
    };
    let step = frames.len().div_ceil(CANDIDATES);
    let mut candidates = Vec::new();
    for &frame in frames.iter().step_by(step) {
        candidates.push((frame, lengths(&read(frame)?)));
    }
    let mut apart = vec![f64::INFINITY; candidates.len()];
    let mut chosen: Vec<usize> = vec![0];
    let most = (PLANES / (10 * points.max(1))).clamp(2, POSES);
    while chosen.len() < most {
        let last = &candidates[chosen[chosen.len() - 1]].1;
        let (mut farthest, mut distance) = (0, 0.0);
        for (c, (_, lengths)) in candidates.iter().enumerate() {
            let change: f64 = lengths.iter().zip(last).map(|(a, b)| (a - b).abs()).sum();
            apart[c] = apart[c].min(change);
            if apart[c] > distance {
                (farthest, distance) = (c, apart[c]);
            }
        }
        let whole: f64 = candidates[0].1.iter().sum();
        if distance <= MIN_POSE_DIFFERENCE * whole {
            break;
        }
        chosen.push(farthest);
    }
    let mut out = vec![first];
    for &c in &chosen[1..] {
        out.push(read(candidates[c].0)?);
    }
    Ok(out)
}

/// Returns some edges of triangles, and for edges between two triangles the opposite corners.
fn pairs(triangles: &[[u32; 3]], point: &[u32]) -> Vec<[u32; 2]> {
    let mut edges: Vec<([u32; 2], u32)> = Vec::with_capacity(3 * triangles.len());
    for t in triangles {
        let t = t.map(|v| point[v as usize]);
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            edges.push(([a.min(b), a.max(b)], t[(k + 2) % 3]));
        }
    }
    edges.sort_unstable();
    let mut out: Vec<[u32; 2]> = Vec::new();
    for same in edges.chunk_by(|a, b| a.0 == b.0) {
        out.push(same[0].0);
        if let [(_, c), (_, d)] = same {
            out.push([*c, *d]);
        }
    }
    let step = out.len().div_ceil(DISTANCES).max(1);
    out.into_iter().step_by(step).collect()
}

/// Returns, by level, the largest distance in any frame, plus the quantization error of both sides; never
/// less than that of a finer level. `ends`: by level and vertex, the one that it becomes.
fn errors<E: From<Cancelled>>(
    mesh: &LodMesh<'_, E>,
    poses: &[Vec<[f32; 3]>],
    ends: &[Vec<u32>],
) -> Result<Vec<f32>, E> {
    let new = |ends: &Vec<u32>| {
        mesh.cancellation.check()?;
        Ok(DistanceMeasure::new(mesh.triangles, mesh.point, poses, ends))
    };
    let mut bounds: Vec<DistanceMeasure> = ends.iter().map(new).collect::<Result<_, E>>()?;
    let mut at = Vec::new();
    let frames = match mesh.moving {
        true => mesh.frames,
        false => &[0],
    };
    for &frame in frames.iter().take_while(|_| !ends.is_empty()) {
        (mesh.read)(frame, &mut at)?;
        for bounds in &mut bounds {
            bounds.measure_frame(|v| at[mesh.vertex_point[v as usize] as usize]);
        }
    }
    let mut least = 0.0f32;
    let all = bounds.iter().map(|bounds| {
        let error = (bounds.error() + 2.0 * mesh.error_bound) as f32;
        least = least.max(error.next_up().min(f32::MAX));
        least
    });
    Ok(all.collect())
}
