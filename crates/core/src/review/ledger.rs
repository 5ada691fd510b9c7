//! The ledger of passes: which one is under way, which are finished and with what words. It decides whether a
//! submission counts; only what stands here is evidence that a review took place.

use crate::domain::{PassNumber, Passes};

/// The number of times that a turn without a submission is nudged before the pass counts as incomplete.
pub(crate) const NUDGES: u32 = 2;

/// A pass that the model submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub number: PassNumber,
    pub summary: String,
}

/// The model's current task: it judges what was said before, checks fixes or weighs conversations of people in a session of its
/// own, or is in a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    TurnZero,
    FixCheck,
    Conversations,
    Pass(PassNumber),
}

impl Stage {
    /// The refusal of every other tool in a stage that has one tool only.
    #[must_use]
    pub fn refusal(self) -> Option<&'static str> {
        match self {
            Self::FixCheck => Some(
                "This task is only to check fixes: read the code, call submit_fix_check for each thread, then end your turn.",
            ),
            Self::Conversations => Some(
                "This task is only about conversations: call submit_conversation for each, then end your turn.",
            ),
            Self::TurnZero | Self::Pass(_) => None,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// The table that says which passes there are.
    passes: Passes,
    current: Option<Stage>,
    /// Turn 0 came to its end.
    turn_zero: bool,
    finished: Vec<Finished>,
    /// The part of the pass under way, and the number of its parts.
    part: (u32, u32),
    /// The submissions for the parts of the pass under way.
    parts: Vec<String>,
    /// The submissions whose claim about blocking issues was wrong.
    corrected: Vec<CorrectedClaim>,
}

/// A submission that claimed the wrong thing about blocking issues. The recorded findings count, not the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorrectedClaim {
    pub pass: PassNumber,
    /// The claim, which is the opposite of what is recorded.
    pub claimed: bool,
}

/// A submission as the model made it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Submission<'a> {
    pub number: u64,
    pub summary: &'a str,
    pub claims_blocking: bool,
    /// True if a finding on the level of a critical failure is on the desk.
    pub holds_blocking: bool,
}

impl Ledger {
    /// The passes of the review.
    #[must_use]
    pub(crate) fn passes(&self) -> Passes {
        self.passes
    }

    /// Opens a pass. From here on, findings belong to it.
    pub fn begin(&mut self, pass: PassNumber) {
        self.begin_part(pass, (1, 1));
    }

    /// Opens a part of a pass: which one, counted from 1, and of how many.
    pub fn begin_part(&mut self, pass: PassNumber, part: (u32, u32)) {
        if self.current != Some(Stage::Pass(pass)) {
            self.parts.clear();
        }
        self.current = Some(Stage::Pass(pass));
        self.part = part;
    }

    /// Returns true if the part under way was submitted.
    #[must_use]
    pub fn is_part_submitted(&self) -> bool {
        self.parts.len() >= self.part.0 as usize
    }

    /// Opens turn 0: open threads are judged, nothing new is found.
    pub fn begin_turn_zero(&mut self) {
        self.current = Some(Stage::TurnZero);
    }

    /// Turn 0 ended well; what was decided in it may be published.
    pub fn finish_turn_zero(&mut self) {
        self.current = None;
        self.turn_zero = true;
    }

    /// Opens the check of fixes, in which nothing else is said.
    pub(crate) fn begin_fix_check(&mut self) {
        self.current = Some(Stage::FixCheck);
    }

    /// Opens the turn about conversations of people, in which nothing else is said.
    pub(crate) fn begin_conversations(&mut self) {
        self.current = Some(Stage::Conversations);
    }

    /// No pass is under way any more.
    pub fn close(&mut self) {
        self.current = None;
    }

    #[must_use]
    pub fn current(&self) -> Option<Stage> {
        let submitted = |stage: Stage| matches!(stage, Stage::Pass(_)) && self.is_part_submitted();
        self.current
            .filter(|stage| !self.is_over(*stage) && !submitted(*stage))
    }

    /// Returns true if what was said in a stage may be published.
    #[must_use]
    pub fn is_over(&self, stage: Stage) -> bool {
        match stage {
            Stage::TurnZero => self.turn_zero,
            Stage::FixCheck | Stage::Conversations => false,
            Stage::Pass(pass) => self.is_finished(pass),
        }
    }

    #[must_use]
    pub fn is_finished(&self, pass: PassNumber) -> bool {
        self.finished.iter().any(|finished| finished.number == pass)
    }

    #[must_use]
    pub fn finished(&self) -> &[Finished] {
        &self.finished
    }

    #[must_use]
    pub fn corrected(&self) -> &[CorrectedClaim] {
        &self.corrected
    }

    #[cfg(test)]
    fn is_complete(&self) -> bool {
        let mut passes = self.passes.all();
        passes.all(|pass| self.is_finished(pass.number))
    }

    /// Takes a submission, or says what the model should do instead.
    pub(crate) fn submit(&mut self, submission: &Submission<'_>) -> Result<String, String> {
        let Some(Stage::Pass(current)) = self.current else {
            return Err(
                "No pass is under way; end your turn and wait for the prompt of a pass.".into(),
            );
        };
        let number = self.passes.number(submission.number).ok_or_else(|| {
            let total = self.passes.total();
            format!("pass_number is 1 to {total}; the pass under way is {current}.")
        })?;
        if self.is_finished(number) || (number == current && self.is_part_submitted()) {
            return Ok(format!(
                "Pass {number} is already recorded. End your turn now."
            ));
        }
        if number != current {
            return Err(format!(
                "The pass under way is {current}, not {number}. Finish it and submit pass_number {current}."
            ));
        }
        if submission.summary.trim().is_empty() {
            return Err(
                "summary is empty: say in one or two sentences what you checked and found, \
                        or \"Nothing to report.\""
                    .into(),
            );
        }
        let correction = self.corrects(current, submission);
        self.parts.push(submission.summary.trim().to_owned());
        let (part, parts) = self.part;
        if part < parts {
            return Ok(format!(
                "Part {part} of {parts} of pass {number} is recorded{correction}. End your turn now; the next part \
                 follows."
            ));
        }
        self.finished.push(Finished {
            number,
            summary: self.parts.join(" "),
        });
        let place = self.passes.place(number);
        Ok(match self.passes.after(number) {
            Some(next) => {
                format!("Pass {place} is recorded{correction}. End your turn; pass {next} follows.")
            }
            None => {
                format!(
                    "Pass {place} is recorded and the review is complete{correction}. End your turn now."
                )
            }
        })
    }

    /// Notes a wrong claim about blocking issues. Returns the words that tell the model.
    fn corrects(&mut self, pass: PassNumber, submission: &Submission<'_>) -> &'static str {
        let claimed = submission.claims_blocking;
        if claimed == submission.holds_blocking {
            return "";
        }
        let corrected = CorrectedClaim { pass, claimed };
        if !self.corrected.contains(&corrected) {
            self.corrected.push(corrected);
        }
        if claimed {
            ", with has_blocking_issues corrected to false, because no recorded finding is scored 9 or 10"
        } else {
            ", with has_blocking_issues corrected to true, because a recorded finding is scored 9 or 10"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submission(number: u64) -> Submission<'static> {
        Submission {
            number,
            summary: "Nothing to report.",
            claims_blocking: false,
            holds_blocking: false,
        }
    }

    fn pass(number: u64) -> PassNumber {
        PassNumber::new(number).unwrap()
    }

    #[test]
    fn passes_are_submitted_in_order_and_once() {
        let mut ledger = Ledger::default();
        assert!(
            ledger
                .submit(&submission(1))
                .unwrap_err()
                .contains("No pass")
        );
        ledger.begin(pass(1));
        assert!(
            ledger
                .submit(&submission(3))
                .unwrap_err()
                .contains("under way is 1")
        );
        assert!(
            ledger
                .submit(&submission(9))
                .unwrap_err()
                .contains("1 to 4")
        );
        assert!(
            ledger
                .submit(&submission(1))
                .unwrap()
                .contains("pass 2 follows")
        );
        assert!(ledger.submit(&submission(1)).unwrap().contains("already"));
        assert_eq!(ledger.finished().len(), 1);
        assert_eq!(ledger.current(), None);
    }

    #[test]
    fn a_pass_in_parts_is_finished_with_its_last_part() {
        let mut ledger = Ledger::default();
        for part in 1..=3 {
            ledger.begin_part(pass(1), (part, 3));
            assert!(ledger.current().is_some() && !ledger.is_part_submitted());
            let answer = ledger.submit(&submission(1)).unwrap();
            assert_eq!(
                answer.contains("the next part follows"),
                part < 3,
                "{answer}"
            );
            assert!(ledger.current().is_none(), "nothing more is recorded in it");
            assert!(ledger.submit(&submission(1)).unwrap().contains("already"));
            assert_eq!(ledger.is_finished(pass(1)), part == 3);
        }
        assert_eq!(
            ledger.finished()[0].summary,
            ["Nothing to report."; 3].join(" ")
        );
        ledger.begin(pass(2));
        assert!(!ledger.is_part_submitted());
    }

    #[test]
    fn only_four_submissions_make_a_complete_review() {
        let mut ledger = Ledger::default();
        for number in 1..=4 {
            assert!(!ledger.is_complete());
            ledger.begin(pass(number));
            ledger.submit(&submission(number)).unwrap();
        }
        assert!(ledger.is_complete());
    }

    #[test]
    fn numbers_and_totals_follow_from_the_table() {
        let mut ledger = Ledger {
            passes: crate::domain::passes::FIVE,
            ..Ledger::default()
        };
        ledger.begin(pass(4));
        assert_eq!(
            ledger.submit(&submission(6)).unwrap_err(),
            "pass_number is 1 to 5; the pass under way is 4."
        );
        assert_eq!(
            ledger.submit(&submission(4)).unwrap(),
            "Pass 4 of 5 is recorded. End your turn; pass 5 follows."
        );
        for number in [1, 2, 3, 5] {
            assert!(!ledger.is_complete());
            ledger.begin(pass(number));
            let said = ledger.submit(&submission(number)).unwrap();
            assert!(said.starts_with(&format!("Pass {number} of 5 is recorded")));
        }
        assert!(ledger.is_complete());
    }

    #[test]
    fn a_wrong_claim_about_blocking_issues_is_corrected_and_the_pass_counts() {
        let mut ledger = Ledger::default();
        ledger.begin(pass(1));
        assert!(!ledger.submit(&submission(1)).unwrap().contains("corrected"));
        assert_eq!(ledger.corrected(), []);
        ledger.begin(pass(2));
        let invented = Submission {
            claims_blocking: true,
            ..submission(2)
        };
        assert_eq!(
            ledger.submit(&invented).unwrap(),
            "Pass 2 of 4 is recorded, with has_blocking_issues corrected to false, because no recorded finding is \
             scored 9 or 10. End your turn; pass 3 follows."
        );
        for part in 1..=2 {
            ledger.begin_part(pass(3), (part, 2));
            let forgotten = Submission {
                holds_blocking: true,
                ..submission(3)
            };
            let answer = ledger.submit(&forgotten).unwrap();
            assert!(
                answer.contains("corrected to true, because a recorded finding is scored 9 or 10"),
                "{answer}"
            );
        }
        assert!(ledger.is_finished(pass(2)) && ledger.is_finished(pass(3)));
        let corrected = [(2, true), (3, false)].map(|(number, claimed)| CorrectedClaim {
            pass: pass(number),
            claimed,
        });
        assert_eq!(
            ledger.corrected(),
            corrected,
            "a pass in parts is noted once"
        );
    }

    #[test]
    fn an_empty_summary_is_no_submission() {
        let mut ledger = Ledger::default();
        ledger.begin(pass(1));
        let empty = Submission {
            summary: " \n",
            ..submission(1)
        };
        assert!(
            ledger
                .submit(&empty)
                .unwrap_err()
                .contains("summary is empty")
        );
    }
}
