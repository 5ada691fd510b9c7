//! Decides what follows when a turn has ended and its task is not done: which ends are worth another prompt, how often,
//! and what a person reads when there is none. Pure, so that every end can be gone through.

use super::fallback::Cause;
use super::ledger::NUDGES;
use super::watch::{FEW_CALLS, MOST_CALLS, Stopped};
use crate::review::sidecar_events::{Turn, TurnError};

/// The end of a turn.
#[derive(Debug)]
pub enum Ended {
    Turn(Turn),
    /// By the reviewer.
    Stopped(Stopped),
    /// The sidecar is gone, or hangs.
    Lost(String),
    /// Nothing can be said to the sidecar, and it is there.
    Unreachable(String),
    /// The share of time that the task had.
    OutOfTime,
    OverBudget(String),
    /// The model cannot be used: its endpoint refused for good, cannot be reached, or asks for a long wait. With the whole
    /// sentence, and the cause if another model may help.
    Refused(String, Option<Cause>),
    /// The model said nothing, as often as it may.
    Silent(String),
}

impl Ended {
    /// Returns why the sidecar is of no more use, if it is.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        match self {
            Self::Lost(why) => Some(why.clone()),
            _ => None,
        }
    }
}

/// The reason why another prompt is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shortfall {
    /// It said something, and did not do what ends the task.
    Unfinished,
    Empty,
    /// Cut off by the model's limit of output.
    CutOff,
    /// The model, or its provider's filter, would not answer.
    Declined,
    Unreadable(String),
    Stopped(Stopped),
    Late,
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Nudge(Shortfall),
    /// Replace the sidecar; then go on.
    Recover(String),
    /// Begin a new session with the whole brief.
    BeginAnew,
    /// Go on with the other model. With the sentence about the one that cannot be used.
    FallBack(Cause, String),
    GiveUp(GivenUp),
}

/// The reason why a task stays undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenUp {
    Unfinished(Shortfall),
    OutOfTime,
    OverBudget(String),
    /// The model cannot be used; no prompt will change that.
    Refused(String),
    Failed(String),
}

/// The tries of one task.
#[derive(Debug, Default)]
pub struct Attempts {
    nudges: u32,
    begun_anew: bool,
    hurried: bool,
    fallback: FallbackState,
}

/// The state of the other model of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum FallbackState {
    #[default]
    None,
    /// It may take the place of the one in use.
    Ready,
    /// It goes on with the conversation of the first one.
    TookOver,
}

impl Attempts {
    /// The tries of a task whose model may have another one to fall back to.
    #[must_use]
    pub fn new(can_fall_back: bool) -> Self {
        let fallback = if can_fall_back {
            FallbackState::Ready
        } else {
            FallbackState::None
        };
        Self {
            fallback,
            ..Self::default()
        }
    }

    /// The tries of the model that took over.
    #[must_use]
    pub fn after_fallback() -> Self {
        Self {
            fallback: FallbackState::TookOver,
            ..Self::default()
        }
    }

    fn can_fall_back(&self) -> bool {
        self.fallback == FallbackState::Ready
    }

    /// Returns the number of tool calls that the next turn may make.
    #[must_use]
    pub fn calls(&self) -> usize {
        if self.nudges == 0 && !self.hurried {
            MOST_CALLS
        } else {
            FEW_CALLS
        }
    }

    /// Decides what follows on a turn that left the task undone.
    pub fn after(&mut self, ended: Ended) -> Next {
        match ended {
            Ended::Turn(turn) => match &turn.error {
                Some(error) => self.after_error(error),
                // A summary of the task is no good ground to finish it on.
                None if turn.shortened && !self.begun_anew => self.begin_anew(),
                None => self.nudge(shortfall(&turn)),
            },
            Ended::Stopped(stopped) => self.nudge(Shortfall::Stopped(stopped)),
            Ended::Lost(why) => Next::Recover(why),
            Ended::Unreachable(why) => Next::GiveUp(GivenUp::Failed(why)),
            Ended::Refused(why, Some(cause)) if self.can_fall_back() => Next::FallBack(cause, why),
            Ended::Refused(why, _) => Next::GiveUp(GivenUp::Refused(why)),
            Ended::Silent(why) if self.can_fall_back() => Next::FallBack(Cause::Silent, why),
            Ended::OverBudget(why) | Ended::Silent(why) => Next::GiveUp(GivenUp::OverBudget(why)),
            Ended::OutOfTime if self.hurried => Next::GiveUp(GivenUp::OutOfTime),
            Ended::OutOfTime => {
                self.hurried = true;
                Next::Nudge(Shortfall::Late)
            }
        }
    }

    fn after_error(&mut self, error: &TurnError) -> Next {
        if error.is_cut_off() {
            return self.nudge(Shortfall::CutOff);
        }
        if error.is_declined() {
            return self.nudge(Shortfall::Declined);
        }
        if error.is_overflow() {
            if self.begun_anew {
                let why = format!(
                    "the conversation does not fit into the model's context, not even begun anew: {error}"
                );
                return Next::GiveUp(GivenUp::Failed(why));
            }
            return self.begin_anew();
        }
        // OpenCode asks again by itself after what passes with time, so that a status here is its last word.
        if error.status.is_none() && error.name == "UnknownError" {
            return self.nudge(Shortfall::Unreadable(error.to_string()));
        }
        // Another provider may not accept what the one before it said.
        let took_over = self.fallback == FallbackState::TookOver;
        if took_over && !self.begun_anew && matches!(error.status, Some(400..=499)) {
            return self.begin_anew();
        }
        match Cause::of(error).filter(|_| self.can_fall_back()) {
            Some(cause) => Next::FallBack(cause, failure(error)),
            None => Next::GiveUp(GivenUp::Failed(failure(error))),
        }
    }

    fn begin_anew(&mut self) -> Next {
        self.begun_anew = true;
        Next::BeginAnew
    }

    fn nudge(&mut self, shortfall: Shortfall) -> Next {
        if self.nudges >= NUDGES || self.hurried {
            return Next::GiveUp(match shortfall {
                Shortfall::Unreadable(why) => GivenUp::Failed(why),
                other => GivenUp::Unfinished(other),
            });
        }
        self.nudges += 1;
        Next::Nudge(shortfall)
    }
}

/// Returns what a turn that did not fail still lacks.
#[must_use]
pub fn shortfall(turn: &Turn) -> Shortfall {
    match turn.finish.as_str() {
        "length" => Shortfall::CutOff,
        "content-filter" | "refusal" => Shortfall::Declined,
        _ if turn.text.trim().is_empty() && turn.tool_calls == 0 => Shortfall::Empty,
        _ => Shortfall::Unfinished,
    }
}

/// An endpoint's error, with what it means where the number alone says it.
fn failure(error: &TurnError) -> String {
    let meaning = match error.status {
        Some(429) => "the model's rate limit was reached, and OpenCode's repeats did not help",
        Some(529) => "the model is overloaded, and OpenCode's repeats did not help",
        Some(500..) => "the model's endpoint failed, and OpenCode's repeats did not help",
        _ => return error.to_string(),
    };
    format!("{meaning}: {error}")
}

impl Shortfall {
    /// For a person, as the rest of "… was never submitted by the model".
    #[must_use]
    pub fn told(&self) -> String {
        match self {
            Self::Unfinished | Self::Late => String::new(),
            Self::Empty => ": its last answer was empty".into(),
            Self::CutOff => {
                ": its last answer was cut off by the model's limit of output tokens".into()
            }
            Self::Declined => ": it, or its provider's filter, declined to answer".into(),
            Self::Unreadable(why) => format!(": {why}"),
            Self::Stopped(why) => format!(": it was stopped, because {why}"),
        }
    }

    /// For the model: what was wrong with its last turn.
    #[must_use]
    pub fn reproach(&self) -> String {
        match self {
            Self::Unfinished => String::new(),
            Self::Empty => "Your last answer was empty. ".into(),
            Self::CutOff => {
                "Your last answer was cut off because it was too long; take smaller steps. ".into()
            }
            Self::Declined => "Your last answer was withheld. ".into(),
            Self::Unreadable(_) => "Your last answer was lost. ".into(),
            Self::Stopped(why) => format!(
                "You were stopped, because {}; the answer will not change. ",
                why.to_string().replacen("it ", "you ", 1)
            ),
            Self::Late => "The time for this is up: read nothing more. ".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::sidecar_events::Usage;

    fn turn(finish: &str, text: &str) -> Turn {
        Turn {
            text: text.into(),
            finish: finish.into(),
            usage: Usage::default(),
            error: None,
            tool_calls: 0,
            shortened: false,
        }
    }

    fn failed(name: &str, status: Option<u16>) -> Ended {
        let error = TurnError {
            name: name.into(),
            message: "no".into(),
            status,
        };
        Ended::Turn(Turn {
            error: Some(error),
            ..turn("", "")
        })
    }

    fn given_up(ended: Ended) -> String {
        match Attempts::default().after(ended) {
            Next::GiveUp(GivenUp::Failed(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_way_not_to_finish_is_nudged_twice_and_told() {
        let cases = [
            (turn("stop", "Done."), ""),
            (turn("stop", " "), ": its last answer was empty"),
            (
                turn("length", "And so"),
                ": its last answer was cut off by the model's limit of output tokens",
            ),
            (
                turn("content-filter", ""),
                ": it, or its provider's filter, declined to answer",
            ),
        ];
        for (turn, told) in cases {
            let mut attempts = Attempts::default();
            let short = shortfall(&turn);
            for _ in 0..NUDGES {
                let next = attempts.after(Ended::Turn(turn.clone()));
                assert_eq!(next, Next::Nudge(short.clone()));
            }
            let next = attempts.after(Ended::Turn(turn));
            assert_eq!(next, Next::GiveUp(GivenUp::Unfinished(short.clone())));
            assert_eq!(short.told(), told);
        }
    }

    #[test]
    fn what_opencode_has_repeated_is_not_repeated_again() {
        for status in [429, 500, 503, 529] {
            let why = given_up(failed("APIError", Some(status)));
            assert!(why.contains("OpenCode's repeats did not help"), "{why}");
            assert!(why.ends_with(&format!("no (HTTP {status})")), "{why}");
        }
        assert_eq!(given_up(failed("APIError", Some(400))), "no (HTTP 400)");
        let refused = Attempts::default().after(Ended::Refused("No credit is left.".into(), None));
        let given_up = GivenUp::Refused("No credit is left.".into());
        assert_eq!(refused, Next::GiveUp(given_up));
    }

    #[test]
    fn another_model_takes_over_where_there_is_one() {
        let falls_back = |ended: Ended| Attempts::new(true).after(ended);
        let busy = || failed("APIError", Some(529));
        let Next::FallBack(Cause::Overloaded, why) = falls_back(busy()) else {
            panic!("no other model is asked")
        };
        assert!(why.starts_with("the model is overloaded"), "{why}");
        let silent = || Ended::Silent("the model said nothing".into());
        let expected = Next::FallBack(Cause::Silent, "the model said nothing".into());
        assert_eq!(falls_back(silent()), expected);
        let credit = |cause| Ended::Refused("No credit is left.".into(), cause);
        let expected = Next::FallBack(Cause::Quota, "No credit is left.".into());
        assert_eq!(falls_back(credit(Some(Cause::Quota))), expected);
        // A wrong key, a limit of the run, a request that is wrong whoever answers it.
        for ended in [
            credit(None),
            Ended::OverBudget("max_cost_usd".into()),
            failed("APIError", Some(400)),
        ] {
            let next = falls_back(ended);
            assert!(matches!(next, Next::GiveUp(_)), "{next:?}");
        }
        let mut without = Attempts::default();
        let next = without.after(silent());
        let over = GivenUp::OverBudget("the model said nothing".into());
        assert_eq!(next, Next::GiveUp(over));
        assert!(matches!(without.after(busy()), Next::GiveUp(_)));
    }

    #[test]
    fn a_conversation_that_the_other_model_does_not_take_is_begun_anew_once() {
        let mut attempts = Attempts::after_fallback();
        let refused = || failed("APIError", Some(400));
        assert_eq!(attempts.after(refused()), Next::BeginAnew);
        assert!(matches!(attempts.after(refused()), Next::GiveUp(_)));
    }

    #[test]
    fn a_conversation_that_is_too_long_begins_anew_once() {
        let mut attempts = Attempts::default();
        let overflow = || failed("ContextOverflowError", Some(400));
        assert_eq!(attempts.after(overflow()), Next::BeginAnew);
        let Next::GiveUp(GivenUp::Failed(why)) = attempts.after(overflow()) else {
            panic!("it would go on for ever")
        };
        assert!(why.contains("does not fit"), "{why}");
    }

    #[test]
    fn a_summary_in_place_of_the_conversation_begins_it_anew_once() {
        let mut attempts = Attempts::default();
        let shortened = || {
            Ended::Turn(Turn {
                shortened: true,
                ..turn("stop", "What was I doing?")
            })
        };
        assert_eq!(attempts.after(shortened()), Next::BeginAnew);
        let next = attempts.after(shortened());
        assert_eq!(next, Next::Nudge(Shortfall::Unfinished));
    }

    #[test]
    fn a_task_whose_time_is_up_gets_one_word_and_few_calls() {
        let mut attempts = Attempts::default();
        assert_eq!(attempts.calls(), MOST_CALLS);
        assert_eq!(
            attempts.after(Ended::OutOfTime),
            Next::Nudge(Shortfall::Late)
        );
        assert_eq!((attempts.calls(), attempts.hurried), (FEW_CALLS, true));
        let next = attempts.after(Ended::OutOfTime);
        assert_eq!(next, Next::GiveUp(GivenUp::OutOfTime));
    }

    #[test]
    fn whoever_is_stopped_is_told_why() {
        let looped = Stopped::Loop {
            tool: "read".into(),
        };
        let reproach = Shortfall::Stopped(looped).reproach();
        assert!(
            reproach.starts_with("You were stopped, because you called read with"),
            "{reproach}"
        );
    }
}
