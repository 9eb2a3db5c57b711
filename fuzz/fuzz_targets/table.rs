//! The table of adjacent triangles: any bytes over any connectivity, also one with indices out of range; and
//! our own back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::values::parallelogram::{build_table, decode_table, encode_table};
use meshreel_fuzz::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let vertices = usize::from(numbers.u8());
    let triangles = usize::from(numbers.u8());
    let indices: Vec<u32> = (0..3 * triangles).map(|_| u32::from(numbers.u8())).collect();
    let values: Vec<u16> = (0..2 * vertices).map(|_| numbers.u16()).collect();
    let rest = numbers.rest();
    if let Ok((table, used)) = decode_table(rest, &indices, vertices) {
        assert!(used <= rest.len());
        assert_eq!(table.len(), vertices);
    }
    let table = build_table(&indices, vertices, 2, &[&values[..]]);
    let mut bytes = Vec::new();
    encode_table(&table, &indices, &mut bytes);
    assert_eq!(decode_table(&bytes, &indices, vertices), Ok((table, bytes.len())));
});
