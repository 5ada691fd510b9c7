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
        (_, [pull, "labels"]) => labels(state, identity, request, number(pull)),
        ("DELETE", [pull, "labels", name]) => remove_label(state, identity, number(pull), name),
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

/// GitHub takes no longer name of a label.
const LABEL_CHARACTERS: usize = 50;

/// A client sets all labels at once, or some beside those that are there. Names that nobody has used become labels.
fn labels(state: &mut State, identity: &Identity, request: &Request, number: u64) -> Reply {
    let Some(pull) = state.pulls.get(&number) else {
        return Reply::not_found();
    };
    let replaces = request.method == Method::PUT;
    if replaces || request.method == Method::POST {
        let given = request.body.get("labels").unwrap_or(&request.body);
        let names = given.as_array().into_iter().flatten();
        let names: Vec<&str> = names.filter_map(Value::as_str).collect();
        if names
            .iter()
            .any(|name| name.chars().count() > LABEL_CHARACTERS)
        {
            let error = json!([{ "resource": "Label", "field": "name", "code": "invalid" }]);
            return Reply::invalid(&error);
        }
        let before = pull.labels.clone();
        let kept = if replaces { Vec::new() } else { before.clone() };
        let (mut after, mut added) = (kept, Vec::new());
        for name in names {
            if !has(&after, name) {
                after.push(name.to_owned());
                added.extend((!has(&before, name)).then_some(name));
            }
        }
        for name in added {
            state.repository.labels.insert(name.to_owned());
            state.acted(identity, "labeled", number, Some(name));
        }
        for name in before.iter().filter(|name| !has(&after, name)) {
            state.acted(identity, "unlabeled", number, Some(name));
        }
        set_labels(state, number, after);
        let json = request.body.clone();
        state.writes.push(Write::Labels { pull: number, json });
    }
    shown_labels(state, number)
}

/// Names of labels have no case.
fn has(labels: &[String], name: &str) -> bool {
    labels.iter().any(|label| label.eq_ignore_ascii_case(name))
}

fn set_labels(state: &mut State, number: u64, labels: Vec<String>) {
    state.tick();
    if let Some(pull) = state.pulls.get_mut(&number) {
        pull.labels = labels;
    }
}

fn shown_labels(state: &State, number: u64) -> Reply {
    let labels = state.pulls[&number].labels.iter();
    let labels: Vec<Value> = labels.map(|name| state.label_json(name)).collect();
    Reply::json(200, &json!(labels))
}

fn remove_label(state: &mut State, identity: &Identity, number: u64, name: &str) -> Reply {
    let Some(pull) = state.pulls.get(&number) else {
        return Reply::not_found();
    };
    let mut labels = pull.labels.clone();
    if !has(&labels, name) {
        return Reply::error(404, "Label does not exist");
    }
    labels.retain(|label| !label.eq_ignore_ascii_case(name));
    set_labels(state, number, labels);
    state.acted(identity, "unlabeled", number, Some(name));
    let name = name.to_owned();
    state
        .writes
        .push(Write::LabelRemoved { pull: number, name });
    shown_labels(state, number)
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
        self.announce_comment("issue_comment", pull, id);
        comment
    }
}
