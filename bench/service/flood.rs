//! A push to the base of many pull requests, and others that come while it is dealt with: the order of probes as GitHub sees
//! it.

use super::super::standin::github::{Act, Fault};
use super::site::{Running, Site};
use super::{PROBE, load};
use anyhow::{Context as _, Result, ensure};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Onto the branch that is pushed to.
pub const PULLS: u64 = 1_000;
/// The first number of those that come meanwhile, and how many there are.
const OTHER: u64 = 900_000;
const OTHERS: u64 = 20;

/// The order of probes in a flood.
pub struct Flood {
    pub woken: u64,
    /// For each other pull request, the probes of the flood between its acceptance and its own.
    pub ahead: Vec<usize>,
    pub took: Duration,
    pub load: f64,
}

/// The probes in the order in which GitHub answered them; `None`: one of the flood.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Option<u64>>>>);

impl Seen {
    fn note(&self, other: Option<u64>) -> Fault {
        let seen = self.clone();
        Fault::Meanwhile(Act::new(move |_| seen.with(|list| list.push(other))))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Vec<Option<u64>>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn of_flood(&self) -> u64 {
        self.with(|list| list.iter().filter(|one| one.is_none()).count() as u64)
    }
}

fn until(what: &str, is_there: impl Fn() -> bool) -> Result<()> {
    let begun = Instant::now();
    while !is_there() {
        ensure!(begun.elapsed() < Duration::from_mins(5), "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

pub fn run() -> Result<Flood> {
    let site = Site::new(PULLS - 1)?;
    let running = site.start()?;
    // The service finds them by itself.
    running.settled(PULLS)?;
    let seen = Seen::default();
    let github = &site.world.github;
    for other in OTHER..OTHER + OTHERS {
        let word = format!("\"number\":{other},");
        github.on_graphql(&word, usize::MAX, seen.note(Some(other)));
    }
    github.on_graphql(PROBE, usize::MAX, seen.note(None));
    site.add_drafts(OTHER..OTHER + OTHERS);
    let begun = Instant::now();
    let woken = push(&running)?;
    let mut accepted = Vec::new();
    for (others, other) in (1..).zip(OTHER..OTHER + OTHERS) {
        // Spread over the first half of the flood.
        let due = others * PULLS / (2 * OTHERS);
        until("the flood goes on", || seen.of_flood() >= due)?;
        let delivery = site.delivery(site.shop(), other, format!("other-{other}"));
        ensure!(running.send(&delivery)? == 1, "nobody was woken");
        accepted.push((other, seen.with(|list| list.len())));
        let is_there = || seen.with(|list| list.contains(&Some(other)));
        until("the probe of another", is_there)?;
    }
    ensure!(seen.of_flood() < woken, "the flood was over too early");
    until("the end of the flood", || seen.of_flood() >= woken)?;
    let took = begun.elapsed();
    let ahead = accepted.into_iter().map(|(other, at)| {
        seen.with(|list| {
            let own = list.iter().position(|one| *one == Some(other));
            let own = own.context("a probe that was seen")?;
            let between = list.get(at..own).unwrap_or_default();
            Ok(between.iter().filter(|one| one.is_none()).count())
        })
    });
    Ok(Flood {
        woken,
        ahead: ahead.collect::<Result<_>>()?,
        took,
        load: load(),
    })
}

/// Tells of a push to the base branch; the number of pull requests that it wakes.
fn push(running: &Running) -> Result<u64> {
    let site = running.site;
    let branch = site.world.github.with(|state| {
        let own = &state.pulls[&site.world.pull];
        own.base.branch.clone()
    });
    let (before, after) = ("1".repeat(40), "2".repeat(40));
    let mut delivery = site.delivery(site.shop(), 1, "the-push".to_owned());
    let mut body: serde_json::Value = serde_json::from_slice(&delivery.body)?;
    body["ref"] = format!("refs/heads/{branch}").into();
    (body["before"], body["after"]) = (before.into(), after.into());
    body["deleted"] = false.into();
    delivery.body = body.to_string().into_bytes();
    "push".clone_into(&mut delivery.event);
    running.send(&delivery)
}
