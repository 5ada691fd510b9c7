//! Fuzzes the redactor. The property is in `tests/properties/redact.rs`, where `cargo test` finds it, too.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| opencode_reviewer_fuzz::properties::redact::hold(bytes));
