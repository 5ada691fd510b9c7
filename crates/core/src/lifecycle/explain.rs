//! The explanation of a state for people: since when, whom or what it waits for, and what would move it.

use super::diagram::moves;
use super::merging::{Hold, hold};
use super::status::{StatusWait, waits_for};
use super::{
    MergeType, Merging, Millis, PendingWait, Phase, Policy, Progress, ReviewerKind, State,
};
use crate::domain::Login;
use serde::Serialize;

/// The thing that a state waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// Terminal: nothing.
    Ended,
    /// An effect in the driver's hands, which is answered or given up.
    Effect { what: &'static str },
    /// A session or a timer, with its deadline.
    Until { what: String, at: Millis },
    /// These people; nobody named: any person with write access.
    People { logins: Vec<Login>, what: String },
    /// Nothing at all: a mistake of the machine, which tests look for.
    Lost,
}

/// The explanation of a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    pub state: &'static str,
    /// Milliseconds since 1970.
    pub since: Millis,
    /// One sentence about the reason.
    pub why: String,
    pub waits_for: StatusWait,
    /// Each would move the pull request to another state.
    pub moved_by: Vec<&'static str>,
}

/// Explains a state.
#[must_use]
pub fn explain(state: &State, policy: &Policy) -> Explanation {
    Explanation {
        state: state.phase.name(),
        since: state.since,
        why: why(state),
        waits_for: waits_for(wait(state, policy)),
        moved_by: moves(state.phase.name()).collect(),
    }
}

fn why(state: &State) -> String {
    match &state.phase {
        Phase::Pending { wait } => match wait {
            PendingWait::Facts => "The facts are being read.".into(),
            PendingWait::Comparison => "The new head is compared with what was approved.".into(),
            PendingWait::Draft => "It is a draft.".into(),
            PendingWait::Invitation => {
                "The head is of a fork, and its author has no write access.".into()
            }
            PendingWait::Disabled => "The repository does not enable the service.".into(),
        },
        Phase::Reviewing { reviewer } => {
            format!("It is the turn of {reviewer}{}.", used_up(state))
        }
        Phase::Fixing { asked_by } => format!("{asked_by} requests changes{}.", used_up(state)),
        Phase::Approved => "Every required reviewer has approved this head.".into(),
        Phase::NeedsHuman { reason, .. } => reason.sentence(),
        Phase::Merged { merge_type } => match merge_type {
            MergeType::Auto => "The service has merged it.".into(),
            MergeType::Approved => "A person has merged it, after all approvals.".into(),
            MergeType::Forced => "A person has merged it before all approvals.".into(),
        },
        Phase::Closed => "It was closed without a merge.".into(),
        Phase::Error { message, .. } => message.clone(),
    }
}

/// The end of a sentence about a session that the quota of a day keeps from beginning.
fn used_up(state: &State) -> String {
    match state.session.as_ref().map(|session| &session.progress) {
        Some(Progress::Quota { quota, .. }) => format!(", and {quota} is used up"),
        _ => String::new(),
    }
}

/// The wait of a state.
#[must_use]
pub fn wait(state: &State, policy: &Policy) -> Wait {
    let people = |logins: Vec<Login>, what: &str| Wait::People {
        logins,
        what: what.to_owned(),
    };
    let author = || author(state);
    match &state.phase {
        Phase::Merged { .. } | Phase::Closed => Wait::Ended,
        Phase::Pending { wait } => match wait {
            PendingWait::Facts => reading(state),
            PendingWait::Comparison => comparison(state),
            PendingWait::Draft => people(author(), "the draft to become ready for review"),
            PendingWait::Invitation => people(
                Vec::new(),
                "a person with write access to review this head or to ask for its review",
            ),
            PendingWait::Disabled => people(Vec::new(), "settings that enable the service"),
        },
        Phase::Reviewing { reviewer } => match (&state.session, person(state, reviewer)) {
            (Some(_), _) => session(state),
            (None, Some(login)) => people(vec![login], "a review of this head"),
            (None, None) => reading(state),
        },
        Phase::Fixing { .. } => match &state.session {
            Some(_) => session(state),
            None if has_agent(state, policy) => reading(state),
            None => people(
                author(),
                "a push that answers the review, or `review` by somebody with write access once the findings are closed",
            ),
        },
        Phase::Approved => merge(state, policy),
        Phase::NeedsHuman { logins, reason, .. } => people(logins.clone(), &reason.needed(None)),
        Phase::Error { of_settings, .. } => match of_settings {
            true => people(Vec::new(), "a correction of the settings file"),
            false => people(author(), "the command retry, or a push"),
        },
    }
}

fn reading(state: &State) -> Wait {
    match (state.probe, state.ask_timer) {
        (Some(_), _) => Wait::Effect {
            what: "the facts from GitHub",
        },
        (None, Some(timer)) => Wait::Until {
            what: "the next attempt to read the facts".into(),
            at: timer.at,
        },
        (None, None) => Wait::Lost,
    }
}

fn comparison(state: &State) -> Wait {
    let mut compared = state.compared.iter();
    if compared.any(|one| one.identical.is_none()) {
        Wait::Effect {
            what: "a comparison of the head with an approved commit",
        }
    } else {
        Wait::Lost
    }
}

fn session(state: &State) -> Wait {
    let Some(session) = &state.session else {
        return Wait::Lost;
    };
    match session.progress {
        Progress::Running { until } => Wait::Until {
            what: match session.id {
                Some(_) => format!("the session of {}", session.agent),
                None => format!("the start of the session of {}", session.agent),
            },
            at: until,
        },
        Progress::Backoff { until } => Wait::Until {
            what: format!("the next attempt of {}", session.agent),
            at: until,
        },
        Progress::Quota { until, ref quota } => Wait::Until {
            what: format!("{quota}, the command retry, or `review` by somebody with write access"),
            at: until,
        },
        Progress::Due | Progress::Pushed { .. } => reading(state),
    }
}

fn merge(state: &State, policy: &Policy) -> Wait {
    let what = match hold(state, policy) {
        Some(Hold::HumanApproval) => Some((
            super::goal::configured_people(state),
            "an approval by a person",
        )),
        Some(Hold::Fork) => Some((
            Vec::new(),
            "an approval of this head, which is of a fork, by a person with write access",
        )),
        Some(Hold::Objection(login)) => {
            Some((vec![login], "another review by whoever requests changes"))
        }
        Some(Hold::Conflict) => Some((author(state), "a push that resolves the conflicts")),
        Some(Hold::Manual) => Some((Vec::new(), "somebody to merge")),
        Some(Hold::Own) => Some((
            super::goal::configured_people(state),
            "a person to merge, because the service does not merge its own pull request",
        )),
        None => None,
    };
    if let Some((logins, what)) = what {
        return Wait::People {
            logins,
            what: what.into(),
        };
    }
    let until = |what: &str| match (state.probe, state.ask_timer) {
        (Some(_), _) => reading(state),
        (None, Some(timer)) => Wait::Until {
            what: what.into(),
            at: timer.at,
        },
        (None, None) => Wait::Lost,
    };
    match &state.merging {
        Merging::Idle => reading(state),
        Merging::Asked { .. } => Wait::Effect {
            what: "GitHub's answer to the merge",
        },
        Merging::Disarming { failed: false, .. } => Wait::Effect {
            what: "GitHub's answer to the end of the armed merge",
        },
        Merging::Disarming { failed: true, .. } => until("the next attempt to take the merge back"),
        Merging::Armed { queued: true, .. } => until("the merge queue"),
        Merging::Armed { .. } => until("the requirements of GitHub's auto-merge"),
        Merging::Unsettled { .. } => until("GitHub to know whether it can be merged"),
        Merging::Refused { .. } => until("the next attempt to merge"),
    }
}

fn author(state: &State) -> Vec<Login> {
    let author = state.facts.as_ref().and_then(|facts| facts.author.clone());
    author.into_iter().collect()
}

fn person(state: &State, reviewer: &str) -> Option<Login> {
    let mut reviewers = state
        .facts
        .iter()
        .flat_map(|facts| &facts.settings.reviewers);
    let is_person =
        |kind, name: &str| kind == ReviewerKind::Human && Login::new(name) == Login::new(reviewer);
    let found = reviewers.find(|one| is_person(one.kind, &one.name))?;
    Some(Login::new(&found.name))
}

fn has_agent(state: &State, policy: &Policy) -> bool {
    let author = state.facts.as_ref().and_then(|facts| facts.author.as_ref());
    author.is_some_and(|author| policy.author_agent(author).is_some())
}
