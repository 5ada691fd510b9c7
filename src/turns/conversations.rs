//! The turn of the comments analyzer, after the passes: it weighs open conversations of people for the consensus. It has a session
//! of its own, on the account of the first reviewer.

use super::{End, Outcome, PassLog, Progress, Tasks};
use anyhow::Result;
use reviewer_agent::tools::hidden_in_analysis;
use reviewer_core::context::brief::Task;
use reviewer_text::count::plural;

impl Tasks<'_> {
    /// Lets the open conversations be weighed. One without a priority counts as critical, so a turn that fails costs nothing else.
    /// An incomplete review comes to no consensus, so nothing is asked then.
    pub(super) async fn weigh_conversations(&mut self, outcome: &mut Outcome) -> Result<()> {
        if self.conversations.is_empty() || outcome.end != End::Complete {
            return Ok(());
        }
        self.begin_group("Open conversations of people");
        let (before, began) = (self.prompter.used(), self.prompter.clock.instant());
        let stage = "open conversations of people".into();
        let mut progress = Progress::new(stage, began).of_reviewer(self.name);
        let roots = self.conversations.iter().map(|one| one.root);
        self.desk.with(|desk| desk.begin_conversations(roots));
        match self
            .prompter
            .conversation
            .beside(hidden_in_analysis(self.session))
            .await
        {
            Ok(analysis) => {
                self.prompter.state.tasks += 1;
                let review = std::mem::replace(self.prompter.conversation, analysis);
                let task = Task::Conversations(self.conversations);
                let carried_out = self.carry_out(task, &mut progress).await;
                *self.prompter.conversation = review;
                if let Err(given_up) = carried_out? {
                    tracing::debug!("the conversations were not all weighed: {given_up:?}");
                }
            }
            Err(error) => tracing::debug!("no session for the conversations: {error}"),
        }
        self.desk.with(|desk| desk.ledger.close());
        self.prompter.tell(&progress);
        self.end_group();
        let weighed = self
            .desk
            .with(|desk| desk.weighed().len())
            .unwrap_or_default();
        let used = self.prompter.used();
        outcome.passes.push(PassLog {
            reviewer: None,
            section: None,
            number: 0,
            title: "Open conversations of people",
            summary: (weighed > 0).then(|| format!("{} weighed.", plural(weighed, "conversation"))),
            tool_calls: progress.tool_calls(),
            tokens: used.since(&before),
            cost_usd: used.cost_since(&before),
            took: self.prompter.clock.instant() - began,
        });
        outcome.used = used;
        Ok(())
    }
}
