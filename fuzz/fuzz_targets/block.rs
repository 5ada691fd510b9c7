//! Fuzzes the codec of blocks. The property is in `tests/properties/block.rs`, where `cargo test` finds it, too.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| opencode_reviewer_fuzz::properties::block::hold(bytes));
