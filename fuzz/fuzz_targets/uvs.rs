//! Texture coordinates on a surface: any triangles, points and bytes; what is decoded has bytes again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::values::uvs::{self, UvSurface};
use meshreel_fuzz::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let (vertices, corners, points) = (numbers.u8(), 3 * usize::from(numbers.u8()), numbers.u8());
    let vertex_points: Vec<u32> = (0..vertices).map(|_| u32::from(numbers.u8())).collect();
    let corners = if vertices == 0 { 0 } else { corners };
    let indices: Vec<u32> = (0..corners).map(|_| u32::from(numbers.u8() % vertices)).collect();
    let coordinate = |numbers: &mut Numbers<'_>| i32::from(numbers.u8() as i8) << (numbers.u8() % 25);
    let positions: Vec<[i32; 3]> = (0..points).map(|_| [0; 3].map(|_| coordinate(&mut numbers))).collect();
    let steps = [0; 2].map(|_| f32::from_bits(u32::from(numbers.u8()) << 24 | u32::from(numbers.u8()) << 16));
    let codes = [0; 2].map(|_| u32::from(numbers.u8()) << (numbers.u8() % 25));
    let surface =
        UvSurface { indices: &indices, vertex_points: &vertex_points, positions: &positions, steps, codes };
    let mut values = vec![0u16; 2 * usize::from(vertices)];
    if uvs::decode(numbers.rest(), surface, &mut values).is_ok() {
        let (mut bytes, mut again) = (Vec::new(), vec![0u16; values.len()]);
        uvs::encode(&values, surface, &mut bytes).expect("what was decoded can be encoded");
        assert_eq!(uvs::decode(&bytes, surface, &mut again), Ok(bytes.len()));
        assert_eq!(again, values);
    }
});
