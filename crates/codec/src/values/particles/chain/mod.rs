//! Chains: points coded frame after frame, each predicted by its own motion. An event in the life of a point
//! is coded once, not again at each key frame. Lossless, except that the encoder chooses positions within the
//! error bound.
//!
//! ```text
//! chain     varint size of the first string, the first string (entropy/range.rs), and to the end the second one (entropy/symbols.rs)
//! first     for each stream its law; then for each frame: kind; of kind 1 its points; for each stream and point that the frame
//!           before has: does it differ from the expected value?, if so, and it moves: does it stop?
//!           if it does not, the bit length of its residual
//! second    the rest of the residuals, raw bits (entropy/symbols.rs)
//! kind      0 hidden · 1 points of its own · 2 those of the frame before
//! point     continues with its velocity, which is corrected by the error, the less the longer it was correct; see motion.rs
//! born      minus the value of the point born before it; for curves of the point before, or of the start of the curve before
//! ```
//!
//! For fast decoding there are chains of packed bits (`packed`) instead, with the same points and units.
//!
//! A decoder keeps the points from frame to frame. The state of the last frame can be saved, so that decoding
//! resumes after any frame whose state was saved.

mod blocks;
mod frame;
mod motion;
#[cfg(feature = "encode")]
mod pack;
mod packed;
#[cfg(feature = "encode")]
mod write;

use super::{NO_POINT, ParticleCoder, ParticleContexts, ParticlePoints, PointBuffers};
use crate::Corrupt;
use crate::bytes::Cursor;
use crate::entropy::range::{self, BitCoder, Chance, NumberModel};
use crate::entropy::symbols;
use crate::quantize::code::Code;
pub use frame::{ChainCoding, ChainStream, PointLayout};
use frame::{PointFrame, room};
use motion::{
    ExpectedMotion, MAX_MEMORY, MAX_MOTION_PARAM, MotionParams, MotionStatistics, PointMotion,
    check_components, length,
};
#[cfg(feature = "encode")]
pub use pack::encode;
use packed::{PackedBuffers, PackedFrame, PackedReader};
#[cfg(feature = "encode")]
pub use write::{InputFrame, InputStream};

/// The last frame of a chain. Buffers are reused; within [`Chain::reserve`] nothing is allocated.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    coding: ChainCoding,
    now: PointFrame,
    before: PointFrame,
    /// For each point, its number in the frame before, or [`NO_POINT`].
    previous_points: Vec<u32>,
    /// For each point, `true` if a curve begins here.
    curve_starts: Vec<bool>,
    /// The motion parameters of the streams in the current access unit.
    motion_params: Vec<MotionParams>,
    statistics: Vec<MotionStatistics>,
    packed: PackedBuffers,
}

impl Chain {
    /// Allocates memory for frames of this layout.
    pub fn reserve(&mut self, layout: PointLayout<'_>) {
        for frame in [&mut self.now, &mut self.before] {
            room(&mut frame.ids, if layout.kind.ids { layout.max_points } else { 0 });
            room(&mut frame.curves, layout.max_curves);
            if frame.streams.len() < layout.streams.len() {
                frame.streams.resize_with(layout.streams.len(), Vec::new);
            }
            for (list, stream) in frame.streams.iter_mut().zip(layout.streams) {
                room(list, layout.coding.stride(stream.components).saturating_mul(layout.max_points));
            }
        }
        room(&mut self.curve_starts, layout.max_points);
        if layout.coding == ChainCoding::Packed {
            return self.packed.reserve(layout);
        }
        room(&mut self.previous_points, layout.max_points);
        room(&mut self.motion_params, layout.streams.len());
        room(&mut self.statistics, layout.streams.len());
    }

    /// Returns the bytes of memory for this many points and curves.
    pub fn bytes(
        coding: ChainCoding,
        points: u64,
        curves: u64,
        components: impl Iterator<Item = usize>,
    ) -> u64 {
        let (mut words, mut learnt) = (0, 0);
        for n in components {
            words += 4 * coding.stride(n) as u64;
            learnt += 2 * size_of::<Vec<i32>>() as u64;
            learnt += match coding {
                ChainCoding::Adaptive => size_of::<MotionParams>() + size_of::<MotionStatistics>(),
                ChainCoding::Packed => size_of::<packed::PackedMotion>(),
            } as u64;
        }
        let [each, padding] = match coding {
            ChainCoding::Adaptive => [4, 0],
            ChainCoding::Packed => [PackedBuffers::POINT_BYTES, PackedBuffers::PADDING_BYTES],
        };
        let of_points = points.saturating_mul(2 * (8 + words) + 1 + each);
        of_points.saturating_add(curves.saturating_mul(8)).saturating_add(learnt + padding)
    }

    /// Begins without points.
    pub fn clear(&mut self, layout: PointLayout<'_>) {
        self.coding = layout.coding;
        self.now.clear(layout.streams.len());
    }

    /// Resumes from a frame of these points; [`Chain::restore_stream`] then restores its streams.
    pub fn resume(&mut self, points: ParticlePoints<'_>, layout: PointLayout<'_>) {
        self.clear(layout);
        (self.now.count, self.now.run) = (points.count, points.run);
        self.now.ids.extend_from_slice(points.ids);
        self.now.curves.extend_from_slice(points.curves);
    }

    /// Restores a stream of that frame: its values, component-major, and its state from
    /// [`Chain::save_stream`].
    pub fn restore_stream<W: Code>(
        &mut self,
        stream: usize,
        components: usize,
        values: &[W],
        saved: &[u32],
    ) -> Result<(), Corrupt> {
        check_components(components)?;
        let (count, own) = (self.now.count, self.coding.state_len(components));
        if values.len() != count * components || saved.len() < count * own {
            return Err(Corrupt("particles: a chain from a frame of other points"));
        }
        let Some(list) = self.now.streams.get_mut(stream) else {
            return Err(Corrupt("particles: a stream more than the chain has"));
        };
        list.clear();
        if self.coding == ChainCoding::Packed {
            list.extend(values.iter().map(|value| value.to_u32() as i32));
            list.extend(saved[..count * own].iter().map(|word| *word as i32));
            return Ok(());
        }
        for (v, kept) in saved.chunks_exact(own).take(count).enumerate() {
            list.extend((0..components).map(|k| values[k * count + v].to_u32() as i32));
            list.extend(kept.iter().map(|word| *word as i32));
        }
        Ok(())
    }

    /// Saves the state from which decoding can resume after this frame: [`ChainCoding::state_len`] words for
    /// each point.
    pub fn save_stream(&self, stream: usize, components: usize, out: &mut [u32]) {
        let (state, list) = (self.coding.state_len(components), &self.now.streams[stream]);
        if self.coding == ChainCoding::Packed {
            let motion = &list[components * self.now.count..];
            return out.iter_mut().zip(motion).for_each(|(out, word)| *out = *word as u32);
        }
        let points = list.chunks_exact(self.coding.stride(components));
        for (out, point) in out.chunks_exact_mut(state).zip(points) {
            out.iter_mut().zip(&point[components..]).for_each(|(out, word)| *out = *word as u32);
        }
    }

    /// Returns the points of the last frame.
    pub fn points(&self) -> ParticlePoints<'_> {
        self.now.points()
    }

    /// Writes the values of the last frame, component-major.
    pub fn values<W: Code>(&self, stream: usize, components: usize, out: &mut [W]) {
        let (count, list) = (self.now.count, &self.now.streams[stream]);
        if self.coding == ChainCoding::Packed {
            return out.iter_mut().zip(list).for_each(|(out, code)| *out = W::wrap32(*code as u32));
        }
        let points = list.chunks_exact(self.coding.stride(components));
        for (v, point) in points.enumerate() {
            (0..components).for_each(|k| out[k * count + v] = W::wrap32(point[k] as u32));
        }
    }

    /// Reads the points of the next frame of packed bits. Returns `true` if the frame is shown.
    fn read_packed_points(
        &mut self,
        layout: PointLayout<'_>,
        reader: &mut PackedReader<'_>,
    ) -> Result<bool, Corrupt> {
        self.advance(layout);
        let shown = reader.points(layout, &mut self.now, &self.before, &mut self.packed)?;
        self.find_curve_starts();
        Ok(shown)
    }

    /// Reads the next frame of packed bits.
    fn read_packed(
        &mut self,
        layout: PointLayout<'_>,
        reader: &mut PackedReader<'_>,
    ) -> Result<bool, Corrupt> {
        let shown = self.read_packed_points(layout, reader)?;
        if shown {
            let Chain { now, before, packed, curve_starts, .. } = self;
            reader.streams(layout.streams, PackedFrame { now, before, packed, curve_starts })?;
        }
        Ok(shown)
    }

    /// Goes on to the next frame, which has no points yet.
    fn advance(&mut self, layout: PointLayout<'_>) {
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.clear(layout.streams.len());
        self.before.streams.resize_with(layout.streams.len(), Vec::new);
    }

    /// Finds the points of the frame in the one before.
    fn match_points(&mut self) {
        let (now, before) = (&self.now, &self.before);
        self.previous_points.clear();
        self.previous_points.resize(now.count, NO_POINT);
        if now.ids.is_empty() {
            if now.run > 0 && now.run == before.run && now.count == before.count {
                (0..).zip(&mut self.previous_points).for_each(|(v, at)| *at = v);
            }
        } else {
            let mut next = 0;
            for (id, at) in now.ids.iter().zip(&mut self.previous_points) {
                while before.ids.get(next).is_some_and(|other| other < id) {
                    next += 1;
                }
                if before.ids.get(next) == Some(id) {
                    *at = next as u32;
                }
            }
        }
        self.find_curve_starts();
    }

    /// Finds the points at which curves begin.
    fn find_curve_starts(&mut self) {
        let now = &self.now;
        self.curve_starts.clear();
        self.curve_starts.resize(now.count, false);
        let mut first = 0;
        for &length in &now.curves {
            if let Some(start) = self.curve_starts.get_mut(first) {
                *start = true;
            }
            first += length as usize;
        }
    }
}

/// The outcome for a point: it is where expected, or elsewhere; then it stops, or has a residual.
#[derive(Clone, Copy, Debug)]
struct PointOutcome<const N: usize> {
    is_elsewhere: bool,
    stops: bool,
    residual: [i32; N],
}

impl<const N: usize> PointOutcome<N> {
    const EXPECTED: PointOutcome<N> = PointOutcome { is_elsewhere: false, stops: false, residual: [0; N] };
}

/// Decides the outcome for each point. In a decoder the decision is read from the file.
trait OutcomeChooser {
    /// Returns the outcome for point `v`, which is expected at `expected`, or stays at `last`.
    fn choose<const N: usize>(
        &mut self,
        v: usize,
        expected: &[i32; N],
        last: Option<&[i32; N]>,
        sizes: &[motion::SizeStatistics; 4],
    ) -> PointOutcome<N>;
}

struct DecodedOutcome;

impl OutcomeChooser for DecodedOutcome {
    fn choose<const N: usize>(
        &mut self,
        _: usize,
        _: &[i32; N],
        _: Option<&[i32; N]>,
        _: &[motion::SizeStatistics; 4],
    ) -> PointOutcome<N> {
        PointOutcome::EXPECTED
    }
}

/// The bits of residuals below their highest bit, and their signs: of even probability.
trait RawBits {
    /// Codes this many bits; a decoder ignores `value`.
    fn code_raw_bits(&mut self, bits: u32, value: u32) -> u32;
}

impl RawBits for symbols::Decoder<'_> {
    #[inline]
    fn code_raw_bits(&mut self, bits: u32, _: u32) -> u32 {
        self.raw_bits(bits)
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
struct ChainCoder<B, S> {
    coder: ParticleCoder<B>,
    raw_bits: S,
}

/// Contexts for the motion parameters.
#[derive(Default)]
struct MotionParamContexts {
    grain: NumberModel,
    memory: NumberModel,
    pull: [NumberModel; 3],
    broken: NumberModel,
}

impl MotionParamContexts {
    fn code<B: BitCoder<Context = Chance>>(
        &mut self,
        bits: &mut B,
        components: usize,
        law: MotionParams,
    ) -> MotionParams {
        let most = |value: i32| value.clamp(-MAX_MOTION_PARAM, MAX_MOTION_PARAM);
        let grain = self.grain.code(bits, law.grain as u32 - 1).min(super::prediction::MAX_GRAIN) as i32 + 1;
        let memory = self.memory.code(bits, law.memory - 3).min(MAX_MEMORY - 3) + 3;
        let mut out = MotionParams { grain, memory, ..MotionParams::default() };
        for k in 0..components {
            for (i, number) in self.pull.iter_mut().enumerate() {
                out.pull[k][i] = most(number.signed(bits, law.pull[k][i]));
            }
            let usual = MotionParams::default().broken[k];
            for i in 0..2 {
                let more = self.broken.signed(bits, law.broken[k][i].wrapping_sub(usual[i]));
                out.broken[k][i] = most(usual[i].saturating_add(more)).clamp(-4096, 4096);
            }
        }
        out
    }
}

impl<B: BitCoder<Context = Chance>, S: RawBits> ChainCoder<B, S> {
    fn new(bits: B, plain: S) -> ChainCoder<B, S> {
        let coder = ParticleCoder { bits, contexts: ParticleContexts::default() };
        ChainCoder { coder, raw_bits: plain }
    }

    fn code_motion_params(
        &mut self,
        streams: &[ChainStream],
        given: &[MotionParams],
        chain: &mut Chain,
    ) -> Result<(), Corrupt> {
        let mut contexts = MotionParamContexts::default();
        chain.motion_params.clear();
        chain.statistics.clear();
        for (s, stream) in streams.iter().enumerate() {
            check_components(stream.components)?;
            let given = given.get(s).copied().unwrap_or_default();
            chain.motion_params.push(contexts.code(&mut self.coder.bits, stream.components, given));
            chain.statistics.push(MotionStatistics::default());
        }
        Ok(())
    }

    /// Codes the points of the next frame; `given` are those of an encoder. Returns `true` if the frame is
    /// shown.
    fn points(
        &mut self,
        layout: PointLayout<'_>,
        chain: &mut Chain,
        kind: u32,
        given: ParticlePoints<'_>,
    ) -> Result<bool, Corrupt> {
        chain.advance(layout);
        let Chain { now, before, .. } = chain;
        match self.coder.contexts.kind.code(&mut self.coder.bits, kind) {
            0 => return Ok(false),
            1 => {
                now.ids.resize(if layout.kind.ids { layout.max_points } else { 0 }, 0);
                now.curves.resize(if layout.kind.curves { layout.max_curves } else { 0 }, 0);
                let mut room =
                    PointBuffers { ids: &mut now.ids, curves: &mut now.curves, count: layout.max_points };
                let found = self.coder.points(layout.kind, &[before.points()], given, &mut room)?;
                (now.count, now.run) = (found.count, found.run);
                now.ids.truncate(found.count);
                now.curves.truncate(found.curves);
            }
            2 => {
                now.copy_points(before);
            }
            _ => return Err(Corrupt("particles: a frame of a chain of no kind")),
        }
        chain.match_points();
        Ok(true)
    }

    fn stream<C: OutcomeChooser>(
        &mut self,
        (s, stream): (usize, ChainStream),
        chain: &mut Chain,
        choice: &mut C,
    ) -> Result<(), Corrupt> {
        match stream.components {
            1 => self.code_points::<C, 1>((s, stream), chain, choice),
            2 => self.code_points::<C, 2>((s, stream), chain, choice),
            3 => self.code_points::<C, 3>((s, stream), chain, choice),
            _ => self.code_points::<C, 4>((s, stream), chain, choice),
        }
    }

    fn code_points<C: OutcomeChooser, const N: usize>(
        &mut self,
        (s, stream): (usize, ChainStream),
        chain: &mut Chain,
        choice: &mut C,
    ) -> Result<(), Corrupt> {
        let Chain {
            now,
            before,
            previous_points: at,
            curve_starts: starts,
            motion_params: laws,
            statistics,
            ..
        } = chain;
        let mut learnt = UnitStream { stream, law: laws[s], statistics: &mut statistics[s] };
        let (from, to) = (&before.streams[s], &mut now.streams[s]);
        to.clear();
        to.resize(motion::stride(N) * now.count, 0);
        let curves = !now.curves.is_empty();
        let mut near = 0;
        let (mut born, mut start) = (None::<usize>, None::<usize>);
        for v in 0..now.count {
            let point = motion::stride(N) * v;
            let was = match at[v] {
                NO_POINT => None,
                at => from.chunks_exact(motion::stride(N)).nth(at as usize),
            };
            let own = match was {
                Some(was) => {
                    let was = PointMotion::<N>::read(was);
                    self.point(&mut learnt, v, (&was, &mut near), choice)
                }
                None => {
                    let like = if curves && starts[v] { start } else { born };
                    let like =
                        like.map_or([0; N], |v| std::array::from_fn(|k| to[motion::stride(N) * v + k]));
                    born = Some(v);
                    self.born(&mut learnt, v, like, choice)
                }
            };
            if curves && starts[v] {
                (start, born) = (Some(v), Some(v));
            } else if curves {
                born = Some(v);
            }
            own.write(&mut to[point..point + motion::stride(N)]);
        }
        Ok(())
    }

    #[inline]
    fn residual<const N: usize>(
        &mut self,
        sizes: &mut [motion::SizeStatistics; 4],
        wanted: [i32; N],
    ) -> [i32; N] {
        let mut longest = 0;
        std::array::from_fn(|k| {
            let own = sizes[k].code(&mut self.coder.bits, longest, length(wanted[k]));
            longest = longest.max(own);
            match own {
                0 => 0,
                _ => signed(own, self.raw_bits.code_raw_bits(own, unsigned(own, wanted[k]))),
            }
        })
    }

    /// Codes a point that the frame before does not have.
    fn born<C: OutcomeChooser, const N: usize>(
        &mut self,
        learnt: &mut UnitStream<'_>,
        v: usize,
        like: [i32; N],
        choice: &mut C,
    ) -> PointMotion<N> {
        let sizes = &mut learnt.statistics.sizes[0];
        let wanted = choice.choose(v, &like, None, sizes).residual;
        let residual = self.residual(sizes, wanted);
        PointMotion::born(learnt.code(&like, &residual))
    }

    /// Codes a point that the frame before has. `near`: the outcome for the point before it.
    #[inline]
    fn point<C: OutcomeChooser, const N: usize>(
        &mut self,
        learnt: &mut UnitStream<'_>,
        v: usize,
        (was, near): (&PointMotion<N>, &mut usize),
        choice: &mut C,
    ) -> PointMotion<N> {
        let law = learnt.law;
        let next: ExpectedMotion<N> = was.extrapolate(&law);
        let expected = next.code().map(|code| learnt.stream.wrap(code));
        let (may_stop, class) = (was.moves(), was.class());
        let MotionStatistics { missed, stops, sizes } = &mut *learnt.statistics;
        let fate = choice.choose(v, &expected, may_stop.then_some(&was.code), &sizes[class]);
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
struct UnitStream<'a> {
    stream: ChainStream,
    law: MotionParams,
    statistics: &'a mut MotionStatistics,
}

impl UnitStream<'_> {
    fn code<const N: usize>(&self, expected: &[i32; N], residual: &[i32; N]) -> [i32; N] {
        let at = |k: usize| expected[k].wrapping_add(residual[k].wrapping_mul(self.law.grain));
        std::array::from_fn(|k| self.stream.wrap(at(k)))
    }
}

/// Decodes the bytes that [`encode`] wrote, frame after frame.
pub struct ChainReader<'a>(Reader<'a>);

#[allow(clippy::large_enum_variant)] // One per unit, on the stack.
enum Reader<'a> {
    Adaptive(ChainCoder<range::Decoder<'a>, symbols::Decoder<'a>>),
    Packed(PackedReader<'a>),
}

impl<'a> ChainReader<'a> {
    /// Starts with all bytes of an access unit, which is decoded into this chain.
    pub fn new(
        bytes: &'a [u8],
        layout: PointLayout<'_>,
        chain: &mut Chain,
    ) -> Result<ChainReader<'a>, Corrupt> {
        chain.coding = layout.coding;
        if layout.coding == ChainCoding::Packed {
            let reader = PackedReader::new(bytes, layout.streams, &mut chain.packed)?;
            return Ok(ChainReader(Reader::Packed(reader)));
        }
        let mut cursor = Cursor::new(bytes);
        let size = cursor.varint()?;
        let first = cursor.bytes(size as usize)?;
        let second = cursor.bytes(cursor.left())?;
        let mut both = ChainCoder::new(range::Decoder::new(first), symbols::Decoder::new(second));
        both.code_motion_params(layout.streams, &[], chain)?;
        Ok(ChainReader(Reader::Adaptive(both)))
    }

    /// Decodes the next frame, which follows the one in `chain`. Returns `true` if it is shown.
    pub fn frame(&mut self, layout: PointLayout<'_>, chain: &mut Chain) -> Result<bool, Corrupt> {
        let coder = match &mut self.0 {
            Reader::Packed(reader) => return chain.read_packed(layout, reader),
            Reader::Adaptive(coder) => coder,
        };
        if !coder.points(layout, chain, 0, ParticlePoints::default())? {
            return Ok(false);
        }
        if chain.motion_params.len() != layout.streams.len() {
            return Err(Corrupt("particles: a chain of other streams"));
        }
        for (s, &stream) in layout.streams.iter().enumerate() {
            coder.stream((s, stream), chain, &mut DecodedOutcome)?;
        }
        Ok(true)
    }

    /// Refuses bytes that were not used.
    pub fn finish(self) -> Result<(), Corrupt> {
        match self.0 {
            Reader::Packed(reader) => reader.finish(),
            Reader::Adaptive(coder) => {
                coder.coder.bits.finish()?;
                coder.raw_bits.finish()
            }
        }
    }
}

#[cfg(test)]
mod tests;
