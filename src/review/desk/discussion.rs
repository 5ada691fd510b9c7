//! The desk's second half: words about what was said before. Replies, resolutions and withdrawals, with what
//! code allows the model to do whatever its judgement was.

use super::{Answer, Desk, Effect, Entry, Fate, MAX_BODY, StagedReply};
use crate::domain::{Awaiting, PassNumber, Standing, Status, Thread, ThreadId};

impl Desk {
    /// A reply: an amendment of what is staged, or a word in a discussion.
    pub fn reply(&mut self, thread: ThreadId, body: &str, is_concession: bool) -> Answer {
        let pass = self.current_pass()?;
        let body = body.trim();
        if body.is_empty() || body.len() > MAX_BODY {
            return Err(format!("body must have 1 to {MAX_BODY} characters."));
        }
        match thread {
            ThreadId::Provisional(_) if is_concession => self.withdraw(thread, body),
            ThreadId::Provisional(_) => self.amend(thread, body),
            ThreadId::Published(_) => {
                let found = self.published(thread)?.clone();
                let effect = if is_concession {
                    needs_counted_reply(&found, self.weights.blocks(found.assessment.score))?;
                    Effect::Concede
                } else if found.awaiting == Awaiting::Us {
                    Effect::Keep
                } else {
                    return Err(format!(
                        "Nobody has written in thread {thread} since your last word; there is nothing to \
                         answer. Leave it."
                    ));
                };
                self.stage(found, effect, body, pass)
            }
        }
    }

    /// Closes a thread: withdraws what is staged, or resolves what is fixed or explained.
    pub fn resolve(
        &mut self,
        thread: ThreadId,
        reason: &str,
        fixed_by: Option<(String, Option<String>)>,
    ) -> Answer {
        let pass = self.current_pass()?;
        let reason = reason.trim();
        if reason.is_empty() || reason.len() > MAX_BODY {
            return Err(format!("reason must have 1 to {MAX_BODY} characters."));
        }
        if let ThreadId::Provisional(_) = thread {
            return self.withdraw(thread, reason);
        }
        let found = self.published(thread)?.clone();
        let effect = if let Some((file, commit)) = fixed_by {
            let file = self.repository_path(&file);
            self.check_fixed(&found, &file)?;
            Effect::Fixed { file, commit }
        } else {
            needs_counted_reply(&found, self.weights.blocks(found.assessment.score))?;
            Effect::Concede
        };
        self.stage(found, effect, reason, pass)
    }

    fn withdraw(&mut self, thread: ThreadId, reason: &str) -> Answer {
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

    fn stage(&mut self, thread: Thread, effect: Effect, body: &str, pass: PassNumber) -> Answer {
        let id = thread.id;
        if self.replies.iter().any(|reply| reply.thread.id == id) {
            return Err(format!(
                "A reply to thread {id} is already recorded in this run; one is enough."
            ));
        }
        self.replies.push(StagedReply {
            thread,
            effect,
            body: body.to_owned(),
            pass,
        });
        Ok(format!("Recorded for thread {id}."))
    }

    fn check_fixed(&self, thread: &Thread, file: &str) -> Result<(), String> {
        let id = thread.id;
        if thread.head.as_ref() == Some(&self.subject.head) {
            return Err(format!(
                "Nothing was pushed since thread {id} was opened, so it cannot be fixed. Leave it open."
            ));
        }
        if self.subject.diffs.iter().any(|diff| diff.path == file) {
            return Ok(());
        }
        Err(format!(
            "fixed_by.file {file} is not among the changed files, so it cannot hold the fix of thread {id}. \
             Name the changed file that fixes it, or leave the thread open."
        ))
    }

    fn published(&self, id: ThreadId) -> Result<&Thread, String> {
        let ThreadId::Published(comment) = id else {
            return Err(format!("{id} is not on the pull request yet."));
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

fn needs_counted_reply(thread: &Thread, blocks: bool) -> Result<(), String> {
    let counts = |standing: Standing| match standing {
        Standing::Writer => true,
        Standing::Author => !blocks,
        Standing::Other => false,
    };
    if thread.replies.iter().any(|reply| counts(reply.standing)) {
        return Ok(());
    }
    Err(format!(
        "Nobody whose word counts has explained thread {}. If the code fixes it, give fixed_by with the \
         changed file; otherwise leave it open.",
        thread.id
    ))
}
