//! Check runs: created, updated, listed. Separate from the other routes, because only an app may write them.

use serde_json::{Value, json};

use super::reply::{Reply, Request};
use super::state::{CheckRun, Identity, State};
use super::writes::Write;

pub fn create(state: &mut State, identity: &Identity, request: &Request) -> Reply {
    if identity.typename != "Bot" {
        return Reply::error(403, "You must authenticate via a GitHub App.");
    }
    let head_sha = request.text("head_sha").unwrap_or_default().to_owned();
    if state.git.commit_of(&head_sha).as_deref() != Some(head_sha.as_str()) {
        return Reply::error(422, &format!("No commit found for SHA: {head_sha}"));
    }
    let (id, at) = (state.next_id(), state.tick());
    let mut run = CheckRun {
        id,
        name: request.text("name").unwrap_or_default().into(),
        head_sha,
        status: "queued".into(),
        started_at: at.clone(),
        app: identity.login.trim_end_matches("[bot]").into(),
        ..CheckRun::default()
    };
    apply(&mut run, &request.body, &at);
    let reply = Reply::json(201, &state.check_run_json(&run));
    state.check_runs.push(run);
    state.writes.push(Write::CheckRunCreated {
        id,
        json: request.body.clone(),
    });
    reply
}

impl State {
    /// A check run of our name in progress on this head, as a job of this name has one: nobody signed it.
    pub fn hold(&mut self, head: &str) -> u64 {
        self.hold_as(head, "0e1b6ec4-c3a2-5f0e-b1f6-7f4d5cb5f0a1", None)
    }

    /// The same with what its run says about itself.
    pub fn hold_as(&mut self, head: &str, external_id: &str, text: Option<String>) -> u64 {
        let (id, at) = (self.next_id(), self.tick());
        self.check_runs.push(CheckRun {
            id,
            name: "OpenCode review".into(),
            head_sha: head.into(),
            status: "in_progress".into(),
            external_id: Some(external_id.into()),
            text,
            started_at: at,
            app: "github-actions".into(),
            ..CheckRun::default()
        });
        id
    }

    /// It was cancelled before it reviewed anything.
    pub fn let_go(&mut self, id: u64) {
        let at = self.tick();
        for run in self.check_runs.iter_mut().filter(|run| run.id == id) {
            run.status = "completed".into();
            run.conclusion = Some("cancelled".into());
            run.completed_at = Some(at.clone());
        }
    }

    /// A check of some other app ends on a commit: `success`, `failure` and the like.
    pub fn conclude(&mut self, name: &str, head: &str, conclusion: &str) {
        let (id, at) = (self.next_id(), self.tick());
        self.check_runs
            .retain(|run| run.name != name || run.head_sha != head);
        self.check_runs.push(CheckRun {
            id,
            name: name.into(),
            head_sha: head.into(),
            status: "completed".into(),
            conclusion: Some(conclusion.into()),
            started_at: at.clone(),
            completed_at: Some(at),
            app: "ci".into(),
            ..CheckRun::default()
        });
        self.announce_checks(head);
        self.settle();
    }
}

pub fn update(state: &mut State, request: &Request, id: u64) -> Reply {
    let at = state.tick();
    let Some(run) = state.check_runs.iter_mut().find(|run| run.id == id) else {
        return Reply::not_found();
    };
    apply(run, &request.body, &at);
    let run = run.clone();
    if run.conclusion.is_some() {
        state.announce_checks(&run.head_sha);
        state.settle();
    }
    state.writes.push(Write::CheckRunUpdated {
        id,
        json: request.body.clone(),
    });
    Reply::json(200, &state.check_run_json(&run))
}

/// What is given replaces what was; a conclusion completes the run.
fn apply(run: &mut CheckRun, body: &Value, at: &str) {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(name) = text(&body["name"]) {
        run.name = name;
    }
    if let Some(status) = text(&body["status"]) {
        if status != "completed" {
            (run.conclusion, run.completed_at) = (None, None);
        }
        run.status = status;
    }
    if let Some(started_at) = text(&body["started_at"]) {
        run.started_at = started_at;
    }
    run.external_id = text(&body["external_id"]).or(run.external_id.take());
    run.details_url = text(&body["details_url"]).or(run.details_url.take());
    if let Some(conclusion) = text(&body["conclusion"]) {
        run.status = "completed".into();
        run.conclusion = Some(conclusion);
        run.completed_at = Some(text(&body["completed_at"]).unwrap_or_else(|| at.into()));
    }
    let output = &body["output"];
    run.title = text(&output["title"]).or(run.title.take());
    run.summary = text(&output["summary"]).or(run.summary.take());
    run.text = text(&output["text"]).or(run.text.take());
    run.annotations.extend(
        output["annotations"]
            .as_array()
            .cloned()
            .unwrap_or_default(),
    );
}

/// Newest first; by default only the newest of each name.
pub fn list(state: &State, request: &Request, commit: &str) -> Reply {
    let Some(sha) = state.git.commit_of(commit) else {
        return Reply::error(422, &format!("No commit found for SHA: {commit}"));
    };
    let mut seen = Vec::new();
    let all = request.query("filter") == Some("all");
    let runs: Vec<Value> = state
        .check_runs
        .iter()
        .rev()
        .filter(|run| run.head_sha == sha)
        .filter(|run| {
            request
                .query("check_name")
                .is_none_or(|name| run.name == name)
        })
        .filter(|run| {
            request
                .query("status")
                .is_none_or(|status| run.status == status)
        })
        .filter(|run| {
            let first = !seen.contains(&(&run.name, &run.app));
            seen.push((&run.name, &run.app));
            all || first
        })
        .map(|run| state.check_run_json(run))
        .collect();
    let size = request
        .query("per_page")
        .and_then(|size| size.parse().ok())
        .unwrap_or(30)
        .min(100);
    let page: usize = request
        .query("page")
        .and_then(|page| page.parse().ok())
        .unwrap_or(1);
    let slice: Vec<_> = runs
        .iter()
        .skip((page.max(1) - 1) * size)
        .take(size)
        .collect();
    Reply::json(
        200,
        &json!({ "total_count": runs.len(), "check_runs": slice }),
    )
}
