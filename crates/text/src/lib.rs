//! Text as such: what hides in it, how it is fenced, cleaned and counted. A leaf: nothing here knows of the other modules.

pub mod capital;
pub mod count;
pub mod encoding;
pub mod fence;
pub mod hidden;
pub mod line;
pub mod program_output;
pub mod prose;
pub mod redact;
pub mod sanitize;
pub mod sentence;
pub mod template;

#[cfg(test)]
#[path = "../../../tests/properties/active.rs"]
mod active;
#[cfg(test)]
#[path = "../../../tests/properties/forms.rs"]
mod forms;

// The properties name the crate as others do.
#[cfg(test)]
extern crate self as reviewer_text;
