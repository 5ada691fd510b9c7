//! The page of one pull request: its state and what moves it on, the way so far, decisions, sessions, work that waits.

use super::diagram::{diagram, onward};
use super::frame::{Page, page};
use super::list::{cost, waits};
use super::timeline::{path, timeline};
use super::waiting::current;
use super::words::{age, badge, commit, label, name, plain, sentence, time};
use super::{Around, Entry, SessionRow, Spent, WaitingRow, is_end, place};
use crate::domain::RepoName;
use crate::lifecycle::{self, Decision, Explanation, State};
use maud::{Markup, html};

/// The answer to an order that was given on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordered {
    Retry,
}

/// Everything about a pull request that its page shows.
#[derive(Debug, Clone)]
pub struct PullPage {
    pub repo: RepoName,
    pub number: u64,
    pub state: State,
    /// The oldest first.
    pub entries: Vec<Entry>,
    /// True if the pull request has more inputs than these.
    pub has_more: bool,
    pub sessions: Vec<SessionRow>,
    pub waiting: Vec<WaitingRow>,
    pub spent: Option<Spent>,
    pub ordered: Option<Ordered>,
    /// A word that stands in the form of this page alone, so that a form that is sent twice is one order.
    pub once: String,
}

/// The page of a pull request.
#[must_use]
pub fn pull(around: &Around<'_>, shown: &PullPage) -> String {
    let explained = lifecycle::explain(&shown.state, around.policy);
    let title = format!("{}#{}", shown.repo, shown.number);
    let state = shown.state.phase.name();
    let seen = shown.entries.last().map_or(0, |entry| entry.n);
    let path = path(&shown.entries);
    let waiting = current(&shown.waiting, &shown.state);
    let main = html! {
        nav aria-label="Breadcrumb" class="crumbs" { a href="/ui" { "Pull requests" } }
        h1 { (shown.repo) "#" (shown.number) " " (badge(state)) }
        (about(around, shown))
        @if shown.ordered == Some(Ordered::Retry) {
            p id="ordered" class="done" role="status" { "The retry was ordered. The timeline shows what follows from it." }
        }
        div class="columns" {
            div {
                (now(around, shown, &explained))
                (part("timeline", "Timeline", &html! {
                    (timeline(&shown.entries, &shown.sessions, around.now))
                    @if shown.has_more {
                        p class="more" { a href={ (place(&shown.repo, shown.number)) "?most=1000" } { "Earlier inputs, up to 1,000" } }
                    }
                }))
            }
            div {
                (part("states", "State diagram", &states(state, &path)))
                (decisions(around, shown))
                (part("sessions", "Sessions", &super::sessions::sessions(&shown.sessions, &shown.entries, around.now)))
                @if !waiting.is_empty() {
                    (part("waiting", "Work that waits", &super::waiting::waiting(&waiting, around.now)))
                }
            }
        }
    };
    page(&Page {
        title: format!("{title} {}", label(state).to_lowercase()),
        viewer: Some(around.viewer),
        events: Some(format!(
            "/ui/events?pull={}/{}&seen={seen}",
            shown.repo, shown.number
        )),
        said: format!("{}. {}", label(state), plain(&explained.why)),
        main,
    })
}

fn part(id: &str, title: &str, content: &Markup) -> Markup {
    html! { section aria-labelledby=(id) { h2 id=(id) { (title) } (content) } }
}

/// Branches, head and author.
fn about(around: &Around<'_>, shown: &PullPage) -> Markup {
    let repo = shown.repo.to_string();
    let on_github = around.on_github(&shown.repo, shown.number);
    html! {
        p class="about" {
            @if let Some(facts) = &shown.state.facts {
                code { (name(&facts.head_branch)) } " at " (commit(around, &repo, &facts.head)) " into " code { (name(&facts.base)) }
                @if facts.from_fork { ", from a fork" }
                @if let Some(author) = &facts.author { ", by " (name(author.as_str())) }
            } @else { "Nothing is read from GitHub yet" }
            @if let Some(address) = on_github { " · " a href=(address) rel="noreferrer" { "On GitHub" } }
        }
    }
}

/// The present state, explained, with the order that an operator can give.
fn now(around: &Around<'_>, shown: &PullPage, explained: &Explanation) -> Markup {
    html! {
        section class="now" aria-labelledby="now" {
            h2 id="now" { "Now" }
            p class="why" { (sentence(&explained.why)) }
            dl {
                div { dt { "Waits for" } dd { (waits(&explained.waits_for, around.now)) } }
                div { dt { "In this state" } dd { "for " (age(explained.since, around.now)) ", since " (time(explained.since, around.now)) } }
                div { dt { "Cost" } dd { (cost(shown.spent)) } }
                @if let Some(error) = shown.state.last_error.as_deref().filter(|error| *error != explained.why) {
                    div { dt { "Last error" } dd { (plain(error)) } }
                }
            }
            (retry(around, shown))
        }
    }
}

fn retry(around: &Around<'_>, shown: &PullPage) -> Markup {
    let viewer = around.viewer;
    let stands = matches!(shown.state.phase.name(), "error" | "needsHuman");
    html! {
        @if viewer.may_operate && !is_end(&shown.state) {
            form class="retry" method="post" action={ (place(&shown.repo, shown.number)) "/retry" } {
                input type="hidden" name="form" value=(viewer.form_token);
                input type="hidden" name="once" value=(shown.once);
                button id="retry" type="submit" class=(if stands { "strong" } else { "quiet" }) aria-describedby="retry-does" { "Retry" }
                p id="retry-does" class="faint" {
                    "Leaves an error and what waits for a person, and has the agent look again that requests changes."
                }
            }
        }
    }
}

fn states(state: &str, path: &[&str]) -> Markup {
    let onward = onward(state);
    html! {
        figure tabindex="0" aria-label="State diagram" { (diagram(path)) }
        @if onward.is_empty() { p { "No state follows this one." } }
        @else {
            details id="onward" {
                summary { "What moves it on" }
                ul class="onward" { @for (to, by) in onward { li { (badge(to)) " " (sentence(by)) } } }
            }
        }
    }
}

fn decisions(around: &Around<'_>, shown: &PullPage) -> Markup {
    let repo = shown.repo.to_string();
    let outcomes = &shown.state.outcomes;
    let content = html! {
        @if outcomes.is_empty() { p class="empty" { "No decision yet." } }
        @else {
            ul class="decisions" {
                @for outcome in outcomes.iter().rev() {
                    li {
                        p {
                            strong { (name(&outcome.reviewer)) } " "
                            @match outcome.decision {
                                Decision::Approved => span class="badge approved" { "Approved" },
                                Decision::ChangesRequested => span class="badge fixing" { "Changes requested" },
                            }
                            " " span class="faint" { "of " (commit(around, &repo, &outcome.commit)) }
                        }
                        @if !outcome.escalations.is_empty() { p { "Called " (plain(&outcome.escalations.join(", "))) "." } }
                        @if !outcome.comment.is_empty() { blockquote { (plain(&outcome.comment)) } }
                    }
                }
            }
        }
    };
    part("decisions", "Decisions", &content)
}
