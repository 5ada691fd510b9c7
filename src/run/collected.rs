//! Everything that the reviewers have said, in one place: from one desk as it is, from several after the votes.

use crate::host::Host;
use crate::host::session::Session;
use reviewer_core::domain::{FindingId, Resolution, Score, Thread};
use reviewer_core::panel::Seat;
use reviewer_core::panel::analysis::Weighed;
use reviewer_core::panel::ledger::{self, Figures};
use reviewer_core::report::reviewers::{Reviewed, ReviewerReport};
use reviewer_core::review::candidate_outcomes::{self, CandidateOutcome};
use reviewer_core::review::deliberation;
use reviewer_core::review::desk::{Effect, Entry, SharedDesk, StagedReply};
use reviewer_core::review::session_outcome::{End, Outcome as Held};
use std::collections::BTreeSet;

pub(crate) struct Collected {
    pub entries: Vec<Entry>,
    /// The findings that may be published.
    pub due: BTreeSet<FindingId>,
    pub replies: Vec<StagedReply>,
    /// Scores of findings that are open, and that only the text of an earlier review says.
    pub still_said: Vec<Score>,
    /// The open conversations of people that were weighed.
    pub weighed: Vec<Weighed>,
    /// What became of each result of static analysis.
    pub candidates: Vec<CandidateOutcome>,
    /// The figures of each reviewer, where several reviewed.
    figures: Vec<Figures>,
}

impl Collected {
    pub(crate) fn new(host: &Host<'_>) -> Self {
        let own = host.session().desk.with(|desk| {
            let (due, replies) = desk.publishable();
            Self {
                due: due.iter().map(|entry| entry.finding.id.clone()).collect(),
                replies: replies.into_iter().cloned().collect(),
                entries: desk.entries().to_vec(),
                still_said: desk.still_said().map(|(_, score)| score).collect(),
                weighed: desk.weighed().to_vec(),
                candidates: Vec::new(),
                figures: Vec::new(),
            }
        });
        let own = own.unwrap_or_else(Self::nothing);
        let all = if host.is_panel() {
            own.of_panel(host)
        } else {
            own
        };
        all.with_candidates(host)
    }

    /// The same with the results of static analysis settled by the findings that stand.
    fn with_candidates(mut self, host: &Host<'_>) -> Self {
        let candidates = host.session().desk.with(|desk| desk.candidates().to_vec());
        let candidates = candidates.unwrap_or_default();
        let verdicts = candidate_outcomes::verdicts(&desks(host));
        self.candidates = candidate_outcomes::settle(&candidates, &verdicts, &mut self.entries);
        self
    }

    /// The reviewers of a panel for the report; none where one reviewed alone.
    pub(crate) fn reviewers(
        &self,
        host: &Host<'_>,
        held: &Held,
        threads: &[Thread],
    ) -> Vec<ReviewerReport> {
        let now = chrono::DateTime::<chrono::Utc>::from(host.setup.clock.now());
        let now = now.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        let sessions = host.sessions().reviewers().zip(&self.figures);
        let report = |(session, figures): (&Session, &Figures)| {
            let used = session.usage.used();
            let name = session.reviewer.name.as_str();
            let unfinished = match &held.end {
                End::Panel(ends) => ends.iter().any(|(one, _)| one == name),
                End::Complete => false,
                _ => true,
            };
            ReviewerReport::from(Reviewed {
                name,
                model: session.model().to_string(),
                figures: *figures,
                conceded: ledger::conceded(name, self.conceded(threads)),
                tokens: used.tokens().number,
                cost_usd: used.told.cost,
                entries: &self.entries,
                passes: &held.passes,
                finished: !unfinished,
                now: &now,
            })
        };
        sessions.map(report).collect()
    }

    /// The findings that were given up: in earlier runs, and in this one.
    fn conceded<'a>(&'a self, threads: &'a [Thread]) -> impl Iterator<Item = &'a Thread> {
        let before = threads.iter();
        let before = before.filter(|thread| thread.resolution == Some(Resolution::Conceded));
        let now = self.replies.iter();
        let now = now.filter(|reply| matches!(reply.effect, Effect::Concede | Effect::GiveUp));
        before.chain(now.map(|reply| &reply.thread))
    }

    fn nothing() -> Self {
        Self {
            entries: Vec::new(),
            due: BTreeSet::new(),
            replies: Vec::new(),
            still_said: Vec::new(),
            weighed: Vec::new(),
            candidates: Vec::new(),
            figures: Vec::new(),
        }
    }

    fn of_panel(self, host: &Host<'_>) -> Self {
        let (seats, desks) = (seats(host), desks(host));
        let testimonies = deliberation::testimonies(&desks);
        let concluded = deliberation::conclude(&seats, &testimonies);
        let mut replies = self.replies;
        for reply in concluded.reopened {
            if replies.iter().all(|one| one.thread.id != reply.thread.id) {
                replies.push(reply);
            }
        }
        Self {
            entries: concluded.entries,
            due: concluded.due,
            replies,
            still_said: concluded.still_said,
            weighed: self.weighed,
            candidates: Vec::new(),
            figures: concluded.figures,
        }
    }
}

/// The reviewers of the run, as the panel's rules see them.
pub(crate) fn seats(host: &Host<'_>) -> Vec<Seat> {
    let sessions = host.sessions().reviewers();
    sessions
        .map(|session| Seat {
            name: session.reviewer.name.clone(),
            model: session.model().to_string(),
        })
        .collect()
}

pub(crate) fn desks(host: &Host<'_>) -> Vec<SharedDesk> {
    let sessions = host.sessions().reviewers();
    sessions.map(|session| session.desk.clone()).collect()
}
