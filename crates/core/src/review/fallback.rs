//! The step from a model that cannot be used to the one that goes on in its place: the causes that call for it, and the log of a
//! run, which later sessions and the report read. Separate from the turns, because it outlives a session.

use super::limits::{Count, Used};
use super::sidecar_events::TurnError;
use super::usage::SessionUsage;
use crate::config::ModelChoice;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest wait for a model that another one spares. OpenCode's own pauses are shorter; a provider may ask for hours.
pub const LONGEST_WAIT: Duration = Duration::from_mins(2);

/// The reason why a model cannot be used, where another one may help. A wrong key is none: a person has to correct it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The endpoint does not know it.
    Unknown,
    /// The account has no credit or quota left.
    Quota,
    /// Its rate limit is reached, and stays reached.
    RateLimit,
    Overloaded,
    /// Its endpoint answers with errors.
    Failing,
    /// No connection can be made, or what answers is no model.
    Unreachable,
    /// It is connected to, and says nothing.
    Silent,
}

impl Cause {
    /// The cause behind an error that OpenCode repeated in vain; `None` where another model would not help.
    #[must_use]
    pub fn of(error: &TurnError) -> Option<Self> {
        Some(match error.status? {
            404 => Self::Unknown,
            402 => Self::Quota,
            429 => Self::RateLimit,
            503 | 529 => Self::Overloaded,
            500.. => Self::Failing,
            _ => return None,
        })
    }

    /// The cause of a wait, by OpenCode's words for it.
    #[must_use]
    pub fn of_wait(words: &str) -> Self {
        if words.to_lowercase().contains("overload") {
            Self::Overloaded
        } else {
            Self::RateLimit
        }
    }

    /// As reports name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown_model",
            Self::Quota => "quota",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Failing => "failing",
            Self::Unreachable => "unreachable",
            Self::Silent => "silent",
        }
    }

    /// The words about the cause, after the model's name.
    #[must_use]
    pub(crate) fn told(self) -> &'static str {
        match self {
            Self::Unknown => "is not known to its endpoint",
            Self::Quota => "has no credit or quota left",
            Self::RateLimit => "has reached its rate limit",
            Self::Overloaded => "is overloaded",
            Self::Failing => "fails",
            Self::Unreachable => "cannot be reached",
            Self::Silent => "does not answer",
        }
    }
}

/// The part of a run's work that a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Portion {
    /// All of a review or of a fix.
    Whole,
    /// A section of a large change, by its number.
    Section(usize),
    /// The consolidation of all sections.
    Consolidation,
}

/// A model that could not be used, and the one that went on.
#[derive(Debug, Clone)]
pub struct Fallback {
    /// The name of the reviewer.
    pub reviewer: String,
    pub portion: Portion,
    pub model: ModelChoice,
    pub instead: ModelChoice,
    /// The stage in which the other model took over, such as `pass 2 of 4`.
    pub since: String,
    pub cause: Cause,
    /// The failure as a sentence for a person.
    pub why: String,
    /// The use of the session until then.
    pub before: Used,
    /// The account of the session.
    pub usage: Arc<SessionUsage>,
}

impl Fallback {
    /// The tokens and the dollars that the other model has taken so far.
    #[must_use]
    pub fn taken(&self) -> (Count, f64) {
        let now = self.usage.used();
        let tokens = |used: &Used| used.told.tokens.total();
        // Requests that nobody answered are no tokens, where answered ones are counted.
        let before = if tokens(&now) > 0 && tokens(&self.before) == 0 {
            Used::default()
        } else {
            self.before
        };
        (now.since(&before), now.cost_since(&before))
    }
}

/// The fallbacks of a reviewer from one model to another over all sections of a large change; elsewhere one alone.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    /// The one that found out.
    pub first: &'a Fallback,
    pub others: Vec<&'a Fallback>,
}

impl<'a> Group<'a> {
    /// All fallbacks of a run, in the order of their first ones.
    #[must_use]
    pub fn all(fallbacks: &'a [Fallback]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for fallback in fallbacks {
            let group = groups.iter_mut().find(|one| one.takes(fallback));
            match group {
                Some(group) => group.others.push(fallback),
                None => groups.push(Self {
                    first: fallback,
                    others: Vec::new(),
                }),
            }
        }
        groups
    }

    fn takes(&self, other: &Fallback) -> bool {
        let of_sections = |one: &Fallback| one.portion != Portion::Whole;
        of_sections(self.first)
            && of_sections(other)
            && self.first.reviewer == other.reviewer
            && self.first.model.is_same(&other.model)
            && self.first.instead.is_same(&other.instead)
    }

    fn members(&self) -> impl Iterator<Item = &'a Fallback> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// The numbers of the sections that the other model reviewed, to the end or from some pass on.
    #[must_use]
    pub fn sections(&self) -> BTreeSet<usize> {
        let sections = self.members().filter_map(|one| match one.portion {
            Portion::Section(number) => Some(number),
            Portion::Whole | Portion::Consolidation => None,
        });
        sections.collect()
    }

    /// The tokens and the dollars that the other model has taken so far.
    #[must_use]
    pub fn taken(&self) -> (u64, f64) {
        let taken = self.members().map(Fallback::taken);
        taken.fold((0, 0.0), |(tokens, usd), (more, cost)| {
            (tokens + more.number, usd + cost)
        })
    }
}

/// The fallbacks of a run. Shared by its sessions: a model that one of them could not use is not tried by those that follow.
#[derive(Debug, Clone, Default)]
pub struct Fallbacks(Arc<Mutex<Vec<Fallback>>>);

impl Fallbacks {
    pub fn note(&self, fallback: Fallback) {
        self.entries().push(fallback);
    }

    /// The first fallback from a model in this run.
    #[must_use]
    pub fn first_of(&self, model: &ModelChoice) -> Option<Fallback> {
        let entries = self.entries();
        let mut entries = entries.iter();
        entries.find(|one| one.model.is_same(model)).cloned()
    }

    /// All of them, in their order.
    #[must_use]
    pub fn all(&self) -> Vec<Fallback> {
        self.entries().clone()
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Fallback>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::limits::Traffic;
    use crate::review::usage::tests::usage;

    fn error(status: Option<u16>) -> TurnError {
        TurnError {
            name: "APIError".into(),
            message: "Not now".into(),
            status,
        }
    }

    fn model(name: &str) -> ModelChoice {
        ModelChoice {
            provider: "openai".into(),
            name: name.into(),
            ..ModelChoice::default()
        }
    }

    fn fallback(before: Used) -> Fallback {
        Fallback {
            reviewer: "general".into(),
            portion: Portion::Whole,
            model: model("gpt-5"),
            instead: model("gpt-5-mini"),
            since: "pass 2 of 4".into(),
            cause: Cause::Overloaded,
            why: "Not now.".into(),
            before,
            usage: Arc::default(),
        }
    }

    #[test]
    fn another_model_helps_against_a_busy_one_and_not_against_a_wrong_key_or_request() {
        let cases = [
            (404, Cause::Unknown),
            (402, Cause::Quota),
            (429, Cause::RateLimit),
            (503, Cause::Overloaded),
            (529, Cause::Overloaded),
            (500, Cause::Failing),
        ];
        for (status, cause) in cases {
            assert_eq!(Cause::of(&error(Some(status))), Some(cause), "{status}");
        }
        for status in [None, Some(400), Some(401), Some(403), Some(413)] {
            assert_eq!(Cause::of(&error(status)), None, "{status:?}");
        }
    }

    #[test]
    fn a_wait_has_its_cause_in_the_words_of_opencode() {
        assert_eq!(Cause::of_wait("Provider is overloaded"), Cause::Overloaded);
        assert_eq!(Cause::of_wait("Too Many Requests"), Cause::RateLimit);
    }

    #[test]
    fn what_the_first_model_took_is_not_the_other_one_s() {
        let one = fallback(Used {
            told: usage(100, 0.5),
            ..Used::default()
        });
        one.usage.settle(usage(100, 0.5));
        one.usage.settle(usage(40, 0.25));
        let (tokens, cost) = one.taken();
        assert_eq!((tokens.number, tokens.estimated), (40, false));
        assert!((cost - 0.25).abs() < 1e-9);
        // The first model never answered, so what was sent to it was never counted.
        let sent = Traffic {
            requests: 1,
            sent: 4_000,
            answered: 0,
        };
        let one = fallback(Used {
            passed: sent,
            ..Used::default()
        });
        one.usage.pass(sent);
        one.usage.settle(usage(40, 0.0));
        assert_eq!(one.taken().0.number, 40);
    }

    #[test]
    fn the_sections_of_a_reviewer_are_one_group_with_their_consolidation() {
        let of = |portion, input| {
            let one = Fallback {
                portion,
                ..fallback(Used::default())
            };
            one.usage.settle(usage(input, 0.5));
            one
        };
        let fix = of(Portion::Whole, 1);
        let sections = [
            Portion::Section(2),
            Portion::Section(1),
            Portion::Consolidation,
        ];
        let mut all: Vec<Fallback> = sections.map(|portion| of(portion, 10)).into();
        all.push(fix);
        all.push(Fallback {
            reviewer: "security".into(),
            ..of(Portion::Section(1), 10)
        });
        let groups = Group::all(&all);
        let sizes: Vec<usize> = groups.iter().map(|one| one.others.len() + 1).collect();
        assert_eq!(sizes, [3, 1, 1]);
        assert_eq!(groups[0].sections(), BTreeSet::from([1, 2]));
        assert_eq!(groups[0].taken().0, 30);
        assert!(groups[1].sections().is_empty());
    }

    #[test]
    fn a_model_that_failed_is_known_to_the_whole_run() {
        let run = Fallbacks::default();
        run.clone().note(fallback(Used::default()));
        let first = run.first_of(&model("gpt-5"));
        let first = first.map(|one| (one.cause, one.why));
        assert_eq!(first, Some((Cause::Overloaded, "Not now.".to_owned())));
        assert!(run.first_of(&model("gpt-5-mini")).is_none());
        let elsewhere = ModelChoice {
            base_url: Some("https://llm.example/v1".into()),
            ..model("gpt-5")
        };
        assert!(run.first_of(&elsewhere).is_none());
    }
}
