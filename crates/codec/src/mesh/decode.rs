//! The decoder, plain: the meaning of every byte, and the oracle of the fast ones.
//!
//! **Static part**
//!
//! | size | name | meaning |
//! |---|---|---|
//! | 1 | `flags` | bit 0: cells are i32 · bits 1–3: number of the fit of spatial weights ([`crate::mesh::weights::FITS`]) · bits 4–7: 0, or number of the default set of tables ([`crate::mesh::defaults`]) |
//! | 4 | `unit` | f32, length of a unit |
//! | 12 | `centre` | 3 × f32 |
//! | varint × 6 | `steps` | units of a half step by layer, 1 … 65535 |
//! | varint | `size` | bytes of the tables, not with a default set |
//! | `size` | `tables` | see [`crate::mesh::tables`], not with a default set |
//! | rest | `frame 0` | a unit of one frame without references |
//!
//! **Unit**
//!
//! | size | name | meaning |
//! |---|---|---|
//! | 1 | `kind` | bits 0–1: 0 = all residuals are zero, 1 = tokens, 2 = packed: [`crate::mesh::pack`] follows the heads · bits 2–4: log₂ of the number of lanes, 0 … 4 · others 0 |
//! | … | `heads` | bits, lowest first, padded with zeros to a byte: per frame the coefficients of its references but the first, then ρ of each level but 0 |
//! | varint | `words` | number of 16-bit words (tokens only, as all that follows) |
//! | 4 × lanes | `states` | first states of the lanes |
//! | 2 × words | | what the lanes take |
//! | rest | `raw` | raw bits of the vertices |
//!
//! Coefficients are signed Exp-Golomb codes of order 4, in 1/256; that of the first reference is 256 − the
//! others. ρ: one bit "as the level before" (before the first one it is 4), else 3 bits, 0 … 4, in quarters.
//! Frame 0 has neither.
//!
//! **Frames** of a unit are decoded side by side: for each level, each 16 vertices of the level, each frame
//! of the unit: these vertices. The lane of a vertex is its place in the level modulo lanes:
//!
//! ```text
//! T      = (Σ c_r · rec_r[v] + 128) >> 8
//! p      = ((Σ W_i · inn[n_i] >> 6) · 4ρ + 512) >> 10                     level 0: 0
//! k      = context of (magnitudes of inn[n_i], of rec_0[v], rec_1[v])
//! q      = token and raw bits of v
//! inn[v] = p + S·q            rec[v] = T + inn[v]           magnitude of both: |q|
//! ```
//!
//! In frame 0 T = 0 and p is the mean of the ring, or in level 0 the root before.

use crate::Corrupt;
use crate::bytes::Cursor;
use crate::entropy::rans::{self, LANES};
use crate::mesh::bundle::{self, BLOCK, BUNDLE, Bundle, Reference};
use crate::mesh::hierarchy::Hierarchy;
use crate::mesh::pack::{self, Unpacker};
use crate::mesh::shared::{Form, Sets, Shared};
use crate::mesh::tables::{self, LAYERS, NEAR};
use crate::mesh::token::{self, BitReader, ESCAPE, RAW_BITS};
use crate::mesh::weights::{self, FITS};
use crate::quantize::fixed::Cell;
use crate::quantize::lattice::Grid;
use crate::schedule::{REFERENCES, Schedule, UNIT_FRAMES, Unit};
use crate::simd::isa::Isa;
use std::sync::Arc;

pub use crate::mesh::bundle::scratch_len;

/// A decoded vector: x, y, z and the magnitude of its residual.
pub type Vector<W> = [W; 4];

/// Frame 0 in one of the two widths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum First {
    /// Cells are i16.
    Narrow(Vec<Vector<i16>>),
    /// Cells are i32.
    Wide(Vec<Vector<i32>>),
}

/// What all units of a mesh need; made once.
#[derive(Debug, Clone)]
pub struct Static {
    /// Unit, middle, steps.
    pub grid: Grid,
    /// Level order of the points.
    pub hierarchy: Hierarchy,
    /// Four coarser vertices each; those that a vertex does not have are its first one again (roots: 0), with
    /// weight 0. Empty where the plan has them.
    neighbours: Vec<[u32; 4]>,
    /// In 1/4096.
    weights: Vec<[i16; 4]>,
    /// The tables, shared with all that have the same.
    pub tables: Arc<Shared>,
    /// Frame 0.
    pub first: First,
    #[cfg(target_arch = "x86_64")]
    plan: Option<crate::mesh::avx2::Plan>,
}

/// Cells that a decoder can choose between at run time.
pub trait Width: Cell {
    /// Frame 0, if it has this width.
    fn first(s: &Static) -> Option<&[Vector<Self>]>;

    /// Decodes the frames of a bundle with the kernel for this machine and width.
    fn decode_bundle(
        _: Isa,
        s: &Static,
        bundle: &Bundle<Self>,
        body: &mut Body,
        out: &mut [&mut [Vector<Self>]],
        scratch: &mut [Vector<Self>],
    ) {
        bundle::decode_scalar(s, bundle, body, out, scratch);
    }
}

impl Width for i16 {
    fn first(s: &Static) -> Option<&[Vector<i16>]> {
        match &s.first {
            First::Narrow(f) => Some(f),
            First::Wide(_) => None,
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn decode_bundle(
        isa: Isa,
        s: &Static,
        bundle: &Bundle<i16>,
        body: &mut Body,
        out: &mut [&mut [Vector<i16>]],
        scratch: &mut [Vector<i16>],
    ) {
        let source = &mut body.source;
        let done = match (isa, &s.plan) {
            (Isa::Avx2(isa), Some(plan)) => {
                isa.avx512().is_some_and(|isa| {
                    crate::mesh::avx512::decode(isa, plan, s, bundle, source, out, scratch)
                }) || crate::mesh::avx2::decode(isa, plan, s, bundle, source, out, scratch)
            }
            _ => false,
        };
        if !done {
            bundle::decode_scalar(s, bundle, body, out, scratch);
        }
    }
}

impl Width for i32 {
    fn first(s: &Static) -> Option<&[Vector<i32>]> {
        match &s.first {
            First::Narrow(_) => None,
            First::Wide(f) => Some(f),
        }
    }
}

/// Flag of the static part: cells are i32.
pub(super) const WIDE: u8 = 1;
/// Lowest bit of the number of the fit.
pub(super) const FIT_SHIFT: u32 = 1;
/// Lowest bit of the number of the default set of tables.
pub(super) const SET_SHIFT: u32 = 4;

impl Static {
    /// Decodes the static part for a mesh with this hierarchy. `outside`: what was subtracted from frame 0
    /// before it was coded, in the hierarchy's order. Memory: about 60 bytes per point, and at most half a
    /// megabyte of tables.
    pub fn decode(
        bytes: &[u8],
        hierarchy: Hierarchy,
        outside: Option<&[[i32; 3]]>,
    ) -> Result<Static, Corrupt> {
        Static::read(bytes, hierarchy, outside, true, &mut Sets::default())
    }

    /// The same of a part whose tables others may have too.
    pub fn decode_sharing(
        bytes: &[u8],
        hierarchy: Hierarchy,
        outside: Option<&[[i32; 3]]>,
        sets: &mut Sets,
    ) -> Result<Static, Corrupt> {
        Static::read(bytes, hierarchy, outside, true, sets)
    }

    /// `more`: with what other frames need.
    fn read(
        bytes: &[u8],
        hierarchy: Hierarchy,
        outside: Option<&[[i32; 3]]>,
        more: bool,
        sets: &mut Sets,
    ) -> Result<Static, Corrupt> {
        let mut c = Cursor::new(bytes);
        let (flags, grid) = head(&mut c)?;
        let fit = usize::from(flags >> FIT_SHIFT) % FITS.len();
        let tables = match flags >> SET_SHIFT {
            0 => {
                let size = c.varint()? as usize;
                sets.own_set(c.take(size)?, hierarchy.order.len())?
            }
            number => sets.default_set(number)?,
        };
        let mut out = Static {
            grid,
            neighbours: Vec::new(),
            weights: Vec::new(),
            tables,
            first: First::Narrow(Vec::new()),
            #[cfg(target_arch = "x86_64")]
            plan: None,
            hierarchy,
        };
        let rest = c.take(c.left())?;
        if outside.is_some_and(|o| o.len() != out.points()) {
            return Err(Corrupt("static part: another number of points outside"));
        }
        if flags & WIDE == 0 {
            let first = first_frame::<i16>(&out, rest)?;
            if more {
                (out.neighbours, out.weights) = solve(&out.hierarchy, &first, outside, fit);
            }
            out.first = First::Narrow(first);
            #[cfg(target_arch = "x86_64")]
            if more {
                out.plan = crate::mesh::avx2::Plan::new(&out.neighbours, &out.weights, &out.tables);
                if out.plan.is_some() {
                    (out.neighbours, out.weights) = Default::default();
                }
            }
        } else {
            let first = first_frame::<i32>(&out, rest)?;
            if more {
                (out.neighbours, out.weights) = solve(&out.hierarchy, &first, outside, fit);
            }
            out.first = First::Wide(first);
        }
        Ok(out)
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.hierarchy.order.len()
    }

    /// Coarser neighbours of a vertex, and their weights in 1/4096.
    #[inline(always)]
    pub fn near(&self, v: usize) -> ([u32; 4], [i16; 4]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(plan) = &self.plan {
            return plan.near_of(v);
        }
        (self.neighbours[v], self.weights[v])
    }
}

/// Whether cells of a static part are i32.
pub fn is_wide(bytes: &[u8]) -> Result<bool, Corrupt> {
    Ok(Cursor::new(bytes).u8()? & WIDE != 0)
}

/// What a static part begins with: flags, unit, centre, steps.
fn head(c: &mut Cursor<'_>) -> Result<(u8, Grid), Corrupt> {
    let flags = c.u8()?;
    let grid = Grid {
        unit: c.f32()?,
        centre: [c.f32()?, c.f32()?, c.f32()?],
        steps: {
            let mut steps = [0; LAYERS];
            for s in &mut steps {
                *s = u16::try_from(c.varint()?).map_err(|_| Corrupt("step too large"))?;
            }
            steps
        },
    };
    match grid.unit.is_finite() && grid.centre.iter().all(|c| c.is_finite()) {
        true => Ok((flags, grid)),
        false => Err(Corrupt("static part: not a number")),
    }
}

/// Unit and middle of a static part.
pub(crate) fn grid(bytes: &[u8]) -> Result<Grid, Corrupt> {
    Ok(head(&mut Cursor::new(bytes))?.1)
}

/// Positions of frame 0 alone, in the hierarchy's order.
pub fn still(bytes: &[u8], hierarchy: &Hierarchy) -> Result<Vec<[f32; 3]>, Corrupt> {
    let s = Static::read(bytes, hierarchy.clone(), None, false, &mut Sets::default())?;
    Ok(match &s.first {
        First::Narrow(first) => placed(&s.grid, first),
        First::Wide(first) => placed(&s.grid, first),
    })
}

fn placed<W: Cell>(grid: &Grid, cells: &[Vector<W>]) -> Vec<[f32; 3]> {
    let of = |c: &Vector<W>| grid.position([c[0].get(), c[1].get(), c[2].get()]);
    cells.iter().map(of).collect()
}

/// Positions of frame 0, in units.
pub(super) fn positions<W: Cell>(first: &[Vector<W>], outside: Option<&[[i32; 3]]>) -> Vec<[i32; 3]> {
    let position = |v: usize| {
        let base = outside.map_or([0; 3], |o| o[v]);
        [0, 1, 2].map(|k| W::wrap(base[k]).plus(first[v][k]).get())
    };
    (0..first.len()).map(position).collect()
}

/// Neighbours and weights from frame 0, missing neighbours filled.
pub(super) fn solve<W: Cell>(
    hierarchy: &Hierarchy,
    first: &[Vector<W>],
    outside: Option<&[[i32; 3]]>,
    fit: usize,
) -> (Vec<[u32; 4]>, Vec<[i16; 4]>) {
    let positions = positions(first, outside);
    let mut solved = weights::solve_as(hierarchy, &positions, weights::FITS[fit]);
    for (v, near) in solved.neighbours.iter_mut().enumerate() {
        let count = hierarchy.ring_of(v).len();
        for k in count.min(4)..4 {
            near[k] = near[0];
        }
    }
    (solved.neighbours, solved.weights)
}

/// Mean of a ring, rounded to nearest.
pub(super) fn ring_mean<W: Cell>(ring: &[u32], frame: &[Vector<W>]) -> [W; 3] {
    let count = ring.len().max(1) as i64;
    [0, 1, 2].map(|k| {
        let sum: i64 = ring.iter().map(|&n| i64::from(frame[n as usize][k].get())).sum();
        W::wrap((2 * sum + count).div_euclid(2 * count) as i32)
    })
}

/// The magnitudes that frame 0 takes its context from.
pub(super) fn ring_context<W: Cell>(ring: &[u32], frame: &[Vector<W>]) -> usize {
    if ring.is_empty() {
        return tables::context(0, NEAR - 1, 0);
    }
    let four = ring.iter().cycle().take(4);
    let sum = four.map(|&n| frame[n as usize][3].get()).sum();
    tables::context(0, tables::near(sum), 0)
}

fn first_frame<W: Cell>(s: &Static, bytes: &[u8]) -> Result<Vec<Vector<W>>, Corrupt> {
    let mut body = Body::new(bytes, blocks(&s.hierarchy), |_| Ok(()))?;
    let mut out: Vec<Vector<W>> = vec![[W::default(); 4]; s.points()];
    let step = i32::from(s.grid.steps[0]);
    for level in 0..s.hierarchy.levels() {
        for (at, v) in s.hierarchy.level(level).enumerate() {
            if at.is_multiple_of(BLOCK) {
                body.start::<W>(s.hierarchy.level(level).len() - at);
            }
            let ring = s.hierarchy.ring_of(v);
            let p = match (ring.is_empty(), v) {
                (false, _) => ring_mean(ring, &out),
                (true, 0) => [W::default(); 3],
                (true, _) => [0, 1, 2].map(|k| out[v - 1][k]),
            };
            let q = body.vertex::<W>(s, at, || ring_context(ring, &out));
            out[v] = add(p, q, step);
        }
    }
    body.finish()?;
    Ok(out)
}

/// `p + S·q`, with the magnitude of q.
#[inline(always)]
pub(super) fn add<W: Cell>(p: [W; 3], q: [i32; 3], step: i32) -> Vector<W> {
    let axis = |k: usize| p[k].plus(W::wrap(q[k].wrapping_mul(step)));
    [axis(0), axis(1), axis(2), W::wrap(token::magnitude(q))]
}

/// Coefficients of a frame's references, and ρ by level in quarters.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// By reference, in 1/256.
    pub coefficients: [i16; REFERENCES],
    /// By level; level 0 has none.
    pub rho: [u8; MAX_LEVELS],
}

/// Most levels of a hierarchy.
pub(super) const MAX_LEVELS: usize = 128;
/// ρ before the first level, in quarters.
pub(super) const FIRST_RHO: u8 = 4;
/// Order of the coefficients' Exp-Golomb code.
pub(super) const ORDER: u32 = 4;
/// Largest coefficient.
pub(super) const MAX_COEFFICIENT: i32 = 8191;

impl Head {
    const EMPTY: Head = Head { coefficients: [0; REFERENCES], rho: [0; MAX_LEVELS] };

    fn read(r: &mut BitReader, references: usize, levels: usize) -> Result<Head, Corrupt> {
        let mut head = Head::EMPTY;
        let mut first = 256;
        for k in 1..references.min(REFERENCES) {
            let zeros = r.peek().trailing_zeros();
            if zeros > 12 {
                return Err(Corrupt("unit: coefficient too large"));
            }
            r.skip(zeros + 1);
            let value = (((1 << zeros) - 1) << ORDER) + r.take(zeros + ORDER);
            let value = (value >> 1) as i32 ^ -((value & 1) as i32);
            if value.abs() > MAX_COEFFICIENT {
                return Err(Corrupt("unit: coefficient too large"));
            }
            head.coefficients[k] = value as i16;
            first -= value;
        }
        head.coefficients[0] = first as i16;
        let mut rho = FIRST_RHO;
        for level in 1..levels {
            if r.take(1) == 0 {
                rho = r.take(3) as u8;
                if rho > 4 {
                    return Err(Corrupt("unit: part too large"));
                }
            }
            head.rho[level] = rho;
        }
        Ok(head)
    }
}

/// Where the residuals of a unit come from.
pub struct Body<'a> {
    pub(super) source: Source<'a>,
    /// The present block, if residuals are packed.
    block: Option<pack::Block>,
}

pub(super) enum Source<'a> {
    Zero,
    Tokens(Tokens<'a>),
    Packed(Unpacker<'a>),
}

pub(super) struct Tokens<'a> {
    pub(super) lanes: usize,
    pub(super) rans: rans::Decoder<'a>,
    pub(super) raw: BitReader<'a>,
}

impl<'a> Body<'a> {
    /// Splits a unit. `heads` reads what stands before the residuals.
    fn new(
        bytes: &'a [u8],
        blocks: usize,
        heads: impl FnOnce(&mut BitReader<'a>) -> Result<(), Corrupt>,
    ) -> Result<Body<'a>, Corrupt> {
        let mut c = Cursor::new(bytes);
        let kind = c.u8()?;
        let rest = c.take(c.left())?;
        let mut bits = BitReader::new(rest);
        heads(&mut bits)?;
        let used = bits.used().ok_or(Corrupt("unit: ends in its heads"))?;
        let mut c = Cursor::new(&rest[used..]);
        let source = match (kind & 3, kind >> 2) {
            (0, 0) => match c.left() {
                0 => Source::Zero,
                _ => return Err(Corrupt("unit: bytes left over")),
            },
            (2, 0) => Source::Packed(Unpacker::new(c.take(c.left())?, blocks)?),
            (1, log) if log <= 4 => {
                let lanes = 1 << log;
                let words = c.varint()? as usize;
                let mut states = [0; LANES];
                for state in &mut states[..lanes] {
                    *state = u32::from_le_bytes(c.array()?);
                }
                let size = words.checked_mul(2).ok_or(Corrupt("unit: too many words"))?;
                let words = c.take(size)?;
                Source::Tokens(Tokens {
                    lanes,
                    rans: rans::Decoder { states, words, next: 0 },
                    raw: BitReader::new(c.take(c.left())?),
                })
            }
            _ => return Err(Corrupt("unit: unknown kind")),
        };
        Ok(Body { source, block: None })
    }

    /// Begins a block of `count` vertices.
    pub(super) fn start<W: Cell>(&mut self, count: usize) {
        if let Source::Packed(packed) = &mut self.source {
            self.block = packed.block(count.min(BLOCK), W::BITS);
        }
    }

    /// Residual of the vertex at place `at` of its level.
    #[inline(always)]
    pub(super) fn vertex<W: Cell>(
        &mut self,
        s: &Static,
        at: usize,
        context: impl FnOnce() -> usize,
    ) -> [i32; 3] {
        let t = match &mut self.source {
            Source::Tokens(t) => t,
            Source::Zero => return [0; 3],
            Source::Packed(_) => return self.block.map_or([0; 3], |b| b[at % BLOCK]),
        };
        let context = context();
        let table = usize::from(s.tables.map[context]);
        let k = tables::shift(context / tables::PAST % NEAR);
        let lane = at & (t.lanes - 1);
        let token = match &s.tables.form {
            Form::Slots(ready) => t.rans.token(lane, |slot| ready.slots[table][slot as usize]),
            Form::Ranges(ranges) => t.rans.token(lane, |slot| ranges[table].entry(slot)),
        };
        if token == ESCAPE {
            return [0; 3].map(|_: i32| W::wrap(t.raw.take(W::BITS) as i32).get());
        }
        let q = token::join(token, t.raw.peek(), k);
        t.raw.skip(u32::from(RAW_BITS[k as usize][usize::from(token)]));
        q
    }

    fn finish(&self) -> Result<(), Corrupt> {
        let finished = match &self.source {
            Source::Zero => true,
            Source::Tokens(t) => t.rans.finished(t.lanes) && t.raw.finished(),
            Source::Packed(p) => p.finished(),
        };
        match finished {
            true => Ok(()),
            false => Err(Corrupt("unit: its residuals do not end where it does")),
        }
    }
}

/// Decodes a unit into `out`, one slice per frame of [`Schedule::frames_of`], each as long as there are
/// points.
///
/// `reference` gives the decoded frames of [`Schedule::needs`]; `scratch` has at least [`scratch_len`]
/// vectors. Nothing is
/// allocated.
/// Key 0 has no bytes: it is copied. After an error `out` holds anything.
pub fn decode_unit<'r, W: Width>(
    s: &Static,
    schedule: &Schedule,
    unit: Unit,
    bytes: &[u8],
    reference: &dyn Fn(u32) -> Option<&'r [Vector<W>]>,
    out: &mut [&mut [Vector<W>]],
    scratch: &mut [Vector<W>],
) -> Result<(), Corrupt> {
    let isa = Isa::get();
    decode_unit_with(isa, s, schedule, unit, bytes, reference, out, scratch)
}

/// [`decode_unit`] with the kernels of one of [`Isa::all`]. The result is the same.
#[allow(clippy::too_many_arguments)]
pub fn decode_unit_with<'r, W: Width>(
    isa: Isa,
    s: &Static,
    schedule: &Schedule,
    unit: Unit,
    bytes: &[u8],
    reference: &dyn Fn(u32) -> Option<&'r [Vector<W>]>,
    out: &mut [&mut [Vector<W>]],
    scratch: &mut [Vector<W>],
) -> Result<(), Corrupt> {
    let frames = schedule.frames_of(unit);
    let points = s.points();
    let first = W::first(s).ok_or(Corrupt("unit: cells of another width"))?;
    if frames.len() != out.len()
        || out.iter().any(|o| o.len() != points)
        || scratch.len() < scratch_len(points)
    {
        return Err(Corrupt("unit: buffers of another size"));
    }
    if s.hierarchy.levels() > MAX_LEVELS {
        return Err(Corrupt("unit: too many levels"));
    }
    if frames.is_empty() || unit == Unit::Key(0) {
        out.iter_mut().for_each(|o| o.copy_from_slice(first));
        return match bytes {
            [] => Ok(()),
            _ => Err(Corrupt("unit: bytes left over")),
        };
    }
    let mut heads = [Head::EMPTY; UNIT_FRAMES];
    let blocks = frames.len() * blocks(&s.hierarchy);
    let mut body = Body::new(bytes, blocks, |bits| {
        for (head, &frame) in heads.iter_mut().zip(frames.iter()) {
            let count = schedule.references(frame).len();
            *head = Head::read(bits, count, s.hierarchy.levels())?;
        }
        Ok(())
    })?;
    let mut layers = [0; BUNDLE];
    let mut all = [[Reference::Known(first); REFERENCES]; BUNDLE];
    for (at, &frame) in frames.iter().enumerate() {
        layers[at] = layer(schedule, frame);
        let references = schedule.references(frame);
        for (k, reference_k) in all[at].iter_mut().enumerate() {
            // References that a frame lacks have coefficient 0.
            let number = references[if k < references.len() { k } else { 0 }];
            let inside = frames[..at].iter().position(|&f| f == number);
            *reference_k = match inside {
                Some(i) => Reference::Inside(i),
                None if number == 0 => Reference::Known(first),
                None => match reference(number) {
                    Some(frame) if frame.len() == points => Reference::Known(frame),
                    Some(_) => return Err(Corrupt("unit: buffers of another size")),
                    None => return Err(Corrupt("unit: a frame it needs is missing")),
                },
            };
        }
    }
    let bundle = Bundle { layers, heads: &heads[..frames.len()], references: all };
    W::decode_bundle(isa, s, &bundle, &mut body, out, scratch);
    body.finish()
}

/// Blocks of a frame.
fn blocks(hierarchy: &Hierarchy) -> usize {
    (0..hierarchy.levels()).map(|l| bundle::blocks(hierarchy.level(l)).count()).sum()
}

/// Layer of a frame: 0 for frame 0, 1 for keys, 1 + depth for others.
pub(super) fn layer(schedule: &Schedule, frame: u32) -> usize {
    match frame {
        0 => 0,
        _ => (1 + schedule.depth(frame) as usize).min(LAYERS - 1),
    }
}

/// Temporal prediction of a whole frame; the fourth component is not used.
#[inline(always)]
pub(super) fn blend<W: Cell>(
    references: [&[Vector<W>]; REFERENCES],
    coefficients: [i16; REFERENCES],
    out: &mut [Vector<W>],
) {
    let [a, b, c, d] = references.map(|r| r.as_flattened());
    let out = out.as_flattened_mut();
    let n = out.len();
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    for i in 0..n {
        out[i] = W::blend([a[i], b[i], c[i], d[i]], coefficients);
    }
}
