//! Work of a pull request that is not done: effects with their attempts, timers with their times.

use super::words::{age, plain, time};
use super::{WaitingRow, Work};
use crate::lifecycle::{Effect, Input, Millis, Reminder, State, Task, Timer};
use maud::{Markup, html};
use reviewer_text::count::plural;

/// The rows that still mean something. A timer that the state does not wait for any more fires without an effect.
pub(super) fn current<'a>(rows: &'a [WaitingRow], state: &State) -> Vec<&'a WaitingRow> {
    let is_current = |row: &&WaitingRow| match &row.work {
        Work::Timer(Input::Timer { seq, timer }) => is_awaited(state, *seq, timer),
        _ => true,
    };
    rows.iter().filter(is_current).collect()
}

fn is_awaited(state: &State, seq: u64, timer: &Timer) -> bool {
    let session = state.session.as_ref();
    match timer {
        Timer::Retry { dispatch } | Timer::NextDay { dispatch } | Timer::Deadline { dispatch } => {
            session.is_some_and(|session| session.dispatch == *dispatch)
        }
        Timer::QueueDeadline { dispatch } => {
            session.is_some_and(|session| session.dispatch == *dispatch && session.id.is_none())
        }
        Timer::AskAgain => state.ask_timer.is_some_and(|timer| timer.seq == seq),
        Timer::Reminder => state.reminder == Reminder::Set { seq },
    }
}

pub(super) fn waiting(rows: &[&WaitingRow], now: Millis) -> Markup {
    html! {
        ul class="waiting" {
            @for row in rows {
                li {
                    (work(&row.work))
                    span class="faint" {
                        @match row.due {
                            Some(due) => { ", due " (time(due, now)) },
                            None => { ", for " (age(row.since, now)) },
                        }
                        @if let Some(attempts) = row.attempts.filter(|attempts| *attempts > 1) {
                            ", " (plural(usize::try_from(attempts).unwrap_or_default(), "attempt"))
                        }
                    }
                    @if !row.error.is_empty() { p class="alert" { (plain(&row.error)) } }
                }
            }
        }
    }
}

fn work(work: &Work) -> String {
    match work {
        Work::Effect(effect) => effect_in_words(effect),
        Work::Timer(Input::Timer { timer, .. }) => timer_in_words(timer).to_owned(),
        Work::Timer(_) => "Timer".to_owned(),
        Work::Unknown => "Work of another version of the program".to_owned(),
    }
}

fn effect_in_words(effect: &Effect) -> String {
    match effect {
        Effect::Probe => "Read the pull request from GitHub".into(),
        Effect::Compare { from, to } => format!("Compare {} with {}", from.short(), to.short()),
        Effect::Dispatch {
            task, agent, head, ..
        } => {
            let task = match task {
                Task::Review { .. } => "a review",
                Task::Fix { .. } => "a fix",
            };
            format!("Start {task} of {} by {}", head.short(), plain(agent))
        }
        Effect::EndSession { dispatch } => format!("End session {dispatch}"),
        Effect::RequestReviewers { logins } => {
            let logins: Vec<String> = logins.iter().map(|login| plain(login.as_str())).collect();
            format!("Request reviews of {}", logins.join(", "))
        }
        Effect::Merge { head, .. } => format!("Merge {}", head.short()),
        Effect::Disarm { .. } => "Take the armed merge back".into(),
        Effect::CarryCheck { head, .. } => format!("Put the check on {}", head.short()),
        Effect::Call { reason, .. } => format!("Call people: {}", plain(&reason.sentence())),
        Effect::Wake { .. } => "Timer".into(),
    }
}

fn timer_in_words(timer: &Timer) -> &'static str {
    match timer {
        Timer::Retry { .. } => "Repeat a session that failed",
        Timer::NextDay { .. } => "Begin a session on the next day",
        Timer::QueueDeadline { .. } => "Give up a session that has not begun",
        Timer::Deadline { .. } => "End a session that takes too long",
        Timer::AskAgain => "Look at GitHub again",
        Timer::Reminder => "Remind people",
    }
}
