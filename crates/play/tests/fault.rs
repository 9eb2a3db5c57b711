//! Bad disks and bad files: the player keeps what it shows, reports the fault once, and continues when it
//! ends.

use crate::common::faults::{Disk, Faults, Random};
use crate::common::playing::{Digest, assert_same, oracle};
use crate::common::{golden, sample};
use meshreel::stream::{AsyncSource, ReadRequest};
use meshreel::{Command, Event, InstanceId, Options, Player, Repeat};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

const FPS: f64 = 60.0;
const FRAMES: usize = 120;

struct Setting {
    player: Player,
    instance: InstanceId,
    disk: Arc<Disk>,
    expected: Vec<u64>,
    random: Random,
    digest: Digest,
}

impl Setting {
    fn new() -> Setting {
        let bytes: Arc<[u8]> = sample(FRAMES, true).parts.write().into();
        let disk = Disk::new(&bytes);
        let mut player = Player::new(
            Options::default()
                .with_heap(2 << 20)
                .with_resident(0)
                .with_read_size(8_000)
                .with_threads(0)
                .with_read_threads(0),
        )
        .unwrap();
        let file = player.open_source("bad day.reel", disk.clone());
        let instance = player.add_instance(file).unwrap();
        player.command(instance, Command::Repeat(Repeat::Loop));
        player.command(instance, Command::Play);
        let mut setting = Setting {
            player,
            instance,
            disk,
            expected: oracle(&bytes),
            random: Random(1),
            digest: Digest::default(),
        };
        setting.play(10);
        assert!(matches!(setting.player.next_event(), Some(Event::Opened(_))));
        assert!(setting.player.next_event().is_none());
        setting
    }

    /// Plays some ticks; returns how many of them were late. The shown frames are always right.
    fn play(&mut self, ticks: usize) -> usize {
        let mut late = 0;
        for _ in 0..ticks {
            self.player.tick(1.0 / FPS);
            self.disk.step(&mut self.random);
            match self.player.frame(self.instance) {
                Some(shown) => {
                    assert_same(&shown, &self.expected, &mut self.digest);
                    late += usize::from(shown.is_late());
                }
                None => late += 1,
            }
        }
        late
    }

    fn events(&mut self) -> (usize, usize, usize) {
        let mut count = (0, 0, 0);
        while let Some(event) = self.player.next_event() {
            match event {
                Event::ReadFailed(..) => count.0 += 1,
                Event::Damaged(..) => count.1 += 1,
                Event::Recovered(_) => count.2 += 1,
                other => panic!("{other:?}"),
            }
        }
        count
    }

    /// Ends the faults: from some point on nothing is late.
    fn recovers(&mut self) {
        self.disk.set_faults(Faults::default());
        self.play(8 * 60);
        assert_eq!(self.play(600), 0);
        let (_, _, recovered) = self.events();
        assert_eq!(recovered, 1);
    }
}

#[test]
fn a_disk_that_fails_for_seconds_is_told_once_and_recovers() {
    let mut setting = Setting::new();
    setting.disk.set_faults(Faults { errors: 100, ..Faults::default() });
    let before = setting.disk.started.load(std::sync::atomic::Ordering::Relaxed);
    assert!(setting.play(600) > 300, "the last good frame stays");
    assert_eq!(setting.events(), (1, 0, 0));
    let reads = setting.disk.started.load(std::sync::atomic::Ordering::Relaxed) - before;
    assert!(reads < 200, "{reads}: it is tried less and less often");
    setting.recovers();
}

#[test]
fn a_disk_that_is_late_for_seconds_only_delays() {
    let mut setting = Setting::new();
    setting.disk.set_faults(Faults { late: 100, ..Faults::default() });
    assert!(setting.play(300) > 100);
    assert!(setting.disk.pending() <= 2);
    setting.disk.set_faults(Faults::default());
    setting.play(60);
    assert_eq!(setting.play(600), 0);
    assert_eq!(setting.events(), (0, 0, 0));
}

#[test]
fn short_reads_bring_what_they_bring() {
    let mut setting = Setting::new();
    setting.disk.set_faults(Faults { short: 60, ..Faults::default() });
    let late = setting.play(600);
    assert!(late < 590, "{late}");
    setting.recovers_or_never_failed();
}

#[test]
fn flipped_bits_are_found_told_and_read_again() {
    let mut setting = Setting::new();
    setting.disk.set_faults(Faults { corrupt: 50, ..Faults::default() });
    setting.play(600);
    let (read, damaged, _) = setting.events();
    assert!(read == 0 && damaged > 0);
    setting.recovers_or_never_failed();
}

#[test]
fn a_truncated_file_plays_as_far_as_it_goes() {
    let mut setting = Setting::new();
    let size = meshreel::stream::AsyncSource::size(&*setting.disk);
    setting.disk.set_faults(Faults { truncated: Some(size / 2), ..Faults::default() });
    let late = setting.play(1200);
    assert!((200..1100).contains(&late), "{late}");
    let (read, damaged, _) = setting.events();
    assert!(read >= 1 && damaged == 0);
    setting.recovers_or_never_failed();
}

#[test]
fn another_file_in_its_place_is_never_shown() {
    let mut setting = Setting::new();
    let mut other = sample(FRAMES, true);
    for (_, _, raw) in &mut other.parts.frames {
        raw[0] ^= 1;
    }
    setting.disk.replace(&other.parts.write().into());
    setting.play(600);
    let (_, damaged, _) = setting.events();
    assert!(damaged > 0);
    let bytes: Arc<[u8]> = sample(FRAMES, true).parts.write().into();
    setting.disk.replace(&bytes);
    setting.recovers_or_never_failed();
}

impl Setting {
    /// Checks as [`Setting::recovers`] does, if a fault may have ended before.
    fn recovers_or_never_failed(&mut self) {
        self.disk.set_faults(Faults::default());
        // Longer than the loop: everything that failed is wanted once more.
        self.play(8 * 60);
        self.events();
        assert_eq!(self.play(600), 0);
        assert_eq!(self.events(), (0, 0, 0));
    }
}

/// Returns serial and layered files.
fn contents() -> Vec<Arc<[u8]>> {
    let layered = ["v0/flag_fast.reel", "v0/flag_small.reel"].map(|name| golden(name).into());
    let mut contents: Vec<Arc<[u8]>> = vec![sample(FRAMES, true).parts.write().into()];
    contents.extend(layered);
    contents
}

fn any_faults(random: &mut Random, size: u64) -> Faults {
    let mut percent = |most: usize| match random.one_in(3) {
        true => random.below(most + 1),
        false => 0,
    };
    let (errors, short, corrupt, late) = (percent(100), percent(100), percent(60), percent(100));
    let truncated = random.one_in(4).then(|| random.below(size as usize) as u64);
    Faults { errors, short, corrupt, late, truncated }
}

fn any_command(random: &mut Random) -> Command {
    match random.below(6) {
        0 => Command::GoToFrame(random.below(FRAMES)),
        1 => Command::Rate(random.below(80) as f64 / 10.0 - 4.0),
        2 => Command::PreRoll(random.below(3) as f64 / 10.0),
        3 => Command::Pause,
        4 => Command::Stop,
        _ => Command::Play,
    }
}

#[test]
fn whatever_goes_wrong_with_reads_what_is_shown_is_right() {
    for (seed, bytes) in (0..9).zip(contents().iter().cycle()) {
        let mut random = Random(seed);
        let expected = oracle(bytes);
        let disk = Disk::new(bytes);
        let mut player = Player::new(
            Options::default()
                .with_heap(3 << 20)
                .with_resident(if random.one_in(2) { 0 } else { 4 << 20 })
                .with_read_size(1 + random.below(60_000) as u64)
                .with_threads(0)
                .with_read_threads(0),
        )
        .unwrap();
        let file = player.open_source("bad day.reel", disk.clone());
        let instances: Vec<InstanceId> = (0..4).map(|_| player.add_instance(file).unwrap()).collect();
        for &instance in &instances {
            player.command(instance, Command::Repeat(Repeat::PingPong));
            player.command(instance, Command::Play);
        }
        let (mut digest, mut shown) = (Digest::default(), 0);
        for tick in 0..900 {
            if tick % 30 == 0 {
                disk.set_faults(any_faults(&mut random, bytes.len() as u64));
            }
            let instance = instances[random.below(4)];
            if random.one_in(10) {
                player.command(instance, any_command(&mut random));
            }
            player.tick(1.0 / FPS);
            disk.step(&mut random);
            for &instance in &instances {
                if let Some(frame) = player.frame(instance) {
                    assert_same(&frame, &expected, &mut digest);
                    shown += 1;
                }
            }
            while player.next_event().is_some() {}
        }
        assert!(shown > 100, "{shown}");
        // The player may be dropped while reads are in flight, and these may end after it.
        disk.set_faults(Faults { late: 100, ..Faults::default() });
        player.command(instances[0], Command::GoToFrame(FRAMES / 2));
        player.command(instances[0], Command::Play);
        player.tick(1.0 / FPS);
        let kept = player.frame(instances[0]);
        drop(player);
        disk.set_faults(Faults::default());
        disk.step(&mut random);
        assert_eq!(disk.pending(), 0);
        if let Some(frame) = kept {
            assert_same(&frame, &expected, &mut digest);
        }
    }
}

/// A disk with a thread of its own, on which reads wait, fail, are short, or are never answered.
struct Unreliable {
    bytes: Arc<[u8]>,
    reads: Mutex<Option<mpsc::Sender<ReadRequest>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Unreliable {
    /// `opens`: reads that open the file succeed.
    fn new(bytes: &Arc<[u8]>, seed: u64, opens: bool) -> Arc<Unreliable> {
        let (send, receive) = mpsc::channel::<ReadRequest>();
        let content = bytes.clone();
        let work = move || {
            let mut random = Random(seed);
            let mut kept = Vec::new();
            for mut read in receive {
                let what = if opens && read.is_opening() { 9 } else { random.below(10) };
                match what {
                    0 => kept.push(read),
                    1 => read.complete(Err(std::io::ErrorKind::TimedOut.into())),
                    2 => drop(read),
                    _ => {
                        let start = read.offset() as usize;
                        let buffer = read.buffer();
                        let mut count = buffer.len();
                        if what == 3 {
                            count = random.below(count);
                        }
                        buffer[..count].copy_from_slice(&content[start..start + count]);
                        if what == 4 {
                            std::thread::sleep(Duration::from_millis(3));
                        }
                        read.complete(Ok(count));
                    }
                }
                // Some reads that seemed lost are answered after all.
                if random.one_in(6) && !kept.is_empty() {
                    let at = random.below(kept.len());
                    kept.swap_remove(at).complete(Ok(0));
                }
            }
        };
        Arc::new(Unreliable {
            bytes: bytes.clone(),
            reads: Mutex::new(Some(send)),
            thread: Mutex::new(Some(std::thread::spawn(work))),
        })
    }

    /// Ends the reads that were never answered.
    fn end(&self) {
        drop(self.reads.lock().unwrap().take());
        self.thread.lock().unwrap().take().unwrap().join().unwrap();
    }
}

impl AsyncSource for Unreliable {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn start(&self, read: ReadRequest) {
        if let Some(reads) = &*self.reads.lock().unwrap() {
            let _ = reads.send(read);
        }
    }
}

#[test]
fn threads_on_an_unreliable_disk_show_what_is_right_and_end_at_any_moment() {
    let contents = contents();
    let expected: Vec<Vec<u64>> = contents.iter().map(oracle).collect();
    let mut shown = 0;
    for seed in 0..18 {
        let content = seed as usize % contents.len();
        let mut random = Random(seed);
        let disk = Unreliable::new(&contents[content], seed, seed % 6 < 5);
        let mut player = Player::new(
            Options::default()
                .with_heap(4 << 20)
                .with_resident(0)
                .with_read_size(20_000)
                .with_threads(2)
                .with_read_threads(1),
        )
        .unwrap();
        let file = player.open_source("bad day.reel", disk.clone());
        let instances: Vec<InstanceId> = (0..3).map(|_| player.add_instance(file).unwrap()).collect();
        for &instance in &instances {
            player.command(instance, Command::Repeat(Repeat::Loop));
            player.command(instance, Command::Play);
        }
        let mut digest = Digest::default();
        for _ in 0..random.below(150) {
            if random.one_in(10) {
                player.command(instances[random.below(3)], any_command(&mut random));
            }
            player.tick(1.0 / FPS);
            for &instance in &instances {
                if let Some(frame) = player.frame(instance) {
                    assert_same(&frame, &expected[content], &mut digest);
                    shown += 1;
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(player);
        disk.end();
    }
    assert!(shown > 0);
}
