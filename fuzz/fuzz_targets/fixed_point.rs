//! The soft codec: any mesh and motion to bytes and back within the radius; and any bytes as static part or
//! unit of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::mesh::decode::{CodedUnit, StaticPart, Width, decode_unit, scratch_len};
use meshreel_codec::mesh::encode::{EncodeBuffers, Encoder, Options, PositionSource};
use meshreel_codec::mesh::hierarchy;
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::quantize::lattice::{Extent, Lattice, LatticeChoice};
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_fuzz::Numbers;

struct Motion {
    frames: Vec<Vec<[f32; 3]>>,
}

impl PositionSource for Motion {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        out.copy_from_slice(&self.frames[frame as usize]);
    }
}

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let flags = numbers.u8();
    let points = u32::from(numbers.u8() % 24);
    let count = u32::from(numbers.u8() % 40);
    let triangles: Vec<u32> = (0..3 * u32::from(numbers.u8() % 40))
        .map(|_| u32::from(numbers.u8()) % points.max(1))
        .filter(|_| points > 0)
        .collect();
    let triangles = &triangles[..triangles.len() / 3 * 3];
    let scale = [1.0, 1e-6, 1e6, 100.0][usize::from(flags >> 6)];
    let motion = Motion {
        frames: (0..count)
            .map(|_| {
                let one = |n: &mut Numbers<'_>| f32::from(n.u8() as i8) * scale / 100.0;
                (0..points).map(|_| [one(&mut numbers), one(&mut numbers), one(&mut numbers)]).collect()
            })
            .collect(),
    };
    let radius = f64::from(scale) * [0.3, 0.01, 1e-4, 1e-6][usize::from(flags >> 4 & 3)];
    let hierarchy = hierarchy::build(points, triangles);
    let file = match flags & 1 {
        0 => round_trip::<i16>(&hierarchy, &motion, radius, u32::from(flags >> 1 & 7)),
        _ => round_trip::<i32>(&hierarchy, &motion, radius, u32::from(flags >> 1 & 7)),
    };
    let rest = numbers.rest();
    let _ = StaticPart::decode(rest, hierarchy.clone(), None);
    let Some(mut file) = file else { return };
    // A few changed bytes in the static part, and hostile units.
    for change in rest.chunks_exact(3).take(4) {
        let at = usize::from(change[0]) * file.0.len() / 256;
        if change[2] & 1 == 1 {
            file.0[at] ^= change[1];
        }
    }
    let Ok(coded) = StaticPart::decode(&file.0, hierarchy, None) else {
        return;
    };
    let unit = file.1.unit(u32::from(flags) % file.1.units().max(1));
    hostile::<i16>(&coded, &file.1, unit, rest);
    hostile::<i32>(&coded, &file.1, unit, rest);
});

/// Options of every kind, by a number.
fn options(effort: u32) -> Options {
    Options {
        effort: effort + 1,
        restart: 1 + effort % 4,
        packed: effort & 1 == 1,
        // Mostly without a search, which takes long where every branch is watched.
        choice: (!effort.is_multiple_of(8)).then_some(LatticeChoice {
            lattice: [Lattice::Centred, Lattice::Cubic][effort as usize / 2 % 2],
            first_precision: 1.3,
            key_precision: 1.0 + (effort % 3) as f32,
            deepest_precision: 1.0,
            error_weight: (effort % 5) as f32,
            fit: (effort % 8) as u8,
        }),
        ..Options::default()
    }
}

fn round_trip<W: Width>(
    hierarchy: &Hierarchy,
    motion: &Motion,
    radius: f64,
    effort: u32,
) -> Option<(Vec<u8>, Schedule)> {
    let all = motion.frames.iter().flatten();
    let side = |k: usize, pick: fn(f32, f32) -> f32, start: f32| {
        let value = all.clone().map(|p| p[k]).fold(start, pick);
        if value.is_finite() { value } else { 0.0 }
    };
    let extent = Extent {
        low: [0, 1, 2].map(|k| side(k, f32::min, f32::INFINITY)),
        high: [0, 1, 2].map(|k| side(k, f32::max, f32::NEG_INFINITY)),
        tolerance: radius,
        axes: 3,
    };
    let mut work = EncodeBuffers::<W>::default();
    let (count, points) = (motion.frames.len() as u32, hierarchy.order.len());
    let encoder = Encoder::new(hierarchy.clone(), count, extent, options(effort), motion, &mut work).ok()?;
    let schedule = *encoder.schedule();
    let fixed = encoder.static_bytes().to_vec();
    let coded = StaticPart::decode(&fixed, hierarchy.clone(), None).expect("what was encoded");
    let mut frames = vec![vec![[W::default(); 4]; points]; motion.frames.len()];
    let mut units = Vec::new();
    for segment in 0..schedule.segments() {
        let keys = encoder.encode_segment(segment, &mut work, &mut |key, bytes, decoded| {
            frames[schedule.key_frame(key) as usize].copy_from_slice(decoded);
            units.push((Unit::Key(key), bytes));
        });
        keys.expect("what fits can be coded");
    }
    for group in 0..schedule.groups() {
        let mut seen = Vec::new();
        let key = |frame: u32| &frames[frame as usize][..];
        let watch = &mut |frame: u32, _: &[[f32; 3]], decoded: &[[W; 4]]| {
            seen.push((frame, decoded.to_vec()));
        };
        let [inner, last] = encoder.encode_group(group, &key, &mut work, watch).expect("the same");
        seen.into_iter().for_each(|(frame, decoded)| frames[frame as usize] = decoded);
        units.extend([(Unit::LowerLayers(group), inner), (Unit::TopLayer(group), last)]);
    }
    let mut scratch = vec![[W::default(); 4]; scratch_len(points)];
    for (unit, bytes) in units {
        let list = schedule.frames_of(unit);
        let mut out = vec![vec![[W::default(); 4]; points]; list.len()];
        let mut slices: Vec<&mut [[W; 4]]> = out.iter_mut().map(|o| &mut o[..]).collect();
        let find = |frame: u32| Some(&frames[frame as usize][..]);
        decode_unit(
            &coded,
            CodedUnit { schedule: &schedule, unit, bytes: &bytes },
            &find,
            &mut slices,
            &mut scratch,
        )
        .expect("what was encoded");
        for (out, &frame) in out.iter().zip(list.iter()) {
            assert!(*out == frames[frame as usize], "the decoder is the encoder's");
            for (cell, &point) in out.iter().zip(&hierarchy.order) {
                let value = coded.grid.position([cell[0].to_i32(), cell[1].to_i32(), cell[2].to_i32()]);
                let source = motion.frames[frame as usize][point as usize];
                let off = |k: usize| (f64::from(value[k]) - f64::from(source[k])).powi(2);
                assert!((off(0) + off(1) + off(2)).sqrt() <= radius, "the promise");
            }
        }
    }
    Some((fixed, schedule))
}

fn hostile<W: Width>(coded: &StaticPart, schedule: &Schedule, unit: Unit, bytes: &[u8]) {
    let points = coded.points();
    let frame = vec![[W::default(); 4]; points];
    let mut out = vec![frame.clone(); schedule.frames_of(unit).len()];
    let mut slices: Vec<&mut [[W; 4]]> = out.iter_mut().map(|o| &mut o[..]).collect();
    let mut scratch = vec![[W::default(); 4]; scratch_len(points)];
    let find = |_: u32| Some(&frame[..]);
    let _ = decode_unit(coded, CodedUnit { schedule, unit, bytes }, &find, &mut slices, &mut scratch);
}
