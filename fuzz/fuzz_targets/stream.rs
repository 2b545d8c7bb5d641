#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|data: &[u8]| timebase_lab::fuzz::stream(data));

// Half of the changes are of bytes, half of fields.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    timebase_lab::fuzz::mutate::in_place(data, size, max_size, seed, fuzzer_mutate)
});
