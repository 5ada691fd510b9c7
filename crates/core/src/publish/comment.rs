//! Every sentence that a person reads on a pull request, and the blocks below it. All words are here, so that
//! the voice of the product is one file to read.

pub mod analysis;
pub mod fallback;
mod finding;
pub mod fixing;
pub mod gate;
mod issues;
pub mod judgement;
pub mod memory;
mod resolved;
mod review;
pub mod service;
mod statement;
mod support;

pub(crate) use finding::{dot, weight, without_repeat};
pub use issues::issues_not_read;
pub use review::Figures;
pub use statement::Stated;

use crate::context::coverage::{self, Excuse};
use crate::context::since::Since;
use crate::domain::{
    CommentId, CommitSha, Finding, PASSES, Passes, PrKey, Score, Status, Tally, Thread, Verdict,
};
use crate::plan::agenda::NotAccepted;
use crate::plan::neighbours::Neighbour;
use crate::plan::queue::{Member, Obstacle};
use crate::review::desk::{Effect, Fix, StagedReply};
use crate::state::backlog::Dropped;
use crate::state::block::{self, Conversation, Hidden, Kind, Unanchored};
use crate::state::rebuild::{ESCALATED_MARKER, RESOLVED_MARKER};
use crate::state::record::Record;
use crate::state::signature::{Keys, Signed};
use reviewer_text::count::plural;
use reviewer_text::hidden::visible;
use reviewer_text::sanitize::{begins_with_words, clean};
use reviewer_text::sentence::code;
use serde_json::Value;
use std::fmt::Write as _;

/// GitHub refuses bodies above 65,536 characters.
const MAX_BODY: usize = 60_000;

/// The circumstances that comments are written in: the pull request, the commit, the run and the keys.
#[derive(Debug, Clone, Copy)]
pub struct Voice<'a> {
    pub pr: &'a PrKey,
    pub keys: &'a Keys,
    pub head: &'a CommitSha,
    pub run: &'a str,
    /// True if the pull request comes from a fork, where a reply by itself starts nothing.
    pub fork: bool,
    /// The name that the reviewer answers to, with its `@`.
    pub mention: &'a str,
    /// Scores from here on block; `None`: none does.
    pub blocking: Option<Score>,
    /// The pull request's page; empty where GitHub named none.
    pub page: &'a str,
    /// True in rounds, whose comments all carry the marker.
    pub rounds: bool,
}

impl Voice<'_> {
    /// The body of a draft, by which the reviewer's drafts are told from a person's.
    #[must_use]
    pub fn draft() -> String {
        "A draft of a review; it is submitted or deleted at once.\n\n<!-- rmcoc:draft -->".into()
    }

    /// A reply in a thread that is on the pull request.
    #[must_use]
    pub fn reply(&self, reply: &StagedReply, conversation: Conversation) -> String {
        let thread: &Thread = &reply.thread;
        let kind = match reply.effect {
            Effect::Keep => Kind::Keep,
            Effect::Answer | Effect::SeemsFixed { .. } => Kind::Answer,
            Effect::GiveUp => Kind::Concede,
            Effect::Concede
            | Effect::Fixed { .. }
            | Effect::DevelopersWord
            | Effect::Dismissed { .. } => Kind::Resolve,
            Effect::Escalate { .. } => Kind::Escalate,
            Effect::Reopen => Kind::Reopen,
        };
        let answers = match &reply.effect {
            Effect::Dismissed { comment, .. } => Some(*comment),
            _ => thread.replies.last().map(|reply| reply.id),
        };
        let hidden = Hidden {
            id: thread.finding_id.as_ref().map(ToString::to_string),
            seq: thread.seq.saturating_add(1),
            answers: answers.map(|comment| comment.0),
            head: Some(self.head.to_string()),
            conversation: (kind == Kind::Resolve).then_some(conversation),
            fixed: match &reply.effect {
                Effect::Fixed { file, .. } => Some(file.clone()),
                _ => None,
            },
            seems: match &reply.effect {
                Effect::SeemsFixed { fix, .. } => Some(fix.key()),
                _ => None,
            },
            dismissed: match &reply.effect {
                Effect::Dismissed { by, .. } => Some(by.to_string()),
                _ => None,
            },
            ..Hidden::new(kind)
        };
        let hidden = self.sign(hidden, Some(thread.id), &Value::Null);
        format!(
            "{}\n\n{hidden}",
            cut(&self.said(reply), MAX_BODY.saturating_sub(hidden.len()))
        )
    }

    /// The words of a reply.
    fn said(&self, reply: &StagedReply) -> String {
        let (thread, body) = (&reply.thread, &reply.body);
        match &reply.effect {
            Effect::Keep | Effect::Answer => clean(body),
            Effect::SeemsFixed { fix, objection, .. } => {
                let mut text = behind(&seems_fixed(fix), body);
                if let Some(objection) = objection {
                    let lead = "A second look at the code alone does not confirm it:";
                    let _ = write!(text, "\n\n{}", behind(lead, objection));
                } else {
                    text.push_str("\n\nNo second look at the code has confirmed it.");
                }
                format!("{text}\n\n{}", self.how_to_close(closer(thread), thread))
            }
            Effect::GiveUp => format!(
                "{}\n\nThe reviewer no longer insists on this finding. {}",
                clean(body),
                self.how_to_close(closer(thread), thread)
            ),
            Effect::Dismissed { by, .. } => format!(
                "{RESOLVED_MARKER}\n\n{} dismissed this finding.",
                code(by.as_str())
            ),
            Effect::Concede => format!("{RESOLVED_MARKER}\n\n{}", clean(body)),
            Effect::Reopen => behind("The problem is back.", body),
            Effect::DevelopersWord => {
                let lead = format!(
                    "{RESOLVED_MARKER}\n\nThe reviewer does not agree, and nobody else reviews this pull request: the \
                     developer's word stands."
                );
                behind(&lead, body)
            }
            Effect::Escalate { people } => {
                let lead = format!("{ESCALATED_MARKER}\n\n{}", call(people));
                let who = if people.is_empty() {
                    SOMEBODY
                } else {
                    "One of them"
                };
                let text = behind(&lead, body);
                format!("{text}\n\n{}", self.how_to_close(who, thread))
            }
            Effect::Fixed { file, commit } => {
                let commit = commit
                    .as_deref()
                    .map(|c| format!(" ({c})"))
                    .unwrap_or_default();
                let file = code(&visible(file));
                behind(
                    &format!("{RESOLVED_MARKER}\n\nFixed in {file}{commit}."),
                    body,
                )
            }
        }
    }

    /// Says who closes a thread that the reviewer leaves open, and by which means.
    fn how_to_close(&self, who: &str, thread: &Thread) -> String {
        let mention = self.mention;
        let dismiss = if self.fork {
            let link = format!("{mention} dismiss {}", thread.url);
            format!("{} in the pull request's conversation", code(&link))
        } else {
            format!("{} here", code(&format!("{mention} dismiss")))
        };
        format!("{who} closes this thread by resolving the conversation, or with {dismiss}.")
    }

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

    fn sign(&self, mut hidden: Hidden, root: Option<CommentId>, visible: &Value) -> String {
        let value = serde_json::to_value(&hidden).unwrap_or(Value::Null);
        let content = Signed {
            pr: self.pr,
            root,
            visible,
            hidden: &value,
        };
        (hidden.kid, hidden.sig) = self.keys.sign(&content).unzip();
        let block = block::render_hidden(&hidden);
        if self.rounds {
            return format!("{}\n\n{block}", fixing::MARKER);
        }
        block
    }
}

const SOMEBODY: &str = "Somebody with write access";

/// Names the person who closes a thread that the reviewer leaves open.
fn closer(thread: &Thread) -> &'static str {
    match thread.status {
        Status::Escalated => "Whoever decides it",
        _ => SOMEBODY,
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

/// Names the line that seems to fix a finding.
fn seems_fixed(fix: &Fix) -> String {
    const MAX_LINE: usize = 200;
    let file = visible(&fix.file);
    match &fix.line {
        Some((number, text)) => {
            let shown: String = visible(text.trim()).chars().take(MAX_LINE).collect();
            let place = code(&format!("{file}:{number}"));
            format!("This line seems to fix it, {place}: {}", code(&shown))
        }
        None => format!("The code is not there any more in {}.", code(&file)),
    }
}

/// A finding that the text of a review holds, for the runs that must not say it again.
fn unanchored(finding: &Finding) -> Unanchored {
    Unanchored {
        id: finding.id.to_string(),
        file: finding.file.clone(),
        line: finding.line(),
        finding: finding.assessment.finding.clone(),
    }
}

/// Calls the people who decide, once. Where nobody may be called, the maintainers find it by themselves.
fn call(people: &[String]) -> String {
    if people.is_empty() {
        return "A maintainer decides whether this holds.".into();
    }
    let names: Vec<String> = people.iter().map(|name| format!("@{name}")).collect();
    format!("{}: please decide whether this holds.", names.join(", "))
}

/// The model's text behind the reviewer's words, or below them where it begins with anything but words: in the middle of a
/// line a fence or a quote is no longer what it was cleaned as.
fn behind(lead: &str, text: &str) -> String {
    let text = clean(text);
    let gap = if begins_with_words(&text) {
        " "
    } else {
        "\n\n"
    };
    format!("{lead}{gap}{text}")
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

/// GitHub could not be asked which anchors it takes.
#[must_use]
pub fn anchors_unknown(error: &dyn std::fmt::Display) -> String {
    format!(
        "GitHub refused an anchor, and which one is not known; the findings are in the review's text ({error})."
    )
}

/// The head moved while the review was under way.
#[must_use]
pub fn left_behind(finding: &Finding, now: &CommitSha) -> String {
    format!(
        "Not posted at {}, because the head moved to {} meanwhile: {} The next run looks at it again.",
        finding.place(),
        now.short(),
        finding.assessment.finding
    )
}

/// Says that only the changes since an earlier head were reviewed.
#[must_use]
pub fn only_what_is_new(since: &Since) -> String {
    let (new, known) = since.counts();
    let others = match known {
        1 => "1 other was reviewed before and is the same".to_owned(),
        known => format!("{known} others were reviewed before and are the same"),
    };
    format!(
        "Only changes since {} were reviewed, in {}; {others}.",
        since.head.short(),
        plural(new, "file"),
    )
}

/// Says why a finding of an earlier run is not posted any more.
#[must_use]
pub fn dropped(finding: &Finding, why: &Dropped) -> String {
    let text = &finding.assessment.finding;
    match why {
        Dropped::CodeChanged => format!(
            "Not posted by an earlier run, and not now, as its code at {} has changed since: {text}",
            finding.place(),
        ),
        Dropped::SaidIn(thread) => format!(
            "Not posted by an earlier run, and not now, as thread {} says it: {text}",
            thread.id
        ),
    }
}

/// Two runs on one head take turns.
#[must_use]
pub fn waiting_for(check: u64) -> String {
    format!("Another run reviews this head (check run {check}); waiting for it.")
}

#[must_use]
pub fn waited_in_vain(check: u64) -> String {
    format!(
        "Another run (check run {check}) still reviews this head; run this job again when it has ended."
    )
}

/// A run judges so many threads, and no more.
#[must_use]
pub fn left_for_later(threads: usize) -> String {
    let threads = plural(threads, "more open thread");
    format!("The next run judges {threads}: one run does not judge them all.")
}

/// The model was wrong about blocking issues when it submitted a pass. `place` is the pass, as in "3 of 4".
#[must_use]
pub fn corrected_claim(place: &str, claimed: bool) -> String {
    let (said, recorded) = if claimed {
        ("there are blocking issues", "no recorded finding is")
    } else {
        ("there are no blocking issues", "a recorded finding is")
    };
    format!(
        "Pass {place} was submitted with the claim that {said}, but {recorded} scored 9 or 10. The claim was corrected; \
         the recorded findings count."
    )
}

/// The recheck before posting found that another run has said it while this one was under way.
#[must_use]
pub fn said_before_recheck(thread: &Thread) -> String {
    format!("said in thread {} while this run was under way", thread.id)
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

/// The title of a check for a change of which nothing has to be shown to the model.
#[must_use]
pub fn nothing_to_review(excused: impl IntoIterator<Item = Excuse>) -> String {
    format!("Nothing to review: {}", coverage::counted(excused))
}

/// The same for a working tree, of which some files may be of a kind that nobody can show.
#[must_use]
pub fn nothing_to_show(excused: impl IntoIterator<Item = Excuse>, unreadable: &[String]) -> String {
    match unreadable {
        [] => format!("{}.", nothing_to_review(excused)),
        files => format!(
            "Nothing that can be shown has changed, and these files need a look: {}.",
            files.join(", ")
        ),
    }
}

/// The title of a check that a person turned green.
#[must_use]
pub fn accepted(by: &str, undone: &[String]) -> String {
    format!("Accepted by {by}: {}", undone.join("; "))
}

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

/// The reason of a verdict that rests on an earlier review.
#[must_use]
pub fn reviewed_before() -> &'static str {
    "This change was reviewed before; the verdict follows from its threads as they are now."
}

#[must_use]
pub fn not_shown(file: &str) -> String {
    format!("Not shown to the model: {file}.")
}

/// The warning where the pull request has reviews, and no record of what they cost.
#[must_use]
pub fn half_counts_as_spent() -> &'static str {
    "The pull request has reviews of this reviewer, but no record of what they cost can be read; half of the day's \
     limits counts as spent. Keep an old key as a second state_key to have its records read."
}

/// A run that was to ask a model has no sidecar; only a mistake in the reviewer leads here.
pub const NO_SIDECAR: &str =
    "The model was to be asked, but OpenCode was not started; please report this.";

/// The result of a run that listed the commands.
pub const HELPED: &str = "Somebody asked for help and got the list of commands.";

/// The check run's title: the verdict in a few words.
#[must_use]
pub fn check_title(verdict: Verdict, tally: &Tally) -> String {
    match verdict {
        Verdict::Clean => "Nothing to report".into(),
        Verdict::Findings => format!("{} open", plural(tally.open, "finding")),
        Verdict::Blocking => format!("{} open", plural(tally.blocking, "blocking finding")),
        Verdict::Incomplete => "The review is incomplete".into(),
        Verdict::Skipped => "Skipped".into(),
        Verdict::Error => "The review failed".into(),
    }
}

/// The title of a check that another pull request of the same head keeps from being green.
#[must_use]
pub fn check_held_back(by: &[u64]) -> String {
    format!("Held back by {}", numbers(by))
}

/// Says why such a check is not green: GitHub shows one check of a name for a commit, whichever pull request it is
/// about.
#[must_use]
pub fn held_back(other: &Neighbour) -> String {
    let verdict = other.record.as_ref().map_or("", |one| one.verdict.as_str());
    format!(
        "Pull request #{} into {} has the same head, and its review concluded {verdict}. Both share this check, so it is \
         green when neither is blocked: settle #{0}, or close it.",
        other.number, other.base_ref
    )
}

/// Another pull request of the same head, that nobody has reviewed.
#[must_use]
pub fn shares_head(other: &Neighbour) -> String {
    format!(
        "Pull request #{} into {} has the same head and shares this check; its diff is not reviewed yet.",
        other.number, other.base_ref
    )
}

/// The other pull requests of the head are not known.
#[must_use]
pub fn head_unknown(error: &dyn std::fmt::Display) -> String {
    format!(
        "Whether other pull requests share this head and its check is not known ({error}); the job needs \
         `pull-requests: read` and `checks: read`."
    )
}

/// GitHub did not answer which other pull requests share the head.
#[must_use]
pub fn head_failed(error: &dyn std::fmt::Display) -> String {
    format!(
        "Whether other pull requests share this head and its check could not be looked up ({error}); run this job again."
    )
}

/// Somebody else's check has the name of the reviewer's.
#[must_use]
pub fn another_check(apps: &[String]) -> String {
    format!(
        "Another check called \"OpenCode review\" is on this head and is not the reviewer's, or was signed with a key that this \
         run does not have ({}). GitHub lets the newest check of a name decide: rename the job that makes it, or require the \
         check from an app of your own as its expected source.",
        apps.join(", ")
    )
}

/// The title of a check that was computed anew from the record of a review, which counts no findings.
#[must_use]
pub fn check_title_of(record: &Record) -> String {
    match record.verdict.as_str() {
        "clean" => check_title(Verdict::Clean, &Tally::default()),
        "findings" => "Findings open".into(),
        "blocking" => "Blocking findings open".into(),
        _ => check_title(Verdict::Incomplete, &Tally::default()),
    }
}

/// The page of such a check.
#[must_use]
pub fn computed_anew(number: u64, record: &Record, cause: u64) -> String {
    format!(
        "The review of pull request #{number} concluded {}. This check was computed anew because of pull request #{cause}, \
         which has or had the same head; no model was asked.",
        record.verdict
    )
}

/// Says whose checks were computed anew when a pull request was closed.
#[must_use]
pub fn closed(others: &[u64]) -> String {
    if others.is_empty() {
        return "The pull request is closed, and no other open pull request with a review has its head.".into();
    }
    let others = numbers(others);
    format!(
        "The pull request is closed; the check of {others}, with the same head, was computed anew."
    )
}

/// The title of a merge group's check.
#[must_use]
pub fn queue_title(members: &[u64], lacking: usize) -> String {
    match (members, lacking) {
        ([], _) => "The merge group could not be judged".into(),
        ([one], 0) => format!("#{one} is reviewed"),
        (all, 0) => format!(
            "All {} pull requests of the group are reviewed: {}",
            all.len(),
            numbers(all)
        ),
        (all, lacking) => format!(
            "{lacking} of {} keep the group from being merged",
            plural(all.len(), "pull request")
        ),
    }
}

/// The advice for a group that must not be merged.
#[must_use]
pub fn queue_advice() -> &'static str {
    "Take the pull requests that are named here out of the queue, let them be reviewed, and queue them again."
}

/// Says why a pull request of the group must not be merged.
#[must_use]
pub fn queue_obstacle(member: &Member, obstacle: &Obstacle) -> String {
    let (number, head) = (member.number, member.head.short());
    match obstacle {
        Obstacle::Unreviewed => {
            format!("#{number} has no finished review of {head} that this run can verify.")
        }
        Obstacle::Concluded(verdict) => {
            format!("The review of #{number} concluded {verdict} on {head}.")
        }
        Obstacle::OtherBase { reviewed, wanted } => {
            let (reviewed, wanted) = (code(reviewed), code(wanted));
            format!("#{number} was reviewed against {reviewed}, not {wanted}.")
        }
    }
}

/// Nobody can tell what a group is made of.
#[must_use]
pub fn queue_unreadable() -> &'static str {
    "The pull requests of the merge group could not be read: the queue does not list its commit, and its branch does not \
     name the one pull request on top of the base."
}

/// Records are believed by their signature only.
#[must_use]
pub fn queue_without_key() -> &'static str {
    "There is no key to verify reviews with: give the job the same `state_key` as the one that reviews, or the same \
     `opencode_api_key`."
}

fn numbers(numbers: &[u64]) -> String {
    let names: Vec<String> = numbers.iter().map(|number| format!("#{number}")).collect();
    names.join(", ")
}

/// Title and summary of a check whose review is under way.
#[must_use]
pub fn check_in_progress() -> (&'static str, String) {
    ("Review in progress", listed(PASSES))
}

/// Counts the passes and lists their topics.
fn listed(passes: Passes) -> String {
    const WORDS: [&str; 9] = [
        "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine",
    ];
    let total = usize::from(passes.total());
    let count = WORDS.get(total.wrapping_sub(1));
    let count = count.map_or_else(|| total.to_string(), |word| (*word).to_owned());
    let noun = if total == 1 { "pass" } else { "passes" };
    let topics: Vec<&str> = passes.all().map(|pass| pass.row.topic).collect();
    format!("{count} {noun}: {}.", topics.join(", "))
}

/// Says what a token without `contents: write` cannot do, and the price of that permission.
#[must_use]
pub fn conversations_stay_open() -> String {
    "Conversations of resolved threads stay open on GitHub, because this token may not resolve them. `contents: write` \
     would allow it, at the price of a token that may also push; everything else works without."
        .into()
}

/// Title and summary of a check whose run was ended by a signal.
#[must_use]
pub fn check_cancelled() -> (&'static str, &'static str) {
    (
        "Cancelled",
        "The run was cancelled before the review was complete; the next run reviews this head.",
    )
}

/// Title and summary of a check that its run has left in progress.
#[must_use]
pub fn check_abandoned() -> (&'static str, &'static str) {
    (
        "Abandoned",
        "The run that opened this check has ended without concluding it; a later one has taken its place.",
    )
}

/// Says what a run without a key to sign with cannot do. A gate needs one.
#[must_use]
pub fn unsigned(has_gate: bool) -> &'static str {
    if has_gate {
        "The gate is not signed, because there is neither a state_key nor a model key of at least 20 characters; \
         set state_key to a secret of at least 20 random characters. Until then every run reviews anew, blocking \
         findings are closed by people only, no pull request holds back another one of the same head, no merge group \
         passes, and max_per_day does not hold."
    } else {
        "Comments are not signed, because there is neither a state_key nor a model key of at least 20 characters: \
         every run reviews anew, and max_per_day does not hold."
    }
}

fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mark = "\n\n[truncated]";
    let end = text.floor_char_boundary(most.saturating_sub(mark.len() + 8));
    clean(&format!("{}{mark}", &text[..end]))
}

/// The sentence about reviewers of a panel that did not finish, each with the reason.
#[must_use]
pub fn unfinished_reviewers<'a>(ends: impl Iterator<Item = (&'a str, String)>) -> String {
    let each = ends.map(|(name, why)| format!("The reviewer {name} did not finish. {why}"));
    each.collect::<Vec<_>>().join(" ")
}

/// A changed file in the list of what was not reviewed, with the section that shows it.
#[must_use]
pub fn unreviewed(path: &str, section: usize, of: usize) -> String {
    format!("{path} (section {section} of {of} was not reviewed to the end)")
}

/// The sentences about sections of a large change that were not reviewed to the end, each with the reason; without a number, about
/// the consolidation of all. Neighbours with the same reason share a sentence.
#[must_use]
pub fn unfinished_sections(
    of: usize,
    ends: impl Iterator<Item = (Option<usize>, String)>,
) -> String {
    let mut groups: Vec<(Option<(usize, usize)>, String)> = Vec::new();
    for (number, why) in ends {
        match (number, groups.last_mut()) {
            (Some(number), Some((Some((_, last)), same)))
                if *same == why && *last + 1 == number =>
            {
                *last = number;
            }
            _ => groups.push((number.map(|number| (number, number)), why)),
        }
    }
    let sentence = |(numbers, why): (Option<(usize, usize)>, String)| {
        let what = match numbers {
            None => "The consolidation of all sections was not finished.".to_owned(),
            Some((first, last)) if first == last => {
                format!("Section {first} of {of} was not reviewed to the end.")
            }
            Some((first, last)) => {
                format!("Sections {first} to {last} of {of} were not reviewed to the end.")
            }
        };
        format!("{what} {why}").trim_end().to_owned()
    };
    let sentences: Vec<String> = groups.into_iter().map(sentence).collect();
    sentences.join(" ")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::domain::{Anchor, Assessment, Category, PassNumber, Side, fixture};
    use crate::review::ledger::Stage;
    use secrecy::SecretString;

    pub fn finding(body: &str) -> Finding {
        Finding {
            id: "f1".parse().unwrap(),
            file: "src/page.ts".into(),
            anchor: Anchor::Line {
                side: Side::Right,
                start: None,
                line: 8,
            },
            anchor_hash: "689c49197975c92d".into(),
            body: body.into(),
            assessment: Assessment {
                finding: "The last page is lost.".into(),
                assessment: "Level 7: it happens whenever the count is no multiple of the size."
                    .into(),
                score: Score::new(7).unwrap(),
            },
            category: Some(Category::Logic),
            pass: PassNumber::FIRST,
            reviewer: "reviewer-1".into(),
            support: crate::domain::Support::default(),
        }
    }

    #[test]
    fn the_check_lists_the_passes_of_the_table() {
        assert_eq!(
            check_in_progress().1,
            "Four passes: the diff, the structure around it, security and rules, consolidation."
        );
        assert!(
            listed(crate::domain::passes::FIVE).starts_with("Five passes: the diff, the tests, ")
        );
    }

    #[test]
    fn sections_that_ended_for_one_reason_share_a_sentence() {
        let ends = [
            (Some(2), "It ended."),
            (Some(4), "No money."),
            (Some(5), "No money."),
            (None, "No money."),
        ];
        let ends = ends.map(|(number, why)| (number, why.to_owned()));
        assert_eq!(
            unfinished_sections(5, ends.into_iter()),
            "Section 2 of 5 was not reviewed to the end. It ended. Sections 4 to 5 of 5 were not reviewed to the end. \
             No money. The consolidation of all sections was not finished. No money."
        );
    }

    pub fn with_voice<T>(speak: impl FnOnce(&Voice<'_>) -> T) -> T {
        let pr = PrKey {
            repo: "octo/shop".parse().unwrap(),
            number: 1,
        };
        let keys = Keys::derive(&[SecretString::from("k")], None, "octo/shop");
        let head = "b0d63d1e3554f51be51c63421a254d61288447e6".parse().unwrap();
        speak(&Voice {
            rounds: false,
            pr: &pr,
            keys: &keys,
            head: &head,
            run: "4711.1",
            fork: false,
            mention: "@bot",
            blocking: Score::new(9),
            page: "https://github.com/octo/shop/pull/1",
        })
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a list of cases")]
    fn a_reply_begins_with_what_it_decides_and_holds_it_for_machines() {
        let said = |effect| {
            let reply = StagedReply {
                thread: fixture::thread(),
                effect,
                body: "It rounds up now.".into(),
                stage: Stage::TurnZero,
            };
            let body = with_voice(|voice| voice.reply(&reply, Conversation::Resolved));
            let hidden = block::parse(&body).hidden.unwrap();
            let (text, _) = body.split_once("\n\n<!-- rmcoc:1").unwrap();
            (hidden.kind, hidden.conversation, text.to_owned())
        };
        let resolved = Some(Conversation::Resolved);
        let people = || vec!["ann".to_owned(), "org/team".to_owned()];
        let fixed = |commit: Option<&str>| Effect::Fixed {
            file: "src/page.ts".into(),
            commit: commit.map(str::to_owned),
        };
        for (effect, kind, conversation, text) in [
            (Effect::Keep, Kind::Keep, None, "It rounds up now."),
            (Effect::Answer, Kind::Answer, None, "It rounds up now."),
            (
                Effect::Concede,
                Kind::Resolve,
                resolved,
                "✅ **Issue Resolved**\n\nIt rounds up now.",
            ),
            (
                fixed(None),
                Kind::Resolve,
                resolved,
                "✅ **Issue Resolved**\n\nFixed in `src/page.ts`. It rounds up now.",
            ),
            (
                fixed(Some("b0d63d1")),
                Kind::Resolve,
                resolved,
                "✅ **Issue Resolved**\n\nFixed in `src/page.ts` (b0d63d1). It rounds up now.",
            ),
            (
                Effect::Reopen,
                Kind::Reopen,
                None,
                "The problem is back. It rounds up now.",
            ),
        ] {
            let expected = (kind, conversation, text.to_owned());
            assert_eq!(said(effect.clone()), expected, "{effect:?}");
        }
        let (kind, conversation, text) = said(Effect::DevelopersWord);
        assert_eq!((kind, conversation), (Kind::Resolve, resolved));
        assert!(
            text.contains("developer's word stands. It rounds"),
            "{text}"
        );
        let (kind, conversation, text) = said(Effect::Escalate { people: people() });
        assert_eq!((kind, conversation), (Kind::Escalate, None));
        assert!(
            text.starts_with("🔺 **Escalated to Human Review**"),
            "{text}"
        );
        assert!(
            people().iter().all(|one| text.contains(&format!("@{one}"))),
            "{text}"
        );
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a list of cases")]
    fn a_thread_that_stays_open_says_who_closes_it_and_how() {
        let said = |effect, fork| {
            let reply = StagedReply {
                thread: Thread {
                    url: "https://github.com/octo/shop/pull/1#discussion_r55".into(),
                    ..fixture::thread()
                },
                effect,
                body: "It rounds up now.".into(),
                stage: Stage::TurnZero,
            };
            let voice =
                |voice: &Voice<'_>| Voice { fork, ..*voice }.reply(&reply, Conversation::LeftOpen);
            let body = with_voice(voice);
            let kind = block::parse(&body).hidden.unwrap().kind;
            assert!(!crate::event::mentions(&body, "@bot"), "{body}");
            let (text, _) = body.split_once("\n\n<!-- rmcoc:1").unwrap();
            (kind, text.to_owned())
        };
        let seems = |objection: Option<&str>| Effect::SeemsFixed {
            fix: Fix {
                file: "src/page.ts".into(),
                line: Some((8, "  return up(`a`);".into())),
            },
            commit: None,
            objection: objection.map(str::to_owned),
        };
        let close = "Somebody with write access closes this thread by resolving the conversation, or with `@bot dismiss` \
                     here.";
        let lead =
            "This line seems to fix it, `src/page.ts:8`: `` return up(`a`); `` It rounds up now.";
        assert_eq!(
            said(seems(None), false),
            (
                Kind::Answer,
                format!("{lead}\n\nNo second look at the code has confirmed it.\n\n{close}")
            )
        );
        let (_, refuted) = said(seems(Some("It is not called.")), false);
        assert!(
            refuted.contains("alone does not confirm it: It is not called.\n\n"),
            "{refuted}"
        );
        let (kind, text) = said(Effect::GiveUp, true);
        assert_eq!(kind, Kind::Concede);
        assert!(
            text.ends_with(
                "or with `@bot dismiss https://github.com/octo/shop/pull/1#discussion_r55` in the pull request's \
                 conversation."
            ),
            "{text}"
        );
        let dismissed = Effect::Dismissed {
            by: crate::domain::Login::new("lead"),
            comment: CommentId(7),
        };
        let (kind, text) = said(dismissed, false);
        assert_eq!(
            (kind, &*text),
            (
                Kind::Resolve,
                "✅ **Issue Resolved**\n\n`lead` dismissed this finding."
            )
        );
    }

    #[test]
    fn in_rounds_every_comment_has_the_marker_and_is_still_read() {
        for rounds in [true, false] {
            let body = with_voice(|voice| {
                let voice = Voice { rounds, ..*voice };
                voice.finding(&finding("It counts from one."))
            });
            let marks = body.matches(fixing::MARKER).count();
            assert_eq!(marks, usize::from(rounds), "{body}");
            let block = block::parse(&body);
            assert!(block.hidden.is_some() && block.visible.is_some(), "{body}");
        }
    }

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
