//! The static part of a mesh, stored once, with frame 0.

use super::unit::{DecodedPoint, UnitBody, add_residual};
use crate::bytes::Cursor;
use crate::mesh::blocks::{self, BLOCK};
use crate::mesh::hierarchy::Hierarchy;
use crate::mesh::table_sets::{DecodingTables, TableSets};
use crate::mesh::tables::{self, LAYERS, NEIGHBOUR_CLASSES};
use crate::mesh::weights::{self, FITS};
use crate::quantize::fixed_point::FixedPoint;
use crate::quantize::lattice::FixedPointGrid;
use crate::width::OwnedPoints;
use crate::{Corrupt, each_width, for_width};
use std::sync::Arc;

/// The vectors of frame 0 in one of the two widths.
pub type FirstFrame = OwnedPoints;

/// The decoded static part of a mesh, built once: everything that its access units need.
#[derive(Debug, Clone)]
pub struct StaticPart {
    /// The unit, centre and steps of the fixed-point positions.
    pub grid: FixedPointGrid,
    /// The hierarchy of the points, without the rings: `neighbours` are what units need of them.
    pub hierarchy: Hierarchy,
    /// Four coarser neighbours per vertex; missing ones repeat the first (roots: 0), with weight 0. Empty if
    /// `plan` has them.
    pub(in crate::mesh) neighbours: Vec<[u32; 4]>,
    /// Their weights, in 1/4096.
    pub(in crate::mesh) weights: Vec<[i16; 4]>,
    /// The frequency tables, shared by all parts with equal ones.
    pub tables: Arc<DecodingTables>,
    /// The decoded frame 0.
    pub first: FirstFrame,
    pub(in crate::mesh) plan: Option<super::neighbour_plan::NeighbourPlan>,
}

/// Flag of the static part: fixed-point positions have 32 bits.
pub(in crate::mesh) const WIDE: u8 = 1;

/// The lowest bit of the number of the fit.
pub(in crate::mesh) const FIT_SHIFT: u32 = 1;

/// The lowest bit of the number of the default set of tables.
pub(in crate::mesh) const SET_SHIFT: u32 = 4;

impl StaticPart {
    /// Decodes the static part of a mesh with this hierarchy. `outside` is the prediction that was subtracted
    /// from frame 0 before coding, in the hierarchy's order. Takes about 60 bytes of memory per point, and at
    /// most half a megabyte for tables.
    pub fn decode(
        bytes: &[u8],
        hierarchy: Hierarchy,
        outside: Option<&[[i32; 3]]>,
    ) -> Result<StaticPart, Corrupt> {
        StaticPart::read(bytes, hierarchy, outside, true, &mut TableSets::default())
    }

    /// [`StaticPart::decode`] with tables that other meshes may share.
    pub fn decode_sharing(
        bytes: &[u8],
        hierarchy: Hierarchy,
        outside: Option<&[[i32; 3]]>,
        sets: &mut TableSets,
    ) -> Result<StaticPart, Corrupt> {
        StaticPart::read(bytes, hierarchy, outside, true, sets)
    }

    /// With `more`, also prepares the weights and the plan that other frames need.
    fn read(
        bytes: &[u8],
        hierarchy: Hierarchy,
        outside: Option<&[[i32; 3]]>,
        more: bool,
        sets: &mut TableSets,
    ) -> Result<StaticPart, Corrupt> {
        let mut c = Cursor::new(bytes);
        let (flags, grid) = head(&mut c)?;
        let fit = usize::from(flags >> FIT_SHIFT) % FITS.len();
        let tables = match flags >> SET_SHIFT {
            0 => {
                let size = c.varint()? as usize;
                sets.own_set(c.bytes(size)?, hierarchy.order.len())?
            }
            number => sets.default_set(number)?,
        };
        let mut out = StaticPart {
            grid,
            neighbours: Vec::new(),
            weights: Vec::new(),
            tables,
            first: FirstFrame::Narrow(Vec::new()),
            plan: None,
            hierarchy,
        };
        let rest = c.bytes(c.left())?;
        if outside.is_some_and(|o| o.len() != out.points()) {
            return Err(Corrupt("static part: another number of points outside"));
        }
        for_width!(flags & WIDE != 0, W => out.read_first::<W>(rest, outside, more.then_some(fit))?);
        if more {
            out.plan = super::neighbour_plan::NeighbourPlan::new(&out.neighbours, &out.weights, &out.tables);
            if out.plan.is_some() {
                (out.neighbours, out.weights) = Default::default();
            }
        }
        out.hierarchy.forget_rings();
        Ok(out)
    }

    /// Reads frame 0, and computes the weights if a fit is given.
    fn read_first<W: FixedPoint>(
        &mut self,
        bytes: &[u8],
        outside: Option<&[[i32; 3]]>,
        fit: Option<usize>,
    ) -> Result<(), Corrupt> {
        let first = first_frame::<W>(self, bytes)?;
        if let Some(fit) = fit {
            (self.neighbours, self.weights) = solve_spatial_weights(&self.hierarchy, &first, outside, fit);
        }
        self.first = W::into_owned_points(first);
        Ok(())
    }

    /// Returns the number of points.
    pub fn points(&self) -> usize {
        self.hierarchy.order.len()
    }

    /// Returns the coarser neighbours of a vertex, and their weights in 1/4096.
    #[inline(always)]
    pub fn weighted_neighbours(&self, v: usize) -> ([u32; 4], [i16; 4]) {
        if let Some(plan) = &self.plan {
            return plan.weighted_neighbours(v);
        }
        (self.neighbours[v], self.weights[v])
    }
}

/// `true` if a static part has 32-bit fixed-point positions. Fails if it is empty.
pub fn is_wide(bytes: &[u8]) -> Result<bool, Corrupt> {
    Ok(Cursor::new(bytes).u8()? & WIDE != 0)
}

/// Reads the flags, unit, centre and steps at the beginning of a static part.
pub(in crate::mesh) fn head(c: &mut Cursor<'_>) -> Result<(u8, FixedPointGrid), Corrupt> {
    let flags = c.u8()?;
    let grid = FixedPointGrid {
        unit: c.f32()?,
        centre: [c.f32()?, c.f32()?, c.f32()?],
        steps: {
            let mut steps = [0; LAYERS];
            for s in &mut steps {
                *s = u16::try_from(c.varint()?).map_err(|_| Corrupt("static part: step too large"))?;
            }
            steps
        },
    };
    match grid.unit.is_finite() && grid.centre.iter().all(|c| c.is_finite()) {
        true => Ok((flags, grid)),
        false => Err(Corrupt("static part: unit or centre is not a number")),
    }
}

/// Returns the unit, centre and steps of a static part.
pub(crate) fn grid(bytes: &[u8]) -> Result<FixedPointGrid, Corrupt> {
    Ok(head(&mut Cursor::new(bytes))?.1)
}

/// Returns the positions of frame 0 alone, in the hierarchy's order.
pub fn decode_first_positions(bytes: &[u8], hierarchy: &Hierarchy) -> Result<Vec<[f32; 3]>, Corrupt> {
    let s = StaticPart::read(bytes, hierarchy.clone(), None, false, &mut TableSets::default())?;
    Ok(each_width!(&s.first, first => to_positions(&s.grid, first)))
}

pub(in crate::mesh) fn to_positions<W: FixedPoint>(
    grid: &FixedPointGrid,
    cells: &[DecodedPoint<W>],
) -> Vec<[f32; 3]> {
    let of = |c: &DecodedPoint<W>| grid.position([c[0].to_i32(), c[1].to_i32(), c[2].to_i32()]);
    cells.iter().map(of).collect()
}

/// Returns the fixed-point positions of frame 0.
pub(in crate::mesh) fn positions<W: FixedPoint>(
    first: &[DecodedPoint<W>],
    outside: Option<&[[i32; 3]]>,
) -> Vec<[i32; 3]> {
    let position = |v: usize| {
        let base = outside.map_or([0; 3], |o| o[v]);
        [0, 1, 2].map(|k| W::wrap(base[k]).wrapping_add(first[v][k]).to_i32())
    };
    (0..first.len()).map(position).collect()
}

/// Computes neighbours and weights from frame 0; missing neighbours repeat the first.
pub(in crate::mesh) fn solve_spatial_weights<W: FixedPoint>(
    hierarchy: &Hierarchy,
    first: &[DecodedPoint<W>],
    outside: Option<&[[i32; 3]]>,
    fit: usize,
) -> (Vec<[u32; 4]>, Vec<[i16; 4]>) {
    let positions = positions(first, outside);
    let mut solved = weights::solve_with(hierarchy, &positions, weights::FITS[fit]);
    for (v, near) in solved.neighbours.iter_mut().enumerate() {
        let count = hierarchy.ring_of(v).len();
        for k in count.min(4)..4 {
            near[k] = near[0];
        }
    }
    (solved.neighbours, solved.weights)
}

/// Returns the mean of a ring, rounded to nearest.
pub(in crate::mesh) fn ring_mean<W: FixedPoint>(ring: &[u32], frame: &[DecodedPoint<W>]) -> [W; 3] {
    let count = ring.len().max(1) as i64;
    [0, 1, 2].map(|k| {
        let sum: i64 = ring.iter().map(|&n| i64::from(frame[n as usize][k].to_i32())).sum();
        W::wrap((2 * sum + count).div_euclid(2 * count) as i32)
    })
}

/// Returns the context of a vertex of frame 0, from the magnitudes of its ring.
pub(in crate::mesh) fn ring_context<W: FixedPoint>(ring: &[u32], frame: &[DecodedPoint<W>]) -> usize {
    if ring.is_empty() {
        return tables::context(0, NEIGHBOUR_CLASSES - 1, 0);
    }
    let four = ring.iter().cycle().take(4);
    let sum = four.map(|&n| frame[n as usize][3].to_i32()).sum();
    tables::context(0, tables::neighbour_class(sum), 0)
}

pub(in crate::mesh) fn first_frame<W: FixedPoint>(
    s: &StaticPart,
    bytes: &[u8],
) -> Result<Vec<DecodedPoint<W>>, Corrupt> {
    let mut body = UnitBody::new(bytes, blocks::count(&s.hierarchy), |_| Ok(()))?;
    let mut out: Vec<DecodedPoint<W>> = vec![[W::default(); 4]; s.points()];
    let step = i32::from(s.grid.steps[0]);
    for level in 0..s.hierarchy.level_count() {
        for (at, v) in s.hierarchy.level(level).enumerate() {
            if at.is_multiple_of(BLOCK) {
                body.start_block::<W>(s.hierarchy.level(level).len() - at);
            }
            let ring = s.hierarchy.ring_of(v);
            let p = match (ring.is_empty(), v) {
                (false, _) => ring_mean(ring, &out),
                (true, 0) => [W::default(); 3],
                (true, _) => [0, 1, 2].map(|k| out[v - 1][k]),
            };
            let q = body.next_residual::<W>(&s.tables, at, || ring_context(ring, &out));
            out[v] = add_residual(p, q, step);
        }
    }
    body.finish()?;
    Ok(out)
}
