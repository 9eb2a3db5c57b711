//! Eight f64 side by side: for exact integers of up to 53 bits, and for formulas that need more precision
//! than f32. The same bits on every machine.

use crate::simd::real::Real;
use fearless_simd::prelude::*;
use fearless_simd::{f32x4, f32x8, f64x8, i8x32, i16x16, i32x8, u8x16, u8x32, u32x8, u64x8};

/// The number of values that are computed side by side.
pub(crate) const LANES: usize = 8;

/// The number of bytes from which bit fields are read: each field begins in the first 256.
pub(crate) const WINDOW: usize = 264;
/// The widest bit field: three of them, and seven bits before, fit 64.
pub(crate) const WIDEST: usize = 19;

/// One f64 or eight.
pub(crate) trait Double: Real<f64> {
    /// Rounds to the nearest f32.
    fn narrow(self) -> Self;
}

impl Double for f64 {
    #[inline(always)]
    fn narrow(self) -> Self {
        f64::from(self as f32)
    }
}

impl<S: Simd> Double for f64x8<S> {
    #[inline(always)]
    fn narrow(self) -> Self {
        let (low, high) = floats(self).widen();
        low.combine(high)
    }
}

/// Rounds to f32.
#[inline(always)]
fn floats<S: Simd>(x: f64x8<S>) -> f32x8<S> {
    let (low, high) = x.split();
    low.narrow(high)
}

/// Conversions that the library of vectors has no operation for.
pub(crate) trait Doubles: Simd {
    /// `true` if kernels compute numbers one by one where they can: the scalar reference. Vectors would be as
    /// slow there, and much more code.
    const ONE_BY_ONE: bool = false;

    /// Converts integers.
    #[inline(always)]
    fn i32_to_f64(self, x: i32x8<Self>) -> f64x8<Self> {
        // 2^52 + 2^31, as bits, to whose low half an integer with its sign bit flipped is added.
        let (low, high) = (x ^ i32::MIN).bitcast::<u32x8<Self>>().widen();
        let bits = low.combine(high) | 0x4330_0000_0000_0000;
        bits.bitcast::<f64x8<Self>>() - 4_503_601_774_854_144.0
    }

    /// Converts integers within 32 bits.
    #[inline(always)]
    fn f64_to_i32(self, x: f64x8<Self>) -> i32x8<Self> {
        // The low half of the sum of 3·2^51 and an integer is that integer.
        let (low, high) = (x + 6_755_399_441_055_744.0).bitcast::<u64x8<Self>>().split();
        low.narrow(high).bitcast()
    }

    /// Shifts each number right by at most 7 of its own bits. Bits from number 25 on are unspecified.
    #[inline(always)]
    fn shift_right(self, x: u32x8<Self>, by: u32x8<Self>) -> u32x8<Self> {
        // To bit 7 of each, and from there to bit 0: not all instruction sets shift each number by its own.
        let exponents = u32x8::splat(self, 127 + 7) - by;
        let factors = (exponents << 23).bitcast::<f32x8<Self>>().to_int::<i32x8<Self>>();
        (x * factors.bitcast::<u32x8<Self>>()) >> 7
    }

    /// Returns `(x·y + 2^14) >> 15`, which wraps.
    #[inline(always)]
    fn rounded_product(self, x: i16x16<Self>, y: i16x16<Self>) -> i16x16<Self> {
        let (low, high) = x.widening_mul(y);
        ((low + 0x4000) >> 15).narrow((high + 0x4000) >> 15)
    }

    /// Returns the byte of each half of `table` that the lowest four bits of an index select; zero if the top
    /// bit of the index is set.
    #[inline(always)]
    fn bytes_or_zero(self, table: i8x32<Self>, index: u8x32<Self>) -> i8x32<Self> {
        let selected = (index.bitcast::<i8x32<Self>>() >> 7) ^ -1;
        table.swizzle_dyn_within_blocks(index & 15) & selected
    }

    /// Transposes: one vector of four per lane.
    #[inline(always)]
    fn rows(self, v: [f32x8<Self>; 4]) -> [[f32; 4]; LANES] {
        let [(x, x2), (y, y2), (z, z2), (w, w2)] = [v[0].split(), v[1].split(), v[2].split(), v[3].split()];
        let mut out = [[0.0; 4]; LANES];
        let (low, high) = out.as_flattened_mut().split_at_mut(16);
        f32x4::store_four_interleaved([x, y, z, w], low);
        f32x4::store_four_interleaved([x2, y2, z2, w2], high);
        out
    }
}

#[cfg(not(any(
    target_arch = "aarch64",
    target_arch = "x86_64",
    all(target_arch = "wasm32", target_feature = "simd128")
)))]
impl Doubles for fearless_simd::Fallback {
    const ONE_BY_ONE: bool = true;
}
#[cfg(target_arch = "aarch64")]
impl Doubles for fearless_simd::aarch64::Neon {}
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
impl Doubles for fearless_simd::wasm32::WasmSimd128 {}
#[cfg(target_arch = "x86_64")]
impl Doubles for fearless_simd::x86::Sse2 {
    const ONE_BY_ONE: bool = true;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Doubles;
    use fearless_simd::prelude::*;
    use fearless_simd::x86::{Avx2, Avx512, Sse4_2};
    use fearless_simd::{
        f32x4, f32x8, f64x4, f64x8, i8x16, i8x32, i16x8, i16x16, i32x4, i32x8, u8x32, u32x8,
    };
    use std::arch::x86_64::*;

    impl Doubles for Avx2 {
        #[inline(always)]
        fn bytes_or_zero(self, table: i8x32<Self>, index: u8x32<Self>) -> i8x32<Self> {
            bytes_of_avx2(self, table, index)
        }
        #[inline(always)]
        fn rounded_product(self, x: i16x16<Self>, y: i16x16<Self>) -> i16x16<Self> {
            products_of_avx2(self, x, y)
        }
        #[inline(always)]
        fn shift_right(self, x: u32x8<Self>, by: u32x8<Self>) -> u32x8<Self> {
            x >> by
        }
        #[inline(always)]
        fn rows(self, v: [f32x8<Self>; 4]) -> [[f32; 4]; 8] {
            rows_of_avx2(self, v)
        }
        #[inline(always)]
        fn i32_to_f64(self, x: i32x8<Self>) -> f64x8<Self> {
            let (low, high) = x.split();
            from_four(self, low).combine(from_four(self, high))
        }
        #[inline(always)]
        fn f64_to_i32(self, x: f64x8<Self>) -> i32x8<Self> {
            let (low, high) = x.split();
            to_four(self, low).combine(to_four(self, high))
        }
    }

    impl Doubles for Avx512 {
        #[inline(always)]
        fn bytes_or_zero(self, table: i8x32<Self>, index: u8x32<Self>) -> i8x32<Self> {
            bytes_of_avx512(self, table, index)
        }
        #[inline(always)]
        fn rounded_product(self, x: i16x16<Self>, y: i16x16<Self>) -> i16x16<Self> {
            products_of_avx512(self, x, y)
        }
        #[inline(always)]
        fn shift_right(self, x: u32x8<Self>, by: u32x8<Self>) -> u32x8<Self> {
            x >> by
        }
        #[inline(always)]
        fn rows(self, v: [f32x8<Self>; 4]) -> [[f32; 4]; 8] {
            rows_of_avx512(self, v)
        }
        #[inline(always)]
        fn i32_to_f64(self, x: i32x8<Self>) -> f64x8<Self> {
            from_eight(self, x)
        }
        #[inline(always)]
        fn f64_to_i32(self, x: f64x8<Self>) -> i32x8<Self> {
            to_eight(self, x)
        }
    }

    impl Doubles for Sse4_2 {
        #[inline(always)]
        fn rounded_product(self, x: i16x16<Self>, y: i16x16<Self>) -> i16x16<Self> {
            let [(x, x2), (y, y2)] = [x.split(), y.split()];
            products_of_sse(self, x, y).combine(products_of_sse(self, x2, y2))
        }
        #[inline(always)]
        fn bytes_or_zero(self, table: i8x32<Self>, index: u8x32<Self>) -> i8x32<Self> {
            let [(table, table2), (index, index2)] = [table.split(), index.bitcast::<i8x32<Self>>().split()];
            bytes_of_sse(self, table, index).combine(bytes_of_sse(self, table2, index2))
        }
    }

    fearless_simd::kernel! {
        #[inline(always)]
        fn products_of_sse(token: Sse4_2, x: i16x8<Sse4_2>, y: i16x8<Sse4_2>) -> i16x8<Sse4_2> {
            _mm_mulhrs_epi16(x.into(), y.into()).simd_into(token)
        }
    }
    fearless_simd::kernel! {
        #[inline(always)]
        fn products_of_avx2(token: Avx2, x: i16x16<Avx2>, y: i16x16<Avx2>) -> i16x16<Avx2> {
            _mm256_mulhrs_epi16(x.into(), y.into()).simd_into(token)
        }
    }
    fearless_simd::kernel! {
        #[inline(always)]
        fn products_of_avx512(token: Avx512, x: i16x16<Avx512>, y: i16x16<Avx512>) -> i16x16<Avx512> {
            _mm256_mulhrs_epi16(x.into(), y.into()).simd_into(token)
        }
    }

    fearless_simd::kernel! {
        #[inline(always)]
        fn bytes_of_sse(token: Sse4_2, table: i8x16<Sse4_2>, index: i8x16<Sse4_2>) -> i8x16<Sse4_2> {
            _mm_shuffle_epi8(table.into(), index.into()).simd_into(token)
        }
    }
    fearless_simd::kernel! {
        #[inline(always)]
        fn bytes_of_avx2(token: Avx2, table: i8x32<Avx2>, index: u8x32<Avx2>) -> i8x32<Avx2> {
            _mm256_shuffle_epi8(table.into(), index.into()).simd_into(token)
        }
    }
    fearless_simd::kernel! {
        #[inline(always)]
        fn bytes_of_avx512(token: Avx512, table: i8x32<Avx512>, index: u8x32<Avx512>) -> i8x32<Avx512> {
            _mm256_shuffle_epi8(table.into(), index.into()).simd_into(token)
        }
    }

    /// Transposes, eight vectors at once.
    macro_rules! rows {
        ($($name:ident, $token:ident;)*) => {$(
            fearless_simd::kernel! {
                #[inline(always)]
                fn $name(token: $token, v: [f32x8<$token>; 4]) -> [[f32; 4]; 8] {
                    let [x, y, z, w]: [__m256; 4] = [v[0].into(), v[1].into(), v[2].into(), v[3].into()];
                    let (xy, xy2) = (_mm256_unpacklo_ps(x, y), _mm256_unpackhi_ps(x, y));
                    let (zw, zw2) = (_mm256_unpacklo_ps(z, w), _mm256_unpackhi_ps(z, w));
                    // Each has two vectors: 0 and 4, 1 and 5, 2 and 6, 3 and 7.
                    let both = [
                        _mm256_shuffle_ps::<0x44>(xy, zw),
                        _mm256_shuffle_ps::<0xEE>(xy, zw),
                        _mm256_shuffle_ps::<0x44>(xy2, zw2),
                        _mm256_shuffle_ps::<0xEE>(xy2, zw2),
                    ];
                    let mut out = [[0.0; 4]; 8];
                    for k in 0..4 {
                        let (low, high): (f32x4<$token>, _) = f32x8::simd_from(token, both[k]).split();
                        (out[k], out[k + 4]) = (low.to_array(), high.to_array());
                    }
                    out
                }
            }
        )*};
    }
    rows! { rows_of_avx2, Avx2; rows_of_avx512, Avx512; }

    fearless_simd::kernel! {
        #[inline(always)]
        fn from_four(token: Avx2, x: i32x4<Avx2>) -> f64x4<Avx2> {
            _mm256_cvtepi32_pd(x.into()).simd_into(token)
        }
    }
    fearless_simd::kernel! {
        #[inline(always)]
        fn to_four(token: Avx2, x: f64x4<Avx2>) -> i32x4<Avx2> {
            _mm256_cvttpd_epi32(x.into()).simd_into(token)
        }
    }
    fearless_simd::kernel! {
        #[inline(always)]
        fn from_eight(token: Avx512, x: i32x8<Avx512>) -> f64x8<Avx512> {
            _mm512_cvtepi32_pd(x.into()).simd_into(token)
        }
    }
    fearless_simd::kernel! {
        #[inline(always)]
        fn to_eight(token: Avx512, x: f64x8<Avx512>) -> i32x8<Avx512> {
            _mm512_cvttpd_epi32(x.into()).simd_into(token)
        }
    }
}

/// Rounds to f32 and transposes: one vector of four per lane.
#[inline(always)]
pub(crate) fn quaternions<S: Doubles>(v: [f64x8<S>; 4]) -> [[f32; 4]; LANES] {
    v[0].token().rows([floats(v[0]), floats(v[1]), floats(v[2]), floats(v[3])])
}

/// Returns the bytes of `table` at eight numbers of four bits, the lowest first.
#[inline(always)]
pub(crate) fn look_up<S: Simd>(simd: S, nibbles: u32, table: &[u8; 16]) -> u32x8<S> {
    let shifts = u32x8::simd_from(simd, [0, 4, 8, 12, 16, 20, 24, 28]);
    let at = (u32x8::splat(simd, nibbles) >> shifts) & 15;
    let table = u8x32::block_splat(u8x16::simd_from(simd, *table));
    table.swizzle_dyn_within_blocks(at.bitcast::<u8x32<S>>()).bitcast::<u32x8<S>>() & 255
}

/// Returns, for each lane, the sum of all lanes before it; and the sum of all lanes.
#[inline(always)]
pub(crate) fn sums_before<S: Simd>(a: u32x8<S>) -> (u32x8<S>, u32) {
    let zero = u32x8::splat(a.token(), 0);
    let sums = a + zero.slide::<7>(a);
    let sums = sums + zero.slide::<6>(sums);
    let sums = sums + zero.slide::<4>(sums);
    (sums - a, sums[7])
}

/// Reads three adjacent bit fields in two's complement for each lane, at most [`WIDEST`] bits each; the first
/// of a lane begins at its bit `first` of the window. A field of width 0 is 0.
#[inline(always)]
pub(crate) fn fields<S: Doubles>(window: &[u8; WINDOW], first: u32x8<S>, widths: u32x8<S>) -> [f64x8<S>; 3] {
    let simd = first.token();
    let at = ((first >> 3) & 255).to_array();
    let mut words = [0u64; LANES];
    for (word, at) in words.iter_mut().zip(at) {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&window[at as usize..at as usize + 8]);
        *word = u64::from_le_bytes(bytes);
    }
    let wide = |x: u32x8<S>| {
        let (low, high) = x.widen();
        low.combine(high)
    };
    let mut words = u64x8::simd_from(simd, words) >> wide(first & 7);
    let step = wide(widths);
    // The field is moved up and back in two steps each, since a shift by 32 has no result.
    let above = u32x8::splat(simd, 31) - widths;
    let mut out = [f64x8::splat(simd, 0.0); 3];
    for out in &mut out {
        let (low, high) = words.split();
        let left = ((low.narrow(high) << above) << 1).bitcast::<i32x8<S>>();
        *out = simd.i32_to_f64((left >> above.bitcast::<i32x8<S>>()) >> 1);
        words >>= step;
    }
    out
}

/// Converts eight bytes, the lowest first.
#[inline(always)]
pub(crate) fn each_byte<S: Simd>(simd: S, bytes: u64) -> u32x8<S> {
    let bytes: [u8; 16] = bytemuck::cast([bytes.to_le_bytes(), [0; 8]]);
    let (words, _) = u8x16::simd_from(simd, bytes).widen();
    let (low, high) = words.widen();
    low.combine(high)
}

/// Returns at least 25 bits from each bit on: of the first window for the first four, of the second one for
/// the others.
#[inline(always)]
pub(crate) fn bits_at<S: Doubles>(simd: S, windows: [[u8; 16]; 2], bits: u32x8<S>) -> i32x8<S> {
    // The index of the first byte of each, four times.
    let repeated = u8x32::block_splat(u8x16::simd_from(simd, LOWEST_BYTES));
    let from = (bits >> 3).bitcast::<u8x32<S>>().swizzle_dyn_within_blocks(repeated);
    let from = (from.bitcast::<u32x8<S>>() + 0x0302_0100).bitcast::<u8x32<S>>();
    let window = u8x16::simd_from(simd, windows[0]).combine(u8x16::simd_from(simd, windows[1]));
    let words = window.swizzle_dyn_within_blocks(from).bitcast::<u32x8<S>>();
    simd.shift_right(words, bits & 7).bitcast()
}

/// By byte of four numbers: that of the lowest byte of the number.
const LOWEST_BYTES: [u8; 16] = [0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::isa::Isa;
    use crate::simd::{Kernel, run_kernel};
    use proptest::prelude::*;

    /// Every operation once, on the same numbers.
    struct All<'a> {
        a: [f64; LANES],
        b: [f64; LANES],
        whole: [i32; LANES],
        codes: [u32; 2],
        soup: &'a [u8; WINDOW],
    }

    impl Kernel for All<'_> {
        type Out = Vec<u64>;

        #[inline(always)]
        fn run<S: Doubles>(self, simd: S) -> Vec<u64> {
            const TABLE: [u8; 16] = [0, 1, 2, 3, 5, 6, 7, 9, 10, 12, 13, 15, 17, 19, 16, 4];
            type Row<S> = f64x8<S>;
            let (a, b) = (Row::simd_from(simd, self.a), Row::simd_from(simd, self.b));
            let whole = simd.i32_to_f64(i32x8::simd_from(simd, self.whole));
            let less = Row::both(a.less(b), Real::same(a, -1e5).less(a));
            let mut numbers = vec![a + b, a - b, a * b, a / b, -a, Real::sqrt(Real::max(a, 0.0))];
            numbers.extend([
                Real::floor(a),
                Real::round(b),
                Double::narrow(a),
                Real::min(a, 3.0),
                Real::max(a, 3.0),
            ]);
            numbers.extend([Real::select(less, a, b), whole, Real::select(a.equal(b), a.same(1.0), whole)]);
            let first = look_up(simd, self.codes[0], &TABLE);
            let second = look_up(simd, self.codes[1], &TABLE);
            let (before, all) = sums_before(first + second);
            numbers.extend(fields(self.soup, before, first));
            numbers.extend(fields(self.soup, before + first, second));
            let mut out = vec![u64::from(all), u64::from(Row::all(less)), u64::from(Row::all(a.equal(a)))];
            out.extend([u64::from(Row::any(less)), u64::from(Row::any(a.equal(b)))]);
            let bits = |x: f64| if x.is_nan() { 1 } else { x.to_bits() };
            out.extend(numbers.iter().flat_map(|x| x.to_array()).map(bits));
            assert_eq!(simd.f64_to_i32(whole).to_array(), self.whole);
            for v in numbers.chunks_exact(4) {
                let rows = quaternions([v[0], v[1], v[2], v[3]]);
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
                let results: Vec<Vec<u64>> =
                    Isa::all().map(|isa| run_kernel(isa, All { a, b, whole, codes, soup })).collect();
                prop_assert!(results.iter().all(|r| *r == results[0]));
            }
        }
    }

    #[test]
    fn fields_are_in_twos_complement() {
        struct One;
        impl Kernel for One {
            type Out = [i32; LANES];
            #[inline(always)]
            fn run<S: Doubles>(self, simd: S) -> [i32; LANES] {
                let mut soup = [0; WINDOW];
                // 3 bits each: for each lane 2, then 1, −1, 3, −4, 0, 2, −2, 1, then −1.
                let all = [1u128, 7, 3, 4, 0, 2, 6, 1];
                let of_lane = |v: u128| 2 | v << 3 | 7 << 6;
                let bits = all.iter().enumerate().fold(0u128, |bits, (l, v)| bits | of_lane(*v) << (9 * l));
                soup[..16].copy_from_slice(&bits.to_le_bytes());
                let widths = look_up(simd, 0x3333_3333, &std::array::from_fn(|i| i as u8));
                let (first, sum) = sums_before(widths + widths + widths);
                assert_eq!(sum, 72);
                let fields = fields(&soup, first, widths).map(|fields| simd.f64_to_i32(fields).to_array());
                assert_eq!([fields[0], fields[2]], [[2; LANES], [-1; LANES]]);
                fields[1]
            }
        }
        for isa in Isa::all() {
            assert_eq!(run_kernel(isa, One), [1, -1, 3, -4, 0, 2, -2, 1]);
        }
    }
}
