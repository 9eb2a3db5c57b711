//! Static texture coordinates, predicted from the points of the first frame where that takes fewer bytes.

use crate::codec_terms::block_format;
use crate::mesh::plan::MeshPlan;
use crate::method::coder::StreamCoder;
use crate::method::points::MeshPoints;
use crate::with_quantized;
use meshreel_codec::each_width;
use meshreel_codec::entropy::block::Compressor;
use meshreel_codec::record::Semantic;
use meshreel_codec::values::uvs::{self, UvSurface};
use meshreel_options::Options;

/// Replaces the bytes of a stream from `start` on if it is texture coordinates that take fewer when they are
/// predicted from the points of the first frame.
pub fn shorten(
    plan: &MeshPlan,
    points: &MeshPoints,
    positions: &dyn StreamCoder,
    stream: usize,
    options: &Options,
    (start, out): (usize, &mut Vec<u8>),
) {
    let record = &plan.streams[stream];
    if record.semantic != Semantic::Uv || record.animated || record.word > 2 {
        return;
    }
    let (Some(fixed), [u, v]) = (&plan.prepared.fixed, &record.axes[..]) else {
        return;
    };
    let first: Vec<[i32; 3]> = each_width!(positions.first_frame().as_points(), first => {
        first.iter().map(|&[x, y, z, _]| [x, y, z].map(i32::from)).collect()
    });
    let surface = UvSurface {
        indices: &fixed.indices,
        vertex_points: &points.places(positions.order()),
        positions: &first,
        steps: [u.step, v.step],
        codes: [u.codes, v.codes],
    };
    let (mut coded, mut compressed) = (vec![uvs::PREDICTOR], Vec::new());
    let done = with_quantized!(&plan.bases[stream], codes => uvs::encode(codes, surface, &mut coded));
    Compressor::new(block_format(options.block), options.effort).compress(&out[start..], &mut compressed);
    if done.is_ok() && coded.len() < compressed.len().min(out.len() - start) {
        out.truncate(start);
        out.append(&mut coded);
    }
}
