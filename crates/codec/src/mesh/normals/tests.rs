//! All instruction sets give the same bits, and no bytes make the decoder panic.

use super::*;
use proptest::prelude::*;

const COUNT: usize = 21;

/// Reads a mesh with arbitrary contents from `bytes`.
fn mesh(bytes: &[u8], shape: MeshGeometry<'_>, flags: u8) -> Option<Normals> {
    let mut fixed = vec![flags];
    fixed.extend([0.01f32, 0.02].map(f32::to_le_bytes).as_flattened());
    fixed.extend(bytes);
    Normals::read(&fixed, shape, &mut ByteBudget::unlimited()).ok()
}

fn bits<const N: usize>(list: &[[f32; N]]) -> Vec<[u32; N]> {
    list.iter().map(|v| v.map(f32::to_bits)).collect()
}

/// Writes the requested directions of a moment.
fn written(normals: &Normals, isa: Isa, moment: InterpolatedFrame<'_>, asked: [bool; 2]) -> [Vec<u32>; 2] {
    let count = normals.vertices();
    let (mut n, mut t) = (vec![[9.0; 3]; count], vec![[9.0; 4]; count]);
    let mut work = normals.buffers();
    // Earlier contents do not matter.
    work.normals.fill([f32::NAN; 4]);
    work.tangents.fill([f32::NAN; 4]);
    let out = Directions {
        normals: asked[0].then_some(&mut n[..]),
        tangents: (asked[1] && normals.has_tangents()).then_some(&mut t[..]),
    };
    let corrections = normals.corrections(moment);
    normals.compute(isa, moment, Stage::Written(corrections, out), &mut work);
    [bits(&n).concat(), bits(&t).concat()]
}

/// Checks that all instruction sets write the same, together and separately, and that `build` agrees.
fn same_everywhere(normals: &Normals, moment: InterpolatedFrame<'_>) -> [Vec<u32>; 2] {
    let both = written(normals, Isa::Scalar, moment, [true; 2]);
    for isa in Isa::all() {
        assert_eq!(written(normals, isa, moment, [true; 2]), both);
        assert_eq!(written(normals, isa, moment, [true, false])[0], both[0]);
        assert_eq!(written(normals, isa, moment, [false, true])[1], both[1]);
    }
    let mut work = normals.buffers();
    let built = normals.build(moment, normals.has_tangents(), &mut work);
    let all = 0..normals.vertices();
    assert_eq!(bits(&all.clone().map(|v| built.normal(v)).collect::<Vec<_>>()).concat(), both[0]);
    if normals.has_tangents() {
        assert_eq!(bits(&all.map(|v| built.tangent(v)).collect::<Vec<_>>()).concat(), both[1]);
    }
    both
}

/// Also checks this against the functions that the encoder calls item by item.
fn check<P: IntegerPoint>(normals: &Normals, points: &[P], state: &[i16], transforms: &[Transform]) {
    let moment = InterpolatedFrame::from(NormalsFrame { points: P::kind(points), state, transforms });
    same_everywhere(normals, moment);
    let mut work = normals.buffers();
    normals.predict(points, transforms, &mut work);
    let predicted = work.clone();
    normals.correct_normals::<P>(state[..2 * normals.groups()].as_chunks().0, &mut work);
    normals.all_tangents::<P>(&mut work);
    let all = work.clone();
    let built = normals.build(moment, true, &mut work);
    assert_eq!((&built.work.normals, &built.work.tangents), (&all.normals, &all.tangents));
    for v in 0..normals.vertices() {
        let g = normals.group[v] as usize;
        let [x, y, z, _] = predicted.normals[g];
        let n = normals.corrected_normal::<P>(&predicted, g, [x, y, z], [state[2 * g], state[2 * g + 1]]);
        assert_eq!(n, built.normal(v));
        let Some(tangents) = &normals.tangents else { continue };
        let mut t = normals.tangent::<P>(v, n, &predicted);
        let turns = state[2 * normals.groups() + v];
        if turns != 0 {
            t = turned(t, n, cosine_and_sine(f32::from(turns) * normals.turn_step));
        }
        let [x, y, z, sign] = built.tangent(v);
        assert_eq!((t, sign), ([x, y, z], tangents.sign(v)));
    }
}

/// Checks that all ways agree between two frames, and that the ends are the frames.
fn check_interpolation<P: IntegerPoint>(
    normals: &Normals,
    points: [&[P]; 2],
    state: [&[i16]; 2],
    transforms: [&[Transform]; 2],
    t: f32,
) {
    let frame =
        |i: usize| NormalsFrame { points: P::kind(points[i]), state: state[i], transforms: transforms[i] };
    let frames = [0, 1].map(frame);
    let towards = |t: f32| InterpolatedFrame::from(frames[0]).towards(frames[1], t);
    let there = same_everywhere(normals, towards(t));
    for n in there[0].as_chunks().0.iter().map(|n: &[u32; 3]| n.map(f32::from_bits)) {
        assert!(n.iter().all(|x| x.abs() < 1.001));
    }
    for (t, frame) in [(0.0, frames[0]), (1.0, frames[1])] {
        let at_end = same_everywhere(normals, towards(t));
        let exact = same_everywhere(normals, frame.into());
        for (a, b) in at_end.iter().flatten().zip(exact.iter().flatten()) {
            let [a, b] = [*a, *b].map(f32::from_bits);
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn all_ways_give_the_same_bits(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        flags in any::<u8>(),
        triangles in prop::collection::vec(prop::array::uniform3(0..COUNT as u32), 0..60),
        point in prop::collection::vec(0..COUNT as u32, COUNT),
        uvs in prop::collection::vec(prop::array::uniform2(-2f32..2.0), COUNT),
        narrow in prop::collection::vec(prop::array::uniform4(any::<i16>()), COUNT),
        // Within the range of decoded points.
        wide in prop::collection::vec(prop::array::uniform4(4096 - (1i32 << 24)..(1 << 24) - 4096), COUNT),
        seldom in 0u8..4,
        numbers in prop::collection::vec((any::<u8>(), any::<i16>()), 3 * COUNT),
        t in 0f32..1.0,
        turns in prop::collection::vec(prop::array::uniform4(-1f32..1.0), 6),
        bones in prop::collection::vec(0..=3u32, COUNT),
        rigid in any::<bool>(),
    ) {
        let turn = |rotation: &[f32; 4]| Transform { rotation: *rotation, ..Transform::IDENTITY };
        let transforms: Vec<Transform> = turns.iter().map(turn).collect();
        // One bone stays, as the second half lacks it.
        let transforms = [&transforms[..3], &transforms[4..]];
        let rest = rigid.then_some(PointBones { bones: &bones, rigid: 3 });
        let flags = if rigid { flags | TURNED << 3 } else { flags };
        let shape = MeshGeometry {
            triangles: &triangles,
            point: &point,
            uvs: &uvs,
            grid: None,
            first: Points::Narrow(&narrow),
            point_bones: rest,
        };
        if let Some(normals) = mesh(&bytes, shape, flags) {
            prop_assert_eq!(normals.turned.is_some(), rigid);
            let states = [1, 7].map(|by| -> Vec<i16> {
                let own = numbers[..normals.state_len()].iter();
                own.map(|(when, n)| if when / by % 4 < seldom { n / i16::from(by) } else { 0 }).collect()
            });
            check(&normals, &narrow, &states[0], transforms[0]);
            check(&normals, &wide, &states[1], transforms[1]);
            let state = [&states[0][..], &states[1]];
            let turned_over: Vec<_> = narrow.iter().rev().copied().collect();
            check_interpolation(&normals, [&narrow[..], &turned_over], state, transforms, t);
            let turned_over: Vec<_> = wide.iter().rev().copied().collect();
            check_interpolation(&normals, [&wide[..], &turned_over], state, transforms, t);
        }
    }
}
