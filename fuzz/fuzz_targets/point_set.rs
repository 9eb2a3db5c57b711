//! Point sets: any bytes as ids or curves; what is accepted has the same bytes again, or shorter ones.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::values::particles::ParticleKind;
use meshreel_codec::values::particles::point_set::PointSet;
use meshreel_fuzz::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let points = usize::from(numbers.u8()) * usize::from(numbers.u8());
    let max_curves = usize::from(numbers.u8());
    let kinds = numbers.u8();
    let kind = ParticleKind { ids: kinds & 1 != 0, curves: kinds & 2 != 0 };
    let rest = numbers.rest();
    if let Ok(set) = PointSet::decode(rest, kind, points, max_curves) {
        assert!(set.ids.len() <= points && set.curves.len() <= max_curves);
        assert!(set.ids.windows(2).all(|pair| pair[0] < pair[1]));
        let mut bytes = Vec::new();
        set.encode(&mut bytes);
        assert!(bytes.len() <= rest.len());
        assert_eq!(PointSet::decode(&bytes, kind, points, max_curves), Ok(set));
    }
});
