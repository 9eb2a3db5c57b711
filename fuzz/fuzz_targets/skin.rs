//! Bones of a mesh: any bytes as weights and as a static part; what decodes is composed without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::entropy::range;
use meshreel_codec::mesh::hierarchy;
use meshreel_codec::mesh::skin::{Handles, Matrix, Skin, weights};
use meshreel_codec::mesh::table_sets::TableSets;
use meshreel_codec::record::BoneCounts;
use meshreel_codec::transform::Transform;

/// A strip of triangles.
const POINTS: u32 = 40;

fuzz_target!(|data: &[u8]| {
    let Some((&[rigid, affine, coded, flags], rest)) = data.split_first_chunk::<4>() else {
        return;
    };
    let triangles: Vec<u32> = (0..POINTS - 2).flat_map(|v| [v, v + 1, v + 2]).collect();
    let levels = hierarchy::build(POINTS, &triangles);
    let (rigid, affine) = (u32::from(rigid % 9), u32::from(affine % 5));
    let depth = u32::from(flags >> 4);
    let count = rigid + affine;
    let decoder = range::Decoder::new(rest);
    if let Ok((found, _)) = weights::code(decoder, &levels, count, depth, None) {
        for v in 0..found.points() {
            let sum: u32 = found.influences(v).iter().map(|i| u32::from(i.1)).sum();
            assert!(found.influences(v).is_empty() || sum == 1 << depth);
        }
    }
    let bones = BoneCounts {
        rigid,
        affine,
        wide: flags & 1 != 0,
        codes_per_frame: u32::from(flags >> 2 & 3) * 4 * rigid,
        coded: u32::from(coded) % (POINTS + 1),
    };
    let wide = flags & 2 != 0;
    let Ok(mut skin) = Skin::decode(rest, bones, wide, &levels, &triangles, &mut TableSets::default()) else {
        return;
    };
    let mut matrices = vec![Matrix::default(); count as usize + 1];
    let mut transforms = vec![Transform::IDENTITY; rigid as usize];
    if let Some(packed) = &skin.packed {
        let mut frames = rest;
        while packed.read(&mut frames, &mut [0; 20], &mut transforms).is_ok() {}
    }
    skin.matrices(&skin.grid, &transforms, Handles::None, &mut matrices);
    let mut out = vec![[0i32; 4]; POINTS as usize];
    skin.compose(&matrices, &[], &mut out);
    // As a player numbers them.
    let numbers = skin.number_by_bones();
    let mut again = out.clone();
    skin.compose(&matrices, &[], &mut again);
    assert!(numbers.iter().zip(&out).all(|(&n, cell)| again[n as usize] == *cell));
});
