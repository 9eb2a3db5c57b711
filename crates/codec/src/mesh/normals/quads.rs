//! Vectors of the quads of a regular grid, computed once for the four corners of each: at every corner the same
//! products and sums give the same bits, if differences of points are exact.

use crate::mesh::normals::arranged_points::{ArrangedPoints, DifferenceUnit, PointRows};
use crate::mesh::normals::roots::rough_inverse_root;
use crate::simd::lanes::{BLOCK, Part, Vector, cross, difference, dot};

/// The quads of a grid whose places are numbered row by row; a quad has the number of its first place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GridQuads {
    /// The number of places per row.
    width: i64,
    /// `true` if polygons go from a place to the next row first.
    reversed: bool,
}

impl GridQuads {
    /// Takes the width of a grid and the offsets from the own place to those after, across and before it, of a
    /// first corner. Fails if it is not one of a quad of the grid, or quads beyond the last place cannot be
    /// read. `places`: the number of places.
    pub fn new(width: u32, corner: [i64; 3], (rows, places): (&mut PointRows, usize)) -> Option<GridQuads> {
        let width = i64::from(width);
        let both = [false, true].map(|reversed| GridQuads { width, reversed });
        let found = both.into_iter().find(|quads| quads.offset(corner).is_some())?;
        let last = places.next_multiple_of(BLOCK) - BLOCK;
        rows.push_run(last as i64 + width + 1, places)?;
        Some(found)
    }

    /// Returns the offset from a corner's own place to its quad, given those to the places after, across and
    /// before it; `None` if these are not a quad of the grid.
    pub fn offset(&self, corner: [i64; 3]) -> Option<i64> {
        let [mut after, across, mut before] = corner;
        if self.reversed {
            std::mem::swap(&mut after, &mut before);
        }
        let around = [0, 1, self.width + 1, self.width];
        let own = (0..4).find(|&k| {
            let to = |ahead: usize| around[(k + ahead) % 4] - around[k];
            [after, across, before] == [1, 2, 3].map(to)
        })?;
        Some(-around[own])
    }

    /// Computes the vectors of all quads.
    #[inline(always)]
    pub fn write<L: Part, U: DifferenceUnit>(self, laid: &mut ArrangedPoints) {
        let (unit, margin, row) = (U::unit(laid), laid.margin, self.width as usize);
        let ArrangedPoints { planes: [x, y, z], quads, .. } = laid;
        let planes = [&x[..], &y[..], &z[..]];
        for start in (margin..planes[0].len() - margin).step_by(BLOCK) {
            for part in 0..L::PARTS {
                let at = |offset: usize| L::run(planes, start + offset, part);
                let d = difference::<L>(at(row + 1), at(0), unit);
                let e = match self.reversed {
                    false => difference::<L>(at(row), at(1), unit),
                    true => difference::<L>(at(1), at(row), unit),
                };
                let m = cross(d, e);
                let values = [m[0], m[1], m[2], rough_inverse_root(dot(m, m))];
                for (plane, value) in quads.iter_mut().zip(values) {
                    value.store(plane[start..].first_chunk_mut().expect("whole blocks"), part);
                }
            }
        }
    }
}

impl ArrangedPoints {
    /// Returns the vectors of a part of a run of quads, and one over their lengths.
    #[inline(always)]
    pub fn quads<L: Part>(&self, start: i32, part: usize) -> (Vector<L>, L) {
        let at = (i64::from(start) + self.margin as i64) as usize;
        let load = |k: usize| L::load(self.quads[k][at..].first_chunk().expect("within the margin"), part);
        ([load(0), load(1), load(2)], load(3))
    }
}
