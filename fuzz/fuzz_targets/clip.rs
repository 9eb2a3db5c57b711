//! Clips: what rides along; tables of layers; the streamed and the random-access form behind a fixed
//! skeleton, the latter in one piece and with its header apart, and the chunks of skeletons and clips;
//! everything that opens is decoded and sampled, in poses and joint by joint.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::clip::layer;
use meshreel_codec::clip::random_access::{InterpolationWeights, RandomAccess};
use meshreel_codec::clip::record::{SkeletonRecord, decode_clip, decode_skeleton};
use meshreel_codec::clip::scalars;
use meshreel_codec::clip::streamed::{Scratch, StreamedClip};
use meshreel_codec::transform::Transform;

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    // A skeleton of the input's own, or one that is known to be whole.
    let (skeleton, bytes) = match first & 1 {
        0 => (fixed_skeleton(), rest),
        _ => {
            let at = rest.len().min(usize::from(first >> 1));
            match decode_skeleton(&rest[..at]) {
                Ok(skeleton) => (skeleton, &rest[at..]),
                Err(_) => return,
            }
        }
    };
    if let Ok(extras) = scalars::decode(bytes) {
        for track in &extras.tracks {
            track.values(extras.samples as usize / 2);
        }
    }
    if let Ok(table) = layer::decode(bytes) {
        let layers = table.layers.iter().filter(|layer| layer.samples.max_count(table.samples) < 10_000);
        layers.for_each(|layer| drop(layer.samples.list(table.samples)));
    }
    let bytes = decode_clip(bytes).map_or(bytes, |(_, stored)| stored);
    if let Ok(form) = RandomAccess::open(&skeleton.skeleton(), bytes) {
        sample(&form);
    }
    // The header of a layer stands in a table, what follows it in a chunk.
    if let Ok((header, used)) = layer::take_length_prefixed(bytes)
        && let Ok(form) = RandomAccess::open_parts(&skeleton.skeleton(), header, &bytes[used..])
    {
        sample(&form);
    }
    let Ok(stored) = StreamedClip::open(&skeleton.skeleton(), bytes) else {
        return;
    };
    let plan = &stored.layout;
    let (mut scratch, mut apart) = (Scratch::new(plan), Scratch::new(plan));
    let mut pose = vec![Transform::IDENTITY; skeleton.parents.len()];
    for s in 0..plan.segments().min(8) {
        if stored.decode(s, &mut scratch).is_ok() {
            let length = plan.key(s + 1) - plan.key(s);
            for i in 0..=length {
                plan.pose(scratch.sample(plan, i), &mut pose);
            }
            // Samples one by one, in another order, are the same.
            assert!(stored.begin_segment(s, &mut apart).is_ok());
            for i in (0..=length).map(|i| i * 7919 % (length + 1)) {
                assert_eq!(stored.decode_sample((s, i), &mut apart), Ok(scratch.sample(plan, i)));
            }
        }
    }
});

/// Poses and joints at samples, between two of a segment and across segments.
fn sample(form: &RandomAccess) {
    let mut pose = form.layout.constant_pose().to_vec();
    let last = form.layout.header.samples as usize;
    for i in 0..last.min(64) {
        let next = (i + 1) % last;
        form.prefetch(i, next);
        form.pose(i, next, &InterpolationWeights::same(0.5), &mut pose[..]);
        for j in 0..pose.len().min(8) {
            let mut joint = form.layout.constant_pose()[j];
            form.joint(i, next, 0.5, j, &mut joint);
            assert_eq!(joint.rotation.map(f32::to_bits), pose[j].rotation.map(f32::to_bits));
        }
    }
}

fn fixed_skeleton() -> SkeletonRecord {
    let mut rest = Transform::IDENTITY;
    rest.translation = [0.0, 10.0, 1.0];
    SkeletonRecord {
        name: String::new(),
        names: vec![String::new(); 5],
        parents: vec![u32::MAX, 0, 1, 0, 3],
        rest: vec![rest; 5],
        shell: vec![3.0; 5],
        orders: Vec::new(),
        tolerance: Vec::new(),
        end_sites: vec![Vec::new(); 5],
    }
}
