//! LOD levels of a mesh at about two bits per triangle: a level stores into which vertex of the level before
//! each vertex collapses, and its triangles follow from that. No vertex is added, so all levels move like the
//! mesh, and nothing is stored per frame. Lossless. Used if LOD levels are requested.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `count` | number of levels without the mesh itself: 1 … 7 |
//! | 1 | 5 … 9 each | `lod_levels` | varint, triangles: at most ¾ of those of the level before · f32, `error`: finite, at least that of the level before |
//! | … | rest | `maps` | bits of the range coder, one coder for all levels, zero bytes at the end omitted |
//!
//! ```text
//! error      largest distance in the mesh's own space, in any frame, between level and mesh; a component of the mesh that has vanished counts as the vertex into which it has collapsed
//! used       vertices with a triangle in the level before (level 0: of the mesh)
//! ring of v  the other corners of the triangles of v in the level before, in the order of triangles and corners (next, next but one), each once, at most the first 16
//! collapses? for each used vertex in order, a bit: 1 = it collapses          [number in its ring, with smaller numbers, that collapse, at most 3][number of those that stay, at most 3]
//! target     for each vertex that collapses, in order: is it the first of its ring that stays? the second? … then those that collapse    [whether the candidate collapses][position, at most 7]
//!            none of them: n = zigzag(target − v), wrapping 32 bits: its bit length (is it more than 0? 1? …) [that number], then the bits below the highest, plain
//! level      the triangles of the level before in their order, each corner replaced by its target, and that by its own target, until it is a vertex that stays;
//!            triangles with two equal corners are dropped. A triangle keeps its material
//! ```
//!
//! Probabilities begin even and continue to adapt from level to level.
//!
//! Credit: Hugues Hoppe, *Progressive meshes*, 1996: a coarse mesh and the collapses that lead to it.
//! Differences: whole levels instead of single collapses, from fine to coarse, because the fine mesh is
//! available anyway; half-edge collapses only (Leif Kobbelt and others, 1998), so vertices do not change.

use crate::Corrupt;
use crate::bytes::{Cursor, put_length_prefixed, put_varint};
#[cfg(feature = "encode")]
use crate::entropy::range::Encoder;
use crate::entropy::range::{BitCoder, Chance, Decoder};
use crate::quantize::code::Code;

/// The largest number of LOD levels besides the mesh itself. Part of the format, like all constants here.
pub const MAX_LEVELS: usize = 7;
/// The number of ring vertices that are considered.
const RING: usize = 16;
/// The number of contexts by count and by place.
const COUNTS: usize = 4;
const PLACES: usize = 8;
const NO_VERTEX: u32 = u32::MAX;

/// The size and the error of a LOD level.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LodLevel {
    /// The number of triangles.
    pub triangles: u32,
    /// The largest distance to the mesh, in its own space, in any frame.
    pub error: f32,
}

/// The LOD levels of a mesh, the finest first, without the mesh itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LodHead {
    lod_levels: [LodLevel; MAX_LEVELS],
    count: usize,
}

impl LodHead {
    /// Decodes the head of the levels for a mesh with this many indices; returns the number of bytes used.
    pub fn decode(bytes: &[u8], indices: u32) -> Result<(LodHead, usize), Corrupt> {
        let mut c = Cursor::new(bytes);
        let mut head = LodHead { count: usize::from(c.u8()?), ..LodHead::default() };
        if !(1..=MAX_LEVELS).contains(&head.count) {
            return Err(Corrupt("levels of detail: none, or too many"));
        }
        let mut before = LodLevel { triangles: indices / 3, error: 0.0 };
        for level in &mut head.lod_levels[..head.count] {
            level.triangles = c.varint()?;
            level.error = c.f32()?;
            if !may_follow(before.triangles, level.triangles) {
                return Err(Corrupt("levels of detail: not fewer triangles"));
            }
            if !(level.error >= before.error && level.error.is_finite()) {
                return Err(Corrupt("levels of detail: errors that do not grow"));
            }
            before = *level;
        }
        Ok((head, c.used()))
    }

    /// Returns the levels.
    pub fn lod_levels(&self) -> &[LodLevel] {
        &self.lod_levels[..self.count]
    }
}

/// Returns `true` if a level of this many triangles may follow one of `before`.
pub fn may_follow(before: u32, triangles: u32) -> bool {
    u64::from(triangles) * 4 <= u64::from(before) * 3 && triangles < before
}

#[derive(Default)]
struct LodContexts {
    stays: [[Chance; COUNTS]; COUNTS],
    becomes: [[Chance; PLACES]; 2],
    length: [Chance; 32],
}

/// Buffers. They are reused; within [`LodBuffers::reserve`] a decoder allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct LodBuffers {
    /// The start of each vertex's ring in `rings`; unused vertices have empty rings.
    start: Vec<u32>,
    rings: Vec<u32>,
    /// The vertex that each vertex collapses into; itself if it is kept.
    becomes: Vec<u32>,
    gone: Vec<bool>,
}

impl LodBuffers {
    /// Allocates memory for this many vertices and indices.
    pub fn reserve(&mut self, vertices: usize, indices: usize) {
        let more = |list: &mut Vec<u32>, size: usize| list.reserve(size.saturating_sub(list.len()));
        more(&mut self.start, vertices + 1);
        more(&mut self.rings, 2 * indices);
        more(&mut self.becomes, vertices);
        self.gone.reserve(vertices.saturating_sub(self.gone.len()));
    }

    /// Returns the bytes of memory for this many vertices and indices.
    pub fn bytes(vertices: u64, indices: u64) -> u64 {
        9 * vertices + 8 * indices + 64
    }

    fn ring(&self, v: usize) -> &[u32] {
        let ring = &self.rings[self.start[v] as usize..self.start[v + 1] as usize];
        let end = ring.iter().take(RING).position(|&n| n == NO_VERTEX);
        &ring[..end.unwrap_or(ring.len().min(RING))]
    }

    fn used(&self, v: usize) -> bool {
        self.start[v + 1] > self.start[v]
    }

    /// Finds the rings of a level's vertices.
    fn rings(&mut self, indices: &[u32], vertices: usize) {
        self.start.clear();
        self.start.resize(vertices + 1, 0);
        for &v in indices {
            self.start[v as usize + 1] += 2;
        }
        for v in 0..vertices {
            self.start[v + 1] += self.start[v];
        }
        self.rings.clear();
        self.rings.resize(2 * indices.len(), NO_VERTEX);
        for t in indices.chunks_exact(3) {
            for k in 0..3 {
                let v = t[k] as usize;
                let (from, to) = (self.start[v] as usize, self.start[v + 1] as usize);
                let ring = &mut self.rings[from..to];
                for n in [t[(k + 1) % 3], t[(k + 2) % 3]] {
                    // The first sixteen, each once.
                    let seen = ring.iter().take(RING).position(|&o| o == n || o == NO_VERTEX);
                    if let Some(at) = seen.filter(|_| n as usize != v) {
                        ring[at] = n;
                    }
                }
            }
        }
    }

    /// Codes the vertex that each vertex collapses into; an encoder reads them from `becomes`, a decoder
    /// fills it.
    fn code_collapses<B: BitCoder<Context = Chance>>(
        &mut self,
        bits: &mut B,
        contexts: &mut LodContexts,
        vertices: usize,
    ) -> Result<(), Corrupt> {
        self.gone.clear();
        self.gone.resize(vertices, false);
        for v in 0..vertices {
            if !self.used(v) {
                self.becomes[v] = v as u32;
                continue;
            }
            let (mut gone, mut kept) = (0, 0);
            for &n in self.ring(v) {
                if (n as usize) < v {
                    gone += usize::from(self.gone[n as usize]);
                    kept += usize::from(!self.gone[n as usize]);
                }
            }
            let chance = &mut contexts.stays[gone.min(COUNTS - 1)][kept.min(COUNTS - 1)];
            self.gone[v] = bits.bit(chance, self.becomes[v] != v as u32);
            if !self.gone[v] {
                self.becomes[v] = v as u32;
            }
        }
        for v in 0..vertices {
            if !self.gone[v] {
                continue;
            }
            let asked = self.becomes[v];
            let mut found = None;
            let mut place = 0;
            'ring: for gone in [false, true] {
                for i in 0..self.ring(v).len() {
                    let n = self.ring(v)[i];
                    if self.gone[n as usize] != gone {
                        continue;
                    }
                    let chance = &mut contexts.becomes[usize::from(gone)][place.min(PLACES - 1)];
                    place += 1;
                    if bits.bit(chance, n == asked) {
                        found = Some(n);
                        break 'ring;
                    }
                }
            }
            let becomes = found.unwrap_or_else(|| code_far_vertex(bits, contexts, v as u32, asked));
            if becomes as usize >= vertices {
                return Err(Corrupt("levels of detail: a vertex out of range"));
            }
            self.becomes[v] = becomes;
        }
        self.follow(vertices)
    }

    /// Follows collapses to the kept vertices. Cycles are refused.
    fn follow(&mut self, vertices: usize) -> Result<(), Corrupt> {
        // Paths are halved while they are followed: without cycles that takes at most log₂ steps per vertex
        // on average.
        let mut steps = 40 * (vertices as u64 + 1);
        for v in 0..vertices {
            let mut at = v;
            while self.becomes[at] as usize != at {
                let then = self.becomes[at] as usize;
                self.becomes[at] = self.becomes[then];
                at = self.becomes[at] as usize;
                steps -= 1;
                if steps == 0 {
                    return Err(Corrupt("levels of detail: vertices that lead in a circle"));
                }
            }
            self.becomes[v] = at as u32;
        }
        Ok(())
    }

    /// Replaces, for an encoder, the final vertex of each vertex by its next step towards it, along its ring
    /// if there is a path.
    #[cfg(feature = "encode")]
    fn set_next_collapses(&mut self, ends: &[u32]) {
        self.becomes.clear();
        self.becomes.extend_from_slice(ends);
        let vertices = ends.len();
        let mut reached: Vec<bool> = (0..vertices).map(|v| ends[v] as usize == v).collect();
        let mut left: Vec<usize> = (0..vertices).filter(|&v| !reached[v] && self.used(v)).collect();
        // Kept ones first, then those from which a path is already known.
        loop {
            let mut now = Vec::new();
            left.retain(|&v| {
                let fits = |&&n: &&u32| reached[n as usize] && ends[n as usize] == ends[v];
                let kept = |&&n: &&u32| n == ends[v];
                let ring = self.ring(v);
                let step = ring.iter().find(kept).or_else(|| ring.iter().find(fits));
                if let Some(&n) = step {
                    now.push((v, n));
                }
                step.is_none()
            });
            if now.is_empty() {
                return;
            }
            for (v, n) in now {
                self.becomes[v] = n;
                reached[v] = true;
            }
        }
    }
}

/// Codes a vertex that is not on the ring of `v`.
fn code_far_vertex<B: BitCoder<Context = Chance>>(
    bits: &mut B,
    contexts: &mut LodContexts,
    v: u32,
    asked: u32,
) -> u32 {
    let n = asked.wrapping_sub(v).zigzag();
    let length = 32 - n.leading_zeros();
    let mut more = contexts.length.iter_mut().zip(0..);
    let length = more.find_map(|(chance, at)| (!bits.bit(chance, length > at)).then_some(at)).unwrap_or(32);
    let n = match length {
        0 => 0,
        _ => bits.raw_bits(length - 1, n) & ((1 << (length - 1)) - 1) | 1 << (length - 1),
    };
    v.wrapping_add(n.unzigzag())
}

/// Returns the triangles of `indices` that remain after vertices collapse.
pub fn collapse(indices: &[u32], becomes: &[u32]) -> impl Iterator<Item = [u32; 3]> {
    let (triangles, _) = indices.as_chunks::<3>();
    let moved = triangles.iter().map(|t| t.map(|v| becomes[v as usize]));
    moved.filter(|[a, b, c]| a != b && b != c && c != a)
}

/// Appends LOD levels to `out`: for each its head, and for each vertex of the mesh the vertex that it ends as
/// in this level, itself if it is kept. `indices` are those of the mesh.
///
/// Panics if a level does not have the stated number of triangles.
#[cfg(feature = "encode")]
pub fn encode(indices: &[u32], vertices: u32, lod_levels: &[(LodLevel, Vec<u32>)], out: &mut Vec<u8>) {
    out.push(lod_levels.len() as u8);
    for (level, _) in lod_levels {
        put_varint(level.triangles, out);
        out.extend_from_slice(&level.error.to_le_bytes());
    }
    let (mut work, mut contexts) = (LodBuffers::default(), LodContexts::default());
    let mut coder = Encoder::new(out);
    let mut before = indices.to_vec();
    for (level, ends) in lod_levels {
        work.rings(&before, vertices as usize);
        work.set_next_collapses(ends);
        let done = work.code_collapses(&mut coder, &mut contexts, vertices as usize);
        assert!(done.is_ok(), "vertices end in what is kept");
        before = collapse(&before, &work.becomes).flatten().collect();
        assert_eq!(before.len(), 3 * level.triangles as usize);
    }
    coder.finish();
}

/// Decodes LOD levels one after the other with [`LodReader::level`]. All of its bytes belong to them.
pub struct LodReader<'a> {
    decoder: Decoder<'a>,
    contexts: LodContexts,
    head: LodHead,
    next: usize,
}

impl<'a> LodReader<'a> {
    /// Starts reading the levels of a mesh with this many indices.
    pub fn new(bytes: &'a [u8], indices: u32) -> Result<LodReader<'a>, Corrupt> {
        let (head, used) = LodHead::decode(bytes, indices)?;
        Ok(LodReader {
            decoder: Decoder::new(&bytes[used..]),
            contexts: LodContexts::default(),
            head,
            next: 0,
        })
    }

    /// Returns the head of the levels.
    pub fn head(&self) -> &LodHead {
        &self.head
    }

    /// Decodes the next level from the `indices` of the one before, all below `vertices`: the vertex that
    /// each vertex collapses into goes to `becomes`, the triangles to `out`, which must have the size that
    /// [`LodReader::head`] states.
    pub fn level(
        &mut self,
        indices: &[u32],
        work: &mut LodBuffers,
        becomes: &mut [u32],
        out: &mut [u32],
    ) -> Result<(), Corrupt> {
        let vertices = becomes.len();
        work.rings(indices, vertices);
        work.becomes.clear();
        work.becomes.resize(vertices, 0);
        work.code_collapses(&mut self.decoder, &mut self.contexts, vertices)?;
        becomes.copy_from_slice(&work.becomes);
        let (out, _) = out.as_chunks_mut::<3>();
        let mut triangles = collapse(indices, becomes);
        for (out, triangle) in out.iter_mut().zip(&mut triangles) {
            *out = triangle;
        }
        let asked = self.head.lod_levels().get(self.next).map(|l| l.triangles as usize);
        self.next += 1;
        let count = collapse(indices, becomes).count();
        match asked == Some(count) && out.len() == count {
            true => Ok(()),
            false => Err(Corrupt("levels of detail: not as many triangles as said")),
        }
    }

    /// Refuses bytes that were not used.
    pub fn finish(self) -> Result<(), Corrupt> {
        self.decoder.finish()
    }
}

/// Appends the LOD levels of a mesh to a chunk of such entries.
#[cfg(feature = "encode")]
pub fn write_entry(mesh: u32, lod_levels: &[u8], out: &mut Vec<u8>) {
    put_varint(mesh, out);
    put_length_prefixed(lod_levels, out);
}

/// The entries of a chunk, mesh by mesh in rising order.
pub struct LodEntries<'a> {
    rest: &'a [u8],
    min_mesh: u32,
}

impl<'a> LodEntries<'a> {
    /// Starts reading a chunk whose meshes are not below `min_mesh`.
    pub fn new(content: &'a [u8], least: u32) -> LodEntries<'a> {
        LodEntries { rest: content, min_mesh: least }
    }

    /// Returns the next mesh and its entry; `None` at the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(u32, &'a [u8])>, Corrupt> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut c = Cursor::new(self.rest);
        let mesh = c.varint()?;
        if mesh < self.min_mesh {
            return Err(Corrupt("levels of detail: meshes out of order"));
        }
        self.min_mesh = mesh.saturating_add(1);
        let size = c.varint()? as usize;
        let lod_levels = c.bytes(size)?;
        self.rest = &self.rest[c.used()..];
        Ok(Some((mesh, lod_levels)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a grid of n × n vertices, and LOD levels of it that merge pairs of columns and rows.
    fn grid(n: u32, count: usize) -> (Vec<u32>, Vec<(LodLevel, Vec<u32>)>) {
        let mut indices = Vec::new();
        for y in 0..n - 1 {
            for x in 0..n - 1 {
                let a = y * n + x;
                indices.extend([a, a + 1, a + n + 1, a, a + n + 1, a + n]);
            }
        }
        let (mut lod_levels, mut before) = (Vec::new(), indices.clone());
        for level in 1..=count as u32 {
            let step = 1 << level;
            let end = |v: u32| v / n / step * step * n + v % n / step * step;
            let ends: Vec<u32> = (0..n * n).map(end).collect();
            before = collapse(&before, &ends).flatten().collect();
            let triangles = before.len() as u32 / 3;
            let error = level as f32 * 0.5;
            lod_levels.push((LodLevel { triangles, error }, ends));
        }
        (indices, lod_levels)
    }

    /// A level, its triangles, and the vertices that vertices collapse into.
    type DecodedLevel = (LodLevel, Vec<u32>, Vec<u32>);

    /// Decodes all levels of some bytes.
    fn decode_levels(bytes: &[u8], indices: &[u32], vertices: u32) -> Result<Vec<DecodedLevel>, Corrupt> {
        let mut reader = LodReader::new(bytes, indices.len() as u32)?;
        let head = *reader.head();
        let (mut work, mut before) = (LodBuffers::default(), indices.to_vec());
        let mut out = Vec::new();
        for level in head.lod_levels() {
            let mut becomes = vec![0; vertices as usize];
            let mut next = vec![0; 3 * level.triangles as usize];
            reader.level(&before, &mut work, &mut becomes, &mut next)?;
            assert!(next.iter().all(|&v| v < vertices));
            out.push((*level, next.clone(), becomes));
            before = next;
        }
        reader.finish()?;
        Ok(out)
    }

    #[test]
    fn f08_levels_come_back_in_few_bits() {
        let (indices, levels) = grid(65, 5);
        let mut bytes = Vec::new();
        encode(&indices, 65 * 65, &levels, &mut bytes);
        let back = decode_levels(&bytes, &indices, 65 * 65).unwrap();
        let mut before = indices;
        for ((level, triangles, _), (given, ends)) in back.iter().zip(&levels) {
            assert_eq!(level, given);
            let want: Vec<u32> = collapse(&before, ends).flatten().collect();
            assert_eq!(*triangles, want);
            before = want;
        }
        let bits = 8.0 * bytes.len() as f64 / (65.0 * 65.0);
        println!("{bits} bits per vertex for all levels");
        assert!(bits < 3.0, "{bits}");
        let mut again = Vec::new();
        encode(&grid(65, 5).0, 65 * 65, &levels, &mut again);
        assert_eq!(again, bytes);
    }

    #[test]
    fn damage_is_refused_or_gives_triangles() {
        let (indices, levels) = grid(9, 3);
        let mut bytes = Vec::new();
        encode(&indices, 81, &levels, &mut bytes);
        for cut in 0..bytes.len() {
            let _ = decode_levels(&bytes[..cut], &indices, 81);
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << bit;
                let _ = decode_levels(&bad, &indices, 81);
            }
        }
        // Invalid heads are refused.
        for (at, value) in [(0, 0), (0, 8), (1, 127), (5, 0x7F)] {
            let mut bad = bytes.clone();
            bad[at] = value;
            assert!(decode_levels(&bad, &indices, 81).is_err(), "{at}");
        }
        let mut bad = bytes;
        bad.extend([0; 9]);
        assert!(decode_levels(&bad, &indices, 81).is_err());
    }

    #[test]
    fn entries_are_in_order() {
        let mut chunk = Vec::new();
        write_entry(3, &[1, 2], &mut chunk);
        write_entry(4, &[], &mut chunk);
        let all = |chunk: &[u8], least| -> Result<Vec<u32>, Corrupt> {
            let (mut entries, mut out) = (LodEntries::new(chunk, least), Vec::new());
            while let Some((mesh, _)) = entries.next()? {
                out.push(mesh);
            }
            Ok(out)
        };
        assert_eq!(all(&chunk, 0), Ok(vec![3, 4]));
        assert!(all(&chunk, 4).is_err());
        assert!(all(&chunk[..2], 0).is_err());
        write_entry(4, &[], &mut chunk);
        assert!(all(&chunk, 0).is_err());
    }

    proptest! {
        #[test]
        fn any_triangles_and_ends_come_back(
            triangles in prop::collection::vec([0u32..24, 0u32..24, 0u32..24], 4..60),
            ends in prop::collection::vec(0u32..24, 24),
            bytes in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let indices: Vec<u32> = triangles.as_flattened().to_vec();
            // A used vertex collapses only into a vertex that is kept.
            let used = |v: u32| indices.contains(&v);
            let end = |v: u32| if used(v) && ends[ends[v as usize] as usize] == ends[v as usize] { ends[v as usize] } else { v };
            let stays = |v: u32| end(v) == v;
            let ends: Vec<u32> = (0..24).map(|v| if stays(end(v)) { end(v) } else { v }).collect();
            let left = collapse(&indices, &ends).count() as u32;
            if may_follow(triangles.len() as u32, left) {
                let level = LodLevel { triangles: left, error: 1.0 };
                let mut out = Vec::new();
                encode(&indices, 24, &[(level, ends.clone())], &mut out);
                let back = decode_levels(&out, &indices, 24).unwrap();
                prop_assert_eq!(&back[0].2, &ends);
            }
            let _ = decode_levels(&bytes, &indices, 24);
        }
    }
}
