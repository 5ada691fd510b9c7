//! The texts for the author. The passes that search record claim and scenario; the last one writes what the author reads,
//! with the remedy, for the findings that stand. Separate, because a finding must not be lost for want of a text.

use super::{Desk, Entry, MAX_BODY};
use crate::domain::{PassNumber, Role, ThreadId};
use crate::review::ledger::Stage;
use crate::review::policy;

/// The text for the author of one finding.
#[derive(Debug, Clone)]
pub struct AuthorText {
    pub thread: ThreadId,
    pub body: String,
}

impl Desk {
    /// Returns true if findings of this pass are worded for the author when they are recorded.
    pub(super) fn is_last_word(&self, pass: PassNumber) -> bool {
        self.ledger.passes().role(pass) == Some(Role::Consolidation)
    }

    /// Returns true if a submission with this number ends the consolidation.
    pub(super) fn ends_consolidation(&self, number: u64) -> bool {
        let under_way = self.ledger.current();
        matches!(under_way, Some(Stage::Pass(pass)) if self.is_last_word(pass) && u64::from(pass.get()) == number)
    }

    /// Keeps the texts until the pass is submitted. Returns what is missing or wrong, for which the pass is refused once; after
    /// that, a finding without a text keeps the words that were recorded.
    pub(super) fn take_texts(&mut self, texts: &[AuthorText]) -> Vec<String> {
        let mut faults: Vec<String> = Vec::new();
        for text in texts {
            match self.judged(text) {
                Ok(body) => drop(self.texts.insert(text.thread, body)),
                Err(fault) => faults.push(fault),
            }
        }
        let missing: Vec<String> = self
            .entries
            .iter()
            .filter(|entry| entry.is_live() && !entry.worded)
            .map(Entry::thread_id)
            .filter(|thread| !self.texts.contains_key(thread))
            .map(|thread| thread.to_string())
            .collect();
        if !missing.is_empty() {
            faults.push(format!(
                "No text for the author: {}. Withdraw what does not hold, and give the others their text.",
                missing.join(", ")
            ));
        }
        faults
    }

    /// Puts the texts in place of the recorded words.
    pub(super) fn put_texts(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry.is_live()) {
            if let Some(body) = self.texts.remove(&entry.thread_id()) {
                entry.finding.body = body;
                entry.worded = true;
            }
        }
    }

    /// The text as it is kept, or what is wrong with it.
    fn judged(&self, text: &AuthorText) -> Result<String, String> {
        let AuthorText { thread, body } = text;
        let entry = self.position(*thread).map(|index| &self.entries[index]);
        let Some(entry) = entry.filter(|entry| entry.is_live()) else {
            return Err(format!(
                "{thread} is no finding of this review that stands."
            ));
        };
        let body = body.trim();
        check(entry, body)?;
        Ok(body.to_owned())
    }
}

/// The rules for a text are those for the words of a new finding.
fn check(entry: &Entry, body: &str) -> Result<(), String> {
    let thread = entry.thread_id();
    if body.is_empty() || body.len() > MAX_BODY {
        return Err(format!(
            "The text of {thread} must have 1 to {MAX_BODY} characters."
        ));
    }
    if policy::out_of_proportion(entry.given, body) {
        return Err(format!(
            "The example of {thread} is out of proportion: at score {} a remedy takes about five lines.",
            entry.given
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{desk, draft};
    use super::*;
    use crate::review::desk::{Draft, Fate};

    fn text(id: u32, body: &str) -> AuthorText {
        AuthorText {
            thread: ThreadId::Provisional(id),
            body: body.into(),
        }
    }

    fn pass(number: u64) -> PassNumber {
        PassNumber::new(number).unwrap()
    }

    /// Two findings of the first pass, of which the second stays below the threshold; the last pass is under way.
    fn consolidating() -> Desk {
        let mut desk = desk();
        desk.post(draft("Counter starts at two.", 7)).unwrap();
        desk.post(draft("Name is too generic here.", 2)).unwrap();
        for number in 1..=3 {
            desk.ledger.begin(pass(number));
            desk.submit(number, "Done.", false, &[]).unwrap();
        }
        desk.ledger.begin(pass(4));
        desk
    }

    fn bodies(desk: &Desk) -> Vec<&str> {
        let entries = desk.entries().iter();
        entries.map(|entry| entry.finding.body.as_str()).collect()
    }

    #[test]
    fn the_author_reads_the_text_of_the_last_pass() {
        let mut desk = consolidating();
        let texts = [text(1, " It starts at two. "), text(2, "Call it page.")];
        desk.submit(4, "Both stand.", false, &texts).unwrap();
        assert_eq!(bodies(&desk), ["It starts at two.", "Call it page."]);
        assert_eq!(desk.publishable().0.len(), 1);
    }

    #[test]
    fn a_missing_text_is_asked_for_once_and_then_the_recorded_words_stay() {
        let mut desk = consolidating();
        let refused = desk.submit(4, "Done.", false, &[text(2, "Call it page.")]);
        assert_eq!(
            refused.unwrap_err(),
            "The pass is not submitted yet. No text for the author: new-1. Withdraw what does not hold, and give the others \
             their text. Then submit it again, with these in `texts`; the other texts are kept."
        );
        assert!(!desk.ledger.is_finished(pass(4)));
        assert_eq!(bodies(&desk)[1], "Name is too generic here. Fix it.");
        desk.submit(4, "Done.", false, &[]).unwrap();
        assert!(desk.ledger.is_finished(pass(4)));
        assert_eq!(
            bodies(&desk),
            ["Counter starts at two. Fix it.", "Call it page."]
        );
    }

    #[test]
    fn the_model_does_not_learn_the_threshold_from_the_texts_that_it_is_asked_for() {
        let mut desk = consolidating();
        let refused = desk.submit(4, "Done.", false, &[]).unwrap_err();
        assert!(refused.contains("author: new-1, new-2."), "{refused}");
    }

    #[test]
    fn what_was_withdrawn_or_is_not_there_takes_no_text() {
        let mut desk = consolidating();
        desk.resolve(ThreadId::Provisional(2), "It reads well.", None)
            .unwrap();
        let texts = [text(1, "It starts at two."), text(2, "x"), text(9, "x")];
        let refused = desk.submit(4, "Done.", false, &texts).unwrap_err();
        for id in ["new-2", "new-9"] {
            let fault = format!("{id} is no finding of this review that stands.");
            assert!(refused.contains(&fault), "{refused}");
        }
        desk.submit(4, "Done.", false, &[]).unwrap();
        assert_eq!(desk.entries()[0].finding.body, "It starts at two.");
        assert_eq!(
            desk.entries()[1].fate,
            Fate::Withdrawn("It reads well.".into())
        );
    }

    #[test]
    fn a_long_example_for_a_small_matter_is_refused_and_not_taken_later() {
        let mut desk = consolidating();
        let long = format!("Rename it.\n\n```\n{}```", "let page = 1;\n".repeat(20));
        let texts = [text(1, "It starts at two."), text(2, &long)];
        let refused = desk.submit(4, "Done.", false, &texts).unwrap_err();
        assert!(refused.contains("new-2 is out of proportion"), "{refused}");
        desk.submit(4, "Done.", false, &[text(2, &long)]).unwrap();
        assert_eq!(bodies(&desk)[1], "Name is too generic here. Fix it.");
    }

    #[test]
    fn what_the_last_pass_finds_or_raises_has_its_text() {
        let mut desk = consolidating();
        desk.post(draft("Counter starts at two.", 8)).unwrap();
        let found = Draft {
            line: Some(12),
            ..draft("The lock is never released.", 9)
        };
        desk.post(found).unwrap();
        desk.submit(4, "Done.", true, &[text(2, "Call it page.")])
            .unwrap();
        assert!(desk.ledger.is_finished(pass(4)));
    }

    #[test]
    fn a_text_in_a_pass_that_searches_changes_nothing() {
        let mut desk = desk();
        desk.post(draft("Counter starts at two.", 7)).unwrap();
        desk.submit(1, "One.", false, &[text(1, "Early.")]).unwrap();
        assert_eq!(bodies(&desk), ["Counter starts at two. Fix it."]);
    }
}
