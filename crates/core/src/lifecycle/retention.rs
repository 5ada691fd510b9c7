//! Retention: the time for which the store keeps the state of a pull request that has ended. One that is reopened later begins anew,
//! and its reviews on GitHub say what is done.

use super::Millis;

/// The names of the phases that a life ends in.
pub const ENDS: [&str; 2] = ["closed", "merged"];

/// Long enough for whoever looks back, and for everything outside the store that still refers to an effect.
const KEPT_MS: i64 = 90 * 24 * 60 * 60 * 1_000;

/// True for the state of an ended pull request whose last input is long ago.
#[must_use]
pub fn may_forget(phase: &str, changed: Millis, now: Millis) -> bool {
    ENDS.contains(&phase) && changed < now.saturating_sub(KEPT_MS)
}
