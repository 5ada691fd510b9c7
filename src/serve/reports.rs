//! Reports of sessions as inputs of lives. A report that came before changes nothing: it comes from the session itself, and out of
//! its file.

use super::facts;
use super::machine::Lifecycle;
use reviewer_core::domain::CommitSha;
use reviewer_core::lifecycle::{Input, PullKey, SessionResult};
use reviewer_core::session_order::{SessionEvent, SessionMessage, SessionOutcome};
use reviewer_engine::{Engine, EngineError};
use reviewer_text::capital::full_sentence;

/// Characters of a text of a report that are kept: the state holds up to 200 reviews, and the model wrote them.
const MOST_TEXT: usize = 4_000;

/// The report with texts of a bounded length.
pub(crate) fn bounded(mut message: SessionMessage) -> SessionMessage {
    match &mut message.event {
        SessionEvent::Started { session: text } | SessionEvent::Failed { error: text, .. } => {
            cut(text);
        }
        SessionEvent::Finished { result, .. } => match result {
            SessionOutcome::Reviewed { comment: text, .. }
            | SessionOutcome::Fixed { commit: text }
            | SessionOutcome::NothingFixed { why: text } => cut(text),
        },
    }
    message
}

fn cut(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(MOST_TEXT) {
        text.truncate(end);
        text.push('…');
    }
}

/// Delivers a report. Returns the money that the session has cost, the first time.
pub(crate) async fn deliver(
    engine: &Engine<Lifecycle>,
    key: PullKey,
    message: SessionMessage,
) -> Result<f64, EngineError> {
    let message = bounded(message);
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
            None => return failed(undecided(&comment)),
        },
        SessionOutcome::Fixed { commit } => match commit.parse::<CommitSha>() {
            Ok(commit) => SessionResult::Fixed { commit },
            Err(_) => return failed("The fix names no commit.".into()),
        },
        SessionOutcome::NothingFixed { why } => SessionResult::NothingFixed { why },
    };
    Input::SessionEnded { dispatch, result }
}

/// The error of a review without a decision, with the reasons that it gave.
fn undecided(reasons: &str) -> String {
    let told = format!("The review ended without a decision. {reasons}");
    full_sentence(&told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reviewer_core::domain::ReviewDecision;
    use reviewer_core::session_order::SessionCost;

    #[test]
    fn a_model_that_writes_without_end_does_not_fill_the_store() {
        let reviewed = |comment: String| SessionMessage {
            dispatch: 7,
            event: SessionEvent::Finished {
                result: SessionOutcome::Reviewed {
                    decision: ReviewDecision::Approved,
                    comment,
                    escalations: Vec::new(),
                },
                cost: SessionCost::default(),
            },
        };
        let short = reviewed("Fine.".into());
        assert_eq!(bounded(short.clone()), short);
        let long = bounded(reviewed("ü".repeat(1 << 20)));
        let kept = format!("{}…", "ü".repeat(MOST_TEXT));
        assert_eq!(long, reviewed(kept));
    }

    #[test]
    fn a_review_without_a_decision_fails_with_its_reasons() {
        let told = |comment: &str| {
            let outcome = SessionOutcome::Reviewed {
                decision: ReviewDecision::Incomplete,
                comment: comment.to_owned(),
                escalations: Vec::new(),
            };
            match finished(7, outcome) {
                Input::SessionFailed { error, .. } => error,
                other => panic!("no failure: {other:?}"),
            }
        };
        assert_eq!(
            told("Pass 1 of 4 failed: overloaded (HTTP 529)"),
            "The review ended without a decision. Pass 1 of 4 failed: overloaded (HTTP 529)."
        );
        assert_eq!(told(""), "The review ended without a decision.");
    }
}
