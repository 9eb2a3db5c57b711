//! One stream (positions, uvs …) of one mesh in one frame: predictor + residuals. Lossless; the encoders that
//! are given a [`Target`] first move the values inside their error ball to where they cost least.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `predictor` | bits 0–1, the source: 0 nothing · 1 the base · 2 motion; bit 2: weights follow; others 0 |
//! | 1 | 3 or 0 | `a`, `b`, `c` | only source 2: see [`crate::motion`] |
//! | … | 1 or 0 | `edge` | only with weights: u8, see [`crate::parallelogram`] |
//! | … | 1 or 0 | `apex` | only with weights: i8 |
//! | … | … | `residuals` | see [`crate::residual`] |
//!
//! ```text
//! difference = residual + spatial prediction from the differences of the vertices before
//! value      = difference + source                                                         both modulo the word
//! ```
//!
//! The spatial prediction is [`crate::parallelogram`]: without weights the usual one of the stream
//! (parallelogram or average), and none for source 2. Differences to a source are two's complement, without
//! source they are plain values.
//!
//! The second line is plain vector arithmetic over whole frames; the first goes from vertex to vertex and is
//! left out of between frames where it does not pay. A reader refuses a source that it does not have, so
//! index frames never depend on anything but the base.

use crate::{
    Corrupt,
    bytes::Cursor,
    cost::Cost,
    motion::{self, Blend, Sources},
    parallelogram::{self, Rule, Table, Weights, with_rule},
    residual, search,
    word::Word,
};

pub use crate::{ball::Target, parallelogram::Spatial};

// Part of the format.
const SOURCE: u8 = 3;
const NOTHING: u8 = 0;
const BASE: u8 = 1;
const MOTION: u8 = 2;
const WEIGHTS: u8 = 4;

/// Frames that a frame may be predicted from, all component-major with the stream's shape.
#[derive(Clone, Copy)]
pub struct References<'a, W> {
    /// The stream's base: the values of its first frame, kept in the static data, always there for index
    /// frames.
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

/// Encodes `values` (component-major, `components × count`, 1 to 4 components) without reference to other
/// frames but `base`; appends to `out`. Picks the smaller of: spatial prediction of the values, spatial
/// prediction of the difference to `base`.
pub fn encode_index<W: Word>(
    values: &[W],
    components: usize,
    spatial: Spatial,
    refs: References<'_, W>,
    out: &mut Vec<u8>,
) {
    let fixed = Fixed::new(values, components);
    encode_index_within(
        fixed.target(),
        spatial,
        refs,
        USUAL_EFFORT,
        &mut vec![W::default(); values.len()],
        out,
    );
}

/// Encodes a between frame: searches a, b, c and the weights and appends predictor and residuals to `out`.
///
/// Panics if the frame before or an index frame is missing or has another shape.
pub fn encode_between<W: Word>(
    values: &[W],
    components: usize,
    refs: References<'_, W>,
    work: impl Into<Work>,
    out: &mut Vec<u8>,
) {
    let fixed = Fixed::new(values, components);
    encode_between_within(fixed.target(), refs, 128, work, &mut vec![W::default(); values.len()], out);
}

/// How an encoder goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// 1 … 9: how much is spent on size.
    pub effort: u32,
    /// Between frames do without prediction inside the frame and without runs, which go from vertex to vertex
    /// and take most of the time that they take to decode.
    pub quick: bool,
}

impl From<u32> for Work {
    fn from(effort: u32) -> Work {
        Work { effort, quick: false }
    }
}

/// Effort of what is encoded once.
const USUAL_EFFORT: u32 = 6;

/// Values that may not be moved.
struct Fixed<'a, W> {
    values: &'a [W],
    offset: Vec<f32>,
    levels: [u32; 4],
    components: usize,
}

impl<'a, W: Word> Fixed<'a, W> {
    fn new(values: &'a [W], components: usize) -> Self {
        assert!((1..=4).contains(&components), "1 to 4 components");
        Fixed { values, offset: vec![0.0; values.len()], levels: [u32::MAX; 4], components }
    }

    fn target(&self) -> Target<'_, W> {
        let levels = &self.levels[..self.components];
        Target {
            nearest: self.values,
            offset: &self.offset,
            levels,
            radius: 0.0,
            thorough: true,
            welded: None,
        }
    }
}

/// As [`encode_index`], but moves the values inside their error ball to where they cost least; writes what it
/// took to `chosen`, which is what decoding gives.
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

/// As [`encode_between`], but moves the values inside their error ball to where they cost least; writes what
/// it took to `chosen`, which is what decoding gives. `start` is where the search for b begins: 256ths of the
/// way from the index frame before to the one after, at which the frame lies.
///
/// Panics if the frame before or an index frame is missing or has another shape.
pub fn encode_between_within<W: Word>(
    target: Target<'_, W>,
    refs: References<'_, W>,
    start: u8,
    work: impl Into<Work>,
    chosen: &mut [W],
    out: &mut Vec<u8>,
) {
    let work = work.into();
    match target.levels.len() {
        1 => between_within::<W, 1>(target, refs, start, work, chosen, out),
        2 => between_within::<W, 2>(target, refs, start, work, chosen, out),
        3 => between_within::<W, 3>(target, refs, start, work, chosen, out),
        _ => between_within::<W, 4>(target, refs, start, work, chosen, out),
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
    let (alone, size) = search::index::<W, N>(target, None, spatial, refs.table, effort);
    let (rule, base) = match refs.base {
        None => (alone, None),
        Some(base) => {
            let (rule, other) = search::index::<W, N>(target, Some(base), spatial, refs.table, effort);
            if other <= size { (rule, Some(base)) } else { (alone, None) }
        }
    };
    let kind = if base.is_some() { BASE } else { NOTHING };
    match rule {
        Rule::Usual(_) => out.push(kind),
        Rule::Weighted(w) => out.extend([kind | WEIGHTS, w.edge, w.apex as u8]),
    }
    let zeros = vec![W::default(); if base.is_some() { 0 } else { chosen.len() }];
    let source = base.unwrap_or(&zeros);
    code::<W, N>(target, source, rule, base.is_some(), refs.table, effort.into(), chosen, out);
}

fn between_within<W: Word, const N: usize>(
    target: Target<'_, W>,
    refs: References<'_, W>,
    start: u8,
    work: Work,
    chosen: &mut [W],
    out: &mut Vec<u8>,
) {
    let sources = refs.sources().expect("a between frame has a frame before and index frames around");
    let moving = refs.before_previous.is_some();
    let (by, weights) = search::between::<W, N>(target, sources, refs.table, moving, start, work);
    if weights == Weights::ZERO {
        out.extend([MOTION, by.a, by.b, by.c]);
    } else {
        out.extend([MOTION | WEIGHTS, by.a, by.b, by.c, weights.edge, weights.apex as u8]);
    }
    let mut source = vec![W::default(); chosen.len()];
    motion::predict(sources, by, &mut source);
    code::<W, N>(target, &source, Rule::Weighted(weights), true, refs.table, work, chosen, out);
}

/// Chooses the levels, in as many rounds as the effort is worth, and appends their residuals.
#[allow(clippy::too_many_arguments)] // One call of each of the two functions above.
fn code<W: Word, const N: usize>(
    target: Target<'_, W>,
    source: &[W],
    rule: Rule,
    signed: bool,
    table: &Table,
    work: Work,
    chosen: &mut [W],
    out: &mut Vec<u8>,
) {
    assert_eq!(chosen.len(), target.nearest.len(), "room for the chosen levels");
    let mut residuals = vec![W::default(); chosen.len()];
    if target.radius > 0.0 {
        let rounds = match work.effort {
            0..=4 => 1,
            5..=6 => 2,
            7..=8 => 3,
            _ => 4,
        };
        let mut cost = Cost::guess();
        for round in 0..rounds {
            if round > 0 {
                cost = Cost::learn(&residuals, N);
            }
            with_rule!(rule, rule => {
                let basis = crate::ball::Basis { source, rule, signed, table };
                target.choose::<_, N>(&cost, basis, chosen, &mut residuals);
            });
        }
        for (c, &s) in chosen.iter_mut().zip(source) {
            *c = c.wrapping_add(s);
        }
    } else {
        let above: Vec<W> = target.nearest.iter().zip(source).map(|(&v, &s)| v.wrapping_sub(s)).collect();
        parallelogram::residual(&above, N, rule, signed, table, &mut residuals);
        chosen.copy_from_slice(target.nearest);
    }
    residual::encode(&residuals, N, !work.quick, out);
}

/// Decodes what an encoder wrote at the start of `bytes`; `out.len() == components × count`. Returns the
/// bytes used.
pub fn decode<W: Word>(
    bytes: &[u8],
    components: usize,
    spatial: Spatial,
    refs: References<'_, W>,
    out: &mut [W],
) -> Result<usize, Corrupt> {
    const MISSING: Corrupt = Corrupt("stream: the frame it is predicted from is missing");
    let mut c = Cursor::new(bytes);
    let Predictor { source, blend, weights } = Predictor::read(&mut c)?;
    let usual = (source != MOTION).then_some(Rule::Usual(spatial));
    let rule = weights.map(Rule::Weighted).or(usual);
    // Before anything is written.
    let base = if source == BASE { refs.base.filter(|b| b.len() == out.len()).ok_or(MISSING)? } else { &[] };
    let motion = if source == MOTION {
        Some(refs.sources().filter(|s| s.are(out.len())).ok_or(MISSING)?)
    } else {
        None
    };
    let start = c.used();
    let used = residual::decode(c.take(c.left())?, components, out)?;
    if let Some(rule) = rule {
        parallelogram::reconstruct(components, rule, source != NOTHING, refs.table, out)?;
    }
    if let Some(sources) = motion {
        let [a, b, c] = blend;
        motion::reconstruct(sources, Blend { a, b, c }, out);
    }
    for (o, &b) in out.iter_mut().zip(base) {
        *o = o.wrapping_add(b);
    }
    Ok(start + used)
}

/// Bytes that [`decode`] uses for `count` values of words of so many bytes, without decoding them.
pub fn skip(bytes: &[u8], components: usize, count: usize, word: usize) -> Result<usize, Corrupt> {
    let mut c = Cursor::new(bytes);
    Predictor::read(&mut c)?;
    let start = c.used();
    Ok(start + residual::skip(c.take(c.left())?, components, count, word)?)
}

/// What a stream begins with.
struct Predictor {
    source: u8,
    /// a, b, c of motion.
    blend: [u8; 3],
    weights: Option<Weights>,
}

impl Predictor {
    fn read(c: &mut Cursor<'_>) -> Result<Predictor, Corrupt> {
        let predictor = c.u8()?;
        let source = predictor & SOURCE;
        if predictor & !(SOURCE | WEIGHTS) != 0 || source > MOTION {
            return Err(Corrupt("stream: unknown predictor"));
        }
        let blend = if source == MOTION { c.array()? } else { [0; 3] };
        let mut weights = None;
        if predictor & WEIGHTS != 0 {
            let [edge, apex] = c.array()?;
            weights = Some(Weights { edge, apex: apex as i8 });
        }
        Ok(Predictor { source, blend, weights })
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
        encode_index(&values, 2, Spatial::Parallelogram, References::index(None, &table), &mut bytes);
        assert_eq!(bytes, [0, 1, 1, 2, 20, 2, 24, 0xD0, 0, 3]);
        bytes.clear();
        encode_index(&values, 2, Spatial::Average, References::index(Some(&values), &table), &mut bytes);
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
            let table = parallelogram::build_table(&strip(count.max(2)), count, 3, &[&frames[0], &frames[5]]);
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
                    assert_eq!(decode(&bytes[1..], 3, Spatial::Parallelogram, refs, &mut out), Ok(used));
                    assert_eq!(out, frames[t]);
                    // What is passed over is as long as what is decoded.
                    assert_eq!(skip(&bytes[1..], 3, count, 2), Ok(used));
                    bytes.pop();
                    for cut in 1..bytes.len() {
                        assert!(decode(&bytes[1..cut], 3, Spatial::Parallelogram, refs, &mut out).is_err());
                        assert!(skip(&bytes[1..cut], 3, count, 2).is_err());
                    }
                    for at in 1..bytes.len() {
                        let mut bad = bytes.clone();
                        bad[at] ^= 1 << (at % 8);
                        let used = decode(&bad[1..], 3, Spatial::Parallelogram, refs, &mut out);
                        let skipped = skip(&bad[1..], 3, count, 2);
                        assert!(used.is_err() || used == skipped);
                    }
                }
            }
        }
    }

    #[test]
    fn levels_inside_the_ball_come_back() {
        let count = 500;
        let axes = [crate::quantize::Axis::new(0.0, 100.0, 0.1).unwrap(); 3];
        let value = |t: usize, k: usize, v: usize| {
            50.0 + 30.0 * (v as f64 * 0.02 + t as f64 * 0.1 + k as f64).sin() + (v % 5) as f64 * 0.02
        };
        let welded: Vec<u32> = (0..count as u32).map(|v| if v % 7 == 6 { v - 3 } else { v }).collect();
        // The vertices that are welded have one value.
        let of = |v: usize| welded[v] as usize;
        let radius = crate::ball::radius(0.1, &axes);
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
                    levels: &axes.map(|a| a.levels),
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
                        Spatial::Parallelogram,
                        refs,
                        effort,
                        &mut chosen,
                        &mut bytes,
                    );
                    encode_index(&nearest, 3, Spatial::Parallelogram, refs, &mut plain);
                } else {
                    encode_between_within(target, refs, (t * 64) as u8, effort, &mut chosen, &mut bytes);
                    encode_between(&nearest, 3, refs, effort, &mut plain);
                    assert!(bytes.len() <= plain.len() + 8, "{effort} {t}");
                }
                let mut back = vec![0; 3 * count];
                assert_eq!(decode(&bytes, 3, Spatial::Parallelogram, refs, &mut back), Ok(bytes.len()));
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
        let (table, f) = (Table::new(), [0u8; 3]);
        let none = References::index(None, &table);
        let mut out = [0u8; 3];
        let mut go = |bytes: &[u8], refs| decode(bytes, 3, Spatial::Average, refs, &mut out);
        assert!(go(&[1, 0], none).is_err());
        assert!(go(&[1, 0], References::index(Some(&f[..2]), &table)).is_err());
        assert!(go(&[1, 0], References::index(Some(&f[..]), &table)).is_ok());
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
            let _ = decode(&all, 3, Spatial::Parallelogram, refs, &mut out);
        }
    }
}
