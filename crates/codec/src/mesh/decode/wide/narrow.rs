//! Decodes 32-bit positions in 128-bit registers.

use super::{Register, ScalarResiduals};
use crate::mesh::decode::bundle::Bundle;
use crate::mesh::decode::static_part::StaticPart;
use crate::mesh::decode::unit::{DecodedPoint, UnitBody};
use crate::simd::isa::Narrow;
use crate::simd::quads::{self, Quad, Task};

/// Decodes an access unit.
pub(in crate::mesh::decode) fn decode(
    narrow: Narrow,
    s: &StaticPart,
    bundle: &Bundle<i32>,
    body: &mut UnitBody,
    out: &mut [&mut [DecodedPoint<i32>]],
    scratch: &mut [DecodedPoint<i32>],
) {
    quads::run(narrow, Kernel { s, bundle, body, out, scratch });
}

struct Kernel<'a, 'b, 'c> {
    s: &'a StaticPart,
    bundle: &'a Bundle<'a, i32>,
    body: &'a mut UnitBody<'b>,
    out: &'a mut [&'c mut [DecodedPoint<i32>]],
    scratch: &'a mut [DecodedPoint<i32>],
}

impl Task for Kernel<'_, '_, '_> {
    type Out = ();

    #[inline(always)]
    fn run<Q: Quad>(self) {
        let mut residuals = ScalarResiduals { body: self.body, tables: &self.s.tables };
        super::decode::<I32x4<Q>, _>(self.s, self.bundle, &mut residuals, self.out, self.scratch);
    }
}

/// Four numbers.
#[derive(Clone, Copy)]
struct I32x4<Q>(Q);

impl<Q: Quad> Register for I32x4<Q> {
    const COUNT: usize = 4;
    type Products = [Q; 2];

    #[inline(always)]
    fn load(list: &[i32]) -> Self {
        I32x4(Q::load32(list.first_chunk().expect("four numbers")))
    }
    #[inline(always)]
    fn store(self, list: &mut [i32]) {
        Q::store32(self.0, list.first_chunk_mut().expect("four numbers"));
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        I32x4(Q::add32(self.0, other.0))
    }
    #[inline(always)]
    fn with_fourths(self, other: Self) -> Self {
        I32x4(Q::select(Q::load32(&[0, 0, 0, -1]), other.0, self.0))
    }
    #[inline(always)]
    fn weighted([a, b, c, d]: [Self; 4], weights: [i16; 4]) -> [Q; 2] {
        Q::weighted32([a.0, b.0, c.0, d.0], weights)
    }
    #[inline(always)]
    fn rounded<const BITS: i32>(sums: [Q; 2]) -> Self {
        I32x4(Q::rounded64::<BITS>(sums))
    }
    #[inline(always)]
    fn scaled(sums: [Q; 2], rho: Self) -> Self {
        I32x4(Q::scaled64(sums, rho.0))
    }
}
