//! A rig of a mesh of the sample, made directly by `codec`.

use meshreel_codec::clip::space::AffineMatrix;
use meshreel_codec::entropy::range;
use meshreel_codec::mesh::encode::{EncodeBuffers, Encoder, Options, PositionSource};
use meshreel_codec::mesh::hierarchy;
use meshreel_codec::mesh::rig::{RigContents, encode, triangles};
use meshreel_codec::mesh::skin::weights;
use meshreel_codec::mesh::skin::weights::SkinWeights;
use meshreel_codec::quantize::lattice::Extent;

struct BindPose<'a>(&'a [[f32; 3]]);

impl PositionSource for BindPose<'_> {
    fn positions(&self, _: u32, out: &mut [[f32; 3]]) {
        out.copy_from_slice(self.0);
    }
}

/// Returns the chunk of a rig for mesh `mesh` with these triangles: joints of skeleton 0 move its vertices, a
/// joint and the next one by half each.
pub fn chunk(mesh: u32, vertices: u32, indices: &[u32], joints: u32) -> Vec<u8> {
    let point_of: Vec<u32> = (0..vertices).collect();
    let bind: Vec<[f32; 3]> = (0..vertices).map(|v| [v as f32, (v % 5) as f32, 1.0]).collect();
    let levels = hierarchy::build(vertices, &triangles(indices, &point_of));
    let extent = Extent { low: [0.0; 3], high: [vertices as f32, 5.0, 1.0], tolerance: 1e-2, axes: 3 };
    let settings = Options {
        effort: 3,
        packed: false,
        restart: 1,
        choice: None,
        own_tables: false,
        ..Options::default()
    };
    let mut work = EncodeBuffers::<i16>::default();
    let source = BindPose(&bind);
    let made = Encoder::new(levels.clone(), 1, extent, settings, &source, &mut work).unwrap();
    let mut all = SkinWeights::new(3);
    for &point in &levels.order {
        let joint = (point % (joints - 1)) as u16;
        all.push(&[(joint, 4), (joint + 1, 4)], false);
    }
    let mut coded = Vec::new();
    let out = range::Encoder::new(&mut coded);
    let (_, out) = weights::code(out, &levels, joints, 3, Some(&all)).unwrap();
    out.finish();
    let numbers: Vec<u32> = (0..joints).collect();
    let mut inverse = AffineMatrix::default();
    (0..3).for_each(|r| inverse[r][r] = 1.0);
    let parts = RigContents {
        skeleton: 0,
        joints: &numbers,
        inverse: &vec![inverse; joints as usize],
        point_of: &point_of,
        bind: made.static_bytes(),
        depth: 3,
        weights: &coded,
        dual: &[],
        first_sample: Some((0, 2)),
        tolerance: 0.5,
        error: 0.25,
    };
    let (mut own, mut out) = (Vec::new(), Vec::new());
    encode(&parts, &mut own);
    meshreel_codec::topology::lod::write_entry(mesh, &own, &mut out);
    out
}
