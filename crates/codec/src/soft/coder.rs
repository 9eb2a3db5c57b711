//! Codes one frame: prediction, choice of residuals, reconstruction exactly as the decoder's, and the check of the error.

use super::bundle;
use super::cell::Cell;
use super::decode::{self, FIRST_RHO, MAX_COEFFICIENT, MAX_LEVELS, ORDER, Vector};
use super::hierarchy::Hierarchy;
use super::lattice::{self, Choice, Grid, Lattice};
use super::pack::Packer;
use super::rans::{self, LANES, Starts};
use super::schedule::REFERENCES;
use super::tables::{self, NEAR, PAST, Tables};
use super::token::{self, BitReader, BitWriter, ESCAPE, RAW_BITS};
use crate::bytes::put_varint;
use std::ops::Range;

/// What coding a frame needs and does not change.
pub struct Setting<'a> {
    pub grid: Grid,
    pub choice: Choice,
    /// Largest allowed distance, in the unit of the positions.
    pub radius: f64,
    /// The lattice's share of it.
    pub share: f64,
    pub hierarchy: &'a Hierarchy,
    pub neighbours: &'a [[u32; 4]],
    pub weights: &'a [[i16; 4]],
}

/// A frame's source in the hierarchy's order.
#[derive(Debug, Default, Clone)]
pub struct Target {
    /// Positions.
    pub source: Vec<[f32; 3]>,
    /// What is coded, in 1/256 (i32: 1/64) units: position less what is predicted from outside.
    pub fixed: Vec<[i32; 3]>,
    /// What is predicted from outside, in units; empty if nothing is.
    pub outside: Vec<[i32; 3]>,
}

/// Bits of a target's fraction.
pub const fn fraction<W: Cell>() -> u32 {
    if W::BITS == 16 { 8 } else { 6 }
}

impl Target {
    /// Fills `fixed` from the others. False if a position is not finite or lies outside the grid.
    pub fn prepare<W: Cell>(&mut self, grid: &Grid) -> bool {
        let scale = f64::from(1u32 << fraction::<W>()) / f64::from(grid.unit);
        let most = f64::from(W::REACH) * f64::from(1u32 << fraction::<W>());
        let centre = grid.centre.map(f64::from);
        self.fixed.resize(self.source.len(), [0; 3]);
        let mut fits = true;
        for (f, s) in self.fixed.iter_mut().zip(&self.source) {
            for k in 0..3 {
                let x = (f64::from(s[k]) - centre[k]) * scale;
                fits &= x.abs() <= most;
                f[k] = (x + 0.5f64.copysign(x)) as i32;
            }
        }
        for (f, o) in self.fixed.iter_mut().zip(&self.outside) {
            for k in 0..3 {
                f[k] = f[k].wrapping_sub(W::wrap(o[k]).get() << fraction::<W>());
            }
        }
        fits
    }
}

/// Tokens and raw bits of a unit before they are coded.
#[derive(Debug, Default, Clone)]
pub struct Sink {
    pub heads: BitWriter,
    /// Context · 256 + token, frame by frame.
    pub symbols: Vec<u32>,
    /// Layer of each frame.
    pub layers: Vec<usize>,
    pub raw: BitWriter,
    /// Raw bits of an escape.
    pub escape: u32,
    /// What the decoder sees as residuals, frame by frame, where they are to be packed.
    pub residuals: Option<Vec<[i32; 3]>>,
    /// Vertices whose residual is not zero.
    pub corrected: usize,
}

/// Tables ready to code with.
pub struct Coding {
    pub tables: Tables,
    pub starts: Vec<Starts>,
}

impl Coding {
    pub fn new(tables: Tables) -> Coding {
        let starts = tables.tables.iter().map(rans::starts).collect();
        Coding { tables, starts }
    }

    #[inline(always)]
    fn range(&self, context: usize, token: u8) -> (u16, u16) {
        self.starts[usize::from(self.tables.map[context])][usize::from(token)]
    }
}

/// A frame to code.
pub struct Job<'a, W> {
    pub layer: usize,
    pub references: [&'a [Vector<W>]; REFERENCES],
    pub coefficients: [i16; REFERENCES],
    pub count: usize,
    pub target: &'a Target,
}

/// Tuning: vertices of a level by which its ρ is chosen, and the bits that a change must save.
const RHO_SAMPLE: usize = 400;
const RHO_CHANGE: f32 = 6.0;

impl Setting<'_> {
    /// Radius of the ball in which zero will do, in units.
    pub fn ball<W: Cell>(&self) -> f32 {
        let fixed = 3f64.sqrt() / f64::from(2u32 << fraction::<W>());
        (self.share / f64::from(self.grid.unit) * 0.9999 - fixed).max(0.0) as f32
    }

    /// Codes a frame that has references. False if a vertex cannot be brought within the radius.
    pub fn code<W: Cell>(
        &self,
        job: &Job<W>,
        coding: Option<&Coding>,
        out: &mut [Vector<W>],
        innovation: &mut [Vector<W>],
        sink: &mut Sink,
    ) -> bool {
        put_coefficients(job, &mut sink.heads);
        sink.layers.push(job.layer);
        decode::blend(job.references, job.coefficients, out);
        let quantizer = Quantizer::<W>::new(self, job.layer, coding);
        let [r0, r1, ..] = job.references;
        let mut rho = FIRST_RHO;
        let mut good = true;
        for level in 0..self.hierarchy.levels() {
            let range = self.hierarchy.level(level);
            if level > 0 {
                let new = self.choose_rho(job, range.clone(), rho, out, innovation);
                if new == rho {
                    sink.heads.put(1, 1);
                } else {
                    sink.heads.put(u128::from(new) << 1, 4);
                }
                rho = new;
            }
            let factor = 4 * i32::from(rho);
            for v in range {
                let past = r0[v][3].get().max(r1[v][3].get());
                let (p, sum) = if level == 0 {
                    ([W::default(); 3], 4 * past)
                } else {
                    let near = self.neighbours[v].map(|n| innovation[n as usize]);
                    let axis = |k: usize| W::weigh(near.map(|n| n[k]), self.weights[v], factor);
                    let sum = near.iter().map(|n| n[3].get()).sum();
                    ([axis(0), axis(1), axis(2)], sum)
                };
                let t = out[v];
                let base = [0, 1, 2].map(|k| t[k].plus(p[k]));
                let context = tables::context(job.layer, tables::near(sum), tables::past(past));
                let (q, fits) = quantizer.vertex(job.target, v, base, context, sink);
                good &= fits;
                let inn = decode::add(p, q, quantizer.step);
                innovation[v] = inn;
                out[v] = [
                    t[0].plus(inn[0]),
                    t[1].plus(inn[1]),
                    t[2].plus(inn[2]),
                    inn[3],
                ];
            }
        }
        good
    }

    /// Codes frame 0.
    pub fn code_first<W: Cell>(
        &self,
        target: &Target,
        coding: Option<&Coding>,
        out: &mut [Vector<W>],
        sink: &mut Sink,
    ) -> bool {
        sink.layers.push(0);
        let quantizer = Quantizer::<W>::new(self, 0, coding);
        let mut good = true;
        for v in 0..out.len() {
            let ring = self.hierarchy.ring_of(v);
            let p = match (ring.is_empty(), v) {
                (false, _) => decode::ring_mean(ring, out),
                (true, 0) => [W::default(); 3],
                (true, _) => [0, 1, 2].map(|k| out[v - 1][k]),
            };
            let context = decode::ring_context(ring, out);
            let (q, fits) = quantizer.vertex(target, v, p, context, sink);
            good &= fits;
            out[v] = decode::add(p, q, quantizer.step);
        }
        good
    }

    fn choose_rho<W: Cell>(
        &self,
        job: &Job<W>,
        level: std::ops::Range<usize>,
        before: u8,
        temporal: &[Vector<W>],
        innovation: &[Vector<W>],
    ) -> u8 {
        let stride = level.len().div_ceil(RHO_SAMPLE).max(1);
        let ball = self.ball::<W>();
        let inverse = 1.0 / (ball * ball);
        let scale = 1.0 / (1u32 << fraction::<W>()) as f32;
        let mut sums = [0f32; 5];
        let mut products = [1f32; 5];
        for (n, v) in level.clone().step_by(stride).enumerate() {
            let near = self.neighbours[v].map(|n| innovation[n as usize]);
            let w = self.weights[v].map(|w| f32::from(w) * (1.0 / 4096.0));
            let target = job.target.fixed[v];
            let mut e = [0f32; 3];
            let mut p = [0f32; 3];
            for k in 0..3 {
                e[k] = (target[k] as f32) * scale - temporal[v][k].get() as f32;
                for i in 0..4 {
                    p[k] += w[i] * near[i][k].get() as f32;
                }
            }
            for (j, product) in products.iter_mut().enumerate() {
                let rho = j as f32 / 4.0;
                let d = [0, 1, 2].map(|k| e[k] - rho * p[k]);
                let square = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) * inverse;
                let inside = square.min(1.0);
                *product *= 1.0 + 8.0 * square * inside * inside * inside;
            }
            if n % 4 == 3 {
                for j in 0..5 {
                    sums[j] += products[j].min(f32::MAX).log2();
                    products[j] = 1.0;
                }
            }
        }
        for j in 0..5 {
            sums[j] += products[j].min(f32::MAX).log2();
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

fn put_coefficients<W>(job: &Job<W>, out: &mut BitWriter) {
    for &c in &job.coefficients[1..job.count.max(1)] {
        debug_assert!(i32::from(c).abs() <= MAX_COEFFICIENT);
        let c = i32::from(c);
        let value = ((c << 1) ^ (c >> 31)) as u32;
        let bits = ((value >> ORDER) + 1).ilog2();
        let rest = value - (((1 << bits) - 1) << ORDER);
        out.put(1u128 << bits, bits + 1);
        out.put(u128::from(rest), bits + ORDER);
    }
}

/// The choice of one residual.
struct Quantizer<'a, W> {
    grid: Grid,
    lattice: Lattice,
    step: i32,
    /// Square of the ball within which zero will do, in units.
    ball: f32,
    inverse: f32,
    scale: f32,
    /// Square of the radius.
    radius: f64,
    coding: Option<&'a Coding>,
    width: std::marker::PhantomData<W>,
}

impl<'a, W: Cell> Quantizer<'a, W> {
    fn new(setting: &Setting, layer: usize, coding: Option<&'a Coding>) -> Self {
        let step = i32::from(setting.grid.steps[layer]);
        let ball = setting.ball::<W>();
        Quantizer {
            grid: setting.grid,
            lattice: setting.choice.lattice,
            step,
            ball: ball * ball,
            inverse: 1.0 / step as f32,
            scale: 1.0 / (1u32 << fraction::<W>()) as f32,
            radius: setting.radius * setting.radius,
            coding,
            width: std::marker::PhantomData,
        }
    }

    /// True if the decoded position is near enough.
    #[inline(always)]
    fn holds(&self, target: &Target, v: usize, base: [W; 3], q: [i32; 3]) -> bool {
        let mut rec = [0; 3];
        for k in 0..3 {
            let mut c = base[k].plus(W::wrap(q[k].wrapping_mul(self.step)));
            if let Some(outside) = target.outside.get(v) {
                c = c.plus(W::wrap(outside[k]));
            }
            rec[k] = c.get();
        }
        let at = self.grid.position(rec);
        let source = target.source[v];
        let d = [0, 1, 2].map(|k| f64::from(at[k]) - f64::from(source[k]));
        d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= self.radius
    }

    /// Chooses and writes the residual of a vertex whose prediction is `base`; false if none is good enough.
    #[inline(always)]
    fn vertex(
        &self,
        target: &Target,
        v: usize,
        base: [W; 3],
        context: usize,
        sink: &mut Sink,
    ) -> ([i32; 3], bool) {
        let fixed = target.fixed[v];
        let e = [0, 1, 2].map(|k| {
            let base = i64::from(base[k].get()) << fraction::<W>();
            (i64::from(fixed[k]) - base) as f32 * self.scale
        });
        let square = e[0] * e[0] + e[1] * e[1] + e[2] * e[2];
        let mut q = [0; 3];
        if square > self.ball {
            q = lattice::nearest(e.map(|e| e * self.inverse), self.lattice);
            sink.corrected += 1;
        }
        let mut good = self.holds(target, v, base, q);
        if !good {
            (q, good) = self.search(target, v, base);
        }
        let near = context / PAST % NEAR;
        let (mut token, mut bits, mut count) = token::split(q, tables::shift(near), W::BITS);
        if let Some(coding) = self.coding
            && coding.range(context, token).1 == 0
        {
            let mask = (1u128 << W::BITS) - 1;
            let raw = |axis: u32| (q[axis as usize] as u32 as u128 & mask) << (axis * W::BITS);
            (token, bits, count) = (ESCAPE, raw(0) | raw(1) | raw(2), 3 * W::BITS);
        }
        sink.escape = 3 * W::BITS;
        sink.symbols.push((context as u32) << 8 | u32::from(token));
        if count > 0 {
            sink.raw.put(bits, count);
        }
        // What the decoder sees of an escape wraps.
        let q = q.map(|q| W::wrap(q).get());
        if let Some(residuals) = &mut sink.residuals {
            residuals.push(q);
        }
        (q, good)
    }

    /// The best of many, for the few vertices where rounding was against the first choice.
    #[cold]
    fn search(&self, target: &Target, v: usize, base: [W; 3]) -> ([i32; 3], bool) {
        let one = f64::from(1u32 << fraction::<W>());
        let e = [0, 1, 2].map(|k| {
            let d = f64::from(target.fixed[v][k]) / one - f64::from(base[k].get());
            // The way round is as good where cells wrap.
            let turn = f64::from(W::BITS).exp2();
            d - (d / turn).round() * turn
        });
        let y = e.map(|e| e / f64::from(self.step));
        let centre = lattice::nearest_exact(y, self.lattice);
        if self.holds(target, v, base, centre) {
            return (centre, true);
        }
        for n in 0..125 {
            let d = [n % 5 - 2, n / 5 % 5 - 2, n / 25 - 2];
            let even = d.iter().all(|d| d & 1 == 0);
            let odd = d.iter().all(|d| d & 1 == 1);
            if even || odd && self.lattice == Lattice::Centred {
                let q = [0, 1, 2].map(|k| centre[k] + d[k]);
                if self.holds(target, v, base, q) {
                    return (q, true);
                }
            }
        }
        (centre, false)
    }
}

impl Sink {
    /// The bytes of a unit whose frames these are.
    pub fn finish(mut self, hierarchy: &Hierarchy, coding: &Coding) -> Vec<u8> {
        let points = hierarchy.order.len();
        let all_zero = self.raw.is_empty() && self.symbols.iter().all(|s| s & 0xFF == 0);
        let heads = std::mem::take(&mut self.heads).finish();
        if all_zero {
            let mut out = vec![0];
            out.extend_from_slice(&heads);
            return out;
        }
        if let Some(residuals) = self.residuals.take() {
            return self.packed(hierarchy, &residuals, &heads);
        }
        let log = lanes_log(self.symbols.len(), points);
        let lanes = 1usize << log;
        let order = self.order(hierarchy);
        let mut coder = rans::Encoder::default();
        for &(at, place) in order.iter().rev() {
            let symbol = self.symbols[at as usize];
            let range = coding.range((symbol >> 8) as usize, symbol as u8);
            coder.put(place as usize & (lanes - 1), range);
        }
        let (states, words) = coder.finish();
        let raw = self.raw_in(&order);
        let mut out = Vec::with_capacity(80 + heads.len() + 2 * words.len() + raw.len());
        out.push(1 | (log as u8) << 2);
        out.extend_from_slice(&heads);
        put_varint(words.len() as u32, &mut out);
        states[..lanes]
            .iter()
            .for_each(|s| out.extend_from_slice(&s.to_le_bytes()));
        words
            .iter()
            .for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
        out.extend_from_slice(&raw);
        out
    }
}

impl Sink {
    /// The unit with packed residuals.
    fn packed(&self, hierarchy: &Hierarchy, residuals: &[[i32; 3]], heads: &[u8]) -> Vec<u8> {
        let points = hierarchy.order.len();
        let mut packer = Packer::default();
        self.each_block(hierarchy, |f, block, _| {
            let block = f * points + block.start..f * points + block.end;
            packer.put(&residuals[block], self.escape / 3);
        });
        let mut out = vec![2];
        out.extend_from_slice(heads);
        packer.finish(&mut out);
        out
    }

    /// Calls `each` with frame, vertices, and first vertex of the level, in the order of the decoder.
    fn each_block(&self, hierarchy: &Hierarchy, mut each: impl FnMut(usize, Range<usize>, usize)) {
        for level in 0..hierarchy.levels() {
            let range = hierarchy.level(level);
            for block in bundle::blocks(range.clone()) {
                for f in 0..self.layers.len() {
                    each(f, block.clone(), range.start);
                }
            }
        }
    }

    /// Number of each symbol and its place in its level, in the order of the decoder.
    fn order(&self, hierarchy: &Hierarchy) -> Vec<(u32, u32)> {
        let points = hierarchy.order.len();
        let mut out = Vec::with_capacity(self.symbols.len());
        self.each_block(hierarchy, |f, block, level| {
            let number = |v: usize| ((f * points + v) as u32, (v - level) as u32);
            out.extend(block.map(number));
        });
        out
    }

    /// The raw bits in that order.
    fn raw_in(self, order: &[(u32, u32)]) -> Vec<u8> {
        let mut at = 0;
        let place = |&symbol: &u32| {
            let k = tables::shift((symbol >> 8) as usize / PAST % NEAR);
            let bits = match symbol as u8 {
                ESCAPE => self.escape,
                token => u32::from(RAW_BITS[k as usize][usize::from(token)]),
            };
            at += bits as usize;
            (at - bits as usize, bits)
        };
        let places: Vec<(usize, u32)> = self.symbols.iter().map(place).collect();
        let bytes = self.raw.finish();
        let mut out = BitWriter::default();
        for &(n, _) in order {
            let (start, mut bits) = places[n as usize];
            let mut r = BitReader::at(&bytes, start);
            while bits > 0 {
                let now = bits.min(32);
                out.put(u128::from(r.take(now)), now);
                bits -= now;
            }
        }
        out.finish()
    }
}

/// log₂ of the number of lanes: so many that states weigh little.
fn lanes_log(symbols: usize, points: usize) -> u32 {
    let most = LANES.ilog2();
    let by_points = (points / 64).max(1).ilog2();
    let by_symbols = (symbols / 1024).max(1).ilog2();
    most.min(by_points).min(by_symbols)
}

/// True if a hierarchy has no more levels than heads can hold.
pub fn levels_fit(hierarchy: &Hierarchy) -> bool {
    hierarchy.levels() <= MAX_LEVELS
}
