//! Settings that the encoder tries: the starting points of its search, and its moves. Tuning, not part of the
//! format.

use crate::mesh::weights::FITS;
use crate::quantize::lattice::{Lattice, LatticeChoice};
use std::ops::Range;

/// Settings from which a search starts, and the range of bits per vertex and frame in which they may be good.
pub const STARTS: [(Range<f64>, LatticeChoice); 3] = [
    (
        0.0..2.2,
        LatticeChoice {
            lattice: Lattice::Centred,
            first_precision: 4.0,
            key_precision: 1.3,
            deepest_precision: 1.1,
            error_weight: 9.0,
            fit: 0,
        },
    ),
    (
        0.0..2.2,
        LatticeChoice {
            lattice: Lattice::Cubic,
            first_precision: 4.0,
            key_precision: 1.3,
            deepest_precision: 1.1,
            error_weight: 10.0,
            fit: 0,
        },
    ),
    (
        1.7..f64::MAX,
        LatticeChoice {
            lattice: Lattice::Centred,
            first_precision: 3.0,
            key_precision: 1.05,
            deepest_precision: 1.05,
            error_weight: 4.0,
            fit: 0,
        },
    ),
];

/// The number of moves, the numbers that [`neighbouring_setting`] takes.
pub const MOVES: u32 = 13;
/// The first factor by which steps are moved, and the factor at which the search ends.
pub const FIRST_MOVE: f32 = 1.3;
pub const LAST_MOVE: f32 = 1.05;

/// For each fit: the one with the next smaller ridge, with the next larger ridge, and a similar one with the
/// other falloff.
const FIT_MOVES: [[u8; 3]; FITS.len()] =
    [[2, 3, 1], [4, 6, 0], [5, 0, 4], [0, 3, 6], [4, 1, 2], [7, 2, 4], [1, 6, 3], [7, 5, 4]];

/// Returns a neighbouring setting.
pub fn neighbouring_setting(now: LatticeChoice, number: u32, size: f32) -> LatticeChoice {
    let mut next = now;
    match number {
        0 => next.fit = FIT_MOVES[usize::from(now.fit)][0],
        1 => next.first_precision = (now.first_precision / (size * size)).max(1.0),
        2 => next.fit = FIT_MOVES[usize::from(now.fit)][1],
        3 => next.deepest_precision = now.deepest_precision * size.sqrt(),
        4 => next.key_precision = now.key_precision * size,
        5 => next.error_weight = now.error_weight * size,
        6 => next.key_precision = (now.key_precision / size).max(1.0),
        7 => next.error_weight = now.error_weight / size,
        8 => next.first_precision = now.first_precision * size * size,
        9 => next.deepest_precision = (now.deepest_precision / size.sqrt()).max(1.0),
        10 => next.fit = FIT_MOVES[usize::from(now.fit)][2],
        11 => {
            next.lattice = match now.lattice {
                Lattice::Cubic => Lattice::Centred,
                Lattice::Centred => Lattice::Cubic,
            }
        }
        _ => {
            // Both at once, as they trade off against each other.
            next.key_precision = now.key_precision * size;
            next.deepest_precision = (now.deepest_precision / size).max(1.0);
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fit_is_reached_and_smaller_ridges_are_smaller() {
        let ridge = |fit: u8| FITS[usize::from(fit)].ridge;
        let falloff = |fit: u8| FITS[usize::from(fit)].falloff;
        for fit in 0..FITS.len() as u8 {
            let start = LatticeChoice { fit, ..STARTS[0].1 };
            let [down, up, over] = [0, 2, 10].map(|m| neighbouring_setting(start, m, FIRST_MOVE).fit);
            assert!(ridge(down) < ridge(fit) || down == fit);
            assert!(ridge(up) > ridge(fit) || up == fit);
            assert_eq!([down, up].map(falloff), [falloff(fit); 2]);
            assert_ne!(falloff(over), falloff(fit));
        }
    }
}
