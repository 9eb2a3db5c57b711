//! Triangle indices, ordered for a vertex cache, to few bytes. Lossless: the order of triangles and the
//! rotation of each are preserved. Used for the connectivity of every mesh but [`grid`]s.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 … 5 | `corners` | varint, bytes of the corner plane |
//! | … | 1 … 5 | `far` | varint, bytes of the far plane |
//! | … | triangles | `edge plane` | per triangle: 0 = shares no recent edge, else 1 + 3·edge + rotation |
//! | … | `corners` | `corner plane` | per corner that is not on the shared edge: 0 = next new vertex, 1 … 16 = recent vertex, 17 = far |
//! | … | `far` | `far plane` | per far corner: varint of zigzag(vertex − last far vertex), wrapping 32 bits; the last far vertex is 0 at first |
//!
//! ```text
//! edges   the last 16 edges, most recent first, in the direction of the neighbour triangle: for a triangle (a, b, c) push (b, a), (c, b), (a, c)
//! recent  the last 16 vertices that were not on a shared edge, most recent first
//! next    one more than the largest vertex so far, 0 at first
//! decode: edge (a, b) and rotation r: corners r, r+1 (mod 3) are a, b, and corner r+2 is read; without a shared edge all three are read
//! ```
//!
//! The three planes are plain bytes with few distinct values, for the block compression that follows.
//!
//! Credit: a code over recent edges and vertices is the idea of Arseny Kapoulkine's index codec
//! (meshoptimizer, 2017), which goes back to Stefan Gumhold and Wolfgang Straßer, "Real Time Compression of
//! Triangle Mesh Connectivity", 1998.

use crate::Corrupt;
use crate::bytes::{Cursor, put_varint};
use crate::quantize::code::Code;
use crate::topology::grid;

/// The number of edges and vertices that are remembered. Part of the format.
const REMEMBERED: usize = 16;
/// Corner codes. Part of the format.
const NEXT: u8 = 0;
const FAR: u8 = REMEMBERED as u8 + 1;

/// The recent edges and vertices that encoder and decoder both remember.
struct State {
    edges: [[u32; 2]; REMEMBERED],
    recent: [u32; REMEMBERED],
    /// The number of pushes so far; the newest is at `(pushes − 1) % REMEMBERED`.
    edge_pushes: usize,
    recent_pushes: usize,
    next: u32,
    last_far: u32,
}

impl State {
    fn new() -> State {
        // No vertex is u32::MAX: the encoder finds no match here, and the decoder refuses it as out of range.
        let none = u32::MAX;
        State {
            edges: [[none; 2]; REMEMBERED],
            recent: [none; REMEMBERED],
            edge_pushes: 0,
            recent_pushes: 0,
            next: 0,
            last_far: 0,
        }
    }

    fn edge(&self, back: usize) -> [u32; 2] {
        self.edges[(self.edge_pushes + REMEMBERED - 1 - back) % REMEMBERED]
    }

    fn vertex(&self, back: usize) -> u32 {
        self.recent[(self.recent_pushes + REMEMBERED - 1 - back) % REMEMBERED]
    }

    fn push_vertex(&mut self, v: u32) {
        self.recent[self.recent_pushes % REMEMBERED] = v;
        self.recent_pushes += 1;
        self.next = self.next.max(v.saturating_add(1));
    }

    fn push_edges(&mut self, [a, b, c]: [u32; 3]) {
        for edge in [[b, a], [c, b], [a, c]] {
            self.edges[self.edge_pushes % REMEMBERED] = edge;
            self.edge_pushes += 1;
        }
    }
}

/// Appends `indices` (3 per triangle; order and rotation are preserved exactly) to `out`.
///
/// Panics if the number of indices is not a multiple of 3, or an index is `u32::MAX`.
#[cfg(feature = "encode")]
pub fn encode(indices: &[u32], out: &mut Vec<u8>) {
    assert_eq!(indices.len() % 3, 0, "three indices per triangle");
    assert!(!indices.contains(&u32::MAX), "the last index is reserved");
    let mut state = State::new();
    let (mut edges, mut corners, mut far) = (Vec::new(), Vec::new(), Vec::new());
    for t in indices.chunks_exact(3) {
        let t = [t[0], t[1], t[2]];
        let shared = (0..REMEMBERED).find_map(|back| {
            let edge = state.edge(back);
            (0..3).find(|&r| edge == [t[r], t[(r + 1) % 3]]).map(|r| (back, r))
        });
        let read = match shared {
            Some((back, r)) => {
                edges.push(1 + 3 * back as u8 + r as u8);
                &[(r + 2) % 3][..]
            }
            None => {
                edges.push(0);
                &[0, 1, 2]
            }
        };
        for &k in read {
            encode_corner(&mut state, t[k], &mut corners, &mut far);
        }
        state.push_edges(t);
    }
    let size = |plane: &[u8]| u32::try_from(plane.len()).expect("connectivity below 4 GiB");
    put_varint(size(&corners), out);
    put_varint(size(&far), out);
    for plane in [edges, corners, far] {
        out.extend_from_slice(&plane);
    }
}

#[cfg(feature = "encode")]
fn encode_corner(state: &mut State, v: u32, corners: &mut Vec<u8>, far: &mut Vec<u8>) {
    if v == state.next {
        corners.push(NEXT);
    } else if let Some(back) = (0..REMEMBERED).find(|&back| state.vertex(back) == v) {
        corners.push(1 + back as u8);
    } else {
        corners.push(FAR);
        put_varint(v.wrapping_sub(state.last_far).zigzag(), far);
        state.last_far = v;
    }
    state.push_vertex(v);
}

/// Decodes `out.len()` indices, each below `vertices`, from the start of `bytes`; returns the number of bytes
/// used.
pub fn decode(bytes: &[u8], vertices: u32, out: &mut [u32]) -> Result<usize, Corrupt> {
    if !out.len().is_multiple_of(3) {
        return Err(Corrupt("indices: not three per triangle"));
    }
    if bytes.starts_with(&grid::MARKER) {
        return grid::decode(bytes, vertices, out);
    }
    let mut c = Cursor::new(bytes);
    let (corners, far) = (c.varint()? as usize, c.varint()? as usize);
    let edges = c.bytes(out.len() / 3)?;
    let mut corners = Cursor::new(c.bytes(corners)?);
    let mut far = Cursor::new(c.bytes(far)?);
    let mut state = State::new();
    for (t, &code) in out.chunks_exact_mut(3).zip(edges) {
        let mut read = |state: &mut State| {
            let v = match corners.u8()? {
                NEXT => state.next,
                FAR => {
                    state.last_far = state.last_far.wrapping_add(far.varint()?.unzigzag());
                    state.last_far
                }
                back @ 1..FAR => state.vertex(usize::from(back) - 1),
                _ => return Err(Corrupt("indices: unknown corner code")),
            };
            if v >= vertices {
                return Err(Corrupt("indices: vertex out of range"));
            }
            state.push_vertex(v);
            Ok(v)
        };
        if code == 0 {
            for v in t.iter_mut() {
                *v = read(&mut state)?;
            }
        } else {
            let (back, r) = (usize::from(code - 1) / 3, usize::from(code - 1) % 3);
            if back >= REMEMBERED {
                return Err(Corrupt("indices: unknown edge code"));
            }
            let [a, b] = state.edge(back);
            if a >= vertices || b >= vertices {
                return Err(Corrupt("indices: vertex out of range"));
            }
            (t[r], t[(r + 1) % 3]) = (a, b);
            t[(r + 2) % 3] = read(&mut state)?;
        }
        state.push_edges([t[0], t[1], t[2]]);
    }
    if corners.left() != 0 || far.left() != 0 {
        return Err(Corrupt("indices: bytes left over"));
    }
    Ok(c.used())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(indices: &[u32]) -> Vec<u8> {
        let (mut bytes, mut again) = (vec![1], vec![1]);
        encode(indices, &mut bytes);
        encode(indices, &mut again);
        assert_eq!(bytes, again);
        bytes.remove(0);
        let vertices = indices.iter().max().map_or(0, |m| m + 1);
        let mut out = vec![9; indices.len()];
        bytes.push(1);
        assert_eq!(decode(&bytes, vertices, &mut out), Ok(bytes.len() - 1));
        bytes.pop();
        assert_eq!(out, indices);
        if vertices > 0 {
            assert!(decode(&bytes, vertices - 1, &mut out).is_err());
        }
        bytes
    }

    /// Returns a strip of quads, in the order of a vertex cache.
    fn strip(quads: u32) -> Vec<u32> {
        (0..quads).flat_map(|q| [2 * q, 2 * q + 1, 2 * q + 2, 2 * q + 2, 2 * q + 1, 2 * q + 3]).collect()
    }

    #[test]
    fn golden() {
        assert_eq!(round_trip(&[]), [0, 0]);
        assert_eq!(round_trip(&[0, 1, 2, 2, 1, 3]), [4, 0, 0, 1 + 3, 0, 0, 0, 0]);
        assert_eq!(round_trip(&[7, 7, 7]), [3, 1, 0, 17, 1, 1, 14]);
        let bytes = round_trip(&strip(100));
        assert!(bytes.len() < 200 + 202 + 5);
    }

    #[test]
    fn damage() {
        let mut indices = strip(20);
        indices.extend([3, 900, 5, 1_000_000, 2, 2]);
        let bytes = round_trip(&indices);
        let mut out = vec![0; indices.len()];
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut], 1_000_001, &mut out).is_err());
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 17, 18, 48, 49, 127, 128, 255, bytes[at] ^ 1] {
                let mut bad = bytes.clone();
                bad[at] = value;
                if decode(&bad, 50, &mut out).is_ok() {
                    assert!(out.iter().all(|&v| v < 50));
                }
            }
        }
        assert!(decode(&bytes, 50, &mut [0; 4]).is_err());
    }

    proptest! {
        #[test]
        fn any_triangles_come_back(t in proptest::collection::vec(0u32..40, 0..90), far: u32) {
            let mut t = t;
            t.truncate(t.len() / 3 * 3);
            if let Some(v) = t.last_mut() {
                *v = far.min(u32::MAX - 1);
            }
            round_trip(&t);
        }

        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..200), n in 0usize..30, vertices: u32) {
            let mut out = vec![0; n * 3];
            if decode(&bytes, vertices, &mut out).is_ok() {
                prop_assert!(out.iter().all(|&v| v < vertices));
            }
        }
    }
}
