//! Frames that are decoded side by side: up to eight of one depth, in blocks of 16 vertices of a level.
//!
//! ```text
//! for each level, each block of 16 of its vertices, each frame of the bundle:
//!     the residuals of the block's vertices                         this is the order of tokens and raw bits
//! ```
//!
//! So neighbours and weights are read once for eight frames, whose innovations lie side by side in one cache line.

use super::cell::Cell;
use super::decode::{Body, Head, Static, Vector, add, blend};
use super::schedule::REFERENCES;
use super::tables;
use std::ops::Range;

// Part of the format.
/// Most frames of a bundle.
pub const BUNDLE: usize = 8;
/// Vertices of a block.
pub const BLOCK: usize = 16;

/// Frames that have the same layer, and what they are predicted from.
pub struct Bundle<'a, W> {
    /// Layer of all of them.
    pub layer: usize,
    /// By frame.
    pub heads: &'a [Head],
    /// By frame; at least as many as heads.
    pub references: [[&'a [Vector<W>]; REFERENCES]; BUNDLE],
}

/// How many of the first frames, given by their layers, make a bundle.
pub fn length(layers: impl IntoIterator<Item = usize>) -> usize {
    let mut layers = layers.into_iter();
    match layers.next() {
        Some(first) => 1 + layers.take(BUNDLE - 1).take_while(|&l| l == first).count(),
        None => 0,
    }
}

/// Blocks of a level of vertices `range`.
pub fn blocks(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range
        .step_by(BLOCK)
        .map(move |start| start..end.min(start + BLOCK))
}

/// Vectors of scratch memory that decoding needs: eight per point, and a little.
pub const fn scratch_len(points: usize) -> usize {
    (points + BLOCK + 1) * BUNDLE
}

/// Decodes a bundle into `out`; the reference.
pub(super) fn decode_scalar<W: Cell>(
    s: &Static,
    bundle: &Bundle<W>,
    body: &mut Body,
    out: &mut [&mut [Vector<W>]],
    scratch: &mut [Vector<W>],
) {
    let count = out.len();
    for (f, out) in out.iter_mut().enumerate() {
        blend(bundle.references[f], bundle.heads[f].coefficients, out);
    }
    for level in 0..s.hierarchy.levels() {
        let range = s.hierarchy.level(level);
        for block in blocks(range.clone()) {
            for (f, out) in out.iter_mut().enumerate() {
                let [r0, r1, ..] = bundle.references[f];
                let rho = 4 * i32::from(bundle.heads[f].rho[level]);
                body.start::<W>(block.len());
                for v in block.clone() {
                    let past = r0[v][3].get().max(r1[v][3].get());
                    let (p, sum) = if level == 0 {
                        ([W::default(); 3], past.wrapping_mul(4))
                    } else {
                        let near = s.neighbours[v].map(|n| scratch[n as usize * count + f]);
                        let axis = |k: usize| W::weigh(near.map(|n| n[k]), s.weights[v], rho);
                        let sum = near.iter().map(|n| n[3].get()).sum();
                        ([axis(0), axis(1), axis(2)], sum)
                    };
                    let q = body.vertex::<W>(s, v - range.start, || {
                        tables::context(bundle.layer, tables::near(sum), tables::past(past))
                    });
                    let inn = add(p, q, i32::from(s.grid.steps[bundle.layer]));
                    scratch[v * count + f] = inn;
                    let t = out[v];
                    out[v] = [
                        t[0].plus(inn[0]),
                        t[1].plus(inn[1]),
                        t[2].plus(inn[2]),
                        inn[3],
                    ];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles_are_of_one_layer() {
        assert_eq!(length([]), 0);
        assert_eq!(length([1]), 1);
        assert_eq!(length([2, 3, 3]), 1);
        assert_eq!(length([3, 3, 4, 4]), 2);
        assert_eq!(length([5; 20]), BUNDLE);
    }

    #[test]
    fn blocks_end_with_their_level() {
        let ends = |range| blocks(range).map(|b| (b.start, b.end)).collect::<Vec<_>>();
        assert_eq!(ends(7..7), []);
        assert_eq!(ends(7..23), [(7, 23)]);
        assert_eq!(ends(7..24), [(7, 23), (23, 24)]);
    }
}
