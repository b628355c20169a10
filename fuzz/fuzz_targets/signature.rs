#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| disburse::fuzzing::signature(bytes));
