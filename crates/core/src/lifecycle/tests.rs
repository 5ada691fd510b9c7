//! The tests of the life: one for each correction of the design and each row of its table of errors, then random interleavings and an
//! exhaustive search over small worlds. `fixture` plays one life by hand, `world` is a small GitHub with sessions.

mod checked;
mod corrections;
mod errors;
mod fixture;
mod holes;
mod interleavings;
mod merges;
mod names;
mod overruling;
mod people;
mod quotas;
mod retention;
mod reviews;
mod search;
mod telling;
mod transitions;
mod world;
