//! A pull request in GitHub's JSON, with the numbers that only its diff knows.

use serde_json::{Map, Value, json};

use super::super::diff::{self, FileDiff};
use super::super::state::{PullRequest, State};
use super::user_id;

impl State {
    /// The files of a pull request as of one of its commits.
    pub fn diff_at(&self, pull: &PullRequest, commit: &str) -> Vec<FileDiff> {
        match self.git.merge_base(&pull.base.sha, commit) {
            Some(base) => diff::between(&self.git, &base, commit),
            None => Vec::new(),
        }
    }

    pub fn pull_json(&self, pull: &PullRequest) -> Value {
        let files = self.diff_at(pull, &pull.head.sha);
        let commits = self.git.ask(&[
            "rev-list",
            "--count",
            &format!("{}..{}", pull.base.sha, pull.head.sha),
        ]);
        let mut shape = self.pull_basics(pull);
        let Some(fields) = shape.as_object_mut() else {
            return shape;
        };
        let comments = self
            .comments
            .iter()
            .filter(|comment| comment.pull == pull.number && !self.is_of_draft(comment))
            .count();
        let conversation = self
            .issue_comments
            .iter()
            .filter(|comment| comment.pull == pull.number)
            .count();
        fields.extend(object(json!({
            "additions": files.iter().map(|file| file.additions).sum::<u64>(),
            "deletions": files.iter().map(|file| file.deletions).sum::<u64>(),
            "changed_files": files.len(),
            "commits": commits.and_then(|count| count.trim().parse::<u64>().ok()),
            "comments": conversation, "review_comments": comments,
            "mergeable": self.mergeable(pull), "mergeable_state": self.merge_state(pull).to_lowercase(),
            "rebaseable": self.mergeable(pull), "merged": pull.merged.is_some(),
            "merged_by": pull.merged.as_ref().map(|merged| self.user_json(&merged.by)),
            "maintainer_can_modify": pull.maintainer_can_modify,
        })));
        shape
    }

    /// As GitHub lists it.
    pub fn pull_basics(&self, pull: &PullRequest) -> Value {
        let number = pull.number;
        let mut shape = json!({
            "id": pull.id, "node_id": format!("PR_{}", pull.id), "number": number,
            "state": pull.state, "locked": pull.locked, "title": pull.title, "body": pull.body, "draft": pull.draft,
            "user": self.user_json(&pull.author), "author_association": self.association(&pull.author, number),
            "labels": pull.labels.iter().map(|name| self.label_json(name)).collect::<Vec<_>>(),
            "head": self.head_json(pull), "base": self.base_json(pull),
            "requested_reviewers": pull.requested_reviewers.iter().map(|login| self.user_json(login)).collect::<Vec<_>>(),
            "requested_teams": pull.requested_teams.iter().map(|slug| self.team_json(slug)).collect::<Vec<_>>(),
            "created_at": pull.created_at, "updated_at": pull.updated_at,
            "closed_at": (pull.state == "closed").then_some(&pull.updated_at),
            "merged_at": pull.merged.as_ref().map(|merged| &merged.at),
            "merge_commit_sha": pull.merged.as_ref().map(|merged| &merged.sha),
            "assignee": null, "assignees": [], "milestone": null, "active_lock_reason": null,
            "auto_merge": pull.auto_merge.as_ref().map(|(by, method)| json!({
                "enabled_by": self.user_json(by), "merge_method": method, "commit_title": "", "commit_message": "",
            })),
        });
        let (web, api) = (self.web_url(), self.api_url());
        let one = format!("{api}/pulls/{number}");
        let issue = format!("{api}/issues/{number}");
        let html = format!("{web}/pull/{number}");
        shape["diff_url"] = json!(format!("{html}.diff"));
        shape["patch_url"] = json!(format!("{html}.patch"));
        let links = [
            ("self", "url", one.clone()),
            ("html", "html_url", html),
            ("issue", "issue_url", issue.clone()),
            ("comments", "comments_url", format!("{issue}/comments")),
            ("commits", "commits_url", format!("{one}/commits")),
            (
                "review_comments",
                "review_comments_url",
                format!("{one}/comments"),
            ),
            (
                "review_comment",
                "review_comment_url",
                format!("{api}/pulls/comments{{/number}}"),
            ),
            (
                "statuses",
                "statuses_url",
                format!("{api}/statuses/{}", pull.head.sha),
            ),
        ];
        for (link, key, url) in links {
            shape["_links"][link] = json!({ "href": url });
            shape[key] = json!(url);
        }
        shape
    }

    fn head_json(&self, pull: &PullRequest) -> Value {
        let head = &pull.head;
        let repository = head.repository.as_ref();
        let owner = repository
            .and_then(|one| one.full_name.split_once('/'))
            .map_or(pull.author.as_str(), |(owner, _)| owner);
        json!({
            "label": format!("{owner}:{}", head.branch), "ref": head.branch, "sha": head.sha,
            "user": self.user_json(owner),
            "repo": repository.map(|one| self.any_repository_json(&one.full_name, one.id, one.fork)),
        })
    }

    fn base_json(&self, pull: &PullRequest) -> Value {
        let owner = self.repository.owner();
        json!({
            "label": format!("{owner}:{}", pull.base.branch), "ref": pull.base.branch, "sha": pull.base.sha,
            "user": self.user_json(owner),
            "repo": self.any_repository_json(&self.repository.full_name, self.repository.id, false),
        })
    }

    pub fn label_json(&self, name: &str) -> Value {
        let id = user_id(name);
        json!({
            "id": id, "node_id": format!("LA_{id}"), "url": format!("{}/labels/{name}", self.api_url()), "name": name,
            "description": null, "color": "ededed", "default": false,
        })
    }

    pub fn team_json(&self, slug: &str) -> Value {
        let id = user_id(slug);
        let url = format!("{}/api/v3/organizations/1/team/{id}", self.base_url);
        json!({
            "id": id, "node_id": format!("T_{id}"), "url": url, "members_url": format!("{url}/members{{/member}}"),
            "repositories_url": format!("{url}/repos"), "html_url": format!("{}/orgs/{}/teams/{slug}", self.base_url, self.repository.owner()),
            "name": slug, "slug": slug, "description": null, "privacy": "closed", "permission": "push", "parent": null,
            "type": "organization", "notification_setting": "notifications_enabled",
        })
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
