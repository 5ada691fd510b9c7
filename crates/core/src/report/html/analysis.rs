//! The results of static analysis on the page: what became of each candidate, and why.

use super::{Page, Part};
use crate::report::static_analysis::{CandidateReport, StaticAnalysisReport};
use maud::{Markup, html};
use reviewer_text::hidden::visible;

impl Page<'_> {
    pub(super) fn static_analysis(&self) -> Option<Part> {
        let analysis = self.report.static_analysis.as_ref()?;
        Some(Part {
            id: "static-analysis",
            title: "Static analysis".to_owned(),
            content: html! {
                p { (analysis.line()) }
                (self.unread(analysis))
                @for candidate in &analysis.candidates { (self.candidate(candidate)) }
            },
        })
    }

    fn unread(&self, analysis: &StaticAnalysisReport) -> Markup {
        let problems = analysis.files.iter();
        let problems = problems.filter_map(|file| file.problem.as_deref());
        html! { @for problem in problems { p class="warning" { (self.plain(problem)) } } }
    }

    fn candidate(&self, one: &CandidateReport) -> Markup {
        let outcome = match one.outcome {
            "not_judged" => "not judged",
            outcome => outcome,
        };
        let place = format!("{}:{}", one.file, one.line);
        html! {
            details {
                summary {
                    (one.id) " " strong { (outcome) } " " (self.name(&one.tool))
                    @if !one.rule.is_empty() { ", rule " (self.name(&one.rule)) }
                    " " span class="faint" { (self.name(&place)) " · " (one.level) }
                }
                @if !one.message.trim().is_empty() { p { "The tool says: " (self.plain(&one.message)) } }
                @if let Some(finding) = &one.finding { p { "Finding " (self.name(finding)) "." } }
                @if let Some(reason) = &one.reason { p { "Refuted: " (self.plain(reason)) } }
                @if let Some(quote) = &one.quote {
                    @if let Some(file) = &one.quote_file { p { (self.name(file)) ":" } }
                    pre { code { (self.shown(quote)) } }
                }
            }
        }
    }

    /// Code as it stands, without secrets and with nothing hidden.
    fn shown(&self, code: &str) -> String {
        let clean = self.without_secrets(code);
        let lines: Vec<_> = clean.split('\n').map(visible).collect();
        lines.join("\n")
    }
}
