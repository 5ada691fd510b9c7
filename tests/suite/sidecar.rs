//! The real OpenCode under our process, profile and client, with a scripted model behind it.

mod faults;
mod supervised;
mod turns;
mod workshop;
