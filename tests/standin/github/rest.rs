//! The REST routes: which answer belongs to which path, and what is only read. What writes is in `reviews` and
//! `checks`.

use http::Method;
use serde_json::{Value, json};

use super::reply::{BODY_CHARACTERS, FORBIDDEN, Reply, Request, TOO_LONG, page};
use super::state::{Identity, PullRequest, Reaction, ReviewComment, State};
use super::writes::Write;
use super::{
    app, checks, contents, conversation, drafts, merging, requests, reviews, stacked, webhooks,
};

/// GitHub lists no more than these.
const MOST_FILES: usize = 3_000;
const MOST_COMMITS: usize = 250;
const MOST_COMPARED_FILES: usize = 300;

/// The permission that the token lacks. Anybody may read a public repository.
pub fn missing_permission(state: &State, identity: &Identity, request: &Request) -> Option<String> {
    let segments: Vec<&str> = request
        .segments
        .iter()
        .skip(3)
        .map(String::as_str)
        .collect();
    let scope = match segments.as_slice() {
        [
            "compare" | "contents" | "branches" | "languages" | "git",
            ..,
        ]
        | ["commits", _]
        | ["pulls", _, "merge"] => "contents",
        ["pulls" | "issues", ..] => "pull-requests",
        ["check-runs", ..] | ["commits", _, "check-runs"] => "checks",
        ["hooks", ..] => "repository-hooks",
        _ => return None,
    };
    let reads = request.method == Method::GET;
    let needed = format!("{scope}:{}", if reads { "read" } else { "write" });
    let open = reads && !state.repository.private && scope != "repository-hooks";
    (!open && !identity.may(&needed)).then_some(needed)
}

pub fn answer(state: &mut State, identity: &Identity, request: &Request) -> Reply {
    let segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
    let rest = segments.get(3..).unwrap_or_default();
    match (request.method.as_str(), rest) {
        ("GET", []) if segments == ["rate_limit"] => rate_limit(),
        // The token of a workflow is nobody's.
        ("GET", []) if segments == ["user"] => Reply::error(403, FORBIDDEN),
        ("GET", []) if segments == ["installation", "repositories"] => {
            app::repositories(state, identity, request)
        }
        ("GET", []) => Reply::json(200, &state.repository_json()),
        ("GET", ["pulls"]) => stacked::pulls(state, request),
        ("POST", ["pulls"]) => stacked::open(state, identity, request),
        ("POST", ["git", "refs"]) => stacked::create_ref(state, identity, request),
        ("GET", ["rules", "branches", branch]) => stacked::rules(state, request, branch),
        (_, ["pulls", "comments", id, tail @ ..]) => {
            one_comment(state, identity, request, number(id), tail)
        }
        (_, ["pulls", pull, tail @ ..]) => match state.pulls.get(&number(pull)).cloned() {
            Some(pull) => pull_route(state, identity, request, &pull, tail),
            None => Reply::not_found(),
        },
        (_, ["issues", "comments", id, "reactions"]) => {
            let known = state
                .issue_comments
                .iter()
                .any(|comment| comment.id == number(id));
            react(state, identity, request, number(id), known)
        }
        (_, ["issues", tail @ ..]) => conversation::answer(state, identity, request, tail),
        ("POST", ["check-runs"]) => checks::create(state, identity, request),
        ("PATCH", ["check-runs", id]) => checks::update(state, request, number(id)),
        ("GET", ["commits", commit, "check-runs"]) => checks::list(state, request, commit),
        ("GET", ["compare", basehead]) => compare(state, basehead),
        ("GET", ["contents", path @ ..]) => contents::file(state, request, &path.join("/")),
        ("GET", ["hooks"]) => webhooks::list(state, identity),
        ("GET", ["languages"]) => contents::languages(state),
        ("GET", ["commits", commit]) => contents::commit(state, commit),
        ("GET", ["branches", name]) => contents::branch(state, name),
        ("GET", ["collaborators", login, "permission"]) => permission(state, login),
        _ => Reply::not_found(),
    }
}

/// Zero is nobody's number, so that what is no number is not found.
pub fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

fn pull_route(
    state: &mut State,
    identity: &Identity,
    request: &Request,
    pull: &PullRequest,
    tail: &[&str],
) -> Reply {
    match (request.method.as_str(), tail) {
        ("GET", []) => Reply::json(200, &state.pull_json(pull)),
        ("GET", ["requested_reviewers"]) => Reply::json(
            200,
            &json!({
                "users": pull.requested_reviewers.iter().map(|login| state.user_json(login)).collect::<Vec<_>>(),
                "teams": pull.requested_teams.iter().map(|slug| state.team_json(slug)).collect::<Vec<_>>(),
            }),
        ),
        ("GET", tail) => match pull_list(state, identity, request, pull, tail) {
            Some(items) => list(state, request, &items),
            None => Reply::not_found(),
        },
        ("POST", ["requested_reviewers"]) => requests::create(state, identity, request, pull),
        ("PUT", ["merge"]) => merging::put(state, identity, request, pull),
        ("POST", ["reviews"]) => reviews::create(state, identity, request, pull),
        ("DELETE", ["reviews", id]) => drafts::delete(state, identity, number(id)),
        ("POST", ["reviews", id, "events"]) => {
            drafts::submit(state, identity, request, pull, number(id))
        }
        ("PUT", ["reviews", id, "dismissals"]) => {
            reviews::dismiss(state, identity, request, pull, number(id))
        }
        ("POST", ["comments"]) => reviews::comment(state, identity, request, pull),
        ("POST", ["comments", root, "replies"]) => {
            reviews::reply(state, identity, request, pull, number(root))
        }
        _ => Reply::not_found(),
    }
}

/// Everything that a pull request has many of.
fn pull_list(
    state: &State,
    identity: &Identity,
    request: &Request,
    pull: &PullRequest,
    tail: &[&str],
) -> Option<Vec<Value>> {
    let comments = |wanted: &dyn Fn(&ReviewComment) -> bool| -> Vec<Value> {
        let of_pull = state.comments.iter().filter(|one| one.pull == pull.number);
        of_pull
            .filter(|one| wanted(one))
            .map(|one| state.comment_json(one))
            .collect()
    };
    let items = match tail {
        ["files"] => {
            let (web, api, head) = (state.web_url(), state.api_url(), &pull.head.sha);
            let files = state.diff_at(pull, head);
            files
                .iter()
                .take(MOST_FILES)
                .map(|file| file.to_json(&web, &api, head))
                .collect()
        }
        ["commits"] => {
            let mut commits = commits_between(state, &pull.base.sha, &pull.head.sha);
            commits.truncate(MOST_COMMITS);
            commits
        }
        ["comments"] => {
            let mut visible = comments(&|one| !state.is_of_draft(one));
            if request.query("sort").is_some() && request.query("direction") == Some("desc") {
                visible.reverse();
            }
            since(request, visible)
        }
        ["reviews"] => {
            let reviews = state.reviews.iter().filter(|one| one.pull == pull.number);
            let seen = reviews.filter(|one| one.is_seen_by(&identity.login));
            seen.map(|one| state.review_json(one)).collect()
        }
        ["reviews", id, "comments"] => {
            let id = number(id);
            let review = state.review(id)?;
            if review.pull != pull.number || !review.is_seen_by(&identity.login) {
                return None;
            }
            comments(&|one| one.review_id == id)
        }
        _ => return None,
    };
    Some(items)
}

pub fn list(state: &State, request: &Request, items: &[Value]) -> Reply {
    page(request, state, items)
}

/// Times in one format and one zone compare as text.
pub fn since(request: &Request, items: Vec<Value>) -> Vec<Value> {
    let Some(since) = request.query("since") else {
        return items;
    };
    items
        .into_iter()
        .filter(|item| item["updated_at"].as_str() >= Some(since))
        .collect()
}

fn commits_between(state: &State, base: &str, head: &str) -> Vec<Value> {
    let list = state
        .git
        .ask(&["rev-list", "--reverse", &format!("{base}..{head}")])
        .unwrap_or_default();
    list.lines()
        .filter_map(|sha| state.commit_json(sha))
        .collect()
}

fn one_comment(
    state: &mut State,
    identity: &Identity,
    request: &Request,
    id: u64,
    tail: &[&str],
) -> Reply {
    let Some(comment) = state.comment(id).cloned() else {
        return Reply::not_found();
    };
    if state.is_hidden_from(&identity.login, &comment) {
        return Reply::not_found();
    }
    match (request.method.as_str(), tail) {
        ("GET", []) => Reply::json(200, &state.comment_json(&comment)),
        ("POST", ["reactions"]) => react(state, identity, request, id, true),
        ("PATCH", []) => {
            let body = request.text("body").unwrap_or_default();
            if let Some(refusal) = body_refusal(body) {
                return refusal;
            }
            state.edit(id, &identity.login, body);
            state.writes.push(Write::EditComment {
                id,
                json: request.body.clone(),
            });
            state.comment(id).map_or_else(Reply::not_found, |comment| {
                Reply::json(200, &state.comment_json(comment))
            })
        }
        ("DELETE", []) => {
            state.delete(id);
            state.writes.push(Write::DeleteComment { id });
            Reply::json(204, &Value::Null)
        }
        _ => Reply::not_found(),
    }
}

/// GitHub's refusal of a text that is empty or too long.
pub fn body_refusal(body: &str) -> Option<Reply> {
    if body.trim().is_empty() {
        return Some(Reply::unprocessable(&["Body can't be blank"]));
    }
    (body.chars().count() > BODY_CHARACTERS).then(|| Reply::unprocessable(&[TOO_LONG]))
}

fn react(
    state: &mut State,
    identity: &Identity,
    request: &Request,
    comment: u64,
    known: bool,
) -> Reply {
    if !known {
        return Reply::not_found();
    }
    let content = request.text("content").unwrap_or_default().to_owned();
    let same = |one: &&Reaction| {
        one.comment == comment && one.user == identity.login && one.content == content
    };
    if let Some(already) = state.reactions.iter().find(same) {
        return Reply::json(200, &state.reaction_json(already));
    }
    let (id, created_at) = (state.next_id(), state.tick());
    let reaction = Reaction {
        id,
        comment,
        user: identity.login.clone(),
        content,
        created_at,
    };
    let reply = Reply::json(201, &state.reaction_json(&reaction));
    state.reactions.push(reaction);
    state.writes.push(Write::Reaction {
        comment,
        json: request.body.clone(),
    });
    reply
}

fn compare(state: &State, basehead: &str) -> Reply {
    let ends = basehead.split_once("...");
    let ends = ends
        .and_then(|(base, head)| Some((state.git.commit_of(base)?, state.git.commit_of(head)?)));
    let Some((base, head)) = ends else {
        return Reply::not_found();
    };
    let Some(merge_base) = state.git.merge_base(&base, &head) else {
        return Reply::error(404, "No common ancestor between the two commits.");
    };
    let counts = state.git.must(&[
        "rev-list",
        "--left-right",
        "--count",
        &format!("{base}...{head}"),
    ]);
    let (behind, ahead) = counts
        .split_once('\t')
        .map_or((0, 0), |(left, right)| (number(left), number(right)));
    let status = match (ahead, behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let (web, api) = (state.web_url(), state.api_url());
    let files = super::diff::between(&state.git, &merge_base, &head);
    let commits = commits_between(state, &base, &head);
    let url = format!("{web}/compare/{basehead}");
    Reply::json(
        200,
        &json!({
            "url": format!("{api}/compare/{basehead}"), "html_url": url, "permalink_url": url,
            "diff_url": format!("{url}.diff"), "patch_url": format!("{url}.patch"),
            "base_commit": state.commit_json(&base), "merge_base_commit": state.commit_json(&merge_base),
            "status": status, "ahead_by": ahead, "behind_by": behind, "total_commits": ahead,
            "commits": commits.iter().take(MOST_COMMITS).collect::<Vec<_>>(),
            "files": files.iter().take(MOST_COMPARED_FILES).map(|file| file.to_json(&web, &api, &head)).collect::<Vec<_>>(),
        }),
    )
}

fn permission(state: &State, login: &str) -> Reply {
    let permission = state.permission(login);
    let rank = ["none", "read", "write", "admin"]
        .iter()
        .position(|one| *one == permission)
        .unwrap_or(0);
    let mut user = state.user_json(login);
    user["permissions"] = json!({
        "pull": rank > 0, "triage": rank > 1, "push": rank > 1, "maintain": rank > 2, "admin": rank > 2,
    });
    user["role_name"] = json!(permission);
    Reply::json(
        200,
        &json!({ "permission": permission, "role_name": permission, "user": user }),
    )
}

fn rate_limit() -> Reply {
    let limit = json!({ "limit": 1_000, "remaining": 990, "reset": 1_767_229_200_u64, "used": 10 });
    Reply::json(
        200,
        &json!({ "resources": { "core": limit, "search": limit, "graphql": limit }, "rate": limit }),
    )
}
