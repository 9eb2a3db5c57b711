//! Clips of keys: any bytes over small skeletons; what is read plays, any way, with unit rotations.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::clip::Skeleton;
use meshreel_codec::clip::curve::{Curves, Playhead};
use meshreel_codec::transform::Transform;
use meshreel_fuzz::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let joints = usize::from(numbers.u8() % 6);
    let times = [numbers.u16(), numbers.u16(), numbers.u16()];
    let parents: Vec<u32> = (0..joints as u32).map(|j| j.wrapping_sub(1)).collect();
    let (rest, shell) = (vec![Transform::IDENTITY; joints], vec![1.0; joints]);
    let skeleton = Skeleton {
        parents: &parents,
        rest: &rest,
        shell: &shell,
    };
    let Ok(curves) = Curves::read(numbers.rest(), &skeleton) else {
        return;
    };
    let mut playhead = Playhead::new(&curves);
    let mut pose = rest.clone();
    for time in times.map(|t| f32::from(t) / 7.0) {
        playhead.pose(&curves, &skeleton, time, &mut pose);
        for joint in &pose {
            let square: f32 = joint.rotation.iter().map(|v| v * v).sum();
            assert!((square - 1.0).abs() < 1e-5);
        }
        let mut fresh = Playhead::new(&curves);
        let mut again = rest.clone();
        fresh.pose(&curves, &skeleton, time, &mut again);
        assert_eq!(bits(&pose), bits(&again), "any order gives the same");
    }
});

fn bits(pose: &[Transform]) -> Vec<u32> {
    let numbers = pose.iter().flat_map(|t| {
        let vectors = t.translation.iter().chain(&t.scale);
        t.rotation
            .iter()
            .chain(vectors)
            .copied()
            .collect::<Vec<_>>()
    });
    numbers.map(f32::to_bits).collect()
}
