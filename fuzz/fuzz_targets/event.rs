//! Fuzzes the door for events. The property is in `tests/properties/event.rs`, where `cargo test` finds it, too.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| opencode_reviewer_fuzz::properties::event::hold(bytes));
