//! Tests of whole sequences, through encoder and decoder.

use crate::Corrupt;
use crate::bytes::put_varint;
use crate::mesh::blocks::{BLOCK, blocks};
use crate::mesh::decode::{CodedUnit, DecodedPoint, StaticPart, Width, decode_unit_with, index, scratch_len};
use crate::mesh::encode::{EncodeBuffers, EncodeError, Encoder, Options, PositionSource};
use crate::mesh::hierarchy::{self, Hierarchy};
use crate::mesh::pack::{ResidualBlock, Unpacker};
use crate::mesh::token::BitReader;
use crate::quantize::lattice::{Extent, FixedPointGrid, Lattice, LatticeChoice};
use crate::schedule::{Schedule, Unit};
use crate::simd::isa::Isa;
use proptest::prelude::*;

/// A waving cloth of side × side points, and some loose points.
struct Cloth {
    side: u32,
    loose: u32,
    frames: u32,
    scale: f32,
    /// The units that are predicted from outside, if any.
    push: Option<i32>,
}

const CLOTH: Cloth = Cloth { side: 9, loose: 3, frames: 40, scale: 1.0, push: None };

impl Cloth {
    fn points(&self) -> u32 {
        self.side * self.side + self.loose
    }

    fn triangles(&self) -> Vec<u32> {
        let mut out = Vec::new();
        for y in 1..self.side {
            for x in 1..self.side {
                let [a, b] = [(y - 1) * self.side + x - 1, y * self.side + x - 1];
                out.extend([a, a + 1, b, b, a + 1, b + 1]);
            }
        }
        out
    }

    fn position(&self, frame: u32, point: u32) -> [f32; 3] {
        let t = frame as f32 * 0.1;
        let (x, y) = ((point % self.side.max(1)) as f32, (point / self.side.max(1)) as f32);
        let z = (0.7 * x + t * 2.0).sin() * 0.3 + (0.4 * y - t).cos() * 0.5;
        let drift = t * t * 0.05;
        [x + drift, y + (t + x * 0.3).sin() * 0.2, z].map(|c| c * self.scale)
    }

    fn extent(&self, radius: f64) -> Extent {
        let (mut low, mut high) = ([f32::MAX; 3], [f32::MIN; 3]);
        if self.frames * self.points() == 0 {
            (low, high) = ([0.0; 3], [0.0; 3]);
        }
        for f in 0..self.frames {
            for p in 0..self.points() {
                for (k, c) in self.position(f, p).into_iter().enumerate() {
                    low[k] = low[k].min(c);
                    high[k] = high[k].max(c);
                }
            }
        }
        Extent { low, high, tolerance: radius, axes: 3 }
    }

    fn hierarchy(&self) -> Hierarchy {
        hierarchy::build(self.points(), &self.triangles())
    }

    fn push_at(push: i32, frame: u32, new: usize) -> [i32; 3] {
        [push * frame as i32, push - new as i32 % 7, 40_000 * (frame as i32 % 2)]
    }
}

impl PositionSource for Cloth {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        for (p, o) in out.iter_mut().enumerate() {
            *o = self.position(frame, p as u32);
        }
    }

    fn outside_prediction(&self, frame: u32, _grid: &FixedPointGrid, out: &mut [[i32; 3]]) -> bool {
        let Some(push) = self.push else { return false };
        for (new, o) in out.iter_mut().enumerate() {
            *o = Cloth::push_at(push, frame, new);
        }
        true
    }
}

struct File {
    fixed: Vec<u8>,
    schedule: Schedule,
    units: Vec<Vec<u8>>,
}

fn encode<W: Width>(s: &Cloth, radius: f64, options: Options) -> Result<File, EncodeError> {
    let mut work = EncodeBuffers::<W>::default();
    let encoder = Encoder::new(s.hierarchy(), s.frames, s.extent(radius), options, s, &mut work)?;
    let schedule = *encoder.schedule();
    let mut units = vec![Vec::new(); schedule.units() as usize];
    let mut keys: Vec<Vec<DecodedPoint<W>>> = vec![Vec::new(); schedule.keys() as usize];
    for segment in 0..schedule.segments() {
        encoder.encode_segment(segment, &mut work, &mut |key, bytes, frame| {
            units[schedule.unit_number(Unit::Key(key)) as usize] = bytes;
            keys[key as usize] = frame.to_vec();
        })?;
    }
    for group in 0..schedule.groups() {
        let key = |frame: u32| &keys[schedule.key_of(frame).unwrap() as usize][..];
        let [inner, last] = encoder.encode_group(group, &key, &mut work, &mut |_, _, _| {})?;
        units[schedule.unit_number(Unit::LowerLayers(group)) as usize] = inner;
        units[schedule.unit_number(Unit::TopLayer(group)) as usize] = last;
    }
    Ok(File { fixed: encoder.static_bytes().to_vec(), schedule, units })
}

fn first_outside(s: &Cloth) -> Option<Vec<[i32; 3]>> {
    let all = |push| (0..s.points() as usize).map(|new| Cloth::push_at(push, 0, new)).collect();
    s.push.map(all)
}

fn decode_one<W: Width>(
    fixed: &StaticPart,
    file: &File,
    unit: Unit,
    bytes: &[u8],
    frames: &mut [Vec<DecodedPoint<W>>],
) -> Result<(), Corrupt> {
    let list = file.schedule.frames_of(unit);
    let reference = |f: u32| frames.get(f as usize).map(|f| &f[..]);
    let mut by_kernel = Isa::all().map(|isa| {
        let mut out = vec![vec![[W::wrap(77); 4]; fixed.points()]; list.len()];
        let mut slices: Vec<&mut [DecodedPoint<W>]> = out.iter_mut().map(|o| &mut o[..]).collect();
        let mut scratch = vec![[W::wrap(99); 4]; scratch_len(fixed.points())];
        let coded = CodedUnit { schedule: &file.schedule, unit, bytes };
        decode_unit_with(isa, fixed, coded, &reference, &mut slices, &mut scratch)?;
        Ok(out)
    });
    let out: Result<_, Corrupt> = by_kernel.next().expect("the reference");
    by_kernel.for_each(|other| assert_eq!(other, out));
    for (&f, o) in list.iter().zip(out?) {
        frames[f as usize] = o;
    }
    Ok(())
}

fn units(schedule: &Schedule) -> Vec<Unit> {
    let mut out: Vec<Unit> = (0..schedule.units()).map(|n| schedule.unit(n)).collect();
    out.sort_by_key(|u| !matches!(u, Unit::Key(_)));
    out
}

type Frames<W> = Vec<Vec<DecodedPoint<W>>>;

fn decode<W: Width>(s: &Cloth, file: &File) -> Result<(StaticPart, Frames<W>), Corrupt> {
    let outside = first_outside(s);
    let fixed = StaticPart::decode(&file.fixed, s.hierarchy(), outside.as_deref())?;
    let mut frames = vec![Vec::new(); s.frames as usize];
    for unit in units(&file.schedule) {
        let bytes = &file.units[file.schedule.unit_number(unit) as usize];
        decode_one::<W>(&fixed, file, unit, bytes, &mut frames)?;
    }
    Ok((fixed, frames))
}

fn round_trip<W: Width>(s: &Cloth, radius: f64, options: Options) -> usize {
    let file = encode::<W>(s, radius, options).unwrap();
    let again = encode::<W>(s, radius, options).unwrap();
    assert_eq!((&file.fixed, &file.units), (&again.fixed, &again.units));
    let (fixed, frames) = decode::<W>(s, &file).unwrap();
    for (f, frame) in frames.iter().enumerate() {
        for (new, rec) in frame.iter().enumerate() {
            let push = s.push.map_or([0; 3], |p| Cloth::push_at(p, f as u32, new));
            let rec = [0, 1, 2].map(|k| rec[k].wrapping_add(W::wrap(push[k])).to_i32());
            let at = fixed.grid.position(rec);
            let source = s.position(f as u32, fixed.hierarchy.order[new]);
            let d = [0, 1, 2].map(|k| f64::from(at[k]) - f64::from(source[k]));
            let d = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            assert!(d <= radius, "frame {f}: {d} > {radius}");
        }
    }
    file.fixed.len() + file.units.iter().map(Vec::len).sum::<usize>()
}

#[test]
fn every_tolerance_and_effort() {
    for radius in [3.0, 0.1, 1e-2, 1e-3] {
        for effort in [1, 5, 9] {
            let options = Options { effort, ..Options::default() };
            let size = round_trip::<i16>(&CLOTH, radius, options);
            assert!(size < 84 * 40 * 4);
        }
    }
    for radius in [1e-2, 1e-4, 1e-5] {
        round_trip::<i32>(&CLOTH, radius, Options::default());
    }
}

/// Returns the number of the default set in a static part.
fn set_of(s: &Cloth, options: Options) -> u8 {
    encode::<i16>(s, 0.01, options).unwrap().fixed[0] >> 4
}

#[test]
fn a_short_animation_keeps_no_tables() {
    for (frames, packed) in [(1, false), (8, false), (8, true), (16, false)] {
        let s = Cloth { frames, ..CLOTH };
        let options = Options { packed, ..Options::default() };
        let own = Options { own_tables: true, ..options };
        assert!(set_of(&s, options) > 0);
        assert_eq!(set_of(&s, own), 0);
        let (with, without) = (round_trip::<i16>(&s, 0.01, options), round_trip::<i16>(&s, 0.01, own));
        assert!(10 * with < 9 * without, "{with} of {without} bytes");
    }
}

#[test]
fn a_long_animation_keeps_its_tables() {
    let s = Cloth { side: 40, frames: 70, ..CLOTH };
    let options = Options { effort: 1, ..Options::default() };
    assert_eq!(set_of(&s, options), 0);
}

#[test]
fn every_default_set_decodes() {
    let s = Cloth { frames: 8, ..CLOTH };
    let mut file = encode::<i16>(&s, 0.01, Options::default()).unwrap();
    let kept = file.fixed[0] >> 4;
    let mut failed = 0;
    for number in 1..16 {
        file.fixed[0] = file.fixed[0] & 15 | number << 4;
        let decoded = decode::<i16>(&s, &file);
        assert!(number != kept || decoded.is_ok());
        failed += u32::from(decoded.is_err());
    }
    assert!(failed > 0, "sets that are all alike");
}

#[test]
fn every_lattice() {
    for (lattice, key, last) in [
        (Lattice::Centred, 1.0, 1.0),
        (Lattice::Cubic, 1.0, 1.0),
        (Lattice::Cubic, 3.0, 1.2),
        (Lattice::Centred, 1.3, 1.3),
    ] {
        let choice = Some(LatticeChoice {
            lattice,
            first_precision: last,
            key_precision: key,
            deepest_precision: last,
            error_weight: 4.0 * (key - 1.0).min(1.0),
            fit: (4.0 * last) as u8 & 7,
        });
        let options = Options { choice, ..Options::default() };
        round_trip::<i16>(&CLOTH, 0.01, options);
    }
}

#[test]
fn edges() {
    for (side, loose) in [(0, 0), (1, 0), (0, 1), (0, 2), (2, 0), (3, 1), (20, 0)] {
        for frames in [0, 1, 2, 3, 16, 17, 18] {
            let s = Cloth { side, loose, frames, ..CLOTH };
            for packed in [false, true] {
                let options = Options { packed, ..Options::default() };
                round_trip::<i16>(&s, 0.01, options);
                round_trip::<i32>(&s, 1e-4, options);
            }
        }
    }
    for restart in [1, 2, 3] {
        let s = Cloth { frames: 100, side: 4, ..CLOTH };
        let options = Options { restart, ..Options::default() };
        round_trip::<i16>(&s, 0.01, options);
        round_trip::<i32>(&s, 1e-5, options);
    }
}

#[test]
fn a_prediction_from_outside() {
    for push in [0, 5, -300] {
        let s = Cloth { push: Some(push), ..CLOTH };
        round_trip::<i16>(&s, 0.01, Options::default());
        round_trip::<i32>(&s, 0.001, Options::default());
    }
}

#[test]
fn scales() {
    for scale in [1e-30f32, 1e-3, 1e6, 1e30] {
        let s = Cloth { scale, ..CLOTH };
        round_trip::<i16>(&s, 0.01 * f64::from(scale), Options::default());
    }
}

#[test]
fn refusals() {
    let fine = encode::<i16>(&CLOTH, 1e-6, Options::default());
    assert_eq!(fine.err(), Some(EncodeError::TooFine));
    assert_eq!(encode::<i32>(&CLOTH, 1e-9, Options::default()).err(), Some(EncodeError::TooFine));
    let mut work = EncodeBuffers::<i16>::default();
    let small = Extent { low: [0.0; 3], high: [0.1; 3], tolerance: 1e-5, axes: 3 };
    let e = Encoder::new(CLOTH.hierarchy(), 40, small, Options::default(), &CLOTH, &mut work);
    assert_eq!(e.err(), Some(EncodeError::OutOfBounds(0)));
}

#[test]
fn nothing_moves() {
    struct ConstantCloth;
    impl PositionSource for ConstantCloth {
        fn positions(&self, _: u32, out: &mut [[f32; 3]]) {
            out.iter_mut().enumerate().for_each(|(p, o)| *o = CLOTH.position(0, p as u32));
        }
    }
    let mut work = EncodeBuffers::<i16>::default();
    let encoder = Encoder::new(
        CLOTH.hierarchy(),
        33,
        CLOTH.extent(0.01),
        Options::default(),
        &ConstantCloth,
        &mut work,
    )
    .unwrap();
    let mut keys = Vec::new();
    encoder
        .encode_segment(0, &mut work, &mut |key, bytes, frame| {
            assert!(bytes.len() <= if key == 0 { 0 } else { 16 });
            keys.push(frame.to_vec());
        })
        .unwrap();
    let key = |frame: u32| &keys[frame as usize / 16][..];
    let [inner, last] = encoder.encode_group(0, &key, &mut work, &mut |_, _, _| {}).unwrap();
    assert!(inner.len() < 60 && last.len() < 60, "{} {}", inner.len(), last.len());
}

#[test]
fn damage_is_an_error_or_other_numbers() {
    let s = Cloth { side: 5, frames: 20, ..CLOTH };
    let file = encode::<i16>(&s, 0.003, Options::default()).unwrap();
    let (fixed, mut frames) = decode::<i16>(&s, &file).unwrap();
    for number in 0..file.schedule.units() {
        let unit = file.schedule.unit(number);
        let bytes = &file.units[number as usize];
        for cut in 0..bytes.len() {
            let got = decode_one::<i16>(&fixed, &file, unit, &bytes[..cut], &mut frames);
            assert!(got.is_err(), "{unit:?} {cut}");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << bit;
                let _ = decode_one::<i16>(&fixed, &file, unit, &bad, &mut frames.clone());
            }
        }
    }
    for cut in 0..file.fixed.len() {
        assert!(StaticPart::decode(&file.fixed[..cut], s.hierarchy(), None).is_err());
    }
    for at in 0..file.fixed.len() {
        let mut bad = file.fixed.clone();
        bad[at] ^= 1 << (at % 8);
        let _ = StaticPart::decode(&bad, s.hierarchy(), None);
    }
    assert!(decode_one::<i32>(&fixed, &file, Unit::Key(1), &[], &mut [vec![], vec![]]).is_err());
}

/// Decodes the residuals of an access unit from its index words alone, starting at each 32 blocks; by block
/// and frame.
fn residuals_by_index<W: Width>(fixed: &StaticPart, words: &[u32]) -> Vec<ResidualBlock> {
    let frames = (words[1] & 0xFF) as usize;
    let blocks = (0..fixed.hierarchy.level_count()).flat_map(|l| blocks(fixed.hierarchy.level(l)));
    let sizes: Vec<usize> = blocks.map(|block| block.len()).collect();
    if words[1] & index::HAS_RESIDUALS == 0 {
        return vec![[[0; 3]; BLOCK]; sizes.len() * frames];
    }
    let starts = index::BEFORE_HEADS + frames * index::head_words(fixed.hierarchy.level_count());
    let at = starts + index::start_words(sizes.len());
    let bytes: Vec<u8> = words[at..].iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut out = Vec::new();
    for (part, sizes) in sizes.chunks(index::BLOCKS_PER_START).enumerate() {
        let start = &words[starts + 3 * part..];
        let bit = |section: usize, more: usize| BitReader::at_bit(&bytes, words[2 + section] as usize + more);
        let mut flags = bit(0, part * index::BLOCKS_PER_START * frames);
        let mut codes = bit(1, 4 * start[1] as usize);
        let mut masks = bit(2, 16 * start[2] as usize);
        let mut fields = bit(3, start[0] as usize);
        for &size in sizes {
            for _ in 0..frames {
                let mut block = [[0; 3]; BLOCK];
                if flags.read(1) == 1 {
                    let code = codes.read(4);
                    let (mask, width) = match code {
                        0..7 => (masks.read(16), code + 1),
                        7..15 => ((1 << size) - 1, code - 6),
                        _ => ((1 << size) - 1, W::BITS),
                    };
                    let signed = |v: u32| (v << (32 - width)) as i32 >> (32 - width);
                    for v in (0..BLOCK).filter(|v| mask >> v & 1 == 1) {
                        let parity = if code == 15 { None } else { Some(fields.read(1) as i32) };
                        block[v] = [0; 3].map(|_: i32| {
                            let field = signed(fields.read(width));
                            parity.map_or(field, |parity| 2 * field + parity)
                        });
                    }
                }
                out.push(block);
            }
        }
    }
    out
}

/// Decodes the residuals of an access unit in order, without using starts.
fn residuals_in_order<W: Width>(fixed: &StaticPart, frames: usize, words: &[u32]) -> Vec<ResidualBlock> {
    let levels = (0..fixed.hierarchy.level_count()).map(|l| fixed.hierarchy.level(l));
    let sizes: Vec<usize> = levels.flat_map(blocks).map(|block| block.len()).collect();
    let head = index::BEFORE_HEADS + frames * index::head_words(fixed.hierarchy.level_count());
    let at = head + index::start_words(sizes.len());
    let bytes: Vec<u8> = words[at..].iter().flat_map(|w| w.to_le_bytes()).collect();
    let filled: u32 = bytes[..words[3] as usize / 8].iter().map(|b| b.count_ones()).sum();
    let mut packed = Vec::new();
    put_varint(filled, &mut packed);
    put_varint((words[5] - words[4]) / 16, &mut packed);
    packed.extend(bytes);
    let mut unpacker = Unpacker::new(&packed, sizes.len() * frames).unwrap();
    let all = sizes.iter().flat_map(|size| std::iter::repeat_n(*size, frames));
    all.map(|size| unpacker.block(size, W::BITS).unwrap_or_default()).collect()
}

fn index_of<W: Width>(fixed: &StaticPart, coded: CodedUnit<'_>) -> Result<Vec<u32>, Corrupt> {
    let room = 8 * index::max_words(fixed.points(), W::BITS == 32, usize::MAX);
    let mut words = vec![7; room];
    let used = index::write_index::<W>(fixed, coded, &mut words)?;
    words.truncate(used);
    if used > 0 {
        assert_eq!(words[0] as usize, used);
        let mut less = vec![0; used - 1];
        assert!(index::write_index::<W>(fixed, coded, &mut less).is_err());
    }
    Ok(words)
}

fn units_by_index<W: Width>(radius: f64) {
    for (side, loose) in [(36, 5), (1, 0), (0, 1)] {
        let s = Cloth { side, loose, frames: 36, ..CLOTH };
        let file = encode::<W>(&s, radius, Options { packed: true, ..Options::default() }).unwrap();
        let (fixed, frames) = decode::<W>(&s, &file).unwrap();
        let mut moving = 0;
        for number in 0..file.schedule.units() {
            let unit = file.schedule.unit(number);
            let bytes = &file.units[number as usize];
            let index =
                |bytes: &[u8]| index_of::<W>(&fixed, CodedUnit { schedule: &file.schedule, unit, bytes });
            let words = index(bytes).unwrap();
            assert_eq!(words.is_empty(), bytes.is_empty());
            if words.is_empty() {
                continue;
            }
            let count = file.schedule.frames_of(unit).len();
            assert_eq!(words[1] & 0xFF, count as u32);
            let by_index = residuals_by_index::<W>(&fixed, &words);
            if words[1] & index::HAS_RESIDUALS > 0 {
                moving += 1;
                let in_order = residuals_in_order::<W>(&fixed, count, &words);
                assert_eq!(in_order, by_index);
            }
            // The decoder and the index refuse the same bytes.
            for cut in (0..bytes.len()).step_by(1 + bytes.len() / 100) {
                assert!(index(&bytes[..cut]).is_err());
            }
            for at in (0..bytes.len()).step_by(1 + bytes.len() / 100) {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << (at % 8);
                let decoded = decode_one::<W>(&fixed, &file, unit, &bad, &mut frames.clone());
                let indexed = index(&bad);
                let tokens = bad[0] & 3 == 1;
                assert!(
                    decoded.is_ok() == indexed.is_ok() || tokens,
                    "{unit:?} {at}: {decoded:?} {:?}",
                    indexed.err()
                );
            }
        }
        assert!(moving > 3 || side == 1, "units without residuals");
    }
}

#[test]
fn e20_the_index_of_a_unit_leads_to_the_residuals_that_its_decoder_finds() {
    units_by_index::<i16>(0.003);
    units_by_index::<i32>(1e-4);
}

#[test]
fn tokens_have_no_index() {
    let file = encode::<i16>(&CLOTH, 0.01, Options::default()).unwrap();
    let (fixed, _) = decode::<i16>(&CLOTH, &file).unwrap();
    let bytes = &file.units[file.schedule.unit_number(Unit::Key(1)) as usize];
    let coded = CodedUnit { schedule: &file.schedule, unit: Unit::Key(1), bytes };
    assert!(index_of::<i16>(&fixed, coded).is_err());
}

/// Sixteen lanes, eight lanes, all kinds of tokens: `decode_one` compares all decoders with the reference.
#[test]
fn kernels_agree_where_there_are_many_points() {
    let mut state = 1u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let cases = [(36, 5, 0.1), (36, 5, 0.01), (47, 300, 0.006)];
    for ((side, loose, radius), packed) in cases.into_iter().flat_map(|c| [(c, false), (c, true)]) {
        let s = Cloth { side, loose, frames: 36, ..CLOTH };
        let options = Options { packed, ..Options::default() };
        let file = encode::<i16>(&s, radius, options).unwrap();
        let (fixed, frames) = decode::<i16>(&s, &file).unwrap();
        for number in 0..file.schedule.units() {
            let unit = file.schedule.unit(number);
            let bytes = &file.units[number as usize];
            for _ in 0..if bytes.is_empty() { 0 } else { 6 } {
                let mut bad = bytes.clone();
                bad[random(bytes.len())] ^= 1 << random(8);
                bad.truncate(bytes.len() - random(3).saturating_sub(1) * random(bytes.len()));
                let _ = decode_one::<i16>(&fixed, &file, unit, &bad, &mut frames.clone());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_unit(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0u8..20) {
        let s = Cloth { side: 4, frames: 20, ..CLOTH };
        let file = encode::<i16>(&s, 0.01, Options { effort: 1, ..Options::default() }).unwrap();
        let (fixed, mut frames) = decode::<i16>(&s, &file).unwrap();
        let bytes = [&[kind][..], &bytes].concat();
        for unit in units(&file.schedule) {
            let _ = decode_one::<i16>(&fixed, &file, unit, &bytes, &mut frames);
        }
    }
}
