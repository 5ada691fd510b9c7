//! The status document: the seed's context by its names, plus whom or what it waits for. No secret can be in it, because the state
//! holds none.

use super::approvals::{Approvals, Seat, SeatKind};
use super::explain::{Wait, wait};
use super::{CallReason, Decision, MergeType, Millis, Outcome, Phase, Policy, ReviewerKind, State};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub state: &'static str,
    /// Milliseconds since 1970.
    pub since: Millis,
    pub generation: u32,
    pub pr_number: Option<u64>,
    pub repo_full_name: Option<String>,
    pub head: Option<String>,
    pub reviewers: Vec<StatusReviewer>,
    /// The place of whoever is at work in `reviewers`; their number, once all have approved.
    pub current_reviewer_index: usize,
    pub current_session_id: Option<String>,
    pub review_outcomes: Vec<StatusOutcome>,
    pub retry_count: u32,
    pub last_error: Option<String>,
    pub merge_type: Option<MergeType>,
    pub waits_for: StatusWait,
}

/// A reviewer whose approval is required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusReviewer {
    pub agent: String,
    pub r#type: ReviewerKind,
    /// The reviewer who asked for this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalated_by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusOutcome {
    pub reviewer: String,
    pub decision: Decision,
    pub comment: String,
    pub escalations: Vec<String>,
    pub timestamp: String,
    pub commit: String,
}

/// Whom or what a state waits for, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusWait {
    pub what: String,
    /// Empty where anybody with write access is meant, or no person at all.
    pub people: Vec<String>,
    pub until: Option<Millis>,
}

/// The status of a pull request.
#[must_use]
pub fn status(state: &State, policy: &Policy) -> Status {
    let facts = state.facts.as_ref();
    let session = state.session.as_ref();
    let mut seats = Approvals::new(state, policy).map_or_else(Vec::new, |one| one.configured());
    seats.retain(|seat| seat.kind != SeatKind::Anybody);
    Status {
        state: state.phase.name(),
        since: state.since,
        generation: state.generation,
        pr_number: facts.map(|facts| facts.number),
        repo_full_name: facts.map(|facts| facts.repo.to_string()),
        head: facts.map(|facts| facts.head.to_string()),
        current_reviewer_index: index(state, &seats),
        reviewers: seats.iter().map(|seat| reviewer(state, seat)).collect(),
        current_session_id: session.and_then(|session| session.id.clone()),
        review_outcomes: state.outcomes.iter().map(outcome).collect(),
        retry_count: session.map_or(0, |session| session.failures),
        last_error: state.last_error.clone(),
        merge_type: match state.phase {
            Phase::Merged { merge_type } => Some(merge_type),
            _ => None,
        },
        waits_for: waits_for(wait(state, policy)),
    }
}

fn index(state: &State, seats: &[Seat]) -> usize {
    let current = match &state.phase {
        Phase::Reviewing { reviewer } => reviewer,
        Phase::Fixing { asked_by } => asked_by,
        Phase::NeedsHuman { reason, .. } => match reason {
            CallReason::CapReached { asked_by, .. } | CallReason::NoFixer { asked_by } => asked_by,
            CallReason::Dismissed { reviewer } => reviewer,
            CallReason::Escalated { to, .. } => to,
            _ => return 0,
        },
        Phase::Approved | Phase::Merged { .. } => return seats.len(),
        Phase::Pending { .. } | Phase::Closed | Phase::Error { .. } => return 0,
    };
    let mut seats = seats.iter();
    seats.position(|seat| seat.name == *current).unwrap_or(0)
}

fn reviewer(state: &State, seat: &Seat) -> StatusReviewer {
    let mut escalated = state.escalated.iter();
    let escalation = escalated.find(|one| one.to == seat.name);
    StatusReviewer {
        agent: seat.name.clone(),
        r#type: match seat.kind {
            SeatKind::Agent => ReviewerKind::Agent,
            _ => ReviewerKind::Human,
        },
        escalated_by: escalation.map(|one| one.by.clone()),
    }
}

fn outcome(outcome: &Outcome) -> StatusOutcome {
    StatusOutcome {
        reviewer: outcome.reviewer.clone(),
        decision: outcome.decision,
        comment: outcome.comment.clone(),
        escalations: outcome.escalations.clone(),
        timestamp: outcome.timestamp.clone(),
        commit: outcome.commit.to_string(),
    }
}

pub(super) fn waits_for(wait: Wait) -> StatusWait {
    let (what, people, until) = match wait {
        Wait::Ended => ("nothing".to_owned(), Vec::new(), None),
        Wait::Effect { what } => (what.to_owned(), Vec::new(), None),
        Wait::Until { what, at } => (what, Vec::new(), Some(at)),
        Wait::People { logins, what } => (what, logins, None),
        Wait::Lost => ("nothing, by mistake".to_owned(), Vec::new(), None),
    };
    StatusWait {
        what,
        people: people.iter().map(ToString::to_string).collect(),
        until,
    }
}
