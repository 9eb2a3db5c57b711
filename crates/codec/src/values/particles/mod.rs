//! Frames of points without faces, which can appear and disappear: particles, and the points of curves.
//! Describes the contents of an access unit. Lossless, except that the encoder chooses positions within the
//! error bound.
//!
//! ```text
//! unit      varint size of the first string, the first string (entropy/range.rs), and to the end the second one (entropy/symbols.rs)
//! first     for each frame of the unit: kind; of kind 1 its points; then for each stream its weights
//! second    for each frame and stream its residuals
//! kind      0 hidden · 1 points of its own · 2 + i: those of the i-th frame that it may refer to
//! ids       sorted, each once. For each id of the frames referred to, in order: does it live? [which frames have it][did the one before?]
//!           then the number of new ids, and for each its distance from the one before. Are they above all ids of these frames? else from 0
//! no ids    run; number of points, or number of curves, and for each curve: as many points as the one before?, else their number
//! ```
//!
//! A point is the same in two frames if it has the same id, or the same number in frames of one run: a frame
//! with its own points states its run, those of kind 2 + i take it from the frame that they refer to. The
//! values of a point are predicted from those of the same point in the frames referred to; residuals are
//! coded like those of changing meshes: see [`prediction`].

pub mod chain;
pub mod point_set;
pub mod prediction;

use crate::Corrupt;
use crate::bytes::Cursor;
#[cfg(feature = "encode")]
use crate::bytes::put_varint;
use crate::entropy::range::{self, BitCoder, Chance, NumberModel};
use crate::entropy::symbols;
use crate::quantize::code::Code;
use crate::schedule::MAX_REFERENCES;
use crate::values::coding;
#[cfg(feature = "encode")]
use crate::values::coding::InputValues;
use prediction::{MASKS, Masks, NO_POINT, ParticleBasis, ParticleWeights};

/// The adaptive statistics of an access unit.
#[derive(Clone, Debug, Default)]
struct ParticleContexts {
    kind: NumberModel,
    run: NumberModel,
    /// The number of points, or of curves.
    count: NumberModel,
    same_length: Chance,
    length: NumberModel,
    alive: [[Chance; 2]; MASKS],
    born: NumberModel,
    behind: Chance,
    distance: DistanceModel,
    grain: NumberModel,
    along: NumberModel,
    starts: [NumberModel; prediction::CLASSES],
    fitted: Chance,
    weight: NumberModel,
    bias: NumberModel,
}

/// A number of 64 bits, coded by its number of bits.
#[derive(Clone, Debug)]
struct DistanceModel([Chance; 64]);

impl Default for DistanceModel {
    fn default() -> DistanceModel {
        DistanceModel([Chance::default(); 64])
    }
}

impl DistanceModel {
    fn code<B: BitCoder<Context = Chance>>(&mut self, bits: &mut B, value: u64) -> u64 {
        let value = value.min(u64::MAX - 1) + 1;
        let mut length = 0;
        while length < 63 && bits.bit(&mut self.0[length as usize], length < value.ilog2()) {
            length += 1;
        }
        let rest = value & ((1 << length) - 1);
        let low = length.min(32);
        let mut out = u64::from(bits.raw_bits(low, (rest & u64::from(u32::MAX)) as u32));
        out |= u64::from(bits.raw_bits(length - low, (rest >> 32) as u32)) << 32;
        (1 << length | out) - 1
    }
}

/// The kind of a set of points, the same in all its frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParticleKind {
    /// `true` if points have ids.
    pub ids: bool,
    /// `true` if they are the points of curves. Curves have no ids.
    pub curves: bool,
}

/// The points of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParticlePoints<'a> {
    /// The number of points.
    pub count: usize,
    /// The number of their run plus 1; 0 if they have ids, or if there is nothing to refer to.
    pub run: u32,
    /// The id of each point, ascending; empty if points have no ids.
    pub ids: &'a [u64],
    /// The number of points of each curve; empty if the points are not of curves.
    pub curves: &'a [u32],
}

/// Buffers for the points of a frame, large enough for any frame.
pub struct PointBuffers<'a> {
    /// Room for ids: the maximum number of points, or empty if points have no ids.
    pub ids: &'a mut [u64],
    /// Room for the number of points of each curve: the maximum number of curves.
    pub curves: &'a mut [u32],
    /// The maximum number of points.
    pub count: usize,
}

/// The numbers of points and curves of a decoded frame of kind 1, and its run plus 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointCounts {
    /// The number of points.
    pub count: usize,
    /// The number of curves.
    pub curves: usize,
    /// The run plus 1, 0 with ids.
    pub run: u32,
}

/// Buffers of a decoder. They are reused; within [`ParticleBuffers::reserve`] nothing is allocated.
#[derive(Clone, Debug, Default)]
pub struct ParticleBuffers {
    values: prediction::PointValueBuffers,
    /// For each point, its number in each frame referred to, or [`NO_POINT`].
    frame_points: Vec<[u32; MAX_REFERENCES]>,
    /// For each point, `true` if a curve begins here.
    curve_starts: Vec<bool>,
    /// The sets of frames that have points of this frame; each has its own weights.
    masks: Masks,
}

impl ParticleBuffers {
    /// Allocates memory for this many points.
    pub fn reserve(&mut self, points: usize) {
        self.frame_points.reserve(points.saturating_sub(self.frame_points.len()));
        self.curve_starts.reserve(points.saturating_sub(self.curve_starts.len()));
        self.values.reserve(points);
    }

    /// Returns the bytes of memory for this many points.
    pub fn bytes(points: u64) -> u64 {
        points.saturating_mul(4 * MAX_REFERENCES as u64 + 1 + prediction::PointValueBuffers::BYTES)
    }

    /// Finds the points of a frame in the frames that it refers to, at most [`MAX_REFERENCES`]. Must be
    /// called before its streams.
    pub fn match_points(&mut self, own: &ParticlePoints<'_>, frames: &[ParticlePoints<'_>]) {
        self.frame_points.clear();
        self.frame_points.resize(own.count, [NO_POINT; MAX_REFERENCES]);
        for (r, frame) in frames.iter().enumerate().take(MAX_REFERENCES) {
            if own.ids.is_empty() {
                if own.run > 0 && own.run == frame.run && own.count == frame.count {
                    (0..).zip(&mut self.frame_points).for_each(|(v, at)| at[r] = v);
                }
                continue;
            }
            let mut next = 0;
            for (id, at) in own.ids.iter().zip(&mut self.frame_points) {
                while frame.ids.get(next).is_some_and(|other| other < id) {
                    next += 1;
                }
                if frame.ids.get(next) == Some(id) {
                    at[r] = next as u32;
                }
            }
        }
        self.curve_starts.clear();
        self.curve_starts.resize(own.count, false);
        let mut first = 0;
        for &length in own.curves {
            if let Some(start) = self.curve_starts.get_mut(first) {
                *start = true;
            }
            first += length as usize;
        }
        self.masks = Masks::new(&self.frame_points);
    }
}

/// The union of the ids of all frames, ascending, with the frames that have each.
struct IdUnion<'a> {
    lists: [&'a [u64]; MAX_REFERENCES],
}

impl<'a> IdUnion<'a> {
    fn new(frames: &[ParticlePoints<'a>]) -> IdUnion<'a> {
        let mut lists: [&[u64]; MAX_REFERENCES] = [&[]; MAX_REFERENCES];
        for (list, frame) in lists.iter_mut().zip(frames) {
            *list = frame.ids;
        }
        IdUnion { lists }
    }
}

impl Iterator for IdUnion<'_> {
    type Item = (u64, usize);

    fn next(&mut self) -> Option<(u64, usize)> {
        let id = self.lists.iter().filter_map(|list| list.first()).min().copied()?;
        let mut mask = 0;
        for (r, list) in self.lists.iter_mut().enumerate() {
            if list.first() == Some(&id) {
                mask |= 1 << r;
                *list = &list[1..];
            }
        }
        Some((id, mask))
    }
}

const TOO_MANY: Corrupt = Corrupt("particles: more than the description says");

/// The coder of both directions, encoding and decoding.
struct ParticleCoder<B> {
    bits: B,
    contexts: ParticleContexts,
}

impl<B: BitCoder<Context = Chance>> ParticleCoder<B> {
    /// Codes the points of a frame of kind 1; `given` are those of an encoder.
    fn points(
        &mut self,
        shape: ParticleKind,
        frames: &[ParticlePoints<'_>],
        given: ParticlePoints<'_>,
        room: &mut PointBuffers<'_>,
    ) -> Result<PointCounts, Corrupt> {
        if shape.ids {
            let count = self.ids(frames, given.ids, room)?;
            return Ok(PointCounts { count, ..PointCounts::default() });
        }
        let (bits, contexts) = (&mut self.bits, &mut self.contexts);
        let run = contexts.run.code(bits, given.run.saturating_sub(1)).saturating_add(1);
        let asked = if shape.curves { given.curves.len() } else { given.count };
        let count = contexts.count.code(bits, asked as u32) as usize;
        if !shape.curves {
            return if count <= room.count {
                Ok(PointCounts { count, curves: 0, run })
            } else {
                Err(TOO_MANY)
            };
        }
        let lengths = room.curves.get_mut(..count).ok_or(TOO_MANY)?;
        let (mut before, mut sum) = (0, 0);
        for (c, out) in lengths.iter_mut().enumerate() {
            let wanted = given.curves.get(c).copied().unwrap_or(0);
            if !bits.bit(&mut contexts.same_length, wanted == before) {
                before = contexts.length.code(bits, wanted);
            }
            sum += u64::from(before);
            if sum > room.count as u64 {
                return Err(TOO_MANY);
            }
            *out = before;
        }
        Ok(PointCounts { count: sum as usize, curves: count, run })
    }

    /// Codes the ids of a frame; returns their number.
    fn ids(
        &mut self,
        frames: &[ParticlePoints<'_>],
        given: &[u64],
        room: &mut PointBuffers<'_>,
    ) -> Result<usize, Corrupt> {
        let (bits, contexts) = (&mut self.bits, &mut self.contexts);
        let (mut count, mut lives, mut last, mut asked) = (0, false, None, 0);
        let mut born = given.len();
        for (id, mask) in IdUnion::new(frames) {
            while given.get(asked).is_some_and(|wanted| *wanted < id) {
                asked += 1;
            }
            let alive = &mut contexts.alive[mask][usize::from(lives)];
            lives = bits.bit(alive, given.get(asked) == Some(&id));
            if lives {
                *room.ids.get_mut(count).ok_or(TOO_MANY)? = id;
                count += 1;
                born = born.saturating_sub(1);
            }
            last = Some(id);
        }
        let alive = count;
        let born = contexts.born.code(bits, born as u32) as usize;
        if born > room.ids.len() - alive {
            return Err(TOO_MANY);
        }
        // In an encoder, the new ids in order: those that are not among the surviving ones.
        let (living, new) = room.ids.split_at_mut(alive);
        let (mut at, mut before) = (0, 0);
        let mut fresh = given.iter().copied().filter(|id| {
            while living.get(at).is_some_and(|living| living < id) {
                at += 1;
            }
            living.get(at) != Some(id)
        });
        let mut next = 0u64;
        for (i, out) in new[..born].iter_mut().enumerate() {
            let wanted = fresh.next().unwrap_or(0);
            if let (0, Some(last)) = (i, last)
                && bits.bit(&mut contexts.behind, wanted > last)
            {
                next = last.checked_add(1).ok_or(TOO_MANY)?;
            }
            let distance = contexts.distance.code(bits, wanted.wrapping_sub(next));
            let id = next.checked_add(distance).ok_or(TOO_MANY)?;
            // No id can follow the largest one.
            if i > 0 && id <= before {
                return Err(Corrupt("particles: ids that do not rise"));
            }
            (*out, before) = (id, id);
            next = id.saturating_add(1);
        }
        count += born;
        let all = &mut room.ids[..count];
        if alive > 0 && born > 0 && all[alive] < all[alive - 1] {
            all.sort_unstable();
        }
        if all.windows(2).any(|w| w[0] >= w[1]) {
            return Err(Corrupt("particles: an id twice"));
        }
        Ok(count)
    }

    /// Codes the weights of a stream: the grain, the initial sizes of residuals, the weights along curves,
    /// and the weights of frames where they are not the usual ones.
    fn weights(&mut self, components: usize, masks: &Masks, mut weights: ParticleWeights) -> ParticleWeights {
        let (bits, contexts) = (&mut self.bits, &mut self.contexts);
        weights.grain =
            contexts.grain.code(bits, weights.grain as u32 - 1).min(prediction::MAX_GRAIN) as i32 + 1;
        for (class, start) in weights.starts.iter_mut().enumerate() {
            if masks.has_class(class) {
                *start = contexts.starts[class].code(bits, *start).min(prediction::MAX_START);
            }
        }
        for along in &mut weights.along {
            *along = contexts.along.signed(bits, *along).clamp(-prediction::MAX_ALONG, prediction::MAX_ALONG);
        }
        for mask in masks.used_masks() {
            let usual = masks.default_weights(mask);
            let own = &mut weights.frames[mask];
            let bias = &mut weights.bias[mask];
            if !bits.bit(&mut contexts.fitted, *own != usual || *bias != [0; 4]) {
                *own = usual;
                continue;
            }
            for bias in bias.iter_mut().take(components) {
                *bias = contexts.bias.signed(bits, *bias).clamp(-prediction::MAX_BIAS, prediction::MAX_BIAS);
            }
            for (r, weight) in own.iter_mut().enumerate() {
                if mask >> r & 1 == 1 {
                    let more = weight.wrapping_sub(usual[r]);
                    let more = contexts.weight.signed(bits, more);
                    let all = usual[r].saturating_add(more);
                    *weight = all.clamp(-prediction::MAX_WEIGHT, prediction::MAX_WEIGHT);
                }
            }
        }
        weights
    }
}

/// Decodes an access unit from front to back: for each frame its kind, its points, its streams.
pub struct ParticleReader<'a> {
    coder: ParticleCoder<range::Decoder<'a>>,
    symbols: symbols::Decoder<'a>,
}

impl<'a> ParticleReader<'a> {
    /// Starts reading the bytes that [`encode`] wrote.
    pub fn new(bytes: &'a [u8]) -> Result<ParticleReader<'a>, Corrupt> {
        let mut cursor = Cursor::new(bytes);
        let size = cursor.varint()?;
        let first = cursor.bytes(size as usize)?;
        let second = cursor.bytes(cursor.left())?;
        Ok(ParticleReader {
            coder: ParticleCoder { bits: range::Decoder::new(first), contexts: ParticleContexts::default() },
            symbols: symbols::Decoder::new(second),
        })
    }

    /// Decodes the kind of the next frame: 0 hidden, 1 points of its own, 2 + i those of the i-th frame.
    pub fn kind(&mut self) -> u32 {
        self.coder.contexts.kind.code(&mut self.coder.bits, 0)
    }

    /// Decodes the points of a frame of kind 1, which refers to `frames`, at most [`MAX_REFERENCES`].
    pub fn points(
        &mut self,
        shape: ParticleKind,
        frames: &[ParticlePoints<'_>],
        mut room: PointBuffers<'_>,
    ) -> Result<PointCounts, Corrupt> {
        self.coder.points(shape, frames, ParticlePoints::default(), &mut room)
    }

    /// Decodes a stream into `out`: all points, component-major. `frames` has the same stream of the frames
    /// that were given to [`ParticleBuffers::match_points`], each with its own points, and `moments` the
    /// number of frames by which each is after this one.
    pub fn stream<W: Code>(
        &mut self,
        components: usize,
        (frames, moments): (&[&[W]], &[i32]),
        work: &mut ParticleBuffers,
        out: &mut [W],
    ) -> Result<(), Corrupt> {
        work.masks.set_moments(moments);
        let weights = self.coder.weights(components, &work.masks, ParticleWeights::WITHOUT_FRAMES);
        let masks = &work.masks;
        let basis = ParticleBasis {
            frames,
            frame_points: &work.frame_points,
            curve_starts: &work.curve_starts,
            masks,
            weights: &weights,
        };
        basis.check(components, out.len() / components.max(1))?;
        coding::decode(&mut self.symbols, &basis, components, &mut work.values, out)
    }

    /// Refuses bytes that were not used.
    pub fn finish(self) -> Result<(), Corrupt> {
        self.coder.bits.finish()?;
        self.symbols.finish()
    }
}

/// Encodes an access unit that [`ParticleReader`] decodes.
#[cfg(feature = "encode")]
pub struct ParticleWriter<'a> {
    coder: ParticleCoder<range::Encoder<'a>>,
    symbols: symbols::Encoder,
}

/// Appends an access unit whose contents `write` produces.
#[cfg(feature = "encode")]
pub fn encode<R, E>(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut ParticleWriter<'_>) -> Result<R, E>,
) -> Result<R, E> {
    let mut first = Vec::new();
    let mut writer = ParticleWriter {
        coder: ParticleCoder { bits: range::Encoder::new(&mut first), contexts: ParticleContexts::default() },
        symbols: symbols::Encoder::default(),
    };
    let result = write(&mut writer)?;
    let ParticleWriter { coder, symbols } = writer;
    coder.bits.finish();
    put_varint(first.len() as u32, out);
    out.extend_from_slice(&first);
    symbols.finish(out);
    Ok(result)
}

#[cfg(feature = "encode")]
impl ParticleWriter<'_> {
    /// Encodes the kind of a frame, see [`ParticleReader::kind`].
    pub fn kind(&mut self, kind: u32) {
        self.coder.contexts.kind.code(&mut self.coder.bits, kind);
    }

    /// Encodes the points of a frame of kind 1. Ids are sorted and distinct; the points of all curves add up
    /// to their number.
    pub fn points(
        &mut self,
        shape: ParticleKind,
        frames: &[ParticlePoints<'_>],
        own: ParticlePoints<'_>,
    ) -> Result<(), Corrupt> {
        let mut ids = vec![0; own.ids.len()];
        let mut curves = vec![0; own.curves.len()];
        let mut room = PointBuffers { ids: &mut ids, curves: &mut curves, count: own.count };
        self.coder.points(shape, frames, own, &mut room)?;
        Ok(())
    }

    /// Encodes a stream, see [`ParticleReader::stream`]. The chosen codes replace those of `wanted`. Returns
    /// the expected cost in 2⁻⁸ bits.
    pub fn stream<W: Code>(
        &mut self,
        components: usize,
        (frames, moments): (&[&[W]], &[i32]),
        work: &mut ParticleBuffers,
        wanted: InputValues<'_, W>,
    ) -> u64 {
        work.masks.set_moments(moments);
        let usual =
            ParticleWeights { frames: work.masks.all_default_weights(), ..ParticleWeights::WITHOUT_FRAMES };
        let masks = &work.masks;
        let basis = ParticleBasis {
            frames,
            frame_points: &work.frame_points,
            curve_starts: &work.curve_starts,
            masks,
            weights: &usual,
        };
        let fitted = ParticleWeights {
            grain: wanted.grain.clamp(1, prediction::MAX_GRAIN + 1) as i32,
            ..prediction::fit(basis, components, &work.masks, wanted.codes)
        };
        let basis = ParticleBasis { weights: &fitted, ..basis };
        let starts = prediction::fit_starts(basis, components, &mut work.values, &wanted);
        let weights = self.coder.weights(components, &work.masks, ParticleWeights { starts, ..fitted });
        let basis = ParticleBasis { weights: &weights, ..basis };
        coding::encode(&mut self.symbols, &basis, components, &mut work.values, wanted)
    }
}

#[cfg(test)]
mod tests;
