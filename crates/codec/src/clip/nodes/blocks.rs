//! Decodes moving nodes in blocks of eight side by side; in all nodes of a block the same parts move. The
//! residuals come from a [`ResidualSource`], in the order of blocks, and of frames within them.

use crate::Corrupt;
use crate::clip::nodes::codes::{
    CONTEXT, PoseConstants, ROTATION, SCALE, TRANSLATION, TrackCodes, pose, rotation, vector,
};
use crate::clip::nodes::references::References;
use crate::clip::nodes::track::NodeTrack;
use crate::schedule::MAX_UNIT_FRAMES;
use crate::simd::Kernel;
use crate::simd::doubles::{self, Doubles, LANES};
use crate::transform::Transform;
use fearless_simd::prelude::*;
use fearless_simd::{f64x8, i32x8};

/// The class of a node whose transform follows uncompressed.
pub const RAW_CLASS: u8 = 7;

/// The largest number of components of a node.
pub(super) const MAX_COMPONENTS: usize = 9;

/// The class and the residuals of a node in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeResiduals {
    /// The class, see the head of [`crate::clip::nodes`].
    pub class: u8,
    /// Residuals.
    pub k: [i32; MAX_COMPONENTS],
    /// The transform of a node of class [`RAW_CLASS`].
    pub raw: Transform,
}

impl Default for NodeResiduals {
    fn default() -> Self {
        NodeResiduals { class: 0, k: [0; MAX_COMPONENTS], raw: Transform::IDENTITY }
    }
}

/// One code, or another number, of each of eight nodes.
type LaneRow<T> = [T; LANES];

/// Up to eight nodes in which the same parts move, in their order.
#[derive(Clone, Debug)]
pub(super) struct NodeBlock {
    pub moves: [bool; 3],
    /// The numbers of their tracks.
    pub tracks: LaneRow<u32>,
    /// The number of nodes.
    pub count: usize,
    /// `true` if there are eight nodes with consecutive numbers.
    together: bool,
    /// The first code of the block in a frame's state. Its rows are those of translation, rotation and scale,
    /// as far as they move, and, if used, a row of contexts.
    pub first_code: usize,
    pub rows: usize,
    /// `true` if the last row holds contexts.
    contexts: bool,
    /// `true` if some pivot is not the origin.
    pivots: bool,
    /// Constants by row: rest transform 10, κ to turns 3, origin 3, unit 1, scale 3, pivot 3.
    constants: Box<[LaneRow<f64>; 23]>,
}

/// Returns the codes of the parts of a track that move, in order.
fn moving_codes(moves: [bool; 3]) -> impl Iterator<Item = usize> {
    let parts = [TRANSLATION..ROTATION, ROTATION..SCALE, SCALE..CONTEXT];
    parts.into_iter().zip(moves).filter(|(_, moves)| *moves).flat_map(|(words, _)| words)
}

impl NodeBlock {
    /// Makes the block of the tracks with these numbers; `contexts` tells whether the state has a row of
    /// contexts.
    pub fn new(tracks: &[NodeTrack], numbers: &[u32], word: usize, contexts: bool) -> NodeBlock {
        let moves = numbers.first().map_or([false; 3], |&n| tracks[n as usize].setup.moves);
        let mut out = NodeBlock {
            moves,
            tracks: [0; LANES],
            count: numbers.len(),
            together: numbers.len() == LANES && numbers.windows(2).all(|two| two[0] + 1 == two[1]),
            first_code: word,
            // A state is never empty.
            rows: (moving_codes(moves).count() + usize::from(contexts)).max(1),
            contexts,
            pivots: false,
            constants: Box::new([[0.0; LANES]; 23]),
        };
        for (lane, &number) in numbers.iter().enumerate() {
            let track = &tracks[number as usize];
            let (frame, turn) = (track.pose_constants(), track.turn());
            out.tracks[lane] = number;
            out.pivots |= frame.pivots;
            let [[a, b, c, _], [x, y, z, w], [d, e, f, _]] = frame.rest;
            let rest = [a, b, c, x, y, z, w, d, e, f];
            let all = rest.iter().chain(&turn).chain(&frame.origin);
            let all = all.chain([&frame.unit]).chain(&frame.scale).chain(&frame.pivot);
            for (row, &v) in out.constants.iter_mut().zip(all) {
                row[lane] = v;
            }
        }
        out
    }

    /// Returns the number of codes per frame.
    pub fn code_count(&self) -> usize {
        LANES * self.rows
    }

    /// Writes the codes of a track in its lane.
    pub fn set_codes(&self, lane: usize, words: &TrackCodes, state: &mut [i32]) {
        let (rows, _) = state[self.first_code..self.first_code + self.code_count()].as_chunks_mut::<LANES>();
        let all = moving_codes(self.moves).chain(self.contexts.then_some(CONTEXT));
        for (row, word) in rows.iter_mut().zip(all) {
            row[lane] = words[word];
        }
    }

    /// Loads the constants from which, with the codes, transforms are computed.
    #[inline(always)]
    fn pose_constants<S: Doubles>(&self, simd: S) -> (PoseConstants<f64x8<S>>, [f64x8<S>; 3]) {
        let mut all = [f64x8::splat(simd, 0.0); 23];
        for (to, from) in all.iter_mut().zip(self.constants.iter()) {
            *to = f64x8::simd_from(simd, *from);
        }
        let [a, b, c, x, y, z, w, d, e, f, turns @ .., _, _, _, _, _, _, _, _, _, _] = all;
        let [.., o1, o2, o3, unit, s1, s2, s3, p1, p2, p3] = all;
        let zero = f64x8::splat(simd, 0.0);
        let frame = PoseConstants {
            moves: self.moves,
            pivots: self.pivots,
            rest: [[a, b, c, zero], [x, y, z, w], [d, e, f, zero]],
            origin: [o1, o2, o3],
            unit,
            scale: [s1, s2, s3],
            pivot: [p1, p2, p3],
        };
        (frame, turns)
    }
}

/// Summary of the residuals of eight nodes in a frame.
pub(super) struct ResidualSummary {
    /// `true` if all κ are 0.
    pub all_zero: bool,
    /// The lanes whose transform is given, as bits.
    pub raw: u8,
}

/// The contexts of eight nodes: of the first two frames referred to, of the frame beside, and of this frame,
/// which a source writes.
pub(super) struct BlockContexts {
    pub around: [LaneRow<i32>; 2],
    pub beside: Option<LaneRow<i32>>,
    pub own: LaneRow<i32>,
}

/// The origin of the residuals: entropy-coded or packed.
pub(super) trait ResidualSource {
    /// `true` if a state has a row of contexts.
    const HAS_CONTEXTS: bool;

    /// Reads κ of a block in frame number `i` of the unit, with `level` as in [`References`], and the
    /// transforms that are given.
    fn next_residuals<S: Doubles>(
        &mut self,
        block: &NodeBlock,
        level: usize,
        contexts: &mut BlockContexts,
        kappas: &mut [f64x8<S>; MAX_COMPONENTS],
        raw: &mut LaneRow<Transform>,
    ) -> Result<ResidualSummary, Corrupt>;
}

/// The place of the codes of a frame.
#[derive(Clone, Copy)]
pub(super) enum StateSource<'f> {
    /// A frame of the same access unit, by number.
    Inside(usize),
    Known(&'f [i32]),
}

/// A frame and the frames that it is predicted from.
#[derive(Clone, Copy)]
pub(super) struct FrameReferences<'f> {
    pub level: usize,
    pub weights: [f64; 4],
    pub states: [StateSource<'f>; 4],
    pub beside: Option<usize>,
}

impl<'f> FrameReferences<'f> {
    /// A placeholder.
    pub const PLACEHOLDER: FrameReferences<'static> =
        FrameReferences { level: 0, weights: [0.0; 4], states: [StateSource::Known(&[]); 4], beside: None };

    /// Describes frame number `i` of a unit's `frames`; `rest` and the results of `found` are states of the
    /// same length.
    pub fn new(
        references: &References,
        frames: &[u32],
        i: usize,
        rest: &'f [i32],
        found: &dyn Fn(u32) -> Option<&'f [i32]>,
    ) -> Result<FrameReferences<'f>, Corrupt> {
        let inside = |frame: u32| frames[..i].iter().position(|&f| f == frame);
        let mut states = [StateSource::Known(rest); 4];
        for k in 0..4 {
            if k >= references.count {
                states[k] = states[0];
                continue;
            }
            let frame = references.frames[k];
            states[k] = match inside(frame) {
                Some(at) => StateSource::Inside(at),
                None => StateSource::Known(found(frame).ok_or(super::references::MISSING_FRAME)?),
            };
            if let StateSource::Known(state) = states[k]
                && state.len() != rest.len()
            {
                return Err(Corrupt("nodes: another number of nodes"));
            }
        }
        Ok(FrameReferences {
            level: references.level,
            weights: references.weights,
            states,
            beside: references.beside.and_then(inside),
        })
    }
}

/// Decodes all frames of an access unit. States and transforms have the lengths that belong to the blocks.
pub(super) struct UnitTask<'a, 'f, 's, 't, S> {
    pub blocks: &'a [NodeBlock],
    pub frames: &'a [FrameReferences<'f>],
    pub states: &'a mut [&'s mut [i32]],
    pub out: &'a mut [&'t mut [Transform]],
    pub source: S,
    pub tracks: &'a [NodeTrack],
}

impl<R: ResidualSource> Kernel for UnitTask<'_, '_, '_, '_, R> {
    type Out = Result<R, Corrupt>;

    #[inline(always)]
    fn run<S: Doubles>(mut self, simd: S) -> Result<R, Corrupt> {
        let mut raw = [Transform::IDENTITY; LANES];
        for block in self.blocks {
            let (frame, turns) = block.pose_constants(simd);
            let mut follows = false;
            for i in 0..self.frames.len().min(MAX_UNIT_FRAMES) {
                follows = self.decode_block(block, (&frame, &turns), i, (follows, &mut raw))?;
            }
        }
        Ok(self.source)
    }
}

/// Returns the rows of a block in a frame.
#[inline(always)]
fn rows<'s>(state: StateSource<'s>, done: &'s [&mut [i32]], block: &NodeBlock) -> &'s [LaneRow<i32>] {
    let state = match state {
        StateSource::Inside(i) => &*done[i],
        StateSource::Known(state) => state,
    };
    state[block.first_code..block.first_code + block.code_count()].as_chunks().0
}

/// Loads `N` rows from row `first` on, of four frames.
#[inline(always)]
fn load_rows<S: Doubles, const N: usize>(
    simd: S,
    around: &[&[LaneRow<i32>]; 4],
    first: usize,
) -> [[f64x8<S>; N]; 4] {
    let mut out = [[f64x8::splat(simd, 0.0); N]; 4];
    for (out, rows) in out.iter_mut().zip(around) {
        for (out, row) in out.iter_mut().zip(&rows[first..first + N]) {
            *out = load_row(simd, row);
        }
    }
    out
}

impl<R: ResidualSource> UnitTask<'_, '_, '_, '_, R> {
    /// Decodes one block in one frame. `follows`: all transforms of the frame before were computed from its
    /// codes; returns the same about this frame.
    #[inline(always)]
    fn decode_block<S: Doubles>(
        &mut self,
        block: &NodeBlock,
        (frame, turns): (&PoseConstants<f64x8<S>>, &[f64x8<S>; 3]),
        i: usize,
        (follows, raw): (bool, &mut LaneRow<Transform>),
    ) -> Result<bool, Corrupt> {
        let simd = turns[0].token();
        let surrounded = &self.frames[i];
        let (done, rest) = self.states.split_at_mut(i);
        let [a, b, c, d] = surrounded.states;
        let around = [rows(a, done, block), rows(b, done, block), rows(c, done, block), rows(d, done, block)];
        let words = block.rows - usize::from(R::HAS_CONTEXTS);
        let mut contexts = BlockContexts { around: [[0; LANES]; 2], beside: None, own: [0; LANES] };
        if R::HAS_CONTEXTS {
            contexts.around = [around[0][words], around[1][words]];
            contexts.beside = surrounded.beside.map(|at| rows(StateSource::Inside(at), done, block)[words]);
        }
        let mut kappas = [f64x8::splat(simd, 0.0); MAX_COMPONENTS];
        let coded = self.source.next_residuals(block, surrounded.level, &mut contexts, &mut kappas, raw)?;
        let own = &mut rest[0][block.first_code..block.first_code + block.code_count()];
        let (own, _) = own.as_chunks_mut::<LANES>();
        if R::HAS_CONTEXTS {
            own[words] = contexts.own;
        }
        let alike = |a: &[LaneRow<i32>], b: &[LaneRow<i32>]| a[..words] == b[..words];
        let still = coded.all_zero && (1..4).all(|k| alike(around[k], around[0]));
        let moved = if still {
            own[..words].copy_from_slice(&around[0][..words]);
            // Nodes that do not move cost as little as possible.
            let before = i
                .checked_sub(1)
                .filter(|_| follows)
                .map(|before| rows(StateSource::Inside(before), done, block));
            if before.is_some_and(|before| alike(before, own)) {
                let (outs, out) = self.out.split_at_mut(i);
                for &track in &block.tracks[..block.count] {
                    out[0][track as usize] = outs[i - 1][track as usize];
                }
                return Ok(true);
            }
            load(simd, block, own)
        } else {
            let moved = predict_codes(block, &around, &surrounded.weights, &kappas, turns);
            store(block, &moved, own);
            moved
        };
        let out = &mut *self.out[i];
        if coded.raw == 0 {
            write_transforms(block, frame, &moved, out);
            return Ok(true);
        }
        for lane in (0..block.count).filter(|lane| coded.raw >> lane & 1 != 0) {
            let words = self.tracks[block.tracks[lane] as usize].quantize(&raw[lane]);
            for (row, word) in own.iter_mut().zip(moving_codes(block.moves)) {
                row[lane] = words[word];
            }
        }
        write_transforms(block, frame, &moved, out);
        for lane in (0..block.count).filter(|lane| coded.raw >> lane & 1 != 0) {
            out[block.tracks[lane] as usize] = raw[lane];
        }
        Ok(false)
    }
}

/// The codes of translation, rotation and scale of eight nodes; the fourth ones of vectors are unused.
type BlockCodes<S> = [[f64x8<S>; 4]; 3];

/// Loads eight codes or residuals.
#[inline(always)]
pub(super) fn load_row<S: Doubles>(simd: S, row: &LaneRow<i32>) -> f64x8<S> {
    simd.i32_to_f64(i32x8::simd_from(simd, *row))
}

/// Loads the codes from a state.
#[inline(always)]
fn load<S: Doubles>(simd: S, block: &NodeBlock, own: &[LaneRow<i32>]) -> BlockCodes<S> {
    let mut out = [[f64x8::splat(simd, 0.0); 4]; 3];
    let mut row = 0;
    for part in 0..3 {
        let count = if !block.moves[part] {
            0
        } else if part == 1 {
            4
        } else {
            3
        };
        for k in 0..count {
            out[part][k] = load_row(simd, &own[row + k]);
        }
        row += count;
    }
    out
}

/// Writes codes into a state.
#[inline(always)]
fn store<S: Doubles>(block: &NodeBlock, words: &BlockCodes<S>, own: &mut [LaneRow<i32>]) {
    let mut row = 0;
    for part in 0..3 {
        let count = if !block.moves[part] {
            0
        } else if part == 1 {
            4
        } else {
            3
        };
        for k in 0..count {
            let codes = words[part][k];
            own[row + k] = codes.token().f64_to_i32(codes).to_array();
        }
        row += count;
    }
}

/// Computes the codes of eight nodes from those of the frames around.
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn predict_codes<S: Doubles>(
    block: &NodeBlock,
    around: &[&[LaneRow<i32>]; 4],
    weights: &[f64; 4],
    kappas: &[f64x8<S>; MAX_COMPONENTS],
    turns: &[f64x8<S>; 3],
) -> BlockCodes<S> {
    let simd = turns[0].token();
    let zero = f64x8::splat(simd, 0.0);
    let [t, r, s] = block.moves;
    let (mut row, mut c) = (0, 0);
    let mut moved = [[zero; 4]; 3];
    if t {
        let own = [kappas[0], kappas[1], kappas[2]];
        let [x, y, z] = vector(&load_rows::<S, 3>(simd, around, row), weights, &own);
        moved[0] = [x, y, z, zero];
        (row, c) = (row + 3, c + 3);
    }
    if r {
        let own = [kappas[c] * turns[0], kappas[c + 1] * turns[1], kappas[c + 2] * turns[2]];
        moved[1] = rotation(&load_rows::<S, 4>(simd, around, row), weights, &own);
        (row, c) = (row + 4, c + 3);
    }
    if s {
        let own = [kappas[c], kappas[c + 1], kappas[c + 2]];
        let [x, y, z] = vector(&load_rows::<S, 3>(simd, around, row), weights, &own);
        moved[2] = [x, y, z, zero];
    }
    moved
}

/// Writes the transforms of eight nodes.
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
#[cfg_attr(target_arch = "wasm32", inline(never))]
fn write_transforms<S: Doubles>(
    block: &NodeBlock,
    frame: &PoseConstants<f64x8<S>>,
    words: &BlockCodes<S>,
    out: &mut [Transform],
) {
    let zero = f64x8::splat(frame.unit.token(), 0.0);
    let [[a, b, c, _], r, [d, e, f, _]] = *words;
    let (rotation, [x, y, z], [a, b, c]) = pose(frame, &[a, b, c], &r, &[d, e, f]);
    let rotations = doubles::quaternions(rotation);
    let places = doubles::quaternions([x, y, z, a]);
    let scales = doubles::quaternions([b, c, zero, zero]);
    let transform = |lane: usize| {
        // In the order of memory.
        let mut all = [0.0; 10];
        all[..4].copy_from_slice(&rotations[lane]);
        all[4..8].copy_from_slice(&places[lane]);
        all[8..].copy_from_slice(&scales[lane][..2]);
        bytemuck::cast::<[f32; 10], Transform>(all)
    };
    let together = match block.together {
        true => out[block.tracks[0] as usize..].first_chunk_mut::<LANES>(),
        false => None,
    };
    match together {
        Some(out) => {
            for (lane, out) in out.iter_mut().enumerate() {
                *out = transform(lane);
            }
        }
        None => {
            for lane in 0..block.count {
                out[block.tracks[lane] as usize] = transform(lane);
            }
        }
    }
}
