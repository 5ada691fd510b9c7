//! The desk's second half: words about what was said before. Replies, resolutions and withdrawals, with what
//! code allows the model to do whatever its judgement was.

use super::{Answer, Desk, Effect, Entry, Fate, Fix, MAX_BODY, StagedReply, fix_evidence};
use crate::authority::{Action, Person, judge};
use crate::domain::{
    Awaiting, CommentId, Finding, Reply, Resolution, Status, Thread, ThreadId, Trust,
};
use crate::review::ledger::Stage;

/// More than this in one run is a runaway model, or one that was talked into clearing the table.
const MAX_REPLIES: usize = 100;
const MAX_RESOLUTIONS: usize = 50;
/// So many fixes are checked in a run; the others stay as they are.
const MAX_FIX_CHECKS: usize = 10;

/// The kind of a reply, as the model says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    Concession,
    /// The person only asked.
    Answer,
    Argument,
}

/// The model's claim that a finding is fixed, and the place of the fix.
#[derive(Debug, Clone)]
pub struct Claim {
    pub file: String,
    pub commit: Option<String>,
    /// The added line that stops what the finding describes.
    pub quote: Option<String>,
}

impl Desk {
    /// A reply: an amendment of what is staged, or a word in a discussion.
    pub fn reply(&mut self, thread: ThreadId, body: &str, word: Word) -> Answer {
        let stage = self.current_stage()?;
        let body = body.trim();
        if body.is_empty() || body.len() > MAX_BODY {
            return Err(format!("body must have 1 to {MAX_BODY} characters."));
        }
        match (thread, word) {
            (ThreadId::Provisional(_), Word::Concession) => self.withdraw(thread, body),
            (ThreadId::Provisional(_), _) => self.amend(thread, body),
            (ThreadId::Published(_) | ThreadId::Decided(_), _) => {
                let found = self.published(thread)?.clone();
                let effect = self.effect(&found, word)?;
                self.stage(found, effect, body, stage)
            }
        }
    }

    /// Returns the effect of a reply: the model judges the argument, this decides what the judgement may do.
    fn effect(&self, thread: &Thread, word: Word) -> Result<Effect, String> {
        if word == Word::Concession {
            return self.concession(thread);
        }
        if thread.awaiting != Awaiting::Us {
            return Err(format!(
                "Nobody whose word counts has written in thread {} since your last word; there is nothing to \
                 answer. Leave it.",
                thread.id
            ));
        }
        Ok(match (word, thread.status) {
            (Word::Argument, Status::Pending) => Effect::Keep,
            // It was argued once. A second argument convinces nobody; somebody else decides.
            (Word::Argument, Status::Disputed) => self.undecided(thread),
            _ => Effect::Answer,
        })
    }

    /// Of a finding that blocks, only a person closes the thread: prose can be misread.
    fn concession(&self, thread: &Thread) -> Result<Effect, String> {
        self.needs_counted_reply(thread)?;
        Ok(if self.weights.blocks(thread.assessment.score) {
            Effect::GiveUp
        } else {
            Effect::Concede
        })
    }

    fn undecided(&self, thread: &Thread) -> Effect {
        let people = &self.subject.human_reviewers;
        let blocks = self.weights.blocks(thread.assessment.score);
        let reviewed = !people.is_empty();
        let replies = &thread.replies;
        if any_may(replies, Action::HaveLastWord { blocks, reviewed }) {
            return Effect::DevelopersWord;
        }
        let is_called = any_may(replies, Action::GetConcession { blocks });
        Effect::Escalate {
            people: people.iter().filter(|_| is_called).cloned().collect(),
        }
    }

    /// Closes a thread: withdraws what is staged, or resolves what is fixed or explained.
    pub fn resolve(&mut self, thread: ThreadId, reason: &str, fixed_by: Option<Claim>) -> Answer {
        let stage = self.current_stage()?;
        let reason = reason.trim();
        if reason.is_empty() || reason.len() > MAX_BODY {
            return Err(format!("reason must have 1 to {MAX_BODY} characters."));
        }
        if let ThreadId::Provisional(_) = thread {
            return self.withdraw(thread, reason);
        }
        let found = self.published(thread)?.clone();
        let effect = match fixed_by {
            Some(claim) => self.fixed(&found, claim)?,
            None => self.concession(&found)?,
        };
        self.stage(found, effect, reason, stage)
    }

    /// The thread, if it was resolved as fixed and the code it was anchored to is there again.
    pub(super) fn is_back(&self, id: ThreadId) -> Option<&Thread> {
        let threads = self.subject.threads.iter();
        let mut same = threads.filter(|thread| ThreadId::Published(thread.id) == id);
        same.find(|thread| thread.resolution == Some(Resolution::Fixed))
    }

    pub(super) fn reopen(&mut self, thread: Thread, finding: &Finding) -> Answer {
        let stage = Stage::Pass(finding.pass);
        self.stage(thread, Effect::Reopen, &finding.body, stage)
    }

    fn withdraw(&mut self, thread: ThreadId, reason: &str) -> Answer {
        self.check_joint(thread)?;
        let entry = self.live(thread)?;
        entry.fate = Fate::Withdrawn(reason.to_owned());
        Ok(format!("{thread} is withdrawn."))
    }

    fn amend(&mut self, thread: ThreadId, body: &str) -> Answer {
        let entry = self.live(thread)?;
        if entry.finding.body.len() + body.len() > MAX_BODY {
            return Err(format!(
                "With this, {thread} would be too long. Nothing was added."
            ));
        }
        entry.finding.body.push_str("\n\n");
        entry.finding.body.push_str(body);
        Ok(format!("Added to {thread}."))
    }

    fn stage(&mut self, thread: Thread, effect: Effect, body: &str, stage: Stage) -> Answer {
        let id = thread.id;
        if self.replies.iter().any(|reply| reply.thread.id == id) {
            return Err(format!(
                "A reply to thread {id} is already recorded in this run; one is enough."
            ));
        }
        self.within_limits(&effect)?;
        self.replies.push(StagedReply {
            thread,
            effect,
            body: body.to_owned(),
            stage,
        });
        Ok(format!("Recorded for thread {id}."))
    }

    fn within_limits(&self, effect: &Effect) -> Result<(), String> {
        let closed = self.replies.iter().filter(|reply| reply.effect.closes());
        let too_many = effect.closes() && closed.count() >= MAX_RESOLUTIONS;
        if self.replies.len() < MAX_REPLIES && !too_many {
            return Ok(());
        }
        Err(format!(
            "This run takes {MAX_REPLIES} replies, of which {MAX_RESOLUTIONS} may close a thread, and that limit is \
             reached. Leave the rest for the next run."
        ))
    }

    /// Returns the effect of "fixed": it closes the thread, or, of a finding that blocks, waits for a check by somebody
    /// who knows nothing of the discussion.
    fn fixed(&self, thread: &Thread, claim: Claim) -> Result<Effect, String> {
        let Claim { file, commit, .. } = claim;
        let file = self.repository_path(&file);
        self.check_fixed(thread, &file)?;
        if !self.weights.blocks(thread.assessment.score) {
            return Ok(Effect::Fixed { file, commit });
        }
        let fix = self.shown_fix(thread, &file, claim.quote.as_deref())?;
        if thread.seems_fixed == Some(fix.key()) && thread.unanswered().is_empty() {
            return Err(format!(
                "Your last reply in thread {} says so already, and a person closes it. Leave it.",
                thread.id
            ));
        }
        Ok(Effect::SeemsFixed {
            fix,
            commit,
            objection: None,
        })
    }

    /// The line that fixes a finding which blocks, as the code shows it.
    fn shown_fix(&self, thread: &Thread, file: &str, quote: Option<&str>) -> Result<Fix, String> {
        let id = thread.id;
        let since = thread
            .head
            .as_ref()
            .and_then(|head| self.subject.changed_since.get(head));
        let Some(since) = since.filter(|_| thread.trust != Trust::Tampered) else {
            return Err(format!(
                "What has changed since thread {id} was opened is not known, so a person closes it. Leave it open."
            ));
        };
        let removed = self.subject.removed_lines.get(&id);
        let removed = removed.map(Vec::as_slice).unwrap_or_default();
        let quote = quote.filter(|quote| !quote.trim().is_empty());
        let named = quote.and_then(|quote| fix_evidence::quoted(file, quote, since));
        let shown = named.or_else(|| fix_evidence::at_the_lines(thread, since, removed));
        shown.ok_or_else(|| match quote {
            Some(_) => format!(
                "fixed_by.quote is no line of code that was added to {file} since thread {id} was opened. Quote one \
                 whole added line, without its number, or leave the thread open."
            ),
            None => format!(
                "The code that thread {id} hangs on is as it was. If another line fixes it, call again with \
                 fixed_by.file and fixed_by.quote: one whole line of code, added since, that stops what the finding \
                 describes. Otherwise leave the thread open."
            ),
        })
    }

    /// Opens the check of fixes. Returns each thread that waits for one, and where its fix seems to be.
    pub fn begin_fix_check(&mut self) -> Vec<(Thread, Fix)> {
        let waiting = self.replies.iter().filter_map(|reply| match &reply.effect {
            Effect::SeemsFixed { fix, .. } => Some((reply.thread.clone(), fix.clone())),
            _ => None,
        });
        let waiting: Vec<(Thread, Fix)> = waiting.take(MAX_FIX_CHECKS).collect();
        self.unchecked = waiting.iter().map(|(thread, _)| thread.id).collect();
        if !waiting.is_empty() {
            self.ledger.begin_fix_check();
        }
        waiting
    }

    /// The check's word on a fix. One that is confirmed closes its thread.
    pub fn check_fix(&mut self, thread: ThreadId, is_fixed: bool, reason: &str) -> Answer {
        if self.ledger.current() != Some(Stage::FixCheck) {
            return Err("No fix is checked now; this tool is not for this task.".into());
        }
        let reason = reason.trim();
        if reason.is_empty() || reason.len() > MAX_BODY {
            return Err(format!("reason must have 1 to {MAX_BODY} characters."));
        }
        let is_it = |id: CommentId| ThreadId::Published(id) == thread;
        let Some(at) = self.unchecked.iter().position(|id| is_it(*id)) else {
            return Err(format!(
                "Thread {thread} waits for no check, or was checked already."
            ));
        };
        self.unchecked.remove(at);
        let mut replies = self.replies.iter_mut();
        if let Some(StagedReply { effect, .. }) = replies.find(|reply| is_it(reply.thread.id))
            && let Effect::SeemsFixed {
                fix,
                commit,
                objection,
            } = effect
        {
            if is_fixed {
                *effect = Effect::Fixed {
                    file: fix.file.clone(),
                    commit: commit.take(),
                };
            } else {
                *objection = Some(reason.to_owned());
            }
        }
        Ok(format!("Recorded for thread {thread}."))
    }

    /// "Fixed" needs the head to have changed since the finding, and the named file to be part of that.
    fn check_fixed(&self, thread: &Thread, file: &str) -> Result<(), String> {
        let id = thread.id;
        if thread.head.as_ref() == Some(&self.subject.head) {
            return Err(format!(
                "Nothing was pushed since thread {id} was opened, so it cannot be fixed. Leave it open."
            ));
        }
        let since = thread
            .head
            .as_ref()
            .and_then(|head| self.subject.changed_since.get(head));
        let changed = match since {
            Some(diffs) => diffs
                .iter()
                .any(|diff| diff.path == file || diff.previous_path.as_deref() == Some(file)),
            None => self.subject.diffs.iter().any(|diff| diff.path == file),
        };
        if changed {
            return Ok(());
        }
        Err(format!(
            "fixed_by.file {file} has not changed since thread {id} was opened, so it cannot hold the fix. Name \
             the changed file that fixes it, or leave the thread open."
        ))
    }

    fn needs_counted_reply(&self, thread: &Thread) -> Result<(), String> {
        let blocks = self.weights.blocks(thread.assessment.score);
        let action = Action::GetConcession { blocks };
        let is_explained = match thread.status {
            // Somebody who may decide what was escalated has replied.
            Status::Escalated => thread.awaiting == Awaiting::Us,
            _ if blocks => any_may(thread.unanswered(), action),
            _ => any_may(&thread.replies, action),
        };
        if is_explained {
            return Ok(());
        }
        Err(format!(
            "Nobody whose word counts has explained thread {}. If the code fixes it, give fixed_by with the \
             changed file; otherwise leave it open.",
            thread.id
        ))
    }

    fn published(&self, id: ThreadId) -> Result<&Thread, String> {
        let comment = match id {
            ThreadId::Published(comment) => comment,
            ThreadId::Provisional(_) => {
                return Err(format!("{id} is not on the pull request yet."));
            }
            ThreadId::Decided(_) => {
                return Err(format!("{id} is of another pull request. Leave it."));
            }
        };
        let found = self
            .subject
            .threads
            .iter()
            .find(|thread| thread.id == comment);
        let thread = found.ok_or_else(|| {
            format!(
                "Thread {id} is not one of yours on this pull request. github_get_run_state lists yours; \
                 others are not to be touched."
            )
        })?;
        if thread.status == Status::Resolved {
            return Err(format!("Thread {id} is already resolved. Leave it."));
        }
        Ok(thread)
    }

    fn live(&mut self, id: ThreadId) -> Result<&mut Entry, String> {
        let unknown = format!("{id} is not a finding of this run that still stands.");
        let index = self.position(id).ok_or(unknown.clone())?;
        let entry = &mut self.entries[index];
        if entry.is_live() {
            Ok(entry)
        } else {
            Err(unknown)
        }
    }
}

/// Returns true if one of those who replied may do something that is the same to a writer, author or not.
fn any_may(replies: &[Reply], action: Action) -> bool {
    let mut people = replies
        .iter()
        .map(|reply| Person::from_standing(reply.standing, false));
    people.any(|person| judge(person, action).is_ok())
}
