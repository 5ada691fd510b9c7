//! Reports of sessions as inputs of lives. A report that came before changes nothing: it comes from the session itself, and out of
//! its file.

use super::facts;
use super::machine::Lifecycle;
use reviewer_core::domain::CommitSha;
use reviewer_core::lifecycle::{Input, PullKey, SessionResult};
use reviewer_core::session_order::{SessionEvent, SessionMessage, SessionOutcome};
use reviewer_engine::{Engine, EngineError};

/// Delivers a report. Returns the money that the session has cost, the first time.
pub(crate) async fn deliver(
    engine: &Engine<Lifecycle>,
    key: PullKey,
    message: SessionMessage,
) -> Result<f64, EngineError> {
    let (dispatch, mut usd) = (message.dispatch, 0.0);
    let (name, input) = match message.event {
        SessionEvent::Started { session } => {
            ("started", Input::SessionStarted { dispatch, session })
        }
        SessionEvent::Finished { result, cost } => {
            usd = cost.cost_usd;
            ("ended", finished(dispatch, result))
        }
        SessionEvent::Failed {
            error,
            retry_after_ms,
            cost,
        } => {
            usd = cost.cost_usd;
            let input = Input::SessionFailed {
                dispatch,
                error,
                retry_after_ms,
            };
            ("ended", input)
        }
    };
    let delivery = format!("session/{key}/{dispatch}/{name}");
    let answer = engine.deliver(&key.to_string(), &delivery, &input).await?;
    Ok(if answer.duplicate { 0.0 } else { usd })
}

/// The end of a session as an input; a review that decided nothing has failed.
fn finished(dispatch: u64, result: SessionOutcome) -> Input {
    let failed = |error: String| Input::SessionFailed {
        dispatch,
        error,
        retry_after_ms: None,
    };
    let result = match result {
        SessionOutcome::Reviewed {
            decision,
            comment,
            escalations,
        } => match facts::decision(decision) {
            Some(decision) => SessionResult::Reviewed {
                decision,
                comment,
                escalations,
            },
            None => return failed("The review ended without a decision.".into()),
        },
        SessionOutcome::Fixed { commit } => match commit.parse::<CommitSha>() {
            Ok(commit) => SessionResult::Fixed { commit },
            Err(_) => return failed("The fix names no commit.".into()),
        },
        SessionOutcome::NothingFixed { why } => SessionResult::NothingFixed { why },
    };
    Input::SessionEnded { dispatch, result }
}
