//! One stream (positions, uvs …) of one mesh in one frame: predictor + residuals. Lossless; the ball encoders
//! may move the values first, inside a bound that the caller gives.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `predictor` | 0 spatial · 1 spatial, of the difference to the base · 2 motion |
//! | 1 | 3 or 0 | `a`, `b`, `c` | only 2: see [`crate::motion`] |
//! | … | … | `residuals` | see [`crate::residual`] |
//!
//! Spatial prediction is [`crate::parallelogram`]. A reader refuses a predictor whose references it does not have, so
//! index frames never depend on anything but the base.

use crate::{
    Corrupt,
    bytes::Cursor,
    motion::{self, Blend, Sources},
    residual::Cost,
    parallelogram::{self, Table},
    residual,
    word::Word,
};

pub use crate::{ball::Target, parallelogram::Spatial};

// Part of the format.
const VALUES: u8 = 0;
const DIFFERENCE: u8 = 1;
const MOTION: u8 = 2;

/// Frames that a frame may be predicted from, all component-major with the stream's shape.
#[derive(Clone, Copy)]
pub struct References<'a, W> {
    /// The stream's base: the values of its first frame, kept in the static data, always there for index frames.
    pub base: Option<&'a [W]>,
    /// The frame before (an index frame or a between frame).
    pub previous: Option<&'a [W]>,
    /// The frame before that, if it belongs to the same group (not before the group's first index frame).
    pub before_previous: Option<&'a [W]>,
    /// Index frame at the start of the group.
    pub index_before: Option<&'a [W]>,
    /// Index frame at the end of the group.
    pub index_after: Option<&'a [W]>,
    /// Adjacent-triangle table (empty = every vertex from the previous one).
    pub table: &'a Table,
}

impl<'a, W: Word> References<'a, W> {
    /// For an index frame.
    pub fn index(base: Option<&'a [W]>, table: &'a Table) -> References<'a, W> {
        References {
            base,
            previous: None,
            before_previous: None,
            index_before: None,
            index_after: None,
            table,
        }
    }

    /// The frames of motion prediction; none where the frame before or an index frame is missing.
    fn sources(&self) -> Option<Sources<'a, W>> {
        let previous = self.previous?;
        Some(Sources {
            previous,
            before_previous: self.before_previous.unwrap_or(previous),
            index_before: self.index_before?,
            index_after: self.index_after?,
        })
    }
}

/// Encodes `values` (component-major, `components × count`) without reference to other frames but `base`; appends to `out`. Picks the
/// smaller of: spatial prediction of the values, spatial prediction of the difference to `base`.
pub fn encode_index<W: Word>(
    values: &[W],
    components: usize,
    spatial: Spatial,
    refs: References<'_, W>,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let mut r = vec![W::default(); values.len()];
    parallelogram::residual(values, components, spatial, false, refs.table, &mut r);
    out.push(VALUES);
    let plain = residual::encode(&r, components, out);
    let Some(base) = refs.base else { return };
    let difference: Vec<W> = values
        .iter()
        .zip(base)
        .map(|(&v, &b)| v.wrapping_sub(b))
        .collect();
    parallelogram::residual(&difference, components, spatial, true, refs.table, &mut r);
    let mut other = vec![DIFFERENCE];
    if residual::encode(&r, components, &mut other) <= plain {
        out.truncate(start);
        out.append(&mut other);
    }
}

/// Encodes a between frame: searches a, b, c (`effort` 1…9 bounds the work) and appends predictor and residuals to `out`.
///
/// Panics if the frame before or an index frame is missing or has another shape.
pub fn encode_between<W: Word>(
    values: &[W],
    components: usize,
    refs: References<'_, W>,
    effort: u32,
    out: &mut Vec<u8>,
) {
    let sources = refs
        .sources()
        .expect("a between frame has a frame before and index frames around");
    let by = search(
        values,
        components,
        sources,
        refs.before_previous.is_some(),
        128,
        effort,
    );
    let mut r = vec![W::default(); values.len()];
    motion::residual(values, sources, by, &mut r);
    out.extend_from_slice(&[MOTION, by.a, by.b, by.c]);
    residual::encode(&r, components, out);
}

/// As [`encode_index`], but moves the values inside their error ball to where they cost least; writes what it took to
/// `chosen`, which is what decoding gives.
pub fn encode_index_within<W: Word>(
    target: Target<'_, W>,
    spatial: Spatial,
    refs: References<'_, W>,
    effort: u32,
    chosen: &mut [W],
    out: &mut Vec<u8>,
) {
    match target.levels.len() {
        1 => index_within::<W, 1>(target, spatial, refs, effort, chosen, out),
        2 => index_within::<W, 2>(target, spatial, refs, effort, chosen, out),
        3 => index_within::<W, 3>(target, spatial, refs, effort, chosen, out),
        _ => index_within::<W, 4>(target, spatial, refs, effort, chosen, out),
    }
}

fn index_within<W: Word, const N: usize>(
    target: Target<'_, W>,
    spatial: Spatial,
    refs: References<'_, W>,
    effort: u32,
    chosen: &mut [W],
    out: &mut Vec<u8>,
) {
    let count = target.count();
    let zero = vec![W::default(); if refs.base.is_none() { count * N } else { 0 }];
    let mut best: Option<(f64, Vec<u8>, Vec<W>)> = None;
    let mut r = vec![W::default(); count * N];
    for kind in [DIFFERENCE, VALUES] {
        let base = if kind == DIFFERENCE { refs.base } else { None };
        if kind == DIFFERENCE && base.is_none() {
            continue;
        }
        let signed = kind == DIFFERENCE;
        let predict = |chosen: &[W], v: usize| -> [W; N] {
            let entry = refs.table.get(v).copied().unwrap_or([parallelogram::NONE; 3]);
            std::array::from_fn(|k| {
                let plane = &chosen[k * count..(k + 1) * count];
                match base {
                    None => parallelogram::predict(plane, v, entry, spatial, signed).unwrap_or_default(),
                    Some(base) => {
                        let base = &base[k * count..(k + 1) * count];
                        parallelogram::predict_difference(plane, base, v, entry, spatial).unwrap_or_default()
                    }
                }
            })
        };
        let mut cost = Cost::guess(N);
        for pass in 0..passes(effort) {
            if pass > 0 {
                cost = Cost::learn(&r, N);
            }
            target.choose::<N>(&cost, predict, chosen, &mut r);
        }
        let mut bytes = vec![kind];
        let size = residual::encode(&r, N, &mut bytes);
        if best.as_ref().is_none_or(|b| size < b.0) {
            best = Some((size, bytes, chosen.to_vec()));
        }
    }
    drop(zero);
    if let Some((_, bytes, levels)) = best {
        chosen.copy_from_slice(&levels);
        out.extend(bytes);
    }
}

fn passes(effort: u32) -> usize {
    match effort {
        0..=2 => 1,
        3..=6 => 2,
        7..=8 => 3,
        _ => 4,
    }
}

/// As [`encode_between`], but moves the values inside their error ball to where they cost least; writes what it took to
/// `chosen`, which is what decoding gives. `start` is where the search for b begins: 256ths of the way from the index
/// frame before to the one after, at which the frame lies in time.
pub fn encode_between_within<W: Word>(
    target: Target<'_, W>,
    refs: References<'_, W>,
    start: u8,
    effort: u32,
    chosen: &mut [W],
    out: &mut Vec<u8>,
) {
    match target.levels.len() {
        1 => between_within::<W, 1>(target, refs, start, effort, chosen, out),
        2 => between_within::<W, 2>(target, refs, start, effort, chosen, out),
        3 => between_within::<W, 3>(target, refs, start, effort, chosen, out),
        _ => between_within::<W, 4>(target, refs, start, effort, chosen, out),
    }
}

fn between_within<W: Word, const N: usize>(
    target: Target<'_, W>,
    refs: References<'_, W>,
    start: u8,
    effort: u32,
    chosen: &mut [W],
    out: &mut Vec<u8>,
) {
    let count = target.count();
    let sources = refs.sources().expect("a between frame has a frame before and index frames around");
    let by = search_within::<W, N>(target, sources, refs.before_previous.is_some(), start, effort);
    let mut r = vec![W::default(); count * N];
    let mut predicted = vec![W::default(); count * N];
    motion::predict(sources, by, &mut predicted);
    let mut cost = Cost::guess(N);
    for pass in 0..passes(effort) {
        if pass > 0 {
            cost = Cost::learn(&r, N);
        }
        target.choose::<N>(&cost, |_, v| std::array::from_fn(|k| predicted[k * count + v]), chosen, &mut r);
    }
    out.extend_from_slice(&[MOTION, by.a, by.b, by.c]);
    residual::encode(&r, N, out);
}

/// The cost of a vector is what is left of it outside the ball.
fn search_within<W: Word, const N: usize>(target: Target<'_, W>, s: Sources<'_, W>, moving: bool, start: u8, effort: u32) -> Blend {
    let count = target.count();
    let mut picked = vec![];
    const STRETCH: usize = 16;
    let wanted = SAMPLE[effort.min(9) as usize];
    let every = (count / wanted.max(1)).max(1) * STRETCH;
    for v in (0..count).step_by(every) {
        picked.extend(v..(v + STRETCH).min(count));
    }
    let radius = target.radius;
    motion::search(start, moving, effort, |by| {
        let mut sum = 0.0f64;
        for &v in &picked {
            let mut d2 = 0.0f32;
            let mut l = 1.0f32;
            for k in 0..N {
                let at = k * count + v;
                let d = target.nearest[at].wrapping_sub(s.predict(at, by)).signed() as f32 + target.offset[at];
                d2 += d * d;
                l *= 1.0 + d.abs();
            }
            if d2 > radius * radius {
                sum += f64::from(l).log2() + 1.0;
            }
        }
        sum
    })
}

/// Vertices that the search looks at, by effort.
const SAMPLE: [usize; 10] = [128, 128, 256, 512, 512, 1024, 1024, 2048, 4096, 16384];

/// Searches on a sample of short stretches of vertices, spread evenly.
fn search<W: Word>(
    values: &[W],
    components: usize,
    s: Sources<'_, W>,
    moving: bool,
    start: u8,
    effort: u32,
) -> Blend {
    const STRETCH: usize = 16;
    let count = values.len() / components.max(1);
    let wanted = SAMPLE[effort.min(9) as usize];
    let every = (count / wanted.max(1)).max(1) * STRETCH;
    let stretches = || {
        (0..count)
            .step_by(every)
            .map(|v| v..(v + STRETCH).min(count))
    };
    let gather = |from: &[W]| -> Vec<W> {
        (0..components)
            .flat_map(|k| stretches().flat_map(move |r| r.map(move |v| k * count + v)))
            .map(|at| from[at])
            .collect()
    };
    let picked = [
        values,
        s.previous,
        s.before_previous,
        s.index_before,
        s.index_after,
    ]
    .map(gather);
    let [values, previous, before_previous, index_before, index_after] =
        picked.each_ref().map(Vec::as_slice);
    let s = Sources {
        previous,
        before_previous,
        index_before,
        index_after,
    };
    let mut r = vec![W::default(); values.len()];
    motion::search(start, moving, effort, |by| {
        motion::residual(values, s, by, &mut r);
        r.iter()
            .map(|r| (1.0 + f64::from(r.signed().unsigned_abs())).log2())
            .sum()
    })
}

/// Decodes what either encoder wrote at the start of `bytes`; `out.len() == components × count`. Returns the bytes used.
pub fn decode<W: Word>(
    bytes: &[u8],
    components: usize,
    spatial: Spatial,
    refs: References<'_, W>,
    out: &mut [W],
) -> Result<usize, Corrupt> {
    const MISSING: Corrupt = Corrupt("stream: the frame it is predicted from is missing");
    let mut c = Cursor::new(bytes);
    match c.u8()? {
        kind @ (VALUES | DIFFERENCE) => {
            let base = if kind == DIFFERENCE {
                refs.base.filter(|b| b.len() == out.len()).ok_or(MISSING)?
            } else {
                &[]
            };
            let used = residual::decode(c.take(c.left())?, components, out)?;
            parallelogram::reconstruct(components, spatial, kind == DIFFERENCE, refs.table, out)?;
            for (o, &b) in out.iter_mut().zip(base) {
                *o = o.wrapping_add(b);
            }
            Ok(1 + used)
        }
        MOTION => {
            let sources = refs.sources().filter(|s| s.are(out.len())).ok_or(MISSING)?;
            let [a, b, c_] = c.array()?;
            let used = residual::decode(c.take(c.left())?, components, out)?;
            motion::reconstruct(sources, Blend { a, b, c: c_ }, out);
            Ok(4 + used)
        }
        _ => Err(Corrupt("stream: unknown predictor")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A sheet that swings and has some noise, frame `t`, three components.
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
        let table = Table::new();
        let mut bytes = Vec::new();
        let values = [10u16, 11, 12, 500];
        encode_index(
            &values,
            2,
            Spatial::Parallelogram,
            References::index(None, &table),
            &mut bytes,
        );
        assert_eq!(bytes, [0, 1, 1, 2, 20, 2, 24, 0xD0, 0, 3]);
        bytes.clear();
        encode_index(
            &values,
            2,
            Spatial::Average,
            References::index(Some(&values), &table),
            &mut bytes,
        );
        assert_eq!(bytes, [1, 0]);
        bytes.clear();
        let refs = References {
            previous: Some(&values),
            index_before: Some(&values),
            index_after: Some(&values),
            ..References::index(None, &table)
        };
        encode_between(&values, 2, refs, 5, &mut bytes);
        assert_eq!(bytes, [2, 0, 0, 128, 0]);
    }

    #[test]
    fn a_group_round_trips() {
        for (count, efforts) in [(0, 1..2), (1, 5..6), (2, 5..6), (300, 1..10)] {
            let frames: Vec<Vec<u16>> = (0..6).map(|t| frame(t, count)).collect();
            let table = parallelogram::build_table(
                &strip(count.max(2)),
                count,
                3,
                &[&frames[0], &frames[5]],
            );
            for effort in efforts {
                let index = References::index(Some(&frames[0][..]), &table);
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
                        encode_index(&frames[t], 3, Spatial::Parallelogram, index, &mut bytes);
                        encode_index(&frames[t], 3, Spatial::Parallelogram, index, &mut again);
                    } else {
                        encode_between(&frames[t], 3, refs, effort, &mut bytes);
                        encode_between(&frames[t], 3, refs, effort, &mut again);
                    }
                    assert_eq!(bytes, again);
                    let used = bytes.len() - 1;
                    bytes.push(1);
                    let mut out = vec![1; 3 * count];
                    assert_eq!(
                        decode(&bytes[1..], 3, Spatial::Parallelogram, refs, &mut out),
                        Ok(used)
                    );
                    assert_eq!(out, frames[t]);
                    bytes.pop();
                    for cut in 1..bytes.len() {
                        assert!(
                            decode(&bytes[1..cut], 3, Spatial::Parallelogram, refs, &mut out)
                                .is_err()
                        );
                    }
                    for at in 1..bytes.len() {
                        let mut bad = bytes.clone();
                        bad[at] ^= 1 << (at % 8);
                        let _ = decode(&bad[1..], 3, Spatial::Parallelogram, refs, &mut out);
                    }
                }
            }
        }
    }

    #[test]
    fn missing_references_are_refused() {
        let (table, f) = (Table::new(), [0u8; 3]);
        let none = References::index(None, &table);
        let mut out = [0u8; 3];
        let mut go = |bytes: &[u8], refs| decode(bytes, 3, Spatial::Average, refs, &mut out);
        assert!(go(&[1, 0], none).is_err());
        assert!(go(&[1, 0], References::index(Some(&f[..2]), &table)).is_err());
        assert!(go(&[1, 0], References::index(Some(&f[..]), &table)).is_ok());
        assert!(
            go(
                &[2, 0, 0, 0, 0],
                References {
                    previous: Some(&f),
                    ..none
                }
            )
            .is_err()
        );
        let some = References {
            previous: Some(&f),
            index_before: Some(&f),
            index_after: Some(&f),
            ..none
        };
        assert!(go(&[2, 0, 0, 0, 0], some).is_ok());
        assert!(
            go(
                &[2, 0, 0, 0, 0],
                References {
                    index_after: Some(&f[..1]),
                    ..some
                }
            )
            .is_err()
        );
        assert!(go(&[3, 0], some).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..120), kind in 0u8..3, layout in 0u8..4, count in 0usize..30) {
            let mut all = vec![kind];
            if kind == 2 {
                all.extend([100, 100, 100]);
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
            let _ = decode(&all, 3, Spatial::Parallelogram, refs, &mut out);
        }
    }
}
