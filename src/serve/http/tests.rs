//! The server over real sockets, with a backend that remembers what it was asked.

mod api;
mod attacks;
mod fake;
mod ui;
