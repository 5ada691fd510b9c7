//! What people and bots say, in GitHub's JSON.

use serde_json::{Value, json};

use super::super::state::{IssueComment, Reaction, Review, ReviewComment, State};

impl State {
    pub fn comment_json(&self, comment: &ReviewComment) -> Value {
        let pull = format!("{}/pulls/{}", self.api_url(), comment.pull);
        let url = format!("{}/pulls/comments/{}", self.api_url(), comment.id);
        let html = format!(
            "{}/pull/{}#discussion_r{}",
            self.web_url(),
            comment.pull,
            comment.id
        );
        let mut shape = json!({
            "id": comment.id, "node_id": comment.node_id, "url": url, "html_url": html, "pull_request_url": pull,
            "pull_request_review_id": comment.review_id, "diff_hunk": comment.diff_hunk, "path": comment.path,
            "commit_id": comment.commit_id, "original_commit_id": comment.original_commit_id,
            "user": comment.user.as_deref().map(|login| self.user_json(login)), "body": comment.body,
            "author_association": comment.author_association,
            "created_at": comment.created_at, "updated_at": comment.updated_at,
            "line": comment.line, "original_line": comment.original_line, "side": comment.side,
            "start_line": comment.start_line, "original_start_line": comment.original_start_line,
            "start_side": comment.start_side, "subject_type": comment.subject_type,
            // Positions are being closed down; what matters is that an outdated comment has none.
            "position": comment.line.map(|_| 1), "original_position": 1,
            "reactions": self.reactions_json(comment.id, &url),
            "_links": { "self": { "href": url }, "html": { "href": html }, "pull_request": { "href": pull } },
        });
        if let Some(root) = comment.in_reply_to_id {
            shape["in_reply_to_id"] = json!(root);
        }
        shape
    }

    pub fn review_json(&self, review: &Review) -> Value {
        let pull = format!("{}/pulls/{}", self.api_url(), review.pull);
        let html = format!(
            "{}/pull/{}#pullrequestreview-{}",
            self.web_url(),
            review.pull,
            review.id
        );
        let mut shape = json!({
            "id": review.id, "node_id": review.node_id(), "user": self.user_json(&review.user),
            "body": review.body, "state": review.state, "commit_id": review.commit_id, "html_url": html,
            "pull_request_url": pull, "author_association": review.author_association,
            "_links": { "html": { "href": html }, "pull_request": { "href": pull } },
        });
        if let Some(at) = &review.submitted_at {
            shape["submitted_at"] = json!(at);
        }
        shape
    }

    pub fn issue_comment_json(&self, comment: &IssueComment) -> Value {
        let url = format!("{}/issues/comments/{}", self.api_url(), comment.id);
        json!({
            "id": comment.id, "node_id": format!("IC_{}", comment.id), "url": url,
            "html_url": format!("{}/pull/{}#issuecomment-{}", self.web_url(), comment.pull, comment.id),
            "issue_url": format!("{}/issues/{}", self.api_url(), comment.pull),
            "user": self.user_json(&comment.user), "body": comment.body, "author_association": comment.author_association,
            "created_at": comment.created_at, "updated_at": comment.updated_at, "performed_via_github_app": null,
            "reactions": self.reactions_json(comment.id, &url),
        })
    }

    fn reactions_json(&self, comment: u64, url: &str) -> Value {
        let count = |content: &str| {
            let same = |one: &&Reaction| {
                one.comment == comment && (content.is_empty() || one.content == content)
            };
            self.reactions.iter().filter(same).count()
        };
        let mut shape = json!({ "url": format!("{url}/reactions"), "total_count": count("") });
        for content in [
            "+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket",
        ] {
            shape[content] = json!(count(content));
        }
        shape
    }

    pub fn reaction_json(&self, reaction: &Reaction) -> Value {
        json!({
            "id": reaction.id, "node_id": format!("REA_{}", reaction.id), "user": self.user_json(&reaction.user),
            "content": reaction.content, "created_at": reaction.created_at,
        })
    }
}
