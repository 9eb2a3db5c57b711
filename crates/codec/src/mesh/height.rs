//! Height fields: points of a regular grid two coordinates of which follow from column and row and never
//! change, so that only the third is coded.
//!
//! Static part of fixed-point positions stored as heights:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `axis` | the coordinate that is coded: 0 x · 1 y · 2 z |
//! | 1 | 24 | `plane` | for each of the other coordinates: its value at column 0 of row 0, its step along the columns, its step along the rows; 3 × f32 |
//! | 25 | rest | `heights` | static part of fixed-point values; the plane is subtracted from frame 0 |
//!
//! ```text
//! value    of the other coordinates = ⌊(origin + column · step + row · step − centre) / unit⌉       in f64; halves to even
//! ```
//!
//! Access units are decoded as if there were no plane; the other two coordinates are then replaced by these
//! values.

use crate::bytes::Cursor;
use crate::mesh::decode::{self, StaticPart};
use crate::mesh::hierarchy::Hierarchy;
use crate::mesh::table_sets::TableSets;
use crate::quantize::fixed_point::FixedPoint;
use crate::quantize::lattice::FixedPointGrid;
use crate::topology::grid::GridShape;
use crate::{Corrupt, each_width, for_width};

/// The plane in which the points of a grid lie, apart from their heights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeightFieldPlane {
    /// The coordinate that is coded: 0 x, 1 y, 2 z.
    pub axis: usize,
    /// Origin, step along the columns and step along the rows for each other coordinate: the one after `axis`
    /// and the one after that, cyclically.
    pub affine_coordinates: [[f32; 3]; 2],
}

/// A plane in fixed-point positions.
#[derive(Debug, Clone)]
pub struct FixedPointPlane {
    /// The coordinate that is coded.
    pub axis: usize,
    /// The fixed-point positions of the plane in the order of the hierarchy, 0 along the axis.
    pub base: Vec<[i32; 3]>,
}

impl HeightFieldPlane {
    /// Returns the two coordinates that are not coded, each with origin and steps.
    fn uncoded_axes(&self) -> [(usize, [f32; 3]); 2] {
        [0, 1].map(|k| ((self.axis + 1 + k) % 3, self.affine_coordinates[k]))
    }

    /// Returns the position of column `i`, row `j`; 0 along the axis.
    pub fn position(&self, [i, j]: [u32; 2]) -> [f64; 3] {
        let mut out = [0.0; 3];
        for (k, side) in self.uncoded_axes() {
            let [origin, column, row] = side.map(f64::from);
            out[k] = origin + f64::from(i) * column + f64::from(j) * row;
        }
        out
    }

    /// Returns the plane in fixed-point positions; `None` if one of them exceeds their range.
    pub fn to_fixed_point<W: FixedPoint>(
        &self,
        places: &[[u32; 2]],
        order: &[u32],
        grid: &FixedPointGrid,
    ) -> Option<FixedPointPlane> {
        let cell = |&point: &u32| {
            let (at, mut out) = (self.position(*places.get(point as usize)?), [0; 3]);
            for (k, _) in self.uncoded_axes() {
                let x = (at[k] - f64::from(grid.centre[k])) / f64::from(grid.unit);
                let x = x.round_ties_even();
                out[k] = (x.abs() <= f64::from(W::MAX_COORDINATE)).then_some(x as i32)?;
            }
            Some(out)
        };
        Some(FixedPointPlane { axis: self.axis, base: order.iter().map(cell).collect::<Option<_>>()? })
    }

    /// Writes the static part.
    #[cfg(feature = "encode")]
    pub fn encode(&self, cells: &[u8], out: &mut Vec<u8>) {
        out.push(self.axis as u8);
        let numbers = self.affine_coordinates.as_flattened().iter();
        out.extend(numbers.flat_map(|v| v.to_le_bytes()));
        out.extend_from_slice(cells);
    }
}

impl FixedPointPlane {
    /// Overwrites the two other coordinates of decoded positions with those of the plane.
    pub fn restore_uncoded_axes<W: FixedPoint>(&self, cells: &mut [[W; 4]]) {
        let [a, b] = [(self.axis + 1) % 3, (self.axis + 2) % 3];
        for (cell, base) in cells.iter_mut().zip(&self.base) {
            (cell[a], cell[b]) = (W::wrap(base[a]), W::wrap(base[b]));
        }
    }
}

/// Reads the static part of a mesh whose points form a grid of this shape; returns also the coordinate that
/// is coded.
pub fn decode(
    bytes: &[u8],
    hierarchy: Hierarchy,
    shape: &GridShape,
    sets: &mut TableSets,
) -> Result<(StaticPart, usize), Corrupt> {
    let mut c = Cursor::new(bytes);
    let axis = usize::from(c.u8()?);
    let mut sides = [[0.0; 3]; 2];
    for number in sides.as_flattened_mut() {
        *number = c.f32()?;
    }
    let finite = sides.as_flattened().iter().all(|v| v.is_finite());
    let points = u64::from(shape.width) * u64::from(shape.height);
    if axis > 2 || !finite || shape.closed || points != hierarchy.order.len() as u64 {
        return Err(Corrupt("heights: an axis, a plane or points that are not those of a grid"));
    }
    let rest = c.bytes(c.left())?;
    let (plane, grid) = (HeightFieldPlane { axis, affine_coordinates: sides }, decode::grid(rest)?);
    let (places, order) = (shape.columns_and_rows(), &hierarchy.order);
    let flat = for_width!(decode::is_wide(rest)?, W => plane.to_fixed_point::<W>(&places, order, &grid));
    let flat = flat.ok_or(Corrupt("heights: a plane beyond fixed-point positions"))?;
    let mut made = StaticPart::decode_sharing(rest, hierarchy, Some(&flat.base), sets)?;
    each_width!(&mut made.first, first => flat.restore_uncoded_axes(first));
    Ok((made, axis))
}

/// Overwrites the coordinates of decoded positions that are not coded with those of frame 0. `axis`: the
/// coordinate that is.
pub fn restore_uncoded_axes<W: FixedPoint>(axis: usize, first: &[[W; 4]], cells: &mut [[W; 4]]) {
    let [a, b] = [(axis + 1) % 3, (axis + 2) % 3];
    for (cell, first) in cells.iter_mut().zip(first) {
        (cell[a], cell[b]) = (first[a], first[b]);
    }
}
