//! Bad disks and bad files: the player keeps what it shows, tells it once, and goes on when the fault ends.

use crate::common::faults::{Disk, Faults, Random};
use crate::common::playing::{Digest, assert_same, oracle};
use crate::common::sample;
use meshreel::{Command, Event, InstanceId, Options, Player, Repeat};
use std::sync::Arc;

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
        let mut player = Player::new(Options {
            heap: 2 << 20,
            resident: 0,
            read_size: 8_000,
            threads: 0,
            read_threads: 0,
            ..Options::default()
        });
        let file = player.open_source("bad day.reel", disk.clone());
        let instance = player.instance(file).unwrap();
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
        assert!(matches!(
            setting.player.next_event(),
            Some(Event::Opened(_))
        ));
        assert!(setting.player.next_event().is_none());
        setting
    }

    /// Ticks, and how many of them were late. What is shown is right in any case.
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

    /// The fault is over: from some point on nothing is late.
    fn recovers(&mut self) {
        self.disk.set(Faults::default());
        self.play(8 * 60);
        assert_eq!(self.play(600), 0);
        let (_, _, recovered) = self.events();
        assert_eq!(recovered, 1);
    }
}

#[test]
fn a_disk_that_fails_for_seconds_is_told_once_and_recovers() {
    let mut setting = Setting::new();
    setting.disk.set(Faults {
        errors: 100,
        ..Faults::default()
    });
    let before = setting
        .disk
        .started
        .load(std::sync::atomic::Ordering::Relaxed);
    assert!(setting.play(600) > 300, "the last good frame stays");
    assert_eq!(setting.events(), (1, 0, 0));
    let reads = setting
        .disk
        .started
        .load(std::sync::atomic::Ordering::Relaxed)
        - before;
    assert!(reads < 200, "{reads}: it is tried less and less often");
    setting.recovers();
}

#[test]
fn a_disk_that_is_late_for_seconds_only_delays() {
    let mut setting = Setting::new();
    setting.disk.set(Faults {
        late: 100,
        ..Faults::default()
    });
    assert!(setting.play(300) > 100);
    assert!(setting.disk.pending() <= 2);
    setting.disk.set(Faults::default());
    setting.play(60);
    assert_eq!(setting.play(600), 0);
    assert_eq!(setting.events(), (0, 0, 0));
}

#[test]
fn short_reads_bring_what_they_bring() {
    let mut setting = Setting::new();
    setting.disk.set(Faults {
        short: 60,
        ..Faults::default()
    });
    let late = setting.play(600);
    assert!(late < 590, "{late}");
    setting.recovers_or_never_failed();
}

#[test]
fn flipped_bits_are_found_told_and_read_again() {
    let mut setting = Setting::new();
    setting.disk.set(Faults {
        corrupt: 50,
        ..Faults::default()
    });
    setting.play(600);
    let (read, damaged, _) = setting.events();
    assert!(read == 0 && damaged > 0);
    setting.recovers_or_never_failed();
}

#[test]
fn a_truncated_file_plays_as_far_as_it_goes() {
    let mut setting = Setting::new();
    let size = meshreel::Source::size(&*setting.disk);
    setting.disk.set(Faults {
        truncated: Some(size / 2),
        ..Faults::default()
    });
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
    /// As [`Setting::recovers`], where a fault may have ended before.
    fn recovers_or_never_failed(&mut self) {
        self.disk.set(Faults::default());
        // Longer than the loop: all that failed is wanted once more.
        self.play(8 * 60);
        self.events();
        assert_eq!(self.play(600), 0);
        assert_eq!(self.events(), (0, 0, 0));
    }
}
