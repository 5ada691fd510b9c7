//! Answers to people who address the reviewer: to questions, commands and requests that are refused; and the log's lines about those
//! that got no answer.

use super::{MAX_BODY, Voice, cut};
use crate::domain::{CommentId, CommitSha, Tally, Verdict};
use crate::plan::agenda::NotAccepted;
use crate::state::block::{Hidden, Kind};
use reviewer_text::count::plural;
use reviewer_text::sanitize::clean;
use reviewer_text::sentence::code;
use serde_json::Value;

impl Voice<'_> {
    /// Tells the person who asked why a dismissal was refused.
    #[must_use]
    pub fn not_dismissed(&self, why: &NotDismissed) -> String {
        let mention = self.mention;
        match why {
            NotDismissed::NoThread => format!(
                "Nothing was dismissed: this names no open finding of the reviewer. Write `{mention} dismiss` in the \
                 finding's thread, or `{mention} dismiss <link to the finding's comment>` here."
            ),
            NotDismissed::NoRight => {
                "Nothing was dismissed: this finding blocks, so somebody with write access to the \
                 repository dismisses it or resolves its conversation."
                    .into()
            }
            NotDismissed::ForOthers(people) => format!(
                "Nothing was dismissed: this finding was escalated, and the author does not decide it. One of these \
                 does: {}.",
                people
                    .iter()
                    .map(|name| code(name))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            NotDismissed::Unsigned => {
                "Nothing was dismissed: the reviewer has no key to sign it with, so it would not \
                 be believed in the next run. Resolve the conversation instead."
                    .into()
            }
        }
    }

    /// The reply to a person who addressed the reviewer, in a thread or below the description. With a number among the
    /// reviewer's replies, the thread waits for the reviewer no longer; it decides nothing there.
    #[must_use]
    pub fn answer(&self, to: CommentId, root: Option<CommentId>, seq: u32, text: &str) -> String {
        let hidden = Hidden {
            seq,
            answers: Some(to.0),
            head: Some(self.head.to_string()),
            ..Hidden::new(Kind::Answer)
        };
        let hidden = self.sign(hidden, root, &Value::Null);
        let text = clean(text.trim());
        format!(
            "{}\n\n{hidden}",
            cut(&text, MAX_BODY.saturating_sub(hidden.len()))
        )
    }

    /// The state of a head that was reviewed before, in one line.
    #[must_use]
    pub fn state(&self, verdict: Verdict, tally: &Tally, mention: &str) -> String {
        let open = plural(tally.open, "finding");
        let state = match verdict {
            Verdict::Clean => "nothing is open".into(),
            Verdict::Findings => format!("{open} open, none of them blocking"),
            Verdict::Blocking => format!("{open} open, {} of them blocking", tally.blocking),
            Verdict::Incomplete | Verdict::Skipped | Verdict::Error => {
                format!("the review is incomplete, {open} open")
            }
        };
        format!(
            "`{}` is reviewed already: {state}. `{mention} review full` reviews it again.",
            self.head.short()
        )
    }
}

/// The reason why a request to dismiss was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotDismissed {
    NoThread,
    NoRight,
    /// These decide.
    ForOthers(Vec<String>),
    Unsigned,
}

/// Lists the commands that the reviewer understands; `fixes`: those about fixing, too.
#[must_use]
pub fn help(mention: &str, fixes: bool) -> String {
    let fixing = if fixes {
        "- `fix`: fixes the open findings in one commit, or in the thread of a finding that one; for people with write access.\n\
         - `fix stop`, `fix resume`: ends fixing on this pull request, and lets it go on.\n"
    } else {
        ""
    };
    format!(
        "Begin a line with `{mention}` and:\n\n\
         - `review`: reviews the current head, drafts too; if that was done already, says what is open.\n\
         - `review full`: reviews it again.\n\
         - `accept`: turns an incomplete check green, for people with write access; it closes no finding, and the next push \
         undoes it.\n\
         - `dismiss`, in the thread of a finding: closes it, if you may. In the conversation: `dismiss <link to the \
         finding's comment>`.\n\
         {fixing}- `help`: shows this.\n\
         - anything else is a question, answered here from the code."
    )
}

/// The result of a run that listed the commands.
pub const HELPED: &str = "Somebody asked for help and got the list of commands.";

/// The reply to `accept` where nothing is accepted.
#[must_use]
pub fn not_accepted(why: &NotAccepted, head: &CommitSha) -> String {
    let head = head.short();
    match why {
        NotAccepted::NoWriteAccess(login) => format!(
            "`{login}` has no write access to this repository. Only people with write access can accept what was not done."
        ),
        NotAccepted::NothingReviewed => format!(
            "There is no review of `{head}` to accept yet. Wait until the check is concluded, or ask for a review."
        ),
        NotAccepted::NothingToAccept => format!(
            "The review of `{head}` is complete, so there is nothing to accept. Findings are closed in their own threads."
        ),
        NotAccepted::ConcludedSince => format!(
            "The check of `{head}` was concluded after this comment was written. Look at its page, and accept it again."
        ),
        NotAccepted::FindingsToPost => format!(
            "The review of `{head}` has findings or replies that are not posted yet. Run it again to post them, then accept."
        ),
    }
}

/// Says why a question got no answer; for the log, as nothing is posted then.
#[must_use]
pub fn unanswered(comment: CommentId, why: &str) -> String {
    format!("The question in comment {comment} was not answered: {why}")
}

/// Says why a request got no reply; for the log.
#[must_use]
pub fn untold(why: &str) -> String {
    format!("The state of the review could not be told to the person who asked: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::comment::tests::with_voice;

    #[test]
    fn the_state_is_one_line_with_the_counts() {
        let state = |verdict, open, blocking| {
            with_voice(|voice| voice.state(verdict, &Tally { open, blocking }, "@bot"))
        };
        assert_eq!(
            state(Verdict::Findings, 2, 0),
            "`b0d63d1` is reviewed already: 2 findings open, none of them blocking. `@bot review full` reviews it again."
        );
        assert!(state(Verdict::Clean, 0, 0).contains("already: nothing is open."));
        assert!(state(Verdict::Blocking, 2, 1).contains("2 findings open, 1 of them blocking."));
        assert!(
            state(Verdict::Incomplete, 1, 0).contains("the review is incomplete, 1 finding open.")
        );
    }

    #[test]
    fn what_the_reviewer_says_itself_asks_nothing_of_it() {
        let help = help("@bot", true);
        let state = with_voice(|voice| voice.state(Verdict::Clean, &Tally::default(), "@bot"));
        assert!(!crate::event::mentions(&help, "@bot"), "{help}");
        assert!(!crate::event::mentions(&state, "@bot"), "{state}");
    }
}
