//! The goal that follows from facts and state: one value, computed anew after every probe and every comparison.

use super::approvals::{Approvals, Seat, SeatKind, Standing};
use super::{CallReason, PendingWait, Policy, Progress, ReviewerKind, Settings, State, Task};
use crate::domain::Login;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Goal {
    Pending(PendingWait),
    /// A session of this agent reviews the head.
    Review {
        agent: String,
    },
    /// This configured person reviews the head.
    AwaitReview {
        login: Login,
    },
    /// A session of this agent, the author's, fixes what the reviewer asked for.
    Fix {
        agent: String,
        asked_by: String,
    },
    /// The author pushes.
    AwaitPush {
        asked_by: String,
    },
    /// A fix session is at work while the head moved, perhaps by its own push.
    AwaitFix,
    NeedsHuman {
        reason: CallReason,
        logins: Vec<Login>,
    },
    Approved,
    /// The settings are wrong.
    Unsettable {
        message: String,
    },
}

/// The goal of an open pull request; `None` before there are facts.
pub(super) fn goal(state: &State, policy: &Policy) -> Option<Goal> {
    let facts = state.facts.as_ref()?;
    let approvals = Approvals::new(state, policy)?;
    if let Some(goal) = outer(state, policy) {
        return Some(goal);
    }
    if facts.draft {
        return Some(Goal::Pending(PendingWait::Draft));
    }
    if facts.is_of_stranger() && !approvals.is_invited() {
        return Some(Goal::Pending(PendingWait::Invitation));
    }
    if is_fixing_elsewhere(state, policy) {
        return Some(Goal::AwaitFix);
    }
    let seats = approvals.seats();
    let standing = |wanted: Standing| {
        let mut seats = seats.iter();
        seats.find(|seat| approvals.standing(seat) == wanted)
    };
    if let Some(seat) = standing(Standing::ChangesRequested) {
        return Some(fix(state, policy, seat));
    }
    if let Some(seat) = standing(Standing::Dismissed) {
        let reviewer = seat.name.clone();
        return Some(Goal::NeedsHuman {
            reason: CallReason::Dismissed { reviewer },
            logins: configured_people(state),
        });
    }
    let Some(seat) = standing(Standing::Undecided) else {
        return Some(Goal::Approved);
    };
    let mut compared = state.compared.iter();
    let session = state.session.as_ref();
    let is_at_work = session.is_some_and(|session| session.head == facts.head);
    if !is_at_work && compared.any(|one| one.identical.is_none()) {
        return Some(Goal::Pending(PendingWait::Comparison));
    }
    Some(review(state, seat))
}

/// The goals that come before everything else, `needsHuman` and `error` included.
pub(super) fn outer(state: &State, policy: &Policy) -> Option<Goal> {
    let settings = &state.facts.as_ref()?.settings;
    if let Some(message) = settings.error.clone().or_else(|| unknown(state, policy)) {
        return Some(Goal::Unsettable { message });
    }
    (!settings.enabled).then_some(Goal::Pending(PendingWait::Disabled))
}

/// A sentence about a configured reviewer whom the service cannot ask.
fn unknown(state: &State, policy: &Policy) -> Option<String> {
    let settings = &state.facts.as_ref()?.settings;
    let reviewers = &settings.reviewers;
    let reviewer = reviewers.iter().find_map(|one| match one.kind {
        ReviewerKind::Agent if policy.agent(&one.name).is_none() => {
            let known: Vec<&str> = policy
                .agents
                .iter()
                .map(|agent| agent.name.as_str())
                .collect();
            Some(format!(
                "The reviewer {} is no agent of this service; expected one of {}.",
                one.name,
                known.join(", ")
            ))
        }
        ReviewerKind::Human if policy.is_own(&Login::new(&one.name)) => Some(format!(
            "The reviewer {} is an account of this service; expected a person, or type: agent.",
            one.name
        )),
        _ => None,
    });
    let is_written = !settings.has_default_reviewers();
    reviewer.or_else(|| is_written.then(|| unknown_escalation(settings, policy))?)
}

/// A sentence about a name of `can_escalate` that is neither an agent nor a person.
fn unknown_escalation(settings: &Settings, policy: &Policy) -> Option<String> {
    settings.reviewers.iter().find_map(|one| {
        let mut names = one.can_escalate.iter();
        let name = names.find(|name| !can_be_added(settings, policy, name))?;
        let is_own = policy.is_own(&Login::new(name)) || policy.agent(name).is_some();
        Some(if is_own {
            format!(
                "{} may escalate to the person {name}, which is an agent or an account of this service; expected type: agent.",
                one.name
            )
        } else {
            format!(
                "{} may escalate to {name}, which is no agent of this service; a person needs type: human.",
                one.name
            )
        })
    })
}

/// True for an agent of the service, and for a person whom the settings call one.
pub(super) fn can_be_added(settings: &Settings, policy: &Policy, name: &str) -> bool {
    let is_agent = policy.agent(name).is_some();
    let is_person = settings.is_person(name);
    is_agent != is_person && !(is_person && policy.is_own(&Login::new(name)))
}

/// True while a fix session runs on an earlier head and nobody but the service seems to have pushed since: its end tells whether
/// the push was its own.
fn is_fixing_elsewhere(state: &State, policy: &Policy) -> bool {
    let (Some(session), Some(facts)) = (&state.session, &state.facts) else {
        return false;
    };
    let fixes = matches!(session.task, Task::Fix { .. });
    let runs = matches!(session.progress, Progress::Running { .. });
    let by_person = facts
        .last_push_by
        .as_ref()
        .is_some_and(|by| policy.is_person(by));
    fixes && runs && session.head != facts.head && !by_person
}

fn fix(state: &State, policy: &Policy, seat: &Seat) -> Goal {
    let asked_by = seat.name.clone();
    let author = state.facts.as_ref().and_then(|facts| facts.author.as_ref());
    let Some(agent) = author.and_then(|author| policy.author_agent(author)) else {
        // Otherwise a bot of somebody else, a deleted account, or the App without a fixer.
        if author.is_some_and(|author| policy.is_person(author)) {
            return Goal::AwaitPush { asked_by };
        }
        return Goal::NeedsHuman {
            reason: CallReason::NoFixer { asked_by },
            logins: configured_people(state),
        };
    };
    let is_begun = state.session.as_ref().is_some_and(|session| {
        let head = state.facts.as_ref().map(|facts| &facts.head);
        matches!(session.task, Task::Fix { .. }) && Some(&session.head) == head
    });
    if is_begun || state.cycles < cap(state) {
        let agent = agent.to_owned();
        return Goal::Fix { agent, asked_by };
    }
    Goal::NeedsHuman {
        reason: CallReason::CapReached {
            cycles: state.cycles,
            asked_by,
        },
        logins: configured_people(state),
    }
}

/// The number of fix sessions that may follow one another.
pub(super) fn cap(state: &State) -> u32 {
    let facts = state.facts.as_ref();
    let configured = facts.map_or(0, |facts| facts.settings.max_fix_cycles);
    configured.saturating_add(state.granted)
}

fn review(state: &State, seat: &Seat) -> Goal {
    match &seat.kind {
        SeatKind::Agent => Goal::Review {
            agent: seat.name.clone(),
        },
        SeatKind::Person(login) => Goal::AwaitReview {
            login: login.clone(),
        },
        SeatKind::Escalated { login, by } => {
            let author = state.facts.as_ref().and_then(|facts| facts.author.as_ref());
            Goal::NeedsHuman {
                reason: CallReason::Escalated {
                    by: by.clone(),
                    to: seat.name.clone(),
                },
                logins: login
                    .clone()
                    .into_iter()
                    .filter(|login| author != Some(login))
                    .collect(),
            }
        }
        SeatKind::Anybody => Goal::NeedsHuman {
            reason: CallReason::NoReviewer,
            logins: Vec::new(),
        },
    }
}

/// The people who are configured as reviewers; nobody: any person with write access is meant.
pub(super) fn configured_people(state: &State) -> Vec<Login> {
    let Some(facts) = &state.facts else {
        return Vec::new();
    };
    let people = facts.settings.reviewers.iter();
    let people = people.filter(|one| one.kind == ReviewerKind::Human);
    let logins = people.map(|one| Login::new(&one.name));
    logins
        .filter(|one| facts.author.as_ref() != Some(one))
        .collect()
}
