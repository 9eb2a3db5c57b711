//! How fine positions must be for the normals that are predicted from them: coarser ones cost more in corrections than they save.

use crate::prepare::Fixed;
use glam::Vec3;
use std::collections::HashSet;

/// Positions that turn a triangle's normal by more than this part of what it may be turned cost more in corrections of normals than they save; measured on the corpus.
const TURN: f64 = 1.0;
/// The same of meshes of many pieces, which mostly move as they are, so that positions cost little.
const TURN_OF_PIECES: f64 = 0.25;
/// … and never finer than this part of the diagonal over all frames.
pub const LEAST_PART: f64 = 1.0 / (1 << 18) as f64;
/// So many pieces are many.
const PIECES: usize = 8;

/// How far positions may be off before the normals that are predicted from them are.
pub fn for_normals(fixed: &Fixed, degrees: f64) -> Option<f64> {
    let point = |v: u32| Vec3::from(fixed.first_points[fixed.vertex_point[v as usize] as usize]);
    let (triangles, _) = fixed.indices.as_chunks::<3>();
    let edges = triangles
        .iter()
        .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let mut lengths: Vec<f32> = edges
        .map(|[a, b]| point(a).distance(point(b)))
        .filter(|length| length.is_normal())
        .collect();
    let middle = lengths.len() / 2;
    let (_, length, _) =
        (!lengths.is_empty()).then(|| lengths.select_nth_unstable_by(middle, f32::total_cmp))?;
    let count = fixed.first_points.len() as u32;
    let joined = triangles
        .iter()
        .map(|t| t.map(|v| fixed.vertex_point[v as usize]));
    let turn = match pieces(count, joined) < PIECES {
        true => TURN,
        false => TURN_OF_PIECES,
    };
    Some(turn * degrees.to_radians() * f64::from(*length))
}

/// Pieces of several points that triangles of points make.
fn pieces(points: u32, triangles: impl Iterator<Item = [u32; 3]>) -> usize {
    fn root(above: &mut [u32], mut p: u32) -> u32 {
        while above[p as usize] != p {
            above[p as usize] = above[above[p as usize] as usize];
            p = above[p as usize];
        }
        p
    }
    let mut above: Vec<u32> = (0..points).collect();
    let mut used = vec![false; points as usize];
    for [a, b, c] in triangles {
        for other in [b, c] {
            let (to, from) = (root(&mut above, a), root(&mut above, other));
            above[from as usize] = to;
        }
        used[a as usize] = true;
    }
    (0..points)
        .filter(|&p| used[p as usize])
        .map(|p| root(&mut above, p))
        .collect::<HashSet<_>>()
        .len()
}
