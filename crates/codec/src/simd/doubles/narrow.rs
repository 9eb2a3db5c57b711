//! Registers of 128 bits: four of them hold eight f64. Bit fields are read one by one, as in the reference.

use super::portable::Portable;
use super::traits::{Eight, LANES, Real, Task, WINDOW};
use crate::simd::isa::Narrow;
use crate::simd::quads::{self, Pair, Quad};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Runs a kernel.
#[inline(always)]
pub(super) fn run<T: Task>(narrow: Narrow, task: T) -> T::Out {
    struct Wrapped<T>(T);
    impl<T: Task> quads::Task for Wrapped<T> {
        type Out = T::Out;
        #[inline(always)]
        fn run<Q: Quad, P: Pair>(self) -> T::Out {
            self.0.run::<Pairs<P>>()
        }
    }
    quads::run(narrow, Wrapped(task))
}

/// Eight numbers, two per register.
#[derive(Clone, Copy)]
struct Pairs<P>([P; 4]);

impl<P: Pair> Pairs<P> {
    #[inline(always)]
    fn each(a: Self, b: Self, f: impl Fn(P, P) -> P) -> Self {
        let (a, b) = (a.0, b.0);
        Pairs([f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])])
    }
}

macro_rules! operators {
    ($($name:ident $method:ident;)*) => {$(
        impl<P: Pair> $name for Pairs<P> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Pairs::each(self, other, P::$method)
            }
        }
    )*};
}
operators! { Add add; Sub sub; Mul mul; Div div; }

impl<P: Pair> Neg for Pairs<P> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Pairs([P::neg(self.0[0]), P::neg(self.0[1]), P::neg(self.0[2]), P::neg(self.0[3])])
    }
}

impl<P: Pair> Real for Pairs<P> {
    type Mask = Self;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Pairs([P::splat(x); 4])
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Pairs([P::sqrt(self.0[0]), P::sqrt(self.0[1]), P::sqrt(self.0[2]), P::sqrt(self.0[3])])
    }
    #[inline(always)]
    fn floor(self) -> Self {
        Pairs([P::floor(self.0[0]), P::floor(self.0[1]), P::floor(self.0[2]), P::floor(self.0[3])])
    }
    #[inline(always)]
    fn round(self) -> Self {
        Pairs([P::round(self.0[0]), P::round(self.0[1]), P::round(self.0[2]), P::round(self.0[3])])
    }
    #[inline(always)]
    fn narrow(self) -> Self {
        let mut out = [0.0; LANES];
        for k in 0..4 {
            let [a, b] = P::to_f32(self.0[k]);
            (out[2 * k], out[2 * k + 1]) = (f64::from(a), f64::from(b));
        }
        Self::load(&out)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.less(other), self, other)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(other.less(self), self, other)
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self {
        Pairs::each(self, other, P::less)
    }
    #[inline(always)]
    fn equal(self, other: Self) -> Self {
        Pairs::each(self, other, P::equal)
    }
    #[inline(always)]
    fn both(a: Self, b: Self) -> Self {
        Pairs::each(a, b, P::both)
    }
    #[inline(always)]
    fn all(mask: Self) -> bool {
        P::all(mask.0[0]) & P::all(mask.0[1]) & P::all(mask.0[2]) & P::all(mask.0[3])
    }
    #[inline(always)]
    fn any(mask: Self) -> bool {
        P::any(mask.0[0]) | P::any(mask.0[1]) | P::any(mask.0[2]) | P::any(mask.0[3])
    }
    #[inline(always)]
    fn select(mask: Self, yes: Self, no: Self) -> Self {
        let (m, a, b) = (mask.0, yes.0, no.0);
        Pairs([
            P::select(m[0], a[0], b[0]),
            P::select(m[1], a[1], b[1]),
            P::select(m[2], a[2], b[2]),
            P::select(m[3], a[3], b[3]),
        ])
    }
}

impl<P: Pair> Eight for Pairs<P> {
    type Whole = [i32; LANES];

    #[inline(always)]
    fn load(from: &[f64; LANES]) -> Self {
        let two = from.as_chunks().0;
        Pairs([P::load(&two[0]), P::load(&two[1]), P::load(&two[2]), P::load(&two[3])])
    }
    #[inline(always)]
    fn store(self, to: &mut [f64; LANES]) {
        for (to, v) in to.as_chunks_mut().0.iter_mut().zip(self.0) {
            P::store(v, to);
        }
    }
    #[inline(always)]
    fn load_i32(from: &[i32; LANES]) -> Self {
        let two = from.as_chunks().0;
        Pairs([P::of_i32(two[0]), P::of_i32(two[1]), P::of_i32(two[2]), P::of_i32(two[3])])
    }
    #[inline(always)]
    fn store_i32(self, to: &mut [i32; LANES]) {
        for (to, v) in to.as_chunks_mut().0.iter_mut().zip(self.0) {
            *to = P::to_i32(v);
        }
    }
    #[inline(always)]
    fn quaternions(v: [Self; 4]) -> [[f32; 4]; LANES] {
        let mut out = [[0.0; 4]; LANES];
        for k in 0..4 {
            for component in 0..4 {
                let [a, b] = P::to_f32(v[component].0[k]);
                (out[2 * k][component], out[2 * k + 1][component]) = (a, b);
            }
        }
        out
    }
    #[inline(always)]
    fn look_up(nibbles: u32, table: &[u8; 16]) -> Self::Whole {
        Portable::look_up(nibbles, table)
    }
    #[inline(always)]
    fn plus(a: Self::Whole, b: Self::Whole) -> Self::Whole {
        Portable::plus(a, b)
    }
    #[inline(always)]
    fn sums_before(a: Self::Whole) -> (Self::Whole, u32) {
        Portable::sums_before(a)
    }
    #[inline(always)]
    fn fields(window: &[u8; WINDOW], first: Self::Whole, widths: Self::Whole) -> [Self; 3] {
        let mut out = [Self::splat(0.0); 3];
        for (out, own) in out.iter_mut().zip(Portable::fields(window, first, widths)) {
            let mut numbers = [0.0; LANES];
            own.store(&mut numbers);
            *out = Self::load(&numbers);
        }
        out
    }
}
