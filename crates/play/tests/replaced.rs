//! Files that are replaced on the disk while they are played.

use crate::common::playing::{Digest, assert_same, oracle};
use crate::common::{inline, sample, sample_of};
use meshreel::{Command, Event, FileId, InstanceId, Options, Player, Repeat};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn bytes(frames: usize, side: u32) -> Arc<[u8]> {
    sample_of(frames, false, side).parts.write().into()
}

/// Writes as `compile` does: whole under another name, then renamed.
fn publish(path: &Path, bytes: &[u8]) {
    let temporary = path.with_extension("new");
    std::fs::write(&temporary, bytes).unwrap();
    std::fs::rename(temporary, path).unwrap();
}

struct Setting {
    player: Player,
    path: PathBuf,
    file: FileId,
    instance: InstanceId,
    _directory: tempfile::TempDir,
}

impl Setting {
    /// Plays a file in a loop.
    fn new(options: Options, first: Option<&[u8]>) -> Setting {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cloth.reel");
        if let Some(first) = first {
            publish(&path, first);
        }
        let mut player = Player::new(options).unwrap();
        let file = player.open(&path);
        let instance = player.add_instance(file).unwrap();
        player.command(instance, Command::Repeat(Repeat::Loop));
        player.command(instance, Command::Play);
        Setting { player, path, file, instance, _directory: directory }
    }

    /// Plays until an event is there.
    fn next_event(&mut self) -> Event {
        let start = Instant::now();
        loop {
            if let Some(event) = self.player.next_event() {
                return event;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "no event");
            self.player.tick(1.0 / 60.0);
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Plays for a while, and checks that frames are those of a plain decode and that nothing happens.
    fn plays(&mut self, expected: &[u64], seconds: f64) {
        let (mut digest, mut shown) = (Digest::default(), 0);
        let start = Instant::now();
        while shown < 20 || start.elapsed().as_secs_f64() < seconds {
            self.player.tick(1.0 / 60.0);
            if let Some(frame) = self.player.frame(self.instance) {
                assert_same(&frame, expected, &mut digest);
                shown += 1;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(self.player.next_event().is_none());
    }
}

#[test]
fn a_replaced_file_takes_the_place_of_the_old_one() {
    let (first, second, third) = (bytes(21, 9), bytes(41, 7), bytes(11, 12));
    for resident in [0, 16 << 20] {
        for options in [inline(4 << 20), Options::default().with_threads(2).with_heap(4 << 20)] {
            let options = options.with_resident(resident).with_watch(true);
            let mut setting = Setting::new(options, Some(&first));
            assert!(matches!(setting.next_event(), Event::Opened(file) if file == setting.file));
            setting.plays(&oracle(&first), 0.8);
            for bytes in [&second, &third] {
                publish(&setting.path, bytes);
                assert!(matches!(setting.next_event(), Event::Replaced(file) if file == setting.file));
                let reel = setting.player.reel(setting.file).unwrap();
                assert_eq!(reel.file_bytes(), bytes.len() as u64);
                setting.plays(&oracle(bytes), 0.1);
                assert!(setting.player.clock(setting.instance).unwrap().playing());
            }
            // Closed while a newer one is on its way.
            publish(&setting.path, &first);
            for _ in 0..40 {
                setting.player.tick(1.0 / 60.0);
                std::thread::sleep(Duration::from_millis(10));
            }
            setting.player.close(setting.file);
            setting.player.tick(0.0);
            assert!(setting.player.reel(setting.file).is_none());
        }
    }
}

#[test]
fn a_broken_file_leaves_the_old_one() {
    let (first, second) = (bytes(21, 9), bytes(21, 7));
    let mut setting = Setting::new(inline(4 << 20).with_watch(true), Some(&first));
    assert!(matches!(setting.next_event(), Event::Opened(_)));
    publish(&setting.path, &second[..second.len() / 2]);
    assert!(matches!(setting.next_event(), Event::OpenFailed(..)));
    // Reported once.
    setting.plays(&oracle(&first), 0.8);
    std::fs::remove_file(&setting.path).unwrap();
    setting.plays(&oracle(&first), 0.8);
    publish(&setting.path, &second);
    assert!(matches!(setting.next_event(), Event::Replaced(_)));
    setting.plays(&oracle(&second), 0.1);
}

#[test]
fn a_missing_file_is_opened_when_it_is_there() {
    let first = bytes(21, 9);
    let mut setting = Setting::new(inline(4 << 20).with_watch(true), None);
    assert!(matches!(setting.next_event(), Event::OpenFailed(..)));
    publish(&setting.path, &first);
    assert!(matches!(setting.next_event(), Event::Opened(_)));
    setting.plays(&oracle(&first), 0.1);
}

#[test]
fn a_file_that_was_replaced_while_unloaded_is_reported() {
    let (first, second) = (bytes(21, 9), bytes(41, 7));
    let mut setting = Setting::new(inline(4 << 20).with_unload_after(0.1), Some(&first));
    assert!(matches!(setting.next_event(), Event::Opened(_)));
    setting.player.set_visible(setting.instance, false);
    (0..30).for_each(|_| setting.player.tick(1.0 / 60.0));
    assert!(setting.player.reel(setting.file).is_none(), "unloaded");
    publish(&setting.path, &second);
    setting.player.set_visible(setting.instance, true);
    assert!(matches!(setting.next_event(), Event::Replaced(_)));
    setting.plays(&oracle(&second), 0.0);
}

#[test]
fn without_a_watch_nothing_is_replaced() {
    let first: Arc<[u8]> = sample(21, false).parts.write().into();
    let mut setting = Setting::new(inline(4 << 20), Some(&first));
    assert!(matches!(setting.next_event(), Event::Opened(_)));
    publish(&setting.path, &bytes(41, 7));
    setting.plays(&oracle(&first), 0.8);
}
