//! Predicted normals: any bytes as the static part and as a unit, over any mesh.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::mesh::normals::{Normals, Shape};
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
    let shape = Shape { triangles: &triangles, point: &point, uvs: &uvs };
    let Ok(normals) = Normals::read(head, shape) else {
        return;
    };
    let mut states = vec![vec![0; normals.state_len()]; 3];
    let (key, others) = states.split_at_mut(1);
    let mut out: Vec<&mut [i16]> = others.iter_mut().map(Vec::as_mut_slice).collect();
    if normals.decode(unit, &[&key[0]], &mut out).is_ok() {
        let mut work = normals.work();
        normals.set_uvs(&uvs, &mut work);
        let built = normals.build(&points, &states[2], &mut work);
        for v in 0..vertices {
            let [x, y, z] = built.normal(v);
            assert!((x * x + y * y + z * z - 1.0).abs() < 1e-3);
            if normals.has_tangents() {
                assert!(built.tangent(v).iter().all(|x| x.is_finite()));
            }
        }
    }
});
