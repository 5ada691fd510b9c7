//! Text as such: what hides in it, how it is fenced, cleaned and counted. A leaf: nothing here knows of the other modules.

pub mod count;
pub mod encoding;
pub mod fence;
pub mod hidden;
pub mod line;
pub mod prose;
pub mod sanitize;
pub mod template;
