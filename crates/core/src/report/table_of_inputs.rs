//! The table of inputs for a terminal. Pure.

use super::wrap::{piece, wrapped};
use crate::config::inputs::{INPUTS, Input};
use reviewer_text::line::{Line, Style};

/// Before the meaning of an input.
const INDENT: &str = "    ";

/// Every input: its name, its default, its meaning.
#[must_use]
pub fn page(width: usize) -> Vec<Line> {
    let mut lines = vec![
        vec![piece(
            Style::Plain,
            "In a workflow: below `with:`. In a shell: --input NAME=VALUE.",
        )],
        Vec::new(),
    ];
    for input in INPUTS {
        lines.extend(row(input, width));
    }
    lines
}

fn row(input: &Input, width: usize) -> Vec<Line> {
    let default = match (input.is_required(), input.default) {
        (true, _) => "required".to_owned(),
        (false, "") => "no default".to_owned(),
        (false, default) => format!("default: {default}"),
    };
    let mut lines = vec![vec![
        piece(Style::Strong, input.name),
        piece(Style::Faint, format!("  {default}")),
    ]];
    let help = piece(Style::Plain, format!("{INDENT}{}", input.help));
    lines.extend(wrapped(&[help], INDENT, width));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_stands_there_with_its_default_and_its_meaning_wrapped() {
        let lines = page(60);
        let text = |line: &Line| line.iter().map(|piece| piece.text.as_str()).collect();
        let lines: Vec<String> = lines.iter().map(text).collect();
        for input in INPUTS {
            let head = format!("{}  ", input.name);
            assert!(lines.iter().any(|line| line.starts_with(&head)), "{head}");
        }
        assert!(lines.contains(&"model  required".to_owned()), "{lines:?}");
        let default = "problem_score_threshold  default: 5".to_owned();
        assert!(lines.contains(&default), "{lines:?}");
        let help = lines.iter().filter(|line| line.starts_with("    "));
        assert!(help.clone().count() > INPUTS.len());
        for line in help {
            assert!(
                line.chars().count() <= 60 || !line.trim().contains(' '),
                "{line}"
            );
        }
    }
}
