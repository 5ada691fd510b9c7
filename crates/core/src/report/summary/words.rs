//! Text of others on its way to the page: on one line, as words that do nothing.

use reviewer_text::hidden::is_line_break;
use reviewer_text::sanitize::clean;
use reviewer_text::sentence;

/// Text of others on one line, as words that do nothing.
pub(super) fn inline(text: &str) -> String {
    flat(&clean(&flat(text)))
}

/// One line, in which no fence can open.
fn flat(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c == '\t' || is_line_break(c) => out.push(' '),
            c if c.is_control() => {}
            '`' | '~' if out.ends_with(&format!("{c}{c}")) => {}
            c => out.push(c),
        }
    }
    out
}

/// The longest name of a file that is shown.
const LONGEST_NAME: usize = 120;

/// A name as code, on one line.
pub(super) fn name(name: &str) -> String {
    let name: String = name.chars().take(LONGEST_NAME).collect();
    format!("`{}`", flat(&name).replace('`', "'"))
}

/// The longest text in a table; the report has it all.
const LONGEST_CELL: usize = 500;

/// Text of others in a cell of a table.
pub(in crate::report) fn cell(text: &str) -> String {
    sentence::cell(text, LONGEST_CELL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_s_words_cannot_break_the_table() {
        assert_eq!(
            cell("a | b\n<img src=x> ![x](https://evil.example) ~~~~~ @octocat"),
            "a \\| b &lt;img src=x> \\[image removed\\] \\~\\~ `@octocat`"
        );
    }
}
