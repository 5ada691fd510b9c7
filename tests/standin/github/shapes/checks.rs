//! Commits, and what was checked on them, in GitHub's JSON.

use serde_json::{Value, json};

use super::super::state::{CheckRun, State};

impl State {
    pub fn check_run_json(&self, run: &CheckRun) -> Value {
        let url = format!("{}/check-runs/{}", self.api_url(), run.id);
        let html = format!("{}/runs/{}", self.web_url(), run.id);
        json!({
            "id": run.id, "node_id": format!("CR_{}", run.id), "head_sha": run.head_sha, "name": run.name,
            "external_id": run.external_id, "url": url, "html_url": html,
            "details_url": run.details_url.clone().unwrap_or(html.clone()), "status": run.status,
            "conclusion": run.conclusion, "started_at": run.started_at, "completed_at": run.completed_at,
            "check_suite": { "id": 1 }, "pull_requests": [],
            "output": {
                "title": run.title, "summary": run.summary, "text": run.text,
                "annotations_count": run.annotations.len(), "annotations_url": format!("{url}/annotations"),
            },
            "app": {
                "id": 15_368, "slug": run.app, "node_id": "A_1", "owner": self.user_json("github"), "name": run.app,
                "description": null, "external_url": self.base_url, "html_url": format!("{}/apps/{}", self.base_url, run.app),
                "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
                "permissions": { "checks": "write" }, "events": [],
            },
        })
    }

    pub fn commit_json(&self, sha: &str) -> Option<Value> {
        let text = self.git.ask(&[
            "show",
            "-s",
            "--format=%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%B",
            sha,
        ])?;
        let [
            tree,
            parents,
            name,
            email,
            date,
            committer,
            address,
            message,
        ] = text.splitn(8, '\0').collect::<Vec<_>>().try_into().ok()?;
        let api = self.api_url();
        let url = format!("{api}/commits/{sha}");
        let web = |sha: &str| format!("{}/commit/{sha}", self.web_url());
        let person =
            |name: &str, email: &str| json!({ "name": name, "email": email, "date": date });
        // What GitHub commits itself, it signs, under an account of its own.
        let signed = address == "noreply@github.com";
        let login = if signed { "web-flow" } else { committer };
        let parent = |sha: &str| json!({ "sha": sha, "url": format!("{api}/commits/{sha}"), "html_url": web(sha) });
        Some(json!({
            "sha": sha, "node_id": format!("C_{sha}"), "url": url, "html_url": web(sha),
            "comments_url": format!("{url}/comments"),
            "author": self.user_json(name), "committer": self.user_json(login),
            "parents": parents.split_whitespace().map(parent).collect::<Vec<_>>(),
            "commit": {
                "url": format!("{api}/git/commits/{sha}"),
                "author": person(name, email), "committer": person(committer, address),
                "verification": {
                    "verified": signed, "reason": if signed { "valid" } else { "unsigned" },
                    "signature": signed.then_some("signed by GitHub"), "payload": signed.then_some(tree),
                    "verified_at": signed.then_some(date),
                },
                "message": message.trim_end(), "comment_count": 0,
                "tree": { "sha": tree, "url": format!("{api}/git/trees/{tree}") },
            },
        }))
    }
}
