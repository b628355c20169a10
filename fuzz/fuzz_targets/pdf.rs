#![no_main]

libfuzzer_sys::fuzz_target!(
    init: disburse::fuzzing::expect_panics_of_the_reader(),
    |bytes: &[u8]| disburse::fuzzing::pdf(bytes)
);
