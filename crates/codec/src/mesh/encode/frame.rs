//! Codes one frame: prediction, choice of residuals, reconstruction exactly as in the decoder, and the check
//! of the error.

use super::coding::{COSTS, CodingTables, Costs, wrapped};
use crate::mesh::blocks::{self, BLOCK};
use crate::mesh::decode::{self, DecodedPoint, FIRST_RHO, GOLOMB_ORDER, MAX_COEFFICIENT, MAX_LEVELS};
use crate::mesh::encode::output::UnitBuilder;
use crate::mesh::hierarchy::Hierarchy;
use crate::mesh::pack;
use crate::mesh::tables::{self, LAYERS};
use crate::mesh::token::{self, BitWriter};
use crate::quantize::fixed_point::FixedPoint;
use crate::quantize::lattice::{self, FixedPointGrid, Lattice, LatticeChoice};
use crate::schedule::MAX_REFERENCES;
use crate::simd::doubles::Doubles;
use crate::simd::isa::Isa;
use crate::simd::{Kernel, run_kernel};
use std::ops::Range;

/// Codes frames of a mesh: the properties of the mesh that this needs.
pub struct FrameCoder<'a> {
    pub grid: FixedPointGrid,
    pub choice: LatticeChoice,
    /// The largest allowed distance, in the unit of the positions.
    pub radius: f64,
    /// The part of it that the lattice may use.
    pub lattice_bound: f64,
    pub hierarchy: &'a Hierarchy,
    pub neighbours: &'a [[u32; 4]],
    /// The number of vertices of a level by which its ρ is chosen.
    pub rho_sample: usize,
    pub weights: &'a [[i16; 4]],
}

/// A frame of the source in the hierarchy's order.
#[derive(Debug, Default, Clone)]
pub struct FrameTarget {
    /// The positions.
    pub source: Vec<[f32; 3]>,
    /// The positions minus `outside`, in 1/256 units (i32: 1/64).
    pub fixed: Vec<[i32; 3]>,
    /// Predictions from bones or parts, in units; empty if there are none.
    pub outside: Vec<[i32; 3]>,
}

/// The number of fraction bits in `FrameTarget::fixed`.
pub const fn fraction_bits<W: FixedPoint>() -> u32 {
    if W::BITS == 16 { 8 } else { 6 }
}

impl FrameTarget {
    /// Fills `fixed` from the others. Returns `false` if a position is not finite or outside the grid.
    pub fn prepare<W: FixedPoint>(&mut self, grid: &FixedPointGrid) -> bool {
        let mut fits = true;
        let width = std::marker::PhantomData::<W>;
        run_kernel(Isa::get(), Prepare(self, grid, &mut fits, width));
        fits
    }
}

/// The task of [`FrameTarget::prepare`].
struct Prepare<'a, W>(&'a mut FrameTarget, &'a FixedPointGrid, &'a mut bool, std::marker::PhantomData<W>);

impl<W: FixedPoint> Kernel for Prepare<'_, W> {
    type Out = ();

    #[inline(always)]
    fn run<S: Doubles>(self, _: S) {
        let Prepare(target, grid, fits, _) = self;
        let scale = f64::from(1u32 << fraction_bits::<W>()) / f64::from(grid.unit);
        let most = f64::from(W::MAX_COORDINATE) * f64::from(1u32 << fraction_bits::<W>());
        let centre = grid.centre;
        target.fixed.resize(target.source.len(), [0; 3]);
        for (f, s) in target.fixed.iter_mut().zip(&target.source) {
            for k in 0..3 {
                let x = (f64::from(s[k]) - f64::from(centre[k])) * scale;
                *fits &= x.abs() <= most;
                f[k] = (x + 0.5f64.copysign(x)) as i32;
            }
        }
        for (f, o) in target.fixed.iter_mut().zip(&target.outside) {
            for k in 0..3 {
                f[k] = f[k].wrapping_sub(W::wrap(o[k]).to_i32() << fraction_bits::<W>());
            }
        }
    }
}

/// The inputs for coding a frame.
pub struct FrameJob<'a, W> {
    pub layer: usize,
    pub references: [&'a [DecodedPoint<W>]; MAX_REFERENCES],
    pub coefficients: [i16; MAX_REFERENCES],
    pub count: usize,
    pub target: &'a FrameTarget,
}

/// Tuning: the weight of errors in frame 0, from which the spatial weights are computed, in key frames and in
/// the deepest frames.
const FIRST_ERROR_WEIGHT: f32 = 6.0;
const KEY_ERROR_WEIGHT: f32 = 1.6;
const LAST_ERROR_WEIGHT: f32 = 0.55;
/// Tuning: the bits that a change of ρ must save.
const RHO_CHANGE: f32 = 6.0;

impl FrameCoder<'_> {
    /// Returns the error bound within which a residual of zero suffices, in units.
    pub fn bound<W: FixedPoint>(&self) -> f32 {
        let fixed = 3f64.sqrt() / f64::from(2u32 << fraction_bits::<W>());
        (self.lattice_bound / f64::from(self.grid.unit) * 0.9999 - fixed).max(0.0) as f32
    }

    /// Codes a frame that has references. Returns `false` if a vertex cannot be brought within the radius.
    pub fn code<W: FixedPoint>(
        &self,
        job: &FrameJob<W>,
        coding: Option<&CodingTables>,
        out: &mut [DecodedPoint<W>],
        innovation: &mut [DecodedPoint<W>],
        sink: &mut UnitBuilder,
    ) -> bool {
        let mut good = true;
        let task = Code { setting: self, job, coding, out, innovation, sink, good: &mut good };
        run_kernel(Isa::get(), task);
        good
    }

    /// Returns the coded innovations of the neighbours of a vertex.
    #[inline(always)]
    fn neighbour_innovations<W: FixedPoint>(
        &self,
        v: usize,
        innovation: &[DecodedPoint<W>],
    ) -> [DecodedPoint<W>; 4] {
        let [a, b, c, d] = self.neighbours[v];
        [innovation[a as usize], innovation[b as usize], innovation[c as usize], innovation[d as usize]]
    }

    /// Codes the tokens of a block.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn token_block<W: FixedPoint>(
        &self,
        job: &FrameJob<W>,
        quantizer: &Quantizer<W>,
        block: Range<usize>,
        level: usize,
        factor: i32,
        out: &mut [DecodedPoint<W>],
        innovation: &mut [DecodedPoint<W>],
        sink: &mut UnitBuilder,
    ) -> bool {
        let mut spatial = [[W::default(); 4]; BLOCK];
        let mut contexts = [0; BLOCK];
        let mut errors = [[0f32; 3]; BLOCK];
        let [r0, r1, ..] = job.references;
        for (i, v) in block.clone().enumerate() {
            let past = r0[v][3].to_i32().max(r1[v][3].to_i32());
            let mut sum = 4 * past;
            if level > 0 {
                let near = self.neighbour_innovations(v, innovation);
                spatial[i] = W::weigh_all(near, self.weights[v], factor);
                sum = near[0][3].to_i32() + near[1][3].to_i32() + near[2][3].to_i32() + near[3][3].to_i32();
            }
            contexts[i] =
                tables::context(job.layer, tables::neighbour_class(sum), tables::reference_class(past));
            errors[i] = quantizer.error(job.target, v, sum_of(out[v], spatial[i]));
        }
        let mut good = true;
        for (i, v) in block.enumerate() {
            let (t, p) = (out[v], spatial[i]);
            let q = quantizer.chosen(errors[i], contexts[i]);
            let (q, fits) = quantizer.ensure_within_radius(job.target, v, sum_of(t, p), errors[i], q);
            good &= fits;
            let q = sink.put_token::<W>(q, contexts[i]);
            let inn = decode::add_residual([p[0], p[1], p[2]], q, quantizer.step);
            innovation[v] = inn;
            out[v] =
                [t[0].wrapping_add(inn[0]), t[1].wrapping_add(inn[1]), t[2].wrapping_add(inn[2]), inn[3]];
        }
        good
    }

    /// Codes the residuals of a block that are packed together.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn pack_block<W: FixedPoint>(
        &self,
        job: &FrameJob<W>,
        quantizer: &Quantizer<W>,
        block: Range<usize>,
        level: usize,
        factor: i32,
        out: &mut [DecodedPoint<W>],
        innovation: &mut [DecodedPoint<W>],
        sink: &mut UnitBuilder,
    ) -> bool {
        let mut spatial = [[W::default(); 4]; BLOCK];
        let mut errors = [[0f32; 3]; BLOCK];
        for (i, v) in block.clone().enumerate() {
            if level > 0 {
                spatial[i] = W::weigh_all(self.neighbour_innovations(v, innovation), self.weights[v], factor);
            }
            errors[i] = quantizer.error(job.target, v, sum_of(out[v], spatial[i]));
        }
        let chosen = quantizer.packed(&errors[..block.len()]);
        let mut good = true;
        for (i, v) in block.enumerate() {
            let (t, p) = (out[v], spatial[i]);
            let (q, fits) = quantizer.ensure_within_radius(job.target, v, sum_of(t, p), errors[i], chosen[i]);
            good &= fits;
            // Components that are kept whole wrap.
            let q = [wrapped::<W>(q[0]), wrapped::<W>(q[1]), wrapped::<W>(q[2])];
            sink.escape = 3 * W::BITS;
            sink.residuals.get_or_insert_default().push(q);
            let inn = decode::add_residual([p[0], p[1], p[2]], q, quantizer.step);
            innovation[v] = inn;
            out[v] =
                [t[0].wrapping_add(inn[0]), t[1].wrapping_add(inn[1]), t[2].wrapping_add(inn[2]), inn[3]];
        }
        good
    }

    /// Codes frame 0.
    pub fn code_first<W: FixedPoint>(
        &self,
        target: &FrameTarget,
        coding: Option<&CodingTables>,
        out: &mut [DecodedPoint<W>],
        sink: &mut UnitBuilder,
    ) -> bool {
        let mut good = true;
        let task = CodeFirst { setting: self, target, coding, out, sink, good: &mut good };
        run_kernel(Isa::get(), task);
        good
    }

    #[inline(always)]
    fn choose_rho<W: FixedPoint>(
        &self,
        job: &FrameJob<W>,
        level: Range<usize>,
        before: u8,
        temporal: &[DecodedPoint<W>],
        innovation: &[DecodedPoint<W>],
    ) -> u8 {
        let stride = level.len().div_ceil(self.rho_sample).max(1);
        let bound = self.bound::<W>();
        let inverse = 1.0 / (bound * bound);
        let scale = 1.0 / (1u32 << fraction_bits::<W>()) as f32;
        // For each ρ, the product of all factors as mantissa and exponent.
        let mut products = [1f32; 8];
        let mut exponents = [0i32; 8];
        for v in level.step_by(stride) {
            let near = self.neighbour_innovations(v, innovation);
            let w = self.weights[v];
            let target = job.target.fixed[v];
            let mut squares = [0f32; 8];
            for k in 0..3 {
                let e = (target[k] as f32) * scale - temporal[v][k].to_i32() as f32;
                let mut p = 0f32;
                for i in 0..4 {
                    p += f32::from(w[i]) * (1.0 / 4096.0) * near[i][k].to_i32() as f32;
                }
                for j in 0..8 {
                    let d = e - RHOS[j] * p;
                    squares[j] += d * d;
                }
            }
            for j in 0..8 {
                let square = squares[j] * inverse;
                let inside = square.min(1.0);
                let factor = 1.0 + 8.0 * square * inside * inside * inside;
                let bits = (products[j] * factor).to_bits();
                exponents[j] += (bits >> 23) as i32 - 127;
                products[j] = f32::from_bits(bits & 0x7F_FFFF | 127 << 23);
            }
        }
        let mut sums = [0f32; RHO_COUNT];
        for (j, sum) in sums.iter_mut().enumerate() {
            *sum = exponents[j] as f32 + products[j].log2();
        }
        let mut best = before;
        let mut least = sums[usize::from(before)] * stride as f32 - RHO_CHANGE;
        for (j, &sum) in sums.iter().enumerate() {
            if sum * (stride as f32) < least {
                (best, least) = (j as u8, sum * stride as f32);
            }
        }
        best
    }
}

/// The values of ρ, padded.
const RHOS: [f32; 8] = [0.0, 0.25, 0.5, 0.75, 1.0, 0.0, 0.0, 0.0];
const RHO_COUNT: usize = 5;

#[inline(always)]
fn sum_of<W: FixedPoint>(t: DecodedPoint<W>, p: DecodedPoint<W>) -> [W; 3] {
    [t[0].wrapping_add(p[0]), t[1].wrapping_add(p[1]), t[2].wrapping_add(p[2])]
}

/// The task of [`FrameCoder::code`].
struct Code<'a, W> {
    setting: &'a FrameCoder<'a>,
    job: &'a FrameJob<'a, W>,
    coding: Option<&'a CodingTables>,
    out: &'a mut [DecodedPoint<W>],
    innovation: &'a mut [DecodedPoint<W>],
    sink: &'a mut UnitBuilder,
    good: &'a mut bool,
}

impl<W: FixedPoint> Kernel for Code<'_, W> {
    type Out = ();

    #[inline(always)]
    fn run<S: Doubles>(self, _: S) {
        let Code { setting, job, coding, out, innovation, sink, good } = self;
        put_coefficients(job, &mut sink.heads);
        sink.layers.push(job.layer);
        decode::blend(job.references, job.coefficients, out);
        let quantizer = Quantizer::<W>::new(setting, job.layer, coding);
        let packed = sink.residuals.is_some();
        sink.reserve(out.len());
        let mut rho = FIRST_RHO;
        for level in 0..setting.hierarchy.level_count() {
            let range = setting.hierarchy.level(level);
            if level > 0 {
                let new = setting.choose_rho(job, range.clone(), rho, out, innovation);
                if new == rho {
                    sink.heads.write(1, 1);
                } else {
                    sink.heads.write(u128::from(new) << 1, 4);
                }
                rho = new;
            }
            let rho = 4 * i32::from(rho);
            for block in blocks::blocks(range) {
                *good &= if packed {
                    setting.pack_block(job, &quantizer, block, level, rho, out, innovation, sink)
                } else {
                    setting.token_block(job, &quantizer, block, level, rho, out, innovation, sink)
                };
            }
        }
    }
}

/// The task of [`FrameCoder::code_first`].
struct CodeFirst<'a, W> {
    setting: &'a FrameCoder<'a>,
    target: &'a FrameTarget,
    coding: Option<&'a CodingTables>,
    out: &'a mut [DecodedPoint<W>],
    sink: &'a mut UnitBuilder,
    good: &'a mut bool,
}

impl<W: FixedPoint> Kernel for CodeFirst<'_, W> {
    type Out = ();

    #[inline(always)]
    fn run<S: Doubles>(self, _: S) {
        let CodeFirst { setting, target, coding, out, sink, good } = self;
        sink.layers.push(0);
        sink.reserve(out.len());
        let quantizer = Quantizer::<W>::new(setting, 0, coding);
        for v in 0..out.len() {
            let ring = setting.hierarchy.ring_of(v);
            let p = match (ring.is_empty(), v) {
                (false, _) => decode::ring_mean(ring, out),
                (true, 0) => [W::default(); 3],
                (true, _) => [out[v - 1][0], out[v - 1][1], out[v - 1][2]],
            };
            let context = decode::ring_context(ring, out);
            let e = quantizer.error(target, v, p);
            let q = quantizer.chosen(e, context);
            let (q, fits) = quantizer.ensure_within_radius(target, v, p, e, q);
            *good &= fits;
            let q = sink.put_token::<W>(q, context);
            out[v] = decode::add_residual(p, q, quantizer.step);
        }
    }
}

fn put_coefficients<W>(job: &FrameJob<W>, out: &mut BitWriter) {
    for &c in &job.coefficients[1..job.count.max(1)] {
        debug_assert!(i32::from(c).abs() <= MAX_COEFFICIENT);
        let c = i32::from(c);
        let value = ((c << 1) ^ (c >> 31)) as u32;
        let bits = ((value >> GOLOMB_ORDER) + 1).ilog2();
        let rest = value - (((1 << bits) - 1) << GOLOMB_ORDER);
        out.write(1u128 << bits, bits + 1);
        out.write(u128::from(rest), bits + GOLOMB_ORDER);
    }
}

/// Returns the factor of [`LatticeChoice::error_weight`] in a layer: larger if other frames refer to it.
fn layer_error_weight(layer: usize) -> f32 {
    if layer == 0 {
        return FIRST_ERROR_WEIGHT;
    }
    let depth = (layer - 1) as f32 / (LAYERS - 2) as f32;
    KEY_ERROR_WEIGHT + depth * (LAST_ERROR_WEIGHT - KEY_ERROR_WEIGHT)
}

#[inline(always)]
fn square(v: [f32; 3]) -> f32 {
    v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
}

/// Doubles a value; after an overflow, `Quantizer::search` finds the residual.
#[inline(always)]
fn twice(x: i32) -> i32 {
    x.wrapping_mul(2)
}

/// Returns the nearest integer, ties to even, for magnitudes below 2²²; an arbitrary value for others.
#[inline(always)]
fn nearest_integer(x: f32) -> i32 {
    const ROUND: f32 = 12_582_912.0;
    ((x + ROUND).to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32)
}

/// Chooses residuals in one frame.
struct Quantizer<'a, W> {
    grid: FixedPointGrid,
    lattice: Lattice,
    step: i32,
    /// The square of the error bound within which zero suffices, in units.
    square_bound: f32,
    inverse: f32,
    scale: f32,
    /// The square of the largest allowed distance.
    square_radius: f64,
    coding: Option<&'a CodingTables>,
    error_weight: f32,
    /// The bits that the square of an error of one unit is worth.
    bits_per_square: f32,
    width: std::marker::PhantomData<W>,
}

impl<'a, W: FixedPoint> Quantizer<'a, W> {
    fn new(setting: &FrameCoder, layer: usize, coding: Option<&'a CodingTables>) -> Self {
        let step = i32::from(setting.grid.steps[layer]);
        let bound = setting.bound::<W>();
        let error_weight = setting.choice.error_weight * layer_error_weight(layer);
        Quantizer {
            grid: setting.grid,
            lattice: setting.choice.lattice,
            step,
            square_bound: bound * bound,
            inverse: 1.0 / step as f32,
            scale: 1.0 / (1u32 << fraction_bits::<W>()) as f32,
            square_radius: setting.radius * setting.radius,
            coding,
            error_weight,
            bits_per_square: error_weight / (bound * bound),
            width: std::marker::PhantomData,
        }
    }

    /// `true` if the decoded position is within the radius.
    #[inline(always)]
    fn is_within_radius(&self, target: &FrameTarget, v: usize, base: [W; 3], q: [i32; 3]) -> bool {
        let mut rec = [0; 3];
        for k in 0..3 {
            let mut c = base[k].wrapping_add(W::wrap(q[k].wrapping_mul(self.step)));
            if let Some(outside) = target.outside.get(v) {
                c = c.wrapping_add(W::wrap(outside[k]));
            }
            rec[k] = c.to_i32();
        }
        let at = self.grid.position(rec);
        let source = target.source[v];
        let d = [0, 1, 2].map(|k| f64::from(at[k]) - f64::from(source[k]));
        d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= self.square_radius
    }

    /// Returns the residual for an error `e` of the prediction, without checking it.
    #[inline(always)]
    fn chosen(&self, e: [f32; 3], context: usize) -> [i32; 3] {
        match self.costs_of(context) {
            Some(costs) => self.cheapest(e, costs, tables::shift(tables::context_neighbour_class(context))),
            None if square(e) > self.square_bound => self.nearest(e),
            None => [0; 3],
        }
    }

    /// Returns the difference between a vertex and its prediction, in units.
    #[inline(always)]
    fn error(&self, target: &FrameTarget, v: usize, base: [W; 3]) -> [f32; 3] {
        let fixed = target.fixed[v];
        let mut e = [0.0; 3];
        for k in 0..3 {
            let base = base[k].to_i32();
            e[k] = match W::BITS {
                16 => (fixed[k] - (base << fraction_bits::<W>())) as f32,
                _ => (i64::from(fixed[k]) - (i64::from(base) << fraction_bits::<W>())) as f32,
            } * self.scale;
        }
        e
    }

    /// Returns the residual `q`, or another if it does not bring the vertex within the radius; `false` if
    /// none does.
    #[inline(always)]
    fn ensure_within_radius(
        &self,
        target: &FrameTarget,
        v: usize,
        base: [W; 3],
        e: [f32; 3],
        q: [i32; 3],
    ) -> ([i32; 3], bool) {
        let mut left = [0.0; 3];
        for k in 0..3 {
            left[k] = e[k] - q[k].wrapping_mul(self.step) as f32;
        }
        // Errors this small are exact, and the bound is enough below the radius for all rounding errors.
        let exact = e[0].abs().max(e[1].abs()).max(e[2].abs()) < 1024.0;
        if exact && square(left) <= self.square_bound || self.is_within_radius(target, v, base, q) {
            debug_assert!(self.is_within_radius(target, v, base, q));
            return (q, true);
        }
        self.search(target, v, base)
    }

    #[inline(always)]
    fn nearest(&self, e: [f32; 3]) -> [i32; 3] {
        lattice::nearest(e.map(|e| e * self.inverse), self.lattice)
    }

    /// Returns the residuals of a packed block: fields as narrow as the error bound allows, and the nearest
    /// values of that width.
    #[inline(always)]
    fn packed(&self, errors: &[[f32; 3]]) -> [[i32; 3]; BLOCK] {
        let mut out = [[0; 3]; BLOCK];
        let mut filled = 0;
        let mut width = 0;
        for (i, &e) in errors.iter().enumerate() {
            if square(e) > self.square_bound {
                out[i] = self.nearest(e);
                filled += 1;
                width = width.max(pack::width(out[i]));
            }
        }
        if filled == 0 {
            return out;
        }
        let mut narrow = out;
        while width > 1 && self.narrowed(errors, width - 1, &mut narrow) {
            out = narrow;
            width -= 1;
        }
        if !pack::is_sparse(filled, errors.len() as u32, width) {
            // Zeros take as many bits as other values.
            for (i, &e) in errors.iter().enumerate() {
                if out[i] == [0; 3] {
                    let q = self.nearest(e);
                    let q = if pack::width(q) <= width { Some(q) } else { self.nearest_of_width(e, width) };
                    out[i] = q.unwrap_or_default();
                }
            }
        }
        out
    }

    /// Replaces wider residuals by the nearest of this width within the bound; returns `false` if there is
    /// none.
    fn narrowed(&self, errors: &[[f32; 3]], width: u32, out: &mut [[i32; 3]; BLOCK]) -> bool {
        for (i, &e) in errors.iter().enumerate() {
            if pack::width(out[i]) > width {
                match self.nearest_of_width(e, width) {
                    Some(q) => out[i] = q,
                    None => return false,
                }
            }
        }
        true
    }

    /// Returns the nearest residual of a width within the error bound.
    fn nearest_of_width(&self, e: [f32; 3], width: u32) -> Option<[i32; 3]> {
        let y = e.map(|e| e * self.inverse);
        let bound = 1 << (width - 1);
        let mut best = (None, self.square_bound);
        let odd = (self.lattice == Lattice::Centred).then(|| lattice::nearest_odd(y));
        for q in [Some(lattice::nearest(y, Lattice::Cubic)), odd].into_iter().flatten() {
            let p = q[0] & 1;
            let q = q.map(|v| (v >> 1).clamp(-bound, bound - 1) * 2 + p);
            let d = [0, 1, 2].map(|a| e[a] - q[a].wrapping_mul(self.step) as f32);
            if square(d) <= best.1 {
                best = (Some(q), square(d));
            }
        }
        best.0
    }

    /// Returns the bits of tokens in a context, if residuals are chosen by them.
    #[inline(always)]
    fn costs_of(&self, context: usize) -> Option<&'a Costs> {
        let coding = self.coding.filter(|_| self.error_weight > 0.0)?;
        Some(&coding.costs[usize::from(coding.cost_of[context])])
    }

    /// Returns the residual within the bound with the lowest cost in bits and weighted error, among the
    /// nearest points of both parities and those one step closer to zero on any of the axes.
    #[inline(always)]
    fn cheapest(&self, e: [f32; 3], costs: &Costs, k: u32) -> [i32; 3] {
        let square = square(e);
        let mut best = ([0; 3], f32::MAX);
        if square <= self.square_bound {
            best.1 = costs.bits[0] + self.bits_per_square * square;
            if best.1 <= costs.min_nonzero_bits {
                return best.0;
            }
        }
        let mut even = [0; 3];
        for a in 0..3 {
            even[a] = twice(nearest_integer(0.5 * (e[a] * self.inverse)));
        }
        self.try_candidates(e, even, costs, k, &mut best);
        if self.lattice == Lattice::Centred {
            let mut odd = [0; 3];
            for a in 0..3 {
                odd[a] = twice(nearest_integer(0.5 * (e[a] * self.inverse) - 0.5)) + 1;
            }
            self.try_candidates(e, odd, costs, k, &mut best);
        }
        match best.1 < f32::MAX {
            true => best.0,
            false => self.nearest(e),
        }
    }

    #[inline(always)]
    fn try_candidates(&self, e: [f32; 3], q: [i32; 3], costs: &Costs, k: u32, best: &mut ([i32; 3], f32)) {
        // By axis: the nearest value, and the one closer to zero.
        let mut values = [[0i32; 2]; 3];
        let mut squares = [[0f32; 2]; 3];
        let mut places = [[0u32; 2]; 3];
        let parity = 216 * (q[0] & 1) as u32;
        for a in 0..3 {
            let inward = q[a] - 2 * q[a].signum() * i32::from(q[a].unsigned_abs() > 1);
            values[a] = [q[a], inward];
            for n in 0..2 {
                let d = e[a] - values[a][n].wrapping_mul(self.step) as f32;
                squares[a][n] = d * d;
                places[a][n] = token::class(values[a][n], k) * [36, 6, 1][a];
            }
        }
        let mut all = [0f32; 8];
        for n in 0..8 {
            let at = [n & 1, n >> 1 & 1, n >> 2];
            let square = squares[0][at[0]] + squares[1][at[1]] + squares[2][at[2]];
            let place = parity + places[0][at[0]] + places[1][at[1]] + places[2][at[2]];
            let cost = costs.bits[(place as usize).min(COSTS - 1)] + self.bits_per_square * square;
            all[n] = if square > self.square_bound { f32::MAX } else { cost };
        }
        for (n, &cost) in all.iter().enumerate() {
            if cost < best.1 {
                *best = ([values[0][n & 1], values[1][n >> 1 & 1], values[2][n >> 2]], cost);
            }
        }
    }

    /// Searches many residuals, for the few vertices where rounding rules out the first choice.
    #[cold]
    fn search(&self, target: &FrameTarget, v: usize, base: [W; 3]) -> ([i32; 3], bool) {
        let one = f64::from(1u32 << fraction_bits::<W>());
        let e = [0, 1, 2].map(|k| {
            let d = f64::from(target.fixed[v][k]) / one - f64::from(base[k].to_i32());
            // Differences are modulo the width of fixed-point positions.
            let turn = f64::from(W::BITS).exp2();
            d - (d / turn).round() * turn
        });
        let y = e.map(|e| e / f64::from(self.step));
        let centre = lattice::nearest_exact(y, self.lattice);
        if self.is_within_radius(target, v, base, centre) {
            return (centre, true);
        }
        for n in 0..125 {
            let d = [n % 5 - 2, n / 5 % 5 - 2, n / 25 - 2];
            let even = d.iter().all(|d| d & 1 == 0);
            let odd = d.iter().all(|d| d & 1 == 1);
            if even || odd && self.lattice == Lattice::Centred {
                let q = [0, 1, 2].map(|k| centre[k] + d[k]);
                if self.is_within_radius(target, v, base, q) {
                    return (q, true);
                }
            }
        }
        (centre, false)
    }
}

/// `true` if the head of a frame can hold all levels of a hierarchy.
pub fn levels_fit(hierarchy: &Hierarchy) -> bool {
    hierarchy.level_count() <= MAX_LEVELS
}
