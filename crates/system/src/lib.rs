//! Access to the machine: time, randomness, HTTP clients that leave it.

pub mod clock;
pub mod outbound;
pub mod random;
