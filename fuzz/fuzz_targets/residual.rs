//! Residuals: any bytes as a stream; and any residuals to bytes and back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::values::residual;
use meshreel_fuzz::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let word = numbers.u8();
    let components = 1 + usize::from(numbers.u8() % 4);
    let count = usize::from(numbers.u8());
    let rest = numbers.rest();
    match word % 3 {
        0 => check(rest, components, count, |b| b[0]),
        1 => check(rest, components, count, |b| u16::from_le_bytes([b[0], b[1]])),
        _ => check(rest, components, count, |b| u32::from_le_bytes(*b)),
    }
});

fn check<W: Code + std::fmt::Debug + PartialEq>(
    bytes: &[u8],
    components: usize,
    count: usize,
    word: fn(&[u8; 4]) -> W,
) {
    let mut out = vec![W::default(); components * count];
    if let Ok(used) = residual::decode(bytes, components, &mut out) {
        assert!(used <= bytes.len());
    }
    let mut values: Vec<W> = bytes.as_chunks::<4>().0.iter().map(word).collect();
    values.truncate(values.len() / components * components);
    let mut encoded = Vec::new();
    residual::encode(&values, components, true, &mut encoded);
    let mut out = vec![W::default(); values.len()];
    assert_eq!(residual::decode(&encoded, components, &mut out), Ok(encoded.len()));
    assert_eq!(out, values);
}
