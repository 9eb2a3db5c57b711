//! Points of vertices from any bytes: what is read is encoded to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::topology::weld;
use meshreel_fuzz::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let vertices = usize::from(numbers.u8());
    let points = u32::from(numbers.u8());
    let bytes = numbers.rest();
    let mut out = vec![0; vertices];
    if let Ok(used) = weld::decode(bytes, points, &mut out) {
        let mut back = Vec::new();
        weld::encode(&out, &mut back);
        assert_eq!(back, bytes[..used]);
    }
});
