//! What the lifecycle service costs: statements and commits per event, memory and webhooks a second with growing stores, and
//! the order of probes in a flood. Counts decide; the machine's own speed is only printed.

mod configuration;
pub mod engines;
mod filling;
mod flood;
mod report;
mod shown;
mod site;

use super::measure::own_peak_kib;
use super::standin::github::Fault;
use anyhow::{Context as _, Result, ensure};
use filling::{MANY, fill};
use site::{Figures, Running, Site, sent};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Pull requests in the store.
const SIZES: [u64; 3] = [100, 1_000, 10_000];
/// Those of them that the stand-in knows, and that get events.
const KNOWN: u64 = 50;
/// Events of each of them.
const EVENTS: u64 = 3;
const CONNECTIONS: usize = 64;
const WEBHOOKS: usize = 5_000;
/// The service executes so many effects at once. When all of them wait for GitHub, it does nothing but accept.
const AT_ONCE: usize = 16;
/// Between two events whose statements are counted: the loop of the service serves several at once where it can, and how many is
/// chance.
const PAUSE: Duration = Duration::from_millis(50);
/// A word that only the query of a probe has.
const PROBE: &str = "isMergeQueueEnabled";

/// What events cost with a store of one size.
struct Row {
    pulls: u64,
    /// Until the webhook is accepted.
    accepted: PerEvent,
    /// With the probe that it causes, and its outcome.
    done: PerEvent,
    start: Duration,
    peak_kib: u64,
    load: f64,
}

#[derive(Clone, Copy)]
struct PerEvent {
    statements: f64,
    commits: f64,
}

/// Webhooks at the same time.
struct Rush {
    seconds: f64,
    /// Sorted.
    times: Vec<Duration>,
    commits: u64,
    statements: u64,
    peak_kib: u64,
    load: f64,
}

/// Measures all of it on a file. Returns the table.
pub fn run() -> Result<String> {
    let site = Site::new(KNOWN - 1)?;
    let (mut rows, mut filled) = (Vec::new(), 1);
    for pulls in SIZES {
        let wanted = pulls - KNOWN + 1;
        eprintln!("a store with {pulls} pull requests");
        site.runtime.block_on(fill(&site.store(), filled..wanted))?;
        filled = wanted;
        rows.push(row(&site, pulls)?);
    }
    eprintln!("{WEBHOOKS} webhooks on {CONNECTIONS} connections");
    let numbers = (1..filled).cycle().skip(AT_ONCE);
    let about = numbers.map(|number| (MANY, number));
    let rush = rush(&site.start()?, about.take(WEBHOOKS), "rush")?;
    eprintln!("a push to the base of {} pull requests", flood::PULLS);
    let flood = flood::run()?;
    Ok(report::render(&rows, &rush, &flood))
}

fn row(site: &Site, pulls: u64) -> Result<Row> {
    let running = site.start()?;
    running.settled(pulls)?;
    let numbers = || site.world.pull..site.world.pull + KNOWN;
    let done = per_event(&running, numbers(), &format!("done-{pulls}"), Idle::NONE)?;
    drop(running);
    let running = site.start()?;
    running.settled(pulls)?;
    hold(&running, &format!("held-{pulls}"))?;
    let accepted = per_event(
        &running,
        numbers(),
        &format!("accepted-{pulls}"),
        Idle::NONE,
    )?;
    let row = Row {
        pulls,
        accepted,
        done,
        start: running.start,
        peak_kib: own_peak_kib(running.id()),
        load: load(),
    };
    drop(running);
    site.world.github.struck();
    // What was held is probed now.
    site.start()?.settled(pulls)?;
    Ok(row)
}

/// From now on GitHub does not answer, and as many probes wait for it as there are at once.
fn hold(running: &Running, name: &str) -> Result<()> {
    let github = &running.site.world.github;
    let held = || github.with(|state| state.struck.len());
    let before = held();
    github.on_graphql(PROBE, usize::MAX, Fault::Hang);
    for number in (1..).take(AT_ONCE) {
        let guid = format!("{name}-{number}");
        running.send(&running.site.delivery(MANY, number, guid))?;
    }
    let begun = Instant::now();
    while held() < before + AT_ONCE {
        ensure!(begun.elapsed().as_secs() < 20, "no probe was held");
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Statements and commits of a service that has nothing to do, in a time in which all that it does again and again is done as often as
/// in any other such time. One process alone waits for its own events; where others may write, it looks.
#[derive(Clone, Copy)]
struct Idle {
    time: Duration,
    statements: f64,
    commits: f64,
}

impl Idle {
    const NONE: Self = Self {
        time: Duration::ZERO,
        statements: 0.0,
        commits: 0.0,
    };

    /// Looks at a service that does nothing else for a while.
    fn of(running: &Running, time: Duration) -> Result<Self> {
        let own = float(own_cost(running)?);
        let before = running.figures()?;
        std::thread::sleep(time);
        let after = running.figures()?;
        Ok(Self {
            time,
            statements: (float(after.statements - before.statements) - own).max(0.0),
            commits: float(after.commits - before.commits),
        })
    }

    /// Waits for the end of such a time since `begun`; how many of them there were.
    fn complete(self, begun: Instant) -> f64 {
        let mut times = 0;
        while self.time * times < begun.elapsed() && self.time > Duration::ZERO {
            times += 1;
        }
        std::thread::sleep((self.time * times).saturating_sub(begun.elapsed()));
        f64::from(times)
    }
}

/// One webhook after the other, and then until nothing more happens by itself, unless GitHub is held.
fn per_event(running: &Running, numbers: Range<u64>, name: &str, idle: Idle) -> Result<PerEvent> {
    let own = own_cost(running)?;
    let (begun, before) = (Instant::now(), running.figures()?);
    let is_held = before.queue > 0;
    for (n, number) in (0..EVENTS).flat_map(|n| numbers.clone().map(move |number| (n, number))) {
        let guid = format!("{name}-{number}-{n}");
        let delivery = running.site.delivery(running.site.shop(), number, guid);
        ensure!(running.send(&delivery)? == 1, "nobody was woken");
        std::thread::sleep(PAUSE);
    }
    let asked = if is_held { 0 } else { running.settled(0)?.0 };
    let (events, times) = (float(KNOWN * EVENTS), idle.complete(begun));
    let after = running.figures()?;
    let own = own * (asked + 1);
    let statements = float((after.statements - before.statements).saturating_sub(own));
    let commits = float(after.commits - before.commits);
    Ok(PerEvent {
        statements: (statements - idle.statements * times).max(0.0) / events,
        commits: (commits - idle.commits * times).max(0.0) / events,
    })
}

/// The statements of one look at the figures.
fn own_cost(running: &Running) -> Result<u64> {
    let look = || -> Result<u64> {
        let first: Figures = running.figures()?;
        Ok(running.figures()?.statements - first.statements)
    };
    // The loop looks at the store now and then, so the least counts.
    let looks = [look()?, look()?, look()?];
    looks.into_iter().min().context("no look")
}

/// Webhooks about these pull requests, accepted while GitHub is held.
fn rush<'a>(
    running: &Running,
    about: impl Iterator<Item = ((u64, &'a str), u64)>,
    name: &str,
) -> Result<Rush> {
    running.settled(0)?;
    hold(running, name)?;
    let site = running.site;
    let deliveries = about.enumerate().map(|(n, (repository, number))| {
        let delivery = site.delivery(repository, number, format!("{name}-webhook-{n}"));
        site.request(&delivery)
    });
    let requests: Vec<_> = deliveries.collect();
    let before = running.figures()?;
    let begun = Instant::now();
    let mut times = site.runtime.block_on(all(requests))?;
    let seconds = begun.elapsed().as_secs_f64();
    let after = running.figures()?;
    times.sort();
    Ok(Rush {
        seconds,
        times,
        commits: after.commits - before.commits,
        statements: after.statements - before.statements,
        peak_kib: own_peak_kib(running.id()),
        load: load(),
    })
}

/// Sends all of them, each connection one at a time; the time of each.
async fn all(requests: Vec<reqwest::RequestBuilder>) -> Result<Vec<Duration>> {
    let requests: Vec<_> = requests
        .into_iter()
        .map(|one| Mutex::new(Some(one)))
        .collect();
    let (requests, next) = (Arc::new(requests), Arc::new(AtomicUsize::new(0)));
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let (requests, next) = (Arc::clone(&requests), Arc::clone(&next));
        connections.push(tokio::spawn(async move {
            let mut times = Vec::new();
            while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                let request = request.lock().expect("no panic").take();
                let begun = Instant::now();
                let woken = sent(request.context("a request once")?).await?;
                ensure!(woken == 1, "nobody was woken");
                times.push(begun.elapsed());
            }
            Ok(times)
        }));
    }
    let mut times = Vec::new();
    for connection in connections {
        times.extend(connection.await??);
    }
    Ok(times)
}

/// Of the last minute: other work on the machine counts in the times.
fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split(' ').next().and_then(|first| first.parse().ok());
    first.unwrap_or(f64::NAN)
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn float(number: u64) -> f64 {
    number as f64
}
