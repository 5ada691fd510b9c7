//! Values as people read them: states, times, ages, and text of others on its way to a page.

use super::Around;
use crate::domain::CommitSha;
use crate::lifecycle::Millis;
use chrono::{DateTime, Datelike as _, Timelike as _, Utc};
use maud::{Markup, html};
use reviewer_text::hidden::{is_line_break, visible};
use reviewer_text::prose::strip;

/// The longest text that is shown whole.
const LONGEST_TEXT: usize = 2_000;
const LONGEST_NAME: usize = 200;

/// A state in words.
#[must_use]
pub fn label(state: &str) -> &'static str {
    match state {
        "pending" => "Pending",
        "reviewing" => "Reviewing",
        "fixing" => "Fixing",
        "approved" => "Approved",
        "needsHuman" => "Needs a person",
        "merged" => "Merged",
        "closed" => "Closed",
        "error" => "Error",
        _ => "Unknown",
    }
}

/// A state as a badge. Its words say it; the colour only repeats them.
pub(super) fn badge(state: &str) -> Markup {
    // The class is a word of ours, whatever a store says.
    let class = match state {
        "needsHuman" => "needs",
        "error" => "error",
        "fixing" => "fixing",
        "reviewing" => "reviewing",
        "approved" => "approved",
        "merged" => "merged",
        "closed" => "closed",
        _ => "pending",
    };
    html! { span class={ "badge " (class) } { (label(state)) } }
}

fn moment(at: Millis) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_millis(at)
}

/// The moment as machines read it.
fn exact(at: &DateTime<Utc>) -> String {
    format!("{}T{}Z", day(at), clock(at))
}

fn day(at: &DateTime<Utc>) -> String {
    format!("{:04}-{:02}-{:02}", at.year(), at.month(), at.day())
}

fn clock(at: &DateTime<Utc>) -> String {
    format!("{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second())
}

/// The time of day, with the date where it is not today's.
pub(super) fn time(at: Millis, now: Millis) -> Markup {
    let Some(at) = moment(at) else {
        return html! { "an unknown time" };
    };
    let is_today = moment(now).is_some_and(|now| day(&now) == day(&at));
    let shown = if is_today {
        clock(&at)
    } else {
        format!("{} {}", day(&at), &clock(&at)[..5])
    };
    html! { time datetime=(exact(&at)) { (shown) } }
}

/// The time since a moment. The script keeps it true.
pub(super) fn age(at: Millis, now: Millis) -> Markup {
    let exact = moment(at).map(|at| exact(&at)).unwrap_or_default();
    html! { time datetime=(exact) data-age { (length(now - at)) } }
}

/// A length of time with one unit: `42 s`, `5 min`, `3 h`, `4 days`.
pub(super) fn length(ms: Millis) -> String {
    const MINUTE: Millis = 60;
    const HOUR: Millis = 60 * MINUTE;
    const DAY: Millis = 24 * HOUR;
    let seconds = ms.max(0) / 1_000;
    match seconds {
        0..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        HOUR..172_800 => format!("{} h", seconds / HOUR),
        _ => format!("{} days", seconds / DAY),
    }
}

/// Text of others without any form, on one line.
pub(super) fn plain(text: &str) -> String {
    let (text, _) = strip(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    shortened(&words.join(" "), LONGEST_TEXT)
}

/// Text of others with its lines; what hides in it is spelled out.
pub(super) fn lines(text: &str) -> String {
    let lines = text.split(|c| is_line_break(c) && c != '\r');
    let lines: Vec<_> = lines
        .map(|line| visible(line.trim_end_matches('\r')))
        .collect();
    lines.join("\n")
}

/// A name, to the letter; what hides in it is spelled out.
pub(super) fn name(name: &str) -> String {
    shortened(&visible(name), LONGEST_NAME)
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A sentence of the service with code in it, such as `fix resume`.
pub(super) fn sentence(text: &str) -> Markup {
    let text = plain(text);
    let parts: Vec<&str> = text.split('`').collect();
    // An odd number of ticks is no code.
    let is_paired = parts.len() % 2 == 1;
    html! {
        @if is_paired {
            @for (index, part) in parts.iter().enumerate() {
                @if index % 2 == 1 { code { (part) } } @else { (part) }
            }
        } @else { (text) }
    }
}

/// A commit, by its first characters.
pub(super) fn commit(around: &Around<'_>, repo: &str, commit: &CommitSha) -> Markup {
    let address = around.web(&format!("{repo}/commit/{commit}"));
    html! {
        @match address {
            Some(address) => a href=(address) rel="noreferrer" { code { (commit.short()) } },
            None => code { (commit.short()) },
        }
    }
}

/// The beginning of a sentence in capitals.
pub(super) fn begun(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}
