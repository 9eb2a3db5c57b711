//! The alphabets of byte tokens for residual vectors; and the conversion of byte planes to words.

use crate::quantize::code::Code;

/// The largest |residual| of a token, by the number of components.
pub(crate) const TOKEN_RADII: [i32; 5] = [0, 62, 5, 2, 1];

/// Run codes below this number count one vector more each, those above 64 more each.
pub(super) const SHORT_RUNS: usize = 64;

/// Returns the number of vectors that run code `k` stands for.
pub(super) const fn run_length(k: usize) -> usize {
    if k < SHORT_RUNS { k + 2 } else { 64 * (k - 63) + 2 }
}

pub(super) const fn lengths(components: usize) -> [u16; 256] {
    let escape = ALPHABETS[components].escape as usize;
    let mut lengths = [1; 256];
    let mut code = escape + 1;
    while code < 256 {
        lengths[code] = run_length(code - escape - 1) as u16;
        code += 1;
    }
    lengths
}

/// The tokens of vectors with `n` components.
pub(crate) struct Alphabet {
    #[cfg(feature = "encode")]
    pub(super) radius: i32,
    #[cfg(feature = "encode")]
    pub(super) side: i32,
    /// The number of tokens, which is also the escape code.
    pub(crate) escape: u8,
    /// The token of each vector n = d₀ + side·(d₁ + …).
    pub(crate) token: [u8; 125],
    /// The residuals of each byte, one array per component; zero for a byte that is not a token.
    pub(super) residual: [[i8; 256]; 4],
}

pub(crate) static ALPHABETS: [Alphabet; 5] =
    [alphabet(0), alphabet(1), alphabet(2), alphabet(3), alphabet(4)];

pub(super) const fn alphabet(components: usize) -> Alphabet {
    let radius = TOKEN_RADII[components];
    let side = 2 * radius + 1;
    let mut count = 1usize;
    let mut k = 0;
    while k < components {
        count *= side as usize;
        k += 1;
    }
    let mut a = Alphabet {
        #[cfg(feature = "encode")]
        radius,
        #[cfg(feature = "encode")]
        side,
        escape: count as u8,
        token: [0; 125],
        residual: [[0; 256]; 4],
    };
    // Sorted by (square, n): the rank of each vector is the number of smaller ones.
    let mut n = 0;
    while n < count {
        let mut rank = 0;
        let mut other = 0;
        while other < count {
            let (mine, theirs) = (square(n, components), square(other, components));
            if theirs < mine || theirs == mine && other < n {
                rank += 1;
            }
            other += 1;
        }
        a.token[n] = rank as u8;
        let (mut k, mut rest) = (0, n as i32);
        while k < components {
            a.residual[k][rank] = (rest % side - radius) as i8;
            rest /= side;
            k += 1;
        }
        n += 1;
    }
    a
}

/// Returns the sum of the squared residuals of vector `n`.
pub(super) const fn square(n: usize, components: usize) -> i32 {
    let (radius, side) = (TOKEN_RADII[components], 2 * TOKEN_RADII[components] + 1);
    let (mut rest, mut sum, mut k) = (n as i32, 0, 0);
    while k < components {
        let d = rest % side - radius;
        sum += d * d;
        rest /= side;
        k += 1;
    }
    sum
}

/// Joins residuals from their byte planes, lowest first; missing planes are empty and come last.
#[inline(always)]
pub(super) fn join<W: Code>(planes: [&[u8]; 4], out: &mut [W]) {
    let word = |bytes: [u8; 4]| W::wrap32(u32::from_le_bytes(bytes)).unzigzag();
    match planes {
        [[], ..] => out.fill(W::default()),
        [a, [], ..] => {
            for (o, &a) in out.iter_mut().zip(a) {
                *o = word([a, 0, 0, 0]);
            }
        }
        [a, b, [], _] => {
            for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
                *o = word([a, b, 0, 0]);
            }
        }
        [a, b, c, []] => {
            for (((o, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
                *o = word([a, b, c, 0]);
            }
        }
        [a, b, c, d] => {
            for ((((o, &a), &b), &c), &d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *o = word([a, b, c, d]);
            }
        }
    }
}
