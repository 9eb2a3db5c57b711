//! Tests of particles: any points are reproduced, damage is refused or harmless, and the size of a fountain.

use crate::schedule::Schedule;
use crate::values::particles::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A frame: ids or none, points of curves or none, and a stream of three components, component-major.
#[derive(Clone, Debug, Default, PartialEq)]
struct TestFrame {
    run: u32,
    ids: Vec<u64>,
    curves: Vec<u32>,
    codes: Vec<u16>,
}

impl TestFrame {
    fn points(&self) -> ParticlePoints<'_> {
        ParticlePoints { count: self.codes.len() / 3, run: self.run, ids: &self.ids, curves: &self.curves }
    }
}

/// Returns the kind of a frame, given the frames that it refers to.
fn kind(shape: ParticleKind, own: &TestFrame, frames: &[&TestFrame]) -> u32 {
    let same = |other: &&TestFrame| match shape.ids {
        true => other.ids == own.ids,
        false => other.run == own.run,
    };
    frames.iter().position(same).map_or(1, |at| 2 + at as u32)
}

fn encode_frame(
    writer: &mut ParticleWriter<'_>,
    shape: ParticleKind,
    own: &TestFrame,
    frames: &[&TestFrame],
    moments: &[i32],
    work: &mut ParticleBuffers,
) {
    let points: Vec<ParticlePoints<'_>> = frames.iter().map(|f| f.points()).collect();
    let kind = kind(shape, own, frames);
    writer.kind(kind);
    if kind == 1 {
        writer.points(shape, &points, own.points()).unwrap();
    }
    work.match_points(&own.points(), &points);
    let streams: Vec<&[u16]> = frames.iter().map(|f| &f.codes[..]).collect();
    let mut codes = own.codes.clone();
    let wanted =
        InputValues { codes: &mut codes, offset: &[], radius: 0.0, code_counts: [1 << 16; 4], grain: 1 };
    writer.stream(3, (&streams, moments), work, wanted);
    assert_eq!(codes, own.codes, "nothing could be chosen");
}

fn decode_frame(
    reader: &mut ParticleReader<'_>,
    shape: ParticleKind,
    most: usize,
    frames: &[&TestFrame],
    moments: &[i32],
    work: &mut ParticleBuffers,
) -> Result<TestFrame, Corrupt> {
    let points: Vec<ParticlePoints<'_>> = frames.iter().map(|f| f.points()).collect();
    let mut own = TestFrame::default();
    let count = match reader.kind() {
        0 => return Ok(own),
        1 => {
            own.ids = vec![0; if shape.ids { most } else { 0 }];
            own.curves = vec![0; if shape.curves { most } else { 0 }];
            let room = PointBuffers { ids: &mut own.ids, curves: &mut own.curves, count: most };
            let found = reader.points(shape, &points, room)?;
            own.run = found.run;
            own.ids.truncate(found.count);
            own.curves.truncate(found.curves);
            found.count
        }
        kind => {
            let from = frames.get(kind as usize - 2).ok_or(Corrupt("no such frame"))?;
            (own.run, own.ids, own.curves) = (from.run, from.ids.clone(), from.curves.clone());
            from.codes.len() / 3
        }
    };
    own.codes = vec![0; 3 * count];
    work.match_points(&own.points(), &points);
    let streams: Vec<&[u16]> = frames.iter().map(|f| &f.codes[..]).collect();
    reader.stream(3, (&streams, moments), work, &mut own.codes)?;
    Ok(own)
}

/// Encodes frames in the access units of their schedule, and checks the decoded frames.
fn units(frames: &[TestFrame], shape: ParticleKind) -> Vec<Vec<u8>> {
    let schedule = Schedule::new(frames.len() as u32, 8);
    let mut out = Vec::new();
    let mut back: BTreeMap<u32, TestFrame> = BTreeMap::new();
    let most = frames.iter().map(|f| f.codes.len() / 3).max().unwrap_or(0);
    for unit in schedule.units_in_file_order() {
        let mut bytes = Vec::new();
        let mut work = ParticleBuffers::default();
        let about = |frame: u32| {
            let all = schedule.references(frame);
            let list: Vec<u32> =
                all.iter().copied().filter(|&r| !(schedule.key_of(frame).is_some() && r == 0)).collect();
            let moments: Vec<i32> = list.iter().map(|&r| r as i32 - frame as i32).collect();
            (list, moments)
        };
        encode(&mut bytes, |writer| {
            for &frame in schedule.frames_of(unit).iter() {
                let (list, moments) = about(frame);
                let references: Vec<&TestFrame> = list.iter().map(|&r| &frames[r as usize]).collect();
                encode_frame(writer, shape, &frames[frame as usize], &references, &moments, &mut work);
            }
            Ok::<_, Corrupt>(())
        })
        .unwrap();
        let mut reader = ParticleReader::new(&bytes).unwrap();
        for &frame in schedule.frames_of(unit).iter() {
            let (list, moments) = about(frame);
            let references: Vec<&TestFrame> = list.iter().map(|r| &back[r]).collect();
            let own = decode_frame(&mut reader, shape, most, &references, &moments, &mut work).unwrap();
            assert_eq!(own, frames[frame as usize], "frame {frame}");
            back.insert(frame, own);
        }
        reader.finish().unwrap();
        out.push(bytes);
    }
    out
}

/// Water that rises and falls: each drop lives for a while, in codes of 16 bits.
fn fountain(frames: usize, born: usize) -> Vec<TestFrame> {
    let random = |n: u64| {
        let x = (n.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f32 / (1 << 24) as f32
    };
    let frame = |f: usize| {
        let (mut ids, mut places) = (Vec::new(), Vec::new());
        for id in 0..(frames + 40) * born {
            let age = f as f32 + 40.0 - (id as f32 / born as f32);
            let life = 20.0 + 30.0 * random(7 * id as u64);
            if age < 0.0 || age > life {
                continue;
            }
            let [a, b, c] = [1, 2, 3].map(|k| random(7 * id as u64 + k));
            let t = age / 24.0;
            ids.push(id as u64);
            let place = [(a - 0.5) * t, (2.0 + b) * t - 1.6 * t * t + 0.8, (c - 0.5) * t];
            places.push(place.map(|x| ((x / 4.0 + 0.5).clamp(0.0, 1.0) * 65535.0) as u16));
        }
        let plane = |k: usize| places.iter().map(move |p: &[u16; 3]| p[k]).collect::<Vec<_>>();
        TestFrame { run: 0, codes: [plane(0), plane(1), plane(2)].concat(), ids, curves: Vec::new() }
    };
    (0..frames).map(frame).collect()
}

#[test]
fn a_fountain_comes_back_and_takes_a_part_of_its_bytes() {
    let frames = fountain(49, 40);
    let bytes: usize = units(&frames, ParticleKind { ids: true, curves: false }).iter().map(Vec::len).sum();
    let points: usize = frames.iter().map(|f| f.ids.len()).sum();
    let bits = 8.0 * bytes as f64 / points as f64;
    // Before compression: 48 of positions and 64 of ids.
    assert!(bits < 15.0, "{bits} bits a point");
}

#[test]
fn curves_sway_and_points_without_ids_are_told_by_their_number() {
    let curves = |f: usize| {
        let lengths: Vec<u32> = (0..30).map(|c| 5 + c % 3).collect();
        let mut places: Vec<[u16; 3]> = Vec::new();
        for (c, &length) in lengths.iter().enumerate() {
            for i in 0..length {
                let sway = (0.2 * f as f32 + 0.1 * c as f32).sin() * i as f32;
                let at = [100.0 * c as f32 + 20.0 * sway, 300.0 * i as f32, 8000.0 + 10.0 * sway];
                places.push(at.map(|x| (x + 1000.0) as u16));
            }
        }
        let plane = |k: usize| places.iter().map(move |p| p[k]).collect::<Vec<_>>();
        // In the middle of the animation the hair is cut.
        let run = 1 + u32::from(f >= 20);
        TestFrame { run, ids: Vec::new(), curves: lengths, codes: [plane(0), plane(1), plane(2)].concat() }
    };
    let frames: Vec<TestFrame> = (0..40).map(curves).collect();
    let bytes: usize = units(&frames, ParticleKind { ids: false, curves: true }).iter().map(Vec::len).sum();
    let points: usize = frames.iter().map(|f| f.codes.len() / 3).sum();
    assert!(8 * bytes < 12 * points, "{bytes} bytes of {points} points");
    let points = |frame: &TestFrame| TestFrame { curves: Vec::new(), ..frame.clone() };
    let frames: Vec<TestFrame> = frames.iter().map(points).collect();
    units(&frames, ParticleKind::default());
}

#[test]
fn nothing_and_hidden_frames() {
    let none = TestFrame { run: 1, ..TestFrame::default() };
    units(&vec![none; 3], ParticleKind { ids: false, curves: true });
    let none = TestFrame::default();
    units(&vec![none.clone(); 5], ParticleKind { ids: true, curves: false });
    units(&[none, fountain(1, 2).remove(0)], ParticleKind { ids: true, curves: false });
}

#[test]
fn truncated_and_flipped_units_are_refused_or_harmless() {
    let frames = fountain(17, 3);
    let shape = ParticleKind { ids: true, curves: false };
    let all = units(&frames, shape);
    let most = frames.iter().map(|f| f.ids.len()).max().unwrap();
    let key = &all[1];
    let read = |bytes: &[u8]| {
        let mut reader = ParticleReader::new(bytes)?;
        let mut work = ParticleBuffers::default();
        let own = decode_frame(&mut reader, shape, most, &[&frames[0]], &[-16], &mut work)?;
        reader.finish()?;
        Ok::<_, Corrupt>(own)
    };
    for size in 0..key.len() {
        if let Ok(own) = read(&key[..size]) {
            assert!(own.ids.len() <= most);
        }
    }
    for bit in 0..8 * key.len() {
        let mut bytes = key.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(own) = read(&bytes) {
            assert!(own.ids.windows(2).all(|w| w[0] < w[1]) && own.ids.len() <= most);
        }
    }
}

#[test]
fn polynomials_go_through_their_frames() {
    let all = (0..MASKS).map(|mask| std::array::from_fn(|r| if mask >> r & 1 == 1 { 0 } else { NO_POINT }));
    let mut masks = Masks::new(&all.collect::<Vec<_>>());
    masks.set_moments(&[-1, 1, -3, 3]);
    assert_eq!(masks.default_weights(0b0011), [128, 128, 0, 0]);
    assert_eq!(masks.default_weights(0b1111), [144, 144, -16, -16]);
    assert_eq!(masks.default_weights(0b0101), [384, 0, -128, 0]);
    assert_eq!(masks.default_weights(0b0010), [0, 256, 0, 0]);
    masks.set_moments(&[5, 5, i32::MIN, i32::MAX]);
    (0..MASKS).for_each(|mask| assert!(masks.default_weights(mask).iter().all(|w| w.abs() <= 1 << 16)));
}

proptest! {
    #[test]
    fn any_points_come_back(
        lists in prop::collection::vec(prop::collection::btree_map(0u64..40, any::<[u16; 3]>(), 0..12), 1..20),
        far in any::<u32>(),
    ) {
        let of = |list: &BTreeMap<u64, [u16; 3]>| {
            let plane = |k: usize| list.values().map(move |p| p[k]).collect::<Vec<_>>();
            let ids = list.keys().map(|id| id * u64::from(far) * 7 + id).collect();
            TestFrame { run: 0, ids, curves: Vec::new(), codes: [plane(0), plane(1), plane(2)].concat() }
        };
        let frames: Vec<TestFrame> = lists.iter().map(of).collect();
        units(&frames, ParticleKind { ids: true, curves: false });
    }

    #[test]
    fn any_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let frames = fountain(1, 2);
        for shape in [ParticleKind { ids: true, curves: false }, ParticleKind { ids: false, curves: true }, ParticleKind::default()] {
            if let Ok(mut reader) = ParticleReader::new(&bytes) {
                let mut work = ParticleBuffers::default();
                for _ in 0..3 {
                    let _ = decode_frame(&mut reader, shape, 50, &[&frames[0]], &[-1], &mut work);
                }
            }
        }
    }
}
