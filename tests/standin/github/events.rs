//! Event payloads: GitHub's official examples with the stand-in's values in them. An example's keys stay as they are,
//! so that what GitHub leaves out of an event is missing here too.

use serde_json::{Value, json};

use super::GitHub;
use super::pushing::Happening;
use super::state::{QueueEntry, State};

/// (event, action, the official example)
const EXAMPLES: &[(&str, Option<&str>, &str)] = &[
    (
        "pull_request",
        Some("opened"),
        include_str!("../../fixtures/events/pull_request.opened.json"),
    ),
    (
        "pull_request",
        Some("reopened"),
        include_str!("../../fixtures/events/pull_request.reopened.json"),
    ),
    (
        "pull_request",
        Some("synchronize"),
        include_str!("../../fixtures/events/pull_request.synchronize.json"),
    ),
    (
        "pull_request",
        Some("ready_for_review"),
        include_str!("../../fixtures/events/pull_request.ready_for_review.json"),
    ),
    (
        "pull_request",
        Some("closed"),
        include_str!("../../fixtures/events/pull_request.closed.json"),
    ),
    (
        "pull_request",
        Some("labeled"),
        include_str!("../../fixtures/events/pull_request.labeled.json"),
    ),
    (
        "pull_request",
        Some("unlabeled"),
        include_str!("../../fixtures/events/pull_request.unlabeled.json"),
    ),
    (
        "pull_request_review",
        Some("submitted"),
        include_str!("../../fixtures/events/pull_request_review.submitted.json"),
    ),
    (
        "pull_request_review_comment",
        Some("created"),
        include_str!("../../fixtures/events/pull_request_review_comment.created.json"),
    ),
    (
        "issue_comment",
        Some("created"),
        include_str!("../../fixtures/events/issue_comment.created.json"),
    ),
    (
        "workflow_dispatch",
        None,
        include_str!("../../fixtures/events/workflow_dispatch.json"),
    ),
    (
        "merge_group",
        Some("checks_requested"),
        include_str!("../../fixtures/events/merge_group.checks_requested.json"),
    ),
    (
        "pull_request",
        Some("converted_to_draft"),
        include_str!("../../fixtures/events/pull_request.converted_to_draft.json"),
    ),
    (
        "pull_request_review",
        Some("dismissed"),
        include_str!("../../fixtures/events/pull_request_review.dismissed.json"),
    ),
    (
        "pull_request_review_thread",
        Some("resolved"),
        include_str!("../../fixtures/events/pull_request_review_thread.resolved.json"),
    ),
    (
        "pull_request_review_thread",
        Some("unresolved"),
        include_str!("../../fixtures/events/pull_request_review_thread.unresolved.json"),
    ),
    (
        "check_suite",
        Some("completed"),
        include_str!("../../fixtures/events/check_suite.completed.json"),
    ),
    (
        "repository",
        Some("renamed"),
        include_str!("../../fixtures/events/repository.renamed.json"),
    ),
    (
        "repository",
        Some("transferred"),
        include_str!("../../fixtures/events/repository.transferred.json"),
    ),
    (
        "push",
        None,
        include_str!("../../fixtures/events/push.json"),
    ),
];

/// The payload of an event about a pull request; `pull_request_target` has the shape of `pull_request`. The sender
/// is the author.
pub fn event(name: &str, action: Option<&str>, github: &GitHub, pull: u64) -> Value {
    github.with(|state| of_pull(state, name, action, pull))
}

pub(super) fn of_pull(state: &State, name: &str, action: Option<&str>, pull: u64) -> Value {
    let mut payload = example(name, action);
    let shown = state.pulls.get(&pull).expect("the pull request exists");
    let json = state.pull_json(shown);
    localise(state, &mut payload, &shown.author);
    fill(&mut payload, "number", &json!(pull));
    fill(&mut payload, "after", &json!(shown.head.sha));
    fill(&mut payload, "pull_request", &json);
    fill(&mut payload, "issue", &as_issue(&json));
    let head = json!({ "commit_id": shown.head.sha });
    fill(&mut payload, "review", &head);
    if let Some(issue) = payload.get_mut("issue") {
        // All official examples are on plain issues; this key is what tells a pull request from them.
        issue["pull_request"] = ["url", "html_url", "diff_url", "patch_url", "merged_at"]
            .map(|key| (key.to_owned(), json[key].clone()))
            .into_iter()
            .collect();
    }
    payload
}

/// `synchronize` after a push from `before` to the present head.
pub fn synchronize_event(github: &GitHub, pull: u64, before: &str) -> Value {
    let mut payload = event("pull_request", Some("synchronize"), github, pull);
    payload["before"] = json!(before);
    payload
}

/// The event of something that a token did. The workflow hears it only if it `starts` one.
pub fn happened_event(github: &GitHub, happening: &Happening) -> Value {
    let Some(pull) = happening.pull else {
        let (before, after) = (&happening.before, &happening.after);
        return push_event(github, &happening.actor, &happening.branch, before, after);
    };
    let mut payload = event(happening.event, happening.action, github, pull);
    github.with(|state| {
        payload["sender"] = state.user_json(&happening.actor);
        if let Some(name) = &happening.label {
            fill(&mut payload, "label", &state.label_json(name));
        }
    });
    if happening.action == Some("synchronize") {
        payload["before"] = json!(happening.before);
        payload["after"] = json!(happening.after);
    }
    payload
}

/// `edited` after the base moved from another branch. There is no official example of it: this is the one of another
/// action with the `changes` of GitHub's description.
pub fn retargeted_event(github: &GitHub, pull: u64, from: &str) -> Value {
    let mut payload = event("pull_request", Some("reopened"), github, pull);
    payload["action"] = json!("edited");
    let sha = github.with(|state| state.git.commit_of(from));
    payload["changes"] = json!({ "base": { "ref": { "from": from }, "sha": { "from": sha } } });
    payload
}

/// The queue asks for the checks of an entry.
pub fn merge_group_event(github: &GitHub, entry: &QueueEntry) -> Value {
    github.with(|state| of_group(state, entry))
}

pub(super) fn of_group(state: &State, entry: &QueueEntry) -> Value {
    let mut payload = example("merge_group", Some("checks_requested"));
    localise(state, &mut payload, "github-merge-queue[bot]");
    let group = json!({
        "head_sha": entry.head_sha, "head_ref": format!("refs/heads/{}", entry.branch),
        "base_sha": entry.base_sha, "base_ref": format!("refs/heads/{}", entry.base),
    });
    fill(&mut payload, "merge_group", &group);
    payload
}

/// `issue_comment` or `pull_request_review_comment` created. `id` is a comment of the stand-in.
pub fn comment_event(name: &str, github: &GitHub, pull: u64, id: u64) -> Value {
    github.with(|state| of_comment(state, name, pull, id))
}

pub(super) fn of_comment(state: &State, name: &str, pull: u64, id: u64) -> Value {
    let mut payload = of_pull(state, name, Some("created"), pull);
    let conversation = state.issue_comments.iter().find(|comment| comment.id == id);
    let shown = match name {
        "issue_comment" => conversation.map(|comment| state.issue_comment_json(comment)),
        _ => state.comment(id).map(|comment| state.comment_json(comment)),
    };
    let shown = shown.expect("the comment exists");
    payload["sender"] = shown["user"].clone();
    payload["comment"] = shown;
    payload
}

/// A review that a person submitted; the state is lower-case in events.
pub fn review_event(github: &GitHub, pull: u64, id: u64) -> Value {
    github.with(|state| of_review(state, "submitted", pull, id))
}

pub(super) fn of_review(state: &State, action: &str, pull: u64, id: u64) -> Value {
    let mut payload = of_pull(state, "pull_request_review", Some(action), pull);
    let review = state.reviews.iter().find(|review| review.id == id);
    let review = review.expect("the review exists");
    let mut shown = state.review_json(review);
    shown["state"] = json!(review.state.to_lowercase());
    payload["sender"] = shown["user"].clone();
    fill(&mut payload, "review", &shown);
    payload
}

/// The checks of one app have ended on a commit.
pub(super) fn of_checks(state: &State, head: &str) -> Value {
    let mut payload = example("check_suite", Some("completed"));
    localise(state, &mut payload, "ci[bot]");
    let suite = json!({ "head_sha": head, "after": head, "pull_requests": [] });
    fill(&mut payload, "check_suite", &suite);
    payload
}

/// The repository has another name, or another owner.
pub(super) fn of_move(state: &State, before: &str, sender: &str) -> Value {
    let owner = before.split('/').next();
    let action = if owner == Some(state.repository.owner()) {
        "renamed"
    } else {
        "transferred"
    };
    let mut payload = example("repository", Some(action));
    localise(state, &mut payload, sender);
    let name = before.split('/').next_back();
    payload["changes"] = match action {
        "renamed" => json!({ "repository": { "name": { "from": name } } }),
        _ => json!({ "owner": { "from": { "user": state.user_json(owner.unwrap_or_default()) } } }),
    };
    payload
}

/// Started by hand on the default branch, with the workflow's inputs.
pub fn dispatch_event(github: &GitHub, sender: &str, inputs: &Value) -> Value {
    let mut payload = example("workflow_dispatch", None);
    github.with(|state| {
        localise(state, &mut payload, sender);
        payload["ref"] = json!(format!("refs/heads/{}", state.repository.default_branch));
    });
    payload["inputs"] = inputs.clone();
    payload
}

/// A push to a branch.
pub fn push_event(github: &GitHub, sender: &str, branch: &str, before: &str, after: &str) -> Value {
    github.with(|state| of_push(state, sender, branch, before, after))
}

pub(super) fn of_push(
    state: &State,
    sender: &str,
    branch: &str,
    before: &str,
    after: &str,
) -> Value {
    let mut payload = example("push", None);
    localise(state, &mut payload, sender);
    payload["ref"] = json!(format!("refs/heads/{branch}"));
    payload["before"] = json!(before);
    payload["after"] = json!(after);
    payload
}

/// An action on a pull request without an official example is that of another action under its name.
fn example(name: &str, action: Option<&str>) -> Value {
    let name = name.strip_suffix("_target").unwrap_or(name);
    let of = |wanted: Option<&str>| {
        let mut kept = EXAMPLES.iter();
        let found = kept.find(|(one, acted, _)| *one == name && *acted == wanted);
        let (_, _, text) = found?;
        let payload: Value = serde_json::from_str(text).expect("an example is JSON");
        Some(payload)
    };
    let other = || {
        let mut payload = of(Some("reopened"))?;
        payload["action"] = json!(action);
        Some(payload)
    };
    let found = of(action).or_else(other);
    found.unwrap_or_else(|| panic!("no official example of {name} {action:?} is kept"))
}

fn localise(state: &State, payload: &mut Value, sender: &str) {
    fill(payload, "repository", &state.repository_json());
    payload["sender"] = state.user_json(sender);
    if let Some(fields) = payload.as_object_mut() {
        fields.remove("organization");
        fields.remove("installation");
    }
}

/// Puts our values in the place of the example's: of one that is plain, or of the keys that the example has.
fn fill(payload: &mut Value, key: &str, ours: &Value) {
    match payload.get_mut(key) {
        Some(Value::Object(fields)) => {
            for (key, value) in fields {
                if let Some(known) = ours.get(key) {
                    *value = known.clone();
                }
            }
        }
        Some(plain) => *plain = ours.clone(),
        None => {}
    }
}

/// The values that a pull request shares with its issue, under the issue's addresses.
fn as_issue(pull: &Value) -> Value {
    let mut issue = pull.clone();
    issue["url"] = pull["issue_url"].clone();
    issue
}
