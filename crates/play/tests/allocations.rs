//! Decoding meshes of fixed topology allocates nothing: everything is there when the decoder has been made.
#![allow(unsafe_code)] // The counting allocator.

mod common;

use common::{assert_shows, open, sample};
use meshreel::FrameDecoder;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

fn count() {
    // A thread that is ending has no counter any more.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call goes on to the system's allocator unchanged; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the ones that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above; `pointer` came from the system's allocator, as all of this one's do.
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn decoding_allocates_nothing() {
    use meshreel_codec::block::Format;
    const FRAMES: usize = 14;
    for fluid in [false, true] {
        for format in [Format::Store, Format::Deflate, Format::Lz4, Format::Zstd] {
            let mut sample = sample(FRAMES, fluid);
            sample.parts.format = format;
            let reel = open(sample.parts.write()).unwrap();
            let mut decoder = FrameDecoder::new(&reel).unwrap();
            let mut positions = vec![0.0; 3 * decoder.mesh(0).vertex_count()];
            let before = ALLOCATIONS.get();
            let mut decoded = 0;
            for step in [1, 3, 13, 5] {
                for frame in 0..FRAMES {
                    decoder.decode(frame * step % FRAMES).unwrap();
                    decoded += 1;
                    decoder.mesh(0).positions_into(&mut positions).unwrap();
                }
            }
            let allocations = ALLOCATIONS.get() - before;
            if fluid {
                // Predictor tables, a few per frame on the way; nothing that grows.
                assert!(allocations < 400 * decoded, "{format:?}: {allocations}");
            } else {
                assert_eq!(allocations, 0, "{format:?}");
            }
            decoder.decode(3).unwrap();
            assert_shows(&decoder, &sample.expected[3]);
            assert!(ALLOCATIONS.get() > before, "the counter counts");
        }
    }
}

#[test]
fn showing_allocates_nothing() {
    use meshreel::{Attribute, Clock, Command, Format, FrameView, Repeat, Timeline, What};
    let reel = open(sample(14, false).parts.write()).unwrap();
    let mut decoders = [0, 1].map(|_| FrameDecoder::new(&reel).unwrap());
    let mut clock = Clock::new(&Timeline::of(&reel));
    let attributes = [
        (What::Position, Format::U16x4, 0),
        (What::TangentFrame, Format::I16x4, 8),
        (What::Uv(0), Format::F16x2, 16),
        (What::Velocity, Format::F16x4, 20),
    ]
    .map(|(what, format, offset)| Attribute {
        what,
        format,
        offset,
    });
    let vertices = decoders[0].mesh(0).vertex_count();
    let mut bytes = vec![0; 28 * vertices];
    let mut worlds = vec![[[0.0; 4]; 3]; reel.description().nodes.len()];
    let (mut points, mut indices) = (
        vec![0.0; 3 * vertices],
        vec![0; reel.indices(0).unwrap().len()],
    );
    let before = ALLOCATIONS.get();
    for repeat in [Repeat::Loop, Repeat::PingPong, Repeat::Cycle] {
        clock.command(Command::Play);
        clock.command(Command::Repeat(repeat));
        for _ in 0..50 {
            clock.advance(0.031);
            let demand = clock.demand();
            let pair = demand.now.unwrap();
            let [first, second] = &mut decoders;
            first.decode(pair.first as usize).unwrap();
            second.decode(pair.second as usize).unwrap();
            let view = FrameView::between(first, second, pair.blend, clock.pace()).unwrap();
            view.worlds_into(&mut worlds).unwrap();
            view.collision_into(1, &mut points, &mut indices).unwrap();
            let mesh = view.mesh(1).unwrap();
            mesh.write(&attributes, 28, 0..vertices, &mut bytes)
                .unwrap();
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
