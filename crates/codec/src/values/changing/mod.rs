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
//! *Points* are the vertices of one position: a seam cannot open. Triangles are coded by their points and
//! then by their vertices ([`corners`](crate::topology::corners)); positions are values of points
//! ([`prediction`]), everything else belongs to vertices.
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
use crate::topology::connectivity::TriangleCounts;
pub use crate::topology::corners::InputTopology;
use crate::topology::corners::{CornerBuffers, CornerCoder, CornerContexts, CornerCounts, NO_VERTEX};
use crate::topology::neighbours::Neighbours;
#[cfg(feature = "encode")]
use crate::values::coding::InputValues;
use crate::values::{Semantic, coding};
use prediction::{StreamWeights, SurfaceBasis};

// Part of the format.
const MAX_GRAIN: u32 = 255;
const MAX_WEIGHT: i32 = 1 << 16;

/// The adaptive statistics of an access unit.
#[derive(Clone, Debug, Default)]
struct ChangingContexts {
    corners: CornerContexts,
    kind: NumberModel,
    sizes: [NumberModel; 5],
    weights: [NumberModel; 2],
    grain: NumberModel,
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
    corners: CornerBuffers,
    values: prediction::SurfaceBuffers,
    /// The neighbours of vertices, and those of points if these differ.
    neighbours: [Neighbours; 2],
    /// The first vertex of each point.
    vertex: Vec<u32>,
    /// The triangles as indices of points.
    indices: Vec<u32>,
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
        self.corners.reserve(vertices, indices);
        self.values.reserve(vertices);
        for neighbours in &mut self.neighbours {
            neighbours.reserve(vertices, indices);
        }
        for (list, size) in [(&mut self.vertex, vertices), (&mut self.indices, indices)] {
            list.reserve(size.saturating_sub(list.len()));
        }
        (self.normals).reserve(vertices.saturating_sub(self.normals.len()));
        (self.geometry).reserve(vertices.saturating_sub(self.geometry.len()));
    }

    /// Returns the bytes of memory for this many vertices and indices.
    pub fn bytes(vertices: u64, indices: u64) -> u64 {
        // Per vertex: above, large, twice first, vertex, normals, geometry.
        let by_vertex = CornerBuffers::BYTES_PER_VERTEX + 16 + 1 + 2 * 4 + 4 + 24 + 8;
        // Per index: twice three of neighbours, and the point.
        let by_index = CornerBuffers::BYTES_PER_INDEX + 2 * 12 + 4;
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
        self.indices.clear();
        let corner = |&v: &u32| point[v as usize];
        self.indices.extend(indices.iter().map(corner));
        of_points.fill(&self.indices, points);
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
        given: Option<&mut InputTopology<'_>>,
    ) -> Result<(), Corrupt> {
        let counts = CornerCounts {
            vertices: head.vertices,
            triangles: TriangleCounts {
                points: head.points,
                triangles: head.triangles,
                materials: out.ranges.len() as u32,
            },
        };
        let (bits, contexts) = (&mut self.bits, &mut self.contexts.corners);
        CornerCoder { bits, contexts, work: &mut work.corners }.code(counts, out.point, given)?;
        let indices = &mut *out.indices;
        work.corners.order_by_material(out.ranges, |_, to, triangle| {
            indices[3 * to..3 * to + 3].copy_from_slice(&triangle);
        });
        let (vertices, points) = (head.vertices as usize, head.points as usize);
        work.prepare(out.indices, vertices, points, out.point);
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
