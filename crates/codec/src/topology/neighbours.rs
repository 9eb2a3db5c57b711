//! The triangles and vertices around a vertex, which encoder and decoder both derive from the indices of a
//! frame.
//!
//! ```text
//! corners of v    corners with index v, in index order, at most 24 of them
//! twin of h       half-edge from u to v: in index order, each half-edge without a twin takes the first among the corners of v (at most 24)
//!                 whose half-edge goes to u and has no twin
//! ```

/// The number of a missing half-edge.
pub const NO_HALF_EDGE: u32 = u32::MAX;
/// The number of corners of a vertex that are considered. Part of the format.
const MAX_CORNERS: usize = 24;
/// The number of triangles that predict a vertex, and of neighbours that do so if there is no such triangle.
/// Part of the format.
pub const MAX_PREDICTORS: usize = 4;

/// The corners of each vertex, the twins of half-edges, and the indices. Buffers are reused.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    indices: Vec<u32>,
    /// The start of each vertex's corners, and the end.
    first: Vec<u32>,
    corners: Vec<u32>,
    twin: Vec<u32>,
}

/// The vertices that predict a vertex: (b, c, a) of triangles that continue over the edge (b, c), with a on
/// the other side; or, if there are none, neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbourhood {
    /// The triangles.
    pub triangles: [[u32; 3]; MAX_PREDICTORS],
    /// The number of triangles.
    pub triangle_count: usize,
    /// The neighbours.
    pub neighbours: [u32; MAX_PREDICTORS],
    /// The number of neighbours.
    pub neighbour_count: usize,
}

impl Neighbours {
    /// Allocates memory for this many vertices and indices.
    pub fn reserve(&mut self, vertices: usize, indices: usize) {
        for list in [&mut self.indices, &mut self.corners, &mut self.twin] {
            list.reserve(indices.saturating_sub(list.len()));
        }
        (self.first).reserve((vertices + 2).saturating_sub(self.first.len()));
    }

    /// Derives the neighbours from the triangles `indices`, all below `vertices`.
    pub fn fill(&mut self, indices: &[u32], vertices: usize) {
        let indices = &indices[..indices.len() / 3 * 3];
        self.indices.clear();
        self.indices.extend_from_slice(indices);
        self.first.clear();
        self.first.resize(vertices + 2, 0);
        for &v in indices {
            self.first[v as usize + 2] += 1;
        }
        for v in 2..self.first.len() {
            self.first[v] += self.first[v - 1];
        }
        self.corners.clear();
        self.corners.resize(indices.len(), 0);
        for (h, &v) in (0..).zip(indices) {
            let slot = &mut self.first[v as usize + 1];
            self.corners[*slot as usize] = h;
            *slot += 1;
        }
        self.twin.clear();
        self.twin.resize(indices.len(), NO_HALF_EDGE);
        for h in 0..indices.len() as u32 {
            if self.twin[h as usize] != NO_HALF_EDGE {
                continue;
            }
            let (from, to) = (self.index(h), self.index(next(h)));
            let back =
                |&&g: &&u32| self.twin[g as usize] == NO_HALF_EDGE && g != h && self.index(next(g)) == from;
            if let Some(&g) = self.vertex_corners(to).iter().find(back) {
                self.twin[h as usize] = g;
                self.twin[g as usize] = h;
            }
        }
    }

    fn index(&self, h: u32) -> u32 {
        self.indices[h as usize]
    }

    fn vertex_corners(&self, v: u32) -> &[u32] {
        let v = v as usize;
        let all = &self.corners[self.first[v] as usize..self.first[v + 1] as usize];
        &all[..all.len().min(MAX_CORNERS)]
    }

    /// Returns the triangles and vertices around `v` whose vertices are all below `v`.
    #[inline]
    pub fn around(&self, v: u32) -> Neighbourhood {
        let mut out = Neighbourhood::default();
        for &h in self.vertex_corners(v) {
            let across = next(h);
            let (b, c) = (self.index(across), self.index(next(across)));
            let mut seen = |n: u32| {
                let known = &out.neighbours[..out.neighbour_count];
                if n < v && out.neighbour_count < MAX_PREDICTORS && !known.contains(&n) {
                    out.neighbours[out.neighbour_count] = n;
                    out.neighbour_count += 1;
                }
            };
            seen(b);
            seen(c);
            let twin = self.twin[across as usize];
            if b < v && c < v && twin != NO_HALF_EDGE && out.triangle_count < MAX_PREDICTORS {
                let a = self.index(next(next(twin)));
                if a < v {
                    out.triangles[out.triangle_count] = [b, c, a];
                    out.triangle_count += 1;
                }
            }
        }
        out
    }
}

/// Returns the next half-edge of the triangle.
#[inline]
fn next(h: u32) -> u32 {
    h - h % 3 + (h + 1) % 3
}
