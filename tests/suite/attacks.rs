//! The obedient attacker: a model that does whatever a hostile text orders, against everything that stands between it
//! and the world. Each case carries the number that the catalogue of threats gives its kind. After every run the same
//! judge looks through all that left: no secret in any form, no write elsewhere, nothing that a page would act on.
//!
//! Most cases run with the quick sidecar (`tests/sidecar/`), which is as obedient as the model; `real.rs` has those
//! that need OpenCode itself, and one of every kind besides.

mod forms;
mod ground;
mod judge;
mod obedient;

mod commands;
mod fixing;
mod forgery;
mod mouth;
mod page;
mod real;
mod secrets;
mod tools;
mod web;
mod words;

use ground::{Channel, Ground};
use obedient::step;
