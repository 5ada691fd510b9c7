//! The state in GitHub's JSON, field by field as its description requires. Separate from the routes, because events
//! and routes show the same things.

mod checks;
mod comments;
mod pulls;

use serde_json::{Value, json};

use super::state::State;

const USER_LINKS: &[&str] = &[
    "events",
    "followers",
    "following",
    "gists",
    "organizations",
    "received_events",
    "repos",
    "starred",
    "subscriptions",
];

const REPOSITORY_LINKS: &[&str] = &[
    "archive",
    "assignees",
    "blobs",
    "branches",
    "collaborators",
    "comments",
    "commits",
    "compare",
    "contents",
    "contributors",
    "deployments",
    "downloads",
    "events",
    "forks",
    "git_commits",
    "git_refs",
    "git_tags",
    "hooks",
    "issue_comment",
    "issue_events",
    "issues",
    "keys",
    "labels",
    "languages",
    "merges",
    "milestones",
    "notifications",
    "pulls",
    "releases",
    "stargazers",
    "statuses",
    "subscribers",
    "subscription",
    "tags",
    "teams",
    "trees",
];

/// A stable number for a login; GitHub's own for the one bot whose number people know.
pub fn user_id(login: &str) -> u64 {
    if login == "github-actions[bot]" {
        return 41_898_282;
    }
    login
        .bytes()
        .fold(7, |id, byte| (id * 31 + u64::from(byte)) % 900_000_007)
}

impl State {
    pub fn api_url(&self) -> String {
        format!(
            "{}/api/v3/repos/{}",
            self.base_url, self.repository.full_name
        )
    }

    pub fn web_url(&self) -> String {
        format!("{}/{}", self.base_url, self.repository.full_name)
    }

    pub fn user_json(&self, login: &str) -> Value {
        let base = &self.base_url;
        let id = user_id(login);
        let mut user = json!({
            "login": login,
            "id": id,
            "node_id": format!("U_{id}"),
            "avatar_url": format!("{base}/avatars/u/{id}"),
            "gravatar_id": "",
            "url": format!("{base}/api/v3/users/{login}"),
            "html_url": format!("{base}/{login}"),
            "type": if login.ends_with("[bot]") { "Bot" } else { "User" },
            "site_admin": false,
        });
        for link in USER_LINKS {
            user[format!("{link}_url")] = json!(format!("{base}/api/v3/users/{login}/{link}"));
        }
        user
    }

    pub fn repository_json(&self) -> Value {
        let repository = &self.repository;
        let mut shape = self.any_repository_json(&repository.full_name, repository.id, false);
        shape["network_count"] = json!(0);
        shape["subscribers_count"] = json!(0);
        shape
    }

    fn any_repository_json(&self, full_name: &str, id: u64, fork: bool) -> Value {
        let (owner, name) = full_name.split_once('/').unwrap_or_default();
        let (web, api) = (
            format!("{}/{full_name}", self.base_url),
            format!("{}/api/v3/repos/{full_name}", self.base_url),
        );
        let mut shape = json!({
            "id": id, "node_id": format!("R_{id}"), "name": name, "full_name": full_name,
            "private": self.repository.private, "visibility": if self.repository.private { "private" } else { "public" },
            "owner": self.user_json(owner), "html_url": web, "url": api, "fork": fork,
            "default_branch": self.repository.default_branch,
            "clone_url": format!("{web}.git"), "git_url": format!("{web}.git"), "ssh_url": format!("git@localhost:{full_name}.git"),
            "svn_url": web, "mirror_url": null, "homepage": null, "description": null, "language": null, "license": null,
            "archived": false, "disabled": false, "has_issues": true, "has_projects": false, "has_wiki": false,
            "has_pages": false, "has_downloads": false, "has_discussions": false, "forks": 0, "forks_count": 0,
            "open_issues": 1, "open_issues_count": 1, "size": 1, "stargazers_count": 0, "watchers": 0, "watchers_count": 0,
            "pushed_at": "2026-01-01T00:00:00Z", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        });
        for link in REPOSITORY_LINKS {
            shape[format!("{link}_url")] = json!(format!("{api}/{link}"));
        }
        shape
    }
}
