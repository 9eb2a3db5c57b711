//! The promise: whatever scene is compiled, the file verifies against it. Errors are fine, but not that a
//! promise was not kept.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel::{Limits, Reel};
use meshreel_check::verify;
use meshreel_compile::{Error, Silent, compile};
use meshreel_fuzz::options::{more, options};
use meshreel_fuzz::scene::scene;
use meshreel_fuzz::{Numbers, file};

fuzz_target!(|data: &[u8]| {
    let mut numbers = Numbers(data);
    let options = options(&mut numbers);
    let scene = scene(&mut numbers);
    let options = more(options, &mut numbers);
    let target = file("out.reel", &[]);
    match compile(scene.clone(), Vec::new(), &target, &options, &meshreel_check::reopen, &Silent) {
        Ok(_) => {}
        Err(error @ Error::Promise { .. }) => panic!("{error}"),
        Err(_) => return,
    }
    let reel = Reel::open(&target, &Limits::default()).expect("our own file");
    let report = verify(&scene, &reel, &|_, _| ()).expect("the scene was readable");
    assert!(report.ok, "{report:#?}\n{options:#?}");
});
