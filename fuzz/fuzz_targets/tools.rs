//! Fuzzes the arguments of the tools. The property is in `tests/properties/tools.rs`, where `cargo test` finds it, too.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| opencode_reviewer_fuzz::properties::tools::hold(bytes));
