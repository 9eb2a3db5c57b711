//! Eight f32 side by side: what kernels over vertices are written in, once for all instruction sets. Same
//! bits everywhere.
//!
//! A kernel is a [`Task`]: generic over [`Lanes`], inlined as a whole into a function of the instruction set
//! that [`run`] picks. Only operations that IEEE 754 defines to the bit are here (+ − × ÷ √, comparing,
//! rounding to whole numbers), and nothing is contracted, so every implementation gives what [`Portable`],
//! the reference, gives.
//!
//! Vectors are kept as `[f32; 4]` in memory, since they are fetched one by one, and as three registers at
//! work.

#[cfg(target_arch = "x86_64")]
mod avx2;

use crate::simd::isa::Isa;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Items that are computed side by side.
pub(crate) const LANES: usize = 8;

/// Numbers of eight items.
pub(crate) type Row = [u32; LANES];

/// Points of one kind, see [`Place`].
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub enum Points<'a> {
    Narrow(&'a [[i16; 4]]),
    Wide(&'a [[i32; 4]]),
}

/// A decoded point: whole numbers, in units that are the same for all points of the mesh.
pub trait Place: Copy {
    /// What a difference is multiplied with: a power of two, so that squares of areas stay finite.
    const UNIT: f32;
    /// The same points.
    fn kind(points: &[Self]) -> Points<'_>;
    /// Its components.
    fn wide(self) -> [i32; 4];

    /// The vector from `other` to `self`, at most 2¹⁷ long in each component; what is beyond 32 bits wraps.
    #[inline(always)]
    fn minus(self, other: Self) -> [f32; 3] {
        let (a, b) = (self.wide(), other.wide());
        std::array::from_fn(|k| a[k].wrapping_sub(b[k]) as f32 * Self::UNIT)
    }
}

impl Place for [i16; 4] {
    const UNIT: f32 = 1.0;
    #[inline(always)]
    fn kind(points: &[Self]) -> Points<'_> {
        Points::Narrow(points)
    }
    #[inline(always)]
    fn wide(self) -> [i32; 4] {
        self.map(i32::from)
    }
}

impl Place for [i32; 4] {
    const UNIT: f32 = 1.0 / 65536.0;
    #[inline(always)]
    fn kind(points: &[Self]) -> Points<'_> {
        Points::Wide(points)
    }
    #[inline(always)]
    fn wide(self) -> [i32; 4] {
        self
    }
}

/// One number or eight: formulas are written once for both.
pub(crate) trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Which of them.
    type Mask: Copy;

    fn splat(x: f32) -> Self;
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    /// `self` where it is the smaller, `other` where not.
    fn min(self, other: Self) -> Self;
    /// `self` where it is the larger, `other` where not.
    fn max(self, other: Self) -> Self;
    /// The nearest whole number, the even one of two.
    fn round(self) -> Self;
    fn less(self, other: Self) -> Self::Mask;
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn all(mask: Self::Mask) -> bool;
    /// `yes` where the mask says so.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
}

impl Number for f32 {
    type Mask = bool;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        x
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f32::abs(self)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
    #[inline(always)]
    fn round(self) -> Self {
        self.round_ties_even()
    }
    #[inline(always)]
    fn less(self, other: Self) -> bool {
        self < other
    }
    #[inline(always)]
    fn both(a: bool, b: bool) -> bool {
        a && b
    }
    #[inline(always)]
    fn all(mask: bool) -> bool {
        mask
    }
    #[inline(always)]
    fn select(mask: bool, yes: f32, no: f32) -> f32 {
        if mask { yes } else { no }
    }
}

/// Eight numbers, and how they are fetched and put back.
pub(crate) trait Lanes: Number {
    /// Eight whole numbers of 32 bits.
    type Whole: Copy;

    fn load(from: &[f32; LANES]) -> Self;
    fn load_i16(from: &[i16; LANES]) -> Self;
    /// Whole numbers from 0 to 65535.
    fn words(self) -> [u16; LANES];
    fn points<P: Place>(points: &[P], at: &Row) -> [Self::Whole; 3];
    /// `a − b`, wrapping.
    fn difference(a: Self::Whole, b: Self::Whole) -> Self;
    fn vectors(list: &[[f32; 4]], at: &Row) -> [Self; 3];
    fn load_vectors(list: &[[f32; 4]; LANES]) -> [Self; 3];
    /// The fourth component becomes zero.
    fn store_vectors(v: [Self; 3], list: &mut [[f32; 4]; LANES]);
    /// Rounded to the nearest whole numbers, the even one of two, at most as large as i32 has them; NaN is 0.
    /// The fourth component is 0.
    fn whole_vectors(v: [Self; 3]) -> [[i32; 4]; LANES];
    /// Low 16 bits of these.
    fn short_vectors(v: [Self; 3]) -> [[i16; 4]; LANES];
    /// Adds one vector after the other.
    fn add_to(v: [Self; 3], list: &mut [[f32; 4]], at: &Row);
    /// One vector of four per lane.
    fn quaternions(v: [Self; 4]) -> [[f32; 4]; LANES];
    /// Little-endian whole numbers.
    fn le_i16(bytes: &[u8; 2 * LANES]) -> Self;
    /// Little-endian whole numbers, rounded to f32.
    fn le_i32(bytes: &[u8; 4 * LANES]) -> Self;
    /// Little-endian.
    fn le_f32(bytes: &[u8; 4 * LANES]) -> Self;
    /// Whole numbers of two bits each, the lowest first.
    fn pairs(bits: u16) -> Self;
    /// Rows of eight bit fields, all one after the other from bit `first` on, less half their range; once
    /// behind byte `at[0]` and once behind byte `at[1]` of `bytes`. Each field has the width that `widths`
    /// gives to its four bits of `codes`; all are zeros where `bytes` ends earlier than sixteen bytes behind
    /// them.
    fn fields<const ROWS: usize>(
        bytes: &[u8],
        at: [usize; 2],
        first: usize,
        codes: [u32; ROWS],
        widths: &Widths,
    ) -> [[Self; 2]; ROWS];
}

/// Widths of bit fields by code, at most 25; that of code 0 is 0.
pub(crate) struct Widths([u8; 16]);

impl Widths {
    /// Panics where one is too wide: for constants.
    pub(crate) const fn new(widths: [u8; 16]) -> Widths {
        let mut i = 0;
        assert!(widths[0] == 0);
        while i < 16 {
            assert!(widths[i] <= 25);
            i += 1;
        }
        Widths(widths)
    }

    #[inline(always)]
    pub(crate) fn get(&self, code: u32) -> usize {
        usize::from(self.0[code as usize & 15])
    }
}

/// A kernel and its arguments. `run` is to be `#[inline(always)]`, as is all that it calls.
pub(crate) trait Task {
    fn run<L: Lanes>(self);
}

/// Runs a kernel with an instruction set.
pub(crate) fn run(isa: Isa, task: impl Task) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(avx2) => avx2::run(avx2, task),
        _ => task.run::<Portable>(),
    }
}

/// Asks for `bytes` to be brought into the caches, where the machine can be asked.
#[inline(always)]
pub(crate) fn fetch(isa: Isa, bytes: &[u8]) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(avx2) => avx2::fetch(avx2, bytes),
        _ => {}
    }
}

/// A vector, or one in each lane.
pub(crate) type Vector<N> = [N; 3];

#[inline(always)]
pub(crate) fn difference<L: Lanes, P: Place>(a: [L::Whole; 3], b: [L::Whole; 3]) -> Vector<L> {
    let unit = L::splat(P::UNIT);
    [L::difference(a[0], b[0]) * unit, L::difference(a[1], b[1]) * unit, L::difference(a[2], b[2]) * unit]
}

#[inline(always)]
pub(crate) fn plus<N: Number>(a: Vector<N>, b: Vector<N>) -> Vector<N> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline(always)]
pub(crate) fn minus<N: Number>(a: Vector<N>, b: Vector<N>) -> Vector<N> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
pub(crate) fn times<N: Number>(v: Vector<N>, by: N) -> Vector<N> {
    [v[0] * by, v[1] * by, v[2] * by]
}

#[inline(always)]
pub(crate) fn dot<N: Number>(a: Vector<N>, b: Vector<N>) -> N {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
pub(crate) fn cross<N: Number>(a: Vector<N>, b: Vector<N>) -> Vector<N> {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline(always)]
pub(crate) fn select<N: Number>(mask: N::Mask, yes: Vector<N>, no: Vector<N>) -> Vector<N> {
    [N::select(mask, yes[0], no[0]), N::select(mask, yes[1], no[1]), N::select(mask, yes[2], no[2])]
}

/// The first eight of a list; where it ends earlier, `fill` takes their place.
#[inline(always)]
pub(crate) fn eight<T: Copy>(list: &[T], fill: T) -> [T; LANES] {
    match list.first_chunk() {
        Some(all) => *all,
        None => {
            let mut out = [fill; LANES];
            out[..list.len()].copy_from_slice(list);
            out
        }
    }
}

/// The reference.
#[derive(Clone, Copy)]
pub(crate) struct Portable([f32; LANES]);

impl Portable {
    #[inline(always)]
    fn of(f: impl Fn(usize) -> f32) -> Portable {
        Portable(std::array::from_fn(f))
    }
}

macro_rules! operators {
    ($($name:ident $method:ident $op:tt;)*) => {$(
        impl $name for Portable {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Portable::of(|l| self.0[l] $op other.0[l])
            }
        }
    )*};
}
operators! { Add add +; Sub sub -; Mul mul *; Div div /; }

impl Neg for Portable {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Portable::of(|l| -self.0[l])
    }
}

impl Number for Portable {
    type Mask = [bool; LANES];

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Portable([x; LANES])
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Portable::of(|l| self.0[l].sqrt())
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Portable::of(|l| self.0[l].abs())
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Portable::of(|l| Number::min(self.0[l], other.0[l]))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Portable::of(|l| Number::max(self.0[l], other.0[l]))
    }
    #[inline(always)]
    fn round(self) -> Self {
        Portable::of(|l| self.0[l].round_ties_even())
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        std::array::from_fn(|l| self.0[l] < other.0[l])
    }
    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        std::array::from_fn(|l| a[l] && b[l])
    }
    #[inline(always)]
    fn all(mask: Self::Mask) -> bool {
        mask == [true; LANES]
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Portable::of(|l| if mask[l] { yes.0[l] } else { no.0[l] })
    }
}

impl Lanes for Portable {
    type Whole = [i32; LANES];

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        Portable(*from)
    }
    #[inline(always)]
    fn load_i16(from: &[i16; LANES]) -> Self {
        Portable(from.map(f32::from))
    }
    #[inline(always)]
    fn words(self) -> [u16; LANES] {
        self.0.map(|x| x as u16)
    }
    #[inline(always)]
    fn points<P: Place>(points: &[P], at: &Row) -> [Self::Whole; 3] {
        let eight = at.map(|i| points[i as usize].wide());
        std::array::from_fn(|k| eight.map(|p| p[k]))
    }
    #[inline(always)]
    fn difference(a: Self::Whole, b: Self::Whole) -> Self {
        Portable::of(|l| a[l].wrapping_sub(b[l]) as f32)
    }
    #[inline(always)]
    fn vectors(list: &[[f32; 4]], at: &Row) -> [Self; 3] {
        Self::load_vectors(&at.map(|i| list[i as usize]))
    }
    #[inline(always)]
    fn load_vectors(list: &[[f32; 4]; LANES]) -> [Self; 3] {
        std::array::from_fn(|k| Portable(list.map(|v| v[k])))
    }
    #[inline(always)]
    fn store_vectors(v: [Self; 3], list: &mut [[f32; 4]; LANES]) {
        *list = std::array::from_fn(|l| [v[0].0[l], v[1].0[l], v[2].0[l], 0.0]);
    }
    #[inline(always)]
    fn whole_vectors(v: [Self; 3]) -> [[i32; 4]; LANES] {
        let whole = |x: f32| x.round_ties_even() as i32;
        std::array::from_fn(|l| [whole(v[0].0[l]), whole(v[1].0[l]), whole(v[2].0[l]), 0])
    }
    #[inline(always)]
    fn short_vectors(v: [Self; 3]) -> [[i16; 4]; LANES] {
        Self::whole_vectors(v).map(|v| v.map(|x| x as i16))
    }
    #[inline(always)]
    fn add_to(v: [Self; 3], list: &mut [[f32; 4]], at: &Row) {
        for (l, i) in at.iter().enumerate() {
            let sum = &mut list[*i as usize];
            for k in 0..3 {
                sum[k] += v[k].0[l];
            }
        }
    }
    #[inline(always)]
    fn quaternions(v: [Self; 4]) -> [[f32; 4]; LANES] {
        std::array::from_fn(|l| v.map(|c| c.0[l]))
    }
    #[inline(always)]
    fn le_i16(bytes: &[u8; 2 * LANES]) -> Self {
        Portable::of(|l| f32::from(i16::from_le_bytes([bytes[2 * l], bytes[2 * l + 1]])))
    }
    #[inline(always)]
    fn le_i32(bytes: &[u8; 4 * LANES]) -> Self {
        Portable::of(|l| i32::from_le_bytes(four(bytes, 4 * l)) as f32)
    }
    #[inline(always)]
    fn le_f32(bytes: &[u8; 4 * LANES]) -> Self {
        Portable::of(|l| f32::from_le_bytes(four(bytes, 4 * l)))
    }
    #[inline(always)]
    fn pairs(bits: u16) -> Self {
        Portable::of(|l| f32::from((bits >> (2 * l)) & 3))
    }
    #[inline(always)]
    fn fields<const ROWS: usize>(
        bytes: &[u8],
        at: [usize; 2],
        first: usize,
        codes: [u32; ROWS],
        widths: &Widths,
    ) -> [[Self; 2]; ROWS] {
        let mut out = [[Portable([0.0; LANES]); 2]; ROWS];
        let mut before = first;
        for row in 0..ROWS {
            for l in 0..LANES {
                let width = widths.get(codes[row] >> (4 * l));
                for s in 0..2 {
                    out[row][s].0[l] = field(bytes, at[s], before, width);
                }
                before += width;
            }
        }
        // As where many are fetched at once.
        if !room(bytes, at, before) {
            out = [[Portable([0.0; LANES]); 2]; ROWS];
        }
        out
    }
}

/// Whether sixteen bytes are behind the fields of both samples, which end at bit `end`.
#[inline(always)]
fn room(bytes: &[u8], at: [usize; 2], end: usize) -> bool {
    let latest = if at[0] < at[1] { at[1] } else { at[0] };
    latest.saturating_add(end / 8 + 16) <= bytes.len()
}

#[inline(always)]
fn four(bytes: &[u8], at: usize) -> [u8; 4] {
    [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
}

/// A field of at most 25 bits from bit `first` behind byte `at` on, less half its range; 0 where `bytes` ends
/// within four bytes of it.
#[inline(always)]
pub(crate) fn field(bytes: &[u8], at: usize, first: usize, width: usize) -> f32 {
    let from = bytes.get(at + first / 8..);
    let Some(window) = from.and_then(|rest| rest.first_chunk()) else {
        return 0.0;
    };
    let bits = u32::from_le_bytes(*window) >> (first % 8);
    let range = 1u32 << width;
    ((bits & (range - 1)) as i32 - (range >> 1) as i32) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COUNT: usize = 24;
    type Out = Vec<u32>;

    /// Every operation once, on the same numbers.
    struct All<'a> {
        a: [f32; LANES],
        b: [f32; LANES],
        small: [i16; LANES],
        points: &'a [[i32; 4]],
        narrow: &'a [[i16; 4]],
        vectors: &'a [[f32; 4]],
        at: Row,
        out: &'a mut Out,
    }

    impl Task for All<'_> {
        #[inline(always)]
        fn run<L: Lanes>(self) {
            let (a, b) = (L::load(&self.a), L::load(&self.b));
            let less = a.less(b);
            let far = L::both(less, a.abs().less(L::splat(100.0)));
            let wide = L::points(self.points, &self.at);
            let narrow = L::points(self.narrow, &self.at);
            let mut numbers = vec![a + b, a - b, a * b, a / b, -a, a.abs(), a.abs().sqrt()];
            numbers.extend([a.min(b), a.max(b), a.round(), L::load_i16(&self.small)]);
            numbers.extend([L::select(less, a, b), L::select(far, a, b)]);
            numbers.extend((0..3).map(|k| L::difference(wide[k], narrow[k])));
            numbers.extend(L::vectors(self.vectors, &self.at));
            let mut rows = Vec::new();
            for v in numbers.chunks(3).filter(|v| v.len() == 3) {
                let mut row = [[7.0; 4]; LANES];
                L::store_vectors([v[0], v[1], v[2]], &mut row);
                let again = L::load_vectors(&row);
                L::store_vectors([again[2], again[1], again[0]], &mut row);
                rows.extend(row);
            }
            let mut sums = self.vectors.to_vec();
            L::add_to([a, b, a], &mut sums, &self.at);
            rows.extend(sums);
            let bits = |x: f32| if x.is_nan() { 1 } else { x.to_bits() };
            self.out.extend(rows.as_flattened().iter().map(|x| bits(*x)));
            let soup: &[u8] = bytemuck::cast_slice(self.narrow);
            let widths = Widths::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 17, 25]);
            let mut rows = Vec::new();
            for (i, codes) in self.at.iter().zip(self.points.as_flattened().windows(3)) {
                // Within, and partly beyond the end.
                let (at, first) = ([*i as usize, 5 * *i as usize], 7 * *i as usize);
                let codes = [codes[0] as u32, codes[1] as u32, codes[2] as u32];
                let three = L::fields(soup, at, first, codes, &widths);
                let one = L::fields(soup, at, first, [codes[0]], &widths);
                for [x, y] in three.into_iter().chain(one) {
                    let q = [L::pairs(codes[0] as u16), x, y, x + y];
                    rows.extend(L::quaternions(q));
                }
            }
            let first: &[u8; 32] = soup.first_chunk().unwrap();
            let half: &[u8; 16] = soup.first_chunk().unwrap();
            for x in [L::le_i16(half), L::le_i32(first), L::le_f32(first)] {
                rows.extend(L::quaternions([x; 4]));
            }
            self.out.extend(rows.as_flattened().iter().map(|x| bits(*x)));
            for v in [[a, b, a * b], [b * L::splat(1e4), -b, a - b]] {
                let whole = L::whole_vectors(v);
                self.out.extend(whole.as_flattened().iter().map(|x| *x as u32));
                let short = L::short_vectors(v);
                self.out.extend(short.as_flattened().iter().map(|x| *x as u32));
            }
            let words = a.abs().min(L::splat(65535.0)).round().words();
            self.out.extend(words.map(u32::from));
            self.out.extend([L::all(less), L::all(far)].map(u32::from));
        }
    }

    proptest! {
        #[test]
        fn all_instruction_sets_give_the_same_bits(
            a in prop::array::uniform8(-70_000f32..70_000.0),
            odd in prop::array::uniform8(any::<f32>()),
            small in prop::array::uniform8(any::<i16>()),
            points in prop::collection::vec(prop::array::uniform4(any::<i32>()), COUNT),
            narrow in prop::collection::vec(prop::array::uniform4(any::<i16>()), COUNT),
            at in prop::array::uniform8(0..COUNT as u32),
        ) {
            for b in [odd, a.map(|x| x + 1.0), a] {
                let vectors: Vec<[f32; 4]> = points.iter().map(|p| [p[0] as f32, p[1] as f32, 0.5, 0.0]).collect();
                let results = Isa::all().map(|isa| {
                    let mut out = Out::new();
                    run(isa, All { a, b, small, points: &points, narrow: &narrow, vectors: &vectors, at, out: &mut out });
                    out
                });
                let results: Vec<Out> = results.collect();
                prop_assert!(results.iter().all(|r| *r == results[0]));
            }
        }
    }
}
