//! Changes as server-sent events. An event says that a page has changed, and nothing else: the page is loaded again, with all its
//! checks. All listeners of a process share one look at the store a second, and there is none while nobody listens.

use super::entry::Visitor;
use super::{Refusing, refusing};
use crate::serve::backend::{Backend, PullAt};
use crate::serve::http::Shared;
use axum::Extension;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use data_encoding::HEXLOWER;
use futures_util::stream::unfold;
use reviewer_engine::{Listed, Recent};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// The time between two looks at the store.
const CADENCE: Duration = Duration::from_secs(1);
/// The least time between two events of a page. It loads itself again at each, and its token has a rate.
const PAUSE: Duration = Duration::from_secs(3);
/// A line without a meaning, by which both sides see that the connection is alive.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// After this time a browser connects again.
const LONGEST: Duration = Duration::from_mins(4);
/// Pull requests that one look sees: those that changed last.
const SEEN: u32 = 100;
/// Listeners of one session: pages that somebody has before the eyes.
const OF_ONE_SESSION: usize = 4;

/// The last look at the store.
#[derive(Default)]
pub(in crate::serve::http) struct Pulse(tokio::sync::Mutex<Option<(Instant, Arc<Look>)>>);

/// The pull requests that changed last, with their versions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    versions: HashMap<String, i64>,
    /// The times of the first and the last change; of all there are where the look was not full.
    oldest: Option<i64>,
    newest: i64,
    pub(super) mark: String,
}

impl Look {
    fn new(listed: &[Listed]) -> Self {
        let mut hash = Sha256::new();
        for one in listed {
            hash.update(format!("{} {}\n", one.key, one.version));
        }
        let is_full = listed.len() >= SEEN as usize;
        let oldest = listed.last().map(|one| one.changed);
        let versions = listed.iter().map(|one| (one.key.clone(), one.version));
        Self {
            versions: versions.collect(),
            oldest: oldest.filter(|_| is_full),
            newest: listed.first().map_or(0, |one| one.changed),
            mark: HEXLOWER.encode(&hash.finalize()[..8]),
        }
    }
}

impl Pulse {
    /// A look that is not older than the cadence. While the store does not answer, the last one that there was.
    pub(super) async fn look<B: Backend>(&self, shared: &Shared<B>) -> Arc<Look> {
        let mut last = self.0.lock().await;
        let now = shared.settings.clock.instant();
        if let Some((at, look)) = &*last
            && now.saturating_duration_since(*at) < CADENCE
        {
            return Arc::clone(look);
        }
        let wanted = Recent {
            most: SEEN,
            ..Recent::default()
        };
        let look = match (shared.backend.recent(&wanted).await, &*last) {
            (Ok(listed), _) => Arc::new(Look::new(&listed)),
            (Err(_), Some((_, look))) => Arc::clone(look),
            (Err(_), None) => Arc::default(),
        };
        *last = Some((now, Arc::clone(&look)));
        look
    }
}

/// The places of listeners: half of all connections, so that webhooks and pages have the other half.
pub(in crate::serve::http) struct Seats {
    all: Arc<Semaphore>,
    of_sessions: Mutex<HashMap<String, usize>>,
}

/// The place of a listener, until it is dropped.
struct Seat {
    seats: Arc<Seats>,
    session: String,
    _permit: OwnedSemaphorePermit,
}

impl Seats {
    pub(super) fn new(connections: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new((connections / 2).max(1))),
            of_sessions: Mutex::default(),
        }
    }

    /// The number of listeners.
    pub(in crate::serve::http) fn taken(&self) -> usize {
        self.counts().values().sum()
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, HashMap<String, usize>> {
        self.of_sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn take(self: &Arc<Self>, session: &str) -> Option<Seat> {
        let permit = Arc::clone(&self.all).try_acquire_owned().ok()?;
        let mut counts = self.counts();
        let count = counts.entry(session.to_owned()).or_insert(0);
        if *count >= OF_ONE_SESSION {
            return None;
        }
        *count += 1;
        Some(Seat {
            seats: Arc::clone(self),
            session: session.to_owned(),
            _permit: permit,
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut counts = self.seats.counts();
        if let Some(count) = counts.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.session);
            }
        }
    }
}

/// The part of the store that a page shows, as the page was made of it.
enum Shown {
    List { mark: String },
    Pull { key: String, version: i64 },
}

impl Shown {
    /// True if the look shows something else. From then on the look counts.
    fn moves(&mut self, look: &Look, before: &Look) -> bool {
        match self {
            Self::List { mark } if *mark == look.mark => false,
            Self::List { mark } => {
                mark.clone_from(&look.mark);
                true
            }
            Self::Pull { key, version } => match look.versions.get(key) {
                Some(seen) if seen == version => false,
                Some(seen) => {
                    *version = *seen;
                    true
                }
                // So many others have changed since the last look that nobody knows.
                None => look.oldest.is_some_and(|oldest| oldest > before.newest),
            },
        }
    }
}

struct Listener<B> {
    shared: Arc<Shared<B>>,
    shown: Shown,
    before: Arc<Look>,
    /// The time until the next look.
    pause: Duration,
    /// True after a change: what follows from it a moment later, such as a cost, is told once more.
    again: bool,
    until: Instant,
    ending: watch::Receiver<bool>,
    _seat: Seat,
}

impl<B: Backend> Listener<B> {
    /// Waits for the next change; `None` at the end.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            self.rest().await;
            if *self.ending.borrow() || self.shared.settings.clock.instant() >= self.until {
                return None;
            }
            let look = self.shared.ui.pulse.look(&self.shared).await;
            let moves = self.shown.moves(&look, &self.before);
            self.before = look;
            if moves || std::mem::take(&mut self.again) {
                self.again = moves;
                self.pause = PAUSE;
                // A browser passes no event on that has no data.
                return Some((Ok(Event::default().event("change").data("now")), self));
            }
        }
    }

    async fn rest(&mut self) {
        let pause = std::mem::replace(&mut self.pause, CADENCE);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ended = self.ending.wait_for(|ended| *ended) => {}
        }
    }
}

/// Tells a page of changes: the list's, or with `pull` those of one pull request. `seen` is what the page shows.
pub(super) async fn events<B: Backend>(
    State(shared): State<Arc<Shared<B>>>,
    Extension(visitor): Extension<Visitor>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Response, Refusing> {
    let seen = query.get("seen").cloned().unwrap_or_default();
    let shown = match query.get("pull") {
        None => Shown::List { mark: seen },
        Some(pull) => {
            let at = named(pull).ok_or_else(|| super::not_found(&visitor.viewer))?;
            let key = shared.backend.key(&at).await;
            let key = key.map_err(|why| super::refused(&visitor.viewer, why))?;
            Shown::Pull {
                key: key.to_string(),
                version: seen.parse().unwrap_or_default(),
            }
        }
    };
    let seat = shared.ui.seats.take(&visitor.session.nonce);
    let seat = seat.ok_or_else(|| {
        let sentence = "Too many pages are live at once.";
        let status = StatusCode::TOO_MANY_REQUESTS;
        refusing(Some(&visitor.viewer), status, "Not live", sentence)
    })?;
    let listener = Listener {
        shown,
        before: shared.ui.pulse.look(&shared).await,
        pause: Duration::ZERO,
        again: false,
        until: shared.settings.clock.instant() + LONGEST,
        ending: shared.ui.ending.subscribe(),
        _seat: seat,
        shared,
    };
    let events = Sse::new(unfold(listener, Listener::next));
    Ok(events
        .keep_alive(KeepAlive::new().interval(HEARTBEAT))
        .into_response())
}

/// The pull request that `owner/repo/number` names.
fn named(text: &str) -> Option<PullAt> {
    let (repo, number) = text.rsplit_once('/')?;
    Some(PullAt {
        repo: repo.parse().ok()?,
        number: number.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(listed: &[(&str, i64, i64)]) -> Look {
        let listed = listed.iter().map(|(key, version, changed)| Listed {
            key: (*key).to_owned(),
            version: *version,
            phase: String::new(),
            changed: *changed,
        });
        Look::new(&listed.collect::<Vec<_>>())
    }

    #[test]
    fn a_page_hears_of_its_own_pull_request_and_a_list_of_all() {
        let (before, after) = (
            look(&[("1/7", 3, 20), ("1/8", 1, 10)]),
            look(&[("1/8", 2, 30), ("1/7", 3, 20)]),
        );
        let pull = |key: &str, version| Shown::Pull {
            key: key.to_owned(),
            version,
        };
        assert!(!pull("1/7", 3).moves(&after, &before));
        assert!(
            pull("1/7", 2).moves(&after, &before),
            "changed before it listened"
        );
        let mut eight = pull("1/8", 1);
        assert!(eight.moves(&after, &before) && !eight.moves(&after, &after));
        let mut list = Shown::List {
            mark: before.mark.clone(),
        };
        assert!(!list.moves(&before, &before));
        assert!(list.moves(&after, &before) && !list.moves(&after, &after));
    }

    #[test]
    fn after_more_changes_than_a_look_shows_every_page_hears() {
        let keys: Vec<String> = (0..SEEN).map(|n| format!("1/{}", n + 100)).collect();
        let at = |changed: i64| {
            let listed: Vec<(&str, i64, i64)> =
                keys.iter().map(|key| (key.as_str(), 1, changed)).collect();
            look(&listed)
        };
        let mut shown = Shown::Pull {
            key: "1/7".into(),
            version: 1,
        };
        assert!(!shown.moves(&at(10), &at(10)));
        assert!(shown.moves(&at(20), &at(10)));
    }

    #[test]
    fn a_session_has_a_few_places_and_gives_them_back() {
        let seats = Arc::new(Seats::new(12));
        let taken: Vec<Option<Seat>> = (0..5).map(|_| seats.take("one")).collect();
        assert_eq!(taken.iter().flatten().count(), OF_ONE_SESSION);
        let others: Vec<Option<Seat>> =
            ["two", "three", "four"].map(|name| seats.take(name)).into();
        assert_eq!(
            others.iter().flatten().count(),
            2,
            "half of the connections"
        );
        assert_eq!(seats.taken(), 6);
        drop((taken, others));
        assert_eq!(seats.taken(), 0);
        assert!(seats.take("one").is_some());
    }
}
