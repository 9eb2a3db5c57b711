//! The frames from which the transforms of a frame are predicted, their weights, and the contexts that
//! follow.

use crate::Corrupt;
use crate::clip::nodes::codes::{self, ROTATION, SCALE, TRANSLATION, TrackCodes};
#[cfg(feature = "encode")]
use crate::clip::nodes::track::NodeTrack;
use crate::clip::schedule::weights;
use crate::schedule::Schedule;

/// The frames that a frame is predicted from, by number.
#[derive(Clone, Copy, Debug)]
pub(super) struct References {
    /// 0 … 3: half the distance of the two ends is 2^level or less; 4: a key frame; 5: a key frame that
    /// refers to no frame, or only to the first.
    pub level: usize,
    /// The frames referred to, nearest first; `count` of them. If `count` is 0, the frame is predicted from
    /// the rest transforms.
    pub frames: [u32; 4],
    /// Weights in 2⁻¹⁶; their sum is 2¹⁶. Those beyond `count` are 0.
    pub weights: [f64; 4],
    pub count: usize,
    /// The preceding frame of the same depth in the same access unit.
    pub beside: Option<u32>,
}

impl References {
    /// Finds the references of frame number `i` of a unit's `frames`.
    pub fn new(schedule: Schedule, frames: &[u32], i: usize) -> References {
        let frame = frames[i];
        let key = schedule.key_of(frame).is_some();
        let all = schedule.references(frame);
        let mut out = References {
            level: 4,
            frames: [0; 4],
            weights: [65536.0, 0.0, 0.0, 0.0],
            count: 0,
            beside: None,
        };
        // A key frame would take from the first frame only what does not move.
        let list = all.iter().filter(|&&r| !(key && r == 0));
        let mut at = [0i64; 4];
        for (k, &reference) in list.enumerate().take(if key { 1 } else { 4 }) {
            out.frames[k] = reference;
            at[k] = i64::from(reference) - i64::from(frame);
            out.count = k + 1;
        }
        if key {
            out.level += usize::from(frame > 0 && out.count == 0);
            return out;
        }
        let span = (at[1] - at[0]).clamp(2, 16) as u64;
        out.level = (63 - (span - 1).leading_zeros()) as usize;
        out.weights = weights(&at[..out.count]).map(f64::from);
        let before = i.checked_sub(1).map(|before| frames[before]);
        out.beside = before.filter(|&b| schedule.depth(b) == schedule.depth(frame));
        out
    }
}

pub(super) const MISSING_FRAME: Corrupt = Corrupt("nodes: a frame is decoded before those it needs");

/// The codes of one track around one frame, for encoders.
#[derive(Clone, Copy)]
#[cfg(feature = "encode")]
pub struct SurroundingCodes<'a> {
    pub(super) references: References,
    /// All four are present: those beyond the frames referred to equal the first.
    codes: [&'a TrackCodes; 4],
    beside: Option<&'a TrackCodes>,
}

/// The predicted codes before residuals are added, as floats: translation, rotation (of any length), scale.
#[derive(Clone, Copy)]
#[cfg(feature = "encode")]
pub struct Prediction {
    /// In codes.
    pub translation: [f64; 3],
    /// Near unit length.
    pub rotation: [f64; 4],
    /// In codes.
    pub scale: [f64; 3],
}

#[cfg(feature = "encode")]
impl<'a> SurroundingCodes<'a> {
    /// Finds the codes around frame number `i` of a unit's `frames`. `find` gives the codes of frames that
    /// were coded before; `rest` has those of the rest transform.
    pub fn new(
        rest: &'a TrackCodes,
        schedule: Schedule,
        frames: &[u32],
        i: usize,
        find: impl Fn(u32) -> Option<&'a TrackCodes>,
    ) -> Result<SurroundingCodes<'a>, Corrupt> {
        let references = References::new(schedule, frames, i);
        let mut words = [rest; 4];
        for k in 0..4 {
            words[k] = match k < references.count {
                true => find(references.frames[k]).ok_or(MISSING_FRAME)?,
                false => words[0],
            };
        }
        let beside = references.beside.map(|frame| find(frame).ok_or(MISSING_FRAME));
        Ok(SurroundingCodes { references, codes: words, beside: beside.transpose()? })
    }

    /// Returns the contexts of the first two frames referred to, and of the frame beside.
    pub(super) fn contexts(&self) -> ([i32; 2], Option<i32>) {
        let of = |words: &TrackCodes| words[codes::CONTEXT];
        let second = self.codes[usize::from(self.references.count > 1)];
        ([of(self.codes[0]), of(second)], self.beside.map(of))
    }

    /// Returns `N` codes of all four frames, from code `first` on.
    fn codes_from<const N: usize>(&self, first: usize) -> [[f64; N]; 4] {
        self.codes.map(|words| std::array::from_fn(|k| f64::from(words[first + k])))
    }

    /// Returns the prediction.
    pub fn predict(&self) -> Prediction {
        let weights = &self.references.weights;
        Prediction {
            translation: codes::vector(&self.codes_from(TRANSLATION), weights, &[0.0; 3]),
            rotation: codes::weighted_rotation(&self.codes_from(ROTATION), weights).0,
            scale: codes::vector(&self.codes_from(SCALE), weights, &[0.0; 3]),
        }
    }

    /// Returns the codes of a track with the κ of its components added, given in order. The code for contexts
    /// is 0.
    pub fn add_kappas(&self, track: &NodeTrack, kappas: &[i32]) -> TrackCodes {
        let weights = &self.references.weights;
        let mut out = *self.codes[0];
        out[codes::CONTEXT] = 0;
        let mut parts = kappas.chunks_exact(3).map(|k| [k[0], k[1], k[2]].map(f64::from));
        let [t, r, s] = track.setup.moves;
        let mut part = |moves: bool| if moves { parts.next() } else { None };
        if let Some(kappas) = part(t) {
            let moved = codes::vector(&self.codes_from(TRANSLATION), weights, &kappas);
            out[TRANSLATION..ROTATION].copy_from_slice(&moved.map(|v| v as i32));
        }
        if let Some(kappas) = part(r) {
            let turn = track.turn();
            let y = [kappas[0] * turn[0], kappas[1] * turn[1], kappas[2] * turn[2]];
            let moved = codes::rotation(&self.codes_from(ROTATION), weights, &y);
            out[ROTATION..SCALE].copy_from_slice(&moved.map(|v| v as i32));
        }
        if let Some(kappas) = part(s) {
            let moved = codes::vector(&self.codes_from(SCALE), weights, &kappas);
            out[SCALE..codes::CONTEXT].copy_from_slice(&moved.map(|v| v as i32));
        }
        out
    }
}
