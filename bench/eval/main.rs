//! `make eval`: prints how well repetition is recognised and secrets are taken out, on files of labelled texts. An example and
//! no command of the product, because nobody reviews with it; the suite holds the same figures against bars.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: reads the files to measure on"
)]

#[path = "mod.rs"]
mod measures;

use clap::Parser;
use opencode_reviewer::actions::Errors;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Measures how well the reviewer recognises repetition and takes out secrets.
#[derive(Parser)]
#[command(name = "eval")]
enum Evaluation {
    /// Recall and false positives of recognised repetition, on a file of labelled pairs
    Dedupe {
        /// One JSON object a line, with "same" (true or false) and the texts "a" and "b"
        file: PathBuf,
    },
    /// Recall and needless changes of redaction, on a file of samples
    Redact {
        /// One JSON object a line, with the "text" and its "spans", the list of secrets in it
        file: PathBuf,
        /// Also count how many distinct texts of a file change: JSON with a "text", or with "a" and "b"; repeatable
        #[arg(long, value_name = "FILE")]
        ordinary: Vec<PathBuf>,
        /// Name the lines whose secrets stayed, and those that changed without one
        #[arg(long)]
        lines: bool,
    },
}

fn main() -> ExitCode {
    let report = match &Evaluation::parse() {
        Evaluation::Dedupe { file } => measured(file, "pair", |text| {
            measures::dedupe(text).map(|counts| counts.to_string())
        }),
        Evaluation::Redact {
            file,
            ordinary,
            lines,
        } => measured(file, "sample", |text| {
            measures::redact::redaction(text).map(|counts| match lines {
                true => format!("{counts}{}", counts.lines()),
                false => counts.to_string(),
            })
        })
        .and_then(|report| {
            let lines = ordinary.iter().map(|file| {
                measured(file, "text", |text| {
                    measures::redact::ordinary(text).map(|counts| counts.to_string())
                })
            });
            std::iter::once(Ok(report)).chain(lines).collect()
        }),
    };
    match report {
        Ok(report) => {
            print!("{report}");
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            Errors::default().complain(&sentence);
            ExitCode::from(2)
        }
    }
}

/// What a measurement says about a file, or why there is none.
fn measured<E: std::fmt::Display>(
    file: &Path,
    line: &str,
    measure: impl Fn(&str) -> Result<String, E>,
) -> Result<String, String> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| {
        format!("{name} cannot be read ({error}); give a text file in UTF-8 with one {line} a line")
    })?;
    measure(&text).map_err(|error| format!("{name} cannot be measured on: {error}"))
}
