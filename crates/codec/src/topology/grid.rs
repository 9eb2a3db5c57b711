//! Regular grids: their triangles follow from the numbers of their vertices, so only two sizes are stored,
//! and the diagonal that cuts each cell. Lossless. Used for planes, height fields, flags, and tubes, wherever
//! the compiler finds that a mesh is a grid.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 5 | `marker` | `FF FF FF FF 0F` |
//! | 5 | 1 … 5 | `width` | varint, vertices of a row, at least 2, or 3 if rows are closed |
//! | … | 1 … 5 | `height` | varint, rows, at least 2; width · height is the number of vertices |
//! | … | 1 | `flags` | bit 0 `closed`: rows are closed, the last vertex of a row is next to its first · bit 1 `reversed`: triangles have the other orientation |
//! | … | 1 … 5 | `size` | varint, bytes of `cuts` |
//! | … | `size` | `cuts` | a bit for each cell, by the range coder: 1 if it is cut from B to D. Chances: [bit of the cell before in its row and strip][bit of the cell above], 0 for cells that do not exist |
//!
//! ```text
//! cell       of row j and column i: A = (i, j), B = (i + 1, j), C = (i + 1, j + 1), D = (i, j + 1); closed: column `width` is column 0
//! triangles  A B C, A C D if it is cut from A to C; A B D, B C D if from B to D; reversed: the last two vertices of each are swapped
//! strip      16 columns of cells, the last one the remaining columns. Order of triangles: strip after strip, in a strip row after row, in a row from left to right
//! vertices   are numbered strip by strip, row by row, from left to right; strip s has the columns 16s … 16s + 15 of vertices that exist
//! ```

use crate::Corrupt;
use crate::bytes::{Cursor, put_varint};
#[cfg(feature = "encode")]
use crate::entropy::range::Encoder;
use crate::entropy::range::{BitCoder, Chance, Decoder};

/// The number of columns of cells in a strip. Part of the format.
const STRIP: u32 = 16;
/// The bytes that mark a grid. Part of the format.
pub const MARKER: [u8; 5] = [0xFF, 0xFF, 0xFF, 0xFF, 0x0F];

/// The shape of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridShape {
    /// The number of vertices per row.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
    /// `true` if rows are closed.
    pub closed: bool,
    /// `true` if triangles have the opposite orientation.
    pub reversed: bool,
}

/// A mesh that is a grid.
#[cfg(feature = "encode")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// The shape.
    pub shape: GridShape,
    /// For each cell in the order of strips, `true` if it is cut from B to D.
    pub cuts: Vec<bool>,
    /// The original triangle of each triangle in the file.
    pub triangles: Vec<u32>,
    /// The original vertex of each vertex in the file.
    pub vertices: Vec<u32>,
}

impl GridShape {
    /// Returns the number of columns of cells.
    fn columns(&self) -> u32 {
        self.width - u32::from(!self.closed)
    }

    /// Returns column and row of every vertex.
    pub fn columns_and_rows(&self) -> Vec<[u32; 2]> {
        let mut out = vec![[0; 2]; (self.width as usize) * (self.height as usize)];
        for j in 0..self.height {
            for i in 0..self.width {
                out[self.vertex_index(i, j) as usize] = [i, j];
            }
        }
        out
    }

    /// Returns the number in the file of the vertex in column `i` of row `j`.
    pub(crate) fn vertex_index(&self, i: u32, j: u32) -> u32 {
        // A strip has as many columns as are computed side by side.
        let first = i / STRIP * STRIP;
        let end = (first + STRIP).min(self.width);
        first * self.height + j * (end - first) + (i - first)
    }

    /// Visits cells in the order of strips. `each` gets column, row, and the cuts of the cells before and
    /// above, and returns whether this cell is cut from B to D.
    fn visit_quads(&self, mut each: impl FnMut(u32, u32, [bool; 2]) -> bool) {
        let columns = self.columns();
        let mut first = 0;
        while first < columns {
            let end = (first + STRIP).min(columns);
            let mut above = [false; STRIP as usize];
            for j in 0..self.height - 1 {
                let mut before = false;
                for i in first..end {
                    let slot = &mut above[(i - first) as usize];
                    before = each(i, j, [before, *slot]);
                    *slot = before;
                }
            }
            first = end;
        }
    }

    /// Returns the vertices A B C D of a cell, as columns and rows.
    fn corners(&self, i: u32, j: u32) -> [[u32; 2]; 4] {
        let right = (i + 1) % self.width;
        [[i, j], [right, j], [right, j + 1], [i, j + 1]]
    }

    fn check(&self, vertices: u64, indices: u64) -> Result<(), Corrupt> {
        let least = if self.closed { 3 } else { 2 };
        let count = u64::from(self.width) * u64::from(self.height);
        if self.width < least || self.height < 2 || count != vertices {
            return Err(Corrupt("grid: another number of vertices"));
        }
        if 6 * u64::from(self.columns()) * u64::from(self.height - 1) != indices {
            return Err(Corrupt("grid: another number of triangles"));
        }
        Ok(())
    }
}

/// Returns the two triangles of a cell.
fn triangles<T: Copy>([a, b, c, d]: [T; 4], cut: bool, reversed: bool) -> [[T; 3]; 2] {
    let both = match cut {
        false => [[a, b, c], [a, c, d]],
        true => [[a, b, d], [b, c, d]],
    };
    both.map(|[x, y, z]| if reversed { [x, z, y] } else { [x, y, z] })
}

#[cfg(feature = "encode")]
impl Grid {
    /// Returns the grid if `given` are the triangles of one whose vertices are numbered row by row.
    pub fn find(given: &[[u32; 3]], vertices: usize) -> Option<Grid> {
        let count = u32::try_from(vertices).ok()?;
        let first = given.first()?;
        let mut sorted = *first;
        sorted.sort_unstable();
        let [x, y, z] = sorted;
        // A triangle has two neighbours in a row and a vertex in another: the width is the difference of two
        // of its numbers.
        for width in [z - x, z - y, y - x] {
            if width < 2 || !count.is_multiple_of(width) {
                continue;
            }
            for closed in [false, true] {
                let shape = GridShape { width, height: count / width, closed, reversed: false };
                if let Some(grid) = Grid::from_triangles(given, shape) {
                    return Some(grid);
                }
            }
        }
        None
    }

    fn from_triangles(given: &[[u32; 3]], mut shape: GridShape) -> Option<Grid> {
        const NO_TRIANGLE: u32 = u32::MAX;
        let vertices = u64::from(shape.width) * u64::from(shape.height);
        shape.check(vertices, 3 * given.len() as u64).ok()?;
        let columns = shape.columns();
        // By cell and missing corner: the triangle.
        let cells = columns as usize * (shape.height - 1) as usize;
        let mut found = vec![[NO_TRIANGLE; 4]; cells];
        let mut reversed = None;
        for (t, triangle) in (0..).zip(given) {
            let at = triangle.map(|v| [v % shape.width, v / shape.width]);
            let low = |k: usize| at.iter().map(|p| p[k]).min().unwrap_or(0);
            let (mut i, j) = (low(0), low(1));
            if shape.closed && i == 0 && at.iter().any(|p| p[0] == shape.width - 1) {
                i = shape.width - 1;
            }
            if i >= columns || j + 1 >= shape.height {
                return None;
            }
            let corners = shape.corners(i, j);
            let place = |p: &[u32; 2]| corners.iter().position(|c| c == p);
            let [x, y, z] = [place(&at[0])?, place(&at[1])?, place(&at[2])?];
            if x == y || y == z || z == x {
                return None;
            }
            let missing = 6 - x - y - z;
            // Counts corners from one to the next; the total gives the orientation.
            let round = |x: usize, y: usize| (y + 4 - x) % 4;
            let turns = round(x, y) + round(y, z) + round(z, x);
            let other = match turns {
                4 => false,
                8 => true,
                _ => return None,
            };
            if *reversed.get_or_insert(other) != other {
                return None;
            }
            let cell = &mut found[(j * columns + i) as usize];
            if std::mem::replace(&mut cell[missing], t) != NO_TRIANGLE {
                return None;
            }
        }
        shape.reversed = reversed?;
        let mut grid = Grid {
            shape,
            cuts: Vec::with_capacity(cells),
            triangles: Vec::with_capacity(given.len()),
            vertices: vec![0; vertices as usize],
        };
        let mut whole = true;
        shape.visit_quads(|i, j, _| {
            // A B C lacks D, A C D lacks B; A B D lacks C, B C D lacks A.
            let [a, b, c, d] = found[(j * columns + i) as usize];
            let cut = b == NO_TRIANGLE;
            let both = if cut { [c, a] } else { [d, b] };
            whole &= both.iter().all(|t| *t != NO_TRIANGLE);
            grid.cuts.push(cut);
            grid.triangles.extend(both);
            cut
        });
        for v in 0..vertices as u32 {
            let number = shape.vertex_index(v % shape.width, v / shape.width);
            grid.vertices[number as usize] = v;
        }
        whole.then_some(grid)
    }

    /// Returns the grid of a shape and its cuts, without original triangles and vertices; `None` if they do
    /// not fit together, or do not have this number of vertices.
    pub fn from_shape(shape: GridShape, cuts: Vec<bool>, vertices: usize) -> Option<Grid> {
        shape.check(vertices as u64, 6 * cuts.len() as u64).ok()?;
        Some(Grid { shape, cuts, triangles: Vec::new(), vertices: Vec::new() })
    }

    /// Returns the triangles in the order of the file.
    pub fn indices(&self) -> Vec<u32> {
        let mut out = Vec::with_capacity(6 * self.cuts.len());
        let mut cuts = self.cuts.iter();
        self.shape.visit_quads(|i, j, _| {
            let cut = cuts.next().copied().unwrap_or(false);
            out.extend(self.shape.indices(i, j, cut));
            cut
        });
        out
    }

    /// Appends the grid.
    #[cfg(feature = "encode")]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let shape = self.shape;
        let mut cuts = Vec::new();
        let mut bits = Encoder::new(&mut cuts);
        let mut chances = [[Chance::default(); 2]; 2];
        let mut next = self.cuts.iter();
        shape.visit_quads(|_, _, around| {
            let cut = next.next().copied().unwrap_or(false);
            bits.bit(chance(&mut chances, around), cut)
        });
        bits.finish();
        out.extend(MARKER);
        put_varint(shape.width, out);
        put_varint(shape.height, out);
        out.push(u8::from(shape.closed) | u8::from(shape.reversed) << 1);
        put_varint(cuts.len() as u32, out);
        out.extend(cuts);
    }
}

fn chance(chances: &mut [[Chance; 2]; 2], around: [bool; 2]) -> &mut Chance {
    &mut chances[usize::from(around[0])][usize::from(around[1])]
}

impl GridShape {
    fn indices(&self, i: u32, j: u32, cut: bool) -> [u32; 6] {
        let corners = self.corners(i, j).map(|[i, j]| self.vertex_index(i, j));
        let [[a, b, c], [d, e, f]] = triangles(corners, cut, self.reversed);
        [a, b, c, d, e, f]
    }

    fn read(c: &mut Cursor<'_>) -> Result<GridShape, Corrupt> {
        if c.array::<5>()? != MARKER {
            return Err(Corrupt("grid: no grid"));
        }
        let (width, height, flags) = (c.varint()?, c.varint()?, c.u8()?);
        if flags > 3 {
            return Err(Corrupt("grid: unknown flags"));
        }
        Ok(GridShape { width, height, closed: flags & 1 != 0, reversed: flags & 2 != 0 })
    }
}

/// Returns the shape of the grid that begins here, if there is one.
pub fn read_shape(bytes: &[u8]) -> Option<GridShape> {
    GridShape::read(&mut Cursor::new(bytes)).ok()
}

/// Decodes the indices of a grid with this number of vertices from the start of `bytes`; returns the number
/// of bytes used.
pub fn decode(bytes: &[u8], vertices: u32, out: &mut [u32]) -> Result<usize, Corrupt> {
    let mut c = Cursor::new(bytes);
    let shape = GridShape::read(&mut c)?;
    shape.check(vertices.into(), out.len() as u64)?;
    let size = c.varint()?;
    let mut bits = Decoder::new(c.bytes(size as usize)?);
    let mut chances = [[Chance::default(); 2]; 2];
    let mut out = out.as_chunks_mut::<6>().0.iter_mut();
    shape.visit_quads(|i, j, around| {
        let cut = bits.bit(chance(&mut chances, around), false);
        if let Some(out) = out.next() {
            *out = shape.indices(i, j, cut);
        }
        cut
    });
    bits.finish()?;
    Ok(c.used())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the triangles of a grid, shuffled and rotated.
    fn given(shape: GridShape, seed: u32) -> Vec<[u32; 3]> {
        let mut out = Vec::new();
        let id = |[i, j]: [u32; 2]| j * shape.width + i;
        shape.visit_quads(|i, j, _| {
            let cut = (i * 7 + j * 13 + seed) * seed % 5 > 2;
            for (k, t) in triangles(shape.corners(i, j).map(id), cut, shape.reversed).into_iter().enumerate()
            {
                let turn = (i as usize + j as usize + k) % 3;
                out.push([0, 1, 2].map(|n| t[(n + turn) % 3]));
            }
            cut
        });
        let count = out.len();
        (0..count).for_each(|i| out.swap(i, (i * 31 + seed as usize) % count));
        out
    }

    fn turned(t: [u32; 3]) -> [u32; 3] {
        let least = (0..3).min_by_key(|&k| t[k]).unwrap();
        [0, 1, 2].map(|k| t[(least + k) % 3])
    }

    fn round_trip(shape: GridShape, seed: u32) -> Vec<u8> {
        let given = given(shape, seed);
        let vertices = shape.width * shape.height;
        let grid = Grid::find(&given, vertices as usize).expect("a grid");
        assert_eq!((grid.shape.width, grid.shape.height), (shape.width, shape.height));
        let mut bytes = Vec::new();
        grid.encode(&mut bytes);
        assert_eq!(super::read_shape(&bytes), Some(grid.shape));
        let mut out = vec![0; 3 * given.len()];
        assert_eq!(decode(&bytes, vertices, &mut out), Ok(bytes.len()));
        assert_eq!(out, grid.indices());
        for (n, t) in out.as_chunks::<3>().0.iter().enumerate() {
            let back = t.map(|v| grid.vertices[v as usize]);
            assert_eq!(turned(back), turned(given[grid.triangles[n] as usize]));
        }
        let mut all = grid.vertices.clone();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..vertices));
        bytes
    }

    fn plane(width: u32, height: u32) -> GridShape {
        GridShape { width, height, closed: false, reversed: false }
    }

    #[test]
    fn a_plane_is_a_few_bytes() {
        assert_eq!(round_trip(plane(82, 82), 0).len(), 9);
        assert_eq!(round_trip(plane(2, 2), 0).len(), 9);
    }

    #[test]
    fn what_is_no_grid_is_none() {
        let mut all = given(plane(9, 7), 3);
        assert!(Grid::find(&all, 64).is_none() && Grid::find(&[], 0).is_none());
        let last = all.pop().unwrap();
        assert!(Grid::find(&all, 63).is_none());
        all.push([last[0], last[2], last[1]]);
        assert!(Grid::find(&all, 63).is_none());
        all.pop();
        all.push(all[0]);
        assert!(Grid::find(&all, 63).is_none());
        assert!(Grid::find(&[[0, 0, 0], [1, 1, 1]], 4).is_none());
    }

    #[test]
    fn damage_is_refused_or_harmless() {
        let bytes = round_trip(plane(20, 9), 3);
        let mut out = vec![0; 6 * 19 * 8];
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut], 180, &mut out).is_err());
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << bit;
                if decode(&bad, 180, &mut out).is_ok() {
                    assert!(out.iter().all(|v| *v < 180));
                }
            }
        }
        assert!(decode(&bytes, 179, &mut out).is_err());
        assert!(decode(&bytes, 180, &mut out[6..]).is_err());
    }

    proptest! {
        #[test]
        fn grids_come_back(width in 3u32..40, height in 2u32..12, closed: bool, reversed: bool, seed in 0u32..9) {
            // Three rings of three can be read in two ways.
            prop_assume!(width != height && width > 4);
            round_trip(GridShape { width, height, closed, reversed }, seed);
        }

        #[test]
        fn any_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..40), n in 0usize..9) {
            let mut all = MARKER.to_vec();
            all.extend(bytes);
            let mut out = vec![0; 6 * n];
            if decode(&all, 10, &mut out).is_ok() {
                prop_assert!(out.iter().all(|v| *v < 10));
            }
        }
    }
}
