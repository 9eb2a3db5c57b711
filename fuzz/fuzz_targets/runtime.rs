//! Forged `.reel` files, wrong in what their blocks hold behind right checksums, through everything that
//! reads one, in little memory.
#![no_main]

use libfuzzer_sys::{fuzz_crossover, fuzz_mutator, fuzz_target};
use meshreel_fuzz::drive::drive;
use meshreel_fuzz::forge::{cross, mutate};
use meshreel_fuzz::meter::Meter;
use meshreel_fuzz::reel::seal;

#[global_allocator]
static METER: Meter = Meter;

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    if seal(&mut bytes) {
        drive(bytes);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(data, size, max_size, seed)
});

fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| { cross(one, other, out, seed) });
