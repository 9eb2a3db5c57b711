//! What the coder of a stream of points offers, whatever its method and width.

use crate::Error;
use crate::decided::DecidedCoder;
use crate::mesh::streams::NOTHING;
use crate::report::Measures;
use meshreel_codec::ByWidth;
use meshreel_codec::mesh::decode::{First, Vector};
use meshreel_codec::quantize::fixed::FixedPoint;
use meshreel_codec::quantize::lattice::Grid;
use meshreel_codec::transform::Transform;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The box and the error of a decoded frame.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FrameMeasure {
    /// Box of the decoded values.
    pub bounds: [f32; 6],
    /// Largest distance to the source.
    pub error: f64,
}

/// Frames with their measures.
pub type FrameMeasures = Vec<(u32, FrameMeasure)>;

/// Decoded frames by number, in the order of cells.
pub type Decoded = ByWidth<BTreeMap<u32, Vec<[i16; 4]>>, BTreeMap<u32, Vec<[i32; 4]>>>;

/// The keys of a segment.
pub struct Segment {
    /// By key its unit, and the measure of the decoded frame.
    pub keys: Vec<(u32, Vec<u8>, FrameMeasure)>,
    pub decoded: Decoded,
}

/// The frames of a group.
pub struct Group {
    /// Units LowerLayers and TopLayer.
    pub units: [Vec<u8>; 2],
    pub seen: FrameMeasures,
    pub decoded: Decoded,
}

/// A mesh that rigid bones move.
pub struct AtRest {
    /// By cell the bone that turns it.
    pub bones: Vec<u32>,
    pub rigid: u32,
    /// By frame.
    pub transforms: Arc<Vec<Vec<Transform>>>,
}

/// The encoder of a stream.
pub trait Coder: Send + Sync {
    /// The static part, which is stored once.
    fn static_bytes(&self) -> &[u8];
    /// Point of each cell.
    fn order(&self) -> &[u32];
    /// Frame 0 as the static part says it, in the order of cells.
    fn first(&self) -> First;
    /// Some frames about as they will be when decoded.
    fn sample(&self, frames: &[u32]) -> Result<Decoded, Error>;
    /// Codes the keys of a segment and keeps them for [`Coder::group`]; hands out the decoded frames only if
    /// `keep`.
    fn segment(&self, segment: u32, keep: bool) -> Result<Segment, Error>;
    /// What is kept of a key that has been coded, as bytes; nothing of others.
    fn held(&self, key: u32) -> Option<Vec<u8>>;
    /// Keeps what [`Coder::held`] gave elsewhere as if the key had been coded; false where these are no such
    /// bytes.
    fn hold(&self, key: u32, bytes: &[u8]) -> bool;
    /// Codes the units Inner and Last of a group whose keys have been coded; hands out the decoded frames
    /// only if `keep`.
    fn group(&self, group: u32, keep: bool) -> Result<Group, Error>;
    /// Keys before this one are not needed any more.
    fn forget(&self, before: u32);
    /// Whether only heights over a plane are coded.
    fn has_heights(&self) -> bool {
        false
    }
    /// By point the rigid bone that moves it alone, or [`meshreel_process::parts::NO_PART`]; empty without
    /// bones.
    fn parts(&self) -> Vec<u32> {
        Vec::new()
    }
    /// What normals at rest are made of; none unless rigid bones alone move the points.
    fn at_rest(&self) -> Option<AtRest> {
        None
    }
    /// What bones and residuals take, once all frames are coded.
    fn measures(&self) -> Measures {
        Measures::default()
    }
    /// What was found for it, so that it can be made again without a search.
    fn decided(&self) -> DecidedCoder;
}

/// Cells that can be coded on several threads.
pub trait Width: FixedPoint + Send + Sync {
    /// Frames of this width.
    fn decoded(frames: BTreeMap<u32, Vec<[Self; 4]>>) -> Decoded;
}

impl Width for i16 {
    fn decoded(frames: BTreeMap<u32, Vec<[i16; 4]>>) -> Decoded {
        Decoded::Narrow(frames)
    }
}

impl Width for i32 {
    fn decoded(frames: BTreeMap<u32, Vec<[i32; 4]>>) -> Decoded {
        Decoded::Wide(frames)
    }
}

/// Decoded vectors as bytes: with the magnitudes of their residuals, which tell those of frames nearby.
pub fn held_bytes<W: FixedPoint>(values: &[Vector<W>]) -> Vec<u8> {
    let width = W::BITS as usize / 8;
    let numbers = values.as_flattened().iter();
    numbers.flat_map(|number| number.get().to_le_bytes().into_iter().take(width)).collect()
}

/// The same again, of so many points; none where the bytes are more or fewer.
pub fn held_values<W: FixedPoint>(bytes: &[u8], points: usize) -> Option<Vec<Vector<W>>> {
    let width = W::BITS as usize / 8;
    let value = |bytes: &[u8]| {
        std::array::from_fn(|k| {
            let mut wide = [0; 4];
            wide[..width].copy_from_slice(&bytes[k * width..(k + 1) * width]);
            W::wrap(i32::from_le_bytes(wide))
        })
    };
    (bytes.len() == points * 4 * width).then(|| bytes.chunks_exact(4 * width).map(value).collect())
}

/// Measures the cells of a frame against its source. `order`: point of each cell.
pub fn measure_frame<W: FixedPoint>(
    grid: &Grid,
    order: &[u32],
    points: &[[f32; 3]],
    decoded: &[[W; 4]],
) -> FrameMeasure {
    let (mut bounds, mut most) = (NOTHING, 0.0f64);
    for (cell, &point) in decoded.iter().zip(order) {
        let value = grid.position([cell[0].get(), cell[1].get(), cell[2].get()]);
        let source = &points[point as usize];
        let mut square = 0.0;
        for k in 0..3 {
            bounds[k] = bounds[k].min(value[k]);
            bounds[k + 3] = bounds[k + 3].max(value[k]);
            let off = f64::from(value[k]) - f64::from(source[k]);
            square += off * off;
        }
        most = most.max(square);
    }
    FrameMeasure { bounds, error: most.sqrt() }
}

/// Cells of points on a lattice that is off as much as decoding may be.
pub fn rounded<W: FixedPoint>(grid: &Grid, radius: f64, order: &[u32], points: &[[f32; 3]]) -> Vec<[W; 4]> {
    let step = radius * 2.0 / 3f64.sqrt();
    let cell = |&point: &u32| {
        let at = |k: usize| {
            let off = f64::from(points[point as usize][k]) - f64::from(grid.centre[k]);
            W::wrap(((off / step).round() * step / f64::from(grid.unit)).round() as i32)
        };
        [at(0), at(1), at(2), W::default()]
    };
    order.iter().map(cell).collect()
}
