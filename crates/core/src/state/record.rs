//! The record that a finished run leaves in its check run: what was reviewed, so that the same head is not
//! reviewed twice. Signed, because a forged one would show green without a review.

use super::block::Listed;
use super::signature::Keys;
use super::signed_line;
use super::spending::Spent;
use super::statement::signed_manifest;
use super::undelivered::Undelivered;
use crate::domain::{
    CommentId, CommitSha, FindingId, PASSES, Passes, PrKey, Resolution, Score, Thread,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub head: String,
    pub merge_base: String,
    /// Hash of the configuration and the rules that were applied.
    pub rules: String,
    pub passes: Vec<u8>,
    /// Changed files that were not shown to the model.
    pub left_out: Vec<String>,
    /// The number of them that could have been shown, had there been room; `None` in records that do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unshown: Option<usize>,
    /// The reason why the review ended before its last pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The names of the reviewers of a panel that did not finish.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished_reviewers: Vec<String>,
    /// The number of findings and replies that could not be posted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsent: usize,
    /// The person who accepted this head although not everything was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Accepted>,
    /// Tokens and money that the pull request has cost so far.
    pub tokens: u64,
    pub cost_usd: f64,
    /// The cost of the runs of today and yesterday, for the limit of a day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spent: Vec<Spent>,
    /// The comment that asked for this review although there was one: it gets no third.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<u64>,
    /// The findings of the review, and those that were open when it looked. Manifests list them, too, but can be edited
    /// on the page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Listed>,
    /// The threads that were fixed when the review looked, or that it found fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<u64>,
    /// Findings of the review that could not be posted.
    #[serde(rename = "owed", default, skip_serializing_if = "Vec::is_empty")]
    pub undelivered: Vec<Undelivered>,
    /// Ids of undelivered findings of earlier records that are posted now, or need not be posted any more.
    #[serde(rename = "settled", default, skip_serializing_if = "Vec::is_empty")]
    pub delivered: Vec<String>,
    /// The priorities that a model gave to the open conversations of people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversations: Vec<WeighedConversation>,
    /// The reviewers that the review called to the pull request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalations: Vec<String>,
    /// The report of a fix of this head, written before its commit is pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Value>,
    /// The conclusion of the review, and the branch that it was made against. Empty where it did not conclude, or was
    /// an older version's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub verdict: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base_ref: String,
}

/// A person's word that what was not done need not be done, for one head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    pub by: String,
    /// The comment that said so.
    pub comment: u64,
}

/// A conversation of people, as a model weighed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeighedConversation {
    /// Its first comment.
    pub root: u64,
    /// A hash of what was said in it then.
    pub words: String,
    /// P0 to P3.
    pub priority: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl Record {
    /// True if it proves that every pass looked at this change under these rules, or that somebody accepted it without.
    #[must_use]
    pub(crate) fn covers(&self, base: &CommitSha, head: &CommitSha, rules: &str) -> bool {
        self.is_about(base, head, rules) && (self.is_finished() || self.accepted.is_some())
    }

    /// True if it is about this change under these rules. The merge base is part of the change: the same head against
    /// another branch is another diff.
    #[must_use]
    pub(crate) fn is_about(&self, base: &CommitSha, head: &CommitSha, rules: &str) -> bool {
        self.head == head.as_str() && self.merge_base == base.as_str() && self.rules == rules
    }

    /// True if every pass looked at the change.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.passes.iter().copied().eq(1..=PASSES.total())
    }

    /// True if a review of a later head can go on from it: what nobody can show is judged anew with each head, and what
    /// there was no room for was never seen.
    #[must_use]
    pub(crate) fn can_be_continued(&self) -> bool {
        let seen = self
            .unshown
            .map_or(self.left_out.is_empty(), |unshown| unshown == 0);
        self.is_finished() && seen
    }

    /// True if a verdict can rest on it: the review was finished, nothing had to be shown, or somebody accepted it
    /// without.
    #[must_use]
    pub fn stands_by_itself(&self) -> bool {
        self.is_finished() || self.accepted.is_some() || self.ended.is_none()
    }

    /// The number of files that were not seen, unless somebody accepted that.
    #[must_use]
    pub fn unexcused(&self) -> usize {
        match self.accepted {
            Some(_) => 0,
            None => self.left_out.len(),
        }
    }

    /// The missing steps, in a few words each.
    #[must_use]
    pub fn undone(&self) -> Vec<String> {
        let files = match self.left_out.len() {
            0 => None,
            1 => Some("1 file not read".to_owned()),
            n => Some(format!("{n} files not read")),
        };
        let passes = self.ended.as_ref().map(|why| {
            let reviewers = self.unfinished_reviewers();
            reviewers.unwrap_or_else(|| self.unfinished(PASSES, why))
        });
        files.into_iter().chain(passes).collect()
    }

    /// The reviewers of a panel that did not finish, as a sentence without its period; `None` if there are none.
    #[must_use]
    pub fn unfinished_reviewers(&self) -> Option<String> {
        match self.unfinished_reviewers.as_slice() {
            [] => None,
            [one] => Some(format!("reviewer {one} did not finish")),
            more => Some(format!("reviewers {} did not finish", more.join(", "))),
        }
    }

    /// The passes of a table that were not finished, or, if all were, why the review ended.
    fn unfinished(&self, passes: Passes, why: &str) -> String {
        let total = passes.total();
        let missing = (1..=total).filter(|pass| !self.passes.contains(pass));
        let missing: Vec<String> = missing.map(|pass| pass.to_string()).collect();
        match missing.as_slice() {
            [] => why.to_owned(),
            [one] => format!("pass {one} of {total} not finished"),
            more => format!("passes {} of {total} not finished", more.join(", ")),
        }
    }

    /// True if the review looked at the change after everything that is fixed now was fixed. One from before proves
    /// nothing about a fix that was taken back: the change is then the same as it was, and its finding closed.
    #[must_use]
    pub(crate) fn knows_of_fixes(&self, threads: &[Thread]) -> bool {
        fixed(threads).all(|thread| self.fixed.contains(&thread.0))
    }

    /// True if the review concluded success.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        matches!(self.verdict.as_str(), "clean" | "findings")
    }

    /// Keeps these findings as undelivered, and does not list them as posted.
    pub(crate) fn set_undelivered(&mut self, undelivered: Vec<Undelivered>) {
        let is_undelivered = |listed: &Listed| undelivered.iter().any(|one| one.id == listed.id);
        self.findings.retain(|listed| !is_undelivered(listed));
        self.undelivered = undelivered;
    }

    /// The findings that the review has made and that nobody could read on the pull request any more: gone, or with a
    /// lower score than it gave.
    pub fn missing<'a>(
        &'a self,
        threads: &'a [Thread],
    ) -> impl Iterator<Item = (FindingId, Score)> + 'a {
        let listed = self.findings.iter().filter_map(|listed| {
            let id: FindingId = listed.id.parse().ok()?;
            Some((id, Score::new(listed.score.into())?))
        });
        listed.filter(|(id, score)| {
            let is_there = |thread: &Thread| {
                thread.finding_id.as_ref() == Some(id) && thread.assessment.score >= *score
            };
            !threads.iter().any(is_there)
        })
    }
}

/// The threads that the code has fixed.
pub fn fixed(threads: &[Thread]) -> impl Iterator<Item = CommentId> + '_ {
    let fixed = |thread: &&Thread| thread.resolution == Some(Resolution::Fixed);
    threads.iter().filter(fixed).map(|thread| thread.id)
}

/// The name of the line in the check run's text.
const LINE: &str = "record";

/// The record as a hidden line of the check run's text.
#[must_use]
pub fn render(record: &Record, pr: &PrKey, keys: &Keys) -> String {
    let record = serde_json::to_value(record).unwrap_or_default();
    signed_line::render(LINE, &record, pr, keys)
}

/// The record of a check run's text, if it is one that the reviewer signed. Without keys none is trusted: the cost
/// of another review is smaller than that of a green check nobody earned.
#[must_use]
pub fn read(text: &str, pr: &PrKey, keys: &Keys) -> Option<Record> {
    let record = signed_line::read(LINE, text, pr, keys)?;
    serde_json::from_value(record).ok()
}

/// The record in the manifest of a review, where no check run could carry it.
#[must_use]
pub fn from_manifest(body: &str, pr: &PrKey, keys: &Keys) -> Option<Record> {
    let hidden = signed_manifest(body, pr, keys)?;
    serde_json::from_value(hidden.record?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::SecretString;

    fn keys(secret: &str) -> Keys {
        Keys::derive(&[SecretString::from(secret)], None, "acme/shop")
    }

    fn pr() -> PrKey {
        PrKey {
            repo: "acme/shop".parse().unwrap(),
            number: 1,
        }
    }

    fn record() -> Record {
        Record {
            head: "a".repeat(40),
            merge_base: "b".repeat(40),
            rules: "r".into(),
            passes: vec![1, 2, 3, 4],
            left_out: vec!["a-->b".into()],
            unshown: None,
            ended: None,
            unfinished_reviewers: vec![],
            unsent: 0,
            accepted: None,
            tokens: 12,
            cost_usd: 0.125,
            spent: vec![],
            asked: None,
            findings: vec![],
            fixed: vec![],
            undelivered: vec![],
            delivered: vec![],
            conversations: vec![],
            escalations: Vec::new(),
            fix: None,
            verdict: String::new(),
            base_ref: String::new(),
        }
    }

    #[test]
    fn only_our_own_record_is_believed() {
        let text = format!("Summary.\n\n{}\n", render(&record(), &pr(), &keys("k")));
        assert_eq!(read(&text, &pr(), &keys("k")), Some(record()));
        assert_eq!(read(&text, &pr(), &keys("other")), None);
        let tampered = text.replace("\"passes\":[1,2,3,4]", "\"passes\":[1]");
        assert_eq!(read(&tampered, &pr(), &keys("k")), None);
        let unsigned = render(&record(), &pr(), &Keys::default());
        assert_eq!(read(&unsigned, &pr(), &Keys::default()), None);
    }

    #[test]
    fn a_record_from_before_days_were_counted_is_read() {
        let old = serde_json::to_value(record()).unwrap();
        for key in [
            "spent",
            "asked",
            "findings",
            "fixed",
            "owed",
            "settled",
            "unshown",
            "ended",
            "unsent",
            "accepted",
            "verdict",
            "base_ref",
            "unfinished_reviewers",
        ] {
            assert!(old.get(key).is_none(), "{key}");
        }
        assert_eq!(serde_json::from_value::<Record>(old).unwrap(), record());
    }

    #[test]
    fn nobody_lowers_what_was_spent() {
        let spent = Spent {
            run: "0123456789abcdef".into(),
            day: crate::state::spending::Day::from_time(std::time::UNIX_EPOCH),
            cost_usd: 19.5,
            tokens: 7,
        };
        let record = Record {
            spent: vec![spent],
            ..record()
        };
        let text = render(&record, &pr(), &keys("k"));
        assert_eq!(read(&text, &pr(), &keys("k")), Some(record));
        let lowered = text.replace("19.5", "0.5");
        assert_ne!(lowered, text);
        assert_eq!(read(&lowered, &pr(), &keys("k")), None);
    }

    #[test]
    fn a_record_covers_its_head_under_its_rules_only() {
        let [head, base]: [CommitSha; 2] = ["a", "b"].map(|c| c.repeat(40).parse().unwrap());
        assert!(record().covers(&base, &head, "r"));
        assert!(!record().covers(&base, &head, "other"));
        assert!(!record().covers(&head, &head, "r"), "retargeted");
        let three = Record {
            passes: vec![1, 2, 3],
            ..record()
        };
        assert!(!three.covers(&base, &head, "r"));
        let accepted = Record {
            accepted: Some(Accepted {
                by: "ann".into(),
                comment: 7,
            }),
            ..three
        };
        assert!(accepted.covers(&base, &head, "r"));
        assert!(
            !accepted.covers(&base, &base, "r"),
            "of another head it says nothing"
        );
    }

    #[test]
    fn what_was_not_done_is_told_in_a_few_words() {
        let undone = |left_out: &[&str], passes: &[u8], ended: Option<&str>| {
            let record = Record {
                left_out: left_out.iter().map(|&one| one.to_owned()).collect(),
                passes: passes.to_vec(),
                ended: ended.map(str::to_owned),
                ..record()
            };
            record.undone().join("; ")
        };
        assert_eq!(undone(&[], &[1, 2, 3, 4], None), "");
        assert_eq!(undone(&["a"], &[], None), "1 file not read");
        let budget = Some("max_tokens of 9 was reached");
        assert_eq!(
            undone(&["a", "b"], &[1, 2], budget),
            "2 files not read; passes 3, 4 of 4 not finished"
        );
        assert_eq!(undone(&[], &[1, 2, 3], budget), "pass 4 of 4 not finished");
    }

    #[test]
    fn reviewers_that_did_not_finish_are_told_by_name() {
        let undone = |reviewers: &[&str]| {
            let record = Record {
                left_out: vec!["a".into()],
                passes: vec![1],
                ended: Some("Why.".into()),
                unfinished_reviewers: reviewers.iter().map(|&one| one.to_owned()).collect(),
                ..record()
            };
            record.undone().join("; ")
        };
        assert_eq!(
            undone(&["security"]),
            "1 file not read; reviewer security did not finish"
        );
        assert_eq!(
            undone(&["quality", "security"]),
            "1 file not read; reviewers quality, security did not finish"
        );
    }

    #[test]
    fn the_passes_that_were_not_finished_follow_from_the_table() {
        let five = |passes: &[u8]| {
            let record = Record {
                passes: passes.to_vec(),
                ..record()
            };
            record.unfinished(crate::domain::passes::FIVE, "cancelled")
        };
        assert_eq!(five(&[1, 2, 3, 4]), "pass 5 of 5 not finished");
        assert_eq!(five(&[1, 3]), "passes 2, 4, 5 of 5 not finished");
        assert_eq!(five(&[1, 2, 3, 4, 5]), "cancelled");
    }

    #[test]
    fn a_review_goes_on_from_one_that_saw_everything_that_can_be_shown() {
        let of = |left_out: usize, unshown| Record {
            left_out: vec!["x.bin (binary)".into(); left_out],
            unshown,
            ..record()
        };
        assert!(of(0, None).can_be_continued() && of(2, Some(0)).can_be_continued());
        assert!(
            !of(1, None).can_be_continued(),
            "an older record does not tell"
        );
        assert!(!of(2, Some(1)).can_be_continued());
    }
}
