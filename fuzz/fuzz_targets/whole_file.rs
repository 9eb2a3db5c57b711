//! A whole `.reel` file through the runtime, behind its checksums: opened, and frames decoded in two orders,
//! which must agree.
#![no_main]

use std::collections::HashMap;
use std::sync::Arc;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use meshreel::{FrameDecoder, Limits, Reel};
use meshreel_fuzz::reel::{mutate, seal};

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    if !seal(&mut bytes) {
        return;
    }
    // A small file can ask for much, up to the limits, and does so honestly: a million equal values take a
    // few bytes.
    let mut limits = Limits::default();
    limits.format.max_chunk = 1 << 20;
    limits.max_vertices = 1 << 16;
    limits.max_memory = 64 << 20;
    let bytes = Arc::new(bytes);
    limits.attributes = false;
    let plain = Reel::from_source(bytes.clone(), &limits);
    let mut plain = plain.and_then(|reel| FrameDecoder::new(&reel)).ok();
    limits.attributes = true;
    let Ok(reel) = Reel::from_source(bytes, &limits) else {
        // What is wrong may be attributes alone.
        if let Some(plain) = &mut plain {
            (0..plain.reel().frame_count().min(8)).for_each(|f| drop(plain.decode(f)));
            request_all(plain);
        }
        return;
    };
    for mesh in 0..reel.description().meshes.len() {
        let _ = reel.indices(mesh);
        let _ = reel.source_map(mesh);
    }
    let _ = reel.all_part_attributes();
    let Ok(mut decoder) = FrameDecoder::new(&reel) else {
        return;
    };
    request_all(&decoder);
    let frames = reel.frame_count();
    let last = frames.saturating_sub(1);
    let jumps = [frames / 2, 0, 1, last, frames / 3, 2, frames / 2, last / 2];
    let steps = 0..frames.min(8);
    let mut before: HashMap<usize, Option<u64>> = HashMap::new();
    for frame in jumps.into_iter().filter(|&f| f < frames).chain(steps) {
        let shown = decoder.decode(frame).is_ok().then(|| request_all(&decoder));
        assert_eq!(*before.entry(frame).or_insert(shown), shown, "frame {frame}");
        // Without animated attributes what could be decoded can be, and shows the same positions.
        if shown.is_some()
            && let Some(plain) = &mut plain
        {
            plain.decode(frame).expect("less of the same");
            for mesh in 0..reel.description().meshes.len() {
                assert_eq!(points(plain, mesh), points(&decoder, mesh), "frame {frame}");
            }
        }
    }
});

/// Bits of the positions of a mesh.
fn points(decoder: &FrameDecoder, mesh: usize) -> Vec<u32> {
    let view = decoder.mesh(mesh);
    let mut out = vec![0.0f32; 3 * view.vertex_count()];
    let _ = view.positions_into(&mut out);
    out.iter().map(|v| v.to_bits()).collect()
}

/// Asks for all there is. A checksum of it.
fn request_all(decoder: &FrameDecoder) -> u64 {
    let description = decoder.reel().description();
    let mut all: Vec<u8> = Vec::new();
    for node in 0..description.nodes.len() {
        all.push(decoder.visible(node).into());
        let world = decoder.world(node);
        all.extend(world.as_flattened().iter().flat_map(|v| v.to_bits().to_le_bytes()));
    }
    for mesh in 0..description.meshes.len() {
        let view = decoder.mesh(mesh);
        let vertices = view.vertex_count();
        assert!(view.indices().iter().all(|&i| (i as usize) < vertices));
        for range in view.materials() {
            assert!((range.first + range.count) as usize <= view.indices().len());
        }
        all.extend(view.indices().iter().flat_map(|i| i.to_le_bytes()));
        for frame in 0..decoder.reel().frame_count().min(20) as u32 {
            for range in view.visible_ranges([frame, frame + 1], None) {
                assert!((range.first + range.count) as usize <= view.indices_by_visibility().len());
            }
        }
        for level in 1..view.lod_count() {
            let lod = view.lod(level);
            assert!(lod.indices.iter().all(|&i| (i as usize) < vertices));
            assert_eq!(lod.becomes.len(), vertices);
            for range in lod.materials {
                assert!((range.first + range.count) as usize <= lod.indices.len());
            }
        }
        let mut out = vec![0.0; 4 * vertices];
        let mut keep = |given: bool, out: &[f32]| {
            if given {
                all.extend(out.iter().flat_map(|v| v.to_bits().to_le_bytes()));
            }
        };
        let (three, two) = (3 * vertices, 2 * vertices);
        keep(view.positions_into(&mut out[..three]).is_ok(), &out[..three]);
        keep(view.normals_into(&mut out[..three]).is_ok(), &out[..three]);
        keep(view.tangents_into(&mut out).is_ok(), &out);
        for set in 0..2 {
            keep(view.uvs_into(set, &mut out[..two]).is_ok(), &out[..two]);
            keep(view.colours_into(set, &mut out).is_ok(), &out);
        }
    }
    meshreel_format::checksum(&all)
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(data, size, max_size, seed)
});
