//! The state as GraphQL objects: what each type's fields are. Separate from `graphql`, which
//! knows how to execute a query and nothing about pull requests.

use apollo_compiler::resolvers::{FieldError, ObjectValue};
use apollo_compiler::response::{JsonMap, JsonValue};

use super::graphql::{Context, Node, as_root, connection};
use super::history_nodes::{branch_node, commits, object_by_name, object_by_oid, timeline};
use super::life_nodes::{of_pull, of_repository, state_of};
use super::moving::Found;
use super::queue::merge_queue;
use super::shapes::user_id;
use super::state::{PullRequest, QueueEntry, Review, ReviewComment, Thread};
use super::{merge_mutations, mutations};

pub type Made<'c> = Result<Node<'c>, FieldError>;

pub fn root<'c>(context: &'c Context, mutation: bool) -> Box<dyn ObjectValue + 'c> {
    if mutation {
        let mut fields = mutations::fields(context);
        fields.extend(merge_mutations::fields(context));
        return as_root(context, "Mutation", fields);
    }
    let fields = vec![
        ("viewer", person(context, "User", &context.identity.login)),
        ("rateLimit", rate_limit(context)),
        (
            "repository",
            Node::lazy(|arguments| repository(context, arguments)),
        ),
        ("node", Node::lazy(|arguments| node(context, arguments))),
    ];
    as_root(context, "Query", fields)
}

pub fn text<'a>(arguments: &'a JsonMap, name: &str) -> &'a str {
    arguments
        .get(name)
        .and_then(JsonValue::as_str)
        .unwrap_or_default()
}

fn rate_limit(context: &Context) -> Node<'_> {
    let rate = context.state.borrow().rate;
    let reset = i64::try_from(rate.reset).unwrap_or_default();
    let reset = chrono::DateTime::from_timestamp(reset, 0).unwrap_or_default();
    let fields = vec![
        ("cost", context.cost.points.into()),
        ("limit", rate.limit.into()),
        ("nodeCount", context.cost.nodes.into()),
        ("remaining", rate.left.into()),
        ("used", (rate.limit - rate.left).into()),
        (
            "resetAt",
            reset.format("%Y-%m-%dT%H:%M:%SZ").to_string().into(),
        ),
    ];
    Node::object(context, "RateLimit", fields)
}

/// Somebody under the login given.
pub fn person<'c>(context: &'c Context, typename: &'static str, login: &str) -> Node<'c> {
    let state = context.state.borrow();
    let id = user_id(login);
    let fields = vec![
        ("login", login.into()),
        ("id", format!("U_{id}").into()),
        ("databaseId", id.into()),
        ("url", format!("{}/{login}", state.base_url).into()),
    ];
    Node::object(context, typename, fields)
}

/// GraphQL names a bot without the `[bot]` of REST, and says that it is one by its type.
pub fn actor<'c>(context: &'c Context, login: Option<&str>) -> Node<'c> {
    match login {
        None => Node::null(),
        Some(login) => match login.strip_suffix("[bot]") {
            Some(bare) => person(context, "Bot", bare),
            None => person(context, "User", login),
        },
    }
}

fn repository<'c>(context: &'c Context, arguments: &JsonMap) -> Made<'c> {
    let name = format!("{}/{}", text(arguments, "owner"), text(arguments, "name"));
    let repository = context.state.borrow().repository.clone();
    let found = context.state.borrow().find(&name);
    let granted = context.identity.repositories.as_ref();
    let id = match found {
        Found::Own | Found::Former => Some(repository.id),
        Found::Stranger(id) => Some(id),
        Found::Nothing => None,
    };
    let id = id.filter(|id| granted.is_none_or(|granted| granted.contains(id)));
    let Some(id) = id else {
        let message = format!("Could not resolve to a Repository with the name '{name}'.");
        return Err(context.error("NOT_FOUND", message));
    };
    if id != repository.id {
        return Ok(stranger(context, id, &name));
    }
    let mut fields = vec![
        ("id", format!("R_{}", repository.id).into()),
        ("databaseId", repository.id.into()),
        ("name", repository.name().into()),
        ("nameWithOwner", repository.full_name.clone().into()),
        ("isPrivate", repository.private.into()),
        ("owner", person(context, "Organization", repository.owner())),
        (
            "pullRequest",
            Node::lazy(|arguments| pull_by_number(context, arguments)),
        ),
        (
            "ref",
            Node::lazy(|arguments| {
                let name = text(arguments, "qualifiedName");
                let branch = name.strip_prefix("refs/heads/").unwrap_or(name);
                Ok(branch_node(context, branch))
            }),
        ),
        (
            "mergeQueue",
            Node::lazy(|arguments| Ok(merge_queue(context, arguments))),
        ),
        (
            "object",
            Node::lazy(|arguments| Ok(object_by_name(context, arguments))),
        ),
    ];
    fields.extend(of_repository(context, &repository));
    Ok(Node::object(context, "Repository", fields))
}

/// Another repository, which has nothing yet.
fn stranger<'c>(context: &'c Context, id: u64, name: &str) -> Node<'c> {
    let empty = || connection(context, "PullRequestConnection", "pullRequests", Vec::new());
    let nobody = |arguments: &JsonMap| Err(no_pull(context, arguments));
    let mut fields = vec![
        ("databaseId", id.into()),
        ("nameWithOwner", name.into()),
        ("pullRequests", empty()),
        ("pullRequest", Node::lazy(nobody)),
    ];
    let settings = [
        "autoMergeAllowed",
        "mergeCommitAllowed",
        "squashMergeAllowed",
        "rebaseMergeAllowed",
    ];
    fields.extend(settings.map(|name| (name, false.into())));
    Node::object(context, "Repository", fields)
}

fn no_pull(context: &Context, arguments: &JsonMap) -> FieldError {
    let number = arguments.get("number").and_then(JsonValue::as_u64);
    let number = number.unwrap_or(0);
    let message = format!("Could not resolve to a PullRequest with the number of {number}.");
    context.error("NOT_FOUND", message)
}

fn pull_by_number<'c>(context: &'c Context, arguments: &JsonMap) -> Made<'c> {
    let number = arguments
        .get("number")
        .and_then(JsonValue::as_u64)
        .unwrap_or(0);
    let found = context.state.borrow().pulls.get(&number).cloned();
    if let Some(pull) = found {
        Ok(pull_request(context, &pull))
    } else {
        Err(no_pull(context, arguments))
    }
}

pub fn pull_request<'c>(context: &'c Context, pull: &PullRequest) -> Node<'c> {
    let number = pull.number;
    let queued = |queue: &[QueueEntry]| queue.iter().any(|entry| entry.pull == number);
    let queued = queued(&context.state.borrow().queue);
    let mut fields = vec![
        ("id", format!("PR_{}", pull.id).into()),
        ("number", number.into()),
        ("title", pull.title.clone().into()),
        ("body", pull.body.clone().unwrap_or_default().into()),
        ("isDraft", pull.draft.into()),
        ("state", state_of(pull).into()),
        ("isCrossRepository", pull.is_from_fork().into()),
        ("headRefOid", pull.head.sha.clone().into()),
        ("headRefName", pull.head.branch.clone().into()),
        ("baseRefOid", pull.base.sha.clone().into()),
        ("baseRefName", pull.base.branch.clone().into()),
        ("author", actor(context, Some(&pull.author))),
        ("isInMergeQueue", queued.into()),
        ("maintainerCanModify", pull.maintainer_can_modify.into()),
        ("locked", pull.locked.into()),
        ("commits", commits(context, pull)),
        ("timelineItems", timeline(context, pull)),
        ("reviews", reviews(context, number)),
        ("reviewThreads", review_threads(context, number)),
    ];
    fields.extend(of_pull(context, pull));
    Node::object(context, "PullRequest", fields)
}

fn review_threads(context: &Context, pull: u64) -> Node<'_> {
    let threads: Vec<Thread> = context
        .state
        .borrow()
        .threads
        .iter()
        .filter(|thread| thread.pull == pull)
        .cloned()
        .collect();
    let nodes = threads
        .iter()
        .filter_map(|thread| review_thread(context, thread))
        .collect();
    connection(
        context,
        "PullRequestReviewThreadConnection",
        "reviewThreads",
        nodes,
    )
}

pub fn review_thread<'c>(context: &'c Context, thread: &Thread) -> Option<Node<'c>> {
    let belongs =
        |one: &&ReviewComment| one.id == thread.root || one.in_reply_to_id == Some(thread.root);
    let comments: Vec<ReviewComment> = context
        .state
        .borrow()
        .comments
        .iter()
        .filter(belongs)
        .cloned()
        .collect();
    let first = comments.first()?;
    let (resolver, writer) = (
        context.identity.may_resolve(),
        context.identity.may("pull-requests:write"),
    );
    let nodes = comments
        .iter()
        .map(|comment| review_comment(context, comment))
        .collect();
    let resolved_by = thread
        .resolved_by
        .as_deref()
        .map(|login| login.trim_end_matches("[bot]"));
    let fields = vec![
        ("id", thread.id.clone().into()),
        ("isResolved", thread.is_resolved.into()),
        ("isCollapsed", thread.is_resolved.into()),
        ("isOutdated", thread.is_outdated.into()),
        ("path", first.path.clone().into()),
        ("line", first.line.into()),
        ("originalLine", first.original_line.into()),
        ("startLine", first.start_line.into()),
        ("originalStartLine", first.original_start_line.into()),
        ("diffSide", first.side.clone().into()),
        ("startDiffSide", first.start_side.clone().into()),
        ("subjectType", first.subject_type.to_uppercase().into()),
        ("viewerCanResolve", (resolver && !thread.is_resolved).into()),
        (
            "viewerCanUnresolve",
            (resolver && thread.is_resolved).into(),
        ),
        ("viewerCanReply", writer.into()),
        // The schema knows only users here, whoever it was.
        (
            "resolvedBy",
            resolved_by.map_or_else(Node::null, |login| person(context, "User", login)),
        ),
        (
            "comments",
            connection(
                context,
                "PullRequestReviewCommentConnection",
                "comments",
                nodes,
            ),
        ),
    ];
    Some(Node::object(context, "PullRequestReviewThread", fields))
}

pub fn review_comment<'c>(context: &'c Context, comment: &ReviewComment) -> Node<'c> {
    let root = comment.in_reply_to_id;
    let review = review_of(context, comment);
    let parent = root.and_then(|root| context.state.borrow().comment(root).cloned());
    let fields = vec![
        ("id", comment.node_id.clone().into()),
        // A BigInt, which GitHub sends as a string.
        ("fullDatabaseId", comment.id.to_string().into()),
        ("databaseId", comment.id.into()),
        ("body", comment.body.clone().into()),
        ("path", comment.path.clone().into()),
        ("line", comment.line.into()),
        ("originalLine", comment.original_line.into()),
        (
            "outdated",
            (comment.line.is_none() && comment.subject_type == "line").into(),
        ),
        ("diffHunk", comment.diff_hunk.clone().into()),
        ("subjectType", comment.subject_type.to_uppercase().into()),
        ("createdAt", comment.created_at.clone().into()),
        ("updatedAt", comment.updated_at.clone().into()),
        ("lastEditedAt", comment.last_edited_at.clone().into()),
        ("includesCreatedEdit", comment.editor.is_some().into()),
        ("editor", actor(context, comment.editor.as_deref())),
        ("author", actor(context, comment.user.as_deref())),
        (
            "authorAssociation",
            comment.author_association.clone().into(),
        ),
        (
            "pullRequestReview",
            Node::lazy(move |_| {
                let review = review.as_ref();
                Ok(review.map_or_else(Node::null, |review| one_review(context, review)))
            }),
        ),
        ("isMinimized", comment.minimized.into()),
        (
            "minimizedReason",
            comment.minimized.then_some("outdated").into(),
        ),
        (
            "replyTo",
            parent.map_or_else(Node::null, |parent| review_comment(context, &parent)),
        ),
        (
            "url",
            context.state.borrow().comment_json(comment)["html_url"]
                .clone()
                .into(),
        ),
    ];
    Node::object(context, "PullRequestReviewComment", fields)
}

/// Every comment belongs to a review, of its author alone.
fn review_of(context: &Context, comment: &ReviewComment) -> Option<Review> {
    let state = context.state.borrow();
    let mut reviews = state.reviews.iter();
    reviews.find(|one| one.id == comment.review_id).cloned()
}

fn reviews(context: &Context, pull: u64) -> Node<'_> {
    let all: Vec<Review> = context
        .state
        .borrow()
        .reviews
        .iter()
        .filter(|one| one.pull == pull)
        .cloned()
        .collect();
    let nodes = all.iter().map(|review| one_review(context, review));
    connection(
        context,
        "PullRequestReviewConnection",
        "reviews",
        nodes.collect(),
    )
}

fn one_review<'c>(context: &'c Context, review: &Review) -> Node<'c> {
    let (hidden, writes) = {
        let state = context.state.borrow();
        let permission = state.permission(&review.user);
        let writes = matches!(permission.as_str(), "write" | "admin");
        (state.hides_review_commits, writes)
    };
    let commit = (!hidden).then(|| object_by_oid(context, &review.commit_id));
    let fields = vec![
        ("id", format!("PRR_{}", review.id).into()),
        ("fullDatabaseId", review.id.to_string().into()),
        ("body", review.body.clone().into()),
        ("state", review.state.clone().into()),
        ("submittedAt", review.submitted_at.clone().into()),
        ("author", actor(context, Some(&review.user))),
        (
            "authorAssociation",
            review.author_association.clone().into(),
        ),
        ("authorCanPushToRepository", writes.into()),
        (
            "viewerDidAuthor",
            (review.user == context.identity.login).into(),
        ),
        ("editor", Node::null()),
        ("lastEditedAt", Node::null()),
        ("commit", commit.unwrap_or_else(Node::null)),
    ];
    Node::object(context, "PullRequestReview", fields)
}

fn node<'c>(context: &'c Context, arguments: &JsonMap) -> Made<'c> {
    let id = text(arguments, "id");
    let (thread, comment) = {
        let state = context.state.borrow();
        let thread = state.threads.iter().find(|thread| thread.id == id).cloned();
        (
            thread,
            state
                .comments
                .iter()
                .find(|comment| comment.node_id == id)
                .cloned(),
        )
    };
    let found = thread.and_then(|thread| review_thread(context, &thread));
    found
        .or_else(|| comment.map(|comment| review_comment(context, &comment)))
        .ok_or_else(|| no_node(context, id))
}

pub fn no_node(context: &Context, id: &str) -> FieldError {
    context.error(
        "NOT_FOUND",
        format!("Could not resolve to a node with the global id of '{id}'"),
    )
}
