//! Triangle indices: any bytes as a stream; and any indices to bytes and back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::topology::index;
use meshreel_fuzz::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let vertices = 1 + u32::from(numbers.u16());
    let triangles = usize::from(numbers.u8());
    let rest = numbers.rest();
    let mut out = vec![0; 3 * triangles];
    if let Ok(used) = index::decode(rest, vertices, &mut out) {
        assert!(used <= rest.len());
        assert!(out.iter().all(|&i| i < vertices));
    }
    let mut indices: Vec<u32> = rest.iter().map(|&b| u32::from(b) % vertices).collect();
    indices.truncate(indices.len() / 3 * 3);
    let mut bytes = Vec::new();
    index::encode(&indices, &mut bytes);
    let mut out = vec![0; indices.len()];
    assert_eq!(index::decode(&bytes, vertices, &mut out), Ok(bytes.len()));
    assert_eq!(out, indices);
});
