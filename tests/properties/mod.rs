//! What holds of any input, for the eight readers of foreign text. One place for two drivers: `cargo test` throws dice, the
//! targets of `fuzz/` let coverage lead. Both supply bytes; `draw.rs` makes them into inputs, and a property panics.

pub mod active;
pub mod block;
pub mod diff;
pub mod draw;
pub mod event;
pub mod forms;
pub mod redact;
pub mod request;
pub mod sanitize;
pub mod sarif;
pub mod tools;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Mostly pieces that make trouble, then plain characters, then anything.
    fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![4 => 0x80_u8..=0xFE, 3 => 0x20_u8..0x7F, 2 => any::<u8>()];
        proptest::collection::vec(byte, 0..most)
    }

    fn cases(cases: u32) -> ProptestConfig {
        ProptestConfig {
            cases,
            failure_persistence: None,
            ..ProptestConfig::default()
        }
    }

    proptest! {
        #![proptest_config(cases(400))]

        #[test]
        fn any_body_is_read_for_blocks(bytes in bytes(90)) {
            block::hold(&bytes);
        }

        #[test]
        fn any_patch_is_walked(bytes in bytes(120)) {
            diff::hold(&bytes);
        }

        #[test]
        fn any_event_is_let_in_or_turned_away(bytes in bytes(90)) {
            event::hold(&bytes);
        }

        #[test]
        fn any_request_to_the_model_is_judged(bytes in bytes(90)) {
            request::hold(&bytes);
        }

        #[test]
        fn any_file_of_static_analysis_is_results_or_a_reason(bytes in bytes(90)) {
            sarif::hold(&bytes);
        }

        #[test]
        fn any_arguments_are_answered(bytes in bytes(120)) {
            tools::hold(&bytes);
        }
    }

    proptest! {
        #![proptest_config(cases(200))]

        #[test]
        fn any_text_is_cleaned(bytes in bytes(50)) {
            sanitize::hold(&bytes);
        }
    }

    proptest! {
        #![proptest_config(cases(48))]

        #[test]
        fn any_secret_is_taken_out(bytes in bytes(70)) {
            redact::hold(&bytes);
        }
    }
}
