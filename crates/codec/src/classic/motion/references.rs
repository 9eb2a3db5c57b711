//! The four frames that a B-frame is predicted from.

use crate::quantize::code::{BlendFactors, Code};

/// The four frames of the prediction, all of one length.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct MotionReferences<'a, W> {
    pub previous: &'a [W],
    pub before_previous: &'a [W],
    pub index_before: &'a [W],
    pub index_after: &'a [W],
}

impl<W: Code> MotionReferences<'_, W> {
    /// Returns `true` if all frames have `count` values.
    pub fn all_have_len(&self, count: usize) -> bool {
        [self.previous, self.before_previous, self.index_before, self.index_after]
            .iter()
            .all(|s| s.len() == count)
    }

    /// Returns these frames as 16-bit codes, if they have 16 bits.
    pub(super) fn codes16(&self) -> Option<MotionReferences<'_, u16>> {
        Some(MotionReferences {
            previous: W::codes16(self.previous)?,
            before_previous: W::codes16(self.before_previous)?,
            index_before: W::codes16(self.index_before)?,
            index_after: W::codes16(self.index_after)?,
        })
    }

    /// Returns the prediction of value `at`.
    #[inline(always)]
    pub fn predict(&self, at: usize, by: BlendFactors) -> W {
        W::predict_b_frame(
            self.previous[at],
            self.before_previous[at],
            self.index_before[at],
            self.index_after[at],
            by,
        )
    }
}
