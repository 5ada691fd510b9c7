//! The sessions of a pull request: who did what, for how long and at what cost, and the end of each log.

use super::words::{lines, name, plain, time};
use super::{Entry, SessionRow};
use crate::lifecycle::{Input, Millis};
use maud::{Markup, html};
use reviewer_text::count::{dollars, duration};

/// The last sessions, the newest first. `rows` has the oldest first.
pub(super) fn sessions(rows: &[SessionRow], entries: &[Entry], now: Millis) -> Markup {
    html! {
        @if rows.is_empty() { p class="empty" { "No session yet." } }
        @else {
            table class="sessions" role="table" aria-labelledby="sessions" {
                thead role="rowgroup" {
                    tr role="row" {
                        @for words in ["Agent", "Began", "Took", "Cost", "Result"] { th role="columnheader" scope="col" { (words) } }
                    }
                }
                tbody role="rowgroup" { @for row in rows.iter().rev() { (line(row, failure(row, entries), now)) } }
            }
        }
    }
}

/// The error of a session: its own, or why its end does not count, such as a review without a decision.
fn failure<'a>(row: &'a SessionRow, entries: &'a [Entry]) -> Option<&'a str> {
    let told = entries.iter().find_map(|entry| match &entry.input {
        Some(Input::SessionFailed {
            dispatch, error, ..
        }) if *dispatch == row.dispatch => Some(error.as_str()),
        _ => None,
    });
    row.error.as_deref().or(told)
}

fn line(row: &SessionRow, failure: Option<&str>, now: Millis) -> Markup {
    html! {
        tr role="row" {
            th role="rowheader" scope="row" { (name(&row.agent)) " " span class="faint" { (task(&row.task)) } }
            td role="cell" data-label="Began" {
                @match row.started { Some(at) => (time(at, now)), None => span class="faint" { "not yet" } }
            }
            td role="cell" data-label="Took" class="figure" { (took(row, now)) }
            td role="cell" data-label="Cost" class="figure" { (cost(row)) }
            td role="cell" data-label="Result" { (result(row, failure)) }
        }
        (log(row))
    }
}

fn task(task: &str) -> &'static str {
    match task {
        "review" => "review",
        "fix" => "fix",
        _ => "session",
    }
}

fn took(row: &SessionRow, now: Millis) -> Markup {
    let seconds =
        |from: Millis, to: Millis| duration(u64::try_from((to - from) / 1_000).unwrap_or(0));
    html! {
        @match (row.started, row.ended) {
            (Some(from), Some(to)) => (seconds(from, to)),
            (Some(from), None) => (super::words::age(from, now)),
            _ => span class="faint" { "waits for a place" },
        }
    }
}

fn cost(row: &SessionRow) -> Markup {
    html! {
        @if row.ended.is_none() { span class="faint" { "at its end" } }
        @else if row.cost_usd <= 0.0 { span class="faint" { "unknown" } }
        @else { (dollars(row.cost_usd)) }
    }
}

fn result(row: &SessionRow, failure: Option<&str>) -> Markup {
    html! {
        @match (failure, row.ended, row.started) {
            (Some(error), ..) => { strong { "Failed: " } (plain(error)) },
            (None, Some(_), _) => "Done",
            (None, None, Some(_)) => "At work",
            (None, None, None) => "Waits",
        }
    }
}

fn log(row: &SessionRow) -> Markup {
    let log = lines(row.log.trim_end());
    html! {
        @if !log.is_empty() {
            tr role="row" class="end" {
                td role="cell" colspan="5" {
                    details id={ "log-" (row.dispatch) } {
                        summary { "End of its log" }
                        pre class="log" tabindex="0" role="region" aria-label={ "End of the log of session " (row.dispatch) } { code { (log) } }
                    }
                }
            }
        }
    }
}
