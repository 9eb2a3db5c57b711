//! Eight f64 side by side, like the f32 of [`crate::simd::lanes`]: for exact integers of up to 53 bits, and
//! for formulas that need more precision than f32. The same bits on every machine.
//!
//! A kernel is a [`Task`]: generic over [`Eight`], and inlined as a whole into a function of the instruction
//! set that [`run`] chooses. Formulas that are also needed for single numbers are generic over [`Real`],
//! which f64 implements. Only operations that IEEE 754 defines to the bit are provided, and nothing is
//! contracted.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod narrow;
mod portable;
mod traits;

use crate::simd::isa::Isa;
pub(crate) use traits::{Eight, LANES, Real, Task, WIDEST, WINDOW};

/// Runs a kernel with an instruction set.
pub(crate) fn run<T: Task>(isa: Isa, task: T) -> T::Out {
    match isa.chosen() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(avx2) => match avx2.avx512() {
            Some(avx512) => avx512::run(avx512, task),
            None => avx2::run(avx2, task),
        },
        Isa::Narrow(narrow) => narrow::run(narrow, task),
        _ => task.run::<portable::Portable>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every operation once, on the same numbers.
    struct All<'a> {
        a: [f64; LANES],
        b: [f64; LANES],
        whole: [i32; LANES],
        codes: [u32; 2],
        soup: &'a [u8; WINDOW],
    }

    impl Task for All<'_> {
        type Out = Vec<u64>;

        #[inline(always)]
        fn run<E: Eight>(self) -> Vec<u64> {
            const TABLE: [u8; 16] = [0, 1, 2, 3, 5, 6, 7, 9, 10, 12, 13, 15, 17, 19, 16, 4];
            let (a, b) = (E::load(&self.a), E::load(&self.b));
            let whole = E::load_i32(&self.whole);
            let less = E::both(a.less(b), E::splat(-1e5).less(a));
            let mut numbers = vec![a + b, a - b, a * b, a / b, -a, a.max(-a).sqrt(), a.floor(), b.round()];
            numbers.extend([a.narrow(), a.min(b), a.max(b), E::select(less, a, b), whole]);
            numbers.push(E::select(a.equal(b), E::splat(1.0), whole));
            let first = E::look_up(self.codes[0], &TABLE);
            let second = E::look_up(self.codes[1], &TABLE);
            let (before, all) = E::sums_before(E::plus(first, second));
            numbers.extend(E::fields(self.soup, before, first));
            numbers.extend(E::fields(self.soup, E::plus(before, first), second));
            let mut out = vec![u64::from(all), u64::from(E::all(less)), u64::from(E::all(a.equal(a)))];
            out.extend([u64::from(E::any(less)), u64::from(E::any(a.equal(b)))]);
            let bits = |x: f64| if x.is_nan() { 1 } else { x.to_bits() };
            for x in &numbers {
                let mut to = [0.0; LANES];
                x.store(&mut to);
                out.extend(to.map(bits));
            }
            let mut to = [0; LANES];
            whole.store_i32(&mut to);
            assert_eq!(to, self.whole);
            for v in numbers.chunks_exact(4) {
                let rows = E::quaternions([v[0], v[1], v[2], v[3]]);
                out.extend(rows.as_flattened().iter().map(|&x| bits(f64::from(x))));
            }
            out
        }
    }

    proptest! {
        #[test]
        fn all_instruction_sets_give_the_same_bits(
            a in prop::array::uniform8(-70_000f64..70_000.0),
            odd in prop::array::uniform8(any::<f64>()),
            whole in prop::array::uniform8(any::<i32>()),
            codes in any::<[u32; 2]>(),
            bytes in prop::collection::vec(any::<u8>(), WINDOW),
        ) {
            let soup: &[u8; WINDOW] = bytes.first_chunk().unwrap();
            for b in [odd, a.map(|x| x + 1.0), a, a.map(|x| (x * 4.0).round() * 0.5)] {
                let results: Vec<Vec<u64>> = Isa::all().map(|isa| run(isa, All { a, b, whole, codes, soup })).collect();
                prop_assert!(results.iter().all(|r| *r == results[0]));
            }
        }
    }

    #[test]
    fn fields_are_in_twos_complement() {
        struct One;
        impl Task for One {
            type Out = [i32; LANES];
            #[inline(always)]
            fn run<E: Eight>(self) -> [i32; LANES] {
                let mut soup = [0; WINDOW];
                // 3 bits each: for each lane 2, then 1, −1, 3, −4, 0, 2, −2, 1, then −1.
                let all = [1u128, 7, 3, 4, 0, 2, 6, 1];
                let of_lane = |v: u128| 2 | v << 3 | 7 << 6;
                let bits = all.iter().enumerate().fold(0u128, |bits, (l, v)| bits | of_lane(*v) << (9 * l));
                soup[..16].copy_from_slice(&bits.to_le_bytes());
                let widths = E::look_up(0x3333_3333, &std::array::from_fn(|i| i as u8));
                let (first, sum) = E::sums_before(E::plus(widths, E::plus(widths, widths)));
                assert_eq!(sum, 72);
                let mut out = [[0; LANES]; 3];
                for (out, fields) in out.iter_mut().zip(E::fields(&soup, first, widths)) {
                    fields.store_i32(out);
                }
                assert_eq!([out[0], out[2]], [[2; LANES], [-1; LANES]]);
                out[1]
            }
        }
        for isa in Isa::all() {
            assert_eq!(run(isa, One), [1, -1, 3, -4, 0, 2, -2, 1]);
        }
    }
}
