//! One token per vertex: three residuals of equal parity become one of 251 symbols and a few raw bits.
//! Lossless.
//!
//! The context gives a shift k. Each axis v, with the parity p that all three have, becomes
//!
//! ```text
//! k = 0   a = (|v| − p) / 2                 a sign bit if p or a > 0
//! k > 0   w = (v − p) >> 1, a = w or −1 − w    a sign bit always; the k low bits of a raw, a >>= k
//! a       class 0, 1, 2, {3 4}, {5 … 8}     with 0, 0, 0, 1, 2 raw bits
//! token = 125·p + 25·class x + 5·class y + class z,   or 250 if an axis is in no class
//! ```
//!
//! Raw bits, lowest first: of x, then y, then z: sign, low bits, class bits. Their number follows from token
//! and k, so positions are a prefix sum. After token 250 come the three residuals themselves, 16 (wide: 32)
//! bits each.

pub use crate::entropy::rans::TOKENS;
use crate::quantize::fixed_point::FixedPoint;

/// The token of a vector that no other token can hold.
pub const ESCAPE: u8 = 250;
/// The number of shifts.
pub const SHIFTS: usize = 9;

const BASE: [u32; 5] = [0, 1, 2, 3, 5];
const EXTRA: [u32; 5] = [0, 0, 0, 1, 2];
/// Class by a, 0 … 8.
#[cfg(feature = "encode")]
const CLASS: [u8; 9] = [0, 1, 2, 3, 3, 4, 4, 4, 4];

/// The number of raw bits by shift and token; the escape has no entry.
pub static RAW_BITS: [[u8; 256]; SHIFTS] = raw_bits();

const fn raw_bits() -> [[u8; 256]; SHIFTS] {
    let mut out = [[0; 256]; SHIFTS];
    let mut k = 0;
    while k < SHIFTS {
        let mut token = 0;
        while token < ESCAPE as usize {
            let parity = token / 125;
            let classes = [token / 25 % 5, token / 5 % 5, token % 5];
            let mut axis = 0;
            while axis < 3 {
                let c = classes[axis];
                let sign = (k > 0 || parity > 0 || c > 0) as u32;
                out[k][token] += (sign + k as u32 + EXTRA[c]) as u8;
                axis += 1;
            }
            token += 1;
        }
        k += 1;
    }
    out
}

/// Returns the token, its raw bits and their number. Takes the escape unless the three residuals have equal
/// parity and are in range; `width` is the number of bits of an escaped component.
#[cfg(feature = "encode")]
#[inline]
pub fn split(q: [i32; 3], k: u32, width: u32) -> (u8, u128, u32) {
    if let Some((token, bits, count)) = try_split(q, k) {
        return (token, u128::from(bits), count);
    }
    let mask = (1u128 << width) - 1;
    let raw = |axis: usize| (q[axis] as u32 as u128 & mask) << (axis as u32 * width);
    (ESCAPE, raw(0) | raw(1) | raw(2), 3 * width)
}

/// Returns the token, its raw bits and their number; `None` if the vector takes the escape.
#[cfg(feature = "encode")]
#[inline(always)]
pub fn try_split(q: [i32; 3], k: u32) -> Option<(u8, u64, u32)> {
    if k == 0 && q == [0; 3] {
        return Some((0, 0, 0));
    }
    let p = q[0] & 1;
    let mut token = p as u32;
    let (mut bits, mut count) = (0u64, 0);
    let mut inside = (q[1] & 1) == p && (q[2] & 1) == p;
    for v in q {
        let (mut a, negative, sign);
        if k == 0 {
            a = (v.unsigned_abs() - p as u32 * (v != 0) as u32) / 2;
            (negative, sign) = (v < 0, p != 0 || a > 0);
        } else {
            let w = v.wrapping_sub(p) >> 1;
            (negative, sign) = (w < 0, true);
            a = (w ^ (w >> 31)) as u32;
        }
        bits |= u64::from(negative & sign) << count;
        count += sign as u32;
        bits |= u64::from(a & ((1 << k) - 1)) << count;
        count += k;
        a >>= k;
        inside &= a <= 8;
        let class = CLASS[a.min(8) as usize] as usize;
        bits |= u64::from(a.wrapping_sub(BASE[class]) & ((1 << EXTRA[class]) - 1)) << count;
        count += EXTRA[class];
        token = token * 5 + class as u32;
    }
    inside.then_some((token as u8, bits, count))
}

/// Returns the class of a residual, or 5 if it is out of range. The encoder compares candidates by it before
/// it codes one.
#[cfg(feature = "encode")]
#[inline(always)]
pub fn class(v: i32, k: u32) -> u32 {
    let a = if k == 0 {
        v.unsigned_abs() >> 1
    } else {
        let w = v >> 1;
        ((w ^ (w >> 31)) as u32) >> k
    };
    match CLASS.get(a as usize) {
        Some(&class) => u32::from(class),
        None => 5,
    }
}

/// Returns the residuals of a token other than the escape; `bits` begins with its raw bits, higher bits are
/// ignored.
#[inline]
pub fn join(token: u8, mut bits: u64, k: u32) -> [i32; 3] {
    let token = u32::from(token);
    let p = (token / 125) as i32;
    let mut take = |count: u32| {
        let value = bits & ((1 << count) - 1);
        bits >>= count;
        value as u32
    };
    let mut out = [0; 3];
    for (v, class) in out.iter_mut().zip([token / 25 % 5, token / 5 % 5, token % 5]) {
        let sign = k > 0 || p > 0 || class > 0;
        let negative = take(sign as u32) != 0;
        let low = take(k);
        let a = BASE[class as usize] + take(EXTRA[class as usize]);
        let a = ((a << k) + low) as i32;
        *v = match (k, negative) {
            (0, false) => 2 * a + p,
            (0, true) => -2 * a - p,
            (_, false) => 2 * a + p,
            (_, true) => 2 * (-1 - a) + p,
        };
    }
    out
}

/// Reads the raw bits of a token and returns its residuals; the components of an escape are stored whole.
#[inline(always)]
pub fn residual<W: FixedPoint>(token: u8, k: u32, raw: &mut BitReader) -> [i32; 3] {
    if token == ESCAPE {
        return [0; 3].map(|_: i32| W::wrap(raw.read(W::BITS) as i32).to_i32());
    }
    let q = join(token, raw.peek(), k);
    raw.skip(u32::from(RAW_BITS[k as usize][usize::from(token)]));
    q
}

/// Returns |x| + |y| + |z|, at most 4095: the value that contexts are derived from.
#[inline(always)]
pub fn magnitude(q: [i32; 3]) -> i32 {
    let sum = q[0].unsigned_abs().saturating_add(q[1].unsigned_abs()).saturating_add(q[2].unsigned_abs());
    sum.min(4095) as i32
}

/// Returns a residual together with its magnitude.
#[inline(always)]
pub(in crate::mesh) fn with_magnitude<W: FixedPoint>(q: [i32; 3]) -> [W; 4] {
    [W::wrap(q[0]), W::wrap(q[1]), W::wrap(q[2]), W::wrap(magnitude(q))]
}

/// Writes raw bits, lowest first.
#[cfg(feature = "encode")]
#[derive(Debug, Default, Clone)]
pub struct BitWriter {
    bytes: Vec<u8>,
    pending: u128,
    count: u32,
}

#[cfg(feature = "encode")]
impl BitWriter {
    /// Appends the low `count` ≤ 96 bits of `bits`, whose higher bits must be zero.
    #[inline]
    pub fn write(&mut self, bits: u128, count: u32) {
        self.pending |= bits << self.count;
        self.count += count;
        while self.count >= 32 {
            self.bytes.extend_from_slice(&(self.pending as u32).to_le_bytes());
            self.pending >>= 32;
            self.count -= 32;
        }
    }

    /// Returns the number of bits written so far.
    pub fn len(&self) -> usize {
        8 * self.bytes.len() + self.count as usize
    }

    /// `true` before the first bit.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes, the last one padded with zeros.
    pub fn finish(mut self) -> Vec<u8> {
        let rest = self.count.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&(self.pending as u64).to_le_bytes()[..rest]);
        self.bytes
    }
}

/// Reads raw bits at any position; beyond the end it reads zeros.
#[derive(Debug, Clone, Copy)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    /// Starts at the first bit.
    pub fn new(bytes: &'a [u8]) -> Self {
        BitReader { bytes, at: 0 }
    }

    /// Starts at bit `at`.
    pub fn at_bit(bytes: &'a [u8], at: usize) -> Self {
        BitReader { bytes, at }
    }

    /// Returns all bytes, read or not.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the index of the next bit.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns at least 57 bits from the current position on, higher ones undefined, without moving.
    #[inline(always)]
    pub fn peek(&self) -> u64 {
        let byte = self.at >> 3;
        let window = match self.bytes.get(byte..byte + 8) {
            Some(w) => u64::from_le_bytes(w.try_into().expect("8 bytes")),
            None => self.peek_end(byte),
        };
        window >> (self.at & 7)
    }

    #[cold]
    fn peek_end(&self, byte: usize) -> u64 {
        let rest = self.bytes.get(byte..).unwrap_or(&[]);
        rest.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b))
    }

    /// Skips `count` bits.
    #[inline(always)]
    pub fn skip(&mut self, count: u32) {
        self.at = self.at.saturating_add(count as usize);
    }

    /// Reads the next `count` ≤ 32 bits.
    #[inline(always)]
    pub fn read(&mut self, count: u32) -> u32 {
        let value = self.peek() & ((1 << count) - 1);
        self.skip(count);
        value as u32
    }

    /// Returns the number of bytes read, rounded up; `None` if reading went beyond the end.
    pub fn used(&self) -> Option<usize> {
        let used = self.at.div_ceil(8);
        (used <= self.bytes.len()).then_some(used)
    }

    /// `true` if everything was read and the padding of the last byte is zero.
    pub fn finished(&self) -> bool {
        let fill = self.at & 7;
        let clean = fill == 0 || self.bytes.last().is_none_or(|&b| b >> fill == 0);
        self.used() == Some(self.bytes.len()) && clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden() {
        assert_eq!(split([0, 0, 0], 0, 16), (0, 0, 0));
        assert_eq!(split([1, -1, 1], 0, 16), (125, 0b010, 3));
        assert_eq!(split([2, 0, -2], 0, 16), (26, 0b10, 2));
        assert_eq!(split([7, -9, 17], 0, 16), (125 + 75 + 15 + 4, 0b110_1100, 7));
        assert_eq!(split([19, 1, 1], 0, 16).0, ESCAPE);
        assert_eq!(split([1, 2, 1], 0, 16), (ESCAPE, 0x0001_0002_0001, 48));
        assert_eq!(split([-1, 3, 5], 1, 32).0, 126);
    }

    fn back(q: [i32; 3], k: u32) -> [i32; 3] {
        let (token, bits, count) = split(q, k, 32);
        if token == ESCAPE {
            return [0, 32, 64].map(|s| (bits >> s) as u32 as i32);
        }
        assert_eq!(count, u32::from(RAW_BITS[k as usize][usize::from(token)]));
        assert!(count <= 33);
        join(token, bits as u64 | u64::MAX << count, k)
    }

    #[test]
    fn every_small_vector() {
        for k in 0..SHIFTS as u32 {
            for n in 0..41 * 41 * 41 {
                let q = [n % 41 - 20, n / 41 % 41 - 20, n / 1681 - 20];
                assert_eq!(back(q, k), q);
                if q.iter().all(|v| (v ^ q[0]) & 1 == 0) {
                    let classes = q.map(|v| class(v, k));
                    let number = |n: u32, c: &u32| n * 5 + c;
                    let token = match classes.iter().any(|c| *c > 4) {
                        true => u32::from(ESCAPE),
                        false => classes.iter().fold((q[0] & 1) as u32, number),
                    };
                    assert_eq!(token, u32::from(split(q, k, 32).0));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn round_trip(q in any::<[i32; 3]>(), shift in any::<[u8; 3]>(), k in 0u32..9) {
            let q = [0, 1, 2].map(|a| q[a] >> (shift[a] & 31));
            prop_assert_eq!(back(q, k), q);
        }

        #[test]
        fn bits_come_back(values in proptest::collection::vec((any::<u64>(), 0u32..57), 0..50)) {
            let mut w = BitWriter::default();
            for &(v, n) in &values {
                w.write(u128::from(v & ((1 << n) - 1)), n);
            }
            let length = w.len();
            let bytes = w.finish();
            prop_assert_eq!(bytes.len(), length.div_ceil(8));
            let mut r = BitReader::new(&bytes);
            for &(v, n) in &values {
                prop_assert_eq!(r.peek() & ((1 << n) - 1), v & ((1 << n) - 1));
                r.skip(n);
            }
            prop_assert!(r.finished());
            r.skip(64);
            prop_assert_eq!(r.peek(), 0);
            prop_assert!(r.used().is_none());
        }
    }
}
