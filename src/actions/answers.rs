//! Results: what a command was asked to print. They have a stream of their own in a shell, so that another program can read
//! them; foreign text in them commands neither a terminal nor a runner.

use super::{Actions, log_text, new_file};
use reviewer_core::report::Report;
use reviewer_core::report::code::Code;
use reviewer_core::report::html::{self, Material};
use reviewer_core::report::terminal::{self, Layout};
use reviewer_text::line::{Line, Piece};
use serde_json::Value;
use std::io;
use std::path::Path;

/// The amount that a person wants to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Verbosity {
    /// The result, warnings and errors.
    Quiet,
    #[default]
    Normal,
    Verbose,
}

/// The look of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub colours: bool,
    /// In columns.
    pub width: usize,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            colours: false,
            width: terminal::USUAL_WIDTH,
        }
    }
}

impl Actions {
    /// The table that a command was asked to print.
    pub(crate) fn answer(&self, table: &str) {
        self.print_answer(&log_text::table(&self.clean(table)));
    }

    /// The page that a command was asked to print, in colours or not.
    pub(crate) fn answer_page(&self, page: &[Line], colours: bool) {
        let cleaned = |piece: &Piece| Piece {
            style: piece.style,
            text: self.clean(&piece.text).into_owned(),
        };
        let page: Vec<Line> = page
            .iter()
            .map(|line| line.iter().map(cleaned).collect())
            .collect();
        self.print_answer(&log_text::page(&page, colours));
    }

    /// The report that a command was asked to print, for a person.
    pub(crate) fn answer_report(&self, report: &Report, code: &Code) {
        let clean = |text: &str| self.clean(text).into_owned();
        let layout = Layout {
            width: self.look.width,
            lists_files: self.is_verbose(),
        };
        let page = terminal::page(report, code, &clean, layout);
        self.answer_page(&page, self.look.colours);
    }

    /// A line of a result, with foreign text below it.
    pub(crate) fn answer_quoted(&self, line: &str, foreign: &str) -> io::Result<()> {
        if self.commands {
            self.line(line);
            return match foreign {
                "" => Ok(()),
                foreign => self.foreign(foreign),
            };
        }
        let line = log_text::one_line(&self.clean(line));
        let quoted = match foreign {
            "" => String::new(),
            foreign => log_text::quoted(&self.clean(foreign)),
        };
        self.print_answer(&format!("{line}\n{quoted}"));
        Ok(())
    }

    /// The data that a command was asked to print.
    pub(crate) fn answer_json(&self, value: Value) {
        self.print_answer(&log_text::json(&self.redactor.clean_value(value)));
    }

    /// The report as a page for a browser.
    pub(crate) fn answer_html(&self, report: &Report, code: &Code) {
        let material = Material {
            code,
            check: None,
            clean: &|text| self.clean(text).into_owned(),
        };
        let page = html::page(report, &material);
        self.print_answer(&log_text::html(&page));
    }

    fn print_answer(&self, text: &str) {
        match &self.answers {
            Some(answers) => {
                // Both may be the same terminal.
                self.settle();
                match answers.try_write(text) {
                    // The reader has read enough, as `head` does.
                    Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                        let _first = self.lost_answer.set(error.to_string());
                    }
                    _ => {}
                }
            }
            None => self.print(text),
        }
    }

    /// Returns why a result could not be written, if so.
    #[must_use]
    pub fn lost_answer(&self) -> Option<&str> {
        self.lost_answer.get().map(String::as_str)
    }
}

/// A file of the person's choice that takes results, without colours. It hides the same secrets.
pub(crate) fn file_answers(actions: &Actions, path: &Path) -> io::Result<Actions> {
    let file = new_file(path)?;
    let mut answers =
        Actions::writing_to(Box::new(io::sink()), false, None, None).answering_to(Box::new(file));
    answers.redactor = actions.redactor.clone();
    answers.verbosity = actions.verbosity;
    Ok(answers)
}
