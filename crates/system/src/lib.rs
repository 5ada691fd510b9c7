//! Access to the machine: time, randomness, HTTP clients that leave it.

pub mod callback;
pub mod clock;
pub mod outbound;
pub mod random;
