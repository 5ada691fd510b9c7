//! The mutations that merge: auto-merge armed and disarmed, and the merge queue.

use apollo_compiler::response::{JsonMap, JsonValue};

use super::graphql::{Context, Node};
use super::mutations::{input, payload};
use super::nodes::{Made, no_node, pull_request};
use super::pushing::Refusal;

pub fn fields(context: &Context) -> Vec<(&'static str, Node<'_>)> {
    vec![
        (
            "enablePullRequestAutoMerge",
            Node::lazy(|arguments| enable(context, arguments)),
        ),
        (
            "disablePullRequestAutoMerge",
            Node::lazy(|arguments| disable(context, arguments)),
        ),
        (
            "enqueuePullRequest",
            Node::lazy(|arguments| enqueue(context, arguments)),
        ),
        (
            "dequeuePullRequest",
            Node::lazy(|arguments| dequeue(context, arguments)),
        ),
    ]
}

/// The pull request that this field of the input means, for somebody who may merge it.
fn meant(
    context: &Context,
    arguments: &JsonMap,
    field: &str,
) -> Result<u64, apollo_compiler::resolvers::FieldError> {
    let id = input(arguments, field);
    let found = {
        let state = context.state.borrow();
        let mut pulls = state.pulls.values();
        pulls
            .find(|pull| format!("PR_{}", pull.id) == id)
            .map(|pull| pull.number)
    };
    let number = found.ok_or_else(|| no_node(context, id))?;
    let may = context.identity.may("contents:write") && context.identity.may("pull-requests:write");
    if may {
        Ok(number)
    } else {
        Err(context.error("FORBIDDEN", context.identity.refusal()))
    }
}

fn expected(arguments: &JsonMap) -> Option<String> {
    let input = arguments.get("input")?;
    input
        .get("expectedHeadOid")
        .and_then(JsonValue::as_str)
        .map(str::to_owned)
}

fn shown<'c>(
    context: &'c Context,
    arguments: &JsonMap,
    typename: &'static str,
    number: u64,
    done: Result<(), Refusal>,
) -> Made<'c> {
    done.map_err(|(kind, words)| context.error(kind, words))?;
    let pull = context.state.borrow().pulls[&number].clone();
    let fields = match typename {
        "EnqueuePullRequestPayload" | "DequeuePullRequestPayload" => Vec::new(),
        _ => vec![("pullRequest", pull_request(context, &pull))],
    };
    Ok(payload(context, typename, arguments, fields))
}

fn enable<'c>(context: &'c Context, arguments: &JsonMap) -> Made<'c> {
    let number = meant(context, arguments, "pullRequestId")?;
    let head = expected(arguments);
    let method = input(arguments, "mergeMethod").to_owned();
    let mut state = context.state.borrow_mut();
    let done = state.arm(&context.identity, number, head.as_deref(), &method);
    drop(state);
    shown(
        context,
        arguments,
        "EnablePullRequestAutoMergePayload",
        number,
        done,
    )
}

fn disable<'c>(context: &'c Context, arguments: &JsonMap) -> Made<'c> {
    let number = meant(context, arguments, "pullRequestId")?;
    let done = context.state.borrow_mut().disarm(&context.identity, number);
    shown(
        context,
        arguments,
        "DisablePullRequestAutoMergePayload",
        number,
        done,
    )
}

fn enqueue<'c>(context: &'c Context, arguments: &JsonMap) -> Made<'c> {
    let number = meant(context, arguments, "pullRequestId")?;
    let head = expected(arguments);
    let mut state = context.state.borrow_mut();
    let done = state.put_in_queue(&context.identity, number, head.as_deref());
    drop(state);
    shown(
        context,
        arguments,
        "EnqueuePullRequestPayload",
        number,
        done,
    )
}

fn dequeue<'c>(context: &'c Context, arguments: &JsonMap) -> Made<'c> {
    let number = meant(context, arguments, "id")?;
    let mut state = context.state.borrow_mut();
    let done = state.take_out_of_queue(&context.identity, number);
    drop(state);
    shown(
        context,
        arguments,
        "DequeuePullRequestPayload",
        number,
        done,
    )
}
