//! The reader of glTF files; every sample is read, and clips are written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_fuzz::{file, walk};
use meshreel_read::{ReadOptions, gltf};
use meshreel_scene::Scene;

fuzz_target!(|data: &[u8]| {
    let options = ReadOptions::default();
    let Ok((scene, _)) = gltf::open(&file("a.glb", data), &options) else {
        return;
    };
    walk(&scene);
    let values: usize = (scene.clips.iter()).map(|clip| clip.tracks.len().saturating_mul(clip.samples)).sum();
    if scene.clips.is_empty() || values > 10_000 {
        return;
    }
    let clips = Scene {
        skeletons: scene.skeletons.clone(),
        clips: scene.clips.clone(),
        unit: scene.unit,
        ..Scene::default()
    };
    let back = file("b.glb", b"");
    // Times that are equal in 32 bits cannot be written.
    if meshreel_write::glb::write(&back, &clips, &[], &mut |_, _| ()).is_ok() {
        let (again, _) = gltf::open(&back, &options).expect("what was written");
        assert_eq!(again.skeletons.len(), clips.skeletons.len());
    }
});
