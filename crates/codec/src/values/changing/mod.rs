//! Frames of a mesh whose faces change: the contents of an access unit. Lossless, except that the encoder
//! chooses positions within the error bound.
//!
//! ```text
//! unit      varint size of the first string, the first string (entropy/range.rs), and to the end the second one (entropy/symbols.rs)
//! first     for each frame of the unit: kind; for frames that are shown: source points; of kind 1: run, vertices, points, triangles, connectivity,
//!           vertices of corners; then for each stream its weights
//! second    for each frame and stream its residuals
//! kind      0 hidden · 1 triangles of its own · 2 + i: triangles of the i-th frame that it may refer to
//! number    ⌊log₂(n + 1)⌋ as that many ones and a zero [position], at most 31; the lower bits of n + 1, plain
//! ```
//!
//! *Points* are the vertices of one position: a seam cannot open. Triangles are coded by their points
//! ([`connectivity`]), and positions are values of points ([`prediction`]); everything else belongs to
//! vertices. If there are as many points as vertices, both are the same. Otherwise the vertices follow,
//! corner by corner in coding order:
//!
//! ```text
//! first corner of a point    a new vertex
//! other corners              another than the most recent vertex of the point? [the same of the corner before][has the point several]
//!                            new?; else the other vertices of the point, the most recent first: is it this one?, at most 16 times, then its number, plain
//! vertices without triangles a point of their own? else the number of the point, plain
//! ```
//!
//! Frames of one *run* have the same triangles, in the same order: the values of a frame are predicted from
//! the decoded frames of its run that it may refer to. A frame that brings triangles states its run; the
//! others have the run of the frame from which they take their triangles.
//!
//! Normals are predicted from the decoded positions: the sum over the triangles of a vertex of (b − a) × (c −
//! a), in fixed-point positions, as f32, by [`octahedral::encode`].

pub mod prediction;

use crate::Corrupt;
use crate::bytes::{Cursor, put_varint};
use crate::entropy::range::{self, BitCoder, Chance, NumberModel};
use crate::entropy::symbols;
use crate::quantize::code::Code;
use crate::quantize::octahedral;
use crate::topology::connectivity::{self, TriangleCounts};
use crate::topology::neighbours::Neighbours;
#[cfg(feature = "encode")]
use crate::values::coding::InputValues;
use crate::values::{Semantic, coding};
use prediction::{StreamWeights, SurfaceBasis};

// Part of the format.
const MAX_WALKED_SIBLINGS: usize = 16;
const MAX_GRAIN: u32 = 255;
const MAX_WEIGHT: i32 = 1 << 16;
const NO_VERTEX: u32 = u32::MAX;

/// The adaptive statistics of an access unit.
#[derive(Clone, Debug, Default)]
struct ChangingContexts {
    connectivity: connectivity::ConnectivityContexts,
    kind: NumberModel,
    sizes: [NumberModel; 5],
    weights: [NumberModel; 2],
    grain: NumberModel,
    other: [[Chance; 2]; 2],
    new: Chance,
    this: Chance,
    loose: Chance,
}

/// The head of a frame: its kind, and the numbers of its vertices, points and triangles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameHead {
    /// 0 hidden, 1 triangles of its own, 2 + i the triangles of reference i.
    pub kind: u32,
    /// The number of points of the source's mesh, 0 if the frame is hidden.
    pub source_points: u32,
    /// The number of the run. This and the following fields are 0 unless the kind is 1.
    pub run: u32,
    /// The number of vertices.
    pub vertices: u32,
    /// The number of points, at most that of vertices.
    pub points: u32,
    /// The number of triangles.
    pub triangles: u32,
}

/// Buffers of a decoder. They are reused; within [`ChangingBuffers::reserve`] nothing is allocated.
#[derive(Clone, Debug, Default)]
pub struct ChangingBuffers {
    connectivity: connectivity::ConnectivityBuffers,
    values: prediction::SurfaceBuffers,
    /// The neighbours of vertices, and those of points if these differ.
    neighbours: [Neighbours; 2],
    /// The first vertex of each point; while connectivity is read, the last one.
    vertex: Vec<u32>,
    /// For each vertex, the previous vertex of the same point.
    sibling: Vec<u32>,
    /// The triangles as indices of points.
    corners: Vec<u32>,
    normals: Vec<[i64; 3]>,
    geometry: Vec<[i32; 2]>,
    room: (usize, usize),
}

impl ChangingBuffers {
    /// Allocates memory for this many vertices and indices.
    pub fn reserve(&mut self, vertices: usize, indices: usize) {
        let (had, want) = (self.room, (vertices, indices));
        if want.0 <= had.0 && want.1 <= had.1 {
            return;
        }
        self.room = (want.0.max(had.0), want.1.max(had.1));
        let (vertices, indices) = self.room;
        self.connectivity.reserve(vertices, indices);
        self.values.reserve(vertices);
        for neighbours in &mut self.neighbours {
            neighbours.reserve(vertices, indices);
        }
        for (list, size) in
            [(&mut self.vertex, vertices), (&mut self.sibling, vertices), (&mut self.corners, indices)]
        {
            list.reserve(size.saturating_sub(list.len()));
        }
        (self.normals).reserve(vertices.saturating_sub(self.normals.len()));
        (self.geometry).reserve(vertices.saturating_sub(self.geometry.len()));
    }

    /// Returns the bytes of memory for this many vertices and indices.
    pub fn bytes(vertices: u64, indices: u64) -> u64 {
        // Per vertex: count, at, above, large, twice first, vertex, sibling, normals, geometry.
        let by_vertex: u64 = 1 + 4 + 16 + 1 + 2 * 4 + 4 + 4 + 24 + 8;
        // Per index: corners, next, before, queue, edge, a third of a material, twice three of neighbours,
        // corners.
        let by_index: u64 = 4 * 4 + 1 + 2 + 2 * 12 + 4;
        let vertices = vertices.saturating_mul(by_vertex);
        vertices.saturating_add(indices.saturating_mul(by_index))
    }

    /// Prepares the neighbours of vertices and points for the triangles `indices`; `point` of each vertex is
    /// empty if points and vertices are the same.
    fn prepare(&mut self, indices: &[u32], vertices: usize, points: usize, point: &[u32]) {
        let [of_vertices, of_points] = &mut self.neighbours;
        of_vertices.fill(indices, vertices);
        self.vertex.clear();
        if point.is_empty() {
            return;
        }
        self.corners.clear();
        let corner = |&v: &u32| point[v as usize];
        self.corners.extend(indices.iter().map(corner));
        of_points.fill(&self.corners, points);
        self.vertex.resize(points, NO_VERTEX);
        for (v, &p) in (0..).zip(point) {
            let slot = &mut self.vertex[p as usize];
            *slot = (*slot).min(v);
        }
    }
}

/// The buffers for the triangles of a frame.
pub struct TriangleBuffers<'a> {
    /// The first index and the number of indices of each material.
    pub ranges: &'a mut [[u32; 2]],
    /// Three vertices per triangle, ordered by material.
    pub indices: &'a mut [u32],
    /// The point of each vertex; empty if there are as many points as vertices.
    pub point: &'a mut [u32],
}

/// The triangles of a frame to encode.
pub struct InputTopology<'a> {
    given: connectivity::InputTriangles<'a>,
    vertices: &'a [[u32; 3]],
    point: &'a [u32],
    number: Vec<u32>,
    /// The old number of each vertex, in the new order.
    pub order: Vec<u32>,
}

impl<'a> InputTopology<'a> {
    /// Takes the `vertices` and the `points` of each triangle, the `point` of each vertex, and the `material`
    /// of each triangle, empty if there is only one.
    #[cfg(feature = "encode")]
    pub fn new(
        vertices: &'a [[u32; 3]],
        points: &'a [[u32; 3]],
        point: &'a [u32],
        point_count: usize,
        material: &'a [u32],
    ) -> InputTopology<'a> {
        InputTopology {
            given: connectivity::InputTriangles::new(points, material, point_count),
            vertices,
            point,
            number: vec![NO_VERTEX; point.len()],
            order: Vec::with_capacity(point.len()),
        }
    }

    /// Returns the old number of the vertex at a corner in coding order.
    fn corner(&self, c: usize) -> u32 {
        let (t, turn) = self.given.order[c / 3];
        // The triangle behind a gate begins with the half-edge by which it is found.
        self.vertices[t as usize][(c % 3 + turn as usize) % 3]
    }
}

/// The numbers of vertices and points that triangles use.
#[derive(Clone, Copy)]
struct UsedCounts {
    vertices: u32,
    points: u32,
}

/// The coder of both directions, encoding and decoding.
struct ChangingCoder<B> {
    bits: B,
    contexts: ChangingContexts,
}

impl<B: BitCoder<Context = Chance>> ChangingCoder<B> {
    fn head(&mut self, head: FrameHead) -> FrameHead {
        let (bits, contexts) = (&mut self.bits, &mut self.contexts);
        let mut out = FrameHead { kind: contexts.kind.code(bits, head.kind), ..FrameHead::default() };
        let [source, run, vertices, points, triangles] = &mut contexts.sizes;
        if out.kind > 0 {
            out.source_points = source.code(bits, head.source_points);
        }
        if out.kind == 1 {
            out.run = run.code(bits, head.run);
            out.vertices = vertices.code(bits, head.vertices);
            let less = head.vertices.wrapping_sub(head.points);
            out.points = out.vertices.wrapping_sub(points.code(bits, less));
            out.triangles = triangles.code(bits, head.triangles);
        }
        out
    }

    /// Codes the triangles of a frame of kind 1, and prepares the neighbours of its vertices.
    fn triangles(
        &mut self,
        head: FrameHead,
        work: &mut ChangingBuffers,
        out: &mut TriangleBuffers<'_>,
        mut given: Option<&mut InputTopology<'_>>,
    ) -> Result<(), Corrupt> {
        let size = TriangleCounts {
            points: head.points,
            triangles: head.triangles,
            materials: out.ranges.len() as u32,
        };
        if size.materials == 0 && size.triangles > 0 {
            return Err(Corrupt("changing faces: triangles without a material"));
        }
        connectivity::code_triangles(
            &mut self.bits,
            &mut self.contexts.connectivity,
            size,
            &mut work.connectivity,
            given.as_deref_mut().map(|g| &mut g.given),
        )?;
        if !out.point.is_empty() {
            self.vertices(head, work, out.point, given)?;
        } else if let Some(given) = given {
            given.order.clone_from(&given.given.points);
        }
        // Orders the triangles by material.
        let (corners, materials) = (&work.connectivity.corners, &work.connectivity.materials);
        out.ranges.fill([0, 0]);
        for &m in materials {
            out.ranges[m as usize][1] += 3;
        }
        let mut first = 0;
        for range in out.ranges.iter_mut() {
            let count = range[1];
            *range = [first, 0];
            first += count;
        }
        for (triangle, &m) in corners.chunks_exact(3).zip(materials) {
            let [first, count] = &mut out.ranges[m as usize];
            let at = (*first + *count) as usize;
            out.indices[at..at + 3].copy_from_slice(triangle);
            *count += 3;
        }
        let (vertices, points) = (head.vertices as usize, head.points as usize);
        work.prepare(out.indices, vertices, points, out.point);
        Ok(())
    }

    /// Replaces points by vertices in the corners, and codes vertices without triangles.
    fn vertices(
        &mut self,
        head: FrameHead,
        work: &mut ChangingBuffers,
        point: &mut [u32],
        mut given: Option<&mut InputTopology<'_>>,
    ) -> Result<(), Corrupt> {
        let found = self.corners(head, work, point, given.as_deref_mut())?;
        self.loose(head, found, point, given)
    }

    /// Codes the vertices of triangles, corner by corner.
    fn corners(
        &mut self,
        head: FrameHead,
        work: &mut ChangingBuffers,
        point: &mut [u32],
        mut given: Option<&mut InputTopology<'_>>,
    ) -> Result<UsedCounts, Corrupt> {
        const TOO_MANY_VERTICES: Corrupt = Corrupt("changing faces: more vertices than there are");
        let (bits, contexts) = (&mut self.bits, &mut self.contexts);
        let (newest, sibling) = (&mut work.vertex, &mut work.sibling);
        newest.clear();
        newest.resize(head.points as usize, NO_VERTEX);
        sibling.clear();
        sibling.resize(head.vertices as usize, NO_VERTEX);
        let (mut known, mut used, mut before) = (0u32, 0u32, 0);
        for c in 0..work.connectivity.corners.len() {
            let p = work.connectivity.corners[c];
            used = used.max(p + 1);
            let old = given.as_deref().map(|g| g.corner(c));
            let number = old.and_then(|v| given.as_deref().map(|g| g.number[v as usize]));
            let last = newest[p as usize];
            let several = last != NO_VERTEX && sibling[last as usize] != NO_VERTEX;
            if c % 3 == 0 {
                before = 0;
            }
            let other = last == NO_VERTEX
                || bits.bit(&mut contexts.other[before][usize::from(several)], number != Some(last));
            let new = last == NO_VERTEX
                || other && (!several || bits.bit(&mut contexts.new, number == Some(NO_VERTEX)));
            let v = if new {
                let v = known;
                *point.get_mut(v as usize).ok_or(TOO_MANY_VERTICES)? = p;
                sibling[v as usize] = last;
                newest[p as usize] = v;
                known += 1;
                if let (Some(given), Some(old)) = (given.as_deref_mut(), old) {
                    given.number[old as usize] = v;
                    given.order.push(old);
                }
                v
            } else if other {
                // Recently used vertices come first.
                let (mut at, mut from) = (sibling[last as usize], last);
                let mut left = MAX_WALKED_SIBLINGS;
                while left > 0 && at != NO_VERTEX && !bits.bit(&mut contexts.this, number == Some(at)) {
                    (from, at) = (at, sibling[at as usize]);
                    left -= 1;
                }
                if left > 0 && at != NO_VERTEX {
                    sibling[from as usize] = sibling[at as usize];
                    sibling[at as usize] = last;
                    newest[p as usize] = at;
                    at
                } else {
                    let v = bits.raw_bits(bit_width(known - 1), number.unwrap_or(0));
                    if v >= known || point[v as usize] != p {
                        return Err(Corrupt("changing faces: a vertex of another point"));
                    }
                    v
                }
            } else {
                last
            };
            before = usize::from(other && last != NO_VERTEX);
            work.connectivity.corners[c] = v;
        }
        Ok(UsedCounts { vertices: known, points: used })
    }

    /// Codes the points of vertices without triangles; `found` has the numbers of those used by triangles.
    fn loose(
        &mut self,
        head: FrameHead,
        found: UsedCounts,
        point: &mut [u32],
        mut given: Option<&mut InputTopology<'_>>,
    ) -> Result<(), Corrupt> {
        let (bits, contexts) = (&mut self.bits, &mut self.contexts);
        let UsedCounts { vertices: known, points: mut used } = found;
        let mut loose = Vec::new();
        if let Some(given) = given.as_deref_mut() {
            loose.extend((0..given.number.len() as u32).filter(|&v| given.number[v as usize] == NO_VERTEX));
            loose.sort_by_key(|&v| given.given.number[given.point[v as usize] as usize]);
        }
        for (i, v) in (known..head.vertices).enumerate() {
            let old = loose.get(i);
            let wanted = old.and_then(|&v| {
                let given = given.as_deref()?;
                Some(given.given.number[given.point[v as usize] as usize])
            });
            let own = bits.bit(&mut contexts.loose, wanted == Some(used));
            let p = match own {
                true => used,
                false => bits.raw_bits(bit_width(head.points), wanted.unwrap_or(0)),
            };
            used += u32::from(own);
            if p >= used || used > head.points {
                return Err(Corrupt("changing faces: a vertex of a point that is not there"));
            }
            point[v as usize] = p;
            if let (Some(given), Some(&old)) = (given.as_deref_mut(), old) {
                given.order.push(old);
            }
        }
        if used != head.points || known > head.vertices {
            return Err(Corrupt("changing faces: points without vertices"));
        }
        Ok(())
    }

    fn weights(&mut self, frames: usize, mut weights: StreamWeights) -> StreamWeights {
        let (bits, contexts) = (&mut self.bits, &mut self.contexts);
        let grain = contexts.grain.code(bits, weights.grain as u32 - 1);
        weights.grain = grain.min(MAX_GRAIN) as i32 + 1;
        for (i, weight) in weights.iter_mut(frames).enumerate() {
            let number = &mut contexts.weights[usize::from(i < frames)];
            // Limited, so that no weighted sum overflows 64 bits, whatever a file contains.
            *weight = number.signed(bits, *weight).clamp(-MAX_WEIGHT, MAX_WEIGHT);
        }
        weights
    }
}

/// Returns the number of bits of numbers up to `most`.
fn bit_width(most: u32) -> u32 {
    32 - most.leading_zeros()
}

/// The kind of prediction for a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamPrediction {
    /// Values of points; the decoded positions predict the normals.
    Positions,
    /// Values of vertices, predicted from the geometry: [`ChangingBuffers::predict_normals`] must have been
    /// called.
    Normals,
    /// Values of vertices, predicted from other vertices and frames.
    Others,
}

impl StreamPrediction {
    /// Returns the kind of prediction for a stream with this meaning.
    pub fn from_semantic(semantic: Semantic) -> StreamPrediction {
        match semantic {
            Semantic::Position => StreamPrediction::Positions,
            Semantic::Normal => StreamPrediction::Normals,
            _ => StreamPrediction::Others,
        }
    }
}

impl ChangingBuffers {
    /// Prepares the values of a frame that has the triangles of another one, as [`ChangingReader::triangles`]
    /// does for a frame with its own.
    pub fn reuse_triangles(&mut self, triangles: &TriangleBuffers<'_>, vertices: usize, points: usize) {
        self.prepare(triangles.indices, vertices, points, triangles.point);
    }

    /// Predicts normals of `bits` bits from the decoded positions, component-major. Indices must be below the
    /// number of vertices.
    pub fn predict_normals<W: Code>(&mut self, indices: &[u32], positions: &[W], bits: u32) {
        let count = positions.len() / 3;
        self.normals.clear();
        self.normals.resize(count, [0; 3]);
        let at = |v: u32| -> [i64; 3] {
            std::array::from_fn(|k| i64::from(positions[k * count + v as usize].to_u32()))
        };
        for triangle in indices.chunks_exact(3) {
            let [a, b, c] = [0, 1, 2].map(|k| at(triangle[k]));
            let [u, w]: [[i64; 3]; 2] = [b, c].map(|p| std::array::from_fn(|k| p[k] - a[k]));
            let cross: [i64; 3] = std::array::from_fn(|k| {
                let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                (u[i].wrapping_mul(w[j])).wrapping_sub(u[j].wrapping_mul(w[i]))
            });
            for &v in triangle {
                let sum = &mut self.normals[v as usize];
                *sum = std::array::from_fn(|k| sum[k].wrapping_add(cross[k]));
            }
        }
        self.geometry.clear();
        let code = |n: &[i64; 3]| octahedral::encode(n.map(|x| x as f32), bits).map(i32::from);
        self.geometry.extend(self.normals.iter().map(code));
    }

    /// Returns the values that a stream is predicted from, and whether the stream has values of points.
    fn basis<'a, W>(&'a self, kind: StreamPrediction, frames: &'a [&'a [W]]) -> (SurfaceBasis<'a, W>, bool) {
        let points = kind == StreamPrediction::Positions && !self.vertex.is_empty();
        let basis = SurfaceBasis {
            neighbours: &self.neighbours[usize::from(points)],
            frames: match kind {
                StreamPrediction::Normals => &[],
                _ => frames,
            },
            vertex: if points { &self.vertex } else { &[] },
            geometry: match kind {
                StreamPrediction::Normals => &self.geometry,
                _ => &[],
            },
            weights: StreamWeights::WITHOUT_FRAMES,
        };
        (basis, points)
    }
}

/// Gives every vertex the values of its point, in place: `out` begins with those of the points,
/// component-major. No vertex has a point of a higher number than its own.
fn expand<W: Copy>(out: &mut [W], components: usize, points: usize, point: &[u32]) {
    let vertices = point.len();
    for k in (0..components).rev() {
        for v in (0..vertices).rev() {
            out[k * vertices + v] = out[k * points + point[v] as usize];
        }
    }
}

/// Decodes an access unit from front to back: for each frame its head, its triangles, its streams.
pub struct ChangingReader<'a> {
    coder: ChangingCoder<range::Decoder<'a>>,
    symbols: symbols::Decoder<'a>,
}

impl<'a> ChangingReader<'a> {
    /// Starts reading the bytes that [`encode`] wrote.
    pub fn new(bytes: &'a [u8]) -> Result<ChangingReader<'a>, Corrupt> {
        let mut cursor = Cursor::new(bytes);
        let size = cursor.varint()?;
        let first = cursor.bytes(size as usize)?;
        let second = cursor.bytes(cursor.left())?;
        Ok(ChangingReader {
            coder: ChangingCoder { bits: range::Decoder::new(first), contexts: ChangingContexts::default() },
            symbols: symbols::Decoder::new(second),
        })
    }

    /// Decodes the head of the next frame. The caller must check it against the size of its buffers.
    pub fn head(&mut self) -> FrameHead {
        self.coder.head(FrameHead::default())
    }

    /// Decodes the triangles of a frame of kind 1; the buffers in `out` must have exactly their size.
    pub fn triangles(
        &mut self,
        head: FrameHead,
        work: &mut ChangingBuffers,
        out: &mut TriangleBuffers<'_>,
    ) -> Result<(), Corrupt> {
        let fits = out.indices.len() as u64 == 3 * u64::from(head.triangles)
            && match out.point.len() {
                0 => head.points == head.vertices,
                n => n == head.vertices as usize && head.points < head.vertices,
            };
        if !fits {
            return Err(Corrupt("changing faces: buffers of another size than the triangles"));
        }
        self.coder.triangles(head, work, out, None)
    }

    /// Decodes a stream into `out`: all vertices, component-major. `frames` has the same stream in the frames
    /// of its run, at most [`MAX_REFERENCES`](crate::schedule::MAX_REFERENCES); `point` is that of the
    /// triangles.
    pub fn stream<W: Code>(
        &mut self,
        kind: StreamPrediction,
        components: usize,
        frames: &[&[W]],
        point: &[u32],
        work: &mut ChangingBuffers,
        out: &mut [W],
    ) -> Result<(), Corrupt> {
        let mut values = std::mem::take(&mut work.values);
        let (basis, of_points) = work.basis(kind, frames);
        let weights = (self.coder).weights(basis.frames.len(), StreamWeights::WITHOUT_FRAMES);
        let basis = SurfaceBasis { weights, ..basis };
        let count = match of_points {
            true => work.vertex.len() * components,
            false => out.len(),
        };
        let part = out.get_mut(..count).ok_or(Corrupt("changing faces: more points than vertices"));
        let done = part.and_then(|part| {
            basis.check(components, part.len() / components.max(1))?;
            coding::decode(&mut self.symbols, &basis, components, &mut values, part)
        });
        work.values = values;
        done?;
        if of_points {
            expand(out, components, work.vertex.len(), point);
        }
        Ok(())
    }

    /// Refuses bytes that were not used.
    pub fn finish(self) -> Result<(), Corrupt> {
        self.coder.bits.finish()?;
        self.symbols.finish()
    }
}

/// Encodes an access unit that [`ChangingReader`] decodes.
#[cfg(feature = "encode")]
pub struct ChangingWriter<'a> {
    coder: ChangingCoder<range::Encoder<'a>>,
    symbols: symbols::Encoder,
}

/// Appends an access unit whose contents `write` produces.
#[cfg(feature = "encode")]
pub fn encode<R, E>(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut ChangingWriter<'_>) -> Result<R, E>,
) -> Result<R, E> {
    let mut first = Vec::new();
    let mut writer = ChangingWriter {
        coder: ChangingCoder { bits: range::Encoder::new(&mut first), contexts: ChangingContexts::default() },
        symbols: symbols::Encoder::default(),
    };
    let result = write(&mut writer)?;
    let ChangingWriter { coder, symbols } = writer;
    coder.bits.finish();
    put_varint(first.len() as u32, out);
    out.extend_from_slice(&first);
    symbols.finish(out);
    Ok(result)
}

/// Returns the number of bytes of the second string of an access unit.
#[cfg(feature = "encode")]
pub fn value_bytes(unit: &[u8]) -> usize {
    let mut cursor = Cursor::new(unit);
    let first = cursor.varint().unwrap_or(0) as usize;
    cursor.left().saturating_sub(first)
}

#[cfg(feature = "encode")]
impl ChangingWriter<'_> {
    /// Encodes the head of a frame.
    pub fn head(&mut self, head: FrameHead) {
        self.coder.head(head);
    }

    /// Encodes the triangles of a frame. `out` receives the triangles as decoded, and `given.order` the order
    /// of vertices.
    pub fn triangles(
        &mut self,
        head: FrameHead,
        work: &mut ChangingBuffers,
        out: &mut TriangleBuffers<'_>,
        given: &mut InputTopology<'_>,
    ) -> Result<(), Corrupt> {
        self.coder.triangles(head, work, out, Some(given))
    }

    /// Encodes a stream. `wanted` has codes of all vertices, equal for vertices of one point; the chosen
    /// codes replace them. Returns the expected cost in 2⁻⁸ bits.
    #[cfg(feature = "encode")]
    pub fn stream<W: Code>(
        &mut self,
        kind: StreamPrediction,
        components: usize,
        frames: &[&[W]],
        point: &[u32],
        work: &mut ChangingBuffers,
        wanted: InputValues<'_, W>,
    ) -> u64 {
        let mut values = std::mem::take(&mut work.values);
        let (basis, of_points) = work.basis(kind, frames);
        let symbols = &mut self.symbols;
        let coder = &mut self.coder;
        let mut go = |wanted: InputValues<'_, W>| {
            let fitted = StreamWeights {
                grain: wanted.grain.clamp(1, MAX_GRAIN + 1) as i32,
                ..prediction::fit(basis, components, wanted.codes)
            };
            let weights = coder.weights(basis.frames.len(), fitted);
            let basis = SurfaceBasis { weights, ..basis };
            coding::encode(symbols, &basis, components, &mut values, wanted)
        };
        let bits;
        if of_points {
            let points = work.vertex.len();
            let vertices = point.len();
            fn pick<T: Copy>(list: &[T], components: usize, vertices: usize, first: &[u32]) -> Vec<T> {
                let plane = |k: usize| first.iter().map(move |&v| list[k * vertices + v as usize]);
                (0..if list.is_empty() { 0 } else { components }).flat_map(plane).collect()
            }
            let mut codes = pick(wanted.codes, components, vertices, &work.vertex);
            let offset = pick(wanted.offset, components, vertices, &work.vertex);
            bits = go(InputValues { codes: &mut codes, offset: &offset, ..wanted });
            wanted.codes[..codes.len()].copy_from_slice(&codes);
            expand(wanted.codes, components, points, point);
        } else {
            bits = go(wanted);
        }
        work.values = values;
        bits
    }
}

#[cfg(test)]
mod tests;
