//! The turn that checks fixes, between turn 0 and the questions. It has a session of its own, which has seen nothing of
//! the discussion; the review goes on in the session that it had.

use super::{End, GivenUp, Outcome, PassLog, Progress, Second, Tasks};
use anyhow::Result;
use reviewer_agent::opencode::Conversation;
use reviewer_agent::tools::hidden_in_fix_check;
use reviewer_core::context::brief::{FixToCheck, Task};
use reviewer_core::domain::FileDiff;
use reviewer_core::review::limits::Used;
use reviewer_text::count::plural;

impl<'a> Tasks<'a> {
    /// Lets each fix of a finding that blocks be checked. What is not confirmed stays open, so a check that fails costs
    /// nothing else.
    pub(super) async fn check_fixes(&mut self, outcome: &mut Outcome) -> Result<()> {
        let fixes = self.fixes_to_check();
        if fixes.is_empty() {
            return Ok(());
        }
        self.begin_group("Check of fixes");
        let (before, began) = (self.used_for_checks(), self.prompter.clock.instant());
        let mut progress = Progress::new("check of fixes".into(), began).of_reviewer(self.name);
        let checked = match self.second {
            Some(second) => self.checked_by(second, &fixes, &mut progress).await?,
            None => self.checked_beside(&fixes, &mut progress).await?,
        };
        self.desk.with(|desk| desk.ledger.close());
        self.prompter.tell(&progress);
        self.end_group();
        outcome.used = self.prompter.used();
        let used = self.used_for_checks();
        outcome.passes.push(PassLog {
            reviewer: None,
            section: None,
            number: 0,
            title: "Check of fixes",
            summary: checked
                .is_ok()
                .then(|| format!("{} checked.", plural(fixes.len(), "finding"))),
            tool_calls: progress.tool_calls(),
            tokens: used.since(&before),
            cost_usd: used.cost_since(&before),
            took: self.prompter.clock.instant() - began,
        });
        if let Err(GivenUp::Refused(why)) = checked {
            // Without the check a fix is not confirmed; what was judged before is published.
            if !self.has_results(outcome) {
                outcome.end = End::Refused(why);
            }
        }
        Ok(())
    }

    /// The usage of whoever checks fixes.
    fn used_for_checks(&self) -> Used {
        let second = self.second.map(|second| second.session.usage.used());
        second.unwrap_or_else(|| self.prompter.used())
    }

    /// In a conversation of the reviewer's own that knows nothing of the discussion.
    async fn checked_beside(
        &mut self,
        fixes: &[FixToCheck],
        progress: &mut Progress,
    ) -> Result<Result<(), GivenUp>> {
        let hidden = hidden_in_fix_check(self.session);
        let check = match self.prompter.conversation.beside(hidden).await {
            Ok(check) => check,
            Err(error) => return Ok(Err(GivenUp::Failed(error.to_string()))),
        };
        self.check_in(check, fixes, progress).await
    }

    /// By a second reviewer, with its model and on its account.
    async fn checked_by(
        &mut self,
        second: Second<'a>,
        fixes: &[FixToCheck],
        progress: &mut Progress,
    ) -> Result<Result<(), GivenUp>> {
        let session = second.session;
        let route = match &session.route {
            Ok(route) => route,
            Err(why) => return Ok(Err(GivenUp::Failed(why.clone()))),
        };
        let hidden = hidden_in_fix_check(session.name);
        let opened = session.converse_without(second.sidecar, second.title, hidden);
        let check = match opened.await {
            Ok(check) => check,
            Err(why) => return Ok(Err(GivenUp::Failed(why))),
        };
        let own = (self.prompter.route, self.prompter.session, self.brief);
        (self.prompter.route, self.prompter.session, self.brief) = (route, session, second.brief);
        let checked = self.check_in(check, fixes, progress).await;
        (self.prompter.route, self.prompter.session, self.brief) = own;
        checked
    }

    async fn check_in(
        &mut self,
        check: Conversation,
        fixes: &[FixToCheck],
        progress: &mut Progress,
    ) -> Result<Result<(), GivenUp>> {
        self.prompter.state.tasks += 1;
        let review = std::mem::replace(self.prompter.conversation, check);
        let checked = self.carry_out(Task::Fixes(fixes), progress).await;
        *self.prompter.conversation = review;
        Ok(checked?.map(|_| ()))
    }

    fn fixes_to_check(&self) -> Vec<FixToCheck> {
        let fixes = self.desk.with(|desk| {
            let waiting = desk.begin_fix_check().into_iter();
            let since = &desk.subject().changed_since;
            let fixes = waiting.map(|(thread, fix)| {
                let since = thread.head.as_ref().and_then(|head| since.get(head));
                let concerned = |diff: &&FileDiff| {
                    let names = [Some(&diff.path), diff.previous_path.as_ref()];
                    names.contains(&Some(&thread.file)) || names.contains(&Some(&fix.file))
                };
                let diffs = since.into_iter().flatten().filter(concerned);
                let excerpt = self.to_judge.iter().find(|one| one.thread == thread.id);
                FixToCheck {
                    then: excerpt.and_then(|one| one.then.clone()),
                    now: excerpt.and_then(|one| one.now.clone()),
                    diffs: diffs.cloned().collect(),
                    thread,
                    fix,
                }
            });
            fixes.collect()
        });
        fixes.unwrap_or_default()
    }
}
