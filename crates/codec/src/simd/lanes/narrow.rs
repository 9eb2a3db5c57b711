//! Registers of 128 bits: two of them hold eight numbers; a block is processed in four parts, so that
//! intermediate values stay in registers.

use super::block::{BLOCK, BlockRow, BlockTask, Part};
use super::traits::{HALF_EXPONENT, IntegerPoint, LANES, Lanes, Number, Points, Row, Task, Widths, room};
use crate::simd::isa::Narrow;
use crate::simd::quads::{self, Quad};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Runs a kernel.
#[inline(always)]
pub(super) fn run<T: Task>(narrow: Narrow, task: T) {
    struct Eight<T>(T);
    impl<T: Task> quads::Task for Eight<T> {
        type Out = ();
        #[inline(always)]
        fn run<Q: Quad>(self) {
            self.0.run::<Halves<Q>>();
        }
    }
    quads::run(narrow, Eight(task));
}

/// Runs a kernel over blocks.
#[inline(always)]
pub(super) fn run_blocks<T: BlockTask>(narrow: Narrow, task: T) {
    struct Blocks<T>(T);
    impl<T: BlockTask> quads::Task for Blocks<T> {
        type Out = ();
        #[inline(always)]
        fn run<Q: Quad>(self) {
            self.0.run::<Four<Q>>();
        }
    }
    quads::run(narrow, Blocks(task));
}

/// Four numbers.
#[derive(Clone, Copy)]
struct Four<Q>(Q);

/// Eight numbers, in two registers.
#[derive(Clone, Copy)]
struct Halves<Q>(Four<Q>, Four<Q>);

macro_rules! operators {
    ($($name:ident $method:ident $operation:ident;)*) => {$(
        impl<Q: Quad> $name for Four<Q> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Four(Q::$operation(self.0, other.0))
            }
        }
        impl<Q: Quad> $name for Halves<Q> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Halves($name::$method(self.0, other.0), $name::$method(self.1, other.1))
            }
        }
    )*};
}
operators! { Add add add_f32; Sub sub sub_f32; Mul mul mul_f32; Div div div_f32; }

impl<Q: Quad> Neg for Four<Q> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Four(Q::xor(self.0, Q::splat32(i32::MIN)))
    }
}

impl<Q: Quad> Neg for Halves<Q> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Halves(-self.0, -self.1)
    }
}

impl<Q: Quad> Number for Four<Q> {
    type Mask = Q;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Four(Q::splat_f32(x))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Four(Q::sqrt_f32(self.0))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Four(Q::and(self.0, Q::splat32(i32::MAX)))
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Four(Q::min_f32(self.0, other.0))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Four(Q::max_f32(self.0, other.0))
    }
    #[inline(always)]
    fn less(self, other: Self) -> Q {
        Q::less_f32(self.0, other.0)
    }
    #[inline(always)]
    fn both(a: Q, b: Q) -> Q {
        Q::and(a, b)
    }
    #[inline(always)]
    fn all(mask: Q) -> bool {
        Q::all(mask)
    }
    #[inline(always)]
    fn select(mask: Q, yes: Self, no: Self) -> Self {
        Four(Q::select(mask, yes.0, no.0))
    }
    #[inline(always)]
    fn halve_exponent(self) -> Self {
        Four(Q::sub32(Q::splat32(HALF_EXPONENT as i32), Q::right_zeros(self.0, 1)))
    }
}

impl<Q: Quad> Number for Halves<Q> {
    type Mask = [Q; 2];

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Halves(Four::splat(x), Four::splat(x))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Halves(self.0.sqrt(), self.1.sqrt())
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Halves(self.0.abs(), self.1.abs())
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Halves(self.0.min(other.0), self.1.min(other.1))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Halves(self.0.max(other.0), self.1.max(other.1))
    }
    #[inline(always)]
    fn less(self, other: Self) -> [Q; 2] {
        [self.0.less(other.0), self.1.less(other.1)]
    }
    #[inline(always)]
    fn both(a: [Q; 2], b: [Q; 2]) -> [Q; 2] {
        [Q::and(a[0], b[0]), Q::and(a[1], b[1])]
    }
    #[inline(always)]
    fn all(mask: [Q; 2]) -> bool {
        Q::all(Q::and(mask[0], mask[1]))
    }
    #[inline(always)]
    fn select(mask: [Q; 2], yes: Self, no: Self) -> Self {
        Halves(Four::select(mask[0], yes.0, no.0), Four::select(mask[1], yes.1, no.1))
    }
    #[inline(always)]
    fn halve_exponent(self) -> Self {
        Halves(self.0.halve_exponent(), self.1.halve_exponent())
    }
}

/// Transposes four rows.
#[inline(always)]
fn turned<Q: Quad>([a, b, c, d]: [Q; 4]) -> [Q; 4] {
    let ([ac, ac2], [bd, bd2]) = (Q::zip32(a, c), Q::zip32(b, d));
    let ([x, y], [z, w]) = (Q::zip32(ac, bd), Q::zip32(ac2, bd2));
    [x, y, z, w]
}

/// Returns the components of four vectors.
#[inline(always)]
fn components<Q: Quad>(vectors: [Q; 4]) -> [Q; 3] {
    let [x, y, z, _] = turned(vectors);
    [x, y, z]
}

/// Returns a quarter of a list of sixteen, or half of one of eight.
#[inline(always)]
fn four<T, const N: usize>(list: &[T; N], part: usize) -> &[T; 4] {
    &list.as_chunks().0[part]
}

#[inline(always)]
fn point<Q: Quad, P: IntegerPoint>(points: &[P], at: u32) -> Q {
    match P::kind(points) {
        Points::Narrow(p) => Q::widen(&p[at as usize]),
        Points::Wide(p) => Q::load32(&p[at as usize]),
    }
}

#[inline(always)]
fn four_points<Q: Quad, P: IntegerPoint>(points: &[P], &[a, b, c, d]: &[u32; 4]) -> [Q; 3] {
    components([point(points, a), point(points, b), point(points, c), point(points, d)])
}

#[inline(always)]
fn four_vectors<Q: Quad>(list: &[[f32; 4]], &[a, b, c, d]: &[u32; 4]) -> [Four<Q>; 3] {
    let vector = |at: u32| Q::load_f32(&list[at as usize]);
    let [x, y, z] = components([vector(a), vector(b), vector(c), vector(d)]);
    [Four(x), Four(y), Four(z)]
}

#[inline(always)]
fn four_of_run<Q: Quad>([x, y, z]: [&[i32]; 3], at: usize) -> [Q; 3] {
    let (x, y, z) = (&x[at..at + 4], &y[at..at + 4], &z[at..at + 4]);
    let load = |plane: &[i32]| Q::load32(plane.first_chunk().expect("four numbers"));
    [load(x), load(y), load(z)]
}

#[inline(always)]
fn store_fours<Q: Quad>(v: [Four<Q>; 4], out: &mut [[f32; 4]]) {
    let rows = turned([v[0].0, v[1].0, v[2].0, v[3].0]);
    for (out, row) in out.iter_mut().zip(rows) {
        Q::store_f32(row, out);
    }
}

impl<Q: Quad> Part for Four<Q> {
    const PARTS: usize = BLOCK / 4;
    type Whole = Q;

    #[inline(always)]
    fn load(from: &[f32; BLOCK], part: usize) -> Self {
        Four(Q::load_f32(four(from, part)))
    }
    #[inline(always)]
    fn load_i16(from: &[i16; BLOCK], part: usize) -> Self {
        Four(Q::to_f32(Q::widen(four(from, part))))
    }
    #[inline(always)]
    fn points<P: IntegerPoint>(points: &[P], at: &BlockRow, part: usize) -> [Q; 3] {
        four_points(points, four(at, part))
    }
    #[inline(always)]
    fn difference(a: Q, b: Q) -> Self {
        Four(Q::to_f32(Q::sub32(a, b)))
    }
    #[inline(always)]
    fn vectors(list: &[[f32; 4]], at: &BlockRow, part: usize) -> [Self; 3] {
        four_vectors(list, four(at, part))
    }
    #[inline(always)]
    fn run(planes: [&[i32]; 3], at: usize, part: usize) -> [Q; 3] {
        four_of_run(planes, at + 4 * part)
    }
    #[inline(always)]
    fn store_run(v: [Q; 3], planes: [&mut [i32; BLOCK]; 3], part: usize) {
        for (plane, v) in planes.into_iter().zip(v) {
            Q::store32(v, &mut plane.as_chunks_mut().0[part]);
        }
    }
    #[inline(always)]
    fn store_vectors(v: [Self; 3], out: &mut [[f32; 4]; BLOCK], part: usize) {
        store_fours([v[0], v[1], v[2], Four(Q::splat32(0))], &mut out[4 * part..4 * part + 4]);
    }
    #[inline(always)]
    fn store_fours(v: [Self; 4], out: &mut [[f32; 4]; BLOCK], part: usize) {
        store_fours(v, &mut out[4 * part..4 * part + 4]);
    }
}

impl<Q: Quad> Lanes for Halves<Q> {
    type Whole = [Q; 2];

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        Halves(Four(Q::load_f32(four(from, 0))), Four(Q::load_f32(four(from, 1))))
    }
    #[inline(always)]
    fn load_i16(from: &[i16; LANES]) -> Self {
        Halves(Four(Q::to_f32(Q::widen(four(from, 0)))), Four(Q::to_f32(Q::widen(four(from, 1)))))
    }
    #[inline(always)]
    fn points<P: IntegerPoint>(points: &[P], at: &Row) -> [[Q; 2]; 3] {
        let ([x, y, z], [x2, y2, z2]) = (four_points(points, four(at, 0)), four_points(points, four(at, 1)));
        [[x, x2], [y, y2], [z, z2]]
    }
    #[inline(always)]
    fn difference(a: [Q; 2], b: [Q; 2]) -> Self {
        Halves(Four(Q::to_f32(Q::sub32(a[0], b[0]))), Four(Q::to_f32(Q::sub32(a[1], b[1]))))
    }
    #[inline(always)]
    fn vectors(list: &[[f32; 4]], at: &Row) -> [Self; 3] {
        let ([x, y, z], [x2, y2, z2]) = (four_vectors(list, four(at, 0)), four_vectors(list, four(at, 1)));
        [Halves(x, x2), Halves(y, y2), Halves(z, z2)]
    }
    #[inline(always)]
    fn load_vectors(list: &[[f32; 4]; LANES]) -> [Self; 3] {
        <Self as Lanes>::vectors(list, &[0, 1, 2, 3, 4, 5, 6, 7])
    }
    #[inline(always)]
    fn store_vectors(v: [Self; 3], list: &mut [[f32; 4]; LANES]) {
        *list = Self::quaternions([v[0], v[1], v[2], Self::splat(0.0)]);
    }
    #[inline(always)]
    fn whole_vectors(v: [Self; 3]) -> [[i32; 4]; LANES] {
        let mut out = [[0; 4]; LANES];
        let (low, high) = out.split_at_mut(4);
        for (out, [x, y, z]) in [(low, [v[0].0, v[1].0, v[2].0]), (high, [v[0].1, v[1].1, v[2].1])] {
            let rows = turned([Q::to_whole(x.0), Q::to_whole(y.0), Q::to_whole(z.0), Q::splat32(0)]);
            for (out, row) in out.iter_mut().zip(rows) {
                Q::store32(row, out);
            }
        }
        out
    }
    #[inline(always)]
    fn short_vectors(v: [Self; 3]) -> [[i16; 4]; LANES] {
        Self::whole_vectors(v).map(|v| v.map(|x| x as i16))
    }
    #[inline(always)]
    fn run(planes: [&[i32]; 3], at: usize) -> [[Q; 2]; 3] {
        let ([x, y, z], [x2, y2, z2]) = (four_of_run(planes, at), four_of_run(planes, at + 4));
        [[x, x2], [y, y2], [z, z2]]
    }
    #[inline(always)]
    fn store_run(v: [[Q; 2]; 3], planes: [&mut [i32; LANES]; 3]) {
        for (plane, v) in planes.into_iter().zip(v) {
            let halves = plane.as_chunks_mut().0;
            Q::store32(v[0], &mut halves[0]);
            Q::store32(v[1], &mut halves[1]);
        }
    }
    #[inline(always)]
    fn quaternions(v: [Self; 4]) -> [[f32; 4]; LANES] {
        let mut out = [[0.0; 4]; LANES];
        store_fours([v[0].0, v[1].0, v[2].0, v[3].0], &mut out[..4]);
        store_fours([v[0].1, v[1].1, v[2].1, v[3].1], &mut out[4..]);
        out
    }
    #[inline(always)]
    fn le_i16(bytes: &[u8; 2 * LANES]) -> Self {
        let mut words = [0; LANES];
        for (word, two) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = i16::from_le_bytes(*two);
        }
        Lanes::load_i16(&words)
    }
    #[inline(always)]
    fn le_i32(bytes: &[u8; 4 * LANES]) -> Self {
        let [low, high] = [0, 1].map(|half| Q::load8(&bytes.as_chunks().0[half]));
        Halves(Four(Q::to_f32(low)), Four(Q::to_f32(high)))
    }
    #[inline(always)]
    fn le_f32(bytes: &[u8; 4 * LANES]) -> Self {
        let [low, high] = [0, 1].map(|half| Q::load8(&bytes.as_chunks().0[half]));
        Halves(Four(low), Four(high))
    }
    #[inline(always)]
    fn pairs(bits: u16) -> Self {
        let bits = Q::splat32(i32::from(bits));
        // Shifts each pair to the top of its number, and from there to the bottom.
        let low = Q::mul32(bits, Q::load32(&[1 << 30, 1 << 28, 1 << 26, 1 << 24]));
        let high = Q::mul32(bits, Q::load32(&[1 << 22, 1 << 20, 1 << 18, 1 << 16]));
        let number = |x| Four(Q::to_f32(Q::right_zeros(x, 30)));
        Halves(number(low), number(high))
    }
    #[inline(always)]
    fn fields<const ROWS: usize>(
        bytes: &[u8],
        at: [usize; 2],
        first: usize,
        codes: [u32; ROWS],
        widths: &Widths,
    ) -> [[Self; 2]; ROWS] {
        let mut out = [[Self::splat(0.0); 2]; ROWS];
        // By row and half: the first bit; and for each field the bits before it there, and its mask.
        let mut starts = [[0; 2]; ROWS];
        let mut before = [[[0i32; 4]; 2]; ROWS];
        let mut masks = [[[0i32; 4]; 2]; ROWS];
        let mut end = first;
        for row in 0..ROWS {
            for half in 0..2 {
                starts[row][half] = end;
                for l in 0..4 {
                    let width = widths.get(codes[row] >> (16 * half + 4 * l));
                    before[row][half][l] = (end - starts[row][half] / 8 * 8) as i32;
                    masks[row][half][l] = (1 << width) - 1;
                    end += width;
                }
            }
        }
        if !room(bytes, at, end) {
            return out;
        }
        for row in 0..ROWS {
            let places = [Places::<Q>::new(&before[row][0]), Places::<Q>::new(&before[row][1])];
            let masks = [Q::load32(&masks[row][0]), Q::load32(&masks[row][1])];
            for (s, out) in out[row].iter_mut().enumerate() {
                let half = |h: usize| {
                    let window = &bytes[at[s] + starts[row][h] / 8..][..16];
                    let fields = places[h].fields(window.first_chunk().expect("16 bytes"));
                    // Minus half the range, which is 0 for width 0.
                    let half = Q::sub32(masks[h], Q::right_zeros(masks[h], 1));
                    Four(Q::to_f32(Q::sub32(Q::and(fields, masks[h]), half)))
                };
                *out = Halves(half(0), half(1));
            }
        }
        out
    }
}

/// The positions of four fields in sixteen bytes.
#[derive(Clone, Copy)]
struct Places<Q> {
    bytes: Q,
    factors: Q,
}

impl<Q: Quad> Places<Q> {
    /// Computes the positions from the number of bits before each field.
    #[inline(always)]
    fn new(before: &[i32; 4]) -> Places<Q> {
        let bits = Q::load32(before);
        let byte = Q::mul32(Q::right_zeros(bits, 3), Q::splat32(0x0101_0101));
        // A field that begins at bit s of its byte is moved to bit 7 by multiplying with 2^(7 − s).
        let powers = Q::load8(&[128, 64, 32, 16, 8, 4, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        let factors = Q::look_up(powers, Q::and(bits, Q::splat32(7)));
        Places { bytes: Q::add32(byte, Q::splat32(0x0302_0100)), factors: Q::and(factors, Q::splat32(0xFF)) }
    }

    /// Returns at least 25 bits of each field.
    #[inline(always)]
    fn fields(self, window: &[u8; 16]) -> Q {
        Q::right_zeros(Q::mul32(Q::look_up(Q::load8(window), self.bytes), self.factors), 7)
    }
}
