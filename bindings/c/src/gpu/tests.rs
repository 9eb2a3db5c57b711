//! Carries out a plan with the CPU twin of the shader, and compares its vertices with those of the runtime.

use super::*;
use crate::decoder::{mr_decoder_decode, mr_decoder_frame, mr_decoder_free, mr_decoder_new};
use crate::frame::{mr_frame_floats, mr_frame_mesh, mr_mesh_state};
use crate::reel::{mr_reel_free, mr_reel_open};
use crate::vertex::{mr_attribute, mr_channel, mr_format};
use meshreel_gpu::twin::BoundMesh;
use std::ffi::CString;
use std::ptr::{null, null_mut};

fn ok(status: mr_status) {
    assert_eq!(status, mr_status::Ok);
}

#[test]
fn a_plan_gives_the_vertices_of_the_frame() {
    for name in ["flag_small.reel", "robot_small.reel", "wall_fast.reel"] {
        // SAFETY: every pointer is to a live value of the given size.
        unsafe { carries_out(name) }
    }
}

/// # Safety
/// None: all pointers are from the interface itself.
unsafe fn carries_out(name: &str) {
    let path = format!("{}/../../testdata/golden/v0/{name}", env!("CARGO_MANIFEST_DIR"));
    let path = CString::new(path).unwrap();
    let (mut reel, mut decoder, mut frame, mut plan) = (null_mut(), null_mut(), null(), null_mut());
    let attributes = [mr_attribute {
        channel: mr_channel::Position as u32,
        set: 0,
        format: mr_format::F32x3 as u32,
        offset: 0,
    }];
    let layout = mr_vertex_layout { attributes: attributes.as_ptr(), count: 1, stride: 12 };
    // SAFETY: see above.
    unsafe {
        ok(mr_reel_open(path.as_ptr(), null(), &raw mut reel));
        ok(mr_decoder_new(reel, &raw mut decoder));
        ok(mr_reel_free(reel));
        ok(mr_decoder_decode(decoder, 3));
        ok(mr_decoder_frame(decoder, &raw mut frame));
        ok(mr_gpu_plan_new(frame, &raw const layout, null(), &raw mut plan));
        let own = &mut *plan;
        let mut ring = vec![0; 2 * own.plan.slot_words + own.plan.static_words];
        let (slots, still) = ring.split_at_mut(2 * own.plan.slot_words);
        ok(mr_gpu_plan_slot(plan, frame, 0, slots.as_mut_ptr(), slots.len() / 2));
        ok(mr_gpu_plan_still(plan, frame, still.as_mut_ptr(), still.len()));
        ok(mr_gpu_plan_begin(plan));
        let moment = mr_gpu_moment { first: 0, second: 0, slots: 2, vertices: 0 };
        let mut shown = 0;
        for node in 0..(*frame).reel().description().nodes.len() as u32 {
            let mut state: mr_mesh_state = std::mem::zeroed();
            state.size = size_of::<mr_mesh_state>();
            if mr_frame_mesh(frame, node, &raw mut state) != mr_status::Ok {
                continue;
            }
            let mut bytes = [0u8; PARAMS_BYTES];
            ok(mr_gpu_plan_show(
                plan,
                frame,
                node,
                &raw const moment,
                bytes.as_mut_ptr().cast(),
                PARAMS_BYTES,
            ));
            let params: Params = bytemuck::pod_read_unaligned(&bytes);
            let batch = own.batches.placements[state.mesh as usize].batch;
            let fixed = own.batches.fixed_words(&own.plan, batch);
            let variant = own.plan.meshes[state.mesh as usize].variant();
            let bound = BoundMesh { params: &params, variant, ring: &ring, fixed: &fixed, decoded: &[] };
            let sizes = &own.batches.batches[batch];
            let (scratch, mut out) = (vec![0.0; sizes.scratch], vec![0; sizes.vertices]);
            bound.vertices(&own.layout, &scratch, &mut out);
            let count = 3 * state.vertices as usize;
            let mut wanted = vec![0.0f32; count];
            ok(mr_frame_floats(frame, node, mr_channel::Position as u32, 0, wanted.as_mut_ptr(), count));
            let made = &out[params.out as usize..][..count];
            let size = state.bounds.iter().fold(1e-6f32, |size, v| size.max(v.abs()));
            for (made, wanted) in made.iter().zip(&wanted) {
                assert!((f32::from_bits(*made) - wanted).abs() <= 2e-6 * size, "{name}, node {node}");
            }
            shown += 1;
        }
        assert!(shown > 0, "{name}");
        let (mut work, mut dispatches) = (0, 0);
        ok(mr_gpu_plan_work(plan, null_mut(), 0, &raw mut work));
        ok(mr_gpu_plan_dispatches(plan, null_mut(), 0, &raw mut dispatches));
        assert!(work > 0 && dispatches > 0);
        let refused = mr_gpu_plan_slot(plan, frame, 0, ring.as_mut_ptr(), 1);
        assert_eq!(refused, mr_status::Misuse);
        ok(mr_gpu_plan_free(plan));
        ok(mr_decoder_free(decoder));
    }
}
