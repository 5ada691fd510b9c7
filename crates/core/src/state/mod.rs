//! The memory on the pull request: the codec of the reviewer's blocks, their signatures, and the fold that rebuilds
//! every thread from them. Pure, so that the memory of the product can be tested without GitHub.

pub mod answers;
pub(crate) mod backlog;
pub mod block;
pub mod check_mark;
pub mod decided;
pub mod rebuild;
pub mod record;
pub mod repeats;
pub mod signature;
pub(crate) mod signed_line;
pub mod spending;
pub mod statement;
pub(crate) mod undelivered;
