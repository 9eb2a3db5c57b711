//! Height fields: meshes on a regular grid of which one coordinate moves, and the others follow from column
//! and row.

use crate::Error;
use crate::decisions::PartDecisions;
use crate::method::coder::Width;
use crate::method::points::PointFrames;
use meshreel_codec::for_width;
use meshreel_codec::mesh::encode;
use meshreel_codec::mesh::encode::{EncodeBuffers, Encoder, Options, PositionSource};
use meshreel_codec::mesh::height::{FixedPointPlane, HeightFieldPlane};
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::quantize::lattice::{Extent, FixedPointGrid};
use meshreel_codec::record::Semantic;
use std::sync::Arc;

/// Fraction of the tolerance for heights; the plane has √(1 − 0.98²) ≈ 0.2 of it, at a right angle to that.
const HEIGHT_FRACTION: f64 = 0.98;
/// Fraction of the tolerance by which the source may deviate from a plane, before the plane is rounded to
/// fixed-point positions.
const PLANE_ERROR_FRACTION: f64 = 0.1;

/// Coded heights.
pub struct CodedHeights<W> {
    pub encoder: Encoder<'static, W>,
    pub static_bytes: Vec<u8>,
    pub flat: FixedPointPlane,
    /// The coordinate that moves.
    pub axis: u8,
}

/// A height field as the encoder of fixed-point positions sees it.
struct HeightField {
    frames: Arc<PointFrames>,
    plane: HeightFieldPlane,
    /// By point, its column and row.
    columns_and_rows: Vec<[u32; 2]>,
    order: Vec<u32>,
    /// `true` if fixed-point positions are 16 bits wide.
    narrow: bool,
}

impl HeightField {
    fn flat(&self, grid: &FixedPointGrid) -> Option<FixedPointPlane> {
        for_width!(!self.narrow, W => self.plane.to_fixed_point::<W>(&self.columns_and_rows, &self.order, grid))
    }
}

impl PositionSource for HeightField {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        self.frames.positions(frame, out);
    }

    fn outside_prediction(&self, _: u32, grid: &FixedPointGrid, out: &mut [[i32; 3]]) -> bool {
        // Without a plane the encoder's result is discarded.
        if let Some(flat) = self.flat(grid) {
            out.copy_from_slice(&flat.base);
        }
        true
    }

    fn axis(&self) -> Option<usize> {
        Some(self.plane.axis)
    }
}

/// Returns the coder of a height field; `None` if the mesh is not one, or this width cannot hold it.
pub fn coder<W: Width>(
    frames: &Arc<PointFrames>,
    hierarchy: &Hierarchy,
    count: usize,
    extent: Extent,
    options: Options,
    (decided, work): (Option<&PartDecisions>, &mut EncodeBuffers<W>),
) -> Result<Option<CodedHeights<W>>, Error> {
    let axis = match decided.map(|decided| decided.axis) {
        None => None,
        Some(Some(axis)) => Some(usize::from(axis)),
        // The mesh is known not to be a height field.
        Some(None) => return Ok(None),
    };
    let Some((plane, places, off)) = find_plane(frames, count, extent.tolerance, axis)? else {
        return Ok(None);
    };
    let source = Arc::new(HeightField {
        frames: frames.clone(),
        plane,
        columns_and_rows: places,
        order: hierarchy.order.clone(),
        narrow: W::BITS == 16,
    });
    let own = Extent { tolerance: extent.tolerance * HEIGHT_FRACTION, axes: 1, ..extent };
    let (levels, count) = (hierarchy.clone(), count as u32);
    let made = match decided {
        None => Encoder::with_owned_source(levels, count, own, options, source.clone(), work).ok(),
        Some(PartDecisions { encoder_settings: settled, .. }) => {
            Encoder::from_search_result(levels, count, own, options, source.clone(), (settled, work)).ok()
        }
    };
    frames.check()?;
    let Some(encoder) = made else { return Ok(None) };
    let grid = encoder.grid();
    let Some(flat) = source.flat(grid) else {
        return Ok(None);
    };
    // Fixed-point positions have an error of half a unit along both sides; the rest is for f32.
    let off = off + f64::from(grid.unit) * 0.75;
    if off * off + own.tolerance * own.tolerance > extent.tolerance * extent.tolerance {
        return Ok(None);
    }
    let mut static_bytes = Vec::new();
    plane.encode(encoder.static_bytes(), &mut static_bytes);
    Ok(Some(CodedHeights { encoder, static_bytes, flat, axis: plane.axis as u8 }))
}

/// A plane, column and row of every point, and their largest distance from the source.
type PlaneFit = (HeightFieldPlane, Vec<[u32; 2]>, f64);

/// Fits a plane. `only`: the coordinate that is known to move; then only the first frame is read.
fn find_plane(
    frames: &PointFrames,
    count: usize,
    radius: f64,
    only: Option<usize>,
) -> Result<Option<PlaneFit>, Error> {
    let Some(shape) = frames.grid().filter(|_| frames.semantic() == Semantic::Position) else {
        return Ok(None);
    };
    let places = shape.columns_and_rows();
    let mut first = vec![[0.0; 3]; places.len()];
    encode::PositionSource::positions(frames, 0, &mut first);
    let at = |i: u32, j: u32| {
        let number = places.iter().position(|&p| p == [i, j]);
        first[number.unwrap_or(0)].map(f64::from)
    };
    let ends = [at(0, 0), at(shape.width - 1, 0), at(0, shape.height - 1)];
    let steps = [f64::from(shape.width - 1), f64::from(shape.height - 1)];
    // A flat frame does not show which coordinate will move.
    let mut fit: Vec<(HeightFieldPlane, f64)> = Vec::new();
    for axis in (0..3).filter(|axis| only.is_none_or(|only| only == *axis)) {
        let side = |k: usize| {
            let [origin, right, up] = ends.map(|p| p[(axis + 1 + k) % 3]);
            [origin, (right - origin) / steps[0], (up - origin) / steps[1]].map(|v| v as f32)
        };
        let plane = HeightFieldPlane { axis, affine_coordinates: [side(0), side(1)] };
        let mut off = 0.0f64;
        for (p, &place) in first.iter().zip(&places) {
            let at = plane.position(place);
            let miss = |k: usize| f64::from(p[k]) - at[k];
            let others = [(axis + 1) % 3, (axis + 2) % 3].map(miss);
            off = off.max(others[0].hypot(others[1]));
        }
        if off <= PLANE_ERROR_FRACTION * radius {
            fit.push((plane, off));
        }
    }
    let mut points = vec![[0.0; 3]; places.len()];
    for frame in 1..count as u32 {
        if fit.is_empty() || only.is_some() {
            break;
        }
        encode::PositionSource::positions(frames, frame, &mut points);
        fit.retain(|(plane, _)| {
            let others = [(plane.axis + 1) % 3, (plane.axis + 2) % 3];
            let stays = |(p, f): (&[f32; 3], &[f32; 3])| others.iter().all(|&k| p[k] == f[k]);
            points.iter().zip(&first).all(stays)
        });
    }
    frames.check()?;
    Ok(fit.first().map(|&(plane, off)| (plane, places, off)))
}
