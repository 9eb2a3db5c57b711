//! Applies a function to the codes of each vertex, in one frame or in several: compiled for the available
//! instruction set.

use crate::quantize::code::Code;
use crate::simd::isa::Isa;
use reference::convert_vertices_scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
mod reference;

/// Applies `convert` to the `N` codes of each vertex in each of the frames; the codes of a frame are
/// component-major, 8- or 16-bit words.
///
/// Panics unless there are `N` codes of each frame per `M` floats.
pub(crate) fn convert_vertices<W: Code, F, const K: usize, const N: usize, const M: usize>(
    isa: Isa,
    frames: [&[W]; K],
    out: &mut [f32],
    convert: F,
) where
    F: Fn([[u16; N]; K]) -> [f32; M] + Copy,
{
    let (out, rest) = out.as_chunks_mut::<M>();
    let fits = |codes: &[W]| rest.is_empty() && codes.len() == N * out.len();
    assert!(frames.into_iter().all(fits), "as many codes as floats");
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(avx2) => avx2::convert_vertices(avx2, frames, out, convert),
        _ => convert_vertices_scalar(frames, out, convert),
    }
}
