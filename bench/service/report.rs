//! The figures of the service as a table: what is aimed at first, then every number.

use super::configuration::SHOP;
use super::flood::Flood;
use super::shown::{growth, mib, percentile, verdict};
use super::{CONNECTIONS, Row, Rush, WEBHOOKS, float};
use std::fmt::Write as _;

/// What the project wants to stay under. Printed beside the figures, never enforced.
const MOST_GROWTH: f64 = 1.05;
const MOST_MIB: f64 = 150.0;
const LEAST_RATE: f64 = 500.0;

pub fn render(rows: &[Row], rush: &Rush, flood: &Flood) -> String {
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
    let growth = |of: fn(&Row) -> f64| growth(rows.iter().map(of));
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
    let rate = float(WEBHOOKS as u64) / rush.seconds;
    line(
        "webhooks accepted in a second",
        format!("{rate:.0}"),
        format!("at least {LEAST_RATE}"),
        rate >= LEAST_RATE,
    );
}

fn times(out: &mut String, rush: &Rush, flood: &Flood) {
    let _ = writeln!(
        out,
        "\n{WEBHOOKS} signed webhooks on {CONNECTIONS} connections, 10000 pull requests, GitHub silent: {:.1} s; p50 {:.0} ms, p99 {:.0} ms; \
         {} commits, {:.2} statements each; load {:.1}",
        rush.seconds,
        percentile(&rush.times, 50),
        percentile(&rush.times, 99),
        rush.commits,
        float(rush.statements) / float(WEBHOOKS as u64),
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
