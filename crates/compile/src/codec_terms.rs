//! Translates options into the codec's types.

use meshreel_codec::classic::stream::Work;
use meshreel_codec::clip::curve::Knots;
use meshreel_codec::entropy::block::Format;
use meshreel_options::{Block, Options, Spacing};

/// The options allow as many LOD levels as a file can have.
const _: () = assert!(meshreel_codec::topology::lod::MOST == 7);

/// The least effort at which size counts more than the speed of decoding.
const SMALLEST_FROM: u32 = 7;

/// Returns how classic frames are encoded. Store and LZ4 are chosen for the speed of decoding; deflate and
/// zstd only at efforts that ask for the smallest size.
pub fn work(options: &Options) -> Work {
    Work {
        effort: options.effort,
        quick: match options.block {
            Block::Store | Block::Lz4hc => true,
            Block::Deflate | Block::Zstd => options.effort < SMALLEST_FROM,
        },
    }
}

/// Returns the format of block compression.
pub fn block_format(block: Block) -> Format {
    match block {
        Block::Store => Format::Store,
        Block::Deflate => Format::Deflate,
        Block::Lz4hc => Format::Lz4,
        Block::Zstd => Format::Zstd,
    }
}

/// Returns the spacing of a curve's knots.
pub fn knots(spacing: Spacing) -> Knots {
    match spacing {
        Spacing::Uniform => Knots::Uniform,
        Spacing::Chordal => Knots::Chordal,
        Spacing::Centripetal => Knots::Centripetal,
    }
}
