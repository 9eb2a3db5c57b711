//! A whole `.reel` file through the runtime, with checksums made right: opened, and frames decoded in an order that jumps.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use meshreel::{FrameDecoder, Limits, Reel};
use meshreel_fuzz::seal;

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    if !seal(&mut bytes) {
        return;
    }
    let mut limits = Limits::default();
    limits.max_memory = 256 << 20;
    let Ok(reel) = Reel::from_source(Arc::new(bytes), &limits) else {
        return;
    };
    let meshes = reel.description().meshes.len();
    for mesh in 0..meshes {
        let _ = reel.indices(mesh);
        let _ = reel.source_map(mesh);
    }
    let Ok(mut decoder) = FrameDecoder::new(&reel) else {
        return;
    };
    let frames = reel.frame_count();
    for frame in [frames / 2, 0, 1, frames.saturating_sub(1), frames / 3] {
        if frame >= frames || decoder.decode(frame).is_err() {
            continue;
        }
        for node in 0..reel.description().nodes.len() {
            let _ = (decoder.visible(node), decoder.world(node));
        }
        for mesh in 0..meshes {
            let view = decoder.mesh(mesh);
            let vertices = view.vertex_count();
            assert!(view.indices().iter().all(|&i| (i as usize) < vertices));
            let mut out = vec![0.0; 4 * vertices];
            let _ = view.positions_into(&mut out[..3 * vertices]);
            let _ = view.normals_into(&mut out[..3 * vertices]);
            let _ = view.tangents_into(&mut out);
        }
    }
});
