//! Parallelogram and averaging prediction inside one frame. Lossless. Used for index frames and for
//! everything that is stored once.
//!
//! A vertex is predicted from the triangle (A, B, C) on the other side of the edge (B, C), whose vertices are
//! all decoded before it:
//!
//! ```text
//! parallelogram   P = C + B − A                       wraps
//! average         P = (B + C) >> 1                    rounds down; two's complement if differences to a source are coded
//! weighted        P = (edge·(B + C) + apex·A + 64) >> 7   rounds down; two's complement if differences to a source are coded
//! no triangle     A, B and C are the vertex before; vertex 0: P = 0
//! ```
//!
//! The first two rules are the usual ones of a stream; a frame may have weights of its own, which then
//! replace them.
//!
//! The encoder chooses the triangle of each vertex over several frames, and stores the choices in a table.
//! The table does not hold distances, but positions in the list of choices that both sides derive from the
//! connectivity alone ([`decode_table`]): mostly the same small numbers, which block compression shrinks
//! to little more than a bit.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `kind` | 0: every vertex takes its first choice, nothing follows · 1: numbers follow |
//! | 1 | vertices | `choice` | number in the list of the vertex |
//!
//! ```text
//! the list of vertex v, over its corners in index order; each choice is listed once, the list ends at 32
//!   1. for a corner v of triangle (v, b, c): each other triangle on the edge (b, c), with third vertex a:  (a, b, c)
//!   2. for a corner v of triangle (v, b, c): b alone and c alone, that is (b, b, b) and (c, c, c)
//!   3. the vertex before
//! only vertices below v and at most 4096 back count; at an edge the first 4 triangles in index order count, searched
//! among the first 64 corners of c if it has fewer corners than b, else of b
//! ```
//!
//! Credit: Costa Touma and Craig Gotsman, "Triangle Mesh Compression", 1998; the table is CryEngine's (Axel
//! Gneiting, 2014). Differences: triangles are chosen over several frames instead of the first; without a
//! triangle any neighbour can be the prediction.

use crate::Corrupt;
use crate::quantize::code::Code;
use crate::simd::isa::Isa;
use crate::simd::run_vectors;
use kernel::{CombineVectors, Reconstruction};

mod kernel;
mod rule;
mod table;

pub(crate) use rule::{Average, Combine, Parallelogram, predict, with_rule};
pub use rule::{MAX_LOOK_BACK, NO_TRIANGLE, PredictionRule, SpatialPrediction, TriangleWeights};
pub use table::{PredictorTable, TableDeriver, decode_table, derive_table};
#[cfg(feature = "encode")]
pub use table::{TriangleChoices, build_table, encode_table};

/// Computes `out = values − prediction`, both component-major. `signed`: the values are differences. An empty
/// table predicts every vertex from the one before. Panics if lengths disagree or the table points outside.
#[cfg(feature = "encode")]
pub fn residual<W: Code>(
    values: &[W],
    components: usize,
    rule: impl Into<PredictionRule>,
    signed: bool,
    table: &PredictorTable,
    out: &mut [W],
) {
    assert_eq!(values.len(), out.len());
    let count = values.len() / components.max(1);
    assert!(values.len() == count * components && (table.is_empty() || table.len() == count), "one shape");
    with_rule!(rule.into(), rule => {
        for (values, out) in values.chunks_exact(count.max(1)).zip(out.chunks_exact_mut(count.max(1))) {
            for (v, o) in out.iter_mut().enumerate() {
                let entry = table.get(v).copied().unwrap_or([NO_TRIANGLE; 3]);
                let p = predict(values, v, entry, rule, signed).expect("a table that points inside");
                *o = values[v].wrapping_sub(p);
            }
        }
    });
}

/// Computes `values = residuals + prediction`, in place, vertex after vertex; 1 to 4 components. Fails if the
/// table points outside.
pub fn reconstruct<W: Code>(
    components: usize,
    rule: impl Into<PredictionRule>,
    signed: bool,
    table: &PredictorTable,
    values: &mut [W],
) -> Result<(), Corrupt> {
    reconstruct_on(Isa::get(), components, rule, signed, table, values)
}

fn reconstruct_on<W: Code>(
    isa: Isa,
    components: usize,
    rule: impl Into<PredictionRule>,
    signed: bool,
    table: &PredictorTable,
    values: &mut [W],
) -> Result<(), Corrupt> {
    let count = values.len() / components.max(1);
    if components > 4 || values.len() != count * components || !(table.is_empty() || table.len() == count) {
        return Err(Corrupt("table: another number of vertices"));
    }
    if count == 0 {
        return Ok(());
    }
    if table.out_of_range && !table.is_empty() {
        return Err(Corrupt("table: points outside"));
    }
    with_rule!(rule.into(), rule => match (components, table.is_empty()) {
        (_, true) => {
            for plane in values.chunks_exact_mut(count) {
                let mut before = W::default();
                for (v, value) in plane.iter_mut().enumerate() {
                    let p = if v == 0 { before } else { rule.combine(before, before, before, signed) };
                    *value = value.wrapping_add(p);
                    before = *value;
                }
            }
            Ok(())
        }
        (1, _) => reconstruct_planes::<W, _, 1>(isa, rule, signed, table, values),
        (2, _) => reconstruct_planes::<W, _, 2>(isa, rule, signed, table, values),
        (3, _) => reconstruct_planes::<W, _, 3>(isa, rule, signed, table, values),
        _ => reconstruct_planes::<W, _, 4>(isa, rule, signed, table, values),
    })
}

/// Reconstructs all components of a vertex together, so that each waits only for its own previous result.
fn reconstruct_planes<W: Code, R: CombineVectors, const N: usize>(
    isa: Isa,
    rule: R,
    signed: bool,
    table: &PredictorTable,
    values: &mut [W],
) -> Result<(), Corrupt> {
    if let Some(values) = W::codes16_mut(values) {
        let kernel = Reconstruction { rule, signed, table, planes: planes::<_, N>(values) };
        if run_vectors(isa, kernel).is_ok() {
            return Ok(());
        }
    }
    let mut planes: [&mut [W]; N] = planes(values);
    for (v, &entry) in table.iter().enumerate() {
        for plane in &mut planes {
            let p = predict(plane, v, entry, rule, signed).ok_or(Corrupt("table: points outside"))?;
            plane[v] = plane[v].wrapping_add(p);
        }
    }
    Ok(())
}

/// Splits component-major values.
fn planes<W, const N: usize>(values: &mut [W]) -> [&mut [W]; N] {
    let count = values.len() / N;
    let mut planes = values.chunks_exact_mut(count);
    std::array::from_fn(|_| planes.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::table::choices_table;
    use super::*;
    use proptest::prelude::*;

    /// Returns two triangles per cell of a grid, row by row.
    fn grid(w: u32, h: u32) -> Vec<u32> {
        let cell = |i: u32| {
            let v = i / (w - 1) * w + i % (w - 1);
            [v, v + 1, v + w, v + w, v + 1, v + w + 1]
        };
        (0..(w - 1) * (h - 1)).flat_map(cell).collect()
    }

    #[test]
    fn golden() {
        let indices = [0, 1, 2, 2, 1, 3];
        assert_eq!(derive_table(&indices, 4)[..], [[NO_TRIANGLE; 3], [1; 3], [2, 2, 2], [3, 1, 2]]);
        let table = derive_table(&indices, 4);
        let mut r = [0u16; 4];
        residual(&[10, 12, 20, 23], 1, SpatialPrediction::Parallelogram, false, &table, &mut r);
        assert_eq!(r, [10, 2, 10, 1]);
        residual(&[10, 12, 20, 23], 1, SpatialPrediction::Average, false, &table, &mut r);
        assert_eq!(r, [10, 2, 10, 7]);
        residual(&[10u16, 12, 20, 23], 1, SpatialPrediction::Average, false, &PredictorTable::new(), &mut r);
        assert_eq!(r, [10, 2, 8, 3]);
    }

    #[test]
    fn planes_are_predicted_exactly() {
        let (w, h) = (20, 15);
        let indices = grid(w, h);
        let n = (w * h) as usize;
        let frame: Vec<u16> =
            (0..2 * n).map(|i| ((i % n) as u32 % w * 7 + (i % n) as u32 / w * 11) as u16).collect();
        let table = build_table(&indices, n, 2, &[&frame, &frame]);
        let mut r = vec![0; 2 * n];
        residual(&frame, 2, SpatialPrediction::Parallelogram, false, &table, &mut r);
        let wrong = r[..n].iter().filter(|&&r| r != 0).count();
        assert!(wrong < (w + h) as usize + 4, "{wrong}");
    }

    #[test]
    fn tables_round_trip() {
        let indices = grid(30, 40);
        let mut seed = 1u32;
        let frame: Vec<u16> = (0..3 * 1200)
            .map(|_| {
                seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
                (seed >> 24) as u16
            })
            .collect();
        let table = build_table(&indices, 1200, 3, &[&frame]);
        let mut bytes = Vec::new();
        encode_table(&table, &indices, &mut bytes);
        assert_eq!(bytes.len(), 1201);
        bytes.push(9);
        assert_eq!(decode_table(&bytes, &indices, 1200), Ok((table.clone(), 1201)));
        for cut in 0..1201 {
            assert!(decode_table(&bytes[..cut], &indices, 1200).is_err());
        }
        for at in (0..1201).step_by(7) {
            for value in [0, 1, 2, 7, 31, 32, 255] {
                let mut bad = bytes.clone();
                bad[at] = value;
                let _ = decode_table(&bad, &indices, 1200);
            }
        }
        let mut bytes = Vec::new();
        encode_table(&derive_table(&indices, 1200), &indices, &mut bytes);
        assert_eq!(bytes, [0]);
        assert_eq!(decode_table(&bytes, &indices, 1200), Ok((derive_table(&indices, 1200), 1)));
    }

    #[test]
    fn empty_and_outside() {
        assert!(build_table::<u16>(&[], 0, 3, &[&[]]).is_empty());
        assert_eq!(derive_table(&[0, 1, 9, u32::MAX, 0, 1], 2)[..], [[NO_TRIANGLE; 3]; 2]);
        let mut values = [1u16, 2, 3];
        let bad: PredictorTable = [[1, 1, 1]; 3].into_iter().collect();
        assert!(reconstruct(1, SpatialPrediction::Parallelogram, false, &bad, &mut values).is_err());
        assert!(
            reconstruct(
                1,
                SpatialPrediction::Average,
                false,
                &[[NO_TRIANGLE; 3]; 2].into_iter().collect(),
                &mut values
            )
            .is_err()
        );
        reconstruct::<u16>(3, SpatialPrediction::Average, false, &PredictorTable::new(), &mut []).unwrap();
    }

    #[test]
    fn many_triangles_on_one_edge() {
        let indices: Vec<u32> = (2..300).flat_map(|v| [0, 1, v]).collect();
        let table = derive_table(&indices, 300);
        assert_eq!(table[299], [297, 299, 298]);
    }

    /// More vertices than the ring holds, and entries of every distance.
    #[test]
    fn far_back() {
        let n = 20_000usize;
        let mut seed = 1u32;
        let mut next = |limit: usize| {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            (seed >> 8) as usize % limit.max(1)
        };
        let table: PredictorTable = (0..n)
            .map(|v| match (v, next(9)) {
                (0, _) | (_, 0) => [NO_TRIANGLE; 3],
                (_, 1) => [v.min(4096) as u16; 3],
                _ => [0; 3].map(|_| 1 + next(v.min(4096)) as u16),
            })
            .collect();
        assert!(!table.out_of_range);
        let data: Vec<u16> = (0..4 * n).map(|_| next(65536) as u16).collect();
        for rule in [
            PredictionRule::Usual(SpatialPrediction::Parallelogram),
            PredictionRule::Usual(SpatialPrediction::Average),
            PredictionRule::Weighted(TriangleWeights { edge: 255, apex: -128 }),
            PredictionRule::Weighted(TriangleWeights { edge: 255, apex: 127 }),
        ] {
            for (components, signed) in [(1, false), (2, true), (3, false), (3, true), (4, true)] {
                let data = &data[..components * n];
                let mut r = vec![0; data.len()];
                residual(data, components, rule, signed, &table, &mut r);
                for isa in Isa::all() {
                    let mut back = r.clone();
                    reconstruct_on(isa, components, rule, signed, &table, &mut back).unwrap();
                    assert_eq!(back, data, "{isa:?} {rule:?} {components} {signed}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn reversible(triangles in proptest::collection::vec(0u32..50, 0..200), data in proptest::collection::vec(any::<u32>(), 150), signed: bool, average: bool, edge: u8, apex: i8) {
            let indices = &triangles[..triangles.len() / 3 * 3];
            let usual = if average { SpatialPrediction::Average } else { SpatialPrediction::Parallelogram };
            let mut deriver = TableDeriver::with_capacity(50, indices.len());
            let held = |d: &TableDeriver| (d.corners.first.capacity(), d.corners.corners.capacity());
            let (before, mut derived) = (held(&deriver), PredictorTable::with_capacity(50));
            for _ in 0..2 {
                deriver.derive(indices, 50, &mut derived);
                prop_assert_eq!(&derived, &choices_table(&TriangleChoices::new(indices, 50), |_, _| 0));
            }
            prop_assert_eq!((held(&deriver), derived.entries.capacity()), (before, 50));
            let table = build_table(indices, 50, 3, &[&data]);
            let mut bytes = Vec::new();
            encode_table(&table, indices, &mut bytes);
            prop_assert_eq!(decode_table(&bytes, indices, 50), Ok((table.clone(), bytes.len())));
            for table in [table, PredictorTable::new()] {
                for rule in [PredictionRule::Usual(usual), PredictionRule::Weighted(TriangleWeights { edge, apex })] {
                    for components in [1, 2, 3] {
                        let data = &data[..components * 50];
                        let mut r = vec![0; components * 50];
                        residual(data, components, rule, signed, &table, &mut r);
                        reconstruct(components, rule, signed, &table, &mut r).unwrap();
                        prop_assert_eq!(&r, data);
                    }
                    for components in 1..=4 {
                        let narrow: Vec<u16> = (0..components * 50).map(|i| data[i % 150] as u16).collect();
                        for isa in Isa::all() {
                            let mut r = vec![0; narrow.len()];
                            residual(&narrow, components, rule, signed, &table, &mut r);
                            reconstruct_on(isa, components, rule, signed, &table, &mut r).unwrap();
                            prop_assert_eq!(&r, &narrow, "{:?}", isa);
                        }
                    }
                }
            }
        }
    }
}
