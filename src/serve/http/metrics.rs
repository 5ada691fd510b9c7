//! The metrics in Prometheus' text format.

use super::{Counts, Shared};
use crate::serve::backend::{Backend, Metrics};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) async fn metrics<B: Backend>(State(shared): State<Arc<Shared<B>>>) -> Response {
    let listeners = shared.ui.seats.taken();
    let text = page(&shared.backend.metrics().await, &shared.counts, listeners);
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(CONTENT_TYPE, kind)], text).into_response()
}

fn page(metrics: &Metrics, counts: &Counts, listeners: usize) -> String {
    let mut page = Page::default();
    let backlog = &metrics.backlog;
    page.gauge(
        "queue_length",
        "Effects that are not done.",
        backlog.effects,
    );
    page.gauge("timers", "Timers that wait.", backlog.timers);
    let age = std::time::Duration::from_millis(u64::try_from(backlog.oldest_ms).unwrap_or(0));
    let help = "Age of the oldest effect that is not done.";
    page.gauge("event_age_seconds", help, age.as_secs_f64());
    page.gauge("sessions", "Sessions under way.", metrics.sessions);
    page.gauge("sessions_max", "Sessions at most.", metrics.max_sessions);
    let help = "Sessions that the quota of a day kept from beginning.";
    page.counter("sessions_over_quota_total", help, metrics.over_quota);
    let help = "Webhooks that concern no pull request in scope.";
    page.counter("webhooks_ignored_total", help, metrics.ignored);
    let help = "Effects that were given up.";
    page.counter("events_dropped_total", help, metrics.dropped);
    page.counter("cost_usd_total", "Cost of all sessions.", metrics.cost_usd);
    let help = "Requests that GitHub still takes.";
    page.labelled("github_rate_left", help, "account", &metrics.rate_left);
    let help = "Seconds for which reconciliation and probes without hurry wait, to leave requests for the rest.";
    page.labelled(
        "github_reserve_wait_seconds",
        help,
        "account",
        &metrics.rate_waits,
    );
    page.labelled(
        "pull_requests",
        "Pull requests by state.",
        "state",
        &metrics.pulls,
    );
    let (statements, commits) = (metrics.store.statements, metrics.store.commits);
    page.counter(
        "store_statements_total",
        "Statements to the store.",
        statements,
    );
    page.counter("store_commits_total", "Durable commits.", commits);
    let help = "Pages of the dashboard that hear of changes.";
    page.gauge("dashboard_listeners", help, listeners);
    add_requests(&mut page, counts);
    page.0
}

fn add_requests(page: &mut Page, counts: &Counts) {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    for (name, help, counter) in [
        (
            "webhooks_total",
            "Webhooks that were stored.",
            &counts.webhooks,
        ),
        (
            "webhooks_duplicate_total",
            "Webhooks that were stored before.",
            &counts.duplicates,
        ),
        (
            "webhooks_unsigned_total",
            "Webhooks without a right signature.",
            &counts.unsigned,
        ),
        (
            "requests_unauthorized_total",
            "Requests without a right token.",
            &counts.unauthorized,
        ),
        (
            "requests_limited_total",
            "Requests above a rate.",
            &counts.limited,
        ),
    ] {
        page.counter(name, help, read(counter));
    }
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, help: &str, kind: &str) {
        let lines = format!(
            "# HELP opencode_reviewer_{name} {help}\n# TYPE opencode_reviewer_{name} {kind}\n"
        );
        self.0.push_str(&lines);
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, help, "gauge");
        self.line(name, "", value);
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, help, "counter");
        self.line(name, "", value);
    }

    fn labelled(&mut self, name: &str, help: &str, label: &str, values: &[(String, u64)]) {
        self.head(name, help, "gauge");
        for (of, value) in values {
            let of = of
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', " ");
            self.line(name, &format!("{{{label}=\"{of}\"}}"), value);
        }
    }

    fn line(&mut self, name: &str, labels: &str, value: impl Display) {
        // Writing to a string does not fail.
        let _written = writeln!(self.0, "opencode_reviewer_{name}{labels} {value}");
    }
}
