//! The findings that were said, each with its code as the diff has it, and the open threads of earlier runs.

use super::words::line_of_code;
use super::{Page, Part};
use crate::domain::LineKind;
use crate::publish::comment::without_repeat;
use crate::report::code::{CodeLine, Excerpt, cleaned};
use crate::report::findings::{ArgumentReport, FindingReport, ThreadReport};
use crate::report::terminal::{said, threads};
use maud::{Markup, html};
use reviewer_text::count::plural;

impl Page<'_> {
    pub(super) fn findings(&self) -> Option<Part> {
        let said = said(self.report);
        (!said.is_empty()).then(|| Part {
            id: "findings",
            title: plural(said.len(), "finding"),
            content: html! {
                @if said.len() > 1 { (self.overview(&said)) }
                @for (index, finding) in said.iter().enumerate() { (self.finding(index, finding)) }
            },
        })
    }

    /// The findings in a line each, which leads to the whole of it.
    fn overview(&self, said: &[&FindingReport]) -> Markup {
        html! {
            ol class="overview" {
                @for (index, finding) in said.iter().enumerate() {
                    li {
                        (self.dot(finding.score)) " "
                        a href={ "#" (id(index)) } { (self.heading(&finding.finding)) }
                        " " span class="faint" { (self.name(&finding.place)) }
                    }
                }
            }
        }
    }

    fn finding(&self, index: usize, finding: &FindingReport) -> Markup {
        let excerpt = self.material.code.get(&finding.id);
        let code = excerpt.and_then(|excerpt| self.code(excerpt));
        let place = html! {
            (self.place(finding, excerpt))
            @if let Some(url) = &finding.url { " · " (self.linked(Some(url), &html! { "comment" })) }
        };
        html! {
            article id=(id(index)) class=(self.level(finding.score)) {
                h3 { (self.dot(finding.score)) " " (self.sentence(&finding.finding)) }
                p class="faint" {
                    @if code.is_none() { (place) " · " }
                    (self.report.weight(finding))
                    @if finding.fate == "unpublished" { " · " strong { "not published" } }
                }
                @if let Some(code) = code { figure { figcaption { (place) } (code) } }
                (self.explained(finding))
            }
        }
    }

    /// Everything about a finding below its headline, whether it was said or not.
    pub(super) fn explained(&self, finding: &FindingReport) -> Markup {
        let body = without_repeat(&finding.body, &finding.finding);
        html! {
            (self.prose(body))
            @if let Some(support) = self.report.support(finding) { p { (self.plain(&support)) } }
            @if !finding.arguments.is_empty() {
                ul { @for argument in &finding.arguments { li { (self.argument(argument)) } } }
            }
            @if !finding.also_at.is_empty() {
                p { "Also at " @for (index, place) in finding.also_at.iter().enumerate() {
                    @if index > 0 { ", " } (self.name(place))
                } "." }
            }
            (self.reason_of_score(&finding.assessment))
        }
    }

    /// Folded, because it is for whoever doubts the score.
    fn reason_of_score(&self, assessment: &str) -> Markup {
        html! {
            @if !assessment.trim().is_empty() {
                details class="why" {
                    summary { "Why this score" }
                    p { (self.sentence(assessment)) }
                }
            }
        }
    }

    fn argument(&self, argument: &ArgumentReport) -> Markup {
        let side = match argument.side {
            "for" => "For",
            _ => "Against",
        };
        html! {
            (side) ", " (self.plain(&argument.by)) ": " (self.sentence(&argument.reason))
            @if let Some(quote) = &argument.quote { " " (self.name(quote)) }
        }
    }

    /// Severity at a glance, which the words beside it say as well.
    pub(super) fn dot(&self, score: u8) -> Markup {
        html! { span class={ "dot " (self.level(score)) } aria-hidden="true" {} }
    }

    fn level(&self, score: u8) -> &'static str {
        let blocks = self.report.blocking_from;
        match score {
            _ if blocks.is_some_and(|blocks| score >= blocks.get()) => "blocks",
            7.. => "grave",
            _ => "small",
        }
    }

    /// File and lines, with a link to the file at the commit that was reviewed.
    pub(super) fn place(&self, finding: &FindingReport, excerpt: Option<&Excerpt>) -> Markup {
        let address =
            excerpt.and_then(|excerpt| self.links.line(&finding.file, excerpt.side, excerpt.line));
        self.leading(address.as_deref(), &self.name(&finding.place))
    }

    /// `None` where a secret spans lines, and they cannot be told apart any more.
    pub(super) fn code(&self, excerpt: &Excerpt) -> Option<Markup> {
        let texts = excerpt.lines.iter().map(|line| line.text.as_str());
        let texts = cleaned(texts, self.material.clean)?;
        let lines = excerpt.lines.iter().zip(texts);
        Some(html! {
            pre class="diff" tabindex="0" {
                code { @for (line, text) in lines { (code_line(line, &text)) } }
            }
        })
    }

    pub(super) fn threads(&self) -> Option<Part> {
        let threads = threads(self.report);
        (!threads.is_empty()).then(|| Part {
            id: "threads",
            title: "Open from earlier reviews".to_owned(),
            content: html! { @for thread in threads { (self.thread(thread)) } },
        })
    }

    fn thread(&self, thread: &ThreadReport) -> Markup {
        let weight = self
            .report
            .weight_of(thread.category.as_deref(), thread.score);
        html! {
            article class=(self.level(thread.score)) {
                h3 { (self.dot(thread.score)) " " (self.sentence(&thread.finding)) }
                p class="faint" {
                    (self.linked(Some(&thread.url), &self.name(&thread.place())))
                    " · " (weight) " · " (thread.status)
                    @if let Some(since) = &thread.since { " · since " code { (since) } }
                }
                (self.reason_of_score(&thread.assessment))
            }
        }
    }
}

/// The place of a finding on the page.
fn id(index: usize) -> String {
    format!("finding-{}", index + 1)
}

fn code_line(line: &CodeLine, text: &str) -> Markup {
    let (class, sign, number) = match line.kind {
        LineKind::Context => ("line", " ", line.new),
        LineKind::Added => ("line added", "+", line.new),
        LineKind::Removed => ("line removed", "-", line.old),
    };
    let content = html! {
        span class="number" { @if let Some(number) = number { (number) } }
        span class="sign" { (sign) }
        (line_of_code(text)) "\n"
    };
    html! {
        @if line.meant { mark class=(class) { (content) } } @else { span class=(class) { (content) } }
        @if line.omitted > 0 { span class="line gap" { "… " (plural(line.omitted, "line")) "\n" } }
    }
}
