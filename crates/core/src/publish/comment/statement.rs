//! The decision of a reviewer with a name of its own, in its review: a sentence for people, the tags of those whom it calls, and
//! the fields of the signed block.

use super::Voice;
use crate::domain::ReviewDecision;
use crate::state::block::Hidden;
use crate::state::statement::{TAG_CLOSE, TAG_OPEN};
use reviewer_text::sentence::code;
use serde_json::Value;

/// The decision that a review states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stated<'a> {
    pub reviewer: &'a str,
    pub decision: ReviewDecision,
    /// The reviewers that it calls to the pull request.
    pub escalations: &'a [String],
}

impl Stated<'_> {
    pub(super) fn words(&self) -> String {
        let reviewer = code(self.reviewer);
        let decided = match self.decision {
            ReviewDecision::Approved => format!("{reviewer} approves this commit."),
            ReviewDecision::ChangesRequested => format!("{reviewer} requests changes."),
            ReviewDecision::Commented => format!("{reviewer} neither approves nor blocks."),
            ReviewDecision::Incomplete => format!("{reviewer} has not finished its review."),
        };
        if self.escalations.is_empty() {
            return decided;
        }
        let called: Vec<String> = self.escalations.iter().map(|name| code(name)).collect();
        format!("{decided} It calls for a review by {}.", called.join(", "))
    }
}

impl Voice<'_> {
    /// The last lines of a review: a tag for each called reviewer, and the signed block.
    pub(super) fn manifest(&self, hidden: Hidden, stated: Option<Stated<'_>>) -> String {
        let Some(stated) = stated else {
            return self.sign(hidden, None, &Value::Null);
        };
        let hidden = Hidden {
            reviewer: Some(stated.reviewer.to_owned()),
            decision: Some(stated.decision.name().to_owned()),
            escalations: stated.escalations.to_vec(),
            ..hidden
        };
        let tags = stated.escalations.iter();
        let tags = tags.map(|name| format!("{TAG_OPEN}{name}{TAG_CLOSE}"));
        let block = self.sign(hidden, None, &Value::Null);
        tags.chain([block]).collect::<Vec<_>>().join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ReviewEvent, Tally};
    use crate::publish::comment::judgement::Judged;
    use crate::publish::comment::tests::with_voice;
    use crate::state::signature::Keys;
    use crate::state::statement::{Statement, tagged_names};

    #[test]
    fn a_review_states_its_reviewer_decision_and_calls_in_a_block_that_only_the_key_signs() {
        let escalations = ["security".to_owned(), "octocat".to_owned()];
        let judged = Judged {
            stated: Some(Stated {
                reviewer: "quality",
                decision: ReviewDecision::Approved,
                escalations: &escalations,
            }),
            ..Judged::new(ReviewEvent::Comment)
        };
        with_voice(|voice| {
            let body = voice.judgement(&judged, &Tally::default(), None);
            let said =
                "`quality` approves this commit. It calls for a review by `security`, `octocat`.";
            assert!(body.contains(said), "{body}");
            assert_eq!(tagged_names(&body), escalations);
            let read = Statement::read(&body, voice.pr, voice.keys).unwrap();
            assert_eq!(read.reviewer, "quality");
            assert_eq!(read.decision, ReviewDecision::Approved);
            assert_eq!(
                (read.escalations, &read.head),
                (escalations.to_vec(), voice.head)
            );
            let forged = body.replace("\"approved\"", "\"changes_requested\"");
            assert_eq!(Statement::read(&forged, voice.pr, voice.keys), None);
            let other = Keys::derive(
                &["another key of forty characters or more".into()],
                None,
                "x/y",
            );
            assert_eq!(Statement::read(&body, voice.pr, &other), None);
            let plain = voice.judgement(&Judged::COMMENT, &Tally::default(), None);
            assert_eq!(Statement::read(&plain, voice.pr, voice.keys), None);
            assert_eq!(tagged_names(&plain), [""; 0]);
        });
    }
}
