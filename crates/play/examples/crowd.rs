//! Plays a crowd in real time and says what it cost:
//! `crowd [--copies N] [--seconds S] [--heap MIB] [--resident MIB] FILE…`
//!
//! Each file is opened `copies` times, as if all were different, and each copy has one looping instance.

use meshreel::{Command, Event, Options, Player, Repeat, Statistics};
use std::time::{Duration, Instant};

const FPS: f64 = 60.0;

/// Anonymous memory of this process in KiB, where the system tells.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("RssAnon:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn main() {
    let mut number = [1.0, 10.0, 128.0, 0.0];
    let mut paths = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let names = ["--copies", "--seconds", "--heap", "--resident"];
        match names.iter().position(|&n| n == argument) {
            Some(i) => number[i] = arguments.next().and_then(|v| v.parse().ok()).unwrap_or(number[i]),
            None => paths.push(argument),
        }
    }
    let [copies, seconds, heap, resident] = number;
    let before = anonymous();
    let mut player = Player::new(Options {
        heap: (heap as usize) << 20,
        resident: (resident as u64) << 20,
        ..Options::default()
    });
    let mut instances = Vec::new();
    for copy in 0..copies as usize {
        for (i, path) in paths.iter().enumerate() {
            let file = player.open(path);
            if let Some(instance) = player.instance(file) {
                player.command(instance, Command::Repeat(Repeat::Loop));
                player.command(instance, Command::StartAt(0.05 * (copy + 3 * i) as f64));
                player.command(instance, Command::Play);
                instances.push(instance);
            }
        }
    }
    let mut opened = 0;
    while opened < instances.len() {
        player.tick(0.0);
        while let Some(event) = player.next_event() {
            match event {
                Event::OpenFailed(_, error) => return eprintln!("{error}"),
                _ => opened += 1,
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("{} instances, open: {} MiB anonymous", instances.len(), (anonymous() - before) >> 10);
    let mut times = Vec::new();
    let (mut late, mut peak) = (0, 0);
    let start = Instant::now();
    for tick in 1..=(seconds * FPS) as u32 {
        let began = Instant::now();
        player.tick(1.0 / FPS);
        times.push(began.elapsed().as_secs_f64() * 1e3);
        late += (instances.iter()).filter(|&&i| player.frame(i).is_none_or(|f| f.is_late())).count();
        if tick % 30 == 0 {
            peak = peak.max(anonymous());
        }
        let next = Duration::from_secs_f64(f64::from(tick) / FPS);
        std::thread::sleep(next.saturating_sub(start.elapsed()));
    }
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    println!("tick ms: p50 {:.3}, p99 {:.3}, max {:.3}", at(0.5), at(0.99), at(1.0));
    let lost = instances.iter().filter_map(|&i| player.late_ticks(i));
    let (missed, waited) = lost.fold((0, 0), |sum, l| (sum.0 + l.0, sum.1 + l.1));
    println!("late {late}: missed {missed}, before the first frame {waited}");
    let mut statistics = Statistics::default();
    player.statistics(&mut statistics);
    let read: u64 = statistics.streams.iter().map(|s| s.counters.bytes_read).sum();
    let sum = |f: fn(&meshreel::StreamCounters) -> u64| -> u64 {
        statistics.streams.iter().map(|s| f(&s.counters)).sum()
    };
    println!(
        "read {:.1} MB in {} reads; decoded {} frames in {:.2} s; starved {}, aborts {}, not admitted {}",
        read as f64 / 1e6,
        sum(|c| c.reads),
        sum(|c| c.frames_decoded),
        statistics.decode_seconds,
        sum(|c| c.starved),
        sum(|c| c.aborts),
        statistics.streams.iter().filter(|s| !s.admitted).count(),
    );
    println!("heap {:?}", statistics.heap);
    println!("peak {} MiB anonymous above the beginning", peak.saturating_sub(before) >> 10);
}
