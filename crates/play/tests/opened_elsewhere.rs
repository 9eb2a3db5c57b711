//! Files that were opened elsewhere, and bytes that the host provides later.

use crate::common::playing::{Digest, assert_same, oracle};
use crate::common::{golden, inline};
use meshreel::raw::format::ReadAt;
use meshreel::stream::{AsyncSource, ReadRequest};
use meshreel::{Command, Error, Event, FileId, FrameDecoder, Limits, Player, Reel, Repeat};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const BLOCK: usize = 1024;

/// Bytes of which only some blocks are there. A read of others fails as one that would block.
struct Blocks {
    bytes: Arc<[u8]>,
    there: Mutex<Vec<bool>>,
    /// The block that was missing last.
    missing: Mutex<Option<usize>>,
    asked: AtomicUsize,
}

impl Blocks {
    fn new(bytes: &Arc<[u8]>) -> Arc<Blocks> {
        let there = Mutex::new(vec![false; bytes[..].len().div_ceil(BLOCK)]);
        Arc::new(Blocks {
            bytes: bytes.clone(),
            there,
            missing: Mutex::default(),
            asked: AtomicUsize::new(0),
        })
    }

    /// Provides the block that was missing; returns whether there was one.
    fn provide_missing(&self) -> bool {
        let Some(block) = self.missing.lock().unwrap().take() else {
            return false;
        };
        self.there.lock().unwrap()[block] = true;
        true
    }

    /// Opens the reel, and provides missing blocks until that succeeds.
    fn open(self: &Arc<Blocks>) -> Reel {
        loop {
            match Reel::from_named_source(self.clone(), "blocks", &Limits::default()) {
                Ok(reel) => return reel,
                Err(error) => assert!(self.provide_missing(), "{error}"),
            }
        }
    }
}

impl ReadAt for Blocks {
    fn len(&self) -> u64 {
        self.bytes.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let (start, end) = (offset as usize, offset as usize + out.len());
        let there = self.there.lock().unwrap();
        if let Some(block) = (start / BLOCK..end.div_ceil(BLOCK)).find(|block| !there[*block]) {
            *self.missing.lock().unwrap() = Some(block);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        out.copy_from_slice(&self.bytes[start..end]);
        Ok(())
    }
}

/// A source of frames, all of which are there.
struct FrameSource(Arc<[u8]>);

impl AsyncSource for FrameSource {
    fn size(&self) -> u64 {
        self.0.len()
    }
    fn start(&self, mut read: ReadRequest) {
        let (start, size) = (read.offset() as usize, read.buffer().len());
        read.buffer().copy_from_slice(&self.0[start..start + size]);
        read.complete(Ok(size));
    }
}

fn bytes() -> Arc<[u8]> {
    golden("v0/snake_small.reel").into()
}

/// Plays for a while, and compares all frames that are shown.
fn play(player: &mut Player, file: FileId, bytes: &Arc<[u8]>) {
    let expected = oracle(bytes);
    let mut digest = Digest::default();
    let instance = player.add_instance(file).unwrap();
    player.command(instance, Command::Repeat(Repeat::Loop));
    player.command(instance, Command::Play);
    let mut shown = 0;
    for _ in 0..100_000 {
        player.tick(1.0 / 60.0);
        if let Some(frame) = player.frame(instance) {
            assert_same(&frame, &expected, &mut digest);
            shown += 1;
        }
        if shown == 120 {
            return;
        }
    }
    panic!("{shown} frames shown");
}

/// Ticks until there is an event, and returns it.
fn event(player: &mut Player) -> Event {
    loop {
        player.tick(1.0 / 60.0);
        if let Some(event) = player.next_event() {
            return event;
        }
    }
}

#[test]
fn h07_a_reel_that_was_opened_elsewhere_plays() {
    let bytes = bytes();
    for threads in [0, 1] {
        // Static data that a decoder has read is not read again.
        for decoded in [false, true] {
            let blocks = Blocks::new(&bytes);
            let reel = blocks.open();
            while decoded && FrameDecoder::new(&reel).is_err() {
                assert!(blocks.provide_missing());
            }
            let asked = blocks.asked.load(Ordering::Relaxed);
            blocks.there.lock().unwrap().fill(true);
            let mut player = Player::new(inline(8 << 20).with_threads(threads)).unwrap();
            let file = player.open_reel(reel, Arc::new(FrameSource(bytes.clone())));
            assert_eq!(player.name(file).unwrap().to_str(), Some("blocks"));
            play(&mut player, file, &bytes);
            assert_eq!(blocks.asked.load(Ordering::Relaxed) == asked, decoded);
        }
    }
}

#[test]
fn h07_a_source_that_lacks_bytes_is_asked_again() {
    let bytes = bytes();
    for threads in [0, 1] {
        let blocks = Blocks::new(&bytes);
        let reel = blocks.open();
        let mut player = Player::new(inline(8 << 20).with_threads(threads)).unwrap();
        let file = player.open_reel(reel, Arc::new(FrameSource(bytes.clone())));
        let mut brought = 0;
        let opened = loop {
            // It waits as long as necessary, without an event.
            for _ in 0..5 {
                player.tick(1.0 / 60.0);
            }
            if let Some(event) = player.next_event() {
                break event;
            }
            brought += usize::from(blocks.provide_missing());
        };
        assert!(matches!(opened, Event::Opened(id) if id == file), "{opened:?}");
        assert!(brought > 0, "its static data was not there");
        play(&mut player, file, &bytes);
    }
}

#[test]
fn h07_what_is_closed_while_bytes_are_missing_is_not_asked_for_again() {
    let bytes = bytes();
    let blocks = Blocks::new(&bytes);
    let mut player = Player::new(inline(8 << 20)).unwrap();
    let file = player.open_reel(blocks.open(), Arc::new(FrameSource(bytes.clone())));
    player.tick(1.0 / 60.0);
    let before = blocks.asked.load(Ordering::Relaxed);
    player.tick(1.0 / 60.0);
    let asked = blocks.asked.load(Ordering::Relaxed);
    assert!(asked > before, "each tick asks");
    player.close(file);
    for _ in 0..10 {
        player.tick(1.0 / 60.0);
    }
    assert_eq!(blocks.asked.load(Ordering::Relaxed), asked);
    assert!(player.next_event().is_none() && Arc::strong_count(&blocks) == 1, "it is given up");
}

#[test]
fn h07_other_bytes_little_memory_and_damage_are_refused_with_their_class() {
    let bytes = bytes();
    let whole = || {
        let blocks = Blocks::new(&bytes);
        blocks.there.lock().unwrap().fill(true);
        blocks
    };
    let reel = whole().open();
    let mut player = Player::new(inline(8 << 20)).unwrap();
    player.open_reel(reel.clone(), Arc::new(FrameSource(golden("v0/square.reel").into())));
    let refused = event(&mut player);
    assert!(matches!(refused, Event::OpenFailed(_, Error::Misuse { .. })), "{refused:?}");

    let mut player = Player::new(inline(8 << 20).with_file_memory(reel.memory() - 1)).unwrap();
    player.open_reel(reel, Arc::new(FrameSource(bytes.clone())));
    let refused = event(&mut player);
    assert!(matches!(refused, Event::OpenFailed(_, Error::Limit { .. })), "{refused:?}");

    let reel = whole().open();
    let mesh = &reel.description().meshes[0];
    let at = reel.chunks()[mesh.values.chunk as usize].offset as usize;
    let mut damaged = bytes.to_vec();
    damaged[at + 5] ^= 0x10;
    let blocks = Blocks::new(&damaged.into());
    blocks.there.lock().unwrap().fill(true);
    let mut player = Player::new(inline(8 << 20)).unwrap();
    player.open_reel(blocks.open(), Arc::new(FrameSource(bytes.clone())));
    let refused = event(&mut player);
    assert!(matches!(refused, Event::OpenFailed(_, Error::Malformed { .. })), "{refused:?}");
}
