//! The words about sections: what a session is told of its section of a large change, and the consolidation of all sections.

use super::{Brief, file_line};
use crate::context::division::Shown;
use crate::domain::{FileDiff, Pass, prefixed};
use crate::review::desk::Entry;
use reviewer_text::template::{self, TemplateError};
use std::collections::HashSet;

const SECTION: &str = include_str!("../../prompts/section.md");
const SECTIONS: &str = include_str!("../../prompts/sections.md");
/// The files of other sections that a session is told of; the folder has the diffs of all.
const MOST_OTHERS: usize = 200;

/// The section of a large change that a session reviews.
#[derive(Debug, Clone, Copy)]
pub struct OwnSection<'a> {
    /// Counted from 1.
    pub number: usize,
    /// The number of sections.
    pub of: usize,
    pub diffs: &'a [Shown<'a>],
}

impl Brief<'_> {
    /// Lists the files of the session's section, then those of the others. `changed`: all files that are reviewed.
    pub(super) fn of_section(
        &self,
        own: &OwnSection<'_>,
        changed: &[&FileDiff],
    ) -> Result<String, TemplateError> {
        let lines = own.diffs.iter().map(|shown| match shown.piece {
            Some((piece, of)) => format!("{}, piece {piece} of {of}", file_line(&shown.diff)),
            None => file_line(&shown.diff),
        });
        let listed = self.listed(lines);
        let paths: HashSet<&str> = own.diffs.iter().map(|shown| &*shown.diff.path).collect();
        let others = changed
            .iter()
            .filter(|diff| !paths.contains(diff.path.as_str()));
        let others: Vec<String> = others.map(|diff| file_line(diff)).collect();
        let others = if others.is_empty() {
            "None.".to_owned()
        } else {
            self.listed_up_to(MOST_OTHERS, others.into_iter())
        };
        let values = [
            ("number", own.number.to_string()),
            ("of", own.of.to_string()),
            ("others", others),
        ];
        let values = values
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        Ok(format!(
            "{listed}\n\n{}",
            template::render(SECTION, &values)?.trim_end()
        ))
    }

    /// The prompt that consolidates the findings of all sections. It begins a session and shows no diff.
    pub(super) fn sections(
        &self,
        pass: &Pass,
        of: usize,
        entries: &[Entry],
    ) -> Result<String, TemplateError> {
        let [number, total] = super::task::numbers(pass);
        let (subject, staged) = (self.subject(), self.staged(entries));
        let of = of.to_string();
        let values = [
            ("number", number.as_str()),
            ("total", &total),
            ("of", &of),
            ("subject", &subject),
            ("folder", self.folder),
            ("staged", &staged),
        ];
        template::render(&prefixed(SECTIONS, self.prefix), &values)
    }
}
