//! `make demo SERVE=1`: the lifecycle service with its store, from the opened pull request to its merge. Quality requests changes, the
//! author's agent fixes, quality approves and calls security, security approves, the service merges.

use super::findings::INJECTION;
use super::fixing::thread_about;
use super::page::{BOLD, Page};
use super::posted::Posted;
use super::standin::model::{Call, Script};
use super::standin::serving::{self, AGENTS, Server, Serving};
use super::standin::shop;
use super::timeline::Timeline;
use reviewer_text::count::plural;
use serde_json::{Value, json};
use std::time::Instant;

/// The statement with the defect, and without it.
const STATEMENT: &str =
    "`SELECT id, user_id, cents FROM orders WHERE user_id = ${userId} AND note LIKE '%${text}%'`,";
const BOUND: &str = "\"SELECT id, user_id, cents FROM orders WHERE user_id = $1 AND note LIKE $2\",\n    [userId, `%${text}%`],";
/// The part of it that only the fixed code has.
pub(super) const FIXED: &str = "AND note LIKE $2";

/// Runs the demo: `store` is `postgres` or `restate`, or anything else for a file and a single process.
pub fn demo(page: &Page, store: &str) -> Result<(), String> {
    let world = serving::world(script(), FIXED);
    let server = match store {
        "postgres" | "restate" => Some(Server::start(store)?),
        _ => None,
    };
    let mut serving = match &server {
        Some(server) => Serving::together(world, server),
        None => Serving::on(world),
    };
    opening(page, &serving);
    let begun = Instant::now();
    serving.open();
    if server.is_some() {
        kill_a_worker(&mut serving)?;
    }
    let mut timeline = Timeline::default();
    Timeline::heading(page);
    let ended = serving.reach("merged", |serving| {
        let history = serving.asks("history?most=1000");
        let writes = serving.world.github.take_writes();
        let posted = serving.world.github.with(|state| {
            let posted = writes.iter().filter_map(|write| Posted::of(state, write));
            posted.collect()
        });
        timeline.show(page, &history, posted);
        !timeline.needs_people()
    });
    timeline.show_posted(page, |_| true);
    let took = begun.elapsed();
    explanation(page, &serving.asks("explain"));
    let status = serving.asks("status");
    let parts = [
        format!("{} delivered", plural(serving.accepted, "webhook")),
        plural(timeline.sessions, "session"),
        plural(serving.world.model.requests().len(), "model request"),
        plural(serving.world.github.requests().len(), "GitHub request"),
        format!("{:.1} s", took.as_secs_f64()),
        format!("state {}", status["state"].as_str().unwrap_or("unknown")),
    ];
    println!("\n{}", page.paint(BOLD, &parts.join(" · ")));
    if let Err(state) = ended {
        return Err(format!(
            "the pull request stays {state} instead of being merged; the explanation above says what it waits for."
        ));
    }
    judge(&mut serving, &status)
}

/// Two fronts and two workers share the store. The worker that runs the first session is killed.
fn kill_a_worker(serving: &mut Serving) -> Result<(), String> {
    let mut died = false;
    let reached = serving.until(|serving| {
        died = serving.worker_dies();
        died
    });
    if !reached {
        return Err("no worker ran a session.".to_owned());
    }
    println!(
        "Two fronts and two workers share the store. The worker that runs the first review is killed now."
    );
    Ok(())
}

fn opening(page: &Page, serving: &Serving) {
    let agents: Vec<String> = AGENTS
        .iter()
        .map(|(name, login)| format!("{name} as {login}"))
        .collect();
    page.title(&serving.world);
    println!(
        "`opencode-reviewer serve` runs, with the agents {}.",
        agents.join(", ")
    );
    println!(
        "The settings of main: quality reviews, and may call security; the author's agent fixes; the service merges."
    );
}

fn explanation(page: &Page, told: &Value) {
    page.heading("Its state, explained by the service");
    let words = |value: &Value| {
        let words = value.as_array().into_iter().flatten();
        let words: Vec<&str> = words.filter_map(Value::as_str).collect();
        if words.is_empty() {
            "nothing".to_owned()
        } else {
            words.join("; ")
        }
    };
    let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    println!("{}: {}", of(&told["state"]), of(&told["why"]));
    println!("It waits for {}.", of(&told["waitsFor"]["what"]));
    println!("What would move it: {}.", words(&told["movedBy"]));
}

/// Quality reports the injection while it is in the code, and the author's agent binds the values.
pub(super) fn script() -> Script {
    Script::new()
        .threads(|request| {
            let resolve = |thread| {
                let by = json!({ "file": INJECTION.file, "quote": FIXED });
                let reason = "Both values are parameters now.";
                let arguments = json!({ "thread_id": thread, "reason": reason, "fixed_by": by });
                Call::new("github_resolve_thread", arguments)
            };
            let thread = thread_about(request, FIXED);
            thread.map(resolve).into_iter().collect()
        })
        .finds_fixed(true)
        .pass(1, |request| {
            if request.raw().to_string().contains(FIXED) {
                return Vec::new();
            }
            let line = shop::line_of(INJECTION.file, INJECTION.code);
            vec![Call::new("github_post_review_comment", INJECTION.at(line))]
        })
        .sums_up(|request| {
            if request.raw().to_string().contains(FIXED) {
                return "Nothing to report.";
            }
            "The search text is part of the SQL statement, so whoever types into the search box writes the query."
        })
        .fixes(|words| {
            let is_known = words.contains(INJECTION.claim);
            is_known.then_some((INJECTION.file, STATEMENT, BOUND))
        })
}

/// The scripted life is known: the service merged the fixed code after three reviews, and ended cleanly.
fn judge(serving: &mut Serving, status: &Value) -> Result<(), String> {
    let outcomes = status["reviewOutcomes"].as_array().into_iter().flatten();
    let decided: Vec<String> = outcomes
        .map(|one| format!("{} {}", one["reviewer"], one["decision"]).replace('"', ""))
        .collect();
    let expected = [
        "quality changes_requested",
        "quality approved",
        "security approved",
    ];
    if decided != expected {
        return Err(format!(
            "the reviewers decided otherwise: {}.",
            decided.join(", ")
        ));
    }
    if status["mergeType"] != "auto" {
        return Err("somebody else than the service merged.".into());
    }
    let place = format!("main:{}", INJECTION.file);
    let merged = serving
        .world
        .github
        .with(|state| state.git.ask(&["show", &place]));
    if !merged.is_some_and(|code| code.contains(BOUND)) {
        return Err("the base branch does not have the fix.".into());
    }
    let ended = serving.stop();
    if !ended.success() {
        return Err(format!("the service ended with {ended}."));
    }
    super::judge_world(&serving.world)
}
