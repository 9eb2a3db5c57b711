//! Rigs: any bytes give joints and weights that sum up to 1, and move all vertices, or are refused.
#![no_main]
use libfuzzer_sys::fuzz_target;
use meshreel_codec::mesh::rig::{AffineMatrix, decode};

fuzz_target!(|data: (u8, &[u8])| {
    let (vertices, bytes) = data;
    let vertices = u32::from(vertices);
    let indices: Vec<u32> = (2..vertices).flat_map(|v| [v - 2, v - 1, v]).collect();
    let Ok(rig) = decode(bytes, vertices, &indices) else {
        return;
    };
    for v in 0..vertices as usize {
        let (count, sum) = rig
            .influences(v)
            .inspect(|(joint, _)| assert!(*joint < rig.joints.len()))
            .fold((0, 0.0), |(n, sum), (_, w)| (n + 1, sum + w));
        assert!(count == 0 || (sum - 1.0f32).abs() < 1e-4);
    }
    let mut matrices = vec![AffineMatrix::default(); rig.joints.len()];
    rig.matrices(&[AffineMatrix::default(); 4], &mut matrices);
    let mut out = vec![[0.0; 3]; vertices as usize];
    rig.positions(&matrices, &mut out);
    let normals = out.clone();
    rig.normals(&matrices, &normals, &mut out);
});
