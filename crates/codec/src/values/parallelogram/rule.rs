//! The rules that predict a vertex from the three vertices of a triangle.

use crate::quantize::code::Code;

/// The largest distance back to a vertex of the triangle. Part of the format.
pub const MAX_LOOK_BACK: u32 = 4096;
/// Marks a vertex without a triangle: it is predicted from the previous vertex. Part of the format.
pub const NO_TRIANGLE: u16 = 0xFFFF;

/// The spatial prediction of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpatialPrediction {
    /// P = C + B − A: positions, uvs.
    Parallelogram,
    /// P = (B + C) / 2: colours, QTangents, normals.
    Average,
}

/// The weights of the three vertices, in 128ths: `P = (edge·(B + C) + apex·A + 64) >> 7`, as two's complement
/// if differences are coded. 128 and −128 give the parallelogram, 64 and 0 the average; noisy values are
/// better averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TriangleWeights {
    pub edge: u8,
    pub apex: i8,
}

impl TriangleWeights {
    /// A prediction of zero.
    pub const ZERO: TriangleWeights = TriangleWeights { edge: 0, apex: 0 };
}

/// The prediction from the neighbours A, B and C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictionRule {
    /// The usual prediction for the kind of stream.
    Usual(SpatialPrediction),
    /// The prediction with the frame's own weights.
    Weighted(TriangleWeights),
}

impl From<SpatialPrediction> for PredictionRule {
    fn from(spatial: SpatialPrediction) -> PredictionRule {
        PredictionRule::Usual(spatial)
    }
}

/// A rule as code; generic functions are compiled for each. `signed`: the words are differences.
pub(crate) trait Combine: Copy {
    fn combine<W: Code>(self, a: W, b: W, c: W, signed: bool) -> W;
}

#[derive(Clone, Copy)]
pub(crate) struct Parallelogram;

impl Combine for Parallelogram {
    #[inline(always)]
    fn combine<W: Code>(self, a: W, b: W, c: W, _: bool) -> W {
        b.wrapping_add(c).wrapping_sub(a)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Average;

impl Combine for Average {
    #[inline(always)]
    fn combine<W: Code>(self, _: W, b: W, c: W, signed: bool) -> W {
        b.mean(c, signed)
    }
}

impl Combine for TriangleWeights {
    #[inline(always)]
    fn combine<W: Code>(self, a: W, b: W, c: W, signed: bool) -> W {
        W::weighted(a, b, c, self.edge, self.apex, signed)
    }
}

/// Runs `$body` with `$with` bound to the implementation of a rule.
macro_rules! with_rule {
    ($rule:expr, $with:ident => $body:expr) => {
        match $rule {
            $crate::values::parallelogram::PredictionRule::Usual(
                $crate::values::parallelogram::SpatialPrediction::Parallelogram,
            ) => {
                let $with = $crate::values::parallelogram::Parallelogram;
                $body
            }
            $crate::values::parallelogram::PredictionRule::Usual(
                $crate::values::parallelogram::SpatialPrediction::Average,
            ) => {
                let $with = $crate::values::parallelogram::Average;
                $body
            }
            $crate::values::parallelogram::PredictionRule::Weighted($with) => $body,
        }
    };
}
pub(crate) use with_rule;

/// Predicts `plane[v]` from earlier vertices; `None` if the entry points outside. Without a triangle the
/// previous vertex is the prediction, and with weights it stands for A, B and C.
#[inline(always)]
pub(crate) fn predict<W: Code, R: Combine>(
    plane: &[W],
    v: usize,
    entry: [u16; 3],
    rule: R,
    signed: bool,
) -> Option<W> {
    let [a, b, c] = entry;
    if a == NO_TRIANGLE {
        let Some(before) = v.checked_sub(1) else {
            return Some(W::default());
        };
        return Some(rule.combine(plane[before], plane[before], plane[before], signed));
    }
    let at = |d: u16| v.checked_sub(usize::from(d)).map(|u| plane[u]);
    Some(rule.combine(at(a)?, at(b)?, at(c)?, signed))
}
