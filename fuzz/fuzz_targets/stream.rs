//! A stream of a frame: any bytes against any references and table; and any values to bytes and back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::classic::stream;
use meshreel_codec::classic::stream::{References, SpatialPrediction};
use meshreel_codec::values::parallelogram::{PredictorTable, derive_table};
use meshreel_fuzz::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let flags = numbers.u8();
    let components = 1 + usize::from(numbers.u8() % 4);
    let count = usize::from(numbers.u8() % 64);
    let spatial = if flags & 1 == 0 { SpatialPrediction::Parallelogram } else { SpatialPrediction::Average };
    // Any table at all for hostile bytes.
    let hostile: PredictorTable = (0..count).map(|_| [numbers.u16(), numbers.u16(), numbers.u16()]).collect();
    // And one that belongs to a mesh, for our own.
    let indices: Vec<u32> = (0..3 * count).map(|_| u32::from(numbers.u8()) % count.max(1) as u32).collect();
    let own = derive_table(&indices, count);
    let mut frame = || -> Vec<u16> { (0..components * count).map(|_| numbers.u16()).collect() };
    let frames = [frame(), frame(), frame(), frame(), frame()];
    let [base, previous, before_previous, index_before, index_after] = &frames;
    let refs = |table| References {
        base: (flags & 2 != 0).then_some(&**base),
        previous: (flags & 4 != 0).then_some(&**previous),
        before_previous: (flags & 8 != 0).then_some(&**before_previous),
        index_before: (flags & 16 != 0).then_some(&**index_before),
        index_after: (flags & 32 != 0).then_some(&**index_after),
        table,
    };
    let values = frame();
    let rest = numbers.rest();
    let mut out = vec![0u16; components * count];
    for table in [&hostile, &own] {
        if let Ok(used) = stream::decode(rest, components, spatial, refs(table), &mut out) {
            assert!(used <= rest.len());
        }
    }
    let mut bytes = Vec::new();
    stream::encode_index(&values, components, spatial, refs(&own), &mut bytes);
    check(&bytes, components, spatial, refs(&own), &values);
    if flags & 0b11_0100 == 0b11_0100 {
        bytes.clear();
        stream::encode_b_frame(&values, components, refs(&own), 1, &mut bytes);
        check(&bytes, components, spatial, refs(&own), &values);
    }
});

fn check(
    bytes: &[u8],
    components: usize,
    spatial: SpatialPrediction,
    refs: References<'_, u16>,
    values: &[u16],
) {
    let mut out = vec![0u16; values.len()];
    let used = stream::decode(bytes, components, spatial, refs, &mut out);
    assert_eq!(used, Ok(bytes.len()));
    assert_eq!(out, values);
}
