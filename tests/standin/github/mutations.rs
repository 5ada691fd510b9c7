//! The four mutations: what GraphQL changes. Separate from `nodes`, because these are writes that a test must consume.

use apollo_compiler::resolvers::FieldError;
use apollo_compiler::response::{JsonMap, JsonValue};
use serde_json::json;

use super::graphql::{Context, Node};
use super::nodes::{Made, no_node, review_comment, review_thread};
use super::reply::{BODY_CHARACTERS, FORBIDDEN, TOO_LONG};
use super::writes::Write;

pub fn fields(context: &Context) -> Vec<(&'static str, Node<'_>)> {
    vec![
        (
            "resolveReviewThread",
            Node::lazy(|arguments| set_resolved(context, arguments, true)),
        ),
        (
            "unresolveReviewThread",
            Node::lazy(|arguments| set_resolved(context, arguments, false)),
        ),
        (
            "addPullRequestReviewThreadReply",
            Node::lazy(|arguments| add_reply(context, arguments)),
        ),
        (
            "minimizeComment",
            Node::lazy(|arguments| minimize(context, arguments)),
        ),
    ]
}

fn input<'a>(arguments: &'a JsonMap, name: &str) -> &'a str {
    arguments
        .get("input")
        .and_then(|input| input.get(name))
        .and_then(JsonValue::as_str)
        .unwrap_or_default()
}

fn thread_root(context: &Context, id: &str) -> Result<u64, FieldError> {
    let found = context
        .state
        .borrow()
        .threads
        .iter()
        .find(|thread| thread.id == id)
        .map(|thread| thread.root);
    found.ok_or_else(|| no_node(context, id))
}

/// Undocumented, measured: this also needs the permission to write contents.
fn set_resolved<'c>(context: &'c Context, arguments: &JsonMap, resolved: bool) -> Made<'c> {
    let root = thread_root(context, input(arguments, "threadId"))?;
    if !context.identity.may_resolve() {
        return Err(context.error("FORBIDDEN", FORBIDDEN));
    }
    let by = context.identity.login.clone();
    let thread = {
        let mut state = context.state.borrow_mut();
        state.set_resolved(root, resolved.then_some(by.as_str()));
        state.writes.push(if resolved {
            Write::Resolve { root, by }
        } else {
            Write::Unresolve { root, by }
        });
        state.thread_of(root).cloned()
    };
    let shown = thread
        .and_then(|thread| review_thread(context, &thread))
        .unwrap_or_else(Node::null);
    let typename = if resolved {
        "ResolveReviewThreadPayload"
    } else {
        "UnresolveReviewThreadPayload"
    };
    Ok(payload(
        context,
        typename,
        arguments,
        vec![("thread", shown)],
    ))
}

fn payload<'c>(
    context: &'c Context,
    typename: &'static str,
    arguments: &JsonMap,
    mut fields: Vec<(&'static str, Node<'c>)>,
) -> Node<'c> {
    let client = arguments
        .get("input")
        .and_then(|input| input.get("clientMutationId"))
        .and_then(JsonValue::as_str);
    fields.push(("clientMutationId", client.map(str::to_owned).into()));
    Node::object(context, typename, fields)
}

fn add_reply<'c>(context: &'c Context, arguments: &JsonMap) -> Made<'c> {
    let root = thread_root(context, input(arguments, "pullRequestReviewThreadId"))?;
    if !context.identity.may("pull-requests:write") {
        return Err(context.error("FORBIDDEN", FORBIDDEN));
    }
    let body = input(arguments, "body");
    if body.chars().count() > BODY_CHARACTERS {
        return Err(context.error("UNPROCESSABLE", TOO_LONG));
    }
    let comment = {
        let mut state = context.state.borrow_mut();
        let comment = state.add_reply(root, &context.identity.login, body);
        let comment = comment
            .ok_or_else(|| context.error("NOT_FOUND", "The thread has no comment to reply to"))?;
        let json = json!({ "body": body });
        state.writes.push(Write::Reply {
            pull: comment.pull,
            root,
            id: comment.id,
            json,
        });
        comment
    };
    let fields = vec![("comment", review_comment(context, &comment))];
    Ok(payload(
        context,
        "AddPullRequestReviewThreadReplyPayload",
        arguments,
        fields,
    ))
}

fn minimize<'c>(context: &'c Context, arguments: &JsonMap) -> Made<'c> {
    let node_id = input(arguments, "subjectId").to_owned();
    if !context.identity.may("pull-requests:write") {
        return Err(context.error("FORBIDDEN", FORBIDDEN));
    }
    let comment = {
        let mut state = context.state.borrow_mut();
        let found = state
            .comments
            .iter_mut()
            .find(|comment| comment.node_id == node_id);
        let comment = found.map(|comment| {
            comment.minimized = true;
            comment.clone()
        });
        let comment = comment.ok_or_else(|| no_node(context, &node_id))?;
        state.tick();
        let json = json!({ "classifier": input(arguments, "classifier") });
        state.writes.push(Write::Minimize { node_id, json });
        comment
    };
    let fields = vec![("minimizedComment", review_comment(context, &comment))];
    Ok(payload(
        context,
        "MinimizeCommentPayload",
        arguments,
        fields,
    ))
}
