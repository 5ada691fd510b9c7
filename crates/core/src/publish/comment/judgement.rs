//! The words of a judgement under `review_event: decide`: reviews that approve or request changes, the messages of dismissals,
//! and what is said where GitHub refuses one of them.

use super::{MAX_BODY, Stated, Voice, cut};
use crate::domain::{CommitSha, ReviewEvent, Tally, Verdict};
use crate::state::block::{Hidden, Kind};
use reviewer_text::count::plural;
use reviewer_text::sanitize::clean;
use reviewer_text::sentence::code;
use serde_json::Value;

/// The event that was decided for a review, and GitHub's reason if it refused it. A refused one is a comment.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    pub event: ReviewEvent,
    pub refused: Option<&'a str>,
    /// True if the review takes the place of an approval that could not be dismissed.
    pub replaces_approval: bool,
    /// The merge base of the diff that is approved.
    pub merge_base: Option<&'a CommitSha>,
    /// The decision that the review states, of a reviewer with a name of its own.
    pub stated: Option<Stated<'a>>,
}

impl Judged<'_> {
    /// A review that only comments.
    pub const COMMENT: Self = Self::new(ReviewEvent::Comment);

    #[must_use]
    pub const fn new(event: ReviewEvent) -> Self {
        Self {
            event,
            refused: None,
            replaces_approval: false,
            merge_base: None,
            stated: None,
        }
    }

    /// The event to send.
    #[must_use]
    pub fn sent(&self) -> ReviewEvent {
        match self.refused {
            Some(_) => ReviewEvent::Comment,
            None => self.event,
        }
    }

    /// The name in the block; a review that only comments needs none.
    pub(super) fn name(&self) -> Option<String> {
        (self.event != ReviewEvent::Comment).then(|| self.event.name().to_owned())
    }

    /// The sentence about the event, below the review's title.
    pub(super) fn words(&self) -> Option<String> {
        match (self.event, self.refused) {
            (ReviewEvent::Comment, _) | (ReviewEvent::Approve, None) => None,
            (ReviewEvent::Approve, Some(why)) => Some(format!(
                "The reviewer would approve this change. GitHub did not take the approval: {}",
                clean(why)
            )),
            (ReviewEvent::RequestChanges, Some(why)) => Some(format!(
                "The reviewer would request changes. GitHub did not take the request: {}",
                clean(why)
            )),
            (ReviewEvent::RequestChanges, None) if self.replaces_approval => {
                Some(format!("{REPLACES} {HOW_IT_ENDS}"))
            }
            (ReviewEvent::RequestChanges, None) => Some(HOW_IT_ENDS.into()),
        }
    }
}

const HOW_IT_ENDS: &str = "The reviewer dismisses this request for changes as soon as nothing blocks. Where GitHub does not let \
                           it, somebody with write access can dismiss it.";
const REPLACES: &str = "An earlier approval by the reviewer does not hold for this commit, and GitHub did not let it be \
                        dismissed: this review takes its place.";

impl Voice<'_> {
    /// The body of a review that has no findings of its own.
    #[must_use]
    pub fn judgement(&self, judged: &Judged<'_>, tally: &Tally, record: Option<Value>) -> String {
        let hidden = Hidden {
            run: Some(self.run.to_owned()),
            head: Some(self.head.to_string()),
            event: judged.name(),
            merge_base: judged.merge_base.map(ToString::to_string),
            record,
            ..Hidden::new(Kind::Manifest)
        };
        let manifest = self.manifest(hidden, judged.stated);
        let title = match judged.event {
            ReviewEvent::Approve if judged.refused.is_none() => "Approved",
            ReviewEvent::RequestChanges if judged.refused.is_none() => "Changes requested",
            _ if tally.open == 0 => "Nothing to report",
            _ => "Findings are open",
        };
        let state = match (tally.open, tally.blocking) {
            (0, _) if judged.replaces_approval => String::new(),
            (0, _) => format!(
                "{} was reviewed, and no finding is open. A model wrote this review.\n\n",
                code(self.head.short())
            ),
            (open, 0) => format!("{} open.\n\n", are(open)),
            (open, blocking) => format!(
                "{} open, and {blocking} of them {}.\n\n",
                are(open),
                block(blocking)
            ),
        };
        let stated = judged.stated.map(|stated| stated.words());
        let words = stated.into_iter().chain(judged.words());
        let words: Vec<String> = words.map(|words| format!("{words}\n\n")).collect();
        let words = words.concat();
        let help = code(&format!("{} help", self.mention));
        let end = format!(
            "<sub>{} · {help}</sub>\n\n{manifest}",
            code(self.head.short())
        );
        let text = format!("### {title}\n\n{state}{words}");
        let room = MAX_BODY.saturating_sub(end.len());
        format!("{}\n\n{end}", cut(text.trim_end(), room))
    }
}

fn are(open: usize) -> String {
    let are = if open == 1 { "is" } else { "are" };
    format!("{} {are}", plural(open, "finding"))
}

fn block(count: usize) -> &'static str {
    if count == 1 { "blocks" } else { "block" }
}

/// The message of dismissing a request for changes.
#[must_use]
pub fn nothing_blocks(head: &CommitSha) -> String {
    format!(
        "No finding of the reviewer blocks {} any more.",
        head.short()
    )
}

/// The message of dismissing an approval that does not hold for a head.
#[must_use]
pub fn no_longer_approved(head: &CommitSha) -> String {
    format!("This approval does not hold for {}.", head.short())
}

/// The reviewer's request for changes stays on the pull request although nothing blocks.
#[must_use]
pub fn request_stays(why: &str) -> String {
    format!(
        "The reviewer's request for changes stays, although nothing blocks, because GitHub did not let it be dismissed: {why} \
         Somebody with write access can dismiss it on the pull request's page."
    )
}

/// The reviewer's approval of an earlier state stays on the pull request.
#[must_use]
pub fn approval_stays(why: &str) -> String {
    format!(
        "An approval by the reviewer that does not hold for this head could not be dismissed: {why} Somebody with write access \
         can dismiss it on the pull request's page."
    )
}

/// Nobody knows if an approval of an earlier head stays on a pull request that is not reviewed now.
#[must_use]
pub fn approvals_unread(why: &str) -> String {
    format!("The reviewer's earlier approvals, if there are any, could not be read: {why}")
}

/// The judgement could not be posted.
#[must_use]
pub fn judgement_not_posted(event: ReviewEvent, why: &str) -> String {
    let what = match event {
        ReviewEvent::Approve => "approval",
        ReviewEvent::RequestChanges => "request for changes",
        ReviewEvent::Comment => "review",
    };
    format!("The {what} was not posted: {why}")
}

/// GitHub took a comment in place of the judgement.
#[must_use]
pub fn judgement_refused(event: ReviewEvent, why: &str) -> String {
    let what = match event {
        ReviewEvent::Approve => "approval",
        ReviewEvent::RequestChanges => "request for changes",
        ReviewEvent::Comment => "review",
    };
    format!("GitHub did not take the {what}, so the review is a comment: {why}")
}

/// The reason why a clean change is not approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotApproved<'a> {
    OwnPullRequest,
    /// Nothing of it was shown to the model, or a person accepted it.
    NotReviewed,
    HeadMoved(&'a CommitSha),
    /// The branch that the pull request is for now.
    BaseChanged(&'a str),
    /// Another pull request of the head holds the check back, or nobody could look.
    HeldBack,
    /// The address of a conversation that a person began or went on with while the model worked.
    Conversation(&'a str),
    Unknown(&'a str),
}

/// Says why a clean change is not approved.
#[must_use]
pub fn not_approved(why: &NotApproved<'_>) -> String {
    let why = match why {
        NotApproved::OwnPullRequest => "the reviewer's own account opened the pull request".into(),
        NotApproved::NotReviewed => "the model did not review it".into(),
        NotApproved::HeadMoved(now) => format!("the head is {} now", now.short()),
        NotApproved::BaseChanged(now) => {
            format!("the pull request is for {} now", code(now))
        }
        NotApproved::HeldBack => "another pull request of the same head may hold it back".into(),
        NotApproved::Conversation(url) => {
            format!("a person has written in an open conversation since: {url}")
        }
        NotApproved::Unknown(why) => format!("the pull request could not be read again: {why}"),
    };
    format!(
        "The change is not approved, because {}.",
        why.trim_end_matches('.')
    )
}

/// The reason why there is no consensus.
#[must_use]
pub(crate) fn no_consensus(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Incomplete => "the review is incomplete",
        _ => "there was no review",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::comment::tests::with_voice;
    use crate::state::block;

    fn body(judged: &Judged<'_>, open: usize, blocking: usize) -> String {
        with_voice(|voice| voice.judgement(judged, &Tally { open, blocking }, None))
    }

    fn text(judged: &Judged<'_>, open: usize, blocking: usize) -> String {
        let body = body(judged, open, blocking);
        body.split("\n\n<sub>").next().unwrap().to_owned()
    }

    #[test]
    fn an_approval_says_what_was_reviewed_and_by_whom() {
        let approval = Judged::new(ReviewEvent::Approve);
        let said = text(&approval, 0, 0);
        assert!(said.starts_with("### Approved\n\n`"), "{said}");
        assert!(
            said.ends_with("was reviewed, and no finding is open. A model wrote this review."),
            "{said}"
        );
        let hidden = block::parse(&body(&approval, 0, 0)).hidden.unwrap();
        assert_eq!(hidden.event.as_deref(), Some("approve"));
        assert_eq!((hidden.kind, hidden.findings.len()), (Kind::Manifest, 0));
    }

    #[test]
    fn a_request_for_changes_says_how_it_ends() {
        let said = text(&Judged::new(ReviewEvent::RequestChanges), 2, 1);
        assert_eq!(
            said,
            format!(
                "### Changes requested\n\n2 findings are open, and 1 of them blocks.\n\n{HOW_IT_ENDS}"
            )
        );
        let replacing = Judged {
            replaces_approval: true,
            ..Judged::new(ReviewEvent::RequestChanges)
        };
        let said = text(&replacing, 0, 0);
        assert_eq!(
            said,
            format!("### Changes requested\n\n{REPLACES} {HOW_IT_ENDS}")
        );
    }

    #[test]
    fn a_refused_approval_is_a_comment_with_githubs_reason_and_without_its_power() {
        let refused = Judged {
            refused: Some("not permitted, says @octocat."),
            ..Judged::new(ReviewEvent::Approve)
        };
        assert_eq!(refused.sent(), ReviewEvent::Comment);
        let said = text(&refused, 0, 0);
        assert!(said.starts_with("### Nothing to report\n\n"), "{said}");
        assert!(
            said.ends_with("GitHub did not take the approval: not permitted, says `@octocat`."),
            "{said}"
        );
    }
}
