//! Chains: points coded frame after frame, each predicted by its own motion. An event in the life of a point
//! is coded once, not again at each key frame. Lossless, except that the encoder chooses positions within the
//! error bound.
//!
//! ```text
//! chain     varint size of the first string, the first string (entropy/range.rs), and to the end the second one (entropy/symbols.rs)
//! first     for each stream its law; then for each frame: kind; of kind 1 its points; for each stream and point that the frame
//!           before has: is it elsewhere than expected?, if so, and it moves: does it stop?
//!           if it does not, how long its residual is
//! second    the rest of residuals, even bits (entropy/symbols.rs)
//! kind      0 hidden · 1 points of its own · 2 those of the frame before
//! point     goes on with its velocity, which what was missed corrects, the less the longer it was right; see motion.rs
//! born      less the one that was born before it; of curves the point before, or the start of the curve before
//! ```
//!
//! A decoder keeps the points from frame to frame. The state of the last frame can be saved, so that decoding
//! resumes after any frame whose state was saved.

mod motion;
#[cfg(feature = "encode")]
mod write;

use super::{Coder, Contexts, NONE, Points, Room, Shape};
use crate::Corrupt;
use crate::bytes::Cursor;
use crate::entropy::range::{self, Bits, Chance};
use crate::entropy::symbols;
use crate::quantize::code::Code;
use crate::values::changing::Number;
use motion::{LONGEST, Law, MOST_LAW, Motion, Next, Statistics, check_components, length, stride};
#[cfg(feature = "encode")]
pub use write::{Given, Values, encode};

/// The number of 32-bit words per point in the saved state of a frame, from which decoding can resume, for
/// this many components. The values themselves are not among them.
pub const fn state_words(components: usize) -> usize {
    stride(components) - components
}

/// A stream: its number of components, and the bytes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The number of components, 1 to 4.
    pub components: usize,
    /// The bytes of a value: 1, 2 or 4.
    pub word: usize,
}

impl Stream {
    fn wrap(self, value: i32) -> i32 {
        match self.word {
            1 => i32::from(value as u8),
            2 => i32::from(value as u16),
            _ => value,
        }
    }
}

/// The kind of points, and their maximum numbers.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    /// The kind of points: with ids, or of curves.
    pub shape: Shape,
    /// The largest number of points of a frame.
    pub points: usize,
    /// The largest number of curves of a frame.
    pub curves: usize,
    /// The streams.
    pub streams: &'a [Stream],
}

/// The points of a frame, and their motion: [`stride`] numbers per point in each stream.
#[derive(Clone, Debug, Default)]
struct Frame {
    count: usize,
    run: u32,
    ids: Vec<u64>,
    curves: Vec<u32>,
    streams: Vec<Vec<i32>>,
}

impl Frame {
    fn clear(&mut self, streams: usize) {
        (self.count, self.run) = (0, 0);
        self.ids.clear();
        self.curves.clear();
        self.streams.resize_with(streams, Vec::new);
        self.streams.iter_mut().for_each(Vec::clear);
    }

    fn points(&self) -> Points<'_> {
        Points { count: self.count, run: self.run, ids: &self.ids, curves: &self.curves }
    }
}

/// The last frame of a chain. Buffers are reused; within [`Chain::reserve`] nothing is allocated.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    now: Frame,
    before: Frame,
    /// For each point, its number in the frame before, or [`NONE`].
    at: Vec<u32>,
    /// For each point, `true` if a curve begins here.
    starts: Vec<bool>,
    /// The motion parameters of the streams in the current access unit.
    laws: Vec<Law>,
    statistics: Vec<Statistics>,
}

impl Chain {
    /// Allocates memory for frames of this layout.
    pub fn reserve(&mut self, layout: Layout<'_>) {
        fn room<T>(list: &mut Vec<T>, count: usize) {
            list.reserve(count.saturating_sub(list.len()));
        }
        for frame in [&mut self.now, &mut self.before] {
            room(&mut frame.ids, if layout.shape.ids { layout.points } else { 0 });
            room(&mut frame.curves, layout.curves);
            if frame.streams.len() < layout.streams.len() {
                frame.streams.resize_with(layout.streams.len(), Vec::new);
            }
            for (list, stream) in frame.streams.iter_mut().zip(layout.streams) {
                room(list, stride(stream.components).saturating_mul(layout.points));
            }
        }
        room(&mut self.at, layout.points);
        room(&mut self.starts, layout.points);
        room(&mut self.laws, layout.streams.len());
        room(&mut self.statistics, layout.streams.len());
    }

    /// Returns the bytes of memory for this many points and curves.
    pub fn bytes(points: u64, curves: u64, components: impl Iterator<Item = usize>) -> u64 {
        let (mut words, mut learnt) = (0, 0);
        for n in components {
            words += 4 * stride(n) as u64;
            learnt += (size_of::<Law>() + size_of::<Statistics>() + 2 * size_of::<Vec<i32>>()) as u64;
        }
        let of_points = points.saturating_mul(2 * (8 + words) + 5);
        of_points.saturating_add(curves.saturating_mul(8)).saturating_add(learnt)
    }

    /// Begins without points.
    pub fn clear(&mut self, streams: usize) {
        self.now.clear(streams);
    }

    /// Resumes from a frame of these points; [`Chain::take_up`] then restores its streams.
    pub fn start(&mut self, points: Points<'_>, streams: usize) {
        self.now.clear(streams);
        (self.now.count, self.now.run) = (points.count, points.run);
        self.now.ids.extend_from_slice(points.ids);
        self.now.curves.extend_from_slice(points.curves);
    }

    /// Restores a stream of that frame: its values, component-major, and its state from [`Chain::keep`].
    pub fn take_up<W: Code>(
        &mut self,
        stream: usize,
        components: usize,
        values: &[W],
        kept: &[u32],
    ) -> Result<(), Corrupt> {
        check_components(components)?;
        let (count, own) = (self.now.count, stride(components) - components);
        if values.len() != count * components || kept.len() < count * own {
            return Err(Corrupt("particles: a chain from a frame of other points"));
        }
        let Some(list) = self.now.streams.get_mut(stream) else {
            return Err(Corrupt("particles: a stream more than the chain has"));
        };
        list.clear();
        for (v, kept) in kept.chunks_exact(own).take(count).enumerate() {
            list.extend((0..components).map(|k| values[k * count + v].to_u32() as i32));
            list.extend(kept.iter().map(|word| *word as i32));
        }
        Ok(())
    }

    /// Saves the state from which decoding can resume after this frame: [`state_words`] for each point.
    pub fn keep(&self, stream: usize, components: usize, out: &mut [u32]) {
        let points = self.now.streams[stream].chunks_exact(stride(components));
        for (out, point) in out.chunks_exact_mut(state_words(components)).zip(points) {
            out.iter_mut().zip(&point[components..]).for_each(|(out, word)| *out = *word as u32);
        }
    }

    /// Returns the points of the last frame.
    pub fn points(&self) -> Points<'_> {
        self.now.points()
    }

    /// Writes the values of the last frame, component-major.
    pub fn values<W: Code>(&self, stream: usize, components: usize, out: &mut [W]) {
        let count = self.now.count;
        let points = self.now.streams[stream].chunks_exact(stride(components));
        for (v, point) in points.enumerate() {
            (0..components).for_each(|k| out[k * count + v] = W::wrap32(point[k] as u32));
        }
    }

    /// Finds the points of the frame in the one before.
    fn find(&mut self) {
        let (now, before) = (&self.now, &self.before);
        self.at.clear();
        self.at.resize(now.count, NONE);
        if now.ids.is_empty() {
            if now.run > 0 && now.run == before.run && now.count == before.count {
                (0..).zip(&mut self.at).for_each(|(v, at)| *at = v);
            }
        } else {
            let mut next = 0;
            for (id, at) in now.ids.iter().zip(&mut self.at) {
                while before.ids.get(next).is_some_and(|other| other < id) {
                    next += 1;
                }
                if before.ids.get(next) == Some(id) {
                    *at = next as u32;
                }
            }
        }
        self.starts.clear();
        self.starts.resize(now.count, false);
        let mut first = 0;
        for &length in &now.curves {
            if let Some(start) = self.starts.get_mut(first) {
                *start = true;
            }
            first += length as usize;
        }
    }
}

/// The outcome for a point: it is where expected, or elsewhere; then it stops, or has a residual.
#[derive(Clone, Copy, Debug)]
struct Fate<const N: usize> {
    is_elsewhere: bool,
    stops: bool,
    residual: [i32; N],
}

impl<const N: usize> Fate<N> {
    const EXPECTED: Fate<N> = Fate { is_elsewhere: false, stops: false, residual: [0; N] };
}

/// Decides the outcome for each point. In a decoder the decision is read from the file.
trait Choice {
    /// Returns the outcome for point `v`, which is expected at `expected`, or stays at `last`.
    fn fate<const N: usize>(
        &mut self,
        v: usize,
        expected: &[i32; N],
        last: Option<&[i32; N]>,
        sizes: &[motion::Sizes; 4],
    ) -> Fate<N>;
}

struct Told;

impl Choice for Told {
    fn fate<const N: usize>(
        &mut self,
        _: usize,
        _: &[i32; N],
        _: Option<&[i32; N]>,
        _: &[motion::Sizes; 4],
    ) -> Fate<N> {
        Fate::EXPECTED
    }
}

/// The bits of residuals below their highest bit, and their signs: of even probability.
trait Plain {
    /// Codes this many bits; a decoder ignores `value`.
    fn code(&mut self, bits: u32, value: u32) -> u32;
}

impl Plain for symbols::Decoder<'_> {
    #[inline]
    fn code(&mut self, bits: u32, _: u32) -> u32 {
        self.even(bits)
    }
}

/// Returns the bits below the highest bit of a residual of `length` bits, with the sign as the lowest bit.
fn unsigned(length: u32, residual: i32) -> u32 {
    let low = residual.unsigned_abs() & ((1 << (length - 1)) - 1);
    low << 1 | u32::from(residual < 0)
}

/// Inverse of [`unsigned`].
fn signed(length: u32, plain: u32) -> i32 {
    let size = (1 << (length - 1) | plain >> 1) as i32;
    if plain & 1 == 1 { -size } else { size }
}

/// The coder of both directions, encoding and decoding.
struct Both<B, S> {
    coder: Coder<B>,
    plain: S,
}

/// Contexts for the motion parameters.
#[derive(Default)]
struct LawContexts {
    grain: Number,
    memory: Number,
    pull: [Number; 3],
    broken: Number,
}

impl LawContexts {
    fn code<B: Bits<Context = Chance>>(&mut self, bits: &mut B, components: usize, law: Law) -> Law {
        let most = |value: i32| value.clamp(-MOST_LAW, MOST_LAW);
        let grain = self.grain.code(bits, law.grain as u32 - 1).min(super::values::MOST_GRAIN) as i32 + 1;
        let memory = self.memory.code(bits, law.memory - 3).min(LONGEST - 3) + 3;
        let mut out = Law { grain, memory, ..Law::default() };
        for k in 0..components {
            for (i, number) in self.pull.iter_mut().enumerate() {
                out.pull[k][i] = most(number.signed(bits, law.pull[k][i]));
            }
            let usual = Law::default().broken[k];
            for i in 0..2 {
                let more = self.broken.signed(bits, law.broken[k][i].wrapping_sub(usual[i]));
                out.broken[k][i] = most(usual[i].saturating_add(more)).clamp(-4096, 4096);
            }
        }
        out
    }
}

impl<B: Bits<Context = Chance>, S: Plain> Both<B, S> {
    fn new(bits: B, plain: S) -> Both<B, S> {
        let coder = Coder { bits, contexts: Contexts::default() };
        Both { coder, plain }
    }

    fn laws(&mut self, streams: &[Stream], given: &[Law], chain: &mut Chain) -> Result<(), Corrupt> {
        let mut contexts = LawContexts::default();
        chain.laws.clear();
        chain.statistics.clear();
        for (s, stream) in streams.iter().enumerate() {
            check_components(stream.components)?;
            let given = given.get(s).copied().unwrap_or_default();
            chain.laws.push(contexts.code(&mut self.coder.bits, stream.components, given));
            chain.statistics.push(Statistics::default());
        }
        Ok(())
    }

    /// Codes the points of the next frame; `given` are those of an encoder. Returns `true` if the frame is
    /// shown.
    fn points(
        &mut self,
        layout: Layout<'_>,
        chain: &mut Chain,
        kind: u32,
        given: Points<'_>,
    ) -> Result<bool, Corrupt> {
        let Chain { now, before, .. } = chain;
        std::mem::swap(now, before);
        now.clear(layout.streams.len());
        before.streams.resize_with(layout.streams.len(), Vec::new);
        match self.coder.contexts.kind.code(&mut self.coder.bits, kind) {
            0 => return Ok(false),
            1 => {
                now.ids.resize(if layout.shape.ids { layout.points } else { 0 }, 0);
                now.curves.resize(if layout.shape.curves { layout.curves } else { 0 }, 0);
                let mut room = Room { ids: &mut now.ids, curves: &mut now.curves, count: layout.points };
                let found = self.coder.points(layout.shape, &[before.points()], given, &mut room)?;
                (now.count, now.run) = (found.count, found.run);
                now.ids.truncate(found.count);
                now.curves.truncate(found.curves);
            }
            2 => {
                (now.count, now.run) = (before.count, before.run);
                now.ids.extend_from_slice(&before.ids);
                now.curves.extend_from_slice(&before.curves);
            }
            _ => return Err(Corrupt("particles: a frame of a chain of no kind")),
        }
        chain.find();
        Ok(true)
    }

    fn stream<C: Choice>(
        &mut self,
        (s, stream): (usize, Stream),
        chain: &mut Chain,
        choice: &mut C,
    ) -> Result<(), Corrupt> {
        match stream.components {
            1 => self.walk::<C, 1>((s, stream), chain, choice),
            2 => self.walk::<C, 2>((s, stream), chain, choice),
            3 => self.walk::<C, 3>((s, stream), chain, choice),
            _ => self.walk::<C, 4>((s, stream), chain, choice),
        }
    }

    fn walk<C: Choice, const N: usize>(
        &mut self,
        (s, stream): (usize, Stream),
        chain: &mut Chain,
        choice: &mut C,
    ) -> Result<(), Corrupt> {
        let Chain { now, before, at, starts, laws, statistics } = chain;
        let mut learnt = Learnt { stream, law: laws[s], statistics: &mut statistics[s] };
        let (from, to) = (&before.streams[s], &mut now.streams[s]);
        to.clear();
        to.resize(stride(N) * now.count, 0);
        let curves = !now.curves.is_empty();
        let mut near = 0;
        let (mut born, mut start) = (None::<usize>, None::<usize>);
        for v in 0..now.count {
            let point = stride(N) * v;
            let was = match at[v] {
                NONE => None,
                at => from.chunks_exact(stride(N)).nth(at as usize),
            };
            let own = match was {
                Some(was) => {
                    let was = Motion::<N>::read(was);
                    self.point(&mut learnt, v, (&was, &mut near), choice)
                }
                None => {
                    let like = if curves && starts[v] { start } else { born };
                    let like = like.map_or([0; N], |v| std::array::from_fn(|k| to[stride(N) * v + k]));
                    born = Some(v);
                    self.born(&mut learnt, v, like, choice)
                }
            };
            if curves && starts[v] {
                (start, born) = (Some(v), Some(v));
            } else if curves {
                born = Some(v);
            }
            own.write(&mut to[point..point + stride(N)]);
        }
        Ok(())
    }

    #[inline]
    fn residual<const N: usize>(&mut self, sizes: &mut [motion::Sizes; 4], wanted: [i32; N]) -> [i32; N] {
        let mut longest = 0;
        std::array::from_fn(|k| {
            let own = sizes[k].code(&mut self.coder.bits, longest, length(wanted[k]));
            longest = longest.max(own);
            match own {
                0 => 0,
                _ => signed(own, self.plain.code(own, unsigned(own, wanted[k]))),
            }
        })
    }

    /// Codes a point that the frame before does not have.
    fn born<C: Choice, const N: usize>(
        &mut self,
        learnt: &mut Learnt<'_>,
        v: usize,
        like: [i32; N],
        choice: &mut C,
    ) -> Motion<N> {
        let sizes = &mut learnt.statistics.sizes[0];
        let wanted = choice.fate(v, &like, None, sizes).residual;
        let residual = self.residual(sizes, wanted);
        Motion::born(learnt.code(&like, &residual))
    }

    /// Codes a point that the frame before has. `near`: the outcome for the point before it.
    #[inline]
    fn point<C: Choice, const N: usize>(
        &mut self,
        learnt: &mut Learnt<'_>,
        v: usize,
        (was, near): (&Motion<N>, &mut usize),
        choice: &mut C,
    ) -> Motion<N> {
        let law = learnt.law;
        let next: Next<N> = was.next(&law);
        let expected = next.code().map(|code| learnt.stream.wrap(code));
        let (may_stop, class) = (was.moves(), was.class());
        let Statistics { missed, stops, sizes } = &mut *learnt.statistics;
        let fate = choice.fate(v, &expected, may_stop.then_some(&was.code), &sizes[class]);
        let bits = &mut self.coder.bits;
        if !bits.bit(&mut missed[was.context(*near)], fate.is_elsewhere) {
            *near = 0;
            return was.moved(&law, &next, expected, &[0; N]);
        }
        if may_stop && bits.bit(&mut stops[was.stop_context(law.grain)], fate.stops) {
            *near = 2;
            return was.stopped();
        }
        let residual = self.residual(&mut sizes[class], fate.residual);
        *near = if residual.iter().all(|r| r.unsigned_abs() < 2) { 1 } else { 2 };
        was.moved(&law, &next, learnt.code(&expected, &residual), &residual)
    }
}

/// A stream in an access unit.
struct Learnt<'a> {
    stream: Stream,
    law: Law,
    statistics: &'a mut Statistics,
}

impl Learnt<'_> {
    fn code<const N: usize>(&self, expected: &[i32; N], residual: &[i32; N]) -> [i32; N] {
        let at = |k: usize| expected[k].wrapping_add(residual[k].wrapping_mul(self.law.grain));
        std::array::from_fn(|k| self.stream.wrap(at(k)))
    }
}

/// Decodes the bytes that [`encode`] wrote, frame after frame.
pub struct Reader<'a> {
    both: Both<range::Decoder<'a>, symbols::Decoder<'a>>,
}

impl<'a> Reader<'a> {
    /// Starts with all bytes of an access unit, which is decoded into this chain.
    pub fn new(bytes: &'a [u8], streams: &[Stream], chain: &mut Chain) -> Result<Reader<'a>, Corrupt> {
        let mut cursor = Cursor::new(bytes);
        let size = cursor.varint()?;
        let first = cursor.take(size as usize)?;
        let second = cursor.take(cursor.left())?;
        let mut both = Both::new(range::Decoder::new(first), symbols::Decoder::new(second));
        both.laws(streams, &[], chain)?;
        Ok(Reader { both })
    }

    /// Decodes the next frame, which follows the one in `chain`. Returns `true` if it is shown.
    pub fn frame(&mut self, layout: Layout<'_>, chain: &mut Chain) -> Result<bool, Corrupt> {
        if !self.both.points(layout, chain, 0, Points::default())? {
            return Ok(false);
        }
        if chain.laws.len() != layout.streams.len() {
            return Err(Corrupt("particles: a chain of other streams"));
        }
        for (s, &stream) in layout.streams.iter().enumerate() {
            self.both.stream((s, stream), chain, &mut Told)?;
        }
        Ok(true)
    }

    /// Refuses bytes that were not used.
    pub fn finish(self) -> Result<(), Corrupt> {
        self.both.coder.bits.finish()?;
        self.both.plain.finish()
    }
}

#[cfg(test)]
mod tests;
