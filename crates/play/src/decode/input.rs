//! Helpers for readers of the parts of a unit: access to frames that were decoded before, and skipping
//! streams that are left out.

use crate::reel::layout::fixed_point_parts;
use meshreel_codec::classic::stream;
use meshreel_codec::record::{Coding, MeshRecord, StreamRecord};
use meshreel_codec::{Corrupt, take_length_prefixed};

/// Returns a decoded frame by number; `None` if it is not available.
pub(crate) type FrameLookup<'a> = dyn Fn(usize) -> Option<&'a [u64]> + 'a;

/// Returns the bytes of `frames` frames of a stream that is left out, in a unit, or once in the static data.
pub(crate) fn skip_stream(
    mesh: &MeshRecord,
    stream: &StreamRecord,
    bytes: &[u8],
    frames: usize,
) -> Result<usize, Corrupt> {
    let (parts, levels) = match stream.coding {
        Coding::Quantized => (0, frames),
        Coding::Predicted => (1, 0),
        Coding::FixedPoint | Coding::Bones | Coding::Heights => (fixed_point_parts(stream), 0),
    };
    let (vertices, word) = (mesh.vertices as usize, usize::from(stream.word));
    let mut used = 0;
    for _ in 0..parts {
        used += take_length_prefixed(&bytes[used..])?.1;
    }
    for _ in 0..levels {
        used += stream::skip(&bytes[used..], stream.semantic.components(), vertices, word)?;
    }
    Ok(used)
}
