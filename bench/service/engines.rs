//! The service on each of its stores, measured in turn in one run: webhooks a second, what waits after a kill, memory, what an event
//! costs with growing stores, and what a second worker brings. Ratios and counts are the same on other machines, times are not.

mod report;

use super::super::measure::descendants_kib;
use super::super::standin::github::Fault;
use super::super::standin::serving::Server;
use super::super::table::median;
use super::filling::fill;
use super::shown::percentile;
use super::site::{Running, Site};
use super::{Idle, KNOWN, PROBE, PerEvent, all, hold, load, per_event, rush};
use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::json;
use std::time::{Duration, Instant};

/// The stores, each with the server of `tests/engines` that it needs.
const STORES: [(&str, Option<&str>); 3] = [
    ("SQLite", None),
    ("PostgreSQL", Some("postgres")),
    ("Restate", Some("restate")),
];
const ROUNDS: usize = 3;
/// Pull requests that webhooks are about, and webhooks of a round.
const BUSY: u64 = 256;
const WEBHOOKS: usize = 2_000;
/// Pull requests that all wait for a timer, or are all probed.
const PULLS: u64 = 1_000;
/// The life asks again so long after a failed probe.
const ASKED_AGAIN: Duration = Duration::from_secs(61);
/// GitHub answers a probe so late, as the real one does, so that a worker waits most of the time.
const LATE: Duration = Duration::from_millis(150);
/// Pull requests in the store whose events are counted.
const SIZES: [u64; 3] = [100, 1_000, 10_000];
/// A service without events is watched for so long. It looks for what others have written every ten seconds at the latest.
const LOOK: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_mins(10);

/// A store with what was measured on it.
struct Measured {
    name: &'static str,
    site: Site,
    rates: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    commits: Vec<f64>,
    /// Of the service, and of its server.
    peak_kib: u64,
    server_kib: u64,
    /// From the start after the kill until all were probed.
    recovery: Duration,
    /// Probes in a second with one worker and with two, in turn.
    workers: Vec<(f64, f64)>,
    /// For each size.
    costs: Vec<Cost>,
}

/// What an event costs, and a service without any.
struct Cost {
    /// Until the webhook is accepted.
    accepted: PerEvent,
    /// With its probe.
    done: PerEvent,
    /// Statements in a second without an event.
    idle: f64,
}

/// Measures all of it, or the stores that `ENGINES` names. Each figure is told at once, and the table at the end.
pub fn run() -> Result<String> {
    let chosen = chosen(std::env::var("ENGINES").ok().as_deref())?;
    let mut stores = Vec::new();
    for &(name, kind) in &chosen {
        eprintln!("{name}: {PULLS} pull requests");
        stores.push(Measured::new(name, site(kind, 0)?)?);
    }
    for round in 0..ROUNDS {
        for store in &mut stores {
            eprintln!("{}: {WEBHOOKS} webhooks", store.name);
            store.rush(round)?;
        }
    }
    recover(&mut stores)?;
    for round in 0..ROUNDS {
        for store in stores.iter_mut().filter(|one| one.site.server.is_some()) {
            eprintln!("{}: one worker, and two", store.name);
            let one = store.probed(1, round)?;
            let two = store.probed(2, round)?;
            eprintln!("  probes in a second: {one:.0}, {two:.0}");
            store.workers.push((one, two));
        }
    }
    for ((name, kind), store) in chosen.into_iter().zip(&mut stores) {
        store.costs = costs(name, kind)?;
    }
    Ok(report::render(&stores, load()))
}

type Store = (&'static str, Option<&'static str>);

/// The stores of a list such as `sqlite,restate`; all without one.
fn chosen(list: Option<&str>) -> Result<Vec<Store>> {
    let Some(list) = list else {
        return Ok(STORES.to_vec());
    };
    let named = list.split(',').map(|name| {
        let is_it = |store: &&Store| store.0.eq_ignore_ascii_case(name) || store.1 == Some(name);
        let found = STORES.iter().find(is_it).copied();
        found.with_context(|| {
            format!("ENGINES has {name:?}, expected some of sqlite,postgres,restate")
        })
    });
    named.collect()
}

fn site(kind: Option<&str>, drafts: u64) -> Result<Site> {
    let server = kind.map(Server::start).transpose();
    Site::on(server.map_err(|why| anyhow!(why))?, drafts)
}

impl Measured {
    /// A store that knows its pull requests, all of them drafts.
    fn new(name: &'static str, site: Site) -> Result<Self> {
        site.runtime.block_on(fill(&site.store(), 1..KNOWN))?;
        let first = site.world.pull + 1;
        site.add_drafts(first..first + PULLS);
        let store = Self {
            name,
            site,
            rates: Vec::new(),
            p50: Vec::new(),
            p99: Vec::new(),
            commits: Vec::new(),
            peak_kib: 0,
            server_kib: 0,
            recovery: Duration::ZERO,
            workers: Vec::new(),
            costs: Vec::new(),
        };
        let running = store.site.start()?;
        store.wake("known")?;
        running.settled(PULLS + KNOWN)?;
        drop(running);
        Ok(store)
    }

    fn numbers(&self) -> std::ops::Range<u64> {
        let first = self.site.world.pull + 1;
        first..first + PULLS
    }

    /// A webhook about each pull request.
    fn wake(&self, name: &str) -> Result<()> {
        let site = &self.site;
        let requests = self.numbers().map(|number| {
            let guid = format!("{name}-{number}");
            site.request(&site.delivery(site.shop(), number, guid))
        });
        site.runtime.block_on(all(requests.collect()))?;
        Ok(())
    }

    fn rush(&mut self, round: usize) -> Result<()> {
        let (site, first) = (&self.site, self.numbers().start);
        let running = site.start()?;
        let numbers = (first..first + BUSY).cycle().take(WEBHOOKS);
        let about = numbers.map(|number| (site.shop(), number));
        let rush = rush(&running, about, &format!("rush-{round}"))?;
        let webhooks = f64::from(u32::try_from(WEBHOOKS)?);
        let rate = webhooks / rush.seconds;
        let (p50, p99) = (percentile(&rush.times, 50), percentile(&rush.times, 99));
        eprintln!("  {rate:.0} a second, p50 {p50:.0} ms, p99 {p99:.0} ms");
        self.rates.push(rate);
        self.p50.push(p50);
        self.p99.push(p99);
        self.commits
            .push(f64::from(u32::try_from(rush.commits)?) / webhooks);
        self.peak_kib = self.peak_kib.max(rush.peak_kib);
        if let Some(server) = &site.server {
            self.server_kib = self.server_kib.max(descendants_kib(server.pid()));
        }
        drop(running);
        // What was held is probed now.
        site.world.github.struck();
        site.start()?.settled(0)?;
        Ok(())
    }

    /// Probes of all pull requests in a second, by so many workers beside a front.
    fn probed(&self, workers: usize, round: usize) -> Result<f64> {
        let site = &self.site;
        let running = site.start_as("front", workers)?;
        running.settled(0)?;
        site.world
            .github
            .on_graphql(PROBE, usize::MAX, Fault::Late(LATE));
        let begun = Instant::now();
        self.wake(&format!("probed-{workers}-{round}"))?;
        self.wait_for_probes()?;
        let seconds = begun.elapsed().as_secs_f64();
        running.settled(0)?;
        site.world.github.struck();
        Ok(f64::from(u32::try_from(PULLS)?) / seconds)
    }

    /// Waits until GitHub has been asked about all pull requests, since a rule was made for it.
    fn wait_for_probes(&self) -> Result<()> {
        let begun = Instant::now();
        let probes = || self.site.world.github.struck_so_far() as u64;
        while probes() < PULLS {
            ensure!(
                begun.elapsed() < LONGEST,
                "{}: {} probes",
                self.name,
                probes()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// Services with a thousand timers each are killed, and started when all of them are overdue.
fn recover(stores: &mut [Measured]) -> Result<()> {
    for store in stores.iter() {
        eprintln!("{}: {PULLS} timers, and a kill", store.name);
        let github = &store.site.world.github;
        let gone = json!({ "message": "Not Found" });
        github.on_graphql(PROBE, usize::MAX, Fault::Status(404, gone));
        let running = store.site.start()?;
        store.wake("failed")?;
        running.settled(0)?;
        drop(running);
        github.struck();
    }
    std::thread::sleep(ASKED_AGAIN);
    for store in stores {
        let github = &store.site.world.github;
        github.on_graphql(PROBE, usize::MAX, Fault::Late(Duration::ZERO));
        let begun = Instant::now();
        let running = store.site.start()?;
        store.wait_for_probes()?;
        store.recovery = begun.elapsed();
        let seconds = store.recovery.as_secs_f64();
        eprintln!("{}: all were probed after {seconds:.1} s", store.name);
        running.settled(0)?;
        store.site.world.github.struck();
    }
    Ok(())
}

/// The cost of an event with stores of growing sizes.
fn costs(name: &str, kind: Option<&str>) -> Result<Vec<Cost>> {
    let site = site(kind, KNOWN - 1)?;
    let (mut costs, mut filled) = (Vec::new(), 1);
    for pulls in SIZES {
        eprintln!("{name}: {pulls} pull requests in the store");
        let wanted = pulls - KNOWN + 1;
        site.runtime.block_on(fill(&site.store(), filled..wanted))?;
        filled = wanted;
        let cost = cost(&site, pulls)?;
        eprintln!(
            "  statements: {:.2}, {:.2} with the probe, {:.2} a second without events",
            cost.accepted.statements, cost.done.statements, cost.idle
        );
        costs.push(cost);
    }
    Ok(costs)
}

fn cost(site: &Site, pulls: u64) -> Result<Cost> {
    let running = site.start()?;
    running.settled(pulls)?;
    let (done, idle) = beside_idle(&running, &format!("done-{pulls}"))?;
    hold(&running, &format!("held-{pulls}"))?;
    let (accepted, _) = beside_idle(&running, &format!("accepted-{pulls}"))?;
    drop(running);
    site.world.github.struck();
    let running = site.start()?;
    running.settled(pulls).context("what was held")?;
    Ok(Cost {
        accepted,
        done,
        idle,
    })
}

/// The cost of an event beyond what the service does without one, just before; and the statements of that in a second. Medians of rounds.
fn beside_idle(running: &Running, name: &str) -> Result<(PerEvent, f64)> {
    let first = running.site.world.pull;
    let rounds = (0..ROUNDS).map(|round| {
        let idle = Idle::of(running, LOOK)?;
        let cost = per_event(
            running,
            first..first + KNOWN,
            &format!("{name}-{round}"),
            idle,
        )?;
        Ok((cost, idle.statements / LOOK.as_secs_f64()))
    });
    let rounds: Vec<(PerEvent, f64)> = rounds.collect::<Result<_>>()?;
    let of = |figure: fn(&(PerEvent, f64)) -> f64| median(rounds.iter().map(figure));
    let cost = PerEvent {
        statements: of(|one| one.0.statements),
        commits: of(|one| one.0.commits),
    };
    Ok((cost, of(|one| one.1)))
}
