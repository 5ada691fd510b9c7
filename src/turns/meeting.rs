//! The meeting of a panel before its last pass: every reviewer waits until all have finished the passes before it or have
//! given up, then each is handed the findings of others. It decides nothing; the dockets are made in `deliberation`.

use reviewer_core::panel::Seat;
use reviewer_core::review::deliberation;
use reviewer_core::review::desk::{Docket, SharedDesk};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, OnceLock, PoisonError};
use tokio::sync::Notify;

#[derive(Debug)]
pub(crate) struct Meeting {
    seats: Vec<Seat>,
    desks: Vec<SharedDesk>,
    present: Mutex<Present>,
    changed: Notify,
    dockets: OnceLock<Vec<Docket>>,
}

#[derive(Debug, Default)]
struct Present {
    arrived: BTreeSet<usize>,
    /// The models that those who arrived have by then; one may have fallen back to another.
    models: BTreeMap<usize, String>,
    /// Those who ended before the last pass.
    left: BTreeSet<usize>,
}

/// A reviewer's place in the meeting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub meeting: &'a Meeting,
    pub seat: usize,
}

impl Meeting {
    pub(crate) fn new(seats: Vec<Seat>, desks: Vec<SharedDesk>) -> Self {
        Self {
            seats,
            desks,
            present: Mutex::default(),
            changed: Notify::new(),
            dockets: OnceLock::new(),
        }
    }

    pub(crate) fn seats(&self) -> &[Seat] {
        &self.seats
    }

    fn change(&self, change: impl FnOnce(&mut Present)) {
        change(&mut self.present.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_waiters();
    }

    /// The seats with the models that sit on them by now.
    fn seats_now(&self) -> Vec<Seat> {
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        let seats = self.seats.iter().enumerate();
        let now = seats.map(|(number, seat)| Seat {
            name: seat.name.clone(),
            model: present.models.get(&number).unwrap_or(&seat.model).clone(),
        });
        now.collect()
    }

    /// Those who ended early, once everybody has arrived or ended.
    fn absent(&self) -> Option<BTreeSet<usize>> {
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        let all = (0..self.seats.len())
            .all(|seat| present.arrived.contains(&seat) || present.left.contains(&seat));
        all.then(|| present.left.difference(&present.arrived).copied().collect())
    }

    fn docket(&self, seat: usize, absent: &BTreeSet<usize>) -> Docket {
        let dockets = self.dockets.get_or_init(|| {
            let testimonies = deliberation::testimonies(&self.desks);
            deliberation::dockets(&self.seats_now(), &testimonies, absent)
        });
        dockets.get(seat).cloned().unwrap_or_default()
    }
}

impl Place<'_> {
    /// Waits for the others, with this model. Returns the findings to judge.
    pub(crate) async fn arrive(self, model: String) -> Docket {
        let Self { meeting, seat } = self;
        meeting.change(|present| {
            present.arrived.insert(seat);
            present.models.insert(seat, model);
        });
        loop {
            // Registered before the look, so that no change in between is missed.
            let changed = meeting.changed.notified();
            if let Some(absent) = meeting.absent() {
                return meeting.docket(seat, &absent);
            }
            changed.await;
        }
    }

    /// The reviewer has ended; nobody waits for it any more.
    pub(crate) fn leave(self) {
        self.meeting.change(|present| {
            present.left.insert(self.seat);
        });
    }
}
