//! All kernels give the same bits, and no bytes make the decoder panic.

use super::*;
use proptest::prelude::*;

const COUNT: usize = 21;

/// Vertices of a mesh of anything, read from `bytes`.
fn mesh(bytes: &[u8], triangles: &[[u32; 3]], point: &[u32], uvs: &[[f32; 2]], flags: u8) -> Option<Normals> {
    let mut fixed = vec![flags];
    fixed.extend([0.01f32, 0.02].map(f32::to_le_bytes).as_flattened());
    fixed.extend(bytes);
    let shape = Shape { triangles, point, uvs };
    Normals::read(&fixed, shape).ok()
}

/// Levels of all instruction sets, and what the encoder computes item by item, are the same as what is
/// built.
fn check<P: Place>(normals: &Normals, points: &[P], state: &[i16], uvs: &[[f32; 2]], bits: u32) {
    let mut work = normals.work();
    normals.set_uvs(uvs, &mut work);
    let planes = if normals.has_tangents() { 4 } else { 2 };
    let results = Isa::all().map(|isa| {
        let mut levels = vec![9u16; planes * normals.vertices()];
        normals.compute(isa, P::kind(points), state, &mut work, Some((bits, &mut levels)));
        let bits = |v: &[f32; 4]| v.map(f32::to_bits);
        let groups: Vec<_> = work.normals[..normals.groups()].iter().map(bits).collect();
        let classes: Vec<_> = work.tangents.iter().map(bits).collect();
        (levels, groups, classes)
    });
    let results: Vec<_> = results.collect();
    assert!(results.iter().all(|r| *r == results[0]));

    let mut predicted = vec![[0.0; 4]; normals.surface.slots()];
    normals.directions(Isa::get(), P::kind(points), &[], &mut predicted);
    let slopes = work.slopes.clone();
    let built = normals.build(points, state, &mut work);
    for v in 0..normals.vertices() {
        let g = normals.group[v] as usize;
        let [x, y, z, _] = predicted[g];
        let n = normals.bend(points, g, [x, y, z], [state[2 * g], state[2 * g + 1]]);
        assert_eq!(n, built.normal(v));
        let level = |k: usize| results[0].0[k * normals.vertices() + v];
        let Some(tangents) = &normals.tangents else {
            let back = octahedral::decode([level(0), level(1)], bits);
            assert!(chord(n, back) <= 1.5 * octahedral::bound(bits).to_radians() + 2e-3);
            continue;
        };
        let class = tangents.classes()[v] as usize;
        let mut t = normals.tangent(class, n, points, &slopes);
        if built.turns[v] != 0 {
            t = turned(t, n, turn(f32::from(built.turns[v]) * normals.turn_step));
        }
        let [x, y, z, sign] = built.tangent(v);
        assert_eq!(t, [x, y, z]);
        let back = qtangent::decode([level(0), level(1), level(2), level(3)], bits);
        assert_eq!(back.sign, sign);
        let bound = qtangent::bound(bits).to_radians() + 2e-3;
        assert!(chord(n, back.normal) <= bound && chord(t, back.tangent) <= bound);
    }
}

fn chord(a: [f32; 3], b: [f32; 3]) -> f64 {
    let square = |k: usize| f64::from(a[k] - b[k]).powi(2);
    (0..3).map(square).sum::<f64>().sqrt()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn all_ways_give_the_same_bits(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        flags in 0u8..8,
        triangles in prop::collection::vec(prop::array::uniform3(0..COUNT as u32), 0..60),
        point in prop::collection::vec(0..COUNT as u32, COUNT),
        uvs in prop::collection::vec(prop::array::uniform2(-2f32..2.0), COUNT),
        narrow in prop::collection::vec(prop::array::uniform4(any::<i16>()), COUNT),
        wide in prop::collection::vec(prop::array::uniform4(any::<i32>()), COUNT),
        seldom in 0u8..4,
        numbers in prop::collection::vec((any::<u8>(), any::<i16>()), 3 * COUNT),
        bits in 8u32..17,
    ) {
        if let Some(normals) = mesh(&bytes, &triangles, &point, &uvs, flags) {
            let state: Vec<i16> = numbers[..normals.state_len()]
                .iter()
                .map(|(when, n)| if *when % 4 < seldom { *n } else { 0 })
                .collect();
            check(&normals, &narrow, &state, &uvs, bits);
            check(&normals, &wide, &state, &uvs, bits);
        }
    }
}
