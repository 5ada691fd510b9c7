//! Fuzzes the walker of hunks. The property is in `tests/properties/diff.rs`, where `cargo test` finds it, too.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| opencode_reviewer_fuzz::properties::diff::hold(bytes));
