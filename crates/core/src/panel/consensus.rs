//! The consensus about a change: priorities, and the rules 0 to 4. The findings that stand decide, in any order.

use super::review_state::ReviewState;
use crate::domain::Score;
use reviewer_text::count::plural;
use reviewer_text::sentence::code;
use std::str::FromStr;

/// The weight of a finding in the consensus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    P0,
    P1,
    P2,
    P3,
}

impl From<Score> for Priority {
    fn from(score: Score) -> Self {
        match score.get() {
            9.. => Self::P0,
            7..=8 => Self::P1,
            5..=6 => Self::P2,
            _ => Self::P3,
        }
    }
}

impl Priority {
    /// All priorities, the heaviest first.
    pub const ALL: [Self; 4] = [Self::P0, Self::P1, Self::P2, Self::P3];

    /// As the report names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::P0 => "P0",
            Self::P1 => "P1",
            Self::P2 => "P2",
            Self::P3 => "P3",
        }
    }
}

impl FromStr for Priority {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = Self::ALL
            .into_iter()
            .find(|one| one.name().eq_ignore_ascii_case(name.trim()));
        named.ok_or_else(|| format!("priority is {name:?}; expected P0, P1, P2 or P3"))
    }
}

/// The number of findings of each priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    pub p0: usize,
    pub p1: usize,
    pub p2: usize,
    pub p3: usize,
}

impl FromIterator<Priority> for Totals {
    fn from_iter<T: IntoIterator<Item = Priority>>(priorities: T) -> Self {
        let mut totals = Self::default();
        for priority in priorities {
            *match priority {
                Priority::P0 => &mut totals.p0,
                Priority::P1 => &mut totals.p1,
                Priority::P2 => &mut totals.p2,
                Priority::P3 => &mut totals.p3,
            } += 1;
        }
        totals
    }
}

impl FromIterator<Score> for Totals {
    fn from_iter<T: IntoIterator<Item = Score>>(scores: T) -> Self {
        scores.into_iter().map(Priority::from).collect()
    }
}

/// The common judgement on a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consensus {
    Approve,
    RequestChanges,
    NeedsMajorWork,
}

impl Consensus {
    /// As the report names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::RequestChanges => "request_changes",
            Self::NeedsMajorWork => "needs_major_work",
        }
    }
}

/// The rule that decided; the first that applies does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// A person of the repository requests changes.
    PersonRequestsChanges,
    AnyP0,
    AnyP1,
    AnyP2,
    /// None of the others applies.
    NothingImportant,
}

impl Rule {
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::PersonRequestsChanges => 0,
            Self::AnyP0 => 1,
            Self::AnyP1 => 2,
            Self::AnyP2 => 3,
            Self::NothingImportant => 4,
        }
    }

    #[must_use]
    pub fn consensus(self) -> Consensus {
        match self {
            Self::PersonRequestsChanges | Self::AnyP1 | Self::AnyP2 => Consensus::RequestChanges,
            Self::AnyP0 => Consensus::NeedsMajorWork,
            Self::NothingImportant => Consensus::Approve,
        }
    }
}

/// A consensus, with what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    pub rule: Rule,
    /// The findings that stand, with those of the comments analyzer.
    pub standing: Totals,
    /// Those of the comments analyzer alone.
    pub analyzed: Totals,
    pub people: ReviewState,
}

impl Ruling {
    /// Decides from the findings that stand after verification, those that the analyzer took from people's conversations, and
    /// the people who request changes now.
    pub fn decide(
        standing: impl IntoIterator<Item = Priority>,
        analyzed: impl IntoIterator<Item = Priority>,
        people: ReviewState,
    ) -> Self {
        let analyzed: Vec<Priority> = analyzed.into_iter().collect();
        let of_people = analyzed.iter().copied().collect();
        let standing: Totals = standing.into_iter().chain(analyzed).collect();
        let rule = if people.has_changes_requested() {
            Rule::PersonRequestsChanges
        } else if standing.p0 > 0 {
            Rule::AnyP0
        } else if standing.p1 > 0 {
            Rule::AnyP1
        } else if standing.p2 > 0 {
            Rule::AnyP2
        } else {
            Rule::NothingImportant
        };
        Self {
            rule,
            standing,
            analyzed: of_people,
            people,
        }
    }

    #[must_use]
    pub fn consensus(&self) -> Consensus {
        self.rule.consensus()
    }

    /// Returns why the rule applies, for people.
    #[must_use]
    pub fn because(&self) -> String {
        let open = |count: usize, of_people: usize, priority: &str| {
            let stands = if count == 1 { "stands" } else { "stand" };
            let of_people = match of_people {
                0 => String::new(),
                all if all == count => format!(", from {}", conversations(all)),
                some => format!(", {some} of them from {}", conversations(some)),
            };
            format!(
                "{} of {priority} {stands}{of_people}",
                plural(count, "finding")
            )
        };
        match self.rule {
            Rule::PersonRequestsChanges => {
                let people = self.people.changes_requested_by();
                let names: Vec<String> = people
                    .iter()
                    .map(|one| format!("{} ({})", code(one.login.as_str()), one.association.name()))
                    .collect();
                let verb = if names.len() == 1 {
                    "requests"
                } else {
                    "request"
                };
                format!("{} {verb} changes", names.join(", "))
            }
            Rule::AnyP0 => open(self.standing.p0, self.analyzed.p0, "P0"),
            Rule::AnyP1 => open(self.standing.p1, self.analyzed.p1, "P1"),
            Rule::AnyP2 => open(self.standing.p2, self.analyzed.p2, "P2"),
            Rule::NothingImportant => "no finding of P0, P1 or P2 stands".into(),
        }
    }
}

fn conversations(number: usize) -> &'static str {
    match number {
        1 => "an open conversation of people",
        _ => "open conversations of people",
    }
}

#[cfg(test)]
mod tests {
    use super::super::review_state::tests::requested_by;
    use super::*;
    use Priority::{P0, P1, P2, P3};

    fn ruling(standing: &[Priority], analyzed: &[Priority], people: &[&str]) -> Ruling {
        let (standing, analyzed) = (standing.iter().copied(), analyzed.iter().copied());
        Ruling::decide(standing, analyzed, requested_by(people))
    }

    #[test]
    fn a_score_has_a_priority() {
        let priorities: Vec<Priority> = (1..=10)
            .filter_map(Score::new)
            .map(Priority::from)
            .collect();
        assert_eq!(priorities, [P3, P3, P3, P3, P2, P2, P1, P1, P0, P0]);
    }

    #[test]
    fn a_person_of_the_repository_decides_before_any_finding() {
        for (people, because) in [
            (&["ann"][..], "`ann` (MEMBER) requests changes"),
            (
                &["bob", "ann"],
                "`ann` (MEMBER), `bob` (MEMBER) request changes",
            ),
        ] {
            for findings in [&[][..], &[P0]] {
                let ruling = ruling(findings, &[], people);
                assert_eq!(ruling.rule.number(), 0);
                assert_eq!(ruling.consensus(), Consensus::RequestChanges);
                assert_eq!(ruling.because(), because);
            }
        }
    }

    #[test]
    fn then_the_highest_priority_decides_whoever_raised_it() {
        let of = |standing: &[Priority], analyzed: &[Priority]| {
            let ruling = ruling(standing, analyzed, &[]);
            let name = ruling.consensus().name();
            format!(
                "{name} by rule {}: {}",
                ruling.rule.number(),
                ruling.because()
            )
        };
        let p0 = "needs_major_work by rule 1: 1 finding of P0 stands";
        assert_eq!(of(&[P3, P1, P0], &[]), p0);
        let of_people = ", from an open conversation of people";
        assert_eq!(of(&[P1], &[P0]), format!("{p0}{of_people}"));
        let p1 = "request_changes by rule 2: 2 findings of P1 stand, 1 of them from an open conversation of people";
        assert_eq!(of(&[P2, P1], &[P1]), p1);
        let p2 = "request_changes by rule 3: 1 finding of P2 stands";
        assert_eq!(of(&[P2], &[]), p2);
        assert_eq!(of(&[P3], &[P2]), format!("{p2}{of_people}"));
        let none = "approve by rule 4: no finding of P0, P1 or P2 stands";
        assert_eq!(of(&[P3, P3], &[P3]), none);
        assert_eq!(of(&[], &[]), none);
    }

    #[test]
    fn neither_the_order_of_findings_nor_of_people_matters() {
        let one = ruling(&[P0, P2, P3], &[P1], &["ann", "bob"]);
        assert_eq!(one, ruling(&[P3, P0, P2], &[P1], &["bob", "ann"]));
        let totals = Totals {
            p0: 1,
            p1: 1,
            p2: 1,
            p3: 1,
        };
        assert_eq!(one.standing, totals);
    }
}
