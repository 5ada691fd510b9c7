//! The mutations: what GraphQL changes. Separate from `nodes`, because these are writes that a test must consume.

use apollo_compiler::resolvers::FieldError;
use apollo_compiler::response::{JsonMap, JsonValue};
use data_encoding::BASE64;
use serde_json::{Value, json};

use super::drafts;
use super::graphql::{Context, Node};
use super::history_nodes::{branch_node, object_by_oid};
use super::nodes::{Made, no_node, review_comment, review_thread};
use super::pushing::Wanted;
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
            "addPullRequestReviewThread",
            Node::lazy(|arguments| add_thread(context, arguments)),
        ),
        (
            "addPullRequestReviewThreadReply",
            Node::lazy(|arguments| add_reply(context, arguments)),
        ),
        (
            "minimizeComment",
            Node::lazy(|arguments| minimize(context, arguments)),
        ),
        (
            "createCommitOnBranch",
            Node::lazy(|arguments| create_commit(context, arguments)),
        ),
    ]
}

pub fn input<'a>(arguments: &'a JsonMap, name: &str) -> &'a str {
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

pub fn payload<'c>(
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

/// On a file as a whole, in a draft. Of lines GitHub takes places outside the diff, too, and never shows these comments: nobody
/// should ask for one.
fn add_thread<'c>(context: &'c Context, arguments: &JsonMap) -> Made<'c> {
    let (review, subject) = (
        input(arguments, "pullRequestReviewId"),
        input(arguments, "subjectType"),
    );
    if review.is_empty() || subject != "FILE" {
        let mut state = context.state.borrow_mut();
        let violation = "addPullRequestReviewThread on a line, or in no draft";
        state.violations.push(violation.into());
        return Err(context.error("UNPROCESSABLE", violation));
    }
    if !context.identity.may("pull-requests:write") {
        return Err(context.error("FORBIDDEN", FORBIDDEN));
    }
    let comment = json!({
        "path": input(arguments, "path"), "body": input(arguments, "body"), "subject_type": "file",
    });
    let made = {
        let mut state = context.state.borrow_mut();
        drafts::comment(&mut state, &context.identity, review, &comment)
    };
    let root = made.map_err(|(kind, message)| context.error(kind, message))?;
    let thread = context.state.borrow().thread_of(root).cloned();
    let shown = thread
        .and_then(|thread| review_thread(context, &thread))
        .unwrap_or_else(Node::null);
    let fields = vec![("thread", shown)];
    let typename = "AddPullRequestReviewThreadPayload";
    Ok(payload(context, typename, arguments, fields))
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

fn create_commit<'c>(context: &'c Context, arguments: &JsonMap) -> Made<'c> {
    let input = arguments.get("input").cloned().unwrap_or_default();
    let given: Value = serde_json::to_value(&input).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&given["branch"]["repositoryNameWithOwner"]);
    if context.state.borrow().repository.full_name != name {
        let message = format!("Could not resolve to a Repository with the name '{name}'.");
        return Err(context.error("NOT_FOUND", message));
    }
    if !context.identity.may("contents:write") {
        return Err(context.error("FORBIDDEN", context.identity.refusal()));
    }
    let additions = additions(context, &given)?;
    let (headline, body) = (
        text(&given["message"]["headline"]),
        &given["message"]["body"],
    );
    let body = body.as_str().filter(|body| !body.is_empty());
    let branch = text(&given["branch"]["branchName"]);
    let wanted = Wanted {
        branch: &branch,
        expected_head: &text(&given["expectedHeadOid"]),
        message: body.map_or(headline.clone(), |body| format!("{headline}\n\n{body}")),
        additions,
        deletions: files(&given, "deletions")
            .map(|file| text(&file["path"]))
            .collect(),
    };
    let made = context
        .state
        .borrow_mut()
        .commit_on_branch(&context.identity, &wanted);
    let sha = made.map_err(|(kind, message)| context.error(kind, message))?;
    context.state.borrow_mut().writes.push(Write::Commit {
        branch: branch.clone(),
        sha: sha.clone(),
        by: context.identity.login.clone(),
        json: given.clone(),
    });
    let fields = vec![
        ("commit", object_by_oid(context, &sha)),
        ("ref", branch_node(context, &branch)),
    ];
    Ok(payload(
        context,
        "CreateCommitOnBranchPayload",
        arguments,
        fields,
    ))
}

fn files<'v>(given: &'v Value, kind: &str) -> impl Iterator<Item = &'v Value> {
    let files = given["fileChanges"][kind].as_array();
    files.into_iter().flatten()
}

/// The files to write. The schema knows only that their contents are a scalar.
fn additions(context: &Context, given: &Value) -> Result<Vec<(String, Vec<u8>)>, FieldError> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let decoded = files(given, "additions").map(|file| {
        let bytes = BASE64.decode(text(&file["contents"]).as_bytes());
        bytes.map(|bytes| (text(&file["path"]), bytes))
    });
    let decoded: Result<_, _> = decoded.collect();
    decoded.map_err(|_| {
        let mut state = context.state.borrow_mut();
        state.violations.push("contents that are no base64".into());
        context.error("UNPROCESSABLE", "contents is no base64")
    })
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
