//! What the lifecycle service costs: statements and commits per event, memory and webhooks a second with growing stores, and
//! the order of probes in a flood. Counts decide; the machine's own speed is only printed.

mod filling;
mod flood;
mod site;

use super::measure::own_peak_kib;
use super::standin::github::Fault;
use anyhow::{Context as _, Result, ensure};
use filling::{MANY, fill};
use flood::Flood;
use site::{Figures, Running, SHOP, Site, sent};
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Pull requests in the store.
const SIZES: [u64; 3] = [100, 1_000, 10_000];
/// Those of them that the stand-in knows, and that get events.
const KNOWN: u64 = 50;
const CONNECTIONS: usize = 64;
const WEBHOOKS: u64 = 5_000;
/// The service executes so many effects at once. When all of them wait for GitHub, it does nothing but accept.
const AT_ONCE: usize = 16;
/// Between two events whose statements are counted: the loop of the service serves several at once where it can, and how many is
/// chance.
const PAUSE: Duration = Duration::from_millis(50);
/// A word that only the query of a probe has.
const PROBE: &str = "isMergeQueueEnabled";

/// What the project wants to stay under. Printed beside the figures, never enforced.
const MOST_GROWTH: f64 = 1.05;
const MOST_MIB: f64 = 150.0;
const LEAST_RATE: f64 = 500.0;

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

/// Measures all of it. Returns the table.
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
    let rush = rush(&site, filled)?;
    eprintln!("a push to the base of {} pull requests", flood::PULLS);
    let flood = flood::run()?;
    Ok(render(&rows, &rush, &flood))
}

fn row(site: &Site, pulls: u64) -> Result<Row> {
    let running = site.start()?;
    running.settled(pulls)?;
    let numbers = || site.world.pull..site.world.pull + KNOWN;
    let done = per_event(&running, numbers(), &format!("done-{pulls}"))?;
    drop(running);
    let running = site.start()?;
    running.settled(pulls)?;
    hold(&running, &format!("held-{pulls}"))?;
    let accepted = per_event(&running, numbers(), &format!("accepted-{pulls}"))?;
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

/// One webhook after the other, and then until nothing more happens by itself, unless GitHub is held.
fn per_event(running: &Running, numbers: Range<u64>, name: &str) -> Result<PerEvent> {
    let own = own_cost(running)?;
    let before = running.figures()?;
    let is_held = before.queue > 0;
    for number in numbers {
        let guid = format!("{name}-{number}");
        let delivery = running.site.delivery(running.site.shop(), number, guid);
        ensure!(running.send(&delivery)? == 1, "nobody was woken");
        std::thread::sleep(PAUSE);
    }
    let (asked, after) = match is_held {
        true => (1, running.figures()?),
        false => running.settled(0)?,
    };
    let events = float(KNOWN);
    let statements = after.statements - before.statements;
    Ok(PerEvent {
        statements: float(statements.saturating_sub(asked * own)) / events,
        commits: float(after.commits - before.commits) / events,
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

/// Webhooks about as many pull requests, accepted while GitHub is held.
fn rush(site: &Site, pulls: u64) -> Result<Rush> {
    let running = site.start()?;
    running.settled(0)?;
    hold(&running, "rush")?;
    let numbers = (1..pulls).cycle().skip(AT_ONCE);
    let deliveries = (0..WEBHOOKS).zip(numbers).map(|(n, number)| {
        let delivery = site.delivery(MANY, number, format!("rush-webhook-{n}"));
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

fn mib(kib: u64) -> f64 {
    float(kib) / 1024.0
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "missed" }
}

fn render(rows: &[Row], rush: &Rush, flood: &Flood) -> String {
    let mut out =
        format!("\nThe service with drafts of {SHOP} and another repository in its store\n\n");
    targets(&mut out, rows, rush, flood);
    let _ = writeln!(
        out,
        "\n{:<40}{:>12}{:>12}{:>12}",
        "pull requests in the store", rows[0].pulls, rows[1].pulls, rows[2].pulls
    );
    let mut line = |name: &str, of: &dyn Fn(&Row) -> String| {
        let cells = rows.iter().map(|row| format!("{:>12}", of(row)));
        let _ = writeln!(out, "{name:<40}{}", cells.collect::<String>());
    };
    line("commits per accepted webhook", &|row| {
        format!("{:.2}", row.accepted.commits)
    });
    line("statements per accepted webhook", &|row| {
        format!("{:.2}", row.accepted.statements)
    });
    line("commits per event with its probe", &|row| {
        format!("{:.2}", row.done.commits)
    });
    line("statements per event with its probe", &|row| {
        format!("{:.2}", row.done.statements)
    });
    line("start", &|row| format!("{:.2} s", row.start.as_secs_f64()));
    line("peak memory of the service", &|row| {
        format!("{:.0} MB", mib(row.peak_kib))
    });
    line("load of the machine", &|row| format!("{:.1}", row.load));
    times(&mut out, rush, flood);
    out
}

fn targets(out: &mut String, rows: &[Row], rush: &Rush, flood: &Flood) {
    let mut line = |name: &str, value: String, target: String, met: bool| {
        let _ = writeln!(
            out,
            "{name:<48}{value:>10}   target: {target}; {}",
            verdict(met)
        );
    };
    let commits = rows.iter().map(|row| row.accepted.commits);
    let commits = commits.fold(0.0, f64::max);
    line(
        "commits per accepted webhook, at most",
        format!("{commits:.2}"),
        "1".to_owned(),
        commits <= 1.0,
    );
    let growth = |of: fn(&Row) -> f64| {
        let values: Vec<f64> = rows.iter().map(of).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        values.iter().copied().fold(0.0, f64::max) / least
    };
    let growths = [
        (
            "statements per accepted webhook, most to least",
            growth(|row| row.accepted.statements),
        ),
        ("  with its probe", growth(|row| row.done.statements)),
    ];
    for (name, growth) in growths {
        line(
            name,
            format!("{growth:.2}"),
            format!("at most {MOST_GROWTH}"),
            growth <= MOST_GROWTH,
        );
    }
    let ahead = flood.ahead.iter().max().copied().unwrap_or_default();
    line(
        "probes of a flood ahead of another, at most",
        ahead.to_string(),
        "1".to_owned(),
        ahead <= 1,
    );
    let peak = rows
        .iter()
        .map(|row| row.peak_kib)
        .fold(rush.peak_kib, u64::max);
    line(
        "peak memory of the service",
        format!("{:.0} MB", mib(peak)),
        format!("at most {MOST_MIB} MB"),
        mib(peak) <= MOST_MIB,
    );
    let rate = float(WEBHOOKS) / rush.seconds;
    line(
        "webhooks accepted in a second",
        format!("{rate:.0}"),
        format!("at least {LEAST_RATE}"),
        rate >= LEAST_RATE,
    );
}

fn times(out: &mut String, rush: &Rush, flood: &Flood) {
    let percentile = |percent: usize| {
        let at = (rush.times.len().saturating_sub(1)) * percent / 100;
        rush.times
            .get(at)
            .copied()
            .unwrap_or_default()
            .as_secs_f64()
            * 1e3
    };
    let _ = writeln!(
        out,
        "\n{WEBHOOKS} signed webhooks on {CONNECTIONS} connections, 10000 pull requests, GitHub silent: {:.1} s; p50 {:.0} ms, p99 {:.0} ms; \
         {} commits, {:.2} statements each; load {:.1}",
        rush.seconds,
        percentile(50),
        percentile(99),
        rush.commits,
        float(rush.statements) / float(WEBHOOKS),
        rush.load
    );
    let _ = writeln!(
        out,
        "A push woke {} pull requests, all probed in {:.1} s; {} others came meanwhile, and waited for {:?} of the flood after \
         they were accepted; load {:.1}",
        flood.woken,
        flood.took.as_secs_f64(),
        flood.ahead.len(),
        flood.ahead,
        flood.load
    );
}
