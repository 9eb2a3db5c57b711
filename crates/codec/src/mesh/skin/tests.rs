//! Any weights round-trip, and no bytes make a decoder panic.

use crate::mesh::hierarchy::irregular::tests::grid;
use crate::mesh::skin::handles::CORNERS;
use crate::mesh::skin::weights::{Influence, MAX_INFLUENCES, MAX_WEIGHT_DEPTH, SkinWeights, code};
use crate::mesh::skin::*;
use crate::mesh::table_sets::TableSets;
use proptest::prelude::*;

fn bytes_of(weights: &SkinWeights, levels: &Hierarchy, bones: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let out = range::Encoder::new(&mut bytes);
    let (same, out) = code(out, levels, bones, weights.depth, Some(weights)).unwrap();
    out.finish();
    assert_eq!(sorted(&same), sorted(weights));
    bytes
}

fn read(bytes: &[u8], levels: &Hierarchy, bones: u32, depth: u32) -> Result<SkinWeights, Corrupt> {
    let (weights, rest) = code(range::Decoder::new(bytes), levels, bones, depth, None)?;
    rest.finish()?;
    Ok(weights)
}

/// Sorts the bones of each point, whose order the decoder chooses.
fn sorted(weights: &SkinWeights) -> Vec<(Vec<Influence>, bool)> {
    let of = |v: usize| {
        let mut own = weights.influences(v).to_vec();
        own.sort_unstable();
        (own, weights.coded[v])
    };
    (0..weights.points()).map(of).collect()
}

/// Returns weights for as many bones as there are shares, with the sum 2^depth.
fn shared(shares: &[u16], first: u16, bones: u32, depth: u32, shift: u32) -> Vec<Influence> {
    let mut left = 1u32 << (depth - shift);
    let mut out = Vec::new();
    for (k, &share) in shares.iter().enumerate().take(MAX_INFLUENCES) {
        let bone = ((u32::from(first) + k as u32 * 7) % bones) as u16;
        if out.iter().any(|i: &Influence| i.0 == bone) {
            continue;
        }
        let last = k + 1 == shares.len();
        let weight = if last { left } else { u32::from(share) % left };
        if weight > 0 {
            out.push((bone, (weight << shift) as u16));
            left -= weight;
        }
    }
    match (out.last_mut(), left) {
        (_, 0) => {}
        (Some(last), left) => last.1 += (left << shift) as u16,
        (None, _) => out.push((first % bones as u16, 1 << depth)),
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_weights_come_back(
        points in proptest::collection::vec((proptest::collection::vec(1u16..9000, 0..10), any::<u16>(), 0u32..8, any::<bool>()), 25),
        bones in 1u32..400,
        depth in 3u32..MAX_WEIGHT_DEPTH + 1,
        cut in any::<prop::sample::Index>(),
        flip in any::<(prop::sample::Index, u8)>(),
    ) {
        let (count, triangles) = grid(5, 5);
        let levels = hierarchy::build(count, &triangles);
        let mut weights = SkinWeights::new(depth);
        for (shares, first, shift, coded) in &points {
            match shares.len() {
                0 => weights.push(&[], true),
                _ => weights.push(&shared(shares, *first, bones, depth, *shift % (depth - 2)), *coded),
            }
        }
        let bytes = bytes_of(&weights, &levels, bones);
        let back = read(&bytes, &levels, bones, depth).unwrap();
        prop_assert_eq!(sorted(&back), sorted(&weights));
        // Damaged bytes are an error or give other, valid weights.
        let mut other = bytes.clone();
        if let Some(byte) = (!other.is_empty()).then(|| flip.0.index(other.len())) {
            other[byte] ^= flip.1.max(1);
        }
        for hostile in [&bytes[..cut.index(bytes.len() + 1)], &other] {
            if let Ok(found) = read(hostile, &levels, bones, depth) {
                for v in 0..found.points() {
                    let sum: u32 = found.influences(v).iter().map(|i| u32::from(i.1)).sum();
                    prop_assert!(found.influences(v).is_empty() && found.coded[v] || sum == 1 << depth);
                    prop_assert!(found.influences(v).iter().all(|i| u32::from(i.0) < bones && i.1 > 0));
                }
            }
        }
    }
}

#[test]
fn labels_of_whole_pieces_cost_next_to_nothing() {
    // Twenty parts of 64 points each.
    let (count, own) = grid(8, 8);
    let triangles: Vec<u32> = (0..20).flat_map(|piece| own.iter().map(move |t| t + piece * count)).collect();
    let levels = hierarchy::build(20 * count, &triangles);
    let mut weights = SkinWeights::new(3);
    for &point in &levels.order {
        weights.push(&[((point / count) as u16, 8)], false);
    }
    let bytes = bytes_of(&weights, &levels, 20);
    assert!(bytes.len() < 60, "{} bytes", bytes.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn kernels_give_what_the_reference_gives(
        points in proptest::collection::vec((proptest::collection::vec(1u16..9000, 0..10), any::<u16>(), any::<bool>()), 25),
        bones in 1u32..12,
        numbers in proptest::collection::vec(-30_000f32..30_000.0, 12 * 13),
        odd in any::<(prop::sample::Index, f32)>(),
    ) {
        let mut weights = SkinWeights::new(9);
        for (shares, first, coded) in &points {
            match shares.len() {
                0 => weights.push(&[], true),
                _ => weights.push(&shared(shares, *first, bones, 9, 0), *coded),
            }
        }
        let mut numbers = numbers;
        let at = odd.0.index(numbers.len());
        numbers[at] = odd.1;
        let rest = (0..25).map(|i| [i as f32 * 0.1, 1.0 - i as f32, 0.25]).collect();
        let order: Vec<u32> = (0..25).map(|i| i * 7 % 25).collect();
        let rig = SkinRig::new(rest, &weights, bones, &order);
        let mut matrices: Vec<Matrix> = (numbers.chunks(12))
            .map(|m| [0, 1, 2, 3].map(|c| [m[3 * c], m[3 * c + 1], m[3 * c + 2], 0.0]))
            .collect();
        matrices.truncate(bones as usize + 1);
        let mut want = vec![[0i16; 4]; 25];
        let mut wide = vec![[0i32; 4]; 25];
        rig.for_each_position(&matrices, |v, at| {
            want[v] = [at[0] as i16, at[1] as i16, at[2] as i16, 0];
            wide[v] = [at[0], at[1], at[2], 0];
        });
        let mut numbered = rig.clone();
        let numbers = numbered.number_by_bones();
        for (v, &number) in numbers.iter().enumerate() {
            prop_assert_eq!(numbered.rest[number as usize], rig.rest[v]);
            prop_assert!(numbered.influences(number as usize).eq(rig.influences(v)));
        }
        for (a, b) in rig.coded.iter().zip(&numbered.coded) {
            prop_assert_eq!(numbers[*a as usize], *b);
        }
        for isa in Isa::all() {
            let mut got = vec![[7i16; 4]; 25];
            numbered.pose(isa, &matrices, &mut got);
            let back: Vec<[i16; 4]> = numbers.iter().map(|&n| got[n as usize]).collect();
            prop_assert_eq!(&back, &want);
            let mut got = vec![[7i16; 4]; 25];
            rig.pose(isa, &matrices, &mut got);
            prop_assert_eq!(&got, &want);
            let mut got = vec![[7i32; 4]; 25];
            rig.pose(isa, &matrices, &mut got);
            prop_assert_eq!(&got, &wide);
        }
    }
}

#[test]
fn bounds_of_counts() {
    let levels = hierarchy::build(3, &[0, 1, 2]);
    assert!(read(&[], &levels, 1 << 17, 4).is_err());
    assert!(read(&[], &levels, 4, MAX_WEIGHT_DEPTH + 1).is_err());
    let bones = BoneCounts { rigid: 1, ..BoneCounts::default() };
    let sets = &mut TableSets::default();
    for length in 0..40 {
        let bytes = vec![0; length];
        assert!(Skin::decode(&bytes, bones, false, &levels, &[0, 1, 2], sets).is_err());
    }
    assert!(Skin::decode(&[], BoneCounts::default(), false, &levels, &[], sets).is_err());
}

#[test]
fn handles_say_the_matrix() {
    let region = Region { middle: [1.0, 2.0, 3.0], half: [0.5, 0.25, 2.0], bounds: [0.0; 6] };
    let m = [[0.0, -1.0, 0.0, 4.0], [2.0, 0.0, 0.5, 0.0], [0.0, 0.0, 1.0, -1.0]];
    let apply = |p: [f64; 3]| {
        [0, 1, 2].map(|r: usize| (m[r][0] * p[0] + m[r][1] * p[1] + m[r][2] * p[2] + m[r][3]) as f32)
    };
    let [x, y, z] = region.middle;
    let [a, b, c] = region.half;
    let handles = CORNERS.map(|[u, v, w]| apply([x + a * u, y + b * v, z + c * w]));
    let back = affine(&region, handles);
    for (row, want) in back.iter().zip(&m) {
        for (a, b) in row.iter().zip(want) {
            assert!((a - b).abs() < 1e-5, "{back:?}");
        }
    }
}
