//! The turn that checks fixes, between turn 0 and the questions. It has a session of its own, which has seen nothing of
//! the discussion; the review goes on in the session that it had.

use super::{End, GivenUp, Outcome, PassLog, Progress, Tasks};
use anyhow::Result;
use reviewer_agent::tools::hidden_in_fix_check;
use reviewer_core::context::brief::{FixToCheck, Task};
use reviewer_core::domain::FileDiff;
use reviewer_text::count::plural;

impl Tasks<'_> {
    /// Lets each fix of a finding that blocks be checked. What is not confirmed stays open, so a check that fails costs
    /// nothing else.
    pub(super) async fn check_fixes(&mut self, outcome: &mut Outcome) -> Result<()> {
        let fixes = self.fixes_to_check();
        if fixes.is_empty() {
            return Ok(());
        }
        self.begin_group("Check of fixes");
        let (before, began) = (outcome.used, self.clock.instant());
        let mut progress = Progress::new("check of fixes".into(), began).of_reviewer(self.name);
        let hidden = hidden_in_fix_check(self.session);
        let checked = match self.conversation.beside(hidden).await {
            Ok(check) => {
                self.state.tasks += 1;
                let review = std::mem::replace(self.conversation, check);
                let checked = self.carry_out(Task::Fixes(&fixes), &mut progress).await;
                *self.conversation = review;
                checked?
            }
            Err(error) => Err(GivenUp::Failed(error.to_string())),
        };
        self.desk.with(|desk| desk.ledger.close());
        self.tell(&progress);
        self.end_group();
        outcome.used = self.used();
        let used = &outcome.used;
        outcome.passes.push(PassLog {
            reviewer: None,
            number: 0,
            title: "Check of fixes",
            summary: checked
                .is_ok()
                .then(|| format!("{} checked.", plural(fixes.len(), "finding"))),
            tool_calls: progress.tool_calls(),
            tokens: used.since(&before),
            cost_usd: used.cost_since(&before),
            took: self.clock.instant() - began,
        });
        if let Err(GivenUp::Refused(why)) = checked {
            // Without the check a fix is not confirmed; what was judged before is published.
            if !self.has_results(outcome) {
                outcome.end = End::Refused(why);
            }
        }
        Ok(())
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
