//! The account of the review: its passes, the reviewers of a panel, the consensus, the steps of fixing, and what it cost.

use super::{Page, Part};
use crate::report::consensus::ConsensusReport;
use crate::report::document::{PassReport, SectionReport};
use crate::report::reviewers::{RaisedReport, ReviewerReport};
use maud::{Markup, html};
use reviewer_text::count::{duration, grouped, plural};

impl Page<'_> {
    pub(super) fn passes(&self) -> Option<Part> {
        let passes = &self.report.passes;
        let content = html! {
            div class="scroll" tabindex="0" {
                table {
                    thead { tr {
                        th scope="col" { "Pass" } th scope="col" class="figure" { "Tool calls" }
                        th scope="col" class="figure" { "Tokens" } th scope="col" class="figure" { "Cost" }
                        th scope="col" class="figure" { "Time" } th scope="col" { "Summary" }
                    } }
                    tbody { @for pass in passes { (self.pass(pass)) } }
                }
            }
        };
        (!passes.is_empty()).then(|| Part {
            id: "passes",
            title: "Passes".to_owned(),
            content,
        })
    }

    /// The coverage of each section of a large change.
    pub(super) fn sections(&self) -> Option<Part> {
        let sections = &self.report.sections;
        let content = html! {
            div class="scroll" tabindex="0" {
                table {
                    thead { tr {
                        th scope="col" { "Section" } th scope="col" class="figure" { "Files" }
                        th scope="col" class="figure" { "Lines" } th scope="col" { "Passes" }
                        th scope="col" class="figure" { "Tokens" } th scope="col" class="figure" { "Cost" }
                        th scope="col" class="figure" { "Time" } th scope="col" { "Not reviewed to the end because" }
                    } }
                    tbody { @for section in sections { (self.section(section)) } }
                }
            }
        };
        (!sections.is_empty()).then(|| Part {
            id: "sections",
            title: plural(sections.len(), "section"),
            content,
        })
    }

    fn section(&self, section: &SectionReport) -> Markup {
        html! {
            tr {
                th scope="row" { (section.section) }
                td class="figure" { (grouped(section.files as u64)) }
                td class="figure" { (grouped(section.lines as u64)) }
                td { @if section.reviewed { "all" } @else { strong { (section.submitted()) } } }
                td class="figure" { (self.counted(section.tokens)) }
                td class="figure" { (self.report.cost(section.cost_usd)) }
                td class="figure" { (duration(section.seconds)) }
                td { (self.sentence(&section.reason)) }
            }
        }
    }

    fn pass(&self, pass: &PassReport) -> Markup {
        html! {
            tr {
                th scope="row" {
                    @if let Some(section) = pass.section { "section " (section) ", " }
                    @if let Some(reviewer) = &pass.reviewer { (self.plain(reviewer)) ", " }
                    (pass.number) " · " (pass.title)
                }
                td class="figure" { (grouped(pass.tool_calls as u64)) }
                td class="figure" { (self.counted(pass.tokens)) }
                td class="figure" { (self.report.cost(pass.cost_usd)) }
                td class="figure" { (duration(pass.seconds)) }
                td class="words" { @if pass.finished { (self.sentence(&pass.summary)) } @else { strong { "not finished" } } }
            }
        }
    }

    pub(super) fn reviewers(&self) -> Option<Part> {
        let reviewers = &self.report.reviewers;
        let content = html! {
            div class="scroll" tabindex="0" {
                table {
                    thead { tr {
                        th scope="col" { "Reviewer" } th scope="col" { "Model" }
                        @for figure in ["Raised", "Alone", "Confirmed", "Refuted", "Stood", "Conceded later", "Tokens", "Cost", "Per finding"] {
                            th scope="col" class="figure" { (figure) }
                        }
                    } }
                    tbody { @for one in reviewers { (self.ledger_row(one)) } }
                }
            }
            @for one in reviewers { (self.reviewer(one)) }
        };
        (!reviewers.is_empty()).then(|| Part {
            id: "reviewers",
            title: plural(reviewers.len(), "reviewer"),
            content,
        })
    }

    fn ledger_row(&self, one: &ReviewerReport) -> Markup {
        let numbers = [
            one.raised,
            one.alone,
            one.confirmed,
            one.refuted,
            one.stood,
            one.conceded,
        ];
        let each = one.cost_usd_per_finding;
        html! {
            tr {
                th scope="row" { (self.plain(&one.agent)) @if !one.finished { " (did not finish)" } }
                td { (self.plain(&one.model)) }
                @for number in numbers { td class="figure" { (number) } }
                td class="figure" { (grouped(one.tokens)) }
                td class="figure" { (self.report.cost(one.cost_usd)) }
                td class="figure" { (each.map_or_else(|| "–".to_owned(), |usd| self.report.cost(usd))) }
            }
        }
    }

    /// The findings as one reviewer raised them, with the summaries of its passes.
    fn reviewer(&self, one: &ReviewerReport) -> Markup {
        let conclusion = one.conclusion.map(|name| name.replace('_', " "));
        html! {
            details {
                summary {
                    (self.plain(&one.agent)) ": " (plural(one.findings.len(), "finding"))
                    @if let Some(conclusion) = conclusion { ", " (conclusion) }
                }
                ul { @for raised in &one.findings { li { (self.raised(raised)) } } }
                (self.prose(&one.full_report))
            }
        }
    }

    fn raised(&self, raised: &RaisedReport) -> Markup {
        let place = match raised.line {
            Some(line) => format!("{}:{line}", raised.file),
            None => raised.file.clone(),
        };
        let page = raised
            .source
            .review_id
            .and_then(|id| self.links.conversation(id));
        html! {
            strong { (raised.priority) } " · "
            (self.linked(page.as_deref(), &self.name(&place)))
            " · " (self.sentence(&raised.title))
        }
    }

    pub(super) fn consensus(&self) -> Option<Part> {
        let consensus = self.report.consensus.as_ref()?;
        let words = consensus.conclusion.map(|name| name.replace('_', " "));
        let content = html! {
            p {
                @match (&words, consensus.rule) {
                    (Some(words), Some(rule)) => {
                        strong { (words) } " (rule " (rule) ": " (self.plain(&consensus.because)) ")."
                    }
                    _ => { strong { "none" } ", because " (self.plain(&consensus.because)) "." }
                }
            }
            (priorities(consensus))
            @if !consensus.changes_requested_by.is_empty() {
                p { "Changes are requested by "
                    @for (index, person) in consensus.changes_requested_by.iter().enumerate() {
                        @if index > 0 { ", " } (self.plain(&person.login))
                    }
                "." }
            }
            (self.conversations(consensus))
        };
        Some(Part {
            id: "consensus",
            title: "Consensus".to_owned(),
            content,
        })
    }

    fn conversations(&self, consensus: &ConsensusReport) -> Markup {
        let analyzer = &consensus.comments_analyzer;
        html! {
            @if !analyzer.pending_issues.is_empty() {
                h3 { "Open conversations of people" }
                ul {
                    @for issue in &analyzer.pending_issues {
                        li { (self.raised(issue)) " (" (self.plain(&issue.source.name)) ")" }
                    }
                }
                @if analyzer.threads_truncated { p { "No model has weighed some of them." } }
            }
        }
    }

    pub(super) fn costs(&self) -> Option<Part> {
        let ledger = &self.report.ledger;
        let content = html! {
            div class="scroll" tabindex="0" {
                table {
                    thead { tr {
                        th scope="col" { "Run" } th scope="col" class="figure" { "Tokens" }
                        th scope="col" class="figure" { "Cost" }
                    } }
                    tbody {
                        @for run in &ledger.runs { (self.cost_row(&run.day, run.tokens, run.cost_usd)) }
                        (self.cost_row("all days", ledger.tokens, ledger.cost_usd))
                    }
                }
            }
        };
        (!ledger.runs.is_empty()).then(|| Part {
            id: "costs",
            title: "Costs of the pull request".to_owned(),
            content,
        })
    }

    fn cost_row(&self, name: &str, tokens: u64, usd: f64) -> Markup {
        html! {
            tr {
                th scope="row" { (name) }
                td class="figure" { (self.counted(tokens)) }
                td class="figure" { (self.report.cost(usd)) }
            }
        }
    }

    fn counted(&self, tokens: u64) -> String {
        let about = if self.report.tokens_estimated {
            "about "
        } else {
            ""
        };
        format!("{about}{}", grouped(tokens))
    }

    pub(super) fn fixes(&self) -> Option<Part> {
        let events = &self.report.events;
        let content = html! {
            div class="scroll" tabindex="0" {
                table {
                    thead { tr { th scope="col" { "Time" } th scope="col" { "Step" } th scope="col" { "Details" } } }
                    tbody {
                        @for event in events {
                            tr {
                                td { (self.plain(&event.at)) }
                                th scope="row" { (event.event.words()) }
                                td { (self.name(&event.details.to_string())) }
                            }
                        }
                    }
                }
            }
        };
        (!events.is_empty()).then(|| Part {
            id: "fixes",
            title: "Fixing".to_owned(),
            content,
        })
    }
}

fn priorities(consensus: &ConsensusReport) -> Markup {
    let rows = [
        ("standing", &consensus.issues),
        ("raised in this run", &consensus.raised),
    ];
    html! {
        div class="scroll" tabindex="0" {
            table {
                thead { tr {
                    th scope="col" { "Findings" }
                    @for priority in ["P0", "P1", "P2", "P3"] { th scope="col" class="figure" { (priority) } }
                } }
                tbody {
                    @for (name, issues) in rows {
                        tr {
                            th scope="row" { (name) }
                            @for count in [issues.p0_blocking, issues.p1_critical, issues.p2_important, issues.p3_suggestion] {
                                td class="figure" { (count) }
                            }
                        }
                    }
                }
            }
        }
    }
}
