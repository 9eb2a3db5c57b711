//! Streaming of a file: what one read fetches, what stays in memory, and the effects of the settings and
//! switches.

use crate::common::playing::{Digest, assert_same, oracle};
use crate::common::{golden, inline, sample};
use meshreel::policy::DebugSwitches;
use meshreel::stream::{AsyncSource, ReadRequest, Statistics, StreamStatistics};
use meshreel::{Command, FileId, FrameKind, InstanceId, Limits, Options, Player, Reel, Repeat};
use std::sync::{Arc, Mutex};

const FPS: f64 = 60.0;

/// A source in memory that records the ranges that are read while playing.
struct RecordingSource {
    bytes: Arc<[u8]>,
    ranges: Mutex<Vec<(u64, u64)>>,
}

impl AsyncSource for RecordingSource {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn start(&self, mut read: ReadRequest) {
        let start = read.offset() as usize;
        let size = read.buffer().len();
        if !read.is_opening() {
            let range = (read.offset(), read.offset() + size as u64);
            self.ranges.lock().unwrap().push(range);
        }
        read.buffer().copy_from_slice(&self.bytes[start..start + size]);
        read.complete(Ok(size));
    }
}

fn playing(options: Options, bytes: &Arc<[u8]>) -> (Player, FileId, InstanceId, Arc<RecordingSource>) {
    let source = Arc::new(RecordingSource { bytes: bytes.clone(), ranges: Mutex::default() });
    let mut player = Player::new(options).unwrap();
    let file = player.open_source("noted", source.clone());
    let instance = player.add_instance(file).unwrap();
    player.command(instance, Command::Repeat(Repeat::Loop));
    player.command(instance, Command::Play);
    (player, file, instance, source)
}

fn statistics(player: &Player, file: FileId) -> StreamStatistics {
    let mut all = Statistics::default();
    player.statistics(&mut all);
    let found = all.streams.into_iter().find(|s| s.file == Some(file));
    found.expect("open")
}

/// One read brings several frames and ends where a group does.
#[test]
fn a_read_holds_several_frames_and_ends_with_an_index_frame() {
    let bytes: Arc<[u8]> = sample(240, false).parts.write().into();
    let reel = Reel::from_source(Arc::new(bytes.clone()), &Limits::default()).unwrap();
    let size = 24_000;
    let options = inline(8 << 20).with_read_size(size);
    let (mut player, _, instance, source) = playing(options, &bytes);
    for _ in 0..600 {
        player.tick(1.0 / FPS);
        assert!(!player.frame(instance).unwrap().is_late());
    }
    let ranges = source.ranges.lock().unwrap();
    let (mut frames, mut cut) = (0, 0);
    for &(start, end) in ranges.iter() {
        let inside = |f: &usize| {
            let chunk = reel.frame_chunk(*f);
            start <= chunk.offset && chunk.offset + u64::from(chunk.size) <= end
        };
        let held: Vec<usize> = (0..240).filter(inside).collect();
        frames += held.len();
        let last = *held.last().expect("whole frames");
        let chunk = reel.frame_chunk(last);
        assert_eq!(chunk.offset + u64::from(chunk.size), end, "nothing is cut");
        if reel.frame_kind(last) == FrameKind::Index {
            cut += 1;
        }
        assert!(end - start <= 2 * size);
    }
    assert_eq!(cut, ranges.len(), "each ends with an index frame");
    assert!(frames >= 6 * ranges.len(), "{frames} in {}", ranges.len());
}

/// A small file is decoded once, and then plays from memory.
#[test]
fn a_small_file_plays_from_memory() {
    let bytes: Arc<[u8]> = sample(61, true).parts.write().into();
    let expected = oracle(&bytes);
    let mut digest = Digest::default();
    let options = inline(8 << 20).with_resident(4 << 20);
    let (mut player, file, instance, source) = playing(options, &bytes);
    let other = player.add_instance(file).unwrap();
    player.command(other, Command::Rate(-3.0));
    player.command(other, Command::Repeat(Repeat::Loop));
    player.command(other, Command::Play);
    for _ in 0..60 {
        player.tick(1.0 / FPS);
    }
    let once = source.ranges.lock().unwrap().len();
    assert!(statistics(&player, file).resident);
    assert_eq!(statistics(&player, file).counters.frames_decoded, 61);
    for _ in 0..600 {
        player.tick(1.0 / FPS);
        for instance in [instance, other] {
            assert_same(&player.frame(instance).unwrap(), &expected, &mut digest);
        }
    }
    assert_eq!(statistics(&player, file).counters.frames_decoded, 61);
    assert_eq!(source.ranges.lock().unwrap().len(), once);
    // Above the limit it is streamed.
    let small = inline(8 << 20).with_resident(100_000);
    let (mut player, file, ..) = playing(small, &bytes);
    player.tick(1.0 / FPS);
    assert!(!statistics(&player, file).resident);
}

/// In a layered file, frames that are left out are neither read nor decoded.
#[test]
fn frames_that_are_left_out_are_not_read() {
    let bytes: Arc<[u8]> = golden("v0/flag_small.reel").into();
    let expected = oracle(&bytes);
    let mut digest = Digest::default();
    let mut run = |step: u32| {
        let (mut player, file, instance, _) = playing(inline(8 << 20), &bytes);
        player.command(instance, Command::FrameStep(step));
        for _ in 0..240 {
            player.tick(1.0 / FPS);
            let Some(shown) = player.frame(instance) else {
                continue;
            };
            assert_same(&shown, &expected, &mut digest);
            let pair = shown.pair();
            let last = expected.len() as u32 - 1;
            let remains = |frame: u32| frame.is_multiple_of(step) || frame == last;
            assert!(remains(pair.first) && remains(pair.second), "{step}: {pair:?}");
        }
        statistics(&player, file).counters
    };
    let (all, half, keys) = (run(1), run(2), run(16));
    let frames = expected.len() as u64;
    assert_eq!(all.frames_decoded, frames);
    // The last group is shorter, and split elsewhere.
    assert!(half.frames_decoded <= frames / 2 + 4, "{half:?}");
    assert_eq!(keys.frames_decoded, (frames - 1).div_ceil(16) + 1);
    assert!(
        keys.bytes_read < half.bytes_read && half.bytes_read < all.bytes_read,
        "{keys:?} {half:?} {all:?}"
    );
    // Vertices of keys are larger than those between them, but there are few.
    assert!(4 * keys.bytes_read <= 3 * all.bytes_read, "{keys:?} {all:?}");
}

/// Where one instance of a file leaves frames out and another does not, both show what they should.
#[test]
fn near_and_far_instances_share_a_file() {
    let bytes: Arc<[u8]> = golden("v0/flag_small.reel").into();
    let expected = oracle(&bytes);
    let mut digest = Digest::default();
    let (mut player, file, near, _) = playing(inline(8 << 20), &bytes);
    let far = player.add_instance(file).unwrap();
    for command in [Command::FrameStep(16), Command::Play, Command::Repeat(Repeat::Loop)] {
        player.command(far, command);
    }
    player.command(near, Command::Repeat(Repeat::Loop));
    for tick in 0..240 {
        if tick == 120 {
            player.command(far, Command::FrameStep(1));
            player.command(near, Command::FrameStep(16));
        }
        player.tick(1.0 / FPS);
        for instance in [near, far] {
            if let Some(shown) = player.frame(instance) {
                assert_same(&shown, &expected, &mut digest);
            }
        }
    }
    assert_eq!(statistics(&player, file).counters.frames_decoded, expected.len() as u64);
}

/// The frames that an instance will show can be read ahead, in both directions, and are then shown.
#[test]
fn e22_frames_ahead_are_those_that_are_shown_next() {
    let bytes: Arc<[u8]> = golden("v0/flag_small.reel").into();
    for backwards in [false, true] {
        let (mut player, _, instance, _) = playing(inline(8 << 20), &bytes);
        if backwards {
            player.command(instance, Command::Rate(-1.0));
        }
        let (mut said, mut kept) = (0, Vec::<u32>::new());
        for _ in 0..90 {
            player.tick(1.0 / FPS);
            let Some(shown) = player.frame(instance) else { continue };
            // The second frame of the pair was announced, and was the first or second one announced.
            if let Some(at) = kept.iter().position(|frame| *frame == shown.pair().second) {
                assert!(at <= 1, "{kept:?} {:?}", shown.pair());
                said += 1;
            }
            kept = player.upcoming_frames(instance).map(|ahead| ahead.number()).collect();
            for ahead in player.upcoming_frames(instance).take(2) {
                let mesh = ahead.frame().mesh(0);
                let mut positions = vec![0.0; 3 * mesh.vertex_count()];
                mesh.positions_into(&mut positions).unwrap();
                assert!(positions.iter().all(|v| v.is_finite()));
            }
        }
        assert!(said > 10, "{said}");
    }
}

/// Reads, jobs and drawing stop and continue as the switches say.
#[test]
fn switches_stop_reads_jobs_and_drawing() {
    let bytes: Arc<[u8]> = sample(61, false).parts.write().into();
    let (mut player, file, instance, source) = playing(inline(8 << 20), &bytes);
    player.tick(0.0);
    player.tick(1.0 / FPS);
    assert!(player.frame(instance).is_some());
    player.set_switches(DebugSwitches::ON.with_drawing(false));
    assert!(player.frame(instance).is_none());
    player.set_switches(DebugSwitches::ON.with_reads(false).with_jobs(false));
    let (reads, before) = (source.ranges.lock().unwrap().len(), statistics(&player, file));
    for _ in 0..120 {
        player.tick(1.0 / FPS);
    }
    assert!(player.frame(instance).unwrap().is_late(), "it stands still");
    assert_eq!(source.ranges.lock().unwrap().len(), reads);
    assert_eq!(statistics(&player, file).counters.decodes, before.counters.decodes);
    player.set_switches(DebugSwitches::ON);
    player.tick(1.0 / FPS);
    assert!(!player.frame(instance).unwrap().is_late());
}

/// The sizes of reads and the horizons are settings.
#[test]
fn settings_bound_reads_and_what_is_decoded_ahead() {
    let bytes: Arc<[u8]> = sample(240, false).parts.write().into();
    let run = |read_size, most_read_ahead, decode_ahead| {
        let options = inline(8 << 20)
            .with_read_size(read_size)
            .with_least_read_ahead(most_read_ahead / 4.0)
            .with_most_read_ahead(most_read_ahead)
            .with_decode_ahead(decode_ahead);
        let (mut player, file, _, source) = playing(options, &bytes);
        player.tick(0.0);
        player.tick(1.0 / FPS);
        let ranges = source.ranges.lock().unwrap();
        let read: u64 = ranges.iter().map(|r| r.1 - r.0).sum();
        let largest = ranges.iter().map(|r| r.1 - r.0).max();
        let decoded = statistics(&player, file).counters.frames_decoded;
        (read, largest.unwrap_or(0), decoded)
    };
    let near = run(1 << 20, 1.0, 0.1);
    let far = run(1 << 20, 4.0, 0.1);
    assert!(2 * near.0 < far.0, "{near:?} {far:?}");
    assert!(run(1 << 14, 4.0, 0.1).1 <= 2 << 14);
    assert!(run(1 << 20, 4.0, 1.0).2 >= 2 * far.2);
    let heap = Player::new(inline(8 << 20).with_heap(3 << 20)).unwrap();
    let mut all = Statistics::default();
    heap.statistics(&mut all);
    assert_eq!(all.heap_bytes, 3 << 20);
}
