//! Residuals to bytes: zigzag, byte planes, joint tokens. Lossless. The result is meant for a block
//! compressor that works on bytes (deflate, LZ4, zstd), so the layout decides the size.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `layout` | 0 zero: all residuals are zero, nothing follows · 1 planes · 2 tokens · 3 runs |
//!
//! **Planes**, for residuals of any size, z = zigzag(residual), components one after the other:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 1 | components | `width` | bytes per value of each component, 0 … `word` |
//! | … | count | per component and byte | plane of bytes: the lowest bytes of all components, then the next higher ones; each component has as many planes as its width |
//!
//! **Tokens**, for 1 to 4 components that are mostly small: one byte holds a whole vector.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 1 | components | `width` | bytes per escaped value of each component |
//! | … | 1 … 5 | `escapes` | varint, number of vectors that are escaped |
//! | … | count | `tokens` | per vector: its token, or E = escape |
//! | … | escapes | per component and byte | planes as above, of the escaped vectors only |
//!
//! ```text
//! components   1   2   3   4
//! radius R    62   5   2   1        a vector is a token if all |residuals| ≤ R
//! side 2R+1  125  11   5   3
//! E          125 121 125  81        = side^components
//! tokens are numbered from the zero vector outwards: by the sum of the squared residuals, and for equal sums
//! by n = d₀ + side·(d₁ + side·(d₂ + …)), d = residual + R
//! ```
//!
//! **Runs** are tokens in which a byte can also stand for many zero vectors:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 1 | components | `width` | as above |
//! | … | 1 … 5 | `escapes` | as above |
//! | … | 1 … 5 | `codes` | varint, bytes of the next field |
//! | … | codes | `codes` | tokens, E, or E + 1 + k: L(k) zero vectors, L(k) = k + 2 for k < 64, else 64·(k − 63) + 2 |
//! | … | escapes | per component and byte | as above |
//!
//! The encoder takes the layout whose bytes have the least order-0 entropy. It uses runs only if size matters
//! more than decoding speed, because they are expanded one by one.

use crate::Corrupt;
use crate::bytes::{Cursor, put_varint};
use crate::quantize::code::Code;
use crate::simd::isa::Isa;
use crate::simd::{run_kernel, run_vectors};
use alphabet::{lengths, run_length};
use kernel::{Join, Tokens};

pub(crate) use alphabet::{ALPHABETS, Alphabet, TOKEN_RADII};

mod alphabet;
mod kernel;

// Part of the format.
const LAYOUT_ZERO: u8 = 0;
const LAYOUT_PLANES: u8 = 1;
const LAYOUT_TOKENS: u8 = 2;
const LAYOUT_RUNS: u8 = 3;

/// The number of vectors that a code stands for, by the number of components.
static LENGTHS: [[u16; 256]; 5] = [lengths(0), lengths(1), lengths(2), lengths(3), lengths(4)];

/// Appends `residuals` (component-major) to `out`; returns the bytes that block compression is expected to
/// need. Panics if they are not whole vectors.
#[cfg(feature = "encode")]
pub fn encode<W: Code>(residuals: &[W], components: usize, runs: bool, out: &mut Vec<u8>) -> f64 {
    let count = residuals.len() / components.max(1);
    assert_eq!(count * components, residuals.len(), "whole vectors");
    if residuals.iter().all(|&r| r == W::default()) {
        out.push(LAYOUT_ZERO);
        return 0.0;
    }
    let planes = plane_cost(residuals, count);
    if let Some(alphabet) = ALPHABETS.get(components) {
        let (tokens, escaped) = tokenize(residuals, count, alphabet);
        // Tokens are useless if most vectors are escaped.
        if escaped.len() / components < count / 2 {
            let far = if escaped.is_empty() { 0.0 } else { plane_cost(&escaped, escaped.len() / components) };
            let codes = run_codes(&tokens, alphabet.escape);
            let (as_tokens, as_runs) = (far + entropy(&tokens), far + entropy(&codes));
            if runs && as_runs < as_tokens && as_runs < planes {
                put_tokens(LAYOUT_RUNS, &codes, &escaped, components, out);
                return as_runs;
            }
            if as_tokens < planes {
                put_tokens(LAYOUT_TOKENS, &tokens, &escaped, components, out);
                return as_tokens;
            }
        }
    }
    out.push(LAYOUT_PLANES);
    let widths = put_widths(residuals, components, count, out);
    put_planes(residuals, count, &widths, out);
    planes
}

/// Returns the token of every vector, and the escaped vectors, component-major.
#[cfg(feature = "encode")]
pub(crate) fn tokenize<W: Code>(residuals: &[W], count: usize, alphabet: &Alphabet) -> (Vec<u8>, Vec<W>) {
    let (radius, side) = (alphabet.radius, alphabet.side);
    let mut numbers = vec![0u8; count];
    let mut inside = vec![true; count];
    for plane in residuals.rchunks_exact(count) {
        for ((n, ok), r) in numbers.iter_mut().zip(&mut inside).zip(plane) {
            // As unsigned numbers, those below −radius are large as well.
            let d = r.signed().wrapping_add(radius) as u32;
            *ok &= d < side as u32;
            *n = n.wrapping_mul(side as u8).wrapping_add(d as u8);
        }
    }
    let token = |(&n, &ok): (&u8, &bool)| {
        if ok { alphabet.token[usize::from(n)] } else { alphabet.escape }
    };
    let tokens = numbers.iter().zip(&inside).map(token).collect();
    let far =
        |plane: &[W]| plane.iter().zip(&inside).filter(|(_, ok)| !**ok).map(|(&r, _)| r).collect::<Vec<W>>();
    (tokens, residuals.chunks_exact(count).flat_map(far).collect())
}

/// Replaces every run of two or more zero tokens.
#[cfg(feature = "encode")]
fn run_codes(tokens: &[u8], escape: u8) -> Vec<u8> {
    let first = usize::from(escape) + 1;
    let longest = 255 - first;
    let mut codes = Vec::with_capacity(tokens.len());
    let mut rest = tokens;
    while let Some(&token) = rest.first() {
        let mut run = rest.iter().take_while(|&&t| t == 0).count();
        rest = &rest[run.max(1)..];
        if run == 0 {
            codes.push(token);
        }
        while run > 1 {
            let k = if run < 66 { run - 2 } else { ((run - 2) / 64 + 63).min(longest) };
            codes.push((first + k) as u8);
            run -= run_length(k);
        }
        if run == 1 {
            codes.push(0);
        }
    }
    codes
}

#[cfg(feature = "encode")]
fn put_tokens<W: Code>(layout: u8, codes: &[u8], escaped: &[W], components: usize, out: &mut Vec<u8>) {
    let escapes = escaped.len() / components;
    let size = |n: usize| u32::try_from(n).expect("fewer than 2^32 vertices");
    out.push(layout);
    let widths = put_widths(escaped, components, escapes, out);
    put_varint(size(escapes), out);
    if layout == LAYOUT_RUNS {
        put_varint(size(codes.len()), out);
    }
    out.extend_from_slice(codes);
    put_planes(escaped, escapes, &widths, out);
}

/// Appends and returns the number of bytes that the values of each component need.
#[cfg(feature = "encode")]
fn put_widths<W: Code>(residuals: &[W], components: usize, count: usize, out: &mut Vec<u8>) -> Vec<u8> {
    let width = |k: usize| {
        let all = residuals[k * count..(k + 1) * count].iter().fold(0, |all, r| all | r.zigzag().to_u32());
        (u32::BITS - all.leading_zeros()).div_ceil(8) as u8
    };
    let widths: Vec<u8> = (0..components).map(width).collect();
    out.extend_from_slice(&widths);
    widths
}

#[cfg(feature = "encode")]
fn put_planes<W: Code>(residuals: &[W], count: usize, widths: &[u8], out: &mut Vec<u8>) {
    for byte in 0..W::BYTES as u8 {
        for (k, _) in widths.iter().enumerate().filter(|(_, w)| **w > byte) {
            let plane = &residuals[k * count..(k + 1) * count];
            out.extend(plane.iter().map(|r| (r.zigzag().to_u32() >> (8 * byte)) as u8));
        }
    }
}

/// Returns the bytes that an ideal order-0 coder needs for each plane by itself.
#[cfg(feature = "encode")]
pub(crate) fn plane_cost<W: Code>(residuals: &[W], count: usize) -> f64 {
    let mut cost = 0.0;
    for plane in residuals.chunks_exact(count.max(1)) {
        let mut histograms = [[0u32; 256]; 4];
        for r in plane {
            let z = r.zigzag().to_u32();
            for (byte, histogram) in histograms.iter_mut().enumerate().take(W::BYTES) {
                histogram[(z >> (8 * byte)) as usize & 255] += 1;
            }
        }
        cost += histograms.iter().take(W::BYTES).map(histogram_cost).sum::<f64>();
    }
    cost
}

#[cfg(feature = "encode")]
pub(crate) fn entropy(bytes: &[u8]) -> f64 {
    let mut histogram = [0u32; 256];
    for &b in bytes {
        histogram[usize::from(b)] += 1;
    }
    histogram_cost(&histogram)
}

/// The least cost of the most frequent symbol in bits: prefix codes cannot go below one, matches can, at a
/// price.
#[cfg(feature = "encode")]
const MIN_SYMBOL_BITS: f64 = 0.75;

/// Returns the bytes for the symbols of a histogram, and about half a byte for the code of each.
#[cfg(feature = "encode")]
fn histogram_cost(histogram: &[u32; 256]) -> f64 {
    let sum = f64::from(histogram.iter().sum::<u32>());
    let used = histogram.iter().filter(|n| **n > 0).map(|&n| f64::from(n));
    let bits = |n: f64| {
        if n == sum { 40.0 } else { n * (sum / n).log2().max(MIN_SYMBOL_BITS) + 4.0 }
    };
    used.map(bits).sum::<f64>() / 8.0
}

/// Decodes `out.len() / components` vectors from the start of `bytes`; returns the number of bytes used.
pub fn decode<W: Code>(bytes: &[u8], components: usize, out: &mut [W]) -> Result<usize, Corrupt> {
    decode_on(Isa::get(), bytes, components, out)
}

fn decode_on<W: Code>(isa: Isa, bytes: &[u8], components: usize, out: &mut [W]) -> Result<usize, Corrupt> {
    let count = out.len() / components.max(1);
    if count * components != out.len() {
        return Err(Corrupt("residuals: no whole vectors"));
    }
    let mut c = Cursor::new(bytes);
    match c.u8()? {
        LAYOUT_ZERO => out.fill(W::default()),
        LAYOUT_PLANES => decode_planes(isa, &mut c, components, count, out)?,
        layout @ (LAYOUT_TOKENS | LAYOUT_RUNS) => {
            let alphabet = ALPHABETS.get(components).filter(|_| components > 0);
            let alphabet = alphabet.ok_or(Corrupt("residuals: no tokens of so many components"))?;
            let widths = widths(&mut c, components, W::BYTES)?;
            let escapes = c.varint()? as usize;
            let codes = if layout == LAYOUT_RUNS { c.varint()? as usize } else { count };
            let codes = c.bytes(codes)?;
            let far = EscapedVectors::new(&mut c, widths, escapes)?;
            let mut vectors = VectorDecoder { isa, alphabet, escaped_vectors: far, count, escapes: 0, out };
            if layout == LAYOUT_TOKENS {
                for (block, tokens) in codes.chunks(BLOCK).enumerate() {
                    vectors.block(block * BLOCK, tokens)?;
                }
            } else {
                vectors.runs(codes)?;
            }
            if vectors.escapes != escapes {
                return Err(ESCAPE_MISMATCH);
            }
        }
        _ => return Err(UNKNOWN_LAYOUT),
    }
    Ok(c.used())
}

/// Returns the number of bytes that [`decode`] uses for `count` vectors of `word`-byte words, without
/// decoding them.
pub fn skip(bytes: &[u8], components: usize, count: usize, word: usize) -> Result<usize, Corrupt> {
    let mut c = Cursor::new(bytes);
    let layout = c.u8()?;
    if layout == LAYOUT_ZERO {
        return Ok(c.used());
    }
    if layout > LAYOUT_RUNS {
        return Err(UNKNOWN_LAYOUT);
    }
    let widths = widths(&mut c, components, word)?;
    let mut vectors = count;
    if layout != LAYOUT_PLANES {
        vectors = c.varint()? as usize;
        let codes = if layout == LAYOUT_RUNS { c.varint()? as usize } else { count };
        c.bytes(codes)?;
    }
    for &width in widths {
        for _ in 0..width {
            c.bytes(vectors)?;
        }
    }
    Ok(c.used())
}

const UNKNOWN_LAYOUT: Corrupt = Corrupt("residuals: unknown layout");
const ESCAPE_MISMATCH: Corrupt = Corrupt("residuals: tokens and escapes disagree");

/// Reads the width of each component, none more than a word.
fn widths<'a>(c: &mut Cursor<'a>, components: usize, word: usize) -> Result<&'a [u8], Corrupt> {
    let widths = c.bytes(components)?;
    if widths.iter().any(|&w| usize::from(w) > word) {
        return Err(Corrupt("residuals: wider than a word"));
    }
    Ok(widths)
}

fn decode_planes<W: Code>(
    isa: Isa,
    c: &mut Cursor<'_>,
    components: usize,
    count: usize,
    out: &mut [W],
) -> Result<(), Corrupt> {
    let widths = widths(c, components, W::BYTES)?;
    // The lowest bytes of all components come first, so the planes of one component are not adjacent.
    let all = c.bytes(count * widths.iter().map(|&w| usize::from(w)).sum::<usize>())?;
    let before = |byte: usize, k: usize| {
        let lower: usize = widths.iter().map(|&w| usize::from(w).min(byte)).sum();
        let same = widths[..k].iter().filter(|&&w| usize::from(w) > byte);
        (lower + same.count()) * count
    };
    for (k, out) in out.chunks_exact_mut(count.max(1)).enumerate() {
        let planes: [&[u8]; 4] = std::array::from_fn(|byte| {
            if byte < usize::from(widths[k]) { &all[before(byte, k)..][..count] } else { &[] }
        });
        run_kernel(isa, Join { planes, out });
    }
    Ok(())
}

/// The planes of the escaped vectors.
struct EscapedVectors<'a> {
    count: usize,
    /// By component and byte; empty if a component is not that wide.
    planes: [[&'a [u8]; 4]; 4],
}

impl<'a> EscapedVectors<'a> {
    fn new(c: &mut Cursor<'a>, widths: &[u8], count: usize) -> Result<EscapedVectors<'a>, Corrupt> {
        let mut planes: [[&[u8]; 4]; 4] = [[&[]; 4]; 4];
        for byte in 0..4 {
            for (planes, _) in planes.iter_mut().zip(widths).filter(|(_, w)| **w > byte) {
                planes[usize::from(byte)] = c.bytes(count)?;
            }
        }
        Ok(EscapedVectors { count, planes })
    }
}

/// The vectors that are being decoded.
struct VectorDecoder<'a, W> {
    isa: Isa,
    alphabet: &'static Alphabet,
    escaped_vectors: EscapedVectors<'a>,
    count: usize,
    /// The number of escaped vectors so far.
    escapes: usize,
    out: &'a mut [W],
}

/// The number of vectors decoded at a time.
const BLOCK: usize = 4096;

impl<W: Code> VectorDecoder<'_, W> {
    /// Expands runs into tokens, block by block.
    fn runs(&mut self, codes: &[u8]) -> Result<(), Corrupt> {
        let mut tokens = [0u8; BLOCK];
        let lengths = &LENGTHS[self.components()];
        let mut codes = codes.iter();
        let (mut start, mut at) = (0, 0);
        loop {
            // Every code takes the same steps: a token is a run of one, and a run writes only its first zero.
            while at < BLOCK {
                let Some(&code) = codes.next() else {
                    break;
                };
                tokens[at] = if code > self.alphabet.escape { 0 } else { code };
                at += usize::from(lengths[usize::from(code)]);
            }
            if start + at > self.count {
                break;
            }
            if at < BLOCK {
                self.block(start, &tokens[..at])?;
                start += at;
                break;
            }
            self.block(start, &tokens)?;
            tokens.fill(0);
            start += BLOCK;
            at -= BLOCK;
        }
        if start != self.count {
            return Err(Corrupt("residuals: runs do not give the number of vectors"));
        }
        Ok(())
    }

    fn components(&self) -> usize {
        self.out.len() / self.count.max(1)
    }

    /// Decodes at most [`BLOCK`] vectors from `start` on.
    fn block(&mut self, start: usize, tokens: &[u8]) -> Result<(), Corrupt> {
        let (done, mut largest) = match self.components() {
            1 => self.whole_rows::<1>(start, tokens),
            2 => self.whole_rows::<2>(start, tokens),
            3 => self.whole_rows::<3>(start, tokens),
            _ => self.whole_rows::<4>(start, tokens),
        };
        let rest = &tokens[done..];
        largest = rest.iter().fold(largest, |a, &t| a.max(t));
        if largest > self.alphabet.escape {
            return Err(ESCAPE_MISMATCH);
        }
        let planes = self.out.chunks_exact_mut(self.count.max(1));
        for (plane, residual) in planes.zip(&self.alphabet.residual) {
            for (o, &t) in plane[start + done..].iter_mut().zip(rest) {
                *o = W::wrap(i64::from(residual[usize::from(t)]));
            }
        }
        if largest == self.alphabet.escape {
            self.insert_escaped(start, tokens)?;
        }
        Ok(())
    }

    /// Decodes those tokens of a block that fill whole rows, if the words have 16 bits; see [`Tokens`].
    fn whole_rows<const N: usize>(&mut self, start: usize, tokens: &[u8]) -> (usize, u8) {
        let Some(out) = W::codes16_mut(self.out) else {
            return (0, 0);
        };
        let mut planes = out.chunks_exact_mut(self.count.max(1)).map(|plane| &mut plane[start..]);
        let planes = std::array::from_fn::<_, N, _>(|_| planes.next().unwrap_or_default());
        run_vectors(self.isa, Tokens { alphabet: self.alphabet, tokens, planes }).unwrap_or((0, 0))
    }

    /// Inserts the escaped vectors of a block, which are the next ones.
    fn insert_escaped(&mut self, start: usize, tokens: &[u8]) -> Result<(), Corrupt> {
        let mut places = [0u16; BLOCK];
        let mut found = 0;
        let (eights, rest) = tokens.as_chunks::<8>();
        let mut look = |at: usize, eight: [u8; 8]| {
            // Sets the top bit of every byte that equals the escape, and of no other: all are below 128.
            let other = u64::from_le_bytes(eight.map(|t| t ^ self.alphabet.escape));
            let mut same = !(other + 0x7F7F_7F7F_7F7F_7F7F) & 0x8080_8080_8080_8080;
            while same != 0 {
                places[found] = (at + same.trailing_zeros() as usize / 8) as u16;
                found += 1;
                same &= same - 1;
            }
        };
        for (k, &eight) in eights.iter().enumerate() {
            look(8 * k, eight);
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        look(8 * eights.len(), last);
        let places = &places[..found];
        let range = self.escapes..self.escapes + found;
        if range.end > self.escaped_vectors.count {
            return Err(ESCAPE_MISMATCH);
        }
        for (plane, bytes) in self.out.chunks_exact_mut(self.count).zip(&self.escaped_vectors.planes) {
            let plane = &mut plane[start..];
            let bytes = bytes.map(|plane| plane.get(range.clone()).unwrap_or(&[]));
            let word = |bytes: [u8; 4]| W::wrap32(u32::from_le_bytes(bytes)).unzigzag();
            let [a, b, c, d] = bytes;
            match bytes {
                [[], ..] => places.iter().for_each(|&v| plane[usize::from(v)] = W::default()),
                [a, [], ..] => {
                    for (&v, &a) in places.iter().zip(a) {
                        plane[usize::from(v)] = word([a, 0, 0, 0]);
                    }
                }
                [a, b, [], _] => {
                    for ((&v, &a), &b) in places.iter().zip(a).zip(b) {
                        plane[usize::from(v)] = word([a, b, 0, 0]);
                    }
                }
                _ => {
                    for (i, &v) in places.iter().enumerate() {
                        let d = d.get(i).copied().unwrap_or(0);
                        plane[usize::from(v)] = word([a[i], b[i], c[i], d]);
                    }
                }
            }
        }
        self.escapes = range.end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip<W: Code>(residuals: &[W], components: usize) -> Vec<u8> {
        let (mut bytes, mut again) = (vec![1], vec![1]);
        encode(residuals, components, true, &mut bytes);
        encode(residuals, components, true, &mut again);
        assert_eq!(bytes, again);
        bytes.remove(0);
        bytes.push(1);
        for isa in Isa::all() {
            let mut out = vec![W::wrap(77); residuals.len()];
            let used = decode_on(isa, &bytes, components, &mut out);
            assert_eq!(used, Ok(bytes.len() - 1), "{isa:?}");
            assert_eq!(out, residuals, "{isa:?}");
        }
        bytes.pop();
        bytes
    }

    /// Checks that every truncation is refused, and that no changed byte causes a panic.
    fn damage<W: Code>(residuals: &[W], components: usize) {
        let bytes = round_trip(residuals, components);
        let mut out = vec![W::default(); residuals.len()];
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut], components, &mut out).is_err());
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 2, 3, 4, 80, 121, 124, 125, 126, 127, 255, bytes[at] ^ 1] {
                let mut bad = bytes.clone();
                bad[at] = value;
                let mut other = out.clone();
                let [a, b] = [Isa::Scalar, Isa::get()];
                let used = decode_on(a, &bad, components, &mut out);
                assert_eq!(decode_on(b, &bad, components, &mut other), used);
                assert!(used.is_err() || out == other);
                let _ = decode(&bad, components, &mut out[..components]);
            }
        }
    }

    fn noise(n: usize, seed: u32, limit: u32, sparse: u32) -> Vec<u16> {
        let mut s = seed;
        let mut next = || {
            s = s.wrapping_mul(1664525).wrapping_add(1013904223);
            s >> 16
        };
        (0..n).map(|_| if next() % sparse == 0 { (next() % limit) as u16 } else { 0 }.unzigzag()).collect()
    }

    /// Returns small vectors, half of which are zero.
    fn sparse_vectors(count: usize) -> Vec<u16> {
        let mut r = noise(3 * count, 5, 4, 1);
        let chance = noise(count, 8, 4, 1);
        r.iter_mut().enumerate().filter(|(at, _)| chance[at % count].zigzag() > 1).for_each(|(_, r)| *r = 0);
        r
    }

    #[test]
    fn golden() {
        assert_eq!(round_trip(&[0u16; 30], 3), [0]);
        assert_eq!(round_trip::<u16>(&[], 3), [0]);
        assert_eq!(round_trip(&[300u16, 2], 2), [1, 2, 1, 88, 4, 2]);
        let mut r = vec![0u16; 300];
        (r[1], r[102], r[250]) = (1, 0xFFFF, 1);
        assert_eq!(round_trip(&r, 3), [3, 0, 0, 0, 0, 6, 0, 4, 2, 126 + 45, 6, 126 + 47]);
        assert_eq!(ALPHABETS[3].token[62], 0);
        assert_eq!(ALPHABETS[4].token[40], 0);
        assert_eq!(ALPHABETS[1].residual[0][..4], [0, -1, 1, -2]);
        assert_eq!((0..129).map(run_length).max(), Some(64 * 65 + 2));
        assert_eq!([63, 64, 65].map(run_length), [65, 66, 130]);
    }

    #[test]
    fn layouts_are_all_used() {
        assert_eq!(round_trip(&noise(3000, 5, 60_000, 1), 3)[0], LAYOUT_PLANES);
        assert_eq!(round_trip(&noise(3000, 5, 3, 40), 3)[0], LAYOUT_RUNS);
        assert_eq!(round_trip(&sparse_vectors(1000), 3)[0], LAYOUT_TOKENS);
        // A few large vectors among many small ones.
        let mut r = sparse_vectors(1000);
        (r[5], r[1500], r[2999]) = (0x8000, 400, 0xF000);
        assert_eq!(round_trip(&r, 3)[..5], [LAYOUT_TOKENS, 2, 2, 2, 3]);
    }

    #[test]
    fn long_runs() {
        for run in [1, 2, 3, 65, 66, 67, 129, 130, 131, 4160, 4161, 4162, 4163, 9000, 20_000] {
            let mut r = vec![0u16; 3 * (run + 2)];
            (r[0], r[run + 1]) = (1, 2);
            round_trip(&r, 3);
        }
    }

    #[test]
    fn damaged() {
        for components in 1..=5 {
            for (limit, sparse) in [(60_000, 1), (4, 1), (3, 9), (300, 7)] {
                damage(&noise(components * 60, 3, limit, sparse), components);
            }
        }
    }

    proptest! {
        #[test]
        fn any_residuals_come_back(data in proptest::collection::vec((any::<u32>(), 0u32..32), 0..400), components in 1usize..6) {
            let count = data.len() / components;
            let r: Vec<u32> = data[..count * components].iter().map(|&(v, s)| (v >> s).unzigzag()).collect();
            round_trip(&r, components);
            let r: Vec<u16> = data[..count * components].iter().map(|&(v, s)| (v as u16 >> (s / 2)).unzigzag()).collect();
            round_trip(&r, components);
            let r: Vec<u8> = data[..count * components].iter().map(|&(v, s)| (v as u8 >> (s / 4)).unzigzag()).collect();
            round_trip(&r, components);
        }

        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..300), layout in 0u8..4, n in 0usize..60, components in 0usize..6) {
            let mut all = vec![layout];
            all.extend(bytes);
            let mut out = vec![0u16; n];
            let _ = decode(&all, components, &mut out);
        }
    }
}
