//! The interface of the coder of a stream of points, for every method and integer width.

use crate::Error;
use crate::decisions::CoderDecisions;
use crate::mesh::streams::EMPTY_BOUNDS;
use crate::report::BoneMeasures;
use meshreel_codec::ByWidth;
use meshreel_codec::mesh::decode::{DecodedPoint, FirstFrame};
use meshreel_codec::quantize::fixed_point::FixedPoint;
use meshreel_codec::quantize::lattice::FixedPointGrid;
use meshreel_codec::transform::Transform;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The bounds and the error of a decoded frame.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FrameMeasure {
    /// Bounds of the decoded values.
    pub bounds: [f32; 6],
    /// Largest distance from the source.
    pub error: f64,
}

/// Frames with their measures.
pub type FrameMeasures = Vec<(u32, FrameMeasure)>;

/// Decoded frames by number, values in the order of the coder's points.
pub type DecodedByWidth = ByWidth<BTreeMap<u32, Vec<[i16; 4]>>, BTreeMap<u32, Vec<[i32; 4]>>>;

/// The keys of a segment, each a unit, or the two units of a group, LowerLayers and TopLayer.
pub struct CodedUnits {
    pub units: Vec<Vec<u8>>,
    /// The measures of all frames of these units.
    pub measures: FrameMeasures,
    pub decoded: DecodedByWidth,
}

/// A mesh that only rigid bones move.
pub struct RigidMotion {
    /// By fixed-point position, the bone that rotates it.
    pub bones: Vec<u32>,
    pub rigid: u32,
    /// By frame, the transforms of the rigid bones.
    pub transforms: Arc<Vec<Vec<Transform>>>,
}

/// The encoder of a stream.
pub trait StreamCoder: Send + Sync {
    /// Returns the static part, which is stored once.
    fn static_bytes(&self) -> &[u8];
    /// Returns the point of each fixed-point position.
    fn order(&self) -> &[u32];
    /// Returns frame 0 as described by the static part, in the coder's order.
    fn first_frame(&self) -> FirstFrame;
    /// Returns some frames approximately as they will be decoded.
    fn sample_frames(&self, frames: &[u32]) -> Result<DecodedByWidth, Error>;
    /// Codes the keys of a segment and keeps them for [`StreamCoder::group`]; returns the decoded frames only
    /// if `keep`.
    fn segment(&self, segment: u32, keep: bool) -> Result<CodedUnits, Error>;
    /// Returns the stored state of a key that has been coded, as bytes; `None` for others.
    fn key_state(&self, key: u32) -> Option<Vec<u8>>;
    /// Restores the bytes of [`StreamCoder::key_state`] from elsewhere as if the key had been coded; returns
    /// `false` if the bytes do not fit.
    fn restore_key(&self, key: u32, bytes: &[u8]) -> bool;
    /// Codes the units LowerLayers and TopLayer of a group whose keys have been coded; returns the decoded
    /// frames only if `keep`.
    fn group(&self, group: u32, keep: bool) -> Result<CodedUnits, Error>;
    /// Drops the keys before this one.
    fn forget(&self, before: u32);
    /// Returns `true` if only heights over a plane are coded.
    fn has_heights(&self) -> bool {
        false
    }
    /// Returns, by point, the rigid bone that alone moves it, or [`meshreel_process::parts::NO_PART`]; empty
    /// without bones.
    fn parts(&self) -> Vec<u32> {
        Vec::new()
    }
    /// Returns the data for normals at rest; `None` unless rigid bones alone move the points.
    fn rigid_motion(&self) -> Option<RigidMotion> {
        None
    }
    /// Returns the sizes of bones and residuals, once all frames are coded.
    fn measures(&self) -> BoneMeasures {
        BoneMeasures::default()
    }
    /// Returns the decisions from which the coder can be created again without a search.
    fn decisions(&self) -> CoderDecisions;
}

/// Integers of fixed-point positions that can be coded on several threads.
pub trait Width: FixedPoint + Send + Sync {
    /// Wraps frames of this width.
    fn wrap_frames(frames: BTreeMap<u32, Vec<[Self; 4]>>) -> DecodedByWidth;
}

impl Width for i16 {
    fn wrap_frames(frames: BTreeMap<u32, Vec<[i16; 4]>>) -> DecodedByWidth {
        DecodedByWidth::Narrow(frames)
    }
}

impl Width for i32 {
    fn wrap_frames(frames: BTreeMap<u32, Vec<[i32; 4]>>) -> DecodedByWidth {
        DecodedByWidth::Wide(frames)
    }
}

/// Returns decoded vectors as bytes, with the magnitudes of their residuals, which are context for nearby
/// frames.
pub fn vectors_to_bytes<W: FixedPoint>(values: &[DecodedPoint<W>]) -> Vec<u8> {
    let width = W::BITS as usize / 8;
    let numbers = values.as_flattened().iter();
    numbers.flat_map(|number| number.to_i32().to_le_bytes().into_iter().take(width)).collect()
}

/// Reads the bytes of [`vectors_to_bytes`] for `points` points; `None` if there are more or fewer.
pub fn vectors_from_bytes<W: FixedPoint>(bytes: &[u8], points: usize) -> Option<Vec<DecodedPoint<W>>> {
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

/// Measures the fixed-point positions of a frame against its source. `order`: point of each.
pub fn measure_frame<W: FixedPoint>(
    grid: &FixedPointGrid,
    order: &[u32],
    points: &[[f32; 3]],
    decoded: &[[W; 4]],
) -> FrameMeasure {
    let (mut bounds, mut most) = (EMPTY_BOUNDS, 0.0f64);
    for (cell, &point) in decoded.iter().zip(order) {
        let value = grid.position([cell[0].to_i32(), cell[1].to_i32(), cell[2].to_i32()]);
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

/// Rounds points to a lattice whose error is as large as that of decoding may be.
pub fn round_to_lattice<W: FixedPoint>(
    grid: &FixedPointGrid,
    radius: f64,
    order: &[u32],
    points: &[[f32; 3]],
) -> Vec<[W; 4]> {
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

/// The bytes of one mesh in one unit, and their measurements.
#[derive(Default, Serialize, Deserialize)]
pub struct Payload {
    pub bytes: Vec<u8>,
    /// Animated attributes, if they are kept apart.
    pub attributes: Vec<u8>,
    /// Bytes of positions among these.
    pub position_bytes: usize,
    /// Decoded bounds and largest error, by frame of the unit.
    pub measures: FrameMeasures,
    /// Number of vertices and indices, if they change per frame.
    pub vertices: usize,
    pub indices: usize,
}

/// The bytes of one mesh in one frame, and their measurements.
#[derive(Default)]
pub struct FramePayload {
    /// The payload.
    pub bytes: Vec<u8>,
    /// Bytes of positions in the payload.
    pub position_bytes: usize,
    /// Decoded bounds in the mesh's space; inverted if there is nothing.
    pub bounds: [f32; 6],
    /// Largest error of a decoded point.
    pub error: f64,
    /// Number of vertices and indices, if they change per frame.
    pub vertices: usize,
    #[allow(missing_docs)]
    pub indices: usize,
}

/// A key of a mesh: its bytes in the unit, and the state that frames refer to.
#[derive(Serialize, Deserialize)]
pub struct KnownKey {
    pub payload: Payload,
    /// By part of all streams of fixed-point values, its decoded values.
    pub fixed_point_states: Vec<Vec<u8>>,
    /// By stream, the states of predicted normals.
    pub normals: Vec<Option<Vec<u8>>>,
}

/// Returns the keys of a segment of a mesh's own frames; `None` if these must be coded.
pub type KnownKeys = Box<dyn Fn(u32) -> Result<Option<Vec<KnownKey>>, Error> + Send + Sync>;
