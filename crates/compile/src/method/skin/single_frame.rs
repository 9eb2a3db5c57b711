//! Codes a single frame, and weights, as bytes.

use crate::Error;
use crate::threads::task_runner;
use meshreel_codec::entropy::range;
use meshreel_codec::mesh::encode::{EncodeBuffers, EncodeError, Encoder, PositionSource};
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::mesh::skin::weights;
use meshreel_codec::mesh::{decode, encode};
use meshreel_codec::quantize::fixed_point::FixedPoint;
use meshreel_codec::quantize::lattice::Extent;
use meshreel_options::{Options, Preset};

/// A function that returns the positions of a frame, as a source of the mesh encoder.
pub struct FrameSource<F>(pub F);

impl<F: Fn(u32, &mut [[f32; 3]]) + Sync> PositionSource for FrameSource<F> {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        (self.0)(frame, out);
    }
}

/// Returns the error for bones that do not decode to what was encoded.
pub fn mismatch_error(what: &str) -> Error {
    Error::Promise { what: format!("bones: {what}"), target: Default::default() }
}

/// Returns the settings of the mesh encoder for these options.
pub fn encoder_options(options: &Options) -> encode::Options {
    encode::Options {
        effort: options.effort,
        packed: options.preset == Preset::Fast,
        restart: options.restart(),
        choice: None,
        own_tables: false,
        tasks: task_runner(),
    }
}

/// The bytes of one frame, and the positions that they decode to.
pub type CodedFrame = (Vec<u8>, Vec<[f32; 3]>);

/// Encodes a single frame within `radius`; `None` if that is too fine.
pub fn encode_single_frame(
    positions: &[[f32; 3]],
    radius: f64,
    hierarchy: &Hierarchy,
    options: &Options,
) -> Result<Option<CodedFrame>, Error> {
    let extent = bounds_with_margin(positions, radius);
    let source = FrameSource(|_, out: &mut [[f32; 3]]| out.copy_from_slice(positions));
    let settings = encoder_options(options);
    fn bytes<W: FixedPoint>(
        levels: Hierarchy,
        extent: Extent,
        settings: encode::Options,
        source: &dyn PositionSource,
    ) -> Result<Vec<u8>, EncodeError> {
        let mut work = EncodeBuffers::default();
        let made = Encoder::<W>::new(levels, 1, extent, settings, source, &mut work)?;
        Ok(made.static_bytes().to_vec())
    }
    let coded = bytes::<i16>(hierarchy.clone(), extent, settings, &source)
        .or_else(|_| bytes::<i32>(hierarchy.clone(), extent, settings, &source));
    let Ok(coded) = coded else { return Ok(None) };
    let decoded = decode::decode_first_positions(&coded, hierarchy).map_err(|c| mismatch_error(c.0))?;
    Ok(Some((coded, decoded)))
}

/// Returns the bounds of positions of which each may be `radius` off.
pub fn bounds_with_margin(positions: &[[f32; 3]], radius: f64) -> Extent {
    let mut extent =
        Extent { low: [f32::INFINITY; 3], high: [f32::NEG_INFINITY; 3], tolerance: radius, axes: 3 };
    for p in positions {
        for (k, &v) in p.iter().enumerate() {
            extent.low[k] = extent.low[k].min(v);
            extent.high[k] = extent.high[k].max(v);
        }
    }
    extent
}

/// Encodes weights.
pub fn encode_weights(
    weights: &weights::SkinWeights,
    levels: &Hierarchy,
    bones: u32,
) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let out = range::Encoder::new(&mut bytes);
    let (_, out) =
        weights::code(out, levels, bones, weights.depth, Some(weights)).map_err(|c| mismatch_error(c.0))?;
    out.finish();
    Ok(bytes)
}
