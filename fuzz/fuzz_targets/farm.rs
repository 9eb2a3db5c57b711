//! Plans and parts that are wrong in what they hold behind a right checksum: a part is made of a plan, and a
//! file is joined of a part, in little memory.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use meshreel_commands::farm::{join, part};
use meshreel_commands::shard::Shard;
use meshreel_compile::Silent;
use meshreel_fuzz::farm::{caches, mutate, seal, target};
use meshreel_fuzz::file;
use meshreel_fuzz::meter::{Meter, measure};

#[global_allocator]
static METER: Meter = Meter;

/// What the small caches may take, whatever is said of them.
const MAX_MEMORY_BYTES: u64 = 256 << 20;

fuzz_target!(|data: &[u8]| {
    let Some((&of, bytes)) = data.split_first() else { return };
    let mut bytes = bytes.to_vec();
    if !seal(&mut bytes) {
        return;
    }
    let is_plan = bytes.starts_with(b"MRPLAN");
    let given = file(if is_plan { "given.plan" } else { "given.part" }, &bytes);
    let (made, joined) = (target("made.part"), target("joined.reel"));
    let cache = &caches()[usize::from(of) % caches().len()];
    let share = match usize::from(of) / caches().len() % 2 {
        0 => Shard::new(1, 1),
        _ => Shard::new(2, 3),
    };
    let ((), most) = measure(|| {
        if !is_plan {
            let _ = join(&[given], &joined, None, 1, &Silent);
        } else if let Some(share) = share {
            let inputs = (cache.inputs.clone(), cache.points.clone());
            let done = part(&given, share, &made, Some(inputs), 1, &Silent);
            if done.is_ok() && share.count() == 1 {
                let _ = join(&[made], &joined, None, 1, &Silent);
            }
        }
    });
    assert!(most < MAX_MEMORY_BYTES, "{most} bytes");
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(data, size, max_size, seed)
});
