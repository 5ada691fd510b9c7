//! The conversation under a pull request, which GitHub keeps as an issue: comments and labels. Separate from the comments on
//! its code, which have lines, threads and reviews.

use http::Method;
use serde_json::{Value, json};

use super::reply::{Reply, Request};
use super::rest::{body_refusal, list, number, since};
use super::state::{Identity, IssueComment, State};
use super::writes::Write;

pub fn answer(state: &mut State, identity: &Identity, request: &Request, tail: &[&str]) -> Reply {
    match (request.method.as_str(), tail) {
        (_, ["comments", id]) => one_comment(state, request, number(id)),
        (_, [pull, "comments"]) => comments(state, identity, request, number(pull)),
        (_, [pull, "labels"]) => labels(state, request, number(pull)),
        _ => Reply::not_found(),
    }
}

fn one_comment(state: &mut State, request: &Request, id: u64) -> Reply {
    let Some(index) = state.issue_comments.iter().position(|one| one.id == id) else {
        return Reply::not_found();
    };
    match request.method.as_str() {
        "PATCH" => {
            let body = request.text("body").unwrap_or_default();
            if let Some(refusal) = body_refusal(body) {
                return refusal;
            }
            state.issue_comments[index].body = body.into();
            state.issue_comments[index].updated_at = state.tick();
            let json = request.body.clone();
            state.writes.push(Write::EditIssueComment { id, json });
        }
        "DELETE" => {
            state.issue_comments.remove(index);
            state.writes.push(Write::DeleteIssueComment { id });
            return Reply::json(204, &Value::Null);
        }
        _ => {}
    }
    Reply::json(200, &state.issue_comment_json(&state.issue_comments[index]))
}

/// All labels at once are what a client may set.
fn labels(state: &mut State, request: &Request, number: u64) -> Reply {
    let Some(pull) = state.pulls.get_mut(&number) else {
        return Reply::not_found();
    };
    if request.method == Method::PUT {
        let given = request.body.get("labels").unwrap_or(&request.body);
        let names = given.as_array().into_iter().flatten();
        let names = names.filter_map(|name| name.as_str().map(str::to_owned));
        pull.labels = names.collect();
        let json = request.body.clone();
        state.writes.push(Write::Labels { pull: number, json });
    }
    let labels = state.pulls[&number].labels.iter();
    let labels: Vec<Value> = labels.map(|name| state.label_json(name)).collect();
    Reply::json(200, &json!(labels))
}

fn comments(state: &mut State, identity: &Identity, request: &Request, pull: u64) -> Reply {
    if !state.pulls.contains_key(&pull) {
        return Reply::not_found();
    }
    if request.method == Method::GET {
        let items = state
            .issue_comments
            .iter()
            .filter(|one| one.pull == pull)
            .map(|one| state.issue_comment_json(one));
        return list(state, request, &since(request, items.collect()));
    }
    let body = request.text("body").unwrap_or_default();
    if let Some(refusal) = body_refusal(body) {
        return refusal;
    }
    let comment = state.add_issue_comment(pull, &identity.login, body);
    state.writes.push(Write::IssueComment {
        pull,
        id: comment.id,
        json: request.body.clone(),
    });
    Reply::json(201, &state.issue_comment_json(&comment))
}

impl State {
    pub fn add_issue_comment(&mut self, pull: u64, login: &str, body: &str) -> IssueComment {
        let (id, at) = (self.next_id(), self.tick());
        let comment = IssueComment {
            id,
            pull,
            body: body.into(),
            user: login.into(),
            author_association: self.association(login, pull),
            created_at: at.clone(),
            updated_at: at,
        };
        self.issue_comments.push(comment.clone());
        comment
    }
}
