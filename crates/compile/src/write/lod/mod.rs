//! Levels of detail that share the motion: fewer triangles between the same vertices, each level about half
//! of the one before, and how far it is from the mesh in any frame.

mod measure;
mod simplify;

use crate::mesh::evaluate::Scratch;
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::{Fixed, points};
use crate::{Error, Options};
use measure::Bounds;
use meshreel_codec::detail::{Level, collapse, fewer};
use meshreel_scene::Remark;
use simplify::{Keeps, Shape, Simplifier};

/// Poses that what is collapsed looks at.
const POSES: usize = 8;
/// Frames from which they are chosen, and distances that tell poses apart.
const CANDIDATES: usize = 64;
const DISTANCES: usize = 2000;
/// Poses that differ by less than this part of the distances say nothing new.
const ALIKE: f64 = 1e-3;
/// Numbers that the planes of all poses may take together; with more points poses are fewer.
const PLANES: usize = 4 << 20;

/// The levels of a mesh, as they are encoded, and the bytes.
#[derive(Default)]
pub struct Detail {
    /// Of each level its size and error, and by vertex where it ends.
    pub levels: Vec<(Level, Vec<u32>)>,
    /// Bytes of the levels.
    pub bytes: Vec<u8>,
    /// What the user should know.
    pub remarks: Vec<Remark>,
}

/// Makes the levels of a mesh, at most as many as are asked for.
pub fn make(plan: &MeshPlan<'_>, options: &Options) -> Result<Detail, Error> {
    let mut out = Detail::default();
    let mut remark = |what: String| out.remarks.push(Remark::new(&plan.path, what));
    let Some(fixed) = &plan.prepared.fixed else {
        remark("its faces change, so it has no levels of detail".into());
        return Ok(out);
    };
    let (triangles, _) = fixed.indices.as_chunks::<3>();
    let point = points(fixed);
    let poses = poses(plan, fixed, &point)?;
    let material = materials(fixed);
    let looks = looks(plan, fixed)?;
    let shape = Shape { triangles, material: &material, point: &point, poses: &poses, looks: &looks };
    let mut simplifier = Simplifier::new(&shape);
    let whole = triangles.len();
    let mut before: Vec<u32> = fixed.indices.clone();
    let mut ends: Vec<Vec<u32>> = Vec::new();
    let mut jumps = None;
    for level in 1..=options.lod as usize {
        simplifier.reduce((whole >> level).max(1));
        let all = simplifier.ends();
        let now: Vec<u32> = collapse(&fixed.indices, &all).flatten().collect();
        if now.is_empty() || !fewer(before.len() as u32 / 3, now.len() as u32 / 3) {
            break;
        }
        if simplifier.keeps > Keeps::All {
            jumps = jumps.or(Some(level));
        }
        before = now;
        ends.push(all);
    }
    if ends.len() < options.lod as usize {
        remark(format!(
            "{} of {} levels of detail: fewer triangles than {} are not left of its pieces",
            ends.len(),
            options.lod,
            before.len() / 3
        ));
    }
    if let Some(level) = jumps {
        remark(format!(
            "from level of detail {level} on, edges or seams of textures and normals are not kept: nothing else was left to take away"
        ));
    }
    let errors = errors(plan, fixed, &point, &poses, &ends)?;
    let mut from: Vec<u32> = (0..point.len() as u32).collect();
    let mut indices = fixed.indices.clone();
    for (all, error) in ends.into_iter().zip(errors) {
        // From the level before, of vertices that are there.
        let step: Vec<u32> = (from.iter().enumerate())
            .map(|(v, &f)| if f as usize == v { all[v] } else { v as u32 })
            .collect();
        indices = collapse(&indices, &step).flatten().collect();
        let level = Level { triangles: indices.len() as u32 / 3, error };
        out.levels.push((level, step));
        from = all;
    }
    if !out.levels.is_empty() {
        let vertices = point.len() as u32;
        meshreel_codec::detail::encode(&fixed.indices, vertices, &out.levels, &mut out.bytes);
    }
    Ok(out)
}

fn materials(fixed: &Fixed) -> Vec<u32> {
    let mut out = vec![0; fixed.indices.len() / 3];
    for (m, &(first, count)) in (0..).zip(&fixed.ranges) {
        out[first as usize / 3..(first + count) as usize / 3].fill(m);
    }
    out
}

/// By vertex its first uv and its normal, in the first frame.
fn looks(plan: &MeshPlan<'_>, fixed: &Fixed) -> Result<Vec<[f32; 5]>, Error> {
    let values = fixed.first_values(&plan.source, &plan.prepared)?;
    let uvs = values.uvs.first();
    let of = |v: usize| {
        let [s, t] = uvs.and_then(|uvs| uvs.get(v)).copied().unwrap_or_default();
        let [x, y, z] = values.normals.get(v).copied().unwrap_or_default();
        [s, t, x, y, z]
    };
    Ok((0..fixed.vertex_point.len()).map(of).collect())
}

/// Frames in which the mesh is shown; the first where it is in none.
fn shown(plan: &MeshPlan<'_>) -> Vec<usize> {
    let frames = plan.source.times.len();
    let all: Vec<usize> = (0..frames).filter(|&f| plan.shown.contains(f)).collect();
    if all.is_empty() { vec![0] } else { all }
}

/// Poses that differ most, by pose and point. What tells them apart are distances between points of one or
/// two triangles side by side: they stay the same when a mesh moves without changing.
fn poses(plan: &MeshPlan<'_>, fixed: &Fixed, point: &[u32]) -> Result<Vec<Vec<[f32; 3]>>, Error> {
    let frames = shown(plan);
    let points = point.iter().max().map_or(0, |&p| p as usize + 1);
    let mut vertex = vec![0; points];
    for (v, &p) in point.iter().enumerate() {
        vertex[p as usize] = v;
    }
    let mut scratch = Scratch::default();
    let mut read = |frame: usize| -> Result<Vec<[f32; 3]>, Error> {
        scratch.read(&plan.source, frame, &fixed.first_points)?;
        let at = scratch.points();
        let of = |&v: &usize| at[fixed.vertex_point[v] as usize];
        Ok(vertex.iter().map(of).collect())
    };
    let first = read(frames[0])?;
    if !plan.prepared.moving {
        return Ok(vec![first]);
    }
    let pairs = pairs(fixed, point);
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
        if distance <= ALIKE * whole {
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

/// Some edges of triangles, and for edges between two triangles the corners across.
fn pairs(fixed: &Fixed, point: &[u32]) -> Vec<[u32; 2]> {
    let (triangles, _) = fixed.indices.as_chunks::<3>();
    let mut edges: Vec<([u32; 2], u32)> = Vec::with_capacity(fixed.indices.len());
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

/// Of each level the largest distance in any frame, with what quantization may add on both sides; never less
/// than that of a finer level.
fn errors(
    plan: &MeshPlan<'_>,
    fixed: &Fixed,
    point: &[u32],
    poses: &[Vec<[f32; 3]>],
    ends: &[Vec<u32>],
) -> Result<Vec<f32>, Error> {
    let (triangles, _) = fixed.indices.as_chunks::<3>();
    let mut bounds: Vec<Bounds> =
        (ends.iter()).map(|ends| Bounds::new(triangles, point, poses, ends)).collect();
    let mut scratch = Scratch::default();
    let frames = match plan.prepared.moving {
        true => shown(plan),
        false => vec![0],
    };
    for frame in frames.into_iter().take_while(|_| !ends.is_empty()) {
        scratch.read(&plan.source, frame, &fixed.first_points)?;
        let at = scratch.points();
        for bounds in &mut bounds {
            bounds.frame(|v| at[fixed.vertex_point[v as usize] as usize]);
        }
    }
    let mut least = 0.0f32;
    let all = bounds.iter().map(|bounds| {
        let error = (bounds.error() + 2.0 * plan.radius) as f32;
        least = least.max(error.next_up().min(f32::MAX));
        least
    });
    Ok(all.collect())
}
