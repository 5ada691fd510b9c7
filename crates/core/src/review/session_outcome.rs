//! The outcome of a session with the model: why the passes ended, what each of them took, what was answered. Separate from
//! the driver, because the report is made of it.

use super::limits::{Count, Used};
use super::nudges::GivenUp;
use crate::domain::{PASSES, PassNumber};
use crate::plan::Question;
use std::collections::BTreeSet;
use std::time::Duration;

/// The result of a pass, and its use of time and tokens.
#[derive(Debug, Clone, Default)]
pub struct PassLog {
    /// The reviewer's name; `None` where one reviews alone.
    pub reviewer: Option<String>,
    /// The section that the pass was about; `None` where it was about the whole change.
    pub section: Option<usize>,
    /// 0 for the turns before the passes.
    pub number: u8,
    pub title: &'static str,
    /// `None`: not submitted. Turn 0 ends without a submission.
    pub summary: Option<String>,
    pub tool_calls: usize,
    pub tokens: Count,
    pub cost_usd: f64,
    pub took: Duration,
}

/// The reason why the passes ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Complete,
    /// With what kept it, if more is known than that.
    NotSubmitted(PassNumber, String),
    OutOfTime(PassNumber),
    OverBudget(PassNumber, String),
    /// The model cannot be used, and nothing was done before. With the whole sentence.
    Refused(String),
    Failed(PassNumber, String),
    /// The open threads could not be judged.
    NotJudged(String),
    /// There is no money left for anything.
    NotAsked(String),
    /// Some of several reviewers did not finish: the name of each, and why.
    Panel(Vec<(String, End)>),
    /// Not all sections of a large change were reviewed to the end.
    Sections(Vec<SectionEnd>),
}

/// The end of a section's review, or of the consolidation after all, that did not finish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionEnd {
    /// `None`: the consolidation.
    pub number: Option<usize>,
    /// The number of sections.
    pub of: usize,
    pub end: End,
}

/// The review of one section.
#[derive(Debug, Clone)]
pub struct SectionLog {
    /// Counted from 1.
    pub number: usize,
    /// The paths of its files that have to be shown.
    pub required: Vec<String>,
    /// The number of all its files, and of their changed lines.
    pub files: usize,
    pub lines: usize,
    pub end: End,
    /// The passes that every reviewer submitted.
    pub passes: Vec<u8>,
    pub used: Used,
    pub took: Duration,
}

impl SectionLog {
    /// True if every pass was submitted.
    #[must_use]
    pub fn is_reviewed(&self) -> bool {
        self.end == End::Complete && self.passes.iter().copied().eq(1..=PASSES.total())
    }

    /// True if the model could not be used, or was not asked.
    fn has_nothing(&self) -> bool {
        self.passes.is_empty() && matches!(self.end, End::Refused(_) | End::NotAsked(_))
    }
}

impl End {
    /// `has_results`: an earlier part of the session has something to publish, which is not given up with the rest.
    #[must_use]
    pub fn of_pass(pass: PassNumber, given_up: GivenUp, has_results: bool) -> Self {
        match given_up {
            GivenUp::Refused(why) if has_results => Self::Failed(pass, why),
            GivenUp::Unfinished(why) => Self::NotSubmitted(pass, why.told()),
            GivenUp::OutOfTime => Self::OutOfTime(pass),
            GivenUp::OverBudget(why) => Self::OverBudget(pass, why),
            GivenUp::Refused(why) => Self::Refused(why),
            GivenUp::Failed(why) => Self::Failed(pass, why),
        }
    }

    #[must_use]
    pub fn of_threads(given_up: GivenUp) -> Self {
        match given_up {
            GivenUp::Unfinished(why) => Self::NotJudged(format!("the model did not{}", why.told())),
            GivenUp::OutOfTime => Self::NotJudged("the time ran out".into()),
            GivenUp::Refused(why) => Self::Refused(why),
            GivenUp::OverBudget(why) | GivenUp::Failed(why) => Self::NotJudged(why),
        }
    }

    /// The names of the reviewers of a panel that did not finish.
    #[must_use]
    pub fn unfinished_reviewers(&self) -> Vec<String> {
        match self {
            Self::Panel(ends) => ends.iter().map(|(name, _)| name.clone()).collect(),
            _ => Vec::new(),
        }
    }

    /// True if this reviewer did not finish.
    #[must_use]
    pub fn leaves_unfinished(&self, reviewer: &str) -> bool {
        match self {
            Self::Complete => false,
            Self::Panel(ends) => ends.iter().any(|(name, _)| name == reviewer),
            Self::Sections(ends) => {
                let mut sections = ends.iter().filter(|one| one.number.is_some());
                sections.any(|one| one.end.leaves_unfinished(reviewer))
            }
            _ => true,
        }
    }
}

/// Everything that a session has come to.
#[derive(Debug)]
pub struct Outcome {
    pub end: End,
    pub passes: Vec<PassLog>,
    pub used: Used,
    pub answers: Vec<Answer>,
    /// A sentence for each question without an answer.
    pub unanswered: Vec<String>,
    /// A sentence for each time that the sidecar was replaced.
    pub restarts: Vec<String>,
    /// A sentence for each claim of the model that was corrected.
    pub corrections: Vec<String>,
    /// Paths of the changed files that there was no room for.
    pub beyond: Vec<String>,
    /// The number of reviewers whose passes these are.
    pub reviewers: usize,
    /// The sections of a change that was too large for one session; else none.
    pub sections: Vec<SectionLog>,
}

impl Outcome {
    /// The outcome of a session that could not begin.
    #[must_use]
    pub fn failed(why: &str) -> Self {
        Self::without_session(End::NotAsked(why.to_owned()))
    }

    /// The outcome where no session was held.
    #[must_use]
    pub fn without_session(end: End) -> Self {
        Self {
            end,
            passes: Vec::new(),
            used: Used::default(),
            answers: Vec::new(),
            unanswered: Vec::new(),
            restarts: Vec::new(),
            corrections: Vec::new(),
            beyond: Vec::new(),
            reviewers: 1,
            sections: Vec::new(),
        }
    }

    /// The outcome of all sections of a change, in their order. It is complete only if each of them was reviewed.
    #[must_use]
    pub fn of_sections(all: Vec<(SectionLog, Self)>) -> Self {
        let of = all.len();
        let refused = all.iter().find_map(|(log, _)| match &log.end {
            End::Refused(why) => Some(why.clone()),
            _ => None,
        });
        let refused = refused.filter(|_| all.iter().all(|(log, _)| log.has_nothing()));
        let mut sum = Self::without_session(End::Complete);
        sum.reviewers = 0;
        for (log, one) in all {
            let section = Some(log.number);
            let passes = one.passes.into_iter();
            sum.passes
                .extend(passes.map(|pass| PassLog { section, ..pass }));
            sum.used += one.used;
            sum.reviewers += one.reviewers;
            sum.answers.extend(one.answers);
            sum.unanswered.extend(one.unanswered);
            let restarts = one.restarts.into_iter();
            sum.restarts
                .extend(restarts.map(|told| format!("Section {}: {told}", log.number)));
            sum.corrections.extend(one.corrections);
            let beyond = one.beyond.into_iter();
            let beyond: Vec<String> = beyond.filter(|path| !sum.beyond.contains(path)).collect();
            sum.beyond.extend(beyond);
            sum.sections.push(log);
        }
        let unfinished = sum.sections.iter().filter(|log| !log.is_reviewed());
        let ends = unfinished.map(|log| SectionEnd {
            number: Some(log.number),
            of,
            end: log.end.clone(),
        });
        let ends: Vec<SectionEnd> = ends.collect();
        sum.end = match refused {
            Some(why) => End::Refused(why),
            None if ends.is_empty() => End::Complete,
            None => End::Sections(ends),
        };
        sum
    }

    /// Adds the consolidation of all sections. Unless it finished, the last pass did not.
    pub fn consolidate(&mut self, one: Self) {
        self.passes.extend(one.passes);
        self.used += one.used;
        let restarts = one.restarts.into_iter();
        self.restarts
            .extend(restarts.map(|told| format!("Consolidation: {told}")));
        if one.end == End::Complete {
            return;
        }
        let mut ends = match std::mem::replace(&mut self.end, End::Complete) {
            End::Sections(ends) => ends,
            _ => Vec::new(),
        };
        ends.push(SectionEnd {
            number: None,
            of: self.sections.len(),
            end: one.end,
        });
        self.end = End::Sections(ends);
    }

    /// The files that have to be shown and whose section was not reviewed to the end, each once, with the number of the section.
    pub fn unreviewed(&self) -> impl Iterator<Item = (&str, usize)> {
        let mut known = BTreeSet::new();
        let unfinished = self.sections.iter().filter(|log| !log.is_reviewed());
        let files = unfinished.flat_map(|log| {
            let paths = log.required.iter();
            paths.map(|path| (path.as_str(), log.number))
        });
        files.filter(move |(path, _)| known.insert(*path))
    }

    /// The outcome of a panel. It is complete only if every reviewer is; what each of them did counts.
    #[must_use]
    pub fn of_panel(first: (String, Self), others: Vec<(String, Self)>) -> Self {
        let (name, mut all) = first;
        let named = |name: &str, passes: &mut Vec<PassLog>| {
            for pass in passes {
                pass.reviewer = Some(name.to_owned());
            }
        };
        named(&name, &mut all.passes);
        let mut ends = vec![(name, all.end)];
        for (name, mut one) in others {
            named(&name, &mut one.passes);
            all.passes.extend(one.passes);
            all.used += one.used;
            all.reviewers += one.reviewers;
            all.restarts.extend(one.restarts);
            all.corrections.extend(one.corrections);
            let beyond = one.beyond.into_iter();
            let beyond: Vec<String> = beyond.filter(|path| !all.beyond.contains(path)).collect();
            all.beyond.extend(beyond);
            ends.push((name, one.end));
        }
        all.restarts.dedup();
        ends.retain(|(_, end)| *end != End::Complete);
        all.end = if ends.is_empty() {
            End::Complete
        } else {
            End::Panel(ends)
        };
        all
    }

    /// The numbers of the passes that every reviewer has finished.
    #[must_use]
    pub fn finished_passes(&self) -> Vec<u8> {
        if !self.sections.is_empty() {
            return self.finished_in_all_sections();
        }
        let all = |number: u8| {
            let logs = self.passes.iter().filter(|pass| pass.number == number);
            let finished = logs.filter(|pass| pass.summary.is_some());
            finished.count() == self.reviewers
        };
        let numbers: BTreeSet<u8> = self.passes.iter().map(|pass| pass.number).collect();
        numbers.into_iter().filter(|n| *n > 0 && all(*n)).collect()
    }

    /// A pass of a section counts only if it was submitted in every section; the last one, only with the consolidation of all.
    fn finished_in_all_sections(&self) -> Vec<u8> {
        let missing = |one: &SectionEnd| one.number.is_none();
        let consolidated = match &self.end {
            End::Sections(ends) => !ends.iter().any(missing),
            _ => true,
        };
        let in_all = |number: &u8| {
            let mut sections = self.sections.iter();
            sections.all(|log| log.passes.contains(number))
                && (consolidated || *number < PASSES.total())
        };
        (1..=PASSES.total()).filter(in_all).collect()
    }
}

/// The model's answer to a question.
#[derive(Debug)]
pub struct Answer {
    pub question: Question,
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(number: usize, passes: &[u8], end: End) -> (SectionLog, Outcome) {
        let log = SectionLog {
            number,
            required: vec!["src/both.ts".into(), format!("src/{number}.ts")],
            files: 2,
            lines: 20,
            end: end.clone(),
            passes: passes.to_vec(),
            used: Used::default(),
            took: Duration::ZERO,
        };
        let passes = passes.iter().map(|number| PassLog {
            number: *number,
            summary: Some("Done.".into()),
            ..PassLog::default()
        });
        let outcome = Outcome {
            passes: passes.collect(),
            ..Outcome::without_session(end)
        };
        (log, outcome)
    }

    const ALL: [u8; 4] = [1, 2, 3, 4];

    fn late() -> End {
        End::OutOfTime(PassNumber::FIRST)
    }

    #[test]
    fn a_change_is_reviewed_only_if_every_section_is() {
        let both = vec![
            section(1, &ALL, End::Complete),
            section(2, &ALL, End::Complete),
        ];
        let all = Outcome::of_sections(both);
        assert_eq!(
            (&all.end, all.finished_passes()),
            (&End::Complete, ALL.to_vec())
        );
        assert_eq!(all.unreviewed().count(), 0);
        assert_eq!(all.passes[4].section, Some(2));
        let one = vec![section(1, &ALL, End::Complete), section(2, &[1], late())];
        let one = Outcome::of_sections(one);
        let SectionEnd { number, of, end } = match &one.end {
            End::Sections(ends) => &ends[0],
            other => panic!("{other:?}"),
        };
        assert_eq!((*number, *of, end), (Some(2), 2, &late()));
        assert_eq!(one.finished_passes(), [1]);
        let unreviewed: Vec<_> = one.unreviewed().collect();
        assert_eq!(unreviewed, [("src/both.ts", 2), ("src/2.ts", 2)]);
    }

    #[test]
    fn passes_of_one_section_are_no_passes_of_another() {
        // As many submissions as two sections need, and all of them in one.
        let mut twice = section(1, &ALL, End::Complete);
        twice.1.passes.extend(twice.1.passes.clone());
        let all = Outcome::of_sections(vec![twice, section(2, &[], late())]);
        assert!(all.finished_passes().is_empty());
    }

    #[test]
    fn an_end_that_its_passes_do_not_prove_is_no_review() {
        let all = Outcome::of_sections(vec![
            section(1, &ALL, End::Complete),
            section(2, &[1, 2, 3], End::Complete),
        ]);
        assert_ne!(all.end, End::Complete);
        assert_eq!(all.finished_passes(), [1, 2, 3]);
        assert_eq!(all.unreviewed().count(), 2);
    }

    #[test]
    fn without_the_consolidation_the_last_pass_is_missing_and_no_file() {
        let both = || {
            vec![
                section(1, &ALL, End::Complete),
                section(2, &ALL, End::Complete),
            ]
        };
        let mut all = Outcome::of_sections(both());
        all.consolidate(Outcome::without_session(late()));
        assert_eq!(all.finished_passes(), [1, 2, 3]);
        assert_ne!(all.end, End::Complete);
        assert_eq!(all.unreviewed().count(), 0);
        let mut all = Outcome::of_sections(both());
        all.consolidate(Outcome::without_session(End::Complete));
        assert_eq!((all.end, all.sections.len()), (End::Complete, 2));
    }

    #[test]
    fn a_model_that_no_section_could_use_is_a_failure_of_the_run() {
        let refused = || End::Refused("The key is wrong.".into());
        let not_asked = End::NotAsked("no money".into());
        let all = vec![section(1, &[], refused()), section(2, &[], not_asked)];
        assert_eq!(Outcome::of_sections(all).end, refused());
        let some = vec![section(1, &[1], late()), section(2, &[], refused())];
        assert!(matches!(Outcome::of_sections(some).end, End::Sections(_)));
    }
}
