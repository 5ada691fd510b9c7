//! The policy of scores. Code, not the prompt, applies the threshold, the promotion of security findings and the
//! elevation of combined ones, so that no wording of the model moves them.

use crate::domain::finding::RAISED;
use crate::domain::{Category, Role, Score};
use std::fmt;

/// The weights of a run.
#[derive(Debug, Clone)]
pub struct Weights {
    pub threshold: Score,
    pub elevation: usize,
    pub blocking: Option<Score>,
    /// The reason why security findings weigh more here: the repository handles what hurts people when it leaks.
    /// `None`: they do not.
    pub sensitive: Option<String>,
}

/// The reason why a finding was not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    BelowThreshold { score: Score, threshold: Score },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BelowThreshold { score, threshold } => {
                write!(f, "score {score} is below the threshold of {threshold}")
            }
        }
    }
}

/// The decision about a finding that is neither wrong nor a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Post(Score),
    Suppress(Score, Reason),
}

/// The facts that a decision rests on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub score: Score,
    pub category: Option<Category>,
    /// Of the pass that made it.
    pub role: Option<Role>,
    /// The number of suppressed findings that it combines.
    pub combines: usize,
}

impl Weights {
    #[must_use]
    pub(crate) fn decide(&self, case: &Case) -> Decision {
        let mut score = case.score;
        if self.promotion(case).is_some() {
            score = score.promoted();
        }
        if case.combines >= self.elevation {
            score = score.max(self.threshold.min(Score::MAX_ELEVATED));
        }
        if score >= self.threshold {
            Decision::Post(score)
        } else {
            let threshold = self.threshold;
            Decision::Suppress(score, Reason::BelowThreshold { score, threshold })
        }
    }

    /// Returns why a finding weighs more because of the repository; `None`: it does not.
    fn promotion(&self, case: &Case) -> Option<&str> {
        let security = match case.category {
            Some(category) => category == Category::Security,
            None => case.role == Some(Role::Security),
        };
        self.sensitive.as_deref().filter(|_| security)
    }

    /// The sentence about a score that is higher than the one that the model gave, for the end of the assessment.
    #[must_use]
    pub(crate) fn raised(&self, case: &Case, to: Score) -> Option<String> {
        let by = to
            .get()
            .checked_sub(case.score.get())
            .filter(|by| *by > 0)?;
        let why = match self.promotion(case) {
            Some(why) => format!("security, and {why}"),
            None => format!("it combines {} smaller findings", case.combines),
        };
        Some(format!("{RAISED}{by}: {why}."))
    }

    #[must_use]
    pub fn blocks(&self, score: Score) -> bool {
        self.blocking.is_some_and(|blocking| score >= blocking)
    }
}

/// At these scores a remedy is a few lines, not a rewrite.
const SMALL: u8 = 4;
const SMALL_EXAMPLE_LINES: usize = 8;

/// Returns true if the remedy is out of proportion to the finding: a long example for a small matter.
#[must_use]
pub(crate) fn out_of_proportion(score: Score, body: &str) -> bool {
    score.get() <= SMALL && longest_example(body) > SMALL_EXAMPLE_LINES
}

fn longest_example(body: &str) -> usize {
    use pulldown_cmark::{Event, Parser, Tag, TagEnd};
    let (mut inside, mut lines, mut longest) = (false, 0, 0);
    for event in Parser::new(body) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => (inside, lines) = (true, 0),
            Event::Text(text) if inside => lines += text.lines().count(),
            Event::End(TagEnd::CodeBlock) => (inside, longest) = (false, longest.max(lines)),
            _ => {}
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(n: u64) -> Score {
        Score::new(n).unwrap()
    }

    fn weights() -> Weights {
        Weights {
            threshold: score(5),
            elevation: 5,
            blocking: Some(score(9)),
            sensitive: None,
        }
    }

    fn sensitive() -> Weights {
        Weights {
            sensitive: Some("the README speaks of payments".into()),
            ..weights()
        }
    }

    #[test]
    fn a_raised_score_says_by_how_much_and_why() {
        let raised = |weights: &Weights, case: &Case| match weights.decide(case) {
            Decision::Post(score) | Decision::Suppress(score, _) => weights.raised(case, score),
        };
        let security = |n| Case {
            category: Some(Category::Security),
            ..case(n)
        };
        let why = "security, and the README speaks of payments.";
        let said = raised(&sensitive(), &security(8));
        assert_eq!(said, Some(format!("Raised by 2: {why}")));
        let said = raised(&sensitive(), &security(9));
        assert_eq!(said, Some(format!("Raised by 1: {why}")));
        assert_eq!(raised(&sensitive(), &security(10)), None);
        assert_eq!(raised(&sensitive(), &case(8)), None);
        assert_eq!(raised(&weights(), &security(8)), None);
        let many = Case {
            combines: 5,
            ..case(2)
        };
        let said = raised(&weights(), &many);
        assert_eq!(
            said.as_deref(),
            Some("Raised by 3: it combines 5 smaller findings.")
        );
    }

    fn case(n: u64) -> Case {
        Case {
            score: score(n),
            category: None,
            role: Some(Role::Diffs),
            combines: 0,
        }
    }

    fn posted(weights: &Weights, case: &Case) -> Option<u8> {
        match weights.decide(case) {
            Decision::Post(score) => Some(score.get()),
            Decision::Suppress(..) => None,
        }
    }

    #[test]
    fn the_threshold_itself_is_said() {
        assert_eq!(posted(&weights(), &case(5)), Some(5));
        assert_eq!(posted(&weights(), &case(4)), None);
    }

    #[test]
    fn security_findings_weigh_more_where_people_would_be_hurt() {
        let sensitive = sensitive();
        let security = Case {
            category: Some(Category::Security),
            ..case(3)
        };
        assert_eq!(posted(&sensitive, &security), Some(5));
        assert_eq!(posted(&weights(), &security), None);
        let nine = Case {
            category: Some(Category::Security),
            ..case(9)
        };
        assert_eq!(posted(&sensitive, &nine), Some(10));
    }

    #[test]
    fn the_security_pass_counts_as_security_unless_it_says_otherwise() {
        let sensitive = sensitive();
        let third = Case {
            role: Some(Role::Security),
            ..case(3)
        };
        assert_eq!(posted(&sensitive, &third), Some(5));
        let docs = Case {
            category: Some(Category::Docs),
            ..third
        };
        assert_eq!(posted(&sensitive, &docs), None);
    }

    #[test]
    fn many_small_things_reach_the_threshold_and_no_further() {
        let many = Case {
            combines: 5,
            ..case(2)
        };
        assert_eq!(posted(&weights(), &many), Some(5));
        assert_eq!(
            posted(
                &weights(),
                &Case {
                    combines: 4,
                    ..many
                }
            ),
            None
        );
        let strict = Weights {
            threshold: score(9),
            ..weights()
        };
        assert_eq!(posted(&strict, &many), None);
    }

    #[test]
    fn a_small_matter_takes_a_small_example() {
        let body = format!("Shorter:\n\n```rust\n{}```\n", "line\n".repeat(9));
        assert!(out_of_proportion(score(4), &body));
        assert!(!out_of_proportion(score(5), &body));
        assert!(!out_of_proportion(score(4), "Shorter:\n\n```\na\nb\n```\n"));
    }
}
