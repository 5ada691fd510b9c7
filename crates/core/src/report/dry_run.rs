//! A dry run's result: what would have been posted, thing by thing, as people would read it. Pure; its words are for the
//! log and go to no pull request.

use reviewer_text::capital::capitalised;
use serde_json::Value;

/// A write request that was not sent, as it would have been sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsent {
    /// In words, such as "reply in a thread".
    pub name: &'static str,
    pub route: String,
    pub body: Value,
}

/// In the report of a dry run.
pub const NOTE: &str = "This was a dry run: nothing was written to GitHub.";
/// Above the list. It is what the run is for, so it is not folded away.
pub const TITLE: &str = "This is a dry run. What would be posted:";
/// In its place, where there is nothing to list.
pub const NOTHING: &str = "Nothing would be posted.";

/// Something that would be posted.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// The kind of post, and its place.
    pub heading: String,
    /// The text, to the letter; empty where there is none.
    pub body: String,
}

impl Step {
    fn new(heading: impl Into<String>, body: &Value) -> Self {
        Self {
            heading: heading.into(),
            body: body.as_str().unwrap_or_default().to_owned(),
        }
    }
}

/// Everything that stays visible. What the check run says while the review is under way does not.
#[must_use]
pub fn steps(unsent: &[Unsent]) -> Vec<Step> {
    unsent.iter().flat_map(steps_of).collect()
}

fn steps_of(unsent: &Unsent) -> Vec<Step> {
    let (route, body) = (unsent.route.as_str(), &unsent.body);
    let text = &body["body"];
    if let Some(step) = published(route, body) {
        return vec![step];
    }
    if let Some(comments) = body["comments"].as_array() {
        let commit = words(&body["commit_id"]).chars().take(7);
        let commit: String = commit.collect();
        let event = match words(&body["event"]) {
            "APPROVE" => ", which approves",
            "REQUEST_CHANGES" => ", which requests changes",
            _ => "",
        };
        let review = Step::new(format!("Review of {commit}{event}:"), text);
        let comments = comments.iter().map(|comment| {
            let heading = format!("Comment of the review {}:", place(comment));
            Step::new(heading, &comment["body"])
        });
        return std::iter::once(review).chain(comments).collect();
    }
    if let Some(review) = route.strip_suffix("/dismissals") {
        let review = review.rsplit('/').next().unwrap_or_default();
        let heading = format!("Dismissal of review {review}:");
        return vec![Step::new(heading, &body["message"])];
    }
    if let Some(thread) = route.strip_suffix("/replies") {
        let thread = thread.rsplit('/').next().unwrap_or_default();
        return vec![Step::new(format!("Reply in thread {thread}:"), text)];
    }
    if let Some((_, comment)) = route.split_once("/pulls/comments/") {
        return vec![Step::new(format!("Rewritten comment {comment}:"), text)];
    }
    if let Some(file) = body["path"].as_str() {
        return vec![Step::new(format!("Comment on the file {file}:"), text)];
    }
    if text.is_string() {
        return vec![Step::new("Comment on the pull request:", text)];
    }
    if route.contains("/check-runs") {
        let Some(conclusion) = body["conclusion"].as_str() else {
            return Vec::new();
        };
        let title = words(&body["output"]["title"]);
        let heading = format!("Check run: {conclusion}, {title:?}");
        return vec![Step::new(heading, &Value::Null)];
    }
    let what = match (&body["content"], &body["variables"]["id"]) {
        (Value::String(reaction), _) => format!(", {reaction}"),
        (_, Value::String(id)) => format!(", {id}"),
        _ => String::new(),
    };
    let heading = format!("{}{what}", capitalised(unsent.name));
    vec![Step::new(heading, &Value::Null)]
}

/// A commit, a branch, a pull request or a label.
fn published(route: &str, body: &Value) -> Option<Step> {
    let commit = &body["variables"]["input"]["fileChanges"];
    if commit.is_object() {
        return Some(commit_step(&body["variables"]["input"]));
    }
    if route.ends_with("/git/refs") {
        let branch = words(&body["ref"]).trim_start_matches("refs/heads/");
        return Some(Step::new(format!("Branch {branch}"), &Value::Null));
    }
    if route.ends_with("/pulls") {
        let (head, base) = (words(&body["head"]), words(&body["base"]));
        let heading = format!("Pull request from {head} into {base}:");
        return Some(Step::new(heading, &body["body"]));
    }
    let labels = body["labels"].as_array()?.iter().map(words);
    let labels: Vec<&str> = labels.collect();
    let heading = format!("Label {}", labels.join(", "));
    Some(Step::new(heading, &Value::Null))
}

/// The message of a commit, then its files.
fn commit_step(input: &Value) -> Step {
    let message = &input["message"];
    let mut lines = vec![words(&message["headline"]).to_owned()];
    lines.extend([
        String::new(),
        words(&message["body"]).to_owned(),
        String::new(),
    ]);
    for (kind, verb) in [("additions", "writes"), ("deletions", "deletes")] {
        let files = input["fileChanges"][kind].as_array().into_iter().flatten();
        lines.extend(files.map(|file| format!("{verb} {}", words(&file["path"]))));
    }
    Step {
        heading: format!("Commit on {}:", words(&input["branch"]["branchName"])),
        body: lines.join("\n"),
    }
}

fn words(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// File and lines as people write them, or the file as a whole.
fn place(comment: &Value) -> String {
    let (path, line) = (words(&comment["path"]), &comment["line"]);
    if line.is_null() {
        return format!("on the file {path}");
    }
    let start = comment["start_line"].as_u64();
    let start = start.map(|start| format!("{start}-")).unwrap_or_default();
    let removed = match words(&comment["side"]) {
        "LEFT" => " (removed)",
        _ => "",
    };
    format!("at {path}:{start}{line}{removed}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(name: &'static str, route: &str, body: Value) -> Vec<(String, String)> {
        let route = route.to_owned();
        let steps = steps(&[Unsent { name, route, body }]);
        steps.into_iter().map(|s| (s.heading, s.body)).collect()
    }

    fn one(heading: &str, body: &str) -> Vec<(String, String)> {
        vec![(heading.to_owned(), body.to_owned())]
    }

    #[test]
    fn a_judgement_and_a_dismissal_are_told_as_such() {
        let body = json!({"commit_id": "b0d63d1e3554", "event": "APPROVE", "body": "Fine.", "comments": []});
        let review = told("post the review", "/repos/octo/shop/pulls/1/reviews", body);
        assert_eq!(review, one("Review of b0d63d1, which approves:", "Fine."));
        let body = json!({"message": "Nothing blocks."});
        let route = "/repos/octo/shop/pulls/1/reviews/80/dismissals";
        let dismissal = told("dismiss a review", route, body);
        assert_eq!(dismissal, one("Dismissal of review 80:", "Nothing blocks."));
    }

    #[test]
    fn a_fix_is_told_with_its_message_and_files() {
        let input = json!({
            "branch": {"branchName": "cart"}, "message": {"headline": "Fix it", "body": "Why."},
            "fileChanges": {"additions": [{"path": "a.ts", "contents": "eA=="}], "deletions": [{"path": "b.ts"}]},
        });
        let body = json!({"query": "mutation", "variables": {"input": input}});
        let commit = told("commit on the branch", "", body);
        let text = "Fix it\n\nWhy.\n\nwrites a.ts\ndeletes b.ts";
        assert_eq!(commit, one("Commit on cart:", text));
        let repo = "/repos/octo/shop";
        let body = json!({"ref": "refs/heads/fix/1", "sha": "b0d63d1e3554"});
        let branch = told("make a branch", &format!("{repo}/git/refs"), body);
        assert_eq!(branch, one("Branch fix/1", ""));
        let body = json!({"head": "fix/1", "base": "cart", "title": "Fix it", "body": "One."});
        let pull = told("open a pull request", &format!("{repo}/pulls"), body);
        assert_eq!(pull, one("Pull request from fix/1 into cart:", "One."));
        let route = format!("{repo}/issues/1/labels");
        let label = told("label the pull request", &route, json!({"labels": ["x"]}));
        assert_eq!(label, one("Label x", ""));
    }

    #[test]
    fn a_review_is_told_with_each_of_its_comments() {
        let body = json!({
            "commit_id": "b0d63d1e3554f51be51c63421a254d61288447e6",
            "body": "OpenCode review of b0d63d1: 2 findings.",
            "event": "COMMENT",
            "comments": [
                {"path": "src/a.ts", "line": 8, "side": "RIGHT", "body": "One."},
                {"path": "src/b.ts", "line": 4, "side": "LEFT", "start_line": 2, "start_side": "LEFT", "body": "Two."},
                {"path": "logo.png", "subject_type": "file", "body": "Three."},
            ],
        });
        let told = told("post the review", "/repos/octo/shop/pulls/1/reviews", body);
        let expected = [
            (
                "Review of b0d63d1:",
                "OpenCode review of b0d63d1: 2 findings.",
            ),
            ("Comment of the review at src/a.ts:8:", "One."),
            ("Comment of the review at src/b.ts:2-4 (removed):", "Two."),
            ("Comment of the review on the file logo.png:", "Three."),
        ];
        assert_eq!(told, expected.map(|(h, b)| (h.to_owned(), b.to_owned())));
    }

    #[test]
    fn everything_else_is_told_in_a_line_with_its_text() {
        let pull = "/repos/octo/shop/pulls/1";
        assert_eq!(
            told(
                "reply in a thread",
                &format!("{pull}/comments/55/replies"),
                json!({"body": "No."})
            ),
            one("Reply in thread 55:", "No.")
        );
        assert_eq!(
            told(
                "comment on a file",
                &format!("{pull}/comments"),
                json!({"body": "Hm.", "path": "a.bin", "subject_type": "file"})
            ),
            one("Comment on the file a.bin:", "Hm.")
        );
        assert_eq!(
            told(
                "comment on the pull request",
                "/repos/octo/shop/issues/1/comments",
                json!({"body": "Yes."})
            ),
            one("Comment on the pull request:", "Yes.")
        );
        let checks = "/repos/octo/shop/check-runs/0";
        let done = json!({"conclusion": "failure", "output": {"title": "1 blocking finding open"}});
        assert_eq!(
            told("conclude the check run", checks, done),
            one("Check run: failure, \"1 blocking finding open\"", "")
        );
        let progress = json!({"output": {"title": "Review in progress"}});
        assert_eq!(told("write into the check run", checks, progress), vec![]);
        assert_eq!(
            told(
                "react to a comment",
                "/repos/octo/shop/issues/comments/9/reactions",
                json!({"content": "eyes"})
            ),
            one("React to a comment, eyes", "")
        );
        assert_eq!(
            told(
                "resolve a conversation",
                "",
                json!({"query": "mutation", "variables": {"id": "PRRT_1"}})
            ),
            one("Resolve a conversation, PRRT_1", "")
        );
        assert_eq!(
            told("delete a draft", &format!("{pull}/reviews/3"), Value::Null),
            one("Delete a draft", "")
        );
    }
}
