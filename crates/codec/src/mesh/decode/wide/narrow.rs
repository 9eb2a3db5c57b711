//! Decodes 32-bit positions in 128-bit registers.

use super::{Plain, Register};
use crate::mesh::decode::bundle::Bundle;
use crate::mesh::decode::first::Static;
use crate::mesh::decode::unit::{Body, Vector};
use crate::simd::isa::Narrow;
use crate::simd::quads::{self, Pair, Quad, Task};

/// Decodes an access unit.
pub(in crate::mesh::decode) fn decode(
    narrow: Narrow,
    s: &Static,
    bundle: &Bundle<i32>,
    body: &mut Body,
    out: &mut [&mut [Vector<i32>]],
    scratch: &mut [Vector<i32>],
) {
    quads::run(narrow, Kernel { s, bundle, body, out, scratch });
}

struct Kernel<'a, 'b, 'c> {
    s: &'a Static,
    bundle: &'a Bundle<'a, i32>,
    body: &'a mut Body<'b>,
    out: &'a mut [&'c mut [Vector<i32>]],
    scratch: &'a mut [Vector<i32>],
}

impl Task for Kernel<'_, '_, '_> {
    type Out = ();

    #[inline(always)]
    fn run<Q: Quad, P: Pair>(self) {
        let mut residuals = Plain { body: self.body, tables: &self.s.tables };
        super::decode::<Four<Q>, _>(self.s, self.bundle, &mut residuals, self.out, self.scratch);
    }
}

/// Four numbers.
#[derive(Clone, Copy)]
struct Four<Q>(Q);

impl<Q: Quad> Register for Four<Q> {
    const COUNT: usize = 4;
    type Products = [Q; 2];

    #[inline(always)]
    fn load(list: &[i32]) -> Self {
        Four(Q::load32(list.first_chunk().expect("four numbers")))
    }
    #[inline(always)]
    fn store(self, list: &mut [i32]) {
        Q::store32(self.0, list.first_chunk_mut().expect("four numbers"));
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Four(Q::add32(self.0, other.0))
    }
    #[inline(always)]
    fn with_fourths(self, other: Self) -> Self {
        Four(Q::select(Q::load32(&[0, 0, 0, -1]), other.0, self.0))
    }
    #[inline(always)]
    fn weighted([a, b, c, d]: [Self; 4], weights: [i16; 4]) -> [Q; 2] {
        Q::weighted32([a.0, b.0, c.0, d.0], weights)
    }
    #[inline(always)]
    fn rounded<const BITS: i32>(sums: [Q; 2]) -> Self {
        Four(Q::rounded64::<BITS>(sums))
    }
    #[inline(always)]
    fn scaled(sums: [Q; 2], rho: Self) -> Self {
        Four(Q::scaled64(sums, rho.0))
    }
}
