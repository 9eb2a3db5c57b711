//! The setup of a moving node, and the steps that follow from it and from the bounds of everything below the
//! node.

use crate::clip::fixed_point_rotation;
use crate::clip::node::{Node, scale_and_rotate, usable};
use crate::clip::nodes::codes::{self, PoseConstants, ROTATION, SCALE, TRANSLATION, TrackCodes};
use crate::entropy::range::{BitCoder, Chance};
use crate::transform::Transform;

/// The code of a step equal to the base.
pub const BASE_STEP_CODE: u8 = 128;
/// The number of code units per step. Part of the format, like everything in this file.
pub(super) const CODES_PER_STEP: f64 = 32.0;
/// The range of rotation steps in radians, as in `step`.
const ROTATION_STEP: [f64; 2] = [5e-7, 0.5];
/// Powers of the fourth root of two.
const QUARTERS: [f64; 4] = [1.0, 1.189_207_115_002_721, std::f64::consts::SQRT_2, 1.681_792_830_507_429];

/// The parts of a moving node that move, and the size of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSetup {
    /// `true` for each of translation, rotation, scale that moves.
    pub moves: [bool; 3],
    /// `true` if the centre of its bounds is coded instead of its origin.
    pub pivot: bool,
    /// The logarithm of the step, in quarters of an octave.
    pub step_code: u8,
}

/// A moving node.
#[derive(Clone, Copy, Debug)]
pub struct NodeTrack {
    /// The number of the node.
    pub node: usize,
    /// The parts that move, and the size of the steps.
    pub setup: NodeSetup,
    /// The transform in the first frame.
    pub rest: Transform,
    /// The codes of that transform.
    pub rest_codes: TrackCodes,
    /// The pivot in the node's space.
    pub pivot: [f64; 3],
    /// The position of the pivot in the first frame.
    pub(super) origin: [f64; 3],
    /// The step of the translation.
    pub step: f64,
    /// The steps of the rotation per axis of the node, in radians.
    pub rotation: [f64; 3],
    /// The steps of the scale.
    pub scale: [f64; 3],
}

/// Returns the nearest integer, halves upwards, within 32 bits.
fn nearest(v: f64) -> i32 {
    (v + 0.5).floor() as i32
}

impl NodeTrack {
    /// Computes the steps; `base` and `setup` must be in their ranges.
    pub(super) fn new(node: usize, given: &Node, space: &[f64; 6], base: f32, setup: NodeSetup) -> NodeTrack {
        let octaves = i32::from(setup.step_code >> 2) - 32;
        let power = f64::from_bits(((1023 + octaves) as u64) << 52);
        let step = f64::from(base) * power * QUARTERS[usize::from(setup.step_code & 3)];
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
                // Relative to the scale itself.
                true => (step / reach[k] * own).clamp(1e-9, 1e9),
                false => own.clamp(1e-9, 1e9),
            }
        });
        let arm = scale_and_rotate(&given.rest, pivot);
        let t = given.rest.translation.map(f64::from);
        let mut out = NodeTrack {
            node,
            setup,
            rest: given.rest,
            rest_codes: [0; 11],
            pivot,
            origin: [0, 1, 2].map(|k| t[k] + arm[k]),
            step,
            rotation,
            scale,
        };
        out.rest_codes = out.quantize_all(&given.rest);
        out
    }

    /// Returns the number of components per frame.
    pub fn components(&self) -> usize {
        3 * self.setup.moves.iter().filter(|m| **m).count()
    }

    /// Returns the position of coordinate `v` of the pivot along axis `k`, in steps: like the codes of the
    /// translation, but in whole steps and not rounded.
    #[cfg(feature = "encode")]
    pub fn steps_along(&self, k: usize, v: f64) -> f64 {
        (v - self.origin[k]) / self.step
    }

    /// Returns the tangents of a quarter of the turn by κ = 1.
    pub(super) fn turn(&self) -> [f64; 3] {
        self.rotation.map(|step| step * (1.0 / 128.0))
    }

    /// Returns the nearest codes to a transform; parts that do not move keep those of the rest transform.
    pub fn quantize(&self, t: &Transform) -> TrackCodes {
        let (nearest, mut out) = (self.quantize_all(t), self.rest_codes);
        for (moves, words) in self.setup.moves.iter().zip([0..3, 3..7, 7..10]) {
            if *moves {
                out[words.clone()].copy_from_slice(&nearest[words]);
            }
        }
        out
    }

    /// Returns the nearest codes to a transform.
    fn quantize_all(&self, t: &Transform) -> TrackCodes {
        let arm = scale_and_rotate(t, self.pivot);
        let unit = self.step / CODES_PER_STEP;
        let mut out = [0; 11];
        for k in 0..3 {
            let from = f64::from(t.translation[k]) + arm[k] - self.origin[k];
            out[TRANSLATION + k] = nearest(from / unit);
            out[SCALE + k] = nearest(f64::from(t.scale[k]) * CODES_PER_STEP / self.scale[k]);
        }
        out[ROTATION..SCALE].copy_from_slice(&fixed_point_rotation(t.rotation));
        out
    }

    /// Returns the constants from which, with the codes, transforms are computed.
    pub(super) fn pose_constants(&self) -> PoseConstants<f64> {
        let wide = |v: [f32; 3]| [v[0].into(), v[1].into(), v[2].into(), 0.0];
        PoseConstants {
            moves: self.setup.moves,
            pivots: self.pivot != [0.0; 3],
            rest: [wide(self.rest.translation), self.rest.rotation.map(f64::from), wide(self.rest.scale)],
            origin: self.origin,
            unit: self.step / CODES_PER_STEP,
            scale: self.scale.map(|step| step / CODES_PER_STEP),
            pivot: self.pivot,
        }
    }

    /// Returns the transform of these codes.
    pub fn transform(&self, words: &TrackCodes) -> Transform {
        codes::transform(&self.pose_constants(), words)
    }
}

/// The setup as bits of the range coder; one function reads and writes it.
pub(super) struct SetupCoder<B> {
    pub bits: B,
    moves: [Chance; 24],
    pivot: [Chance; 2],
    same: Chance,
    code: [Chance; 256],
    previous: NodeSetup,
}

impl<B: BitCoder<Context = Chance>> SetupCoder<B> {
    pub fn new(bits: B) -> SetupCoder<B> {
        let even = Chance::default();
        SetupCoder {
            bits,
            moves: [even; 24],
            pivot: [even; 2],
            same: even,
            code: [even; 256],
            previous: NodeSetup { moves: [true, true, false], pivot: true, step_code: BASE_STEP_CODE },
        }
    }

    /// Codes the setup of the next track.
    pub fn setup(&mut self, given: Option<NodeSetup>) -> NodeSetup {
        let given = given.unwrap_or(self.previous);
        let mut out = given;
        let mut seen = 0;
        for (i, moves) in out.moves.iter_mut().enumerate() {
            let context = 8 * i + 2 * seen + usize::from(self.previous.moves[i]);
            *moves = self.bits.bit(&mut self.moves[context], given.moves[i]);
            seen = seen << 1 | usize::from(*moves);
        }
        let context = usize::from(self.previous.pivot);
        out.pivot = self.bits.bit(&mut self.pivot[context], given.pivot);
        let other = given.step_code != self.previous.step_code;
        if self.bits.bit(&mut self.same, other) {
            let mut node = 1;
            for i in (0..8).rev() {
                let bit = self.bits.bit(&mut self.code[node], given.step_code >> i & 1 != 0);
                node = node << 1 | usize::from(bit);
            }
            out.step_code = node as u8;
        } else {
            out.step_code = self.previous.step_code;
        }
        self.previous = out;
        out
    }
}
