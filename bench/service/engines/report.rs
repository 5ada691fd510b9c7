//! The figures of the stores as a table: what is aimed at first, then every number.

use super::super::shown::{growth, mib, verdict};
use super::{BUSY, Cost, LATE, Measured, PULLS, SIZES, WEBHOOKS};
use crate::table::median;
use std::fmt::Write as _;

/// What the project wants to stay under. Printed beside the figures, never enforced.
const MOST_GROWTH: f64 = 1.05;
const LEAST_OF_TWO: f64 = 1.5;

pub fn render(stores: &[Measured], load: f64) -> String {
    let mut out =
        String::from("\nThe service on each store, in turn, between the same stand-ins\n\n");
    targets(&mut out, stores);
    let heads = stores.iter().map(|store| format!("{:>12}", store.name));
    let _ = writeln!(out, "\n{:<48}{}", "", heads.collect::<String>());
    speed(&mut out, stores);
    costs(&mut out, stores);
    let _ = writeln!(
        out,
        "\n{WEBHOOKS} signed webhooks on 64 connections about {BUSY} pull requests, GitHub silent. Timers: from the start after the kill \
         until GitHub was asked about all of {PULLS}.\nWorkers: beside a front, while GitHub answers after {} ms. Statements: with SQLite \
         and PostgreSQL to the database, with Restate requests to its server. Load {load:.1}",
        LATE.as_millis()
    );
    out
}

fn targets(out: &mut String, stores: &[Measured]) {
    let mut line = |name: &str, value: f64, target: String, met: bool| {
        let _ = writeln!(
            out,
            "{name:<60}{value:>8.2}   target: {target}; {}",
            verdict(met)
        );
    };
    for store in stores {
        let grown = growth(store.costs.iter().map(|one| one.accepted.statements));
        let name = format!("{}: statements per webhook, most to least", store.name);
        line(
            &name,
            grown,
            format!("at most {MOST_GROWTH}"),
            grown <= MOST_GROWTH,
        );
        let grown = growth(store.costs.iter().map(|one| one.done.statements));
        line(
            "  with its probe",
            grown,
            format!("at most {MOST_GROWTH}"),
            grown <= MOST_GROWTH,
        );
    }
    for store in stores.iter().filter(|store| !store.workers.is_empty()) {
        let ratio = of_workers(store);
        let name = format!("{}: probes by two workers to one", store.name);
        line(
            &name,
            ratio,
            format!("at least {LEAST_OF_TWO}"),
            ratio >= LEAST_OF_TWO,
        );
    }
}

/// The median of the rounds.
fn of_workers(store: &Measured) -> f64 {
    median(store.workers.iter().map(|(one, two)| two / one))
}

/// A line of the table, a cell for each store.
fn line(out: &mut String, stores: &[Measured], name: &str, of: impl Fn(&Measured) -> String) {
    let cells = stores.iter().map(|store| format!("{:>12}", of(store)));
    let _ = writeln!(out, "{name:<48}{}", cells.collect::<String>());
}

fn speed(out: &mut String, stores: &[Measured]) {
    let rate = |store: &Measured| median(store.rates.iter().copied());
    let first = stores.first().map_or(f64::NAN, rate);
    line(out, stores, "webhooks accepted in a second", |store| {
        format!("{:.0}", rate(store))
    });
    line(out, stores, "  to the first store", |store| {
        format!("{:.2}", rate(store) / first)
    });
    let ms = |values: &[f64]| format!("{:.0} ms", median(values.iter().copied()));
    line(out, stores, "  p50", |store| ms(&store.p50));
    line(out, stores, "  p99", |store| ms(&store.p99));
    line(out, stores, "commits per accepted webhook", |store| {
        format!("{:.2}", median(store.commits.iter().copied()))
    });
    line(
        out,
        stores,
        &format!("{PULLS} overdue timers after kill -9"),
        |store| format!("{:.1} s", store.recovery.as_secs_f64()),
    );
    line(out, stores, "peak memory of the service", |store| {
        format!("{:.0} MB", mib(store.peak_kib))
    });
    line(out, stores, "memory of its server", |store| {
        match store.server_kib {
            0 => "–".to_owned(),
            kib => format!("{:.0} MB", mib(kib)),
        }
    });
    let probes = |store: &Measured, of: fn(&(f64, f64)) -> f64| {
        if store.workers.is_empty() {
            "–".to_owned()
        } else {
            format!("{:.0}", median(store.workers.iter().map(of)))
        }
    };
    line(out, stores, "probes in a second, one worker", |store| {
        probes(store, |one| one.0)
    });
    line(out, stores, "  two workers", |store| {
        probes(store, |one| one.1)
    });
    line(out, stores, "  two to one", |store| {
        if store.workers.is_empty() {
            "–".to_owned()
        } else {
            format!("{:.2}", of_workers(store))
        }
    });
}

fn costs(out: &mut String, stores: &[Measured]) {
    let mut rows = |name: &str, of: fn(&Cost) -> f64| {
        for (at, pulls) in SIZES.iter().enumerate() {
            let name = format!("{name}, {pulls} pull requests");
            line(out, stores, &name, |store| match store.costs.get(at) {
                Some(cost) => format!("{:.2}", of(cost)),
                None => "–".to_owned(),
            });
        }
    };
    rows("statements per webhook", |one| one.accepted.statements);
    rows("  with its probe", |one| one.done.statements);
    rows("commits per event with its probe", |one| one.done.commits);
    rows("statements a second, no event", |one| one.idle);
}
