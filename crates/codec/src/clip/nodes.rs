//! Moving nodes of a geometry cache as a clip: their local transforms in the access units of
//! [`crate::schedule`], so that they are streamed and sought with the frames that they belong to. The error
//! is within the bound that the encoder measured with these same functions, on the vertices.
//!
//! ```text
//! setup     base f32 · whether units are packed · per moving node: which of translation, rotation, scale move (three bits), whether it has a pivot, its step code
//! block     up to eight moving nodes, in their order, in which the same of translation, rotation, scale move; blocks are sorted by the number 1 (translation) + 2 (rotation) + 4 (scale) of what moves
//! unit      per block, per frame, per node: a class, then k of its components: translation 3, rotation 3, scale 3, those that move. One string of symbols (below), or packed
//! class     0: all k are 0 · 1 + s: steps are divided by 2^s, s = 0 … 5 · 7: the transform itself follows, 10 × 32 bits, finite
//! ```
//!
//! A node takes from its meshes what a clip takes from its skeleton: the steps of rotation and scale follow
//! the bounds of everything below the node, and for a node with a pivot, the centre of these bounds is the
//! point that is coded, instead of the origin. Neither takes a byte.
//!
//! ```text
//! box       of a node: the union of its own mesh's `bounds`, or for a locator the cube from −`reach` to `reach` along each axis, and of its children's boxes, each of these as the box of its eight corners moved by the child's rest transform. Nodes from the last to the first
//! pivot     p = (low + high) · ½ of the box, if the node has a pivot and all |p| < 10^30; else 0          origin   o = t + R·S·p of the rest transform
//! reach     h = per axis the larger of |low − p| and |high − p|, times |scale| of the rest transform if that is not 0
//! step      base · 2^(⌊code/4⌋ − 32) · 2^((code mod 4)/4), code: the step code
//! rotation  about axis i: step / √(h_j² + h_k²), j < k the other axes, clamped to 5·10⁻⁷ … ½ rad          scale   step / h_i · |rest scale| (1 for 0), clamped to 10⁻⁹ … 10⁹
//!           where the length √(h_j² + h_k²) or h_i is not between 10⁻³⁰ and 10³⁰: ½ rad, and |rest scale|
//! codes     translation: ⌊(t + R·S·p − o) / unit + ½⌋, unit = step/32; rotation: a quaternion in 2⁻³⁰; scale: ⌊s · 32 / step + ½⌋. The first codes are those of the rest transform
//! κ         32·k / 2^s, clamped to ±2²⁸
//! ```
//!
//! A frame between two others is predicted by the polynomial through all frames that it refers to; a key
//! frame is predicted to equal the key frame before. All of that is f64, so that eight nodes are computed
//! side by side.
//!
//! ```text
//! vector    ⌊(w₀·a + w₁·b + w₂·c + w₃·d) · 2⁻¹⁶⌋ + κ, clamped to ±2³¹: a … d the codes of the frames referred to, w₀ … w₃ their weights; the sum is exact; missing frames count 0
//! mixed     q = (w₀·a ± w₁·b ± w₂·c ± w₃·d) · 2⁻⁴⁶: the sign of b and of c is − if its product with a is below 0; the sign of d is that of b, negated if the product of d with b is below 0; n = q·q
//!           n < 2⁻⁸: q = a · 2⁻³⁰, n = max(q·q, 2⁻⁸)          product: x·x + y·y + z·z + w·w
//! rotation  y_i = κ_i · (step_i · 2⁻⁷), clamped to ±1; m = y·y; b = (2·y, 1 − m): codes are (q·b) · (2³⁰ / (√n · (1 + m))), rounded, halves to even
//!           a unchanged if y is 0 and a … d are equal
//! arm       R·S·p with v = S·p, u = q × v + q_w·v: v + f · (q × u), f = (4 − q·q) − q·q if rotation moves, else 2 / max(q·q, 10⁻³⁰)
//! transform rotation: code · 2⁻³⁰ and scale: code · (step/32), as f32; then with these t = o + code · unit − R·S·p, as f32; without the arm if p is 0. Parts that do not move are those of the rest transform
//! ```
//!
//! Credit: the steps that follow the size of a part: J. Jung, *Compressing skeletal animation data*, Riot
//! Games, 2015, applied to rigid parts instead of bones.

mod blocks;
mod codes;
mod packed;
mod references;
mod symbols;
mod track;

#[cfg(test)]
mod tests;

use crate::Corrupt;
pub use crate::clip::node::{Node, subtree_bounds};
use crate::entropy::range;
#[cfg(feature = "encode")]
use crate::entropy::symbols::Bucket;
use crate::schedule::{MAX_UNIT_FRAMES, Schedule, Unit};
use crate::simd::isa::Isa;
use crate::simd::{self, doubles};
use crate::transform::Transform;
use blocks::{FrameReferences, NodeBlock, ResidualSource, UnitTask};
pub use blocks::{NodeResiduals, RAW_CLASS};
pub use codes::TrackCodes;
use references::References;
#[cfg(feature = "encode")]
pub use references::{Prediction, SurroundingCodes};
pub use track::{BASE_STEP_CODE, NodeSetup, NodeTrack};

/// The largest number of components of a node.
pub const MAX_COMPONENTS: usize = blocks::MAX_COMPONENTS;
/// The class of a node whose steps are 32 times as fine; the next class is [`RAW_CLASS`]. Part of the format,
/// like everything in this file.
pub const FINEST_CLASS: u8 = 6;

/// All moving nodes of a file.
#[derive(Clone, Debug, Default)]
pub struct NodeTracks {
    /// The tracks, in the order of the nodes.
    pub tracks: Vec<NodeTrack>,
    /// The number of codes in the state of a frame.
    pub codes_per_frame: usize,
    /// `true` if the access units are packed: larger, but faster to decode.
    pub packed: bool,
    blocks: Vec<NodeBlock>,
    /// The state of the rest transforms.
    rest: Vec<i32>,
}

impl NodeTracks {
    /// Decodes the result of [`encode_setup`], all of it. Parents must stand before their children.
    pub fn new(nodes: &[Node], setup: &[u8]) -> Result<NodeTracks, Corrupt> {
        let mut coder = track::SetupCoder::new(range::Decoder::new(setup));
        let base = f32::from_bits(range::BitCoder::raw_bits(&mut coder.bits, 32, 0));
        if !(base > 1e-30 && base < 1e30) {
            return Err(Corrupt("nodes: steps out of range"));
        }
        let packed = range::BitCoder::raw_bits(&mut coder.bits, 1, 0) != 0;
        let space = subtree_bounds(nodes);
        let mut out = NodeTracks { packed, ..NodeTracks::default() };
        for (n, node) in nodes.iter().enumerate().filter(|(_, node)| node.moves) {
            out.tracks.push(NodeTrack::new(n, node, &space[n], base, coder.setup(None)));
        }
        coder.bits.finish()?;
        out.group_into_blocks();
        Ok(out)
    }

    /// Groups tracks in which the same of translation, rotation and scale move into blocks of eight.
    fn group_into_blocks(&mut self) {
        let kind =
            |track: &NodeTrack| (0..).zip(track.setup.moves).map(|(k, m)| usize::from(m) << k).sum::<usize>();
        let mut kinds: [Vec<u32>; 8] = Default::default();
        for (number, track) in (0..).zip(&self.tracks) {
            kinds[kind(track)].push(number);
        }
        for numbers in kinds.iter().flat_map(|numbers| numbers.chunks(doubles::LANES)) {
            let block = NodeBlock::new(&self.tracks, numbers, self.codes_per_frame, !self.packed);
            self.codes_per_frame += block.code_count();
            self.rest.resize(self.codes_per_frame, 0);
            for (lane, &number) in numbers.iter().enumerate() {
                block.set_codes(lane, &self.tracks[number as usize].rest_codes, &mut self.rest);
            }
            self.blocks.push(block);
        }
    }

    /// Returns the state of the rest transforms.
    pub fn rest(&self) -> &[i32] {
        &self.rest
    }

    /// Returns the state of a frame that has these codes, given by track.
    #[cfg(feature = "encode")]
    pub fn frame_state(&self, words: &[TrackCodes]) -> Vec<i32> {
        let mut out = self.rest.clone();
        for block in &self.blocks {
            for (lane, &number) in block.tracks[..block.count].iter().enumerate() {
                block.set_codes(lane, &words[number as usize], &mut out);
            }
        }
        out
    }

    /// Decodes an access unit: for each of its frames the state, of length [`NodeTracks::codes_per_frame`],
    /// and the transforms. `found` gives the state of frames of other access units that these refer to.
    /// Returns an error if not all bytes are used.
    pub fn decode_unit<'f>(
        &'f self,
        schedule: Schedule,
        unit: Unit,
        bytes: &[u8],
        found: &dyn Fn(u32) -> Option<&'f [i32]>,
        states: &mut [&mut [i32]],
        out: &mut [&mut [Transform]],
    ) -> Result<(), Corrupt> {
        self.decode_unit_with(Isa::get(), (schedule, unit), bytes, found, states, out)
    }

    /// Does the same as [`NodeTracks::decode_unit`] with the kernels of one of [`Isa::all`]. The result is
    /// the same.
    pub fn decode_unit_with<'f>(
        &'f self,
        isa: Isa,
        (schedule, unit): (Schedule, Unit),
        bytes: &[u8],
        found: &dyn Fn(u32) -> Option<&'f [i32]>,
        states: &mut [&mut [i32]],
        out: &mut [&mut [Transform]],
    ) -> Result<(), Corrupt> {
        let frames = schedule.frames_of(unit);
        if states.len() != frames.len() || out.len() != frames.len() {
            return Err(Corrupt("nodes: another number of frames"));
        }
        let fits = states.iter().all(|s| s.len() == self.codes_per_frame)
            && out.iter().all(|o| o.len() == self.tracks.len());
        if !fits {
            return Err(Corrupt("nodes: another number of nodes"));
        }
        let mut surrounded = [FrameReferences::PLACEHOLDER; MAX_UNIT_FRAMES];
        for (i, to) in surrounded.iter_mut().enumerate().take(frames.len()) {
            let references = References::new(schedule, &frames, i);
            *to = FrameReferences::new(&references, &frames, i, &self.rest, found)?;
        }
        let frames = &surrounded[..frames.len()];
        match self.packed {
            true => {
                let source = packed::Unpacker::new(bytes, self.blocks.len() * frames.len())?;
                self.decode_blocks(isa, frames, states, out, source)?.finish()
            }
            false => {
                let source = symbols::SymbolReader::new(bytes)?;
                self.decode_blocks(isa, frames, states, out, source)?.finish()
            }
        }
    }

    fn decode_blocks<S: ResidualSource>(
        &self,
        isa: Isa,
        frames: &[FrameReferences<'_>],
        states: &mut [&mut [i32]],
        out: &mut [&mut [Transform]],
        source: S,
    ) -> Result<S, Corrupt> {
        let task = UnitTask { blocks: &self.blocks, frames, states, out, source, tracks: &self.tracks };
        simd::run_kernel(isa, task)
    }
}

/// The decoded codes and transform of a node in a frame.
#[cfg(feature = "encode")]
impl NodeTrack {
    /// Returns what a decoder reconstructs from `choice`.
    pub fn reconstruct(
        &self,
        around: &SurroundingCodes<'_>,
        choice: &NodeResiduals,
    ) -> (TrackCodes, Transform) {
        let components = self.components();
        let mut words = match choice.class {
            RAW_CLASS => self.quantize(&choice.raw),
            class => {
                let fine = class.saturating_sub(1).min(FINEST_CLASS - 1);
                let kappas = choice.k.map(|k| crate::clip::prediction::kappa(k, fine, 0) as i32);
                around.add_kappas(self, &kappas[..components])
            }
        };
        words[codes::CONTEXT] = symbols::choice_context(self.setup.moves, choice);
        let transform = match choice.class {
            RAW_CLASS => choice.raw,
            _ => self.transform(&words),
        };
        (words, transform)
    }
}

/// The cost of residuals, used to choose among them.
#[cfg(feature = "encode")]
pub struct ResidualCosts {
    /// The bucket of each component; `None` if the access units are packed.
    buckets: Option<[Bucket; MAX_COMPONENTS]>,
}

#[cfg(feature = "encode")]
impl ResidualCosts {
    /// Prepares the costs of residuals near `k` of class 1 + `fine`, for a node in a frame.
    pub fn new(
        nodes_are_packed: bool,
        track: &NodeTrack,
        around: &SurroundingCodes<'_>,
        k: &[i32; MAX_COMPONENTS],
        fine: u8,
    ) -> ResidualCosts {
        let buckets = (!nodes_are_packed).then(|| symbols::buckets(track.setup.moves, around, k, fine));
        ResidualCosts { buckets }
    }

    /// Returns how much cheaper component `c` is with the value `lower` instead of `k[c]`, in 2⁻⁸ bits.
    pub fn saved(&self, k: &[i32; MAX_COMPONENTS], c: usize, lower: i32) -> i64 {
        match &self.buckets {
            Some(buckets) => i64::from(buckets[c].cost(k[c])) - i64::from(buckets[c].cost(lower)),
            None => {
                let mut part = [0; 3];
                part.copy_from_slice(&k[c / 3 * 3..][..3]);
                let before = packed::field_bits(&part);
                part[c % 3] = lower;
                256 * (i64::from(before) - i64::from(packed::field_bits(&part)))
            }
        }
    }
}

/// Appends the setup of all moving nodes; `base` must be > 0.
#[cfg(feature = "encode")]
pub fn encode_setup(base: f32, packed: bool, setups: &[NodeSetup], out: &mut Vec<u8>) {
    let mut coder = track::SetupCoder::new(range::Encoder::new(out));
    range::BitCoder::raw_bits(&mut coder.bits, 32, base.to_bits());
    range::BitCoder::raw_bits(&mut coder.bits, 1, u32::from(packed));
    for &setup in setups {
        coder.setup(Some(setup));
    }
    coder.bits.finish();
}

/// Appends an access unit; `choices` are per frame, in the order of the unit. `found` gives the codes by
/// track of the frames that are referred to, including those of this unit.
#[cfg(feature = "encode")]
pub fn encode_unit<'f>(
    nodes: &'f NodeTracks,
    schedule: Schedule,
    unit: Unit,
    found: &dyn Fn(u32) -> Option<&'f [TrackCodes]>,
    choices: &[&[NodeResiduals]],
    out: &mut Vec<u8>,
) -> Result<(), Corrupt> {
    let frames = schedule.frames_of(unit);
    let mut packer = packed::Packer::default();
    let mut writer = symbols::SymbolWriter::default();
    for block in &nodes.blocks {
        let numbers = block.tracks[..block.count].iter().map(|&n| n as usize);
        for i in 0..frames.len() {
            let own: Vec<NodeResiduals> = numbers.clone().map(|n| choices[i][n]).collect();
            if nodes.packed {
                packer.push_block(block, &own);
                continue;
            }
            let around = |n: usize| {
                let find = |frame: u32| found(frame)?.get(n);
                SurroundingCodes::new(&nodes.tracks[n].rest_codes, schedule, &frames, i, find)
            };
            let around = numbers.clone().map(around).collect::<Result<Vec<_>, _>>()?;
            writer.push_block(block, &around, &own);
        }
    }
    match nodes.packed {
        true => packer.finish(out),
        false => writer.finish(out),
    }
    Ok(())
}
