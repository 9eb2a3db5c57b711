//! Frames of points without faces, which can be born and die: particles, and the points of curves. What a
//! unit holds of them. Lossless, but that the encoder chooses positions inside the error ball.
//!
//! ```text
//! unit      varint size of the first string, the first string (entropy/range.rs), and to the end the second one (entropy/symbols.rs)
//! first     for each frame of the unit: kind; of kind 1 its points; then for each stream its weights
//! second    for each frame and stream its residuals
//! kind      0 hidden · 1 points of its own · 2 + i: those of the i-th frame that it may refer to
//! ids       sorted, each once. Of those that frames referred to have, in order: does it live? [which frames have it][did the one before?]
//!           then how many were born, and each: its distance from the one before. Are they behind all that frames referred to have? else from 0
//! no ids    run; number of points, or curves: how many, and of each: as many points as the one before?, else how many
//! ```
//!
//! A point is the same in two frames where it has the same id, or the same number in frames of one run: a
//! frame that brings points says which run they are, those of kind 2 + i have it from there. What the same
//! point was in frames referred to predicts its values, what is left is coded as that of changing meshes:
//! see [`values`].

pub mod chain;
pub mod values;

use crate::Corrupt;
use crate::bytes::Cursor;
#[cfg(feature = "encode")]
use crate::bytes::put_varint;
use crate::entropy::range::{self, Bits, Chance};
use crate::entropy::symbols;
use crate::quantize::code::Code;
use crate::values::changing::Number;
use crate::values::changing::values::REFERENCES;
#[cfg(feature = "encode")]
use crate::values::changing::values::Wanted;
use values::{Basis, MASKS, Masks, NONE, Weights};

/// The statistics that were learnt in a unit.
#[derive(Clone, Debug, Default)]
struct Contexts {
    kind: Number,
    run: Number,
    /// Points, or curves.
    count: Number,
    same_length: Chance,
    length: Number,
    alive: [[Chance; 2]; MASKS],
    born: Number,
    behind: Chance,
    distance: Distance,
    grain: Number,
    along: Number,
    starts: [Number; values::CLASSES],
    fitted: Chance,
    weight: Number,
    bias: Number,
}

/// A number of 64 bits, by its length.
#[derive(Clone, Debug)]
struct Distance([Chance; 64]);

impl Default for Distance {
    fn default() -> Distance {
        Distance([Chance::default(); 64])
    }
}

impl Distance {
    fn code<B: Bits<Context = Chance>>(&mut self, bits: &mut B, value: u64) -> u64 {
        let value = value.min(u64::MAX - 1) + 1;
        let mut length = 0;
        while length < 63 && bits.bit(&mut self.0[length as usize], length < value.ilog2()) {
            length += 1;
        }
        let rest = value & ((1 << length) - 1);
        let low = length.min(32);
        let mut out = u64::from(bits.plain(low, (rest & u64::from(u32::MAX)) as u32));
        out |= u64::from(bits.plain(length - low, (rest >> 32) as u32)) << 32;
        (1 << length | out) - 1
    }
}

/// What a set of points is, in all its frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Points are known by ids.
    pub ids: bool,
    /// They are the points of curves. Curves have no ids.
    pub curves: bool,
}

/// The points of a frame: of a frame that others refer to, and where those of a frame go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Points<'a> {
    /// How many there are.
    pub count: usize,
    /// One more than their run; 0 where they have ids, and where there is nothing to refer to.
    pub run: u32,
    /// Id of each, ascending; empty where they have none.
    pub ids: &'a [u64],
    /// Points of each curve; empty where they are not of curves.
    pub curves: &'a [u32],
}

/// Room for the points of a frame: as many as any has.
pub struct Room<'a> {
    /// Ids, none where points have none; else room for the most points.
    pub ids: &'a mut [u64],
    /// Points of curves; room for the most curves.
    pub curves: &'a mut [u32],
    /// The most points.
    pub count: usize,
}

/// How many points and curves a frame of kind 1 has got, and one more than its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Points.
    pub count: usize,
    /// Curves.
    pub curves: usize,
    /// One more than the run, 0 with ids.
    pub run: u32,
}

/// Buffers of a decoder. Their memory stays; within [`Work::reserve`] nothing is allocated.
#[derive(Clone, Debug, Default)]
pub struct Work {
    values: values::Work,
    /// By point its number in each frame referred to, or [`NONE`].
    at: Vec<[u32; REFERENCES]>,
    /// A curve begins here.
    starts: Vec<bool>,
    /// Which frames have points here: what weights are there for.
    masks: Masks,
}

impl Work {
    /// Makes room for so many points.
    pub fn reserve(&mut self, points: usize) {
        self.at.reserve(points.saturating_sub(self.at.len()));
        self.starts.reserve(points.saturating_sub(self.starts.len()));
        self.values.reserve(points);
    }

    /// Bytes of the room for so many points.
    pub fn bytes(points: u64) -> u64 {
        points.saturating_mul(4 * REFERENCES as u64 + 1 + values::Work::BYTES)
    }

    /// Finds the points of a frame in the frames that it refers to, at most [`REFERENCES`]. To be called
    /// before its streams.
    pub fn find(&mut self, own: &Points<'_>, frames: &[Points<'_>]) {
        self.at.clear();
        self.at.resize(own.count, [NONE; REFERENCES]);
        for (r, frame) in frames.iter().enumerate().take(REFERENCES) {
            if own.ids.is_empty() {
                if own.run > 0 && own.run == frame.run && own.count == frame.count {
                    (0..).zip(&mut self.at).for_each(|(v, at)| at[r] = v);
                }
                continue;
            }
            let mut next = 0;
            for (id, at) in own.ids.iter().zip(&mut self.at) {
                while frame.ids.get(next).is_some_and(|other| other < id) {
                    next += 1;
                }
                if frame.ids.get(next) == Some(id) {
                    at[r] = next as u32;
                }
            }
        }
        self.starts.clear();
        self.starts.resize(own.count, false);
        let mut first = 0;
        for &length in own.curves {
            if let Some(start) = self.starts.get_mut(first) {
                *start = true;
            }
            first += length as usize;
        }
        self.masks = Masks::of(&self.at);
    }
}

/// All ids that frames have, ascending, and which frames have each.
struct Union<'a> {
    lists: [&'a [u64]; REFERENCES],
}

impl<'a> Union<'a> {
    fn new(frames: &[Points<'a>]) -> Union<'a> {
        let mut lists: [&[u64]; REFERENCES] = [&[]; REFERENCES];
        for (list, frame) in lists.iter_mut().zip(frames) {
            *list = frame.ids;
        }
        Union { lists }
    }
}

impl Iterator for Union<'_> {
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

const MANY: Corrupt = Corrupt("particles: more than the description says");

/// The parts that both directions share.
struct Coder<B> {
    bits: B,
    contexts: Contexts,
}

impl<B: Bits<Context = Chance>> Coder<B> {
    /// Points of a frame of kind 1; `given` are an encoder's.
    fn points(
        &mut self,
        shape: Shape,
        frames: &[Points<'_>],
        given: Points<'_>,
        room: &mut Room<'_>,
    ) -> Result<Found, Corrupt> {
        if shape.ids {
            let count = self.ids(frames, given.ids, room)?;
            return Ok(Found { count, ..Found::default() });
        }
        let (bits, contexts) = (&mut self.bits, &mut self.contexts);
        let run = contexts.run.code(bits, given.run.saturating_sub(1)).saturating_add(1);
        let asked = if shape.curves { given.curves.len() } else { given.count };
        let count = contexts.count.code(bits, asked as u32) as usize;
        if !shape.curves {
            return if count <= room.count { Ok(Found { count, curves: 0, run }) } else { Err(MANY) };
        }
        let lengths = room.curves.get_mut(..count).ok_or(MANY)?;
        let (mut before, mut sum) = (0, 0);
        for (c, out) in lengths.iter_mut().enumerate() {
            let wanted = given.curves.get(c).copied().unwrap_or(0);
            if !bits.bit(&mut contexts.same_length, wanted == before) {
                before = contexts.length.code(bits, wanted);
            }
            sum += u64::from(before);
            if sum > room.count as u64 {
                return Err(MANY);
            }
            *out = before;
        }
        Ok(Found { count: sum as usize, curves: count, run })
    }

    /// Ids of a frame, of which there are so many.
    fn ids(&mut self, frames: &[Points<'_>], given: &[u64], room: &mut Room<'_>) -> Result<usize, Corrupt> {
        let (bits, contexts) = (&mut self.bits, &mut self.contexts);
        let (mut count, mut lives, mut last, mut asked) = (0, false, None, 0);
        let mut born = given.len();
        for (id, mask) in Union::new(frames) {
            while given.get(asked).is_some_and(|wanted| *wanted < id) {
                asked += 1;
            }
            let alive = &mut contexts.alive[mask][usize::from(lives)];
            lives = bits.bit(alive, given.get(asked) == Some(&id));
            if lives {
                *room.ids.get_mut(count).ok_or(MANY)? = id;
                count += 1;
                born = born.saturating_sub(1);
            }
            last = Some(id);
        }
        let alive = count;
        let born = contexts.born.code(bits, born as u32) as usize;
        if born > room.ids.len() - alive {
            return Err(MANY);
        }
        // An encoder's, in order: those that are not among the living.
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
                next = last.checked_add(1).ok_or(MANY)?;
            }
            let distance = contexts.distance.code(bits, wanted.wrapping_sub(next));
            let id = next.checked_add(distance).ok_or(MANY)?;
            // The last of all has none behind it.
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

    /// Weights of a stream: the grain, how large residuals begin, how far curves go on, and what frames say
    /// where it is not the usual.
    fn weights(&mut self, components: usize, masks: &Masks, mut weights: Weights) -> Weights {
        let (bits, contexts) = (&mut self.bits, &mut self.contexts);
        weights.grain =
            contexts.grain.code(bits, weights.grain as u32 - 1).min(values::MOST_GRAIN) as i32 + 1;
        for (class, start) in weights.starts.iter_mut().enumerate() {
            if masks.has_class(class) {
                *start = contexts.starts[class].code(bits, *start).min(values::MOST_START);
            }
        }
        for along in &mut weights.along {
            *along = contexts.along.signed(bits, *along).clamp(-values::MOST_ALONG, values::MOST_ALONG);
        }
        for mask in masks.there() {
            let usual = masks.usual(mask);
            let own = &mut weights.frames[mask];
            let bias = &mut weights.bias[mask];
            if !bits.bit(&mut contexts.fitted, *own != usual || *bias != [0; 4]) {
                *own = usual;
                continue;
            }
            for bias in bias.iter_mut().take(components) {
                *bias = contexts.bias.signed(bits, *bias).clamp(-values::MOST_BIAS, values::MOST_BIAS);
            }
            for (r, weight) in own.iter_mut().enumerate() {
                if mask >> r & 1 == 1 {
                    let more = weight.wrapping_sub(usual[r]);
                    let more = contexts.weight.signed(bits, more);
                    let all = usual[r].saturating_add(more);
                    *weight = all.clamp(-values::MOST_WEIGHT, values::MOST_WEIGHT);
                }
            }
        }
        weights
    }
}

/// Reads a unit, front to back: for each frame its kind, its points, its streams.
pub struct Reader<'a> {
    coder: Coder<range::Decoder<'a>>,
    symbols: symbols::Decoder<'a>,
}

impl<'a> Reader<'a> {
    /// Of the bytes that [`encode`] wrote.
    pub fn new(bytes: &'a [u8]) -> Result<Reader<'a>, Corrupt> {
        let mut cursor = Cursor::new(bytes);
        let size = cursor.varint()?;
        let first = cursor.take(size as usize)?;
        let second = cursor.take(cursor.left())?;
        Ok(Reader {
            coder: Coder { bits: range::Decoder::new(first), contexts: Contexts::default() },
            symbols: symbols::Decoder::new(second),
        })
    }

    /// The kind of the next frame: 0 hidden, 1 points of its own, 2 + i those of the i-th frame.
    pub fn kind(&mut self) -> u32 {
        self.coder.contexts.kind.code(&mut self.coder.bits, 0)
    }

    /// The points of a frame of kind 1, which refers to `frames`, at most [`REFERENCES`].
    pub fn points(
        &mut self,
        shape: Shape,
        frames: &[Points<'_>],
        mut room: Room<'_>,
    ) -> Result<Found, Corrupt> {
        self.coder.points(shape, frames, Points::default(), &mut room)
    }

    /// A stream: of `out`, component-major, all points. `frames`: the same stream of the frames that were
    /// handed to [`Work::find`], each of its own points, and `moments`, how many frames they are after this
    /// one.
    pub fn stream<W: Code>(
        &mut self,
        components: usize,
        (frames, moments): (&[&[W]], &[i32]),
        work: &mut Work,
        out: &mut [W],
    ) -> Result<(), Corrupt> {
        work.masks.set(moments);
        let weights = self.coder.weights(components, &work.masks, Weights::ALONE);
        let masks = &work.masks;
        let basis = Basis { frames, at: &work.at, starts: &work.starts, masks, weights: &weights };
        values::decode(&mut self.symbols, basis, components, &mut work.values, out)
    }

    /// Refuses bytes that were not needed.
    pub fn finish(self) -> Result<(), Corrupt> {
        self.coder.bits.finish()?;
        self.symbols.finish()
    }
}

/// Writes a unit, as [`Reader`] reads it.
#[cfg(feature = "encode")]
pub struct Writer<'a> {
    coder: Coder<range::Encoder<'a>>,
    symbols: symbols::Encoder,
}

/// Appends a unit that `write` fills.
#[cfg(feature = "encode")]
pub fn encode<R, E>(out: &mut Vec<u8>, write: impl FnOnce(&mut Writer<'_>) -> Result<R, E>) -> Result<R, E> {
    let mut first = Vec::new();
    let mut writer = Writer {
        coder: Coder { bits: range::Encoder::new(&mut first), contexts: Contexts::default() },
        symbols: symbols::Encoder::default(),
    };
    let result = write(&mut writer)?;
    let Writer { coder, symbols } = writer;
    coder.bits.finish();
    put_varint(first.len() as u32, out);
    out.extend_from_slice(&first);
    symbols.finish(out);
    Ok(result)
}

#[cfg(feature = "encode")]
impl Writer<'_> {
    /// The kind of a frame, see [`Reader::kind`].
    pub fn kind(&mut self, kind: u32) {
        self.coder.contexts.kind.code(&mut self.coder.bits, kind);
    }

    /// The points of a frame of kind 1. Ids are sorted, each once; curves have as many points as there are.
    pub fn points(&mut self, shape: Shape, frames: &[Points<'_>], own: Points<'_>) -> Result<(), Corrupt> {
        let mut ids = vec![0; own.ids.len()];
        let mut curves = vec![0; own.curves.len()];
        let mut room = Room { ids: &mut ids, curves: &mut curves, count: own.count };
        self.coder.points(shape, frames, own, &mut room)?;
        Ok(())
    }

    /// A stream, see [`Reader::stream`]. Chosen codes replace those of `wanted`. Returns what it is expected
    /// to take, in 2⁻⁸ bits.
    pub fn stream<W: Code>(
        &mut self,
        components: usize,
        (frames, moments): (&[&[W]], &[i32]),
        work: &mut Work,
        wanted: Wanted<'_, W>,
    ) -> u64 {
        work.masks.set(moments);
        let usual = Weights { frames: work.masks.all_usual(), ..Weights::ALONE };
        let masks = &work.masks;
        let basis = Basis { frames, at: &work.at, starts: &work.starts, masks, weights: &usual };
        let fitted = Weights {
            grain: wanted.grain.clamp(1, values::MOST_GRAIN + 1) as i32,
            ..values::fit(basis, components, &work.masks, wanted.codes)
        };
        let basis = Basis { weights: &fitted, ..basis };
        let starts = values::starts(basis, components, &mut work.values, &wanted);
        let weights = self.coder.weights(components, &work.masks, Weights { starts, ..fitted });
        let basis = Basis { weights: &weights, ..basis };
        values::encode(&mut self.symbols, basis, components, &mut work.values, wanted)
    }
}

#[cfg(test)]
mod tests;
