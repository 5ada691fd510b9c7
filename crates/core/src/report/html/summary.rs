//! The head of the page: the verdict, what was reviewed, why the verdict is not better, and the way to a green check.

use super::Page;
use crate::domain::ReviewDecision;
use crate::report::summary::verdict;
use crate::report::terminal::said;
use maud::{Markup, html};
use reviewer_text::count::{duration, plural, tokens};

impl Page<'_> {
    /// The title of the window.
    pub(super) fn title(&self) -> String {
        let subject = match &self.report.pull_request {
            Some(pull) => self.plain(pull),
            None => "the working tree".to_owned(),
        };
        format!("{} · {subject}", verdict(self.report))
    }

    pub(super) fn headline(&self) -> Markup {
        let report = self.report;
        html! {
            p class="kind" { "OpenCode review" }
            h1 { (self.sign()) " " (verdict(report)) }
            p class="subject" { (self.subject()) }
            p class="faint" { (self.figures()) }
            (self.decision())
            @if !report.reasons.is_empty() {
                ul class="box reasons" { @for reason in &report.reasons { li { (self.own(reason)) } } }
            }
            @if let Some(green) = &report.green {
                // The dot in the sentence is a picture among letters; here it is a word.
                p class="box green" { strong { "To turn this check green: " } (self.own(&green.replace("🔴", "blocking"))) }
            }
            @for warning in &report.warnings {
                p class="box warning" { strong { "Warning: " } (self.own(warning)) }
            }
            @for note in &report.notes { div class="box note" { (self.prose(note)) } }
        }
    }

    /// The verdict at a glance, which the words beside it say as well. A shape of the page's own, because not every machine has
    /// pictures among its letters.
    fn sign(&self) -> Markup {
        let class = match self.report.verdict.as_str() {
            "clean" => "dot good",
            "findings" => {
                let new = said(self.report).into_iter().map(|one| one.score);
                let old = self.report.threads.iter().map(|one| one.score);
                return self.dot(new.chain(old).max().unwrap_or_default());
            }
            "blocking" => "dot blocks",
            _ => "dot grave",
        };
        html! { span class=(class) aria-hidden="true" {} }
    }

    fn subject(&self) -> Markup {
        let report = self.report;
        let head = report.head.get(..7).unwrap_or_default();
        let head = self.leading(self.links.head().as_deref(), &html! { code { (head) } });
        html! {
            @match &report.pull_request {
                Some(pull) => {
                    (self.leading(self.links.pull().as_deref(), &html! { (self.plain(pull)) }))
                    " at " (head)
                }
                None => "The working tree",
            }
            @if let Some(since) = report.reviewed_since.as_deref().and_then(|since| since.get(..7)) {
                ", what is new since " code { (since) }
            }
            @if let Some(check) = self.material.check {
                " · " (self.linked(Some(check), &html! { "check" }))
            }
            @if let Some(review) = &report.review_url {
                " · " (self.linked(Some(review), &html! { "review" }))
            }
        }
    }

    fn figures(&self) -> String {
        let report = self.report;
        let mut figures = vec![plural(report.files, "file"), self.plain(&report.model)];
        if !report.passes.is_empty() {
            figures.push(tokens(report.tokens, report.tokens_estimated));
            figures.push(report.cost(report.cost_usd));
            figures.push(duration(report.seconds()));
        }
        figures.retain(|figure| !figure.is_empty());
        figures.join(" · ")
    }

    /// The judgement, where the review gives one.
    fn decision(&self) -> Markup {
        let report = self.report;
        let words = report.decision.map(|decision| match decision {
            ReviewDecision::Approved => "Approved",
            ReviewDecision::ChangesRequested => "Changes requested",
            ReviewDecision::Commented => "Commented",
            ReviewDecision::Incomplete => "No decision",
        });
        html! {
            @if let Some(words) = words {
                p { strong { (words) "." } }
                @if let Some(comment) = &report.comment { div class="box note" { (self.prose(comment)) } }
                @if !report.escalations.is_empty() {
                    p { "Calls " (self.plain(&report.escalations.join(", "))) " to the pull request." }
                }
            }
        }
    }
}
