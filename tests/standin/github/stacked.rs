//! Branches and pull requests that a client makes, and the rules of branches.

use serde_json::{Value, json};

use super::reply::{Reply, Request};
use super::rest::list;
use super::state::{Identity, PullRequest, State};
use super::writes::Write;

const ACTIONS_MAY_NOT: &str = "GitHub Actions is not permitted to create or approve pull requests.";
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

pub fn create_ref(state: &mut State, identity: &Identity, request: &Request) -> Reply {
    let (name, sha) = (request.text("ref"), request.text("sha"));
    let (name, sha) = (name.unwrap_or_default(), sha.unwrap_or_default());
    let valid = state.git.ask(&["check-ref-format", name]).is_some();
    let Some(branch) = name.strip_prefix("refs/heads/").filter(|_| valid) else {
        let words = format!("{name} is not a valid ref name.");
        return Reply::error(422, &words);
    };
    if state.branch_head(branch).is_some() {
        return Reply::error(422, "Reference already exists");
    }
    if sha.len() != 40 || state.git.commit_of(sha).is_none() {
        return Reply::error(422, "Object does not exist");
    }
    state.git.write(&["update-ref", name, sha]);
    state.tick();
    state.moved(identity, branch, NO_COMMIT, sha);
    state.writes.push(Write::Branch {
        name: branch.into(),
        sha: sha.into(),
    });
    let api = state.api_url();
    Reply::json(
        201,
        &json!({
            "ref": name, "node_id": format!("REF_{branch}"), "url": format!("{api}/git/{name}"),
            "object": { "type": "commit", "sha": sha, "url": format!("{api}/git/commits/{sha}") },
        }),
    )
}

/// Newest first, as GitHub sorts them; a `head` without an owner is ignored.
pub fn pulls(state: &State, request: &Request) -> Reply {
    let wanted = request.query("state").unwrap_or("open");
    let head = request.query("head").filter(|head| head.contains(':'));
    let label = |pull: &PullRequest| {
        let repository = pull.head.repository.as_ref()?;
        let owner = repository.full_name.split('/').next()?;
        Some(format!("{owner}:{}", pull.head.branch))
    };
    let fits = |pull: &&PullRequest| {
        let base = request.query("base");
        (wanted == "all" || pull.state == wanted)
            && head.is_none_or(|head| label(pull).as_deref() == Some(head))
            && base.is_none_or(|base| pull.base.branch == base)
    };
    let pulls = state.pulls.values().rev().filter(fits);
    let shown: Vec<Value> = pulls.map(|pull| state.pull_basics(pull)).collect();
    list(state, request, &shown)
}

pub fn open(state: &mut State, identity: &Identity, request: &Request) -> Reply {
    if !identity.starts_workflows() && !state.repository.actions_may_approve {
        return Reply::error(403, ACTIONS_MAY_NOT);
    }
    let text = |name: &str| request.text(name).unwrap_or_default();
    let owner = format!("{}:", state.repository.owner());
    let head = text("head").strip_prefix(&owner).unwrap_or(text("head"));
    let base = text("base");
    let invalid = |field: &str| {
        Reply::invalid(&json!([{ "resource": "PullRequest", "field": field, "code": "invalid" }]))
    };
    let Some(head_sha) = state.branch_head(head) else {
        return invalid("head");
    };
    let Some(base_sha) = state.branch_head(base) else {
        return invalid("base");
    };
    let custom = |message: String| {
        Reply::invalid(
            &json!([{ "resource": "PullRequest", "code": "custom", "message": message }]),
        )
    };
    let same = |pull: &PullRequest| {
        pull.state == "open" && pull.head.branch == head && pull.base.branch == base
    };
    if state.pulls.values().any(same) {
        return custom(format!("A pull request already exists for {owner}{head}."));
    }
    let ahead = format!("{base_sha}..{head_sha}");
    if state.git.must(&["rev-list", "--count", &ahead]) == "0" {
        return custom(format!("No commits between {base} and {head}"));
    }
    let number = state.open_pull(&identity.login, head, base);
    let (title, body) = (text("title").to_owned(), request.text("body"));
    if let Some(pull) = state.pulls.get_mut(&number) {
        pull.title = title;
        pull.body = body.map(str::to_owned);
        pull.draft = request.body["draft"] == true;
    }
    state.acted(identity, "opened", number, None);
    let json = request.body.clone();
    state.writes.push(Write::Pull { number, json });
    Reply::json(201, &state.pull_json(&state.pulls[&number]))
}

/// The rules of rulesets; those of branch protection are the branch's own.
pub fn rules(state: &State, request: &Request, branch: &str) -> Reply {
    let known = state.repository.protections.get(branch);
    let Some(known) = known.filter(|rules| rules.ruleset) else {
        return list(state, request, &[]);
    };
    let source = &state.repository.full_name;
    let rule = |kind: &str, parameters: Value| {
        json!({
            "type": kind, "parameters": parameters,
            "ruleset_source_type": "Repository", "ruleset_source": source, "ruleset_id": 1,
        })
    };
    let mut rules = Vec::new();
    if known.needs_pull_request {
        let parameters = json!({
            "dismiss_stale_reviews_on_push": false, "require_code_owner_review": false,
            "require_last_push_approval": false, "required_approving_review_count": 1,
            "required_review_thread_resolution": false,
        });
        rules.push(rule("pull_request", parameters));
    }
    if !known.required_checks.is_empty() {
        let checks = known.required_checks.iter();
        let checks: Vec<Value> = checks.map(|name| json!({ "context": name })).collect();
        let parameters = json!({
            "required_status_checks": checks, "strict_required_status_checks_policy": false,
        });
        rules.push(rule("required_status_checks", parameters));
    }
    list(state, request, &rules)
}

/// What `GET branches/{branch}` tells of branch protection.
pub fn protection(state: &State, branch: &str) -> (bool, Value) {
    let known = state.repository.protections.get(branch);
    let classic = known.filter(|rules| !rules.ruleset);
    let checks = classic.map(|rules| {
        let named = rules.required_checks.iter();
        let checks: Vec<Value> = named
            .map(|name| json!({ "context": name, "app_id": null }))
            .collect();
        json!({
            "enforcement_level": "everyone", "contexts": rules.required_checks, "checks": checks,
        })
    });
    let mut shown = json!({ "enabled": classic.is_some() });
    if let Some(checks) = checks {
        shown["required_status_checks"] = checks;
    }
    (known.is_some(), shown)
}
