//! What sessions run on, and the sessions themselves. It knows of no pull request.

pub mod session;
