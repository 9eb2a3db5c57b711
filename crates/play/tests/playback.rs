//! Playing as games do: forwards, backwards, at odd rates, looped, jumping. The shown frames equal those of a
//! plain decode, and are there in time.

use crate::common::playing::{Digest, assert_same, oracle};
use crate::common::{inline, sample};
use meshreel::stream::{AsyncSource, ReadRequest, Statistics, StreamCounters};
use meshreel::{Command, Event, FileId, InstanceId, Options, Player, Repeat};
use std::sync::{Arc, Mutex};

const FPS: f64 = 60.0;

fn bytes(frames: usize) -> Arc<[u8]> {
    sample(frames, true).parts.write().into()
}

/// Returns the counters of a file's stream.
fn counters(player: &Player, file: FileId) -> StreamCounters {
    let mut statistics = Statistics::default();
    player.statistics(&mut statistics);
    let stream = statistics.streams.iter().find(|s| s.file == Some(file));
    stream.expect("open").counters
}

fn opened(player: &mut Player, bytes: &Arc<[u8]>) -> (FileId, InstanceId) {
    let file = player.open_bytes(Arc::new(bytes.clone()));
    let instance = player.add_instance(file).unwrap();
    player.tick(0.0);
    assert!(matches!(player.next_event(), Some(Event::Opened(f)) if f == file));
    (file, instance)
}

#[test]
fn every_way_of_playing_shows_what_a_plain_decode_gives_and_misses_nothing() {
    let bytes = bytes(61);
    let expected = oracle(&bytes);
    let mut digest = Digest::default();
    let ways: [&[Command]; 7] = [
        &[],
        &[Command::Rate(-1.0)],
        &[Command::Rate(0.37)],
        &[Command::Rate(3.0), Command::Repeat(Repeat::Loop)],
        &[Command::Repeat(Repeat::PingPong)],
        &[Command::Frames(10, 20), Command::Repeat(Repeat::Loop)],
        &[Command::Interpolate(false)],
    ];
    for resident in [0, 16 << 20] {
        for (way, commands) in ways.iter().enumerate() {
            let mut player = Player::new(inline(4 << 20).with_resident(resident)).unwrap();
            let (file, instance) = opened(&mut player, &bytes);
            for &command in *commands {
                player.command(instance, command);
            }
            player.command(instance, Command::Play);
            let mut pairs = std::collections::HashSet::new();
            for _ in 0..300 {
                player.tick(1.0 / FPS);
                let shown = player.frame(instance).expect("shown at once");
                assert!(!shown.is_late());
                assert_same(&shown, &expected, &mut digest);
                pairs.insert((shown.pair().first, shown.pair().second));
            }
            assert!(pairs.len() >= 10, "way {way}: {} pairs", pairs.len());
            assert_eq!(player.late_ticks(instance), Some((0, 0)));
            let counters = counters(&player, file);
            assert_eq!((counters.aborts, counters.starved, counters.damaged), (0, 0, 0), "way {way}");
            // Nothing is decoded twice, as the heap has room for everything.
            assert!(counters.frames_decoded <= 61, "way {way}: {counters:?}");
        }
    }
}

#[test]
fn a_jump_takes_one_read_and_one_group() {
    let bytes = bytes(200);
    // Nothing is decoded ahead, so that everything that is counted is for the frame.
    let mut player = Player::new(inline(4 << 20).with_decode_ahead(-1.0)).unwrap();
    let (file, instance) = opened(&mut player, &bytes);
    player.command(instance, Command::Pause);
    player.tick(0.0);
    for target in [100, 3, 199, 50, 155, 0] {
        let before = counters(&player, file);
        player.command(instance, Command::GoToFrame(target));
        player.tick(1.0 / FPS);
        let shown = player.frame(instance).unwrap();
        assert!(!shown.is_late());
        assert_eq!(shown.pair().first, target as u32);
        let after = counters(&player, file);
        assert!(after.reads <= before.reads + 1, "frame {target}");
        // The sample's groups are eight frames long at most, and have an index frame at each end.
        assert!(after.decodes <= before.decodes + 9, "frame {target}: {}", after.decodes - before.decodes);
    }
}

#[test]
fn instances_of_a_file_share_it() {
    let bytes = bytes(40);
    let expected = oracle(&bytes);
    let mut digest = Digest::default();
    let mut player = Player::new(inline(4 << 20)).unwrap();
    let (file, first) = opened(&mut player, &bytes);
    let others: Vec<InstanceId> = (0..30).map(|_| player.add_instance(file).unwrap()).collect();
    for (i, &instance) in others.iter().chain([&first]).enumerate() {
        player.command(instance, Command::GoToFrame(i));
        player.command(instance, Command::Play);
    }
    for _ in 0..120 {
        player.tick(1.0 / FPS);
        for &instance in &others {
            assert_same(&player.frame(instance).unwrap(), &expected, &mut digest);
        }
    }
    assert!(counters(&player, file).frames_decoded <= 40);
}

#[test]
fn threads_show_the_same_and_close_at_any_moment() {
    let bytes = bytes(61);
    let expected = oracle(&bytes);
    let mut digest = Digest::default();
    for round in 0..40 {
        let mut player = Player::new(
            Options::default()
                .with_heap(2 << 20)
                .with_resident(if round % 2 == 0 { 0 } else { 1 << 20 })
                .with_threads(2),
        )
        .unwrap();
        let files: Vec<_> = (0..4).map(|_| player.open_bytes(Arc::new(bytes.clone()))).collect();
        let mut instances = Vec::new();
        for (i, &file) in files.iter().enumerate() {
            let instance = player.add_instance(file).unwrap();
            player.command(instance, Command::Rate([1.0, -2.0, 0.5, 3.0][i]));
            player.command(instance, Command::Repeat(Repeat::Loop));
            player.command(instance, Command::Play);
            instances.push(instance);
        }
        let mut kept = Vec::new();
        let mut frames = 0;
        // However slow the threads are, in later rounds something is shown.
        for tick in 0.. {
            if tick >= round * 3 && (frames > 0 || round < 10) {
                break;
            }
            player.tick(1.0 / FPS);
            for &instance in &instances {
                if let Some(shown) = player.frame(instance) {
                    assert_same(&shown, &expected, &mut digest);
                    frames += 1;
                    if tick % 7 == 0 {
                        kept.push(shown);
                    }
                }
            }
            if tick == 50 {
                player.close(files[1]);
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        drop(player);
        // Lent frames outlive even the player.
        for shown in &kept {
            assert_same(shown, &expected, &mut digest);
        }
    }
}

#[test]
fn hidden_files_give_up_everything_and_come_back() {
    let bytes = bytes(40);
    let mut player = Player::new(inline(4 << 20).with_unload_after(0.5)).unwrap();
    let (file, instance) = opened(&mut player, &bytes);
    player.command(instance, Command::Play);
    player.tick(0.1);
    assert!(player.frame(instance).is_some());
    player.set_visible(instance, false);
    for _ in 0..60 {
        player.tick(1.0 / FPS);
        assert!(player.frame(instance).is_none());
    }
    let mut statistics = Statistics::default();
    player.statistics(&mut statistics);
    assert!(player.reel(file).is_none() && statistics.streams.is_empty());
    let scratch_alone = statistics.heap_used;
    assert!(scratch_alone < 64 << 10, "{scratch_alone}");
    player.set_visible(instance, true);
    player.tick(1.0 / FPS);
    player.tick(1.0 / FPS);
    assert!(player.frame(instance).is_some());
    // Its time went on.
    let position = player.clock(instance).unwrap().position();
    assert!((position - (0.1 + 62.0 / FPS)).abs() < 0.01, "{position}");
    player.close(file);
    player.tick(0.0);
    player.statistics(&mut statistics);
    assert!(statistics.streams.is_empty() && player.add_instance(file).is_none());
}

#[test]
fn a_file_that_cannot_be_opened_is_an_event() {
    let mut player = Player::new(inline(4 << 20)).unwrap();
    let missing = player.open("no such file.reel");
    let instance = player.add_instance(missing).unwrap();
    player.command(instance, Command::Play);
    let garbage: Arc<[u8]> = vec![7; 1000].into();
    let wrong = player.open_bytes(Arc::new(garbage));
    player.tick(0.1);
    for file in [missing, wrong] {
        assert!(matches!(player.next_event(), Some(Event::OpenFailed(f, _)) if f == file));
    }
    assert!(player.next_event().is_none() && player.frame(instance).is_none());
}

/// Bytes that arrive between two ticks, as over a network: of each read one half, then the rest.
struct FetchedBytes(Arc<[u8]>, Mutex<Vec<ReadRequest>>);

impl AsyncSource for FetchedBytes {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }
    fn start(&self, read: ReadRequest) {
        self.1.lock().unwrap().push(read);
    }
}

impl FetchedBytes {
    fn deliver(&self, fail: bool) -> usize {
        let reads = std::mem::take(&mut *self.1.lock().unwrap());
        let count = reads.len();
        for mut read in reads.into_iter().filter(|_| !fail) {
            let start = read.offset() as usize;
            let half = read.buffer().len().div_ceil(2);
            read.buffer()[..half].copy_from_slice(&self.0[start..start + half]);
            read.complete(Ok(half));
        }
        count
    }
}

/// A file that is closed while it opens releases everything: the source, and with it whatever the caller
/// keeps in it.
#[test]
fn a_player_that_goes_while_a_file_opens_leaves_nothing() {
    for threads in [0, 2] {
        for ticks in 0..4 {
            let source = Arc::new(FetchedBytes(bytes(20), Mutex::default()));
            let mut player = Player::new(inline(4 << 20).with_threads(threads)).unwrap();
            let opening = player.open_source("fetched", source.clone());
            player.open_source("fetched again", source.clone());
            for tick in 0..ticks {
                player.tick(0.0);
                if tick + 1 < ticks {
                    source.deliver(false);
                }
            }
            player.close(opening);
            drop(player);
            source.deliver(true);
            let mut patience = 0;
            // A thread that opens a file notices soon.
            while Arc::strong_count(&source) > 1 {
                std::thread::sleep(std::time::Duration::from_millis(1));
                patience += 1;
                assert!(
                    threads > 0 || patience < 10,
                    "{threads} threads, {ticks} ticks: something holds the source"
                );
            }
        }
    }
}

#[test]
fn without_threads_a_file_opens_while_its_bytes_come() {
    let bytes = bytes(20);
    let expected = oracle(&bytes);
    for fails in [false, true] {
        let mut player = Player::new(inline(4 << 20).with_threads(0).with_read_threads(0)).unwrap();
        let source = Arc::new(FetchedBytes(bytes.clone(), Mutex::default()));
        let file = player.open_source("fetched", source.clone());
        let instance = player.add_instance(file).unwrap();
        let (mut opening, mut event) = (0, None);
        while event.is_none() {
            player.tick(0.0);
            event = player.next_event();
            opening += 1;
            assert!(opening < 1000, "it does not open");
            source.deliver(fails && opening > 2);
        }
        if fails {
            assert!(matches!(event, Some(Event::OpenFailed(f, _)) if f == file));
            continue;
        }
        assert!(matches!(event, Some(Event::Opened(f)) if f == file) && opening > 2);
        player.command(instance, Command::Play);
        let (mut digest, mut shown) = (Digest::default(), 0);
        for _ in 0..200 {
            player.tick(1.0 / FPS);
            source.deliver(false);
            if let Some(frame) = player.frame(instance) {
                assert_same(&frame, &expected, &mut digest);
                shown += 1;
            }
        }
        assert!(shown > 100, "{shown} frames");
    }
}
