//! Fuzzes the judge of requests to the model. The property is in `tests/properties/request.rs`, where `cargo test` finds it, too.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| opencode_reviewer_fuzz::properties::request::hold(bytes));
