//! Tests of chains: round trips, resumption after any frame, and damage.

use super::*;
use crate::values::particles::ParticleKind;
use proptest::prelude::*;

/// A frame: ids or none, points of curves or none, and a stream of three components, component-major.
#[derive(Clone, Debug, Default, PartialEq)]
struct TestFrame {
    run: u32,
    ids: Vec<u64>,
    curves: Vec<u32>,
    codes: Vec<u32>,
}

impl TestFrame {
    fn points(&self) -> ParticlePoints<'_> {
        ParticlePoints { count: self.codes.len() / 3, run: self.run, ids: &self.ids, curves: &self.curves }
    }

    fn from_chain(chain: &Chain) -> TestFrame {
        let points = chain.points();
        let mut codes = vec![0u32; 3 * points.count];
        chain.values(0, 3, &mut codes);
        TestFrame { run: points.run, ids: points.ids.to_vec(), curves: points.curves.to_vec(), codes }
    }
}

const STREAMS: [ChainStream; 1] = [ChainStream { components: 3, word: 2 }];

const CODINGS: [ChainCoding; 2] = [ChainCoding::Adaptive, ChainCoding::Packed];

fn layout((coding, shape): (ChainCoding, ParticleKind)) -> PointLayout<'static> {
    PointLayout {
        coding,
        kind: shape,
        max_points: 300,
        max_curves: if shape.curves { 60 } else { 0 },
        streams: &STREAMS,
    }
}

fn given(frame: &TestFrame, most_off: f32) -> InputFrame<'_> {
    let offset = if most_off > 0.0 { vec![0.25; frame.codes.len()] } else { Vec::new() };
    let grain = ((most_off * 2.0 / 3f32.sqrt()) as u32).max(1);
    let most = [1 << 16; 4];
    let values =
        InputStream { codes: frame.codes.clone(), offset, radius: most_off, code_counts: most, grain };
    InputFrame { points: frame.points(), streams: vec![values] }
}

fn coded(
    frames: &[TestFrame],
    kind: (ChainCoding, ParticleKind),
    entry: &mut Chain,
    most_off: f32,
) -> (Vec<u8>, Vec<TestFrame>) {
    let mut all: Vec<InputFrame<'_>> = frames.iter().map(|frame| given(frame, most_off)).collect();
    let mut bytes = Vec::new();
    encode(&mut bytes, layout(kind), entry, &mut all).unwrap();
    let chosen =
        frames.iter().zip(all).map(|(f, g)| TestFrame { codes: g.streams[0].codes.clone(), ..f.clone() });
    (bytes, chosen.collect())
}

fn decoded(
    bytes: &[u8],
    count: usize,
    kind: (ChainCoding, ParticleKind),
    chain: &mut Chain,
) -> Result<Vec<TestFrame>, Corrupt> {
    let mut reader = ChainReader::new(bytes, layout(kind), chain)?;
    let mut out = Vec::new();
    for _ in 0..count {
        reader.frame(layout(kind), chain)?;
        out.push(TestFrame::from_chain(chain));
    }
    reader.finish()?;
    Ok(out)
}

/// Drops that fly on parabolas, hit the ground, rest and disappear.
fn drops(frames: usize) -> Vec<TestFrame> {
    let mut out = Vec::new();
    for frame in 0..frames as i64 {
        let mut own = TestFrame::default();
        let mut points: Vec<[i64; 3]> = Vec::new();
        for id in 0..150i64 {
            let age = frame - id / 8;
            if !(0..14).contains(&age) {
                continue;
            }
            let high = 900 * age - 90 * age * age + 200;
            own.ids.push(id as u64);
            points.push([20_000 + (id % 17 - 8) * 40 * age, high.max(0), 30_000 + (id % 11 - 5) * 55 * age]);
        }
        own.codes = (0..3).flat_map(|k| points.iter().map(move |p| p[k] as u32)).collect();
        out.push(own);
    }
    out
}

const IDS: ParticleKind = ParticleKind { ids: true, curves: false };

#[test]
fn drops_come_back_within_the_error_bound_and_take_little() {
    let frames = drops(32);
    for (coding, most_off, most_bits) in [
        (ChainCoding::Adaptive, 0.0, 14),
        (ChainCoding::Adaptive, 4.0, 10),
        (ChainCoding::Packed, 0.0, 23),
        (ChainCoding::Packed, 4.0, 16),
    ] {
        let mut entry = Chain::default();
        let kind = (coding, IDS);
        let (bytes, chosen) = coded(&frames, kind, &mut entry, most_off);
        let mut chain = Chain::default();
        assert_eq!(decoded(&bytes, frames.len(), kind, &mut chain).unwrap(), chosen);
        let points: usize = frames.iter().map(|f| f.ids.len()).sum();
        for (frame, chosen) in frames.iter().zip(&chosen) {
            let count = frame.ids.len();
            for v in 0..count {
                let off = |k: usize| {
                    let at = k * count + v;
                    f64::from(chosen.codes[at])
                        - f64::from(frame.codes[at])
                        - if most_off > 0.0 { 0.25 } else { 0.0 }
                };
                let square: f64 = (0..3).map(|k| off(k).powi(2)).sum();
                assert!(square.sqrt() <= f64::from(most_off) + 1e-6);
            }
        }
        let bits = 8 * bytes.len() / points;
        assert!(bits < most_bits, "{coding:?}, {most_off}: {bits} bits a point");
    }
}

#[test]
fn a_chain_goes_on_from_what_is_kept_of_a_frame() {
    CODINGS.into_iter().for_each(resumes);
}

fn resumes(coding: ChainCoding) {
    let kind = (coding, IDS);
    let frames = drops(30);
    let mut entry = Chain::default();
    let (first, chosen) = coded(&frames[..14], kind, &mut entry, 4.0);
    let (second, rest) = coded(&frames[14..], kind, &mut entry, 4.0);
    let mut chain = Chain::default();
    assert_eq!(decoded(&first, 14, kind, &mut chain).unwrap(), chosen);
    // As when another frame was decoded in between: from values and saved words.
    let last = TestFrame::from_chain(&chain);
    let mut words = vec![0; coding.state_len(3) * last.ids.len()];
    chain.save_stream(0, 3, &mut words);
    let mut again = Chain::default();
    again.reserve(layout(kind));
    again.resume(last.points(), layout(kind));
    let values: Vec<u16> = last.codes.iter().map(|c| *c as u16).collect();
    again.restore_stream(0, 3, &values, &words).unwrap();
    assert_eq!(decoded(&second, 16, kind, &mut again).unwrap(), rest);
    assert!(again.restore_stream(0, 3, &values, &words).is_err(), "of other points");
    // Decoding only the first frames works, too.
    let mut early = Chain::default();
    let mut reader = ChainReader::new(&first, layout(kind), &mut early).unwrap();
    for frame in &chosen[..5] {
        assert!(reader.frame(layout(kind), &mut early).unwrap());
        assert_eq!(TestFrame::from_chain(&early), *frame);
    }
}

#[test]
fn what_hides_comes_again_as_new() {
    CODINGS.into_iter().for_each(hides_and_comes_again);
}

fn hides_and_comes_again(coding: ChainCoding) {
    let kind = (coding, IDS);
    let frames = drops(10);
    let mut all: Vec<InputFrame<'_>> = frames.iter().map(|frame| given(frame, 0.0)).collect();
    all[4] = InputFrame::default();
    let (mut bytes, mut chain) = (Vec::new(), Chain::default());
    encode(&mut bytes, layout(kind), &mut chain, &mut all).unwrap();
    let mut chain = Chain::default();
    let mut reader = ChainReader::new(&bytes, layout(kind), &mut chain).unwrap();
    for (f, frame) in frames.iter().enumerate() {
        assert_eq!(reader.frame(layout(kind), &mut chain).unwrap(), f != 4);
        assert_eq!(TestFrame::from_chain(&chain), if f == 4 { TestFrame::default() } else { frame.clone() });
    }
    reader.finish().unwrap();
}

#[test]
fn damage_is_refused_or_harmless() {
    CODINGS.into_iter().for_each(survives_damage);
}

fn survives_damage(coding: ChainCoding) {
    let kind = (coding, IDS);
    let frames = drops(12);
    let (bytes, _) = coded(&frames, kind, &mut Chain::default(), 4.0);
    for end in 0..bytes.len() {
        assert!(decoded(&bytes[..end], 12, kind, &mut Chain::default()).is_err(), "{end} bytes");
    }
    let mut refused = 0;
    for bit in 0..8 * bytes.len() {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        refused += usize::from(decoded(&bytes, 12, kind, &mut Chain::default()).is_err());
    }
    // Most flips of packed bits are other residuals.
    let least = if coding == ChainCoding::Packed { bytes.len() / 2 } else { 4 * bytes.len() };
    assert!(refused > least, "{refused} of {} flips", 8 * bytes.len());
}

prop_compose! {
    fn frames(ids: bool, curves: bool)(
        raw in prop::collection::vec(
            (0u32..3, prop::collection::btree_map(any::<u16>(), any::<[u16; 3]>(), 0..20)), 1..8)
    ) -> Vec<TestFrame> {
        raw.into_iter().map(|(run, points)| {
            let mut own = TestFrame { run: if ids { 0 } else { run + 1 }, ..TestFrame::default() };
            if ids {
                own.ids = points.keys().map(|id| u64::from(*id) * if *id > 60_000 { 1 << 40 } else { 1 }).collect();
            }
            if curves {
                own.curves = vec![1; points.len()];
                if let [.., last, _] = &mut own.curves[..] {
                    *last = 2;
                    own.curves.pop();
                }
            }
            let codes = |k: usize| points.values().map(move |p| u32::from(p[k]));
            own.codes = (0..3).flat_map(codes).collect();
            own
        }).collect()
    }
}

proptest! {
    #[test]
    fn any_points_come_back(packed: bool, (shape, frames) in prop_oneof![
        (Just(IDS), frames(true, false)),
        (Just(ParticleKind::default()), frames(false, false)),
        (Just(ParticleKind { ids: false, curves: true }), frames(false, true)),
    ]) {
        let kind = (CODINGS[usize::from(packed)], shape);
        let (bytes, chosen) = coded(&frames, kind, &mut Chain::default(), 0.0);
        prop_assert_eq!(&chosen, &frames);
        prop_assert_eq!(decoded(&bytes, frames.len(), kind, &mut Chain::default()).unwrap(), frames);
    }

    #[test]
    fn any_bytes_are_safe(packed: bool, bytes in prop::collection::vec(any::<u8>(), 0..200), ids: bool, curves: bool) {
        let shape = ParticleKind { ids, curves: curves && !ids };
        let _ = decoded(&bytes, 5, (CODINGS[usize::from(packed)], shape), &mut Chain::default());
    }
}

/// Points at rest, whose numbers lie between those of moving ones, are apart and take next to nothing.
#[test]
fn points_at_rest_take_next_to_nothing() {
    let frames = |moving: u32| -> Vec<TestFrame> {
        let position = |id: u32, frame: u32| match id % 100 < moving {
            true => [20_000 + 7 * id, 30_000 + (frame * frame * (id % 31) * 37) % 401, 9_000 + 50 * frame],
            false => [20_000 + 7 * id, 30_000, 9_000 + id],
        };
        let frame = |f: u32| {
            let codes = (0..3).flat_map(|k| (0..300).map(move |id| position(id, f)[k])).collect();
            TestFrame { ids: (0..300).collect(), codes, ..TestFrame::default() }
        };
        (0..25).map(frame).collect()
    };
    let size = |moving| {
        let kind = (ChainCoding::Packed, IDS);
        let (bytes, chosen) = coded(&frames(moving), kind, &mut Chain::default(), 0.0);
        assert_eq!(chosen, frames(moving));
        assert_eq!(decoded(&bytes, 25, kind, &mut Chain::default()).unwrap(), chosen);
        bytes.len()
    };
    let [none, some, all] = [0, 40, 100].map(size);
    assert!(none < 1500, "{none}");
    assert!(some - none < (all - none) / 2, "{none} {some} {all}");
}
