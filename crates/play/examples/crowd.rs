//! Plays a crowd in real time and prints its costs:
//! `crowd [--copies N] [--seconds S] [--heap MIB] [--resident MIB] FILE…`
//!
//! Each file is opened `copies` times, as if all were different, and each copy has one looping instance.

use meshreel::stream::Statistics;
use meshreel::{Command, Event, InstanceId, Options, Player, Repeat};
use std::time::{Duration, Instant};

const FPS: f64 = 60.0;

/// Returns the anonymous memory of this process in KiB, or 0 if the system does not tell.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("RssAnon:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// The command line.
struct Arguments {
    copies: usize,
    seconds: f64,
    options: Options,
    paths: Vec<String>,
}

impl Arguments {
    fn read() -> Arguments {
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
        Arguments {
            copies: copies as usize,
            seconds,
            options: Options::default()
                .with_heap((heap as usize) << 20)
                .with_resident((resident as u64) << 20),
            paths,
        }
    }
}

fn main() {
    let arguments = Arguments::read();
    let before = anonymous();
    let mut player = Player::new(arguments.options).unwrap();
    let instances = open_all(&mut player, &arguments.paths, arguments.copies);
    if let Err(error) = wait_until_open(&mut player, instances.len()) {
        return eprintln!("{error}");
    }
    println!("{} instances, open: {} MiB anonymous", instances.len(), (anonymous() - before) >> 10);
    let played = play(&mut player, &instances, arguments.seconds);
    print_ticks(&player, &instances, &played);
    print_statistics(&player);
    println!("peak {} MiB anonymous above the beginning", played.peak.saturating_sub(before) >> 10);
}

/// Opens each file `copies` times, and starts a looping instance of each, all at different times.
fn open_all(player: &mut Player, paths: &[String], copies: usize) -> Vec<InstanceId> {
    let mut instances = Vec::new();
    for copy in 0..copies {
        for (i, path) in paths.iter().enumerate() {
            let file = player.open(path);
            if let Some(instance) = player.add_instance(file) {
                player.command(instance, Command::Repeat(Repeat::Loop));
                player.command(instance, Command::StartAt(0.05 * (copy + 3 * i) as f64));
                player.command(instance, Command::Play);
                instances.push(instance);
            }
        }
    }
    instances
}

/// Ticks until `files` files are open, or one cannot be opened.
fn wait_until_open(player: &mut Player, files: usize) -> Result<(), String> {
    let mut opened = 0;
    while opened < files {
        player.tick(0.0);
        while let Some(event) = player.next_event() {
            match event {
                Event::OpenFailed(_, error) => return Err(error.to_string()),
                _ => opened += 1,
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The costs of playing.
struct PlayTimes {
    /// Milliseconds of each tick.
    ticks: Vec<f64>,
    /// Frames that were late, summed over instances.
    late: usize,
    /// The most anonymous memory, in KiB.
    peak: u64,
}

/// Plays in real time.
fn play(player: &mut Player, instances: &[InstanceId], seconds: f64) -> PlayTimes {
    let mut played = PlayTimes { ticks: Vec::new(), late: 0, peak: 0 };
    let start = Instant::now();
    for tick in 1..=(seconds * FPS) as u32 {
        let began = Instant::now();
        player.tick(1.0 / FPS);
        played.ticks.push(began.elapsed().as_secs_f64() * 1e3);
        played.late += (instances.iter()).filter(|&&i| player.frame(i).is_none_or(|f| f.is_late())).count();
        if tick % 30 == 0 {
            played.peak = played.peak.max(anonymous());
        }
        let next = Duration::from_secs_f64(f64::from(tick) / FPS);
        std::thread::sleep(next.saturating_sub(start.elapsed()));
    }
    played
}

fn print_ticks(player: &Player, instances: &[InstanceId], played: &PlayTimes) {
    let mut times = played.ticks.clone();
    times.sort_by(f64::total_cmp);
    let percentile = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    let [p50, p99, max] = [0.5, 0.99, 1.0].map(percentile);
    println!("tick ms: p50 {p50:.3}, p99 {p99:.3}, max {max:.3}");
    let lost = instances.iter().filter_map(|&i| player.late_ticks(i));
    let (missed, waited) = lost.fold((0, 0), |sum, l| (sum.0 + l.0, sum.1 + l.1));
    println!("late {}: missed {missed}, before the first frame {waited}", played.late);
}

fn print_statistics(player: &Player) {
    let mut statistics = Statistics::default();
    player.statistics(&mut statistics);
    let read: u64 = statistics.streams.iter().map(|s| s.counters.bytes_read).sum();
    let sum = |f: fn(&meshreel::stream::StreamCounters) -> u64| -> u64 {
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
}
