//! Transforms: any bytes as a stream; and any transforms to bytes and back, bit for bit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::transform::{self, Transform};
use meshreel_fuzz::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let nodes = usize::from(numbers.u8());
    let with_previous = numbers.u8() & 1 == 1;
    let mut some = |n: usize| -> Vec<Transform> {
        let mut float = || f32::from_bits(numbers.u32());
        (0..n)
            .map(|_| Transform {
                rotation: [float(), float(), float(), float()],
                translation: [float(), float(), float()],
                scale: [float(), float(), float()],
            })
            .collect()
    };
    let previous = some(nodes);
    let values = some(nodes);
    let previous = with_previous.then_some(&previous[..]);
    let rest = numbers.rest();
    let mut out = vec![Transform::IDENTITY; nodes];
    if let Ok(used) = transform::decode(rest, previous, &mut out) {
        assert!(used <= rest.len());
    }
    let mut bytes = Vec::new();
    transform::encode(&values, previous, &mut bytes);
    assert_eq!(transform::decode(&bytes, previous, &mut out), Ok(bytes.len()));
    assert!(values.iter().map(bits).eq(out.iter().map(bits)));
});

/// Bits, because NaN is not equal to itself.
fn bits(t: &Transform) -> Vec<u32> {
    let all = t.rotation.iter().chain(&t.translation).chain(&t.scale);
    all.map(|f| f.to_bits()).collect()
}
