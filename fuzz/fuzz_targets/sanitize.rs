//! Fuzzes the sanitiser. The property is in `tests/properties/sanitize.rs`, where `cargo test` finds it, too.
#![no_main]

libfuzzer_sys::fuzz_target!(
    |bytes: &[u8]| opencode_reviewer_fuzz::properties::sanitize::hold(bytes)
);
