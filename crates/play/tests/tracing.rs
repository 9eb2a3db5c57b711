//! Spans reach a subscriber.
#![cfg(feature = "tracing")]

mod common;

use common::sample;
use meshreel::{Command, Options, Player};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Counts spans by name.
#[derive(Default)]
struct Counter {
    spans: Arc<Mutex<BTreeMap<&'static str, u64>>>,
    next: AtomicU64,
}

impl Subscriber for Counter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("meshreel")
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut spans = self.spans.lock().unwrap();
        *spans.entry(span.metadata().name()).or_default() += 1;
        Id::from_u64(1 + self.next.fetch_add(1, Ordering::Relaxed))
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn ticks_and_jobs_are_spans() {
    let counter = Counter::default();
    let spans = counter.spans.clone();
    tracing::subscriber::with_default(counter, || {
        // The tick does all the work, on this thread.
        let mut player =
            Player::new(Options { threads: 0, read_threads: 0, heap: 16 << 20, ..Options::default() })
                .unwrap();
        let bytes: Arc<[u8]> = sample(30, false).parts.write().into();
        let file = player.open_bytes(Arc::new(bytes));
        let instance = player.add_instance(file).unwrap();
        player.command(instance, Command::Play);
        (0..10).for_each(|_| player.tick(1.0 / 60.0));
        assert!(player.frame(instance).is_some());
    });
    let spans = spans.lock().unwrap();
    assert_eq!(spans["tick"], 10);
    assert_eq!(spans["open"], 1);
    for part in ["collect", "plan", "issue", "start"] {
        assert!(spans[part] >= 10, "{part}");
    }
    assert!(spans["decode"] >= 3);
}
