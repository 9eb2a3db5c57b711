//! Blocks that are read and written while their owner evicts, frees and moves them.

use crate::heap::{Heap, HeapEnd};
use loom::thread;

/// Words of a granule.
const GRANULE: usize = 32;
const HEAP: usize = 3 * 8 * GRANULE;

#[test]
fn a_reader_keeps_its_block_or_finds_it_gone() {
    loom::model(|| {
        let mut heap = Heap::new(HEAP, None).unwrap();
        let block = heap.alloc(GRANULE, HeapEnd::Low, 1).unwrap();
        heap.memory().write(block).unwrap().fill(7);
        let memory = heap.memory().clone();
        let reader = thread::spawn(move || {
            if let Some(guard) = memory.read(block) {
                assert!(guard.iter().all(|&w| w == 7));
            }
        });
        heap.discard(block);
        heap.sweep(1);
        // The memory may have a new owner by now.
        if let Some(next) = heap.alloc(3 * GRANULE, HeapEnd::Low, 2) {
            heap.memory().write(next).unwrap().fill(9);
        }
        reader.join().unwrap();
        heap.sweep(1);
    });
}

#[test]
fn a_move_is_not_seen() {
    loom::model(|| {
        let mut heap = Heap::new(HEAP, None).unwrap();
        let gap = heap.alloc(GRANULE, HeapEnd::Low, 1).unwrap();
        let block = heap.alloc(GRANULE, HeapEnd::Low, 2).unwrap();
        heap.memory().write(block).unwrap().fill(7);
        heap.discard(gap);
        let memory = heap.memory().clone();
        let reader = thread::spawn(move || {
            let guard = memory.read(block).expect("held");
            assert!(guard.iter().all(|&w| w == 7));
        });
        if heap.compact(2 * GRANULE, 100) {
            let next = heap.alloc(2 * GRANULE, HeapEnd::Low, 3).unwrap();
            heap.memory().write(next).unwrap().fill(9);
        }
        reader.join().unwrap();
        assert!(heap.memory().read(block).unwrap().iter().all(|&w| w == 7));
    });
}

#[test]
fn what_was_written_is_read_whole() {
    loom::model(|| {
        let mut heap = Heap::new(HEAP, None).unwrap();
        let block = heap.alloc(1, HeapEnd::Low, 1).unwrap();
        let memory = heap.memory().clone();
        let writer = thread::spawn(move || {
            let mut guard = memory.write(block);
            if let Some(guard) = &mut guard {
                guard[0] = 1;
            }
            guard.is_some()
        });
        let seen = heap.memory().read(block).map(|guard| guard[0]);
        let wrote = writer.join().unwrap();
        assert!(wrote || seen.is_some(), "one of them comes first");
        let now = heap.memory().read(block).unwrap()[0];
        assert_eq!(now, u64::from(wrote));
        assert!(seen.is_none_or(|seen| seen == 0 || wrote));
    });
}

#[test]
fn a_stale_handle_does_not_disturb_the_next_owner() {
    loom::model(|| {
        let mut heap = Heap::new(HEAP, None).unwrap();
        let old = heap.alloc(GRANULE, HeapEnd::Low, 1).unwrap();
        heap.discard(old);
        let new = heap.alloc(GRANULE, HeapEnd::Low, 2).unwrap();
        let memory = heap.memory().clone();
        let late = thread::spawn(move || {
            assert!(memory.read(old).is_none());
            assert!(memory.write(old).is_none());
        });
        assert!(heap.memory().write(new).is_some());
        late.join().unwrap();
    });
}
