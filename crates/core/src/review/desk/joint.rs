//! The desk of the consolidation of a large change: it begins with what all sections have found. Its session has not seen the
//! diffs, so it may do less than the sections themselves.

use super::{Desk, Entry};
use crate::domain::ThreadId;
use crate::panel::cluster::is_near;

impl Desk {
    /// Lays down the findings of all sections, numbered through.
    pub fn lay_down(&mut self, entries: Vec<Entry>) {
        self.entries = entries;
        self.joint = true;
    }

    /// Refuses to withdraw what blocks, unless another finding that blocks holds the same place: whoever wrote it had read the
    /// code.
    pub(super) fn check_joint(&self, thread: ThreadId) -> Result<(), String> {
        let Some(entry) = self.position(thread).map(|at| &self.entries[at]) else {
            return Ok(());
        };
        let blocks = |entry: &Entry| self.weights.blocks(entry.finding.assessment.score);
        if !self.joint || !blocks(entry) {
            return Ok(());
        }
        let holds_place = |other: &&Entry| {
            let (one, other_finding) = (&entry.finding, &other.finding);
            other.id != entry.id
                && other.is_live()
                && blocks(other)
                && other_finding.file == one.file
                && is_near(other_finding, one)
        };
        if self.entries.iter().any(|other| holds_place(&other)) {
            return Ok(());
        }
        Err(format!(
            "{thread} blocks, and the session that read its code stands by it. Only a repeat of another finding that blocks, at \
             the same place, is withdrawn here. Leave it."
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{desk, draft};
    use crate::domain::{PASSES, Role, ThreadId};
    use crate::review::desk::{AuthorText, Desk, Draft, Fate};

    /// The consolidation of two findings of sections, with these scores, at these lines.
    fn consolidating(scores: [u64; 2], lines: [u32; 2]) -> Desk {
        let mut section = desk();
        let found = [
            ("Counter starts at two.", scores[0], lines[0]),
            ("The lock is never released.", scores[1], lines[1]),
        ];
        for (text, score, line) in found {
            let line = Some(line);
            section
                .post(Draft {
                    line,
                    ..draft(text, score)
                })
                .unwrap();
        }
        let mut entries = section.entries().to_vec();
        for entry in &mut entries {
            entry.worded = true;
        }
        let mut joint = desk();
        joint.lay_down(entries);
        joint
            .ledger
            .begin(PASSES.first(Role::Consolidation).unwrap());
        joint
    }

    fn withdraws(desk: &mut Desk) -> Result<String, String> {
        desk.resolve(ThreadId::Provisional(1), "It repeats new-2.", None)
    }

    #[test]
    fn what_blocks_is_withdrawn_only_as_a_repeat_of_what_blocks_at_the_same_place() {
        let refused = withdraws(&mut consolidating([9, 7], [11, 12])).unwrap_err();
        assert!(refused.starts_with("new-1 blocks, and"), "{refused}");
        withdraws(&mut consolidating([7, 9], [11, 12])).unwrap();
        let mut repeat = consolidating([9, 9], [11, 12]);
        withdraws(&mut repeat).unwrap();
        let last = repeat.resolve(ThreadId::Provisional(2), "It repeats new-1.", None);
        assert!(
            last.unwrap_err().starts_with("new-2 blocks"),
            "one of them stays"
        );
    }

    #[test]
    fn the_texts_that_the_sections_wrote_stay() {
        let mut desk = consolidating([7, 7], [11, 12]);
        let text = AuthorText {
            thread: ThreadId::Provisional(1),
            body: "Shorter.".into(),
        };
        desk.submit(4, "Both stand.", false, &[text]).unwrap();
        assert_eq!(
            desk.entries()[0].finding.body,
            "Counter starts at two. Fix it."
        );
        assert!(
            desk.entries()
                .iter()
                .all(|entry| entry.fate == Fate::Staged)
        );
    }
}
