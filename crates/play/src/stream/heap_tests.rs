//! Tests of the heap against a model that lists the expected blocks.

use crate::stream::heap::*;
use crate::stream::sizes::{CLASSES, GRANULE, size_class};
use std::collections::HashMap;

/// A small random generator, so that each run is the same.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = (self.0.wrapping_mul(6364136223846793005)).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

#[test]
fn classes_are_in_the_order_of_sizes() {
    let mut last = 0;
    for granules in 1..5000 {
        let class = size_class(granules);
        assert!(class == last || class == last + 1 || granules < 16);
        assert!(class >= last && class < CLASSES);
        last = class;
    }
    assert!(size_class(u32::MAX) < CLASSES);
}

#[test]
fn a_block_is_held_spared_evicted_and_then_refused() {
    let mut heap = Heap::with_slots(8, 8, None).unwrap();
    let a = heap.alloc(4 * GRANULE, HeapEnd::Low, 7).unwrap();
    let b = heap.alloc(1, HeapEnd::High, 8).unwrap();
    assert!(heap.alloc(4 * GRANULE, HeapEnd::Low, 9).is_none());
    heap.memory().write(a).unwrap()[3] = 5;
    assert_eq!(heap.memory().read(a).unwrap().len(), 4 * GRANULE);
    assert!(!heap.make_room(4 * GRANULE, |_| panic!("held blocks stay")));
    assert!(heap.hold(a));
    heap.release(a, 0);
    assert!(!heap.make_room(4 * GRANULE, |_| panic!("held blocks stay")));
    heap.release(a, 0);
    let lent = heap.memory().read(a).unwrap();
    assert!(heap.memory().write(a).is_none(), "readers keep writers away");
    assert!(!heap.make_room(4 * GRANULE, |_| panic!("lent blocks stay")));
    let again = lent.clone();
    drop(lent);
    assert_eq!(again[3], 5);
    drop(again);
    let mut evicted = Vec::new();
    assert!(heap.make_room(4 * GRANULE, |tag| evicted.push(tag)));
    assert_eq!(evicted, [7]);
    assert!(!heap.hold(a) && heap.memory().read(a).is_none());
    assert!(heap.memory().write(a).is_none() && heap.memory().write(b).is_some());
    let counters = heap.counters();
    assert_eq!((counters.evictions, counters.failures), (1, 3));
    heap.assert_sound();
}

#[test]
fn what_is_discarded_while_read_goes_when_the_reader_does() {
    let mut heap = Heap::with_slots(8, 8, None).unwrap();
    let a = heap.alloc(1, HeapEnd::Low, 0).unwrap();
    let lent = heap.memory().read(a).unwrap();
    heap.discard(a);
    assert!(!heap.hold(a));
    heap.sweep(10);
    assert_eq!(heap.used_bytes(), 8 * GRANULE as u64);
    assert_eq!(lent.len(), 1);
    drop(lent);
    heap.sweep(10);
    assert_eq!(heap.used_bytes(), 0);
    heap.assert_sound();
}

#[test]
fn sliding_closes_gaps_between_held_blocks_but_not_across_a_reader() {
    let mut heap = Heap::with_slots(12, 32, None).unwrap();
    let blocks: Vec<Block> = (0..12).map(|i| heap.alloc(GRANULE, HeapEnd::Low, i).unwrap()).collect();
    for (i, &block) in blocks.iter().enumerate() {
        heap.memory().write(block).unwrap().fill(i as u64);
        if i % 2 == 0 {
            heap.discard(block);
        }
    }
    assert!(!heap.make_room(6 * GRANULE, |_| ()));
    let reader = heap.memory().read(blocks[5]).unwrap();
    assert!(!heap.compact(6 * GRANULE, 100 * GRANULE), "the reader is in the way");
    assert!(heap.compact(3 * GRANULE, 100 * GRANULE));
    drop(reader);
    let mut calls = 0;
    while !heap.compact(6 * GRANULE, 1) {
        calls += 1;
        assert!(calls < 20);
        heap.assert_sound();
    }
    assert!(heap.alloc(6 * GRANULE, HeapEnd::Low, 0).is_some());
    for i in [1, 3, 5, 7, 9, 11] {
        assert!(heap.memory().read(blocks[i]).unwrap().iter().all(|&w| w == i as u64));
    }
    heap.assert_sound();
}

#[test]
fn random_use_never_mixes_contents() {
    for seed in 0..20 {
        let mut random = Random(seed);
        let mut heap = Heap::with_slots(200, if seed % 2 == 0 { 32 } else { 256 }, None).unwrap();
        let mut blocks: HashMap<u64, (Block, usize, bool)> = HashMap::new();
        let mut readers: Vec<(u64, ReadGuard)> = Vec::new();
        let mut failures = 0;
        for tag in 0..3000u64 {
            match random.below(12) {
                0..5 => {
                    let most = if random.below(8) == 0 { 3000 } else { 300 };
                    let words = 1 + random.below(most);
                    let end = if random.below(2) == 0 { HeapEnd::Low } else { HeapEnd::High };
                    let mut block = heap.alloc(words, end, tag);
                    if block.is_none() {
                        let gone = heap.make_room(words, |tag| {
                            let (_, _, spare) = blocks.remove(&tag).expect("known");
                            assert!(spare, "only spare blocks are evicted");
                            assert!(readers.iter().all(|r| r.0 != tag));
                        });
                        if !gone {
                            heap.compact(words, 40 * GRANULE);
                        }
                        block = heap.alloc(words, end, tag);
                    }
                    let Some(block) = block else {
                        failures += 1;
                        continue;
                    };
                    let mut guard = heap.memory().write(block).unwrap();
                    assert_eq!(guard.len(), words);
                    guard.fill(tag);
                    drop(guard);
                    blocks.insert(tag, (block, words, false));
                }
                5..8 => {
                    let held: Vec<u64> = blocks.iter().filter(|b| !b.1.2).map(|b| *b.0).collect();
                    if let Some(&tag) = held.get(random.below(held.len().max(1))) {
                        heap.release(blocks[&tag].0, random.below(RANKS));
                        blocks.get_mut(&tag).unwrap().2 = true;
                    }
                }
                8 => {
                    let all: Vec<u64> = blocks.keys().copied().collect();
                    if let Some(&tag) = all.get(random.below(all.len().max(1))) {
                        heap.discard(blocks.remove(&tag).unwrap().0);
                    }
                }
                9 => {
                    let all: Vec<u64> = blocks.keys().copied().collect();
                    if let Some(&tag) = all.get(random.below(all.len().max(1))) {
                        readers.push((tag, heap.memory().read(blocks[&tag].0).unwrap()));
                    }
                }
                10 => {
                    if !readers.is_empty() {
                        readers.swap_remove(random.below(readers.len()));
                    }
                }
                _ => {
                    heap.sweep(8);
                    let spare: Vec<u64> = blocks.iter().filter(|b| b.1.2).map(|b| *b.0).collect();
                    if let Some(&tag) = spare.get(random.below(spare.len().max(1))) {
                        assert!(heap.hold(blocks[&tag].0));
                        blocks.get_mut(&tag).unwrap().2 = false;
                    }
                }
            }
            if tag % 16 == 0 {
                heap.assert_sound();
                for (tag, (block, words, _)) in &blocks {
                    let guard = heap.memory().read(*block).unwrap();
                    assert_eq!(guard.len(), *words);
                    assert!(guard.iter().all(|w| w == tag));
                }
                for (tag, guard) in &readers {
                    assert!(guard.iter().all(|w| w == tag));
                }
            }
        }
        assert!(failures < 2500);
        readers.clear();
        for (block, ..) in blocks.into_values() {
            heap.discard(block);
        }
        heap.sweep(usize::MAX);
        assert_eq!(heap.used_bytes(), 0);
        heap.assert_sound();
    }
}
