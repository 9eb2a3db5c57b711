//! Spans reach the profiler of the process. A test program of its own, as a process has only one.

mod common;

use common::sample;
use meshreel::stream::{Profiler, set_profiler};
use meshreel::{Command, Options, Player};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::{Arc, Mutex};

/// Counts spans by name, and how deep they are nested.
#[derive(Default)]
struct Counter {
    spans: Mutex<BTreeMap<String, u32>>,
    depth: Mutex<i32>,
}

impl Profiler for Counter {
    fn begin(&self, name: &'static CStr) {
        *self.spans.lock().unwrap().entry(name.to_str().unwrap().into()).or_default() += 1;
        *self.depth.lock().unwrap() += 1;
    }
    fn end(&self) {
        let mut depth = self.depth.lock().unwrap();
        *depth -= 1;
        assert!(*depth >= 0);
    }
}

#[test]
fn ticks_and_jobs_are_spans_of_the_profiler() {
    let counter: &'static Counter = Box::leak(Box::default());
    assert!(set_profiler(counter) && !set_profiler(counter));
    // The tick does all the work, on this thread.
    let options = Options::default().with_threads(0).with_read_threads(0).with_heap(16 << 20);
    let mut player = Player::new(options).unwrap();
    let bytes: Arc<[u8]> = sample(30, false).parts.write().into();
    let file = player.open_bytes(Arc::new(bytes));
    let instance = player.add_instance(file).unwrap();
    player.command(instance, Command::Play);
    (0..10).for_each(|_| player.tick(1.0 / 60.0));
    assert!(player.frame(instance).is_some());
    let spans = counter.spans.lock().unwrap();
    assert_eq!((spans["meshreel tick"], spans["meshreel open"]), (10, 1));
    for part in ["collect", "plan", "issue", "start"] {
        assert!(spans[&format!("meshreel {part}")] >= 10, "{part}: {spans:?}");
    }
    assert!(spans["meshreel decode"] >= 3);
    assert_eq!(*counter.depth.lock().unwrap(), 0);
}
