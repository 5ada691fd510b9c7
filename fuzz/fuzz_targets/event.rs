#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| opencode_reviewer_fuzz::properties::event::hold(bytes));
