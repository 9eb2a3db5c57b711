//! Eight f32 side by side: the vector type of kernels over vertices, which are written once for all
//! instruction sets. The same bits on every machine.
//!
//! A kernel is a [`Task`]: generic over [`Lanes`], and inlined as a whole into a function of the instruction
//! set that [`run`] chooses. Only operations that IEEE 754 defines to the bit are provided (+ − × ÷ √,
//! comparison, rounding to integers), and nothing is contracted, so every implementation gives the result of
//! the reference, [`Portable`].
//!
//! Vectors are `[f32; 4]` in memory, because they are loaded one by one, and three registers in kernels.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod block;
mod narrow;
mod portable;
mod traits;

use crate::simd::isa::Isa;
pub(crate) use block::{BLOCK, BlockRow, BlockTask, Part};
pub(crate) use portable::Portable;
pub use traits::{HALF_EXPONENT, IntegerPoint, Points};
pub(crate) use traits::{LANES, Lanes, Number, Task, Widths, field};

/// Runs a kernel with an instruction set.
pub(crate) fn run(isa: Isa, task: impl Task) {
    match isa.chosen() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(avx2) => avx2::run(avx2, task),
        Isa::Narrow(narrow) => narrow::run(narrow, task),
        _ => task.run::<Portable>(),
    }
}

/// Runs a kernel over blocks with an instruction set.
pub(crate) fn run_blocks(isa: Isa, task: impl BlockTask) {
    match isa.chosen() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(avx2) => match avx2.avx512() {
            Some(avx512) => avx512::run(avx512, task),
            None => avx2::run_blocks(avx2, task),
        },
        Isa::Narrow(narrow) => narrow::run_blocks(narrow, task),
        // Without vector registers, eight at a time is eight times the code, and slower.
        _ => task.run::<f32>(),
    }
}

/// Prefetches `bytes` into the caches, if the machine supports it.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
pub(crate) fn fetch(isa: Isa, bytes: &[u8]) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(avx2) => avx2::fetch(avx2, bytes),
        _ => {}
    }
}

/// A vector, or one vector per lane.
pub(crate) type Vector<N> = [N; 3];

/// Returns the vectors from points `b` to points `a`, in units of `unit`.
#[inline(always)]
pub(crate) fn difference<L: Part>(a: [L::Whole; 3], b: [L::Whole; 3], unit: f32) -> Vector<L> {
    let unit = L::splat(unit);
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

#[cfg(test)]
mod tests {
    use super::traits::Row;
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
            numbers.extend([a.min(b), a.max(b), L::load_i16(&self.small)]);
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
            let bits = |x: f32| if x.is_nan() { 1 } else { x.to_bits() };
            self.out.extend(rows.as_flattened().iter().map(|x| bits(*x)));
            let soup: &[u8] = bytemuck::cast_slice(self.narrow);
            let widths = Widths::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 17, 25]);
            let mut rows = Vec::new();
            for (i, codes) in self.at.iter().zip(self.points.as_flattened().windows(3)) {
                // Inside, and partly beyond the end.
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
            self.out.extend([L::all(less), L::all(far)].map(u32::from));
        }
    }

    /// Every operation on a block, once.
    struct Blocks<'a> {
        floats: [f32; BLOCK],
        small: [i16; BLOCK],
        points: &'a [[i32; 4]],
        narrow: &'a [[i16; 4]],
        at: BlockRow,
        out: &'a mut Out,
    }

    impl BlockTask for Blocks<'_> {
        #[inline(always)]
        fn run<L: Part>(self) {
            let of_part = |part| {
                let a = L::load(&self.floats, part);
                let b = L::load_i16(&self.small, part);
                let wide = L::points(self.points, &self.at, part);
                let narrow = L::points(self.narrow, &self.at, part);
                let less = a.less(b);
                let far = L::both(less, a.abs().less(L::splat(100.0)));
                let mut numbers = vec![a + b, a - b, a * b, a / b, -a, a.abs(), a.abs().sqrt()];
                numbers.extend([a.min(b), a.max(b), b - a, L::select(less, a, b), L::select(far, a, b)]);
                numbers.extend((0..3).map(|k| L::difference(wide[k], narrow[k])));
                numbers
            };
            let parts: Vec<Vec<L>> = (0..L::PARTS).map(of_part).collect();
            let mut vectors = [[7.0; 4]; BLOCK];
            for k in (0..parts[0].len()).step_by(3) {
                for (part, v) in parts.iter().enumerate() {
                    L::store_vectors([v[k], v[k + 1], v[k + 2]], &mut vectors, part);
                }
                // A part may read vectors that another part has written.
                let turned = std::array::from_fn(|l| l as u32 ^ 3);
                let again: Vec<_> = (0..L::PARTS).map(|part| L::vectors(&vectors, &turned, part)).collect();
                for (part, v) in again.into_iter().enumerate() {
                    L::store_vectors([v[2], v[1], v[0]], &mut vectors, part);
                }
                let bits = |x: &f32| if x.is_nan() { 1 } else { x.to_bits() };
                self.out.extend(vectors.as_flattened().iter().map(bits));
            }
        }
    }

    #[test]
    #[cfg_attr(
        any(panic = "abort", target_family = "wasm"),
        ignore = "where a panic ends the program none is caught"
    )]
    fn blocks_beyond_the_end_are_refused() {
        struct Beyond(u32);
        impl BlockTask for Beyond {
            #[inline(always)]
            fn run<L: Part>(self) {
                for part in 0..L::PARTS {
                    let _ = L::vectors(&[[1.0; 4]; 5], &[self.0; BLOCK], part);
                    let _ = L::points(&[[1i16; 4]; 5], &[self.0; BLOCK], part);
                }
            }
        }
        for isa in Isa::all() {
            run_blocks(isa, Beyond(4));
            assert!(std::panic::catch_unwind(|| run_blocks(isa, Beyond(5))).is_err());
        }
    }

    proptest! {
        #[test]
        fn blocks_give_the_same_bits(
            floats in prop::array::uniform16(-70_000f32..70_000.0),
            small in prop::array::uniform16(any::<i16>()),
            points in prop::collection::vec(prop::array::uniform4(any::<i32>()), COUNT),
            narrow in prop::collection::vec(prop::array::uniform4(any::<i16>()), COUNT),
            at in prop::array::uniform16(0..COUNT as u32),
        ) {
            let results = Isa::all().map(|isa| {
                let mut out = Out::new();
                run_blocks(isa, Blocks { floats, small, points: &points, narrow: &narrow, at, out: &mut out });
                out
            });
            let results: Vec<Out> = results.collect();
            prop_assert!(results.iter().all(|r| *r == results[0]));
        }

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
