//! The frames of a unit, up to eight, are decoded side by side, in blocks of 16 vertices of a level.
//!
//! ```text
//! for each level, each block of 16 of its vertices, each frame of the unit:
//!     the residuals of the block's vertices                         this is the order of tokens and raw bits
//! ```
//!
//! So neighbours and weights are read once for eight frames, whose innovations lie side by side in one cache
//! line. A frame that refers to another of its unit needs only the same vertex of it, which has just been
//! decoded.

use super::first::Static;
use super::unit::{Body, Head, Vector, add};
use crate::mesh::blocks::{BUNDLE, blocks};
use crate::mesh::tables;
use crate::quantize::fixed::FixedPoint;
use crate::schedule::REFERENCES;

/// The frames of a unit, and what they are predicted from.
pub struct Bundle<'a, W> {
    /// Layer of each.
    pub layers: [usize; BUNDLE],
    /// By frame.
    pub heads: &'a [Head],
    /// By frame; at least as many as heads.
    pub references: [[Reference<'a, W>; REFERENCES]; BUNDLE],
}

impl<W> Bundle<'_, W> {
    /// True if references are frames of `points` vertices, or inside before those that refer to them.
    pub fn fits(&self, points: usize) -> bool {
        let fits = |f: usize, r: &Reference<W>| match *r {
            Reference::Known(frame) => frame.len() == points,
            Reference::Inside(frame) => frame < f,
        };
        let frames = self.references.iter().enumerate().take(self.heads.len());
        frames.flat_map(|(f, all)| all.iter().map(move |r| (f, r))).all(|(f, r)| fits(f, r))
    }
}

/// A frame that others are predicted from.
#[derive(Debug, Clone, Copy)]
pub enum Reference<'a, W> {
    /// Decoded before.
    Known(&'a [Vector<W>]),
    /// This one of the bundle, before the frame that refers to it.
    Inside(usize),
}

/// Decodes a bundle into `out`; the reference.
pub(super) fn decode_scalar<W: FixedPoint>(
    s: &Static,
    bundle: &Bundle<W>,
    body: &mut Body,
    out: &mut [&mut [Vector<W>]],
    scratch: &mut [Vector<W>],
) {
    let count = out.len();
    for level in 0..s.hierarchy.levels() {
        let range = s.hierarchy.level(level);
        for block in blocks(range.clone()) {
            for f in 0..count {
                let layer = bundle.layers[f];
                let step = i32::from(s.grid.steps[layer]);
                let rho = 4 * i32::from(bundle.heads[f].rho[level]);
                body.start::<W>(block.len());
                for v in block.clone() {
                    let references = bundle.references[f].map(|r| match r {
                        Reference::Known(frame) => frame[v],
                        Reference::Inside(frame) => out[frame][v],
                    });
                    let t = blend(references, bundle.heads[f].coefficients);
                    let past = references[0][3].get().max(references[1][3].get());
                    let (p, sum) = if level == 0 {
                        ([W::default(); 3], past.wrapping_mul(4))
                    } else {
                        let (near, weights) = s.near(v);
                        let near = near.map(|n| scratch[n as usize * count + f]);
                        let axis = |k: usize| W::weigh(near.map(|n| n[k]), weights, rho);
                        let sum = near.iter().map(|n| n[3].get()).sum();
                        ([axis(0), axis(1), axis(2)], sum)
                    };
                    let q = body.vertex::<W>(&s.tables, v - range.start, || {
                        tables::context(layer, tables::near(sum), tables::past(past))
                    });
                    let inn = add(p, q, step);
                    scratch[v * count + f] = inn;
                    out[f][v] = [t[0].plus(inn[0]), t[1].plus(inn[1]), t[2].plus(inn[2]), inn[3]];
                }
            }
        }
    }
}

/// Temporal prediction of a vertex.
#[inline(always)]
fn blend<W: FixedPoint>(references: [Vector<W>; REFERENCES], coefficients: [i16; REFERENCES]) -> [W; 3] {
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
