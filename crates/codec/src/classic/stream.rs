//! A stream of one mesh in one frame of the preset `classic`: as in [`crate::values::stream`], or a B-frame
//! that is predicted by [`super::motion`] from the frames around it.

use super::motion::{self, BlendFactors, MotionReferences};
#[cfg(feature = "encode")]
use super::search;
use crate::Corrupt;
use crate::bytes::Cursor;
use crate::quantize::code::Code;
use crate::values::parallelogram::{self, PredictionRule, PredictorTable, TriangleWeights};
#[cfg(feature = "encode")]
use crate::values::stream::{ExactTarget, encode_residuals};
use crate::values::stream::{MISSING_SOURCE, PredictionBase, Predictor, SOURCE_MOTION, WEIGHTS_FLAG};
use crate::values::{residual, stream as values};

#[cfg(feature = "encode")]
pub use crate::values::error_bound::Target;
pub use crate::values::parallelogram::SpatialPrediction;
pub use crate::values::stream::skip;
#[cfg(feature = "encode")]
pub use crate::values::stream::{StreamEffort, encode_index, encode_index_within};

/// The frames that a frame may be predicted from, all component-major with the stream's shape.
#[derive(Clone, Copy)]
pub struct References<'a, W> {
    /// The stream's base: the values of its first frame, which are part of the static data and always
    /// available to index frames.
    pub base: Option<&'a [W]>,
    /// The frame before (an index frame or a B-frame).
    pub previous: Option<&'a [W]>,
    /// The frame before that, if it belongs to the same group (not before the group's first index frame).
    pub before_previous: Option<&'a [W]>,
    /// The index frame at the start of the group.
    pub index_before: Option<&'a [W]>,
    /// The index frame at the end of the group.
    pub index_after: Option<&'a [W]>,
    /// The table of adjacent triangles (empty: every vertex is predicted from the previous one).
    pub table: &'a PredictorTable,
}

impl<'a, W: Code> References<'a, W> {
    /// Returns the references of an index frame.
    pub fn of_index_frame(base: Option<&'a [W]>, table: &'a PredictorTable) -> References<'a, W> {
        References {
            base,
            previous: None,
            before_previous: None,
            index_before: None,
            index_after: None,
            table,
        }
    }

    /// Returns the frames of motion prediction; `None` if the frame before or an index frame is missing.
    fn motion_references(&self) -> Option<MotionReferences<'a, W>> {
        let previous = self.previous?;
        Some(MotionReferences {
            previous,
            before_previous: self.before_previous.unwrap_or(previous),
            index_before: self.index_before?,
            index_after: self.index_after?,
        })
    }
}

impl<'a, W> From<References<'a, W>> for PredictionBase<'a, W> {
    fn from(References { base, table, .. }: References<'a, W>) -> PredictionBase<'a, W> {
        PredictionBase { base, table }
    }
}

/// Encodes a B-frame: searches a, b, c and the weights, and appends predictor and residuals to `out`.
///
/// Panics if the frame before or an index frame is missing or has another shape.
#[cfg(feature = "encode")]
pub fn encode_b_frame<W: Code>(
    values: &[W],
    components: usize,
    refs: References<'_, W>,
    work: impl Into<StreamEffort>,
    out: &mut Vec<u8>,
) {
    let fixed = ExactTarget::new(values, components);
    encode_b_frame_within(fixed.target(), refs, 128, work, &mut vec![W::default(); values.len()], out);
}

/// Does the same as [`encode_b_frame`], but moves the values within the error bound to where they cost least;
/// writes the chosen codes to `chosen`, equal to the decoded ones. `start`, the frame's position between its
/// index frames in 256ths, is where the search for b begins.
///
/// Panics if the frame before or an index frame is missing or has another shape.
#[cfg(feature = "encode")]
pub fn encode_b_frame_within<W: Code>(
    target: Target<'_, W>,
    refs: References<'_, W>,
    start: u8,
    work: impl Into<StreamEffort>,
    chosen: &mut [W],
    out: &mut Vec<u8>,
) {
    let work = work.into();
    match target.codes.len() {
        1 => b_frame_within::<W, 1>(target, refs, start, work, chosen, out),
        2 => b_frame_within::<W, 2>(target, refs, start, work, chosen, out),
        3 => b_frame_within::<W, 3>(target, refs, start, work, chosen, out),
        _ => b_frame_within::<W, 4>(target, refs, start, work, chosen, out),
    }
}

#[cfg(feature = "encode")]
fn b_frame_within<W: Code, const N: usize>(
    target: Target<'_, W>,
    refs: References<'_, W>,
    start: u8,
    work: StreamEffort,
    chosen: &mut [W],
    out: &mut Vec<u8>,
) {
    let sources = refs.motion_references().expect("a B-frame has a frame before and index frames around");
    let moving = refs.before_previous.is_some();
    let (by, weights) = search::b_frame::<W, N>(target, sources, refs.table, moving, start, work);
    if weights == TriangleWeights::ZERO {
        out.extend([SOURCE_MOTION, by.a, by.b, by.c]);
    } else {
        out.extend([SOURCE_MOTION | WEIGHTS_FLAG, by.a, by.b, by.c, weights.edge, weights.apex as u8]);
    }
    let mut source = vec![W::default(); chosen.len()];
    motion::predict(sources, by, &mut source);
    encode_residuals::<W, N>(
        target,
        &source,
        PredictionRule::Weighted(weights),
        true,
        refs.table,
        work,
        chosen,
        out,
    );
}

/// Decodes a stream at the start of `bytes`; `out.len() == components × count`. Returns the number of bytes
/// used.
pub fn decode<W: Code>(
    bytes: &[u8],
    components: usize,
    spatial: SpatialPrediction,
    refs: References<'_, W>,
    out: &mut [W],
) -> Result<usize, Corrupt> {
    let mut c = Cursor::new(bytes);
    let Predictor { source, blend: [a, b, by], weights } = Predictor::read(&mut c)?;
    if source != SOURCE_MOTION {
        return values::decode(bytes, components, spatial, refs.into(), out);
    }
    // Checked before anything is written.
    let sources = refs.motion_references().filter(|s| s.all_have_len(out.len())).ok_or(MISSING_SOURCE)?;
    let start = c.used();
    let used = residual::decode(c.bytes(c.left())?, components, out)?;
    if let Some(weights) = weights {
        parallelogram::reconstruct(components, PredictionRule::Weighted(weights), true, refs.table, out)?;
    }
    motion::reconstruct(sources, BlendFactors { a, b, c: by }, out);
    Ok(start + used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A swinging sheet with some noise, frame `t`, three components.
    fn frame(t: usize, count: usize) -> Vec<u16> {
        let value = |at: usize| {
            let (v, k) = ((at % count) as f64, at / count);
            let swing = (v * 0.05 + t as f64 * 0.3 + k as f64).sin();
            let grain = (at * 7919 + t * 104_729) % 3;
            (3000.0 + 800.0 * swing + v) as u16 + grain as u16
        };
        (0..3 * count).map(value).collect()
    }

    fn strip(count: usize) -> Vec<u32> {
        (2..count as u32).flat_map(|v| [v - 2, v - 1, v]).collect()
    }

    #[test]
    fn golden() {
        let table = PredictorTable::new();
        let mut bytes = Vec::new();
        let values = [10u16, 11, 12, 500];
        encode_index(
            &values,
            2,
            SpatialPrediction::Parallelogram,
            References::of_index_frame(None, &table),
            &mut bytes,
        );
        assert_eq!(bytes, [0, 1, 1, 2, 20, 2, 24, 0xD0, 0, 3]);
        bytes.clear();
        encode_index(
            &values,
            2,
            SpatialPrediction::Average,
            References::of_index_frame(Some(&values), &table),
            &mut bytes,
        );
        assert_eq!(bytes, [1, 0]);
        bytes.clear();
        let refs = References {
            previous: Some(&values),
            index_before: Some(&values),
            index_after: Some(&values),
            ..References::of_index_frame(None, &table)
        };
        encode_b_frame(&values, 2, refs, 5, &mut bytes);
        assert_eq!(bytes, [2, 0, 0, 128, 0]);
    }

    #[test]
    fn a_group_round_trips() {
        for (count, efforts) in [(0, 1..2), (1, 5..6), (2, 5..6), (300, 1..10)] {
            let frames: Vec<Vec<u16>> = (0..6).map(|t| frame(t, count)).collect();
            let table = parallelogram::build_table(&strip(count.max(2)), count, 3, &[&frames[0], &frames[5]]);
            for effort in efforts {
                let index = References::of_index_frame(Some(&frames[0][..]), &table);
                for t in 0..6 {
                    let refs = References {
                        previous: Some(&frames[t.max(1) - 1]),
                        before_previous: (t >= 2).then(|| &frames[t - 2][..]),
                        index_before: Some(&frames[0]),
                        index_after: Some(&frames[5]),
                        ..index
                    };
                    let (mut bytes, mut again) = (vec![7], vec![7]);
                    if t % 5 == 0 {
                        encode_index(&frames[t], 3, SpatialPrediction::Parallelogram, index, &mut bytes);
                        encode_index(&frames[t], 3, SpatialPrediction::Parallelogram, index, &mut again);
                    } else {
                        encode_b_frame(&frames[t], 3, refs, effort, &mut bytes);
                        encode_b_frame(&frames[t], 3, refs, effort, &mut again);
                    }
                    assert_eq!(bytes, again);
                    let used = bytes.len() - 1;
                    bytes.push(1);
                    let mut out = vec![1; 3 * count];
                    assert_eq!(
                        decode(&bytes[1..], 3, SpatialPrediction::Parallelogram, refs, &mut out),
                        Ok(used)
                    );
                    assert_eq!(out, frames[t]);
                    // Skipping uses as many bytes as decoding.
                    assert_eq!(skip(&bytes[1..], 3, count, 2), Ok(used));
                    bytes.pop();
                    for cut in 1..bytes.len() {
                        assert!(
                            decode(&bytes[1..cut], 3, SpatialPrediction::Parallelogram, refs, &mut out)
                                .is_err()
                        );
                        assert!(skip(&bytes[1..cut], 3, count, 2).is_err());
                    }
                    for at in 1..bytes.len() {
                        let mut bad = bytes.clone();
                        bad[at] ^= 1 << (at % 8);
                        let used = decode(&bad[1..], 3, SpatialPrediction::Parallelogram, refs, &mut out);
                        let skipped = skip(&bad[1..], 3, count, 2);
                        assert!(used.is_err() || used == skipped);
                    }
                }
            }
        }
    }

    #[test]
    fn codes_within_the_error_bound_come_back() {
        let count = 500;
        let axes = [crate::quantize::scalar::Axis::new(0.0, 100.0, 0.1).unwrap(); 3];
        let value = |t: usize, k: usize, v: usize| {
            50.0 + 30.0 * (v as f64 * 0.02 + t as f64 * 0.1 + k as f64).sin() + (v % 5) as f64 * 0.02
        };
        let welded: Vec<u32> = (0..count as u32).map(|v| if v % 7 == 6 { v - 3 } else { v }).collect();
        // Welded vertices have one value.
        let of = |v: usize| welded[v] as usize;
        let radius = crate::values::error_bound::radius(0.1, &axes);
        let table = parallelogram::derive_table(&strip(count), count);
        for effort in 1..=9 {
            let mut frames: Vec<Vec<u16>> = vec![vec![0; 3 * count]; 5];
            for t in [0, 4, 1, 2, 3] {
                let located: Vec<_> =
                    (0..3 * count).map(|at| axes[0].locate(value(t, at / count, of(at % count)))).collect();
                let nearest: Vec<u16> = located.iter().map(|l| l.0 as u16).collect();
                let offset: Vec<f32> = located.iter().map(|l| l.1).collect();
                let target = Target {
                    nearest: &nearest,
                    offset: &offset,
                    codes: &axes.map(|a| a.codes),
                    radius,
                    thorough: effort > 2,
                    welded: Some(&welded),
                };
                let mut chosen = vec![0; 3 * count];
                let (mut bytes, mut plain) = (Vec::new(), Vec::new());
                let refs = References {
                    base: (t > 0).then(|| &frames[0][..]),
                    previous: (t > 0).then(|| &frames[t - 1][..]),
                    before_previous: (t > 1).then(|| &frames[t - 2][..]),
                    index_before: Some(&frames[0]),
                    index_after: Some(&frames[4]),
                    table: &table,
                };
                if t % 4 == 0 {
                    encode_index_within(
                        target,
                        SpatialPrediction::Parallelogram,
                        refs,
                        effort,
                        &mut chosen,
                        &mut bytes,
                    );
                    encode_index(&nearest, 3, SpatialPrediction::Parallelogram, refs, &mut plain);
                } else {
                    encode_b_frame_within(target, refs, (t * 64) as u8, effort, &mut chosen, &mut bytes);
                    encode_b_frame(&nearest, 3, refs, effort, &mut plain);
                    assert!(bytes.len() <= plain.len() + 8, "{effort} {t}");
                }
                let mut back = vec![0; 3 * count];
                assert_eq!(
                    decode(&bytes, 3, SpatialPrediction::Parallelogram, refs, &mut back),
                    Ok(bytes.len())
                );
                assert_eq!(back, chosen);
                for v in 0..count {
                    let miss =
                        |k: usize| f64::from(axes[k].value(back[k * count + v].into())) - value(t, k, of(v));
                    assert!((0..3).map(|k| miss(k).powi(2)).sum::<f64>().sqrt() <= 0.1);
                    assert!((0..3).all(|k| back[k * count + v] == back[k * count + of(v)]));
                }
                frames[t] = chosen;
            }
        }
    }

    #[test]
    fn missing_references_are_refused() {
        let (table, f) = (PredictorTable::new(), [0u8; 3]);
        let none = References::of_index_frame(None, &table);
        let mut out = [0u8; 3];
        let mut go = |bytes: &[u8], refs| decode(bytes, 3, SpatialPrediction::Average, refs, &mut out);
        assert!(go(&[1, 0], none).is_err());
        assert!(go(&[1, 0], References::of_index_frame(Some(&f[..2]), &table)).is_err());
        assert!(go(&[1, 0], References::of_index_frame(Some(&f[..]), &table)).is_ok());
        assert!(go(&[2, 0, 0, 0, 0], References { previous: Some(&f), ..none }).is_err());
        let some = References { previous: Some(&f), index_before: Some(&f), index_after: Some(&f), ..none };
        assert!(go(&[2, 0, 0, 0, 0], some).is_ok());
        assert!(go(&[2, 0, 0, 0, 0], References { index_after: Some(&f[..1]), ..some }).is_err());
        for unknown in [3, 7, 8, 16, 128] {
            assert!(go(&[unknown, 0, 0, 0, 0, 0, 0], some).is_err());
        }
        assert!(go(&[6, 0, 0, 0, 0, 0, 0], some).is_ok());
        assert!(go(&[6, 0, 0, 0, 0, 0, 0], none).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..120), kind in 0u8..8, layout in 0u8..4, count in 0usize..30) {
            let mut all = vec![kind];
            if kind & 3 == 2 {
                all.extend([100, 100, 100]);
            }
            if kind & 4 == 4 {
                all.extend([70, 30]);
            }
            all.push(layout);
            all.extend(bytes);
            let f = frame(0, count);
            let table = parallelogram::derive_table(&strip(count.max(2)), count);
            let refs = References {
                base: Some(&f),
                previous: Some(&f),
                before_previous: None,
                index_before: Some(&f),
                index_after: Some(&f),
                table: &table,
            };
            let mut out = vec![0; 3 * count];
            let _ = decode(&all, 3, SpatialPrediction::Parallelogram, refs, &mut out);
        }
    }
}
