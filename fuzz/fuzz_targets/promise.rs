//! The promise: whatever scene is compiled, the file verifies against it. Errors are fine, but not that a promise was not kept.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel::{Limits, Reel};
use meshreel_check::verify;
use meshreel_codec::block::Format;
use meshreel_compile::{Error, MethodChoice, Options, Silent, Tolerance, compile};
use meshreel_fuzz::{Numbers, file, scene::scene};
use meshreel_scene::sample::{Channels, Range};

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let options = options(&mut numbers);
    let scene = scene(&mut numbers);
    let target = file("out.reel", &[]);
    match compile(&scene, Vec::new(), &target, &options, &meshreel_check::reopen, &Silent) {
        Ok(_) => {}
        Err(error @ Error::Promise { .. }) => panic!("{error}"),
        Err(_) => return,
    }
    let reel = Reel::open(&target, &Limits::default()).expect("our own file");
    let report = verify(&scene, &reel, &|_, _| ()).expect("the scene was readable");
    assert!(report.ok, "{report:#?}\n{options:#?}");
});

fn options(numbers: &mut Numbers) -> Options {
    let tolerances = [
        Tolerance::Relative(1e-4),
        Tolerance::Absolute(0.01),
        Tolerance::Absolute(10.0),
        Tolerance::Absolute(1e-9),
        Tolerance::Relative(0.1),
    ];
    Options {
        tolerance: tolerances[numbers.below(5)],
        normal_tolerance: [1.0, 0.02, 20.0][numbers.below(3)],
        uv_tolerance: [1.0 / 4096.0, 1e-7, 0.2][numbers.below(3)],
        colour_bits: [8, 1, 16][numbers.below(3)],
        channels: Channels {
            normals: !numbers.bit(),
            uvs: !numbers.bit(),
            colours: !numbers.bit(),
            attributes: true,
        },
        method: [
            MethodChoice::Auto,
            MethodChoice::Static,
            MethodChoice::Soft,
            MethodChoice::Fluid,
        ][numbers.below(4) * numbers.below(2)],
        block: [Format::Store, Format::Lz4, Format::Zstd, Format::Deflate][numbers.below(4)],
        index_every: Some([16, 1, 2, 3, 64][numbers.below(5)]),
        smooth_angle: [None, Some(0.0), Some(30.0), Some(180.0)][numbers.below(4)],
        cycle: numbers.below(8) == 1,
        remesh: numbers.below(4) == 1,
        fps: [None, None, Some(30.0), Some(0.7)][numbers.below(4)],
        range: [
            None,
            None,
            Some(Range::Frames(1, 3)),
            Some(Range::Seconds(0.0, 1.0)),
        ][numbers.below(4)],
        effort: 1 + numbers.below(9) as u32,
        jobs: 1,
        strip: numbers.below(4) == 1,
        ..Options::default()
    }
}
