//! Reconciliation: lists the open pull requests, and wakes those that differ from what the store knows. Webhooks are lost; this
//! finds what they would have told.

use super::directory::Place;
use super::machine::{FLOOD, RECONCILIATION};
use super::service::Service;
use super::world::pull_key;
use reviewer_core::lifecycle::{Facts, Phase, PullKey, State};
use reviewer_github::{ApiError, OpenPull};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// The result of a reconciliation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reconciled {
    pub listed: usize,
    pub woken: usize,
    /// Repositories that were not asked for, because GitHub takes few more requests of their account in this hour.
    pub waiting: usize,
}

impl fmt::Display for Reconciled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (listed, woken) = (self.listed, self.woken);
        write!(
            f,
            "Reconciled {listed} open pull requests; {woken} were woken."
        )?;
        match self.waiting {
            0 => Ok(()),
            waiting => write!(
                f,
                " Repositories that wait for GitHub's next hour: {waiting}."
            ),
        }
    }
}

/// The difference between what the store knows and what GitHub shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Difference {
    /// Of the pull request itself.
    Own,
    /// Only the base branch has moved, and with it settings or conflicts may be others.
    Base,
}

fn difference(state: Option<&State>, pull: &OpenPull) -> Option<Difference> {
    let Some(state) = state else {
        return Some(Difference::Own);
    };
    let ended = matches!(state.phase, Phase::Closed | Phase::Merged { .. });
    let changed = |facts: &Facts| {
        let is_moved = facts.head != pull.head || facts.base != pull.base;
        // A review, a comment, a draft that became ready.
        is_moved || facts.updated_at != pull.updated_at
    };
    if ended || state.facts.as_ref().is_none_or(changed) {
        return Some(Difference::Own);
    }
    let is_moved = |facts: &Facts| facts.base_head != pull.base_head;
    // A probe under way reads the base, too. One that waits behind a flood is not asked again.
    let is_unseen = state.probe.is_none() && state.facts.as_ref().is_some_and(is_moved);
    is_unseen.then_some(Difference::Base)
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
    let mut total = Reconciled::default();
    if world.reserve.wait(&world.accounts, None).await.is_some() {
        total.waiting = service.repositories.len();
        return Ok(total);
    }
    let places = world
        .accounts
        .list(&service.repositories, &service.directory)
        .await?;
    let alive = service.alive().await.unwrap_or_default();
    let mut lives: HashMap<u64, Vec<PullKey>> = HashMap::new();
    for key in alive.iter().filter_map(|one| pull_key(&one.key)) {
        lives.entry(key.repository).or_default().push(key);
    }
    for place in places {
        let lives = lives.remove(&place.id).unwrap_or_default();
        let wait = world.reserve.wait(&world.accounts, place.installation);
        if wait.await.is_some() {
            total.waiting += 1;
            continue;
        }
        match of_repository(service, &place, (round, all), lives).await {
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
    (round, all): (&str, bool),
    lives: Vec<PullKey>,
) -> Result<Reconciled, ApiError> {
    let github = service
        .world
        .accounts
        .github(place, &service.directory)
        .await?;
    let open = github.open_pulls(&place.name).await?;
    let mut due: Vec<(PullKey, String)> = Vec::new();
    let usual = || RECONCILIATION.to_owned();
    for pull in &open.pulls {
        let key = PullKey {
            repository: open.repository,
            number: pull.number,
        };
        let state = service.state(key).await.ok().flatten();
        match difference(state.as_ref(), pull) {
            Some(Difference::Base) if !all => due.push((key, format!("{FLOOD}{}", pull.base))),
            None if !all => {}
            _ => due.push((key, usual())),
        }
    }
    // Lives that go on, of pull requests that are not open any more.
    let listed: HashSet<u64> = open.pulls.iter().map(|pull| pull.number).collect();
    for key in lives {
        // One that was never read may not exist: its own timer asks again, ever more rarely.
        if !listed.contains(&key.number) && service.has_facts(key).await {
            due.push((key, usual()));
        }
    }
    let mut reconciled = Reconciled {
        listed: open.pulls.len(),
        ..Reconciled::default()
    };
    for (key, cause) in due {
        let delivery = format!("reconcile/{round}/{key}");
        match service.wake(key, &delivery, &cause).await {
            Ok(accepted) => reconciled.woken += accepted.woken,
            Err(error) => tracing::warn!("{key} was not woken: {error}"),
        }
    }
    Ok(reconciled)
}
