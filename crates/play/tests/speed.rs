//! A crowd in real time: measures the time of a tick on the calling thread, and checks that no frame is
//! missed. It takes too long for every run, and needs a quiet machine: `MESHREEL_SPEED=60 cargo test
//! --release -p meshreel --test speed -- --nocapture` plays for a minute.

mod common;

use common::sample_of;
use meshreel::stream::Statistics;
use meshreel::{Command, Event, Options, Player, Repeat};
use std::sync::Arc;
use std::time::{Duration, Instant};

const FPS: f64 = 60.0;
const COPIES: usize = 64;

/// Returns the anonymous memory of this process, or 0 if the system does not tell.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("RssAnon:"));
    let kib = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

fn crowd(seconds: f64, files: usize, heap: usize) {
    let kinds: Vec<Arc<[u8]>> =
        ([9, 20, 40, 64].into_iter()).map(|side| sample_of(120, false, side).parts.write().into()).collect();
    let before = anonymous();
    let mut player = Player::new(Options::default().with_heap(heap).with_resident(0)).unwrap();
    let mut instances = Vec::new();
    for i in 0..files {
        let file = player.open_bytes(Arc::new(kinds[i % kinds.len()].clone()));
        let instance = player.add_instance(file).unwrap();
        player.command(instance, Command::Repeat(Repeat::Loop));
        player.command(instance, Command::StartAt(0.07 * i as f64 % 4.0));
        player.command(instance, Command::Rate([1.0, -1.0, 0.37, 1.5][i / 4 % 4]));
        player.command(instance, Command::Play);
        instances.push(instance);
    }
    let mut opened = 0;
    while opened < files {
        player.tick(0.0);
        while let Some(event) = player.next_event() {
            assert!(matches!(event, Event::Opened(_)), "{event:?}");
            opened += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let open = anonymous();
    let (mut times, mut peak) = (Vec::with_capacity(100_000), 0);
    let start = Instant::now();
    for tick in 1..=(seconds * FPS) as u32 {
        let began = Instant::now();
        player.tick(1.0 / FPS);
        times.push(began.elapsed().as_secs_f64() * 1e3);
        if tick % 30 == 0 {
            peak = peak.max(anonymous());
        }
        let next = Duration::from_secs_f64(f64::from(tick) / FPS);
        std::thread::sleep(next.saturating_sub(start.elapsed()));
    }
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    let lost = instances.iter().filter_map(|&i| player.late_ticks(i));
    let (missed, waited) = lost.fold((0, 0), |sum, l| (sum.0 + l.0, sum.1 + l.1));
    let mut statistics = Statistics::default();
    player.statistics(&mut statistics);
    let sum = |of: fn(&meshreel::stream::StreamCounters) -> u64| -> u64 {
        statistics.streams.iter().map(|s| of(&s.counters)).sum()
    };
    println!(
        "{files} files: tick p50 {:.3} p99 {:.3} max {:.3} ms; missed {missed}, before the first frame {waited}; \
         {} frames decoded in {:.2} s, {:.1} MB in {} reads, aborts {}, starved {}; heap peak {:.1} MiB; \
         anonymous memory: open {:.1}, playing {:.1} MiB more",
        at(0.5),
        at(0.99),
        at(1.0),
        sum(|c| c.frames_decoded),
        statistics.decode_seconds,
        sum(|c| c.bytes_read) as f64 / 1e6,
        sum(|c| c.reads),
        sum(|c| c.aborts),
        sum(|c| c.starved),
        statistics.heap.peak_bytes as f64 / f64::from(1 << 20),
        (open.saturating_sub(before)) as f64 / f64::from(1 << 20),
        (peak.saturating_sub(open)) as f64 / f64::from(1 << 20),
    );
    // The heap is first touched while playing; nothing else grows.
    assert!(peak.saturating_sub(open) < heap as u64 / 100 * 105);
    assert_eq!(statistics.streams.iter().filter(|s| !s.admitted).count(), 0);
}

#[test]
fn a_crowd_plays_in_fixed_memory() {
    let seconds = std::env::var("MESHREEL_SPEED");
    let seconds = seconds.ok().and_then(|s| s.parse().ok()).unwrap_or(1.0);
    crowd(seconds, 1, 128 << 20);
    crowd(seconds, COPIES, 128 << 20);
    crowd(seconds, 200, 128 << 20);
}
