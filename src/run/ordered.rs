//! A run that a service ordered: its end as a message. Separate from the ways out, which speak to people and to runners.

use super::exits::Ended;
use super::{Round, Rounds, in_rounds};
use crate::host::{Aim, Failure, Setup};
use reviewer_core::domain::ReviewDecision;
use reviewer_core::event::Event;
use reviewer_core::publish::comment;
use reviewer_core::session_order::{SessionCost, SessionEvent, SessionOutcome};

/// The end of a round in a few words.
pub(super) enum Told {
    Concluded(Concluded),
    Skipped(String),
    Failed(String),
}

pub(super) struct Concluded {
    /// `None` where the run judges nothing.
    decision: Option<ReviewDecision>,
    comment: String,
    escalations: Vec<String>,
    /// The reason why the pull request does not show the decision.
    unstated: Option<String>,
    /// The last remark about the run.
    note: Option<String>,
}

impl Told {
    pub(super) fn new(ended: &Result<Ended, Failure>) -> Self {
        match ended {
            Ok(Ended::Concluded(outcome)) => {
                let report = &outcome.report;
                Self::Concluded(Concluded {
                    decision: report.decision,
                    comment: report.comment.clone().unwrap_or_default(),
                    escalations: report.escalations.clone(),
                    unstated: outcome.unstated.clone(),
                    note: report.notes.last().cloned(),
                })
            }
            Ok(Ended::Skipped(reason)) => Self::Skipped(reason.clone()),
            Ok(Ended::Published(commit)) => Self::Skipped(comment::fixing::published(commit)),
            Err(Failure(sentences)) => Self::Failed(sentences.join(" ")),
        }
    }
}

/// Reviews or fixes, as the aim says. Returns the message for the service.
pub(crate) async fn run_session(setup: &Setup, event: &Event, aim: Aim<'_>) -> SessionEvent {
    let (last, rounds) = in_rounds(setup, event, None, aim).await;
    let cost = cost(&rounds);
    let ended = match aim {
        Aim::Fix => fixed(last),
        _ => reviewed(last.told),
    };
    match ended {
        Ok(result) => SessionEvent::Finished { result, cost },
        Err(error) => SessionEvent::Failed {
            error,
            retry_after_ms: rounds
                .wait
                .and_then(|wait| u64::try_from(wait.as_millis()).ok()),
            cost,
        },
    }
}

fn cost(rounds: &Rounds<'_>) -> SessionCost {
    let total = rounds.budget.usage.total();
    SessionCost {
        cost_usd: total.cost,
        tokens: total.tokens.number,
    }
}

fn reviewed(told: Told) -> Result<SessionOutcome, String> {
    match told {
        Told::Skipped(why)
        | Told::Failed(why)
        | Told::Concluded(Concluded {
            unstated: Some(why),
            ..
        }) => Err(why),
        Told::Concluded(concluded) => Ok(SessionOutcome::Reviewed {
            decision: concluded.decision.unwrap_or(ReviewDecision::Incomplete),
            comment: concluded.comment,
            escalations: concluded.escalations,
        }),
    }
}

fn fixed(last: Round) -> Result<SessionOutcome, String> {
    const NOTHING: &str = "Nothing was fixed.";
    if let Some(commit) = last.fixing.pushed {
        let commit = commit.to_string();
        return Ok(SessionOutcome::Fixed { commit });
    }
    match (last.fixing.failed, last.told) {
        (Some(why), _) | (None, Told::Failed(why)) => Err(why),
        (None, Told::Skipped(why)) => Ok(SessionOutcome::NothingFixed { why }),
        (None, Told::Concluded(concluded)) => {
            let why = concluded.note.unwrap_or_else(|| NOTHING.into());
            Ok(SessionOutcome::NothingFixed { why })
        }
    }
}
