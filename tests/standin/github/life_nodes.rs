//! What the life of a pull request depends on, as GraphQL objects: requested reviewers, mergeability, auto-merge, who
//! merged, and the open pull requests of the repository.

use apollo_compiler::response::{JsonMap, JsonValue};

use super::graphql::{Context, Node, connection};
use super::history_nodes::{branch_node, object_by_oid};
use super::nodes::{Made, actor, pull_request};
use super::state::{Issue, IssueComment, PullRequest, Repository};

pub fn of_repository<'c>(
    context: &'c Context,
    repository: &Repository,
) -> Vec<(&'static str, Node<'c>)> {
    let allows = |method: &str| repository.merge_methods.contains(method);
    vec![
        ("autoMergeAllowed", repository.auto_merge_allowed.into()),
        ("mergeCommitAllowed", allows("merge").into()),
        ("squashMergeAllowed", allows("squash").into()),
        ("rebaseMergeAllowed", allows("rebase").into()),
        (
            "pullRequests",
            Node::lazy(|arguments| pulls(context, arguments)),
        ),
    ]
}

/// By number, which is the order of their creation, or by their last change.
fn pulls<'c>(context: &'c Context, arguments: &JsonMap) -> Made<'c> {
    let wanted = arguments.get("states").map(ToString::to_string);
    let mut found: Vec<PullRequest> = {
        let state = context.state.borrow();
        let pulls = state.pulls.values();
        let of_state = |pull: &&PullRequest| {
            let listed = wanted.as_deref();
            listed.is_none_or(|wanted| wanted.contains(state_of(pull)))
        };
        pulls.filter(of_state).cloned().collect()
    };
    let order = arguments.get("orderBy").and_then(JsonValue::as_object);
    let order = |key: &str| order.and_then(|order| order.get(key)?.as_str());
    match order("field") {
        None | Some("CREATED_AT") => {}
        Some("UPDATED_AT") => found.sort_by(|a, b| a.updated_at.cmp(&b.updated_at)),
        Some(other) => panic!("the stand-in does not sort by {other}"),
    }
    if order("direction") == Some("DESC") {
        found.reverse();
    }
    let nodes = found
        .iter()
        .map(|pull| pull_request(context, pull))
        .collect();
    match connection(context, "PullRequestConnection", "pullRequests", nodes) {
        Node::Lazy(make) => make(arguments),
        other => Ok(other),
    }
}

/// GraphQL's word for the state.
pub fn state_of(pull: &PullRequest) -> &'static str {
    match &pull.merged {
        Some(_) => "MERGED",
        None if pull.state == "closed" => "CLOSED",
        None => "OPEN",
    }
}

pub fn of_pull<'c>(context: &'c Context, pull: &PullRequest) -> Vec<(&'static str, Node<'c>)> {
    let (mergeable, status, queue) = {
        let state = context.state.borrow();
        let mergeable = match state.mergeable(pull) {
            None => "UNKNOWN",
            Some(true) => "MERGEABLE",
            Some(false) => "CONFLICTING",
        };
        let queue = &state.repository.queued_branches;
        (
            mergeable,
            state.merge_state(pull),
            queue.contains(&pull.base.branch),
        )
    };
    let merged = pull.merged.as_ref();
    let commit = merged.map(|merged| merged.sha.clone());
    let (number, base) = (pull.number, pull.base.branch.clone());
    vec![
        ("updatedAt", pull.updated_at.clone().into()),
        ("merged", merged.is_some().into()),
        (
            "closedAt",
            (pull.state == "closed").then(|| closed_at(pull)).into(),
        ),
        ("mergeable", mergeable.into()),
        // To ask is what makes GitHub compute it.
        (
            "mergeStateStatus",
            Node::lazy(move |_| {
                let mut state = context.state.borrow_mut();
                if let Some(pull) = state.pulls.get_mut(&number) {
                    pull.unsettled = pull.unsettled.saturating_sub(1);
                }
                Ok(status.into())
            }),
        ),
        ("isMergeQueueEnabled", queue.into()),
        ("autoMergeRequest", auto_merge(context, pull)),
        (
            "mergedBy",
            actor(context, merged.map(|merged| merged.by.as_str())),
        ),
        (
            "mergeCommit",
            commit.map_or_else(Node::null, |sha| object_by_oid(context, &sha)),
        ),
        (
            "baseRef",
            Node::lazy(move |_| Ok(branch_node(context, &base))),
        ),
        ("labels", labels(context, pull)),
        ("reviewRequests", review_requests(context, pull)),
        ("comments", comments(context, number)),
        ("closingIssuesReferences", closing_issues(context, number)),
    ]
}

fn closed_at(pull: &PullRequest) -> String {
    let merged = pull.merged.as_ref().map(|merged| merged.at.clone());
    merged.unwrap_or_else(|| pull.updated_at.clone())
}

/// Issues of other repositories that the token may not see are left out. Those of a private one need a right of their own.
fn closing_issues(context: &Context, pull: u64) -> Node<'_> {
    let (issues, repository) = {
        let state = context.state.borrow();
        let issues = state.issues.iter().filter(|issue| issue.pull == pull);
        (
            issues.cloned().collect::<Vec<_>>(),
            state.repository.clone(),
        )
    };
    let seen = issues
        .iter()
        .filter(|one| one.seen || one.repository == repository.full_name);
    let nodes: Vec<Node<'_>> = seen
        .map(|one| issue(context, one, one.seen || repository.private))
        .collect();
    if repository.private && !context.identity.may("issues:read") && !nodes.is_empty() {
        let refusal = context.identity.refusal();
        return Node::lazy(move |_| Err(context.error("FORBIDDEN", refusal)));
    }
    connection(context, "IssueConnection", "closingIssuesReferences", nodes)
}

fn issue<'c>(context: &'c Context, issue: &Issue, is_private: bool) -> Node<'c> {
    let named = vec![
        ("nameWithOwner", issue.repository.clone().into()),
        ("isPrivate", is_private.into()),
    ];
    let fields = vec![
        ("number", issue.number.into()),
        ("title", issue.title.clone().into()),
        ("body", issue.body.clone().into()),
        ("repository", Node::object(context, "Repository", named)),
    ];
    Node::object(context, "Issue", fields)
}

fn auto_merge<'c>(context: &'c Context, pull: &PullRequest) -> Node<'c> {
    let Some((by, method)) = &pull.auto_merge else {
        return Node::null();
    };
    let fields = vec![
        ("enabledBy", actor(context, Some(by))),
        ("mergeMethod", method.to_uppercase().into()),
    ];
    Node::object(context, "AutoMergeRequest", fields)
}

fn labels<'c>(context: &'c Context, pull: &PullRequest) -> Node<'c> {
    let nodes = pull.labels.iter().map(|name| {
        let fields = vec![("name", name.clone().into())];
        Node::object(context, "Label", fields)
    });
    connection(context, "LabelConnection", "labels", nodes.collect())
}

fn review_requests<'c>(context: &'c Context, pull: &PullRequest) -> Node<'c> {
    let people = pull.requested_reviewers.iter();
    let people = people.map(|login| actor(context, Some(login)));
    let teams = pull.requested_teams.iter().map(|slug| {
        let fields = vec![("slug", slug.clone().into()), ("name", slug.clone().into())];
        Node::object(context, "Team", fields)
    });
    let nodes = people.chain(teams).map(|reviewer| {
        let fields = vec![("requestedReviewer", reviewer)];
        Node::object(context, "ReviewRequest", fields)
    });
    connection(
        context,
        "ReviewRequestConnection",
        "reviewRequests",
        nodes.collect(),
    )
}

fn comments(context: &Context, pull: u64) -> Node<'_> {
    let all: Vec<IssueComment> = {
        let state = context.state.borrow();
        let comments = state.issue_comments.iter();
        comments.filter(|one| one.pull == pull).cloned().collect()
    };
    let nodes = all.iter().map(|comment| {
        let edited = comment.updated_at != comment.created_at;
        let fields = vec![
            ("fullDatabaseId", comment.id.to_string().into()),
            ("createdAt", comment.created_at.clone().into()),
            (
                "lastEditedAt",
                edited.then(|| comment.updated_at.clone()).into(),
            ),
            ("body", comment.body.clone().into()),
            (
                "authorAssociation",
                comment.author_association.clone().into(),
            ),
            ("author", actor(context, Some(&comment.user))),
        ];
        Node::object(context, "IssueComment", fields)
    });
    connection(
        context,
        "IssueCommentConnection",
        "comments",
        nodes.collect(),
    )
}
