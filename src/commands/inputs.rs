//! `inputs`: the table of inputs, for whoever types one.

use crate::actions::Actions;
use reviewer_core::report::table_of_inputs;

/// Prints the table. Returns the exit code.
#[must_use]
pub fn inputs(actions: &Actions) -> u8 {
    let (look, page) = (actions.look(), table_of_inputs::page(actions.look().width));
    actions.answer_page(&page, look.colours);
    0
}
