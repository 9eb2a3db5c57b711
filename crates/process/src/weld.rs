//! Welding: finds vertices that are equal in position, normal and uv.

use super::hash::FoldedHash;
use super::split::all_bits;

/// No vertex.
const NO_VERTEX: u32 = u32::MAX;

/// One frame of a mesh, one entry per vertex. Normals are unit vectors.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Vertices<'a> {
    pub positions: &'a [[f32; 3]],
    pub normals: &'a [[f32; 3]],
    pub uvs: &'a [[f32; 2]],
}

/// Detects whether the same vertices are equal as in the first frame, without comparing all of them.
pub struct Welding {
    /// Uvs of the first frame.
    uvs: Vec<[f32; 2]>,
    /// Vertices that share a uv with others without being equal to them.
    crowd: Vec<u32>,
}

impl Welding {
    /// Creates the detector; `weld` is [`weld`] of the first frame.
    pub fn new(uvs: &[[f32; 2]], weld: &[u32]) -> Welding {
        Welding { uvs: uvs.to_vec(), crowd: crowded_vertices(uvs, weld) }
    }

    /// Returns `true` if [`weld`] is the same in this frame. With unchanged uvs, only vertices that share a
    /// uv can have become equal.
    pub fn is_unchanged(&self, frame: Vertices<'_>, first: &[u32], hash: FoldedHash) -> bool {
        let same_uv = |(a, b): (&[f32; 2], &[f32; 2])| all_bits(*a) == all_bits(*b);
        if self.uvs.len() != frame.uvs.len() || !self.uvs.iter().zip(frame.uvs).all(same_uv) {
            return weld(frame, hash) == first;
        }
        let equal = |a: usize, b: usize| {
            all_bits(frame.positions[a]) == all_bits(frame.positions[b])
                && all_bits(frame.normals[a]) == all_bits(frame.normals[b])
        };
        let mut welded = first.iter().enumerate();
        if !welded.all(|(v, &first)| v == first as usize || equal(v, first as usize)) {
            return false;
        }
        let all = weld_some(frame, hash, self.crowd.iter().copied());
        all.zip(&self.crowd).all(|(first, &v)| first == v)
    }
}

/// Returns the first vertex of each set of equal ones, if it shares its uv with others of that kind, in
/// order.
fn crowded_vertices(uvs: &[[f32; 2]], weld: &[u32]) -> Vec<u32> {
    let mut list: Vec<([u32; 2], u32)> = (0..)
        .zip(weld)
        .filter(|(v, first)| v == *first)
        .map(|(v, _)| (all_bits(uvs[v as usize]), v))
        .collect();
    list.sort_unstable();
    let several = list.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1);
    let mut crowd: Vec<u32> = several.flatten().map(|(_, v)| *v).collect();
    crowd.sort_unstable();
    crowd
}

/// Returns, by vertex, the first one with equal position, normal and uv.
pub fn weld(frame: Vertices<'_>, hash: FoldedHash) -> Vec<u32> {
    weld_some(frame, hash, 0..frame.positions.len() as u32).collect()
}

/// Returns, for each of some vertices, the first of them with equal position, normal and uv.
fn weld_some(
    frame: Vertices<'_>,
    hash: FoldedHash,
    list: impl ExactSizeIterator<Item = u32>,
) -> impl Iterator<Item = u32> {
    let key = move |v: u32| -> [u32; 8] {
        let v = v as usize;
        let (p, n, t) = (all_bits(frame.positions[v]), all_bits(frame.normals[v]), all_bits(frame.uvs[v]));
        [p[0], p[1], p[2], n[0], n[1], n[2], t[0], t[1]]
    };
    // Open addressing, at most half full.
    let mask = (list.len() * 2).next_power_of_two().max(2) - 1;
    let mut table = vec![NO_VERTEX; mask + 1];
    list.map(move |v| {
        let own = key(v);
        let mut at = hash.hash(own) as usize & mask;
        loop {
            match table[at] {
                NO_VERTEX => {
                    table[at] = v;
                    return v;
                }
                other if key(other) == own => return other,
                _ => at = (at + 1) & mask,
            }
        }
    })
}
