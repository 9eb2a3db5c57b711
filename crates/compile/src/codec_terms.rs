//! Translates options into the codec's types.

use meshreel_codec::classic::stream::StreamEffort;
use meshreel_codec::clip::curve;
use meshreel_codec::entropy::block::BlockFormat;
use meshreel_options::{BlockChoice, KnotSpacing, Options};

/// The options allow as many LOD levels as a file can have.
const _: () = assert!(meshreel_codec::topology::lod::MAX_LEVELS == 7);

/// The least effort at which size counts more than the speed of decoding.
const MIN_EFFORT_FOR_SIZE: u32 = 7;

/// Returns how classic frames are encoded. Store and LZ4 are chosen for the speed of decoding; deflate and
/// zstd only at efforts that ask for the smallest size.
pub fn classic_work(options: &Options) -> StreamEffort {
    StreamEffort {
        effort: options.effort,
        fast_decode: match options.block {
            BlockChoice::Store | BlockChoice::Lz4hc => true,
            BlockChoice::Deflate | BlockChoice::Zstd => options.effort < MIN_EFFORT_FOR_SIZE,
        },
    }
}

/// Returns the format of block compression.
pub fn block_format(block: BlockChoice) -> BlockFormat {
    match block {
        BlockChoice::Store => BlockFormat::Store,
        BlockChoice::Deflate => BlockFormat::Deflate,
        BlockChoice::Lz4hc => BlockFormat::Lz4,
        BlockChoice::Zstd => BlockFormat::Zstd,
    }
}

/// Returns the spacing of a curve's knots.
pub fn knots(spacing: KnotSpacing) -> curve::KnotSpacing {
    match spacing {
        KnotSpacing::Uniform => curve::KnotSpacing::Uniform,
        KnotSpacing::Chordal => curve::KnotSpacing::Chordal,
        KnotSpacing::Centripetal => curve::KnotSpacing::Centripetal,
    }
}
