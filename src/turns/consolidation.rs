//! The consolidation of what all sections of a large change have found: one turn in a session of its own.

use super::progress::Progress;
use super::prompter::{Assignment, Prompter};
use anyhow::Result;
use reviewer_core::context::brief::{self, Brief, Task};
use reviewer_core::domain::{FindingId, Pass};
use reviewer_core::review::desk::{Entry, SharedDesk};
use reviewer_core::review::limits::Used;
use reviewer_core::review::nudges::Ended;
use reviewer_core::review::session_outcome::{End, Outcome, PassLog};
use reviewer_text::template::TemplateError;
use std::collections::BTreeSet;

pub(crate) struct Consolidation<'a> {
    /// The last pass.
    pub pass: Pass,
    /// The number of sections.
    pub of: usize,
    pub brief: &'a Brief<'a>,
    /// The findings that are shown.
    pub subjects: &'a BTreeSet<FindingId>,
    /// The number of findings that all sections have made.
    pub made: usize,
    pub desk: &'a SharedDesk,
}

impl Consolidation<'_> {
    /// Prompts until the pass is submitted or given up.
    pub(crate) async fn carry_out(self, mut prompter: Prompter<'_>) -> Result<Outcome> {
        let (number, began) = (self.pass.number, prompter.clock.instant());
        self.desk.with(|desk| desk.ledger.begin(number));
        let mut progress = Progress::of_pass(&self.pass, began).of_reviewer(Some("all sections"));
        progress.show(prompter.actions);
        let carried_out = prompter.carry_out(&self, &mut progress).await;
        prompter.session.usage.end();
        prompter.tell(&progress);
        let finished = self.desk.with(|desk| {
            desk.ledger.close();
            let mut finished = desk.ledger.finished().iter();
            finished
                .find(|one| one.number == number)
                .map(|one| one.summary.clone())
        });
        let used = prompter.used();
        let mut outcome = Outcome::without_session(match carried_out? {
            Ok(_) => End::Complete,
            Err(given_up) => End::of_pass(number, given_up, true),
        });
        outcome.used = used;
        outcome.passes.push(PassLog {
            reviewer: None,
            section: None,
            number: number.get(),
            title: "Consolidation of all sections",
            summary: finished.flatten(),
            tool_calls: progress.tool_calls(),
            tokens: used.since(&Used::default()),
            cost_usd: used.cost_since(&Used::default()),
            took: prompter.clock.instant() - began,
        });
        outcome.restarts = prompter.state.restarts;
        Ok(outcome)
    }

    fn task(&self) -> Task<'_> {
        Task::Sections(&self.pass, self.of)
    }

    /// Those that the session is about, and what it has found itself.
    fn entries(&self) -> Vec<Entry> {
        let entries = self.desk.with(|desk| desk.entries().to_vec());
        let entries = entries.unwrap_or_default().into_iter().enumerate();
        entries
            .filter(|(at, entry)| *at >= self.made || self.subjects.contains(&entry.finding.id))
            .map(|(_, entry)| entry)
            .collect()
    }
}

impl Assignment for Consolidation<'_> {
    fn begin(&self, begins: bool) -> Result<String, TemplateError> {
        self.brief.task(self.task(), &self.entries(), begins)
    }

    fn nudge(&self, reproach: &str) -> Result<String, TemplateError> {
        brief::nudge(self.task(), reproach, self.brief.prefix)
    }

    fn resumed(&self) -> Result<String, TemplateError> {
        self.brief.resumed(self.task(), &self.entries())
    }

    fn taken_over(&self) -> Result<String, TemplateError> {
        self.brief.taken_over(self.task(), &self.entries())
    }

    fn anew(&self) -> Result<String, TemplateError> {
        self.brief.anew(self.task(), &self.entries())
    }

    fn is_done(&self, _: &Ended) -> bool {
        let submitted = self.desk.with(|desk| desk.ledger.is_part_submitted());
        submitted == Some(true)
    }
}
