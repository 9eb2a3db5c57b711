//! Decodes a bundle in 128-bit registers, with the same results as
//! [`crate::mesh::decode::bundle::decode_scalar`].
//!
//! As with AVX2 ([`super`]'s module of that name), the innovations of a bundle lie side by side, the
//! multiplication by weights also sums the magnitudes, fourth in each vector, and contexts are looked up by
//! the leading bits of a sum as a float. A register holds two vertices of a frame, or a vertex of two frames.
//! There are no gathers: lookups are made vertex by vertex ([`super::tokens::narrow`]).

use super::bundle::{Bundle, ReferenceFrame};
use super::neighbour_plan::{LINE, NeighbourPlan};
use super::static_part::StaticPart;
use super::tokens::narrow::TokenStream;
use super::unit::{DecodedPoint, UnitResiduals};
use crate::mesh::blocks::{self, BLOCK, BUNDLE, NARROW_ROWS, NarrowBlock, scratch_len};
use crate::mesh::contexts::{DIRECTORY_ENTRIES, QUARTER_BITS};
use crate::mesh::pack::narrow::PackedStream;
use crate::schedule::MAX_REFERENCES;
use crate::simd::isa::Narrow;
use crate::simd::quads::{self, Quad, Task};

/// Decodes a bundle, with the same results as [`crate::mesh::decode::bundle::decode_scalar`].
///
/// Returns `false` and does nothing if the arguments do not fit this decoder.
pub(super) fn decode(
    narrow: Narrow,
    plan: &NeighbourPlan,
    s: &StaticPart,
    bundle: &Bundle<i16>,
    source: &mut UnitResiduals,
    out: &mut [&mut [DecodedPoint<i16>]],
    scratch: &mut [DecodedPoint<i16>],
) -> bool {
    let n = plan.points;
    let fits = s.points() == n
        && n > 0
        && scratch.len() >= scratch_len(n)
        && (1..=BUNDLE).contains(&out.len())
        && bundle.heads.len() == out.len()
        && out.iter().all(|o| o.len() == n)
        && bundle.fits(n)
        && !matches!(source, UnitResiduals::Tokens(_) if s.tables.slot_tables().is_none());
    if fits {
        quads::run(narrow, Kernel { plan, s, bundle, source, out, scratch });
    }
    fits
}

struct Kernel<'a, 'b, 'c> {
    plan: &'a NeighbourPlan,
    s: &'a StaticPart,
    bundle: &'a Bundle<'a, i16>,
    source: &'a mut UnitResiduals<'b>,
    out: &'a mut [&'c mut [DecodedPoint<i16>]],
    scratch: &'a mut [DecodedPoint<i16>],
}

/// The source of the residuals.
enum Input<'a> {
    Zero,
    Tokens(TokenStream<'a>),
    Packed(PackedStream<'a>),
}

impl Task for Kernel<'_, '_, '_> {
    type Out = ();

    #[inline(always)]
    fn run<Q: Quad>(mut self) {
        let mut input = match &*self.source {
            UnitResiduals::Zero => Input::Zero,
            UnitResiduals::Tokens(t) => Input::Tokens(TokenStream::new(t)),
            UnitResiduals::Packed(p) => Input::Packed(PackedStream::new(p)),
        };
        // Key frames are alone; most other units have seven or eight frames.
        match self.out.len() {
            1..=2 => self.decode_levels::<Q, 1>(&mut input),
            _ => self.decode_levels::<Q, { BUNDLE / 2 }>(&mut input),
        }
        match (&input, self.source) {
            (Input::Tokens(stream), UnitResiduals::Tokens(t)) => stream.put_back(t),
            (Input::Packed(fields), UnitResiduals::Packed(p)) => fields.put_back(p),
            _ => {}
        }
    }
}

/// ρ of a level: by frame in 1/16, and whether all are 1.
struct Rho([i32; BUNDLE], bool);

/// Copies of the references and of the frame for the last block, if it is not whole.
type TailCopies = [[DecodedPoint<i16>; BLOCK]; MAX_REFERENCES + 1];

/// Predicted vectors of a block: by frame, two vertices each.
type Predicted<Q> = [[Q; NARROW_ROWS]; BUNDLE];

impl Kernel<'_, '_, '_> {
    /// Decodes all levels with `PAIRS` pairs of frames side by side.
    #[inline(always)]
    fn decode_levels<Q: Quad, const PAIRS: usize>(&mut self, input: &mut Input) {
        let mut ends = [[[0; 4]; BLOCK]; MAX_REFERENCES + 1];
        let mut predicted = [[Q::splat32(0); NARROW_ROWS]; BUNDLE];
        for level in 0..self.s.hierarchy.level_count() {
            let range = self.s.hierarchy.level(level);
            let mut rho = Rho([16; BUNDLE], true);
            for (rho, head) in rho.0.iter_mut().zip(self.bundle.heads) {
                *rho = 4 * i32::from(head.rho[level]);
            }
            rho.1 = rho.0 == [16; BUNDLE];
            for vertices in blocks::blocks(range.clone()) {
                match level {
                    0 => predicted = [[Q::splat32(0); NARROW_ROWS]; BUNDLE],
                    _ => self.predict::<Q, PAIRS>(vertices.start, &rho, &mut predicted),
                }
                let block = BlockSpan { start: vertices.start, count: vertices.len(), root: level == 0 };
                for f in 0..self.out.len() {
                    self.finish(f, &block, input, &mut predicted[f], &mut ends);
                }
                self.store_innovations::<Q, PAIRS>(vertices.start, &predicted);
            }
        }
    }

    /// Predicts a block over the surface: x, y, z and the sum of the neighbours' magnitudes.
    #[inline(always)]
    fn predict<Q: Quad, const PAIRS: usize>(&self, start: usize, rho: &Rho, out: &mut Predicted<Q>) {
        let lines = self.scratch.as_flattened();
        let list = |k: usize| block_entries(&self.plan.neighbour_offsets[k], start);
        let near = [list(0), list(1), list(2), list(3)];
        let weights = block_entries(&self.plan.weights, start);
        for i in 0..NARROW_ROWS {
            let mut rows = [[Q::splat32(0); PAIRS]; 2];
            for v in 0..2 {
                let line = |k: usize| {
                    let at = near[k][2 * i + v] as usize / (LINE / 8) * PAIRS;
                    lines[at..at + 8 * PAIRS].as_chunks::<8>().0
                };
                let (a, b, c, d) = (line(0), line(1), line(2), line(3));
                let weights = Q::weights_of_three(weights[2 * i + v]);
                for h in 0..PAIRS {
                    let four = [Q::load16(&a[h]), Q::load16(&b[h]), Q::load16(&c[h]), Q::load16(&d[h])];
                    let sums = Q::weighted(four, weights);
                    let space = match rho.1 {
                        true => Q::rounded::<12>(sums),
                        false => {
                            let scaled = |k: usize| {
                                let rho = Q::splat32(rho.0[2 * h + k]);
                                Q::mul32(Q::right(sums[k], 6), rho)
                            };
                            Q::rounded::<10>([scaled(0), scaled(1)])
                        }
                    };
                    rows[v][h] = Q::select(Q::load16(&AXES), space, Q::narrow(sums));
                }
            }
            for h in 0..PAIRS {
                [out[2 * h][i], out[2 * h + 1][i]] = Q::zip64(rows[0][h], rows[1][h]);
            }
        }
    }

    /// Adds residuals and the temporal prediction; turns the prediction `p` into the innovation.
    #[inline(always)]
    fn finish<Q: Quad>(
        &mut self,
        f: usize,
        block: &BlockSpan,
        input: &mut Input,
        p: &mut [Q; NARROW_ROWS],
        ends: &mut TailCopies,
    ) {
        let (done, rest) = self.out.split_at_mut(f);
        let [e0, e1, e2, e3, own] = &mut *ends;
        let given = |k: usize| match self.bundle.references[f][k] {
            ReferenceFrame::Known(frame) => &frame[block.start..],
            ReferenceFrame::Inside(frame) => &done[frame][block.start..],
        };
        let references = [rows(given(0), e0), rows(given(1), e1), rows(given(2), e2), rows(given(3), e3)];
        let layer = self.bundle.layers[f];
        let residual = match input {
            Input::Zero => None,
            Input::Packed(fields) => fields.block::<Q>(block.count),
            // A closure would not be compiled for the instruction set.
            Input::Tokens(stream) => match self.s.tables.slot_tables() {
                Some(ready) => {
                    let contexts = contexts(block.root, references, p);
                    let directory = &ready.contexts.directory[layer];
                    Some(stream.block(&ready.slots, directory, &contexts, block.count))
                }
                None => None,
            },
        };
        let axes = Q::load16(&AXES);
        let step = self.s.grid.steps[layer] as i16;
        let step = Q::load16(&[step, step, step, 1, step, step, step, 1]);
        let weights = Q::weights(self.bundle.heads[f].coefficients);
        let out = &mut rest[0][block.start..];
        let left = out.len();
        let to: &mut NarrowBlock = bytemuck::cast_mut(match out.first_chunk_mut() {
            Some(all) => all,
            None => &mut *own,
        });
        for i in 0..NARROW_ROWS {
            p[i] = Q::and(p[i], axes);
            if let Some(r) = &residual {
                p[i] = Q::add16(p[i], Q::mul16(Q::load16(&r[i]), step));
            }
            let load = |k: usize| Q::load16(&references[k][i]);
            let t = Q::rounded::<8>(Q::weighted([load(0), load(1), load(2), load(3)], weights));
            Q::store16(Q::add16(Q::and(t, axes), p[i]), &mut to[i]);
        }
        if left < BLOCK {
            rest[0][block.start..].copy_from_slice(&own[..left]);
        }
    }

    /// Stores the innovations of all frames side by side.
    #[inline(always)]
    fn store_innovations<Q: Quad, const PAIRS: usize>(&mut self, start: usize, innovation: &Predicted<Q>) {
        let lines = &mut self.scratch.as_flattened_mut()[8 * PAIRS * start..][..8 * PAIRS * BLOCK];
        for (i, two) in lines.chunks_exact_mut(16 * PAIRS).enumerate() {
            let (first, second) = two.split_at_mut(8 * PAIRS);
            let (first, second) = (first.as_chunks_mut::<8>().0, second.as_chunks_mut::<8>().0);
            for h in 0..PAIRS {
                let [a, b] = Q::zip64(innovation[2 * h][i], innovation[2 * h + 1][i]);
                Q::store16(a, &mut first[h]);
                Q::store16(b, &mut second[h]);
            }
        }
    }
}

/// The start and size of a block, and whether it belongs to the roots.
struct BlockSpan {
    start: usize,
    count: usize,
    root: bool,
}

/// The mask of all components of two vectors except the fourth.
const AXES: [i16; 8] = [-1, -1, -1, 0, -1, -1, -1, 0];

/// Returns sixteen entries of a list, which is padded for a block beyond the last point.
#[inline(always)]
fn block_entries<T>(list: &[T], start: usize) -> &[T; BLOCK] {
    list[start..].first_chunk().expect("a block more than there are points")
}

/// Returns the first block of a list; a shorter rest is copied into `end`.
#[inline(always)]
fn rows<'a>(list: &'a [DecodedPoint<i16>], end: &'a mut [DecodedPoint<i16>; BLOCK]) -> &'a NarrowBlock {
    bytemuck::cast_ref(match list.first_chunk() {
        Some(all) => all,
        None => {
            end[..list.len()].copy_from_slice(list);
            &*end
        }
    })
}

/// Returns the indices of a block's contexts in the directory.
#[inline(always)]
fn contexts<Q: Quad>(
    root: bool,
    references: [&NarrowBlock; MAX_REFERENCES],
    p: &[Q; NARROW_ROWS],
) -> [i32; BLOCK] {
    let mut out = [0; BLOCK];
    let load = |k: usize, i: usize| Q::load16(&references[k][i]);
    for (j, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let (i, next) = (2 * j, 2 * j + 1);
        let past = |i: usize| Q::max16(Q::max16(load(0, i), load(1, i)), Q::splat32(0));
        let past = Q::fourths(past(i), past(next));
        let near = if root { Q::left(past, 2) } else { Q::fourths(p[i], p[next]) };
        let past = Q::min32(past, Q::splat32(15));
        let past = Q::look_up(Q::load8(&CLASSES), past);
        let near = Q::sub_f32(Q::to_f32(near), Q::splat_f32(0.5));
        let near = Q::sub32(Q::max_f32(near, Q::splat_f32(0.25)), Q::splat32(QUARTER_BITS));
        let near = Q::and(Q::right(near, 18), Q::splat32(!7 & (DIRECTORY_ENTRIES as i32 - 1)));
        Q::store32(Q::or(near, past), out);
    }
    out
}

/// The class of the references by magnitude, at most 15. The other bytes of the lookup index are zero and
/// give class 0.
const CLASSES: [u8; 16] = [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4];
