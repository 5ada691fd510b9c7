//! Fuzzes the reader of static analysis files. The property is in `tests/properties/sarif.rs`, where `cargo test` finds it, too.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| opencode_reviewer_fuzz::properties::sarif::hold(bytes));
