//! Everything that the reviewers have said, in one place: from one desk as it is, from several after the votes.

use crate::host::Host;
use crate::host::session::Session;
use reviewer_core::domain::{Finding, FindingId, Resolution, Score, Thread};
use reviewer_core::panel::Seat;
use reviewer_core::panel::analysis::Weighed;
use reviewer_core::panel::ledger::{self, Figures};
use reviewer_core::report::reviewers::{Reviewed, ReviewerReport};
use reviewer_core::review::candidate_outcomes::{self, CandidateOutcome, Verdicts};
use reviewer_core::review::deliberation;
use reviewer_core::review::desk::{Effect, Entry, Repeated, SharedDesk, StagedReply};
use reviewer_core::review::limits::Used;
use reviewer_core::review::sections::{Assembled, Said};
use reviewer_core::review::session_outcome::Outcome as Held;
use reviewer_core::static_analysis::Candidate;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) struct Collected {
    pub entries: Vec<Entry>,
    /// The findings that may be published.
    pub due: BTreeSet<FindingId>,
    pub replies: Vec<StagedReply>,
    /// Findings that are open, and that only the text of an earlier review says, with their scores.
    pub still_said: BTreeMap<FindingId, Score>,
    /// The open conversations of people that were weighed.
    pub weighed: Vec<Weighed>,
    /// The reviewers that were called to the pull request.
    pub escalations: Vec<String>,
    /// The outcome of each result of static analysis.
    pub candidates: Vec<CandidateOutcome>,
    /// Findings that repeat what people decided in other pull requests.
    pub repeated: Vec<Repeated>,
    /// The verdicts of each reviewer on results of static analysis.
    verdicts: Vec<Verdicts>,
    /// The figures of each reviewer, where several reviewed.
    figures: Vec<Figures>,
    /// The use that each reviewer has made of its model.
    used: Vec<Used>,
}

impl Collected {
    pub(crate) fn new(host: &Host<'_>) -> Self {
        let own = host.session().desk.with(|desk| {
            let (due, replies) = desk.publishable();
            Self {
                due: due.iter().map(|entry| entry.finding.id.clone()).collect(),
                replies: replies.into_iter().cloned().collect(),
                entries: desk.entries().to_vec(),
                still_said: desk
                    .still_said()
                    .map(|(id, score)| (id.clone(), score))
                    .collect(),
                weighed: desk.weighed().to_vec(),
                escalations: desk.escalations().to_vec(),
                candidates: Vec::new(),
                repeated: Vec::new(),
                verdicts: Vec::new(),
                figures: Vec::new(),
                used: host
                    .sessions()
                    .reviewers()
                    .map(|session| session.usage.used())
                    .collect(),
            }
        });
        let own = own.unwrap_or_else(Self::nothing);
        let all = if host.is_panel() {
            own.of_panel(host)
        } else {
            own
        };
        all.of_desks(host)
    }

    /// The same with what all desks hold beside findings: repeats of decided questions, and verdicts on the results of static
    /// analysis.
    fn of_desks(mut self, host: &Host<'_>) -> Self {
        let desks = desks(host);
        let repeated = desks
            .iter()
            .filter_map(|desk| desk.with(|desk| desk.repeated().to_vec()));
        self.repeated = repeated.flatten().collect();
        self.verdicts = candidate_outcomes::verdicts(&desks);
        let candidates = host.session().desk.with(|desk| desk.candidates().to_vec());
        self.settled(&candidates.unwrap_or_default())
    }

    /// The same with the results of static analysis settled by the findings that stand.
    fn settled(mut self, candidates: &[Candidate]) -> Self {
        self.candidates = candidate_outcomes::settle(candidates, &self.verdicts, &mut self.entries);
        self
    }

    /// The same of a section, whose results of static analysis have these places among those of the whole change.
    pub(super) fn of_places(mut self, places: &[usize]) -> Self {
        for verdicts in &mut self.verdicts {
            let given = std::mem::take(verdicts).into_iter();
            let given = given.filter_map(|(own, verdict)| Some((*places.get(own)?, verdict)));
            *verdicts = given.collect();
        }
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
        let sessions = host.sessions().reviewers();
        let sessions = sessions.zip(self.figures.iter().zip(&self.used));
        let report = |(session, (figures, used)): (&Session, (&Figures, &Used))| {
            let name = session.reviewer.name.as_str();
            ReviewerReport::from(Reviewed {
                name,
                model: session.model().to_string(),
                figures: *figures,
                conceded: ledger::conceded(name, self.conceded(threads)),
                tokens: used.tokens().number,
                cost_usd: used.told.cost,
                entries: &self.entries,
                passes: &held.passes,
                finished: !held.end.leaves_unfinished(name),
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
            still_said: BTreeMap::new(),
            weighed: Vec::new(),
            escalations: Vec::new(),
            candidates: Vec::new(),
            repeated: Vec::new(),
            verdicts: Vec::new(),
            figures: Vec::new(),
            used: Vec::new(),
        }
    }

    /// The same without a session, which only posts what a review before could not.
    pub(super) fn carried(findings: impl Iterator<Item = Finding>) -> Self {
        let entries: Vec<Entry> = (1..)
            .zip(findings)
            .map(|(id, one)| Entry::carried(id, one))
            .collect();
        Self {
            due: entries.iter().map(|one| one.finding.id.clone()).collect(),
            entries,
            ..Self::nothing()
        }
    }

    /// The findings of all sections of a large change put together. `finished`: whether each was reviewed to the end.
    pub(crate) fn assembled(all: &[(Self, bool)]) -> Assembled {
        let said = all.iter().map(|(one, finished)| Said {
            entries: one.entries.clone(),
            due: one.due.clone(),
            replies: one.replies.clone(),
            still_said: one.still_said.clone(),
            repeated: one.repeated.clone(),
            finished: *finished,
        });
        Assembled::new(said.collect())
    }

    /// Everything of all sections, with the findings after their consolidation. `candidates`: of the whole change.
    pub(crate) fn of_sections(
        all: Vec<(Self, bool)>,
        said: Said,
        candidates: &[Candidate],
    ) -> Self {
        let mut sum = Self::nothing();
        for (one, _) in all {
            sum.weighed.extend(one.weighed);
            sum.verdicts.extend(one.verdicts);
            for name in one.escalations {
                if !sum.escalations.contains(&name) {
                    sum.escalations.push(name);
                }
            }
            sum.figures
                .resize(one.figures.len().max(sum.figures.len()), Figures::default());
            for (sum, one) in sum.figures.iter_mut().zip(one.figures) {
                sum.add(one);
            }
            sum.used
                .resize(one.used.len().max(sum.used.len()), Used::default());
            for (sum, one) in sum.used.iter_mut().zip(one.used) {
                *sum += one;
            }
        }
        let all = Self {
            entries: said.entries,
            due: said.due,
            replies: said.replies,
            still_said: said.still_said,
            repeated: said.repeated,
            ..sum
        };
        all.settled(candidates)
    }

    fn of_panel(self, host: &Host<'_>) -> Self {
        let (seats, desks) = (seats(host), desks(host));
        let testimonies = deliberation::testimonies(&desks);
        let concluded = deliberation::conclude(&seats, &testimonies);
        let mut replies = self.replies.clone();
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
            figures: concluded.figures,
            ..self
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
