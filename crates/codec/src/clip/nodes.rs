//! Moving nodes of a geometry cache as a clip: local transforms in the units of [`crate::schedule`], so
//! that they stream, and are sought, with the frames that they belong to. Within the bound that the encoder
//! measured with these same functions, on the vertices.
//!
//! ```text
//! setup     base f32 · per moving node: which of translation, rotation, scale move (three bits), whether it has a pivot, its step's code
//! unit      one `entropy` stream: per frame, per moving node, a class, then k of its components: translation 3, rotation 3, scale 3, as far as they move
//! class     0: all k are 0; where all frames that this one refers to have the same words, so has it · 1 + s: steps are 2^s times as fine, s = 0 … 5 · 7: the transform itself follows, 10 × 32 bits, finite
//! ```
//!
//! What a clip takes from its skeleton, a node takes from its meshes: steps of rotation and scale follow the
//! box of all that hangs below it, and where it has a pivot, the middle of that box is what is kept in place
//! of the origin. Neither takes a byte.
//!
//! ```text
//! box       of a node's own mesh (`bounds`), or of a locator from −`reach` to `reach` along each axis, and of its children's boxes, these as the box of their eight corners moved by the child's rest transform. Nodes from the last to the first
//! pivot     p = (low + high) · ½ of the box, if it has a pivot and all |p| < 10^30; else 0          origin   o = t + R·S·p of the rest transform
//! reach     h = per axis the larger of |low − p| and |high − p|, times |scale| of the rest transform where that is not 0
//! step      base · 2^(⌊code/4⌋ − 32) · 2^((code mod 4)/4)
//! rotation  about axis i: step / √(h_j² + h_k²), j < k, within 5·10⁻⁷ … ½ rad          scale   step / h_i · |rest scale| (1 for 0), within 10⁻⁹ … 10⁹
//!           a length that is not between 10⁻³⁰ and 10³⁰ gives ½ rad, and |rest scale|
//! words     translation: ⌊(t + R·S·p − o) / unit + ½⌋, unit = step/32; rotation: a quaternion in 2⁻³⁰; scale: ⌊s · 32 / step + ½⌋. At first of the rest transform
//! κ         32·k / 2^s, cut at ±2²⁸
//! frame     vectors: predicted word + κ, cut at ±2³¹ · rotation: turn by y_i = (κ_i · round(step_i · 2³⁴)) >> 11
//!           transform: rotation · 2⁻³⁰ and scale · (step/32), as f32; then with these t = o + word · unit − R·S·p, as f32. What does not move is as in the rest transform
//! ```
//!
//! A frame between two others is predicted by the polynomial through all that it refers to, a key is expected
//! where the one before was. What is expected of |k| follows from |κ| of the frames around: each keeps their
//! means, of the translation and of all else.
//!
//! Credit: the steps that follow the size of a part: J. Jung, *Compressing skeletal animation data*, Riot
//! Games, 2015, taken from bones to rigid pieces.

use crate::Corrupt;
use crate::clip::fixed;
pub use crate::clip::node::{Node, boxes};
use crate::clip::node::{turned, usable};
use crate::clip::prediction::{STEP, Sources, cut, kappa, moved, turned as turned_words};
use crate::clip::schedule::weights;
use crate::entropy::range::{self, Bits, Chance};
#[cfg(feature = "encode")]
use crate::entropy::symbols::Encoder;
use crate::entropy::symbols::{Bucket, Decoder, Symbols};
use crate::quantize::rotation::{self, Quaternion};
use crate::schedule::{Schedule, Unit};
use crate::transform::Transform;

/// Most components of a node.
pub const COMPONENTS: usize = 9;
/// Class of a node whose steps are 32 times as fine; the next one is [`RAW`]. Part of the format, like
/// everything in this file.
pub const FINEST: u8 = 6;
/// Class of a node whose transform follows as it is.
pub const RAW: u8 = 7;
/// Code of a step that is the base.
pub const EVEN_CODE: u8 = 128;
/// Steps of rotations lie within these, in radians, as in `step`.
const ROTATION_STEP: [f64; 2] = [5e-7, 0.5];
/// The mean of |κ| that frames after a raw transform see in it.
const RAW_ACTIVITY: u32 = 1 << 12;
/// Fourth roots of two.
const QUARTERS: [f64; 4] = [1.0, 1.189_207_115_002_721, std::f64::consts::SQRT_2, 1.681_792_830_507_429];

/// Which parts of a moving node move, and how finely each is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Whether translation, rotation, scale move.
    pub moves: [bool; 3],
    /// The middle of its box stands for its origin.
    pub pivot: bool,
    /// Quarter octaves of the step.
    pub code: u8,
}

/// A moving node.
#[derive(Clone, Copy, Debug)]
pub struct Track {
    /// Number of the node.
    pub node: usize,
    /// Which parts of it move, and how finely.
    pub setup: Setup,
    /// First word; the last one holds what contexts are taken from.
    pub word: usize,
    /// Number of words.
    pub words: usize,
    /// In the first frame.
    pub rest: Transform,
    /// In the node's space.
    pub pivot: [f64; 3],
    /// Where the pivot is at first.
    origin: [f64; 3],
    /// Of translation.
    pub step: f64,
    /// Of rotation, per axis of the node, in radians.
    pub rotation: [f64; 3],
    /// Of scale.
    pub scale: [f64; 3],
    /// A step of rotation in 2⁻³⁴ · 2.
    turn: [i64; 3],
}

/// All moving nodes of a file.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    /// In the order of the nodes.
    pub tracks: Vec<Track>,
    /// Words of a frame.
    pub words: usize,
    /// Those of the rest transforms.
    rest: Vec<i32>,
}

/// Of a few words: no call for that.
#[inline]
fn equal(a: &[i32], b: &[i32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

/// The nearest integer, halves upwards; within 32 bits.
fn nearest(v: f64) -> i32 {
    (v + 0.5).floor() as i32
}

impl Track {
    /// Its step alone: `base` and `setup` are in their ranges.
    fn new(node: usize, given: &Node, space: &[f64; 6], base: f32, setup: Setup) -> Track {
        let octaves = i32::from(setup.code >> 2) - 32;
        let power = f64::from_bits(((1023 + octaves) as u64) << 52);
        let step = f64::from(base) * power * QUARTERS[usize::from(setup.code & 3)];
        let mut pivot = [0, 1, 2].map(|k| (space[k] + space[k + 3]) * 0.5);
        if !setup.pivot || !pivot.iter().all(|v| v.abs() < 1e30) {
            pivot = [0.0; 3];
        }
        let reach = [0, 1, 2].map(|k| {
            let scale = f64::from(given.rest.scale[k]).abs();
            let far = (space[k] - pivot[k]).abs().max((space[k + 3] - pivot[k]).abs());
            if scale > 0.0 { far * scale } else { far }
        });
        let [low, high] = ROTATION_STEP;
        let rotation = [(1, 2), (0, 2), (0, 1)].map(|(a, b)| {
            let lever = (reach[a] * reach[a] + reach[b] * reach[b]).sqrt();
            match usable(lever) {
                true => (step / lever).clamp(low, high),
                false => high,
            }
        });
        let scale = [0, 1, 2].map(|k| {
            let own = f64::from(given.rest.scale[k]).abs();
            let own = if own > 0.0 { own } else { 1.0 };
            match usable(reach[k]) {
                // A part of the scale itself.
                true => (step / reach[k] * own).clamp(1e-9, 1e9),
                false => own.clamp(1e-9, 1e9),
            }
        });
        let arm = turned(&given.rest, pivot);
        let t = given.rest.translation.map(f64::from);
        Track {
            node,
            setup,
            word: 0,
            words: 0,
            rest: given.rest,
            pivot,
            origin: [0, 1, 2].map(|k| t[k] + arm[k]),
            step,
            rotation,
            scale,
            turn: rotation.map(|s| (s * 17_179_869_184.0).round() as i64),
        }
    }

    /// Components per frame.
    pub fn components(&self) -> usize {
        3 * self.setup.moves.iter().filter(|m| **m).count()
    }

    /// Where coordinate `v` of the pivot lies along axis `k`, in steps: as the words of translation, but in
    /// whole steps and not rounded.
    #[cfg(feature = "encode")]
    pub fn along(&self, k: usize, v: f64) -> f64 {
        (v - self.origin[k]) / self.step
    }

    /// Words of a transform: those that are nearest to it.
    fn words_of(&self, t: &Transform) -> [i32; 10] {
        let arm = turned(t, self.pivot);
        let unit = self.step / STEP as f64;
        let at = |k: usize| {
            let from = f64::from(t.translation[k]) + arm[k] - self.origin[k];
            nearest(from / unit)
        };
        let q = fixed(t.rotation);
        let scale = |k: usize| nearest(f64::from(t.scale[k]) * STEP as f64 / self.scale[k]);
        [at(0), at(1), at(2), q[0], q[1], q[2], q[3], scale(0), scale(1), scale(2)]
    }

    /// Of these ten words those that it has.
    fn keep(&self, words: [i32; 10], out: &mut [i32]) {
        let [t, r, s] = self.setup.moves;
        let kept = (0..10).filter(|&i| [t, r, s][usize::from(i > 2) + usize::from(i > 6)]);
        for (out, i) in out.iter_mut().zip(kept) {
            *out = words[i];
        }
    }

    /// The transform that its words say.
    #[inline]
    pub fn transform(&self, words: &[i32]) -> Transform {
        let mut out = self.rest;
        let [t, r, s] = self.setup.moves;
        let (translation, rest) = words.split_at(if t { 3 } else { 0 });
        let (rotation, scale) = rest.split_at(if r { 4 } else { 0 });
        if let [x, y, z, w] = *rotation {
            let q: Quaternion = [x, y, z, w];
            for (to, v) in out.rotation.iter_mut().zip(rotation::float(q)) {
                *to = v as f32;
            }
        }
        if s {
            let at = |k: usize| (f64::from(scale[k]) * (self.scale[k] / STEP as f64)) as f32;
            out.scale = [at(0), at(1), at(2)];
        }
        if t {
            let arm = match self.pivot {
                [0.0, 0.0, 0.0] => [0.0; 3],
                pivot => turned(&out, pivot),
            };
            let unit = self.step / STEP as f64;
            for (k, to) in out.translation.iter_mut().enumerate() {
                let moved = self.origin[k] + f64::from(translation[k]) * unit;
                *to = (moved - arm[k]) as f32;
            }
        }
        out
    }
}

impl Nodes {
    /// From what [`encode_setup`] wrote, with nothing left over. Parents must stand before their children.
    pub fn new(nodes: &[Node], setup: &[u8]) -> Result<Nodes, Corrupt> {
        let mut coder = Settings::new(range::Decoder::new(setup));
        let base = f32::from_bits(coder.bits.plain(32, 0));
        if !(base > 1e-30 && base < 1e30) {
            return Err(Corrupt("nodes: steps out of range"));
        }
        let space = boxes(nodes);
        let mut out = Nodes::default();
        for (n, node) in nodes.iter().enumerate().filter(|(_, node)| node.moves) {
            let setup = coder.setup(None);
            let mut track = Track::new(n, node, &space[n], base, setup);
            track.word = out.words;
            track.words =
                setup.moves.iter().zip([3, 4, 3]).map(|(m, w)| if *m { w } else { 0 }).sum::<usize>() + 1;
            out.words += track.words;
            let first = out.rest.len();
            out.rest.resize(out.words, 0);
            let words = track.words_of(&node.rest);
            track.keep(words, &mut out.rest[first..]);
            out.tracks.push(track);
        }
        coder.bits.finish()?;
        Ok(out)
    }

    /// One of them alone.
    #[cfg(feature = "encode")]
    pub fn single(&self, track: usize) -> Nodes {
        let own = Track { word: 0, ..self.tracks[track] };
        let first = self.tracks[track].word;
        Nodes { words: own.words, rest: self.rest[first..first + own.words].to_vec(), tracks: vec![own] }
    }

    /// State of the rest transforms.
    pub fn rest(&self) -> &[i32] {
        &self.rest
    }

    /// Reads a unit: for each of its frames its state ([`Nodes::words`]) and its transforms. `found` gives
    /// the state of frames of other units that these refer to. Returns an error for bytes that are not all
    /// used.
    pub fn decode_unit<'f>(
        &'f self,
        schedule: Schedule,
        unit: Unit,
        bytes: &[u8],
        found: &dyn Fn(u32) -> Option<&'f [i32]>,
        states: &mut [&mut [i32]],
        out: &mut [&mut [Transform]],
    ) -> Result<(), Corrupt> {
        let frames = schedule.frames_of(unit);
        let fits = |list: usize| list == frames.len();
        if !(fits(states.len()) && fits(out.len())) {
            return Err(Corrupt("nodes: another number of frames"));
        }
        let mut decoder = Decoder::new(bytes);
        for i in 0..frames.len() {
            let (done, rest) = states.split_at_mut(i);
            let find = |frame: u32| match frames.iter().position(|&f| f == frame) {
                Some(at) => done.get(at).map(|state| &**state),
                None => found(frame),
            };
            let around = Around::new(self, schedule, &frames, i, find)?;
            let (outs, out) = out.split_at_mut(i);
            let (before, out) = (outs.last().map(|out| &**out), &mut *out[0]);
            let state = &mut *rest[0];
            if state.len() != self.words || out.len() != self.tracks.len() {
                return Err(Corrupt("nodes: another number of nodes"));
            }
            for (n, (track, out)) in self.tracks.iter().zip(out).enumerate() {
                let own = track.word..track.word + track.words;
                let words = &mut state[own.clone()];
                let mut choice = Choice::default();
                let class = track.read(&around, &mut decoder, &mut choice, words)?;
                // What stays where it is costs as little as can be.
                let before = (class == 0).then(|| before.and_then(|b| b.get(n))).flatten();
                *out = match (class, before, done.last()) {
                    (RAW, ..) => choice.raw,
                    (_, Some(before), Some(last)) if equal(&last[own], words) => *before,
                    _ => track.transform(&words[..track.words - 1]),
                };
            }
        }
        decoder.finish()
    }
}

/// The class and the residuals of a node in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// See the head of this file.
    pub class: u8,
    /// Residuals.
    pub k: [i32; COMPONENTS],
    /// Of class [`RAW`].
    pub raw: Transform,
}

impl Default for Choice {
    fn default() -> Self {
        Choice { class: 0, k: [0; COMPONENTS], raw: Transform::IDENTITY }
    }
}

/// The frames that one is predicted from.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// 0 … 3: half the distance of the two ends is 2^level or less, 4: a key, 5: a key that refers to none,
    /// but the first.
    pub level: usize,
    states: [&'a [i32]; 4],
    weights: [i32; 4],
    count: usize,
    /// The frame before of the same depth and unit.
    beside: Option<&'a [i32]>,
}

impl<'a> Around<'a> {
    /// Of frame number `i` of a unit's `frames`. `find` gives the states of frames decoded before.
    pub fn new(
        nodes: &'a Nodes,
        schedule: Schedule,
        frames: &[u32],
        i: usize,
        find: impl Fn(u32) -> Option<&'a [i32]>,
    ) -> Result<Around<'a>, Corrupt> {
        const MISSING: Corrupt = Corrupt("nodes: a frame is decoded before those it needs");
        let frame = frames[i];
        let key = schedule.key_of(frame).is_some();
        let references = schedule.references(frame);
        let mut out = Around {
            level: 4,
            states: [nodes.rest(); 4],
            weights: [1 << 16, 0, 0, 0],
            count: 1,
            beside: None,
        };
        let mut fresh = frame > 0;
        // What a key would take from the first frame is what does not move.
        let list = references.iter().filter(|&&r| !(key && r == 0));
        let mut at = [0i64; 4];
        for (k, &reference) in list.enumerate().take(if key { 1 } else { 4 }) {
            out.states[k] = find(reference).ok_or(MISSING)?;
            if out.states[k].len() != nodes.words {
                return Err(Corrupt("nodes: another number of nodes"));
            }
            at[k] = i64::from(reference) - i64::from(frame);
            (out.count, fresh) = (k + 1, false);
        }
        if key {
            out.level += usize::from(fresh);
            return Ok(out);
        }
        let span = (at[1] - at[0]).clamp(2, 16) as u64;
        out.level = (63 - (span - 1).leading_zeros()) as usize;
        out.weights = weights(&at[..out.count]);
        let before = i.checked_sub(1).map(|before| frames[before]);
        if let Some(before) = before.filter(|&b| schedule.depth(b) == schedule.depth(frame)) {
            out.beside = Some(find(before).ok_or(MISSING)?);
        }
        Ok(out)
    }

    /// Means of |κ| around, of translation and of all else: of the frames referred to, and of the one beside.
    fn activity(&self, track: &Track) -> ([u32; 2], Option<[u32; 2]>) {
        let of = |state: &[i32]| {
            let both = state[track.word + track.words - 1] as u32;
            [both & 0xFFFF, both >> 16]
        };
        let a = of(self.states[0]);
        let b = if self.count > 1 { of(self.states[1]) } else { a };
        let mean = [0, 1].map(|s| (a[s] + b[s]) >> 1);
        (mean, self.beside.map(of))
    }

    /// The words of a node in all of the frames, where those are the same.
    fn same(&self, track: &Track) -> Option<&'a [i32]> {
        let of = |state: &'a [i32]| &state[track.word..track.word + track.words - 1];
        let first = of(self.states[0]);
        let others = &self.states[1..self.count.max(1)];
        (others.iter().all(|state| equal(of(state), first))).then_some(first)
    }

    /// Predicted words. Frames beyond those referred to have the weight 0.
    #[inline]
    pub fn predict(&self, track: &Track) -> [i32; 10] {
        let mut out = [0; 10];
        let [t, r, s] = track.setup.moves;
        let mut words = [&[][..]; 4];
        for (words, state) in words.iter_mut().zip(&self.states) {
            *words = &state[track.word..track.word + track.words - 1];
        }
        let around = Sources { words, weights: self.weights, count: 4 };
        let mut word = 0;
        if t {
            for (k, out) in out[..3].iter_mut().enumerate() {
                *out = cut(around.vector(k));
            }
            word += 3;
        }
        if r {
            out[word..word + 4].copy_from_slice(&around.rotation(word));
            word += 4;
        }
        if s {
            for k in word..word + 3 {
                out[k] = cut(around.vector(k));
            }
        }
        out
    }
}

/// Weights of what is expected of |k|: constant, frames around, the one beside, what this frame had so far.
/// By level; without and with one beside; for the first component and for those after it.
const EXPECTED: [[[[u32; 4]; 2]; 2]; 6] = [
    [[[1800, 0, 0, 0], [710, 0, 0, 55]], [[400, 0, 14, 0], [520, 0, 18, 25]]],
    [[[2800, 0, 0, 0], [740, 0, 0, 61]], [[680, 0, 19, 0], [460, 1, 24, 28]]],
    [[[2800, 1, 0, 0], [710, 2, 0, 61]], [[1370, 0, 22, 0], [370, 2, 18, 27]]],
    [[[7200, 1, 0, 0], [730, 3, 0, 62]], [[7200, 1, 0, 0], [730, 3, 0, 62]]],
    [[[30_000, 1, 0, 0], [620, 3, 0, 78]], [[30_000, 1, 0, 0], [620, 3, 0, 78]]],
    [[[140_000, 0, 0, 0], [110_000, 0, 0, 32]], [[140_000, 0, 0, 0], [110_000, 0, 0, 32]]],
];

/// How large the residuals of a node are expected to be in one frame, from what surrounds it.
pub struct Expected {
    level: usize,
    around: [u32; 2],
    beside: Option<[u32; 2]>,
    /// Of what was coded: sum of |κ| and how many.
    so_far: (u64, u64),
    /// It is expected to move.
    moving: bool,
}

impl Expected {
    /// Before anything of it is coded.
    #[inline]
    pub fn new(around: &Around<'_>, track: &Track) -> Expected {
        let (mean, beside) = around.activity(track);
        let sum = |v: [u32; 2]| v[0] + v[1];
        let most = beside.map_or(sum(mean), |b| sum(mean).max(sum(b)));
        Expected {
            level: around.level,
            around: mean,
            beside,
            so_far: (0, 0),
            moving: around.level == 5 || most > 0,
        }
    }

    /// The table of the class.
    #[inline]
    fn class(&self) -> Bucket {
        Bucket::fixed(if self.moving { 60 } else { 8 })
    }

    /// Classes 0 and 1 change places where a node moves.
    #[inline]
    fn swap(&self, class: u8) -> u8 {
        class ^ u8::from(self.moving && class < 2)
    }

    /// The table of the next component, of translation (slot 0) or of anything else (1).
    #[inline]
    pub fn bucket(&self, slot: usize, fine: u8) -> Bucket {
        let (sum, count) = self.so_far;
        let row = &EXPECTED[self.level][usize::from(self.beside.is_some())][usize::from(count > 0)];
        let mut sigma = u64::from(row[0]) + u64::from(row[1]) * u64::from(self.around[slot]);
        if let Some(beside) = self.beside {
            sigma += u64::from(row[2]) * u64::from(beside[slot]);
        }
        if count > 0 {
            sigma += u64::from(row[3]) * ((sum * PARTS[count as usize]) >> 16);
        }
        Bucket::fixed((sigma << fine >> 3).min(1 << 28) as u32)
    }

    /// Remembers a component.
    #[inline]
    pub fn put(&mut self, kappa: i64) {
        self.so_far.0 += kappa.unsigned_abs();
        self.so_far.1 += 1;
    }
}

/// ⌈2¹⁶/n⌉.
const PARTS: [u64; 9] = [0, 65536, 32768, 21846, 16384, 13108, 10923, 9363, 8192];

impl Track {
    /// Codes a node in a frame: `choice` is given to an encoder, and filled by a decoder. Writes its words,
    /// and returns its transform.
    #[cfg(feature = "encode")]
    pub fn code<S: Symbols>(
        &self,
        around: &Around<'_>,
        symbols: &mut S,
        choice: &mut Choice,
        words: &mut [i32],
    ) -> Result<Transform, Corrupt> {
        Ok(match self.read(around, symbols, choice, words)? {
            RAW => choice.raw,
            _ => self.transform(&words[..self.words - 1]),
        })
    }

    /// As [`Track::code`], but without the transform; returns the node's class.
    fn read<S: Symbols>(
        &self,
        around: &Around<'_>,
        symbols: &mut S,
        choice: &mut Choice,
        words: &mut [i32],
    ) -> Result<u8, Corrupt> {
        let mut expected = Expected::new(around, self);
        let class = symbols.symbol(expected.class(), i32::from(expected.swap(choice.class)));
        let class = match u8::try_from(class) {
            Ok(class) if class <= RAW => expected.swap(class),
            _ => return Err(Corrupt("nodes: unknown class")),
        };
        choice.class = class;
        match class {
            0 => self.stay(around, words),
            RAW => self.code_raw(symbols, choice, words)?,
            _ => {
                let mut kappas = [0i64; COMPONENTS];
                let fine = class - 1;
                for c in 0..self.components() {
                    let slot = usize::from(!(self.setup.moves[0] && c < 3));
                    let k = symbols.symbol(expected.bucket(slot, fine), choice.k[c]);
                    choice.k[c] = k;
                    kappas[c] = kappa(k, fine, 0);
                    expected.put(kappas[c]);
                }
                self.apply(&around.predict(self), &kappas, words);
            }
        }
        Ok(class)
    }

    /// Words of a node of class 0.
    #[inline]
    pub fn stay(&self, around: &Around<'_>, words: &mut [i32]) {
        match around.same(self) {
            Some(same) => {
                words[..self.words - 1].copy_from_slice(same);
                words[self.words - 1] = 0;
            }
            None => self.apply(&around.predict(self), &[0; COMPONENTS], words),
        }
    }

    /// Words of a prediction moved on by κ.
    #[inline]
    pub fn apply(&self, prediction: &[i32; 10], kappas: &[i64; COMPONENTS], words: &mut [i32]) {
        let mut sums = [(0u64, 0u64); 2];
        let (mut word, mut c) = (0, 0);
        for (part, &moves) in self.setup.moves.iter().enumerate() {
            if !moves {
                continue;
            }
            let own = &kappas[c..c + 3];
            let (sum, count) = &mut sums[usize::from(part > 0)];
            *sum += own.iter().map(|k| k.unsigned_abs()).sum::<u64>();
            *count += 3;
            if part == 1 {
                let mut turn = [0; 3];
                for i in 0..3 {
                    turn[i] = own[i] * self.turn[i];
                }
                let mut q = rotation::IDENTITY;
                q.copy_from_slice(&prediction[word..word + 4]);
                words[word..word + 4].copy_from_slice(&turned_words(q, turn));
                word += 4;
            } else {
                for i in 0..3 {
                    words[word + i] = moved(prediction[word + i], own[i]);
                }
                word += 3;
            }
            c += 3;
        }
        let mean = |(sum, count): (u64, u64)| ((sum * PARTS[count as usize]) >> 16).min(0xFFFF);
        words[self.words - 1] = (mean(sums[0]) | mean(sums[1]) << 16) as i32;
    }

    fn code_raw<S: Symbols>(
        &self,
        symbols: &mut S,
        choice: &mut Choice,
        words: &mut [i32],
    ) -> Result<(), Corrupt> {
        let number = |v: &mut f32| {
            *v = f32::from_bits(symbols.word(v.to_bits()));
            v.is_finite()
        };
        let raw = &mut choice.raw;
        let mut all = raw.rotation.iter_mut().chain(&mut raw.translation).chain(&mut raw.scale);
        if !all.all(number) {
            return Err(Corrupt("nodes: a transform that is not finite"));
        }
        self.keep(self.words_of(raw), words);
        words[self.words - 1] = (RAW_ACTIVITY | RAW_ACTIVITY << 16) as i32;
        Ok(())
    }
}

/// The setup in bits of the range coder; one function reads and writes.
struct Settings<B> {
    bits: B,
    moves: [Chance; 24],
    pivot: [Chance; 2],
    same: Chance,
    code: [Chance; 256],
    last: Setup,
}

impl<B: Bits<Context = Chance>> Settings<B> {
    fn new(bits: B) -> Settings<B> {
        let even = Chance::default();
        Settings {
            bits,
            moves: [even; 24],
            pivot: [even; 2],
            same: even,
            code: [even; 256],
            last: Setup { moves: [true, true, false], pivot: true, code: EVEN_CODE },
        }
    }

    fn setup(&mut self, given: Option<Setup>) -> Setup {
        let given = given.unwrap_or(self.last);
        let mut out = given;
        let mut seen = 0;
        for (i, moves) in out.moves.iter_mut().enumerate() {
            let context = 8 * i + 2 * seen + usize::from(self.last.moves[i]);
            *moves = self.bits.bit(&mut self.moves[context], given.moves[i]);
            seen = seen << 1 | usize::from(*moves);
        }
        let context = usize::from(self.last.pivot);
        out.pivot = self.bits.bit(&mut self.pivot[context], given.pivot);
        let other = given.code != self.last.code;
        if self.bits.bit(&mut self.same, other) {
            let mut node = 1;
            for i in (0..8).rev() {
                let bit = self.bits.bit(&mut self.code[node], given.code >> i & 1 != 0);
                node = node << 1 | usize::from(bit);
            }
            out.code = node as u8;
        } else {
            out.code = self.last.code;
        }
        self.last = out;
        out
    }
}

/// Writes what is said of all moving nodes; `base` > 0.
#[cfg(feature = "encode")]
pub fn encode_setup(base: f32, setups: &[Setup], out: &mut Vec<u8>) {
    let mut coder = Settings::new(range::Encoder::new(out));
    coder.bits.plain(32, base.to_bits());
    for &setup in setups {
        coder.setup(Some(setup));
    }
    coder.bits.finish();
}

/// Writes a unit; `choices` are per frame, in the order of the unit. `found` as for [`Nodes::decode_unit`];
/// the states of the unit's own frames are `states`.
#[cfg(feature = "encode")]
pub fn encode_unit<'f>(
    nodes: &'f Nodes,
    schedule: Schedule,
    unit: Unit,
    found: &dyn Fn(u32) -> Option<&'f [i32]>,
    choices: &[&[Choice]],
    out: &mut Vec<u8>,
) -> Result<(), Corrupt> {
    let frames = schedule.frames_of(unit);
    let mut encoder = Encoder::default();
    let mut words = vec![0; nodes.words];
    for i in 0..frames.len() {
        let around = Around::new(nodes, schedule, &frames, i, found)?;
        for (track, choice) in nodes.tracks.iter().zip(choices[i]) {
            track.code(&around, &mut encoder, &mut choice.clone(), &mut words[..track.words])?;
        }
    }
    encoder.finish(out);
    Ok(())
}

#[cfg(test)]
mod tests;
