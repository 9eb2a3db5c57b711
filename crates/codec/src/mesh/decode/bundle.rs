//! Decodes the frames of an access unit, up to eight, side by side in blocks of 16 vertices of a level.
//!
//! ```text
//! for each level, each block of 16 of its vertices, each frame of the unit:
//!     the residuals of the block's vertices                         this is the order of tokens and raw bits
//! ```
//!
//! Neighbours and weights are thus read once for eight frames, whose innovations share a cache line. A frame
//! that refers to another one of its unit needs only the same vertex there, which has just been decoded.

use super::static_part::StaticPart;
use super::unit::{DecodedPoint, PredictorHead, UnitBody, add_residual};
use crate::mesh::blocks::{BUNDLE, blocks};
use crate::mesh::tables;
use crate::quantize::fixed_point::FixedPoint;
use crate::schedule::MAX_REFERENCES;

/// The frames of an access unit, and their references.
pub struct Bundle<'a, W> {
    /// The layer of each frame.
    pub layers: [usize; BUNDLE],
    /// The head of each frame.
    pub heads: &'a [PredictorHead],
    /// The references of each frame; at least as many entries as heads.
    pub references: [[ReferenceFrame<'a, W>; MAX_REFERENCES]; BUNDLE],
}

impl<W> Bundle<'_, W> {
    /// `true` if each reference is a frame of `points` vertices, or precedes in the bundle the frame that
    /// refers to it.
    pub fn fits(&self, points: usize) -> bool {
        let fits = |f: usize, r: &ReferenceFrame<W>| match *r {
            ReferenceFrame::Known(frame) => frame.len() == points,
            ReferenceFrame::Inside(frame) => frame < f,
        };
        let frames = self.references.iter().enumerate().take(self.heads.len());
        frames.flat_map(|(f, all)| all.iter().map(move |r| (f, r))).all(|(f, r)| fits(f, r))
    }
}

/// A frame that others are predicted from.
#[derive(Debug, Clone, Copy)]
pub enum ReferenceFrame<'a, W> {
    /// A frame decoded before this bundle.
    Known(&'a [DecodedPoint<W>]),
    /// The frame of this index in the bundle, before the one that refers to it.
    Inside(usize),
}

/// Decodes a bundle into `out`. This is the reference implementation.
pub(super) fn decode_scalar<W: FixedPoint>(
    s: &StaticPart,
    bundle: &Bundle<W>,
    body: &mut UnitBody,
    out: &mut [&mut [DecodedPoint<W>]],
    scratch: &mut [DecodedPoint<W>],
) {
    let count = out.len();
    for level in 0..s.hierarchy.level_count() {
        let range = s.hierarchy.level(level);
        for block in blocks(range.clone()) {
            for f in 0..count {
                let layer = bundle.layers[f];
                let step = i32::from(s.grid.steps[layer]);
                let rho = 4 * i32::from(bundle.heads[f].rho[level]);
                body.start_block::<W>(block.len());
                for v in block.clone() {
                    let references = bundle.references[f].map(|r| match r {
                        ReferenceFrame::Known(frame) => frame[v],
                        ReferenceFrame::Inside(frame) => out[frame][v],
                    });
                    let t = blend(references, bundle.heads[f].coefficients);
                    let past = references[0][3].to_i32().max(references[1][3].to_i32());
                    let (p, sum) = if level == 0 {
                        ([W::default(); 3], past.wrapping_mul(4))
                    } else {
                        let (near, weights) = s.weighted_neighbours(v);
                        let near = near.map(|n| scratch[n as usize * count + f]);
                        let axis = |k: usize| W::weigh(near.map(|n| n[k]), weights, rho);
                        let sum = near.iter().map(|n| n[3].to_i32()).sum();
                        ([axis(0), axis(1), axis(2)], sum)
                    };
                    let q = body.next_residual::<W>(&s.tables, v - range.start, || {
                        tables::context(layer, tables::neighbour_class(sum), tables::reference_class(past))
                    });
                    let inn = add_residual(p, q, step);
                    scratch[v * count + f] = inn;
                    out[f][v] = [
                        t[0].wrapping_add(inn[0]),
                        t[1].wrapping_add(inn[1]),
                        t[2].wrapping_add(inn[2]),
                        inn[3],
                    ];
                }
            }
        }
    }
}

/// Predicts a vertex over time.
#[inline(always)]
fn blend<W: FixedPoint>(
    references: [DecodedPoint<W>; MAX_REFERENCES],
    coefficients: [i16; MAX_REFERENCES],
) -> [W; 3] {
    [0, 1, 2].map(|k| W::blend(references.map(|r| r[k]), coefficients))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_end_with_their_level() {
        let ends = |range| blocks(range).map(|b| (b.start, b.end)).collect::<Vec<_>>();
        assert_eq!(ends(7..7), []);
        assert_eq!(ends(7..23), [(7, 23)]);
        assert_eq!(ends(7..24), [(7, 23), (23, 24)]);
    }
}
