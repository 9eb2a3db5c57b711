//! Compressed data is decoded by the library itself; what a filter rounds comes back within its bits.

use super::filters::{
    decode_exponential, decode_octahedral, encode_exponential, encode_octahedral, power_for,
};
use super::{Extension, compress_triangles, compress_values};

/// Returns a generator of pseudo-random numbers, the same in every run.
fn numbers(mut seed: u64) -> impl FnMut() -> u64 {
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    }
}

/// A value for the library's interface.
#[derive(Clone)]
struct Value<const N: usize>([u8; N]);

impl<const N: usize> Default for Value<N> {
    fn default() -> Self {
        Value([0; N])
    }
}

fn decoded<const N: usize>(encoded: &[u8], bytes: usize) -> Vec<u8> {
    let values: Vec<Value<N>> = meshopt::decode_vertex_buffer(encoded, bytes / N).unwrap();
    values.iter().flat_map(|value| value.0).collect()
}

fn values_come_back(bytes: &[u8], stride: usize) -> [usize; 2] {
    [Extension::Ext, Extension::Khr].map(|extension| {
        let encoded = compress_values(bytes, stride, extension).unwrap();
        let decoded = match stride {
            4 => decoded::<4>(&encoded, bytes.len()),
            8 => decoded::<8>(&encoded, bytes.len()),
            12 => decoded::<12>(&encoded, bytes.len()),
            16 => decoded::<16>(&encoded, bytes.len()),
            _ => decoded::<64>(&encoded, bytes.len()),
        };
        assert!(decoded == bytes, "stride {stride}, {extension:?}, {} bytes", bytes.len());
        encoded.len()
    })
}

#[test]
fn values_of_every_stride_come_back() {
    for stride in [4, 8, 12, 16, 64] {
        for count in [0, 1, 17, 700] {
            let mut next = numbers(count as u64 + stride as u64);
            let noise: Vec<u8> = (0..count * stride).map(|_| next() as u8).collect();
            values_come_back(&noise, stride);
        }
    }
    assert!(compress_values(&[0; 36], 18, Extension::Ext).is_err());
}

#[test]
fn the_second_version_is_smaller() {
    let wave = |i: usize| [(i as f32 * 0.01).sin(), (i as f32 * 0.013).cos(), i as f32 * 0.001];
    let bytes: Vec<u8> = (0..4000).flat_map(wave).flat_map(f32::to_le_bytes).collect();
    let [old, new] = values_come_back(&bytes, 12);
    assert!(new < old && old < bytes.len(), "{new} {old}");
}

/// Rotates the corners of each triangle to the lexicographically smallest order.
fn turned(indices: &[u32]) -> Vec<[u32; 3]> {
    let turn = |[a, b, c]: [u32; 3]| [a, b, c].min([b, c, a]).min([c, a, b]);
    indices.as_chunks::<3>().0.iter().map(|triangle| turn(*triangle)).collect()
}

#[test]
fn triangles_come_back() {
    let mut next = numbers(3);
    let noise: Vec<u32> = (0..3000).map(|_| (next() % 70_000) as u32).collect();
    let strip: Vec<u32> = (0..300).flat_map(|i| [i, i + 1, i + 2]).collect();
    for list in [&[][..], &noise, &strip, &[u32::MAX - 1, 0, 1]] {
        let encoded = compress_triangles(list).unwrap();
        let decoded: Vec<u32> = meshopt::decode_index_buffer(&encoded, list.len()).unwrap();
        assert_eq!(turned(&decoded), turned(list));
    }
}

#[test]
fn filters_come_back_as_near_as_their_bits() {
    let mut next = numbers(7);
    let mut unit = || next() as f32 / (1u32 << 30) as f32 - 1.0;
    for (bits, largest) in [(8, 127.0), (10, 32767.0), (12, 32767.0), (16, 32767.0)] {
        // Each of two coordinates is off by at most half a step h, on the octahedron's face at most (h, h, 2
        // h), where it is nearest to the centre, 1 / sqrt(3) away; decoding to integers rounds once more.
        let h = 0.5 / f64::from((1 << (bits - 1)) - 1);
        let most = 1.01 * (h * 18f64.sqrt() + 0.5 * 3f64.sqrt() / f64::from(largest)).to_degrees();
        for _ in 0..2000 {
            let v =
                glam::DVec3::new(unit().into(), unit().into(), unit().into()).normalize_or(glam::DVec3::X);
            let back = decode_octahedral(encode_octahedral(v.as_vec3().to_array(), bits), largest);
            let back = glam::DVec3::from_array(back.map(|v| f64::from(v) / f64::from(largest)));
            let off = back.angle_between(v).to_degrees();
            assert!(off <= most, "{bits} bits: {off} degrees");
        }
    }
    for error in [1e-3, 1e-5, 0.3] {
        let power = power_for(error);
        for value in [0.0f32, 1.0, -1.0, 3.456e-4, 12.5, -77.7] {
            let back = decode_exponential(encode_exponential(value, power).unwrap());
            assert!(f64::from(back - value).abs() <= error * 1.000_001, "{value} {back} {error}");
        }
    }
    assert_eq!(encode_exponential(1e9, power_for(1e-5)), None);
}
