//! Triangles whose corners are vertices of points: the [connectivity] of the points, then the vertex of each
//! corner. Lossless; the order of triangles, points and vertices is free. Used for meshes whose faces change,
//! and for the static triangles of the preset small ([`super::compact`]).
//!
//! *Points* are the vertices of one position. If there are as many points as vertices, both are the same.
//! Otherwise the vertices follow, corner by corner in coding order:
//!
//! ```text
//! first corner of a point    a new vertex
//! other corners              another than the most recent vertex of the point? [the same of the corner before][has the point several]
//!                            new?; else the other vertices of the point, the most recent first: is it this one?, at most 16 times, then its number, plain
//! vertices without triangles a point of their own? else the number of the point, plain
//! ```

use crate::Corrupt;
use crate::entropy::range::{BitCoder, Chance};
use crate::topology::connectivity::{self, TriangleCounts};

// Part of the format.
const MAX_WALKED_SIBLINGS: usize = 16;
pub(crate) const NO_VERTEX: u32 = u32::MAX;

/// The adaptive statistics of corners.
#[derive(Clone, Debug, Default)]
pub struct CornerContexts {
    connectivity: connectivity::ConnectivityContexts,
    other: [[Chance; 2]; 2],
    new: Chance,
    this: Chance,
    loose: Chance,
}

/// Buffers, and the result. They are reused; within [`CornerBuffers::reserve`] nothing is allocated.
#[derive(Clone, Debug, Default)]
pub struct CornerBuffers {
    connectivity: connectivity::ConnectivityBuffers,
    /// The most recent vertex of each point.
    newest: Vec<u32>,
    /// For each vertex, the previous vertex of the same point.
    sibling: Vec<u32>,
}

impl CornerBuffers {
    /// The bytes of memory for each vertex: triangle count, border, most recent vertex, sibling.
    pub const BYTES_PER_VERTEX: u64 = 1 + 4 + 4 + 4;
    /// The bytes of memory for each index: corner, next, before, queue, edge, a third of a material.
    pub const BYTES_PER_INDEX: u64 = 4 * 4 + 1 + 2;

    /// Allocates memory for this many vertices and indices.
    pub fn reserve(&mut self, vertices: usize, indices: usize) {
        self.connectivity.reserve(vertices, indices);
        for list in [&mut self.newest, &mut self.sibling] {
            list.reserve(vertices.saturating_sub(list.len()));
        }
    }

    /// Returns the number of coded triangles.
    pub(crate) fn triangle_count(&self) -> usize {
        self.connectivity.corners.len() / 3
    }

    /// Puts the coded triangles in the order of their materials: sets the first index and the number of
    /// indices of each material, and calls `put` with each triangle's number in coding order, its new number,
    /// and its vertices.
    pub(crate) fn order_by_material(
        &self,
        ranges: &mut [[u32; 2]],
        mut put: impl FnMut(usize, usize, [u32; 3]),
    ) {
        let (corners, materials) = (&self.connectivity.corners, &self.connectivity.materials);
        ranges.fill([0, 0]);
        for &m in materials {
            ranges[m as usize][1] += 3;
        }
        let mut first = 0;
        for range in ranges.iter_mut() {
            let count = range[1];
            *range = [first, 0];
            first += count;
        }
        for (t, (triangle, &m)) in corners.as_chunks().0.iter().zip(materials).enumerate() {
            let [first, count] = &mut ranges[m as usize];
            put(t, (*first + *count) as usize / 3, *triangle);
            *count += 3;
        }
    }
}

/// The numbers of vertices, points, triangles and materials.
#[derive(Clone, Copy, Debug)]
pub struct CornerCounts {
    /// The number of vertices.
    pub vertices: u32,
    /// The numbers of points, at most that of vertices, of triangles and of materials.
    pub triangles: TriangleCounts,
}

/// The triangles of a frame to encode.
pub struct InputTopology<'a> {
    pub(crate) given: connectivity::InputTriangles<'a>,
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
pub(crate) struct CornerCoder<'a, B> {
    pub bits: &'a mut B,
    pub contexts: &'a mut CornerContexts,
    pub work: &'a mut CornerBuffers,
}

impl<B: BitCoder<Context = Chance>> CornerCoder<'_, B> {
    /// Encodes the triangles of `given`, or decodes triangles without `given`. They are in the buffers
    /// afterwards; `point` receives the point of each vertex, and is empty if points and vertices are the
    /// same.
    pub fn code(
        &mut self,
        counts: CornerCounts,
        point: &mut [u32],
        mut given: Option<&mut InputTopology<'_>>,
    ) -> Result<(), Corrupt> {
        if counts.triangles.materials == 0 && counts.triangles.triangles > 0 {
            return Err(Corrupt("triangles without a material"));
        }
        connectivity::code_triangles(
            self.bits,
            &mut self.contexts.connectivity,
            counts.triangles,
            &mut self.work.connectivity,
            given.as_deref_mut().map(|g| &mut g.given),
        )?;
        if !point.is_empty() {
            let used = self.corners(counts, point, given.as_deref_mut())?;
            self.loose(counts, used, point, given)?;
        } else if let Some(given) = given {
            given.order.clone_from(&given.given.points);
        }
        Ok(())
    }

    /// Codes the vertices of triangles, corner by corner.
    fn corners(
        &mut self,
        counts: CornerCounts,
        point: &mut [u32],
        mut given: Option<&mut InputTopology<'_>>,
    ) -> Result<UsedCounts, Corrupt> {
        const TOO_MANY_VERTICES: Corrupt = Corrupt("triangles: more vertices than there are");
        let (bits, contexts, work) = (&mut *self.bits, &mut *self.contexts, &mut *self.work);
        let (newest, sibling) = (&mut work.newest, &mut work.sibling);
        newest.clear();
        newest.resize(counts.triangles.points as usize, NO_VERTEX);
        sibling.clear();
        sibling.resize(counts.vertices as usize, NO_VERTEX);
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
                        return Err(Corrupt("triangles: a vertex of another point"));
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
        counts: CornerCounts,
        found: UsedCounts,
        point: &mut [u32],
        mut given: Option<&mut InputTopology<'_>>,
    ) -> Result<(), Corrupt> {
        let (bits, contexts) = (&mut *self.bits, &mut *self.contexts);
        let (vertices, points) = (counts.vertices, counts.triangles.points);
        let UsedCounts { vertices: known, points: mut used } = found;
        let mut loose = Vec::new();
        if let Some(given) = given.as_deref_mut() {
            loose.extend((0..given.number.len() as u32).filter(|&v| given.number[v as usize] == NO_VERTEX));
            loose.sort_by_key(|&v| given.given.number[given.point[v as usize] as usize]);
        }
        for (i, v) in (known..vertices).enumerate() {
            let old = loose.get(i);
            let wanted = old.and_then(|&v| {
                let given = given.as_deref()?;
                Some(given.given.number[given.point[v as usize] as usize])
            });
            let own = bits.bit(&mut contexts.loose, wanted == Some(used));
            let p = match own {
                true => used,
                false => bits.raw_bits(bit_width(points), wanted.unwrap_or(0)),
            };
            used += u32::from(own);
            if p >= used || used > points {
                return Err(Corrupt("triangles: a vertex of a point that is not there"));
            }
            point[v as usize] = p;
            if let (Some(given), Some(&old)) = (given.as_deref_mut(), old) {
                given.order.push(old);
            }
        }
        if used != points || known > vertices {
            return Err(Corrupt("triangles: points without vertices"));
        }
        Ok(())
    }
}

/// Returns the number of bits of numbers up to `most`.
fn bit_width(most: u32) -> u32 {
    32 - most.leading_zeros()
}
