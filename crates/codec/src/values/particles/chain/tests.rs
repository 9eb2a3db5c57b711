//! Tests of chains: round trips, resumption after any frame, and damage.

use super::*;
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

fn layout(shape: ParticleKind) -> PointLayout<'static> {
    PointLayout {
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
    shape: ParticleKind,
    entry: &mut Chain,
    most_off: f32,
) -> (Vec<u8>, Vec<TestFrame>) {
    let mut all: Vec<InputFrame<'_>> = frames.iter().map(|frame| given(frame, most_off)).collect();
    let mut bytes = Vec::new();
    encode(&mut bytes, layout(shape), entry, &mut all).unwrap();
    let chosen =
        frames.iter().zip(all).map(|(f, g)| TestFrame { codes: g.streams[0].codes.clone(), ..f.clone() });
    (bytes, chosen.collect())
}

fn decoded(
    bytes: &[u8],
    count: usize,
    shape: ParticleKind,
    chain: &mut Chain,
) -> Result<Vec<TestFrame>, Corrupt> {
    let mut reader = ChainReader::new(bytes, &STREAMS, chain)?;
    let mut out = Vec::new();
    for _ in 0..count {
        reader.frame(layout(shape), chain)?;
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
    for most_off in [0.0, 4.0] {
        let mut entry = Chain::default();
        let (bytes, chosen) = coded(&frames, IDS, &mut entry, most_off);
        let mut chain = Chain::default();
        assert_eq!(decoded(&bytes, frames.len(), IDS, &mut chain).unwrap(), chosen);
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
        assert!(bits < if most_off > 0.0 { 10 } else { 14 }, "{bits} bits a point");
    }
}

#[test]
fn a_chain_goes_on_from_what_is_kept_of_a_frame() {
    let frames = drops(30);
    let mut entry = Chain::default();
    let (first, chosen) = coded(&frames[..14], IDS, &mut entry, 4.0);
    let (second, rest) = coded(&frames[14..], IDS, &mut entry, 4.0);
    let mut chain = Chain::default();
    assert_eq!(decoded(&first, 14, IDS, &mut chain).unwrap(), chosen);
    // As when another frame was decoded in between: from values and saved words.
    let last = TestFrame::from_chain(&chain);
    let mut words = vec![0; state_len(3) * last.ids.len()];
    chain.save_stream(0, 3, &mut words);
    let mut again = Chain::default();
    again.reserve(layout(IDS));
    again.resume(last.points(), 1);
    let values: Vec<u16> = last.codes.iter().map(|c| *c as u16).collect();
    again.restore_stream(0, 3, &values, &words).unwrap();
    assert_eq!(decoded(&second, 16, IDS, &mut again).unwrap(), rest);
    assert!(again.restore_stream(0, 3, &values, &words).is_err(), "of other points");
    // Decoding only the first frames works, too.
    let mut early = Chain::default();
    let mut reader = ChainReader::new(&first, &STREAMS, &mut early).unwrap();
    for frame in &chosen[..5] {
        assert!(reader.frame(layout(IDS), &mut early).unwrap());
        assert_eq!(TestFrame::from_chain(&early), *frame);
    }
}

#[test]
fn what_hides_comes_again_as_new() {
    let frames = drops(10);
    let mut all: Vec<InputFrame<'_>> = frames.iter().map(|frame| given(frame, 0.0)).collect();
    all[4] = InputFrame::default();
    let (mut bytes, mut chain) = (Vec::new(), Chain::default());
    encode(&mut bytes, layout(IDS), &mut chain, &mut all).unwrap();
    let mut chain = Chain::default();
    let mut reader = ChainReader::new(&bytes, &STREAMS, &mut chain).unwrap();
    for (f, frame) in frames.iter().enumerate() {
        assert_eq!(reader.frame(layout(IDS), &mut chain).unwrap(), f != 4);
        assert_eq!(TestFrame::from_chain(&chain), if f == 4 { TestFrame::default() } else { frame.clone() });
    }
    reader.finish().unwrap();
}

#[test]
fn damage_is_refused_or_harmless() {
    let frames = drops(12);
    let (bytes, _) = coded(&frames, IDS, &mut Chain::default(), 4.0);
    for end in 0..bytes.len() {
        let _ = decoded(&bytes[..end], 12, IDS, &mut Chain::default());
    }
    let mut refused = 0;
    for bit in 0..8 * bytes.len() {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        refused += usize::from(decoded(&bytes, 12, IDS, &mut Chain::default()).is_err());
    }
    assert!(refused > 4 * bytes.len(), "{refused} of {} flips", 8 * bytes.len());
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
    fn any_points_come_back((shape, frames) in prop_oneof![
        (Just(IDS), frames(true, false)),
        (Just(ParticleKind::default()), frames(false, false)),
        (Just(ParticleKind { ids: false, curves: true }), frames(false, true)),
    ]) {
        let (bytes, chosen) = coded(&frames, shape, &mut Chain::default(), 0.0);
        prop_assert_eq!(&chosen, &frames);
        prop_assert_eq!(decoded(&bytes, frames.len(), shape, &mut Chain::default()).unwrap(), frames);
    }

    #[test]
    fn any_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..200), ids: bool, curves: bool) {
        let shape = ParticleKind { ids, curves: curves && !ids };
        let _ = decoded(&bytes, 5, shape, &mut Chain::default());
    }
}
