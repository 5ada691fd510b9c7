//! The results of static analysis in the report: what was read, and what became of each result on a changed line.

use super::document::Report;
use crate::publish::comment;
use crate::review::candidate_outcomes::CandidateOutcome;
use crate::static_analysis::{Candidate, Candidates, ToolResults, Unread, candidate_name};
use reviewer_text::count::plural;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// The results of static analysis tools that the run read. None of them decides the verdict by itself.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct StaticAnalysisReport {
    pub files: Vec<AnalysisFileReport>,
    /// The number of results that were read.
    pub results: usize,
    /// The number of further results that the tools themselves set aside: suppressed, unchanged since a baseline, or no failure.
    pub set_aside: usize,
    /// The number of results that were too many to be read.
    pub beyond: usize,
    /// The number of candidates that were too many to be judged.
    pub candidates_beyond: usize,
    /// The results on changed lines.
    pub candidates: Vec<CandidateReport>,
}

/// A file of the input static_analysis.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AnalysisFileReport {
    pub path: String,
    /// The reason why it was not read; null where it was.
    pub problem: Option<String>,
}

/// A result on a changed line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CandidateReport {
    /// As the model named it, such as S1.
    pub id: String,
    pub tool: String,
    /// Empty where the tool names none.
    pub rule: String,
    #[schemars(extend("enum" = ["error", "warning", "note", "none"]))]
    pub level: &'static str,
    pub file: String,
    pub line: u32,
    /// The tool's words.
    pub message: String,
    #[schemars(extend("enum" = ["confirmed", "refuted", "not_judged"]))]
    pub outcome: &'static str,
    /// The finding of this run, or the first comment of the thread, that says it.
    pub finding: Option<String>,
    /// The reason why it was refuted.
    pub reason: Option<String>,
    /// The file of the quote.
    pub quote_file: Option<String>,
    /// The code that contradicts it.
    pub quote: Option<String>,
}

impl StaticAnalysisReport {
    /// The files with what was read of them, and the candidates with their outcomes.
    #[must_use]
    pub fn new(
        files: &[(String, Result<ToolResults, Unread>)],
        candidates: &Candidates,
        outcomes: &[CandidateOutcome],
    ) -> Self {
        let read = || files.iter().filter_map(|(_, read)| read.as_ref().ok());
        let file = |(path, read): &(String, Result<ToolResults, Unread>)| AnalysisFileReport {
            path: path.clone(),
            problem: read
                .as_ref()
                .err()
                .map(|why| comment::analysis::unread(path, why)),
        };
        let judged = candidates.first.iter().zip(outcomes).enumerate();
        Self {
            files: files.iter().map(file).collect(),
            results: read().map(|one| one.results.len()).sum(),
            set_aside: read().map(|one| one.set_aside).sum(),
            beyond: read().map(|one| one.beyond).sum(),
            candidates_beyond: candidates.beyond,
            candidates: judged
                .map(|(index, (one, outcome))| candidate(index, one, outcome))
                .collect(),
        }
    }

    /// The number of results and their outcomes, in one line.
    #[must_use]
    pub(super) fn line(&self) -> String {
        let count = |outcome: &str| {
            let all = self.candidates.iter();
            all.filter(|one| one.outcome == outcome).count()
        };
        let read = plural(self.results, "result");
        let mut line = match self.candidates.len() {
            0 => format!("Static analysis: {read}, none on a changed line."),
            on_lines => format!(
                "Static analysis: {read}, {on_lines} on changed lines: {} confirmed, {} refuted, {} not judged.",
                count("confirmed"),
                count("refuted"),
                count("not_judged")
            ),
        };
        if self.candidates_beyond > 0 {
            let more = plural(self.candidates_beyond, "more result");
            let _ = write!(line, " {more} on changed lines did not fit the review.");
        }
        if self.beyond > 0 {
            let _ = write!(line, " {} were too many to be read.", self.beyond);
        }
        line
    }
}

fn candidate(index: usize, one: &Candidate, outcome: &CandidateOutcome) -> CandidateReport {
    let mut report = CandidateReport {
        id: candidate_name(index),
        tool: one.rule.tool.clone(),
        rule: one.rule.rule.clone(),
        level: one.level.as_str(),
        file: one.path.clone(),
        line: one.line,
        message: one.message.clone(),
        outcome: "not_judged",
        finding: None,
        reason: None,
        quote_file: None,
        quote: None,
    };
    match outcome.clone() {
        CandidateOutcome::Confirmed { finding } => {
            report.outcome = "confirmed";
            report.finding = Some(finding);
        }
        CandidateOutcome::Refuted {
            reason,
            file,
            quote,
        } => {
            report.outcome = "refuted";
            (report.reason, report.quote_file, report.quote) =
                (Some(reason), Some(file), Some(quote));
        }
        CandidateOutcome::NotJudged => {}
    }
    report
}

impl Report {
    /// The line about static analysis; `None` where no file was named.
    pub(super) fn analysis_line(&self) -> Option<String> {
        self.static_analysis
            .as_ref()
            .map(StaticAnalysisReport::line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_says_what_was_read_and_what_became_of_it() {
        let mut report = StaticAnalysisReport {
            results: 1,
            ..StaticAnalysisReport::default()
        };
        assert_eq!(
            report.line(),
            "Static analysis: 1 result, none on a changed line."
        );
        let one = |outcome| CandidateReport {
            id: "S1".into(),
            tool: "semgrep".into(),
            rule: String::new(),
            level: "error",
            file: "src/a.rs".into(),
            line: 1,
            message: String::new(),
            outcome,
            finding: None,
            reason: None,
            quote_file: None,
            quote: None,
        };
        report = StaticAnalysisReport {
            results: 70,
            candidates: ["confirmed", "refuted", "not_judged", "refuted"]
                .map(one)
                .into(),
            candidates_beyond: 1,
            beyond: 12,
            ..report
        };
        assert_eq!(
            report.line(),
            "Static analysis: 70 results, 4 on changed lines: 1 confirmed, 2 refuted, 1 not judged. 1 more result on changed lines \
             did not fit the review. 12 were too many to be read."
        );
    }
}
