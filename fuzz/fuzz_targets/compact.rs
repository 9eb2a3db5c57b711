//! Compact triangles: any bytes as their corners; and any triangles to bytes and back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::topology::compact;
use meshreel_fuzz::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let vertices = 1 + u32::from(numbers.u8());
    let triangles = usize::from(numbers.u8());
    let materials = 1 + usize::from(numbers.u8() % 3);
    let rest = numbers.rest();

    let mut ranges = vec![[0, 0]; materials];
    ranges[0][1] = 3 * triangles as u32;
    ranges[1..].fill([3 * triangles as u32, 0]);
    let mut out = vec![0; 3 * triangles];
    let bytes = [&compact::MARKER[..], rest].concat();
    if let Ok(points) = compact::decode(&bytes, vertices, &ranges, &mut out) {
        assert!(out.iter().all(|&v| v < vertices) && points.len() == vertices as usize);
    }

    // Points are numbered by their first vertices, as the compiler numbers them.
    let mut next = 0;
    let point: Vec<u32> = (0..vertices)
        .map(|v| {
            let pick = rest.get(v as usize).map_or(v, |b| u32::from(*b)) % (next + 1);
            next += u32::from(pick == next);
            pick
        })
        .collect();
    let given: Vec<[u32; 3]> =
        rest.as_chunks::<3>().0.iter().map(|t| t.map(|b| u32::from(b) % vertices)).collect();
    let material: Vec<u32> =
        rest.iter().take(given.len()).map(|b| u32::from(*b) % materials as u32).collect();
    let coded = compact::encode(&given, (&point, next as usize), (&material, materials));
    let mut out = vec![0; 3 * given.len()];
    let points = compact::decode(&coded.bytes, vertices, &coded.ranges, &mut out).expect("what was encoded");
    assert_eq!(out, coded.indices);
    let mut number = vec![u32::MAX; next as usize];
    for (new, old) in points.iter().zip(&coded.vertex_order) {
        let slot = &mut number[point[*old as usize] as usize];
        assert!(*slot == u32::MAX || *slot == *new);
        *slot = *new;
    }
});
