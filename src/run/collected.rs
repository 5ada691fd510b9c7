//! Everything that the reviewers have said, in one place: from one desk as it is, from several after the votes.

use crate::host::Host;
use reviewer_core::domain::{FindingId, Score};
use reviewer_core::panel::ledger::Figures;
use reviewer_core::panel::{Joined, Seat};
use reviewer_core::review::deliberation;
use reviewer_core::review::desk::{Entry, SharedDesk, StagedReply};
use std::collections::BTreeSet;

pub(crate) struct Collected {
    pub entries: Vec<Entry>,
    /// The findings that may be published.
    pub due: BTreeSet<FindingId>,
    pub replies: Vec<StagedReply>,
    /// Scores of findings that are open, and that only the text of an earlier review says.
    pub still_said: Vec<Score>,
    /// The result of the votes, where several reviewers voted.
    pub panel: Option<Panel>,
}

/// The votes of a panel, for the report.
pub(crate) struct Panel {
    pub seats: Vec<Seat>,
    pub joined: Vec<Joined>,
    pub figures: Vec<Figures>,
}

impl Collected {
    pub(crate) fn new(host: &Host<'_>) -> Self {
        let own = host.session().desk.with(|desk| {
            let (due, replies) = desk.publishable();
            Self {
                due: due.iter().map(|entry| entry.finding.id.clone()).collect(),
                replies: replies.into_iter().cloned().collect(),
                entries: desk.entries().to_vec(),
                still_said: desk.still_said().collect(),
                panel: None,
            }
        });
        let own = own.unwrap_or_else(Self::nothing);
        if host.is_panel() {
            own.of_panel(host)
        } else {
            own
        }
    }

    fn nothing() -> Self {
        Self {
            entries: Vec::new(),
            due: BTreeSet::new(),
            replies: Vec::new(),
            still_said: Vec::new(),
            panel: None,
        }
    }

    fn of_panel(self, host: &Host<'_>) -> Self {
        let (seats, desks) = (seats(host), desks(host));
        let testimonies = deliberation::testimonies(&desks);
        let concluded = deliberation::conclude(&seats, &testimonies);
        let others = desks[1..].iter();
        let still_said = others.filter_map(|desk| desk.with(|desk| desk.still_said().collect()));
        let mut all = self.still_said;
        all.extend(still_said.flat_map(|scores: Vec<Score>| scores));
        Self {
            entries: concluded.entries,
            due: concluded.due,
            replies: self.replies,
            still_said: all,
            panel: Some(Panel {
                seats,
                joined: concluded.joined,
                figures: concluded.figures,
            }),
        }
    }
}

/// The reviewers of the run, as the panel's rules see them.
pub(crate) fn seats(host: &Host<'_>) -> Vec<Seat> {
    let sessions = host.sessions().iter();
    sessions
        .map(|session| Seat {
            name: session.reviewer.name.clone(),
            model: session.reviewer.model.to_string(),
        })
        .collect()
}

pub(crate) fn desks(host: &Host<'_>) -> Vec<SharedDesk> {
    let sessions = host.sessions().iter();
    sessions.map(|session| session.desk.clone()).collect()
}
