//! The gateway, which stands between the sidecar and its model: what it lets through, what it puts in, what it takes
//! out, and what it refuses. In-process with a stand-in for the provider; with the real OpenCode in `real.rs`.

mod adapters;
mod allow_list;
mod answers;
mod bench;
mod fatal;
mod opencode;
mod real;
mod recorded;
mod refusals;
mod sessions;
mod way;
