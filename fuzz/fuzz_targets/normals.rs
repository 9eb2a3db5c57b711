//! Predicted normals: any bytes as the static part and as a unit, over any mesh.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::Points;
use meshreel_codec::mesh::byte_budget::ByteBudget;
use meshreel_codec::mesh::normals::{
    Directions, InterpolatedFrame, MeshGeometry, Normals, NormalsFrame, PointBones,
};
use meshreel_codec::transform::Transform;
use meshreel_fuzz::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let vertices = 1 + usize::from(numbers.u8() % 32);
    let point: Vec<u32> = (0..vertices).map(|v| u32::from(numbers.u8()) % (v as u32 + 1)).collect();
    let mut vertex = || u32::from(numbers.u8()) % vertices as u32;
    let triangles: Vec<[u32; 3]> = (0..2 * vertices).map(|_| [vertex(), vertex(), vertex()]).collect();
    let uvs: Vec<[f32; 2]> = (0..vertices).map(|_| [numbers.u16(), numbers.u16()].map(f32::from)).collect();
    let points: Vec<[i16; 4]> = (0..vertices)
        .map(|_| [numbers.u16() as i16, numbers.u16() as i16, numbers.u16() as i16, 0])
        .collect();
    let unit = usize::from(numbers.u16());
    let rest = numbers.rest();
    let (unit, head) = rest.split_at(unit.min(rest.len()));
    let bones: Vec<u32> = points.iter().map(|p| p[0] as u16 as u32 % 3).collect();
    let points_at_rest = PointBones { bones: &bones, rigid: 2 };
    let rest = (points[0][1] % 2 == 0).then_some(points_at_rest);
    let first = Points::Narrow(&points);
    let shape = MeshGeometry {
        triangles: &triangles,
        point: &point,
        uvs: &uvs,
        grid: None,
        first,
        point_bones: rest,
    };
    let Ok(normals) = Normals::read(head, shape, &mut ByteBudget::unlimited()) else {
        return;
    };
    let mut states = vec![vec![0; normals.state_len()]; 3];
    let (key, others) = states.split_at_mut(1);
    let mut out: Vec<&mut [i16]> = others.iter_mut().map(Vec::as_mut_slice).collect();
    if normals.decode(unit, &[&key[0]], &mut out).is_ok() {
        let mut work = normals.buffers();
        let backwards: Vec<[i16; 4]> = points.iter().rev().copied().collect();
        let t = f32::from(points[0][0]) / 65536.0;
        let transforms = [points[0], backwards[0]]
            .map(|p| Transform { rotation: p.map(|x| f32::from(x) / 128.0), ..Transform::IDENTITY });
        let first =
            NormalsFrame { points: Points::Narrow(&points), state: &states[2], transforms: &transforms };
        let next = NormalsFrame {
            points: Points::Narrow(&backwards),
            state: &states[1],
            transforms: &transforms[1..],
        };
        for moment in [first.into(), InterpolatedFrame::from(first).towards(next, t)] {
            let tangents = normals.has_tangents();
            let (mut n, mut t) = (vec![[0.0; 3]; vertices], vec![[0.0; 4]; vertices]);
            let out = Directions { normals: Some(&mut n), tangents: tangents.then_some(&mut t[..]) };
            normals.write(moment, &mut work, out);
            let built = normals.build(moment, tangents, &mut work);
            for v in 0..vertices {
                let [x, y, z] = built.normal(v);
                // An edge that all but lies along the normal leaves few bits of the direction at right angles
                // to it, by which a state turns it.
                assert!((x * x + y * y + z * z - 1.0).abs() < 5e-3, "{x} {y} {z}");
                assert_eq!(n[v], [x, y, z]);
                if tangents {
                    assert!(t[v].iter().all(|x| x.is_finite()));
                    assert_eq!(t[v], built.tangent(v));
                }
            }
        }
    }
});
