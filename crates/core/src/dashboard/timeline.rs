//! The timeline of a pull request: each input that did something, with the state that it led to. Wakes and reads that changed nothing
//! are counted and folded, so that the story can be read.

use super::words::{badge, begun, plain, sentence, time};
use super::{Entry, SessionRow};
use crate::lifecycle::{Command, Decision, Input, MergeAnswer, Millis, SessionResult, Timer};
use maud::{Markup, html};
use reviewer_text::count::plural;

/// One row: an event, or several inputs that changed nothing.
enum Item<'a> {
    Event(Event<'a>),
    Routine(Vec<Event<'a>>),
}

struct Event<'a> {
    entry: &'a Entry,
    /// The state before it, if it led to another one.
    from: Option<&'a str>,
    title: String,
    /// Words of a reviewer, or an error.
    quote: Option<&'a str>,
    details: Vec<&'a str>,
}

/// The states of these entries in their order, each once until it changes.
pub(super) fn path(entries: &[Entry]) -> Vec<&str> {
    let mut path: Vec<&str> = Vec::new();
    for entry in entries {
        // An input can pass through several states.
        let passed = entry.log.iter().filter_map(|line| line.split_once(" -> "));
        for (from, to) in passed {
            for state in [from, to] {
                if path.last() != Some(&state) && is_state(state) {
                    path.push(state);
                }
            }
        }
        if path.last() != Some(&entry.phase.as_str()) {
            path.push(&entry.phase);
        }
    }
    path
}

fn is_state(word: &str) -> bool {
    super::STATES.contains(&word)
}

/// The timeline, the newest first. `entries` has the oldest first.
pub(super) fn timeline(entries: &[Entry], sessions: &[SessionRow], now: Millis) -> Markup {
    let items = items(entries, sessions);
    html! {
        ol class="timeline" reversed {
            @for item in items.iter().rev() {
                @match item {
                    Item::Event(event) => (row(event, now)),
                    Item::Routine(events) => (folded(events, now)),
                }
            }
        }
    }
}

fn items<'a>(entries: &'a [Entry], sessions: &[SessionRow]) -> Vec<Item<'a>> {
    let mut items: Vec<Item<'a>> = Vec::new();
    let mut before: Option<&str> = None;
    for entry in entries {
        let from = before.filter(|before| *before != entry.phase);
        let is_first = before.is_none();
        before = Some(&entry.phase);
        let event = event(entry, from, sessions);
        if is_first || !is_routine(&event) {
            items.push(Item::Event(event));
        } else if let Some(Item::Routine(events)) = items.last_mut() {
            events.push(event);
        } else {
            items.push(Item::Routine(vec![event]));
        }
    }
    items
}

fn is_routine(event: &Event<'_>) -> bool {
    let mut details = event.details.iter();
    let is_quiet = event.from.is_none() && details.all(|line| line.starts_with("ignored: "));
    let kind = &event.entry.input;
    is_quiet
        && matches!(
            kind,
            Some(Input::Woken { .. } | Input::Probed { .. } | Input::Timer { .. })
        )
}

/// Lines of the log that only repeat the step, or the input.
fn is_told(line: &str) -> bool {
    let is_step =
        line.contains(" -> ") || line == "checkingApproval" || line.starts_with("woken by ");
    !is_step
}

fn event<'a>(entry: &'a Entry, from: Option<&'a str>, sessions: &[SessionRow]) -> Event<'a> {
    let agent = |dispatch: u64| {
        let found = sessions.iter().find(|one| one.dispatch == dispatch);
        found.map_or_else(|| format!("session {dispatch}"), |one| plain(&one.agent))
    };
    let (title, quote) = match &entry.input {
        Some(input) => told(input, &agent),
        None => (
            "An input of another version of the program".to_owned(),
            None,
        ),
    };
    let details = entry.log.iter().map(String::as_str);
    let details = details.filter(|line| is_told(line) && !repeats(line, entry));
    Event {
        entry,
        from,
        title,
        quote,
        details: details.collect(),
    }
}

/// True for a line that says what the title says already.
fn repeats(line: &str, entry: &Entry) -> bool {
    match &entry.input {
        Some(Input::SessionFailed { .. }) => line.starts_with("session "),
        Some(Input::EffectFailed { .. }) => line.starts_with("effect "),
        Some(Input::Command { .. }) => line.ends_with(" asks for another attempt"),
        Some(Input::OverQuota { .. }) => line.contains(" waits for "),
        Some(Input::SessionEnded { .. }) => {
            line.contains(" has decided about ") || line.starts_with("the fix is pushed as ")
        }
        _ => false,
    }
}

/// An input in a few words, and the words of others that came with it.
fn told<'a>(input: &'a Input, agent: &dyn Fn(u64) -> String) -> (String, Option<&'a str>) {
    match input {
        Input::Woken { cause } => (format!("Woken by {}", plain(cause)), None),
        Input::Probed { .. } => ("Read from GitHub".into(), None),
        Input::Compared { .. } => ("Compared with an approved commit".into(), None),
        Input::SessionStarted { dispatch, .. } => (
            begun(&format!("{} began its session", agent(*dispatch))),
            None,
        ),
        Input::SessionEnded { dispatch, result } => ended(&agent(*dispatch), result),
        Input::SessionFailed {
            dispatch, error, ..
        } => (
            format!("The session of {} failed", agent(*dispatch)),
            Some(error),
        ),
        Input::OverQuota {
            dispatch, quota, ..
        } => (
            format!(
                "The session of {} waits, because {} is used up",
                agent(*dispatch),
                plain(quota)
            ),
            None,
        ),
        Input::Merge { answer, .. } => merge(answer),
        Input::EffectFailed { error, .. } => ("An effect was given up".into(), Some(error)),
        Input::Timer { timer, .. } => (timed(timer).to_owned(), None),
        Input::Command {
            command: Command::Retry,
            by,
        } => (format!("Retry, ordered by {}", plain(by)), None),
    }
}

fn ended<'a>(agent: &str, result: &'a SessionResult) -> (String, Option<&'a str>) {
    match result {
        SessionResult::Reviewed {
            decision,
            comment,
            escalations,
        } => {
            let mut title = match decision {
                Decision::Approved => format!("{agent} approved"),
                Decision::ChangesRequested => format!("{agent} requested changes"),
            };
            if !escalations.is_empty() {
                title.push_str(" and called ");
                title.push_str(&plain(&escalations.join(", ")));
            }
            (
                begun(&title),
                Some(comment.as_str()).filter(|text| !text.is_empty()),
            )
        }
        SessionResult::Fixed { commit } => (
            begun(&format!("{agent} fixed it in {}", commit.short())),
            None,
        ),
        SessionResult::NothingFixed { why } => {
            (begun(&format!("{agent} fixed nothing")), Some(why))
        }
    }
}

fn merge(answer: &MergeAnswer) -> (String, Option<&str>) {
    let title = match answer {
        MergeAnswer::Merged => "GitHub merged it",
        MergeAnswer::Armed => "GitHub merges it once its requirements are met",
        MergeAnswer::Queued => "It is in the merge queue",
        MergeAnswer::Moved => "Something changed before the merge, so it is looked at again",
        MergeAnswer::Unknown => "GitHub does not know yet whether it can be merged",
        MergeAnswer::Disarmed => "The armed merge was taken back",
        MergeAnswer::Refused { why } => return ("GitHub refused the merge".into(), Some(why)),
    };
    (title.into(), None)
}

fn timed(timer: &Timer) -> &'static str {
    match timer {
        Timer::Retry { .. } => "The wait before another attempt is over",
        Timer::NextDay { .. } => "The day of the quota is over",
        Timer::QueueDeadline { .. } => "A session did not begin in its time",
        Timer::Deadline { .. } => "A session has had its time",
        Timer::AskAgain => "Time to look again",
        Timer::Reminder => "People have been waited for, for long",
    }
}

fn row(event: &Event<'_>, now: Millis) -> Markup {
    html! {
        li id={ "input-" (event.entry.n) } class=[event.from.map(|_| "moved")] {
            span class="when" { (time(event.entry.at, now)) }
            div class="what" {
                @let is_read = matches!(event.entry.input, Some(Input::Woken { .. } | Input::Probed { .. } | Input::Timer { .. }));
                // Where nobody did anything, the states are the news.
                @if !is_read { p class="event" { (event.title) } }
                @if let Some(from) = event.from {
                    p class="move" { (badge(from)) " " span aria-hidden="true" { "→" } span class="aside" { "became" } " " (badge(&event.entry.phase)) }
                }
                @if is_read { p class="event read" { (event.title) } }
                @if let Some(quote) = event.quote { blockquote { (plain(quote)) } }
                @if !event.details.is_empty() {
                    ul class="details" { @for line in &event.details { li { (sentence(&begun(line))) } } }
                }
            }
        }
    }
}

fn folded(events: &[Event<'_>], now: Millis) -> Markup {
    let first = events.first().map_or(0, |event| event.entry.n);
    let last = events.last().map_or(now, |event| event.entry.at);
    html! {
        li class="routine" {
            span class="when" { (time(last, now)) }
            details id={ "inputs-" (first) } {
                summary { (plural(events.len(), "input")) " without a change" }
                ul { @for event in events.iter().rev() { li { (time(event.entry.at, now)) " " (event.title) } } }
            }
        }
    }
}
