//! The loop over vertices, as the compiler vectorises it.

use crate::quantize::code::Code;

#[inline(always)]
pub(super) fn convert_vertices_scalar<W: Code, F, const K: usize, const N: usize, const M: usize>(
    frames: [&[W]; K],
    out: &mut [[f32; M]],
    convert: F,
) where
    F: Fn([[u16; N]; K]) -> [f32; M] + Copy,
{
    // A block at a time, with its planes in local arrays: a form that compilers vectorise.
    const BLOCK: usize = 64;
    let count = out.len();
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        let first = block * BLOCK;
        let gather = |codes: &[W]| -> [[u16; BLOCK]; N] {
            let mut planes = [[0; BLOCK]; N];
            for (k, plane) in planes.iter_mut().enumerate() {
                let codes = &codes[k * count + first..][..out.len()];
                for (to, code) in plane.iter_mut().zip(codes) {
                    // The description allows at most 16 bits here, but the words of a damaged frame can have
                    // any value.
                    *to = code.to_u32() as u16;
                }
            }
            planes
        };
        let planes = frames.map(gather);
        let mut values = [[0.0f32; BLOCK]; M];
        for v in 0..BLOCK {
            let value = convert(std::array::from_fn(|f| std::array::from_fn(|k| planes[f][k][v])));
            for (plane, value) in values.iter_mut().zip(value) {
                plane[v] = value;
            }
        }
        for (v, out) in out.iter_mut().enumerate() {
            *out = std::array::from_fn(|k| values[k][v]);
        }
    }
}
