//! Numbers to numbers: octahedral normals, tangent frames, quantized axes. Any levels decode; any values
//! encode within their bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::quantize::{Axis, octahedral, qtangent};
use meshreel_fuzz::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let bits = 6 + u32::from(numbers.u8() % 11);
    let levels = [numbers.u16(), numbers.u16(), numbers.u16(), numbers.u16()];
    let _ = octahedral::decode([levels[0], levels[1]], bits);
    let _ = qtangent::decode(levels, bits);

    let mut float = || f32::from_bits(numbers.u32());
    let normal = [float(), float(), float()];
    for level in octahedral::encode(normal, bits) {
        assert!(u32::from(level) >> bits == 0);
    }
    let (low, high, value) = (float(), float(), float());
    let step = f64::from(float());
    if let Some(axis) = Axis::new(low, high, step)
        && value >= low
        && value <= high
    {
        let back = axis.value(axis.code(value));
        assert!(back.is_finite());
    }
});
