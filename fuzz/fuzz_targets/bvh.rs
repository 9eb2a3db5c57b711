//! The reader of BVH files; what it reads is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_read::{ReadOptions, bvh};
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let read = |bytes: &[u8]| bvh::parse(Path::new("a.bvh"), bytes, &ReadOptions::default());
    let Ok((scene, _)) = read(data) else { return };
    let (skeleton, clip) = (&scene.skeletons[0], &scene.clips[0]);
    if skeleton.joints.len() * clip.samples < 10_000 {
        let text = meshreel_write::bvh::text(skeleton, clip, &mut Vec::new());
        let (again, _) = read(text.as_bytes()).expect("what was written");
        assert_eq!(again.skeletons[0].joints.len(), skeleton.joints.len());
        assert_eq!(again.clips[0].samples, clip.samples);
    }
});
