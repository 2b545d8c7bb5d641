#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| timebase_lab::fuzz::clock_table(data));
