//! The list: pull requests by state, with their ages, whom or what they wait for, and their cost.

use super::frame::{Page, page};
use super::words::{age, badge, label, name, sentence};
use super::{Around, STATES, Spent, place};
use crate::domain::RepoName;
use crate::lifecycle::{self, ENDS, Millis, PullKey, State, StatusWait};
use maud::{Markup, html};
use reviewer_text::count::{dollars, grouped, plural};

/// A pull request in the list.
#[derive(Debug, Clone)]
pub struct Row {
    pub key: PullKey,
    /// The name that its repository has now, where it is known.
    pub repo: Option<RepoName>,
    pub state: State,
    pub spent: Option<Spent>,
}

/// Pull requests of one state.
#[derive(Debug, Clone)]
pub struct Group {
    pub state: &'static str,
    pub rows: Vec<Row>,
    /// The address of the next page, or of the state's own list.
    pub more: Option<String>,
}

/// The content of the list.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The number of pull requests in each state.
    pub counts: Vec<(String, u64)>,
    /// The only state that is shown; `None`: all open ones.
    pub chosen: Option<&'static str>,
    /// True on a later page of one state.
    pub is_later: bool,
    pub groups: Vec<Group>,
    /// Tells this content from a later one.
    pub mark: String,
}

impl Listing {
    fn count(&self, state: &str) -> u64 {
        let mut counts = self.counts.iter();
        counts.find(|(one, _)| one == state).map_or(0, |(_, n)| *n)
    }

    fn open(&self) -> u64 {
        let open = STATES.iter().filter(|state| !ENDS.contains(state));
        open.map(|state| self.count(state)).sum()
    }

    /// The numbers of the states in one sentence.
    fn said(&self) -> String {
        let open = STATES.iter().filter(|state| !ENDS.contains(state));
        let told = open.filter(|state| self.count(state) > 0);
        let told: Vec<String> = told
            .map(|state| format!("{} {}", self.count(state), label(state).to_lowercase()))
            .collect();
        match told.len() {
            0 => "No open pull requests.".to_owned(),
            _ => format!("{} open: {}.", self.open(), told.join(", ")),
        }
    }
}

/// The page of the list.
#[must_use]
pub fn list(around: &Around<'_>, listing: &Listing) -> String {
    let chosen = listing.chosen;
    let title = match chosen {
        Some(state) => format!("{}: pull requests", label(state)),
        None => "Pull requests".to_owned(),
    };
    let is_empty = listing.groups.iter().all(|group| group.rows.is_empty());
    let main = html! {
        h1 { "Pull requests" }
        (states(listing))
        @if is_empty { p class="empty" { (nothing(listing)) } }
        @for group in listing.groups.iter().filter(|group| !group.rows.is_empty()) { (section(around, listing, group)) }
        @if listing.is_later { p { a href=(filter(chosen)) { "Back to the first page" } } }
    };
    page(&Page {
        title,
        viewer: Some(around.viewer),
        events: Some(format!("/ui/events?seen={}", listing.mark)),
        said: listing.said(),
        main,
    })
}

fn filter(state: Option<&str>) -> String {
    match state {
        Some(state) => format!("/ui?state={state}"),
        None => "/ui".to_owned(),
    }
}

fn nothing(listing: &Listing) -> &'static str {
    match (listing.chosen, listing.counts.is_empty()) {
        (None, true) => {
            "The service knows no pull request yet. One appears here with its first webhook, or with the next reconciliation."
        }
        (None, false) => "No pull request is open.",
        (Some(_), _) => "No pull request is in this state.",
    }
}

/// The states as links, with the number of pull requests in each.
fn states(listing: &Listing) -> Markup {
    let one = |state: Option<&'static str>, words: &str, count: u64| {
        let current = (listing.chosen == state).then_some("page");
        html! {
            li {
                a href=(filter(state)) aria-current=[current] class=[(count == 0).then_some("none")] {
                    (words) " " span class="count" { (grouped(count)) }
                }
            }
        }
    };
    html! {
        nav class="states" aria-label="States" {
            ul {
                (one(None, "Open", listing.open()))
                @for state in STATES { (one(Some(state), label(state), listing.count(state))) }
            }
        }
    }
}

fn section(around: &Around<'_>, listing: &Listing, group: &Group) -> Markup {
    let id = format!("state-{}", group.state);
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (badge(group.state)) " " span class="count" { (grouped(listing.count(group.state))) } }
            table class="pulls" role="table" aria-labelledby=(id) {
                thead role="rowgroup" {
                    tr role="row" {
                        @for words in ["Pull request", "Waits for", "In this state for", "Cost"] {
                            th role="columnheader" scope="col" { (words) }
                        }
                    }
                }
                tbody role="rowgroup" { @for row in &group.rows { (line(around, row)) } }
            }
            @if let Some(more) = &group.more {
                p class="more" { a href=(more) { @if listing.chosen.is_some() { "Next page" } @else { "All of them" } } }
            }
        }
    }
}

fn line(around: &Around<'_>, row: &Row) -> Markup {
    let explained = lifecycle::explain(&row.state, around.policy);
    let facts = row.state.facts.as_ref();
    let author = facts.and_then(|facts| facts.author.as_ref());
    html! {
        tr role="row" {
            th role="rowheader" scope="row" {
                (title(row))
                @if let Some(author) = author { " " span class="faint" { "by " (name(author.as_str())) } }
                p class="why" { (sentence(&explained.why)) }
            }
            td role="cell" data-label="Waits for" { (waits(&explained.waits_for, around.now)) }
            td role="cell" data-label="In this state for" class="figure" { (age(row.state.since, around.now)) }
            td role="cell" data-label="Cost" class="figure" { (cost(row.spent)) }
        }
    }
}

fn title(row: &Row) -> Markup {
    let number = row.key.number;
    html! {
        @match &row.repo {
            Some(repo) => a class="title" href=(place(repo, number)) { (repo) "#" (number) },
            None => span class="title" { "#" (number) " of repository " (row.key.repository) },
        }
    }
}

/// Whom or what is waited for, and until when.
pub(super) fn waits(wait: &StatusWait, now: Millis) -> Markup {
    html! {
        @for (index, login) in wait.people.iter().enumerate() {
            @if index > 0 { ", " }
            strong { (name(login)) }
        }
        @if !wait.people.is_empty() { ": " }
        (sentence(&wait.what))
        @if let Some(until) = wait.until {
            ", until " (super::words::time(until, now)) " "
            span class="faint" { "(" (super::words::length(until - now)) ")" }
        }
    }
}

pub(super) fn cost(spent: Option<Spent>) -> Markup {
    let sessions = |spent: Spent| {
        plural(
            usize::try_from(spent.sessions).unwrap_or_default(),
            "session",
        )
    };
    html! {
        @match spent {
            // An endpoint without prices tells no cost.
            Some(spent) if spent.cost_usd <= 0.0 && spent.sessions > 0 => {
                "unknown " span class="faint" { "for " (sessions(spent)) }
            },
            Some(spent) if spent.sessions > 0 => {
                (dollars(spent.cost_usd)) " " span class="faint" { "for " (sessions(spent)) }
            },
            _ => span class="faint" { "none yet" },
        }
    }
}
