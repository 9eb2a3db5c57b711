//! Units of particles and curves, and links of chains: any bytes decode or are refused, within what the
//! description allows. And cameras.
#![no_main]
use libfuzzer_sys::fuzz_target;
use meshreel_codec::record::cameras;
use meshreel_codec::values::particles::chain::{Chain, ChainCoding, ChainReader, ChainStream, PointLayout};
use meshreel_codec::values::particles::{
    ParticleBuffers, ParticleKind, ParticlePoints, ParticleReader, PointBuffers,
};

const POINTS: usize = 300;
const CURVES: usize = 60;

#[derive(Default, Clone)]
struct Frame {
    count: usize,
    run: u32,
    ids: Vec<u64>,
    curves: Vec<u32>,
    positions: Vec<u16>,
    widths: Vec<u8>,
}

/// Links, then what they leave for others, and the same links again from there.
fn links(bytes: &[u8], coding: ChainCoding, shape: ParticleKind) {
    const STREAMS: [ChainStream; 3] = [
        ChainStream { components: 3, word: 2 },
        ChainStream { components: 1, word: 1 },
        ChainStream { components: 4, word: 4 },
    ];
    let layout = PointLayout {
        coding,
        kind: shape,
        max_points: POINTS,
        max_curves: if shape.curves { CURVES } else { 0 },
        streams: &STREAMS,
    };
    let mut chain = Chain::default();
    chain.reserve(layout);
    for _ in 0..2 {
        let Ok(mut reader) = ChainReader::new(bytes, layout, &mut chain) else {
            return;
        };
        for _ in 0..6 {
            if reader.frame(layout, &mut chain).is_err() {
                return;
            }
            let own = chain.points();
            assert!(own.count <= POINTS && own.ids.windows(2).all(|w| w[0] < w[1]));
        }
        let _ = reader.finish();
        let count = chain.points().count;
        let hidden = count == 0;
        let (mut values, mut words) = (vec![0u16; 3 * count], vec![0; coding.state_len(3) * count]);
        if !hidden {
            chain.values(0, 3, &mut values);
            chain.save_stream(0, 3, &mut words);
        }
        let last = chain.clone();
        chain.resume(last.points(), layout);
        chain.restore_stream(0, 3, &values, &words).unwrap();
    }
}

fuzz_target!(|data: (u8, [i32; 4], &[u8])| {
    let (kind, moments, bytes) = data;
    let _ = cameras::decode(bytes, 3, 20);
    let shape = ParticleKind { ids: kind & 3 == 0, curves: kind & 3 == 1 };
    for coding in [ChainCoding::Adaptive, ChainCoding::Packed] {
        links(bytes, coding, shape);
    }
    let Ok(mut reader) = ParticleReader::new(bytes) else {
        return;
    };
    let mut work = ParticleBuffers::default();
    work.reserve(POINTS);
    let mut done: Vec<Frame> = Vec::new();
    for _ in 0..6 {
        let others: Vec<Frame> = done.iter().rev().take(4).cloned().collect();
        let points: Vec<ParticlePoints<'_>> = (others.iter())
            .map(|f| ParticlePoints { count: f.count, run: f.run, ids: &f.ids, curves: &f.curves })
            .collect();
        let mut own = Frame::default();
        match reader.kind() {
            0 => {}
            1 => {
                own.ids = vec![0; if shape.ids { POINTS } else { 0 }];
                own.curves = vec![0; if shape.curves { CURVES } else { 0 }];
                let room = PointBuffers { ids: &mut own.ids, curves: &mut own.curves, count: POINTS };
                let Ok(found) = reader.points(shape, &points, room) else {
                    return;
                };
                assert!(found.count <= POINTS);
                own.ids.truncate(found.count);
                own.curves.truncate(found.curves);
                assert!(own.ids.windows(2).all(|w| w[0] < w[1]));
                (own.count, own.run) = (found.count, found.run);
            }
            kind => {
                let Some(from) = others.get(kind as usize - 2) else {
                    return;
                };
                own = Frame { positions: Vec::new(), widths: Vec::new(), ..from.clone() };
            }
        }
        let now = ParticlePoints { count: own.count, run: own.run, ids: &own.ids, curves: &own.curves };
        work.match_points(&now, &points);
        let moments = &moments[..others.len()];
        let mut positions = vec![0; 3 * own.count];
        let frames: Vec<&[u16]> = others.iter().map(|f| &f.positions[..]).collect();
        if reader.stream(3, (&frames, moments), &mut work, &mut positions).is_err() {
            return;
        }
        let mut widths = vec![0; own.count];
        let frames: Vec<&[u8]> = others.iter().map(|f| &f.widths[..]).collect();
        if reader.stream(1, (&frames, moments), &mut work, &mut widths).is_err() {
            return;
        }
        (own.positions, own.widths) = (positions, widths);
        done.push(own);
    }
    let _ = reader.finish();
});
