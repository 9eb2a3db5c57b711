//! AVX-512: the definitions shared by the decoders of tokens and of packed residuals.

use std::arch::x86_64::*;

/// The mask of all 16-bit components of vectors except the fourth.
pub(in crate::mesh) const AXES: __mmask32 = 0x7777_7777;

macro_rules! kernel {
    ($(#[$meta:meta])* $vis:vis unsafe fn $($rest:tt)*) => {
        $(#[$meta])*
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,avx2,bmi1,bmi2,popcnt")]
        $vis unsafe fn $($rest)*
    };
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        $(#[$meta])*
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,avx2,bmi1,bmi2,popcnt")]
        $vis fn $($rest)*
    };
}

/// The 16 vectors of a block of one frame, half of them in each register.
pub(in crate::mesh) type Vectors = [__m512i; 2];

pub(in crate::mesh) use kernel;
