//! Tests against the encoders of the package `meshopt`, and with damaged data.

use super::*;
use proptest::prelude::*;

/// Makes the description of a compressed view.
fn view(mode: Mode, filter: Filter, count: usize, stride: usize, bytes: &[u8]) -> CompressedView {
    CompressedView {
        buffer: 0,
        byte_offset: 0,
        byte_length: bytes.len() as u64,
        byte_stride: stride as u64,
        count: count as u64,
        mode,
        filter,
    }
}

/// Makes values of `N` bytes that move slightly, jump occasionally, and stand still.
fn values<const N: usize>(seed: &[u8], count: usize) -> Vec<[u8; N]> {
    let mut state = seed.iter().fold(1u64, |s, b| s.wrapping_mul(31).wrapping_add(u64::from(*b)));
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let mut own = [0u8; N];
    (0..count)
        .map(|_| {
            for (k, byte) in own.iter_mut().enumerate() {
                *byte = match (k % 5, next() % 64) {
                    (0, _) => *byte,
                    (_, 0) => next() as u8,
                    (1, _) => byte.wrapping_add((next() % 3) as u8),
                    (2, _) => byte.wrapping_add((next() % 16) as u8),
                    (3, _) => next() as u8,
                    _ => byte.wrapping_sub((next() % 2) as u8),
                };
            }
            own
        })
        .collect()
}

fn vertices_come_back<const N: usize>(seed: &[u8], count: usize) {
    let values = values::<N>(seed, count);
    for (level, version) in [(0, 0), (1, 1), (2, 1), (3, 1)] {
        let bytes = meshopt::encode_vertex_buffer_level(&values, level, Some(version)).unwrap();
        let out = view(Mode::Attributes, Filter::None, count, N, &bytes).decode(&bytes).unwrap();
        assert_eq!(out, values.as_flattened(), "{N} bytes, level {level}, version {version}");
    }
}

#[test]
fn what_does_not_change_takes_next_to_nothing() {
    let values = vec![[7u8; 8]; 100_000];
    for version in [0, 1] {
        let bytes = meshopt::encode_vertex_buffer_level(&values, 3, Some(version)).unwrap();
        let out = view(Mode::Attributes, Filter::None, values.len(), 8, &bytes).decode(&bytes).unwrap();
        assert!(out == values.as_flattened(), "version {version}, {} bytes", bytes.len());
    }
}

fn triangles(seed: &[u8], count: usize) -> Vec<u32> {
    let rows = 3 + seed.first().map_or(0, |b| u32::from(*b) % 20);
    let mut out = Vec::new();
    for i in 0..count as u32 {
        let at = i / 2;
        let jump = seed.get(i as usize % seed.len().max(1)).map_or(0, |b| u32::from(b / 64));
        let [a, b, c, d] = [at, at + 1, at + rows, at + rows + 1].map(|v| v * (1 + jump));
        out.extend(if i % 2 == 0 { [a, b, c] } else { [c, b, d] });
    }
    out
}

proptest! {
    #[test]
    fn values_of_every_length_come_back(seed in prop::collection::vec(any::<u8>(), 1..40), count in 1usize..700) {
        vertices_come_back::<4>(&seed, count);
        vertices_come_back::<8>(&seed, count);
        vertices_come_back::<12>(&seed, count);
        vertices_come_back::<16>(&seed, count);
        vertices_come_back::<36>(&seed, count);
        vertices_come_back::<256>(&seed, count.min(100));
    }

    #[test]
    fn triangles_and_indices_come_back(seed in prop::collection::vec(any::<u8>(), 1..200), count in 1usize..400) {
        let indices = triangles(&seed, count);
        let most = indices.iter().max().unwrap() + 1;
        let bytes = meshopt::encode_index_buffer(&indices, most as usize).unwrap();
        let out = view(Mode::Triangles, Filter::None, indices.len(), 4, &bytes).decode(&bytes).unwrap();
        let theirs: Vec<u32> = meshopt::decode_index_buffer(&bytes, indices.len()).unwrap();
        prop_assert_eq!(words(&out), theirs);
        let bytes = meshopt::encode_index_sequence(&indices, most as usize).unwrap();
        let out = view(Mode::Indices, Filter::None, indices.len(), 4, &bytes).decode(&bytes).unwrap();
        prop_assert_eq!(words(&out), indices);
    }

    #[test]
    fn no_bytes_do_harm(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        head in prop::sample::select(vec![0xa0u8, 0xa1, 0xe0, 0xe1, 0xd0, 0xd1]),
        count in 0usize..900,
        stride in 0usize..300,
    ) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = head;
        }
        for mode in [Mode::Attributes, Mode::Triangles, Mode::Indices] {
            for filter in [Filter::None, Filter::Octahedral, Filter::Quaternion, Filter::Exponential, Filter::Color] {
                for (count, stride) in [(count, stride), (count, 4), (count / 3 * 3, 2), (count, 8)] {
                    let view = view(mode, filter, count, stride, &bytes);
                    if let Ok(out) = view.decode(&bytes) {
                        prop_assert_eq!(out.len(), count * stride);
                    }
                }
            }
        }
    }

    #[test]
    fn filters_give_what_others_give(numbers in prop::collection::vec(any::<[f32; 4]>(), 1..60), bits in 2i32..=8) {
        let clean = |v: f32| if v.is_finite() { (v % 2.0).clamp(-1.0, 1.0) } else { 0.5 };
        let vectors: Vec<[f32; 4]> = numbers
            .iter()
            .map(|v| {
                let v = v.map(clean);
                let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
                if length > 1e-3 { [v[0] / length, v[1] / length, v[2] / length, v[3]] } else { [0.0, 0.0, 1.0, v[3]] }
            })
            .collect();
        let mut theirs: Vec<[i8; 4]> = meshopt::encode_filter_oct(&vectors, bits);
        let mut ours: Vec<u8> = theirs.iter().flatten().map(|v| *v as u8).collect();
        meshopt::decode_filter_oct(&mut theirs);
        filters::octahedral(&mut ours, 1);
        prop_assert!(equal_up_to_rounding(ours.iter().map(|v| i64::from(*v as i8)), theirs.iter().flatten().map(|v| i64::from(*v))));

        let mut theirs: Vec<[i16; 4]> = meshopt::encode_filter_oct(&vectors, bits + 8);
        let mut ours: Vec<u8> = theirs.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
        meshopt::decode_filter_oct(&mut theirs);
        filters::octahedral(&mut ours, 2);
        prop_assert!(equal_up_to_rounding(halves(&ours), theirs.iter().flatten().map(|v| i64::from(*v))));

        let turns: Vec<[f32; 4]> = vectors
            .iter()
            .map(|v| {
                let length = v.iter().map(|v| v * v).sum::<f32>().sqrt();
                v.map(|v| v / length)
            })
            .collect();
        let mut theirs = meshopt::encode_filter_quat(&turns, bits + 4);
        let mut ours: Vec<u8> = theirs.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
        meshopt::decode_filter_quat(&mut theirs);
        filters::quaternion(&mut ours);
        prop_assert!(equal_up_to_rounding(halves(&ours), theirs.iter().flatten().map(|v| i64::from(*v))));

        let colours: Vec<[f32; 4]> = vectors.iter().map(|v| v.map(f32::abs)).collect();
        let mut theirs: Vec<[u8; 4]> = meshopt::encode_filter_color(&colours, bits);
        let mut ours: Vec<u8> = theirs.concat();
        meshopt::decode_filter_color(&mut theirs);
        filters::colour(&mut ours, 1);
        prop_assert!(equal_up_to_rounding(ours.iter().map(|v| i64::from(*v)), theirs.iter().flatten().map(|v| i64::from(*v))));
    }

    #[test]
    fn powers_give_what_others_give(words in prop::collection::vec(any::<[u32; 2]>(), 1..60)) {
        // Exponents beyond the range of a float are not specified.
        let power = |w: u32| u32::from(((w >> 24) as i8 / 2) as u8) << 24;
        let words: Vec<[u32; 2]> = words.iter().map(|w| w.map(|w| w & 0x00ff_ffff | power(w))).collect();
        let mut theirs = words.clone();
        let mut ours: Vec<u8> = words.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
        meshopt::decode_filter_exp(&mut theirs);
        filters::exponential(&mut ours);
        let floats = |w: u32| f32::from_bits(w);
        for (own, other) in self::words(&ours).into_iter().zip(theirs.into_iter().flatten()) {
            prop_assert_eq!(floats(own), floats(other));
        }
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

fn halves(bytes: &[u8]) -> impl Iterator<Item = i64> + '_ {
    bytes.as_chunks::<2>().0.iter().map(|half| i64::from(i16::from_le_bytes(*half)))
}

/// `true` if the numbers are equal up to the last bit of rounding.
fn equal_up_to_rounding(ours: impl Iterator<Item = i64>, theirs: impl Iterator<Item = i64>) -> bool {
    ours.zip(theirs).all(|(own, other)| (own - other).abs() <= 1)
}

#[test]
fn every_truncation_is_an_error() {
    let values = values::<12>(b"seed", 300);
    let bytes = meshopt::encode_vertex_buffer(&values).unwrap();
    for length in 0..bytes.len() {
        assert!(view(Mode::Attributes, Filter::None, 300, 12, &bytes).decode(&bytes[..length]).is_err());
    }
    let indices = triangles(b"triangles", 200);
    let bytes = meshopt::encode_index_buffer(&indices, 1000).unwrap();
    for length in 0..bytes.len() {
        let view = view(Mode::Triangles, Filter::None, indices.len(), 4, &bytes);
        // The rest may decode as triangles with a shorter table; it must do no harm.
        let _ = view.decode(&bytes[..length]);
    }
}

#[test]
fn more_values_than_bytes_can_hold_are_refused_before_anything_is_allocated() {
    let bytes = [0xa0; 64];
    let view = view(Mode::Attributes, Filter::None, usize::MAX / 512, 256, &bytes);
    assert!(view.check().is_err());
}
