//! Reconciliation: lists the open pull requests, and wakes those that differ from what the store knows. Webhooks are lost; this
//! finds what they would have told.

use super::directory::Place;
use super::machine::RECONCILIATION;
use super::service::Service;
use super::world::pull_key;
use reviewer_core::lifecycle::{Facts, Phase, PullKey, State};
use reviewer_github::{ApiError, OpenPull};
use std::collections::HashSet;

/// The result of a reconciliation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reconciled {
    pub listed: usize,
    pub woken: usize,
}

/// True if GitHub shows something else than the state knows.
fn differs(state: Option<&State>, pull: &OpenPull) -> bool {
    let Some(state) = state else {
        return true;
    };
    let ended = matches!(state.phase, Phase::Closed | Phase::Merged { .. });
    let changed = |facts: &Facts| {
        let is_moved = facts.head != pull.head || facts.base != pull.base;
        // A review, a comment, a draft that became ready.
        is_moved || facts.updated_at != pull.updated_at
    };
    ended || state.facts.as_ref().is_none_or(changed)
}

/// Wakes what differs; everything that is open, if `all`. `round` makes the deliveries of this one different from others.
pub(crate) async fn reconcile(
    service: &Service,
    round: &str,
    all: bool,
) -> Result<Reconciled, ApiError> {
    let world = &service.world;
    match world.accounts.redeliver().await {
        Ok(0) => {}
        Ok(asked) => tracing::info!("GitHub was asked to send {asked} webhooks again."),
        // The list of open pull requests finds what they would have told.
        Err(error) => tracing::warn!("GitHub was not asked to send webhooks again: {error}"),
    }
    let places = world
        .accounts
        .list(&service.repositories, &service.directory)
        .await?;
    let mut total = Reconciled::default();
    for place in places {
        match of_repository(service, &place, round, all).await {
            Ok(one) => {
                total.listed += one.listed;
                total.woken += one.woken;
            }
            Err(error) => tracing::warn!("{} was not reconciled: {error}", place.name),
        }
    }
    Ok(total)
}

async fn of_repository(
    service: &Service,
    place: &Place,
    round: &str,
    all: bool,
) -> Result<Reconciled, ApiError> {
    let github = service
        .world
        .accounts
        .github(place, &service.directory)
        .await?;
    let open = github.open_pulls(&place.name).await?;
    let mut due: Vec<PullKey> = Vec::new();
    for pull in &open.pulls {
        let key = PullKey {
            repository: open.repository,
            number: pull.number,
        };
        let state = service.state(key).await.ok().flatten();
        if all || differs(state.as_ref(), pull) {
            due.push(key);
        }
    }
    due.extend(vanished(service, open.repository, &open.pulls).await);
    let mut reconciled = Reconciled {
        listed: open.pulls.len(),
        woken: 0,
    };
    for key in due {
        let delivery = format!("reconcile/{round}/{key}");
        match service.wake(key, &delivery, RECONCILIATION).await {
            Ok(accepted) => reconciled.woken += accepted.woken,
            Err(error) => tracing::warn!("{key} was not woken: {error}"),
        }
    }
    Ok(reconciled)
}

/// Lives that go on here, of pull requests that are not open any more. One that was never read may not exist: its own timer asks
/// again, ever more rarely.
async fn vanished(service: &Service, repository: u64, open: &[OpenPull]) -> Vec<PullKey> {
    let open: HashSet<u64> = open.iter().map(|pull| pull.number).collect();
    let mut vanished = Vec::new();
    for key in service.alive().await.unwrap_or_default() {
        let key = pull_key(&key).filter(|key| key.repository == repository);
        let Some(key) = key.filter(|key| !open.contains(&key.number)) else {
            continue;
        };
        let state = service.state(key).await.ok().flatten();
        if state.is_some_and(|state| state.facts.is_some()) {
            vanished.push(key);
        }
    }
    vanished
}
