//! Units of the soft codec with so many points that all kernels take part, damaged anywhere: every kernel
//! gives what the scalar decoder gives, the same refusal too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::Corrupt;
use meshreel_codec::mesh::decode::{
    CodedUnit, DecodedPoint, StaticPart, Width, decode_unit_with, scratch_len,
};
use meshreel_codec::mesh::encode::{EncodeBuffers, Encoder, Options, PositionSource};
use meshreel_codec::mesh::hierarchy;
use meshreel_codec::quantize::lattice::{Extent, Lattice, LatticeChoice};
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::simd::isa::Isa;
use std::sync::OnceLock;

/// A waving grid of so many points on a side.
const SIDE: u32 = 34;
const FRAMES: u32 = 20;

struct Wave;

impl PositionSource for Wave {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        for (p, out) in out.iter_mut().enumerate() {
            let (x, y) = ((p as u32 % SIDE) as f32, (p as u32 / SIDE) as f32);
            let t = frame as f32 * 0.3;
            let rough = ((p * 7919 + frame as usize * 104_729) % 97) as f32 * 3e-4;
            *out = [x + rough, y - rough, (0.4 * x + t).sin() + (0.3 * y - t).cos() + rough];
        }
    }
}

struct File<W> {
    coded: StaticPart,
    schedule: Schedule,
    units: Vec<Vec<u8>>,
    frames: Vec<Vec<DecodedPoint<W>>>,
}

/// The same motion as tokens, few and many, and packed.
const KINDS: [(f64, bool); 3] = [(0.1, false), (0.003, false), (0.01, true)];

fn encode<W: Width>((radius, packed): (f64, bool)) -> File<W> {
    let mut triangles = Vec::new();
    for a in (0..SIDE * (SIDE - 1)).filter(|a| a % SIDE < SIDE - 1) {
        triangles.extend([a, a + 1, a + SIDE, a + SIDE, a + 1, a + SIDE + 1]);
    }
    let hierarchy = hierarchy::build(SIDE * SIDE, &triangles);
    let far = SIDE as f32;
    let extent = Extent { low: [-1.0, -1.0, -3.0], high: [far, far, 3.0], tolerance: radius, axes: 3 };
    let options = Options {
        effort: 1,
        packed,
        // Without a search, which takes long where every branch is watched.
        choice: Some(LatticeChoice {
            lattice: Lattice::Centred,
            first_precision: 1.0,
            key_precision: 2.0,
            deepest_precision: 1.0,
            error_weight: 0.0,
            fit: 0,
        }),
        ..Options::default()
    };
    let mut work = EncodeBuffers::<W>::default();
    let encoder = Encoder::new(hierarchy.clone(), FRAMES, extent, options, &Wave, &mut work).unwrap();
    let schedule = *encoder.schedule();
    let mut units = vec![Vec::new(); schedule.units() as usize];
    let mut frames = vec![Vec::new(); FRAMES as usize];
    for segment in 0..schedule.segments() {
        let mut each = |key: u32, bytes: Vec<u8>, frame: &[DecodedPoint<W>]| {
            units[schedule.unit_number(Unit::Key(key)) as usize] = bytes;
            frames[schedule.key_frame(key) as usize] = frame.to_vec();
        };
        encoder.encode_segment(segment, &mut work, &mut each).unwrap();
    }
    for group in 0..schedule.groups() {
        let mut seen = Vec::new();
        let key = |frame: u32| &frames[frame as usize][..];
        let mut watch = |frame: u32, _: &[[f32; 3]], decoded: &[DecodedPoint<W>]| {
            seen.push((frame, decoded.to_vec()));
        };
        let [inner, last] = encoder.encode_group(group, &key, &mut work, &mut watch).unwrap();
        units[schedule.unit_number(Unit::LowerLayers(group)) as usize] = inner;
        units[schedule.unit_number(Unit::TopLayer(group)) as usize] = last;
        seen.into_iter().for_each(|(f, d)| frames[f as usize] = d);
    }
    File {
        coded: StaticPart::decode(encoder.static_bytes(), hierarchy, None).unwrap(),
        schedule,
        units,
        frames,
    }
}

fn decode<W: Width>(
    file: &File<W>,
    isa: Isa,
    unit: Unit,
    bytes: &[u8],
) -> Result<Vec<Vec<DecodedPoint<W>>>, Corrupt> {
    let points = file.coded.points();
    let vectors = |value: i32, count: usize| vec![[W::wrap(value); 4]; count];
    let mut out = vec![vectors(7, points); file.schedule.frames_of(unit).len()];
    let mut slices: Vec<&mut [DecodedPoint<W>]> = out.iter_mut().map(|o| &mut o[..]).collect();
    let mut scratch = vectors(9, scratch_len(points));
    let find = |frame: u32| file.frames.get(frame as usize).map(|f| &f[..]);
    let coded = CodedUnit { schedule: &file.schedule, unit, bytes };
    decode_unit_with(isa, &file.coded, coded, &find, &mut slices, &mut scratch)?;
    Ok(out)
}

/// Damages a unit; all instruction sets make the same of it.
fn compare<W: Width>(file: &File<W>, [which, unit, cut]: [u8; 3], changes: &[u8]) {
    let unit = file.schedule.unit(u32::from(unit) % file.schedule.units());
    let mut bytes = file.units[file.schedule.unit_number(unit) as usize].clone();
    // Changed bytes, mostly near the start; then a shorter unit.
    for change in changes.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]]));
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= change[2];
        }
    }
    bytes.truncate(bytes.len() - usize::from(cut).min(bytes.len()) * (usize::from(which) / 128));
    let mut all = Isa::all().map(|isa| decode(file, isa, unit, &bytes));
    let reference = all.next();
    all.for_each(|other| assert!(Some(other) == reference, "a kernel differs"));
}

fuzz_target!(|data: &[u8]| {
    static NARROW: [OnceLock<File<i16>>; 3] = [const { OnceLock::new() }; 3];
    static WIDE: [OnceLock<File<i32>>; 3] = [const { OnceLock::new() }; 3];
    let [which, unit, cut, changes @ ..] = data else {
        return;
    };
    let (kind, head) = (usize::from(which % 3), [*which, *unit, *cut]);
    match which % 6 < 3 {
        true => compare(NARROW[kind].get_or_init(|| encode(KINDS[kind])), head, changes),
        // Finer, or all would be small.
        false => {
            compare(WIDE[kind].get_or_init(|| encode((KINDS[kind].0 / 64.0, KINDS[kind].1))), head, changes)
        }
    }
});
