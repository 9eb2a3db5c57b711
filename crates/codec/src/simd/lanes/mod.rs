//! Blocks of sixteen items in f32, for the kernels of normals: written once for all instruction sets, each of
//! which computes a block in parts of one, four, eight or all items. The same bits on every machine.
//!
//! A kernel is a [`BlockTask`]: generic over [`Part`], and inlined as a whole into a function of the
//! instruction set that [`run`] chooses. Only operations that IEEE 754 defines to the bit are provided (+ − ×
//! ÷, comparison), and nothing is contracted, so every implementation gives the result of the reference, one
//! item at a time.
//!
//! Vectors are `[f32; 4]` in memory, because they are loaded one by one, and three registers in kernels.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod block;
mod narrow;
mod traits;

use crate::simd::isa::Isa;
pub(crate) use block::{BLOCK, BlockRow, BlockTask, Part};
use std::ops::{Add, Mul};
pub(crate) use traits::Number;
pub use traits::{HALF_EXPONENT, IntegerPoint, Points};

/// Runs a kernel with an instruction set.
pub(crate) fn run(isa: Isa, task: impl BlockTask) {
    match isa.chosen() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(avx2) => match avx2.avx512() {
            Some(avx512) => avx512::run(avx512, task),
            None => avx2::run(avx2, task),
        },
        Isa::Narrow(narrow) => narrow::run(narrow, task),
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
pub(crate) fn plus<N: Copy + Add<Output = N>>(a: Vector<N>, b: Vector<N>) -> Vector<N> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

#[inline(always)]
pub(crate) fn minus<N: Number>(a: Vector<N>, b: Vector<N>) -> Vector<N> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
pub(crate) fn times<N: Copy + Mul<Output = N>>(v: Vector<N>, by: N) -> Vector<N> {
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
    use super::*;
    use proptest::prelude::*;

    const COUNT: usize = 24;
    type Out = Vec<u32>;

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
                let mut numbers = vec![a + b, a - b, a * b, a / b, -a, a.abs(), a.halve_exponent()];
                numbers.extend([a.min(b), b - a, L::select(less, a, b), L::select(far, a, b), a]);
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
            run(isa, Beyond(4));
            assert!(std::panic::catch_unwind(|| run(isa, Beyond(5))).is_err());
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
                run(isa, Blocks { floats, small, points: &points, narrow: &narrow, at, out: &mut out });
                out
            });
            let results: Vec<Out> = results.collect();
            prop_assert!(results.iter().all(|r| *r == results[0]));
        }
    }
}
